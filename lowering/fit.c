// SPDX-License-Identifier: Apache-2.0
// In: a config that is good for a kernel under some static extents. Out: the like for the same kernel under others.
//
// A tile that is wider than what there is leaves threads idle, and neighbouring points of a thread are read together
// only where the extent is a multiple of them. So tiles shrink to the extent, warps first, then lanes, for it is the
// lanes that read what is contiguous. The threads that this frees go where the config has most of the others: further
// down the rows, or to more rows. A full axis, whose tile is no choice, has the tile of its extent.
#include "lowering/axes.h"

struct freed {
    int lanes, warps;
};

static int power_over(int64_t extent) {
    int power = 1;
    while (power < extent && power < MAX_BLOCK)
        power *= 2;
    return power;
}

static void shrink(struct config_axis *axis, const struct axis_use *use, struct freed *freed) {
    int whole = power_over(use->extent);
    if (use->full || axis->block > whole)
        axis->block = whole;
    while (use->extent % axis->vector)
        axis->vector /= 2;
    while (axis->vector * axis->lanes * axis->warps > axis->block)
        if (axis->warps > 1)
            axis->warps /= 2, freed->warps *= 2;
        else if (axis->lanes > 1)
            axis->lanes /= 2, freed->lanes *= 2;
        else
            axis->vector /= 2;
}

static int threads_along(const struct config_axis *axis) {
    return axis->lanes * axis->warps;
}

// The axis of unknown extent with most threads, the innermost of those alike; -1: there is none.
static int receiver(const struct axis_list *list, const struct config *config) {
    int best = -1;
    for (int i = 0; i < list->count; i++) {
        const struct axis_use *use = &list->items[i];
        bool known = use->extent > 0 && !use->jagged;
        if (known || use->loops == 0)
            continue;
        const struct config_axis *axis = config_axis_named(config, use->name);
        const struct config_axis *other = best < 0 ? NULL : config_axis_named(config, list->items[best].name);
        int more = other ? threads_along(axis) - threads_along(other) : 1;
        if (more > 0 || (more == 0 && use->depth > list->items[best].depth))
            best = i;
    }
    return best;
}

// As many of the freed as the axis takes; a tile of a piece of rows stays within the piece.
static void give(struct config_axis *axis, const struct config *config, bool jagged, struct freed freed) {
    int most = jagged && config->strategy != STRATEGY_ROWS && config->chunk < MAX_BLOCK ? config->chunk : MAX_BLOCK;
    for (; freed.lanes > 1 && 2 * axis->block <= most; freed.lanes /= 2)
        axis->lanes *= 2, axis->block *= 2;
    for (; freed.warps > 1 && 2 * axis->block <= most; freed.warps /= 2)
        axis->warps *= 2, axis->block *= 2;
}

struct config *config_fit(struct arena *arena, const struct ir_kernel *kernel, const struct config *config) {
    struct config *fitted = config_copy(arena, config);
    struct axis_list list = axis_list(kernel);
    struct freed freed = {1, 1};
    for (int i = 0; i < list.count; i++) {
        struct config_axis *axis = config_axis_named(fitted, list.items[i].name);
        if (axis && list.items[i].extent > 0 && !list.items[i].jagged)
            shrink(axis, &list.items[i], &freed);
    }
    int to = receiver(&list, fitted);
    if (to >= 0)
        give(config_axis_named(fitted, list.items[to].name), fitted, list.items[to].jagged, freed);
    return config_check(arena, kernel, fitted).ok ? fitted : config_copy(arena, config);
}
