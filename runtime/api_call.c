// SPDX-License-Identifier: Apache-2.0
// tilec.h: launching. In: arguments as callers have them. Out: the words of a launch, after what words don't say has
// been checked: types, ranks, strides.
#include <string.h>

#include "runtime/call.h"
#include "runtime/given.h"

// ---------------------------------------------------------------------------------------------- types

_Static_assert((int)TILEC_F64 == (int)TYPE_F64 && (int)TILEC_BOOL == (int)TYPE_BOOL && (int)TILEC_NONE == (int)TYPE_NONE &&
               (int)TILEC_F16 == (int)TYPE_F16, "tilec.h has the element types of ir/ir.h");

static bool is_type(enum tilec_type type)
{
    return (unsigned)type > (unsigned)TILEC_NONE && (unsigned)type < (unsigned)TYPE_COUNT;
}

const char *tilec_type_name(enum tilec_type type)
{
    return is_type(type) ? ir_type_name((enum ir_type)type) : NULL;
}

enum tilec_type tilec_type_named(const char *name)
{
    return name ? (enum tilec_type)ir_type_named(name) : TILEC_NONE;
}

int tilec_type_bytes(enum tilec_type type)
{
    return is_type(type) ? ir_type_bytes((enum ir_type)type) : 0;
}

// ---------------------------------------------------------------------------------------------- arguments to words

struct reading {
    const tilec_bound *bound;
    const struct tilec_argument *arguments;
    int without;  // an output whose shape is asked for, or -1: all are needed
    tilec_report *report;
    uint64_t *words;
};

static const struct ir_param *param_of(const struct reading *reading, int index)
{
    return &reading->bound->kernel->ir->params[index];
}

static tilec_result scalar_word(const struct reading *reading, int index)
{
    const struct ir_param *param = param_of(reading, index);
    const struct tilec_argument *argument = &reading->arguments[index];
    bool floating = ir_type_is_float(param->type), given = argument->type != TILEC_NONE;
    bool number = given && is_type(argument->type) && ir_type_is_float((enum ir_type)argument->type);
    int64_t integer = given ? argument->integer : param->default_integer;
    double value = !given ? param->default_number : number ? argument->number : (double)argument->integer;
    if (!given && !param->has_default)
        return report_failed(reading->report, "launch.argument", NULL, "'%s' is missing: it has no default", param->name);
    if (argument->rank != 0 || (given && !is_type(argument->type)) || (number && !floating))
        return report_failed(reading->report, "launch.argument", NULL, "'%s' is declared as a number of type %s", param->name,
                             ir_type_name(param->type));
    memcpy(reading->words, floating ? (const void *)&value : (const void *)&integer, sizeof *reading->words);
    return TILEC_OK;
}

// Extents of 1 may have any stride, and so may tensors without elements.
static bool is_dense(const struct tilec_argument *argument)
{
    int64_t step = 1;
    for (int d = 0; argument->strides && d < argument->rank; d++)
        if (argument->shape[d] == 0) return true;
    for (int d = argument->rank - 1; argument->strides && d >= 0; d--) {
        if (argument->shape[d] != 1 && argument->strides[d] != step) return false;
        if (__builtin_mul_overflow(step, argument->shape[d], &step)) return false;
    }
    return true;
}

static tilec_result missing_tensor(const struct reading *reading, int index)
{
    const struct ir_param *param = param_of(reading, index);
    bool needed = reading->bound->params[index].present && !(reading->without >= 0 && param->kind == PARAM_OUT);
    memset(reading->words, 0, (size_t)(1 + param->rank) * sizeof *reading->words);
    if (!needed) return TILEC_OK;
    return report_failed(reading->report, "launch.argument", NULL, param->optional ? "'%s' is missing: the kernel is bound with it" : "'%s' is missing",
                         param->name);
}

static tilec_result tensor_words(const struct reading *reading, int index)
{
    const struct ir_param *param = param_of(reading, index);
    const struct tilec_argument *argument = &reading->arguments[index];
    if (argument->type == TILEC_NONE) return missing_tensor(reading, index);
    if ((int)argument->type != (int)param->type)
        return report_failed(reading->report, "launch.type", NULL, "'%s' holds %s, but the kernel is bound for %s", param->name,
                             is_type(argument->type) ? tilec_type_name(argument->type) : "no type", ir_type_name(param->type));
    if (argument->rank > 0 && !argument->shape)
        return report_failed(reading->report, "launch.rank", NULL, "'%s' has %d dimensions, but its shape is NULL",
                             param->name, argument->rank);
    if (argument->rank != param->rank)
        return report_failed(reading->report, "launch.rank", NULL, "'%s' has %d dimensions, but it is declared with %d", param->name,
                             argument->rank, param->rank);
    if (!is_dense(argument))
        return report_failed(reading->report, "launch.strides", "make a contiguous copy", "'%s' isn't dense with the last index fastest", param->name);
    reading->words[0] = (uint64_t)(uintptr_t)argument->data;
    for (int d = 0; d < param->rank; d++) reading->words[1 + d] = (uint64_t)argument->shape[d];
    return TILEC_OK;
}

tilec_result call_words(const tilec_bound *bound, const struct tilec_argument *arguments, int count, int without,
                        tilec_report *report, uint64_t *words)
{
    tilec_result result = TILEC_OK;
    if (count != bound->param_count)
        return report_failed(report, "launch.argument", NULL, "kernel %s takes %d arguments, its outputs among them, not %d", bound->kernel->ir->name,
                             bound->param_count, count);
    for (int i = 0; i < count && result == TILEC_OK; i++) {
        const struct reading reading = {bound, arguments, without, report, words + bound->params[i].word};
        result = bound->params[i].kind == PARAM_SCALAR ? scalar_word(&reading, i) : tensor_words(&reading, i);
    }
    return result;
}

// ---------------------------------------------------------------------------------------------- tilec.h

tilec_result tilec_launch(const tilec_bound *bound, const struct tilec_argument *arguments, int count, void *workspace,
                          void *stream, tilec_report *report)
{
    WANT(report, bound);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    uint64_t words[CALL_WORDS];
    tilec_result result = call_words(bound, arguments, count, -1, report, words);
    return result == TILEC_OK ? call_launch(bound, words, workspace, stream, report) : result;
}

tilec_result tilec_launch_words(const tilec_bound *bound, const uint64_t *words)
{
    WANT(NULL, bound, words);
    const uint64_t *last = words + bound->word_count;
    return call_launch(bound, words, (void *)(uintptr_t)last[0], (void *)(uintptr_t)last[1], NULL);
}

tilec_result tilec_output_shape(const tilec_bound *bound, const struct tilec_argument *arguments, int count, int index,
                                int64_t *shape, tilec_report *report)
{
    WANT(report, bound, shape);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    uint64_t words[CALL_WORDS];
    struct call call;
    if (index < 0 || index >= bound->param_count || bound->params[index].kind == PARAM_SCALAR)
        return report_failed(report, "usage.parameter", NULL, "kernel %s has no tensor with index %d", bound->kernel->ir->name, index);
    tilec_result result = call_words(bound, arguments, count, index, report, words);
    if (result == TILEC_OK) result = call_read(&call, bound, words, index, report);
    for (int d = 0; result == TILEC_OK && d < bound->params[index].rank; d++) {
        if (!call_extent(&call, &bound->params[index].extents[d], &shape[d])) result = call_extent_failed(&call, index, d);
    }
    return result;
}

tilec_result tilec_workspace_words(const tilec_bound *bound, const uint64_t *words, int64_t *bytes, tilec_report *report)
{
    if (bytes) *bytes = 0;
    WANT(report, bound, words, bytes);
    struct call call;
    int64_t offsets[CALL_WORKSPACES];
    int index = 0;
    if (bound->device->kind != DEVICE_CUDA) return TILEC_OK;
    tilec_result result = call_read(&call, bound, words, -1, report);
    if (result == TILEC_OK) result = call_variant_for(&call, &index);
    if (result != TILEC_OK) return result;
    *bytes = call_workspaces(&call, &bound->variants[index].emitted->plan, offsets);
    return *bytes < 0 ? report_failed(report, "memory.workspace", NULL, "the workspace doesn't fit into 64 bits") : TILEC_OK;
}

tilec_result tilec_workspace_size(const tilec_bound *bound, const struct tilec_argument *arguments, int count,
                                  int64_t *bytes, tilec_report *report)
{
    if (bytes) *bytes = 0;
    WANT(report, bound, bytes);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    uint64_t words[CALL_WORDS];
    tilec_result result = call_words(bound, arguments, count, -1, report, words);
    return result == TILEC_OK ? tilec_workspace_words(bound, words, bytes, report) : result;
}

// ---------------------------------------------------------------------------------------------- files

static tilec_result check_saved(const struct tilec_argument *argument, const char *path, tilec_report *report)
{
    bool tensor = argument->rank >= 0 && argument->rank <= IR_MAX_RANK && (argument->shape || argument->rank == 0);
    int64_t bytes = tilec_type_bytes(argument->type);
    for (int d = 0; tensor && d < argument->rank; d++)
        tensor = argument->shape[d] >= 0 && !__builtin_mul_overflow(bytes, argument->shape[d], &bytes);
    if (!tensor || !is_type(argument->type) || !is_dense(argument))
        return report_failed(report, "usage.argument", NULL, "%s: only dense tensors of at most %d dimensions are saved", path,
                             IR_MAX_RANK);
    if (bytes && !argument->data)
        return report_failed(report, "usage.argument", NULL, "%s: the argument has no data: it is a scalar, or left out", path);
    return TILEC_OK;
}

tilec_result tilec_argument_save(const struct tilec_argument *argument, const char *path, tilec_report *report)
{
    WANT(report, argument, path);
    tilec_result result = check_saved(argument, path, report);
    if (result != TILEC_OK) return result;
    struct ir_tensor view = {.type = (enum ir_type)argument->type, .rank = argument->rank, .data = argument->data};
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    for (int d = 0; d < argument->rank; d++) view.shape[d] = argument->shape[d];
    struct status status = npy_write(arena, path, &view);
    result = report_status(report, &status);
    arena_free(arena);
    return result;
}
