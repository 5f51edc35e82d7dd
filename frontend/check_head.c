// SPDX-License-Identifier: Apache-2.0
// A kernel's head. In: generics, parameters, outputs as written, and a specialization. Out: the IR's tables of
// parameters and dimensions, and their names in scope.
// The one idea: names first, so that the order of parameters doesn't matter; then shapes of parameters, each of which
// may teach one new dimension; then what depends on them.
#include <math.h>
#include <string.h>

#include "frontend/check.h"

// ---------------------------------------------------------------------------------------------- types

enum ir_type check_type_named(const struct checker *checker, const char *name) {
    for (int i = 0; checker->kernel && i < checker->kernel->generic_count; i++) {
        if (!strcmp(checker->kernel->generic_names[i], name))
            return checker->kernel->generic_types[i];
    }
    return ir_type_named(name);
}

// What other languages call our types.
const char *check_foreign_type(const char *name) {
    static const char *const names[][2] = {
        {"float", "f32"},    {"float32", "f32"}, {"single", "f32"}, {"double", "f64"},   {"float64", "f64"},
        {"half", "f16"},     {"float16", "f16"}, {"fp16", "f16"},   {"bfloat16", "bf16"}, {"int", "i32"},
        {"int32", "i32"},    {"int64", "i64"},   {"long", "i64"},   {"char", "i8"},      {"int8", "i8"},
        {"uint8", "u8"},     {"byte", "u8"},     {"boolean", "bool"}, {"fp32", "f32"},   {"fp64", "f64"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], name))
            return names[i][1];
    return NULL;
}

enum ir_type check_type(struct checker *checker, const struct ast_type *type) {
    enum ir_type named = check_type_named(checker, type->name.text);
    if (named != TYPE_NONE)
        return type->accum ? ir_type_compute(named) : named;
    struct nearest nearest = {0};
    for (int known = TYPE_BOOL; known < TYPE_COUNT; known++)
        nearest_offer(&nearest, type->name.text, ir_type_name((enum ir_type)known));
    struct diagnostic *entry = check_error(checker, "E0209", type->name.span, "there is no type `%s`", type->name.text);
    if (check_foreign_type(type->name.text))
        entry->help = check_printf(checker, "is `%s` meant?", check_foreign_type(type->name.text));
    else if (nearest.name)
        entry->help = check_printf(checker, "is `%s` meant?", nearest.name);
    else
        entry->help = check_printf(checker, "types are bool i8 u8 i32 i64 f16 bf16 f32 f64 and the kernel's own: `kernel %s<%s: num>`",
                                   checker->ast->name.text, type->name.text);
    return TYPE_NONE;
}

static bool kind_has(const char *kind, enum ir_type type) {
    if (!strcmp(kind, "float"))
        return ir_type_is_float(type);
    if (!strcmp(kind, "int"))
        return type == TYPE_I32 || type == TYPE_I64;
    return !strcmp(kind, "num") && type != TYPE_BOOL && type != TYPE_NONE;
}

static const char *kind_members(const char *kind) {
    return !strcmp(kind, "float") ? "f16 bf16 f32 f64" : !strcmp(kind, "int") ? "i32 i64" : "i8 u8 i32 i64 f16 bf16 f32 f64";
}

static enum ir_type fallback_of(const struct ast_generic *generic) {
    if (generic->has_default && ir_type_named(generic->value.text) != TYPE_NONE)
        return ir_type_named(generic->value.text);
    return strcmp(generic->kind.text, "int") != 0 ? TYPE_F32 : TYPE_I64;
}

static enum ir_type wanted_type(const struct checker *checker, const struct ast_generic *generic) {
    const struct specialization *specialization = checker->specialization;
    for (int i = 0; specialization && i < specialization->type_count; i++) {
        if (!strcmp(specialization->type_names[i], generic->name.text))
            return specialization->types[i];
    }
    return fallback_of(generic);
}

static enum ir_type check_generic(struct checker *checker, const struct ast_generic *generic) {
    const char *kind = generic->kind.text, *name = generic->name.text;
    enum ir_type type = wanted_type(checker, generic);
    if (ir_type_named(name) != TYPE_NONE || is_function_name(name) || item_find(checker, checker->file, name, ITEM_FN))
        check_error(checker, "E0202", generic->name.span, "`%s` is the name of a type or function already", name);
    else if (check_type_named(checker, name) != TYPE_NONE)
        check_error(checker, "E0202", generic->name.span, "two types of this kernel are called `%s`", name);
    if (strcmp(kind, "float") != 0 && strcmp(kind, "int") != 0 && strcmp(kind, "num") != 0) {
        check_error(checker, "E0209", generic->kind.span, "there is no kind of types `%s`", kind)->help =
            "kinds are `float` (f16 bf16 f32 f64), `int` (i32 i64) and `num` (any but bool)";
        return type;
    }
    if (generic->has_default && !kind_has(kind, ir_type_named(generic->value.text)))
        check_error(checker, "E0210", generic->value.span, "`%s` is no type of the kind `%s`", generic->value.text, kind)->help =
            check_printf(checker, "it has %s", kind_members(kind));
    else if (!kind_has(kind, type))
        check_error(checker, "E0210", generic->name.span, "`%s` can't be %s: it is declared as `%s: %s`", name,
                    ir_type_name(type), name, kind)
            ->help = check_printf(checker, "`%s` has %s", kind, kind_members(kind));
    return kind_has(kind, type) ? type : strcmp(kind, "int") ? TYPE_F32 : TYPE_I64;
}

static void check_generics(struct checker *checker) {
    const struct ast_kernel *ast = checker->ast;
    struct ir_kernel *kernel = checker->kernel;
    kernel->generic_names = ARENA_ARRAY(checker->kernel->arena, const char *, ast->generic_count + 1);
    kernel->generic_types = ARENA_ARRAY(checker->kernel->arena, enum ir_type, ast->generic_count + 1);
    for (int i = 0; i < ast->generic_count; i++) {
        enum ir_type type = check_generic(checker, &ast->generics[i]);
        kernel->generic_names[i] = ast->generics[i].name.text;
        kernel->generic_types[i] = type;
        kernel->generic_count = i + 1;
    }
}

// ---------------------------------------------------------------------------------------------- parameters, without their shapes

static bool is_absent(const struct checker *checker, const char *name) {
    const struct specialization *specialization = checker->specialization;
    for (int i = 0; specialization && i < specialization->absent_count; i++) {
        if (!strcmp(specialization->absent[i], name))
            return true;
    }
    return false;
}

static bool check_form(struct checker *checker, const struct ast_param *param) {
    const char *name = param->name.text;
    int rank = param->tensor.shape.count;
    struct span span = param->tensor.span;
    const struct diagnostic *entry = NULL;
    if (param->mode != MODE_IN && !param->tensor.has_shape) {
        struct diagnostic *form = check_error(checker, "E0213", span, "`%s` is a scalar, and that can't be %s", name,
                                              param->mode == MODE_OPTIONAL ? "left out"
                                              : param->mode == MODE_OUT    ? "an output"
                                                                           : "updated in place");
        form->help = param->mode == MODE_OPTIONAL ? check_printf(checker, "give it a default: `%s: %s = 0`", name, param->tensor.type.name.text)
                                                  : check_printf(checker, "take a tensor of one element: `%s: %s[1]`", name,
                                                                 param->tensor.type.name.text);
        return false;
    }
    if (param->tensor.has_shape && rank == 0)
        entry = check_error(checker, "E0213", span, "the tensor `%s` has no dimensions; leave `[]` out for a scalar", name);
    else if (rank > IR_MAX_RANK)
        entry = check_error(checker, "E0213", span, "`%s` has %d dimensions, and there can be %d", name, rank, IR_MAX_RANK);
    else if (param->value && param->tensor.has_shape && param->mode != MODE_OUT)
        entry = check_error(checker, "E0213", param->value->span, "only scalars have defaults, and outputs have fills");
    return entry == NULL;
}

static void declare_param(struct checker *checker, const struct ast_param *param) {
    bool good = check_form(checker, param);
    enum ir_type type = check_type(checker, &param->tensor.type);
    bool scalar = !param->tensor.has_shape;
    struct ir_param entry = {.name = param->name.text, .type = type == TYPE_NONE ? TYPE_F32 : type, .span = param->span};
    entry.kind = scalar ? PARAM_SCALAR : param->mode == MODE_OUT ? PARAM_OUT : param->mode == MODE_INOUT ? PARAM_INOUT : PARAM_IN;
    entry.rank = param->tensor.shape.count < IR_MAX_RANK ? param->tensor.shape.count : IR_MAX_RANK;
    entry.optional = param->mode == MODE_OPTIONAL;
    entry.present = !entry.optional || !is_absent(checker, entry.name);
    for (int i = 0; i < entry.rank; i++) {
        struct span span = param->tensor.shape.items[i]->span;
        entry.extent_text[i] = arena_copy(checker->arena, span.source->text + span.begin, span.end - span.begin);
    }
    struct symbol *symbol = scope_declare(checker, scalar ? SYMBOL_SCALAR : SYMBOL_TENSOR, param->name);
    symbol->index = ir_param_new(checker->kernel, entry);
    symbol->broken = !good || type == TYPE_NONE;
}

// ---------------------------------------------------------------------------------------------- defaults and fills

static void check_default(struct checker *checker, const struct ast_param *param, int index) {
    struct operand operand = check_expr(checker, param->value);
    struct ir_param *entry = &checker->kernel->params[index];
    if (operand.kind == OPERAND_ERROR)
        return;
    struct ir_value *value = check_stored(checker, &operand, entry->type, check_printf(checker, "`%s`", entry->name));
    if (!value)
        return;
    if (!check_number_is_constant(value)) {
        check_error(checker, "E0228", param->value->span, "the default of `%s` is no constant", entry->name)->help =
            "defaults are made of literals and constants of the file";
        return;
    }
    struct ir_scalar number = ir_evaluate_number(value, NULL);
    if (value->def->code == OP_CONST)
        ir_remove(value->def);  // nothing in the body refers to it
    entry->has_default = true;
    entry->default_integer = number.integer;
    entry->default_number = number.number;
}

static void check_fill(struct checker *checker, const struct ast_param *param, int index) {
    struct operand operand = check_expr(checker, param->value);
    struct ir_param *entry = &checker->kernel->params[index];
    struct ir_value *value = check_stored(checker, &operand, entry->type, check_printf(checker, "`%s`", entry->name));
    if (value && !ir_is_host_number(value)) {
        check_error(checker, "E0228", param->value->span, "what `%s` is filled with isn't known at launch", entry->name)->help =
            "a fill is made of literals, scalars and dimensions";
        return;
    }
    entry->fill = value;
}

bool check_number_is_constant(const struct ir_value *value) {
    const struct ir_op *op = value->def;
    if (op->code == OP_CONST)
        return true;
    return op->code == OP_CAST && check_number_is_constant(op->operands[0]);
}

// ---------------------------------------------------------------------------------------------- shapes

// An extent with one unknown name: scale * name + offset.
struct linear {
    struct ast_name unknown;
    bool has_unknown, good;
    int64_t scale, offset;
};

static bool is_known_name(struct checker *checker, const char *name) {
    return scope_find(checker, name) || item_find(checker, checker->file, name, ITEM_CONST);
}

static struct linear linear_of(struct checker *checker, const struct ast_expr *expr);

static struct linear linear_sum(struct linear a, struct linear b, int sign) {
    struct linear sum = a.has_unknown ? a : b;
    sum.has_unknown = a.has_unknown || b.has_unknown;
    sum.good = a.good && b.good && !(a.has_unknown && b.has_unknown) && !(sign < 0 && b.has_unknown);
    sum.good = !__builtin_add_overflow(a.offset, sign * b.offset, &sum.offset) && sum.good;
    return sum;
}

static struct linear linear_product(struct linear a, struct linear b) {
    struct linear factor = a.has_unknown ? b : a, product = a.has_unknown ? a : b;
    product.good = a.good && b.good && !(a.has_unknown && b.has_unknown) && factor.offset > 0;
    product.good = !__builtin_mul_overflow(product.scale, factor.offset, &product.scale) && product.good;
    product.good = !__builtin_mul_overflow(product.offset, factor.offset, &product.offset) && product.good;
    return product;
}

static struct linear linear_name(struct checker *checker, struct ast_name name) {
    struct item *item = item_find(checker, checker->file, name.text, ITEM_CONST);
    if (item && !scope_find(checker, name.text)) {
        struct operand constant = item_constant(checker, item, name.span);
        return (struct linear){.good = constant.kind == OPERAND_INTEGER, .offset = constant.integer};
    }
    return (struct linear){.unknown = name, .has_unknown = true, .good = !is_known_name(checker, name.text), .scale = 1};
}

static struct linear linear_of(struct checker *checker, const struct ast_expr *expr) {
    struct linear none = {0};
    if (expr->kind == EXPR_INTEGER)
        return (struct linear){.good = !expr->overflow, .offset = expr->integer};
    if (expr->kind == EXPR_NAME)
        return linear_name(checker, expr->name);
    if (expr->kind != EXPR_BINARY || (expr->op != OPERATOR_ADD && expr->op != OPERATOR_SUB && expr->op != OPERATOR_MUL))
        return none;
    struct linear a = linear_of(checker, expr->args.items[0]), b = linear_of(checker, expr->args.items[1]);
    return expr->op == OPERATOR_MUL ? linear_product(a, b) : linear_sum(a, b, expr->op == OPERATOR_SUB ? -1 : 1);
}

// The first name in `expr` that nothing declares, or NULL.
static const struct ast_name *first_unknown(struct checker *checker, const struct ast_expr *expr) {
    if (expr->kind == EXPR_NAME)
        return is_known_name(checker, expr->name.text) ? NULL : &expr->name;
    for (int i = 0; i < expr->args.count; i++) {
        const struct ast_name *unknown = first_unknown(checker, expr->args.items[i]);
        if (unknown)
            return unknown;
    }
    return NULL;
}

// After a report: the names in `expr` are silent from now on.
static void silence_unknown(struct checker *checker, const struct ast_expr *expr) {
    for (const struct ast_name *name = first_unknown(checker, expr); name; name = first_unknown(checker, expr))
        scope_declare(checker, SYMBOL_DIM, *name)->broken = true;
}

static void fix_static(const struct checker *checker, struct ir_dim *dim) {
    const struct specialization *specialization = checker->specialization;
    for (int i = 0; specialization && i < specialization->dim_count; i++) {
        if (strcmp(specialization->dim_names[i], dim->name) != 0)
            continue;
        dim->is_static = true;
        dim->value = specialization->dims[i];
    }
}

static void learn(struct checker *checker, const struct ast_expr *extent, int param, int position) {
    struct linear form = linear_of(checker, extent);
    if (!form.good || !form.has_unknown) {
        struct diagnostic *entry =
            check_error(checker, "E0211", extent->span, "no dimension can be learnt from the extent `%s`", check_text(checker, extent->span));
        entry->help = "a parameter's extent has exactly one unknown name, as `B`, `B + 1` or `2 * B`; or all names in it are known";
        silence_unknown(checker, extent);
        return;
    }
    struct ir_dim dim = {.name = form.unknown.text, .param = param, .position = position, .scale = form.scale,
                         .offset = form.offset, .span = form.unknown.span};
    fix_static(checker, &dim);
    bool absent = !checker->kernel->params[param].present;
    struct symbol *symbol = scope_declare(checker, SYMBOL_DIM, form.unknown);
    symbol->index = absent ? -1 : ir_dim_new(checker->kernel, dim);
}

// An extent as a number: of names that are all known now.
static struct ir_value *check_extent(struct checker *checker, const struct ast_expr *expr, const char *name) {
    struct operand operand = check_expr(checker, expr);
    checker->builder.span = expr->span;
    if (operand.kind == OPERAND_ERROR)
        return ir_integer(&checker->builder, TYPE_I64, 1);
    if (operand_kind(&operand) != KIND_INTEGER) {
        check_error(checker, "E0207", expr->span, "an extent of `%s` is an integer, and this is %s", name,
                    check_type_text(checker, &operand));
        return ir_integer(&checker->builder, TYPE_I64, 1);
    }
    struct ir_value *value = check_value(checker, TYPE_I64, &operand);
    if (ir_is_host_number(value))
        return value;
    check_error(checker, "E0212", expr->span, "this extent of `%s` isn't known at launch", name)->help =
        "extents are made of dimensions, integer scalars and constants";
    return ir_integer(&checker->builder, TYPE_I64, 1);
}

static void check_shape(struct checker *checker, const struct ast_param *param, int index) {
    for (int i = 0; i < checker->kernel->params[index].rank; i++) {
        if (first_unknown(checker, param->tensor.shape.items[i]))
            learn(checker, param->tensor.shape.items[i], index, i);
    }
}

static void check_extents(struct checker *checker, const struct ast_param *param, int index) {
    for (int i = 0; i < checker->kernel->params[index].rank; i++) {
        const struct ast_expr *extent = param->tensor.shape.items[i];
        const struct ast_name *unknown = first_unknown(checker, extent);
        if (unknown) {
            check_error(checker, "E0212", extent->span, "nothing says how large `%s` is: no parameter tells `%s`", param->name.text,
                        unknown->text)
                ->help = check_printf(checker, "add a scalar: `%s: i64`", unknown->text);
            silence_unknown(checker, extent);
        }
        // An absent parameter has no extents.
        checker->builder.span = extent->span;
        checker->kernel->params[index].extents[i] = checker->kernel->params[index].present
                                                        ? check_extent(checker, extent, param->name.text)
                                                        : ir_integer(&checker->builder, TYPE_I64, 1);
    }
}

// ---------------------------------------------------------------------------------------------- the head

void check_head(struct checker *checker) {
    const struct ast_kernel *ast = checker->ast;
    check_generics(checker);
    for (int i = 0; i < ast->param_count; i++)
        declare_param(checker, &ast->params[i]);
    for (int i = 0; i < ast->output_count; i++)
        declare_param(checker, &ast->outputs[i]);
    // What may be left out teaches last: a dimension is better learnt from what is always there.
    for (int optional = 0; optional <= 1; optional++) {
        for (int i = 0; i < ast->param_count; i++) {
            if ((ast->params[i].mode == MODE_OPTIONAL) == (optional == 1))
                check_shape(checker, &ast->params[i], i);
        }
    }
    for (int i = 0; i < ast->param_count + ast->output_count; i++) {
        bool output = i >= ast->param_count;
        const struct ast_param *param = output ? &ast->outputs[i - ast->param_count] : &ast->params[i];
        check_extents(checker, param, i);
        bool scalar = checker->kernel->params[i].kind == PARAM_SCALAR;
        if (param->value && scalar && !output)
            check_default(checker, param, i);
        else if (param->value && output && !scalar)
            check_fill(checker, param, i);
    }
}
