import CICU

/// The class of a code point, derived from its Unicode properties rather than from tables of this package.
enum CodePointClass {
  /// PVALID.
  case valid
  /// ID_DIS or FREE_PVAL: valid in the FreeformClass of PRECIS only.
  case freeform
  /// CONTEXTJ or CONTEXTO: valid where its contextual rule holds.
  case contextual
  /// DISALLOWED or UNASSIGNED.
  case disallowed
}

extension Unicode.Scalar {
  /// The derived property of PRECIS (RFC 8264 §8, in its order).
  var precisClass: CodePointClass {
    if let exception { return exception }
    let category = icu_category(value)
    if category == icu_category_unassigned { return .disallowed }
    if 0x21...0x7E ~= value { return .valid }
    if icu_is_join_control(value) { return .contextual }
    if icu_is_old_hangul_jamo(value) || icu_is_precis_ignorable(value) || category == icu_category_control {
      return .disallowed
    }
    if icu_has_compat(value) { return .freeform }
    switch category {
    case icu_category_letter_digit: return .valid
    case icu_category_other_letter_digit, icu_category_space, icu_category_symbol,
      icu_category_punctuation:
      return .freeform
    default: return .disallowed
    }
  }

  /// The derived property of IDNA2008 (RFC 5892 §3, in its order); never `freeform`.
  var idnaClass: CodePointClass {
    if let exception { return exception }
    switch value {
    case 0x2D, 0x30...0x39, 0x61...0x7A: return .valid
    default: break
    }
    if icu_is_join_control(value) { return .contextual }
    if icu_is_idna_unstable_or_ignorable(value) || icu_is_old_hangul_jamo(value) { return .disallowed }
    return icu_category(value) == icu_category_letter_digit ? .valid : .disallowed
  }

  /// The category Exceptions, which is the same in RFC 5892 §2.6 and RFC 8264 §9.6.
  private var exception: CodePointClass? {
    switch value {
    case 0x00DF, 0x03C2, 0x06FD, 0x06FE, 0x0F0B, 0x3007: .valid
    case 0x00B7, 0x0375, 0x05F3, 0x05F4, 0x30FB, 0x0660...0x0669, 0x06F0...0x06F9: .contextual
    case 0x0640, 0x07FA, 0x302E, 0x302F, 0x3031...0x3035, 0x303B: .disallowed
    default: nil
    }
  }
}
