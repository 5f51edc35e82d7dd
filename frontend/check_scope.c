// SPDX-License-Identifier: Apache-2.0
// Names in scope. In: declarations and blocks as they begin and end. Out: what a name means; warnings of unused ones.
// The one idea: values, tensors, axes and dimensions share one scope and never hide each other, so one table with an
// undo stack is enough. Values of dimensions, scalars and axes are made when they are first asked for, at a place that
// every use lies behind.
#include <string.h>

#include "frontend/check.h"

unsigned check_bucket(const char *name) {
    unsigned hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % BUCKETS;
}

struct symbol *scope_find(struct checker *checker, const char *name) {
    for (struct symbol *symbol = checker->buckets[check_bucket(name)]; symbol; symbol = symbol->hidden) {
        if (!strcmp(symbol->name.text, name))
            return symbol;
    }
    return NULL;
}

static const char *kind_text(enum symbol_kind kind) {
    switch (kind) {
    case SYMBOL_LET:
        return "`let`";
    case SYMBOL_VAR:
        return "`var`";
    case SYMBOL_TENSOR:
        return "tensor";
    case SYMBOL_SCALAR:
        return "scalar";
    case SYMBOL_AXIS:
        return "axis";
    case SYMBOL_RANGE:
        return "loop index";
    default:
        return "dimension";
    }
}

static void refuse_taken_name(struct checker *checker, struct ast_name name) {
    const struct symbol *symbol = scope_find(checker, name.text);
    if (symbol) {
        struct diagnostic *entry = check_error(checker, "E0202", name.span, "`%s` is the name of %s %s already", name.text,
                                               symbol->kind == SYMBOL_AXIS ? "an" : "a", kind_text(symbol->kind));
        entry->help = "values, tensors, axes and dimensions share one scope, and an inner name never hides an outer one: "
                      "take another name";
        entry->note_span = symbol->name.span;
        entry->note = "declared here";
        return;
    }
    const struct item *item = item_find(checker, checker->file, name.text, ITEM_CONST);
    if (!item)
        return;
    struct diagnostic *entry = check_error(checker, "E0202", name.span, "`%s` is the name of a constant already", name.text);
    entry->help = "an inner name never hides an outer one: take another name";
    entry->note_span = item->ast->name.span;
    entry->note = "declared here";
}

struct symbol *scope_declare(struct checker *checker, enum symbol_kind kind, struct ast_name name) {
    refuse_taken_name(checker, name);
    struct symbol *symbol = ARENA_NEW(checker->arena, struct symbol);
    symbol->kind = kind;
    symbol->name = name;
    symbol->index = -1;
    symbol->quiet = name.text[0] == '_';
    struct symbol **bucket = &checker->buckets[check_bucket(name.text)];
    symbol->hidden = *bucket;
    *bucket = symbol;
    ARENA_PUSH(checker->arena, checker->symbols, checker->symbol_count, checker->symbol_capacity, symbol);
    return symbol;
}

int scope_enter(struct checker *checker) {
    return checker->symbol_count;
}

void scope_leave(struct checker *checker, int mark) {
    while (checker->symbol_count > mark) {
        struct symbol *symbol = checker->symbols[--checker->symbol_count];
        checker->buckets[check_bucket(symbol->name.text)] = symbol->hidden;
        if (!symbol->used && !symbol->quiet && !symbol->broken && symbol->kind != SYMBOL_DIM)
            ARENA_PUSH(checker->arena, checker->unused, checker->unused_count, checker->unused_capacity, symbol);
    }
}

static void warn_unused(struct checker *checker, const struct symbol *symbol) {
    const char *name = symbol->name.text;
    if (symbol->loop) {
        struct diagnostic *entry =
            check_warning(checker, "W0603", symbol->name.span, "the index `%s` of this loop is never used", name);
        entry->help = symbol->kind == SYMBOL_RANGE ? "if the loop only counts, call it `_`"
                                                   : "every point of the loop does the same: is an index missing?";
        return;
    }
    struct diagnostic *entry =
        check_warning(checker, "W0601", symbol->name.span, "the %s `%s` is never used", kind_text(symbol->kind), name);
    entry->help = check_printf(checker, "leave it out, or call it `_%s` to keep it", name);
}

// Where there are errors, what would have used a name may be what is in error.
void scope_warn_unused(struct checker *checker) {
    for (int i = 0; i < checker->unused_count && checker->diagnostics->errors == checker->errors; i++)
        warn_unused(checker, checker->unused[i]);
    checker->unused_count = 0;
}

void check_unknown_name(struct checker *checker, struct ast_name name, const char *what) {
    if (checker->gaps)
        return;
    struct nearest nearest = {0};
    if (!checker->expansion) {
        for (int i = 0; i < checker->symbol_count; i++)
            nearest_offer(&nearest, name.text, checker->symbols[i]->name.text);
    }
    item_offer(checker, checker->expansion ? checker->expansion->item->file : checker->file, ITEM_CONST, name.text, &nearest);
    struct diagnostic *entry = check_error(checker, "E0201", name.span, "there is no %s `%s` here", what, name.text);
    if (nearest.name)
        entry->help = check_printf(checker, "is `%s` meant?", nearest.name);
    else if (checker->constant)
        entry->help = "a `const` is made of literals and of constants of its file";
    else if (checker->expansion)
        entry->help = "a `fn` sees its parameters and the constants of its file";
    else if (check_type_named(checker, name.text) != TYPE_NONE)
        entry->help = check_printf(checker, "`%s` is a type: convert with `%s(…)`", name.text, name.text);
}

// ---------------------------------------------------------------------------------------------- values made when asked for

static struct ir_builder builder_at(const struct checker *checker, struct ir_region *region, struct ir_op *after,
                                    struct span span) {
    struct ir_builder builder = checker->builder;
    builder.region = region;
    builder.before = after ? after->next : region->first;
    builder.span = span;
    builder.line = 0;
    return builder;
}

// Dimensions and scalars stand at the beginning of the body, in the order of their first use.
static struct ir_builder builder_at_front(struct checker *checker, const struct symbol *symbol) {
    return builder_at(checker, checker->kernel->body, checker->front, symbol->name.span);
}

struct ir_value *scope_dim(struct checker *checker, struct symbol *symbol) {
    if (symbol->value)
        return symbol->value;
    struct ir_builder builder = builder_at_front(checker, symbol);
    const struct ir_dim *dim = symbol->index < 0 ? NULL : &checker->kernel->dims[symbol->index];
    if (!dim || dim->is_static)
        symbol->value = ir_integer(&builder, TYPE_I64, dim ? dim->value : 0);
    else
        symbol->value = ir_dim_value(&builder, symbol->index);
    symbol->value->name = symbol->name.text;
    checker->front = symbol->value->def;
    return symbol->value;
}

struct ir_value *scope_scalar(struct checker *checker, struct symbol *symbol) {
    if (symbol->value)
        return symbol->value;
    struct ir_builder builder = builder_at_front(checker, symbol);
    symbol->value = ir_scalar_value(&builder, symbol->index);
    symbol->value->name = symbol->name.text;
    checker->front = symbol->value->def;
    return symbol->value;
}

struct ir_value *scope_index(struct checker *checker, struct symbol *symbol) {
    if (symbol->value)
        return symbol->value;
    struct ir_builder builder = builder_at(checker, symbol->anchor.region, symbol->anchor.after, symbol->name.span);
    const struct ir_op *loop = checker->kernel->axes[symbol->index].loop;
    builder.line = loop ? loop->line : 0;
    symbol->value = ir_axis_value(&builder, OP_INDEX, symbol->index);
    symbol->value->name = symbol->name.text;
    return symbol->value;
}
