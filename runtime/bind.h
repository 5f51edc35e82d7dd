// SPDX-License-Identifier: Apache-2.0
// What arguments.c hands to bind.c: arguments that are typed, of a kernel that is checked. Files are known by their heads.
// Private to these two files.
#ifndef TILEC_RUNTIME_BIND_H
#define TILEC_RUNTIME_BIND_H

#include "runtime/data.h"

enum argument_kind { ARGUMENT_ABSENT, ARGUMENT_FILE, ARGUMENT_GENERATED, ARGUMENT_NUMBER };

// One for each parameter of the signature, in its order.
struct argument {
    enum argument_kind kind;
    const char *text;            // VALUE as written
    const char *path;            // ARGUMENT_FILE
    struct ir_tensor file;       // its type and shape, without data
    struct generator generator;
};

struct arguments {
    struct arena *arena;
    const struct bind_request *request;
    struct diagnostics *diagnostics;
    struct signature *signature;
    struct argument *items;
    struct specialization specialization;
    // By index of signature->dims: what is known before the kernel is checked, and from whom (NULL: unknown).
    int64_t *plain_dims;
    const char **plain_origins;
    struct ir_kernel *kernel;
};

// Chooses the kernel, reads arguments and heads of files, infers types, checks the kernel.
struct status arguments_read(struct arena *arena, const struct bind_request *request, struct diagnostics *diagnostics,
                             struct arguments *arguments);
// Checks the kernel under arguments->specialization, into `diagnostics`. NULL if it has errors.
struct ir_kernel *arguments_check_kernel(const struct arguments *arguments, struct diagnostics *diagnostics);
// "NAME=VALUE" at its first "=", both without surrounding spaces. False if there is no name.
bool split_assignment(struct arena *arena, const char *text, const char **name, const char **value);

#endif
