// SPDX-License-Identifier: Apache-2.0
// The front end without checking, and what it stands on: arenas, texts, diagnostics, limits, imports, signatures, codes.
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "frontend/frontend.h"
#include "tests/unit.h"

// ---------------------------------------------------------------------------------------------- a file in memory

struct parsed {
    struct arena *arena;
    struct diagnostics diagnostics;
    struct ast_file *file;
    struct text printed;  // the diagnostics
};

static const struct source *source_of(struct arena *arena, const char *path, const char *text, size_t length)
{
    struct source *source = ARENA_NEW(arena, struct source);
    source->path = arena_copy(arena, path, strlen(path));
    source->text = arena_copy(arena, text, length);
    source->length = length;
    return source;
}

struct memory_file {
    const char *path, *text;
};

// Files by name, whatever file asks for them.
static const struct source *load(void *data, struct arena *arena, const char *from, const char *path,
                                 const char **reason)
{
    (void)from;
    for (const struct memory_file *file = data; file && file->path; file++)
        if (!strcmp(file->path, path)) return source_of(arena, path, file->text, strlen(file->text));
    *reason = "there is no such file";
    return NULL;
}

static struct parsed parse_bytes(const char *text, size_t length, struct memory_file *files)
{
    struct parsed parsed = {.arena = arena_new()};
    diagnostics_init(&parsed.diagnostics, parsed.arena);
    struct frontend_loader loader = {.load = load, .data = files};
    parsed.file = frontend_parse(parsed.arena, source_of(parsed.arena, "a.tile", text, length), &loader, &parsed.diagnostics);
    text_add(&parsed.printed, "");
    for (int i = 0; i < parsed.diagnostics.count; i++)
        diagnostic_print(&parsed.printed, &parsed.diagnostics.items[i], false);
    return parsed;
}

static struct parsed parse(const char *text)
{
    return parse_bytes(text, strlen(text), NULL);
}

static void done(struct parsed *parsed)
{
    text_free(&parsed->printed);
    arena_free(parsed->arena);
}

static bool has_code(const struct parsed *parsed, const char *code)
{
    for (int i = 0; i < parsed->diagnostics.count; i++)
        if (!strcmp(parsed->diagnostics.items[i].code, code)) return true;
    return false;
}

// ---------------------------------------------------------------------------------------------- ir/: arena, text

static void test_arena(struct unit *unit)
{
    struct arena *arena = arena_new();
    bool zeroed = true, aligned = true;
    for (size_t bytes = 0; bytes < 5000; bytes += 7) {
        unsigned char *object = arena_alloc(arena, bytes);
        aligned &= (uintptr_t)object % _Alignof(max_align_t) == 0;
        for (size_t i = 0; i < bytes; i++) zeroed &= object[i] == 0;
        memset(object, 0xee, bytes);
    }
    // An arena gives zeroed memory.
    CHECK(unit, zeroed);
    // An arena gives aligned memory.
    CHECK(unit, aligned);
    int *items = NULL, count = 0, capacity = 0;
    for (int i = 0; i < 1000; i++) ARENA_PUSH(arena, items, count, capacity, i);
    bool kept = count == 1000;
    for (int i = 0; i < count; i++) kept &= items[i] == i;
    // An array in an arena keeps its items as it grows.
    CHECK(unit, kept);
    CHECK_TEXT(unit, arena_printf(arena, "%d-%s", 7, "x"), "7-x");
    CHECK_TEXT(unit, arena_copy(arena, "abc", 2), "ab");
    char *large = arena_alloc(arena, (size_t)8 << 20);
    large[((size_t)8 << 20) - 1] = 1;
    // An arena goes on behind a large object.
    CHECK_TEXT(unit, arena_printf(arena, "%s", "behind"), "behind");
    arena_free(arena);
    arena_free(NULL);
}

static void check_double(struct unit *unit, double value, const char *expected)
{
    struct text text = {0};
    double back = 0;
    text_double(&text, value);
    CHECK_TEXT(unit, text.data, expected);
    size_t used = text_parse_double(text.data, text.length, &back);
    // And it reads back.
    CHECK(unit, used == text.length && (back == value || (isnan(back) && isnan(value))));
    text_free(&text);
}

static void check_read(struct unit *unit, const char *text, size_t used, double expected)
{
    double value = -1;
    size_t found = text_parse_double(text, strlen(text), &value);
    CHECK(unit, found == used && (!used || value == expected));
}

static void test_numbers(struct unit *unit)
{
    check_double(unit, 0.1, "0.1");
    check_double(unit, 1e300, "1e+300");
    check_double(unit, 5e-324, "5e-324");
    check_double(unit, 1.0 / 3, "0.3333333333333333");
    check_double(unit, 9007199254740993.0, "9007199254740992");
    check_double(unit, 1.7976931348623157e308, "1.7976931348623157e+308");
    check_double(unit, -0.0, "-0");
    check_double(unit, (double)INFINITY, "inf");
    check_double(unit, -(double)INFINITY, "-inf");
    check_double(unit, (double)NAN, "nan");
    check_read(unit, "1.5e3x", 5, 1500);
    check_read(unit, "1e", 1, 1);
    check_read(unit, "1e+", 1, 1);
    check_read(unit, ".5", 2, 0.5);
    check_read(unit, "-2.", 3, -2);
    check_read(unit, ".", 0, 0);
    check_read(unit, "-", 0, 0);
    check_read(unit, "", 0, 0);
    check_read(unit, "x", 0, 0);
    check_read(unit, "infinity", 3, (double)INFINITY);
}

static void test_locale(struct unit *unit)
{
    // Where no such locale is installed the test still holds, in the one there is.
    const char *names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) break;
    check_double(unit, 2.5, "2.5");
    setlocale(LC_ALL, "C");
}

// ---------------------------------------------------------------------------------------------- ir/: diagnostics

static void test_positions(struct unit *unit)
{
    const char *text = "ab\n\xc3\xa9x\r\n\xff\xffz";
    struct source source = {"p", text, strlen(text)};
    struct position at = source_position(&source, 5);
    // Columns count code points.
    CHECK(unit, at.line == 2 && at.column == 2);
    at = source_position(&source, 10);
    // Bad bytes count one by one.
    CHECK(unit, at.line == 3 && at.column == 3);
    at = source_position(&source, 1000);
    // An offset behind the end is the end.
    CHECK(unit, at.line == 3 && at.column == 4);
    size_t length;
    const char *line = source_line(&source, 4, &length);
    // A line ends before its line break.
    CHECK(unit, length == 3 && !memcmp(line, "\xc3\xa9x", 3));
    source = (struct source){.path = "p", .text = ""};
    source_line(&source, 0, &length);
    // An empty source has an empty line.
    CHECK(unit, length == 0);
}

static void test_limit(struct unit *unit)
{
    struct arena *arena = arena_new();
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    diagnostics.limit = 3;
    struct span nowhere = {0};
    for (int i = 0; i < 10; i++) diagnose(&diagnostics, SEVERITY_ERROR, "E0101", nowhere, "%d", i)->help = "none";
    diagnose(&diagnostics, SEVERITY_WARNING, "W0000", nowhere, "kept");
    // Errors over the limit are counted only.
    CHECK(unit, diagnostics.count == 4 && diagnostics.errors == 10);
    struct text out = {0};
    diagnostic_print(&out, &diagnostics.items[0], false);
    // A diagnostic without a place.
    CHECK_TEXT(unit, out.data, "error[E0101]: 0\n      help: none\n");
    text_free(&out);
    arena_free(arena);
}

static void test_colour(struct unit *unit)
{
    struct arena *arena = arena_new();
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    struct source source = {"p", "x = \x1b[31m;", 10};
    struct diagnostic *entry = diagnose(&diagnostics, SEVERITY_WARNING, "W0001", (struct span){&source, 4, 8}, "careful");
    entry->note = "no place";
    struct text plain = {0}, coloured = {0};
    diagnostic_print(&plain, entry, false);
    diagnostic_print(&coloured, entry, true);
    // Control characters of a source never reach the terminal.
    CHECK(unit, !strchr(plain.data, '\x1b'));
    // Colours where they are asked for.
    CHECK(unit, strstr(coloured.data, "\x1b[1;35m") != NULL);
    // A warning with a note that has no place.
    CHECK_TEXT(unit, plain.data, "p:1:5: warning[W0001]: careful\n    1 | x = \xef\xbf\xbd[31m;\n      |     ^~~~\n      note: no place\n");
    text_free(&plain);
    text_free(&coloured);
    arena_free(arena);
}

// ---------------------------------------------------------------------------------------------- limits

static void check_repeated(struct unit *unit, const char *before, const char *piece, size_t times, const char *code)
{
    struct text text = {0};
    text_add(&text, before);
    for (size_t i = 0; i < times; i++) text_add(&text, piece);
    struct parsed parsed = parse_bytes(text.data, text.length, NULL);
    char name[80];
    snprintf(name, sizeof name, "%zu times '%.20s' is %s", times, piece, code);
    CHECK(unit, has_code(&parsed, code) && parsed.printed.length > 0);
    done(&parsed);
    text_free(&text);
}

static void test_depth(struct unit *unit)
{
    const char *value = "fn f(a) = ";
    check_repeated(unit, value, "(", 1000000, "E0107");
    check_repeated(unit, value, "a[", 500000, "E0107");
    check_repeated(unit, value, "-", 1000000, "E0107");
    check_repeated(unit, value, "a + ", 250000, "E0107");
    check_repeated(unit, value, "a ? a : ", 125000, "E0107");
    check_repeated(unit, "kernel k() { ", "if a { ", 140000, "E0107");
    check_repeated(unit, "kernel k() { if a { } ", "else if a { } ", 70000, "E0107");
    check_repeated(unit, "", "(", 1000000, "E0101");
    check_repeated(unit, "", "{", 1000000, "E0107");
    check_repeated(unit, "", "}", 1000000, "E0103");
    check_repeated(unit, "", ";", 1000000, "E0101");
    check_repeated(unit, "", "\xff", 1000000, "E0104");
    check_repeated(unit, "", " ", 17 << 20, "E0115");
    struct parsed parsed = parse("fn f(a) = a + (((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))));");
    // Thirty parentheses are fine.
    CHECK(unit, !parsed.diagnostics.errors);
    done(&parsed);
}

// Wide, but not deep: all of these are programs.
static void test_width(struct unit *unit)
{
    struct text text = {0};
    text_add(&text, "fn f(a) = g(a");
    for (int i = 0; i < 20000; i++) text_add(&text, ", a");
    text_add(&text, ");\nkernel k(x: f32[n]) -> out: f32[n] { for t in tile(n) {");
    for (int i = 0; i < 20000; i++) text_add(&text, "out[t] = x[t]; ");
    text_add(&text, "} }");
    struct parsed parsed = parse_bytes(text.data, text.length, NULL);
    // 20000 arguments and 20000 statements on one line.
    CHECK(unit, !parsed.diagnostics.errors);
    struct text tree = {0};
    frontend_print_tree(&tree, parsed.file);
    // The last of them is printed with its place.
    CHECK(unit, strstr(tree.data, "@2:300041\n") != NULL);
    text_free(&tree);
    done(&parsed);
    text_free(&text);
}

// ---------------------------------------------------------------------------------------------- imports, signatures

static void test_imports(struct unit *unit)
{
    struct memory_file files[] = {{"one", "import \"two\"; import \"three\"; kernel lib(x: f32[n]) -> y: f32[n] { }"},
                                  {"two", "import \"three\";"},
                                  {"three", "const A = 1;"},
                                  {"ring", "import \"back\";"},
                                  {"back", "import \"ring\";"},
                                  {NULL, NULL}};
    const char *text = "import \"one\"; import \"two\"; import \"one\"; kernel k(x: f32[n]) -> y: f32[n] { }";
    struct parsed parsed = parse_bytes(text, strlen(text), files);
    // A file may be imported on several ways.
    CHECK(unit, !parsed.diagnostics.errors);
    // Kernels of imported files aren't the file's own.
    CHECK(unit, frontend_kernel_count(parsed.file) == 1);
    // The kernel's name.
    CHECK_TEXT(unit, frontend_kernel_name(parsed.file, 0), "k");
    // There is no other.
    CHECK(unit, !frontend_kernel_name(parsed.file, 1) && !frontend_kernel_name(parsed.file, -1));
    done(&parsed);
    parsed = parse_bytes("import \"ring\";", 14, files);
    // A cycle shows both places.
    CHECK(unit, has_code(&parsed, "E0117") && strstr(parsed.printed.data, "ring:1:8: note:"));
    done(&parsed);
    parsed = parse("import \"nowhere\";");
    // A file that isn't there.
    CHECK(unit, has_code(&parsed, "E0116"));
    done(&parsed);
    parsed = (struct parsed){.arena = arena_new()};
    diagnostics_init(&parsed.diagnostics, parsed.arena);
    struct source unnamed = {NULL, "import \"one\";", 13};
    parsed.file = frontend_parse(parsed.arena, &unnamed, NULL, &parsed.diagnostics);
    // Without a loader an import is an error.
    CHECK(unit, has_code(&parsed, "E0116"));
    done(&parsed);
}

// A loader that gives each import a new name: the same file for ever.
static const struct source *load_for_ever(void *data, struct arena *arena, const char *from, const char *path,
                                          const char **reason)
{
    (void)path;
    (void)reason;
    const char *text = data;
    return source_of(arena, arena_printf(arena, "%s.", from), text, strlen(text));
}

static void test_endless_imports(struct unit *unit)
{
    struct parsed parsed = {.arena = arena_new()};
    diagnostics_init(&parsed.diagnostics, parsed.arena);
    char text[] = "import \"a\"; import \"b\";";
    struct frontend_loader loader = {.load = load_for_ever, .data = text};
    const struct source *source = source_of(parsed.arena, "x", text, strlen(text));
    parsed.file = frontend_parse(parsed.arena, source, &loader, &parsed.diagnostics);
    // Imports without end are an error.
    CHECK(unit, has_code(&parsed, "E0107"));
    done(&parsed);
}

// Files by their paths, relative to the file that asks. `identity` tells links.
static const struct source *load_by_path(void *data, struct arena *arena, const char *from, const char *path,
                                         const char **reason)
{
    const char *slash = strrchr(from, '/');
    struct source *source = ARENA_NEW(arena, struct source);
    source->path = arena_printf(arena, "%.*s%s", slash ? (int)(slash - from) + 1 : 0, from, path);
    source->text = data;
    source->length = strlen(data);
    if (strstr(path, "link")) source->identity = "1";
    (void)reason;
    return source;
}

static struct parsed parse_paths(const char *text, char *lib)
{
    struct parsed parsed = {.arena = arena_new()};
    diagnostics_init(&parsed.diagnostics, parsed.arena);
    struct frontend_loader loader = {.load = load_by_path, .data = lib};
    parsed.file = frontend_parse(parsed.arena, source_of(parsed.arena, "at/a.tile", text, strlen(text)), &loader,
                                 &parsed.diagnostics);
    text_add(&parsed.printed, "");
    for (int i = 0; i < parsed.diagnostics.count; i++)
        diagnostic_print(&parsed.printed, &parsed.diagnostics.items[i], false);
    return parsed;
}

// A file is read once on whatever path, so its constant isn't given twice.
static void test_import_paths(struct unit *unit)
{
    static const char *const same[] = {"lib.tile", "./lib.tile", "sub/../lib.tile", ".//.//lib.tile", "../at/lib.tile",
                                       "sub/deep/../../lib.tile", "sub/./.././lib.tile"};
    static const char *const others[] = {"../lib.tile", "lib.tile2", "sub/lib.tile", "../../at/lib.tile", "..lib.tile"};
    char lib[] = "const W = 4;";
    for (size_t i = 0; i < sizeof same / sizeof *same + sizeof others / sizeof *others; i++) {
        bool alike = i < sizeof same / sizeof *same;
        const char *path = alike ? same[i] : others[i - sizeof same / sizeof *same];
        struct arena *arena = arena_new();
        struct parsed parsed = parse_paths(arena_printf(arena, "import \"lib.tile\"; import \"%s\";", path), lib);
        bool ok = frontend_check_file(parsed.arena, parsed.file, &parsed.diagnostics);
        // One path for one file.
        CHECK(unit, ok == alike && has_code(&parsed, "E0202") == !alike);
        done(&parsed);
        arena_free(arena);
    }
    struct parsed parsed = parse_paths("import \"link1\"; import \"link2\";", lib);
    // What a loader says is one file is one.
    CHECK(unit, frontend_check_file(parsed.arena, parsed.file, &parsed.diagnostics));
    done(&parsed);
    char back[] = "import \"../at/lib.tile\";";
    parsed = parse_paths("import \"lib.tile\";", back);
    // A circle through folders is one.
    CHECK(unit, has_code(&parsed, "E0117") && parsed.diagnostics.count == 1);
    done(&parsed);
}

static void test_signature(struct unit *unit)
{
    struct memory_file files[] = {{"lib", "const W = 4;"}, {NULL, NULL}};
    const char *text = "import \"lib\"; const C = 2;\n"
                       "kernel k<T: float, I: int = i32, N: num = bf16>(\n"
                       "    x: T[nnz, M, C, W], offsets: I[B  +  // one more\n 1], bias: accum(T)[B, 2 * K]?,\n"
                       "    inout y: N[n],\n"
                       "    L: i64, eps: f32 = 1e-6) -> (out: T[B, L, M], lse: f32[cdiv(M, 4)] = 0) { }";
    struct parsed parsed = parse_bytes(text, strlen(text), files);
    // The program parses.
    CHECK_TEXT(unit, parsed.printed.data, "");
    const struct signature *s = frontend_signature(parsed.arena, parsed.file, "k");
    // Counts of a signature.
    CHECK(unit, s && s->generic_count == 3 && s->param_count == 8 && s->dim_count == 5);
    // Fallbacks of generics.
    CHECK(unit, s->generics[0].fallback == TYPE_F32 && s->generics[1].fallback == TYPE_I32 &&
              s->generics[2].fallback == TYPE_BF16 && !s->generics[0].has_default && s->generics[1].has_default);
    const char *dims[] = {"nnz", "M", "B", "K", "n"};
    for (int i = 0; i < 5; i++) CHECK_TEXT(unit, s->dims[i], dims[i]);
    // X.
    CHECK(unit, s->params[0].kind == SIGNATURE_IN && s->params[0].generic == 0 && s->params[0].rank == 4);
    // An extent as written, on one line, without comments.
    CHECK_TEXT(unit, s->params[1].extent_text[0], "B + 1");
    // Bias.
    CHECK(unit, s->params[2].optional && s->params[2].accum && s->params[2].kind == SIGNATURE_IN);
    // An extent.
    CHECK_TEXT(unit, s->params[2].extent_text[1], "2 * K");
    // Y.
    CHECK(unit, s->params[3].kind == SIGNATURE_INOUT && s->params[3].generic == 2);
    // L.
    CHECK(unit, s->params[4].kind == SIGNATURE_SCALAR && s->params[4].type == TYPE_I64 && !s->params[4].has_default);
    // Eps.
    CHECK(unit, s->params[5].kind == SIGNATURE_SCALAR && s->params[5].has_default && s->params[5].generic == -1);
    // Out.
    CHECK(unit, s->params[6].kind == SIGNATURE_OUT && s->params[6].rank == 3);
    // Lse.
    CHECK(unit, s->params[7].kind == SIGNATURE_OUT && !s->params[7].has_default && s->params[7].type == TYPE_F32);
    // A kernel that isn't there has none.
    CHECK(unit, !frontend_signature(parsed.arena, parsed.file, "other"));
    done(&parsed);
}

// ---------------------------------------------------------------------------------------------- codes

// The example behind `heading` in an explanation, without its indentation.
static bool example_of(const char *text, const char *heading, struct text *out)
{
    const char *at = strstr(text, heading);
    if (!at) return false;
    for (at += strlen(heading); *at == '\n'; at++) continue;
    while (*at && (!strncmp(at, "    ", 4) || *at == '\n')) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
        if (*at == '\n') text_add(out, "\n");
        else text_add_bytes(out, at + 4, length - 4);
        at += length;
    }
    return out->length > 0;
}

static void check_examples(struct unit *unit, const char *code, const char *text)
{
    struct memory_file files[] = {{"lib.tile", "const A = 1;"}, {"a.tile", "import \"a.tile\";"}, {NULL, NULL}};
    struct text wrong = {0}, right = {0};
    bool both = example_of(text, "\nWrong:\n", &wrong) && example_of(text, "\nRight:\n", &right);
    if (CHECK(unit, both)) {
        struct parsed parsed = parse_bytes(wrong.data, wrong.length, files);
        if (!CHECK(unit, has_code(&parsed, code))) CHECK_TEXT(unit, parsed.printed.data, code);
        done(&parsed);
        parsed = parse_bytes(right.data, right.length, files);
        // Its right example parses.
        CHECK_TEXT(unit, parsed.printed.data, "");
        done(&parsed);
    }
    text_free(&wrong);
    text_free(&right);
}

static void test_codes(struct unit *unit)
{
    for (int i = 0; frontend_code(i); i++) {
        const char *code = frontend_code(i), *text = frontend_explain(code);
        CHECK(unit, text && strlen(text) > 40 && !strncmp(text, code, 5));
        for (int k = 0; k < i; k++)
            if (!strcmp(code, frontend_code(k))) CHECK(unit, false);
        bool long_example = !strcmp(code, "E0107") || !strcmp(code, "E0115");
        if (!strncmp(code, "E01", 3) && !long_example) check_examples(unit, code, text);
    }
    // Codes may be written in lower case.
    CHECK(unit, frontend_explain("e0102") == frontend_explain("E0102"));
    // There are no others.
    CHECK(unit, !frontend_explain("E9999") && !frontend_explain("") && !frontend_code(-1));
}

static const struct unit_test tests[] = {
    {"arenas", test_arena},
    {"numbers as text", test_numbers},
    {"numbers under another locale", test_locale},
    {"lines and columns", test_positions},
    {"a limit of errors", test_limit},
    {"colours and control characters", test_colour},
    {"nested too deeply", test_depth},
    {"wide, not deep", test_width},
    {"imports", test_imports},
    {"imports without end", test_endless_imports},
    {"paths of imports", test_import_paths},
    {"signatures", test_signature},
    {"every code has an explanation with examples", test_codes},
};

UNIT_MAIN(tests)
