// SPDX-License-Identifier: Apache-2.0
// The device worker. In: what was built for a config. Out: whether its results are right, and then its times.
//
// Right before fast: one launch on restored inputs and poisoned outputs, whose results are compared with the reference in
// the file of tensors; only then launches are timed. The reference itself is made here, too, where the evaluator is too
// slow for all of it: the outputs of one config, written to the file before the driver seals it.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

enum { RUNS_LEAST = 3, RUNS_FEW = 7, RUNS_MOST = 50, ITEMS_LIMIT = 16, ROUNDS_LIMIT = 200 };
static const double timed_milliseconds = 40;  // that the timed runs of a config take together, about
static const double bound_factor = 3;         // slower than this times the best: one run is enough
static const double rival_factor = 1.05;      // slower than this times the best after a few runs: these tell as much as is asked
static const double first_launch = 0.5;       // ms that a first launch may take longer than others

struct measuring {
    int socket;
    struct tune_device *device;
};

// ---------------------------------------------------------------------------------------------- order statistics

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

// Sorts them. The spread: from the fastest tenth to the slowest tenth.
static double median_of(double *times, int count, double *spread)
{
    qsort(times, (size_t)count, sizeof *times, compare_times);
    int tenth = count / 10;
    *spread = times[count - 1 - tenth] - times[tenth];
    return count % 2 ? times[count / 2] : 0.5 * (times[count / 2 - 1] + times[count / 2]);
}

// ---------------------------------------------------------------------------------------------- is it right

static struct status fetch(struct measuring *measuring, struct arena *arena, int param)
{
    struct tune_device *device = measuring->device;
    return device->target->fetch ? device->target->fetch(device, arena, param) : STATUS_OK;
}

static struct status compare_one(struct measuring *measuring, struct arena *arena, int param, const struct ir_tensor *reference,
                                 const struct compare_options *options)
{
    const char *name = measuring->device->work->kernel->params[param].name;
    const struct ir_tensor *view = &measuring->device->outputs[param].view;
    struct status fetched = fetch(measuring, arena, param);
    if (!fetched.ok) return fetched;
    struct comparison comparison = compare_tensors(view, reference, options);
    if (comparison.ok) return STATUS_OK;
    struct text words = {0};
    comparison_print(&words, name, view, &comparison);
    struct status status = status_failed(arena, "check.differs", "%s: %.*s", name, (int)words.length - 1, words.data);
    text_free(&words);
    return status;
}

// The reference's own size is looked at once.
static struct status compare_with_reference(struct measuring *measuring, struct arena *arena, int param)
{
    struct tune_device *device = measuring->device;
    struct tune_tensor *tensor = &device->work->tensors[param];
    compare_bound(&tensor->reference, &tensor->options);
    if (device->target->agrees && device->target->agrees(device, arena, param)) return STATUS_OK;
    return compare_one(measuring, arena, param, &tensor->reference, &tensor->options);
}

// *sample: 1 if the outputs agree with the evaluator's sample, 0 if not, -1 if there is none.
static struct status compare_outputs(struct measuring *measuring, struct arena *arena, int *sample)
{
    const struct tune_work *work = measuring->device->work;
    struct status status = STATUS_OK;
    for (int i = 0; i < work->kernel->param_count && status.ok; i++)
        if (work->tensors[i].reference.data) status = compare_with_reference(measuring, arena, i);
    *sample = -1;
    for (int i = 0; i < work->kernel->param_count && !status.ok; i++)
        if (work->tensors[i].sample.data && *sample != 0)
            *sample = compare_one(measuring, arena, i, &work->tensors[i].sample, &work->tensors[i].sample_options).ok;
    return status;
}

// ---------------------------------------------------------------------------------------------- how fast is it

// Nothing takes no time, and nothing moves its bytes much faster than the device copies.
static struct status check_time(const struct measuring *measuring, struct arena *arena, double milliseconds)
{
    const struct tune_device *device = measuring->device;
    if (!(milliseconds > 0) || !isfinite(milliseconds))
        return status_failed(arena, "device.timing", "the device says that a run took no time");
    double least = device->copy_rate > 0 ? 1e3 * device->work->least_bytes / (device->copy_rate * device->fastest_share) : 0;
    if (milliseconds < least)
        return status_failed(arena, "device.timing", "%d ns are less than the %d that the bytes take at %d times the speed of copying",
                             (int)(1e6 * milliseconds), (int)(1e6 * least), (int)device->fastest_share);
    return STATUS_OK;
}

struct timed {
    double median, spread;
    int runs;
    bool bound;
};

static int runs_for(double milliseconds)
{
    double fit = milliseconds > 0 ? timed_milliseconds / milliseconds : RUNS_MOST;
    return fit < RUNS_LEAST ? RUNS_LEAST : fit > RUNS_MOST ? RUNS_MOST : (int)fit;
}

// A few runs, and the rest only for a rival of the best. Times are in place behind those that there are.
static struct status take_times(struct measuring *measuring, struct arena *arena, void *program, double best, int most, struct timed *timed)
{
    const struct tune_target *target = measuring->device->target;
    double *times = ARENA_ARRAY(arena, double, most);
    timed->runs = best > 0 && most > RUNS_FEW ? RUNS_FEW : most;
    struct status status = target->time(measuring->device, arena, program, timed->runs, times);
    if (!status.ok) return status;
    timed->median = median_of(times, timed->runs, &timed->spread);
    if (timed->runs < most && timed->median <= rival_factor * best) {
        status = target->time(measuring->device, arena, program, most - timed->runs, times + timed->runs);
        timed->runs = most;
        if (status.ok) timed->median = median_of(times, most, &timed->spread);
    }
    return status.ok ? check_time(measuring, arena, times[0]) : status;
}

// `best` in ms, 0: none yet.
static struct status time_program(struct measuring *measuring, struct arena *arena, void *program, double best, struct timed *timed)
{
    const struct tune_target *target = measuring->device->target;
    double first = measuring->device->check_milliseconds;
    *timed = (struct timed){.median = first, .runs = 1, .bound = true};
    if (best > 0 && first > bound_factor * best + first_launch) return STATUS_OK;  // the check was its first run
    struct status status = target->time(measuring->device, arena, program, 1, &first);
    timed->median = first;
    timed->bound = best > 0 && first > bound_factor * best;
    if (status.ok) status = check_time(measuring, arena, first);
    if (!status.ok || timed->bound) return status;
    return take_times(measuring, arena, program, best, runs_for(first), timed);
}

// ---------------------------------------------------------------------------------------------- one config

static struct status load(struct measuring *measuring, struct arena *arena, const struct wire *message, void **program)
{
    struct tune_built built;
    const char *path = wire_text(message, "path");
    *program = NULL;
    measuring->device->registers = -1;
    measuring->device->check_milliseconds = 0;
    if (!path || !tune_plan_read(arena, measuring->device->work, wire_get(message, "plan"), &built))
        return status_failed(arena, "internal.plan", "the plan of a launch can't be read");
    return measuring->device->target->load(measuring->device, arena, wire_int(message, "row", -1), path, &built, program);
}

static void unload(struct measuring *measuring, void *program)
{
    if (program) measuring->device->target->unload(measuring->device, program);
}

static bool answer_failure(struct measuring *measuring, int row, const struct status *status, int sample)
{
    // After a failed launch the context is gone; whoever wrote beyond its outputs may have hit anything.
    bool lost = strncmp(status->code, "launch.", 7) == 0 || strncmp(status->code, "device.", 7) == 0 || strncmp(status->code, "memory.", 7) == 0 ||
                strcmp(status->code, "check.guard") == 0;
    int number = measuring->device->target->raw_code ? measuring->device->target->raw_code(measuring->device) : 0;
    if (sample < 0) return worker_failed(measuring->socket, row, status, number, lost).ok && !lost;
    struct text text = {0};
    text_add(&text, "{\"type\": \"failed\"");
    wire_add_int(&text, "row", row);
    wire_add_text(&text, "code", status->code);
    wire_add_text(&text, "reason", status->reason);
    wire_add_int(&text, "sample", sample);
    text_add(&text, "}");
    bool sent = wire_send(measuring->socket, &text);
    text_free(&text);
    return sent;
}

static bool measure(struct measuring *measuring, struct arena *arena, const struct wire *message)
{
    void *program = NULL;
    struct timed timed = {0};
    int row = wire_int(message, "row", -1), sample = -1;
    struct status status = load(measuring, arena, message, &program);
    if (status.ok) status = measuring->device->target->check(measuring->device, arena, program);
    if (status.ok) status = compare_outputs(measuring, arena, &sample);
    if (status.ok) status = time_program(measuring, arena, program, wire_number(message, "best", 0), &timed);
    if (status.ok) unload(measuring, program);
    if (!status.ok) {
        bool going = answer_failure(measuring, row, &status, sample);
        if (going) unload(measuring, program);
        return going;
    }
    struct text text = {0};
    text_add(&text, "{\"type\": \"measured\"");
    wire_add_int(&text, "row", row);
    wire_add_number(&text, "median", timed.median);
    wire_add_number(&text, "spread", timed.spread);
    wire_add_int(&text, "runs", timed.runs);
    wire_add_bool(&text, "bound", timed.bound);
    wire_add_int(&text, "registers", measuring->device->registers);
    text_add(&text, "}");
    bool sent = wire_send(measuring->socket, &text);
    text_free(&text);
    return sent;
}

// ---------------------------------------------------------------------------------------------- the reference

static struct status write_reference(struct measuring *measuring, struct arena *arena, int param)
{
    const struct tune_tensor *tensor = &measuring->device->work->tensors[param];
    const char *data = measuring->device->outputs[param].view.data;
    struct status fetched = fetch(measuring, arena, param);
    if (!fetched.ok) return fetched;
    struct status status = tune_write(arena, WORKER_FILE, tensor->reference_at, data, tensor->bytes);
    return status.ok ? status : status_failed(arena, "memory.reference", "the reference can't be kept: %s", status.reason);
}

// Runs a config and keeps its outputs as the reference, if they agree with the evaluator's sample.
static bool make_reference(struct measuring *measuring, struct arena *arena, const struct wire *message)
{
    void *program = NULL;
    const struct tune_work *work = measuring->device->work;
    struct status status = load(measuring, arena, message, &program);
    if (status.ok) status = measuring->device->target->check(measuring->device, arena, program);
    for (int i = 0; i < work->kernel->param_count && status.ok; i++)
        if (work->tensors[i].sample.data) status = compare_one(measuring, arena, i, &work->tensors[i].sample, &work->tensors[i].sample_options);
    for (int i = 0; i < work->kernel->param_count && status.ok; i++)
        if (work->tensors[i].reference_at >= 0) status = write_reference(measuring, arena, i);
    if (!status.ok) return answer_failure(measuring, -1, &status, -1);
    unload(measuring, program);
    struct text text = {0};
    text_add(&text, "{\"type\": \"referenced\"}");
    bool sent = wire_send(measuring->socket, &text);
    text_free(&text);
    return sent;
}

// ---------------------------------------------------------------------------------------------- several in turns

struct contest {
    int count, rounds;
    int rows[ITEMS_LIMIT];
    void *programs[ITEMS_LIMIT];
    double *times[ITEMS_LIMIT];
};

static struct status run_contest(struct measuring *measuring, struct arena *arena, const struct wire *items, struct contest *contest)
{
    struct status status = STATUS_OK;
    for (const struct wire *item = wire_first(items); item && status.ok; item = wire_next(item)) {
        if (contest->count == ITEMS_LIMIT) break;
        contest->rows[contest->count] = wire_int(item, "row", -1);
        contest->times[contest->count] = ARENA_ARRAY(arena, double, contest->rounds + 1);
        status = load(measuring, arena, item, &contest->programs[contest->count++]);
    }
    for (int round = -1; round < contest->rounds && status.ok; round++)  // the first round warms up
        for (int i = 0; i < contest->count && status.ok; i++)
            status = measuring->device->target->time(measuring->device, arena, contest->programs[i], 1, &contest->times[i][round < 0 ? 0 : round]);
    return status;
}

static bool retime(struct measuring *measuring, struct arena *arena, const struct wire *message)
{
    int rounds = wire_int(message, "rounds", 0);
    struct contest contest = {.rounds = rounds < 1 ? 1 : rounds > ROUNDS_LIMIT ? ROUNDS_LIMIT : rounds};
    struct status status = run_contest(measuring, arena, wire_get(message, "items"), &contest);
    if (!status.ok) return answer_failure(measuring, -1, &status, -1);
    struct text text = {0};
    text_add(&text, "{\"type\": \"retimed\", \"items\": [");
    for (int i = 0; i < contest.count; i++) {
        double spread = 0, median = median_of(contest.times[i], contest.rounds, &spread);
        text_printf(&text, "%s{\"row\": %d", i ? ", " : "", contest.rows[i]);
        wire_add_number(&text, "median", median);
        wire_add_number(&text, "spread", spread);
        wire_add_int(&text, "runs", contest.rounds);
        text_add(&text, "}");
        unload(measuring, contest.programs[i]);
    }
    text_add(&text, "]}");
    bool sent = wire_send(measuring->socket, &text);
    text_free(&text);
    return sent;
}

// ---------------------------------------------------------------------------------------------- the loop

static struct status make_outputs(struct tune_device *device)
{
    const struct tune_work *work = device->work;
    struct status status = STATUS_OK;
    device->outputs = ARENA_ARRAY(device->arena, struct tensor, work->kernel->param_count + 1);
    for (int i = 0; i < work->kernel->param_count && status.ok; i++) {
        const struct ir_param *param = &work->kernel->params[i];
        if (!work->tensors[i].present || (param->kind != PARAM_OUT && param->kind != PARAM_INOUT)) continue;
        status = tensor_new(device->arena, param->name, param->type, param->rank, work->tensors[i].view.shape, &device->outputs[i]);
    }
    return status;
}

static bool say_ready(const struct measuring *measuring)
{
    struct text text = {0};
    text_add(&text, "{\"type\": \"ready\"");
    wire_add_text(&text, "properties", measuring->device->properties);
    text_add(&text, "}");
    bool sent = wire_send(measuring->socket, &text);
    text_free(&text);
    return sent;
}

static bool serve(struct measuring *measuring, const struct wire *message)
{
    struct arena *arena = arena_new();
    const char *type = wire_text(message, "type");
    bool going = false;
    if (!arena || !type) return false;
    if (strcmp(type, "measure") == 0) going = measure(measuring, arena, message);
    else if (strcmp(type, "reference") == 0) going = make_reference(measuring, arena, message);
    else if (strcmp(type, "retime") == 0) going = retime(measuring, arena, message);
    arena_free(arena);
    return going;
}

int worker_measure(int socket, const struct tune_target *target, const struct wire *setup)
{
    struct tune_work work;
    struct arena *arena = arena_new();
    struct tune_device device = {.target = target, .arena = arena, .work = &work, .properties = "", .fastest_share = 8,
                                 .ordinal = wire_int(setup, "ordinal", 0)};
    struct measuring measuring = {.socket = socket, .device = &device};
    if (!arena) return 70;
    struct status status = tune_work_read(arena, setup, WORKER_FILE, &work);
    if (status.ok) status = make_outputs(&device);
    if (status.ok) status = target->open(&device);
    if (!status.ok) return worker_failed(socket, -1, &status, 0, true), 1;
    struct wire *message = NULL;
    bool going = say_ready(&measuring);
    while (going && (message = wire_receive(socket)) != NULL) {
        going = serve(&measuring, message);
        wire_free(message);
    }
    _exit(0);  // a device that was lost may hang in its library's own cleaning up
}
