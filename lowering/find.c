// SPDX-License-Identifier: Apache-2.0
// Which row a piece of equal work lies in, found on the device: how many rows the piece lies behind, by bisection. Either
// each block finds its own, or a small launch finds all of them first, one thread a piece.
#include "lowering/split.h"

// ceil(log2(rows)) and a little more: a turn too many changes nothing.
static struct ir_value *count_turns(struct splitter *s, struct ir_builder *b) {
    struct ir_value *logarithm = ir_unary(b, OP_LOG2, ir_cast(b, TYPE_F32, s->rows));
    return plus(b, ir_cast(b, TYPE_I64, logarithm), constant(b, 2));
}

// One turn for one piece: [lo, hi) holds the count, and next[0] and next[1] do with half as much between them.
static void write_turn(struct splitter *s, struct ir_builder *inside, struct ir_value *const *range, is_before_fn *is_before,
                       struct ir_value *piece, struct ir_value **next) {
    struct ir_value *lo = range[0], *hi = range[1];
    struct ir_value *middle = ir_binary(inside, OP_DIV, plus(inside, lo, hi), constant(inside, 2));
    struct ir_value *open = ir_binary(inside, OP_LT, lo, hi);
    struct ir_value *before = is_before(s, inside, middle, piece);
    struct ir_value *up = ir_binary(inside, OP_LAND, open, before);
    struct ir_value *down = ir_binary(inside, OP_LAND, open, ir_unary(inside, OP_LNOT, before));
    next[0] = ir_update(inside, lo, ir_select(inside, up, plus(inside, middle, constant(inside, 1)), lo));
    next[1] = ir_update(inside, hi, ir_select(inside, down, middle, hi));
}

enum { MOST_SOUGHT = 2 };

// Side by side, so that each turn waits for memory once.
static void bisect(struct splitter *s, struct ir_builder *b, is_before_fn *is_before, int count,
                   struct ir_value *const *pieces, struct ir_value **found) {
    struct ir_op *loop = ir_op_new(b, OP_RANGE, 2 + 2 * count, 2 * count, 1);
    struct ir_value *next[2 * MOST_SOUGHT];
    loop->operands[0] = constant(b, 0);
    loop->operands[1] = count_turns(s, b);
    for (int i = 0; i < 2 * count; i++)
        loop->operands[2 + i] = ir_broadcast(b, pieces[i / 2]->axes, i % 2 ? s->rows : constant(b, 0));
    ir_insert(b, loop);
    ir_region_arg(s->kernel, loop->regions[0], TYPE_I64, 0, "turn");
    for (int i = 0; i < 2 * count; i++) {
        ir_region_arg(s->kernel, loop->regions[0], TYPE_I64, pieces[i / 2]->axes, i % 2 ? "high" : "low");
        ir_result(s->kernel, loop, i, TYPE_I64, pieces[i / 2]->axes);
    }
    struct ir_builder inside = *b;
    inside.region = loop->regions[0];
    inside.before = NULL;
    for (int i = 0; i < count; i++) {
        write_turn(s, &inside, loop->regions[0]->args + 1 + 2 * i, is_before, pieces[i], next + 2 * i);
        found[i] = loop->results[2 * i];
    }
    end_loop(&inside, 2 * count, next);
}

bool write_finder(struct splitter *s, is_before_fn *is_before, struct ir_value *pieces) {
    struct ir_builder before = builder_before(s->kernel, s->top), inside;
    struct ir_value *piece, *found;
    s->found = -1;
    if (s->context->config->search)
        return true;
    s->found = workspace(s, "found", TYPE_I32, 1, &pieces);
    struct ir_op *loop = make_loop(s, &before, s->find, AXIS_TILE, 0, constant(&before, 0), pieces, &inside, &piece);
    if (!loop)
        return false;
    bisect(s, &inside, is_before, 1, &piece, &found);
    ir_store(&inside, s->found, &piece, ir_cast(&inside, TYPE_I32, found), NULL);
    end_loop(&inside, 0, NULL);
    return true;
}

void find_rows(struct splitter *s, struct ir_builder *b, is_before_fn *is_before, int count, struct ir_value *const *pieces,
               struct ir_value **found) {
    if (s->found < 0)
        bisect(s, b, is_before, count, pieces, found);
    for (int i = 0; i < count && s->found >= 0; i++)
        found[i] = ir_cast(b, TYPE_I64, ir_load(b, s->found, &pieces[i], NULL));
}
