import AgentProtocol
import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOPosix
import TestSupport
import Testing

@testable import AgentService
@testable import AgentSystem

@Suite(.timeLimit(.minutes(4))) struct AgentServerTests {
  @Test("The agent answers calls, and its errors carry the failure as an object.")
  func calls() async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        #expect(try await client.call(AgentStatusMethod.self, EmptyObject()).clients == 1)
        #expect(try await client.call(StatusMethod.self, .init(account: "x@y")).map(\.account) == ["x@y"])
        #expect(try await client.call(LogoutMethod.self, .init(account: nil)).accounts == ["default"])
        var presence = PresenceSetMethod.Parameters(account: nil, show: .away)
        presence.status = "lunch"
        #expect(try await client.call(PresenceSetMethod.self, presence).status == "lunch")
        #expect(try await client.call(PresenceGetMethod.self, .init(account: nil)).show == .online)
        _ = try await client.call(AccountRemoveMethod.self, .init(account: "x@y"))
        #expect(service.seen.calls.last == "remove x@y")
        let refused = Failure(.authFailed, stage: .authenticate, condition: "not-authorized", text: "no")
        await #expect(throws: RPCError(refused)) {
          try await client.call(LoginMethod.self, .init(account: "refused@y"))
        }
      }
    }
  }

  @Test(
    "The socket, pid and lock files have mode 0600 in a directory of mode 0700 and are removed at the end."
  )
  func files() async throws {
    let directory = try TemporaryDirectory()
    mkdir(directory.paths.state, 0o755)
    let server = try AgentServer(
      lock: AgentLock(directory.paths), hub: EventHub(cursor: 0), logger: Logger(label: "test"))
    server.update(accounts: 1)
    try await withThrowingTaskGroup { group in
      group.addTask { try await run(server) }
      try await Conversation.with(directory.paths.socket) { client in
        _ = try await client.call(AgentStatusMethod.self, EmptyObject())
        #expect(mode(directory.paths.state) == 0o700)
        for path in [directory.paths.socket, directory.paths.pid, directory.paths.lock] {
          #expect(mode(path) == 0o600, "\(path)")
        }
        #expect(contents(directory.paths.pid) == "\(getpid())\n")
        _ = try await client.call(AgentStopMethod.self, EmptyObject())
      }
      try await group.waitForAll()
    }
    #expect(mode(directory.paths.socket) == 0 && mode(directory.paths.pid) == 0)
  }

  @Test("A socket whose path would be too long is created in a short private directory.")
  func longPath() async throws {
    let state = "/" + String(repeating: "s", count: 150)
    try await withAgent(state: state) { paths, _, _, _ in
      #expect(paths.socketDirectory == paths.shortDirectory)
      try await Conversation.with(paths.socket) { client in
        let status = try await client.call(AgentStatusMethod.self, EmptyObject())
        #expect(status.clients == 1)
      }
      #expect(mode(paths.shortDirectory) == 0o700 && mode(paths.socket) == 0o600)
    }
  }

  @Test("Twenty agents that start at once leave one running, and the others are told that it runs.")
  func race() async throws {
    let directory = try TemporaryDirectory()
    let paths = directory.paths
    let pool = NIOThreadPool(numberOfThreads: 20)
    pool.start()
    let outcomes = await withTaskGroup(of: Result<AgentServer, any Error>.self) { group in
      for _ in 0..<20 {
        group.addTask {
          do {
            let server = try await pool.runIfActive {
              try AgentServer(lock: AgentLock(paths), hub: EventHub(cursor: 0), logger: Logger(label: "test"))
            }
            server.update(accounts: 1)
            Task { try await run(server) }
            return .success(server)
          } catch {
            return .failure(error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let servers = outcomes.compactMap { try? $0.get() }
    #expect(servers.count == 1)
    for case .failure(let error) in outcomes { #expect((error as? Failure)?.name == .alreadyRunning) }
    try await Conversation.with(paths.socket) { client in
      _ = try await client.call(AgentStatusMethod.self, EmptyObject())
    }
    for server in servers { server.stop() }
    try await pool.shutdownGracefully()
  }

  @Test("A new agent takes over the socket of one that was killed, but not that of one that is running.")
  func stale() async throws {
    let directory = try TemporaryDirectory()
    try PrivateDirectory.ensure(directory.paths.state)
    // Its file stays when the socket is renamed before it is closed.
    let dead = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(unixDomainSocketPath: directory.path + "/dead").get()
    rename(directory.path + "/dead", directory.paths.socket)
    try await dead.close()
    #expect(mode(directory.paths.socket) != 0)
    let server = try AgentServer(
      lock: AgentLock(directory.paths), hub: EventHub(cursor: 0), logger: Logger(label: "test"))
    server.update(accounts: 1)
    try await withThrowingTaskGroup { group in
      group.addTask { try await run(server) }
      try await Conversation.with(directory.paths.socket) { client in
        _ = try await client.call(AgentStatusMethod.self, EmptyObject())
        #expect(throws: Failure(.alreadyRunning, stage: .store, detail: .text(directory.paths.socket))) {
          try AgentServer(
            lock: AgentLock(directory.paths), hub: EventHub(cursor: 0), logger: Logger(label: "test"))
        }
        _ = try await client.call(AgentStatusMethod.self, EmptyObject())
        _ = try await client.call(AgentStopMethod.self, EmptyObject())
      }
      try await group.waitForAll()
    }
  }

  @Test("A file at the socket's path that is not an agent's socket is not removed.")
  func planted() async throws {
    let directory = try TemporaryDirectory()
    try PrivateDirectory.ensure(directory.paths.state)
    write("precious", to: directory.paths.socket)
    let server = try AgentServer(
      lock: AgentLock(directory.paths), hub: EventHub(cursor: 0), logger: Logger(label: "test"))
    await #expect(throws: Failure.self) { try await run(server) }
    #expect(contents(directory.paths.socket) == "precious")
  }

  @Test("A client that belongs to another user is not served.")
  func otherUser() async throws {
    try await withAgent(owner: geteuid() + 1) { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        try? await client.send(RPC.request(StatusMethod.self, id: .number(1), .init(account: nil)))
        #expect(await client.line() == nil)
      }
      #expect(service.seen.calls.isEmpty)
    }
  }

  @Test("Answers arrive in the order of the requests, even if the requests were sent at once.")
  func order() async throws {
    try await withAgent { paths, _, _, _ in
      try await Conversation.with(paths.socket) { client in
        let requests = (0..<5000).map { number in
          RPC.request(StatusMethod.self, id: .number(Int64(number)), .init(account: nil))
        }
        let outbound = client.outbound
        let sending = Task { for request in requests { try await outbound.write(.init(string: request)) } }
        for number in 0..<5000 { #expect(try await client.reply().id == .number(Int64(number))) }
        try await sending.value
      }
    }
  }

  @Test("A client that has closed its sending side still gets its answers.")
  func halfClosed() async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        for _ in 0..<3 {
          try await client.send(RPC.request(StatusMethod.self, id: .number(7), .init(account: nil)))
        }
        client.finish()
        for _ in 0..<3 { #expect(try await client.reply().id == .number(7)) }
        #expect(await client.line() == nil)
      }
      try await eventually { service.seen.closed.count == 1 }
    }
  }

  @Test(
    "The request of a client that disconnects is cancelled, and the service learns of the disconnection once."
  )
  func cancelled() async throws {
    try await withAgent { paths, _, service, server in
      try await Conversation.with(paths.socket) { client in
        try await client.send(RPC.request(LoginMethod.self, id: .number(1), .init(account: "a@b")))
        try await eventually { service.seen.waiting == 1 }
        #expect(server.clients == 1)
      }
      try await eventually { service.seen.closed.count == 1 }
      #expect(service.seen.cancelled == 1)
      try await eventually { server.clients == 0 }
      #expect(service.seen.closed.count == 1)
    }
  }

  @Test("A call of agent.stop is answered before the agent ends.")
  func stop() async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        _ = try await client.call(AgentStopMethod.self, EmptyObject())
        #expect(await client.line() == nil)
      }
      #expect(service.seen.calls == ["stop"])
    }
  }

  @Test("The agent ends by itself when neither a client nor an account needs it, and not earlier.")
  func idle() async throws {
    let directory = try TemporaryDirectory()
    let server = try AgentServer(
      lock: AgentLock(directory.paths), hub: EventHub(cursor: 0), logger: Logger(label: "test"),
      group: MultiThreadedEventLoopGroup.singleton, eventBuffer: 10, owner: geteuid(),
      idle: IdleExit(started: .now, grace: .zero, linger: .zero))
    server.update(accounts: 1)
    let service = FakeService()
    try await withThrowingTaskGroup { group in
      group.addTask { try await server.run(service.methods, whenGone: service.leave) }
      for _ in 0..<2 {
        try await Conversation.with(directory.paths.socket) { client in
          _ = try await client.call(StatusMethod.self, .init(account: nil))
        }
      }
      try await Conversation.with(directory.paths.socket) { client in
        _ = try await client.call(StatusMethod.self, .init(account: nil))
        server.update(accounts: 0)
        _ = try await client.call(StatusMethod.self, .init(account: nil))
      }
      try await group.waitForAll()
    }
    #expect(service.seen.calls.count == 4)
    #expect(mode(directory.paths.socket) == 0)
  }

  @Test("A client that connects while the agent is ending sees the connection close.")
  func endsWhileConnecting() async throws {
    for _ in 0..<20 {
      try await withAgent { paths, _, _, server in
        try await Conversation.with(paths.socket) { client in
          server.stop()
          while await client.line() != nil {}
        }
      }
    }
  }

  @Test(
    "The agent accepts messages while earlier ones wait for the server, and answers in the order of the calls."
  )
  func lateAnswers() async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        for number in 1...3 {
          let parameters = MessageSendMethod.Parameters(
            account: nil, messages: [OutgoingMessage(to: "b@c", body: "\(number)")])
          try await client.send(RPC.request(MessageSendMethod.self, id: .number(Int64(number)), parameters))
        }
        try await eventually { service.seen.sendings.count == 3 }
        try await client.send(RPC.request(AgentStatusMethod.self, id: .number(4), EmptyObject()))
        // The last two are acknowledged before the first.
        let waits = service.seen.sendings
        for wait in waits.reversed() { wait.done("all") }
        for number in 1...4 { #expect(try await client.reply().id == .number(Int64(number))) }
      }
    }
  }

  @Test("Each line becomes a message with its own id, and the outcomes are reported in runs.")
  func lines() async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        var parameters = MessageSendLinesMethod.Parameters(
          account: nil, id: "i", to: "b@c", text: "one\n\ntwo\r\n")
        parameters.wait = .none
        let runs = try await client.call(MessageSendLinesMethod.self, parameters)
        #expect(runs == [.init(count: 2, state: .queued)])
        #expect(service.seen.calls.last == "send one,two\r")
      }
    }
  }

  @Test(
    "An invalid list of lines is refused.",
    arguments: [
      #""id":"","text":"x""#, #""id":"i","text":"""#, #""id":"i","text":"\n\n""#, #""text":"x""#,
      #""id":"i","text":"x","type":"error""#, #""id":"i","text":"x","type":"headline","wait":"delivered""#,
      #""id":"i","text":"x","timeout":-1"#,
      #""id":"i","text":""# + String(repeating: "x\\n", count: 513) + #"""#,
      #""id":""# + String(repeating: "i", count: 255) + #"","text":"x""#,
      #""id":"i","text":""# + String(repeating: "x", count: 200_001) + #"""#,
    ])
  func wrongLines(parameters: String) async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        try await client.send(
          #"{"jsonrpc":"2.0","id":1,"method":"message.sendLines","params":{"to":"b@c","# + parameters + "}}\n"
        )
        let line = await client.line()
        #expect(line?.contains("-32602") == true, "\(line ?? "")")
        #expect(service.seen.calls.isEmpty)
      }
    }
  }

  @Test("A client that disconnects while its messages wait does not affect the agent.")
  func leavesLateAnswers() async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        let parameters = MessageSendMethod.Parameters(
          account: nil, messages: [OutgoingMessage(to: "b@c", body: "1")])
        try await client.send(RPC.request(MessageSendMethod.self, id: .number(1), parameters))
        try await eventually { service.seen.sendings.count == 1 }
      }
      try await eventually { service.seen.closed.count == 1 }
    }
  }

  @Test(
    "An invalid list of messages is refused.",
    arguments: [
      "[]", #"[{"to":"b@c"}]"#, #"[{"to":"b@c","body":"x","type":"error"}]"#,
      #"[{"to":"b@c","body":"x","id":""}]"#,
      #"[{"body":"x"}]"#, #"[{"to":"b@c","body":1}]"#,
    ])
  func wrongMessages(messages: String) async throws {
    try await withAgent { paths, _, service, _ in
      try await Conversation.with(paths.socket) { client in
        try await client.send(
          #"{"jsonrpc":"2.0","id":1,"method":"message.send","params":{"messages":"# + messages + "}}\n")
        let line = await client.line()
        #expect(line?.contains("-32602") == true, "\(line ?? "")")
        #expect(service.seen.calls.isEmpty)
      }
    }
  }
}
