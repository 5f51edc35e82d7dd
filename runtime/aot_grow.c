// SPDX-License-Identifier: Apache-2.0
// In: points with slowdowns, and which configs may be chosen. Out: a tree with so many leaves.
//
// A tree grows leaf by leaf: of all leaves and all questions the one is asked that makes losses smallest, so that a
// choice that costs 0.1% weighs next to nothing and one that costs tenfold weighs tenfold. What was asked first may not
// be what should have been, once the rest is there: so every question is asked anew, given those below it, as long as
// that helps (Carreira-Perpinan and Tavallali 2018).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot_grow.h"

enum { PASSES = 12 };
static const double alike = 1e-9;       // losses that differ by less are the same
static const double excess_weight = 4;  // of what a shape's slowdown is above the threshold, with the goal max
static const double bad_slowdown = 1.3; // that a point shouldn't be above, as far as it is guessed

// ---------------------------------------------------------------------------------------- losses

// With the goal `max` a single worst shape says little about which question to ask first: what counts is how much all
// take, and more of it above the threshold.
static double loss_of(const struct growing *growing, int point, int config) {
    double slower = growing->points.logs[point * growing->points.config_count + config];
    bool real = point < growing->points.real;
    double limit = real ? growing->threshold : fmax(growing->threshold, bad_slowdown);
    double excess = growing->goal == GOAL_MAX ? excess_weight * fmax(0, slower - log(limit)) : 0;
    return (slower + excess) * growing->points.weights[point];
}

static double loss_at(const struct growing *growing, int point, int config) {
    return growing->loss[point * growing->points.config_count + config];
}

static double feature_of(const struct growing *growing, int point, int feature) {
    return growing->points.features[point * growing->points.feature_count + feature];
}

bool growing_begin(struct growing *growing, const struct aot_data *data, const bool *used) {
    bool made = aot_points_make(data, used, &growing->points);
    size_t count = (size_t)growing->points.count + 1, configs = (size_t)growing->points.config_count + 1;
    growing->leaf = calloc(count, sizeof *growing->leaf);
    growing->order = calloc(count, sizeof *growing->order);
    growing->loss = calloc(count * configs, sizeof *growing->loss);
    growing->sums = calloc(2 * configs, sizeof *growing->sums);
    growing->gains = calloc(count, sizeof *growing->gains);
    if (!made || !growing->leaf || !growing->order || !growing->loss || !growing->sums || !growing->gains)
        return false;
    for (int i = 0; i < growing->points.count; i++)
        for (int j = 0; j < growing->points.config_count; j++)
            growing->loss[i * growing->points.config_count + j] = loss_of(growing, i, j);
    return true;
}

void growing_end(struct growing *growing) {
    free(growing->leaf);
    free(growing->order);
    free(growing->loss);
    free(growing->sums);
    free(growing->gains);
    aot_points_free(&growing->points);
}

// ---------------------------------------------------------------------------------------- questions

static int compare_ordered(const void *a, const void *b) {
    const struct ordered *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? -1 : 1;
    return left->point - right->point;
}

// The points of a leaf, in the order of a feature.
static int sort_points(struct growing *growing, int node, int feature) {
    int count = 0;
    for (int i = 0; i < growing->points.count; i++)
        if (growing->leaf[i] == node)
            growing->order[count++] = (struct ordered){feature_of(growing, i, feature), i};
    qsort(growing->order, (size_t)count, sizeof *growing->order, compare_ordered);
    return count;
}

// Midway between two values. Where these are far apart that is in the middle of their logarithms.
static double midpoint(double low, double high) {
    double middle = low > 0 && high > 2 * low ? sqrt(low * high) : 0.5 * (low + high);
    return middle > low && middle <= high ? middle : high;
}

static bool may_cut(const struct ordered *at) {
    return at[0].value < at[1].value && isfinite(at[1].value);
}

static double least_of(const struct growing *growing, const double *all, const double *without, int *config) {
    double least = INFINITY;
    for (int j = 0; j < growing->chosen_count; j++) {
        double loss = all[j] - (without ? without[j] : 0);
        if (loss < least - alike) {
            least = loss;
            *config = growing->chosen[j];
        }
    }
    return least;
}

static void add_losses(const struct growing *growing, int point, double *sums) {
    for (int j = 0; j < growing->chosen_count; j++)
        sums[j] += loss_at(growing, point, growing->chosen[j]);
}

// All questions about one feature, those points first that have less of it.
static void try_feature(struct growing *growing, int node, int feature, struct split *best) {
    double *all = growing->sums, *below = growing->sums + growing->chosen_count;
    int count = sort_points(growing, node, feature);
    memset(all, 0, 2 * sizeof *all * (size_t)growing->chosen_count);
    for (int i = 0; i < count; i++)
        add_losses(growing, growing->order[i].point, all);
    for (int i = 0; i + 1 < count; i++) {
        const struct ordered *at = &growing->order[i];
        add_losses(growing, at->point, below);
        if (!may_cut(at))
            continue;
        struct split split = {.node = node, .feature = feature, .below = midpoint(at[0].value, at[1].value)};
        split.loss = least_of(growing, below, NULL, &split.then) + least_of(growing, all, below, &split.otherwise);
        if (split.then != split.otherwise && split.loss < best->loss - alike)
            *best = split;
    }
}

// The best question for a leaf; feature -1 if there is none.
static struct split split_leaf(struct growing *growing, int node) {
    struct split best = {.node = node, .feature = -1, .loss = INFINITY};
    for (int feature = 0; feature < growing->points.feature_count; feature++)
        try_feature(growing, node, feature, &best);
    return best;
}

// ---------------------------------------------------------------------------------------- growing

// The chosen config that is best for the points of a leaf; 0 for none.
static double best_config(struct growing *growing, int node, int *config) {
    memset(growing->sums, 0, sizeof *growing->sums * (size_t)growing->chosen_count);
    int count = 0;
    for (int i = 0; i < growing->points.count; i++)
        if (growing->leaf[i] == node)
            add_losses(growing, i, growing->sums), count++;
    return count ? least_of(growing, growing->sums, NULL, config) : 0;
}

static double loss_of_leaf(const struct growing *growing, int node) {
    double loss = 0;
    for (int i = 0; i < growing->points.count; i++)
        if (growing->leaf[i] == node)
            loss += loss_at(growing, i, growing->tree->nodes[node].config);
    return loss;
}

static void make_split(struct growing *growing, const struct split *split) {
    struct aot_tree *tree = growing->tree;
    int then = tree->node_count++, otherwise = tree->node_count++;
    tree->nodes[split->node] =
        (struct heuristic_node){.feature = split->feature, .below = split->below, .then = then, .otherwise = otherwise};
    tree->nodes[then] = (struct heuristic_node){.feature = -1, .config = split->then};
    tree->nodes[otherwise] = (struct heuristic_node){.feature = -1, .config = split->otherwise};
    tree->leaf_count++;
    for (int i = 0; i < growing->points.count; i++)
        if (growing->leaf[i] == split->node)
            growing->leaf[i] = feature_of(growing, i, split->feature) < split->below ? then : otherwise;
}

void growing_plant(struct growing *growing, const struct split *first) {
    struct aot_tree *tree = growing->tree;
    memset(growing->known, 0, sizeof growing->known);
    memset(growing->leaf, 0, sizeof *growing->leaf * (size_t)growing->points.count);
    *tree = (struct aot_tree){.node_count = 1, .leaf_count = 1};
    tree->nodes[0] = (struct heuristic_node){.feature = -1, .config = growing->chosen[0]};
    best_config(growing, 0, &tree->nodes[0].config);
    if (first)
        make_split(growing, first);
}

bool growing_leaf(struct growing *growing) {
    const struct split *best = NULL;
    double most = alike;
    if (growing->tree->leaf_count == HEURISTIC_LEAVES)
        return false;
    for (int node = 0; node < growing->tree->node_count; node++) {
        if (growing->tree->nodes[node].feature >= 0)
            continue;
        if (!growing->known[node])
            growing->splits[node] = split_leaf(growing, node);
        growing->known[node] = true;
        double gain = growing->splits[node].feature < 0 ? 0 : loss_of_leaf(growing, node) - growing->splits[node].loss;
        if (gain > most) {
            most = gain;
            best = &growing->splits[node];
        }
    }
    if (best)
        make_split(growing, best);
    return best != NULL;
}

int growing_first(struct growing *growing, int most, struct split *splits) {
    int count = 0;
    growing_plant(growing, NULL);
    for (int feature = 0; feature < growing->points.feature_count; feature++) {
        struct split split = {.feature = -1, .loss = INFINITY};
        try_feature(growing, 0, feature, &split);
        if (split.feature >= 0 && count < most)
            splits[count++] = split;
    }
    return count;
}

// ---------------------------------------------------------------------------------------- asking anew

// Down from a node to a leaf, or to the node `at` if a point comes by there.
static int descend(const struct growing *growing, int node, int point, int at) {
    const struct heuristic_node *nodes = growing->tree->nodes;
    while (node != at && nodes[node].feature >= 0) {
        bool below = feature_of(growing, point, nodes[node].feature) < nodes[node].below;
        node = below ? nodes[node].then : nodes[node].otherwise;
    }
    return node;
}

// Every point to the leaf, or to the node on the way, where it comes by.
static void settle(struct growing *growing, int at) {
    for (int i = 0; i < growing->points.count; i++)
        growing->leaf[i] = descend(growing, 0, i, at);
}

// What a point costs on either side of a question: less by so much on the side `then`.
static double advantage(const struct growing *growing, int node, int point) {
    const struct heuristic_node *nodes = growing->tree->nodes, *asked = &nodes[node];
    return loss_at(growing, point, nodes[descend(growing, asked->otherwise, point, -1)].config) -
           loss_at(growing, point, nodes[descend(growing, asked->then, point, -1)].config);
}

// The best question about a feature, by what is gained over sending all points to the side `otherwise`.
static bool find_better(struct growing *growing, int node, int feature, double *best, struct split *split) {
    int count = sort_points(growing, node, feature);
    double gained = 0;
    bool found = false;
    for (int i = 0; i + 1 < count; i++) {
        const struct ordered *at = &growing->order[i];
        gained += growing->gains[at->point];
        if (!may_cut(at) || gained <= *best + alike)
            continue;
        *best = gained;
        *split = (struct split){.feature = feature, .below = midpoint(at[0].value, at[1].value)};
        found = true;
    }
    return found;
}

// Another question in place of a node's, given what lies below it, where that is better.
static bool ask_anew(struct growing *growing, int node) {
    struct heuristic_node *asked = &growing->tree->nodes[node];
    struct split split = {0};
    double gained = 0;
    bool found = false;
    settle(growing, node);
    for (int i = 0; i < growing->points.count; i++) {
        if (growing->leaf[i] != node)
            continue;
        growing->gains[i] = advantage(growing, node, i);
        if (feature_of(growing, i, asked->feature) < asked->below)
            gained += growing->gains[i];
    }
    for (int feature = 0; feature < growing->points.feature_count; feature++)
        found |= find_better(growing, node, feature, &gained, &split);
    if (found)
        asked->feature = split.feature, asked->below = split.below;
    return found;
}

static bool answer_anew(struct growing *growing, int node) {
    int config = growing->tree->nodes[node].config;
    settle(growing, -1);
    double before = loss_of_leaf(growing, node), after = best_config(growing, node, &config);
    if (after >= before - alike)
        return false;
    growing->tree->nodes[node].config = config;
    return true;
}

double growing_polish(struct growing *growing) {
    const struct aot_tree *tree = growing->tree;
    bool better = true;
    for (int pass = 0; better && pass < PASSES; pass++) {
        better = false;
        for (int node = 0; node < tree->node_count; node++)
            better |= tree->nodes[node].feature < 0 ? answer_anew(growing, node) : ask_anew(growing, node);
    }
    settle(growing, -1);
    memset(growing->known, 0, sizeof growing->known);
    return growing_loss(growing);
}

double growing_loss(const struct growing *growing) {
    double loss = 0;
    for (int i = 0; i < growing->points.count; i++)
        loss += loss_at(growing, i, growing->tree->nodes[growing->leaf[i]].config);
    return loss;
}
