import FoundationEssentials
import TestSupport
import Testing

@Suite("Many commands at the same time", .serialized)
struct ConcurrencyTests {
  private func run(_ user: User, _ commands: [[String]]) async throws -> [IMCTL.Result] {
    try await withThrowingTaskGroup(of: (Int, IMCTL.Result).self) { group in
      for (index, command) in commands.enumerated() {
        group.addTask { (index, try await user.imctl.run(command)) }
      }
      var results: [(Int, IMCTL.Result)] = []
      for try await result in group { results.append(result) }
      return results.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  @Test("Twenty simultaneous agent start commands start a single agent.")
  func start() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await user.goOnline()
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await user.agentEnded()
    let results = try await run(user, Array(repeating: ["agent", "start", "--json"], count: 20))
    #expect(results.allSatisfy { $0.status == 0 })
    struct Answer: Decodable { var pid: Int32 }
    let agents = Set(try results.flatMap { try $0.objects(Answer.self) }.map(\.pid))
    #expect(agents.count == 1)
    // Those that came too late are about to end.
    try await eventually("one agent") { try await user.imctl.processes() == Array(agents) }
    try await bob.sees(user, after: 2) { $0.type == "available" }
    try await bob.settled()
    #expect(bob.seen(of: user).count == 3)
  }

  @Test("A second agent run ends with the error “alreadyRunning” while another agent runs.")
  func second() async throws {
    let imctl = try await IMCTL()
    let agent = try await imctl.start(["agent", "run"])
    try await eventually("the agent") { try await imctl.runningAgent() != nil }
    let second = try await imctl.run("agent", "run", "--json")
    #expect(second.status == 75)
    #expect(try second.error.name == "alreadyRunning")
    #expect(try await imctl.processes() == [agent.id])
    #expect(try await imctl.run("agent", "stop").status == 0)
    #expect(try await agent.ended(within: .seconds(90)) == .exited(0))
  }

  @Test(
    "An agent with 1024 clients refuses another watcher, but answers status and logout, and lets send wait."
  )
  func tooMany() async throws {
    let imctl = try await IMCTL()
    #expect(try await imctl.run("agent", "start").status == 0)
    let crowd = try await ChildProcess(
      "/usr/bin/python3",
      [
        "-c",
        """
        import resource, socket, sys
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        clients = [socket.socket(socket.AF_UNIX) for _ in range(1024)]
        for client in clients:
            client.connect(sys.argv[1])
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"watch"}\\n')
            client.recv(1)
        print("in", flush=True)
        sys.stdin.read()
        """, imctl.home + "/.local/state/imctl/agent.sock",
      ])
    try await crowd.output.first("the crowd") { $0.lines.contains("in") ? () : nil }
    for command in [["watch"], ["agent", "idle"]] {
      let refused = try await imctl.run(command + ["--json"])
      #expect(refused.status == 69, "\(refused)")
      #expect(try refused.error.name == "agentUnreachable")
      #expect(try refused.error.message.contains("1024 clients"), "\(refused)")
    }
    struct Answer: Decodable { var clients: Int }
    let agent = try await imctl.run("agent", "status", "--json")
    #expect(try agent.objects(Answer.self).map(\.clients) == [1025])
    #expect(try await imctl.run("logout", "--all").status == 0)
    let late = try await imctl.run("send", "bob@im.example", "hello", "--timeout", "1")
    #expect(late.status == 69 && late.errors.contains("1024 clients"), "\(late)")
    let send = try await imctl.start(["send", "bob@im.example", "hello", "--timeout", "0"])
    crowd.closeInput()
    // There is no account, which is told when its turn has come.
    #expect(try await send.ended(within: .seconds(90)) == .exited(78))
    #expect(try await imctl.run("agent", "stop").status == 0)
    try await imctl.end()
  }

  @Test(
    "Simultaneous status and presence commands are all answered by a single agent.",
    arguments: TestServer.Kind.allCases)
  func answered(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    try await user.goOnline()
    let shows = ["away", "dnd", "xa", "chat"]
    let results = try await run(
      user,
      (0..<40).map { $0.isMultiple(of: 2) ? ["status", "--json"] : ["presence", shows[$0 % 4], "\($0)"] })
    #expect(results.allSatisfy { $0.status == 0 && $0.errors == "" })
    let agents = try await user.imctl.processes()
    #expect(agents.count == 1)
    // The last one that was sent is the one that is stored, shown and seen.
    let last = try #require(try await user.status().presence)
    let bob = try await Neighbourhood.counterpart(kind)
    try await eventually("the last presence") {
      try await bob.settled()
      return bob.seen(of: user).last?.status == last.status
    }
  }

  @Test("Ten simultaneous logins of one account all succeed and share a single session.")
  func login() async throws {
    let user = try await User()
    let bob = try await Neighbourhood.counterpart(.prosody)
    try await withThrowingTaskGroup(of: Int32.self) { group in
      for _ in 0..<10 { group.addTask { try await user.login().status } }
      for try await status in group { #expect(status == 0) }
    }
    try await eventually("one agent") { try await user.imctl.processes().count == 1 }
    #expect(try await user.status().sessions == 1)
    try await bob.settled()
    #expect(bob.seen(of: user).map(\.type) == ["available"])
  }
}
