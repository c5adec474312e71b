import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("An agent that is killed", .serialized, .timeLimit(.minutes(5)))
struct OutboxCrashTests {
  /// How many writes a message takes is not known here: one after the other is sent, and the agent dies one write later
  /// each time, until a message needs no more.
  @Test(
    "between any two writes of the local store loses no message, sends none twice and tells each once.",
    arguments: [TestServer.Kind.prosody, .ejabberd])
  func killedAtEveryWrite(kind: TestServer.Kind) async throws {
    let home = try await IMCTL()
    let order = home.home + "/order"
    let user = try await User(
      on: kind, environment: try await KillAtWrite.environment(order: order, in: home.home))
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    var bodies: [String] = []
    repeat {
      let body = "killed at \(bodies.count + 1)"
      try Data("\(bodies.count + 1)\n".utf8).write(to: URL(filePath: order))
      bodies.append(body)
      let result = try await user.imctl.run("send", bob.jid, body)
      #expect(result.status == 0, "\(body): \(result)")
    } while try await isDeleted(order) && bodies.count < 100
    unlink(order)
    #expect((6..<100).contains(bodies.count))
    let last = bodies.last
    try await bob.message { $0.body == last && $0.from.hasPrefix(user.jid) }
    try await bob.settled()
    #expect(bob.bodies(of: user) == bodies)
    let status = try await user.status()
    #expect(status.queued == 0 && status.uncertain == 0)
    let watch = try await user.imctl.start(["watch", "--events", "message", "--json", "--since", "0"])
    try await watch.messages(bodies.count)
    #expect(try watch.events().compactMap { $0.message?.body } == bodies)
    watch.send(SIGINT)
    try await home.end()
  }

  /// The last writes may come when `send` has ended.
  private func isDeleted(_ path: String) async throws -> Bool {
    for _ in 1...50 {
      if access(path, F_OK) != 0 { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }
}
