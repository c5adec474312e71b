import CICU

/// The contextual rules of RFC 5892 Appendix A, which PRECIS shares.
enum ContextualRules {
  /// Whether the code point at `index`, which is of the class `contextual`, is allowed there.
  static func allow(_ index: Int, in label: [Unicode.Scalar]) -> Bool {
    guard label.indices.contains(index) else { return false }
    let before = index > 0 ? label[index - 1] : nil
    let after = index + 1 < label.count ? label[index + 1] : nil
    switch label[index].value {
    case 0x200C: return before?.isVirama == true || joins(index, label)
    case 0x200D: return before?.isVirama == true
    case 0x00B7: return before == "l" && after == "l"
    case 0x0375: return after?.script == icu_script_greek
    case 0x05F3, 0x05F4: return before?.script == icu_script_hebrew
    case 0x30FB:
      return label.contains {
        let script = $0.script
        return script == icu_script_hiragana || script == icu_script_katakana || script == icu_script_han
      }
    case 0x0660...0x0669: return !label.contains { 0x06F0...0x06F9 ~= $0.value }
    case 0x06F0...0x06F9: return !label.contains { 0x0660...0x0669 ~= $0.value }
    default: return false
    }
  }

  /// Whether a zero-width non-joiner is between two letters that would otherwise join (Appendix A.1).
  private static func joins(_ index: Int, _ label: [Unicode.Scalar]) -> Bool {
    let before = label[..<index].last { $0.joiningType != icu_joining_transparent }?.joiningType
    let after = label[(index + 1)...].first { $0.joiningType != icu_joining_transparent }?.joiningType
    return (before == icu_joining_left || before == icu_joining_dual)
      && (after == icu_joining_right || after == icu_joining_dual)
  }
}

extension Unicode.Scalar {
  fileprivate var isVirama: Bool { icu_is_virama(value) }
  fileprivate var script: icu_script_type { icu_script(value) }
  fileprivate var joiningType: icu_joining_type { icu_joining(value) }
}
