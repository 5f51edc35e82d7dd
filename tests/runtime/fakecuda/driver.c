// SPDX-License-Identifier: Apache-2.0
// The driver of fake.h: the entry points that runtime/cuda.h lists, found through cuGetProcAddress_v2 as in a real one.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "fake.h"

#define EXPORT __attribute__((visibility("default")))
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 101, NOT_FOUND = 500, ALLOCATIONS = 64 };

EXPORT struct fake_cuda fake_cuda;

static struct {
    char *block;
    size_t bytes;
} allocations[ALLOCATIONS];

// ---------------------------------------------------------------------------------------------- failing on demand

// The result of a call before it does anything. Every entry point asks here first.
static int enter(const char *name)
{
    struct fake_cuda *fake = &fake_cuda;
    size_t used = strlen(fake->log);
    fake->calls++;
    if (used + strlen(name) + 2 < FAKE_LOG) sprintf(fake->log + used, " %s", name);
    if (fake->sticky && fake->failed) return fake->failed++, fake->fail_with;
    if (!fake->fail || strcmp(fake->fail, name) != 0) return OK;
    if (++fake->calls_of_failing != fake->fail_at) return OK;
    return fake->failed++, fake->fail_with;
}
#define ENTER()                              \
    do {                                     \
        int entered = enter(__func__);       \
        if (entered != OK) return entered;   \
    } while (0)

// ---------------------------------------------------------------------------------------------- driver and devices

static int cuInit(unsigned flags)
{
    ENTER();
    return flags == 0 ? OK : INVALID;
}

static int cuDriverGetVersion(int *version)
{
    ENTER();
    *version = 13000;
    return OK;
}

static int cuGetErrorName(int result, const char **name)
{
    *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : result == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
    return *name ? OK : INVALID;
}

static int cuGetErrorString(int result, const char **text)
{
    *text = result == 700 ? "an illegal memory access was encountered" : NULL;
    return *text ? OK : INVALID;
}

static int cuDeviceGetCount(int *count)
{
    ENTER();
    *count = fake_cuda.devices < 0 ? 0 : fake_cuda.devices ? fake_cuda.devices : 1;
    return OK;
}

static int cuDeviceGet(int *device, int ordinal)
{
    ENTER();
    fake_cuda.ordinal = *device = ordinal;
    return OK;
}

static int cuDeviceGetName(char *name, int length, int device)
{
    ENTER();
    snprintf(name, (size_t)length, "Fake %d", device);
    return OK;
}

static int cuDeviceGetPCIBusId(char *name, int length, int device)
{
    ENTER();
    snprintf(name, (size_t)length, "0000:%02x:00.0", device);
    return OK;
}

static int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const struct fake_cuda *fake = &fake_cuda;
    int sm = fake->sm ? fake->sm : 90;
    (void)device;
    ENTER();
    switch (attribute) {
    case 1: *value = fake->threads_per_block ? fake->threads_per_block : 1024; return OK;
    case 5: *value = fake->blocks ? fake->blocks : INT32_MAX; return OK;
    case 8: *value = 49152; return OK;
    case 10: *value = 32; return OK;
    case 12: *value = fake->registers_per_block ? fake->registers_per_block : 65536; return OK;
    case 13: *value = 1980000; return OK;
    case 16: *value = 132; return OK;
    case 36: *value = 3201000; return OK;
    case 38: *value = 62914560; return OK;
    case 39: *value = 2048; return OK;
    case 75: *value = sm / 10; return OK;
    case 76: *value = sm % 10; return OK;
    case 97: *value = fake->shared_optin ? fake->shared_optin : 232448; return OK;
    default: return INVALID;
    }
}

static int cuDeviceTotalMem(size_t *bytes, int device)
{
    (void)device;
    ENTER();
    *bytes = (size_t)1 << 34;
    return OK;
}

// ---------------------------------------------------------------------------------------------- contexts and streams

static int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    ENTER();
    fake_cuda.contexts++;
    *context = &fake_cuda;
    return OK;
}

static int cuDevicePrimaryCtxRelease(int device)
{
    (void)device;
    fake_cuda.contexts--;
    ENTER();
    return OK;
}

static int cuCtxPushCurrent(void *context)
{
    ENTER();
    if (context != &fake_cuda && (!context || context != fake_cuda.current)) return INVALID;
    fake_cuda.pushed++;
    return OK;
}

static int cuCtxGetCurrent(void **context)
{
    ENTER();
    *context = fake_cuda.pushed ? &fake_cuda : fake_cuda.current;
    return OK;
}

static int cuCtxGetDevice(int *device)
{
    ENTER();
    *device = fake_cuda.current_device;
    return fake_cuda.current || fake_cuda.pushed ? OK : INVALID;
}

static int cuCtxPopCurrent(void **context)
{
    *context = &fake_cuda;
    fake_cuda.pushed--;
    ENTER();
    return OK;
}

static int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    ENTER();
    fake_cuda.streams++;
    *stream = &fake_cuda;
    return OK;
}

static int cuStreamDestroy(void *stream)
{
    (void)stream;
    fake_cuda.streams--;
    ENTER();
    return OK;
}

static int cuStreamSynchronize(void *stream)
{
    ENTER();
    return stream == &fake_cuda ? OK : INVALID;
}

static int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    ENTER();
    fake_cuda.events++;
    *event = &fake_cuda.events;
    return OK;
}

static int cuEventDestroy(void *event)
{
    (void)event;
    fake_cuda.events--;
    ENTER();
    return OK;
}

static int cuEventRecord(void *event, void *stream)
{
    ENTER();
    return event && stream ? OK : INVALID;
}

static int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    ENTER();
    if (!begin || !end) return INVALID;
    *milliseconds = fake_cuda.milliseconds < 0 ? 0 : fake_cuda.milliseconds > 0 ? fake_cuda.milliseconds : 0.5f;
    return OK;
}

// ---------------------------------------------------------------------------------------------- memory

static int cuMemGetInfo(size_t *available, size_t *total)
{
    ENTER();
    *available = 12345;
    *total = (size_t)1 << 34;
    return OK;
}

// Pages that are touched by nobody cost nothing, so what is allocated for timing may be large.
static int cuMemAlloc(unsigned long long *address, size_t bytes)
{
    ENTER();
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (allocations[i].block) continue;
        void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block == MAP_FAILED) return OUT_OF_MEMORY;
        allocations[i].block = block;
        allocations[i].bytes = bytes;
        fake_cuda.allocations++;
        *address = (uintptr_t)allocations[i].block;
        return OK;
    }
    return OUT_OF_MEMORY;
}

static int cuMemFree(unsigned long long address)
{
    int result = enter(__func__);
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (!allocations[i].block || (uintptr_t)allocations[i].block != address) continue;
        munmap(allocations[i].block, allocations[i].bytes);
        allocations[i].block = NULL;
        fake_cuda.allocations--;
        return result;
    }
    return INVALID;
}

// Whether the range lies in one allocation. What doesn't is a fault of the caller.
static int is_inside(unsigned long long address, size_t bytes)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        uintptr_t begin = (uintptr_t)allocations[i].block;
        if (begin && address >= begin && address + bytes <= begin + allocations[i].bytes) return 1;
    }
    return 0;
}

static int cuMemcpyHtoD(unsigned long long to, const void *from, size_t bytes)
{
    ENTER();
    if (!is_inside(to, bytes)) return INVALID;
    fake_cuda.copies++;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return OK;
}

static int cuMemcpyDtoH(void *to, unsigned long long from, size_t bytes)
{
    ENTER();
    if (!is_inside(from, bytes)) return INVALID;
    fake_cuda.copies++;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

static int cuMemcpyDtoDAsync(unsigned long long to, unsigned long long from, size_t bytes, void *stream)
{
    ENTER();
    if (!stream || !is_inside(from, bytes) || !is_inside(to, bytes)) return INVALID;
    fake_cuda.copies++;
    if (bytes < 1 << 20) memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);  // large ones are for timing
    return OK;
}

static int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *stream)
{
    ENTER();
    if (!stream || !is_inside(to, bytes)) return INVALID;
    fake_cuda.fills++;
    if (bytes < 1 << 20) memset((void *)(uintptr_t)to, value, bytes);
    return OK;
}

// ---------------------------------------------------------------------------------------------- modules and launches

static int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    (void)count, (void)options, (void)values;
    ENTER();
    if (strncmp(image, "fake ", 5) != 0 && strncmp(image, "\177ELF", 4) != 0) return 200;
    fake_cuda.modules++;
    *module = &fake_cuda.log[fake_cuda.loads++ % FAKE_LOG];  // one handle each
    return OK;
}

static int cuModuleUnload(void *module)
{
    (void)module;
    fake_cuda.modules--;
    ENTER();
    return OK;
}

static int cuModuleGetFunction(void **function, void *module, const char *name)
{
    ENTER();
    *function = module;
    return module && *name ? OK : NOT_FOUND;
}

static int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    ENTER();
    *value = 1024;
    return attribute == 0 && function ? OK : INVALID;
}

static int cuFuncSetAttribute(void *function, int attribute, int value)
{
    ENTER();
    return function && attribute == 8 && value > 0 ? OK : INVALID;
}

static void spoil(void)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        char *block = allocations[i].block;
        if (!block || allocations[i].bytes < 2 * FAKE_GUARD) continue;
        if (fake_cuda.spoil == SPOIL_BEFORE) block[FAKE_GUARD - 1] = 7;
        if (fake_cuda.spoil == SPOIL_BEHIND) block[allocations[i].bytes - FAKE_GUARD] = 7;
    }
}

static int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra)
{
    ENTER();
    if (!function || !stream || !arguments || extra || !grid_x || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1) return INVALID;
    fake_cuda.launches++;
    fake_cuda.last_blocks = grid_x;
    fake_cuda.last_threads = block_x;
    fake_cuda.last_shared = shared;
    fake_cuda.last_stream = stream;
    fake_cuda.last_function = function;
    fake_cuda.last_in_primary = fake_cuda.pushed > 0;
    fake_cuda.last_address = *(unsigned long long *)arguments[0];
    spoil();
    return OK;
}

// ---------------------------------------------------------------------------------------------- the table

#define ENTRY(name) {#name, (void (*)(void))name}
static const struct {
    const char *name;
    void (*function)(void);
} entries[] = {
    ENTRY(cuInit), ENTRY(cuDriverGetVersion), ENTRY(cuGetErrorName), ENTRY(cuGetErrorString), ENTRY(cuDeviceGetCount), ENTRY(cuDeviceGet),
    ENTRY(cuDeviceGetName), ENTRY(cuDeviceGetPCIBusId), ENTRY(cuDeviceGetAttribute), ENTRY(cuDeviceTotalMem), ENTRY(cuDevicePrimaryCtxRetain),
    ENTRY(cuDevicePrimaryCtxRelease), ENTRY(cuCtxPushCurrent), ENTRY(cuCtxPopCurrent), ENTRY(cuCtxGetCurrent),
    ENTRY(cuCtxGetDevice), ENTRY(cuMemGetInfo), ENTRY(cuMemAlloc),
    ENTRY(cuMemFree), ENTRY(cuMemcpyHtoD), ENTRY(cuMemcpyDtoH), ENTRY(cuMemcpyDtoDAsync), ENTRY(cuMemsetD8Async), ENTRY(cuStreamCreate),
    ENTRY(cuStreamDestroy), ENTRY(cuStreamSynchronize), ENTRY(cuEventCreate), ENTRY(cuEventDestroy), ENTRY(cuEventRecord),
    ENTRY(cuEventElapsedTime), ENTRY(cuModuleLoadDataEx), ENTRY(cuModuleUnload), ENTRY(cuModuleGetFunction), ENTRY(cuFuncGetAttribute),
    ENTRY(cuFuncSetAttribute), ENTRY(cuLaunchKernel),
};

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found);
EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
    (void)flags, (void)found;
    *function = NULL;
    if (version < 12000 || (fake_cuda.missing && strcmp(fake_cuda.missing, name) == 0)) return NOT_FOUND;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0) return memcpy(function, &entries[i].function, sizeof *function), OK;
    return NOT_FOUND;
}
