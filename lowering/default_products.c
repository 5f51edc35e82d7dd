// SPDX-License-Identifier: Apache-2.0
// The default config of a kernel with products that the matrix units can do.
//
// In: the kernel, the default without them, the architecture. Out: that config with blocks for products, if the kernel
// can be lowered so. The one idea: what fits is found by lowering: groups of warps first, then single warps.
//
// note [blocks] Measured on an H200 with bf16. A block of rows has the warps. Where a product's operand is itself
// computed (attention), rows are few, because the sum's registers and those of the computed operand add up, and three
// blocks on a multiprocessor hide each other's waits better than tiles ahead do. Else tiles are as large as registers
// allow, so that the other operand is read from the L2 as seldom as can be.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/matmul.h"
#include "lowering/pass.h"

enum {
    SUMMED = 64,
    COLUMNS = 128,
    GROUP_COLUMNS_EACH = 256,
    CHAINED_ROWS = 64,  // a computed operand beside the sum
    PLAIN_ROWS = 128,
    LONGEST_FULL = 256,  // a full axis over this leaves no room in shared memory
    RESIDENT = 3,        // blocks on a multiprocessor: they wait for memory in turns
    GROUPS_OF = 90,      // sm_90a
    MULTIPROCESSORS = 132,
    SHARED_BYTES = 227 * 1024,
    MOST_STAGES = 4,
    LEAST_STAGES = 2,
};

struct products {
    bool groups, chained;
    struct matmul_axes axes;
};

static bool has_computed_operand(const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        for (int i = 0; op->code == OP_DOT && i < 2; i++)
            if (op->operands[i]->region || op->operands[i]->def->code != OP_LOAD)
                return true;
        for (int r = 0; r < op->region_count; r++)
            if (has_computed_operand(op->regions[r]))
                return true;
    }
    return false;
}

static int up_to(int64_t extent, int least, int most) {
    int power = least;
    while (power < most && (extent <= 0 || power < extent))
        power *= 2;
    return power;
}

static void size_axis(const struct products *p, const struct axis_use *use, int axis, struct config_axis *given) {
    enum matmul_role role = p->axes.roles[axis];
    if (use->full || role == ROLE_NONE)
        return;
    if (p->axes.summed[axis])
        given->block = up_to(use->extent, p->groups ? GROUP_CELLS : MATMUL_DEPTH, SUMMED);
    else if (role == ROLE_COLUMNS)
        given->block = up_to(use->extent, p->groups ? GROUP_CELLS : MATMUL_DEPTH,
                             p->groups && !p->chained ? GROUP_COLUMNS_EACH : COLUMNS);
    else
        given->block = up_to(use->extent, MATMUL_ROWS * GROUP_WARPS, p->chained ? CHAINED_ROWS : PLAIN_ROWS);
    given->warps = role == ROLE_ROWS ? GROUP_WARPS : 1;
    if (role == ROLE_ROWS && p->groups && given->block >= 2 * MATMUL_ROWS * GROUP_WARPS)
        given->warps = 2 * GROUP_WARPS;
}

static int axis_of_name(const struct ir_kernel *kernel, const char *name) {
    for (int a = 0; a < kernel->axis_count; a++)
        if (!strcmp(kernel->axes[a].name, name))
            return a;
    return -1;
}

// Rows of a jagged loop whose tiles stand alone go to the grid, a tile a block.
static void share_out(struct arena *arena, const struct ir_kernel *kernel, const struct products *p,
                      const struct axis_list *list, struct config *config) {
    for (int i = 0; i < list->count; i++) {
        int axis = axis_of_name(kernel, list->items[i].name);
        if (p->axes.roles[axis] != ROLE_ROWS || !list->items[i].jagged || !may_split(arena, kernel))
            continue;
        config->strategy = STRATEGY_CHUNKS;
        config->chunk = config->axes[i].block;
    }
}

// Columns of the widest result.
static int widest_sum(const struct ir_kernel *kernel, const struct products *p, const struct config *config) {
    int widest = 0;
    for (int i = 0; i < config->axis_count; i++) {
        int axis = axis_of_name(kernel, config->axes[i].name);
        bool columns = p->axes.roles[axis] == ROLE_COLUMNS && !p->axes.summed[axis];
        if (columns && config->axes[i].block > widest)
            widest = config->axes[i].block;
    }
    return widest;
}

static bool shape(struct arena *arena, const struct ir_kernel *kernel, struct config *config, bool groups) {
    struct axis_list list = axis_list(kernel);
    struct products p = {.groups = groups, .chained = has_computed_operand(kernel->body)};
    for (int i = 0; i < config->axis_count; i++)
        if (list.items[i].full && list.items[i].extent > LONGEST_FULL)
            return false;
    if (!matmul_shape(arena, kernel, config) || !matmul_axes(arena, kernel, config, &p.axes).ok)
        return false;
    if (groups)
        config->dot = DOT_WGMMA;
    for (int i = 0; i < config->axis_count; i++)
        size_axis(&p, &list.items[i], axis_of_name(kernel, config->axes[i].name), &config->axes[i]);
    config->stages = groups && p.chained ? 1 : 2;
    config->min_blocks = groups && p.chained && widest_sum(kernel, &p, config) <= COLUMNS ? RESIDENT : 0;
    share_out(arena, kernel, &p, &list, config);
    return true;
}

static bool lowers(struct arena *arena, const struct ir_kernel *kernel, const struct config *config, int sm,
                   bool groups) {
    struct lower_options options = {.target = {TARGET_CUDA, sm, groups}};
    struct status status = config_check(arena, kernel, config);
    return status.ok && lower(arena, kernel, config, &options, &status) && status.ok;
}

static struct config *copy_of(struct arena *arena, const struct config *config) {
    struct config *copy = ARENA_NEW(arena, struct config);
    *copy = *config;
    copy->axes = ARENA_ARRAY(arena, struct config_axis, config->axis_count);
    memcpy(copy->axes, config->axes, sizeof *copy->axes * (size_t)config->axis_count);
    return copy;
}

// The operation adds the product to a value that comes in at the region's beginning.
static bool is_added(const struct ir_op *op, const struct ir_value *product) {
    if (!op || op->code != OP_ADD)
        return false;
    const struct ir_value *a = op->operands[0], *b = op->operands[1];
    return (a == product && b->region) || (b == product && a->region);
}

// Whether all products of computed operands are added to what a loop carries, as it is: they can be sent for a turn
// later.
static bool only_adds_up(const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        bool computed = op->code == OP_DOT && (op->operands[0]->region || op->operands[0]->def->code != OP_LOAD ||
                                               op->operands[1]->region || op->operands[1]->def->code != OP_LOAD);
        if (computed && !is_added(op->next, op->results[0]))
            return false;
        for (int r = 0; r < op->region_count; r++)
            if (!only_adds_up(op->regions[r]))
                return false;
    }
    return true;
}

// One block of two groups of warps, which send for products in turns, on a multiprocessor. False: rows are fewer.
static bool take_turns(const struct ir_kernel *kernel, struct config *config) {
    for (int i = 0; i < config->axis_count; i++) {
        struct config_axis *axis = &config->axes[i];
        if (axis->warps != GROUP_WARPS || kernel->axes[axis_of_name(kernel, axis->name)].kind == AXIS_FULL)
            continue;
        axis->warps = 2 * GROUP_WARPS;
        axis->block = MATMUL_ROWS * axis->warps;
        config->chunk = config->strategy == STRATEGY_CHUNKS ? axis->block : config->chunk;
        config->min_blocks = 0;
        return true;
    }
    return false;
}

// Rows of a tensor begin anywhere: threads copy single elements where whole warps of them would shift.
static bool is_odd(const struct lowered *lowered) {
    for (int i = 0; i < lowered->produced_count; i++)
        for (int m = 0; m < lowered->produced[i].map_count; m++) {
            const struct ir_param *param = &lowered->kernel->params[lowered->produced[i].maps[m].param];
            int64_t extent;
            if (is_integer_constant(param->extents[param->rank - 1], &extent) && extent % 2)
                return true;
        }
    return false;
}

// note [producers] Blocks that stay, for which warps of their own copy, hide what a block waits for at its beginning
// and its end. Tiles of the grid go to whoever is free, so that more blocks than multiprocessors do no harm. Where all
// of the sum is one tile there is little to hide, and where the engine for copies can't be used, blocks copy faster
// than few warps do, but single elements.
static bool pays(const struct lowered *lowered, const struct config *config, bool chained) {
    int room = SHARED_BYTES / (config->min_blocks > 1 ? config->min_blocks : 1);
    for (int i = 0; i < lowered->produced_count; i++) {
        const struct produced *produced = &lowered->produced[i];
        for (int m = 0; m < produced->map_count; m++)
            if (!produced->maps[m].inner && !chained)
                return false;
        if ((produced->by_threads && !is_odd(lowered)) || produced_bytes(produced, config->stages) > room)
            return false;
    }
    return lowered->produced_count > 0;
}

static struct config *deepest_that_pays(struct arena *arena, const struct ir_kernel *kernel, struct config *wish,
                                        int sm, bool chained) {
    struct lower_options options = {.target = {TARGET_CUDA, sm, true}};
    for (; wish->stages >= LEAST_STAGES; wish->stages--) {
        struct status status = config_check(arena, kernel, wish);
        const struct lowered *lowered = status.ok ? lower(arena, kernel, wish, &options, &status) : NULL;
        bool two = wish->min_blocks > 1;  // blocks: their threads have too few registers for shifting
        if (lowered && pays(lowered, wish, chained) && !(two && is_odd(lowered)))
            return wish;
    }
    return NULL;
}

static struct config *with_producers(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                                     int sm, bool chained) {
    struct config *wish = copy_of(arena, config), *found = NULL;
    wish->producers = MULTIPROCESSORS;
    wish->stages = MOST_STAGES;
    if (!chained)
        return deepest_that_pays(arena, kernel, wish, sm, chained);
    wish->producers = 2 * MULTIPROCESSORS;
    wish->stages = wish->min_blocks = 2;
    found = deepest_that_pays(arena, kernel, wish, sm, chained);
    if (found || !take_turns(kernel, wish))
        return found;
    wish->producers = MULTIPROCESSORS;
    wish->stages = MOST_STAGES;
    found = deepest_that_pays(arena, kernel, wish, sm, chained);
    return found;
}

struct config *config_for_products(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                                   int sm) {
    for (int groups = sm == GROUPS_OF; groups >= 0 && sm >= 80 && may_multiply(kernel); groups--) {
        struct config *products = copy_of(arena, config);
        if (!shape(arena, kernel, products, groups))
            continue;
        if (!lowers(arena, kernel, products, sm, groups))
            products->stages = 1;  // all of what is summed over may be one tile
        if (!lowers(arena, kernel, products, sm, groups))
            continue;
        bool chained = has_computed_operand(kernel->body);
        bool wanted = groups && (!chained || only_adds_up(kernel->body));
        struct config *produced = wanted ? with_producers(arena, kernel, products, sm, chained) : NULL;
        return produced ? produced : products;
    }
    return NULL;
}
