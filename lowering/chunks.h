// SPDX-License-Identifier: Apache-2.0
// What recognizing a nest that can be split (strategy.c) hands to splitting it (chunks.c).
#ifndef TILEC_LOWERING_CHUNKS_H
#define TILEC_LOWERING_CHUNKS_H

#include "lowering/pass.h"
#include "lowering/rescaled.h"

enum { MAX_PHASES = 8, MAX_CARRIED = 16 };

// How the carried values of a loop's pieces are joined.
enum join {
    JOIN_EACH,      // every value by its own reduction
    JOIN_RESCALED,  // a running maximum, and a sum that is rescaled whenever it grows (online softmax)
};

struct phase {          // a jagged loop along the rows
    struct ir_op *loop;
    enum join join;
    enum ir_reduction reductions[MAX_CARRIED];
    struct rescaled pair;              // JOIN_RESCALED
    int partials[MAX_CARRIED], kept[MAX_CARRIED];  // workspace parameters
    bool keeps;         // later launches need the results
};

struct splitter {
    struct pass_context *context;
    struct ir_kernel *kernel;
    struct ir_op *top;   // the loop over rows
    int row_axis;
    int offsets;         // parameter: row r is [offsets[r], offsets[r + 1])
    int64_t chunk;
    int phase_count;
    struct phase phases[MAX_PHASES];
    bool effects_last;   // effects outside of the phases' loops want a launch of their own, at the end
    struct ir_value *rows, *chunks;            // numbers at the front of the kernel
    struct ir_value *extent[IR_MAX_AXES];      // of the axes that results are on
    int row_of;          // workspace parameter
};

struct copying {
    struct ir_map *map;
    int axis[IR_MAX_AXES];  // old to new
};

struct launch {
    int phase;
    bool over_rows, effects;
    int axis;
    struct ir_value *index, *row, *begin;
    struct copying copying;
};

bool split_into_chunks(struct splitter *splitter);
bool is_around_phases(const struct splitter *splitter, const struct ir_op *op);
// next[i] from arguments[i] and the partials loaded[i], reduced over the axis. The map says what became of values around
// the phase's loop.
void join_partials(struct splitter *splitter, struct ir_map *map, struct ir_builder *builder, const struct phase *phase, axes_t over,
                   struct ir_value *const *arguments, struct ir_value *const *loaded, struct ir_value **next);

#endif
