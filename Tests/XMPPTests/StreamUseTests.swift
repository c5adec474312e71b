import NIOCore
import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPP

/// A stream without an agent around it, as a program of somebody else uses it.
@Suite("Programs that use a stream", .timeLimit(.minutes(6)))
struct StreamUseTests {
  private static let login = [ScriptedServer.Step].login(until: .bound)
  private static let managed: [ScriptedServer.Step] =
    .login(until: .bound, features: "<sm xmlns='urn:xmpp:sm:3'/>") + [
      .client("<enable xmlns='urn:xmpp:sm:3' resume='true'/>")
    ]
  private static let enabled = ScriptedServer.Step.server(
    "<enabled xmlns='urn:xmpp:sm:3' id='s1' resume='true'/>")
  private static let question = ScriptedServer.Step.client("<r xmlns='urn:xmpp:sm:3'/>")
  private static let ping = ScriptedServer.Step.client(
    "<iq type='get' id='{ping}'><ping xmlns='urn:xmpp:ping'/></iq>")

  // MARK: The server is silent

  @Test(
    "A program that only receives learns that its connection is dead.",
    arguments: [login + [ping, .stall], managed + [enabled, question, .stall]])
  func dead(steps: [ScriptedServer.Step]) async throws {
    let server = try await ScriptedServer(steps)
    let stream = try await Login(server).with {
      $0.keepAlive = .milliseconds(100)
      $0.acknowledgementTimeout = .milliseconds(100)
    }.online()
    #expect(await stream.ending() == .silentServer)
    #expect(server.mismatches == [])
    try await server.end()
  }

  @Test("A connection whose server answers pings, even with errors, is not reported as dead.")
  func alive() async throws {
    let answer = ScriptedServer.Step.server("<iq type='error' id='{ping}'/>")
    let server = try await ScriptedServer(
      Self.login + [
        Self.ping, answer, Self.ping, answer, .server("<message><body>still here</body></message>"),
      ])
    let stream = try await Login(server).with { $0.keepAlive = .milliseconds(100) }.online()
    let message = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    #expect(message?.body == "still here")
    #expect(server.mismatches == [])
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test("The time limit of an acknowledgement counts from the request, or from the last data after it.")
  func patience() {
    let patience = TimeAmount.seconds(20)
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    var silence = StreamSilence()
    silence.lastInput = start
    #expect(silence.timeLeft(of: patience, at: start) == nil)
    silence.owedSince = start
    // Something came before the question: the time of the question counts.
    silence.lastInput = start - .seconds(5)
    #expect(silence.timeLeft(of: patience, at: start + .seconds(20)) == .zero)
    // Something came after it, and is no answer.
    silence.lastInput = start + .seconds(1)
    #expect(silence.timeLeft(of: patience, at: start + .seconds(20)) == .seconds(1))
  }

  // MARK: Acknowledgements

  @Test("A request for an acknowledgement waits until the server has enabled stream management.")
  func earlyQuestion() async throws {
    let server = try await ScriptedServer(
      Self.managed + [
        .client("<presence/>"), Self.enabled, Self.question,
        .server("<a xmlns='urn:xmpp:sm:3' h='1'/>"),
      ])
    let stream = try await Login(server).online()
    async let answer = stream.requestAcknowledgement(timeout: .seconds(60))
    while await stream.probes.isEmpty { await Task.yield() }
    try await stream.send([Presence().element])
    #expect(try await answer)
    #expect(server.mismatches == [])
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test("A request for an acknowledgement fails if the server refuses stream management.")
  func refusedQuestion() async throws {
    let server = try await ScriptedServer(
      Self.managed + [.client("<presence/>"), .server("<failed xmlns='urn:xmpp:sm:3'/>")])
    let stream = try await Login(server).online()
    async let answer = stream.requestAcknowledgement(timeout: .seconds(60))
    while await stream.probes.isEmpty { await Task.yield() }
    try await stream.send([Presence().element])
    #expect(try await !answer)
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test("An acknowledgement arrives even if the events before it have not been taken.")
  func acknowledgedBehindEvents() async throws {
    let presence = "<presence from='bob@\(TestServer.domain)/x'/>"
    let server = try await ScriptedServer(
      Self.managed + [
        Self.enabled, .server(String(repeating: presence, count: 1000)), Self.question,
        .server(String(repeating: presence, count: 1000) + "<a xmlns='urn:xmpp:sm:3' h='0'/>"),
      ])
    // Its own acknowledgements would come between.
    let stream = try await Login(server).with { $0.confirmsStanzas = true }.online()
    try await stream.untilPaused()
    #expect(try await stream.requestAcknowledgement(timeout: .seconds(60)))
    #expect(await stream.inbox.count >= 2000)
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  // MARK: Events

  @Test("Each event goes to one of the loops that read a stream, and none of the loops ends early.")
  func severalLoops() async throws {
    let server = try await ScriptedServer(
      Self.login + [
        .client("<presence/>"),
        .server("<message id='1'><body>x</body></message><message id='2'><body>x</body></message>"),
      ])
    let stream = try await Login(server).online()
    let loops = (1...2).map { _ in
      Task { await stream.first { if case .message(let message) = $0 { message.id } else { nil } } }
    }
    while await stream.inbox.waiting < loops.count { await Task.yield() }
    try await stream.send([Presence().element])
    var ids: Set<String?> = []
    for loop in loops { ids.insert(await loop.value) }
    #expect(ids == ["1", "2"])
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test("The answer to a request that was sent as an ordinary stanza arrives as an event.")
  func answer() async throws {
    let server = try await ScriptedServer(
      Self.login + [
        .client("<iq type='get' id='v1'><query xmlns='jabber:iq:version'/></iq>"),
        .server("<iq type='result' id='v1'><query xmlns='jabber:iq:version'><name>test</name></query></iq>"),
      ])
    let stream = try await Login(server).online()
    try await stream.send([
      IQ(type: .get, id: "v1", payload: [XMLElement("query", namespace: "jabber:iq:version")]).element
    ])
    let answer = await stream.first { if case .answer(let iq) = $0 { iq } else { nil } }
    #expect(answer?.id == "v1")
    #expect(answer?.payload.first?.first("name", "jabber:iq:version")?.text == "test")
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  // MARK: Lives of streams

  @Test("A login that fails or never starts keeps the session that it should resume.")
  func resumption() async throws {
    let server = try await ScriptedServer(eachConnection: [[.header, .close], []])
    var session = StreamManagement(of: try JID("alice@\(TestServer.domain)/r"))
    session.enabled(
      XMLElement(
        "enabled", namespace: Namespaces.streamManagement, attributes: ["id": "s1", "resume": "true"]))
    let login = try await Login(server).with { [session] in $0.resuming = session }
    let stream = XMPPStream(login.configuration)
    #expect(await Task { try await stream.connect() }.result.failure != nil)
    #expect(await stream.management == session)
    let unused = XMPPStream(login.configuration)
    await unused.close()
    #expect(await unused.management == session)
    try await server.end()
  }

  @Test(
    "A stream whose owner releases it is closed at the server.",
    arguments: [false, true])
  func forgotten(isManaged: Bool) async throws {
    let server = try await ScriptedServer(
      isManaged
        ? Self.managed + [Self.enabled, .client("</stream:stream>")]
        : Self.login + [.client("</stream:stream>")])
    var stream: XMPPStream? = try await Login(server).online()
    if isManaged {
      try await stream?.managed()
    }
    stream = nil
    try await server.closedByClient()
    #expect(server.mismatches == [])
    try await server.end()
  }
}
