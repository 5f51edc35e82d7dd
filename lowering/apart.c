// SPDX-License-Identifier: Apache-2.0
// Layouts for loops that stand apart from what a config describes. In: a config with an axis per name of the
// kernel. Out: the same with more axes, in meshes of their own, for the loops that a strategy adds: those that find
// rows, that join partial results, that fill shared memory, that take few rows of a share.
//
// note [meshes] The threads of a block are dealt out anew in each mesh. That is sound because no value is on axes
// of two meshes: what goes from one to another is a number of the block, or passes through memory.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/split.h"

enum { MESH_FIND = 1, MESH_JOIN, MESH_STAGE, MESH_REST, MESH_FEW, MESH_LONE, MESH_SHARE, MESHES };  // of one nest
enum { PARTIALS_AT_ONCE = 4, PARTIAL_REGISTERS = 8, FEW_ROWS = 4, LONE_ROWS = 2, ROW_REGISTERS = 8, LANES = 32 };

struct meshes {
    struct splitter *s;
    const struct config *from;  // as asked for
    struct config *config;      // with what has been added, for this nest and others
    int axis_capacity, grid_capacity, first;  // mesh before the nest's own
    int lanes, warps;           // of all other axes of the nest; of the block
};

static bool is_taken(const struct config *config, const char *name) {
    return config_axis_named(config, name) != NULL;
}

static const char *unused_name(const struct meshes *meshes, const char *wish) {
    while (is_taken(meshes->config, wish))
        wish = arena_printf(meshes->s->context->arena, "%s_", wish);
    return wish;
}

static const char *unused_suffix(const struct meshes *meshes, const char *wish) {
    struct arena *arena = meshes->s->context->arena;
    for (int i = 0; i < meshes->from->axis_count; i++)
        if (is_taken(meshes->config, arena_printf(arena, "%s%s", meshes->from->axes[i].name, wish)))
            return unused_suffix(meshes, arena_printf(arena, "_%s", wish));
    return wish;
}

static void add_axis(struct meshes *meshes, int mesh, const char *name, int vector, int lanes, int warps,
                     int registers) {
    struct config *config = meshes->config;
    struct config_axis axis = {.name = name, .vector = vector, .lanes = lanes, .warps = warps, .unroll = 1,
                               .mesh = meshes->first + mesh};
    axis.block = vector * lanes * warps * registers;
    if (!is_taken(config, name))
        ARENA_PUSH(meshes->s->context->arena, config->axes, config->axis_count, meshes->axis_capacity, axis);
}

static void add_to_grid(struct meshes *meshes, const char *name) {
    struct config *config = meshes->config;
    for (int i = 0; i < config->grid_count; i++)
        if (!strcmp(config->grid[i], name))
            return;
    ARENA_PUSH(meshes->s->context->arena, config->grid, config->grid_count, meshes->grid_capacity, name);
}

static bool is_phase_axis(const struct splitter *s, const char *name) {
    for (int p = 0; p < s->phase_count; p++)
        if (!strcmp(s->kernel->axes[s->phases[p].loop->axis].name, name))
            return true;
    return false;
}

static int at_most(int value, int limit) {
    return value < limit ? value : limit;
}

// Beside a row's other axes, a few partials at once: there are seldom many.
static void add_join(struct meshes *meshes, const char *rows) {
    struct splitter *s = meshes->s;
    int lanes = at_most(PARTIALS_AT_ONCE, LANES / meshes->lanes);
    int warps = meshes->lanes > 1 ? at_most(PARTIALS_AT_ONCE / lanes, meshes->warps) : 1;
    for (int i = 0; i < meshes->from->axis_count; i++) {
        const struct config_axis *axis = &meshes->from->axes[i];
        const char *name = arena_printf(s->context->arena, "%s%s", axis->name, s->join);
        if (!strcmp(axis->name, rows))
            add_axis(meshes, MESH_JOIN, name, 1, LANES / (meshes->lanes * lanes), meshes->warps / warps, 1);
        else if (is_phase_axis(s, axis->name))
            add_axis(meshes, MESH_JOIN, name, 1, 1, 1, 1);
        else
            add_axis(meshes, MESH_JOIN, name, axis->vector, axis->lanes, 1, 1);
    }
    add_axis(meshes, MESH_JOIN, s->partial, 1, lanes, warps, PARTIAL_REGISTERS);
}

// Rows of a share that is staged, where there are few: `warps` of the block for a row each, or all of it for one
// after the other.
static void add_rows(struct meshes *meshes, int mesh, const char *rows, const char *suffix, int rows_at_once) {
    struct splitter *s = meshes->s;
    for (int i = 0; i < meshes->from->axis_count; i++) {
        const char *name = meshes->from->axes[i].name, *own = arena_printf(s->context->arena, "%s%s", name, suffix);
        if (!strcmp(name, rows))
            add_axis(meshes, mesh, own, 1, 1, rows_at_once, 1);
        else if (is_phase_axis(s, name))
            add_axis(meshes, mesh, own, 1, LANES, meshes->warps / rows_at_once, ROW_REGISTERS);
    }
}

// A share in one tile; vectors of 16 bytes of the widest element.
static void add_stage(struct meshes *meshes) {
    struct splitter *s = meshes->s;
    int bytes = 1, share = (int)s->chunk;
    for (int p = 0; p < s->kernel->param_count; p++)
        if (s->kernel->params[p].rank == 1 && s->kernel->params[p].kind == PARAM_IN && p != s->offsets &&
            ir_type_bytes(s->kernel->params[p].type) > bytes)
            bytes = ir_type_bytes(s->kernel->params[p].type);
    int vector = at_most(at_most(16 / bytes, MAX_VECTOR), share), lanes = at_most(LANES, share / vector);
    int warps = at_most(meshes->warps, share / (vector * lanes));
    add_axis(meshes, MESH_STAGE, s->stage, vector, lanes, warps, share / (vector * lanes * warps));
    add_axis(meshes, MESH_REST, s->rest, 1, vector, 1, 1);
    s->vector = vector;
}

static void count_threads(struct meshes *meshes, const char *rows) {
    meshes->lanes = meshes->warps = 1;
    for (int i = 0; i < meshes->from->axis_count; i++) {
        const struct config_axis *axis = &meshes->from->axes[i];
        meshes->warps *= axis->warps;
        if (strcmp(axis->name, rows) && !is_phase_axis(meshes->s, axis->name))
            meshes->lanes *= axis->lanes;
    }
}

static void note_place(struct meshes *meshes, const char *of, const char *name, bool instead) {
    struct pass_context *context = meshes->s->context;
    struct grid_place place = {of, name, instead};
    ARENA_PUSH(context->arena, context->places, context->place_count, context->place_capacity, place);
}

static bool is_replaced(const struct pass_context *context, const char *name) {
    for (int i = 0; i < context->place_count; i++)
        if (context->places[i].instead && !strcmp(context->places[i].of, name))
            return true;
    return false;
}

// The order of the grid stays: what stands for an axis has its place.
static void add_grid(struct meshes *meshes, const char *rows) {
    struct splitter *s = meshes->s;
    struct pass_context *context = s->context;
    for (int i = 0; i < meshes->from->grid_count; i++) {
        const char *name = meshes->from->grid[i];
        if (s->join)
            note_place(meshes, name, arena_printf(context->arena, "%s%s", name, s->join), false);
        if (!strcmp(name, rows) && meshes->from->strategy == STRATEGY_FLAT)
            note_place(meshes, name, s->share, true);
    }
    for (int i = 0; i < meshes->from->grid_count; i++) {
        const char *name = meshes->from->grid[i];
        if (!is_replaced(context, name))
            add_to_grid(meshes, name);
        for (int p = 0; p < context->place_count; p++)
            if (!strcmp(context->places[p].of, name))
                add_to_grid(meshes, context->places[p].name);
    }
}

bool has_full_axes(const struct ir_kernel *kernel) {
    for (int a = 0; a < kernel->axis_count; a++)
        if (kernel->axes[a].kind == AXIS_FULL)
            return true;
    return false;
}

// A config for recognizing nests alone has no axes, and nothing is laid out for it.
bool add_meshes(struct splitter *s) {
    struct pass_context *context = s->context;
    if (!context->asked)
        context->asked = context->config;
    struct meshes meshes = {.s = s, .from = context->asked, .first = context->mesh_count};
    context->mesh_count += MESHES - 1;
    if (context->mesh_count >= MAX_MESHES)
        return cannot_split(s, s->top, "too many loops of the kernel are split already");
    const char *rows = s->kernel->axes[s->row_axis].name;
    meshes.config = ARENA_NEW(context->arena, struct config);
    *meshes.config = *context->config;
    meshes.config->axes = NULL;
    meshes.config->grid = NULL;
    meshes.config->axis_count = meshes.config->grid_count = 0;
    for (int i = 0; i < context->config->axis_count; i++)
        ARENA_PUSH(context->arena, meshes.config->axes, meshes.config->axis_count, meshes.axis_capacity,
                   context->config->axes[i]);
    // A full axis is one and the same in all loops, so its threads can't be dealt out anew.
    s->join = has_full_axes(s->kernel) ? NULL : unused_suffix(&meshes, "_join");
    s->few = unused_suffix(&meshes, "_few");
    s->lone = unused_suffix(&meshes, "_lone");
    s->find = unused_name(&meshes, arena_printf(context->arena, "%s_find", rows));
    s->partial = unused_name(&meshes, arena_printf(context->arena, "%s_partial", rows));
    s->stage = unused_name(&meshes, arena_printf(context->arena, "%s_stage", rows));
    s->rest = unused_name(&meshes, arena_printf(context->arena, "%s_rest", rows));
    s->share = unused_name(&meshes, arena_printf(context->arena, "%s_share", rows));
    count_threads(&meshes, rows);
    add_axis(&meshes, MESH_FIND, s->find, 1, LANES, meshes.warps, 1);
    if (s->join)
        add_join(&meshes, rows);
    if (context->config->strategy == STRATEGY_FLAT)
        add_axis(&meshes, MESH_SHARE, s->share, 1, 1, 1, 1);
    if (context->config->stage) {
        add_stage(&meshes);
        add_rows(&meshes, MESH_FEW, rows, s->few, meshes.warps);
        add_rows(&meshes, MESH_LONE, rows, s->lone, 1);
        s->few_rows = FEW_ROWS * meshes.warps;
        s->lone_rows = LONE_ROWS;
    }
    add_grid(&meshes, rows);
    context->config = meshes.config;
    if (context->out)
        context->out->config = meshes.config;
    return true;
}
