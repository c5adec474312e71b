import AgentProtocol
import ArgumentParser
import Glibc
import Terminal

/// `imctl agent install`.
struct AgentInstallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Install the agent as a systemd user service.",
    discussion: """
      Writes a user unit, enables it and starts it. The service starts with your first login to this machine and keeps \
      running; it replaces a running agent. From then on, commands that need the agent start the service.

      If systemd does not run for this user, the unit is written, and the command prints the remaining steps. The \
      service ends with your last login unless `loginctl enable-linger` has been run.
      """)

  /// The output of `agent install --json`.
  struct Answer: Encodable {
    let unit: String
    let enabled: Bool
    let started: Bool
  }

  @Flag(help: "Write and enable the unit, but do not start the service.")
  var noStart = false

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func run() throws {
    let deadline = Deadline(timeout)
    let path = try UserManager.unitPath()
    try UnitFile.write(try unit(), to: path)
    output.step(inLanguage("wrote \(peer: path)", "已写入 \(peer: path)"))
    guard UserManager.isRunning else {
      output.note(
        inLanguage(
          "systemd is not running for this user; when it is, start the service with: "
            + "systemctl --user enable --now \(ServiceUnit.name)",
          "当前用户的 systemd 没有运行；待其运行后，请用以下命令启动服务：systemctl --user enable --now \(ServiceUnit.name)"))
      return try answer(path, enabled: false, started: false)
    }
    try UserManager.systemctl("daemon-reload", until: deadline)
    try UserManager.systemctl("enable", ServiceUnit.name, until: deadline)
    // The service replaces any running agent, including an older one of its own.
    if !noStart { try UserManager.systemctl("restart", ServiceUnit.name, until: deadline) }
    try answer(path, enabled: true, started: !noStart)
  }

  private func answer(_ path: String, enabled: Bool, started: Bool) throws {
    try output.data(Answer(unit: path, enabled: enabled, started: started), text: "\(peer: path)")
  }

  /// The unit with the current environment, which determines the paths of files and of commands that print secrets.
  private func unit() throws -> String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &path, path.count)
    guard length > 0 else { throw Failure(.internalError, stage: .input, detail: .text("/proc/self/exe")) }
    let executable = String(decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let names: [String] = ["PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]
    let environment = names.compactMap { name in
      getenv(name).map { (name: name, value: String(cString: $0)) }
    }
    return ServiceUnit(executable: executable, environment: environment).text
  }
}

/// `imctl agent uninstall`.
struct AgentUninstallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall",
    abstract: "Remove the service that `imctl agent install` created, without logging out.",
    discussion:
      "Stops the service's agent. The next command that needs the agent starts one, which logs in again.")

  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func run() throws {
    let deadline = Deadline(timeout)
    let path = try UserManager.unitPath()
    guard UserManager.isInstalled else {
      return output.note(inLanguage("the agent is not a service", "后台进程不是服务"))
    }
    if UserManager.isRunning {
      try UserManager.systemctl("disable", "--now", ServiceUnit.name, until: deadline)
    }
    if unlink(path) != 0 && errno != ENOENT { throw UnitFile.failure(path) }
    // This link enabled the unit. Without a running manager, nothing else removes it.
    unlink(path.dropLast(ServiceUnit.name.count) + "default.target.wants/" + ServiceUnit.name)
    if UserManager.isRunning { try UserManager.systemctl("daemon-reload", until: deadline) }
  }
}

/// Writes a unit file as a whole. It is readable by everybody, since it contains no secret.
enum UnitFile {
  static func write(_ text: String, to path: String) throws {
    try makeDirectory(String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]))
    let temporary = path + ".new"
    unlink(temporary)
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard file >= 0 else { throw failure(temporary) }
    var text = text
    let isWritten =
      text.withUTF8 { Glibc.write(file, $0.baseAddress, $0.count) == $0.count } && fsync(file) == 0
    close(file)
    guard isWritten, rename(temporary, path) == 0 else {
      defer { unlink(temporary) }
      throw failure(path)
    }
  }

  private static func makeDirectory(_ path: String) throws {
    var status = stat()
    if stat(path, &status) == 0 { return }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try makeDirectory(String(path[..<slash]))
    }
    if mkdir(path, 0o755) != 0 && errno != EEXIST { throw failure(path) }
  }

  static func failure(_ path: String) -> Failure {
    Failure(.databaseError, stage: .store, detail: .about(path, systemError()))
  }
}
