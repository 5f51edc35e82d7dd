// SPDX-License-Identifier: Apache-2.0
// Programs for the tests of the checker. In: text. Out: a tree and what was said about it.
#include "tests/check/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct source *source_of(struct arena *arena, const char *path, const char *text, size_t length) {
    struct source *source = ARENA_NEW(arena, struct source);
    source->path = arena_copy(arena, path, strlen(path));
    source->text = arena_copy(arena, text, length);
    source->length = length;
    return source;
}

static const struct source *load(void *data, struct arena *arena, const char *from, const char *path, const char **reason) {
    (void)from;
    const char *lib = data;
    if (!lib) {
        *reason = "there is no such file";
        return NULL;
    }
    return source_of(arena, path, lib, strlen(lib));
}

struct program program_parse(const char *text, size_t length, const char *lib) {
    struct program program = {.arena = arena_new()};
    diagnostics_init(&program.diagnostics, program.arena);
    struct frontend_loader loader = {.load = load, .data = (void *)lib};
    program.file = frontend_parse(program.arena, source_of(program.arena, "a.tile", text, length), &loader, &program.diagnostics);
    return program;
}

void program_print(struct program *program) {
    program->printed.length = 0;
    text_add(&program->printed, "");
    for (int i = 0; i < program->diagnostics.count; i++)
        diagnostic_print(&program->printed, &program->diagnostics.items[i], false);
}

void program_free(struct program *program) {
    text_free(&program->printed);
    arena_free(program->arena);
}

bool program_has(const struct program *program, const char *code) {
    for (int i = 0; i < program->diagnostics.count; i++) {
        if (!strcmp(program->diagnostics.items[i].code, code))
            return true;
    }
    return false;
}

char *program_read(const char *path, size_t *length) {
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return NULL;
    struct text text = {0};
    char piece[4096];
    size_t count;
    text_add(&text, "");
    while ((count = fread(piece, 1, sizeof piece, stream)) > 0)
        text_add_bytes(&text, piece, count);
    fclose(stream);
    *length = text.length;
    return text.data;
}
