// SPDX-License-Identifier: Apache-2.0
// What a config costs, worked out before it is compiled. In: a kernel, the extents and rows' lengths of its data, a
// config. Out: about how long it takes on a GPU.
//
// Three times bound a launch: that of the bytes, which need enough of them under way in each multiprocessor; that of
// the instructions, also for points that are masked away; and that of the block with the longest row, which goes
// through its tiles one after the other. Numbers are those of a large GPU; as only the order of configs matters, they
// need not be exact. What this can't know the regression learns (search_model.c).
#include <math.h>
#include <string.h>

#include "runtime/build.h"
#include "runtime/data.h"
#include "runtime/search.h"

static const double multiprocessors = 132, warps_most = 64, blocks_most = 32, registers_most = 65536;
static const double bytes_per_ms = 4.3e9;                  // of memory
static const double half_speed_bytes = 6e3;                // under way in a multiprocessor give half of that
static const double warp_instructions = 4 * 1.7e6;         // of a multiprocessor, per ms
static const double mma_per_ms = 2e11, fma_per_ms = 1e10;  // multiplications and additions of products
static const double step_ms = 0.7e-3;                      // of a tile whose loads the next one waits for
static const double launch_ms = 3e-3;
static const double hidden = 0.5;  // of the waiting in a block while others are at work
static const double block_ms = 0.5e-3, piece_ms = 5e-3;  // to begin a block; to find a piece's rows too
static const double element_registers = 1.5, elements_most = 128, kept_most = 512, row_registers = 6;
static const double spill_weight = 1;
static const double row_points = 4;  // what is worked out for a row is as much code as that many points
static const double l2_bytes = 20e6;  // that a second reading finds, beside what is written meanwhile
static const double access_instructions = 8;  // a load, its address, its bounds, and what is done with it

// ---------------------------------------------------------------------------------------------- what the data is like

static int config_axis(const struct search_cost *cost, const char *name) {
    for (int i = 0; i < cost->name_count; i++)
        if (strcmp(cost->names[i], name) == 0)
            return i;
    return -1;
}

static const struct rows_use *use_of(const struct rows_uses *uses, int axis) {
    for (int i = 0; i < uses->count; i++)
        if (uses->items[i].axis == axis)
            return &uses->items[i];
    return NULL;
}

// Tiles of 2^k rows take as many steps as their longest row.
static void look_at_rows(struct cost_axis *axis, const struct rows_use *use, const struct ir_tensor *tensors) {
    struct row_statistics statistics = row_statistics(use, tensors);
    axis->extent = statistics.longest;
    axis->total = statistics.total;
    axis->rows = statistics.rows;
    for (int k = 0; k < COST_TILES; k++)
        axis->longest[k] = rows_tile_longest(use, tensors, (int64_t)1 << k);
}

static int64_t dense_extent(const struct ir_axis *about, const struct ir_bindings *bindings) {
    if (!about->hi || !ir_is_host_number(about->hi) || (about->lo && !ir_is_host_number(about->lo)))
        return 0;
    int64_t lo = about->lo ? ir_evaluate_number(about->lo, bindings).integer : 0, length = 0;
    return __builtin_sub_overflow(ir_evaluate_number(about->hi, bindings).integer, lo, &length) || length < 0 ? 0
                                                                                                              : length;
}

static int innermost_parent(const struct ir_kernel *kernel, int axis) {
    int parent = -1;
    for (int i = 0; i < kernel->axis_count; i++)
        if (kernel->axes[axis].parents & AXIS_BIT(i))
            parent = i;
    return parent;
}

static void look_at_axes(struct arena *arena, const struct ir_kernel *kernel, const struct search_facts *facts,
                         struct search_cost *cost) {
    struct rows_uses uses = rows_find(arena, kernel);
    for (int i = 0; i < kernel->axis_count; i++) {
        const struct ir_axis *about = &kernel->axes[i];
        struct cost_axis *axis = &cost->axes[i];
        if (config_axis(cost, about->name) < 0)
            cost->names[cost->name_count++] = about->name;
        axis->config = config_axis(cost, about->name);
        axis->parent = innermost_parent(kernel, i);
        axis->jagged = about->kind == AXIS_JAGGED;
        const struct rows_use *use = axis->jagged ? use_of(&uses, i) : NULL;
        if (use && facts->tensors[use->param].data)
            look_at_rows(axis, use, facts->tensors);
        else
            axis->extent = dense_extent(about, facts->bindings);
        if (axis->jagged && axis->total <= 0)
            axis->jagged = false;  // nothing is known of it
        // The longer one is what is cut into pieces.
        if (axis->jagged && (cost->cut < 0 || axis->total > cost->axes[cost->cut].total))
            cost->cut = i;
    }
}

// ---------------------------------------------------------------------------------------------- what the kernel does

// Of a jagged axis those of a mean row, beside its parents.
static double points_on(const struct search_cost *cost, axes_t axes) {
    double points = 1;
    for (int i = 0; i < cost->axis_count; i++) {
        const struct cost_axis *axis = &cost->axes[i];
        if (axes & AXIS_BIT(i))
            points *= axis->jagged ? axis->total / (double)axis->rows : (double)axis->extent;
    }
    return points;
}

// The axis along which neighbouring points are neighbours in memory: the last index's, and of a row and its points the
// points.
static int contiguous_axis(const struct ir_kernel *kernel, const struct ir_value *index) {
    axes_t parents = 0;
    int found = -1;
    for (int i = 0; i < kernel->axis_count; i++)
        if (index->axes & AXIS_BIT(i))
            parents |= kernel->axes[i].parents;
    for (int i = 0; i < kernel->axis_count; i++)
        if ((index->axes & ~parents) & AXIS_BIT(i))
            found = i;
    return found;
}

static void add_access(const struct ir_kernel *kernel, const struct ir_op *op, axes_t around,
                       struct search_cost *cost) {
    const struct ir_param *param = &kernel->params[op->param];
    axes_t axes = 0;
    if (cost->access_count == COST_ACCESSES || param->rank == 0)
        return;
    for (int i = 0; i < param->rank; i++)
        for (int a = 0; a < kernel->axis_count; a++)
            if (op->operands[i]->axes & AXIS_BIT(a))
                axes |= ir_axis_closure(kernel, a);
    struct cost_access *access = &cost->accesses[cost->access_count++];
    *access = (struct cost_access){.axes = axes,
                                   .around = around | axes,
                                   .contiguous = contiguous_axis(kernel, op->operands[param->rank - 1]),
                                   .bytes = ir_type_bytes(param->type),
                                   .share = 1,
                                   .param = op->param,
                                   .points = points_on(cost, axes)};
    for (int i = 0; i < cost->access_count - 1; i++)
        if (cost->accesses[i].param == op->param && op->code == OP_LOAD)
            access->share = 0.5;  // some of it is in the L2 by now
}

// Whether a reduction in a loop's body comes after another one: of the tile that both read, then.
static bool reduces_again(const struct ir_region *region) {
    int count = 0;
    for (const struct ir_op *op = region->first; op; op = op->next)
        count += op->code == OP_REDUCE;
    return count > 1;
}

static void look_at_region(const struct ir_kernel *kernel, const struct ir_region *region, axes_t around,
                           struct search_cost *cost) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC)
            add_access(kernel, op, around, cost);
        if (op->code == OP_DOT)
            cost->products += points_on(cost, op->operands[0]->axes | op->operands[1]->axes | op->over);
        if (op->code == OP_FOR && kernel->axes[op->axis].kind == AXIS_JAGGED && reduces_again(op->regions[0]))
            cost->keeps_tiles = true;
        axes_t inside = op->code == OP_FOR ? around | AXIS_BIT(op->axis) : around;
        for (int i = 0; i < op->region_count; i++)
            look_at_region(kernel, op->regions[i], inside, cost);
    }
}

// Only those that matter: what a few points are loaded for takes no time.
static void keep_heavy(struct search_cost *cost) {
    double most = 0;
    int kept = 0;
    for (int i = 0; i < cost->access_count; i++)
        if (cost->accesses[i].points * cost->accesses[i].bytes > most)
            most = cost->accesses[i].points * cost->accesses[i].bytes;
    for (int i = 0; i < cost->access_count; i++)
        if (cost->accesses[i].points * cost->accesses[i].bytes * 20 >= most)
            cost->accesses[kept++] = cost->accesses[i];
    cost->access_count = kept;
}

struct search_cost *search_cost_new(struct arena *arena, const struct ir_kernel *kernel,
                                    const struct search_facts *facts) {
    if (facts->cpu || !facts->bindings || !facts->tensors)
        return NULL;
    struct search_cost *cost = ARENA_NEW(arena, struct search_cost);
    *cost = (struct search_cost){.axis_count = kernel->axis_count, .cut = -1, .register_scale = 1};
    look_at_axes(arena, kernel, facts, cost);
    const char *shared = config_cluster_axis(kernel);
    cost->shared = shared ? config_axis(cost, shared) : -1;
    look_at_region(kernel, kernel->body, 0, cost);
    keep_heavy(cost);
    return cost->access_count ? cost : NULL;
}

// ---------------------------------------------------------------------------------------------- what a config makes of
// it

struct costing {
    const struct search_cost *cost;
    const struct config *config;
    double threads, warps, lanes,
        elements;  // of a block; lanes that have work of their own; elements of a thread's largest tile
    double blocks, resident, active;  // blocks; of them in a multiprocessor at once; multiprocessors that have any
    double spilled;                   // registers that don't fit, as a share of those that do
};

static double tiles(double extent, int block) {
    double count = ceil(extent / block);
    return count < 1 ? 1 : count;
}

static const struct config_axis *knobs(const struct costing *costing, int axis) {
    return &costing->config->axes[costing->cost->axes[axis].config];
}

static bool on_grid(const struct costing *costing, int axis) {
    const char *name = costing->cost->names[costing->cost->axes[axis].config];
    for (int i = 0; i < costing->config->grid_count; i++)
        if (strcmp(costing->config->grid[i], name) == 0)
            return true;
    return false;
}

// Whether it is cut into pieces.
static bool cut(const struct costing *costing, const struct cost_axis *axis) {
    int longer = costing->cost->cut;
    return axis->jagged && costing->config->strategy != STRATEGY_ROWS &&
           axis->config == costing->cost->axes[longer].config;
}

// The rows of an axis are those of what is cut.
static bool has_pieces(const struct costing *costing, int index) {
    int longer = costing->cost->cut;
    return longer >= 0 && costing->config->strategy != STRATEGY_ROWS && costing->cost->axes[longer].parent == index;
}

// A chunk is of one row, a flat share of as many as it reaches.
static double pieces(const struct costing *costing) {
    const struct cost_axis *axis = &costing->cost->axes[costing->cost->cut];
    double shares = axis->total / costing->config->chunk;
    return costing->config->strategy == STRATEGY_FLAT ? shares : shares + (double)axis->rows;
}

// Tiles of one piece. A flat share's rows come in tiles of their own.
static double piece_tiles(const struct costing *costing, const struct cost_axis *axis, int block) {
    double rows = (double)axis->rows * costing->config->chunk / axis->total;
    if (costing->config->strategy != STRATEGY_FLAT)
        return tiles(costing->config->chunk, block);
    return (double)costing->config->chunk / block +
           rows / (axis->parent >= 0 ? knobs(costing, axis->parent)->block : 1);
}

static int power_of(int value) {
    int power = 0;
    while ((1 << power) < value && power < COST_TILES - 1)
        power++;
    return power;
}

// Tiles of an axis in all blocks together; of a jagged one those of a mean tile of its parent.
static double all_tiles(const struct costing *costing, int index) {
    const struct cost_axis *axis = &costing->cost->axes[index];
    int block = knobs(costing, index)->block, rows = axis->parent >= 0 ? knobs(costing, axis->parent)->block : 1;
    if (has_pieces(costing, index))  // a block has a tile of chunks, or one flat share
        return tiles(pieces(costing), costing->config->strategy == STRATEGY_FLAT ? 1 : block);
    if (!axis->jagged)
        return tiles((double)axis->extent, block);
    if (cut(costing, axis))
        return piece_tiles(costing, axis, block);
    return 0.5 + axis->longest[power_of(rows)] / tiles((double)axis->rows, rows) / block;
}

// Tiles that one block goes through, of the longest row.
static double steps(const struct costing *costing, int index) {
    const struct cost_axis *axis = &costing->cost->axes[index];
    int block = knobs(costing, index)->block;
    double whole = tiles((double)axis->extent, block);
    if (has_pieces(costing, index) || (on_grid(costing, index) && !axis->jagged))
        return 1;
    if (!cut(costing, axis))
        return whole;
    double piece = piece_tiles(costing, axis, block);
    return piece < whole || costing->config->strategy == STRATEGY_FLAT ? piece : whole;
}

static int cluster_of(const struct config *config) {
    return config->cluster > 1 ? config->cluster : 1;
}

static double blocks_of(const struct costing *costing) {
    double blocks = 1;
    axes_t seen = 0;
    for (int i = 0; i < costing->cost->axis_count; i++) {
        const struct cost_axis *axis = &costing->cost->axes[i];
        if (axis->jagged || !on_grid(costing, i) || (seen & AXIS_BIT(axis->config)))
            continue;
        seen |= AXIS_BIT(axis->config);
        blocks *= all_tiles(costing, i);
    }
    return blocks * cluster_of(costing->config);
}

// Blocks of a cluster that share the axis's tiles.
static int blocks_along(const struct costing *costing, int name) {
    return name == costing->cost->shared ? cluster_of(costing->config) : 1;
}

// Elements of one access that a thread has in a tile.
static double elements_of(const struct costing *costing, const struct cost_access *access) {
    double elements = 1;
    axes_t seen = 0;
    for (int i = 0; i < costing->cost->axis_count; i++) {
        int name = costing->cost->axes[i].config;
        const struct config_axis *axis = &costing->config->axes[name];
        if (!(access->axes & AXIS_BIT(i)) || (seen & AXIS_BIT(name)))
            continue;
        seen |= AXIS_BIT(name);
        elements *= (double)axis->block / (axis->lanes * axis->warps * blocks_along(costing, name));
    }
    return elements;
}

// Rows of which a thread has points in a tile: each has a begin and a length.
static double rows_of(const struct costing *costing) {
    double rows = 1;
    for (int i = 0; i < costing->cost->axis_count; i++) {
        bool parent = false;
        for (int j = 0; j < costing->cost->axis_count; j++)
            parent |= costing->cost->axes[j].jagged && costing->cost->axes[j].parent == i;
        if (parent)
            rows *= (double)knobs(costing, i)->block / (knobs(costing, i)->lanes * knobs(costing, i)->warps);
    }
    return rows;
}

static double guess_registers(const struct costing *costing) {
    double unroll = 1;
    for (int i = 0; i < costing->config->axis_count; i++)
        unroll *= costing->config->axes[i].unroll;
    // What is only added up needn't all be there at once; what a second reduction reads again does.
    double most = costing->cost->keeps_tiles ? kept_most : elements_most;
    return 24 + fmin(element_registers * costing->elements * unroll, most) + row_registers * rows_of(costing);
}

static void count_elements(struct costing *costing) {
    costing->elements = 1;
    for (int i = 0; i < costing->cost->access_count; i++) {
        double elements = elements_of(costing, &costing->cost->accesses[i]);
        if (elements > costing->elements)
            costing->elements = elements;
    }
}

double search_cost_points(const struct search_cost *cost, const struct config *config) {
    const struct costing costing = {.cost = cost, .config = config};
    double points = 0, unroll = 1;
    for (int i = 0; i < config->axis_count; i++)
        unroll *= config->axes[i].unroll;
    for (int i = 0; i < cost->access_count; i++)
        points += unroll * elements_of(&costing, &cost->accesses[i]) + row_points * rows_of(&costing);
    return points;
}

double search_cost_registers(const struct search_cost *cost, const struct config *config) {
    struct costing costing = {.cost = cost, .config = config};
    count_elements(&costing);
    return guess_registers(&costing);
}

static void shape(struct costing *costing, double registers) {
    costing->warps = costing->lanes = 1;
    for (int i = 0; i < costing->config->axis_count; i++) {
        costing->warps *= costing->config->axes[i].warps;
        costing->lanes *= costing->config->axes[i].lanes;
    }
    count_elements(costing);
    costing->threads = 32 * costing->warps;
    double wanted = registers > 0 ? registers : costing->cost->register_scale * guess_registers(costing);
    double limit = fmin(255, registers_most / (costing->threads * fmax(1, costing->config->min_blocks)));
    costing->spilled = fmax(0, wanted / limit - 1);
    registers = fmin(wanted, limit);
    double fit = fmin(floor(registers_most / (registers * costing->threads)),
                      fmin(floor(warps_most / costing->warps), blocks_most));
    costing->blocks = blocks_of(costing);
    costing->active = fmin(multiprocessors, costing->blocks);
    costing->resident = fmax(1, fmin(fit, ceil(costing->blocks / multiprocessors)));
}

struct times {
    double bytes, instructions, longest;  // ms
};

// How much of an access comes from memory: where a launch reads an element again, what isn't in the L2 any more.
static double share_of(const struct costing *costing, const struct cost_access *access) {
    if (access->share == 1 || costing->config->strategy != STRATEGY_ROWS)
        return access->share;
    if (costing->config->producers && costing->config->dot == DOT_FMA)
        return 0;  // a slab stays in shared memory
    double bytes = access->points * access->bytes, rows = costing->blocks / cluster_of(costing->config);
    double under_way = bytes / fmax(1, rows) * costing->active * costing->resident / cluster_of(costing->config);
    return fmax(0, 1 - l2_bytes / fmin(bytes, under_way));
}

static void add_times(const struct costing *costing, const struct cost_access *access, struct times *times) {
    const struct search_cost *cost = costing->cost;
    const struct config_axis *along = access->contiguous >= 0 ? knobs(costing, access->contiguous) : NULL;
    double elements = elements_of(costing, access), vector = along ? along->vector : 1,
           run = access->bytes * vector * (along ? along->lanes : 1);
    double tile = access->bytes * (along ? along->block : 1);
    // A sector of which a tile has only a part is read for nothing but that; other parts of it may be another
    // request's.
    double waste = (tile < 32 ? 32 / tile : 1) * (run < tile && run < 32 ? sqrt(fmin(tile, 32) / run) : 1), all = 1,
           in_a_row = 1, around = 1;
    for (int i = 0; i < cost->axis_count; i++) {
        if (access->axes & AXIS_BIT(i))
            all *= all_tiles(costing, i);
        if (!(access->around & AXIS_BIT(i)))
            continue;
        around *= all_tiles(costing, i);
        in_a_row *= steps(costing, i);
    }
    double warps = costing->resident * costing->warps, accesses = elements / vector;
    double under_way = warps * costing->lanes * fmin(elements, 16) * access->bytes;
    times->bytes += share_of(costing, access) * access->points * access->bytes * waste /
                    (bytes_per_ms * costing->active / multiprocessors * under_way / (under_way + half_speed_bytes));
    times->instructions += all * costing->warps * accesses * access_instructions /
                           (warp_instructions * costing->active * fmin(1, warps / 8));
    // Either the longest row's block is the last, or blocks come one after the other where they fit.
    double step = step_ms + costing->warps * accesses * access_instructions / warp_instructions;
    times->longest += fmax(in_a_row, around / (costing->active * costing->resident) * hidden) * step;
}

double search_cost(const struct search_cost *cost, const struct config *config, double registers) {
    struct costing costing = {.cost = cost, .config = config};
    struct times times = {0};
    shape(&costing, registers);
    for (int i = 0; i < cost->access_count; i++)
        add_times(&costing, &cost->accesses[i], &times);
    double rate = config->dot == DOT_MMA ? mma_per_ms : fma_per_ms;
    times.instructions +=
        cost->products / (rate * costing.active / multiprocessors * fmin(1, costing.resident * costing.warps / 8));
    bool whole = config->strategy == STRATEGY_ROWS;
    double launches = whole ? 1 : config->search ? 2 : 3, spills = 1 + spill_weight * fmin(costing.spilled, 4);
    times.longest += costing.blocks / (costing.active * costing.resident) * (whole ? block_ms : piece_ms);
    return log2(spills * sqrt(times.bytes * times.bytes + times.instructions * times.instructions +
                              times.longest * times.longest) +
                launches * launch_ms);
}

void search_reckon(struct arena *arena, const struct ir_kernel *kernel, const struct search_facts *facts,
                   struct tune_rows *rows) {
    const struct search_cost *cost = search_cost_new(arena, kernel, facts);
    for (int i = 0; cost && i < rows->count; i++)
        if (rows->items[i].config)
            rows->items[i].reckoned = exp2(search_cost(cost, rows->items[i].config, 0));
}
