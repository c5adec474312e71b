import AgentProtocol
import Glibc

/// The systemd manager of this user's services, as `systemctl --user` reaches it.
enum UserManager {
  /// The path of the unit in this user's unit directory.
  static func unitPath() throws -> String {
    let configuration = try AgentPaths.current().configuration
    let base = configuration[..<(configuration.lastIndex(of: "/") ?? configuration.endIndex)]
    return "\(base)/systemd/user/\(ServiceUnit.name)"
  }

  /// Whether the agent's unit is installed.
  static var isInstalled: Bool { (try? unitPath()).map { access($0, F_OK) == 0 } ?? false }

  /// Whether a manager runs for this user.
  static var isRunning: Bool {
    useRuntimeDirectory()
    guard let directory = getenv("XDG_RUNTIME_DIR") else { return false }
    var status = stat()
    return lstat(String(cString: directory) + "/systemd/private", &status) == 0
      && status.st_mode & S_IFMT == S_IFSOCK
  }

  /// Runs `systemctl --user` with these arguments.
  ///
  /// - Throws: `agentUnreachable` with its output if it is missing or fails; `connectTimeout` at the deadline.
  static func systemctl(_ words: String..., until deadline: Deadline) throws {
    useRuntimeDirectory()
    let all = ["systemctl", "--user"] + words
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Failure.agentUnreachable(.text(systemError())) }
    defer { close(ends[0]) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
    var child: pid_t = 0
    let error = ArgumentVector.with(all) { posix_spawnp(&child, all[0], &actions, nil, $0, environ) }
    close(ends[1])
    guard error == 0 else { throw Failure.agentUnreachable(.about("systemctl", systemError(error))) }
    let said: String
    do {
      said = try read(ends[0], until: deadline, waitingFor: all.joined(separator: " "))
    } catch {
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
      throw error
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    guard status == 0 else {
      let line = said.split(whereSeparator: \.isNewline).first.map { ": \($0)" } ?? ""
      throw Failure.agentUnreachable(.text(all.joined(separator: " ") + line))
    }
  }

  /// Reads until the end of file, and returns the beginning.
  private static func read(
    _ descriptor: Int32, until deadline: Deadline, waitingFor what: String
  ) throws -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: Interrupt.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waits, nfds_t(waits.count), deadline.pollTimeout)
      if ready == 0 { throw Failure.timedOut(.text(what)) }
      if ready > 0, waits[1].revents != 0 { throw Failure.cancelled() }
      if ready < 0 { continue }
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      if bytes.count < chunk.count { bytes += chunk[..<count] }
    }
  }

  /// Sets the runtime directory to systemd's default if it is not set, as in cron jobs.
  private static func useRuntimeDirectory() { setenv("XDG_RUNTIME_DIR", "/run/user/\(geteuid())", 0) }
}
