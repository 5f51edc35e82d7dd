// SPDX-License-Identifier: Apache-2.0
// What the files of launches with producers share (producer.c, producer_tiles.c, late.c).
#ifndef TILEC_CODEGEN_PRODUCER_H
#define TILEC_CODEGEN_PRODUCER_H

#include "codegen/matmul.h"

enum {
    RINGS_AT = 64,  // in the page before the tiles: behind the barriers of the numbers of tiles
    PHASE_BYTES = 8,
};

// Tiles that are needed together, again and again: `places` for them in turn.
struct ring {
    int ordinal, places, number;
    bool inner;
    int64_t bytes, start;
    int phases;                // where its barriers are: of full places, then of free ones
    const char *place, *turn;  // variables: the next place, and whether the round is an odd one
};

// Loads of one region that the same products need.
struct delivery {
    struct ring *ring;
    int count;
    struct ir_op *loads[4];
    int first, last;   // of the operations of the region: behind the first all loads are known, the last uses one
    bool here;         // their products stand in the same region
    bool kept;         // all of it is in registers: its place is free at once
    const char *free;  // variable: the barrier of its place
};

// note [late] A loop's second product waits for what is made of the first one's result. So a turn sends for its own
// first product, then for the second one of the turn before, and while that is under way makes the operand of its own.
struct late {
    const struct ir_op *product;
    const char *rows, *tile,
        *free;  // variables: the computed operand, packed; where the other one is; the barrier of its place
    const char *full, *turn;            // and that it has come
    const struct ring *first, *second;  // of the two products' tiles
    bool begun;                         // a turn before has left one
};

// Where the load's products stand, if in one region; else NULL.
const struct ir_region *home_of(const struct emitter *emitter, const struct ir_op *load);
// Address of the barrier of the ring's next place: that it is full, or free.
const char *phase_text(struct emitter *emitter, const struct ring *ring, bool free);
void advance(struct emitter *emitter, const struct ring *ring);  // to the next place
void arrive(struct emitter *emitter, const char *phase);         // a warp is through with the barrier's place
struct delivery *delivery_of(const struct emitter *emitter, const struct ir_value *operand);
void see_copies(struct emitter *emitter);
int groups_of(const struct emitter *emitter);

#endif
