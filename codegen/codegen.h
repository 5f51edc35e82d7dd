// SPDX-License-Identifier: Apache-2.0
// Lowered program to CUDA C (or C for the CPU) and a launch plan: the one public header of codegen/.
#ifndef TILEC_CODEGEN_CODEGEN_H
#define TILEC_CODEGEN_CODEGEN_H

#include "lowering/lowering.h"

// ARGUMENT_WORKSPACE: index is that of launch_plan.workspaces.
enum launch_argument_kind { ARGUMENT_TENSOR, ARGUMENT_SCALAR, ARGUMENT_DIM, ARGUMENT_WORKSPACE };
struct launch_argument {
    enum launch_argument_kind kind;
    int index;          // of the parameter, or of the dimension
    enum ir_type type;  // ARGUMENT_SCALAR: as declared (f16 and bf16 are passed as f32, bool and 8-bit ones as i32); ARGUMENT_DIM: i32 or i64
};

// One factor of a grid: the tiles of [lo, hi) at `block` points each. Both are host numbers of the lowered kernel.
// Where `elements_of` is a parameter (not NULL) the range is that of its elements.
struct launch_axis {
    const char *name;
    const struct ir_value *lo, *hi;
    const struct ir_param *elements_of;
    int64_t block;
};

struct launch_kernel {
    const char *name;             // symbol in the text; on the CPU NAME_run(long long blocks, void **arguments)
    int argument_count;
    struct launch_argument *arguments;
    int grid_count;
    struct launch_axis *grid;     // blocks = product of the tiles, one-dimensional; no launch if it is 0
    int threads;                  // per block
    int cluster;                  // blocks of a cluster; 1: none. The text says so itself, and the grid has it as a factor
    int64_t shared_bytes;         // dynamic; static shared memory is counted in static_shared_bytes
    int64_t static_shared_bytes;
};

struct launch_plan {
    int kernel_count;
    struct launch_kernel *kernels;  // run in this order on one stream
    bool index32;                   // demands: every extent and every tensor's count of elements is below 2^31
    uint64_t aligned;               // demands: bit p, parameter p's address is a multiple of 16
    uint64_t ascending;             // demands: bit p, parameter p (offsets) ascends; where it doesn't, use the strategy rows
    int workspace_count;            // device memory for the time of a run, with any contents, aligned to 16 bytes
    const struct ir_param **workspaces;
};

struct emitted {
    char *text;
    size_t length;
    struct launch_plan plan;
};

// Pure: the same lowered program gives the same bytes. `version` goes into the head comment.
// NULL with a reason in `status` (code "codegen.…").
struct emitted *emit(struct arena *arena, const struct lowered *lowered, const char *version, struct status *status);

// Bytes of a planned workspace for actual dimensions and scalars.
int64_t launch_workspace_bytes(const struct ir_param *workspace, const struct ir_bindings *bindings);

// The count of blocks of a planned kernel for actual dimensions and scalars.
int64_t launch_blocks(const struct launch_kernel *kernel, const struct ir_bindings *bindings);

#endif
