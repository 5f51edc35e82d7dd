// SPDX-License-Identifier: Apache-2.0
// opt_peel: an innermost loop whose bound all threads share runs its full tiles without bounds checks; what is left is
// one masked tile of a second loop, over the same axis name.
//
//     for t in [lo, hi) { S }   =>   main = lo + (hi - lo) / block * block
//                                    for t in [lo, main) { S, every tile full }   for t in [main, hi) { S }
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
    struct ir_value *span = ir_binary(&before, OP_SUB, hi, lo);
    struct ir_value *full = ir_binary(&before, OP_SUB, span, ir_binary(&before, OP_MOD, span, block));
    struct ir_value *middle = ir_binary(&before, OP_ADD, lo, full);  // between hi and lo where the range is empty
    full->name = middle->name = arena_printf(context->arena, "%s_full", kernel->axes[loop->axis].name);

    struct ir_op *main = ir_op_clone(&before, loop, ir_map_new(kernel));
    struct renaming renaming = {kernel, loop->axis, axis};
    rename_op(&renaming, main);
    walk_ops(main->regions[0], rename_op, &renaming);
    main->operands[1] = middle;
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
