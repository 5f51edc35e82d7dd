// SPDX-License-Identifier: Apache-2.0
// tilec.h: running. In: a program, arguments in words, a device. Out: outputs, checks and files, by run.c; what runs
// the kernel, the CPU target, a GPU or the evaluator, is chosen here.
#include <math.h>
#include <string.h>

#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/data.h"
#include "runtime/given.h"
#include "runtime/runtime.h"

struct tilec_run {
    struct arena *arena;
    struct run_result result;
    struct cache_session session;
    struct resolved resolved;  // the config that ran; NULL on the reference evaluator
};

// ---------------------------------------------------------------------------------------------- executors

struct executor {
    const tilec_program *program;
    const struct tilec_run_options *options;
    tilec_run *job;
    bool cuda;
    int ordinal;  // of the CUDA device
};

// The config is chosen only now that the kernel's specialization and its data are known.
static struct status choose_config(const struct executor *executor, struct arena *arena, const struct ir_kernel *kernel,
                                   const struct ir_tensor *tensors, const struct ir_bindings *bindings)
{
    const struct tilec_run_options *options = executor->options;
    struct tune_for_run search = {executor->program, options};
    const struct resolve_request request = {
        .kernel = kernel, .bindings = bindings, .tensors = tensors, .path = options->config, .checked = options->checked,
        .edited = options->source != NULL, .cuda = executor->cuda, .ordinal = executor->ordinal, .session = &executor->job->session,
        .tune = tune_for_run, .time = time_for_run, .tune_data = &search};
    return resolve_config(arena, &request, &executor->job->resolved);
}

// An edited text, or NULL: the emitted one.
static struct status read_text(struct arena *arena, const struct tilec_run_options *options, const struct source **source)
{
    const char *reason = NULL;
    *source = options->source ? source_read(arena, options->source, &reason) : NULL;
    if (options->source && !*source) return status_failed(arena, "usage.file", "can't read %s: %s", options->source, reason);
    return STATUS_OK;
}

// Rows that overrun are an error: where looking at offsets and lengths doesn't tell, the emitted text looks at each index.
static bool wants_checks(const struct executor *executor, struct arena *arena, const struct ir_kernel *kernel)
{
    const struct tilec_run_options *options = executor->options;
    if (options->checked || options->trusting || options->source || options->keep) return options->checked;
    const struct rows_uses rows = rows_find(arena, kernel);
    return rows_leave_open(kernel, &rows);
}

static struct status execute_on_cpu(void *data, struct arena *arena, const struct ir_kernel *kernel, struct ir_tensor *tensors,
                                    const struct ir_bindings *bindings)
{
    const struct executor *executor = data;
    const struct tilec_run_options *options = executor->options;
    const struct source *source = NULL;
    struct status status = choose_config(executor, arena, kernel, tensors, bindings);
    if (status.ok) status = read_text(arena, options, &source);
    const struct cpu_request request = {
        .kernel = kernel, .config = executor->job->resolved.config, .bindings = *bindings, .tensors = tensors,
        .checked = wants_checks(executor, arena, kernel),
        .source = source ? source->text : NULL, .source_length = source ? source->length : 0, .keep = options->keep,
        .session = &executor->job->session};
    return status.ok ? cpu_execute(arena, &request) : status;
}

static struct status execute_on_cuda(void *data, struct arena *arena, const struct ir_kernel *kernel, struct ir_tensor *tensors,
                                     const struct ir_bindings *bindings)
{
    const struct executor *executor = data;
    const struct tilec_run_options *options = executor->options;
    const struct source *source = NULL;
    struct status status = choose_config(executor, arena, kernel, tensors, bindings);
    if (status.ok) status = read_text(arena, options, &source);
    const struct cuda_request request = {
        .kernel = kernel, .config = executor->job->resolved.config, .bindings = *bindings, .tensors = tensors,
        .index64 = plan_demands(kernel, bindings, tensors).index64, .checked = options->checked, .source = source ? source->text : NULL,
        .source_length = source ? source->length : 0, .keep = options->keep, .session = &executor->job->session};
    return status.ok ? cuda_execute(arena, executor->ordinal, &request, tensors) : status;
}

// ---------------------------------------------------------------------------------------------- the job

struct bind_request run_bind_request(const tilec_program *program, const struct tilec_run_options *options)
{
    return (struct bind_request){
        .file = program->file,
        .kernel = options->kernel,
        .argument_count = options->argument_count,
        .arguments = options->arguments,
        .dim_count = options->dim_count,
        .dims = options->dims,
        .type_count = options->type_count,
        .types = options->types,
        .static_count = options->static_count,
        .statics = options->statics,
        .dynamic_count = options->dynamic_count,
        .dynamics = options->dynamics,
        .compile_in = true,
        .seed = options->seed,
        .validate = !options->trusting,
    };
}

static struct status run_job(tilec_run *job, const tilec_program *program, const struct tilec_run_options *options,
                             struct diagnostics *diagnostics)
{
    struct executor executor = {.program = program, .options = options, .job = job};
    const char *device = options->device ? options->device : "cpu";
    bool reference = strcmp(device, "reference") == 0, cuda = executor.cuda = cuda_device_named(device, &executor.ordinal);
    struct status status = cache_session_begin(job->arena, &options->cache, &job->session);
    if (!status.ok) return status;
    if (!reference && !cuda && strcmp(device, "cpu") != 0)
        return status_failed(job->arena, "usage.device", "there is no device '%s'; there are cpu, cuda, cuda:N and reference", device);
    if (reference && (options->config || options->source || options->keep))
        return status_failed(job->arena, "usage.device", "the reference evaluator takes no config, source or kept text");
    const struct run_request request = {
        .bind = run_bind_request(program, options),
        .device = device,
        .execute = reference ? NULL : cuda ? execute_on_cuda : execute_on_cpu,
        .execute_data = &executor,
        .check = options->check,
        .out_count = options->out_count,
        .outs = options->outs,
        .save_directory = options->save_arguments,
        .histogram = options->histogram,
        .resolved = &job->resolved,
    };
    return run(job->arena, &request, diagnostics, &job->result);
}

tilec_result tilec_run_kernel(tilec_program *program, const struct tilec_run_options *options, tilec_report *report,
                              tilec_run **done)
{
    if (done) *done = NULL;
    WANT_AS(report, "program, options, run", program, options, done);
    tilec_result given = given_run(report, __func__, options);
    if (given != TILEC_OK) return given;
    struct diagnostics diagnostics;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_run *job = ARENA_NEW(arena, tilec_run);
    job->arena = arena;
    diagnostics_init(&diagnostics, arena);
    struct status status = run_job(job, program, options, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    cache_session_report(&job->session, report);
    if (!status.ok && !(result == TILEC_WRONG && strncmp(status.code, "program.", 8) == 0)) result = report_status(report, &status);
    if (status.ok || strncmp(status.code, "check.", 6) == 0) *done = job;
    else tilec_run_free(job);
    return result;
}

void tilec_run_free(tilec_run *run)
{
    if (!run) return;
    run_free(&run->result);
    arena_free(run->arena);
}

const char *tilec_run_summary(const tilec_run *run)
{
    if (!run) return NULL;
    return run->result.report.data ? run->result.report.data : "";
}

const char *tilec_run_printed(const tilec_run *run)
{
    if (!run) return NULL;
    return run->result.printed.data ? run->result.printed.data : "";
}

// ---------------------------------------------------------------------------------------------- as JSON

// JSON has no infinities and no NaN: they are strings.
static void json_number(struct text *out, double value)
{
    if (!isfinite(value)) text_add(out, "\"");
    text_double(out, value);
    if (!isfinite(value)) text_add(out, "\"");
}

static void json_comparison(struct text *out, const struct comparison *comparison)
{
    text_printf(out, ", \"check\": {\"ok\": %s, \"compared\": %lld, \"wrong\": %lld, \"largest_error\": ",
                comparison->ok ? "true" : "false", (long long)comparison->compared, (long long)comparison->wrong);
    json_number(out, comparison->largest_error);
    text_add(out, ", \"tolerance\": ");
    json_number(out, comparison->tolerance);
    text_add(out, "}");
}

static void json_output(struct text *out, const struct run_output *output)
{
    text_add(out, "{\"name\": ");
    json_string(out, output->name);
    text_printf(out, ", \"type\": \"%s\", \"shape\": [", ir_type_name(output->view.type));
    for (int i = 0; i < output->view.rank; i++) text_printf(out, "%s%lld", i ? ", " : "", (long long)output->view.shape[i]);
    text_add(out, "]");
    if (output->file) text_add(out, ", \"file\": "), json_string(out, output->file);
    if (output->checked) json_comparison(out, &output->comparison);
    text_add(out, "}");
}

// Which config ran and why that one, and what had to be compiled for it.
static void json_config(struct text *out, const tilec_run *run)
{
    text_printf(out, ", \"config\": {\"from\": \"%s\", \"name\": ", config_origin_name(run->resolved.origin));
    json_string(out, run->resolved.label);
    text_add(out, ", \"json\": ");
    config_print(out, run->result.bound.kernel, run->resolved.config, false);
    text_printf(out, "}, \"compiled\": %d, \"cached\": %d", run->session.compiled, run->session.taken);
}

tilec_text tilec_run_json(const tilec_run *run)
{
    if (!run) return text_take(&(struct text){0});
    const struct run_result *result = &run->result;
    struct text out = {0};
    text_add(&out, "{\"kernel\": ");
    json_string(&out, result->bound.kernel->name);
    text_add(&out, ", \"seconds\": ");
    json_number(&out, result->seconds);
    text_printf(&out, ", \"checked_rows\": %lld, \"rows\": %lld", (long long)result->checked_rows, (long long)result->all_rows);
    if (run->resolved.config) json_config(&out, run);
    text_add(&out, ", \"outputs\": [");
    for (int i = 0; i < result->output_count; i++) {
        text_add(&out, i ? ",\n  " : "\n  ");
        json_output(&out, &result->outputs[i]);
    }
    text_add(&out, "]}");
    return text_take(&out);
}
