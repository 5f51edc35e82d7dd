// SPDX-License-Identifier: Apache-2.0
// Which configs are likely fast. In: configs, and rows with times. Out: a guess at the logarithm of a time.
//
// A ridge regression over logarithms of the knobs and their squares: a time is roughly a product of factors, each of which
// has a best place. It is fitted anew before each proposal, to all times there are; with few of them the ridge keeps it
// close to their mean. The prior is what is known of GPUs beforehand: blocks of 128 to 512 threads, as many elements per
// thread as registers bear.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/search.h"

enum { LEAST_ROWS = 12 };
static const double ridge = 0.3;

// ---------------------------------------------------------------------------------------------- features

static void add(struct search_features *features, double value)
{
    if (features->count < MODEL_FEATURES_MOST) features->values[features->count++] = value;
}

static void add_square(struct search_features *features, double value)
{
    add(features, value);
    add(features, value * value);
}

static double logarithm(double value)
{
    return value > 0 ? 0.25 * log2(value) : 0;
}

static int elements_of(const struct config_axis *axis)
{
    return axis->block / (axis->lanes * axis->warps);
}

void search_describe(const struct config *config, struct search_features *features)
{
    double warps = 1, lanes = 1, elements = 1;
    *features = (struct search_features){0};
    add(features, 1);
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
    add(features, 0.25 * (double)config->strategy);
    add(features, 0.25 * config->search);
    add(features, 0.25 * config->stage);
    add(features, 0.25 * (double)config->dot);
    add_square(features, 0.25 * config->stages);
    add(features, 0.25 * config->peel);
    add(features, 0.25 * config->late);
    add_square(features, 0.25 * config->min_blocks);
    add(features, 0.25 * config->grid_count);
    add(features, config->grid_count && config->axis_count && strcmp(config->grid[0], config->axes[0].name) == 0 ? 0.25 : 0);
}

// ---------------------------------------------------------------------------------------------- the regression

// Solves the symmetric positive definite system in place (Cholesky); false if it isn't one.
static bool solve(double *matrix, double *right, int size)
{
    for (int j = 0; j < size; j++) {
        for (int k = 0; k < j; k++)
            for (int i = j; i < size; i++) matrix[i * size + j] -= matrix[i * size + k] * matrix[j * size + k];
        if (!(matrix[j * size + j] > 0)) return false;
        double pivot = sqrt(matrix[j * size + j]);
        for (int i = j; i < size; i++) matrix[i * size + j] /= pivot;
    }
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < i; k++) right[i] -= matrix[i * size + k] * right[k];
        right[i] /= matrix[i * size + i];
    }
    for (int i = size; i-- > 0;) {
        for (int k = i + 1; k < size; k++) right[i] -= matrix[k * size + i] * right[k];
        right[i] /= matrix[i * size + i];
    }
    return true;
}

static void add_row(const struct search_features *features, double time, double *matrix, double *right)
{
    int size = features->count;
    for (int i = 0; i < size; i++) {
        right[i] += features->values[i] * time;
        for (int j = 0; j <= i; j++) matrix[i * size + j] += features->values[i] * features->values[j];
    }
}

static void look_at_rows(struct arena *arena, const struct tune_rows *rows, struct search_model *model)
{
    struct search_features features;
    if (!model->learnt) model->learnt = ARENA_ARRAY(arena, bool, rows->limit + 1);
    for (int i = 0; i < rows->count; i++) {
        const struct tune_row *row = &rows->items[i];
        if (model->learnt[i] || row->result.status != TUNE_OK || !row->config) continue;
        model->learnt[i] = true;
        search_describe(row->config, &features);
        if (!model->matrix) {
            model->size = features.count;
            model->matrix = ARENA_ARRAY(arena, double, model->size * model->size);
            model->right = ARENA_ARRAY(arena, double, model->size);
        }
        if (features.count != model->size) continue;
        add_row(&features, log2(row->result.median), model->matrix, model->right);
        model->known++;
    }
}

void search_learn(struct arena *arena, const struct tune_rows *rows, struct search_model *model)
{
    look_at_rows(arena, rows, model);
    model->count = 0;
    double *matrix = model->known < LEAST_ROWS ? NULL : malloc(sizeof *matrix * (size_t)(model->size * model->size));
    if (!matrix) return;
    memcpy(matrix, model->matrix, sizeof *matrix * (size_t)(model->size * model->size));
    memcpy(model->weights, model->right, sizeof *model->weights * (size_t)model->size);
    for (int i = 1; i < model->size; i++) matrix[i * model->size + i] += ridge;  // not the constant
    matrix[0] += 1e-9;
    if (solve(matrix, model->weights, model->size)) model->count = model->size;
    free(matrix);
}

double search_predict(const struct search_model *model, const struct search_features *features)
{
    double sum = 0;
    for (int i = 0; i < model->count && i < features->count; i++) sum += model->weights[i] * features->values[i];
    return sum;
}

// ---------------------------------------------------------------------------------------------- before anything is known

static double beyond(double value, double low, double high)
{
    return value < low ? low - value : value > high ? value - high : 0;
}

double search_prior(const struct config *config, const struct search_facts *facts)
{
    double warps = 1, elements = 1, unroll = 1, lanes = 1;
    for (int i = 0; i < config->axis_count; i++) {
        warps *= config->axes[i].warps;
        lanes *= config->axes[i].lanes;
        elements *= elements_of(&config->axes[i]);
        unroll *= config->axes[i].unroll;
    }
    if (facts->cpu) return beyond(log2(elements * unroll * warps * lanes), 4, 10);
    double threads = 32 * warps, registers = 24 + elements * unroll;
    double resident = facts->registers_per_multiprocessor > 0 ? facts->registers_per_multiprocessor / (registers * threads) : 1;
    return 1.0 * beyond(log2(warps), 2, 4) + 1.0 * beyond(log2(elements * unroll), 2, 5.5) + 1.5 * beyond(log2(lanes), 5, 5) +
           (resident < 1 ? 4 : 0);
}
