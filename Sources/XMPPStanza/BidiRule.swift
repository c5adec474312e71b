import CICU

/// The Bidi Rule of RFC 5893 §2, by which text with right-to-left letters can be read in only one way.
enum BidiRule {
  /// Whether the rule holds; it applies only to text with a code point of the classes R, AL or AN.
  static func allows(_ text: [Unicode.Scalar]) -> Bool {
    let directions = text.map { icu_direction($0.value) }
    guard directions.contains(where: { $0 == icu_direction_r || $0 == icu_direction_an }) else {
      return true
    }
    // Such text must begin with R or AL (conditions 1 and 5).
    guard directions.first == icu_direction_r else { return false }
    // It must end with R, AL, EN or AN, which NSM may follow (condition 3).
    switch directions.last(where: { $0 != icu_direction_nsm }) {
    case icu_direction_r, icu_direction_en, icu_direction_an: break
    default: return false
    }
    // It must not contain code points of other directions (condition 2), nor two kinds of digits (condition 4).
    return !directions.contains { $0 == icu_direction_l || $0 == icu_direction_other }
      && !(directions.contains(icu_direction_en) && directions.contains(icu_direction_an))
  }
}
