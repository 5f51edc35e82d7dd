// SPDX-License-Identifier: Apache-2.0
// What the phases of `tilec aot` work on, and what they are called. Private to these files:
//   api_aot.c       what is asked for, and which phases that is
//   aot_measure.c   collect and measure: what needs the device
//   aot_build.c     build: from times to a heuristic file
//   aot_evaluate.c  evaluate, and what the file says of each shape
#ifndef TILEC_RUNTIME_AOT_JOB_H
#define TILEC_RUNTIME_AOT_JOB_H

#include "runtime/aot.h"
#include "runtime/shard.h"

struct aot_job {
    struct arena *arena;
    tilec_program *program;
    const struct tilec_aot_options *options;
    tilec_report *report;
    struct text *summary;
    const char *target;  // "sm_90", "cpu"
    const char *device;  // the name of what measures; NULL until it, or a file of the folder, says it
    struct shard shard;  // whose shapes are searched and measured here
    struct aot_shapes shapes;
    struct aot_list list;
    double *milliseconds;  // [shape][config of the list]; INFINITY

    enum aot_goal goal;
    double threshold;
    int most;
    tilec_result result;  // of a tune that ended early
};

const struct aot_shape *aot_shape_at(const struct aot_job *job, int index);
double *aot_times_of(const struct aot_job *job, int shape);
double aot_best_time(const struct aot_job *job, int shape);
// Where the heuristic file is, or will be.
const char *aot_heuristic_path(const struct aot_job *job);

struct status aot_collect(struct aot_job *job);
// The configs that were found, into job->list. Not ok: a shape wasn't searched for yet.
struct status aot_make_list(struct aot_job *job);
struct status aot_measure(struct aot_job *job);
// What was measured, into job->milliseconds. Not ok: a shape wasn't yet.
struct status aot_read_times(struct aot_job *job);
struct status aot_build(struct aot_job *job);
// Not ok: nothing was compared, or a choice wasn't measured or isn't right.
struct status aot_evaluate(struct aot_job *job);
struct status aot_list_choices(struct aot_job *job);

#endif
