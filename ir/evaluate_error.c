// SPDX-License-Identifier: Apache-2.0
// How far off a right program may be. In: what an operation computed, of what, and how far off that may be. Out: the same
// of its result.
// The one idea: running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.3). A
// value carries its error's size along; an operation passes on those of its operands, each times its own derivative, and
// adds its own rounding, in the type that a target computes in. So every element has a bound of its own: cancellation
// widens it, a large neighbour doesn't.
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
        return size * (a.error + unit * (4 + 2 * x));
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

void error_elementwise(const struct ir_op *op, int64_t count, struct cell *r, const struct cell *const *operands) {
    double unit = unit_roundoff(ir_type_compute(op->results[0]->type));
    for (int64_t i = 0; i < count; i++) {
        double error = error_of(op->code, unit, operands[0][i], operands[1][i], operands[2][i], r[i].number);
        r[i].error = error_or_none(r[i].number, error);
    }
}

void error_rounding(enum ir_type type, struct cell *cells, int64_t count) {
    double unit = unit_roundoff(type);
    for (int64_t i = 0; i < count; i++)
        cells[i].error = error_or_none(cells[i].number, cells[i].error + unit * fabs(cells[i].number));
}

// ---------------------------------------------------------------------------------------------- sums

// A sum's roundings are as large as its partial sums, which go by the order: by the greatest of them in this one, and by
// what numbers of random signs come to. They make a random walk, but of equal numbers all may go one way: with the factor
// that a comparison has, half of the worst case, which partial sums that grow evenly come to.
static double sum_rounding(const struct sum_so_far *sum, double unit) {
    double length = (double)sum->count;
    return (4 + fmax(sqrt(length), length / 8)) * unit * fmax(sum->greatest, sqrt(sum->squares));
}

double sum_error(const struct sum_so_far *sum, double unit) {
    return sum->error + (sum->count > 1 ? sum_rounding(sum, unit) : 0);
}

struct sum_so_far *sums_new(struct evaluator *evaluator, int64_t count) {
    struct sum_so_far *sums = scratch_take(evaluator, evaluator->depth, (size_t)count * sizeof *sums);
    for (int64_t i = 0; i < count; i++)
        sums[i] = (struct sum_so_far){0};
    return sums;
}

void sum_take(struct sum_so_far *sum, double value, double error, double total) {
    double size = fabs(total);
    if (!isfinite(value))
        return;
    sum->error += error;
    sum->squares += value * value;
    if (size > sum->greatest && isfinite(size))
        sum->greatest = size;
    sum->count++;
}

double error_of_product(double unit, struct cell a, struct cell b, double r) {
    return error_or_none(r, error_of(OP_MUL, unit, a, b, b, r));
}

double error_of_extreme(struct cell a, struct cell b, double r) {
    return error_or_none(r, error_of_choice(a, b, r));
}
