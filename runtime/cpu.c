// SPDX-License-Identifier: Apache-2.0
// In: a checked kernel, a config and complete tensors. Out: the outputs, computed by the CPU target.
//
// The way is that of the GPU: lower, emit, build, load, and run the launch plan, whose arguments are passed as
// cuLaunchKernel takes them: an array of pointers to the values.
#include <sys/stat.h>

#include "runtime/runtime.h"

typedef void (*run_function)(long long blocks, void **arguments);

// ---------------------------------------------------------------------------------------------- demands

static int64_t elements(const struct ir_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->shape[i];
    return count;
}

// Whether some extent or some tensor's count of elements needs more than 31 bits.
static bool needs_index64(const struct ir_kernel *kernel, const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    for (int i = 0; i < kernel->dim_count; i++)
        if (bindings->dims[i] > INT32_MAX) return true;
    for (int i = 0; i < kernel->param_count; i++) {
        if (kernel->params[i].kind == PARAM_SCALAR || !tensors[i].data) continue;
        if (elements(&tensors[i]) > INT32_MAX) return true;
        for (int j = 0; j < tensors[i].rank; j++)
            if (tensors[i].shape[j] > INT32_MAX) return true;
    }
    return false;
}

// Bit p: parameter p's address isn't a multiple of 16.
static uint64_t unaligned_params(const struct ir_kernel *kernel, const struct ir_tensor *tensors)
{
    uint64_t unaligned = 0;
    for (int i = 0; i < kernel->param_count && i < 64; i++)
        if (tensors[i].data && (uintptr_t)tensors[i].data % 16) unaligned |= (uint64_t)1 << i;
    return unaligned;
}

static struct status check_demands(struct arena *arena, const struct ir_kernel *kernel, const struct launch_plan *plan,
                                   const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    if (plan->index32 && needs_index64(kernel, bindings, tensors))
        return status_failed(arena, "launch.index", "the code has 32-bit indices and a tensor here has 2^31 elements or more");
    uint64_t unaligned = plan->aligned & unaligned_params(kernel, tensors);
    for (int i = 0; i < kernel->param_count && i < 64; i++)
        if (unaligned >> i & 1)
            return status_failed(arena, "launch.unaligned", "the code needs %s at a multiple of 16 bytes", kernel->params[i].name);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- arguments

union slot {
    void *pointer;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
};

static union slot scalar_slot(enum ir_type type, struct ir_scalar value)
{
    union slot slot = {0};
    if (type == TYPE_F64) slot.f64 = value.number;
    else if (ir_type_is_float(type)) slot.f32 = (float)ir_round_to(type, value.number);
    else if (type == TYPE_I64) slot.i64 = value.integer;
    else slot.i32 = (int32_t)value.integer;
    return slot;
}

static union slot argument_slot(const struct launch_argument *argument, const struct ir_bindings *bindings,
                                const struct ir_tensor *tensors)
{
    if (argument->kind == ARGUMENT_TENSOR) return (union slot){.pointer = tensors[argument->index].data};
    if (argument->kind == ARGUMENT_SCALAR) return scalar_slot(argument->type, bindings->params[argument->index]);
    return scalar_slot(argument->type, (struct ir_scalar){.integer = bindings->dims[argument->index]});
}

static struct status launch_one(struct arena *arena, const struct cpu_object *object, const struct launch_kernel *kernel,
                                const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    const char *name = arena_printf(arena, "%s_run", kernel->name);
    union {  // ISO C has no conversion between object and function pointers; POSIX has this one
        void *object;
        run_function function;
    } symbol = {cpu_symbol(object, name)};
    if (!symbol.object) return status_failed(arena, "launch.symbol", "the object has no function %s", name);
    int64_t blocks = launch_blocks(kernel, bindings);
    if (blocks <= 0) return STATUS_OK;
    union slot *slots = ARENA_ARRAY(arena, union slot, kernel->argument_count + 1);
    void **arguments = ARENA_ARRAY(arena, void *, kernel->argument_count + 1);
    for (int i = 0; i < kernel->argument_count; i++) {
        slots[i] = argument_slot(&kernel->arguments[i], bindings, tensors);
        arguments[i] = &slots[i];
    }
    symbol.function(blocks, arguments);
    return STATUS_OK;
}

struct status cpu_launch(struct arena *arena, const struct cpu_object *object, const struct launch_plan *plan,
                         const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    struct status status = STATUS_OK;
    for (int i = 0; status.ok && i < plan->kernel_count; i++)
        status = launch_one(arena, object, &plan->kernels[i], bindings, tensors);
    return status;
}

// ---------------------------------------------------------------------------------------------- the whole way

static struct emitted *prepare(struct arena *arena, const struct cpu_request *request, struct status *status)
{
    const struct lower_options options = {
        .target = {.kind = TARGET_CPU},
        .index64 = needs_index64(request->kernel, &request->bindings, request->tensors),
        .unaligned = unaligned_params(request->kernel, request->tensors) != 0,
        .checked = request->checked,
    };
    const struct config *config = request->config ? request->config : config_default(arena, request->kernel);
    struct lowered *lowered = lower(arena, request->kernel, config, &options, status);
    return lowered ? emit(arena, lowered, TILEC_VERSION, status) : NULL;
}

static struct status keep_text(struct arena *arena, const struct cpu_request *request, const struct emitted *emitted)
{
    if (!request->keep) return STATUS_OK;
    const char *path = arena_printf(arena, "%s/%s.c", request->keep, request->kernel->name);
    mkdir(request->keep, 0777);  // if it fails for another reason than being there, so does the file
    return file_save(arena, path, emitted->text, emitted->length);
}

struct status cpu_execute(struct arena *arena, const struct cpu_request *request)
{
    struct status status = STATUS_OK;
    struct emitted *emitted = prepare(arena, request, &status);
    if (!emitted) return status;
    struct cpu_object *object = NULL;
    status = keep_text(arena, request, emitted);
    if (status.ok) status = check_demands(arena, request->kernel, &emitted->plan, &request->bindings, request->tensors);
    if (status.ok) status = cpu_build(arena, request->source ? request->source : emitted->text,
                                      request->source ? request->source_length : emitted->length, &object);
    if (status.ok) status = cpu_launch(arena, object, &emitted->plan, &request->bindings, request->tensors);
    cpu_close(object);
    return status;
}
