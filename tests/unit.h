// SPDX-License-Identifier: Apache-2.0
// Unit tests that print TAP. A test is a function; every CHECK in it must hold, and what doesn't is printed behind '#'.
// A suite is an array of named functions (UNIT_MAIN), or calls unit_begin and unit_end by itself, once per case.
#ifndef TILEC_TESTS_UNIT_H
#define TILEC_TESTS_UNIT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ir/arena.h"

struct unit {
    int number, failed;   // tests so far
    bool ok;              // the present test, so far
    struct arena *arena;  // of the present test
};

struct unit_test {
    const char *name;
    void (*function)(struct unit *unit);
};

static inline void unit_begin(struct unit *unit)
{
    unit->ok = true;
    unit->arena = arena_new();
}

static inline void unit_end(struct unit *unit, const char *name)
{
    arena_free(unit->arena);
    printf("%sok %d - %s\n", unit->ok ? "" : "not ", ++unit->number, name);
    fflush(stdout);
    unit->failed += !unit->ok;
}

// The plan, behind the tests; returns the exit status. A suite without tests has failed.
static inline int unit_finish(const struct unit *unit)
{
    printf("1..%d\n", unit->number);
    return unit->failed != 0 || unit->number == 0;
}

static inline bool unit_check(struct unit *unit, bool holds, const char *file, int line, const char *what)
{
    if (!holds) {
        unit->ok = false;
        printf("# %s:%d: not so: %s\n", file, line, what);
    }
    return holds;
}
// Each of these gives whether it held.
#define CHECK(unit, condition) unit_check((unit), (condition), __FILE__, __LINE__, #condition)

static inline bool unit_check_number(struct unit *unit, double number, double wanted, const char *file, int line, const char *what)
{
    if (number == wanted || (isnan(number) && isnan(wanted))) return true;
    unit->ok = false;
    printf("# %s:%d: %s is %.17g, wanted %.17g\n", file, line, what, number, wanted);
    return false;
}
#define CHECK_NUMBER(unit, number, wanted) \
    unit_check_number((unit), (double)(number), (double)(wanted), __FILE__, __LINE__, #number)

static inline void unit_print_line(const char *label, const char *text)
{
    printf("#   %s %.*s\n", label, (int)strcspn(text, "\n"), text);
}

// Prints the first line that differs.
static inline bool unit_check_text(struct unit *unit, const char *text, const char *wanted, const char *file, int line)
{
    const char *got_line = text ? text : "(nothing)", *wanted_line = wanted;
    if (text && strcmp(text, wanted) == 0) return true;
    int number = 1;
    for (const char *a = got_line, *b = wanted; *a && *a == *b; a++, b++) {
        if (*a != '\n') continue;
        got_line = a + 1;
        wanted_line = b + 1;
        number++;
    }
    unit->ok = false;
    printf("# %s:%d: texts differ in line %d\n", file, line, number);
    unit_print_line("got:   ", got_line);
    unit_print_line("wanted:", wanted_line);
    return false;
}
#define CHECK_TEXT(unit, text, wanted) unit_check_text((unit), (text), (wanted), __FILE__, __LINE__)

// `text` holds `part` somewhere.
static inline bool unit_check_part(struct unit *unit, const char *text, const char *part, const char *file, int line)
{
    if (text && strstr(text, part)) return true;
    unit->ok = false;
    printf("# %s:%d: \"%s\" is not in the text\n", file, line, part);
    for (const char *at = text ? text : ""; *at; at += strcspn(at, "\n"), at += *at == '\n')
        unit_print_line("", at);
    return false;
}
#define CHECK_PART(unit, text, part) unit_check_part((unit), (text), (part), __FILE__, __LINE__)

static inline int unit_run(const struct unit_test *tests, int count)
{
    struct unit unit = {0};
    for (int i = 0; i < count; i++) {
        unit_begin(&unit);
        tests[i].function(&unit);
        unit_end(&unit, tests[i].name);
    }
    return unit_finish(&unit);
}
#define UNIT_MAIN(tests)                                                  \
    int main(void)                                                        \
    {                                                                     \
        return unit_run((tests), (int)(sizeof(tests) / sizeof *(tests))); \
    }

#endif
