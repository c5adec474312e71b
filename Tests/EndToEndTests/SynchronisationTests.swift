import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Synchronisation", .serialized, .timeLimit(.minutes(10)))
struct SynchronisationTests {
  private func changes(_ login: IMCTL.Result) throws -> [StateChange] {
    try login.objects(Event.self).compactMap { if case .state(let change) = $0.body { change } else { nil } }
  }

  @Test(
    "The state changes of a login name the parts to synchronise once, and their counts at the end.",
    arguments: TestServer.Kind.allCases)
  func counts(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind, server: Village.server(kind))
    let first = try changes(await user.login("--json"))
    #expect(first.compactMap(\.parts) == [SyncPart.allCases])
    #expect(first.first { $0.parts != nil }?.state == .syncing)
    #expect(first.last?.state == .syncOK && first.last?.counts?[.roster] == 0)
    #expect(first.compactMap(\.counts).map { $0[.blocklist] } == [0])
    for command in [
      ["contacts", "add", "bob@\(TestServer.domain)"], ["contacts", "block", "spam@evil.example"],
      ["conversations", "pin", "carol@\(TestServer.domain)"], ["send", user.jid, "a note"],
      ["conversations", "read", user.jid],
    ] {
      let result = try await user.imctl.run(command)
      #expect(result.status == 0, "\(command): \(result)")
    }
    #expect(try await user.imctl.run("logout").status == 0)
    let second = try changes(await user.login("--json")).last
    #expect(
      second?.counts == [
        .roster: 1, .blocklist: 1, .groups: 0, .conversations: 1, .markers: 1, .roaming: 0, .offline: 0,
        .notices: 0,
      ])
    #expect(second?.late == nil)
    // Nobody to whom the server would send what it has kept.
    #expect(try await user.imctl.run("logout").status == 0)
    let unseen = try changes(await user.login("--json", "--no-presence"))
    #expect(unseen.compactMap(\.parts) == [SyncPart.allCases.filter { ![.offline, .notices].contains($0) }])
    try await user.imctl.end()
  }

  @Test(
    "A contact request sent while the account was offline and a later headline both arrive.",
    arguments: TestServer.Kind.allCases)
  func notices(kind: TestServer.Kind) async throws {
    let (user, bob) = try await Village.user(kind)
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    try bob.send(xml: "<presence to='\(user.jid)' type='subscribe'><status>hello</status></presence>")
    try await bob.settled()
    try await user.goOnline()
    try await eventually("the request") {
      try await user.imctl.ask(ContactRequestsMethod.self, .init(account: user.jid))?.requests
        .contains { $0.jid == bob.bareJID } == true
    }
    let watch = try await user.watch("message")
    try bob.send(
      xml: "<message to='\(user.jid)' type='headline'><subject>news</subject><body>down at 5</body></message>"
    )
    try await watch.messages(1)
    let headline = try #require(try watch.events().first?.message)
    #expect((headline.type, headline.subject, headline.body) == ("headline", "news", "down at 5"))
    watch.send(SIGINT)
    try await user.imctl.end()
  }

  @Test(
    "Stored contacts and history are readable at once while an automatic login finds no server.")
  func unreachable() async throws {
    var options = TestServer.Options(.prosody)
    options.accounts = Neighbourhood.options(.prosody).accounts
    let server = try await TestServer(options)
    let user = try await User(server: server)
    try await user.goOnline()
    #expect(try await user.imctl.run("contacts", "add", "carol@elsewhere.example").status == 0)
    #expect(try await user.imctl.run("send", user.jid, "remember the milk").status == 0)
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await user.agentEnded()
    try await server.shutDown()
    let login = try await user.imctl.run("login", "--auto", "--detach")
    #expect(login.status == 0, "\(login)")
    try await eventually("a failure") { try await user.session()?.cause != nil }
    let contacts = try await user.imctl.run("contacts", "list", "--json")
    #expect(contacts.status == 0)
    let carol = try contacts.objects(Contact.self).first { $0.jid == "carol@elsewhere.example" }
    #expect(carol?.stale == true)
    let history = try await user.imctl.run("history")
    #expect(history.status == 0 && history.output.contains("remember the milk"))
    #expect(try await user.imctl.run("status").status == 1)
    // The agent has not given up.
    try await server.start()
    try await eventually("the session") { try await user.imctl.session()?.isOnline == true }
    try await user.imctl.end()
    try await server.end()
  }

  @Test(
    "Synchronisation ends at servers without an archive and at servers with little more than a roster.",
    arguments: TestServer.Kind.oneOfEach)
  func poor(kind: TestServer.Kind) async throws {
    var options = Neighbourhood.options(kind)
    options.withoutModules =
      kind.isProsody ? ["mam", "pep", "blocklist", "bookmarks", "carbons"] : ["mod_mam"]
    let server = try await TestServer(options)
    let user = try await User(on: kind, server: server)
    for _ in 1...2 {
      let login = try await user.login("--json")
      #expect(try login.states.last == .syncOK, "\(login)")
      let counts = try #require(try changes(login).last?.counts)
      #expect(
        kind.isProsody ? Set(counts.keys) == [.roster, .offline, .notices] : counts[.blocklist] == 0,
        "\(counts)")
      #expect(try await user.imctl.run("logout").status == 0)
    }
    try await user.imctl.end()
    try await server.end()
  }
}
