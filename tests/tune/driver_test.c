// SPDX-License-Identifier: Apache-2.0
// The driver with a fake target: each way to fail by itself, and among others; what ends a tune early; hundreds of random
// plans of faults.
//
//     driver_test FAKE-WORKER PLANS
#include <sys/mman.h>

#include "tests/tune/fixture.h"

static const char *worker;
static int plan_count = 200;

static bool run_plan(struct unit *unit, const char *faults, int compilers)
{
    struct fixture fixture;
    bool good = CHECK(unit, fixture_begin(&fixture));
    int count = (int)strlen(faults);
    if (good) {
        fixture_rows(&fixture, worker, count, faults, compilers);
        struct status status = tune_run(fixture.arena, &fixture.job);
        if (!CHECK(unit, status.ok)) printf("# %s\n", status.reason), good = false;
        good &= CHECK_NUMBER(unit, fixture.rows.count, count);
        for (int i = 0; i < count; i++) good &= row_is_as_alone(unit, &fixture.rows, i, faults[i]);
    }
    fixture_end(&fixture);
    fixture_reap();
    if (!good) printf("# in the plan %s with %d compilers\n", faults, compilers);
    return good;
}

// ---------------------------------------------------------------------------------------------- every fault

static void every_fault_alone(struct unit *unit)
{
#define ALONE(letter, status, code) run_plan(unit, (const char[]){letter, 0}, 1);
    FAKE_FAULTS(ALONE)
#undef ALONE
}

static void every_fault_among_others(struct unit *unit)
{
#define AMONG(letter, status, code) run_plan(unit, (const char[]){'.', letter, '.', letter, letter, '.', 0}, 2);
    FAKE_FAULTS(AMONG)
#undef AMONG
}

static void random_plans(struct unit *unit)
{
    static const char letters[] = {
#define LETTER(letter, status, code) letter,
        FAKE_FAULTS(LETTER)
#undef LETTER
    };
    uint64_t state = 12345;
    for (int plan = 0; plan < plan_count && unit->ok; plan++) {
        char faults[16];
        int count = 1 + (int)(generator_hash(state, "count", (uint64_t)plan) % 9);
        for (int i = 0; i < count; i++) {
            uint64_t hash = generator_hash(state, "fault", (uint64_t)(plan * 16 + i));
            faults[i] = hash % 3 ? letters[(hash >> 8) % sizeof letters] : '.';
        }
        faults[count] = 0;
        run_plan(unit, faults, 1 + plan % 3);
    }
}

// ---------------------------------------------------------------------------------------------- early ends

static double time_by_rows(void *data)
{
    const struct fixture *fixture = data;
    return fixture->rows.items[1].stage == STAGE_DONE ? 1000 : 1;
}

static bool stop_by_rows(void *data)
{
    const struct fixture *fixture = data;
    return fixture->rows.items[1].stage == STAGE_DONE;
}

static bool never_over(void *data, pid_t process, double spent, double limit)
{
    (void)data;
    (void)process;
    (void)spent;
    (void)limit;
    return false;
}

// Row 0 is done or not: it is measured before row 1 in any case. What lies behind is skipped, hangs included.
static void budget_ends_it(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, 6, "..hHhh", 1);
        fixture.job.now = time_by_rows;
        fixture.job.over = never_over;
        fixture.job.budget = 100;
        CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
        row_is_as_alone(unit, &fixture.rows, 0, '.');
        row_is_as_alone(unit, &fixture.rows, 1, '.');
        for (int i = 2; i < 6; i++) CHECK_NUMBER(unit, fixture.rows.items[i].result.status, TUNE_SKIPPED_BUDGET);
        CHECK(unit, !fixture.job.interrupted);
    }
    fixture_end(&fixture);
    fixture_reap();
}

static void interrupt_ends_it(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, 5, "..hHh", 1);
        fixture.job.stopped = stop_by_rows;
        fixture.job.over = never_over;
        CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
        CHECK(unit, fixture.job.interrupted);
        row_is_as_alone(unit, &fixture.rows, 0, '.');
        row_is_as_alone(unit, &fixture.rows, 1, '.');
        for (int i = 2; i < 5; i++) CHECK_NUMBER(unit, fixture.rows.items[i].result.status, TUNE_SKIPPED_INTERRUPTED);
    }
    fixture_end(&fixture);
    fixture_reap();
}

// S: its first timed run is slow; C: its check is already.
static void slow_rows_are_bound(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, 4, ".SC.", 1);
        CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
        for (int i = 1; i <= 2; i++) {
            const struct tune_result *result = &fixture.rows.items[i].result;
            CHECK(unit, result->status == TUNE_OK && result->bound && !result->retimed);
            CHECK_NUMBER(unit, result->runs, 1);
            CHECK_NUMBER(unit, result->median, i == 1 ? 100 : 50);
        }
        row_is_as_alone(unit, &fixture.rows, 0, '.');
        row_is_as_alone(unit, &fixture.rows, 3, '.');
        CHECK(unit, fixture.rows.items[0].result.retimed && fixture.rows.items[3].result.retimed);
    }
    fixture_end(&fixture);
    fixture_reap();
}

// Rows 0 and 5, of nearly one time, are timed to the end and again in turns; those that take longer only a few times.
static void only_rivals_are_timed_to_the_end(struct unit *unit)
{
    enum { COUNT = 7, FEW = 7 };
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, COUNT, "", 1);
        fixture.job.retimed = 2;
        CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
        for (int i = 0; i < COUNT; i++) {
            const struct tune_result *result = &fixture.rows.items[i].result;
            bool rival = i == 0 || i == 5;
            row_is_as_alone(unit, &fixture.rows, i, '.');
            CHECK(unit, result->retimed == rival && (result->runs == FEW) == !rival);
        }
    }
    fixture_end(&fixture);
    fixture_reap();
}

// The limit that a hanging worker was held against.
static double hung_limit;

static bool note_limit(void *data, pid_t process, double spent, double limit)
{
    bool hangs = fixture_over(data, process, spent, limit);
    if (hangs) hung_limit = limit;
    return hangs;
}

// Once a search has a best config, none may compile for so much longer than that one. A list's configs all may.
static void searches_are_impatient(struct unit *unit)
{
    enum { COUNT = 12, HUNG = 5, HOURS = 100000 };
    static const struct search_facts facts = {.cpu = true};
    for (int searches = 0; searches < 2; searches++) {
        struct fixture fixture;
        if (CHECK(unit, fixture_begin(&fixture))) {
            fixture_rows(&fixture, worker, searches ? 0 : COUNT, ".....h", 1);
            if (searches) fixture.rows = tune_rows_new(fixture.arena, COUNT);
            if (searches) fixture.job.search = search_new(fixture.arena, fixture.bound.kernel, 1, &facts);
            fixture.job.compile_limit = HOURS;
            fixture.job.over = note_limit;
            hung_limit = 0;
            CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
            CHECK_NUMBER(unit, fixture.rows.count, COUNT);
            CHECK_NUMBER(unit, fixture.rows.items[HUNG].result.status, TUNE_SKIPPED_COMPILE_TIMEOUT);
            CHECK(unit, searches ? hung_limit > 0 && hung_limit < HOURS / 100 : hung_limit == HOURS);
            CHECK(unit, fixture.rows.items[HUNG].result.compile_seconds == hung_limit);
        }
        fixture_end(&fixture);
        fixture_reap();
    }
}

static void no_worker_program(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, "/nonexistent/worker", 3, "...", 2);
        struct status status = tune_run(fixture.arena, &fixture.job);
        CHECK(unit, !status.ok && strcmp(status.code, "missing.worker") == 0);
        for (int i = 0; i < 3; i++) CHECK(unit, fixture.rows.items[i].result.status == TUNE_SKIPPED_INTERRUPTED && *fixture.rows.items[i].result.reason);
    }
    fixture_end(&fixture);
}

// A program that ends at once: after a few tries the tune gives up, with an outcome in every row.
static void worker_that_never_begins(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, "/bin/true", 3, "...", 2);
        struct status status = tune_run(fixture.arena, &fixture.job);
        CHECK(unit, !status.ok && strcmp(status.code, "internal.worker") == 0);
        for (int i = 0; i < 3; i++) CHECK_NUMBER(unit, fixture.rows.items[i].result.status, TUNE_SKIPPED_INTERRUPTED);
    }
    fixture_end(&fixture);
    fixture_reap();
}

// ---------------------------------------------------------------------------------------------- the reference

// As if the evaluator had done a sample only, without the last element, so that a config makes the reference.
static void only_a_sample(struct unit *unit, struct fixture *fixture)
{
    struct tune_tensor *out = &fixture->prepared.work.tensors[1];
    float *elements = fixture->bound.views[1].data;  // full of poison
    size_t last = out->bytes - sizeof *elements;
    CHECK(unit, pwrite(fixture->prepared.file, elements, sizeof *elements, (off_t)(out->reference_at + (int64_t)last)) == sizeof *elements);
    out->sample_at = out->reference_at;
    out->sample_options = out->options;
    out->sample_options.sampled = true;
    out->reference_at = out->at;  // full of poison: who compares with it before the reference is made fails
    out->at = fixture->prepared.work.tensors[0].at;
    fixture->job.reference = config_default(fixture->arena, fixture->bound.kernel);
}

// If it can't, the sample is all there is.
static void reference_from_a_config(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, 4, ".w.n", 2);
        only_a_sample(unit, &fixture);
        CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
        for (int i = 0; i < 4; i++) row_is_as_alone(unit, &fixture.rows, i, ".w.n"[i]);
        CHECK_NUMBER(unit, fixture.job.wrong, 2);
        CHECK_NUMBER(unit, fixture.job.sampled, 2);
        CHECK_NUMBER(unit, fixture.job.right_by_sample, 2);  // they are wrong where the sample has nothing
        CHECK(unit, fixture.job.remark == NULL);
    }
    fixture_end(&fixture);
    fixture_reap();
}

// The config that made the reference was wrong where the evaluator didn't look: every other one differs from it, and the
// evaluator says who is right.
static void reference_is_wrong(struct unit *unit)
{
    struct fixture fixture;
    if (CHECK(unit, fixture_begin(&fixture))) {
        fixture_rows(&fixture, worker, 3, "...", 2);
        fixture.settings[2] = REFERENCE_VARIABLE "=w";
        only_a_sample(unit, &fixture);
        CHECK(unit, tune_run(fixture.arena, &fixture.job).ok);
        for (int i = 0; i < 3; i++) CHECK_NUMBER(unit, fixture.rows.items[i].result.status, TUNE_FAILED_WRONG_RESULT);
        CHECK_NUMBER(unit, fixture.job.wrong, 3);
        CHECK_NUMBER(unit, fixture.job.right_by_sample, 3);
    }
    fixture_end(&fixture);
    fixture_reap();
}

// All of the bytes, stretches of zeros among them, and none beside them.
static void bytes_are_written(struct unit *unit)
{
    enum { COUNT = 3 << 20, AT = 3 * 4096 + 64, ZEROS = 1 << 20 };
    unsigned char *bytes = calloc(COUNT, 1), *back = malloc(COUNT), beside[64];
    int file = memfd_create("bytes", MFD_CLOEXEC);
    for (int i = 0; i < COUNT; i++)
        if (i < ZEROS || i >= 2 * ZEROS) bytes[i] = (unsigned char)(i * 37 + i / 4096);
    CHECK(unit, file >= 0 && ftruncate(file, AT + COUNT + 64) == 0);
    CHECK(unit, tune_write(unit->arena, file, AT, bytes, COUNT).ok);
    CHECK(unit, pread(file, back, COUNT, AT) == COUNT && memcmp(back, bytes, COUNT) == 0);
    for (int end = 0; end < 2; end++) {
        CHECK(unit, pread(file, beside, 64, end ? AT + COUNT : AT - 64) == 64);
        for (int i = 0; i < 64; i++) CHECK(unit, beside[i] == 0);
    }
    close(file);
    free(bytes);
    free(back);
}

int main(int argc, char **argv)
{
    static const struct unit_test tests[] = {
        {"every fault alone", every_fault_alone},
        {"every fault among others", every_fault_among_others},
        {"the budget ends it", budget_ends_it},
        {"an interrupt ends it", interrupt_ends_it},
        {"slow rows are bound", slow_rows_are_bound},
        {"only rivals are timed to the end", only_rivals_are_timed_to_the_end},
        {"searches are impatient", searches_are_impatient},
        {"no worker program", no_worker_program},
        {"a worker that never begins", worker_that_never_begins},
        {"a config makes the reference", reference_from_a_config},
        {"the reference is wrong", reference_is_wrong},
        {"bytes are written", bytes_are_written},
        {"random plans of faults", random_plans},
    };
    if (argc > 1) worker = argv[1];
    if (argc > 2) plan_count = atoi(argv[2]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    return unit_run(tests, (int)(sizeof tests / sizeof *tests));
}
