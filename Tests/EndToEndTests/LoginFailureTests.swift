import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Logins that fail", .serialized)
struct LoginFailureTests {
  /// Nothing is stored, and the agent that was started for the login ends by itself.
  private func leavesNothing(_ imctl: IMCTL) async throws {
    #expect(!FileManager.default.fileExists(atPath: imctl.home + "/.config/imctl/accounts.json"))
    #expect(try await imctl.run("whoami").output == "\n")
  }

  @Test(
    "A login with a wrong user or password fails with “authFailed”.", arguments: TestServer.Kind.allCases,
    [false, true])
  func refused(kind: TestServer.Kind, unknownUser: Bool) async throws {
    let user = try await User(on: kind)
    let jid = unknownUser ? user.server.jid("nobody") : user.jid
    let result = try await user.imctl.run(
      ["login", jid, "--password-stdin", "--json"] + user.connection, input: "mistyped")
    #expect(result.status == 77)
    #expect(try result.states == [.linking, .linkOK, .logining, .loginFailed])
    // The store is open, and there is an error in the place of a success.
    let events = try result.objects(Event.self).map(\.name)
    #expect(events.first == "dataReady" && events.filter { $0 != "state" } == ["dataReady"])
    let error = try result.error
    #expect(error.name == "authFailed")
    #expect(error.code == 302)
    #expect(error.codes == [302, 31_004])
    #expect(error.exit == 77)
    #expect(error.stage == "authenticate")
    #expect(error.condition == "not-authorized")
    #expect(!error.retryable)
    #expect(!error.hint.isEmpty)
    try await leavesNothing(user.imctl)
  }

  @Test("A login to a port that refuses the connection fails with “connectionRefused”.")
  func refusedConnection() async throws {
    let server = try await ScriptedServer([])
    let port = server.port
    try await server.end()
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--json", "--host", TestServer.host,
      "--port",
      String(port), input: "secret")
    #expect(result.status == 69)
    #expect(try result.states == [.linking, .linkFailed])
    let error = try result.error
    #expect(error.name == "connectionRefused")
    #expect(error.code == 61)
    #expect(error.stage == "connect")
    try await leavesNothing(imctl)
  }

  @Test(
    "A login to a server that does not serve the domain fails with “unknownDomain”.",
    arguments: TestServer.Kind.allCases)
  func unknownHost(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let result = try await user.imctl.run(
      ["login", "alice@other.example", "--password-stdin", "--json"] + user.connection, input: "secret")
    #expect(result.status == 68)
    let error = try result.error
    #expect(error.name == "unknownDomain")
    #expect(error.code == 8)
    #expect(error.stage == "stream")
    #expect(error.condition == "host-unknown")
    #expect(try result.states == [.linking, .linkFailed])
    try await leavesNothing(user.imctl)
  }

  @Test("A login to a domain that DNS does not know fails with “unknownDomain”.")
  func unresolved() async throws {
    let imctl = try await IMCTL()
    // RFC 6761: there is no such domain, and resolvers know.
    let result = try await imctl.run(
      "login", "alice@nowhere.invalid", "--password-stdin", "--json", input: "secret")
    #expect(result.status == 68)
    let error = try result.error
    #expect(error.name == "unknownDomain")
    #expect(error.code == 8)
    #expect(error.stage == "dns")
    try await leavesNothing(imctl)
  }

  @Test(
    "A login to a server whose certificate is not trusted fails with “tlsFailure”.", arguments: [false, true])
  func untrusted(directTLS: Bool) async throws {
    let user = try await User(directTLS: directTLS)
    let connection = user.connection.filter { $0 != "--ca-file" && $0 != user.server.caFile }
    let result = try await user.imctl.run(
      ["login", user.jid, "--password-stdin", "--json"] + connection, input: user.password)
    #expect(result.status == 71)
    let error = try result.error
    #expect(error.name == "tlsFailure")
    #expect(error.stage == "tls")
    #expect(try result.states == [.linking, .linkFailed])
    try await leavesNothing(user.imctl)
  }

  @Test(
    "A login to a server that falls silent ends at its time limit, and is not tried again.",
    arguments: [
      nil, .opened, .secured, .mechanisms, .authenticated,
    ] as [[ScriptedServer.Step].Stage?])
  func silent(stage: [ScriptedServer.Step].Stage?) async throws {
    let server = try await ScriptedServer(stage.map { .login(until: $0) } ?? [])
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--json", "--host", TestServer.host,
      "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, "--timeout", "1.5",
      input: "alice-secret", within: .seconds(20))
    #expect(result.status == 75)
    let error = try result.error
    #expect(error.name == "connectTimeout")
    #expect(error.code == 34_006)
    #expect(error.retryable)
    try await server.closedByClient()
    try await leavesNothing(imctl)
    #expect(server.connections == 1)
    #expect(server.mismatches == [])
  }

  @Test("A login that SIGINT interrupts closes the connection and stores nothing.")
  func interrupted() async throws {
    let server = try await ScriptedServer(.login(until: .mechanisms))
    let imctl = try await IMCTL()
    let login = try await imctl.start([
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--json", "--host", TestServer.host,
      "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile,
    ])
    login.write("alice-secret\n")
    try await login.state(.logining)
    login.send(SIGINT)
    #expect(try await login.ended(within: .seconds(90)) == .exited(130))
    let error = try JSONDecoder().decode(ErrorLine.self, from: Data(login.errors.text.utf8)).error
    #expect(error.name == "cancelled")
    try await server.closedByClient()
    try await leavesNothing(imctl)
    #expect(server.connections == 1)
  }

  @Test("A login with invalid arguments fails before it connects to the server.")
  func invalid() async throws {
    let server = try await ScriptedServer([])
    let imctl = try await IMCTL()
    let connection = ["--host", TestServer.host, "--port", String(server.port)]
    for arguments in [
      ["@\(TestServer.domain)"], ["alice@"], ["a b@\(TestServer.domain)"], [TestServer.domain], [""],
      ["alice@\(TestServer.domain)", "--tls", "none"], ["alice@\(TestServer.domain)", "--timeout", "-1"],
      ["alice@\(TestServer.domain)", "--presence", "busy"], ["alice@\(TestServer.domain)", "--resource", ""],
      ["alice@\(TestServer.domain)", "--ca-file", "/nowhere/ca.pem"],
      ["alice@\(TestServer.domain)", "--fast"],
    ] {
      let result = try await imctl.run(
        ["login", "--password-stdin", "--json"] + connection + arguments, input: "secret")
      #expect(result.status == 64, "\(arguments)")
      let error = try result.error
      #expect(error.name == "invalidParameter", "\(arguments)")
      #expect(error.codes == [414, 33_003], "\(arguments)")
      #expect(try result.states == [], "\(arguments)")
    }
    let port = try await imctl.run("login", "alice@\(TestServer.domain)", "--port", "0", "--password-stdin")
    #expect(port.status == 64)
    #expect(server.connections == 0)
    try await leavesNothing(imctl)
  }

  @Test("A failed login is explained in the user's language.", arguments: ["C.UTF-8", "zh_CN.UTF-8"])
  func languages(language: String) async throws {
    let chinese = language.hasPrefix("zh")
    let user = try await User(environment: ["LANG": language])
    func expect(_ status: Int32, _ texts: (english: String, chinese: String), _ arguments: [String])
      async throws
    {
      let result = try await user.imctl.run(["login", "--password-stdin"] + arguments, input: "mistyped")
      #expect(result.status == status)
      #expect(result.output == "")
      #expect(result.errors.contains(chinese ? texts.chinese : texts.english), "\(result.errors)")
      #expect(!result.errors.contains("\u{1b}"))
    }
    let closed = try await ScriptedServer([])
    let silent = try await ScriptedServer([])
    let port = closed.port
    try await closed.end()
    try await expect(77, ("wrong user or password", "用户名或密码错误"), [user.jid] + user.connection)
    try await expect(
      69,
      (
        "the server refuses the connection; it may not be running (The connection to ",
        "服务器拒绝连接，可能没有运行（无法连接 "
      ),
      [user.jid, "--host", TestServer.host, "--port", String(port)])
    try await expect(
      68, ("the server does not serve this domain", "服务器不为该域名提供服务"),
      ["alice@other.example"] + user.connection)
    try await expect(
      75, ("no answer in time", "连接超时"),
      [user.jid, "--host", TestServer.host, "--port", String(silent.port), "--timeout", "0.5"])
    let away = try await user.imctl.run("presence", "away")
    #expect(away.status == 78)
    #expect(away.errors.contains("imctl login"))
  }

  @Test("Commands that need an account fail with “notInitialized” if none has ever logged in.")
  func first() async throws {
    let imctl = try await IMCTL()
    for arguments in [["presence", "away"], ["presence"], ["logout"], ["account", "last"]] {
      let result = try await imctl.run(arguments + ["--json"])
      #expect(result.status == 78, "\(arguments)")
      #expect(try result.error.name == "notInitialized", "\(arguments)")
      #expect(try result.error.code == 33_001, "\(arguments)")
    }
    #expect(try await imctl.run("status").status == 1)
    let whoami = try await imctl.run("whoami")
    #expect(whoami.status == 1)
    #expect(whoami.output == "\n")
    #expect(whoami.errors == "")

    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    let logout = try await user.imctl.run("logout", "--json")
    #expect(logout.status == 67)
    #expect(try logout.error.name == "notLoggedIn")
    #expect(try await user.imctl.run("status").status == 1)
  }
}
