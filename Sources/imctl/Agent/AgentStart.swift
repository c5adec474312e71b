import AgentProtocol
import Glibc

/// Checks whether an agent can be started, and whether the last one ended cleanly.
enum AgentStart {
  /// The octets of disk space that a new agent needs at first.
  private static let room = 1 << 18

  /// Throws if an ended agent could not be started again, because the stored accounts cannot be read or its files
  /// cannot be written.
  static func check() throws {
    _ = try OneTimeAgent.ask(AccountListMethod.self, EmptyObject(), until: Deadline(.ofRequest))
    let paths = try AgentPaths.current()
    try PrivateDirectory.ensure(paths.state)
    for path in [paths.lock, paths.log, paths.database, paths.database + "-wal"] {
      try checkWritable(path)
    }
    let path = paths.state + "/agent.check"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure(paths.state) }
    defer {
      close(file)
      unlink(path)
    }
    let bytes = [UInt8](repeating: 0, count: room)
    var written = 0
    while written < room {
      let count = bytes.withUnsafeBytes { write(file, $0.baseAddress, room - written) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw failure(paths.state) }
      written += count
    }
    guard fsync(file) == 0 else { throw failure(paths.state) }
  }

  /// Throws if the file exists but the next agent could not write it.
  private static func checkWritable(_ path: String) throws {
    let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if file >= 0 { close(file) } else if errno != ENOENT { throw failure(path) }
  }

  /// Waits until no agent holds the lock, and has thus written everything; returns at the deadline at the latest.
  static func waitForEnd(until deadline: Deadline) {
    while isRunning, !deadline.isOver {
      guard (try? Interrupt.pause(milliseconds: 5)) != nil else { return }
    }
  }

  /// Whether an agent holds the lock.
  private static var isRunning: Bool {
    guard let path = try? AgentPaths.current().lock else { return false }
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { return false }
    defer { close(file) }
    return flock(file, LOCK_SH | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)
  }

  private static func failure(_ path: String) -> Failure {
    Failure(.databaseError, stage: .store, detail: .about(path, systemError()))
  }

  /// Prints a remark if the last agent crashed while accounts were logged in, and none runs now.
  ///
  /// A clean exit removes the file with the agent's process id.
  static func remarkOnCrash() {
    guard let paths = try? AgentPaths.current(), access(paths.pid, F_OK) == 0, !isRunning,
      let accounts = try? OneTimeAgent.ask(
        AccountListMethod.self, EmptyObject(), until: Deadline(.ofRequest)),
      accounts.contains(where: \.isLogin)
    else { return }
    Imctl.note(
      inLanguage(
        "the agent ended unexpectedly, and no account is online: start it with `imctl agent start`",
        "后台进程异常结束，当前没有账号在线：请运行 `imctl agent start`"))
  }
}
