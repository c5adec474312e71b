import AgentProtocol
import ArgumentParser

/// The event for which a command that sends a message waits.
struct WaitOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      What to wait for: server (the server's acknowledgement), delivered (the confirmation of a client of the \
      recipient) or none (only until the message is stored).
      """, valueName: "what"))
  var wait = MessageSendMethod.Wait.server
}

extension MessageSendMethod.Wait: ExpressibleByArgument {}

extension OutputOptions {
  /// Prints the outcome of a message.
  func outcome(_ outcome: MessageSendMethod.Outcome) throws {
    if json { return try data(outcome, text: "") }
    step("\(outcome.id) \(outcome.state.rawValue)")
  }
}

extension InputLines {
  /// TEXT, or all of standard input; throws if it is empty.
  static func body(_ text: String?, until deadline: Deadline) throws -> String {
    let body = try text ?? all(until: deadline)
    if body.isEmpty { throw Failure.invalid(.usage(.noText)) }
    return body
  }
}
