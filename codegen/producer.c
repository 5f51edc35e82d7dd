// SPDX-License-Identifier: Apache-2.0
// Launches in which warps of their own copy the tiles of products for all others (lowering/producer.c).
//
// In: a launch with mapped loads. Out: two parts of one function. One thread of the producing warps runs a slice of the
// program and sends for tiles as places in shared memory become free; the others run all of it, wait for each tile
// where they need it and free its place. The one idea: both parts walk the same loops, so they agree on the order of
// tiles without a word; a ring of places and of barriers for each kind of tile is all that lies between them.
#include "codegen/producer.h"

#include <string.h>

enum {
    NUMBER_PLACES = 2,
    NUMBERS_AT = 32,      // behind the barriers of the numbers
    PRODUCING_WARPS = 4,  // registers are given to groups of four
    REGISTERS = 65536,
    MOST_REGISTERS = 240,
    FEW_REGISTERS = 64,       // of a producing thread
    FEWER_REGISTERS = 40,     // with many groups
    COPYING_REGISTERS = 104,  // of a producing thread that copies itself
};

// ---------------------------------------------------------------------------------------------- which part does what

bool is_left_out(const struct emitter *emitter, const struct ir_op *op) {
    if (op->code == OP_LOAD && op->map && emitter->part != PART_WHOLE)
        return true;
    if (emitter->part != PART_PRODUCER)
        return false;
    if (is_control(op)) {
        for (int i = 0; i < op->result_count; i++)
            if (emitter->produced->needed[op->results[i]->id])
                return false;
        return !has_mapped(op) && !has_slab_loop(emitter, op);
    }
    return !op->result_count || op->results[0]->axes || !emitter->produced->needed[op->results[0]->id];
}

bool has_mapped(const struct ir_op *op) {
    if (op->code == OP_LOAD && op->map)
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (has_mapped(inner))
                return true;
    return false;
}

bool is_carried_here(const struct emitter *emitter, const struct ir_value *result) {
    return emitter->part != PART_PRODUCER || emitter->produced->needed[result->id];
}

// ---------------------------------------------------------------------------------------------- the two parts

// Registers of a consuming thread once the producing ones have given theirs up; 0: as many as all have from the start.
// note [pool] A block has what its threads begin with, and no more: a group that asks for what the others haven't given
// up waits for ever.
static int registers_of(const struct emitter *emitter, int few) {
    int blocks = emitter->lowered->config->min_blocks > 1 ? emitter->lowered->config->min_blocks : 1;
    int groups = groups_of(emitter), equal = REGISTERS / (blocks * 128 * (groups + 1)) / 8 * 8;
    int most = (equal * (groups + 1) - few) / groups / 8 * 8;
    most = most > MOST_REGISTERS ? MOST_REGISTERS : most;
    return most > equal && equal < MOST_REGISTERS ? most : 0;
}

static void write_registers(struct emitter *emitter, bool producing) {
    int few = groups_of(emitter) > 2          ? FEWER_REGISTERS
              : emitter->produced->by_threads ? COPYING_REGISTERS
                                              : FEW_REGISTERS;
    int most = registers_of(emitter, few);
    if (most)
        line(emitter, "%s();",
             helper(emitter,
                    print(emitter, "tile_registers_%s_%d", producing ? "down" : "up", producing ? few : most)));
}

static void start_part(struct emitter *emitter, enum part part) {
    emitter->part = part;
    emitter->placed = 0;
    memset(emitter->axis_place, 0, sizeof emitter->axis_place);
    memset(emitter->delivery_of, 0, sizeof *emitter->delivery_of * (size_t)emitter->kernel->value_count);
}

static void declare_rings(struct emitter *emitter) {
    for (int i = 0; i < emitter->ring_count; i++) {
        struct ring *ring = emitter->rings[i];
        line(emitter, "int %s = 0, %s = 0;", ring->place, ring->turn);
    }
}

struct part_writer {
    struct emitter *emitter;
    const struct produced *produced;
    void (*tile)(void *data, const char *number);
    void *data;
    const char *number, *place, *turn;
};

// "tiles + 0 + number_place * 8": of the numbers that have been handed out, or of places that are free for one.
static const char *number_phase(const struct part_writer *w, bool free) {
    return print(w->emitter, "tiles + %d + %s * %d", free ? NUMBER_PLACES * PHASE_BYTES : 0, w->place, PHASE_BYTES);
}

static const char *number_place(const struct part_writer *w) {
    return print(w->emitter, "tiles + %d + %s * 4", NUMBERS_AT, w->place);
}

// The first of the producing threads takes the next number and hands it over.
static void hand_out(const struct part_writer *w, const char *number) {
    struct emitter *emitter = w->emitter;
    line(emitter, "%s(%s, %s ^ 1);", helper(emitter, "tile_phase_await"), number_phase(w, true), w->turn);
    line(emitter, "const int %s = atomicAdd(%s, 1);", number, emitter->param_names[w->produced->state]);
    line(emitter, "%s(%s, %s);", helper(emitter, "tile_hand_over"), number_place(w), number);
    line(emitter, "%s(%s);", helper(emitter, "tile_phase_arrive"), number_phase(w, false));
}

static void be_handed(const struct part_writer *w) {
    struct emitter *emitter = w->emitter;
    line(emitter, "%s(%s, %s);", helper(emitter, "tile_phase_await"), number_phase(w, false), w->turn);
    line(emitter, "const int %s = %s(%s);", w->number, helper(emitter, "tile_handed_over"), number_place(w));
    arrive(emitter, number_phase(w, true));
}

static void take_number(const struct part_writer *w) {
    struct emitter *emitter = w->emitter;
    bool producing = emitter->part == PART_PRODUCER;
    if (producing && w->produced->by_threads) {
        open_brace(emitter, "if (threadIdx.x == %d)", 32 * emitter->lowered->warps);
        hand_out(w, unique_name(emitter, "next"));
        close_brace(emitter);
        line(emitter, "__syncwarp();");
    }
    if (producing && !w->produced->by_threads)
        hand_out(w, w->number);
    else
        be_handed(w);
    line(emitter, "%s ^= 1;", w->place);
    line(emitter, "%s ^= %s == 0;", w->turn, w->place);
    line(emitter, "if (%s >= %s) break;", w->number, value_text(emitter, w->produced->tiles, 11));
}

// What one part does, without its head: rings are known only when it has been written.
static struct text write_part(struct part_writer *w, enum part part) {
    struct emitter *emitter = w->emitter;
    struct text text = {0}, *outer = emitter->out;
    emitter->out = &text;
    start_part(emitter, part);
    int depth = part == PART_PRODUCER && !w->produced->by_threads ? 2 : 1;
    emitter->indent += depth;
    w->number = unique_name(emitter, "number");
    w->place = unique_name(emitter, "number_place");
    w->turn = unique_name(emitter, "number_turn");
    line(emitter, "int %s = 0, %s = 0;", w->place, w->turn);
    open_brace(emitter, "for (;;)");
    take_number(w);
    w->tile(w->data, w->number);
    close_brace(emitter);
    emitter->indent -= depth;
    emitter->out = outer;
    emitter->part = PART_WHOLE;
    return text;
}

static void write_start(struct emitter *emitter) {
    int warps = emitter->lowered->warps, senders = emitter->produced->by_threads ? producing_threads() : 1;
    int readers = emitter->produced->by_threads ? warps + PRODUCING_WARPS : warps;  // of numbers
    const char *function = helper(emitter, "tile_phase_start");
    open_brace(emitter, "if (threadIdx.x == 0)");
    for (int i = 0; i < NUMBER_PLACES; i++) {
        line(emitter, "%s(tiles + %d, 1);", function, i * PHASE_BYTES);
        line(emitter, "%s(tiles + %d, %d);", function, (NUMBER_PLACES + i) * PHASE_BYTES, readers);
    }
    for (int i = 0; i < emitter->ring_count; i++) {
        const struct ring *ring = emitter->rings[i];
        const char *at = unique_name(emitter, "phase");
        open_brace(emitter, "for (int %s = 0; %s < %d; ++%s)", at, at, ring->places, at);
        line(emitter, "%s(tiles + %d + %s * %d, %d);", function, ring->phases, at, PHASE_BYTES, senders);
        line(emitter, "%s(tiles + %d + %s * %d, %d);", function, ring->phases + ring->places * PHASE_BYTES, at,
             PHASE_BYTES, warps);
        close_brace(emitter);
    }
    line(emitter, "%s();", helper(emitter, "tile_phases_started"));
    close_brace(emitter);
    line(emitter, "__syncthreads();");
}

static void add_part(struct emitter *emitter, struct text *text) {
    text_add_bytes(emitter->out, text->data ? text->data : "", text->length);
    text_free(text);
}

// One thread sends for tiles; where all of them copy, each of a delivery's warps says so when it is through.
static void write_producer_head(struct emitter *emitter) {
    const struct produced *produced = emitter->produced;
    if (produced->by_threads) {
        line(emitter, "const int copier = (int)threadIdx.x - %d;", 32 * emitter->lowered->warps);
        return;
    }
    open_brace(emitter, "if (threadIdx.x == %d)", 32 * emitter->lowered->warps);
    line(emitter, "const int *const maps = %s + %d;", emitter->param_names[produced->state], MAP_BYTES / 4);
    for (int i = 0; i < produced->map_count; i++)
        line(emitter, "%s(maps + %d);", helper(emitter, "tile_map_seen"), i * MAP_BYTES / 4);
}

void write_parts(struct emitter *emitter, const struct produced *produced, void (*tile)(void *data, const char *number),
                 void *data) {
    struct part_writer w = {.emitter = emitter, .produced = produced, .tile = tile, .data = data};
    struct form *forms = ARENA_ARRAY(emitter->arena, struct form, emitter->kernel->value_count + 1);
    emitter->produced = produced;
    emitter->has_turns = false;
    emitter->tensors |= (uint64_t)1 << produced->state;
    emitter->stored |= (uint64_t)1 << produced->state;
    emitter->stage_bytes = PRODUCED_PAGE;
    emitter->phase_top = RINGS_AT;
    emitter->rings = NULL;
    emitter->ring_count = emitter->ring_capacity = 0;
    memcpy(forms, emitter->forms, sizeof *forms * (size_t)emitter->kernel->value_count);
    struct text consumers = write_part(&w, PART_CONSUMERS);
    memcpy(emitter->forms, forms, sizeof *forms * (size_t)emitter->kernel->value_count);
    struct text producer = write_part(&w, PART_PRODUCER);
    write_start(emitter);
    emitter->needs_warp = true;
    open_brace(emitter, "if (warp < %d)", emitter->lowered->warps);
    write_registers(emitter, false);
    declare_rings(emitter);
    first_turn(emitter);
    add_part(emitter, &consumers);
    emitter->indent--;
    open_brace(emitter, "} else");
    write_registers(emitter, true);
    write_producer_head(emitter);
    declare_rings(emitter);
    add_part(emitter, &producer);
    if (!produced->by_threads)
        close_brace(emitter);
    close_brace(emitter);
    emitter->produced = NULL;
}

// ---------------------------------------------------------------------------------------------- maps

// Elements between neighbours along a dimension.
static const char *stride_text(struct emitter *emitter, const struct ir_param *param, int dimension) {
    const char *text = "1ll";
    for (int i = dimension + 1; i < param->rank; i++)
        text = print(emitter, "%s * %s", text, value_text(emitter, param->extents[i], 14));
    return text;
}

static void write_map(struct emitter *emitter, const struct produced *produced, int number) {
    const struct tile_map *map = &produced->maps[number];
    const struct ir_param *param = &emitter->kernel->params[map->param];
    const char *others = "", *function = print(emitter, "tile_map_%d_%s", param->rank + 1, ir_type_name(param->type));
    for (int i = 0; i + 1 < param->rank; i++)
        if (i != map->outer)
            others = print(emitter, "%s, (unsigned)%s, %s", others, value_text(emitter, param->extents[i], 14),
                           stride_text(emitter, param, i));
    emitter->tensors |= (uint64_t)1 << map->param;
    emitter->aligned |= (uint64_t)1 << map->param;
    line(emitter, "%s(%s + %d, %s, %d, (unsigned)%s, (unsigned)%s, %s%s);", helper(emitter, function),
         emitter->param_names[produced->state], (number + 1) * MAP_BYTES / 4, emitter->param_names[map->param],
         map->rows, value_text(emitter, param->extents[param->rank - 1], 14),
         value_text(emitter, param->extents[map->outer], 14), stride_text(emitter, param, map->outer), others);
}

// By the first threads of a block.
void write_maps(struct emitter *emitter, const struct produced *produced) {
    emitter->tensors |= (uint64_t)1 << produced->state;
    emitter->stored |= (uint64_t)1 << produced->state;
    line(emitter, "if (threadIdx.x == 0) *%s = 0;", emitter->param_names[produced->state]);
    for (int i = 0; i < produced->map_count && !produced->by_threads; i++) {
        open_brace(emitter, "if (threadIdx.x == %d)", i);
        write_map(emitter, produced, i);
        close_brace(emitter);
    }
}

int producing_threads(void) {
    return 32 * PRODUCING_WARPS;
}
