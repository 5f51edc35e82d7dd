// SPDX-License-Identifier: Apache-2.0
// lower_strategy, strategy `flat`: the packed elements are dealt out in equal shares, one a block, and a block
// walks the rows in its share, however many they are. A rewriting of the program, before layouts: what comes out is
// an ordinary kernel.
//
//     for tb in tile(B) { …; acc = for tk in jagged [0, length(tb)) carry … ; out[tb] = acc }
//  => for share in tile(shares) {
//         for tb in jagged [0, rows in the share) {
//             acc = for tk in jagged [the row's part in the share) carry …
//             if the whole row is in the share { out[tb] = acc }  else { partial[2 * share + starts here] = acc }
//     } }
//     for border in tile(shares - 1) { if its row starts in the share before { out[row] = the row's partials, in order } }
//
// note [shares] Share t is [t * E, (t + 1) * E) of the packed positions. A row begins in one share, the one of its
// start; there it is finished if it ends there, too: so is an empty one. A row over a border has one partial per
// share that it has points in. One more share than the points fill takes rows that begin at their end. This wants
// offsets that ascend; where they don't, rows may be nobody's, but what is loaded and stored is clipped to the
// share, which is inside the arrays.
//
// note [staging] Where elements are numbers in a row (and not rows of a matrix), rows begin anywhere, and one may
// have few points. So the block first brings its share into shared memory, with aligned, wide, independent loads,
// and walks it there. One or two rows in a share have the whole block each, few a warp, and many the lanes that the
// config gives to a row.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/split.h"

enum { STAGE_LIMIT = 40 * 1024, FETCHED_BYTES = 16 };

static struct ir_value *times(struct ir_builder *b, struct ir_value *x, int64_t factor) {
    return ir_binary(b, OP_MUL, x, constant(b, factor));
}

static struct ir_value *both(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_LAND, x, y);
}

static struct ir_value *starts_before(struct splitter *s, struct ir_builder *b, struct ir_value *row,
                                      struct ir_value *share) {
    return ir_binary(b, OP_LT, offset_at(s, b, row, 0), times(b, share, s->chunk));
}

// ---------------------------------------------------------------------------------------------- lengths

// What is computed of the row alone, in front of everything else.
static struct ir_value *copy_of_row(struct splitter *s, struct launch *launch, struct ir_builder *b,
                                    struct ir_value *value) {
    struct ir_value *known = ir_map_get(launch->copying.map, value);
    struct ir_op *def = value->region ? NULL : value->def;
    if (known != value || !def || !is_inside(def, s->top->regions[0]))
        return known;
    if (def->code == OP_INDEX) {
        ir_map_set(s->kernel, launch->copying.map, value, launch->row);
        return launch->row;
    }
    for (int i = 0; i < def->operand_count; i++)
        copy_of_row(s, launch, b, def->operands[i]);
    return copy_op(s, &launch->copying, b, def)->results[0];
}

// Lengths are made of the row by operations without regions, so that they can be had in front of the nest.
static bool is_of_row(struct splitter *s, const struct ir_value *value) {
    if (value->axes & ~ir_axis_closure(s->kernel, s->row_axis))
        return false;
    if (value->region)
        return !is_inside(value->def, s->top->regions[0]) && value->def != s->top;
    if (!is_inside(value->def, s->top->regions[0]))
        return true;
    if (value->def->region_count || value->def->code == OP_UPDATE)
        return false;
    for (int i = 0; i < value->def->operand_count; i++)
        if (!is_of_row(s, value->def->operands[i]))
            return false;
    return true;
}

// ---------------------------------------------------------------------------------------------- the walk of a share

// Where a row lies, seen from the launch's share: `first` and `end` are counted from its beginning, clipped to one
// point beyond it on either side.
struct place {
    struct ir_value *start, *first, *end;
    struct ir_value *starts;  // in the share, or behind
};

// A value that is clipped to a few bits is computed in 32 from here on.
static struct ir_value *narrow(struct ir_builder *b, struct ir_value *value, int64_t least_value, int64_t most) {
    struct ir_value *operands[3] = {value, constant(b, least_value), constant(b, most)};
    struct ir_value *clipped = ir_elementwise(b, OP_CLAMP, 3, operands);
    return most < INT32_MAX ? ir_cast(b, TYPE_I64, ir_cast(b, TYPE_I32, clipped)) : clipped;
}

static struct place place_of(struct splitter *s, struct launch *launch, struct ir_builder *b) {
    struct ir_value *length = copy_of_row(s, launch, b, s->phases[launch->phase].loop->operands[1]);
    struct place place = {.start = offset_at(s, b, launch->row, 0)};
    struct ir_value *end = plus(b, place.start, greatest(b, length, constant(b, 0)));
    place.first = narrow(b, minus(b, place.start, launch->begin), -1, s->chunk + 1);
    place.end = narrow(b, minus(b, end, launch->begin), -1, s->chunk + 1);
    place.starts = ir_binary(b, OP_GE, place.first, constant(b, 0));
    return place;
}

static bool is_neutral(const struct ir_value *value, enum ir_reduction reduction) {
    if (!value->region && value->def->code == OP_BROADCAST)
        value = value->def->operands[0];
    return is_identity(value, reduction);
}

// A whole row starts from its own start values, a part from the identities.
static struct ir_value *start_of(struct splitter *s, struct launch *launch, struct ir_builder *b,
                                 const struct phase *phase,
                                 int slot) {
    struct ir_value *identity = start_value(s, &launch->copying, b, phase, slot);
    struct ir_value *init = ir_map_get(launch->copying.map, phase->loop->operands[2 + slot]);
    if (is_neutral(init, phase->reductions[slot]))
        return identity;
    return ir_broadcast(b, identity->axes, ir_select(b, launch->guard, init, identity));
}

static void store_parts(struct splitter *s, struct launch *launch, struct ir_builder *b, const struct phase *phase,
                        const struct place *place, struct ir_value *any, struct ir_value *const *results) {
    struct ir_builder inside;
    struct ir_value *part = both(b, any, ir_unary(b, OP_LNOT, launch->guard));
    struct ir_value *slot = ir_select(b, place->starts, constant(b, 1), constant(b, 0));
    slot = plus(b, times(b, launch->index, 2), slot);
    make_branch(b, part, &inside, NULL);
    for (int i = 0; i < phase->loop->result_count; i++)
        store_result(s, &launch->copying, &inside, phase->partials[i], slot, phase->loop->results[i], results[i]);
}

struct staging {
    struct splitter *s;
    struct launch *launch;
};

static void load_staged(void *data, struct ir_op *op) {
    const struct staging *staging = data;
    struct splitter *s = staging->s;
    if (op->code != OP_LOAD || s->staged[op->param] < 0)
        return;
    struct ir_builder before = builder_before(s->kernel, op);
    struct ir_value *back = ir_unary(&before, OP_NEG, staging->launch->begin);
    struct ir_value *indices[2] = {staging->launch->index, plus(&before, op->operands[0], back)};
    struct ir_value *value = ir_load(&before, s->staged[op->param], indices, NULL);
    value->name = op->results[0]->name;
    ir_replace_uses(s->kernel, op->results[0], value);
    ir_remove(op);
}

static void await_fetches(struct splitter *s, struct ir_builder *b) {
    for (int p = 0; s->fetches && p < s->staged_count; p++) {
        if (s->staged[p] < 0)
            continue;
        struct ir_op *op = ir_op_new(b, OP_FETCHED, 0, 0, 0);
        op->integer = s->staged[p];
        ir_insert(b, op);
    }
}

// The phase's loop over the row's part in the share.
static bool write_part(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    struct ir_op *loop = copy_op(s, &launch->copying, b, phase->loop);
    if (!loop)
        return false;
    struct ir_builder before = builder_before(s->kernel, loop);
    struct place place = place_of(s, launch, &before);
    struct ir_value *first = greatest(&before, place.first, constant(&before, 0));
    struct ir_value *points = minus(&before, least(&before, place.end, launch->end), first);
    struct ir_value *any = ir_binary(&before, OP_GT, points, constant(&before, 0));
    struct ir_value *skipped = minus(&before, plus(&before, launch->begin, first), place.start);
    struct ir_axis *axis = &s->kernel->axes[loop->axis];
    axis->lo = loop->operands[0] = skipped;
    axis->hi = loop->operands[1] = plus(&before, skipped, points);
    axis->parents = ir_axis_closure(s->kernel, launch->axis);
    for (int i = 0; i < loop->result_count; i++)
        loop->operands[2 + i] = start_of(s, launch, &before, phase, i);
    struct staging staging = {s, launch};
    if (s->stages) {
        walk_ops(loop->regions[0], load_staged, &staging);
        await_fetches(s, &before);
    }
    if (loop->result_count)
        store_parts(s, launch, b, phase, &place, any, loop->results);
    keep_results(s, launch, b, phase, loop->results);
    return true;
}

// The rows from `first` on, each with what the nest does for it.
static bool write_walk(struct splitter *s, const struct launch *share, const char *suffix, struct ir_builder *b,
                       struct ir_value *first, struct ir_value *count) {
    struct launch launch = *share;
    struct ir_builder inside;
    struct ir_value *index;
    launch.work = write_part;
    launch.copying.map = ir_map_new(s->kernel);
    launch.copying.suffix = suffix;
    const char *name = copied_name(s, &launch.copying, s->kernel->axes[s->row_axis].name);
    struct ir_op *walk =
        make_loop(s, b, name, AXIS_JAGGED, AXIS_BIT(share->axis), constant(b, 0), count, &inside, &index);
    if (!walk)
        return false;
    launch.axis = launch.copying.axis[s->row_axis] = walk->axis;
    launch.row = plus(&inside, first, index);
    launch.row->name = "row";
    struct place place = place_of(s, &launch, &inside);
    launch.guard = both(&inside, place.starts, ir_binary(&inside, OP_LE, place.end, launch.end));
    if (!write_nest_region(s, &launch, &inside, s->top->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

// ---------------------------------------------------------------------------------------------- staging

struct loads {
    struct splitter *s;
    int axis;
    bool *packed, *other;  // by parameter: loaded at packed positions, elsewhere
};

static void note_load(void *data, struct ir_op *op) {
    const struct loads *loads = data;
    if (op->code != OP_LOAD)
        return;
    const struct ir_param *param = &loads->s->kernel->params[op->param];
    bool packed = param->kind == PARAM_IN && param->rank == 1 && is_packed_position(loads->s, op->operands[0],
                                                                                    loads->axis);
    *(packed ? &loads->packed[op->param] : &loads->other[op->param]) = true;
}

static void note_other_axis(void *data, struct ir_op *op) {
    const struct loads *loads = data;
    axes_t known = AXIS_BIT(loads->axis) | ir_axis_closure(loads->s->kernel, loads->s->row_axis);
    for (int i = 0; i < op->result_count; i++)
        loads->other[0] |= (op->results[i]->axes & ~known) != 0;
    loads->other[0] |= op->code == OP_FOR;
}

// The loop along the row stands right in the loop over rows, and neither holds another.
static bool is_plain(struct splitter *s, const struct phase *phase) {
    bool any = false;
    struct loads loads = {.s = s, .axis = phase->loop->axis, .other = &any};
    if (phase->loop->parent != s->top->regions[0])
        return false;
    walk_ops(phase->loop->regions[0], note_other_axis, &loads);
    for (const struct ir_op *op = s->top->regions[0]->first; op; op = op->next)
        if (op->code == OP_FOR && op != phase->loop)
            return false;
    return !any;
}

// The copy engine moves multiples of 16 bytes, from such places on: where tensors lie elsewhere, threads load.
static bool may_fetch(const struct splitter *s) {
    const struct lower_options *options = s->context->out ? &s->context->out->options : NULL;
    return options && options->target.kind == TARGET_CUDA && options->target.sm >= 90 && !options->unaligned;
}

// Which tensors pass through shared memory in this phase, each with a part there.
static bool plan_stage(struct splitter *s, const struct phase *phase) {
    int count = s->kernel->param_count, bytes = 0;
    struct loads loads = {.s = s, .axis = phase->loop->axis};
    loads.packed = ARENA_ARRAY(s->context->arena, bool, count);
    loads.other = ARENA_ARRAY(s->context->arena, bool, count);
    s->staged = ARENA_ARRAY(s->context->arena, int, count);
    s->stages = s->context->config->stage;
    s->fetches = s->stages && s->context->config->bulk && may_fetch(s);
    if (!s->stages)
        return true;
    if (has_full_axes(s->kernel))
        return cannot_split(s, phase->loop, "with an axis that is covered whole nothing is staged: its threads are dealt "
                                            "out once, for all loops");
    if (!is_plain(s, phase) || s->chunk > MAX_BLOCK)
        return cannot_split(s, phase->loop, "only rows of numbers, with nothing but them in the loop, are staged");
    walk_ops(phase->loop->regions[0], note_load, &loads);
    for (int p = 0; p < count; p++) {
        s->staged[p] = -1;
        if (!loads.packed[p] || loads.other[p])
            continue;
        bytes += ir_type_bytes(s->kernel->params[p].type) * (int)s->chunk;
        s->fetches &= ir_type_bytes(s->kernel->params[p].type) * s->chunk % FETCHED_BYTES == 0;
    }
    if (!bytes || bytes > STAGE_LIMIT)
        return cannot_split(s, phase->loop, bytes ? "a share that is staged may have 40 KiB" : "there is nothing to stage");
    struct ir_builder before = builder_before(s->kernel, s->top);
    struct ir_value *extents[2] = {s->pieces, constant(&before, s->chunk)};
    for (int p = 0; p < count; p++)
        if (loads.packed[p] && !loads.other[p]) {
            s->staged[p] = workspace(s, s->kernel->params[p].name, s->kernel->params[p].type, 2, extents);
            s->kernel->params[s->staged[p]].local = true;
        }
    return true;
}

// Elements [from, end) of the share. `end` is a multiple of a vector, or the axis has none.
static bool stage_elements(struct splitter *s, struct launch *launch, struct ir_builder *b, int param, const char *axis,
                           int64_t extent, struct ir_value *from, struct ir_value *end) {
    struct ir_builder inside, valid;
    struct ir_value *index, *indices[2] = {launch->index, NULL};
    if (!make_loop(s, b, axis, AXIS_TILE, 0, constant(b, 0), constant(b, extent), &inside, &index))
        return false;
    indices[1] = from ? plus(&inside, from, index) : index;
    make_branch(&inside, ir_binary(&inside, OP_LT, indices[1], end), &valid, NULL);
    struct ir_value *position = plus(&valid, launch->begin, indices[1]);
    ir_store(&valid, s->staged[param], indices, ir_load(&valid, param, &position, NULL), NULL);
    end_loop(&inside, 0, NULL);
    return true;
}

static void fetch_elements(struct splitter *s, struct launch *launch, struct ir_builder *b, int param, struct ir_value *count) {
    struct ir_op *op = ir_op_new(b, OP_FETCH, 2, 0, 0);
    op->param = param;
    op->integer = s->staged[param];
    op->operands[0] = launch->begin;
    op->operands[1] = count;
    ir_insert(b, op);
}

// Whole vectors in one turn without a branch, so that all loads are under way together with what is loaded beside, or by
// the copy engine; then, in the last share, the elements that are left.
static bool write_stage(struct splitter *s, struct launch *launch, struct ir_builder *b, int count) {
    for (int p = 0; p < count; p++) {
        struct ir_builder rest;
        if (s->staged[p] < 0)
            continue;
        struct ir_value *left = minus(b, s->kernel->params[p].extents[0], launch->begin);
        struct ir_value *end = narrow(b, left, 0, s->chunk);
        int unit = s->fetches ? FETCHED_BYTES / ir_type_bytes(s->kernel->params[p].type) : s->vector;
        struct ir_value *whole = times(b, ir_binary(b, OP_DIV, end, constant(b, unit)), unit);
        if (s->fetches)
            fetch_elements(s, launch, b, p, whole);
        else if (!stage_elements(s, launch, b, p, s->stage, s->chunk, NULL, whole))
            return false;
        make_branch(b, ir_binary(b, OP_LT, whole, end), &rest, NULL);
        if (!stage_elements(s, launch, &rest, p, s->rest, unit, whole, end))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- the launches

static bool write_rows_of_share(struct splitter *s, struct launch *launch, struct ir_builder *b) {
    struct ir_value *borders[2] = {launch->index, plus(b, launch->index, constant(b, 1))}, *found[2];
    find_rows(s, b, starts_before, 2, borders, found);
    struct ir_value *first = greatest(b, minus(b, found[0], constant(b, 1)), constant(b, 0));
    struct ir_value *count = minus(b, found[1], first);
    if (!s->stages)
        return write_walk(s, launch, NULL, b, first, count);
    struct ir_builder lone, more, few, many;
    if (!write_stage(s, launch, b, s->staged_count))
        return false;
    make_branch(b, ir_binary(b, OP_LE, count, constant(b, s->lone_rows)), &lone, &more);
    make_branch(&more, ir_binary(&more, OP_LE, count, constant(&more, s->few_rows)), &few, &many);
    bool written = write_walk(s, launch, s->lone, &lone, first, count) && write_walk(s, launch, s->few, &few, first, count) &&
                   write_walk(s, launch, NULL, &many, first, count);
    await_fetches(s, b);  // a share without rows has been copied all the same
    return written;
}

static bool write_shares(struct splitter *s, int phase, bool effects) {
    struct launch launch = new_launch(s, phase, effects);
    struct ir_builder before = builder_before(s->kernel, s->top), top, inside;
    s->staged_count = s->kernel->param_count;
    if (!plan_stage(s, &s->phases[phase]))
        return false;
    struct ir_op *loop =
        make_loop(s, &before, s->share, AXIS_TILE, 0, constant(&before, 0), s->pieces, &top, &launch.index);
    if (!loop)
        return false;
    launch.axis = loop->axis;
    inside = top;
    if (!write_outside(s, &launch, s->top->regions[0], &inside))
        return false;
    launch.begin = times(&inside, launch.index, s->chunk);
    launch.end = narrow(&inside, minus(&inside, s->points, launch.begin), 0, s->chunk);
    if (!write_rows_of_share(s, &launch, &inside))
        return false;
    end_outside(s, &launch, &inside);
    return true;
}

// ---------------------------------------------------------------------------------------------- borders

// The first partial is of a row that starts in its share, the others are of one that started before.
static struct ir_value *place_of_part(struct splitter *s, struct launch *launch, struct ir_builder *b,
                                      struct ir_value *index) {
    struct ir_value *is_first = ir_binary(b, OP_EQ, index, constant(b, 0));
    (void)s;
    return plus(b, times(b, plus(b, launch->index, index), 2), ir_select(b, is_first, constant(b, 1), constant(b, 0)));
}

static bool join_parts(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    struct ir_value *start = offset_at(s, b, launch->row, 0);
    struct ir_value *end = plus(b, start, copy_of_row(s, launch, b, phase->loop->operands[1]));
    struct ir_value *last = ir_binary(b, OP_DIV, minus(b, end, constant(b, 1)), constant(b, s->chunk));
    last = least(b, last, minus(b, s->pieces, constant(b, 1)));
    struct ir_value *count = plus(b, minus(b, last, launch->index), constant(b, 1));
    return write_join(s, launch, b, phase, ir_select(b, launch->guard, count, constant(b, 0)), place_of_part);
}

// The row over the border behind share `index`, if it starts in that share: one that goes on is joined at its first
// border.
static bool write_borders(struct splitter *s, int phase, bool effects) {
    struct launch launch = new_launch(s, phase, effects);
    struct ir_builder before = builder_before(s->kernel, s->top), inside;
    launch.work = join_parts;
    launch.copying.suffix = s->join;
    struct ir_value *borders = minus(&before, s->pieces, constant(&before, 1));
    const char *name = copied_name(s, &launch.copying, s->kernel->axes[s->row_axis].name);
    struct ir_op *loop = make_loop(s, &before, name, AXIS_TILE, 0, constant(&before, 0), borders, &inside,
                                   &launch.index);
    if (!loop)
        return false;
    launch.axis = launch.copying.axis[s->row_axis] = loop->axis;
    struct ir_value *next = plus(&inside, launch.index, constant(&inside, 1)), *count;
    find_rows(s, &inside, starts_before, 1, &next, &count);
    launch.row = greatest(&inside, minus(&inside, count, constant(&inside, 1)), constant(&inside, 0));
    launch.row->name = "row";
    launch.begin = times(&inside, launch.index, s->chunk);
    struct place place = place_of(s, &launch, &inside);
    struct ir_value *border = constant(&inside, s->chunk);
    struct ir_value *crosses = ir_binary(&inside, OP_GT, place.end, border);
    crosses = both(&inside, crosses, ir_binary(&inside, OP_LT, place.first, border));
    launch.guard = both(&inside, place.starts, crosses);
    if (!write_nest_region(s, &launch, &inside, s->top->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

bool split_into_shares(struct splitter *s) {
    struct ir_builder before = builder_before(s->kernel, s->top);
    for (int p = 0; p < s->phase_count; p++)
        if (!is_of_row(s, s->phases[p].loop->operands[1]))
            return cannot_split(s, s->phases[p].loop, "the length depends on more than the row");
    struct ir_value *shares = ir_binary(&before, OP_DIV, s->points, constant(&before, s->chunk));
    s->pieces = plus(&before, shares, constant(&before, 1));
    make_result_tensors(s, times(&before, s->pieces, 2));
    if (!write_finder(s, starts_before, plus(&before, s->pieces, constant(&before, 1))))
        return false;
    for (int p = 0; p < s->phase_count; p++) {
        bool reduces = s->phases[p].loop->result_count > 0, last = reduces && p + 1 == s->phase_count;
        if (!write_shares(s, p, last) || (reduces && !write_borders(s, p, last)))
            return false;
    }
    return !s->effects_last || write_rows(s, s->phase_count, true, NULL);
}
