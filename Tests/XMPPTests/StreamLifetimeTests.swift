import Glibc
import TestSupport
import Testing

@testable import XMPP

@Suite("Resources of streams that have ended", .timeLimit(.minutes(6)))
struct StreamLifetimeTests {
  private struct Weak: Sendable {
    weak let stream: XMPPStream?
  }

  /// Sockets of this process that go to a port on loopback.
  private static func sockets(to port: Int) throws -> Int {
    guard let file = fopen("/proc/self/net/tcp", "r") else { throw TestSupportError("no /proc") }
    defer { fclose(file) }
    let remote = ":" + String(port, radix: 16, uppercase: true)
    var inodes: Set<String> = []
    var line = [CChar](repeating: 0, count: 512)
    while fgets(&line, 512, file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      let fields = text.split(separator: " ")
      if fields.count > 9, fields[2].hasSuffix(remote) { inodes.insert("socket:[\(fields[9])]") }
    }
    return (0..<4096).count { descriptor in
      var target = [CChar](repeating: 0, count: 64)
      let length = readlink("/proc/self/fd/\(descriptor)", &target, 63)
      guard length > 0 else { return false }
      return inodes.contains(String(decoding: target[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
  }

  @Test("No stream and no socket remains after 200 logins that are closed, fail or are cancelled.")
  func logins() async throws {
    let server = try await TestServer(.init(.prosody))
    var login = try await Login(to: server, tls: .direct)
    login.configuration.pipelining = Pipelining(offer: .init(mechanisms: [.scramSHA1]), binding: true)
    var streams: [Weak] = []
    for number in 0..<200 {
      let stream = XMPPStream(login.configuration)
      streams.append(Weak(stream: stream))
      switch number % 10 {
      case 7:
        let task = Task { try await stream.connect() }
        _ = await stream.next()
        task.cancel()
        _ = await task.result
      case 8:
        let wrong = XMPPStream(login.with { $0.credentials.authcid = "nobody" }.configuration)
        streams.append(Weak(stream: wrong))
        _ = await Task { try await wrong.connect() }.result
      default:
        _ = try await stream.connect()
        if number == 0 { #expect(try Self.sockets(to: server.directTLSPort) == 1) }
        await stream.close()
      }
    }
    try await eventually("the end of all streams and sockets") {
      try Self.sockets(to: server.directTLSPort) == 0 && streams.allSatisfy { $0.stream == nil }
    }
    try await server.end()
  }

  @Test("No stream remains if its owner closes and releases it while reading is paused.")
  func forgotten() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [.flood("<presence from='bob@\(TestServer.domain)'/>", bytes: 1 << 28)])
    var stream: XMPPStream? = try await Login(server).online()
    let left = Weak(stream: stream)
    try await stream?.untilPaused()
    await stream?.close(patience: .milliseconds(1))
    stream = nil
    try await server.closedByClient()
    try await eventually("the end of the stream") { left.stream == nil }
    try await server.end()
  }
}
