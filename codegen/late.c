// SPDX-License-Identifier: Apache-2.0
// Products that are sent for a turn of their loop later than they are written, and turns of groups of warps.
//
// In: a loop with two products, the second of which takes what is made of the first one's result (attention). Out: the
// second is sent for behind the next turn's first. The one idea: the units multiply while weights are made, those of
// the same group of warps and those of another.
#include "codegen/producer.h"

enum { FIRST_TURN = 1 };  // a named barrier

static bool has_product(const struct ir_op *op) {
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (inner->code == OP_MMA || inner->code == OP_FOR || has_product(inner))
                return true;
    return false;
}

// The loop's products: one whose operands are all loaded, and then one that adds to what the loop carries, of an
// operand that is computed. NULL: there are others.
static const struct ir_op *last_of_two(const struct emitter *emitter, const struct ir_op *loop) {
    const struct ir_op *products[2] = {NULL, NULL};
    int count = 0;
    for (const struct ir_op *op = loop->regions[0]->first; op; op = op->next) {
        if (has_product(op))
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

// note [turns] Left to themselves all groups of warps multiply at once and then all make weights at once, and the units
// of the one stand still while the others are at work. So they send for products one after another: all have the same
// loops.
int groups_of(const struct emitter *emitter) {
    return emitter->lowered->warps / 4;
}

bool takes_turns(const struct emitter *emitter, const struct ir_op *product) {
    return emitter->late && product->parent == emitter->late->product->parent && groups_of(emitter) > 1;
}

void await_turn(struct emitter *emitter, const struct ir_op *product) {
    if (takes_turns(emitter, product))
        line(emitter, "%s(%d + warp / 4, 256);", helper(emitter, "tile_turn_await"), FIRST_TURN);
}

void end_turn(struct emitter *emitter, const struct ir_op *product) {
    if (!takes_turns(emitter, product))
        return;
    int groups = groups_of(emitter);
    line(emitter, "%s(%d + (warp / 4 + 1) %% %d, 256);", helper(emitter, "tile_turn_over"), FIRST_TURN, groups);
    emitter->has_turns = emitter->needs_warp = true;
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
    const struct ring *ring = late->second = delivery_of(emitter, operand)->ring;
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
    see_copies(emitter);
    emitter->tile_base[product->operands[1]->id] = late->tile;
    emitter->forms[product->operands[1]->id].kind = FORM_STAGED;
    struct form *form = &emitter->forms[product->results[0]->id], saved = *form;
    *form = emitter->forms[product->operands[2]->id];
    send_group_product(emitter, product, late->rows);
    *form = saved;
    line(emitter, "%s();", helper(emitter, "tile_group_sent"));
}

// What the loop's weights are chosen by: where a tile may have points that don't count, `end` is the first that doesn't
// for the first row. NULL: they aren't chosen, or something else than 0 stands for the others.
static const struct ir_value *end_of_weights(const struct ir_op *loop) {
    for (const struct ir_op *op = loop->regions[0]->first; op; op = op->next) {
        const struct ir_op *hangs = op->code == OP_IF && op->result_count == 1 ? op->operands[0]->def : NULL;
        if (!hangs || op->operands[0]->region || hangs->code != OP_GT)
            continue;
        const struct ir_value *chosen = op->regions[0]->last->operands[0];
        const struct ir_op *select = chosen->region ? NULL : chosen->def;
        if (select && select->code == OP_SELECT && is_zero(select->operands[2]))
            return hangs->operands[1];
    }
    return NULL;
}

// note [left out] A group whose rows all come before the tile has nothing but zeros for weights. It leaves the tile to
// the others, as if its rows were a tile of their own.
void leave_out(struct emitter *emitter, const struct ir_op *loop, const char *base) {
    const struct late *late = emitter->late;
    const struct ir_value *end = end_of_weights(loop);
    struct factors f = factors_of(emitter, late->product);
    if (!end || groups_of(emitter) == 1 || row_blocks(emitter, &f) != 1)
        return;
    emitter->needs_warp = true;
    open_brace(emitter, "if (%s >= %s + warp / 4 * 64 + 63)", base, value_text(emitter, end, 12));
    const struct ring *rings[] = {late->first, late->second};
    for (int i = 0; i < 2; i++) {
        line(emitter, "%s(%s, %s);", helper(emitter, "tile_phase_await"), phase_text(emitter, rings[i], false),
             rings[i]->turn);
        arrive(emitter, phase_text(emitter, rings[i], true));
        advance(emitter, rings[i]);
    }
    const struct ir_op *product = late->product;
    await_turn(emitter, product);
    end_turn(emitter, product);
    line(emitter, "continue;");
    close_brace(emitter);
}

void end_late(struct emitter *emitter) {
    send_late(emitter);
    end_product(emitter, emitter->late);
    emitter->late = NULL;
}

void first_turn(struct emitter *emitter) {
    if (emitter->has_turns)  // the last group hands the first one its first turn
        line(emitter, "if (warp / 4 == %d) %s(%d, 256);", groups_of(emitter) - 1, helper(emitter, "tile_turn_over"),
             FIRST_TURN);
}
