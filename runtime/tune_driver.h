// SPDX-License-Identifier: Apache-2.0
// What the driver's files share: tune.c (the loop), tune_dispatch.c (work to workers), tune_events.c (what comes back).
#ifndef TILEC_RUNTIME_TUNE_DRIVER_H
#define TILEC_RUNTIME_TUNE_DRIVER_H

#include "runtime/tune.h"

enum { REFERENCE_ROW = -2, RETIMING_ROW = -3, COMPILERS_MOST = 64, RETIMED_USUAL = 5, RETIMED_MOST = 16, ROUNDS_LEAST = 5, ROUNDS_MOST = 41, STARTS_MOST = 4 };

enum driver_phase { PHASE_REFERENCE, PHASE_ROWS, PHASE_RETIMING, PHASE_OVER };

struct driver {
    struct arena *arena;
    struct tune_job *job;
    struct tune_pool pool;
    enum driver_phase phase;
    struct tune_worker device;
    struct tune_worker compilers[COMPILERS_MOST];
    int compiler_count;
    struct text device_setup, compiler_setup;
    struct tune_row reference;     // worked on like any other, but in no list
    int next;                      // no row before this one is STAGE_NEW
    int done, ok, open;            // rows; open: between new and done
    double best;                   // ms; 0: none
    double best_compile;           // seconds that it was compiled
    double longest;                // seconds that the longest good row took on the device
    bool device_begun;             // its worker has been ready once
    bool timing;                   // where nothing may compile meanwhile: it is the device's turn
    bool closed;                   // no more rows: the search has none, or time is up
    double over_since;             // when time was up; 0: it isn't
    int failed_starts;             // in a row
    struct status fatal;
    double begun, told;            // when it began; when progress was told last
    int retimed[RETIMED_MOST], retimed_count;
};

double driver_now(const struct driver *driver);
double driver_run_limit(const struct driver *driver);     // seconds that a row may take on the device
double driver_compile_limit(const struct driver *driver); // and in a compiling worker
struct tune_row *driver_row(struct driver *driver, int row);
const char *driver_file(struct driver *driver, int row);  // where a row's code lies
void driver_fail(struct driver *driver, struct status status);

// A row's outcome, in its place. `code` raw.
void row_done(struct driver *driver, int row, enum tune_status status, int code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void row_count(struct driver *driver, int row);  // after its result was filled in

void dispatch(struct driver *driver);                                      // gives idle workers what there is to do
void worker_stop(struct tune_worker *worker);
void take_messages(struct driver *driver, struct tune_worker *worker);    // and sees to its end
void over_limit(struct driver *driver, struct tune_worker *worker);       // kills it; its row is over
void give_up_open_rows(struct driver *driver, enum tune_status status, const char *reason);
void reference_failed(struct driver *driver, const char *reason);

#endif
