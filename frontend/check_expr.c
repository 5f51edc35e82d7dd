// SPDX-License-Identifier: Apache-2.0
// Expressions. In: a tree. Out: an operand, with the IR that computes it appended to the builder's region.
// The one idea: arithmetic computes in i64, f32 or f64 and choices keep the wider type, so every operation first finds
// the kind its operands share, then the type, and casts each operand to it; literals simply become constants of it.
#include <math.h>
#include <string.h>

#include "frontend/check.h"

enum { DEPTH_MOST = 1500, VALUES_MOST = 500000 };

// ---------------------------------------------------------------------------------------------- operands

struct operand operand_error(struct span span) {
    return (struct operand){.kind = OPERAND_ERROR, .span = span};
}

struct operand operand_integer(int64_t integer) {
    return (struct operand){.kind = OPERAND_INTEGER, .integer = integer};
}

struct operand operand_float(double number) {
    return (struct operand){.kind = OPERAND_FLOAT, .number = number};
}

struct operand operand_bool(bool truth) {
    return (struct operand){.kind = OPERAND_BOOL, .integer = truth};
}

struct operand operand_value(struct ir_value *value) {
    return (struct operand){.kind = OPERAND_VALUE, .value = value, .names = value->axes};
}

bool is_literal(const struct operand *operand) {
    return operand->kind == OPERAND_BOOL || operand->kind == OPERAND_INTEGER || operand->kind == OPERAND_FLOAT;
}

enum kind kind_of_type(enum ir_type type) {
    return type == TYPE_BOOL ? KIND_BOOL : ir_type_is_integer(type) ? KIND_INTEGER : KIND_FLOAT;
}

enum kind operand_kind(const struct operand *operand) {
    switch (operand->kind) {
    case OPERAND_BOOL:
        return KIND_BOOL;
    case OPERAND_INTEGER:
        return KIND_INTEGER;
    case OPERAND_FLOAT:
        return KIND_FLOAT;
    case OPERAND_VALUE:
        return kind_of_type(operand->value->type);
    default:
        return KIND_NONE;
    }
}

axes_t operand_axes(const struct operand *operand) {
    return operand->kind == OPERAND_VALUE ? operand->value->axes : 0;
}

enum ir_type operand_type(const struct operand *operand) {
    switch (operand->kind) {
    case OPERAND_BOOL:
        return TYPE_BOOL;
    case OPERAND_INTEGER:
        return TYPE_I64;
    case OPERAND_FLOAT:
        return TYPE_F32;
    default:
        return operand->value->type;
    }
}

// An integer that takes a floating type where it meets one.
static bool is_flexible(const struct operand *operand) {
    return operand->kind == OPERAND_INTEGER || operand->adapts;
}

// ---------------------------------------------------------------------------------------------- kinds and types

// Which of two operands of different kinds is to be converted, and how.
static const char *conversion_help(struct checker *checker, const struct operand *a, const struct operand *b) {
    enum kind one = operand_kind(a), other = operand_kind(b);
    if (one == KIND_BOOL || other == KIND_BOOL) {
        const struct operand *truth = one == KIND_BOOL ? a : b;
        enum kind wanted = one == KIND_BOOL ? other : one;
        return check_printf(checker, "convert the bool: `%s(%s)`", wanted == KIND_FLOAT ? "f32" : "i64",
                            check_text(checker, truth->span));
    }
    const struct operand *integer = one == KIND_INTEGER ? a : b, *floating = one == KIND_INTEGER ? b : a;
    enum ir_type type = floating->kind == OPERAND_VALUE ? ir_type_compute(floating->value->type) : TYPE_F32;
    return check_printf(checker, "between kinds the conversion is written: `%s(%s)`", ir_type_name(type),
                        check_text(checker, integer->span));
}

static void report_kinds(struct checker *checker, const struct operand *a, const struct operand *b, const char *what) {
    struct span span = checker->builder.span;
    struct diagnostic *entry = check_error(checker, "E0205", span, "%s can't combine %s with %s", what,
                                           check_type_text(checker, a), check_type_text(checker, b));
    entry->help = conversion_help(checker, a, b);
}

enum kind check_meet(struct checker *checker, int count, const struct operand *operands, const char *what) {
    const struct operand *leader = NULL;
    for (int i = 0; i < count; i++) {
        if (operands[i].kind == OPERAND_ERROR)
            return KIND_NONE;
        bool leads = !leader || (operand_kind(leader) == KIND_INTEGER && is_flexible(leader)
                                 && operand_kind(&operands[i]) != KIND_BOOL);
        if (leads)
            leader = &operands[i];
    }
    enum kind kind = operand_kind(leader);
    for (int i = 0; i < count; i++) {
        bool adapts = kind == KIND_FLOAT && is_flexible(&operands[i]);
        if (operand_kind(&operands[i]) != kind && !adapts) {
            report_kinds(checker, &operands[0] == leader ? leader : &operands[0],
                         &operands[i] == &operands[0] ? leader : &operands[i], what);
            return KIND_NONE;
        }
    }
    return kind;
}

enum ir_type check_computing_type(int count, const struct operand *operands, enum kind kind) {
    if (kind != KIND_FLOAT)
        return kind == KIND_BOOL ? TYPE_BOOL : TYPE_I64;
    for (int i = 0; i < count; i++) {
        if (operands[i].kind == OPERAND_VALUE && operands[i].value->type == TYPE_F64)
            return TYPE_F64;
    }
    return TYPE_F32;
}

static enum ir_type wider(enum ir_type a, enum ir_type b) {
    if (a == b || b == TYPE_NONE)
        return a;
    if (a == TYPE_NONE)
        return b;
    if (ir_type_bytes(a) == ir_type_bytes(b))  // i8 with u8, f16 with bf16: neither holds the other
        return ir_type_is_float(a) ? TYPE_F32 : TYPE_I32;
    return ir_type_bytes(a) > ir_type_bytes(b) ? a : b;
}

enum ir_type check_wider_type(int count, const struct operand *operands, enum kind kind) {
    enum ir_type type = TYPE_NONE;
    for (int i = 0; i < count; i++) {
        bool counts = operands[i].kind == OPERAND_VALUE && operand_kind(&operands[i]) == kind;
        if (counts)
            type = wider(type, operands[i].value->type);
    }
    return type != TYPE_NONE ? type : kind == KIND_FLOAT ? TYPE_F32 : kind == KIND_INTEGER ? TYPE_I64 : TYPE_BOOL;
}

static struct ir_value *floating_constant(struct checker *checker, enum ir_type type, const struct operand *literal) {
    double number = literal->kind == OPERAND_FLOAT ? literal->number : (double)literal->integer;
    if (isfinite(number) && isinf(ir_round_to(type, number)))
        check_warning(checker, "W0605", literal->span, "%g doesn't fit in %s: it becomes %sinf", number, ir_type_name(type),
                      number < 0 ? "-" : "")->help = "take a wider type";
    return ir_number(&checker->builder, type, number);
}

static struct ir_value *constant(struct checker *checker, enum ir_type type, const struct operand *literal) {
    if (ir_type_is_float(type))
        return floating_constant(checker, type, literal);
    if (type != TYPE_BOOL && ir_wrap_to(type, literal->integer) != literal->integer) {
        struct diagnostic *entry =
            check_warning(checker, "W0605", literal->span, "%lld doesn't fit in %s: it becomes %lld",
                          (long long)literal->integer, ir_type_name(type), (long long)ir_wrap_to(type, literal->integer));
        entry->help = "take a wider type";
    }
    return ir_integer(&checker->builder, type, literal->integer);
}

struct ir_value *check_value(struct checker *checker, enum ir_type type, const struct operand *operand) {
    return operand->kind == OPERAND_VALUE ? ir_cast(&checker->builder, type, operand->value)
                                          : constant(checker, type, operand);
}

struct ir_value *check_stored(struct checker *checker, const struct operand *operand, enum ir_type type, const char *what) {
    if (operand->kind == OPERAND_ERROR)
        return NULL;
    enum kind wanted = kind_of_type(type), kind = operand_kind(operand);
    if (kind == wanted || (wanted == KIND_FLOAT && is_flexible(operand)))
        return check_value(checker, type, operand);
    struct diagnostic *entry = check_error(checker, "E0205", operand->span, "%s is of type %s, and this is %s", what,
                                           ir_type_name(type), check_type_text(checker, operand));
    const char *text = check_text(checker, operand->span);
    if (wanted == KIND_INTEGER && kind == KIND_FLOAT)
        entry->help = check_printf(checker, "between kinds the conversion is written: `%s(%s)` truncates, `%s(round(%s))` rounds",
                                   ir_type_name(type), text, ir_type_name(type), text);
    else
        entry->help = check_printf(checker, "between kinds the conversion is written: `%s(%s)`", ir_type_name(type), text);
    return NULL;
}

struct operand check_elementwise(struct checker *checker, enum ir_opcode code, enum ir_type type, int count,
                                 const struct operand *operands) {
    struct ir_value *values[3];
    axes_t names = 0, needs = 0;
    bool adapts = true;
    for (int i = 0; i < count && i < 3; i++) {
        bool condition = code == OP_SELECT && i == 0;
        values[i] = condition ? check_value(checker, TYPE_BOOL, &operands[i]) : check_value(checker, type, &operands[i]);
        names |= operands[i].names;
        needs |= operands[i].needs;
        adapts = adapts && (condition || is_flexible(&operands[i]));
    }
    struct operand result = operand_value(ir_elementwise(&checker->builder, code, count, values));
    result.names = names;
    result.needs = needs;
    result.adapts = adapts && type == TYPE_I64 && result.value->type == TYPE_I64 && code != OP_DIV && code != OP_MOD;
    return result;
}

// ---------------------------------------------------------------------------------------------- arms and branches left out

// The IR of a branch that has() rules out goes to a region that nothing refers to.
struct dead_region dead_enter(struct checker *checker) {
    struct dead_region around = {checker->builder.region, checker->builder.before, 0, checker->assignment_count,
                                 checker->store_count};
    if (checker->kernel) {
        around.axis_count = checker->kernel->axis_count;
        struct ir_op *owner = ir_op_new(&checker->builder, OP_IF, 0, 0, 1);
        owner->parent = checker->builder.region;
        checker->builder.region = owner->regions[0];
        checker->builder.before = NULL;
    }
    checker->dead++;
    return around;
}

void dead_leave(struct checker *checker, struct dead_region around) {
    checker->dead--;
    checker->builder.region = around.region;
    checker->builder.before = around.before;
    checker->assignment_count = around.assignment_count;
    checker->store_count = around.store_count;
    if (checker->kernel)
        checker->kernel->axis_count = around.axis_count;
}

static struct ir_value *conjunction(struct checker *checker, struct guard *guard) {
    if (guard->conjunction)
        return guard->conjunction;
    struct ir_value *around = guard->outer ? conjunction(checker, guard->outer) : NULL;
    struct ir_value *own = guard->negated ? ir_unary(&checker->builder, OP_LNOT, guard->condition) : guard->condition;
    guard->conjunction = around ? ir_binary(&checker->builder, OP_LAND, around, own) : own;
    return guard->conjunction;
}

// In a dead branch nothing is needed, and what is built there can't be kept for later loads.
struct ir_value *check_predicate(struct checker *checker) {
    return checker->guard && !checker->dead ? conjunction(checker, checker->guard) : NULL;
}

static struct operand check_guarded(struct checker *checker, struct ir_value *condition, bool negated,
                                    const struct ast_expr *expr) {
    struct guard guard = {.condition = condition, .negated = negated, .outer = checker->guard};
    checker->guard = &guard;
    struct operand result = check_expr(checker, expr);
    checker->guard = guard.outer;
    return result;
}

static void check_dead_expr(struct checker *checker, const struct ast_expr *expr) {
    struct dead_region around = dead_enter(checker);
    check_expr(checker, expr);
    dead_leave(checker, around);
}

struct operand check_condition(struct checker *checker, const struct ast_expr *expr, const char *what) {
    struct operand condition = check_expr(checker, expr);
    if (condition.kind == OPERAND_ERROR || operand_kind(&condition) == KIND_BOOL)
        return condition;
    struct diagnostic *entry = check_error(checker, "E0206", expr->span, "%s is a bool, and this is %s", what,
                                           check_type_text(checker, &condition));
    entry->help = is_literal(&condition) ? "write `true` or `false`"
                                         : check_printf(checker, "compare it: `%s != 0`", check_text(checker, expr->span));
    return operand_error(expr->span);
}

static struct operand choose(struct checker *checker, struct operand condition, struct operand yes, struct operand no) {
    struct operand arms[2] = {yes, no};
    enum kind kind = check_meet(checker, 2, arms, "a choice");
    if (kind == KIND_NONE || condition.kind == OPERAND_ERROR)
        return operand_error(checker->builder.span);
    struct operand all[3] = {condition, yes, no};
    return check_elementwise(checker, OP_SELECT, check_wider_type(2, arms, kind), 3, all);
}

struct operand check_choice(struct checker *checker, const struct ast_expr *condition, const struct ast_expr *yes,
                            const struct ast_expr *no) {
    struct span span = checker->builder.span;
    struct operand chosen = check_condition(checker, condition, "the condition");
    if (chosen.kind == OPERAND_BOOL) {
        struct operand result = check_expr(checker, chosen.integer ? yes : no);
        check_dead_expr(checker, chosen.integer ? no : yes);
        return result;
    }
    if (chosen.kind == OPERAND_ERROR) {
        check_expr(checker, yes);
        check_expr(checker, no);
        return chosen;
    }
    struct operand arms[2];
    arms[0] = check_guarded(checker, chosen.value, false, yes);
    arms[1] = check_guarded(checker, chosen.value, true, no);
    checker->builder.span = span;
    return choose(checker, chosen, arms[0], arms[1]);
}

// ---------------------------------------------------------------------------------------------- operators

static enum ir_opcode opcode_of(enum ast_operator op) {
    static const enum ir_opcode codes[] = {
        [OPERATOR_ADD] = OP_ADD,   [OPERATOR_SUB] = OP_SUB,   [OPERATOR_MUL] = OP_MUL, [OPERATOR_DIV] = OP_DIV,
        [OPERATOR_MOD] = OP_MOD,   [OPERATOR_AND] = OP_AND,   [OPERATOR_OR] = OP_OR,   [OPERATOR_XOR] = OP_XOR,
        [OPERATOR_SHL] = OP_SHL,   [OPERATOR_SHR] = OP_SHR,   [OPERATOR_LAND] = OP_LAND, [OPERATOR_LOR] = OP_LOR,
        [OPERATOR_EQ] = OP_EQ,     [OPERATOR_NE] = OP_NE,     [OPERATOR_LT] = OP_LT,   [OPERATOR_LE] = OP_LE,
        [OPERATOR_GT] = OP_GT,     [OPERATOR_GE] = OP_GE,     [OPERATOR_NEG] = OP_NEG, [OPERATOR_NOT] = OP_NOT,
        [OPERATOR_LNOT] = OP_LNOT,
    };
    return codes[op];
}

static bool kind_allowed(enum ast_operator op, enum kind kind) {
    if (op <= OPERATOR_MOD || op == OPERATOR_NEG)
        return kind != KIND_BOOL;
    if (op <= OPERATOR_XOR)
        return kind != KIND_FLOAT;
    if (op == OPERATOR_SHL || op == OPERATOR_SHR || op == OPERATOR_NOT)
        return kind == KIND_INTEGER;
    if (op == OPERATOR_LAND || op == OPERATOR_LOR || op == OPERATOR_LNOT)
        return kind == KIND_BOOL;
    return op == OPERATOR_EQ || op == OPERATOR_NE || kind != KIND_BOOL;
}

static void report_operator(struct checker *checker, enum ast_operator op, const struct operand *culprit) {
    enum kind kind = operand_kind(culprit);
    const char *text = check_text(checker, culprit->span);
    struct diagnostic *entry = check_error(checker, "E0207", culprit->span, "`%s` can't be applied to %s",
                                           ast_operator_text(op), check_type_text(checker, culprit));
    if (kind == KIND_BOOL && op == OPERATOR_NOT)
        entry->help = check_printf(checker, "of bools it is `!%s`", text);
    else if (kind == KIND_BOOL)
        entry->help = check_printf(checker, "convert the bool: `i64(%s)`, or choose: `%s ? 1 : 0`", text, text);
    else if (op == OPERATOR_LAND || op == OPERATOR_LOR || op == OPERATOR_LNOT)
        entry->help = check_printf(checker, "it joins bools: compare, `%s != 0`", text);
    else
        entry->help = check_printf(checker, "it is for integers: convert, `i64(%s)`", text);
}

// An operand that the operator takes in no company says more than that the two don't fit.
static bool check_each_kind(struct checker *checker, enum ast_operator op, const struct operand *operands) {
    for (int i = 0; i < 2; i++) {
        if (operands[i].kind == OPERAND_ERROR)
            return false;
    }
    for (int i = 0; i < 2; i++) {
        if (kind_allowed(op, operand_kind(&operands[i])))
            continue;
        report_operator(checker, op, &operands[i]);
        return false;
    }
    return true;
}

struct operand check_binary(struct checker *checker, enum ast_operator op, struct operand a, struct operand b) {
    struct operand both[2] = {a, b};
    struct operand result;
    if (!check_each_kind(checker, op, both))
        return operand_error(checker->builder.span);
    const char *what = check_printf(checker, "`%s`", ast_operator_text(op));
    enum kind kind = check_meet(checker, 2, both, what);
    if (kind == KIND_NONE)
        return operand_error(checker->builder.span);
    if (is_literal(&a) && is_literal(&b) && fold_binary(checker, op, &a, &b, &result))
        return result;
    return check_elementwise(checker, opcode_of(op), check_computing_type(2, both, kind), 2, both);
}

static struct operand check_unary(struct checker *checker, const struct ast_expr *expr) {
    const struct ast_expr *inner = expr->args.items[0];
    // The least i64 can only be written as a negation of what doesn't fit.
    if (expr->op == OPERATOR_NEG && inner->kind == EXPR_INTEGER && inner->integer == INT64_MIN)
        return operand_integer(INT64_MIN);
    struct operand a = check_expr(checker, inner), result;
    checker->builder.span = expr->span;
    if (a.kind == OPERAND_ERROR)
        return a;
    if (!kind_allowed(expr->op, operand_kind(&a))) {
        report_operator(checker, expr->op, &a);
        return operand_error(expr->span);
    }
    if (fold_unary(checker, expr->op, &a, &result))
        return result;
    return check_elementwise(checker, opcode_of(expr->op), check_computing_type(1, &a, operand_kind(&a)), 1, &a);
}

// && and ||: the loads of the right side happen only where it matters.
static struct operand check_logic(struct checker *checker, const struct ast_expr *expr) {
    bool both = expr->op == OPERATOR_LAND;
    const char *what = both ? "the operand of `&&`" : "the operand of `||`";
    struct operand a = check_condition(checker, expr->args.items[0], what);
    if (a.kind == OPERAND_BOOL && a.integer == !both) {
        check_dead_expr(checker, expr->args.items[1]);
        return a;
    }
    struct guard guard = {.condition = a.value, .negated = !both, .outer = checker->guard};
    if (a.kind == OPERAND_VALUE)
        checker->guard = &guard;
    struct operand b = check_condition(checker, expr->args.items[1], what);
    checker->guard = guard.outer;
    checker->builder.span = expr->span;
    if (a.kind == OPERAND_ERROR || b.kind == OPERAND_ERROR)
        return operand_error(expr->span);
    if (a.kind == OPERAND_BOOL)
        return b;
    if (b.kind == OPERAND_BOOL)
        return b.integer == both ? a : b;
    struct operand operands[2] = {a, b};
    return check_elementwise(checker, opcode_of(expr->op), TYPE_BOOL, 2, operands);
}

static struct operand check_operator(struct checker *checker, const struct ast_expr *expr) {
    if (expr->op == OPERATOR_LAND || expr->op == OPERATOR_LOR)
        return check_logic(checker, expr);
    struct operand a = check_expr(checker, expr->args.items[0]);
    struct operand b = check_expr(checker, expr->args.items[1]);
    checker->builder.span = expr->span;
    return check_binary(checker, expr->op, a, b);
}

// ---------------------------------------------------------------------------------------------- names

// A dimension that only a parameter left out would tell.
static struct operand dim_operand(struct checker *checker, struct symbol *symbol, struct span span) {
    if (symbol->index >= 0 || checker->dead)
        return operand_value(scope_dim(checker, symbol));
    struct diagnostic *entry = check_error(checker, "E0217", span, "`%s` is known only from a parameter that may be left out",
                                           symbol->name.text);
    entry->help = "name it only where `has(…)` holds for that parameter, or make it known from another";
    entry->note_span = symbol->name.span;
    entry->note = "learnt here";
    return operand_error(span);
}

static struct operand symbol_operand(struct checker *checker, struct symbol *symbol, struct span span) {
    struct operand result = operand_error(span);
    switch (symbol->kind) {
    case SYMBOL_LET:
    case SYMBOL_RANGE:
        return symbol->operand;
    case SYMBOL_VAR:
        return operand_value(symbol->value);
    case SYMBOL_SCALAR:
        return operand_value(scope_scalar(checker, symbol));
    case SYMBOL_DIM:
        return dim_operand(checker, symbol, span);
    case SYMBOL_AXIS:
        result = operand_value(scope_index(checker, symbol));
        result.names = AXIS_BIT(symbol->index);
        result.needs = checker->kernel->axes[symbol->index].parents;
        return result;
    default:
        break;
    }
    const struct ir_param *param = &checker->kernel->params[symbol->index];
    struct diagnostic *entry =
        check_error(checker, "E0208", span, "`%s` is a whole tensor; a value is needed here", symbol->name.text);
    entry->help = check_printf(checker, "load an element: `%s[%s]`", symbol->name.text, param->rank > 1 ? "i, j" : "i");
    return result;
}

static struct operand check_name(struct checker *checker, struct ast_name name) {
    const struct expansion *expansion = checker->expansion;
    if (expansion) {
        const struct ast_names *params = &expansion->item->ast->params;
        for (int i = 0; i < params->count; i++) {
            if (!strcmp(params->items[i].text, name.text))
                return expansion->arguments[i];
        }
    } else {
        struct symbol *symbol = scope_find(checker, name.text);
        if (symbol) {
            symbol->used = true;
            return symbol->broken ? operand_error(name.span) : symbol_operand(checker, symbol, name.span);
        }
    }
    struct item *item = item_find(checker, expansion ? expansion->item->file : checker->file, name.text, ITEM_CONST);
    if (item)
        return item_constant(checker, item, name.span);
    check_unknown_name(checker, name, checker->constant ? "constant" : "value");
    return operand_error(name.span);
}

// ---------------------------------------------------------------------------------------------- loads

static const char *shape_help(struct checker *checker, const struct symbol *symbol) {
    const struct ir_param *param = &checker->kernel->params[symbol->index];
    const char *text = "";
    for (int i = 0; i < param->rank; i++)
        text = check_printf(checker, "%s%s%s", text, i ? ", " : "", param->extent_text[i]);
    return check_printf(checker, "it is declared as `%s[%s]`", symbol->name.text, text);
}

static const struct symbol *accessed_tensor(struct checker *checker, const struct ast_expr *element) {
    struct ast_name name = element->name;
    struct symbol *symbol = checker->expansion ? NULL : scope_find(checker, name.text);
    if (checker->expansion || checker->constant) {
        struct diagnostic *entry = check_error(checker, "E0216", element->span, "a `%s` can't load from a tensor",
                                               checker->constant ? "const" : "fn");
        entry->help = "a `fn` is element-wise: load first, and hand the value over";
        return NULL;
    }
    if (!symbol) {
        if (is_reduction_name(name.text))
            check_error(checker, "E0204", element->span, "`%s[…]` reduces something: write `%s[…](e)`", name.text, name.text);
        else
            check_unknown_name(checker, name, "tensor");
        return NULL;
    }
    symbol->used = true;
    if (symbol->broken || symbol->kind == SYMBOL_TENSOR)
        return symbol->broken ? NULL : symbol;
    struct diagnostic *entry = check_error(checker, "E0224", element->span, "`%s` is no tensor and has no elements", name.text);
    entry->help = symbol->kind == SYMBOL_VAR || symbol->kind == SYMBOL_LET
                      ? check_printf(checker, "its value at this point is just `%s`", name.text)
                      : NULL;
    return NULL;
}

static bool check_present(struct checker *checker, const struct symbol *symbol, struct span span) {
    const struct ir_param *param = &checker->kernel->params[symbol->index];
    if (!param->optional || param->present || checker->dead)
        return true;
    struct diagnostic *entry = check_error(checker, "E0217", span, "`%s` may be left out, and then there is nothing to name",
                                           param->name);
    entry->help = check_printf(checker, "name it only where it is known to be there: `if has(%s) { … }` or `has(%s) ? … : …`",
                               param->name, param->name);
    return false;
}

static void report_missing_parents(struct checker *checker, const struct symbol *symbol, const struct ast_expr *element,
                                   axes_t missing, axes_t bare) {
    const char *child = check_axes_list(checker, bare);
    struct diagnostic *entry =
        check_error(checker, "E0304", element->span, "%s belongs to a row of %s, and nothing in this index names %s",
                    check_axes_text(checker, bare), check_axes_text(checker, missing), check_axes_text(checker, missing));
    const char *name = symbol->name.text;
    entry->help = check_printf(checker,
                               "index with the row as well, `%s[%s, %s]`, or from where it starts, `%s[start + %s]`; "
                               "for a table that all rows share write `%s[%s.index]`",
                               name, check_axes_list(checker, missing), child, name, child, name, child);
}

// The jagged axes among `axes` that have a parent in `missing`.
static axes_t children_of(const struct checker *checker, axes_t axes, axes_t missing) {
    axes_t children = 0;
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if ((axes & AXIS_BIT(axis)) && (checker->kernel->axes[axis].parents & missing))
            children |= AXIS_BIT(axis);
    }
    return children;
}

static bool check_index(struct checker *checker, const struct ast_expr *expr, struct ir_value **index, axes_t *names,
                        axes_t *needs) {
    struct operand operand = check_expr(checker, expr);
    checker->builder.span = expr->span;
    if (operand.kind == OPERAND_ERROR)
        return false;
    if (operand_kind(&operand) != KIND_INTEGER) {
        struct diagnostic *entry =
            check_error(checker, "E0207", expr->span, "an index is an integer, and this is %s", check_type_text(checker, &operand));
        entry->help = check_printf(checker, "convert it: `i64(%s)`", check_text(checker, expr->span));
        return false;
    }
    *index = check_value(checker, TYPE_I64, &operand);
    *names |= operand.names;
    *needs |= operand.needs;
    return true;
}

bool check_access(struct checker *checker, const struct ast_expr *element, struct access *access) {
    *access = (struct access){.tensor = accessed_tensor(checker, element)};
    axes_t needs = 0;
    bool good = access->tensor != NULL;
    int rank = good ? checker->kernel->params[access->tensor->index].rank : -1;
    for (int i = 0; i < element->args.count; i++) {
        struct ir_value *index = NULL;
        good = check_index(checker, element->args.items[i], &index, &access->names, &needs) && good;
        if (i < IR_MAX_RANK)
            access->indices[i] = index;
        access->axes |= index ? index->axes : 0;
    }
    checker->builder.span = element->span;
    if (rank >= 0 && rank != element->args.count) {
        struct diagnostic *entry =
            check_error(checker, "E0204", element->span, "`%s` has %d dimension%s, and here it gets %d ind%s", element->name.text,
                        rank, rank == 1 ? "" : "s", element->args.count, element->args.count == 1 ? "ex" : "ices");
        entry->help = shape_help(checker, access->tensor);
        return false;
    }
    if (!good || !check_present(checker, access->tensor, element->span))
        return false;
    axes_t missing = needs & ~access->names;
    if (missing)
        report_missing_parents(checker, access->tensor, element, missing, children_of(checker, access->names, missing));
    return !missing;
}

static struct operand check_element(struct checker *checker, const struct ast_expr *expr) {
    struct access access;
    if (!check_access(checker, expr, &access))
        return operand_error(expr->span);
    struct ir_value *predicate = check_predicate(checker);
    struct operand result = operand_value(ir_load(&checker->builder, access.tensor->index, access.indices, predicate));
    result.names = access.names;
    return result;
}

// ---------------------------------------------------------------------------------------------- every expression

static struct operand check_integer(struct checker *checker, const struct ast_expr *expr) {
    if (!expr->overflow)
        return operand_integer(expr->integer);
    struct diagnostic *entry = check_error(checker, "E0222", expr->span, "this integer doesn't fit in i64");
    entry->help = "the greatest is 9223372036854775807; write a floating literal for more";
    return operand_error(expr->span);
}

static struct operand check_node(struct checker *checker, const struct ast_expr *expr) {
    switch (expr->kind) {
    case EXPR_NAME:
        return check_name(checker, expr->name);
    case EXPR_INTEGER:
        return check_integer(checker, expr);
    case EXPR_FLOAT:
        return operand_float(expr->number);
    case EXPR_BOOL:
        return operand_bool(expr->integer != 0);
    case EXPR_UNARY:
        return check_unary(checker, expr);
    case EXPR_BINARY:
        return check_operator(checker, expr);
    case EXPR_CONDITIONAL:
        return check_choice(checker, expr->args.items[0], expr->args.items[1], expr->args.items[2]);
    case EXPR_CALL:
        return check_call(checker, expr);
    case EXPR_ACCUM:
        return check_accum(checker, expr);
    case EXPR_ELEMENT:
        return check_element(checker, expr);
    case EXPR_REDUCTION:
        return check_reduction(checker, expr);
    case EXPR_MEMBER:
        return check_member(checker, expr);
    case EXPR_STRING:
        check_error(checker, "E0208", expr->span, "a text is no value")->help =
            "texts stand in `assert(c, \"…\")` and `print(\"…\", e)` only";
        break;
    default:
        break;
    }
    return operand_error(expr->span);
}

static bool is_too_much(struct checker *checker, const struct ast_expr *expr) {
    bool deep = checker->depth >= DEPTH_MOST;
    if (!deep && (!checker->kernel || checker->kernel->value_count < VALUES_MOST))
        return false;
    check_error(checker, "E0225", expr->span, deep ? "this expands to an expression that is nested too deeply"
                                                   : "this kernel expands to more than half a million operations")
        ->help = "functions that call functions multiply: give parts a name with `let`";
    checker->flooded = true;
    return true;
}

struct operand check_expr(struct checker *checker, const struct ast_expr *expr) {
    if (checker->flooded || is_too_much(checker, expr))
        return operand_error(expr->span);
    checker->depth++;
    checker->builder.span = expr->span;
    struct operand result = check_node(checker, expr);
    checker->depth--;
    result.span = expr->span;
    return result;
}
