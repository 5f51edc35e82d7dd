// SPDX-License-Identifier: Apache-2.0
// Ahead of time, on made-up times: which configs are chosen, and what the tree makes of them. The right answers are
// known.
#include <math.h>
#include <stdlib.h>

#include "runtime/aot_grow.h"
#include "tests/unit.h"

enum { SHAPES = 24, CONFIGS = 4, FEATURES = 2 };

struct made {
    double slowdown[SHAPES * CONFIGS], features[SHAPES * FEATURES];
    bool held_out[SHAPES];
    struct aot_data data;
};

static void make(struct made *made, int shapes, int configs) {
    *made = (struct made){0};
    made->data = (struct aot_data){.shape_count = shapes, .config_count = configs, .feature_count = FEATURES,
                                    .slowdown = made->slowdown, .features = made->features, .held_out = made->held_out};
    for (int i = 0; i < shapes; i++)
        made->features[i * FEATURES + 1] = (i * 7) % 5;  // says nothing
}

static int choose(const struct made *made, const struct aot_tree *tree, int shape) {
    return aot_tree_choose(tree, &made->features[shape * FEATURES]);
}

static struct aot_cost cost_of(const struct made *made, const struct aot_tree *tree, bool learnt) {
    int choices[SHAPES];
    for (int i = 0; i < made->data.shape_count; i++)
        choices[i] = choose(made, tree, i);
    return aot_cost_of(&made->data, choices, learnt);
}

// Below 100 the one, from there on the other: a question between the two neighbours, and no more than that.
static void one_question(struct unit *unit) {
    static const int chosen[] = {0, 1};
    struct made made;
    struct aot_tree tree;
    make(&made, 12, 2);
    for (int i = 0; i < 12; i++) {
        made.features[i * FEATURES] = i < 6 ? 10 + i : 1000 + i;
        made.slowdown[2 * i + (i < 6)] = 3;
        made.slowdown[2 * i + (i >= 6)] = 1;
    }
    aot_grow(&made.data, GOAL_MAX, 1.1, chosen, 2, &tree);
    CHECK_NUMBER(unit, tree.leaf_count, 2);
    CHECK_NUMBER(unit, tree.nodes[0].feature, 0);
    CHECK(unit, tree.nodes[0].below > 15 && tree.nodes[0].below < 1000);
    for (int i = 0; i < 12; i++)
        CHECK_NUMBER(unit, choose(&made, &tree, i), i >= 6);
}

// Config 0 is the best of nine shapes in ten, by a thousandth; for the tenth it takes ten times as long. Who counts
// labels takes it everywhere; who counts time takes the other.
static void time_not_labels(struct unit *unit) {
    static const int chosen[] = {0, 1};
    struct made made;
    struct aot_tree tree;
    for (int goal = GOAL_MAX; goal <= GOAL_GEOMEAN; goal++) {
        make(&made, 20, 2);
        for (int i = 0; i < 20; i++) {
            made.features[i * FEATURES] = 5;  // no question tells them apart
            made.features[i * FEATURES + 1] = 5;
            made.slowdown[2 * i] = i % 10 == 9 ? 10 : 1;
            made.slowdown[2 * i + 1] = i % 10 == 9 ? 1 : 1.001;
        }
        aot_grow(&made.data, (enum aot_goal)goal, 1.1, chosen, 2, &tree);
        CHECK_NUMBER(unit, tree.leaf_count, 1);
        CHECK_NUMBER(unit, choose(&made, &tree, 0), 1);
        CHECK(unit, cost_of(&made, &tree, true).worst < 1.01);
    }
}

// What looks like a rule in one shape is none: the feature that says nothing is asked only where time is lost without.
static void no_question_for_nothing(struct unit *unit) {
    static const int chosen[] = {0, 1};
    struct made made;
    struct aot_tree tree;
    make(&made, 20, 2);
    for (int i = 0; i < 20; i++) {
        made.features[i * FEATURES] = (i * 11) % 20;
        made.slowdown[2 * i] = i % 2 ? 1.0005 : 1;
        made.slowdown[2 * i + 1] = i % 2 ? 1 : 1.0005;
    }
    aot_grow(&made.data, GOAL_MAX, 1.1, chosen, 2, &tree);
    CHECK(unit, tree.leaf_count <= 3);
    CHECK(unit, cost_of(&made, &tree, true).worst <= 1.0005);
}

static void fewest_configs(struct unit *unit) {
    int chosen[CONFIGS];
    struct made made;
    make(&made, 12, 4);
    for (int i = 0; i < 12; i++) {
        made.slowdown[4 * i + 0] = i < 4 ? 1 : 2;
        made.slowdown[4 * i + 1] = i >= 4 && i < 8 ? 1 : 2;
        made.slowdown[4 * i + 2] = i >= 8 ? 1 : 2;
        made.slowdown[4 * i + 3] = 1.08;  // never the best, good enough everywhere
    }
    CHECK_NUMBER(unit, aot_choose_configs(&made.data, GOAL_MAX, 1.1, 10, chosen), 1);
    CHECK_NUMBER(unit, chosen[0], 3);
    CHECK_NUMBER(unit, aot_choose_configs(&made.data, GOAL_MAX, 1.01, 10, chosen), 3);  // without what was best alone
    CHECK(unit, chosen[0] != 3 && chosen[1] != 3 && chosen[2] != 3);
    CHECK_NUMBER(unit, aot_choose_configs(&made.data, GOAL_MAX, 1.01, 2, chosen), 2);
    CHECK_NUMBER(unit, aot_choose_configs(&made.data, GOAL_GEOMEAN, 1.08, 10, chosen), 1);
}

// A config that isn't right for a shape is worse than any that is.
static void what_cannot_be_had(struct unit *unit) {
    int chosen[CONFIGS];
    struct made made;
    struct aot_tree tree;
    make(&made, 8, 2);
    for (int i = 0; i < 8; i++) {
        made.features[i * FEATURES] = 1;
        made.features[i * FEATURES + 1] = 1;
        made.slowdown[2 * i] = i == 3 ? INFINITY : 1;
        made.slowdown[2 * i + 1] = i == 3 ? 1 : 5;
    }
    int count = aot_choose_configs(&made.data, GOAL_GEOMEAN, 1.1, 10, chosen);
    CHECK_NUMBER(unit, count, 2);
    aot_grow(&made.data, GOAL_GEOMEAN, 1.1, chosen, count, &tree);
    CHECK_NUMBER(unit, choose(&made, &tree, 3), 1);
}

// Held-out shapes are not learnt from, and follow the rule all the same.
static void held_out(struct unit *unit) {
    static const int chosen[] = {0, 1, 2};
    struct made made;
    struct aot_tree tree;
    make(&made, 24, 3);
    for (int i = 0; i < 24; i++) {
        int right = i / 8;
        made.features[i * FEATURES] = pow(2, i);
        made.held_out[i] = i % 3 == 1;
        for (int j = 0; j < 3; j++)
            made.slowdown[3 * i + j] = j == right ? 1 : made.held_out[i] && j == 0 ? 0.5 : 4;
    }
    aot_grow(&made.data, GOAL_MAX, 1.1, chosen, 3, &tree);
    CHECK_NUMBER(unit, tree.leaf_count, 3);
    struct aot_cost learnt = cost_of(&made, &tree, true), others = cost_of(&made, &tree, false);
    CHECK_NUMBER(unit, learnt.count, 16);
    CHECK_NUMBER(unit, others.count, 8);
    CHECK_NUMBER(unit, learnt.worst, 1);
    CHECK(unit, others.worst <= 4 && aot_geomean(&others) < 1.4);
}

// However many shapes want something else, there are at most fifteen answers.
static void at_most_fifteen(struct unit *unit) {
    enum { MANY = 60, FEW = 3 };
    static double slowdown[MANY * FEW], features[MANY];
    static const int chosen[] = {0, 1, 2};
    const struct aot_data data = {
        .shape_count = MANY, .config_count = FEW, .feature_count = 1, .slowdown = slowdown, .features = features};
    struct aot_tree tree;
    for (int i = 0; i < MANY; i++) {
        features[i] = i;
        for (int j = 0; j < FEW; j++)
            slowdown[i * FEW + j] = i % FEW == j ? 1 : 50;
    }
    aot_grow(&data, GOAL_MAX, 1.1, chosen, FEW, &tree);
    CHECK(unit, tree.leaf_count <= HEURISTIC_LEAVES && tree.node_count == 2 * tree.leaf_count - 1);
}

// Either feature tells the shapes apart. Around them the first one varies, and the second doesn't.
static void shapes_around(struct unit *unit) {
    static const int chosen[] = {0, 1}, of[] = {0, 0, 1, 1};
    static const double around[] = {90, 2, 6, 2, 11, 50, 150, 50};
    struct made made;
    struct aot_tree tree;
    make(&made, 2, 2);
    for (int i = 0; i < 2; i++) {
        made.features[i * FEATURES] = i ? 40 : 20;
        made.features[i * FEATURES + 1] = i ? 50 : 2;
        made.slowdown[2 * i + i] = 1;
        made.slowdown[2 * i + !i] = 5;
    }
    made.data.around_count = 4;
    made.data.around = around;
    made.data.around_of = of;
    aot_grow(&made.data, GOAL_MAX, 1.1, chosen, 2, &tree);
    CHECK_NUMBER(unit, tree.leaf_count, 2);
    CHECK_NUMBER(unit, tree.nodes[0].feature, 1);
}

// A point is like the shapes that it is near; a shape that isn't used has no say, and no points.
static void points(struct unit *unit) {
    static const int of[] = {0, 1, 2};
    static const double around[] = {10.5, 1, 990, 1, 10, 1};
    static const bool used[] = {true, true, false};
    struct made made;
    struct aot_points made_points;
    make(&made, 3, 1);
    for (int i = 0; i < 3; i++) {
        made.features[i * FEATURES] = i == 1 ? 1000 : 10;
        made.features[i * FEATURES + 1] = 1;
        made.slowdown[i] = i == 0 ? 1 : i == 1 ? 8 : 100;
    }
    made.data.around_count = 3;
    made.data.around = around;
    made.data.around_of = of;
    CHECK(unit, aot_points_make(&made.data, used, &made_points));
    CHECK_NUMBER(unit, made_points.real, 2);
    CHECK_NUMBER(unit, made_points.count, 4);
    CHECK(unit, made_points.logs[0] == 0 && fabs(exp(made_points.logs[1]) - 8) < 1e-9);
    CHECK(unit, exp(made_points.logs[2]) < 1.01 && exp(made_points.logs[3]) > 7.9);
    CHECK(unit, made_points.weights[0] == 1 && made_points.weights[2] == 0.5);  // two points, half as much as two shapes
    aot_points_free(&made_points);
}

// What is reckoned says how a config does far from all shapes: here the one that was the worse one where it was measured.
static void reckoned(struct unit *unit) {
    static const int of[] = {0};
    static const double around[] = {1000, 1}, around_cost[] = {8, 5};
    static const bool used[] = {true};
    static double cost[2] = {1, 3};
    struct made made;
    struct aot_points made_points;
    make(&made, 1, 2);
    made.features[0] = 10;
    made.features[1] = 1;
    made.slowdown[0] = 1;
    made.slowdown[1] = exp(1);  // two more were reckoned
    made.data.cost = cost;
    made.data.around_count = 1;
    made.data.around = around;
    made.data.around_of = of;
    made.data.around_cost = around_cost;
    CHECK(unit, aot_points_make(&made.data, used, &made_points));
    CHECK_NUMBER(unit, made_points.count, 2);
    CHECK(unit, fabs(made_points.logs[2] - 4) < 1e-9 && made_points.logs[3] == 0);
    aot_points_free(&made_points);
}

// Either feature tells the shapes apart, but not everybody tells the first one: then the second one is asked.
static void untold(struct unit *unit) {
    static const int chosen[] = {0, 1};
    static const bool told[] = {true, false};
    static const double unknown[] = {INFINITY, 2};
    struct made made;
    struct aot_tree tree;
    make(&made, 12, 2);
    for (int i = 0; i < 12; i++) {
        made.features[i * FEATURES] = made.features[i * FEATURES + 1] = i + 1;
        made.slowdown[2 * i + (i < 6)] = 3;
        made.slowdown[2 * i + (i >= 6)] = 1;
    }
    aot_grow(&made.data, GOAL_MAX, 1.1, chosen, 2, &tree);
    CHECK_NUMBER(unit, tree.nodes[0].feature, 0);
    made.data.told = told;
    aot_grow(&made.data, GOAL_MAX, 1.1, chosen, 2, &tree);
    CHECK_NUMBER(unit, tree.nodes[0].feature, 1);
    CHECK_NUMBER(unit, aot_tree_choose(&tree, unknown), 0);
    CHECK_NUMBER(unit, tree.leaf_count, 2);
}

// A tree whose question is about the feature that says nothing.
static void asked_anew(struct unit *unit) {
    static const int chosen[] = {0, 1};
    static const struct split wrong = {.feature = 1, .below = 2.5, .then = 0, .otherwise = 1};
    struct made made;
    struct aot_tree tree;
    bool used[SHAPES];
    struct growing growing = {.goal = GOAL_MAX, .threshold = 1.1, .chosen = chosen, .chosen_count = 2, .tree = &tree};
    make(&made, 12, 2);
    for (int i = 0; i < 12; i++) {
        used[i] = true;
        made.features[i * FEATURES] = i < 6 ? 10 + i : 1000 + i;
        made.slowdown[2 * i + (i < 6)] = 3;
        made.slowdown[2 * i + (i >= 6)] = 1;
    }
    CHECK(unit, growing_begin(&growing, &made.data, used));
    growing_plant(&growing, &wrong);
    double before = growing_loss(&growing), after = growing_polish(&growing);
    CHECK(unit, before > 1 && after == 0 && after == growing_loss(&growing));
    CHECK_NUMBER(unit, tree.leaf_count, 2);
    CHECK_NUMBER(unit, tree.nodes[0].feature, 0);
    for (int i = 0; i < 12; i++)
        CHECK_NUMBER(unit, choose(&made, &tree, i), i >= 6);
    growing_end(&growing);
}

int main(void) {
    static const struct unit_test tests[] = {
        {"one question", one_question},
        {"time counts, not labels", time_not_labels},
        {"no question for nothing", no_question_for_nothing},
        {"the fewest configs", fewest_configs},
        {"what can't be had", what_cannot_be_had},
        {"held-out shapes", held_out},
        {"at most fifteen answers", at_most_fifteen},
        {"shapes around", shapes_around},
        {"points are like what they are near", points},
        {"points are as they are reckoned", reckoned},
        {"what isn't told", untold},
        {"questions are asked anew", asked_anew},
    };
    return unit_run(tests, (int)(sizeof tests / sizeof *tests));
}
