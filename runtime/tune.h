// SPDX-License-Identifier: Apache-2.0
// Tuning: what the driver (tune*.c), the worker processes (worker*.c) and the search (search*.c) share. Private to
// runtime/. note [how a tune runs] is in tune.c.
//
// The one idea: a row is a config and what came of it. Rows exist before any work on them starts, every stage writes
// into the row it worked on, and rows are never moved, filtered or renumbered.
#ifndef TILEC_RUNTIME_TUNE_H
#define TILEC_RUNTIME_TUNE_H

#include <sys/types.h>

#include "runtime/build.h"
#include "runtime/data.h"
#include "runtime/shard.h"
#include "runtime/wire.h"

// ---------------------------------------------------------------------------------------------- rows (tune_rows.c)

enum tune_status {
    TUNE_WAITING,  // nothing came of it yet; no finished tune has one
    TUNE_OK,
    TUNE_COMPILED,  // and nothing more was asked for
    TUNE_SKIPPED_CONFIG, TUNE_SKIPPED_LOWERING, TUNE_SKIPPED_LIMITS, TUNE_SKIPPED_COMPILE, TUNE_SKIPPED_COMPILE_TIMEOUT,
    TUNE_SKIPPED_COMPILE_CRASH, TUNE_SKIPPED_BUDGET, TUNE_SKIPPED_INTERRUPTED, TUNE_SKIPPED_SHARD,
    TUNE_FAILED_LAUNCH, TUNE_FAILED_ILLEGAL_ACCESS, TUNE_FAILED_MISALIGNED, TUNE_FAILED_TIMEOUT, TUNE_FAILED_CRASH,
    TUNE_FAILED_OUT_OF_MEMORY, TUNE_FAILED_WRONG_RESULT, TUNE_FAILED_TIMING,
    TUNE_STATUS_COUNT
};
const char *tune_status_name(enum tune_status status);  // "skipped: compile-timeout"
bool tune_status_named(const char *name, enum tune_status *status);

// What a failure of building, or of running, is called, by its code (build.h).
enum tune_status tune_status_of_build(const char *code);
enum tune_status tune_status_of_run(const char *code);

struct tune_result {
    enum tune_status status;
    const char *reason;      // in words; "" if ok
    int code;                // the raw one: CUresult, signal or exit code; 0: none
    double compile_seconds;  // lowering included; 0: not compiled
    int registers, spill_bytes;  // the most of any launch; -1: not known (the CPU)
    int64_t shared_bytes;    // likewise
    double median, spread;   // ms; spread is from the fastest tenth to the slowest tenth. INFINITY unless ok
    int runs;
    bool bound;              // too slow to be timed further than a first run
    bool retimed;            // the times are of the last round, in turns with the other best ones
    double at;               // seconds into the tune when it came; 0: not known
};

enum tune_stage { STAGE_NEW, STAGE_BUILDING, STAGE_BUILT, STAGE_MEASURING, STAGE_DONE };

struct tune_row {
    const struct config *config;  // NULL: malformed, see the result
    const char *text;             // the config as JSON in one line; of a malformed one what was given
    enum tune_stage stage;
    struct tune_result result;
    double reckoned;              // ms, before anything was known (search_cost.c); NAN: not reckoned
    const char *launches;         // what was built, as the compiling worker says it: handed on to the device unread
};

// All rows of one tune, in the order in which they were asked for. Room for `limit` rows is there from the start.
struct tune_rows {
    struct arena *arena;
    int count, limit;
    struct tune_row *items;
};
struct tune_rows tune_rows_new(struct arena *arena, int limit);
// The next row. The config may be NULL: then the row is done, with `reason`.
int tune_rows_add(struct tune_rows *rows, const struct config *config, const char *text, const char *reason);
// One line of JSON without line breaks.
const char *tune_config_text(struct arena *arena, const struct ir_kernel *kernel, const struct config *config);
// The rows of status ok, fastest first, at most `most`; returns how many. For printing: nothing else is numbered so.
int tune_rows_best(const struct tune_rows *rows, int most, int *best);
int tune_rows_compiled(const struct tune_rows *rows);  // how many were compiled, and no more
// A row as JSON: {"row": 3, "status": "ok", …}; with its config if asked for.
void tune_row_print(struct text *out, const struct tune_rows *rows, int index, bool config);
// Reads what tune_row_print wrote, but for the config. False if it isn't one.
bool tune_result_read(struct arena *arena, const struct wire *message, struct tune_result *result);

// ---------------------------------------------------------------------------------------------- the work (tune_work.c)

// A kernel on its data, as workers need it: it travels as a message (the `setup`) and a file of tensors, sealed in memory.
struct tune_tensor {
    bool present;             // has data
    struct ir_tensor view;    // its data: in the worker the pristine contents, mapped read-only
    size_t bytes;
    int64_t at;               // of the pristine contents in the file
    int64_t reference_at;     // -1: not an output
    int64_t sample_at;        // a second reference, on a sample of rows, from the evaluator; -1: none
    int64_t errors_at;        // what the evaluator says of how far elements may be off, as f64; -1: not a floating output
    struct ir_tensor reference, sample;
    struct compare_options options;         // for the reference
    struct compare_options sample_options;  // for the sample
};
struct tune_work {
    struct ir_kernel *kernel;
    int64_t *dims;
    struct ir_scalar *scalars;
    struct ir_bindings bindings;
    bool index64;
    struct tune_tensor *tensors;  // by parameter
    int64_t file_bytes;
    double least_bytes;           // that the kernel must read and write; for impossible times
    const char *properties;       // of the device, as its worker says them; "": not known before that
};
// The driver's side: the setup as text. `source` is the program's main file; others are read where they lie.
void tune_work_print(struct text *out, const struct source *source, const char *target, int ordinal, const char *role, const struct tune_work *work);
// The worker's side. `file` holds the tensors; -1: they aren't needed.
struct status tune_work_read(struct arena *arena, const struct wire *message, int file, struct tune_work *work);

// Bytes into the file of tensors, where there were none yet: zeros are left to be what the file has there.
struct status tune_write(struct arena *arena, int file, int64_t at, const void *data, size_t bytes);

// ---------------------------------------------------------------------------------------------- targets, in the workers

// What was built for a config, beside the file of code.
struct tune_built {
    struct launch_plan plan;      // with grids as counts of blocks, see plan_print
    bool ptx;
    int registers, spill_bytes;   // -1: not known
    int64_t shared_bytes;
};
// A plan as JSON, its grids worked out for the work's bindings; read back, each grid is one axis of so many blocks.
void tune_plan_print(struct text *out, const struct tune_work *work, const struct tune_built *built);
bool tune_plan_read(struct arena *arena, const struct tune_work *work, const struct wire *object, struct tune_built *built);

struct tune_device;
// A kind of device, and of code for it. Each function is called in a worker process: a crash or a hang in it is one
// config's fate. `row` is for messages, and for devices that are made to fail.
struct tune_target {
    const char *name;  // "cpu", "cuda"
    // Compiling workers. `state` is what `start` made.
    struct status (*start)(struct arena *arena, const struct tune_work *work, void **state);
    // Lowers, emits and compiles to the file `path`.
    struct status (*build)(struct arena *arena, void *state, const struct tune_work *work, int row, const struct config *config,
                           const char *path, struct tune_built *built);
    // The device worker: opens the device, puts the tensors there. Fills in device->state, properties, copy_rate.
    struct status (*open)(struct tune_device *device);
    struct status (*load)(struct tune_device *device, struct arena *arena, int row, const char *path, const struct tune_built *built,
                          void **program);
    // One launch on restored inputs and poisoned outputs. Guards are looked at. What it took goes to
    // device->check_milliseconds.
    struct status (*check)(struct tune_device *device, struct arena *arena, void *program);
    // Whether an output agrees with its reference, told without bringing it to the host; false: maybe not. NULL: never told.
    bool (*agrees)(struct tune_device *device, struct arena *arena, int param);
    // Brings an output to device->outputs. NULL: that is where it is.
    struct status (*fetch)(struct tune_device *device, struct arena *arena, int param);
    // Timed launches, each on restored inputs and with caches flushed.
    struct status (*time)(struct tune_device *device, struct arena *arena, void *program, int runs, double *milliseconds);
    void (*unload)(struct tune_device *device, void *program);
    int (*raw_code)(struct tune_device *device);  // of the last failure; 0: none
};

struct tune_device {
    const struct tune_target *target;
    struct arena *arena;
    const struct tune_work *work;
    int ordinal;
    struct tensor *outputs;       // by parameter: on the host, for the check
    void *state;
    const char *properties;       // as JSON text, for compiling workers; "" if there is nothing to say
    double copy_rate;             // bytes per second, read and written
    double check_milliseconds;    // of the last check's launch, caches as they were; 0: not known
    int registers;                // of the program loaded last, per thread; -1: not known
    double fastest_share;         // how many times the copy rate a kernel may seem to reach
};

extern const struct tune_target tune_target_cpu, tune_target_cuda;
// What the compiling workers of tune_target_cuda want to know of an architecture without a device.
const char *cuda_properties_for(struct arena *arena, int sm);
const char *cuda_properties_of(struct arena *arena, int ordinal);  // of a device, without a context; "": it can't be seen

// The main function of a worker program, whose socket is descriptor 3 and whose file of tensors, if it has one, 4.
enum { WORKER_SOCKET = 3, WORKER_FILE = 4 };
int worker_main(int target_count, const struct tune_target *const *targets);
int worker_compile(int socket, const struct tune_target *target, const struct wire *setup);
int worker_measure(int socket, const struct tune_target *target, const struct wire *setup);
struct status worker_failed(int socket, int row, const struct status *status, int number, bool lost);

// ---------------------------------------------------------------------------------------------- worker processes (tune_pool.c)

enum worker_role { ROLE_COMPILE, ROLE_DEVICE };
enum worker_state { WORKER_NONE, WORKER_STARTING, WORKER_IDLE, WORKER_BUSY };
struct tune_worker {
    enum worker_role role;
    enum worker_state state;
    pid_t process;       // also its process group
    int socket;
    int row;             // that it works on; -1: none, or several
    double since;        // when that began
    struct text inbox;   // bytes that aren't a whole message yet
    bool ended;          // nothing more comes from it
    bool garbled;        // because it sent rubbish, or doesn't read
};
struct tune_pool {
    const char *program;     // the worker program
    const char *folder;      // for temporary files
    int file;                // of tensors; -1: none
    const char *const *settings;  // "NAME=VALUE" for workers' environment, ending with NULL; or NULL
};
// The worker program: `given`, or $TILEC_WORKER, or tilec-worker beside the program, or beside libtilec. NULL with a reason.
const char *worker_program(struct arena *arena, const char *given, const char **reason);
bool worker_spawn(const struct tune_pool *pool, struct tune_worker *worker);
// Kills the whole process group and waits. Returns how the worker itself had ended: exit code, or minus a signal.
int worker_end(struct tune_worker *worker);
bool worker_send(struct tune_worker *worker, const struct text *message);
// Reads what has arrived. worker->ended if nothing more will.
void worker_read(struct tune_worker *worker);
// The next whole message, or NULL. A malformed one ends the worker.
struct wire *worker_message(struct tune_worker *worker);

// ---------------------------------------------------------------------------------------------- the journal (journal.c)

struct journal {
    int file;            // -1: none
    bool broken;         // a write failed: told once, and on without it
};
// Opens or creates it. `key` says what is tuned on what, and `about` (more members of its head: ", \"shard\": \"2/4\"",
// or "") who does it; a journal of another head is refused. Results that it already
// has go into the rows that have the same place and config; *resumed counts them. With `grow`, rows that it has beyond
// those given are added, too (the search's own).
struct status journal_open(struct arena *arena, const char *path, const char *key, const char *about,
                           const struct ir_kernel *kernel, bool grow, struct tune_rows *rows, int *resumed,
                           struct journal *journal);
void journal_started(struct journal *journal, const struct tune_rows *rows, int index);
void journal_done(struct journal *journal, const struct tune_rows *rows, int index);
void journal_finished(struct journal *journal, double seconds, bool whole);  // the tune has come to its end
void journal_close(struct journal *journal);

// A shard's journal, to be merged with those of the others.
struct journal_read {
    const char *key, *device, *shard;
    bool finished, whole;  // to its end; there was no more to try
    double seconds;      // that it took
    int count;           // one behind its highest row
    struct journal_entry *entries;
};
// `rows`: how many the list has; 0: it was a search.
struct status journal_read(struct arena *arena, const char *path, const struct ir_kernel *kernel, int rows,
                           struct journal_read *read);
// Its results, into rows of the same place and config, or with `append` as further rows. Returns how many.
int journal_take_results(const struct journal_read *read, bool append, struct tune_rows *rows);

// ---------------------------------------------------------------------------------------------- the search (search.c, search_model.c)

struct search;
struct search_facts {  // of the device; 0: not known
    bool cpu;
    struct shard shard;  // whose configs are proposed
    int multiprocessors, threads_per_multiprocessor, registers_per_multiprocessor;
    struct config_data data;   // for the config to begin with
    const struct ir_bindings *bindings;  // of the data; NULL: not known
    const struct ir_tensor *tensors;     // by parameter, on the host, as far as they give rows; NULL: not known
};
struct search *search_new(struct arena *arena, const struct ir_kernel *kernel, uint64_t seed, const struct search_facts *facts);
// The next config worth trying, given what came of the rows so far; it differs from the config of every row. NULL: there
// is none left.
struct config *search_next(struct search *search, const struct tune_rows *rows);

// ---------------------------------------------------------------------------------------------- the driver (tune.c)

struct tune_progress {
    int done, total;          // total 0: the search is open-ended
    int ok;
    double seconds, left;     // left: of the budget, or as the speed so far has it; negative: not known
    double best;              // ms; INFINITY: none yet
    const char *phase;        // "reference", "tuning", "timing the best again"; the last time "done"
};
struct tune_job {
    // In
    const struct source *source;
    struct tune_work *work;
    int file;                     // of the tensors
    const char *target;           // "cpu", "cuda"
    int ordinal;
    const char *program;          // the worker program
    const char *const *settings;  // of its environment, as in tune_pool
    struct search *search;        // NULL: the rows are given
    int compilers;                // compiling workers
    bool alone;                   // nothing may compile while something is timed (the CPU)
    int retimed;                  // how many of the best are timed again, in turns; 0: five
    bool compile_only;            // there is no device: work->properties are what code is made for
    double budget;                // seconds from `begun`; 0: none
    double compile_limit, run_limit;  // seconds
    double (*now)(void *data);    // NULL: the monotonic clock
    // Whether a worker that has been at it for `spent` seconds is over its limit; NULL: by the numbers.
    bool (*over)(void *data, pid_t process, double spent, double limit);
    bool (*stopped)(void *data);  // asked now and then: whether to end with what there is
    void (*progress)(void *data, const struct tune_progress *progress);
    void *data;
    struct journal *journal;      // NULL: none
    // The reference: a config whose outputs become it, and the check of these by the sample; NULL: the file has it already.
    const struct config *reference;
    // In and out
    struct tune_rows *rows;
    // Out
    bool interrupted;
    bool timed_out, exhausted;    // the budget was used up; the search had no more to propose
    double seconds;               // that it took
    double reference_seconds;     // of these, until the first config could be measured
    double device_seconds;        // of these, those in which the device worker was at work
    int started;                  // how often a worker was told to compile something
    const char *folder;
    int wrong;                    // configs whose results differ from the reference
    int sampled, right_by_sample; // those of them that were judged by the evaluator's sample too; those that it calls right
    const char *remark;           // what could not be done as it should, or NULL
};
// Runs every row to its end. Not ok only if the workers themselves can't be had, or the reference fails: every row has an
// outcome even then.
struct status tune_run(struct arena *arena, struct tune_job *job);

#endif
