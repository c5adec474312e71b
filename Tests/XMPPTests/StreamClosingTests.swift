import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPXML

@testable import XMPP

@Suite("Closing a bound stream", .timeLimit(.minutes(4)))
struct StreamClosingTests {
  private typealias Step = ScriptedServer.Step

  @Test("The client closes the stream after a stream error and after a failed login.")
  func closedForAnError() async throws {
    let conflict = Step.server(
      "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    let close = Step.client("</stream:stream>")
    let server = try await ScriptedServer(eachConnection: [
      .login(until: .bound) + [conflict, close],
      [.header, .features(""), close],
      .login(until: .mechanisms, mechanisms: ["UNKNOWN"]) + [close],
      .login(until: .authenticated) + [.header, .features(""), close],
    ])
    let login = try await Login(server)
    #expect(Failed(await (try login.online()).ending()) == Failed(.kicked, .stream))
    for _ in 2...4 { #expect(await login.failure() != nil) }
    for connection in 1...4 {
      try await server.finished(connection: connection)
      // Once, and for the last of the streams on the connection.
      #expect(server.received(connection: connection).components("</stream:stream>") == 1)
    }
    try await server.end()
  }

  @Test(
    "Closing a stream twice sends its last presence once and waits until the server has closed the stream.")
  func closing() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [
        .client("<presence/>"), .client("<presence type='unavailable'/>"), .client("</stream:stream>"),
        .server("<message from='bob@\(TestServer.domain)'/></stream:stream>"), .close,
      ])
    let stream = try await Login(server).online()
    try await stream.send([Presence().element])
    async let one: Void = stream.close(
      sending: [Presence(type: .unavailable).element], patience: .seconds(50))
    async let two: Void = stream.close(
      sending: [Presence(type: .unavailable).element], patience: .seconds(50))
    _ = await (one, two)
    #expect(await stream.ending() == nil)
    try await server.finished()
    #expect(server.received.components("unavailable") == 1)
    #expect(server.received.components("</stream:stream>") == 1)
    try await server.end()
  }

  @Test("Closing a stream waits only a limited time for a silent server.")
  func silentServer() async throws {
    let server = try await ScriptedServer(.login(until: .bound) + [.stall])
    let stream = try await Login(server).online()
    await stream.close(patience: .milliseconds(10))
    #expect(await stream.ending() == nil)
    try await server.end()
  }

  @Test(
    "A stream that the server closes without a reason ends as a kick, and the client closes its side.")
  func serverCloses() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [.server("</stream:stream>"), .client("</stream:stream>")])
    let stream = try await Login(server).online()
    #expect(Failed(await stream.ending()) == Failed(.kicked, .stream))
    try await server.finished()
    try await server.end()
  }

  @Test("A stream that has ended refuses every call at once.")
  func afterwards() async throws {
    let server = try await ScriptedServer(.login(until: .bound))
    let stream = try await Login(server).online()
    await stream.close(patience: .milliseconds(10))
    await stream.close()
    #expect(await stream.ending() == nil)
    #expect(await stream.next() == nil)
    let send = await Task { try await stream.send([Presence().element]) }.result
    #expect(Failed((send.failure as? XMPPError)) == Failed(.notLoggedIn, .request))
    let request = await Task { try await stream.request(IQ(type: .get)) }.result
    #expect(Failed((request.failure as? XMPPError)) == Failed(.notLoggedIn, .request))
    let again = await Task { try await stream.connect() }.result
    #expect(Failed((again.failure as? XMPPError)) == Failed(.internalError, .connect))
    try await server.end()
  }
}
