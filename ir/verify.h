// SPDX-License-Identifier: Apache-2.0
// What the two halves of the verifier share: private to ir/.
#ifndef TILEC_IR_VERIFY_H
#define TILEC_IR_VERIFY_H

#include "ir/ir.h"

struct verifier {
    const struct ir_kernel *kernel;
    struct text *out;
    int complaints;
    const struct ir_value **visible;  // by id: the value while it is in scope
    bool *seen;                       // by id: defined somewhere already
    axes_t axes;                      // of the loops around, and all full axes
};

// `op` may be NULL: about the kernel as a whole.
void verify_complain(struct verifier *verifier, const struct ir_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// An operation without regions: counts, attributes, types and axes. Its operands and results aren't NULL.
void verify_single(struct verifier *verifier, const struct ir_op *op);
bool verify_is_i64(const struct verifier *verifier, enum ir_type type);  // i32 too once lowered

#endif
