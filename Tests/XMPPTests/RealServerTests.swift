import NIOCore
import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport

@testable import XMPP

@Suite("Real servers", .timeLimit(.minutes(6)))
struct RealServerTests {
  /// A server and a way to reach it.
  struct Way: Sendable, CustomStringConvertible {
    var kind: TestServer.Kind
    var tls: TLSMode
    var description: String { "\(kind.rawValue) \(tls.rawValue)" }

    static let all = TestServer.Kind.allCases.flatMap { kind in
      [TLSMode.startTLS, .direct].map { Way(kind: kind, tls: $0) }
    }
  }

  /// The names of the steps, without their details.
  private static func steps(_ events: [StreamEvent]) -> [String] {
    events.compactMap { event in
      switch event {
      case .step(.linking): "linking"
      case .step(.linkOK): "linkOK"
      case .step(.logining(let mechanism)): mechanism.rawValue
      case .step(.loginOK): "loginOK"
      case .closed(let error): error.map { "\($0.code.rawValue)" } ?? "closed"
      case .message, .presence, .request, .answer, .marked, .leftOut, .acknowledged, .received: nil
      }
    }
  }

  // MARK: Login

  @Test(
    "A login at a real server passes its steps in order and takes the expected number of round trips.",
    arguments: Way.all)
  func login(_ way: Way) async throws {
    let server = try await TestServer.shared(way.kind)
    let mechanism: SASLMechanismName = way.kind.hasSASL2 ? .scramSHA1Plus : .scramSHA1
    // TCP, stream, STARTTLS, TLS, stream, two of SCRAM, stream, bind; with SASL2 the third stream is none, and a
    // resource that the server may choose comes with the success.
    let stepByStep = way.kind.hasSASL2 ? 8 : 9
    let ahead = way.kind.hasSASL2 ? 5 : 6
    var offer: AuthenticationOffer?
    for (isAhead, resource, trips) in [
      (false, "desk", stepByStep), (false, nil, way.kind.hasSASL2 ? 7 : 9), (true, "sofa", 6),
      (true, nil, ahead),
    ] {
      let stream = XMPPStream(
        try await Login(to: server, tls: way.tls).with {
          $0.pipelining =
            isAhead ? Pipelining(startTLS: true, offer: offer, binding: true) : .stepByStep
          $0.resource = resource.map { "\($0)-\(way.tls.rawValue)" }
        }.configuration)
      let bound = try await stream.connect()
      #expect(bound.roundTrips == trips - (way.tls == .startTLS ? 0 : isAhead ? 1 : 2))
      #expect(bound.jid.bare.description == server.jid("alice"))
      if let resource { #expect(bound.jid.resource == "\(resource)-\(way.tls.rawValue)") }
      #expect(bound.mechanism == mechanism)
      #expect(bound.tls?.version == "TLSv1.3")
      await stream.close(patience: .seconds(50))
      let events = await stream.eventsToTheEnd()
      #expect(Self.steps(events) == ["linking", "linkOK", mechanism.rawValue, "loginOK", "closed"])
      offer =
        events.compactMap { event in
          if case .step(.linkOK(_, let offer)) = event { offer } else { nil }
        }.first
    }
  }

  @Test(
    "A pipelined mechanism without channel binding is replaced by the bound one that a real server offers.",
    arguments: TestServer.Kind.newer)
  func outdatedGuess(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    for sasl2 in [nil, AuthenticationOffer.SASL2(mechanisms: [.scramSHA1], bindFeatures: [])] {
      let guess = AuthenticationOffer(mechanisms: [.scramSHA1], sasl2: sasl2)
      let login = try await Login(to: server).with { $0.pipelining = Pipelining(offer: guess) }
      let stream = XMPPStream(login.configuration)
      #expect(try await stream.connect().mechanism == .scramSHA1Plus)
      await stream.close()
      #expect(
        Self.steps(await stream.eventsToTheEnd()) == [
          "linking", "linkOK", "SCRAM-SHA-1", "SCRAM-SHA-1-PLUS", "loginOK", "closed",
        ])
      let wrong = await login.with { $0.credentials.password = Secret("wrong") }.failure()
      #expect(Failed(wrong) == Failed(.authFailed, .authenticate))
    }
  }

  @Test(
    "A real server chooses a resource if the client requests none.",
    arguments: TestServer.Kind.allCases)
  func resource(kind: TestServer.Kind) async throws {
    let login = try await Login(to: TestServer.shared(kind))
    let one = try await login.online()
    let other = XMPPStream(login.configuration)
    let bound = try await other.connect()
    #expect(bound.jid.resource?.isEmpty == false)
    guard case .online(let first) = await one.state else { throw TestSupportError("not online") }
    #expect(first.jid != bound.jid)
    await one.close()
    await other.close()
  }

  @Test(
    "A second login with the same resource ends the first session at a real server.",
    arguments: TestServer.Kind.allCases)
  func replaced(kind: TestServer.Kind) async throws {
    let login = try await Login(to: TestServer.shared(kind)).with { $0.resource = "same" }
    let first = try await login.online()
    let second = try await login.online()
    let end = await first.ending()
    #expect(Failed(end) == Failed(.kicked, .stream))
    #expect(end?.condition == "conflict")
    await second.close()
  }

  @Test("A failed login at a real server reports the stage that failed.", arguments: Way.all)
  func wrong(_ way: Way) async throws {
    let server = try await TestServer.shared(way.kind)
    let password = try await Login(to: server, tls: way.tls).with {
      $0.credentials.password = Secret("wrong")
    }.failure()
    #expect(Failed(password) == Failed(.authFailed, .authenticate))
    #expect(password?.condition == "not-authorized")
    #expect(password?.description.contains("wrong") == false)
    let user = try await Login("nobody", password: "x", to: server, tls: way.tls).failure()
    #expect(Failed(user) == Failed(.authFailed, .authenticate))
    if way.tls == .startTLS {
      let domain = try await Login("alice@nowhere.example", port: server.port).failure()
      #expect(Failed(domain) == Failed(.unknownDomain, .stream))
      #expect(domain?.condition == "host-unknown")
    }
    // Direct TLS on the port of STARTTLS.
    let crossed = try await Login(port: server.port, tls: .direct).failure()
    #expect(way.tls == .direct || Failed(crossed) == Failed(.tlsFailure, .tls))
  }

  // MARK: Presence

  @Test(
    "A contact at a real server sees each presence once and a single unavailable presence at the end.",
    arguments: TestServer.Kind.allCases)
  func presence(kind: TestServer.Kind) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Counterpart("bob", on: server)
    let stream = try await Login(to: server).with { $0.resource = "seen" }.online()
    let own = "\(server.jid("alice"))/seen"
    try await stream.send([Presence().element])
    try await bob.presence { $0.from == own && $0.type == "available" }
    try await stream.send([Presence(show: .away, status: "lunch & <more>", priority: 5).element])
    try await bob.presence { $0.from == own && $0.show == "away" }
    let seen = await stream.first { event in
      if case .presence(let presence) = event, presence.from?.description == bob.jid { presence } else { nil }
    }
    #expect(seen?.type == nil)
    await stream.close(sending: [Presence(type: .unavailable).element], patience: .seconds(50))
    try await bob.presence { $0.from == own && $0.type == "unavailable" }
    try await bob.settled()
    #expect(
      bob.presences.filter { $0.from == own } == [
        .init(from: own, type: "available"),
        .init(from: own, type: "available", show: "away", status: "lunch & <more>", priority: 5),
        .init(from: own, type: "unavailable"),
      ])
    try await bob.end()
  }

  // MARK: Servers of their own

  @Test(
    "Prosody with plain passwords accepts every SCRAM mechanism that it has, and a stopped Prosody is reported.",
    arguments: [TestServer.Kind.prosody, .prosody13])
  func prosody(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.passwordStore = .plain
    let server = try await TestServer(options)
    try await mechanisms(
      kind.hasSASL2
        ? [.scramSHA1, .scramSHA256, .scramSHA1Plus, .scramSHA256Plus] : [.scramSHA1, .scramSHA256],
      of: server)
    try await Self.stops(server)
    // A server that accepts and says nothing, and one that is gone.
    try await server.start()
    let online = try await Login(to: server).online()
    try await server.freeze()
    let silent = try await Login(to: server).with { $0.timeout = .milliseconds(300) }.failure()
    #expect(silent?.code == .connectTimeout)
    try await server.kill()
    #expect(Failed(await online.ending()) == Failed(.networkError, .stream))
    #expect(Failed(try await Login(to: server).failure()) == Failed(.connectionRefused, .connect))
    try await server.end()
  }

  @Test(
    "ejabberd with plain passwords accepts every SCRAM mechanism that it has, and a stopped ejabberd is reported.",
    arguments: [TestServer.Kind.ejabberd, .ejabberd24])
  func ejabberd(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.passwordStore = .plain
    let server = try await TestServer(options)
    let bound: [SASLMechanismName] = [.scramSHA1Plus, .scramSHA256Plus, .scramSHA512Plus]
    try await mechanisms(
      [.scramSHA1, .scramSHA256, .scramSHA512] + (kind.hasSASL2 ? bound : []), of: server)
    try await Self.stops(server)
    try await server.end()
  }

  @Test(
    "PLAIN is used inside TLS 1.2 if a real server offers no other mechanism.",
    arguments: TestServer.Kind.allCases)
  func plain(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.maximumTLS = "1.2"
    let others = #""SCRAM-SHA-1", "SCRAM-SHA-1-PLUS", "DIGEST-MD5", "X-OAUTH2", "OAUTHBEARER""#
    options.extraLines = [
      kind.isProsody
        ? "disable_sasl_mechanisms = { \(others) }" : "disable_sasl_mechanisms: [\(others)]"
    ]
    let server = try await TestServer(options)
    let stream = XMPPStream(try await Login(to: server).configuration)
    let bound = try await stream.connect()
    #expect(bound.mechanism == .plain)
    #expect(bound.tls?.version == "TLSv1.2")
    // The handshake of TLS 1.2 takes one more, PLAIN one less than SCRAM.
    #expect(bound.roundTrips == (kind.hasSASL2 ? 7 : 9))
    await stream.close()
    let guess = AuthenticationOffer(
      mechanisms: [.scramSHA1], sasl2: kind.hasSASL2 ? .init(mechanisms: [.scramSHA1]) : nil)
    let downgraded = try await Login(to: server).with {
      $0.pipelining = Pipelining(offer: guess)
      $0.policy.pinned = .scramSHA1
    }.failure()
    #expect(Failed(downgraded) == Failed(.downgrade, .authenticate))
    try await server.end()
  }

  /// All of `known`, weakest first, are there, and the last is taken where nothing was learned.
  private func mechanisms(_ known: [SASLMechanismName], of server: TestServer) async throws {
    for mechanism in known + [nil] {
      let stream = XMPPStream(
        try await Login(to: server).with { $0.policy.allowed = mechanism.map { [$0] } }.configuration)
      #expect(try await stream.connect().mechanism == mechanism ?? known.last)
      await stream.close()
    }
  }

  private static func stops(_ server: TestServer) async throws {
    let stream = try await Login(to: server).online()
    async let stop: Void = server.shutDown()
    let end = await stream.ending()
    #expect(Failed(end) == Failed(.networkError, .stream))
    // A server in a hurry just closes.
    #expect([nil, "system-shutdown"].contains(end?.condition))
    try await stop
  }
}
