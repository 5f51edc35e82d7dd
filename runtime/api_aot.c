// SPDX-License-Identifier: Apache-2.0
// tilec.h: ahead of time. In: a program and a list of shapes. Out: a heuristic file, in four phases:
//
//   collect   a search for every shape                                            aot_measure.c
//   measure   every config that was found, on every shape, each checked
//   build     the fewest configs, and the tree that chooses among them            aot_build.c
//   evaluate  what the tree's choices cost, as they were measured                 aot_evaluate.c
//
// Phases leave files for each other (aot_folder.c); what a file has isn't done again.
#include <string.h>

#include "runtime/aot_job.h"
#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/given.h"

enum { CONFIGS_DEFAULT = 10, CONFIGS_MOST = HEURISTIC_CONFIGS };
static const double threshold_default = 1.1;

const struct aot_shape *aot_shape_at(const struct aot_job *job, int index) {
    return &job->shapes.items[index];
}

// ---------------------------------------------------------------------------------------- what is asked for

static bool wants(const struct aot_job *job, const char *phase) {
    return !job->options->list && (!job->options->phase || strcmp(job->options->phase, phase) == 0);
}

// Shards of the phases that take time; the others want everything.
static struct status read_shard(struct aot_job *job) {
    const char *phase = job->options->phase;
    struct status status = shard_parse(job->arena, job->options->tune.shard, &job->shard);
    if (status.ok && job->options->tune.compile_only &&
        (!phase || (strcmp(phase, "collect") != 0 && strcmp(phase, "measure") != 0)))
        return status_failed(job->arena, "usage.phase",
                             "with --compile-only, --phase is collect (what its searches begin with) or measure (what "
                             "they found): the others compile nothing");
    if (!status.ok || job->shard.count == 0 ||
        (phase && (strcmp(phase, "collect") == 0 || strcmp(phase, "measure") == 0)))
        return status;
    return status_failed(job->arena, "usage.shard",
                         "a shard is of one phase: with --shard, --phase is collect or measure, and build comes when "
                         "all shards of both are done");
}

static struct status read_options(struct aot_job *job) {
    const struct tilec_aot_options *options = job->options;
    const char *goal = options->goal ? options->goal : "max";
    job->goal = strcmp(goal, "geomean") == 0 ? GOAL_GEOMEAN : GOAL_MAX;
    job->threshold = options->threshold > 0 ? options->threshold : threshold_default;
    job->most = options->max_configs > 0 ? options->max_configs : CONFIGS_DEFAULT;
    if (strcmp(goal, "max") != 0 && strcmp(goal, "geomean") != 0)
        return status_failed(job->arena, "usage.goal", "there is no goal %s; there are max and geomean", goal);
    if (job->threshold < 1)
        return status_failed(job->arena, "usage.threshold",
                             "a threshold is at least 1: so many times what the best takes");
    if (job->most > CONFIGS_MOST)
        return status_failed(job->arena, "usage.configs", "a heuristic has at most %d configs", CONFIGS_MOST);
    return read_shard(job);
}

static struct status check_phase(struct aot_job *job) {
    static const char *const phases[] = {"collect", "measure", "build", "evaluate"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (!job->options->phase || strcmp(job->options->phase, phases[i]) == 0)
            return STATUS_OK;
    return status_failed(job->arena, "usage.phase",
                         "there is no phase %s; there are collect, measure, build and evaluate", job->options->phase);
}

// ---------------------------------------------------------------------------------------- for which target

static struct status look_at_device(struct aot_job *job) {
    const char *device = job->options->tune.run.device ? job->options->tune.run.device : "cpu";
    struct cuda_device *seen = NULL;
    struct config_device cpu;
    int ordinal = 0;
    if (strcmp(device, "cpu") == 0) {
        struct status status = config_device_cpu(job->arena, &cpu);
        job->target = "cpu";
        job->device = status.ok ? cpu.name : NULL;
        return status;
    }
    if (!cuda_device_named(device, &ordinal))
        return status_failed(job->arena, "usage.device",
                             "there is no device '%s' to tune on; there are cpu, cuda and cuda:N", device);
    struct status status = cuda_device_look(job->arena, ordinal, &seen);
    if (status.ok) {
        job->target = arena_printf(job->arena, "sm_%d", seen->properties.sm);
        job->device = arena_copy(job->arena, seen->properties.name, strlen(seen->properties.name));
    }
    cuda_device_close(seen);
    return status;
}

// Without --arch it is the device's. With it no device is needed but for what runs on one.
static struct status find_target(struct aot_job *job) {
    const char *arch = job->options->arch;
    struct target target = {.kind = TARGET_CPU};
    bool measures = (wants(job, "collect") || wants(job, "measure")) && !job->options->tune.compile_only;
    if (arch && (!target_parse(arch, &target) || target.kind == TARGET_CPU))
        return status_failed(job->arena, "usage.arch", "'%s' is no GPU architecture: they are spelled like sm_90",
                             arch);
    struct status status = STATUS_OK;
    if (!arch || measures)
        status = look_at_device(job);
    if (!status.ok || !arch)
        return status;
    const char *wanted = arena_printf(job->arena, "sm_%d", target.sm);
    if (measures && strcmp(job->target, wanted) != 0)
        return status_failed(job->arena, "usage.arch",
                             "a file for %s is measured on such a device, and this one is %s; the phases build and "
                             "evaluate need none",
                             wanted, job->target);
    job->target = wanted;
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------- all of it

static struct status steps(struct aot_job *job, struct diagnostics *diagnostics) {
    struct status status = check_phase(job);
    if (status.ok)
        status = read_options(job);
    if (status.ok)
        status = find_target(job);
    if (status.ok)
        status = aot_shapes_read(job->arena, job->options->shapes, &job->options->tune.run, &job->shapes);
    if (status.ok)
        status = aot_shapes_bind(job->arena, job->program, job->target, &job->shapes, diagnostics);
    if (status.ok && job->options->list)
        return aot_list_choices(job);
    if (status.ok)
        status = aot_make_folders(job->arena, job->options->folder);
    if (status.ok && wants(job, "collect"))
        status = aot_collect(job);
    if (!status.ok || (job->options->phase && wants(job, "collect")))
        return status;
    status = aot_make_list(job);
    if (status.ok && wants(job, "measure"))
        status = aot_measure(job);
    if (!status.ok || (job->options->phase && wants(job, "measure")))
        return status;
    status = aot_read_times(job);
    if (status.ok && wants(job, "build"))
        status = aot_build(job);
    if (status.ok && wants(job, "evaluate"))
        status = aot_evaluate(job);
    return status;
}

tilec_result tilec_aot(tilec_program *program, const struct tilec_aot_options *options, tilec_report *report,
                       tilec_text *summary) {
    if (summary) *summary = (tilec_text){0};
    WANT(report, program, options, summary);
    WANT_AS(report, "shapes", options->shapes);
    if (!options->list) WANT_AS(report, "folder", options->folder);
    tilec_result given = given_run(report, __func__, &options->tune.run);
    if (given != TILEC_OK) return given;
    struct diagnostics diagnostics;
    struct arena *arena = arena_new();
    struct text text = {0};
    if (!arena)
        return report_failed(report, "internal.memory", NULL, "out of memory");
    struct aot_job job = {.arena = arena, .program = program, .options = options, .report = report, .summary = &text};
    diagnostics_init(&diagnostics, arena);
    struct status status = steps(&job, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    if (job.result != TILEC_OK)
        result = job.result;
    else if (!status.ok && !(result == TILEC_WRONG && strncmp(status.code, "program.", 8) == 0))
        result = report_status(report, &status);
    *summary = text_take(&text);
    arena_free(arena);
    return result;
}
