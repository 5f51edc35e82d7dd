// SPDX-License-Identifier: Apache-2.0
// In: one or two configs of a kernel with its tensors. Out: wall-clock times of each on the CPU target, and how fast
// all cores together copy memory. Before each run tensors updated in place are restored and the caches are flushed.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/bench.h"
#include "runtime/data.h"

enum { FLUSH_BYTES = 64 << 20, COPY_BYTES = 256 << 20, COPY_RUNS = 5, WARM_RUNS = 2, CORES_MOST = 64 };

struct timing {
    struct arena *arena;
    struct bench_job *job;
    struct tensor *pristine;  // by parameter: what inout tensors held at the start
    char *flush;
    struct emitted *emitted[BENCH_CANDIDATES];
    struct cpu_object *objects[BENCH_CANDIDATES];
};

// ---------------------------------------------------------------------------------------------- preparing

static struct status build_one(struct timing *timing, int candidate)
{
    struct bench_job *job = timing->job;
    const bool edited = candidate == 0 && job->source;
    struct status status = STATUS_OK;
    const struct cpu_request request = {.kernel = job->kernel, .config = job->candidates[candidate].config, .bindings = *job->bindings,
                                        .tensors = job->tensors, .checked = job->checked};
    struct emitted *emitted = timing->emitted[candidate] = cpu_prepare(timing->arena, &request, &status);
    if (!emitted) return status;
    if (candidate == 0 && job->keep)
        status = file_save(timing->arena, arena_printf(timing->arena, "%s/%s.c", job->keep, job->kernel->name), emitted->text, emitted->length);
    if (status.ok) status = plan_check(timing->arena, job->kernel, &emitted->plan, job->bindings, job->tensors);
    if (status.ok) status = cpu_build_in(timing->arena, job->session, edited ? job->source : emitted->text,
                                         edited ? job->source_length : emitted->length, &timing->objects[candidate]);
    return status;
}

static struct status keep_pristine(struct timing *timing)
{
    struct status status = STATUS_OK;
    const struct ir_kernel *kernel = timing->job->kernel;
    timing->pristine = ARENA_ARRAY(timing->arena, struct tensor, kernel->param_count + 1);
    for (int i = 0; i < kernel->param_count && status.ok; i++) {
        const struct ir_tensor *view = &timing->job->tensors[i];
        if (kernel->params[i].kind != PARAM_INOUT || !view->data) continue;
        status = tensor_new(timing->arena, kernel->params[i].name, view->type, view->rank, view->shape, &timing->pristine[i]);
        if (status.ok) memcpy(timing->pristine[i].view.data, view->data, timing->pristine[i].bytes);
    }
    return status;
}

// ---------------------------------------------------------------------------------------------- timing

static struct status run_once(struct timing *timing, int candidate, double *milliseconds)
{
    struct bench_job *job = timing->job;
    for (int i = 0; i < job->kernel->param_count; i++)
        if (timing->pristine[i].block) memcpy(job->tensors[i].data, timing->pristine[i].view.data, timing->pristine[i].bytes);
    memset(timing->flush, timing->flush[0] + 1, FLUSH_BYTES);
    double begin = milliseconds_now();
    struct status status = cpu_launch(timing->arena, timing->objects[candidate], &timing->emitted[candidate]->plan, job->bindings, job->tensors);
    *milliseconds = milliseconds_now() - begin;
    return status;
}

static struct status time_all(struct timing *timing)
{
    struct bench_job *job = timing->job;
    struct status status = STATUS_OK;
    double slowest = 0, time = 0;
    for (int i = 0; i < WARM_RUNS * job->candidate_count && status.ok; i++) {
        status = run_once(timing, i % job->candidate_count, &time);
        if (i >= (WARM_RUNS - 1) * job->candidate_count && time > slowest) slowest = time;
    }
    int runs = bench_runs(job, slowest);
    for (int i = 0; i < job->candidate_count; i++) bench_begin(timing->arena, &job->candidates[i], runs);
    for (int i = 0; i < runs * job->candidate_count && status.ok; i++)
        status = run_once(timing, i % job->candidate_count, &job->candidates[i % job->candidate_count].times[i / job->candidate_count]);
    for (int i = 0; i < job->candidate_count && status.ok; i++) bench_finish(timing->arena, &job->candidates[i]);
    if (status.ok && job->fetch) status = run_once(timing, 0, &time);
    return status;
}

// ---------------------------------------------------------------------------------------------- what memory gives

enum transfer { TRANSFER_COPY, TRANSFER_READ, TRANSFER_WRITE };
struct share {
    pthread_t thread;
    enum transfer kind;
    char *to;
    const char *from;
    size_t bytes;
    uint64_t sum;  // of what was read, so that it is read
};

static void *transfer_share(void *data)
{
    struct share *share = data;
    if (share->kind == TRANSFER_COPY) memcpy(share->to, share->from, share->bytes);
    if (share->kind == TRANSFER_WRITE) memset(share->to, 3, share->bytes);
    for (size_t at = 0; share->kind == TRANSFER_READ && at + sizeof share->sum <= share->bytes; at += sizeof share->sum) {
        uint64_t word;
        memcpy(&word, share->from + at, sizeof word);
        share->sum += word;
    }
    return NULL;
}

// One share per core. A thread that can't be had does its share here. In ms.
static double transfer_once(enum transfer kind, char *to, const char *from, int cores)
{
    static volatile uint64_t sum;
    struct share shares[CORES_MOST];
    bool started[CORES_MOST] = {false};
    size_t each = COPY_BYTES / (size_t)cores;
    double begin = milliseconds_now();
    for (int i = 0; i < cores; i++) {
        shares[i] = (struct share){.kind = kind, .to = to + (size_t)i * each, .from = from + (size_t)i * each, .bytes = each};
        started[i] = i > 0 && pthread_create(&shares[i].thread, NULL, transfer_share, &shares[i]) == 0;
    }
    for (int i = 0; i < cores; i++)
        if (!started[i]) transfer_share(&shares[i]);
    for (int i = 0; i < cores; i++) {
        if (started[i]) pthread_join(shares[i].thread, NULL);
        sum += shares[i].sum;
    }
    return milliseconds_now() - begin;
}

static double transfer_rate(struct arena *arena, enum transfer kind, char *to, const char *from, int cores)
{
    struct bench_candidate taken = {.label = "transfers"};
    bench_begin(arena, &taken, COPY_RUNS);
    for (int i = 0; i < COPY_RUNS; i++) taken.times[i] = transfer_once(kind, to, from, cores);
    bench_finish(arena, &taken);
    return (kind == TRANSFER_COPY ? 2e3 : 1e3) * (double)(COPY_BYTES / (size_t)cores * (size_t)cores) / taken.median;
}

static struct status measure_memory(struct timing *timing)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int cores = online < 1 ? 1 : online > CORES_MOST ? CORES_MOST : (int)online;
    char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    struct bench_job *job = timing->job;
    struct status status = from && to ? STATUS_OK : status_failed(timing->arena, "memory.copy", "no memory for measuring how fast it is");
    if (status.ok) {
        memset(from, 1, COPY_BYTES);
        memset(to, 2, COPY_BYTES);
        job->copy_bytes = COPY_BYTES;
        job->copy_rate = transfer_rate(timing->arena, TRANSFER_COPY, to, from, cores);
        job->read_rate = transfer_rate(timing->arena, TRANSFER_READ, to, from, cores);
        job->write_rate = transfer_rate(timing->arena, TRANSFER_WRITE, to, from, cores);
    }
    free(from);
    free(to);
    return status;
}

// ---------------------------------------------------------------------------------------------- all of it

static void describe(struct timing *timing)
{
    struct utsname about;
    const char *machine = uname(&about) == 0 ? about.machine : "unknown";
    const char *compiler = cpu_compiler(timing->arena);
    timing->job->device = arena_printf(timing->arena, "CPU, %s, %ld cores", machine, sysconf(_SC_NPROCESSORS_ONLN));
    timing->job->driver = "";
    timing->job->toolkit = compiler ? compiler : "";
}

struct status bench_on_cpu(struct arena *arena, struct bench_job *job)
{
    struct timing timing = {.arena = arena, .job = job, .flush = calloc(1, FLUSH_BYTES)};
    struct status status = timing.flush ? STATUS_OK : status_failed(arena, "memory.flush", "no memory for flushing the caches");
    describe(&timing);
    for (int i = 0; i < job->candidate_count && status.ok; i++) status = build_one(&timing, i);
    if (status.ok) status = keep_pristine(&timing);
    if (status.ok) status = time_all(&timing);
    if (status.ok) status = measure_memory(&timing);
    job->flushed_bytes = FLUSH_BYTES;
    for (int i = 0; i < BENCH_CANDIDATES; i++) cpu_close(timing.objects[i]);
    for (int i = 0; timing.pristine && i < job->kernel->param_count; i++) tensor_free(&timing.pristine[i]);
    free(timing.flush);
    return status;
}
