// SPDX-License-Identifier: Apache-2.0
// In: how much slower each config is than the best, shape by shape. Out: a few configs, and a tree that chooses among
// them.
//
// Configs are taken one by one, each time the one that helps most, until the goal is reached; then a tree is grown over
// them (aot_grow.c). Points around the shapes (aot_points.c) count in both, less than the shapes themselves. How many
// leaves are worth it cross-validation says: trees of each size are grown without some of the shapes, and these judge
// them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot_grow.h"

enum { FOLDS_MOST = 8, STARTS = HEURISTIC_FEATURES, ROUNDS = 8 };
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

// What is lost if every point had the best of the chosen ones, but for the one in place `left_out`, and one more.
static double loss_with(const struct growing *growing, const int *chosen, int count, int left_out, int more) {
    int configs = growing->points.config_count;
    double sum = 0;
    for (int i = 0; i < growing->points.count; i++) {
        const double *losses = &growing->loss[i * configs];
        double least = losses[more];
        for (int j = 0; j < count; j++)
            if (j != left_out)
                least = fmin(least, losses[chosen[j]]);
        sum += least;
    }
    return sum;
}

// The config that helps most in place of one, or beside all of them; -1: none helps.
static int best_more(const struct growing *growing, const int *chosen, int count, int left_out, double *reached) {
    int best = -1;
    for (int i = 0; i < growing->points.config_count; i++) {
        double loss = loss_with(growing, chosen, count, left_out, i);
        if (loss >= *reached - alike)
            continue;
        *reached = loss;
        best = i;
    }
    return best;
}

// Each by another one, as long as that helps: which was best first need not be what goes best with the others.
static void exchange(const struct growing *growing, int *chosen, int count, double *reached) {
    bool better = true;
    for (int round = 0; better && round < ROUNDS; round++) {
        better = false;
        for (int j = 0; j < count; j++) {
            int other = best_more(growing, chosen, count, j, reached);
            if (other >= 0)
                chosen[j] = other, better = true;
        }
    }
}

static int choose_configs(const struct growing *growing, const struct aot_data *data, int most, int *chosen) {
    double reached = INFINITY;
    int count = 0;
    while (count < most && count < data->config_count) {
        int best = best_more(growing, chosen, count, -1, &reached);
        if (best < 0)
            break;
        chosen[count++] = best;
        exchange(growing, chosen, count, &reached);
        struct aot_cost cost = aot_cover(data, chosen, count);
        if (reaches(growing->goal, &cost, growing->threshold))
            break;
    }
    return count;
}

int aot_choose_configs(const struct aot_data *data, enum aot_goal goal, double threshold, int most, int *chosen) {
    struct growing growing = {.goal = goal, .threshold = threshold};
    bool *used = calloc((size_t)data->shape_count + 1, sizeof *used);
    int count = 0, learnt = 0;
    for (int i = 0; used && i < data->shape_count; i++)
        learnt += used[i] = is_learnt(data, i);
    if (learnt > 0 && growing_begin(&growing, data, used))
        count = choose_configs(&growing, data, most, chosen);
    if (learnt > 0)
        growing_end(&growing);
    free(used);
    return count;
}

struct aot_cost aot_cover(const struct aot_data *data, const int *chosen, int count) {
    return cost_with(data, chosen, count, chosen[0]);
}

// ---------------------------------------------------------------------------------------- how many leaves

int aot_tree_choose(const struct aot_tree *tree, const double *features) {
    const struct heuristic_node *node = &tree->nodes[0];
    while (node->feature >= 0)
        node = &tree->nodes[features[node->feature] < node->below ? node->then : node->otherwise];
    return node->config;
}

// What a tree costs on some shapes.
static void judge(const struct aot_data *data, const struct aot_tree *tree, const bool *shapes, struct aot_cost *cost) {
    for (int i = 0; i < data->shape_count; i++)
        if (shapes[i])
            add_slowdown(cost, aot_slowdown(data, i, aot_tree_choose(tree, &data->features[i * data->feature_count])));
}

// What trees of each size, grown without one part of the shapes, cost on this part, added to `costs`.
static bool validate(struct growing *growing, const struct aot_data *data, const bool *used, const bool *others,
                     struct aot_cost *costs) {
    bool made = growing_begin(growing, data, used), growing_on = made;
    if (made)
        growing_plant(growing, NULL);
    for (int leaves = 1; leaves <= HEURISTIC_LEAVES && made; leaves++) {
        judge(data, growing->tree, others, &costs[leaves]);
        growing_on = growing_on && growing_leaf(growing);
    }
    growing_end(growing);
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

// At least so many leaves, and enough that the goal is reached on the shapes that are learnt from, if it can be. The
// loss of the tree.
static double grow_enough(struct growing *growing, const struct aot_data *data, const bool *used, int least) {
    for (bool going = true; going && growing->tree->leaf_count < HEURISTIC_LEAVES;) {
        struct aot_cost cost = {0};
        judge(data, growing->tree, used, &cost);
        if (growing->tree->leaf_count >= least && reaches(growing->goal, &cost, growing->threshold))
            break;
        going = growing_leaf(growing);
    }
    return growing_polish(growing);
}

// Which question comes first decides about all that come after it, and the one that cuts losses most by itself need not
// be the one that ends best: so a tree is grown from each of several, and the best is taken.
static void grow_best(struct growing *growing, const struct aot_data *data, const bool *used, int least) {
    struct split splits[STARTS];
    struct aot_tree best, *out = growing->tree;
    int count = growing_first(growing, STARTS, splits);
    growing_plant(growing, NULL);
    double reached = grow_enough(growing, data, used, least);
    best = *out;
    for (int i = 0; i < count; i++) {
        growing_plant(growing, &splits[i]);
        double loss = grow_enough(growing, data, used, least);
        if (loss >= reached - alike)
            continue;
        reached = loss;
        best = *out;
    }
    *out = best;
}

void aot_grow(const struct aot_data *data, enum aot_goal goal, double threshold, const int *chosen, int chosen_count,
              struct aot_tree *tree) {
    bool *used = calloc((size_t)data->shape_count + 1, sizeof *used),
         *others = calloc((size_t)data->shape_count + 1, sizeof *used);
    struct growing growing = {
        .goal = goal, .threshold = threshold, .chosen = chosen, .chosen_count = chosen_count, .tree = tree};
    int learnt = 0;
    *tree = (struct aot_tree){.node_count = 1, .leaf_count = 1, .nodes = {{.feature = -1, .config = chosen[0]}}};
    for (int i = 0; i < data->shape_count; i++)
        learnt += is_learnt(data, i);
    if (used && others && learnt > 0) {
        int least = count_leaves(&growing, data, learnt, used, others);
        for (int i = 0; i < data->shape_count; i++)
            used[i] = is_learnt(data, i);
        if (growing_begin(&growing, data, used))
            grow_best(&growing, data, used, least);
        growing_end(&growing);
    }
    free(used);
    free(others);
}
