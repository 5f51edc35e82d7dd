// SPDX-License-Identifier: Apache-2.0
// What a launch through a bundle costs over a bare cuLaunchKernel, on a GPU; and whether its sums are right there.
//
//   tilec bundle examples/jagged_sum.tile --kernel jagged_sum --arch sm_80,sm_90 -o DIR
//   cc -std=gnu11 -O2 -IDIR bench/bundle_launch.c DIR/jagged_sum.c -o bundle_launch -ldl -lpthread && ./bundle_launch
//
// Sums are of whole numbers, so they are exact. Launches are on an idle stream, waited for after each batch of them.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jagged_sum.h"

enum { ROWS = 1000, COLUMNS = 64, BATCH = 200, BATCHES = 200, WORKSPACE = 64 << 20 };  // more than any config wants

static const char bare_kernel[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry bare(.param .u64 x, .param .u64 offsets, .param .u64 out, .param .u32 M) { ret; }\n";

static void *driver;

static void *function(const char *name)
{
    void *symbol = driver ? dlsym(driver, name) : NULL;
    if (!symbol) fprintf(stderr, "the driver has no %s\n", name), exit(3);
    return symbol;
}

#define CALL(name, types, ...)                                                                \
    do {                                                                                      \
        int status = ((int (*) types)function(#name))(__VA_ARGS__);                           \
        if (status) fprintf(stderr, #name ": %d\n", status), exit(5);                         \
    } while (0)

static uint64_t allocate(size_t bytes, const void *data)
{
    unsigned long long address = 0;
    CALL(cuMemAlloc_v2, (unsigned long long *, size_t), &address, bytes);
    if (data) CALL(cuMemcpyHtoD_v2, (unsigned long long, const void *, size_t), address, data, bytes);
    return address;
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

struct timed {
    int (*launch)(unsigned char *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    unsigned char *bare;
    void **arguments;
    const jagged_sum_args *args;
    void *stream;
};

static int launch_once(const struct timed *timed, int bundled)
{
    if (bundled) return jagged_sum_launch(timed->args, timed->stream);
    return timed->launch(timed->bare, 1, 1, 1, 32, 1, 1, 0, timed->stream, timed->arguments, NULL);
}

// The median of the batches' times for one call.
static double call_time(const struct timed *timed, int bundled)
{
    static double times[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        double begin = microseconds();
        for (int i = 0; i < BATCH; i++)
            if (launch_once(timed, bundled)) exit(5);
        times[b] = (microseconds() - begin) / BATCH;
        CALL(cuStreamSynchronize, (void *), timed->stream);
    }
    qsort(times, BATCHES, sizeof *times, compare);
    return times[BATCHES / 2];
}

static int sums_are_right(const float *x, const int64_t *offsets, uint64_t out)
{
    float *sums = malloc(sizeof *sums * ROWS * COLUMNS);
    int wrong = 0;
    if (!sums) exit(70);
    CALL(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t), sums, out, sizeof *sums * ROWS * COLUMNS);
    for (int b = 0; b < ROWS; b++)
        for (int m = 0; m < COLUMNS; m++) {
            float sum = 0;
            for (int64_t k = offsets[b]; k < offsets[b + 1]; k++) sum += x[k * COLUMNS + m];
            wrong += sum != sums[b * COLUMNS + m];
        }
    free(sums);
    printf("%d of %d sums are wrong\n", wrong, ROWS * COLUMNS);
    return !wrong;
}

int main(void)
{
    static int64_t offsets[ROWS + 1];
    void *context = NULL, *stream = NULL, *module = NULL;
    struct timed timed = {0};
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CALL(cuInit, (unsigned), 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuStreamCreate, (void **, unsigned), &stream, 1);
    for (int b = 0; b < ROWS; b++) offsets[b + 1] = offsets[b] + (b * 7) % 90;
    size_t count = (size_t)offsets[ROWS] * COLUMNS;
    float *x = malloc(sizeof *x * count);
    if (!x) return 70;
    for (size_t i = 0; i < count; i++) x[i] = (float)((uint32_t)i * 2654435761u >> 24) - 100;
    uint64_t device_x = allocate(sizeof *x * count, x), device_offsets = allocate(sizeof offsets, offsets), out = allocate(sizeof *x * ROWS * COLUMNS, NULL);
    jagged_sum_args args = {.x = (const float *)(uintptr_t)device_x, .offsets = (const int64_t *)(uintptr_t)device_offsets,
                            .out = (float *)(uintptr_t)out, .nnz = offsets[ROWS], .M = COLUMNS, .B = ROWS};
    args.workspace_bytes = WORKSPACE;
    args.workspace = (void *)(uintptr_t)allocate(WORKSPACE, NULL);
    int status = jagged_sum_launch(&args, stream);
    if (status) return fprintf(stderr, "%s (%d)\n", jagged_sum_message(status), status), 5;
    CALL(cuStreamSynchronize, (void *), stream);
    int good = sums_are_right(x, offsets, out);
    free(x);

    void *addresses[] = {(void *)(uintptr_t)device_x, (void *)(uintptr_t)device_offsets, (void *)(uintptr_t)out};
    int columns = COLUMNS;
    void *arguments[] = {&addresses[0], &addresses[1], &addresses[2], &columns};
    CALL(cuModuleLoadData, (void **, const void *), &module, bare_kernel);
    CALL(cuModuleGetFunction, (void **, void *, const char *), (void **)&timed.bare, module, "bare");
    timed = (struct timed){.launch = function("cuLaunchKernel"), .bare = timed.bare, .arguments = arguments, .args = &args, .stream = stream};
    call_time(&timed, 0);
    // A config may have several launches, and costs as many bare ones then: so there are several numbers of rows.
    static const int rows[] = {2, 20, 200, ROWS};
    for (int i = 0; i < 4; i++) {
        args.B = rows[i], args.nnz = offsets[rows[i]], args.longest = 0;
        for (int turn = 0; turn < 2; turn++) {
            double bare = call_time(&timed, 0), bundled = call_time(&timed, 1);
            printf("%d rows, config %d: bare %.3f us, bundle %.3f us, +%.3f us a call\n", rows[i], jagged_sum_choose(&args), bare, bundled, bundled - bare);
        }
    }
    return !good;
}
