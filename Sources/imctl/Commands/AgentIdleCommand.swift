import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl agent idle`.
struct AgentIdleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "idle",
    abstract: "Say that you look away: the server may hold back what can wait.",
    discussion: """
      Of every account, also of those that log in later, or of one. It holds until `agent active`, over reconnects, and \
      is told the server where that wants to know (XEP-0352). With --mode disconnect the sessions end instead, and come \
      back with `agent active`.
      """)

  @OptionGroup var scope: IdleOptions

  @Option(
    help: ArgumentHelp(
      "csi (the server is told) or disconnect; without it what `agent run --on-idle` says.", valueName: "mode"
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
    abstract: "Say that you are back, after `agent idle`.")

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
            "\(peer: status.account): not online, or the server does not want to know",
            "\(peer: status.account)：未在线，或服务器不支持该状态"))
      }
    }
  }
}

extension IdleMode: ExpressibleByArgument {}
