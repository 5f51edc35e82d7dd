// SPDX-License-Identifier: Apache-2.0
// The driver's ears: what workers answer, and how they end, becomes the outcome of the row that they were given.
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune_driver.h"

static const char *copy_text(struct driver *driver, const char *text)
{
    return arena_copy(driver->arena, text ? text : "", text ? strlen(text) : 0);
}

// ---------------------------------------------------------------------------------------------- the reference

static void begin_rows(struct driver *driver)
{
    driver->reference.stage = STAGE_DONE;
    driver->phase = PHASE_ROWS;
    driver->job->reference_seconds = driver_now(driver) - driver->begun;
    if (driver->job->file >= 0) fcntl(driver->job->file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
}

// Without it outputs are compared where the evaluator was at work, and only there.
void reference_failed(struct driver *driver, const char *reason)
{
    struct tune_work *work = driver->job->work;
    for (int i = 0; i < work->kernel->param_count; i++) {
        struct tune_tensor *tensor = &work->tensors[i];
        tensor->reference_at = tensor->sample_at;
        tensor->options = tensor->sample_options;
        tensor->sample_at = -1;
    }
    driver->job->remark = arena_printf(driver->arena, "the default config can't serve as reference (%s): only the rows that the evaluator "
                                                      "worked out are compared", reason);
    text_free(&driver->device_setup);
    tune_work_print(&driver->device_setup, driver->job->source, driver->job->target, driver->job->ordinal, "device", work);
    worker_stop(&driver->device);
    begin_rows(driver);
}

// ---------------------------------------------------------------------------------------------- ready

static void device_ready(struct driver *driver, const struct wire *message)
{
    struct tune_work *work = driver->job->work;
    driver->device_begun = true;
    if (driver->compiler_setup.data) return;
    work->properties = copy_text(driver, wire_text(message, "properties"));
    tune_work_print(&driver->compiler_setup, driver->job->source, driver->job->target, driver->job->ordinal, "compile", work);
}

static void worker_ready(struct driver *driver, struct tune_worker *worker, const struct wire *message)
{
    driver->failed_starts = 0;
    worker->state = WORKER_IDLE;
    worker->row = -1;
    if (worker->role == ROLE_DEVICE) device_ready(driver, message);
}

// ---------------------------------------------------------------------------------------------- outcomes

static void row_built(struct driver *driver, int index, const struct wire *message)
{
    struct tune_row *row = driver_row(driver, index);
    const struct wire *plan = wire_get(message, "plan");
    char *launches = plan ? wire_print(plan) : NULL;
    if (row->stage != STAGE_BUILDING) return;
    row->result.compile_seconds = wire_number(message, "seconds", 0);
    row->result.registers = wire_int(message, "registers", -1);
    row->result.spill_bytes = wire_int(message, "spill_bytes", -1);
    row->result.shared_bytes = wire_long(message, "shared_bytes", -1);
    if (launches && driver->job->compile_only) {
        row_done(driver, index, TUNE_COMPILED, 0, "%s", "");
    } else if (launches) {
        row->launches = copy_text(driver, launches);
        row->stage = STAGE_BUILT;
    } else {
        row_done(driver, index, TUNE_SKIPPED_COMPILE_CRASH, 0, "the compiling worker answered without a plan");
    }
    free(launches);
}

static void row_measured(struct driver *driver, int index, const struct wire *message)
{
    struct tune_row *row = driver_row(driver, index);
    double median = wire_number(message, "median", NAN);
    if (row->stage != STAGE_MEASURING || index < 0) return;
    if (!(median > 0) || !isfinite(median)) {
        row_done(driver, index, TUNE_FAILED_TIMING, 0, "the device says that a run took no time");
        return;
    }
    row->result.status = TUNE_OK;
    row->result.reason = "";
    row->result.median = median;
    row->result.spread = wire_number(message, "spread", 0);
    row->result.runs = wire_int(message, "runs", 1);
    row->result.bound = wire_bool(message, "bound");
    if (row->result.registers < 0) row->result.registers = wire_int(message, "registers", -1);
    double took = driver_now(driver) - driver->device.since;
    if (took > driver->longest) driver->longest = took;
    row_count(driver, index);
}

static void rows_retimed(struct driver *driver, const struct wire *message)
{
    int at = 0;
    for (const struct wire *item = wire_first(wire_get(message, "items")); item && at < driver->retimed_count; item = wire_next(item), at++) {
        struct tune_row *row = driver_row(driver, driver->retimed[at]);
        double median = wire_number(item, "median", NAN);
        if (wire_int(item, "row", -1) != driver->retimed[at] || !(median > 0) || !isfinite(median)) continue;
        row->result.median = median;
        row->result.spread = wire_number(item, "spread", 0);
        row->result.runs = wire_int(item, "runs", 1);
        row->result.retimed = true;
        if (driver->job->journal) journal_done(driver->job->journal, driver->job->rows, driver->retimed[at]);
    }
    driver->phase = PHASE_OVER;
}

static void retiming_failed(struct driver *driver, const char *reason)
{
    driver->job->remark = arena_printf(driver->arena, "the best configs could not be timed again in turns: %s", reason);
    driver->phase = PHASE_OVER;
}

static void row_failed(struct driver *driver, struct tune_worker *worker, const struct wire *message)
{
    int index = worker->row, number = wire_int(message, "number", 0), sample = wire_int(message, "sample", -1);
    const char *code = wire_text(message, "code"), *reason = wire_text(message, "reason");
    if (!code || !reason) code = "internal.worker", reason = "the worker gave no reason";
    if (index == RETIMING_ROW) return retiming_failed(driver, reason);
    enum tune_status status = worker->role == ROLE_COMPILE ? tune_status_of_build(code) : tune_status_of_run(code);
    if (status == TUNE_FAILED_WRONG_RESULT && index >= 0) {
        driver->job->wrong++;
        driver->job->sampled += sample >= 0;
        driver->job->right_by_sample += sample == 1;
    }
    row_done(driver, index, status, number, "%s", reason);
}

// ---------------------------------------------------------------------------------------------- messages

static void start_failed(struct driver *driver, const struct wire *message)
{
    const char *code = wire_text(message, "code"), *reason = wire_text(message, "reason");
    driver_fail(driver, status_failed(driver->arena, copy_text(driver, code ? code : "internal.worker"), "%s", reason ? reason : "a worker can't begin"));
}

static bool is_about(const struct tune_worker *worker, const struct wire *message)
{
    return worker->state == WORKER_BUSY && (worker->row == RETIMING_ROW || wire_int(message, "row", -1) == worker->row ||
                                            worker->row == REFERENCE_ROW);
}

// What the device worker was at counts, whatever came of it.
static void count_work(struct driver *driver, const struct tune_worker *worker)
{
    if (worker->role == ROLE_DEVICE && worker->state != WORKER_STARTING) driver->job->device_seconds += driver_now(driver) - worker->since;
}

// False if it makes no sense now: then the worker is no longer to be trusted.
static bool take_message(struct driver *driver, struct tune_worker *worker, const struct wire *message)
{
    const char *type = wire_text(message, "type");
    bool lost = wire_bool(message, "lost");
    int row = worker->row;
    if (!type) return false;
    if (worker->state == WORKER_STARTING && strcmp(type, "ready") == 0) return worker_ready(driver, worker, message), true;
    if (worker->state == WORKER_STARTING && strcmp(type, "failed") == 0) return start_failed(driver, message), true;
    if (!is_about(worker, message)) return false;
    bool device = worker->role == ROLE_DEVICE;
    if (strcmp(type, "failed") == 0) row_failed(driver, worker, message);
    else if (!device && strcmp(type, "built") == 0) row_built(driver, row, message);
    else if (device && strcmp(type, "measured") == 0) row_measured(driver, row, message);
    else if (device && strcmp(type, "referenced") == 0 && row == REFERENCE_ROW) begin_rows(driver);
    else if (device && strcmp(type, "retimed") == 0 && row == RETIMING_ROW) rows_retimed(driver, message);
    else return false;
    count_work(driver, worker);
    if (worker->state == WORKER_NONE) return true;  // stopped on the way
    worker->state = WORKER_IDLE;
    worker->row = -1;
    if (lost) worker_stop(worker);
    return true;
}

// ---------------------------------------------------------------------------------------------- ends

static const char *how_it_ended(struct driver *driver, int code)
{
    if (code < 0) return arena_printf(driver->arena, "ended by signal %d (%s)", -code, strsignal(-code));
    return arena_printf(driver->arena, "ended with code %d", code);
}

static void end_of_row(struct driver *driver, enum worker_role role, int row, int code)
{
    const char *how = how_it_ended(driver, code);
    if (row == RETIMING_ROW) retiming_failed(driver, how);
    else if (role == ROLE_COMPILE) row_done(driver, row, TUNE_SKIPPED_COMPILE_CRASH, code < 0 ? -code : code, "the compiling worker %s", how);
    else row_done(driver, row, TUNE_FAILED_CRASH, code < 0 ? -code : code, "the worker that ran it %s", how);
}

static void worker_ended(struct driver *driver, struct tune_worker *worker)
{
    enum worker_state state = worker->state;
    enum worker_role role = worker->role;
    if (state == WORKER_BUSY) count_work(driver, worker);
    int row = worker->row, code = worker_end(worker);
    if (state == WORKER_BUSY) return end_of_row(driver, role, row, code);
    if (state == WORKER_STARTING && ++driver->failed_starts >= STARTS_MOST)
        driver_fail(driver, status_failed(driver->arena, "internal.worker", "%s can't begin its work: the last one %s", driver->pool.program,
                                          how_it_ended(driver, code)));
}

void take_messages(struct driver *driver, struct tune_worker *worker)
{
    struct wire *message;
    while (worker->state != WORKER_NONE && (message = worker_message(worker)) != NULL) {
        bool sense = take_message(driver, worker, message);
        wire_free(message);
        if (!sense) worker->ended = worker->garbled = true;
        if (!sense) break;
    }
    if (worker->state != WORKER_NONE && worker->ended) worker_ended(driver, worker);
}

void over_limit(struct driver *driver, struct tune_worker *worker)
{
    enum worker_state state = worker->state;
    enum worker_role role = worker->role;
    int row = worker->row;
    double limit = role == ROLE_COMPILE ? driver_compile_limit(driver) : driver_run_limit(driver);
    if (state == WORKER_BUSY) count_work(driver, worker);
    worker_end(worker);
    if (state == WORKER_STARTING) {
        if (++driver->failed_starts >= STARTS_MOST) driver_fail(driver, status_failed(driver->arena, "internal.worker", "workers don't come up"));
    } else if (row == RETIMING_ROW) {
        retiming_failed(driver, "it took too long");
    } else if (driver->over_since > 0) {
        row_done(driver, row, TUNE_SKIPPED_BUDGET, 0, "the budget was used up while it ran");
    } else {
        if (role == ROLE_COMPILE && driver_row(driver, row)) driver_row(driver, row)->result.compile_seconds = limit;
        row_done(driver, row, role == ROLE_COMPILE ? TUNE_SKIPPED_COMPILE_TIMEOUT : TUNE_FAILED_TIMEOUT, 0, "%s took longer than %d s",
                 role == ROLE_COMPILE ? "compiling" : "running", (int)limit);
    }
}
