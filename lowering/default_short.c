// SPDX-License-Identifier: Apache-2.0
// Short rows share a block. In: the default config, in which a row has all threads of a block, and how long rows are.
// Out: one in which a row has as many as it has work for, and the others have other rows.
//
// A thread wants some elements, so that several loads are under way. A row gets more threads than that takes where
// rows are so few that the device would have nothing else to do, and where the longest of them would keep its threads
// at work long after all others are done.
#include "lowering/axes.h"

enum {
    THREAD_ELEMENTS = 16,      // for a thread, of all its tiles
    TILE_ELEMENTS = 32,        // and of a tile at most
    TURNS = 4,                 // tiles of the longest row one after the other, that nobody minds
    TURN_ELEMENTS = 1 << 19,   // and one more for so many elements that the device has to do meanwhile
    DEVICE_THREADS = 1 << 17,  // that a large GPU runs at once
    BLOCK_WARPS = 8,
};

static int up_to_power(double value, int limit) {
    int power = 1;
    while (power < value && power < limit)
        power *= 2;
    return power;
}

static int most_points(double elements, int most) {
    return elements < most ? (int)(most / elements) : 1;
}

static int elements_of(const struct config_axis *axis) {
    return axis->block / (axis->lanes * axis->warps);
}

// The axis whose rows these are: the only one at the top, each with a block so far. -1: there are several, or none.
static int owner_of(const struct axis_list *list, const struct config *config, int columns, int rows) {
    int owner = -1, tops = 0;
    for (int i = 0; i < list->count; i++) {
        tops += list->items[i].top;
        if (list->items[i].top && i != columns && i != rows)
            owner = i;
    }
    return tops == 1 && owner >= 0 && config->axes[owner].block == 1 ? owner : -1;
}

// Threads along the rows that a row has work for.
static double wanted_threads(const struct axis_use *across, const struct config_axis *columns,
                             const struct config_data *data) {
    double elements = elements_of(columns), wanted = data->mean / most_points(elements, THREAD_ELEMENTS), tiles = 1;
    if (across->spreadable && across->extent > columns->block)
        tiles = (double)((across->extent + columns->block - 1) / columns->block);
    double others = (double)data->rows * tiles * columns->lanes * columns->warps;
    if (wanted * others < DEVICE_THREADS)
        wanted = DEVICE_THREADS / others;
    if (wanted > data->mean)
        wanted = data->mean;
    double all = (double)data->rows * data->mean * (double)(across->extent > 0 ? across->extent : columns->block);
    double serial = (TURNS + all / TURN_ELEMENTS) * most_points(elements, TILE_ELEMENTS);
    return wanted * serial < (double)data->longest ? (double)data->longest / serial : wanted;
}

// Lanes first: they stay beside those of the columns.
static void share(struct config_axis *rows, struct config_axis *owner, int threads) {
    int lanes = rows->lanes, warps = rows->warps;
    rows->lanes = threads < lanes ? threads : lanes;
    rows->warps = threads / rows->lanes;
    owner->lanes = lanes / rows->lanes;
    owner->warps = up_to_power(BLOCK_WARPS / rows->warps, warps / rows->warps);
    owner->block = owner->lanes * owner->warps;
}

bool config_for_short_rows(struct config *config, const struct axis_list *list, int columns, int rows,
                           const struct config_data *data) {
    int owner = rows >= 0 && columns >= 0 ? owner_of(list, config, columns, rows) : -1;
    if (owner < 0 || !list->items[rows].jagged || list->items[columns].jagged || !(data->mean > 0))
        return false;
    struct config_axis *along = &config->axes[rows], *across = &config->axes[columns], *over = &config->axes[owner];
    int before = along->lanes * along->warps, elements = elements_of(across);
    int threads = up_to_power(wanted_threads(&list->items[columns], across, data), before);
    if (threads == before)
        return false;
    share(along, over, threads);
    int points = up_to_power((double)data->longest / threads, most_points(elements, TILE_ELEMENTS));
    along->block = threads * points;
    // Several rows for a thread, where they are many and have few elements each.
    double turns = (double)data->rows * across->lanes * across->warps * threads / DEVICE_THREADS;
    over->block *= up_to_power(turns / 2, most_points((double)elements * points, THREAD_ELEMENTS));
    return true;
}
