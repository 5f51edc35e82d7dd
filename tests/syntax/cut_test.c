// SPDX-License-Identifier: Apache-2.0
// In: programs. Each is cut off at every byte, loses every byte in turn, and gets a few bytes that don't belong.
// None of that may crash, hang or leak, and whatever fails says why, with a place inside the file.
#include <stdio.h>

#include "frontend/frontend.h"
#include "tests/unit.h"

struct tally {
    int parsed, failed, silent, misplaced;
};

static void try_text(struct tally *tally, const char *text, size_t length)
{
    struct arena *arena = arena_new();
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    // A copy of exactly this length lets a sanitizer see reads behind the end.
    struct source source = {"cut.tile", arena_copy(arena, text, length), length};
    struct ast_file *file = frontend_parse(arena, &source, NULL, &diagnostics);
    struct text out = {0};
    for (int i = 0; i < diagnostics.count; i++) {
        const struct diagnostic *entry = &diagnostics.items[i];
        diagnostic_print(&out, entry, false);
        tally->misplaced += entry->span.source != &source || entry->span.begin > length || entry->span.end > length;
    }
    bool failed = diagnostics.errors > 0;
    tally->silent += failed && (!out.length || !diagnostics.count);
    tally->parsed += !failed;
    tally->failed += failed;
    frontend_print_tree(&out, file);
    for (int i = 0; i < frontend_kernel_count(file); i++)
        tally->silent += !frontend_signature(arena, file, frontend_kernel_name(file, i));
    text_free(&out);
    arena_free(arena);
}

static void try_cuts(struct tally *tally, const char *text, size_t length)
{
    for (size_t at = 0; at <= length; at++) try_text(tally, text, at);
    for (size_t at = 1; at < length; at += 3) try_text(tally, text + at, length - at);
}

// Bytes that open, close, end or confuse.
static void try_changes(struct tally *tally, const char *text, size_t length)
{
    static const char bytes[] = "(){}[];:,.=<\"'#/*\n\t-0a@?\xff\xe2";
    struct text changed = {0};
    for (size_t at = 0; at < length; at++) {
        changed.length = 0;
        text_add_bytes(&changed, text, at);
        text_add_bytes(&changed, text + at + 1, length - at - 1);
        try_text(tally, changed.data, changed.length);
        changed.length = 0;
        text_add_bytes(&changed, text, length);
        changed.data[at] = bytes[at % sizeof bytes];
        try_text(tally, changed.data, changed.length);
    }
    text_free(&changed);
}

static bool read_file(const char *path, struct text *text)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) return false;
    char piece[4096];
    size_t count;
    text_add(text, "");
    while ((count = fread(piece, 1, sizeof piece, stream)) > 0) text_add_bytes(text, piece, count);
    fclose(stream);
    return true;
}

static void test_file(struct unit *unit, const char *path)
{
    struct text text = {0};
    struct tally tally = {0};
    if (CHECK(unit, read_file(path, &text))) {
        try_cuts(&tally, text.data, text.length);
        try_changes(&tally, text.data, text.length);
        printf("# %d parsed, %d refused\n", tally.parsed, tally.failed);
        CHECK(unit, tally.parsed + tally.failed > 0);
        CHECK(unit, tally.silent == 0);
        CHECK(unit, tally.misplaced == 0);
    }
    text_free(&text);
}

int main(int count, char **paths)
{
    struct unit unit = {0};
    for (int i = 1; i < count; i++) {
        unit_begin(&unit);
        test_file(&unit, paths[i]);
        unit_end(&unit, paths[i]);
    }
    return unit_finish(&unit);
}
