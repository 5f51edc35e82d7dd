// SPDX-License-Identifier: Apache-2.0
// In: measured shapes, and where around them others may be. Out: points with slowdowns: those measured, those guessed.
//
// Shapes are few and lie far apart, so how a tree cuts the space between them isn't told by them: many cuts fit all. So
// there are points around each shape. Where what configs cost is reckoned, that says how they do at a point, together
// with how far off the reckoning was where they were measured; where it isn't, what is good for a shape is taken to be
// good around it. Either way what was measured is the mean over the shapes, one of which counts a quarter for each factor
// of two that it is away.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot.h"

static const double around_weight = 0.5, untold_weight = 0.05;  // of all points around the shapes together; of a shape

// On a logarithmic scale; what isn't above 0 is below everything else.
static double scaled(double value) {
    return value > 0 ? log2(value) : -1;
}

// Factors of two between two shapes: the root of the mean square over the features that are known of both.
static double distance(int count, const double *a, const double *b) {
    double sum = 0;
    int known = 0;
    for (int f = 0; f < count; f++) {
        if (!isfinite(a[f]) || !isfinite(b[f]))
            continue;
        double difference = scaled(a[f]) - scaled(b[f]);
        sum += difference * difference;
        known++;
    }
    return known ? sqrt(sum / known) : 0;
}

static const double *features_of(const struct aot_points *points, int point) {
    return &points->features[point * points->feature_count];
}

// What is measured of a config on a shape beyond what is reckoned; without a reckoning its slowdown.
static double beyond(const struct aot_points *points, const struct aot_data *data, int shape, int config) {
    int at = points->of[shape] * data->config_count + config;
    double reckoned = data->cost ? data->cost[at] : 0;
    return points->logs[shape * points->config_count + config] - reckoned;
}

static void guess(struct aot_points *points, const struct aot_data *data, int around) {
    double *logs = &points->logs[points->count * points->config_count], all = 0, least = INFINITY;
    for (int i = 0; i < points->real; i++) {
        double away = distance(points->feature_count, features_of(points, i), features_of(points, points->count));
        double weight = exp2(-2 * away);
        all += weight;
        for (int j = 0; j < points->config_count; j++)
            logs[j] += weight * beyond(points, data, i, j);
    }
    for (int j = 0; j < points->config_count; j++) {
        logs[j] = all > 0 ? logs[j] / all : 0;
        if (data->cost)
            logs[j] += data->around_cost[around * points->config_count + j];
        least = fmin(least, logs[j]);
    }
    for (int j = 0; data->cost && j < points->config_count; j++)
        logs[j] -= least;
}

static void take_features(struct aot_points *points, const double *features) {
    memcpy(&points->features[points->count * points->feature_count], features,
           sizeof *features * (size_t)points->feature_count);
}

static void add_shape(struct aot_points *points, const struct aot_data *data, int shape) {
    take_features(points, &data->features[shape * data->feature_count]);
    for (int j = 0; j < data->config_count; j++)
        points->logs[points->count * data->config_count + j] = log(aot_slowdown(data, shape, j));
    points->of[points->count] = shape;
    points->weights[points->count] = 1;
    points->count++;
}

// A shape once more, as it looks where nobody tells the longest row.
static void add_untold(struct aot_points *points, const struct aot_data *data, int shape, double weight) {
    double *features = &points->features[points->count * points->feature_count];
    add_shape(points, data, shape);
    points->weights[points->count - 1] = weight;
    for (int f = 0; f < points->feature_count; f++)
        if (data->told[f])
            features[f] = INFINITY;
}

bool aot_points_make(const struct aot_data *data, const bool *used, struct aot_points *points) {
    size_t room = (size_t)(2 * data->shape_count + data->around_count + 1);
    *points = (struct aot_points){.feature_count = data->feature_count, .config_count = data->config_count};
    points->features = calloc(room * (size_t)(data->feature_count + 1), sizeof *points->features);
    points->logs = calloc(room * (size_t)(data->config_count + 1), sizeof *points->logs);
    points->of = calloc(room, sizeof *points->of);
    points->weights = calloc(room, sizeof *points->weights);
    if (!points->features || !points->logs || !points->of || !points->weights)
        return false;
    for (int i = 0; i < data->shape_count; i++)
        if (used[i])
            add_shape(points, data, i);
    points->real = points->count;
    for (int i = 0; i < data->around_count; i++) {
        if (!used[data->around_of[i]])
            continue;
        take_features(points, &data->around[i * data->feature_count]);
        guess(points, data, i);
        points->count++;
    }
    for (int i = points->real; i < points->count; i++)
        points->weights[i] = around_weight * points->real / (points->count - points->real);
    for (int i = 0; i < data->shape_count && data->told; i++)
        if (used[i])
            add_untold(points, data, i, untold_weight);
    return true;
}

void aot_points_free(struct aot_points *points) {
    free(points->features);
    free(points->logs);
    free(points->of);
    free(points->weights);
}
