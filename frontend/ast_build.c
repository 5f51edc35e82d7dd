// SPDX-License-Identifier: Apache-2.0
// In: pieces from the grammar's actions. Out: nodes of ast.h in the lexer's arena.
// Every node knows how high its tree is; one that is too high becomes an error node, so every later walk may recurse.
#include "frontend/syntax.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------- expressions

struct ast_expr *build_expr(struct lexer *lexer, enum ast_expr_kind kind, struct span span)
{
    struct ast_expr *expr = ARENA_NEW(lexer->arena, struct ast_expr);
    expr->kind = kind;
    expr->span = span;
    expr->depth = 1;
    return expr;
}

// Sets the height from the children, and cuts the tree there if it is too high.
static struct ast_expr *measured(struct lexer *lexer, struct ast_expr *expr)
{
    int deepest = 0;
    for (int i = 0; i < expr->args.count; i++)
        if (expr->args.items[i]->depth > deepest) deepest = expr->args.items[i]->depth;
    for (int i = 0; i < expr->over.count; i++)
        if (expr->over.items[i]->depth > deepest) deepest = expr->over.items[i]->depth;
    expr->depth = deepest + 1;
    if (expr->depth <= AST_EXPR_DEPTH) return expr;
    too_deep_error(lexer, expr->span);
    return build_expr(lexer, EXPR_ERROR, expr->span);
}

static int digit_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

struct ast_expr *build_integer(struct lexer *lexer, struct span span)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_INTEGER, span);
    const char *at = lexer->source->text + span.begin, *end = lexer->source->text + span.end;
    unsigned base = 10;
    if (end - at > 2 && at[1] == 'x') {
        base = 16;
        at += 2;
    }
    uint64_t value = 0;
    for (; at < end; at++) {
        uint64_t digit = (uint64_t)digit_value(*at);
        if (value > (UINT64_MAX - digit) / base) {
            value = UINT64_MAX;
            break;
        }
        value = value * base + digit;
    }
    expr->overflow = value > INT64_MAX;
    memcpy(&expr->integer, &value, sizeof value);
    return expr;
}

struct ast_expr *build_constant(struct lexer *lexer, struct span span, double value)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_FLOAT, span);
    expr->number = value;
    return expr;
}

struct ast_expr *build_float(struct lexer *lexer, struct span span)
{
    double value = 0;
    text_parse_double(lexer->source->text + span.begin, span.end - span.begin, &value);
    return build_constant(lexer, span, value);
}

struct ast_expr *build_bool(struct lexer *lexer, struct span span, bool value)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_BOOL, span);
    expr->integer = value;
    return expr;
}

struct ast_expr *build_named(struct lexer *lexer, enum ast_expr_kind kind, struct span span, struct ast_name name,
                             struct ast_exprs over, struct ast_exprs args)
{
    struct ast_expr *expr = build_expr(lexer, kind, span);
    expr->name = name;
    expr->over = over;
    expr->args = args;
    return measured(lexer, expr);
}

struct ast_expr *build_member(struct lexer *lexer, struct span span, struct ast_name name, struct ast_name member)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_MEMBER, span);
    expr->name = name;
    expr->member = member;
    return expr;
}

struct ast_expr *build_unary(struct lexer *lexer, struct span span, enum ast_operator op, struct ast_expr *a)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_UNARY, span);
    expr->op = op;
    expr->args = one_expr(lexer, a);
    return measured(lexer, expr);
}

struct ast_expr *build_binary(struct lexer *lexer, struct span span, enum ast_operator op, struct ast_expr *a,
                              struct ast_expr *b)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_BINARY, span);
    expr->op = op;
    expr->args = more_exprs(lexer, one_expr(lexer, a), b);
    return measured(lexer, expr);
}

struct ast_expr *build_conditional(struct lexer *lexer, struct span span, struct ast_expr *condition,
                                   struct ast_expr *a, struct ast_expr *b)
{
    struct ast_expr *expr = build_expr(lexer, EXPR_CONDITIONAL, span);
    expr->args = more_exprs(lexer, more_exprs(lexer, one_expr(lexer, condition), a), b);
    return measured(lexer, expr);
}

struct ast_exprs more_exprs(struct lexer *lexer, struct ast_exprs list, struct ast_expr *expr)
{
    ARENA_PUSH(lexer->arena, list.items, list.count, list.capacity, expr);
    return list;
}

struct ast_exprs one_expr(struct lexer *lexer, struct ast_expr *expr)
{
    // Most lists are short: no room for eight from the start.
    struct ast_exprs list = {.count = 1, .capacity = 3, .items = ARENA_ARRAY(lexer->arena, struct ast_expr *, 3)};
    list.items[0] = expr;
    return list;
}

struct ast_names more_names(struct lexer *lexer, struct ast_names list, struct ast_name name)
{
    ARENA_PUSH(lexer->arena, list.items, list.count, list.capacity, name);
    return list;
}

struct ast_names one_name(struct lexer *lexer, struct ast_name name)
{
    return more_names(lexer, (struct ast_names){0}, name);
}

// ---------------------------------------------------------------------------------------------- statements

struct ast_stmt *build_stmt(struct lexer *lexer, enum ast_stmt_kind kind, struct span span)
{
    struct ast_stmt *stmt = ARENA_NEW(lexer->arena, struct ast_stmt);
    stmt->kind = kind;
    stmt->span = span;
    return stmt;
}

struct ast_stmt *build_declaration(struct lexer *lexer, enum ast_stmt_kind kind, struct span span, struct ast_name name,
                                   struct ast_expr *value)
{
    struct ast_stmt *stmt = build_stmt(lexer, kind, span);
    stmt->name = name;
    stmt->value = value;
    return stmt;
}

struct ast_stmt *build_assignment(struct lexer *lexer, struct span span, struct ast_expr *place, enum ast_assign assign,
                                  struct ast_expr *value)
{
    struct ast_stmt *stmt = build_stmt(lexer, STMT_ASSIGN, span);
    stmt->place = place;
    stmt->assign = assign;
    stmt->value = value;
    return stmt;
}

static const char *foreign_statement_help(const char *word)
{
    if (!strcmp(word, "break")) return "a loop that ends early is 'for t in jagged_tile(n) while c { … }'";
    if (!strcmp(word, "continue")) return "put the rest of the loop into 'if c { … }'";
    if (!strcmp(word, "return")) return "what a kernel gives back are its outputs: store to them, 'out[i] = e;'";
    if (!strcmp(word, "pass")) return "leave it out: a block may be empty";
    return NULL;
}

// `break;` and `x == 0;` have the form of an expression, and are something else in the writer's mind.
struct ast_stmt *build_expr_stmt(struct lexer *lexer, struct span span, struct ast_expr *value)
{
    const char *help = value->kind == EXPR_NAME ? foreign_statement_help(value->name.text) : NULL;
    if (help) {
        diagnose(lexer->diagnostics, SEVERITY_ERROR, "E0109", value->span, "the language has no '%s'",
                 value->name.text)->help = help;
        return build_stmt(lexer, STMT_ERROR, span);
    }
    if (value->kind == EXPR_BINARY && value->op == OPERATOR_EQ) {
        diagnose(lexer->diagnostics, SEVERITY_ERROR, "E0111", value->span, "a comparison is no statement")->help =
            "to assign or store write '='";
        return build_stmt(lexer, STMT_ERROR, span);
    }
    struct ast_stmt *stmt = build_stmt(lexer, STMT_EXPR, span);
    stmt->value = value;
    return stmt;
}

static struct ast_stmt *measured_stmt(struct lexer *lexer, struct ast_stmt *stmt)
{
    int depth = stmt->body.depth > stmt->otherwise.depth ? stmt->body.depth : stmt->otherwise.depth;
    if (depth < AST_STMT_DEPTH) return stmt;
    too_deep_error(lexer, stmt->span);
    return build_stmt(lexer, STMT_ERROR, stmt->span);
}

// `target` becomes the loop; `domain` holds its domain's name and bounds.
struct ast_stmt *build_for(struct lexer *lexer, struct span span, struct ast_stmt *target, const struct ast_stmt *domain,
                           struct ast_expr *condition, struct ast_block body)
{
    struct ast_stmt *loop = target;
    loop->span = span;
    loop->domain = domain->domain;
    loop->domain_span = domain->span;
    loop->bounds = domain->bounds;
    loop->condition = condition;
    loop->body = body;
    return measured_stmt(lexer, loop);
}

struct ast_stmt *build_if(struct lexer *lexer, struct span span, struct ast_expr *condition, struct ast_block body,
                          const struct ast_block *otherwise)
{
    struct ast_stmt *stmt = build_stmt(lexer, STMT_IF, span);
    stmt->value = condition;
    stmt->body = body;
    stmt->has_else = otherwise != NULL;
    if (otherwise) stmt->otherwise = *otherwise;
    return measured_stmt(lexer, stmt);
}

struct ast_block block_add(struct lexer *lexer, struct ast_block block, struct ast_stmt *stmt)
{
    int depth = 1 + (stmt->body.depth > stmt->otherwise.depth ? stmt->body.depth : stmt->otherwise.depth);
    if (depth > block.depth) block.depth = depth;
    ARENA_PUSH(lexer->arena, block.items, block.count, block.capacity, stmt);
    return block;
}

// ---------------------------------------------------------------------------------------------- kernels and files

struct ast_generics generics_add(struct lexer *lexer, struct ast_generics list, struct ast_generic generic)
{
    ARENA_PUSH(lexer->arena, list.items, list.count, list.capacity, generic);
    return list;
}

struct ast_params params_add(struct lexer *lexer, struct ast_params list, struct ast_param param)
{
    ARENA_PUSH(lexer->arena, list.items, list.count, list.capacity, param);
    return list;
}

void file_add(struct lexer *lexer, struct ast_item item)
{
    struct ast_file *file = lexer->file;
    ARENA_PUSH(lexer->arena, file->items, file->count, file->capacity, item);
}

void file_add_kernel(struct lexer *lexer, struct span span, struct ast_name name, struct ast_generics generics,
                     struct ast_params params, struct ast_params outputs, struct ast_block body)
{
    struct ast_kernel *kernel = ARENA_NEW(lexer->arena, struct ast_kernel);
    *kernel = (struct ast_kernel){
        .name = name,
        .span = span,
        .generic_count = generics.count,
        .param_count = params.count,
        .output_count = outputs.count,
        .generics = generics.items,
        .params = params.items,
        .outputs = outputs.items,
        .body = body,
    };
    file_add(lexer, (struct ast_item){ITEM_KERNEL, .span = span, .name = name, .kernel = kernel});
}
