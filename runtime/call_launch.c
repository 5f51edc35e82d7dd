// SPDX-License-Identifier: Apache-2.0
// In: the words of a launch. Out: the kernel run on the CPU, or queued on a GPU's stream.
//
// On a GPU this is all that a launch costs: read the words, choose the variant, and for each kernel of the plan work out
// the grid, fill the arguments and call the driver. Nothing takes memory, but for the words of a failure.
#include <stdlib.h>
#include <string.h>

#include "runtime/call.h"

// ---------------------------------------------------------------------------------------------- variants

static const struct call_variant *variant_at(const tilec_bound *bound, int index)
{
    const struct call_variant *variant = &bound->variants[index];
    return atomic_load_explicit(&variant->ready, memory_order_acquire) ? variant : NULL;
}

static tilec_result make_ready(const struct call *call, int index)
{
    if (variant_at(call->bound, index)) return TILEC_OK;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(call->report, "internal.memory", NULL, "out of memory");
    struct status status = call_build_variant(arena, (tilec_bound *)(uintptr_t)call->bound, index);
    tilec_result result = report_status(call->report, &status);
    arena_free(arena);
    return result;
}

// The plan of the code for aligned tensors knows which it uses 16 bytes at a time.
tilec_result call_variant_for(const struct call *call, int *index)
{
    const struct plan_demands demands = plan_demands(call->bound->kernel->ir, &call->bindings, call->tensors);
    *index = demands.index64 ? VARIANT_INDEX64 : 0;
    tilec_result result = make_ready(call, *index);
    if (result != TILEC_OK || !(variant_at(call->bound, *index)->emitted->plan.aligned & demands.unaligned)) return result;
    *index |= VARIANT_UNALIGNED;
    return make_ready(call, *index);
}

// ---------------------------------------------------------------------------------------------- grids and workspaces

static int64_t range_of(const struct call *call, const struct call_axis *axis)
{
    int64_t range = 1;
    if (!axis->elements_of) return call_number(call, &axis->hi) - call_number(call, &axis->lo);
    for (int i = 0; i < axis->elements_of->rank; i++) range *= ir_evaluate_number(axis->elements_of->extents[i], &call->bindings).integer;
    return range;
}

int64_t call_blocks(const struct call *call, const struct call_variant *variant, int kernel)
{
    int64_t blocks = 1;
    for (int i = 0; i < variant->emitted->plan.kernels[kernel].grid_count; i++) {
        const struct call_axis *axis = &variant->grids[kernel][i];
        int64_t range = range_of(call, axis), tiles = range > 0 ? (range - 1) / axis->block + 1 : 0;
        if (__builtin_mul_overflow(blocks, tiles, &blocks)) return INT64_MAX;
    }
    return blocks;
}

int64_t call_workspaces(const struct call *call, const struct launch_plan *plan, int64_t *offsets)
{
    int64_t total = 0;
    for (int i = 0; i < plan->workspace_count && i < CALL_WORKSPACES; i++) {
        int64_t bytes = launch_workspace_bytes(plan->workspaces[i], &call->bindings);
        offsets[i] = total;
        if (bytes < 0 || __builtin_add_overflow(total, bytes, &total) || total > INT64_MAX - WORKSPACE_ALIGNMENT) return -1;
        total = (total + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    }
    return total;
}

// ---------------------------------------------------------------------------------------------- CUDA

struct queue {
    const struct call *call;
    const struct call_variant *variant;
    const cuda_function_handle *functions;
    void **workspaces;
    cuda_stream_handle stream;
};

static tilec_result queue_failed(const struct queue *queue, cuda_result error, const char *kernel)
{
    struct arena *arena = arena_new();
    if (!arena) return report_failed(queue->call->report, "internal.memory", NULL, "out of memory");
    struct status status = cuda_launch_failed(arena, queue->call->bound->device->cuda->cuda, error, kernel);
    tilec_result result = report_status(queue->call->report, &status);
    arena_free(arena);
    return result;
}

static tilec_result queue_kernel(const struct queue *queue, int index)
{
    const struct launch_kernel *kernel = &queue->variant->emitted->plan.kernels[index];
    const struct cuda_device *device = queue->call->bound->device->cuda;
    union plan_slot slots[CALL_ARGUMENTS];
    void *arguments[CALL_ARGUMENTS];
    int64_t blocks = call_blocks(queue->call, queue->variant, index);
    if (blocks <= 0) return TILEC_OK;
    if (blocks > device->properties.blocks)
        return report_failed(queue->call->report, "limits.blocks", NULL, "kernel %s needs %lld blocks; %s takes at most %lld: use larger tiles",
                             kernel->name, (long long)blocks, device->properties.name, (long long)device->properties.blocks);
    plan_fill(kernel, &queue->call->bindings, queue->call->tensors, queue->workspaces, slots, arguments);
    cuda_result error = device->cuda->launch(queue->functions[index], (unsigned)blocks, 1, 1, (unsigned)kernel->threads, 1, 1,
                                             (unsigned)kernel->shared_bytes, queue->stream, arguments, NULL);
    return error == CUDA_OK ? TILEC_OK : queue_failed(queue, error, kernel->name);
}

static tilec_result place_workspaces(const struct call *call, const struct launch_plan *plan, void *workspace, void **places)
{
    int64_t offsets[CALL_WORKSPACES];
    int64_t bytes = call_workspaces(call, plan, offsets);
    if (bytes < 0) return report_failed(call->report, "memory.workspace", NULL, "the workspace doesn't fit into 64 bits");
    if (bytes > 0 && !workspace)
        return report_failed(call->report, "launch.workspace", "tilec_workspace_size tells how much", "the launch needs a workspace of %lld bytes",
                             (long long)bytes);
    if (bytes > 0 && (uintptr_t)workspace % WORKSPACE_ALIGNMENT)
        return report_failed(call->report, "launch.workspace", NULL, "the workspace doesn't lie at a multiple of %d bytes", WORKSPACE_ALIGNMENT);
    for (int i = 0; i < plan->workspace_count; i++) places[i] = (char *)workspace + offsets[i];
    return TILEC_OK;
}

static tilec_result launch_loaded(const struct call *call, int index, const struct call_loaded *loaded, void *workspace, void *stream)
{
    void *places[CALL_WORKSPACES];
    const struct call_variant *variant = &call->bound->variants[index];
    const struct queue queue = {call, variant, loaded->functions[index], places, stream};
    tilec_result result = variant->emitted->plan.workspace_count ? place_workspaces(call, &variant->emitted->plan, workspace, places) : TILEC_OK;
    for (int i = 0; i < variant->emitted->plan.kernel_count && result == TILEC_OK; i++) result = queue_kernel(&queue, i);
    return result;
}

// Where the thread has a context in which the code is loaded nothing needs to be asked, and no memory be taken.
static const struct call_loaded *loaded_here(const tilec_bound *bound)
{
    cuda_context_handle context = NULL;
    if (bound->device->cuda->cuda->context_current(&context) != CUDA_OK || !context) return NULL;
    const struct call_loaded *loaded = atomic_load_explicit(&bound->loaded, memory_order_acquire);
    while (loaded && loaded->context != context) loaded = loaded->next;
    return loaded;
}

static tilec_result launch_cuda(const struct call *call, int index, void *workspace, void *stream)
{
    const struct call_loaded *loaded = loaded_here(call->bound);
    bool pushed = false;
    if (loaded) return launch_loaded(call, index, loaded, workspace, stream);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(call->report, "internal.memory", NULL, "out of memory");
    struct status status = call_cuda_enter(arena, call->bound, &loaded, &pushed);
    tilec_result result = status.ok ? launch_loaded(call, index, loaded, workspace, stream) : report_status(call->report, &status);
    call_cuda_leave(call->bound, pushed);
    arena_free(arena);
    return result;
}

// ---------------------------------------------------------------------------------------------- the CPU

static struct status run_host(struct arena *arena, struct call *call, int index)
{
    const tilec_bound *bound = call->bound;
    const struct ir_kernel *kernel = bound->kernel->ir;
    struct status status = bound->trusting ? STATUS_OK : rows_validate(arena, kernel, &bound->rows, call->tensors, &call->bindings);
    if (!status.ok) return status;
    if (bound->device->kind == DEVICE_CPU) {
        const struct call_variant *variant = &bound->variants[index];
        const struct cpu_object *object = variant->same ? variant->same->object : variant->object;
        return cpu_launch(arena, object, &variant->emitted->plan, &call->bindings, call->tensors);
    }
    struct ir_evaluation evaluation = {.bindings = call->bindings, .tensors = call->tensors, .cut = CUT_WHOLE};
    return ir_evaluate(kernel, &evaluation, arena);
}

static tilec_result launch_host(struct call *call, int index)
{
    struct arena *arena = arena_new();
    if (!arena) return report_failed(call->report, "internal.memory", NULL, "out of memory");
    struct status status = run_host(arena, call, index);
    tilec_result result = report_status(call->report, &status);
    arena_free(arena);
    return result;
}

// ---------------------------------------------------------------------------------------------- all of them

tilec_result call_launch(const tilec_bound *bound, const uint64_t *words, void *workspace, void *stream, tilec_report *report)
{
    struct call call;
    int index = 0;
    if (!device_is_ours(bound->device))
        return report_failed(report, "launch.fork", "open a device and bind the kernel in this process, or start it without fork",
                             "the device %s belongs to the process that this one was forked from", bound->device->name);
    tilec_result result = call_read(&call, bound, words, -1, report);
    if (result == TILEC_OK && bound->device->kind != DEVICE_REFERENCE) result = call_variant_for(&call, &index);
    if (result != TILEC_OK) return result;
    return bound->device->kind == DEVICE_CUDA ? launch_cuda(&call, index, workspace, stream) : launch_host(&call, index);
}
