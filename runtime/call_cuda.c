// SPDX-License-Identifier: Apache-2.0
// The code of a bound kernel on a GPU. In: a variant to build, or a thread that is about to launch. Out: binaries, and
// functions in the context that the launch is for: the thread's own if it is one of the device, else the primary one.
//
// Loaded code is a list that only grows at its head, so a launch reads it without a lock.
#include <string.h>

#include "runtime/call.h"

// ---------------------------------------------------------------------------------------------- building

// An earlier variant.
static const struct call_variant *same_text(const tilec_bound *bound, const struct call_variant *variant)
{
    for (int i = 0; &bound->variants[i] < variant; i++) {
        const struct call_variant *other = &bound->variants[i];
        if (!other->emitted || other->same) continue;
        if (other->emitted->length == variant->emitted->length && memcmp(other->emitted->text, variant->emitted->text, variant->emitted->length) == 0)
            return other;
    }
    return NULL;
}

// Dimensions that aren't compiled in are 0 here: no count of blocks is over a limit yet.
static struct ir_bindings open_bindings(struct arena *arena, const struct ir_kernel *kernel)
{
    int64_t *dims = ARENA_ARRAY(arena, int64_t, kernel->dim_count + 1);
    for (int i = 0; i < kernel->dim_count; i++) dims[i] = kernel->dims[i].is_static ? kernel->dims[i].value : 0;
    return (struct ir_bindings){dims, ARENA_ARRAY(arena, struct ir_scalar, kernel->param_count + 1)};
}

// One variant, built by a thread of its own with memory and counts of its own.
struct building {
    pthread_t thread;
    bool started;
    tilec_bound *bound;
    int index;
    struct cache_session session;
    struct status status;
};

static struct status build_variant(struct building *building)
{
    tilec_bound *bound = building->bound;
    struct arena *arena = bound->arenas[building->index];
    struct call_variant *variant = &bound->variants[building->index];
    struct cuda_built built;
    struct nvrtc *nvrtc = NULL;
    const struct cuda_request request = {
        .kernel = bound->kernel->ir, .config = bound->config, .bindings = open_bindings(arena, bound->kernel->ir),
        .index64 = (building->index & VARIANT_INDEX64) != 0, .unaligned = (building->index & VARIANT_UNALIGNED) != 0,
        .checked = bound->checked, .session = &building->session, .notes = true};
    struct status opened = nvrtc_open(arena, &nvrtc);  // where it isn't, the cache may do
    struct status status = cuda_build(arena, &bound->device->cuda->properties, nvrtc, &request, &built);
    nvrtc_close(nvrtc);
    if (!status.ok) return !opened.ok && strcmp(status.code, opened.code) == 0 ? opened : status;
    variant->emitted = built.emitted;
    variant->binary = built.binary;
    return STATUS_OK;
}

static void *run_building(void *data)
{
    struct building *building = data;
    building->status = build_variant(building);
    return NULL;
}

static struct status begin_building(tilec_bound *bound, int index, struct building *building)
{
    *building = (struct building){.bound = bound, .index = index, .session = bound->session};
    bound->arenas[index] = building->session.arena = arena_new();
    building->session.compiled = building->session.taken = building->session.warning_count = 0;
    if (!bound->arenas[index]) return status_failed(bound->arena, "internal.memory", "out of memory");
    return STATUS_OK;
}

static struct status end_building(tilec_bound *bound, struct building *building)
{
    bound->session.compiled += building->session.compiled;
    bound->session.taken += building->session.taken;
    for (int i = 0; i < building->session.warning_count; i++)
        cache_warn(&bound->session, building->session.warnings[i].code, "%s", building->session.warnings[i].text);
    if (building->status.ok) bound->variants[building->index].same = same_text(bound, &bound->variants[building->index]);
    return building->status;
}

// The two widths of indices at once: that is other code. For other alignments it may be the same, and is then cached.
static struct status build_pair(tilec_bound *bound, int alignment)
{
    struct building pair[2];
    for (int i = 0; i < 2; i++) {
        struct status status = begin_building(bound, alignment | (i ? VARIANT_INDEX64 : 0), &pair[i]);
        if (!status.ok) return status;
    }
    pair[1].started = pthread_create(&pair[1].thread, NULL, run_building, &pair[1]) == 0;
    run_building(&pair[0]);
    if (pair[1].started) pthread_join(pair[1].thread, NULL);
    else run_building(&pair[1]);
    struct status status = end_building(bound, &pair[0]), other = end_building(bound, &pair[1]);
    return status.ok ? other : status;
}

struct status call_cuda_build(tilec_bound *bound)
{
    struct status status = build_pair(bound, 0);
    return status.ok ? build_pair(bound, VARIANT_UNALIGNED) : status;
}

// ---------------------------------------------------------------------------------------------- loading

static struct status load_functions(struct arena *arena, tilec_bound *bound, int index, cuda_module_handle module, cuda_function_handle *functions)
{
    struct cuda_device *device = bound->device->cuda;
    const struct launch_plan *plan = &bound->variants[index].emitted->plan;
    struct status status = STATUS_OK;
    for (int i = 0; i < plan->kernel_count && status.ok; i++) {
        cuda_result result = device->cuda->module_function(&functions[i], module, plan->kernels[i].name);
        if (result != CUDA_OK) return cuda_failed(arena, device->cuda, result, "launch.symbol", "the binary has no kernel %s", plan->kernels[i].name);
        status = cuda_check_function(arena, device, &plan->kernels[i], functions[i]);
    }
    return status;
}

static struct status load_variant(struct arena *arena, tilec_bound *bound, int index, struct call_loaded *loaded)
{
    struct cuda *cuda = bound->device->cuda->cuda;
    const struct call_variant *variant = &bound->variants[index];
    loaded->functions[index] = ARENA_ARRAY(bound->arena, cuda_function_handle, variant->emitted->plan.kernel_count + 1);
    int from = variant->same ? (int)(variant->same - bound->variants) : index;
    if (from == index) {
        cuda_result result = cuda->module_load(&loaded->modules[index], variant->binary.data, 0, NULL, NULL);
        if (result != CUDA_OK) {
            loaded->modules[index] = NULL;
            return cuda_failed(arena, cuda, result, result == CUDA_OUT_OF_MEMORY ? "memory.device" : "device.load",
                               "the compiled code can't be loaded on %s", bound->device->name);
        }
    }
    return load_functions(arena, bound, index, loaded->modules[from], loaded->functions[index]);
}

static void unload(const tilec_bound *bound, const struct call_loaded *loaded)
{
    for (int i = 0; i < VARIANT_COUNT; i++)
        if (loaded->modules[i]) bound->device->cuda->cuda->module_free(loaded->modules[i]);
}

static const struct call_loaded *find_loaded(const tilec_bound *bound, cuda_context_handle context)
{
    const struct call_loaded *loaded = atomic_load_explicit(&bound->loaded, memory_order_acquire);
    while (loaded && loaded->context != context) loaded = loaded->next;
    return loaded;
}

// In the context that is current. Takes the lock.
static struct status load(struct arena *arena, tilec_bound *bound, cuda_context_handle context, const struct call_loaded **found)
{
    struct status status = STATUS_OK;
    pthread_mutex_lock(&bound->lock);
    *found = find_loaded(bound, context);
    if (!*found) {
        struct call_loaded *made = ARENA_NEW(bound->arena, struct call_loaded);
        made->context = context;
        for (int i = 0; i < VARIANT_COUNT && status.ok; i++) status = load_variant(arena, bound, i, made);
        made->next = atomic_load(&bound->loaded);
        if (status.ok) atomic_store_explicit(&bound->loaded, made, memory_order_release), *found = made;
        else unload(bound, made);
    }
    pthread_mutex_unlock(&bound->lock);
    return status;
}

// ---------------------------------------------------------------------------------------------- contexts

static struct status enter_primary(struct arena *arena, tilec_bound *bound, const struct call_loaded **loaded, bool *pushed)
{
    struct cuda *cuda = bound->device->cuda->cuda;
    cuda_context_handle context = NULL;
    struct status status = device_primary(arena, bound->device, &context);
    if (!status.ok) return status;
    cuda_result result = cuda->context_push(context);
    if (result != CUDA_OK) return cuda_failed(arena, cuda, result, "device.context", "the context of %s can't be used", bound->device->name);
    *pushed = true;
    *loaded = find_loaded(bound, context);
    return *loaded ? STATUS_OK : load(arena, bound, context, loaded);
}

struct status call_cuda_enter(struct arena *arena, const tilec_bound *constant, const struct call_loaded **loaded, bool *pushed)
{
    tilec_bound *bound = (tilec_bound *)(uintptr_t)constant;  // only the list, under its lock
    struct cuda *cuda = bound->device->cuda->cuda;
    cuda_context_handle context = NULL;
    cuda_device_handle device = 0;
    *pushed = false;
    *loaded = NULL;
    if (cuda->context_current(&context) != CUDA_OK || !context) return enter_primary(arena, bound, loaded, pushed);
    *loaded = find_loaded(bound, context);
    if (*loaded) return STATUS_OK;
    if (cuda->context_device(&device) != CUDA_OK || device != bound->device->cuda->handle) return enter_primary(arena, bound, loaded, pushed);
    return load(arena, bound, context, loaded);
}

void call_cuda_leave(const tilec_bound *bound, bool pushed)
{
    cuda_context_handle popped = NULL;
    if (pushed) bound->device->cuda->cuda->context_pop(&popped);
}

void call_cuda_unload(tilec_bound *bound)
{
    struct cuda *cuda = bound->device->cuda->cuda;
    cuda_context_handle popped = NULL;
    for (const struct call_loaded *loaded = atomic_load(&bound->loaded); loaded; loaded = loaded->next) {
        if (cuda->context_push(loaded->context) != CUDA_OK) continue;  // a context that is gone took its modules with it
        unload(bound, loaded);
        cuda->context_pop(&popped);
    }
}
