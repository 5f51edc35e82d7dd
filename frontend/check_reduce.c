// SPDX-License-Identifier: Apache-2.0
// What runs over axes: reductions, scans, dot, and an axis's members. In: NAME[axes](operand). Out: an operand.
// The one idea: a table of names says what each combines and which kinds it takes; the axes are checked for all alike.
#include <string.h>

#include "frontend/check.h"

enum form { FORM_REDUCE, FORM_SCAN, FORM_MEAN, FORM_DOT };

struct named_reduction {
    const char *name;
    enum form form;
    enum ir_reduction reduction;
    bool logical;   // of bools, else of numbers
    bool one_axis;  // at a time
};

static const struct named_reduction table[] = {
    {"sum", FORM_REDUCE, RED_SUM, false, false},       {"prod", FORM_REDUCE, RED_PROD, false, false},
    {"max", FORM_REDUCE, RED_MAX, false, false},       {"min", FORM_REDUCE, RED_MIN, false, false},
    {"any", FORM_REDUCE, RED_ANY, true, false},        {"all", FORM_REDUCE, RED_ALL, true, false},
    {"argmax", FORM_REDUCE, RED_ARGMAX, false, true},  {"argmin", FORM_REDUCE, RED_ARGMIN, false, true},
    {"mean", FORM_MEAN, RED_SUM, false, false},        {"dot", FORM_DOT, RED_SUM, false, false},
    {"cumsum", FORM_SCAN, RED_SUM, false, true},       {"cumprod", FORM_SCAN, RED_PROD, false, true},
    {"cummax", FORM_SCAN, RED_MAX, false, true},       {"cummin", FORM_SCAN, RED_MIN, false, true},
};

static const struct named_reduction *find_reduction(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!strcmp(table[i].name, name))
            return &table[i];
    }
    return NULL;
}

bool is_reduction_name(const char *name) {
    return find_reduction(name) != NULL;
}

// ---------------------------------------------------------------------------------------------- the axes

static void report_no_axis(struct checker *checker, const struct ast_expr *expr, const struct symbol *symbol) {
    const char *text = check_text(checker, expr->span);
    if (expr->kind == EXPR_NAME && !symbol) {
        struct nearest nearest = {0};
        for (int i = 0; i < checker->symbol_count; i++) {
            if (checker->symbols[i]->kind == SYMBOL_AXIS)
                nearest_offer(&nearest, expr->name.text, checker->symbols[i]->name.text);
        }
        if (checker->gaps)
            return;
        struct diagnostic *entry = check_error(checker, "E0307", expr->span, "there is no axis `%s` here", text);
        entry->help = nearest.name ? check_printf(checker, "is `%s` meant?", nearest.name)
                                   : "an axis is the name of a loop around, or declared by `axis`";
        return;
    }
    struct diagnostic *entry = check_error(checker, "E0307", expr->span, "`%s` is no axis", text);
    if (symbol && symbol->kind == SYMBOL_RANGE)
        entry->help = check_printf(checker, "a loop over `range` has a number for its index; `for %s in tile(…)` makes an axis",
                                   text);
    else if (symbol && symbol->kind == SYMBOL_DIM)
        entry->help = check_printf(checker, "a dimension is a number; `axis %c = %s;` makes an axis of it",
                                   symbol->name.text[0] >= 'A' && symbol->name.text[0] <= 'Z' ? symbol->name.text[0] + 32 : 'd',
                                   text);
    else
        entry->help = "axes are named here: the loops around, and what `axis` declares";
}

static bool check_over(struct checker *checker, const struct ast_expr *expr, axes_t *over) {
    bool good = true;
    for (int i = 0; i < expr->over.count; i++) {
        const struct ast_expr *named = expr->over.items[i];
        struct symbol *symbol = named->kind == EXPR_NAME ? scope_find(checker, named->name.text) : NULL;
        if (symbol)
            symbol->used = true;
        if (symbol && symbol->broken)
            good = false;
        else if (symbol && symbol->kind == SYMBOL_AXIS)
            *over |= AXIS_BIT(symbol->index);
        else if (named->kind != EXPR_ERROR) {
            report_no_axis(checker, named, symbol);
            good = false;
        }
    }
    return good;
}

static bool check_one_axis(struct checker *checker, const struct ast_expr *expr, const struct named_reduction *named,
                           axes_t over) {
    if (!named->one_axis || !(over & (over - 1)))
        return true;
    struct diagnostic *entry = check_error(checker, "E0312", expr->span, "`%s` runs along one axis at a time", expr->name.text);
    entry->help = named->form == FORM_SCAN ? "scan along one axis, and sum over the other"
                                           : "find the position on one axis first, then on the other";
    return false;
}

// An arm is evaluated where its condition holds, but a reduction covers all active points: which is meant?
static bool check_arms(struct checker *checker, const struct ast_expr *expr, axes_t over) {
    for (const struct guard *guard = checker->guard; guard; guard = guard->outer) {
        axes_t common = guard->condition->axes & over;
        if (!common)
            continue;
        struct diagnostic *entry =
            check_error(checker, "E0310", expr->span, "this reduction over %s stands in an arm whose condition is on %s",
                        check_axes_text(checker, common), check_axes_text(checker, common));
        entry->help = check_printf(checker, "name it before: `let r = %s;`, or put the condition into what is reduced",
                                   check_text(checker, expr->span));
        return false;
    }
    return true;
}

static bool check_children(struct checker *checker, const struct ast_expr *expr, axes_t over, axes_t axes) {
    axes_t kept = 0;
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if ((axes & ~over & AXIS_BIT(axis)) && (checker->kernel->axes[axis].parents & over))
            kept |= AXIS_BIT(axis);
    }
    if (!kept)
        return true;
    struct diagnostic *entry =
        check_error(checker, "E0306", expr->span, "a value on %s can't be reduced over %s alone: %s has rows there",
                    check_axes_text(checker, kept), check_axes_text(checker, over), check_axes_text(checker, kept));
    entry->help = check_printf(checker,
                               "reduce both, `%s[%s](…)`; or add atomically into a place that %s names; or loop densely, "
                               "`tile(longest)` with an `if`",
                               expr->name.text, check_axes_list(checker, over | kept), check_axes_text(checker, kept));
    return false;
}

// ---------------------------------------------------------------------------------------------- reductions and scans

// Names of the result: what the operands name, and axes that come in from domains and conditions.
static struct operand reduced(struct ir_value *value, int count, const struct operand *operands, axes_t over) {
    struct operand result = operand_value(value);
    axes_t names = 0, axes = 0;
    for (int i = 0; i < count; i++) {
        names |= operands[i].names;
        axes |= operand_axes(&operands[i]);
    }
    result.names = ((names & ~over) | (value->axes & ~axes)) | (value->axes & over);
    return result;
}

static bool check_reduced_kind(struct checker *checker, const struct ast_expr *expr, const struct named_reduction *named,
                               const struct operand *operand) {
    bool truth = operand_kind(operand) == KIND_BOOL;
    if (truth == named->logical)
        return true;
    struct diagnostic *entry = check_error(checker, "E0207", operand->span, "`%s` is for %s, and this is %s", named->name,
                                           named->logical ? "bools" : "numbers", check_type_text(checker, operand));
    const char *text = check_text(checker, operand->span), *over = check_text(checker, expr->over.items[0]->span);
    if (named->logical)
        entry->help = check_printf(checker, "compare it: `%s[%s](%s != 0)`", named->name, over, text);
    else if (named->reduction == RED_MAX || named->reduction == RED_MIN)
        entry->help = check_printf(checker, "of bools it is `%s[%s](%s)`", named->reduction == RED_MAX ? "any" : "all", over, text);
    else
        entry->help = check_printf(checker, "to count, convert: `%s[%s](i64(%s))`", named->name, over, text);
    return false;
}

static struct ir_value *mean_count(struct checker *checker, axes_t over, axes_t axes, enum ir_type type) {
    struct ir_builder *builder = &checker->builder;
    struct ir_value *one = ir_broadcast(builder, over | axes, ir_integer(builder, TYPE_I64, 1));
    return ir_cast(builder, type, ir_reduce(builder, RED_SUM, over, one, NULL));
}

// Over full axes only: the sum, divided by the count of active points.
static struct operand check_mean(struct checker *checker, const struct ast_expr *expr, axes_t over,
                                 const struct operand *operand) {
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if (!(over & AXIS_BIT(axis)) || checker->kernel->axes[axis].kind == AXIS_FULL)
            continue;
        const char *name = checker->kernel->axes[axis].name, *text = check_text(checker, operand->span);
        struct diagnostic *entry =
            check_error(checker, "E0407", expr->span, "in a loop over `%s` this is the mean of one tile", name);
        entry->help = check_printf(checker, "sum up in a `var`, `total += sum[%s](%s)`, and divide by the count behind the loop",
                                   name, text);
        return operand_error(expr->span);
    }
    if (operand_kind(operand) != KIND_FLOAT && operand->kind != OPERAND_INTEGER) {
        check_error(checker, "E0207", operand->span, "`mean` is for floating values, and this is %s",
                    check_type_text(checker, operand))
            ->help = check_printf(checker, "convert it: `f32(%s)`", check_text(checker, operand->span));
        return operand_error(expr->span);
    }
    enum ir_type type = check_computing_type(1, operand, KIND_FLOAT);
    struct ir_value *value = check_value(checker, type, operand);
    struct ir_value *total = ir_reduce(&checker->builder, RED_SUM, over, value, NULL);
    struct ir_value *count = mean_count(checker, over, 0, type);
    return reduced(ir_binary(&checker->builder, OP_DIV, total, count), 1, operand, over);
}

static struct operand check_reduce(struct checker *checker, const struct ast_expr *expr, const struct named_reduction *named,
                                   axes_t over) {
    struct operand operand = check_expr(checker, expr->args.items[0]);
    checker->builder.span = expr->span;
    if (operand.kind == OPERAND_ERROR || !check_children(checker, expr, over, operand_axes(&operand)))
        return operand_error(expr->span);
    if (!check_reduced_kind(checker, expr, named, &operand))
        return operand_error(expr->span);
    if (named->form == FORM_MEAN)
        return check_mean(checker, expr, over, &operand);
    enum ir_type type = check_computing_type(1, &operand, operand_kind(&operand));
    struct ir_value *value = check_value(checker, type, &operand);
    struct ir_value *result;
    if (named->form == FORM_SCAN) {
        int axis = __builtin_ctzll(over);
        result = ir_scan(&checker->builder, named->reduction, axis, value, NULL);
        if (!checker->dead)
            checker->kernel->axes[axis].ordered = true;
    } else {
        result = ir_reduce(&checker->builder, named->reduction, over, value, NULL);
    }
    struct operand answer = reduced(result, 1, &operand, over);
    bool literal = operand.kind == OPERAND_INTEGER || operand.adapts;
    answer.adapts = literal && result->type == TYPE_I64 && named->reduction != RED_ARGMAX && named->reduction != RED_ARGMIN;
    return answer;
}

// ---------------------------------------------------------------------------------------------- dot

static struct operand check_dot(struct checker *checker, const struct ast_expr *expr, axes_t over) {
    struct operand operands[2];
    for (int i = 0; i < 2; i++)
        operands[i] = check_expr(checker, expr->args.items[i]);
    checker->builder.span = expr->span;
    enum kind kind = check_meet(checker, 2, operands, "`dot`");
    if (kind == KIND_NONE)
        return operand_error(expr->span);
    if (kind == KIND_BOOL) {
        check_error(checker, "E0207", expr->span, "`dot` is for numbers, and these are bools")->help =
            "convert them, or count with `sum`";
        return operand_error(expr->span);
    }
    if (!check_children(checker, expr, over, operand_axes(&operands[0]) | operand_axes(&operands[1])))
        return operand_error(expr->span);
    enum ir_type type = check_wider_type(2, operands, kind);
    struct ir_value *a = check_value(checker, type, &operands[0]), *b = check_value(checker, type, &operands[1]);
    return reduced(ir_dot(&checker->builder, over, a, b, NULL), 2, operands, over);
}

// ---------------------------------------------------------------------------------------------- any of them

static struct operand check_operands_only(struct checker *checker, const struct ast_expr *expr) {
    for (int i = 0; i < expr->args.count; i++)
        check_expr(checker, expr->args.items[i]);
    return operand_error(expr->span);
}

static void report_unknown_reduction(struct checker *checker, const struct ast_expr *expr) {
    const char *name = expr->name.text;
    struct nearest nearest = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        nearest_offer(&nearest, name, table[i].name);
    struct diagnostic *entry = check_error(checker, "E0203", expr->name.span, "there is no reduction `%s`", name);
    if (nearest.name)
        entry->help = check_printf(checker, "is `%s` meant?", nearest.name);
    else if (is_function_name(name) || check_type_named(checker, name) != TYPE_NONE)
        entry->help = check_printf(checker, "`%s` is element-wise and names no axes: `%s(…)`", name, name);
    else
        entry->help = "there are sum prod max min any all argmax argmin mean, cumsum cumprod cummax cummin, and dot";
}

struct operand check_reduction(struct checker *checker, const struct ast_expr *expr) {
    const struct named_reduction *named = find_reduction(expr->name.text);
    if (!named) {
        report_unknown_reduction(checker, expr);
        return check_operands_only(checker, expr);
    }
    if (checker->expansion || checker->constant) {
        check_error(checker, "E0216", expr->span, "a `%s` can't run over axes", checker->constant ? "const" : "fn")->help =
            "a `fn` is element-wise: reduce first, and hand the value over";
        return operand_error(expr->span);
    }
    axes_t over = 0;
    bool good = check_over(checker, expr, &over);
    int wanted = named->form == FORM_DOT ? 2 : 1;
    if (expr->args.count != wanted) {
        check_error(checker, "E0204", expr->span, "`%s` takes %d operand%s, and here it gets %d", named->name, wanted,
                    wanted == 1 ? "" : "s", expr->args.count);
        good = false;
    }
    good = good && check_one_axis(checker, expr, named, over) && check_arms(checker, expr, over);
    if (!good)
        return check_operands_only(checker, expr);
    return named->form == FORM_DOT ? check_dot(checker, expr, over) : check_reduce(checker, expr, named, over);
}

// ---------------------------------------------------------------------------------------------- members

// The one tile of a full axis is all of it.
static struct operand full_member(struct checker *checker, enum ir_opcode code, int axis) {
    const struct ir_axis *full = &checker->kernel->axes[axis];
    int64_t value = code == OP_END || code == OP_SIZE ? full->hi->def->integer : 0;
    return operand_value(ir_integer(&checker->builder, TYPE_I64, value));
}

static enum ir_opcode member_code(const char *member) {
    static const struct {
        const char *name;
        enum ir_opcode code;
    } members[] = {{"index", OP_INDEX}, {"begin", OP_BEGIN}, {"end", OP_END}, {"size", OP_SIZE}, {"id", OP_ID}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!strcmp(members[i].name, member))
            return members[i].code;
    }
    return OP_COUNT;
}

static struct operand axis_member(struct checker *checker, struct symbol *symbol, enum ir_opcode code) {
    struct ir_axis *axis = &checker->kernel->axes[symbol->index];
    if (code == OP_INDEX) {
        struct operand index = operand_value(scope_index(checker, symbol));
        index.names = AXIS_BIT(symbol->index);
        return index;
    }
    if (axis->kind == AXIS_FULL)
        return full_member(checker, code, symbol->index);
    if (code != OP_SIZE && !checker->dead)
        axis->ordered = true;
    return operand_value(ir_axis_value(&checker->builder, code, symbol->index));
}

struct operand check_member(struct checker *checker, const struct ast_expr *expr) {
    struct symbol *symbol = checker->expansion ? NULL : scope_find(checker, expr->name.text);
    enum ir_opcode code = member_code(expr->member.text);
    if (!symbol) {
        check_unknown_name(checker, expr->name, "axis");
        return operand_error(expr->span);
    }
    symbol->used = true;
    if (symbol->broken)
        return operand_error(expr->span);
    if (symbol->kind != SYMBOL_AXIS) {
        check_error(checker, "E0223", expr->span, "`%s` is no axis, and only axes have members", expr->name.text);
        return operand_error(expr->span);
    }
    if (code == OP_COUNT) {
        check_error(checker, "E0223", expr->member.span, "an axis has no member `%s`", expr->member.text)->help =
            "there are `index`, and `begin`, `end`, `size` and `id` of the present tile";
        return operand_error(expr->span);
    }
    return axis_member(checker, symbol, code);
}
