import AgentProtocol
import ArgumentParser
import Glibc
import Terminal

/// `imctl agent`: the background process that runs the sessions.
struct AgentCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent",
    abstract: "Manage the background agent that keeps the sessions.",
    discussion: """
      Commands start the agent when they need it. It ends when no account is logged in and no client is connected. \
      Stopping the agent does not log out the accounts: the next agent logs them in again.
      """,
    subcommands: [
      AgentRunCommand.self, AgentStartCommand.self, AgentStopCommand.self, AgentRestartCommand.self,
      AgentStatusCommand.self, AgentLogCommand.self, AgentStatesCommand.self,
      AgentIdleCommand.self, AgentActiveCommand.self, AgentInstallCommand.self, AgentUninstallCommand.self,
    ])
}

/// `imctl agent run`: runs the agent in the foreground.
struct AgentRunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run the agent in the foreground until SIGTERM or SIGINT.",
    discussion: """
      Exits with status 75 if an agent is already running. If the agent ends because the last session ended for good, \
      the exit status tells why: 77 (login refused), 80 (kicked) or 82 (blocked). The agent reads the stored accounts \
      again on SIGHUP, and whenever they change.
      """)

  @Flag(
    help: """
      For service managers: keep running when no account is logged in, and replace a running agent.
      """)
  var keep = false

  @Option(
    help: ArgumentHelp(
      """
      What `imctl agent idle` does: tell the servers (csi), or end the sessions (disconnect).
      """, valueName: "mode"))
  var onIdle = IdleMode.csi

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 0)

  func run() throws {
    if keep {
      let deadline = Deadline(Timeout(seconds: 30))
      try AgentClient.session(start: .never, until: deadline) { agent in
        try AgentStart.check()
        try agent.stop(until: deadline)
      }
    }
    var words = AgentExecutable.serve + ["--on-idle", onIdle.rawValue, "--timeout", String(timeout.seconds)]
    if keep { words.append("--keep") }
    if output.json { words.append("--json") }
    try AgentExecutable.become(words)
  }
}

/// `imctl agent start`.
struct AgentStartCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "start",
    abstract: "Start the agent if it is not running.")

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let agent = try AgentClient.session(start: .whenNoneRuns, timeout: timeout) { try $0.greet() }
    if let agent = agent ?? nil { try output.data(AgentState(agent), text: AgentState(agent).text) }
  }
}

/// `imctl agent stop`.
struct AgentStopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop",
    abstract: "Stop the agent and wait for it to end, without logging out.")

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 15)

  func run() throws {
    let deadline = Deadline(timeout)
    let stopped: Void? = try AgentClient.session(start: .never, until: deadline) {
      try $0.stop(until: deadline)
    }
    if stopped == nil { output.note(inLanguage("no agent is running", "没有正在运行的后台进程")) }
    if output.json { try output.data(AgentState(nil), text: "") }
  }
}

/// `imctl agent restart`.
struct AgentRestartCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restart",
    abstract: "Restart the agent, or start it if it is not running.",
    discussion: """
      If a new agent could not start, because the stored accounts cannot be read or the state directory is not \
      writable, the running agent is left alone.
      """)

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 20)

  func run() throws {
    let deadline = Deadline(timeout)
    try AgentStart.check()
    try AgentClient.session(start: .never, until: deadline) { try $0.stop(until: deadline) }
    let agent = try AgentClient.session(start: .whenNoneRuns, until: deadline) { try $0.greet() }
    if let agent = agent ?? nil { try output.data(AgentState(agent), text: AgentState(agent).text) }
  }
}

/// `imctl agent status`.
struct AgentStatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show whether the agent is running (exit status 0: yes, 1: no).")

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func run() throws {
    let agent = try AgentClient.session(start: .never, timeout: timeout) { try $0.greet() }
    let state = AgentState(agent ?? nil)
    try output.data(state, text: state.text)
    if !state.running { throw ExitCode(1) }
  }
}

/// `imctl agent log`.
struct AgentLogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Print the agent's log.")

  struct Answer: Encodable {
    let line: String
  }

  @Option(name: .shortAndLong, help: ArgumentHelp("Print only the last N lines.", valueName: "N"))
  var lines: Int?

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout.ofRequest

  func validate() throws {
    if let lines, lines < 0 {
      throw ValidationError(inLanguage("The number of lines is negative.", "行数为负数。"))
    }
  }

  func run() throws {
    let path = try AgentPaths.current().log
    Deadline(timeout).endProcess(waitingFor: .text(path), json: output.json)
    for line in try LogTail.lines(of: path, last: lines ?? .max) {
      try output.data(Answer(line: line), text: "\(peer: line)")
    }
  }
}

/// The output of `agent status`, and of the commands that change the state.
struct AgentState: Encodable {
  let running: Bool
  let version: String?
  let pid: Int?
  let started: String?
  let accounts: Int?
  let online: Int?
  let clients: Int?
  let service: Bool?
  let accountsError: Failure?
  let damagedStore: String?
  let warnings: [Failure]?

  init(_ agent: AgentStatusMethod.Result?) {
    running = agent != nil
    version = agent?.version
    pid = agent?.pid
    started = agent?.started
    accounts = agent?.accounts
    online = agent?.online
    clients = agent?.clients
    service = agent?.service
    accountsError = agent?.accountsError
    damagedStore = agent?.damagedStore
    warnings = agent?.warnings
  }

  var text: String {
    guard let pid, let version, let started, let accounts, let online else {
      return inLanguage("not running", "未运行")
    }
    var text =
      "running, pid \(pid), version \(peer: version), since \(LocalTime(started).description), "
      + "\(online) of \(accounts) accounts online"
    if service == true { text += inLanguage(", as a service", "，作为服务运行") }
    for warning in warnings ?? [] { text += "\n\(peer: warning.message)" }
    return text
  }
}
