// SPDX-License-Identifier: Apache-2.0
// The rules of "Tiles and results". In: a kernel's IR. Out: complaints about results that would depend on the cut.
// The one idea: for every value, four sets of axes say how it depends on the cut of their loops: it reduces or scans
// over the present tile, it names the tile openly (begin, end, id), or it holds what earlier tiles left in a variable.
// They flow along operands, and through loops and branches until nothing changes any more.
#include <string.h>

#include "frontend/check.h"

struct facts {
    axes_t reduced;  // covers the present tile: a reduction, scan or dot over the axis
    axes_t scanned;  // a scan along it
    axes_t exposed;  // its begin, end, size or id
    axes_t carried;  // a variable that the axis's loop changes
};

struct rules {
    struct checker *checker;
    struct facts *facts;  // by value id
    int *visited;         // by value id: the number of the last search that came by
    int searches;
    bool changed;
};

// ---------------------------------------------------------------------------------------------- how facts flow

static struct facts joined(struct facts a, struct facts b) {
    return (struct facts){a.reduced | b.reduced, a.scanned | b.scanned, a.exposed | b.exposed, a.carried | b.carried};
}

static struct facts without(struct facts facts, axes_t axes) {
    return (struct facts){facts.reduced & ~axes, facts.scanned & ~axes, facts.exposed & ~axes, facts.carried & ~axes};
}

static struct facts of(const struct rules *rules, const struct ir_value *value) {
    return rules->facts[value->id];
}

static void learn(struct rules *rules, const struct ir_value *value, struct facts facts) {
    struct facts *known = &rules->facts[value->id], now = joined(*known, facts);
    rules->changed = rules->changed || memcmp(&now, known, sizeof now) != 0;
    *known = now;
}

static void flow_region(struct rules *rules, const struct ir_region *region);

static const struct ir_op *yield_of(const struct ir_region *region) {
    return region->last && region->last->code == OP_YIELD ? region->last : NULL;
}

// Bounds show a cut that they were taken from; that they depend on reductions is what those are for.
static axes_t exposed_by(const struct rules *rules, const struct ir_value *lo, const struct ir_value *hi) {
    return (lo ? of(rules, lo).exposed : 0) | (hi ? of(rules, hi).exposed : 0);
}

// `before`: arguments of the body in front of the carried ones.
static void flow_loop(struct rules *rules, const struct ir_op *op, axes_t axis, int before) {
    const struct ir_region *body = op->regions[0];
    axes_t exposed = exposed_by(rules, op->operands[0], op->operands[1]);
    for (int i = 0; i < before; i++)
        learn(rules, body->args[i], (struct facts){.exposed = exposed});
    for (int r = op->region_count - 1; r >= 0; r--) {
        for (int i = 0; i < op->result_count; i++) {
            struct facts in = of(rules, op->operands[2 + i]);
            in.carried |= axis;
            learn(rules, op->regions[r]->args[(r == 0 ? before : 0) + i], in);
        }
        flow_region(rules, op->regions[r]);
    }
    const struct ir_op *yield = yield_of(body);
    for (int i = 0; i < op->result_count && yield; i++) {
        struct facts out = without(of(rules, yield->operands[i]), axis);
        out.exposed |= exposed;
        struct facts again = out;
        again.carried |= axis;
        for (int r = 0; r < op->region_count; r++)
            learn(rules, op->regions[r]->args[(r == 0 ? before : 0) + i], again);
        learn(rules, op->results[i], joined(out, of(rules, op->operands[2 + i])));
    }
}

static void flow_branch(struct rules *rules, const struct ir_op *op) {
    const struct ir_op *yields[2] = {yield_of(op->regions[0]), yield_of(op->regions[1])};
    for (int i = 0; i < op->result_count; i++)
        learn(rules, op->regions[0]->args[i], of(rules, op->operands[1 + i]));
    flow_region(rules, op->regions[0]);
    for (int i = 0; i < op->result_count && yields[0]; i++)
        learn(rules, op->regions[1]->args[i], joined(of(rules, op->operands[1 + i]), of(rules, yields[0]->operands[i])));
    flow_region(rules, op->regions[1]);
    for (int i = 0; i < op->result_count && yields[1]; i++)
        learn(rules, op->results[i], joined(of(rules, op->regions[1]->args[i]), of(rules, yields[1]->operands[i])));
}

static axes_t loops_of(const struct rules *rules, axes_t axes) {
    axes_t loops = 0;
    for (int axis = 0; axis < rules->checker->kernel->axis_count; axis++) {
        if ((axes & AXIS_BIT(axis)) && axis_has_many_points(rules->checker, axis))
            loops |= AXIS_BIT(axis);
    }
    return loops;
}

// What the bounds of these axes show.
static axes_t exposed_axes(const struct rules *rules, axes_t axes) {
    axes_t exposed = 0;
    for (int axis = 0; axis < rules->checker->kernel->axis_count; axis++) {
        const struct ir_axis *entry = &rules->checker->kernel->axes[axis];
        if (axes & AXIS_BIT(axis))
            exposed |= exposed_by(rules, entry->lo, entry->hi);
    }
    return exposed;
}

static void flow_plain(struct rules *rules, const struct ir_op *op) {
    struct facts facts = {0};
    // Where an assignment happened, the variable holds the new value and nothing of the old one.
    for (int i = op->code == OP_UPDATE ? 1 : 0; i < op->operand_count; i++)
        facts = joined(facts, of(rules, op->operands[i]));
    if (op->code == OP_REDUCE || op->code == OP_DOT || op->code == OP_SCAN) {
        facts.reduced |= loops_of(rules, op->over);
        facts.exposed |= exposed_axes(rules, op->over);
    }
    if (op->code == OP_INDEX)
        facts.exposed |= exposed_axes(rules, AXIS_BIT(op->axis));
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

// ---------------------------------------------------------------------------------------------- assignments

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

static bool depends_on(struct rules *rules, const struct ir_value *value, const struct ir_value *wanted) {
    struct search search = {.rules = rules};
    rules->searches++;
    search_push(&search, value);
    while (search.depth) {
        const struct ir_value *next = search.stack[--search.depth];
        if (next == wanted)
            return true;
        if (next->region || next->def->region_count) {
            push_carried(&search, next);
            continue;
        }
        for (int i = next->def->code == OP_UPDATE ? 1 : 0; i < next->def->operand_count; i++)
            search_push(&search, next->def->operands[i]);
    }
    return false;
}

// What the variable holds when a tile begins: the loop's argument of its name, which no inner name hides.
static const struct ir_value *carried_argument(const struct ir_op *loop, const char *name) {
    const struct ir_region *body = loop->regions[0];
    for (int i = 0; i < body->arg_count; i++) {
        if (body->args[i]->name && !strcmp(body->args[i]->name, name))
            return body->args[i];
    }
    return NULL;
}

static const struct ir_value *without_cast(const struct ir_value *value) {
    while (!value->region && value->def->code == OP_CAST)
        value = value->def->operands[0];
    return value;
}

enum { CHAIN_LONGEST = 16 };  // operations in a row that a rule looks through

// min, max, && and || of the old value with something that is the same in each tile may be done any number of times.
static bool is_idempotent(const struct rules *rules, const struct ir_value *value, const struct ir_value *old, axes_t axis,
                          int longest) {
    value = without_cast(value);
    if (value->region || longest == 0)
        return value == old;
    enum ir_opcode code = value->def->code;
    if (code != OP_MIN && code != OP_MAX && code != OP_LAND && code != OP_LOR && code != OP_AND && code != OP_OR)
        return value == old;
    for (int i = 0; i < 2; i++) {
        const struct ir_value *side = value->def->operands[i];
        if ((of(rules, side).carried & axis) && !is_idempotent(rules, side, old, axis, longest - 1))
            return false;
    }
    return true;
}

static enum ir_reduction matching(enum ir_opcode code) {
    switch (code) {
    case OP_ADD:
    case OP_SUB:
        return RED_SUM;
    case OP_MUL:
    case OP_DIV:
        return RED_PROD;
    case OP_MAX:
        return RED_MAX;
    case OP_MIN:
        return RED_MIN;
    case OP_LOR:
    case OP_OR:
        return RED_ANY;
    case OP_LAND:
    case OP_AND:
        return RED_ALL;
    default:
        return RED_COUNT;
    }
}

// Which factor of a product or quotient holds the reduction, if just one can: -1 if none.
static int reduced_factor(const struct rules *rules, const struct ir_op *op, axes_t axis) {
    const struct facts a = of(rules, op->operands[0]), b = of(rules, op->operands[1]);
    if ((a.carried | b.carried) & axis || !((a.reduced ^ b.reduced) & axis))
        return -1;
    if (a.reduced & axis)
        return 0;
    return op->code == OP_MUL ? 1 : -1;
}

// The reduction over `axis` that a side of an operation plainly is, a factor or sign aside; or NULL.
static const struct ir_op *plain_reduction(const struct rules *rules, const struct ir_value *value, axes_t axis) {
    for (int i = 0; i < CHAIN_LONGEST; i++) {
        value = without_cast(value);
        const struct ir_op *op = value->def;
        if (value->region)
            return NULL;
        if ((op->code == OP_REDUCE || op->code == OP_DOT) && (op->over & axis))
            return op;
        int factor = op->code == OP_NEG ? 0 : op->code == OP_MUL || op->code == OP_DIV ? reduced_factor(rules, op, axis) : -1;
        if (factor < 0)
            return NULL;
        value = op->operands[factor];
    }
    return NULL;
}

// v op reduction, with another reduction than op's own.
static const struct ir_op *mixed_reduction(const struct rules *rules, const struct ir_value *value, axes_t axis,
                                           enum ir_opcode *with) {
    value = without_cast(value);
    if (value->region || matching(value->def->code) == RED_COUNT)
        return NULL;
    const struct ir_op *op = value->def;
    for (int i = 0; i < 2; i++) {
        if (!(of(rules, op->operands[1 - i]).carried & axis) || (of(rules, op->operands[i]).carried & axis))
            continue;
        const struct ir_op *reduction = plain_reduction(rules, op->operands[i], axis);
        enum ir_reduction found = !reduction ? RED_COUNT : reduction->code == OP_DOT ? RED_SUM : reduction->reduction;
        if (reduction && found != matching(op->code)) {
            *with = op->code;
            return reduction;
        }
    }
    return NULL;
}

// ---------------------------------------------------------------------------------------------- complaints about assignments

static const char *reduction_word(const struct ir_op *op) {
    return op->code == OP_DOT ? "dot" : ir_reduction_name(op->reduction);
}

static void report_once_per_tile(struct checker *checker, const struct assignment *assignment, int axis) {
    const struct ast_stmt *stmt = assignment->stmt;
    const char *name = assignment->name, *loop = checker->kernel->axes[axis].name;
    const char *text = check_text(checker, stmt->span), *value = check_text(checker, stmt->value->span);
    struct diagnostic *entry =
        check_error(checker, "E0401", stmt->span, "this happens once for each tile of `%s`, and how many those are is not the program's", loop);
    if (stmt->assign == ASSIGN_ADD || stmt->assign == ASSIGN_SUB)
        entry->help = check_printf(checker, "once for each point: `%s %s sum[%s](%s);`; once for each row: `%s` behind the loop", name,
                                   stmt->assign == ASSIGN_ADD ? "+=" : "-=", loop, value, text);
    else if (stmt->assign == ASSIGN_MUL)
        entry->help = check_printf(checker, "once for each point: `%s *= prod[%s](%s);`; once for each row: `%s` behind the loop", name,
                                   loop, value, text);
    else
        entry->help = check_printf(checker, "combine `%s` with a reduction over `%s`, or put this behind the loop", name, loop);
}

static void report_last_tile(struct checker *checker, const struct assignment *assignment, int axis) {
    const struct ast_stmt *stmt = assignment->stmt;
    const char *name = assignment->name, *loop = checker->kernel->axes[axis].name, *value = check_text(checker, stmt->value->span);
    struct diagnostic *entry = check_error(checker, "E0403", stmt->span,
                                           "`%s` keeps what it gets in the last tile of `%s` only", name, loop);
    const struct ir_value *given = without_cast(assignment->update->operands[1]);
    const struct ir_op *op = given->region ? NULL : given->def;
    enum ir_reduction reduction = !op || (op->code != OP_REDUCE && op->code != OP_DOT) ? RED_COUNT
                                  : op->code == OP_DOT                               ? RED_SUM
                                                                                     : op->reduction;
    if (reduction == RED_SUM)
        entry->help = check_printf(checker, "combine it with what `%s` held: `%s += %s;`", name, name, value);
    else if (reduction == RED_PROD)
        entry->help = check_printf(checker, "combine it with what `%s` held: `%s *= %s;`", name, name, value);
    else if (reduction == RED_MAX || reduction == RED_MIN)
        entry->help = check_printf(checker, "combine it with what `%s` held: `%s = %s(%s, %s);`", name, name,
                                   ir_reduction_name(reduction), name, value);
    else if (reduction == RED_ANY || reduction == RED_ALL)
        entry->help = check_printf(checker, "combine it with what `%s` held: `%s = %s %s %s;`", name, name, name,
                                   reduction == RED_ANY ? "||" : "&&", value);
    else
        entry->help = check_printf(checker, "combine it with what `%s` held, or assign it where a condition says that it is better", name);
}

static void report_mixed(struct checker *checker, const struct assignment *assignment, int axis, const struct ir_op *reduction,
                         enum ir_opcode code) {
    const char *found = reduction_word(reduction), *name = assignment->name, *loop = checker->kernel->axes[axis].name;
    const char *joins = code == OP_MAX || code == OP_MIN ? ir_ops[code].name : ir_ops[code].source;
    struct diagnostic *entry =
        check_error(checker, "E0404", assignment->stmt->span, "`%s` joins tiles by `%s`, but each tile of `%s` is reduced by `%s`", name,
                    joins, loop, found);
    if (code == OP_ADD || code == OP_SUB)
        entry->help = check_printf(checker, "the two operations must be the same: `sum[%s](…)`%s", loop,
                                   reduction->code == OP_REDUCE && (reduction->reduction == RED_MAX || reduction->reduction == RED_MIN)
                                       ? check_printf(checker, ", or `%s = %s(%s, %s[%s](…));`", name, found, name, found, loop)
                                       : "");
    else if (matching(code) < RED_ARGMAX)
        entry->help = check_printf(checker, "the two operations must be the same: `%s[%s](…)`%s",
                                   ir_reduction_name(matching(code)), loop,
                                   !strcmp(found, "sum") ? check_printf(checker, ", or `%s += sum[%s](…);`", name, loop) : "");
}

// Conditions between the assignment and the loop.
static struct facts condition_facts(const struct rules *rules, const struct ir_op *op, const struct ir_op *loop) {
    struct facts facts = {0};
    for (const struct ir_op *owner = op->parent->owner; owner && owner != loop; owner = owner->parent->owner) {
        if (owner->code == OP_IF && owner->operand_count)
            facts = joined(facts, of(rules, owner->operands[0]));
    }
    return facts;
}

static void check_assignment_in(struct rules *rules, const struct assignment *assignment, const struct ir_op *loop) {
    struct checker *checker = rules->checker;
    axes_t axis = AXIS_BIT(loop->axis);
    const struct ir_value *old = carried_argument(loop, assignment->name), *value = assignment->update->operands[1];
    if (!old || !axis_has_many_points(checker, loop->axis))
        return;
    struct facts facts = of(rules, value), condition = condition_facts(rules, assignment->update, loop);
    bool tiled = (facts.reduced | facts.exposed | condition.reduced | condition.exposed) & axis;
    enum ir_opcode with;
    const struct ir_op *mixed;
    if (!tiled) {
        if (depends_on(rules, value, old) && !is_idempotent(rules, value, old, axis, CHAIN_LONGEST))
            report_once_per_tile(checker, assignment, loop->axis);
    } else if ((mixed = mixed_reduction(rules, value, axis, &with)) != NULL) {
        report_mixed(checker, assignment, loop->axis, mixed, with);
    } else if ((facts.reduced & axis) && !((facts.carried | facts.exposed | condition.carried | condition.exposed) & axis)) {
        report_last_tile(checker, assignment, loop->axis);
    }
}

// The loops around that carry the variable; it was declared outside them.
static void check_assignment(struct rules *rules, const struct assignment *assignment) {
    for (const struct ir_op *owner = assignment->update->parent->owner; owner; owner = owner->parent->owner) {
        if (owner->code == OP_FOR)
            check_assignment_in(rules, assignment, owner);
    }
}

// ---------------------------------------------------------------------------------------------- stores and atomics

static const char *tensor_name(const struct rules *rules, const struct ir_op *op) {
    return rules->checker->kernel->params[op->param].name;
}

static void report_one_tile(const struct rules *rules, const struct ir_op *op, const struct facts *facts, axes_t bit, const char *axis) {
    struct diagnostic *entry = check_error(rules->checker, "E0405", op->span,
                                           "what is stored to `%s` covers one tile of `%s`, not the row", tensor_name(rules, op), axis);
    if (facts->scanned & bit)
        entry->help = check_printf(rules->checker, "add what the tiles before came to: `var carry` before the loop, here "
                                                   "`carry + cumsum[%s](v)`, and then `carry += sum[%s](v);`", axis, axis);
    else
        entry->help = check_printf(rules->checker, "reduce into a `var` declared before the loop over `%s`; what needs the whole row "
                                                   "stands behind it, or in a second loop", axis);
}

static void report_stale(const struct rules *rules, const struct ir_op *op, const char *axis) {
    struct diagnostic *entry = check_error(rules->checker, "E0406", op->span,
                                           "what is stored to `%s` depends on a `var` as it was when the tile of `%s` began",
                                           tensor_name(rules, op), axis);
    entry->help = check_printf(rules->checker, "the loop over `%s` changes it: add what the tile holds up to the point, as `carry + "
                                               "cumsum[%s](v)`; or store in a second loop; or use `%s.begin` openly", axis, axis, axis);
}

static struct facts access_facts(const struct rules *rules, const struct ir_op *op, axes_t *axes) {
    struct facts facts = {0};
    for (int i = 0; i < op->operand_count; i++) {
        facts = joined(facts, of(rules, op->operands[i]));
        *axes |= op->operands[i]->axes;
    }
    return facts;
}

static void check_atomic_in(const struct rules *rules, const struct ir_op *op, const struct ir_op *loop, const struct facts *facts,
                            axes_t axes) {
    axes_t bit = AXIS_BIT(loop->axis);
    const char *axis = rules->checker->kernel->axes[loop->axis].name;
    if (axes & bit) {
        if ((facts->carried & bit) && !((facts->scanned | facts->exposed) & bit))
            report_stale(rules, op, axis);
        return;
    }
    // A maximum or minimum of the same value may be taken any number of times.
    if (((facts->reduced | facts->exposed) & bit) || (op->reduction != RED_SUM && !(facts->carried & bit)))
        return;
    struct diagnostic *entry = check_error(rules->checker, "E0402", op->span,
                                           "this adds once for each tile of `%s`, and how many those are is not the program's", axis);
    entry->help = check_printf(rules->checker, "neither place nor value is on `%s`: add once for each point, `sum[%s](…)`, or put it "
                                               "outside the loop", axis, axis);
}

static void check_access_rules(const struct rules *rules, const struct ir_op *op) {
    axes_t axes = 0;
    struct facts facts = access_facts(rules, op, &axes);
    for (const struct ir_op *loop = op->parent->owner; loop; loop = loop->parent->owner) {
        if (loop->code != OP_FOR || !axis_has_many_points(rules->checker, loop->axis))
            continue;
        axes_t bit = AXIS_BIT(loop->axis);
        const char *axis = rules->checker->kernel->axes[loop->axis].name;
        if (op->code == OP_ATOMIC)
            check_atomic_in(rules, op, loop, &facts, axes);
        else if ((facts.reduced & bit) && !((facts.carried | facts.exposed) & bit))
            report_one_tile(rules, op, &facts, bit, axis);
        else if ((axes & facts.carried & bit) && !((facts.scanned | facts.exposed) & bit))
            report_stale(rules, op, axis);
    }
}

static void check_accesses(const struct rules *rules, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_STORE || op->code == OP_ATOMIC)
            check_access_rules(rules, op);
        for (int r = 0; r < op->region_count; r++)
            check_accesses(rules, op->regions[r]);
    }
}

// ---------------------------------------------------------------------------------------------- all rules

bool axis_has_many_points(const struct checker *checker, int axis) {
    const struct ir_axis *entry = &checker->kernel->axes[axis];
    if (entry->kind == AXIS_FULL || !entry->lo || !entry->hi)
        return false;
    const struct ir_op *lo = entry->lo->def, *hi = entry->hi->def;
    if (entry->lo->region || entry->hi->region || lo->code != OP_CONST || hi->code != OP_CONST)
        return true;
    int64_t points;
    return __builtin_sub_overflow(hi->integer, lo->integer, &points) || points > 1;
}

// An index made of a tile's begin or id tells tiles apart openly.
static void name_exposed(const struct rules *rules, struct store *store) {
    for (int i = 0; i < rules->checker->kernel->params[store->op->param].rank; i++)
        store->names |= of(rules, store->op->operands[i]).exposed;
}

enum { ERRORS_ENOUGH = 200 };  // who has so many knows what to do

void check_tile_rules(struct checker *checker) {
    struct rules rules = {.checker = checker, .changed = true};
    rules.facts = ARENA_ARRAY(checker->kernel->arena, struct facts, checker->kernel->value_count + 1);
    rules.visited = ARENA_ARRAY(checker->kernel->arena, int, checker->kernel->value_count + 1);
    while (rules.changed) {
        rules.changed = false;
        flow_region(&rules, checker->kernel->body);
    }
    for (int i = 0; i < checker->assignment_count && checker->diagnostics->errors - checker->errors < ERRORS_ENOUGH; i++)
        check_assignment(&rules, &checker->assignments[i]);
    check_accesses(&rules, checker->kernel->body);
    for (int i = 0; i < checker->store_count; i++)
        name_exposed(&rules, &checker->stores[i]);
}
