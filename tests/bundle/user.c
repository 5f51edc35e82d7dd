// SPDX-License-Identifier: Apache-2.0
// A program that uses bundles as people would: C99, three kernels' bundles, no tilec. Prints "ok NAME" or "not ok NAME".
// sums: two configs chosen by `nnz / B < 100` (the second in chunks, with a workspace); means: M = 8 compiled in, two
// launches; norms: a scalar of type f16.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "means.h"
#include "norms.h"
#include "sums.h"

static struct bundle_driver_state *driver;
static char memory[1 << 16] __attribute__((aligned(256)));

static void check(int good, const char *name)
{
    printf("%s %s\n", good ? "ok" : "not ok", name);
}

static sums_args rows_of(int64_t rows, int64_t mean)
{
    return (sums_args){.x = (const float *)memory, .offsets = (const int64_t *)memory, .out = (float *)memory, .nnz = rows * mean, .M = 64,
                       .B = rows, .workspace = memory, .workspace_bytes = sizeof memory};
}

static void check_arguments(void)
{
    sums_args args = rows_of(10, 50), negative = args, missing = args, empty = args, vast = args;
    negative.B = -1;
    missing.x = NULL;
    empty.x = NULL, empty.nnz = 0;
    vast.B = INT64_C(1) << 47;
    check(sums_launch(&args, memory) == sums_OK && driver->launches == 1, "a launch");
    check(driver->addresses[0] == (uintptr_t)memory && driver->stream == memory, "its arguments and its stream");
    check(sums_launch(&negative, NULL) == sums_BAD_DIMENSION, "a negative dimension");
    check(sums_launch(&missing, NULL) == sums_BAD_TENSOR, "a tensor that isn't there");
    check(sums_launch(&empty, NULL) == sums_OK, "nor is one without elements");
    check(sums_launch(&vast, NULL) == sums_TOO_LARGE, "more blocks than there can be");
    args.B = 0;
    driver->launches = 0;
    check(sums_launch(&args, NULL) == sums_OK && driver->launches == 0, "no rows, no launch");
    for (int status = -8; status < 2; status++)
        if (!*sums_message(status)) check(0, "every status has words");
}

static void check_choice(void)
{
    sums_args few = rows_of(10, 99), many = rows_of(10, 100), none = rows_of(0, 0);
    check(sums_choose(&few) == 0 && sums_choose(&many) == 1 && sums_choose(&none) == 0, "the config that the heuristic has for a shape");
    check(sums_workspace_size(&few) == 0, "a config without a workspace");
    int64_t bytes = sums_workspace_size(&many);
    check(bytes > 0 && bytes % 256 == 0 && bytes <= (int64_t)sizeof memory, "one with a workspace");
    many.workspace_bytes = bytes;
    check(sums_launch(&many, NULL) == sums_OK, "that much of it is enough");
    many.workspace_bytes = 0;
    check(sums_launch(&many, NULL) == sums_BAD_WORKSPACE, "too little of it");
    many.workspace_bytes = bytes, many.workspace = memory + 8;
    check(sums_launch(&many, NULL) == sums_BAD_WORKSPACE, "one that isn't aligned");
    many.B = -1;
    check(sums_workspace_size(&many) == sums_BAD_DIMENSION, "a size that can't be had");
}

static const void *image_for(const sums_args *args)
{
    driver->image = NULL;
    return sums_launch(args, NULL) == sums_OK ? driver->image : NULL;
}

static void check_variants(void)
{
    sums_args plain = rows_of(10, 50), large = plain, loose = plain;
    loose.x = (const float *)(memory + 4);
    const void *first = image_for(&plain);
    check(first && image_for(&plain) == first, "the same arguments, the same code");
    check(first != image_for(&loose) && driver->image, "other code where a tensor isn't aligned");
    large.nnz = INT64_C(1) << 33, large.B = INT64_C(1) << 28;
    check(first != image_for(&large) && driver->image, "and where indices are over 32 bits");
}

// Each context has code of its own: of its device's own architecture, else of an older one of its generation, else PTX.
static void check_architectures(void)
{
    static const struct {
        int sm, status, ptx;
    } devices[] = {{80, sums_OK, 0}, {86, sums_OK, 0}, {90, sums_OK, 0}, {100, sums_OK, 1}, {120, sums_OK, 1}, {75, sums_NO_CODE, 0}};
    static char contexts[8];
    const void *images[8] = {NULL};
    sums_args args = rows_of(10, 50);
    int good = 1;
    for (int i = 0; i < 6; i++) {
        driver->sm = devices[i].sm;
        driver->current = &contexts[i];
        int status = sums_launch(&args, NULL);
        images[i] = status ? NULL : driver->image;
        if (status == devices[i].status && (status || driver->ptx == devices[i].ptx)) continue;
        printf("# sm_%d: status %d, PTX %d\n", devices[i].sm, status, driver->ptx);
        good = 0;
    }
    check(good && images[0] == images[1] && images[1] != images[2] && images[3] == images[4] && images[3] != images[2], "code for each device");
    driver->sm = 90;
    driver->current = NULL;
}

static void check_others(void)
{
    means_args means = {.x = (const float *)memory, .offsets = (const int64_t *)memory, .features = (const int32_t *)memory, .out = (float *)memory,
                        .nnz = 100, .B = 3, .M = 8, .workspace_bytes = 0};
    driver->launches = 0;
    check(means_launch(&means, NULL) == means_OK && driver->launches == 2, "a kernel of two launches");
    means.M = 16;
    check(means_launch(&means, NULL) == means_BAD_DIMENSION, "an extent that isn't the one compiled in");
    norms_args norms = {.x = (const uint16_t *)memory, .offsets = (const int64_t *)memory, .out = (uint16_t *)memory, .eps = 0x1000,
                        .nnz = 100, .B = 3, .M = 8, .workspace = memory, .workspace_bytes = sizeof memory};
    check(norms_launch(&norms, NULL) == norms_OK, "a kernel with a scalar");
}

static void check_failures(void)
{
    static const char *const calls[] = {"cuCtxGetCurrent", "cuCtxGetDevice", "cuDeviceGetAttribute", "cuModuleLoadData",
                                        "cuModuleGetFunction", "cuLaunchKernel"};
    static char contexts[8];
    sums_args args = rows_of(10, 50);
    for (int i = 0; i < 6; i++) {
        driver->current = &contexts[i];
        driver->fail = calls[i];
        int failed = sums_launch(&args, NULL);
        driver->fail = NULL;
        int after = sums_launch(&args, NULL);
        if (failed != 999 || after != sums_OK) printf("# %s: %d, then %d\n", calls[i], failed, after);
        check(failed == 999 && after == sums_OK, calls[i]);
    }
    check(driver->unloads == 1, "what is loaded in part is unloaded");
    driver->current = NULL;
}

static void *launch_often(void *data)
{
    sums_args args = rows_of(10, 50), many = rows_of(10, 500);
    for (int i = 0; i < 1000; i++)
        if (sums_launch(&args, NULL) || sums_launch(&many, NULL)) *(int *)data = 1;
    return NULL;
}

static void check_threads(void)
{
    static char context;
    pthread_t threads[8];
    int failed[8] = {0}, any = 0;
    driver->current = &context;
    driver->loads = driver->launches = 0;
    check(sums_prepare() == sums_OK && driver->loads > 0, "all code is loaded beforehand");
    int loads = driver->loads;
    for (int i = 0; i < 8; i++) any |= pthread_create(&threads[i], NULL, launch_often, &failed[i]);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL), any |= failed[i];
    check(!any && driver->loads == loads && driver->pushed == 0, "eight threads, and nothing is loaded twice");
}

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    driver = library ? (struct bundle_driver_state *)dlsym(library, "bundle_driver_state") : NULL;
    if (!driver) return puts("not ok the driver of this test"), 1;
    check_arguments();
    check_choice();
    check_variants();
    check_architectures();
    check_others();
    check_failures();
    check_threads();
    return 0;
}
