// SPDX-License-Identifier: Apache-2.0
// Products of f32 on the matrix units, a warp at a time: the operands are rounded to tf32.
//
// In: a step of an `mma` operation, 16 points deep. Out: two instructions' worth of fragments, read word by word from
// tiles in shared memory, or taken from registers, and multiplied. The one idea: which of eight points of the sum
// stands for which is the instruction's own affair as long as both operands agree. So a thread gives the two neighbours
// that it has in a computed operand, and reads the same two of the others.
#include "codegen/matmul.h"

enum { DEPTH = 8, STEPS = 2 };  // of an instruction; of 16 points

// Address of the word at point `own` of the operand's own axis and `depth` of what is summed over.
static const char *word_text(struct emitter *emitter, const struct factors *f, const struct ir_value *staged,
                             const char *own, const char *depth) {
    struct tile tile = tile_of(emitter, staged->def);
    const char *row = tile.inner == f->summed ? own : depth, *column = tile.inner == f->summed ? depth : own;
    return print(emitter, "%s + %s(%s, (%s) / %d, %d) + (%s) %% %d * 4", tile_text(emitter, staged),
                 helper(emitter, "tile_cell"), row, column, tile.cell, cells_of(&tile), column, tile.cell);
}

static const char *point_text(struct emitter *emitter, int axis, const char *step) {
    struct eight eight = eighth(emitter, axis, step, NULL);
    emitter->needs_lane = true;
    return eight.lane ? print(emitter, "(%s + %s) * 8 + lane / 4", eight.step, eight.lane)
                      : print(emitter, "(%s) * 8 + lane / 4", eight.step);
}

// Two neighbours along the sum into to[at] and to[at + apart].
static void read_pair(struct emitter *emitter, const struct factors *f, const struct ir_value *staged, const char *own,
                      const char *depth, const char *to, int at, int apart) {
    for (int i = 0; i < 2; i++)
        line(emitter, "%s[%d] = %s(%s(%s));", to, at + i * apart, helper(emitter, "tile_round_tf32"),
             helper(emitter, "tile_word"),
             word_text(emitter, f, staged, own, i ? print(emitter, "%s + 1", depth) : depth));
}

static void write_rows(struct emitter *emitter, const struct factors *f, const char *to, const char *step,
                       const char *depth) {
    const struct ir_value *value = f->op->operands[0];
    bool staged = !value->region && is_staged(value->def);
    for (int half = 0; half < 2; half++) {
        const char *number = print(emitter, half ? "(2 * %s + 1)" : "2 * %s", f->row);
        if (staged) {
            read_pair(emitter, f, value, point_text(emitter, f->rows, number), depth, to, half, 2);
            continue;
        }
        for (int i = 0; i < 2; i++)
            line(emitter, "%s[%d] = %s(%s);", to, half + 2 * i, helper(emitter, "tile_round_tf32"),
                 element_text(emitter, value, f->rows, number, f->summed, step, i ? "1" : "0"));
    }
}

static void write_column(struct emitter *emitter, const struct factors *f, const char *rows, const char *depth,
                         int blocks) {
    const struct ir_value *sum = f->op->results[0];
    const char *columns = unique_name(emitter, "columns"), *parts[2];
    line(emitter, "unsigned %s[2];", columns);
    read_pair(emitter, f, f->op->operands[1], point_text(emitter, f->columns, f->column), depth, columns, 0, 1);
    open_count(emitter, f->row, blocks, 1);
    for (int i = 0; i < 2; i++)
        parts[i] = element_text(emitter, sum, f->rows, print(emitter, i ? "2 * %s + 1" : "2 * %s", f->row), f->columns,
                                f->column, "0");
    line(emitter, "%s(&%s, &%s, %s[%s], %s);", helper(emitter, "tile_mma_tf32"), parts[0], parts[1], rows, f->row,
         columns);
    close_brace(emitter);
}

void write_tf32_step(struct emitter *emitter, const struct factors *f) {
    int blocks = layout_of(emitter, f->rows)->registers / 2;
    const char *rows = unique_name(emitter, "rows"), *half = unique_name(emitter, "half");
    open_count(emitter, half, STEPS, 1);
    const char *step = print(emitter, "%s * %d + %s", f->depth, STEPS, half);
    const char *depth = print(emitter, "(%s) * %d + lane %% 4 * 2", step, DEPTH);
    emitter->needs_lane = true;
    line(emitter, "unsigned %s[%d][4];", rows, blocks);
    open_count(emitter, f->row, blocks, 1);
    write_rows(emitter, f, print(emitter, "%s[%s]", rows, f->row), step, depth);
    close_brace(emitter);
    open_count(emitter, f->column, layout_of(emitter, f->columns)->registers, 1);
    write_column(emitter, f, rows, depth, blocks);
    close_brace(emitter);
    close_brace(emitter);
}
