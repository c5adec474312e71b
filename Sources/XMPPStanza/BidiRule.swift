import CICU

/// The Bidi Rule of RFC 5893 §2, which keeps text with right-to-left letters readable in one way only.
enum BidiRule {
  /// Whether the rule holds; it only binds text that has a code point of the directions R, AL or AN.
  static func allows(_ text: [Unicode.Scalar]) -> Bool {
    let directions = text.map(\.direction)
    guard
      directions.contains(where: {
        $0 == U_RIGHT_TO_LEFT || $0 == U_RIGHT_TO_LEFT_ARABIC || $0 == U_ARABIC_NUMBER
      })
    else { return true }
    let last = directions.last { $0 != U_DIR_NON_SPACING_MARK }
    switch directions.first {
    case U_RIGHT_TO_LEFT, U_RIGHT_TO_LEFT_ARABIC:
      let endings: [UCharDirection] = [
        U_RIGHT_TO_LEFT, U_RIGHT_TO_LEFT_ARABIC, U_EUROPEAN_NUMBER, U_ARABIC_NUMBER,
      ]
      let allowed = endings + neutral
      return directions.allSatisfy { allowed.contains($0) } && last.map { endings.contains($0) } == true
        && !(directions.contains(U_EUROPEAN_NUMBER) && directions.contains(U_ARABIC_NUMBER))
    // Condition 5 keeps R, AL and AN out of text that begins left to right; 1 asks for L, R or AL at its start.
    default: return false
    }
  }

  private static let neutral: [UCharDirection] = [
    U_EUROPEAN_NUMBER_SEPARATOR, U_COMMON_NUMBER_SEPARATOR, U_EUROPEAN_NUMBER_TERMINATOR, U_OTHER_NEUTRAL,
    U_BOUNDARY_NEUTRAL, U_DIR_NON_SPACING_MARK,
  ]
}

extension Unicode.Scalar {
  fileprivate var direction: UCharDirection {
    UCharDirection(UInt32(bitPattern: icu_property(icu, UCHAR_BIDI_CLASS)))
  }
}
