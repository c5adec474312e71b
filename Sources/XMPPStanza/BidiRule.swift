import CICU

/// The Bidi Rule of RFC 5893 §2, which keeps text with right-to-left letters readable in one way only.
enum BidiRule {
  /// Whether the rule holds; it only binds text that has a code point of the classes R, AL or AN.
  static func allows(_ text: [Unicode.Scalar]) -> Bool {
    let directions = text.map { icu_direction($0.value) }
    guard directions.contains(where: { $0 == icu_direction_r || $0 == icu_direction_an }) else {
      return true
    }
    // Such text begins with R or AL (conditions 1 and 5),
    guard directions.first == icu_direction_r else { return false }
    // ends with R, AL, EN or AN and perhaps NSM after it (3),
    switch directions.last(where: { $0 != icu_direction_nsm }) {
    case icu_direction_r, icu_direction_en, icu_direction_an: break
    default: return false
    }
    // has nothing that runs from left to right or changes the direction (2), and one kind of digit at most (4).
    return !directions.contains { $0 == icu_direction_l || $0 == icu_direction_other }
      && !(directions.contains(icu_direction_en) && directions.contains(icu_direction_an))
  }
}
