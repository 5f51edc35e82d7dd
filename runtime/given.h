// SPDX-License-Identifier: Apache-2.0
// What callers of tilec.h must give. A call that lacks something says what, with TILEC_USAGE, and does nothing.
// Private to runtime/.
#ifndef TILEC_RUNTIME_GIVEN_H
#define TILEC_RUNTIME_GIVEN_H

#include "runtime/runtime.h"

// Returns from a function with a tilec_result if one of the pointers, at least one, is NULL. The names, in a string with
// commas between them, are those of tilec.h.
#define WANT_AS(report, names, ...) \
    do { \
        const void *const wanted[] = {__VA_ARGS__}; \
        bool whole = true; \
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) whole &= wanted[i] != NULL; \
        if (!whole) return given_lacks(report, __func__, names, wanted); \
    } while (0)
#define WANT(report, ...) WANT_AS(report, #__VA_ARGS__, __VA_ARGS__)
tilec_result given_lacks(tilec_report *report, const char *call, const char *names, const void *const *wanted);

// An array as callers give them. What it holds are texts, none of them NULL, or something else.
struct given_list {
    const char *name;
    int count;
    const void *items;
    bool others;
};
// TILEC_USAGE names the list whose count is negative, which is NULL though its count isn't 0, or which holds a NULL.
tilec_result given_lists(tilec_report *report, const char *call, int count, const struct given_list *lists);
tilec_result given_arguments(tilec_report *report, const char *call, const struct tilec_argument *arguments, int count);
tilec_result given_specialization(tilec_report *report, const char *call, const struct tilec_specialization *given);
tilec_result given_run(tilec_report *report, const char *call, const struct tilec_run_options *options);

// The lists of a call, whose names are those of its struct.
#define GIVEN_LISTS(report, ...) \
    given_lists(report, __func__, (int)(sizeof((struct given_list[]){__VA_ARGS__}) / sizeof(struct given_list)), \
                (const struct given_list[]){__VA_ARGS__})

#endif
