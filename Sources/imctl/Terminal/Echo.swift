import Glibc

/// What the terminal shows of the input.
///
/// A signal that ends the process while echo is off switches it on first.
enum Echo {
  /// The terminal as it was. Written before a handler exists.
  nonisolated(unsafe) private static var before = termios()
  /// Besides SIGINT, for which ``Interrupt`` is there.
  private static let signals = [SIGTERM, SIGQUIT, SIGHUP]

  static func off() {
    tcgetattr(STDIN_FILENO, &before)
    for signal in signals {
      var action = sigaction()
      sigaction(signal, nil, &action)
      // What is ignored stays so.
      guard action.__sigaction_handler.sa_handler == nil else { continue }
      action.__sigaction_handler.sa_handler = { signal in
        tcsetattr(STDIN_FILENO, TCSANOW, &Echo.before)
        raise(signal)
      }
      action.sa_flags = SA_NODEFER | Int32(bitPattern: UInt32(SA_RESETHAND))
      sigaction(signal, &action, nil)
    }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
  }

  static func on() {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
    for signal in signals {
      var action = sigaction()
      sigaction(signal, nil, &action)
      guard action.sa_flags & SA_NODEFER != 0 else { continue }
      Glibc.signal(signal, SIG_DFL)
    }
  }
}
