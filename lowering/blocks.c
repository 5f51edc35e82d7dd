// SPDX-License-Identifier: Apache-2.0
// lower_blocks: what the config's blocks make plain.
//
// * An axis cut into tiles of one point is no axis any more: its index is a number, so that everything that was only on
//   it is uniform, its conditions are real branches and the amax over it is the length itself.
// * A loop whose one tile covers the whole range is no loop: its axis becomes a full one.
#include "lowering/pass.h"

// An axis that is covered whole and has no point is masked like any whose tile hangs over.
static bool is_empty(const struct ir_axis *axis) {
    int64_t extent;
    return axis->kind == AXIS_FULL && axis->hi && is_integer_constant(axis->hi, &extent) && extent == 0;
}

static axes_t single_point_axes(const struct pass_context *context) {
    axes_t axes = 0;
    for (int a = 0; a < context->kernel->axis_count; a++)
        if (context->out->axes[a].block == 1 && !is_empty(&context->kernel->axes[a]))
            axes |= AXIS_BIT(a);
    return axes;
}

struct narrowing {
    struct pass_context *context;
    axes_t gone;
};

static void drop_from_values(const struct narrowing *narrowing, struct ir_op *op) {
    for (int i = 0; i < op->result_count; i++)
        op->results[i]->axes &= ~narrowing->gone;
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->arg_count; i++)
            op->regions[r]->args[i]->axes &= ~narrowing->gone;
}

static void drop_axes(void *data, struct ir_op *op) {
    const struct narrowing *narrowing = data;
    struct ir_kernel *kernel = narrowing->context->kernel;
    drop_from_values(narrowing, op);
    bool position = op->code == OP_REDUCE && (op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN);
    if (position)  // the masks pass still has to know which position to give
        for (int a = 0; a < kernel->axis_count; a++)
            if (op->over == AXIS_BIT(a))
                op->axis = a;
    op->over &= ~narrowing->gone;
    if (op->code == OP_INDEX && (AXIS_BIT(op->axis) & narrowing->gone)) {
        if (kernel->axes[op->axis].kind == AXIS_FULL) {
            op->code = OP_CONST;
            op->integer = 0;
        } else {
            op->code = OP_BEGIN;
            op->results[0]->axes = 0;
        }
    }
}

// The amax over rows that are single: what it is the greatest of.
static void drop_empty_reduction(void *data, struct ir_op *op) {
    struct ir_kernel *kernel = data;
    if (op->code != OP_REDUCE || op->over || op->results[0]->axes || op->predicated)
        return;
    if (op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN)
        return;
    ir_replace_uses(kernel, op->results[0], op->operands[0]);
    ir_remove(op);
}

static bool constant_range(const struct ir_op *loop, int64_t *lo, int64_t *hi) {
    return is_integer_constant(loop->operands[0], lo) && is_integer_constant(loop->operands[1], hi);
}

struct replacement {
    struct ir_kernel *kernel;
    int axis;
    int64_t lo;
};

static void begin_is_known(void *data, struct ir_op *op) {
    struct replacement *replacement = data;
    if (op->code != OP_BEGIN || op->axis != replacement->axis)
        return;
    op->code = OP_CONST;
    op->integer = replacement->lo;
}

// Puts the body of a loop that runs exactly once, or never, in the loop's place.
static void inline_loop(struct pass_context *context, struct ir_op *loop, bool runs) {
    struct ir_kernel *kernel = context->kernel;
    struct ir_region *body = loop->regions[0];
    struct ir_value **init = loop->operands + 2;
    for (int i = 0; i < body->arg_count; i++)
        ir_replace_uses(kernel, body->args[i], init[i]);
    if (runs)
        while (body->first != body->last)
            ir_move_before(body->first, loop);
    for (int i = 0; i < loop->result_count; i++)
        ir_replace_uses(kernel, loop->results[i], runs ? body->last->operands[i] : init[i]);
    ir_remove(loop);
}

static void visit_region(struct pass_context *context, struct ir_region *region, bool top);

static bool try_inline(struct pass_context *context, struct ir_op *loop, bool top) {
    int64_t lo, hi;
    struct axis_layout *layout = &context->out->axes[loop->axis];
    if (top || loop->region_count == 2 || layout->place == PLACE_GRID || !constant_range(loop, &lo, &hi))
        return false;
    if (hi > lo && (lo != 0 || hi - lo > layout->block))
        return false;
    if (hi > lo) {
        struct replacement replacement = {context->kernel, loop->axis, lo};
        walk_ops(loop->regions[0], begin_is_known, &replacement);
        layout->place = PLACE_FULL;
        context->kernel->axes[loop->axis].kind = AXIS_FULL;
    }
    inline_loop(context, loop, hi > lo);
    return true;
}

static void visit_region(struct pass_context *context, struct ir_region *region, bool top) {
    for (struct ir_op *op = region->first, *next; op; op = next) {
        for (int i = 0; i < op->region_count; i++)
            visit_region(context, op->regions[i], false);
        next = op->next;
        if (op->code == OP_FOR)
            try_inline(context, op, top);
    }
}

bool lower_blocks(struct pass_context *context) {
    struct narrowing narrowing = {context, single_point_axes(context)};
    note_points(context->kernel);
    walk_ops(context->kernel->body, drop_axes, &narrowing);
    for (int a = 0; a < context->kernel->axis_count; a++)
        context->kernel->axes[a].parents &= ~narrowing.gone;
    walk_ops(context->kernel->body, drop_empty_reduction, context->kernel);
    infer_axes(context->kernel);
    keep_points(context->kernel, narrowing.gone);
    visit_region(context, context->kernel->body, true);
    return true;
}
