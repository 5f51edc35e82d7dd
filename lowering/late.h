// SPDX-License-Identifier: Apache-2.0
// What late.c, late_moments.c and late_pair.c share.
#ifndef TILEC_LOWERING_LATE_H
#define TILEC_LOWERING_LATE_H

#include "lowering/moments.h"

enum { MAX_JOINED = 32 };

// A pair joined behind a loop, and the partials that it was joined from.
struct joined_pair {
    axes_t over;
    struct ir_value *highest, *total, *partial_highest, *partial_total;
};

// The moments of a loop, joined behind it, and the partials that they were joined from.
struct joined_moments {
    axes_t over;
    struct ir_value *whole[MOMENTS], *partial[MOMENTS];
};

struct late {
    struct pass_context *context;
    int moments_count;
    struct joined_moments moments[MAX_JOINED];
    int joined_count;
    struct joined_pair joined[MAX_JOINED];
};

bool crosses_threads(const struct pass_context *context, axes_t axes);
bool have_same_names(const struct ir_kernel *kernel, axes_t a, axes_t b);
// Replaces operands of the operation and of all below it.
void replace_in(struct ir_op *op, const struct ir_value *old, struct ir_value *value);
// A reduction across threads of the partial results.
struct ir_value *cross_threads(struct ir_builder *builder, enum ir_reduction reduction, axes_t over,
                               struct ir_value *partial,
                               axes_t axes);
// Turns a loop that carries moments, those right inside it included, if it can.
void make_moments_late(struct late *late, struct ir_op *loop);
// Turns a loop that carries the pair of an online softmax; false if it carries none, or can't be turned.
bool make_pair_late(struct late *late, struct ir_op *loop);

#endif
