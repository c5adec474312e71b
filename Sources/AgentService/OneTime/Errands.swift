import AgentErrand
import AgentLogin
import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPPSASL

/// The work of a one-time agent at servers. Each request opens a short stream of its own and reports its steps.
struct Errands: Sendable {
  let accounts: StoredAccounts
  let agent: OneTimeAgent

  private var language: String { Language.current == .chinese ? "zh" : "en" }
  private var onEvent: @Sendable (Event.Body) -> Void { { [agent] in agent.tell(step: $0) } }

  /// The stored account with this name, or the default account.
  func account(_ spelling: String?) throws(Failure) -> String {
    try accounts.load().account(spelling).account
  }

  func mechanisms(_ parameters: ServerMechanismsMethod.Parameters) async throws(Failure)
    -> ServerMechanismsMethod.Result
  {
    try await .of(
      ServerStream(
        to: parameters.address, options: parameters.options, timeout: parameters.timeout, language: language,
        onEvent: onEvent))
  }

  func register(_ parameters: AccountRegisterMethod.Parameters) async throws(Failure)
    -> AccountRegisterMethod.Result
  {
    let stream = try ServerStream(
      to: parameters.account, options: parameters.options, timeout: parameters.timeout, language: language,
      onEvent: onEvent)
    let registration = try AccountRegistration(on: stream)
    try await registration.register(password: Secret(parameters.password), answers: parameters.answers) {
      agent.tell(AgentNotice(instructions: $0))
    } ask: {
      parameters.asks ? await agent.ask($0) : nil
    }
    try accounts.store.registered(registration.account, options: parameters.options)
    return .init(account: registration.account)
  }

  func send(_ parameters: MessageSendDirectlyMethod.Parameters) async throws(Failure) {
    let deadline = parameters.timeout == 0 ? nil : ContinuousClock.now + .seconds(parameters.timeout)
    let account = try await atServer(parameters)
    let left = deadline.map { max(ContinuousClock.now.duration(to: $0) / .seconds(1), 0.001) } ?? 0
    try await account.send(
      parameters.messages, asksReceipts: parameters.asksReceipts,
      awaitingReceipts: parameters.awaitsReceipts ? left : nil
    ) { agent.tell(item: $0) }
  }

  func changePassword(_ parameters: AccountPasswdMethod.Parameters) async throws(Failure)
    -> AccountPasswdMethod.Result
  {
    try await atServer(parameters).changePassword(
      to: Secret(parameters.newPassword), command: parameters.newPasswordCommand)
  }

  func delete(_ parameters: AccountDeleteMethod.Parameters) async throws -> AccountDeleteMethod.Result {
    let account = try await atServer(parameters)
    try await account.delete()
    try accounts.forgetMessages(account.account)
    return .init(account: account.account)
  }

  func devices(_ login: LoginMethod.Parameters) async throws(Failure) -> DevicesAtServer {
    try await DevicesAtServer(login, in: accounts.store, language: language, onEvent: onEvent)
  }

  func kick(_ parameters: DevicesKickMethod.Parameters) async throws(Failure) -> DevicesKickMethod.Result {
    if parameters.of != nil { throw Failure(.notLoggedIn, stage: .request) }
    var login = LoginMethod.Parameters(account: try account(parameters.account))
    login.timeout = parameters.timeout
    let devices = try await devices(login)
    let new = parameters.newPassword.map { Secret($0) }
    var result = DevicesKickMethod.Result(
      outcomes: try await devices.kick(parameters.resource, newPassword: new))
    if let new {
      result.usesCommand = try await devices.storePassword(
        new, command: parameters.newPasswordCommand, in: accounts.store)
    }
    return result
  }

  private func atServer(_ parameters: some OwnStreamParameters) async throws(Failure) -> AccountAtServer {
    try await AccountAtServer(
      parameters.account, password: parameters.currentPassword.map { Secret($0) },
      options: parameters.options,
      timeout: parameters.timeout, in: accounts.store, language: language, onEvent: onEvent)
  }
}
