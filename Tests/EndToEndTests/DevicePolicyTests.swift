import AgentProtocol
import TestSupport
import Testing

@Suite("The device policy of an account", .serialized, .namesServer)
struct DevicePolicyTests {
  @Test(
    "A device policy is obeyed by devices that did not set it, even by a device that logs in for the first time."
  )
  func everyDevice() async { await Everywhere.run(everyDevice) }

  private func everyDevice(on kind: TestServer.Kind) async throws {
    let bob = try await Neighbourhood.counterpart(kind)
    let user = try await User(on: kind)
    try await user.goOnline("--resource", "desk", "--platform", "61")
    let old = try await OtherDevice(of: user, "--resource", "old", "--platform", "60")
    try await eventually("both devices") {
      try await user.listedDevices().filter { $0.id != nil }.count == 2
    }
    #expect(try await user.imctl.run("devices", "policy", "--limit", "60=1").output == "all 60=1\n")
    // A machine that has never heard of it.
    let new = try await OtherDevice(of: user, "--resource", "new", "--platform", "60")
    try await old.becomes(.kicked)
    #expect(try await new.imctl.run("devices", "policy").output == "all 60=1\n")
    #expect(try await new.state() == .syncOK)
    #expect(try await user.status().state == .syncOK)
    // With 0 none logs in, and nobody sees that it was tried.
    #expect(try await new.imctl.run("devices", "policy", "--limit", "60=0").output == "all 60=0\n")
    #expect(try await user.imctl.run("devices", "policy").output == "all 60=0\n")
    let third = try await IMCTL()
    let login = ["login", user.jid, "--password-stdin", "--json", "--resource", "third", "--platform", "60"]
    let refused = try await third.run(login + user.connection, input: user.password)
    #expect(refused.status == 85)
    #expect(try refused.error.code == 214)
    try await bob.settled()
    #expect(bob.seen(of: user).allSatisfy { $0.from != user.jid + "/third" })
    // What one device takes away is gone for all, also for the one that was refused.
    #expect(try await user.imctl.run("devices", "policy", "--limit", "60=any").output == "all\n")
    #expect(try await third.run(login + user.connection, input: user.password).status == 0)
    #expect(try await new.state() == .syncOK)
  }

  @Test("A device policy that is set offline is published at the next login.")
  func offline() async throws {
    let user = try await User(on: .ejabberd24)
    try await user.goOnline("--resource", "desk")
    let other = try await OtherDevice(of: user, "--resource", "other")
    // Both by the agent, and without one.
    #expect(try await user.imctl.run("logout").status == 0)
    let stored = try await user.imctl.run("devices", "policy", "--limit", "60=3")
    #expect(stored.output == "all 60=3\n" && stored.errors.contains("told at the next login"))
    #expect(try await other.imctl.run("devices", "policy").output == "all\n")
    try await user.goOnline()
    // The other device is told by the server, and no event of its own tells that.
    try await eventually("the policy") {
      try await other.imctl.run("devices", "policy").output == "all 60=3\n"
    }
    // Of two who change different things nothing is lost.
    #expect(try await other.imctl.run("devices", "policy", "--limit", "61=2").output == "all 60=3 61=2\n")
    #expect(try await user.imctl.run("devices", "policy").output == "all 60=3 61=2\n")
  }
}
