// SPDX-License-Identifier: Apache-2.0
// A growing text on the heap, for printers. Locale-free numbers.
#ifndef TILEC_IR_TEXT_H
#define TILEC_IR_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *data;     // NUL-terminated, never NULL after the first append; free with text_free
    size_t length;  // without the NUL
    size_t capacity;
};

void text_free(struct text *text);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));  // no %f %g %e
// The length of the UTF-8 sequence at `bytes` (ended by a zero), or 0 if there is none.
int text_utf8_length(const unsigned char *bytes);
// The shortest decimal that reads back as the same double ("inf", "-inf", "nan" for the rest), under any locale.
void text_double(struct text *text, double value);
// Reads such a number: returns the count of bytes consumed, 0 if there is none. Takes inf and nan.
size_t text_parse_double(const char *string, size_t length, double *value);

#endif
