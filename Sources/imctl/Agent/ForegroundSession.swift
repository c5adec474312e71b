import AgentProtocol
import Glibc

/// Runs the session of `login --foreground` as a process of its own, which is also the agent of other commands. This
/// process prints its events and forwards signals to it.
enum ForegroundSession {
  /// The session's process. Written once, before the signal handlers are installed.
  nonisolated(unsafe) private static var process: pid_t = 0

  /// Returns when a signal has ended the session; throws if it ended for any other reason.
  static func run(_ parameters: LoginMethod.Parameters, onEvent: (Event) -> Void) throws {
    let started = try AgentExecutable.start("session", flags: AgentExecutable.group)
    process = started.process
    for number in [SIGINT, SIGTERM, SIGHUP] {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { kill(ForegroundSession.process, $0) }
      sigaction(number, &action, nil)
    }
    if !isIgnored(SIGTSTP) { obeyStop() }
    let agent = AgentClient(AgentSocket(started.descriptor), of: started.process, until: .never)
    let answer = Result { try agent.answer(to: agent.send(LoginMethod.self, parameters), onEvent: onEvent) }
    while waitpid(started.process, nil, 0) < 0 && errno == EINTR {}
    _ = try answer.get()
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var inherited = sigaction()
    sigaction(number, nil, &inherited)
    return unsafeBitCast(inherited.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Handles Ctrl-Z: forwards it to the session, which stops after finishing its urgent work, and stops this process at
  /// once. SIGCONT continues both.
  private static func obeyStop() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in
      kill(ForegroundSession.process, number)
      signal(number, SIG_DFL)
      var stop = sigset_t()
      sigemptyset(&stop)
      sigaddset(&stop, number)
      pthread_sigmask(SIG_UNBLOCK, &stop, nil)
      raise(number)
      kill(ForegroundSession.process, SIGCONT)
      ForegroundSession.obeyStop()
    }
    action.sa_flags = SA_RESTART
    sigaction(SIGTSTP, &action, nil)
  }
}
