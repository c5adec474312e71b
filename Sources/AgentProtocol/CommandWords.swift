/// Splits a command line of the user into words.
package enum CommandWords {
  /// Splits a line as a shell would (POSIX shell §2.2): blanks, `'…'`, `"…"`, backslash. Nothing is expanded: `$`, `~`,
  /// `*` and `;` stand for themselves.
  ///
  /// Throws `credentialSourceFailed` at the stage `input` for an open quote or a line without words.
  package static func split(_ line: String) throws(Failure) -> [String] {
    enum Quote { case none, single, double }
    var words: [String] = []
    var word: String.UnicodeScalarView?
    var quote = Quote.none
    var scalars = line.unicodeScalars.makeIterator()
    func incomplete() -> Failure {
      Failure(.credentialSourceFailed, stage: .input, detail: .login(.openQuote))
    }
    while let scalar = scalars.next() {
      switch (quote, scalar) {
      case (.single, "'"), (.double, "\""): quote = .none
      case (.none, "'"):
        quote = .single
        word = word ?? .init()
      case (.none, "\""):
        quote = .double
        word = word ?? .init()
      case (.none, " "), (.none, "\t"), (.none, "\n"):
        if let finished = word { words.append(String(finished)) }
        word = nil
      case (.none, "\\"):
        guard let next = scalars.next() else { throw incomplete() }
        // A backslash before a newline continues the line.
        if next != "\n" { word = (word ?? .init()) + [next] }
      case (.double, "\\"):
        guard let next = scalars.next() else { throw incomplete() }
        if !"$`\"\\\n".unicodeScalars.contains(next) { word?.append("\\") }
        if next != "\n" { word?.append(next) }
      default:
        word = (word ?? .init()) + [scalar]
      }
    }
    guard quote == .none else { throw incomplete() }
    if let finished = word { words.append(String(finished)) }
    guard !words.isEmpty else {
      throw Failure(.credentialSourceFailed, stage: .input, detail: .login(.emptyCommand))
    }
    return words
  }
}
