import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The idle mode while the user is away from the device", .serialized)
struct IdleTests {
  /// The presences of bob that an account of this watcher has got.
  private static func shows(_ watch: ChildProcess, of account: String) throws -> [PresenceShow] {
    try watch.events().compactMap { event in
      guard event.account == account, case .presence(let change) = event.body,
        change.from.hasPrefix("bob@")
      else { return nil }
      return change.show
    }
  }

  @Test(
    "A server holds back presences in idle mode, and delivers them when the user is active again.",
    arguments: TestServer.Kind.allCases)
  func heldBack(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let other = try await User(on: kind)
    let bob = try await Counterpart("bob", on: user.server)
    try await user.goOnline()
    let second = try await user.imctl.run(
      ["login", other.jid, "--password-stdin"] + other.connection, input: other.password)
    #expect(second.status == 0)
    try await bob.sees(user) { $0.type == "available" }
    try await bob.sees(other) { $0.type == "available" }
    let watch = try await user.watch("presence")
    // The one is away, the other is there: both see bob.
    let idle = try await user.imctl.run("agent", "idle", "-a", user.jid, "--json")
    #expect(idle.output == #"{"account":"\#(user.jid)","applied":true,"idle":"csi"}"# + "\n")
    #expect(try await user.status().idle == .csi)
    try bob.show("away")
    try bob.show("xa")
    try bob.show("dnd")
    _ = try await watch.output.first("bob's last presence") { _ in
      try Self.shows(watch, of: other.jid).last == .dnd ? () : nil
    }
    // What was sent to both has been there for a round trip.
    #expect(try await user.imctl.run("status", "--probe", "-a", other.jid).status == 0)
    #expect(try Self.shows(watch, of: user.jid).contains(.dnd) == false)
    let active = try await user.imctl.run("agent", "active", "-a", user.jid)
    #expect((active.output, active.errors, active.status) == ("\(user.jid) active\n", "", 0))
    _ = try await watch.output.first("what was held back") { _ in
      try Self.shows(watch, of: user.jid).last == .dnd ? () : nil
    }
    #expect(try await user.status().idle == nil)
    try await bob.end()
  }

  @Test(
    "A session in idle mode sends <inactive/> on each new connection, and <active/> when the user is back."
  )
  func toldAgain() async throws {
    let away = "<inactive xmlns='urn:xmpp:csi:0'/>"
    let login: [ScriptedServer.Step] =
      .login(until: .bound, features: "<csi xmlns='urn:xmpp:csi:0'/>") + .synced + [.client(away)]
    let server = try await ScriptedServer(eachConnection: [
      // On the second one what the session asks of itself and what it is asked to say may come in either order.
      login + [.reset], login.dropLast(3),
    ])
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(result.status == 0)
    #expect(try await imctl.run("agent", "idle").status == 0)
    try await eventually("the second connection") {
      server.received(connection: 2).contains("<inactive")
    }
    #expect(server.mismatches == [])
    #expect(try await imctl.run("agent", "active").status == 0)
    try await eventually("its end") { server.received(connection: 2).contains("<active") }
    #expect(server.mismatches == [])
    try await imctl.end()
    try await server.end()
  }

  @Test("The idle mode survives a restart of the agent, until the user is active again.")
  func outlivesAgent() async throws {
    // What the session asks of itself and what it is asked to say may come in either order: that is recorded alone.
    let server = try await ScriptedServer(
      (.login(until: .bound, features: "<csi xmlns='urn:xmpp:csi:0'/>") + .synced).dropLast(2))
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(result.status == 0)
    #expect(try await imctl.run("agent", "idle").status == 0)
    try await eventually("the first connection") { server.received.contains("<inactive") }
    #expect(try await imctl.run("agent", "stop").status == 0)
    #expect(try await imctl.run("agent", "start").status == 0)
    try await eventually("the second connection") { server.received(connection: 2).contains("<inactive") }
    let status = try await imctl.run("status", "--json").objects(SessionStatus.self).first
    #expect(status?.idle == .csi)
    #expect(try await imctl.run("agent", "active").status == 0)
    try await eventually("its end") { server.received.contains("<active") }
    #expect(try await imctl.run("agent", "stop").status == 0)
    let file = try String(contentsOfFile: imctl.home + "/.config/imctl/accounts.json", encoding: .utf8)
    #expect(!file.contains("\"idle\""))
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "A foreground session that is suspended sends <inactive/>, and one that continues sends <active/>."
  )
  func jobControl() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound, features: "<csi xmlns='urn:xmpp:csi:0'/>") + .synced + [
        .client("<inactive xmlns='urn:xmpp:csi:0'/>"), .client("<active xmlns='urn:xmpp:csi:0'/>"),
        .client("<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>"),
        .server("<iq type='result' id='{ping}'/>"), .stall,
      ])
    let imctl = try await IMCTL()
    let caFile = try await TestAuthority.shared.caFile
    // As a shell does: a process group of its own, and a look at what becomes of it.
    let shell = try await ChildProcess(
      "/usr/bin/python3",
      [
        "-u", "-c",
        """
        import os, signal, subprocess, sys
        child = subprocess.Popen(sys.argv[1:], process_group=0, stdin=subprocess.DEVNULL).pid
        for line in sys.stdin:
            if line == "stop\\n":
                os.kill(child, signal.SIGTSTP)
                print("has stopped:", os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]))
            elif line == "go\\n":
                os.kill(child, signal.SIGCONT)
            else:
                os.kill(child, signal.SIGTERM)
                print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """, IMCTL.executable, "login", "alice@\(TestServer.domain)", "--password-command",
        "printf alice-secret", "--json", "--foreground", "--host", TestServer.host, "--port",
        String(server.port), "--ca-file", caFile,
      ],
      environment: [
        "HOME": imctl.home, "XDG_CONFIG_HOME": imctl.home + "/.config",
        "XDG_STATE_HOME": imctl.home + "/.local/state",
      ])
    try await eventually("the login") { server.received.contains("disco#info") }
    try await shell.output.contains("\"success\"")
    shell.write("stop\n")
    try await shell.output.contains("has stopped: True")
    try await eventually("its looking away") { server.received.contains("<inactive") }
    #expect(!server.received.contains("<active"))
    shell.write("go\n")
    try await eventually("its return") { server.received.contains("urn:xmpp:ping") }
    #expect(server.received.contains("<active"))
    #expect(server.mismatches == [])
    shell.write("end\n")
    try await shell.output.contains("ended with 0")
    shell.closeInput()
    _ = try await shell.ended(within: .seconds(90))
    // It has not stayed idle for the next one.
    let file = try String(contentsOfFile: imctl.home + "/.config/imctl/accounts.json", encoding: .utf8)
    #expect(!file.contains("\"idle\""))
    try await imctl.end()
    try await server.end()
  }

  @Test("A server without client state indication is not told of the idle mode, and the command says so.")
  func notOffered() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + .synced + [.client("<presence><show>away</show></presence>"), .stall])
    let imctl = try await IMCTL()
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(server.port), "--ca-file", try await TestAuthority.shared.caFile, input: "alice-secret")
    #expect(result.status == 0)
    let idle = try await imctl.run("agent", "idle")
    #expect((idle.output, idle.status) == ("alice@\(TestServer.domain) idle (csi)\n", 0))
    #expect(idle.errors.contains("does not support it"))
    #expect(try await imctl.run("presence", "away").status == 0)
    try await eventually("the presence") { server.received.contains("<show>away</show>") }
    #expect(!server.received.contains("urn:xmpp:csi"))
    #expect(server.mismatches == [])
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "In idle mode “disconnect” contacts see the account offline, and online again when the user is back.",
    arguments: TestServer.Kind.oneOfEach)
  func disconnected(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "chat", "here").status == 0)
    try await bob.sees(user) { $0.show == "chat" }
    let idle = try await user.imctl.run("agent", "idle", "--mode", "disconnect")
    #expect((idle.output, idle.errors, idle.status) == ("\(user.jid) idle (disconnect)\n", "", 0))
    try await bob.sees(user) { $0.type == "unavailable" }
    let status = try await user.imctl.run("status", "--json")
    #expect(status.status == 1)
    #expect(try status.objects(SessionStatus.self).first?.state == .offline)
    #expect(try status.objects(SessionStatus.self).first?.idle == .disconnect)
    #expect(try user.stored().first?.isLogin == true)
    // The agent is needed all the same, longer than it stays for nobody.
    let agent = try await user.agent()
    if kind == .prosody { try await Task.sleep(for: .seconds(6)) }
    #expect(try await user.imctl.run("agent", "active").status == 0)
    try await bob.sees(user, after: 3) { $0.show == "chat" && $0.status == "here" }
    #expect(try await user.agent() == agent)
    // A login by hand is a way back too.
    #expect(try await user.imctl.run("agent", "idle", "--mode", "disconnect").status == 0)
    #expect(try await user.imctl.run("login").status == 0)
    #expect(try await user.status().idle == nil)
    #expect(try await user.imctl.run("status").status == 0)
    #expect(try await user.imctl.run("agent", "restart").status == 0)
    try await eventually("the next agent has them online") { try await user.session()?.isOnline == true }
  }

  @Test(
    "The command agent idle uses the mode that the agent was started with, and fails without an agent."
  )
  func onIdle() async throws {
    let user = try await User()
    let none = try await user.imctl.run("agent", "idle", "--json")
    #expect(none.status == 67)
    #expect(try await user.imctl.run("agent", "active").status == 67)
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await user.agentEnded()
    let agent = try await user.imctl.start(["agent", "run", "--on-idle", "disconnect"])
    try await eventually("online") { try await user.session()?.state == .syncOK }
    #expect(try await user.imctl.run("agent", "idle").output == "\(user.jid) idle (disconnect)\n")
    #expect(try await user.imctl.run("status").status == 1)
    agent.send(SIGTERM)
    #expect(try await agent.ended(within: .seconds(90)) == .exited(0))
  }
}
