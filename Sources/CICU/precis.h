// What PRECIS (RFC 8264), IDNA2008 (RFC 5892) and the Bidi Rule (RFC 5893) need of ICU. ICU renames its functions
// by macros, which Swift cannot see through.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <unicode/uchar.h>
#include <unicode/uidna.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>

static inline int32_t icu_property(UChar32 c, UProperty property) {
  return u_getIntPropertyValue(c, property);
}

static inline bool icu_is_virama(UChar32 c) { return u_getCombiningClass(c) == 9; }

/// The decomposition of c when it is a wide or narrow form, else c and nothing more; at most `capacity` code units.
static inline int32_t icu_width_mapping(UChar32 c, UChar *result, int32_t capacity, UErrorCode *status) {
  int32_t type = u_getIntPropertyValue(c, UCHAR_DECOMPOSITION_TYPE);
  if (type != U_DT_WIDE && type != U_DT_NARROW) return 0;
  const UNormalizer2 *nfkc = unorm2_getNFKCInstance(status);
  return U_SUCCESS(*status) ? unorm2_getRawDecomposition(nfkc, c, result, capacity, status) : 0;
}

static inline int32_t icu_nfc(
    const UChar *source, int32_t count, UChar *result, int32_t capacity, UErrorCode *status) {
  const UNormalizer2 *nfc = unorm2_getNFCInstance(status);
  return U_SUCCESS(*status) ? unorm2_normalize(nfc, source, count, result, capacity, status) : 0;
}

/// toLowercase() of the Unicode Standard's default case conversion, for no language in particular.
static inline int32_t icu_lowercase(
    const UChar *source, int32_t count, UChar *result, int32_t capacity, UErrorCode *status) {
  return u_strToLower(result, capacity, source, count, "", status);
}

/// An IDNA2008 converter; nil with a status when ICU has no data. It may be used by several threads at once.
static inline UIDNA *icu_idna_open(UErrorCode *status) {
  return uidna_openUTS46(
      UIDNA_USE_STD3_RULES | UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_CHECK_CONTEXTO |
          UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_NONTRANSITIONAL_TO_UNICODE,
      status);
}

/// To U-labels or to A-labels; `errors` becomes a set of UIDNA_ERROR bits.
static inline int32_t icu_idna_convert(
    const UIDNA *idna, bool toASCII, const UChar *source, int32_t count, UChar *result, int32_t capacity,
    uint32_t *errors, UErrorCode *status) {
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  int32_t length = toASCII ? uidna_nameToASCII(idna, source, count, result, capacity, &info, status)
                           : uidna_nameToUnicode(idna, source, count, result, capacity, &info, status);
  *errors = info.errors;
  return length;
}
