import AgentProtocol
import Logging
import TestSupport
import Testing
import XMPPStanza

@testable import AgentService
@testable import AgentSession
@testable import AgentStore

/// What a session reads of its archive beside catching up, at servers that are honest and at others.
@Suite(.serialized, .timeLimit(.minutes(6))) struct SessionHistoryTests {
  private let home: TemporaryDirectory
  private static let jid = "alice@\(TestServer.domain)"

  init() throws { home = try TemporaryDirectory() }

  // MARK: A scripted server

  /// A message of the archive, from bob unless somebody else is named.
  private static func result(
    _ id: String, query: String, body: String? = nil, stamp: String = "2026-01-01T00:00:00Z",
    from: String? = nil
  ) -> String {
    "<message \(from.map { "from='\($0)' " } ?? "")to='\(jid)/scripted'><result xmlns='urn:xmpp:mam:2'"
      + " queryid='\(query)' id='\(id)'><forwarded xmlns='urn:xmpp:forward:0'>"
      + "<delay xmlns='urn:xmpp:delay' stamp='\(stamp)'/><message xmlns='jabber:client' type='chat'"
      + " from='bob@\(TestServer.domain)/x' to='\(jid)'><body>\(body ?? id)</body></message></forwarded></result>"
      + "</message>"
  }

  /// The answer to the next page that is asked for.
  private static func page(
    _ number: Int, _ results: String = "", ends: (first: String, last: String)? = nil, complete: Bool = false
  ) -> [ScriptedServer.Step] {
    let set = ends.map { "<first>\($0.first)</first><last>\($0.last)</last>" } ?? ""
    return [
      .client(
        "<iq type='set' id='{i\(number)}'><query xmlns='urn:xmpp:mam:2' queryid='{q\(number)}'/></iq>"),
      .server(
        results + "<iq type='result' id='{i\(number)}'><fin xmlns='urn:xmpp:mam:2' complete='\(complete)'>"
          + "<set xmlns='http://jabber.org/protocol/rsm'>\(set)</set></fin></iq>"),
    ]
  }

  /// A first login, at an archive whose newest message is `p`; then what is asked for.
  private func session(
    catchingUp news: [ScriptedServer.Step] = page(1, complete: true), then pages: [ScriptedServer.Step] = []
  ) async throws -> (Session, ScriptedServer, EventHub) {
    let script =
      .login(until: .bound, jid: Self.jid + "/scripted") + [ScriptedServer.Step].synced.dropLast() + [
        .server(
          "<iq type='result' id='{features}'><query xmlns='http://jabber.org/protocol/disco#info'>"
            + "<feature var='urn:xmpp:mam:2'/></query></iq>")
      ]
      + Self.page(0, Self.result("p", query: "{q0}"), ends: ("p", "p")) + news + pages
    let server = try await ScriptedServer(script)
    let store = try LocalStore(path: home.paths.database)
    let hub = try EventCursor(store: store).hub()
    let session = try Session(Self.jid, home: home, hub: hub, store: store)
    _ = try await session.login(.init(port: server.port))
    try await session.caughtUp()
    return (session, server, hub)
  }

  private func bodies() throws -> [String] {
    var bodies: [String] = []
    try LocalHistory(path: home.paths.database)?.read(HistoryQuery(account: Self.jid)) { event in
      if case .message(let message) = event.body { bodies.append(message.body ?? "") }
    }
    return bodies
  }

  private func sync(_ session: Session, limit: Int, with peer: String? = nil) async throws
    -> HistorySyncMethod.Result
  {
    try await session.syncHistory(.init(account: nil, with: peer, limit: limit))
  }

  @Test("Old pages are read backwards until there are enough messages, and no events are published for them.")
  func past() async throws {
    let (session, server, hub) = try await session(
      then: Self.page(
        2,
        Self.result("n", query: "{q2}", stamp: "2026-01-02T00:00:00Z")
          + Self.result("o", query: "{q2}", stamp: "2026-01-02T00:00:00Z")
          + Self.result("p", query: "{q2}", stamp: "2026-01-03T00:00:00Z"), ends: ("n", "p"))
        + Self.page(3, Self.result("m", query: "{q3}", stamp: "2026-01-02T00:00:00Z"), ends: ("m", "m"))
        + Self.page(4, complete: true))
    let events = hub.subscribe(.init(events: ["message"]))
    #expect(try await sync(session, limit: 2) == .init(fetched: 3, complete: true))
    #expect(try bodies() == ["n", "o", "p"])
    // It goes on where it was.
    #expect(try await sync(session, limit: 9) == .init(fetched: 1, complete: true))
    #expect(try bodies() == ["m", "n", "o", "p"])
    hub.publish(account: Self.jid, .message(MessageEvent(from: nil, to: nil, direction: .in, type: "chat")))
    var iterator = events.makeAsyncIterator()
    guard case .message(let first)? = await iterator.next()?.body else { throw CancellationError() }
    #expect(first.id == nil && first.body == nil)
    await session.close()
    #expect(server.mismatches.isEmpty)
    #expect(server.received.contains("<before>n</before>") && server.received.contains("<before>m</before>"))
  }

  @Test(
    "Archive results of strangers or of another question are ignored, and impossible dates are replaced.")
  func hostile() async throws {
    let (session, server, _) = try await session(
      then: Self.page(
        2,
        Self.result("a", query: "{q2}", body: "of mallory", from: "mallory@evil.example")
          + Self.result("b", query: "{q2}", body: "of a room", from: "room@muc.example")
          + Self.result("c", query: "{q2}", body: "of my device", from: Self.jid + "/x")
          + Self.result("d", query: "{q1}", body: "of another question")
          + Self.result("e", query: "{q2}", body: "honest", from: Self.jid)
          + Self.result("f", query: "{q2}", body: "far", stamp: "292277026596-12-04T15:30:07Z")
          + Self.result("g", query: "{q2}", body: "future", stamp: "9999-12-31T23:59:59Z")
          + Self.result("h", query: "{q2}", body: "before", stamp: "0001-01-01T00:00:00Z"), ends: ("e", "h"),
        complete: true))
    #expect(try await sync(session, limit: 9) == .init(fetched: 4, complete: true))
    try await server.finished()
    await session.close()
    #expect(try bodies() == ["honest", "far", "future", "before"])
  }

  @Test("An archive page with an oversized message is complete, and the message is not requested again.")
  func refused() async throws {
    let many = String(repeating: "<a/>", count: 140_000)
    let large = Self.result("n", query: "{q1}").replacing("<body>n</body>", with: many)
    let (session, server, _) = try await session(
      catchingUp: Self.page(
        1, large + Self.result("o", query: "{q1}"), ends: ("n", "o"), complete: true))
    #expect(try bodies() == ["o"])
    #expect(await session.perform { $0.messages.archive.position } == "o")
    await session.close()
    #expect(server.mismatches.isEmpty)

    let last = try await self.session(
      catchingUp: Self.page(1, large, ends: ("n", "n"), complete: true))
    #expect(await last.0.perform { $0.messages.archive.position } == "n")
    await last.0.close()
    #expect(last.1.mismatches.isEmpty)
  }

  @Test("A message that claims to be old does not end the search for older messages.")
  func claimedAge() async throws {
    let claim =
      "<message type='chat' from='bob@\(TestServer.domain)/x' to='\(Self.jid)'><body>old</body>"
      + "<stanza-id xmlns='urn:xmpp:sid:0' by='\(Self.jid)' id='q'/>"
      + "<delay xmlns='urn:xmpp:delay' stamp='1970-01-02T00:00:00Z'/></message>"
    let (session, server, _) = try await session(
      then: [.server(claim)] + Self.page(2, Self.result("o", query: "{q2}"), ends: ("o", "o"), complete: true)
    )
    try await eventually("the message") { try !bodies().isEmpty }
    var parameters = HistorySyncMethod.Parameters(account: nil, with: nil, limit: 9)
    parameters.after = 1_700_000_000
    #expect(try await session.syncHistory(parameters) == .init(fetched: 1, complete: true))
    #expect(try bodies().sorted() == ["o", "old"])
    await session.close()
    #expect(server.mismatches.isEmpty)
  }

  @Test("A page that the archive repeats ends the reading.")
  func repeated() async throws {
    func same(_ number: Int) -> [ScriptedServer.Step] {
      Self.page(
        number, Self.result("x", query: "{q\(number)}") + Self.result("y", query: "{q\(number)}"),
        ends: ("x", "y"))
    }
    let (session, server, _) = try await session(then: same(2) + same(3))
    #expect(try await sync(session, limit: 9) == .init(fetched: 2, complete: false))
    try await server.finished()
    await session.close()
    #expect(try bodies() == ["x", "y"] && server.mismatches.isEmpty)
  }

  @Test("Catching up ends when the archive repeats a page, and leaves a gap before the newest message.")
  func repeatedNews() async throws {
    func same(_ number: Int) -> [ScriptedServer.Step] {
      Self.page(number, Self.result("x", query: "{q\(number)}"), ends: ("x", "x"))
    }
    // The newest one, and a try to fill the gap.
    let newest = Self.page(3, Self.result("z", query: "{q3}"), ends: ("z", "z"))
    let (session, server, _) = try await session(catchingUp: same(1) + same(2) + newest + same(4))
    try await server.finished()
    await session.close()
    #expect(try bodies() == ["x"] && server.mismatches.isEmpty)
    let gap = try await LocalStore(path: home.paths.database).read { try ArchiveGap.oldest(of: Self.jid, $0) }
    #expect(gap == ArchiveGap(after: "x", before: "z"))
  }

  @Test("A gap is filled from the message before it to the message after it, and its messages are new.")
  func gap() async throws {
    let store = try LocalStore(path: home.paths.database)
    let gap = ArchiveGap(after: "k", before: "n")
    try await store.change { try gap.save(of: Self.jid, $0) }
    let (session, server, _) = try await session(
      then: Self.page(2, Self.result("l", query: "{q2}"), ends: ("l", "l"))
        + Self.page(3, Self.result("m", query: "{q3}") + Self.result("n", query: "{q3}"), ends: ("m", "n")))
    try await server.finished()
    try await eventually("the end of the gap") {
      try await store.read { try ArchiveGap.oldest(of: Self.jid, $0) } == nil
    }
    await session.close()
    let news = try await store.replay(after: 0, until: .max, account: nil).events
    #expect(news.count == 3)
    #expect(server.mismatches.isEmpty)
    #expect(server.received.contains("<after>k</after>") && server.received.contains("<after>l</after>"))
  }

  @Test("An account that is not logged in fetches nothing from the archive.")
  func offline() async throws {
    let session = try Session(Self.jid, home: home)
    await #expect { _ = try await sync(session, limit: 1) } throws: { ($0 as? Failure)?.name == .notLoggedIn }
  }

  // MARK: Real servers

  @Test(
    "A catch-up that ends early leaves a gap, which is filled later with each message once.",
    arguments: TestServer.Kind.allCases)
  func limited(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Counterpart("bob", on: server)
    let store = try LocalStore(path: home.paths.database)
    let mark = home.path
    let jid = server.jid("alice")
    func session() throws -> Session {
      try Session(jid, home: home, hub: EventCursor(store: store).hub(), store: store)
    }
    let login = LoginMethod.Parameters(on: server)
    let first = try session()
    _ = try await first.login(login)
    try await first.caughtUp()
    await first.close()
    let count = 250
    let messages = (1...count).map { number in
      "<message to='\(jid)' type='chat' id='\(mark)-\(number)'><body>\(mark) \(number)</body></message>"
    }
    try bob.send(xml: messages.joined())
    try await bob.settled()
    let second = try session()
    await second.limitCatchUp(to: 1)
    _ = try await second.login(login)
    try await second.caughtUp()
    try await eventually("the end of the gap", within: .seconds(120)) {
      try await store.read { try ArchiveGap.oldest(of: jid, $0) } == nil
    }
    await second.perform { await $0.messages.queue.stored() }
    let bodies = try await store.replay(after: 0, until: .max, account: jid).events.compactMap { event in
      if case .message(let message) = event.body { message.body } else { nil }
    }
    #expect(bodies.filter { $0.hasPrefix(mark) } == (1...count).map { "\(mark) \($0)" })
    await second.close()
    try await bob.end()
  }
}

extension Session {
  fileprivate func limitCatchUp(to pages: Int) { messages.archive.pagesToCatchUp = pages }

  fileprivate func syncHistory(_ parameters: HistorySyncMethod.Parameters) async throws(Failure)
    -> HistorySyncMethod.Result
  {
    try await messages.archive.sync(parameters)
  }
}

extension Session {
  /// Waits until the session has read what the archive has that is new.
  fileprivate nonisolated func caughtUp() async throws {
    try await eventually("the end of catching up", within: .seconds(120)) {
      await perform { $0.messages.archive.isCaughtUp }
    }
  }
}
