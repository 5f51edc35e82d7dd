// SPDX-License-Identifier: Apache-2.0
// The pair of an online softmax: a running maximum, and a sum that is rescaled whenever the maximum grows. Or a running
// minimum, of what is negated in the exponential.
//
//     top = max(highest, max[t](v));  base = …top…
//     total = total * exp(highest - base) + sum[t](exp(v - base));  highest = top
//
// Pieces (m, s) of it are joined by s * exp(m - base) with the base of the maximum of all.
#ifndef TILEC_LOWERING_RESCALED_H
#define TILEC_LOWERING_RESCALED_H

#include "lowering/pass.h"

struct rescaled {
    enum ir_reduction reduction;        // MAX, MIN
    int highest, total;                 // slots of the loop
    struct ir_value *top;               // the new maximum
    struct ir_value *scale;             // exp(highest - base); exp2, and what stands around the difference, alike
    struct ir_op *max_step, *sum_step;  // the reductions
};

// Whether the loop carries exactly such a pair and does nothing else; assignments may be masked.
bool match_rescaled(const struct ir_op *loop, struct rescaled *pair);

// Copies an element-wise expression of the loop's body in front of the builder's place; the map says what stands for what.
struct ir_value *copy_expression(struct ir_builder *builder, struct ir_map *map, struct ir_value *value,
                                 const struct ir_region *body);
// Copies the pair's scale with `to` for `from` (the maximum so far) and the base as the map has it. `twin`: the summand.
struct ir_value *copy_scale(struct ir_builder *builder, struct ir_map *map, const struct rescaled *pair, struct ir_value *scale,
                            const struct ir_value *twin, const struct ir_value *from, struct ir_value *to,
                            const struct ir_region *body);

#endif
