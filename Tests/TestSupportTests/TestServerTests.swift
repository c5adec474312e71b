import TestSupport
import Testing

@Suite("A private server")
struct TestServerTests {
  @Test("lets two users see each other's presence.", arguments: TestServer.Kind.allCases, [false, true])
  func presence(kind: TestServer.Kind, directTLS: Bool) async throws {
    let server = try await TestServer.shared(kind)
    let bob = try await Counterpart("bob", on: server, directTLS: directTLS)
    let alice = try await Counterpart("alice", on: server, directTLS: directTLS)
    let jid = alice.jid
    try await bob.presence { $0.from == jid && $0.type == "available" }
    try alice.show("away", status: "lunch")
    let away = try await bob.presence { $0.from == jid && $0.show == "away" }
    #expect(away == .init(from: jid, type: "available", show: "away", status: "lunch"))
    try alice.send("hello", to: server.jid("bob"))
    try await bob.message { $0.from == jid && $0.body == "hello" }
    try await alice.end()
    try await bob.presence { $0.from == jid && $0.type == "unavailable" }
    try await bob.settled()
    #expect(bob.presences.count { $0.from == jid && $0.type == "unavailable" } == 1)
    try await bob.end()
  }

  @Test("can be stopped, started again on its ports, frozen and killed.", arguments: TestServer.Kind.allCases)
  func lifetime(kind: TestServer.Kind) async throws {
    let server = try await TestServer(.init(kind))
    try await server.shutDown()
    await #expect(throws: TestSupportError.self) { try await Counterpart("bob", on: server) }
    try await server.start()
    try await Counterpart("bob", on: server).end()
    try await server.freeze()
    try await server.thaw()
    try await Counterpart("bob", on: server).end()
    try await server.kill()
    try await server.start()
    try await Counterpart("bob", on: server).end()
    try await server.end()
  }

  @Test("offers what its password store allows.", arguments: TestServer.Kind.allCases)
  func passwordStore(kind: TestServer.Kind) async throws {
    var options = TestServer.Options(kind)
    options.hash = "SHA-256"
    let hashed = try await TestServer(options)
    try await Counterpart("alice", on: hashed).end()
    try await hashed.end()
    options.passwordStore = .plain
    options.maximumTLS = "1.2"
    let plain = try await TestServer(options)
    try await Counterpart("alice", on: plain).end()
    try await plain.end()
  }
}
