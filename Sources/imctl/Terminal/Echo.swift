import Glibc

/// What the terminal shows of the input, while a secret is asked for.
///
/// A signal that ends or stops the process meanwhile switches the echo on first. When the process goes on, however it was
/// stopped, the echo is switched off again and the question repeated: the terminal has been somebody else's.
enum Echo {
  private struct Question {
    /// The terminal as it was, and without echo.
    var before = termios()
    var silent = termios()
    var text: UnsafeMutablePointer<CChar>?
    /// How often the process went on.
    var continuations = 0
    /// Stops the process.
    var stop = sigaction()
  }

  /// What the handlers of signals read: at an address that does not change, and written before a handler exists.
  nonisolated(unsafe) private static let question = {
    let question = UnsafeMutablePointer<Question>.allocate(capacity: 1)
    question.initialize(to: Question())
    return question
  }()

  /// Besides SIGINT, for which ``Interrupt`` is there.
  private static let ends = [SIGTERM, SIGQUIT, SIGHUP]
  /// Those that have a handler now.
  nonisolated(unsafe) private static var handled: [Int32] = []

  /// Asks on standard error; what is answered is not shown until ``on()``.
  static func off(asking text: String) {
    // In the background this stops the process, until the terminal is as the shell hands it over.
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
    // These two would switch it off again.
    for signal in [SIGCONT, SIGTSTP] { stopHandling(signal) }
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &question.pointee.before)
    for signal in ends { stopHandling(signal) }
    free(question.pointee.text)
  }

  /// Discards no input: a handler that a stop has interrupted ends behind the one that has asked again.
  private static func silence() { tcsetattr(STDIN_FILENO, TCSANOW, &question.pointee.silent) }

  private static func ask() {
    if let text = question.pointee.text { _ = write(STDERR_FILENO, text, strlen(text)) }
  }

  /// Nothing is changed of a terminal that another process has now: that would stop this one.
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
    // A process that has been stopped does not switch the echo off on its way to its end.
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
    // In the background this stops the process: when it goes on, it has come here once more, and has asked.
    silence()
    if continuation == question.pointee.continuations { ask() }
    errno = saved
  }

  private static func stop() {
    let saved = errno
    restore()
    signal(SIGTSTP, SIG_DFL)
    // Returns after the handler of SIGCONT; at once where nobody could have the process go on.
    raise(SIGTSTP)
    sigaction(SIGTSTP, &question.pointee.stop, nil)
    silence()
    errno = saved
  }

  /// What is ignored stays so.
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
