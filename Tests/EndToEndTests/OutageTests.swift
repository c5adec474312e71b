import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Outages of the server")
struct OutageTests {
  /// A user, online on a server of their own.
  private func online(_ options: String...) async throws -> User {
    let server = try await TestServer(Neighbourhood.options(.prosody))
    let user = try await User(server: server)
    let result = try await user.imctl.run(
      ["login", user.jid, "--password-stdin"] + user.connection + options, input: user.password)
    guard result.status == 0 else { throw TestSupportError("login: \(result)") }
    return user
  }

  @Test("A manual login that fails while the server is down does not end the automatic reconnects.")
  func failedLogin() async throws {
    let user = try await online()
    try await user.server.kill()
    try await eventually("the loss") { try await user.session()?.state != .syncOK }
    #expect(try await user.imctl.run("login").status == 69)
    try await user.server.start()
    try await eventually("its return") { try await user.session()?.state == .syncOK }
    try await user.server.end()
  }

  @Test("A session without presence still shows none after the server was down.")
  func noPresence() async throws {
    let user = try await online("--no-presence")
    let first = try await user.status()
    #expect(first.presence?.applied == false)
    try await user.server.kill()
    try await user.server.start()
    try await eventually("its return") {
      guard let status = try await user.session() else { return false }
      return status.state == .syncOK && status.sessions > first.sessions
    }
    #expect(try await user.status().presence?.applied == false)
    try await user.server.end()
  }

  @Test("A login without a time limit waits until the server is up again.")
  func withoutBound() async throws {
    let server = try await TestServer(Neighbourhood.options(.prosody))
    let user = try await User(server: server)
    try await server.kill()
    let login = try await user.imctl.start(
      ["login", user.jid, "--password-stdin", "--json", "--timeout", "0"] + user.connection)
    login.write(user.password)
    login.closeInput()
    try await login.state(.waiting)
    try await server.start()
    #expect(try await login.ended(within: .seconds(60)) == .exited(0))
    #expect(try await user.status().state == .syncOK)
    try await server.end()
  }
}

@Suite("Logins that hang at a silent server")
struct HangingLoginTests {
  /// Online, and a login of the same account to a server that says nothing has begun.
  private func hanging() async throws -> (user: User, login: ChildProcess, silent: ScriptedServer) {
    let user = try await User()
    try await user.goOnline()
    let silent = try await ScriptedServer([.stall])
    let login = try await user.imctl.start(
      [
        "login", user.jid, "--password-stdin", "--json", "--timeout", "0", "--host", TestServer.host,
        "--port",
        String(silent.port),
      ])
    login.write(user.password)
    login.closeInput()
    try await login.state(.linking)
    return (user, login, silent)
  }

  @Test("The commands status and whoami report the running session while another login hangs.")
  func status() async throws {
    let (user, login, _) = try await hanging()
    let status = try await user.imctl.run("status", "--json")
    #expect(status.status == 0)
    #expect(try status.objects(SessionStatus.self).first?.state == .syncOK)
    #expect(try await user.imctl.run("whoami").output == user.jid + "\n")
    login.send(SIGINT)
    #expect(try await login.ended(within: .seconds(90)) == .exited(130))
    #expect(try await user.status().state == .syncOK)
  }

  @Test("A logout ends both the running session and the login that hangs.")
  func logout() async throws {
    let (user, login, _) = try await hanging()
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await login.ended(within: .seconds(90)) == .exited(130))
    #expect(try await user.imctl.run("whoami").output == "\n")
    #expect(try user.stored().first?.isLogin == false)
  }
}
