import NIOCore
import Synchronization
import TestSupport
import Testing
import XMPPSASL
import XMPPTransport

@testable import XMPP

@Suite("Connections through a proxy", .timeLimit(.minutes(6)))
struct ProxyTests {
  /// Nothing may be looked up.
  private final class NoResolver: ServiceResolver {
    private let count = Mutex(0)
    var questions: Int { count.withLock { $0 } }

    func targets(for domain: String) async throws(TransportError) -> [ServerTarget] {
      count.withLock { $0 += 1 }
      throw TransportError(.resolverFailed, "asked for \(domain)")
    }
  }

  private let resolver = NoResolver()

  /// A login that knows of no host: the proxy alone does.
  private func login(_ server: TestServer, _ proxy: String, tls: TLSMode? = nil) async throws -> Login {
    let address = try ProxyAddress(proxy)
    return try await Login(to: server).with {
      $0.host = nil
      $0.port = nil
      $0.tls = tls
      $0.proxy = address
      $0.resolver = resolver
    }
  }

  @Test(
    "The proxy is asked for the domain by name, and TLS runs through the proxy to the server.",
    arguments: ProxyServer.Kind.allCases, TestServer.Kind.oneOfEach)
  func named(kind: ProxyServer.Kind, serverKind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(serverKind)
    let names = ["\(TestServer.domain):5222": server.port, "\(TestServer.domain):5223": server.directTLSPort]
    let proxy = try await ProxyServer(kind, names: names)
    for (tls, port) in [(TLSMode.startTLS, 5222), (.direct, 5223)] {
      let stream = try await login(server, proxy.url(), tls: tls).online()
      await stream.close()
      #expect(try await proxy.requests().last == .init(asked: "\(TestServer.domain):\(port)"))
    }
    #expect(resolver.questions == 0)
    try await proxy.end()
  }

  @Test(
    "The proxy gets a user name and a password, and each connection asks for the password again.",
    arguments: ProxyServer.Kind.allCases)
  func password(kind: ProxyServer.Kind) async throws {
    let server = try await TestServer.shared(.prosody)
    let proxy = try await ProxyServer(
      kind, names: ["\(TestServer.domain):5222": server.port], user: "carol", password: "sesam")
    let asked = Mutex(0)
    let first = try await login(server, proxy.url(user: "carol"))
    let login = first.with {
      $0.proxyPassword = { () async throws(XMPPError) in
        Secret(
          asked.withLock {
            $0 += 1
            return $0
          } == 3 ? "open" : "sesam")
      }
    }
    for _ in 1...2 { await (try login.online()).close() }
    #expect(try await proxy.requests().allSatisfy { $0.user == "carol" })
    let failure = await login.failure()
    #expect(Failed(failure) == Failed(.proxyUnavailable, .proxy))
    #expect(
      failure?.message.contains(kind == .socks5 ? "refused user and password" : "407 Proxy Authentication")
        == true)
    #expect(asked.withLock { $0 } == 3)
    #expect(Failed(await first.failure()) == Failed(.proxyUnavailable, .proxy))
    try await proxy.end()
  }

  @Test(
    "A proxy that cannot be used, or cannot find the host, is never bypassed.",
    arguments: ProxyServer.Kind.allCases)
  func around(kind: ProxyServer.Kind) async throws {
    let server = try await ScriptedServer([.header])
    let proxy = try await ProxyServer(kind)
    let address = try ProxyAddress(proxy.url())
    let login = try await Login(server).with {
      $0.proxy = address
      $0.host = "localhost"
      $0.resolver = resolver
    }
    let failure = await login.failure()
    #expect(Failed(failure) == Failed(.proxyUnavailable, .proxy))
    #expect(failure?.message.contains(kind == .socks5 ? "host unreachable" : "502 Bad Gateway") == true)
    #expect(try await proxy.requests().map(\.asked) == ["localhost:\(server.port)"])
    try await proxy.end()
    #expect(Failed(await login.failure()) == Failed(.proxyUnavailable, .proxy))
    #expect(server.connections == 0)
    #expect(resolver.questions == 0)
    try await server.end()
  }

  @Test(
    "A login through a proxy that does not answer ends at the time limit of the login.",
    arguments: ProxyServer.Kind.allCases)
  func silent(kind: ProxyServer.Kind) async throws {
    let silent = try await ScriptedServer([.stall])
    let scheme = kind == .socks5 ? "socks5h" : "http"
    let address = try ProxyAddress("\(scheme)://127.0.0.1:\(silent.port)")
    let login = try await Login(port: 1).with {
      $0.proxy = address
      $0.timeout = .milliseconds(300)
    }
    #expect(Failed(await login.failure()) == Failed(.proxyUnavailable, .proxy))
    try await silent.end()
  }

  @Test("The certificate behind a proxy must be valid for the domain.")
  func certificate() async throws {
    var options = ScriptedServer.Options()
    options.certificate = try await TestAuthority.shared.certificate(for: ["proxy.example"])
    let server = try await ScriptedServer(.login(until: .mechanisms), options: options)
    let proxy = try await ProxyServer(.socks5, names: ["\(TestServer.domain):5222": server.port])
    let address = try ProxyAddress(proxy.url())
    let login = try await Login(server).with {
      $0.host = nil
      $0.port = nil
      $0.proxy = address
    }
    #expect(Failed(await login.failure()) == Failed(.tlsFailure, .tls))
    expectNoSecret(at: server)
    try await proxy.end()
    try await server.end()
  }
}
