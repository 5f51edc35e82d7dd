// SPDX-License-Identifier: Apache-2.0
// What late.c and late_pair.c share.
#ifndef TILEC_LOWERING_LATE_H
#define TILEC_LOWERING_LATE_H

#include "lowering/pass.h"

enum { MAX_JOINED = 32 };

// A pair joined behind a loop, and the partials that it was joined from.
struct joined_pair {
    axes_t over;
    struct ir_value *highest, *total, *partial_highest, *partial_total;
};

struct late {
    struct pass_context *context;
    int joined_count;
    struct joined_pair joined[MAX_JOINED];
};

bool crosses_threads(const struct pass_context *context, axes_t axes);
bool have_same_names(const struct ir_kernel *kernel, axes_t a, axes_t b);
// Replaces operands of the operation and of all below it.
void replace_in(struct ir_op *op, const struct ir_value *old, struct ir_value *value);
// Turns a loop that carries the pair of an online softmax; false if it carries none, or can't be turned.
bool make_pair_late(struct late *late, struct ir_op *loop);

#endif
