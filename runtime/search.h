// SPDX-License-Identifier: Apache-2.0
// What search.c (which configs there are to try) and search_model.c (which of them is likely fast) share.
#ifndef TILEC_RUNTIME_SEARCH_H
#define TILEC_RUNTIME_SEARCH_H

#include "runtime/tune.h"

enum { MODEL_FEATURES_MOST = 160 };

// What a config looks like in numbers: logarithms of its knobs, their sums (threads, elements per thread) and squares.
struct search_features {
    int count;
    double values[MODEL_FEATURES_MOST];
};
void search_describe(const struct config *config, struct search_features *features);

// log2 of the time of a config, learnt from the rows that have one. Rows are looked at once, when they are done.
struct search_model {
    int count;                // of features; 0: nothing learnt yet
    double weights[MODEL_FEATURES_MOST];
    int size, known;          // of the sums below: features, and rows that are in them
    double *matrix, *right;
    bool *learnt;             // by row
};
void search_learn(struct arena *arena, const struct tune_rows *rows, struct search_model *model);
double search_predict(const struct search_model *model, const struct search_features *features);
// How unpromising a config looks before anything is known: 0 is best.
double search_prior(const struct config *config, const struct search_facts *facts);

#endif
