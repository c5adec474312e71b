import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl agent idle`.
struct AgentIdleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "idle",
    abstract: "Tell the servers that you are inactive, so that they can send less.",
    discussion: """
      Applies to every account, including accounts that log in later, or with --account to one account. The state \
      lasts until `imctl agent active`, across reconnects. It is sent to servers that support client state indication \
      (XEP-0352), which can then delay data that is not urgent. With --mode disconnect, the sessions end instead, and \
      `imctl agent active` brings them back.
      """)

  @OptionGroup var scope: IdleOptions

  @Option(
    help: ArgumentHelp(
      """
      Tell the servers (csi), or end the sessions (disconnect). If omitted, the mode of `imctl agent run --on-idle` \
      applies.
      """,
      valueName: "mode"
    ))
  var mode: IdleMode?

  func run() throws {
    try scope.tell(
      AgentClient.ask(
        AgentIdleMethod.self, .init(account: scope.common.account.account, mode: mode), start: .never,
        timeout: scope.common.timeout))
  }
}

/// `imctl agent active`.
struct AgentActiveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "active",
    abstract: "Tell the servers that you are active again, after `imctl agent idle`.")

  @OptionGroup var scope: IdleOptions

  func run() throws {
    try scope.tell(
      AgentClient.ask(
        AgentActiveMethod.self, .init(account: scope.common.account.account), start: .never,
        timeout: scope.common.timeout))
  }
}

/// The common options of `idle` and `active`.
struct IdleOptions: ParsableArguments {
  @OptionGroup var common: AccountCommandOptions

  /// Prints one line for each account. Throws `notLoggedIn` without an agent, as no account can be logged in.
  func tell(_ answer: [IdleStatus]?) throws {
    guard let answer else { throw Failure(.notLoggedIn, stage: .request) }
    for status in answer {
      let mode = status.idle.map { "idle (\($0.rawValue))" } ?? "active"
      try common.output.data(status, text: "\(peer: status.account) \(mode)")
      if status.idle == .csi, !status.applied {
        common.output.note(
          inLanguage(
            "\(peer: status.account): not online, or the server does not support it",
            "\(peer: status.account)：未在线，或服务器不支持该状态"))
      }
    }
  }
}

extension IdleMode: ExpressibleByArgument {}
