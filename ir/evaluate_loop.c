// SPDX-License-Identifier: Apache-2.0
// Loops of the reference evaluator. In: bounds per row, the way of cutting. Out: one step after the other over tiles.
//
// The one idea: every row has its own schedule of pieces, and a step takes the next piece of some rows, so that rows of
// different lengths, rows that have run out and any grouping of rows are all the same thing. What a step may hold is
// limited, so that memory stays small for inputs of any size; the language allows every such cut.
#include <string.h>

#include "ir/evaluate.h"

enum {
    LEAF_POINTS = 1 << 14,    // points of a step of a loop without loops in it, for the widest value of its body
    OUTER_POINTS = 1 << 10,   // of other loops, whose values are looked at again in every step within
    LONGEST_SHUFFLE = 1 << 22,
};

struct schedule {
    int axis;
    bool any_order;      // CUT_SHUFFLED of an axis that isn't ordered
    int64_t rows;
    int64_t *lo, *length, *done, *id;
    int64_t **order;     // per row the positions in order, or NULL: ascending from lo
    int64_t *piece;      // per row how many points this step takes
    int64_t size, budget;
    struct tile tile;
};

// ---------------------------------------------------------------------------------------------- plans

static axes_t axes_within(const struct ir_region *region) {
    axes_t axes = 0;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        axes |= op->code == OP_FOR ? AXIS_BIT(op->axis) : 0;
        for (int i = 0; i < op->region_count; i++)
            axes |= axes_within(op->regions[i]);
    }
    return axes;
}

// The widest thing that an operation holds per point. The product of a dot is never held, only its points are walked.
static axes_t axes_held(const struct evaluator *evaluator, const struct ir_op *op) {
    axes_t axes = op->over, operands = 0;
    for (int i = 0; i < op->result_count; i++)
        axes |= op->results[i]->axes;
    for (int i = 0; i < op->operand_count; i++)
        operands |= op->operands[i]->axes;
    if (op->code == OP_DOT)
        return (axes & ~evaluator->inner) | (op->results[0]->axes & evaluator->inner);
    return op->code == OP_STORE || op->code == OP_ATOMIC ? operands : axes;
}

static void plan_add(struct evaluator *evaluator, struct axis_plan *plan, axes_t axes) {
    for (int i = 0; i < plan->set_count; i++) {
        if (plan->sets[i] == axes)
            return;
    }
    ARENA_PUSH(evaluator->arena, plan->sets, plan->set_count, plan->set_capacity, axes);
}

static void plan_body(struct evaluator *evaluator, struct axis_plan *plan, axes_t own, axes_t within, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        axes_t axes = axes_held(evaluator, op) & ~within;
        if (axes & own)
            plan_add(evaluator, plan, axes & ~own);
        for (int i = 0; i < op->region_count; i++)
            plan_body(evaluator, plan, own, within, op->regions[i]);
    }
}

static void plan_region(struct evaluator *evaluator, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        for (int i = 0; i < op->region_count; i++)
            plan_region(evaluator, op->regions[i]);
        if (op->code != OP_FOR)
            continue;
        struct axis_plan *plan = &evaluator->plans[op->axis];
        axes_t within = axes_within(op->regions[0]);
        plan->has_loops = within != 0;
        plan_body(evaluator, plan, AXIS_BIT(op->axis), within, op->regions[0]);
    }
}

void plan_loops(struct evaluator *evaluator) {
    plan_region(evaluator, evaluator->kernel->body);
}

// How many points of its axis a step may take over all rows.
static int64_t step_budget(struct evaluator *evaluator, int axis, int64_t rows) {
    const struct axis_plan *plan = &evaluator->plans[axis];
    int64_t widest = 1;
    for (int i = 0; i < plan->set_count; i++) {
        int64_t points = space_of(evaluator, plan->sets[i])->count * box_of(evaluator, plan->sets[i]);
        widest = points > widest ? points : widest;
    }
    int64_t points = plan->has_loops ? OUTER_POINTS : LEAF_POINTS;
    int64_t budget = (int64_t)((double)points * (double)rows / (double)widest);
    return budget > 1 ? budget : 1;
}

// ---------------------------------------------------------------------------------------------- schedules

static uint64_t random_next(struct evaluator *evaluator) {
    uint64_t z = evaluator->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t random_below(struct evaluator *evaluator, int64_t limit) {
    return (int64_t)(random_next(evaluator) % (uint64_t)limit);
}

// Memory of the frame around the loop.
static int64_t *row_numbers(struct evaluator *evaluator, int64_t count) {
    int64_t *numbers = scratch_take(evaluator, evaluator->depth, (size_t)count * sizeof *numbers);
    memset(numbers, 0, (size_t)count * sizeof *numbers);
    return numbers;
}

static void row_shuffle(struct evaluator *evaluator, struct schedule *schedule, int64_t row) {
    int64_t length = schedule->length[row];
    if (length > LONGEST_SHUFFLE || length == 0)
        return;
    if (!schedule->order[row]) {
        schedule->order[row] = row_numbers(evaluator, length);
        for (int64_t i = 0; i < length; i++)
            schedule->order[row][i] = schedule->lo[row] + i;
    }
    int64_t *order = schedule->order[row];
    for (int64_t i = length - 1; i > 0; i--) {
        int64_t other = random_below(evaluator, i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

// Keeps the asked-for points of the first top loop only (ir_evaluation.rows).
static void row_select(struct evaluator *evaluator, struct schedule *schedule) {
    int64_t length = schedule->length[0], kept = 0;
    int64_t *order = row_numbers(evaluator, length);
    for (int64_t i = 0; i < length; i++) {
        if (evaluator->evaluation->rows[i])
            order[kept++] = schedule->lo[0] + i;
    }
    schedule->order[0] = order;
    schedule->length[0] = kept;
}

static bool is_first_loop(const struct evaluator *evaluator, const struct ir_op *loop) {
    const struct ir_op *first = evaluator->kernel->body->first;
    while (first->code != OP_FOR)
        first = first->next;
    return first == loop;
}

static void schedule_rows(struct evaluator *evaluator, struct schedule *schedule, const struct ir_op *op) {
    axes_t parents = evaluator->kernel->axes[op->axis].parents;
    const struct cell *lo = operand_on(evaluator, op, 0, parents), *hi = operand_on(evaluator, op, 1, parents);
    const struct cell *active = active_at(evaluator, parents);
    for (int64_t row = 0; row < schedule->rows; row++) {
        bool runs = (!active || active[row].integer) && hi[row].integer > lo[row].integer;
        uint64_t length = (uint64_t)hi[row].integer - (uint64_t)lo[row].integer;
        schedule->lo[row] = lo[row].integer;
        schedule->length[row] = !runs ? 0 : length > INT64_MAX ? INT64_MAX : (int64_t)length;
    }
}

static void schedule_init(struct evaluator *evaluator, struct schedule *schedule, const struct ir_op *op) {
    static const int64_t sizes[CUT_COUNT] = {[CUT_ONE] = 1, [CUT_TWO] = 2, [CUT_THREE] = 3};
    const struct ir_axis *axis = &evaluator->kernel->axes[op->axis];
    int64_t rows = count_of(evaluator, axis->parents);
    *schedule = (struct schedule){.axis = op->axis, .rows = rows};
    schedule->lo = row_numbers(evaluator, rows);
    schedule->length = row_numbers(evaluator, rows);
    schedule->done = row_numbers(evaluator, rows);
    schedule->id = row_numbers(evaluator, rows);
    schedule->piece = row_numbers(evaluator, rows);
    schedule->order = scratch_take(evaluator, evaluator->depth, (size_t)rows * sizeof *schedule->order);
    schedule_rows(evaluator, schedule, op);
    schedule->size = sizes[evaluator->evaluation->cut];
    schedule->any_order = evaluator->evaluation->cut == CUT_SHUFFLED && !axis->ordered;
    for (int64_t row = 0; row < rows; row++) {
        schedule->order[row] = NULL;
        if (!sizes[evaluator->evaluation->cut] && schedule->length[row] > schedule->size)
            schedule->size = schedule->length[row];
    }
    if (evaluator->evaluation->rows && is_first_loop(evaluator, op))
        row_select(evaluator, schedule);
    for (int64_t row = 0; row < rows && schedule->any_order; row++)
        row_shuffle(evaluator, schedule, row);
    schedule->budget = step_budget(evaluator, op->axis, rows);
}

static int64_t piece_of(struct evaluator *evaluator, const struct schedule *schedule, int64_t row) {
    int64_t left = schedule->length[row] - schedule->done[row];
    bool random = evaluator->evaluation->cut == CUT_RANDOM || evaluator->evaluation->cut == CUT_SHUFFLED;
    if (!random)
        return left < schedule->size ? left : schedule->size;
    if (random_below(evaluator, 8) == 0)
        return left;
    return 1 + random_below(evaluator, left < 7 ? left : 7);
}

// What each row takes in the next step; false if no row has anything left.
static bool take_pieces(struct evaluator *evaluator, struct schedule *schedule) {
    bool random = evaluator->evaluation->cut == CUT_RANDOM || evaluator->evaluation->cut == CUT_SHUFFLED;
    int64_t budget = schedule->budget, taken = 0, skipped = 0;
    memset(schedule->piece, 0, (size_t)schedule->rows * sizeof *schedule->piece);
    for (int64_t row = 0; row < schedule->rows && budget > 0; row++) {
        if (schedule->done[row] >= schedule->length[row])
            continue;
        if (random && random_below(evaluator, 4) == 0) {  // this row stays behind
            skipped++;
            continue;
        }
        int64_t piece = piece_of(evaluator, schedule, row);
        schedule->piece[row] = piece < budget ? piece : budget;
        budget -= schedule->piece[row];
        taken++;
    }
    return taken || (skipped && take_pieces(evaluator, schedule));
}

// The tile of this step, in the memory of the present frame.
static void lay_tile(struct evaluator *evaluator, const struct schedule *schedule) {
    struct tile *tile = &evaluator->tiles[schedule->axis];
    int64_t points = 0;
    *tile = (struct tile){.size = schedule->size};
    tile->start = row_numbers(evaluator, schedule->rows + 1);
    tile->begin = row_numbers(evaluator, schedule->rows);
    tile->end = row_numbers(evaluator, schedule->rows);
    tile->id = schedule->id;
    for (int64_t row = 0; row < schedule->rows; row++)
        points += schedule->piece[row];
    tile->positions = row_numbers(evaluator, points);
    points = 0;
    for (int64_t row = 0; row < schedule->rows; row++) {
        int64_t first = schedule->done[row];
        tile->start[row] = points;
        tile->begin[row] = schedule->lo[row] + first;
        tile->end[row] = tile->begin[row] + schedule->piece[row];
        for (int64_t i = 0; i < schedule->piece[row]; i++)
            tile->positions[points++] = schedule->order[row] ? schedule->order[row][first + i] : tile->begin[row] + i;
    }
    tile->start[schedule->rows] = points;
}

static void advance(struct schedule *schedule) {
    for (int64_t row = 0; row < schedule->rows; row++) {
        schedule->done[row] += schedule->piece[row];
        schedule->id[row] += schedule->piece[row] > 0;
    }
}

// Rows that take part in this step, on the parents; NULL if all do.
static const struct cell *rows_in_step(struct evaluator *evaluator, const struct schedule *schedule) {
    struct cell *in_step = cells_new(evaluator, schedule->rows);
    bool all = true;
    for (int64_t row = 0; row < schedule->rows; row++) {
        in_step[row].integer = schedule->piece[row] > 0;
        all = all && in_step[row].integer;
    }
    return all ? NULL : in_step;
}

// ---------------------------------------------------------------------------------------------- carried values

// Two buffers per value, in the frame around the loop: what a step yields goes to the one that it doesn't read.
struct carried {
    int count;
    const struct cell **now;
    struct cell **buffers[2];
};

static struct carried carried_init(struct evaluator *evaluator, const struct ir_op *op, int first_operand) {
    size_t pointers = (size_t)op->result_count * sizeof(struct cell *);
    struct carried carried = {.count = op->result_count, .now = scratch_take(evaluator, evaluator->depth, pointers)};
    for (int side = 0; side < 2; side++)
        carried.buffers[side] = scratch_take(evaluator, evaluator->depth, pointers);
    for (int i = 0; i < carried.count; i++) {
        const struct ir_value *initial = op->operands[first_operand + i];
        carried.now[i] = evaluator->cells[initial->id];
        for (int side = 0; side < 2; side++)
            carried.buffers[side][i] = cells_new(evaluator, count_of(evaluator, initial->axes));
    }
    return carried;
}

static void carried_enter(struct evaluator *evaluator, const struct carried *carried, const struct ir_region *region, int first) {
    for (int i = 0; i < carried->count; i++)
        evaluator->cells[region->args[first + i]->id] = carried->now[i];
}

static void carried_take(struct evaluator *evaluator, struct carried *carried, const struct ir_region *region) {
    const struct ir_op *yield = region->last;
    for (int i = 0; i < carried->count; i++) {
        const struct cell *yielded = evaluator->cells[yield->operands[i]->id];
        if (yielded == carried->now[i])
            continue;
        struct cell *free_one = carried->buffers[carried->now[i] == carried->buffers[0][i]][i];
        int64_t count = count_of(evaluator, yield->operands[i]->axes);
        memcpy(free_one, yielded, (size_t)count * sizeof *free_one);
    }
    // Only now, since a yield may be another value's argument.
    for (int i = 0; i < carried->count; i++) {
        if (evaluator->cells[yield->operands[i]->id] != carried->now[i])
            carried->now[i] = carried->buffers[carried->now[i] == carried->buffers[0][i]][i];
    }
}

static void carried_leave(struct evaluator *evaluator, const struct carried *carried, const struct ir_op *op) {
    for (int i = 0; i < carried->count; i++)
        evaluator->cells[op->results[i]->id] = carried->now[i];
}

// ---------------------------------------------------------------------------------------------- for

// The points that haven't run out, on the axes of the condition; kept in the frame around the loop.
struct alive {
    const struct ir_region *condition;  // NULL: no `while`
    axes_t axes;
    struct cell *points;
};

static struct alive alive_init(struct evaluator *evaluator, const struct ir_op *op) {
    struct alive alive = {.condition = op->region_count == 2 ? op->regions[1] : NULL};
    if (!alive.condition)
        return alive;
    alive.axes = alive.condition->last->operands[0]->axes;
    int64_t count = count_of(evaluator, alive.axes);
    const struct cell *active = active_at(evaluator, alive.axes);
    alive.points = cells_new(evaluator, count);
    for (int64_t i = 0; i < count; i++)
        alive.points[i].integer = !active || active[i].integer;
    return alive;
}

// Looks at the condition at the points of this step; rows in which no point is left have run out.
static void alive_look(struct evaluator *evaluator, struct alive *alive, struct schedule *schedule, const struct carried *carried) {
    struct mask *around = evaluator->mask;
    axes_t parents = evaluator->kernel->axes[schedule->axis].parents;
    struct mask *living = mask_and(evaluator, around, alive->axes, alive->points, false);
    evaluator->mask = mask_and(evaluator, living, parents, rows_in_step(evaluator, schedule), false);
    carried_enter(evaluator, carried, alive->condition, 0);
    run_region(evaluator, alive->condition);
    const struct cell *holds = evaluator->cells[alive->condition->last->operands[0]->id];
    const struct cell *looked = active_at(evaluator, alive->axes);
    int64_t count = count_of(evaluator, alive->axes);
    for (int64_t i = 0; i < count; i++) {
        if (!looked || looked[i].integer)
            alive->points[i].integer = alive->points[i].integer && holds[i].integer;
    }
    axes_t shared = alive->axes & parents;
    const struct cell *living_rows = expand(evaluator, any_over(evaluator, alive->points, alive->axes, shared), shared, parents);
    for (int64_t row = 0; row < schedule->rows; row++) {
        if (living_rows[row].integer)
            continue;
        schedule->piece[row] = 0;
        schedule->length[row] = schedule->done[row];
    }
    evaluator->mask = around;
}

static void run_step(struct evaluator *evaluator, const struct ir_op *op, struct schedule *schedule, struct alive *alive,
                     struct carried *carried) {
    struct mask *around = evaluator->mask;
    axes_t parents = evaluator->kernel->axes[op->axis].parents;
    struct mask *mask = mask_and(evaluator, around, 0, NULL, false);
    evaluator->mask = mask;
    if (alive->condition)
        alive_look(evaluator, alive, schedule, carried);
    lay_tile(evaluator, schedule);
    if (alive->condition)
        mask = mask_and(evaluator, mask, alive->axes, alive->points, false);
    evaluator->mask = mask_and(evaluator, mask, parents, rows_in_step(evaluator, schedule), false);
    if (any_active(evaluator)) {
        carried_enter(evaluator, carried, op->regions[0], 0);
        evaluator->axis_depth[op->axis] = evaluator->depth;
        run_region(evaluator, op->regions[0]);
        carried_take(evaluator, carried, op->regions[0]);
    }
    evaluator->mask = around;
    advance(schedule);
}

void evaluate_for(struct evaluator *evaluator, const struct ir_op *op) {
    struct schedule schedule;
    schedule_init(evaluator, &schedule, op);
    struct carried carried = carried_init(evaluator, op, 2);
    struct alive alive = alive_init(evaluator, op);
    frame_enter(evaluator);
    while (take_pieces(evaluator, &schedule)) {
        frame_empty(evaluator);
        count_steps(evaluator, op, 1);
        run_step(evaluator, op, &schedule, &alive, &carried);
    }
    frame_leave(evaluator);
    carried_leave(evaluator, &carried, op);
}

// ---------------------------------------------------------------------------------------------- range

void evaluate_range(struct evaluator *evaluator, const struct ir_op *op) {
    int64_t lo = evaluator->cells[op->operands[0]->id]->integer, hi = evaluator->cells[op->operands[1]->id]->integer;
    struct carried carried = carried_init(evaluator, op, 2);
    struct mask *around = evaluator->mask;
    const struct ir_region *body = op->regions[0];
    bool active = any_active(evaluator);
    frame_enter(evaluator);
    for (int64_t i = lo; active && i < hi; i++) {
        frame_empty(evaluator);
        evaluator->mask = mask_and(evaluator, around, 0, NULL, false);
        struct cell *index = cells_new(evaluator, 1);
        *index = (struct cell){.integer = i};
        evaluator->cells[body->args[0]->id] = index;
        carried_enter(evaluator, &carried, body, 1);
        count_steps(evaluator, op, 1);
        run_region(evaluator, body);
        carried_take(evaluator, &carried, body);
    }
    frame_leave(evaluator);
    evaluator->mask = around;
    carried_leave(evaluator, &carried, op);
}
