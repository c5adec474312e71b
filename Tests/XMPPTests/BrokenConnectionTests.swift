import NIOCore
import TestSupport
import Testing
import XMPPStanza

@testable import XMPP

@Suite("Connections that break", .timeLimit(.minutes(6)))
struct BrokenConnectionTests {
  typealias Step = ScriptedServer.Step

  private static let sasl = "xmlns='urn:ietf:params:xml:ns:xmpp-sasl'"

  /// How far a login has come, what the server has played until then, and the stage that is interrupted.
  private static let phases: [(name: String, steps: [Step], stage: XMPPError.Stage)] = [
    ("the header is read", [.header], .stream),
    ("half a header is answered", [.header, .server("<?xml version='1.0'?><stream:str")], .stream),
    (
      "STARTTLS is asked for",
      .login(until: .opened) + [.client("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")], .stream
    ),
    (
      "the handshake may begin",
      .login(until: .opened) + [
        .client("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
        .server("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
      ], .tls
    ),
    ("TLS is there", .login(until: .secured) + [.header], .stream),
    (
      "authentication has begun", .login(until: .mechanisms) + [.client("<auth \(sasl) mechanism='*'/>")],
      .authenticate
    ),
    ("the login is right", .login(until: .authenticated) + [.header], .bind),
    (
      "binding is asked for",
      .login(until: .authenticated) + [
        .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>"), .client("<iq type='set'/>"),
      ], .bind
    ),
  ]

  @Test(
    "A connection that breaks during the login is a network error of the stage that was reached.",
    arguments: [true, false])
  func whileConnecting(byReset: Bool) async throws {
    try await Self.phases.map { name, steps, stage in
      Attack(name, steps + [byReset ? .reset : .close], .networkError, stage)
    }.run(showsProof: true)
  }

  @Test(
    "A connection that breaks before either side has sent anything is a network error.",
    arguments: [true, false])
  func atOnce(byReset: Bool) async throws {
    let server = try await ScriptedServer([byReset ? .reset : .close])
    #expect(try await Login(server).failure()?.code == .networkError)
    #expect(try await Login(server, tls: .direct).failure()?.code == .networkError)
    try await server.end()
  }

  @Test(
    "A connection that breaks after the login ends the stream with a network error.",
    arguments: [true, false])
  func online(byReset: Bool) async throws {
    // At once behind the bind result, and later.
    let server = try await ScriptedServer(eachConnection: [
      .login(until: .bound) + [byReset ? .reset : .close],
      .login(until: .bound) + [.client("<presence/>"), byReset ? .reset : .close],
    ])
    let login = try await Login(server)
    let stream = XMPPStream(login.configuration)
    // A reset may overtake the bind result; then it is the login that has failed.
    let first = await Task { try await stream.connect() }.result
    if let failure = first.failure as? XMPPError {
      #expect(Failed(failure) == Failed(.networkError, .bind))
    } else {
      #expect(Failed(await stream.ending()) == Failed(.networkError, .stream))
    }
    let later = try await login.online()
    try await later.send([Presence().element])
    #expect(Failed(await later.ending()) == Failed(.networkError, .stream))
    try await server.end()
  }

  @Test(
    "A login times out at every stage if the server stays connected but sends nothing.")
  func silence() async throws {
    let scripts = [[]] + Self.phases.map(\.steps)
    let server = try await ScriptedServer(eachConnection: scripts.map { $0 + [.stall] })
    let login = try await Login(server).with { $0.timeout = .milliseconds(300) }
    for _ in scripts { #expect(await login.failure()?.code == .connectTimeout) }
    expectNoSecret(at: server)
    try await server.end()
  }

  @Test("A login times out if the server sends nothing but white space, byte by byte.")
  func trickle() async throws {
    let server = try await ScriptedServer(eachConnection: [
      // White space is no progress.
      [.header, .drip(String(repeating: " ", count: 1000)), .stall],
      .login(until: .mechanisms) + [.drip(String(repeating: "\n", count: 1000)), .stall],
    ])
    let login = try await Login(server).with { $0.timeout = .milliseconds(500) }
    for _ in 0..<2 { #expect(await login.failure()?.code == .connectTimeout) }
    try await server.end()
  }

  @Test("A port on which nobody listens is reported as a refused connection.", arguments: [true, false])
  func refused(direct: Bool) async throws {
    let server = try await ScriptedServer([])
    try await server.end()
    let failure = try await Login(server, tls: direct ? .direct : .startTLS).failure()
    #expect(Failed(failure) == Failed(.connectionRefused, .connect))
  }

  @Test("Cancelling the task of a login closes its connection at every stage.")
  func cancelled() async throws {
    let scripts = [[]] + Self.phases.map(\.steps)
    let server = try await ScriptedServer(eachConnection: scripts)
    let login = try await Login(server)
    for number in 1...scripts.count {
      let stream = XMPPStream(login.configuration)
      let task = Task { try await stream.connect() }
      try await server.finished(connection: number)
      task.cancel()
      #expect((await task.result.failure as? XMPPError)?.code == .cancelled)
      try await server.closedByClient(connection: number)
      #expect(await stream.ending()?.code == .cancelled)
    }
    try await server.end()
  }

  @Test("A login ends if its task is cancelled or its stream is closed before the connection exists.")
  func cancelledEarly() async throws {
    let server = try await ScriptedServer([.stall])
    let login = try await Login(server)
    let stream = XMPPStream(login.configuration)
    let task = Task { try await stream.connect() }
    task.cancel()
    #expect((await task.result.failure as? XMPPError)?.code == .cancelled)
    let other = XMPPStream(login.configuration)
    let connecting = Task { try await other.connect() }
    _ = await other.next()
    await other.close()
    #expect((await connecting.result.failure as? XMPPError)?.code == .cancelled)
    let unused = XMPPStream(login.configuration)
    await unused.close()
    #expect(await unused.ending() == nil)
    #expect((await Task { try await unused.connect() }.result.failure as? XMPPError)?.code == .internalError)
    try await server.end()
  }
}
