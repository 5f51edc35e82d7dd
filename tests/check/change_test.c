// SPDX-License-Identifier: Apache-2.0
// In: programs. Each loses words, gets some twice, and has some replaced by others of its own, many times over, always in
// the same way. Whatever comes out is checked: nothing may crash or hang, what is refused says why, and what passes
// gives IR that the verifier accepts.
#include <ctype.h>
#include <stdlib.h>

#include "tests/check/program.h"
#include "tests/unit.h"

enum { WORDS_MOST = 4000, CHANGES = 120 };

struct words {
    const char *text[WORDS_MOST];
    size_t length[WORDS_MOST];
    int count;
};

struct tally {
    int passed, refused, silent, broken;
};

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// Names and numbers, single signs, blanks with comments.
static void split(const char *text, size_t length, struct words *words) {
    size_t at = 0;
    while (at < length && words->count < WORDS_MOST) {
        size_t end = at + 1;
        if (is_word(text[at])) {
            while (end < length && is_word(text[end]))
                end++;
        } else if (text[at] == '/' && end < length && text[end] == '/') {
            while (end < length && text[end] != '\n')
                end++;
        }
        words->text[words->count] = text + at;
        words->length[words->count++] = end - at;
        at = end;
    }
}

// A kernel with its optional parameters, or without them.
static void try_kernel(struct tally *tally, struct program *program, const char *name, bool without) {
    static const char *const dims[] = {"D", "E", "n", "m"};
    static const int64_t extents[] = {8, 4, 5, 6};
    const char *absent[16];
    struct specialization specialization = {.dim_count = 4, .dim_names = (const char **)dims, .dims = (int64_t *)extents, .absent = absent};
    const struct signature *signature = frontend_signature(program->arena, program->file, name);
    for (int i = 0; without && signature && i < signature->param_count && specialization.absent_count < 16; i++) {
        if (signature->params[i].optional)
            absent[specialization.absent_count++] = signature->params[i].name;
    }
    struct ir_kernel *kernel = frontend_check(program->arena, program->file, name, &specialization, &program->diagnostics);
    struct text complaints = {0};
    // Other full axes may lack their extents, and that is said.
    if (!kernel && !program_has(program, "E0221") && !program_has(program, "E0202"))
        tally->silent++;
    if (kernel && !ir_verify(kernel, &complaints)) {
        tally->broken++;
        printf("# %s is broken: %s", name, complaints.data);
    }
    text_free(&complaints);
}

static void try_text(struct tally *tally, const char *text, size_t length) {
    struct program program = program_parse(text, length, "const LIB = 1; fn lib(x) = x;");
    bool good = frontend_check_file(program.arena, program.file, &program.diagnostics) && !program.diagnostics.errors;
    program_print(&program);
    tally->silent += !good && (!program.diagnostics.count || !program.printed.length);
    tally->passed += good;
    tally->refused += !good;
    for (int i = 0; good && i < frontend_kernel_count(program.file); i++) {
        try_kernel(tally, &program, frontend_kernel_name(program.file, i), false);
        try_kernel(tally, &program, frontend_kernel_name(program.file, i), true);
    }
    program_free(&program);
}

static void change(const struct words *words, uint64_t *random, struct text *out) {
    int changes = 1 + (int)(next_random(random) % 3), at[3], how[3];
    for (int i = 0; i < changes; i++) {
        at[i] = (int)(next_random(random) % (uint64_t)words->count);
        how[i] = (int)(next_random(random) % 4);
    }
    out->length = 0;
    for (int i = 0; i < words->count; i++) {
        int other = i, times = 1;
        for (int k = 0; k < changes; k++) {
            if (at[k] != i)
                continue;
            times = how[k] == 0 ? 0 : how[k] == 1 ? 2 : 1;
            other = how[k] >= 2 ? (int)(next_random(random) % (uint64_t)words->count) : i;
        }
        for (; times > 0; times--)
            text_add_bytes(out, words->text[other], words->length[other]);
    }
    text_add(out, "");
}

static void test_file(struct unit *unit, const char *path) {
    size_t length = 0;
    char *text = program_read(path, &length);
    struct words *words = calloc(1, sizeof *words);
    struct tally tally = {0};
    struct text changed = {0};
    if (CHECK(unit, text != NULL)) {
        split(text, length, words);
        uint64_t random = length;
        try_text(&tally, text, length);
        for (int i = 0; i < CHANGES && words->count; i++) {
            change(words, &random, &changed);
            try_text(&tally, changed.data, changed.length);
        }
        printf("# %d passed, %d refused\n", tally.passed, tally.refused);
        CHECK(unit, tally.passed + tally.refused > 0);
        CHECK(unit, tally.silent == 0);
        CHECK(unit, tally.broken == 0);
    }
    text_free(&changed);
    free(words);
    free(text);
}

int main(int count, char **paths) {
    struct unit unit = {0};
    for (int i = 1; i < count; i++) {
        unit_begin(&unit);
        test_file(&unit, paths[i]);
        unit_end(&unit, paths[i]);
    }
    return unit_finish(&unit);
}
