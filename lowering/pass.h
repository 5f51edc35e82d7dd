// SPDX-License-Identifier: Apache-2.0
// What every pass of lowering/ sees: the program so far, the layouts, and how to refuse.
#ifndef TILEC_LOWERING_PASS_H
#define TILEC_LOWERING_PASS_H

#include "lowering/lowering.h"

struct grid_place {  // an axis that a strategy has added, beside or instead of one that the config has in its grid
    const char *of, *name;
    bool instead;
};

struct pass_context {
    struct lowered *out;
    struct ir_kernel *kernel;  // == out->kernel
    struct arena *arena;
    const struct config *config;
    struct status status;      // set by `refuse`
    const char *cluster_name;  // of the axis that the blocks of a cluster share; NULL: there is none
    // Of strategies, which add axes to the config for each nest that they split (apart.c):
    const struct config *asked;  // before that; NULL: nothing has been added
    int mesh_count;
    int place_count, place_capacity;
    struct grid_place *places;
};

// Each pass changes the program in place and returns false if it refused (status is set then).
bool lower_checks(struct pass_context *context);
bool opt_moments(struct pass_context *context);
bool lower_strategy(struct pass_context *context);
bool lower_layout(struct pass_context *context);
bool lower_jagged(struct pass_context *context);
bool lower_blocks(struct pass_context *context);
bool lower_schedule(struct pass_context *context);
bool opt_peel(struct pass_context *context);
bool lower_masks(struct pass_context *context);
bool lower_matmul(struct pass_context *context);
bool lower_stages(struct pass_context *context);
bool lower_producer(struct pass_context *context);
bool lower_slabs(struct pass_context *context);
bool opt_rough(struct pass_context *context);
bool opt_simplify(struct pass_context *context);
bool opt_divide(struct pass_context *context);
bool opt_hoist(struct pass_context *context);
bool opt_late(struct pass_context *context);
bool lower_index(struct pass_context *context);

// Refuses the config: code is static text "lowering.…", the reason is formatted into the arena. Returns false.
bool refuse(struct pass_context *context, const char *code, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// The amax of a jagged loop is a REDUCE whose `integer` is 1: more than the greatest length of the active rows would do.
// Moves what the bounds of loops on the grid are made of to the top, in front of all loops (schedule.c).
void raise_grid_bounds(struct pass_context *context);
// Whether the tiles of an inner loop may be run by blocks of their own (schedule.c).
bool may_spread(const struct ir_kernel *kernel, const struct ir_op *loop);
// How many accesses are contiguous along each axis: their last index moves by one with it (layout.c).
void count_contiguous(struct ir_kernel *kernel, int counts[IR_MAX_AXES]);

// Whether the value grows by exactly one along the axis (layout.c).
bool moves_by_one(const struct ir_value *value, int axis);

bool is_outside(const struct ir_value *value, const struct ir_op *loop);  // it is computed in no body of the loop (hoist.c)
// Whether the loop's axis is a summand of an index of some access in its body (index.c).
bool indexes_tensor(const struct ir_kernel *kernel, struct ir_op *loop);

// ------------------------------------------------------------------------------------------ walking (walk.c)

// Calls `visit` on every operation of the region and of those below it, an operation before its regions. The visitor
// may remove the operation it is given and insert others before it.
void walk_ops(struct ir_region *region, void (*visit)(void *data, struct ir_op *op), void *data);
// How often each value (by id) is used as an operand; kernel->value_count entries. Extents, fills and bounds of axes count.
int *count_uses(struct arena *arena, const struct ir_kernel *kernel);
axes_t axes_of_operands(const struct ir_op *op);  // the union
// Gives every element-wise operation and load the union of its operands' axes again.
void infer_axes(struct ir_kernel *kernel);
// Keeps the points at which atomics and prints happen where a pass takes axes from their operands (points.c): the first
// before it, the second behind it. `gone` are axes that have one point now, and are no axes any more.
void note_points(struct ir_kernel *kernel);
void keep_points(struct ir_kernel *kernel, axes_t gone);
bool is_constant(const struct ir_value *value);                       // a CONST of any type
bool is_integer_constant(const struct ir_value *value, int64_t *out); // a CONST of an integer type or bool
bool is_inside(const struct ir_op *op, const struct ir_region *region);  // anywhere below
bool contains_code(const struct ir_region *region, enum ir_opcode code);
bool region_has_effects(const struct ir_region *region);  // a store, an atomic, an assert or a print, anywhere below
struct ir_builder builder_before(struct ir_kernel *kernel, struct ir_op *op);
struct ir_builder builder_at_start(struct ir_kernel *kernel, struct ir_region *region, const struct ir_op *like);
bool is_stored(const struct ir_kernel *kernel, int param);  // stored to or updated atomically anywhere
// The identity of a reduction in a type, as a constant.
struct ir_value *identity_constant(struct ir_builder *builder, enum ir_reduction reduction, enum ir_type type);
bool is_identity(const struct ir_value *constant, enum ir_reduction reduction);
// The reduction that an element-wise operation of two operands is a step of (ADD: SUM), or RED_COUNT.
enum ir_reduction reduction_of(enum ir_opcode code);
enum ir_opcode opcode_of(enum ir_reduction reduction);

// Folds an operation whose operands are all constants into a new constant before it; NULL if it can't be.
struct ir_value *fold_constant(struct ir_builder *builder, const struct ir_op *op, struct ir_value *const *operands);

#endif
