// SPDX-License-Identifier: Apache-2.0
// The phases of `tilec aot` that need the device. In: shapes. Out: in the run folder, a config that a search found for
// each, then the times of all of them on each, checked. What the folder has isn't done again; what is broken off goes
// on from the journal of its tune.
#include <math.h>
#include <string.h>

#include "runtime/aot_job.h"
#include "runtime/tune_job.h"

static const double nearly = 1.1;  // slower than the best by no more

enum { RETIMED = 16 };  // whose times are compared with each other are taken in turns

static void note(const struct aot_job *job, const char *phase, int index, const char *what) {
    if (!job->options->note)
        return;
    const char *line = arena_printf(job->arena, "%s %d/%d %s: %s", phase, index + 1, job->shapes.count,
                                    aot_shape_at(job, index)->name, what);
    job->options->note(job->options->tune.data, line);
}

// Times of two devices say nothing about each other. The first that is heard of is the one.
static struct status same_device(struct aot_job *job, const char *phase, int index, const char *device) {
    if (!job->device)
        job->device = device;
    if (strcmp(job->device, device) == 0)
        return STATUS_OK;
    return status_failed(job->arena, "usage.device",
                         "%s was measured on %s, other shapes are on %s: times of two devices don't mix; name another "
                         "--folder",
                         aot_file(job->arena, job->options->folder, phase, index, "json"), device, job->device);
}

// Whether this process is to search and measure a shape.
static bool is_mine(const struct aot_job *job, int index) {
    return shard_has(&job->shard, aot_shape_at(job, index)->hash);
}

// ---------------------------------------------------------------------------------------- collect

// A tune's own end, where it is no outcome: already told in the report.
static struct status ended(struct aot_job *job, tilec_result result) {
    job->result = result;
    return (struct status){.ok = false, .code = "aot.told", .reason = ""};
}

// A journal is for one shape, and for one list: of others there may be some from before.
static struct tilec_tune_options tune_options(const struct aot_job *job, const char *phase, int index,
                                              const char *hash) {
    struct tilec_tune_options options = job->options->tune;
    options.run = aot_shape_at(job, index)->run;
    options.configs = options.shard = options.merge = NULL;
    options.arch = options.compile_only ? job->options->arch : NULL;
    options.journal =
        aot_file(job->arena, job->options->folder, phase, index, arena_printf(job->arena, "%.12s.journal", hash));
    if (options.compile_only)
        options.journal = NULL;
    return options;
}

// Nothing comes of it for other phases: what is compiled is in the cache.
static struct status compile_one(struct aot_job *job, const char *phase, int index,
                                 const struct tilec_tune_options *options) {
    tilec_tune *tune = NULL;
    note(job, phase, index, "compiling");
    tilec_result result = tilec_tune_kernel(job->program, options, job->report, &tune);
    tilec_tune_free(tune);
    return result == TILEC_OK || result == TILEC_NO_CONFIG ? STATUS_OK : ended(job, result);
}

// The best, and of the rows those that are as good but for a little: which of the many that are good for a shape will
// do for others isn't known before all are measured. A best that was known already comes without rows.
static struct status take_found(struct aot_job *job, const struct aot_shape *shape, const tilec_tune *tune,
                                struct aot_found *found) {
    int rows[FOUND_MOST], count = tune ? tune_rows_best(&tune->rows, FOUND_MOST, rows) : 0;
    tilec_text text = tune ? tilec_tune_config(tune, 0) : (tilec_text){0};
    struct config *config = NULL;
    struct status status = STATUS_OK;
    if (text.length)
        status = config_parse(job->arena, shape->kernel, text.data, text.length, &config);
    tilec_text_free(&text);
    if (!status.ok || !config)
        return status;
    found->configs[found->count++] = tune_config_text(job->arena, shape->kernel, config);
    for (int i = 0; i < count && found->count < FOUND_MOST; i++) {
        const struct tune_row *row = &tune->rows.items[rows[i]];
        bool good = !row->result.bound && row->result.median <= nearly * tune->rows.items[rows[0]].result.median;
        if (good && strcmp(row->text, found->configs[0]) != 0)
            found->configs[found->count++] = arena_copy(job->arena, row->text, strlen(row->text));
    }
    return STATUS_OK;
}

static struct status collect_one(struct aot_job *job, int index) {
    const struct aot_shape *shape = aot_shape_at(job, index);
    struct tilec_tune_options options = tune_options(job, "collect", index, shape->hash);
    tilec_tune *tune = NULL;
    if (options.compile_only)
        return compile_one(job, "collect", index, &options);
    struct aot_found found = aot_found_read(job->arena, job->options->folder, index, shape);
    if (found.known)
        return note(job, "collect", index, "known"), same_device(job, "collect", index, found.device);
    note(job, "collect", index, "searching");
    tilec_result result = tilec_tune_kernel(job->program, &options, job->report, &tune);
    if (result != TILEC_OK && result != TILEC_NO_CONFIG)
        return tilec_tune_free(tune), ended(job, result);
    found = (struct aot_found){.known = true, .device = job->device};
    struct status status = take_found(job, shape, tune, &found);
    tilec_tune_free(tune);
    return status.ok ? aot_found_save(job->arena, job->options->folder, index, shape, &found) : status;
}

struct status aot_collect(struct aot_job *job) {
    struct status status = STATUS_OK;
    for (int i = 0; i < job->shapes.count && status.ok; i++)
        if (is_mine(job, i))
            status = collect_one(job, i);
    return status;
}

// ---------------------------------------------------------------------------------------- measure

// A config of the list is for every shape, so it is read as one of the first shape's kernel.
static void list_text(struct aot_job *job, const struct ir_kernel *kernel, const char *text, bool choosable) {
    struct config *config = NULL;
    if (config_parse(job->arena, kernel, text, strlen(text), &config).ok)
        aot_list_add(job->arena, &job->list, tune_config_text(job->arena, kernel, config), choosable);
}

// The default for rows of which nothing is known, and that for each shape: what a search finds for one shape is often
// the best there and bad elsewhere, while a default was reckoned for all that are like its shape.
static void list_defaults(struct aot_job *job) {
    const struct config_data unknown = {.cpu = strcmp(job->target, "cpu") == 0};
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
    const struct config *standard = config_default_for(job->arena, kernel, &unknown);
    aot_list_add(job->arena, &job->list, tune_config_text(job->arena, kernel, standard), true);
    for (int i = 0; i < job->shapes.count; i++) {
        const struct aot_shape *shape = aot_shape_at(job, i);
        standard = config_default_for(job->arena, shape->kernel, &shape->data);
        list_text(job, kernel, tune_config_text(job->arena, shape->kernel, standard), !shape->held_out);
    }
}

// Defaults are always among them.
struct status aot_make_list(struct aot_job *job) {
    int limit = (1 + FOUND_MOST) * job->shapes.count + 1;
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
    job->list = (struct aot_list){.limit = limit,
                                  .texts = ARENA_ARRAY(job->arena, const char *, limit),
                                  .choosable = ARENA_ARRAY(job->arena, bool, limit)};
    list_defaults(job);
    for (int i = 0; i < job->shapes.count; i++) {
        struct aot_found found = aot_found_read(job->arena, job->options->folder, i, aot_shape_at(job, i));
        if (!found.known)
            return status_failed(job->arena, "usage.phase", "%s wasn't searched for yet: the phase collect comes first",
                                 aot_shape_at(job, i)->name);
        struct status status = same_device(job, "collect", i, found.device);
        if (!status.ok)
            return status;
        for (int k = 0; k < found.count; k++)
            list_text(job, kernel, found.configs[k], !aot_shape_at(job, i)->held_out);
    }
    job->milliseconds = ARENA_ARRAY(job->arena, double, job->shapes.count * job->list.count + 1);
    return aot_list_save(job->arena, arena_printf(job->arena, "%s/configs.json", job->options->folder), &job->list);
}

// ---------------------------------------------------------------------------------------- what was measured

double *aot_times_of(const struct aot_job *job, int shape) {
    return &job->milliseconds[shape * job->list.count];
}

// Of a shape and the list.
static const char *both_hashes(const struct aot_job *job, int index) {
    const char *text = arena_printf(job->arena, "%s %s", aot_shape_at(job, index)->hash, job->list.hash);
    struct cache_key key = cache_hash(&(struct cache_part){text, strlen(text)}, 1);
    return arena_copy(job->arena, key.hex, strlen(key.hex));
}

// What only held-out shapes gave is nobody's choice elsewhere, and is measured on these alone.
static bool is_wanted(const struct aot_job *job, int index, int config) {
    return job->list.choosable[config] || aot_shape_at(job, index)->held_out;
}

static int count_missing(const struct aot_job *job, int index) {
    int missing = 0;
    for (int i = 0; i < job->list.count; i++)
        missing += is_wanted(job, index, i) && isnan(aot_times_of(job, index)[i]);
    return missing;
}

// What a shape still lacks, as it is for its extents: fitted configs, some of which may be the same. place[i] is where
// config i of the list is among them; -1: it isn't.
static struct status save_missing(struct aot_job *job, int index, const char *path, int *place) {
    const struct ir_kernel *kernel = aot_shape_at(job, index)->kernel;
    struct aot_list fitted = {.limit = job->list.count,
                              .texts = ARENA_ARRAY(job->arena, const char *, job->list.count),
                              .choosable = ARENA_ARRAY(job->arena, bool, job->list.count)};
    for (int i = 0; i < job->list.count; i++) {
        const char *text = job->list.texts[i];
        struct config *config = NULL;
        place[i] = -1;
        if (!is_wanted(job, index, i) || !isnan(aot_times_of(job, index)[i]))
            continue;
        struct status status = config_parse(job->arena, kernel, text, strlen(text), &config);
        if (!status.ok)
            return status;
        text = tune_config_text(job->arena, kernel, config_fit(job->arena, kernel, config));
        place[i] = aot_list_add(job->arena, &fitted, text, true);
    }
    return aot_list_save(job->arena, path, &fitted);
}

static void take_times(struct aot_job *job, int index, const tilec_tune *tune, const int *place) {
    for (int i = 0; i < job->list.count; i++) {
        if (place[i] < 0)
            continue;
        struct tilec_tune_row row = tilec_tune_row(tune, place[i]);
        bool good = row.status && strcmp(row.status, "ok") == 0;
        aot_times_of(job, index)[i] = good ? row.milliseconds : INFINITY;
    }
}

static struct status measure_one(struct aot_job *job, int index) {
    struct tilec_tune_options options = tune_options(job, "measure", index, both_hashes(job, index));
    const char *folder = job->options->folder;
    const struct aot_shape *shape = aot_shape_at(job, index);
    tilec_tune *tune = NULL;
    int *place = ARENA_ARRAY(job->arena, int, job->list.count);
    options.configs = aot_file(job->arena, folder, "measure", index, "list");
    options.retimed = RETIMED;
    const char *device = aot_times_read(job->arena, folder, index, shape, &job->list, aot_times_of(job, index));
    struct status status = device ? same_device(job, "measure", index, device) : STATUS_OK;
    int missing = count_missing(job, index);
    if (status.ok && missing == 0)
        return note(job, "measure", index, "known"), STATUS_OK;
    if (status.ok)
        status = save_missing(job, index, options.configs, place);
    if (!status.ok)
        return status;
    if (options.compile_only)
        return compile_one(job, "measure", index, &options);
    note(job, "measure", index, arena_printf(job->arena, "%d configs", missing));
    tilec_result result = tilec_tune_kernel(job->program, &options, job->report, &tune);
    if ((result != TILEC_OK && result != TILEC_NO_CONFIG) || !tune)
        return tilec_tune_free(tune), ended(job, result);
    take_times(job, index, tune, place);
    tilec_tune_free(tune);
    return aot_times_save(job->arena, folder, index, shape, job->device, &job->list, aot_times_of(job, index));
}

struct status aot_measure(struct aot_job *job) {
    struct status status = STATUS_OK;
    for (int i = 0; i < job->shapes.count && status.ok; i++)
        if (is_mine(job, i))
            status = measure_one(job, i);
    return status;
}

struct status aot_read_times(struct aot_job *job) {
    struct status status = STATUS_OK;
    for (int i = 0; i < job->shapes.count && status.ok; i++) {
        double *times = aot_times_of(job, i);
        const char *device =
            aot_times_read(job->arena, job->options->folder, i, aot_shape_at(job, i), &job->list, times);
        if (!device || count_missing(job, i) > 0)
            return status_failed(job->arena, "usage.phase",
                                 "%s wasn't measured yet, or not with all configs: the phase measure comes first",
                                 aot_shape_at(job, i)->name);
        for (int j = 0; j < job->list.count; j++)
            times[j] = isnan(times[j]) ? INFINITY : times[j];
        status = same_device(job, "measure", i, device);
    }
    return status;
}

double aot_best_time(const struct aot_job *job, int shape) {
    double best = INFINITY;
    for (int i = 0; i < job->list.count; i++)
        best = fmin(best, aot_times_of(job, shape)[i]);
    return best;
}
