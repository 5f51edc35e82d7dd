// SPDX-License-Identifier: Apache-2.0
// tilec.h: tuning. In: a program, arguments in words, a device, perhaps a list of configs. Out: a row for each config, and
// the best of them. What happens between is the driver's (tune.c).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda.h"
#include "runtime/dispatch.h"
#include "runtime/runtime.h"
#include "runtime/tune_job.h"

enum { SEARCH_ROWS = 20000, LIST_ROWS = 1000000, COMPILERS_DEFAULT = 16 };
static const double compile_seconds = 60, run_seconds = 20;

// ---------------------------------------------------------------------------------------------- the rows

// An entry of the list is a config or, in its place, the reason why it is none.
static void add_listed(tilec_tune *tune, const struct wire *item)
{
    char *text = wire_print(item);
    struct config *config = NULL;
    const char *kept = arena_copy(tune->arena, text ? text : "", text ? strlen(text) : 0);
    struct status status = config_parse(tune->arena, tune->bound.kernel, kept, strlen(kept), &config);
    if (status.ok) tune_rows_add(&tune->rows, config, tune_config_text(tune->arena, tune->bound.kernel, config), NULL);
    else tune_rows_add(&tune->rows, NULL, kept, status.reason);
    free(text);
}

static struct status read_list(tilec_tune *tune, const char *path)
{
    const char *reason = NULL;
    const struct source *source = source_read(tune->arena, path, &reason);
    if (!source) return status_failed(tune->arena, "usage.file", "can't read %s: %s", path, reason);
    // As the member of an object: messages are objects.
    const char *text = arena_printf(tune->arena, "{\"list\": %s\n}", source->text);
    struct wire *root = strlen(source->text) == source->length ? wire_parse(text, strlen(text)) : NULL;
    const struct wire *list = wire_get(root, "list");
    bool empty = list && wire_count(list) == 0;
    if (wire_count(list) == 0 || wire_count(list) > LIST_ROWS) {
        wire_free(root);
        return status_failed(tune->arena, "usage.configs", empty ? "%s has no configs" : "%s is no JSON array of configs", path);
    }
    tune->rows = tune_rows_new(tune->arena, wire_count(list));
    for (const struct wire *item = wire_first(list); item; item = wire_next(item)) add_listed(tune, item);
    wire_free(root);
    return STATUS_OK;
}

// Their kernel is the caller's, which is the same one: names in them are those of the caller's configs.
static struct status add_dispatch(tilec_tune *tune)
{
    struct status status = STATUS_OK;
    tune->rows = tune_rows_new(tune->arena, tune->dispatch->count);
    for (int i = 0; i < tune->dispatch->count && status.ok; i++) {
        struct config *config = NULL;
        const char *text = tune_config_text(tune->arena, tune->bound.kernel, tune->dispatch->configs[i]);
        status = config_parse(tune->arena, tune->bound.kernel, text, strlen(text), &config);
        if (status.ok) tune_rows_add(&tune->rows, config, text, NULL);
    }
    return status;
}

static void add_default(tilec_tune *tune, int sm)
{
    struct config_data data = resolve_data(tune->arena, tune->bound.kernel, tune->bound.views, sm);
    const struct config *config = config_default_for(tune->arena, tune->bound.kernel, &data);
    tune_rows_add(&tune->rows, config, tune_config_text(tune->arena, tune->bound.kernel, config), NULL);
}

static void add_similar(tilec_tune *tune, int most)
{
    struct config_entry *entries = ARENA_ARRAY(tune->arena, struct config_entry, most + 1);
    int count = config_cache_similar(tune->arena, &tune->session, tune->bound.kernel, &tune->key, most, entries);
    for (int i = 0; i < count; i++)
        tune_rows_add(&tune->rows, entries[i].config, tune_config_text(tune->arena, tune->bound.kernel, entries[i].config), NULL);
}

static struct status make_rows(tilec_tune *tune)
{
    const struct tilec_tune_options *options = tune->options;
    int sm = 0;
    struct status status = resolve_sm(tune->arena, tune->cuda, tune->ordinal, &sm);
    if (!status.ok) return status;
    const struct search_facts facts = {.cpu = !tune->cuda, .registers_per_multiprocessor = tune->cuda ? 65536 : 0,
                                       .data = resolve_data(tune->arena, tune->bound.kernel, tune->bound.views, sm),
                                       .bindings = &tune->bound.bindings, .tensors = tune->bound.views};
    if (tune->dispatch) return add_dispatch(tune);
    if (options->configs) return read_list(tune, options->configs);
    bool none = tune->session.settings.effort == EFFORT_NONE;
    tune->rows = tune_rows_new(tune->arena, none ? 1 : options->count > 0 ? options->count : SEARCH_ROWS);
    if (options->from_cache > 0 && !none) add_similar(tune, options->from_cache < tune->rows.limit ? options->from_cache : tune->rows.limit);
    if (none) add_default(tune, sm);
    else tune->job.search = search_new(tune->arena, tune->bound.kernel, options->run.seed, &facts);
    tune->searches = !none;
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- the journal

// What has to be the same for results to be taken over: the config key, the exact extents, the data, and the list.
static const char *journal_key(const tilec_tune *tune)
{
    const struct tilec_run_options *run = &tune->options->run;
    struct text text = {0};
    text_printf(&text, "%s %s %llu %d", tune->key.hash.hex, TILEC_VERSION, (unsigned long long)run->seed, tune->searches);
    for (int i = 0; i < tune->bound.kernel->dim_count; i++) text_printf(&text, " %lld", (long long)tune->bound.dims[i]);
    for (int i = 0; i < run->argument_count; i++) text_printf(&text, " %s", run->arguments[i]);
    for (int i = 0; i < tune->rows.count && !tune->searches; i++) text_printf(&text, "\n%s", tune->rows.items[i].text);
    struct cache_key key = cache_hash(&(struct cache_part){text.data, text.length}, 1);
    text_free(&text);
    return arena_copy(tune->arena, key.hex, strlen(key.hex));
}

static struct status open_journal(tilec_tune *tune)
{
    if (!tune->options->journal) return STATUS_OK;
    struct status status = journal_open(tune->arena, tune->options->journal, journal_key(tune), tune->bound.kernel, tune->searches, &tune->rows,
                                        &tune->resumed, &tune->journal);
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
    job->settings = cache_session_environment(tune->arena, &tune->session);
    job->compilers = compilers;
    job->alone = !tune->cuda;
    job->budget = tune->searches ? wanted_search(tune).seconds : tune->dispatch ? 0 : tune->session.settings.budget_seconds;
    job->compile_limit = options->compile_limit > 0 ? options->compile_limit : compile_seconds;
    job->run_limit = options->run_limit > 0 ? options->run_limit : run_seconds;
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

static tilec_result outcome(const tilec_tune *tune, const struct status *status, tilec_report *report)
{
    if (!status->ok) return report_status(report, status);
    if (tune->job.interrupted) return TILEC_INTERRUPTED;
    return tune->best ? TILEC_OK : TILEC_NO_CONFIG;
}

// ---------------------------------------------------------------------------------------------- all of it

static struct status look_up(tilec_tune *tune)
{
    const struct resolve_request request = {
        .kernel = tune->bound.kernel, .bindings = &tune->bound.bindings, .tensors = tune->bound.views, .checked = tune->options->run.checked,
        .cuda = tune->cuda, .ordinal = tune->ordinal, .session = &tune->session};
    const struct config_search wanted = wanted_search(tune);
    if (tune->dispatch) return STATUS_OK;  // the caller has looked
    struct status status = resolve_key(tune->arena, &request, &tune->key);
    if (!status.ok || tune->options->configs) return status;
    tune->cached = config_cache_find(tune->arena, &tune->session, tune->bound.kernel, &tune->key, &wanted, &tune->entry);
    if (tune->cached) tune->best = tune->entry.config;
    else if (tune->session.settings.assert_hit) status = config_cache_miss(tune->arena, &tune->session, &tune->key, &wanted);
    return status;
}

// An interrupted search counts for the time that it had, and isn't to replace what wasn't looked at.
static void store_best(tilec_tune *tune)
{
    const struct tune_job *job = &tune->job;
    bool lasting = tune->searches || (tune->dispatch && !job->interrupted);
    if (!lasting || !tune->best || (job->interrupted && tune->session.settings.force)) return;
    struct config_found found = {.config = tune->best, .milliseconds = tune->rows.items[tune->best_row].result.median};
    found.search = tune->dispatch ? (struct config_search){.effort = EFFORT_NONE} : wanted_search(tune);
    found.search.configs = tune->rows.count;
    found.search.whole = (job->exhausted || tune->dispatch) && !job->timed_out && !job->interrupted;
    if (!job->timed_out) found.search.seconds = job->seconds;
    config_cache_store(tune->arena, &tune->session, tune->bound.kernel, &tune->key, &found);
    const struct tune_work *work = &tune->prepared.work;
    const struct cuda_request built = {
        .kernel = work->kernel, .config = tune->best, .bindings = work->bindings, .index64 = work->index64, .session = &tune->session};
    if (tune->cuda) cuda_share(tune->arena, tune->ordinal, &built);
}

static struct status search(tilec_tune *tune, const tilec_program *program, const struct bind_request *request)
{
    const char *reason = NULL;
    int compilers = 1;
    struct status status = make_rows(tune);
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
    fill_job(tune, program, compilers);
    status = tune_run(tune->arena, &tune->job);
    tune->done = true;
    take_best(tune);
    store_best(tune);
    return status.ok ? tune_second_opinion(tune, request) : status;
}

static struct status steps(tilec_tune *tune, const tilec_program *program, struct diagnostics *diagnostics)
{
    const struct tilec_run_options *run = &tune->options->run;
    const char *device = run->device ? run->device : "cpu";
    struct status status = cache_session_begin(tune->arena, &run->cache, &tune->session);
    tune->cuda = cuda_device_named(device, &tune->ordinal);
    if (!status.ok) return status;
    if (!tune->cuda && strcmp(device, "cpu") != 0)
        return status_failed(tune->arena, "usage.device", "there is no device %s to tune on; there are cpu, cuda and cuda:N", device);
    struct bind_request request = run_bind_request(program, run);
    request.lazy = true;  // a known answer wants no data but what the key is made of
    status = bind_arguments(tune->arena, &request, diagnostics, &tune->bound);
    if (status.ok) status = look_up(tune);
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
    struct diagnostics diagnostics;
    tilec_tune *tune = tune_new(options);
    *done = NULL;
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
    options.configs = options.journal = NULL;
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
