// SPDX-License-Identifier: Apache-2.0
// In: how much slower each config is than the best, shape by shape. Out: a few configs, and a tree that chooses among
// them.
//
// Configs are taken greedily, each time the one that helps the goal most. The tree is grown leaf by leaf: of all leaves
// and all questions the one is asked that makes the slowdowns of the shapes smallest, so that a choice that costs 0.1%
// weighs next to nothing and one that costs tenfold weighs tenfold. Points around the shapes (aot_points.c) say which,
// among questions that tell the shapes apart. How many leaves are worth it cross-validation says: trees of each size
// are grown without some of the shapes, and these judge them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot.h"

enum { FOLDS_MOST = 8, STARTS = 24 };
static const double unusable = 1e6;  // what stands for a config that can't be had for a shape
static const double alike = 1e-9;    // costs that differ by less are the same

// ---------------------------------------------------------------------------------------- costs

double aot_slowdown(const struct aot_data *data, int shape, int config) {
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
    return (struct aot_cost){fmax(a.worst, b.worst), a.sum + b.sum, a.count + b.count, a.excess + b.excess,
                             a.nearby + b.nearby};
}

double aot_geomean(const struct aot_cost *cost) {
    return cost->count ? exp(cost->sum / cost->count) : 1;
}

// Negative: a is the better one. What the goal doesn't tell apart the other measure does.
static int compare_costs(enum aot_goal goal, const struct aot_cost *a, const struct aot_cost *b) {
    double worst = log(fmax(a->worst, 1)) - log(fmax(b->worst, 1)), sum = a->sum - b->sum;
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
            add_slowdown(&cost, aot_slowdown(data, i, choices[i]));
    return cost;
}

// ---------------------------------------------------------------------------------------- the configs

// If each shape had the best of the chosen ones, and of one more.
static struct aot_cost cost_with(const struct aot_data *data, const int *chosen, int count, int more) {
    struct aot_cost cost = {0};
    for (int i = 0; i < data->shape_count; i++) {
        if (!is_learnt(data, i))
            continue;
        double least = aot_slowdown(data, i, more);
        for (int j = 0; j < count; j++)
            least = fmin(least, aot_slowdown(data, i, chosen[j]));
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
            if (compare_costs(goal, &cost, &reached) >= 0)
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

struct aot_cost aot_cover(const struct aot_data *data, const int *chosen, int count) {
    return cost_with(data, chosen, count, chosen[0]);
}

// ---------------------------------------------------------------------------------------- leaves

struct split {
    int node, feature, then, otherwise;  // configs
    double below;
    struct aot_cost cost;  // of both sides
};

struct growing {
    struct aot_points points;
    enum aot_goal goal;
    double threshold;
    const int *chosen;
    int chosen_count;
    int *leaf;                             // by point: the node that it is in
    char *side;                            // by point: of a question that is tried; 0: it isn't asked
    struct split splits[HEURISTIC_NODES];  // the best question for each leaf, once it is known
    bool known[HEURISTIC_NODES];
    struct aot_tree *tree;
};

static double feature_of(const struct growing *growing, int point, int feature) {
    return growing->points.features[point * growing->points.feature_count + feature];
}

// What costs come to while a tree grows. A single worst shape says little about which question to ask first: what
// counts is how much all take, and with the goal `max` once more what is above the threshold.
static double weigh(const struct growing *growing, const struct aot_cost *cost) {
    double excess = growing->goal == GOAL_MAX ? cost->excess : 0;
    return isfinite(cost->worst) ? cost->sum + excess + cost->nearby : INFINITY;
}

static int compare_growing(const struct growing *growing, const struct aot_cost *a, const struct aot_cost *b) {
    double left = weigh(growing, a), right = weigh(growing, b);
    if (!isfinite(left) || !isfinite(right))
        return isfinite(left) ? -1 : isfinite(right) ? 1 : 0;
    return fabs(left - right) > alike ? (left < right ? -1 : 1) : 0;
}

static void add_point(const struct growing *growing, int point, int config, struct aot_cost *cost) {
    double log_slowdown = growing->points.logs[point * growing->points.config_count + config];
    if (point < growing->points.real) {
        add_slowdown(cost, exp(log_slowdown));
        cost->excess += fmax(0, log_slowdown - log(growing->threshold));
    } else {
        cost->nearby += growing->points.weight * log_slowdown;
    }
}

// The chosen config that is best for the points on a side.
static struct aot_cost best_config(const struct growing *growing, char which, int *config) {
    struct aot_cost best = {.worst = INFINITY, .sum = INFINITY};
    for (int j = 0; j < growing->chosen_count; j++) {
        struct aot_cost cost = {0};
        for (int i = 0; i < growing->points.count; i++)
            if (growing->side[i] == which)
                add_point(growing, i, growing->chosen[j], &cost);
        if (compare_growing(growing, &cost, &best) >= 0)
            continue;
        best = cost;
        *config = growing->chosen[j];
    }
    return best;
}

// Midway between two values. Where these are far apart that is in the middle of their logarithms.
static double midpoint(double low, double high) {
    double middle = low > 0 && high > 2 * low ? sqrt(low * high) : 0.5 * (low + high);
    return middle > low && middle <= high ? middle : high;
}

// Of the shapes alone: between two of them there is one question.
static bool next_value(const struct growing *growing, int node, int feature, double above, double *next) {
    *next = INFINITY;
    for (int i = 0; i < growing->points.real; i++) {
        double value = feature_of(growing, i, feature);
        if (growing->leaf[i] == node && value > above && value < *next)
            *next = value;
    }
    return isfinite(*next);
}

static void try_split(struct growing *growing, int node, int feature, double below, struct split *best) {
    struct split split = {.node = node, .feature = feature, .below = below};
    for (int i = 0; i < growing->points.count; i++)
        growing->side[i] = growing->leaf[i] != node ? 0 : feature_of(growing, i, feature) < below ? 1 : 2;
    struct aot_cost then = best_config(growing, 1, &split.then), otherwise = best_config(growing, 2, &split.otherwise);
    split.cost = joined(then, otherwise);
    if (split.then != split.otherwise && compare_growing(growing, &split.cost, &best->cost) < 0)
        *best = split;
}

// The best question for a leaf; feature -1 if there is none.
static struct split split_leaf(struct growing *growing, int node) {
    struct split best = {.node = node, .feature = -1, .cost = {.worst = INFINITY, .sum = INFINITY}};
    for (int feature = 0; feature < growing->points.feature_count; feature++) {
        double value = -INFINITY, next = 0;
        if (!next_value(growing, node, feature, value, &value))
            continue;
        for (; next_value(growing, node, feature, value, &next); value = next)
            try_split(growing, node, feature, midpoint(value, next), &best);
    }
    return best;
}

static struct aot_cost cost_of_leaf(const struct growing *growing, int node) {
    struct aot_cost cost = {0};
    for (int i = 0; i < growing->points.count; i++)
        if (growing->leaf[i] == node)
            add_point(growing, i, growing->tree->nodes[node].config, &cost);
    return cost;
}

// The whole tree's, with a question in place of one of its leaves; NULL: as it is.
static struct aot_cost cost_with_split(const struct growing *growing, const struct split *split) {
    struct aot_cost cost = split ? split->cost : (struct aot_cost){0};
    for (int node = 0; node < growing->tree->node_count; node++)
        if (growing->tree->nodes[node].feature < 0 && !(split && split->node == node))
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
    for (int i = 0; i < growing->points.count; i++)
        if (growing->leaf[i] == split->node)
            growing->leaf[i] = feature_of(growing, i, split->feature) < split->below ? then : otherwise;
}

// One more leaf where it helps most; false if none does, or there are as many as there may be.
static bool grow_leaf(struct growing *growing) {
    const struct split *best = NULL;
    struct aot_cost reached = cost_with_split(growing, NULL);
    if (growing->tree->leaf_count == HEURISTIC_LEAVES)
        return false;
    for (int node = 0; node < growing->tree->node_count; node++) {
        if (growing->tree->nodes[node].feature >= 0)
            continue;
        if (!growing->known[node])
            growing->splits[node] = split_leaf(growing, node);
        growing->known[node] = true;
        if (growing->splits[node].feature < 0)
            continue;
        struct aot_cost cost = cost_with_split(growing, &growing->splits[node]);
        if (compare_growing(growing, &cost, &reached) >= 0)
            continue;
        reached = cost;
        best = &growing->splits[node];
    }
    if (best)
        make_split(growing, best);
    return best != NULL;
}

// A tree of one leaf, grown from the shapes in `used`. False: out of memory.
static bool begin(struct growing *growing, const struct aot_data *data, const bool *used, struct aot_tree *tree) {
    bool made = aot_points_make(data, used, &growing->points);
    growing->tree = tree;
    memset(growing->known, 0, sizeof growing->known);
    *tree =
        (struct aot_tree){.node_count = 1, .leaf_count = 1, .nodes = {{.feature = -1, .config = growing->chosen[0]}}};
    growing->leaf = calloc((size_t)growing->points.count + 1, sizeof *growing->leaf);
    growing->side = calloc((size_t)growing->points.count + 1, 1);
    if (!made || !growing->leaf || !growing->side)
        return false;
    best_config(growing, 0, &tree->nodes[0].config);
    return true;
}

static void end(struct growing *growing) {
    free(growing->leaf);
    free(growing->side);
    aot_points_free(&growing->points);
}

int aot_tree_choose(const struct aot_tree *tree, const double *features) {
    const struct heuristic_node *node = &tree->nodes[0];
    while (node->feature >= 0)
        node = &tree->nodes[features[node->feature] < node->below ? node->then : node->otherwise];
    return node->config;
}

// ---------------------------------------------------------------------------------------- how many leaves

// What a tree costs on some shapes.
static void judge(const struct aot_data *data, const struct aot_tree *tree, const bool *shapes, struct aot_cost *cost) {
    for (int i = 0; i < data->shape_count; i++)
        if (shapes[i])
            add_slowdown(cost, aot_slowdown(data, i, aot_tree_choose(tree, &data->features[i * data->feature_count])));
}

// What trees of each size, grown without one part of the shapes, cost on this part, added to `costs`.
static bool validate(struct growing *growing, const struct aot_data *data, const bool *used, const bool *others,
                     struct aot_cost *costs) {
    struct aot_tree tree;
    bool made = begin(growing, data, used, &tree), growing_on = made;
    for (int leaves = 1; leaves <= HEURISTIC_LEAVES && made; leaves++) {
        judge(data, &tree, others, &costs[leaves]);
        growing_on = growing_on && grow_leaf(growing);
    }
    end(growing);
    return made;
}

// The number of leaves that cross-validation finds best. Shapes that no tree was grown from are judged by the sum: the
// worst of them may be like no other.
static int count_leaves(struct growing *growing, const struct aot_data *data, int learnt, bool *used, bool *others) {
    struct aot_cost costs[HEURISTIC_LEAVES + 1] = {{0}};
    int folds = learnt < FOLDS_MOST ? learnt : FOLDS_MOST, best = 1;
    for (int fold = 0; fold < folds && folds > 1; fold++) {
        for (int i = 0, number = 0; i < data->shape_count; i++) {
            others[i] = is_learnt(data, i) && number % folds == fold;
            used[i] = is_learnt(data, i) && number % folds != fold;
            number += is_learnt(data, i);
        }
        if (!validate(growing, data, used, others, costs))
            return 1;
    }
    for (int leaves = 2; leaves <= HEURISTIC_LEAVES && folds > 1; leaves++)
        if (compare_costs(GOAL_GEOMEAN, &costs[leaves], &costs[best]) < 0)
            best = leaves;
    return best;
}

// At least so many leaves, and enough that the goal is reached on the shapes that are learnt from, if it can be.
static void grow_enough(struct growing *growing, const struct aot_data *data, const bool *used, int least) {
    for (bool going = true; going && growing->tree->leaf_count < HEURISTIC_LEAVES;) {
        struct aot_cost cost = {0};
        judge(data, growing->tree, used, &cost);
        if (growing->tree->leaf_count >= least && reaches(growing->goal, &cost, growing->threshold))
            return;
        going = grow_leaf(growing);
    }
}

// The first questions that cut costs most, best first, at most `most`.
static int first_splits(struct growing *growing, int most, struct split *splits) {
    int count = 0;
    for (int feature = 0; feature < growing->points.feature_count; feature++) {
        double value = -INFINITY, next = 0;
        if (!next_value(growing, 0, feature, value, &value))
            continue;
        for (; next_value(growing, 0, feature, value, &next); value = next) {
            struct split split = {.feature = -1, .cost = {.worst = INFINITY, .sum = INFINITY}};
            try_split(growing, 0, feature, midpoint(value, next), &split);
            int at = count < most ? count++ : most;
            for (; split.feature >= 0 && at > 0 && compare_growing(growing, &split.cost, &splits[at - 1].cost) < 0;
                 at--)
                if (at < most)
                    splits[at] = splits[at - 1];
            if (at < most)
                splits[at] = split;
        }
    }
    return count;
}

// Which question comes first decides about all that come after it, and the one that cuts costs most by itself need not
// be the one that ends best: so a tree is grown from each of several, and the best is taken.
static void grow_best(struct growing *growing, const struct aot_data *data, const bool *used, int least) {
    struct split splits[STARTS];
    struct aot_tree best, *out = growing->tree;
    int *leaf = growing->leaf, count = first_splits(growing, STARTS, splits);
    size_t bytes = sizeof *leaf * (size_t)growing->points.count;
    grow_enough(growing, data, used, least);
    struct aot_cost reached = cost_with_split(growing, NULL);
    best = *out;
    for (int i = 0; i < count && splits[i].feature >= 0; i++) {
        memset(leaf, 0, bytes);
        memset(growing->known, 0, sizeof growing->known);
        *out = (struct aot_tree){.node_count = 1, .leaf_count = 1, .nodes = {{.feature = -1}}};
        make_split(growing, &splits[i]);
        grow_enough(growing, data, used, least);
        struct aot_cost cost = cost_with_split(growing, NULL);
        if (compare_growing(growing, &cost, &reached) >= 0)
            continue;
        reached = cost;
        best = *out;
    }
    *out = best;
}

void aot_grow(const struct aot_data *data, enum aot_goal goal, double threshold, const int *chosen, int chosen_count,
              struct aot_tree *tree) {
    bool *used = calloc((size_t)data->shape_count + 1, sizeof *used),
         *others = calloc((size_t)data->shape_count + 1, sizeof *used);
    struct growing growing = {.goal = goal, .threshold = threshold, .chosen = chosen, .chosen_count = chosen_count};
    int learnt = 0;
    *tree = (struct aot_tree){.node_count = 1, .leaf_count = 1, .nodes = {{.feature = -1, .config = chosen[0]}}};
    for (int i = 0; i < data->shape_count; i++)
        learnt += is_learnt(data, i);
    if (used && others && learnt > 0) {
        int least = count_leaves(&growing, data, learnt, used, others);
        for (int i = 0; i < data->shape_count; i++)
            used[i] = is_learnt(data, i);
        if (begin(&growing, data, used, tree))
            grow_best(&growing, data, used, least);
        end(&growing);
    }
    free(used);
    free(others);
}
