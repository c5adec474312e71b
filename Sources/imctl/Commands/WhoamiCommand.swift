import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl whoami`: the bare JID of the account that is online.
struct WhoamiCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "whoami",
    abstract: "Print the JID that is logged in.",
    discussion: """
      Prints the bare JID; when not logged in, an empty line, and exits 1. Starts no agent. With --cached it is whoever \
      is stored as logged in, also while nobody is online: after a reboot, or without a network.
      """)

  struct Answer: Encodable {
    let account: String
  }

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Flag(help: "Ask nobody: tell who is stored as logged in.")
  var cached = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
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
