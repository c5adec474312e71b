import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Floods of stanzas on a bound stream", .timeLimit(.minutes(4)))
struct StreamFloodTests {
  private typealias Step = ScriptedServer.Step

  @Test("A stream stops reading while nobody takes the presences that it has received.")
  func flood() async throws {
    let presence = "<presence from='bob@\(TestServer.domain)/x'/>"
    let server = try await ScriptedServer(.login(until: .bound) + [.flood(presence, bytes: 1 << 28)])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    let waiting = await stream.inbox.count
    // One pass of the event loop reads a few buffers of at most 64 KiB before the pause has its effect.
    #expect(waiting < 256 + 16 * 65_536 / presence.utf8.count)
    var taken = 0
    while taken < 4 * waiting, let event = await stream.next() { if case .presence = event { taken += 1 } }
    #expect(taken == 4 * waiting)
    try await stream.untilPaused()
    await stream.close()
    try await server.closedByClient()
    try await server.end()
  }

  @Test("A stream stops reading after fewer messages if the messages are long, and keeps their order.")
  func longFlood() async throws {
    let text = String(repeating: "x", count: 50_000)
    let message = "<message from='bob@\(TestServer.domain)/x'><body>\(text)</body></message>"
    let server = try await ScriptedServer(.login(until: .bound) + [.flood(message, bytes: 1 << 28)])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    #expect(await stream.inbox.count < 1 << 20 / text.utf8.count + 16 * 65_536 / message.utf8.count + 2)
    var taken = 0
    while taken < 200, let event = await stream.next() {
      guard case .message(let message) = event else { continue }
      #expect(message.body?.utf8.count == text.utf8.count)
      taken += 1
    }
    #expect(taken == 200)
    await stream.close()
    try await server.closedByClient()
    try await server.end()
  }

  @Test("A slow consumer receives all stanzas that arrived before the stream ended.")
  func endWhilePaused() async throws {
    let presence = "<presence from='bob@\(TestServer.domain)/x'/>"
    // The server sends whole pieces of at most 64 KiB.
    let inPiece = 65_536 / presence.utf8.count
    let server = try await ScriptedServer(
      .login(until: .bound) + [.flood(presence, bytes: 4 * inPiece * presence.utf8.count), .close])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    try await server.finished()
    let events = await stream.eventsToTheEnd()
    #expect(events.count { if case .presence = $0 { true } else { false } } == 4 * inPiece)
    guard case .closed(let failure)? = events.last else { throw TestSupportError("not closed") }
    #expect(Failed(failure) == Failed(.networkError, .stream))
    try await server.end()
  }

  @Test("A stream stops reading from a peer that sends requests and does not read the answers.")
  func requests() async throws {
    let request = "<iq type='get' id='1' from='bob@\(TestServer.domain)/x'><q xmlns='q'/></iq>"
    let server = try await ScriptedServer(.login(until: .bound) + [.flood(request, bytes: 1 << 28)])
    let count = Counter()
    let login = try await Login(server).with {
      $0.responders[XMLName("q", "q")] = { _ in
        count.add()
        return nil
      }
    }
    let stream = try await login.online()
    try await stream.untilPaused()
    #expect(await stream.inbox.isPaused == false)
    let unsent = try await stream.channel?.getOption(.bufferedWritableBytes).get() ?? 0
    #expect(unsent > 0)
    #expect(unsent < 8 << 20)
    #expect(count.value < (1 << 28) / request.utf8.count)
    await stream.close(patience: .milliseconds(10))
    try await server.closedByClient()
    try await server.end()
  }

  @Test("A stream reads the answer to a request even while its inbox is full, up to a limit.")
  func answerBehindEvents() async throws {
    let presences = { (count: Int) in
      Step.server(String(repeating: "<presence from='bob@\(TestServer.domain)/x'/>", count: count))
    }
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        presences(300), .client("<iq type='get' id='{one}'/>"), presences(3000),
        .server("<iq type='result' id='{one}'/>"), .client("<iq type='get'/>"),
        .flood("<presence from='bob@\(TestServer.domain)/x'/>", bytes: 1 << 28),
      ])
    let stream = try await Login(server).online()
    try await stream.untilPaused()
    let request = IQ(type: .get, payload: [XMLElement("q", namespace: "x")])
    #expect(try await stream.request(request).type == .result)
    try await stream.untilPaused()
    let unanswered = Task { try await stream.request(request) }
    try await stream.untilFull()
    try await stream.untilPaused()
    unanswered.cancel()
    #expect((await unanswered.result.failure as? XMPPError)?.code == .cancelled)
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }
}
