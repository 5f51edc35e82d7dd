// SPDX-License-Identifier: Apache-2.0
// Checked program to one thread mesh's work for one config: the one public header of lowering/.
#ifndef TILEC_LOWERING_LOWERING_H
#define TILEC_LOWERING_LOWERING_H

#include "ir/ir.h"

// ---------------------------------------------------------------------------------------------- configs (config.c, space.c)

// How one axis name is cut and dealt out. block = vector * lanes * warps * registers; all powers of two.
// Index bits of a tile, lowest first: vector, lane, warp, block of the cluster, register.
struct config_axis {
    const char *name;
    int block;    // points per tile; of a full axis the next power of two over its extent, never a choice
    int vector;   // neighbouring points per thread: 1 2 4 8
    int lanes;    // lanes of a warp along the axis; over all axes at most 32
    int warps;    // warps along the axis; over all axes at most 32
    int unroll;   // tiles of a loop over the axis per turn: 1 2 4
    int mesh;     // 0 in configs. Lowering adds axes for loops that stand apart, whose threads are dealt out anew: 1, 2, …
};

enum config_strategy {
    STRATEGY_ROWS,    // a tile of rows per block
    STRATEGY_CHUNKS,  // pieces of rows, of about equal work (chunks.c)
    STRATEGY_FLAT,    // equal shares of the packed elements per block, which walks the rows in its share (flat.c)
    STRATEGY_COUNT
};

enum config_dot {
    DOT_FMA,  // products by multiplications and additions, of any types and shapes
    DOT_MMA,    // on the matrix units: f16 and bf16 (matmul_axes.c says what it asks of the axes); of no effect on the CPU
    DOT_WGMMA,  // as MMA, by groups of four warps: sm_90a
    DOT_TF32,   // on the matrix units: f32, whose operands are rounded to ten bits behind the first
    DOT_COUNT
};

struct config {
    int axis_count;
    struct config_axis *axes;   // one per axis name of the kernel, in order of first appearance
    int grid_count;
    const char **grid;          // axis names spread over the grid, fastest first: every top loop's, and inner ones by choice
    enum config_strategy strategy;
    int chunk;                  // not STRATEGY_ROWS: points per chunk or share, a power of two; else 0
    bool search;                // not STRATEGY_ROWS: each block looks for its rows itself, not a launch before
    bool stage;                 // STRATEGY_FLAT: a share of numbers passes through shared memory (flat.c)
    bool bulk;                  // stage: the copy engine brings it there, while rows are looked up: sm_90
    enum config_dot dot;
    int producers;              // blocks of the grid, each with warps that copy for the others: with DOT_WGMMA tile after
                                // tile of the operands (producer.c), with DOT_FMA and STRATEGY_ROWS row after row of what
                                // is read along the rows (slab.c); 0: a block for each tile, whose threads all copy
    int stages;                 // DOT_MMA, producers: tiles of a loop in shared memory, all but one of them under way; else 1
    int lag;                    // STRATEGY_CHUNKS: a row's two loops share a launch, the second this many chunks behind the
                                // first, a power of two (relay.c); 0: they have a launch each
    bool peel;                  // full tiles run in a loop without bounds checks, the rest in one masked tile
    bool late;                  // sums carried by a loop cross lanes and warps behind the loop, not in it
    bool stream;                // what is read or written for the last time leaves the L2 before what isn't
    int min_blocks;             // resident blocks per multiprocessor asked of the compiler; 0: no wish
    bool fast;                  // exponentials and quotients of f32 as near as the device's approximations; never a choice of
                                // a search, as results change
    int cluster;                // STRATEGY_ROWS: blocks that share each tile of the deepest loop (cluster_axis), each with
                                // the warps of its own, and meet through each other's shared memory: 1 2 4 8; sm_90
};

// The axis whose tiles the blocks of a cluster share: the deepest inner loop's beside the columns. NULL: there is none.
const char *config_cluster_axis(const struct ir_kernel *kernel);
// Strategy names as in JSON: "rows".
const char *config_strategy_name(enum config_strategy strategy);
bool config_strategy_named(const char *name, enum config_strategy *strategy);
const char *config_dot_name(enum config_dot dot);  // "fma", "mma", "wgmma"
bool config_dot_named(const char *name, enum config_dot *dot);

// A good config from the kernel and its static extents alone: what keys left out of a config file stand for.
struct config *config_default(struct arena *arena, const struct ir_kernel *kernel);

// What is known of the data that a config is wanted for. 0: not known.
struct config_data {
    int64_t rows, longest;  // of the argument whose rows have most points together: how many, points of the longest
    double mean;            // points of a row
    bool cpu;               // it runs on a CPU: blocks are few threads' work
    int sm;                 // of the GPU it runs on; 0: not known
};
// A good config for this data; `data` NULL: config_default's.
struct config *config_default_for(struct arena *arena, const struct ir_kernel *kernel, const struct config_data *data);

// A knob of the space: its path ("axes.tm.block", "grid", "peel") and its choices as JSON texts ("128", "true",
// "[\"tm\",\"tb\"]").
struct config_knob {
    const char *path;
    int choice_count;
    const char **choices;
};
struct config_space {
    int knob_count;
    struct config_knob *knobs;
    struct config_strategies *strategies;  // those of `knobs`, for draws
};
struct config_space *config_space(struct arena *arena, const struct ir_kernel *kernel);
// Draws from the space so that it mostly lowers (lane and warp products within limits). The same seed gives the
// same config.
struct config *config_random(struct arena *arena, const struct ir_kernel *kernel, uint64_t *seed);
// The same from the kernel's space, which is the dearest part of a draw: for many draws.
struct config *config_draw(struct arena *arena, const struct ir_kernel *kernel, const struct config_space *space,
                           uint64_t *seed);
// Which strategy the config takes, and of each whether it applies and why not, as text: "flat  doesn't apply: …".
void config_explain_strategies(struct text *out, struct arena *arena, const struct ir_kernel *kernel,
                               const struct config *config);
// Whether the config fits the kernel: every axis named, powers of two, products within limits. Names what doesn't.
struct status config_check(struct arena *arena, const struct ir_kernel *kernel, const struct config *config);
struct config *config_copy(struct arena *arena, const struct config *config);  // with names of its own
// The like of a config for the same kernel under other static extents: tiles no wider than those, and the threads that
// this frees along the rows. A config that was made for these extents stays much as it is; what then doesn't lower does
// as it was.
struct config *config_fit(struct arena *arena, const struct ir_kernel *kernel, const struct config *config);
struct config_axis *config_axis_named(const struct config *config, const char *name);  // NULL if there is none

// ---------------------------------------------------------------------------------------------- targets

enum target_kind { TARGET_CUDA, TARGET_CPU };
struct target {
    enum target_kind kind;
    int sm;         // 80, 90, 100; 0 on the CPU
    bool specific;  // sm_90a: features of this one architecture
};

struct lower_options {
    struct target target;
    bool index64;        // index arithmetic in 64 bits (else the launch plan demands that 32 are enough)
    bool unaligned;      // no 16-byte accesses (else the launch plan demands aligned tensors where they are used)
    bool checked;        // asserts and index checks are kept
    const char *stop_after;        // a pass name, or NULL
    int skip_count;
    const char *const *skip;       // passes that may be skipped (opt_*)
    // Called after each pass, with its name and the kernel as it then is; NULL: not called.
    void (*after)(void *data, const char *pass, const struct ir_kernel *kernel);
    void *data;
};

// In 32-bit index arithmetic extents, element counts and row lengths are at most this: room for the last tile to hang over.
#define INDEX_LIMIT (INT32_MAX - (1 << 20))

// ---------------------------------------------------------------------------------------------- lowered programs

enum axis_place { PLACE_LOOP, PLACE_GRID, PLACE_FULL };

// What an axis became. Index of a point in its tile = (((register * blocks + rank) * warps + warp) * lanes + lane) *
// vector + v, where rank is the block's number in its cluster. Where it is paired, register and what is
// right of it are register / 2, …, warp, register % 2, lane, vector.
struct axis_layout {
    int block, vector, lanes, warps, registers, unroll;
    int blocks;                  // of a cluster along the axis
    int lane_shift, warp_shift;  // the axis's lane coordinate is (lane >> lane_shift) & (lanes - 1); warps alike
    enum axis_place place;
    int filled;    // of products: points of the block that can be inside, in eights
    bool paired;   // a warp's registers come in pairs of neighbours: rows of products by groups of warps
    bool covered;  // a guard inside the loop implies the axis's bound
    bool exact;    // every tile is full: no bound needs a check
    bool single;   // the loop runs at most one tile: what a peeled loop left over
    const struct ir_value *origin;  // where the tiles are counted from if not from the axis's lo (peeled loops)
};

// A tensor's elements as the device's copying engine takes them: a tile's rows lie along one dimension, its columns along
// the last one.
struct tile_map {
    int param, outer;  // outer: the dimension of the rows
    int rows, columns;  // of a tile
    bool inner;         // it is copied in every turn of a loop without loops in it
};
// What a warp of its own copies of the rows that a block goes through, tile by tile, and into the next row (slab.c). Each
// pass over a row has the same loops; what a pass has read stays for the next one if the row's tiles have room.
struct slab {
    int param;                    // rank 2: a row's points lie one behind the other, each with all of its columns
    int rows, columns;            // axes of a tile
    int offsets;                  // an array that ascends by a row's points from row to row; -1: none is known
    int64_t point_bytes;
    int pass_count, loop_count;   // loops of a pass
    const struct ir_op **loops;   // pass by pass
    const struct ir_op **loads;   // of each, the one that takes from the tile
};
// A launch in which warps of their own copy the tiles of products for all others (producer.c), or slabs.
struct produced {
    const struct slab *slab;                // NULL: tiles of products
    const struct ir_op *top;
    int state;                              // workspace of i32: how many tiles have been taken; the maps, from 128 bytes on
    const struct ir_value *tiles, *blocks;  // of the grid, host numbers: tiles in all, blocks (or clusters) that share them
    int map_count;
    struct tile_map *maps;                  // a staged load's is map - 1
    bool by_threads;                        // the engine can't take the tensors: all producing threads copy
    bool *needed;                           // by value id: places and conditions of copies are made of it
};
enum {
    MAP_BYTES = 128,
    MOST_LIMITS = 8,
    OUTER_PLACES = 2,      // at most, of tiles that a loop of tiles stands behind
    PRODUCED_PAGE = 1024,  // of shared memory in front of the tiles: barriers, numbers of tiles of the grid
};
// What is inside of a staged tile: rows before each of the limits, if all of the conditions hold.
struct tile_limits {
    int row_count, condition_count;
    const struct ir_op *rows[MOST_LIMITS];  // position < limit
    const struct ir_value *conditions[MOST_LIMITS];
};
// False if more decides than that.
bool tile_limits(const struct ir_kernel *kernel, const struct ir_op *load, int rows, int columns, struct tile_limits *limits);

struct lowered {
    struct ir_kernel *kernel;    // the lowered program; every top-level operation that is a FOR is one launch
    struct axis_layout axes[IR_MAX_AXES];
    const struct config *config; // as asked for, with the axes that lowering added
    struct lower_options options;
    int warps, lanes;            // per block, all axes together; threads = 32 * warps (on the CPU 1). Lanes beyond `lanes`
                                 // repeat the work of the others and store nothing.
    int cluster;                 // blocks of a cluster; 1: none. Along one axis: axis_layout.blocks
    uint64_t ascending;          // bit p: parameter p is an offsets array that has to ascend
    int produced_count;
    struct produced *produced;   // launches whose tiles warps of their own copy
    int line_count;              // the lines of the checked kernel's statements, ascending
    int *lines;
};

// Lowers a copy of `kernel` for `config`. NULL with a reason in `status` if it can't be done: code "lowering.…", words,
// place; or code "internal.PASS" if a pass broke the program (that is a fault of tilec).
struct lowered *lower(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                      const struct lower_options *options, struct status *status);

// The passes in order, as text: name, what it does, whether it may be skipped.
void lower_list_passes(struct text *out);

#endif
