// SPDX-License-Identifier: Apache-2.0
// Configs made of others. In: configs of a kernel, its space. Out: one with knobs moved, set or taken from two parents; it
// may be none of the kernel's.
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/search.h"

#define SOME_CHUNK "512"  // where a config had none

// ---------------------------------------------------------------------------------------------- chance

static uint64_t draw(struct search *search)
{
    uint64_t z = search->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int search_draw_below(struct search *search, int count)
{
    return count > 0 ? (int)(draw(search) % (uint64_t)count) : 0;
}

// ---------------------------------------------------------------------------------------------- moves

static void scale(int *value, bool up)
{
    *value = up ? 2 * *value : *value > 1 ? *value / 2 : 1;
}

// Whether the space has vectors along an axis: elsewhere they are but more code.
static bool has_vectors(const struct search *search, const struct config_axis *axis)
{
    char path[256];
    snprintf(path, sizeof path, "axes.%s.vector", axis->name);
    for (int i = 0; i < search->space->knob_count; i++)
        if (strcmp(search->space->knobs[i].path, path) == 0) return search->space->knobs[i].choice_count > 1;
    return false;
}

// A factor of the axis grows or shrinks; the block either follows or is kept, so that registers make up for it.
static void move_axis(struct search *search, struct config *config)
{
    struct config_axis *axis = &config->axes[search_draw_below(search, config->axis_count)];
    int *const factors[] = {&axis->vector, &axis->lanes, &axis->warps};
    bool up = search_draw_below(search, 2);
    int which = search_draw_below(search, 5);
    if (which == 4) {
        scale(&axis->unroll, up);
        return;
    }
    if (which == 0 && up && !has_vectors(search, axis)) which = 3;
    if (which < 3) {
        int before = *factors[which];
        scale(factors[which], up);
        if (*factors[which] == before || search_draw_below(search, 2)) return;
    }
    scale(&axis->block, up);
}

// Lanes, or warps, from one axis to another.
static void move_between(struct search *search, struct config *config)
{
    struct config_axis *from = &config->axes[search_draw_below(search, config->axis_count)], *to = &config->axes[search_draw_below(search, config->axis_count)];
    bool warps = search_draw_below(search, 2), blocks = search_draw_below(search, 2);
    int *give = warps ? &from->warps : &from->lanes, *take = warps ? &to->warps : &to->lanes;
    if (from == to || *give < 2) return;
    scale(give, false);
    scale(take, true);
    if (blocks) scale(&from->block, false);
    if (blocks || to->block < to->vector * to->lanes * to->warps) scale(&to->block, true);
}

// Other numbers of blocks that have producers, whole clusters of them, or of tiles that are under way.
static void move_producers(struct search *search, struct config *config)
{
    int by = search_draw_below(search, 9) - 4, cluster = config->cluster > 1 ? config->cluster : 1;
    if (search_draw_below(search, 2)) config->stages += by;
    else config->producers += by * cluster;
    if (config->stages < 1) config->stages = 1;
    if (config->producers < cluster) config->producers = cluster;
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
    const char *dot = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "dot"));
    if ((flat || chunks) && dot && strcmp(dot, config_dot_name(DOT_FMA)) == 0) {  // producers of rows are of whole rows
        set_path(root, "producers", "0");
        set_path(root, "stages", "1");
    }
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
struct config *search_with_choices(struct search *search, struct arena *arena, const struct config *config, const int *choices,
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
    int knob = search_draw_below(search, search->space->knob_count);
    for (int i = 0; i < 8 && strncmp(search->space->knobs[knob].path, "axes.", 5) == 0; i++) knob = search_draw_below(search, search->space->knob_count);
    choices[knob] = search_draw_below(search, search->space->knobs[knob].choice_count);
    return search_with_choices(search, arena, config, choices, true);
}

struct config *search_move(struct search *search, struct arena *arena, const struct config *config)
{
    struct config *moved = config_copy(arena, config);
    int moves = 1 + search_draw_below(search, 3);
    for (int i = 0; i < moves && moved; i++) {
        int kind = search_draw_below(search, 10);
        if (moved->producers && search_draw_below(search, 4) == 0) move_producers(search, moved);
        else if (kind < 5 && moved->axis_count) move_axis(search, moved);
        else if (kind < 7 && moved->axis_count > 1) move_between(search, moved);
        else moved = move_knob(search, arena, moved);
    }
    return moved;
}

// Axes of one parent or the other, the rest of the first.
struct config *search_cross(struct search *search, struct arena *arena, const struct config *a, const struct config *b)
{
    struct config *child = config_copy(arena, a);
    for (int i = 0; i < child->axis_count && i < b->axis_count; i++)
        if (search_draw_below(search, 2)) child->axes[i] = b->axes[i];
    if (search_draw_below(search, 2)) child->stream = b->stream;
    if (search_draw_below(search, 2)) child->min_blocks = b->min_blocks;
    if (search_draw_below(search, 2)) child->cluster = b->cluster;
    if (search_draw_below(search, 2) && child->strategy == b->strategy) {
        child->chunk = b->chunk;
        child->search = b->search;
        child->stage = b->stage;
        child->bulk = b->bulk;
        child->lag = b->lag;
    }
    child->dot = a->dot;  // what the axes are dealt out for
    if (a->dot == b->dot && search_draw_below(search, 2)) child->stages = b->stages;
    if (a->dot == b->dot && search_draw_below(search, 2)) child->producers = b->producers;
    if (search_draw_below(search, 2)) child->peel = b->peel;
    if (search_draw_below(search, 2)) child->late = b->late;
    return child;
}
