import AgentProtocol
import TestSupport
import Testing

@Suite("Restarts of the server", .serialized)
struct ServerRestartTests {
  @Test(
    "A session comes back with its presence after the server has restarted.",
    arguments: TestServer.Kind.oneOfEach,
    [false, true])
  func serverRestart(kind: TestServer.Kind, killed: Bool) async throws {
    let server = try await TestServer(Neighbourhood.options(kind))
    let user = try await User(on: kind, server: server)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "away", "lunch", "--priority", "4").status == 0)
    let watch = try await user.watch("state")
    if killed { try await server.kill() } else { try await server.shutDown() }
    try await watch.state(.loseConnection)
    #expect(try await user.imctl.run("status").status == 1)
    #expect(try user.stored().first?.isLogin == true)
    try await server.start()
    let bob = try await Counterpart("bob", on: server)
    try await watch.state(.syncOK)
    try await bob.sees(user) { $0.show == "away" && $0.status == "lunch" && $0.priority == 4 }
    #expect(try await user.status().sessions == 2)
    #expect(
      try watch.events().states.suffix(6) == [.linking, .linkOK, .logining, .loginOK, .syncing, .syncOK])
    try await bob.end()
    try await server.end()
  }
}
