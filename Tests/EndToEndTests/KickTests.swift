import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// How a server ends a session on purpose.
enum KickShape: String, Sendable, CaseIterable {
  /// Another client binds the same resource: `conflict`.
  case replaced
  /// An administrator ends the session: Prosody closes the stream and says nothing, ejabberd says `policy-violation`.
  case ended
  /// ejabberd's administrator gives a reason: `conflict`.
  case reasoned

  func condition(_ kind: TestServer.Kind) -> String? {
    switch self {
    case .replaced, .reasoned: "conflict"
    case .ended: kind.isProsody ? nil : "policy-violation"
    }
  }
}

extension User {
  private var parts: String { "<<\"\(name)\">>,<<\"\(server.options.domain)\">>" }

  /// Ends this user's sessions as an administrator does.
  func endSessions(reason: String? = nil) async throws {
    if server.options.kind.isProsody {
      try await server.evaluate(
        """
        for _, session in pairs(prosody.hosts["\(server.options.domain)"].sessions["\(name)"].sessions) do
          session:close()
        end
        """)
    } else if let reason {
      try await server.evaluate(
        "[mod_admin_extra:kick_session(\(parts),R,<<\"\(reason)\">>) "
          + "|| R <- ejabberd_sm:get_user_resources(\(parts))].")
    } else {
      try await server.evaluate("ejabberd_sm:kick_user(\(parts)).")
    }
  }

  /// Bans this user.
  func ban(reason: String) async throws {
    switch server.options.kind {
    case .prosody: throw TestSupportError("Debian 12's Prosody cannot")
    case .prosody13:
      try await server.evaluate(
        "require \"prosody.core.usermanager\".disable_user(\"\(name)\", \"\(server.options.domain)\")")
    case .ejabberd, .ejabberd24:
      let ban = server.options.kind == .ejabberd ? "ban_account" : "ban_account_v2"
      let value = try await server.evaluate("mod_admin_extra:\(ban)(\(parts),<<\"\(reason)\">>).")
      guard value == "{ok,ok}" else { throw TestSupportError("ban: \(value)") }
    }
  }

  /// Gives this user another password, as another of their devices does.
  func setPassword(_ password: String) async throws {
    if server.options.kind.isProsody {
      let module = server.options.kind == .prosody ? "core.usermanager" : "prosody.core.usermanager"
      try await server.evaluate(
        "require \"\(module)\".set_password(\"\(name)\", \"\(password)\", \"\(server.options.domain)\")")
    } else {
      try await server.evaluate("ejabberd_auth:set_password(\(parts),<<\"\(password)\">>).")
    }
  }
}

extension [Event] {
  var kicks: [Kick] { compactMap { if case .kicked(let kick) = $0.body { kick } else { nil } } }
  var loginsRequired: [LoginRequired] {
    compactMap { if case .loginRequired(let required) = $0.body { required } else { nil } }
  }
}

@Suite("Sessions that are ended from outside", .serialized)
struct KickTests {
  @Test(
    "A kicked session ends, and its event reports everything that is known about the cause.",
    arguments: TestServer.Kind.allCases.flatMap { kind in
      KickShape.allCases.filter { $0 != .reasoned || !kind.isProsody }.map { (kind, $0) }
    })
  func kicked(kind: TestServer.Kind, shape: KickShape) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk")
    let since = try await user.status().since
    let watch = try await user.watch("state,kicked")
    var other: Counterpart?
    switch shape {
    case .replaced:
      other = try await Counterpart(
        jid: user.jid + "/desk", password: user.password, port: user.server.port, caFile: user.server.caFile)
    case .ended: try await user.endSessions()
    case .reasoned: try await user.endSessions(reason: "go away")
    }
    let change = try await watch.state(.kicked)
    let kick = try await watch.output.first("the kick") { _ in try watch.events().kicks.first }
    #expect(kick.cause == change.cause && kick.cause.name == .kicked)
    #expect(kick.cause.condition == shape.condition(kind))
    if shape == .reasoned { #expect(kick.cause.text == "go away") }
    #expect(kick.fullJID == user.jid + "/desk" && kick.next == .stop && kick.retryIn == nil)
    #expect(kick.onlineSince.map { $0 <= since ?? "" } == true)
    try await eventually("isLogin false") { try user.stored().first?.isLogin == false }
    #expect(try user.stored().first?.password == user.password)
    watch.send(SIGINT)
    _ = try await watch.ended(within: .seconds(90))
    #expect(try watch.events().states == [.kicked])
    // Without an agent the cause is still known, and when the server was last heard of.
    if shape == .replaced { #expect(try await user.imctl.run("agent", "stop").status == 0) }
    let status = try await user.status()
    #expect(status.state == .kicked && status.cause?.name == .kicked && status.lastSeen != nil)
    try await other?.end()
  }

  @Test(
    "A ban that the server announces to an online session ends the session and clears the stored password."
  )
  func blockedOnline() async throws {
    let user = try await User(on: .prosody13)
    let login = try await user.imctl.start(
      ["login", user.jid, "--password-stdin", "--json", "--foreground", "--on-kick", "fight"]
        + user.connection)
    login.write(user.password + "\n")
    try await login.output.contains(#""event":"success""#)
    // While it has much to send, as at the beginning of a session, Prosody drops what it says at the end.
    try await Task.sleep(for: .seconds(2))
    try await user.ban(reason: "spam")
    #expect(
      try await login.ended(within: .seconds(90)) == .exited(82), "\(login.output.text)\(login.errors.text)")
    let kick = try #require(try login.events().kicks.first)
    #expect(kick.cause.name == .userBlocked && kick.cause.condition == "not-authorized" && kick.next == .stop)
    #expect(
      try user.stored().first
        == .init(
          account: user.jid, password: nil, domain: TestServer.domain, isLogin: false))
    let again = try await user.login("--json")
    #expect(again.status == 82)
    #expect(try again.error.code == 31_009)
  }

  @Test(
    "A ban that the server reports as a kick is recognised when the session tries to log in again."
  )
  func blockedLater() async throws {
    // A token for the device goes on logging in who is banned: the server has none here.
    var options = Neighbourhood.options(.ejabberd24)
    options.extraModules = ["mod_admin_extra"]
    options.withoutModules = ["mod_auth_fast"]
    let server = try await TestServer(options)
    let user = try await User(on: .ejabberd24, server: server)
    try await user.goOnline("--on-kick", "reconnect")
    let watch = try await user.watch("state,kicked")
    try await user.ban(reason: "spam")
    // The kick is answered, and that is where the ban is found out.
    let refused = try await watch.state(.loginFailed)
    #expect(refused.cause?.name == .userBlocked && refused.cause?.condition == "account-disabled")
    let kick = try #require(try watch.events().kicks.first)
    #expect(kick.cause.condition == "conflict" && kick.next == .reconnect)
    try await eventually("the secret is gone") { try user.stored().first?.password == nil }
    #expect(try user.stored().first?.isLogin == false)
    let again = try await user.login("--json")
    #expect(again.status == 82)
    try await server.end()
  }

  @Test(
    "A login beyond the server's limit of sessions ends the oldest session.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func tooMany(kind: TestServer.Kind) async throws {
    var options = Neighbourhood.options(kind)
    options.maximumSessions = 3
    let server = try await TestServer(options)
    let user = try await User(account: "bob", on: server)
    try await user.goOnline()
    let others = [try await OtherDevice(of: user), try await OtherDevice(of: user)]
    let watch = try await user.watch("kicked")
    let last = try await OtherDevice(of: user)
    try await eventually("the kick") { try !watch.events().kicks.isEmpty }
    let kick = try #require(try watch.events().kicks.first)
    #expect(kick.cause.condition == "conflict" && kick.cause.code == 31_010 && kick.next == .stop)
    #expect(try await user.status().state == .kicked)
    for device in others + [last] { #expect(try await device.state() == .syncOK) }
    try await server.end()
  }

  @Test(
    "A session with --on-kick reconnect comes back under another resource after a kick.",
    arguments: [TestServer.Kind.prosody, .ejabberd24])
  func reconnect(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk", "--on-kick", "reconnect")
    let watch = try await user.watch("state,kicked")
    let other = try await Counterpart(
      jid: user.jid + "/desk", password: user.password, port: user.server.port, caFile: user.server.caFile)
    try await watch.state(.kicked)
    let waiting = try await watch.state(.waiting)
    #expect(waiting.cause?.name == .kicked && (2.5...5).contains(waiting.retryIn ?? 0))
    // An agent that ends now would log in again.
    #expect(try user.stored().first?.isLogin == true)
    try await watch.state(.syncOK)
    let status = try await user.status()
    #expect(status.fullJID?.hasPrefix(user.jid + "/desk-") == true)
    #expect(try watch.events().states.prefix(2) == [.kicked, .waiting])
    #expect(try watch.events().kicks.map(\.next) == [.reconnect])
    try await other.settled()
    try await other.end()
  }

  @Test(
    "A session with --on-kick fight takes its resource back, and the session that took it ends."
  )
  func fight() async throws {
    let user = try await User(on: .prosody)
    try await user.goOnline("--resource", "desk", "--on-kick", "fight")
    let watch = try await user.watch("state,kicked")
    let other = try await IMCTL()
    let login = try await other.run(
      ["login", user.jid, "--password-stdin", "--resource", "desk"] + user.connection, input: user.password)
    #expect(login.status == 0)
    try await watch.state(.kicked)
    try await watch.state(.syncOK)
    #expect(try await user.status().fullJID == user.jid + "/desk")
    try await eventually("the other one's end") {
      try await other.session()?.state == .kicked
    }
    #expect(try watch.events().states == [.kicked, .waiting] + .fullLogin)
    #expect(try watch.events().kicks.count == 1)
  }

  @Test(
    "A session that the server resets comes back at once with its stored credential.",
    arguments: [TestServer.Kind.prosody, .prosody13])
  func reset(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline("--store", "password")
    let watch = try await user.watch("state,kicked")
    try await user.setPassword(user.password)
    let lost = try await watch.state(.loseConnection)
    #expect(lost.cause?.condition == "reset")
    try await watch.state(.syncOK)
    #expect(try watch.events().states == [.loseConnection] + .fullLogin)
    #expect(try watch.events().kicks.isEmpty)
    #expect(try user.stored().first?.isLogin == true)
  }

  private static let conflict = ScriptedServer.Step.server(
    "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/>"
      + "<text xmlns='urn:ietf:params:xml:ns:xmpp-streams'>Replaced by new connection</text></stream:error>"
      + "</stream:stream>")

  private func login(_ imctl: IMCTL, to server: ScriptedServer, _ options: String...) async throws
    -> IMCTL.Result
  {
    try await imctl.run(
      [
        "login", "alice@\(TestServer.domain)", "--password-stdin", "--json", "--host", TestServer.host,
        "--port", String(server.port), "--ca-file", try await TestAuthority.shared.caFile,
      ] + options, input: "alice-secret")
  }

  @Test(
    "A login that loses its resource before synchronisation fails with “otherDeviceLogin”."
  )
  func sameMoment() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [.client("<iq type='get' id='{roster}'/>"), Self.conflict])
    let login = try await login(IMCTL(), to: server)
    #expect(login.status == 81)
    #expect(try login.error.name == "otherDeviceLogin")
    #expect(try login.error.code == 31_023)
    #expect(try login.states.last == .loginFailed)
    #expect(server.connections == 1)
  }

  @Test(
    "A login that conflicts with an earlier attempt of its own is repeated once, and reports no kick."
  )
  func ownAttempt() async throws {
    let online = [ScriptedServer.Step].login(until: .bound) + .synced
    let server = try await ScriptedServer(eachConnection: [
      .login(until: .mechanisms) + [.stall],
      .login(until: .bound) + [.client("<iq type='get' id='{roster}'/>"), Self.conflict],
      online + [.client("<presence/>"), .reset],
      .login(until: .authenticated) + [.close],
      online + [Self.conflict],
      online,
    ])
    let imctl = try await IMCTL()
    let givenUp = try await login(imctl, to: server, "--timeout", "2")
    #expect(givenUp.status == 75, "\(givenUp)")
    let watch = try await imctl.watch("--events", "state,kicked")
    #expect(try await login(imctl, to: server).status == 0)
    #expect(try await imctl.run("presence", "away").status == 0)
    try await eventually("its return") { server.connections == 6 }
    try await eventually("sync") {
      try await imctl.session()?.state == .syncOK
    }
    #expect(try watch.events().kicks.isEmpty)
    #expect(try !watch.events().states.contains(.kicked))
    try await imctl.end()
    try await server.end()
  }

  @Test(
    "A login fails with “tooManyDevices” where the server prefers the session that holds the resource.",
    arguments: TestServer.Kind.allCases)
  func tooManyDevices(kind: TestServer.Kind) async throws {
    var options = Neighbourhood.options(kind)
    options.extraLines = [kind.isProsody ? "conflict_resolve = \"kick_new\"" : "resource_conflict: closenew"]
    let server = try await TestServer(options)
    let user = try await User(on: kind, server: server)
    try await user.goOnline("--resource", "desk")
    let other = try await IMCTL()
    let login = try await other.run(
      ["login", user.jid, "--password-stdin", "--json", "--resource", "desk"] + user.connection,
      input: user.password)
    #expect(login.status == 85)
    #expect(try login.error.name == "tooManyDevices")
    #expect(try login.error.code == 214)
    #expect(try login.error.condition == "conflict")
    let kick = try await other.run(
      ["devices", "kick", "desk", "--json", "--user", user.jid, "--password-stdin"] + user.connection,
      input: user.password)
    #expect(kick.status == 85)
    #expect(try kick.error.condition == "conflict")
    #expect(kick.output.contains(#""state":"refused""#))
    #expect(try await user.status().state == .syncOK)
    // What the device policy cannot do for that reason is told.
    let phone = try await OtherDevice(of: user, "--resource", "phone")
    #expect(try await phone.imctl.run("devices", "policy", "single").status == 0)
    let watch = try await phone.watch("device")
    #expect(try await phone.imctl.run("logout").status == 0)
    #expect(
      try await phone.imctl.run(
        ["login", user.jid, "--password-stdin"] + user.connection, input: user.password
      ).status == 0)
    let stay = try await watch.output.first("what could not be done") { _ in
      try watch.events().devices.first { $0.action == .stay }
    }
    #expect(stay.jid == user.jid + "/desk")
    #expect(
      try await phone.imctl.run("agent", "log").output.contains("the device policy could not be carried out"))
    #expect(try await user.status().state == .syncOK)
    #expect(try await phone.imctl.run("agent", "stop").status == 0)
    // By itself it is tried again, after a minute at the earliest.
    let automatic = try await other.start(
      ["login", user.jid, "--password-stdin", "--json", "--resource", "desk", "--timeout", "0"]
        + user.connection)
    automatic.write(user.password + "\n")
    let waiting = try await automatic.state(.waiting)
    #expect(waiting.cause?.name == .tooManyDevices && waiting.retryIn ?? 0 >= 30)
    automatic.send(SIGINT)
    #expect(try await automatic.ended(within: .seconds(90)) == .exited(130))
    try await server.end()
  }

  @Test("The command agent run ends with the exit status of the kick that ended its only session.")
  func agentRun() async throws {
    let user = try await User(on: .ejabberd24)
    let agent = try await user.imctl.start(["agent", "run"])
    try await eventually("the agent") { try await user.imctl.runningAgent() != nil }
    try await user.goOnline()
    try await user.endSessions()
    #expect(try await agent.ended(within: .seconds(90)) == .exited(80))
    #expect(agent.errors.text.contains("policy-violation"))
    // There is nobody to log in any more.
    let next = try await user.imctl.run("agent", "run", within: .seconds(90))
    #expect(next.status == 0)
  }
}
