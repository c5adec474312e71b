import NIOCore
import TestSupport
import Testing
import XMPPSASL
import XMPPTransport

@testable import XMPP

/// XEP-0484, at the servers that have it.
@Suite("Tokens of real servers", .timeLimit(.minutes(6)))
struct RealServerTokenTests {
  private static let desk = UserAgent(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "imctl")
  private static let sofa = UserAgent(id: "0a1b2c3d-4d72-4749-b3d3-740edbf87770", software: "imctl")

  /// A bound stream, closed again, with what was offered.
  private struct Outcome {
    var bound: BoundStream
    var offer: AuthenticationOffer
    var attempts: [SASLMechanismName]
  }

  private static func login(_ login: Login) async throws -> Outcome {
    let stream = XMPPStream(login.configuration)
    let bound = try await stream.connect()
    await stream.close()
    var offer = AuthenticationOffer(mechanisms: [])
    var attempts: [SASLMechanismName] = []
    for event in await stream.eventsToTheEnd() {
      if case .step(.linkOK(_, let offered)) = event { offer = offered }
      if case .step(.logining(let mechanism)) = event { attempts.append(mechanism) }
    }
    return Outcome(bound: bound, offer: offer, attempts: attempts)
  }

  private static func first(on server: TestServer, tls: TLSMode = .startTLS) async throws -> Login {
    try await Login(to: server, tls: tls).with { $0.userAgent = desk }
  }

  /// The next login after an outcome, with its token and without the password.
  private static func next(_ login: Login, after outcome: Outcome, password: Bool = false) throws -> Login {
    let token = try #require(outcome.bound.fastToken)
    return login.with {
      if !password { $0.credentials.password = nil }
      $0.credentials.fastToken = token
      $0.pipelining = Pipelining(startTLS: true, offer: outcome.offer, binding: true)
    }
  }

  @Test(
    "A real server issues a token on request, and the next login uses it in the fewest round trips of all logins.",
    arguments: TestServer.Kind.newer, ["1.3", "1.2"])
  func next(kind: TestServer.Kind, version: String) async throws {
    var options = TestServer.Options(kind)
    options.maximumTLS = version
    let server = try await TestServer(options)
    for tls in [TLSMode.startTLS, .direct] {
      let first = try await Self.first(on: server, tls: tls)
      let outcome = try await Self.login(first)
      #expect(outcome.attempts == [.scramSHA1Plus])
      let token = try #require(outcome.bound.fastToken)
      // ejabberd has the exporter with TLS 1.2, too.
      let hasExporter = version == "1.3" || !kind.isProsody
      #expect(token.mechanism == (hasExporter ? .htSHA256Exporter : .htSHA256Unique))
      #expect(token.expiry?.hasPrefix("20") == true)
      let again = try await Self.login(try Self.next(first, after: outcome))
      #expect(again.attempts == [token.mechanism])
      #expect(again.bound.roundTrips == (tls == .direct ? 3 : 4) + (version == "1.3" ? 0 : 1))
      #expect(again.bound.jid.bare == outcome.bound.jid.bare)
      #expect(!again.bound.isTokenRefused)
      // It is as good as new, and serves again.
      #expect(again.bound.fastToken == nil)
      #expect(try await Self.login(try Self.next(first, after: outcome)).attempts == [token.mechanism])
    }
    try await server.end()
  }

  @Test("A real server replaces a token that has reached a certain age.", arguments: TestServer.Kind.newer)
  func renewed(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.fastTokenLifetime = 3600
    options.fastTokenRefreshAge = 1
    let server = try await TestServer(options)
    let first = try await Self.first(on: server)
    let outcome = try await Self.login(first)
    // The server's clock, which counts in seconds, has to pass the age at which it renews.
    try await Task.sleep(for: .seconds(2))
    let second = try await Self.login(try Self.next(first, after: outcome))
    let renewed = try #require(second.bound.fastToken)
    #expect(renewed.mechanism == outcome.bound.fastToken?.mechanism)
    #expect(renewed.secret != outcome.bound.fastToken?.secret)
    let third = try await Self.login(try Self.next(first, after: second))
    #expect(third.attempts == [renewed.mechanism])
    try await server.end()
  }

  @Test(
    "A login with an expired token uses the password on the same stream and gets a new token.",
    arguments: TestServer.Kind.newer)
  func expired(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.fastTokenLifetime = 1
    let server = try await TestServer(options)
    let first = try await Self.first(on: server)
    let outcome = try await Self.login(first)
    // The server's clock, which counts in seconds, has to pass the lifetime of the token.
    try await Task.sleep(for: .seconds(3))
    let alone = await (try Self.next(first, after: outcome)).failure()
    #expect(alone?.stage == .authenticate)
    #expect([.tokenExpired, .authFailed].contains(alone?.code), "\(alone?.description ?? "logged in")")
    let other = try await Self.login(try Self.next(first, after: outcome, password: true))
    #expect(other.attempts == [.htSHA256Exporter, .scramSHA1Plus])
    #expect(other.bound.isTokenRefused)
    #expect(other.bound.fastToken != nil)
    #expect(other.bound.fastToken?.secret != outcome.bound.fastToken?.secret)
    try await server.end()
  }

  @Test("A real server refuses a token that the client has invalidated.", arguments: TestServer.Kind.newer)
  func invalidated(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let first = try await Self.first(on: server)
    let outcome = try await Self.login(first)
    let next = try Self.next(first, after: outcome)
    #expect(try await Self.login(next).attempts == [.htSHA256Exporter])
    try await XMPPStream(next.configuration).invalidateToken()
    #expect(Failed(await next.failure()) == Failed(.authFailed, .authenticate))
    await #expect(throws: XMPPError.self) { try await XMPPStream(next.configuration).invalidateToken() }
  }

  @Test(
    "A real server refuses a token that it has issued to another device.",
    arguments: TestServer.Kind.newer)
  func foreign(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let first = try await Self.first(on: server)
    let outcome = try await Self.login(first)
    let next = try Self.next(first, after: outcome, password: true).with {
      $0.userAgent = Self.sofa
      $0.fallsBackFromToken = false
    }
    #expect(Failed(await next.failure()) == Failed(.deviceChanged, .authenticate))
    let other = try await Self.login(next.with { $0.fallsBackFromToken = true })
    #expect(other.attempts == [.htSHA256Exporter, .scramSHA1Plus])
    #expect(other.bound.isTokenRefused)
    // Each device has its own.
    #expect(try await Self.login(try Self.next(first, after: outcome)).attempts == [.htSHA256Exporter])
  }
}
