// SPDX-License-Identifier: Apache-2.0
// In: the shapes that a list has. Out: shapes around and between them, and what configs cost there by reckoning.
//
// A shape is varied: other static extents, more or fewer rows, longer or shorter ones, with lengths dealt out as those
// of the shape's own rows are. It stays within what the listed shapes span, so far as the host knows of it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot_around.h"
#include "runtime/search.h"
#include "runtime/tune_job.h"

enum {
    EXTENTS = 4,  // of a shape: sets of static extents
    ROWS = 8,     // and of rows for each of them
    ROWS_MOST = 1 << 20,
    PROFILE = 1 << 14,  // lengths that are kept of a shape's rows
};
static const double octaves = 4;                       // up to so many factors of two away

// Lengths of a shape's rows over their mean, ascending; the last one is the longest.
struct profile {
    int count;
    double *lengths;
};

struct varying {
    struct aot_job *job;
    const struct heuristic *heuristic;
    struct aot_around *around;
    uint64_t seed;
    int limit;
    double *low, *high;  // by feature: what the shapes span
    int profile_count;
    struct profile *profiles;
    // Of the shape that is varied
    struct arena *arena;
    int index;
    struct bound bound;
};

static double draw(struct varying *varying) {
    varying->seed = varying->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(varying->seed >> 33) / 2147483648.0;
}

static double draw_factor(struct varying *varying) {
    return exp2(octaves * (2 * draw(varying) - 1));
}

// ---------------------------------------------------------------------------------------- reckoning

// Natural logarithms, as slowdowns have them. False: nothing is reckoned here, as on a CPU.
static bool reckon(struct aot_job *job, struct arena *arena, const struct ir_kernel *kernel,
                   const struct ir_bindings *bindings, const struct ir_tensor *tensors, double *costs) {
    int sm = atoi(job->target + strcspn(job->target, "0123456789"));
    const struct search_facts facts = {.cpu = sm == 0,
                                       .registers_per_multiprocessor = 65536,
                                       .data = resolve_data(arena, kernel, tensors, sm),
                                       .bindings = bindings,
                                       .tensors = tensors};
    struct search_cost *cost = sm ? search_cost_new(arena, kernel, &facts) : NULL;
    for (int j = 0; j < job->list.count && cost; j++) {
        struct config *config = NULL;
        const char *text = job->list.texts[j];
        if (!config_parse(arena, kernel, text, strlen(text), &config).ok)
            return false;
        costs[j] = log(2) * search_cost(cost, config_fit(arena, kernel, config), 0);
    }
    return cost != NULL;
}

// ---------------------------------------------------------------------------------------- rows

static int64_t length_of(const struct ir_tensor *view, int64_t row) {
    return tensor_get(view, row + 1).integer - tensor_get(view, row).integer;
}

static int compare_lengths(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

// The use of the parameter that gives the rows; NULL: none does, several do, or not as offsets.
static const struct rows_use *only_rows(const struct bound *bound) {
    const struct rows_use *found = NULL;
    for (int i = 0; i < bound->rows.count; i++) {
        const struct rows_use *use = &bound->rows.items[i];
        if (use->target_param < 0)
            continue;
        if (use->kind != ROWS_OFFSETS || (found && found->param != use->param))
            return NULL;
        found = use;
    }
    return found && bound->views[found->param].data ? found : NULL;
}

// So many rows of so many points on average, with lengths like those of a shape, in an order that says nothing.
static void deal_rows(struct varying *varying, const struct profile *profile, int64_t count, double mean,
                      int64_t *offsets) {
    for (int64_t i = 0; i < count; i++) {
        int64_t place = (int64_t)(((double)i + 0.5) / (double)count * profile->count);
        double length = profile->lengths[i + 1 == count ? profile->count - 1 : place] * mean;
        offsets[i + 1] = length > 0 ? (int64_t)fmax(1, floor(length + draw(varying))) : 0;
    }
    for (int64_t i = count; i > 1; i--) {
        int64_t other = 1 + (int64_t)(draw(varying) * (double)i), swapped = offsets[other];
        offsets[other] = offsets[i];
        offsets[i] = swapped;
    }
    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++)
        offsets[i + 1] += offsets[i];
}

static void keep_profile(struct varying *varying) {
    const struct rows_use *use = only_rows(&varying->bound);
    const struct ir_tensor *view = use ? &varying->bound.views[use->param] : NULL;
    int64_t count = use ? view->shape[0] - 1 : 0, *sorted = count > 0 ? malloc(sizeof *sorted * (size_t)count) : NULL;
    double total = 0;
    if (!sorted)
        return;
    for (int64_t i = 0; i < count; i++)
        total += (double)(sorted[i] = length_of(view, i));
    qsort(sorted, (size_t)count, sizeof *sorted, compare_lengths);
    if (total > 0) {
        struct profile *profile = &varying->profiles[varying->profile_count++];
        profile->count = count < PROFILE ? (int)count : PROFILE;
        profile->lengths = ARENA_ARRAY(varying->job->arena, double, profile->count);
        for (int i = 0; i < profile->count; i++)
            profile->lengths[i] = (double)sorted[(i + 1) * count / profile->count - 1] * (double)count / total;
    }
    free(sorted);
}

// ---------------------------------------------------------------------------------------- one shape

static void take_features(const struct varying *varying, const int64_t *dims, int64_t longest, double *features) {
    const struct heuristic_shape asked = {dims, longest};
    for (int f = 0; f < varying->heuristic->feature_count; f++)
        features[f] = heuristic_feature_value(varying->bound.kernel, &varying->heuristic->features[f], &asked);
}

static bool is_within(const struct varying *varying, const double *features) {
    for (int f = 0; f < varying->heuristic->feature_count; f++)
        if (isfinite(features[f]) && (features[f] < varying->low[f] || features[f] > varying->high[f]))
            return false;
    return true;
}

// The bound shape with other rows becomes a point, if it is one of those that are wanted and can be reckoned.
static void add_point(struct varying *varying, const struct rows_use *use, struct linear rows, struct linear all) {
    struct arena *arena = arena_new();
    const struct bound *bound = &varying->bound;
    const struct profile *profile = &varying->profiles[(int)(draw(varying) * varying->profile_count)];
    struct aot_around *around = varying->around;
    int kept = around->count, features = varying->heuristic->feature_count;
    int64_t before = bound->dims[rows.dim], count = (int64_t)fmax(1, round((double)before * draw_factor(varying)));
    double mean = before > 0 ? (double)bound->dims[all.dim] / (double)before * draw_factor(varying) : 0;
    if (!arena || kept == varying->limit || count > ROWS_MOST) {
        arena_free(arena);
        return;
    }
    int64_t *offsets = ARENA_ARRAY(arena, int64_t, count + 1);
    int64_t *dims = ARENA_ARRAY(arena, int64_t, bound->kernel->dim_count + 1);
    struct ir_tensor *views = ARENA_ARRAY(arena, struct ir_tensor, bound->kernel->param_count + 1);
    memcpy(dims, bound->dims, sizeof *dims * (size_t)bound->kernel->dim_count);
    memcpy(views, bound->views, sizeof *views * (size_t)bound->kernel->param_count);
    deal_rows(varying, profile, count, mean, offsets);
    dims[rows.dim] = count;
    dims[all.dim] = offsets[count];
    views[use->param] = (struct ir_tensor){.type = TYPE_I64, .rank = 1, .shape = {count + 1}, .data = offsets};
    const struct ir_bindings bindings = {.dims = dims, .params = bound->bindings.params};
    take_features(varying, dims, rows_longest(use, views), &around->features[kept * features]);
    if (is_within(varying, &around->features[kept * features]) &&
        reckon(varying->job, arena, bound->kernel, &bindings, views, &around->costs[kept * varying->job->list.count]))
        around->of[around->count++] = varying->index;
    arena_free(arena);
}

static void vary_rows(struct varying *varying) {
    const struct rows_use *use = only_rows(&varying->bound);
    const struct ir_kernel *kernel = varying->bound.kernel;
    if (!use || varying->profile_count == 0)
        return;
    struct linear all = linear_of(kernel->params[use->target_param].extents[use->target_position]);
    struct linear rows = linear_of(kernel->params[use->param].extents[0]);
    if (!all.ok || !rows.ok || all.dim < 0 || rows.dim < 0 || all.dim == rows.dim)
        return;
    for (int i = 0; i < ROWS; i++)
        add_point(varying, use, rows, all);
}

// ---------------------------------------------------------------------------------------- static extents

// The words of the shape, where they give a static extent as a number, with another number: a power of two as often as
// not, as extents are.
static const char *vary_word(struct varying *varying, const char *word) {
    const struct aot_shape *shape = aot_shape_at(varying->job, varying->index);
    const char *sign = strchr(word, '=');
    char *end = NULL;
    int64_t extent = sign ? strtoll(sign + 1, &end, 10) : 0;
    for (int d = 0; sign && !*end && extent > 0 && d < shape->kernel->dim_count; d++) {
        const char *name = shape->kernel->dims[d].name;
        if (!shape->kernel->dims[d].is_static || strlen(name) != (size_t)(sign - word) ||
            memcmp(name, word, (size_t)(sign - word)) != 0)
            continue;
        double wanted = fmax(1, (double)extent * draw_factor(varying));
        bool power = (extent & (extent - 1)) == 0 || draw(varying) < 0.5;
        return arena_printf(varying->arena, "%s=%lld", name,
                            power ? (long long)1 << (int)round(log2(wanted)) : (long long)round(wanted));
    }
    return word;
}

static bool bind_with(struct varying *varying, int dim_count, const char *const *dims) {
    const struct aot_shape *shape = aot_shape_at(varying->job, varying->index);
    struct tilec_run_options run = shape->run;
    struct diagnostics diagnostics;
    run.dim_count = dim_count;
    run.dims = dims;
    diagnostics_init(&diagnostics, varying->arena);
    struct bind_request request = run_bind_request(varying->job->program, &run);
    request.lazy = true;
    varying->bound = (struct bound){0};
    return bind_arguments(varying->arena, &request, &diagnostics, &varying->bound).ok;
}

// A listed shape as it is.
static void look_at(struct varying *varying) {
    const struct aot_shape *shape = aot_shape_at(varying->job, varying->index);
    struct aot_around *around = varying->around;
    const struct bound *bound = &varying->bound;
    double *costs = &around->shape_costs[varying->index * varying->job->list.count];
    around->reckoned = around->reckoned && bind_with(varying, shape->run.dim_count, shape->run.dims) &&
                       reckon(varying->job, varying->arena, bound->kernel, &bound->bindings, bound->views, costs);
    if (around->reckoned && !shape->held_out)
        keep_profile(varying);
    bound_free(&varying->bound);
}

static void vary_shape(struct varying *varying) {
    const struct aot_shape *shape = aot_shape_at(varying->job, varying->index);
    const char **dims = ARENA_ARRAY(varying->arena, const char *, shape->run.dim_count + 1);
    for (int i = 0; i < shape->run.dim_count; i++)
        dims[i] = vary_word(varying, shape->run.dims[i]);
    if (bind_with(varying, shape->run.dim_count, dims))
        vary_rows(varying);
    bound_free(&varying->bound);
}

static void span(struct varying *varying, const double *features) {
    int count = varying->heuristic->feature_count;
    for (int f = 0; f < count; f++) {
        varying->low[f] = INFINITY;
        varying->high[f] = -INFINITY;
        for (int i = 0; i < varying->job->shapes.count; i++) {
            double value = features[i * count + f];
            if (aot_shape_at(varying->job, i)->held_out || !isfinite(value))
                continue;
            varying->low[f] = fmin(varying->low[f], value);
            varying->high[f] = fmax(varying->high[f], value);
        }
    }
}

static void with_arena(struct varying *varying, int index, void (*work)(struct varying *varying)) {
    varying->arena = arena_new();
    varying->index = index;
    if (varying->arena)
        work(varying);
    else
        varying->around->reckoned = false;
    arena_free(varying->arena);
}

void aot_around_make(struct aot_job *job, const struct heuristic *heuristic, const double *features,
                     struct aot_around *around) {
    struct arena *arena = job->arena;
    int shapes = job->shapes.count, count = heuristic->feature_count, limit = shapes * EXTENTS * ROWS;
    struct varying varying = {.job = job, .heuristic = heuristic, .around = around, .seed = 1, .limit = limit};
    varying.low = ARENA_ARRAY(arena, double, count + 1);
    varying.high = ARENA_ARRAY(arena, double, count + 1);
    *around = (struct aot_around){.reckoned = true,
                                  .features = ARENA_ARRAY(arena, double, (limit + 1) * count + 1),
                                  .of = ARENA_ARRAY(arena, int, limit + 1),
                                  .costs = ARENA_ARRAY(arena, double, (limit + 1) * job->list.count + 1),
                                  .shape_costs = ARENA_ARRAY(arena, double, shapes * job->list.count + 1)};
    varying.profiles = ARENA_ARRAY(arena, struct profile, shapes + 1);
    span(&varying, features);
    for (int i = 0; i < shapes && around->reckoned; i++)
        with_arena(&varying, i, look_at);
    for (int i = 0; i < shapes && around->reckoned; i++)
        for (int k = 0; k < EXTENTS && !aot_shape_at(job, i)->held_out; k++)
            with_arena(&varying, i, vary_shape);
}
