import TestSupport
import Testing

@testable import XMPP

@Suite("Streams that the server has ended", .timeLimit(.minutes(4)))
struct StreamEndTests {
  private static let end: [ScriptedServer.Step] =
    .login(until: .bound) + [.server("</stream:stream>"), .client("</stream:stream>")]

  @Test(
    "Data that the server sends after it has closed the stream is a protocol error.",
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

  @Test("White space that the server sends after it has closed the stream is ignored.")
  func whiteSpace() async throws {
    let server = try await ScriptedServer(Self.end + [.server(" \n"), .server("\r\n\t"), .close])
    let stream = try await Login(server).online()
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.end()
  }

  @Test("A stream that the server has closed sends no more stanzas, and closing it waits until it has ended.")
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
