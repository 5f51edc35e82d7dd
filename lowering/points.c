// SPDX-License-Identifier: Apache-2.0
// Where effects happen: an atomic adds, and a print writes, once for each point of the axes of its operands together. A
// pass that makes a number of a position (`index tk`, which is on tk and its parents, becomes `begin tk`) takes axes
// from operands, but not points from the effect: rows that stand at one position still add one each. Such a pass calls
// note_points before it and keep_points behind it.
//
// Other operations need none of this. Reductions, scans and variables say their axes themselves; a load or a store does
// the same at each of the points that it loses, and an assert asks the same.
#include "lowering/pass.h"

static bool counts_points(const struct ir_op *op) {
    return op->code == OP_ATOMIC || op->code == OP_PRINT;
}

static void note_op(void *data, struct ir_op *op) {
    (void)data;
    if (counts_points(op))
        op->over = axes_of_operands(op);
}

void note_points(struct ir_kernel *kernel) {
    walk_ops(kernel->body, note_op, NULL);
}

struct keeping {
    struct ir_kernel *kernel;
    axes_t gone;
};

static void keep_op(void *data, struct ir_op *op) {
    const struct keeping *keeping = data;
    if (!counts_points(op))
        return;
    axes_t points = op->over & ~keeping->gone;
    op->over = 0;
    if (!(points & ~axes_of_operands(op)))
        return;
    struct ir_value **value = &op->operands[op->code == OP_ATOMIC ? keeping->kernel->params[op->param].rank : 0];
    struct ir_builder builder = builder_before(keeping->kernel, op);
    *value = ir_broadcast(&builder, points, *value);
}

void keep_points(struct ir_kernel *kernel, axes_t gone) {
    struct keeping keeping = {kernel, gone};
    walk_ops(kernel->body, keep_op, &keeping);
}
