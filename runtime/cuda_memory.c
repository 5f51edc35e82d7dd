// SPDX-License-Identifier: Apache-2.0
// In: tensors of the host. Out: the same on the device, each between two guard areas, and the outputs back again.
//
// Plain allocations, never managed ones: a kernel that goes astray then fails instead of paging. The trailing guard
// begins at the byte behind the data.
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda.h"
#include "runtime/data.h"

enum { GUARD_VALUE = 0xff };

// ---------------------------------------------------------------------------------------------- buffers

static struct status new_failed(struct arena *arena, struct cuda_device *device, cuda_result result, const char *name, size_t bytes)
{
    size_t available = 0, total = 0;
    struct cuda *cuda = device->cuda;
    if (result != CUDA_OUT_OF_MEMORY) return cuda_failed(arena, cuda, result, "device.memory", "no memory for %s on cuda:%d", name, device->ordinal);
    cuda->memory_info(&available, &total);
    return cuda_failed(arena, cuda, result, "memory.device", "%s needs %zu bytes on cuda:%d, which has %zu free of %zu", name, bytes,
                       device->ordinal, available, total);
}

struct status cuda_buffer_new(struct arena *arena, struct cuda_device *device, const char *name, size_t bytes, struct cuda_buffer *buffer)
{
    struct cuda *cuda = device->cuda;
    cuda_address block = 0;
    *buffer = (struct cuda_buffer){0};
    if (bytes > SIZE_MAX - 2 * CUDA_GUARD_BYTES) return new_failed(arena, device, CUDA_OUT_OF_MEMORY, name, bytes);
    cuda_result result = cuda->memory_new(&block, bytes + 2 * CUDA_GUARD_BYTES);
    if (result != CUDA_OK) return new_failed(arena, device, result, name, bytes);
    *buffer = (struct cuda_buffer){.block = block, .address = block + CUDA_GUARD_BYTES, .bytes = bytes};
    result = cuda->fill(block, GUARD_VALUE, CUDA_GUARD_BYTES, device->stream);
    if (result == CUDA_OK) result = cuda->fill(buffer->address + bytes, GUARD_VALUE, CUDA_GUARD_BYTES, device->stream);
    if (result == CUDA_OK) result = cuda->stream_wait(device->stream);
    if (result == CUDA_OK) return STATUS_OK;
    cuda_buffer_free(device, buffer);
    return cuda_failed(arena, cuda, result, "device.memory", "the memory of %s can't be written", name);
}

void cuda_buffer_free(struct cuda_device *device, struct cuda_buffer *buffer)
{
    if (buffer->block) device->cuda->memory_free(buffer->block);
    *buffer = (struct cuda_buffer){0};
}

// The distance from the data of the changed byte that is nearest to it: 1 is the neighbour. 0: none has changed.
static int changed(const unsigned char *guard, bool before)
{
    for (int i = 0; i < CUDA_GUARD_BYTES; i++)
        if (guard[before ? CUDA_GUARD_BYTES - 1 - i : i] != GUARD_VALUE) return i + 1;
    return 0;
}

struct status cuda_buffer_check(struct arena *arena, struct cuda_device *device, const char *name, const struct cuda_buffer *buffer)
{
    unsigned char guard[CUDA_GUARD_BYTES];
    for (int side = 0; side < 2; side++) {
        cuda_address from = side == 0 ? buffer->block : buffer->address + buffer->bytes;
        cuda_result result = device->cuda->copy_out(guard, from, sizeof guard);
        if (result != CUDA_OK) return cuda_failed(arena, device->cuda, result, "device.copy", "the memory around %s can't be read", name);
        int distance = changed(guard, side == 0);
        if (distance)
            return status_failed(arena, "check.guard", "the kernel wrote %s of '%s' on cuda:%d, %d byte%s off", side == 0 ? "before the start" : "past the end",
                                 name, device->ordinal, distance, distance == 1 ? "" : "s");
    }
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- the tensors of a kernel

static bool is_on_device(const struct ir_kernel *kernel, const struct ir_tensor *tensors, int param)
{
    return kernel->params[param].kind != PARAM_SCALAR && tensors[param].data;
}

static bool is_output(const struct ir_param *param)
{
    return param->kind == PARAM_OUT || param->kind == PARAM_INOUT;
}

static struct status upload(struct arena *arena, struct cuda_device *device, const char *name, const struct ir_tensor *tensor,
                            struct cuda_buffer *buffer)
{
    size_t bytes = (size_t)tensor_elements(tensor) * (size_t)ir_type_bytes(tensor->type);
    struct status status = cuda_buffer_new(arena, device, name, bytes, buffer);
    if (!status.ok || bytes == 0) return status;
    cuda_result result = device->cuda->copy_in(buffer->address, tensor->data, bytes);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(arena, device->cuda, result, "device.copy", "%s can't be copied to cuda:%d", name, device->ordinal);
}

struct status cuda_tensors_new(struct arena *arena, struct cuda_device *device, const struct ir_kernel *kernel,
                               const struct ir_tensor *tensors, struct cuda_tensors *made)
{
    struct status status = STATUS_OK;
    made->count = kernel->param_count;
    made->buffers = ARENA_ARRAY(arena, struct cuda_buffer, kernel->param_count + 1);
    made->views = ARENA_ARRAY(arena, struct ir_tensor, kernel->param_count + 1);
    for (int i = 0; i < kernel->param_count && status.ok; i++) {
        if (!is_on_device(kernel, tensors, i)) continue;
        status = upload(arena, device, kernel->params[i].name, &tensors[i], &made->buffers[i]);
        made->views[i] = tensors[i];
        made->views[i].data = (void *)(uintptr_t)made->buffers[i].address;
    }
    return status;
}

struct status cuda_tensors_fetch(struct arena *arena, struct cuda_device *device, const struct ir_kernel *kernel,
                                 const struct cuda_tensors *made, const struct ir_tensor *tensors)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < made->count && status.ok; i++)
        if (made->buffers[i].block) status = cuda_buffer_check(arena, device, kernel->params[i].name, &made->buffers[i]);
    for (int i = 0; i < made->count && status.ok; i++) {
        const struct cuda_buffer *buffer = &made->buffers[i];
        if (!buffer->bytes || !is_output(&kernel->params[i])) continue;
        cuda_result result = device->cuda->copy_out(tensors[i].data, buffer->address, buffer->bytes);
        if (result != CUDA_OK)
            status = cuda_failed(arena, device->cuda, result, "device.copy", "%s can't be copied from cuda:%d", kernel->params[i].name, device->ordinal);
    }
    return status;
}

void cuda_tensors_free(struct cuda_device *device, struct cuda_tensors *made)
{
    for (int i = 0; i < made->count; i++) cuda_buffer_free(device, &made->buffers[i]);
    made->count = 0;
}
