// SPDX-License-Identifier: Apache-2.0
// opt_hoist: what a loop computes anew in every tile from values that don't change moves in front of it.
//
// A load moves only if nothing stores to its tensor and its predicate doesn't change either; since the loop may run no
// tile at all, it takes "the loop runs" along as a predicate (a row of no elements has no first element to look at).
#include "lowering/matmul.h"
#include "lowering/pass.h"

enum { MOST_HOISTED = 4 };  // registers of a load beside products

bool is_outside(const struct ir_value *value, const struct ir_op *loop) {
    if (value->region) {
        for (const struct ir_region *r = value->region; r; r = r->owner ? r->owner->parent : NULL)
            if (r->owner == loop)
                return false;
        return true;
    }
    for (int r = 0; r < loop->region_count; r++)
        if (is_inside(value->def, loop->regions[r]))
            return false;
    return true;
}

static bool is_invariant(const struct ir_op *op, const struct ir_op *loop) {
    if (op->result_count != 1 || op->region_count)
        return false;
    if (op->code == OP_BROADCAST || (loop->code == OP_FOR && (op->results[0]->axes & AXIS_BIT(loop->axis))))
        return false;  // the start of a variable stays where the variable begins
    bool position = op->code == OP_INDEX || op->code == OP_BEGIN;
    if (position && loop->code == OP_FOR && op->axis == loop->axis)
        return false;
    if (op->code != OP_LOAD && !position && !(ir_ops[op->code].flags & F_ELEMENTWISE) && op->code != OP_CONST &&
        op->code != OP_DIM && op->code != OP_SCALAR)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_outside(op->operands[i], loop))
            return false;
    return true;
}

static void guard_load(struct pass_context *context, struct ir_op *load, struct ir_op *loop) {
    struct ir_builder builder = builder_before(context->kernel, load);
    int64_t lo, hi;
    bool known = is_integer_constant(loop->operands[0], &lo) && is_integer_constant(loop->operands[1], &hi);
    if (known && lo < hi)
        return;
    struct ir_value *runs = ir_binary(&builder, OP_LT, loop->operands[0], loop->operands[1]);
    if (load->predicated) {
        struct ir_value **last = &load->operands[load->operand_count - 1];
        *last = ir_binary(&builder, OP_LAND, runs, *last);
        return;
    }
    struct ir_value **operands = ARENA_ARRAY(context->arena, struct ir_value *, load->operand_count + 1);
    for (int i = 0; i < load->operand_count; i++)
        operands[i] = load->operands[i];
    operands[load->operand_count++] = runs;
    load->operands = operands;
    load->predicated = true;
}

// Beside products registers are dear: what takes many of them stays where it is needed.
static bool takes_registers(const struct pass_context *context, const struct ir_op *load) {
    int elements = 1;
    for (int a = 0; a < context->kernel->axis_count; a++) {
        const struct axis_layout *layout = &context->out->axes[a];
        if (load->results[0]->axes & AXIS_BIT(a))
            elements *= layout->registers * layout->vector;
    }
    return uses_matrix_units(context->config, &context->out->options.target) && !load->staged && elements > MOST_HOISTED;
}

static void hoist_from(struct pass_context *context, struct ir_op *loop) {
    bool grid = loop->code == OP_FOR && context->out->axes[loop->axis].place == PLACE_GRID;
    if (grid)
        return;  // nothing would be gained
    for (struct ir_op *op = loop->regions[0]->first, *next; op; op = next) {
        next = op->next;
        if (!is_invariant(op, loop))
            continue;
        if (op->code == OP_LOAD && (is_stored(context->kernel, op->param) || loop->code != OP_FOR))
            continue;
        if (op->code == OP_LOAD && takes_registers(context, op))
            continue;
        ir_move_before(op, loop);
        if (op->code == OP_LOAD)
            guard_load(context, op, loop);
    }
}

static void visit_region(struct pass_context *context, struct ir_region *region) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            visit_region(context, op->regions[r]);
        if (op->code == OP_FOR || op->code == OP_RANGE)
            hoist_from(context, op);
    }
}

bool opt_hoist(struct pass_context *context) {
    visit_region(context, context->kernel->body);
    return true;
}
