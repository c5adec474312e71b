import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The desired presence across losses and restarts", .serialized)
struct LastingPresenceTests {
  @Test("A presence that is set for a limited time ends on time although its agent was killed.")
  func timedOverKill() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "xa", "tea").status == 0)
    #expect(try await user.imctl.run("presence", "dnd", "busy", "--for", "6s").status == 0)
    try await bob.sees(user) { $0.show == "dnd" }
    kill(try await user.agent(), SIGKILL)
    try await user.agentEnded()
    #expect(try await user.imctl.run("agent", "start").status == 0)
    // Whether or not the session was gone on with: it ends on time, and what was before comes back.
    try await bob.sees(user, after: 3) { $0.show == "xa" && $0.status == "tea" }
    #expect(try await user.status().presence?.show == .xa)
  }

  @Test(
    "A presence whose time expires while no agent is running is not shown at the next login."
  )
  func timedOut() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "xa", "tea").status == 0)
    #expect(try await user.imctl.run("presence", "dnd", "busy", "--for", "2s").status == 0)
    try await bob.sees(user) { $0.show == "dnd" }
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await bob.sees(user, after: 3) { $0.type == "unavailable" }
    // No agent runs that could tell.
    try await eventually("its end") { try await user.imctl.run("presence").output.hasPrefix("xa \"tea\"") }
    #expect(try await user.imctl.run("agent", "start").status == 0)
    let back = try await bob.sees(user, after: 4) { $0.type == "available" }
    #expect(back.show == "xa")
  }

  @Test(
    "The desired presence, held or not, is shown again after each reconnect.",
    arguments: TestServer.Kind.oneOfEach)
  func heldOverLoss(kind: TestServer.Kind) async throws {
    let server = try await TestServer(Neighbourhood.options(kind))
    let user = try await User(on: kind, server: server)
    try await user.goOnline()
    #expect(try await user.imctl.run("presence", "away", "desk").status == 0)
    let holder = try await user.imctl.start(["presence", "dnd", "deploying", "--", "cat"])
    try await eventually("the hold") { try await user.session()?.presence?.show == .dnd }
    try await server.kill()
    try await eventually("the loss") { try await user.session()?.isOnline != true }
    try await server.start()
    try await eventually("its return") { try await user.session()?.isOnline == true }
    let bob = try await Counterpart("bob", on: server)
    try await bob.sees(user) { $0.show == "dnd" && $0.status == "deploying" }
    holder.closeInput()
    #expect(try await holder.ended(within: .seconds(90)) == .exited(0))
    try await bob.sees(user) { $0.show == "away" && $0.status == "desk" }
    // And once more, without anybody who holds it.
    try await server.kill()
    try await server.start()
    let again = try await Counterpart("bob", on: server)
    try await again.sees(user) { $0.show == "away" && $0.status == "desk" }
    try await server.end()
  }
}
