#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <unicode/usprep.h>

/// Prepares UTF-16 text with SASLprep (RFC 4013): the number of code units of the whole result, whether or
/// not it fitted; `*status` is an ICU status, U_BUFFER_OVERFLOW_ERROR when it did not fit.
static inline int32_t icu_saslprep(
    const UChar *source, int32_t length, UChar *result, int32_t capacity,
    bool allowUnassigned, UErrorCode *status) {
  UStringPrepProfile *profile = usprep_openByType(USPREP_RFC4013_SASLPREP, status);
  if (U_FAILURE(*status)) return 0;
  int32_t options = allowUnassigned ? USPREP_ALLOW_UNASSIGNED : USPREP_DEFAULT;
  int32_t count = usprep_prepare(profile, source, length, result, capacity, options, NULL, status);
  usprep_close(profile);
  return count;
}
