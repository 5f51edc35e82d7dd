// SPDX-License-Identifier: Apache-2.0
// lower_checks: in a checked build every load, store and atomic is told by an assert before it that its indices lie
// inside the tensor. Asserts are masked like everything else, so only active points are looked at.
#include "lowering/pass.h"

// Index i of the access is inside extent i: not negative, and below it.
static struct ir_value *index_inside(struct ir_builder *builder, struct ir_value *index, struct ir_value *extent) {
    index = ir_cast(builder, TYPE_I64, index);
    struct ir_value *begun = ir_binary(builder, OP_GE, index, ir_integer(builder, TYPE_I64, 0));
    return ir_binary(builder, OP_LAND, begun, ir_binary(builder, OP_LT, index, extent));
}

static const char *what_is_wrong(struct ir_builder *builder, const struct ir_op *op, const char *tensor) {
    const char *form = op->code == OP_LOAD ? "a load from %s" : op->code == OP_STORE ? "a store to %s" : "an atomic on %s";
    const char *place = arena_printf(builder->kernel->arena, form, tensor);
    return arena_printf(builder->kernel->arena, "%s outside the tensor", place);
}

static void check_access(void *data, struct ir_op *op) {
    struct ir_kernel *kernel = data;
    if (op->code != OP_LOAD && op->code != OP_STORE && op->code != OP_ATOMIC)
        return;
    if (op->parent == kernel->body)  // no launch is there to hold an assert
        return;
    const struct ir_param *param = &kernel->params[op->param];
    struct ir_builder builder = builder_before(kernel, op);
    struct ir_value *inside = NULL;
    for (int i = 0; i < param->rank; i++) {
        struct ir_value *one = index_inside(&builder, op->operands[i], param->extents[i]);
        inside = inside ? ir_binary(&builder, OP_LAND, inside, one) : one;
    }
    if (!inside)
        return;
    if (op->predicated)
        inside = ir_binary(&builder, OP_LOR, ir_unary(&builder, OP_LNOT, op->operands[op->operand_count - 1]), inside);
    struct ir_op *assert = ir_op_new(&builder, OP_ASSERT, 1, 0, 0);
    assert->operands[0] = inside;
    assert->text = what_is_wrong(&builder, op, param->name);
    ir_insert(&builder, assert);
}

bool lower_checks(struct pass_context *context) {
    if (context->out->options.checked)
        walk_ops(context->kernel->body, check_access, context->kernel);
    return true;
}
