// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime on a driver and an NVRTC without a GPU (fakecuda/): what is asked of the driver, limits, guards, the
// cache, what is timed, and that a failure of any call is a status with the driver's number that leaves nothing behind.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fakecuda/fake.h"
#include "programs.h"
#include "runtime/bench.h"
#include "runtime/cuda.h"
#include "runtime/tilec.h"

static struct fake_cuda *driver;
static struct fake_nvrtc *compiler;

static void reset(void)
{
    *driver = (struct fake_cuda){0};
    *compiler = (struct fake_nvrtc){0};
}

static const char *const sum_arguments[] = {"x=ones", "offsets=offsets(const(3))"};
static const char *const sum_dims[] = {"B=50", "M=8"};
static const struct tilec_run_options sum_options = {
    .argument_count = 2, .arguments = sum_arguments, .dim_count = 2, .dims = sum_dims, .device = "cuda"};

// What a run came to, with its first message.
struct outcome {
    tilec_result result;
    char code[64], message[1024];
};

static struct outcome run_text(const char *text, struct tilec_run_options options)
{
    struct outcome outcome = {.code = ""};
    tilec_report *report = tilec_report_new();
    tilec_program *program = NULL;
    tilec_run *run = NULL;
    outcome.result = tilec_program_parse("test.tile", text, strlen(text), report, &program);
    if (program) outcome.result = tilec_run_kernel(program, &options, report, &run);
    if (tilec_report_count(report)) {
        struct tilec_message message = tilec_report_message(report, 0);
        snprintf(outcome.code, sizeof outcome.code, "%s", message.code);
        snprintf(outcome.message, sizeof outcome.message, "%s", message.message);
    }
    tilec_run_free(run);
    tilec_program_free(program);
    tilec_report_free(report);
    return outcome;
}

static void check_nothing_left(struct tap *tap, const char *when)
{
    bool none = !driver->allocations && !driver->contexts && !driver->pushed && !driver->modules && !driver->streams && !driver->events;
    if (!none)
        printf("# %s leaves %d allocations, %d contexts (%d current), %d modules, %d streams, %d events\n", when, driver->allocations,
               driver->contexts, driver->pushed, driver->modules, driver->streams, driver->events);
    CHECK(tap, none);
}

static void check_failure(struct tap *tap, int line, const struct outcome *outcome, tilec_result result, const char *code, const char *words)
{
    tap_check_number(tap, line, "result", (double)outcome->result, (double)result);
    tap_check_text(tap, line, outcome->code, code);
    if (!strstr(outcome->message, words)) {
        tap->ok = false;
        printf("# line %d: no \"%s\" in: %s\n", line, words, outcome->message);
    }
    check_nothing_left(tap, code);
}
#define FAILS(outcome, result, code, words) check_failure(tap, __LINE__, outcome, result, code, words)

// ---------------------------------------------------------------------------------------------- finding a device

static void no_driver(struct tap *tap)
{
    const char *path = arena_printf(tap->arena, "%s", getenv("TILEC_TEST_LIBCUDA"));
    reset();
    setenv("TILEC_TEST_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    struct outcome outcome = run_text(JAGGED_SUM, sum_options);
    setenv("TILEC_TEST_LIBCUDA", path, 1);
    FAILS(&outcome, TILEC_MISSING, "missing.driver", "/nonexistent/libcuda.so.1");
    driver->missing = "cuMemcpyDtoDAsync";
    outcome = run_text(JAGGED_SUM, sum_options);
    FAILS(&outcome, TILEC_MISSING, "missing.driver", "the CUDA driver has no cuMemcpyDtoDAsync");
}

static void no_device(struct tap *tap)
{
    struct tilec_run_options options = sum_options;
    reset();
    driver->devices = -1;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    struct outcome outcome = run_text(JAGGED_SUM, options);
    unsetenv("CUDA_VISIBLE_DEVICES");
    FAILS(&outcome, TILEC_MISSING, "missing.device", "the CUDA driver shows no device (CUDA_VISIBLE_DEVICES is \"\")");
    driver->devices = 2;
    options.device = "cuda:2";
    outcome = run_text(JAGGED_SUM, options);
    FAILS(&outcome, TILEC_MISSING, "missing.device", "there is no cuda:2; the CUDA driver shows 2 devices, from cuda:0");
    options.device = "cuda:1";
    CHECK(tap, run_text(JAGGED_SUM, options).result == TILEC_OK);
    CHECK_NUMBER(tap, driver->ordinal, 1);
}

static void names_of_devices(struct tap *tap)
{
    int ordinal = -1;
    CHECK(tap, cuda_device_named("cuda", &ordinal) && ordinal == 0);
    CHECK(tap, cuda_device_named("cuda:12", &ordinal) && ordinal == 12);
    static const char *const wrong[] = {"", "cud", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999", "CUDA", "cuda0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(tap, !cuda_device_named(wrong[i], &ordinal));
    struct tilec_run_options options = sum_options;
    options.device = "cuda:x";
    struct outcome outcome = run_text(JAGGED_SUM, options);
    FAILS(&outcome, TILEC_USAGE, "usage.device", "cuda:x");
}

// ---------------------------------------------------------------------------------------------- runs

static void a_run(struct tap *tap)
{
    reset();
    struct outcome outcome = run_text(JAGGED_SUM, sum_options);
    CHECK_TEXT(tap, outcome.message, "");
    CHECK_NUMBER(tap, outcome.result, TILEC_OK);
    CHECK_NUMBER(tap, driver->launches, 1);
    CHECK(tap, driver->last_blocks > 0 && driver->last_threads % 32 == 0);
    // Three tensors go there, one comes back; each has two guards to be looked at.
    CHECK_NUMBER(tap, driver->copies, 3 + 1 + 2 * 3);
    CHECK_NUMBER(tap, driver->fills, 2 * 3);
    check_nothing_left(tap, "a run");
}

// The driver computes nothing, so the check must say so: the outputs are poison that no kernel overwrote.
static void nothing_computed_shows(struct tap *tap)
{
    struct tilec_run_options options = sum_options;
    reset();
    options.check = 1;
    struct outcome outcome = run_text(JAGGED_SUM, options);
    FAILS(&outcome, TILEC_WRONG, "check.differs", "'out' from cuda: 400 of 400 elements are wrong");
}

static void a_second_run_compiles_nothing(struct tap *tap)
{
    static const char *const dims[] = {"B=50", "M=24"};
    struct tilec_run_options options = sum_options;
    reset();
    options.dims = dims;
    CHECK(tap, run_text(JAGGED_SUM, options).result == TILEC_OK);
    CHECK_NUMBER(tap, compiler->compiles, 1);
    CHECK(tap, run_text(JAGGED_SUM, options).result == TILEC_OK);
    CHECK_NUMBER(tap, compiler->compiles, 1);
    CHECK_NUMBER(tap, driver->loads, 2);
    // The account of registers is in the entry: a device with fewer refuses without compiling.
    driver->registers_per_block = 64;
    struct outcome outcome = run_text(JAGGED_SUM, options);
    FAILS(&outcome, TILEC_NO_CONFIG, "limits.registers", "32 registers");
    CHECK_NUMBER(tap, compiler->compiles, 1);
}

// A cubin where NVRTC knows the device's generation, PTX where it doesn't.
static void architectures(struct tap *tap)
{
    static const struct {
        int sm;
        const char *option;
    } cases[] = {{90, "=sm_90 "}, {86, "=sm_86 "}, {89, "=sm_86 "}, {80, "=sm_80 "}, {100, "=compute_90 "}, {120, "=compute_90 "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const dims[] = {"B=50", arena_printf(tap->arena, "M=%d", 40 + (int)i)};
        struct tilec_run_options options = sum_options;
        reset();
        options.dims = dims;
        driver->sm = cases[i].sm;
        CHECK(tap, run_text(JAGGED_SUM, options).result == TILEC_OK);
        CHECK(tap, strstr(compiler->options, cases[i].option));
    }
}

static void refused_text(struct tap *tap)
{
    static const char *const dims[] = {"B=50", "M=56"};
    struct tilec_run_options options = sum_options;
    reset();
    options.dims = dims;
    compiler->refuses = 1;
    struct outcome outcome = run_text(JAGGED_SUM, options);
    FAILS(&outcome, TILEC_INTERNAL, "internal.nvrtc", "error: refused");
    CHECK_NUMBER(tap, driver->launches, 0);
}

// The default for products on sm_90 takes what only sm_90a has.
static void specific_architecture(struct tap *tap)
{
    static const char product[] = "kernel product<T: float>(x: T[M, K], w: T[K, N]) -> out: T[M, N] {\n"
                                  "    for (tm, tn) in tile(M, N) {\n"
                                  "        var acc: accum(T)[tm, tn] = 0;\n"
                                  "        for tk in tile(K) { acc += dot[tk](x[tm, tk], w[tk, tn]); }\n"
                                  "        out[tm, tn] = acc;\n    }\n}\n";
    static const char *const arguments[] = {"x=ones", "w=ones"}, *const dims[] = {"M=64", "K=64", "N=64"}, *const types[] = {"T=bf16"};
    struct tilec_run_options options = {.argument_count = 2, .arguments = arguments, .dim_count = 3, .dims = dims,
                                        .type_count = 1, .types = types, .device = "cuda"};
    reset();
    driver->sm = 90;
    compiler->knows_no_sm_90a = 1;
    struct outcome outcome = run_text(product, options);
    CHECK(tap, strstr(compiler->options, "=sm_90a "));
    FAILS(&outcome, TILEC_MISSING, "missing.architecture", "has sm_90 and not sm_90a");
    CHECK_NUMBER(tap, driver->launches, 0);
}

static void no_rows_no_launch(struct tap *tap)
{
    static const char *const dims[] = {"B=0", "M=8"};
    struct tilec_run_options options = sum_options;
    reset();
    options.dims = dims;
    CHECK(tap, run_text(JAGGED_SUM, options).result == TILEC_OK);
    CHECK_NUMBER(tap, driver->launches, 0);
}

// ---------------------------------------------------------------------------------------------- limits

static struct outcome run_limited(int threads, int registers, int blocks)
{
    reset();
    driver->threads_per_block = threads;
    driver->registers_per_block = registers;
    driver->blocks = blocks;
    return run_text(JAGGED_SUM, sum_options);
}

static void limits(struct tap *tap)
{
    struct outcome outcome = run_limited(16, 0, 0);
    FAILS(&outcome, TILEC_NO_CONFIG, "limits.threads", "threads per block; Fake 0 has at most 16");
    CHECK_NUMBER(tap, compiler->compiles, 0);
    outcome = run_limited(0, 512, 0);
    FAILS(&outcome, TILEC_NO_CONFIG, "limits.registers", "in all; Fake 0 has at most 512 per block");
    CHECK_NUMBER(tap, driver->loads, 0);
    outcome = run_limited(0, 0, 1);
    FAILS(&outcome, TILEC_NO_CONFIG, "limits.blocks", "blocks; Fake 0 takes at most 1");
}

static void limits_of_shared_memory(struct tap *tap)
{
    const struct cuda_properties properties = {.name = "D", .threads_per_block = 1024, .shared_per_block = 49152, .shared_optin = 100000, .blocks = 10};
    const struct ir_bindings bindings = {0};
    static const struct {
        int64_t fixed, dynamic;
        const char *words;
    } cases[] = {
        {49152, 0, NULL}, {0, 100000, NULL}, {40000, 60000, NULL},
        {49153, 0, "declares 49153 bytes of shared memory; D has at most 49152"},
        {0, 100001, "needs 100001 bytes of shared memory per block; D has at most 100000"},
        {49152, 60000, "needs 109152 bytes of shared memory per block; D has at most 100000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launch_kernel kernel = {.name = "k", .threads = 32, .static_shared_bytes = cases[i].fixed, .shared_bytes = cases[i].dynamic};
        struct status status = cuda_check_plan(tap->arena, &properties, &(struct launch_plan){.kernel_count = 1, .kernels = &kernel}, &bindings);
        CHECK(tap, status.ok == !cases[i].words);
        CHECK(tap, status.ok || (strcmp(status.code, "limits.shared") == 0 && strstr(status.reason, cases[i].words)));
    }
}

static void demands(struct tap *tap)
{
    struct ir_param param = {.name = "x", .kind = PARAM_IN, .type = TYPE_F32, .rank = 2};
    struct ir_dim dim = {.name = "n"};
    struct ir_kernel kernel = {.name = "k", .param_count = 1, .params = &param, .dim_count = 1, .dims = &dim};
    const int64_t limit = INT32_MAX - (1 << 20);
    int64_t n = 5;
    struct ir_bindings bindings = {.dims = &n};
    struct ir_tensor tensor = {.type = TYPE_F32, .rank = 2, .shape = {limit, 1}, .data = (void *)0x1000};
    CHECK(tap, !plan_demands(&kernel, &bindings, &tensor).index64 && plan_demands(&kernel, &bindings, &tensor).unaligned == 0);
    tensor.shape[0] = 65536, tensor.shape[1] = 32768;
    CHECK(tap, plan_demands(&kernel, &bindings, &tensor).index64);
    tensor.shape[0] = 0, tensor.shape[1] = limit + 1;
    CHECK(tap, plan_demands(&kernel, &bindings, &tensor).index64);
    tensor.shape[1] = 1;
    n = limit + 1;
    CHECK(tap, plan_demands(&kernel, &bindings, &tensor).index64);
    struct status status = plan_check(tap->arena, &kernel, &(struct launch_plan){.index32 = true}, &bindings, &tensor);
    CHECK(tap, !status.ok && strcmp(status.code, "launch.index") == 0);
    tensor.data = (void *)0x1008;
    CHECK_NUMBER(tap, plan_demands(&kernel, &bindings, &tensor).unaligned, 1);
    status = plan_check(tap->arena, &kernel, &(struct launch_plan){.aligned = 1}, &bindings, &tensor);
    CHECK(tap, !status.ok && strcmp(status.code, "launch.unaligned") == 0);
}

// ---------------------------------------------------------------------------------------------- failures

static void writes_outside(struct tap *tap)
{
    reset();
    driver->spoil = SPOIL_BEFORE;
    struct outcome outcome = run_text(JAGGED_SUM, sum_options);
    FAILS(&outcome, TILEC_WRONG, "check.guard", "before the start of 'x' on cuda:0, 1 byte off");
    driver->spoil = SPOIL_BEHIND;
    outcome = run_text(JAGGED_SUM, sum_options);
    FAILS(&outcome, TILEC_WRONG, "check.guard", "past the end of 'x' on cuda:0, 1 byte off");
}

// A failed kernel shows where the stream is waited for, and whatever is called then fails too.
static void kinds_of_failures(struct tap *tap)
{
    static const struct {
        int result;
        const char *code;
    } cases[] = {{700, "launch.illegal-access"}, {716, "launch.misaligned"}, {702, "launch.timeout"}, {719, "launch.trap"}, {710, "launch.trap"},
                 {715, "launch.illegal-instruction"}, {717, "launch.illegal-access"}, {718, "launch.illegal-instruction"},
                 {701, "launch.resources"}, {2, "memory.device"}, {999, "launch.failed"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int late = 0; late < 2; late++) {
            reset();
            driver->fail = late ? "cuStreamSynchronize" : "cuLaunchKernel";
            driver->fail_at = late ? 4 : 1;  // after the three of the tensors' guards
            driver->fail_with = cases[i].result;
            driver->sticky = 1;
            struct outcome outcome = run_text(JAGGED_SUM, sum_options);
            FAILS(&outcome, TILEC_LAUNCH, cases[i].code, arena_printf(tap->arena, ", %d", cases[i].result));
        }
    }
    reset();
    driver->fail = "cuMemAlloc";
    driver->fail_at = 2;
    driver->fail_with = CUDA_OUT_OF_MEMORY;
    struct outcome outcome = run_text(JAGGED_SUM, sum_options);
    FAILS(&outcome, TILEC_LAUNCH, "memory.device", "offsets needs 408 bytes on cuda:0, which has 12345 free of 17179869184 (CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

// What may fail without harm: names, and giving back.
static bool is_harmless(const char *name)
{
    static const char *const names[] = {"cuDeviceGetName", "cuDeviceGetPCIBusId", "cuDeviceTotalMem", "cuMemFree", "cuModuleUnload", "cuStreamDestroy",
                                        "cuEventDestroy", "cuCtxPopCurrent", "cuDevicePrimaryCtxRelease", "cuMemGetInfo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static void check_one_failure(struct tap *tap, const char *name, int at, const struct outcome *outcome, int *tolerated)
{
    bool ok = outcome->result == TILEC_OK;
    bool attribute = strcmp(name, "cuDeviceGetAttribute") == 0;
    const char *when = arena_printf(tap->arena, "call %d of %s", at, name);
    *tolerated += ok && attribute;
    if (driver->failed == 0) printf("# %s never came\n", when);
    CHECK(tap, driver->failed > 0);
    if (ok && !attribute && !is_harmless(name)) printf("# %s went unnoticed\n", when), tap->ok = false;
    if (!ok && !strstr(outcome->message, ", 999")) printf("# %s: no number in: %s\n", when, outcome->message), tap->ok = false;
    if (!ok && outcome->result != TILEC_LAUNCH && outcome->result != TILEC_MISSING && outcome->result != TILEC_NO_CONFIG)
        printf("# %s: result %d\n", when, outcome->result), tap->ok = false;
    check_nothing_left(tap, when);
}

// Makes each call that a good run makes fail in turn, once alone and once with all that follow.
static void every_call_fails(struct tap *tap, struct outcome (*go)(void), int stride)
{
    reset();
    CHECK(tap, go().result == TILEC_OK);
    char *log = arena_copy(tap->arena, driver->log, strlen(driver->log)), *rest = NULL;
    const char *names[2048];
    int count = 0, tolerated = 0;
    for (char *name = strtok_r(log, " ", &rest); name && count < 2048; name = strtok_r(NULL, " ", &rest)) names[count++] = name;
    CHECK(tap, count > 40 && count < 2048);
    for (int i = 0; i < count; i += stride) {
        int at = 1;
        for (int j = 0; j < i; j++) at += strcmp(names[j], names[i]) == 0;
        for (int sticky = 0; sticky < 2; sticky++) {
            reset();
            driver->fail = names[i];
            driver->fail_at = at;
            driver->fail_with = 999;
            driver->sticky = sticky;
            struct outcome outcome = go();
            check_one_failure(tap, names[i], at, &outcome, &tolerated);
        }
    }
    CHECK(tap, tolerated <= 2 * 3);  // caches and clocks need not be known
}

static struct outcome go_run(void)
{
    return run_text(JAGGED_SUM, sum_options);
}

static void every_call_of_a_run_fails(struct tap *tap)
{
    every_call_fails(tap, go_run, 1);
}

// ---------------------------------------------------------------------------------------------- timing

#define IN_PLACE                                                                                   \
    "kernel twice(x: f32[n], inout y: f32[n]) -> out: f32[n] = 0 {\n"                               \
    "    for t in tile(n) { y[t] = y[t] + x[t]; out[t] = 2 * x[t]; }\n"                            \
    "}\n"

static struct outcome bench_text(const char *text, struct tilec_bench_options options, tilec_text *json)
{
    struct outcome outcome = {.code = ""};
    tilec_report *report = tilec_report_new();
    tilec_program *program = NULL;
    tilec_bench *bench = NULL;
    outcome.result = tilec_program_parse("test.tile", text, strlen(text), report, &program);
    if (program) outcome.result = tilec_bench_kernel(program, &options, report, &bench);
    if (tilec_report_count(report)) {
        struct tilec_message message = tilec_report_message(report, 0);
        snprintf(outcome.code, sizeof outcome.code, "%s", message.code);
        snprintf(outcome.message, sizeof outcome.message, "%s", message.message);
    }
    if (bench && json) *json = tilec_bench_json(bench);
    if (bench) snprintf(outcome.message, sizeof outcome.message, "%s", tilec_bench_summary(bench));
    tilec_bench_free(bench);
    tilec_program_free(program);
    tilec_report_free(report);
    return outcome;
}

static struct outcome go_bench(void)
{
    static const char *const arguments[] = {"x=ones", "y=ones"}, *const dims[] = {"n=1000"};
    const struct tilec_bench_options options = {
        .run = {.argument_count = 2, .arguments = arguments, .dim_count = 1, .dims = dims, .device = "cuda"}, .versus = "default", .runs = 20};
    return bench_text(IN_PLACE, options, NULL);
}

enum { READS = 3 + 10 };  // launches that measure how fast memory is read

static void figures(struct tap *tap)
{
    const struct tilec_bench_options options = {.run = sum_options};
    tilec_text json = {0};
    reset();
    struct outcome outcome = bench_text(JAGGED_SUM, options, &json);
    CHECK_NUMBER(tap, outcome.result, TILEC_OK);
    // 150 x 8 floats and 50 offsets (by either load of them) in, 50 x 8 floats out, in half a millisecond; 1 GiB copied,
    // read and written in another half each.
    CHECK_TEXT(tap, outcome.message,
               "jagged_sum on Fake 0, driver CUDA 13.0; seed 0\n"
               "floor: 0.00520 MB read at 2147 GB/s, 0.00160 MB written at 2147 GB/s: 0.00000 ms; copying 1024 MiB: 4295 GB/s read and "
               "written\n"
               "default: 0.5000 ms  (p10 0.5000, p90 0.5000, 200 runs)  0.01360 GB/s, 0.0% of the floor's speed, 0.0% of the copy speed\n"
               "  jagged_sum: 32 registers, 64 bytes of shared memory, spills: 0 bytes stored, 0 loaded\n");
    CHECK(tap, json.data && strstr(json.data, "\"bytes_read\": 5200, \"bytes_written\": 1600"));
    CHECK(tap, json.data && strstr(json.data, "\"median_ms\": 0.5") && strstr(json.data, "\"copy_bytes\": 1073741824"));
    CHECK(tap, json.data && strstr(json.data, "\"read_gb_per_s\": 2147.483648") && strstr(json.data, "\"share_of_floor\": "));
    tilec_text_free(&json);
    CHECK_NUMBER(tap, driver->launches, 1 + 3 + 200 + READS);
    check_nothing_left(tap, "timing");
}

// Two candidates in turns, both restored before each run: y is copied once to keep it and once for each run.
static void in_turns(struct tap *tap)
{
    reset();
    struct outcome outcome = go_bench();
    CHECK_NUMBER(tap, outcome.result, TILEC_OK);
    CHECK(tap, strstr(outcome.message, "default takes 1.000 times as long as default\n"));
    CHECK_NUMBER(tap, driver->launches, 2 * (1 + 2 * 3 + 2 * 20) + READS);  // with the fill
    CHECK_NUMBER(tap, driver->copies, 3 + 1 + (2 * 3 + 2 * 20) + 2 * 3 + (3 + 10));
    check_nothing_left(tap, "timing");
}

static void no_time_at_all(struct tap *tap)
{
    reset();
    driver->milliseconds = -1;
    struct outcome outcome = go_bench();
    FAILS(&outcome, TILEC_LAUNCH, "device.timing", "a run took 0 µs");
}

static void every_call_of_a_timing_fails(struct tap *tap)
{
    every_call_fails(tap, go_bench, 5);
}

static void order_statistics(struct tap *tap)
{
    struct bench_candidate candidate = {0};
    bench_begin(tap->arena, &candidate, 11);
    for (int i = 0; i < 11; i++) candidate.times[i] = (i * 7) % 11;
    bench_finish(tap->arena, &candidate);
    CHECK(tap, candidate.median == 5 && candidate.p10 == 1 && candidate.p90 == 9);
    bench_begin(tap->arena, &candidate, 2);
    candidate.times[0] = 3, candidate.times[1] = 1;
    bench_finish(tap->arena, &candidate);
    CHECK_NUMBER(tap, candidate.median, 2);
    CHECK_NUMBER(tap, bench_runs(&(struct bench_job){0}, 1000), 20);
    CHECK_NUMBER(tap, bench_runs(&(struct bench_job){0}, 10), 50);
    CHECK_NUMBER(tap, bench_runs(&(struct bench_job){0}, 0.01), 200);
    CHECK_NUMBER(tap, bench_runs(&(struct bench_job){.wanted_runs = 7}, 10), 7);
}

// ---------------------------------------------------------------------------------------------- the floor

static struct traffic traffic_of(struct tap *tap, const char *text, int count, const char *const *arguments, int dim_count, const char *const *dims)
{
    struct program program = program_parse(tap, text);
    struct bound bound;
    struct traffic traffic = {0};
    const struct bind_request request = {.file = program.file, .argument_count = count, .arguments = arguments, .dim_count = dim_count, .dims = dims,
                                         .compile_in = true, .validate = true};
    struct status status = bind_arguments(tap->arena, &request, &program.diagnostics, &bound);
    if (!status.ok) printf("# %s\n", status.reason);
    CHECK(tap, status.ok);
    if (status.ok) traffic = count_traffic(tap->arena, bound.kernel, &bound.bindings, bound.views);
    bound_free(&bound);
    program_free(&program);
    return traffic;
}
#define TRAFFIC(text, arguments, dims) traffic_of(tap, text, sizeof(arguments) / sizeof *(arguments), arguments, sizeof(dims) / sizeof *(dims), dims)

static void floors(struct tap *tap)
{
    static const char *const sums[] = {"x=ones", "offsets=offsets(const(5))"}, *const sum_of[] = {"B=10", "M=6"};
    struct traffic traffic = TRAFFIC(JAGGED_SUM, sums, sum_of);
    CHECK_NUMBER(tap, traffic.read_bytes, 50 * 6 * 4 + 10 * 8);
    CHECK_NUMBER(tap, traffic.written_bytes, 10 * 6 * 4);
    static const char *const places[] = {"x=ones", "y=ones"}, *const n[] = {"n=100"};
    traffic = TRAFFIC(IN_PLACE, places, n);
    CHECK_NUMBER(tap, traffic.read_bytes, 800);
    CHECK_NUMBER(tap, traffic.written_bytes, 800);
}

// Slack in front of, between and behind what is reached doesn't count: rows of 2 and 3 of 9, of 1 and 4 of 4 columns.
static void floors_of_what_is_reached(struct tap *tap)
{
    static const char text[] =
        "kernel some(x: f32[n, M], offsets: i64[B + 1], features: i32[B]) -> out: f32[B, M] = 0 {\n"
        "    for tb in tile(B) { let s = offsets[tb];\n"
        "        for tf in jagged_tile(features[tb]) { var acc: f32[tb, tf] = 0;\n"
        "            for tk in jagged_tile(offsets[tb + 1] - s) { acc += sum[tk](x[s + tk, tf]); }\n"
        "            out[tb, tf] = acc; } } }\n";
    struct program program = program_parse(tap, text);
    const char *arguments[] = {"x=ones", array(&program, "offsets", TYPE_I64, SHAPE(3), (double[]){1, 3, 6}),
                               array(&program, "features", TYPE_I32, SHAPE(2), (double[]){1, 4})};
    static const char *const dims[] = {"n=9", "M=4"};
    struct traffic traffic = TRAFFIC(text, arguments, dims);
    CHECK_NUMBER(tap, traffic.read_bytes, (2 * 1 + 3 * 4) * 4 + 2 * 8 + 2 * 4);
    CHECK_NUMBER(tap, traffic.written_bytes, 2 * 4 * 4);
    program_free(&program);
}

// ---------------------------------------------------------------------------------------------- all of them

static const struct tap_test tests[] = {
    {"no driver", no_driver},
    {"no device", no_device},
    {"names of devices", names_of_devices},
    {"a run", a_run},
    {"what isn't computed shows", nothing_computed_shows},
    {"a second run compiles nothing", a_second_run_compiles_nothing},
    {"cubin or PTX", architectures},
    {"a text that NVRTC refuses", refused_text},
    {"an architecture of which NVRTC knows only the plain form", specific_architecture},
    {"no rows, no launch", no_rows_no_launch},
    {"limits", limits},
    {"limits of shared memory", limits_of_shared_memory},
    {"what tensors demand", demands},
    {"writes outside", writes_outside},
    {"kinds of failures", kinds_of_failures},
    {"each call of a run fails", every_call_of_a_run_fails},
    {"figures of a timing", figures},
    {"two configs in turns", in_turns},
    {"no time at all", no_time_at_all},
    {"each call of a timing fails", every_call_of_a_timing_fails},
    {"order statistics", order_statistics},
    {"the floor of bytes", floors},
    {"the floor counts what is reached", floors_of_what_is_reached},
};

// A cache folder of its own, and the fakes' state, which lives in the libraries that the runtime will open.
int main(void)
{
    char folder[] = "/tmp/tilec-cuda-XXXXXX";
    const char *cuda = getenv("TILEC_TEST_LIBCUDA"), *nvrtc = getenv("TILEC_NVRTC_DIR");
    char path[4096];
    if (!cuda || !nvrtc || !mkdtemp(folder)) return fputs("TILEC_TEST_LIBCUDA and TILEC_NVRTC_DIR name the fakes\n", stderr), 99;
    setenv("TILEC_CACHE_DIR", folder, 1);
    snprintf(path, sizeof path, "%s/libnvrtc.so.13", nvrtc);
    void *first = dlopen(cuda, RTLD_NOW), *second = dlopen(path, RTLD_NOW);
    driver = first ? dlsym(first, "fake_cuda") : NULL;
    compiler = second ? dlsym(second, "fake_nvrtc") : NULL;
    if (!driver || !compiler) return fprintf(stderr, "%s\n", dlerror()), 99;
    int failed = tap_run(tests, (int)(sizeof tests / sizeof *tests));
    char command[128];
    snprintf(command, sizeof command, "rm -r -- '%s'", folder);
    return system(command) != 0 || failed;
}
