import NIOCore
import Synchronization
import TestSupport
import Testing
import XMPPSASL
import XMPPTransport

@testable import XMPP

/// The kinds of logins and of channel binding, each where a server has it.
@Suite("Kinds of login at real servers", .timeLimit(.minutes(6)))
struct RealServerLoginTests {
  /// What a login has sent first, as the mechanism words it.
  private static func login(_ login: Login) async throws -> BoundStream {
    let stream = XMPPStream(login.configuration)
    let bound = try await stream.connect()
    await stream.close()
    return bound
  }

  // MARK: Channel binding

  struct Binding: Sendable, CustomStringConvertible {
    var kind: TestServer.Kind
    var tls: String
    /// The types that the server can; nil: it has none that TLS of this version can.
    var types: [ChannelBindingType]
    var description: String { "\(kind.rawValue) TLS \(tls)" }
  }

  @Test(
    "A real server accepts every type of channel binding that it offers, and a client without channel binding.",
    arguments: [
      Binding(kind: .prosody, tls: "1.2", types: [.tlsUnique]),
      Binding(kind: .prosody, tls: "1.3", types: []),
      Binding(kind: .ejabberd, tls: "1.2", types: [.tlsUnique]),
      Binding(kind: .ejabberd, tls: "1.3", types: []),
      Binding(kind: .prosody13, tls: "1.2", types: [.tlsUnique]),
      Binding(kind: .prosody13, tls: "1.3", types: [.tlsExporter]),
      Binding(kind: .ejabberd24, tls: "1.2", types: [.tlsUnique, .tlsServerEndPoint]),
      Binding(kind: .ejabberd24, tls: "1.3", types: [.tlsExporter, .tlsServerEndPoint]),
    ])
  func channelBinding(_ row: Binding) async throws {
    var options = TestServer.Options(row.kind)
    options.maximumTLS = row.tls
    let server = try await TestServer(options)
    let plain = try await Login(to: server)
    let bound = try await Self.login(plain)
    #expect(bound.mechanism == (row.types.isEmpty ? .scramSHA1 : .scramSHA1Plus))
    #expect(bound.tls?.version == "TLSv\(row.tls)")
    // A client that does not bind, though it could.
    let unbound = plain.with { $0.policy.allowed = [.scramSHA1] }
    #expect(try await Self.login(unbound).mechanism == .scramSHA1)
    // Each type, by an offer that has no other.
    for type in row.types {
      let guess = AuthenticationOffer(
        mechanisms: [.scramSHA1Plus], channelBindings: [type],
        sasl2: row.kind.hasSASL2 ? .init(mechanisms: [.scramSHA1Plus], bindFeatures: []) : nil)
      let stream = XMPPStream(plain.with { $0.pipelining = Pipelining(offer: guess) }.configuration)
      _ = try await stream.connect()
      await stream.close()
      let mechanisms = await stream.eventsToTheEnd().compactMap { event in
        if case .step(.logining(let mechanism)) = event { mechanism } else { nil }
      }
      #expect(mechanisms == [.scramSHA1Plus], "\(type)")
    }
    // What was bound once is not gone unnoticed.
    if row.types.isEmpty {
      let pinned = await plain.with { $0.policy.pinned = .scramSHA1Plus }.failure()
      #expect(Failed(pinned) == Failed(.downgrade, .authenticate))
    }
    try await server.end()
  }

  // MARK: Kinds of logins

  @Test(
    "A real server accepts an anonymous login at a domain for anonymous users.",
    arguments: TestServer.Kind.allCases)
  func anonymous(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.anonymousDomain = "anonymous.example"
    let server = try await TestServer(options)
    let login = try await Login("anonymous.example", port: server.port).with {
      $0.credentials = SASLCredentials(authcid: "")
      $0.credentials.isAnonymous = true
    }
    let one = try await Self.login(login)
    #expect(one.mechanism == .anonymous)
    #expect(one.jid.domain == "anonymous.example")
    #expect(one.jid.local?.isEmpty == false)
    #expect(try await Self.login(login).jid.local != one.jid.local)
    try await server.end()
  }

  @Test(
    "A real server accepts a client certificate that names the account, and no other certificate.",
    arguments: [TestServer.Kind.prosody13, .ejabberd, .ejabberd24])
  func external(kind: TestServer.Kind) async throws {
    let authority = try await TestAuthority.shared
    var options = TestServer.Options(kind)
    options.clientAuthority = authority.caFile
    let server = try await TestServer(options)
    for tls in [TLSMode.startTLS, .direct] {
      let own = try await authority.certificate(.client, for: [server.jid("alice")])
      let login = try await Login(password: "", port: server.port, tls: .startTLS).with {
        $0.port = tls == .direct ? server.directTLSPort : server.port
        $0.tls = tls
        $0.credentials = SASLCredentials(authcid: "alice")
        $0.credentials.hasCertificate = true
        $0.clientCertificate = ClientCertificate(chainFile: own.chainFile, keyFile: own.keyFile)
      }
      let bound = try await Self.login(login)
      #expect(bound.mechanism == .external)
      #expect(bound.jid.bare.description == server.jid("alice"))
      let foreign = try await authority.certificate(.client, for: [server.jid("mallory")])
      let failure = await login.with {
        $0.clientCertificate = ClientCertificate(chainFile: foreign.chainFile, keyFile: foreign.keyFile)
      }.failure()
      #expect(failure != nil)
      let nothing = await login.with { $0.clientCertificate = nil }.failure()
      #expect(nothing != nil)
    }
    try await server.end()
  }

  @Test(
    "A real server accepts the bearer tokens that it has issued.",
    arguments: [TestServer.Kind.prosody13, .ejabberd, .ejabberd24])
  func bearerToken(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.bearerTokenLifetime = 3600
    let server = try await TestServer(options)
    let login = try await Login(to: server).with {
      $0.credentials.password = nil
      $0.credentials.authzid = kind.isProsody ? server.jid("alice") : nil
      $0.credentials.bearerToken = Secret(server.bearerToken("alice"))
    }
    let bound = try await Self.login(login)
    #expect(bound.mechanism == (kind.isProsody ? .oauthBearer : .xOAuth2))
    #expect(bound.jid.bare.description == server.jid("alice"))
    let wrong = await login.with { $0.credentials.bearerToken = Secret("wrong") }.failure()
    #expect(Failed(wrong) == Failed(.tokenIncorrect, .authenticate))
    #expect(wrong?.description.contains(server.bearerToken("alice")) == false)
    if kind.isProsody { #expect(wrong?.text != nil) }
    // A bearer token is no password, and takes its own way only.
    let other = await login.with { $0.policy.allowed = [.scramSHA1, .scramSHA1Plus, .plain] }.failure()
    #expect(Failed(other) == Failed(.mechanismUnavailable, .authenticate))
    try await server.end()
  }
}
