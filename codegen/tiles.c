// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory, for products on the matrix units.
//
// In: staged loads. Out: copies of whole tiles by all threads of the block, between two barriers, or some turns of a loop
// ahead. The one idea: a tile lies in memory order, 16 bytes a cell, and cells of one column are spread over the banks by
// their row's number, so that eight rows are read at once, whichever way round the operand is needed.
#include "codegen/matmul.h"

#include <string.h>

enum { MOST_UNROLLED = 32, PANEL_CELLS = 8, GROUP_ALIGNMENT = 1024 };

bool has_groups(const struct emitter *emitter) {
    return emitter->lowered->config->dot == DOT_WGMMA;
}

bool is_staged(const struct ir_op *op) {
    return op->code == OP_LOAD && op->staged;
}

// ---------------------------------------------------------------------------------------------- who asks for a value

// Whether nothing but places of staged tiles needs the value: it is worked out where a tile is copied.
static bool is_for_tiles(const struct emitter *emitter, const struct ir_value *value) {
    const struct users *users = &emitter->users[value->id];
    for (int i = 0; i < users->count; i++) {
        const struct ir_op *user = users->ops[i];
        if (!is_staged(user) && (user->result_count != 1 || !emitter->for_tiles[user->results[0]->id]))
            return false;
    }
    return value->axes && users->count;
}

static void look_at_op(struct emitter *emitter, const struct ir_op *op) {
    if (op->result_count == 1 && !is_control(op) && !is_staged(op))
        emitter->for_tiles[op->results[0]->id] = is_for_tiles(emitter, op->results[0]);
    if (is_staged(op))
        emitter->tile_axes |= op->results[0]->axes;
    else if (op->code == OP_INDEX && !emitter->for_tiles[op->results[0]->id])
        emitter->register_axes |= AXIS_BIT(op->axis);
}

// Backwards, so that users come before what they use.
void find_tile_values(struct emitter *emitter, const struct ir_region *region) {
    for (const struct ir_op *op = region->last; op; op = op->previous) {
        for (int r = op->region_count; r-- > 0;)
            find_tile_values(emitter, op->regions[r]);
        look_at_op(emitter, op);
    }
}

bool is_only_staged(const struct emitter *emitter, int axis) {
    return (emitter->tile_axes & ~emitter->register_axes) & AXIS_BIT(axis);
}

void open_count(struct emitter *emitter, const char *name, int count, int step) {
    line(emitter, "#pragma unroll");
    if (step == 1)
        open_brace(emitter, "for (int %s = 0; %s < %d; ++%s)", name, name, count, name);
    else
        open_brace(emitter, "for (int %s = 0; %s < %d; %s += %d)", name, name, count, name, step);
}

// ---------------------------------------------------------------------------------------------- where a tile lies

struct tile tile_of(const struct emitter *emitter, const struct ir_op *load) {
    struct tile tile = {.outer = -1, .inner = -1};
    int rank = emitter->kernel->params[load->param].rank;
    for (int a = 0; a < emitter->kernel->axis_count; a++) {
        if (!(load->results[0]->axes & AXIS_BIT(a)))
            continue;
        bool contiguous = tile.inner < 0 && moves_along(load->operands[rank - 1], a);
        *(contiguous || tile.outer >= 0 ? &tile.inner : &tile.outer) = a;
    }
    tile.rows = emitter->lowered->axes[tile.outer].block;
    tile.columns = emitter->lowered->axes[tile.inner].block;
    tile.cell = CELL_BYTES / (int)ir_type_bytes(load->results[0]->type);
    return tile;
}

const char *tile_text(struct emitter *emitter, const struct ir_value *staged) {
    int64_t offset = emitter->tile_offset[staged->id];
    const char *base = emitter->tile_base[staged->id] ? emitter->tile_base[staged->id] : "tiles";
    return offset ? print(emitter, "%s + %lld", base, (long long)offset) : base;
}

int cells_of(const struct tile *tile) {
    return tile->columns / tile->cell;
}

int64_t tile_bytes(const struct emitter *emitter, const struct ir_op *load) {
    struct tile tile = tile_of(emitter, load);
    int64_t bytes = (int64_t)tile.rows * tile.columns * ir_type_bytes(load->results[0]->type);
    return has_groups(emitter) ? (bytes + GROUP_ALIGNMENT - 1) / GROUP_ALIGNMENT * GROUP_ALIGNMENT : bytes;
}

static int64_t take_shared(struct emitter *emitter, int64_t bytes) {
    if (has_groups(emitter))
        emitter->stage_top = (emitter->stage_top + GROUP_ALIGNMENT - 1) / GROUP_ALIGNMENT * GROUP_ALIGNMENT;
    int64_t at = emitter->stage_top;
    emitter->stage_top += bytes;
    if (emitter->stage_top > emitter->stage_bytes)
        emitter->stage_bytes = emitter->stage_top;
    return at;
}

// ---------------------------------------------------------------------------------------------- copying

void set_place(struct emitter *emitter, int axis, const char *offset) {
    const char *base = emitter->axis_base[axis];
    emitter->axis_place[axis] = base ? print(emitter, "%s + %s", base, offset) : offset;
    emitter->placed |= AXIS_BIT(axis);
}

// Neighbours along the inner axis that one copy moves.
static int copy_width(struct emitter *emitter, const struct ir_op *load, const struct tile *tile) {
    for (int width = tile->cell; width > 1; width /= 2)
        if (moves_together(emitter, load, tile->inner, width))
            return width;
    return 1;
}

// Where the copies of a tile go: neighbouring threads to neighbouring cells.
struct copying {
    int width;            // elements that one copy moves
    const char *row, *column, *cell;  // of this copy: in the tile; the cell's place in it
};

static void write_copy(struct emitter *emitter, const struct ir_op *load, const struct tile *tile,
                       const struct copying *copying) {
    int bytes = CELL_BYTES / tile->cell;
    const char *to = print(emitter, "%s + %s", tile_text(emitter, load->results[0]), copying->cell);
    if (copying->width < tile->cell)
        to = print(emitter, "%s + %s %% %d * %d", to, copying->column, tile->cell, bytes);
    const char *inside = load->predicated ? value_text(emitter, load->operands[load->operand_count - 1], 1) : "true";
    line(emitter, "%s(%s, %s, %s);", helper(emitter, print(emitter, "tile_copy_%d", bytes * copying->width)), to,
         element_address(emitter, load), inside);
}

static const char *copy_cell(struct emitter *emitter, const struct tile *tile, const char *row, const char *column) {
    if (has_groups(emitter))
        return print(emitter, "%s(%s, %s / %d, %d)", helper(emitter, "tile_panel_cell"), row, column, tile->cell, tile->rows);
    return print(emitter, "%s(%s, %s / %d, %d)", helper(emitter, "tile_cell"), row, column, tile->cell, cells_of(tile));
}

// Copies of less than 16 bytes are many: the text and its registers have an end.
static void open_turns(struct emitter *emitter, const char *at, int turns) {
    line(emitter, turns > MOST_UNROLLED ? "#pragma unroll %d" : "#pragma unroll", MOST_UNROLLED);
    open_brace(emitter, "for (int %s = 0; %s < %d; ++%s)", at, at, turns, at);
}

// Opens the loop over the thread's copies. Where a turn of it is a multiple of eight rows, it adds a constant to the cell.
static void open_copies(struct emitter *emitter, const struct tile *tile, struct copying *copying, const char *at) {
    int copies = tile->rows * tile->columns / copying->width, threads = 32 * emitter->lowered->warps;
    int per_row = tile->columns / copying->width, rows = threads / per_row;
    const char *row = copying->row, *column = copying->column;
    emitter->needs_thread = true;
    if (copies % threads == 0 && rows >= 8 && rows % 8 == 0) {
        open_turns(emitter, at, copies / threads);
        line(emitter, "const int %s = thread / %d + %s * %d, %s = thread %% %d * %d;", row, per_row, at, rows, column,
             per_row, copying->width);
        copying->cell = print(emitter, "%s + %s * %d", copy_cell(emitter, tile, print(emitter, "thread / %d", per_row), column),
                              at, rows * CELL_BYTES * (has_groups(emitter) ? PANEL_CELLS : cells_of(tile)));
        return;
    }
    copying->cell = copy_cell(emitter, tile, row, column);
    if (copies % threads == 0) {
        open_turns(emitter, at, copies / threads);
        line(emitter, "const int %s = (thread + %s * %d) / %d, %s = (thread + %s * %d) %% %d * %d;", row, at, threads,
             per_row, column, at, threads, per_row, copying->width);
        return;
    }
    open_brace(emitter, "for (int %s = thread; %s < %d; %s += %d)", at, at, copies, at, threads);
    line(emitter, "const int %s = %s / %d, %s = %s %% %d * %d;", row, at, per_row, column, at, per_row, copying->width);
}

static void write_tile(struct emitter *emitter, const struct ir_op *load) {
    struct tile tile = tile_of(emitter, load);
    struct copying copying = {.width = copy_width(emitter, load, &tile)};
    const char *at = unique_name(emitter, "copy");
    copying.row = unique_name(emitter, print(emitter, "%s_s", emitter->kernel->axes[tile.outer].name));
    copying.column = unique_name(emitter, print(emitter, "%s_s", emitter->kernel->axes[tile.inner].name));
    open_copies(emitter, &tile, &copying, at);
    set_place(emitter, tile.outer, copying.row);
    set_place(emitter, tile.inner, copying.column);
    write_copy(emitter, load, &tile, &copying);
    emitter->placed = 0;
    emitter->axis_place[tile.outer] = emitter->axis_place[tile.inner] = NULL;
    close_brace(emitter);
}

// What this thread has copied is there for all, matrix units included.
static void await_all(struct emitter *emitter) {
    if (has_groups(emitter))
        line(emitter, "%s();", helper(emitter, "tile_copies_seen"));
    line(emitter, "__syncthreads();");
}

static bool has_tile_of_its_own(const struct ir_op *product) {
    for (int i = 0; i < 2; i++) {
        const struct ir_value *operand = product->operands[i];
        if (!operand->region && is_staged(operand->def) && operand->def->parent == product->parent)
            return true;
    }
    return false;
}

// Whether all products that read the tile stand in loops where they wait for another one: that wait is for both.
static bool is_awaited_later(const struct emitter *emitter, const struct ir_op *load) {
    const struct users *users = &emitter->users[load->results[0]->id];
    for (int i = 0; i < users->count; i++)
        if (users->ops[i]->parent == load->parent || !has_tile_of_its_own(users->ops[i]))
            return false;
    return users->count > 0;
}

void write_tiles(struct emitter *emitter, struct ir_op *const *loads, int count) {
    bool later = true;
    for (int i = 0; i < count; i++)
        later = later && is_awaited_later(emitter, loads[i]);
    if (later)  // nor did anybody wait where the loops had no turn, the last time
        line(emitter, "%s();", helper(emitter, "tile_copies_done"));
    line(emitter, "__syncthreads();");
    for (int i = 0; i < count; i++) {
        emitter->tile_base[loads[i]->results[0]->id] = NULL;
        emitter->tile_offset[loads[i]->results[0]->id] = take_shared(emitter, tile_bytes(emitter, loads[i]));
        write_tile(emitter, loads[i]);
    }
    line(emitter, "%s();", helper(emitter, later ? "tile_copies_end" : "tile_copies_done"));
    if (!later)
        await_all(emitter);
}

// ---------------------------------------------------------------------------------------------- tiles of later turns

// Tiles of a loop that are copied ahead: `stages` places for them in turn, and the loop's present tiles in one of them.
struct ring {
    struct emitter *emitter;
    const struct ir_op *loop;
    int stages;
    int64_t start, bytes;  // of all places; of one
    const char *slot, *hi;
};

static bool is_ahead(const struct ir_op *op) {
    return is_staged(op) && op->ahead;
}

// Copies the tiles of the turn that begins at `first` into place number `slot`, if there is such a turn.
static void write_ahead(const struct ring *ring, const char *first, const char *slot) {
    struct emitter *emitter = ring->emitter;
    int axis = ring->loop->axis;
    const char *name = emitter->kernel->axes[axis].name, *saved = emitter->axis_base[axis];
    const char *ahead = unique_name(emitter, print(emitter, "%s_ahead", name));
    const char *to = unique_name(emitter, print(emitter, "%s_to", name));
    line(emitter, "const %s %s = %s;", position_type(emitter, ring->loop), ahead, first);
    open_brace(emitter, "if (%s < %s)", ahead, ring->hi);
    line(emitter, "const unsigned %s = tiles + %lld + %s * %lld;", to, (long long)ring->start, slot,
         (long long)ring->bytes);
    emitter->axis_base[axis] = ahead;
    for (const struct ir_op *op = ring->loop->regions[0]->first; op; op = op->next) {
        if (!is_ahead(op))
            continue;
        emitter->tile_base[op->results[0]->id] = to;
        write_tile(emitter, op);
    }
    emitter->axis_base[axis] = saved;
    close_brace(emitter);
    line(emitter, "%s();", helper(emitter, "tile_copies_end"));
}

struct ring *start_ring(struct emitter *emitter, const struct ir_op *loop, const char *lo, const char *hi) {
    struct ring *ring = ARENA_NEW(emitter->arena, struct ring);
    const struct axis_layout *layout = &emitter->lowered->axes[loop->axis];
    *ring = (struct ring){.emitter = emitter, .loop = loop, .hi = hi};
    for (const struct ir_op *op = loop->regions[0]->first; op; op = op->next) {
        if (!is_ahead(op))
            continue;
        ring->stages = op->ahead + 1;
        emitter->forms[op->results[0]->id].kind = FORM_STAGED;
        emitter->tile_offset[op->results[0]->id] = ring->bytes;
        ring->bytes += tile_bytes(emitter, op);
    }
    if (!ring->stages)
        return NULL;
    ring->start = take_shared(emitter, ring->stages * ring->bytes);
    ring->slot = unique_name(emitter, print(emitter, "%s_slot", emitter->kernel->axes[loop->axis].name));
    line(emitter, "__syncthreads();");
    line(emitter, "int %s = 0;", ring->slot);
    const char *turn = unique_name(emitter, "turn");
    open_count(emitter, turn, ring->stages - 1, 1);
    write_ahead(ring, print(emitter, "%s + %s * %d", lo, turn, layout->block), turn);
    close_brace(emitter);
    return ring;
}

// The present tiles have come, and those of a later turn are sent for, into the place of the turn before this.
void turn_ring(struct ring *ring, const char *base) {
    struct emitter *emitter = ring->emitter;
    int last = ring->stages - 1, block = emitter->lowered->axes[ring->loop->axis].block;
    const char *tiles = unique_name(emitter, print(emitter, "%s_tiles", emitter->kernel->axes[ring->loop->axis].name));
    line(emitter, "%s();", helper(emitter, print(emitter, "tile_copies_but_%d", ring->stages - 2)));
    await_all(emitter);
    line(emitter, "const unsigned %s = tiles + %lld + %s * %lld;", tiles, (long long)ring->start,
         ring->slot, (long long)ring->bytes);
    write_ahead(ring, print(emitter, "%s + %d", base, last * block),
                print(emitter, "(%s ? %s - 1 : %d)", ring->slot, ring->slot, last));
    line(emitter, "%s = %s == %d ? 0 : %s + 1;", ring->slot, ring->slot, last, ring->slot);
    for (const struct ir_op *op = ring->loop->regions[0]->first; op; op = op->next)
        if (is_ahead(op))
            emitter->tile_base[op->results[0]->id] = tiles;
}

