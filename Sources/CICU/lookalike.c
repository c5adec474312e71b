#include "lookalike.h"
#include <stdatomic.h>
#include <stddef.h>
#include <unicode/uspoof.h>

/// One for the process; it is only read. Of two that are made at once one is closed again.
static const USpoofChecker *checker(void) {
  static _Atomic(USpoofChecker *) shared;
  USpoofChecker *known = atomic_load(&shared);
  if (known != NULL) return known;
  UErrorCode error = U_ZERO_ERROR;
  USpoofChecker *made = uspoof_open(&error);
  if (U_FAILURE(error)) return NULL;
  if (atomic_compare_exchange_strong(&shared, &known, made)) return made;
  uspoof_close(made);
  return known;
}

int32_t icu_skeleton(const uint16_t *source, int32_t length, uint16_t *result, int32_t capacity) {
  const USpoofChecker *spoof = checker();
  if (spoof == NULL) return -1;
  UErrorCode error = U_ZERO_ERROR;
  int32_t count = uspoof_getSkeleton(spoof, 0, source, length, result, capacity, &error);
  return U_FAILURE(error) && error != U_BUFFER_OVERFLOW_ERROR ? -1 : count;
}
