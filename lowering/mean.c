// SPDX-License-Identifier: Apache-2.0
// Whether a number is the mean of what a loop has summed: its sum over as many as there are points, in whatever order
// it is divided,
//
//     total / f32(length * M)    total / f32(length) / f32(M)    total * (1 / max(f32(length), 1))
//     length > 0 ? total / f32(length) : 0
//
// Rounding leaves it one: of the count that is converted, of the quotients. A conversion to fewer digits doesn't.
#include <math.h>

#include "lowering/moments.h"

enum { MAX_FACTORS = 16 };

struct factors {  // of a count
    int count;
    const struct ir_value *items[MAX_FACTORS];  // NULL: found already
    double constant;
    bool unknown;  // there are more
};

static const struct ir_op *def_of(const struct ir_value *value) {
    return value->region ? NULL : value->def;
}

static bool constant_number(const struct ir_value *value, double *out) {
    if (!is_constant(value))
        return false;
    *out = ir_type_is_float(value->type) ? value->def->number : (double)value->def->integer;
    return true;
}

static bool is_at_most_one(const struct ir_value *value) {
    double number;
    return constant_number(value, &number) && number <= 1;
}

// Conversions that keep a count but for rounding, and `max(n, 1)`, which differs where there is no point.
static const struct ir_value *same_count(const struct ir_value *value) {
    const struct ir_op *def = def_of(value);
    if (!def)
        return NULL;
    if (def->code == OP_MAX && is_at_most_one(def->operands[1]))
        return def->operands[0];
    if (def->code == OP_MAX && is_at_most_one(def->operands[0]))
        return def->operands[1];
    if (def->code == OP_CAST && value->type == ir_type_compute(value->type) &&
        (ir_type_is_integer(def->operands[0]->type) || ir_type_is_float(value->type)))
        return def->operands[0];
    return def->code == OP_BROADCAST ? def->operands[0] : NULL;
}

static void add_factors(struct factors *factors, const struct ir_value *value) {
    double number;
    for (const struct ir_value *same; (same = same_count(value));)
        value = same;
    const struct ir_op *def = def_of(value);
    if (constant_number(value, &number)) {
        factors->constant *= number;
    } else if (def && def->code == OP_MUL) {
        add_factors(factors, def->operands[0]);
        add_factors(factors, def->operands[1]);
    } else if (factors->count < MAX_FACTORS) {
        factors->items[factors->count++] = value;
    } else {
        factors->unknown = true;
    }
}

// ---------------------------------------------------------------------------------------------- how many points

// hi - lo, where the program has such a number; constants and loops from 0 need none.
static void add_extent(struct factors *points, const struct ir_value *lo, const struct ir_value *hi,
                       const struct factors *divisor) {
    int64_t first, last;
    if (!is_integer_constant(lo, &first)) {
        for (int i = 0; i < divisor->count; i++) {
            const struct ir_op *def = def_of(divisor->items[i]);
            if (def && def->code == OP_SUB && def->operands[0] == hi && def->operands[1] == lo) {
                add_factors(points, divisor->items[i]);
                return;
            }
        }
        points->unknown = true;
    } else if (is_integer_constant(hi, &last)) {
        points->constant *= last > first ? (double)(last - first) : 0;
    } else if (first == 0) {
        add_factors(points, hi);
    } else {
        points->unknown = true;
    }
}

// Of the loops from `loop` down to the reduction, and of the axes that it covers whole.
static struct factors count_points(const struct ir_kernel *kernel, const struct ir_op *loop, const struct ir_op *reduce,
                                   const struct factors *divisor) {
    struct factors points = {.constant = 1};
    axes_t left = reduce->over;
    int64_t extent;
    for (const struct ir_op *op = reduce->parent->owner;; op = op->parent->owner) {
        points.unknown |= !(left & AXIS_BIT(op->axis));
        left &= ~AXIS_BIT(op->axis);
        add_extent(&points, op->operands[0], op->operands[1], divisor);
        if (op == loop)
            break;
    }
    for (int a = 0; a < kernel->axis_count; a++) {
        const struct ir_axis *axis = &kernel->axes[a];
        if (!(left & AXIS_BIT(a)))
            continue;
        if (axis->kind == AXIS_FULL && axis->hi && is_integer_constant(axis->hi, &extent))
            points.constant *= (double)extent;
        else
            points.unknown = true;
    }
    return points;
}

// Whether each of `some` is one of `all`.
static bool are_among(const struct factors *some, struct factors all) {
    for (int i = 0; i < some->count; i++) {
        int at = 0;
        while (at < all.count && all.items[at] != some->items[i])
            at++;
        if (at == all.count)
            return false;
        all.items[at] = NULL;
    }
    return !some->unknown;
}

// ---------------------------------------------------------------------------------------------- the quotient

// `n > 0`, `n != 0`, `0 < n`: n. What is chosen where it doesn't hold counts only if there are points all the same.
static const struct ir_value *asked_for_points(const struct ir_value *condition) {
    const struct ir_op *def = def_of(condition);
    double number;
    if (!def || def->operand_count != 2)
        return NULL;
    if ((def->code == OP_GT || def->code == OP_NE) && constant_number(def->operands[1], &number) && number == 0)
        return def->operands[0];
    return def->code == OP_LT && constant_number(def->operands[0], &number) && number == 0 ? def->operands[1] : NULL;
}

// What the value is a quotient of: one step, whose divisor joins the others. NULL: it is none.
static const struct ir_value *dividend(const struct ir_value *value, struct factors *divisor, struct factors *asked) {
    const struct ir_op *def = def_of(value);
    double one;
    if (!def || (def->operand_count > 0 && def->operands[0]->type != value->type && def->code != OP_SELECT))
        return NULL;
    if (def->code == OP_BROADCAST)
        return def->operands[0];
    if (def->code == OP_DIV) {
        add_factors(divisor, def->operands[1]);
        return def->operands[0];
    }
    if (def->code == OP_SELECT) {
        const struct ir_value *count = asked_for_points(def->operands[0]);
        if (count)
            add_factors(asked, count);
        return count ? def->operands[1] : NULL;
    }
    for (int i = 0; def->code == OP_MUL && i < 2; i++) {
        const struct ir_op *share = def_of(def->operands[i]);
        if (is_constant(def->operands[i])) {
            divisor->constant /= share->number;
            return def->operands[1 - i];
        }
        if (share && share->code == OP_DIV && constant_number(share->operands[0], &one) && one == 1) {
            add_factors(divisor, share->operands[1]);
            return def->operands[1 - i];
        }
    }
    return NULL;
}

bool is_mean(const struct ir_kernel *kernel, const struct ir_value *value, const struct ir_op *loop,
             const struct ir_op *reduce) {
    struct factors divisor = {.constant = 1}, asked = {.constant = 1};
    while (value && value != loop->results[0])
        value = dividend(value, &divisor, &asked);
    if (!value)
        return false;
    struct factors points = count_points(kernel, loop, reduce, &divisor);
    double off = fabs(divisor.constant - points.constant);
    return !points.unknown && divisor.count == points.count && are_among(&divisor, points) &&
           off <= 1e-6 * points.constant && asked.constant > 0 && are_among(&asked, points);
}
