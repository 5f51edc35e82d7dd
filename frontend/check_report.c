// SPDX-License-Identifier: Apache-2.0
// How the checker complains. In: a code, a place, a sentence. Out: a diagnostic, unless that place has it already.
// The one idea: a place complains once with one code, however many expansions or specializations come by it.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/check.h"

struct complaint {
    const char *code;
    struct span span;
    struct complaint *next;  // in its bucket
};

// Whether this place has complained with this code before; from now on it has.
static bool is_repeated(struct checker *checker, const char *code, struct span span) {
    struct complaint **bucket = &checker->complaints[(span.begin * 31 + span.end) % COMPLAINT_BUCKETS];
    for (const struct complaint *known = *bucket; known; known = known->next) {
        bool here = known->span.source == span.source && known->span.begin == span.begin && known->span.end == span.end;
        if (here && !strcmp(known->code, code))
            return true;
    }
    struct complaint *complaint = ARENA_NEW(checker->arena, struct complaint);
    *complaint = (struct complaint){code, span, *bucket};
    *bucket = complaint;
    return false;
}

static const char *format_text(struct checker *checker, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = arena_alloc(checker->arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (length > 0)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

enum { WARNINGS_MOST = 100 };

static struct diagnostic *report(struct checker *checker, enum severity severity, const char *code, struct span span,
                                 const char *message) {
    bool enough = severity == SEVERITY_WARNING && checker->warnings >= WARNINGS_MOST;
    if (checker->flooded || enough || is_repeated(checker, code, span))
        return ARENA_NEW(checker->arena, struct diagnostic);  // the caller may add to it, unseen
    checker->warnings += severity == SEVERITY_WARNING;
    struct diagnostic *entry = diagnose(checker->diagnostics, severity, code, span, "%s", message);
    const struct expansion *outermost = checker->expansion;
    while (outermost && outermost->outer)
        outermost = outermost->outer;
    if (outermost && outermost->item->ast->kind == ITEM_FN) {
        entry->note_span = outermost->call;
        entry->note = check_printf(checker, "in the expansion of `%s` here", outermost->item->ast->name.text);
    }
    return entry;
}

struct diagnostic *check_error(struct checker *checker, const char *code, struct span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = format_text(checker, format, arguments);
    va_end(arguments);
    return report(checker, SEVERITY_ERROR, code, span, message);
}

struct diagnostic *check_warning(struct checker *checker, const char *code, struct span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = format_text(checker, format, arguments);
    va_end(arguments);
    return report(checker, SEVERITY_WARNING, code, span, message);
}

const char *check_printf(struct checker *checker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(checker, format, arguments);
    va_end(arguments);
    return text;
}

// ---------------------------------------------------------------------------------------------- words in messages

enum { TEXT_LONGEST = 60 };

const char *check_text(struct checker *checker, struct span span) {
    if (!span.source || span.end <= span.begin || span.end > span.source->length)
        return "…";
    size_t length = span.end - span.begin;
    const char *from = span.source->text + span.begin;
    if (length > TEXT_LONGEST || memchr(from, '\n', length) || memchr(from, '\r', length))
        return "…";
    return arena_copy(checker->arena, from, length);
}

const char *check_axes_list(struct checker *checker, axes_t axes) {
    const char *text = "";
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if (axes & AXIS_BIT(axis))
            text = check_printf(checker, "%s%s%s", text, *text ? ", " : "", checker->kernel->axes[axis].name);
    }
    return text;
}

const char *check_axes_text(struct checker *checker, axes_t axes) {
    const char *text = "";
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if (!(axes & AXIS_BIT(axis)))
            continue;
        bool last = !(axes >> axis >> 1);
        text = check_printf(checker, "%s%s`%s`", text, !*text ? "" : last ? " and " : ", ", checker->kernel->axes[axis].name);
    }
    return text;
}

static bool has_axis_named(const struct checker *checker, axes_t axes, const char *name) {
    for (int axis = 0; axis < checker->kernel->axis_count; axis++) {
        if ((axes & AXIS_BIT(axis)) && !strcmp(checker->kernel->axes[axis].name, name))
            return true;
    }
    return false;
}

const char *check_reduced_text(struct checker *checker, const char *name, axes_t axes, const struct ast_expr *expr) {
    const char *list = check_axes_list(checker, axes);
    for (; expr->kind == EXPR_REDUCTION && !strcmp(expr->name.text, name) && expr->args.count == 1; expr = expr->args.items[0]) {
        for (int i = 0; i < expr->over.count; i++) {
            const struct ast_expr *over = expr->over.items[i];
            if (over->kind == EXPR_NAME && !has_axis_named(checker, axes, over->name.text))
                list = check_printf(checker, "%s, %s", list, over->name.text);
        }
    }
    return check_printf(checker, "%s[%s](%s)", name, list, check_text(checker, expr->span));
}

const char *check_type_text(struct checker *checker, const struct operand *operand) {
    switch (operand->kind) {
    case OPERAND_BOOL:
        return "a bool";
    case OPERAND_INTEGER:
        return "an integer literal";
    case OPERAND_FLOAT:
        return "a floating literal";
    case OPERAND_VALUE: {
        const char *name = ir_type_name(operand->value->type);
        bool vowel = *name == 'i' || (*name == 'f' && strcmp(name, "f8") != 0);
        return check_printf(checker, "%s %s", vowel ? "an" : "a", name);
    }
    default:
        return "an error";
    }
}

// ---------------------------------------------------------------------------------------------- places

static void find_lines(struct checker *checker, const struct source *source) {
    ARENA_PUSH(checker->arena, checker->line_starts, checker->line_count, checker->line_capacity, 0);
    for (size_t i = 0; i < source->length; i++) {
        if (source->text[i] == '\n')
            ARENA_PUSH(checker->arena, checker->line_starts, checker->line_count, checker->line_capacity, (uint32_t)(i + 1));
    }
}

// Many statements, so the lines are found once and then searched.
void check_line(struct checker *checker, struct span span) {
    if (!span.source || span.source != checker->file->source)
        return;
    if (!checker->line_count)
        find_lines(checker, span.source);
    int low = 0, high = checker->line_count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        *(checker->line_starts[middle] <= span.begin ? &low : &high) = middle;
    }
    checker->builder.line = low + 1;
}

// ---------------------------------------------------------------------------------------------- names that are meant

enum { NAME_LONGEST = 40, DISTANCE_MOST = 2 };

// Changes, insertions and deletions that make one name of the other, up to DISTANCE_MOST + 1.
static int distance_between(const char *a, const char *b) {
    int rows = (int)strlen(a), columns = (int)strlen(b);
    if (rows > NAME_LONGEST || columns > NAME_LONGEST || abs(rows - columns) > DISTANCE_MOST)
        return DISTANCE_MOST + 1;
    int line[NAME_LONGEST + 1];
    for (int j = 0; j <= columns; j++)
        line[j] = j;
    for (int i = 1; i <= rows; i++) {
        int diagonal = line[0];
        line[0] = i;
        for (int j = 1; j <= columns; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            int other = (line[j] < line[j - 1] ? line[j] : line[j - 1]) + 1;
            diagonal = line[j];
            line[j] = change < other ? change : other;
        }
    }
    return line[columns];
}

void nearest_offer(struct nearest *nearest, const char *wanted, const char *candidate) {
    int distance = distance_between(wanted, candidate);
    // A name of two letters is near to everything.
    if (distance == 0 || distance > DISTANCE_MOST || distance >= (int)strlen(wanted) - 1)
        return;
    if (!nearest->name || distance < nearest->distance)
        *nearest = (struct nearest){candidate, distance};
}

// ---------------------------------------------------------------------------------------------- order

struct numbered {
    struct diagnostic diagnostic;
    int number;
};

static int compare_places(const void *left, const void *right) {
    const struct numbered *a = left, *b = right;
    if (a->diagnostic.span.source == b->diagnostic.span.source && a->diagnostic.span.begin != b->diagnostic.span.begin)
        return a->diagnostic.span.begin < b->diagnostic.span.begin ? -1 : 1;
    return a->number - b->number;
}

// The rules on the finished IR come last, but a reader goes from top to bottom.
void check_sort(struct checker *checker) {
    int count = checker->diagnostics->count - checker->first;
    if (count < 2)
        return;
    struct numbered *entries = ARENA_ARRAY(checker->arena, struct numbered, count);
    struct diagnostic *items = checker->diagnostics->items + checker->first;
    const struct source *source = items[0].span.source;
    for (int i = 0; i < count; i++) {
        entries[i] = (struct numbered){items[i], i};
        if (items[i].span.source != source)
            return;  // several files: by place would mean nothing
    }
    qsort(entries, (size_t)count, sizeof *entries, compare_places);
    for (int i = 0; i < count; i++)
        items[i] = entries[i].diagnostic;
}
