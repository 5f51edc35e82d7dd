// SPDX-License-Identifier: Apache-2.0
// The real worker for GPUs, but for the rows that TILEC_TEST_FAULTS names: their code is replaced by code that does what
// no config should. The faults are real: the device itself stops them, or doesn't.
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda.h"
#include "runtime/tune.h"
#include "tests/tune/fake.h"

static char fault_of(int row)
{
    const char *faults = getenv(FAULTS_VARIABLE);
    return faults && row >= 0 && row < (int)strlen(faults) ? faults[row] : '.';
}

static const char *body_of(char fault)
{
    switch (fault) {
    case 'i': return "*(volatile int *)0x10 = 1;";
    case 'm': return "*(volatile int *)(first + 1) = 1;";
    case 'H': return "while (*(volatile int *)first != 0x7654321) { }";
    case 'w': return "";  // nothing is stored
    default: return NULL;
    }
}

static struct status build(struct arena *arena, void *state, const struct tune_work *work, int row, const struct config *config,
                           const char *path, struct tune_built *built)
{
    const char *body = body_of(fault_of(row));
    struct status status = tune_target_cuda.build(arena, state, work, row, config, path, built);
    if (!status.ok || !body) return status;
    struct nvrtc *nvrtc = NULL;
    struct cuda_binary binary;
    const char *text = arena_printf(arena, "extern \"C\" __global__ void %s(char *first) { %s }\n", built->plan.kernels[0].name, body);
    status = nvrtc_open(arena, &nvrtc);
    if (!status.ok) return status;
    status = nvrtc_compile(arena, nvrtc, text, "fault.cu", (struct target){.kind = TARGET_CUDA, .sm = 80}, true, &binary);
    nvrtc_close(nvrtc);
    built->ptx = true;
    return status.ok ? file_save(arena, path, binary.data, binary.length) : status;
}

int main(void)
{
    struct tune_target target = tune_target_cuda;
    const struct tune_target *const targets[] = {&target};
    target.build = build;
    return worker_main(1, targets);
}
