// SPDX-License-Identifier: Apache-2.0
// The reference evaluator: runs a checked kernel straight from the language's definition. In: a kernel, tensors, a way of
// cutting loops into tiles. Out: outputs written, or the first fault in words. Notes on how it works are in evaluate.h.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/evaluate.h"

const char *ir_cut_name(enum ir_cut cut) {
    static const char *const names[CUT_COUNT] = {
        [CUT_WHOLE] = "whole", [CUT_ONE] = "one", [CUT_TWO] = "two", [CUT_THREE] = "three", [CUT_RANDOM] = "random",
        [CUT_SHUFFLED] = "shuffled",
    };
    return names[cut];
}

_Noreturn void leave_early(struct evaluator *evaluator, const char *code, const struct ir_op *op, const char *format, ...) {
    char reason[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    evaluator->status = (struct status){.code = code, .reason = arena_printf(evaluator->arena, "%s", reason)};
    if (op)
        evaluator->status.span = op->span;
    longjmp(evaluator->leave, 1);
}

void count_steps(struct evaluator *evaluator, const struct ir_op *op, int64_t points) {
    struct ir_evaluation *evaluation = evaluator->evaluation;
    evaluation->steps += points;
    if (evaluation->step_limit && evaluation->steps > evaluation->step_limit)
        leave_early(evaluator, "evaluate.steps", op, "more than %lld operations at points", (long long)evaluation->step_limit);
}

// ---------------------------------------------------------------------------------------------- operations

static void set_number(struct evaluator *evaluator, const struct ir_op *op, struct ir_scalar number) {
    struct cell *cell = cells_new(evaluator, 1);
    if (ir_type_is_float(op->results[0]->type))
        cell->number = number.number;
    else
        cell->integer = number.integer;
    cell->error = 0;
    evaluator->cells[op->results[0]->id] = cell;
}

// BEGIN, END and ID are on the axis's parents, SIZE is a number.
static void evaluate_tile(struct evaluator *evaluator, const struct ir_op *op) {
    const struct tile *tile = &evaluator->tiles[op->axis];
    if (op->code == OP_SIZE) {
        set_number(evaluator, op, (struct ir_scalar){.integer = tile->size});
        return;
    }
    int64_t rows = count_of(evaluator, op->results[0]->axes);
    const int64_t *numbers = op->code == OP_BEGIN ? tile->begin : op->code == OP_END ? tile->end : tile->id;
    struct cell *cells = cells_new(evaluator, rows);
    for (int64_t row = 0; row < rows; row++)
        cells[row] = (struct cell){.integer = numbers[row]};
    evaluator->cells[op->results[0]->id] = cells;
}

// Runs `region` where `condition` holds (or doesn't) on the values carried so far.
static void run_branch(struct evaluator *evaluator, const struct ir_op *op, int branch, const struct cell **carried) {
    struct mask *around = evaluator->mask;
    const struct ir_region *region = op->regions[branch];
    const struct ir_value *condition = op->operands[0];
    evaluator->mask = mask_and(evaluator, around, condition->axes, evaluator->cells[condition->id], branch == 1);
    if (any_active(evaluator)) {
        for (int i = 0; i < op->result_count; i++)
            evaluator->cells[region->args[i]->id] = carried[i];
        run_region(evaluator, region);
        for (int i = 0; i < op->result_count; i++)
            carried[i] = evaluator->cells[region->last->operands[i]->id];
    }
    evaluator->mask = around;
}

static void evaluate_if(struct evaluator *evaluator, const struct ir_op *op) {
    const struct cell **carried = scratch_take(evaluator, evaluator->depth, (size_t)op->result_count * sizeof *carried);
    for (int i = 0; i < op->result_count; i++)
        carried[i] = evaluator->cells[op->operands[1 + i]->id];
    run_branch(evaluator, op, 0, carried);
    run_branch(evaluator, op, 1, carried);
    for (int i = 0; i < op->result_count; i++)
        evaluator->cells[op->results[i]->id] = carried[i];
}

static void run_number(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_bindings *bindings = &evaluator->evaluation->bindings;
    if (op->code == OP_CONST)
        set_number(evaluator, op, (struct ir_scalar){op->integer, op->number});
    else if (op->code == OP_DIM)
        set_number(evaluator, op, (struct ir_scalar){.integer = bindings->dims[op->dim]});
    else
        set_number(evaluator, op, bindings->params[op->param]);
}

static void run_index(struct evaluator *evaluator, const struct ir_op *op) {
    evaluator->cells[op->results[0]->id] = positions_on(evaluator, op->axis, op->results[0]->axes);
}

static void run_nothing(struct evaluator *evaluator, const struct ir_op *op) {
    (void)evaluator, (void)op;  // a yield: who runs the region reads it
}

typedef void (*run_function)(struct evaluator *evaluator, const struct ir_op *op);
static const run_function run_functions[OP_COUNT] = {  // the others are element-wise
    [OP_CONST] = run_number,       [OP_DIM] = run_number,         [OP_SCALAR] = run_number,    [OP_INDEX] = run_index,
    [OP_BEGIN] = evaluate_tile,    [OP_END] = evaluate_tile,      [OP_SIZE] = evaluate_tile,   [OP_ID] = evaluate_tile,
    [OP_LOAD] = evaluate_load,     [OP_STORE] = evaluate_store,   [OP_ATOMIC] = evaluate_atomic, [OP_REDUCE] = evaluate_reduce,
    [OP_SCAN] = evaluate_scan,     [OP_DOT] = evaluate_dot,       [OP_UPDATE] = evaluate_update, [OP_FOR] = evaluate_for,
    [OP_RANGE] = evaluate_range,   [OP_IF] = evaluate_if,         [OP_ASSERT] = evaluate_assert, [OP_PRINT] = evaluate_print,
    [OP_YIELD] = run_nothing,
};

void run_region(struct evaluator *evaluator, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        run_function run = run_functions[op->code];
        (run ? run : evaluate_elementwise)(evaluator, op);
    }
}

// ---------------------------------------------------------------------------------------------- the kernel

// Full axes never change: those that are parents of jagged axes have a tile of their own, the others a box.
static void enter_full_axis(struct evaluator *evaluator, int axis, bool is_parent) {
    const struct ir_axis *full = &evaluator->kernel->axes[axis];
    const struct ir_bindings *bindings = &evaluator->evaluation->bindings;
    int64_t lo = ir_evaluate_number(full->lo, bindings).integer, hi = ir_evaluate_number(full->hi, bindings).integer;
    int64_t extent = hi > lo ? hi - lo : 0;
    evaluator->origin[axis] = lo;
    evaluator->extent[axis] = extent;
    if (!is_parent) {
        evaluator->inner |= AXIS_BIT(axis);
        return;
    }
    struct tile *tile = &evaluator->tiles[axis];
    tile->start = scratch_take(evaluator, 0, 2 * sizeof *tile->start);
    tile->positions = scratch_take(evaluator, 0, (size_t)extent * sizeof *tile->positions);
    tile->start[0] = 0;
    tile->start[1] = extent;
    for (int64_t i = 0; i < extent; i++)
        tile->positions[i] = lo + i;
}

static void run_kernel(struct evaluator *evaluator) {
    const struct ir_kernel *kernel = evaluator->kernel;
    axes_t parents = 0;
    for (int axis = 0; axis < kernel->axis_count; axis++)
        parents |= kernel->axes[axis].parents;
    for (int axis = 0; axis < kernel->axis_count; axis++) {
        if (kernel->axes[axis].kind == AXIS_FULL)
            enter_full_axis(evaluator, axis, parents & AXIS_BIT(axis));
    }
    struct mask everything = {0};
    evaluator->mask = &everything;
    plan_loops(evaluator);
    fill_outputs(evaluator);
    run_region(evaluator, kernel->body);
}

static void evaluator_free(struct evaluator *evaluator) {
    for (int i = 0; i < evaluator->frame_count; i++)
        scratch_free(&evaluator->frames[i].scratch);
    free(evaluator->frames);
    free(evaluator->cells);
}

struct status ir_evaluate(const struct ir_kernel *kernel, struct ir_evaluation *evaluation, struct arena *arena) {
    struct text complaints = {0};
    if (kernel->lowered || !ir_verify(kernel, &complaints)) {
        const char *reason = arena_printf(arena, "the program is %s", kernel->lowered ? "lowered already" : complaints.data);
        text_free(&complaints);
        return (struct status){.code = "internal.evaluate", .reason = reason};
    }
    text_free(&complaints);
    struct evaluator *evaluator = ARENA_NEW(arena, struct evaluator);
    evaluator->kernel = kernel;
    evaluator->evaluation = evaluation;
    evaluator->arena = arena;
    evaluator->random = evaluation->seed;
    evaluator->depth = -1;
    evaluation->steps = 0;
    if (setjmp(evaluator->leave) == 0) {
        evaluator->cells = calloc((size_t)kernel->value_count + 1, sizeof *evaluator->cells);
        if (!evaluator->cells)
            leave_early(evaluator, "evaluate.memory", NULL, "no memory for %d values", kernel->value_count);
        frame_enter(evaluator);
        run_kernel(evaluator);
        evaluator->status = STATUS_OK;
    }
    evaluator_free(evaluator);
    return evaluator->status;
}
