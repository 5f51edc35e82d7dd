// SPDX-License-Identifier: Apache-2.0
// Whether what is known of rows keeps every access inside its tensor. In: a checked kernel and its rows' uses. Out: whether
// an access along a jagged axis is left that validating offsets and lengths says nothing about.
// The one idea: such a kernel is run with index checks instead, where that is cheap.
#include "runtime/build.h"
#include "runtime/data.h"

static axes_t jagged_axes(const struct ir_kernel *kernel)
{
    axes_t axes = 0;
    for (int i = 0; i < kernel->axis_count; i++)
        if (kernel->axes[i].kind == AXIS_JAGGED) axes |= AXIS_BIT(i);
    return axes;
}

static bool is_validated(const struct rows_uses *uses, int param, int position, axes_t axes)
{
    for (int i = 0; i < uses->count; i++) {
        const struct rows_use *use = &uses->items[i];
        if (use->target_param == param && use->target_position == position && (axes & AXIS_BIT(use->axis))) return true;
    }
    return false;
}

static bool is_open(const struct ir_kernel *kernel, const struct rows_uses *uses, const struct ir_op *op, axes_t jagged)
{
    for (int d = 0; d < kernel->params[op->param].rank; d++) {
        axes_t axes = op->operands[d]->axes & jagged;
        if (axes && !is_validated(uses, op->param, d, axes)) return true;
    }
    return false;
}

static bool any_open(const struct ir_kernel *kernel, const struct rows_uses *uses, const struct ir_region *region, axes_t jagged)
{
    for (const struct ir_op *op = region->first; op; op = op->next) {
        bool accesses = op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC;
        if (accesses && is_open(kernel, uses, op, jagged)) return true;
        for (int i = 0; i < op->region_count; i++)
            if (any_open(kernel, uses, op->regions[i], jagged)) return true;
    }
    return false;
}

bool rows_leave_open(const struct ir_kernel *kernel, const struct rows_uses *uses)
{
    return any_open(kernel, uses, kernel->body, jagged_axes(kernel));
}
