import FoundationEssentials

/// The built `imctl`, run as a user runs it, with a home of its own.
///
/// Whatever it starts in the background is ended, and its home deleted, by `end()` or with this process.
public final class IMCTL: Sendable {
  /// What a command has given.
  public struct Result: Sendable {
    public var status: Int32
    public var output: String
    public var errors: String

    /// The lines of standard output.
    public var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Standard output as JSON objects, one a line.
    public func objects<T: Decodable>(_ type: T.Type) throws -> [T] {
      try lines.map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
    }
  }

  /// Path of the executable: `IMCTL_EXECUTABLE`, or the one built beside the tests.
  public static let executable: String = {
    if let path = ProcessInfo.processInfo.environment["IMCTL_EXECUTABLE"] { return path }
    let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let beside = bundle.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/imctl"
    if FileManager.default.isExecutableFile(atPath: beside) { return beside }
    return Script.path("../../.build/debug/imctl")
  }()

  /// The home directory: `HOME`, and `.config` and `.local/state` below it.
  public let home: String
  private let script: Script
  private let environment: [String: String?]
  /// What starts the commands, with theirs behind it.
  private let starter: [String]

  /// Makes a home; `environment` is added to every command's, `nil` takes a variable away.
  public init(environment: [String: String?] = [:]) async throws {
    struct Ready: Decodable { var home: String }
    script = try await Script("home.py", options: [String: String]())
    home = try await script.first(Ready.self).home
    let own: [String: String?] = [
      "HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_STATE_HOME": home + "/.local/state",
      "XDG_RUNTIME_DIR": nil, "LANG": "C.UTF-8", "TZ": "UTC", "LC_ALL": nil, "NO_COLOR": nil,
      "TERM": "xterm", "SWIFT_BACKTRACE": "enable=no",
    ]
    self.environment = own.merging(environment) { $1 }
    starter = []
  }

  private init(_ other: IMCTL, starter: [String]) {
    home = other.home
    script = other.script
    environment = other.environment
    self.starter = starter
  }

  /// The same home, and every command started by `starter`, an absolute path and arguments.
  public func started(by starter: [String]) -> IMCTL { IMCTL(self, starter: starter) }

  /// Runs a command to its end.
  ///
  /// - Throws: `TestSupportError` when it has not ended, or something holds its output, after `limit`.
  public func run(
    _ arguments: String..., input: String = "", environment: [String: String?] = [:],
    within limit: Duration = .seconds(60)
  ) async throws -> Result {
    try await run(arguments, input: input, environment: environment, within: limit)
  }

  /// Runs a command to its end.
  public func run(
    _ arguments: [String], input: String = "", environment: [String: String?] = [:],
    within limit: Duration = .seconds(60)
  ) async throws -> Result {
    try await run(program: Self.executable, arguments, input: input, environment: environment, within: limit)
  }

  /// Runs another program as if it were ours.
  public func run(
    program: String, _ arguments: [String], input: String = "", environment: [String: String?] = [:],
    within limit: Duration = .seconds(60)
  ) async throws -> Result {
    let child = try await start(program: program, arguments, environment: environment)
    child.write(input)
    child.closeInput()
    let what = "imctl " + arguments.joined(separator: " ")
    guard let ending = try await child.ended(within: limit) else {
      throw TestSupportError(
        "“\(what)” did not end within \(limit)\n\(child.output.text)\n\(child.errors.text)")
    }
    let status: Int32
    switch ending {
    case .exited(let code): status = code
    case .signaled(let signal): status = 128 + signal
    }
    return Result(status: status, output: child.output.text, errors: child.errors.text)
  }

  /// Starts a command and lets it run; on a terminal of its own, `output` is what the terminal shows.
  public func start(
    _ arguments: [String], terminal: Bool = false, environment: [String: String?] = [:]
  ) async throws -> ChildProcess {
    terminal
      ? try await start(onTerminal: [Self.executable] + arguments, environment: environment)
      : try await start(program: Self.executable, arguments, environment: environment)
  }

  /// Starts any program on a terminal of its own; `output` is what the terminal shows.
  public func start(
    onTerminal words: [String], environment: [String: String?] = [:]
  ) async throws -> ChildProcess {
    let all = self.environment.merging(environment) { $1 }
    return try await ChildProcess(
      "/usr/bin/python3", ["-u", Script.path("terminal.py")] + words, environment: all)
  }

  private func start(
    program: String, _ arguments: [String], environment: [String: String?]
  ) async throws -> ChildProcess {
    let all = self.environment.merging(environment) { $1 }
    let words = starter + [program] + arguments
    return try await ChildProcess(words[0], Array(words.dropFirst()), environment: all)
  }

  /// Starts `watch --json`; returns when it gets what happens from now on.
  public func watch(_ options: String...) async throws -> ChildProcess {
    let watch = try await start(["watch", "--json", "-v"] + options)
    try await watch.errors.contains("watching")
    return watch
  }

  /// Runs a script of the shell on a terminal of its own; `$imctl` is the executable.
  public func startShell(_ script: String) async throws -> ChildProcess {
    try await ChildProcess(
      "/usr/bin/python3", ["-u", Script.path("terminal.py"), "/bin/bash", "-c", script],
      environment: environment.merging(["imctl": Self.executable]) { $1 })
  }

  /// Ends every process that runs with this home (SIGTERM, then SIGKILL) and deletes the home.
  public func end() async throws { try await script.process.stop() }

  /// The ids of the processes that run with this home: after a login, the agent.
  public func processes() async throws -> [Int32] {
    struct Order: Encodable { var number: Int }
    struct Answer: Decodable {
      var number: Int
      var processes: [Int32]
    }
    let number = Int.random(in: 1...Int(Int32.max))
    try script.send(Order(number: number))
    let script = script
    return try await script.process.output.first("a list of processes") { _ in
      script.all(Answer.self).first { $0.number == number }?.processes
    }
  }
}
