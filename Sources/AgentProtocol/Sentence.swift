/// A text for the user in both languages, with the placeholders `{1}`, `{2}` and so on for its arguments.
public struct Sentence: Sendable, Hashable {
  public let english: String
  public let chinese: String

  public init(_ english: String, _ chinese: String) {
    self.english = english
    self.chinese = chinese
  }

  /// The text with its placeholders.
  public func text(_ language: Language) -> String { language == .chinese ? chinese : english }

  /// The text with its arguments. A placeholder without an argument becomes empty.
  func text(_ language: Language, _ arguments: [String]) -> String {
    Self.pieces(text(language)).reduce(into: "") { text, piece in
      switch piece {
      case .text(let words): text += words
      case .place(let number): text += arguments.indices.contains(number - 1) ? arguments[number - 1] : ""
      }
    }
  }

  /// The numbers of the placeholders in one of the languages.
  func places(_ language: Language) -> Set<Int> {
    Set(
      Self.pieces(text(language)).compactMap { piece in
        if case .place(let number) = piece { number } else { nil }
      })
  }

  private enum Piece {
    case text(Substring)
    case place(Int)
  }

  private static func pieces(_ text: String) -> [Piece] {
    var pieces: [Piece] = []
    var rest = text[...]
    while let brace = rest.firstIndex(of: "{") {
      let inside = rest[rest.index(after: brace)...]
      let digits = inside.prefix { $0.isASCII && $0.isNumber }
      if let number = Int(digits), inside.dropFirst(digits.count).first == "}" {
        pieces += [.text(rest[..<brace]), .place(number)]
        rest = inside.dropFirst(digits.count + 1)
      } else {
        pieces.append(.text(rest[...brace]))
        rest = inside
      }
    }
    return pieces + [.text(rest)]
  }
}
