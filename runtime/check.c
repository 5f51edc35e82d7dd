// SPDX-License-Identifier: Apache-2.0
// The check of a run. In: a run's outputs and its inputs as they were. Out: each output compared with the evaluator.
// The one idea: outputs are poisoned before both computations, so what neither stores still agrees, and what only one
// stores shows. Where there are too many points for the evaluator, it runs a sample of rows, and poison tells what
// belongs to them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/build.h"
#include "runtime/config_cache.h"
#include "runtime/run.h"

static const int64_t longest_length = (int64_t)1 << 40;

// ---------------------------------------------------------------------------------------------- how long the sums are

static int64_t multiply(int64_t a, int64_t b)
{
    return b <= 0 ? 0 : a > longest_length / b ? longest_length : a * b;
}

static int64_t largest_extent(const struct bound *bound)
{
    int64_t largest = 1;
    for (int i = 0; i < bound->kernel->param_count; i++) {
        for (int d = 0; bound->tensors[i].block && d < bound->views[i].rank; d++) {
            if (bound->views[i].shape[d] > largest) largest = bound->views[i].shape[d];
        }
    }
    return largest;
}

// The most points that one row of an axis has.
static int64_t axis_length(const struct bound *bound, int axis)
{
    const struct ir_axis *info = &bound->kernel->axes[axis];
    for (int i = 0; i < bound->rows.count; i++) {
        if (bound->rows.items[i].axis == axis) return rows_longest(&bound->rows.items[i], bound->views);
    }
    if (!info->hi || !ir_is_host_number(info->hi) || (info->lo && !ir_is_host_number(info->lo))) return largest_extent(bound);
    int64_t low = info->lo ? ir_evaluate_number(info->lo, &bound->bindings).integer : 0, length;
    if (__builtin_sub_overflow(ir_evaluate_number(info->hi, &bound->bindings).integer, low, &length)) return longest_length;
    return length > 0 ? length : 0;
}

static int64_t points_of(const struct bound *bound, axes_t axes)
{
    int64_t points = 1;
    for (int axis = 0; axis < bound->kernel->axis_count; axis++) {
        if (axes & AXIS_BIT(axis)) points = multiply(points, axis_length(bound, axis));
    }
    return points;
}

static axes_t operand_axes(const struct ir_op *op)
{
    axes_t axes = 0;
    for (int i = 0; i < op->operand_count; i++) axes |= op->operands[i]->axes;
    return axes;
}

// `around`: axes of the loops outside that carry values, so that sums go on over their tiles.
static int64_t longest_sum(const struct bound *bound, const struct ir_region *region, axes_t around)
{
    int64_t longest = 1;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        int64_t length = 1;
        axes_t inside = around;
        if (op->code == OP_REDUCE || op->code == OP_DOT || op->code == OP_SCAN)
            length = points_of(bound, op->over | (around & ~op->results[0]->axes));
        if (op->code == OP_ATOMIC) length = points_of(bound, operand_axes(op));
        if (op->code == OP_FOR && op->result_count > 0) inside |= AXIS_BIT(op->axis);
        for (int i = 0; i < op->region_count; i++) {
            int64_t nested = longest_sum(bound, op->regions[i], inside);
            if (nested > length) length = nested;
        }
        if (length > longest) longest = length;
    }
    return longest;
}

// ---------------------------------------------------------------------------------------------- what is stored

// Whether an integer comes from rounding a floating number, so that one more or less is no fault.
static bool comes_from_floating(const struct ir_value *value, int depth)
{
    if (value->region || depth > 30) return false;
    const struct ir_op *op = value->def;
    if (op->code == OP_CAST && ir_type_is_float(op->operands[0]->type)) return true;
    for (int i = 0; (ir_ops[op->code].flags & F_ELEMENTWISE) && i < op->operand_count; i++) {
        if (!ir_type_is_float(op->operands[i]->type) && comes_from_floating(op->operands[i], depth + 1)) return true;
    }
    return false;
}

struct stores {
    bool needs_all;  // as in check_rule
    bool rounded;
};

static void look_at_stores(const struct ir_kernel *kernel, const struct ir_region *region, int param, struct stores *stores)
{
    for (const struct ir_op *op = region->first; op; op = op->next) {
        bool here = (op->code == OP_STORE || op->code == OP_ATOMIC) && op->param == param;
        if (op->param == param && (op->code == OP_ATOMIC || (op->code == OP_LOAD && kernel->params[param].kind == PARAM_OUT)))
            stores->needs_all = true;
        if (here && ir_type_is_integer(kernel->params[param].type))
            stores->rounded = stores->rounded || comes_from_floating(op->operands[kernel->params[param].rank], 0);
        for (int i = 0; i < op->region_count; i++) look_at_stores(kernel, op->regions[i], param, stores);
    }
}

// ---------------------------------------------------------------------------------------------- the sample

// The one loop at the top, if its rows stand alone; else NULL, and the whole program is evaluated.
static const struct ir_op *sampled_loop(const struct ir_kernel *kernel)
{
    const struct ir_op *loop = NULL;
    for (const struct ir_op *op = kernel->body->first; op; op = op->next) {
        if (op->region_count == 0) continue;
        if (loop || op->code != OP_FOR || op->result_count > 0) return NULL;
        loop = op;
    }
    return loop && kernel->axes[loop->axis].kind == AXIS_TILE ? loop : NULL;
}

static int64_t most_elements(const struct bound *bound)
{
    int64_t most = 0;
    for (int i = 0; i < bound->kernel->param_count; i++) {
        int64_t count = bound->tensors[i].block ? tensor_elements(&bound->views[i]) : 0;
        if (count > most) most = count;
    }
    return most;
}

// Draws so many of the rows that `taken` (NULL: none) leaves.
static bool *draw_from(struct running *running, const char *purpose, const bool *taken, int64_t wanted)
{
    int64_t all = running->result->all_rows;
    bool *rows = ARENA_ARRAY(running->arena, bool, all);
    running->result->checked_rows = 0;
    for (uint64_t draw = 0; running->result->checked_rows < wanted; draw++) {
        uint64_t hash = generator_hash(running->request->bind.seed, purpose, draw);
        int64_t row = (int64_t)((unsigned __int128)hash * (uint64_t)all >> 64);
        if (taken && taken[row]) continue;
        running->result->checked_rows += !rows[row];
        rows[row] = true;
    }
    return rows;
}

static bool *draw_others(struct running *running, bool *taken, int64_t wanted)
{
    int64_t all = running->result->all_rows, rest = all - running->result->checked_rows;
    if (2 * wanted < rest) return draw_from(running, "other rows to check", taken, wanted);
    for (int64_t i = 0; i < all; i++) taken[i] = !taken[i];
    running->result->checked_rows = rest;
    return taken;
}

// Rows drawn by hash so that about check_points points are evaluated; NULL: all.
static bool *draw_rows(struct running *running)
{
    struct run_result *result = running->result;
    const struct ir_op *loop = sampled_loop(running->bound->kernel);
    int64_t points = most_elements(running->bound);
    running->by_row = loop != NULL;
    result->all_rows = result->checked_rows = loop ? axis_length(running->bound, loop->axis) : 0;
    if (points <= running->check_points) return NULL;
    if (!loop || result->all_rows < 2) {
        result->remark = "the program can't be evaluated row by row, so all of it was evaluated";
        return NULL;
    }
    int64_t wanted = (int64_t)((double)result->all_rows * ((double)running->check_points / (double)points));
    if (wanted < 1) wanted = 1;
    bool *rows = draw_from(running, "rows to check", NULL, wanted);
    return running->other_rows ? draw_others(running, rows, wanted) : rows;
}

// ---------------------------------------------------------------------------------------------- the reference

static bool is_output(const struct running *running, int param)
{
    enum ir_param_kind kind = running->bound->kernel->params[param].kind;
    return (kind == PARAM_OUT || kind == PARAM_INOUT) && running->bound->tensors[param].block;
}

struct status check_prepare(struct running *running)
{
    const struct ir_kernel *kernel = running->bound->kernel;
    running->references = ARENA_ARRAY(running->arena, struct tensor, kernel->param_count + 1);
    running->before = ARENA_ARRAY(running->arena, struct tensor, kernel->param_count + 1);
    running->errors = ARENA_ARRAY(running->arena, double *, kernel->param_count + 1);
    struct status status = STATUS_OK;
    for (int i = 0; i < kernel->param_count && status.ok; i++) {
        if (!is_output(running, i)) continue;
        running->errors[i] = calloc((size_t)tensor_elements(&running->bound->views[i]) + 1, sizeof *running->errors[i]);
        if (!running->errors[i]) return status_failed(running->arena, "launch.memory", "no memory for the tolerances of %s", kernel->params[i].name);
        status = tensor_copy(running->arena, kernel->params[i].name, &running->bound->tensors[i], &running->references[i]);
        if (status.ok && kernel->params[i].kind == PARAM_INOUT)
            status = tensor_copy(running->arena, kernel->params[i].name, &running->bound->tensors[i], &running->before[i]);
    }
    return status;
}

void check_free(struct running *running)
{
    for (int i = 0; running->references && i < running->bound->kernel->param_count; i++) {
        tensor_free(&running->references[i]);
        tensor_free(&running->before[i]);
        free(running->errors[i]);
    }
}

// For a sample, fills are left out: what is still poison afterwards belongs to other rows.
static const struct ir_kernel *without_fills(struct arena *arena, const struct ir_kernel *kernel)
{
    struct ir_kernel *copy = ARENA_NEW(arena, struct ir_kernel);
    *copy = *kernel;
    copy->params = ARENA_ARRAY(arena, struct ir_param, kernel->param_count + 1);
    memcpy(copy->params, kernel->params, sizeof *copy->params * (size_t)kernel->param_count);
    for (int i = 0; i < copy->param_count; i++) copy->params[i].fill = NULL;
    return copy;
}

static bool rounds_to_tf32(const struct resolved *resolved)
{
    return resolved && resolved->config && resolved->config->dot == DOT_TF32;
}

struct status evaluate_under(struct running *running, struct tensor *outputs, const bool *rows, enum ir_cut cut, double *const *errors)
{
    const struct bound *bound = running->bound;
    int count = bound->kernel->param_count;
    struct ir_tensor *views = ARENA_ARRAY(running->arena, struct ir_tensor, count + 1);
    for (int i = 0; i < count; i++) views[i] = outputs[i].block ? outputs[i].view : bound->views[i];
    struct ir_evaluation evaluation = {
        .bindings = bound->bindings, .tensors = views, .seed = running->request->bind.seed, .rows = rows,
        .cut = cut, .errors = errors, .tf32 = rounds_to_tf32(running->request->resolved)};
    struct status status = ir_evaluate(rows ? without_fills(running->arena, bound->kernel) : bound->kernel, &evaluation, running->arena);
    running->steps = evaluation.steps;
    return status;
}

void forget_unchanged(const struct tensor *reference, const struct tensor *before)
{
    size_t size = (size_t)ir_type_bytes(reference->view.type);
    struct tensor poison = {.view = reference->view, .bytes = size};
    unsigned char *data = reference->view.data;
    const unsigned char *old = before->view.data;
    for (size_t at = 0; at < reference->bytes; at += size) {
        if (memcmp(data + at, old + at, size) != 0) continue;
        poison.view.data = data + at;
        tensor_poison(&poison);
    }
}

// ---------------------------------------------------------------------------------------------- comparing

// Of all floating inputs together.
static struct tensor_size inputs_size(const struct bound *bound)
{
    struct tensor_size sum = {0};
    for (int i = 0; i < bound->kernel->param_count; i++) {
        if (bound->kernel->params[i].kind != PARAM_IN || !bound->tensors[i].block || !ir_type_is_float(bound->views[i].type)) continue;
        struct tensor_size size = tensor_size(&bound->views[i]);
        tensor_size_add(&sum, &size);
    }
    return sum;
}

static bool has_exponential(const struct ir_region *region)
{
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_EXP || op->code == OP_EXP2) return true;
        for (int i = 0; i < op->region_count; i++)
            if (has_exponential(op->regions[i])) return true;
    }
    return false;
}

static struct check_rule rule_of(struct running *running, const struct run_output *output, bool sampled, struct compare_options options)
{
    struct stores stores = {0};
    look_at_stores(running->bound->kernel, running->bound->kernel->body, output->param, &stores);
    if (sampled && stores.needs_all) {
        running->result->remark = "outputs that are read, or changed by atomics, need all rows and were not checked on the sample";
        return (struct check_rule){.compared = false};
    }
    if (sampled && running->before[output->param].block) forget_unchanged(&running->references[output->param], &running->before[output->param]);
    options.sampled = sampled;
    options.rounded = stores.rounded;
    options.errors = running->errors[output->param];
    return (struct check_rule){.compared = true, .needs_all = stores.needs_all, .options = options};
}

struct status check_evaluate(struct running *running, struct check_rule *rules)
{
    bool *rows = draw_rows(running);
    // The reference against itself: under another cut.
    enum ir_cut cut = running->request->execute ? CUT_WHOLE : CUT_RANDOM;
    struct status status = evaluate_under(running, running->references, rows, cut, running->errors);
    running->rows = rows;
    if (!status.ok) return status;
    struct compare_options options = {.reduction_length = longest_sum(running->bound, running->bound->kernel->body, 0)};
    const struct tensor_size inputs = inputs_size(running->bound);
    if (inputs.finite > 0) options.magnitude = sqrt(inputs.squares / (double)inputs.finite) * sqrt((double)options.reduction_length);
    // What exponentials are taken of is about as large as the largest input.
    if (has_exponential(running->bound->kernel->body)) options.exponent = inputs.greatest;
    for (int i = 0; i < running->result->output_count; i++)
        rules[i] = rule_of(running, &running->result->outputs[i], rows != NULL, options);
    return STATUS_OK;
}

struct status check_outputs(struct running *running)
{
    struct check_rule *rules = ARENA_ARRAY(running->arena, struct check_rule, running->result->output_count + 1);
    struct status status = check_evaluate(running, rules);
    for (int i = 0; i < running->result->output_count && status.ok; i++) {
        struct run_output *output = &running->result->outputs[i];
        if (!rules[i].compared) continue;
        output->comparison = compare_tensors(&output->view, &running->references[output->param].view, &rules[i].options);
        output->checked = true;
    }
    if (status.ok && running->request->execute) status = check_cut(running, rules);
    return status;
}
