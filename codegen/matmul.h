// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory and products on the matrix units (matmul.c).
#ifndef TILEC_CODEGEN_MATMUL_H
#define TILEC_CODEGEN_MATMUL_H

#include "codegen/emitter.h"

enum { CELL_BYTES = 16, CELL_ELEMENTS = 8, PANEL_ROW = 128, PANEL_CELLS_WIDE = 64 };

struct tile {
    int outer, inner;  // axes; memory is contiguous along the inner one
    int rows, columns;
    int cell;  // elements of 16 bytes
};

struct factors {  // of one mma
    const struct ir_op *op;
    int rows, columns, summed;  // axes
    const char *row, *column, *depth;  // loop variables: pairs of row registers, column registers, steps of 16
    bool fresh;                        // by groups: the sum starts from 0, and its registers hold nothing yet
};

// Products are made by groups of four warps (wgmma.c). Their tiles are in panels of 64 elements, which are 128 bytes wide.
bool has_groups(const struct emitter *emitter);
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
// Zeros that a group's product starts from: they are nowhere, its first instruction takes them for granted.
bool is_fresh_start(const struct emitter *emitter, const struct ir_op *op);
bool sums_in_place(const struct emitter *emitter, const struct ir_op *op);
void write_mma(struct emitter *emitter, const struct ir_op *op);

// ------------------------------------------------------------------------------------------ producers (producer.c)

// Both parts of a launch whose tiles warps of their own copy; `tile` writes what is done with tile `number` of the grid.
void write_parts(struct emitter *emitter, const struct produced *produced, void (*tile)(void *data, const char *number), void *data);
// A launch of its own, or the end of the one before, makes the maps and begins to count.
void write_maps(struct emitter *emitter, const struct produced *produced);
const char *producer_helper(struct emitter *emitter, const char *name);  // the text (producer_helpers.c), or NULL
int producing_threads(void);
bool is_left_out(const struct emitter *emitter, const struct ir_op *op);  // of the part that is being written
bool is_carried_here(const struct emitter *emitter, const struct ir_value *result);
bool has_mapped(const struct ir_op *op);

// One thread sends for the tile, to the place `to`, whose barrier is `phase`; or all producing threads copy it.
void send_boxes(struct emitter *emitter, const struct ir_op *load, const char *to, const char *phase);
bool copies_run_ahead(const struct emitter *emitter, const struct ir_op *load);  // they tell the barrier themselves
void copy_tile(struct emitter *emitter, const struct ir_op *load, const char *to, const char *phase);

struct deliveries {  // of a region's own operations
    int count, capacity;
    struct delivery **items;
};
struct deliveries begin_deliveries(struct emitter *emitter, struct ir_op *const *ops, int count);
// Operations `from` up to `to` have been written.
void pass_deliveries(struct emitter *emitter, const struct deliveries *all, int from, int to);
void await_operands(struct emitter *emitter, const struct ir_op *product);
void free_operands(struct emitter *emitter, const struct ir_op *product);
void hold(struct emitter *emitter, const struct ir_value *sum);  // wgmma.c
// Whether the loop's second product is sent for in the next turn, behind that one's first (note [late]).
bool has_late(const struct emitter *emitter, const struct ir_op *loop);
void start_late(struct emitter *emitter, const struct ir_op *loop);           // in front of such a loop
void end_late(struct emitter *emitter);                                       // behind it
bool is_late(const struct emitter *emitter, const struct ir_op *product);     // it is left for the next turn
bool meets_late(const struct emitter *emitter, const struct ir_op *product);  // one has been left when this one is sent for
const char *begin_leaving(struct emitter *emitter);  // where its computed operand is to be packed
void leave_late(struct emitter *emitter);
void leave_out(struct emitter *emitter, const struct ir_op *loop, const char *base);  // of the tile at `base`, what weighs 0
bool takes_turns(const struct emitter *emitter, const struct ir_op *product);
void await_turn(struct emitter *emitter, const struct ir_op *product);  // of loops with late products (note [turns])
void end_turn(struct emitter *emitter, const struct ir_op *product);
void first_turn(struct emitter *emitter);  // before any
void send_late(struct emitter *emitter);
// Puts an operand of rows from its tile into registers, if it is for products of inner loops and few; the variable's name,
// or NULL. By groups of warps (wgmma.c), as are: the variable for the packed operand; the instructions, of what has been packed and come.
const char *keep_rows(struct emitter *emitter, const struct ir_value *staged);
void declare_group_rows(struct emitter *emitter, const struct ir_op *product, const char *name);
void send_group_product(struct emitter *emitter, const struct ir_op *product, const char *rows);

// ------------------------------------------------------------------------------------------ slabs (slab.c)

// As write_parts, of a launch in which a warp copies slabs; `tile` writes what is done with row `number`.
void write_slab_parts(struct emitter *emitter, const struct produced *produced, void (*tile)(void *data, const char *number),
                      void *data);
bool in_slab_launch(const struct emitter *emitter);
int copying_threads(const struct produced *produced);
// Around a loop, and at the start and the end of its body.
void begin_slab_loop(struct emitter *emitter, const struct ir_op *loop);
void begin_slab_tile(struct emitter *emitter, const struct ir_op *loop);
void end_slab_tile(struct emitter *emitter, const struct ir_op *loop);
void end_slab_loop(struct emitter *emitter, const struct ir_op *loop);
bool has_slab_loop(const struct emitter *emitter, const struct ir_op *op);  // it is one, or has one inside
bool is_in_slab(const struct emitter *emitter, const struct ir_op *load);  // it takes from a tile that has been copied
const char *slab_address(struct emitter *emitter, const struct ir_op *load);
// The name of a reduction's helper: where a part of the block's warps calls it, that part's.
const char *part_helper(struct emitter *emitter, const char *name);
void write_part_meeting(struct emitter *emitter);
const char *slab_helper(struct emitter *emitter, const char *name);  // the text (slab_helpers.c), or NULL

// ------------------------------------------------------------------------------------------ stores (quad.c)

// Whether the store, in a group with these loops, is made of 16 bytes by every thread behind the loops.
bool is_quad_store(struct emitter *emitter, const struct ir_op *op, const struct dims *dims);
const char *declare_quads(struct emitter *emitter, const struct dims *dims);  // before the loops; returns the words' name
void keep_pair(struct emitter *emitter, const struct ir_op *op, const struct dims *dims, const char *words, const char *pair);
void write_quads(struct emitter *emitter, const struct ir_op *op, const struct dims *dims, const char *words);

// ------------------------------------------------------------------------------------------ shared by the files

void open_count(struct emitter *emitter, const char *name, int count, int step);
struct tile tile_of(const struct emitter *emitter, const struct ir_op *load);
int64_t tile_bytes(const struct emitter *emitter, const struct ir_op *load);
const char *tile_text(struct emitter *emitter, const struct ir_value *staged);
int cells_of(const struct tile *tile);
const struct axis_layout *layout_of(const struct emitter *emitter, int axis);
// The text of one element of a value in registers: register `number` of the axis; register `column` and vector element
// `which` of the columns.
const char *element_text(struct emitter *emitter, const struct ir_value *value, int axis, const char *number,
                         int columns, const char *column, const char *which);
// Packs 16 by 16 elements of the computed operand into name[f->row].
void write_computed_rows(struct emitter *emitter, const struct factors *f, const char *name);
// The position on the axis is the tile's first point and `offset`, in place of the thread's own.
void set_place(struct emitter *emitter, int axis, const char *offset);
bool is_zero(const struct ir_value *value);
int row_blocks(const struct emitter *emitter, const struct factors *f);  // of 64 rows, that a group has
struct factors factors_of(struct emitter *emitter, const struct ir_op *product);
// The eight points that the thread's warp has in register `step` of an axis, or in the next one where `lane` is 1. The two
// share no bit: a sum is an exclusive or.
struct eight {
    const char *step, *lane;
};
struct eight eighth(struct emitter *emitter, int axis, const char *step, const char *lane);
// A step of a product of f32, 16 points deep (tf32.c).
void write_tf32_step(struct emitter *emitter, const struct factors *f);
int depth_steps(const struct emitter *emitter, const struct factors *f);
void write_group_product(struct emitter *emitter, const struct factors *f);

#endif
