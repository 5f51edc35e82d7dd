// SPDX-License-Identifier: Apache-2.0
// Text to checked program: the one public header of frontend/.
#ifndef TILEC_FRONTEND_FRONTEND_H
#define TILEC_FRONTEND_FRONTEND_H

#include "ir/ir.h"

struct ast_file;

// How an imported file is read: returns its source in `arena`, or NULL with a reason. `from` is the importing file's
// path; relative paths are meant relative to its folder. A loader that can tell files apart better than by their paths
// (links) gives sources an identity.
struct frontend_loader {
    const struct source *(*load)(void *data, struct arena *arena, const char *from, const char *path, const char **reason);
    void *data;
};

// Parses `source` and everything it imports. Never NULL; whether it may be used says `diagnostics->errors`.
struct ast_file *frontend_parse(struct arena *arena, const struct source *source, const struct frontend_loader *loader,
                                struct diagnostics *diagnostics);
void frontend_print_tree(struct text *out, const struct ast_file *file);

int frontend_kernel_count(const struct ast_file *file);
const char *frontend_kernel_name(const struct ast_file *file, int index);

// A kernel's parameters before any specialization: what a caller must know to bind arguments.
enum signature_kind { SIGNATURE_IN, SIGNATURE_INOUT, SIGNATURE_OUT, SIGNATURE_SCALAR };
struct signature_param {
    const char *name;
    enum signature_kind kind;
    enum ir_type type;      // TYPE_NONE if generic
    int generic;            // index into generics, or -1
    bool accum;             // accum(generic)
    int rank;
    const char *extent_text[IR_MAX_RANK];
    bool optional, has_default;
    const char *default_text;  // as it is written; NULL without one
    struct span span;
};
struct signature_generic {
    const char *name;
    const char *kind;        // "float", "int", "num"
    enum ir_type fallback;   // its default, or f32 (float, num) and i64 (int)
    bool has_default;        // written in the source
};
struct signature {
    const char *name;
    int generic_count, param_count;
    struct signature_generic *generics;
    struct signature_param *params;  // in order, outputs last
    int dim_count;
    const char **dims;
};
// NULL if there is no such kernel.
struct signature *frontend_signature(struct arena *arena, const struct ast_file *file, const char *kernel);

struct specialization {
    int type_count;
    const char **type_names;
    enum ir_type *types;      // missing generics take their fallback
    int dim_count;
    const char **dim_names;
    int64_t *dims;            // these dimensions are compiled in
    int absent_count;
    const char **absent;      // optional parameters that are left out; all others are present
};

// Checks one kernel under one specialization and builds its IR. NULL if it has errors, which are in `diagnostics`.
struct ir_kernel *frontend_check(struct arena *arena, const struct ast_file *file, const char *kernel,
                                 const struct specialization *specialization, struct diagnostics *diagnostics);
// Checks the whole file: every const, fn and kernel, each kernel under its fallback types and every combination of
// present and absent optional parameters (at most 16), and once for each other type its generics may have.
// The same message at the same place is reported once. Returns true if there were no errors.
bool frontend_check_file(struct arena *arena, const struct ast_file *file, struct diagnostics *diagnostics);

// The long explanation of an error code, or NULL. Codes are listed by index until NULL.
const char *frontend_explain(const char *code);
const char *frontend_code(int index);

#endif
