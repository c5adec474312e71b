import Glibc

/// The consequences of a crash.
public enum CrashHandling {
  /// Makes a crash end the process without running a program: in a static executable that was found through PATH, the
  /// Swift runtime would look for `swift-backtrace` in the current directory and run it.
  public static func runNothing() {
    #if !DEBUG
      let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
      for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
        if unsafeBitCast(signal(number, SIG_DFL), to: Int.self) == ignored { signal(number, SIG_IGN) }
      }
    #endif
  }
}

extension Failure {
  /// The failure for a command and an agent of different versions, which would not understand each other.
  public static func versions(command: String, agent: String) -> Failure {
    Failure(.internalError, stage: .request, detail: .agent(.versions, command, agent))
  }
}
