// SPDX-License-Identifier: Apache-2.0
// The pair of an online softmax crosses lanes and warps behind its loop, as plain sums do (late.c): each thread keeps a
// maximum and a sum of its own points, and they are joined once,
//
//     M = max over threads (m);  L = sum over threads (s * exp(m - base)), with the base of M; 0 where m is -inf
//
// A thread may have seen nothing but -inf where the tile as a whole has not, so -inf - -inf is kept out of its sum.
#include <math.h>
#include <string.h>

#include "lowering/late.h"
#include "lowering/rescaled.h"

static bool starts_with(const struct ir_value *init, double number) {
    if (!init->region && init->def->code == OP_BROADCAST)
        init = init->def->operands[0];
    return is_constant(init) && ir_type_is_float(init->type) && init->def->number == number;
}

// What the pair's maximum is over nothing: -inf, or +inf where it is a minimum.
static double extreme(const struct rescaled *pair) {
    return pair->reduction == RED_MIN ? INFINITY : -INFINITY;
}

// The value where the maximum so far and the new one are both of nothing; NULL if that can't be said.
static struct ir_value *at_nothing(struct ir_builder *b, const struct rescaled *pair, struct ir_value *value,
                                   const struct ir_value *highest) {
    if (value == highest || value == pair->top)
        return ir_number(b, value->type, extreme(pair));
    if (is_constant(value))
        return value;
    if (value->region || !(ir_ops[value->def->code].flags & F_ELEMENTWISE))
        return NULL;
    struct ir_value *operands[3];
    for (int i = 0; i < value->def->operand_count; i++)
        if (!(operands[i] = at_nothing(b, pair, value->def->operands[i], highest)))
            return NULL;
    return fold_constant(b, value->def, operands);
}

// The step of a thread that has seen only -inf leaves its sum alone.
static void guard_step(struct pass_context *context, struct ir_op *loop, const struct rescaled *pair) {
    struct ir_region *body = loop->regions[0];
    struct ir_builder b = builder_before(context->kernel, body->last);
    struct ir_value *known = at_nothing(&b, pair, pair->scale, body->args[pair->highest]);
    if (known && !isnan(known->def->number))
        return;
    struct ir_value *least = ir_number(&b, pair->top->type, extreme(pair));
    struct ir_value *nothing = ir_binary(&b, OP_EQ, pair->top, least);
    struct ir_value **total = &body->last->operands[pair->total];
    *total = ir_select(&b, nothing, body->args[pair->total], *total);
}

// Where the loop before this one, over axes of the same names, was joined to give its start values, its partials go on.
static bool continue_pair(struct late *late, const struct rescaled *pair, axes_t over, struct ir_op *loop) {
    for (int i = 0; i < late->joined_count; i++) {
        const struct joined_pair *joined = &late->joined[i];
        if (loop->operands[2 + pair->highest] != joined->highest || loop->operands[2 + pair->total] != joined->total)
            continue;
        if (!have_same_names(late->context->kernel, over, joined->over) ||
            !have_same_names(late->context->kernel, joined->over, over))
            continue;
        loop->operands[2 + pair->highest] = joined->partial_highest;
        loop->operands[2 + pair->total] = joined->partial_total;
        return true;
    }
    return false;
}

static void start_partials(struct late *late, const struct rescaled *pair, axes_t over, struct ir_op *loop) {
    struct ir_builder before = builder_before(late->context->kernel, loop);
    for (int i = 0; i < 2; i++) {
        struct ir_value *old = loop->operands[2 + i];
        double number = i == pair->highest ? extreme(pair) : 0;
        struct ir_value *start = ir_broadcast(&before, loop->results[i]->axes, ir_number(&before, old->type, number));
        start->partial = over;
        start->name = loop->regions[0]->args[i]->name;
        loop->operands[2 + i] = start;
    }
}

struct ir_value *cross_threads(struct ir_builder *b, enum ir_reduction reduction, axes_t over, struct ir_value *partial,
                               axes_t axes) {
    struct ir_op *op = ir_op_new(b, OP_REDUCE, 1, 1, 0);
    op->reduction = reduction;
    op->over = over;
    op->operands[0] = partial;
    ir_insert(b, op);
    return ir_result(b->kernel, op, 0, partial->type, axes);
}

// Behind the loop: the pair of all threads from each thread's.
static void join_threads(struct late *late, const struct rescaled *pair, axes_t over, struct ir_op *loop) {
    struct ir_kernel *kernel = late->context->kernel;
    struct ir_builder b = builder_before(kernel, loop->next);
    struct ir_region *body = loop->regions[0];
    struct ir_value *m = loop->results[pair->highest], *s = loop->results[pair->total];
    struct ir_map *map = ir_map_new(kernel);
    b.span = loop->span;
    b.line = loop->line;
    // Uses behind the loop move to the joined values, so they are made from copies of the partials' names first.
    struct ir_value *highest = cross_threads(&b, pair->reduction, over, m, m->axes);
    ir_map_set(kernel, map, pair->top, highest);
    struct ir_value *scale =
        copy_scale(&b, map, pair, pair->scale, pair->sum_step->operands[0], body->args[pair->highest], m, body);
    struct ir_value *scaled = ir_binary(&b, OP_MUL, s, scale);
    struct ir_value *nothing = ir_binary(&b, OP_EQ, m, ir_number(&b, m->type, extreme(pair)));
    scaled = ir_select(&b, nothing, ir_number(&b, s->type, 0), scaled);
    scaled->partial = over;
    struct ir_value *total = cross_threads(&b, RED_SUM, over, scaled, s->axes);
    highest->name = m->name;
    total->name = s->name;
    for (struct ir_op *op = total->def->next; op; op = op->next)
        replace_in(op, m, highest), replace_in(op, s, total);
    m->partial = s->partial = over;
    if (late->joined_count < MAX_JOINED)
        late->joined[late->joined_count++] = (struct joined_pair){over, highest, total, m, s};
}

bool make_pair_late(struct late *late, struct ir_op *loop) {
    struct rescaled pair;
    if (!match_rescaled(loop, &pair) || !crosses_threads(late->context, pair.max_step->over))
        return false;
    axes_t over = pair.max_step->over;
    struct ir_region *body = loop->regions[0];
    bool vary = false;
    for (int i = 0; i < 2; i++)
        vary |= (body->last->operands[i]->axes & ~body->args[i]->axes) != 0;
    bool neutral =
        starts_with(loop->operands[2 + pair.highest], extreme(&pair)) && starts_with(loop->operands[2 + pair.total], 0);
    if (vary || (!continue_pair(late, &pair, over, loop) && !neutral))
        return false;
    if (neutral)
        start_partials(late, &pair, over, loop);
    guard_step(late->context, loop, &pair);
    for (int i = 0; i < 2; i++)
        body->args[i]->partial = over;
    pair.max_step->results[0]->partial = over;
    pair.sum_step->results[0]->partial = over;
    join_threads(late, &pair, over, loop);
    return true;
}
