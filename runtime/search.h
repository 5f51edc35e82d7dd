// SPDX-License-Identifier: Apache-2.0
// What search.c (which configs there are to try), search_cost.c (what they cost by reckoning) and search_model.c (what the
// times so far say beside that) share.
#ifndef TILEC_RUNTIME_SEARCH_H
#define TILEC_RUNTIME_SEARCH_H

#include "runtime/tune.h"

enum { MODEL_FEATURES_MOST = 160, MODEL_ROWS_MOST = 512 };

// ---------------------------------------------------------------------------------------------- by reckoning (search_cost.c)

enum { COST_TILES = 14, COST_ACCESSES = 32 };
struct cost_axis {         // an axis of the kernel
    int config;            // its place in configs, by name
    int parent;            // the innermost; -1: none
    bool jagged;           // and its rows are known
    int64_t extent, rows;  // points, of a jagged one of the longest row; rows
    double total;          // points of all rows
    double longest[COST_TILES];  // the longest rows of all tiles of 2^k rows, added up
};
struct cost_access {       // a load or a store
    axes_t axes, around;   // that its place is on, parents included; these, and those of all loops around it
    int contiguous;        // the axis along which memory is; -1: none
    int param, bytes;      // of an element
    double points, share;  // different elements; how many of them come from memory
};
struct search_cost {
    int axis_count, name_count, access_count;
    double register_scale; // registers over those that are guessed, as far as rows tell
    double products;       // of all dots
    int cut;               // the jagged axis that pieces are of; -1: none
    int shared;            // the axis that the blocks of a cluster share, by name; -1: none
    bool keeps_tiles;      // a jagged loop reduces a tile that another reduction has read: all of it is in registers
    const char *names[IR_MAX_AXES];  // of configs' axes
    struct cost_axis axes[IR_MAX_AXES];
    struct cost_access accesses[COST_ACCESSES];
};
// NULL: nothing is known of the data, or it is a CPU.
struct search_cost *search_cost_new(struct arena *arena, const struct ir_kernel *kernel, const struct search_facts *facts);
// log2 of milliseconds. `registers` of a thread; 0: guessed.
double search_cost(const struct search_cost *cost, const struct config *config, double registers);
double search_cost_registers(const struct search_cost *cost, const struct config *config);  // the guess
// How much code it is, about: points of a thread's tiles, unrolled, and what is worked out for its rows.
double search_cost_points(const struct search_cost *cost, const struct config *config);
// Notes in each row what it would take by reckoning; nothing if that isn't known.
void search_reckon(struct arena *arena, const struct ir_kernel *kernel, const struct search_facts *facts, struct tune_rows *rows);

// ---------------------------------------------------------------------------------------------- by the times so far (search_model.c)

// What a config looks like in numbers: logarithms of its knobs, their sums (threads, elements per thread) and squares.
struct search_features {
    int count;
    double values[MODEL_FEATURES_MOST];
};
void search_describe(const struct config *config, struct search_features *features);

// log2 of the time of a config, learnt from the rows that have one.
struct search_model {
    struct search_cost *cost; // NULL: none
    int count;                // of rows that it has learnt from; 0: nothing yet
    int known;                // rows with a time when it did
    int size;                 // of features
    double *points, *matrix, *weights;  // by row
    double mean, spread;      // of the logarithms
    bool compiles_known;      // log2 of seconds to compile: compile_base + compile_slope log2(points), as far as rows tell
    double compile_base, compile_slope;
};
void search_learn(struct arena *arena, const struct tune_rows *rows, struct search_model *model);
double search_predict(const struct search_model *model, const struct config *config);
double search_compile_seconds(const struct search_model *model, const struct config *config);  // 0: not known
// How unpromising a config looks before anything is known: 0 is best.
double search_prior(const struct config *config, const struct search_facts *facts);

// ---------------------------------------------------------------------------------------------- a search (search.c)

struct search {
    struct arena *arena;
    const struct ir_kernel *kernel;
    struct search_facts facts;
    struct config_space *space;
    struct search_model model;
    double standard_cost;  // of the default config, by reckoning
    uint64_t state;
    // Texts of what was proposed, or was there: an open hash table.
    const char **seen;
    int seen_count, seen_size, rows_seen;
    int64_t whole;      // of a small space: how many there are; else 0
    int64_t place;      // how many of them were gone through
    int strategies;     // how many combinations of strategy and size of piece were
    int flavours;       // how many choices of single knobs were
    int neighbours;     // of the default config
};

// ---------------------------------------------------------------------------------------------- new configs of old ones (search_moves.c)

int search_draw_below(struct search *search, int count);  // 0 … count - 1, by chance
// A config with knobs set to choices of the space; NULL if that is no config. `choices` by knob, -1: as it is. What doesn't
// go with the strategy that comes out is left out, if `settle` says so.
struct config *search_with_choices(struct search *search, struct arena *arena, const struct config *config, const int *choices,
                                   bool settle);
struct config *search_move(struct search *search, struct arena *arena, const struct config *config);  // one to three knobs; NULL: none
// Axes of one parent or the other, the rest of the first.
struct config *search_cross(struct search *search, struct arena *arena, const struct config *a, const struct config *b);

#endif
