// SPDX-License-Identifier: Apache-2.0
// lower_stages: with the config's stages above 1, the tiles that a loop needs are copied that many turns less one ahead.
//
// In: staged loads, where they ended up. Out: those whose places can be worked out before their turn are marked `ahead`.
// The one idea: a place that is arithmetic on the tile's first point and on what doesn't change in the loop is known as
// soon as the loop begins; a place that the loop itself finds out isn't. Innermost loops only: around another loop there
// is time enough.
#include "lowering/matmul.h"
#include "lowering/pass.h"

struct staging {
    struct pass_context *context;
    int marked;
};

static bool is_known_ahead(const struct ir_value *value, const struct ir_op *loop) {
    const struct ir_region *body = loop->regions[0];
    if (value->region)
        return value->region != body && !(value->region->owner && is_inside(value->region->owner, body));
    const struct ir_op *def = value->def;
    if (!is_inside(def, body) || def->code == OP_INDEX || def->code == OP_CONST)
        return true;
    if (!(ir_ops[def->code].flags & F_ELEMENTWISE) || !value->axes)
        return false;
    for (int i = 0; i < def->operand_count; i++)
        if (!is_known_ahead(def->operands[i], loop))
            return false;
    return true;
}

static void mark_loop(void *data, struct ir_op *loop) {
    struct staging *staging = data;
    struct lowered *out = staging->context->out;
    if (loop->code != OP_FOR || loop->region_count == 2)
        return;
    const struct axis_layout *layout = &out->axes[loop->axis];
    if (layout->place != PLACE_LOOP || layout->single || contains_code(loop->regions[0], OP_FOR))
        return;
    for (struct ir_op *op = loop->regions[0]->first; op; op = op->next) {
        bool known = op->code == OP_LOAD && op->staged;
        for (int i = 0; known && i < op->operand_count; i++)
            known = is_known_ahead(op->operands[i], loop);
        if (!known)
            continue;
        op->ahead = staging->context->config->stages - 1;
        staging->marked++;
    }
}

bool lower_stages(struct pass_context *context) {
    struct staging staging = {.context = context};
    if (!uses_matrix_units(context->config, &context->out->options.target) || context->config->stages < 2 ||
        uses_producers(context->config, &context->out->options))
        return true;
    walk_ops(context->kernel->body, mark_loop, &staging);
    return staging.marked || refuse(context, "lowering.stages", context->kernel->span,
                                    "no loop knows the places of its products' operands some turns ahead");
}
