// SPDX-License-Identifier: Apache-2.0
// Calls: conversions, the language's functions, the file's functions, has(). In: a call. Out: an operand.
// The one idea: a function of the language is a row of the op table, whose rule says which kinds it takes; a function
// of the file is expanded, its parameters standing for the operands of the call.
#include <math.h>
#include <string.h>

#include "frontend/check.h"

bool is_function_name(const char *name) {
    return ir_function_named(name) != OP_COUNT || !strcmp(name, "where") || !strcmp(name, "has");
}

bool is_statement_name(const char *name) {
    return !strncmp(name, "atomic_", 7) || !strcmp(name, "assert") || !strcmp(name, "print");
}

static bool count_is(struct checker *checker, const struct ast_expr *expr, int wanted) {
    if (expr->args.count == wanted)
        return true;
    check_error(checker, "E0204", expr->span, "`%s` takes %d argument%s, and here it gets %d", expr->name.text, wanted,
                wanted == 1 ? "" : "s", expr->args.count);
    return false;
}

// The arguments of a call that is in error: checked for their own sake.
static struct operand check_arguments_only(struct checker *checker, const struct ast_expr *expr) {
    for (int i = 0; i < expr->args.count; i++) {
        if (expr->args.items[i]->kind != EXPR_STRING)
            check_expr(checker, expr->args.items[i]);
    }
    return operand_error(expr->span);
}

// ---------------------------------------------------------------------------------------------- conversions

static struct operand convert_literal(struct checker *checker, enum ir_type type, const struct operand *literal) {
    double number = literal->kind == OPERAND_FLOAT ? literal->number : (double)literal->integer;
    if (ir_type_is_float(type))
        return operand_value(ir_number(&checker->builder, type, number));
    int64_t integer = literal->kind == OPERAND_FLOAT ? ir_integer_of(type, number) : ir_wrap_to(type, literal->integer);
    if (type == TYPE_BOOL)
        integer = literal->kind == OPERAND_FLOAT ? isnan(number) || number != 0 : literal->integer != 0;
    return operand_value(ir_integer(&checker->builder, type, integer));
}

// To bool is a comparison: whether it isn't 0.
static struct ir_value *convert_to_bool(struct checker *checker, struct ir_value *value) {
    enum ir_type type = ir_type_compute(value->type);
    if (value->type == TYPE_BOOL)
        return value;
    struct ir_value *zero = type == TYPE_I64 ? ir_integer(&checker->builder, type, 0) : ir_number(&checker->builder, type, 0);
    return ir_binary(&checker->builder, OP_NE, ir_cast(&checker->builder, type, value), zero);
}

static struct operand convert(struct checker *checker, enum ir_type type, const struct ast_expr *expr) {
    if (expr->args.count != 1) {
        check_error(checker, "E0204", expr->span, "a conversion takes one value, and here it gets %d", expr->args.count);
        return check_arguments_only(checker, expr);
    }
    struct operand operand = check_expr(checker, expr->args.items[0]);
    checker->builder.span = expr->span;
    if (operand.kind == OPERAND_ERROR)
        return operand;
    if (checker->constant) {
        check_error(checker, "E0214", expr->span, "a `const` is a value of literals, which has no type as yet")->help =
            "convert where the constant is used";
        return operand_error(expr->span);
    }
    if (operand.kind != OPERAND_VALUE)
        return convert_literal(checker, type, &operand);
    struct operand result = operand_value(type == TYPE_BOOL ? convert_to_bool(checker, operand.value)
                                                            : ir_cast(&checker->builder, type, operand.value));
    result.names = operand.names;
    result.needs = operand.needs;
    return result;
}

struct operand check_accum(struct checker *checker, const struct ast_expr *expr) {
    struct ast_type written = {.accum = true, .name = expr->name};
    enum ir_type type = check_type(checker, &written);
    return type == TYPE_NONE ? check_arguments_only(checker, expr) : convert(checker, type, expr);
}

// ---------------------------------------------------------------------------------------------- functions of the language

static const char *function_wants(enum ir_rule rule) {
    return rule == RULE_INTEGER ? "integers" : rule == RULE_FLOAT || rule == RULE_TEST ? "floating values" : "numbers";
}

static bool function_takes(enum ir_rule rule, enum kind kind) {
    if (rule == RULE_INTEGER)
        return kind == KIND_INTEGER;
    return kind == KIND_FLOAT || (kind == KIND_INTEGER && rule != RULE_FLOAT && rule != RULE_TEST);
}

static void report_function(struct checker *checker, const struct ast_expr *expr, enum ir_rule rule,
                            const struct operand *culprit) {
    struct diagnostic *entry = check_error(checker, "E0207", culprit->span, "`%s` is for %s, and this is %s", expr->name.text,
                                           function_wants(rule), check_type_text(checker, culprit));
    const char *text = check_text(checker, culprit->span);
    entry->help = check_printf(checker, "convert it: `%s(%s)`",
                               rule == RULE_FLOAT || rule == RULE_TEST ? "f32" : "i64", text);
}

// Integer literals and counts take part as floating values where a function is for those.
static enum kind function_kind(enum ir_rule rule, enum kind kind, int count, const struct operand *operands) {
    for (int i = 0; i < count; i++) {
        if (operands[i].kind != OPERAND_INTEGER && !operands[i].adapts)
            return kind;
    }
    return rule == RULE_FLOAT || rule == RULE_TEST ? KIND_FLOAT : kind;
}

static struct operand apply_function(struct checker *checker, const struct ast_expr *expr, enum ir_opcode code, int count,
                                     const struct operand *operands) {
    enum ir_rule rule = ir_ops[code].rule;
    enum kind kind = check_meet(checker, count, operands, check_printf(checker, "`%s`", expr->name.text));
    if (kind == KIND_NONE)
        return operand_error(expr->span);
    kind = kind == KIND_INTEGER ? function_kind(rule, kind, count, operands) : kind;
    if (!function_takes(rule, kind)) {
        report_function(checker, expr, rule, &operands[0]);
        return operand_error(expr->span);
    }
    bool literal = true;
    for (int i = 0; i < count; i++)
        literal = literal && is_literal(&operands[i]);
    if (literal)
        return fold_function(code, kind, count, operands);
    bool chooses = rule == RULE_SAME;
    enum ir_type type = chooses ? check_wider_type(count, operands, kind) : check_computing_type(count, operands, kind);
    return check_elementwise(checker, code, type, count, operands);
}

// min and max of two or more, from the left.
static struct operand check_extreme(struct checker *checker, const struct ast_expr *expr, enum ir_opcode code) {
    if (expr->args.count < 2) {
        struct diagnostic *entry = check_error(checker, "E0204", expr->span, "`%s` takes two arguments or more, and here it gets %d",
                                               expr->name.text, expr->args.count);
        if (expr->args.count == 1)
            entry->help = check_printf(checker, "a reduction names its axis: `%s[…](%s)`", expr->name.text,
                                       check_text(checker, expr->args.items[0]->span));
        return check_arguments_only(checker, expr);
    }
    struct operand pair[2] = {check_expr(checker, expr->args.items[0])};
    for (int i = 1; i < expr->args.count; i++) {
        pair[1] = check_expr(checker, expr->args.items[i]);
        checker->builder.span = expr->span;
        pair[0] = apply_function(checker, expr, code, 2, pair);
        pair[0].span = expr->span;
    }
    return pair[0];
}

static struct operand check_function(struct checker *checker, const struct ast_expr *expr, enum ir_opcode code) {
    if (code == OP_MIN || code == OP_MAX)
        return check_extreme(checker, expr, code);
    int arity = ir_ops[code].arity;
    if (!count_is(checker, expr, arity))
        return check_arguments_only(checker, expr);
    struct operand operands[3];
    for (int i = 0; i < arity && i < 3; i++)
        operands[i] = check_expr(checker, expr->args.items[i]);
    checker->builder.span = expr->span;
    return apply_function(checker, expr, code, arity, operands);
}

// ---------------------------------------------------------------------------------------------- has

static struct operand check_has(struct checker *checker, const struct ast_expr *expr) {
    if (!count_is(checker, expr, 1))
        return operand_error(expr->span);
    const struct ast_expr *asked = expr->args.items[0];
    struct symbol *symbol = asked->kind == EXPR_NAME && !checker->expansion ? scope_find(checker, asked->name.text) : NULL;
    if (symbol)
        symbol->used = true;
    if (symbol && symbol->broken)
        return operand_error(expr->span);
    bool optional = symbol && symbol->kind == SYMBOL_TENSOR && checker->kernel->params[symbol->index].optional;
    if (optional)
        return operand_bool(checker->kernel->params[symbol->index].present);
    struct diagnostic *entry =
        check_error(checker, "E0226", asked->span, "`has` asks for a tensor that may be left out, and this is none");
    if (symbol && symbol->kind == SYMBOL_TENSOR)
        entry->help = check_printf(checker, "a parameter that may be left out has a `?` behind its shape: `%s: T[…]?`",
                                   symbol->name.text);
    return operand_error(expr->span);
}

// ---------------------------------------------------------------------------------------------- functions of the file

static bool is_expanding(const struct checker *checker, const struct item *item) {
    for (const struct expansion *outer = checker->expansion; outer; outer = outer->outer) {
        if (outer->item == item)
            return true;
    }
    return false;
}

static struct operand expand(struct checker *checker, const struct ast_expr *expr, const struct item *item) {
    const struct ast_item *ast = item->ast;
    if (!count_is(checker, expr, ast->params.count))
        return check_arguments_only(checker, expr);
    if (is_expanding(checker, item)) {
        struct diagnostic *entry = check_error(checker, "E0215", expr->span, "`%s` is expanded within itself", expr->name.text);
        entry->help = "a `fn` is inlined, so it can't call itself, not even through others";
        return operand_error(expr->span);
    }
    struct operand *arguments = ARENA_ARRAY(checker->arena, struct operand, expr->args.count);
    for (int i = 0; i < expr->args.count; i++)
        arguments[i] = check_expr(checker, expr->args.items[i]);
    struct expansion expansion = {.item = item, .arguments = arguments, .call = expr->span, .outer = checker->expansion};
    checker->expansion = &expansion;
    struct operand result = check_expr(checker, ast->value);
    checker->expansion = expansion.outer;
    checker->builder.span = expr->span;
    result.span = expr->span;
    return result;
}

// ---------------------------------------------------------------------------------------------- any call

// What other languages have functions for.
static const char *foreign_function(const char *name) {
    static const char *const mends[][2] = {
        {"pow", "write a product, `x * x`, or `exp(y * log(x))` for an x above 0"},
        {"powf", "write a product, `x * x`, or `exp(y * log(x))` for an x above 0"},
        {"isinf", "write `abs(x) == inf`"},
        {"isfinite", "write `abs(x) < inf`"},
        {"len", "a dimension has a name: `x: f32[n]`, and then `n`"},
        {"range", "a loop is written `for t in range(n) { … }`"},
        {"exp10", "write `exp2(x * 3.321928094887362)`"},
        {"log10", "write `log2(x) * 0.3010299956639812`"},
        {"log1p", "write `log(1 + x)`"},
        {"expm1", "write `exp(x) - 1`"},
        {"sign", "write `where(x > 0, 1.0, where(x < 0, -1.0, 0.0))`"},
        {"tan", "write `sin(x) / cos(x)`"},
    };
    for (size_t i = 0; i < sizeof mends / sizeof *mends; i++)
        if (!strcmp(mends[i][0], name))
            return mends[i][1];
    return NULL;
}

static struct operand report_unknown_function(struct checker *checker, const struct ast_expr *expr) {
    const char *name = expr->name.text;
    if (is_statement_name(name)) {
        check_error(checker, "E0208", expr->span, "`%s` is a statement and gives no value", name);
        return check_arguments_only(checker, expr);
    }
    if (is_reduction_name(name)) {
        const char *text = expr->args.count ? "" : "e";
        for (int i = 0; i < expr->args.count; i++)
            text = check_printf(checker, "%s%s%s", text, i ? ", " : "", check_text(checker, expr->args.items[i]->span));
        check_error(checker, "E0204", expr->span, "`%s` is a reduction and names the axes that it runs over", name)->help =
            check_printf(checker, "write `%s[tk](%s)`, with the axis", name, text);
        return check_arguments_only(checker, expr);
    }
    struct nearest nearest = {0};
    for (int code = 0; code < OP_COUNT; code++) {
        if (*ir_ops[code].source && ir_function_named(ir_ops[code].source) == (enum ir_opcode)code)
            nearest_offer(&nearest, name, ir_ops[code].source);
    }
    const struct ast_file *file = checker->expansion ? checker->expansion->item->file : checker->file;
    item_offer(checker, file, ITEM_FN, name, &nearest);
    struct diagnostic *entry = check_error(checker, "E0203", expr->name.span, "there is no function or type `%s`", name);
    if (foreign_function(name))
        entry->help = foreign_function(name);
    else if (check_foreign_type(name))
        entry->help = check_printf(checker, "is `%s(…)` meant?", check_foreign_type(name));
    else if (nearest.name)
        entry->help = check_printf(checker, "is `%s` meant?", nearest.name);
    else
        entry->help = "functions of your own are written at file level: `fn f(x) = …;`";
    return check_arguments_only(checker, expr);
}

struct operand check_call(struct checker *checker, const struct ast_expr *expr) {
    const char *name = expr->name.text;
    enum ir_type type = check_type_named(checker, name);
    if (type != TYPE_NONE)
        return convert(checker, type, expr);
    struct item *item = item_find(checker, checker->expansion ? checker->expansion->item->file : checker->file, name, ITEM_FN);
    if (item)
        return expand(checker, expr, item);
    if (!strcmp(name, "has"))
        return check_has(checker, expr);
    if (!strcmp(name, "where")) {
        if (!count_is(checker, expr, 3))
            return check_arguments_only(checker, expr);
        return check_choice(checker, expr->args.items[0], expr->args.items[1], expr->args.items[2]);
    }
    enum ir_opcode code = ir_function_named(name);
    return code != OP_COUNT ? check_function(checker, expr, code) : report_unknown_function(checker, expr);
}
