// SPDX-License-Identifier: Apache-2.0
// The driver on a real device, with real faults: configs whose code was replaced by code that does what it shouldn't.
// "cuda" fails without a GPU.
//
//     real_test WORKER TARGET
#include "tests/tune/fixture.h"

static const char *worker, *target;

static bool is_right(struct unit *unit, const struct tune_rows *rows, int index, char fault)
{
    const struct tune_result *result = &rows->items[index].result;
    bool ok = result->status == fault_status(fault) && (fault == '.') == (isfinite(result->median) && result->median > 0);
    if (fault_code(fault) > 0) ok = ok && result->code == fault_code(fault);
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
        fixture.job.target = target;
        if (strcmp(target, "cuda") == 0) {  // what loops on the device can't say so: by the clock
            fixture.job.over = NULL;
            fixture.job.run_limit = 3;
        }
        struct status status = tune_run(fixture.arena, &fixture.job);
        if (!CHECK(unit, status.ok)) printf("# %s\n", status.reason);
        for (int i = 0; i < count; i++) is_right(unit, &fixture.rows, i, faults[i]);
    }
    fixture_end(&fixture);
    fixture_reap();
}

static void nothing_wrong(struct unit *unit) { run_plan(unit, "......"); }
static void endless(struct unit *unit) { run_plan(unit, ".H."); }

// On a GPU: i stores to address 0x10, m to a misaligned one.
static void bad_stores(struct unit *unit) { run_plan(unit, ".i.m"); }
static void bad_stores_first(struct unit *unit) { run_plan(unit, "mi.w."); }
static void all_of_them(struct unit *unit) { run_plan(unit, "wimw.i.wm.iH."); }

// On the CPU: 1 and 2 each store one half of the output. Were the one's left to the other, the two would pass.
static void half_writers(struct unit *unit) { run_plan(unit, "12"), run_plan(unit, ".21.12"); }
static void wrong_ones(struct unit *unit) { run_plan(unit, "wn.g.gnw"); }
static void crashes(struct unit *unit) { run_plan(unit, "Q.QQ1."); }

int main(int argc, char **argv)
{
    static const struct unit_test on_gpu[] = {
        {"nothing wrong", nothing_wrong},
        {"stores to 0x10, and misaligned", bad_stores},
        {"the same in front", bad_stores_first},
        {"an endless loop", endless},
        {"all of them", all_of_them},
    };
    static const struct unit_test on_cpu[] = {
        {"nothing wrong", nothing_wrong},
        {"half of the output each", half_writers},
        {"wrong numbers, and bytes beside the output", wrong_ones},
        {"stores to 0x10", crashes},
        {"an endless loop", endless},
    };
    if (argc < 3) return fprintf(stderr, "usage: real_test WORKER TARGET\n"), 2;
    worker = argv[1];
    target = argv[2];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(target, "cpu") == 0) return unit_run(on_cpu, (int)(sizeof on_cpu / sizeof *on_cpu));
    return unit_run(on_gpu, (int)(sizeof on_gpu / sizeof *on_gpu));
}
