import AgentProtocol
import Glibc

/// Starts the agent: this very executable with `agent run`, in a session of its own.
///
/// Several commands may do so at once. The agent's lock decides which one serves; the others end with
/// `alreadyRunning`, and every command connects to the one that won.
enum AgentLauncher {
  /// Returns when somebody listens on the socket.
  static func launch() throws {
    let paths = try AgentPaths.current()
    var child: pid_t? = try spawn(paths)
    let deadline = Deadline(Timeout(seconds: 5))
    var pause: useconds_t = 1_000
    while try AgentSocket.connect(to: paths.socket) == nil {
      if let started = child, let status = try exitStatus(of: started) {
        // Another one may have won; anything else went wrong.
        guard status == Failure(.alreadyRunning, stage: .store).exit else { throw failure(paths.log) }
        child = nil
      }
      if deadline.isOver { throw failure(paths.log) }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
  }

  private static func spawn(_ paths: AgentPaths) throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    let setSession: Int32 = 0x80  // POSIX_SPAWN_SETSID of <spawn.h>, hidden behind _GNU_SOURCE
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) | Int16(setSession))

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    try PrivateDirectory.ensure(paths.state)
    posix_spawn_file_actions_addopen(
      &actions, STDERR_FILENO, paths.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
    // A lock or a pipe that was left open here must not stay open as long as the agent lives.
    for descriptor in openDescriptors() where descriptor > STDERR_FILENO {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }

    var child: pid_t = 0
    let result = ArgumentVector.with(["imctl", "agent", "run"]) {
      posix_spawn(&child, "/proc/self/exe", &actions, &attributes, $0, environ)
    }
    guard result == 0 else { throw Failure.agentUnreachable("\(paths.log): \(systemError(result))") }
    return child
  }

  private static func exitStatus(of child: pid_t) throws -> Int32? {
    var status: Int32 = 0
    return waitpid(child, &status, WNOHANG) == child ? status >> 8 & 0xff : nil
  }

  private static func openDescriptors() -> [Int32] {
    guard let directory = opendir("/proc/self/fd") else { return [] }
    defer { closedir(directory) }
    let own = dirfd(directory)
    var descriptors: [Int32] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let descriptor = Int32(name), descriptor != own { descriptors.append(descriptor) }
    }
    return descriptors
  }

  private static func failure(_ log: String) -> Failure {
    // An error is a line, and its hint an indented one.
    let last = LogTail.lines(of: log).last { !$0.hasPrefix(" ") }
    return .agentUnreachable(last ?? inLanguage("it does not start", "它没有启动"))
  }
}
