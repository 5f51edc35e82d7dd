// SPDX-License-Identifier: Apache-2.0
// opt_rough: an exponential whose result is rounded to f16 or bf16 before anybody sees it needs no 24 good bits.
//
// In: a program with its casts. Out: such operations marked `rough`: the device's approximations do, which are good to
// some 2^-17 of the result for arguments of up to a hundred. A config that is `fast` marks all. The one idea: an error in proportion to a value stays one
// through products, quotients and selects; through a sum it might not.
#include "lowering/pass.h"

static bool keeps_proportion(enum ir_opcode code) {
    return code == OP_MUL || code == OP_DIV || code == OP_NEG || code == OP_SELECT || code == OP_BROADCAST;
}

static bool has_approximation(enum ir_opcode code) {
    return code == OP_EXP || code == OP_SIGMOID || code == OP_SILU;
}

static bool rounds_operand(const struct ir_op *op, int operand) {
    if (op->code == OP_CAST)
        return op->results[0]->type == TYPE_F16 || op->results[0]->type == TYPE_BF16;
    return op->code == OP_MMA && operand == 0;
}

// A branch hands values on: what it is given and what it yields need be as exact as what comes of them.
static bool passes_on(const struct ir_op *op, int operand, const bool *exact) {
    const struct ir_op *owner = op->parent->owner;
    if (op->code == OP_YIELD && owner && owner->code == OP_IF)
        return exact[owner->results[operand]->id];
    if (op->code != OP_IF || !operand)
        return true;
    return exact[op->regions[0]->args[operand - 1]->id] || exact[op->regions[1]->args[operand - 1]->id];
}

// Users come before what they use.
static void visit_region(const struct ir_region *region, bool fast, bool *exact) {
    for (struct ir_op *op = region->last; op; op = op->previous) {
        for (int r = op->region_count; r-- > 0;)
            visit_region(op->regions[r], fast, exact);
        bool wanted = op->result_count != 1 || exact[op->results[0]->id];
        op->rough |= (fast || !wanted) && has_approximation(op->code) && op->results[0]->type == TYPE_F32;
        for (int i = 0; i < op->operand_count; i++)
            if (passes_on(op, i, exact) && !rounds_operand(op, i) && (wanted || !keeps_proportion(op->code) || op->code == OP_IF))
                exact[op->operands[i]->id] = true;
    }
}

bool opt_rough(struct pass_context *context) {
    if (context->out->options.target.kind == TARGET_CUDA)
        visit_region(context->kernel->body, context->config->fast, ARENA_ARRAY(context->arena, bool, context->kernel->value_count));
    return true;
}
