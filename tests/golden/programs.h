// SPDX-License-Identifier: Apache-2.0
// Programs of the tree for tests that draw configs: a file comes in, its kernels come out, checked for chosen types.
#ifndef TILEC_TESTS_GOLDEN_PROGRAMS_H
#define TILEC_TESTS_GOLDEN_PROGRAMS_H

#include "frontend/frontend.h"
#include "ir/ir.h"

struct program {
    struct arena *arena;  // owns everything below and the kernels checked from it
    const char *path;
    struct ast_file *file;
};

// What a kernel is checked for.
struct variant {
    enum ir_type floating, integer;  // of the generics
    bool fixed;                      // inner extents are compiled in; those of full axes always are
    unsigned absent;                 // bit i: the i-th optional tensor is left out
};

// False if the file can't be read or doesn't parse. program_close frees either way.
bool program_open(struct program *program, const char *path);
void program_close(struct program *program);
// Whether the kernel has a generic of the kind "float", "int" or "num"; how many tensors may be left out.
bool program_has_generic(const struct program *program, const char *kernel, const char *kind);
int program_optional_count(const struct program *program, const char *kernel);
// NULL if it has errors under this variant; they are printed as TAP comments.
struct ir_kernel *program_check(struct program *program, const char *kernel, const struct variant *variant);

#endif
