import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("An agent that is killed while it writes", .serialized, .timeLimit(.minutes(10)))
struct OutboxCrashTests {
  /// How many writes a message takes is not known here: one after the other is sent, and the agent dies one write later
  /// each time, until a message needs no more.
  @Test(
    "No message is lost or doubled, whichever write to the local store the agent is killed after.",
    arguments: [TestServer.Kind.prosody, .ejabberd])
  func killedAtEveryWrite(kind: TestServer.Kind) async throws {
    let home = try await IMCTL()
    let disk = try await FaultyDisk(in: home.home)
    let user = try await User(on: kind, environment: disk.environment)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    var bodies: [String] = []
    repeat {
      let body = "killed at \(bodies.count + 1)"
      try disk.kill(atWrite: bodies.count + 1)
      bodies.append(body)
      let result = try await user.imctl.run("send", bob.jid, body)
      #expect(result.status == 0, "\(body): \(result)")
    } while try await isDead(disk) && bodies.count < 100
    disk.works()
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
  private func isDead(_ disk: FaultyDisk) async throws -> Bool {
    for _ in 1...50 {
      if !disk.isWaiting { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }
}

@Suite("An agent whose disk is full", .serialized, .timeLimit(.minutes(10)))
struct FullDiskTests {
  @Test(
    "An agent with a full disk stays online, refuses to send, and reports each new message once there is room.",
    arguments: [TestServer.Kind.prosody, .ejabberd])
  func fullDisk(kind: TestServer.Kind) async throws {
    let home = try await IMCTL()
    let disk = try await FaultyDisk(in: home.home)
    let user = try await User(on: kind, environment: disk.environment)
    let bob = try await Neighbourhood.counterpart(kind)
    try await user.goOnline()
    let watch = try await user.watch("message")
    try bob.send("before", to: user.jid)
    try await watch.messages(1)

    try disk.isFull()
    for number in 1...3 { try bob.send("number \(number)", to: user.jid) }
    let refused = try await user.imctl.run("send", bob.jid, "no room", "--json")
    #expect(refused.status == 73, "\(refused)")
    #expect(refused.errors.contains("full"), "\(refused)")
    #expect(try await user.imctl.run("presence", "away").status == 0)
    #expect(try await user.status().state == .syncOK)
    #expect(try watch.events().count == 1)

    disk.works()
    try await watch.messages(4)
    #expect(try await user.imctl.run("send", bob.jid, "room again").status == 0)
    try await watch.messages(5)
    #expect(
      try watch.events().map(\.message?.body) == ["before", "number 1", "number 2", "number 3", "room again"])
    try await bob.settled()
    #expect(bob.bodies(of: user) == ["room again"])
    watch.send(SIGINT)
    try await home.end()
  }

  @Test(
    "An agent with a read-only file system stays online, refuses to send, and reports the error."
  )
  func readOnly() async throws {
    let home = try await IMCTL()
    let disk = try await FaultyDisk(in: home.home)
    let user = try await User(on: .prosody, environment: disk.environment)
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    let pid = try await user.agent()
    let watch = try await user.watch("message,store")

    try disk.isReadOnly()
    for number in 1...3 { try bob.send("number \(number)", to: user.jid) }
    let refused = try await user.imctl.run("send", bob.jid, "not written", "--json")
    #expect(refused.status == 73, "\(refused)")
    #expect(try await user.imctl.run("presence", "away").status == 0)
    #expect(try await user.imctl.run("history").status == 0)
    let status = try await user.status()
    #expect(status.state == .syncOK && status.warnings?.map(\.name) == [.databaseError])
    let told = try await watch.output.first("the event") { _ in
      try watch.events().lazy.compactMap { if case .store(let change) = $0.body { change } else { nil } }
        .first
    }
    #expect(told.cause?.name == .databaseError)

    disk.works()
    #expect(try await user.imctl.run("send", bob.jid, "written").status == 0)
    try await eventually("the messages") { try watch.events().compactMap(\.message).count == 4 }
    #expect(
      Set(try watch.events().compactMap { $0.message?.body })
        == ["number 1", "number 2", "number 3", "written"])
    #expect(try await user.status().warnings == nil)
    #expect(try await user.agent() == pid)
    try await bob.settled()
    #expect(bob.bodies(of: user) == ["written"])
    watch.send(SIGINT)
    try await home.end()
  }
}
