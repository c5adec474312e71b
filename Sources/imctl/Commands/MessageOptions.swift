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

extension OutputOptions {
  /// Tells a user who types a message how to end it. Returns the message, unless its lines are sent one by one; nil if
  /// standard input is no terminal.
  ///
  /// - Parameter isBounded: Whether the user has set a time limit, which includes the typing.
  func typedText(areLines: Bool = false, isBounded: Bool = false) throws -> String? {
    guard Prompt.isPossible else { return nil }
    note(
      areLines
        ? inLanguage("each line is sent as a message; Ctrl-D ends", "每一行作为一条消息发送；按 Ctrl-D 结束")
        : inLanguage("type the message, then Ctrl-D on an empty line", "请输入消息，然后在空行按 Ctrl-D"))
    return areLines || isBounded ? nil : try InputLines.all(until: .never)
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
