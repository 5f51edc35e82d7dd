// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory and products on the matrix units (matmul.c).
#ifndef TILEC_CODEGEN_MATMUL_H
#define TILEC_CODEGEN_MATMUL_H

#include "codegen/emitter.h"

bool is_staged(const struct ir_op *op);
// Notes which values only the places of staged tiles ask for. Once, before anything is written.
void find_tile_values(struct emitter *emitter, const struct ir_region *region);
// No thread asks for its own position on the axis: it is there for tiles alone.
bool is_only_staged(const struct emitter *emitter, int axis);
// Copies tiles that are ready at one place, between barriers.
void write_tiles(struct emitter *emitter, struct ir_op *const *loads, int count);
// Where a loop's tiles are copied ahead: the first of them, before the loop, from `lo` on; NULL: none are.
struct ring *start_ring(struct emitter *emitter, const struct ir_op *loop, const char *lo, const char *hi);
// At the start of the loop's body, whose tile begins at `base`.
void turn_ring(struct ring *ring, const char *base);
bool sums_in_place(const struct emitter *emitter, const struct ir_op *op);
void write_mma(struct emitter *emitter, const struct ir_op *op);

#endif
