// SPDX-License-Identifier: Apache-2.0
// A worker program whose target, named "cpu" like the real one, compiles nothing, runs the evaluator in place of a device,
// and fails as it is told. All else of it is the real worker's.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/tune.h"
#include "tests/tune/fake.h"

enum { REFERENCE = -2 };  // the row of the config that makes the reference

struct program {
    int row;
    char fault;
};

static int raw;     // CUresult of the last failure
static bool lost;   // the context, after an error that sticks: nothing works any more in this process

static char fault_of(int row)
{
    const char *faults = getenv(FAULTS_VARIABLE), *reference = getenv(REFERENCE_VARIABLE);
    if (row == REFERENCE) return reference ? *reference : '.';
    return faults && row >= 0 && row < (int)strlen(faults) ? faults[row] : '.';
}

// ---------------------------------------------------------------------------------------------- ways to fail

static void hang(void)
{
    const char *folder = getenv(FOLDER_VARIABLE);
    char path[512];
    snprintf(path, sizeof path, "%s/hung.%d", folder ? folder : ".", (int)getpid());
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
    for (;;) pause();
}

static void hang_with_child(void)
{
    if (fork() == 0) {
        execlp("sleep", "sleep", "1000000", (char *)NULL);
        _exit(1);
    }
    hang();
}

static void fall_over(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void talk_rubbish(void)
{
    static const char rubbish[] = "\x10\0\0\0{\"type\": rubbish";
    (void)!write(WORKER_SOCKET, rubbish, sizeof rubbish - 1);
    for (;;) pause();
}

// ---------------------------------------------------------------------------------------------- building

static struct status build(struct arena *arena, void *state, const struct tune_work *work, int row, const struct config *config,
                           const char *path, struct tune_built *built)
{
    (void)state;
    (void)work;
    (void)config;
    switch (fault_of(row)) {
    case 'l': return status_failed(arena, "lowering.fake", "the pass doesn't like row %d", row);
    case 'L': return status_failed(arena, "limits.threads", "2048 threads a block, the device has 1024");
    case 'c': return status_failed(arena, "internal.compiler", "line 1: error in row %d", row);
    case 'q': fall_over(SIGSEGV); break;
    case 'k': fall_over(SIGKILL); break;
    case 'e': _exit(3);
    case 'b': talk_rubbish(); break;
    case 'h': hang_with_child(); break;
    }
    struct launch_kernel *kernel = ARENA_NEW(arena, struct launch_kernel);
    *kernel = (struct launch_kernel){.name = "fake", .threads = 32};
    built->plan.kernel_count = 1;
    built->plan.kernels = kernel;
    built->registers = 32 + row;
    return file_save(arena, path, "code", 4);
}

// ---------------------------------------------------------------------------------------------- the device

static struct status open_fake(struct tune_device *device)
{
    device->copy_rate = 1e6;  // bytes per second
    device->fastest_share = 2;
    device->properties = "fake";
    return STATUS_OK;
}

static struct status load(struct tune_device *device, struct arena *arena, int row, const char *path, const struct tune_built *built,
                          void **made)
{
    (void)device;
    struct program *program = ARENA_NEW(arena, struct program);
    *program = (struct program){row, fault_of(row)};
    *made = program;
    if (access(path, R_OK) != 0 || built->plan.kernel_count != 1) return status_failed(arena, "launch.load", "row %d was not built", row);
    return STATUS_OK;
}

static void unload(struct tune_device *device, void *program)
{
    (void)device;
    (void)program;
}

static struct status fail(struct arena *arena, int number, const char *code)
{
    raw = number;
    lost = number >= 700;
    return status_failed(arena, code, "CUDA error %d", number);
}

static struct status evaluate(struct tune_device *device, struct arena *arena)
{
    const struct tune_work *work = device->work;
    struct ir_tensor *views = ARENA_ARRAY(arena, struct ir_tensor, work->kernel->param_count + 1);
    for (int i = 0; i < work->kernel->param_count; i++) {
        if (!work->tensors[i].present) continue;
        views[i] = device->outputs[i].block ? device->outputs[i].view : work->tensors[i].view;
        if (device->outputs[i].block) memcpy(views[i].data, work->tensors[i].view.data, work->tensors[i].bytes);
    }
    struct ir_evaluation evaluation = {.bindings = work->bindings, .tensors = views, .cut = CUT_WHOLE};
    return ir_evaluate(work->kernel, &evaluation, arena);
}

// The last element of the last output is the one that goes wrong.
static void spoil(struct tune_device *device, char fault)
{
    struct tensor *output = NULL;
    for (int i = 0; i < device->work->kernel->param_count; i++)
        if (device->outputs[i].block) output = &device->outputs[i];
    float *last = (float *)output->view.data + tensor_elements(&output->view) - 1;
    struct tensor one = {.view = output->view, .bytes = sizeof *last};
    one.view.data = last;
    float *first = output->view.data, *middle = first + tensor_elements(&output->view) / 2;
    if (fault == '1' || fault == '2') {
        one.bytes = sizeof *first * (size_t)(fault == '1' ? last + 1 - middle : middle - first);
        one.view.data = fault == '1' ? middle : first;
        tensor_poison(&one);
        return;
    }
    if (fault == 'w') *last += 1;
    if (fault == 'n') *last = NAN;
    if (fault == 'p') tensor_poison(&one);
    if (fault == 'g') ((unsigned char *)output->view.data)[output->bytes] ^= 1;
}

static struct status check(struct tune_device *device, struct arena *arena, void *made)
{
    const struct program *program = made;
    if (lost) return fail(arena, 700, "launch.illegal-access");
    raw = 0;
    switch (program->fault) {
    case 'i': return fail(arena, 700, "launch.illegal-access");
    case 'm': return fail(arena, 716, "launch.misaligned");
    case 'f': return fail(arena, 719, "launch.failed");
    case 'd': return fail(arena, 702, "launch.timeout");
    case 'o': return fail(arena, 2, "memory.device");
    case 'H': hang(); break;
    case 'Q': fall_over(SIGSEGV); break;
    case 'K': fall_over(SIGKILL); break;
    case 'B': talk_rubbish(); break;
    }
    struct status status = evaluate(device, arena);
    if (program->fault == 'C') device->check_milliseconds = 50;
    if (status.ok) spoil(device, program->fault);
    for (int i = 0; i < device->work->kernel->param_count && status.ok; i++)
        status = tensor_check_guards(arena, device->work->kernel->params[i].name, &device->outputs[i]);
    return status;
}

static struct status time_runs(struct tune_device *device, struct arena *arena, void *made, int runs, double *milliseconds)
{
    (void)device;
    (void)arena;
    const struct program *program = made;
    for (int i = 0; i < runs; i++)
        milliseconds[i] = program->fault == 'z' ? 0 : program->fault == 's' ? 1e-6 : program->fault == 'S' ? 100 : fake_time(program->row);
    return STATUS_OK;
}

static int raw_code(struct tune_device *device)
{
    (void)device;
    return raw;
}

int main(void)
{
    static const struct tune_target fake = {.name = "cpu", .build = build, .open = open_fake, .load = load, .check = check,
                                            .time = time_runs, .unload = unload, .raw_code = raw_code};
    static const struct tune_target *const targets[] = {&fake};
    return worker_main(1, targets);
}
