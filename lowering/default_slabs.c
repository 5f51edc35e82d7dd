// SPDX-License-Identifier: Apache-2.0
// The default for rows that several loops read and that are large: with producers (slab.c), where most rows have room in
// the shared memory of a cluster's blocks, so that they are read once.
#include "lowering/axes.h"
#include "lowering/matmul.h"

enum {
    SLAB_SM = 90,
    SLAB_PLACE = 16 << 10,    // bytes of a block's part of a tile
    SLAB_SHARED = 209 << 10,  // of places, beside what reductions take
    SLAB_CLUSTER = 8,
    SLAB_BLOCKS = 120,  // as many clusters as a device with 132 multiprocessors has at once: some of its groups have an odd end
    SLAB_WARPS = 8,
    LEAST_SLAB = 128 << 10,  // bytes of a mean row: the blocks of a cluster meet for each one
};

static int64_t row_bytes(const struct axis_use *across, int element_bytes) {
    return across->extent * element_bytes;
}

struct config *config_for_slabs(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                                const struct config_data *data, const struct slab_axes *axes) {
    int64_t bytes = row_bytes(axes->across, axes->element_bytes), registers = 1;
    struct config *slabs = config_copy(arena, config);
    struct config_axis *rows = &slabs->axes[axes->rows];
    struct lower_options options = {.target = {TARGET_CUDA, data->sm, true}};
    struct status status;
    rows->vector = rows->unroll = 1;
    rows->warps = SLAB_WARPS;
    if (data->sm < SLAB_SM || bytes <= 0 || bytes * rows->lanes * rows->warps > SLAB_PLACE)
        return NULL;
    while (bytes * rows->lanes * rows->warps * registers * 2 <= SLAB_PLACE)
        registers *= 2;
    int64_t place = bytes * rows->lanes * rows->warps * registers, stages = SLAB_SHARED / place;
    slabs->stages = stages < MAX_SLAB_STAGES ? (int)stages : MAX_SLAB_STAGES;
    slabs->cluster = SLAB_CLUSTER;
    slabs->producers = SLAB_BLOCKS;
    rows->block = rows->lanes * rows->warps * (int)registers * SLAB_CLUSTER;
    double row = data->mean * (double)bytes, room = (double)slabs->stages * (double)place * SLAB_CLUSTER;
    if (row < LEAST_SLAB || row > room * 2 / 3 || !config_check(arena, kernel, slabs).ok)
        return NULL;
    return lower(arena, kernel, slabs, &options, &status) ? slabs : NULL;
}
