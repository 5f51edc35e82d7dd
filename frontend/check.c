// SPDX-License-Identifier: Apache-2.0
// The checker's driver. In: a file's tree, a kernel's name, a specialization. Out: the kernel's IR, or complaints.
// The one idea: a kernel is checked under one specialization at a time; checking a file means checking its kernels
// under enough of them, and a place that complained once stays silent.
#include <string.h>

#include "frontend/check.h"

// ---------------------------------------------------------------------------------------------- one specialization

static bool has_gaps(const struct ast_block *block) {
    for (int i = 0; i < block->count; i++) {
        const struct ast_stmt *stmt = block->items[i];
        if (stmt->kind == STMT_ERROR || has_gaps(&stmt->body) || has_gaps(&stmt->otherwise))
            return true;
    }
    return false;
}

// Builds the kernel's IR; it may only be used if no errors were reported.
static struct ir_kernel *build(struct checker *checker, const struct ast_kernel *ast, const struct specialization *specialization,
                               struct arena *arena) {
    checker->specialization = specialization;
    checker->ast = ast;
    checker->kernel = ir_kernel_new(arena, ast->name.text);
    checker->kernel->source = checker->file->source;
    checker->kernel->span = ast->span;
    checker->builder = (struct ir_builder){.kernel = checker->kernel, .region = checker->kernel->body, .span = ast->name.span};
    checker->front = NULL;
    checker->unused_count = 0;
    checker->flooded = false;
    checker->gaps = has_gaps(&ast->body);
    checker->assignment_count = 0;
    checker->store_count = 0;
    int mark = scope_enter(checker);
    check_head(checker);
    checker->builder.line = 0;
    check_statements(checker, &ast->body);
    scope_leave(checker, mark);
    checker->builder.line = 0;
    check_tile_rules(checker);
    check_memory_rules(checker, checker->diagnostics->errors == checker->errors && !checker->gaps);
    scope_warn_unused(checker);
    return checker->kernel;
}

static struct checker checker_for(struct arena *arena, const struct ast_file *file, struct diagnostics *diagnostics) {
    struct complaint **complaints = ARENA_ARRAY(arena, struct complaint *, COMPLAINT_BUCKETS);
    return (struct checker){.arena = arena, .diagnostics = diagnostics, .file = file, .first = diagnostics->count,
                            .errors = diagnostics->errors, .complaints = complaints};
}

static const struct ast_kernel *find_kernel(const struct ast_file *file, const char *name) {
    for (int i = 0; i < file->count; i++) {
        if (file->items[i].kind == ITEM_KERNEL && file->items[i].kernel && !strcmp(file->items[i].kernel->name.text, name))
            return file->items[i].kernel;
    }
    return NULL;
}

struct ir_kernel *frontend_check(struct arena *arena, const struct ast_file *file, const char *kernel,
                                 const struct specialization *specialization, struct diagnostics *diagnostics) {
    struct checker checker = checker_for(arena, file, diagnostics);
    const struct ast_kernel *ast = find_kernel(file, kernel);
    if (!ast) {
        struct span start = {.source = file->source};
        check_error(&checker, "E0227", start, "there is no kernel `%s` in this file", kernel);
        return NULL;
    }
    check_items(&checker);
    struct ir_kernel *built = build(&checker, ast, specialization, arena);
    check_sort(&checker);
    return diagnostics->errors == checker.errors ? built : NULL;
}

// ---------------------------------------------------------------------------------------------- a whole file

enum { COMBINATIONS_MOST = 16 };

// Only what is said about it counts; the IR is thrown away.
static void try_specialization(struct checker *checker, const struct ast_kernel *ast, const struct specialization *specialization) {
    struct arena *arena = arena_new();
    if (!arena)
        return;
    build(checker, ast, specialization, arena);
    checker->kernel = NULL;
    arena_free(arena);
}

static void check_combination(struct checker *checker, const struct ast_kernel *ast, unsigned absent) {
    struct specialization specialization = {0};
    const char **names = ARENA_ARRAY(checker->arena, const char *, ast->param_count + 1);
    int optional = 0;
    for (int i = 0; i < ast->param_count; i++) {
        if (ast->params[i].mode != MODE_OPTIONAL)
            continue;
        if (absent >> optional & 1)
            names[specialization.absent_count++] = ast->params[i].name.text;
        optional = optional < 31 ? optional + 1 : optional;
    }
    specialization.absent = names;
    try_specialization(checker, ast, &specialization);
}

// All combinations of up to four; of more, all there, each one alone missing, and all missing.
static void check_combinations(struct checker *checker, const struct ast_kernel *ast) {
    int optional = 0;
    for (int i = 0; i < ast->param_count; i++)
        optional += ast->params[i].mode == MODE_OPTIONAL;
    if (1u << (optional < 8 ? optional : 8) <= COMBINATIONS_MOST) {
        for (unsigned absent = 0; absent < 1u << optional; absent++)
            check_combination(checker, ast, absent);
        return;
    }
    check_combination(checker, ast, 0);
    check_combination(checker, ast, ~0u);
    for (int i = 0; i < optional && i < COMBINATIONS_MOST - 2; i++)
        check_combination(checker, ast, 1u << i);
}

// Each generic once as each type of its kind, the others as they are by default.
static void check_types(struct checker *checker, const struct ast_kernel *ast) {
    for (int i = 0; i < ast->generic_count; i++) {
        const char *kind = ast->generics[i].kind.text;
        for (int type = TYPE_I8; type < TYPE_COUNT; type++) {
            bool floating = ir_type_is_float((enum ir_type)type), index = type == TYPE_I32 || type == TYPE_I64;
            bool member = !strcmp(kind, "num") || (!strcmp(kind, "float") && floating) || (!strcmp(kind, "int") && index);
            if (!member)
                continue;
            enum ir_type given = (enum ir_type)type;
            struct specialization specialization = {
                .type_count = 1, .type_names = (const char *[]){ast->generics[i].name.text}, .types = &given};
            try_specialization(checker, ast, &specialization);
        }
    }
}

bool frontend_check_file(struct arena *arena, const struct ast_file *file, struct diagnostics *diagnostics) {
    struct checker checker = checker_for(arena, file, diagnostics);
    int errors = diagnostics->errors;
    checker.assume = true;
    check_items(&checker);
    check_sort(&checker);
    for (int i = 0; i < file->count; i++) {
        if (file->items[i].kind != ITEM_KERNEL || !file->items[i].kernel)
            continue;
        checker.first = diagnostics->count;
        checker.errors = diagnostics->errors;
        check_combinations(&checker, file->items[i].kernel);
        check_types(&checker, file->items[i].kernel);
        check_sort(&checker);
    }
    return diagnostics->errors == errors;
}
