import AgentProtocol
import Glibc
import Terminal

/// The COMMAND of `presence … -- COMMAND`: runs in the foreground like a command of a shell.
///
/// It has this process's standard streams and process group, so that the terminal's signals reach it directly.
/// Meanwhile, this process ignores SIGINT and SIGQUIT (as `make` and `env` do), and forwards SIGTERM and SIGHUP.
struct HeldCommand {
  let words: [String]
  /// Whether a failure to run the command is printed as JSON.
  let json: Bool

  /// Runs the command and returns the exit status: that of the command, 128+N if signal N ended it, 127 if it was not
  /// found, 126 if it could not be executed.
  func run() -> Int32 {
    signal(SIGCHLD, SIG_DFL)
    var waited = sigset_t()
    var before = sigset_t()
    sigemptyset(&waited)
    for number in [SIGCHLD, SIGTERM, SIGHUP] { sigaddset(&waited, number) }
    sigprocmask(SIG_BLOCK, &waited, &before)
    defer { sigprocmask(SIG_SETMASK, &before, nil) }

    // Ignore these signals before COMMAND starts, since the terminal may send them from then on. COMMAND gets the
    // original dispositions.
    let ours = [SIGINT, SIGQUIT].filter { !Self.ignore($0) }
    var child: pid_t = 0
    let error = spawn(&child, mask: before, defaults: ours)
    if error != 0 {
      let status: Int32 = error == ENOENT || error == ENOTDIR ? 127 : 126
      let why = FailureDetail.about(words[0], systemError(error))
      let object = json ? try? JSONLine.encode(["error": NotRun(why: .invalid(why), exit: status)]) : nil
      if let object { Console.err(object) } else { Console.remark("\(peer: why.text(.current))") }
      return status
    }
    while true {
      var number: Int32 = 0
      sigwait(&waited, &number)
      if number != SIGCHLD {
        kill(child, number)
        continue
      }
      var status: Int32 = 0
      let ended = waitpid(child, &status, WNOHANG)
      if ended == child { return Self.exitStatus(status) }
      if ended < 0 && errno != EINTR { return 126 }
    }
  }

  private func spawn(_ child: inout pid_t, mask: sigset_t, defaults: [Int32]) -> Int32 {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var mask = mask
    posix_spawnattr_setsigmask(&attributes, &mask)
    var defaultSignals = sigset_t()
    sigemptyset(&defaultSignals)
    for number in defaults { sigaddset(&defaultSignals, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaultSignals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    return ArgumentVector.with(words) { posix_spawnp(&child, words[0], nil, &attributes, $0, environ) }
  }

  /// Ignores a signal. Returns whether it was ignored before.
  private static func ignore(_ number: Int32) -> Bool {
    unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private static func exitStatus(_ status: Int32) -> Int32 {
    let signal = status & 0x7f
    return signal == 0 ? (status >> 8) & 0xff : 128 + signal
  }
}

/// The error object for a command that could not be run, with the exit status that shells use.
private struct NotRun: Encodable {
  let why: Failure
  let exit: Int32

  private enum Key: CodingKey { case exit }

  func encode(to encoder: any Encoder) throws {
    try why.encode(to: encoder)
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(exit, forKey: .exit)
  }
}
