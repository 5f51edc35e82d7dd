// SPDX-License-Identifier: Apache-2.0
// Recognizes the pair of an online softmax in a loop, by what is computed and not by what it is called.
#include "lowering/rescaled.h"

static const struct ir_op *def_of(const struct ir_value *value) {
    return value->region ? NULL : value->def;
}

// What is assigned to the variable, under whatever mask: an `update` before masks are written down, a `select` behind.
static const struct ir_value *assigned(const struct ir_value *next, const struct ir_value *variable) {
    const struct ir_op *def = def_of(next);
    if (def && def->code == OP_UPDATE && def->operands[0] == variable)
        return def->operands[1];
    if (def && def->code == OP_SELECT && def->operands[2] == variable)
        return def->operands[1];
    return next;
}

static bool same_constant(const struct ir_value *a, const struct ir_value *b) {
    return is_constant(a) && is_constant(b) && a->type == b->type && a->def->integer == b->def->integer &&
           a->def->number == b->def->number;
}

// Whether `other` goes into the value otherwise than through `top`.
static bool depends_on(const struct ir_value *value, const struct ir_value *other, const struct ir_value *top) {
    const struct ir_op *def = def_of(value);
    if (value == top || value == other || !def)
        return value != top && value == other;
    for (int i = 0; i < def->operand_count; i++)
        if (depends_on(def->operands[i], other, top))
            return true;
    return false;
}

// Is b what a is, with `to` in the place of `from`? What both have in common may be anything that `from` doesn't go
// into, but for the new maximum, `top`.
static bool same_but_for(const struct ir_value *a, const struct ir_value *b, const struct ir_value *from,
                         const struct ir_value *to, const struct ir_value *top) {
    if (a == from)
        return b == to;
    if (a == b || same_constant(a, b))
        return !depends_on(a, from, top);
    const struct ir_op *x = def_of(a), *y = def_of(b);
    if (!x || !y || x->code != y->code || x->operand_count != y->operand_count ||
        !(ir_ops[x->code].flags & F_ELEMENTWISE))
        return false;
    for (int i = 0; i < x->operand_count; i++)
        if (!same_but_for(x->operands[i], y->operands[i], from, to, top))
            return false;
    return true;
}

static const struct ir_op *operand_with(const struct ir_op *op, enum ir_opcode code, const struct ir_value *other,
                                        int *at) {
    for (int i = 0; op && i < 2; i++) {
        const struct ir_op *def = def_of(op->operands[i]);
        if (def && def->code == code && (!other || op->operands[1 - i] == other)) {
            *at = i;
            return def;
        }
    }
    return NULL;
}

static bool is_exponential(const struct ir_value *value) {
    const struct ir_op *def = def_of(value);
    return def && (def->code == OP_EXP || def->code == OP_EXP2);
}

// Made of the maximum so far, the new one and what the loop doesn't change, element by element.
static bool is_closed(const struct ir_value *value, const struct ir_region *body, const struct ir_value *highest,
                      const struct ir_value *top) {
    if (value == highest || value == top)
        return true;
    const struct ir_op *def = def_of(value);
    if (!def)
        return value->region != body;
    if (def->parent != body)
        return true;
    if (def->code != OP_CONST && !(ir_ops[def->code].flags & F_ELEMENTWISE))
        return false;
    for (int i = 0; i < def->operand_count; i++)
        if (!is_closed(def->operands[i], body, highest, top))
            return false;
    return true;
}

// highest = max(m, max[tk](v)); total = total * exp(m - base) + sum[tk](exp(v - base)), with base from the new maximum.
bool match_rescaled(const struct ir_op *loop, struct rescaled *pair) {
    const struct ir_region *body = loop->regions[0];
    if (loop->code != OP_FOR || loop->result_count != 2 || loop->region_count != 1 || region_has_effects(body))
        return false;
    for (int m = 0; m < 2; m++) {
        struct ir_value *highest = body->args[m], *total = body->args[1 - m];
        const struct ir_op *top = def_of(assigned(body->last->operands[m], highest));
        const struct ir_op *step = def_of(assigned(body->last->operands[1 - m], total));
        int at, sum_at, max_at, mul_at;
        if (!top || (top->code != OP_MAX && top->code != OP_MIN) || !step || step->code != OP_ADD)
            continue;
        const struct ir_op *max_step = operand_with(top, OP_REDUCE, highest, &max_at);
        const struct ir_op *sum_step = operand_with(step, OP_REDUCE, NULL, &sum_at);
        const struct ir_op *scale = operand_with(step, OP_MUL, NULL, &mul_at);
        if (!max_step || max_step->reduction != reduction_of(top->code) || !sum_step || sum_step->reduction != RED_SUM || !scale)
            continue;
        at = scale->operands[0] == total ? 1 : scale->operands[1] == total ? 0 : -1;
        if (at < 0 || max_step->over != sum_step->over || !is_exponential(scale->operands[at]))
            continue;
        if (!is_closed(scale->operands[at], body, highest, top->results[0]))
            continue;
        if (!same_but_for(scale->operands[at], sum_step->operands[0], highest, max_step->operands[0],
                          top->results[0]))
            continue;
        *pair = (struct rescaled){
            max_step->reduction, m, 1 - m, top->results[0], scale->operands[at], (struct ir_op *)max_step, (struct ir_op *)sum_step};
        return true;
    }
    return false;
}

// Copies an element-wise expression of the loop's body; values of its operands come from the map.
struct ir_value *copy_expression(struct ir_builder *b, struct ir_map *map, struct ir_value *value,
                                 const struct ir_region *body) {
    struct ir_value *known = ir_map_get(map, value);
    const struct ir_op *def = def_of(value);
    if (known != value || !def || !(def->parent == body))
        return known;
    for (int i = 0; i < def->operand_count; i++)
        copy_expression(b, map, def->operands[i], body);
    struct ir_op *copy = ir_op_clone(b, def, map);
    axes_t axes = 0;
    for (int i = 0; i < copy->operand_count; i++)
        axes |= copy->operands[i]->axes;
    copy->results[0]->axes = axes;
    return copy->results[0];
}

// exp(m - base) with the partial's maximum for m and everything else as the map has it.
struct ir_value *copy_scale(struct ir_builder *b, struct ir_map *map, const struct rescaled *pair,
                            struct ir_value *scale, const struct ir_value *twin, const struct ir_value *from,
                            struct ir_value *to, const struct ir_region *body) {
    if (scale == from)
        return to;
    if (scale == pair->top)
        return ir_map_get(map, scale);
    if (scale == twin || is_constant(scale))
        return copy_expression(b, map, scale, body);
    struct ir_value *operands[3];
    const struct ir_op *def = scale->def;
    for (int i = 0; i < def->operand_count; i++)
        operands[i] = copy_scale(b, map, pair, def->operands[i], twin->def->operands[i], from, to, body);
    return ir_elementwise(b, def->code, def->operand_count, operands);
}
