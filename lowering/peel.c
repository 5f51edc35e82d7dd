// SPDX-License-Identifier: Apache-2.0
// opt_peel: an innermost loop whose bound all threads share runs its full tiles without bounds checks; what is left is
// one masked tile of a second loop, over the same axis name.
//
//     for t in [lo, hi) { S }   =>   main = lo + (hi - lo) / block * block
//                                    for t in [lo, main) { S, every tile full }   for t in [main, hi) { S }
//
// Where S chooses by a comparison of its position with one of another loop, `s >= t ? x : c`, as causal products do,
// full tiles choose only from the one on that has a t for which it isn't true of all of the other's tile.
#include "lowering/matmul.h"
#include "lowering/pass.h"

struct renaming {
    struct ir_kernel *kernel;
    int from, to;
};

static axes_t rename_axes(const struct renaming *renaming, axes_t axes) {
    if (axes & AXIS_BIT(renaming->from))
        axes = (axes & ~AXIS_BIT(renaming->from)) | AXIS_BIT(renaming->to);
    return axes;
}

static void rename_op(void *data, struct ir_op *op) {
    const struct renaming *renaming = data;
    if (op->axis == renaming->from)
        op->axis = renaming->to;
    op->over = rename_axes(renaming, op->over);
    for (int i = 0; i < op->result_count; i++)
        op->results[i]->axes = rename_axes(renaming, op->results[i]->axes);
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->arg_count; i++)
            op->regions[r]->args[i]->axes = rename_axes(renaming, op->regions[r]->args[i]->axes);
}

static bool is_worth_peeling(struct pass_context *context, const struct ir_op *loop) {
    const struct axis_layout *layout = &context->out->axes[loop->axis];
    int64_t lo, hi;
    if (layout->place != PLACE_LOOP || layout->block == 1 || loop->region_count == 2)
        return false;
    if (contains_code(loop->regions[0], OP_FOR) || contains_code(loop->regions[0], OP_RANGE))
        return false;
    if (is_integer_constant(loop->operands[0], &lo) && is_integer_constant(loop->operands[1], &hi))
        return (hi - lo) % layout->block != 0;
    // Where the loop runs to the amax of several rows its bound says nothing about each of them.
    const struct ir_value *bound = loop->operands[1];
    return bound->region || bound->def->code != OP_REDUCE;
}

// ---------------------------------------------------------------------------------------------- comparisons

// `bound >= t` or `bound > t`, where the bound grows with the position on other axes.
struct comparison {
    struct ir_value *result, *bound;
    bool equal;  // true of t = bound
};

// Whether the value is positions on axes and what is a number, added up.
static bool is_position_sum(const struct ir_value *value) {
    const struct ir_op *def = value->region ? NULL : value->def;
    if (!value->axes)
        return true;
    if (!def || ir_type_is_float(value->type))
        return false;
    if (def->code == OP_CAST || def->code == OP_BROADCAST)
        return is_position_sum(def->operands[0]);
    if (def->code == OP_ADD)
        return is_position_sum(def->operands[0]) && is_position_sum(def->operands[1]);
    return def->code == OP_INDEX;
}

// The least that the sum is in a tile.
static struct ir_value *at_begin(struct ir_builder *builder, struct ir_value *value) {
    if (!value->axes)
        return value;
    struct ir_op *def = value->def;
    if (def->code == OP_INDEX)
        return ir_axis_value(builder, OP_BEGIN, def->axis);
    struct ir_value *first = at_begin(builder, def->operands[0]);
    if (def->code == OP_ADD)
        return ir_binary(builder, OP_ADD, first, at_begin(builder, def->operands[1]));
    return def->code == OP_CAST ? ir_cast(builder, value->type, first) : first;
}

static bool is_position_on(const struct ir_value *value, int axis) {
    const struct ir_op *def = value->region ? NULL : value->def;
    while (def && (def->code == OP_BROADCAST || def->code == OP_CAST))
        def = def->operands[0]->region ? NULL : def->operands[0]->def;
    return def && def->code == OP_INDEX && def->axis == axis;
}

static bool is_comparison(const struct ir_op *op, int axis, struct comparison *found) {
    bool swapped = op->code == OP_LE || op->code == OP_LT;
    if (!swapped && op->code != OP_GE && op->code != OP_GT)
        return false;
    struct ir_value *bound = op->operands[swapped], *position = op->operands[!swapped];
    *found = (struct comparison){op->results[0], bound, op->code == OP_LE || op->code == OP_GE};
    return bound->axes && !(bound->axes & AXIS_BIT(axis)) && is_position_on(position, axis) && is_position_sum(bound);
}

struct looking {
    int axis;
    struct comparison found;
};

static void look_for_comparison(void *data, struct ir_op *op) {
    struct looking *looking = data;
    struct comparison one;
    if (!looking->found.result && op->result_count == 1 && is_comparison(op, looking->axis, &one))
        looking->found = one;
}

// In loops of products for which other warps copy. Elsewhere the branch costs more than the choice does (note [blocks] in
// default_products.c: measured there, too).
static struct comparison comparison_in(const struct pass_context *context, const struct ir_op *loop) {
    struct looking looking = {.axis = loop->axis};
    if (uses_producers(context->config, &context->out->options) && contains_code(loop->regions[0], OP_DOT))
        walk_ops(loop->regions[0], look_for_comparison, &looking);
    return looking.found;
}

// Up to where all of the tile compare true.
static struct ir_value *sure_end(struct ir_builder *builder, const struct comparison *comparison) {
    struct ir_value *end = ir_cast(builder, TYPE_I64, at_begin(builder, comparison->bound));
    return comparison->equal ? ir_binary(builder, OP_ADD, end, ir_integer(builder, TYPE_I64, 1)) : end;
}

// `select c, x, y` becomes `if hangs over { select c, x, y } else { x }`.
static void choose_late(struct ir_kernel *kernel, struct ir_op *select, struct ir_value *hangs) {
    struct ir_builder builder = builder_before(kernel, select);
    struct ir_value *value = select->operands[1], *result = select->results[0];
    struct ir_op *guard = ir_op_new(&builder, OP_IF, 2, 1, 2);
    guard->operands[0] = hangs;
    guard->operands[1] = value;
    ir_insert(&builder, guard);
    struct ir_value *chosen = ir_result(kernel, guard, 0, result->type, result->axes);
    struct ir_value *first = ir_region_arg(kernel, guard->regions[0], value->type, value->axes, value->name);
    struct ir_value *second = ir_region_arg(kernel, guard->regions[1], value->type, value->axes, value->name);
    chosen->name = result->name;
    struct ir_builder inside = {.kernel = kernel,
                                .region = guard->regions[0],
                                .span = select->span,
                                .line = select->line};
    struct ir_value *condition = ir_op_clone(&inside, select->operands[0]->def, ir_map_new(kernel))->results[0];
    struct ir_value *kept = ir_select(&inside, condition, first, select->operands[2]);
    ir_yield(&inside, 1, &kept);
    inside.region = guard->regions[1];
    ir_yield(&inside, 1, &second);
    ir_replace_uses(kernel, result, chosen);
    ir_remove(select);
}

static bool is_used(const struct pass_context *context, const struct ir_value *value) {
    return count_uses(context->arena, context->kernel)[value->id];
}

// In the loop `main`, whose comparison is true of all of a tile that ends no later than `end`.
static void guard_comparison(struct pass_context *context, struct ir_op *main, struct ir_value *end) {
    struct ir_kernel *kernel = context->kernel;
    struct looking looking = {.axis = main->axis};
    walk_ops(main->regions[0], look_for_comparison, &looking);
    struct ir_value *condition = looking.found.result, *hangs = NULL;
    struct ir_region *home = condition->def->parent;
    for (struct ir_op *op = condition->def, *next; op; op = next) {
        next = op->next;
        bool chooses = op->code == OP_SELECT && op->operands[0] == condition &&
                       ir_type_is_float(op->results[0]->type) && op->operands[1]->axes == op->results[0]->axes &&
                       op->parent == home;
        if (!chooses)
            continue;
        struct ir_builder builder = builder_before(kernel, op);
        struct ir_value *block = ir_integer(&builder, TYPE_I64, context->out->axes[main->axis].block);
        struct ir_value *last = ir_binary(&builder, OP_ADD, ir_axis_value(&builder, OP_BEGIN, main->axis), block);
        hangs = hangs ? hangs : ir_binary(&builder, OP_GT, last, end);
        choose_late(kernel, op, hangs);
    }
    if (!is_used(context, condition))
        ir_remove(condition->def);
}

// ---------------------------------------------------------------------------------------------- peeling

// The guard of an expanded jagged loop compares with the loop's own bound: tell the copy its new one.
static void peel(struct pass_context *context, struct ir_op *loop) {
    struct ir_kernel *kernel = context->kernel;
    struct ir_builder before = builder_before(kernel, loop);
    int axis = ir_axis_new(kernel, kernel->axes[loop->axis].name, AXIS_TILE, 0);
    if (axis < 0)
        return;
    kernel->axes[axis] = kernel->axes[loop->axis];
    context->out->axes[axis] = context->out->axes[loop->axis];
    struct ir_value *lo = loop->operands[0], *hi = loop->operands[1];
    struct ir_value *block = ir_integer(&before, TYPE_I64, context->out->axes[axis].block);
    struct comparison comparison = comparison_in(context, loop);
    struct ir_value *sure = comparison.result ? sure_end(&before, &comparison) : NULL;
    struct ir_value *span = ir_binary(&before, OP_SUB, hi, lo);
    struct ir_value *full = ir_binary(&before, OP_SUB, span, ir_binary(&before, OP_MOD, span, block));
    struct ir_value *middle = ir_binary(&before, OP_ADD, lo, full);  // between hi and lo where the range is empty
    full->name = middle->name = arena_printf(context->arena, "%s_full", kernel->axes[loop->axis].name);

    struct ir_op *main = ir_op_clone(&before, loop, ir_map_new(kernel));
    struct renaming renaming = {kernel, loop->axis, axis};
    rename_op(&renaming, main);
    walk_ops(main->regions[0], rename_op, &renaming);
    main->operands[1] = middle;
    if (sure)
        guard_comparison(context, main, sure);
    context->out->axes[axis].exact = true;
    kernel->axes[axis].lo = lo;
    kernel->axes[axis].hi = hi;  // what the guard inside compares with
    kernel->axes[axis].loop = main;
    context->out->axes[loop->axis].single = true;
    context->out->axes[loop->axis].origin = lo;
    loop->operands[0] = middle;
    kernel->axes[loop->axis].lo = middle;
    for (int i = 0; i < loop->result_count; i++)
        loop->operands[2 + i] = main->results[i];
}

static void visit_region(struct pass_context *context, struct ir_region *region) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            visit_region(context, op->regions[r]);
        if (op->code == OP_FOR && is_worth_peeling(context, op))
            peel(context, op);
    }
}

bool opt_peel(struct pass_context *context) {
    if (context->config->peel)
        visit_region(context, context->kernel->body);
    return true;
}
