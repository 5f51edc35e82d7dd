// SPDX-License-Identifier: Apache-2.0
// In: this machine. Out: the CUDA driver as a table of functions, and its errors as statuses.
//
// The driver is opened when first asked for, by its soname, so tilec runs without it. Functions are taken through
// cuGetProcAddress_v2, which gives each the version that this file was written for (CUDA 12.0), whatever the driver's
// own. The toolkit's stub, a library of that name that only fails, is recognized by its folder and refused.
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda.h"

enum { INTERFACE = 12000 };  // the CUDA version whose functions are asked for

typedef cuda_result (*address_function)(const char *name, void **function, int version, uint64_t flags, int *found);

// ---------------------------------------------------------------------------------------------- errors

static const char *error_text(struct arena *arena, struct cuda *cuda, cuda_result result)
{
    const char *name = NULL, *text = NULL;
    if (cuda->error_name) cuda->error_name(result, &name);
    if (cuda->error_string) cuda->error_string(result, &text);
    return arena_printf(arena, "%s, %d%s%s", name ? name : "an error without a name", result, text ? ": " : "", text ? text : "");
}

struct status cuda_failed(struct arena *arena, struct cuda *cuda, cuda_result result, const char *code, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    cuda->last_error = result;
    return status_failed(arena, code, "%s (%s)", words, error_text(arena, cuda, result));
}

struct status cuda_launch_failed(struct arena *arena, struct cuda *cuda, cuda_result result, const char *kernel)
{
    static const struct {
        cuda_result result;
        const char *code, *words;
    } kinds[] = {
        {CUDA_ILLEGAL_ADDRESS, "launch.illegal-access", "read or wrote outside the memory it was given"},
        {CUDA_MISALIGNED, "launch.misaligned", "used an address that isn't a multiple of the access's size"},
        {CUDA_TIMEOUT, "launch.timeout", "ran too long for the driver"},
        {CUDA_TRAP, "launch.trap", "stopped itself: an assert failed"},
        {CUDA_LAUNCH_FAILED, "launch.trap", "stopped: an assert failed, or a fault that the driver doesn't name"},
        {CUDA_ILLEGAL_INSTRUCTION, "launch.illegal-instruction", "ran an illegal instruction"},
        {CUDA_INVALID_ADDRESS_SPACE, "launch.illegal-access", "used an address of the wrong space"},
        {CUDA_INVALID_PC, "launch.illegal-instruction", "jumped to nowhere"},
        {CUDA_OUT_OF_RESOURCES, "launch.resources", "needs more registers or threads than the device has"},
        {CUDA_OUT_OF_MEMORY, "memory.device", "needs more memory than the device has"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].result == result) return cuda_failed(arena, cuda, result, kinds[i].code, "kernel %s %s", kernel, kinds[i].words);
    return cuda_failed(arena, cuda, result, "launch.failed", "kernel %s failed", kernel);
}

int cuda_last_error(const struct cuda *cuda)
{
    return cuda ? cuda->last_error : CUDA_OK;
}

// ---------------------------------------------------------------------------------------------- opening

static bool is_stub(void *handle)
{
    char origin[PATH_MAX] = "";
    if (dlinfo(handle, RTLD_DI_ORIGIN, origin) != 0) return false;
    const char *last = strrchr(origin, '/');
    return last && strcmp(last, "/stubs") == 0;
}

// The loader's own search, then the folders into which containers and WSL put the driver.
static void *open_driver(const char **path)
{
    static const char *const places[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    const char *chosen = getenv("TILEC_TEST_LIBCUDA");
    void *handle = NULL;
    *path = chosen && *chosen ? chosen : places[0];
    if (*path == chosen) return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof places / sizeof *places && !handle; i++) handle = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static struct status open_library(struct arena *arena, struct cuda *cuda)
{
    const char *path = NULL;
    cuda->handle = open_driver(&path);
    if (!cuda->handle)
        return status_failed(arena, "missing.driver", "no CUDA driver: the loader finds no %s; install NVIDIA's driver, or run on --device cpu", path);
    if (is_stub(cuda->handle))
        return status_failed(arena, "missing.driver", "the loader finds the toolkit's stub of %s before the driver: take its folder "
                             "out of LD_LIBRARY_PATH", path);
    return STATUS_OK;
}

static struct status take_functions(struct arena *arena, struct cuda *cuda)
{
    address_function ask = NULL;
    void *symbol = dlsym(cuda->handle, "cuGetProcAddress_v2"), *function = NULL;
    memcpy(&ask, &symbol, sizeof symbol);  // function pointers aren't assigned from void * in ISO C
    if (!ask) return status_failed(arena, "missing.driver", "the CUDA driver is too old: it has no cuGetProcAddress_v2; CUDA 12.0 or later is needed");
#define TAKE(name, member, parameters)                                                                            \
    function = NULL;                                                                                              \
    if (ask(#name, &function, INTERFACE, 0, NULL) != CUDA_OK || !function)                                        \
        return status_failed(arena, "missing.driver", "the CUDA driver has no %s; CUDA 12.0 or later is needed", #name); \
    memcpy(&cuda->member, &function, sizeof function);
    CUDA_FUNCTIONS(TAKE)
#undef TAKE
    return STATUS_OK;
}

static struct status initialize(struct arena *arena, struct cuda *cuda)
{
    cuda_result result = cuda->init(0);
    if (result != CUDA_OK) return cuda_failed(arena, cuda, result, "missing.driver", "the CUDA driver can't start");
    result = cuda->driver_version(&cuda->version);
    if (result != CUDA_OK) return cuda_failed(arena, cuda, result, "missing.driver", "the CUDA driver doesn't tell its version");
    return STATUS_OK;
}

struct status cuda_open(struct arena *arena, struct cuda **cuda)
{
    struct cuda *opened = ARENA_NEW(arena, struct cuda);
    opened->arena = arena;
    *cuda = NULL;
    struct status status = open_library(arena, opened);
    if (status.ok) status = take_functions(arena, opened);
    if (status.ok) status = initialize(arena, opened);
    if (status.ok) *cuda = opened;
    else cuda_close(opened);
    return status;
}

// A driver that was initialized has threads and handlers of its own: it stays mapped.
void cuda_close(struct cuda *cuda)
{
    if (cuda && cuda->handle && !cuda->version) dlclose(cuda->handle);
    if (cuda) cuda->handle = NULL;
}
