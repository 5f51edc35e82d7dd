// SPDX-License-Identifier: Apache-2.0
// Tiles of launches with producers: places and barriers for them, who waits for them and who frees them.
//
// In: mapped loads, as their regions are written, in either part of the launch. Out: waits and arrivals around the
// products that need them, and the statements that send for them. The one idea: loads that the same products need are
// one delivery, and deliveries of one kind go through a ring of places in turn.
#include "codegen/producer.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------- rings

const struct ir_region *home_of(const struct emitter *emitter, const struct ir_op *load) {
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

const char *phase_text(struct emitter *emitter, const struct ring *ring, bool free) {
    return print(emitter, "tiles + %d + %s * %d", ring->phases + (free ? ring->places * PHASE_BYTES : 0), ring->place,
                 PHASE_BYTES);
}

void advance(struct emitter *emitter, const struct ring *ring) {
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

void arrive(struct emitter *emitter, const char *phase) {
    emitter->needs_lane = true;
    line(emitter, "__syncwarp();");
    line(emitter, "if (lane == 0) %s(%s);", helper(emitter, "tile_phase_arrive"), phase);
}

// Copies by threads are to be seen by the matrix units.
void see_copies(struct emitter *emitter) {
    if (emitter->produced->by_threads)
        line(emitter, "%s();", helper(emitter, "tile_copies_seen"));
}

static void await(struct emitter *emitter, struct delivery *delivery) {
    const struct ring *ring = delivery->ring;
    const char *stem = emitter->kernel->params[delivery->loads[0]->param].name;
    const char *at = unique_name(emitter, print(emitter, "%s_tile", stem));
    delivery->free = unique_name(emitter, print(emitter, "%s_free", stem));
    line(emitter, "%s(%s, %s);", helper(emitter, "tile_phase_await"), phase_text(emitter, ring, false), ring->turn);
    see_copies(emitter);
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

// What threads have stored themselves they show to the matrix units, too.
static void see_own_copies(struct emitter *emitter, const struct delivery *delivery) {
    bool stored = false;
    for (int i = 0; i < delivery->count; i++)
        stored |= !copies_run_ahead(emitter, delivery->loads[i]);
    if (stored)
        line(emitter, "%s();", helper(emitter, "tile_copies_seen"));
}

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
        see_own_copies(emitter, delivery);
        line(emitter, "%s(%s);", helper(emitter, "tile_phase_copied"), full);
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

struct delivery *delivery_of(const struct emitter *emitter, const struct ir_value *operand) {
    struct delivery *delivery = emitter->part == PART_CONSUMERS ? emitter->delivery_of[operand->id] : NULL;
    return delivery && delivery->here ? delivery : NULL;
}

void await_operands(struct emitter *emitter, const struct ir_op *product) {
    for (int i = 0; i < 2; i++) {
        struct delivery *delivery = delivery_of(emitter, product->operands[i]);
        if (delivery && emitter->late)
            emitter->late->first = delivery->ring;
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
