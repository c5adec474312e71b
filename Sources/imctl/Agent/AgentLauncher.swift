import AgentProtocol
import FoundationEssentials
import Glibc

/// Starts the agent: the installed service, or else `imctl-agent serve` in a session of its own.
///
/// Several commands may do so at once. The agent's lock decides which one serves; the others end with
/// `alreadyRunning`, and every command connects to the one that won.
enum AgentLauncher {
  /// Returns once an agent listens on the socket.
  ///
  /// - Parameter isOwn: Whether to bypass the service, whose executable may be another one.
  /// - Throws: The failure that the agent has reported.
  static func launch(until deadline: Deadline, isOwn: Bool = false) throws {
    let paths = try AgentPaths.current()
    // If the service cannot be started, the agent is started without it.
    if !isOwn, UserManager.isInstalled, UserManager.isRunning,
      (try? UserManager.systemctl("start", ServiceUnit.name, until: deadline)) != nil,
      try AgentSocket.connect(to: paths.socket, until: deadline) != nil
    {
      return
    }
    let reports = try Report()
    var child: pid_t? = try spawn(paths, reports)
    let end = deadline
    var deadline = end.atMost(.ofRequest)
    var pause: Int32 = 1
    while try AgentSocket.connect(to: paths.socket, until: deadline) == nil {
      if let started = child, hasEnded(started) {
        let failure = reports.failure ?? .agentEndedAtOnce
        // If the agent ended because another one runs, the other one is used. Any other failure is thrown.
        guard failure.name == .alreadyRunning else { throw failure }
        child = nil
      }
      if let percent = UpgradeNote.percent(paths) {
        // The upgrade continues even if the command stops waiting.
        if end.isOver { throw Failure.timedOut(UpgradeNote.unfinished(percent)) }
        UpgradeNote.tell(percent)
        deadline = end.atMost(.ofRequest)
      }
      if deadline.isOver {
        if let started = child { stop(started) }
        throw Failure.timedOut(.usage(.agentStart))
      }
      try Interrupt.pause(milliseconds: pause)
      pause = min(pause * 2, 20)
    }
  }

  private static func spawn(_ paths: AgentPaths, _ reports: borrowing Report) throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) | Int16(AgentExecutable.session))

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, reports.writeEnd, STDOUT_FILENO)
    try PrivateDirectory.ensure(paths.state)
    posix_spawn_file_actions_addopen(
      &actions, STDERR_FILENO, paths.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
    // A lock or a pipe that this process inherited must not stay open for as long as the agent runs.
    for descriptor in openDescriptors() where descriptor > STDERR_FILENO {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }

    var child: pid_t = 0
    let path = try AgentExecutable.path()
    let result = ArgumentVector.with(AgentExecutable.serve + ["--launched"]) {
      posix_spawn(&child, path, &actions, &attributes, $0, environ)
    }
    guard result == 0 else {
      if result == EAGAIN || result == ENOMEM { throw Failure.agentUnreachable(.text(systemError(result))) }
      throw Failure(.databaseError, stage: .store, detail: .about(paths.log, systemError(result)))
    }
    return child
  }

  /// Ends an agent that does not begin to listen.
  private static func stop(_ child: pid_t) {
    kill(child, SIGTERM)
    for _ in 0..<50 {
      if hasEnded(child) { return }
      usleep(10_000)
    }
    kill(child, SIGKILL)
    waitpid(child, nil, 0)
  }

  private static func hasEnded(_ child: pid_t) -> Bool {
    var status: Int32 = 0
    return waitpid(child, &status, WNOHANG) == child
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

  /// The pipe from an agent's standard output to the command that started it.
  private struct Report: ~Copyable {
    let writeEnd: Int32
    private let readEnd: Int32

    init() throws {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw Failure.agentUnreachable(.text(systemError())) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
      (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
      close(readEnd)
      close(writeEnd)
    }

    /// The agent's report, which is complete once the agent has ended. It fits into the pipe's buffer.
    var failure: Failure? {
      let line = [UInt8](unsafeUninitializedCapacity: 65_536) { room, count in
        count = max(0, read(readEnd, room.baseAddress, room.count))
      }
      return try? JSONDecoder().decode(Failure.self, from: Data(line))
    }
  }
}
