// SPDX-License-Identifier: Apache-2.0
// The job of `tilec run`. In: a parsed file, arguments, what to run on. Out: outputs in memory or in files, a report.
// Steps: bind, keep what the check will need, execute, look at the guards, check, write, summarize. The check itself is
// in check.c.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/bind.h"
#include "runtime/build.h"
#include "runtime/run.h"

// ---------------------------------------------------------------------------------------------- outputs

static struct status list_outputs(struct running *running)
{
    const struct ir_kernel *kernel = running->bound->kernel;
    struct run_result *result = running->result;
    result->outputs = ARENA_ARRAY(running->arena, struct run_output, kernel->param_count + 1);
    for (int i = 0; i < kernel->param_count; i++) {
        if (kernel->params[i].kind != PARAM_OUT && kernel->params[i].kind != PARAM_INOUT) continue;
        if (!running->bound->tensors[i].block) continue;  // an optional one that is left out
        result->outputs[result->output_count++] = (struct run_output){.name = kernel->params[i].name, .param = i, .view = running->bound->views[i]};
    }
    return STATUS_OK;
}

// What stands at a path already, if anything does.
static bool is_taken(const struct run_result *result, const char *path)
{
    for (int i = 0; i < result->output_count; i++)
        if (result->outputs[i].file && file_is(result->outputs[i].file, path)) return true;
    return false;
}

static struct status assign_file(struct running *running, const char *text)
{
    const char *name, *path, *names = "";
    struct run_result *result = running->result;
    if (!split_assignment(running->arena, text, &name, &path) || !*path)
        return status_failed(running->arena, "usage.output", "'%s' is not an output: write --out NAME=FILE.npy", text);
    for (int i = 0; i < result->output_count; i++) {
        struct run_output *output = &result->outputs[i];
        names = arena_printf(running->arena, "%s%s%s", names, i ? ", " : "", output->name);
        if (strcmp(output->name, name) != 0) continue;
        if (output->file) return status_failed(running->arena, "usage.output", "--out %s is given twice", name);
        if (is_taken(result, path))
            return status_failed(running->arena, "usage.output", "--out %s: another output goes to %s, too: name a file for each", name, path);
        output->file = path;
        return STATUS_OK;
    }
    return status_failed(running->arena, "usage.output", "kernel '%s' has no output '%s' (it has: %s)", running->bound->kernel->name, name,
                         *names ? names : "none");
}

static struct status write_outputs(struct running *running)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < running->result->output_count && status.ok; i++) {
        const struct run_output *output = &running->result->outputs[i];
        if (output->file) status = npy_write(running->arena, output->file, &output->view);
    }
    return status;
}

// ---------------------------------------------------------------------------------------------- arguments to files

static void print_argument(struct text *out, const struct ir_param *param, struct ir_scalar value)
{
    text_printf(out, "--arg %s=", param->name);
    number_print(out, param->type, value, 17);
    text_add(out, "\n");
}

static struct status save_list(struct running *running, const struct text *list)
{
    const char *path = arena_printf(running->arena, "%s/arguments", running->request->save_directory);
    return file_save(running->arena, path, list->data ? list->data : "", list->length);
}

// NAME.npy for each tensor, and a file `arguments` with the options that give the same run.
static struct status save_arguments(struct running *running)
{
    const char *directory = running->request->save_directory;
    const struct ir_kernel *kernel = running->bound->kernel;
    struct text list = {0};
    struct status status = STATUS_OK;
    if (!directory) return STATUS_OK;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return status_failed(running->arena, "write.folder", "can't make the folder %s: %s", directory, strerror(errno));
    for (int g = 0; g < kernel->generic_count; g++)
        text_printf(&list, "--type %s=%s\n", kernel->generic_names[g], ir_type_name(kernel->generic_types[g]));
    for (int i = 0; i < kernel->param_count && status.ok; i++) {
        const struct ir_param *param = &kernel->params[i];
        if (param->kind == PARAM_SCALAR) print_argument(&list, param, running->bound->scalars[i]);
        if (param->kind == PARAM_SCALAR || param->kind == PARAM_OUT || !running->bound->tensors[i].block) continue;
        const char *path = arena_printf(running->arena, "%s/%s.npy", directory, param->name);
        text_printf(&list, "--arg %s=@%s\n", param->name, path);
        status = npy_write(running->arena, path, &running->bound->views[i]);
    }
    if (status.ok) status = save_list(running, &list);
    text_free(&list);
    return status;
}

// ---------------------------------------------------------------------------------------------- execution

static struct status execute(struct running *running)
{
    struct bound *bound = running->bound;
    const struct run_request *request = running->request;
    double begin = seconds_now();
    struct status status;
    if (request->execute) {
        status = request->execute(request->execute_data, running->arena, bound->kernel, bound->views, &bound->bindings);
    } else {
        struct ir_evaluation evaluation = {.bindings = bound->bindings, .tensors = bound->views, .cut = CUT_WHOLE,
                                           .seed = request->bind.seed, .printed = &running->result->printed};
        status = ir_evaluate(bound->kernel, &evaluation, running->arena);
    }
    running->result->seconds = seconds_now() - begin;
    return status;
}

static struct status check_guards(const struct running *running)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < running->bound->kernel->param_count && status.ok; i++)
        status = tensor_check_guards(running->arena, running->bound->kernel->params[i].name, &running->bound->tensors[i]);
    return status;
}

// ---------------------------------------------------------------------------------------------- the report

static bool is_argument(const struct ir_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->param_count; i++)
        if (strcmp(kernel->params[i].name, name) == 0) return true;
    return false;
}

static struct status report_histogram(struct running *running)
{
    const char *wanted = running->request->histogram;
    const struct bound *bound = running->bound;
    if (!wanted) return STATUS_OK;
    for (int i = 0; i < bound->rows.count; i++) {
        const struct rows_use *use = &bound->rows.items[i];
        const char *name = bound->kernel->params[use->param].name;
        if (*wanted && strcmp(wanted, name) != 0) continue;
        text_printf(&running->result->report, "%s: ", name);
        rows_histogram(&running->result->report, use->kind, &bound->views[use->param]);
        return STATUS_OK;
    }
    if (!*wanted) return status_failed(running->arena, "usage.histogram", "kernel '%s' has no offsets or lengths of rows", bound->kernel->name);
    if (!is_argument(bound->kernel, wanted))
        return status_failed(running->arena, "usage.histogram", "kernel '%s' has no argument '%s'", bound->kernel->name, wanted);
    return status_failed(running->arena, "usage.histogram", "'%s' doesn't give the rows of anything in kernel '%s'", wanted, bound->kernel->name);
}

static void report_outputs(struct running *running)
{
    struct text *report = &running->result->report;
    for (int i = 0; i < running->result->output_count; i++) {
        const struct run_output *output = &running->result->outputs[i];
        if (output->file) text_printf(report, "%s: written to %s\n", output->name, output->file);
        else if (!running->request->quiet) summary_print(report, output->name, &output->view);
    }
}

static void report_check(struct running *running)
{
    struct run_result *result = running->result;
    struct text *report = &result->report;
    if (result->checked_rows < result->all_rows)
        text_printf(report, "check: more than %lld points, so %lld of %lld rows, drawn by the seed, were evaluated\n",
                    (long long)running->check_points, (long long)result->checked_rows, (long long)result->all_rows);
    if (result->remark) text_printf(report, "check: %s\n", result->remark);
    if (result->cut) text_printf(report, "check: %s\n", result->cut);
    for (int i = 0; i < result->output_count; i++) {
        const struct run_output *output = &result->outputs[i];
        if (!output->checked) continue;
        text_printf(report, "check: %s %s: ", output->name, output->comparison.ok ? "agrees" : "DIFFERS");
        comparison_print(report, output->name, &output->view, &output->comparison);
    }
}

// The reference stands against itself under another cut; a config has one of its own.
static const char *why_of(const struct running *running)
{
    if (running->request->execute && !running->result->cut) return "";
    return "; the program's result depends on how rows are cut into tiles";
}

static struct status check_verdict(const struct running *running)
{
    for (int i = 0; i < running->result->output_count; i++) {
        const struct run_output *output = &running->result->outputs[i];
        if (!output->checked || output->comparison.ok) continue;
        struct text words = {0};
        comparison_print(&words, output->name, &output->view, &output->comparison);
        struct status status = status_failed(running->arena, "check.differs", "'%s' from %s: %.*s%s", output->name,
                                             running->request->device, (int)words.length - 1, words.data, why_of(running));
        text_free(&words);
        return status;
    }
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- all of it

static struct status run_steps(struct running *running)
{
    const struct run_request *request = running->request;
    struct status status = list_outputs(running);
    for (int i = 0; i < request->out_count && status.ok; i++) status = assign_file(running, request->outs[i]);
    if (status.ok) status = report_histogram(running);
    if (status.ok) status = save_arguments(running);
    if (status.ok && request->check) status = check_prepare(running);
    if (status.ok) status = execute(running);
    if (status.ok) status = check_guards(running);
    if (status.ok && request->check) status = check_outputs(running);
    if (!status.ok) return status;
    status = write_outputs(running);
    report_outputs(running);
    if (request->check) report_check(running);
    return status.ok ? check_verdict(running) : status;
}

struct status run(struct arena *arena, const struct run_request *request, struct diagnostics *diagnostics,
                  struct run_result *result)
{
    *result = (struct run_result){0};
    struct running running = {.arena = arena, .request = request, .result = result, .bound = &result->bound,
                              .check_points = request->check_points > 0 ? request->check_points : 10000000};
    struct status status = bind_arguments(arena, &request->bind, diagnostics, &result->bound);
    if (status.ok) status = run_steps(&running);
    check_free(&running);
    return status;
}

void run_free(struct run_result *result)
{
    bound_free(&result->bound);
    text_free(&result->report);
    text_free(&result->printed);
    *result = (struct run_result){0};
}
