import AgentProtocol
import Glibc

/// `login --foreground`: the session is a process of its own, which is also the agent of other commands. This one prints
/// what it tells, and hands signals on to it.
enum ForegroundSession {
  /// Written once, before the handlers exist.
  nonisolated(unsafe) private static var process: pid_t = 0

  /// Returns when the session has ended because of a signal; throws what else has ended it.
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

  /// Ctrl-Z: the session is told, which stops when it has done what it has still to do; this process stops at once. They
  /// go on together.
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
