// SPDX-License-Identifier: Apache-2.0
// In: the number of a device. Out: the device with its primary context current on this thread, a stream and its limits.
//
// The primary context is the one that all libraries of a process share, so tensors made by others can be used.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda.h"

bool cuda_device_named(const char *text, int *ordinal)
{
    *ordinal = 0;
    if (strcmp(text, "cuda") == 0) return true;
    if (strncmp(text, "cuda:", 5) != 0) return false;
    size_t digits = strspn(text + 5, "0123456789");
    if (digits < 1 || digits > 4 || text[5 + digits]) return false;
    *ordinal = atoi(text + 5);
    return true;
}

// ---------------------------------------------------------------------------------------------- properties

struct property {
    int attribute;
    int *place;
    bool needed;
};

static struct status read_attributes(struct arena *arena, struct cuda_device *device, int *major, int *minor, int *blocks)
{
    struct cuda_properties *properties = &device->properties;
    const struct property list[] = {
        {ATTRIBUTE_MAJOR, major, true},
        {ATTRIBUTE_MINOR, minor, true},
        {ATTRIBUTE_WARP, &properties->warp, true},
        {ATTRIBUTE_GRID_X, blocks, true},
        {ATTRIBUTE_MULTIPROCESSORS, &properties->multiprocessors, true},
        {ATTRIBUTE_THREADS_PER_BLOCK, &properties->threads_per_block, true},
        {ATTRIBUTE_THREADS_PER_MULTIPROCESSOR, &properties->threads_per_multiprocessor, true},
        {ATTRIBUTE_REGISTERS_PER_BLOCK, &properties->registers_per_block, true},
        {ATTRIBUTE_SHARED_PER_BLOCK, &properties->shared_per_block, true},
        {ATTRIBUTE_SHARED_OPTIN, &properties->shared_optin, true},
        {ATTRIBUTE_L2, &properties->l2_bytes, false},
        {ATTRIBUTE_CLOCK, &properties->clock_khz, false},
        {ATTRIBUTE_MEMORY_CLOCK, &properties->memory_clock_khz, false},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        cuda_result result = device->cuda->device_attribute(list[i].place, list[i].attribute, device->handle);
        if (result == CUDA_OK) continue;
        *list[i].place = 0;
        if (list[i].needed)
            return cuda_failed(arena, device->cuda, result, "device.attribute", "device %d doesn't tell its attribute %d", device->ordinal,
                               list[i].attribute);
    }
    return STATUS_OK;
}

static struct status read_properties(struct arena *arena, struct cuda_device *device)
{
    struct cuda_properties *properties = &device->properties;
    int major = 0, minor = 0, blocks = 0;
    char name[256] = "", bus[64] = "";
    size_t memory = 0;
    struct status status = read_attributes(arena, device, &major, &minor, &blocks);
    if (!status.ok) return status;
    device->cuda->device_name(name, sizeof name, device->handle);
    device->cuda->device_bus(bus, sizeof bus, device->handle);
    device->cuda->device_memory(&memory, device->handle);
    properties->name = arena_printf(arena, "%s", *name ? name : "a device without a name");
    properties->bus = arena_printf(arena, "%s", bus);
    properties->sm = 10 * major + minor;
    properties->blocks = blocks;
    properties->memory_bytes = (int64_t)memory;
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- opening

static struct status find_device(struct arena *arena, struct cuda_device *device)
{
    struct cuda *cuda = device->cuda;
    int count = 0;
    cuda_result result = cuda->device_count(&count);
    if (result != CUDA_OK) return cuda_failed(arena, cuda, result, "missing.device", "the CUDA driver doesn't count its devices");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char *shown = visible ? arena_printf(arena, " (CUDA_VISIBLE_DEVICES is \"%s\")", visible) : "";
    if (count <= 0) return status_failed(arena, "missing.device", "the CUDA driver shows no device%s", shown);
    if (device->ordinal >= count)
        return status_failed(arena, "missing.device", "there is no cuda:%d; the CUDA driver shows %d device%s, from cuda:0%s", device->ordinal,
                             count, count == 1 ? "" : "s", shown);
    result = cuda->device_get(&device->handle, device->ordinal);
    if (result != CUDA_OK) return cuda_failed(arena, cuda, result, "missing.device", "the CUDA driver doesn't give device %d", device->ordinal);
    return STATUS_OK;
}

static struct status open_context(struct arena *arena, struct cuda_device *device)
{
    struct cuda *cuda = device->cuda;
    cuda_context_handle context = NULL;
    cuda_result result = cuda->context_retain(&context, device->handle);
    if (result != CUDA_OK) return cuda_failed(arena, cuda, result, "device.context", "no context on cuda:%d", device->ordinal);
    result = cuda->context_push(context);
    if (result != CUDA_OK) {
        cuda->context_release(device->handle);
        return cuda_failed(arena, cuda, result, "device.context", "the context of cuda:%d can't be used", device->ordinal);
    }
    device->context = context;
    // One that keeps in step with the default stream: copies from the host go through that one, and may still be under way
    // when the call that asked for them returns.
    result = cuda->stream_new(&device->stream, 0);
    if (result != CUDA_OK) return device->stream = NULL, cuda_failed(arena, cuda, result, "device.stream", "no stream on cuda:%d", device->ordinal);
    return STATUS_OK;
}

struct status cuda_device_look(struct arena *arena, int ordinal, struct cuda_device **device)
{
    struct cuda_device *opened = ARENA_NEW(arena, struct cuda_device);
    opened->ordinal = ordinal;
    *device = NULL;
    struct status status = cuda_open(arena, &opened->cuda);
    if (status.ok) status = find_device(arena, opened);
    if (status.ok) status = read_properties(arena, opened);
    if (status.ok) *device = opened;
    else cuda_device_close(opened);
    return status;
}

struct status cuda_device_open(struct arena *arena, int ordinal, struct cuda_device **device)
{
    struct status status = cuda_device_look(arena, ordinal, device);
    if (status.ok) status = open_context(arena, *device);
    if (status.ok) return status;
    cuda_device_close(*device);
    *device = NULL;
    return status;
}

void cuda_device_close(struct cuda_device *device)
{
    if (!device) return;
    if (device->stream) device->cuda->stream_free(device->stream);
    if (device->context) {
        cuda_context_handle popped = NULL;
        device->cuda->context_pop(&popped);
        device->cuda->context_release(device->handle);
    }
    device->stream = NULL;
    device->context = NULL;
    cuda_close(device->cuda);
}

struct status cuda_wait(struct arena *arena, struct cuda_device *device, const char *kernel)
{
    cuda_result result = device->cuda->stream_wait(device->stream);
    return result == CUDA_OK ? STATUS_OK : cuda_launch_failed(arena, device->cuda, result, kernel);
}

// ---------------------------------------------------------------------------------------------- clocks

// NVML: the driver's version as people know it, and the clocks at this moment. Nothing depends on it.
struct management {
    void *handle;
    int (*init)(void);
    int (*shutdown)(void);
    int (*version)(char *text, unsigned length);
    int (*device)(const char *bus, void **device);
    int (*clock)(void *device, int kind, unsigned *mhz);
};

static bool take(const struct management *management, const char *name, void *place)
{
    void *symbol = dlsym(management->handle, name);
    memcpy(place, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool open_management(struct management *management)
{
    management->handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!management->handle) return false;
    if (take(management, "nvmlInit_v2", &management->init) && take(management, "nvmlShutdown", &management->shutdown) &&
        take(management, "nvmlSystemGetDriverVersion", &management->version) &&
        take(management, "nvmlDeviceGetHandleByPciBusId_v2", &management->device) &&
        take(management, "nvmlDeviceGetClockInfo", &management->clock) && management->init() == 0) return true;
    dlclose(management->handle);
    return false;
}

struct cuda_clocks cuda_clocks(const struct cuda_device *device)
{
    enum { MULTIPROCESSOR_CLOCK = 1, MEMORY_CLOCK = 2 };
    struct cuda_clocks clocks = {.driver = ""};
    struct management management = {0};
    void *handle = NULL;
    unsigned mhz = 0;
    if (!open_management(&management)) return clocks;
    if (management.version(clocks.driver, sizeof clocks.driver) != 0) clocks.driver[0] = 0;
    if (management.device(device->properties.bus, &handle) == 0) {
        if (management.clock(handle, MULTIPROCESSOR_CLOCK, &mhz) == 0) clocks.multiprocessor_mhz = (int)mhz;
        if (management.clock(handle, MEMORY_CLOCK, &mhz) == 0) clocks.memory_mhz = (int)mhz;
    }
    management.shutdown();
    dlclose(management.handle);
    return clocks;
}
