import CICU

/// The contextual rules of RFC 5892 Appendix A, which PRECIS shares.
enum ContextualRules {
  /// Whether the code point at `index`, which is of the class `contextual`, may stand there.
  static func allow(_ index: Int, in label: [Unicode.Scalar]) -> Bool {
    guard label.indices.contains(index) else { return false }
    let before = index > 0 ? label[index - 1] : nil
    let after = index + 1 < label.count ? label[index + 1] : nil
    switch label[index].value {
    case 0x200C: return before?.isVirama == true || joins(index, label)
    case 0x200D: return before?.isVirama == true
    case 0x00B7: return before == "l" && after == "l"
    case 0x0375: return after?.script == USCRIPT_GREEK
    case 0x05F3, 0x05F4: return before?.script == USCRIPT_HEBREW
    case 0x30FB:
      return label.contains {
        let script = $0.script
        return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA || script == USCRIPT_HAN
      }
    case 0x0660...0x0669: return !label.contains { 0x06F0...0x06F9 ~= $0.value }
    case 0x06F0...0x06F9: return !label.contains { 0x0660...0x0669 ~= $0.value }
    default: return false
    }
  }

  /// Whether a zero-width non-joiner stands between two letters that would else be joined (Appendix A.1).
  private static func joins(_ index: Int, _ label: [Unicode.Scalar]) -> Bool {
    let before = label[..<index].last { $0.joiningType != U_JT_TRANSPARENT }?.joiningType
    let after = label[(index + 1)...].first { $0.joiningType != U_JT_TRANSPARENT }?.joiningType
    return (before == U_JT_LEFT_JOINING || before == U_JT_DUAL_JOINING)
      && (after == U_JT_RIGHT_JOINING || after == U_JT_DUAL_JOINING)
  }
}

extension Unicode.Scalar {
  fileprivate var isVirama: Bool { icu_is_virama(icu) }
  fileprivate var script: UScriptCode { UScriptCode(icu_property(icu, UCHAR_SCRIPT)) }
  fileprivate var joiningType: UJoiningType {
    UJoiningType(UInt32(bitPattern: icu_property(icu, UCHAR_JOINING_TYPE)))
  }
}
