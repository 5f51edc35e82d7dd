// SPDX-License-Identifier: Apache-2.0
// Products on the matrix units, by groups of four warps: sm_90a's wgmma.
//
// In: `mma` operations. Out: one instruction for 64 rows, all columns and 16 points of what is summed over; all of a
// product's instructions are under way together. The one idea: of 64 rows each warp of the group has 16, in the layout
// that a single warp's instruction gives them: a pair of neighbouring registers is below the warps
// (axis_layout.paired).
#include "codegen/matmul.h"

enum { MOST_KEPT = 8 };  // fragments of four registers

static bool is_tile(const struct ir_value *value) {
    return !value->region && is_staged(value->def);
}

// Elements between neighbours of the sum's variable along an axis's registers.
static int stride_of(const struct emitter *emitter, const struct ir_value *value, int axis) {
    struct dims dims = dims_of(emitter, value->axes);
    int stride = 1;
    for (int i = dims.count; i-- > 0 && (dims.items[i].axis != axis || dims.items[i].vector);)
        stride *= dims.items[i].count;
    return stride;
}

// From here on the registers of the sum hold what the units have made of them.
void hold(struct emitter *emitter, const struct ir_value *sum) {
    struct dims dims = dims_of(emitter, sum->axes);
    open_loops(emitter, &dims, 0, dims.count);
    line(emitter, "%s(&%s);", helper(emitter, "tile_hold"),
         subscript_text(emitter, emitter->forms[sum->id].name, &dims));
    close_loops(emitter, dims.count);
}

// Where the 16 points of step f->depth begin, in a tile along which memory runs as the sum does.
static const char *along_depth(struct emitter *emitter, const struct factors *f, const struct tile *tile,
                               const char *at) {
    return print(emitter, "%s + %s / 4 * %d + %s %% 4 * 32", at, f->depth, tile->rows * PANEL_ROW, f->depth);
}

static const char *rows_text(struct emitter *emitter, const struct factors *f) {
    struct tile tile = tile_of(emitter, f->op->operands[0]->def);
    int groups = emitter->lowered->warps / 4;
    const char *block = print(emitter, groups > 1 ? "(%s * %d + warp / 4)" : "%s", f->row, groups);
    emitter->needs_warp |= groups > 1;
    return along_depth(emitter, f, &tile,
                       print(emitter, "%s + %s * %d", tile_text(emitter, f->op->operands[0]), block, 64 * PANEL_ROW));
}

static void write_instruction(struct emitter *emitter, const struct factors *f, const char *rows) {
    const struct ir_value *sum = f->op->results[0], *staged = f->op->operands[1];
    struct tile tile = tile_of(emitter, staged->def);
    bool transposed = tile.inner != f->summed;
    const char *columns = tile_text(emitter, staged);
    columns = transposed ? print(emitter, "%s + %s * %d", columns, f->depth, 16 * PANEL_ROW)
                         : along_depth(emitter, f, &tile, columns);
    const char *name =
        print(emitter, "tile_group_%s_%d_%s%s%s", ir_type_name(staged->type), layout_of(emitter, f->columns)->filled,
              rows ? "registers" : "tile", transposed ? "_transposed" : "", f->fresh ? "_fresh" : "");
    const char *first = element_text(emitter, sum, f->rows, print(emitter, "2 * %s", f->row), f->columns, "0", "0");
    const char *a = rows ? print(emitter, "%s[%s][%s]", rows, f->depth, f->row) : rows_text(emitter, f);
    line(emitter, "%s(&%s, %d, %d, %s, %s, %d%s);", helper(emitter, name), first, stride_of(emitter, sum, f->rows),
         stride_of(emitter, sum, f->columns), a, columns, transposed ? tile.rows * PANEL_ROW : CELL_BYTES,
         f->fresh ? print(emitter, ", %s > 0", f->depth) : "");
}

int row_blocks(const struct emitter *emitter, const struct factors *f) {
    return layout_of(emitter, f->rows)->registers / 2;
}

void declare_group_rows(struct emitter *emitter, const struct ir_op *product, const char *name) {
    struct factors f = factors_of(emitter, product);
    line(emitter, "unsigned %s[%d][%d][4];", name, depth_steps(emitter, &f), row_blocks(emitter, &f));
}

// note [kept] With rows from registers an instruction of 64 columns reads half of what it does with rows from a tile,
// which is as much as shared memory gives in its time.
const char *keep_rows(struct emitter *emitter, const struct ir_value *staged) {
    const struct users *users = &emitter->users[staged->id];
    for (int i = 0; i < users->count; i++)
        if (users->ops[i]->code != OP_MMA || users->ops[i]->operands[0] != staged ||
            users->ops[i]->operands[1] == staged)
            return NULL;
    struct factors f = factors_of(emitter, users->ops[0]);
    struct tile tile = tile_of(emitter, staged->def);
    if (depth_steps(emitter, &f) * row_blocks(emitter, &f) > MOST_KEPT || tile.inner != f.summed)
        return NULL;
    const char *name = unique_name(emitter, "kept_rows");
    int groups = emitter->lowered->warps / 4;
    declare_group_rows(emitter, f.op, name);
    open_count(emitter, f.depth, depth_steps(emitter, &f), 1);
    open_count(emitter, f.row, row_blocks(emitter, &f), 1);
    line(emitter,
         "%s(%s[%s][%s], %s + %s((%s * %d + warp / 4) * 64 + warp %% 4 * 16 + lane %% 16, %s * 2 + lane / 16, %d));",
         helper(emitter, "tile_matrices_4"), name, f.depth, f.row, tile_text(emitter, staged),
         helper(emitter, "tile_panel_cell"), f.row, groups, f.depth, tile.rows);
    close_brace(emitter);
    close_brace(emitter);
    emitter->needs_lane = emitter->needs_warp = true;
    return name;
}

static void pack_rows(struct emitter *emitter, const struct factors *f, const char *name) {
    open_count(emitter, f->depth, depth_steps(emitter, f), 1);
    open_count(emitter, f->row, row_blocks(emitter, f), 1);
    write_computed_rows(emitter, f, print(emitter, "%s[%s]", name, f->depth));
    close_brace(emitter);
    close_brace(emitter);
}

static void send_instructions(struct emitter *emitter, const struct factors *f, const char *rows) {
    if (!f->fresh)
        hold(emitter, f->op->results[0]);
    line(emitter, "%s();", helper(emitter, "tile_group_begin"));
    open_count(emitter, f->depth, depth_steps(emitter, f), 1);
    open_count(emitter, f->row, row_blocks(emitter, f), 1);
    write_instruction(emitter, f, rows);
    close_brace(emitter);
    close_brace(emitter);
}

void send_group_product(struct emitter *emitter, const struct ir_op *product, const char *rows) {
    struct factors f = factors_of(emitter, product);
    send_instructions(emitter, &f, rows);
}

void write_group_product(struct emitter *emitter, const struct factors *f) {
    const char *rows = NULL;
    if (is_late(emitter, f->op)) {
        pack_rows(emitter, f, begin_leaving(emitter));
        leave_late(emitter);
        return;
    }
    if (is_tile(f->op->operands[0])) {
        rows = emitter->kept_rows[f->op->operands[0]->id];
    } else {
        rows = unique_name(emitter, "rows");
        declare_group_rows(emitter, f->op, rows);
        pack_rows(emitter, f, rows);
    }
    await_operands(emitter, f->op);
    await_turn(emitter, f->op);
    send_instructions(emitter, f, rows);
    if (meets_late(emitter, f->op)) {
        line(emitter, "%s();", helper(emitter, "tile_group_sent"));
        send_late(emitter);
        end_turn(emitter, f->op);
        line(emitter, "%s();", helper(emitter, "tile_group_but_1"));
    } else {
        bool turns = takes_turns(emitter, f->op);
        line(emitter, "%s();", helper(emitter, turns ? "tile_group_sent" : "tile_group_end"));
        end_turn(emitter, f->op);
        if (turns)
            line(emitter, "%s();", helper(emitter, "tile_group_done"));
    }
    hold(emitter, f->op->results[0]);
    free_operands(emitter, f->op);
}
