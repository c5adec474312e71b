import AgentProtocol
import TestSupport
import Testing

@Suite("Push services", .timeLimit(.minutes(6)))
struct PushTests {
  private func server(_ kind: TestServer.Kind) async throws -> TestServer {
    var options = Neighbourhood.options(kind)
    options.component = "push.im.example"
    options.extraModules = [kind.isProsody ? "cloud_notify" : "mod_push"]
    return try await TestServer(options)
  }

  @Test(
    "An enabled push service is notified of messages for an offline account until it is disabled.",
    arguments: [TestServer.Kind.ejabberd, .prosody13, .ejabberd24])
  func away(kind: TestServer.Kind) async throws {
    let server = try await server(kind)
    let service = try await PushService(on: server)
    let bob = try await Counterpart("bob", on: server)
    let user = try await User(on: kind, server: server)
    try await user.goOnline()
    let enabled = try await user.imctl.run(
      ["push", "enable", service.jid, "node-1", "--secret-stdin", "--json"], input: "a secret\n")
    #expect(enabled.status == 0)
    #expect(enabled.output == #"{"enabled":true,"node":"node-1","service":"push.im.example"}"# + "\n")
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try bob.send("are you there?", to: user.jid)
    let notification = try await service.notification()
    #expect(notification.node == "node-1")
    #expect(notification.secret == "a secret")

    // The next session says it again: nobody has to think of it.
    try await user.goOnline()
    #expect(try await user.imctl.run("logout").status == 0)
    let seen = service.notifications.count
    try bob.send("and now?", to: user.jid)
    #expect(try await service.notification(after: seen).node == "node-1")

    try await user.goOnline()
    for _ in 1...2 {
      #expect(try await user.imctl.run("push", "disable", service.jid).status == 0)
    }
    #expect(try await user.imctl.run("logout").status == 0)
    let last = service.notifications.count
    try bob.send("still not?", to: user.jid)
    try await bob.settled()
    try await user.goOnline()
    try await bob.settled()
    #expect(service.notifications.count == last)
    try await service.end()
    try await server.end()
  }

  @Test("The command push enable fails on a server without push, and refuses invalid arguments.")
  func refused() async throws {
    let user = try await User()
    try await user.goOnline()
    let refused = try await user.imctl.run("push", "enable", "push.im.example", "node", "--json")
    #expect(refused.status == 74)
    #expect(try refused.error.condition == nil)
    for wrong in [
      ["enable", "@", "node"], ["enable", "push.im.example", ""], ["enable", "push.im.example"],
    ] {
      #expect(try await user.imctl.run(["push"] + wrong).status == 64, "\(wrong)")
    }
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await user.imctl.run("push", "enable", "push.im.example", "node").status == 67)
  }
}
