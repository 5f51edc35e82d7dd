// SPDX-License-Identifier: Apache-2.0
// Products on the matrix units, a warp at a time.
//
// In: `mma` operations. Out: a loop over 16 points of what is summed over, in which fragments are read from tiles in
// shared memory (tiles.c), or packed from registers, and multiplied.
#include "codegen/matmul.h"

// ---------------------------------------------------------------------------------------------- fragments

const struct axis_layout *layout_of(const struct emitter *emitter, int axis) {
    return &emitter->lowered->axes[axis];
}

// The eight points that the thread's warp has in register `step`, or in the next one where `lane` is 1.
struct eight eighth(struct emitter *emitter, int axis, const char *step, const char *lane) {
    const struct axis_layout *layout = layout_of(emitter, axis);
    struct eight eight = {step, lane};
    if (layout->warps == 1)
        return eight;
    const char *warp = bits_text(emitter, "warp", layout->warp_shift, layout->warps, emitter->lowered->warps);
    emitter->needs_warp = true;
    eight.step = print(emitter, "%s * %d", step, layout->warps);
    eight.lane = lane ? print(emitter, "%s * %d + %s", lane, layout->warps, warp) : warp;
    return eight;
}

// The cell that the lane points at: `own`, `depth`: which eight points along the operand's own axis and along what is
// summed over. Eight lanes point at eight rows of the tile. What the loops decide of the row is added last, so that it
// ends up in the instruction.
static const char *cell_text(struct emitter *emitter, const struct factors *f, const struct ir_value *staged,
                             struct eight own, struct eight depth) {
    struct tile tile = tile_of(emitter, staged->def);
    bool along_depth = tile.inner == f->summed;
    struct eight row = along_depth ? own : depth, chunk = along_depth ? depth : own;
    const char *lane_row = row.lane ? print(emitter, "(%s) * 8 + lane %% 8", row.lane) : "lane % 8";
    const char *cell = print(emitter, "%s(%s, %s%s%s, %d)", helper(emitter, "tile_cell"), lane_row, chunk.step,
                             chunk.lane ? " ^ " : "", chunk.lane ? chunk.lane : "", cells_of(&tile));
    emitter->needs_lane = true;
    return print(emitter, "%s + %s + %s * %d", tile_text(emitter, staged), cell, row.step,
                 8 * cells_of(&tile) * CELL_BYTES);
}

static const char *matrices_helper(struct emitter *emitter, const struct factors *f, const struct ir_value *staged,
                                   int count) {
    bool transposed = tile_of(emitter, staged->def).inner != f->summed;
    return helper(emitter, print(emitter, "tile_matrices_%d%s", count, transposed ? "_transposed" : ""));
}

static void write_staged_rows(struct emitter *emitter, const struct factors *f, const char *name) {
    const struct ir_value *staged = f->op->operands[0];
    struct eight own = eighth(emitter, f->rows, print(emitter, "%s * 2", f->row), "lane / 8 % 2");
    struct eight depth = {print(emitter, "%s * 2", f->depth), "lane / 16"};
    line(emitter, "%s(%s[%s], %s);", matrices_helper(emitter, f, staged, 4), name, f->row,
         cell_text(emitter, f, staged, own, depth));
}

// The text of one element of a value in registers.
const char *element_text(struct emitter *emitter, const struct ir_value *value, int axis, const char *number,
                                int columns, const char *column, const char *which) {
    const char *saved[3] = {emitter->axis_loop[axis][0], emitter->axis_loop[columns][0],
                            emitter->axis_loop[columns][1]};
    emitter->axis_loop[axis][0] = number;
    emitter->axis_loop[columns][0] = column;
    emitter->axis_loop[columns][1] = which;
    const char *text = value_text(emitter, value, 1);
    emitter->axis_loop[axis][0] = saved[0];
    emitter->axis_loop[columns][0] = saved[1];
    emitter->axis_loop[columns][1] = saved[2];
    return text;
}

void write_computed_rows(struct emitter *emitter, const struct factors *f, const char *name) {
    const struct ir_value *value = f->op->operands[0];
    const char *type = ir_type_name(f->op->operands[1]->type);
    for (int part = 0; part < 4; part++) {
        const char *number = print(emitter, part % 2 ? "2 * %s + 1" : "2 * %s", f->row);
        const char *column = print(emitter, part / 2 ? "2 * %s + 1" : "2 * %s", f->depth);
        const char *low = element_text(emitter, value, f->rows, number, f->summed, column, "0");
        const char *high = element_text(emitter, value, f->rows, number, f->summed, column, "1");
        line(emitter, "%s[%s][%d] = %s(%s, %s);", name, f->row, part,
             helper(emitter, print(emitter, "tile_pack_%s", type)), low, high);
    }
}

static void write_columns(struct emitter *emitter, const struct factors *f, const char *name, int count) {
    const struct ir_value *staged = f->op->operands[1];
    struct eight own = eighth(emitter, f->columns, f->column, count == 2 ? "lane / 16" : NULL);
    struct eight depth = {print(emitter, "%s * 2", f->depth), "lane / 8 % 2"};
    line(emitter, "unsigned %s[%d];", name, 2 * count);
    line(emitter, "%s(%s, %s);", matrices_helper(emitter, f, staged, 2 * count), name,
         cell_text(emitter, f, staged, own, depth));
}

// ---------------------------------------------------------------------------------------------- multiplying

static void write_product(struct emitter *emitter, const struct factors *f, const char *rows, const char *columns,
                          int at) {
    const struct ir_value *sum = f->op->results[0];
    const char *function = helper(emitter, print(emitter, "tile_mma_%s", ir_type_name(f->op->operands[1]->type)));
    const char *column = at ? print(emitter, "%s + %d", f->column, at) : f->column, *parts[2];
    for (int i = 0; i < 2; i++)
        parts[i] = element_text(emitter, sum, f->rows, print(emitter, i ? "2 * %s + 1" : "2 * %s", f->row), f->columns,
                                column, "0");
    line(emitter, "%s(&%s, &%s, %s[%s], %s%s);", function, parts[0], parts[1], rows, f->row, columns,
         at ? print(emitter, " + %d", 2 * at) : "");
}

static void write_step(struct emitter *emitter, const struct factors *f) {
    const char *rows = unique_name(emitter, "rows"), *columns = unique_name(emitter, "columns");
    int pairs = layout_of(emitter, f->rows)->registers / 2, registers = layout_of(emitter, f->columns)->registers;
    int step = registers > 1 ? 2 : 1;
    line(emitter, "unsigned %s[%d][4];", rows, pairs);
    open_count(emitter, f->row, pairs, 1);
    if (!f->op->operands[0]->region && is_staged(f->op->operands[0]->def))
        write_staged_rows(emitter, f, rows);
    else
        write_computed_rows(emitter, f, rows);
    close_brace(emitter);
    open_count(emitter, f->column, registers, step);
    write_columns(emitter, f, columns, step);
    open_count(emitter, f->row, pairs, 1);
    for (int at = 0; at < step; at++)
        write_product(emitter, f, rows, columns, at);
    close_brace(emitter);
    close_brace(emitter);
}

static int only_axis(axes_t axes) {
    return __builtin_ctzll(axes);
}

// The sum's variable is that of what it starts from, if nothing else needs that any more.
bool sums_in_place(const struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *start = op->operands[2];
    const struct ir_region *home = start->region ? start->region : start->def->parent;
    return emitter->uses[start->id] == 1 && home == op->parent && emitter->forms[start->id].kind == FORM_VARIABLE;
}

bool is_zero(const struct ir_value *value) {
    const struct ir_op *def = value->region ? NULL : value->def;
    while (def && (def->code == OP_CAST || def->code == OP_BROADCAST))
        def = def->operands[0]->region ? NULL : def->operands[0]->def;
    return def && def->code == OP_CONST && def->number == 0 && def->integer == 0;
}

// Of 16 points each; those behind the end of what is summed over would add zeros.
int depth_steps(const struct emitter *emitter, const struct factors *f) {
    return (layout_of(emitter, f->summed)->filled + 15) / 16;
}

// With columns left out the sum's registers have to be zeros all the same.
static bool has_all_columns(const struct emitter *emitter, const struct ir_op *product) {
    for (int a = 0; a < emitter->kernel->axis_count; a++)
        if ((product->results[0]->axes & product->operands[1]->axes & AXIS_BIT(a)) &&
            layout_of(emitter, a)->filled < layout_of(emitter, a)->block)
            return false;
    return true;
}

bool is_fresh_start(const struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *value = op->results[0];
    const struct users *users = &emitter->users[value->id];
    return has_groups(emitter) && op->code == OP_BROADCAST && users->count == 1 && users->ops[0]->code == OP_MMA &&
           users->ops[0]->operands[2] == value && is_zero(value) && has_all_columns(emitter, users->ops[0]);
}

// `fresh`: what the sum starts from is 0, which a group's first instruction can take for granted.
static void start_sum(struct emitter *emitter, const struct ir_op *op, bool fresh) {
    const struct ir_value *sum = op->results[0];
    const char *name = emitter->forms[sum->id].name;
    if (sums_in_place(emitter, op))
        return;
    struct dims dims = dims_of(emitter, sum->axes);
    declare(emitter, sum, name, false);
    if (fresh)
        return;
    open_loops(emitter, &dims, 0, dims.count);
    line(emitter, "%s = %s;", subscript_text(emitter, name, &dims), value_text(emitter, op->operands[2], 1));
    close_loops(emitter, dims.count);
}

struct factors factors_of(struct emitter *emitter, const struct ir_op *product) {
    struct factors f = {.op = product,
                        .rows = only_axis(product->operands[0]->axes & ~product->over),
                        .columns = only_axis(product->operands[1]->axes & ~product->over),
                        .summed = only_axis(product->over)};
    const struct ir_axis *axes = emitter->kernel->axes;
    f.depth = unique_name(emitter, print(emitter, "%s_k", axes[f.summed].name));
    f.row = unique_name(emitter, print(emitter, "%s_m", axes[f.rows].name));
    f.column = unique_name(emitter, print(emitter, "%s_n", axes[f.columns].name));
    return f;
}

void write_mma(struct emitter *emitter, const struct ir_op *op) {
    bool fresh = !op->operands[2]->region && is_fresh_start(emitter, op->operands[2]->def);
    start_sum(emitter, op, fresh);
    struct factors f = factors_of(emitter, op);
    f.fresh = fresh;
    if (has_groups(emitter)) {
        write_group_product(emitter, &f);
        return;
    }
    open_count(emitter, f.depth, depth_steps(emitter, &f), 1);
    (emitter->lowered->config->dot == DOT_TF32 ? write_tf32_step : write_step)(emitter, &f);
    close_brace(emitter);
}
