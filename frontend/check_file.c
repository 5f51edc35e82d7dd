// SPDX-License-Identifier: Apache-2.0
// What stands at file level: constants and functions, of the file and of those it imports. In: a file's items.
// Out: look-ups by name; complaints about the items themselves.
// The one idea: constants are evaluated once, when first asked for; functions are walked once for their names, since
// types are only known where they are expanded.
#include <string.h>

#include "frontend/check.h"

enum { WALK_DEEPEST = 1500 };

// ---------------------------------------------------------------------------------------------- tables of items

static void add_items(struct checker *checker, struct file_items *table, const struct ast_file *from) {
    for (int i = 0; from && i < from->count; i++) {
        const struct ast_item *ast = &from->items[i];
        if (ast->kind != ITEM_CONST && ast->kind != ITEM_FN)
            continue;
        struct item **place = &table->buckets[check_bucket(ast->name.text)];
        bool known = false;
        while (*place) {
            known = known || (*place)->ast == ast;
            place = &(*place)->next;
        }
        if (known)
            continue;  // imported twice
        struct item *item = ARENA_NEW(checker->arena, struct item);
        item->ast = ast;
        item->file = from;
        *place = item;
    }
}

static struct file_items *items_of(struct checker *checker, const struct ast_file *file) {
    for (struct file_items *known = checker->items; known; known = known->next) {
        if (known->file == file)
            return known;
    }
    struct file_items *table = ARENA_NEW(checker->arena, struct file_items);
    table->file = file;
    table->next = checker->items;
    checker->items = table;
    add_items(checker, table, file);
    for (int i = 0; i < file->count; i++) {
        if (file->items[i].kind == ITEM_IMPORT)
            add_items(checker, table, file->items[i].import);
    }
    return table;
}

struct item *item_find(struct checker *checker, const struct ast_file *file, const char *name, enum ast_item_kind kind) {
    struct item *item = items_of(checker, file)->buckets[check_bucket(name)];
    while (item && (item->ast->kind != kind || strcmp(item->ast->name.text, name) != 0))
        item = item->next;
    return item;
}

void item_offer(struct checker *checker, const struct ast_file *file, enum ast_item_kind kind, const char *wanted,
                struct nearest *nearest) {
    const struct file_items *table = items_of(checker, file);
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        for (const struct item *item = table->buckets[bucket]; item; item = item->next) {
            if (item->ast->kind == kind)
                nearest_offer(nearest, wanted, item->ast->name.text);
        }
    }
}

// ---------------------------------------------------------------------------------------------- constants

static struct operand evaluate(struct checker *checker, struct item *item) {
    struct expansion expansion = {.item = item, .call = item->ast->name.span};
    struct expansion *around = checker->expansion;
    struct guard *guard = checker->guard;
    bool constant = checker->constant;
    checker->expansion = &expansion;
    checker->guard = NULL;
    checker->constant = true;
    struct operand value = check_expr(checker, item->ast->value);
    checker->expansion = around;
    checker->guard = guard;
    checker->constant = constant;
    return value;
}

struct operand item_constant(struct checker *checker, struct item *item, struct span use) {
    if (item->state == ITEM_EVALUATING) {
        check_error(checker, "E0215", use, "the constant `%s` is defined by itself", item->ast->name.text)->help =
            "give one of the constants in this circle a value of its own";
        item->operand = operand_error(use);
        item->state = ITEM_DONE;
    }
    if (item->state == ITEM_FRESH) {
        item->state = ITEM_EVALUATING;
        struct operand value = evaluate(checker, item);
        if (item->state == ITEM_EVALUATING)  // else a circle was found
            item->operand = value;
        item->state = ITEM_DONE;
    }
    return item->operand;
}

// ---------------------------------------------------------------------------------------------- functions

static void walk_function(struct checker *checker, struct item *item);

static bool is_parameter(const struct ast_item *ast, const char *name) {
    for (int i = 0; i < ast->params.count; i++) {
        if (!strcmp(ast->params.items[i].text, name))
            return true;
    }
    return false;
}

static void walk_call(struct checker *checker, const struct item *item, const struct ast_expr *expr) {
    const char *name = expr->name.text;
    struct item *called = item_find(checker, item->file, name, ITEM_FN);
    if (!called) {
        if (ir_type_named(name) != TYPE_NONE || is_function_name(name))
            return;
        struct nearest nearest = {0};
        item_offer(checker, item->file, ITEM_FN, name, &nearest);
        struct diagnostic *entry = check_error(checker, "E0203", expr->name.span, "there is no function or type `%s`", name);
        entry->help = nearest.name ? check_printf(checker, "is `%s` meant?", nearest.name)
                                   : "a `fn` sees the functions of its file and of those that it imports";
        return;
    }
    if (called->ast->params.count != expr->args.count)
        check_error(checker, "E0204", expr->span, "`%s` takes %d argument%s, and here it gets %d", name, called->ast->params.count,
                    called->ast->params.count == 1 ? "" : "s", expr->args.count);
    if (called->state == ITEM_EVALUATING)
        check_error(checker, "E0215", expr->span, "`%s` is expanded within itself", name)->help =
            "a `fn` is inlined, so it can't call itself, not even through others";
    else
        walk_function(checker, called);
}

static void walk_expr(struct checker *checker, const struct item *item, const struct ast_expr *expr) {
    if (checker->flooded)
        return;
    if (checker->depth > WALK_DEEPEST) {
        check_error(checker, "E0225", expr->span, "this expands to an expression that is nested too deeply")->help =
            "functions that call functions multiply: use fewer";
        checker->flooded = true;
        return;
    }
    checker->depth++;
    if (expr->kind == EXPR_NAME && !is_parameter(item->ast, expr->name.text)
        && !item_find(checker, item->file, expr->name.text, ITEM_CONST)) {
        struct expansion expansion = {.item = item, .call = item->ast->name.span};
        checker->expansion = &expansion;
        check_unknown_name(checker, expr->name, "value");
        checker->expansion = NULL;
    }
    if (expr->kind == EXPR_ELEMENT || expr->kind == EXPR_REDUCTION || expr->kind == EXPR_MEMBER)
        check_error(checker, "E0216", expr->span, "a `fn` is element-wise and knows neither tensors nor axes")->help =
            "load or reduce first, and hand the value over";
    if (expr->kind == EXPR_STRING)
        check_error(checker, "E0208", expr->span, "a text is no value");
    if (expr->kind == EXPR_CALL)
        walk_call(checker, item, expr);
    for (int i = 0; i < expr->args.count; i++)
        walk_expr(checker, item, expr->args.items[i]);
    checker->depth--;
}

static void walk_function(struct checker *checker, struct item *item) {
    if (item->state != ITEM_FRESH)
        return;
    item->state = ITEM_EVALUATING;
    walk_expr(checker, item, item->ast->value);
    item->state = ITEM_DONE;
}

static void check_parameters(struct checker *checker, const struct item *item) {
    const struct ast_names *params = &item->ast->params;
    for (int i = 0; i < params->count; i++) {
        const struct item *constant = item_find(checker, item->file, params->items[i].text, ITEM_CONST);
        bool twice = false;
        for (int j = 0; j < i; j++)
            twice = twice || !strcmp(params->items[j].text, params->items[i].text);
        if (twice)
            check_error(checker, "E0202", params->items[i].span, "two parameters are called `%s`", params->items[i].text);
        else if (constant)
            check_error(checker, "E0202", params->items[i].span, "`%s` is the name of a constant already",
                        params->items[i].text)
                ->help = "an inner name never hides an outer one: take another name";
    }
}

// ---------------------------------------------------------------------------------------------- all of them

static void check_taken(struct checker *checker, const struct file_items *table, const struct item *item) {
    const struct ast_name name = item->ast->name;
    bool function = item->ast->kind == ITEM_FN;
    if (function && (ir_type_named(name.text) != TYPE_NONE || is_function_name(name.text) || is_statement_name(name.text)))
        check_error(checker, "E0202", name.span, "`%s` is a name of the language already", name.text)->help =
            "take another name";
    for (const struct item *other = table->buckets[check_bucket(name.text)]; other != item; other = other->next) {
        if (other->ast->kind != item->ast->kind || strcmp(other->ast->name.text, name.text) != 0)
            continue;
        struct diagnostic *entry = check_error(checker, "E0202", name.span, "there are two %s of the name `%s`",
                                               function ? "functions" : "constants", name.text);
        entry->note_span = other->ast->name.span;
        entry->note = "the other one is here";
        return;
    }
}

static void check_item(struct checker *checker, const struct file_items *table, struct item *item) {
    check_taken(checker, table, item);
    if (item->ast->kind == ITEM_CONST) {
        item_constant(checker, item, item->ast->name.span);
        return;
    }
    check_parameters(checker, item);
    walk_function(checker, item);
}

static void check_kernel_names(struct checker *checker) {
    const struct ast_file *file = checker->file;
    for (int i = 0; i < file->count; i++) {
        for (int j = 0; j < i; j++) {
            if (file->items[i].kind != ITEM_KERNEL || file->items[j].kind != ITEM_KERNEL)
                continue;
            struct ast_name first = file->items[j].kernel->name, second = file->items[i].kernel->name;
            if (strcmp(first.text, second.text) != 0)
                continue;
            struct diagnostic *entry =
                check_error(checker, "E0202", second.span, "there are two kernels of the name `%s`", second.text);
            entry->note_span = first.span;
            entry->note = "the other one is here";
            break;
        }
    }
}

void check_items(struct checker *checker) {
    const struct file_items *table = items_of(checker, checker->file);
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        for (struct item *item = table->buckets[bucket]; item; item = item->next)
            check_item(checker, table, item);
    }
    check_kernel_names(checker);
}
