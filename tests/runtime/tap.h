// SPDX-License-Identifier: Apache-2.0
// Tests that print TAP. A test is a function; each CHECK in it must hold; what failed is printed behind '#'.
#ifndef TILEC_TESTS_RUNTIME_TAP_H
#define TILEC_TESTS_RUNTIME_TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ir/arena.h"

struct tap {
    int number, failed;   // tests
    bool ok;              // of the present test
    struct arena *arena;  // of the present test
};

#define CHECK(tap, condition)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            (tap)->ok = false;                                                 \
            printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
        }                                                                      \
    } while (0)

static inline void tap_check_text(struct tap *tap, int line, const char *text, const char *wanted)
{
    if (text && strcmp(text, wanted) == 0) return;
    tap->ok = false;
    printf("# line %d:\n#   got:    %s\n#   wanted: %s\n", line, text ? text : "(nothing)", wanted);
}
#define CHECK_TEXT(tap, text, wanted) tap_check_text((tap), __LINE__, (text), (wanted))

static inline void tap_check_number(struct tap *tap, int line, const char *what, double number, double wanted)
{
    if (number == wanted) return;
    tap->ok = false;
    printf("# line %d: %s is %.17g, wanted %.17g\n", line, what, number, wanted);
}
#define CHECK_NUMBER(tap, number, wanted) tap_check_number((tap), __LINE__, #number, (double)(number), (double)(wanted))

struct tap_test {
    const char *name;
    void (*function)(struct tap *tap);
};

static inline int tap_run(const struct tap_test *tests, int count)
{
    struct tap tap = {0};
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        tap.ok = true;
        tap.arena = arena_new();
        tests[i].function(&tap);
        arena_free(tap.arena);
        printf("%sok %d - %s\n", tap.ok ? "" : "not ", i + 1, tests[i].name);
        fflush(stdout);
        tap.failed += !tap.ok;
    }
    return tap.failed != 0;
}
#define TAP_MAIN(tests)                                                        \
    int main(void)                                                             \
    {                                                                          \
        return tap_run(tests, (int)(sizeof(tests) / sizeof *(tests)));         \
    }

#endif
