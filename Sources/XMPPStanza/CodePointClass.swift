import CICU

/// What a code point is good for, derived from its Unicode properties and not from a table of our own.
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
  /// The derived property of PRECIS (RFC 8264 §8 and §9, in the order of §8).
  var precisClass: CodePointClass {
    if let exception { return exception }
    if isUnassigned { return .disallowed }
    if 0x21...0x7E ~= value { return .valid }
    if has(UCHAR_JOIN_CONTROL) { return .contextual }
    if isOldHangulJamo || has(UCHAR_DEFAULT_IGNORABLE_CODE_POINT) || has(UCHAR_NONCHARACTER_CODE_POINT) {
      return .disallowed
    }
    let category = icuCategory
    if category == U_CONTROL_CHAR { return .disallowed }
    if hasCompatibilityMapping { return .freeform }
    switch category {
    case U_LOWERCASE_LETTER, U_UPPERCASE_LETTER, U_OTHER_LETTER, U_DECIMAL_DIGIT_NUMBER, U_MODIFIER_LETTER,
      U_NON_SPACING_MARK, U_COMBINING_SPACING_MARK:
      return .valid
    case U_TITLECASE_LETTER, U_LETTER_NUMBER, U_OTHER_NUMBER, U_ENCLOSING_MARK,
      U_SPACE_SEPARATOR,
      U_MATH_SYMBOL, U_CURRENCY_SYMBOL, U_MODIFIER_SYMBOL, U_OTHER_SYMBOL,
      U_CONNECTOR_PUNCTUATION, U_DASH_PUNCTUATION, U_START_PUNCTUATION, U_END_PUNCTUATION,
      U_INITIAL_PUNCTUATION, U_FINAL_PUNCTUATION, U_OTHER_PUNCTUATION:
      return .freeform
    default: return .disallowed
    }
  }

  /// The derived property of IDNA2008 (RFC 5892 §3); never `freeform`.
  var idnaClass: CodePointClass {
    if let exception { return exception }
    if isUnassigned { return .disallowed }
    switch value {
    case 0x2D, 0x30...0x39, 0x61...0x7A: return .valid
    default: break
    }
    if has(UCHAR_JOIN_CONTROL) { return .contextual }
    // "Unstable", and the larger part of "IgnorableProperties", are what NFKC_Casefold changes or removes.
    if has(UCHAR_CHANGES_WHEN_NFKC_CASEFOLDED) || has(UCHAR_DEFAULT_IGNORABLE_CODE_POINT)
      || has(UCHAR_WHITE_SPACE) || has(UCHAR_NONCHARACTER_CODE_POINT) || isOldHangulJamo
    {
      return .disallowed
    }
    switch UBlockCode(icu_property(icu, UCHAR_BLOCK)) {
    case UBLOCK_COMBINING_MARKS_FOR_SYMBOLS, UBLOCK_MUSICAL_SYMBOLS, UBLOCK_ANCIENT_GREEK_MUSICAL_NOTATION:
      return .disallowed
    default: break
    }
    switch icuCategory {
    case U_LOWERCASE_LETTER, U_UPPERCASE_LETTER, U_OTHER_LETTER, U_DECIMAL_DIGIT_NUMBER, U_MODIFIER_LETTER,
      U_NON_SPACING_MARK, U_COMBINING_SPACING_MARK:
      return .valid
    default: return .disallowed
    }
  }

  /// The category Exceptions, the same in RFC 5892 §2.6 and RFC 8264 §9.6.
  private var exception: CodePointClass? {
    switch value {
    case 0x00DF, 0x03C2, 0x06FD, 0x06FE, 0x0F0B, 0x3007: .valid
    case 0x00B7, 0x0375, 0x05F3, 0x05F4, 0x30FB, 0x0660...0x0669, 0x06F0...0x06F9: .contextual
    case 0x0640, 0x07FA, 0x302E, 0x302F, 0x3031...0x3035, 0x303B: .disallowed
    default: nil
    }
  }

  private var isUnassigned: Bool { icuCategory == U_UNASSIGNED && !has(UCHAR_NONCHARACTER_CODE_POINT) }

  private var isOldHangulJamo: Bool {
    switch UHangulSyllableType(UInt32(bitPattern: icu_property(icu, UCHAR_HANGUL_SYLLABLE_TYPE))) {
    case U_HST_LEADING_JAMO, U_HST_VOWEL_JAMO, U_HST_TRAILING_JAMO: true
    default: false
    }
  }

  /// HasCompat: NFKC changes the code point (RFC 8264 §9.17).
  private var hasCompatibilityMapping: Bool {
    icu_property(icu, UCHAR_NFKC_QUICK_CHECK) == Int32(UNORM_NO.rawValue)
  }

  var icuCategory: UCharCategory {
    UCharCategory(UInt32(bitPattern: icu_property(icu, UCHAR_GENERAL_CATEGORY)))
  }

  func has(_ property: UProperty) -> Bool { icu_property(icu, property) != 0 }
}
