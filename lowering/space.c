// SPDX-License-Identifier: Apache-2.0
// The config space of a kernel: every knob with its choices, and random draws from it.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/matmul.h"

enum { LARGEST_BLOCK = 4096, MAX_KNOB_CHOICES = 24, REGISTER_BUDGET = 64, PRODUCT_GROWTH = 16, SOME_PRODUCERS = 132 };

struct space_builder {
    struct arena *arena;
    struct config_space *space;
    int capacity;
};

static struct config_knob *add_knob(struct space_builder *builder, const char *path) {
    struct config_knob knob = {.path = path, .choices = ARENA_ARRAY(builder->arena, const char *, MAX_KNOB_CHOICES)};
    struct config_space *space = builder->space;
    ARENA_PUSH(builder->arena, space->knobs, space->knob_count, builder->capacity, knob);
    return &space->knobs[space->knob_count - 1];
}

static void add_powers_at(struct space_builder *builder, const char *path, int from, int to) {
    struct config_knob *knob = add_knob(builder, path);
    for (int power = from; power <= to; power *= 2)
        knob->choices[knob->choice_count++] = arena_printf(builder->arena, "%d", power);
}

static void add_powers(struct space_builder *builder, const char *axis, const char *name, int from, int to) {
    add_powers_at(builder, arena_printf(builder->arena, "axes.%s.%s", axis, name), from, to);
}

static int power_over(int64_t extent) {
    int power = 1;
    while (power < extent && power < MAX_BLOCK)
        power *= 2;
    return power;
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

// The largest block that isn't all waste: an axis of known extent has no more points.
static int largest_block(const struct axis_use *use, int otherwise) {
    if (use->full)
        return power_over(use->extent);
    return use->extent > 0 && !use->jagged ? smaller(power_over(use->extent), otherwise) : otherwise;
}

static int widest_vector(const struct axis_use *use) {
    return use->contiguous ? MAX_VECTOR : 1;
}

// ---------------------------------------------------------------------------------------------- grids

// The lists of axes that may go to the grid: the top loops and none or all of the spreadable ones, either way round.
struct grids {
    int count;
    struct {
        int count;
        const char *names[IR_MAX_AXES];
    } items[4];
};

static void add_grid(struct grids *grids, const struct axis_list *list, bool inner, bool inner_first) {
    int at = grids->count++;
    grids->items[at].count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = list->count; i-- > 0;) {
            bool wanted = (pass == 0) == inner_first ? inner && list->items[i].spreadable && !list->items[i].top
                                                     : list->items[i].top;
            if (wanted)
                grids->items[at].names[grids->items[at].count++] = list->items[i].name;
        }
}

static struct grids grids_of(const struct axis_list *list) {
    struct grids grids = {0};
    bool any = false;
    for (int i = 0; i < list->count; i++)
        any |= list->items[i].spreadable && !list->items[i].top;
    add_grid(&grids, list, false, true);
    if (any) {
        add_grid(&grids, list, true, true);
        add_grid(&grids, list, true, false);
    }
    return grids;
}

static const char *grid_text(struct arena *arena, const struct grids *grids, int choice) {
    struct text text = {0};
    text_add(&text, "[");
    for (int i = 0; i < grids->items[choice].count; i++)
        text_printf(&text, "%s\"%s\"", i ? "," : "", grids->items[choice].names[i]);
    text_add(&text, "]");
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static void add_texts(struct space_builder *builder, const char *path, int count, const char *const *texts) {
    struct config_knob *knob = add_knob(builder, path);
    for (int i = 0; i < count; i++)
        knob->choices[knob->choice_count++] = texts[i];
}

// The strategies that split rows, each if it applies, and what belongs to them.
struct config_strategies {
    int count;
    enum config_strategy items[STRATEGY_COUNT];
    bool stage, lag;
};

// Each is tried on a copy of the kernel.
static struct config_strategies strategies_of(struct arena *arena, const struct ir_kernel *kernel) {
    struct config_strategies strategies = {.count = 1, .items = {STRATEGY_ROWS}};
    for (int i = STRATEGY_ROWS + 1; i < STRATEGY_COUNT; i++) {
        struct config wish = {.strategy = (enum config_strategy)i, .chunk = LEAST_CHUNK};
        if (strategy_applies(arena, kernel, &wish, NULL))
            strategies.items[strategies.count++] = wish.strategy;
    }
    struct config wish = {.strategy = STRATEGY_FLAT, .chunk = LEAST_CHUNK, .stage = true};
    strategies.stage = strategy_applies(arena, kernel, &wish, NULL);
    wish = (struct config){.strategy = STRATEGY_CHUNKS, .chunk = LEAST_CHUNK, .lag = LEAST_LAG};
    strategies.lag = strategy_applies(arena, kernel, &wish, NULL);
    return strategies;
}

static void add_strategies(struct space_builder *builder, const struct ir_kernel *kernel) {
    struct config_strategies strategies = strategies_of(builder->arena, kernel);
    builder->space->strategies = ARENA_NEW(builder->arena, struct config_strategies);
    *builder->space->strategies = strategies;
    const char *texts[STRATEGY_COUNT], *const bools[] = {"false", "true"};
    for (int i = 0; i < strategies.count; i++)
        texts[i] = arena_printf(builder->arena, "\"%s\"", config_strategy_name(strategies.items[i]));
    add_texts(builder, "strategy", strategies.count, texts);
    if (strategies.count == 1)
        return;
    add_powers_at(builder, "chunk", LEAST_CHUNK, MOST_CHUNK);
    add_texts(builder, "search", 2, bools);
    add_texts(builder, "stage", 1 + strategies.stage, bools);
    if (strategies.stage)
        add_texts(builder, "bulk", 2, bools);
    if (!strategies.lag)
        return;
    add_powers_at(builder, "lag", LEAST_LAG / 2, MOST_LAG);
    builder->space->knobs[builder->space->knob_count - 1].choices[0] = "0";
}

struct config_space *config_space(struct arena *arena, const struct ir_kernel *kernel) {
    struct axis_list list = axis_list(kernel);
    struct space_builder builder = {.arena = arena, .space = ARENA_NEW(arena, struct config_space)};
    for (int i = 0; i < list.count; i++) {
        const struct axis_use *use = &list.items[i];
        int largest = largest_block(use, LARGEST_BLOCK);
        add_powers(&builder, use->name, "block", use->full ? largest : 1, largest);
        add_powers(&builder, use->name, "vector", 1, smaller(widest_vector(use), largest));
        add_powers(&builder, use->name, "lanes", 1, smaller(MAX_LANES, largest));
        add_powers(&builder, use->name, "warps", 1, smaller(MAX_WARPS, largest));
        if (use->loops && (use->inner || use->top))
            add_powers(&builder, use->name, "unroll", 1, use->inner ? 4 : 1);
    }
    struct grids grids = grids_of(&list);
    const char *texts[4];
    for (int i = 0; i < grids.count; i++)
        texts[i] = grid_text(arena, &grids, i);
    add_texts(&builder, "grid", grids.count, texts);
    add_strategies(&builder, kernel);
    if (may_multiply(kernel)) {
        add_texts(&builder, "dot", 3, (const char *[]){"\"fma\"", "\"mma\"", "\"wgmma\""});
        add_texts(&builder, "stages", 4, (const char *[]){"1", "2", "3", "4"});
        add_texts(&builder, "producers", 2, (const char *[]){"0", "132"});
    }
    add_texts(&builder, "peel", 2, (const char *[]){"false", "true"});
    add_texts(&builder, "late", 2, (const char *[]){"false", "true"});
    add_texts(&builder, "stream", 2, (const char *[]){"false", "true"});
    add_texts(&builder, "min_blocks", 4, (const char *[]){"0", "1", "2", "4"});
    if (cluster_axis(&list) >= 0)
        add_powers_at(&builder, "cluster", 1, MAX_CLUSTER);
    return builder.space;
}

// ---------------------------------------------------------------------------------------------- random draws

// A counter-based generator: the same seed, the same draws, on every machine.
static uint64_t draw(uint64_t *seed) {
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int draw_below(uint64_t *seed, int count) {
    return (int)(draw(seed) % (uint64_t)count);
}

static int draw_power(uint64_t *seed, int limit) {  // 1, 2, …, limit, each as likely
    int powers = 1;
    while (1 << powers <= limit)
        powers++;
    return 1 << draw_below(seed, powers);
}

struct budget {
    int lanes, warps, registers;  // factors that are left to deal out; what is unrolled counts as registers
};

// A full axis has what is left of it in registers: more lanes and warps than drawn where that would be too much.
static int spread_full(struct config_axis *axis, int room, struct budget *budget) {
    for (; room > budget->registers && budget->lanes > 1; room /= 2) {
        axis->lanes *= 2;
        budget->lanes /= 2;
    }
    for (; room > budget->registers && budget->warps > 1; room /= 2) {
        axis->warps *= 2;
        budget->warps /= 2;
    }
    return room;
}

static void draw_axis(struct config_axis *axis, const struct axis_use *use, struct budget *budget, uint64_t *seed) {
    int room = largest_block(use, MAX_BLOCK);
    axis->vector = draw_power(seed, smaller(smaller(widest_vector(use), budget->registers), room));
    room /= axis->vector;
    axis->lanes = draw_power(seed, smaller(budget->lanes, room));
    room /= axis->lanes;
    axis->warps = draw_power(seed, smaller(budget->warps, room));
    room /= axis->warps;
    budget->lanes /= axis->lanes;
    budget->warps /= axis->warps;
    budget->registers /= axis->vector;
    int registers =
        use->full ? spread_full(axis, room, budget) : draw_power(seed, smaller(smaller(budget->registers, 16), room));
    budget->registers = budget->registers > registers ? budget->registers / registers : 1;
    axis->block = axis->vector * axis->lanes * axis->warps * registers;
    axis->unroll = use->loops && use->inner ? draw_power(seed, smaller(budget->registers, 4)) : 1;
    budget->registers /= axis->unroll;
}

static int warps_of(const struct config *config) {
    int warps = 1;
    for (int i = 0; i < config->axis_count; i++)
        warps *= config->axes[i].warps;
    return warps;
}

static void draw_strategy(struct config *config, const struct config_strategies *strategies, uint64_t *seed) {
    config->strategy = strategies->items[draw_below(seed, strategies->count)];
    if (config->strategy == STRATEGY_ROWS)
        return;
    config->chunk = LEAST_CHUNK * draw_power(seed, MOST_CHUNK / LEAST_CHUNK);
    config->search = draw_below(seed, 2);
    config->stage = config->strategy == STRATEGY_FLAT && strategies->stage && draw_below(seed, 2);
    if (config->strategy == STRATEGY_CHUNKS && !config->search && strategies->lag && draw_below(seed, 2))
        config->lag = LEAST_LAG * draw_power(seed, MOST_LAG / LEAST_LAG);
}

// On the matrix units: more registers for some axes, fewer warps where there would be too many.
static void draw_products(struct config *config, struct arena *arena, const struct ir_kernel *kernel,
                          const struct axis_list *list, uint64_t *seed) {
    bool groups = draw_below(seed, 3) == 0 && matmul_groups(arena, kernel, config);
    int room = groups ? 2 : PRODUCT_GROWTH;
    for (int i = 0; i < config->axis_count; i++) {
        struct config_axis *axis = &config->axes[i];
        int growth = list->items[i].full || axis->lanes == 1 ? 1 : draw_power(seed, smaller(room, 4));
        axis->block *= growth;
        room /= growth;
    }
    config->stages = 1 + draw_below(seed, 4);
    config->producers = groups && draw_below(seed, 2) ? SOME_PRODUCERS : 0;
}

// One in four has one: its blocks take over registers of a thread, or the tile grows.
static void draw_cluster(struct config *config, const struct axis_list *list, uint64_t *seed) {
    int at = cluster_axis(list), blocks = 2 * draw_power(seed, MAX_CLUSTER / 2);
    bool wanted = draw_below(seed, 4) == 0;
    if (!wanted || at < 0 || config->strategy != STRATEGY_ROWS || config->dot != DOT_FMA)
        return;
    struct config_axis *axis = &config->axes[at];
    while (axis->vector * axis->lanes * axis->warps * blocks > axis->block &&
           axis->block < largest_block(&list->items[at], LARGEST_BLOCK))
        axis->block *= 2;
    if (axis->vector * axis->lanes * axis->warps * blocks <= axis->block)
        config->cluster = blocks;
}

struct config *config_random(struct arena *arena, const struct ir_kernel *kernel, uint64_t *seed) {
    struct config_strategies strategies = strategies_of(arena, kernel);
    return config_draw(arena, kernel, &(struct config_space){.strategies = &strategies}, seed);
}

struct config *config_draw(struct arena *arena, const struct ir_kernel *kernel, const struct config_space *space,
                           uint64_t *seed) {
    struct axis_list list = axis_list(kernel);
    struct config *config = ARENA_NEW(arena, struct config);
    config->axis_count = list.count;
    config->axes = ARENA_ARRAY(arena, struct config_axis, list.count);
    struct budget budget = {MAX_LANES, draw_power(seed, MAX_WARPS), REGISTER_BUDGET};
    int start = list.count ? draw_below(seed, list.count) : 0;
    for (int i = 0; i < 2 * list.count; i++) {  // full axes first: their blocks are no choice
        int at = (start + i) % list.count;
        if (list.items[at].full != (i < list.count))
            continue;
        config->axes[at].name = list.items[at].name;
        draw_axis(&config->axes[at], &list.items[at], &budget, seed);
    }
    config->stages = config->cluster = 1;
    if (may_multiply(kernel) && draw_below(seed, 2) && matmul_shape(arena, kernel, config))
        draw_products(config, arena, kernel, &list, seed);
    struct grids grids = grids_of(&list);
    int choice = draw_below(seed, grids.count);
    config->grid_count = grids.items[choice].count;
    config->grid = ARENA_ARRAY(arena, const char *, config->grid_count);
    for (int i = 0; i < config->grid_count; i++)
        config->grid[i] = grids.items[choice].names[i];
    draw_strategy(config, space->strategies, seed);
    for (int i = 0; config->lag && i < list.count; i++)  // a block has one chunk then
        if (list.items[i].top)
            config->axes[i] = (struct config_axis){list.items[i].name, 1, 1, 1, 1, 1};
    config->peel = draw_below(seed, 2);
    config->late = draw_below(seed, 2);
    config->stream = draw_below(seed, 2);
    config->min_blocks = (const int[]){0, 1, 2, 4}[draw_below(seed, 4)];
    while (warps_of(config) * config->min_blocks > MAX_RESIDENT_WARPS)
        config->min_blocks /= 2;
    draw_cluster(config, &list, seed);
    config->bulk = config->stage && draw_below(seed, 2);
    return config;
}
