import AgentProtocol
import Glibc

/// The program `imctl-agent` of this installation: in the directory of this program, or in `../libexec/imctl`.
enum AgentExecutable {
  /// The arguments that start the user's agent.
  static var serve: [String] { ["imctl-agent", "serve", "--client", Version.current] }

  /// POSIX_SPAWN_SETSID of <spawn.h>, hidden behind _GNU_SOURCE.
  static let session: Int32 = 0x80
  static let group: Int32 = Int32(POSIX_SPAWN_SETPGROUP)

  /// The path of the program.
  static func path() throws -> String {
    let own = try directory()
    let paths = [own + "/imctl-agent", own + "/../libexec/imctl/imctl-agent"]
    if let path = paths.first(where: { access($0, X_OK) == 0 }) { return path }
    throw Failure.agentUnreachable(
      .agent(.noProgram, own))
  }

  /// Replaces this process's program with the agent.
  static func become(_ words: [String]) throws -> Never {
    OneTimeAgent.end()
    let path = try path()
    _ = ArgumentVector.with(words) { execv(path, $0) }
    throw Failure.agentUnreachable(.about(path, systemError()))
  }

  /// Starts the program with one end of a socket pair as its descriptor 3, and returns the other end.
  ///
  /// - Parameters:
  ///   - word: The subcommand, which the descriptor's number follows.
  ///   - flags: The spawn attributes: a new session (``session``) or process group (``group``), so that signals from
  ///     the terminal reach only this process.
  static func start(_ word: String, flags: Int32) throws -> (descriptor: Int32, process: pid_t) {
    let path = try path()
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw Failure.agentUnreachable(.text(systemError()))
    }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    defer { close(ends[1]) }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // A reader of this command's output must not have to wait for the agent's end.
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 3)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | flags))

    var process: pid_t = 0
    let error = ArgumentVector.with(["imctl-agent", word, "3"]) {
      posix_spawn(&process, path, &actions, &attributes, $0, environ)
    }
    guard error == 0 else {
      close(ends[0])
      throw Failure.agentUnreachable(.about(path, systemError(error)))
    }
    return (ends[0], process)
  }

  private static func directory() throws -> String {
    guard let resolved = realpath("/proc/self/exe", nil) else {
      throw Failure.agentUnreachable(.about("/proc/self/exe", systemError()))
    }
    defer { free(resolved) }
    let path = String(cString: resolved)
    return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
  }
}
