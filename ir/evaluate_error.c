// SPDX-License-Identifier: Apache-2.0
// How far off a right program may be. In: what an operation computed, of what, and how far off that may be. Out: the same
// of its result.
// The one idea: running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.3). A
// value carries its error's size along; an operation passes on those of its operands, each times its own derivative, and
// adds its own rounding, in the type that a target computes in. So every element has a bound of its own: cancellation
// widens it, a large neighbour doesn't. What a target computes without any rounding has no error. What lies so near to
// where it would be no number, or be infinite, that it may be that as well, has an infinite one: it may be anything.
#include <float.h>
#include <math.h>

#include "ir/element.h"
#include "ir/evaluate.h"

double unit_roundoff(enum ir_type type) {
    return type == TYPE_F16 ? 0x1p-11 : type == TYPE_BF16 ? 0x1p-8 : type == TYPE_F32 ? 0x1p-24 : 0x1p-53;
}

// An error that isn't a number comes from infinite operands: they have no rounding.
static double error_or_none(double value, double error) {
    return isfinite(value) && error > 0 ? error : 0;
}

// ---------------------------------------------------------------------------------------------- without rounding

static bool sum_is_exact(double a, double b) {
    double sum = a + b, second = sum - a;  // Knuth's TwoSum
    return (a - (sum - second)) + (b - second) == 0;
}

// Whether r is exactly what the operation gives; in f64 a target may still round otherwise, by a fused multiply-add.
static bool is_exact_in_f64(enum ir_opcode code, double a, double b, double c, double r) {
    switch (code) {
    case OP_ADD:
        return sum_is_exact(a, b);
    case OP_SUB:
        return sum_is_exact(a, -b);
    case OP_MUL:
        return fabs(r) > 0x1p-900 && fma(a, b, -r) == 0;
    case OP_FMA:
        return fabs(a * b) > 0x1p-900 && fma(a, b, -(a * b)) == 0 && sum_is_exact(a * b, c);
    case OP_DIV:
        return fma(r, b, -a) == 0;
    default:
        return fma(r, r, -a) == 0;
    }
}

// Of exact operands, what a target computes with one rounding at most has none where the result is a number of its
// type; f64's own rounding of it doesn't reach that far. Tiny ones may be flushed to 0.
static bool is_exact(enum ir_opcode code, double unit, struct cell a, struct cell b, struct cell c, double r) {
    if (a.error != 0 || b.error != 0 || c.error != 0)
        return false;
    bool rounds_once = code == OP_ADD || code == OP_SUB || code == OP_MUL || code == OP_FMA || code == OP_DIV ||
                       code == OP_SQRT;
    int exponent;  // a quotient may be a product with the reciprocal, which only a power of two has
    if (!rounds_once || !isfinite(r) || (code == OP_DIV && fabs(frexp(b.number, &exponent)) != 0.5))
        return false;
    if (unit == 0x1p-53)
        return is_exact_in_f64(code, a.number, b.number, c.number, r);
    return r == (double)(float)r && (fabs(r) >= FLT_MIN || r == 0);
}

// ---------------------------------------------------------------------------------------------- near a boundary

static bool may_be_zero(struct cell a) {
    return a.error > 0 && fabs(a.number) <= 4 * a.error;
}

// Where the result may be NaN or infinite although it isn't, or the other way round.
static bool may_be_undefined(enum ir_opcode code, bool never_negative, struct cell a, struct cell b) {
    switch (code) {
    case OP_SQRT:
        return a.error > 0 && !never_negative && a.number < 4 * a.error && a.number >= -4 * a.error;
    case OP_RSQRT:
    case OP_LOG:
    case OP_LOG2:
        return may_be_zero(a);
    case OP_DIV:
        return may_be_zero(b) || (b.number == 0 && may_be_zero(a));
    case OP_MOD:
        return may_be_zero(b);
    case OP_MUL:
    case OP_FMA:
        return (isinf(a.number) && may_be_zero(b)) || (isinf(b.number) && may_be_zero(a));
    default:
        return false;
    }
}

// Whatever its rounding errors are, as by its operation.
static bool is_never_negative(const struct ir_value *value) {
    const struct ir_op *def = value->region ? NULL : value->def;
    if (!def)
        return false;
    if (def->code == OP_MUL)
        return def->operands[0] == def->operands[1];
    if (def->code == OP_MAX) {
        const struct ir_op *floor = def->operands[1]->region ? NULL : def->operands[1]->def;
        return floor && floor->code == OP_CONST && floor->number >= 0;
    }
    return def->code == OP_ABS || def->code == OP_RELU || def->code == OP_EXP || def->code == OP_EXP2 ||
           def->code == OP_SQRT || def->code == OP_SIGMOID;
}

// ---------------------------------------------------------------------------------------------- operations

// One of two was taken; where they are so near that the other might have been, either's error.
static double error_of_choice(struct cell a, struct cell b, double taken) {
    if (fabs(a.number - b.number) <= 4 * (a.error + b.error))
        return fmax(a.error, b.error);
    return taken == a.number ? a.error : b.error;
}

static double error_of_step(enum ir_opcode code, struct cell a) {
    double margin = 4 * a.error, low = a.number - margin, high = a.number + margin;
    if (code == OP_FLOOR)
        return floor(low) != floor(high) ? 1 + a.error : 0;
    if (code == OP_CEIL)
        return ceil(low) != ceil(high) ? 1 + a.error : 0;
    return rint(low) != rint(high) ? 1 + a.error : 0;
}

static double error_of_remainder(struct cell a, struct cell b, double r) {
    double error = a.error + fabs(trunc(a.number / b.number)) * b.error, size = fabs(b.number);
    return fabs(r) < 4 * error || size - fabs(r) < 4 * error ? size : error;  // near a jump
}

// The bound's own constants follow the accuracy that CUDA's and C's functions state: a few units in the last place.
static double error_of(enum ir_opcode code, double unit, struct cell a, struct cell b, struct cell c, double r) {
    double x = fabs(a.number), y = fabs(b.number), size = fabs(r);
    switch (code) {
    case OP_ADD:
    case OP_SUB:
        return a.error + b.error + unit * size;
    case OP_MUL:
        return x * b.error + y * a.error + unit * size;
    case OP_FMA:
        return x * b.error + y * a.error + c.error + unit * (size + x * y);
    case OP_DIV:
        return (a.error + size * b.error) / y + 2 * unit * size;
    case OP_MOD:
        return error_of_remainder(a, b, r);
    case OP_MIN:
    case OP_MAX:
        return error_of_choice(a, b, r);
    case OP_CLAMP:
        return r == a.number ? a.error : r == b.number ? error_of_choice(b, a, r) : error_of_choice(c, a, r);
    case OP_EXP:
    case OP_EXP2:
        return size * ((a.error > 0.125 ? expm1(4 * a.error) / 4 : a.error) + unit * (4 + 2 * x));
    case OP_LOG:
    case OP_LOG2:
        return 1.5 * a.error / x + 4 * unit * fmax(1, size);
    case OP_SQRT:
        return fmin(a.error / (2 * size), sqrt(a.error)) + 2 * unit * size;
    case OP_RSQRT:
        return size * (a.error / (2 * x) + 4 * unit);
    case OP_SIN:
    case OP_COS:
        return a.error + 4 * unit;
    case OP_SIGMOID:
        return 0.25 * a.error + unit * size * (8 + (1 - r) * x);
    case OP_SILU:
    case OP_GELU:
        return 1.2 * a.error + unit * (size * (8 + x) + (code == OP_GELU ? 4 * x : 0));
    case OP_TANH:
    case OP_ERF:
        return 1.2 * a.error + 8 * unit * size;
    case OP_FLOOR:
    case OP_CEIL:
    case OP_ROUND:
        return error_of_step(code, a);
    default:  // its operand's, as it is: NEG, ABS, RELU
        return a.error;
    }
}

static double error_with_boundaries(enum ir_opcode code, double unit, bool never_negative, struct cell a,
                                    struct cell b, struct cell c, double r) {
    if (is_exact(code, unit, a, b, c, r))
        return 0;
    if (isinf(a.error) || isinf(b.error) || isinf(c.error) || may_be_undefined(code, never_negative, a, b))
        return INFINITY;
    return error_or_none(r, error_of(code, unit, a, b, c, r));
}

void error_elementwise(const struct ir_op *op, int64_t count, struct cell *r, const struct cell *const *operands) {
    double unit = unit_roundoff(ir_type_compute(op->results[0]->type));
    bool never_negative = is_never_negative(op->operands[0]);
    for (int64_t i = 0; i < count; i++)
        r[i].error = error_with_boundaries(op->code, unit, never_negative, operands[0][i], operands[1][i],
                                           operands[2][i], r[i].number);
}

// What rounds to infinity: the largest number and half a unit in its last place.
static double overflows_at(enum ir_type type, double unit) {
    return type == TYPE_F64 ? INFINITY : (2 - unit) * (type == TYPE_F16 ? 0x1p15 : 0x1p127);
}

void error_rounding(enum ir_type type, struct cell *cells, int64_t count) {
    double unit = unit_roundoff(type), limit = overflows_at(type, unit);
    for (int64_t i = 0; i < count; i++) {
        double value = cells[i].number, size = fabs(value), error = cells[i].error;
        if (isinf(error) || (error == 0 && ir_round_to(type, value) == value))
            continue;
        bool may_overflow = size - 4 * error < limit && size + 4 * error >= limit;
        cells[i].error = may_overflow && error > 0 ? INFINITY : error_or_none(value, error + unit * size);
    }
}

double error_of_product(double unit, struct cell a, struct cell b, double r) {
    return error_with_boundaries(OP_MUL, unit, false, a, b, a, r);
}

double error_of_extreme(struct cell a, struct cell b, double r) {
    return error_with_boundaries(OP_MAX, 0, false, a, b, a, r);
}
