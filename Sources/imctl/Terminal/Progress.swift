import Glibc

/// "logging in…" on standard error while something takes its time: on a terminal only, removed at the end.
struct Progress: ~Copyable {
  private let shown: Bool

  init(_ text: String, wanted: Bool) {
    shown = wanted && Console.isTerminal(STDERR_FILENO) && getenv("NO_COLOR") == nil
    if shown { Console.errPart(text) }
  }

  /// Removes it; so does going out of scope.
  consuming func end() {}

  deinit {
    if shown { Console.errPart("\r\u{1b}[K") }
  }
}
