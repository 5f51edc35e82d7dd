// SPDX-License-Identifier: Apache-2.0
// Bound kernels on CUDA, on a driver without a GPU (tests/runtime/fakecuda): contexts, variants, workspaces, streams, what
// a launch asks of the driver, and that nothing compiles or grows while shapes change.
#include <dlfcn.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include "embed.h"
#include "tests/runtime/fakecuda/fake.h"

static struct fake_cuda *driver;
static struct fake_nvrtc *compiler;

// Addresses of memory that nobody touches: the driver computes nothing.
#define X ((void *)0x7f0000000000)
#define OFFSETS ((void *)0x7f8000000000)
#define OUT ((void *)0x7f9000000000)
#define STREAM ((void *)0x51)

static void reset(void)
{
    *driver = (struct fake_cuda){0};
    *compiler = (struct fake_nvrtc){0};
}

static tilec_result begin(struct session *session, struct sums *sums, const char *device, const char *config)
{
    reset();
    sums_fill(sums, 50, 1000, 64, X, OFFSETS, OUT);
    return session_begin(session, JAGGED_SUM, device, sums->arguments, 3, config);
}

static void end(struct unit *unit, struct session *session)
{
    session_end(session);
    CHECK(unit, !driver->contexts && !driver->pushed && !driver->modules && !driver->streams && !driver->allocations);
}

static tilec_result launch(const struct session *session, const struct sums *sums)
{
    return tilec_launch(session->bound, sums->arguments, 3, NULL, STREAM, session->report);
}

// ---------------------------------------------------------------------------------------------- launching

static void a_launch(struct unit *unit)
{
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    CHECK_TEXT(unit, tilec_device_name(session.device), "cuda:0");
    CHECK_TEXT(unit, tilec_device_target(session.device), "sm_90");
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK_NUMBER(unit, driver->launches, 1);
    CHECK(unit, driver->last_stream == STREAM && driver->last_address == (uintptr_t)X && driver->last_blocks > 0 && driver->last_threads % 32 == 0);
    CHECK_NUMBER(unit, driver->copies + driver->fills + driver->allocations + driver->streams, 0);
    CHECK_NUMBER(unit, tilec_bound_counts(session.bound).launches, 1);
    sums_fill(&sums, 0, 1000, 64, X, OFFSETS, OUT);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);  // no row: nothing to launch
    CHECK_NUMBER(unit, driver->launches, 1);
    end(unit, &session);
}

static void variants(struct unit *unit)
{
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    int built = driver->loads, compiles = compiler->compiles;
    CHECK(unit, built >= 2 && built <= 4);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    void *narrow = driver->last_function;
    sums_fill(&sums, 50, (int64_t)1 << 30, 64, X, OFFSETS, OUT);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK(unit, driver->last_function != narrow);
    sums_fill(&sums, 50, 1000, 64, (char *)X + 4, OFFSETS, OUT);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK(unit, (driver->last_function == narrow) == (built == 2));
    CHECK(unit, driver->loads == built && compiler->compiles == compiles);
    end(unit, &session);
}

// What is emitted as the same text is loaded once: without vectors alignment makes no difference.
static void variants_share_code(struct unit *unit)
{
    static const char narrow[] = "{\"format\": 1, \"axes\": {\"tm\": {\"block\": 16, \"vector\": 1, \"lanes\": 16}}}";
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", narrow), TILEC_OK);
    CHECK_NUMBER(unit, driver->modules, 2);
    sums_fill(&sums, 50, 1000, 64, (char *)X + 4, OFFSETS, OUT);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    end(unit, &session);
}

// An output with a fill has a launch of its own, as large as the output.
static void fills(struct unit *unit)
{
    static const char text[] = "kernel count(x: i32[n], weights: i32[m]) -> out: i32[m + 1] = 7 {\n"
                               "    for t in tile(n) { atomic_add(out[x[t]], weights[x[t]]); }\n}\n";
    int64_t n[] = {10000}, m[] = {5000}, out[] = {5001};
    struct tilec_argument arguments[] = {{.type = TILEC_I32, .rank = 1, .shape = n, .data = X},
                                         {.type = TILEC_I32, .rank = 1, .shape = m, .data = OFFSETS},
                                         {.type = TILEC_I32, .rank = 1, .shape = out, .data = OUT}};
    struct session session;
    reset();
    CHECK_NUMBER(unit, session_begin(&session, text, "cuda", arguments, 3, NULL), TILEC_OK);
    CHECK_NUMBER(unit, tilec_launch(session.bound, arguments, 3, NULL, STREAM, session.report), TILEC_OK);
    CHECK_NUMBER(unit, driver->launches, 2);
    n[0] = 0;  // still filled
    CHECK_NUMBER(unit, tilec_launch(session.bound, arguments, 3, NULL, STREAM, session.report), TILEC_OK);
    CHECK_NUMBER(unit, driver->launches, 3);
    end(unit, &session);
}

static void vectors_need_alignment(struct unit *unit)
{
    static const char wide[] = "{\"format\": 1, \"kernel\": \"jagged_sum\", \"axes\": {\"tm\": {\"block\": 64, \"vector\": 4, \"lanes\": 16, \"warps\": 1}, "
                               "\"tk\": {\"block\": 8, \"vector\": 1, \"lanes\": 1, \"warps\": 8}}}";
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", wide), TILEC_OK);
    CHECK_NUMBER(unit, driver->loads, 4);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    void *aligned = driver->last_function;
    sums_fill(&sums, 50, 1000, 64, (char *)X + 4, OFFSETS, OUT);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK(unit, driver->last_function != aligned);
    end(unit, &session);
}

static void contexts(struct unit *unit)
{
    static int own, other;
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda:0", NULL), TILEC_OK);
    CHECK_NUMBER(unit, driver->contexts, 1);
    CHECK_NUMBER(unit, driver->pushed, 0);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK(unit, driver->last_in_primary && driver->pushed == 0);
    int loads = driver->loads;
    driver->current = &own;  // one of the caller's own, on the same device: loaded there, once
    for (int i = 0; i < 2; i++) CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK(unit, !driver->last_in_primary);
    CHECK_NUMBER(unit, driver->loads, 2 * loads);
    driver->current = &other;  // and on another device: the primary context
    driver->current_device = 1;
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    CHECK(unit, driver->last_in_primary && driver->pushed == 0);
    CHECK_NUMBER(unit, driver->loads, 2 * loads);
    CHECK_NUMBER(unit, driver->contexts, 1);
    driver->current = &own;
    end(unit, &session);
}

static void two_devices(struct unit *unit)
{
    struct session first, second;
    struct sums sums;
    tilec_device *third = NULL;
    CHECK_NUMBER(unit, begin(&first, &sums, "cuda:0", NULL), TILEC_OK);
    driver->devices = 2;
    CHECK_NUMBER(unit, session_begin(&second, JAGGED_SUM, "cuda:1", sums.arguments, 3, NULL), TILEC_OK);
    CHECK_TEXT(unit, tilec_device_name(second.device), "cuda:1");
    CHECK(unit, launch(&first, &sums) == TILEC_OK && launch(&second, &sums) == TILEC_OK);
    CHECK_NUMBER(unit, driver->launches, 2);
    CHECK_NUMBER(unit, tilec_device_open("cuda:2", NULL, &third), TILEC_MISSING);
    session_end(&second);
    end(unit, &first);
}

// ---------------------------------------------------------------------------------------------- workspaces

static const char chunks[] = "{\"format\": 1, \"kernel\": \"jagged_sum\", \"strategy\": \"chunks\", \"chunk\": 256}";

static void workspaces(struct unit *unit)
{
    struct session session;
    struct sums sums;
    int64_t bytes = 0, more = 0;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", chunks), TILEC_OK);
    CHECK_NUMBER(unit, tilec_workspace_size(session.bound, sums.arguments, 3, &bytes, session.report), TILEC_OK);
    CHECK(unit, bytes > 0 && bytes % 256 == 0);
    check_refused(unit, __LINE__, session.bound, sums.arguments, 3, NULL, "launch.workspace", "the launch needs a workspace of");
    check_refused(unit, __LINE__, session.bound, sums.arguments, 3, (char *)OUT + 8, "launch.workspace", "multiple of 256");
    CHECK_NUMBER(unit, tilec_launch(session.bound, sums.arguments, 3, (char *)OUT + 4096, STREAM, session.report), TILEC_OK);
    CHECK(unit, driver->launches == tilec_bound_counts(session.bound).launches && driver->launches >= 2);
    sums_fill(&sums, 50, 1000000, 64, X, OFFSETS, OUT);
    CHECK_NUMBER(unit, tilec_workspace_size(session.bound, sums.arguments, 3, &more, session.report), TILEC_OK);
    CHECK(unit, more > bytes);
    end(unit, &session);
}

// ---------------------------------------------------------------------------------------------- many batches

static void a_thousand_batches(struct unit *unit)
{
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    int compiles = compiler->compiles, loads = driver->loads;
    struct mallinfo2 before = mallinfo2();
    for (int64_t i = 0; i < 1000; i++) {
        sums_fill(&sums, 2 + i, 1000 + 17 * i, 64, X, OFFSETS, OUT);
        if (!CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK)) break;
    }
    struct mallinfo2 after = mallinfo2();
    CHECK_NUMBER(unit, driver->launches, 1001);
    CHECK_NUMBER(unit, after.uordblks, before.uordblks);
    CHECK(unit, compiler->compiles == compiles && driver->loads == loads);
    end(unit, &session);
}

// ---------------------------------------------------------------------------------------------- failures

static void failures(struct unit *unit)
{
    static const char *const calls[] = {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuModuleLoadDataEx",
                                        "cuModuleGetFunction", "cuFuncGetAttribute"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct session session;
        struct sums sums;
        reset();
        driver->fail = calls[i];
        driver->fail_at = 1;
        driver->fail_with = 2;
        sums_fill(&sums, 50, 1000, 64, X, OFFSETS, OUT);
        tilec_result result = session_begin(&session, JAGGED_SUM, "cuda", sums.arguments, 3, NULL);
        if (!CHECK(unit, (result == TILEC_LAUNCH || result == TILEC_MISSING) && !session.bound)) printf("# %s gives %d\n", calls[i], result);
        end(unit, &session);
    }
}

static void failing_launches(struct unit *unit)
{
    struct session session;
    struct sums sums;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    driver->fail = "cuLaunchKernel";
    driver->fail_at = 1;
    driver->fail_with = 700;
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_LAUNCH);
    CHECK_TEXT(unit, tilec_report_message(session.report, 0).code, "launch.illegal-access");
    CHECK_PART(unit, tilec_report_message(session.report, 0).message, "CUDA_ERROR_ILLEGAL_ADDRESS, 700");
    driver->blocks = 10;
    end(unit, &session);
}

static void too_many_blocks(struct unit *unit)
{
    struct session session;
    struct sums sums;
    reset();
    driver->blocks = 10;
    sums_fill(&sums, 50000, 1000000, 64, X, OFFSETS, OUT);
    CHECK_NUMBER(unit, session_begin(&session, JAGGED_SUM, "cuda", sums.arguments, 3, NULL), TILEC_OK);
    check_refused(unit, __LINE__, session.bound, sums.arguments, 3, NULL, "limits.blocks", "takes at most 10");
    end(unit, &session);
}

// ---------------------------------------------------------------------------------------------- without NVRTC

static void without_nvrtc(struct unit *unit)
{
    static const char other[] = "{\"format\": 1, \"min_blocks\": 2}";
    const char *folder = arena_printf(unit->arena, "%s", getenv("TILEC_NVRTC_DIR"));
    struct session session;
    struct sums sums;
    tilec_config *config = NULL;
    unsetenv("TILEC_SKIP_CACHE");
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    struct tilec_bound_counts made = tilec_bound_counts(session.bound);
    end(unit, &session);
    setenv("TILEC_NVRTC_DIR", "none", 1);
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    struct tilec_bound_counts found = tilec_bound_counts(session.bound);
    CHECK(unit, found.compiled == 0 && found.cached == made.compiled + made.cached && launch(&session, &sums) == TILEC_OK);
    sums.arguments[1].data = NULL;
    CHECK_NUMBER(unit, tilec_config_for(session.kernel, session.device, sums.arguments, 3, NULL, session.report, &config), TILEC_OK);
    tilec_config_free(config);
    end(unit, &session);
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", other), TILEC_MISSING);
    CHECK_TEXT(unit, tilec_report_message(session.report, 0).code, "missing.nvrtc");
    CHECK_PART(unit, tilec_report_message(session.report, 0).message, "TILEC_NVRTC_DIR is none");
    end(unit, &session);
    setenv("TILEC_NVRTC_DIR", folder, 1);
    setenv("TILEC_SKIP_CACHE", "1", 1);
}

// ---------------------------------------------------------------------------------------------- what it costs

// Over the driver's own call. Only told: machines that run tests are shared.
static void launch_overhead(struct unit *unit)
{
    struct session session;
    struct sums sums;
    struct timespec begin_time, end_time;
    double best = 1e9;
    CHECK_NUMBER(unit, begin(&session, &sums, "cuda", NULL), TILEC_OK);
    driver->current = &sums;
    CHECK_NUMBER(unit, launch(&session, &sums), TILEC_OK);
    for (int round = 0; round < 50; round++) {
        clock_gettime(CLOCK_MONOTONIC, &begin_time);
        for (int64_t i = 0; i < 1000; i++) {
            driver->log[0] = 0;
            sums_fill(&sums, 2 + i, 1000 + i, 64, X, OFFSETS, OUT);
            launch(&session, &sums);
        }
        clock_gettime(CLOCK_MONOTONIC, &end_time);
        double taken = (double)(end_time.tv_sec - begin_time.tv_sec) * 1e9 + (double)(end_time.tv_nsec - begin_time.tv_nsec);
        if (taken / 1000 < best) best = taken / 1000;
    }
    printf("# a launch takes %.0f ns with a driver that does nothing\n", best);
    CHECK_NUMBER(unit, driver->launches, 50001);
    end(unit, &session);
}

static const struct unit_test tests[] = {
    {"a launch", a_launch},
    {"a variant for wide indices, and for addresses", variants},
    {"variants share code", variants_share_code},
    {"fills", fills},
    {"vectors need alignment", vectors_need_alignment},
    {"contexts", contexts},
    {"two devices", two_devices},
    {"workspaces", workspaces},
    {"a thousand batches compile nothing and take no memory", a_thousand_batches},
    {"failures of the driver while binding", failures},
    {"failures of a launch", failing_launches},
    {"too many blocks", too_many_blocks},
    {"without NVRTC the cache does", without_nvrtc},
    {"what a launch costs", launch_overhead},
};

static void *symbol(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        printf("Bail out! %s has no %s\n", path, name);
        exit(1);
    }
    return found;
}

int main(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libnvrtc.so.13", getenv("TILEC_NVRTC_DIR"));
    driver = symbol(getenv("TILEC_TEST_LIBCUDA"), "fake_cuda");
    compiler = symbol(path, "fake_nvrtc");
    setenv("TILEC_SKIP_CACHE", "1", 1);
    return unit_run(tests, (int)(sizeof tests / sizeof *tests));
}
