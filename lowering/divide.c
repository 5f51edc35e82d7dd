// SPDX-License-Identifier: Apache-2.0
// opt_divide: where a loop divides by what doesn't change in it, the reciprocal is taken once, in front of it.
//
//     a / b   =>   in front:  s = |b| < 2^-126 ? 2^24 : 1;  d = b * s;  r = 1 / d
//                  in place:  q = a * r;  e = a - q * d, exactly;  n = q + e * r;  (|n| > 0 ? n : q) * s
//
// The quotient is the rounded one, as of a division, or off by one last place where e underflows. The scale keeps r
// finite for the smallest b. Where a, b or q is infinite, 0 or NaN so is n, or its sign is lost, and q is what IEEE 754
// says. A division takes as many instructions as this and a branch, which keeps those of a thread's elements from
// overlapping. A config that is `fast` has a * (1 / b).
#include "lowering/pass.h"

static const double smallest = 0x1p-126, scale = 0x1p24;

struct divisor {
    struct ir_value *scale, *scaled, *reciprocal;
};

static bool is_loop(const struct pass_context *context, const struct ir_op *op) {
    if (op->code == OP_RANGE)
        return true;
    return op->code == OP_FOR && context->out->axes[op->axis].place != PLACE_GRID;
}

// The outermost loop around the operation in which the value doesn't change; NULL: there is none.
static struct ir_op *steady_loop(const struct pass_context *context, const struct ir_op *op,
                                 const struct ir_value *value) {
    struct ir_op *found = NULL;
    for (struct ir_op *around = op->parent->owner; around && is_outside(value, around); around = around->parent->owner)
        if (is_loop(context, around))
            found = around;
    return found;
}

static struct ir_value *reciprocal(struct ir_builder *b, struct ir_value *value) {
    return ir_binary(b, OP_DIV, ir_number(b, TYPE_F32, 1), value);
}

static struct divisor prepare(struct ir_builder *b, struct ir_value *value) {
    struct divisor divisor;
    struct ir_value *size = ir_unary(b, OP_ABS, value);
    struct ir_value *small = ir_binary(b, OP_LT, size, ir_number(b, TYPE_F32, smallest));
    divisor.scale = ir_select(b, small, ir_number(b, TYPE_F32, scale), ir_number(b, TYPE_F32, 1));
    divisor.scaled = ir_binary(b, OP_MUL, value, divisor.scale);
    divisor.reciprocal = reciprocal(b, divisor.scaled);
    return divisor;
}

static struct ir_value *fused(struct ir_builder *b, struct ir_value *x, struct ir_value *y, struct ir_value *z) {
    struct ir_op *op = ir_op_new(b, OP_FMA, 3, 1, 0);
    op->operands[0] = x;
    op->operands[1] = y;
    op->operands[2] = z;
    ir_insert(b, op);
    return ir_result(b->kernel, op, 0, x->type, x->axes | y->axes | z->axes);
}

static struct ir_value *quotient(struct ir_builder *b, struct ir_value *a, struct divisor by) {
    struct ir_value *q = ir_binary(b, OP_MUL, a, by.reciprocal);
    struct ir_value *rest = fused(b, ir_unary(b, OP_NEG, q), by.scaled, a);
    struct ir_value *near = fused(b, rest, by.reciprocal, q);
    struct ir_value *is_near = ir_binary(b, OP_GT, ir_unary(b, OP_ABS, near), ir_number(b, TYPE_F32, 0));
    return ir_binary(b, OP_MUL, ir_select(b, is_near, near, q), by.scale);
}

static void visit_op(void *data, struct ir_op *op) {
    struct pass_context *context = data;
    bool wanted = op->code == OP_DIV && !op->rough && op->results[0]->type == TYPE_F32 && !op->results[0]->partial;
    if (!wanted || is_constant(op->operands[1]))
        return;
    struct ir_op *loop = steady_loop(context, op, op->operands[1]);
    if (!loop || is_outside(op->operands[0], loop))
        return;
    struct ir_builder before = builder_before(context->kernel, loop), at = builder_before(context->kernel, op);
    struct ir_value *result = op->results[0], *value;
    if (context->config->fast)
        value = ir_binary(&at, OP_MUL, op->operands[0], reciprocal(&before, op->operands[1]));
    else
        value = quotient(&at, op->operands[0], prepare(&before, op->operands[1]));
    value->name = result->name;
    ir_replace_uses(context->kernel, result, value);
    ir_remove(op);
}

bool opt_divide(struct pass_context *context) {
    if (context->out->options.target.kind == TARGET_CUDA)
        walk_ops(context->kernel->body, visit_op, context);
    return true;
}
