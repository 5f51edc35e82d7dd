// SPDX-License-Identifier: Apache-2.0
// Which loads and stores touch an element for the last time: they ask the L2 to let it go first, so that what a later
// loop reads again stays there longer. Loads that such a later one of the same launch follows ask it to stay.
//
// A load is the last if none of its tensor stands behind it in the source, and if every loop around it, the grid's too,
// moves its address: else a later turn or another block reads the same element again. A store is if its tensor is never
// loaded. Both are advice: where this is wrong, the result is still right.
#include "codegen/emitter.h"

enum { MOST_STEPS = 256 };  // through the values that an address is made of; beyond, the answer is no

static bool is_same_place(struct span a, struct span b) {
    return a.source == b.source && a.begin == b.begin && a.end == b.end;
}

static bool depends_on(const struct ir_value *value, int axis, int *steps) {
    if (value->axes & AXIS_BIT(axis))
        return true;
    if (value->region || ++*steps > MOST_STEPS)
        return false;
    const struct ir_op *def = value->def;
    if ((def->code == OP_INDEX || def->code == OP_BEGIN || def->code == OP_ID) && def->axis == axis)
        return true;
    for (int i = 0; i < def->operand_count; i++)
        if (depends_on(def->operands[i], axis, steps))
            return true;
    return false;
}

static bool is_moved_by(const struct emitter *emitter, const struct ir_op *op, int axis) {
    int steps = 0;
    for (int i = 0; i < emitter->kernel->params[op->param].rank; i++)
        if (depends_on(op->operands[i], axis, &steps))
            return true;
    return false;
}

static bool is_moved_by_loops(const struct emitter *emitter, const struct ir_op *op) {
    for (const struct ir_op *around = op->parent->owner; around; around = around->parent->owner) {
        if (around->code == OP_RANGE || (around->code == OP_FOR && !is_moved_by(emitter, op, around->axis)))
            return false;
    }
    return true;
}

void note_last_loads(struct emitter *emitter, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD)
            emitter->last_loads[op->param] = op;
        for (int r = 0; r < op->region_count; r++)
            note_last_loads(emitter, op->regions[r]);
    }
}

static bool may_hint(const struct emitter *emitter, const struct ir_op *op) {
    const struct target *target = &emitter->lowered->options.target;
    return emitter->lowered->config->stream && emitter->cuda && !(target->sm && target->sm < 80) &&
           emitter->kernel->params[op->param].kind != PARAM_WORKSPACE;
}

static const struct ir_op *launch_of(const struct ir_op *op) {
    while (op->parent->owner)
        op = op->parent->owner;
    return op;
}

bool is_kept(const struct emitter *emitter, const struct ir_op *op) {
    const struct ir_op *last = emitter->last_loads[op->param];
    return may_hint(emitter, op) && !is_hazard(emitter, op) && launch_of(op) == launch_of(last) &&
           !is_same_place(op->span, last->span) && is_streamed(emitter, last) && is_moved_by_loops(emitter, op);
}

bool is_streamed(const struct emitter *emitter, const struct ir_op *op) {
    const struct ir_op *last = emitter->last_loads[op->param];
    if (!may_hint(emitter, op))
        return false;
    bool final = op->code == OP_LOAD ? !is_hazard(emitter, op) && is_same_place(op->span, last->span) : !last;
    return final && is_moved_by_loops(emitter, op);
}
