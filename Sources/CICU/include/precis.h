// What PRECIS (RFC 8264), IDNA2008 (RFC 5892) and the Bidi Rule (RFC 5893) ask of Unicode, answered by ICU.
//
// No type or macro of ICU is seen here: Foundation has an ICU of its own, and Swift refuses to import both
// into one file. Names end in the words of those RFCs.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// The categories of RFC 8264 §9 that are sets of general categories.
typedef enum {
  icu_category_other,
  icu_category_letter_digit,
  icu_category_other_letter_digit,
  icu_category_space,
  icu_category_symbol,
  icu_category_punctuation,
  icu_category_control,
  /// Neither assigned nor a noncharacter.
  icu_category_unassigned,
} icu_category_type;

icu_category_type icu_category(uint32_t c);

bool icu_is_join_control(uint32_t c);
bool icu_is_old_hangul_jamo(uint32_t c);
/// Default_Ignorable_Code_Point or Noncharacter_Code_Point (RFC 8264 §9.13).
bool icu_is_precis_ignorable(uint32_t c);
/// NFKC changes the code point (RFC 8264 §9.17).
bool icu_has_compat(uint32_t c);
/// "Unstable", "IgnorableProperties" or "IgnorableBlocks" (RFC 5892 §2.2 to §2.4).
bool icu_is_idna_unstable_or_ignorable(uint32_t c);
bool icu_is_virama(uint32_t c);

typedef enum {
  icu_script_other,
  icu_script_greek,
  icu_script_hebrew,
  icu_script_hiragana,
  icu_script_katakana,
  icu_script_han,
} icu_script_type;

icu_script_type icu_script(uint32_t c);

typedef enum {
  icu_joining_none,
  icu_joining_left,
  icu_joining_right,
  icu_joining_dual,
  icu_joining_transparent,
} icu_joining_type;

icu_joining_type icu_joining(uint32_t c);

/// The bidirectional classes as far as RFC 5893 §2 tells them apart.
typedef enum {
  icu_direction_other,
  icu_direction_l,
  /// R or AL.
  icu_direction_r,
  icu_direction_an,
  icu_direction_en,
  /// ES, CS, ET, ON or BN.
  icu_direction_neutral,
  icu_direction_nsm,
} icu_direction_type;

icu_direction_type icu_direction(uint32_t c);

// Conversions of UTF-16 return the number of code units of the whole result, whether or not it fitted;
// -1 when ICU fails.

/// The decomposition of a wide or narrow form; 0 code units for any other code point.
int32_t icu_width_mapping(uint32_t c, uint16_t *result, int32_t capacity);

int32_t icu_nfc(const uint16_t *source, int32_t count, uint16_t *result, int32_t capacity);

/// toLowercase() of the Unicode Standard's default case conversion, for no language in particular.
int32_t icu_lowercase(const uint16_t *source, int32_t count, uint16_t *result, int32_t capacity);

/// What is wrong with a domain name: a set.
typedef enum {
  icu_idna_name_too_long = 1,
  icu_idna_label_too_long = 2,
  icu_idna_empty_label = 4,
  icu_idna_hyphen_at_end = 8,
  icu_idna_false_a_label = 16,
  icu_idna_bidi = 32,
  icu_idna_other = 64,
} icu_idna_error;

/// Opens a converter between U-labels and A-labels; null when ICU has no data. Several threads may use it at once.
const void *icu_idna_open(void);

int32_t icu_idna_convert(const void *converter, bool toASCII, const uint16_t *source, int32_t count,
                          uint16_t *result, int32_t capacity, uint32_t *errors);
