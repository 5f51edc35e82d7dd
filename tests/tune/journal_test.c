// SPDX-License-Identifier: Apache-2.0
// The journal: cut at every byte it gives back what is whole, in its place, and nothing else; a tune that goes on from any
// cut ends like one that was never cut.
//
//     journal_test FAKE-WORKER
#include "tests/tune/fixture.h"

static const char *worker;
static const char faults[] = ".w.lKi.";
enum { ROWS = sizeof faults - 1 };

static const char *path_of(struct fixture *fixture)
{
    return arena_printf(fixture->arena, "%s/journal", fixture->folder);
}

static struct status open_journal(struct fixture *fixture, const char *key, bool grow, int *resumed, struct journal *journal)
{
    return journal_open(fixture->arena, path_of(fixture), key, "", fixture->bound.kernel, grow, &fixture->rows, resumed, journal);
}

// A whole tune of the plan with the journal as it lies there. Returns how many rows it gave back; -1: it was refused.
static int run_whole(struct unit *unit, struct fixture *fixture)
{
    struct journal journal;
    int resumed = 0;
    fixture_rows(fixture, worker, ROWS, faults, 2);
    struct status status = open_journal(fixture, "a key", false, &resumed, &journal);
    if (!CHECK(unit, status.ok)) return printf("# %s\n", status.reason), -1;
    fixture->job.journal = &journal;
    CHECK(unit, tune_run(fixture->arena, &fixture->job).ok);
    CHECK(unit, !journal.broken);
    journal_close(&journal);
    for (int i = 0; i < ROWS; i++) row_is_as_alone(unit, &fixture->rows, i, faults[i]);
    return resumed;
}

static void write_file(struct unit *unit, const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    if (!CHECK(unit, file != NULL)) return;
    CHECK(unit, fwrite(text, 1, length, file) == length);
    fclose(file);
}

// Lines of outcomes that are whole in the first `length` bytes, each row once.
static int whole_rows(const char *text, size_t length)
{
    bool seen[ROWS] = {false};
    int count = 0, row = -1;
    for (const char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + length - line))) != NULL; line = end + 1) {
        if (sscanf(line, "{\"row\": %d", &row) != 1 || row < 0 || row >= ROWS || seen[row]) continue;
        seen[row] = true;
        count++;
    }
    return count;
}

static const struct source *whole_journal(struct unit *unit, struct fixture *fixture)
{
    const char *reason = NULL;
    CHECK_NUMBER(unit, run_whole(unit, fixture), 0);
    return source_read(fixture->arena, path_of(fixture), &reason);
}

static void cut_at_every_byte(struct unit *unit)
{
    struct fixture fixture;
    const struct source *whole = CHECK(unit, fixture_begin(&fixture)) ? whole_journal(unit, &fixture) : NULL;
    for (size_t length = 0; CHECK(unit, whole != NULL) && length <= whole->length && unit->ok; length++) {
        struct journal journal;
        int resumed = -1;
        write_file(unit, path_of(&fixture), whole->text, length);
        fixture_rows(&fixture, worker, ROWS, faults, 2);
        CHECK(unit, open_journal(&fixture, "a key", false, &resumed, &journal).ok);
        journal_close(&journal);
        CHECK_NUMBER(unit, resumed, whole_rows(whole->text, length));
        for (int i = 0; i < ROWS; i++)
            if (fixture.rows.items[i].stage == STAGE_DONE) row_is_as_alone(unit, &fixture.rows, i, faults[i]);
    }
    fixture_end(&fixture);
    fixture_reap();
}

static void goes_on_from_a_cut(struct unit *unit)
{
    struct fixture fixture;
    const struct source *whole = CHECK(unit, fixture_begin(&fixture)) ? whole_journal(unit, &fixture) : NULL;
    for (size_t part = 0; whole && part <= 6; part++) {
        size_t length = whole->length * part / 6;
        write_file(unit, path_of(&fixture), whole->text, length);
        CHECK_NUMBER(unit, run_whole(unit, &fixture), whole_rows(whole->text, length));
        CHECK_NUMBER(unit, run_whole(unit, &fixture), ROWS);  // and what it has then is whole
    }
    fixture_end(&fixture);
    fixture_reap();
}

// A line that isn't what it should be is passed over; a result of another config isn't taken.
static void damaged_lines(struct unit *unit)
{
    struct fixture fixture;
    const struct source *whole = CHECK(unit, fixture_begin(&fixture)) ? whole_journal(unit, &fixture) : NULL;
    for (size_t at = 32; whole && at < whole->length && unit->ok; at += 7) {
        char *text = arena_copy(fixture.arena, whole->text, whole->length);
        struct journal journal;
        int resumed = -1;
        text[at] = text[at] == '7' ? '8' : '7';
        write_file(unit, path_of(&fixture), text, whole->length);
        fixture_rows(&fixture, worker, ROWS, faults, 2);
        struct status status = open_journal(&fixture, "a key", false, &resumed, &journal);
        CHECK(unit, status.ok ? resumed >= 0 && resumed <= ROWS : strcmp(status.code, "usage.journal") == 0);
        journal_close(&journal);
    }
    fixture_end(&fixture);
    fixture_reap();
}

static void what_is_refused(struct unit *unit)
{
    struct fixture fixture;
    struct journal journal, second;
    int resumed = -1;
    if (CHECK(unit, fixture_begin(&fixture)) && CHECK(unit, whole_journal(unit, &fixture) != NULL)) {
        fixture_rows(&fixture, worker, ROWS, faults, 2);
        CHECK(unit, !open_journal(&fixture, "another key", false, &resumed, &journal).ok);
        CHECK(unit, open_journal(&fixture, "a key", false, &resumed, &journal).ok);
        CHECK(unit, !open_journal(&fixture, "a key", false, &resumed, &second).ok);  // it is being written
        journal_close(&journal);
        write_file(unit, path_of(&fixture), "my diary\n", 9);
        CHECK(unit, !open_journal(&fixture, "a key", false, &resumed, &journal).ok);
        const char *reason = NULL;
        const struct source *kept = source_read(fixture.arena, path_of(&fixture), &reason);
        CHECK(unit, kept && strcmp(kept->text, "my diary\n") == 0);
    }
    fixture_end(&fixture);
    fixture_reap();
}

// The search's own rows come back too, and configs of a list stay with their results.
static void rows_that_grow(struct unit *unit)
{
    struct fixture fixture;
    struct journal journal;
    int resumed = -1;
    if (CHECK(unit, fixture_begin(&fixture)) && CHECK(unit, whole_journal(unit, &fixture) != NULL)) {
        const struct tune_rows before = fixture.rows;
        fixture.rows = tune_rows_new(fixture.arena, 100);
        CHECK(unit, open_journal(&fixture, "a key", true, &resumed, &journal).ok);
        journal_close(&journal);
        CHECK_NUMBER(unit, fixture.rows.count, ROWS);
        for (int i = 0; i < fixture.rows.count; i++) CHECK_TEXT(unit, fixture.rows.items[i].text, before.items[i].text);
        // The same rows in another order: none of the results belongs to them.
        fixture.rows = tune_rows_new(fixture.arena, 100);
        for (int i = 0; i < ROWS; i++) tune_rows_add(&fixture.rows, before.items[(i + 1) % ROWS].config, before.items[(i + 1) % ROWS].text, NULL);
        CHECK(unit, open_journal(&fixture, "a key", false, &resumed, &journal).ok);
        journal_close(&journal);
        CHECK_NUMBER(unit, resumed, 0);
    }
    fixture_end(&fixture);
    fixture_reap();
}

int main(int argc, char **argv)
{
    static const struct unit_test tests[] = {
        {"cut at every byte", cut_at_every_byte},
        {"goes on from a cut", goes_on_from_a_cut},
        {"damaged lines", damaged_lines},
        {"what is refused", what_is_refused},
        {"rows that grow", rows_that_grow},
    };
    if (argc > 1) worker = argv[1];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    return unit_run(tests, (int)(sizeof tests / sizeof *tests));
}
