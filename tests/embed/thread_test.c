// SPDX-License-Identifier: Apache-2.0
// Threads share a program, a kernel, a device and a bound kernel; each checks kernels, binds and launches on its own.
#include <pthread.h>

#include "embed.h"

enum { THREADS = 8, TURNS = 60, ROWS = 40, COLUMNS = 3 };

struct worker {
    pthread_t thread;
    const struct session *shared;
    int index;
    int failed;
};

static void fill(int64_t *offsets, float *x, int rows, int seed)
{
    offsets[0] = 0;
    for (int row = 0; row < rows; row++) offsets[row + 1] = offsets[row] + (row * 7 + seed) % 5;
    for (int64_t i = 0; i < offsets[rows] * COLUMNS; i++) x[i] = (float)((i * 13 + seed) % 11);
}

static int is_right(const int64_t *offsets, const float *x, const float *out, int rows)
{
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            float sum = 0;
            for (int64_t k = offsets[row]; k < offsets[row + 1]; k++) sum += x[k * COLUMNS + column];
            if (out[row * COLUMNS + column] != sum) return 0;
        }
    }
    return 1;
}

// Everything but the program anew.
static int own_way(const struct session *shared, struct sums *sums, tilec_report *report)
{
    struct session own = {0};
    tilec_result result = tilec_kernel_for(shared->program, NULL, sums->arguments, 3, NULL, report, &own.kernel);
    if (result == TILEC_OK) result = tilec_bind(own.kernel, shared->device, NULL, report, &own.bound);
    if (result == TILEC_OK) result = tilec_launch(own.bound, sums->arguments, 3, NULL, NULL, report);
    tilec_text json = own.kernel ? tilec_kernel_json(own.kernel) : (tilec_text){0};
    tilec_text described = tilec_program_describe(shared->program);
    int good = result == TILEC_OK && json.length > 100 && described.length > 100;
    tilec_text_free(&json);
    tilec_text_free(&described);
    tilec_bound_free(own.bound);
    tilec_kernel_free(own.kernel);
    return good;
}

// What may be asked of a kernel that others use meanwhile: configs, code, and a bound kernel of one's own.
static int shared_kernel(const struct session *shared, struct sums *sums, uint64_t seed, tilec_report *report)
{
    tilec_config *config = NULL, *known = NULL;
    tilec_bound *bound = NULL;
    tilec_text text = {0};
    const struct tilec_emit_options cuda = {.target = "sm_90"};
    tilec_result result = tilec_config_random(shared->kernel, &seed, &config);
    if (result == TILEC_OK) result = tilec_config_for(shared->kernel, shared->device, sums->arguments, 3, NULL, report, &known);
    if (result == TILEC_OK) result = tilec_kernel_emit(shared->kernel, known, &cuda, report, &text);
    const struct tilec_bind_options options = {.config = known};
    if (result == TILEC_OK) result = tilec_bind(shared->kernel, shared->device, &options, report, &bound);
    if (result == TILEC_OK) result = tilec_launch(bound, sums->arguments, 3, NULL, NULL, report);
    int good = result == TILEC_OK && text.length > 100;
    tilec_bound_free(bound);
    tilec_text_free(&text);
    tilec_config_free(known);
    tilec_config_free(config);
    return good;
}

static void *work(void *data)
{
    struct worker *worker = data;
    tilec_report *report = tilec_report_new();
    int64_t offsets[ROWS + 1];
    float x[ROWS * 5 * COLUMNS], out[ROWS * COLUMNS];
    for (int turn = 0; turn < TURNS; turn++) {
        struct sums sums;
        int rows = 1 + (turn * 3 + worker->index) % ROWS;
        fill(offsets, x, rows, turn + worker->index);
        sums_fill(&sums, rows, offsets[rows], COLUMNS, x, offsets, out);
        tilec_result result = tilec_launch(worker->shared->bound, sums.arguments, 3, NULL, NULL, report);
        worker->failed += result != TILEC_OK || !is_right(offsets, x, out, rows);
        if (turn % 20 == worker->index) worker->failed += !own_way(worker->shared, &sums, report) || !is_right(offsets, x, out, rows);
        if (turn % 20 == worker->index + 8)
            worker->failed += !shared_kernel(worker->shared, &sums, (uint64_t)turn, report) || !is_right(offsets, x, out, rows);
        sums.arguments[0].type = TILEC_F64;
        worker->failed += tilec_launch(worker->shared->bound, sums.arguments, 3, NULL, NULL, report) != TILEC_LAUNCH;
    }
    worker->failed += tilec_report_count(report) != 1;
    tilec_report_free(report);
    return NULL;
}

static void together(struct unit *unit, const char *device)
{
    struct session session;
    struct worker workers[THREADS];
    struct sums sums;
    float x[COLUMNS] = {0}, out[COLUMNS];
    int64_t offsets[] = {0, 1};
    sums_fill(&sums, 1, 1, COLUMNS, x, offsets, out);
    if (!CHECK_NUMBER(unit, session_begin(&session, JAGGED_SUM, device, sums.arguments, 3, NULL), TILEC_OK)) return;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = &session, .index = i};
        CHECK(unit, pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_NUMBER(unit, workers[i].failed, 0);
    }
    session_end(&session);
}

static void on_the_cpu(struct unit *unit)
{
    together(unit, "cpu");
}

static void in_the_evaluator(struct unit *unit)
{
    together(unit, "reference");
}

static const struct unit_test tests[] = {
    {"eight threads on the CPU", on_the_cpu},
    {"eight threads in the evaluator", in_the_evaluator},
};
UNIT_MAIN(tests)
