// SPDX-License-Identifier: Apache-2.0
// A program with a kernel inside: jagged_sum as `tilec bundle` wrote it (meson.build), launched through the CUDA driver
// alone. Neither tilec nor a CUDA toolkit is needed to build or to run it.
//
//   bundled [--choose] < SHAPES
//
// A line of SHAPES is "rows columns shortest longest": so many rows of so many columns, with lengths between these two.
// For each, the config that is chosen is told and, unless --choose asks for no more than that, the kernel is launched and
// its sums are compared with those of the host. Ends with 1 if one is wrong, with 3 if there is no driver or device.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jagged_sum.h"

// ---------------------------------------------------------------------------------------- the driver

typedef unsigned long long device_address;

static struct {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*use)(void *context);
    int (*allocate)(device_address *address, size_t bytes);
    int (*release)(device_address address);
    int (*to_device)(device_address to, const void *from, size_t bytes);
    int (*to_host)(void *to, device_address from, size_t bytes);
    int (*wait)(void);
} driver;

static int find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

// Device 0 and its primary context. 0: there is none.
static int open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    return library && find(library, "cuInit", &driver.init) &&
           find(library, "cuDevicePrimaryCtxRetain", &driver.retain) &&
           find(library, "cuCtxSetCurrent", &driver.use) && find(library, "cuMemAlloc_v2", &driver.allocate) &&
           find(library, "cuMemFree_v2", &driver.release) && find(library, "cuMemcpyHtoD_v2", &driver.to_device) &&
           find(library, "cuMemcpyDtoH_v2", &driver.to_host) && find(library, "cuCtxSynchronize", &driver.wait) &&
           driver.init(0) == 0 && driver.retain(&context, 0) == 0 && driver.use(context) == 0;
}

// 0 where there is no memory. A tensor without elements has an address all the same.
static device_address on_device(const void *data, size_t bytes) {
    device_address address = 0;
    if (driver.allocate(&address, bytes ? bytes : 1))
        return 0;
    if (data && bytes && driver.to_device(address, data, bytes))
        return driver.release(address), 0;
    return address;
}

// ---------------------------------------------------------------------------------------- data

struct data {
    int64_t rows, columns, longest;
    int64_t *offsets;
    float *x;  // whole numbers, so that sums are exact in any order
};

static uint32_t draw(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void free_data(struct data *data) {
    free(data->offsets);
    free(data->x);
}

static int draw_data(struct data *data, int64_t shortest, int64_t longest, int filled) {
    uint32_t seed = 1;
    data->longest = 0;
    data->x = NULL;
    data->offsets = calloc((size_t)data->rows + 1, sizeof *data->offsets);
    if (!data->offsets)
        return 0;
    for (int64_t b = 0; b < data->rows; b++) {
        int64_t length = shortest + (int64_t)draw(&seed) % (longest - shortest + 1);
        data->offsets[b + 1] = data->offsets[b] + length;
        if (length > data->longest)
            data->longest = length;
    }
    size_t count = (size_t)(data->offsets[data->rows] * data->columns);
    if (!filled)
        return 1;
    data->x = malloc((count + 1) * sizeof *data->x);
    for (size_t i = 0; data->x && i < count; i++)
        data->x[i] = (float)(int)(draw(&seed) % 201) - 100;
    return data->x != NULL;
}

static int64_t count_wrong(const struct data *data, const float *sums) {
    int64_t wrong = 0;
    for (int64_t b = 0; b < data->rows; b++)
        for (int64_t m = 0; m < data->columns; m++) {
            float sum = 0;
            for (int64_t k = data->offsets[b]; k < data->offsets[b + 1]; k++)
                sum += data->x[k * data->columns + m];
            wrong += sum != sums[b * data->columns + m];
        }
    return wrong;
}

// ---------------------------------------------------------------------------------------- the kernel

static jagged_sum_args arguments_of(const struct data *data) {
    jagged_sum_args args;
    memset(&args, 0, sizeof args);
    args.nnz = data->offsets[data->rows];
    args.M = data->columns;
    args.B = data->rows;
    args.longest = data->longest;
    return args;
}

// The status of the launch, and the sums.
static int launch(const struct data *data, float *sums) {
    jagged_sum_args args = arguments_of(data);
    size_t bytes = (size_t)(data->rows * data->columns) * sizeof *sums;
    device_address x = on_device(data->x, (size_t)(args.nnz * args.M) * sizeof *data->x),
                   offsets = on_device(data->offsets, (size_t)(data->rows + 1) * sizeof *data->offsets),
                   out = on_device(NULL, bytes), workspace = 0;
    args.x = (const float *)(uintptr_t)x;
    args.offsets = (const int64_t *)(uintptr_t)offsets;
    args.out = (float *)(uintptr_t)out;
    args.workspace_bytes = jagged_sum_workspace_size(&args);
    if (args.workspace_bytes > 0)
        workspace = on_device(NULL, (size_t)args.workspace_bytes);
    args.workspace = (void *)(uintptr_t)workspace;
    int status = jagged_sum_launch(&args, NULL);
    if (status == 0)
        status = driver.wait();
    if (status == 0 && bytes)
        status = driver.to_host(sums, out, bytes);
    driver.release(x), driver.release(offsets), driver.release(out);
    if (workspace)
        driver.release(workspace);
    return status;
}

static int run(const struct data *data) {
    float *sums = malloc((size_t)(data->rows * data->columns + 1) * sizeof *sums);
    if (!sums)
        return printf(": out of memory\n"), 0;
    int status = launch(data, sums);
    int64_t wrong = status == 0 ? count_wrong(data, sums) : 0;
    if (status)
        printf(": %s (%d)\n", jagged_sum_message(status), status);
    else if (wrong)
        printf(": %lld sums are wrong\n", (long long)wrong);
    else
        printf(": right\n");
    free(sums);
    return status == 0 && !wrong;
}

int main(int count, char **words) {
    long long rows, columns, shortest, longest;
    int choosing = count > 1 && strcmp(words[1], "--choose") == 0, good = 1;
    if (!choosing && !open_driver())
        return fprintf(stderr, "there is no CUDA driver, or no device\n"), 3;
    while (scanf("%lld %lld %lld %lld", &rows, &columns, &shortest, &longest) == 4) {
        struct data data = {rows, columns, 0, NULL, NULL};
        if (rows < 0 || columns < 0 || shortest < 0 || shortest > longest)
            return fprintf(stderr, "a shape is: rows columns shortest longest\n"), 2;
        if (!draw_data(&data, shortest, longest, !choosing))
            return fprintf(stderr, "out of memory\n"), 70;
        jagged_sum_args args = arguments_of(&data);
        printf("rows %lld columns %lld total %lld longest %lld: config %d", rows, columns, (long long)args.nnz,
               (long long)data.longest, jagged_sum_choose(&args));
        if (choosing)
            printf("\n");
        else
            good &= run(&data);
        free_data(&data);
    }
    return !good;
}
