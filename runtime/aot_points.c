// SPDX-License-Identifier: Apache-2.0
// In: measured shapes, and where around them others may be. Out: points with slowdowns: those measured, those guessed.
//
// Shapes are few and lie far apart, so how a tree cuts the space between them isn't told by them: many cuts fit all.
// But what is good for a shape tends to be good for those around it. So there are points around each shape, and the
// slowdown of a config at a point is the geometric mean of the measured ones, a shape counting a quarter for each
// factor of two that it is away.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot.h"

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

static void guess(struct aot_points *points, int point) {
    double *logs = &points->logs[point * points->config_count], all = 0;
    for (int i = 0; i < points->real; i++) {
        double weight = exp2(-2 * distance(points->feature_count, features_of(points, i), features_of(points, point)));
        all += weight;
        for (int j = 0; j < points->config_count; j++)
            logs[j] += weight * points->logs[i * points->config_count + j];
    }
    for (int j = 0; j < points->config_count; j++)
        logs[j] = all > 0 ? logs[j] / all : 0;
}

static void take_features(struct aot_points *points, const double *features) {
    memcpy(&points->features[points->count * points->feature_count], features,
           sizeof *features * (size_t)points->feature_count);
}

static void add_shape(struct aot_points *points, const struct aot_data *data, int shape) {
    take_features(points, &data->features[shape * data->feature_count]);
    for (int j = 0; j < data->config_count; j++)
        points->logs[points->count * data->config_count + j] = log(aot_slowdown(data, shape, j));
    points->count++;
}

bool aot_points_make(const struct aot_data *data, const bool *used, struct aot_points *points) {
    size_t room = (size_t)(data->shape_count + data->around_count + 1);
    *points = (struct aot_points){.feature_count = data->feature_count, .config_count = data->config_count};
    points->features = calloc(room * (size_t)(data->feature_count + 1), sizeof *points->features);
    points->logs = calloc(room * (size_t)(data->config_count + 1), sizeof *points->logs);
    if (!points->features || !points->logs)
        return false;
    for (int i = 0; i < data->shape_count; i++)
        if (used[i])
            add_shape(points, data, i);
    points->real = points->count;
    for (int i = 0; i < data->around_count; i++) {
        if (!used[data->around_of[i]])
            continue;
        take_features(points, &data->around[i * data->feature_count]);
        guess(points, points->count);
        points->count++;
    }
    points->weight = points->count > points->real ? (double)points->real / (points->count - points->real) : 0;
    return true;
}

void aot_points_free(struct aot_points *points) {
    free(points->features);
    free(points->logs);
}
