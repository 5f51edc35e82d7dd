// SPDX-License-Identifier: Apache-2.0
// In: a checked kernel, a config and complete tensors. Out: the outputs, computed by the CPU target.
//
// The way is that of the GPU: lower, emit, build, load, and run the launch plan, whose arguments are passed as
// cuLaunchKernel takes them: an array of pointers to the values.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"

typedef void (*run_function)(long long blocks, void **arguments);

// ---------------------------------------------------------------------------------------------- launching

// In checked builds the text has a place for what the last assert that failed says.
static struct status asserted(struct arena *arena, const struct cpu_object *object)
{
    const char **failure = cpu_symbol(object, "tile_failure");
    if (!failure || !*failure) return STATUS_OK;
    struct status status = status_failed(arena, "check.assert", "%s", *failure);
    *failure = NULL;
    return status;
}

static struct status launch_one(struct arena *arena, const struct cpu_object *object, const struct launch_kernel *kernel,
                                const struct ir_bindings *bindings, const struct ir_tensor *tensors, void *const *workspaces)
{
    const char *name = arena_printf(arena, "%s_run", kernel->name);
    union {  // ISO C has no conversion between object and function pointers; POSIX has this one
        void *object;
        run_function function;
    } symbol = {cpu_symbol(object, name)};
    if (!symbol.object) return status_failed(arena, "launch.symbol", "the object has no function %s", name);
    int64_t blocks = launch_blocks(kernel, bindings);
    if (blocks <= 0) return STATUS_OK;
    symbol.function(blocks, plan_arguments(arena, kernel, bindings, tensors, workspaces));
    return asserted(arena, object);
}

static struct status make_workspaces(struct arena *arena, const struct launch_plan *plan, const struct ir_bindings *bindings,
                                     void **workspaces)
{
    for (int i = 0; i < plan->workspace_count; i++) {
        int64_t bytes = launch_workspace_bytes(plan->workspaces[i], bindings);
        bool fits = bytes < INT64_MAX - 64 && (uint64_t)bytes < SIZE_MAX / 2;
        workspaces[i] = fits ? aligned_alloc(64, ((size_t)bytes / 64 + 1) * 64) : NULL;
        if (!workspaces[i])
            return status_failed(arena, "memory.workspace", "there is no memory for a workspace of %lld bytes", (long long)bytes);
    }
    return STATUS_OK;
}

// OpenMP's threads are the process's, whoever started them. A forked child has none of them, and OpenMP would wait for
// them for ever, so it is refused what its parent did.
static struct status check_threads(struct arena *arena)
{
    static _Atomic pid_t owner;
    pid_t own = getpid(), first = 0;
    if (atomic_compare_exchange_strong(&owner, &first, own) || first == own) return STATUS_OK;
    return status_failed(arena, "launch.fork", "this process was forked from one that ran kernels on the CPU, whose threads it doesn't have; "
                         "start it without fork");
}

struct status cpu_launch(struct arena *arena, const struct cpu_object *object, const struct launch_plan *plan,
                         const struct ir_bindings *bindings, const struct ir_tensor *tensors)
{
    struct status threads = check_threads(arena);
    if (!threads.ok) return threads;
    void **workspaces = ARENA_ARRAY(arena, void *, plan->workspace_count + 1);
    struct status status = make_workspaces(arena, plan, bindings, workspaces);
    for (int i = 0; status.ok && i < plan->kernel_count; i++)
        status = launch_one(arena, object, &plan->kernels[i], bindings, tensors, workspaces);
    for (int i = 0; i < plan->workspace_count; i++) free(workspaces[i]);
    return status;
}

// ---------------------------------------------------------------------------------------------- the whole way

struct emitted *cpu_prepare(struct arena *arena, const struct cpu_request *request, struct status *status)
{
    const struct plan_demands demands = plan_demands(request->kernel, &request->bindings, request->tensors);
    const struct lower_options options = {
        .target = {.kind = TARGET_CPU},
        .index64 = demands.index64,
        .unaligned = demands.unaligned != 0,
        .checked = request->checked,
    };
    return plan_emit(arena, request->kernel, request->config, &options, request->tensors, status);
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
    struct emitted *emitted = cpu_prepare(arena, request, &status);
    if (!emitted) return status;
    struct cpu_object *object = NULL;
    status = keep_text(arena, request, emitted);
    if (status.ok) status = plan_check(arena, request->kernel, &emitted->plan, &request->bindings, request->tensors);
    if (status.ok && request->source) status = plan_check_source(arena, emitted, request->source, request->source_length);
    if (status.ok) status = cpu_build_in(arena, request->session, request->source ? request->source : emitted->text,
                                         request->source ? request->source_length : emitted->length, &object);
    if (!status.ok && request->source && strcmp(status.code, "internal.compiler") == 0) status.code = "usage.source";
    if (status.ok) status = cpu_launch(arena, object, &emitted->plan, &request->bindings, request->tensors);
    cpu_close(object);
    return status;
}
