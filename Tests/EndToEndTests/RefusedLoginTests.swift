import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Sessions whose password is refused at a reconnect", .serialized)
struct RefusedLoginTests {
  /// A command that notes its calls, its arguments and its input, and then does what `script` says.
  private func command(_ user: User, _ script: String) throws -> String {
    let path = user.imctl.home + "/renew"
    let text =
      "#!/bin/sh\necho \"$#\" >> \(user.imctl.home)/calls\ncat >> \(user.imctl.home)/input\n\(script)\n"
    try Data(text.utf8).write(to: URL(filePath: path))
    chmod(path, 0o700)
    return path
  }

  private func read(_ user: User, _ name: String) -> String {
    (try? String(contentsOf: URL(filePath: user.imctl.home + "/" + name), encoding: .utf8)) ?? ""
  }

  /// The events that matter here.
  private let events = "state,loginRequired"

  @Test(
    "A session whose password is refused runs the --on-auth-failure command once and uses its password.",
    arguments: [TestServer.Kind.prosody, .ejabberd])
  func renewed(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let script = try command(user, "echo a-new-password")
    try await user.goOnline("--on-auth-failure", script)
    let watch = try await user.watch(events)
    try await user.setPassword("a-new-password")
    // ejabberd tells nobody: the next login does.
    if !kind.isProsody { try await user.endSessionsUnnoticed() }
    try await watch.state(.loginFailed)
    try await watch.state(.syncOK)
    let seen = try watch.events()
    #expect(seen.loginsRequired.map(\.asksCommand) == [true])
    #expect(seen.loginsRequired.first?.cause.name == .authFailed)
    #expect(seen.states.suffix(6) == .fullLogin)
    #expect(read(user, "calls") == "0\n")
    let input = try JSONDecoder().decode(Event.self, from: Data(read(user, "input").utf8))
    #expect(input.name == "loginRequired" && input.account == user.jid)
    #expect(!read(user, "input").contains(user.password))
    #expect(
      try user.stored() == [
        .init(account: user.jid, password: "a-new-password", domain: TestServer.domain, isLogin: true)
      ])
  }

  @Test(
    "A session whose password is refused ends if the --on-auth-failure command provides no better one.",
    arguments: ["echo wrong-again", "exit 1", "true", nil])
  func refused(script: String?) async throws {
    let user = try await User(on: .prosody)
    let hook = try script.map { ["--on-auth-failure", try command(user, $0)] } ?? []
    let login = try await user.imctl.start(
      ["login", user.jid, "--password-stdin", "--json", "--foreground"] + user.connection + hook)
    login.write(user.password + "\n")
    try await login.output.contains(#""event":"success""#)
    try await user.setPassword("another")
    #expect(try await login.ended(within: .seconds(60)) == .exited(77))
    let seen = try login.events()
    #expect(seen.loginsRequired.map(\.asksCommand) == (script == nil ? [false] : [true, false]))
    // No more than one more attempt.
    let attempts = script == "echo wrong-again" ? 2 : 1
    #expect(seen.states.count { $0 == .loginFailed } == attempts)
    #expect(read(user, "calls") == (script == nil ? "" : "0\n"))
    #expect(
      try user.stored() == [
        .init(account: user.jid, password: nil, domain: TestServer.domain, isLogin: false)
      ])
  }
}

extension User {
  /// Cuts this user's connections at the server, so that they look lost and not ended.
  func endSessionsUnnoticed() async throws {
    try await server.evaluate(
      """
      [exit(ejabberd_sm:get_session_pid(<<"\(name)">>,<<"\(server.options.domain)">>,R),kill)
        || R <- ejabberd_sm:get_user_resources(<<"\(name)">>,<<"\(server.options.domain)">>)].
      """)
  }
}

@Suite("Servers that limit the rate of logins", .serialized)
struct SlowerPaceTests {
  @Test(
    "A server that limits the rate of logins gets no attempt before the time is over, even by a new agent.")
  func failToBan() async throws {
    var options = Neighbourhood.options(.ejabberd)
    options.extraModules = ["mod_fail2ban: {c2s_max_auth_failures: 3}"]
    let server = try await TestServer(options)
    let user = try await User(on: .ejabberd, server: server)
    var last: IMCTL.Result?
    for _ in 0..<5 {
      last = try await user.login("--json", password: "mistyped")
      if last?.status == 86 { break }
      #expect(last?.status == 77)
    }
    let limited = try #require(last)
    #expect(limited.status == 86)
    let error = try limited.error
    #expect(error.name == "rateLimited" && error.condition == "policy-violation")
    // Nothing is sent: what is right is not even tried.
    for _ in 0..<2 {
      let early = try await user.login("--json")
      #expect(early.status == 86)
      #expect(try early.error.stage == "connect")
      #expect(try early.error.message.contains("no attempt before 2"))
      #expect(try early.states == [])
      _ = try await user.imctl.run("agent", "stop")
    }
    let waiting = try await user.imctl.start(
      ["login", user.jid, "--password-stdin", "--json", "--timeout", "0"] + user.connection)
    waiting.write(user.password + "\n")
    let pause = try await waiting.state(.waiting)
    #expect(pause.cause?.name == .rateLimited && (200...300).contains(pause.retryIn ?? 0))
    let status = try await user.status()
    #expect(status.state == .waiting && status.nextRetry != nil && status.cause?.name == .rateLimited)
    waiting.send(SIGINT)
    #expect(try await waiting.ended(within: .seconds(90)) == .exited(130))
    try await server.end()
  }
}
