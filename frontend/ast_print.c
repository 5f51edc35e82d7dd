// SPDX-License-Identifier: Apache-2.0
// In: a tree. Out: stable text, one line per declaration or statement with its place, every operation in parentheses.
#include "frontend/ast.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------- expressions

static void print_expr(struct text *out, const struct ast_expr *expr);

static void print_exprs(struct text *out, const struct ast_exprs *exprs)
{
    for (int i = 0; i < exprs->count; i++) {
        if (i) text_add(out, ", ");
        print_expr(out, exprs->items[i]);
    }
}

// A floating literal always shows that it is one.
static void print_number(struct text *out, double number)
{
    size_t before = out->length;
    text_double(out, number);
    if (!strpbrk(out->data + before, ".en")) text_add(out, ".0");
}

static void print_leaf(struct text *out, const struct ast_expr *expr)
{
    switch (expr->kind) {
    case EXPR_NAME: text_add(out, expr->name.text); break;
    case EXPR_INTEGER:
        if (expr->overflow) text_printf(out, "overflow(%llu)", (unsigned long long)expr->integer);
        else text_printf(out, "%lld", (long long)expr->integer);
        break;
    case EXPR_FLOAT: print_number(out, expr->number); break;
    case EXPR_BOOL: text_add(out, expr->integer ? "true" : "false"); break;
    case EXPR_STRING: text_printf(out, "\"%s\"", expr->text); break;
    case EXPR_MEMBER: text_printf(out, "%s.%s", expr->name.text, expr->member.text); break;
    default: text_add(out, "<error>"); break;
    }
}

static void print_operation(struct text *out, const struct ast_expr *expr)
{
    text_add(out, "(");
    if (expr->kind == EXPR_UNARY) text_add(out, ast_operator_text(expr->op));
    for (int i = 0; i < expr->args.count; i++) {
        if (i) text_printf(out, " %s ", expr->kind == EXPR_BINARY ? ast_operator_text(expr->op) : i == 1 ? "?" : ":");
        print_expr(out, expr->args.items[i]);
    }
    text_add(out, ")");
}

static void print_expr(struct text *out, const struct ast_expr *expr)
{
    switch (expr->kind) {
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_CONDITIONAL: print_operation(out, expr); break;
    case EXPR_ELEMENT:
        text_printf(out, "%s[", expr->name.text);
        print_exprs(out, &expr->args);
        text_add(out, "]");
        break;
    case EXPR_CALL:
    case EXPR_ACCUM:
    case EXPR_REDUCTION:
        text_printf(out, expr->kind == EXPR_ACCUM ? "accum(%s)" : "%s", expr->name.text);
        if (expr->kind == EXPR_REDUCTION) {
            text_add(out, "[");
            print_exprs(out, &expr->over);
            text_add(out, "]");
        }
        text_add(out, "(");
        print_exprs(out, &expr->args);
        text_add(out, ")");
        break;
    default: print_leaf(out, expr); break;
    }
}

// ---------------------------------------------------------------------------------------------- statements

// Places come in ascending order, so each is found from the one before.
struct printer {
    struct text *out;
    uint32_t offset;
    struct position position;  // of `offset`
};

static void begin_line(struct text *out, int level)
{
    for (int i = 0; i < level; i++) text_add(out, "    ");
}

static void end_line(struct printer *printer, struct span span)
{
    struct position *at = &printer->position;
    if (span.begin < printer->offset) *printer = (struct printer){printer->out, 0, {1, 1}};
    for (; printer->offset < span.begin; printer->offset++) {
        unsigned char byte = (unsigned char)span.source->text[printer->offset];
        if (byte == '\n') *at = (struct position){at->line + 1, 1};
        else at->column += (byte & 0xc0) != 0x80;
    }
    text_printf(printer->out, "  @%d:%d\n", at->line, at->column);
}

static void print_tensor(struct text *out, const struct ast_tensor *tensor)
{
    text_printf(out, tensor->type.accum ? "accum(%s)" : "%s", tensor->type.name.text);
    if (!tensor->has_shape) return;
    text_add(out, "[");
    print_exprs(out, &tensor->shape);
    text_add(out, "]");
}

static void print_names(struct text *out, const struct ast_names *names, bool parentheses)
{
    if (parentheses) text_add(out, "(");
    for (int i = 0; i < names->count; i++) text_printf(out, "%s%s", i ? ", " : "", names->items[i].text);
    if (parentheses) text_add(out, ")");
}

static void print_block(struct printer *printer, const struct ast_block *block, int level);

static void print_for(struct printer *printer, const struct ast_stmt *stmt, int level)
{
    struct text *out = printer->out;
    text_add(out, "for ");
    print_names(out, &stmt->targets, stmt->targets_in_parentheses);
    text_printf(out, " in %s(", stmt->domain.text);
    print_exprs(out, &stmt->bounds);
    text_add(out, ")");
    if (stmt->condition) {
        text_add(out, " while ");
        print_expr(out, stmt->condition);
    }
    end_line(printer, stmt->span);
    print_block(printer, &stmt->body, level + 1);
}

static void print_if(struct printer *printer, const struct ast_stmt *stmt, int level)
{
    struct text *out = printer->out;
    text_add(out, "if ");
    print_expr(out, stmt->value);
    end_line(printer, stmt->span);
    print_block(printer, &stmt->body, level + 1);
    if (!stmt->has_else) return;
    begin_line(out, level);
    text_add(out, "else");
    end_line(printer, stmt->otherwise.span);
    print_block(printer, &stmt->otherwise, level + 1);
}

static void print_simple(struct printer *printer, const struct ast_stmt *stmt)
{
    struct text *out = printer->out;
    static const char *const assigns[] = {"=", "+=", "-=", "*=", "/="};
    switch (stmt->kind) {
    case STMT_AXIS: text_printf(out, "axis %s = ", stmt->name.text); break;
    case STMT_LET: text_printf(out, "let %s = ", stmt->name.text); break;
    case STMT_VAR:
        text_printf(out, "var %s: ", stmt->name.text);
        print_tensor(out, &stmt->tensor);
        text_add(out, " = ");
        break;
    case STMT_ASSIGN:
        print_expr(out, stmt->place);
        text_printf(out, " %s ", assigns[stmt->assign]);
        break;
    case STMT_EXPR: break;
    default: text_add(out, "<error>"); break;
    }
    if (stmt->value) print_expr(out, stmt->value);
    end_line(printer, stmt->span);
}

static void print_block(struct printer *printer, const struct ast_block *block, int level)
{
    for (int i = 0; i < block->count; i++) {
        const struct ast_stmt *stmt = block->items[i];
        begin_line(printer->out, level);
        if (stmt->kind == STMT_FOR) print_for(printer, stmt, level);
        else if (stmt->kind == STMT_IF) print_if(printer, stmt, level);
        else print_simple(printer, stmt);
    }
}

// ---------------------------------------------------------------------------------------------- items

static void print_param(struct printer *printer, const struct ast_param *param)
{
    struct text *out = printer->out;
    static const char *const modes[] = {
        [MODE_IN] = "in", [MODE_INOUT] = "inout", [MODE_OPTIONAL] = "optional", [MODE_OUT] = "out"};
    text_printf(out, "    %s %s: ", modes[param->mode], param->name.text);
    print_tensor(out, &param->tensor);
    if (param->value) {
        text_add(out, " = ");
        print_expr(out, param->value);
    }
    end_line(printer, param->span);
}

static void print_kernel(struct printer *printer, const struct ast_kernel *kernel)
{
    struct text *out = printer->out;
    text_printf(out, "kernel %s", kernel->name.text);
    end_line(printer, kernel->span);
    for (int i = 0; i < kernel->generic_count; i++) {
        const struct ast_generic *generic = &kernel->generics[i];
        text_printf(out, "    generic %s: %s", generic->name.text, generic->kind.text);
        if (generic->has_default) text_printf(out, " = %s", generic->value.text);
        end_line(printer, generic->name.span);
    }
    for (int i = 0; i < kernel->param_count; i++) print_param(printer, &kernel->params[i]);
    for (int i = 0; i < kernel->output_count; i++) print_param(printer, &kernel->outputs[i]);
    print_block(printer, &kernel->body, 1);
}

static void print_item(struct printer *printer, const struct ast_item *item)
{
    struct text *out = printer->out;
    switch (item->kind) {
    case ITEM_KERNEL: print_kernel(printer, item->kernel); return;
    case ITEM_IMPORT: text_printf(out, "import \"%s\"", item->name.text); break;
    case ITEM_CONST: text_printf(out, "const %s = ", item->name.text); break;
    case ITEM_FN:
        text_printf(out, "fn %s", item->name.text);
        print_names(out, &item->params, true);
        text_add(out, " = ");
        break;
    case ITEM_ERROR: text_add(out, "<error>"); break;
    }
    if (item->value) print_expr(out, item->value);
    end_line(printer, item->span);
}

void ast_print(struct text *out, const struct ast_file *file)
{
    struct printer printer = {.out = out, .position = {1, 1}};
    text_add(out, "");
    for (int i = 0; i < file->count; i++) print_item(&printer, &file->items[i]);
}
