// SPDX-License-Identifier: Apache-2.0
// Loops, and how variables are carried through them. In: a loop. Out: an operation with regions.
// The one idea: a loop carries exactly the variables from outside that its body assigns. Which those may be is read from
// the tree before the body is built; those that turn out unchanged are dropped again.
#include <string.h>

#include "frontend/check.h"

// ---------------------------------------------------------------------------------------------- carried variables

static void carry_add(struct checker *checker, const char *name, struct carry *carry) {
    struct symbol *symbol = scope_find(checker, name);
    if (!symbol || symbol->kind != SYMBOL_VAR || symbol->broken)
        return;
    for (int i = 0; i < carry->count; i++) {
        if (carry->symbols[i] == symbol)
            return;
    }
    int capacity = carry->capacity, count = carry->count;
    ARENA_PUSH(checker->kernel->arena, carry->symbols, count, capacity, symbol);
    ARENA_PUSH(checker->kernel->arena, carry->outer, carry->count, carry->capacity, symbol->value);
}

void carry_collect(struct checker *checker, const struct ast_block *block, struct carry *carry) {
    for (int i = 0; i < block->count; i++) {
        const struct ast_stmt *stmt = block->items[i];
        if (stmt->kind == STMT_ASSIGN && stmt->place->kind == EXPR_NAME)
            carry_add(checker, stmt->place->name.text, carry);
        if (stmt->kind == STMT_FOR || stmt->kind == STMT_IF)
            carry_collect(checker, &stmt->body, carry);
        if (stmt->kind == STMT_IF && stmt->has_else)
            carry_collect(checker, &stmt->otherwise, carry);
    }
}

struct ir_value **carry_arguments(struct checker *checker, struct ir_region *region, const struct carry *carry) {
    struct ir_value **arguments = ARENA_ARRAY(checker->kernel->arena, struct ir_value *, carry->count + 1);
    for (int i = 0; i < carry->count; i++) {
        struct symbol *symbol = carry->symbols[i];
        arguments[i] = ir_region_arg(checker->kernel, region, symbol->type, symbol->axes, symbol->name.text);
        symbol->value = arguments[i];
    }
    return arguments;
}

struct ir_value **carry_current(struct checker *checker, const struct carry *carry) {
    struct ir_value **values = ARENA_ARRAY(checker->kernel->arena, struct ir_value *, carry->count + 1);
    for (int i = 0; i < carry->count; i++)
        values[i] = carry->symbols[i]->value;
    return values;
}

static void drop_argument(struct ir_value *argument) {
    struct ir_region *region = argument->region;
    for (int i = argument->index; i + 1 < region->arg_count; i++) {
        region->args[i] = region->args[i + 1];
        region->args[i]->index = i;
    }
    region->arg_count--;
}

static bool is_changed(int variable, int regions, struct ir_value **arguments[], struct ir_value **finals[]) {
    for (int r = 0; r < regions; r++) {
        if (finals[r] && finals[r][variable] != arguments[r][variable])
            return true;
    }
    return false;
}

static void add_yields(struct checker *checker, struct ir_op *op, int count, const int *kept, int regions,
                       struct ir_value **finals[]) {
    struct ir_value **values = ARENA_ARRAY(checker->kernel->arena, struct ir_value *, count + 1);
    for (int r = 0; r < regions; r++) {
        if (!finals[r])
            continue;
        for (int i = 0; i < count; i++)
            values[i] = finals[r][kept[i]];
        struct ir_builder builder = checker->builder;
        builder.region = op->regions[r];
        builder.before = NULL;
        ir_yield(&builder, count, values);
    }
}

void carry_finish(struct checker *checker, struct ir_op *op, int first, const struct carry *carry, int regions,
                  struct ir_value **arguments[], struct ir_value **finals[]) {
    int count = 0;
    int *kept = ARENA_ARRAY(checker->kernel->arena, int, carry->count + 1);
    for (int i = 0; i < carry->count; i++) {
        if (is_changed(i, regions, arguments, finals)) {
            kept[count++] = i;
            continue;
        }
        carry->symbols[i]->value = carry->outer[i];
        for (int r = 0; r < regions; r++) {
            ir_replace_uses(checker->kernel, arguments[r][i], carry->outer[i]);
            drop_argument(arguments[r][i]);
        }
    }
    op->operand_count = first + count;
    op->result_count = count;
    add_yields(checker, op, count, kept, regions, finals);
    for (int i = 0; i < count; i++) {
        struct symbol *symbol = carry->symbols[kept[i]];
        op->operands[first + i] = carry->outer[kept[i]];
        symbol->value = ir_result(checker->kernel, op, i, symbol->type, symbol->axes);
        symbol->value->name = symbol->name.text;
    }
}

// ---------------------------------------------------------------------------------------------- bounds

enum domain { DOMAIN_TILE, DOMAIN_JAGGED, DOMAIN_RANGE, DOMAIN_NONE };

static enum domain domain_named(const char *name) {
    return !strcmp(name, "tile")          ? DOMAIN_TILE
           : !strcmp(name, "jagged_tile") ? DOMAIN_JAGGED
           : !strcmp(name, "range")       ? DOMAIN_RANGE
                                          : DOMAIN_NONE;
}

// The axes in scope that could index a tensor of this rank: "lengths[tb]".
static const char *indexed_by_loops(struct checker *checker, const struct symbol *tensor) {
    int rank = checker->kernel->params[tensor->index].rank;
    const char *indices = "";
    int found = 0;
    for (int i = checker->symbol_count - 1; i >= 0 && found < rank; i--) {
        if (checker->symbols[i]->kind != SYMBOL_AXIS)
            continue;
        indices = check_printf(checker, "%s%s%s", checker->symbols[i]->name.text, found ? ", " : "", indices);
        found++;
    }
    return found == rank ? check_printf(checker, "%s[%s]", tensor->name.text, indices) : NULL;
}

static bool is_whole_tensor(struct checker *checker, const struct ast_expr *bound, enum domain domain) {
    struct symbol *symbol = bound->kind == EXPR_NAME ? scope_find(checker, bound->name.text) : NULL;
    if (!symbol || symbol->kind != SYMBOL_TENSOR || symbol->broken)
        return false;
    symbol->used = true;
    const char *indexed = indexed_by_loops(checker, symbol);
    struct diagnostic *entry =
        check_error(checker, domain == DOMAIN_JAGGED ? "E0303" : "E0208", bound->span, "`%s` is a whole tensor, and %s", symbol->name.text,
                    domain == DOMAIN_JAGGED ? "a jagged loop needs the length of its row" : "a bound is a number");
    const struct ir_param *param = &checker->kernel->params[symbol->index];
    if (indexed)
        entry->help = check_printf(checker, "take the row of a tile around: `%s`", indexed);
    else if (param->rank > 1)
        entry->help = check_printf(checker, "take one element, with an index for each of its %d dimensions: `%s[…]`", param->rank,
                                   param->name);
    else
        entry->help = check_printf(checker, "put it into a loop over the rows, `for tb in tile(%s) { … }`, and index: `%s[tb]`",
                                   param->extent_text[0], param->name);
    return true;
}

// One bound as an i64, or NULL after a report.
static struct ir_value *check_bound(struct checker *checker, const struct ast_expr *bound, enum domain domain) {
    if (is_whole_tensor(checker, bound, domain))
        return NULL;
    struct operand operand = check_expr(checker, bound);
    checker->builder.span = bound->span;
    if (operand.kind == OPERAND_ERROR)
        return NULL;
    if (operand_kind(&operand) != KIND_INTEGER) {
        check_error(checker, "E0207", bound->span, "a bound is an integer, and this is %s", check_type_text(checker, &operand))->help =
            check_printf(checker, "convert it: `i64(%s)`", check_text(checker, bound->span));
        return NULL;
    }
    return check_value(checker, TYPE_I64, &operand);
}

struct bounds {
    struct ir_value *lo, *hi;
    bool good;
};

static const char *bounds_text(struct checker *checker, const struct ast_stmt *stmt, int first, int count) {
    const char *text = "";
    for (int i = first; i < first + count && i < stmt->bounds.count; i++)
        text = check_printf(checker, "%s%s%s", text, i > first ? ", " : "", check_text(checker, stmt->bounds.items[i]->span));
    return text;
}

static bool check_bound_axes(struct checker *checker, const struct ast_stmt *stmt, enum domain domain, const struct bounds *bounds,
                             const char *text) {
    axes_t axes = bounds->lo->axes | bounds->hi->axes;
    if (domain == DOMAIN_JAGGED && !axes) {
        struct diagnostic *entry =
            check_error(checker, "E0301", stmt->domain_span, "the bound of this jagged loop is the same number for every row");
        entry->help = check_printf(checker, "use `tile(%s)`", text);
        return false;
    }
    if (domain != DOMAIN_JAGGED && axes) {
        struct diagnostic *entry =
            check_error(checker, "E0302", stmt->domain_span, "the bounds of `%s` are numbers, but `%s` differs along %s",
                        stmt->domain.text, text, check_axes_text(checker, axes));
        entry->help = check_printf(checker, "use `jagged_tile(%s)`", text);
        return false;
    }
    bool known = ir_is_host_number(bounds->lo) && ir_is_host_number(bounds->hi);
    if (!at_top(checker) || known)
        return true;
    struct diagnostic *entry =
        check_error(checker, "E0309", stmt->domain_span, "the range of a loop at the top of a kernel is known at launch, and this isn't");
    entry->help = domain == DOMAIN_JAGGED ? "its parent has to be a loop around: put it into `for one in tile(1) { … }`"
                                          : "bounds there are made of dimensions, scalars and constants; put the loop into "
                                            "`for one in tile(1) { … }` to look at tensors first";
    return false;
}

// `count` bounds (one or two) from the `first` on.
static struct bounds check_bounds(struct checker *checker, const struct ast_stmt *stmt, enum domain domain, int first, int count) {
    struct bounds bounds = {.good = true};
    struct ir_value *values[2] = {NULL, NULL};
    for (int i = 0; i < count && i < 2; i++)
        values[i] = check_bound(checker, stmt->bounds.items[first + i], domain);
    checker->builder.span = stmt->domain_span;
    bounds.hi = values[count - 1];
    bounds.lo = count == 2 ? values[0] : ir_integer(&checker->builder, TYPE_I64, 0);
    if (bounds.lo && bounds.hi)
        bounds.good = check_bound_axes(checker, stmt, domain, &bounds, bounds_text(checker, stmt, first, count));
    else
        bounds.good = false;
    if (bounds.lo && bounds.hi && (bounds.good || domain != DOMAIN_RANGE))
        return bounds;
    // After an error the body is still checked, over some range.
    bounds.lo = ir_integer(&checker->builder, TYPE_I64, 0);
    bounds.hi = ir_integer(&checker->builder, TYPE_I64, 2);
    return bounds;
}

// ---------------------------------------------------------------------------------------------- loops over tiles

static void check_level(struct checker *checker, const struct ast_stmt *stmt, enum domain domain, int level);

// The condition is looked at before each tile: outside the axis.
static bool check_while(struct checker *checker, const struct ast_stmt *stmt, struct ir_op *op, const struct carry *carry,
                        struct ir_value ***arguments) {
    struct ir_builder around = checker->builder;
    checker->builder.region = op->regions[1];
    checker->builder.before = NULL;
    *arguments = carry_arguments(checker, op->regions[1], carry);
    struct operand condition = check_condition(checker, stmt->condition, "the condition of `while`");
    bool good = condition.kind != OPERAND_ERROR;
    struct operand truth = good ? condition : operand_bool(true);
    struct ir_value *value = check_value(checker, TYPE_BOOL, &truth);
    ir_yield(&checker->builder, 1, &value);
    checker->builder = around;
    return good;
}

static void check_body(struct checker *checker, const struct ast_stmt *stmt, enum domain domain, int level) {
    if (stmt->targets.count > level + 1)
        check_level(checker, stmt, domain, level + 1);
    else
        check_statements(checker, &stmt->body);
}

static void build_tile_loop(struct checker *checker, const struct ast_stmt *stmt, enum domain domain, int level, int axis,
                            const struct bounds *bounds) {
    struct carry carry = {0};
    carry_collect(checker, &stmt->body, &carry);
    int regions = stmt->condition ? 2 : 1;
    checker->builder.span = stmt->targets.items[level].span;
    struct ir_op *op = ir_op_new(&checker->builder, OP_FOR, 2 + carry.count, carry.count, regions);
    op->operand_count = 2;  // the carried ones are set when it is known which
    op->axis = axis;
    op->operands[0] = checker->kernel->axes[axis].lo = bounds->lo;
    op->operands[1] = checker->kernel->axes[axis].hi = bounds->hi;
    checker->kernel->axes[axis].loop = op;
    checker->kernel->axes[axis].span = stmt->targets.items[level].span;
    ir_insert(&checker->builder, op);
    struct ir_value **arguments[2] = {NULL, NULL}, **finals[2] = {NULL, NULL};
    if (regions == 2)
        check_while(checker, stmt, op, &carry, &arguments[1]);
    struct ir_builder around = checker->builder;
    checker->builder.region = op->regions[0];
    checker->builder.before = NULL;
    arguments[0] = carry_arguments(checker, op->regions[0], &carry);
    int mark = scope_enter(checker);
    struct symbol *symbol = scope_declare(checker, SYMBOL_AXIS, stmt->targets.items[level]);
    symbol->index = axis;
    symbol->loop = true;
    symbol->anchor.region = op->regions[0];
    symbol->quiet = symbol->quiet || !axis_has_many_points(checker, axis);
    check_body(checker, stmt, domain, level);
    finals[0] = carry_current(checker, &carry);
    scope_leave(checker, mark);
    checker->builder = around;
    carry_finish(checker, op, 2, &carry, regions, arguments, finals);
    struct ir_axis *entry = &checker->kernel->axes[axis];
    entry->ordered = entry->ordered || op->result_count || regions == 2;
}

static void check_level(struct checker *checker, const struct ast_stmt *stmt, enum domain domain, int level) {
    bool nested = stmt->targets.count > 1;
    struct bounds bounds = nested ? check_bounds(checker, stmt, domain, level, 1)
                                  : check_bounds(checker, stmt, domain, 0, stmt->bounds.count);
    axes_t parents = bounds.lo->axes | bounds.hi->axes;
    int axis = ir_axis_new(checker->kernel, stmt->targets.items[level].text, parents ? AXIS_JAGGED : AXIS_TILE, parents);
    if (axis < 0) {
        check_error(checker, "E0225", stmt->targets.items[level].span, "a kernel has at most %d axes", IR_MAX_AXES);
        return;
    }
    build_tile_loop(checker, stmt, domain, level, axis, &bounds);
}

// ---------------------------------------------------------------------------------------------- loops over numbers

static void check_range(struct checker *checker, const struct ast_stmt *stmt) {
    struct bounds bounds = check_bounds(checker, stmt, DOMAIN_RANGE, 0, stmt->bounds.count);
    struct ast_name name = stmt->targets.items[0];
    if (stmt->condition) {
        check_error(checker, "E0311", stmt->condition->span, "`while` belongs to a loop over an axis, and `range` has none")->help =
            "put an `if` into the loop";
        check_expr(checker, stmt->condition);
    }
    struct carry carry = {0};
    carry_collect(checker, &stmt->body, &carry);
    checker->builder.span = name.span;
    struct ir_op *op = ir_op_new(&checker->builder, OP_RANGE, 2 + carry.count, carry.count, 1);
    op->operand_count = 2;
    op->operands[0] = bounds.lo;
    op->operands[1] = bounds.hi;
    ir_insert(&checker->builder, op);
    struct ir_builder around = checker->builder;
    checker->builder.region = op->regions[0];
    checker->builder.before = NULL;
    int mark = scope_enter(checker);
    struct symbol *symbol = scope_declare(checker, SYMBOL_RANGE, name);
    symbol->loop = true;
    symbol->operand = operand_value(ir_region_arg(checker->kernel, op->regions[0], TYPE_I64, 0, name.text));
    struct ir_value **arguments[1] = {carry_arguments(checker, op->regions[0], &carry)};
    check_statements(checker, &stmt->body);
    struct ir_value **finals[1] = {carry_current(checker, &carry)};
    scope_leave(checker, mark);
    checker->builder = around;
    carry_finish(checker, op, 2, &carry, 1, arguments, finals);
}

// ---------------------------------------------------------------------------------------------- any loop

static bool check_form(struct checker *checker, const struct ast_stmt *stmt, enum domain domain) {
    int targets = stmt->targets.count, bounds = stmt->bounds.count;
    struct span span = stmt->domain_span;
    if (domain == DOMAIN_NONE) {
        struct nearest nearest = {0};
        nearest_offer(&nearest, stmt->domain.text, "tile");
        nearest_offer(&nearest, stmt->domain.text, "jagged_tile");
        nearest_offer(&nearest, stmt->domain.text, "range");
        check_error(checker, "E0308", stmt->domain.span, "there is no range `%s`", stmt->domain.text)->help =
            nearest.name ? check_printf(checker, "is `%s` meant?", nearest.name)
                         : "a loop runs over `tile(…)`, `jagged_tile(…)` or `range(…)`";
        return false;
    }
    if (targets > 1 && domain != DOMAIN_TILE) {
        check_error(checker, "E0308", span, "several names need `tile`: `%s` makes one loop", stmt->domain.text)->help =
            "nest the loops";
        return false;
    }
    if (targets > 1 && bounds != targets) {
        check_error(checker, "E0308", span, "%d loops need %d bounds, and here are %d", targets, targets, bounds)->help =
            "a loop with two bounds of its own stands alone: `for t in tile(a, b)`";
        return false;
    }
    if (targets <= 1 && (bounds < 1 || bounds > 2)) {
        check_error(checker, "E0308", span, "`%s` takes a length or two bounds, and here it gets %d", stmt->domain.text, bounds)->help =
            "for nested loops name as many indices: `for (i, j) in tile(m, n)`";
        return false;
    }
    if (stmt->condition && targets > 1) {
        check_error(checker, "E0311", stmt->condition->span, "`while` ends one loop, and here are %d", targets)->help =
            "nest the loops, and put `while` on the one that is to end";
        return false;
    }
    if (domain == DOMAIN_RANGE && at_top(checker)) {
        check_error(checker, "E0220", stmt->targets.items[0].span, "a loop over `range` can't stand at the top of a kernel")->help =
            "put it in a loop over tiles; where there is nothing to loop over: `for one in tile(1) { … }`";
        return false;
    }
    return targets >= 1;
}

// The body of a loop whose head is wrong: its own errors are reported, its indices are silent.
static void check_orphan(struct checker *checker, const struct ast_stmt *stmt) {
    struct dead_region around = dead_enter(checker);
    int mark = scope_enter(checker);
    for (int i = 0; i < stmt->bounds.count; i++)
        check_expr(checker, stmt->bounds.items[i]);
    for (int i = 0; i < stmt->targets.count; i++) {
        struct symbol *symbol = scope_declare(checker, SYMBOL_AXIS, stmt->targets.items[i]);
        symbol->broken = true;
    }
    struct carry carry = {0};
    carry_collect(checker, &stmt->body, &carry);
    check_statements(checker, &stmt->body);
    for (int i = 0; i < carry.count; i++)
        carry.symbols[i]->value = carry.outer[i];
    scope_leave(checker, mark);
    dead_leave(checker, around);
}

void check_for(struct checker *checker, const struct ast_stmt *stmt) {
    enum domain domain = domain_named(stmt->domain.text);
    if (!check_form(checker, stmt, domain)) {
        check_orphan(checker, stmt);
        return;
    }
    if (domain == DOMAIN_RANGE)
        check_range(checker, stmt);
    else
        check_level(checker, stmt, domain, 0);
}
