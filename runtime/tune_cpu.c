// SPDX-License-Identifier: Apache-2.0
// The CPU as a target of tuning: configs become shared objects, times are those of the clock.
// A launch works on copies of the inputs; before each check all of them are restored, before each timed run those that
// are updated in place, and the caches are flushed by writing 64 MiB.
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

enum { FLUSH_BYTES = 64 << 20, COPY_BYTES = 64 << 20, COPY_RUNS = 3 };

struct cpu_state {
    struct tensor *tensors;    // by parameter: what the kernel works on; outputs are the device's own
    struct ir_tensor *views;
    char *flush;
};

struct cpu_program {
    struct cpu_object *object;
    struct launch_plan plan;
};

// ---------------------------------------------------------------------------------------------- building

static struct status build(struct arena *arena, void *state, const struct tune_work *work, int row, const struct config *config,
                           const char *path, struct tune_built *built)
{
    (void)state;
    (void)row;
    struct status status = STATUS_OK;
    const struct lower_options options = {.target = {.kind = TARGET_CPU}, .index64 = work->index64};
    struct lowered *lowered = lower(arena, work->kernel, config, &options, &status);
    struct emitted *emitted = lowered ? emit(arena, lowered, TILEC_VERSION, &status) : NULL;
    if (!emitted) return status;
    built->plan = emitted->plan;
    return cpu_compile(arena, emitted->text, emitted->length, path);
}

// ---------------------------------------------------------------------------------------------- the device

// One core's copying, in the same memory.
static double measure_copy(char *memory)
{
    double fastest = 0;
    for (int i = 0; i < COPY_RUNS; i++) {
        double begin = milliseconds_now();
        memcpy(memory, memory + COPY_BYTES / 2, COPY_BYTES / 2);
        double rate = 1e3 * COPY_BYTES / (milliseconds_now() - begin + 1e-6);
        if (rate > fastest) fastest = rate;
    }
    return fastest;
}

static struct status make_tensors(struct tune_device *device, struct cpu_state *state)
{
    const struct tune_work *work = device->work;
    struct status status = STATUS_OK;
    for (int i = 0; i < work->kernel->param_count && status.ok; i++) {
        const struct ir_param *param = &work->kernel->params[i];
        if (!work->tensors[i].present) continue;
        if (!device->outputs[i].block)
            status = tensor_new(device->arena, param->name, param->type, param->rank, work->tensors[i].view.shape, &state->tensors[i]);
        state->views[i] = device->outputs[i].block ? device->outputs[i].view : state->tensors[i].view;
    }
    return status;
}

static struct status open_cpu(struct tune_device *device)
{
    int count = device->work->kernel->param_count;
    struct cpu_state *state = ARENA_NEW(device->arena, struct cpu_state);
    state->tensors = ARENA_ARRAY(device->arena, struct tensor, count + 1);
    state->views = ARENA_ARRAY(device->arena, struct ir_tensor, count + 1);
    state->flush = calloc(1, FLUSH_BYTES);
    device->state = state;
    if (!state->flush) return status_failed(device->arena, "memory.flush", "no memory for flushing the caches");
    struct status status = make_tensors(device, state);
    memset(state->flush, 1, FLUSH_BYTES);
    device->copy_rate = measure_copy(state->flush);
    // All cores together, and what is left in the largest caches: only the absurd is refused.
    device->fastest_share = 256;
    return status;
}

static struct status load(struct tune_device *device, struct arena *arena, int row, const char *path, const struct tune_built *built,
                          void **program)
{
    (void)row;
    struct cpu_state *state = device->state;
    struct status status = plan_check(arena, device->work->kernel, &built->plan, &device->work->bindings, state->views);
    struct cpu_program *made = ARENA_NEW(arena, struct cpu_program);
    made->plan = built->plan;
    if (status.ok) status = cpu_open(arena, path, &made->object);
    *program = made;
    return status;
}

static void unload(struct tune_device *device, void *program)
{
    (void)device;
    cpu_close(((struct cpu_program *)program)->object);
}

// Pristine contents into what the kernel works on. In the file an output's pristine contents are poison.
static void restore(struct tune_device *device, bool all)
{
    const struct cpu_state *state = device->state;
    for (int i = 0; i < device->work->kernel->param_count; i++) {
        const struct tune_tensor *tensor = &device->work->tensors[i];
        if (tensor->present && (all || device->work->kernel->params[i].kind == PARAM_INOUT))
            memcpy(state->views[i].data, tensor->view.data, tensor->bytes);
    }
}

static struct status check_guards(struct tune_device *device, struct arena *arena)
{
    const struct cpu_state *state = device->state;
    struct status status = STATUS_OK;
    for (int i = 0; i < device->work->kernel->param_count && status.ok; i++) {
        const struct tensor *tensor = device->outputs[i].block ? &device->outputs[i] : &state->tensors[i];
        status = tensor_check_guards(arena, device->work->kernel->params[i].name, tensor);
    }
    return status;
}

static struct status launch(struct tune_device *device, struct arena *arena, const struct cpu_program *program)
{
    const struct cpu_state *state = device->state;
    return cpu_launch(arena, program->object, &program->plan, &device->work->bindings, state->views);
}

static struct status check(struct tune_device *device, struct arena *arena, void *program)
{
    restore(device, true);
    double begin = milliseconds_now();
    struct status status = launch(device, arena, program);
    device->check_milliseconds = milliseconds_now() - begin;
    return status.ok ? check_guards(device, arena) : status;
}

static struct status time_runs(struct tune_device *device, struct arena *arena, void *program, int runs, double *milliseconds)
{
    const struct cpu_state *state = device->state;
    struct status status = STATUS_OK;
    for (int i = 0; i < runs && status.ok; i++) {
        restore(device, false);
        memset(state->flush, state->flush[0] + 1, FLUSH_BYTES);
        double begin = milliseconds_now();
        status = launch(device, arena, program);
        milliseconds[i] = milliseconds_now() - begin;
    }
    return status;
}

const struct tune_target tune_target_cpu = {
    .name = "cpu", .build = build, .open = open_cpu, .load = load, .check = check, .time = time_runs, .unload = unload};
