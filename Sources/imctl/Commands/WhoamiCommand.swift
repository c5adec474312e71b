import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl whoami`: the bare JID of the account that is online.
struct WhoamiCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "whoami",
    abstract: "Print the JID of the account that is online.",
    discussion: """
      Prints the bare JID. If the account is not online, prints an empty line and exits with status 1. Starts no \
      agent. With --cached, prints the account that is stored as logged in, even if it is not online, such as after a \
      reboot or without a network.
      """)

  struct Answer: Encodable {
    let account: String
  }

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Flag(help: "Print the account that is stored as logged in, without asking the agent.")
  var cached = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let jid = try cached ? storedJID() : onlineJID()
    try output.data(Answer(account: jid), text: "\(peer: jid)")
    if jid.isEmpty { throw ExitCode(1) }
  }

  /// The account, if it is stored as logged in; otherwise an empty string.
  private func storedJID() throws -> String {
    do {
      let stored = try OneTimeAgent.ask(
        AccountResolveMethod.self, .init(account: account.account, isStored: true), until: Deadline(timeout))
      return stored.isLogin ? stored.account : ""
    } catch let failure as Failure where failure.name == .notInitialized || failure.name == .notLoggedIn {
      return ""
    }
  }

  private func onlineJID() throws -> String {
    var sessions: [SessionStatus] = []
    do {
      sessions =
        try AgentClient.ask(
          StatusMethod.self, .init(account: account.account), start: .never, timeout: timeout) ?? []
    } catch let failure as Failure where failure.name == .notInitialized || failure.name == .notLoggedIn {
      // Without an account, the answer is an empty line rather than an error.
    }
    // In an anonymous login, the account is a domain, and the server assigns the JID.
    return sessions.first(where: \.isOnline).map { session in
      session.fullJID.map { String($0.prefix { $0 != "/" }) } ?? session.account
    } ?? ""
  }
}
