import AgentProtocol
import GRDB
import TestSupport
import Testing
import XMPP

@testable import AgentSession

/// What may go wrong at the moment at which something else does.
@Suite("Sessions that survive mishaps", .timeLimit(.minutes(4)))
struct SessionMishapTests {
  @Test("A session that was closed for a new login comes back if that login fails.")
  func closedInVain() async throws {
    let desk = try await SessionDesk([
      .session(then: [.client("<presence/>")]),
      .login(until: .authenticated) + [
        .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"), .stall,
      ],
      .session(),
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    var parameters = try await desk.parameters("other")
    // The server does not answer the end of the first stream: less than is waited for that.
    parameters.timeout = 1
    let wanted = parameters
    let failure = await #expect(throws: Failure.self) { try await desk.session.login(wanted) }
    #expect(failure?.name == .connectTimeout)
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 3 }
    #expect(await desk.session.currentStatus().state == .syncOK)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test("A session stays online if the caller of a probe does not wait for the answer.")
  func cancelledProbe() async throws {
    let desk = try await SessionDesk([
      .session(then: [.client("<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>")])
    ])
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    let question = Task { await session.probe(timeout: .seconds(60)) }
    try await desk.until("the question") { _ in desk.server.received.contains("urn:xmpp:ping") }
    question.cancel()
    #expect(await question.value)
    #expect(await session.currentStatus().state == .syncOK)
    #expect(desk.changes.last?.state == .syncOK)
    await session.close()
  }

  @Test(
    "A session survives a stanza that is nested too deeply, and skips it when it arrives again.",
    arguments: [false, true])
  func excess(isEarly: Bool) async throws {
    let from = "from='mallory@\(TestServer.domain)/x'"
    let deep = String(repeating: "<a>", count: 200) + String(repeating: "</a>", count: 200)
    let stanzas = "<message \(from)>\(deep)</message><iq \(from) id='1' type='get'>\(deep)</iq>"
    let hello = "<message \(from) type='chat'><body>hello</body></message>"
    let desk = try await SessionDesk([
      isEarly
        ? .login(until: .bound) + [.server(stanzas)] : .session(then: [.server(stanzas)]),
      .session(then: [.server(stanzas + hello)]),
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the message") { _ in !desk.events.messages.isEmpty }
    #expect(desk.events.messages.map(\.body) == ["hello"])
    #expect(desk.changes.count { $0.state == .syncOK } == (isEarly ? 1 : 2))
    let ends = desk.changes.filter { $0.state == .loseConnection }
    #expect(ends.map(\.cause?.name) == (isEarly ? [] : [.protocolError]))
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "A stanza with too many elements, attributes or names is reported, and the session goes on."
  )
  func breadth() async throws {
    let from = "from='mallory@\(TestServer.domain)/x'"
    let elements = String(repeating: "<a/>", count: 140_000)
    let attributes = String(repeating: "<a b='' c='' d='' e=''/>", count: 40_000)
    let names = (0..<2000).map { "<a\($0)/>" }.joined()
    let hello = "<message \(from) type='chat'><body>hello</body></message>"
    let stanzas = [
      "<message \(from) id='1'>\(elements)</message>", "<presence \(from)><x>\(attributes)</x></presence>",
      "<message id='3'>\(names)</message>",
    ]
    let desk = try await SessionDesk([
      .session(then: stanzas.map { .server($0) } + [.server(hello)])
    ])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the message") { _ in !desk.events.messages.isEmpty }
    #expect(desk.events.messages.map(\.body) == ["hello"])
    let mallory = "mallory@\(TestServer.domain)/x"
    #expect(
      desk.events.refused == [
        StanzaRefused(
          from: mallory, id: "1", size: stanzas[0].utf8.count, reason: "more than 131072 elements"),
        StanzaRefused(
          from: mallory, id: nil, size: stanzas[1].utf8.count, reason: "more than 131072 attributes in all"),
        StanzaRefused(from: nil, id: "3", size: stanzas[2].utf8.count, reason: "more than 1024 names"),
      ])
    #expect(desk.changes.count { $0.state == .loseConnection } == 0 && desk.server.connections == 1)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test("A session survives a failing store, and stores the earlier messages when the store works again.")
  func failingStore() async throws {
    let message = "<message from='bob@\(TestServer.domain)/x' type='chat'><body>hello</body></message>"
    let desk = try await SessionDesk([
      .session(then: [
        .client("<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>"), .server(message), .reset,
      ]), .session(),
    ])
    let session = desk.session
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    configuration.busyMode = .timeout(10)
    let other = try DatabaseQueue(
      path: desk.home.path + "/messages/imctl.sqlite", configuration: configuration)
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    #expect(await session.probe() == false)
    try await desk.until("its return without a store") { changes in
      changes.contains { $0.state == .loseConnection } && changes.last?.state == .syncOK
    }
    try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
    try await desk.until("the message") { !desk.events.messages.isEmpty }
    #expect(desk.events.messages.map(\.body) == ["hello"])
    await session.close()
  }
}

extension [Event] {
  fileprivate var refused: [StanzaRefused] {
    compactMap { if case .stanzaRefused(let refused) = $0.body { refused } else { nil } }
  }

  fileprivate var messages: [MessageEvent] {
    compactMap { if case .message(let message) = $0.body { message } else { nil } }
  }
}
