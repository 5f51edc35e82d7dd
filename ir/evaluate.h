// SPDX-License-Identifier: Apache-2.0
// What the parts of the reference evaluator share: private to ir/.
//
// note [how a tile is held]: loops run in steps; a step covers a tile of the loop's axis, some points of each row. A
// value on axes A is one flat array over the points of A in the present tiles, its *space*. Axes of loops, and full axes
// that are parents of a jagged one, are *outer*: they are enumerated row by row, in order of their numbers (parents come
// first), so that ragged rows take no padding. The other full axes are *inner*: a dense box per outer point. Which
// points are active is a mask on the axes of the conditions in force, seen from any other axes when it is asked for.
//
// note [lifetimes]: every loop around has a frame with memory of its own, emptied before each step. A space lives in the
// frame of the innermost axis it has, a value in the frame of the operation that makes it, carried values in the frame
// around their loop. Leaving early (an index outside, a limit) jumps straight to ir_evaluate, which frees all frames.
#ifndef TILEC_IR_EVALUATE_H
#define TILEC_IR_EVALUATE_H

#include <setjmp.h>

#include "ir/ir.h"

struct cell {  // an element: integer for bool and integers, number for floating types
    union {
        int64_t integer;
        double number;
    };
    double error;  // how far off it may be, of a bool 0 or 1 (evaluate_error.c); only where the evaluation asks for it
};

struct scratch {  // memory that is emptied at once
    struct scratch_block *first, *current;
};

struct point_map {  // for every point of a space, the point of a smaller one that it lies over
    axes_t to;
    int32_t *points;
    struct point_map *next;
};

struct space {
    axes_t axes;  // outer ones only
    int last;     // the axis enumerated innermost, -1 if there is none
    int64_t count;
    const struct space *prefix;  // without `last`
    int32_t *up;                 // the point of `prefix` that a point lies over
    int32_t *start;              // of each point of `prefix`, its first point
    int64_t *positions;          // on `last`
    struct point_map *maps;
    struct space *next;
};

struct tile {  // what an axis covers in the present step; rows are the points of its parents
    int64_t *start;      // per row, into positions; one more at the end
    int64_t *positions;
    int64_t *begin, *end, *id;  // per row
    int64_t size;               // the most points that a tile of this loop holds
};

struct frame {
    struct scratch scratch;
    struct space *spaces;
};

struct seen_mask {  // a mask as seen from some axes
    axes_t axes;
    const struct cell *data;
    struct seen_mask *next;
};

struct mask {
    axes_t axes;
    const struct cell *data;  // on `axes`; NULL: every point is active
    struct seen_mask *seen;
};

struct axis_plan {  // what is known of a loop before anything runs
    axes_t *sets;   // the axes, as far as they are in scope or the loop's own, of what its body computes
    int set_count, set_capacity;
    bool has_loops;
};

struct inner_map {
    axes_t from, to;
    int32_t *points;
    struct inner_map *next;
};

struct evaluator {
    const struct ir_kernel *kernel;
    struct ir_evaluation *evaluation;
    struct arena *arena;  // for words
    struct status status;
    jmp_buf leave;
    const struct cell **cells;  // by value id
    int depth;                 // the present frame
    struct frame *frames;
    int frame_count;
    axes_t inner;                 // inner full axes
    int64_t extent[IR_MAX_AXES];  // of inner axes
    int64_t origin[IR_MAX_AXES];  // their first position
    int axis_depth[IR_MAX_AXES];  // the frame an axis was entered in
    struct tile tiles[IR_MAX_AXES];
    struct axis_plan plans[IR_MAX_AXES];
    struct inner_map *inner_maps;
    struct mask *mask;
    uint64_t random;
};

// ------------------------------------------------------------------------------------------ evaluate_space.c

// Memory of the present frame, or of another; not zeroed. Leaves early if there is none.
void *scratch_take(struct evaluator *evaluator, int depth, size_t bytes);
void scratch_empty(struct scratch *scratch);
void scratch_free(struct scratch *scratch);
struct cell *cells_new(struct evaluator *evaluator, int64_t count);  // in the present frame

void frame_enter(struct evaluator *evaluator);
void frame_empty(struct evaluator *evaluator);  // before each step
void frame_leave(struct evaluator *evaluator);

const struct space *space_of(struct evaluator *evaluator, axes_t axes);  // of the outer ones among them
int64_t box_of(const struct evaluator *evaluator, axes_t axes);          // points of the inner ones among them
int64_t count_of(struct evaluator *evaluator, axes_t axes);              // all points
// For every point of `from` (outer axes) the one of `to` under it; NULL if they are the same axes.
const int32_t *map_between(struct evaluator *evaluator, axes_t from, axes_t to);
const int32_t *inner_map_between(struct evaluator *evaluator, axes_t from, axes_t to);  // inner axes alike
// The same values on more axes; the data itself if there are no more.
const struct cell *expand(struct evaluator *evaluator, const struct cell *data, axes_t from, axes_t to);
const struct cell *operand_on(struct evaluator *evaluator, const struct ir_op *op, int index, axes_t axes);

struct mask *mask_and(struct evaluator *evaluator, const struct mask *mask, axes_t axes, const struct cell *data, bool negate);
// For every point of `axes` whether an active point lies over it; NULL: all of them.
const struct cell *active_at(struct evaluator *evaluator, axes_t axes);
bool any_active(struct evaluator *evaluator);
// Whether any of `data` (on `from`) over each point of `to` is true.
const struct cell *any_over(struct evaluator *evaluator, const struct cell *data, axes_t from, axes_t to);
// "tb = 3, tk = 5", in the arena.
const char *point_in_words(struct evaluator *evaluator, axes_t axes, int64_t point);
// The position on each point of `axes` of one axis among them.
const struct cell *positions_on(struct evaluator *evaluator, int axis, axes_t axes);

// ------------------------------------------------------------------------------------------ evaluate.c

_Noreturn void leave_early(struct evaluator *evaluator, const char *code, const struct ir_op *op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void run_region(struct evaluator *evaluator, const struct ir_region *region);
// Counts work at points against the limit.
void count_steps(struct evaluator *evaluator, const struct ir_op *op, int64_t points);

// ------------------------------------------------------------------------------------------ the operations

void evaluate_for(struct evaluator *evaluator, const struct ir_op *op);     // evaluate_loop.c
void evaluate_range(struct evaluator *evaluator, const struct ir_op *op);
void plan_loops(struct evaluator *evaluator);
void evaluate_reduce(struct evaluator *evaluator, const struct ir_op *op);  // evaluate_reduce.c
void evaluate_scan(struct evaluator *evaluator, const struct ir_op *op);
void evaluate_dot(struct evaluator *evaluator, const struct ir_op *op);     // evaluate_dot.c
void evaluate_load(struct evaluator *evaluator, const struct ir_op *op);    // evaluate_memory.c
void evaluate_store(struct evaluator *evaluator, const struct ir_op *op);
void evaluate_atomic(struct evaluator *evaluator, const struct ir_op *op);
void evaluate_assert(struct evaluator *evaluator, const struct ir_op *op);
void evaluate_print(struct evaluator *evaluator, const struct ir_op *op);
void fill_outputs(struct evaluator *evaluator);
void evaluate_elementwise(struct evaluator *evaluator, const struct ir_op *op);  // evaluate_element.c
void evaluate_update(struct evaluator *evaluator, const struct ir_op *op);
void round_cells(enum ir_type type, struct cell *cells, int64_t count);      // floating types

// ------------------------------------------------------------------------------------------ evaluate_error.c

// What follows is called only where the evaluation asks for errors.
double unit_roundoff(enum ir_type type);
void error_elementwise(const struct ir_op *op, int64_t count, struct cell *r, const struct cell *const *operands);
void error_rounding(enum ir_type type, struct cell *cells, int64_t count);  // of numbers about to be rounded to `type`
double error_of_product(double unit, struct cell a, struct cell b, double r);
double error_of_extreme(struct cell a, struct cell b, double r);

// Of integers and conditions (evaluate_error_integer.c).
void error_integers(const struct ir_op *op, int64_t count, struct cell *r, const struct cell *const *operands);
void error_select(bool floating, struct cell *r, struct cell condition, struct cell yes, struct cell no);
void error_truncated(enum ir_type type, struct cell *r, struct cell value);  // of `r`, made from the floating `value`
// Of integers that were made floating, or wrapped, to `type`: `value` is what they were, r->error how far off.
void error_of_conversion(enum ir_type type, struct cell *r, int64_t value);
double error_combined(enum ir_reduction reduction, struct cell a, struct cell b, struct cell r);

// Of sums of floating numbers (evaluate_error_sum.c).
enum { SUM_LANES = 4 };
struct sum_so_far {
    double error, squares, magnitude;   // of what was added: errors, squares and sizes, summed up
    double base, greatest;              // what it goes on from; the largest partial sum
    double serial_drift, lanes_drift;   // what the roundings of `serial` and `lanes` took away
    int64_t count;
    float serial, lanes[SUM_LANES];     // the same sum in f32, and in lanes that take turns
    int lowest;                         // the lowest bit set in any number, counted from 1; 0: none
};
// Of `op`, at each point of `axes`; in the present frame.
struct sum_so_far *sums_new(struct evaluator *evaluator, const struct ir_op *op, axes_t axes);
void sum_take(struct sum_so_far *sum, double value, double error, double total);
bool sum_is_plain(const struct ir_value *summed);  // false: no claim that it is without rounding
double sum_error(const struct sum_so_far *sum, double unit, bool plain);

#endif
