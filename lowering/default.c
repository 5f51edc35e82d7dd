// SPDX-License-Identifier: Apache-2.0
// A good config from the kernel, its static extents, and what is known of the rows' lengths.
//
// Two axes matter. The *columns* are the axis along which the innermost accesses are contiguous: it gets the lanes, and
// vectors where its extent is a multiple of them. The *rows* are the deepest other loop: it gets the warps and enough
// registers that each thread has several loads in flight. Everything else has tiles of one point.
//
// note [pieces] A row has the threads of one block, or of a part of it. While the longest row takes no longer than all of
// the work takes on the whole device, rows stay whole; beyond that the other blocks are done and wait for it, and pieces
// of about equal work are worth the launches that join them.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/matmul.h"

enum {
    THREAD_ELEMENTS = 32,  // elements of a tile per thread: loads in flight against registers
    ROW_WARPS = 16,        // along a loop that reduces
    REREAD_WARPS = 32,     // one large block has less under way than two, and finds more of it in the L2 again
    TOP_WARPS = 8,         // along what only goes to the grid
    COLUMN_LANES = 16,     // beside rows: 64 floats of columns, as much of the row as lanes are left
    WHOLE_COLUMNS = 2048,  // up to this extent a column axis that can't go to the grid is one tile
    JAGGED_REGISTERS = 4,
    MASKED_ELEMENTS = 16,  // as THREAD_ELEMENTS, where each load has a bound of its own
    UNKNOWN_EXTENT = 256,
    DEVICE_THREADS = 1 << 17,  // that a large GPU runs at once
    LONG_ROW = 4096,           // a shorter one is done before pieces could be joined
    PIECES = 1024,             // of the data, beside one for each row
    PIECES_AGAIN = 2048,       // where a second reading begins with the last ones, and finds them in the L2
    ROW_PIECES = 512,          // of a row: they are joined by one block
    SERIAL_TILES = 16,         // that a row may have one after the other
    LEAST_PIECE = 256,
    MOST_PIECE = 8192,
    PIECE_WARPS = 8,           // along a loop over a piece that another reads again: many blocks are under way anyway
    MASKED_COLUMNS = 2,        // registers of a piece's jagged columns
    MASKED_ROWS = 16,          // and of the rows beside them
    LANE_POINTS = 16,          // of a row of numbers, for a lane
    SHARE = 4096,              // points of a share that is staged
    SHARE_WARPS = 4,
    CORE_POINTS = 32,          // of a row at a time, on the CPU
    SHARE_LANES = 8,           // for a row, where a share has many
    MULTIPROCESSORS = 132,     // of a large GPU
    UNDER_WAY = 20 << 20,      // bytes that the L2 holds between two readings, beside what is written
    CLUSTER_SM = 90,
    COPY_ENGINE_SM = 90,
    LARGEST_CLUSTER = 4,       // more blocks wait for each other longer than they gain
    SHARED_REGISTERS = 4,
};

static int64_t greatest_power_in(int64_t value) {  // the greatest power of two that divides it
    return value ? value & -value : 1;
}

static int at_most(int64_t value, int limit) {
    return value < limit ? (int)value : limit;
}

static int up_to_power(int64_t value, int limit) {
    int power = 1;
    while (power < value && power < limit)
        power *= 2;
    return power;
}

static int elements_of(const struct config_axis *axis) {
    return axis->block / (axis->lanes * axis->warps);
}

// ---------------------------------------------------------------------------------------------- which axes

// The innermost loop that isn't the columns'. A full axis, whose block is no choice, leaves the warps to any loop.
static int pick_rows(const struct axis_list *list, int columns) {
    int rows = deepest_loop(list, columns, true);
    const struct axis_use *use = columns >= 0 ? &list->items[columns] : NULL;
    bool whole = use && (use->full || (use->inner && !use->spreadable && !use->jagged));
    return rows < 0 && whole ? deepest_loop(list, columns, false) : rows;
}

// ---------------------------------------------------------------------------------------------- their shapes

static void shape_full(struct config_axis *axis, const struct axis_use *use, int *lanes) {
    axis->block = up_to_power(use->extent, MAX_BLOCK);
    axis->lanes = use->contiguous ? at_most(axis->block, *lanes) : 1;
    *lanes /= axis->lanes;
}

static int widest_vector(const struct axis_use *use, int element_bytes) {
    int widest = element_bytes >= 8 ? 2 : 16 / element_bytes;
    return use->extent > 0 && !use->jagged ? at_most(greatest_power_in(use->extent), widest) : 1;
}

static void shape_columns(struct config_axis *axis, const struct axis_use *use, int element_bytes, bool beside_rows,
                          int *lanes) {
    int64_t extent = use->extent > 0 ? use->extent : UNKNOWN_EXTENT;
    axis->vector = widest_vector(use, element_bytes);
    int most = beside_rows && use->spreadable && axis->vector > 1 && *lanes > COLUMN_LANES ? COLUMN_LANES : *lanes;
    axis->lanes = up_to_power((extent + axis->vector - 1) / axis->vector, most);
    axis->block = axis->vector * axis->lanes;
    bool whole = use->full || (use->inner && !use->spreadable && use->extent > 0 && use->extent <= WHOLE_COLUMNS);
    if (whole && up_to_power(extent, MAX_BLOCK) > axis->block)
        axis->block = up_to_power(extent, MAX_BLOCK);
    if (use->jagged && beside_rows)
        axis->block *= JAGGED_REGISTERS;  // fewer turns over the rows inside
    *lanes /= axis->lanes;
}

static void count_loads(const struct ir_region *region, int *loads) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD)
            loads[op->param]++;
        for (int r = 0; r < op->region_count; r++)
            count_loads(op->regions[r], loads);
    }
}

// Several loops go over the same rows, and a later one reads again what an earlier one has read.
static bool rereads(struct arena *arena, const struct ir_kernel *kernel, const struct axis_use *rows) {
    int *loads = ARENA_ARRAY(arena, int, kernel->param_count + 1), most = 0;
    count_loads(kernel->body, loads);
    for (int p = 0; p < kernel->param_count; p++)
        if (ir_type_is_float(kernel->params[p].type) && loads[p] > most)
            most = loads[p];
    return rows->loops > 1 && most > 1;
}

// No more points than the loop is known to have.
static void shape_rows(struct config_axis *axis, const struct axis_use *use, int lanes, int warps, int registers) {
    int most = use->extent > 0 ? up_to_power(use->extent, MAX_BLOCK) : MAX_BLOCK;
    axis->lanes = at_most(most, lanes);
    axis->warps = at_most(most / axis->lanes, warps);
    axis->block = axis->lanes * axis->warps * at_most(most / (axis->lanes * axis->warps), registers);
}

// Rows of single numbers, one row per warp: nothing but the columns has an inner loop.
static void shape_top(struct config *config, const struct axis_list *list, int columns) {
    struct config_axis *axis = &config->axes[columns];
    if (list->items[columns].top || list->items[columns].spreadable) {
        axis->warps = TOP_WARPS;
        axis->block *= TOP_WARPS;
        return;
    }
    axis->block = axis->vector * axis->lanes * 8;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].top && i != columns) {
            config->axes[i].warps = config->axes[i].block = TOP_WARPS;
            return;
        }
}

// How many points a thread may have along the rows, beside its elements of the columns.
static int registers_beside(const struct axis_list *list, const struct config *config, int columns) {
    int elements = columns >= 0 ? elements_of(&config->axes[columns]) : 1;
    int most = columns >= 0 && list->items[columns].jagged ? MASKED_ELEMENTS : THREAD_ELEMENTS;
    return at_most(most / (elements < most ? elements : most), 8);
}

static int smallest_element(const struct ir_kernel *kernel) {
    int bytes = 8;
    for (int p = 0; p < kernel->param_count; p++) {
        const struct ir_param *param = &kernel->params[p];
        bool counts =
            param->kind != PARAM_SCALAR && (!param->optional || param->present) && ir_type_is_float(param->type);
        if (counts && ir_type_bytes(param->type) < bytes)
            bytes = ir_type_bytes(param->type);
    }
    return bytes;
}

static void set_grid(struct arena *arena, struct config *config, const struct axis_list *list) {
    config->grid = ARENA_ARRAY(arena, const char *, list->count);
    for (int i = list->count; i-- > 0;)
        if (list->items[i].top || list->items[i].spreadable)
            config->grid[config->grid_count++] = list->items[i].name;
}

struct config *config_default(struct arena *arena, const struct ir_kernel *kernel) {
    struct axis_list list = axis_list(kernel);
    struct config *config = ARENA_NEW(arena, struct config);
    config->axis_count = list.count;
    config->axes = ARENA_ARRAY(arena, struct config_axis, list.count);
    for (int i = 0; i < list.count; i++)
        config->axes[i] = (struct config_axis){list.items[i].name, 1, 1, 1, 1, 1};
    int columns = contiguous_axis(&list), rows = pick_rows(&list, columns), lanes = MAX_LANES;
    for (int i = 0; i < list.count; i++)
        if (list.items[i].full && i != columns)
            shape_full(&config->axes[i], &list.items[i], &lanes);
    if (columns >= 0)
        shape_columns(&config->axes[columns], &list.items[columns], smallest_element(kernel), rows >= 0, &lanes);
    bool again = rows >= 0 && rereads(arena, kernel, &list.items[rows]);
    if (rows >= 0)
        shape_rows(&config->axes[rows], &list.items[rows], lanes, again ? REREAD_WARPS : ROW_WARPS,
                   registers_beside(&list, config, columns));
    else if (columns >= 0 && !list.items[columns].full)
        shape_top(config, &list, columns);
    set_grid(arena, config, &list);
    config->stages = config->cluster = 1;
    config->peel = true;
    config->late = true;
    config->stream = again;
    return config;
}

// ---------------------------------------------------------------------------------------------- pieces

// Blocks beside each other for the same row, and threads of each that work on it.
static double threads_of_row(const struct axis_list *list, const struct config *config) {
    double threads = 1;
    for (int i = 0; i < list->count; i++) {
        const struct axis_use *use = &list->items[i];
        const struct config_axis *axis = &config->axes[i];
        if (use->top)
            continue;
        threads *= axis->lanes * axis->warps;
        if (use->spreadable && use->extent > axis->block)
            threads *= (double)((use->extent + axis->block - 1) / axis->block);
    }
    return threads;
}

// note [pieces]
static bool wants_pieces(const struct axis_list *list, const struct config *config, const struct config_data *data) {
    double total = (double)data->rows * data->mean;
    if (data->cpu || data->longest < LONG_ROW)
        return false;
    return (double)data->longest > total * threads_of_row(list, config) / DEVICE_THREADS;
}

// Rows of single numbers: the axis along them, if there is none beside it but those at the top; else -1.
static int numbers_axis(const struct axis_list *list) {
    int columns = contiguous_axis(list);
    bool alone = columns >= 0 && list->items[columns].jagged && list->items[columns].inner;
    for (int i = 0; i < list->count; i++)
        alone &= i == columns || (list->items[i].top && !list->items[i].inner && !list->items[i].full);
    return alone ? columns : -1;
}

// Rows that are short beside a tile have as few warps as keep the device busy and the longest of them from taking long;
// a block has several such rows.
static void shape_short(struct config *config, const struct axis_list *list, double count, double mean, int64_t longest) {
    int columns = contiguous_axis(list), rows = pick_rows(list, columns);
    if (rows < 0 || mean <= 0 || (columns >= 0 && list->items[columns].jagged) || !list->items[rows].jagged)
        return;
    struct config_axis *axis = &config->axes[rows];
    int each = axis->block / axis->warps, warps = axis->warps;
    double threads = threads_of_row(list, config) / warps;
    while (warps > 1 && each * warps * 2 > mean && count * threads * warps / 2 >= DEVICE_THREADS &&
           longest <= (int64_t)each * warps / 2 * SERIAL_TILES)
        warps /= 2;
    if (warps == axis->warps)
        return;
    axis->warps = warps;
    axis->block = each * warps;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].top && i != columns && config->axes[i].block == 1 && warps < TOP_WARPS) {
            config->axes[i].warps = config->axes[i].block = TOP_WARPS / warps;
            return;
        }
}

// As many lanes for a row as it has work for, and where rows are few, as keep the device busy.
static int lanes_for(const struct config_data *data) {
    int64_t points = (int64_t)data->mean, wanted = points / LANE_POINTS;
    if (data->rows > 0 && wanted * data->rows < DEVICE_THREADS)
        wanted = DEVICE_THREADS / data->rows;
    return up_to_power(wanted < points ? wanted : points, MAX_LANES);
}

// Other rows get the lanes that are left.
static void deal_lanes(struct config *config, const struct axis_list *list, int columns, int lanes) {
    config->axes[columns].lanes = lanes;
    config->axes[columns].block = config->axes[columns].vector * lanes * 8;
    for (int i = 0; i < list->count; i++) {
        struct config_axis *axis = &config->axes[i];
        if (i == columns || axis->block != axis->warps)
            continue;
        axis->lanes = MAX_LANES / lanes;
        axis->block = axis->lanes * axis->warps;
        return;
    }
}

static bool applies(struct arena *arena, const struct ir_kernel *kernel, struct config wish) {
    return strategy_applies(arena, kernel, &wish, NULL);
}

// Equal shares that pass through shared memory, for rows of numbers.
static void share_out(struct config *config, const struct axis_list *list, int columns, int sm) {
    config->strategy = STRATEGY_FLAT;
    config->chunk = SHARE;
    config->stage = true;
    config->bulk = sm >= COPY_ENGINE_SM;
    for (int i = 0; i < list->count; i++)
        if (config->axes[i].warps > SHARE_WARPS)
            config->axes[i].warps = config->axes[i].block = SHARE_WARPS;
    deal_lanes(config, list, columns, SHARE_LANES);
}

static void set_warps(struct config_axis *axis, int warps, int registers) {
    axis->warps = warps;
    axis->block = axis->vector * axis->lanes * warps * registers;
}

// Every load has a bound of its own anyway: two pieces a block, each thread far down the rows, one loop for all tiles.
static void cut_up_masked(struct config *config, const struct axis_list *list, int columns, int rows) {
    set_warps(&config->axes[columns], 1, MASKED_COLUMNS);
    set_warps(&config->axes[rows], PIECE_WARPS, MASKED_ROWS);
    config->chunk /= 2;
    config->peel = false;
    config->stream = true;
    config->min_blocks = 1;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].top)
            set_warps(&config->axes[i], 2, 1);
}

// Pieces of rows. Where one is read twice, many small blocks keep more of it in the L2 than few large ones.
static void cut_up(struct arena *arena, const struct ir_kernel *kernel, struct config *config,
                   const struct axis_list *list, const struct config_data *data) {
    int columns = contiguous_axis(list), rows = pick_rows(list, columns);
    bool again = rows >= 0 && rereads(arena, kernel, &list->items[rows]);
    double total = (double)data->rows * data->mean;
    config->strategy = STRATEGY_CHUNKS;
    config->chunk = LEAST_PIECE;
    while (config->chunk < MOST_PIECE && ((double)config->chunk * (again ? PIECES_AGAIN : PIECES) < total ||
                                          data->longest / config->chunk > ROW_PIECES))
        config->chunk *= 2;
    if (rows >= 0 && columns >= 0 && list->items[columns].jagged)
        cut_up_masked(config, list, columns, rows);
    double pieces = (double)data->rows + total / config->chunk;
    shape_short(config, list, pieces, total / pieces, config->chunk);
    if (!again)
        return;
    struct config_axis *axis = &config->axes[rows];
    while (axis->warps > PIECE_WARPS) {
        axis->warps /= 2;
        axis->block /= 2;
    }
    config->stream = false;
}

// ---------------------------------------------------------------------------------------------- clusters

static bool is_spread(const struct config *config, const char *name) {
    for (int i = 0; i < config->grid_count; i++)
        if (!strcmp(config->grid[i], name))
            return true;
    return false;
}

// A second reading finds in the L2 what the first has read only as long as all that is under way fits in there. Where a
// row's slab isn't spread over the grid by its columns, and is too large for that, the blocks of a cluster read it
// together, and fewer slabs are under way. Better still, it stays in their shared memory.
static void share_slabs(struct arena *arena, const struct ir_kernel *kernel, struct config *config,
                        const struct axis_list *list, const struct config_data *data) {
    int rows = cluster_axis(list), columns = contiguous_axis(list);
    bool again = rows >= 0 && columns >= 0 && rereads(arena, kernel, &list->items[rows]);
    const struct axis_use *across = again ? &list->items[columns] : NULL;
    if (!again || data->sm < CLUSTER_SM || across->jagged || across->extent <= 0 || is_spread(config, across->name))
        return;
    struct config *slabs = config_for_slabs(arena, kernel, config, data, &(struct slab_axes){rows, across, smallest_element(kernel)});
    if (slabs) {
        *config = *slabs;
        return;
    }
    double under_way = MULTIPROCESSORS * data->mean * (double)across->extent * smallest_element(kernel);
    struct config *shared = config_copy(arena, config);
    struct config_axis *axis = &shared->axes[rows];
    while (shared->cluster < LARGEST_CLUSTER && under_way > UNDER_WAY * shared->cluster)
        shared->cluster *= 2;
    axis->block = axis->vector * axis->lanes * axis->warps * shared->cluster * SHARED_REGISTERS;
    if (shared->cluster > 1 && config_check(arena, kernel, shared).ok)
        *config = *shared;
}

// Whether short rows have as many threads as they have work for; what doesn't lower stays as it was.
static bool share_block(struct arena *arena, const struct ir_kernel *kernel, struct config *config,
                        const struct axis_list *list, const struct config_data *data) {
    int columns = contiguous_axis(list);
    struct config *shared = config_copy(arena, config);
    bool found = config_for_short_rows(shared, list, columns, pick_rows(list, columns), data) &&
                 config_check(arena, kernel, shared).ok;
    if (found)
        *config = *shared;
    return found;
}

// A core walks all points of a tile, also those behind a short row's end: tiles of jagged axes stay small.
static struct config *config_for_cores(const struct ir_kernel *kernel, struct config *config) {
    for (int a = 0; a < kernel->axis_count; a++) {
        struct config_axis *axis = config_axis_named(config, kernel->axes[a].name);
        if (kernel->axes[a].kind == AXIS_JAGGED && axis->block > CORE_POINTS)
            axis->block = CORE_POINTS, axis->vector = axis->lanes = axis->warps = axis->unroll = 1;
    }
    return config;
}

struct config *config_default_for(struct arena *arena, const struct ir_kernel *kernel, const struct config_data *data) {
    struct config *config = config_default(arena, kernel);
    if (!data)
        return config;
    if (data->cpu)
        return config_for_cores(kernel, config);
    struct axis_list list = axis_list(kernel);
    int numbers = numbers_axis(&list);
    struct config *products = data->sm ? config_for_products(arena, kernel, config, data->sm) : NULL;
    if (products)
        return products;
    if (numbers >= 0 && data->mean > 0)
        deal_lanes(config, &list, numbers, lanes_for(data));
    if (!wants_pieces(&list, config, data) || !may_split(arena, kernel)) {
        if (!share_block(arena, kernel, config, &list, data))
            shape_short(config, &list, (double)data->rows, data->mean, data->longest);
        share_slabs(arena, kernel, config, &list, data);
        return config;
    }
    struct config share = {.strategy = STRATEGY_FLAT, .chunk = SHARE, .stage = true};
    if (numbers >= 0 && applies(arena, kernel, share))
        share_out(config, &list, numbers, data->sm);
    else
        cut_up(arena, kernel, config, &list, data);
    return config;
}
