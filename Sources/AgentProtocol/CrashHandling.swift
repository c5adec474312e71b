import Glibc

/// What a crash does.
public enum CrashHandling {
  /// A crash ends the process and runs nothing: in a static executable that was found through PATH, the Swift
  /// runtime takes the current directory for its own and would run a `swift-backtrace` that lies there.
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
  /// Command and agent are of different versions, and would not understand each other.
  public static func versions(command: String, agent: String) -> Failure {
    Failure(.internalError, stage: .request, detail: .agent(.versions, command, agent))
  }
}
