import AgentProtocol
import Glibc
import TestSupport
import Testing

/// Two imctl with a home each that log in to one account under one resource, and what they tell of being thrown out.
///
/// They have a server to themselves: one that closes a connection on which something comes that it does not read
/// any more takes back what it has said before, and two hundred neighbours make much come.
private struct Rivals {
  let server: TestServer
  let user: User
  let other: User
  let bob: Counterpart
  let first: ChildProcess
  let second: ChildProcess

  /// The second one comes when the first one is there, and takes its place.
  init(on kind: TestServer.Kind, _ options: String...) async throws {
    server = try await TestServer(TestServer.Options(kind))
    bob = try await Counterpart("bob", on: server)
    user = try await User(account: "alice", on: server)
    other = User(user, imctl: try await IMCTL())
    let words = ["login", user.jid, "--password-stdin", "--resource", "desk"] + user.connection + options
    guard try await user.imctl.run(words, input: user.password).status == 0 else {
      throw TestSupportError("the first login")
    }
    first = try await user.watch("state,kicked")
    guard try await other.imctl.run(words, input: user.password).status == 0 else {
      throw TestSupportError("the second login")
    }
    second = try await other.watch("state,kicked")
  }

  /// How often somebody was seen to come.
  var arrivals: Int { bob.seen(of: user).count { $0.type != "unavailable" } }

  func end() async throws {
    first.send(SIGINT)
    second.send(SIGINT)
    try await user.imctl.end()
    try await other.imctl.end()
    try await server.end()
  }
}

@Suite("Two devices with the same resource", .serialized, .namesServer, .timeLimit(.minutes(10)))
struct ResourceFightTests {
  @Test("A device that is replaced by another one with the same resource stays offline.")
  func stop() async {
    await Everywhere.run { kind in
      let rivals = try await Rivals(on: kind)
      try await rivals.first.state(.kicked)
      let kick = try await rivals.first.output.first("the kick") { _ in try rivals.first.events().kicks.first
      }
      #expect(kick.next == .stop && kick.retryIn == nil)
      // Without anything to come back for its agent ends.
      rivals.first.send(SIGINT)
      try await rivals.user.agentEnded()
      #expect(try await rivals.user.status().state == .kicked)
      #expect(try await rivals.other.status().state == .syncOK)
      #expect(try await rivals.other.status().sessions == 1)
      #expect(try rivals.second.events().kicks.isEmpty)
      try await rivals.bob.settled()
      #expect(rivals.arrivals == 2)
      try await rivals.end()
    }
  }

  @Test(
    "Two devices that fight for a resource return three times, ever more slowly, until one of them has it."
  )
  func fight() async {
    await Everywhere.run { kind in
      let rivals = try await Rivals(on: kind, "--on-kick", "fight")
      _ = try await rivals.first.output.first("the end of the fight", within: .seconds(200)) { _ in
        try rivals.first.events().kicks.first { $0.next == .stop }
      }
      // Who was replaced first gives up first: after pauses that get longer.
      let kicks = try rivals.first.events().kicks
      #expect(kicks.map(\.next) == [.fight, .fight, .fight, .stop])
      for (kick, range) in zip(kicks, [2.5...5, 5...10, 10...20]) {
        #expect(kick.retryIn.map(range.contains) == true, "\(kick)")
      }
      rivals.first.send(SIGINT)
      try await rivals.user.agentEnded()
      #expect(try await rivals.user.status().state == .kicked)
      let winner = try await rivals.other.status()
      #expect(winner.state == .syncOK && winner.fullJID == rivals.user.jid + "/desk")
      // So many sessions and no more, as others see it.
      #expect(winner.sessions == 4)
      #expect(try rivals.second.events().kicks.allSatisfy { $0.next == .fight })
      try await rivals.bob.settled()
      #expect(rivals.arrivals == 8)
      try await rivals.end()
    }
  }
}
