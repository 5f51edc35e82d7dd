// SPDX-License-Identifier: Apache-2.0
// The driver's hands: starts workers that are missing, and gives idle ones what the rows' stages ask for.
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune_driver.h"

void worker_stop(struct tune_worker *worker)
{
    worker_end(worker);
}

static bool give(struct driver *driver, struct tune_worker *worker, int row, const struct text *message)
{
    if (!worker_send(worker, message)) return false;
    worker->state = WORKER_BUSY;
    worker->row = row;
    worker->since = driver_now(driver);
    return true;
}

// A worker that isn't there is started and given its setup; it says `ready` when it is.
static void start(struct driver *driver, struct tune_worker *worker)
{
    const struct text *setup = worker->role == ROLE_DEVICE ? &driver->device_setup : &driver->compiler_setup;
    if (!worker_spawn(&driver->pool, worker))
        return driver_fail(driver, status_failed(driver->arena, "missing.worker", "can't start the worker program %s", driver->pool.program));
    worker->since = driver_now(driver);
    worker_send(worker, setup);  // if that fails, its end is seen like any other
}

// ---------------------------------------------------------------------------------------------- compiling

static int next_new(struct driver *driver)
{
    const struct tune_rows *rows = driver->job->rows;
    if (driver->reference.config && driver->reference.stage == STAGE_NEW) return REFERENCE_ROW;
    while (driver->next < rows->count && rows->items[driver->next].stage != STAGE_NEW) driver->next++;
    return driver->next < rows->count ? driver->next : -1;
}

static void give_build(struct driver *driver, struct tune_worker *worker, int index)
{
    struct tune_row *row = driver_row(driver, index);
    struct text message = {0};
    text_add(&message, "{\"type\": \"build\"");
    wire_add_int(&message, "row", index);
    wire_add_text(&message, "path", driver_file(driver, index));
    wire_add_text(&message, "config", row->text);
    text_add(&message, "}");
    if (driver->job->journal && index >= 0) journal_started(driver->job->journal, driver->job->rows, index);
    driver->job->started++;
    if (give(driver, worker, index, &message)) row->stage = STAGE_BUILDING;
    text_free(&message);
}

static bool anything_builds(const struct driver *driver)
{
    for (int i = 0; i < driver->compiler_count; i++)
        if (driver->compilers[i].state == WORKER_BUSY) return true;
    return false;
}

// Rows between being new and being measured.
static int count_ahead(const struct driver *driver)
{
    int count = 0;
    for (int i = 0; i < driver->job->rows->count; i++)
        count += driver->job->rows->items[i].stage == STAGE_BUILDING || driver->job->rows->items[i].stage == STAGE_BUILT;
    return count;
}

static void dispatch_compilers(struct driver *driver)
{
    for (int i = 0; i < driver->compiler_count && driver->compiler_setup.data; i++) {
        struct tune_worker *worker = &driver->compilers[i];
        int row = next_new(driver);
        if (row == -1 || (driver->job->alone && row >= 0 && count_ahead(driver) >= 2 * driver->compiler_count)) return;
        if (worker->state == WORKER_NONE) start(driver, worker);
        else if (worker->state == WORKER_IDLE) give_build(driver, worker, row);
    }
}

// ---------------------------------------------------------------------------------------------- measuring

static int next_built(struct driver *driver)
{
    if (driver->phase == PHASE_REFERENCE) return driver->reference.stage == STAGE_BUILT ? REFERENCE_ROW : -1;
    for (int i = 0; i < driver->job->rows->count; i++)
        if (driver->job->rows->items[i].stage == STAGE_BUILT) return i;
    return -1;
}

static void print_program(struct text *out, struct driver *driver, int index)
{
    wire_add_int(out, "row", index);
    wire_add_text(out, "path", driver_file(driver, index));
    text_printf(out, ", \"plan\": %s", driver_row(driver, index)->launches);
}

static void give_measure(struct driver *driver, int index)
{
    struct text message = {0};
    text_printf(&message, "{\"type\": \"%s\"", index == REFERENCE_ROW ? "reference" : "measure");
    print_program(&message, driver, index);
    wire_add_number(&message, "best", driver->best);
    text_add(&message, "}");
    if (give(driver, &driver->device, index, &message)) driver_row(driver, index)->stage = STAGE_MEASURING;
    text_free(&message);
}

// As many rounds as fit into a second.
static int rounds_of(const struct driver *driver)
{
    double round = 0;
    for (int i = 0; i < driver->retimed_count; i++) round += driver->job->rows->items[driver->retimed[i]].result.median;
    double fit = round > 0 ? 1e3 / round : ROUNDS_MOST;
    return fit < ROUNDS_LEAST ? ROUNDS_LEAST : fit > ROUNDS_MOST ? ROUNDS_MOST : (int)fit;
}

static void give_retiming(struct driver *driver)
{
    struct text message = {0};
    text_printf(&message, "{\"type\": \"retime\", \"rounds\": %d, \"items\": [", rounds_of(driver));
    for (int i = 0; i < driver->retimed_count; i++) {
        text_add(&message, i ? ", {\"is\": true" : "{\"is\": true");
        print_program(&message, driver, driver->retimed[i]);
        text_add(&message, "}");
    }
    text_add(&message, "]}");
    give(driver, &driver->device, RETIMING_ROW, &message);
    text_free(&message);
}

// Where compiling would disturb the times, both take turns: as many configs as there are compilers, then their times.
static void take_turns(struct driver *driver)
{
    if (!driver->job->alone) return;
    bool building = anything_builds(driver), built = next_built(driver) != -1 || driver->device.state == WORKER_BUSY;
    if (driver->timing && !built) driver->timing = false;
    else if (!driver->timing && built && !building) driver->timing = true;
}

static void dispatch_device(struct driver *driver)
{
    struct tune_worker *device = &driver->device;
    int row = next_built(driver);
    if (driver->job->compile_only) return;
    bool wanted = !driver->device_begun || row != -1 || driver->phase == PHASE_RETIMING;
    if (device->state == WORKER_NONE && wanted) return start(driver, device);
    if (device->state != WORKER_IDLE || (driver->job->alone && !driver->timing && driver->phase == PHASE_ROWS)) return;
    if (driver->phase == PHASE_RETIMING) give_retiming(driver);
    else if (row != -1) give_measure(driver, row);
}

void dispatch(struct driver *driver)
{
    take_turns(driver);
    dispatch_device(driver);
    // A full turn of compiling: none begins while times are taken, and none while others of the turn wait to be timed.
    bool turn = !driver->job->alone || driver->phase == PHASE_REFERENCE || (!driver->timing && driver->device.state != WORKER_BUSY);
    if (turn && driver->phase != PHASE_RETIMING && driver->over_since == 0) dispatch_compilers(driver);
}
