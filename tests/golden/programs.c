// SPDX-License-Identifier: Apache-2.0
// Opening and checking of programs; see programs.h.
#include "tests/golden/programs.h"

#include <stdio.h>
#include <string.h>

#include "runtime/build.h"

bool program_open(struct program *program, const char *path) {
    *program = (struct program){.arena = arena_new(), .path = path};
    const char *reason;
    const struct source *source = source_read(program->arena, path, &reason);
    if (!source) {
        printf("# %s: %s\n", path, reason);
        return false;
    }
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, program->arena);
    program->file = frontend_parse(program->arena, source, &source_loader, &diagnostics);
    if (diagnostics.errors)
        printf("# %s: doesn't parse\n", path);
    return !diagnostics.errors;
}

void program_close(struct program *program) {
    arena_free(program->arena);
}

bool program_has_generic(const struct program *program, const char *kernel, const char *kind) {
    struct signature *signature = frontend_signature(program->arena, program->file, kernel);
    for (int i = 0; i < signature->generic_count; i++)
        if (!strcmp(signature->generics[i].kind, kind))
            return true;
    return false;
}

int program_optional_count(const struct program *program, const char *kernel) {
    struct signature *signature = frontend_signature(program->arena, program->file, kernel);
    int count = 0;
    for (int i = 0; i < signature->param_count; i++)
        count += signature->params[i].optional;
    return count;
}

// ---------------------------------------------------------------------------------------------- specializing

static bool is_inner_extent(const struct signature *signature, const char *dim) {
    for (int p = 0; p < signature->param_count; p++)
        for (int i = 1; i < signature->params[p].rank; i++)
            if (!strcmp(signature->params[p].extent_text[i], dim))
                return true;
    return false;
}

// Inner extents, or all, are compiled in with different values, some of them no powers of two.
static void fix_extents(struct arena *arena, const struct signature *signature, bool all, struct specialization *out) {
    static const int64_t values[] = {48, 64, 20, 128};
    out->dim_names = ARENA_ARRAY(arena, const char *, signature->dim_count + 1);
    out->dims = ARENA_ARRAY(arena, int64_t, signature->dim_count + 1);
    out->dim_count = 0;
    for (int i = 0; i < signature->dim_count; i++) {
        if (!all && !is_inner_extent(signature, signature->dims[i]))
            continue;
        out->dim_names[out->dim_count] = signature->dims[i];
        out->dims[out->dim_count++] = values[i % 4];
    }
}

static struct specialization *specialize(struct arena *arena, const struct signature *signature, const struct variant *variant) {
    struct specialization *out = ARENA_NEW(arena, struct specialization);
    out->type_count = signature->generic_count;
    out->type_names = ARENA_ARRAY(arena, const char *, signature->generic_count + 1);
    out->types = ARENA_ARRAY(arena, enum ir_type, signature->generic_count + 1);
    for (int i = 0; i < signature->generic_count; i++) {
        out->type_names[i] = signature->generics[i].name;
        out->types[i] = strcmp(signature->generics[i].kind, "int") ? variant->floating : variant->integer;
    }
    out->absent = ARENA_ARRAY(arena, const char *, signature->param_count + 1);
    unsigned absent = variant->absent;
    for (int i = 0; i < signature->param_count; i++) {
        if (signature->params[i].optional && absent & 1)
            out->absent[out->absent_count++] = signature->params[i].name;
        if (signature->params[i].optional)
            absent >>= 1;
    }
    return out;
}

static void print_errors(const struct diagnostics *diagnostics) {
    for (int i = 0; i < diagnostics->count; i++)
        if (diagnostics->items[i].severity == SEVERITY_ERROR)
            printf("# %s: %s\n", diagnostics->items[i].code, diagnostics->items[i].message);
}

struct ir_kernel *program_check(struct program *program, const char *kernel, const struct variant *variant) {
    struct arena *arena = program->arena;
    struct signature *signature = frontend_signature(arena, program->file, kernel);
    struct specialization *specialization = specialize(arena, signature, variant);
    if (variant->fixed)
        fix_extents(arena, signature, false, specialization);
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    struct ir_kernel *checked = frontend_check(arena, program->file, kernel, specialization, &diagnostics);
    for (int all = 0; all < 2 && diagnostics.errors; all++) {  // a full axis, perhaps of an outer extent
        fix_extents(arena, signature, all, specialization);
        diagnostics_init(&diagnostics, arena);
        checked = frontend_check(arena, program->file, kernel, specialization, &diagnostics);
    }
    print_errors(&diagnostics);
    return diagnostics.errors ? NULL : checked;
}
