// SPDX-License-Identifier: Apache-2.0
// Ahead of time: from a list of shapes to a heuristic file.
//   aot_tree.c    which configs, and the tree that chooses among them, from measured times
//   aot_points.c  points around the shapes that were measured
//   aot_shapes.c  the list of shapes        aot_folder.c  what phases leave for each other
//   aot_job.h     the phases
// Private to runtime/.
#ifndef TILEC_RUNTIME_AOT_H
#define TILEC_RUNTIME_AOT_H

#include "runtime/data.h"
#include "runtime/heuristic.h"
#include "runtime/runtime.h"

// ---------------------------------------------------------------------------------------- the tree (aot_tree.c)

enum aot_goal { GOAL_MAX, GOAL_GEOMEAN };

// What was measured, and what the host knows of each shape.
struct aot_data {
    int shape_count, config_count, feature_count;
    const double *slowdown;  // [shape * config_count + config]: time over that of the shape's best; INFINITY: none
    const double *features;  // [shape * feature_count + feature]
    const bool *held_out;    // by shape: not learnt from; NULL: none is
    const bool *told;        // by feature: infinite for callers who don't tell the longest row; NULL: none is
    // Shapes around the measured ones, that nobody measured: 0: none.
    int around_count;
    const double *around;  // [point * feature_count + feature]
    const int *around_of;  // by point: the measured shape
    // What configs cost by reckoning, logarithms of times, of shapes and of points around: [… * config_count + config].
    // NULL: not reckoned.
    const double *cost, *around_cost;
};

// How bad choices are: the worst slowdown, and the sum of the logarithms of all.
struct aot_cost {
    double worst, sum;
    int count;
};
double aot_geomean(const struct aot_cost *cost);
// Of one config for each shape; `learnt`: those that aren't held out, else those that are.
struct aot_cost aot_cost_of(const struct aot_data *data, const int *choices, bool learnt);

// What may be chosen for a shape, at least 1; what can't be had is a million times slower.
double aot_slowdown(const struct aot_data *data, int shape, int config);

// The shapes that a tree is grown from, and points around them (aot_points.c).
struct aot_points {
    int real, count;  // the first are shapes
    int feature_count, config_count;
    double *features;  // [point * feature_count + feature]
    double *logs;      // [point * config_count + config]: of slowdowns
    int *of;           // by shape among them: its place in the data
    double *weights;   // by point, of its slowdowns: of a shape 1
};
bool aot_points_make(const struct aot_data *data, const bool *used, struct aot_points *points);  // false: no memory
void aot_points_free(struct aot_points *points);

struct aot_tree {
    int node_count, leaf_count;
    struct heuristic_node nodes[HEURISTIC_NODES];  // features and configs are those of the data
};
// The fewest configs, found one by one, with which the goal is within the threshold (1.1: at most 10% slower), at most
// `most`: indices in `chosen`, which has room for `most`. Returns how many; 0 if there is no shape to learn from.
int aot_choose_configs(const struct aot_data *data, enum aot_goal goal, double threshold, int most, int *chosen);
// What it costs if each shape that is learnt from gets the best of these: no tree over them does better.
struct aot_cost aot_cover(const struct aot_data *data, const int *chosen, int count);
// A tree over these configs that keeps slowdowns small, not mislabelled shapes few. Its number of leaves is found by
// cross-validation, but is enough for the threshold.
void aot_grow(const struct aot_data *data, enum aot_goal goal, double threshold, const int *chosen, int chosen_count,
              struct aot_tree *tree);
int aot_tree_choose(const struct aot_tree *tree, const double *features);  // a config

// ---------------------------------------------------------------------------------------- shapes (aot_shapes.c)

// One of the list: arguments, dimensions and types as on the command line of `tilec run`.
struct aot_shape {
    const char *name;
    bool held_out;  // judged by, not learnt from
    struct tilec_run_options run;
    const char *hash;  // of all this, the program and the target
    const struct ir_kernel *kernel;
    const int64_t *dims;
    int64_t longest;          // -1: not known
    struct config_data data;  // what the default config is made for
};
struct aot_shapes {
    int count;
    struct aot_shape *items;
};
// A JSON array of {"name", "args", "dims", "types", "held_out"}, all but one of the last four optional; `common` comes
// before each. Not ok: usage.shapes with the place in the list.
struct status aot_shapes_read(struct arena *arena, const char *path, const struct tilec_run_options *common,
                              struct aot_shapes *shapes);
// What the host knows of each: its kernel, dimensions, longest row. Makes no data but what gives rows. Not ok: what
// binding says, behind the shape's name.
struct status aot_shapes_bind(struct arena *arena, const tilec_program *program, const char *target,
                              struct aot_shapes *shapes, struct diagnostics *diagnostics);

// ---------------------------------------------------------------------------------------- the run folder
// (aot_folder.c)

enum { FOUND_MOST = 3 };

// What a search found for a shape: the best config, and others that are nearly as good.
struct aot_found {
    bool known;          // it was searched for
    const char *device;  // on this
    int count;           // how many were ok that are kept
    const char *configs[FOUND_MOST];  // each in one line, the best first
};
const char *aot_file(struct arena *arena, const char *folder, const char *phase, int shape, const char *ending);
struct status aot_make_folders(struct arena *arena, const char *folder);
struct aot_found aot_found_read(struct arena *arena, const char *folder, int index, const struct aot_shape *shape);
struct status aot_found_save(struct arena *arena, const char *folder, int index, const struct aot_shape *shape,
                             const struct aot_found *found);

// The configs that are measured: each once; what only held-out shapes gave isn't to be chosen.
struct aot_list {
    int count, limit;
    const char **texts;
    bool *choosable;
    const char *hash;
};
// Where it is in the list; -1 where there is no room.
int aot_list_add(struct arena *arena, struct aot_list *list, const char *text, bool choosable);
struct status aot_list_save(struct arena *arena, const char *path, struct aot_list *list);  // sets its hash
// Times of the list's configs on a shape, INFINITY where one isn't right, NAN where it wasn't measured; and the device
// that they are of, NULL where none was.
const char *aot_times_read(struct arena *arena, const char *folder, int index, const struct aot_shape *shape,
                           const struct aot_list *list, double *milliseconds);
struct status aot_times_save(struct arena *arena, const char *folder, int index, const struct aot_shape *shape,
                             const char *device, const struct aot_list *list, const double *milliseconds);

#endif
