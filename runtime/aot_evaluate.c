// SPDX-License-Identifier: Apache-2.0
// The phase `evaluate` of `tilec aot`. In: the heuristic file as it lies there, and measured times. Out: what its
// choices cost against the best, shape by shape. Nothing compared is a failure, and so is a choice that nobody
// measured.
#include <math.h>
#include <string.h>

#include "runtime/aot_job.h"
#include "runtime/tune_job.h"

// ---------------------------------------------------------------------------------------- evaluate

static struct status read_heuristic(struct aot_job *job, const struct ir_kernel *kernel, struct heuristic **heuristic) {
    const char *reason = NULL, *path = aot_heuristic_path(job);
    const struct source *source = source_read(job->arena, path, &reason);
    if (!source)
        return status_failed(job->arena, "usage.phase", "can't read %s: %s; the phase build comes first", path, reason);
    struct status status = heuristic_parse(job->arena, kernel, source->text, source->length, heuristic);
    if (status.ok)
        status = heuristic_check_program(job->arena, *heuristic, kernel);
    return status.ok ? status : status_failed(job->arena, "config.heuristic", "%s: %s", path, status.reason);
}

struct evaluation {
    bool told;         // how long the longest row is
    bool asks;         // the tree wants to know that
    int kept, wrong;   // shapes; and those whose choice wasn't measured or isn't right
    int *choices;      // by kept shape: a config of the list
    double *slowdown;  // [kept shape][config of the list]
    bool *held_out;
};

// The place in the list of what the file, as it lies there, chooses; -1: the list hasn't got it.
static struct status choose(struct aot_job *job, int index, struct evaluation *evaluation, int *choice, int *number) {
    const struct aot_shape *shape = aot_shape_at(job, index);
    const struct heuristic_shape asked = {shape->dims, evaluation->told ? shape->longest : -1};
    struct heuristic *heuristic = NULL;
    struct status status = read_heuristic(job, shape->kernel, &heuristic);
    *choice = -1;
    if (!status.ok)
        return status;
    *number = heuristic_choose(shape->kernel, heuristic, &asked);
    for (int i = 0; i < heuristic->node_count; i++) {
        int feature = heuristic->nodes[i].feature;
        if (feature >= 0)
            evaluation->asks |= heuristic->features[feature].kind == FEATURE_LONGEST ||
                                heuristic->features[feature].kind == FEATURE_SKEW;
    }
    const char *text = tune_config_text(job->arena, shape->kernel, heuristic->configs[*number]);
    for (int i = 0; i < job->list.count; i++)
        if (strcmp(job->list.texts[i], text) == 0)
            *choice = i;
    return STATUS_OK;
}

static void print_shape(struct aot_job *job, int index, int choice, int number, double best) {
    double time = choice >= 0 ? aot_times_of(job, index)[choice] : INFINITY;
    text_printf(job->summary, "%-24s config %d ", aot_shape_at(job, index)->name, number);
    tune_print_fixed(job->summary, time, 4, 10);
    text_add(job->summary, " ms, best ");
    tune_print_fixed(job->summary, best, 4, 10);
    text_add(job->summary, " ms:");
    tune_print_fixed(job->summary, time / best, 3, 8);
    text_printf(job->summary, "%s\n", aot_shape_at(job, index)->held_out ? "  held out" : "");
}

static void print_cost(struct aot_job *job, const char *what, const struct evaluation *evaluation, bool learnt) {
    const struct aot_data data = {.shape_count = evaluation->kept,
                                  .config_count = job->list.count,
                                  .slowdown = evaluation->slowdown,
                                  .held_out = evaluation->held_out};
    const struct aot_cost cost = aot_cost_of(&data, evaluation->choices, learnt);
    if (cost.count == 0)
        return;
    text_printf(job->summary, "%s%s: %d shapes, worst ", what, evaluation->told ? "" : ", the longest row not told",
                cost.count);
    tune_print_fixed(job->summary, cost.worst, 3, 0);
    text_add(job->summary, ", geometric mean ");
    tune_print_fixed(job->summary, aot_geomean(&cost), 3, 0);
    text_add(job->summary, "\n");
}

static void keep(struct aot_job *job, int index, int choice, double best, struct evaluation *evaluation) {
    for (int j = 0; j < job->list.count; j++)
        evaluation->slowdown[evaluation->kept * job->list.count + j] = aot_times_of(job, index)[j] / best;
    evaluation->held_out[evaluation->kept] = aot_shape_at(job, index)->held_out;
    evaluation->choices[evaluation->kept++] = choice;
}

static struct status compare_all(struct aot_job *job, bool told, struct evaluation *evaluation) {
    struct status status = STATUS_OK;
    int number = 0, choice = -1, count = job->shapes.count;
    *evaluation = (struct evaluation){.told = told,
                                      .choices = ARENA_ARRAY(job->arena, int, count + 1),
                                      .slowdown = ARENA_ARRAY(job->arena, double, count * job->list.count + 1),
                                      .held_out = ARENA_ARRAY(job->arena, bool, count + 1)};
    for (int i = 0; i < count && status.ok; i++) {
        double best = aot_best_time(job, i);
        status = choose(job, i, evaluation, &choice, &number);
        if (!status.ok || !isfinite(best))
            continue;
        if (told)
            print_shape(job, i, choice, number, best);
        if (choice >= 0 && isfinite(aot_times_of(job, i)[choice]))
            keep(job, i, choice, best, evaluation);
        else
            evaluation->wrong++;
    }
    return status;
}

// Callers whose offsets lie on a device don't know the longest row: what they get is told too, and judged by nobody.
static struct status evaluate_untold(struct aot_job *job) {
    struct evaluation untold;
    struct status status = compare_all(job, false, &untold);
    print_cost(job, "learnt from", &untold, true);
    print_cost(job, "held out", &untold, false);
    return status;
}

struct status aot_evaluate(struct aot_job *job) {
    struct evaluation evaluation;
    struct status status = compare_all(job, true, &evaluation);
    if (!status.ok)
        return status;
    print_cost(job, "learnt from", &evaluation, true);
    print_cost(job, "held out", &evaluation, false);
    if (evaluation.asks)
        status = evaluate_untold(job);
    if (!status.ok)
        return status;
    if (evaluation.kept == 0)
        return status_failed(job->arena, "check.nothing",
                             "the evaluation compared nothing: no choice of the heuristic was measured");
    if (evaluation.wrong > 0)
        return status_failed(job->arena, "check.choice",
                             "for %d of %d shapes the heuristic chooses a config that wasn't measured or isn't right "
                             "there",
                             evaluation.wrong, job->shapes.count);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------- the list

static void list_one(struct aot_job *job, const struct aot_shape *shape, const struct heuristic_found *found) {
    const struct heuristic_shape asked = {shape->dims, shape->longest};
    text_printf(job->summary, "%-24s ", shape->name);
    if (!found->heuristic) {
        text_printf(job->summary, "default config: no file is used\n");
        return;
    }
    text_printf(job->summary, "config %d: ", heuristic_choose(shape->kernel, found->heuristic, &asked));
    heuristic_explain(job->summary, shape->kernel, found->heuristic, &asked);
    text_add(job->summary, "\n");
}

// What a file is, or why there is none, before the shapes that it is for.
static void list_file(struct aot_job *job, const struct aot_shape *shape, const struct heuristic_found *found) {
    for (int i = 0; i < found->warning_count; i++)
        text_printf(job->summary, "# %s\n", found->warnings[i].text);
    text_printf(job->summary, "# %s, program %s\n", found->path ? found->path : "no file",
                config_key_program(job->arena, shape->kernel));
}

// What each shape gets from the file that is used where it runs, as `run` looks for it.
struct status aot_list_choices(struct aot_job *job) {
    struct cache_session session;
    struct heuristic_found found = {0};
    const char *types = NULL;
    struct status status = cache_session_begin(job->arena, &job->options->tune.run.cache, &session);
    const char *folder = job->options->out ? job->options->out : session.settings.heuristics;
    if (!status.ok)
        return status;
    for (int i = 0; i < job->shapes.count; i++) {
        const struct aot_shape *shape = aot_shape_at(job, i);
        const char *own = config_key_types(job->arena, shape->kernel);
        if (!types || strcmp(types, own) != 0) {
            found = heuristic_find(job->arena, shape->kernel, folder, job->target);
            list_file(job, shape, &found);
        }
        types = own;
        list_one(job, shape, &found);
    }
    return STATUS_OK;
}
