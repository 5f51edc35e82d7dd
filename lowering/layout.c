// SPDX-License-Identifier: Apache-2.0
// lower_layout: every axis gets its one layout from the config: how a tile's index bits are dealt out to vector, lane,
// warp and register bits. A value's layout follows from its axes: spread over the threads of its own, repeated over the
// others. On the CPU every bit is a register bit.
//
// Loops that stand apart from the config's (config_axis.mesh) have all lanes and warps anew: no value is on axes of two.
//
// Lanes go to the axis along which memory is contiguous first, so that neighbouring lanes touch neighbouring elements.
#include <string.h>

#include "lowering/axes.h"
#include "lowering/matmul.h"
#include "lowering/pass.h"

struct contiguity {
    struct ir_kernel *kernel;
    int count[IR_MAX_AXES];  // accesses whose last index moves by one along the axis, weighted
};

// Whether the value grows by exactly one along the axis: INDEX, or a sum of one such and others that lack the axis.
bool moves_by_one(const struct ir_value *value, int axis) {
    if (value->region)
        return false;
    const struct ir_op *def = value->def;
    if (def->code == OP_INDEX)
        return def->axis == axis;
    if (def->code != OP_ADD)
        return false;
    const struct ir_value *a = def->operands[0], *b = def->operands[1];
    bool in_a = a->axes & AXIS_BIT(axis), in_b = b->axes & AXIS_BIT(axis);
    return in_a != in_b && moves_by_one(in_a ? a : b, axis);
}

// Accesses inside of loops count for more: eight times for each loop around them.
static int weight_of(const struct ir_op *op) {
    int weight = 1;
    for (const struct ir_op *owner = op->parent->owner; owner && weight < 1 << 18; owner = owner->parent->owner)
        weight *= owner->code == OP_FOR || owner->code == OP_RANGE ? 8 : 1;
    return weight;
}

static void count_access(void *data, struct ir_op *op) {
    struct contiguity *contiguity = data;
    if (op->code != OP_LOAD && op->code != OP_STORE)
        return;
    int rank = contiguity->kernel->params[op->param].rank;
    if (!rank)
        return;
    for (int a = 0; a < contiguity->kernel->axis_count; a++)
        if (moves_by_one(op->operands[rank - 1], a))
            contiguity->count[a] += weight_of(op);
}

void count_contiguous(struct ir_kernel *kernel, int counts[IR_MAX_AXES]) {
    struct contiguity contiguity = {.kernel = kernel};
    walk_ops(kernel->body, count_access, &contiguity);
    memcpy(counts, contiguity.count, sizeof contiguity.count);
}

// The config's axes by falling contiguity; equals keep their order from inside out.
static void order_axes(struct pass_context *context, int *order) {
    const struct config *config = context->config;
    int counts[IR_MAX_AXES], weight[IR_MAX_AXES] = {0};
    count_contiguous(context->kernel, counts);
    for (int i = 0; i < config->axis_count; i++) {
        for (int a = 0; a < context->kernel->axis_count; a++)
            if (!strcmp(context->kernel->axes[a].name, config->axes[i].name))
                weight[i] += counts[a];
        int at = i;
        while (at > 0 && weight[order[at - 1]] <= weight[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static struct axis_layout layout_of(const struct config_axis *axis, int blocks, const struct target *target) {
    struct axis_layout layout = {.block = axis->block,
                                 .filled = axis->block,
                                 .vector = axis->vector,
                                 .lanes = axis->lanes,
                                 .warps = axis->warps,
                                 .blocks = blocks,
                                 .unroll = axis->unroll};
    if (target->kind == TARGET_CPU)
        layout.vector = layout.lanes = layout.warps = layout.blocks = 1;
    layout.registers = layout.block / (layout.vector * layout.lanes * layout.warps * layout.blocks);
    return layout;
}

static int bits_of(int power) {
    return power <= 1 ? 0 : 1 + bits_of(power / 2);
}

// A tile that is all of a known domain has no more points than that: products leave out the eights behind it.
static int filled_of(const struct ir_axis *axis, int block) {
    int64_t lo, hi;
    bool known = axis->lo && axis->hi && is_integer_constant(axis->lo, &lo) && is_integer_constant(axis->hi, &hi);
    return known && lo == 0 && hi > 0 && hi < block ? (int)(hi + 7) / 8 * 8 : block;
}

// With products on the matrix units the instruction says which lane bits are rows and which are columns. All axes of a
// role share them: no value is on two.
static bool place_products(struct pass_context *context) {
    struct matmul_axes axes;
    struct lowered *out = context->out;
    if (!uses_matrix_units(context->config, &out->options.target))
        return true;
    struct status status = matmul_axes(context->arena, context->kernel, context->config, &axes);
    if (!status.ok)
        return refuse(context, status.code, status.span, "%s", status.reason);
    for (int a = 0; a < context->kernel->axis_count; a++) {
        if (axes.roles[a] != ROLE_NONE)
            out->axes[a].lane_shift = axes.roles[a] == ROLE_ROWS ? ROW_LANE_SHIFT : 0;
        out->axes[a].paired = axes.roles[a] == ROLE_ROWS && context->config->dot == DOT_WGMMA;
        out->axes[a].filled = filled_of(&context->kernel->axes[a], out->axes[a].block);
    }
    out->lanes = MATRIX_LANES;
    return true;
}

static int full_block(const struct ir_axis *axis) {
    int64_t extent;
    int block = 1;
    if (!axis->hi || !is_integer_constant(axis->hi, &extent))
        return 0;
    while (block < extent && block < 1 << 20)
        block *= 2;
    return block;
}

// ---------------------------------------------------------------------------------------------- clusters

struct meeting {
    struct pass_context *context;
    const struct ir_op *lone;  // what has no way between blocks
};

static void look_for_lone(void *data, struct ir_op *op) {
    struct meeting *meeting = data;
    bool position = op->code == OP_REDUCE && (op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN);
    for (int a = 0; a < meeting->context->kernel->axis_count; a++)
        if ((position || op->code == OP_SCAN) && (op->over & AXIS_BIT(a)) && meeting->context->out->axes[a].blocks > 1)
            meeting->lone = op;
}

// Blocks of a cluster join sums, products, extremes and flags; a CPU's one thread has all of the tile anyway.
static bool check_cluster(struct pass_context *context) {
    const struct target *target = &context->out->options.target;
    struct meeting meeting = {.context = context};
    context->out->cluster = 1;
    if (context->config->cluster <= 1 || target->kind == TARGET_CPU)
        return true;
    if (target->sm && target->sm < 90)
        return refuse(context, "lowering.cluster", context->kernel->span,
                      "cluster is %d: sm_%d has no clusters of blocks, sm_90 is the first", context->config->cluster,
                      target->sm);
    walk_ops(context->kernel->body, look_for_lone, &meeting);
    if (meeting.lone)
        return refuse(context, "lowering.cluster", meeting.lone->span,
                      "cluster is %d: a scan, or the place of an extreme, along %s isn't joined between blocks",
                      context->config->cluster, context->cluster_name);
    context->out->cluster = context->config->cluster;
    return true;
}

static bool refuse_block(struct pass_context *context, const struct ir_axis *axis, int block) {
    int whole = full_block(axis);
    if (whole > MAX_BLOCK)
        return refuse(context, "lowering.full-axis", axis->span,
                      "the axis %s is covered whole, and at most %d points can be: loop over it, 'for t in tile(…)'", axis->name,
                      MAX_BLOCK);
    return refuse(context, "lowering.full-axis", axis->span, "the axis %s is covered whole, so its block is %d, not %d", axis->name,
                  whole, block);
}

bool lower_layout(struct pass_context *context) {
    struct lowered *out = context->out;
    const struct config *config = context->config;
    int order[IR_MAX_AXES], lane_bits[MAX_MESHES] = {0}, warp_bits[MAX_MESHES] = {0};
    order_axes(context, order);
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[order[i]];
        bool shared = context->cluster_name && !strcmp(axis->name, context->cluster_name);
        struct axis_layout layout = layout_of(axis, shared ? config->cluster : 1, &out->options.target);
        layout.lane_shift = lane_bits[axis->mesh];
        layout.warp_shift = warp_bits[axis->mesh];
        lane_bits[axis->mesh] += bits_of(layout.lanes);
        warp_bits[axis->mesh] += bits_of(layout.warps);
        for (int a = 0; a < context->kernel->axis_count; a++) {
            const struct ir_axis *named = &context->kernel->axes[a];
            if (strcmp(named->name, axis->name))
                continue;
            out->axes[a] = layout;
            out->axes[a].place = named->kind == AXIS_FULL ? PLACE_FULL : PLACE_LOOP;
            if (named->kind == AXIS_FULL && full_block(named) != layout.block)
                return refuse_block(context, named, layout.block);
        }
    }
    out->lanes = out->warps = 1;
    for (int mesh = 0; mesh < MAX_MESHES; mesh++) {
        out->lanes = 1 << lane_bits[mesh] > out->lanes ? 1 << lane_bits[mesh] : out->lanes;
        out->warps = 1 << warp_bits[mesh] > out->warps ? 1 << warp_bits[mesh] : out->warps;
    }
    return place_products(context) && check_cluster(context);
}
