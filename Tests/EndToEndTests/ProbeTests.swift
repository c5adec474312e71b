import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("imctl status --probe", .serialized)
struct ProbeTests {
  @Test(
    "A probe ends with 0 if the server answers, and with 1 if the account is logged out."
  )
  func answers() async throws {
    let user = try await User()
    #expect(try await user.imctl.run("status", "--probe").status == 1)
    try await user.goOnline()
    #expect(try await user.imctl.run("status", "--probe").status == 0)
    let all = try await user.imctl.run("status", "--probe", "--all", "--json")
    #expect(all.status == 0)
    #expect(try all.objects(SessionStatus.self).map(\.state) == [.syncOK])
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await user.imctl.run("status", "--probe").status == 1)
  }

  @Test(
    "A probe detects a silent server within its time limit, after which the session comes back.",
    arguments: TestServer.Kind.oneOfEach)
  func dead(kind: TestServer.Kind) async throws {
    let server = try await TestServer(Neighbourhood.options(kind))
    let user = try await User(on: kind, server: server)
    try await user.goOnline()
    try await server.freeze()
    // Nobody has noticed yet.
    #expect(try await user.imctl.run("status").status == 0)
    let probe = try await user.imctl.run("status", "--probe", "--timeout", "1", "--json")
    #expect(probe.status == 1)
    let status = try #require(try probe.objects(SessionStatus.self).first)
    #expect(!status.isOnline)
    #expect(status.cause?.name == .networkError)
    #expect(try await user.imctl.run("status").status == 1)
    try await server.thaw()
    // A server that finds the ends of several connections at once may close the first one that comes back, too.
    // Each probe is one: there is nothing else to wait for.
    try await eventually("its return") { try await user.imctl.run("status", "--probe").status == 0 }
    try await server.end()
  }

  @Test(
    "An agent that gets SIGTERM ends in time although its server does not answer."
  )
  func terminated() async throws {
    let server = try await TestServer(Neighbourhood.options(.prosody))
    let user = try await User(server: server)
    try await user.goOnline()
    let pid = try await user.agent()
    try await server.freeze()
    kill(pid, SIGTERM)
    try await user.agentEnded()
    #expect(try user.stored().first?.isLogin == true)
    let log = try await user.imctl.run("agent", "log")
    #expect(log.lines.contains { $0.contains("ended") }, "\(log)")
    try await server.thaw()
    try await server.end()
  }
}
