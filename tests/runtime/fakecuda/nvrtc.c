// SPDX-License-Identifier: Apache-2.0
// The NVRTC of fake.h. Its "cubin" is "fake " and the text; its log is what ptxas would say of each kernel in it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_nvrtc fake_nvrtc;

struct program {
    char *binary, *log;
};

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int result);
EXPORT const char *nvrtcGetErrorString(int result)
{
    return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

EXPORT int nvrtcCreateProgram(void **made, const char *text, const char *name, int headers, const char *const *bodies, const char *const *names);
EXPORT int nvrtcCreateProgram(void **made, const char *text, const char *name, int headers, const char *const *bodies, const char *const *names)
{
    (void)name, (void)headers, (void)bodies, (void)names;
    struct program *program = calloc(1, sizeof *program);
    size_t length = strlen(text) + 6;
    if (!program || !(program->binary = malloc(length))) return free(program), 1;
    snprintf(program->binary, length, "fake %s", text);
    *made = program;
    return 0;
}

EXPORT int nvrtcDestroyProgram(void **made);
EXPORT int nvrtcDestroyProgram(void **made)
{
    struct program *program = *made;
    free(program->binary);
    free(program->log);
    free(program);
    *made = NULL;
    return 0;
}

static void add_usage(char **log, const char *name, size_t length)
{
    char *longer = NULL;
    int registers = fake_nvrtc.registers ? fake_nvrtc.registers : 32;
    if (asprintf(&longer, "%sptxas info    : Compiling entry function '%.*s' for 'sm_90'\nptxas info    : Function properties for %.*s\n"
                 "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used %d registers, used 1 barriers, 64 bytes smem\n",
                 *log ? *log : "", (int)length, name, (int)length, name, registers) < 0) exit(99);
    free(*log);
    *log = longer;
}

EXPORT int nvrtcCompileProgram(void *made, int count, const char *const *options);
EXPORT int nvrtcCompileProgram(void *made, int count, const char *const *options)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of what tests look at
    struct program *program = made;
    pthread_mutex_lock(&lock);
    fake_nvrtc.compiles++;
    fake_nvrtc.options[0] = 0;
    for (int i = 0; i < count; i++) {
        size_t used = strlen(fake_nvrtc.options);
        snprintf(fake_nvrtc.options + used, sizeof fake_nvrtc.options - used, "%s ", options[i]);
    }
    pthread_mutex_unlock(&lock);
    if (fake_nvrtc.refuses) return program->log = strdup("kernel.cu(1): error: refused\n"), 6;
    if (fake_nvrtc.knows_no_sm_90a && strstr(fake_nvrtc.options, "_90a ")) return 5;  // NVRTC_ERROR_INVALID_OPTION
    for (const char *at = program->binary; (at = strstr(at, "__global__"));) {
        at = strchr(strchr(at, '(') + 1, ')') + 2;  // behind __launch_bounds__(…)
        add_usage(&program->log, at, strcspn(at, "("));
    }
    return 0;
}

EXPORT int nvrtcGetProgramLogSize(void *made, size_t *size);
EXPORT int nvrtcGetProgramLogSize(void *made, size_t *size)
{
    const struct program *program = made;
    *size = program->log ? strlen(program->log) + 1 : 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *made, char *log);
EXPORT int nvrtcGetProgramLog(void *made, char *log)
{
    const struct program *program = made;
    strcpy(log, program->log ? program->log : "");
    return 0;
}

static int size_of(const struct program *program, size_t *size)
{
    *size = strlen(program->binary) + 1;
    return 0;
}

static int copy_of(const struct program *program, char *to)
{
    strcpy(to, program->binary);
    return 0;
}

EXPORT int nvrtcGetCUBINSize(void *made, size_t *size);
EXPORT int nvrtcGetCUBINSize(void *made, size_t *size)
{
    return size_of(made, size);
}

EXPORT int nvrtcGetCUBIN(void *made, char *cubin);
EXPORT int nvrtcGetCUBIN(void *made, char *cubin)
{
    return copy_of(made, cubin);
}

EXPORT int nvrtcGetPTXSize(void *made, size_t *size);
EXPORT int nvrtcGetPTXSize(void *made, size_t *size)
{
    return size_of(made, size);
}

EXPORT int nvrtcGetPTX(void *made, char *ptx);
EXPORT int nvrtcGetPTX(void *made, char *ptx)
{
    return copy_of(made, ptx);
}

EXPORT int nvrtcGetNumSupportedArchs(int *count);
EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 3;
    return 0;
}

EXPORT int nvrtcGetSupportedArchs(int *architectures);
EXPORT int nvrtcGetSupportedArchs(int *architectures)
{
    architectures[0] = 80;
    architectures[1] = 86;
    architectures[2] = 90;
    return 0;
}
