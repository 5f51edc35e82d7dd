// SPDX-License-Identifier: Apache-2.0
// tilec.h: ahead of time. In: a program and a list of shapes. Out: a heuristic file, in four phases:
//
//   collect   a search for every shape
//   measure   every config that was found, on every shape, each checked
//   build     the fewest configs, and the tree that chooses among them
//   evaluate  what the tree's choices cost, as they were measured
//
// Phases leave files for each other (aot_folder.c); what a file has isn't done again.
#include <math.h>
#include <string.h>

#include "runtime/aot.h"
#include "runtime/cuda.h"
#include "runtime/tune_job.h"

enum { CONFIGS_DEFAULT = 10, CONFIGS_MOST = HEURISTIC_CONFIGS };
static const double threshold_default = 1.1;

struct job {
    struct arena *arena;
    tilec_program *program;
    const struct tilec_aot_options *options;
    tilec_report *report;
    struct text *summary;
    const char *target;
    struct aot_shapes shapes;
    struct aot_list list;
    double *milliseconds;  // [shape][config of the list]; INFINITY

    enum aot_goal goal;
    double threshold;
    int most;
    tilec_result result;  // of a tune that ended early
};

static const struct aot_shape *shape_at(const struct job *job, int index) {
    return &job->shapes.items[index];
}

static void note(const struct job *job, const char *phase, int index, const char *what) {
    if (!job->options->note)
        return;
    const char *line = arena_printf(job->arena, "%s %d/%d %s: %s", phase, index + 1, job->shapes.count,
                                    shape_at(job, index)->name, what);
    job->options->note(job->options->tune.data, line);
}

// ---------------------------------------------------------------------------------------- preparing

static struct status find_target(struct job *job) {
    const char *device = job->options->tune.run.device ? job->options->tune.run.device : "cpu";
    struct cuda_device *seen = NULL;
    int ordinal = 0;
    job->target = "cpu";
    if (strcmp(device, "cpu") == 0)
        return STATUS_OK;
    if (!cuda_device_named(device, &ordinal))
        return status_failed(job->arena, "usage.device",
                             "there is no device %s to tune on; there are cpu, cuda and cuda:N", device);
    struct status status = cuda_device_look(job->arena, ordinal, &seen);
    if (status.ok)
        job->target = arena_printf(job->arena, "sm_%d", seen->properties.sm);
    cuda_device_close(seen);
    return status;
}

static struct status read_options(struct job *job) {
    const struct tilec_aot_options *options = job->options;
    const char *goal = options->goal ? options->goal : "max";
    job->goal = strcmp(goal, "geomean") == 0 ? GOAL_GEOMEAN : GOAL_MAX;
    job->threshold = options->threshold > 0 ? options->threshold : threshold_default;
    job->most = options->max_configs > 0 ? options->max_configs : CONFIGS_DEFAULT;
    if (strcmp(goal, "max") != 0 && strcmp(goal, "geomean") != 0)
        return status_failed(job->arena, "usage.goal", "there is no goal %s; there are max and geomean", goal);
    if (job->threshold < 1)
        return status_failed(job->arena, "usage.threshold",
                             "a threshold is at least 1: so many times what the best takes");
    if (job->most > CONFIGS_MOST)
        return status_failed(job->arena, "usage.configs", "a heuristic has at most %d configs", CONFIGS_MOST);
    return STATUS_OK;
}

static bool wants(const struct job *job, const char *phase) {
    return !job->options->phase || strcmp(job->options->phase, phase) == 0;
}

static struct status check_phase(struct job *job) {
    static const char *const phases[] = {"collect", "measure", "build", "evaluate"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (!job->options->phase || strcmp(job->options->phase, phases[i]) == 0)
            return STATUS_OK;
    return status_failed(job->arena, "usage.phase",
                         "there is no phase %s; there are collect, measure, build and evaluate", job->options->phase);
}

// ---------------------------------------------------------------------------------------- collect

// A tune's own end, where it is no outcome: already told in the report.
static struct status ended(struct job *job, tilec_result result) {
    job->result = result;
    return (struct status){.ok = false, .code = "aot.told", .reason = ""};
}

// A journal is for one shape, and for one list: of others there may be some from before.
static struct tilec_tune_options tune_options(const struct job *job, const char *phase, int index, const char *hash) {
    struct tilec_tune_options options = job->options->tune;
    options.run = shape_at(job, index)->run;
    options.configs = NULL;
    options.journal =
        aot_file(job->arena, job->options->folder, phase, index, arena_printf(job->arena, "%.12s.journal", hash));
    return options;
}

static struct status collect_one(struct job *job, int index) {
    const struct aot_shape *shape = shape_at(job, index);
    struct tilec_tune_options options = tune_options(job, "collect", index, shape->hash);
    tilec_tune *tune = NULL;
    struct config *config = NULL;
    const char *line = NULL;
    if (aot_found_read(job->arena, job->options->folder, index, shape).known)
        return note(job, "collect", index, "known"), STATUS_OK;
    note(job, "collect", index, "searching");
    tilec_result result = tilec_tune_kernel(job->program, &options, job->report, &tune);
    if (result != TILEC_OK && result != TILEC_NO_CONFIG)
        return tilec_tune_free(tune), ended(job, result);
    tilec_text text = tune ? tilec_tune_config(tune, 0) : (tilec_text){0};
    struct status status = STATUS_OK;
    if (text.length)
        status = config_parse(job->arena, shape->kernel, text.data, text.length, &config);
    if (status.ok && config)
        line = tune_config_text(job->arena, shape->kernel, config);
    tilec_text_free(&text);
    tilec_tune_free(tune);
    return status.ok ? aot_found_save(job->arena, job->options->folder, index, shape, line) : status;
}

static struct status collect(struct job *job) {
    struct status status = STATUS_OK;
    for (int i = 0; i < job->shapes.count && status.ok; i++)
        status = collect_one(job, i);
    return status;
}

// ---------------------------------------------------------------------------------------- measure

// The default is always among them.
static struct status make_list(struct job *job) {
    int limit = job->shapes.count + 1;
    const struct ir_kernel *kernel = shape_at(job, 0)->kernel;
    job->list = (struct aot_list){.limit = limit,
                                  .texts = ARENA_ARRAY(job->arena, const char *, limit),
                                  .choosable = ARENA_ARRAY(job->arena, bool, limit)};
    aot_list_add(job->arena, &job->list, tune_config_text(job->arena, kernel, config_default(job->arena, kernel)),
                 true);
    for (int i = 0; i < job->shapes.count; i++) {
        struct aot_found found = aot_found_read(job->arena, job->options->folder, i, shape_at(job, i));
        if (!found.known)
            return status_failed(job->arena, "usage.phase", "%s wasn't searched for yet: the phase collect comes first",
                                 shape_at(job, i)->name);
        struct config *config = NULL;
        if (found.config && config_parse(job->arena, kernel, found.config, strlen(found.config), &config).ok)
            aot_list_add(job->arena, &job->list, tune_config_text(job->arena, kernel, config),
                         !shape_at(job, i)->held_out);
    }
    job->milliseconds = ARENA_ARRAY(job->arena, double, job->shapes.count * job->list.count + 1);
    return aot_list_save(job->arena, job->options->folder, &job->list);
}

static double *times_of(const struct job *job, int shape) {
    return &job->milliseconds[shape * job->list.count];
}

// Of a shape and the list.
static const char *both_hashes(const struct job *job, int index) {
    const char *text = arena_printf(job->arena, "%s %s", shape_at(job, index)->hash, job->list.hash);
    struct cache_key key = cache_hash(&(struct cache_part){text, strlen(text)}, 1);
    return arena_copy(job->arena, key.hex, strlen(key.hex));
}

static struct status measure_one(struct job *job, int index) {
    struct tilec_tune_options options = tune_options(job, "measure", index, both_hashes(job, index));
    tilec_tune *tune = NULL;
    double *times = times_of(job, index);
    options.configs = arena_printf(job->arena, "%s/configs.json", job->options->folder);
    if (aot_times_read(job->arena, job->options->folder, index, shape_at(job, index), &job->list, times))
        return note(job, "measure", index, "known"), STATUS_OK;
    note(job, "measure", index, arena_printf(job->arena, "%d configs", job->list.count));
    tilec_result result = tilec_tune_kernel(job->program, &options, job->report, &tune);
    if ((result != TILEC_OK && result != TILEC_NO_CONFIG) || !tune)
        return tilec_tune_free(tune), ended(job, result);
    for (int i = 0; i < job->list.count; i++) {
        struct tilec_tune_row row = tilec_tune_row(tune, i);
        times[i] = row.status && strcmp(row.status, "ok") == 0 ? row.milliseconds : INFINITY;
    }
    tilec_tune_free(tune);
    return aot_times_save(job->arena, job->options->folder, index, shape_at(job, index), &job->list, times);
}

static struct status measure(struct job *job) {
    struct status status = STATUS_OK;
    for (int i = 0; i < job->shapes.count && status.ok; i++)
        status = measure_one(job, i);
    return status;
}

static struct status read_times(struct job *job) {
    for (int i = 0; i < job->shapes.count; i++)
        if (!aot_times_read(job->arena, job->options->folder, i, shape_at(job, i), &job->list, times_of(job, i)))
            return status_failed(job->arena, "usage.phase",
                                 "%s wasn't measured yet, or with other configs: the phase measure comes first",
                                 shape_at(job, i)->name);
    return STATUS_OK;
}

static double best_time(const struct job *job, int shape) {
    double best = INFINITY;
    for (int i = 0; i < job->list.count; i++)
        best = fmin(best, times_of(job, shape)[i]);
    return best;
}

// ---------------------------------------------------------------------------------------- build

static void add_feature(struct job *job, struct heuristic *heuristic, const char *text) {
    struct heuristic_feature feature;
    if (heuristic->feature_count < HEURISTIC_FEATURES &&
        heuristic_feature_read(job->arena, shape_at(job, 0)->kernel, text, &feature).ok)
        heuristic->features[heuristic->feature_count++] = feature;
}

// Dimensions, the mean length of the rows of each array of offsets, sizes of elements, the longest row.
static void list_features(struct job *job, struct heuristic *heuristic) {
    const struct ir_kernel *kernel = shape_at(job, 0)->kernel;
    struct rows_uses rows = rows_find(job->arena, kernel);
    heuristic->features = ARENA_ARRAY(job->arena, struct heuristic_feature, HEURISTIC_FEATURES);
    for (int i = 0; i < kernel->dim_count; i++)
        add_feature(job, heuristic, kernel->dims[i].name);
    for (int i = 0; i < rows.count; i++) {
        const struct rows_use *use = &rows.items[i];
        if (use->target_param < 0)
            continue;
        struct linear all = linear_of(kernel->params[use->target_param].extents[use->target_position]);
        struct linear count = linear_of(kernel->params[use->param].extents[0]);
        if (all.ok && count.ok && all.dim >= 0 && count.dim >= 0)
            add_feature(job, heuristic,
                        arena_printf(job->arena, "%s / %s", kernel->dims[all.dim].name, kernel->dims[count.dim].name));
    }
    for (int i = 0; i < kernel->generic_count; i++)
        add_feature(job, heuristic, arena_printf(job->arena, "bytes(%s)", kernel->generic_names[i]));
    if (rows.count > 0)
        add_feature(job, heuristic, "longest");
}

static void list_programs(struct job *job, struct heuristic *heuristic) {
    heuristic->programs = ARENA_ARRAY(job->arena, struct heuristic_program, job->shapes.count);
    for (int i = 0; i < job->shapes.count; i++) {
        const char *types = config_key_types(job->arena, shape_at(job, i)->kernel);
        int at = 0;
        while (at < heuristic->program_count && strcmp(heuristic->programs[at].types, types) != 0)
            at++;
        if (at == heuristic->program_count)
            heuristic->programs[heuristic->program_count++] =
                (struct heuristic_program){types, config_key_program(job->arena, shape_at(job, i)->kernel)};
    }
}

// Slowdowns of what may be chosen; the others are as if they couldn't be had.
static struct aot_data make_data(struct job *job, const struct heuristic *heuristic) {
    int shapes = job->shapes.count, configs = job->list.count, features = heuristic->feature_count;
    double *slowdown = ARENA_ARRAY(job->arena, double, shapes *configs + 1),
           *values = ARENA_ARRAY(job->arena, double, shapes *features + 1);
    bool *held_out = ARENA_ARRAY(job->arena, bool, shapes + 1);
    for (int i = 0; i < shapes; i++) {
        const struct aot_shape *shape = shape_at(job, i);
        const struct heuristic_shape asked = {shape->dims, shape->longest};
        double best = best_time(job, i);
        held_out[i] = shape->held_out || !isfinite(best);
        for (int j = 0; j < configs; j++)
            slowdown[i * configs + j] =
                job->list.choosable[j] && isfinite(best) ? times_of(job, i)[j] / best : INFINITY;
        for (int f = 0; f < features; f++)
            values[i * features + f] = heuristic_feature_value(shape->kernel, &heuristic->features[f], &asked);
    }
    return (struct aot_data){shapes, configs, features, slowdown, values, held_out};
}

// Configs in the order in which the tree's answers have them, each once.
static struct status take_tree(struct job *job, const struct aot_tree *tree, struct heuristic *heuristic) {
    const struct ir_kernel *kernel = shape_at(job, 0)->kernel;
    int numbers[HEURISTIC_CONFIGS], count = 0;
    heuristic->nodes = ARENA_ARRAY(job->arena, struct heuristic_node, tree->node_count);
    heuristic->configs = ARENA_ARRAY(job->arena, struct config *, HEURISTIC_LEAVES);
    heuristic->node_count = tree->node_count;
    for (int i = 0; i < tree->node_count; i++) {
        heuristic->nodes[i] = tree->nodes[i];
        if (tree->nodes[i].feature >= 0)
            continue;
        int at = 0;
        while (at < count && numbers[at] != tree->nodes[i].config)
            at++;
        if (at == count) {
            const char *text = job->list.texts[tree->nodes[i].config];
            struct status status = config_parse(job->arena, kernel, text, strlen(text), &heuristic->configs[count]);
            if (!status.ok)
                return status;
            numbers[count++] = tree->nodes[i].config;
        }
        heuristic->nodes[i].config = at;
    }
    heuristic->config_count = count;
    return STATUS_OK;
}

static const char *heuristic_path(const struct job *job) {
    const char *source = job->program->source->path, *slash = strrchr(source, '/');
    const char *folder = job->options->out ? job->options->out
                         : slash           ? arena_printf(job->arena, "%.*s", (int)(slash - source), source)
                                           : ".";
    return arena_printf(job->arena, "%s/%s", folder,
                        heuristic_file_name(job->arena, source, shape_at(job, 0)->kernel->name, job->target));
}

static struct status build(struct job *job) {
    struct heuristic heuristic = {.kernel = shape_at(job, 0)->kernel->name, .target = job->target};
    struct aot_tree tree;
    int chosen[HEURISTIC_CONFIGS];
    list_features(job, &heuristic);
    list_programs(job, &heuristic);
    struct aot_data data = make_data(job, &heuristic);
    int count = aot_choose_configs(&data, job->goal, job->threshold, job->most, chosen);
    if (count == 0)
        return status_failed(job->arena, "search.none", "no config is right on any shape that isn't held out");
    aot_grow(&data, job->goal, job->threshold, chosen, count, &tree);
    struct status status = take_tree(job, &tree, &heuristic);
    if (!status.ok)
        return status;
    struct text text = {0};
    heuristic_print(&text, shape_at(job, 0)->kernel, &heuristic);
    const char *path = heuristic_path(job);
    status = file_save(job->arena, path, text.data, text.length);
    text_free(&text);
    text_printf(job->summary, "%s: %d of %d configs, %d answers\n", path, heuristic.config_count, job->list.count,
                tree.leaf_count);
    return status;
}

// ---------------------------------------------------------------------------------------- evaluate

static struct status read_heuristic(struct job *job, const struct ir_kernel *kernel, struct heuristic **heuristic) {
    const char *reason = NULL, *path = heuristic_path(job);
    const struct source *source = source_read(job->arena, path, &reason);
    if (!source)
        return status_failed(job->arena, "usage.phase", "can't read %s: %s; the phase build comes first", path, reason);
    struct status status = heuristic_parse(job->arena, kernel, source->text, source->length, heuristic);
    if (status.ok)
        status = heuristic_check_program(job->arena, *heuristic, kernel);
    return status.ok ? status : status_failed(job->arena, "config.heuristic", "%s: %s", path, status.reason);
}

// The place in the list of what the file, as it lies there, chooses; -1: the list hasn't got it.
static struct status choose(struct job *job, int index, int *choice, int *number) {
    const struct aot_shape *shape = shape_at(job, index);
    const struct heuristic_shape asked = {shape->dims, shape->longest};
    struct heuristic *heuristic = NULL;
    struct status status = read_heuristic(job, shape->kernel, &heuristic);
    *choice = -1;
    if (!status.ok)
        return status;
    *number = heuristic_choose(shape->kernel, heuristic, &asked);
    const char *text = tune_config_text(job->arena, shape->kernel, heuristic->configs[*number]);
    for (int i = 0; i < job->list.count; i++)
        if (strcmp(job->list.texts[i], text) == 0)
            *choice = i;
    return STATUS_OK;
}

static void print_shape(struct job *job, int index, int choice, int number, double best) {
    double time = choice >= 0 ? times_of(job, index)[choice] : INFINITY;
    text_printf(job->summary, "%-24s config %d ", shape_at(job, index)->name, number);
    tune_print_fixed(job->summary, time, 4, 10);
    text_add(job->summary, " ms, best ");
    tune_print_fixed(job->summary, best, 4, 10);
    text_add(job->summary, " ms:");
    tune_print_fixed(job->summary, time / best, 3, 8);
    text_printf(job->summary, "%s\n", shape_at(job, index)->held_out ? "  held out" : "");
}

static void print_cost(struct job *job, const char *what, const struct aot_cost *cost) {
    if (cost->count == 0)
        return;
    text_printf(job->summary, "%s: %d shapes, worst ", what, cost->count);
    tune_print_fixed(job->summary, cost->worst, 3, 0);
    text_add(job->summary, ", geometric mean ");
    tune_print_fixed(job->summary, aot_geomean(cost), 3, 0);
    text_add(job->summary, "\n");
}

static struct status evaluate(struct job *job) {
    int *choices = ARENA_ARRAY(job->arena, int, job->shapes.count + 1), compared = 0, wrong = 0, number = 0;
    double *slowdown = ARENA_ARRAY(job->arena, double, job->shapes.count * job->list.count + 1);
    bool *held_out = ARENA_ARRAY(job->arena, bool, job->shapes.count + 1);
    struct aot_data data = {job->shapes.count, job->list.count, 0, slowdown, NULL, held_out};
    struct status status = STATUS_OK;
    int kept = 0;
    for (int i = 0; i < job->shapes.count && status.ok; i++) {
        double best = best_time(job, i);
        int choice = -1;
        status = choose(job, i, &choice, &number);
        if (!status.ok || !isfinite(best))
            continue;
        print_shape(job, i, choice, number, best);
        bool timed = choice >= 0 && isfinite(times_of(job, i)[choice]);
        wrong += !timed;
        compared += timed;
        if (!timed)
            continue;
        for (int j = 0; j < job->list.count; j++)
            slowdown[kept * job->list.count + j] = times_of(job, i)[j] / best;
        held_out[kept] = shape_at(job, i)->held_out;
        choices[kept++] = choice;
    }
    if (!status.ok)
        return status;
    data.shape_count = kept;
    struct aot_cost learnt = aot_cost_of(&data, choices, true), others = aot_cost_of(&data, choices, false);
    print_cost(job, "learnt from", &learnt);
    print_cost(job, "held out", &others);
    if (compared == 0)
        return status_failed(job->arena, "check.nothing",
                             "the evaluation compared nothing: no choice of the heuristic was measured");
    if (wrong > 0)
        return status_failed(job->arena, "check.choice",
                             "for %d of %d shapes the heuristic chooses a config that wasn't measured or isn't right "
                             "there",
                             wrong, job->shapes.count);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------- all of it

// What each shape gets from the file that is there.
static struct status list_choices(struct job *job) {
    struct status status = STATUS_OK;
    for (int i = 0; i < job->shapes.count && status.ok; i++) {
        const struct aot_shape *shape = shape_at(job, i);
        const struct heuristic_shape asked = {shape->dims, shape->longest};
        struct heuristic *heuristic = NULL;
        status = read_heuristic(job, shape->kernel, &heuristic);
        if (!status.ok)
            break;
        text_printf(job->summary, "%-24s config %d: ", shape->name, heuristic_choose(shape->kernel, heuristic, &asked));
        heuristic_explain(job->summary, shape->kernel, heuristic, &asked);
        text_add(job->summary, "\n");
    }
    return status;
}

static struct status steps(struct job *job, struct diagnostics *diagnostics) {
    struct status status = check_phase(job);
    if (status.ok)
        status = read_options(job);
    if (status.ok)
        status = find_target(job);
    if (status.ok)
        status = aot_shapes_read(job->arena, job->options->shapes, &job->options->tune.run, &job->shapes);
    if (status.ok)
        status = aot_shapes_bind(job->arena, job->program, job->target, &job->shapes, diagnostics);
    if (status.ok && job->options->list)
        return list_choices(job);
    if (status.ok)
        status = aot_make_folders(job->arena, job->options->folder);
    if (status.ok && wants(job, "collect"))
        status = collect(job);
    if (!status.ok || (job->options->phase && wants(job, "collect")))
        return status;
    status = make_list(job);
    if (status.ok && wants(job, "measure"))
        status = measure(job);
    if (!status.ok || (job->options->phase && wants(job, "measure")))
        return status;
    status = read_times(job);
    if (status.ok && wants(job, "build"))
        status = build(job);
    if (status.ok && wants(job, "evaluate"))
        status = evaluate(job);
    return status;
}

tilec_result tilec_aot(tilec_program *program, const struct tilec_aot_options *options, tilec_report *report,
                       tilec_text *summary) {
    struct diagnostics diagnostics;
    struct arena *arena = arena_new();
    struct text text = {0};
    *summary = (tilec_text){0};
    if (!arena)
        return report_failed(report, "internal.memory", NULL, "out of memory");
    struct job job = {.arena = arena, .program = program, .options = options, .report = report, .summary = &text};
    diagnostics_init(&diagnostics, arena);
    struct status status = steps(&job, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    if (job.result != TILEC_OK)
        result = job.result;
    else if (!status.ok && !(result == TILEC_WRONG && strncmp(status.code, "program.", 8) == 0))
        result = report_status(report, &status);
    *summary = text_take(&text);
    arena_free(arena);
    return result;
}
