import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Requests on a bound stream", .timeLimit(.minutes(4)))
struct StreamRequestTests {
  private static let own = "alice@\(TestServer.domain)/scripted"

  @Test("Only an IQ answer from the address that was asked ends a request.")
  func answers() async throws {
    func answer(_ from: String, _ type: String = "result") -> String {
      "<iq type='\(type)' id='{id}'\(from.isEmpty ? "" : " from='\(from)'")><q xmlns='forged'/></iq>"
    }
    let asked = "bob@\(TestServer.domain)/desk"
    let forged =
      [
        "mallory@evil.example", "bob@\(TestServer.domain)", "bob@\(TestServer.domain)/other",
        TestServer.domain,
        Self.own, "alice@\(TestServer.domain)", "", "bоb@\(TestServer.domain)/desk",
      ].flatMap { [answer($0), answer($0, "error")] } + [
        "<message id='{id}' from='\(asked)' type='error'/>",
        "<presence id='{id}' from='\(asked)' type='error'/>",
        "<iq type='result' from='\(asked)' id='other'/>",
        "<iq type='set' from='\(asked)' id='{id}'><q xmlns='x'/></iq>",
        "<iq type='nonsense' from='\(asked)' id='{id}'/>",
      ]
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<iq type='get' id='{id}' to='\(asked)'/>"),
        .server(forged.joined() + "<iq type='result' id='{id}' from='\(asked)'><q xmlns='true'/></iq>"),
      ])
    let stream = try await Login(server).online()
    let question = IQ(type: .get, to: try JID(asked), payload: [XMLElement("q", namespace: "true")])
    let got = try await stream.request(question)
    #expect(got.payload.first?.name.namespace == "true")
    await stream.close()
    try await server.end()
  }

  @Test("The ids of requests are unique and too long to guess.")
  func ids() {
    let ids = (0..<1000).map { _ in IQ.makeID() }
    #expect(Set(ids).count == ids.count)
    #expect(ids.allSatisfy { $0.count >= 12 })
  }

  @Test("A second request under an id that is in use is refused, and the first one still gets its answer.")
  func sameID() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<iq type='get' id='same'/>"), .client("<presence/>"),
        .server("<iq type='result' id='same'/>"),
      ])
    let stream = try await Login(server).online()
    let request = IQ(type: .get, id: "same", payload: [XMLElement("q", namespace: "x")])
    let first = Task { try await stream.request(request) }
    while await !stream.isWaiting(for: "same") { await Task.yield() }
    let second = await Task { try await stream.request(request) }.result
    #expect(Failed((second.failure as? XMPPError)) == Failed(.invalidParameter, .request))
    try await stream.send([Presence().element])
    #expect(try await first.value.type == .result)
    await stream.close()
    try await server.end()
  }

  @Test("An unanswered request ends when its task is cancelled, its time limit passes or the stream ends.")
  func unanswered() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<iq type='get'/>"), .client("<iq type='get'/>"), .client("<iq type='get'/>"),
        .client("<presence/>"), .close,
      ])
    let stream = try await Login(server).online()
    let request = IQ(type: .get, payload: [XMLElement("q", namespace: "x")])
    let cancelled = Task { try await stream.request(request) }
    cancelled.cancel()
    #expect(Failed((await cancelled.result.failure as? XMPPError)) == Failed(.cancelled, .request))
    let late = await Task { try await stream.request(request, timeout: .milliseconds(1)) }.result
    #expect(Failed((late.failure as? XMPPError)) == Failed(.networkError, .request))
    var named = request
    named.id = "1"
    let stanzas = [named.element, Presence().element]
    let open = try await stream.exchange(stanzas, timeout: .seconds(30))
    #expect(open.map { Failed($0.failure) } == [Failed(.networkError, .stream)])
    #expect(await stream.isWaiting == false)
    try await server.end()
  }

  @Test("Stanzas with an invalid address are skipped, and a priority out of range counts as 0.")
  func invalidStanzas() async throws {
    let long = String(repeating: "a", count: 1100)
    let from = "bob@\(TestServer.domain)/x"
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .server(
          ["@@", "a@b@c", "\(long)@b", "a@\(long)", "a@b/\(long)", "a@b/", "a b@c", "@b", "a@", " "]
            .map {
              "<message from='\($0)'/><presence from='\($0)'/><iq type='get' id='1' from='\($0)'><q xmlns='x'/></iq>"
            }
            .joined()),
        .server(
          "<foo/><message xmlns='jabber:server' from='\(from)'/><iq type='get' from='\(from)'/><iq/><presence type=''/>"
        ),
        .server(
          ["999", "-129", "128", "1e400", "NaN", "18446744073709551616", " 5 "].map {
            "<presence from='\(from)'><priority>\($0)</priority></presence>"
          }.joined()),
        .server("<message from='\(from)'><body>end</body></message>"),
      ])
    let stream = try await Login(server).online()
    var priorities: [Int8] = []
    while let event = await stream.next() {
      if case .presence(let presence) = event, presence.from?.description == from {
        priorities.append(presence.priority)
      }
      if case .message(let message) = event {
        #expect(message.body == "end")
        break
      }
    }
    #expect(priorities == [0, 0, 0, 0, 0, 0, 5])
    await stream.close()
    try await server.end()
  }
}
