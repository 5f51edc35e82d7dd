// SPDX-License-Identifier: Apache-2.0
// Configs: names, and whether one fits a kernel.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lowering/axes.h"
#include "lowering/matmul.h"

static const char *const strategy_names[STRATEGY_COUNT] = {[STRATEGY_ROWS] = "rows", [STRATEGY_CHUNKS] = "chunks",
                                                            [STRATEGY_FLAT] = "flat"};

const char *config_strategy_name(enum config_strategy strategy) {
    return strategy_names[strategy];
}

bool config_strategy_named(const char *name, enum config_strategy *strategy) {
    for (int i = 0; i < STRATEGY_COUNT; i++)
        if (!strcmp(name, strategy_names[i])) {
            *strategy = (enum config_strategy)i;
            return true;
        }
    return false;
}

static const char *const dot_names[DOT_COUNT] = {[DOT_FMA] = "fma", [DOT_MMA] = "mma", [DOT_WGMMA] = "wgmma", [DOT_TF32] = "tf32"};

const char *config_dot_name(enum config_dot dot) {
    return dot_names[dot];
}

bool config_dot_named(const char *name, enum config_dot *dot) {
    for (int i = 0; i < DOT_COUNT; i++)
        if (!strcmp(name, dot_names[i])) {
            *dot = (enum config_dot)i;
            return true;
        }
    return false;
}

struct config_axis *config_axis_named(const struct config *config, const char *name) {
    for (int i = 0; i < config->axis_count; i++)
        if (!strcmp(config->axes[i].name, name))
            return &config->axes[i];
    return NULL;
}

struct config *config_copy(struct arena *arena, const struct config *config) {
    struct config *copy = ARENA_NEW(arena, struct config);
    *copy = *config;
    copy->axes = ARENA_ARRAY(arena, struct config_axis, config->axis_count + 1);
    copy->grid = ARENA_ARRAY(arena, const char *, config->grid_count + 1);
    for (int i = 0; i < config->axis_count; i++) {
        copy->axes[i] = config->axes[i];
        copy->axes[i].name = arena_copy(arena, config->axes[i].name, strlen(config->axes[i].name));
    }
    for (int i = 0; i < config->grid_count; i++)
        copy->grid[i] = arena_copy(arena, config->grid[i], strlen(config->grid[i]));
    return copy;
}

// ---------------------------------------------------------------------------------------------- checking

struct status config_wrong(struct arena *arena, const char *code, const char *format, ...) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return (struct status){false, code, arena_copy(arena, reason, strlen(reason)), {0}};
}

static bool is_power_up_to(int value, int limit) {
    return value >= 1 && value <= limit && !(value & (value - 1));
}

static struct status check_axis(struct arena *arena, const struct config_axis *axis) {
    const struct {
        const char *name;
        int value, limit;
    } numbers[] = {{"block", axis->block, MAX_BLOCK},
                   {"vector", axis->vector, MAX_VECTOR},
                   {"lanes", axis->lanes, MAX_LANES},
                   {"warps", axis->warps, MAX_WARPS},
                   {"unroll", axis->unroll, MAX_UNROLL}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!is_power_up_to(numbers[i].value, numbers[i].limit))
            return config_wrong(arena, "config.value", "axes.%s.%s is %d: it must be a power of two from 1 to %d", axis->name,
                         numbers[i].name, numbers[i].value, numbers[i].limit);
    if (axis->vector * axis->lanes * axis->warps > axis->block)
        return config_wrong(arena, "config.block", "axes.%s: vector %d x lanes %d x warps %d is more than its block %d",
                     axis->name, axis->vector, axis->lanes, axis->warps, axis->block);
    return STATUS_OK;
}

static struct status check_grid(struct arena *arena, const struct axis_list *list, const struct config *config) {
    for (int i = 0; i < config->grid_count; i++) {
        bool known = false;
        for (int a = 0; a < list->count; a++)
            known |= !strcmp(list->items[a].name, config->grid[i]) && list->items[a].loops > 0;
        if (!known)
            return config_wrong(arena, "config.grid", "grid names %s, which is no loop of the kernel", config->grid[i]);
        for (int j = 0; j < i; j++)
            if (!strcmp(config->grid[i], config->grid[j]))
                return config_wrong(arena, "config.grid", "grid names %s twice", config->grid[i]);
    }
    return STATUS_OK;
}

static struct status check_cluster(struct arena *arena, const struct axis_list *list, const struct config *config) {
    int at = cluster_axis(list);
    if (!is_power_up_to(config->cluster, MAX_CLUSTER))
        return config_wrong(arena, "config.value", "cluster is %d: it must be a power of two from 1 to %d", config->cluster,
                            MAX_CLUSTER);
    if (config->cluster == 1)
        return STATUS_OK;
    if (at < 0)
        return config_wrong(arena, "config.cluster", "cluster is %d: the kernel has no inner loop for blocks to share",
                            config->cluster);
    if (config->strategy != STRATEGY_ROWS)
        return config_wrong(arena, "config.cluster", "cluster is %d: it belongs to the strategy rows", config->cluster);
    if (config->dot != DOT_FMA)
        return config_wrong(arena, "config.cluster", "cluster is %d: it belongs to the dot fma", config->cluster);
    const struct config_axis *axis = config_axis_named(config, list->items[at].name);
    if (axis->vector * axis->lanes * axis->warps * config->cluster > axis->block)
        return config_wrong(arena, "config.cluster",
                            "cluster is %d: with axes.%s's vector %d x lanes %d x warps %d that is more than its block %d",
                            config->cluster, axis->name, axis->vector, axis->lanes, axis->warps, axis->block);
    return STATUS_OK;
}

static struct status check_strategy(struct arena *arena, const struct config *config) {
    const char *name = config_strategy_name(config->strategy);
    if (config->strategy != STRATEGY_ROWS && !is_power_up_to(config->chunk, MAX_CHUNK))
        return config_wrong(arena, "config.value", "chunk is %d: with the strategy %s it must be a power of two from 1 to %d",
                     config->chunk, name, MAX_CHUNK);
    if (config->strategy == STRATEGY_ROWS && config->chunk)
        return config_wrong(arena, "config.value", "chunk is %d: it belongs to the strategies chunks and flat", config->chunk);
    if (config->strategy == STRATEGY_ROWS && config->search)
        return config_wrong(arena, "config.value", "search is true: it belongs to the strategies chunks and flat");
    if (config->strategy != STRATEGY_FLAT && config->stage)
        return config_wrong(arena, "config.value", "stage is true: it belongs to the strategy flat");
    if (!config->stage && config->bulk)
        return config_wrong(arena, "config.value", "bulk is true: it belongs to stage");
    if (config->strategy != STRATEGY_CHUNKS && config->lag)
        return config_wrong(arena, "config.value", "lag is %d: it belongs to the strategy chunks", config->lag);
    if (config->lag && !is_power_up_to(config->lag, MAX_LAG))
        return config_wrong(arena, "config.value", "lag is %d: it must be 0 or a power of two up to %d", config->lag, MAX_LAG);
    return STATUS_OK;
}

struct status config_check(struct arena *arena, const struct ir_kernel *kernel, const struct config *config) {
    struct axis_list list = axis_list(kernel);
    int lanes = 1, warps = 1;
    for (int i = 0; i < list.count; i++)
        if (!config_axis_named(config, list.items[i].name))
            return config_wrong(arena, "config.axis", "axes.%s is missing", list.items[i].name);
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[i];
        if (!axis_listed(&list, axis->name))
            return config_wrong(arena, "config.axis", "axes.%s: the kernel %s has no axis of this name", axis->name,
                         kernel->name);
        struct status status = check_axis(arena, axis);
        if (!status.ok)
            return status;
        lanes = lanes > MAX_LANES ? lanes : lanes * axis->lanes;
        warps = warps > MAX_WARPS ? warps : warps * axis->warps;
    }
    if (lanes > MAX_LANES && config->dot == DOT_FMA)
        return config_wrong(arena, "config.lanes", "the lanes of all axes together are more than %d", MAX_LANES);
    if (warps > MAX_WARPS)
        return config_wrong(arena, "config.warps", "the warps of all axes together are more than %d", MAX_WARPS);
    if (config->min_blocks < 0 || config->min_blocks > 32)
        return config_wrong(arena, "config.value", "min_blocks is %d: it must be from 0 to 32", config->min_blocks);
    if (warps * config->min_blocks > MAX_RESIDENT_WARPS)
        return config_wrong(arena, "config.min_blocks", "min_blocks is %d: blocks of %d warps are too large for that, a "
                     "multiprocessor holds %d warps", config->min_blocks, warps, MAX_RESIDENT_WARPS);
    struct status status = check_strategy(arena, config);
    if (status.ok)
        status = check_cluster(arena, &list, config);
    if (!status.ok)
        return status;
    if (config->producers < 0 || config->producers > MAX_PRODUCERS)
        return config_wrong(arena, "config.value", "producers is %d: it must be from 0 to %d", config->producers, MAX_PRODUCERS);
    bool slabs = config->dot == DOT_FMA && config->strategy == STRATEGY_ROWS;
    if (config->producers && config->dot != DOT_WGMMA && !slabs)
        return config_wrong(arena, "config.value", "producers is %d: it belongs to the dot wgmma, or to the strategy rows with the dot fma",
                            config->producers);
    if (slabs && config->producers % config->cluster)
        return config_wrong(arena, "config.value", "producers is %d: it must be a multiple of cluster, which is %d", config->producers,
                            config->cluster);
    int most_stages = slabs && config->producers ? MAX_SLAB_STAGES : MAX_STAGES;
    if (config->stages < 1 || config->stages > most_stages)
        return config_wrong(arena, "config.value", "stages is %d: it must be from 1 to %d", config->stages, most_stages);
    if (config->dot == DOT_FMA && config->stages > 1 && !config->producers)
        return config_wrong(arena, "config.value", "stages is %d: it belongs to the dots mma and wgmma, and to producers", config->stages);
    status = check_grid(arena, &list, config);
    return status.ok && config->dot != DOT_FMA ? matmul_check(arena, kernel, config) : status;
}
