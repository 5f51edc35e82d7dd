// SPDX-License-Identifier: Apache-2.0
// In: places in a source and sentences about them. Out: a list, and each entry as users read it.
// A place is a byte offset until it is printed; only then are line, column and what a terminal shows worked out.
#include "ir/diagnostic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_LIMIT = 20, TAB_STOP = 4, WINDOW = 110, MARGIN = 12 };

void diagnostics_init(struct diagnostics *diagnostics, struct arena *arena)
{
    *diagnostics = (struct diagnostics){.arena = arena};
}

static const char *format_in(struct arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = arena_alloc(arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (length > 0) vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

struct diagnostic *diagnose(struct diagnostics *diagnostics, enum severity severity, const char *code, struct span span,
                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct diagnostic entry = {.severity = severity, .code = code, .span = span};
    entry.message = format_in(diagnostics->arena, format, arguments);
    va_end(arguments);
    int limit = diagnostics->limit > 0 ? diagnostics->limit : ERROR_LIMIT;
    bool keep = severity != SEVERITY_ERROR || diagnostics->errors < limit;
    if (severity == SEVERITY_ERROR) diagnostics->errors++;
    if (!keep) {
        // The caller may write help and note all the same.
        struct diagnostic *unseen = ARENA_NEW(diagnostics->arena, struct diagnostic);
        *unseen = entry;
        return unseen;
    }
    ARENA_PUSH(diagnostics->arena, diagnostics->items, diagnostics->count, diagnostics->capacity, entry);
    return &diagnostics->items[diagnostics->count - 1];
}

// ---------------------------------------------------------------------------------------------- places

// Reads one code point; a byte that is no part of one counts as one and is shown as U+FFFD.
static size_t read_code_point(const char *text, size_t length, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text[0];
    *code = first;
    if (first < 0x80) return 1;
    size_t bytes = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    *code = 0xfffd;
    if (first >= 0xf8 || !bytes || bytes > length) return 1;
    uint32_t value = first & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80) return 1;
        value = value << 6 | (next & 0x3f);
    }
    if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 1;
    *code = value;
    return bytes;
}

static uint32_t within(const struct source *source, uint32_t offset)
{
    return offset < source->length ? offset : (uint32_t)source->length;
}

static uint32_t line_begin(const struct source *source, uint32_t offset)
{
    uint32_t begin = within(source, offset);
    while (begin > 0 && source->text[begin - 1] != '\n') begin--;
    return begin;
}

struct position source_position(const struct source *source, uint32_t offset)
{
    struct position position = {1, 1};
    uint32_t begin = line_begin(source, offset), end = within(source, offset);
    for (uint32_t i = 0; i < begin; i++) position.line += source->text[i] == '\n';
    for (uint32_t at = begin; at < end; position.column++) {
        uint32_t code;
        at += (uint32_t)read_code_point(source->text + at, source->length - at, &code);
    }
    return position;
}

const char *source_line(const struct source *source, uint32_t offset, size_t *length)
{
    uint32_t begin = line_begin(source, offset), end = begin;
    while (end < source->length && source->text[end] != '\n') end++;
    if (end > begin && source->text[end - 1] == '\r') end--;
    *length = end - begin;
    return source->text + begin;
}

// ---------------------------------------------------------------------------------------------- what a terminal shows

struct range {
    uint32_t first, last;
};

static bool is_in(uint32_t code, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

// Control characters and those that change the direction of writing would falsify what is shown.
static bool is_hidden(uint32_t code)
{
    static const struct range ranges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x200b, 0x200f},
                                          {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}};
    return is_in(code, ranges, sizeof ranges / sizeof *ranges);
}

// Columns of a terminal: the common double-width and combining ranges of Unicode's East Asian Width table.
static int width_of(uint32_t code)
{
    static const struct range none[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const struct range two[] = {{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},   {0xffe0, 0xffe6},
                                       {0x1f300, 0x1f64f}, {0x1f680, 0x1faff}, {0x20000, 0x3fffd}};
    if (code < 0x300) return 1;
    if (is_in(code, none, sizeof none / sizeof *none)) return 0;
    return is_in(code, two, sizeof two / sizeof *two) ? 2 : 1;
}

// Appends what stands for one code point at terminal column `column`; returns how many columns it takes.
static int show(struct text *out, const char *bytes, size_t length, uint32_t code, int column)
{
    if (code == '\t') {
        int width = TAB_STOP - column % TAB_STOP;
        for (int i = 0; out && i < width; i++) text_add(out, " ");
        return width;
    }
    if (code == 0xfffd || is_hidden(code)) {
        if (out) text_add(out, "\xef\xbf\xbd");
        return 1;
    }
    if (out) text_add_bytes(out, bytes, length);
    return width_of(code);
}

struct marked_line {
    const char *text;
    size_t length;
    size_t begin, end;  // marked bytes, in the line
};

// Terminal columns before byte `until` of the line.
static int columns_before(const struct marked_line *line, size_t until)
{
    int column = 0;
    for (size_t at = 0; at < until && at < line->length;) {
        uint32_t code;
        size_t bytes = read_code_point(line->text + at, line->length - at, &code);
        column += show(NULL, line->text + at, bytes, code, column);
        at += bytes;
    }
    return column;
}

// The part of the line between two terminal columns, with "..." where something was left out.
static void show_window(struct text *out, const struct marked_line *line, int from, int to)
{
    int column = 0;
    bool cut = false;
    if (from > 0) text_add(out, "...");
    for (size_t at = 0; at < line->length;) {
        uint32_t code;
        size_t bytes = read_code_point(line->text + at, line->length - at, &code);
        cut = column >= to;
        if (cut) break;
        int width = show(column >= from ? out : NULL, line->text + at, bytes, code, column);
        // What begins before the window and ends inside it is shown as blanks.
        for (int i = from; column < from && i < column + width; i++) text_add(out, " ");
        column += width;
        at += bytes;
    }
    if (cut) text_add(out, "...");
    text_add(out, "\n");
}

static void repeat(struct text *out, const char *piece, int count)
{
    for (int i = 0; i < count; i++) text_add(out, piece);
}

static struct marked_line marked_line_of(struct span span)
{
    struct marked_line line;
    line.text = source_line(span.source, span.begin, &line.length);
    size_t offset = (size_t)(line.text - span.source->text);
    line.begin = within(span.source, span.begin) - offset;
    line.end = within(span.source, span.end < span.begin ? span.begin : span.end) - offset;
    if (line.begin > line.length) line.begin = line.length;
    if (line.end > line.length) line.end = line.length;
    return line;
}

static void print_snippet(struct text *out, struct span span, const char *mark, const char *plain)
{
    struct marked_line line = marked_line_of(span);
    int first = columns_before(&line, line.begin), last = columns_before(&line, line.end);
    if (last <= first) last = first + 1;
    int from = 0, to = columns_before(&line, line.length);
    if (to > WINDOW) {
        from = first > WINDOW - 3 * MARGIN ? first - 2 * MARGIN : 0;
        if (to > from + WINDOW) to = from + WINDOW;
    }
    text_printf(out, "%5d | ", source_position(span.source, span.begin).line);
    show_window(out, &line, from, to);
    text_add(out, "      | ");
    repeat(out, " ", first - from + (from > 0 ? 3 : 0));
    if (last > from + WINDOW) last = from + WINDOW;
    text_printf(out, "%s^", mark);
    repeat(out, "~", last - first - 1);
    text_printf(out, "%s\n", plain);
}

static void print_place(struct text *out, struct span span)
{
    if (!span.source) return;
    struct position position = source_position(span.source, span.begin);
    text_printf(out, "%s:%d:%d: ", span.source->path ? span.source->path : "<input>", position.line, position.column);
}

static void print_note(struct text *out, const struct diagnostic *diagnostic, bool colour)
{
    const char *cyan = colour ? "\033[1;36m" : "", *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    if (diagnostic->help) text_printf(out, "      %shelp:%s %s\n", cyan, plain, diagnostic->help);
    if (!diagnostic->note) return;
    text_add(out, diagnostic->note_span.source ? bold : "      ");
    print_place(out, diagnostic->note_span);
    text_printf(out, "%snote:%s %s\n", cyan, plain, diagnostic->note);
    if (diagnostic->note_span.source) print_snippet(out, diagnostic->note_span, cyan, plain);
}

void diagnostic_print(struct text *out, const struct diagnostic *diagnostic, bool colour)
{
    bool error = diagnostic->severity == SEVERITY_ERROR;
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    const char *mark = !colour ? "" : error ? "\033[1;31m" : "\033[1;35m";
    text_add(out, bold);
    print_place(out, diagnostic->span);
    text_printf(out, "%s%s[%s]:%s ", mark, error ? "error" : "warning", diagnostic->code, plain);
    text_printf(out, "%s%s%s\n", bold, diagnostic->message, plain);
    if (diagnostic->span.source) print_snippet(out, diagnostic->span, mark, plain);
    print_note(out, diagnostic, colour);
}
