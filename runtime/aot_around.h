// SPDX-License-Identifier: Apache-2.0
// Shapes around those that are measured, for who builds a tree (aot_build.c).
#ifndef TILEC_RUNTIME_AOT_AROUND_H
#define TILEC_RUNTIME_AOT_AROUND_H

#include "runtime/aot_job.h"

struct aot_around {
    bool reckoned;        // there is a reckoning for this device and all shapes; otherwise nothing below counts
    int count;            // of points
    double *features;     // [point * feature_count + feature]
    int *of;              // by point: the shape that was varied
    double *costs;        // [point * configs of the list + config]: logarithms of times
    double *shape_costs;  // [shape * configs of the list + config]
};
// `features` are those of the list's shapes. Shapes that are held out are reckoned, but neither varied nor looked at.
void aot_around_make(struct aot_job *job, const struct heuristic *heuristic, const double *features,
                     struct aot_around *around);

#endif
