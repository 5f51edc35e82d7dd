// SPDX-License-Identifier: Apache-2.0
// tilec.h: tuning. In: a program, arguments in words, a device, perhaps a list of configs. Out: a row for each config, and
// the best of them. What happens between is the driver's (tune.c).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda.h"
#include "runtime/dispatch.h"
#include "runtime/given.h"
#include "runtime/runtime.h"
#include "runtime/tune_job.h"

enum { COMPILERS_DEFAULT = 16 };
static const double compile_seconds = 60, run_seconds = 20;

// ---------------------------------------------------------------------------------------------- the journal

static struct status choose_journal(tilec_tune *tune)
{
    const struct tilec_tune_options *options = tune->options;
    struct status status = shard_parse(tune->arena, options->shard, &tune->shard);
    tune->journal_path = options->journal;
    if (!status.ok || tune->shard.count == 0 || options->compile_only) return status;
    if (options->journal)
        return status_failed(tune->arena, "usage.shard", "a shard has its journal in a folder that all share: --folder, not --journal");
    return shard_journal(tune->arena, options->folder ? options->folder : "tune", &tune->shard, &tune->journal_path);
}

static struct status open_journal(tilec_tune *tune)
{
    if (!tune->journal_path) return STATUS_OK;
    const char *about = tune->shard.count ? shard_head(tune->arena, &tune->shard, tune->key.fields[KEY_DEVICE]) : "";
    struct status status = journal_open(tune->arena, tune->journal_path, tune_journal_key(tune), about, tune->bound.kernel, tune->searches,
                                        &tune->rows, &tune->resumed, &tune->journal);
    if (status.ok) tune->job.journal = &tune->journal;
    return status;
}

// ---------------------------------------------------------------------------------------------- the machine

static int compilers_here(const tilec_tune *tune)
{
    int cores = usable_cores(), count = tune->cuda && cores > 1 ? cores - 1 : cores;
    if (tune->options->compilers > 0) return tune->options->compilers;
    return count > COMPILERS_DEFAULT ? COMPILERS_DEFAULT : count;
}

// Fewer compilers where memory is short; none at all where even one is too many.
static struct status fit_memory(tilec_tune *tune, int *compilers)
{
    int64_t room = tune_free_memory(), need = 0;
    for (*compilers = compilers_here(tune); *compilers > 0; --*compilers) {
        need = tune->peak_bytes = tune_peak_memory(&tune->bound, *compilers);
        if (need <= room) return STATUS_OK;
    }
    return status_failed(tune->arena, "launch.memory", "the tune would take %lld MiB at its peak, and %lld MiB of memory are free",
                         (long long)(need >> 20), (long long)(room >> 20));
}

static void adapt_progress(void *data, const struct tune_progress *progress)
{
    const tilec_tune *tune = data;
    const struct tilec_tune_progress told = {progress->done, progress->total, progress->ok, progress->seconds,
                                             progress->left, progress->best, progress->phase, tune->job.compilers, tune->peak_bytes};
    tune->options->progress(tune->options->data, &told);
}

static bool adapt_stopped(void *data)
{
    const tilec_tune *tune = data;
    return tune->options->stopped(tune->options->data) != 0;
}

// What is asked for. A count by itself takes as long as it takes.
static struct config_search wanted_search(const tilec_tune *tune)
{
    const struct cache_settings *settings = &tune->session.settings;
    struct config_search wanted = cache_search(settings, EFFORT_FULL);
    if (settings->effort == EFFORT_NONE) return wanted;
    wanted.configs = tune->options->count;
    if (wanted.configs > 0 && settings->budget_seconds <= 0) wanted.seconds = 0;
    return wanted;
}

static void fill_job(tilec_tune *tune, const tilec_program *program, int compilers)
{
    const struct tilec_tune_options *options = tune->options;
    struct tune_job *job = &tune->job;
    job->source = program->source;
    job->work = &tune->prepared.work;
    job->file = tune->prepared.file;
    job->target = tune->cuda ? "cuda" : "cpu";
    job->ordinal = tune->ordinal;
    job->settings = cache_session_environment(tune->arena, &tune->session, tune->options->compile_only != 0);
    job->compilers = compilers;
    job->alone = !tune->cuda;
    job->budget = tune->searches ? wanted_search(tune).seconds : tune->dispatch ? 0 : tune->session.settings.budget_seconds;
    job->compile_limit = options->compile_limit > 0 ? options->compile_limit : compile_seconds;
    job->run_limit = options->run_limit > 0 ? options->run_limit : run_seconds;
    job->retimed = options->retimed;
    job->progress = options->progress ? adapt_progress : NULL;
    job->stopped = options->stopped ? adapt_stopped : NULL;
    job->data = tune;
    job->rows = &tune->rows;
    if (tune->prepared.sampled) job->reference = config_default(tune->arena, tune->bound.kernel);
}

// ---------------------------------------------------------------------------------------------- the outcome

static void take_best(tilec_tune *tune)
{
    int best = -1;
    tune->best_row = tune_rows_best(&tune->rows, 1, &best) ? best : -1;
    if (tune->best_row >= 0) tune->best = tune->rows.items[best].config;
}

// Why there is no best: nothing had its turn, or nothing was right.
static tilec_result report_none(const tilec_tune *tune, tilec_report *report)
{
    int skipped = 0, count = tune->rows.count;
    for (int i = 0; i < count; i++) skipped += tune->rows.items[i].result.status == TUNE_SKIPPED_BUDGET;
    if (count && skipped == count)
        return report_failed(report, "search.none", "give it more: --budget SECONDS",
                             "none of the %d configs had its turn within the budget of %g seconds", count, tune->job.budget);
    return report_failed(report, "search.none", "the table says why, config by config", "none of the %d configs was ok", count);
}

static tilec_result outcome(const tilec_tune *tune, const struct status *status, tilec_report *report)
{
    if (!status->ok) return report_status(report, status);
    if (tune->job.interrupted) return TILEC_INTERRUPTED;
    return tune->best || tune_rows_compiled(&tune->rows) ? TILEC_OK : report_none(tune, report);
}

// ---------------------------------------------------------------------------------------------- a search

static struct status look_up(tilec_tune *tune)
{
    const struct resolve_request request = {
        .kernel = tune->bound.kernel, .bindings = &tune->bound.bindings, .tensors = tune->bound.views, .checked = tune->options->run.checked,
        .cuda = tune->cuda, .ordinal = tune->ordinal, .session = &tune->session};
    const struct config_search wanted = wanted_search(tune);
    bool part = tune->shard.count > 0 || tune->options->merge;
    if (tune->dispatch || tune->options->compile_only) return STATUS_OK;  // the caller has looked, or wants no answer
    struct status status = resolve_key(tune->arena, &request, &tune->key);
    if (!status.ok || tune->options->configs || part) return status;
    tune->cached = config_cache_find(tune->arena, &tune->session, tune->bound.kernel, &tune->key, &wanted, &tune->entry);
    if (tune->cached) tune->best = tune->entry.config;
    else if (tune->session.settings.assert_hit) status = config_cache_miss(tune->arena, &tune->session, &tune->key, &wanted);
    return status;
}

// An interrupted search counts for the time that it had, and isn't to replace what wasn't looked at.
static void store_best(tilec_tune *tune)
{
    const struct tune_job *job = &tune->job;
    bool merged = tune->options->merge && !tune->options->configs && !tune->unknown;
    bool lasting = (tune->searches && tune->shard.count == 0 && !tune->options->compile_only) || merged || (tune->dispatch && !job->interrupted);
    if (!lasting || !tune->best || (job->interrupted && tune->session.settings.force)) return;
    struct config_found found = {.config = tune->best, .milliseconds = tune->rows.items[tune->best_row].result.median};
    found.search = tune->dispatch ? (struct config_search){.effort = EFFORT_NONE} : wanted_search(tune);
    found.search.configs = tune->rows.count;
    found.search.whole = (job->exhausted || tune->dispatch) && !job->timed_out && !job->interrupted;
    if (!job->timed_out) found.search.seconds = job->seconds;
    if (merged) found.search.seconds = tune->merged.seconds, found.search.whole = tune->merged.whole;
    config_cache_store(tune->arena, &tune->session, tune->bound.kernel, &tune->key, &found);
    const struct bound *bound = &tune->bound;
    const struct cuda_request built = {
        .kernel = bound->kernel, .config = tune->best, .bindings = bound->bindings, .session = &tune->session,
        .index64 = plan_demands(bound->kernel, &bound->bindings, bound->views).index64};
    if (tune->cuda) cuda_share(tune->arena, tune->ordinal, &built);
}

// Whether there was no more to try.
static bool went_through(const struct tune_job *job)
{
    return job->exhausted && !job->timed_out && !job->interrupted;
}

static struct status search(tilec_tune *tune, const tilec_program *program, const struct bind_request *request)
{
    const char *reason = NULL;
    int compilers = 1;
    struct status status = resolve_sm(tune->arena, tune->cuda, tune->ordinal, &tune->sm);
    if (status.ok) status = tune_make_rows(tune);
    if (status.ok) status = fit_memory(tune, &compilers);
    if (!status.ok) return status;
    tune->job.program = worker_program(tune->arena, tune->options->worker, &reason);
    if (!tune->job.program) return status_failed(tune->arena, "missing.worker", "%s", reason);
    status = open_journal(tune);
    double begin = seconds_now();
    if (status.ok) status = bound_fill(tune->arena, &tune->bound);
    if (status.ok) status = tune_prepare(tune->arena, request, &tune->bound, &tune->prepared);
    if (!status.ok) return status;
    tune->prepare_seconds = seconds_now() - begin;
    if (tune->cuda) tune->prepared.work.properties = cuda_properties_of(tune->arena, tune->ordinal);
    fill_job(tune, program, compilers);
    status = tune_run(tune->arena, &tune->job);
    tune->done = true;
    if (status.ok && !tune->job.interrupted) journal_finished(&tune->journal, tune->job.seconds, went_through(&tune->job));
    take_best(tune);
    store_best(tune);
    return status.ok ? tune_second_opinion(tune, request) : status;
}

// ---------------------------------------------------------------------------------------------- shards together

// On a machine without such a device the key isn't known: what comes of it is right all the same, and can't be kept.
static struct status merge(tilec_tune *tune)
{
    struct status status = look_up(tune), made = tune_make_rows(tune);
    if (!status.ok) tune->unknown = status.reason;
    if (made.ok)
        made = shards_merge(tune->arena, tune->options->merge, tune->bound.kernel, tune->options->configs != NULL, &tune->rows, &tune->merged);
    if (!made.ok) return made;
    if (!tune->unknown && strcmp(tune->merged.device, tune->key.fields[KEY_DEVICE]) != 0)
        tune->unknown = arena_printf(tune->arena, "this device is %s", tune->key.fields[KEY_DEVICE]);
    if (!tune->unknown && strcmp(tune->merged.key, tune_journal_key(tune)) != 0)
        return status_failed(tune->arena, "usage.merge", "%s has journals of another tune (another program, data, driver, seed or list of configs)",
                             tune->options->merge);
    tune->done = true;
    take_best(tune);
    store_best(tune);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- compiling alone

// Limits of architectures where there is no device to ask: those of the largest ones, since a device is asked again.
static struct status compiling_target(tilec_tune *tune)
{
    struct target target;
    const char *arch = tune->options->arch;
    if (!arch) return resolve_sm(tune->arena, tune->cuda, tune->ordinal, &tune->sm);
    if (!target_parse(arch, &target) || target.kind != TARGET_CUDA)
        return status_failed(tune->arena, "usage.arch", "'%s' is no GPU architecture: they are spelled like sm_90", arch);
    tune->cuda = true;
    tune->sm = target.sm;
    return STATUS_OK;
}

static struct status compile(tilec_tune *tune, const tilec_program *program)
{
    const char *reason = NULL;
    struct status status = tune_make_rows(tune);
    if (!status.ok) return status;
    tune->job.program = worker_program(tune->arena, tune->options->worker, &reason);
    if (!tune->job.program) return status_failed(tune->arena, "missing.worker", "%s", reason);
    tune_prepare_compiling(tune->arena, &tune->bound, &tune->prepared.work);
    if (tune->cuda) tune->prepared.work.properties = cuda_properties_for(tune->arena, tune->sm);
    fill_job(tune, program, compilers_here(tune));
    tune->peak_bytes = tune_peak_memory(NULL, tune->job.compilers);
    tune->job.compile_only = true;
    tune->job.alone = false;
    tune->job.reference = NULL;
    status = tune_run(tune->arena, &tune->job);
    tune->done = true;
    return status;
}

// ---------------------------------------------------------------------------------------------- all of it

static struct status check_options(const tilec_tune *tune)
{
    const struct tilec_tune_options *options = tune->options;
    if (options->merge && (options->shard || options->journal || options->compile_only))
        return status_failed(tune->arena, "usage.merge", "a merge measures nothing: it goes with no --shard, --journal or --compile-only");
    if (options->compile_only && options->journal)
        return status_failed(tune->arena, "usage.compile", "--compile-only has no results for a --journal");
    if (options->arch && !options->compile_only)
        return status_failed(tune->arena, "usage.arch", "--arch says what --compile-only compiles for; a tune is on a device");
    return STATUS_OK;
}

static struct status find_device(tilec_tune *tune)
{
    const char *device = tune->options->run.device ? tune->options->run.device : "cpu";
    tune->cuda = cuda_device_named(device, &tune->ordinal);
    if (!tune->cuda && strcmp(device, "cpu") != 0)
        return status_failed(tune->arena, "usage.device", "there is no device '%s' to tune on; there are cpu, cuda and cuda:N", device);
    return tune->options->compile_only ? compiling_target(tune) : STATUS_OK;
}

static struct status steps(tilec_tune *tune, const tilec_program *program, struct diagnostics *diagnostics)
{
    const struct tilec_run_options *run = &tune->options->run;
    struct bind_request request = run_bind_request(program, run);
    request.lazy = true;  // a known answer wants no data but what the key is made of
    struct status status = cache_session_begin(tune->arena, &run->cache, &tune->session);
    if (status.ok) status = check_options(tune);
    if (status.ok) status = find_device(tune);
    if (status.ok && !tune->options->merge) status = choose_journal(tune);
    if (status.ok) status = bind_arguments(tune->arena, &request, diagnostics, &tune->bound);
    if (!status.ok) return status;
    if (tune->options->merge) return merge(tune);
    if (tune->options->compile_only) return compile(tune, program);
    status = look_up(tune);
    return status.ok && !tune->cached ? search(tune, program, &request) : status;
}

static tilec_tune *tune_new(const struct tilec_tune_options *options)
{
    struct arena *arena = arena_new();
    if (!arena) return NULL;
    tilec_tune *tune = ARENA_NEW(arena, tilec_tune);
    *tune = (tilec_tune){.arena = arena, .options = options, .prepared = {.file = -1}, .journal = {.file = -1}, .best_row = -1};
    return tune;
}

tilec_result tilec_tune_kernel(tilec_program *program, const struct tilec_tune_options *options, tilec_report *report, tilec_tune **done)
{
    if (done) *done = NULL;
    WANT_AS(report, "program, options, tune", program, options, done);
    tilec_result given = given_run(report, __func__, &options->run);
    if (given != TILEC_OK) return given;
    struct diagnostics diagnostics;
    tilec_tune *tune = tune_new(options);
    if (!tune) return report_failed(report, "internal.memory", NULL, "out of memory");
    diagnostics_init(&diagnostics, tune->arena);
    struct status status = steps(tune, program, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    cache_session_report(&tune->session, report);
    if (result == TILEC_OK || status.ok || strncmp(status.code, "program.", 8) != 0) result = outcome(tune, &status, report);
    if (tune->done || (status.ok && tune->cached)) {
        tune_make_summary(tune);
        *done = tune;
    } else {
        tilec_tune_free(tune);
    }
    return result;
}

void tilec_tune_free(tilec_tune *tune)
{
    if (!tune) return;
    bound_free(&tune->bound);
    journal_close(&tune->journal);
    if (tune->prepared.file >= 0) close(tune->prepared.file);
    text_free(&tune->summary);
    arena_free(tune->arena);
}

// ---------------------------------------------------------------------------------------------- for a run

// Takes the best as a config of the caller's kernel, which is the same one.
static struct status take_searched(const tilec_tune *tune, struct arena *arena, const struct ir_kernel *kernel, struct config **config)
{
    if (tune->job.interrupted) return status_failed(arena, "interrupted.search", "interrupted while a config was searched for");
    if (!tune->best) return status_failed(arena, "search.none", "none of the %d configs that were tried is ok; `tilec tune` says why", tune->rows.count);
    const char *text = tune_config_text(arena, tune->bound.kernel, tune->best);
    return config_parse(arena, kernel, text, strlen(text), config);
}

// As a command of its own, but for the arguments and the device: those are the run's.
static struct status tune_instead(const struct tune_for_run *job, const struct dispatch *dispatch, const struct config_key *key,
                                  struct arena *arena, const struct ir_kernel *kernel, struct config **config)
{
    struct tilec_tune_options options = job->options->search ? *job->options->search : (struct tilec_tune_options){0};
    struct diagnostics diagnostics;
    options.run = *job->options;
    options.configs = options.journal = options.shard = options.merge = options.arch = NULL;
    options.compile_only = 0;
    tilec_tune *tune = tune_new(&options);
    if (!tune) return status_failed(arena, "internal.memory", "out of memory");
    if (dispatch) tune->dispatch = dispatch, tune->key = *key;
    diagnostics_init(&diagnostics, tune->arena);
    struct status status = steps(tune, job->program, &diagnostics);
    if (!status.ok) status = status_failed(arena, status.code, "%s", status.reason);
    else status = take_searched(tune, arena, kernel, config);
    tilec_tune_free(tune);
    return status;
}

struct status tune_for_run(void *data, struct arena *arena, const struct ir_kernel *kernel, struct config **config)
{
    return tune_instead(data, NULL, NULL, arena, kernel, config);
}

struct status time_for_run(void *data, struct arena *arena, const struct ir_kernel *kernel, const struct dispatch *dispatch,
                           const struct config_key *key, struct config **config)
{
    return tune_instead(data, dispatch, key, arena, kernel, config);
}
