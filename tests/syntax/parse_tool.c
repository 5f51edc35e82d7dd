// SPDX-License-Identifier: Apache-2.0
// In: a path. Out: the diagnostics of parsing it and what it imports; if there are none, its tree.
// Exit status 0: parsed, 1: errors were printed, 2: the file can't be read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"

static const struct source *read_source(struct arena *arena, const char *path, const char **reason)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        *reason = "there is no such file";
        return NULL;
    }
    struct text text = {0};
    char piece[4096];
    size_t count;
    while ((count = fread(piece, 1, sizeof piece, stream)) > 0) text_add_bytes(&text, piece, count);
    fclose(stream);
    struct source *source = ARENA_NEW(arena, struct source);
    source->path = arena_copy(arena, path, strlen(path));
    source->text = arena_copy(arena, text.data ? text.data : "", text.length);
    source->length = text.length;
    text_free(&text);
    return source;
}

static const struct source *load(void *data, struct arena *arena, const char *from, const char *path, const char **reason)
{
    (void)data;
    const char *slash = strrchr(from, '/');
    int folder = slash ? (int)(slash - from) + 1 : 0;
    return read_source(arena, arena_printf(arena, "%.*s%s", folder, from, path), reason);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: parse_tool FILE\n");
        return 2;
    }
    struct arena *arena = arena_new();
    const char *reason = NULL;
    const struct source *source = read_source(arena, arguments[1], &reason);
    if (!source) {
        fprintf(stderr, "%s: %s\n", arguments[1], reason);
        arena_free(arena);
        return 2;
    }
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    struct frontend_loader loader = {.load = load};
    struct ast_file *file = frontend_parse(arena, source, &loader, &diagnostics);
    struct text out = {0};
    text_add(&out, "");
    for (int i = 0; i < diagnostics.count; i++) diagnostic_print(&out, &diagnostics.items[i], false);
    if (!diagnostics.errors) frontend_print_tree(&out, file);
    fwrite(out.data, 1, out.length, stdout);
    text_free(&out);
    arena_free(arena);
    return diagnostics.errors > 0;
}
