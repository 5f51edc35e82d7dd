// SPDX-License-Identifier: Apache-2.0
// tilec.h: devices. In: a name. Out: what kernels are bound to.
//
// A forked process shares neither the driver's state nor the threads of OpenMP, and what uses them there hangs. So a
// device knows the process it belongs to: from a page that the system gives a child as zeros, since asking for the
// process's id at every launch would cost more than all of its other checks.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/call.h"
#include "runtime/given.h"

// ---------------------------------------------------------------------------------------------- forks

static void guard_forks(tilec_device *device)
{
    device->owner = getpid();
#ifdef MADV_WIPEONFORK
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, size, MADV_WIPEONFORK) == 0) {
        *page = 1;
        device->alive = page;
    } else {
        munmap(page, size);
    }
#endif
}

bool device_is_ours(const tilec_device *device)
{
    return device->alive ? *device->alive != 0 : device->owner == getpid();
}

// ---------------------------------------------------------------------------------------------- contexts

struct status device_primary(struct arena *arena, tilec_device *device, cuda_context_handle *context)
{
    struct status status = STATUS_OK;
    pthread_mutex_lock(&device->lock);
    if (!device->primary) {
        cuda_result result = device->cuda->cuda->context_retain(&device->primary, device->cuda->handle);
        if (result != CUDA_OK) {
            device->primary = NULL;
            status = cuda_failed(arena, device->cuda->cuda, result, "device.context", "no context on %s", device->name);
        }
    }
    *context = device->primary;
    pthread_mutex_unlock(&device->lock);
    return status;
}

// ---------------------------------------------------------------------------------------------- tilec.h

static struct status open_device(tilec_device *device, const char *name)
{
    int ordinal = 0;
    device->target = "cpu";
    device->name = arena_copy(device->arena, name, strlen(name));
    if (strcmp(name, "cpu") == 0) return device->kind = DEVICE_CPU, STATUS_OK;
    if (strcmp(name, "reference") == 0) return device->kind = DEVICE_REFERENCE, device->target = "", STATUS_OK;
    if (!cuda_device_named(name, &ordinal))
        return status_failed(device->arena, "usage.device", "there is no device '%s'; there are cpu, cuda, cuda:N and reference", name);
    struct status status = cuda_device_look(device->arena, ordinal, &device->cuda);
    if (!status.ok) return status;
    device->kind = DEVICE_CUDA;
    device->name = arena_printf(device->arena, "cuda:%d", ordinal);
    device->target = arena_printf(device->arena, "sm_%d", device->cuda->properties.sm);
    return STATUS_OK;
}

tilec_result tilec_device_open(const char *name, tilec_report *report, tilec_device **device)
{
    if (device) *device = NULL;
    WANT(report, name, device);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_device *opened = ARENA_NEW(arena, tilec_device);
    opened->arena = arena;
    pthread_mutex_init(&opened->lock, NULL);
    struct status status = open_device(opened, name);
    tilec_result result = report_status(report, &status);
    if (!status.ok) return tilec_device_free(opened), result;
    guard_forks(opened);
    *device = opened;
    return TILEC_OK;
}

void tilec_device_free(tilec_device *device)
{
    if (!device) return;
    if (device->cuda && (!device->owner || device_is_ours(device))) {
        if (device->primary) device->cuda->cuda->context_release(device->cuda->handle);
        cuda_device_close(device->cuda);
    }
    if (device->alive) munmap((void *)(uintptr_t)device->alive, (size_t)sysconf(_SC_PAGESIZE));
    pthread_mutex_destroy(&device->lock);
    arena_free(device->arena);
}

const char *tilec_device_name(const tilec_device *device)
{
    if (!device) return NULL;
    return device->name;
}

const char *tilec_device_target(const tilec_device *device)
{
    if (!device) return NULL;
    return device->target;
}
