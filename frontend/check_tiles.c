// SPDX-License-Identifier: Apache-2.0
// The rules of "Tiles and results" for assignments. In: a kernel's IR. Out: complaints about variables whose final values
// would depend on the cut.
// The one idea: in a loop a variable combines what it held with a reduction of the present tile, by one operation.
#include <string.h>

#include "frontend/check_tiles.h"

// ---------------------------------------------------------------------------------------------- assignments

// What the variable holds when a tile begins: the loop's argument of its name, which no inner name hides.
static const struct ir_value *carried_argument(const struct ir_op *loop, const char *name) {
    const struct ir_region *body = loop->regions[0];
    for (int i = 0; i < body->arg_count; i++) {
        if (body->args[i]->name && !strcmp(body->args[i]->name, name))
            return body->args[i];
    }
    return NULL;
}

// min, max, && and || of the old value with something that is the same in each tile may be done any number of times.
static bool is_idempotent(const struct rules *rules, const struct ir_value *value, const struct ir_value *old, axes_t axis,
                          int longest) {
    value = without_cast(value);
    if (value->region || longest == 0)
        return value == old;
    if (!is_idempotent_code(value->def->code))
        return value == old;
    for (int i = 0; i < 2; i++) {
        const struct ir_value *side = value->def->operands[i];
        if ((facts_of(rules, side).carried & axis) && !is_idempotent(rules, side, old, axis, longest - 1))
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
    const struct facts a = facts_of(rules, op->operands[0]), b = facts_of(rules, op->operands[1]);
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
        if (!(facts_of(rules, op->operands[1 - i]).carried & axis) || (facts_of(rules, op->operands[i]).carried & axis))
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

// reduction - v or reduction / v: from tile to tile the variable would change sides.
static bool is_turned_over(const struct rules *rules, const struct assignment *assignment, axes_t axis) {
    const struct ir_value *value = without_cast(assignment->update->operands[1]);
    if (value->region || (value->def->code != OP_SUB && value->def->code != OP_DIV))
        return false;
    const struct ir_value *right = without_cast(value->def->operands[1]);
    bool variable = right->region || right->def->region_count || right->def->code == OP_UPDATE;
    bool is_old = variable && right->name && !strcmp(right->name, assignment->name);
    return is_old && (facts_of(rules, right).carried & axis)
        && !(facts_of(rules, value->def->operands[0]).carried & axis);
}

// ---------------------------------------------------------------------------------------------- complaints about assignments

static const char *reduction_word(const struct ir_op *op) {
    return op->code == OP_DOT ? "dot" : ir_reduction_name(op->reduction);
}

// All loops of many points that carry the variable, with the parents that it isn't on.
static axes_t axes_to_reduce(const struct checker *checker, const struct assignment *assignment) {
    axes_t axes = 0, on = assignment->update->results[0]->axes;
    for (const struct ir_op *owner = assignment->update->parent->owner; owner; owner = owner->parent->owner) {
        bool many = owner->code == OP_FOR && carried_argument(owner, assignment->name)
                 && axis_has_many_points(checker, owner->axis);
        if (many)
            axes |= AXIS_BIT(owner->axis) | checker->kernel->axes[owner->axis].parents;
    }
    return axes & ~on;
}

static void report_once_per_tile(struct checker *checker, const struct assignment *assignment, int axis) {
    const struct ast_stmt *stmt = assignment->stmt;
    const char *name = assignment->name, *loop = checker->kernel->axes[axis].name;
    const char *text = check_text(checker, stmt->span);
    axes_t axes = axes_to_reduce(checker, assignment);
    struct diagnostic *entry =
        check_error(checker, "E0401", stmt->span, "this happens once for each tile of `%s`, and how many those are is not the program's", loop);
    if (stmt->assign == ASSIGN_ADD || stmt->assign == ASSIGN_SUB)
        entry->help = check_printf(checker, "once for each point: `%s %s %s;`; once for each row: `%s` behind the loop", name,
                                   stmt->assign == ASSIGN_ADD ? "+=" : "-=",
                                   check_reduced_text(checker, "sum", axes, stmt->value), text);
    else if (stmt->assign == ASSIGN_MUL)
        entry->help = check_printf(checker, "once for each point: `%s *= %s;`; once for each row: `%s` behind the loop", name,
                                   check_reduced_text(checker, "prod", axes, stmt->value), text);
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

static void report_turned_over(struct checker *checker, const struct assignment *assignment, int axis) {
    const char *loop = checker->kernel->axes[axis].name, *name = assignment->name;
    const struct ir_op *op = without_cast(assignment->update->operands[1])->def;
    struct diagnostic *entry =
        check_error(checker, "E0404", assignment->stmt->span,
                    "`%s` stands on the right of `%s`, so it changes sides with every tile of `%s`", name,
                    ir_ops[op->code].source, loop);
    entry->help = check_printf(checker,
                               "join tiles by one operation, `%s %s= %s[%s](…);`, and turn round behind the loop what "
                               "that comes to",
                               name, ir_ops[op->code].source, ir_reduction_name(matching(op->code)), loop);
}

static void check_assignment_in(struct rules *rules, const struct assignment *assignment, const struct ir_op *loop) {
    struct checker *checker = rules->checker;
    axes_t axis = AXIS_BIT(loop->axis);
    const struct ir_value *old = carried_argument(loop, assignment->name), *value = assignment->update->operands[1];
    if (!old || !axis_has_many_points(checker, loop->axis))
        return;
    struct facts facts = facts_of(rules, value), condition = facts_of_conditions(rules, assignment->update, loop);
    bool tiled = (facts.reduced | facts.exposed | condition.reduced | condition.exposed) & axis;
    bool told_apart = (condition.reduced | condition.carried | facts.exposed | condition.exposed) & axis;
    enum ir_opcode with;
    const struct ir_op *mixed;
    if (!tiled) {
        if (depends_on(rules, value, old) && !is_idempotent(rules, value, old, axis, CHAIN_LONGEST))
            report_once_per_tile(checker, assignment, loop->axis);
    } else if ((mixed = mixed_reduction(rules, value, axis, &with)) != NULL) {
        report_mixed(checker, assignment, loop->axis, mixed, with);
    } else if (is_turned_over(rules, assignment, axis) && !told_apart) {
        report_turned_over(checker, assignment, loop->axis);
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

enum { ERRORS_ENOUGH = 200 };  // who has so many knows what to do

static void note_loads(const struct rules *rules, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD)
            rules->loaded[op->param] = true;
        for (int r = 0; r < op->region_count; r++)
            note_loads(rules, op->regions[r]);
    }
}

void check_tile_rules(struct checker *checker) {
    struct arena *arena = checker->kernel->arena;
    struct rules rules = {.checker = checker};
    rules.facts = ARENA_ARRAY(arena, struct facts, checker->kernel->value_count + 1);
    rules.visited = ARENA_ARRAY(arena, int, checker->kernel->value_count + 1);
    rules.opened = ARENA_ARRAY(arena, int, checker->kernel->param_count + 1);
    rules.loaded = ARENA_ARRAY(arena, bool, checker->kernel->param_count + 1);
    note_loads(&rules, checker->kernel->body);
    find_facts(&rules);
    for (int i = 0; i < checker->assignment_count && checker->diagnostics->errors - checker->errors < ERRORS_ENOUGH; i++)
        check_assignment(&rules, &checker->assignments[i]);
    check_access_rules(&rules);
}
