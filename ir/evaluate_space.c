// SPDX-License-Identifier: Apache-2.0
// Points, maps between them, and masks for the reference evaluator (notes in evaluate.h).
// In: the tiles of the axes in scope. Out: how many points any set of axes has, which lies over which, which are active.
#include <stdlib.h>
#include <string.h>

#include "ir/evaluate.h"

// ---------------------------------------------------------------------------------------------- memory

enum { LEAST_BLOCK = 1 << 16 };

struct scratch_block {
    struct scratch_block *next;
    size_t size, used;
    struct cell data[];
};

static struct scratch_block *block_with(struct scratch *scratch, size_t bytes) {
    struct scratch_block *block = scratch->current;
    while (block && block->size - block->used < bytes) {
        block = block->next;  // blocks behind the current one are empty
        if (block)
            scratch->current = block;
    }
    if (block)
        return block;
    size_t size = scratch->current ? 2 * scratch->current->size : LEAST_BLOCK;
    if (size < bytes)
        size = bytes;
    block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    *block = (struct scratch_block){.size = size};
    *(scratch->current ? &scratch->current->next : &scratch->first) = block;
    scratch->current = block;
    return block;
}

void *scratch_take(struct evaluator *evaluator, int depth, size_t bytes) {
    bytes = (bytes + sizeof(struct cell) - 1) / sizeof(struct cell) * sizeof(struct cell);
    struct scratch_block *block = block_with(&evaluator->frames[depth].scratch, bytes);
    if (!block)
        leave_early(evaluator, "evaluate.memory", NULL, "no memory for %zu bytes more", bytes);
    void *data = (char *)block->data + block->used;
    block->used += bytes;
    return data;
}

void scratch_empty(struct scratch *scratch) {
    for (struct scratch_block *block = scratch->first; block; block = block->next)
        block->used = 0;
    scratch->current = scratch->first;
}

void scratch_free(struct scratch *scratch) {
    for (struct scratch_block *block = scratch->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *scratch = (struct scratch){0};
}

struct cell *cells_new(struct evaluator *evaluator, int64_t count) {
    return scratch_take(evaluator, evaluator->depth, (size_t)count * sizeof(struct cell));
}

void frame_enter(struct evaluator *evaluator) {
    evaluator->depth++;
    if (evaluator->depth < evaluator->frame_count)
        return;
    struct frame *frames = realloc(evaluator->frames, (size_t)(2 * evaluator->depth + 1) * sizeof *frames);
    if (!frames)
        leave_early(evaluator, "evaluate.memory", NULL, "no memory for another loop");
    int count = 2 * evaluator->depth + 1;
    memset(frames + evaluator->frame_count, 0, (size_t)(count - evaluator->frame_count) * sizeof *frames);
    evaluator->frames = frames;
    evaluator->frame_count = count;
}

void frame_empty(struct evaluator *evaluator) {
    struct frame *frame = &evaluator->frames[evaluator->depth];
    scratch_empty(&frame->scratch);
    frame->spaces = NULL;
}

void frame_leave(struct evaluator *evaluator) {
    frame_empty(evaluator);
    evaluator->depth--;
}

// ---------------------------------------------------------------------------------------------- spaces

enum { MOST_POINTS = INT32_MAX / 2 };

static int highest_axis(axes_t axes) {
    return axes ? 63 - __builtin_clzll(axes) : -1;
}

static int depth_of(const struct evaluator *evaluator, axes_t axes) {
    int depth = 0;
    for (; axes; axes &= axes - 1) {
        int axis = __builtin_ctzll(axes);
        if (evaluator->axis_depth[axis] > depth)
            depth = evaluator->axis_depth[axis];
    }
    return depth;
}

static int64_t count_points(struct evaluator *evaluator, const struct space *prefix, const struct tile *tile, const int32_t *rows) {
    int64_t count = 0;
    for (int64_t i = 0; i < prefix->count; i++) {
        int64_t row = rows ? rows[i] : i;
        count += tile->start[row + 1] - tile->start[row];
    }
    if (count > MOST_POINTS)
        leave_early(evaluator, "evaluate.memory", NULL, "a tile of %lld points is too large", (long long)count);
    return count;
}

static void enumerate_points(struct space *space, const struct tile *tile, const int32_t *rows) {
    int32_t point = 0;
    for (int64_t i = 0; i < space->prefix->count; i++) {
        int64_t row = rows ? rows[i] : i;
        space->start[i] = point;
        for (int64_t at = tile->start[row]; at < tile->start[row + 1]; at++) {
            space->up[point] = (int32_t)i;
            space->positions[point] = tile->positions[at];
            point++;
        }
    }
}

static struct space *space_build(struct evaluator *evaluator, axes_t axes, int depth) {
    struct space *space = scratch_take(evaluator, depth, sizeof *space);
    *space = (struct space){.axes = axes, .last = highest_axis(axes), .count = 1};
    if (!axes)
        return space;
    const struct tile *tile = &evaluator->tiles[space->last];
    space->prefix = space_of(evaluator, axes & ~AXIS_BIT(space->last));
    const int32_t *rows = map_between(evaluator, space->prefix->axes, evaluator->kernel->axes[space->last].parents);
    space->count = count_points(evaluator, space->prefix, tile, rows);
    space->up = scratch_take(evaluator, depth, (size_t)space->count * sizeof *space->up);
    space->start = scratch_take(evaluator, depth, (size_t)space->prefix->count * sizeof *space->start);
    space->positions = scratch_take(evaluator, depth, (size_t)space->count * sizeof *space->positions);
    enumerate_points(space, tile, rows);
    return space;
}

static struct space *space_find(struct evaluator *evaluator, axes_t axes) {
    int depth = depth_of(evaluator, axes);
    for (struct space *space = evaluator->frames[depth].spaces; space; space = space->next) {
        if (space->axes == axes)
            return space;
    }
    struct space *space = space_build(evaluator, axes, depth);
    space->next = evaluator->frames[depth].spaces;
    evaluator->frames[depth].spaces = space;
    return space;
}

const struct space *space_of(struct evaluator *evaluator, axes_t axes) {
    return space_find(evaluator, axes & ~evaluator->inner);
}

int64_t box_of(const struct evaluator *evaluator, axes_t axes) {
    int64_t box = 1;
    for (axes &= evaluator->inner; axes; axes &= axes - 1)
        box *= evaluator->extent[__builtin_ctzll(axes)];
    return box;
}

int64_t count_of(struct evaluator *evaluator, axes_t axes) {
    int64_t points = space_of(evaluator, axes)->count, box = box_of(evaluator, axes);
    if (box && points > MOST_POINTS / box)
        leave_early(evaluator, "evaluate.memory", NULL, "a tile of %lld times %lld points is too large", (long long)points, (long long)box);
    return points * box;
}

// ---------------------------------------------------------------------------------------------- maps

// A map is made from that of the prefix: a point keeps its place among the points over the same point of the prefix.
static int32_t *map_build(struct evaluator *evaluator, const struct space *from, axes_t to) {
    int32_t *points = scratch_take(evaluator, depth_of(evaluator, from->axes), (size_t)from->count * sizeof *points);
    if (!to) {
        memset(points, 0, (size_t)from->count * sizeof *points);
        return points;
    }
    axes_t last = AXIS_BIT(from->last);
    const int32_t *below = map_between(evaluator, from->prefix->axes, to & ~last);
    if (!(to & last)) {
        for (int64_t i = 0; i < from->count; i++)
            points[i] = below ? below[from->up[i]] : from->up[i];
        return points;
    }
    const int32_t *start = space_of(evaluator, to)->start;
    for (int64_t i = 0; i < from->count; i++) {
        int32_t up = from->up[i];
        points[i] = start[below ? below[up] : up] + ((int32_t)i - from->start[up]);
    }
    return points;
}

const int32_t *map_between(struct evaluator *evaluator, axes_t from, axes_t to) {
    if (from == to)
        return NULL;
    struct space *space = space_find(evaluator, from);
    for (struct point_map *map = space->maps; map; map = map->next) {
        if (map->to == to)
            return map->points;
    }
    int32_t *points = map_build(evaluator, space, to);
    struct point_map *map = scratch_take(evaluator, depth_of(evaluator, from), sizeof *map);
    *map = (struct point_map){.to = to, .points = points, .next = space->maps};
    space->maps = map;
    return points;
}

static int32_t *inner_build(struct evaluator *evaluator, axes_t from, axes_t to) {
    int64_t box = box_of(evaluator, from);
    int32_t *points = scratch_take(evaluator, 0, (size_t)box * sizeof *points);
    memset(points, 0, (size_t)box * sizeof *points);
    int64_t from_stride = 1, to_stride = 1;
    for (axes_t rest = from; rest;) {
        int axis = highest_axis(rest);
        rest &= ~AXIS_BIT(axis);
        int64_t extent = evaluator->extent[axis];
        for (int64_t i = 0; i < box && (to & AXIS_BIT(axis)); i++)
            points[i] += (int32_t)(i / from_stride % extent * to_stride);
        from_stride *= extent;
        to_stride *= to & AXIS_BIT(axis) ? extent : 1;
    }
    return points;
}

const int32_t *inner_map_between(struct evaluator *evaluator, axes_t from, axes_t to) {
    if (from == to)
        return NULL;
    for (struct inner_map *map = evaluator->inner_maps; map; map = map->next) {
        if (map->from == from && map->to == to)
            return map->points;
    }
    int32_t *points = inner_build(evaluator, from, to);
    struct inner_map *map = scratch_take(evaluator, 0, sizeof *map);
    *map = (struct inner_map){from, to, points, evaluator->inner_maps};
    evaluator->inner_maps = map;
    return points;
}

static void expand_rows(struct cell *out, const struct cell *data, const int32_t *outer, const int32_t *inner, const int64_t sizes[3]) {
    int64_t count = sizes[0], box = sizes[1], from_box = sizes[2];
    for (int64_t i = 0; i < count; i++) {
        const struct cell *row = data + (outer ? outer[i] : i) * from_box;
        for (int64_t j = 0; j < box; j++)
            out[i * box + j] = row[inner ? inner[j] : j];
    }
}

const struct cell *expand(struct evaluator *evaluator, const struct cell *data, axes_t from, axes_t to) {
    if (from == to)
        return data;
    axes_t inner = evaluator->inner;
    int64_t total = count_of(evaluator, to);
    struct cell *out = cells_new(evaluator, total);
    if (!from) {
        for (int64_t i = 0; i < total; i++)
            out[i] = data[0];
        return out;
    }
    const int32_t *outer = map_between(evaluator, to & ~inner, from & ~inner);
    if (!(to & inner)) {
        for (int64_t i = 0; i < total; i++)
            out[i] = data[outer[i]];
        return out;
    }
    int64_t sizes[3] = {space_of(evaluator, to)->count, box_of(evaluator, to), box_of(evaluator, from)};
    expand_rows(out, data, outer, inner_map_between(evaluator, to & inner, from & inner), sizes);
    return out;
}

const struct cell *operand_on(struct evaluator *evaluator, const struct ir_op *op, int index, axes_t axes) {
    const struct ir_value *operand = op->operands[index];
    return expand(evaluator, evaluator->cells[operand->id], operand->axes, axes);
}

const struct cell *positions_on(struct evaluator *evaluator, int axis, axes_t axes) {
    axes_t bit = AXIS_BIT(axis);
    if (evaluator->inner & bit) {
        struct cell *positions = cells_new(evaluator, evaluator->extent[axis]);
        for (int64_t i = 0; i < evaluator->extent[axis]; i++)
            positions[i] = (struct cell){.integer = evaluator->origin[axis] + i};
        return expand(evaluator, positions, bit, axes);
    }
    axes_t own = bit | evaluator->kernel->axes[axis].parents;
    const struct space *space = space_of(evaluator, own);
    struct cell *positions = cells_new(evaluator, space->count);
    for (int64_t i = 0; i < space->count; i++)
        positions[i] = (struct cell){.integer = space->positions[i]};
    return expand(evaluator, positions, own, axes);
}

// ---------------------------------------------------------------------------------------------- masks

static bool all_true(const struct cell *data, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!data[i].integer)
            return false;
    }
    return true;
}

struct mask *mask_and(struct evaluator *evaluator, const struct mask *mask, axes_t axes, const struct cell *data, bool negate) {
    struct mask *result = scratch_take(evaluator, evaluator->depth, sizeof *result);
    *result = (struct mask){.axes = mask->axes, .data = mask->data};
    if (!data)
        return result;
    axes_t both = axes | mask->axes;
    int64_t count = count_of(evaluator, both);
    const struct cell *condition = expand(evaluator, data, axes, both);
    const struct cell *around = mask->data ? expand(evaluator, mask->data, mask->axes, both) : NULL;
    struct cell *combined = cells_new(evaluator, count);
    for (int64_t i = 0; i < count; i++)
        combined[i].integer = (condition[i].integer != 0) != negate && (!around || around[i].integer);
    // Where it holds everywhere the mask around says it all: it alone knows of rows that have no points on these axes. A set
    // of axes without any points has no active one either, unlike a mask that leaves nothing out.
    if (count > 0 && all_true(combined, count))
        return result;
    result->axes = both;
    result->data = combined;
    return result;
}

const struct cell *any_over(struct evaluator *evaluator, const struct cell *data, axes_t from, axes_t to) {
    if (from == to)
        return data;
    axes_t inner = evaluator->inner;
    const int32_t *outer = map_between(evaluator, from & ~inner, to & ~inner);
    const int32_t *box_map = inner_map_between(evaluator, from & inner, to & inner);
    int64_t count = space_of(evaluator, from)->count, box = box_of(evaluator, from), to_box = box_of(evaluator, to);
    int64_t total = count_of(evaluator, to);
    struct cell *out = cells_new(evaluator, total);
    for (int64_t i = 0; i < total; i++)
        out[i].integer = 0;
    for (int64_t i = 0; i < count; i++) {
        struct cell *row = out + (outer ? outer[i] : i) * to_box;
        for (int64_t j = 0; j < box; j++)
            row[box_map ? box_map[j] : j].integer |= data[i * box + j].integer;
    }
    return out;
}

// Points of `axes` and of the mask meet in the axes they share: over each point there, any combination is a point.
const struct cell *active_at(struct evaluator *evaluator, axes_t axes) {
    struct mask *mask = evaluator->mask;
    if (!mask->data)
        return NULL;
    for (struct seen_mask *seen = mask->seen; seen; seen = seen->next) {
        if (seen->axes == axes)
            return seen->data;
    }
    axes_t shared = mask->axes & axes;
    const struct cell *data = any_over(evaluator, mask->data, mask->axes, shared);
    bool all = all_true(data, count_of(evaluator, shared));
    struct seen_mask *seen = scratch_take(evaluator, evaluator->depth, sizeof *seen);
    *seen = (struct seen_mask){axes, all ? NULL : expand(evaluator, data, shared, axes), mask->seen};
    mask->seen = seen;
    return seen->data;
}

bool any_active(struct evaluator *evaluator) {
    const struct cell *active = active_at(evaluator, 0);
    return !active || active[0].integer;
}

// ---------------------------------------------------------------------------------------------- words

const char *point_in_words(struct evaluator *evaluator, axes_t axes, int64_t point) {
    const char *words = "";
    int64_t box = box_of(evaluator, axes), inner_point = box ? point % box : 0, outer_point = box ? point / box : 0;
    for (axes_t rest = axes & evaluator->inner; rest;) {
        int axis = highest_axis(rest);
        rest &= ~AXIS_BIT(axis);
        long long position = (long long)(evaluator->origin[axis] + inner_point % evaluator->extent[axis]);
        inner_point /= evaluator->extent[axis];
        words = arena_printf(evaluator->arena, "%s = %lld%s%s", evaluator->kernel->axes[axis].name, position, *words ? ", " : "", words);
    }
    for (const struct space *space = space_of(evaluator, axes); space->axes; space = space->prefix) {
        long long position = (long long)space->positions[outer_point];
        words = arena_printf(evaluator->arena, "%s = %lld%s%s", evaluator->kernel->axes[space->last].name, position, *words ? ", " : "", words);
        outer_point = space->up[outer_point];
    }
    return words;
}
