// SPDX-License-Identifier: Apache-2.0
// The phases of `tilec aot` that need the device. In: shapes. Out: in the run folder, a config that a search found for
// each, then the times of all of them on each, checked. What the folder has isn't done again; what is broken off goes
// on from the journal of its tune.
#include <math.h>
#include <string.h>

#include "runtime/aot_job.h"
#include "runtime/tune_job.h"

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

static struct status collect_one(struct aot_job *job, int index) {
    const struct aot_shape *shape = aot_shape_at(job, index);
    struct tilec_tune_options options = tune_options(job, "collect", index, shape->hash);
    tilec_tune *tune = NULL;
    struct config *config = NULL;
    const char *line = NULL;
    if (options.compile_only)
        return compile_one(job, "collect", index, &options);
    struct aot_found found = aot_found_read(job->arena, job->options->folder, index, shape);
    if (found.known)
        return note(job, "collect", index, "known"), same_device(job, "collect", index, found.device);
    note(job, "collect", index, "searching");
    tilec_result result = tilec_tune_kernel(job->program, &options, job->report, &tune);
    if (result != TILEC_OK && result != TILEC_NO_CONFIG)
        return tilec_tune_free(tune), ended(job, result);
    tilec_text text = tune ? tilec_tune_config(tune, 0) : (tilec_text){0};
    struct status status = STATUS_OK;
    if (text.length)
        status = config_parse(job->arena, shape->kernel, text.data, text.length, &config);
    if (status.ok && config)
        line = tune_config_text(job->arena, shape->kernel, config);
    tilec_text_free(&text);
    tilec_tune_free(tune);
    return status.ok ? aot_found_save(job->arena, job->options->folder, index, shape, job->device, line) : status;
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
    int limit = 2 * job->shapes.count + 1;
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
        if (found.config)
            list_text(job, kernel, found.config, !aot_shape_at(job, i)->held_out);
    }
    job->milliseconds = ARENA_ARRAY(job->arena, double, job->shapes.count * job->list.count + 1);
    return aot_list_save(job->arena, job->options->folder, &job->list);
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

static struct status measure_one(struct aot_job *job, int index) {
    struct tilec_tune_options options = tune_options(job, "measure", index, both_hashes(job, index));
    tilec_tune *tune = NULL;
    double *times = aot_times_of(job, index);
    options.configs = arena_printf(job->arena, "%s/configs.json", job->options->folder);
    options.retimed = RETIMED;
    const char *device = NULL;
    if (options.compile_only)
        return compile_one(job, "measure", index, &options);
    if (aot_times_read(job->arena, job->options->folder, index, aot_shape_at(job, index), &job->list, times, &device))
        return note(job, "measure", index, "known"), same_device(job, "measure", index, device);
    note(job, "measure", index, arena_printf(job->arena, "%d configs", job->list.count));
    tilec_result result = tilec_tune_kernel(job->program, &options, job->report, &tune);
    if ((result != TILEC_OK && result != TILEC_NO_CONFIG) || !tune)
        return tilec_tune_free(tune), ended(job, result);
    for (int i = 0; i < job->list.count; i++) {
        struct tilec_tune_row row = tilec_tune_row(tune, i);
        times[i] = row.status && strcmp(row.status, "ok") == 0 ? row.milliseconds : INFINITY;
    }
    tilec_tune_free(tune);
    return aot_times_save(job->arena, job->options->folder, index, aot_shape_at(job, index), job->device, &job->list,
                          times);
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
        const char *device = NULL;
        if (!aot_times_read(job->arena, job->options->folder, i, aot_shape_at(job, i), &job->list, aot_times_of(job, i),
                            &device))
            return status_failed(job->arena, "usage.phase",
                                 "%s wasn't measured yet, or with other configs: the phase measure comes first",
                                 aot_shape_at(job, i)->name);
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
