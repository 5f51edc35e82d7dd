// SPDX-License-Identifier: Apache-2.0
// opt_late: a loop that only accumulates, `acc = acc op reduce[t](v)`, keeps one partial result per thread and crosses
// lanes and warps once, behind the loop:
//
//     acc = for t carry (a = init) { yield a op reduce[t](v) }
//  => p   = for t carry (a = identity) { yield a op reduce[t](v), this thread's points }   (partial over t)
//     acc = init op reduce[t](p), across threads
//
// Inner loops first, so that nested accumulations cross once, outside of all of them.
#include <string.h>

#include "lowering/late.h"

struct accumulation {
    struct ir_op *step;       // a op r
    struct ir_op *reduction;  // r
    struct ir_value *input;   // the partial of an inner loop that r crosses, or NULL
};

static int uses_of(const int *uses, const struct ir_value *value) {
    return uses[value->id];
}

bool crosses_threads(const struct pass_context *context, axes_t axes) {
    for (int a = 0; a < context->kernel->axis_count; a++)
        if ((axes & AXIS_BIT(a)) && (context->out->axes[a].lanes > 1 || context->out->axes[a].warps > 1 ||
                                      context->out->axes[a].blocks > 1))
            return true;
    return false;
}

static bool match(const struct pass_context *context, const int *uses, struct ir_op *loop, int slot,
                  struct accumulation *found) {
    struct ir_region *body = loop->regions[0];
    struct ir_value *argument = body->args[slot], *next = body->last->operands[slot];
    if (next->region || next->def->parent != body || uses_of(uses, next) != 1 || uses_of(uses, argument) != 1)
        return false;
    struct ir_op *step = next->def;
    if (reduction_of(step->code) == RED_COUNT || step->operand_count != 2)
        return false;
    int at = step->operands[0] == argument ? 0 : step->operands[1] == argument ? 1 : -1;
    if (at < 0 || step->operands[1 - at] == argument)
        return false;
    struct ir_value *other = step->operands[1 - at];
    if (other->region || other->def->code != OP_REDUCE || other->def->reduction != reduction_of(step->code))
        return false;
    if (uses_of(uses, other) != 1 || other->def->parent != body || other->type != argument->type)
        return false;
    struct ir_value *operand = other->def->operands[0];
    // The partial has one value per point of the accumulator: nothing else may still vary.
    if (((operand->axes | other->axes) & ~other->def->over & ~argument->axes) ||
        !crosses_threads(context, other->def->over))
        return false;
    *found = (struct accumulation){step, other->def, operand->partial ? operand : NULL};
    return true;
}

bool have_same_names(const struct ir_kernel *kernel, axes_t a, axes_t b) {
    for (int i = 0; i < kernel->axis_count; i++) {
        bool found = !(a & AXIS_BIT(i));
        for (int j = 0; !found && j < kernel->axis_count; j++)
            found = (b & AXIS_BIT(j)) && !strcmp(kernel->axes[i].name, kernel->axes[j].name);
        if (!found)
            return false;
    }
    return true;
}

// Where the start value is itself such a join, of the loop before this one over axes of the same names (a peeled main
// loop), the partial is handed on instead of being crossed twice. Returns the start value that is left to join.
static struct ir_value *continue_partial(const struct ir_kernel *kernel, const int *uses, struct ir_value *init,
                                         axes_t over, enum ir_reduction reduction, struct ir_value **partial) {
    const struct ir_op *join = init->region ? NULL : init->def;
    if (!join || uses_of(uses, init) != 1)
        return init;
    bool joins = reduction_of(join->code) == reduction && join->operand_count == 2;
    struct ir_value *total = joins ? join->operands[1] : init;  // a neutral start value was left out
    const struct ir_op *cross = total->region ? NULL : total->def;
    if (!cross || cross->reduction != reduction || cross->code != OP_REDUCE || !cross->operands[0]->partial ||
        uses_of(uses, total) != 1)
        return init;
    if (!have_same_names(kernel, over, cross->over) || !have_same_names(kernel, cross->over, over))
        return init;
    struct ir_value *start = joins ? join->operands[0] : *partial;
    *partial = cross->operands[0];
    return start;
}

// A start value that changes nothing.
static bool starts_neutral(const struct ir_value *init, enum ir_reduction reduction) {
    if (!init->region && init->def->code == OP_BROADCAST)
        init = init->def->operands[0];
    return is_identity(init, reduction);
}

static void make_late(struct pass_context *context, struct ir_op *loop, int slot, const struct accumulation *found) {
    struct ir_kernel *kernel = context->kernel;
    struct ir_op *reduction = found->reduction;
    axes_t over = reduction->over;
    struct ir_builder before = builder_before(kernel, loop);
    struct ir_value *init = loop->operands[2 + slot], *result = loop->results[slot];
    struct ir_value *identity = identity_constant(&before, reduction->reduction, result->type);
    identity = ir_broadcast(&before, result->axes, identity);
    identity->partial = over;
    identity->name = loop->regions[0]->args[slot]->name;
    const int *uses = count_uses(context->arena, kernel);
    init = continue_partial(kernel, uses, init, over, reduction->reduction, &identity);
    loop->operands[2 + slot] = identity;
    loop->regions[0]->args[slot]->partial = over;
    found->step->results[0]->partial = over;
    if (found->input) {
        struct ir_value *crossed = reduction->results[0];
        ir_replace_uses(kernel, crossed, found->input);
        ir_remove(reduction);
    } else {
        reduction->results[0]->partial = over;
    }

    struct ir_builder behind = builder_before(kernel, loop->next);
    behind.span = found->step->span;
    behind.line = found->step->line;
    struct ir_op *cross = ir_op_new(&behind, OP_REDUCE, 1, 1, 0);
    cross->reduction = reduction->reduction;
    cross->over = over;
    struct ir_value *total = ir_result(kernel, cross, 0, result->type, result->axes);
    if (starts_neutral(init, reduction->reduction)) {
        total->name = result->name;
        ir_replace_uses(kernel, result, total);
        ir_insert(&behind, cross);
    } else {
        struct ir_op *join = ir_op_new(&behind, found->step->code, 2, 1, 0);
        struct ir_value *joined = ir_result(kernel, join, 0, result->type, result->axes);
        joined->name = result->name;
        ir_replace_uses(kernel, result, joined);
        join->operands[0] = init;
        join->operands[1] = total;
        ir_insert(&behind, cross);
        ir_insert(&behind, join);
    }
    cross->operands[0] = result;
    result->partial = over;
}

void replace_in(struct ir_op *op, const struct ir_value *old, struct ir_value *value) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == old)
            op->operands[i] = value;
    for (int r = 0; r < op->region_count; r++)
        for (struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            replace_in(inner, old, value);
}

static void visit_loop(struct late *late, struct ir_op *loop) {
    struct pass_context *context = late->context;
    if (loop->moments) {
        make_moments_late(late, loop);
        return;
    }
    if (make_pair_late(late, loop))
        return;
    for (int slot = 0; slot < loop->result_count; slot++) {
        struct accumulation found;
        if (match(context, count_uses(context->arena, context->kernel), loop, slot, &found))
            make_late(context, loop, slot, &found);
    }
}

static void visit_region(struct late *late, struct ir_region *region) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            visit_region(late, op->regions[r]);
        if (op->code == OP_FOR && op->region_count == 1)
            visit_loop(late, op);
    }
}

bool opt_late(struct pass_context *context) {
    struct late late = {.context = context};
    if (context->config->late)
        visit_region(&late, context->kernel->body);
    return true;
}
