// SPDX-License-Identifier: Apache-2.0
// In: one or two configs of a kernel with its tensors. Out: device times of each, and how fast the device copies, reads and
// writes.
//
// A run is: inputs updated in place are restored, the L2 cache is flushed by writing 256 MiB, then events before and
// behind the launches. All of it is queued ahead, so the time between the events is the device's alone.
#include <string.h>

#include "runtime/bench.h"
#include "runtime/cuda.h"
#include "runtime/data.h"

enum { FLUSH_BYTES = 256 << 20, COPY_BYTES = 1 << 30, COPY_RUNS = 10, WARM_RUNS = 3 };

struct timing {
    struct arena *arena;
    struct bench_job *job;
    struct cuda_device *device;
    struct cuda_tensors tensors;
    struct cuda_buffer *pristine;  // by parameter: what inout tensors held at the start
    struct cuda_buffer flush;
    struct cuda_built built[BENCH_CANDIDATES];
    struct cuda_program programs[BENCH_CANDIDATES];
    int event_count;
    cuda_event_handle *events;
};

// ---------------------------------------------------------------------------------------------- preparing

static struct status build_all(struct timing *timing)
{
    struct bench_job *job = timing->job;
    struct nvrtc *nvrtc = NULL;
    int major = 0, minor = 0;
    struct status status = nvrtc_open(timing->arena, &nvrtc);
    if (!status.ok) return status;
    nvrtc_version(nvrtc, &major, &minor);
    job->toolkit = arena_printf(timing->arena, "NVRTC %d.%d", major, minor);
    for (int i = 0; i < job->candidate_count && status.ok; i++) {
        const struct cuda_request request = {
            .kernel = job->kernel, .config = job->candidates[i].config, .bindings = *job->bindings, .tensors = job->tensors,
            .index64 = plan_demands(job->kernel, job->bindings, job->tensors).index64, .checked = job->checked,
            .source = i == 0 ? job->source : NULL, .source_length = job->source_length, .keep = i == 0 ? job->keep : NULL,
            .session = job->session};
        status = cuda_build(timing->arena, &timing->device->properties, nvrtc, &request, &timing->built[i]);
        job->candidates[i].usage_count = timing->built[i].binary.usage_count;
        job->candidates[i].usage = timing->built[i].binary.usage;
    }
    nvrtc_close(nvrtc);
    return status;
}

static struct status load_all(struct timing *timing)
{
    struct status status = STATUS_OK;
    struct bench_job *job = timing->job;
    for (int i = 0; i < job->candidate_count && status.ok; i++) {
        const struct launch_plan *plan = &timing->built[i].emitted->plan;
        status = plan_check(timing->arena, job->kernel, plan, job->bindings, timing->tensors.views);
        if (status.ok) status = cuda_program_load(timing->arena, timing->device, &timing->built[i].binary, plan, job->bindings,
                                                  timing->tensors.views, &timing->programs[i]);
    }
    return status;
}

static struct status queue_copy(struct timing *timing, cuda_address to, cuda_address from, size_t bytes)
{
    cuda_result result = timing->device->cuda->copy(to, from, bytes, timing->device->stream);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(timing->arena, timing->device->cuda, result, "device.copy", "a copy on the device failed");
}

static struct status keep_pristine(struct timing *timing)
{
    struct status status = STATUS_OK;
    const struct ir_kernel *kernel = timing->job->kernel;
    timing->pristine = ARENA_ARRAY(timing->arena, struct cuda_buffer, kernel->param_count + 1);
    for (int i = 0; i < kernel->param_count && status.ok; i++) {
        const struct cuda_buffer *buffer = &timing->tensors.buffers[i];
        if (kernel->params[i].kind != PARAM_INOUT || !buffer->bytes) continue;
        status = cuda_buffer_new(timing->arena, timing->device, kernel->params[i].name, buffer->bytes, &timing->pristine[i]);
        if (status.ok) status = queue_copy(timing, timing->pristine[i].address, buffer->address, buffer->bytes);
    }
    return status;
}

static struct status restore(struct timing *timing)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < timing->job->kernel->param_count && status.ok; i++)
        if (timing->pristine[i].block) status = queue_copy(timing, timing->tensors.buffers[i].address, timing->pristine[i].address, timing->pristine[i].bytes);
    return status;
}

// ---------------------------------------------------------------------------------------------- events

static struct status make_events(struct timing *timing, int count)
{
    if (count <= timing->event_count) return STATUS_OK;
    cuda_event_handle *events = ARENA_ARRAY(timing->arena, cuda_event_handle, count + 1);
    if (timing->event_count) memcpy(events, timing->events, sizeof *events * (size_t)timing->event_count);
    timing->events = events;
    while (timing->event_count < count) {
        cuda_result result = timing->device->cuda->event_new(&events[timing->event_count], 0);
        if (result != CUDA_OK) return cuda_failed(timing->arena, timing->device->cuda, result, "device.event", "no event on cuda:%d", timing->device->ordinal);
        timing->event_count++;
    }
    return STATUS_OK;
}

static struct status record(struct timing *timing, int event)
{
    cuda_result result = timing->device->cuda->event_record(timing->events[event], timing->device->stream);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(timing->arena, timing->device->cuda, result, "device.event", "an event can't be recorded");
}

// Milliseconds between events 2 * run and 2 * run + 1. Nothing takes no time at all.
static struct status elapsed(struct timing *timing, int run, double *milliseconds)
{
    float time = 0;
    cuda_result result = timing->device->cuda->event_elapsed(&time, timing->events[2 * run], timing->events[2 * run + 1]);
    if (result != CUDA_OK) return cuda_failed(timing->arena, timing->device->cuda, result, "device.event", "a time can't be read");
    if (!(time > 0)) return status_failed(timing->arena, "device.timing", "the device says that a run took %d µs", (int)(1000 * time));
    *milliseconds = time;
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- timing

static struct status flush(struct timing *timing)
{
    if (!timing->flush.block) return STATUS_OK;
    cuda_result result = timing->device->cuda->fill(timing->flush.address, 0, timing->flush.bytes, timing->device->stream);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(timing->arena, timing->device->cuda, result, "device.copy", "the cache can't be flushed");
}

static struct status queue_run(struct timing *timing, int candidate, int run)
{
    struct status status = restore(timing);
    if (status.ok) status = flush(timing);
    if (status.ok) status = record(timing, 2 * run);
    if (status.ok) status = cuda_program_launch(timing->arena, timing->device, &timing->programs[candidate]);
    if (status.ok) status = record(timing, 2 * run + 1);
    return status;
}

// Untimed runs, until the clocks are up; tells about how long the slowest candidate takes.
static struct status warm_up(struct timing *timing, double *milliseconds)
{
    struct status status = make_events(timing, 2);
    for (int i = 0; i < timing->job->candidate_count * WARM_RUNS && status.ok; i++) {
        double time = 0;
        status = queue_run(timing, i % timing->job->candidate_count, 0);
        if (status.ok) status = cuda_wait(timing->arena, timing->device, timing->job->kernel->name);
        if (status.ok) status = elapsed(timing, 0, &time);
        bool last = i >= timing->job->candidate_count * (WARM_RUNS - 1);
        if (last && time > *milliseconds) *milliseconds = time;
    }
    return status;
}

static struct status time_all(struct timing *timing)
{
    double milliseconds = 0;
    struct bench_job *job = timing->job;
    struct status status = warm_up(timing, &milliseconds);
    int runs = bench_runs(job, milliseconds), all = runs * job->candidate_count;
    if (status.ok) status = make_events(timing, 2 * all);
    for (int i = 0; i < all && status.ok; i++) status = queue_run(timing, i % job->candidate_count, i);
    struct cuda_clocks clocks = cuda_clocks(timing->device);  // while the device is at work
    if (status.ok) status = cuda_wait(timing->arena, timing->device, job->kernel->name);
    job->multiprocessor_mhz = clocks.multiprocessor_mhz;
    job->memory_mhz = clocks.memory_mhz;
    for (int i = 0; i < job->candidate_count; i++) bench_begin(timing->arena, &job->candidates[i], runs);
    for (int i = 0; i < all && status.ok; i++)
        status = elapsed(timing, i, &job->candidates[i % job->candidate_count].times[i / job->candidate_count]);
    for (int i = 0; i < job->candidate_count && status.ok; i++) bench_finish(timing->arena, &job->candidates[i]);
    return status;
}

// ---------------------------------------------------------------------------------------------- what memory gives

enum transfer { TRANSFER_COPY, TRANSFER_READ, TRANSFER_WRITE };
enum { READ_THREADS = 512, READ_BLOCKS_EACH = 4 };

// Every thread has eight 16-byte loads under way. The sum is stored only where it can't be, so that nothing is left out.
static const char read_text[] =
    "extern \"C\" __global__ void __launch_bounds__(512) read_all(const uint4 *from, long long count, unsigned *out)\n"
    "{\n"
    "    const long long step = (long long)gridDim.x * blockDim.x;\n"
    "    unsigned sum = 0;\n"
    "    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += 8 * step) {\n"
    "        #pragma unroll\n"
    "        for (int j = 0; j < 8; ++j) {\n"
    "            const long long at = i + j * step;\n"
    "            const uint4 four = at < count ? from[at] : make_uint4(0, 0, 0, 0);\n"
    "            sum |= four.x | four.y | four.z | four.w;\n"
    "        }\n"
    "    }\n"
    "    if (sum == 0x12345678u) *out = sum;\n"  // the memory is full of zeros
    "}\n";

struct measuring {
    struct timing *timing;
    struct cuda_buffer from, to;
    cuda_module_handle module;
    cuda_function_handle read;
};

static struct status queue_read(struct measuring *measuring)
{
    struct timing *timing = measuring->timing;
    struct cuda *cuda = timing->device->cuda;
    cuda_address from = measuring->from.address, out = measuring->to.address;
    long long count = (long long)(measuring->from.bytes / 16);
    void *arguments[] = {&from, &count, &out};
    unsigned blocks = (unsigned)timing->device->properties.multiprocessors * READ_BLOCKS_EACH;
    cuda_result result = cuda->launch(measuring->read, blocks, 1, 1, READ_THREADS, 1, 1, 0, timing->device->stream, arguments, NULL);
    return result == CUDA_OK ? STATUS_OK : cuda_launch_failed(timing->arena, cuda, result, "read_all");
}

static struct status queue_write(struct measuring *measuring, const struct cuda_buffer *to)
{
    struct timing *timing = measuring->timing;
    cuda_result result = timing->device->cuda->fill(to->address, 0, to->bytes, timing->device->stream);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(timing->arena, timing->device->cuda, result, "device.copy", "memory can't be filled");
}

static struct status queue_transfer(struct measuring *measuring, enum transfer kind)
{
    if (kind == TRANSFER_READ) return queue_read(measuring);
    if (kind == TRANSFER_WRITE) return queue_write(measuring, &measuring->to);
    return queue_copy(measuring->timing, measuring->to.address, measuring->from.address, measuring->from.bytes);
}

// *rate: bytes per second, at the median.
static struct status time_transfers(struct measuring *measuring, enum transfer kind, double *rate)
{
    struct timing *timing = measuring->timing;
    struct bench_candidate taken = {.label = "transfers"};
    struct status status = make_events(timing, 2 * COPY_RUNS);
    bench_begin(timing->arena, &taken, COPY_RUNS);
    for (int i = -WARM_RUNS; i < COPY_RUNS && status.ok; i++) {
        if (i >= 0) status = record(timing, 2 * i);
        if (status.ok) status = queue_transfer(measuring, kind);
        if (status.ok && i >= 0) status = record(timing, 2 * i + 1);
    }
    if (status.ok) status = cuda_wait(timing->arena, timing->device, "the measured transfer");
    for (int i = 0; i < COPY_RUNS && status.ok; i++) status = elapsed(timing, i, &taken.times[i]);
    if (status.ok) bench_finish(timing->arena, &taken);
    *rate = (kind == TRANSFER_COPY ? 2e3 : 1e3) * (double)measuring->from.bytes / taken.median;
    return status;
}

static struct status measure_with(struct measuring *measuring)
{
    struct timing *timing = measuring->timing;
    struct bench_job *job = timing->job;
    struct status status = queue_write(measuring, &measuring->from);
    if (status.ok) status = cuda_module_of(timing->arena, timing->device, read_text, "read.cu", &measuring->module);
    if (!status.ok) return status;
    cuda_result result = timing->device->cuda->module_function(&measuring->read, measuring->module, "read_all");
    if (result != CUDA_OK) return cuda_failed(timing->arena, timing->device->cuda, result, "device.load", "read_all can't be found");
    status = time_transfers(measuring, TRANSFER_COPY, &job->copy_rate);
    if (status.ok) status = time_transfers(measuring, TRANSFER_READ, &job->read_rate);
    if (status.ok) status = time_transfers(measuring, TRANSFER_WRITE, &job->write_rate);
    return status;
}

// 1 GiB, or less where that doesn't fit.
static struct status measure_memory(struct timing *timing)
{
    struct status status = STATUS_OK;
    for (size_t bytes = COPY_BYTES; bytes >= FLUSH_BYTES; bytes /= 2) {
        struct measuring measuring = {.timing = timing};
        status = cuda_buffer_new(timing->arena, timing->device, "the copy", bytes, &measuring.from);
        if (status.ok) status = cuda_buffer_new(timing->arena, timing->device, "the copy", bytes, &measuring.to);
        if (status.ok) status = measure_with(&measuring);
        if (measuring.module) timing->device->cuda->module_free(measuring.module);
        cuda_buffer_free(timing->device, &measuring.from);
        cuda_buffer_free(timing->device, &measuring.to);
        if (status.ok) timing->job->copy_bytes = (int64_t)bytes;
        if (status.ok || strcmp(status.code, "memory.device") != 0) return status;
    }
    return status;
}

// ---------------------------------------------------------------------------------------------- all of it

static void describe(struct timing *timing)
{
    struct bench_job *job = timing->job;
    const struct cuda_clocks clocks = cuda_clocks(timing->device);
    int version = timing->device->cuda->version;
    const char *cuda = arena_printf(timing->arena, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    job->device = timing->device->properties.name;
    job->driver = *clocks.driver ? arena_printf(timing->arena, "%s, %s", clocks.driver, cuda) : cuda;
}

// The outputs of the first candidate, for a check; without `fetch` only the guards are looked at.
static struct status run_first(struct timing *timing)
{
    struct bench_job *job = timing->job;
    struct status status = cuda_program_launch(timing->arena, timing->device, &timing->programs[0]);
    if (status.ok) status = cuda_wait(timing->arena, timing->device, job->kernel->name);
    if (status.ok && job->fetch) status = cuda_tensors_fetch(timing->arena, timing->device, job->kernel, &timing->tensors, job->tensors);
    return status;
}

static struct status check_guards(struct timing *timing)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < timing->tensors.count && status.ok; i++)
        if (timing->tensors.buffers[i].block)
            status = cuda_buffer_check(timing->arena, timing->device, timing->job->kernel->params[i].name, &timing->tensors.buffers[i]);
    for (int i = 0; i < timing->job->candidate_count && status.ok; i++)
        status = cuda_program_check(timing->arena, timing->device, &timing->programs[i]);
    return status;
}

static struct status steps(struct timing *timing)
{
    struct bench_job *job = timing->job;
    struct status status = build_all(timing);
    if (status.ok) status = cuda_tensors_new(timing->arena, timing->device, job->kernel, job->tensors, &timing->tensors);
    if (status.ok) status = keep_pristine(timing);
    if (status.ok) status = load_all(timing);
    if (status.ok) status = run_first(timing);
    if (status.ok) status = cuda_buffer_new(timing->arena, timing->device, "flushing the cache", FLUSH_BYTES, &timing->flush);
    if (status.ok) status = time_all(timing);
    if (status.ok) status = check_guards(timing);
    if (status.ok) status = measure_memory(timing);
    job->flushed_bytes = FLUSH_BYTES;
    return status;
}

static void release(struct timing *timing)
{
    struct cuda_device *device = timing->device;
    for (int i = 0; i < timing->event_count; i++) device->cuda->event_free(timing->events[i]);
    for (int i = 0; i < BENCH_CANDIDATES; i++) cuda_program_free(device, &timing->programs[i]);
    for (int i = 0; timing->pristine && i < timing->job->kernel->param_count; i++) cuda_buffer_free(device, &timing->pristine[i]);
    cuda_buffer_free(device, &timing->flush);
    cuda_tensors_free(device, &timing->tensors);
}

struct status bench_on_cuda(struct arena *arena, int ordinal, struct bench_job *job)
{
    struct timing timing = {.arena = arena, .job = job};
    struct status status = cuda_device_open(arena, ordinal, &timing.device);
    if (!status.ok) return status;
    describe(&timing);
    status = steps(&timing);
    release(&timing);
    cuda_device_close(timing.device);
    return status;
}
