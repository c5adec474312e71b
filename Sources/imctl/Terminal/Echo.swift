import Glibc

/// Switches the terminal's echo off while the user types a secret.
///
/// A signal that ends or stops the process first switches the echo on. When the process continues, the echo is switched
/// off again and the question is repeated, since the terminal may have been used by another process.
enum Echo {
  private struct Question {
    /// The terminal attributes with and without echo.
    var before = termios()
    var silent = termios()
    var text: UnsafeMutablePointer<CChar>?
    /// The number of times that the process has continued.
    var continuations = 0
    /// The action for SIGTSTP.
    var stop = sigaction()
  }

  /// The state for the signal handlers. Its address is constant, and it is written before they are installed.
  nonisolated(unsafe) private static let question = {
    let question = UnsafeMutablePointer<Question>.allocate(capacity: 1)
    question.initialize(to: Question())
    return question
  }()

  /// The signals that end the process, except for SIGINT, which ``Interrupt`` handles.
  private static let ends = [SIGTERM, SIGQUIT, SIGHUP]
  /// The signals that have a handler now.
  nonisolated(unsafe) private static var handled: [Int32] = []

  /// Asks on standard error, and hides the input until ``on()``.
  static func off(asking text: String) {
    // In the background, this call stops the process until the shell has restored the terminal attributes.
    tcflush(STDIN_FILENO, TCIFLUSH)
    tcgetattr(STDIN_FILENO, &question.pointee.before)
    question.pointee.silent = question.pointee.before
    question.pointee.silent.c_lflag &= ~tcflag_t(ECHO)
    question.pointee.text = strdup(text)
    handle()
    silence()
    ask()
  }

  static func on() {
    // The handlers of these signals would switch the echo off again.
    for signal in [SIGCONT, SIGTSTP] { stopHandling(signal) }
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &question.pointee.before)
    for signal in ends { stopHandling(signal) }
    free(question.pointee.text)
  }

  /// Discards no input, because an interrupted handler may call this after a later one has repeated the question.
  private static func silence() { tcsetattr(STDIN_FILENO, TCSANOW, &question.pointee.silent) }

  private static func ask() {
    if let text = question.pointee.text { _ = write(STDERR_FILENO, text, strlen(text)) }
  }

  /// Does nothing if another process has the terminal, since a change would stop this process.
  private static func restore() {
    guard tcgetpgrp(STDIN_FILENO) == getpgrp() else { return }
    tcsetattr(STDIN_FILENO, TCSANOW, &question.pointee.before)
  }

  private static func handle() {
    var end = sigaction()
    end.__sigaction_handler.sa_handler = { signal in
      Echo.restore()
      raise(signal)
    }
    end.sa_flags = SA_NODEFER | Int32(bitPattern: UInt32(SA_RESETHAND))
    // Blocks the handlers that switch the echo off while the process ends.
    for signal in [SIGCONT, SIGTSTP] { sigaddset(&end.sa_mask, signal) }
    for signal in ends { handle(signal, &end) }

    var goOn = sigaction()
    goOn.__sigaction_handler.sa_handler = { _ in Echo.goOn() }
    goOn.sa_flags = SA_RESTART | SA_NODEFER
    handle(SIGCONT, &goOn)

    question.pointee.stop.__sigaction_handler.sa_handler = { _ in Echo.stop() }
    question.pointee.stop.sa_flags = SA_RESTART | SA_NODEFER
    handle(SIGTSTP, &question.pointee.stop)
  }

  private static func goOn() {
    let saved = errno
    question.pointee.continuations &+= 1
    let continuation = question.pointee.continuations
    // In the background, this call stops the process. When it continues, this handler runs again and repeats the
    // question.
    silence()
    if continuation == question.pointee.continuations { ask() }
    errno = saved
  }

  private static func stop() {
    let saved = errno
    restore()
    signal(SIGTSTP, SIG_DFL)
    // Returns after the handler of SIGCONT; at once in an orphaned process group, which cannot be stopped.
    raise(SIGTSTP)
    sigaction(SIGTSTP, &question.pointee.stop, nil)
    silence()
    errno = saved
  }

  /// Installs a handler unless the signal is ignored.
  private static func handle(_ signal: Int32, _ action: UnsafePointer<sigaction>) {
    var inherited = sigaction()
    sigaction(signal, nil, &inherited)
    guard inherited.__sigaction_handler.sa_handler == nil else { return }
    sigaction(signal, action, nil)
    handled.append(signal)
  }

  private static func stopHandling(_ signal: Int32) {
    guard let place = handled.firstIndex(of: signal) else { return }
    handled.remove(at: place)
    Glibc.signal(signal, SIG_DFL)
  }
}
