import AgentProtocol
import TestSupport
import Testing
import XMPPSASL

@testable import AgentSession
@testable import AgentStore

@Suite("Logins that have failed", .timeLimit(.minutes(6)))
struct GivenUpLoginTests {
  /// A session of an account that is stored as logged in, at a server that closes every connection.
  private func desk() async throws -> SessionDesk {
    let desk = try await SessionDesk([[.close]])
    let parameters = try await desk.parameters()
    try AccountStore(directory: desk.home.path + "/config").update { file in
      var account = Account(account: SessionDesk.jid, domain: TestServer.domain)
      account.password = Secret("alice-secret")
      account.options = parameters.options
      account.isLogin = true
      file[account.account] = account
    }
    return desk
  }

  @Test(
    "A failed login also ends the login that the agent has begun by itself at its start.",
    arguments: [false, true],
    [false, true])
  func over(isAutomatic: Bool, beginsBefore: Bool) async throws {
    let desk = try await desk()
    if beginsBefore { try await desk.session.autoLogin(isStart: true) }
    var parameters = LoginMethod.Parameters(account: SessionDesk.jid)
    parameters.auto = isAutomatic
    parameters.maxRetries = isAutomatic ? 1 : nil
    let failure = await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
    #expect(failure?.name == (isAutomatic ? .retriesExhausted : .networkError))
    let connections = desk.server.connections
    #expect(await !desk.session.isBusy)
    // The agent looks at the stored accounts only now.
    try await desk.session.autoLogin(isStart: true)
    await desk.session.keepOnline()
    #expect(await !desk.session.isBusy)
    #expect(desk.server.connections == connections)
    // Somebody else wants it online after that.
    try await desk.session.autoLogin()
    #expect(await desk.session.isBusy)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "A failed manual login does not end a session's attempts to come back, and a failed automatic login does."
  )
  func comesBack() async throws {
    let clock = QuickClock(holds: true)
    let desk = try await SessionDesk(
      [.session(then: [.reset]), [.close], [.close], .session()], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("a pause") { $0.last?.state == .waiting }
    var parameters = try await desk.parameters("elsewhere")
    await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
    #expect(await desk.session.isBusy)
    // A login by itself is one with the coming back, and its end is the end of both.
    parameters = LoginMethod.Parameters(account: SessionDesk.jid)
    parameters.auto = true
    parameters.maxRetries = 0
    let failure = await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
    #expect(failure?.name == .retriesExhausted)
    #expect(await !desk.session.isBusy)
    await desk.session.close()
  }

  @Test("A failed background login stores its cause, and no password.")
  func trace() async throws {
    let refusing: [ScriptedServer.Step] =
      .login(until: .mechanisms) + [
        .client("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='SCRAM-SHA-1'/>"),
        .server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><not-authorized/></failure>"),
        .client("</stream:stream>"), .close,
      ]
    let desk = try await SessionDesk([refusing])
    var parameters = try await desk.parameters()
    parameters.detach = true
    #expect(try await desk.session.login(parameters).success == nil)
    try await desk.until("the refusal") { $0.last?.state == .loginFailed }
    let store = AccountStore(directory: desk.home.path + "/config")
    try await eventually("the trace") { try await store.entry(desk.session.account) != nil }
    let trace = try #require(try await store.entry(desk.session.account))
    #expect(!trace.hasCredential && !trace.isLogin && trace.options.port == desk.server.port)
    let status = SessionStatus(stored: trace)
    #expect(status.state == .loginFailed && status.cause?.name == .authFailed)
    await desk.session.close()
  }

  @Test("A login that fails with the password of the running session leaves that session alone.")
  func stale() async throws {
    var changed = ScriptedServer.SCRAMServer()
    changed.password = "another"
    let desk = try await SessionDesk([
      .session(), .login(until: .authenticated, scram: changed),
      .login(until: .authenticated) + [.client("</stream:stream>"), .server("</stream:stream>"), .close],
    ])
    let parameters = try await desk.parameters()
    _ = try await desk.session.login(parameters)
    let states = desk.changes.count
    let failure = await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
    #expect(failure?.name == .authFailed)
    #expect(try await desk.session.login(parameters).already)
    #expect(await desk.session.isOnline && desk.server.connections == 3)
    #expect(desk.changes.count == states)
    let stored = try await AccountStore(directory: desk.home.path + "/config").entry(desk.session.account)
    #expect(stored?.password == Secret("alice-secret") && stored?.isLogin == true)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test("A login that may not replace a session fails while one runs, and leaves that session alone.")
  func noReplace() async throws {
    let desk = try await SessionDesk([.session()])
    _ = try await desk.session.login(try await desk.parameters("one"))
    var parameters = try await desk.parameters("two")
    parameters.noReplace = true
    let failure = await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
    #expect(failure?.name == .alreadyRunning && failure?.exit == 75)
    #expect(await desk.session.isOnline && desk.server.connections == 1)
    await desk.session.close()
  }

  @Test("The limit of retries is stored with the account, and a later login can remove it.")
  func unlimited() async throws {
    let desk = try await SessionDesk([.session()])
    let store = AccountStore(directory: desk.home.path + "/config")
    var parameters = try await desk.parameters()
    for (limit, kept) in [(3, 3), (nil, 3), (LoginMethod.unlimitedRetries, nil)] as [(Int?, Int?)] {
      parameters.maxRetries = limit
      _ = try await desk.session.login(parameters)
      #expect(try await store.entry(desk.session.account)?.maxRetries == kept)
      parameters.password = nil
    }
    await desk.session.close()
  }
}
