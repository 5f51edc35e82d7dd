// SPDX-License-Identifier: Apache-2.0
// Launches in which warps of their own copy the tiles of products for all others (lowering/producer.c).
//
// In: a launch with mapped loads. Out: two parts of one function. One thread of the producing warps runs a slice of the
// program and sends for tiles as places in shared memory become free; the others run all of it, wait for each tile
// where they need it and free its place. The one idea: both parts walk the same loops, so they agree on the order of
// tiles without a word; a ring of places and of barriers for each kind of tile is all that lies between them.
#include "codegen/matmul.h"

#include <string.h>

enum {
    NUMBER_PLACES = 2,
    NUMBERS_AT = 32,  // behind the barriers of the numbers
    RINGS_AT = 64,
    PHASE_BYTES = 8,
    PRODUCING_WARPS = 4,  // registers are given to groups of four
    REGISTERS = 65536,
    MOST_REGISTERS = 240,
    FEW_REGISTERS = 64,    // of a producing thread
    FEWER_REGISTERS = 40,  // with many groups
    COPYING_REGISTERS = 104,  // of a producing thread that copies itself
};

// ---------------------------------------------------------------------------------------------- rings

// Tiles that are needed together, again and again: `places` for them in turn.
struct ring {
    int ordinal, places, number;
    bool inner;
    int64_t bytes, start;
    int phases;                // where its barriers are: of full places, then of free ones
    const char *place, *turn;  // variables: the next place, and whether the round is an odd one
};

// Loads of one region that the same products need.
struct delivery {
    struct ring *ring;
    int count;
    struct ir_op *loads[4];
    int first, last;   // of the operations of the region: behind the first all loads are known, the last uses one
    bool here;         // their products stand in the same region
    bool kept;         // all of it is in registers: its place is free at once
    const char *free;  // variable: the barrier of its place
};

static const struct ir_region *home_of(const struct emitter *emitter, const struct ir_op *load) {
    const struct users *users = &emitter->users[load->results[0]->id];
    for (int i = 0; i < users->count; i++)
        if (users->ops[i]->parent != load->parent)
            return NULL;
    return load->parent;
}

static bool same_users(const struct emitter *emitter, const struct ir_op *a, const struct ir_op *b) {
    const struct users *of_a = &emitter->users[a->results[0]->id], *of_b = &emitter->users[b->results[0]->id];
    bool same = of_a->count == of_b->count;
    for (int i = 0; same && i < of_a->count; i++)
        same = of_a->ops[i] == of_b->ops[i];
    return same;
}

static struct ring *ring_for(struct emitter *emitter, int ordinal, bool inner, int64_t bytes) {
    int stages = emitter->lowered->config->stages;
    for (int i = 0; i < emitter->ring_count; i++) {
        struct ring *known = emitter->rings[i];
        if (known->ordinal == ordinal && known->inner == inner && known->bytes == bytes)
            return known;
    }
    struct ring *ring = ARENA_NEW(emitter->arena, struct ring);
    *ring = (struct ring){.ordinal = ordinal,
                          .inner = inner,
                          .bytes = bytes,
                          .start = emitter->stage_bytes,
                          .phases = emitter->phase_top,
                          .number = emitter->ring_count};
    ring->places = inner || stages < OUTER_PLACES ? stages : OUTER_PLACES;
    emitter->stage_bytes += ring->places * bytes;
    emitter->phase_top += 2 * ring->places * PHASE_BYTES;
    if (emitter->phase_top > PRODUCED_PAGE)
        give_up(emitter, "codegen.producers", emitter->kernel->span, "there are more tiles to wait for than barriers");
    ARENA_PUSH(emitter->arena, emitter->rings, emitter->ring_count, emitter->ring_capacity, ring);
    return ring;
}

static void name_ring(struct emitter *emitter, struct ring *ring, const char *stem) {
    if (ring->place)
        return;
    ring->place = unique_name(emitter, print(emitter, "%s_place", stem));
    ring->turn = unique_name(emitter, print(emitter, "%s_turn", stem));
}

static const char *phase_text(struct emitter *emitter, const struct ring *ring, bool free) {
    return print(emitter, "tiles + %d + %s * %d", ring->phases + (free ? ring->places * PHASE_BYTES : 0), ring->place,
                 PHASE_BYTES);
}

static void advance(struct emitter *emitter, const struct ring *ring) {
    if (ring->places > 1)
        line(emitter, "%s = %s == %d ? 0 : %s + 1;", ring->place, ring->place, ring->places - 1, ring->place);
    line(emitter, ring->places > 1 ? "%s ^= %s == 0;" : "%s ^= 1;", ring->turn, ring->place);
}

// ---------------------------------------------------------------------------------------------- deliveries

static bool mentions(const struct ir_op *op, const struct ir_value *value) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == value)
            return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (mentions(inner, value))
                return true;
    return false;
}

static void add_load(struct emitter *emitter, struct deliveries *all, struct ir_op *load, int at) {
    for (int i = 0; i < all->count; i++) {
        struct delivery *known = all->items[i];
        if (known->count == 4 || !same_users(emitter, known->loads[0], load))
            continue;
        known->loads[known->count++] = load;
        known->first = at;
        return;
    }
    struct delivery *fresh = ARENA_NEW(emitter->arena, struct delivery);
    *fresh =
        (struct delivery){.count = 1, .loads = {load}, .first = at, .last = at, .here = home_of(emitter, load) != NULL};
    ARENA_PUSH(emitter->arena, all->items, all->count, all->capacity, fresh);
}

static void settle(struct emitter *emitter, struct delivery *delivery, int ordinal, struct ir_op *const *ops,
                   int count) {
    const struct ir_region *region = delivery->loads[0]->parent;
    int64_t bytes = 0;
    for (int i = 0; i < delivery->count; i++) {
        const struct ir_value *value = delivery->loads[i]->results[0];
        emitter->tile_offset[value->id] = bytes;
        emitter->forms[value->id].kind = FORM_STAGED;
        emitter->delivery_of[value->id] = delivery;
        bytes += tile_bytes(emitter, delivery->loads[i]);
        for (int at = 0; at < count; at++)
            if (mentions(ops[at], value) && at > delivery->last)
                delivery->last = at;
    }
    delivery->ring = ring_for(emitter, ordinal, !has_loop(region), bytes);
    name_ring(emitter, delivery->ring, emitter->kernel->params[delivery->loads[0]->param].name);
}

static void arrive(struct emitter *emitter, const char *phase) {
    emitter->needs_lane = true;
    line(emitter, "__syncwarp();");
    line(emitter, "if (lane == 0) %s(%s);", helper(emitter, "tile_phase_arrive"), phase);
}

static void await(struct emitter *emitter, struct delivery *delivery) {
    const struct ring *ring = delivery->ring;
    const char *stem = emitter->kernel->params[delivery->loads[0]->param].name;
    const char *at = unique_name(emitter, print(emitter, "%s_tile", stem));
    delivery->free = unique_name(emitter, print(emitter, "%s_free", stem));
    line(emitter, "%s(%s, %s);", helper(emitter, "tile_phase_await"), phase_text(emitter, ring, false), ring->turn);
    line(emitter, "const unsigned %s = tiles + %lld + %s * %lld, %s = %s;", at, (long long)ring->start, ring->place,
         (long long)ring->bytes, delivery->free, phase_text(emitter, ring, true));
    advance(emitter, ring);
    int kept = 0;
    for (int i = 0; i < delivery->count; i++) {
        const struct ir_value *value = delivery->loads[i]->results[0];
        emitter->tile_base[value->id] = at;
        emitter->kept_rows[value->id] = delivery->here ? NULL : keep_rows(emitter, value);
        kept += emitter->kept_rows[value->id] != NULL;
    }
    delivery->kept = kept == delivery->count;
    if (delivery->kept)
        arrive(emitter, delivery->free);
}

// ---------------------------------------------------------------------------------------------- sending for tiles

static void send(struct emitter *emitter, const struct delivery *delivery) {
    const struct ring *ring = delivery->ring;
    const char *stem = emitter->kernel->params[delivery->loads[0]->param].name;
    const char *to = unique_name(emitter, print(emitter, "%s_to", stem)),
               *full = unique_name(emitter, print(emitter, "%s_full", stem));
    line(emitter, "%s(%s, %s ^ 1);", helper(emitter, "tile_phase_await"), phase_text(emitter, ring, true), ring->turn);
    line(emitter, "const unsigned %s = tiles + %lld + %s * %lld, %s = %s;", to, (long long)ring->start, ring->place,
         (long long)ring->bytes, full, phase_text(emitter, ring, false));
    bool by_threads = emitter->produced->by_threads;
    if (!by_threads)
        line(emitter, "%s(%s, %lld);", helper(emitter, "tile_phase_expect"), full, (long long)ring->bytes);
    for (int i = 0; i < delivery->count; i++)
        (by_threads ? copy_tile : send_boxes)(emitter, delivery->loads[i], to, full);
    if (by_threads) {
        line(emitter, "%s();", helper(emitter, "tile_copies_seen"));
        arrive(emitter, full);
    }
    advance(emitter, ring);
}

// ---------------------------------------------------------------------------------------------- called on the way

struct deliveries begin_deliveries(struct emitter *emitter, struct ir_op *const *ops, int count) {
    struct deliveries all = {0};
    for (int i = 0; emitter->part != PART_WHOLE && i < count; i++)
        if (ops[i]->code == OP_LOAD && ops[i]->map)
            add_load(emitter, &all, ops[i], i);
    for (int i = 0; i < all.count; i++) {
        settle(emitter, all.items[i], i, ops, count);
        if (emitter->part == PART_CONSUMERS && !all.items[i]->here)
            await(emitter, all.items[i]);
    }
    return all;
}

void pass_deliveries(struct emitter *emitter, const struct deliveries *all, int from, int to) {
    for (int i = 0; i < all->count; i++) {
        struct delivery *delivery = all->items[i];
        int at = emitter->part == PART_PRODUCER ? delivery->first : delivery->last;
        if (at < from || at >= to)
            continue;
        if (emitter->part == PART_PRODUCER)
            send(emitter, delivery);
        else if (!delivery->here && !delivery->kept)
            arrive(emitter, delivery->free);
    }
}

static struct delivery *delivery_of(const struct emitter *emitter, const struct ir_value *operand) {
    struct delivery *delivery = emitter->part == PART_CONSUMERS ? emitter->delivery_of[operand->id] : NULL;
    return delivery && delivery->here ? delivery : NULL;
}

void await_operands(struct emitter *emitter, const struct ir_op *product) {
    for (int i = 0; i < 2; i++) {
        struct delivery *delivery = delivery_of(emitter, product->operands[i]);
        if (delivery && !delivery->free)
            await(emitter, delivery);
    }
}

void free_operands(struct emitter *emitter, const struct ir_op *product) {
    for (int i = 0; i < 2; i++) {
        struct delivery *delivery = delivery_of(emitter, product->operands[i]);
        const struct users *users = delivery ? &emitter->users[delivery->loads[0]->results[0]->id] : NULL;
        if (!delivery || !delivery->free || users->ops[users->count - 1] != product)
            continue;
        arrive(emitter, delivery->free);
        for (int j = 0; j < delivery->count; j++)
            emitter->delivery_of[delivery->loads[j]->results[0]->id] = NULL;
    }
}

// ---------------------------------------------------------------------------------------------- late products

// note [late] A loop's second product waits for what is made of the first one's result. So a turn sends for its own first
// product, then for the second one of the turn before, and while that is under way makes the operand of its own.
struct late {
    const struct ir_op *product;
    const char *rows, *tile, *free;  // variables: the computed operand, packed; where the other one is; the barrier of its place
    const char *full, *turn;         // and that it has come
    bool begun;                      // a turn before has left one
};

// The loop's products: one whose operands are all loaded, and then one that adds to what the loop carries, of an operand
// that is computed. NULL: there are others.
static const struct ir_op *last_of_two(const struct emitter *emitter, const struct ir_op *loop) {
    const struct ir_op *products[2] = {NULL, NULL};
    int count = 0;
    for (const struct ir_op *op = loop->regions[0]->first; op; op = op->next) {
        if (op->region_count)
            return NULL;
        if (op->code == OP_MMA && count < 2)
            products[count] = op;
        count += op->code == OP_MMA;
    }
    if (count != 2 || loop->region_count == 2)
        return NULL;
    const struct ir_value *rows = products[1]->operands[0], *start = products[1]->operands[2];
    const struct ir_op *columns = products[1]->operands[1]->def;
    bool computed = rows->region || !is_staged(rows->def);
    bool alone = columns->map && home_of(emitter, columns) && emitter->users[columns->results[0]->id].count == 1;
    const struct users *users = &emitter->users[products[1]->results[0]->id];
    bool carried = users->count == 1 && users->ops[0]->code == OP_YIELD && start->region == loop->regions[0] &&
                   emitter->uses[start->id] == 1;
    return computed && alone && carried ? products[1] : NULL;
}

bool has_late(const struct emitter *emitter, const struct ir_op *loop) {
    return emitter->part == PART_CONSUMERS && last_of_two(emitter, loop) != NULL;
}

void start_late(struct emitter *emitter, const struct ir_op *loop) {
    const struct ir_op *product = last_of_two(emitter, loop);
    struct late *late = emitter->late = ARENA_NEW(emitter->arena, struct late);
    *late = (struct late){.product = product, .rows = unique_name(emitter, "late_rows")};
    late->tile = unique_name(emitter, "late_tile");
    late->free = unique_name(emitter, "late_free");
    late->full = unique_name(emitter, "late_full");
    late->turn = unique_name(emitter, "late_turn");
    declare_group_rows(emitter, product, late->rows);
    line(emitter, "unsigned %s, %s, %s;", late->tile, late->free, late->full);
    line(emitter, "int %s;", late->turn);
}

bool is_late(const struct emitter *emitter, const struct ir_op *product) {
    return emitter->late && emitter->late->product == product;
}

bool meets_late(const struct emitter *emitter, const struct ir_op *product) {
    return emitter->late && emitter->late->begun && product->parent == emitter->late->product->parent;
}

static void end_product(struct emitter *emitter, const struct late *late) {
    line(emitter, "%s();", helper(emitter, "tile_group_done"));
    hold(emitter, late->product->operands[2]);
    arrive(emitter, late->free);
}

const char *begin_leaving(struct emitter *emitter) {
    if (emitter->late->begun)
        end_product(emitter, emitter->late);
    return emitter->late->rows;
}

void leave_late(struct emitter *emitter) {
    struct late *late = emitter->late;
    const struct ir_value *operand = late->product->operands[1];
    const struct ring *ring = delivery_of(emitter, operand)->ring;
    line(emitter, "%s = %s, %s = %s;", late->full, phase_text(emitter, ring, false), late->turn, ring->turn);
    line(emitter, "%s = tiles + %lld + %s * %lld, %s = %s;", late->tile, (long long)ring->start, ring->place,
         (long long)ring->bytes, late->free, phase_text(emitter, ring, true));
    advance(emitter, ring);
    emitter->delivery_of[operand->id] = NULL;
    late->begun = true;
}

void send_late(struct emitter *emitter) {
    const struct late *late = emitter->late;
    const struct ir_op *product = late->product;
    line(emitter, "%s(%s, %s);", helper(emitter, "tile_phase_await"), late->full, late->turn);
    emitter->tile_base[product->operands[1]->id] = late->tile;
    emitter->forms[product->operands[1]->id].kind = FORM_STAGED;
    emitter->forms[product->results[0]->id] = emitter->forms[product->operands[2]->id];
    send_group_product(emitter, product, late->rows);
    line(emitter, "%s();", helper(emitter, "tile_group_sent"));
}

void end_late(struct emitter *emitter) {
    send_late(emitter);
    end_product(emitter, emitter->late);
    emitter->late = NULL;
}

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

static int groups_of(const struct emitter *emitter) {
    return emitter->lowered->warps / 4;
}

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
    int few = groups_of(emitter) > 2           ? FEWER_REGISTERS
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
    int warps = emitter->lowered->warps, senders = emitter->produced->by_threads ? PRODUCING_WARPS : 1;
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
