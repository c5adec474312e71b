import AgentProtocol
import TestSupport
import Testing

@Suite("Changes of the network", .timeLimit(.minutes(6)))
struct NetworkChangeTests {
  @Test(
    "A session goes on from a new address after the network changes, and contacts see no change.",
    arguments: TestServer.Kind.oneOfEach)
  func moved(kind: TestServer.Kind) async throws {
    let server = try await Neighbourhood.server(kind)
    let network = try await TestNetwork(to: server.port)
    let user = try await User(on: kind, in: network)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    try await bob.sees(user) { $0.type == "available" }
    let seen = bob.seen(of: user).count
    let watch = try await user.watch("state")
    let messages = try await user.watch("message")

    try await network.move(to: "10.83.0.3")
    // Under way while nobody is there, in either direction.
    try bob.send("to \(user.name)", to: user.jid)
    let sending = try await user.imctl.start(["send", bob.jid, "from \(user.name)"])
    let change = try await watch.state(.netChanged)
    #expect(change.interface == "im1")
    try await watch.state(.loseConnection)
    try await watch.state(.syncOK)
    let states = try watch.events().states
    #expect(
      states == [.netChanged, .loseConnection, .linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
    let status = try await user.status()
    #expect(status.sessions == 1)
    #expect(status.resumes == 1)

    #expect(try await sending.ended(within: .seconds(90)) == .exited(0))
    try await messages.messages(2)
    #expect(
      try messages.events().compactMap(\.message?.body).sorted() == ["from \(user.name)", "to \(user.name)"])
    try await bob.message { $0.body == "from \(user.name)" }
    try await bob.settled()
    #expect(bob.messages.count { $0.body == "from \(user.name)" } == 1)
    #expect(bob.seen(of: user).count == seen)
    _ = try await user.imctl.run("logout")
    try await user.imctl.end()
    try await network.end()
  }

  @Test("A connection that still works is kept when the network changes.")
  func harmless() async throws {
    let server = try await Neighbourhood.server(.prosody)
    let network = try await TestNetwork(to: server.port)
    let user = try await User(on: .prosody, in: network)
    try await user.goOnline()
    let watch = try await user.watch("state")
    try await network.join("10.83.0.4")
    try await watch.state(.syncOK)
    #expect(try watch.events().states == [.netChanged, .syncOK])
    #expect(try await user.status().resumes == 0)
    try await user.imctl.end()
    try await network.end()
  }

  @Test(
    "A session that waits for its next attempt makes it as soon as the network is back."
  )
  func back() async throws {
    let server = try await Neighbourhood.server(.prosody)
    let network = try await TestNetwork(to: server.port)
    let user = try await User(on: .prosody, in: network)
    try await user.goOnline()
    let watch = try await user.watch("state")
    try await network.leave()
    try await watch.state(.linkFailed)
    try await watch.state(.waiting)
    let seen = try watch.events().count
    try await network.join("10.83.0.5")
    try await watch.state(.syncOK, after: seen)
    #expect(try await user.status().resumes == 1)
    try await user.imctl.end()
    try await network.end()
  }
}
