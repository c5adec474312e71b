import AgentProtocol
import TestSupport
import Testing

@Suite("Connections through a proxy", .timeLimit(.minutes(6)))
struct ProxyTests {
  private func proxy(
    _ kind: ProxyServer.Kind, to server: TestServer, user: String? = nil
  ) async throws -> ProxyServer {
    try await ProxyServer(
      kind, names: ["\(server.options.domain):5222": server.port], user: user,
      password: user.map { _ in "sesam" })
  }

  /// What the proxy alone can find: nobody here knows the domain.
  private func login(_ user: User, _ options: String...) async throws -> IMCTL.Result {
    try await user.imctl.run(
      ["login", user.jid, "--password-stdin", "--ca-file", user.server.caFile, "--json"] + options,
      input: user.password)
  }

  @Test(
    "A proxy is stored with the account, and its password command runs for each connection.",
    arguments: ProxyServer.Kind.allCases)
  func session(kind: ProxyServer.Kind) async throws {
    let user = try await User(on: .prosody13)
    let proxy = try await proxy(kind, to: user.server, user: "carol")
    let count = user.imctl.home + "/asked"
    let result = try await login(
      user, "--proxy", proxy.url(user: "carol"), "--proxy-password-command",
      "sh -c 'echo x >> \(count); echo sesam'")
    #expect(result.status == 0, "\(result)")
    #expect(try await proxy.requests() == [.init(asked: "\(user.server.options.domain):5222", user: "carol")])
    // The proxy is kept with the account, and the password is not.
    _ = try await user.imctl.run("logout")
    let again = try await user.imctl.run(
      ["login", user.jid, "--password-stdin"], input: user.password)
    #expect(again.status == 0, "\(again)")
    #expect(try await proxy.requests().count == 2)
    let stored = try await ChildProcess("/bin/cat", [user.accountsPath])
    _ = try await stored.ended(within: .seconds(90))
    #expect(!stored.output.text.contains(": \"sesam"))
    let asked = try await ChildProcess("/bin/cat", [count])
    _ = try await asked.ended(within: .seconds(90))
    #expect(asked.output.lines.count == 2)

    // A stream of its own takes the same way.
    let revoked = try await user.imctl.run("token", "revoke")
    #expect(revoked.status == 0, "\(revoked)")
    let offer = try await user.imctl.run(
      "login", user.jid, "--list-mechanisms", "--ca-file", user.server.caFile, "--proxy",
      proxy.url(user: "carol"),
      "--proxy-password-command", "echo sesam")
    #expect(offer.status == 0, "\(offer)")
    #expect(try await proxy.requests().count == 4)
    try await user.imctl.end()
    try await proxy.end()
  }

  @Test("A login tells whether the proxy refused the password or the password command failed.")
  func refused() async throws {
    let user = try await User(on: .prosody)
    let proxy = try await proxy(.http, to: user.server, user: "carol")
    let wrong = try await login(
      user, "--proxy", proxy.url(user: "carol"), "--proxy-password-command", "echo open")
    #expect(wrong.status == 83)
    let error = try wrong.error
    #expect(error.name == "proxyUnavailable")
    #expect(error.code == 31_028)
    #expect(error.stage == "proxy")
    #expect(error.message.contains("407 Proxy Authentication Required"))
    let none = try await login(
      user, "--proxy", proxy.url(user: "carol"), "--proxy-password-command", "false")
    #expect(none.status == 77)
    #expect(try none.error.name == "credentialSourceFailed")
    #expect(try none.error.stage == "proxy")
    try await proxy.end()
    let dead = try await login(user, "--proxy", proxy.url(user: "carol"))
    #expect(dead.status == 83)
    try await user.imctl.end()
  }

  @Test(
    "An invalid proxy URL is refused before anything is sent, and its password is not repeated."
  )
  func invalid() async throws {
    let user = try await User(on: .prosody)
    for proxy in ["http://carol:hunter2@127.0.0.1:1", "ftp://127.0.0.1:1", "127.0.0.1:1080", ""] {
      let result = try await login(user, "--proxy", proxy)
      #expect(result.status == 64, "\(proxy): \(result)")
      #expect(!result.errors.contains("hunter2"))
    }
    let command = try await login(user, "--proxy-password-command", "echo sesam")
    #expect(command.status == 64)
    let nobody = try await login(
      user, "--proxy", "http://127.0.0.1:1", "--proxy-password-command", "echo sesam")
    #expect(nobody.status == 64)
    try await user.imctl.end()
  }

  @Test("The option --proxy none bypasses the stored proxy.")
  func none() async throws {
    let user = try await User(on: .prosody)
    let proxy = try await ProxyServer(.socks5)
    let first = try await user.login("--proxy", proxy.url())
    #expect(first.status == 0, "\(first)")
    #expect(try await proxy.requests().map(\.asked) == ["127.0.0.1:\(user.server.port)"])
    let second = try await user.login("--proxy", "none")
    #expect(second.status == 0, "\(second)")
    #expect(try await proxy.requests().count == 1)
    try await user.imctl.end()
    try await proxy.end()
  }
}
