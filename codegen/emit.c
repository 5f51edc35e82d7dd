// SPDX-License-Identifier: Apache-2.0
// The whole text: a head that says what it was made from, the helpers in use, a function for every fill and every
// top-level loop; and the launch plan that says how to run them.
#include <string.h>

#include "codegen/matmul.h"

// ---------------------------------------------------------------------------------------------- preparation

static void count_op_uses(int *uses, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            uses[op->operands[i]->id]++;
        for (int r = 0; r < op->region_count; r++)
            count_op_uses(uses, op->regions[r]);
    }
}

static void note_users(struct emitter *emitter, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++) {
            struct users *users = &emitter->users[op->operands[i]->id];
            if (!users->ops)
                users->ops = ARENA_ARRAY(emitter->arena, const struct ir_op *, emitter->uses[op->operands[i]->id]);
            users->ops[users->count++] = op;
        }
        for (int r = 0; r < op->region_count; r++)
            note_users(emitter, op->regions[r]);
    }
}

// Start values that may live on in the variable they are carried in: used once, by an operation of the same region.
static void find_handed_on(struct emitter *emitter, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        int first = op->code == OP_IF ? 1 : 2;
        for (int i = 0; is_control(op) && i < op->result_count; i++) {
            const struct ir_value *init = op->operands[first + i];
            const struct ir_region *home = init->region ? init->region : init->def->parent;
            emitter->handed_on[init->id] = emitter->uses[init->id] == 1 && home == region;
        }
        for (int r = 0; r < op->region_count; r++)
            find_handed_on(emitter, op->regions[r]);
    }
}

static void note_accesses(const struct ir_op *op, bool *loaded, bool *stored) {
    if (op->code == OP_LOAD)
        loaded[op->param] = true;
    if (op->code == OP_STORE || op->code == OP_ATOMIC)
        stored[op->param] = true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            note_accesses(inner, loaded, stored);
}

void find_hazards(struct emitter *emitter, const struct ir_op *top) {
    int count = emitter->kernel->param_count;
    bool *loaded = ARENA_ARRAY(emitter->arena, bool, count + 1), *stored = ARENA_ARRAY(emitter->arena, bool, count + 1);
    note_accesses(top, loaded, stored);
    for (const struct ir_op *op = emitter->kernel->body->first; op; op = op->next)
        if (!is_control(op))  // every launch that needs it does it itself
            note_accesses(op, loaded, stored);
    for (int p = 0; p < count; p++)
        emitter->hazards[p] = loaded[p] && stored[p];
}

bool is_hazard(const struct emitter *emitter, const struct ir_op *op) {
    return (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC) && emitter->hazards[op->param];
}

static void prepare(struct emitter *emitter) {
    const struct ir_kernel *kernel = emitter->kernel;
    struct arena *arena = emitter->arena;
    emitter->uses = ARENA_ARRAY(arena, int, kernel->value_count + 1);
    emitter->forms = ARENA_ARRAY(arena, struct form, kernel->value_count + 1);
    emitter->group_of = ARENA_ARRAY(arena, int, kernel->value_count + 1);
    emitter->handed_on = ARENA_ARRAY(arena, bool, kernel->value_count + 1);
    emitter->hazards = ARENA_ARRAY(arena, bool, kernel->param_count + 1);
    for (int i = 0; i < kernel->value_count; i++)
        emitter->group_of[i] = -1;
    count_op_uses(emitter->uses, kernel->body);
    emitter->users = ARENA_ARRAY(arena, struct users, kernel->value_count + 1);
    note_users(emitter, kernel->body);
    find_handed_on(emitter, kernel->body);
    emitter->for_tiles = ARENA_ARRAY(arena, bool, kernel->value_count + 1);
    emitter->tile_offset = ARENA_ARRAY(arena, int64_t, kernel->value_count + 1);
    emitter->tile_base = ARENA_ARRAY(arena, const char *, kernel->value_count + 1);
    emitter->kept_rows = ARENA_ARRAY(arena, const char *, kernel->value_count + 1);
    emitter->delivery_of = ARENA_ARRAY(arena, struct delivery *, kernel->value_count + 1);
    find_tile_values(emitter, kernel->body);
    emitter->last_loads = ARENA_ARRAY(arena, const struct ir_op *, kernel->param_count + 1);
    note_last_loads(emitter, kernel->body);
}

// ---------------------------------------------------------------------------------------------- the head

// What isn't UTF-8, or would end a line, is no part of a text.
const char *file_name(const struct emitter *emitter) {
    const struct ir_kernel *kernel = emitter->kernel;
    const char *path = kernel->source && kernel->source->path ? kernel->source->path : "?";
    const char *slash = strrchr(path, '/');
    char *name = arena_printf(emitter->arena, "%s", slash ? slash + 1 : path);
    for (unsigned char *at = (unsigned char *)name; *at;) {
        int length = *at < 0x20 || *at == 0x7f ? 0 : text_utf8_length(at);
        if (length == 0) *at = *at < 0x20 ? ' ' : '?';
        at += length ? length : 1;
    }
    return name;
}

static void write_config(struct emitter *emitter) {
    const struct config *config = emitter->lowered->config;
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[i];
        int registers = axis->block / (axis->vector * axis->lanes * axis->warps);
        line(emitter, "//   %s: block %d = vector %d x lanes %d x warps %d x registers %d%s", axis->name, axis->block,
             axis->vector, axis->lanes, axis->warps, registers,
             axis->unroll > 1 ? print(emitter, ", unroll %d", axis->unroll) : "");
    }
    const char *grid = "";
    for (int i = 0; i < config->grid_count; i++)
        grid = print(emitter, "%s%s%s", grid, i ? ", " : "", config->grid[i]);
    const char *chunk = config->chunk ? print(emitter, " of %d", config->chunk) : "";
    if (config->lag)
        chunk = print(emitter, "%s lag %d", chunk, config->lag);
    chunk = print(emitter, "%s%s%s", chunk, config->search ? " by search" : "", config->bulk ? " staged in bulk" : config->stage ? " staged" : "");
    if (config->dot != DOT_FMA)
        chunk = print(emitter, "%s; dot %s, stages %d", chunk, config_dot_name(config->dot), config->stages);
    if (config->producers)
        chunk = print(emitter, "%s%s, producers %d", chunk,
                      config->dot == DOT_FMA ? print(emitter, ", stages %d", config->stages) : "", config->producers);
    const char *cluster = config->cluster > 1 ? print(emitter, "; cluster %d", config->cluster) : "";
    if (config->fast)
        cluster = print(emitter, "%s; fast", cluster);
    line(emitter, "//   grid %s; strategy %s%s; peel %s; late %s; stream %s; min_blocks %d%s", grid,
         config_strategy_name(config->strategy), chunk, config->peel ? "true" : "false", config->late ? "true" : "false",
         config->stream ? "true" : "false", config->min_blocks, cluster);
}

static void write_specialization(struct emitter *emitter) {
    const struct ir_kernel *kernel = emitter->kernel;
    const char *text = "";
    for (int i = 0; i < kernel->generic_count; i++)
        text = print(emitter, "%s%s%s = %s", text, *text ? ", " : "", kernel->generic_names[i],
                     ir_type_name(kernel->generic_types[i]));
    for (int d = 0; d < kernel->dim_count; d++)
        if (kernel->dims[d].is_static)
            text = print(emitter, "%s%s%s = %lld", text, *text ? ", " : "", kernel->dims[d].name,
                         (long long)kernel->dims[d].value);
    for (int p = 0; p < kernel->param_count; p++)
        if (kernel->params[p].optional)
            text = print(emitter, "%s%s%s %s", text, *text ? ", " : "", kernel->params[p].present ? "with" : "without",
                         kernel->params[p].name);
    const char *width = emitter->lowered->options.index64 ? "64-bit indices" : "32-bit indices";
    line(emitter, "// %s%s%s", text, *text ? "; " : "", width);
}

// "f32[nnz, M] x, i64[B + 1] offsets -> f32[B, M] out"
static void write_parameters(struct emitter *emitter) {
    const struct ir_kernel *kernel = emitter->kernel;
    const char *in = "", *out = "";
    for (int p = 0; p < kernel->param_count; p++) {
        const struct ir_param *param = &kernel->params[p];
        if (param->kind == PARAM_WORKSPACE || (param->optional && !param->present))
            continue;
        const char *extents = "";
        for (int i = 0; i < param->rank; i++)
            extents = print(emitter, "%s%s%s", extents, i ? ", " : "",
                            comment_text(emitter, param->extent_text[i], strlen(param->extent_text[i])));
        const char **list = param->kind == PARAM_OUT ? &out : &in;
        *list = print(emitter, "%s%s%s: %s%s%s%s%s", *list, **list ? ", " : "", param->name,
                      param->kind == PARAM_INOUT ? "inout " : "", ir_type_name(param->type), param->rank ? "[" : "",
                      extents, param->rank ? "]" : "");
    }
    line(emitter, "// (%s)%s%s", in, *out ? " -> " : "", out);
}

// What whoever launches these functions has to see to; tilec's own launchers do.
static void write_demands(struct emitter *emitter, const struct launch_plan *plan) {
    const char *text = "tensors are dense";
    if (!emitter->lowered->options.index64)
        text = print(emitter, "%s, extents and counts of elements at most 2^31 - 2^20", text);
    for (int p = 0; p < emitter->kernel->param_count; p++) {
        const struct ir_param *param = &emitter->kernel->params[p];
        if ((emitter->aligned >> p & 1) && param->kind != PARAM_WORKSPACE)
            text = print(emitter, "%s, %s at a multiple of 16 bytes", text, param->name);
        if (emitter->lowered->ascending >> p & 1)
            text = print(emitter, "%s, %s ascends", text, param->name);
    }
    line(emitter, "// wants: %s", text);
    if (plan->kernel_count < 2)
        return;
    text = plan->kernels[0].name;
    for (int i = 1; i < plan->kernel_count; i++)
        text = print(emitter, "%s, %s", text, plan->kernels[i].name);
    line(emitter, "// launches, in this order: %s", text);
}

static void write_preface(struct emitter *emitter, const char *version, const struct launch_plan *plan) {
    const char *file = file_name(emitter);
    line(emitter, "// %s from %s, compiled by tilec %s", emitter->kernel->name,
         comment_text(emitter, file, strlen(file)), version);
    write_parameters(emitter);
    write_specialization(emitter);
    write_config(emitter);
    if (emitter->cuda)
        write_demands(emitter, plan);
    line(emitter, "%s", "");
    if (emitter->cuda)
        return;
    line(emitter, "#include <math.h>");
    line(emitter, "#include <stdbool.h>");
    line(emitter, "#include <stdio.h>");
    line(emitter, "%s", "");
    if (emitter->lowered->options.checked)
        line(emitter, "const char *tile_failure;  // what an assert said\n");
}

// ---------------------------------------------------------------------------------------------- launches

static int count_launches(const struct ir_kernel *kernel) {
    int count = 0;
    for (const struct ir_op *op = kernel->body->first; op; op = op->next)
        count += op->code == OP_FOR || op->code == OP_RANGE || op->code == OP_IF;
    return count;
}

// Where the statements of the next top-level loop begin.
static int line_of_next(const struct ir_op *op) {
    for (op = op->next; op; op = op->next)
        if (is_control(op))
            return op->line;
    return INT32_MAX;
}

static void write_functions(struct emitter *emitter, struct launch_plan *plan) {
    const struct ir_kernel *kernel = emitter->kernel;
    int launches = count_launches(kernel), number = 0;
    plan->kernels = ARENA_ARRAY(emitter->arena, struct launch_kernel, kernel->param_count + 2 * launches + 1);
    emitter->name_count = 0;
    const char *stem = unique_name(emitter, kernel->name);
    for (int p = 0; p < kernel->param_count; p++)
        if (kernel->params[p].kind == PARAM_OUT && kernel->params[p].fill) {
            if (plan->kernel_count)
                line(emitter, "%s", "");
            write_fill(emitter, p, print(emitter, "%s_fill_%s", stem, kernel->params[p].name),
                       &plan->kernels[plan->kernel_count++]);
        }
    for (struct ir_op *op = kernel->body->first; op; op = op->next) {
        if (!is_control(op))
            continue;
        if (plan->kernel_count)
            line(emitter, "%s", "");
        const char *name = launches > 1 ? print(emitter, "%s_%d", stem, ++number) : stem;
        if (wants_maps(emitter, op)) {
            write_map_launch(emitter, op, print(emitter, "%s_maps", name), &plan->kernels[plan->kernel_count++]);
            line(emitter, "%s", "");
        }
        emitter->end_line = line_of_next(op);
        write_launch(emitter, op, name, &plan->kernels[plan->kernel_count++]);
    }
}

// Workspaces are aligned by whoever allocates them; the plan's demand is about the caller's tensors.
static void plan_workspaces(struct emitter *emitter, struct launch_plan *plan) {
    const struct ir_kernel *kernel = emitter->kernel;
    plan->workspaces = ARENA_ARRAY(emitter->arena, const struct ir_param *, kernel->param_count + 1);
    for (int p = 0; p < kernel->param_count; p++)
        if (kernel->params[p].kind == PARAM_WORKSPACE) {
            if (!kernel->params[p].local)
                plan->workspaces[plan->workspace_count++] = &kernel->params[p];
            plan->aligned &= ~((uint64_t)1 << p);
        }
}

struct emitted *emit(struct arena *arena, const struct lowered *lowered, const char *version, struct status *status) {
    struct text functions = {0}, whole = {0};
    struct emitter emitter = {.arena = arena, .lowered = lowered, .kernel = lowered->kernel};
    struct emitted *emitted = ARENA_NEW(arena, struct emitted);
    emitter.cuda = lowered->options.target.kind == TARGET_CUDA;
    emitter.index_type = lowered->options.index64 ? "long long" : "int";
    emitter.status = STATUS_OK;
    if (lowered->kernel->param_count > 64 || lowered->kernel->dim_count > 64)
        give_up(&emitter, "codegen.parameters", lowered->kernel->span,
                "a kernel may have 64 parameters and 64 dimensions");
    prepare(&emitter);
    emitter.out = &functions;
    if (!emitter.status.code)
        write_functions(&emitter, &emitted->plan);
    emitter.out = &whole;
    write_preface(&emitter, version, &emitted->plan);
    write_helpers(&emitter);
    text_add_bytes(&whole, functions.data ? functions.data : "", functions.length);
    emitted->length = whole.length;
    emitted->text = arena_copy(arena, whole.data, whole.length);
    emitted->plan.index32 = !lowered->options.index64;
    emitted->plan.aligned = emitter.aligned;
    emitted->plan.ascending = lowered->ascending;
    plan_workspaces(&emitter, &emitted->plan);
    text_free(&functions);
    text_free(&whole);
    *status = emitter.status;
    return status->code ? NULL : emitted;
}

// ---------------------------------------------------------------------------------------------- the size of a launch

static int64_t tiles_of(const struct launch_axis *axis, const struct ir_bindings *bindings) {
    int64_t range = 1;
    if (axis->elements_of) {
        for (int i = 0; i < axis->elements_of->rank; i++)
            range *= ir_evaluate_number(axis->elements_of->extents[i], bindings).integer;
    } else {
        range = ir_evaluate_number(axis->hi, bindings).integer - ir_evaluate_number(axis->lo, bindings).integer;
    }
    return range > 0 ? (range - 1) / axis->block + 1 : 0;
}

int64_t launch_workspace_bytes(const struct ir_param *workspace, const struct ir_bindings *bindings) {
    int64_t bytes = ir_type_bytes(workspace->type);
    for (int i = 0; i < workspace->rank; i++)
        if (__builtin_mul_overflow(bytes, ir_evaluate_number(workspace->extents[i], bindings).integer, &bytes))
            return INT64_MAX;
    return bytes;
}

int64_t launch_blocks(const struct launch_kernel *kernel, const struct ir_bindings *bindings) {
    int64_t blocks = 1;
    for (int i = 0; i < kernel->grid_count; i++)
        if (__builtin_mul_overflow(blocks, tiles_of(&kernel->grid[i], bindings), &blocks))
            return INT64_MAX;
    return blocks;
}
