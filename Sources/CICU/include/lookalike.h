// What text looks like (UTS #39), by ICU.
#pragma once
#include <stdint.h>

/// Writes the skeleton of UTF-16 text (UTS #39 §4): texts with the same one can be taken for each other. Returns the number
/// of code units of the whole result, whether or not it fitted; negative when ICU fails.
int32_t icu_skeleton(const uint16_t *source, int32_t length, uint16_t *result, int32_t capacity);
