#include "saslprep.h"

#include <unicode/usprep.h>

int32_t icu_saslprep(const uint16_t *source, int32_t length, uint16_t *result, int32_t capacity,
                      bool allowUnassigned, icu_saslprep_status *status) {
  UErrorCode error = U_ZERO_ERROR;
  int32_t count = 0;
  UStringPrepProfile *profile = usprep_openByType(USPREP_RFC4013_SASLPREP, &error);
  if (U_SUCCESS(error)) {
    int32_t options = allowUnassigned ? USPREP_ALLOW_UNASSIGNED : USPREP_DEFAULT;
    count = usprep_prepare(profile, source, length, result, capacity, options, NULL, &error);
    usprep_close(profile);
  }
  switch (error) {
    case U_STRINGPREP_PROHIBITED_ERROR:
    case U_STRINGPREP_UNASSIGNED_ERROR:
    case U_STRINGPREP_CHECK_BIDI_ERROR:
      *status = icu_saslprep_prohibited;
      return 0;
    default:
      *status = U_SUCCESS(error) ? icu_saslprep_ok : icu_saslprep_failed;
      return U_SUCCESS(error) ? count : 0;
  }
}
