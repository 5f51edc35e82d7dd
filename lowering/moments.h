// SPDX-License-Identifier: Apache-2.0
// Count, sum and squares around the mean of a set of values, carried by a loop as one: what a variance is made of.
//
// Two sets are joined without looking at their values again (Chan, Golub and LeVeque 1979):
//
//     n = a.n + b.n;  sum = a.sum + b.sum
//     squares = a.squares + b.squares + (a.sum / a.n - b.sum / b.n)^2 * a.n * b.n / n
//
// Nothing large is taken from something large. A set may be empty: n, sum and squares are 0. Where the values are finite
// and a sum of them isn't, the squares aren't either, but never NaN.
#ifndef TILEC_LOWERING_MOMENTS_H
#define TILEC_LOWERING_MOMENTS_H

#include "lowering/pass.h"

enum { MOMENT_SUM, MOMENT_COUNT, MOMENT_SQUARES, MOMENTS };  // the slots of a loop that carries them (ir_op.moments)

// Of two sets.
void join_moments(struct ir_builder *builder, struct ir_value *const *a, struct ir_value *const *b,
                  struct ir_value **joined);
// Of many sets, whose sums (of counts, of sums, of squares) `sum` makes, called once for each.
typedef struct ir_value *sum_fn(void *data, struct ir_builder *builder, struct ir_value *value);
void sum_moments(struct ir_builder *builder, struct ir_value *const *sets, sum_fn *sum, void *data,
                 struct ir_value **joined);

// Whether the value is, but for rounding, the mean of what the loop has summed: `reduce`, in loops right inside one another
// from `loop` down, makes its steps (mean.c).
bool is_mean(const struct ir_kernel *kernel, const struct ir_value *value, const struct ir_op *loop,
             const struct ir_op *reduce);

#endif
