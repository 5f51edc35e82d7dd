// SPDX-License-Identifier: Apache-2.0
// The order of the passes, and the one wrapper around each: print on request, verify, stop.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lowering/pass.h"

struct pass {
    const char *name;
    bool (*run)(struct pass_context *context);
    const char *about;
};

// A pass named opt_* may be skipped; the others have to run.
static const struct pass passes[] = {
    {"opt_simplify", opt_simplify, "fold constants, share equal computations, drop what nothing uses"},
    {"opt_moments", opt_moments, "sum, and sum squares around the mean, in one loop"},
    {"lower_strategy", lower_strategy, "split rows into pieces of equal work, if the config says so"},
    {"opt_simplify", opt_simplify, "again"},
    {"lower_layout", lower_layout, "deal the bits of every axis out to vectors, lanes, warps and registers"},
    {"lower_schedule", lower_schedule, "spread loops over the grid"},
    {"lower_checks", lower_checks, "in a checked build, assert that indices lie inside their tensors"},
    {"lower_jagged", lower_jagged, "make jagged loops dense, to the largest length, with a guard"},
    {"lower_blocks", lower_blocks, "axes of single points become numbers, loops of one tile vanish"},
    {"opt_peel", opt_peel, "split innermost loops into full tiles and one masked tile"},
    {"lower_masks", lower_masks, "make the implicit masks explicit, where they are needed"},
    {"lower_matmul", lower_matmul, "put products on the matrix units, if the config says so"},
    {"opt_simplify", opt_simplify, "again"},
    {"opt_hoist", opt_hoist, "move what doesn't change out of loops"},
    {"opt_late", opt_late, "cross lanes and warps behind a loop that only accumulates"},
    {"opt_divide", opt_divide, "take the reciprocal of what a loop divides by in front of it"},
    {"opt_simplify", opt_simplify, "again"},
    {"lower_index", lower_index, "compute integers in 32 bits where that can't be told apart"},
    {"opt_simplify", opt_simplify, "again"},
    {"opt_hoist", opt_hoist, "again"},
    {"opt_simplify", opt_simplify, "again"},
    {"opt_rough", opt_rough, "approximate exponentials that are rounded to f16 or bf16"},
    {"lower_stages", lower_stages, "copy tiles of products some turns ahead, if the config says so"},
    {"lower_producer", lower_producer, "have warps of their own copy tiles of products, if the config says so"},
    {"lower_slabs", lower_slabs, "have a warp of its own copy what is read along rows, if the config says so"},
};
enum { PASS_COUNT = sizeof passes / sizeof *passes };

bool refuse(struct pass_context *context, const char *code, struct span span, const char *format, ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    context->status = (struct status){false, code, arena_copy(context->arena, reason, strlen(reason)), span};
    return false;
}

static bool is_skipped(const struct lower_options *options, const char *name) {
    for (int i = 0; i < options->skip_count; i++)
        if (!strcmp(options->skip[i], name))
            return !strncmp(name, "opt_", 4);
    return false;
}

static void note_line(void *data, struct ir_op *op) {
    struct lowered *out = data;
    int at = out->line_count;
    if (op->line <= 0)
        return;
    while (at > 0 && out->lines[at - 1] > op->line)
        at--;
    if (at > 0 && out->lines[at - 1] == op->line)
        return;
    for (int i = out->line_count++; i > at; i--)
        out->lines[i] = out->lines[i - 1];
    out->lines[at] = op->line;
}

static void count_op(void *data, struct ir_op *op) {
    (void)op;
    ++*(int *)data;
}

static void note_lines(struct lowered *out, struct arena *arena) {
    int count = 0;
    walk_ops(out->kernel->body, count_op, &count);
    out->lines = ARENA_ARRAY(arena, int, count + 1);
    walk_ops(out->kernel->body, note_line, out);
}

static bool verify(struct pass_context *context, const char *pass) {
    struct text complaints = {0};
    bool good = ir_verify(context->kernel, &complaints);
    if (!good) {
        const char *code = arena_printf(context->arena, "internal.%s", pass);
        refuse(context, code, context->kernel->span, "%s", complaints.data);
    }
    text_free(&complaints);
    return good;
}

struct lowered *lower(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                      const struct lower_options *options, struct status *status) {
    struct lowered *out = ARENA_NEW(arena, struct lowered);
    struct pass_context context = {.out = out, .arena = arena, .config = config};
    *status = config_check(arena, kernel, config);
    if (!status->ok)
        return NULL;
    out->kernel = context.kernel = ir_kernel_clone(arena, kernel);
    note_lines(out, arena);
    out->config = config;
    context.cluster_name = config_cluster_axis(kernel);
    out->options = *options;
    context.status = STATUS_OK;
    for (int i = 0; i < PASS_COUNT; i++) {
        if (is_skipped(options, passes[i].name))
            continue;
        if (!passes[i].run(&context) || !verify(&context, passes[i].name)) {
            *status = context.status;
            return NULL;
        }
        if (options->after)
            options->after(options->data, passes[i].name, context.kernel);
        if (options->stop_after && !strcmp(options->stop_after, passes[i].name))
            break;
    }
    *status = context.status;
    return out;
}

void lower_list_passes(struct text *out) {
    for (int i = 0; i < PASS_COUNT; i++)
        text_printf(out, "%-16s %-8s %s\n", passes[i].name, strncmp(passes[i].name, "opt_", 4) ? "" : "optional",
                    passes[i].about);
}
