// SPDX-License-Identifier: Apache-2.0
// In: a launch plan and actual tensors. Out: whether they go together, and the values of a launch's arguments.
// What the CPU target and CUDA have in common: both take arguments as an array of pointers to values.
#include <string.h>

#include "runtime/runtime.h"

static int64_t elements(const struct ir_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
    return count;
}

static bool needs_index64(const struct ir_kernel *kernel, const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    for (int i = 0; i < kernel->dim_count; i++)
        if (bindings->dims[i] > INDEX_LIMIT) return true;
    for (int i = 0; i < kernel->param_count; i++) {
        if (kernel->params[i].kind == PARAM_SCALAR) continue;
        if (elements(&tensors[i]) > INDEX_LIMIT) return true;
        for (int j = 0; j < tensors[i].rank; j++)
            if (tensors[i].shape[j] > INDEX_LIMIT) return true;
    }
    return false;
}

// Bit p: parameter p's address isn't a multiple of 16.
static uint64_t unaligned_params(const struct ir_kernel *kernel, const struct ir_tensor *tensors)
{
    uint64_t unaligned = 0;
    for (int i = 0; i < kernel->param_count && i < 64; i++)
        if (kernel->params[i].kind != PARAM_SCALAR && (uintptr_t)tensors[i].data % 16) unaligned |= (uint64_t)1 << i;
    return unaligned;
}

struct plan_demands plan_demands(const struct ir_kernel *kernel, const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    return (struct plan_demands){.index64 = needs_index64(kernel, bindings, tensors), .unaligned = unaligned_params(kernel, tensors)};
}

static bool is_too_far(const struct ir_value *value, const struct ir_bindings *bindings, int64_t *bound)
{
    if (!value || !ir_is_host_number(value)) return false;
    *bound = ir_evaluate_number(value, bindings).integer;
    return plan_is_too_far(*bound);
}

const struct ir_axis *plan_loop_too_far(const struct ir_kernel *kernel, const struct ir_bindings *bindings, int64_t *bound)
{
    for (int i = 0; i < kernel->axis_count; i++) {
        const struct ir_axis *axis = &kernel->axes[i];
        if (is_too_far(axis->lo, bindings, bound) || is_too_far(axis->hi, bindings, bound)) return axis;
    }
    return NULL;
}

static int64_t element(const struct ir_tensor *tensor, int64_t index)
{
    return tensor->type == TYPE_I32 ? ((const int32_t *)tensor->data)[index] : ((const int64_t *)tensor->data)[index];
}

bool plan_offsets_ascend(const struct launch_plan *plan, const struct ir_tensor *tensors)
{
    for (int p = 0; p < 64; p++) {
        if (!(plan->ascending >> p & 1) || !tensors[p].data || ir_type_bytes(tensors[p].type) < 4) continue;
        for (int64_t i = 1; i < elements(&tensors[p]); i++)
            if (element(&tensors[p], i) < element(&tensors[p], i - 1)) return false;
    }
    return true;
}

struct emitted *plan_emit(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                          const struct lower_options *options, const struct ir_tensor *tensors, struct status *status)
{
    if (!config) config = config_default(arena, kernel);
    struct lowered *lowered = lower(arena, kernel, config, options, status);
    struct emitted *emitted = lowered ? emit(arena, lowered, TILEC_VERSION, status) : NULL;
    if (!emitted || !tensors || plan_offsets_ascend(&emitted->plan, tensors)) return emitted;
    struct config *rows = ARENA_NEW(arena, struct config);
    *rows = *config;
    rows->strategy = STRATEGY_ROWS;
    rows->chunk = 0;
    rows->search = rows->stage = rows->bulk = false;
    rows->lag = 0;
    if (rows->dot == DOT_FMA) rows->producers = 0, rows->stages = 1;
    lowered = lower(arena, kernel, rows, options, status);
    return lowered ? emit(arena, lowered, TILEC_VERSION, status) : NULL;
}

static size_t line_length(const char *text, const char *end)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    return (size_t)((newline ? newline : end) - text);
}

// Editors of another system end lines with a carriage return too.
static size_t without_return(const char *line, size_t length)
{
    return length > 0 && line[length - 1] == '\r' ? length - 1 : length;
}

static struct status find_functions(struct arena *arena, const struct launch_plan *plan, const char *source, size_t length)
{
    for (int i = 0; i < plan->kernel_count; i++) {
        const char *name = plan->kernels[i].name;
        if (!memmem(source, length, name, strlen(name)))
            return status_failed(arena, "usage.source", "the edited text has no function %s; --keep DIR writes the text to edit", name);
    }
    return STATUS_OK;
}

// Both texts begin with comments that say what they were made for; the first line is the kernel's name and the version.
struct status plan_check_source(struct arena *arena, const struct emitted *emitted, const char *source, size_t length)
{
    const char *ours = emitted->text, *ours_end = ours + emitted->length, *theirs = source, *theirs_end = source + length;
    struct status status = find_functions(arena, &emitted->plan, source, length);
    if (!status.ok) return status;
    for (int line = 0;; line++) {
        size_t here = line_length(ours, ours_end), all = line_length(theirs, theirs_end), there = without_return(theirs, all);
        if (here < 2 || there < 2 || memcmp(theirs, "//", 2) != 0) return STATUS_OK;
        if (line > 0 && (here != there || memcmp(ours, theirs, here) != 0))
            return status_failed(arena, "usage.source", "the edited text was emitted for something else: it says '%.*s', and here it is '%.*s'; "
                                 "--keep DIR writes the text to edit", (int)there, theirs, (int)here, ours);
        if (ours + here == ours_end || theirs + all == theirs_end) return STATUS_OK;
        ours += here + 1;
        theirs += all + 1;
    }
}

struct status plan_check(struct arena *arena, const struct ir_kernel *kernel, const struct launch_plan *plan,
                         const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    struct plan_demands demands = plan_demands(kernel, bindings, tensors);
    if (plan->index32 && demands.index64)
        return status_failed(arena, "launch.index", "the code has 32-bit indices and an extent or a count of elements here is over %d", INDEX_LIMIT);
    uint64_t unaligned = plan->aligned & demands.unaligned;
    for (int i = 0; i < kernel->param_count && i < 64; i++)
        if (unaligned >> i & 1)
            return status_failed(arena, "launch.unaligned", "the code needs %s at a multiple of 16 bytes", kernel->params[i].name);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- arguments

static union plan_slot scalar_slot(enum ir_type type, struct ir_scalar value)
{
    union plan_slot slot = {0};
    if (type == TYPE_F64) slot.f64 = value.number;
    else if (ir_type_is_float(type)) slot.f32 = (float)ir_round_to(type, value.number);
    else if (type == TYPE_I64) slot.i64 = value.integer;
    else slot.i32 = (int32_t)value.integer;
    return slot;
}

static union plan_slot argument_slot(const struct launch_argument *argument, const struct ir_bindings *bindings,
                                const struct ir_tensor *tensors, void *const *workspaces)
{
    if (argument->kind == ARGUMENT_WORKSPACE) return (union plan_slot){.pointer = workspaces[argument->index]};
    if (argument->kind == ARGUMENT_TENSOR) return (union plan_slot){.pointer = tensors[argument->index].data};
    if (argument->kind == ARGUMENT_SCALAR) return scalar_slot(argument->type, bindings->params[argument->index]);
    return scalar_slot(argument->type, (struct ir_scalar){.integer = bindings->dims[argument->index]});
}

void plan_fill(const struct launch_kernel *kernel, const struct ir_bindings *bindings, const struct ir_tensor *tensors,
               void *const *workspaces, union plan_slot *slots, void **arguments)
{
    for (int i = 0; i < kernel->argument_count; i++) {
        slots[i] = argument_slot(&kernel->arguments[i], bindings, tensors, workspaces);
        arguments[i] = &slots[i];
    }
}

void **plan_arguments(struct arena *arena, const struct launch_kernel *kernel, const struct ir_bindings *bindings,
                      const struct ir_tensor *tensors, void *const *workspaces)
{
    union plan_slot *slots = ARENA_ARRAY(arena, union plan_slot, kernel->argument_count + 1);
    void **arguments = ARENA_ARRAY(arena, void *, kernel->argument_count + 1);
    plan_fill(kernel, bindings, tensors, workspaces, slots, arguments);
    return arguments;
}
