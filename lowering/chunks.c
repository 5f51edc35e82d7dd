// SPDX-License-Identifier: Apache-2.0
// lower_strategy, strategy `chunks`: a top-level loop whose blocks would each walk a whole row becomes loops over
// pieces of rows of about equal work. A rewriting of the program, before layouts: what comes out is an ordinary
// kernel.
//
//     for tb in tile(B) { …; acc = for tk in jagged [0, length(tb)) carry … ; out[tb] = acc }
//  => for tb in tile(chunks) { row = find(tb); partial[tb] = for tk in [begin, begin + C) of the row, from the identity }
//     for tb in tile(B) { out[tb] = init op reduce of the row's partials, in order }
//
// note [numbering] Row r owns the chunks first(r) = o[r] / C + r up to first(r + 1): at least as many as it needs,
// without a prefix pass; surplus ones are empty. This wants offsets that ascend. Where they don't, chunks may be
// nobody's: rows are clamped and ranges are checked, so that everything ends and stays inside the arrays all the
// same.
#include "lowering/split.h"

// first(row) of note [numbering].
struct ir_value *first_chunk(struct splitter *s, struct ir_builder *b, struct ir_value *row) {
    struct ir_value *first = ir_binary(b, OP_DIV, offset_at(s, b, row, 0), constant(b, s->chunk));
    return plus(b, first, row);
}

struct ir_value *begins_until(struct splitter *s, struct ir_builder *b, struct ir_value *row, struct ir_value *chunk) {
    return ir_binary(b, OP_LE, first_chunk(s, b, row), chunk);
}

// The phase's loop over one chunk: from the identities if it reduces, from begin to end, which are on the chunk.
bool write_chunk_loop(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    struct ir_op *loop = copy_op(s, &launch->copying, b, phase->loop);
    if (!loop)
        return false;
    struct ir_builder before = builder_before(s->kernel, loop);
    struct ir_value *length = loop->operands[1];
    loop->operands[0] = launch->begin;
    struct ir_value *end = plus(&before, launch->begin, constant(&before, s->chunk));
    loop->operands[1] = least(&before, end, length);
    // Chunks in front of the first row's own start below 0: nothing is in them.
    struct ir_value *inside = ir_binary(&before, OP_GE, launch->begin, constant(&before, 0));
    loop->operands[1] = ir_select(&before, inside, loop->operands[1], launch->begin);
    s->kernel->axes[loop->axis].lo = loop->operands[0];
    s->kernel->axes[loop->axis].hi = loop->operands[1];
    s->kernel->axes[loop->axis].parents = AXIS_BIT(launch->axis);
    for (int i = 0; i < loop->result_count; i++) {
        loop->operands[2 + i] = start_value(s, &launch->copying, &before, phase, i);
        store_result(s, &launch->copying, b, phase->partials[i], launch->index, phase->loop->results[i],
                     loop->results[i]);
    }
    return true;
}

void set_chunk(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_value *count) {
    struct ir_value *one = constant(b, 1), *last = minus(b, s->rows, one);
    launch->row = greatest(b, least(b, minus(b, count, one), last), constant(b, 0));
    launch->row->name = "row";
    struct ir_value *place = minus(b, launch->index, first_chunk(s, b, launch->row));
    launch->begin = ir_binary(b, OP_MUL, place, constant(b, s->chunk));
    launch->begin->name = "begin";
}

// Whether a tile's work grows with its place in the row: it looks at all that comes before its own end.
static bool grows_along(const struct phase *phase) {
    return contains_code(phase->loop->regions[0], OP_END);
}

static bool write_chunks(struct splitter *s, int phase) {
    struct launch launch = new_launch(s, phase, false);
    struct ir_builder before = builder_before(s->kernel, s->top), inside;
    struct ir_value *count;
    launch.work = write_chunk_loop;
    struct ir_op *loop = make_loop(s, &before, s->kernel->axes[s->row_axis].name, AXIS_TILE, 0, constant(&before, 0),
                                   s->pieces, &inside, &launch.index);
    if (!loop)
        return false;
    launch.axis = launch.copying.axis[s->row_axis] = loop->axis;
    // The longest of a row first: nobody waits for it at the end. What reads again begins where the launch before has
    // ended: that is still in the L2.
    if (grows_along(&s->phases[phase]) || phase % 2)
        launch.index = minus(&inside, minus(&inside, s->pieces, constant(&inside, 1)), launch.index);
    find_rows(s, &inside, begins_until, 1, &launch.index, &count);
    set_chunk(s, &launch, &inside, count);
    if (!write_nest_region(s, &launch, &inside, s->top->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

// ---------------------------------------------------------------------------------------------- joining

static struct ir_value *chunk_of_row(struct splitter *s, struct launch *launch, struct ir_builder *b,
                                     struct ir_value *index) {
    return plus(b, greatest(b, first_chunk(s, b, launch->row), constant(b, 0)), index);
}

// Only chunks that hold something: an empty one of an online softmax would bring -inf - -inf.
bool join_chunks(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    struct ir_value *length = greatest(b, ir_map_get(launch->copying.map, phase->loop->operands[1]), constant(b, 0));
    struct ir_value *first = greatest(b, first_chunk(s, b, launch->row), constant(b, 0));
    struct ir_value *count = ir_binary(b, OP_CDIV, length, constant(b, s->chunk));
    return write_join(s, launch, b, phase, least(b, count, minus(b, s->pieces, first)), chunk_of_row);
}

bool split_into_chunks(struct splitter *s) {
    struct ir_builder before = builder_before(s->kernel, s->top);
    s->pieces = plus(&before, ir_binary(&before, OP_DIV, s->points, constant(&before, s->chunk)), s->rows);
    make_result_tensors(s, s->pieces);
    if (s->lag)
        return split_into_relay(s);
    if (!write_finder(s, begins_until, s->pieces))
        return false;
    for (int p = 0; p < s->phase_count; p++) {
        bool reduces = s->phases[p].loop->result_count > 0, last = p + 1 == s->phase_count;
        if (!write_chunks(s, p) || (reduces && !write_rows(s, p, last, join_chunks)))
            return false;
    }
    return !s->effects_last || write_rows(s, s->phase_count, true, NULL);
}
