// SPDX-License-Identifier: Apache-2.0
// Which row a piece of equal work lies in, found on the device: how many rows the piece lies behind, by narrowing a
// range. Either each block finds its own, or a small launch finds all of them first, one thread a piece.
#include "lowering/split.h"

enum { PARTS = 8, PARTS_BITS = 3 };  // that a range falls into per turn: as many probes at once as it has inner borders

// A turn divides the range by PARTS; one more empties it. A turn too many changes nothing.
static struct ir_value *count_turns(struct splitter *s, struct ir_builder *b) {
    struct ir_value *logarithm = ir_unary(b, OP_LOG2, ir_cast(b, TYPE_F32, s->rows));
    struct ir_value *whole = ir_cast(b, TYPE_I64, logarithm);
    return plus(b, ir_binary(b, OP_DIV, whole, constant(b, PARTS_BITS)), constant(b, 2));
}

// Rows below lo lie before the piece, rows from hi on don't. The probes are the last rows of the parts but the
// last: those that lie before the piece come first.
static void write_turn(struct splitter *s, struct ir_builder *inside, struct ir_value *const *range,
                       is_before_fn *is_before,
                       struct ir_value *piece, struct ir_value **next) {
    struct ir_value *lo = range[0], *hi = range[1], *one = constant(inside, 1), *passed = constant(inside, 0);
    struct ir_value *width = plus(inside, minus(inside, hi, lo), constant(inside, PARTS - 1));
    struct ir_value *part = ir_binary(inside, OP_DIV, width, constant(inside, PARTS));
    struct ir_value *border = lo;
    for (int i = 1; i < PARTS; i++) {
        border = plus(inside, border, part);
        struct ir_value *probe = least(inside, greatest(inside, minus(inside, border, one), constant(inside, 0)),
                                       s->rows);
        // Not `&&`: all probes are looked at together.
        struct ir_value *before = ir_binary(inside, OP_AND, ir_binary(inside, OP_LE, border, hi),
                                            ir_binary(inside, OP_LT, lo, hi));
        before = ir_binary(inside, OP_AND, before, is_before(s, inside, probe, piece));
        passed = plus(inside, passed, ir_select(inside, before, one, constant(inside, 0)));
    }
    struct ir_value *low = plus(inside, lo, ir_binary(inside, OP_MUL, passed, part));
    struct ir_value *is_last = ir_binary(inside, OP_EQ, passed, constant(inside, PARTS - 1));
    struct ir_value *high = ir_select(inside, is_last, hi, least(inside, hi, minus(inside, plus(inside, low, part),
                                                                                   one)));
    next[0] = ir_update(inside, lo, least(inside, low, hi));
    next[1] = ir_update(inside, hi, greatest(inside, high, lo));
}

enum { MOST_SOUGHT = 2 };

// Several pieces side by side, so that each turn waits for memory once.
static void narrow(struct splitter *s, struct ir_builder *b, is_before_fn *is_before, int count,
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
    narrow(s, &inside, is_before, 1, &piece, &found);
    ir_store(&inside, s->found, &piece, ir_cast(&inside, TYPE_I32, found), NULL);
    end_loop(&inside, 0, NULL);
    return true;
}

void find_rows(struct splitter *s, struct ir_builder *b, is_before_fn *is_before, int count,
               struct ir_value *const *pieces,
               struct ir_value **found) {
    if (s->found < 0)
        narrow(s, b, is_before, count, pieces, found);
    for (int i = 0; i < count && s->found >= 0; i++)
        found[i] = ir_cast(b, TYPE_I64, ir_load(b, s->found, &pieces[i], NULL));
}
