import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The main job: login, presence and logout", .serialized)
struct MainJobTests {
  @Test(
    "Another client sees a user log in, change presence and log out.",
    arguments: TestServer.Kind.allCases, [false, true])
  func mainJob(kind: TestServer.Kind, directTLS: Bool) async throws {
    let user = try await User(on: kind, directTLS: directTLS)
    let bob = try await Neighbourhood.counterpart(kind)

    let login = try await user.login("--json")
    #expect(login.status == 0)
    #expect(login.errors == "")
    let events = try login.objects(Event.self)
    #expect(events.states == .fullLogin)
    #expect(events.first?.name == "dataReady")
    #expect(events.map(\.name).filter { $0 != "state" } == ["dataReady", "success"])
    #expect(events.allSatisfy { $0.account == user.jid })
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.cursor < $1.cursor })
    guard case .success(let success) = events.last?.body else { throw TestSupportError("\(login)") }
    #expect(success.userId == user.jid)
    #expect(success.fullJID.hasPrefix(user.jid + "/"))
    let mechanism = kind.hasSASL2 ? "SCRAM-SHA-1-PLUS" : "SCRAM-SHA-1"
    for case .state(let change) in events.map(\.body) {
      switch change.state {
      case .linking:
        #expect(change.host == TestServer.host)
        #expect(change.port == (directTLS ? user.server.directTLSPort : user.server.port))
      case .linkOK: #expect(change.tls?.version == "TLSv1.3")
      case .logining: #expect(change.mechanism == mechanism)
      case .loginOK: #expect(change.fullJID == success.fullJID)
      default: break
      }
    }
    let available = try await bob.sees(user) { $0.type == "available" }
    #expect(available == .init(from: success.fullJID, type: "available"))

    let away = try await user.imctl.run("presence", "away", "lunch")
    #expect(away.status == 0 && away.output == "" && away.errors == "")
    try await bob.sees(user) { $0.show == "away" && $0.status == "lunch" }

    #expect(try await user.imctl.run("whoami").output == user.jid + "\n")
    let status = try await user.status()
    #expect(status.state == .syncOK)
    #expect(status.fullJID == success.fullJID)
    #expect(status.presence == PresenceStatus(show: .away, status: "lunch", priority: 0, applied: true))
    #expect(status.server?.mechanism == mechanism)
    #expect(status.server?.tls?.version == "TLSv1.3")

    let logout = try await user.imctl.run("logout")
    #expect(logout.status == 0)
    #expect(logout.output == "\(user.jid) offline\n")
    try await bob.sees(user) { $0.type == "unavailable" }
    try await bob.settled()
    let seen = bob.seen(of: user)
    #expect(seen.map(\.type) == ["available", "available", "unavailable"])
    #expect(seen.map(\.show) == ["", "away", ""])

    #expect(try await user.imctl.run("status").status == 1)
    let nobody = try await user.imctl.run("whoami")
    #expect(nobody.status == 1)
    #expect(nobody.output == "\n")
  }

  @Test("The command status --json prints exactly the fields that scripts rely on.")
  func statusFields() async throws {
    let user = try await User()
    try await user.goOnline()
    let result = try await user.imctl.run("status", "--json")
    let fields = try #require(try result.objects([String: Ignored].self).first)
    #expect(
      Set(fields.keys) == [
        "account", "state", "fullJID", "since", "presence", "server", "resumable", "sessions", "resumes",
        "lastSeen", "nextRetry", "idle", "queued", "uncertain",
      ])
    struct Inner: Decodable {
      var presence: [String: Ignored]
      var server: [String: Ignored]
    }
    let inner = try #require(try result.objects(Inner.self).first)
    #expect(Set(inner.presence.keys) == ["show", "status", "priority", "applied"])
    #expect(Set(inner.server.keys) == ["host", "port", "tls", "mechanism", "software", "roundTrips"])
    let presence = try await user.imctl.run("presence", "--json")
    #expect(presence.output == #"{"applied":true,"priority":0,"show":"online","status":null}"# + "\n")
  }

  @Test("The command login -v prints its steps on standard error.", arguments: TestServer.Kind.allCases)
  func verbose(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let login = try await user.login("-v")
    let steps = login.errors.split(separator: "\n").compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
    #expect(steps == [SessionState].fullLogin.map(\.rawValue))
    #expect(login.lines.count == 1)
    #expect(login.output.hasPrefix(user.jid + "/"))
    #expect(!(login.output + login.errors).contains("\u{1b}"))
    let quiet = try await user.login("-q")
    #expect(quiet.status == 0 && quiet.output == "" && quiet.errors == "")
  }

  @Test(
    "The command watch reports every state from the first step of a login to the logout.",
    arguments: TestServer.Kind.allCases)
  func watch(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let watch = try await user.watch("state,presence")
    try await user.goOnline()
    try await watch.state(.syncOK)
    let bob = try await Neighbourhood.counterpart(kind)
    try await watch.output.contains(#""from":"\#(bob.jid)""#)
    #expect(try await user.imctl.run("logout").status == 0)
    try await watch.state(.offline)
    let events = try watch.events()
    #expect(events.states == .fullLogin + [.offline])
    #expect(Set(events.map(\.name)) == ["state", "presence"])
    watch.send(SIGINT)
    #expect(try await watch.ended(within: .seconds(90)) == .exited(130))
  }

  @Test(
    "An agent that gets SIGTERM sends unavailable presence before it ends.",
    arguments: TestServer.Kind.allCases)
  func terminated(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    try await bob.sees(user) { $0.type == "available" }
    kill(try await user.agent(), SIGTERM)
    try await bob.sees(user) { $0.type == "unavailable" }
    try await user.agentEnded()
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.type) == ["available", "unavailable"])
    #expect(try user.stored().first?.isLogin == true)
    #expect(try await user.imctl.run("status").status == 1)
  }

  @Test(
    "A session is resumed after its agent was killed and started again, and contacts see no change.",
    arguments: TestServer.Kind.allCases)
  func killed(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline("--presence", "dnd")
    try await bob.sees(user) { $0.show == "dnd" }
    // A presence that is not known to be acknowledged would be shown again: it is known when the second message is
    // stored as sent.
    for _ in 0..<2 { #expect(try await user.imctl.run("send", user.jid, "a note").status == 0) }
    kill(try await user.agent(), SIGKILL)
    #expect(try await user.imctl.run("agent", "start").status == 0)
    try await eventually("its return") { try await user.session()?.state == .syncOK }
    let status = try await user.status()
    #expect(status.resumes == 1 && status.sessions == 0)
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.type) == ["available"])
    #expect(try await user.imctl.run("logout").status == 0)
    try await bob.sees(user, after: 1) { $0.type == "unavailable" }
  }
}
