// SPDX-License-Identifier: Apache-2.0
// tilec.h: timing. In: a program, arguments in words, a device, one or two configs. Out: times, and what they come to
// against the floor of bytes and the device's own copy speed. Binding and checking are those of run.c; what it executes
// is the timing.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench.h"
#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/data.h"
#include "runtime/given.h"
#include "runtime/runtime.h"

struct tilec_bench {
    struct arena *arena;
    struct run_result result;
    struct bench_job job;
    struct traffic traffic;
    struct cache_session session;
    struct resolved resolved;  // of the first candidate
    uint64_t seed;
    struct text configs[BENCH_CANDIDATES];  // as JSON
    struct text summary;
};

// ---------------------------------------------------------------------------------------------- order statistics

enum { HALF_SECOND = 500 };  // in ms: about how long the timed runs take together

int bench_runs(const struct bench_job *job, double milliseconds)
{
    if (job->wanted_runs > 0) return job->wanted_runs;
    double fit = milliseconds > 0 ? HALF_SECOND / milliseconds : BENCH_RUNS_MOST;
    return fit < BENCH_RUNS_LEAST ? BENCH_RUNS_LEAST : fit > BENCH_RUNS_MOST ? BENCH_RUNS_MOST : (int)fit;
}

void bench_begin(struct arena *arena, struct bench_candidate *candidate, int runs)
{
    candidate->count = runs;
    candidate->times = ARENA_ARRAY(arena, double, runs);
}

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

// Between two of the sorted times where the place falls between them.
static double quantile(const double *sorted, int count, double share)
{
    double place = share * (count - 1);
    int below = (int)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

void bench_finish(struct arena *arena, struct bench_candidate *candidate)
{
    double *sorted = ARENA_ARRAY(arena, double, candidate->count);
    memcpy(sorted, candidate->times, sizeof *sorted * (size_t)candidate->count);
    qsort(sorted, (size_t)candidate->count, sizeof *sorted, compare_times);
    candidate->median = quantile(sorted, candidate->count, 0.5);
    candidate->p10 = quantile(sorted, candidate->count, 0.1);
    candidate->p90 = quantile(sorted, candidate->count, 0.9);
}

// ---------------------------------------------------------------------------------------------- the job

struct executor {
    tilec_bench *bench;
    const tilec_program *program;
    const struct tilec_bench_options *options;
    bool cuda;
    int ordinal;
};

static void add_candidate(struct bench_job *job, const char *label, const struct config *config)
{
    job->candidates[job->candidate_count++] = (struct bench_candidate){.label = label, .config = config};
}

// The config that a run would take.
static struct status add_first(const struct executor *executor, struct arena *arena, struct bench_job *job)
{
    const struct tilec_run_options *options = &executor->options->run;
    tilec_bench *bench = executor->bench;
    struct tune_for_run search = {executor->program, options};
    const struct resolve_request request = {
        .kernel = job->kernel, .bindings = job->bindings, .tensors = job->tensors, .path = options->config, .checked = options->checked,
        .edited = options->source != NULL, .cuda = executor->cuda, .ordinal = executor->ordinal, .session = &bench->session,
        .tune = tune_for_run, .time = time_for_run, .tune_data = &search};
    struct status status = resolve_config(arena, &request, &bench->resolved);
    add_candidate(job, bench->resolved.label, bench->resolved.config);
    return status;
}

static struct status add_second(const struct executor *executor, struct arena *arena, const char *versus, struct bench_job *job)
{
    struct config *config = NULL;
    int sm = 0;
    struct status seen = resolve_sm(arena, executor->cuda, executor->ordinal, &sm);
    if (!seen.ok) return seen;
    struct config_data data = resolve_data(arena, job->kernel, job->tensors, sm);
    if (strcmp(versus, "default") == 0) return add_candidate(job, versus, config_default_for(arena, job->kernel, &data)), STATUS_OK;
    struct status status = config_load(arena, job->kernel, versus, &config);
    add_candidate(job, versus, config);
    return status;
}

static struct status read_text(struct arena *arena, const char *path, struct bench_job *job)
{
    const char *reason = NULL;
    const struct source *source = path ? source_read(arena, path, &reason) : NULL;
    if (!path) return STATUS_OK;
    if (!source) return status_failed(arena, "usage.file", "can't read %s: %s", path, reason);
    job->source = source->text;
    job->source_length = source->length;
    return STATUS_OK;
}

static struct status execute(void *data, struct arena *arena, const struct ir_kernel *kernel, struct ir_tensor *tensors,
                             const struct ir_bindings *bindings)
{
    const struct executor *executor = data;
    const struct tilec_run_options *options = &executor->options->run;
    tilec_bench *bench = executor->bench;
    struct bench_job *job = &bench->job;
    *job = (struct bench_job){.kernel = kernel, .bindings = bindings, .tensors = tensors, .fetch = options->check || options->out_count,
                              .checked = options->checked, .keep = options->keep, .session = &bench->session, .wanted_runs = executor->options->runs};
    struct status status = add_first(executor, arena, job);
    if (status.ok && executor->options->versus) status = add_second(executor, arena, executor->options->versus, job);
    if (status.ok) status = read_text(arena, options->source, job);
    for (int i = 0; i < job->candidate_count && status.ok; i++) config_print(&bench->configs[i], kernel, job->candidates[i].config, false);
    bench->traffic = count_traffic(arena, kernel, bindings, tensors);
    if (!status.ok) return status;
    return executor->cuda ? bench_on_cuda(arena, executor->ordinal, job) : bench_on_cpu(arena, job);
}

static struct status bench_run(tilec_bench *bench, const tilec_program *program, const struct tilec_bench_options *options,
                               struct diagnostics *diagnostics)
{
    struct executor executor = {.bench = bench, .program = program, .options = options};
    struct status status = cache_session_begin(bench->arena, &options->run.cache, &bench->session);
    if (!status.ok) return status;
    const char *device = options->run.device ? options->run.device : "cpu";
    executor.cuda = cuda_device_named(device, &executor.ordinal);
    if (!executor.cuda && strcmp(device, "cpu") != 0)
        return status_failed(bench->arena, "usage.device", "there is no device '%s' to time on; there are cpu, cuda and cuda:N", device);
    const struct run_request request = {
        .bind = run_bind_request(program, &options->run), .device = device, .execute = execute, .execute_data = &executor,
        .check = options->run.check, .out_count = options->run.out_count, .outs = options->run.outs,
        .save_directory = options->run.save_arguments, .histogram = options->run.histogram, .quiet = true,
        .resolved = &bench->resolved};
    return run(bench->arena, &request, diagnostics, &bench->result);
}

// ---------------------------------------------------------------------------------------------- what the times come to

struct figures {
    double bytes, rate;        // of the floor; bytes per second at the median
    double floor;              // ms: bytes read at the speed of reading, bytes written at that of writing
    double share, of_floor;    // of the copy speed, 1 is all of it; the floor over the median
    double operations;         // per second
};

static struct figures figures_of(const tilec_bench *bench, const struct bench_candidate *candidate)
{
    struct figures figures = {.bytes = bench->traffic.read_bytes + bench->traffic.written_bytes};
    figures.rate = 1e3 * figures.bytes / candidate->median;
    if (bench->job.read_rate > 0 && bench->job.write_rate > 0)
        figures.floor = 1e3 * (bench->traffic.read_bytes / bench->job.read_rate + bench->traffic.written_bytes / bench->job.write_rate);
    figures.of_floor = figures.floor / candidate->median;
    figures.share = bench->job.copy_rate > 0 ? figures.rate / bench->job.copy_rate : 0;
    figures.operations = 1e3 * bench->traffic.flops / candidate->median;
    return figures;
}

// A number with so many digits behind the point, under any locale.
static void number_fixed(struct text *out, double value, int places)
{
    static const double scales[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    if (!isfinite(value) || fabs(value) > 1e12) {
        text_double(out, value);
        return;
    }
    long long scaled = llround(fabs(value) * scales[places]), whole = scaled / (long long)scales[places];
    text_printf(out, "%s%lld", value < 0 && scaled ? "-" : "", whole);
    if (places) text_printf(out, ".%0*lld", places, scaled - whole * (long long)scales[places]);
}

// A number with four significant digits, or a few more.
static void digits(struct text *out, double value)
{
    double size = fabs(value);
    int places = size >= 1000 || !isfinite(value) ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : size >= 0.1 ? 4 : 5;
    number_fixed(out, value, places);
}

static void print_candidate(struct text *out, const tilec_bench *bench, const struct bench_candidate *candidate)
{
    struct figures figures = figures_of(bench, candidate);
    text_printf(out, "%s: ", candidate->label);
    digits(out, candidate->median);
    text_add(out, " ms  (p10 ");
    digits(out, candidate->p10);
    text_add(out, ", p90 ");
    digits(out, candidate->p90);
    text_printf(out, ", %d runs)  ", candidate->count);
    digits(out, figures.rate / 1e9);
    text_add(out, " GB/s, ");
    number_fixed(out, 100 * figures.of_floor, 1);
    text_add(out, "% of the floor's speed, ");
    number_fixed(out, 100 * figures.share, 1);
    text_add(out, "% of the copy speed");
    if (bench->traffic.flops > 0) text_add(out, ", "), digits(out, figures.operations / 1e12), text_add(out, " TFLOP/s");
    text_add(out, "\n");
    for (int i = 0; i < candidate->usage_count; i++) {
        const struct cuda_usage *usage = &candidate->usage[i];
        text_printf(out, "  %s: %d registers, %d bytes of shared memory, spills: %d bytes stored, %d loaded\n", usage->name, usage->registers,
                    usage->shared_bytes, usage->spill_store_bytes, usage->spill_load_bytes);
    }
}

static void print_summary(tilec_bench *bench)
{
    struct text *out = &bench->summary;
    const struct bench_job *job = &bench->job;
    text_printf(out, "%s on %s", job->kernel->name, job->device);
    if (*job->driver) text_printf(out, ", driver %s", job->driver);
    if (job->multiprocessor_mhz) text_printf(out, ", %d MHz, memory %d MHz", job->multiprocessor_mhz, job->memory_mhz);
    text_printf(out, "; seed %llu\n", (unsigned long long)bench->seed);
    text_add(out, "floor: ");
    digits(out, bench->traffic.read_bytes / 1e6);
    text_add(out, " MB read at ");
    digits(out, job->read_rate / 1e9);
    text_add(out, " GB/s, ");
    digits(out, bench->traffic.written_bytes / 1e6);
    text_add(out, " MB written at ");
    digits(out, job->write_rate / 1e9);
    text_add(out, " GB/s: ");
    digits(out, figures_of(bench, &job->candidates[0]).floor);
    text_printf(out, " ms; copying %lld MiB: ", (long long)(job->copy_bytes >> 20));
    digits(out, job->copy_rate / 1e9);
    text_add(out, " GB/s read and written\n");
    for (int i = 0; i < job->candidate_count; i++) print_candidate(out, bench, &job->candidates[i]);
    if (job->candidate_count == 2) {
        text_printf(out, "%s takes ", job->candidates[1].label);
        digits(out, job->candidates[1].median / job->candidates[0].median);
        text_printf(out, " times as long as %s\n", job->candidates[0].label);
    }
    text_add(out, bench->result.report.data ? bench->result.report.data : "");
}

// ---------------------------------------------------------------------------------------------- tilec.h

tilec_result tilec_bench_kernel(tilec_program *program, const struct tilec_bench_options *options, tilec_report *report,
                                tilec_bench **done)
{
    if (done) *done = NULL;
    WANT_AS(report, "program, options, bench", program, options, done);
    tilec_result given = given_run(report, __func__, &options->run);
    if (given != TILEC_OK) return given;
    struct diagnostics diagnostics;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_bench *bench = ARENA_NEW(arena, tilec_bench);
    bench->arena = arena;
    bench->seed = options->run.seed;
    diagnostics_init(&diagnostics, arena);
    struct status status = bench_run(bench, program, options, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    cache_session_report(&bench->session, report);
    if (!status.ok && !(result == TILEC_WRONG && strncmp(status.code, "program.", 8) == 0)) result = report_status(report, &status);
    bool timed = bench->job.candidate_count > 0 && bench->job.candidates[0].median > 0 && bench->job.device;
    if (timed && (status.ok || strcmp(status.code, "check.differs") == 0)) print_summary(*done = bench);
    else tilec_bench_free(bench);
    return result;
}

void tilec_bench_free(tilec_bench *bench)
{
    if (!bench) return;
    run_free(&bench->result);
    text_free(&bench->summary);
    for (int i = 0; i < BENCH_CANDIDATES; i++) text_free(&bench->configs[i]);
    arena_free(bench->arena);
}

const char *tilec_bench_summary(const tilec_bench *bench)
{
    if (!bench) return NULL;
    return bench->summary.data;
}

// ---------------------------------------------------------------------------------------------- as JSON

static void json_text(struct text *out, const char *key, const char *value)
{
    text_printf(out, ", \"%s\": ", key);
    json_string(out, value);
}

static void json_number(struct text *out, const char *key, double value)
{
    text_printf(out, ", \"%s\": ", key);
    if (isfinite(value)) text_double(out, value);
    else text_add(out, "null");
}

static void json_usage(struct text *out, const struct bench_candidate *candidate)
{
    text_add(out, ", \"kernels\": [");
    for (int i = 0; i < candidate->usage_count; i++) {
        const struct cuda_usage *usage = &candidate->usage[i];
        text_add(out, i ? ", {\"name\": " : "{\"name\": ");
        json_string(out, usage->name);
        text_printf(out, ", \"registers\": %d, \"shared_bytes\": %d, \"spill_store_bytes\": %d, \"spill_load_bytes\": %d}", usage->registers,
                    usage->shared_bytes, usage->spill_store_bytes, usage->spill_load_bytes);
    }
    text_add(out, "]");
}

static void json_candidate(struct text *out, const tilec_bench *bench, int index)
{
    const struct bench_candidate *candidate = &bench->job.candidates[index];
    struct figures figures = figures_of(bench, candidate);
    text_add(out, "{\"label\": ");
    json_string(out, candidate->label);
    json_number(out, "median_ms", candidate->median);
    json_number(out, "p10_ms", candidate->p10);
    json_number(out, "p90_ms", candidate->p90);
    text_printf(out, ", \"runs\": %d", candidate->count);
    json_number(out, "gb_per_s", figures.rate / 1e9);
    json_number(out, "share_of_copy", figures.share);
    json_number(out, "share_of_floor", figures.of_floor);
    if (bench->traffic.flops > 0) json_number(out, "tflop_per_s", figures.operations / 1e12);
    json_usage(out, candidate);
    text_printf(out, ", \"config\": %s}", bench->configs[index].data);
}

static void json_dims(struct text *out, const struct bench_job *job)
{
    text_add(out, ", \"dims\": {");
    for (int i = 0; i < job->kernel->dim_count; i++) {
        if (i) text_add(out, ", ");
        json_string(out, job->kernel->dims[i].name);
        text_printf(out, ": %lld", (long long)job->bindings->dims[i]);
    }
    text_add(out, "}, \"types\": {");
    for (int i = 0; i < job->kernel->generic_count; i++)
        text_printf(out, "%s\"%s\": \"%s\"", i ? ", " : "", job->kernel->generic_names[i], ir_type_name(job->kernel->generic_types[i]));
    text_add(out, "}");
}

static void json_checks(struct text *out, const struct run_result *result)
{
    for (int i = 0; i < result->output_count; i++)
        if (result->outputs[i].checked && !result->outputs[i].comparison.ok) {
            text_add(out, ", \"check\": false");
            return;
        }
    for (int i = 0; i < result->output_count; i++)
        if (result->outputs[i].checked) {
            text_add(out, ", \"check\": true");
            return;
        }
}

tilec_text tilec_bench_json(const tilec_bench *bench)
{
    if (!bench) return text_take(&(struct text){0});
    struct text out = {0};
    const struct bench_job *job = &bench->job;
    text_add(&out, "{\"kernel\": ");
    json_string(&out, job->kernel->name);
    json_text(&out, "tilec", TILEC_VERSION);
    json_text(&out, "device", job->device);
    json_text(&out, "driver", job->driver);
    json_text(&out, "toolkit", job->toolkit);
    text_printf(&out, ", \"clock_mhz\": %d, \"memory_clock_mhz\": %d, \"seed\": %llu", job->multiprocessor_mhz, job->memory_mhz,
                (unsigned long long)bench->seed);
    text_printf(&out, ", \"config_from\": \"%s\", \"compiled\": %d, \"cached\": %d", config_origin_name(bench->resolved.origin),
                bench->session.compiled, bench->session.taken);
    json_dims(&out, job);
    json_number(&out, "bytes_read", bench->traffic.read_bytes);
    json_number(&out, "bytes_written", bench->traffic.written_bytes);
    json_number(&out, "flops", bench->traffic.flops);
    json_number(&out, "copy_gb_per_s", job->copy_rate / 1e9);
    json_number(&out, "read_gb_per_s", job->read_rate / 1e9);
    json_number(&out, "write_gb_per_s", job->write_rate / 1e9);
    text_printf(&out, ", \"copy_bytes\": %lld, \"flushed_bytes\": %lld", (long long)job->copy_bytes, (long long)job->flushed_bytes);
    json_number(&out, "floor_ms", figures_of(bench, &job->candidates[0]).floor);
    json_checks(&out, &bench->result);
    text_add(&out, ", \"results\": [");
    for (int i = 0; i < job->candidate_count; i++) {
        text_add(&out, i ? ",\n  " : "\n  ");
        json_candidate(&out, bench, i);
    }
    text_add(&out, "]}");
    return text_take(&out);
}
