// SPDX-License-Identifier: Apache-2.0
// A GPU as a target of tuning: configs become cubins, times are those of device events.
//
// Pristine copies of all tensors lie on the device beside those that kernels work on, so that restoring them costs next to
// nothing. Before each timed launch tensors updated in place are restored and the L2 cache is flushed by writing 256 MiB;
// all launches of a config are queued at once, so the times between the events are the device's alone.
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune_cuda.h"

enum { FLUSH_BYTES = 256 << 20, COPY_RUNS = 5, EVENTS = 128, COMPARED_ON_HOST = 100000 };
enum { FUNCTION_REGISTERS = 4 };  // CUfunction_attribute

// ---------------------------------------------------------------------------------------------- building

struct compiling {
    struct nvrtc *nvrtc;
    struct cuda_properties properties;
};

static void print_properties(struct text *out, const struct cuda_properties *properties)
{
    text_printf(out, "{\"sm\": %d", properties->sm);
    wire_add_text(out, "name", properties->name);
    wire_add_int(out, "warp", properties->warp);
    wire_add_int(out, "multiprocessors", properties->multiprocessors);
    wire_add_int(out, "threads_per_block", properties->threads_per_block);
    wire_add_int(out, "threads_per_multiprocessor", properties->threads_per_multiprocessor);
    wire_add_int(out, "registers_per_block", properties->registers_per_block);
    wire_add_int(out, "shared_per_block", properties->shared_per_block);
    wire_add_int(out, "shared_optin", properties->shared_optin);
    wire_add_long(out, "blocks", properties->blocks);
    text_add(out, "}");
}

static bool read_properties(struct arena *arena, const char *text, struct cuda_properties *properties)
{
    struct wire *object = wire_parse(text, strlen(text));
    const char *name = wire_text(object, "name");
    *properties = (struct cuda_properties){
        .name = arena_copy(arena, name ? name : "", name ? strlen(name) : 0), .bus = "",
        .sm = wire_int(object, "sm", 0),
        .warp = wire_int(object, "warp", 32),
        .multiprocessors = wire_int(object, "multiprocessors", 0),
        .threads_per_block = wire_int(object, "threads_per_block", 0),
        .threads_per_multiprocessor = wire_int(object, "threads_per_multiprocessor", 0),
        .registers_per_block = wire_int(object, "registers_per_block", 0),
        .shared_per_block = wire_int(object, "shared_per_block", 0),
        .shared_optin = wire_int(object, "shared_optin", 0),
        .blocks = wire_long(object, "blocks", 0)};
    wire_free(object);
    return properties->sm > 0 && properties->threads_per_block > 0;
}

// Of an architecture, where no device is asked. Shared memory is that of the roomier ones of a generation: a device is
// asked again before anything runs there.
const char *cuda_properties_for(struct arena *arena, int sm)
{
    struct text text = {0};
    const struct cuda_properties properties = {
        .name = arena_printf(arena, "sm_%d", sm), .bus = "", .sm = sm, .warp = 32, .threads_per_block = 1024,
        .threads_per_multiprocessor = 2048, .registers_per_block = 65536, .shared_per_block = 48 << 10,
        .shared_optin = sm >= 90 ? 227 << 10 : sm >= 80 ? 163 << 10 : sm >= 70 ? 96 << 10 : 48 << 10, .blocks = INT32_MAX};
    print_properties(&text, &properties);
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

const char *cuda_properties_of(struct arena *arena, int ordinal)
{
    struct text text = {0};
    struct cuda_device *seen = NULL;
    if (!cuda_device_look(arena, ordinal, &seen).ok) return "";
    print_properties(&text, &seen->properties);
    cuda_device_close(seen);
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static struct status start(struct arena *arena, const struct tune_work *work, void **state)
{
    struct compiling *compiling = ARENA_NEW(arena, struct compiling);
    *state = compiling;
    if (!read_properties(arena, work->properties, &compiling->properties))
        return status_failed(arena, "internal.properties", "the device's properties can't be read");
    return nvrtc_open(arena, &compiling->nvrtc);
}

static void note_usage(const struct cuda_built *made, struct tune_built *built)
{
    built->registers = built->spill_bytes = 0;
    built->shared_bytes = 0;
    for (int i = 0; i < made->binary.usage_count; i++) {
        const struct cuda_usage *usage = &made->binary.usage[i];
        int spilled = usage->spill_store_bytes + usage->spill_load_bytes;
        if (usage->registers > built->registers) built->registers = usage->registers;
        if (spilled > built->spill_bytes) built->spill_bytes = spilled;
        if (usage->shared_bytes > built->shared_bytes) built->shared_bytes = usage->shared_bytes;
    }
    for (int i = 0; i < made->emitted->plan.kernel_count; i++) {
        const struct launch_kernel *kernel = &made->emitted->plan.kernels[i];
        int64_t bytes = kernel->shared_bytes + kernel->static_shared_bytes;
        if (bytes > built->shared_bytes) built->shared_bytes = bytes;
    }
    if (made->binary.usage_count == 0) built->registers = built->spill_bytes = -1;
}

static struct status build(struct arena *arena, void *state, const struct tune_work *work, int row, const struct config *config,
                           const char *path, struct tune_built *built)
{
    (void)row;
    struct compiling *compiling = state;
    struct cuda_built made;
    const struct cuda_request request = {.kernel = work->kernel, .config = config, .bindings = work->bindings, .index64 = work->index64};
    struct status status = cuda_build(arena, &compiling->properties, compiling->nvrtc, &request, &made);
    if (!status.ok) return status;
    built->plan = made.emitted->plan;
    built->ptx = made.binary.ptx;
    note_usage(&made, built);
    return file_save(arena, path, made.binary.data, made.binary.length);
}

// ---------------------------------------------------------------------------------------------- the device

struct cuda_state {
    struct cuda_device *device;
    struct cuda_tensors tensors;   // what kernels work on
    struct cuda_buffer *pristine;  // by parameter; none where memory is short: then the host's are copied
    struct cuda_buffer flush;
    cuda_event_handle events[EVENTS];
    struct cuda_comparer comparer;
};

static struct status make_tensors(struct tune_device *tuned, struct cuda_state *state)
{
    const struct tune_work *work = tuned->work;
    int count = work->kernel->param_count;
    struct ir_tensor *views = ARENA_ARRAY(tuned->arena, struct ir_tensor, count + 1);
    for (int i = 0; i < count; i++)
        if (work->tensors[i].present) views[i] = work->tensors[i].view;
    struct status status = cuda_tensors_new(tuned->arena, state->device, work->kernel, views, &state->tensors);
    state->pristine = ARENA_ARRAY(tuned->arena, struct cuda_buffer, count + 1);
    for (int i = 0; i < count && status.ok; i++) {
        const struct cuda_buffer *buffer = &state->tensors.buffers[i];
        if (!buffer->bytes || !cuda_buffer_new(tuned->arena, state->device, "a copy", buffer->bytes, &state->pristine[i]).ok) continue;
        cuda_result result = state->device->cuda->copy(state->pristine[i].address, buffer->address, buffer->bytes, state->device->stream);
        if (result != CUDA_OK) status = cuda_failed(tuned->arena, state->device->cuda, result, "device.copy", "a copy on the device failed");
    }
    return status;
}

static struct status copy_failed(struct tune_device *tuned, struct arena *arena, cuda_result result)
{
    struct cuda_state *state = tuned->state;
    return result == CUDA_OK ? STATUS_OK : cuda_failed(arena, state->device->cuda, result, "device.copy", "a copy on the device failed");
}

static struct status restore(struct tune_device *tuned, struct arena *arena, bool all)
{
    struct cuda_state *state = tuned->state;
    struct cuda *cuda = state->device->cuda;
    cuda_result result = CUDA_OK;
    for (int i = 0; i < tuned->work->kernel->param_count && result == CUDA_OK; i++) {
        const struct cuda_buffer *buffer = &state->tensors.buffers[i];
        if (!buffer->bytes || (!all && tuned->work->kernel->params[i].kind != PARAM_INOUT)) continue;
        if (state->pristine[i].block) result = cuda->copy(buffer->address, state->pristine[i].address, buffer->bytes, state->device->stream);
        else result = cuda->copy_in(buffer->address, tuned->work->tensors[i].view.data, buffer->bytes);
    }
    return copy_failed(tuned, arena, result);
}

static struct status make_events(struct tune_device *tuned, struct cuda_state *state)
{
    cuda_result result = CUDA_OK;
    for (int i = 0; i < EVENTS && result == CUDA_OK; i++) result = state->device->cuda->event_new(&state->events[i], 0);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(tuned->arena, state->device->cuda, result, "device.event", "no event");
}

static struct status elapsed(struct cuda_state *state, struct arena *arena, int run, double *milliseconds)
{
    float time = 0;
    cuda_result result = state->device->cuda->event_elapsed(&time, state->events[2 * run], state->events[2 * run + 1]);
    *milliseconds = time;
    return result == CUDA_OK ? STATUS_OK : cuda_failed(arena, state->device->cuda, result, "device.event", "a time can't be read");
}

static struct status record(struct cuda_state *state, struct arena *arena, int event)
{
    cuda_result result = state->device->cuda->event_record(state->events[event], state->device->stream);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(arena, state->device->cuda, result, "device.event", "an event can't be recorded");
}

// Half of the flushed memory onto the other half: enough to be beyond the cache.
static struct status measure_copy(struct tune_device *tuned, struct cuda_state *state)
{
    struct cuda *cuda = state->device->cuda;
    const size_t half = FLUSH_BYTES / 2;
    double fastest = 0;
    struct status status = STATUS_OK;
    for (int i = 0; i < COPY_RUNS && status.ok; i++) {
        double milliseconds = 0;
        status = record(state, tuned->arena, 0);
        if (status.ok) status = copy_failed(tuned, tuned->arena, cuda->copy(state->flush.address, state->flush.address + half, half, state->device->stream));
        if (status.ok) status = record(state, tuned->arena, 1);
        if (status.ok) status = cuda_wait(tuned->arena, state->device, "copy");
        if (status.ok) status = elapsed(state, tuned->arena, 0, &milliseconds);
        if (milliseconds > 0 && 2e3 * (double)half / milliseconds > fastest) fastest = 2e3 * (double)half / milliseconds;
    }
    tuned->copy_rate = fastest;
    tuned->fastest_share = 2;
    return status;
}

static bool is_compared_here(const struct tune_work *work, int param)
{
    return tensor_elements(&work->tensors[param].view) > COMPARED_ON_HOST;
}

// What compares is compiled here, while others compile the first config.
static struct status open_cuda(struct tune_device *tuned)
{
    struct text properties = {0};
    struct cuda_state *state = ARENA_NEW(tuned->arena, struct cuda_state);
    tuned->state = state;
    struct status status = cuda_device_open(tuned->arena, tuned->ordinal, &state->device);
    if (!status.ok) return status;
    status = make_tensors(tuned, state);
    if (status.ok) status = cuda_buffer_new(tuned->arena, state->device, "flushing the cache", FLUSH_BYTES, &state->flush);
    if (status.ok) status = make_events(tuned, state);
    if (status.ok) status = measure_copy(tuned, state);
    for (int i = 0; i < tuned->work->kernel->param_count; i++)
        if (status.ok && tuned->work->tensors[i].reference_at >= 0 && is_compared_here(tuned->work, i))
            cuda_comparer_begin(tuned->arena, state->device, tuned->work, &state->comparer);
    print_properties(&properties, &state->device->properties);
    tuned->properties = arena_copy(tuned->arena, properties.data, properties.length);
    text_free(&properties);
    return status;
}

// ---------------------------------------------------------------------------------------------- one config

static struct status load(struct tune_device *tuned, struct arena *arena, int row, const char *path, const struct tune_built *built,
                          void **program)
{
    (void)row;
    struct cuda_state *state = tuned->state;
    const char *reason = NULL;
    const struct source *file = source_read(arena, path, &reason);
    struct cuda_program *made = ARENA_NEW(arena, struct cuda_program);
    *program = made;
    if (!file) return status_failed(arena, "internal.object", "the code that was built can't be read: %s", reason);
    const struct cuda_binary binary = {.data = file->text, .length = file->length, .ptx = built->ptx, .log = ""};
    struct status status = plan_check(arena, tuned->work->kernel, &built->plan, &tuned->work->bindings, state->tensors.views);
    if (!status.ok) return status;
    status = cuda_program_load(arena, state->device, &binary, &built->plan, &tuned->work->bindings, state->tensors.views, made);
    for (int i = 0; i < made->launch_count && status.ok; i++) {
        int registers = 0;
        cuda_result result = state->device->cuda->function_attribute(&registers, FUNCTION_REGISTERS, made->launches[i].function);
        if (result == CUDA_OK && registers > tuned->registers) tuned->registers = registers;
    }
    return status;
}

static void unload(struct tune_device *tuned, void *program)
{
    cuda_program_free(((struct cuda_state *)tuned->state)->device, program);
}

static struct status check_guards(struct tune_device *tuned, struct arena *arena, const struct cuda_program *program)
{
    struct cuda_state *state = tuned->state;
    struct status status = cuda_program_check(arena, state->device, program);
    for (int i = 0; i < state->tensors.count && status.ok; i++)
        if (state->tensors.buffers[i].block)
            status = cuda_buffer_check(arena, state->device, tuned->work->kernel->params[i].name, &state->tensors.buffers[i]);
    return status;
}

static struct status check(struct tune_device *tuned, struct arena *arena, void *program)
{
    struct cuda_state *state = tuned->state;
    struct status status = restore(tuned, arena, true);
    if (status.ok) status = record(state, arena, 0);
    if (status.ok) status = cuda_program_launch(arena, state->device, program);
    if (status.ok) status = record(state, arena, 1);
    if (status.ok) status = cuda_wait(arena, state->device, tuned->work->kernel->name);
    if (status.ok) status = elapsed(state, arena, 0, &tuned->check_milliseconds);
    return status.ok ? check_guards(tuned, arena, program) : status;
}

static bool agrees(struct tune_device *tuned, struct arena *arena, int param)
{
    struct cuda_state *state = tuned->state;
    (void)arena;
    if (!is_compared_here(tuned->work, param)) return false;
    return cuda_compare(tuned->arena, state->device, tuned->work, &state->comparer, param, &state->tensors.views[param]);
}

static struct status fetch(struct tune_device *tuned, struct arena *arena, int param)
{
    struct cuda_state *state = tuned->state;
    const struct cuda_buffer *buffer = &state->tensors.buffers[param];
    if (!buffer->bytes) return STATUS_OK;
    return copy_failed(tuned, arena, state->device->cuda->copy_out(tuned->outputs[param].view.data, buffer->address, buffer->bytes));
}

static struct status queue_run(struct tune_device *tuned, struct arena *arena, const struct cuda_program *program, int run)
{
    struct cuda_state *state = tuned->state;
    struct status status = restore(tuned, arena, false);
    if (status.ok) status = copy_failed(tuned, arena, state->device->cuda->fill(state->flush.address, 0, state->flush.bytes, state->device->stream));
    if (status.ok) status = record(state, arena, 2 * run);
    if (status.ok) status = cuda_program_launch(arena, state->device, program);
    return status.ok ? record(state, arena, 2 * run + 1) : status;
}

static struct status time_runs(struct tune_device *tuned, struct arena *arena, void *program, int runs, double *milliseconds)
{
    struct cuda_state *state = tuned->state;
    struct status status = STATUS_OK;
    for (int begin = 0; begin < runs && status.ok; begin += EVENTS / 2) {
        int count = runs - begin < EVENTS / 2 ? runs - begin : EVENTS / 2;
        for (int i = 0; i < count && status.ok; i++) status = queue_run(tuned, arena, program, i);
        if (status.ok) status = cuda_wait(arena, state->device, tuned->work->kernel->name);
        for (int i = 0; i < count && status.ok; i++) status = elapsed(state, arena, i, &milliseconds[begin + i]);
    }
    return status;
}

static int raw_code(struct tune_device *tuned)
{
    const struct cuda_state *state = tuned->state;
    return state && state->device ? cuda_last_error(state->device->cuda) : 0;
}

const struct tune_target tune_target_cuda = {
    .name = "cuda", .start = start, .build = build, .open = open_cuda, .load = load, .check = check, .agrees = agrees, .fetch = fetch,
    .time = time_runs, .unload = unload, .raw_code = raw_code};
