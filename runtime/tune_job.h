// SPDX-License-Identifier: Apache-2.0
// What tune_prepare.c, tune_report.c, api_tune.c and api_tune_outcome.c share. Private to these files.
#ifndef TILEC_RUNTIME_TUNE_JOB_H
#define TILEC_RUNTIME_TUNE_JOB_H

#include "runtime/config_cache.h"
#include "runtime/tune.h"
#include "runtime/tune_shards.h"

struct tune_prepared {
    struct tune_work work;
    int file;                         // of tensors; the caller closes it. -1: none
    bool sampled;                     // the evaluator worked out some rows only: a config has to be the reference
    int64_t checked_rows, all_rows;
    const char *remark;               // what couldn't be checked, or NULL
};
// What compiling wants to know of bound arguments, data or not.
void tune_prepare_compiling(struct arena *arena, const struct bound *bound, struct tune_work *work);
struct status tune_prepare(struct arena *arena, const struct bind_request *request, struct bound *bound, struct tune_prepared *prepared);

// Whether the evaluator, on rows that it hadn't worked out before, agrees with a reference that a config made.
struct status tune_judge(struct arena *arena, const struct bind_request *request, struct bound *bound, const struct tune_prepared *prepared,
                         bool *agrees, int64_t *rows);

// Memory that a tune takes at its peak, in bytes: the tensors four times (arguments, references, file, device worker) and
// the workers. `bound` NULL: nothing runs.
int64_t tune_peak_memory(const struct bound *bound, int compilers);
int64_t tune_free_memory(void);  // of this machine; INT64_MAX: not known

// A number with so many digits behind the point, under any locale; "-" for what isn't finite.
void tune_print_fixed(struct text *out, double value, int places, int width);
// The table at the end: the ten best, then how many of each other outcome, with an example of each reason; and where the
// best stands in the order of what was reckoned.
void tune_print_table(struct text *out, const struct tune_rows *rows);

struct tilec_tune {
    struct arena *arena;
    const struct tilec_tune_options *options;
    struct cache_session session;
    struct bound bound;
    struct tune_prepared prepared;
    struct tune_rows rows;
    struct tune_job job;
    struct journal journal;
    bool cuda;
    int sm;                         // 0: the CPU
    struct shard shard;
    const char *journal_path;       // NULL: none
    struct merged merged;
    const char *unknown;            // why a merge's result can't be kept in the cache, or NULL
    int ordinal, resumed;
    int64_t peak_bytes;
    double prepare_seconds;         // for data, and what the evaluator says of it
    bool searches, done;
    struct config_key key;
    const struct dispatch *dispatch;  // NULL, or whose configs are to be timed
    const struct config *best;      // NULL: none
    int best_row;                   // -1: none, or from the cache
    bool cached;
    struct config_entry entry;      // if it is
    bool judged, reference_agrees;  // the evaluator had to say who is right
    int64_t judged_rows;
    struct text summary;
};

// Rows, the search, what is to be the same for results to be taken over (api_tune_rows.c).
struct status tune_make_rows(tilec_tune *tune);
void tune_reckon(tilec_tune *tune);  // notes in each row what it takes by reckoning
const char *tune_journal_key(const tilec_tune *tune);

// Where most configs differ from a reference that one of them made: asks the evaluator for other rows.
struct status tune_second_opinion(tilec_tune *tune, const struct bind_request *request);
void tune_make_summary(tilec_tune *tune);

#endif
