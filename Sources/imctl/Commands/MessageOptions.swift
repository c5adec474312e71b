import AgentProtocol
import ArgumentParser

/// Until when a command waits that hands a message over.
struct WaitOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What to wait for: server, its acknowledgement; delivered, that of a client of the recipient; none, that the \
      message is stored.
      """, valueName: "what"))
  var wait = MessageSendMethod.Wait.server
}

extension MessageSendMethod.Wait: ExpressibleByArgument {}

extension OutputOptions {
  /// What has become of a message.
  func outcome(_ outcome: MessageSendMethod.Outcome) throws {
    if json { return try data(outcome, text: "") }
    step("\(outcome.id) \(outcome.state.rawValue)")
  }
}

extension InputLines {
  /// TEXT, or all of standard input; one of them has to say something.
  static func body(_ text: String?, until deadline: Deadline) throws -> String {
    let body = try text ?? all(until: deadline)
    if body.isEmpty { throw Failure.invalid(.usage(.noText)) }
    return body
  }
}
