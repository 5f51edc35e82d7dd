// SPDX-License-Identifier: Apache-2.0
// Products on the matrix units: which axes of a kernel play which part in them (matmul_axes.c).
//
// An instruction multiplies 16 rows by 16 of what is summed over, and that by 8 columns. In its result a row is a lane's
// upper three bits and a register bit, a column is two lane bits and a pair of registers; what is summed over lies in a
// row operand as columns do. So an axis is laid out as rows or as columns throughout, and the result of a product is a
// row operand of the next as it stands.
#ifndef TILEC_LOWERING_MATMUL_H
#define TILEC_LOWERING_MATMUL_H

#include "lowering/lowering.h"

enum {
    MATMUL_ROWS = 16,
    MATMUL_COLUMNS = 8,
    MATMUL_DEPTH = 16,  // points of the axis summed over
    ROW_LANES = 8,
    ROW_LANE_SHIFT = 2,
    COLUMN_LANES_OF_MATMUL = 4,
    COLUMN_VECTOR = 2,
    MATRIX_LANES = 32,
    GROUP_WARPS = 4,      // that make a product together (DOT_WGMMA)
    GROUP_COLUMNS = 256,  // at most
    GROUP_CELLS = 64,     // elements along memory that their tiles are multiples of
};

enum matmul_role { ROLE_NONE, ROLE_ROWS, ROLE_COLUMNS };

struct matmul_axes {
    int count;  // of products
    enum matmul_role roles[IR_MAX_AXES];
    bool summed[IR_MAX_AXES];  // by at least one product; laid out as columns are
};

// Looks at every `dot` of the kernel. Axes of one name have one role; those with blocks of one point have none. Not ok,
// with code "lowering.mma-…", reason and place, if the products can't be done on the matrix units with these blocks.
struct status matmul_axes(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                          struct matmul_axes *axes);
// Whether a config with the matrix units could be drawn for the kernel: it has products of f16 or bf16.
bool may_multiply(const struct ir_kernel *kernel);
// Whether products go to the matrix units in this lowering.
bool uses_matrix_units(const struct config *config, const struct target *target);
// Whether warps of their own copy tiles in this lowering: with tensors that lie anywhere, or indices of 64 bits, all threads
// do, whatever the config says.
bool uses_producers(const struct config *config, const struct lower_options *options);
// The same of slabs.
bool uses_slabs(const struct config *config, const struct lower_options *options);
// Shared memory that a launch's tiles take, in bytes, with so many stages.
int64_t produced_bytes(const struct produced *produced, int stages);
// Lanes, vectors, warps and blocks are those that the roles want.
struct status matmul_check(struct arena *arena, const struct ir_kernel *kernel, const struct config *config);
// Makes a config one for the matrix units: dot, the lanes and vectors of every role, the least blocks that fit its warps
// (but full axes keep theirs), and blocks of 1 where both operands of a product have an axis. False, and the config as it
// was, if the kernel's products don't allow it.
bool matmul_shape(struct arena *arena, const struct ir_kernel *kernel, struct config *config);

// `config`, with blocks for products on the matrix units of a GPU of the architecture; NULL if the kernel can't be lowered
// with them.
struct config *config_for_products(struct arena *arena, const struct ir_kernel *kernel, const struct config *config, int sm);
// Makes a config for the matrix units one for groups of warps: blocks of 64, four warps along rows. False, and the config as
// it was, if that doesn't fit its full axes.
bool matmul_groups(struct arena *arena, const struct ir_kernel *kernel, struct config *config);

#endif
