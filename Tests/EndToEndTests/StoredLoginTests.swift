import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The data that a login stores", .serialized)
struct StoredLoginTests {
  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test(
    "A login stores its account in a file that only its owner can read.",
    arguments: TestServer.Kind.allCases)
  func afterSuccess(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline()
    let stored = StoredAccount(
      account: user.jid, password: user.password, domain: TestServer.domain, isLogin: true)
    #expect(try user.stored() == [stored])
    #expect(mode(user.accountsPath) == 0o600)
    for path in [
      user.imctl.home + "/.config/imctl", user.imctl.home + "/.local/state/imctl",
    ] { #expect(mode(path) == 0o700) }
    for file in try FileManager.default.contentsOfDirectory(atPath: user.imctl.home + "/.local/state/imctl") {
      #expect(mode(user.imctl.home + "/.local/state/imctl/" + file) == 0o600, "\(file)")
    }
  }

  @Test(
    "A logout keeps account, domain and password stored, so that the next login asks for nothing."
  )
  func afterLogout() async throws {
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    #expect(try await user.imctl.run("whoami").status == 1)
    let cached = try await user.imctl.run("whoami", "--cached")
    #expect((cached.output, cached.status) == (user.jid + "\n", 0))
    let logout = try await user.imctl.run("logout")
    #expect((logout.output, logout.status) == (user.jid + " offline\n", 0))
    #expect(logout.errors.contains("the secret stays stored"), "\(logout.errors)")
    let stored = StoredAccount(
      account: user.jid, password: user.password, domain: TestServer.domain, isLogin: false)
    #expect(try user.stored() == [stored])
    #expect(try await user.imctl.run("account", "last").output == user.jid + "\n")
    let nobody = try await user.imctl.run("whoami", "--cached")
    #expect((nobody.output, nobody.status) == ("\n", 1))
    // Without a JID it is the last one, and the server is found as before.
    let again = try await user.imctl.run("login")
    #expect(again.status == 0)
    #expect(again.output.hasPrefix(user.jid + "/"))
    #expect(try await user.imctl.run("logout", "--forget").status == 0)
    #expect(try user.stored() == [])
    #expect(try await user.imctl.run("account", "list").output == "")
    #expect(try await user.imctl.run("logout").status == 78)
  }

  @Test(
    "A logout is stored before the session is closed, so that a killed agent does not log in again."
  )
  func killedDuringLogout() async throws {
    let user = try await User()
    try await user.goOnline()
    let agent = try await user.agent()
    // A server that does not answer keeps the logout waiting for the end of the stream.
    let logout = try await user.imctl.start(["logout"])
    try await eventually("isLogin false") { try user.stored().first?.isLogin == false }
    kill(agent, SIGKILL)
    _ = try await logout.ended(within: .seconds(90))
    #expect(
      try user.stored().first
        == .init(
          account: user.jid, password: user.password, domain: TestServer.domain, isLogin: false))
    #expect(try await user.imctl.run("agent", "start").status == 0)
    #expect(try await user.imctl.run("status").status == 1)
  }

  @Test("The stored accounts do not change if the agent is killed during a login.")
  func killedDuringLogin() async throws {
    let server = try await ScriptedServer(.login(until: .authenticated))
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    let before = try Data(contentsOf: URL(filePath: user.accountsPath))
    for jid in [user.jid, "alice@\(TestServer.domain)"] {
      let login = try await user.imctl.start([
        "login", jid, "--password-stdin", "--json", "--port", String(server.port), "--host", TestServer.host,
        "--ca-file", user.server.caFile,
      ])
      login.write("alice-secret\n")
      try await login.state(.logining)
      kill(try await user.agent(), SIGKILL)
      #expect(try await login.ended(within: .seconds(90)) == .exited(69))
      #expect(try Data(contentsOf: URL(filePath: user.accountsPath)) == before)
    }
  }

  @Test(
    "A login with a password that is no longer valid fails, and leaves the running session alone."
  )
  func stale() async throws {
    let user = try await User(on: .ejabberd)
    try await user.goOnline()
    try await user.setPassword("another")
    let fullJID = try await user.status().fullJID
    #expect(try await user.login("--json").status == 77)
    #expect(try await user.status().fullJID == fullJID)
    #expect(try await user.imctl.run("status").status == 0)
    #expect(try await user.login(password: "another").status == 0)
    #expect(try user.stored().first?.password == "another")
  }

  @Test(
    "A login with a mistyped password changes neither the stored account nor the running session.",
    arguments: TestServer.Kind.allCases)
  func mistyped(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let before = try Data(contentsOf: URL(filePath: user.accountsPath))
    let fullJID = try await user.status().fullJID
    let result = try await user.login(password: "mistyped")
    #expect(result.status == 77)
    #expect(try Data(contentsOf: URL(filePath: user.accountsPath)) == before)
    let status = try await user.status()
    #expect(status.state == .syncOK)
    #expect(status.fullJID == fullJID)
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.type) == ["available"])
  }

  @Test("A stored password that the server refuses is deleted, and the rest of the account is kept.")
  func refused() async throws {
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    // Somebody changed the password meanwhile.
    let text = try String(contentsOf: URL(filePath: user.accountsPath), encoding: .utf8)
    let other = text.replacing(user.password, with: "yesterday").replacing("scramKeys", with: "otherKeys")
    let loggedOut = other.replacing("\"isLogin\" : true", with: "\"isLogin\" : false")
    #expect(loggedOut != other)
    try Data(loggedOut.utf8).write(to: URL(filePath: user.accountsPath))
    let watch = try await user.watch("state")
    try Data(other.utf8).write(to: URL(filePath: user.accountsPath), options: .atomic)
    try await watch.state(.loginFailed)
    try await eventually("the secret is gone") { try user.stored().first?.password == nil }
    #expect(
      try user.stored() == [
        .init(account: user.jid, password: nil, domain: TestServer.domain, isLogin: false)
      ])
    let status = try await user.imctl.run("status", "--json")
    #expect(status.status == 1)
    #expect(try status.objects(SessionStatus.self).first?.state == .loginFailed)
    #expect(try status.objects(SessionStatus.self).first?.cause?.name == .authFailed)
    let login = try await user.imctl.run("login", "--json")
    #expect(login.status == 64)
    #expect(try watch.events().states == [.linking, .linkOK, .logining, .loginFailed])
  }

  @Test("A stored account does not change if a login fails because of the network.")
  func unreachable() async throws {
    let server = try await ScriptedServer([])
    let port = server.port
    try await server.end()
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    let result = try await user.imctl.run(
      "login", user.jid, "--port", String(port), "--timeout", "5")
    #expect(result.status == 69)
    #expect(try user.stored().first?.password == user.password)
    #expect(try user.stored().first?.isLogin == true)
  }

  @Test(
    "The options --no-save and --store none keep the password out of the stored account.",
    arguments: [["--no-save"], ["--store", "none"]])
  func nothing(options: [String]) async throws {
    let user = try await User()
    let login = try await user.imctl.run(
      ["login", user.jid, "--password-stdin"] + user.connection + options, input: user.password)
    #expect(login.status == 0)
    #expect(try user.stored().map(\.account) == [user.jid])
    #expect(try user.stored().first?.password == nil)
    let text = try String(contentsOf: URL(filePath: user.accountsPath), encoding: .utf8)
    #expect(!text.contains(user.password))
  }

  @Test(
    "A login with --password-command stores the command, which runs again when the next agent starts.")
  func command() async throws {
    let user = try await User()
    let file = user.imctl.home + "/secret"
    try Data((user.password + "\n").utf8).write(to: URL(filePath: file))
    let login = try await user.imctl.run(
      ["login", user.jid, "--password-command", "cat '\(file)'"] + user.connection)
    #expect(login.status == 0)
    let text = try String(contentsOf: URL(filePath: user.accountsPath), encoding: .utf8)
    #expect(!text.contains(user.password))
    #expect(text.contains("cat '"))
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    let watch = try await user.watch("state")
    try await watch.state(.syncOK)

    let missing = try await user.imctl.run(
      ["login", user.jid, "--password-command", "/nowhere/at/all", "--json"] + user.connection)
    #expect(missing.status == 64)
    #expect(try missing.error.name == "credentialSourceFailed")
    let empty = try await user.imctl.run(
      ["login", user.jid, "--password-command", "true", "--json"] + user.connection)
    #expect(empty.status == 77)
    #expect(try empty.error.name == "credentialSourceFailed")
    #expect(try await user.imctl.run("status").status == 0)
  }

  @Test("Stored accounts are listed, chosen and removed, regardless of how their JID is spelt.")
  func accounts() async throws {
    let user = try await User()
    let other = try await User()
    try await user.goOnline()
    let second = try await user.imctl.run(
      ["login", other.jid.uppercased(), "--password-stdin"] + other.connection, input: other.password)
    #expect(second.status == 0)
    #expect(second.output.hasPrefix(other.jid + "/"))
    let list = try await user.imctl.run("account", "list")
    #expect(list.output == "\(user.jid)\tdefault\tlogged in\n\(other.jid)\t\tlogged in\n")
    #expect(try await user.imctl.run("whoami").output == user.jid + "\n")
    #expect(try await user.imctl.run("account", "use", other.jid).status == 0)
    #expect(try await user.imctl.run("whoami").output == other.jid + "\n")
    #expect(try await user.imctl.run("whoami", "-a", user.jid).output == user.jid + "\n")
    #expect(try await user.imctl.run("account", "last").output == other.jid + "\n")
    #expect(try await user.imctl.run("account", "use", "nobody@\(TestServer.domain)").status != 0)
    #expect(try await user.imctl.run("account", "remove", other.jid).status == 0)
    #expect(try user.stored().map(\.account) == [user.jid])
    #expect(try await user.imctl.run("whoami").output == user.jid + "\n")
    #expect(!(try await user.imctl.run("account", "list", "--json").output).contains(user.password))
  }
}
