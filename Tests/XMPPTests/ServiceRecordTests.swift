import Glibc
import TestSupport
import Testing
import XMPPTransport

@testable import XMPP

@Suite("Servers found by SRV records", .timeLimit(.minutes(6)))
struct ServiceRecordTests {
  private static let startTLS = "_xmpp-client._tcp.\(TestServer.domain)"
  private static let direct = "_xmpps-client._tcp.\(TestServer.domain)"

  private func login(to server: TestServer, _ names: NameServer) async throws -> Login {
    try await Login(to: server).with {
      $0.host = nil
      $0.port = nil
      $0.tls = nil
      $0.resolver = names.resolver
    }
  }

  /// The ports that were tried, in order.
  private func tried(_ stream: XMPPStream) async -> [Int] {
    await stream.eventsToTheEnd().compactMap {
      if case .step(.linking(let target)) = $0 { target.port } else { nil }
    }
  }

  @Test("A target that refuses the connection is followed by the next one, whichever kind of TLS that has.")
  func next() async throws {
    let server = try await TestServer.shared(.prosody)
    let closed = try await ScriptedServer([])
    try await closed.end()
    let names = try await NameServer([
      Self.startTLS: [.init(priority: 1, port: closed.port), .init(priority: 3, port: server.port)],
      Self.direct: [.init(priority: 2, port: server.directTLSPort)],
    ])
    let stream = try await XMPPStream(login(to: server, names).configuration)
    let bound = try await stream.connect()
    #expect(bound.target.port == server.directTLSPort)
    #expect(bound.target.tls == .direct)
    await stream.close()
    #expect(await tried(stream) == [closed.port, server.directTLSPort])
    try await names.stop()
  }

  @Test("A target that never answers leaves enough time to try the next one.")
  func blackHole() async throws {
    let server = try await TestServer.shared(.prosody)
    let hole = try BlackHole()
    let names = try await NameServer([
      // The first of twenty gets a twentieth of the time.
      Self.startTLS: [.init(priority: 1, port: hole.port)]
        + (2...20).map { .init(priority: $0, port: server.port) }
    ])
    let stream = XMPPStream(try await login(to: server, names).configuration)
    let bound = try await stream.connect()
    #expect(bound.target.port == server.port)
    await stream.close()
    try await names.stop()
    hole.close()
  }

  @Test("A target whose certificate names its own host but not the domain is refused.")
  func spoofed() async throws {
    var options = ScriptedServer.Options()
    options.certificate = try await TestAuthority.shared.certificate(for: ["localhost"])
    let server = try await ScriptedServer(.login(until: .mechanisms), options: options)
    let names = try await NameServer([Self.startTLS: [.init(priority: 1, port: server.port)]])
    let login = try await Login(server).with {
      $0.host = nil
      $0.port = nil
      $0.resolver = names.resolver
    }
    #expect(Failed(await login.failure()) == Failed(.tlsFailure, .tls))
    expectNoSecret(at: server)
    try await names.stop()
    try await server.end()
  }

  @Test("No other target is tried after a server has refused the login.")
  func noSecondServer() async throws {
    let server = try await TestServer.shared(.prosody)
    let names = try await NameServer([
      Self.startTLS: [.init(priority: 1, port: server.port), .init(priority: 2, port: server.port)]
    ])
    let login = try await Login(password: "wrong", to: server).with {
      $0.host = nil
      $0.port = nil
      $0.resolver = names.resolver
    }
    let stream = XMPPStream(login.configuration)
    let failure = await Task { try await stream.connect() }.result.failure as? XMPPError
    #expect(Failed(failure) == Failed(.authFailed, .authenticate))
    #expect(await tried(stream) == [server.port])
    try await names.stop()
  }

  @Test(
    "The domain itself is tried if no SRV record has the required kind of TLS.",
    arguments: [(TLSMode.direct, TLSMode.startTLS, 5223), (.startTLS, .direct, 5222)])
  func wantedTLS(wanted: TLSMode, found: TLSMode, port: Int) async throws {
    let login = try await Login("alice@127.0.0.1", port: 1).with {
      $0.host = nil
      $0.port = nil
      $0.tls = wanted
      $0.resolver = FixedResolver(targets: [ServerTarget(host: "127.0.0.1", port: 1, tls: found)])
    }
    let stream = XMPPStream(login.configuration)
    _ = await Task { try await stream.connect() }.result
    #expect(await tried(stream) == [port])
  }

  @Test("A domain whose SRV record says that it has no service is not reported as a network problem.")
  func none() async throws {
    let names = try await NameServer([Self.startTLS: [.init(priority: 0, port: 0, host: "")]])
    let login = try await Login(port: 1).with {
      $0.host = nil
      $0.port = nil
      $0.resolver = names.resolver
    }
    #expect(Failed(await login.failure()) == Failed(.serviceGone, .dns))
    try await names.stop()
  }
}

/// Knows only what it is told.
private struct FixedResolver: ServiceResolver {
  var targets: [ServerTarget]

  func targets(for domain: String) async throws(TransportError) -> [ServerTarget] { targets }
}

/// A port on loopback that answers no connection attempt: its queue is full and never emptied.
private struct BlackHole {
  private let sockets: [CInt]
  let port: Int

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var port = 0
    var sockets = [listener]
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard bind(listener, address, length) == 0, listen(listener, 0) == 0,
          getsockname(listener, address, &length) == 0
        else { return false }
        for _ in 0..<4 {
          let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
          _ = connect(client, address, length)
          sockets.append(client)
        }
        return true
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    guard isListening, port > 0 else { throw TestSupportError("no port to listen on") }
    self.sockets = sockets
    self.port = port
  }

  func close() { for socket in sockets { Glibc.close(socket) } }
}
