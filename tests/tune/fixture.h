// SPDX-License-Identifier: Apache-2.0
// A small kernel on data, ready to be tuned by the fake worker: what the tests of the driver share.
#ifndef TILEC_TESTS_TUNE_FIXTURE_H
#define TILEC_TESTS_TUNE_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune_job.h"
#include "tests/tune/fake.h"
#include "tests/unit.h"

static const char fixture_text[] =
    "kernel twice(x: f32[n]) -> out: f32[n] {\n"
    "    for t in tile(n) {\n"
    "        out[t] = x[t] + x[t];\n"
    "    }\n"
    "}\n";

struct fixture {
    struct arena *arena;
    struct source source;
    struct bound bound;
    struct tune_prepared prepared;
    struct tune_rows rows;
    struct tune_job job;
    const char *folder;  // for marks of hanging workers
    const char *settings[4];
};

// Hanging workers say so in a file: no clock decides what a hang is.
static inline bool fixture_over(void *data, pid_t process, double spent, double limit)
{
    const struct fixture *fixture = data;
    char path[512];
    (void)spent;
    (void)limit;
    snprintf(path, sizeof path, "%s/hung.%d", fixture->folder, (int)process);
    return access(path, F_OK) == 0;
}

// A kernel of an input x; `dim` NULL: it has no dimensions; `more` NULL: no other argument.
static inline bool fixture_begin_with(struct fixture *fixture, const char *text, const char *dim, const char *more)
{
    const char *const arguments[] = {"x=randn", more};
    const char *const dims[] = {dim};
    struct diagnostics diagnostics;
    char folder[] = "/tmp/tilec-test-XXXXXX";
    *fixture = (struct fixture){.arena = arena_new(), .source = {"test.tile", text, strlen(text)}, .prepared = {.file = -1}};
    fixture->folder = mkdtemp(folder) ? arena_copy(fixture->arena, folder, strlen(folder)) : NULL;
    diagnostics_init(&diagnostics, fixture->arena);
    const struct ast_file *file = frontend_parse(fixture->arena, &fixture->source, NULL, &diagnostics);
    const struct bind_request request = {.file = file, .argument_count = more ? 2 : 1, .arguments = arguments,
                                         .dim_count = dim != NULL, .dims = dims, .compile_in = true};
    struct status status = bind_arguments(fixture->arena, &request, &diagnostics, &fixture->bound);
    if (status.ok) status = tune_prepare(fixture->arena, &request, &fixture->bound, &fixture->prepared);
    if (!status.ok) printf("# %s\n", status.reason);
    return status.ok && fixture->folder;
}

static inline bool fixture_begin(struct fixture *fixture)
{
    return fixture_begin_with(fixture, fixture_text, "n=24", NULL);
}

// Rows of drawn configs, and a job for them with these faults.
static inline void fixture_rows(struct fixture *fixture, const char *worker, int count, const char *faults, int compilers)
{
    uint64_t seed = 1;
    const struct ir_kernel *kernel = fixture->bound.kernel;
    fixture->rows = tune_rows_new(fixture->arena, count);
    for (int i = 0; i < count; i++) {
        const struct config *config = i == 0 ? config_default(fixture->arena, kernel) : config_random(fixture->arena, kernel, &seed);
        tune_rows_add(&fixture->rows, config, tune_config_text(fixture->arena, kernel, config), NULL);
    }
    fixture->settings[0] = arena_printf(fixture->arena, "%s=%s", FAULTS_VARIABLE, faults);
    fixture->settings[1] = arena_printf(fixture->arena, "%s=%s", FOLDER_VARIABLE, fixture->folder);
    fixture->settings[2] = NULL;
    fixture->prepared.work.properties = "";
    fixture->job = (struct tune_job){
        .source = &fixture->source, .work = &fixture->prepared.work, .file = fixture->prepared.file, .target = "cpu", .program = worker,
        .settings = fixture->settings, .compilers = compilers, .compile_limit = 30, .run_limit = 10, .over = fixture_over, .data = fixture,
        .rows = &fixture->rows};
}

static inline void fixture_end(struct fixture *fixture)
{
    DIR *folder = fixture->folder ? opendir(fixture->folder) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
    if (fixture->folder) rmdir(fixture->folder);
    if (fixture->prepared.file >= 0) close(fixture->prepared.file);
    bound_free(&fixture->bound);
    arena_free(fixture->arena);
}

// What workers left behind comes to the test, as their parent's parent. All of it must have been killed: one that still
// lives would be waited for without end, and the test's own limit says so. Returns how many there were.
static inline int fixture_reap(void)
{
    int count = 0;
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) count++;
    return count;
}

static inline enum tune_status fault_status(char fault)
{
#define STATUS(letter, status, code) if (fault == (letter)) return status;
    FAKE_FAULTS(STATUS)
#undef STATUS
    return TUNE_WAITING;
}

static inline int fault_code(char fault)
{
#define CODE(letter, status, code) if (fault == (letter)) return code;
    FAKE_FAULTS(CODE)
#undef CODE
    return 0;
}

// Whether a row has what its fault, and nothing else, makes of it.
static inline bool row_is_as_alone(struct unit *unit, const struct tune_rows *rows, int index, char fault)
{
    const struct tune_result *result = &rows->items[index].result;
    enum tune_status wanted = fault_status(fault);
    bool ok = result->status == wanted && rows->items[index].stage == STAGE_DONE;
    if (fault_code(fault) >= 0) ok = ok && result->code == fault_code(fault);
    if (wanted == TUNE_OK) ok = ok && result->median == fake_time(index) && !result->bound && !*result->reason;
    else ok = ok && isinf(result->median) && *result->reason;
    if (result->status >= TUNE_FAILED_LAUNCH || result->status == TUNE_OK) ok = ok && result->registers == 32 + index;
    if (ok) return true;
    unit->ok = false;
    printf("# row %d, fault %c: %s, code %d, median %g, reason \"%s\"\n", index, fault, tune_status_name(result->status), result->code,
           result->median, result->reason);
    return false;
}

#endif
