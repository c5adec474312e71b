import TestSupport
import Testing

@Suite("The delay proxy")
struct DelayProxyTests {
  @Test("The delay proxy forwards everything in order in both directions and delays each round trip.")
  func link() async throws {
    let server = try await TestServer.shared(.prosody)
    let proxy = try await DelayProxy(to: server.port, oneWay: .milliseconds(50))
    let clock = ContinuousClock()
    let begin = clock.now
    // TCP, STARTTLS in one flight, TLS 1.3, the features.
    let features = try await server.features(through: proxy)
    #expect(clock.now - begin >= .milliseconds(400))
    #expect(features.contains("<mechanism>SCRAM-SHA-1</mechanism>"))

    let bob = try await Counterpart(
      jid: server.jid("bob"), password: server.password("bob"), port: proxy.port, caFile: server.caFile)
    let alice = try await Counterpart("alice", on: server)
    let texts = (1...300).map { "\($0) " + String(repeating: "x", count: 1000) }
    for text in texts { try alice.send(text, to: server.jid("bob")) }
    try await bob.message { $0.body == texts[299] }
    #expect(bob.messages.map(\.body) == texts)
    try await alice.end()
    try await bob.end()
    try await proxy.end()
  }
}
