// SPDX-License-Identifier: Apache-2.0
// lower_schedule: which axes are spread over the grid. Loops at the top always are, unless their tiles depend on each
// other; an inner loop is where the config names it and its tiles stand alone.
#include <string.h>

#include "lowering/pass.h"

static bool in_grid(const struct config *config, const char *name) {
    for (int i = 0; i < config->grid_count; i++)
        if (!strcmp(config->grid[i], name))
            return true;
    return false;
}

static bool has_effects(const struct ir_op *op) {
    if (op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_PRINT)
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (has_effects(inner))
                return true;
    return false;
}

// An effect in the region outside of `loop`: it would be repeated by every block along the loop's axis.
static const struct ir_op *effect_beside(const struct ir_region *region, const struct ir_op *loop) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op == loop)
            continue;
        if (op->code == OP_FOR && is_inside(loop, op->regions[0]))
            continue;
        if (has_effects(op))
            return op;
    }
    return NULL;
}

// Why the tiles of an inner loop can't be run by blocks of their own, or NULL. `where` is what stands in the way.
static const char *obstacle(const struct ir_op *loop, const struct ir_op **where, const char **code) {
    *where = loop;
    *code = "lowering.grid-carried";
    if (loop->result_count || loop->region_count == 2)
        return "its tiles hand values on";
    *code = "lowering.grid-bound";
    if (!ir_is_host_number(loop->operands[0]) || !ir_is_host_number(loop->operands[1]))
        return "its bounds aren't known at launch";
    *code = "lowering.grid-inner";
    for (const struct ir_op *around = loop; around->parent->owner; around = around->parent->owner) {
        const struct ir_op *owner = around->parent->owner;
        if (owner->code != OP_FOR)
            return "it stands in a branch or a serial loop";
        const struct ir_op *beside = effect_beside(around->parent, around);
        if (beside) {
            *where = beside;
            *code = "lowering.grid-effects";
            return "every block along it would repeat this";
        }
    }
    return NULL;
}

// What is around the loop has to be on the grid too; in a checked kernel that means: each loop may be.
bool may_spread(const struct ir_kernel *kernel, const struct ir_op *loop) {
    const struct ir_op *where;
    const char *code;
    (void)kernel;
    for (const struct ir_op *op = loop; op; op = op->parent->owner) {
        bool top = !op->parent->owner;
        if (top ? op->code != OP_FOR || op->result_count || op->region_count == 2 : obstacle(op, &where, &code) != NULL)
            return false;
    }
    return true;
}

static bool spread(struct pass_context *context, struct ir_op *loop) {
    const char *name = context->kernel->axes[loop->axis].name, *code;
    const struct ir_op *where, *owner = loop->parent->owner;
    const char *reason = obstacle(loop, &where, &code);
    if (!reason && context->out->axes[owner->axis].place != PLACE_GRID) {
        reason = "the loop around it isn't";
        code = "lowering.grid-inner";
    }
    if (reason)
        return refuse(context, code, where->span, "the loop over %s can't be spread over the grid: %s", name, reason);
    context->out->axes[loop->axis].place = PLACE_GRID;
    return true;
}

// A loop at the top has the same name: that is the one which the config has to mean.
static bool names_top_loop(const struct ir_kernel *kernel, const struct ir_op *loop) {
    const char *name = kernel->axes[loop->axis].name;
    for (const struct ir_op *op = kernel->body->first; op; op = op->next)
        if (op->code == OP_FOR && !strcmp(kernel->axes[op->axis].name, name))
            return true;
    return false;
}

static bool visit_region(struct pass_context *context, struct ir_region *region, bool top) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR) {
            bool alone = !op->result_count && op->region_count != 2;
            bool wanted = in_grid(context->config, context->kernel->axes[op->axis].name);
            if (top && alone) {
                context->out->axes[op->axis].place = PLACE_GRID;
            } else if (wanted && !top && !(names_top_loop(context->kernel, op) && !may_spread(context->kernel, op))) {
                if (!spread(context, op))
                    return false;
            }
        }
        for (int r = 0; r < op->region_count; r++)
            if (!visit_region(context, op->regions[r], false))
                return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- bounds

// A number of the host, and what it is made of, in front of the top loop that it stands in.
static void raise_number(const struct ir_kernel *kernel, struct ir_value *value, struct ir_op *top) {
    if (value->region || value->def->parent == kernel->body)
        return;
    for (int i = 0; i < value->def->operand_count; i++)
        raise_number(kernel, value->def->operands[i], top);
    ir_move_before(value->def, top);
}

static void raise_bound(void *data, struct ir_op *loop) {
    const struct pass_context *context = data;
    if (loop->code != OP_FOR || context->out->axes[loop->axis].place != PLACE_GRID)
        return;
    struct ir_op *top = loop;
    while (top->parent->owner)
        top = top->parent->owner;
    for (int i = 0; i < 2; i++)
        raise_number(context->kernel, loop->operands[i], top);
}

// The grid's factors are worked out before any loop begins, so nothing of them may stand between its loops.
void raise_grid_bounds(struct pass_context *context) {
    walk_ops(context->kernel->body, raise_bound, context);
}

bool lower_schedule(struct pass_context *context) {
    if (!visit_region(context, context->kernel->body, true))
        return false;
    raise_grid_bounds(context);
    return true;
}
