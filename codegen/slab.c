// SPDX-License-Identifier: Apache-2.0
// Launches in which a warp of its own copies what is read along rows (lowering/slab.c).
//
// In: the loops that make up passes over a row. Out: two parts of one function, as in producer.c: one thread of the last
// warp walks rows and tiles and sends for each tile as a place in shared memory becomes free; the others wait for each,
// and free its place when the last pass has read it. The one idea: both walk the same loops, so what lies between them
// is the places and two barriers for each. A block, or a cluster, has neighbouring rows of about equal work; a cluster's
// blocks have their part of each tile.
#include "codegen/matmul.h"

#include <string.h>

enum { SLAB_PAGE = 1024, PHASE_BYTES = 8, PHASES_AT = 16, COPYING_THREADS = 32, UNROLLED_COPIES = 4 };

// Variables of the launch that is being written.
struct slab_names {
    const char *place, *turn;              // the next place, and whether the round is an odd one
    const char *first_place, *first_turn;  // of the row's first tile
    const char *fits;                      // whether the row's tiles all have room
    const char *row;                       // this thread's first row of its block's part of a tile
    const char *tile;                      // the present tile in shared memory
};

static const struct slab *slab_of(const struct emitter *emitter) {
    return emitter->produced ? emitter->produced->slab : NULL;
}

bool in_slab_launch(const struct emitter *emitter) {
    return slab_of(emitter) != NULL;
}

int copying_threads(const struct produced *produced) {
    return produced->slab ? COPYING_THREADS : producing_threads();
}

// ---------------------------------------------------------------------------------------------- places

static int stages_of(const struct emitter *emitter) {
    return emitter->lowered->config->stages;
}

// Rows of a block's part of a tile that lie one behind the other.
static int piece_rows(const struct emitter *emitter) {
    const struct axis_layout *layout = layout_of(emitter, slab_of(emitter)->rows);
    return layout->lanes * layout->warps;
}

static int64_t piece_bytes(const struct emitter *emitter) {
    return piece_rows(emitter) * slab_of(emitter)->point_bytes;
}

static int64_t place_bytes(const struct emitter *emitter) {
    return piece_bytes(emitter) * layout_of(emitter, slab_of(emitter)->rows)->registers;
}

static const char *phase_of_place(struct emitter *emitter, bool free) {
    return print(emitter, "tiles + %d + %s * %d", PHASES_AT + (free ? stages_of(emitter) * PHASE_BYTES : 0),
                 emitter->slab_names->place, PHASE_BYTES);
}

static void advance(struct emitter *emitter) {
    const struct slab_names *names = emitter->slab_names;
    if (stages_of(emitter) > 1)
        line(emitter, "%s = %s == %d ? 0 : %s + 1;", names->place, names->place, stages_of(emitter) - 1, names->place);
    line(emitter, stages_of(emitter) > 1 ? "%s ^= %s == 0;" : "%s ^= 1;", names->turn, names->place);
}

// ---------------------------------------------------------------------------------------------- loops

// The number of the loop among those of all passes, or -1.
static int loop_number(const struct emitter *emitter, const struct ir_op *loop) {
    const struct slab *slab = emitter->part == PART_WHOLE ? NULL : slab_of(emitter);
    for (int i = 0; slab && i < slab->pass_count * slab->loop_count; i++)
        if (slab->loops[i] == loop)
            return i;
    return -1;
}

bool has_slab_loop(const struct emitter *emitter, const struct ir_op *op) {
    if (loop_number(emitter, op) >= 0)
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (has_slab_loop(emitter, inner))
                return true;
    return false;
}

// A row has so many tiles: of each loop of a pass.
static const char *tiles_of_row(struct emitter *emitter, const struct slab *slab) {
    const char *text = NULL;
    for (int i = 0; i < slab->loop_count; i++) {
        const struct axis_layout *layout = layout_of(emitter, slab->loops[i]->axis);
        const char *lo = value_text(emitter, slab->loops[i]->operands[0], 12),
                   *hi = value_text(emitter, slab->loops[i]->operands[1], 12);
        const char *count = layout->single ? print(emitter, "(%s < %s)", lo, hi)
                                           : print(emitter, "%s(%s, %s, %d)", helper(emitter, "tile_turns"), lo, hi, layout->block);
        text = text ? print(emitter, "%s + %s", text, count) : count;
    }
    return text;
}

static void begin_row(struct emitter *emitter, const struct slab *slab) {
    struct slab_names *names = emitter->slab_names;
    if (slab->pass_count == 1)
        return;
    names->fits = unique_name(emitter, "fits");
    line(emitter, "const bool %s = %s <= %d;", names->fits, tiles_of_row(emitter, slab), stages_of(emitter));
    if (emitter->part == PART_PRODUCER)
        return;
    names->first_place = unique_name(emitter, "first_place");
    names->first_turn = unique_name(emitter, "first_turn");
    line(emitter, "const int %s = %s, %s = %s;", names->first_place, names->place, names->first_turn, names->turn);
}

void begin_slab_loop(struct emitter *emitter, const struct ir_op *loop) {
    const struct slab *slab = slab_of(emitter);
    const struct slab_names *names = emitter->slab_names;
    int number = loop_number(emitter, loop);
    if (number < 0)
        return;
    if (number == 0)
        begin_row(emitter, slab);
    if (number < slab->loop_count)
        return;
    if (emitter->part == PART_PRODUCER) {
        open_brace(emitter, "if (!%s)", names->fits);
    } else if (number % slab->loop_count == 0) {
        line(emitter, "%s = %s ? %s : %s;", names->place, names->fits, names->first_place, names->place);
        line(emitter, "%s = %s ? %s : %s;", names->turn, names->fits, names->first_turn, names->turn);
    }
}

void end_slab_loop(struct emitter *emitter, const struct ir_op *loop) {
    int number = loop_number(emitter, loop);
    if (number >= 0 && emitter->part == PART_PRODUCER && number >= slab_of(emitter)->loop_count)
        close_brace(emitter);
}

// ---------------------------------------------------------------------------------------------- the copying thread

static void place_row(struct emitter *emitter, int axis, const char *piece) {
    const char *base = emitter->axis_base[axis], *at = piece;
    if (emitter->cluster > 1) {
        at = print(emitter, "(%s * %d + rank)", piece, emitter->cluster);
        emitter->needs_rank = true;
    }
    emitter->axis_place[axis] = print(emitter, "%s + %s * %d", base ? base : "0", at, piece_rows(emitter));
    emitter->placed |= AXIS_BIT(axis);
}

static const char *piece_count(struct emitter *emitter, const struct ir_op *load, int rows, int columns) {
    struct tile_limits limits;
    tile_limits(emitter->kernel, load, rows, columns, &limits);
    const char *text = print(emitter, "%d", piece_rows(emitter));
    for (int i = 0; i < limits.row_count; i++) {
        const struct ir_op *less = limits.rows[i];
        text = print(emitter, "%s((long long)%s - (%s), %s)", helper(emitter, "tile_rows"),
                     value_text(emitter, less->operands[1], 14), value_text(emitter, less->operands[0], 13), text);
    }
    for (int i = 0; i < limits.condition_count; i++)
        text = print(emitter, "(%s ? %s : 0)", value_text(emitter, limits.conditions[i], 4), text);
    return text;
}

// A loop over the pieces of a tile: the variable.
static const char *open_pieces(struct emitter *emitter, int rows, int columns) {
    const char *piece = unique_name(emitter, "piece");
    int count = layout_of(emitter, rows)->registers;
    line(emitter, "#pragma unroll %d", UNROLLED_COPIES);
    open_brace(emitter, "for (int %s = 0; %s < %d; ++%s)", piece, piece, count, piece);
    place_row(emitter, rows, piece);
    emitter->axis_place[columns] = "0";
    emitter->placed |= AXIS_BIT(columns);
    return piece;
}

static void close_pieces(struct emitter *emitter, int rows, int columns) {
    emitter->placed = 0;
    emitter->axis_place[rows] = emitter->axis_place[columns] = NULL;
    close_brace(emitter);
}

// What a row's tile that is read again takes from the L2, if it has no room here, is to be there then.
static const char *copy_call(struct emitter *emitter, bool last) {
    const char *fits = emitter->slab_names->fits;
    return !emitter->lowered->config->stream ? "" : last ? ", false" : print(emitter, ", !%s", fits);
}

static void send_pieces(struct emitter *emitter, const struct ir_op *load, int rows, int columns, bool last) {
    const struct slab *slab = slab_of(emitter);
    const char *full = phase_of_place(emitter, false), *points = print(emitter, "%d", piece_rows(emitter));
    const char *copy = helper(emitter, emitter->lowered->config->stream ? "tile_slab_copy_once" : "tile_slab_copy");
    const char *piece = open_pieces(emitter, rows, columns), *guard = "";
    if (load->predicated) {
        points = unique_name(emitter, "points");
        guard = print(emitter, "if (%s > 0) ", points);
        line(emitter, "const int %s = %s;", points, piece_count(emitter, load, rows, columns));
    }
    line(emitter, "%s%s(tiles + %d + %s * %lld + %s * %lld, %s, %s * %lld, %s%s);", guard, copy, SLAB_PAGE,
         emitter->slab_names->place, (long long)place_bytes(emitter), piece, (long long)piece_bytes(emitter),
         element_address(emitter, load), points, (long long)slab->point_bytes, full, copy_call(emitter, last));
    close_pieces(emitter, rows, columns);
}

static void send_tile(struct emitter *emitter, const struct ir_op *loop, const struct ir_op *load, bool last) {
    int rows = loop->axis, columns = -1;
    const char *all = print(emitter, "%d", layout_of(emitter, rows)->registers * piece_rows(emitter));
    for (int a = 0; a < emitter->kernel->axis_count; a++)
        if (load->operands[1]->axes == AXIS_BIT(a))
            columns = a;
    line(emitter, "%s(%s, %s ^ 1);", helper(emitter, "tile_phase_await"), phase_of_place(emitter, true), emitter->slab_names->turn);
    if (load->predicated) {
        all = unique_name(emitter, "all_points");
        line(emitter, "int %s = 0;", all);
        open_pieces(emitter, rows, columns);
        line(emitter, "%s += %s;", all, piece_count(emitter, load, rows, columns));
        close_pieces(emitter, rows, columns);
    }
    line(emitter, "%s(%s, %s * %lld);", helper(emitter, "tile_phase_expect"), phase_of_place(emitter, false), all,
         (long long)slab_of(emitter)->point_bytes);
    send_pieces(emitter, load, rows, columns, last);
    emitter->aligned |= (uint64_t)1 << load->param;
    advance(emitter);
}

// ---------------------------------------------------------------------------------------------- the others

void begin_slab_tile(struct emitter *emitter, const struct ir_op *loop) {
    const struct slab *slab = slab_of(emitter);
    struct slab_names *names = emitter->slab_names;
    if (loop_number(emitter, loop) < 0 || emitter->part != PART_CONSUMERS)
        return;
    const char *type = storage_type(emitter->kernel->params[slab->param].type);
    names->tile = unique_name(emitter, print(emitter, "%s_tile", emitter->kernel->params[slab->param].name));
    line(emitter, "%s(%s, %s);", helper(emitter, "tile_phase_await"), phase_of_place(emitter, false), names->turn);
    line(emitter, "const %s *const %s = (const %s *)(tile_stage + %d + %s * %lld);", type, names->tile, type, SLAB_PAGE, names->place,
         (long long)place_bytes(emitter));
}

static void free_place(struct emitter *emitter, const char *condition) {
    emitter->needs_lane = true;
    line(emitter, "__syncwarp();");
    line(emitter, "if (lane == 0%s) %s(%s);", condition, helper(emitter, "tile_phase_arrive"), phase_of_place(emitter, true));
}

void end_slab_tile(struct emitter *emitter, const struct ir_op *loop) {
    const struct slab *slab = slab_of(emitter);
    int number = loop_number(emitter, loop);
    if (number < 0)
        return;
    bool last = number / slab->loop_count == slab->pass_count - 1;
    const struct form *index = &emitter->forms[slab->loads[number]->operands[0]->id];
    if (index->kind == FORM_VARIABLE)
        note_position(emitter, index->name);  // of no use if nothing is stored there
    if (emitter->part == PART_PRODUCER) {
        send_tile(emitter, loop, slab->loads[number], last);
        return;
    }
    free_place(emitter, last ? "" : print(emitter, " && !%s", emitter->slab_names->fits));
    advance(emitter);
    emitter->slab_names->tile = NULL;
}

bool is_in_slab(const struct emitter *emitter, const struct ir_op *load) {
    const struct slab *slab = emitter->part == PART_CONSUMERS ? slab_of(emitter) : NULL;
    for (int i = 0; slab && i < slab->pass_count * slab->loop_count; i++)
        if (slab->loads[i] == load)
            return true;
    return false;
}

const char *slab_address(struct emitter *emitter, const struct ir_op *load) {
    const struct slab *slab = slab_of(emitter);
    const struct ir_param *param = &emitter->kernel->params[load->param];
    int axis = -1;
    for (int a = 0; a < emitter->kernel->axis_count; a++)
        if (load->operands[0]->axes & AXIS_BIT(a))
            axis = a;
    const struct axis_layout *layout = layout_of(emitter, axis);
    const char *row = emitter->slab_names->row;
    if (layout->registers > 1)
        row = print(emitter, "(%s + %s * %d)", row, emitter->axis_loop[axis][0], piece_rows(emitter));
    return print(emitter, "%s + (%s * %lld + %s)", emitter->slab_names->tile, row,
                 (long long)(slab->point_bytes / ir_type_bytes(param->type)), value_text(emitter, load->operands[1], 13));
}

// ---------------------------------------------------------------------------------------------- the launch

// This thread's first row of the block's own part of a tile: what its coordinate is without the block's number.
static void write_row(struct emitter *emitter) {
    const struct axis_layout *layout = layout_of(emitter, slab_of(emitter)->rows);
    const char *text = "0";
    if (layout->warps > 1) {
        text = bits_text(emitter, "warp", layout->warp_shift, layout->warps, emitter->lowered->warps);
        emitter->needs_warp = true;
    }
    if (layout->lanes > 1) {
        const char *lane = bits_text(emitter, "lane", layout->lane_shift, layout->lanes, 32);
        text = layout->warps > 1 ? print(emitter, "%s * %d + %s", text, layout->lanes, lane) : lane;
        emitter->needs_lane = true;
    }
    emitter->slab_names->row = unique_name(emitter, print(emitter, "%s_s", emitter->kernel->axes[slab_of(emitter)->rows].name));
    line(emitter, "const int %s = %s;", emitter->slab_names->row, text);
}

static void write_start(struct emitter *emitter) {
    int stages = stages_of(emitter);
    const char *function = helper(emitter, "tile_phase_start"), *at = unique_name(emitter, "phase");
    open_brace(emitter, "if (threadIdx.x == 0)");
    for (int i = 0; i < 2 && emitter->cluster > 1; i++)
        line(emitter, "%s(tiles + %d, %d);", function, i * PHASE_BYTES, emitter->cluster);
    open_brace(emitter, "for (int %s = 0; %s < %d; ++%s)", at, at, stages, at);
    line(emitter, "%s(tiles + %d + %s * %d, 1);", function, PHASES_AT, at, PHASE_BYTES);
    line(emitter, "%s(tiles + %d + %s * %d, %d);", function, PHASES_AT + stages * PHASE_BYTES, at, PHASE_BYTES, emitter->lowered->warps);
    close_brace(emitter);
    line(emitter, "%s();", helper(emitter, "tile_phases_started"));
    close_brace(emitter);
    line(emitter, "%s();", emitter->cluster > 1 ? helper(emitter, "tile_meet") : "__syncthreads");
}

// Which rows the block, or its cluster, has: from `first` to `last`.
static void write_share(struct emitter *emitter, const struct produced *produced, const char *first, const char *last) {
    const char *count = value_text(emitter, produced->tiles, 3), *offsets = "";
    const char *share = emitter->cluster > 1 ? print(emitter, "(int)blockIdx.x / %d", emitter->cluster) : "(int)blockIdx.x";
    const char *shares = emitter->cluster > 1 ? print(emitter, "(int)gridDim.x / %d", emitter->cluster) : "(int)gridDim.x";
    const char *function = "tile_share";
    if (produced->slab->offsets >= 0) {
        int param = produced->slab->offsets;
        emitter->tensors |= (uint64_t)1 << param;
        offsets = print(emitter, "%s, ", emitter->param_names[param]);
        function = print(emitter, "tile_share_%s", ir_type_name(emitter->kernel->params[param].type));
    }
    function = helper(emitter, function);
    line(emitter, "const int %s = %s(%s(int)(%s), %s, %s);", first, function, offsets, count, share, shares);
    line(emitter, "const int %s = %s(%s(int)(%s), %s + 1, %s);", last, function, offsets, count, share, shares);
}

struct slab_writer {
    struct emitter *emitter;
    void (*tile)(void *data, const char *number);
    void *data;
    const char *first, *last;
};

static void write_part(struct slab_writer *w, enum part part) {
    struct emitter *emitter = w->emitter;
    const char *row = unique_name(emitter, "row");
    emitter->part = part;
    emitter->placed = 0;
    memset(emitter->axis_place, 0, sizeof emitter->axis_place);
    line(emitter, "int %s = 0, %s = 0;", emitter->slab_names->place, emitter->slab_names->turn);
    open_brace(emitter, "for (int %s = %s; %s < %s; ++%s)", row, w->first, row, w->last, row);
    w->tile(w->data, row);
    close_brace(emitter);
    if (part == PART_CONSUMERS && emitter->exchange_bytes)
        write_part_meeting(emitter);  // no block ends while others read its shared memory
    emitter->part = PART_WHOLE;
}

void write_slab_parts(struct emitter *emitter, const struct produced *produced, void (*tile)(void *data, const char *number),
                      void *data) {
    struct slab_writer w = {emitter, tile, data, unique_name(emitter, "first"), unique_name(emitter, "last")};
    struct form *forms = ARENA_ARRAY(emitter->arena, struct form, emitter->kernel->value_count + 1);
    emitter->produced = produced;
    emitter->slab_names = ARENA_NEW(emitter->arena, struct slab_names);
    emitter->slab_names->place = unique_name(emitter, "place");
    emitter->slab_names->turn = unique_name(emitter, "turn");
    emitter->stage_bytes = SLAB_PAGE + stages_of(emitter) * place_bytes(emitter);
    memcpy(forms, emitter->forms, sizeof *forms * (size_t)emitter->kernel->value_count);
    write_row(emitter);
    write_share(emitter, produced, w.first, w.last);
    write_start(emitter);
    emitter->needs_warp = true;
    open_brace(emitter, "if (warp < %d)", emitter->lowered->warps);
    write_part(&w, PART_CONSUMERS);
    emitter->indent--;
    memcpy(emitter->forms, forms, sizeof *forms * (size_t)emitter->kernel->value_count);
    open_brace(emitter, "} else if (threadIdx.x == %d)", 32 * emitter->lowered->warps);
    write_part(&w, PART_PRODUCER);
    close_brace(emitter);
    emitter->produced = NULL;
}

// ---------------------------------------------------------------------------------------------- meetings of the others

const char *part_helper(struct emitter *emitter, const char *name) {
    return helper(emitter, emitter->part == PART_CONSUMERS && in_slab_launch(emitter) ? print(emitter, "%s_part", name) : name);
}

void write_part_meeting(struct emitter *emitter) {
    line(emitter, "%s(%d, %d, tiles, ++tile_turn);", helper(emitter, "tile_part_meet"), 32 * emitter->lowered->warps, emitter->cluster);
}
