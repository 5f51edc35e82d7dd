// SPDX-License-Identifier: Apache-2.0
// What a tune starts from. In: bound arguments. Out: the reference, and a file in memory with all that workers read:
// inputs as they were, outputs full of poison, references. It is sealed before the first config runs: nothing that a
// config does can change it.
//
// The reference is the evaluator's where all of it can be evaluated soon. Otherwise the evaluator works out a sample of
// rows, and the default config, if it agrees with that, the rest.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/bench.h"
#include "runtime/run.h"
#include "runtime/tune_job.h"

enum { CHECK_POINTS = 3000000, PAGE = 4096 };

// ---------------------------------------------------------------------------------------------- the file

struct placing {
    struct arena *arena;
    struct tune_work *work;
    struct running *running;
    struct check_rule *rules;   // by output
    bool sampled;
};

static int64_t place(struct tune_work *work, size_t bytes)
{
    int64_t at = work->file_bytes;
    work->file_bytes += (int64_t)((bytes + PAGE - 1) / PAGE * PAGE);
    return at;
}

static void place_tensors(struct placing *placing, const struct bound *bound)
{
    struct tune_work *work = placing->work;
    for (int i = 0; i < bound->kernel->param_count; i++) {
        struct tune_tensor *tensor = &work->tensors[i];
        *tensor = (struct tune_tensor){.present = bound->tensors[i].block != NULL, .view = bound->views[i], .bytes = bound->tensors[i].bytes,
                                       .reference_at = -1, .sample_at = -1, .errors_at = -1};
        if (tensor->present) tensor->at = place(work, tensor->bytes);
    }
}

// Behind the check options.errors says only that there are some: workers find them in the file.
// A reference that a config computes has rounding errors of its own: twice the tolerance.
static void place_references(struct placing *placing)
{
    const struct run_result *result = placing->running->result;
    for (int i = 0; i < result->output_count; i++) {
        struct tune_tensor *tensor = &placing->work->tensors[result->outputs[i].param];
        const struct check_rule *rule = &placing->rules[i];
        tensor->options = tensor->sample_options = rule->options;
        tensor->options.sampled = false;
        tensor->reference_at = place(placing->work, tensor->bytes);
        if (rule->compared && rule->options.errors)
            tensor->errors_at = place(placing->work, (size_t)tensor_elements(&tensor->view) * sizeof(double));
        if (!placing->sampled) continue;
        tensor->options.scale = 2;
        tensor->options.errors = NULL;  // they are known of the sample alone
        if (rule->compared) tensor->sample_at = place(placing->work, tensor->bytes);
    }
}

static struct status write_tensors(struct placing *placing, const struct bound *bound, int file)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < bound->kernel->param_count && status.ok; i++) {
        const struct tune_tensor *tensor = &placing->work->tensors[i];
        const struct tensor *reference = &placing->running->references[i];
        int64_t at = placing->sampled ? tensor->sample_at : tensor->reference_at;
        if (tensor->present) status = tune_write(placing->arena, file, tensor->at, bound->views[i].data, tensor->bytes);
        if (status.ok && tensor->errors_at >= 0)
            status = tune_write(placing->arena, file, tensor->errors_at, placing->running->errors[i],
                                (size_t)tensor_elements(&tensor->view) * sizeof(double));
        if (status.ok && reference->block && at >= 0) status = tune_write(placing->arena, file, at, reference->view.data, tensor->bytes);
    }
    return status;
}

static struct status make_file(struct placing *placing, const struct bound *bound, int *file)
{
    *file = memfd_create("tilec-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*file < 0) return status_failed(placing->arena, "launch.memory", "no memory for the tensors: %s", strerror(errno));
    // High, so that it is in no one's way among a worker's descriptors.
    int high = fcntl(*file, F_DUPFD_CLOEXEC, 10);
    if (high >= 0) close(*file), *file = high;
    if (ftruncate(*file, (off_t)placing->work->file_bytes) != 0)
        return status_failed(placing->arena, "launch.memory", "no memory for the tensors: %s", strerror(errno));
    return write_tensors(placing, bound, *file);
}

// ---------------------------------------------------------------------------------------------- the reference

static void list_outputs(struct running *running)
{
    const struct bound *bound = running->bound;
    running->result->outputs = ARENA_ARRAY(running->arena, struct run_output, bound->kernel->param_count + 1);
    for (int i = 0; i < bound->kernel->param_count; i++) {
        const struct ir_param *param = &bound->kernel->params[i];
        if ((param->kind != PARAM_OUT && param->kind != PARAM_INOUT) || !bound->tensors[i].block) continue;
        running->result->outputs[running->result->output_count++] = (struct run_output){.name = param->name, .param = i, .view = bound->views[i]};
    }
}

static struct status no_executor(void *data, struct arena *arena, const struct ir_kernel *kernel, struct ir_tensor *tensors,
                                 const struct ir_bindings *bindings)
{
    (void)data;
    (void)kernel;
    (void)tensors;
    (void)bindings;
    return status_failed(arena, "internal.executor", "nothing is executed here");
}

static struct status evaluate(struct placing *placing)
{
    struct running *running = placing->running;
    list_outputs(running);
    placing->rules = ARENA_ARRAY(placing->arena, struct check_rule, running->result->output_count + 1);
    struct status status = check_prepare(running);
    if (status.ok) status = check_evaluate(running, placing->rules);
    placing->sampled = running->result->checked_rows < running->result->all_rows;
    return status;
}

// ---------------------------------------------------------------------------------------------- all of it

void tune_prepare_compiling(struct arena *arena, const struct bound *bound, struct tune_work *work)
{
    *work = (struct tune_work){.kernel = bound->kernel, .dims = bound->dims, .scalars = bound->scalars, .bindings = bound->bindings,
                               .properties = ""};
    work->index64 = plan_demands(bound->kernel, &bound->bindings, bound->views).index64;
    work->tensors = ARENA_ARRAY(arena, struct tune_tensor, bound->kernel->param_count + 1);
}

static void take_bindings(struct arena *arena, const struct bound *bound, struct tune_work *work)
{
    struct traffic traffic = count_traffic(arena, bound->kernel, &bound->bindings, bound->views);
    tune_prepare_compiling(arena, bound, work);
    work->least_bytes = traffic.read_bytes + traffic.written_bytes;
}

struct status tune_prepare(struct arena *arena, const struct bind_request *request, struct bound *bound, struct tune_prepared *prepared)
{
    struct run_result result = {0};
    struct run_request run_request = {.bind = *request, .execute = no_executor};
    struct running running = {.arena = arena, .request = &run_request, .result = &result, .bound = bound, .check_points = CHECK_POINTS};
    struct placing placing = {.arena = arena, .work = &prepared->work, .running = &running};
    prepared->file = -1;
    take_bindings(arena, bound, &prepared->work);
    struct status status = evaluate(&placing);
    if (status.ok) {
        place_tensors(&placing, bound);
        place_references(&placing);
        status = make_file(&placing, bound, &prepared->file);
    }
    check_free(&running);
    prepared->sampled = placing.sampled;
    prepared->checked_rows = result.checked_rows;
    prepared->all_rows = result.all_rows;
    prepared->remark = result.remark;
    return status;
}

// ---------------------------------------------------------------------------------------------- a second opinion

// Whether a config's reference, as it lies in the file, is what the evaluator says of the rows that it has worked out.
static struct status compare_reference(struct arena *arena, const struct tune_work *work, const struct running *running, int output,
                                       const struct check_rule *rule, int file, bool *agrees)
{
    int param = running->result->outputs[output].param;
    const struct tune_tensor *tensor = &work->tensors[param];
    const struct ir_tensor *evaluated = &running->references[param].view;
    struct tensor kept = {0};
    if (!rule->compared || tensor->reference_at < 0) return STATUS_OK;
    struct status status = tensor_new(arena, work->kernel->params[param].name, evaluated->type, evaluated->rank, evaluated->shape, &kept);
    for (size_t done = 0; status.ok && done < kept.bytes;) {
        ssize_t count = pread(file, (char *)kept.view.data + done, kept.bytes - done, (off_t)(tensor->reference_at + (int64_t)done));
        if (count <= 0) status = status_failed(arena, "internal.file", "the reference can't be read");
        else done += (size_t)count;
    }
    if (status.ok) *agrees = *agrees && compare_tensors(&kept.view, evaluated, &rule->options).ok;
    tensor_free(&kept);
    return status;
}

struct status tune_judge(struct arena *arena, const struct bind_request *request, struct bound *bound, const struct tune_prepared *prepared,
                         bool *agrees, int64_t *rows)
{
    struct run_result result = {0};
    struct run_request run_request = {.bind = *request, .execute = no_executor};
    struct running running = {.arena = arena, .request = &run_request, .result = &result, .bound = bound, .check_points = CHECK_POINTS,
                              .other_rows = true};
    list_outputs(&running);
    struct check_rule *rules = ARENA_ARRAY(arena, struct check_rule, result.output_count + 1);
    struct status status = check_prepare(&running);
    if (status.ok) status = check_evaluate(&running, rules);
    *agrees = true;
    *rows = result.checked_rows;
    for (int i = 0; i < result.output_count && status.ok; i++)
        status = compare_reference(arena, &prepared->work, &running, i, &rules[i], prepared->file, agrees);
    check_free(&running);
    return status;
}
