import NIOCore
import Synchronization
import TestSupport
import Testing
import XMPPStanza
import XMPPXML

@testable import XMPP

/// What a server may do wrong with stream management (XEP-0198).
@Suite("Stream management with a hostile server", .timeLimit(.minutes(6)))
struct HostileManagementTests {
  private static let feature = "<sm xmlns='urn:xmpp:sm:3'/>"
  private static let enabled: [ScriptedServer.Step] =
    .login(until: .bound, features: feature) + [
      .client("<enable xmlns='urn:xmpp:sm:3' resume='true'/>"),
      .server("<enabled xmlns='urn:xmpp:sm:3' id='s1' resume='true'/>"),
    ]
  private static let presence: [ScriptedServer.Step] = [
    .client("<presence/>"), .client("<r xmlns='urn:xmpp:sm:3'/>"),
  ]

  /// Online, managed, and with a presence under way.
  private static func online(_ server: ScriptedServer) async throws -> XMPPStream {
    let stream = try await Login(server).online()
    try await stream.managed()
    try await stream.send([Presence().element])
    return stream
  }

  @Test(
    "A server that acknowledges stanzas which were never sent gets a stream error, and its session is not resumed.",
    arguments: ["2", "4294967295", "-1", "1.5", "18446744073709551616", "one", ""])
  func miscount(h: String) async throws {
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [
        .server("<a xmlns='urn:xmpp:sm:3' h='\(h)'/>"),
        .client(
          "<stream:error><handled-count-too-high xmlns='urn:xmpp:sm:3' send-count='1'/></stream:error>"),
      ])
    let stream = try await Self.online(server)
    #expect(Failed(await stream.ending()) == Failed(.protocolError, .stream))
    #expect(await stream.management?.canResume == false)
    try await server.finished()
    try await server.end()
  }

  @Test("A stream whose server owes an acknowledgement for too long ends, and its session can be resumed.")
  func silent() async throws {
    let server = try await ScriptedServer(Self.enabled + Self.presence + [.stall])
    let stream = try await Login(server).with { $0.acknowledgementTimeout = .milliseconds(200) }.online()
    try await stream.managed()
    try await stream.send([Presence().element])
    #expect(Failed(await stream.ending()) == Failed(.networkError, .stream))
    #expect(await stream.management?.canResume == true)
    try await server.end()
  }

  @Test("An acknowledgement with a lower count than the one before it ends the stream.")
  func back() async throws {
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [
        .server("<a xmlns='urn:xmpp:sm:3' h='1'/><a xmlns='urn:xmpp:sm:3' h='0'/>")
      ])
    let stream = try await Self.online(server)
    #expect(Failed(await stream.ending()) == Failed(.protocolError, .stream))
    try await server.end()
  }

  @Test("A client answers a flood of acknowledgement requests and stays online.")
  func questions() async throws {
    let server = try await ScriptedServer(
      Self.enabled + [
        .flood("<r xmlns='urn:xmpp:sm:3'/>", bytes: 1_000_000),
        .server("<message from='bob@\(TestServer.domain)'><body>after</body></message>"),
        .server("<r xmlns='urn:xmpp:sm:3'/>"),
      ])
    let stream = try await Login(server).online()
    let message = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    #expect(message?.body == "after")
    #expect(await stream.inbox.count < 4096)
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("A client leaves requests beyond a limit unanswered, reports each of them, and stays online.")
  func requests() async throws {
    let request =
      "<iq type='get' id='q' from='eve@evil.example/x'><query xmlns='urn:example:unknown'/></iq>"
    let piece = 65536 / request.utf8.count
    let pieces = 100_000 / piece + 1
    let server = try await ScriptedServer(
      Self.enabled + [
        .flood(request, bytes: pieces * piece * request.utf8.count),
        .server("<a xmlns='urn:xmpp:sm:3' h='\(StreamManagement.answerLimit)'/>"),
        .server(request.replacing("'q'", with: "'last'")),
        .server("<message from='bob@\(TestServer.domain)'><body>after</body></message>"),
      ])
    let unanswered = Atomic(0)
    let stream = try await Login(server).with {
      $0.onUnanswered = { unanswered.add(1, ordering: .relaxed) }
    }.online()
    let message = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    try #require(message?.body == "after")
    #expect(unanswered.load(ordering: .relaxed) == pieces * piece - StreamManagement.answerLimit)
    // One that comes after the acknowledgement is answered again.
    try await eventually("the last answer") { server.received.contains("last") }
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test(
    "A client goes on without stream management if the server offers it and then refuses to enable it.")
  func refused() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound, features: Self.feature) + [
        .client("<enable xmlns='urn:xmpp:sm:3' resume='true'/>"),
        .server("<failed xmlns='urn:xmpp:sm:3'><unexpected-request/></failed>"),
        .server("<message from='bob@\(TestServer.domain)'><body>hi</body></message>"),
      ])
    let stream = try await Login(server).online()
    _ = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    #expect(await stream.management == nil)
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("A client ignores stream management elements that answer no request of its own.")
  func unasked() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .server(
          "<enabled xmlns='urn:xmpp:sm:3' id='x' resume='true'/><a xmlns='urn:xmpp:sm:3' h='7'/>"
            + "<r xmlns='urn:xmpp:sm:3'/><resumed xmlns='urn:xmpp:sm:3' h='1' previd='x'/>"
            + "<failed xmlns='urn:xmpp:sm:3'/><message from='bob@\(TestServer.domain)'><body>hi</body></message>"
        )
      ])
    let stream = try await Login(server).online()
    _ = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    #expect(await stream.management == nil)
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("A session in which the server has sent malformed XML is not resumed on another connection.")
  func poison() async throws {
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [.server("<message><body>&x;</body>")])
    let stream = try await Self.online(server)
    #expect(Failed(await stream.ending()) == Failed(.protocolError, .stream))
    #expect(await stream.management?.canResume == false)
    try await server.end()
  }

  @Test(
    "A skipped stanza counts as handled; a skipped request is refused, and a skipped answer ends in an error."
  )
  func leftOut() async throws {
    let deep = String(repeating: "<a>", count: 128) + String(repeating: "</a>", count: 128)
    let from = "from='bob@\(TestServer.domain)/x'"
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [
        .server("<message id='m' \(from)>\(deep)</message><iq id='q' \(from) type='get'>\(deep)</iq>"),
        .client(
          "<iq id='q' to='bob@\(TestServer.domain)/x' type='error'><error type='modify'><bad-request xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
        ),
        .client("<iq id='{ping}' type='get'><ping xmlns='urn:xmpp:ping'/></iq>"),
        .server("<iq id='{ping}' type='result'>\(deep)</iq><r xmlns='urn:xmpp:sm:3'/>"),
        .client("<a xmlns='urn:xmpp:sm:3' h='3'/>"),
      ])
    let stream = try await Login(server).with { $0.limits.maximumExcessTokenBytes = 10_000 }.online()
    try await stream.managed()
    try await stream.send([Presence().element])
    let leftOut = await stream.first {
      if case .leftOut(let element, let excess, _) = $0 { (element["id"], excess) } else { nil }
    }
    #expect(leftOut?.0 == "m")
    #expect(leftOut?.1 == "more than 128 elements inside each other")
    await #expect(throws: XMPPError.self) {
      try await stream.request(
        IQ(type: .get, payload: [XMLElement("ping", namespace: "urn:xmpp:ping")]), timeout: .seconds(30))
    }
    try await server.finished()
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("A stanza with too many elements is skipped as a whole and counts as handled.")
  func breadth() async throws {
    let many = String(repeating: "<a/>", count: 140_000)
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [
        .server(
          "<message id='m' from='bob@\(TestServer.domain)/x'>\(many)</message><r xmlns='urn:xmpp:sm:3'/>"),
        .client("<a xmlns='urn:xmpp:sm:3' h='1'/>"),
      ])
    let stream = try await Login(server).online()
    try await stream.managed()
    try await stream.send([Presence().element])
    let leftOut = await stream.first {
      if case .leftOut(let element, let excess, _) = $0 { (element["id"], excess) } else { nil }
    }
    #expect(leftOut?.0 == "m" && leftOut?.1 == "more than 131072 elements")
    try await server.finished()
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  /// The server goes on with the session, of which it says that it has so much.
  private static func resumption(_ count: Int) -> [ScriptedServer.Step] {
    .login(until: .authenticated) + [
      .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>\(feature)"),
      .client("<resume xmlns='urn:xmpp:sm:3' previd='s1' h='0'/>"),
      .server("<resumed xmlns='urn:xmpp:sm:3' previd='s1' h='\(count)'/>"),
    ]
  }
  private static let resumed = resumption(0) + [.client("<r xmlns='urn:xmpp:sm:3'/>")]
  private static let hello = "<message from='bob@\(TestServer.domain)'><body>hi</body></message>"

  private static func ofForm(_ condition: String) -> ScriptedServer.Step {
    .server(
      "<stream:error><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>"
    )
  }

  /// A login that is to go on with a session of before.
  private static func resuming(_ server: ScriptedServer) async throws -> Login {
    var management = StreamManagement(of: try JID("alice@\(TestServer.domain)/r"))
    management.enabled(
      XMLElement(
        "enabled", namespace: Namespaces.streamManagement, attributes: ["id": "s1", "resume": "true"]))
    let earlier = management
    return try await Login(server).with { $0.resuming = earlier }
  }

  private static func resumed(_ server: ScriptedServer) async throws -> XMPPStream {
    try await resuming(server).with { $0.acknowledgementTimeout = .seconds(2) }.online()
  }

  @Test(
    "A resumed session whose server sends data but acknowledges nothing is given up and not resumed again.",
    arguments: [[.server(hello), .stall], [ofForm("policy-violation")], [ofForm("not-well-formed")]])
  func deaf(steps: [ScriptedServer.Step]) async throws {
    let server = try await ScriptedServer(Self.resumed + steps)
    let stream = try await Self.resumed(server)
    #expect(Failed(await stream.ending()) == Failed(.networkError, .stream))
    #expect(await stream.management?.canResume == false)
    try await server.end()
  }

  @Test("A resumed session is not given up when 20 MB arrive before the first acknowledgement.")
  func backlog() async throws {
    let server = try await ScriptedServer(
      Self.resumed + [
        .flood(Self.hello, bytes: 20_000_000), .server("<a xmlns='urn:xmpp:sm:3' h='0'/>"),
        Self.ofForm("conflict"),
      ])
    let stream = try await Self.resuming(server).with { $0.acknowledgementTimeout = .seconds(4) }
      .online()
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.end()
  }

  @Test(
    "A policy violation during a large transfer is a network error rather than a kick, and the session is not resumed.",
    arguments: [false, true])
  func overrun(isMuch: Bool) async throws {
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [
        isMuch ? .flood(Self.hello, bytes: 100_000) : .server(Self.hello), Self.ofForm("policy-violation"),
      ])
    let stream = try await Self.online(server)
    let error = await stream.ending()
    #expect(Failed(error) == Failed(isMuch ? .networkError : .kicked, .stream))
    #expect(error?.isOverrun == isMuch)
    #expect(await stream.management?.canResume == !isMuch)
    try await server.end()
  }

  @Test("A connection that is reset during a large transfer is reported as a possible overrun.")
  func overrunAndReset() async throws {
    let server = try await ScriptedServer(
      Self.enabled + Self.presence + [
        .flood("<iq type='result' id='unknown'/>", bytes: 100_000), .server("<r xmlns='urn:xmpp:sm:3'/>"),
        .client("<a xmlns='urn:xmpp:sm:3' h='*'/>"), .reset,
      ])
    let stream = try await Self.online(server)
    let error = await stream.ending()
    #expect(Failed(error) == Failed(.networkError, .stream))
    #expect(error?.isOverrun == true)
    try await server.end()
  }

  @Test(
    "A policy violation in a resumed session ends it as a kick once the server has acknowledged something.")
  func heard() async throws {
    let server = try await ScriptedServer(
      Self.resumed + [.server("<a xmlns='urn:xmpp:sm:3' h='0'/>"), Self.ofForm("policy-violation")])
    let stream = try await Self.resumed(server)
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.end()
  }

  @Test("A resumption whose answer has an impossible count is refused.")
  func resumedMiscount() async throws {
    let server = try await ScriptedServer(Self.resumption(9))
    let login = try await Self.resuming(server)
    #expect(Failed(await login.failure()) == Failed(.protocolError, .bind))
    try await server.end()
  }
}
