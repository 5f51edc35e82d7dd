// SPDX-License-Identifier: Apache-2.0
// The driver of a tune. In: rows of configs, or a search that proposes them; workers. Out: an outcome in every row.
//
// note [how a tune runs]
// Compiling workers turn a config into a file of code; one device worker, which alone holds the device, runs it, compares
// its outputs with the reference and times it. The driver only waits for messages, writes outcomes into rows and hands out
// what is next. It has no list but that of the rows: each row says by its stage what is to be done with it, and whatever a
// worker answers goes into the row that the worker was given. A worker that ends, hangs or talks rubbish costs its row and
// is replaced. The whole runs in one thread.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune_driver.h"

static const double start_limit = 180;    // seconds until a worker is ready
static const double last_run_limit = 2;   // seconds that a run may still take once time is up
static const double told_every = 0.1;
static const double patience = 20, least_run_limit = 3;
static const double compile_patience = 4, least_compile_limit = 4;

// ---------------------------------------------------------------------------------------------- rows

double driver_now(const struct driver *driver)
{
    return driver->job->now ? driver->job->now(driver->job->data) : seconds_now();
}

struct tune_row *driver_row(struct driver *driver, int row)
{
    if (row == REFERENCE_ROW) return &driver->reference;
    return row >= 0 && row < driver->job->rows->count ? &driver->job->rows->items[row] : NULL;
}

const char *driver_file(struct driver *driver, int row)
{
    return arena_printf(driver->arena, "%s/%d.code", driver->pool.folder, row);
}

void driver_fail(struct driver *driver, struct status status)
{
    if (driver->fatal.ok) driver->fatal = status;
}

void row_count(struct driver *driver, int index)
{
    struct tune_row *row = driver_row(driver, index);
    if (index < 0 || !row || row->stage == STAGE_DONE) return;
    row->stage = STAGE_DONE;
    row->result.at = driver_now(driver) - driver->begun;
    driver->done++;
    driver->open--;
    if (row->result.status == TUNE_OK) {
        driver->ok++;
        if (driver->best <= 0 || row->result.median < driver->best) {
            driver->best = row->result.median;
            driver->best_compile = row->result.compile_seconds;
        }
    }
    if (driver->job->journal) journal_done(driver->job->journal, driver->job->rows, index);
}

void row_done(struct driver *driver, int index, enum tune_status status, int code, const char *format, ...)
{
    va_list list;
    struct tune_row *row = driver_row(driver, index);
    char reason[4096];
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    if (!row || row->stage == STAGE_DONE) return;
    row->result.status = status;
    row->result.code = code;
    row->result.reason = arena_copy(driver->arena, reason, strlen(reason));
    if (index == REFERENCE_ROW) reference_failed(driver, row->result.reason);
    else row_count(driver, index);
}

void give_up_open_rows(struct driver *driver, enum tune_status status, const char *reason)
{
    for (int i = 0; i < driver->job->rows->count; i++)
        if (driver->job->rows->items[i].stage != STAGE_DONE) row_done(driver, i, status, 0, "%s", reason);
}

// ---------------------------------------------------------------------------------------------- when it is time to end

static void stop_compilers(struct driver *driver)
{
    for (int i = 0; i < driver->compiler_count; i++) worker_stop(&driver->compilers[i]);
}

// Whatever isn't on the device any more or yet gets its outcome now. What runs may end, for a moment.
static void close_for_budget(struct driver *driver)
{
    driver->closed = true;
    driver->over_since = driver_now(driver);
    stop_compilers(driver);
    for (int i = 0; i < driver->job->rows->count; i++) {
        struct tune_row *row = &driver->job->rows->items[i];
        if (row->stage == STAGE_DONE || row->stage == STAGE_MEASURING) continue;
        row_done(driver, i, TUNE_SKIPPED_BUDGET, 0, "the budget was used up before this config's turn");
    }
    if (driver->phase == PHASE_REFERENCE) driver->phase = PHASE_OVER;
}

static void close_for_interrupt(struct driver *driver)
{
    driver->job->interrupted = true;
    driver->closed = true;
    stop_compilers(driver);
    worker_stop(&driver->device);
    give_up_open_rows(driver, TUNE_SKIPPED_INTERRUPTED, "interrupted");
    driver->phase = PHASE_OVER;
}

// Some of the budget is for timing the best again.
static double budget_end(const struct driver *driver)
{
    double budget = driver->job->budget, last = budget * 0.1 < 2 ? budget * 0.1 : 2;
    return driver->begun + budget - (driver->phase == PHASE_RETIMING ? 0 : last);
}

// A search has something to show for the shortest budget: its first row, the default config, is worked through. The limits
// of a compilation and of a run hold for it as for any.
static bool first_is_open(const struct driver *driver)
{
    const struct tune_job *job = driver->job;
    return job->search && driver->ok == 0 && (job->rows->count == 0 || job->rows->items[0].stage != STAGE_DONE);
}

static void look_at_the_clock(struct driver *driver)
{
    struct tune_job *job = driver->job;
    if (job->stopped && job->stopped(job->data)) return close_for_interrupt(driver);
    if (job->budget > 0 && driver->over_since == 0 && driver_now(driver) >= budget_end(driver) && driver->phase != PHASE_RETIMING &&
        !first_is_open(driver))
        close_for_budget(driver);
}

// ---------------------------------------------------------------------------------------------- limits

// A search knows what a row usually takes, and waits for none that takes so much longer that it can't be of use.
double driver_run_limit(const struct driver *driver)
{
    double usual = patience * driver->longest, limit = driver->job->run_limit;
    if (usual < least_run_limit) usual = least_run_limit;
    return driver->job->search && driver->ok > 0 && usual < limit ? usual : limit;
}

// Code that compiles for so much longer than the best one's is that much more code: those that came to their end were never
// the best, and each kept a core from several others.
double driver_compile_limit(const struct driver *driver)
{
    double usual = compile_patience * driver->best_compile, limit = driver->job->compile_limit;
    if (usual < least_compile_limit) usual = least_compile_limit;
    return driver->job->search && driver->ok > 0 && usual < limit ? usual : limit;
}

static void check_limit(struct driver *driver, struct tune_worker *worker)
{
    const struct tune_job *job = driver->job;
    if (worker->state != WORKER_STARTING && worker->state != WORKER_BUSY) return;
    double now = driver_now(driver), spent = now - worker->since;
    double limit = worker->state == WORKER_STARTING ? start_limit : worker->role == ROLE_COMPILE ? driver_compile_limit(driver) : driver_run_limit(driver);
    if (worker->row == RETIMING_ROW) limit = job->run_limit * RETIMED_MOST;
    bool over = job->over ? job->over(job->data, worker->process, spent, limit) : spent >= limit;
    if (!over && driver->over_since > 0 && driver->phase != PHASE_RETIMING) over = now - driver->over_since > last_run_limit;
    if (over) over_limit(driver, worker);
}

// ---------------------------------------------------------------------------------------------- the search

// Enough rows that no compiler waits, and no more, so that each proposal knows as much as can be known.
static bool wants_proposal(const struct driver *driver)
{
    bool open = driver->phase == PHASE_ROWS || driver->phase == PHASE_REFERENCE;
    return driver->job->search && !driver->closed && open && driver->open < 2 * driver->compiler_count;
}

// One at a time: a proposal takes milliseconds, in which a device that is done would wait for its next row.
static void propose(struct driver *driver)
{
    struct tune_job *job = driver->job;
    if (!wants_proposal(driver)) return;
    struct config *config = job->rows->count < job->rows->limit ? search_next(job->search, job->rows) : NULL;
    if (!config) {
        driver->closed = true;
        job->exhausted = job->rows->count < job->rows->limit;
        return;
    }
    tune_rows_add(job->rows, config, tune_config_text(driver->arena, job->work->kernel, config), NULL);
    driver->open++;
}

// ---------------------------------------------------------------------------------------------- waiting

static int wait_milliseconds(const struct driver *driver)
{
    return driver->job->over || driver->job->stopped ? 20 : 100;
}

static void wait_for_messages(struct driver *driver)
{
    struct pollfd files[COMPILERS_MOST + 1];
    struct tune_worker *workers[COMPILERS_MOST + 1];
    int count = 0;
    for (int i = -1; i < driver->compiler_count; i++) {
        struct tune_worker *worker = i < 0 ? &driver->device : &driver->compilers[i];
        if (worker->state == WORKER_NONE) continue;
        workers[count] = worker;
        files[count++] = (struct pollfd){.fd = worker->socket, .events = POLLIN};
    }
    int ready = poll(files, (nfds_t)count, wants_proposal(driver) ? 0 : wait_milliseconds(driver));
    for (int i = 0; i < count; i++) {
        if (ready > 0 && files[i].revents) worker_read(workers[i]);
        take_messages(driver, workers[i]);
        check_limit(driver, workers[i]);
    }
}

static void tell_progress(struct driver *driver, bool last)
{
    struct tune_job *job = driver->job;
    double now = driver_now(driver);
    if (!job->progress || (!last && now - driver->told < told_every)) return;
    driver->told = now;
    struct tune_progress progress = {
        .done = driver->done, .total = job->search ? 0 : job->rows->count, .ok = driver->ok, .seconds = now - driver->begun,
        .best = driver->best > 0 ? driver->best : INFINITY, .left = -1,
        .phase = driver->phase == PHASE_REFERENCE ? "reference" : driver->phase == PHASE_ROWS ? "tuning" : last ? "done" : "timing the best again"};
    if (job->budget > 0) progress.left = job->budget - progress.seconds;
    else if (progress.total && progress.done) progress.left = progress.seconds / progress.done * (progress.total - progress.done);
    job->progress(job->data, &progress);
}

// ---------------------------------------------------------------------------------------------- all of it

static bool rows_are_done(const struct driver *driver)
{
    return driver->open == 0 && (driver->closed || !driver->job->search);
}

// The few best, if there are several and they were built in this run.
static void begin_retiming(struct driver *driver)
{
    int best[RETIMED_MOST], wanted = driver->job->retimed > 0 ? driver->job->retimed : RETIMED_USUAL;
    int count = tune_rows_best(driver->job->rows, wanted < RETIMED_MOST ? wanted : RETIMED_MOST, best);
    driver->phase = PHASE_RETIMING;
    driver->retimed_count = 0;
    for (int i = 0; i < count; i++) {
        const struct tune_row *row = &driver->job->rows->items[best[i]];
        if (row->launches && !row->result.bound) driver->retimed[driver->retimed_count++] = best[i];
    }
    if (driver->retimed_count < 2) driver->phase = PHASE_OVER;
}

static void loop(struct driver *driver)
{
    while (driver->phase != PHASE_OVER && driver->fatal.ok) {
        look_at_the_clock(driver);
        if (wants_proposal(driver)) dispatch(driver);  // no one waits for the proposal that isn't theirs
        propose(driver);
        if (driver->phase == PHASE_ROWS && rows_are_done(driver)) begin_retiming(driver);
        if (driver->phase == PHASE_OVER) break;
        dispatch(driver);
        wait_for_messages(driver);
        tell_progress(driver, false);
    }
}

static int remove_entry(const char *path, const struct stat *about, int flag, struct FTW *walk)
{
    (void)about;
    (void)flag;
    (void)walk;
    return remove(path), 0;
}

static const char *make_folder(struct arena *arena)
{
    const char *base = getenv("TMPDIR");
    char *folder = arena_printf(arena, "%s/tilec-tune-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder);
}

static void prepare(struct driver *driver)
{
    struct tune_job *job = driver->job;
    driver->compiler_count = job->compilers < 1 ? 1 : job->compilers > COMPILERS_MOST ? COMPILERS_MOST : job->compilers;
    driver->device = (struct tune_worker){.role = ROLE_DEVICE, .socket = -1, .row = -1};
    for (int i = 0; i < driver->compiler_count; i++) driver->compilers[i] = (struct tune_worker){.role = ROLE_COMPILE, .socket = -1, .row = -1};
    driver->phase = job->reference ? PHASE_REFERENCE : PHASE_ROWS;
    // Where the device's limits are known, compiling begins while its worker still puts the tensors there.
    if (job->compile_only || *job->work->properties) tune_work_print(&driver->compiler_setup, job->source, job->target, job->ordinal, "compile", job->work);
    driver->reference = (struct tune_row){.config = job->reference, .stage = STAGE_NEW};
    if (job->reference) driver->reference.text = tune_config_text(driver->arena, job->work->kernel, job->reference);
    for (int i = 0; i < job->rows->count; i++) {
        const struct tune_row *row = &job->rows->items[i];
        driver->open += row->stage != STAGE_DONE;
        driver->done += row->stage == STAGE_DONE;
        driver->ok += row->result.status == TUNE_OK;
        if (row->result.status == TUNE_OK && (driver->best <= 0 || row->result.median < driver->best)) driver->best = row->result.median;
    }
    if (!job->reference && job->file >= 0) fcntl(job->file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
    tune_work_print(&driver->device_setup, job->source, job->target, job->ordinal, "device", job->work);
}

static void finish(struct driver *driver)
{
    stop_compilers(driver);
    worker_stop(&driver->device);
    driver->job->timed_out = driver->over_since > 0;
    driver->job->seconds = driver_now(driver) - driver->begun;
    if (!driver->fatal.ok) give_up_open_rows(driver, TUNE_SKIPPED_INTERRUPTED, driver->fatal.reason);
    else if (driver->over_since > 0) give_up_open_rows(driver, TUNE_SKIPPED_BUDGET, "the budget was used up before this config's turn");
    else give_up_open_rows(driver, TUNE_SKIPPED_INTERRUPTED, "the tune ended before this config's turn");
    driver->phase = PHASE_OVER;
    tell_progress(driver, true);
    text_free(&driver->device_setup);
    text_free(&driver->compiler_setup);
    nftw(driver->pool.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

struct status tune_run(struct arena *arena, struct tune_job *job)
{
    struct driver *driver = ARENA_NEW(arena, struct driver);
    *driver = (struct driver){.arena = arena, .job = job, .fatal = STATUS_OK, .pool = {.program = job->program, .file = job->file, .settings = job->settings}};
    driver->begun = driver_now(driver);
    driver->pool.folder = make_folder(arena);
    if (!driver->pool.folder) {
        struct status status = status_failed(arena, "write.folder", "can't make a temporary folder in $TMPDIR or /tmp: %s", strerror(errno));
        for (int i = 0; i < job->rows->count; i++)
            if (job->rows->items[i].stage != STAGE_DONE) row_done(driver, i, TUNE_SKIPPED_INTERRUPTED, 0, "%s", status.reason);
        return status;
    }
    prepare(driver);
    loop(driver);
    finish(driver);
    return driver->fatal;
}
