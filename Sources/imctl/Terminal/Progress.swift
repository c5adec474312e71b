import Glibc

/// A text such as "logging in…" on standard error while the command waits. It is shown only on a terminal, and removed
/// at the end.
struct Progress: ~Copyable {
  private let shown: Bool

  init(_ text: String, wanted: Bool) {
    shown = wanted && Console.isTerminal(STDERR_FILENO) && getenv("NO_COLOR") == nil
    if shown { Console.errPart(text) }
  }

  /// Removes the text, as does the end of the scope.
  consuming func end() {}

  deinit {
    if shown { Console.errPart("\r\u{1b}[K") }
  }
}
