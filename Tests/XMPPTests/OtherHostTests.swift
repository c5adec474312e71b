import TestSupport
import Testing
import XMPPStanza
import XMPPTransport

@testable import XMPP

/// `see-other-host` (RFC 6120 §4.9.3.19).
@Suite("Redirection to another host", .timeLimit(.minutes(6)))
struct OtherHostTests {
  private typealias Step = ScriptedServer.Step

  private static func seeOtherHost(_ address: String) -> Step {
    .server(
      "<stream:error><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>\(address)</see-other-host>"
        + "</stream:error></stream:stream>")
  }

  /// A stream that is opened and sent away at once, before TLS.
  private static func header(then step: Step) -> [Step] {
    [
      .header,
      .server(
        "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0' id='1'>"
      ), step,
    ]
  }

  private static func address(of port: Int) -> String { "\(TestServer.host):\(port)" }

  private func hops(_ stream: XMPPStream) async -> [Int] {
    await stream.eventsToTheEnd().compactMap {
      if case .step(.linking(let target)) = $0 { target.port } else { nil }
    }
  }

  @Test("A login follows see-other-host before TLS, inside TLS and in place of an authentication result.")
  func followed() async throws {
    let server = try await TestServer.shared(.prosody)
    let away = Self.seeOtherHost(Self.address(of: server.port))
    let scripts: [[Step]] = [
      Self.header(then: away),
      .login(until: .secured) + Self.header(then: away),
      .login(until: .mechanisms) + [
        .client("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='*'/>"), away,
      ],
    ]
    let first = try await ScriptedServer(eachConnection: scripts)
    for _ in scripts {
      let login = try await Login(to: server).with { $0.port = first.port }
      let stream = XMPPStream(login.configuration)
      let bound = try await stream.connect()
      #expect(bound.target.port == server.port)
      await stream.close()
      #expect(await hops(stream) == [first.port, server.port])
    }
    #expect(first.mismatches.isEmpty)
    try await first.end()
  }

  @Test("The host of a redirection must have a certificate for the domain, and gets no password without it.")
  func foreignCertificate() async throws {
    var options = ScriptedServer.Options()
    options.certificate = try await TestAuthority.shared.certificate(for: ["localhost", "evil.example"])
    let evil = try await ScriptedServer(.login(until: .mechanisms), options: options)
    let first = try await ScriptedServer(
      Self.header(then: Self.seeOtherHost("localhost:\(evil.port)")))
    let login = try await Login(first)
    #expect(Failed(await login.failure()) == Failed(.tlsFailure, .tls))
    #expect(evil.connections == 1)
    expectNoSecret(at: evil)
    expectNoSecret(at: first)
    try await first.end()
    try await evil.end()
  }

  @Test("A login with more than five redirections fails.")
  func endless() async throws {
    // Nobody knows the port before it listens: the server that is sent to sends to the next, which is itself.
    let last = try await ScriptedServer([.header, .close])
    try await last.end()
    var servers: [ScriptedServer] = []
    var port = last.port
    for _ in 1...6 {
      let server = try await ScriptedServer(Self.header(then: Self.seeOtherHost(Self.address(of: port))))
      servers.append(server)
      port = server.port
    }
    let login = try await Login(port: port)
    let failure = await login.failure()
    #expect(Failed(failure) == Failed(.protocolError, .stream))
    #expect(failure?.condition == "see-other-host")
    #expect(servers.map(\.connections) == [1, 1, 1, 1, 1, 1])
    for server in servers { try await server.end() }
  }

  @Test("A login with five redirections succeeds.")
  func five() async throws {
    let server = try await TestServer.shared(.prosody)
    var servers: [ScriptedServer] = []
    var port = server.port
    for _ in 1...5 {
      let next = try await ScriptedServer(Self.header(then: Self.seeOtherHost(Self.address(of: port))))
      servers.append(next)
      port = next.port
    }
    let login = try await Login(to: server).with { $0.port = port }
    await (try login.online()).close()
    for server in servers { try await server.end() }
  }

  @Test(
    "A login does not follow a redirection to an invalid address.",
    arguments: [
      "", "evil.example:0", "evil.example:99999", "a b", "http://evil.example/", "[::1",
      "evil.example:5222:1",
    ])
  func garbage(address: String) async throws {
    let server = try await ScriptedServer(Self.header(then: Self.seeOtherHost(address)))
    let failure = await (try Login(server)).failure()
    #expect(Failed(failure) == Failed(.protocolError, .stream))
    #expect(server.connections == 1)
    try await server.end()
  }

  @Test("The time limit of a login includes all of its redirections.")
  func time() async throws {
    let silent = try await ScriptedServer([.header, .stall])
    let first = try await ScriptedServer(Self.header(then: Self.seeOtherHost(Self.address(of: silent.port))))
    let login = try await Login(first).with { $0.timeout = .milliseconds(700) }
    #expect(Failed(await login.failure()) == Failed(.connectTimeout, .stream))
    try await first.end()
    try await silent.end()
  }

  @Test("A bound stream that is redirected ends with an error that names the other host.")
  func online() async throws {
    let server = try await ScriptedServer(
      .login(until: .bound) + [Self.seeOtherHost("[2001:db8::1]:15222")])
    let stream = try await (try Login(server)).online()
    let error = await stream.ending()
    #expect(Failed(error) == Failed(.networkError, .stream))
    #expect(error?.otherHost == HostAddress("[2001:db8::1]:15222"))
    try await server.end()
  }

  @Test("The next stream tries the host of a redirection first and then the usual hosts.")
  func next() async throws {
    let server = try await TestServer.shared(.prosody)
    let closed = try await ScriptedServer([])
    try await closed.end()
    for port in [server.port, closed.port] {
      let login = try await Login(to: server).with {
        $0.otherHost = HostAddress(Self.address(of: port))
        if port == server.port { $0.port = closed.port }
      }
      let stream = XMPPStream(login.configuration)
      #expect(try await stream.connect().target.port == server.port)
      await stream.close()
      #expect(await hops(stream).first == port)
    }
  }
}
