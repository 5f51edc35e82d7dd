// SPDX-License-Identifier: Apache-2.0
// Lines, names, types and comments of the emitted text.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/emitter.h"

static void indent(struct emitter *emitter) {
    for (int i = 0; i < emitter->indent; i++)
        text_add(emitter->out, "    ");
}

static char *format_text(struct arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

const char *print(struct emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    return text;
}

void line(struct emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    if (*text)
        indent(emitter);
    text_add(emitter->out, text);
    text_add(emitter->out, "\n");
}

void open_brace(struct emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    indent(emitter);
    text_add(emitter->out, text);
    text_add(emitter->out, *text ? " {\n" : "{\n");
    emitter->indent++;
}

void close_brace(struct emitter *emitter) {
    emitter->indent--;
    line(emitter, "}");
}

bool give_up(struct emitter *emitter, const char *code, struct span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    if (!emitter->status.code)
        emitter->status = (struct status){false, code, text, span};
    return false;
}

// ---------------------------------------------------------------------------------------------- names

// Words of C, C++ and CUDA, and of the text around the program's own names.
static const char *const taken[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "block",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "gridDim",
    "if",
    "inline",
    "int",
    "lane",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "shared",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread",
    "threadIdx",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "warp",
    "warpSize",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "blocks",
    "arguments",
    "printf",
    "NULL",
    "INFINITY",
    "NAN",
    "I",
    "linux",
    "unix",
    "fabs",
    "fabsf",
    "fma",
    "fmaf",
    "exp",
    "expf",
    "exp2",
    "exp2f",
    "log",
    "logf",
    "log2",
    "log2f",
    "sqrt",
    "sqrtf",
    "sin",
    "sinf",
    "cos",
    "cosf",
    "tanh",
    "tanhf",
    "erf",
    "erff",
    "floor",
    "floorf",
    "ceil",
    "ceilf",
    "rint",
    "rintf",
    "fmod",
    "fmodf",
    "min",
    "max",
    "abs",
    "atomicAdd",
    "atomicMax",
    "atomicMin",
    "atomicCAS",
    "assert",
    // functions and macros of the C library that the CPU's text includes or gcc knows
    "y0",
    "y1",
    "yn",
    "j0",
    "j1",
    "jn",
    "gamma",
    "round",
    "trunc",
    "index",
    "signbit",
    "isnan",
    "isinf",
    "pow",
    "div",
    "log1p",
    "math_errhandling",
    "fpclassify",
    "isfinite",
    "isnormal",
    "isunordered",
    "isgreater",
    "isgreaterequal",
    "isless",
    "islessequal",
    "islessgreater",
};

// Capitals, as macros of headers are written (EOF, M_PI, FP_NAN), but for dimensions of one letter or two.
static bool may_be_macro(const char *name) {
    size_t length = strlen(name);
    return (length > 2 && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length) ||
           !strncmp(name, "L_", 2) || !strncmp(name, "P_", 2);
}

static bool is_taken(const char *name) {
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(name, taken[i]))
            return true;
    return may_be_macro(name) || !strncmp(name, "tile_", 5) || !strncmp(name, "__", 2) ||
           (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z');
}

static bool is_given(const struct emitter *emitter, const char *name) {
    for (int i = 0; i < emitter->name_count; i++)
        if (!strcmp(emitter->names[i], name))
            return true;
    return false;
}

static bool is_word_byte(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_in_comment(const char *at, const char *start) {
    while (at > start && at[-1] != '\n')
        at--;
    return !strncmp(at + strspn(at, " "), "//", 2);
}

// Where the word stands in the text, outside comments, from `from` on; NULL: nowhere.
static char *find_word(char *from, const char *start, const char *word) {
    size_t length = strlen(word);
    for (char *at = strstr(from, word); at; at = strstr(at + 1, word))
        if ((at == start || !is_word_byte(at[-1])) && !is_word_byte(at[length]) && !is_in_comment(at, start))
            return at;
    return NULL;
}

void note_position(struct emitter *emitter, const char *name) {
    ARENA_PUSH(emitter->arena, emitter->positions, emitter->position_count, emitter->position_capacity, name);
}

void drop_unused(struct text *text, const char *name) {
    char *at = text->data ? find_word(text->data, text->data, name) : NULL;
    if (!at || find_word(at + 1, text->data, name))
        return;
    char *begin = at, *end = strchr(at, '\n');
    while (begin > text->data && begin[-1] != '\n')
        begin--;
    memmove(begin, end + 1, text->length - (size_t)(end + 1 - text->data) + 1);
    text->length -= (size_t)(end + 1 - begin);
}

const char *unique_name(struct emitter *emitter, const char *wish) {
    const char *name = is_taken(wish) ? print(emitter, "%s%s_", *wish == '_' ? "n" : "", wish) : wish;
    for (int i = 2; is_given(emitter, name); i++)
        name = print(emitter, "%s_%d", wish, i);
    ARENA_PUSH(emitter->arena, emitter->names, emitter->name_count, emitter->name_capacity, name);
    return name;
}

// ---------------------------------------------------------------------------------------------- types

const char *register_type(enum ir_type type) {
    switch (type) {
    case TYPE_BOOL: return "bool";
    case TYPE_I64: return "long long";
    case TYPE_F64: return "double";
    case TYPE_F16:
    case TYPE_BF16:
    case TYPE_F32: return "float";
    default: return "int";
    }
}

const char *storage_type(enum ir_type type) {
    switch (type) {
    case TYPE_BOOL:
    case TYPE_U8: return "unsigned char";
    case TYPE_I8: return "signed char";
    case TYPE_F16:
    case TYPE_BF16: return "unsigned short";
    default: return register_type(type);
    }
}

const char *type_suffix(enum ir_type type) {
    switch (type) {
    case TYPE_F16:
    case TYPE_BF16: return "f32";
    case TYPE_I8:
    case TYPE_U8: return "i32";
    default: return ir_type_name(type);
    }
}

// ---------------------------------------------------------------------------------------------- comments

// One line of text that ends no comment and goes on in no other line: no trigraphs, and no backslash at its end.
const char *comment_text(struct emitter *emitter, const char *text, size_t length) {
    char *copy = ARENA_ARRAY(emitter->arena, char, length + 1);
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '?' && count && copy[count - 1] == '?')
            continue;
        copy[count++] = (unsigned char)text[i] < 32 ? ' ' : text[i];
    }
    while (count && (copy[count - 1] == ' ' || copy[count - 1] == '\\'))
        count--;
    copy[count] = 0;
    return copy;
}

static void comment_line(struct emitter *emitter, int number) {
    const struct source *source = emitter->kernel->source;
    if (!source)
        return;
    size_t offset = 0;
    for (int i = 1; i < number && offset < source->length; offset++)
        i += source->text[offset] == '\n';
    size_t length;
    const char *text = source_line(source, (uint32_t)offset, &length);
    while (length && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    line(emitter, "// %d: %s", number, comment_text(emitter, text, length));
}

void comment_lines(struct emitter *emitter, int up_to) {
    const struct lowered *lowered = emitter->lowered;
    while (emitter->next_line < lowered->line_count && lowered->lines[emitter->next_line] <= up_to)
        comment_line(emitter, lowered->lines[emitter->next_line++]);
}
