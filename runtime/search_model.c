// SPDX-License-Identifier: Apache-2.0
// Which configs are likely fast. In: configs, and rows with times. Out: a guess at the logarithm of a time.
//
// A Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2.2) over the logarithms of the
// knobs and what reckoning says (search_cost.c): configs that look alike take alike, and where none is near, the
// reckoned cost leads. Only its mean is asked for. Numbers were chosen on times of the examples under some thousands of
// configs. The prior, for a CPU, is what is known of such code beforehand: so many elements of a tile.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/search.h"

enum { LEAST_ROWS = 8, FEW_ROWS = 64, NEWS = 16, BEST_KEPT = 384, REGISTERS_MOST = 255 };
static const double reach = 4, noise = 0.003, cost_weight = 0.5;
static const double worst = 6;  // log2: what is slower than the best by more is as bad

// ---------------------------------------------------------------------------------------------- features

static void add(struct search_features *features, double value) {
    if (features->count < MODEL_FEATURES_MOST)
        features->values[features->count++] = value;
}

static void add_square(struct search_features *features, double value) {
    add(features, value);
    add(features, value * value);
}

static double logarithm(double value) {
    return value > 0 ? 0.25 * log2(value) : 0;
}

static int elements_of(const struct config_axis *axis) {
    return axis->block / (axis->lanes * axis->warps);
}

void search_describe(const struct config *config, struct search_features *features) {
    double warps = 1, lanes = 1, elements = 1;
    *features = (struct search_features){0};
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[i];
        add_square(features, logarithm(axis->block));
        add_square(features, logarithm(axis->lanes));
        add_square(features, logarithm(axis->warps));
        add_square(features, logarithm(axis->vector));
        add_square(features, logarithm(elements_of(axis)));
        add(features, logarithm(axis->unroll));
        warps *= axis->warps;
        lanes *= axis->lanes;
        elements *= elements_of(axis);
    }
    add_square(features, logarithm(warps));
    add_square(features, logarithm(lanes));
    add_square(features, logarithm(elements));
    add_square(features, logarithm(warps) + logarithm(elements));
    add_square(features, logarithm(config->chunk));
    for (int strategy = STRATEGY_ROWS + 1; strategy < STRATEGY_COUNT; strategy++)
        add(features, (int)config->strategy == strategy ? 0.5 : 0);
    add(features, 0.25 * config->search);
    add(features, 0.25 * config->stage);
    add(features, 0.25 * config->bulk);
    add(features, 0.25 * (double)config->dot);
    add_square(features, 0.25 * config->stages);
    add_square(features, config->producers ? 0.25 * logarithm(config->producers) : 0);
    add_square(features, config->lag ? logarithm(config->lag) : 0);
    add(features, 0.25 * config->peel);
    add(features, 0.25 * config->late);
    add(features, 0.25 * config->stream);
    add_square(features, 0.25 * config->min_blocks);
    add_square(features, logarithm(config->cluster));
    add(features, 0.25 * config->grid_count);
    add(features,
        config->grid_count && config->axis_count && strcmp(config->grid[0], config->axes[0].name) == 0 ? 0.25 : 0);
}

static void describe(const struct search_model *model, const struct config *config, struct search_features *features) {
    search_describe(config, features);
    if (model->cost)
        add(features, cost_weight * search_cost(model->cost, config, 0));
}

// ---------------------------------------------------------------------------------------------- what is learnt from

struct choice {
    int row;
    double time;
};

static int by_time(const void *a, const void *b) {
    const struct choice *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->row - right->row;
}

static int count_ok(const struct tune_rows *rows) {
    int count = 0;
    for (int i = 0; i < rows->count; i++)
        count += rows->items[i].result.status == TUNE_OK;
    return count;
}

// All rows with a time, fastest first; of many the best ones, and of the others as many as there is room for, evenly.
static int choose_rows(const struct tune_rows *rows, int ok, struct choice *choices) {
    int count = 0, kept = BEST_KEPT;
    for (int i = 0; i < rows->count && count < ok; i++)
        if (rows->items[i].result.status == TUNE_OK)
            choices[count++] = (struct choice){i, rows->items[i].result.median};
    qsort(choices, (size_t)count, sizeof *choices, by_time);
    if (count <= MODEL_ROWS_MOST)
        return count;
    for (int i = 0; i < MODEL_ROWS_MOST - BEST_KEPT; i++)
        choices[kept++] = choices[BEST_KEPT + (int)((int64_t)i * (count - BEST_KEPT) / (MODEL_ROWS_MOST - BEST_KEPT))];
    return kept;
}

// Registers as NVRTC says them over those that were guessed, in the middle of all rows.
static void learn_registers(const struct tune_rows *rows, struct search_cost *cost) {
    double shares[MODEL_ROWS_MOST];
    int count = 0;
    cost->register_scale = 1;
    for (int i = 0; i < rows->count && count < MODEL_ROWS_MOST; i++) {
        const struct tune_result *result = &rows->items[i].result;
        if (result->status != TUNE_OK || result->registers <= 0 || result->registers >= REGISTERS_MOST ||
            result->spill_bytes > 0)
            continue;
        double share = result->registers / search_cost_registers(cost, rows->items[i].config);
        int at = count++;
        for (; at > 0 && shares[at - 1] > share; at--)
            shares[at] = shares[at - 1];
        shares[at] = share;
    }
    if (count >= LEAST_ROWS)
        cost->register_scale = shares[count / 2];
}

static bool was_compiled(const struct tune_result *result) {
    return result->compile_seconds > 0 &&
           (result->status == TUNE_OK || result->status == TUNE_SKIPPED_COMPILE_TIMEOUT);
}

// A line through the logarithms of code and of the time that it took, by least squares: it grows at least like the root
// and at most like the square.
static void learn_compiling(const struct tune_rows *rows, struct search_model *model) {
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < rows->count; i++) {
        if (!was_compiled(&rows->items[i].result))
            continue;
        double points = log2(search_cost_points(model->cost, rows->items[i].config) + 1);
        double seconds = log2(rows->items[i].result.compile_seconds);
        count++, x += points, y += seconds, xx += points * points, xy += points * seconds;
    }
    model->compiles_known = count >= LEAST_ROWS;
    if (!model->compiles_known)
        return;
    double across = xx - x * x / count, slope = across > 0 ? (xy - x * y / count) / across : 1;
    model->compile_slope = fmin(fmax(slope, 0.5), 2);
    model->compile_base = (y - model->compile_slope * x) / count;
}

double search_compile_seconds(const struct search_model *model, const struct config *config) {
    if (!model->compiles_known)
        return 0;
    return exp2(model->compile_base + model->compile_slope * log2(search_cost_points(model->cost, config) + 1));
}

// ---------------------------------------------------------------------------------------------- the process

static double likeness(const double *a, const double *b, int size) {
    double distance = 0;
    for (int i = 0; i < size; i++)
        distance += (a[i] - b[i]) * (a[i] - b[i]);
    return exp(-0.5 * distance / (reach * reach));
}

// The triangular factor of a symmetric positive definite matrix, in place (Cholesky); false if it isn't one.
static bool factorize(double *matrix, int size) {
    for (int i = 0; i < size; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = matrix[i * size + j];
            for (int k = 0; k < j; k++)
                sum -= matrix[i * size + k] * matrix[j * size + k];
            if (i == j && !(sum > 0))
                return false;
            matrix[i * size + j] = i == j ? sqrt(sum) : sum / matrix[j * size + j];
        }
    }
    return true;
}

static void solve(const double *factor, double *right, int size) {
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < i; k++)
            right[i] -= factor[i * size + k] * right[k];
        right[i] /= factor[i * size + i];
    }
    for (int i = size; i-- > 0;) {
        for (int k = i + 1; k < size; k++)
            right[i] -= factor[k * size + i] * right[k];
        right[i] /= factor[i * size + i];
    }
}

// Times as logarithms around 0, about 1 in size.
static void scale_times(struct search_model *model, const struct choice *choices, int count) {
    double squares = 0;
    model->mean = 0;
    for (int i = 0; i < count; i++) {
        model->weights[i] = fmin(log2(choices[i].time), log2(choices[0].time) + worst);
        model->mean += model->weights[i] / count;
    }
    for (int i = 0; i < count; i++)
        squares += (model->weights[i] - model->mean) * (model->weights[i] - model->mean);
    model->spread = fmax(sqrt(squares / count), 0.05);
    for (int i = 0; i < count; i++)
        model->weights[i] = (model->weights[i] - model->mean) / model->spread;
}

static void fit(const struct tune_rows *rows, const struct choice *choices, int count, struct search_model *model) {
    struct search_features features;
    for (int i = 0; i < count; i++) {
        describe(model, rows->items[choices[i].row].config, &features);
        model->size = features.count;
        memcpy(&model->points[i * MODEL_FEATURES_MOST], features.values, sizeof features.values);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++)
            model->matrix[i * count + j] = likeness(&model->points[i * MODEL_FEATURES_MOST],
                                                    &model->points[j * MODEL_FEATURES_MOST], model->size) +
                                           (i == j ? noise : 0);
    scale_times(model, choices, count);
    model->count = factorize(model->matrix, count) ? count : 0;
    if (model->count)
        solve(model->matrix, model->weights, count);
}

void search_learn(struct arena *arena, const struct tune_rows *rows, struct search_model *model) {
    int ok = count_ok(rows);
    if (ok < LEAST_ROWS || ok - model->known < (ok < FEW_ROWS ? 1 : NEWS))
        return;
    struct choice *choices = malloc(sizeof *choices * (size_t)ok);
    if (!choices)
        return;
    if (!model->points) {
        model->points = ARENA_ARRAY(arena, double, MODEL_ROWS_MOST *MODEL_FEATURES_MOST);
        model->matrix = ARENA_ARRAY(arena, double, MODEL_ROWS_MOST *MODEL_ROWS_MOST);
        model->weights = ARENA_ARRAY(arena, double, MODEL_ROWS_MOST);
    }
    if (model->cost)
        learn_registers(rows, model->cost), learn_compiling(rows, model);
    fit(rows, choices, choose_rows(rows, ok, choices), model);
    model->known = ok;
    free(choices);
}

double search_predict(const struct search_model *model, const struct config *config) {
    struct search_features features;
    double sum = 0;
    describe(model, config, &features);
    for (int i = 0; i < model->count; i++)
        sum += model->weights[i] * likeness(&model->points[i * MODEL_FEATURES_MOST], features.values, model->size);
    return model->mean + model->spread * sum;
}

// ---------------------------------------------------------------------------------------------- before anything is
// known

static double beyond(double value, double low, double high) {
    return value < low ? low - value : value > high ? value - high : 0;
}

double search_prior(const struct config *config, const struct search_facts *facts) {
    double warps = 1, elements = 1, unroll = 1, lanes = 1;
    for (int i = 0; i < config->axis_count; i++) {
        warps *= config->axes[i].warps;
        lanes *= config->axes[i].lanes;
        elements *= elements_of(&config->axes[i]);
        unroll *= config->axes[i].unroll;
    }
    if (facts->cpu)
        return beyond(log2(elements * unroll * warps * lanes), 4, 10);
    return beyond(log2(warps), 2, 4) + beyond(log2(elements * unroll), 2, 5.5) + 1.5 * beyond(log2(lanes), 5, 5);
}
