// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests of bundles: one thread's current context, devices of any capability, launches that are noted.
// What it is to be and what came in are in one struct that the test finds by dlsym.
#include <stdint.h>
#include <string.h>

#include "driver.h"

struct bundle_driver_state bundle_driver_state = {.sm = 90};

static int enter(const char *name)
{
    struct bundle_driver_state *state = &bundle_driver_state;
    return state->fail && strcmp(state->fail, name) == 0 ? 999 : 0;
}

#define ENTER() do { int status = enter(__func__); if (status) return status; } while (0)

int cuInit(unsigned flags) { ENTER(); return flags ? 1 : 0; }
int cuDeviceGet(int *device, int ordinal) { ENTER(); *device = ordinal; return ordinal ? 101 : 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    ENTER();
    (void)device;
    *value = attribute == 75 ? bundle_driver_state.sm / 10 : attribute == 76 ? bundle_driver_state.sm % 10 : -1;
    return *value < 0;
}
int cuCtxGetCurrent(void **context) { ENTER(); *context = bundle_driver_state.current; return 0; }
int cuCtxGetDevice(int *device) { ENTER(); *device = 0; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER();
    (void)device;
    __atomic_fetch_add(&bundle_driver_state.retained, 1, __ATOMIC_SEQ_CST);
    *context = &bundle_driver_state.primary;
    return 0;
}
int cuCtxPushCurrent_v2(void *context) { ENTER(); __atomic_fetch_add(&bundle_driver_state.pushed, 1, __ATOMIC_SEQ_CST); return context ? 0 : 1; }
int cuCtxPopCurrent_v2(void **context)
{
    __atomic_fetch_add(&bundle_driver_state.pushed, -1, __ATOMIC_SEQ_CST);
    *context = NULL;
    return 0;
}
int cuModuleLoadData(void **module, const void *image)
{
    ENTER();
    __atomic_fetch_add(&bundle_driver_state.loads, 1, __ATOMIC_SEQ_CST);
    *module = (void *)(uintptr_t)image;
    return memcmp(image, "\177ELF", 4) == 0 || strstr(image, ".version") ? 0 : 209;
}
int cuModuleUnload(void *module) { (void)module; bundle_driver_state.unloads++; return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    ENTER();
    *function = module;
    strncpy(bundle_driver_state.function, name, sizeof bundle_driver_state.function - 1);
    return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    ENTER();
    (void)function, (void)attribute;
    bundle_driver_state.shared = value;
    return 0;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned shared, void *stream,
                   void **arguments, void **extra)
{
    ENTER();
    if (!function || !x || y != 1 || z != 1 || !tx || ty != 1 || tz != 1 || extra) return 1;
    __atomic_fetch_add(&bundle_driver_state.launches, 1, __ATOMIC_SEQ_CST);
    bundle_driver_state.image = function;
    bundle_driver_state.ptx = memcmp(function, "\177ELF", 4) != 0;
    bundle_driver_state.blocks = x;
    bundle_driver_state.threads = tx;
    bundle_driver_state.stream = stream;
    (void)shared;
    for (int i = 0; i < 3; i++) bundle_driver_state.addresses[i] = *(uint64_t *)arguments[i];
    return 0;
}
