// SPDX-License-Identifier: Apache-2.0
// Configs: whether one fits a kernel, and a good one to begin with.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lowering/axes.h"

const char *config_strategy_name(enum config_strategy strategy) {
    (void)strategy;
    return "rows";
}

bool config_strategy_named(const char *name, enum config_strategy *strategy) {
    *strategy = STRATEGY_ROWS;
    return !strcmp(name, "rows");
}

struct config_axis *config_axis_named(const struct config *config, const char *name) {
    for (int i = 0; i < config->axis_count; i++)
        if (!strcmp(config->axes[i].name, name))
            return &config->axes[i];
    return NULL;
}

// ---------------------------------------------------------------------------------------------- checking

static struct status wrong(struct arena *arena, const char *code, const char *format, ...) {
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
    } numbers[] = {{"block", axis->block, MAX_BLOCK},   {"vector", axis->vector, MAX_VECTOR}, {"lanes", axis->lanes, MAX_LANES},
                   {"warps", axis->warps, MAX_WARPS}, {"unroll", axis->unroll, MAX_UNROLL}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!is_power_up_to(numbers[i].value, numbers[i].limit))
            return wrong(arena, "config.value", "axes.%s.%s is %d: it must be a power of two from 1 to %d", axis->name,
                         numbers[i].name, numbers[i].value, numbers[i].limit);
    if (axis->vector * axis->lanes * axis->warps > axis->block)
        return wrong(arena, "config.block", "axes.%s: vector %d x lanes %d x warps %d is more than its block %d", axis->name,
                     axis->vector, axis->lanes, axis->warps, axis->block);
    return STATUS_OK;
}

static struct status check_grid(struct arena *arena, const struct axis_list *list, const struct config *config) {
    for (int i = 0; i < config->grid_count; i++) {
        bool known = false;
        for (int a = 0; a < list->count; a++)
            known |= !strcmp(list->items[a].name, config->grid[i]) && list->items[a].loops > 0;
        if (!known)
            return wrong(arena, "config.grid", "grid names %s, which is no loop of the kernel", config->grid[i]);
        for (int j = 0; j < i; j++)
            if (!strcmp(config->grid[i], config->grid[j]))
                return wrong(arena, "config.grid", "grid names %s twice", config->grid[i]);
    }
    return STATUS_OK;
}

struct status config_check(struct arena *arena, const struct ir_kernel *kernel, const struct config *config) {
    struct axis_list list = axis_list(kernel);
    int lanes = 1, warps = 1;
    for (int i = 0; i < list.count; i++)
        if (!config_axis_named(config, list.items[i].name))
            return wrong(arena, "config.axis", "axes.%s is missing", list.items[i].name);
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[i];
        if (!axis_listed(&list, axis->name))
            return wrong(arena, "config.axis", "axes.%s: the kernel %s has no axis of this name", axis->name, kernel->name);
        struct status status = check_axis(arena, axis);
        if (!status.ok)
            return status;
        lanes = lanes > MAX_LANES ? lanes : lanes * axis->lanes;
        warps = warps > MAX_WARPS ? warps : warps * axis->warps;
    }
    if (lanes > MAX_LANES)
        return wrong(arena, "config.lanes", "the lanes of all axes together are more than %d", MAX_LANES);
    if (warps > MAX_WARPS)
        return wrong(arena, "config.warps", "the warps of all axes together are more than %d", MAX_WARPS);
    if (config->min_blocks < 0 || config->min_blocks > 32)
        return wrong(arena, "config.value", "min_blocks is %d: it must be from 0 to 32", config->min_blocks);
    return check_grid(arena, &list, config);
}

// ---------------------------------------------------------------------------------------------- the default

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

// The column axis: neighbouring elements, as many lanes as it fills, vectors where its extent is a multiple of them.
static void shape_columns(struct config_axis *axis, const struct axis_use *use, int element_bytes) {
    int64_t extent = use->extent > 0 ? use->extent : 256;
    int widest = element_bytes >= 8 ? 2 : 16 / element_bytes;
    axis->vector = use->extent > 0 && !use->jagged ? at_most(greatest_power_in(use->extent), widest) : 1;
    axis->lanes = up_to_power((extent + axis->vector - 1) / axis->vector, MAX_LANES);
    axis->block = axis->vector * axis->lanes;
}

static void shape_full(struct config_axis *axis, const struct axis_use *use, int *lanes_left) {
    axis->block = up_to_power(use->extent, MAX_BLOCK);
    axis->lanes = at_most(axis->block, *lanes_left);
    if (use->contiguous == 0)
        axis->lanes = 1;
    *lanes_left /= axis->lanes;
}

static void deal_out(struct config *config, const struct axis_list *list, int columns, int rows, int element_bytes) {
    int lanes = MAX_LANES;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].full && i != columns)
            shape_full(&config->axes[i], &list->items[i], &lanes);
    if (columns >= 0) {
        struct config_axis *axis = &config->axes[columns];
        shape_columns(axis, &list->items[columns], element_bytes);
        while (axis->lanes > lanes) {
            axis->lanes /= 2;
            axis->block = list->items[columns].full ? axis->block : axis->block / 2;
        }
        if (list->items[columns].full) {
            axis->block = up_to_power(list->items[columns].extent, MAX_BLOCK);
            while (axis->vector * axis->lanes > axis->block)
                axis->vector /= 2;
        }
        lanes /= axis->lanes;
    }
    if (rows < 0)
        return;
    struct config_axis *axis = &config->axes[rows];
    bool reduced = list->items[rows].inner;
    int warps = reduced ? 8 : 4, registers = reduced ? 8 : 1;
    axis->lanes = rows == columns ? axis->lanes : lanes;
    axis->warps = warps;
    axis->block = axis->vector * axis->lanes * axis->warps * registers;
}

static int deepest_loop(const struct axis_list *list, int columns, bool inner) {
    int deepest = -1;
    for (int i = 0; i < list->count; i++)
        if (i != columns && list->items[i].loops && (list->items[i].inner || !inner) &&
            (deepest < 0 || list->items[i].depth >= list->items[deepest].depth))
            deepest = i;
    return deepest;
}

// Which loop gets the warps: the innermost that isn't the columns', else the columns themselves; a full axis, whose
// block is no choice, leaves them to whatever loop there is.
static int pick_rows(const struct axis_list *list, int columns) {
    int rows = deepest_loop(list, columns, true);
    if (rows < 0 && columns >= 0 && list->items[columns].full)
        return deepest_loop(list, columns, false);
    return rows >= 0 ? rows : columns;
}

static int pick_columns(const struct axis_list *list) {
    int columns = -1;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].contiguous && (columns < 0 || list->items[i].contiguous >= list->items[columns].contiguous))
            columns = i;
    return columns;
}

static int smallest_element(const struct ir_kernel *kernel) {
    int bytes = 4;
    for (int p = 0; p < kernel->param_count; p++)
        if (kernel->params[p].kind != PARAM_SCALAR && ir_type_is_float(kernel->params[p].type))
            bytes = ir_type_bytes(kernel->params[p].type);
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
    int columns = pick_columns(&list);
    deal_out(config, &list, columns, pick_rows(&list, columns), smallest_element(kernel));
    set_grid(arena, config, &list);
    config->peel = true;
    config->late = true;
    return config;
}
