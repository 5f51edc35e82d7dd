// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program: parsed, its diagnostics and its tree printed, its signatures read. A refused program must
// say why.
#include <stdlib.h>

#include "frontend/frontend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    struct source source = {"fuzz.tile", arena_copy(arena, (const char *)data, size), size};
    struct ast_file *file = frontend_parse(arena, &source, NULL, &diagnostics);
    struct text out = {0};
    for (int i = 0; i < diagnostics.count; i++) diagnostic_print(&out, &diagnostics.items[i], i % 2);
    if (diagnostics.errors && !out.length) abort();
    frontend_print_tree(&out, file);
    for (int i = 0; i < frontend_kernel_count(file); i++)
        if (!frontend_signature(arena, file, frontend_kernel_name(file, i))) abort();
    text_free(&out);
    arena_free(arena);
    return 0;
}
