// SPDX-License-Identifier: Apache-2.0
// dot in the reference evaluator. In: two values, the axes to sum over. Out: the sums of their products.
// The one idea: the product is never written down; operands and sums are reached through maps from the points of all
// axes together, and the shapes that matter (a row of products to one sum, one factor times a row) have loops of their own.
#include <math.h>

#include "ir/element.h"
#include "ir/evaluate.h"

#define TF32_FACTORS (2.001 * 0x1p-11)  // two factors, each rounded to ten bits behind the first

struct side {  // an operand, or the sums: element = cells[outer[i] * box + inner[j]]
    struct cell *cells;
    const int32_t *outer, *inner;
    int64_t box;
};

static struct side side_on(struct evaluator *evaluator, const struct cell *cells, axes_t axes, axes_t all) {
    axes_t inner = evaluator->inner;
    return (struct side){
        .cells = (struct cell *)cells,
        .outer = map_between(evaluator, all & ~inner, axes & ~inner),
        .inner = inner_map_between(evaluator, all & inner, axes & inner),
        .box = box_of(evaluator, axes),
    };
}

static struct cell *row_at(const struct side *side, int64_t i) {
    return side->cells + (side->outer ? side->outer[i] : i) * side->box;
}

static int64_t column_at(const struct side *side, int64_t j) {
    return side->inner ? side->inner[j] : j;
}

struct dot {
    struct side a, b, sums;
    const struct cell *active_rows;  // on the outer axes, where the mask knows no inner ones; NULL: every row
    const struct cell *active;       // else on all axes; NULL: every point
    int64_t points, box;
    struct sum_so_far *errors;  // by sum; NULL: not asked for
    double unit;
    double rounding;            // of a factor, relative
};

static void dot_row_general(const struct dot *dot, int64_t i, bool floating) {
    struct cell *a = row_at(&dot->a, i), *b = row_at(&dot->b, i), *sums = row_at(&dot->sums, i);
    for (int64_t j = 0; j < dot->box; j++) {
        if (dot->active && !dot->active[i * dot->box + j].integer)
            continue;
        struct cell *sum = &sums[column_at(&dot->sums, j)], left = a[column_at(&dot->a, j)], right = b[column_at(&dot->b, j)];
        if (floating) {
            double product = left.number * right.number;
            sum->number += product;
            if (dot->errors)
                sum_take(&dot->errors[sum - dot->sums.cells], product,
                         error_of_product(dot->unit, left, right, product) + dot->rounding * fabs(product), sum->number);
        } else
            sum->integer = element_add(sum->integer, element_mul(left.integer, right.integer));
    }
}

// All of a row goes to one sum.
static void dot_row_inner(const struct dot *dot, int64_t i) {
    struct cell *a = row_at(&dot->a, i), *b = row_at(&dot->b, i);
    double sum = 0;
    for (int64_t j = 0; j < dot->box; j++)
        sum += a[j].number * b[j].number;
    row_at(&dot->sums, i)->number += sum;
}

// One factor for a whole row of the other operand, each to its own sum.
static void dot_row_scaled(const struct dot *dot, int64_t i, const struct side *one, const struct side *many) {
    double factor = row_at(one, i)->number;
    struct cell *values = row_at(many, i), *sums = row_at(&dot->sums, i);
    for (int64_t j = 0; j < dot->box; j++)
        sums[j].number += factor * values[j].number;
}

static void dot_rows(const struct dot *dot, bool floating) {
    bool plain = floating && !dot->active && !dot->errors;
    bool whole_a = !dot->a.inner, whole_b = !dot->b.inner, whole_sums = !dot->sums.inner;
    for (int64_t i = 0; i < dot->points; i++) {
        if (dot->active_rows && !dot->active_rows[i].integer)
            continue;
        if (plain && whole_a && whole_b && dot->sums.box == 1)
            dot_row_inner(dot, i);
        else if (plain && whole_sums && whole_b && dot->a.box == 1)
            dot_row_scaled(dot, i, &dot->a, &dot->b);
        else if (plain && whole_sums && whole_a && dot->b.box == 1)
            dot_row_scaled(dot, i, &dot->b, &dot->a);
        else
            dot_row_general(dot, i, floating);
    }
}

void evaluate_dot(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *result = op->results[0], *a = op->operands[0], *b = op->operands[1];
    axes_t all = result->axes | op->over;
    int64_t count = count_of(evaluator, result->axes);
    struct cell *sums = cells_new(evaluator, count);
    bool floating = ir_type_is_float(result->type);
    for (int64_t i = 0; i < count; i++)
        sums[i] = floating ? (struct cell){.number = 0} : (struct cell){.integer = 0};
    struct mask *around = evaluator->mask;
    if (op->predicated)
        evaluator->mask = mask_and(evaluator, around, op->operands[2]->axes, evaluator->cells[op->operands[2]->id], false);
    bool by_row = !(evaluator->mask->axes & evaluator->inner);
    struct dot dot = {
        .a = side_on(evaluator, evaluator->cells[a->id], a->axes, all),
        .b = side_on(evaluator, evaluator->cells[b->id], b->axes, all),
        .sums = side_on(evaluator, sums, result->axes, all),
        .active_rows = by_row ? active_at(evaluator, all & ~evaluator->inner) : NULL,
        .active = by_row ? NULL : active_at(evaluator, all),
        .points = space_of(evaluator, all)->count,
        .box = box_of(evaluator, all),
        .unit = unit_roundoff(ir_type_compute(result->type)),
        .rounding = evaluator->evaluation->tf32 && a->type == TYPE_F32 && b->type == TYPE_F32 ? TF32_FACTORS : 0,
    };
    evaluator->mask = around;
    if (floating && evaluator->evaluation->errors)
        dot.errors = sums_new(evaluator, op, result->axes);
    dot_rows(&dot, floating);
    for (int64_t i = 0; i < count && floating; i++)
        sums[i].error = dot.errors ? sum_error(&dot.errors[i], dot.unit, false) : 0;
    evaluator->cells[result->id] = sums;
    count_steps(evaluator, op, count_of(evaluator, all));
}
