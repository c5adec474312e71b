import AgentProtocol
import ArgumentParser
import Terminal

/// The arguments of the commands that change an account at its server, through the agent or on a stream of their own.
struct AccountAtServerArguments {
  /// The bare JID.
  let account: String
  let options: ConnectionOptions
  private let hasPassword: Bool
  private let output: OutputOptions

  /// - Parameter name: The account; nil for the default one.
  init(
    _ name: String?, _ connection: ConnectionArguments, _ output: OutputOptions, until deadline: Deadline
  ) throws {
    let stored = try OneTimeAgent.ask(AccountResolveMethod.self, .init(account: name), until: deadline)
    account = stored.account
    hasPassword = stored.hasPassword
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

  /// The current password, if it is given or has to be asked for.
  func password(_ given: PasswordOptions, until deadline: Deadline) throws -> String? {
    if let password = try given.read(until: deadline) { return password }
    if hasPassword || isOnline(until: deadline) { return nil }
    return try Self.ask(for: account, until: deadline)
  }

  /// The current password for a command that uses no agent.
  func passwordWithoutAgent(_ given: PasswordOptions, until deadline: Deadline) throws -> String? {
    if let password = try given.read(until: deadline) { return password }
    return hasPassword ? nil : try Self.ask(for: account, until: deadline)
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

  /// The answer of a running agent, or else of a one-time agent.
  func answer<Method: AgentMethod>(
    to method: Method.Type, _ parameters: Method.Parameters, until deadline: Deadline
  ) throws -> Method.Result {
    let answer = try AgentClient.session(start: .once, until: deadline.ofAgent) { agent in
      try agent.answer(to: agent.send(method, parameters)) { output.show($0.body) }
    }
    guard let answer else { throw Failure.noAnswer }
    return answer
  }
}
