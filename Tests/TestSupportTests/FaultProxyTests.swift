import TestSupport
import Testing

@Suite("The fault proxy")
struct FaultProxyTests {
  private func client(_ account: String, on server: TestServer, through proxy: FaultProxy) async throws
    -> Counterpart
  {
    try await Counterpart(
      jid: server.jid(account), password: server.password(account), port: proxy.port, caFile: server.caFile)
  }

  @Test("The fault proxy forwards everything, and holds data back from a stall until it resumes.")
  func stall() async throws {
    let server = try await TestServer.shared(.prosody)
    let proxy = try await FaultProxy(to: server.port)
    let bob = try await client("bob", on: server, through: proxy)
    let alice = try await Counterpart("alice", on: server)
    try alice.send("one", to: server.jid("bob"))
    try await bob.message { $0.body == "one" }
    try await proxy.fault(.stallDown)
    try alice.send("two", to: server.jid("bob"))
    try await alice.settled()
    #expect(bob.messages.map(\.body) == ["one"])
    try await proxy.resume()
    try await bob.message { $0.body == "two" }
    // The bytes that are waited for are not passed on.
    try await proxy.fault(.stallUp, afterSending: 1)
    try bob.send("three", to: server.jid("alice"))
    try await proxy.fires(after: 1)
    try await alice.settled()
    #expect(alice.messages.isEmpty)
    try await proxy.resume()
    try await alice.message { $0.body == "three" }
    #expect(try await proxy.connections == 1)
    try await alice.end()
    try await bob.end()
    try await proxy.end()
  }

  @Test(
    "The fault proxy breaks the connection at the flight that the test names.",
    arguments: [FaultProxy.Fault.cut, .close, .halfUp, .halfDown, .away], [1, 2, 3, 4])
  func flights(fault: FaultProxy.Fault, flight: Int) async throws {
    let server = try await TestServer.shared(.prosody)
    let proxy = try await FaultProxy(to: server.port)
    try await proxy.fault(fault, atFlight: flight)
    let imctl = try await IMCTL()
    let arguments = [
      "login", "--list-mechanisms", TestServer.domain, "--host", TestServer.host, "--port",
      String(proxy.port),
      "--ca-file", server.caFile,
    ]
    #expect(try await imctl.run(arguments).status != 0)
    #expect(try await proxy.fired == 1)
    try await proxy.resume()
    #expect(try await imctl.run(arguments).status == 0)
    try await imctl.end()
    try await proxy.end()
  }
}
