// SPDX-License-Identifier: Apache-2.0
// Element-wise operations of the reference evaluator. In: operands. Out: the result at every point of its axes.
// The one idea: operands are brought to the result's axes first, then one plain loop from element.h does the work.
// Points that aren't active are computed along: no element-wise operation can fail, and nobody looks there.
#include "ir/element.h"
#include "ir/evaluate.h"

struct loop {  // r[i] = f(a[i], b[i], c[i]); operands that an operation doesn't have repeat the first
    int64_t count;
    struct cell *r;
    const struct cell *a, *b, *c;
};

static void loop_floats(enum ir_opcode code, struct loop loop) {
    switch (code) {
#define X(code, expression)                                                                      \
    case OP_##code:                                                                              \
        for (int64_t i = 0; i < loop.count; i++) {                                               \
            double a = loop.a[i].number, b = loop.b[i].number, c = loop.c[i].number;             \
            (void)b, (void)c;                                                                    \
            loop.r[i].number = expression;                                                       \
        }                                                                                        \
        break;
        ELEMENT_FLOATS(X)
#undef X
    default:
        break;
    }
}

static void loop_integers(enum ir_opcode code, struct loop loop) {
    switch (code) {
#define X(code, expression)                                                                      \
    case OP_##code:                                                                              \
        for (int64_t i = 0; i < loop.count; i++) {                                               \
            int64_t a = loop.a[i].integer, b = loop.b[i].integer, c = loop.c[i].integer;         \
            (void)b, (void)c;                                                                    \
            loop.r[i].integer = expression;                                                      \
        }                                                                                        \
        break;
        ELEMENT_INTEGERS(X)
#undef X
    default:
        break;
    }
}

static void loop_comparisons(enum ir_opcode code, bool floating, struct loop loop) {
    switch (code) {
#define X(code, expression)                                                                      \
    case OP_##code:                                                                              \
        for (int64_t i = 0; i < loop.count && floating; i++) {                                   \
            double a = loop.a[i].number, b = loop.b[i].number;                                   \
            loop.r[i].integer = expression;                                                      \
        }                                                                                        \
        for (int64_t i = 0; i < loop.count && !floating; i++) {                                  \
            int64_t a = loop.a[i].integer, b = loop.b[i].integer;                                \
            loop.r[i].integer = expression;                                                      \
        }                                                                                        \
        break;
        ELEMENT_COMPARISONS(X)
#undef X
    default:
        break;
    }
}

void round_cells(enum ir_type type, struct cell *cells, int64_t count) {
    if (type == TYPE_F32) {
        for (int64_t i = 0; i < count; i++)
            cells[i].number = (float)cells[i].number;
    } else if (type == TYPE_F16 || type == TYPE_BF16) {
        for (int64_t i = 0; i < count; i++)
            cells[i].number = ir_round_to(type, cells[i].number);
    }
}

static void loop_cast(enum ir_type to, enum ir_type from, struct loop loop, bool errors) {
    if (ir_type_is_float(to) && ir_type_is_float(from)) {
        for (int64_t i = 0; i < loop.count; i++)
            loop.r[i] = loop.a[i];
        if (errors && unit_roundoff(to) > unit_roundoff(from))
            error_rounding(to, loop.r, loop.count);
        round_cells(to, loop.r, loop.count);
        return;
    }
    for (int64_t i = 0; i < loop.count; i++) {
        struct ir_scalar in = {0};
        if (ir_type_is_float(from))
            in.number = loop.a[i].number;
        else
            in.integer = loop.a[i].integer;
        struct ir_scalar out = element_cast(to, from, in);
        if (ir_type_is_float(to))
            loop.r[i] = (struct cell){.number = out.number, .error = loop.a[i].error};
        else
            loop.r[i] = (struct cell){.integer = out.integer, .error = loop.a[i].error};
        if (errors && ir_type_is_float(from))
            error_truncated(to, &loop.r[i], loop.a[i]);
        else if (errors)
            error_of_conversion(to, &loop.r[i], in.integer);
    }
}

static void run_loop(const struct ir_op *op, struct loop loop, bool errors) {
    enum ir_type from = op->operands[0]->type, to = op->results[0]->type;
    const struct cell *const operands[] = {loop.a, loop.b, loop.c};
    if (op->code == OP_CAST || op->code == OP_BROADCAST) {
        loop_cast(to, from, loop, errors);
    } else if (op->code == OP_SELECT) {
        for (int64_t i = 0; i < loop.count; i++)
            loop.r[i] = loop.a[i].integer ? loop.b[i] : loop.c[i];
        for (int64_t i = 0; errors && i < loop.count; i++)
            error_select(ir_type_is_float(to), &loop.r[i], loop.a[i], loop.b[i], loop.c[i]);
    } else if (op->code == OP_ISNAN) {
        for (int64_t i = 0; i < loop.count; i++)
            loop.r[i].integer = isnan(loop.a[i].number);
    } else if (ir_ops[op->code].rule == RULE_COMPARE) {
        loop_comparisons(op->code, ir_type_is_float(from), loop);
    } else if (ir_type_is_float(to)) {
        loop_floats(op->code, loop);
        if (errors)
            error_elementwise(op, loop.count, loop.r, operands);
    } else {
        loop_integers(op->code, loop);
    }
    if (op->code == OP_NOT && to == TYPE_BOOL) {
        for (int64_t i = 0; i < loop.count; i++)
            loop.r[i].integer &= 1;
    }
    if (errors && !ir_type_is_float(to) && op->code != OP_CAST && op->code != OP_BROADCAST && op->code != OP_SELECT)
        error_integers(op, loop.count, loop.r, operands);
}

void evaluate_elementwise(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    const struct cell *operands[3];
    for (int i = 0; i < 3; i++)
        operands[i] = i < op->operand_count ? operand_on(evaluator, op, i, result->axes) : operands[0];
    int64_t count = count_of(evaluator, result->axes);
    struct cell *cells = cells_new(evaluator, count);
    run_loop(op, (struct loop){count, cells, operands[0], operands[1], operands[2]},
             evaluator->evaluation->errors != NULL);
    evaluator->cells[result->id] = cells;
    count_steps(evaluator, op, count);
}

void evaluate_update(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    int64_t count = count_of(evaluator, result->axes);
    const struct cell *old = operand_on(evaluator, op, 0, result->axes), *value = operand_on(evaluator, op, 1, result->axes);
    const struct cell *active = active_at(evaluator, result->axes);
    struct cell *cells = cells_new(evaluator, count);
    for (int64_t i = 0; i < count; i++)
        cells[i] = !active || active[i].integer ? value[i] : old[i];
    for (int64_t i = 0; i < count && evaluator->evaluation->errors && ir_type_is_float(result->type); i++) {
        if (!active || active[i].integer)
            error_rounding(result->type, &cells[i], 1);
    }
    round_cells(result->type, cells, count);  // what was there is rounded already
    evaluator->cells[result->id] = cells;
    count_steps(evaluator, op, count);
}
