import CICU

/// The two PRECIS profiles for JIDs (RFC 8265), based on the framework of RFC 8264.
enum PRECIS {
  /// The reason why a text is invalid. It continues a sentence that begins with the name of the part.
  struct Violation: Error, Hashable {
    let reason: String
    let sentence: JIDError.Sentence
    var arguments: [String] = []

    static let unicode = Violation(
      reason: "cannot be checked: the Unicode tables are not usable", sentence: .unchecked)
    static let bidi = Violation(
      reason: "mixes writing directions so that it can be read in more than one way",
      sentence: .mixedDirections)

    static func notAllowed(_ scalar: Unicode.Scalar) -> Violation {
      switch scalar.value {
      case 0x20: Violation(reason: "contains a space", sentence: .space)
      case 0x21...0x7E: contains("\(scalar)")
      default: contains(codePoint(scalar))
      }
    }

    private static func contains(_ character: String) -> Violation {
      Violation(
        reason: "contains the character \(character)", sentence: .character, arguments: [character])
    }

    static func outOfContext(_ scalar: Unicode.Scalar) -> Violation {
      Violation(
        reason: "contains the character \(codePoint(scalar)) where it is not allowed",
        sentence: .misplacedCharacter, arguments: [codePoint(scalar)])
    }

    private static func codePoint(_ scalar: Unicode.Scalar) -> String {
      let digits = String(scalar.value, radix: 16, uppercase: true)
      return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
  }

  /// Enforces UsernameCaseMapped (RFC 8265 §3.3).
  static func username(_ text: String) throws(Violation) -> String {
    try stable(text) { text throws(Violation) in
      guard let narrow = ICUText.widthMapped(text) else { throw .unicode }
      // Decomposed Hangul syllables consist of Jamo, which NFC composes below. Remaining Jamo are refused afterwards.
      for scalar in narrow.unicodeScalars
      where !scalar.precisClass.isIdentifier && !icu_is_old_hangul_jamo(scalar.value) {
        throw .notAllowed(scalar)
      }
      guard let result = ICUText.lowercase(narrow).flatMap(ICUText.nfc) else { throw .unicode }
      let scalars = Array(result.unicodeScalars)
      for scalar in scalars where !scalar.precisClass.isIdentifier { throw .notAllowed(scalar) }
      try checkContext(scalars)
      guard BidiRule.allows(scalars) else { throw .bidi }
      return result
    }
  }

  /// Enforces OpaqueString (RFC 8265 §4.2).
  static func opaqueString(_ text: String) throws(Violation) -> String {
    try stable(text) { text throws(Violation) in
      let spaced = text.unicodeScalars.map { icu_category($0.value) == icu_category_space ? " " : $0 }
      guard let result = ICUText.nfc(String(String.UnicodeScalarView(spaced))) else { throw .unicode }
      let scalars = Array(result.unicodeScalars)
      for scalar in scalars where scalar.precisClass == .disallowed { throw .notAllowed(scalar) }
      try checkContext(scalars)
      return result
    }
  }

  private static func checkContext(_ scalars: [Unicode.Scalar]) throws(Violation) {
    for (index, scalar) in scalars.enumerated()
    where scalar.precisClass == .contextual && !ContextualRules.allow(index, in: scalars) {
      throw .outOfContext(scalar)
    }
  }

  /// Applies the rules until the result is stable, at most four times (RFC 8264 §7).
  private static func stable(
    _ text: String, _ rules: (String) throws(Violation) -> String
  ) throws(Violation) -> String {
    guard !text.isEmpty else { throw Violation(reason: "is empty", sentence: .empty) }
    var text = text
    for _ in 0..<4 {
      let result = try rules(text)
      if result.utf8.elementsEqual(text.utf8) { return result }
      text = result
    }
    throw Violation(reason: "changes each time it is normalised", sentence: .unstable)
  }
}

extension CodePointClass {
  fileprivate var isIdentifier: Bool { self == .valid || self == .contextual }
}
