// SPDX-License-Identifier: Apache-2.0
// NVRTC: targets, cubins and PTX, what ptxas says, refusals. Without NVRTC only what needs none is tested.
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tests/runtime/tap.h"

static const char cuda[] =
    "extern \"C\" __global__ void turn(float *x, int n)\n"
    "{\n"
    "    __shared__ float shared[256];\n"
    "    int i = blockIdx.x * 256 + threadIdx.x;\n"
    "    shared[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
    "    __syncthreads();\n"
    "    if (i < n) x[i] = shared[255 - threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void set(float *x) { *x = 1.0f; }\n";

static void test_targets(struct tap *tap)
{
    static const char *const good[] = {"sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_120a", "cpu"};
    static const char *const bad[] = {"", "sm_", "sm_9", "sm_090", "sm_90b", "sm_90aa", "sm_1000", "SM_90", "compute_90", "90", "gpu"};
    struct target target;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(tap, target_parse(good[i], &target));
        CHECK_TEXT(tap, target_name(tap->arena, target), good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(tap, !target_parse(bad[i], &target));
}

static const struct cuda_usage *usage_of(const struct cuda_binary *binary, const char *name)
{
    for (int i = 0; i < binary->usage_count; i++)
        if (strcmp(binary->usage[i].name, name) == 0) return &binary->usage[i];
    return NULL;
}

static struct status compile(struct tap *tap, const struct nvrtc *nvrtc, const char *text, const char *architecture, bool ptx,
                             struct cuda_binary *binary)
{
    struct target target;
    CHECK(tap, target_parse(architecture, &target));
    return nvrtc_compile(tap->arena, nvrtc, text, "turn.cu", target, ptx, binary);
}

static void check_compiling(struct tap *tap, const struct nvrtc *nvrtc)
{
    static const char *const architectures[] = {"sm_80", "sm_90", "sm_90a"};
    struct cuda_binary binary;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        struct status status = compile(tap, nvrtc, cuda, architectures[i], false, &binary);
        CHECK(tap, status.ok && binary.length > 64 && memcmp(binary.data, "\177ELF", 4) == 0);
        const struct cuda_usage *usage = usage_of(&binary, "turn");
        CHECK(tap, usage && usage->registers > 0 && usage->shared_bytes == 1024 && usage->barriers == 1);
        CHECK(tap, usage && usage->spill_store_bytes == 0 && usage->stack_bytes == 0);
        CHECK(tap, usage_of(&binary, "set") && binary.usage_count == 2);
        CHECK_TEXT(tap, binary.log, "");
        CHECK(tap, compile(tap, nvrtc, cuda, architectures[i], true, &binary).ok);
        CHECK(tap, strstr(binary.data, ".entry turn") && binary.usage_count == 0);
    }
}

static void check_refusals(struct tap *tap, const struct nvrtc *nvrtc)
{
    struct cuda_binary binary;
    struct status status = compile(tap, nvrtc, "__global__ void k() { nonsense(); }", "sm_90", false, &binary);
    CHECK_TEXT(tap, status.code, "internal.nvrtc");
    CHECK(tap, !status.ok && strstr(status.reason, "turn.cu(1)") && strstr(status.reason, "nonsense"));
    status = compile(tap, nvrtc, cuda, "sm_20", false, &binary);
    CHECK_TEXT(tap, status.code, "missing.architecture");
    CHECK(tap, strstr(status.reason, "sm_20") && strstr(status.reason, "sm_90"));
    status = compile(tap, nvrtc, cuda, "sm_999", false, &binary);
    CHECK_TEXT(tap, status.code, "missing.architecture");
    CHECK(tap, compile(tap, nvrtc, cuda, "sm_999", true, &binary).ok);  // PTX of the newest known one runs there
    status = compile(tap, nvrtc, cuda, "sm_999a", true, &binary);      // but nothing specific does
    CHECK(tap, !status.ok);
    CHECK(tap, compile(tap, nvrtc, "__device__ int unused() { int x = 1; return 2; }", "sm_90", false, &binary).ok);
    CHECK(tap, strstr(binary.log, "warning"));
}

static void test_compiling(struct tap *tap)
{
    struct nvrtc *nvrtc = NULL;
    struct status status = nvrtc_open(tap->arena, &nvrtc);
    if (!status.ok) {
        CHECK_TEXT(tap, status.code, "missing.nvrtc");
        printf("# skipped: %s\n", status.reason);
        return;
    }
    check_compiling(tap, nvrtc);
    check_refusals(tap, nvrtc);
    nvrtc_close(nvrtc);
}

// The same text gives the same bytes.
static void test_repeatable(struct tap *tap)
{
    struct nvrtc *nvrtc = NULL;
    struct cuda_binary one, two;
    if (!nvrtc_open(tap->arena, &nvrtc).ok) return (void)puts("# skipped: no NVRTC");
    CHECK(tap, compile(tap, nvrtc, cuda, "sm_90", false, &one).ok && compile(tap, nvrtc, cuda, "sm_90", false, &two).ok);
    CHECK(tap, one.length == two.length && memcmp(one.data, two.data, one.length) == 0);
    nvrtc_close(nvrtc);
}

int main(void)
{
    static const struct tap_test tests[] = {
        {"how targets are spelled", test_targets},
        {"cubins, PTX, resources and refusals", test_compiling},
        {"a cubin is the same each time", test_repeatable},
    };
    return tap_run(tests, sizeof tests / sizeof *tests);
}
