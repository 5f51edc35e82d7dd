// SPDX-License-Identifier: Apache-2.0
// In: a kernel's IR. Out: for every value, how it depends on the cut of loops into tiles.
// The one idea: sets of axes say whether a value reduces or scans over the present tile, names the tile openly (begin,
// end, id), or holds what earlier tiles left in a variable. They flow along operands, and through loops and branches,
// until nothing changes any more.
#include <string.h>

#include "frontend/check_tiles.h"

// ---------------------------------------------------------------------------------------------- how facts flow

struct facts facts_joined(struct facts a, struct facts b) {
    return (struct facts){.reduced = a.reduced | b.reduced,
                          .scanned = a.scanned | b.scanned,
                          .exposed = a.exposed | b.exposed,
                          .carried = a.carried | b.carried,
                          .steered = a.steered | b.steered};
}

static struct facts without(struct facts facts, axes_t axes) {
    return (struct facts){.reduced = facts.reduced & ~axes,
                          .scanned = facts.scanned & ~axes,
                          .exposed = facts.exposed & ~axes,
                          .carried = facts.carried & ~axes,
                          .steered = facts.steered & ~axes};
}

struct facts facts_of(const struct rules *rules, const struct ir_value *value) {
    return rules->facts[value->id];
}

static void learn(struct rules *rules, const struct ir_value *value, struct facts facts) {
    struct facts *known = &rules->facts[value->id], now = facts_joined(*known, facts);
    rules->changed = rules->changed || memcmp(&now, known, sizeof now) != 0;
    *known = now;
}

static void flow_region(struct rules *rules, const struct ir_region *region);

static const struct ir_op *yield_of(const struct ir_region *region) {
    return region->last && region->last->code == OP_YIELD ? region->last : NULL;
}

// The loops whose variables, as they were when a tile began, decide by this condition or bound. A scan brings them to
// the point, and who names the tile means it.
static axes_t steered_by(struct facts facts) {
    return (facts.carried | facts.steered) & ~(facts.scanned | facts.exposed);
}

// Bounds show a cut that they were taken from; that they depend on reductions is what those are for.
static struct facts shown_by_bounds(const struct rules *rules, const struct ir_value *lo, const struct ir_value *hi) {
    struct facts facts = {0};
    if (lo)
        facts = facts_joined(facts, facts_of(rules, lo));
    if (hi)
        facts = facts_joined(facts, facts_of(rules, hi));
    return (struct facts){.exposed = facts.exposed, .steered = steered_by(facts)};
}

// What `while` looks at before each tile, or NULL.
static const struct ir_value *while_of(const struct ir_op *loop) {
    const struct ir_op *yield = loop->code == OP_FOR && loop->region_count > 1 ? yield_of(loop->regions[1]) : NULL;
    return yield ? yield->operands[0] : NULL;
}

// `before`: arguments of the body in front of the carried ones.
static void flow_loop(struct rules *rules, const struct ir_op *op, axes_t axis, int before) {
    const struct ir_region *body = op->regions[0];
    struct facts shown = shown_by_bounds(rules, op->operands[0], op->operands[1]);
    for (int i = 0; i < before; i++)
        learn(rules, body->args[i], shown);
    for (int r = op->region_count - 1; r >= 0; r--) {
        for (int i = 0; i < op->result_count; i++) {
            struct facts in = facts_of(rules, op->operands[2 + i]);
            in.carried |= axis;
            learn(rules, op->regions[r]->args[(r == 0 ? before : 0) + i], in);
        }
        flow_region(rules, op->regions[r]);
    }
    const struct ir_op *yield = yield_of(body);
    const struct ir_value *condition = while_of(op);
    if (condition)
        shown.steered |= steered_by(facts_of(rules, condition)) & ~axis;
    for (int i = 0; i < op->result_count && yield; i++) {
        struct facts out = without(facts_of(rules, yield->operands[i]), axis);
        out = facts_joined(out, shown);
        struct facts again = out;
        again.carried |= axis;
        for (int r = 0; r < op->region_count; r++)
            learn(rules, op->regions[r]->args[(r == 0 ? before : 0) + i], again);
        learn(rules, op->results[i], facts_joined(out, facts_of(rules, op->operands[2 + i])));
    }
}

// That a condition covers one tile is no harm by itself: it may spare a tile what would change nothing.
static void flow_branch(struct rules *rules, const struct ir_op *op) {
    const struct ir_op *yields[2] = {yield_of(op->regions[0]), yield_of(op->regions[1])};
    struct facts shown = {.steered = steered_by(facts_of(rules, op->operands[0]))};
    for (int i = 0; i < op->result_count; i++)
        learn(rules, op->regions[0]->args[i], facts_of(rules, op->operands[1 + i]));
    flow_region(rules, op->regions[0]);
    for (int i = 0; i < op->result_count && yields[0]; i++)
        learn(rules, op->regions[1]->args[i], facts_joined(facts_of(rules, op->operands[1 + i]), facts_of(rules, yields[0]->operands[i])));
    flow_region(rules, op->regions[1]);
    for (int i = 0; i < op->result_count && yields[1]; i++)
        learn(rules, op->results[i],
              facts_joined(shown, facts_joined(facts_of(rules, op->regions[1]->args[i]),
                                               facts_of(rules, yields[1]->operands[i]))));
}

static axes_t loops_of(const struct rules *rules, axes_t axes) {
    axes_t loops = 0;
    for (int axis = 0; axis < rules->checker->kernel->axis_count; axis++) {
        if ((axes & AXIS_BIT(axis)) && axis_has_many_points(rules->checker, axis))
            loops |= AXIS_BIT(axis);
    }
    return loops;
}

static struct facts shown_by_axes(const struct rules *rules, axes_t axes) {
    struct facts facts = {0};
    for (int axis = 0; axis < rules->checker->kernel->axis_count; axis++) {
        const struct ir_axis *entry = &rules->checker->kernel->axes[axis];
        if (axes & AXIS_BIT(axis))
            facts = facts_joined(facts, shown_by_bounds(rules, entry->lo, entry->hi));
    }
    return facts;
}

static void flow_plain(struct rules *rules, const struct ir_op *op) {
    struct facts facts = {0};
    // Where an assignment happened, the variable holds the new value and nothing of the old one.
    for (int i = op->code == OP_UPDATE ? 1 : 0; i < op->operand_count; i++)
        facts = facts_joined(facts, facts_of(rules, op->operands[i]));
    if (op->code == OP_REDUCE || op->code == OP_DOT || op->code == OP_SCAN) {
        facts.reduced |= loops_of(rules, op->over);
        facts = facts_joined(facts, shown_by_axes(rules, op->over));
    }
    if (op->code == OP_INDEX)
        facts.exposed |= shown_by_axes(rules, AXIS_BIT(op->axis)).exposed;
    if (op->code == OP_SCAN)
        facts.scanned |= op->over;
    if (op->code == OP_BEGIN || op->code == OP_END || op->code == OP_ID || op->code == OP_SIZE)
        facts.exposed |= AXIS_BIT(op->axis);
    for (int i = 0; i < op->result_count; i++)
        learn(rules, op->results[i], facts);
}

static void flow_region(struct rules *rules, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR)
            flow_loop(rules, op, AXIS_BIT(op->axis), 0);
        else if (op->code == OP_RANGE)
            flow_loop(rules, op, 0, 1);
        else if (op->code == OP_IF)
            flow_branch(rules, op);
        else
            flow_plain(rules, op);
    }
}

void find_facts(struct rules *rules) {
    rules->changed = true;
    while (rules->changed) {
        rules->changed = false;
        flow_region(rules, rules->checker->kernel->body);
    }
}

// ---------------------------------------------------------------------------------------------- conditions around

bool lies_inside(const struct ir_op *op, const struct ir_op *loop) {
    for (const struct ir_op *owner = op->parent->owner; owner; owner = owner->parent->owner) {
        if (owner == loop)
            return true;
    }
    return false;
}

struct facts facts_of_conditions(const struct rules *rules, const struct ir_op *op, const struct ir_op *loop) {
    struct facts facts = {0};
    for (const struct ir_op *owner = op->parent->owner; owner && owner != loop; owner = owner->parent->owner) {
        int conditions = owner->code == OP_IF ? 1 : 2;  // an `if`'s condition, or a loop's bounds
        for (int i = 0; i < conditions && i < owner->operand_count; i++)
            facts = facts_joined(facts, facts_of(rules, owner->operands[i]));
        const struct ir_value *condition = while_of(owner);
        if (condition)
            facts = facts_joined(facts, facts_of(rules, condition));
    }
    return facts;
}

// ---------------------------------------------------------------------------------------------- what is computed from what

const struct ir_value *without_cast(const struct ir_value *value) {
    while (!value->region && value->def->code == OP_CAST)
        value = value->def->operands[0];
    return value;
}

bool is_idempotent_code(enum ir_opcode code) {
    return code == OP_MIN || code == OP_MAX || code == OP_LAND || code == OP_LOR || code == OP_AND || code == OP_OR;
}

// Whether `value` is computed from `wanted`: a walk along operands with a stack of its own, for chains may be long.
struct search {
    struct rules *rules;
    const struct ir_value **stack;
    int depth, capacity;
};

static void search_push(struct search *search, const struct ir_value *value) {
    if (search->rules->visited[value->id] == search->rules->searches)
        return;
    search->rules->visited[value->id] = search->rules->searches;
    ARENA_PUSH(search->rules->checker->kernel->arena, search->stack, search->depth, search->capacity, value);
}

// An argument or a result of an operation with regions: what is carried in, and what the regions yield.
static void push_carried(struct search *search, const struct ir_value *value) {
    const struct ir_op *op = value->def;
    int first = op->code == OP_IF ? 1 : 2;
    int index = value->index - (value->region && op->code == OP_RANGE ? 1 : 0);
    if (index < 0)
        return;
    if (first + index < op->operand_count)
        search_push(search, op->operands[first + index]);
    for (int r = 0; r < op->region_count; r++) {
        const struct ir_op *yield = op->code == OP_FOR && r == 1 ? NULL : yield_of(op->regions[r]);
        if (yield && index < yield->operand_count)
            search_push(search, yield->operands[index]);
    }
}

// The operands of what is no argument and has no regions. Where an assignment happened, nothing of the old value is left.
static void push_operands(struct search *search, const struct ir_value *value) {
    for (int i = value->def->code == OP_UPDATE ? 1 : 0; i < value->def->operand_count; i++)
        search_push(search, value->def->operands[i]);
}

bool depends_on(struct rules *rules, const struct ir_value *value, const struct ir_value *wanted) {
    struct search search = {.rules = rules};
    rules->searches++;
    search_push(&search, value);
    while (search.depth) {
        const struct ir_value *next = search.stack[--search.depth];
        if (next == wanted)
            return true;
        if (next->region || next->def->region_count)
            push_carried(&search, next);
        else
            push_operands(&search, next);
    }
    return false;
}

// A load sees what the loop stored to the tensor.
static void push_stored(struct search *search, int param, const struct ir_op *loop) {
    const struct checker *checker = search->rules->checker;
    if (search->rules->opened[param] == search->rules->searches)
        return;
    search->rules->opened[param] = search->rules->searches;
    for (int i = 0; i < checker->store_count; i++) {
        const struct ir_op *store = checker->stores[i].op;
        if (store->param == param && lies_inside(store, loop))
            search_push(search, store->operands[checker->kernel->params[param].rank]);
    }
}

bool depends_on_load(struct rules *rules, const struct ir_value *value, int param, const struct ir_op *loop) {
    struct search search = {.rules = rules};
    if (!rules->loaded[param])
        return false;
    rules->searches++;
    search_push(&search, value);
    while (search.depth) {
        const struct ir_value *next = search.stack[--search.depth];
        if (next->region || next->def->region_count) {
            push_carried(&search, next);
            continue;
        }
        if (next->def->code == OP_LOAD && lies_inside(next->def, loop)) {
            if (next->def->param == param)
                return true;
            push_stored(&search, next->def->param, loop);
        }
        push_operands(&search, next);
    }
    return false;
}
