// SPDX-License-Identifier: Apache-2.0
// Growing a tree (aot_grow.c) for who says how many leaves it has (aot_tree.c). Private to these files.
#ifndef TILEC_RUNTIME_AOT_GROW_H
#define TILEC_RUNTIME_AOT_GROW_H

#include "runtime/aot.h"

// A question for a leaf, with the configs behind it, and the loss of both sides.
struct split {
    int node, feature, then, otherwise;
    double below, loss;
};

struct ordered {
    double value;
    int point;
};

struct growing {
    enum aot_goal goal;
    double threshold;
    const int *chosen;  // configs that leaves may have
    int chosen_count;
    struct aot_tree *tree;
    struct aot_points points;
    double *loss;                          // [point * config_count + config]
    int *leaf;                             // by point: the node that it is in
    struct ordered *order;                 // room for all points
    double *sums, *gains;                  // by chosen config, twice; by point
    struct split splits[HEURISTIC_NODES];  // the best question for each leaf, once it is known
    bool known[HEURISTIC_NODES];
};

// From the shapes in `used`. False: out of memory. growing_end either way.
bool growing_begin(struct growing *growing, const struct aot_data *data, const bool *used);
void growing_end(struct growing *growing);
// A tree of one leaf, or of one question.
void growing_plant(struct growing *growing, const struct split *first);
// One more leaf where it helps most; false if none does, or there are as many as there may be.
bool growing_leaf(struct growing *growing);
// The best first question about each feature, at most `most`; what grows is lost.
int growing_first(struct growing *growing, int most, struct split *splits);
// Asks every question and gives every answer anew, as long as that helps; the loss then.
double growing_polish(struct growing *growing);
double growing_loss(const struct growing *growing);

#endif
