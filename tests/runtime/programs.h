// SPDX-License-Identifier: Apache-2.0
// Programs, and tensors in files, for the tests of binding and running.
#ifndef TILEC_TESTS_RUNTIME_PROGRAMS_H
#define TILEC_TESTS_RUNTIME_PROGRAMS_H

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/data.h"
#include "tap.h"

#define JAGGED_SUM                                                                      \
    "kernel jagged_sum<T: float, I: int>(x: T[nnz, M], offsets: I[B + 1]) -> out: T[B, M]\n" \
    "{\n"                                                                               \
    "    for tb in tile(B) {\n"                                                         \
    "        let start = offsets[tb];\n"                                                \
    "        let length = offsets[tb + 1] - start;\n"                                   \
    "        for tm in tile(M) {\n"                                                     \
    "            var acc: accum(T)[tb, tm] = 0;\n"                                      \
    "            for tk in jagged_tile(length) { acc += sum[tk](x[start + tk, tm]); }\n" \
    "            out[tb, tm] = acc;\n"                                                  \
    "        }\n"                                                                       \
    "    }\n"                                                                           \
    "}\n"

// A program, its diagnostics, and a folder for its files.
struct program {
    struct tap *tap;
    struct arena *arena;
    struct source source;
    struct ast_file *file;
    struct diagnostics diagnostics;
    const char *folder;
};

static inline struct program program_parse(struct tap *tap, const char *text)
{
    struct program program = {.tap = tap, .arena = tap->arena, .source = {"test.tile", text, strlen(text)}};
    struct source *source = ARENA_NEW(tap->arena, struct source);
    *source = program.source;
    diagnostics_init(&program.diagnostics, tap->arena);
    program.file = frontend_parse(tap->arena, source, NULL, &program.diagnostics);
    CHECK(tap, program.diagnostics.errors == 0);
    char *folder = arena_copy(tap->arena, "/tmp/tilec-run-XXXXXX", 21);
    if (!mkdtemp(folder)) exit(99);
    program.folder = folder;
    return program;
}

static inline void program_free(struct program *program)
{
    const char *command = arena_printf(program->arena, "rm -r -- '%s'", program->folder);
    CHECK(program->tap, system(command) == 0);
}

// "NAME=@FOLDER/NAME.npy" for a file with these values.
static inline const char *array(struct program *program, const char *name, enum ir_type type, int rank, const int64_t *shape,
                                const double *values)
{
    struct tensor tensor;
    CHECK(program->tap, tensor_new(program->arena, name, type, rank, shape, &tensor).ok);
    int64_t count = tensor_elements(&tensor.view);
    for (int64_t i = 0; i < count; i++) {
        double value = values ? values[i] : (double)i;
        tensor_set(&tensor.view, i, (struct ir_scalar){.integer = isfinite(value) ? (int64_t)value : 0, .number = value});
    }
    const char *path = arena_printf(program->arena, "%s/%s.npy", program->folder, name);
    struct status status = npy_write(program->arena, path, &tensor.view);
    if (!status.ok) printf("# %s\n", status.reason);
    CHECK(program->tap, status.ok);
    tensor_free(&tensor);
    return arena_printf(program->arena, "%s=@%s", name, path);
}
#define SHAPE(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}
#define LIST(...) (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__}

// The text with the folder's path, which differs from run to run, taken out.
static inline const char *without_folder(struct program *program, const char *text)
{
    size_t length = strlen(program->folder);
    char *copy = arena_copy(program->arena, text, strlen(text));
    for (char *at = copy; (at = strstr(at, program->folder));) memmove(at, at + length + 1, strlen(at + length + 1) + 1);
    return copy;
}

#endif
