import AgentProtocol
import Glibc

/// systemd's manager of this user's services, as far as `systemctl --user` reaches it.
enum UserManager {
  /// Path of the unit in the directory where this user's units are.
  static func unitPath() throws -> String {
    let configuration = try AgentPaths.current().configuration
    let base = configuration[..<(configuration.lastIndex(of: "/") ?? configuration.endIndex)]
    return "\(base)/systemd/user/\(ServiceUnit.name)"
  }

  /// The agent is a service: the unit is there.
  static var isInstalled: Bool { (try? unitPath()).map { access($0, F_OK) == 0 } ?? false }

  /// A manager runs for this user.
  static var isRunning: Bool {
    useRuntimeDirectory()
    guard let directory = getenv("XDG_RUNTIME_DIR") else { return false }
    var status = stat()
    return lstat(String(cString: directory) + "/systemd/private", &status) == 0
      && status.st_mode & S_IFMT == S_IFSOCK
  }

  /// `systemctl --user` with these words.
  ///
  /// - Throws: `agentUnreachable` with what it said, where it is not there or fails; `connectTimeout` at the deadline.
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

  /// What is read until the end, as far as it is worth telling.
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

  /// Where cron and its kind have not set it, it is where systemd has it.
  private static func useRuntimeDirectory() { setenv("XDG_RUNTIME_DIR", "/run/user/\(geteuid())", 0) }
}
