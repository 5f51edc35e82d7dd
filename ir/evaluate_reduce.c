// SPDX-License-Identifier: Apache-2.0
// Reductions and scans of the reference evaluator. In: a value, the axes it goes over. Out: one result per point of the
// other axes, over the active points of the present tile. The one idea: walk the points of result and reduced axes
// together in order, and combine each active one into the slot that it lies over.
#include "ir/element.h"
#include "ir/evaluate.h"

static struct cell identity(enum ir_reduction reduction, enum ir_type type) {
    bool floating = ir_type_is_float(type), highest = reduction == RED_MIN;
    struct cell cell = {{0}, 0};
    switch (reduction) {
    case RED_PROD:
        if (floating)
            cell.number = 1;
        else
            cell.integer = 1;
        return cell;
    case RED_MAX:
    case RED_MIN:
        if (floating)
            cell.number = highest ? INFINITY : -INFINITY;
        else
            cell.integer = ir_integer_of(type, highest ? INFINITY : -INFINITY);
        if (type == TYPE_BOOL)
            cell.integer = highest;
        return cell;
    case RED_ALL:
        cell.integer = 1;
        return cell;
    case RED_ARGMAX:
    case RED_ARGMIN:
        cell.integer = -1;
        return cell;
    default:
        if (floating)
            cell.number = 0;
        return cell;
    }
}

static double combine_floats(enum ir_reduction reduction, double a, double b) {
    switch (reduction) {
    case RED_SUM:
        return a + b;
    case RED_PROD:
        return a * b;
    case RED_MAX:
        return element_max(a, b);
    default:
        return element_min(a, b);
    }
}

static int64_t combine_integers(enum ir_reduction reduction, int64_t a, int64_t b) {
    switch (reduction) {
    case RED_SUM:
        return element_add(a, b);
    case RED_PROD:
        return element_mul(a, b);
    case RED_MAX:
        return element_greatest(a, b);
    case RED_MIN:
        return element_least(a, b);
    case RED_ANY:
        return a || b;
    default:
        return a && b;
    }
}

static struct cell combine(enum ir_reduction reduction, bool floating, struct cell a, struct cell b) {
    if (floating)
        a.number = combine_floats(reduction, a.number, b.number);
    else
        a.integer = combine_integers(reduction, a.integer, b.integer);
    return a;
}

// The same, and how far off the result may be. `sum`, of floating numbers: its own rounding is added at the end; else NULL.
static struct cell combine_with_error(enum ir_reduction reduction, double unit, struct cell a, struct cell b, struct sum_so_far *sum) {
    struct cell r = combine(reduction, sum != NULL, a, b);
    if (!sum)
        r.error = error_combined(reduction, a, b, r);
    else if (reduction == RED_SUM)
        sum_take(sum, b.number, b.error, r.number);
    else
        r.error = reduction == RED_PROD ? error_of_product(unit, a, b, r.number) : error_of_extreme(a, b, r.number);
    return r;
}

// ---------------------------------------------------------------------------------------------- slots

// From the points of one set of axes to those of a subset: slot = outer[i] * box + inner[j].
struct slots {
    const int32_t *outer, *inner;
    int64_t points, point_box, slot_box;
};

static struct slots slots_between(struct evaluator *evaluator, axes_t from, axes_t to) {
    axes_t inner = evaluator->inner;
    return (struct slots){
        .outer = map_between(evaluator, from & ~inner, to & ~inner),
        .inner = inner_map_between(evaluator, from & inner, to & inner),
        .points = space_of(evaluator, from)->count,
        .point_box = box_of(evaluator, from),
        .slot_box = box_of(evaluator, to),
    };
}

static int64_t slot_at(const struct slots *slots, int64_t i, int64_t j) {
    return (slots->outer ? slots->outer[i] : i) * slots->slot_box + (slots->inner ? slots->inner[j] : j);
}

static const struct cell *reduced_points(struct evaluator *evaluator, const struct ir_op *op, axes_t axes) {
    const struct cell *active = active_at(evaluator, axes);
    if (!op->predicated)
        return active;
    struct mask *predicate = mask_and(evaluator, evaluator->mask, axes, operand_on(evaluator, op, op->operand_count - 1, axes), false);
    struct mask *around = evaluator->mask;
    evaluator->mask = predicate;
    active = active_at(evaluator, axes);
    evaluator->mask = around;
    return active;
}

// ---------------------------------------------------------------------------------------------- reduce

static void reduce_values(const struct ir_op *op, const struct slots *slots, const struct cell *value, const struct cell *active,
                          struct cell *out) {
    bool floating = ir_type_is_float(op->results[0]->type);
    for (int64_t i = 0, point = 0; i < slots->points; i++) {
        for (int64_t j = 0; j < slots->point_box; j++, point++) {
            if (active && !active[point].integer)
                continue;
            struct cell *slot = &out[slot_at(slots, i, j)];
            *slot = combine(op->reduction, floating, *slot, value[point]);
        }
    }
}

static void reduce_with_errors(struct evaluator *evaluator, const struct ir_op *op, const struct slots *slots, const struct cell *value,
                               const struct cell *active, struct cell *out) {
    int64_t count = count_of(evaluator, op->results[0]->axes);
    double unit = unit_roundoff(ir_type_compute(op->results[0]->type));
    bool floating = ir_type_is_float(op->results[0]->type);
    struct sum_so_far *sums = floating ? sums_new(evaluator, op, op->results[0]->axes) : NULL;
    bool plain = sum_is_plain(op->operands[0]);
    for (int64_t i = 0, point = 0; i < slots->points; i++) {
        for (int64_t j = 0; j < slots->point_box; j++, point++) {
            int64_t slot = slot_at(slots, i, j);
            if (!active || active[point].integer)
                out[slot] = combine_with_error(op->reduction, unit, out[slot], value[point], sums ? &sums[slot] : NULL);
        }
    }
    for (int64_t i = 0; sums && i < count && op->reduction == RED_SUM; i++)
        out[i].error = sum_error(&sums[i], unit, plain);
}

// Whether `a` comes before `b` in the order that argmax looks for the first of; NaN is the greatest (argmin: the least).
static bool beats(enum ir_reduction reduction, bool floating, struct cell a, struct cell b) {
    bool greatest = reduction == RED_ARGMAX;
    if (!floating)
        return greatest ? a.integer > b.integer : a.integer < b.integer;
    if (isnan(a.number) || isnan(b.number))
        return isnan(a.number) && !isnan(b.number);
    return greatest ? a.number > b.number : a.number < b.number;
}

// Where others are as near to the best as their errors, any of them may be found.
static void doubt_positions(const struct ir_op *op, const struct slots *slots, const struct cell *value, const struct cell *active,
                            const struct cell *positions, const struct cell *best, struct cell *out) {
    bool floating = ir_type_is_float(op->operands[0]->type);
    for (int64_t i = 0, point = 0; i < slots->points; i++) {
        for (int64_t j = 0; j < slots->point_box; j++, point++) {
            int64_t slot = slot_at(slots, i, j);
            double errors = value[point].error + best[slot].error;
            if (!(errors > 0) || (active && !active[point].integer))
                continue;
            double behind = floating ? fabs(value[point].number - best[slot].number) / 4
                                     : fabs((double)value[point].integer - (double)best[slot].integer);
            if (behind <= errors || isinf(errors))
                out[slot].error = fmax(out[slot].error, fabs((double)positions[point].integer - (double)out[slot].integer));
        }
    }
}

static void reduce_positions(struct evaluator *evaluator, const struct ir_op *op, const struct slots *slots, const struct cell *value,
                             const struct cell *active, struct cell *out) {
    bool floating = ir_type_is_float(op->operands[0]->type);
    int axis = __builtin_ctzll(op->over);
    const struct cell *positions = positions_on(evaluator, axis, op->results[0]->axes | op->over);
    int64_t count = count_of(evaluator, op->results[0]->axes);
    struct cell *best = cells_new(evaluator, count), *seen = cells_new(evaluator, count);
    for (int64_t i = 0; i < count; i++)
        seen[i].integer = false;
    for (int64_t i = 0, point = 0; i < slots->points; i++) {
        for (int64_t j = 0; j < slots->point_box; j++, point++) {
            if (active && !active[point].integer)
                continue;
            int64_t slot = slot_at(slots, i, j), position = positions[point].integer;
            bool first = !seen[slot].integer;
            bool better = first || beats(op->reduction, floating, value[point], best[slot]);
            bool worse = !first && beats(op->reduction, floating, best[slot], value[point]);
            if (better || (!worse && position < out[slot].integer)) {
                best[slot] = value[point];
                out[slot].integer = position;
                seen[slot].integer = true;
            }
        }
    }
    if (evaluator->evaluation->errors)
        doubt_positions(op, slots, value, active, positions, best, out);
}

void evaluate_reduce(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    axes_t axes = result->axes | op->over;
    const struct cell *value = operand_on(evaluator, op, 0, axes);
    const struct cell *active = reduced_points(evaluator, op, axes);
    struct slots slots = slots_between(evaluator, axes, result->axes);
    int64_t count = count_of(evaluator, result->axes);
    struct cell *out = cells_new(evaluator, count), start = identity(op->reduction, op->operands[0]->type);
    for (int64_t i = 0; i < count; i++)
        out[i] = start;
    if (op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN)
        reduce_positions(evaluator, op, &slots, value, active, out);
    else if (evaluator->evaluation->errors)
        reduce_with_errors(evaluator, op, &slots, value, active, out);
    else
        reduce_values(op, &slots, value, active, out);
    evaluator->cells[result->id] = out;
    count_steps(evaluator, op, count_of(evaluator, axes));
}

// ---------------------------------------------------------------------------------------------- scan

// Points come in order of their numbers, so those of one line come in the order of the axis.
void evaluate_scan(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    axes_t axes = result->axes, lines = axes & ~op->over;
    bool floating = ir_type_is_float(result->type);
    const struct cell *value = operand_on(evaluator, op, 0, axes), *active = reduced_points(evaluator, op, axes);
    struct slots slots = slots_between(evaluator, axes, lines);
    int64_t line_count = count_of(evaluator, lines), count = count_of(evaluator, axes);
    struct cell *running = cells_new(evaluator, line_count), *out = cells_new(evaluator, count);
    bool errors = evaluator->evaluation->errors != NULL;
    struct sum_so_far *sums = errors && floating ? sums_new(evaluator, op, lines) : NULL;
    bool plain = sum_is_plain(op->operands[0]);
    double unit = unit_roundoff(ir_type_compute(result->type));
    for (int64_t i = 0; i < line_count; i++)
        running[i] = identity(op->reduction, result->type);
    for (int64_t i = 0, point = 0; i < slots.points; i++) {
        for (int64_t j = 0; j < slots.point_box; j++, point++) {
            int64_t slot = slot_at(&slots, i, j);
            struct cell *line = &running[slot];
            if (!active || active[point].integer)
                *line = errors ? combine_with_error(op->reduction, unit, *line, value[point], sums ? &sums[slot] : NULL)
                               : combine(op->reduction, floating, *line, value[point]);
            out[point] = *line;
            if (sums && op->reduction == RED_SUM)
                out[point].error = sum_error(&sums[slot], unit, plain);
        }
    }
    evaluator->cells[result->id] = out;
    count_steps(evaluator, op, count);
}
