// SPDX-License-Identifier: Apache-2.0
// Statements without blocks of their own. In: a statement. Out: IR, and symbols.
// The one idea: an assignment gives its variable a new IR value, an `update` of the old one; loops and branches carry it.
#include <string.h>

#include "frontend/check.h"

bool at_top(const struct checker *checker) {
    return checker->kernel && checker->builder.region == checker->kernel->body;
}

// ---------------------------------------------------------------------------------------------- let, var

static void check_let(struct checker *checker, const struct ast_stmt *stmt) {
    struct operand operand = check_expr(checker, stmt->value);
    struct symbol *symbol = scope_declare(checker, SYMBOL_LET, stmt->name);
    symbol->operand = operand;
    symbol->broken = operand.kind == OPERAND_ERROR;
    if (operand.kind == OPERAND_VALUE && !operand.value->name)
        operand.value->name = stmt->name.text;
}

// The axes behind a var's type, in any order.
static bool check_var_axes(struct checker *checker, const struct ast_stmt *stmt, axes_t *axes) {
    bool good = true;
    for (int i = 0; i < stmt->tensor.shape.count; i++) {
        const struct ast_expr *named = stmt->tensor.shape.items[i];
        struct symbol *symbol = named->kind == EXPR_NAME ? scope_find(checker, named->name.text) : NULL;
        if (symbol)
            symbol->used = true;
        bool axis = symbol && symbol->kind == SYMBOL_AXIS && !symbol->broken;
        if (axis)
            *axes |= AXIS_BIT(symbol->index);
        else if (named->kind != EXPR_ERROR && !(symbol && symbol->broken) && !checker->gaps) {
            struct diagnostic *entry = check_error(checker, "E0307", named->span, "`%s` is no axis", check_text(checker, named->span));
            entry->help = check_printf(checker, "behind a var's type stand the axes that it is on: the loops around, and what "
                                                "`axis` declares; a `var` without axes is `var %s: %s = …`",
                                       stmt->name.text, stmt->tensor.type.name.text);
        }
        good = good && axis;
    }
    return good;
}

static bool check_var_parents(struct checker *checker, const struct ast_stmt *stmt, axes_t axes) {
    axes_t missing = 0, child = 0;
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if ((axes & AXIS_BIT(axis)) && (checker->kernel->axes[axis].parents & ~axes)) {
            missing |= checker->kernel->axes[axis].parents & ~axes;
            child |= AXIS_BIT(axis);
        }
    }
    if (!missing)
        return true;
    struct diagnostic *entry =
        check_error(checker, "E0305", stmt->tensor.span, "%s has rows in %s, so a `var` on the one is on the other too",
                    check_axes_text(checker, child), check_axes_text(checker, missing));
    entry->help = check_printf(checker, "write the parents too: `%s[%s]`", stmt->tensor.type.name.text,
                               check_axes_list(checker, axes | missing));
    return false;
}

// An axis of the value that the variable isn't on.
static bool check_fits(struct checker *checker, const struct ast_expr *expr, const struct operand *operand, axes_t axes,
                       struct ast_name name) {
    axes_t extra = operand_axes(operand) & ~axes;
    if (!extra)
        return true;
    struct diagnostic *entry = check_error(checker, "E0409", operand->span, "`%s` is not on %s, but this value is", name.text,
                                           check_axes_text(checker, extra));
    entry->help = check_printf(checker, "reduce it first, `%s` (or max, any, argmax, …), or declare `%s` on %s as well",
                               check_reduced_text(checker, "sum", extra, expr), name.text, check_axes_text(checker, extra));
    return false;
}

static void check_var(struct checker *checker, const struct ast_stmt *stmt) {
    axes_t axes = 0;
    enum ir_type type = check_type(checker, &stmt->tensor.type);
    bool good = check_var_axes(checker, stmt, &axes);
    good = good && type != TYPE_NONE && check_var_parents(checker, stmt, axes);
    struct operand operand = check_expr(checker, stmt->value);
    checker->builder.span = stmt->value->span;
    struct ir_value *value = NULL;
    if (good && operand.kind != OPERAND_ERROR && check_fits(checker, stmt->value, &operand, axes, stmt->name))
        value = check_stored(checker, &operand, type, check_printf(checker, "`%s`", stmt->name.text));
    struct symbol *symbol = scope_declare(checker, SYMBOL_VAR, stmt->name);
    symbol->type = type;
    symbol->axes = axes;
    symbol->broken = value == NULL;
    if (!value)
        return;
    checker->builder.span = stmt->name.span;
    symbol->value = ir_broadcast(&checker->builder, axes, value);
    symbol->value->name = stmt->name.text;
}

// ---------------------------------------------------------------------------------------------- assignment

static const enum ast_operator assign_operators[] = {
    [ASSIGN_ADD] = OPERATOR_ADD, [ASSIGN_SUB] = OPERATOR_SUB, [ASSIGN_MUL] = OPERATOR_MUL, [ASSIGN_DIV] = OPERATOR_DIV,
};

static void assign_var(struct checker *checker, const struct ast_stmt *stmt, struct symbol *symbol) {
    struct operand operand = check_expr(checker, stmt->value);
    if (symbol->broken || operand.kind == OPERAND_ERROR
        || !check_fits(checker, stmt->value, &operand, symbol->axes, symbol->name))
        return;
    checker->builder.span = stmt->span;
    if (stmt->assign != ASSIGN_SET) {
        struct operand old = operand_value(symbol->value);
        old.span = stmt->place->span;
        operand = check_binary(checker, assign_operators[stmt->assign], old, operand);
        operand.span = stmt->value->span;
    }
    struct ir_value *value = check_stored(checker, &operand, symbol->type, check_printf(checker, "`%s`", symbol->name.text));
    if (!value)
        return;
    checker->builder.span = stmt->span;
    symbol->value = ir_update(&checker->builder, symbol->value, value);
    symbol->value->name = symbol->name.text;
    struct assignment entry = {symbol->value->def, stmt, symbol->name.text};
    ARENA_PUSH(checker->arena, checker->assignments, checker->assignment_count, checker->assignment_capacity, entry);
}

static void refuse_target(struct checker *checker, const struct ast_stmt *stmt, const struct symbol *symbol) {
    const char *name = stmt->place->name.text;
    struct span span = stmt->place->span;
    if (symbol->kind == SYMBOL_TENSOR) {
        check_error(checker, "E0506", span, "`%s` is a tensor, and only its elements are stored to", name)->help =
            check_printf(checker, "store an element: `%s[…] = e;`", name);
        return;
    }
    struct diagnostic *entry = check_error(checker, "E0218", span, "`%s` can't be assigned to: it is no `var`", name);
    if (symbol->kind == SYMBOL_LET)
        entry->help = check_printf(checker, "declare it as `var %s: f32[…] = …;`, with its type and axes", name);
    entry->note_span = symbol->name.span;
    entry->note = "declared here";
}

static void check_named_target(struct checker *checker, const struct ast_stmt *stmt) {
    struct symbol *symbol = scope_find(checker, stmt->place->name.text);
    if (symbol && symbol->kind == SYMBOL_VAR) {
        assign_var(checker, stmt, symbol);
        return;
    }
    check_expr(checker, stmt->value);
    if (symbol && !symbol->broken)
        refuse_target(checker, stmt, symbol);
    else if (!symbol && item_find(checker, checker->file, stmt->place->name.text, ITEM_CONST))
        check_error(checker, "E0218", stmt->place->span, "`%s` can't be assigned to: it is a constant", stmt->place->name.text);
    else if (!symbol)
        check_unknown_name(checker, stmt->place->name, "var");
}

// ---------------------------------------------------------------------------------------------- stores

static const char *accumulate_help(struct checker *checker, const struct ast_stmt *stmt, const struct symbol *tensor) {
    const struct ir_param *param = &checker->kernel->params[tensor->index];
    bool from_nothing = param->kind == PARAM_OUT && !param->fill;
    const char *place = check_text(checker, stmt->place->span), *value = check_text(checker, stmt->value->span);
    if (stmt->assign == ASSIGN_ADD)
        return check_printf(checker, "add up in a `var` and store it, or write `atomic_add(%s, %s);`%s", place, value,
                            from_nothing ? check_printf(checker, ", with `= 0` behind the type of `%s` in the head", param->name) : "");
    return check_printf(checker, "write `%s = %s %s (%s);`", place, place,
                        ast_operator_text(assign_operators[stmt->assign]), value);
}

static bool check_storable(struct checker *checker, const struct symbol *tensor, struct span span) {
    const struct ir_param *param = &checker->kernel->params[tensor->index];
    if (param->kind != PARAM_IN)
        return true;
    struct diagnostic *entry = check_error(checker, "E0501", span, "`%s` is an input, and inputs aren't stored to", param->name);
    entry->help = check_printf(checker, "declare it as `inout %s: …` to update it in place, or add an output", param->name);
    entry->note_span = tensor->name.span;
    entry->note = "declared here";
    return false;
}

// How a value on `extra` gets into a place on none of them. Over a loop's axis a reduction covers one tile only.
static const char *reduce_help(struct checker *checker, const struct ast_stmt *stmt, const struct operand *operand,
                               axes_t extra) {
    const char *sum = check_reduced_text(checker, "sum", extra, stmt->value), *axes = check_axes_text(checker, extra);
    int outermost = -1;
    bool has_rows = false;  // the value stays on an axis whose rows one of them is
    for (int axis = checker->kernel->axis_count - 1; axis >= 0; axis--) {
        const struct ir_axis *entry = &checker->kernel->axes[axis];
        if ((extra & AXIS_BIT(axis)) && axis_has_many_points(checker, axis))
            outermost = axis;
        has_rows = has_rows || ((operand->value->axes & ~extra & AXIS_BIT(axis)) && (entry->parents & extra));
    }
    if (has_rows)
        return check_printf(checker, "name %s in the index", axes);
    if (outermost < 0)
        return check_printf(checker, "reduce it first, as `%s`, or name %s in the index", sum, axes);
    const struct ir_op *loop = checker->kernel->axes[outermost].loop;
    const char *room = loop->parent == checker->kernel->body ? ", in `for one in tile(1) { … }`" : "";
    return check_printf(checker, "name %s in the index; or add up in a `var` declared before the loop over `%s`%s, "
                                 "`total += %s;`, and store that behind it",
                        axes, checker->kernel->axes[outermost].name, room, sum);
}

static bool check_stored_axes(struct checker *checker, const struct ast_stmt *stmt, const struct operand *operand,
                              axes_t names) {
    axes_t extra = operand->kind == OPERAND_VALUE ? operand->names & ~names : 0;
    if (!extra)
        return true;
    struct diagnostic *entry = check_error(checker, "E0408", stmt->span, "the value differs along %s, which the index of `%s` doesn't name",
                                           check_axes_text(checker, extra), stmt->place->name.text);
    entry->help = reduce_help(checker, stmt, operand, extra);
    return false;
}

static void check_store(struct checker *checker, const struct ast_stmt *stmt) {
    struct access access;
    bool good = check_access(checker, stmt->place, &access);
    struct operand operand = check_expr(checker, stmt->value);
    if (access.tensor && stmt->assign != ASSIGN_SET) {
        check_error(checker, "E0506", stmt->span, "`%s` is for a `var`, not for an element of a tensor",
                    stmt->assign == ASSIGN_ADD   ? "+="
                    : stmt->assign == ASSIGN_SUB ? "-="
                    : stmt->assign == ASSIGN_MUL ? "*="
                                                 : "/=")
            ->help = accumulate_help(checker, stmt, access.tensor);
        return;
    }
    if (!access.tensor || !check_storable(checker, access.tensor, stmt->place->span) || !good || operand.kind == OPERAND_ERROR)
        return;
    if (!check_stored_axes(checker, stmt, &operand, access.names))
        return;
    checker->builder.span = stmt->value->span;
    const struct ir_param *param = &checker->kernel->params[access.tensor->index];
    struct ir_value *value = check_stored(checker, &operand, param->type, check_printf(checker, "`%s`", param->name));
    if (!value)
        return;
    checker->builder.span = stmt->span;
    ir_store(&checker->builder, access.tensor->index, access.indices, value, NULL);
    struct store entry = {checker->builder.region->last, stmt->place, access.names};
    ARENA_PUSH(checker->arena, checker->stores, checker->store_count, checker->store_capacity, entry);
}

static void check_assign(struct checker *checker, const struct ast_stmt *stmt) {
    switch (stmt->place->kind) {
    case EXPR_NAME:
        check_named_target(checker, stmt);
        return;
    case EXPR_ELEMENT:
        check_store(checker, stmt);
        return;
    case EXPR_ERROR:
        check_expr(checker, stmt->value);
        return;
    default:
        check_error(checker, "E0218", stmt->place->span, "`%s` can't be assigned to", check_text(checker, stmt->place->span))->help =
            "on the left of `=` stands a `var` or an element of a tensor";
        check_expr(checker, stmt->value);
    }
}

// ---------------------------------------------------------------------------------------------- atomics, assert, print

static bool check_atomic_target(struct checker *checker, const struct ast_expr *place, const struct symbol *tensor) {
    const struct ir_param *param = &checker->kernel->params[tensor->index];
    if (!check_storable(checker, tensor, place->span))
        return false;
    bool filled = checker->ast->param_count <= tensor->index
               && checker->ast->outputs[tensor->index - checker->ast->param_count].value != NULL;
    if (param->kind == PARAM_OUT && !filled) {
        struct diagnostic *entry =
            check_error(checker, "E0505", place->span, "`%s` has no fill, so there is nothing to combine with", param->name);
        entry->help = check_printf(checker, "say what it holds at first: `%s: … = 0`", param->name);
        return false;
    }
    if (ir_type_bytes(param->type) < 2) {
        const char *type = ir_type_name(param->type);
        check_error(checker, "E0207", place->span, "there are no atomics on %s, which `%s` holds", type, param->name)->help =
            "combine into a tensor of i32, i64 or a floating type";
        return false;
    }
    return true;
}

static void refuse_atomic_place(struct checker *checker, const struct ast_expr *call, const struct ast_expr *place) {
    struct symbol *symbol = place->kind == EXPR_NAME || place->kind == EXPR_ELEMENT ? scope_find(checker, place->name.text) : NULL;
    struct diagnostic *entry = check_error(checker, "E0506", place->span, "`%s` works on an element of a tensor", call->name.text);
    if (symbol && symbol->kind == SYMBOL_VAR)
        entry->help = check_printf(checker, "a `var` is simply assigned: `%s += …;`", symbol->name.text);
    else if (symbol && symbol->kind == SYMBOL_TENSOR)
        entry->help = check_printf(checker, "write `%s(%s[…], …)`", call->name.text, symbol->name.text);
}

static void check_atomic(struct checker *checker, const struct ast_expr *call, enum ir_reduction reduction) {
    if (call->args.count != 2) {
        check_error(checker, "E0204", call->span, "`%s` takes a place and a value, and here it gets %d argument%s", call->name.text,
                    call->args.count, call->args.count == 1 ? "" : "s");
        return;
    }
    const struct ast_expr *place = call->args.items[0];
    struct access access = {0};
    const struct symbol *symbol = place->kind == EXPR_ELEMENT ? scope_find(checker, place->name.text) : NULL;
    bool element = place->kind == EXPR_ELEMENT && !(symbol && symbol->kind == SYMBOL_VAR);
    bool good = element && check_access(checker, place, &access);
    struct operand operand = check_expr(checker, call->args.items[1]);
    if (!element && place->kind != EXPR_ERROR)
        refuse_atomic_place(checker, call, place);
    if (!access.tensor || !check_atomic_target(checker, place, access.tensor) || !good)
        return;
    checker->builder.span = call->span;
    const struct ir_param *param = &checker->kernel->params[access.tensor->index];
    struct ir_value *value = check_stored(checker, &operand, param->type, check_printf(checker, "`%s`", param->name));
    if (value)
        ir_atomic(&checker->builder, reduction, access.tensor->index, access.indices, value, NULL);
}

// assert(c, "…") and print("…", e): one text, one value.
static void check_debugging(struct checker *checker, const struct ast_expr *call, enum ir_opcode code) {
    int text_at = code == OP_ASSERT ? 1 : 0;
    bool good = call->args.count == 2 && call->args.items[text_at]->kind == EXPR_STRING
             && call->args.items[1 - text_at]->kind != EXPR_STRING;
    if (!good) {
        check_error(checker, "E0204", call->span, "`%s` takes %s", call->name.text,
                    code == OP_ASSERT ? "a condition and a text: `assert(c, \"…\")`" : "a text and a value: `print(\"…\", e)`");
        return;
    }
    const struct ast_expr *argument = call->args.items[1 - text_at];
    struct operand operand = code == OP_ASSERT ? check_condition(checker, argument, "what is asserted") : check_expr(checker, argument);
    if (operand.kind == OPERAND_ERROR)
        return;
    checker->builder.span = call->span;
    struct ir_op *op = ir_op_new(&checker->builder, code, 1, 0, 0);
    op->operands[0] = check_value(checker, operand_type(&operand), &operand);
    op->text = call->args.items[text_at]->text;
    ir_insert(&checker->builder, op);
}

static void check_statement_expr(struct checker *checker, const struct ast_expr *expr) {
    const char *name = expr->kind == EXPR_CALL ? expr->name.text : "";
    if (!strcmp(name, "atomic_add"))
        check_atomic(checker, expr, RED_SUM);
    else if (!strcmp(name, "atomic_max"))
        check_atomic(checker, expr, RED_MAX);
    else if (!strcmp(name, "atomic_min"))
        check_atomic(checker, expr, RED_MIN);
    else if (!strcmp(name, "assert"))
        check_debugging(checker, expr, OP_ASSERT);
    else if (!strcmp(name, "print"))
        check_debugging(checker, expr, OP_PRINT);
    else if (is_statement_name(name))
        check_error(checker, "E0203", expr->name.span, "there is no statement `%s`", name)->help =
            "there are atomic_add, atomic_max and atomic_min";
    else if (expr->kind != EXPR_ERROR && check_expr(checker, expr).kind != OPERAND_ERROR)
        check_error(checker, "E0219", expr->span, "this computes a value and does nothing with it")->help =
            check_printf(checker, "give it a name, `let v = %s;`, or store it", check_text(checker, expr->span));
}

// ---------------------------------------------------------------------------------------------- axis

static const char *static_help(struct checker *checker, const struct ir_value *value, const char *text) {
    if (value->def->code == OP_DIM)
        return check_printf(checker, "compile for one extent: `--static %s`, or `--dim %s=64`", text, text);
    return "give the dimensions in it an extent when compiling: `--static D`, or `--dim D=64`";
}

// Whether an operation of `code` takes part in a number that the host can work out.
static bool takes_part(struct checker *checker, const struct ir_value *value, enum ir_opcode code) {
    int count = 0, capacity = 0;
    const struct ir_value **stack = NULL;
    bool *seen = ARENA_ARRAY(checker->kernel->arena, bool, checker->kernel->value_count);
    ARENA_PUSH(checker->kernel->arena, stack, count, capacity, value);
    while (count) {
        const struct ir_op *op = stack[--count]->def;
        if (op->code == code)
            return true;
        for (int i = 0; i < op->operand_count; i++) {
            if (seen[op->operands[i]->id])
                continue;
            seen[op->operands[i]->id] = true;
            ARENA_PUSH(checker->kernel->arena, stack, count, capacity, op->operands[i]);
        }
    }
    return false;
}

// The extent as a number. With `assume` dimensions that nobody gave count as 64.
static bool axis_extent(struct checker *checker, struct ir_value *value, const struct ast_stmt *stmt, int64_t *extent) {
    if (!ir_is_host_number(value) || takes_part(checker, value, OP_SCALAR)) {
        check_error(checker, "E0221", stmt->value->span, "the extent of the full axis `%s` isn't known when the kernel is compiled",
                    stmt->name.text)
            ->help = "it is made of dimensions and constants; for a range known at run time, loop: `for t in tile(n)`";
        return false;
    }
    const char *text = check_text(checker, stmt->value->span);
    if (!checker->assume && takes_part(checker, value, OP_DIM)) {
        check_error(checker, "E0221", stmt->value->span, "the full axis `%s` needs its extent `%s` when the kernel is compiled",
                    stmt->name.text, text)
            ->help = static_help(checker, value, text);
        return false;
    }
    int64_t *dims = ARENA_ARRAY(checker->arena, int64_t, checker->kernel->dim_count + 1);
    for (int i = 0; i < checker->kernel->dim_count; i++)
        dims[i] = 64;
    *extent = ir_evaluate_number(value, &(struct ir_bindings){.dims = dims}).integer;
    if (checker->assume && *extent < 0)
        *extent = 0;
    return true;
}

void check_axis(struct checker *checker, const struct ast_stmt *stmt) {
    struct operand operand = check_expr(checker, stmt->value);
    checker->builder.span = stmt->value->span;
    int64_t extent = 1;
    bool good = operand.kind != OPERAND_ERROR;
    if (good && operand_kind(&operand) != KIND_INTEGER) {
        check_error(checker, "E0207", stmt->value->span, "an extent is an integer, and this is %s", check_type_text(checker, &operand));
        good = false;
    }
    if (good && operand.kind == OPERAND_INTEGER)
        extent = operand.integer;
    else if (good)
        good = axis_extent(checker, operand.value, stmt, &extent);
    if (good && extent < 0) {
        check_error(checker, "E0221", stmt->value->span, "the extent of `%s` is negative: %lld", stmt->name.text, (long long)extent);
        good = false;
    }
    int axis = ir_axis_new(checker->kernel, stmt->name.text, AXIS_FULL, 0);
    if (axis < 0)
        check_error(checker, "E0225", stmt->name.span, "a kernel has at most %d axes", IR_MAX_AXES);
    struct symbol *symbol = scope_declare(checker, SYMBOL_AXIS, stmt->name);
    symbol->index = axis;
    symbol->broken = !good || axis < 0;
    if (axis < 0)
        return;
    checker->kernel->axes[axis].span = stmt->name.span;
    checker->kernel->axes[axis].lo = ir_integer(&checker->builder, TYPE_I64, 0);
    checker->kernel->axes[axis].hi = ir_integer(&checker->builder, TYPE_I64, good ? extent : 1);
    // A dimension that is compiled in stays known by its name: programs are told apart whatever their extents.
    if (good && operand.kind == OPERAND_VALUE && operand.value->def->code == OP_CONST)
        checker->kernel->axes[axis].hi->name = operand.value->name;
    symbol->anchor = (struct anchor){checker->builder.region, checker->builder.region->last};
}

// ---------------------------------------------------------------------------------------------- any statement

// At the top of a kernel stand axis, let and loops.
static bool check_place(struct checker *checker, const struct ast_stmt *stmt) {
    bool allowed = stmt->kind == STMT_AXIS || stmt->kind == STMT_LET || stmt->kind == STMT_FOR || stmt->kind == STMT_ERROR;
    if (!at_top(checker) || allowed)
        return true;
    static const char *const words[] = {
        [STMT_VAR] = "a `var`", [STMT_ASSIGN] = "an assignment or store", [STMT_EXPR] = "this statement", [STMT_IF] = "an `if`",
    };
    struct span span = stmt->kind == STMT_IF ? stmt->value->span : stmt->kind == STMT_VAR ? stmt->name.span : stmt->span;
    check_error(checker, "E0220", span, "%s can't stand at the top of a kernel, outside all loops", words[stmt->kind])->help =
        "put it in a loop; where there is nothing to loop over: `for one in tile(1) { … }`";
    return false;
}

static void check_statement(struct checker *checker, const struct ast_stmt *stmt) {
    check_line(checker, stmt->span);
    checker->builder.span = stmt->span;
    bool misplaced = !check_place(checker, stmt);
    switch (stmt->kind) {
    case STMT_AXIS:
        check_axis(checker, stmt);
        break;
    case STMT_LET:
        check_let(checker, stmt);
        break;
    case STMT_VAR:
        check_var(checker, stmt);
        break;
    case STMT_ASSIGN:
        check_assign(checker, stmt);
        break;
    case STMT_EXPR:
        check_statement_expr(checker, stmt->value);
        break;
    case STMT_FOR:
        check_for(checker, stmt);
        break;
    case STMT_IF:
        if (!misplaced)
            check_if(checker, stmt);
        break;
    default:
        break;
    }
}

void check_statements(struct checker *checker, const struct ast_block *block) {
    for (int i = 0; i < block->count && !checker->flooded; i++)
        check_statement(checker, block->items[i]);
}

void check_block(struct checker *checker, const struct ast_block *block) {
    int mark = scope_enter(checker);
    check_statements(checker, block);
    scope_leave(checker, mark);
}
