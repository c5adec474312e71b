import AgentErrand
import AgentProtocol
import AgentStore
import ArgumentParser
import XMPPSASL

/// What the commands need that change an account at its server: through the agent, or on a stream of their own.
struct AccountAtServerArguments {
  /// Bare JID.
  let account: String
  let options: ConnectionOptions
  private let output: OutputOptions

  /// - Parameter name: nil: the default account.
  init(_ name: String?, _ connection: ConnectionArguments, _ output: OutputOptions) throws {
    account = try name.map(BareJID.normalise) ?? StoredAccounts.load().account(nil).account
    options = try connection.options()
    self.output = output
  }

  static func check(_ jid: String?, _ account: AccountOption) throws {
    if jid?.isEmpty == true { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    if let jid, let account = account.account, jid != account {
      throw ValidationError(
        inLanguage("JID and --account name different accounts.", "JID 和 --account 指定了不同的账号。"))
    }
  }

  /// The current password, where it is given or has to be asked for.
  func password(_ given: PasswordOptions, until deadline: Deadline) throws -> String? {
    if let password = try given.read(until: deadline) { return password }
    if try StoredAccounts.hasPassword(account) || isOnline(until: deadline) { return nil }
    return try Self.ask(for: account, until: deadline)
  }

  /// The same for a command that asks no agent.
  func passwordWithoutAgent(_ given: PasswordOptions, until deadline: Deadline) throws -> String? {
    if let password = try given.read(until: deadline) { return password }
    return try StoredAccounts.hasPassword(account) ? nil : Self.ask(for: account, until: deadline)
  }

  private static func ask(for account: String, until deadline: Deadline) throws -> String {
    try PasswordOptions.ask(
      inLanguage("Password for ", "密码 ") + "\(peer: account): ",
      options: "--password-stdin, --password-command", until: deadline)
  }

  private func isOnline(until deadline: Deadline) -> Bool {
    let sessions = try? AgentClient.session(start: .never, until: deadline.atMost(.ofRequest)) {
      try $0.answer(to: $0.send(StatusMethod.self, .init(account: account)))
    }
    return (sessions ?? []).contains(where: \.isOnline)
  }

  /// Does in this process what no agent is there for.
  func withoutAgent<Value: Sendable>(
    _ password: String?, until deadline: Deadline,
    _ body: @escaping @Sendable (AccountAtServer) async throws(Failure) -> Value
  ) throws -> Value {
    let store = try StoredAccounts.store()
    return try Foreground.wait(
      until: deadline.ofStream, else: .timedOut(inLanguage("the server", "服务器")),
      cancelled: Foreground.mayBeDone
    ) {
      [account, options, output] () async throws(Failure) in
      let target = try await AccountAtServer(
        account, password: password.map { Secret($0) }, options: options,
        timeout: deadline.secondsLeft ?? 0, in: store, language: OutputOptions.language
      ) { output.show($0) }
      return try await body(target)
    }
  }
}
