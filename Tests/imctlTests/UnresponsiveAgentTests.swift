import AgentProtocol
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("Agents that do not answer", .serialized, .timeLimit(.minutes(10)))
struct UnresponsiveAgentTests {
  /// Every command that there is: its arguments, and whether it asks the agent and so has to give up.
  private static let commands: [String: (arguments: String, asks: Bool)] = [
    "login": ("alice@example.org", true), "logout": ("", true), "status": ("", true), "whoami": ("", true),
    "presence": ("dnd", true), "send": ("b@c hi", true), "edit": ("b@c 1 hi", true), "watch": ("", true),
    "history": ("--sync", true), "outbox list": ("", true), "outbox cancel": ("1", true),
    "contacts list": ("", true), "contacts add": ("b@c", true), "contacts remove": ("b@c", true),
    "contacts rename": ("b@c Bob", true), "contacts group": ("b@c friends", true),
    "contacts approve": ("b@c", true), "contacts deny": ("b@c", true), "contacts requests": ("", true),
    "contacts block": ("b@c", true), "contacts unblock": ("b@c", true), "contacts blocked": ("", true),
    "threads list": ("", false), "conversations list": ("", false), "conversations read": ("b@c", true),
    "conversations pin": ("b@c", true), "conversations unpin": ("b@c", true),
    "conversations mute": ("b@c", true), "conversations unmute": ("b@c", true),
    "conversations mark": ("b@c +work", true), "conversations clear": ("b@c", true),
    "conversations delete": ("b@c", true), "devices list": ("", true), "devices self": ("", true),
    "devices name": ("desk", true), "devices kick": ("phone", true), "devices send": ("phone hi", true),
    "devices policy": ("", true), "push enable": ("push.c node", true), "push disable": ("push.c", true),
    "account list": ("", false), "account use": ("alice@example.org", false), "account last": ("", false),
    "account remove": ("alice@example.org", true), "account import": ("/nowhere", false),
    "account register": ("", false), "account passwd": ("", true), "account delete": ("--yes", true),
    "account trust": ("", false), "token show": ("", false), "token list": ("", false),
    "token print": ("", false), "token revoke": ("", true), "server info": ("", true),
    "server time": ("", true), "server version": ("", true), "server ping": ("", true),
    "server features": ("", true), "profile get": ("", true), "profile set": ("nickname=A", true),
    "agent run": ("", false), "agent start": ("", true), "agent stop": ("", true),
    "agent restart": ("", true), "agent status": ("", true), "agent log": ("", false),
    "agent states": ("", false), "agent idle": ("", true), "agent active": ("", true),
    "agent install": ("--no-start", false), "agent uninstall": ("", false),
    "completion": ("bash", false),
  ]

  /// What they are asked on standard input: `account passwd`, a new password.
  private static let input = "geheim\ngeheim\n"

  private static func arguments(_ command: String) -> [String] {
    let words = commands[command]?.arguments ?? ""
    var arguments = (command + " " + words).split(separator: " ").map(String.init)
    if command == "account passwd" { arguments += ["--password-stdin", "--new-password-stdin"] }
    return arguments
  }

  private static let asking = commands.filter(\.value.asks).keys.sorted()

  /// How long a command may take that was given a tenth of it: whatever a busy machine needs for the rest, nothing else
  /// ends so soon.
  private static let limit = Duration.seconds(5)
  private static let timeout = "0.5"

  /// Runs commands, a few at a time.
  private static func each(_ commands: [String], _ body: @escaping @Sendable (String) async throws -> Void)
    async throws
  {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, command) in commands.enumerated() {
        if index >= 4 { try await group.next() }
        group.addTask { try await body(command) }
      }
      try await group.waitForAll()
    }
  }

  /// Every command gives up in its own time, and says so.
  private static func expectEnds(_ imctl: IMCTL) async throws {
    try await each(asking) { command in
      let start = ContinuousClock.now
      var arguments = arguments(command)
      arguments.insert(contentsOf: ["--timeout", timeout], at: command.split(separator: " ").count)
      let result = try await imctl.run(arguments, input: input)
      #expect(start.duration(to: .now) < limit, "\(command)")
      #expect(result.status == 75, "\(command): \(result.status) \(result.errors)")
      #expect(result.output.isEmpty, "\(command): \(result.output)")
    }
  }

  /// Every command ends when it is told to, long before its time is up.
  private static func expectInterrupts(
    _ imctl: IMCTL, isWaiting: @escaping @Sendable (ChildProcess) async throws -> Void
  ) async throws {
    try await each(asking) { command in
      var arguments = arguments(command)
      arguments.insert(contentsOf: ["--timeout", "600"], at: command.split(separator: " ").count)
      let child = try await imctl.start(arguments)
      child.write(input)
      child.closeInput()
      try await isWaiting(child)
      child.send(SIGINT)
      let end = try await child.ended(within: .seconds(60))
      #expect(end == .exited(130) || end == .signaled(SIGINT), "\(command): \(String(describing: end))")
    }
  }

  private struct Dump: Decodable {
    struct Command: Decodable {
      var commandName: String
      var subcommands: [Command]?
    }
    var command: Command
  }

  @Test("Every command of imctl is listed in the table of this suite.")
  func table() async throws {
    try await withIMCTL { imctl in
      let dump = try await imctl.run("--experimental-dump-help").output
      var found: Set<String> = []
      func visit(_ command: Dump.Command, _ path: [String]) {
        let subcommands = (command.subcommands ?? []).filter { $0.commandName != "help" }
        if subcommands.isEmpty { found.insert(path.joined(separator: " ")) }
        for subcommand in subcommands { visit(subcommand, path + [subcommand.commandName]) }
      }
      visit(try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command, [])
      #expect(found == Set(Self.commands.keys))
    }
  }

  @Test(
    "A command ends within its time limit, and at SIGINT, if the agent accepts the connection and says nothing."
  )
  func silent() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { _ in [.waitForClose] }
      try await Self.expectEnds(imctl)
      try await Self.expectInterrupts(imctl) { child in
        try await eventually("the connection of \(child.id)") { hasSocket(child.id) }
      }
      agent.end()
    }
  }

  @Test(
    "A command ends within its time limit, and at SIGINT, if the agent's queue of connections is full."
  )
  func full() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let socket = try FullSocket(imctl)
      try await Self.expectEnds(imctl)
      try await Self.expectInterrupts(imctl) { child in
        try await eventually("the socket of \(child.id)") { hasSocket(child.id) }
      }
      socket.close()
    }
  }

  @Test("A command ends within its time limit if the agent's process is stopped.")
  func stopped() async throws {
    try await withIMCTL { imctl in
      let started = try await imctl.run("agent", "start", "--json")
      struct State: Decodable { var pid: Int32 }
      let pid = try #require(try started.objects(State.self).first).pid
      kill(pid, SIGSTOP)
      try Accounts.write(Accounts.two, in: imctl)
      try await Self.expectEnds(imctl)
      kill(pid, SIGKILL)
    }
  }

  @Test(
    "A send command that gets no answer says that the agent may have the message, and names the id to repeat."
  )
  func givenUp() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { $0.method == AgentStatusMethod.name ? [] : [.waitForClose] }
      let one = try await imctl.run("send", "b@c", "hi", "--timeout", Self.timeout)
      let id = try #require(try agent.parameters(of: MessageSendMethod.self)?.messages.first?.id)
      #expect(one.status == 75 && one.errors.contains("--id \(id)"), "\(one.errors)")
      #expect(one.errors.contains("imctl agent log"))
      let two = try await imctl.run("send", "b@c", "--to", "d@c", "--timeout", Self.timeout, input: "hi")
      #expect(two.status == 75 && two.errors.contains("messages that it may have"), "\(two.errors)")
      agent.end()
    }
  }

  @Test(
    "A command ends soon after its time limit if the agent tells its version and then falls silent."
  )
  func mute() async throws {
    try await withIMCTL { imctl in
      try Accounts.write(Accounts.two, in: imctl)
      let agent = try FakeAgent(imctl) { $0.method == AgentStatusMethod.name ? [] : [.waitForClose] }
      try await Self.each(Self.asking.filter { !["agent start", "agent status"].contains($0) }) { command in
        let start = ContinuousClock.now
        var arguments = Self.arguments(command)
        arguments.insert(contentsOf: ["--timeout", Self.timeout], at: command.split(separator: " ").count)
        let result = try await imctl.run(arguments, input: Self.input)
        #expect(start.duration(to: .now) < Self.limit, "\(command)")
        #expect(result.status == 75, "\(command): \(result.status) \(result.errors)")
      }
      agent.end()
    }
  }
}

/// The process has a socket open: it is connecting, or has done so.
private func hasSocket(_ process: Int32) -> Bool {
  let directory = "/proc/\(process)/fd"
  let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  return descriptors.contains { descriptor in
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: directory + "/" + descriptor)
    return target?.hasPrefix("socket:") == true
  }
}

/// A socket at the agent's place whose queue is full, and that nobody takes from.
private final class FullSocket: Sendable {
  private let descriptors: [Int32]

  init(_ imctl: IMCTL) throws {
    let directory = imctl.home + "/.local/state/imctl"
    try PrivateDirectory.ensure(directory)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (directory + "/agent.sock").utf8) }
    func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let listener = socket(AF_UNIX, type, 0)
    guard with({ bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
      throw TestSupportError("\(directory): \(String(cString: strerror(errno)))")
    }
    var all = [listener]
    repeat { all.append(socket(AF_UNIX, type, 0)) } while with({ connect(all[all.count - 1], $0, $1) }) == 0
    descriptors = all
  }

  func close() { for descriptor in descriptors { _ = Glibc.close(descriptor) } }
}
