// SASLprep (RFC 4013) by ICU.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum { icu_saslprep_ok, icu_saslprep_prohibited, icu_saslprep_failed } icu_saslprep_status;

/// Prepares UTF-16 text with SASLprep (RFC 4013); returns the number of code units of the result.
/// A result that does not fit is a failure.
int32_t icu_saslprep(const uint16_t *source, int32_t length, uint16_t *result, int32_t capacity,
                      bool allowUnassigned, icu_saslprep_status *status);
