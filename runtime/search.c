// SPDX-License-Identifier: Apache-2.0
// What to try next. In: a kernel's space of configs, and what came of the configs tried so far. Out: a config that was
// not tried yet.
//
// A small space is gone through whole. Otherwise: the default config, then its neighbours among drawn ones, then
// candidates bred from the best known (moved, crossed) and drawn afresh, of which the model picks; now and then it isn't
// asked, so that what it doesn't know can show. The same seed and the same outcomes give the same proposals.
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/search.h"

enum { SMALL_SPACE = 1024, POOL = 96, ELITES = 8, ATTEMPTS = 400, FIRST_ROWS = 16, NEIGHBOURS = 6, BLIND = 8, HOPELESS = 2, LIST_LIMIT = 1 << 15 };

#define SOME_CHUNK "512"  // where a config had none

struct search {
    struct arena *arena;
    const struct ir_kernel *kernel;
    struct search_facts facts;
    struct config_space *space;
    struct search_model model;
    double standard_cost;  // of the default config, by reckoning
    uint64_t state;
    // Texts of what was proposed, or was there: an open hash table.
    const char **seen;
    int seen_count, seen_size, rows_seen;
    int64_t whole;      // of a small space: how many there are; else 0
    int64_t place;      // how many of them were gone through
    int strategies;     // how many combinations of strategy and size of piece were
};

// ---------------------------------------------------------------------------------------------- chance

static uint64_t draw(struct search *search)
{
    uint64_t z = search->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int draw_below(struct search *search, int count)
{
    return count > 0 ? (int)(draw(search) % (uint64_t)count) : 0;
}

// ---------------------------------------------------------------------------------------------- what was seen

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static const char **find_slot(const char **table, int size, const char *text)
{
    uint64_t at = hash_text(text) & (uint64_t)(size - 1);
    while (table[at] && strcmp(table[at], text) != 0) at = (at + 1) & (uint64_t)(size - 1);
    return &table[at];
}

static void grow_seen(struct search *search)
{
    int size = search->seen_size ? 2 * search->seen_size : 256;
    const char **table = ARENA_ARRAY(search->arena, const char *, size);
    for (int i = 0; i < search->seen_size; i++)
        if (search->seen[i]) *find_slot(table, size, search->seen[i]) = search->seen[i];
    search->seen = table;
    search->seen_size = size;
}

// Whether it is new; if so it no longer is.
static bool note(struct search *search, const char *text)
{
    if (2 * search->seen_count >= search->seen_size) grow_seen(search);
    const char **slot = find_slot(search->seen, search->seen_size, text);
    if (*slot) return false;
    *slot = text;
    search->seen_count++;
    return true;
}

// Also false for what other shards try.
static bool is_new(struct search *search, struct arena *arena, const struct config *config)
{
    const char *text = tune_config_text(arena, search->kernel, config);
    return shard_has(&search->facts.shard, text) && (search->seen_size == 0 || !*find_slot(search->seen, search->seen_size, text));
}

// ---------------------------------------------------------------------------------------------- moves

static void scale(int *value, bool up)
{
    *value = up ? 2 * *value : *value > 1 ? *value / 2 : 1;
}

// A factor of the axis grows or shrinks; the block either follows or is kept, so that registers make up for it.
static void move_axis(struct search *search, struct config *config)
{
    struct config_axis *axis = &config->axes[draw_below(search, config->axis_count)];
    int *const factors[] = {&axis->vector, &axis->lanes, &axis->warps};
    bool up = draw_below(search, 2);
    int which = draw_below(search, 5);
    if (which == 4) {
        scale(&axis->unroll, up);
        return;
    }
    if (which < 3) {
        int before = *factors[which];
        scale(factors[which], up);
        if (*factors[which] == before || draw_below(search, 2)) return;
    }
    scale(&axis->block, up);
}

// Lanes, or warps, from one axis to another.
static void move_between(struct search *search, struct config *config)
{
    struct config_axis *from = &config->axes[draw_below(search, config->axis_count)], *to = &config->axes[draw_below(search, config->axis_count)];
    bool warps = draw_below(search, 2), blocks = draw_below(search, 2);
    int *give = warps ? &from->warps : &from->lanes, *take = warps ? &to->warps : &to->lanes;
    if (from == to || *give < 2) return;
    scale(give, false);
    scale(take, true);
    if (blocks) scale(&from->block, false);
    if (blocks || to->block < to->vector * to->lanes * to->warps) scale(&to->block, true);
}

// Sets the value at a path ("axes.tm.block") of a config's JSON.
static bool set_path(cJSON *root, const char *path, const char *choice)
{
    cJSON *object = root, *value = cJSON_Parse(choice);
    char name[256];
    for (const char *dot; value && (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        if ((size_t)(dot - path) >= sizeof name) break;
        memcpy(name, path, (size_t)(dot - path));
        name[dot - path] = 0;
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        if (!object) break;
    }
    if (value && object && !strchr(path, '.')) {
        if (cJSON_HasObjectItem(object, path)) return cJSON_ReplaceItemInObjectCaseSensitive(object, path, value);
        if (cJSON_AddItemToObject(object, path, value)) return true;
    }
    cJSON_Delete(value);
    return false;
}

// Only with a strategy that splits rows does a config have pieces, and what belongs to them.
static void settle_strategy(cJSON *root)
{
    const char *strategy = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "strategy"));
    const cJSON *chunk = cJSON_GetObjectItemCaseSensitive(root, "chunk");
    bool flat = strategy && strcmp(strategy, "flat") == 0, chunks = strategy && strcmp(strategy, "chunks") == 0;
    if (!flat) set_path(root, "stage", "false");
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "stage"))) set_path(root, "bulk", "false");
    if (flat || chunks) set_path(root, "cluster", "1");
    if (!chunks) set_path(root, "lag", "0");
    if (!flat && !chunks) {
        set_path(root, "search", "false");
        set_path(root, "chunk", "0");
    } else if (!cJSON_IsNumber(chunk) || cJSON_GetNumberValue(chunk) < 1) {
        set_path(root, "chunk", SOME_CHUNK);
    }
}

// A config with knobs set to choices of the space; NULL if that is no config. `choices` by knob, -1: as it is. What
// doesn't go with the strategy that comes out is left out, if `settle` says so.
static struct config *with_choices(struct search *search, struct arena *arena, const struct config *config, const int *choices,
                                   bool settle)
{
    struct config *made = NULL;
    cJSON *root = cJSON_Parse(tune_config_text(arena, search->kernel, config));
    bool ok = root != NULL;
    for (int i = 0; i < search->space->knob_count && ok; i++)
        if (choices[i] >= 0) ok = set_path(root, search->space->knobs[i].path, search->space->knobs[i].choices[choices[i]]);
    if (ok && settle) settle_strategy(root);
    char *text = ok ? cJSON_PrintUnformatted(root) : NULL;
    if (text && !config_parse(arena, search->kernel, text, strlen(text), &made).ok) made = NULL;
    free(text);
    cJSON_Delete(root);
    return made;
}

// Any knob of the space to any of its choices: whatever knobs there are.
static struct config *move_knob(struct search *search, struct arena *arena, const struct config *config)
{
    int *choices = ARENA_ARRAY(arena, int, search->space->knob_count + 1);
    for (int i = 0; i < search->space->knob_count; i++) choices[i] = -1;
    int knob = draw_below(search, search->space->knob_count);
    for (int i = 0; i < 8 && strncmp(search->space->knobs[knob].path, "axes.", 5) == 0; i++) knob = draw_below(search, search->space->knob_count);
    choices[knob] = draw_below(search, search->space->knobs[knob].choice_count);
    return with_choices(search, arena, config, choices, true);
}

static struct config *move(struct search *search, struct arena *arena, const struct config *config)
{
    struct config *moved = config_copy(arena, config);
    int moves = 1 + draw_below(search, 3);
    for (int i = 0; i < moves && moved; i++) {
        int kind = draw_below(search, 10);
        if (kind < 5 && moved->axis_count) move_axis(search, moved);
        else if (kind < 7 && moved->axis_count > 1) move_between(search, moved);
        else moved = move_knob(search, arena, moved);
    }
    return moved;
}

// Axes of one parent or the other, the rest of the first.
static struct config *cross(struct search *search, struct arena *arena, const struct config *a, const struct config *b)
{
    struct config *child = config_copy(arena, a);
    for (int i = 0; i < child->axis_count && i < b->axis_count; i++)
        if (draw_below(search, 2)) child->axes[i] = b->axes[i];
    if (draw_below(search, 2)) child->stream = b->stream;
    if (draw_below(search, 2)) child->min_blocks = b->min_blocks;
    if (draw_below(search, 2)) child->cluster = b->cluster;
    if (draw_below(search, 2) && child->strategy == b->strategy) {
        child->chunk = b->chunk;
        child->search = b->search;
        child->stage = b->stage;
        child->bulk = b->bulk;
        child->lag = b->lag;
    }
    child->dot = a->dot;  // what the axes are dealt out for
    if (a->dot == b->dot && draw_below(search, 2)) child->stages = b->stages;
    if (a->dot == b->dot && draw_below(search, 2)) child->producers = b->producers;
    if (draw_below(search, 2)) child->peel = b->peel;
    if (draw_below(search, 2)) child->late = b->late;
    return child;
}

// ---------------------------------------------------------------------------------------------- candidates

static struct config *breed(struct search *search, struct arena *arena, const struct tune_rows *rows, const int *elites, int elite_count)
{
    int kind = draw_below(search, 8);
    if (elite_count == 0 || kind >= 6) return config_draw(arena, search->kernel, search->space, &search->state);
    // The better, the likelier.
    int first = draw_below(search, 1 + draw_below(search, elite_count)), second = draw_below(search, elite_count);
    const struct config *a = rows->items[elites[first]].config, *b = rows->items[elites[second]].config;
    return kind < 4 || first == second ? move(search, arena, a) : cross(search, arena, a, b);
}

struct candidate {
    struct config *config;
    double score;
};

// log2 of a time where there is a model or a cost, else only an order.
static double score_of(struct search *search, const struct config *config)
{
    if (search->model.count) return search_predict(&search->model, config);
    return search->model.cost ? search_cost(search->model.cost, config, 0) : search_prior(config, &search->facts);
}

// The likeliest of a pool of new configs; NULL if none could be found. Now and then the first that isn't hopeless.
static struct config *pick(struct search *search, struct arena *arena, const struct tune_rows *rows)
{
    int elites[ELITES], count = tune_rows_best(rows, ELITES, elites), found = 0;
    struct candidate best = {NULL, INFINITY};
    bool blind = draw_below(search, BLIND) == 0;
    search_learn(search->arena, rows, &search->model);
    double hopeless = search->model.count ? log2(rows->items[elites[0]].result.median) + HOPELESS
                      : search->model.cost ? search->standard_cost + HOPELESS : INFINITY;
    for (int i = 0; i < ATTEMPTS && found < POOL; i++) {
        struct config *config = breed(search, arena, rows, elites, count);
        if (!config || !config_check(arena, search->kernel, config).ok || !is_new(search, arena, config)) continue;
        found++;
        double score = score_of(search, config);
        if (score < best.score) best = (struct candidate){config, score};
        if (blind && score < hopeless) return config;
    }
    return best.config;
}

// ---------------------------------------------------------------------------------------------- small spaces

static int64_t size_of_space(const struct config_space *space)
{
    int64_t size = 1;
    for (int i = 0; i < space->knob_count && size <= LIST_LIMIT; i++) size *= space->knobs[i].choice_count;
    return size;
}

static struct config *at_place(struct search *search, struct arena *arena, int64_t place)
{
    int *choices = ARENA_ARRAY(arena, int, search->space->knob_count + 1);
    for (int i = 0; i < search->space->knob_count; i++) {
        choices[i] = (int)(place % search->space->knobs[i].choice_count);
        place /= search->space->knobs[i].choice_count;
    }
    return with_choices(search, arena, config_default_for(arena, search->kernel, &search->facts.data), choices,
                        false);
}

// The combinations of a space that has few configs among them; 0 if it has many.
static int64_t count_whole(struct search *search)
{
    int64_t size = size_of_space(search->space), count = 0;
    if (size > LIST_LIMIT) return 0;
    for (int64_t i = 0; i < size && count <= SMALL_SPACE; i++) {
        struct arena *arena = arena_new();
        count += at_place(search, arena, i) != NULL;
        arena_free(arena);
    }
    return count > 0 && count <= SMALL_SPACE ? size : 0;
}

static struct config *next_of_whole(struct search *search, struct arena *arena)
{
    while (search->place < search->whole) {
        struct config *config = at_place(search, arena, search->place++);
        if (config && is_new(search, arena, config)) return config;
    }
    return NULL;
}

// ---------------------------------------------------------------------------------------------- the whole

struct search *search_new(struct arena *arena, const struct ir_kernel *kernel, uint64_t seed, const struct search_facts *facts)
{
    struct search *search = ARENA_NEW(arena, struct search);
    *search = (struct search){.arena = arena, .kernel = kernel, .facts = *facts, .space = config_space(arena, kernel),
                              .state = seed * 0x9e3779b97f4a7c15u + 1};
    search->whole = count_whole(search);
    search->model.cost = search_cost_new(arena, kernel, facts);
    if (search->model.cost) search->standard_cost = search_cost(search->model.cost, config_default_for(arena, kernel, &facts->data), 0);
    return search;
}

static int knob_named(const struct search *search, const char *path)
{
    for (int i = 0; i < search->space->knob_count; i++)
        if (strcmp(search->space->knobs[i].path, path) == 0) return i;
    return -1;
}

// The default config under each other strategy for jagged loops, with every second size of piece: which strategy is right
// depends on the rows' lengths more than anything else does, so all are tried at once.
static struct config *next_strategy(struct search *search, struct arena *arena, const struct config *standard)
{
    int strategy = knob_named(search, "strategy"), chunk = knob_named(search, "chunk");
    if (strategy < 0) return NULL;
    int sizes = chunk < 0 ? 1 : search->space->knobs[chunk].choice_count, all = search->space->knobs[strategy].choice_count * sizes;
    for (; search->strategies < all; search->strategies++) {
        int *choices = ARENA_ARRAY(arena, int, search->space->knob_count + 1);
        for (int i = 0; i < search->space->knob_count; i++) choices[i] = -1;
        choices[strategy] = search->strategies / sizes;
        if (chunk >= 0) choices[chunk] = search->strategies % sizes;
        if (search->strategies % sizes % 2) continue;
        struct config *config = with_choices(search, arena, standard, choices, true);
        if (config && is_new(search, arena, config) && (!search->model.cost || score_of(search, config) < search->standard_cost + HOPELESS))
            return config;
    }
    return NULL;
}

static struct config *choose(struct search *search, struct arena *arena, const struct tune_rows *rows)
{
    struct config *standard = config_default_for(arena, search->kernel, &search->facts.data);
    if (is_new(search, arena, standard)) return standard;
    if (search->whole) return next_of_whole(search, arena);
    struct config *other = next_strategy(search, arena, standard);
    if (other) return other;
    if (rows->count < FIRST_ROWS && rows->count % 2) {  // neighbours of the default, before much else is known
        struct config *best = NULL;
        for (int i = 0, found = 0; i < ATTEMPTS && found < NEIGHBOURS; i++) {
            struct config *moved = move(search, arena, standard);
            if (!moved || !config_check(arena, search->kernel, moved).ok || !is_new(search, arena, moved)) continue;
            found++;
            if (!best || score_of(search, moved) < score_of(search, best)) best = moved;
        }
        if (best) return best;
    }
    return pick(search, arena, rows);
}

struct config *search_next(struct search *search, const struct tune_rows *rows)
{
    struct arena *arena = arena_new();
    if (!arena) return NULL;
    for (; search->rows_seen < rows->count; search->rows_seen++)
        if (rows->items[search->rows_seen].config) note(search, rows->items[search->rows_seen].text);
    struct config *config = choose(search, arena, rows), *kept = config ? config_copy(search->arena, config) : NULL;
    for (int i = 0; kept && i < kept->axis_count; i++)
        kept->axes[i].name = arena_copy(search->arena, kept->axes[i].name, strlen(kept->axes[i].name));
    for (int i = 0; kept && i < kept->grid_count; i++)
        kept->grid[i] = arena_copy(search->arena, kept->grid[i], strlen(kept->grid[i]));
    if (kept) note(search, tune_config_text(search->arena, search->kernel, kept));
    arena_free(arena);
    return kept;
}
