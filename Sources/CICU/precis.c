#include "precis.h"

#include <stddef.h>
#include <unicode/uchar.h>
#include <unicode/uidna.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>

static bool has(uint32_t c, UProperty property) { return u_hasBinaryProperty((UChar32)c, property); }

icu_category_type icu_category(uint32_t c) {
  switch (u_charType((UChar32)c)) {
    case U_LOWERCASE_LETTER:
    case U_UPPERCASE_LETTER:
    case U_OTHER_LETTER:
    case U_DECIMAL_DIGIT_NUMBER:
    case U_MODIFIER_LETTER:
    case U_NON_SPACING_MARK:
    case U_COMBINING_SPACING_MARK:
      return icu_category_letter_digit;
    case U_TITLECASE_LETTER:
    case U_LETTER_NUMBER:
    case U_OTHER_NUMBER:
    case U_ENCLOSING_MARK:
      return icu_category_other_letter_digit;
    case U_SPACE_SEPARATOR:
      return icu_category_space;
    case U_MATH_SYMBOL:
    case U_CURRENCY_SYMBOL:
    case U_MODIFIER_SYMBOL:
    case U_OTHER_SYMBOL:
      return icu_category_symbol;
    case U_CONNECTOR_PUNCTUATION:
    case U_DASH_PUNCTUATION:
    case U_START_PUNCTUATION:
    case U_END_PUNCTUATION:
    case U_INITIAL_PUNCTUATION:
    case U_FINAL_PUNCTUATION:
    case U_OTHER_PUNCTUATION:
      return icu_category_punctuation;
    case U_CONTROL_CHAR:
      return icu_category_control;
    case U_UNASSIGNED:
      return has(c, UCHAR_NONCHARACTER_CODE_POINT) ? icu_category_other : icu_category_unassigned;
    default:
      return icu_category_other;
  }
}

bool icu_is_join_control(uint32_t c) { return has(c, UCHAR_JOIN_CONTROL); }

bool icu_is_old_hangul_jamo(uint32_t c) {
  switch (u_getIntPropertyValue((UChar32)c, UCHAR_HANGUL_SYLLABLE_TYPE)) {
    case U_HST_LEADING_JAMO:
    case U_HST_VOWEL_JAMO:
    case U_HST_TRAILING_JAMO:
      return true;
    default:
      return false;
  }
}

bool icu_is_precis_ignorable(uint32_t c) {
  return has(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) || has(c, UCHAR_NONCHARACTER_CODE_POINT);
}

bool icu_has_compat(uint32_t c) {
  return u_getIntPropertyValue((UChar32)c, UCHAR_NFKC_QUICK_CHECK) == UNORM_NO;
}

bool icu_is_idna_unstable_or_ignorable(uint32_t c) {
  // NFKC_Casefold changes what is "Unstable", and removes what is default ignorable.
  if (has(c, UCHAR_CHANGES_WHEN_NFKC_CASEFOLDED) || has(c, UCHAR_WHITE_SPACE) || icu_is_precis_ignorable(c)) {
    return true;
  }
  switch (ublock_getCode((UChar32)c)) {
    case UBLOCK_COMBINING_MARKS_FOR_SYMBOLS:
    case UBLOCK_MUSICAL_SYMBOLS:
    case UBLOCK_ANCIENT_GREEK_MUSICAL_NOTATION:
      return true;
    default:
      return false;
  }
}

bool icu_is_virama(uint32_t c) { return u_getCombiningClass((UChar32)c) == 9; }

icu_script_type icu_script(uint32_t c) {
  switch (u_getIntPropertyValue((UChar32)c, UCHAR_SCRIPT)) {
    case USCRIPT_GREEK: return icu_script_greek;
    case USCRIPT_HEBREW: return icu_script_hebrew;
    case USCRIPT_HIRAGANA: return icu_script_hiragana;
    case USCRIPT_KATAKANA: return icu_script_katakana;
    case USCRIPT_HAN: return icu_script_han;
    default: return icu_script_other;
  }
}

icu_joining_type icu_joining(uint32_t c) {
  switch (u_getIntPropertyValue((UChar32)c, UCHAR_JOINING_TYPE)) {
    case U_JT_LEFT_JOINING: return icu_joining_left;
    case U_JT_RIGHT_JOINING: return icu_joining_right;
    case U_JT_DUAL_JOINING: return icu_joining_dual;
    case U_JT_TRANSPARENT: return icu_joining_transparent;
    default: return icu_joining_none;
  }
}

icu_direction_type icu_direction(uint32_t c) {
  switch (u_charDirection((UChar32)c)) {
    case U_LEFT_TO_RIGHT:
      return icu_direction_l;
    case U_RIGHT_TO_LEFT:
    case U_RIGHT_TO_LEFT_ARABIC:
      return icu_direction_r;
    case U_ARABIC_NUMBER:
      return icu_direction_an;
    case U_EUROPEAN_NUMBER:
      return icu_direction_en;
    case U_EUROPEAN_NUMBER_SEPARATOR:
    case U_COMMON_NUMBER_SEPARATOR:
    case U_EUROPEAN_NUMBER_TERMINATOR:
    case U_OTHER_NEUTRAL:
    case U_BOUNDARY_NEUTRAL:
      return icu_direction_neutral;
    case U_DIR_NON_SPACING_MARK:
      return icu_direction_nsm;
    default:
      return icu_direction_other;
  }
}

/// The length that a function of ICU returned, unless it failed for another reason than a lack of room.
static int32_t checked(int32_t length, UErrorCode status) {
  return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? length : -1;
}

int32_t icu_width_mapping(uint32_t c, uint16_t *result, int32_t capacity) {
  int32_t type = u_getIntPropertyValue((UChar32)c, UCHAR_DECOMPOSITION_TYPE);
  if (type != U_DT_WIDE && type != U_DT_NARROW) return 0;
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&status);
  if (U_FAILURE(status)) return -1;
  return checked(unorm2_getRawDecomposition(nfkc, (UChar32)c, result, capacity, &status), status);
}

int32_t icu_nfc(const uint16_t *source, int32_t count, uint16_t *result, int32_t capacity) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
  if (U_FAILURE(status)) return -1;
  return checked(unorm2_normalize(nfc, source, count, result, capacity, &status), status);
}

int32_t icu_lowercase(const uint16_t *source, int32_t count, uint16_t *result, int32_t capacity) {
  UErrorCode status = U_ZERO_ERROR;
  return checked(u_strToLower(result, capacity, source, count, "", &status), status);
}

const void *icu_idna_open(void) {
  UErrorCode status = U_ZERO_ERROR;
  UIDNA *idna = uidna_openUTS46(
      UIDNA_USE_STD3_RULES | UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_CHECK_CONTEXTO |
          UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_NONTRANSITIONAL_TO_UNICODE,
      &status);
  return U_SUCCESS(status) ? idna : NULL;
}

static uint32_t idna_errors(uint32_t found) {
  const struct {
    uint32_t found, error;
  } meanings[] = {
      {UIDNA_ERROR_DOMAIN_NAME_TOO_LONG, icu_idna_name_too_long},
      {UIDNA_ERROR_LABEL_TOO_LONG, icu_idna_label_too_long},
      {UIDNA_ERROR_EMPTY_LABEL, icu_idna_empty_label},
      {UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN, icu_idna_hyphen_at_end},
      {UIDNA_ERROR_HYPHEN_3_4 | UIDNA_ERROR_PUNYCODE | UIDNA_ERROR_INVALID_ACE_LABEL, icu_idna_false_a_label},
      {UIDNA_ERROR_BIDI, icu_idna_bidi},
  };
  uint32_t errors = 0;
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
    if (found & meanings[i].found) errors |= meanings[i].error;
  }
  return found && !errors ? icu_idna_other : errors;
}

int32_t icu_idna_convert(const void *converter, bool toASCII, const uint16_t *source, int32_t count,
                          uint16_t *result, int32_t capacity, uint32_t *errors) {
  UErrorCode status = U_ZERO_ERROR;
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  int32_t length = toASCII ? uidna_nameToASCII(converter, source, count, result, capacity, &info, &status)
                           : uidna_nameToUnicode(converter, source, count, result, capacity, &info, &status);
  *errors = idna_errors(info.errors);
  return checked(length, status);
}
