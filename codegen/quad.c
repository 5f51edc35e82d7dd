// SPDX-License-Identifier: Apache-2.0
// Stores of a product's result in 16 bytes a thread.
//
// In: a store of f16 or bf16 along columns, of which each thread has pairs of neighbours and four threads have eight.
// Out: the pairs of four registers are kept until the group's loops are done; then the four threads exchange them, so
// that each has eight neighbours. The one idea: a 4 by 4 transposition of words among four lanes.
#include "codegen/matmul.h"

enum { QUAD = 4, NEIGHBOURS = 8 };

static int register_dim(const struct dims *dims, int axis) {
    for (int i = 0; i < dims->count; i++)
        if (dims->items[i].axis == axis && !dims->items[i].vector)
            return i;
    return -1;
}

bool is_quad_store(struct emitter *emitter, const struct ir_op *op, const struct dims *dims) {
    enum ir_type type = op->code == OP_STORE ? emitter->kernel->params[op->param].type : TYPE_BOOL;
    if (emitter->lowered->config->dot == DOT_FMA || !emitter->cuda || (type != TYPE_F16 && type != TYPE_BF16) ||
        access_width(emitter, op, dims) != 2)
        return false;
    int axis = dims->items[dims->count - 1].axis;
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    return layout->lanes == QUAD && !layout->lane_shift && layout->registers % QUAD == 0 && register_dim(dims, axis) >= 0 &&
           moves_together(emitter, op, axis, NEIGHBOURS) && !is_hazard(emitter, op);
}

static struct dims without_vector(const struct dims *dims) {
    struct dims rest = *dims;
    rest.count--;
    return rest;
}

const char *declare_quads(struct emitter *emitter, const struct dims *dims) {
    struct dims rest = without_vector(dims);
    const char *name = unique_name(emitter, "pairs");
    line(emitter, "unsigned %s%s;", name, dims_text(emitter, &rest));
    return name;
}

void keep_pair(struct emitter *emitter, const struct ir_op *op, const struct dims *dims, const char *words, const char *pair) {
    struct dims rest = without_vector(dims);
    const char *pack = print(emitter, "tile_pack_%s", ir_type_name(emitter->kernel->params[op->param].type));
    line(emitter, "%s = %s(%s[0], %s[1]);", subscript_text(emitter, words, &rest), helper(emitter, pack), pair, pair);
}

static void write_quad(struct emitter *emitter, const struct ir_op *op, const struct dims *rest, int axis, const char *words) {
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    const char *loop = emitter->axis_loop[axis][0], *quad = unique_name(emitter, "quad");
    line(emitter, "unsigned %s[%d];", quad, QUAD);
    for (int i = 0; i < QUAD; i++) {
        emitter->axis_loop[axis][0] = i ? print(emitter, "%s + %d", loop, i) : loop;
        line(emitter, "%s[%d] = %s;", quad, i, subscript_text(emitter, words, rest));
    }
    emitter->axis_loop[axis][0] = loop;
    emitter->needs_lane = true;
    line(emitter, "%s(%s, lane);", helper(emitter, "tile_turn_quad"), quad);
    const char *eight = print(emitter, "(%s + lane %% %d)", loop, QUAD);
    if (layout->warps > 1) {
        emitter->needs_warp = true;
        eight = print(emitter, "(%s * %d + %s)", eight, layout->warps,
                      bits_text(emitter, "warp", layout->warp_shift, layout->warps, emitter->lowered->warps));
    }
    set_place(emitter, axis, print(emitter, "%s * %d", eight, NEIGHBOURS));
    write_quad_store(emitter, op, quad);
    emitter->placed = 0;
    emitter->axis_place[axis] = NULL;
}

void write_quads(struct emitter *emitter, const struct ir_op *op, const struct dims *dims, const char *words) {
    struct dims rest = without_vector(dims), others = rest;
    int axis = dims->items[dims->count - 1].axis, at = register_dim(dims, axis);
    for (int i = at; i + 1 < others.count; i++)
        others.items[i] = others.items[i + 1];
    others.count--;
    open_loops(emitter, &others, 0, others.count);
    open_count(emitter, emitter->axis_loop[axis][0], rest.items[at].count, QUAD);
    write_quad(emitter, op, &rest, axis, words);
    close_brace(emitter);
    close_loops(emitter, others.count);
}
