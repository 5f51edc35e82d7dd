// SPDX-License-Identifier: Apache-2.0
// The real worker for the CPU, but for the rows that TILEC_TEST_FAULTS names: their code is replaced by code that does
// what no config should. It is compiled, loaded and run like any other. The kernel has an input x and an output of n
// floats.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"
#include "tests/tune/fake.h"

static const char *body_of(char fault) {
    switch (fault) {
    case '1': return "for (long long i = 0; i < n / 2; i++) out[i] = x[i] + x[i];";
    case '2': return "for (long long i = n / 2; i < n; i++) out[i] = x[i] + x[i];";
    case 'w': return "for (long long i = 0; i < n; i++) out[i] = x[i];";
    case 'n': return "for (long long i = 0; i < n; i++) out[i] = i ? x[i] + x[i] : __builtin_nanf(\"\");";
    case 'g': return "for (long long i = 0; i < n; i++) out[i] = x[i] + x[i]; *(char *)(out + n) ^= 1;";
    case 'Q': return "(void)x, (void)out; *(volatile int *)0x10 = 1;";
    case 'H': return "(void)x, (void)out; mark(); for (;;) pause();";
    default: return NULL;
    }
}

static char fault_of(int row) {
    const char *faults = getenv(FAULTS_VARIABLE);
    return faults && row >= 0 && row < (int)strlen(faults) ? faults[row] : '.';
}

// Where the launch has the tensor of a parameter.
static int place_of(const struct launch_kernel *kernel, int param) {
    for (int i = 0; i < kernel->argument_count; i++)
        if (kernel->arguments[i].kind == ARGUMENT_TENSOR && kernel->arguments[i].index == param)
            return i;
    return 0;
}

static struct status build(struct arena *arena, void *state, const struct tune_work *work, int row,
                           const struct config *config, const char *path, struct tune_built *built) {
    const char *body = body_of(fault_of(row));
    struct status status = tune_target_cpu.build(arena, state, work, row, config, path, built);
    if (!status.ok || !body)
        return status;
    const struct launch_kernel *kernel = &built->plan.kernels[0];
    const char *text =
        arena_printf(arena,
                     "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                     "static inline void mark(void) {\n"
                     "    char path[512];\n"
                     "    snprintf(path, sizeof path, \"%%s/hung.%%d\", getenv(\"" FOLDER_VARIABLE
                     "\"), (int)getpid());\n"
                     "    FILE *file = fopen(path, \"w\");\n"
                     "    if (file) fclose(file);\n"
                     "}\n"
                     "void %s_run(long long blocks, void **arguments) {\n"
                     "    const long long n = %lld;\n"
                     "    const float *x = *(const float **)arguments[%d];\n"
                     "    float *out = *(float **)arguments[%d];\n"
                     "    (void)blocks, (void)n;\n"
                     "    %s\n"
                     "}\n",
                     kernel->name, (long long)work->dims[0], place_of(kernel, 0), place_of(kernel, 1), body);
    return cpu_compile(arena, text, strlen(text), path);
}

int main(void) {
    struct tune_target target = tune_target_cpu;
    const struct tune_target *const targets[] = {&target};
    target.build = build;
    signal(SIGSEGV, SIG_DFL);  // a sanitizer would end the process in its own way
    return worker_main(1, targets);
}
