// SPDX-License-Identifier: Apache-2.0
// Kernels built by hand for the tests of ir/, and the loops they are built with.
#ifndef TILEC_TESTS_IR_PROGRAMS_H
#define TILEC_TESTS_IR_PROGRAMS_H

#include "ir/ir.h"

// A loop while its body is built: `args` are the carried values inside, `results` those behind it.
struct open_loop {
    struct ir_op *op;
    struct ir_builder body;
    struct ir_value *args[4], *results[4];
};
// The axis must be there already; carried values are named by `initial`.
struct open_loop loop_open(struct ir_builder *builder, int axis, struct ir_value *lo, struct ir_value *hi, int count,
                           struct ir_value *const *initial);
void loop_close(struct open_loop *loop, int count, struct ir_value *const *yields);

// An `if` without `else`: the other region yields what it is given.
struct open_if {
    struct ir_op *op;
    struct ir_builder then;
    struct ir_value *args[4], *results[4];
};
struct open_if if_open(struct ir_builder *builder, struct ir_value *condition, int count, struct ir_value *const *initial);
void if_close(struct open_if *branch, int count, struct ir_value *const *yields);

// A builder at the end of the kernel's body.
struct ir_builder at_end(struct ir_kernel *kernel);
struct ir_value *integer(struct ir_builder *builder, int64_t value);

// A tensor parameter whose extents are the dimensions named (made where they are new), each `+ offset` of its name:
// tensor(&b, "offsets", PARAM_IN, TYPE_I64, "B+1"), tensor(&b, "x", PARAM_IN, TYPE_F32, "nnz,M").
int tensor(struct ir_builder *builder, const char *name, enum ir_param_kind kind, enum ir_type type, const char *extents);
int scalar(struct ir_builder *builder, const char *name, enum ir_type type);

// out[tb] = sum[tk](x[offsets[tb] + tk]) in the computing type, for `type` elements.
struct ir_kernel *program_row_sum(struct arena *arena, enum ir_type type);

#endif
