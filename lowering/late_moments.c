// SPDX-License-Identifier: Apache-2.0
// Moments (moments.h) cross lanes and warps behind their loop, as plain sums do (late.c): each thread keeps count,
// sum and squares of its own points, around their own mean, and the threads' are joined once. What is done in the
// loop stays as it is written: it is the same for the points of a thread as for those of a tile.
#include "lowering/late.h"

struct marking {
    const struct ir_op *loop;  // the outermost
    axes_t over;
    bool found, sound;
};

// The reductions all go over the same axes, and give one value per point of what is carried.
static void look_at(void *data, struct ir_op *op) {
    struct marking *marking = data;
    axes_t carried = marking->loop->results[0]->axes;
    if (op->code == OP_IF && op->result_count)
        marking->sound = false;
    if (op->code != OP_REDUCE || !op->moments)
        return;
    marking->sound &= !marking->found || marking->over == op->over;
    marking->sound &= !((op->operands[0]->axes | op->results[0]->axes) & ~op->over & ~carried);
    marking->found = true;
    marking->over = op->over;
}

static void mark(void *data, struct ir_op *op) {
    const struct marking *marking = data;
    if (!op->moments)
        return;
    for (int i = 0; i < op->result_count; i++)
        op->results[i]->partial = marking->over;
    for (int i = 0; op->code == OP_FOR && i < op->regions[0]->arg_count; i++)
        op->regions[0]->args[i]->partial = marking->over;
}

static bool starts_empty(const struct ir_op *loop) {
    for (int i = 0; i < MOMENTS; i++) {
        const struct ir_value *init = loop->operands[2 + i];
        if (!init->region && init->def->code == OP_BROADCAST)
            init = init->def->operands[0];
        if (!is_identity(init, RED_SUM))
            return false;
    }
    return true;
}

static void start_partials(struct ir_kernel *kernel, struct ir_op *loop, axes_t over) {
    struct ir_builder before = builder_before(kernel, loop);
    for (int i = 0; i < MOMENTS; i++) {
        const struct ir_value *result = loop->results[i];
        struct ir_value *start = ir_broadcast(&before, result->axes, ir_number(&before, result->type, 0));
        start->partial = over;
        start->name = loop->regions[0]->args[i]->name;
        loop->operands[2 + i] = start;
    }
}

// Where the loop before this one was joined to give its start values (a peeled main loop), its partials go on.
static bool continue_moments(const struct late *late, struct ir_op *loop, axes_t over) {
    const struct ir_kernel *kernel = late->context->kernel;
    for (int i = 0; i < late->moments_count; i++) {
        const struct joined_moments *joined = &late->moments[i];
        bool same = have_same_names(kernel, over, joined->over) && have_same_names(kernel, joined->over, over);
        for (int slot = 0; slot < MOMENTS; slot++)
            same &= loop->operands[2 + slot] == joined->whole[slot];
        for (int slot = 0; same && slot < MOMENTS; slot++)
            loop->operands[2 + slot] = joined->partial[slot];
        if (same)
            return true;
    }
    return false;
}

struct crossing {
    axes_t over;
    const struct ir_value *shape;
};

static struct ir_value *cross_sum(void *data, struct ir_builder *b, struct ir_value *value) {
    const struct crossing *crossing = data;
    value->partial = crossing->over;
    return cross_threads(b, RED_SUM, crossing->over, value, crossing->shape->axes);
}

static void join_behind(struct late *late, struct ir_op *loop, axes_t over) {
    struct ir_builder b = builder_before(late->context->kernel, loop->next);
    struct crossing crossing = {over, loop->results[0]};
    struct joined_moments joined = {.over = over};
    b.span = loop->span;
    b.line = loop->line;
    sum_moments(&b, loop->results, cross_sum, &crossing, joined.whole);
    for (int i = 0; i < MOMENTS; i++) {
        joined.partial[i] = loop->results[i];
        joined.whole[i]->name = loop->results[i]->name;
        for (struct ir_op *op = joined.whole[MOMENT_SQUARES]->def->next; op; op = op->next)
            replace_in(op, loop->results[i], joined.whole[i]);
    }
    if (late->moments_count < MAX_JOINED)
        late->moments[late->moments_count++] = joined;
}

void make_moments_late(struct late *late, struct ir_op *loop) {
    struct marking marking = {.loop = loop, .sound = true};
    walk_ops(loop->regions[0], look_at, &marking);
    if (!marking.found || !marking.sound || !crosses_threads(late->context, marking.over))
        return;
    bool empty = starts_empty(loop);
    if (!empty && !continue_moments(late, loop, marking.over))
        return;
    if (empty)
        start_partials(late->context->kernel, loop, marking.over);
    mark(&marking, loop);
    walk_ops(loop->regions[0], mark, &marking);
    join_behind(late, loop, marking.over);
}
