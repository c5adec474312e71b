import AgentProtocol
import TestSupport
import Testing

@Suite("Repeated and simultaneous reconnects", .serialized)
struct ManyReturnsTests {
  @Test(
    "A session that loses its connection ten times is resumed each time, and contacts see no change.",
    arguments: [TestServer.Kind.prosody, .prosody13, .ejabberd24])
  func cuts(kind: TestServer.Kind) async throws {
    let server = try await Neighbourhood.server(kind)
    let user = try await User(on: kind)
    let bob = try await Neighbourhood.counterpart(kind)
    let proxy = try await FaultProxy(to: server.port)
    let login = try await user.imctl.run(
      [
        "login", user.jid, "--password-stdin", "--host", TestServer.host, "--port", String(proxy.port),
        "--ca-file", server.caFile,
      ], input: user.password)
    #expect(login.status == 0)
    #expect(try await user.imctl.run("presence", "away", "all day").status == 0)
    try await bob.sees(user) { $0.status == "all day" }
    let fullJID = try await user.status().fullJID
    let seen = bob.seen(of: user).count
    let watch = try await user.watch("state")
    for cut in 1...10 {
      let events = try watch.events().count
      try await proxy.fault(.cut)
      let change = try await watch.state(.loginOK, after: events)
      #expect(change.resumed == true, "cut \(cut)")
      try await watch.state(.syncOK, after: events)
    }
    let status = try await user.status()
    #expect(status.sessions == 1)
    #expect(status.resumes == 10)
    #expect(status.fullJID == fullJID)
    #expect(status.presence?.show == .away)
    try await bob.settled()
    #expect(bob.seen(of: user).count == seen)
    try await proxy.end()
  }

  @Test("The accounts of one agent spread their reconnects after a server restart, and all come back.")
  func serverRestart() async throws {
    var options = TestServer.Options(.ejabberd24)
    let names = (0..<20).map { "many\($0)" }
    options.accounts = Dictionary(uniqueKeysWithValues: names.map { ($0, "geheim-of-\($0)!") })
    let server = try await TestServer(options)
    let imctl = try await IMCTL()
    try await withThrowingTaskGroup { group in
      for name in names {
        group.addTask {
          let login = try await imctl.run(
            [
              "login", server.jid(name), "--password-stdin", "--host", TestServer.host, "--port",
              String(server.port), "--ca-file", server.caFile,
            ], input: server.password(name))
          #expect(login.status == 0, "\(login)")
        }
      }
      try await group.waitForAll()
    }
    let watch = try await imctl.watch("--events", "state")
    try await server.shutDown()
    try await server.start()
    let accounts = Set(names.map(server.jid))
    let events = try await watch.output.first("all of them", within: .seconds(120)) { _ in
      let events = try watch.events()
      return Set(events.filter { [$0].states == [.syncOK] }.map(\.account)) == accounts ? events : nil
    }
    // Each draws its pause for itself.
    let pauses = accounts.compactMap { account in
      events.lazy.filter { $0.account == account }.compactMap { event in
        if case .state(let change) = event.body { change.retryIn } else { nil }
      }.first
    }
    #expect(Set(pauses).count > 10)
    let all = try await imctl.run("status", "--all", "--json").objects(SessionStatus.self)
    #expect(Set(all.filter { $0.state == .syncOK }.map(\.account)) == accounts)
    try await imctl.end()
    try await server.end()
  }
}
