// SPDX-License-Identifier: Apache-2.0
// What to try next. In: a kernel's space of configs, and what came of the configs tried so far. Out: a config that was
// not tried yet.
//
// A small space is gone through whole. Otherwise: the default config, that under each strategy and with each single knob
// set otherwise, then its neighbours among drawn ones, then candidates bred from the best known (moved, crossed) and drawn
// afresh, of which the model picks; now and then it isn't asked, so that what it doesn't know can show. The same seed and
// the same outcomes give the same proposals.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/search.h"

enum { SMALL_SPACE = 1024, POOL = 96, ELITES = 8, ATTEMPTS = 400, FIRST_NEIGHBOURS = 6, NEIGHBOURS = 6, BLIND = 8, LIST_LIMIT = 1 << 15 };
enum { HOPELESS = 2, UNREASONABLE = 3 };  // log2 of how many times the best's, or the default's, time

static const double compile_charge = 0.1;

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

// ---------------------------------------------------------------------------------------------- candidates

static struct config *breed(struct search *search, struct arena *arena, const struct tune_rows *rows, const int *elites, int elite_count)
{
    int kind = search_draw_below(search, 8);
    if (elite_count == 0 || kind >= 6) return config_draw(arena, search->kernel, search->space, &search->state);
    // The better, the likelier.
    int first = search_draw_below(search, 1 + search_draw_below(search, elite_count)), second = search_draw_below(search, elite_count);
    const struct config *a = rows->items[elites[first]].config, *b = rows->items[elites[second]].config;
    return kind < 4 || first == second ? search_move(search, arena, a) : search_cross(search, arena, a, b);
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

// What a config is charged for keeping a core from compiling others, as log2 of a time: one that takes several times as long
// as the best one did has to be so much better.
static double charge(const struct search *search, const struct config *config, double best_seconds)
{
    double seconds = search_compile_seconds(&search->model, config);
    if (seconds <= best_seconds || best_seconds <= 0) return 0;
    double ratio = log2(seconds / best_seconds);
    return ratio > 2 ? compile_charge * ratio + ratio - 2 : compile_charge * ratio;
}

// By reckoning alone eight times what the best is: what is learnt from times says nothing of what is that far from all that
// was timed, and one such config can keep the device for as long as a hundred others.
static bool is_unreasonable(const struct search *search, const struct config *config, const struct config *best)
{
    const struct search_cost *cost = search->model.cost;
    return cost && best && search_cost(cost, config, 0) > search_cost(cost, best, 0) + UNREASONABLE;
}

// The likeliest of a pool of new configs; NULL if none could be found. Now and then the first that isn't hopeless.
static struct config *pick(struct search *search, struct arena *arena, const struct tune_rows *rows)
{
    int elites[ELITES], count = tune_rows_best(rows, ELITES, elites), found = 0;
    struct candidate best = {NULL, INFINITY};
    struct config *spare = NULL;  // where there is no other
    bool blind = search_draw_below(search, BLIND) == 0;
    search_learn(search->arena, rows, &search->model);
    double hopeless = search->model.count ? log2(rows->items[elites[0]].result.median) + HOPELESS
                      : search->model.cost ? search->standard_cost + HOPELESS : INFINITY;
    for (int i = 0; i < ATTEMPTS && found < POOL; i++) {
        struct config *config = breed(search, arena, rows, elites, count);
        if (!config || !config_check(arena, search->kernel, config).ok || !is_new(search, arena, config)) continue;
        if (is_unreasonable(search, config, count ? rows->items[elites[0]].config : NULL)) {
            spare = config;
            continue;
        }
        found++;
        double score = score_of(search, config) + (count ? charge(search, config, rows->items[elites[0]].result.compile_seconds) : 0);
        if (score < best.score) best = (struct candidate){config, score};
        if (blind && score < hopeless) return config;
    }
    return best.config ? best.config : spare;
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
    return search_with_choices(search, arena, config_default_for(arena, search->kernel, &search->facts.data), choices,
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

// Blocks that share a tile get as much of it as one had before, and one that has it to itself no more.
static void grow_for_cluster(const struct search *search, const struct config *standard, struct config *config)
{
    const char *shared = config_cluster_axis(search->kernel);
    struct config_axis *axis = shared ? config_axis_named(config, shared) : NULL;
    if (axis) axis->block = axis->block * config->cluster / standard->cluster;
}

// The default config with some choices made otherwise; NULL if that is none, was tried or isn't worth it.
static struct config *vary(struct search *search, struct arena *arena, const struct config *standard, const int *choices)
{
    struct config *config = search_with_choices(search, arena, standard, choices, true);
    if (config) grow_for_cluster(search, standard, config);
    if (!config || !config_check(arena, search->kernel, config).ok || !is_new(search, arena, config)) return NULL;
    return !search->model.cost || score_of(search, config) < search->standard_cost + HOPELESS ? config : NULL;
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
        struct config *config = vary(search, arena, standard, choices);
        if (config) return config;
    }
    return NULL;
}

// Whether a choice of this knob is tried by itself: axes have neighbours instead, strategies and pieces were tried.
static bool is_flavour(const char *path)
{
    return strncmp(path, "axes.", 5) != 0 && strcmp(path, "strategy") != 0 && strcmp(path, "chunk") != 0;
}

// The default config with one knob set otherwise, knob by knob: what each is worth here, before they are combined.
static struct config *next_flavour(struct search *search, struct arena *arena, const struct config *standard)
{
    const struct config_space *space = search->space;
    int at = 0;
    for (int knob = 0; knob < space->knob_count; knob++) {
        const int count = space->knobs[knob].choice_count, step = count > 4 ? 3 : 1;  // of many not every one
        if (!is_flavour(space->knobs[knob].path)) continue;
        for (int choice = step - 1; choice < count; choice += step) {
            if (at++ < search->flavours) continue;
            search->flavours = at;
            int *choices = ARENA_ARRAY(arena, int, space->knob_count + 1);
            for (int i = 0; i < space->knob_count; i++) choices[i] = -1;
            choices[knob] = choice;
            struct config *config = vary(search, arena, standard, choices);
            if (config) return config;
        }
    }
    return NULL;
}

static struct config *choose(struct search *search, struct arena *arena, const struct tune_rows *rows)
{
    struct config *standard = config_default_for(arena, search->kernel, &search->facts.data);
    if (is_new(search, arena, standard)) return standard;
    if (search->whole) return next_of_whole(search, arena);
    struct config *other = next_strategy(search, arena, standard);
    if (!other) other = next_flavour(search, arena, standard);
    if (other) return other;
    if (search->neighbours < FIRST_NEIGHBOURS && rows->count % 2) {  // before much else is known
        search->neighbours++;
        struct config *best = NULL;
        for (int i = 0, found = 0; i < ATTEMPTS && found < NEIGHBOURS; i++) {
            struct config *moved = search_move(search, arena, standard);
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
