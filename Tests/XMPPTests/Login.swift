import NIOCore
import TestSupport
import Testing
import XMPPSASL
import XMPPStanza
import XMPPTransport

@testable import XMPP

/// A login of ``XMPPStream`` to a server on loopback, as a test wants it.
struct Login {
  static let password = "alice-secret"

  var configuration: StreamConfiguration

  /// Trusts the tests' own authority.
  init(
    _ account: String = "alice@\(TestServer.domain)", password: String = Self.password, port: Int,
    tls: TLSMode = .startTLS
  ) async throws {
    let account = try JID(account)
    configuration = StreamConfiguration(
      account: account,
      credentials: SASLCredentials(authcid: account.local ?? "", password: Secret(password)))
    configuration.host = TestServer.host
    configuration.port = port
    configuration.tls = tls
    configuration.caFile = try await TestAuthority.shared.caFile
    configuration.timeout = .seconds(50)
  }

  init(_ server: ScriptedServer, tls: TLSMode = .startTLS) async throws {
    try await self.init(port: server.port, tls: tls)
  }

  init(
    _ account: String = "alice", password: String? = nil, to server: TestServer, tls: TLSMode = .startTLS
  ) async throws {
    try await self.init(
      server.jid(account), password: password ?? server.password(account),
      port: tls == .direct ? server.directTLSPort : server.port, tls: tls)
  }

  /// Changes the configuration.
  func with(_ change: (inout StreamConfiguration) -> Void) -> Self {
    var copy = self
    change(&copy.configuration)
    return copy
  }

  /// A stream that is online.
  func online() async throws -> XMPPStream {
    let stream = XMPPStream(configuration)
    _ = try await stream.connect()
    return stream
  }

  /// Why the login fails; nil where it succeeds.
  func failure() async -> XMPPError? {
    let stream = XMPPStream(configuration)
    do throws(XMPPError) {
      _ = try await stream.connect()
      await stream.close()
      return nil
    } catch {
      return error
    }
  }
}

extension XMPPStream {
  /// Everything up to the end of the stream.
  func eventsToTheEnd() async -> [StreamEvent] {
    var all: [StreamEvent] = []
    while let event = await next() { all.append(event) }
    return all
  }

  /// How the stream ends: the error of `closed`.
  func ending() async -> XMPPError? {
    guard case .closed(let error)? = await eventsToTheEnd().last else { return nil }
    return error
  }
}

/// What a test expects of a failure, without its words.
struct Failed: Equatable, CustomStringConvertible {
  var code: XMPPError.Code
  var stage: XMPPError.Stage

  init(_ code: XMPPError.Code, _ stage: XMPPError.Stage) {
    self.code = code
    self.stage = stage
  }

  init?(_ error: XMPPError?) {
    guard let error else { return nil }
    self.init(error.code, error.stage)
  }

  var description: String { "\(code.rawValue) (\(stage.rawValue))" }
}

/// One thing a hostile server does, and how it must end.
struct Attack: Sendable {
  let name: String
  let steps: [ScriptedServer.Step]
  let end: Failed

  init(_ name: String, _ steps: [ScriptedServer.Step], _ code: XMPPError.Code, _ stage: XMPPError.Stage) {
    self.name = name
    self.steps = steps
    end = Failed(code, stage)
  }
}

extension [Attack] {
  /// Logs in to a server that plays each attack to one connection; each must fail as it says, and be hung up on.
  ///
  /// In no case may the password be seen, nor anything of an authentication outside of TLS; `showsProof` says
  /// that a SCRAM proof inside TLS is part of the play.
  func run(
    options: ScriptedServer.Options = .init(), showsProof: Bool = false,
    _ change: (inout StreamConfiguration) -> Void = { _ in }
  ) async throws {
    let server = try await ScriptedServer(eachConnection: map(\.steps), options: options)
    let login = try await Login(server, tls: options.directTLS ? .direct : .startTLS).with(change)
    for (index, attack) in enumerated() {
      let failure = await login.failure()
      #expect(Failed(failure) == attack.end, "\(attack.name): \(failure?.description ?? "logged in")")
      #expect(failure?.description.contains(Login.password) != true)
      if case .reset? = attack.steps.last { continue }
      if case .close? = attack.steps.last { continue }
      try await server.closedByClient(connection: index + 1)
      if !showsProof {
        #expect(!server.received(connection: index + 1).contains("<response"), "\(attack.name)")
      }
    }
    expectNoSecret(at: server)
    try await server.end()
  }
}

/// The password has not reached the server in any form, and nothing of an authentication before TLS.
func expectNoSecret(at server: ScriptedServer, _ location: SourceLocation = #_sourceLocation) {
  let plain = Base64.encode(Array("\0alice\0\(Login.password)".utf8))
  for secret in [Login.password, plain, Base64.encode(Array(Login.password.utf8))] {
    #expect(!server.received.contains(secret), sourceLocation: location)
  }
  for word in ["<auth", "<response", "alice"] {
    #expect(!server.receivedInTheClear.contains(word), sourceLocation: location)
  }
}
