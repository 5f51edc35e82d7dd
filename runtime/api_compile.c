// SPDX-License-Identifier: Apache-2.0
// tilec.h: compiling CUDA C with NVRTC. In: text and an architecture. Out: a binary with its account of resources.
#include "runtime/given.h"
#include "runtime/runtime.h"

struct tilec_binary {
    struct arena *arena;
    struct cuda_binary binary;
    const char *architecture;
};

static tilec_result compile(tilec_binary *made, const char *text, size_t length, const char *name, const char *architecture,
                            int ptx, tilec_report *report)
{
    struct target target;
    struct nvrtc *nvrtc = NULL;
    if (!target_parse(architecture ? architecture : "sm_90", &target) || target.kind != TARGET_CUDA)
        return report_failed(report, "usage.target", NULL, "%s is no architecture; write sm_80, sm_90, sm_90a or sm_100",
                             architecture);
    struct status status = nvrtc_open(made->arena, &nvrtc);
    if (!status.ok) return report_status(report, &status);
    const char *copy = arena_copy(made->arena, text, length);
    status = nvrtc_compile(made->arena, nvrtc, copy, name, target, ptx, &made->binary);
    made->architecture = target_name(made->arena, target);
    nvrtc_close(nvrtc);
    return report_status(report, &status);
}

tilec_result tilec_compile(const char *text, size_t length, const char *name, const char *architecture, int ptx,
                           tilec_report *report, tilec_binary **binary)
{
    if (binary) *binary = NULL;
    WANT(report, text, name, binary);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_binary *made = ARENA_NEW(arena, tilec_binary);
    made->arena = arena;
    tilec_result result = compile(made, text, length, name, architecture, ptx, report);
    if (result == TILEC_OK) *binary = made;
    else arena_free(arena);
    return result;
}

void tilec_binary_free(tilec_binary *binary)
{
    if (binary) arena_free(binary->arena);
}

const void *tilec_binary_data(const tilec_binary *binary, size_t *length)
{
    if (!binary) return NULL;
    if (length) *length = binary->binary.length;
    return binary->binary.data;
}

const char *tilec_binary_architecture(const tilec_binary *binary)
{
    if (!binary) return NULL;
    return binary->architecture;
}

const char *tilec_binary_log(const tilec_binary *binary)
{
    if (!binary) return NULL;
    return binary->binary.log;
}

int tilec_binary_usage_count(const tilec_binary *binary)
{
    if (!binary) return 0;
    return binary->binary.usage_count;
}

struct tilec_usage tilec_binary_usage(const tilec_binary *binary, int index)
{
    if (!binary) return (struct tilec_usage){0};
    if (index < 0 || index >= binary->binary.usage_count) return (struct tilec_usage){0};
    const struct cuda_usage *usage = &binary->binary.usage[index];
    return (struct tilec_usage){
        .kernel = usage->name,
        .registers = usage->registers,
        .stack_bytes = usage->stack_bytes,
        .spill_store_bytes = usage->spill_store_bytes,
        .spill_load_bytes = usage->spill_load_bytes,
        .shared_bytes = usage->shared_bytes,
        .constant_bytes = usage->constant_bytes,
        .barriers = usage->barriers,
    };
}
