import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Binding a stream", .timeLimit(.minutes(4)))
struct StreamBindingTests {
  private typealias Step = ScriptedServer.Step
  private static let own = "alice@\(TestServer.domain)/scripted"
  private static let bindRequest = Step.client(
    "<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
  private static let bindResult =
    "<iq type='result' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><jid>\(own)</jid></bind></iq>"
  private static let untilBinding: [Step] =
    .login(until: .authenticated) + [
      .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"), bindRequest,
    ]

  @Test("A stanza that follows the bind result in the same packet is received.")
  func behindBinding() async throws {
    let server = try await ScriptedServer(
      Self.untilBinding + [
        .server(
          Self.bindResult + "<message from='bob@\(TestServer.domain)'><body>hi</body></message>"
            + "<iq type='get' id='early' from='\(TestServer.domain)'><ping xmlns='urn:xmpp:ping'/></iq>"),
        .client("<iq type='error' id='early'/>"),
      ])
    let stream = try await Login(server).online()
    let message = await stream.first { if case .message(let message) = $0 { message } else { nil } }
    #expect(message?.body == "hi")
    try await server.finished()
    await stream.close()
    try await server.end()
  }

  @Test("A stream error that follows the bind result ends the stream with its condition.")
  func errorBehindBinding() async throws {
    let server = try await ScriptedServer(
      Self.untilBinding + [
        .server(
          Self.bindResult
            + "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>"
        )
      ])
    let stream = try await XMPPStream(Login(server).configuration)
    _ = try await stream.connect()
    let end = await stream.ending()
    #expect(Failed(end) == Failed(.kicked, .stream))
    #expect(end?.condition == "conflict")
    try await server.end()
  }

  @Test(
    "Stanzas that arrive before the connection breaks are received, even if an answer to them can no longer be sent."
  )
  func brokenWhileAnswering() async throws {
    let count = 200
    let question =
      "<message from='bob@\(TestServer.domain)'><body>hi</body></message>"
      + "<iq type='get' id='early' from='\(TestServer.domain)'><ping xmlns='urn:xmpp:ping'/></iq>"
    let questions = Step.server(Self.bindResult + String(repeating: question, count: count))
    let server = try await ScriptedServer(Self.untilBinding + [questions, .reset])
    for _ in 0..<20 {
      let stream = try await XMPPStream(Login(server).configuration)
      _ = try await stream.connect()
      var messages = 0
      var end: XMPPError?
      while let event = await stream.next() {
        if case .message = event { messages += 1 }
        if case .closed(let error) = event { end = error }
      }
      #expect(messages == count)
      #expect(end?.code == .networkError, "\(String(describing: end))")
    }
    try await server.end()
  }

  @Test("The resource in the bind result counts, whichever resource the client has requested.")
  func resource() async throws {
    let server = try await ScriptedServer(
      .login(until: .authenticated) + [
        .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"),
        .client(
          "<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>desk</resource></bind></iq>"
        ),
        .server(Self.bindResult),
      ])
    let stream = XMPPStream(try await Login(server).with { $0.resource = "desk" }.configuration)
    #expect(try await stream.connect().jid.description == Self.own)
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("The action before binding runs once after a verified success, and never in a failed login.")
  func beforeBinding() async throws {
    let server = try await ScriptedServer(.login(until: .bound))
    let lines = WireLines()
    let stream = try await Login(server).with {
      $0.wireLog = { lines.add($0, $1) }
      $0.beforeBinding = { lines.add(.sent, "now") }
    }.online()
    await stream.close(patience: .milliseconds(10))
    let marks = lines.all.compactMap { line in
      ["<success", "now", "<iq"].first { line.hasPrefix("C: \($0)") || line.hasPrefix("S: \($0)") }
    }
    #expect(marks == ["<success", "now", "<iq", "<iq"])
    // A login that fails leaves it undone.
    let count = Counter()
    let login = try await Login(server).with {
      $0.credentials.password = Secret("wrong")
      $0.beforeBinding = { count.add() }
    }
    #expect(await login.failure()?.code == .authFailed)
    #expect(count.value == 0)
    try await server.end()
  }
}
