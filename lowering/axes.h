// SPDX-License-Identifier: Apache-2.0
// What configs need to know of a kernel's axes, by name.
#ifndef TILEC_LOWERING_AXES_H
#define TILEC_LOWERING_AXES_H

#include "lowering/lowering.h"

enum { MAX_BLOCK = 1 << 14, MAX_VECTOR = 8, MAX_LANES = 32, MAX_WARPS = 32, MAX_RESIDENT_WARPS = 64, MAX_UNROLL = 8,
       MAX_STAGES = 8, MAX_SLAB_STAGES = 16, MAX_PRODUCERS = 1 << 16, MAX_MESHES = 64, MAX_CLUSTER = 8 };
enum { LEAST_CHUNK = 32, MOST_CHUNK = 8192, MAX_CHUNK = 1 << 20 };  // in the space: from least to most
enum { LEAST_LAG = 16, MOST_LAG = 1024, MAX_LAG = 1 << 16 };

struct axis_use {
    const char *name;
    int loops;         // loops of this name
    int depth;         // of the innermost of them; 0 at the top
    bool top, inner;   // at least one loop at the top, below another
    bool full, jagged;
    bool spreadable;   // an inner loop that may go to the grid
    int contiguous;    // accesses along it that are contiguous in memory
    int64_t extent;    // the largest static one; 0 if none is static
};

struct axis_list {
    int count;
    struct axis_use items[IR_MAX_AXES];
};

// Why a config doesn't fit (config.c).
struct status config_wrong(struct arena *arena, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct axis_list axis_list(const struct ir_kernel *kernel);  // in order of first appearance
bool may_split(struct arena *arena, const struct ir_kernel *kernel);  // whether the strategy chunks applies
// Whether the wish's strategy (with its chunk and stage) applies to some loop of the kernel. If not, and `why`
// isn't NULL, *why is the reason.
bool strategy_applies(struct arena *arena, const struct ir_kernel *kernel, const struct config *wish,
                      struct status *why);
// Of the list: along which the innermost accesses are contiguous; the deepest loop that isn't `columns`', with `inner` of
// those below another; and the one whose tiles the blocks of a cluster share. -1: none.
int contiguous_axis(const struct axis_list *list);
int deepest_loop(const struct axis_list *list, int columns, bool inner);
int cluster_axis(const struct axis_list *list);
// In a default config, whose rows have a block each: short rows share one (default_short.c). False: they aren't short, or
// what they are of isn't the only loop at the top.
bool config_for_short_rows(struct config *config, const struct axis_list *list, int columns, int rows,
                           const struct config_data *data);
bool axis_listed(const struct axis_list *list, const char *name);

// What a default with producers for rows is made of.
struct slab_axes {
    int rows;                       // of the config's axes
    const struct axis_use *across;  // the columns
    int element_bytes;
};
// `config` with producers for rows of this data; NULL if that isn't worth it, or can't be lowered (default_slabs.c).
struct config *config_for_slabs(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                                const struct config_data *data, const struct slab_axes *axes);

#endif
