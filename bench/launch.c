// SPDX-License-Identifier: Apache-2.0
// What a launch through libtilec costs the host beside a bare cuLaunchKernel with as many arguments, in batches whose
// shapes change from call to call. One line per way; times are medians of bursts that take turns.
//
//   cc -O2 bench/launch.c -Iruntime -Lbuild/runtime -ltilec -ldl -o launch && ./launch examples/jagged_sum.tile
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tilec.h"

enum { SHAPES = 61, BURST = 200, BURSTS = 60, COLUMNS = 32, ROWS_MOST = 64, POINTS_MOST = 4096 };

// ---------------------------------------------------------------------------------------------- the driver

typedef unsigned long long address;
struct driver {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*current)(void *);
    int (*memory_new)(address *, size_t);
    int (*copy_in)(address, const void *, size_t);
    int (*stream_new)(void **, unsigned);
    int (*stream_wait)(void *);
    int (*module_load)(void **, const void *);
    int (*module_function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
};

static void die(const char *what)
{
    fprintf(stderr, "launch: %s\n", what);
    exit(1);
}

static void check(int result, const char *what)
{
    if (result != 0) die(what);
}

static void open_driver(struct driver *driver)
{
    static const char *const names[] = {"cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuStreamCreate",
                                        "cuStreamSynchronize", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"};
    void **members = (void **)driver;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!library || !(members[i] = dlsym(library, names[i]))) die("there is no CUDA driver");
    check(driver->init(0), "cuInit");
    check(driver->retain(&context, 0), "no context");
    check(driver->current(context), "no context");
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// ---------------------------------------------------------------------------------------------- the calls

struct shape {
    int64_t x[2], offsets[1], out[2];
    struct tilec_argument arguments[3];
    uint64_t words[10];
};

struct calls {
    struct driver driver;
    void *stream, *bare;
    tilec_bound *bound;
    struct shape shapes[SHAPES];
    address x, offsets[SHAPES], out;
};

static void make_shapes(struct calls *calls)
{
    check(calls->driver.memory_new(&calls->x, POINTS_MOST * COLUMNS * sizeof(float)), "no memory");
    check(calls->driver.memory_new(&calls->out, ROWS_MOST * COLUMNS * sizeof(float)), "no memory");
    for (int i = 0; i < SHAPES; i++) {
        struct shape *shape = &calls->shapes[i];
        int64_t rows = 2 + i, offsets[ROWS_MOST + 1] = {0};
        for (int64_t row = 0; row < rows; row++) offsets[row + 1] = offsets[row] + (row * 7 + i) % 40;
        check(calls->driver.memory_new(&calls->offsets[i], sizeof offsets), "no memory");
        check(calls->driver.copy_in(calls->offsets[i], offsets, (size_t)(rows + 1) * sizeof *offsets), "no copy");
        *shape = (struct shape){.x = {offsets[rows], COLUMNS}, .offsets = {rows + 1}, .out = {rows, COLUMNS}};
        shape->arguments[0] = (struct tilec_argument){.type = TILEC_F32, .rank = 2, .shape = shape->x, .data = (void *)(uintptr_t)calls->x};
        shape->arguments[1] = (struct tilec_argument){.type = TILEC_I64, .rank = 1, .shape = shape->offsets, .data = (void *)(uintptr_t)calls->offsets[i]};
        shape->arguments[2] = (struct tilec_argument){.type = TILEC_F32, .rank = 2, .shape = shape->out, .data = (void *)(uintptr_t)calls->out};
        const uint64_t words[10] = {calls->x, (uint64_t)offsets[rows], COLUMNS, calls->offsets[i], (uint64_t)rows + 1,
                                    calls->out, (uint64_t)rows, COLUMNS, 0, (uintptr_t)calls->stream};
        memcpy(shape->words, words, sizeof words);
    }
}

static void launch_bare(struct calls *calls, int i)
{
    address x = calls->x, offsets = calls->offsets[i], out = calls->out;
    long long rows = calls->shapes[i].out[0];
    void *arguments[] = {&x, &offsets, &out, &rows};
    check(calls->driver.launch(calls->bare, (unsigned)rows, 1, 1, 256, 1, 1, 0, calls->stream, arguments, NULL), "cuLaunchKernel");
}

static void launch_arguments(struct calls *calls, int i)
{
    check((int)tilec_launch(calls->bound, calls->shapes[i].arguments, 3, NULL, calls->stream, NULL), "tilec_launch");
}

static void launch_words(struct calls *calls, int i)
{
    check((int)tilec_launch_words(calls->bound, calls->shapes[i].words), "tilec_launch_words");
}

// ---------------------------------------------------------------------------------------------- making them

static void must(tilec_result result, const tilec_report *report)
{
    if (result == TILEC_OK) return;
    for (int i = 0; i < tilec_report_count(report); i++) fputs(tilec_report_message(report, i).plain, stderr);
    die("libtilec refused something");
}

static void make_bare(struct calls *calls, tilec_device *device, tilec_report *report)
{
    static const char text[] = "extern \"C\" __global__ void bare(const float *x, const long long *offsets, float *out, long long rows) {}\n";
    tilec_binary *binary;
    void *module;
    size_t length;
    must(tilec_compile(text, sizeof text - 1, "bare.cu", tilec_device_target(device), 0, report, &binary), report);
    check(calls->driver.module_load(&module, tilec_binary_data(binary, &length)), "no module");
    check(calls->driver.module_function(&calls->bare, module, "bare"), "no function");
    tilec_binary_free(binary);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int count, char **arguments)
{
    static struct calls calls;
    static void (*const ways[])(struct calls *, int) = {launch_bare, launch_arguments, launch_words};
    static const char *const names[] = {"bare cuLaunchKernel", "tilec_launch", "tilec_launch_words"};
    static double times[3][BURSTS];
    tilec_report *report = tilec_report_new();
    tilec_program *program;
    tilec_kernel *kernel;
    tilec_device *device;
    if (count != 2) die("usage: launch jagged_sum.tile");
    open_driver(&calls.driver);
    check(calls.driver.stream_new(&calls.stream, 1), "no stream");
    make_shapes(&calls);
    must(tilec_program_load(arguments[1], report, &program), report);
    must(tilec_kernel_for(program, "jagged_sum", calls.shapes[0].arguments, 3, NULL, report, &kernel), report);
    must(tilec_device_open("cuda:0", report, &device), report);
    must(tilec_bind(kernel, device, NULL, report, &calls.bound), report);
    make_bare(&calls, device, report);
    for (int burst = -3; burst < BURSTS; burst++) {
        for (int way = 0; way < 3; way++) {
            double begin = microseconds();
            for (int i = 0; i < BURST; i++) ways[way](&calls, i % SHAPES);
            if (burst >= 0) times[way][burst] = (microseconds() - begin) / BURST;
            check(calls.driver.stream_wait(calls.stream), "cuStreamSynchronize");
        }
    }
    for (int way = 0; way < 3; way++) {
        qsort(times[way], BURSTS, sizeof(double), by_size);
        printf("%-20s %7.3f us a call (p10 %.3f, p90 %.3f), %+.3f us over the bare launch\n", names[way], times[way][BURSTS / 2],
               times[way][BURSTS / 10], times[way][BURSTS * 9 / 10], times[way][BURSTS / 2] - times[0][BURSTS / 2]);
    }
    return 0;
}
