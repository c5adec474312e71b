import AgentProtocol
import Glibc
import TestSupport
import Testing

@Suite("Logins with --timeout", .serialized)
struct TimeLimitTests {
  private static let limit = 1.5

  /// Logs in with the time limit: it is kept to, told as such, and nothing is tried after it.
  private func expire(port: Int, connections: () -> Int? = { nil }) async throws {
    let imctl = try await IMCTL()
    let caFile = try await TestAuthority.shared.caFile
    let start = ContinuousClock.now
    let result = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(port), "--ca-file", caFile, "--timeout", String(Self.limit), "--json", input: "alice-secret")
    let duration = ContinuousClock.now - start
    #expect(duration >= .seconds(Self.limit - 0.1))
    // As long as a busy machine may need for the rest; no limit of another kind is so near.
    #expect(duration < .seconds(20))
    #expect(result.status == 75)
    let error = try result.error
    #expect(error.name == "connectTimeout" && error.code == 34_006)
    // The agent has nobody to log in: it goes, and nobody else could try again.
    try await eventually("the end of the agent") { try await imctl.processes().isEmpty }
    if let connections = connections() { #expect(connections == 1) }
    // Who asks again is served.
    let again = try await imctl.run(
      "login", "alice@\(TestServer.domain)", "--password-stdin", "--host", TestServer.host, "--port",
      String(port), "--ca-file", caFile, "--timeout", "0.3", "--json", input: "alice-secret")
    #expect(again.status == 75)
    try await imctl.end()
  }

  @Test("A login ends at its time limit if the server accepts the connection and says nothing.")
  func silent() async throws {
    let server = try await ScriptedServer([.stall])
    try await expire(port: server.port) { server.connections }
    try await server.end()
  }

  @Test("A login ends at its time limit if the server sends an endless challenge.")
  func endless() async throws {
    let challenge = "<challenge xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>"
    let server = try await ScriptedServer(
      .login(until: .mechanisms) + [
        .client("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='SCRAM-SHA-1'/>"),
        .server(challenge),
        .drip(String(repeating: "cj1", count: 500)), .stall,
      ])
    try await expire(port: server.port) { server.connections }
    try await server.end()
  }

  @Test("A login ends at its time limit if the network drops every packet.")
  func blackHole() async throws {
    // A queue of waiting connections that is full: the kernel drops who else comes.
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr(TestServer.host)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    func with(_ body: (UnsafeMutablePointer<sockaddr>) -> Int32) -> Int32 {
      withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
      }
    }
    #expect(with { bind(listener, $0, length) } == 0 && listen(listener, 0) == 0)
    #expect(with { getsockname(listener, $0, &length) } == 0)
    var waiting: [Int32] = []
    defer { for descriptor in waiting { close(descriptor) } }
    for _ in 0..<4 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      _ = with { connect(descriptor, $0, length) }
      waiting.append(descriptor)
    }
    try await expire(port: Int(UInt16(bigEndian: address.sin_port)))
  }
}

@Suite("Agents and watchers in the background", .serialized)
struct BackgroundTests {
  @Test(
    "An agent that gets SIGTERM first sends the messages that it has accepted, then unavailable presence.",
    arguments: TestServer.Kind.allCases)
  func terminated(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let bob = try await Counterpart("bob", on: user.server)
    try await user.goOnline()
    try await bob.sees(user) { $0.type == "available" }
    let seen = bob.seen(of: user).count
    let lines = (1...50).map { "\(user.name) \($0)" }
    let send = try await user.imctl.run(
      ["send", bob.jid, "--lines", "--wait", "none"], input: lines.joined(separator: "\n"))
    kill(try await user.agent(), SIGTERM)
    #expect(send.status == 0)
    try await user.agentEnded()
    try await bob.sees(user, after: seen) { $0.type == "unavailable" }
    try await bob.message { $0.body == lines.last }
    #expect(bob.messages.compactMap(\.body).filter { $0.hasPrefix(user.name + " ") } == lines)
    // It was no logout.
    #expect(try user.stored().first?.isLogin == true)
    try await bob.end()
    try await user.imctl.end()
  }

  @Test("A watcher that starts with the cursor of an earlier one gets the next events from a new agent.")
  func watchGoesOn() async throws {
    let user = try await User(on: .prosody)
    let bob = try await Counterpart("bob", on: user.server)
    try await user.goOnline()
    let first = try await user.watch("message")
    try bob.send("one to \(user.name)", to: user.jid)
    try await first.messages(1)
    let cursor = try #require(try first.events().last?.cursor)
    first.send(SIGINT)
    _ = try await first.ended(within: .seconds(90))
    try bob.send("two to \(user.name)", to: user.jid)
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try bob.send("three to \(user.name)", to: user.jid)
    #expect(try await user.imctl.run("agent", "start").status == 0)
    let second = try await user.imctl.start(
      ["watch", "--events", "message", "--json", "--since", String(cursor)])
    try await second.messages(2)
    try bob.send("four to \(user.name)", to: user.jid)
    try await second.messages(3)
    let events = try second.events()
    let bodies = events.compactMap(\.message?.body).filter { $0.hasSuffix(user.name) }
    #expect(bodies == ["two", "three", "four"].map { "\($0) to \(user.name)" })
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.cursor < $1.cursor })
    #expect(events.allSatisfy { $0.cursor > cursor && $0.name == "message" })
    second.send(SIGINT)
    _ = try await second.ended(within: .seconds(90))
    try await bob.end()
    try await user.imctl.end()
  }
}
