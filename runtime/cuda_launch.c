// SPDX-License-Identifier: Apache-2.0
// In: a launch plan, a binary, tensors on the device. Out: launches queued on the device's stream, or the limit that
// one of them is over. What can be refused is refused as early as its number is known: threads, shared memory and
// blocks before compiling, registers before loading.
#include <string.h>

#include "runtime/cuda.h"

// ---------------------------------------------------------------------------------------------- limits

static struct status check_shared(struct arena *arena, const struct cuda_properties *properties, const char *kernel, int64_t fixed, int64_t dynamic)
{
    if (fixed > properties->shared_per_block)
        return status_failed(arena, "limits.shared", "kernel %s declares %lld bytes of shared memory; %s has at most %d for what is declared", kernel,
                             (long long)fixed, properties->name, properties->shared_per_block);
    if (fixed + dynamic > properties->shared_optin)
        return status_failed(arena, "limits.shared", "kernel %s needs %lld bytes of shared memory per block; %s has at most %d", kernel,
                             (long long)(fixed + dynamic), properties->name, properties->shared_optin);
    return STATUS_OK;
}

static struct status check_kernel(struct arena *arena, const struct cuda_properties *properties, const struct launch_kernel *kernel,
                                  const struct ir_bindings *bindings)
{
    int64_t blocks = launch_blocks(kernel, bindings);
    if (kernel->threads > properties->threads_per_block)
        return status_failed(arena, "limits.threads", "kernel %s needs %d threads per block; %s has at most %d", kernel->name, kernel->threads,
                             properties->name, properties->threads_per_block);
    if (blocks > properties->blocks)
        return status_failed(arena, "limits.blocks", "kernel %s needs %lld blocks; %s takes at most %lld: use larger tiles", kernel->name,
                             (long long)blocks, properties->name, (long long)properties->blocks);
    return check_shared(arena, properties, kernel->name, kernel->static_shared_bytes, kernel->shared_bytes);
}

struct status cuda_check_plan(struct arena *arena, const struct cuda_properties *properties, const struct launch_plan *plan,
                              const struct ir_bindings *bindings)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < plan->kernel_count && status.ok; i++) status = check_kernel(arena, properties, &plan->kernels[i], bindings);
    return status;
}

static const struct cuda_usage *usage_of(const char *kernel, int count, const struct cuda_usage *usage)
{
    for (int i = 0; i < count; i++)
        if (strcmp(usage[i].name, kernel) == 0) return &usage[i];
    return NULL;
}

// Registers are given out per warp, in eights per thread.
static struct status check_registers(struct arena *arena, const struct cuda_properties *properties, const struct launch_kernel *kernel,
                                     const struct cuda_usage *usage)
{
    int warp = properties->warp > 0 ? properties->warp : 32;
    int64_t threads = (int64_t)(kernel->threads + warp - 1) / warp * warp;
    int64_t registers = (usage->registers + 7) / 8 * 8 * threads;
    if (registers > properties->registers_per_block)
        return status_failed(arena, "limits.registers", "kernel %s needs %d registers in each of %d threads, %lld in all; %s has at most %d per block",
                             kernel->name, usage->registers, kernel->threads, (long long)registers, properties->name, properties->registers_per_block);
    return check_shared(arena, properties, kernel->name, usage->shared_bytes, kernel->shared_bytes);
}

struct status cuda_check_usage(struct arena *arena, const struct cuda_properties *properties, const struct launch_plan *plan,
                               int usage_count, const struct cuda_usage *usage)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < plan->kernel_count && status.ok; i++) {
        const struct cuda_usage *found = usage_of(plan->kernels[i].name, usage_count, usage);
        if (found) status = check_registers(arena, properties, &plan->kernels[i], found);
    }
    return status;
}

// ---------------------------------------------------------------------------------------------- loading

static struct status allow_shared(struct arena *arena, struct cuda_device *device, const struct launch_kernel *kernel,
                                  cuda_function_handle function)
{
    if (kernel->static_shared_bytes + kernel->shared_bytes <= device->properties.shared_per_block) return STATUS_OK;
    cuda_result result = device->cuda->function_set(function, FUNCTION_DYNAMIC_SHARED, (int)kernel->shared_bytes);
    if (result == CUDA_OK) return STATUS_OK;
    return cuda_failed(arena, device->cuda, result, "limits.shared", "kernel %s needs %lld bytes of dynamic shared memory, which cuda:%d refuses",
                       kernel->name, (long long)kernel->shared_bytes, device->ordinal);
}

// What the loaded code allows can be less than what the device allows.
struct status cuda_check_function(struct arena *arena, struct cuda_device *device, const struct launch_kernel *kernel,
                                  cuda_function_handle function)
{
    int threads = 0;
    cuda_result result = device->cuda->function_attribute(&threads, FUNCTION_THREADS, function);
    if (result != CUDA_OK) return cuda_failed(arena, device->cuda, result, "device.function", "kernel %s doesn't tell its limits", kernel->name);
    if (kernel->threads > threads)
        return status_failed(arena, "limits.threads", "kernel %s needs %d threads per block; as compiled it can have at most %d", kernel->name,
                             kernel->threads, threads);
    return allow_shared(arena, device, kernel, function);
}

// Their contents don't matter, so one set serves every launch of the program on the device's one stream. They start as
// NaNs: a kernel that reads what it hasn't written gives itself away.
static struct status make_workspaces(struct arena *arena, struct cuda_device *device, const struct launch_plan *plan,
                                     const struct ir_bindings *bindings, struct cuda_program *program)
{
    program->workspaces = ARENA_ARRAY(arena, struct cuda_buffer, plan->workspace_count + 1);
    for (int i = 0; i < plan->workspace_count; i++) {
        int64_t bytes = launch_workspace_bytes(plan->workspaces[i], bindings);
        struct status status = cuda_buffer_new(arena, device, plan->workspaces[i]->name, (size_t)bytes, &program->workspaces[i]);
        if (!status.ok) return status;
        program->workspace_count++;
        cuda_result result = bytes ? device->cuda->fill(program->workspaces[i].address, 0xff, (size_t)bytes, device->stream) : CUDA_OK;
        if (result != CUDA_OK) return cuda_failed(arena, device->cuda, result, "device.memory", "the workspace %s can't be written", plan->workspaces[i]->name);
    }
    return STATUS_OK;
}

static void **workspace_addresses(struct arena *arena, const struct cuda_program *program)
{
    void **addresses = ARENA_ARRAY(arena, void *, program->workspace_count + 1);
    for (int i = 0; i < program->workspace_count; i++) addresses[i] = (void *)(uintptr_t)program->workspaces[i].address;
    return addresses;
}

static struct status prepare_launch(struct arena *arena, struct cuda_device *device, const struct launch_kernel *kernel,
                                    const struct ir_bindings *bindings, const struct ir_tensor *tensors, struct cuda_program *program)
{
    int64_t blocks = launch_blocks(kernel, bindings);
    cuda_function_handle function = NULL;
    if (blocks <= 0) return STATUS_OK;
    cuda_result result = device->cuda->module_function(&function, program->module, kernel->name);
    if (result != CUDA_OK) return cuda_failed(arena, device->cuda, result, "launch.symbol", "the binary has no kernel %s", kernel->name);
    struct status status = cuda_check_function(arena, device, kernel, function);
    if (!status.ok) return status;
    program->launches[program->launch_count++] = (struct cuda_launch){
        .name = kernel->name, .function = function, .blocks = (unsigned)blocks, .threads = (unsigned)kernel->threads,
        .shared_bytes = (unsigned)kernel->shared_bytes, .arguments = plan_arguments(arena, kernel, bindings, tensors, workspace_addresses(arena, program))};
    return STATUS_OK;
}

struct status cuda_program_load(struct arena *arena, struct cuda_device *device, const struct cuda_binary *binary,
                                const struct launch_plan *plan, const struct ir_bindings *bindings,
                                const struct ir_tensor *tensors, struct cuda_program *program)
{
    *program = (struct cuda_program){.launches = ARENA_ARRAY(arena, struct cuda_launch, plan->kernel_count + 1)};
    cuda_result result = device->cuda->module_load(&program->module, binary->data, 0, NULL, NULL);
    if (result != CUDA_OK) {
        program->module = NULL;
        const char *code = result == CUDA_OUT_OF_MEMORY ? "memory.device" : "device.load";
        return cuda_failed(arena, device->cuda, result, code, "the compiled code can't be loaded on cuda:%d", device->ordinal);
    }
    struct status status = make_workspaces(arena, device, plan, bindings, program);
    for (int i = 0; i < plan->kernel_count && status.ok; i++)
        status = prepare_launch(arena, device, &plan->kernels[i], bindings, tensors, program);
    if (!status.ok) cuda_program_free(device, program);
    return status;
}

struct status cuda_program_launch(struct arena *arena, struct cuda_device *device, const struct cuda_program *program)
{
    for (int i = 0; i < program->launch_count; i++) {
        const struct cuda_launch *launch = &program->launches[i];
        cuda_result result = device->cuda->launch(launch->function, launch->blocks, 1, 1, launch->threads, 1, 1, launch->shared_bytes,
                                                  device->stream, launch->arguments, NULL);
        if (result != CUDA_OK) return cuda_launch_failed(arena, device->cuda, result, launch->name);
    }
    return STATUS_OK;
}

struct status cuda_program_check(struct arena *arena, struct cuda_device *device, const struct cuda_program *program)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < program->workspace_count && status.ok; i++)
        status = cuda_buffer_check(arena, device, arena_printf(arena, "workspace %d", i), &program->workspaces[i]);
    return status;
}

void cuda_program_free(struct cuda_device *device, struct cuda_program *program)
{
    for (int i = 0; i < program->workspace_count; i++) cuda_buffer_free(device, &program->workspaces[i]);
    if (program->module) device->cuda->module_free(program->module);
    *program = (struct cuda_program){0};
}

// ---------------------------------------------------------------------------------------------- tilec's own kernels

struct status cuda_module_of(struct arena *arena, struct cuda_device *device, const char *text, const char *name, cuda_module_handle *module)
{
    struct nvrtc *nvrtc = NULL;
    struct cuda_binary binary;
    struct status status = nvrtc_open(arena, &nvrtc);
    if (!status.ok) return status;
    const int *known = NULL;
    int count = nvrtc_architectures(nvrtc, &known);
    struct target target = {.kind = TARGET_CUDA};
    for (int i = 0; i < count; i++)
        if (known[i] <= device->properties.sm && known[i] > target.sm) target.sm = known[i];
    bool ptx = target.sm / 10 != device->properties.sm / 10;
    status = nvrtc_compile(arena, nvrtc, text, name, target, ptx, &binary);
    nvrtc_close(nvrtc);
    if (!status.ok) return status;
    cuda_result result = device->cuda->module_load(module, binary.data, 0, NULL, NULL);
    return result == CUDA_OK ? STATUS_OK : cuda_failed(arena, device->cuda, result, "device.load", "%s can't be loaded", name);
}
