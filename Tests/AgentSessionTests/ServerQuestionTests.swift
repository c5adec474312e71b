import AgentProtocol
import TestSupport
import Testing
import XMPPFeatures

@testable import AgentSession

@Suite("Questions to the server", .timeLimit(.minutes(4)))
struct ServerQuestionTests {
  private static func time(_ answer: String) -> [ScriptedServer.Step] {
    [
      .client("<iq type='get' id='{time}' to='im.example'><time xmlns='urn:xmpp:time'/></iq>"),
      .server(answer),
    ]
  }
  private static func result(_ utc: String, _ zone: String = "+01:00") -> String {
    "<iq type='result' id='{time}' from='im.example'><time xmlns='urn:xmpp:time'>"
      + "<tzo>\(zone)</tzo><utc>\(utc)</utc></time></iq>"
  }
  private static let refused = """
    <iq type='error' id='{time}' from='im.example'><error type='cancel'>\
    <service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>
    """

  private static func asked(_ desk: SessionDesk) -> Int {
    desk.server.received.split(separator: "urn:xmpp:time", omittingEmptySubsequences: false).count - 1
  }

  @Test("The server's time is requested once a minute, and an older answer is used and marked if that fails.")
  func time() async throws {
    // 2027-01-15T08:00:00Z by our clock.
    let clock = QuickClock()
    let desk = try await SessionDesk(
      [
        .session(
          then: Self.time(Self.result("2027-01-15T08:00:05.5Z")) + Self.time(Self.refused)
            + Self.time(Self.result("292277026596-01-01T00:00:00Z"))
            + Self.time(Self.result("2027-01-15T08:01:01Z", "beyond")) + [.reset]), [.stall],
      ], clock: clock)
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    let question = ServerQuestion(account: nil)
    async let one = session.serverTime(question)
    async let other = session.serverTime(question)
    let first = try await [one, other]
    for answer in first {
      #expect(answer.time == "2027-01-15T08:00:05.500Z" && answer.zone == "+01:00" && answer.ahead == 5.5)
      #expect(answer.account == SessionDesk.jid && answer.server == TestServer.domain && answer.cause == nil)
    }
    clock.advance(0.25)
    let again = try await session.serverTime(question)
    #expect(again.time == "2027-01-15T08:00:05.750Z" && again.cached && again.age == 0.25)
    clock.advance(59)
    #expect(try await session.serverTime(question).cached)
    #expect(Self.asked(desk) == 1)

    clock.advance(1)
    let refused = try await session.serverTime(question)
    #expect(refused.cause?.name == .stanzaError && refused.cause?.condition == "service-unavailable")
    #expect(refused.time == "2027-01-15T08:01:05.750Z" && refused.cached && refused.age == 60.25)
    let impossible = try await session.serverTime(question)
    #expect(impossible.cause?.name == .protocolError && impossible.time == refused.time)
    #expect(Self.asked(desk) == 3)
    var fresh = question
    fresh.fresh = true
    let back = try await session.serverTime(fresh)
    #expect(back.time == "2027-01-15T08:01:01.000Z" && back.zone == "Z" && !back.cached && back.cause == nil)
    #expect(Self.asked(desk) == 4)

    // Away, and on its way back: what it said last is what there is.
    try await desk.until("its loss") { $0.contains { $0.state == .loseConnection } }
    fresh.timeout = 1
    let away = try await session.serverTime(fresh)
    #expect(away.cached && away.cause != nil)
    _ = try await session.logout(.init(account: nil))
    let gone = await #expect(throws: Failure.self) { try await session.serverTime(question) }
    #expect(gone?.name == .notLoggedIn && gone?.exit == 67)
    await session.close()
  }

  @Test("A question that the server refuses or answers wrongly fails if there is no earlier answer.")
  func refusals() async throws {
    let desk = try await SessionDesk([
      .session(
        then: Self.time(Self.refused) + Self.time(Self.result("soon")) + [
          .client("<iq type='get' id='{ping}' to='im.example'><ping xmlns='urn:xmpp:ping'/></iq>"),
          .server(Self.refused.replacing("{time}", with: "{ping}")),
          .client("<iq type='get' id='{version}' to='im.example'><query xmlns='jabber:iq:version'/></iq>"),
          .server("<iq type='result' id='{version}' from='im.example'/>"),
          .client("<iq type='get' id='{ping}' to='im.example'><ping xmlns='urn:xmpp:ping'/></iq>"),
        ])
    ])
    let session = desk.session
    _ = try await session.login(try await desk.parameters())
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    var question = ServerQuestion(account: nil)
    let refused = await #expect(throws: Failure.self) { try await session.serverTime(question) }
    #expect(refused?.exit == 74)
    let wrong = await #expect(throws: Failure.self) { try await session.serverTime(question) }
    #expect(wrong?.exit == 76)
    let noPing = await #expect(throws: Failure.self) { try await session.serverPing(question) }
    #expect(noPing?.exit == 74)
    let nothing = await #expect(throws: Failure.self) { try await session.serverVersion(question) }
    #expect(nothing?.exit == 76)
    question.timeout = 0.2
    let late = await #expect(throws: Failure.self) { try await session.serverPing(question) }
    #expect(late?.exit == 75)
    #expect(desk.server.mismatches == [])
    await session.close()
  }

  @Test("The server's time is assumed to be that of the middle of the round trip.")
  func middle() {
    let answer = EntityTime(utc: .init(timeIntervalSince1970: 1000), offset: 0)
    let clock = ServerClock(answer, sent: 10, received: 14)
    #expect(clock.time(at: 14) == 1002 && clock.age(at: 11) == 0)
    #expect(clock.isFresh(at: 71.9) && !clock.isFresh(at: 72))
  }

  @Test("A question waits for a session that is about to come online.")
  func waits() async throws {
    let desk = try await SessionDesk([
      .session(then: [
        .client("<iq type='get' id='{ping}' to='im.example'><ping xmlns='urn:xmpp:ping'/></iq>"),
        .server("<iq type='result' id='{ping}' from='im.example'/>"),
      ])
    ])
    let session = desk.session
    let nobody = await #expect(throws: Failure.self) {
      try await session.serverPing(ServerQuestion(account: nil))
    }
    #expect(nobody?.name == .notLoggedIn)
    let parameters = try await desk.parameters()
    let login = Task { try await session.login(parameters) }
    try await desk.until("its beginning") { !$0.isEmpty }
    // What the server expects next is the presence that the desk sends then.
    try await desk.until("its presence") { _ in desk.server.received.contains("<show>away</show>") }
    #expect(try await session.serverPing(ServerQuestion(account: nil)).milliseconds > 0)
    _ = try await login.value
    await session.close()
  }
}

extension Session {
  fileprivate func serverTime(_ question: ServerQuestion) async throws(Failure) -> ServerTime {
    try await serverQueries.time(question)
  }

  fileprivate func serverPing(_ question: ServerQuestion) async throws(Failure) -> ServerPingMethod.Result {
    try await serverQueries.ping(question)
  }

  fileprivate func serverVersion(_ question: ServerQuestion) async throws(Failure)
    -> ServerVersionMethod.Result
  {
    try await serverQueries.version(question)
  }
}
