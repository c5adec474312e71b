import TestSupport
import Testing
import XMPPTransport

@testable import XMPP

@Suite("Servers with missing or faulty TLS", .timeLimit(.minutes(6)))
struct HostileTLSTests {
  typealias Step = ScriptedServer.Step

  private static let offer = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>"
  private static let mechanisms =
    "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism></mechanisms>"
  private static let header =
    "<?xml version='1.0'?><stream:stream id='s' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
  private static let proceed = "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
  private static let asked: [Step] = [
    .header, .features(offer), .client("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
  ]

  @Test("A certificate is accepted if its xmppAddr writes the domain in Unicode.")
  func unicodeDomain() async throws {
    let offer = "<stream:features>\(Self.offer)</stream:features>"
    var options = ScriptedServer.Options()
    options.certificate = try await TestAuthority.shared.certificate(.addressOfXMPP, for: ["bücher.example"])
    let server = try await ScriptedServer(
      [
        .client("<stream:stream>"), .server(Self.header + offer),
        .client("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"), .server(Self.proceed), .startTLS,
        .client("<stream:stream>"), .close,
      ], options: options)
    let login = try await Login("alice@bücher.example", port: server.port)
    #expect(Failed(await login.failure()) == Failed(.networkError, .stream))
    try await server.finished()
    try await server.end()
  }

  @Test("A server that does not start TLS properly never sees a credential.")
  func startTLS() async throws {
    try await [
      Attack("STARTTLS is absent", [.header, .features("")], .tlsFailure, .tls),
      Attack("PLAIN is offered instead", [.header, .features(Self.mechanisms)], .tlsFailure, .tls),
      Attack(
        "STARTTLS comes later",
        [.header, .features(""), .server("<stream:features>\(Self.offer)</stream:features>")], .tlsFailure,
        .tls),
      Attack(
        "STARTTLS of another namespace", [.header, .features("<starttls xmlns='evil'/>")], .tlsFailure, .tls),
      Attack(
        "refused",
        Self.asked + [.server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:stream>")],
        .tlsFailure, .tls),
      Attack(
        "proceeding before being asked", [.header, .server(Self.header + Self.proceed)], .protocolError,
        .stream),
      Attack(
        "features twice",
        Self.asked + [.server("<stream:features>\(Self.offer)</stream:features>")], .protocolError, .stream),
      Attack(
        "success before TLS",
        Self.asked + [.server("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")], .protocolError, .stream
      ),
      Attack(
        "an element behind proceed",
        Self.asked + [.server(Self.proceed + "<stream:features>\(Self.mechanisms)</stream:features>")],
        .protocolError, .tls),
      Attack(
        "a header behind proceed", Self.asked + [.server(Self.proceed + Self.header)], .protocolError, .tls),
      Attack("white space behind proceed", Self.asked + [.server(Self.proceed + " ")], .protocolError, .tls),
      Attack(
        "the start of a record behind proceed",
        Self.asked + [.bytes(Array(Self.proceed.utf8) + [0x16, 0x03, 0x03])], .protocolError, .tls),
      Attack(
        "another host is named",
        [
          .header,
          .server(
            Self.header
              + "<stream:error><see-other-host xmlns='urn:ietf:params:xml:ns:xmpp-streams'>127.0.0.1:1</see-other-host></stream:error>"
          ),
        ], .connectionRefused, .connect),
      Attack(
        "the domain is unknown",
        [
          .header,
          .server(
            Self.header
              + "<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>"),
        ],
        .unknownDomain, .stream),
    ].run()
  }

  @Test("A server that does not start TLS properly sees no credential from a client that pipelines either.")
  func pipelined() async throws {
    let start: [Step] = [.header, .client("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")]
    try await [
      Attack("STARTTLS is absent", start + [.features("")], .tlsFailure, .tls),
      Attack(
        "absent, yet proceeding", start + [.features(Self.mechanisms), .server(Self.proceed)], .tlsFailure,
        .tls),
      Attack(
        "no features before proceed", start + [.server(Self.header + Self.proceed)], .protocolError, .stream),
      Attack(
        "an element behind proceed", start + [.features(Self.offer), .server(Self.proceed + "<x/>")],
        .protocolError, .tls),
      Attack(
        "refused",
        start + [.features(Self.offer), .server("<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")],
        .tlsFailure, .tls),
    ].run {
      $0.pipelining = Pipelining(startTLS: true, offer: .init(mechanisms: [.scramSHA256]), binding: true)
    }
  }

  @Test("A server that speaks another protocol than XMPP is reported as a protocol error.")
  func otherProtocols() async throws {
    try await [
      Attack("HTTP", [.header, .server("HTTP/1.1 400 Bad Request\r\n\r\n")], .protocolError, .stream),
      Attack("SSH", [.server("SSH-2.0-OpenSSH_9.2\r\n")], .protocolError, .stream),
      Attack("another root", [.header, .server("<html version='1.0'>")], .protocolError, .stream),
      Attack(
        "another namespace", [.header, .server("<stream:stream version='1.0' xmlns:stream='streams'>")],
        .protocolError, .stream),
      Attack(
        "no version",
        [.header, .server("<stream:stream xmlns:stream='http://etherx.jabber.org/streams'>")],
        .protocolError, .stream),
      Attack(
        "version 0.9",
        [.header, .server("<stream:stream version='0.9' xmlns:stream='http://etherx.jabber.org/streams'>")],
        .protocolError, .stream),
      Attack(
        "a version beyond numbers",
        [
          .header,
          .server(
            "<stream:stream version='99999999999999999999.0' xmlns:stream='http://etherx.jabber.org/streams'>"
          ),
        ], .protocolError, .stream),
    ].run()
  }

  @Test("A direct TLS port that answers in plain text is refused, and no credential is sent to it.")
  func directWithoutTLS() async throws {
    let server = try await ScriptedServer([.server(Self.header)])
    let failure = try await Login(server, tls: .direct).failure()
    #expect(Failed(failure) == Failed(.tlsFailure, .tls))
    expectNoSecret(at: server)
    try await server.end()
  }

  @Test("The client names xmpp-client in ALPN when it connects by direct TLS.")
  func applicationProtocol() async throws {
    var options = ScriptedServer.Options()
    options.directTLS = true
    let server = try await ScriptedServer(.login(until: .bound, directTLS: true), options: options)
    let stream = XMPPStream(try await Login(server, tls: .direct).configuration)
    #expect(try await stream.connect().tls?.alpn == "xmpp-client")
    await stream.close(patience: .milliseconds(10))
    try await server.end()
  }

  @Test("A server that supports nothing newer than TLS 1.1 is refused.")
  func oldTLS() async throws {
    var options = ScriptedServer.Options()
    options.minimumTLS = "1.0"
    options.maximumTLS = "1.1"
    try await [Attack("TLS 1.1", .login(until: .mechanisms), .tlsFailure, .tls)].run(options: options)
  }

  // MARK: Certificates

  /// Certificates that must not do, by what is wrong.
  enum Wrong: String, CaseIterable, Sendable {
    case anotherHost, serviceTargetOnly, parentDomain, selfSigned, expired, notYetValid, signedByLeaf, sha1
    case addressOnly, commonNameOnly, otherAuthority

    func certificate() async throws -> TestCertificate {
      let authority = try await TestAuthority.shared
      return switch self {
      case .anotherHost: try await authority.certificate(for: ["evil.example"])
      case .serviceTargetOnly:
        try await authority.certificate(for: ["xmpp.\(TestServer.domain)", "localhost"])
      case .parentDomain: try await authority.certificate(for: ["example", "*.\(TestServer.domain)"])
      case .selfSigned: try await authority.certificate(.selfSigned)
      case .expired: try await authority.certificate(.expired)
      case .notYetValid: try await authority.certificate(.notYetValid)
      case .signedByLeaf: try await authority.certificate(.signedByLeaf)
      case .sha1: try await authority.certificate(.sha1)
      case .addressOnly: try await authority.certificate(.addressOnly)
      case .commonNameOnly: try await authority.certificate(.commonNameOnly)
      case .otherAuthority: try await authority.certificate(.otherAuthority)
      }
    }
  }

  @Test(
    "A server with an unacceptable certificate is refused before the client sends anything inside TLS.",
    arguments: Wrong.allCases)
  func certificate(_ wrong: Wrong) async throws {
    let certificate = try await wrong.certificate()
    for directTLS in [true, false] {
      var options = ScriptedServer.Options()
      options.certificate = certificate
      options.directTLS = directTLS
      let server = try await ScriptedServer(
        .login(until: .mechanisms, directTLS: directTLS), options: options)
      let failure = try await Login(server, tls: directTLS ? .direct : .startTLS).failure()
      #expect(Failed(failure) == Failed(.tlsFailure, .tls), "\(failure?.description ?? "logged in")")
      #expect(failure?.message.isEmpty == false)
      try await server.closedByClient()
      #expect(!server.received.contains("alice"))
      expectNoSecret(at: server)
      try await server.end()
    }
  }

  @Test("A certificate of a private authority is refused if no CA file is given.")
  func systemTrust() async throws {
    try await [Attack("no CA file", .login(until: .mechanisms), .tlsFailure, .tls)].run { $0.caFile = nil }
  }

  @Test(
    "A self-signed certificate is accepted if it is the given CA file or has the given fingerprint, and not otherwise."
  )
  func named() async throws {
    let certificate = try await TestAuthority.shared.certificate(.selfSigned)
    let other = try await TestAuthority.shared.certificate(.selfSigned)
    var options = ScriptedServer.Options()
    options.certificate = certificate
    let server = try await ScriptedServer(.login(until: .bound), options: options)
    let login = try await Login(server)
    let pin = try await Self.digest(certificate)
    #expect(await login.with { $0.caFile = certificate.chainFile }.failure() == nil)
    #expect(await login.with { $0.certificateSHA256 = pin }.failure() == nil)
    for wrong in [
      login.with { $0.caFile = other.chainFile }, login.with { $0.certificateSHA256 = pin.reversed() },
      // The pin is the only one to accept, whoever has signed.
      login.with {
        $0.certificateSHA256 = pin.reversed()
        $0.caFile = certificate.chainFile
      },
    ] {
      #expect(Failed(await wrong.failure()) == Failed(.tlsFailure, .tls))
    }
    try await server.end()
  }

  @Test("A login with an unusable CA file or fingerprint fails without a connection to the server.")
  func settings() async throws {
    let server = try await ScriptedServer([])
    let login = try await Login(server)
    for wrong in [
      login.with { $0.caFile = "/nowhere/ca.pem" }, login.with { $0.certificateSHA256 = [1, 2, 3] },
    ] {
      #expect(Failed(await wrong.failure()) == Failed(.invalidParameter, .input))
    }
    #expect(server.connections == 0)
    try await server.end()
  }

  private static func digest(_ certificate: TestCertificate) async throws -> [UInt8] {
    let openssl = try await ChildProcess(
      "/usr/bin/openssl", ["x509", "-noout", "-fingerprint", "-sha256", "-in", certificate.chainFile])
    try await openssl.stop()
    let text = openssl.output.text.split(separator: "=").last ?? ""
    return text.split(separator: ":").compactMap { UInt8($0.prefix(2), radix: 16) }
  }
}
