// SPDX-License-Identifier: Apache-2.0
// How far off a right program's sums of floating numbers may be, in whatever order it adds. In: the numbers, one by
// one. Out: the error of their sum.
// The one idea: roundings are a random walk, as large as the partial sums are (Higham and Mary, A new approach to
// probabilistic rounding error analysis, 2019), unless what is added has a pattern: then all of them may go one way.
// How far that leads is seen by adding in f32 along, in one row of partial sums, where they grow largest, and in a few
// lanes; more lanes have smaller partial sums and less of it. A tile's sum that is added to what a loop carries
// goes on from that.
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/evaluate.h"

// The exponent of the lowest bit that is set, from 1 on.
static int lowest_bit(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    return exponent ? exponent + __builtin_ctzll((bits & 0xfffffffffffff) | 0x10000000000000) : 1;
}

// Whole multiples of one power of two, so few that every partial sum is a number of the type: no order rounds.
static bool no_order_rounds(const struct sum_so_far *sum, double unit) {
    return !sum->lowest || (sum->lowest > 1000 && sum->magnitude * unit <= ldexp(1, sum->lowest - 1075));
}

// In f64, whose errors hide nothing, an eighth of the worst case stands for a pattern.
static double sum_rounding(const struct sum_so_far *sum, double unit) {
    double length = (double)sum->count, size = fmax(sum->greatest, sqrt(sum->squares));
    if (unit == 0x1p-53)
        return (4 + fmax(sqrt(length), length / 8)) * unit * size;
    return (4 + sqrt(length)) * unit * size + fmax(fabs(sum->serial_drift), fabs(sum->lanes_drift));
}

double sum_error(const struct sum_so_far *sum, double unit, bool plain) {
    if ((sum->count <= 1 && sum->base == 0) || (plain && no_order_rounds(sum, unit)))
        return sum->error;
    return sum->error + sum_rounding(sum, unit);
}

// The squares of deviations from a mean may be summed up by other formulas than the program's.
bool sum_is_plain(const struct ir_value *summed) {
    const struct ir_op *def = summed->region ? NULL : summed->def;
    if (def && (def->code == OP_CAST || def->code == OP_BROADCAST || def->code == OP_SELECT))
        return sum_is_plain(def->operands[def->operand_count - 1]) &&
               (def->code != OP_SELECT || sum_is_plain(def->operands[1]));
    return def && def->code != OP_MUL && def->code != OP_FMA && def->code != OP_DOT;
}

// What the loop around carries and this result is added to: the sum goes on from there. NULL: nothing.
static const struct ir_value *carried_into(const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    for (const struct ir_op *user = op->next; user; user = user->next) {
        if (user->code != OP_ADD || (user->operands[0] != result && user->operands[1] != result))
            continue;
        const struct ir_value *other = user->operands[user->operands[0] == result];
        if (other->region == op->parent && !(other->axes & ~result->axes) && ir_type_is_float(other->type))
            return other;
    }
    return NULL;
}

struct sum_so_far *sums_new(struct evaluator *evaluator, const struct ir_op *op, axes_t axes) {
    int64_t count = count_of(evaluator, axes);
    struct sum_so_far *sums = scratch_take(evaluator, evaluator->depth, (size_t)count * sizeof *sums);
    const struct ir_value *carried = carried_into(op);
    bool goes_on = carried && !(carried->axes & ~axes) && evaluator->cells[carried->id];
    const struct cell *base = goes_on ? expand(evaluator, evaluator->cells[carried->id], carried->axes, axes) : NULL;
    for (int64_t i = 0; i < count; i++) {
        double from = base && isfinite(base[i].number) ? base[i].number : 0;
        sums[i] = (struct sum_so_far){.base = from, .serial = (float)from, .greatest = fabs(from), .magnitude = fabs(from)};
        sums[i].lowest = from != 0 ? lowest_bit(from) : 0;
        for (int lane = 0; lane < SUM_LANES; lane++)
            sums[i].lanes[lane] = (float)(from / SUM_LANES);
    }
    return sums;
}

// Adds in f32; returns what the rounding took away.
static double add_rounded(float *total, float value) {
    double exact = (double)*total + (double)value;
    *total = (float)exact;
    return isfinite(*total) ? exact - (double)*total : 0;
}

void sum_take(struct sum_so_far *sum, double value, double error, double total) {
    sum->error += error;
    if (!isfinite(value))
        return;
    float *lane = &sum->lanes[sum->count++ % SUM_LANES];
    sum->serial_drift += add_rounded(&sum->serial, (float)value);
    sum->lanes_drift += add_rounded(lane, (float)value);
    sum->squares += value * value;
    sum->magnitude += fabs(value);
    double size = fmax(fabs(sum->base + total), fabs((double)*lane));
    if (size > sum->greatest && isfinite(size))
        sum->greatest = size;
    if (value != 0 && (!sum->lowest || lowest_bit(value) < sum->lowest))
        sum->lowest = lowest_bit(value);
}
