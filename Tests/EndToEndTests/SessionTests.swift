import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Sessions", .serialized)
struct SessionTests {
  @Test(
    "A session that is online is left unchanged by another login.", arguments: TestServer.Kind.oneOfEach)
  func twice(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let first = try await user.status()
    for arguments in [["login"], ["login", user.jid, "--password-stdin"]] {
      let again = try await user.imctl.run(arguments + ["--json"], input: user.password)
      #expect(again.status == 0)
      let events = try again.objects(Event.self)
      #expect(events.map(\.name) == ["success"])
      #expect(events.allSatisfy { $0.cursor > 0 })
    }
    let second = try await user.status()
    #expect(second.fullJID == first.fullJID)
    #expect(second.sessions == 1)
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.type) == ["available"])
  }

  @Test(
    "A login with another resource ends the old session before it binds the new resource.",
    arguments: TestServer.Kind.oneOfEach)
  func replaced(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline("--resource", "desk")
    #expect(try await user.status().fullJID == user.jid + "/desk")
    try await user.goOnline("--resource", "sofa")
    try await bob.sees(user) { $0.from == user.jid + "/sofa" }
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.from) == [user.jid + "/desk", user.jid + "/desk", user.jid + "/sofa"])
    #expect(bob.seen(of: user).map(\.type) == ["available", "unavailable", "available"])
    #expect(try await user.status().fullJID == user.jid + "/sofa")
    // The resource may stand in the JID too, and stays.
    let laptop = try await user.imctl.run("login", user.jid + "/laptop")
    #expect(laptop.status == 0)
    #expect(laptop.output.hasPrefix(user.jid + "/laptop "))
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    try await bob.sees(user, after: 6) { $0.from == user.jid + "/laptop" && $0.type == "available" }
  }

  @Test("The session of one account does not disturb that of another account on another server.")
  func two() async throws {
    let user = try await User(on: .prosody)
    let other = try await User(on: .ejabberd)
    let bob = try await Neighbourhood.counterpart(.prosody)
    let eve = try await Neighbourhood.counterpart(.ejabberd)
    try await user.goOnline("--resource", "one")
    // Both domains have the same name here, so the accounts need different ones.
    try #require(user.jid != other.jid)
    let login = try await user.imctl.run(
      ["login", other.jid, "--password-stdin", "--resource", "two"] + other.connection, input: other.password)
    #expect(login.status == 0)
    #expect(try await user.imctl.run("presence", "away", "-a", other.jid).status == 0)
    try await eve.sees(other) { $0.show == "away" }
    #expect(try await user.imctl.run("presence", "xa").status == 0)
    try await bob.sees(user) { $0.show == "xa" }
    let all = try await user.imctl.run("status", "--all", "--json").objects(SessionStatus.self)
    #expect(all.map(\.account) == [user.jid, other.jid])
    #expect(all.map(\.fullJID) == [user.jid + "/one", other.jid + "/two"])
    #expect(all.map(\.state) == [.syncOK, .syncOK])
    #expect(try await user.imctl.run("logout", "--account", other.jid).status == 0)
    try await eve.sees(other) { $0.type == "unavailable" }
    #expect(try await user.imctl.run("whoami").output == user.jid + "\n")
    #expect(try await user.imctl.run("logout", "--all").output == "\(user.jid) offline\n")
    try await bob.sees(user) { $0.type == "unavailable" }
    #expect(bob.seen(of: user).count { $0.type == "unavailable" } == 1)
  }

  @Test("A session comes back when a stopped agent is started again.", arguments: TestServer.Kind.oneOfEach)
  func stopped(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    #expect(try await user.imctl.run("agent", "status").status == 1)
    try await user.agentEnded()
    try await bob.sees(user) { $0.type == "unavailable" }
    #expect(try user.stored().first?.isLogin == true)
    #expect(try await user.imctl.run("agent", "start").status == 0)
    try await bob.sees(user, after: 2) { $0.type == "available" }
    // Starting it once more starts nothing.
    let agent = try await user.agent()
    #expect(try await user.imctl.run("agent", "start").status == 0)
    #expect(try await user.agent() == agent)
    try await bob.settled()
    #expect(bob.seen(of: user).count == 3)
  }

  @Test("An agent ends by itself after the logout of its only session.")
  func idle() async throws {
    let user = try await User()
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    try await user.agentEnded()
    #expect(!FileManager.default.fileExists(atPath: user.imctl.home + "/.local/state/imctl/agent.sock"))
  }

  @Test("A session whose stream the server closes without an error is kicked, and does not come back.")
  func closed() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + .synced + [
        .client("<presence><show>away</show></presence>"),
        .server("</stream:stream>"),
      ])
    let imctl = try await IMCTL()
    let login = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(login.status == 0)
    #expect(try await imctl.run("presence", "away").status == 0)
    try await server.closedByClient()
    try await eventually("kicked") {
      try await imctl.session()?.state == .kicked
    }
    #expect(try await imctl.run("status").status == 1)
    #expect(try await imctl.run("whoami").status == 1)
    #expect(server.connections == 1)
  }

  @Test(
    "A session that another client has replaced ends, and does not come back.",
    arguments: TestServer.Kind.oneOfEach)
  func kicked(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let watch = try await user.watch("state")
    let other = try await Counterpart(
      jid: user.jid + "/desk", password: user.password, port: user.server.port, caFile: user.server.caFile)
    let change = try await watch.state(.kicked)
    #expect(change.cause?.name == .kicked)
    #expect(change.cause?.condition == "conflict")
    try await eventually("isLogin false") { try user.stored().first?.isLogin == false }
    #expect(try user.stored().first?.password == user.password)
    let status = try await user.imctl.run("status", "--json")
    #expect(status.status == 1)
    #expect(try status.objects(SessionStatus.self).first?.state == .kicked)
    watch.send(SIGINT)
    #expect(try await watch.ended(within: .seconds(90)) == .exited(130))
    let states = try watch.events().states
    #expect(states == [.kicked])
    try await user.agentEnded()
    // The cause is still known without an agent.
    let later = try await user.imctl.run("status", "--json")
    #expect(later.status == 1)
    #expect(try later.objects(SessionStatus.self).first?.state == .kicked)
    #expect(try later.objects(SessionStatus.self).first?.cause?.name == .kicked)
    try await other.settled()
    try await other.end()
  }

  @Test(
    "A session in the foreground prints its steps, and ends when its command gets a signal.",
    arguments: TestServer.Kind.oneOfEach, [SIGTERM, SIGINT])
  func foreground(kind: TestServer.Kind, signal: Int32) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let login = try await user.imctl.start(
      ["login", user.jid, "--password-stdin", "--json", "--foreground"] + user.connection)
    login.write(user.password + "\n")
    try await login.output.contains(#""event":"success""#)
    #expect(try login.events().states == .fullLogin)
    try await bob.sees(user) { $0.type == "available" }
    // Other commands find it.
    #expect(try await user.imctl.run("presence", "dnd").status == 0)
    try await bob.sees(user) { $0.show == "dnd" }
    // The command and the agent that it has started for this session, and nothing else.
    let processes = try await user.imctl.processes()
    #expect(processes.count == 2 && processes.contains(login.id))
    login.send(signal)
    #expect(try await login.ended(within: .seconds(90)) == .exited(0))
    #expect(login.errors.text == "")
    try await bob.sees(user) { $0.type == "unavailable" }
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.type) == ["available", "available", "unavailable"])
  }

  @Test("The command login --foreground ends with the exit status of the failure that ended its session.")
  func foregroundEnds() async throws {
    let user = try await User()
    let refused = try await user.login("--foreground", "--json", password: "mistyped")
    #expect(refused.status == 77)
    #expect(try refused.error.name == "authFailed")
    #expect(try user.stored() == [])

    let login = try await user.imctl.start(
      ["login", user.jid, "--password-stdin", "--json", "--foreground", "--resource", "desk"]
        + user.connection)
    login.write(user.password + "\n")
    try await login.output.contains(#""event":"success""#)
    let second = try await user.login("--foreground", "--json")
    #expect(second.status == 75)
    #expect(try second.error.name == "alreadyRunning")
    let other = try await Counterpart(
      jid: user.jid + "/desk", password: user.password, port: user.server.port, caFile: user.server.caFile)
    #expect(try await login.ended(within: .seconds(90)) == .exited(80))
    try await other.end()
  }

  @Test("A login with --no-sync returns before the session is synchronised.")
  func noSync() async throws {
    let user = try await User()
    let login = try await user.login("--no-sync", "--json")
    #expect(login.status == 0)
    #expect(try login.states.starts(with: [.linking, .linkOK, .logining, .loginOK]))
    try await eventually("syncOK") { try await user.session()?.state == .syncOK }
  }
}
