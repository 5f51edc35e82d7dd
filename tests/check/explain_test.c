// SPDX-License-Identifier: Apache-2.0
// The codes of the checker: each explanation's wrong example gives its code, the right one nothing at all. And what has no
// example: kernels that are too large, too deep, or not there.
#include <stdlib.h>

#include "tests/check/program.h"
#include "tests/unit.h"

// The example behind `heading` in an explanation, without its indentation.
static bool example_of(const char *text, const char *heading, struct text *out) {
    const char *at = strstr(text, heading);
    if (!at)
        return false;
    for (at += strlen(heading); *at == '\n'; at++)
        continue;
    while (*at && (!strncmp(at, "    ", 4) || *at == '\n')) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) + 1 : strlen(at);
        if (*at == '\n')
            text_add(out, "\n");
        else
            text_add_bytes(out, at + 4, length - 4);
        at += length;
    }
    return out->length > 0;
}

static struct program check_text(const char *text, size_t length) {
    struct program program = program_parse(text, length, NULL);
    frontend_check_file(program.arena, program.file, &program.diagnostics);
    program_print(&program);
    return program;
}

static void check_examples(struct unit *unit, const char *code, const char *text) {
    struct text wrong = {0}, right = {0};
    if (CHECK(unit, example_of(text, "\nWrong:\n", &wrong) && example_of(text, "\nRight:\n", &right))) {
        struct program program = check_text(wrong.data, wrong.length);
        if (!CHECK(unit, program_has(&program, code)))
            CHECK_TEXT(unit, program.printed.data, code);
        CHECK(unit, (program.diagnostics.errors > 0) == (code[0] == 'E'));
        program_free(&program);
        program = check_text(right.data, right.length);
        CHECK_TEXT(unit, program.printed.data, "");
        program_free(&program);
    }
    text_free(&wrong);
    text_free(&right);
}

static void test_explanations(struct unit *unit) {
    int checked = 0;
    for (int i = 0; frontend_code(i); i++) {
        const char *code = frontend_code(i);
        bool exempt = !strcmp(code, "E0225") || !strcmp(code, "E0227");  // below
        if (!strncmp(code, "E01", 3) || exempt)
            continue;
        check_examples(unit, code, frontend_explain(code));
        checked++;
    }
    CHECK(unit, checked > 50);
}

static bool gives(const char *text, const char *code) {
    struct program program = check_text(text, strlen(text));
    bool found = program_has(&program, code);
    program_free(&program);
    return found;
}

static void test_limits(struct unit *unit) {
    struct text text = {0};
    // Functions that double: 2^40 operations.
    text_add(&text, "fn g0(x) = x + x;\n");
    for (int i = 1; i < 40; i++)
        text_printf(&text, "fn g%d(x) = g%d(x) + g%d(x);\n", i, i - 1, i - 1);
    text_add(&text, "kernel k(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = g39(x[t]); } }");
    CHECK(unit, gives(text.data, "E0225"));
    // Constants that double are computed once each.
    text.length = 0;
    text_add(&text, "const C0 = 1;\n");
    for (int i = 1; i < 60; i++)
        text_printf(&text, "const C%d = C%d + C%d;\n", i, i - 1, i - 1);
    text_add(&text, "kernel k(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = C59 * x[t]; } }");
    struct program program = check_text(text.data, text.length);
    CHECK_TEXT(unit, program.printed.data, "");
    program_free(&program);
    // Sixty-five axes.
    text.length = 0;
    text_add(&text, "kernel k(x: f32[n]) -> out: f32[n] {\n");
    for (int i = 0; i < 65; i++)
        text_printf(&text, "for t%d in tile(n) { out[t%d] = x[t%d]; }\n", i, i, i);
    text_add(&text, "}");
    CHECK(unit, gives(text.data, "E0225"));
    text_free(&text);
}

// A long chain of names, each made of two uses of the one before: work grows with its length only.
static void test_chains(struct unit *unit) {
    struct text text = {0};
    text_add(&text, "kernel k(x: f32[n], n0: i64) -> out: f32[n] {\n");
    for (int i = 1; i < 2000; i++)
        text_printf(&text, "let n%d = max(n%d, n%d + 1) - n%d / 2;\n", i, i - 1, i - 1, i - 1);
    text_add(&text, "for t in tile(min(n, n1999)) { var a: f32[t] = 0; for u in tile(n) {\n");
    text_add(&text, "let b0 = max(a, sum[u](x[u]));\n");
    for (int i = 1; i < 2000; i++)
        text_printf(&text, "let b%d = max(b%d, b%d * 2) + b%d;\n", i, i - 1, i - 1, i - 1);
    text_add(&text, "a = max(a, b1999); } out[t] = a; } }");
    struct program program = check_text(text.data, text.length);
    CHECK(unit, program.diagnostics.errors == 0);
    if (program.diagnostics.errors)
        CHECK_TEXT(unit, program.printed.data, "");
    program_free(&program);
    text_free(&text);
}

static void test_kernel_names(struct unit *unit) {
    const char *text = "kernel here(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = x[t]; } }";
    struct program program = program_parse(text, strlen(text), NULL);
    CHECK(unit, frontend_check(program.arena, program.file, "here", NULL, &program.diagnostics) != NULL);
    CHECK(unit, !frontend_check(program.arena, program.file, "there", NULL, &program.diagnostics));
    CHECK(unit, program_has(&program, "E0227"));
    program_free(&program);
}

// What a caller asks for is held against what the kernel says.
static void test_specializations(struct unit *unit) {
    const char *text = "kernel k<T: float, I: int>(x: T[n, D], o: I[n]) -> out: T[n] { axis d = D;"
                       " for t in tile(n) { out[t] = sum[d](x[t, d]) * T(o[t]); } }";
    struct program program = program_parse(text, strlen(text), NULL);
    struct specialization specialization = {.type_count = 1, .type_names = (const char *[]){"T"}, .types = (enum ir_type[]){TYPE_F16}};
    CHECK(unit, !frontend_check(program.arena, program.file, "k", &specialization, &program.diagnostics));
    CHECK(unit, program_has(&program, "E0221"));
    specialization.dim_count = 1;
    specialization.dim_names = (const char *[]){"D"};
    specialization.dims = (int64_t[]){24};
    struct ir_kernel *kernel = frontend_check(program.arena, program.file, "k", &specialization, &program.diagnostics);
    if (CHECK(unit, kernel != NULL)) {
        CHECK(unit, kernel->params[0].type == TYPE_F16 && kernel->params[1].type == TYPE_I64);
        CHECK(unit, kernel->dims[1].is_static && kernel->dims[1].value == 24 && !kernel->dims[0].is_static);
        CHECK(unit, kernel->axes[0].kind == AXIS_FULL && kernel->axes[0].hi->def->integer == 24);
    }
    specialization.types[0] = TYPE_I32;
    CHECK(unit, !frontend_check(program.arena, program.file, "k", &specialization, &program.diagnostics));
    CHECK(unit, program_has(&program, "E0210"));
    program_free(&program);
}

static const struct unit_test tests[] = {
    {"every code's examples", test_explanations},
    {"limits", test_limits},
    {"long chains", test_chains},
    {"kernels by name", test_kernel_names},
    {"specializations", test_specializations},
};
UNIT_MAIN(tests)
