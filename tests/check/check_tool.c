// SPDX-License-Identifier: Apache-2.0
// In: a program. Out: what checking it says; or, with --ir, the IR of its kernels under one specialization, verified.
//
//   check_tool [--ir] [--type T=f16] [--dim D=8] [--absent bias] FILE
//
// Exit status 0: no errors, 1: errors were printed, 2: the call or the file is wrong, 3: the IR is broken.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"

enum { MOST = 16 };

struct call {
    bool ir;
    const char *path;
    struct specialization specialization;
    const char *type_names[MOST], *dim_names[MOST], *absent[MOST];
    enum ir_type types[MOST];
    int64_t dims[MOST];
};

static const struct source *read_source(struct arena *arena, const char *path, const char **reason) {
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        *reason = "there is no such file";
        return NULL;
    }
    struct text text = {0};
    char piece[4096];
    size_t count;
    while ((count = fread(piece, 1, sizeof piece, stream)) > 0)
        text_add_bytes(&text, piece, count);
    fclose(stream);
    struct source *source = ARENA_NEW(arena, struct source);
    source->path = arena_copy(arena, path, strlen(path));
    source->text = arena_copy(arena, text.data ? text.data : "", text.length);
    source->length = text.length;
    text_free(&text);
    return source;
}

static const struct source *load(void *data, struct arena *arena, const char *from, const char *path, const char **reason) {
    (void)data;
    const char *slash = strrchr(from, '/');
    int folder = slash ? (int)(slash - from) + 1 : 0;
    return read_source(arena, arena_printf(arena, "%.*s%s", folder, from, path), reason);
}

// NAME=VALUE, cut in two.
static const char *value_of(char *option) {
    char *equals = strchr(option, '=');
    if (!equals)
        return "";
    *equals = 0;
    return equals + 1;
}

static bool read_option(struct call *call, const char *option, char *value) {
    struct specialization *specialization = &call->specialization;
    if (!strcmp(option, "--type") && specialization->type_count < MOST) {
        call->types[specialization->type_count] = ir_type_named(value_of(value));
        call->type_names[specialization->type_count++] = value;
    } else if (!strcmp(option, "--dim") && specialization->dim_count < MOST) {
        call->dims[specialization->dim_count] = strtoll(value_of(value), NULL, 10);
        call->dim_names[specialization->dim_count++] = value;
    } else if (!strcmp(option, "--absent") && specialization->absent_count < MOST) {
        call->absent[specialization->absent_count++] = value;
    } else {
        return false;
    }
    return true;
}

static bool read_call(struct call *call, int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--ir"))
            call->ir = true;
        else if (arguments[i][0] != '-')
            call->path = arguments[i];
        else if (i + 1 >= count || !read_option(call, arguments[i], arguments[i + 1]))
            return false;
        else
            i++;
    }
    struct specialization *specialization = &call->specialization;
    specialization->type_names = call->type_names;
    specialization->types = call->types;
    specialization->dim_names = call->dim_names;
    specialization->dims = call->dims;
    specialization->absent = call->absent;
    return call->path != NULL;
}

// False if a kernel's IR is broken, which is a fault of the checker.
static bool print_ir(struct text *out, struct arena *arena, const struct ast_file *file, const struct call *call,
                     struct diagnostics *diagnostics) {
    struct text complaints = {0};
    bool good = true;
    for (int i = 0; i < frontend_kernel_count(file); i++) {
        const char *name = frontend_kernel_name(file, i);
        struct ir_kernel *kernel = frontend_check(arena, file, name, &call->specialization, diagnostics);
        if (!kernel)
            continue;
        ir_print(out, kernel);
        good = ir_verify(kernel, &complaints) && good;
    }
    fputs(complaints.data ? complaints.data : "", stderr);
    text_free(&complaints);
    return good;
}

static int run(struct arena *arena, const struct call *call, const struct source *source) {
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    diagnostics.limit = 200;
    struct frontend_loader loader = {.load = load};
    struct ast_file *file = frontend_parse(arena, source, &loader, &diagnostics);
    struct text out = {0};
    bool good = true;
    if (call->ir)
        good = print_ir(&out, arena, file, call, &diagnostics);
    else
        frontend_check_file(arena, file, &diagnostics);
    for (int i = 0; i < diagnostics.count; i++)
        diagnostic_print(&out, &diagnostics.items[i], false);
    fwrite(out.data ? out.data : "", 1, out.length, stdout);
    text_free(&out);
    return !good ? 3 : diagnostics.errors > 0;
}

int main(int count, char **arguments) {
    struct call call = {0};
    if (!read_call(&call, count, arguments)) {
        fprintf(stderr, "usage: check_tool [--ir] [--type T=f16] [--dim D=8] [--absent NAME] FILE\n");
        return 2;
    }
    struct arena *arena = arena_new();
    const char *reason = NULL;
    const struct source *source = read_source(arena, call.path, &reason);
    int status = 2;
    if (source)
        status = run(arena, &call, source);
    else
        fprintf(stderr, "%s: %s\n", call.path, reason);
    arena_free(arena);
    return status;
}
