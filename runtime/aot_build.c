// SPDX-License-Identifier: Apache-2.0
// The phase `build` of `tilec aot`. In: measured times. Out: the heuristic file: what the host knows of each shape, the
// fewest configs, and the tree that chooses among them.
#include <math.h>
#include <string.h>

#include "runtime/aot_around.h"
#include "runtime/tune_job.h"

// ---------------------------------------------------------------------------------------- features

// Each once.
static void add_feature(struct aot_job *job, struct heuristic *heuristic, const char *text) {
    struct heuristic_feature feature;
    for (int i = 0; i < heuristic->feature_count; i++) {
        struct text known = {0};
        heuristic_feature_print(&known, aot_shape_at(job, 0)->kernel, &heuristic->features[i]);
        bool same = strcmp(known.data, text) == 0;
        text_free(&known);
        if (same)
            return;
    }
    if (heuristic->feature_count < HEURISTIC_FEATURES &&
        heuristic_feature_read(job->arena, aot_shape_at(job, 0)->kernel, text, &feature).ok)
        heuristic->features[heuristic->feature_count++] = feature;
}

// What is read and written, and how much there is to do at once, goes by how many elements there are: open extents times
// those that are compiled in.
static void add_sizes(struct aot_job *job, struct heuristic *heuristic) {
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
    for (int i = 0; i < kernel->dim_count; i++)
        for (int j = 0; j < kernel->dim_count; j++)
            if (!kernel->dims[i].is_static && kernel->dims[j].is_static)
                add_feature(job, heuristic,
                            arena_printf(job->arena, "%s * %s", kernel->dims[i].name, kernel->dims[j].name));
}

// Dimensions, the mean length of the rows of each array of offsets and how skewed they are, sizes of tensors and of
// elements, the longest row.
static void list_features(struct aot_job *job, struct heuristic *heuristic) {
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
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
        if (!all.ok || !count.ok || all.dim < 0 || count.dim < 0)
            continue;
        const char *mean =
            arena_printf(job->arena, "%s / %s", kernel->dims[all.dim].name, kernel->dims[count.dim].name);
        add_feature(job, heuristic, mean);
        add_feature(job, heuristic, arena_printf(job->arena, "longest / (%s)", mean));
    }
    add_sizes(job, heuristic);
    for (int i = 0; i < kernel->generic_count; i++)
        add_feature(job, heuristic, arena_printf(job->arena, "bytes(%s)", kernel->generic_names[i]));
    if (rows.count > 0)
        add_feature(job, heuristic, "longest");
}

static void list_programs(struct aot_job *job, struct heuristic *heuristic) {
    heuristic->programs = ARENA_ARRAY(job->arena, struct heuristic_program, job->shapes.count);
    for (int i = 0; i < job->shapes.count; i++) {
        const char *types = config_key_types(job->arena, aot_shape_at(job, i)->kernel);
        int at = 0;
        while (at < heuristic->program_count && strcmp(heuristic->programs[at].types, types) != 0)
            at++;
        if (at == heuristic->program_count)
            heuristic->programs[heuristic->program_count++] =
                (struct heuristic_program){types, config_key_program(job->arena, aot_shape_at(job, i)->kernel)};
    }
}

// ---------------------------------------------------------------------------------------- times

enum { AROUND = 24, AROUND_MOST = 10000 };  // points around each shape; of all

// What rows are packed of: the dimension of their total, and that of their count.
struct packing {
    int total, rows;
};

static int find_packings(struct aot_job *job, struct packing *packings) {
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
    struct rows_uses rows = rows_find(job->arena, kernel);
    int count = 0;
    for (int i = 0; i < rows.count; i++) {
        const struct rows_use *use = &rows.items[i];
        if (use->target_param < 0)
            continue;
        struct linear all = linear_of(kernel->params[use->target_param].extents[use->target_position]);
        struct linear own = linear_of(kernel->params[use->param].extents[0]);
        if (all.ok && own.ok && all.dim >= 0 && own.dim >= 0 && all.dim != own.dim)
            packings[count++] = (struct packing){all.dim, own.dim};
    }
    return count;
}

// A factor from a half to two, and more seldom up to three times that.
static double draw_factor(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return exp2(3 * ((double)(*seed >> 33) / 2147483648.0) - 1.5);
}

static int64_t scale(int64_t extent, double factor) {
    return extent > 0 ? (int64_t)fmax(1, round((double)extent * factor)) : extent;
}

// A shape like a measured one: other extents, other mean lengths, rows more or less skewed.
static int64_t vary(const struct aot_shape *shape, int packing_count, const struct packing *packings, uint64_t *seed,
                    int64_t *dims) {
    int64_t longest = shape->longest;
    for (int d = 0; d < shape->kernel->dim_count; d++)
        dims[d] = scale(shape->dims[d], draw_factor(seed));
    for (int i = 0; i < packing_count; i++) {
        const struct packing *packing = &packings[i];
        int64_t rows = shape->dims[packing->rows], total = shape->dims[packing->total];
        double mean = rows > 0 ? (double)total / (double)rows * draw_factor(seed) : 0, skew = draw_factor(seed);
        dims[packing->total] = (int64_t)round(mean * (double)dims[packing->rows]);
        if (i > 0 || longest < 0 || total <= 0)
            continue;
        double before = (double)longest * (double)rows / (double)total;
        double after = mean * (before > 1 ? fmax(1, before * skew) : 1);
        longest = (int64_t)fmin(ceil(after), (double)dims[packing->total]);
    }
    return longest;
}

static void add_around(struct aot_job *job, const struct heuristic *heuristic, struct aot_data *data) {
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
    int limit = data->shape_count * AROUND, features = data->feature_count, dim_count = kernel->dim_count;
    struct packing *packings = ARENA_ARRAY(job->arena, struct packing, kernel->param_count + 1);
    int packing_count = find_packings(job, packings);
    double *values = ARENA_ARRAY(job->arena, double, limit *features + 1);
    int *of = ARENA_ARRAY(job->arena, int, limit + 1);
    int64_t *dims = ARENA_ARRAY(job->arena, int64_t, dim_count + 1);
    uint64_t seed = 1;
    for (int i = 0; i < data->shape_count && limit <= AROUND_MOST; i++) {
        const struct aot_shape *shape = aot_shape_at(job, i);
        for (int k = 0; k < AROUND && !data->held_out[i]; k++) {
            int64_t longest = vary(shape, packing_count, packings, &seed, dims);
            const struct heuristic_shape asked = {dims, longest};
            for (int f = 0; f < features; f++)
                values[data->around_count * features + f] =
                    heuristic_feature_value(shape->kernel, &heuristic->features[f], &asked);
            of[data->around_count++] = i;
        }
    }
    data->around = values;
    data->around_of = of;
}

static const bool *told_features(struct arena *arena, const struct heuristic *heuristic) {
    bool *told = ARENA_ARRAY(arena, bool, heuristic->feature_count + 1), any = false;
    for (int f = 0; f < heuristic->feature_count; f++)
        any |= told[f] = heuristic->features[f].kind == FEATURE_LONGEST || heuristic->features[f].kind == FEATURE_SKEW;
    return any ? told : NULL;
}

// Slowdowns of what may be chosen; the others are as if they couldn't be had.
static struct aot_data make_data(struct aot_job *job, const struct heuristic *heuristic) {
    int shapes = job->shapes.count, configs = job->list.count, features = heuristic->feature_count;
    double *slowdown = ARENA_ARRAY(job->arena, double, shapes *configs + 1),
           *values = ARENA_ARRAY(job->arena, double, shapes *features + 1);
    bool *held_out = ARENA_ARRAY(job->arena, bool, shapes + 1);
    for (int i = 0; i < shapes; i++) {
        const struct aot_shape *shape = aot_shape_at(job, i);
        const struct heuristic_shape asked = {shape->dims, shape->longest};
        double best = aot_best_time(job, i);
        held_out[i] = shape->held_out || !isfinite(best);
        for (int j = 0; j < configs; j++)
            slowdown[i * configs + j] =
                job->list.choosable[j] && isfinite(best) ? aot_times_of(job, i)[j] / best : INFINITY;
        for (int f = 0; f < features; f++)
            values[i * features + f] = heuristic_feature_value(shape->kernel, &heuristic->features[f], &asked);
    }
    struct aot_data data = {.shape_count = shapes,
                            .config_count = configs,
                            .feature_count = features,
                            .slowdown = slowdown,
                            .features = values,
                            .held_out = held_out,
                            .told = told_features(job->arena, heuristic)};
    struct aot_around around;
    aot_around_make(job, heuristic, values, &around);
    if (!around.reckoned || around.count == 0) {
        add_around(job, heuristic, &data);
        return data;
    }
    data.around_count = around.count;
    data.around = around.features;
    data.around_of = around.of;
    data.around_cost = around.costs;
    data.cost = around.shape_costs;
    return data;
}

// ---------------------------------------------------------------------------------------- the file

// Configs in the order in which the tree's answers have them, each once.
static struct status take_tree(struct aot_job *job, const struct aot_tree *tree, struct heuristic *heuristic) {
    const struct ir_kernel *kernel = aot_shape_at(job, 0)->kernel;
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

const char *aot_heuristic_path(const struct aot_job *job) {
    const char *source = job->program->source->path, *slash = strrchr(source, '/');
    const char *folder = job->options->out ? job->options->out
                         : slash           ? arena_printf(job->arena, "%.*s", (int)(slash - source), source)
                                           : ".";
    return arena_printf(job->arena, "%s/%s", folder,
                        heuristic_file_name(job->arena, source, aot_shape_at(job, 0)->kernel->name, job->target));
}

// How much of what the tree costs is for want of configs: the rest is for want of answers, or of features.
static void print_limits(struct aot_job *job, const struct aot_data *data, const int *chosen, int count) {
    struct aot_cost cover = aot_cover(data, chosen, count);
    text_printf(job->summary, "%d configs to choose from; with the best of them for each shape the worst is ", count);
    tune_print_fixed(job->summary, cover.worst, 3, 0);
    text_add(job->summary, "\n");
}

struct status aot_build(struct aot_job *job) {
    struct heuristic heuristic = {.kernel = aot_shape_at(job, 0)->kernel->name, .target = job->target};
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
    heuristic_print(&text, aot_shape_at(job, 0)->kernel, &heuristic);
    const char *path = aot_heuristic_path(job);
    status = file_save(job->arena, path, text.data, text.length);
    text_free(&text);
    print_limits(job, &data, chosen, count);
    text_printf(job->summary, "%s: %d of %d configs, %d answers\n", path, heuristic.config_count, job->list.count,
                tree.leaf_count);
    return status;
}
