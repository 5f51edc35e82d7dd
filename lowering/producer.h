// SPDX-License-Identifier: Apache-2.0
// What launches with warps that copy have in common: tiles of products (producer.c), slabs (slab.c).
#ifndef TILEC_LOWERING_PRODUCER_H
#define TILEC_LOWERING_PRODUCER_H

#include "lowering/pass.h"

struct producing {
    struct pass_context *context;
    struct ir_kernel *kernel;
    struct produced *produced;
    int map_capacity;
    bool good;  // nothing has been refused
};

bool cannot_produce(struct producing *p, struct span span, const char *reason);  // false
// Whether the value is the position on the axis and what doesn't depend on that.
bool grows_by_one(const struct ir_value *value, int axis);
// Notes what says where the load is from, and what decides whether it is made, as needed by the copying warps.
void need_place(struct producing *p, const struct ir_op *load);
// How many tiles of `block` points the loop has: a number of the host.
struct ir_value *grid_tiles(struct ir_builder *b, const struct ir_op *loop, int block);

#endif
