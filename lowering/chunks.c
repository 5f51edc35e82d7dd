// SPDX-License-Identifier: Apache-2.0
// lower_strategy, strategy `chunks`: a top-level loop whose blocks would each walk a whole row becomes loops over pieces
// of rows of about equal work. A rewriting of the program, before layouts: what comes out is an ordinary kernel.
//
//     for tb in tile(B) { …; acc = for tk in jagged [0, length(tb)) carry … ; out[tb] = acc }
//  => for tb in tile(B) { for tk over the row's chunks { row_of[first(tb) + tk] = tb } }
//     for tb in tile(chunks) { row = row_of[tb]; partial[tb] = for tk in [begin, begin + C) of the row, from the identity }
//     for tb in tile(B) { out[tb] = init op reduce of the row's partials, in order }
//
// note [numbering] Row r owns the chunks first(r) = o[r] / C + r up to first(r + 1): at least as many as it needs, without
// a prefix pass; surplus ones are empty. This wants offsets that ascend. Where they don't, chunks may be nobody's: rows are
// clamped and ranges are checked, so that everything ends and stays inside the arrays all the same.
//
// note [phases] The jagged loops of the nest run one after the other. One that carries reductions takes two launches, over
// chunks and over rows; its results are kept per row (`kept`) for what comes later. One that carries nothing takes one, over
// chunks. Whatever else the nest computes is computed again in each launch that needs it; its effects happen in the last
// launch over rows.
#include <string.h>

#include "lowering/chunks.h"

// ---------------------------------------------------------------------------------------------- small pieces

static struct ir_value *constant(struct ir_builder *b, int64_t value) {
    return ir_integer(b, TYPE_I64, value);
}

static struct ir_value *plus(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_ADD, x, y);
}

static struct ir_value *minus(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_SUB, x, y);
}

// offsets[row + distance], as i64.
static struct ir_value *offset_at(struct splitter *s, struct ir_builder *b, struct ir_value *row, int distance) {
    struct ir_value *index = distance ? plus(b, row, constant(b, distance)) : row;
    return ir_cast(b, TYPE_I64, ir_load(b, s->offsets, &index, NULL));
}

// first(row + distance) of note [numbering].
static struct ir_value *first_chunk(struct splitter *s, struct ir_builder *b, struct ir_value *row, int distance) {
    struct ir_value *first = ir_binary(b, OP_DIV, offset_at(s, b, row, distance), constant(b, s->chunk));
    first = plus(b, first, row);
    return distance ? plus(b, first, constant(b, distance)) : first;
}

static int workspace(struct splitter *s, const char *name, enum ir_type type, int rank, struct ir_value *const *extents) {
    struct ir_param param = {.kind = PARAM_WORKSPACE, .type = type, .rank = rank, .present = true};
    param.name = arena_printf(s->context->arena, "%s_%d", name, s->kernel->param_count);
    for (int i = 0; i < rank; i++) {
        param.extents[i] = extents[i];
        param.extent_text[i] = "…";
    }
    return ir_param_new(s->kernel, param);
}

// ---------------------------------------------------------------------------------------------- loops and axes

// A loop over a new axis of the name, in front of b; *inside is where its body goes.
static struct ir_op *make_loop(struct splitter *s, struct ir_builder *b, const char *name, enum ir_axis_kind kind,
                               axes_t parents, struct ir_value *lo, struct ir_value *hi, struct ir_builder *inside,
                               struct ir_value **index) {
    int axis = ir_axis_new(s->kernel, name, kind, parents);
    if (axis < 0) {
        refuse(s->context, "lowering.axes", s->top->span, "the split loops would have more than %d axes", IR_MAX_AXES);
        return NULL;
    }
    struct ir_op *loop = ir_op_new(b, OP_FOR, 2, 0, 1);
    loop->axis = axis;
    loop->operands[0] = lo;
    loop->operands[1] = hi;
    ir_insert(b, loop);
    s->kernel->axes[axis].lo = lo;
    s->kernel->axes[axis].hi = hi;
    s->kernel->axes[axis].loop = loop;
    s->kernel->axes[axis].span = loop->span;
    *inside = *b;
    inside->region = loop->regions[0];
    inside->before = NULL;
    *index = ir_axis_value(inside, OP_INDEX, axis);
    return loop;
}

// Ends the body: what the loop hands to its next turn.
static void end_loop(struct ir_builder *inside, int count, struct ir_value *const *values) {
    ir_yield(inside, count, values);
}

static axes_t moved_axes(const struct copying *copying, axes_t axes) {
    axes_t moved = 0;
    for (int a = 0; a < IR_MAX_AXES; a++)
        if (axes & AXIS_BIT(a))
            moved |= AXIS_BIT(copying->axis[a]);
    return moved;
}

// A copied loop stands over an axis of its own; everything in it follows.
static bool move_op(struct splitter *s, struct copying *copying, struct ir_op *op) {
    if (op->code == OP_FOR) {
        const struct ir_axis *old = &s->kernel->axes[op->axis];
        int axis = ir_axis_new(s->kernel, old->name, old->kind, 0);
        if (axis < 0)
            return refuse(s->context, "lowering.axes", op->span, "the split loops would have more than %d axes", IR_MAX_AXES);
        old = &s->kernel->axes[op->axis];
        s->kernel->axes[axis] = *old;
        s->kernel->axes[axis].parents = moved_axes(copying, old->parents);
        s->kernel->axes[axis].lo = op->operands[0];
        s->kernel->axes[axis].hi = op->operands[1];
        s->kernel->axes[axis].loop = op;
        copying->axis[op->axis] = axis;
    }
    if (op->axis >= 0)
        op->axis = copying->axis[op->axis];
    op->over = moved_axes(copying, op->over);
    for (int i = 0; i < op->result_count; i++)
        op->results[i]->axes = moved_axes(copying, op->results[i]->axes);
    for (int r = 0; r < op->region_count; r++) {
        for (int i = 0; i < op->regions[r]->arg_count; i++)
            op->regions[r]->args[i]->axes = moved_axes(copying, op->regions[r]->args[i]->axes);
        for (struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (!move_op(s, copying, inner))
                return false;
    }
    return true;
}

static struct ir_op *copy_op(struct splitter *s, struct copying *copying, struct ir_builder *b, struct ir_op *op) {
    b->span = op->span;
    b->line = op->line;
    struct ir_op *copy = ir_op_clone(b, op, copying->map);
    return move_op(s, copying, copy) ? copy : NULL;
}

// ---------------------------------------------------------------------------------------------- tensors of results

// The axes, beside the row, that a carried value is on: the nest's loops and full axes.
static int result_axes(const struct splitter *s, const struct ir_value *value, int *axes) {
    int count = 0;
    for (int a = 0; a < s->kernel->axis_count && count < IR_MAX_RANK - 1; a++)
        if ((value->axes & AXIS_BIT(a)) && a != s->row_axis)
            axes[count++] = a;
    return count;
}

// A tensor with `rows` rows that holds the carried value.
static int result_tensor(struct splitter *s, const char *name, const struct ir_value *value, struct ir_value *rows) {
    int axes[IR_MAX_RANK], count = result_axes(s, value, axes);
    struct ir_value *extents[IR_MAX_RANK] = {rows};
    for (int i = 0; i < count; i++)
        extents[1 + i] = s->extent[axes[i]];
    return workspace(s, name, value->type, 1 + count, extents);
}

static void result_indices(struct splitter *s, struct copying *copying, struct ir_builder *b, const struct ir_value *value,
                           struct ir_value *row, struct ir_value **indices) {
    int axes[IR_MAX_RANK], count = result_axes(s, value, axes);
    indices[0] = row;
    for (int i = 0; i < count; i++)
        indices[1 + i] = ir_axis_value(b, OP_INDEX, copying->axis[axes[i]]);
}

static void store_result(struct splitter *s, struct copying *copying, struct ir_builder *b, int tensor, struct ir_value *row,
                         const struct ir_value *shape, struct ir_value *value) {
    struct ir_value *indices[IR_MAX_RANK];
    result_indices(s, copying, b, shape, row, indices);
    ir_store(b, tensor, indices, value, NULL);
}

static struct ir_value *load_result(struct splitter *s, struct copying *copying, struct ir_builder *b, int tensor,
                                    struct ir_value *row, const struct ir_value *shape) {
    struct ir_value *indices[IR_MAX_RANK];
    result_indices(s, copying, b, shape, row, indices);
    return ir_load(b, tensor, indices, NULL);
}

// ---------------------------------------------------------------------------------------------- one launch

static bool is_effect(const struct ir_op *op) {
    return op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_ASSERT || op->code == OP_PRINT;
}

static bool has_effect(const struct ir_op *op) {
    if (is_effect(op))
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (has_effect(inner))
                return true;
    return false;
}

// An identity of the variable's type on its axes.
static struct ir_value *start_value(struct copying *copying, struct ir_builder *b, const struct phase *phase, int slot) {
    const struct ir_value *result = phase->loop->results[slot];
    struct ir_value *identity = identity_constant(b, phase->reductions[slot], result->type);
    struct ir_value *start = ir_broadcast(b, moved_axes(copying, result->axes), identity);
    start->name = result->name;
    return start;
}

// The phase's loop over one chunk: from the identities if it reduces, from begin to end, which are on the chunk.
static bool write_chunk_loop(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    struct ir_op *loop = copy_op(s, &launch->copying, b, phase->loop);
    if (!loop)
        return false;
    struct ir_builder before = builder_before(s->kernel, loop);
    struct ir_value *length = loop->operands[1];
    loop->operands[0] = launch->begin;
    struct ir_value *end = plus(&before, launch->begin, constant(&before, s->chunk));
    loop->operands[1] = ir_binary(&before, OP_MIN, end, length);
    // Chunks in front of the first row's own start below 0: nothing is in them.
    struct ir_value *inside = ir_binary(&before, OP_GE, launch->begin, constant(&before, 0));
    loop->operands[1] = ir_select(&before, inside, loop->operands[1], launch->begin);
    s->kernel->axes[loop->axis].lo = loop->operands[0];
    s->kernel->axes[loop->axis].hi = loop->operands[1];
    s->kernel->axes[loop->axis].parents = AXIS_BIT(launch->axis);
    for (int i = 0; i < loop->result_count; i++) {
        loop->operands[2 + i] = start_value(&launch->copying, &before, phase, i);
        store_result(s, &launch->copying, b, phase->partials[i], launch->index, phase->loop->results[i], loop->results[i]);
    }
    return true;
}

// The row's partials, joined in order: the phase's results.
static bool write_join(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    const struct ir_op *old = phase->loop;
    // Only chunks that hold something: an empty one of an online softmax would bring -inf - -inf.
    struct ir_value *length = ir_map_get(launch->copying.map, old->operands[1]), *index;
    struct ir_value *first = ir_binary(b, OP_MAX, first_chunk(s, b, launch->row, 0), constant(b, 0));
    struct ir_value *count = ir_binary(b, OP_CDIV, ir_binary(b, OP_MAX, length, constant(b, 0)), constant(b, s->chunk));
    count = ir_binary(b, OP_MIN, count, minus(b, s->chunks, first));
    struct ir_builder inside;
    struct ir_op *loop = make_loop(s, b, s->kernel->axes[old->axis].name, AXIS_JAGGED, AXIS_BIT(launch->axis), constant(b, 0),
                                   count, &inside, &index);
    if (!loop)
        return false;
    struct ir_value *place = plus(&inside, first, index);
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, 2 + old->result_count);
    memcpy(operands, loop->operands, 2 * sizeof *operands);
    loop->operands = operands;
    loop->results = ARENA_ARRAY(s->context->arena, struct ir_value *, old->result_count);
    struct ir_value *loaded[MAX_CARRIED], *arguments[MAX_CARRIED], *next[MAX_CARRIED];
    for (int i = 0; i < old->result_count; i++) {
        axes_t axes = moved_axes(&launch->copying, old->results[i]->axes);
        loop->operands[loop->operand_count++] = ir_map_get(launch->copying.map, old->operands[2 + i]);
        ir_result(s->kernel, loop, loop->result_count++, old->results[i]->type, axes)->name = old->results[i]->name;
        arguments[i] = ir_region_arg(s->kernel, loop->regions[0], old->results[i]->type, axes, old->results[i]->name);
        loaded[i] = load_result(s, &launch->copying, &inside, phase->partials[i], place, old->results[i]);
    }
    join_partials(s, launch->copying.map, &inside, phase, AXIS_BIT(loop->axis), arguments, loaded, next);
    for (int i = 0; i < old->result_count; i++)
        next[i] = ir_update(&inside, arguments[i], next[i]);
    end_loop(&inside, old->result_count, next);
    s->kernel->axes[loop->axis].ordered = true;
    for (int i = 0; i < old->result_count; i++) {
        ir_map_set(s->kernel, launch->copying.map, old->results[i], loop->results[i]);
        if (phase->keeps)
            store_result(s, &launch->copying, b, phase->kept[i], launch->row, old->results[i], loop->results[i]);
    }
    return true;
}

static void read_kept(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    for (int i = 0; i < phase->loop->result_count; i++) {
        struct ir_value *value = load_result(s, &launch->copying, b, phase->kept[i], launch->row, phase->loop->results[i]);
        value->name = phase->loop->results[i]->name;
        ir_map_set(s->kernel, launch->copying.map, phase->loop->results[i], value);
    }
}

static void remove_effect(void *data, struct ir_op *op) {
    (void)data;
    if (is_effect(op))
        ir_remove(op);
}

// Of an operation with effects, in a launch without: what it does to variables.
static bool copy_values(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_op *op) {
    struct ir_op *copy = copy_op(s, &launch->copying, b, op);
    for (int r = 0; copy && r < copy->region_count; r++)
        walk_ops(copy->regions[r], remove_effect, NULL);
    return copy != NULL;
}

static struct phase *phase_of(struct splitter *s, const struct ir_op *op) {
    for (int i = 0; i < s->phase_count; i++)
        if (s->phases[i].loop == op)
            return &s->phases[i];
    return NULL;
}

// One of the phases' loops: the launch's own work, or what an earlier launch left.
static bool write_phase(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    int at = (int)(phase - s->phases);
    if (at == launch->phase)
        return launch->over_rows ? write_join(s, launch, b, phase) : write_chunk_loop(s, launch, b, phase);
    if (at < launch->phase)
        read_kept(s, launch, b, phase);
    return true;
}

static bool write_region(struct splitter *s, struct launch *launch, struct ir_builder *b, const struct ir_region *region);

// A loop of the nest, around the phases: over a new axis, with the launch's work inside.
static bool write_nest(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_op *loop) {
    struct ir_map *map = launch->copying.map;
    struct ir_builder inside;
    struct ir_value *index;
    const struct ir_axis *axis = &s->kernel->axes[loop->axis];
    enum ir_axis_kind kind = axis->kind;
    axes_t parents = moved_axes(&launch->copying, axis->parents);
    b->span = loop->span;
    b->line = loop->line;
    struct ir_op *copy = make_loop(s, b, axis->name, kind, parents, ir_map_get(map, loop->operands[0]),
                                   ir_map_get(map, loop->operands[1]), &inside, &index);
    if (!copy)
        return false;
    launch->copying.axis[loop->axis] = copy->axis;
    if (!write_region(s, launch, &inside, loop->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

static bool write_region(struct splitter *s, struct launch *launch, struct ir_builder *b, const struct ir_region *region) {
    for (struct ir_op *op = region->first; op && op->code != OP_YIELD; op = op->next) {
        struct phase *phase = phase_of(s, op);
        bool good = true;
        if (phase && phase - s->phases > launch->phase)
            break;  // nothing behind it can matter
        if (phase)
            good = write_phase(s, launch, b, phase);
        else if (op->code == OP_INDEX && op->axis == s->row_axis)
            ir_map_set(s->kernel, launch->copying.map, op->results[0], launch->row);
        else if (op->code == OP_FOR && is_around_phases(s, op))
            good = write_nest(s, launch, b, op);
        else if (!has_effect(op) || launch->effects)
            good = copy_op(s, &launch->copying, b, op) != NULL;
        else if (op->result_count)
            good = copy_values(s, launch, b, op);
        if (!good)
            return false;
    }
    return true;
}

// What a launch over chunks starts with: whose chunk this is and where in the row it begins.
static void find_row(struct splitter *s, struct launch *launch, struct ir_builder *b) {
    struct ir_value *row = ir_cast(b, TYPE_I64, ir_load(b, s->row_of, &launch->index, NULL));
    row = ir_binary(b, OP_MIN, row, minus(b, s->rows, constant(b, 1)));
    launch->row = ir_binary(b, OP_MAX, row, constant(b, 0));
    launch->row->name = "row";
    struct ir_value *place = minus(b, launch->index, first_chunk(s, b, launch->row, 0));
    launch->begin = ir_binary(b, OP_MUL, place, constant(b, s->chunk));
    launch->begin->name = "begin";
}

static bool write_launch(struct splitter *s, int phase, bool over_rows, bool effects) {
    struct launch launch = {.phase = phase, .over_rows = over_rows, .effects = effects};
    struct ir_builder before = builder_before(s->kernel, s->top), inside;
    struct ir_value *bound = over_rows ? s->rows : s->chunks;
    const char *name = s->kernel->axes[s->row_axis].name;
    launch.copying.map = ir_map_new(s->kernel);
    for (int a = 0; a < IR_MAX_AXES; a++)
        launch.copying.axis[a] = a;
    struct ir_op *loop = make_loop(s, &before, name, AXIS_TILE, 0, constant(&before, 0), bound, &inside, &launch.index);
    if (!loop)
        return false;
    launch.axis = loop->axis;
    launch.copying.axis[s->row_axis] = loop->axis;
    launch.row = launch.index;
    if (!over_rows)
        find_row(s, &launch, &inside);
    if (!write_region(s, &launch, &inside, s->top->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

// row_of: which row each chunk belongs to. The first and the last row also take what lies outside of all rows.
static bool write_row_map(struct splitter *s) {
    struct ir_builder before = builder_before(s->kernel, s->top), outer, inner;
    struct ir_value *row, *index;
    const char *rows = s->kernel->axes[s->row_axis].name, *points = s->kernel->axes[s->phases[0].loop->axis].name;
    s->row_of = workspace(s, "row_of", TYPE_I32, 1, &s->chunks);
    struct ir_op *loop = make_loop(s, &before, rows, AXIS_TILE, 0, constant(&before, 0), s->rows, &outer, &row);
    if (!loop)
        return false;
    struct ir_value *is_first = ir_binary(&outer, OP_EQ, row, constant(&outer, 0));
    struct ir_value *is_last = ir_binary(&outer, OP_EQ, row, minus(&outer, s->rows, constant(&outer, 1)));
    struct ir_value *first = ir_select(&outer, is_first, constant(&outer, 0), first_chunk(s, &outer, row, 0));
    struct ir_value *end = ir_select(&outer, is_last, s->chunks, first_chunk(s, &outer, row, 1));
    first = ir_binary(&outer, OP_MAX, first, constant(&outer, 0));
    end = ir_binary(&outer, OP_MIN, end, s->chunks);
    if (!make_loop(s, &outer, points, AXIS_JAGGED, AXIS_BIT(loop->axis), constant(&outer, 0), minus(&outer, end, first), &inner,
                   &index))
        return false;
    struct ir_value *place = plus(&inner, first, index);
    ir_store(&inner, s->row_of, &place, ir_cast(&inner, TYPE_I32, row), NULL);
    end_loop(&inner, 0, NULL);
    end_loop(&outer, 0, NULL);
    return true;
}

// ---------------------------------------------------------------------------------------------- all launches

static void make_result_tensors(struct splitter *s) {
    for (int p = 0; p < s->phase_count; p++) {
        struct phase *phase = &s->phases[p];
        phase->keeps = p + 1 < s->phase_count || s->effects_last;
        for (int i = 0; i < phase->loop->result_count; i++) {
            phase->partials[i] = result_tensor(s, "partial", phase->loop->results[i], s->chunks);
            if (phase->keeps)
                phase->kept[i] = result_tensor(s, "kept", phase->loop->results[i], s->rows);
        }
    }
}

// The axes of loops that are gone: nothing is on them any more.
static void forget_axes(struct ir_kernel *kernel, const struct ir_op *op) {
    if (op->code == OP_FOR) {
        kernel->axes[op->axis].kind = AXIS_TILE;
        kernel->axes[op->axis].parents = 0;
        kernel->axes[op->axis].lo = kernel->axes[op->axis].hi = NULL;
        kernel->axes[op->axis].loop = NULL;
    }
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            forget_axes(kernel, inner);
}

bool split_into_chunks(struct splitter *s) {
    make_result_tensors(s);
    if (!write_row_map(s))
        return false;
    for (int p = 0; p < s->phase_count; p++) {
        bool reduces = s->phases[p].loop->result_count > 0, last = p + 1 == s->phase_count;
        if (!write_launch(s, p, false, false))
            return false;
        if (reduces && !write_launch(s, p, true, last))
            return false;
    }
    if (s->effects_last && !write_launch(s, s->phase_count, true, true))
        return false;
    ir_remove(s->top);
    forget_axes(s->kernel, s->top);
    return true;
}
