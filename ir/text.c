// SPDX-License-Identifier: Apache-2.0
// In: pieces of text. Out: one growing, NUL-terminated text.
// Numbers are written and read in the "C" locale whatever the process has set, so that output never depends on it.
#include "ir/text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

// Room for `more` bytes and the NUL.
static void reserve(struct text *text, size_t more)
{
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity) return;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed) capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        fprintf(stderr, "tilec: out of memory (%zu bytes asked for)\n", capacity);
        exit(70);
    }
    text->data = data;
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    reserve(text, length);
    if (length) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length > 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    } else {
        text_add_bytes(text, "", 0);
    }
    va_end(again);
}

// glibc and musl give a constant for "C", so taking it per call costs nothing and needs no global.
static locale_t c_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

void text_double(struct text *text, double value)
{
    if (isnan(value)) {
        text_add(text, "nan");
        return;
    }
    if (isinf(value)) {
        text_add(text, value < 0 ? "-inf" : "inf");
        return;
    }
    locale_t ours = c_locale(), theirs = uselocale(ours);
    // %g drops trailing zeros, so 15 digits is the least worth trying; subnormal numbers hold fewer.
    char digits[40];
    for (int precision = fabs(value) < 1e-300 ? 1 : 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    uselocale(theirs);
    freelocale(ours);
    text_add(text, digits);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *string, size_t length, size_t at)
{
    while (at < length && is_digit(string[at])) at++;
    return at;
}

// How many bytes of `string` from `at`, which is behind a sign, are digits, point and exponent; 0: no number.
static size_t decimal_length(const char *string, size_t length, size_t at)
{
    size_t whole = skip_digits(string, length, at) - at, fraction = 0, end = at + whole;
    if (end < length && string[end] == '.') {
        fraction = skip_digits(string, length, end + 1) - (end + 1);
        if (whole + fraction) end += 1 + fraction;
    }
    if (!(whole + fraction)) return 0;
    if (end < length && (string[end] == 'e' || string[end] == 'E')) {
        size_t digits = end + 1;
        if (digits < length && (string[digits] == '+' || string[digits] == '-')) digits++;
        size_t behind = skip_digits(string, length, digits);
        if (behind > digits) end = behind;
    }
    return end - at;
}

size_t text_parse_double(const char *string, size_t length, double *value)
{
    size_t sign = length && (string[0] == '-' || string[0] == '+');
    double factor = sign && string[0] == '-' ? -1 : 1;
    if (length - sign >= 3 && !memcmp(string + sign, "inf", 3)) {
        *value = factor * (double)INFINITY;
        return sign + 3;
    }
    if (length - sign >= 3 && !memcmp(string + sign, "nan", 3)) {
        *value = (double)NAN;
        return sign + 3;
    }
    size_t digits = decimal_length(string, length, sign);
    if (!digits) return 0;
    struct text copy = {0};
    text_add_bytes(&copy, string + sign, digits);
    locale_t ours = c_locale();
    *value = factor * strtod_l(copy.data, NULL, ours);
    freelocale(ours);
    text_free(&copy);
    return sign + digits;
}

int text_utf8_length(const unsigned char *bytes) {
    int length = bytes[0] < 0x80 ? 1 : bytes[0] >> 5 == 6 ? 2 : bytes[0] >> 4 == 14 ? 3 : bytes[0] >> 3 == 30 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if (bytes[i] >> 6 != 2) return 0;
    if ((length == 2 && bytes[0] < 0xc2) || (length == 3 && bytes[0] == 0xe0 && bytes[1] < 0xa0) ||
        (length == 3 && bytes[0] == 0xed && bytes[1] > 0x9f) || (length == 4 && bytes[0] == 0xf0 && bytes[1] < 0x90) ||
        (length == 4 && (bytes[0] > 0xf4 || (bytes[0] == 0xf4 && bytes[1] > 0x8f))))
        return 0;
    return length;
}
