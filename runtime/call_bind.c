// SPDX-License-Identifier: Apache-2.0
// Binding. In: a checked kernel, a device, a config. Out: the layout of its arguments in words, and its code: a variant
// for each width of indices and each alignment, so that no later call waits for a compiler.
//
// Two variants that are emitted as the same text share a binary: most kernels don't use 16-byte accesses everywhere.
#include <string.h>

#include "runtime/call.h"
#include "runtime/given.h"

// ---------------------------------------------------------------------------------------------- numbers

struct number_rule number_rule_of(const struct ir_value *value)
{
    struct linear linear = linear_of(value);
    if (!linear.ok) return (struct number_rule){.dim = -1, .value = value};
    return (struct number_rule){.dim = linear.dim, .scale = linear.dim < 0 ? 0 : linear.scale, .offset = linear.offset};
}

static struct call_axis *grid_rules(struct arena *arena, const struct launch_kernel *kernel)
{
    struct call_axis *axes = ARENA_ARRAY(arena, struct call_axis, kernel->grid_count + 1);
    for (int i = 0; i < kernel->grid_count; i++) {
        const struct launch_axis *axis = &kernel->grid[i];
        axes[i] = (struct call_axis){.elements_of = axis->elements_of, .block = axis->block};
        if (axis->elements_of) continue;
        axes[i].lo = number_rule_of(axis->lo);
        axes[i].hi = number_rule_of(axis->hi);
    }
    return axes;
}

// ---------------------------------------------------------------------------------------------- parameters

// Dimensions and small constants can't lie too far; what is made of them can.
static void add_bound(tilec_bound *bound, const struct ir_axis *axis, const struct ir_value *value)
{
    if (!value || !ir_is_host_number(value)) return;
    const struct number_rule rule = number_rule_of(value);
    if (rule.value || rule.scale > 1 || rule.scale < 0 || plan_is_too_far(rule.offset))
        bound->loops[bound->loop_count++] = (struct call_loop){axis->name, rule};
}

static void find_bounds(tilec_bound *bound, const struct ir_kernel *kernel)
{
    bound->loops = ARENA_ARRAY(bound->arena, struct call_loop, 2 * kernel->axis_count + 1);
    for (int i = 0; i < kernel->axis_count; i++) {
        add_bound(bound, &kernel->axes[i], kernel->axes[i].lo);
        add_bound(bound, &kernel->axes[i], kernel->axes[i].hi);
    }
}

static void lay_out(tilec_bound *bound)
{
    const struct ir_kernel *kernel = bound->kernel->ir;
    find_bounds(bound, kernel);
    bound->param_count = kernel->param_count;
    bound->params = ARENA_ARRAY(bound->arena, struct call_param, kernel->param_count + 1);
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        struct call_param *laid = &bound->params[i];
        *laid = (struct call_param){.kind = param->kind, .present = !param->optional || param->present, .rank = param->rank,
                                    .word = bound->word_count, .bytes = ir_type_bytes(param->type)};
        for (int d = 0; d < param->rank; d++) laid->extents[d] = number_rule_of(param->extents[d]);
        bound->word_count += 1 + (param->kind == PARAM_SCALAR ? 0 : param->rank);
    }
}

// ---------------------------------------------------------------------------------------------- variants

static struct emitted *emit_variant(tilec_bound *bound, int index, struct status *status)
{
    const struct lower_options options = {.target = {.kind = TARGET_CPU}, .index64 = (index & VARIANT_INDEX64) != 0,
                                          .unaligned = (index & VARIANT_UNALIGNED) != 0, .checked = bound->checked};
    return plan_emit(bound->arena, bound->kernel->ir, bound->config, &options, NULL, status);
}

static struct status build_cpu(tilec_bound *bound, struct call_variant *variant, int index)
{
    struct status status = STATUS_OK;
    variant->emitted = emit_variant(bound, index, &status);
    if (!variant->emitted) return status;
    return cpu_build_in(bound->arena, &bound->session, variant->emitted->text, variant->emitted->length, &variant->object);
}

// A launch has room for so many on its stack.
static struct status check_counts(struct arena *arena, const struct launch_plan *plan)
{
    bool fits = plan->workspace_count <= CALL_WORKSPACES;
    for (int i = 0; i < plan->kernel_count; i++) fits = fits && plan->kernels[i].argument_count <= CALL_ARGUMENTS;
    if (fits) return STATUS_OK;
    return status_failed(arena, "limits.parameters", "the launch has more than %d arguments or %d workspaces", CALL_ARGUMENTS, CALL_WORKSPACES);
}

static void finish_variant(tilec_bound *bound, struct call_variant *variant)
{
    const struct launch_plan *plan = &variant->emitted->plan;
    variant->grids = ARENA_ARRAY(bound->arena, struct call_axis *, plan->kernel_count + 1);
    for (int i = 0; i < plan->kernel_count; i++) variant->grids[i] = grid_rules(bound->arena, &plan->kernels[i]);
    atomic_store_explicit(&variant->ready, true, memory_order_release);
}

struct status call_build_variant(struct arena *arena, tilec_bound *bound, int index)
{
    struct call_variant *variant = &bound->variants[index];
    struct status status = STATUS_OK;
    pthread_mutex_lock(&bound->lock);
    if (!atomic_load_explicit(&variant->ready, memory_order_relaxed)) {
        status = build_cpu(bound, variant, index);
        if (status.ok) status = check_counts(bound->arena, &variant->emitted->plan);
        if (status.ok) finish_variant(bound, variant);
        else status.reason = arena_copy(arena, status.reason, strlen(status.reason));
    }
    pthread_mutex_unlock(&bound->lock);
    return status;
}

// On a GPU everything is built and loaded now: a launch may be part of a graph, and must not wait for a compiler.
static struct status build_all(tilec_bound *bound)
{
    const struct call_loaded *loaded = NULL;
    bool pushed = false;
    struct status status = STATUS_OK;
    if (bound->device->kind != DEVICE_CUDA) return STATUS_OK;
    status = call_cuda_build(bound);
    for (int i = 0; i < VARIANT_COUNT && status.ok; i++) {
        status = check_counts(bound->arena, &bound->variants[i].emitted->plan);
        if (status.ok) finish_variant(bound, &bound->variants[i]);
    }
    if (status.ok) status = call_cuda_enter(bound->arena, bound, &loaded, &pushed);
    call_cuda_leave(bound, pushed);
    return status;
}

// ---------------------------------------------------------------------------------------------- binding

static struct status take_config(tilec_bound *bound, const tilec_config *config)
{
    if (!config) {
        bool cuda = bound->device->kind == DEVICE_CUDA;
        const struct config_data data = {.cpu = !cuda, .sm = cuda ? bound->device->cuda->properties.sm : 0};
        return bound->config = config_default_for(bound->arena, bound->kernel->ir, &data), STATUS_OK;
    }
    bound->config = config_copy(bound->arena, config->config);
    return config_check(bound->arena, bound->kernel->ir, bound->config);
}

// A config that can't be lowered, or a compiler that isn't there, shows here and not in the first launch.
static struct status try_cpu(tilec_bound *bound)
{
    struct status status = STATUS_OK;
    if (bound->device->kind != DEVICE_CPU) return STATUS_OK;
    if (!cpu_compiler(bound->arena))
        return status_failed(bound->arena, "missing.compiler", "no C compiler: $CC, cc, gcc and clang were looked for; install one, or bind "
                             "to the device reference");
    emit_variant(bound, 0, &status);
    return status;
}

static struct status bind_steps(tilec_bound *bound, const struct tilec_bind_options *options)
{
    const struct ir_kernel *kernel = bound->kernel->ir;
    if (kernel->param_count > CALL_PARAMS || kernel->dim_count > CALL_DIMS)
        return status_failed(bound->arena, "limits.parameters", "kernel %s has %d parameters and %d dimensions; at most 64 of each can be bound",
                             kernel->name, kernel->param_count, kernel->dim_count);
    if (!device_is_ours(bound->device))
        return status_failed(bound->arena, "launch.fork", "the device %s was opened before a fork; open it anew in this process", bound->device->name);
    lay_out(bound);
    bound->rows = rows_find(bound->arena, kernel);
    struct status status = cache_session_begin(bound->arena, options ? &options->cache : NULL, &bound->session);
    if (status.ok) status = take_config(bound, options ? options->config : NULL);
    if (status.ok) status = try_cpu(bound);
    return status.ok ? build_all(bound) : status;
}

tilec_result tilec_bind(tilec_kernel *kernel, tilec_device *device, const struct tilec_bind_options *options,
                        tilec_report *report, tilec_bound **made)
{
    if (made) *made = NULL;
    WANT_AS(report, "kernel, device, bound", kernel, device, made);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_bound *bound = ARENA_NEW(arena, tilec_bound);
    bound->arena = arena;
    bound->kernel = kernel;
    bound->device = device;
    bound->checked = options && options->checked;
    bound->trusting = options && options->trusting;
    pthread_mutex_init(&bound->lock, NULL);
    struct status status = bind_steps(bound, options);
    tilec_result result = report_status(report, &status);
    cache_session_report(&bound->session, report);
    if (status.ok) *made = bound;
    else tilec_bound_free(bound);
    return result;
}

void tilec_bound_free(tilec_bound *bound)
{
    if (!bound) return;
    if (bound->device->kind == DEVICE_CUDA && device_is_ours(bound->device)) call_cuda_unload(bound);
    for (int i = 0; i < VARIANT_COUNT; i++) cpu_close(bound->variants[i].object);
    for (int i = 0; i < VARIANT_COUNT; i++) arena_free(bound->arenas[i]);
    pthread_mutex_destroy(&bound->lock);
    arena_free(bound->arena);
}

struct tilec_bound_counts tilec_bound_counts(const tilec_bound *bound)
{
    if (!bound) return (struct tilec_bound_counts){0};
    pthread_mutex_t *lock = &((tilec_bound *)(uintptr_t)bound)->lock;
    pthread_mutex_lock(lock);
    struct tilec_bound_counts counts = {.compiled = bound->session.compiled, .cached = bound->session.taken};
    for (int i = 0; i < VARIANT_COUNT; i++) {
        if (!atomic_load(&bound->variants[i].ready)) continue;
        const struct launch_plan *plan = &bound->variants[i].emitted->plan;
        counts.launches = plan->kernel_count;
        if (bound->device->kind == DEVICE_CUDA && plan->workspace_count > counts.workspaces) counts.workspaces = plan->workspace_count;
    }
    pthread_mutex_unlock(lock);
    return counts;
}

int tilec_bound_words(const tilec_bound *bound)
{
    if (!bound) return 0;
    return bound->word_count + 2;  // workspace and stream
}
