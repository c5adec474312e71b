import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The agent as a service of systemd", .serialized)
struct ServiceTests {
  private struct AgentState: Decodable {
    var running: Bool
    var pid: Int32?
    var version: String?
    var service: Bool?
  }

  private static let unit = "imctl.service"

  /// A user with a service manager, and who sees them.
  private func user(_ kind: TestServer.Kind = .prosody) async throws -> (User, UserManager, Counterpart) {
    let user = try await User(on: kind)
    let manager = try await UserManager(user.imctl)
    return (User(user, imctl: manager.imctl), manager, try await Neighbourhood.counterpart(kind))
  }

  private func state(_ user: User) async throws -> AgentState {
    let result = try await user.imctl.run("agent", "status", "--json")
    return try #require(try result.objects(AgentState.self).first)
  }

  @Test(
    "A service takes over from a running agent, restarts when killed, reloads, stops and is uninstalled."
  )
  func life() async throws {
    let (user, manager, bob) = try await user()
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "away", "lunch").status == 0)
    try await bob.sees(user) { $0.show == "away" }
    let before = try #require(try await state(user).pid)
    #expect(try await state(user).service == nil)

    // Handed over: the session ends politely, and is back.
    let install = try await user.imctl.run("agent", "install", "--json")
    #expect((install.errors, install.status) == ("", 0))
    let path = user.imctl.home + "/.config/systemd/user/" + Self.unit
    #expect(install.output == #"{"enabled":true,"started":true,"unit":"\#(path)"}"# + "\n")
    try await bob.sees(user, after: 3) { $0.show == "away" }
    let service = try await state(user)
    #expect(service.service == true)
    #expect(service.pid != before)
    #expect(try await manager.property("MainPID", of: Self.unit) == service.pid.map { "\($0)" })
    #expect(try await manager.property("ActiveState", of: Self.unit) == "active")
    #expect(try await manager.run("systemctl", "--user", "is-enabled", Self.unit) == "enabled\n")
    try await eventually("a status text") {
      try await manager.property("StatusText", of: Self.unit) == "1 of 1 sessions online"
    }

    // Killed: it comes back by itself.
    try await manager.run("systemctl", "--user", "kill", "--signal=KILL", Self.unit)
    try await eventually("another process") {
      guard let agent = try await user.imctl.runningAgent() else { return false }
      return Int32(agent.pid) != service.pid
    }
    try await eventually("its return") { try await user.session()?.state == .syncOK }
    #expect(try await user.status().presence?.show == .away)
    #expect(try await manager.property("NRestarts", of: Self.unit) == "1")

    // Reloaded: the same process.
    let restarted = try await manager.property("MainPID", of: Self.unit)
    try await manager.run("systemctl", "--user", "reload", Self.unit)
    try await eventually("the end of it") {
      try await manager.property("ActiveState", of: Self.unit) == "active"
    }
    #expect(try await manager.property("MainPID", of: Self.unit) == restarted)

    // Restarted by us: it is the service again.
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    #expect(try await state(user).service == true)
    #expect(try await manager.property("MainPID", of: Self.unit) != restarted)

    // Stopped: with a goodbye, well; and started by the next command that needs it.
    try await eventually("online") { try await user.session()?.state == .syncOK }
    let seen = bob.seen(of: user).count
    try await manager.run("systemctl", "--user", "stop", Self.unit)
    try await bob.sees(user, after: seen) { $0.type == "unavailable" }
    #expect(try await manager.property("Result", of: Self.unit) == "success")
    #expect(try await state(user).running == false)
    #expect(try await user.imctl.run("agent", "start").status == 0)
    #expect(try await state(user).service == true)

    // Gone: without a logout.
    #expect(try await user.imctl.run("agent", "uninstall").status == 0)
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try await state(user).running == false)
    #expect(try user.stored().first?.isLogin == true)
    #expect(try await user.imctl.run("agent", "uninstall").errors == "imctl: the agent is not a service\n")
    #expect(try await user.imctl.run("agent", "start").status == 0)
    #expect(try await state(user).service == nil)
    try await manager.end()
  }

  @Test(
    "A service is replaced through systemd by the first command after an upgrade that needs the new version."
  )
  func upgrade() async throws {
    let (user, manager, bob) = try await user()
    // The program as a package installs it: first an older one, then ours in its place.
    let program = user.imctl.home + "/imctl"
    try Self.install(version: "0.0.9", at: program)
    func run(_ words: String...) async throws -> IMCTL.Result {
      try await user.imctl.run(program: program, words)
    }
    #expect(try await run("--version").output == "imctl 0.0.9\n")
    let login = try await user.imctl.run(
      program: program, ["login", user.jid, "--password-stdin"] + user.connection, input: user.password + "\n"
    )
    #expect((login.errors, login.status) == ("", 0))
    #expect(try await run("agent", "install").status == 0)
    #expect(try await run("presence", "away", "lunch").status == 0)
    try await bob.sees(user) { $0.show == "away" }
    let old = try #require(try await state(user).pid)

    try Self.install(version: Version.current, at: program)
    // What starts no agent leaves it alone.
    #expect(try await run("status").status == 0)
    #expect(try await state(user).pid == old)

    let seen = bob.seen(of: user).count
    #expect(try await run("presence", "dnd", "upgraded").status == 0)
    try await bob.sees(user, after: seen) { $0.show == "dnd" }
    let state = try await state(user)
    #expect(state.service == true)
    #expect(state.version == Version.current)
    #expect(state.pid != old)
    #expect(try await manager.property("MainPID", of: Self.unit) == state.pid.map { "\($0)" })
    try await manager.end()
  }

  /// Puts the built programs at a path and beside it, as those of another version of as many characters.
  private static func install(version: String, at path: String) throws {
    for suffix in ["", "-agent"] {
      var program = try #require(FileManager.default.contents(atPath: IMCTL.executable + suffix))
      if version != Version.current {
        func literal(_ text: String) -> Data { Data([0] + text.utf8 + [0]) }
        let places = try #require(program.range(of: literal(Version.current)))
        program.replaceSubrange(places, with: literal(version))
      }
      let fresh = path + ".new"
      guard
        FileManager.default.createFile(
          atPath: fresh, contents: program, attributes: [.posixPermissions: 0o755]),
        rename(fresh, path + suffix) == 0
      else { throw TestSupportError("\(path + suffix) cannot be written") }
    }
  }

  @Test(
    "A service stays without any account online, and its credential command gets no notification socket."
  )
  func stays() async throws {
    let (user, manager, _) = try await user()
    #expect(try await user.imctl.run("agent", "install").status == 0)
    // What a credential command finds: none of what the service manager has told the agent alone.
    let seen = user.imctl.home + "/seen"
    let command = user.imctl.home + "/secret"
    let script = "#!/bin/sh\nenv > \(seen)\nprintf '%s\\n' '\(user.password)'\n"
    _ = FileManager.default.createFile(
      atPath: command, contents: Data(script.utf8), attributes: [.posixPermissions: 0o700])
    let login = try await user.imctl.run(
      ["login", user.jid, "--password-command", command] + user.connection)
    #expect(login.status == 0)
    unlink(seen)
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    try await eventually("online") { try await user.session()?.state == .syncOK }
    let text = String(decoding: try #require(FileManager.default.contents(atPath: seen)), as: UTF8.self)
    #expect(text.contains("PATH="))
    #expect(!text.contains("NOTIFY_SOCKET") && !text.contains("WATCHDOG"))
    let pid = try await state(user).pid
    #expect(try await user.imctl.run("logout").status == 0)
    // Longer than an agent waits that nobody needs.
    try await Task.sleep(for: .seconds(6))
    #expect(try await state(user).pid == pid)
    try await manager.end()
  }
}
