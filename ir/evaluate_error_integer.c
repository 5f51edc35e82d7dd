// SPDX-License-Identifier: Apache-2.0
// How far off a right program's integers and conditions may be. In: what an operation computed, of what, and how far off
// that may be. Out: the same of its result.
// The one idea: integers are exact, but one that is made from a floating number near a step may be the next one as well,
// and a comparison of two that are nearer than their errors may come out the other way. What is computed from such a
// value carries that along, and nothing else gets any tolerance.
#include <math.h>

#include "ir/element.h"
#include "ir/evaluate.h"

#define ANYTHING 0x1p64  // farther than two integers can lie apart

static double magnitude(struct cell a) {
    return fabs((double)a.integer);
}

static double error_of_quotient(struct cell a, struct cell b, struct cell r) {
    double divisor = magnitude(b) - b.error;  // the least that it may be
    return divisor > 0 ? (a.error + magnitude(r) * b.error) / divisor + 1 : ANYTHING;
}

static double error_of_bits(struct cell a, struct cell b) {
    return 4 * fmax(magnitude(a) + a.error, magnitude(b) + b.error) + 1;  // no bit above the highest of both
}

// A count outside [0, 63] shifts everything out.
static double error_of_shift(enum ir_opcode code, struct cell a, struct cell b) {
    bool outside = b.integer < 0 || b.integer > 63;
    if (b.error > 0)
        return ANYTHING;
    if (code == OP_SHL)
        return outside ? 0 : ldexp(a.error, (int)b.integer);
    return ldexp(a.error, outside ? -63 : -(int)b.integer) + 1;
}

static double least_of(enum ir_type type) {
    return type == TYPE_I8 ? -0x1p7 : type == TYPE_U8 ? 0 : type == TYPE_I32 ? -0x1p31 : -0x1p63;
}

static double count_of_type(enum ir_type type) {
    return type == TYPE_I8 || type == TYPE_U8 ? 0x1p8 : type == TYPE_I32 ? 0x1p32 : 0x1p64;
}

// Integers wrap: one that lies as near to an end of its type's range as it may be off may be any.
static double error_with_wrap(enum ir_type type, struct cell r, double error) {
    double least = least_of(type), count = count_of_type(type), value = (double)r.integer;
    if (!(error > 0) || type == TYPE_BOOL)
        return error > 0 ? 1 : 0;
    return value - error < least || value + error >= least + count ? count : error;
}

static double error_of_integer(enum ir_opcode code, struct cell a, struct cell b, struct cell c, struct cell r) {
    switch (code) {
    case OP_ADD:
    case OP_SUB:
        return a.error + b.error;
    case OP_MUL:
        return magnitude(a) * b.error + magnitude(b) * a.error + a.error * b.error;
    case OP_FMA:
        return magnitude(a) * b.error + magnitude(b) * a.error + a.error * b.error + c.error;
    case OP_DIV:
    case OP_CDIV:
        return error_of_quotient(a, b, r);
    case OP_MOD:
        return b.error > 0 ? ANYTHING : magnitude(b);
    case OP_MIN:
    case OP_MAX:
        return fmax(a.error, b.error);
    case OP_CLAMP:
        return fmax(a.error, fmax(b.error, c.error));
    case OP_SHL:
    case OP_SHR:
        return error_of_shift(code, a, b);
    case OP_AND:
    case OP_OR:
    case OP_XOR:
        return error_of_bits(a, b);
    default:  // its operand's, as it is: NEG, ABS, NOT, RELU
        return a.error;
    }
}

static double error_in_i64(enum ir_opcode code, struct cell a, struct cell b, struct cell c, struct cell r) {
    return error_with_wrap(TYPE_I64, r, error_of_integer(code, a, b, c, r));
}

// One that certainly decides leaves no doubt.
static double error_of_condition(enum ir_opcode code, struct cell a, struct cell b) {
    bool decides = code == OP_LOR || code == OP_OR, by_one = code == OP_LAND || code == OP_AND || decides;
    if (by_one && ((!a.error && (a.integer != 0) == decides) || (!b.error && (b.integer != 0) == decides)))
        return 0;
    return a.error > 0 || b.error > 0;
}

static double error_of_comparison(bool floating, struct cell a, struct cell b) {
    double errors = a.error + b.error;
    if (!(errors > 0) || isinf(errors))
        return errors > 0;
    return floating ? fabs(a.number - b.number) <= 4 * errors : fabs((double)a.integer - (double)b.integer) <= errors;
}

void error_integers(const struct ir_op *op, int64_t count, struct cell *r, const struct cell *const *operands) {
    bool floating = ir_type_is_float(op->operands[0]->type), condition = op->results[0]->type == TYPE_BOOL;
    for (int64_t i = 0; i < count; i++) {
        struct cell a = operands[0][i], b = op->operand_count > 1 ? operands[1][i] : (struct cell){0},
                    c = op->operand_count > 2 ? operands[2][i] : (struct cell){0};
        r[i].error = 0;
        if (!(a.error > 0) && !(b.error > 0) && !(c.error > 0))
            continue;
        if (ir_ops[op->code].rule == RULE_COMPARE)
            r[i].error = error_of_comparison(floating, a, b);
        else if (op->code != OP_ISNAN)
            r[i].error = condition ? error_of_condition(op->code, a, b) : error_in_i64(op->code, a, b, c, r[i]);
        else
            r[i].error = isinf(a.error);
    }
}

void error_select(bool floating, struct cell *r, struct cell condition, struct cell yes, struct cell no) {
    if (!(condition.error > 0))
        return;
    bool alike = floating ? yes.number == no.number || (isnan(yes.number) && isnan(no.number))
                          : yes.integer == no.integer;
    double between = floating ? fabs(yes.number - no.number) : fabs((double)yes.integer - (double)no.integer);
    if (!alike && !floating)
        between = fmax(between, 1);  // large ones may be the same number in f64
    r->error = fmax(yes.error, no.error) + (alike ? 0 : isfinite(between) ? between : INFINITY);
}

void error_truncated(enum ir_type type, struct cell *r, struct cell value) {
    struct ir_scalar low = {.number = value.number - 4 * value.error}, high = {.number = value.number + 4 * value.error};
    r->error = 0;
    if (!(value.error > 0))
        return;
    if (isinf(value.error)) {
        r->error = type == TYPE_BOOL ? 1 : ANYTHING;
        return;
    }
    double below = (double)element_cast(type, TYPE_F64, low).integer, above = (double)element_cast(type, TYPE_F64, high).integer;
    if (type == TYPE_BOOL)
        r->error = low.number <= 0 && high.number >= 0;
    else
        r->error = fmax((double)r->integer - below, above - (double)r->integer);
}

void error_of_conversion(enum ir_type type, struct cell *r, int64_t value) {
    if (ir_type_is_float(type)) {
        bool exact = value >= -(1LL << 53) && value <= 1LL << 53 && r->number == (double)value;
        r->error += exact ? 0 : unit_roundoff(type) * fabs(r->number);
    } else if (type == TYPE_BOOL) {
        r->error = fabs((double)value) <= r->error && r->error > 0;
    } else {
        r->error = error_with_wrap(type, *r, r->error);
    }
}

double error_combined(enum ir_reduction reduction, struct cell a, struct cell b, struct cell r) {
    if (reduction == RED_SUM)
        return error_in_i64(OP_ADD, a, b, a, r);
    if (reduction == RED_PROD)
        return error_in_i64(OP_MUL, a, b, a, r);
    if (reduction == RED_ANY || reduction == RED_ALL)
        return error_of_condition(reduction == RED_ANY ? OP_LOR : OP_LAND, a, b);
    return fmax(a.error, b.error);
}
