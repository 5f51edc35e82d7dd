// SPDX-License-Identifier: Apache-2.0
// How a tile gets into its place: sent for by one thread, as boxes of the device's copying engine, or copied by all
// producing threads.
//
// In: a staged load, where its tile is to lie. Out: the statements. The one idea of the second form: rows that begin at
// multiples of 4 bytes are copied in pieces, which tell the tile's barrier themselves when they have come; others are
// read in whole 16 bytes, two for each cell of a tile, and shifted, several cells of a thread together.
#include "codegen/matmul.h"

enum { CELLS_TOGETHER = 5, COPYING_THREADS = 128 };

// ---------------------------------------------------------------------------------------------- boxes

// The position is the tile's first point.
static void place_at_base(struct emitter *emitter, int axis) {
    const char *base = emitter->axis_base[axis];
    emitter->axis_place[axis] = base ? base : "0";
    emitter->placed |= AXIS_BIT(axis);
}

// How many of the tile's rows are inside: a literal, or a variable.
static const char *rows_inside(struct emitter *emitter, const struct ir_op *load, const struct tile *tile) {
    struct tile_limits limits;
    tile_limits(emitter->kernel, load, tile->outer, tile->inner, &limits);
    if (!limits.row_count && !limits.condition_count)
        return NULL;
    const char *name = unique_name(emitter, print(emitter, "%s_rows", emitter->kernel->params[load->param].name));
    const char *text = print(emitter, "%d", tile->rows);
    for (int i = 0; i < limits.row_count; i++) {
        const struct ir_op *less = limits.rows[i];
        text = print(emitter, "%s((long long)%s - %s, %s)", helper(emitter, "tile_rows"),
                     value_text(emitter, less->operands[1], 14), value_text(emitter, less->operands[0], 13), text);
    }
    for (int i = 0; i < limits.condition_count; i++)
        text = print(emitter, "(%s ? %s : 0)", value_text(emitter, limits.conditions[i], 4), text);
    line(emitter, "const int %s = %s;", name, text);
    return name;
}

static const char *coordinate(struct emitter *emitter, const struct ir_value *index) {
    bool wide = index->type == TYPE_I64;
    return wide ? print(emitter, "(int)%s", value_text(emitter, index, 14)) : value_text(emitter, index, 12);
}

void send_boxes(struct emitter *emitter, const struct ir_op *load, const char *to, const char *phase) {
    struct tile tile = tile_of(emitter, load);
    const struct ir_param *param = &emitter->kernel->params[load->param];
    const struct tile_map *map = &emitter->produced->maps[load->map - 1];
    place_at_base(emitter, tile.outer);
    place_at_base(emitter, tile.inner);
    const char *rows = rows_inside(emitter, load, &tile), *others = "";
    const char *first = coordinate(emitter, load->operands[map->outer]),
               *column = coordinate(emitter, load->operands[param->rank - 1]);
    for (int i = 0; i + 1 < param->rank; i++)
        if (i != map->outer)
            others = print(emitter, "%s, %s", others, coordinate(emitter, load->operands[i]));
    const char *function = helper(emitter, print(emitter, "tile_box_%d", param->rank + 1));
    for (int panel = 0; panel < tile.columns / PANEL_CELLS_WIDE; panel++) {
        int64_t offset = emitter->tile_offset[load->results[0]->id] + (int64_t)panel * tile.rows * PANEL_ROW;
        line(emitter, "%s(%s + %lld, maps + %d, %s, %s + %d, %s, %s%s);", function, to, (long long)offset,
             (load->map - 1) * MAP_BYTES / 4, phase, column, panel * PANEL_CELLS_WIDE,
             rows ? print(emitter, "%d - %s", tile.rows, rows) : "0",
             print(emitter, "%s + %s", first, rows ? rows : print(emitter, "%d", tile.rows)), others);
    }
    emitter->placed = 0;
    emitter->axis_place[tile.outer] = emitter->axis_place[tile.inner] = NULL;
}

// ---------------------------------------------------------------------------------------------- copies by threads

// Elements that all of the tensor's rows begin at a multiple of, up to 8.
static int grain_of(const struct emitter *emitter, const struct ir_op *load) {
    const struct ir_param *param = &emitter->kernel->params[load->param];
    int64_t extent = param->extents[param->rank - 1]->def->integer;
    int grain = CELL_ELEMENTS;
    while (extent % grain)
        grain /= 2;
    return grain;
}

static const char *count_text(struct emitter *emitter, const struct ir_param *param) {
    const char *text = "";
    for (int i = 0; i < param->rank; i++)
        text = print(emitter, "%s%s(long long)%s", text, i ? " * " : "", value_text(emitter, param->extents[i], 14));
    return text;
}

struct cells {
    const struct ir_op *load;
    struct tile tile;
    int per_row, total;
    const char *at, *row, *column;  // variables: number of the cell, where in the tile it is
};

// Which cell it is, of those that any product looks at.
static void write_cell(struct emitter *emitter, const struct cells *cells, const char *first, const char *turn) {
    line(emitter, "const int %s = %s + %s * %d, %s = %s / %d, %s = %s %% %d * %d;", cells->at, first, turn,
         COPYING_THREADS, cells->row, cells->at, cells->per_row, cells->column, cells->at, cells->per_row,
         CELL_ELEMENTS);
}

static void write_fetch_cell(struct emitter *emitter, const struct cells *cells, const char *to, const char *rows) {
    const struct ir_op *load = cells->load;
    const struct ir_param *param = &emitter->kernel->params[load->param];
    const char *column = coordinate(emitter, load->operands[param->rank - 1]);
    const char *inside = print(emitter, "%s < %s", cells->row, rows ? rows : print(emitter, "%d", cells->tile.rows));
    line(emitter, "%s(%s, %s, %s + %s, %s ? %s - (%s) : 0);", helper(emitter, "tile_fetch_cell"), to,
         element_address(emitter, load), emitter->param_names[load->param], count_text(emitter, param), inside,
         value_text(emitter, param->extents[param->rank - 1], 12), column);
}

static void write_cells(struct emitter *emitter, struct cells *cells, const char *first, const char *rows,
                        const char *to) {
    const char *words = unique_name(emitter, "words"), *turn = unique_name(emitter, "turn");
    line(emitter, "unsigned %s[%d][10];", words, CELLS_TOGETHER);
    open_count(emitter, turn, CELLS_TOGETHER, 1);
    write_cell(emitter, cells, first, turn);
    set_place(emitter, cells->tile.outer, cells->row);
    set_place(emitter, cells->tile.inner, cells->column);
    write_fetch_cell(emitter, cells, print(emitter, "%s[%s]", words, turn), rows);
    close_brace(emitter);
    open_count(emitter, turn, CELLS_TOGETHER, 1);
    write_cell(emitter, cells, first, turn);
    line(emitter, "if (%s < %d) %s(%s + %s(%s, %s / %d, %d), %s[%s], %d);", cells->at, cells->total,
         helper(emitter, "tile_keep_cell"), to, helper(emitter, "tile_panel_cell"), cells->row, cells->column,
         CELL_ELEMENTS, cells->tile.rows, words, turn, grain_of(emitter, cells->load));
    close_brace(emitter);
}

// Pieces of as many elements as all rows begin at a multiple of: the copies are under way when the statements end.
static void write_pieces(struct emitter *emitter, struct cells *cells, const char *first, const char *rows,
                         const char *to) {
    const struct ir_op *load = cells->load;
    const struct ir_param *param = &emitter->kernel->params[load->param];
    int grain = grain_of(emitter, load), per_row = cells->per_row * CELL_ELEMENTS / grain;
    line(emitter, "#pragma unroll 4");
    open_brace(emitter, "for (int %s = copier; %s < %d; %s += %d)", first, first, per_row * cells->tile.rows, first,
               COPYING_THREADS);
    line(emitter, "const int %s = %s / %d, %s = %s %% %d * %d;", cells->row, first, per_row, cells->column, first,
         per_row, grain);
    set_place(emitter, cells->tile.outer, cells->row);
    set_place(emitter, cells->tile.inner, cells->column);
    const char *place = print(emitter, "%s(%s, %s / %d, %d)", helper(emitter, "tile_panel_cell"), cells->row,
                              cells->column, CELL_ELEMENTS, cells->tile.rows);
    if (grain < CELL_ELEMENTS)
        place = print(emitter, "%s + %s %% %d * 2", place, cells->column, CELL_ELEMENTS);
    const char *inside = print(emitter, "%s < %s", coordinate(emitter, load->operands[param->rank - 1]),
                               value_text(emitter, param->extents[param->rank - 1], 11));
    line(emitter, "%s(%s + %s, %s, %s%s%s & %s);", helper(emitter, print(emitter, "tile_copy_%d", 2 * grain)), to,
         place, element_address(emitter, load), cells->row, rows ? " < " : print(emitter, " < %d", cells->tile.rows),
         rows ? rows : "", inside);
    close_brace(emitter);
}

bool copies_run_ahead(const struct emitter *emitter, const struct ir_op *load) {
    return grain_of(emitter, load) > 1;
}

void copy_tile(struct emitter *emitter, const struct ir_op *load, const char *to, const char *phase) {
    (void)phase;
    struct cells cells = {.load = load, .tile = tile_of(emitter, load)};
    int64_t offset = emitter->tile_offset[load->results[0]->id];
    cells.per_row = (layout_of(emitter, cells.tile.inner)->filled + 15) / 16 * 2;  // products take 16 points at once
    cells.total = cells.per_row * cells.tile.rows;
    place_at_base(emitter, cells.tile.outer);
    place_at_base(emitter, cells.tile.inner);
    const char *rows = rows_inside(emitter, load, &cells.tile);
    const char *first = unique_name(emitter, "cell"), *place = print(emitter, "%s + %lld", to, (long long)offset);
    cells.at = unique_name(emitter, "at");
    cells.row = unique_name(emitter, print(emitter, "%s_s", emitter->kernel->axes[cells.tile.outer].name));
    cells.column = unique_name(emitter, print(emitter, "%s_s", emitter->kernel->axes[cells.tile.inner].name));
    emitter->tensors |= (uint64_t)1 << load->param;
    emitter->aligned |= (uint64_t)1 << load->param;
    if (copies_run_ahead(emitter, load)) {
        write_pieces(emitter, &cells, first, rows, place);
    } else {
        open_brace(emitter, "for (int %s = copier; %s < %d; %s += %d)", first, first, cells.total, first,
                   COPYING_THREADS * CELLS_TOGETHER);
        write_cells(emitter, &cells, first, rows, place);
        close_brace(emitter);
    }
    emitter->placed = 0;
    emitter->axis_place[cells.tile.outer] = emitter->axis_place[cells.tile.inner] = NULL;
}
