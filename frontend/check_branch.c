// SPDX-License-Identifier: Apache-2.0
// Branches. In: an `if`. Out: an operation with two regions, or just the branch that has() chooses.
// The one idea: the second region begins with what the first yields, so that each point keeps what its own branch did.
#include "frontend/check.h"

// A branch that has() rules out must be legal but leaves nothing behind.
static void check_dead_block(struct checker *checker, const struct ast_block *block) {
    struct carry carry = {0};
    carry_collect(checker, block, &carry);
    struct dead_region around = dead_enter(checker);
    check_block(checker, block);
    dead_leave(checker, around);
    for (int i = 0; i < carry.count; i++)
        carry.symbols[i]->value = carry.outer[i];
}

static void check_known(struct checker *checker, const struct ast_stmt *stmt, bool truth) {
    const struct ast_block *taken = truth ? &stmt->body : stmt->has_else ? &stmt->otherwise : NULL;
    const struct ast_block *left = truth ? stmt->has_else ? &stmt->otherwise : NULL : &stmt->body;
    if (taken)
        check_block(checker, taken);
    if (left)
        check_dead_block(checker, left);
}

static struct ir_value **check_region(struct checker *checker, struct ir_op *op, int number, const struct carry *carry,
                                      const struct ast_block *block, struct ir_value ***arguments) {
    struct ir_builder around = checker->builder;
    checker->builder.region = op->regions[number];
    checker->builder.before = NULL;
    *arguments = carry_arguments(checker, op->regions[number], carry);
    if (block)
        check_block(checker, block);
    checker->builder = around;
    return carry_current(checker, carry);
}

void check_if(struct checker *checker, const struct ast_stmt *stmt) {
    struct operand condition = check_condition(checker, stmt->value, "the condition of `if`");
    if (condition.kind == OPERAND_BOOL) {
        check_known(checker, stmt, condition.integer != 0);
        return;
    }
    bool good = condition.kind != OPERAND_ERROR;
    checker->builder.span = stmt->value->span;
    struct ir_value *value = good ? condition.value : ir_integer(&checker->builder, TYPE_BOOL, 1);
    struct carry carry = {0};
    carry_collect(checker, &stmt->body, &carry);
    if (stmt->has_else)
        carry_collect(checker, &stmt->otherwise, &carry);
    struct ir_op *op = ir_op_new(&checker->builder, OP_IF, 1 + carry.count, carry.count, 2);
    op->operand_count = 1;
    op->operands[0] = value;
    ir_insert(&checker->builder, op);
    struct ir_value **arguments[2], **finals[2];
    finals[0] = check_region(checker, op, 0, &carry, &stmt->body, &arguments[0]);
    finals[1] = check_region(checker, op, 1, &carry, stmt->has_else ? &stmt->otherwise : NULL, &arguments[1]);
    carry_finish(checker, op, 1, &carry, 2, arguments, finals);
}
