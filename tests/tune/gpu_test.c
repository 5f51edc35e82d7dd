// SPDX-License-Identifier: Apache-2.0
// The driver on a real GPU, with real faults. Fails without one.
//
//     gpu_test GPU-WORKER
#include "tests/tune/fixture.h"

static const char *worker;

static bool is_right(struct unit *unit, const struct tune_rows *rows, int index, char fault)
{
    const struct tune_result *result = &rows->items[index].result;
    bool ok = result->status == fault_status(fault) && (fault == '.') == (isfinite(result->median) && result->median > 0);
    if (fault == 'i' || fault == 'm') ok = ok && result->code == fault_code(fault);
    if (ok) return true;
    unit->ok = false;
    printf("# row %d, fault %c: %s, code %d, median %g, reason \"%s\"\n", index, fault, tune_status_name(result->status), result->code,
           result->median, result->reason);
    return false;
}

static void run_plan(struct unit *unit, const char *faults)
{
    struct fixture fixture;
    int count = (int)strlen(faults);
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, count, faults, 4);
        fixture.job.target = "cuda";
        fixture.job.over = NULL;
        fixture.job.run_limit = 3;
        struct status status = tune_run(fixture.arena, &fixture.job);
        if (!CHECK(unit, status.ok)) printf("# %s\n", status.reason);
        for (int i = 0; i < count; i++) is_right(unit, &fixture.rows, i, faults[i]);
    }
    fixture_end(&fixture);
    fixture_reap();
}

static void nothing_wrong(struct unit *unit) { run_plan(unit, "......"); }
static void bad_stores(struct unit *unit) { run_plan(unit, ".i.m"); }
static void bad_stores_first(struct unit *unit) { run_plan(unit, "mi.w."); }
static void endless(struct unit *unit) { run_plan(unit, ".H."); }
static void all_of_them(struct unit *unit) { run_plan(unit, "wimw.i.wm.iH."); }

int main(int argc, char **argv)
{
    static const struct unit_test tests[] = {
        {"nothing wrong", nothing_wrong},
        {"stores to 0x10, and misaligned", bad_stores},
        {"the same in front", bad_stores_first},
        {"an endless loop", endless},
        {"all of them", all_of_them},
    };
    if (argc > 1) worker = argv[1];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    return unit_run(tests, (int)(sizeof tests / sizeof *tests));
}
