// SPDX-License-Identifier: Apache-2.0
// In: how much slower each config is than the best, shape by shape. Out: a few configs, and a tree that chooses among
// them.
//
// Configs are taken greedily, each time the one that helps the goal most. The tree is grown leaf by leaf: of all leaves
// and all questions the one is asked that makes the slowdowns of the shapes smallest, so that a choice that costs 0.1%
// weighs next to nothing and one that costs tenfold weighs tenfold. Shapes are few, and the space between them is
// large: so of configs that are about as good for the shapes of a leaf that one is taken which would also do for the
// shapes around it. How many leaves are worth it cross-validation says: trees of each size are grown without some of
// the shapes, and these judge them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot.h"

enum { FOLDS_MOST = 8, NEIGHBOURS_MOST = 200 };  // neighbours: of more shapes none is weighed
static const double unusable = 1e6;              // what stands for a config that can't be had for a shape
static const double neighbour_weight = 0.2;
static const double alike = 1e-9;  // costs that differ by less are the same

// ---------------------------------------------------------------------------------------- costs

static double slowdown_of(const struct aot_data *data, int shape, int config) {
    double slowdown = data->slowdown[shape * data->config_count + config];
    return isfinite(slowdown) && slowdown < unusable ? fmax(slowdown, 1) : unusable;
}

static void add_slowdown(struct aot_cost *cost, double slowdown) {
    if (slowdown > cost->worst)
        cost->worst = slowdown;
    cost->sum += log(slowdown);
    cost->count++;
}

static struct aot_cost joined(struct aot_cost a, struct aot_cost b) {
    return (struct aot_cost){fmax(a.worst, b.worst), a.sum + b.sum, a.count + b.count, a.nearby + b.nearby};
}

double aot_geomean(const struct aot_cost *cost) {
    return cost->count ? exp(cost->sum / cost->count) : 1;
}

// Negative: a is the better one. What the goal doesn't tell apart the other measure does; a worst slowdown within the
// threshold is as good as none.
static int compare_costs(enum aot_goal goal, double threshold, const struct aot_cost *a, const struct aot_cost *b) {
    double worst = log(fmax(a->worst, threshold)) - log(fmax(b->worst, threshold));
    double sum = a->sum + a->nearby - b->sum - b->nearby;
    double first = goal == GOAL_MAX ? worst : sum, second = goal == GOAL_MAX ? sum : worst;
    if (fabs(first) > alike)
        return first < 0 ? -1 : 1;
    return fabs(second) > alike ? (second < 0 ? -1 : 1) : 0;
}

static bool reaches(enum aot_goal goal, const struct aot_cost *cost, double threshold) {
    return (goal == GOAL_MAX ? cost->worst : aot_geomean(cost)) <= threshold;
}

static bool is_learnt(const struct aot_data *data, int shape) {
    return !data->held_out || !data->held_out[shape];
}

struct aot_cost aot_cost_of(const struct aot_data *data, const int *choices, bool learnt) {
    struct aot_cost cost = {0};
    for (int i = 0; i < data->shape_count; i++)
        if (is_learnt(data, i) == learnt)
            add_slowdown(&cost, slowdown_of(data, i, choices[i]));
    return cost;
}

// ---------------------------------------------------------------------------------------- the configs

// If each shape had the best of the chosen ones, and of one more.
static struct aot_cost cost_with(const struct aot_data *data, const int *chosen, int count, int more) {
    struct aot_cost cost = {0};
    for (int i = 0; i < data->shape_count; i++) {
        if (!is_learnt(data, i))
            continue;
        double least = slowdown_of(data, i, more);
        for (int j = 0; j < count; j++)
            least = fmin(least, slowdown_of(data, i, chosen[j]));
        add_slowdown(&cost, least);
    }
    return cost;
}

int aot_choose_configs(const struct aot_data *data, enum aot_goal goal, double threshold, int most, int *chosen) {
    int count = 0, learnt = 0;
    struct aot_cost reached = {.worst = INFINITY, .sum = INFINITY};
    for (int i = 0; i < data->shape_count; i++)
        learnt += is_learnt(data, i);
    while (learnt > 0 && count < most && count < data->config_count) {
        int best = -1;
        for (int i = 0; i < data->config_count; i++) {
            struct aot_cost cost = cost_with(data, chosen, count, i);
            if (compare_costs(goal, 1, &cost, &reached) >= 0)
                continue;
            reached = cost;
            best = i;
        }
        if (best < 0)
            break;
        chosen[count++] = best;
        if (reaches(goal, &reached, threshold))
            break;
    }
    return count;
}

// ---------------------------------------------------------------------------------------- leaves

struct growing {
    const struct aot_data *data;
    enum aot_goal goal;
    double threshold;
    const int *chosen;
    int chosen_count;
    const bool *used;  // by shape: learnt from in this tree
    int *leaf;         // by shape: the node that it is in
    struct aot_tree *tree;
};

struct split {
    int node, feature, then, otherwise;  // configs
    double below;
    struct aot_cost cost;  // of both sides
};

static double feature_of(const struct growing *growing, int shape, int feature) {
    return growing->data->features[shape * growing->data->feature_count + feature];
}

// Factors of two between two shapes, on average over what is known of both.
static double distance(const struct growing *growing, int a, int b) {
    double sum = 0;
    int count = 0;
    for (int f = 0; f < growing->data->feature_count; f++) {
        double left = feature_of(growing, a, f), right = feature_of(growing, b, f);
        if (!isfinite(left) || !isfinite(right))
            continue;
        sum += fabs(log2(1 + fmax(left, 0)) - log2(1 + fmax(right, 0)));
        count++;
    }
    return count ? sum / count : 0;
}

// Of every used shape outside a side, how much it counts there: less with its distance from the nearest shape inside.
static void weigh_neighbours(const struct growing *growing, const char *side, char which, double *weights) {
    const struct aot_data *data = growing->data;
    for (int i = 0; i < data->shape_count; i++) {
        double nearest = INFINITY;
        weights[i] = 0;
        if (!growing->used[i] || side[i] == which)
            continue;
        for (int j = 0; j < data->shape_count; j++)
            if (side[j] == which)
                nearest = fmin(nearest, distance(growing, i, j));
        weights[i] = isfinite(nearest) ? neighbour_weight * exp2(-nearest) : 0;
    }
}

// The chosen config that is best for the shapes that `side` marks.
static struct aot_cost best_config(const struct growing *growing, const char *side, char which, int *config) {
    const struct aot_data *data = growing->data;
    struct aot_cost best = {.worst = INFINITY, .sum = INFINITY};
    double weights[NEIGHBOURS_MOST];
    bool weighed = data->shape_count <= NEIGHBOURS_MOST;
    if (weighed)
        weigh_neighbours(growing, side, which, weights);
    for (int j = 0; j < growing->chosen_count; j++) {
        struct aot_cost cost = {0};
        for (int i = 0; i < data->shape_count; i++) {
            double slowdown = slowdown_of(data, i, growing->chosen[j]);
            if (side[i] == which)
                add_slowdown(&cost, slowdown);
            else if (weighed)
                cost.nearby += weights[i] * log(slowdown);
        }
        if (compare_costs(growing->goal, growing->threshold, &cost, &best) >= 0)
            continue;
        best = cost;
        *config = growing->chosen[j];
    }
    return best;
}

static bool in_node(const struct growing *growing, int shape, int node) {
    return growing->used[shape] && growing->leaf[shape] == node;
}

// Midway between two values. Where these are far apart that is in the middle of their logarithms.
static double midpoint(double low, double high) {
    double middle = low > 0 && high > 2 * low ? sqrt(low * high) : 0.5 * (low + high);
    return middle > low && middle <= high ? middle : high;
}

static bool next_value(const struct growing *growing, int node, int feature, double above, double *next) {
    *next = INFINITY;
    for (int i = 0; i < growing->data->shape_count; i++) {
        double value = feature_of(growing, i, feature);
        if (in_node(growing, i, node) && value > above && value < *next)
            *next = value;
    }
    return isfinite(*next);
}

static void try_split(const struct growing *growing, int node, int feature, double below, char *side,
                      struct split *best) {
    struct split split = {.node = node, .feature = feature, .below = below};
    for (int i = 0; i < growing->data->shape_count; i++)
        side[i] = !in_node(growing, i, node) ? 0 : feature_of(growing, i, feature) < below ? 1 : 2;
    struct aot_cost then = best_config(growing, side, 1, &split.then),
                    otherwise = best_config(growing, side, 2, &split.otherwise);
    split.cost = joined(then, otherwise);
    if (split.then != split.otherwise && compare_costs(growing->goal, growing->threshold, &split.cost, &best->cost) < 0)
        *best = split;
}

// The best question for a leaf; feature -1 if there is none.
static struct split split_leaf(const struct growing *growing, int node, char *side) {
    struct split best = {.node = node, .feature = -1, .cost = {.worst = INFINITY, .sum = INFINITY}};
    for (int feature = 0; feature < growing->data->feature_count; feature++) {
        double value = -INFINITY, next = 0;
        if (!next_value(growing, node, feature, value, &value))
            continue;
        for (; next_value(growing, node, feature, value, &next); value = next)
            try_split(growing, node, feature, midpoint(value, next), side, &best);
    }
    return best;
}

static struct aot_cost cost_of_leaf(const struct growing *growing, int node) {
    struct aot_cost cost = {0};
    for (int i = 0; i < growing->data->shape_count; i++)
        if (in_node(growing, i, node))
            add_slowdown(&cost, slowdown_of(growing->data, i, growing->tree->nodes[node].config));
    return cost;
}

// The whole tree's if this split were made.
static struct aot_cost cost_after(const struct growing *growing, const struct split *split) {
    struct aot_cost cost = split->cost;
    cost.nearby = 0;  // says which question, not whether to ask one
    for (int node = 0; node < growing->tree->node_count; node++)
        if (node != split->node && growing->tree->nodes[node].feature < 0)
            cost = joined(cost, cost_of_leaf(growing, node));
    return cost;
}

static struct aot_cost cost_now(const struct growing *growing) {
    struct aot_cost cost = {0};
    for (int node = 0; node < growing->tree->node_count; node++)
        if (growing->tree->nodes[node].feature < 0)
            cost = joined(cost, cost_of_leaf(growing, node));
    return cost;
}

static void make_split(struct growing *growing, const struct split *split) {
    struct aot_tree *tree = growing->tree;
    int then = tree->node_count++, otherwise = tree->node_count++;
    tree->nodes[split->node] =
        (struct heuristic_node){.feature = split->feature, .below = split->below, .then = then, .otherwise = otherwise};
    tree->nodes[then] = (struct heuristic_node){.feature = -1, .config = split->then};
    tree->nodes[otherwise] = (struct heuristic_node){.feature = -1, .config = split->otherwise};
    tree->leaf_count++;
    for (int i = 0; i < growing->data->shape_count; i++)
        if (in_node(growing, i, split->node))
            growing->leaf[i] = feature_of(growing, i, split->feature) < split->below ? then : otherwise;
}

// One more leaf where it helps most; false if none does.
static bool grow_leaf(struct growing *growing, char *side) {
    struct split best = {.feature = -1};
    struct aot_cost reached = cost_now(growing);
    for (int node = 0; node < growing->tree->node_count; node++) {
        if (growing->tree->nodes[node].feature >= 0)
            continue;
        struct split split = split_leaf(growing, node, side);
        if (split.feature < 0)
            continue;
        struct aot_cost cost = cost_after(growing, &split);
        if (compare_costs(growing->goal, growing->threshold, &cost, &reached) >= 0)
            continue;
        reached = cost;
        best = split;
    }
    if (best.feature >= 0)
        make_split(growing, &best);
    return best.feature >= 0;
}

// A tree with at most so many leaves.
static void grow(const struct aot_data *data, enum aot_goal goal, double threshold, const int *chosen, int chosen_count,
                 const bool *used, int leaves, struct aot_tree *tree) {
    int *leaf = calloc((size_t)data->shape_count + 1, sizeof *leaf);
    char *side = calloc((size_t)data->shape_count + 1, 1);
    struct growing growing = {data, goal, threshold, chosen, chosen_count, used, leaf, tree};
    *tree = (struct aot_tree){.node_count = 1, .leaf_count = 1, .nodes = {{.feature = -1, .config = chosen[0]}}};
    for (int i = 0; side && i < data->shape_count; i++)
        side[i] = used[i];
    if (leaf && side)
        best_config(&growing, side, 1, &tree->nodes[0].config);
    while (leaf && side && tree->leaf_count < leaves && grow_leaf(&growing, side)) {
    }
    free(leaf);
    free(side);
}

int aot_tree_choose(const struct aot_tree *tree, const double *features) {
    const struct heuristic_node *node = &tree->nodes[0];
    while (node->feature >= 0)
        node = &tree->nodes[features[node->feature] < node->below ? node->then : node->otherwise];
    return node->config;
}

// ---------------------------------------------------------------------------------------- how many leaves

// What trees of so many leaves, each grown without one part of the shapes, cost on these parts.
static struct aot_cost validate(const struct growing *growing, int folds, int leaves, bool *used) {
    const struct aot_data *data = growing->data;
    struct aot_cost cost = {0};
    for (int fold = 0; fold < folds; fold++) {
        struct aot_tree tree;
        int learnt = 0;
        for (int i = 0; i < data->shape_count; i++)
            used[i] = is_learnt(data, i) && learnt++ % folds != fold;
        grow(data, growing->goal, growing->threshold, growing->chosen, growing->chosen_count, used, leaves, &tree);
        learnt = 0;
        for (int i = 0; i < data->shape_count; i++) {
            if (!is_learnt(data, i) || learnt++ % folds != fold)
                continue;
            add_slowdown(&cost, slowdown_of(data, i, aot_tree_choose(&tree, &data->features[i * data->feature_count])));
        }
    }
    return cost;
}

// As many as cross-validation finds best, but enough that the goal is reached on the shapes that are learnt from, if it
// can be. Shapes that no tree was grown from are judged by the sum: the worst of them may be like no other.
static int count_leaves(const struct growing *growing, double threshold, int learnt, bool *others) {
    const struct aot_data *data = growing->data;
    int folds = learnt < FOLDS_MOST ? learnt : FOLDS_MOST, best_leaves = 1, enough = 0;
    struct aot_cost best = {.worst = INFINITY, .sum = INFINITY};
    for (int leaves = 1; leaves <= HEURISTIC_LEAVES && folds > 1; leaves++) {
        struct aot_cost cost = validate(growing, folds, leaves, others);
        if (compare_costs(GOAL_GEOMEAN, 1, &cost, &best) >= 0)
            continue;
        best = cost;
        best_leaves = leaves;
    }
    for (int leaves = 1; leaves <= HEURISTIC_LEAVES && !enough; leaves++) {
        struct aot_cost cost = {0};
        grow(data, growing->goal, threshold, growing->chosen, growing->chosen_count, growing->used, leaves,
             growing->tree);
        for (int i = 0; i < data->shape_count; i++)
            if (growing->used[i])
                add_slowdown(&cost,
                             slowdown_of(data, i,
                                         aot_tree_choose(growing->tree, &data->features[i * data->feature_count])));
        if (reaches(growing->goal, &cost, threshold) || growing->tree->leaf_count < leaves)
            enough = growing->tree->leaf_count;
    }
    if (!enough)
        enough = HEURISTIC_LEAVES;
    return enough > best_leaves ? enough : best_leaves;
}

void aot_grow(const struct aot_data *data, enum aot_goal goal, double threshold, const int *chosen, int chosen_count,
              struct aot_tree *tree) {
    bool *used = calloc((size_t)data->shape_count + 1, sizeof *used),
         *others = calloc((size_t)data->shape_count + 1, sizeof *used);
    const struct growing growing = {data, goal, threshold, chosen, chosen_count, used, NULL, tree};
    int learnt = 0;
    *tree = (struct aot_tree){.node_count = 1, .leaf_count = 1, .nodes = {{.feature = -1, .config = chosen[0]}}};
    for (int i = 0; used && others && i < data->shape_count; i++)
        learnt += used[i] = is_learnt(data, i);
    if (learnt > 0)
        grow(data, goal, threshold, chosen, chosen_count, used, count_leaves(&growing, threshold, learnt, others),
             tree);
    free(used);
    free(others);
}
