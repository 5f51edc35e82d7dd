// SPDX-License-Identifier: Apache-2.0
// A program for the tests of the checker: text or a file, parsed with what it imports.
#ifndef TILEC_TESTS_CHECK_PROGRAM_H
#define TILEC_TESTS_CHECK_PROGRAM_H

#include "frontend/frontend.h"

struct program {
    struct arena *arena;
    struct diagnostics diagnostics;
    struct ast_file *file;
    struct text printed;  // the diagnostics, by program_print
};

// `length` bytes are copied, so that a sanitizer sees reads behind the end. `lib` is the text of every import, or NULL.
struct program program_parse(const char *text, size_t length, const char *lib);
void program_print(struct program *program);  // fills `printed`
void program_free(struct program *program);
bool program_has(const struct program *program, const char *code);
// The whole file on the heap, NUL behind it; NULL if it can't be read.
char *program_read(const char *path, size_t *length);

#endif
