import NIOCore
import TestSupport
import Testing
import XMPPStanza

@testable import XMPP

@Suite("Silent servers", .timeLimit(.minutes(6)))
struct SilentServerTests {
  @Test("The idle time of a stream counts from the last data that the server has sent.")
  func idleTime() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [.client("<presence/>"), .server(" "), .server("<message/>"), .stall])
    let stream = try await Login(server).online()
    let bound = await stream.silence.lastInput
    while await stream.idleTime < .milliseconds(2) { await Task.yield() }
    try await stream.send([Presence().element])
    #expect(await stream.first { if case .message(let message) = $0 { message } else { nil } } != nil)
    #expect(await stream.silence.lastInput >= bound + .milliseconds(2))
    await stream.close(patience: .milliseconds(1))
    try await server.end()
  }

  @Test("A login that has timed out sends nothing more to the server.")
  func expiry() async throws {
    let server = try await ScriptedServer([])
    let error = try await Login(server).with { $0.timeout = .milliseconds(300) }.failure()
    #expect(error?.code == .connectTimeout)
    try await server.resetByClient()
    try await server.end()
  }

  @Test(
    "An aborted stream ends with the error of its caller, and its pending requests fail with the same error.")
  func abort() async throws {
    let server = try await ScriptedServer(.login(until: .bound) + [.client("<iq type='get'/>")])
    let stream = try await Login(server).online()
    let request = Task { try await stream.request(IQ(type: .get, id: "1")) }
    while await !stream.isWaiting(for: "1") { await Task.yield() }
    let silence = XMPPError(.networkError, stage: .stream, "the server does not answer any more")
    await stream.abort(silence)
    #expect(await stream.ending() == silence)
    #expect(await request.result.failure as? XMPPError == silence)
    try await server.closedByClient()
    // Only an online stream is given up.
    await stream.abort(silence)
    let unused = try await XMPPStream(Login(server).configuration)
    await unused.abort(silence)
    #expect(try await unused.connect().jid.local == "alice")
    await unused.close(patience: .milliseconds(1))
    try await server.end()
  }
}
