import TestSupport
import Testing

@testable import XMPP

@Suite("A server that has ended the stream", .timeLimit(.minutes(4)))
struct StreamEndTests {
  private static let end: [ScriptedServer.Step] =
    .login(until: .bound) + [.server("</stream:stream>"), .client("</stream:stream>")]

  @Test(
    "A server that has ended the stream has broken it where it sends something else before it closes the connection.",
    arguments: [
      "<stream:stream xmlns:stream='http://etherx.jabber.org/streams'>", "<message/>", "x", " <", "\0",
    ])
  func something(_ text: String) async throws {
    let server = try await ScriptedServer(Self.end + [.server(text), .stall])
    let stream = try await Login(server).online()
    #expect(Failed(await stream.ending()) == Failed(.protocolError, .stream))
    #expect(await stream.management?.canResume != true)
    // The server's end is answered once, and with nothing else.
    #expect(server.received.components("</stream:stream>") == 1)
    #expect(!server.received.contains("<stream:error"))
    try await server.end()
  }

  @Test(
    "A server that has ended the stream has ended the session, also where white space comes before the end of the connection."
  )
  func whiteSpace() async throws {
    let server = try await ScriptedServer(Self.end + [.server(" \n"), .server("\r\n\t"), .close])
    let stream = try await Login(server).online()
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.end()
  }

  @Test(
    "A server that has ended the stream gets no stanza any more, and whoever closes the stream meanwhile waits for its end."
  )
  func meanwhile() async throws {
    let server = try await ScriptedServer(Self.end + [.stall])
    let stream = try await Login(server).online()
    try await server.finished()
    #expect(await !stream.isOpen)
    await #expect(throws: XMPPError.self) { try await stream.send([]) }
    await stream.close()
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.end()
  }
}
