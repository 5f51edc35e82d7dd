// SPDX-License-Identifier: Apache-2.0
// lower_jagged: every jagged loop becomes a dense loop to the largest length (amax) of the rows that advance together,
//
//     for tk in jagged [lo, hi) { S }    =>    for tk in [0, amax(hi - lo)) { if tk < hi - lo { S } }
//
// which the language defines to be the same. From here on BEGIN is a number for every axis, a position is lo + tk, and
// what the guard costs is the masks' business. `while` becomes a carried `alive` beside a bound that all rows share.
#include "lowering/pass.h"

// Gives the loop one more carried value; returns its argument in the body.
static struct ir_value *carry_more(struct ir_kernel *kernel, struct ir_op *loop, struct ir_value *init) {
    int n = loop->operand_count, r = loop->result_count;
    struct ir_value **operands = ARENA_ARRAY(kernel->arena, struct ir_value *, n + 1);
    struct ir_value **results = ARENA_ARRAY(kernel->arena, struct ir_value *, r + 1);
    for (int i = 0; i < n; i++)
        operands[i] = loop->operands[i];
    for (int i = 0; i < r; i++)
        results[i] = loop->results[i];
    operands[n] = init;
    loop->operands = operands;
    loop->results = results;
    loop->operand_count++;
    loop->result_count++;
    ir_result(kernel, loop, r, init->type, init->axes);
    return ir_region_arg(kernel, loop->regions[0], init->type, init->axes, init->name);
}

static void yield_more(struct ir_kernel *kernel, struct ir_op *yield, struct ir_value *value) {
    struct ir_value **operands = ARENA_ARRAY(kernel->arena, struct ir_value *, yield->operand_count + 1);
    for (int i = 0; i < yield->operand_count; i++)
        operands[i] = yield->operands[i];
    operands[yield->operand_count++] = value;
    yield->operands = operands;
}

// Copies the condition's region in front of builder->before, with its arguments standing for `values`.
static struct ir_value *copy_condition(struct ir_builder *builder, const struct ir_region *region,
                                       struct ir_value *const *values) {
    struct ir_map *map = ir_map_new(builder->kernel);
    for (int i = 0; i < region->arg_count; i++)
        ir_map_set(builder->kernel, map, region->args[i], values[i]);
    for (struct ir_op *op = region->first; op != region->last; op = op->next)
        ir_op_clone(builder, op, map);
    return ir_map_get(map, region->last->operands[0]);
}

// Moves all operations of the loop's body but the final yield into the first region of an `if` that carries what the
// loop carries (its first `carried` arguments), so that they happen only where `condition` holds.
static struct ir_op *guard_body(struct ir_kernel *kernel, struct ir_region *body, struct ir_value *condition,
                                int carried) {
    struct ir_op *yield = body->last;
    struct ir_builder builder = builder_before(kernel, yield);
    struct ir_op *guard = ir_op_new(&builder, OP_IF, 1 + carried, carried, 2);
    guard->operands[0] = condition;
    ir_insert(&builder, guard);
    struct ir_map *map = ir_map_new(kernel);
    for (int i = 0; i < carried; i++) {
        struct ir_value *argument = body->args[i];
        guard->operands[1 + i] = argument;
        ir_map_set(kernel, map, argument,
                   ir_region_arg(kernel, guard->regions[0], argument->type, argument->axes, argument->name));
        ir_region_arg(kernel, guard->regions[1], argument->type, argument->axes, argument->name);
        ir_result(kernel, guard, i, argument->type, argument->axes)->name = argument->name;
    }
    struct ir_builder inside = {.kernel = kernel, .region = guard->regions[0]};
    struct ir_op *stop = condition->def && condition->def->parent == body ? condition->def->next : body->first;
    for (struct ir_op *op = stop, *next; op != guard; op = next) {
        next = op->next;
        inside.span = op->span;
        inside.line = op->line;
        ir_op_clone(&inside, op, map);
        ir_remove(op);
    }
    struct ir_value **yields = ARENA_ARRAY(kernel->arena, struct ir_value *, carried);
    for (int i = 0; i < carried; i++) {
        yields[i] = ir_map_get(map, yield->operands[i]);
        yield->operands[i] = guard->results[i];
    }
    ir_yield(&inside, carried, yields);
    struct ir_builder other = {.kernel = kernel, .region = guard->regions[1], .span = guard->span, .line = guard->line};
    ir_yield(&other, carried, guard->regions[1]->args);
    return guard;
}

// The greatest value over every axis it is on: a number.
static struct ir_value *reduce_all(struct ir_builder *builder, enum ir_reduction reduction, struct ir_value *value) {
    if (!value->axes)
        return value;
    struct ir_value *result = ir_reduce(builder, reduction, value->axes, value, NULL);
    result->def->integer = reduction == RED_MAX;  // a bound may be too high: the guard inside holds all the same
    result->def->over |= reduction == RED_MAX ? 0 : result->axes;
    result->axes = 0;
    return result;
}

// A `while` becomes a carried bool per point, `alive`, which guards the body; the loop goes on while any point lives.
static void lower_while(struct ir_kernel *kernel, struct ir_op *loop) {
    struct ir_region *body = loop->regions[0], *condition = loop->regions[1];
    struct ir_builder before = builder_before(kernel, loop);
    int carried = body->arg_count;
    struct ir_value *start = copy_condition(&before, condition, loop->operands + 2);
    struct ir_value *alive = carry_more(kernel, loop, ir_broadcast(&before, start->axes, start));
    alive->name = "alive";
    guard_body(kernel, body, alive, carried);
    struct ir_builder end = builder_before(kernel, body->last);
    struct ir_value *again = copy_condition(&end, condition, body->last->operands);
    struct ir_value *next = ir_update(&end, alive, ir_binary(&end, OP_LAND, alive, again));
    yield_more(kernel, body->last, next);

    struct ir_region *any = ir_region_new(kernel, loop);
    for (int i = 0; i < body->arg_count; i++)
        ir_region_arg(kernel, any, body->args[i]->type, body->args[i]->axes, body->args[i]->name);
    struct ir_builder test = {.kernel = kernel, .region = any, .span = loop->span, .line = loop->line};
    struct ir_value *goes_on = reduce_all(&test, RED_ANY, any->args[carried]);
    ir_yield(&test, 1, &goes_on);
    loop->regions[1] = any;
}

struct rewrite {
    struct pass_context *context;
    int axis;
    struct ir_value *lo, *hi;  // of the row
};

// Positions and tiles of a loop that starts at 0, told in terms of the row: INDEX BEGIN END ID SIZE.
static void rewrite_position(void *data, struct ir_op *op) {
    struct rewrite *rewrite = data;
    if (op->axis != rewrite->axis || op->code < OP_INDEX || op->code > OP_ID)
        return;
    struct ir_kernel *kernel = rewrite->context->kernel;
    struct axis_layout *layout = &rewrite->context->out->axes[op->axis];
    struct ir_builder builder = builder_before(kernel, op);
    int64_t zero;
    bool shifted = !is_integer_constant(rewrite->lo, &zero) || zero != 0;
    bool jagged = rewrite->lo->axes || rewrite->hi->axes;
    struct ir_value *value;
    if (op->code == OP_SIZE) {
        value = ir_integer(&builder, TYPE_I64, layout->block);
    } else {
        struct ir_value *local = ir_axis_value(&builder, op->code == OP_INDEX ? OP_INDEX : OP_BEGIN, op->axis);
        if (op->code != OP_INDEX)
            local->axes = 0;
        value = jagged && shifted && op->code != OP_ID ? ir_binary(&builder, OP_ADD, rewrite->lo, local) : local;
        if (op->code == OP_END) {
            value = ir_binary(&builder, OP_ADD, value, ir_integer(&builder, TYPE_I64, layout->block));
            value = ir_binary(&builder, OP_MIN, value, rewrite->hi);
        }
        if (op->code == OP_ID) {
            if (!jagged && shifted)
                value = ir_binary(&builder, OP_SUB, local, rewrite->lo);
            value = ir_binary(&builder, OP_DIV, value, ir_integer(&builder, TYPE_I64, layout->block));
        }
        if (value == local) {  // dense, or from 0: the operation itself already says it
            op->results[0]->axes = local->axes;
            return;
        }
    }
    ir_replace_uses(kernel, op->results[0], value);
    ir_remove(op);
}

// The place that argmax or argmin over the row finds: counted from 0 now, so where the row begins is added; -1 stays.
static void rewrite_place(void *data, struct ir_op *op) {
    struct rewrite *rewrite = data;
    if (op->code != OP_REDUCE || (op->reduction != RED_ARGMAX && op->reduction != RED_ARGMIN) ||
        op->over != AXIS_BIT(rewrite->axis))
        return;
    struct ir_kernel *kernel = rewrite->context->kernel;
    struct ir_builder builder = builder_before(kernel, op);
    struct ir_map *map = ir_map_new(kernel);
    ir_op_clone(&builder, op, map);
    struct ir_value *local = ir_map_get(map, op->results[0]);
    struct ir_value *none = ir_binary(&builder, OP_LT, local, ir_integer(&builder, TYPE_I64, 0));
    struct ir_value *place = ir_binary(&builder, OP_ADD, rewrite->lo, local);
    ir_replace_uses(kernel, op->results[0], ir_select(&builder, none, local, place));
    ir_remove(op);
}

// Where indices are computed in 32 bits, so is the length of a row along which a tensor is indexed: a longer one would
// reach outside of it.
static struct ir_value *short_length(struct pass_context *context, struct ir_builder *builder, struct ir_op *loop,
                                     struct ir_value *length) {
    if (context->out->options.index64 || !indexes_tensor(context->kernel, loop))
        return length;
    struct ir_value *lo = ir_integer(builder, TYPE_I64, -(int64_t)INDEX_LIMIT),
                    *hi = ir_integer(builder, TYPE_I64, INDEX_LIMIT);
    struct ir_value *clamped = ir_elementwise(builder, OP_CLAMP, 3, (struct ir_value *[]){length, lo, hi});
    struct ir_value *copy = ir_cast(builder, TYPE_I64, ir_cast(builder, TYPE_I32, clamped));
    copy->name = length->name;
    return copy;
}

static void expand(struct pass_context *context, struct ir_op *loop) {
    struct ir_kernel *kernel = context->kernel;
    struct ir_axis *axis = &kernel->axes[loop->axis];
    struct ir_builder before = builder_before(kernel, loop);
    struct ir_value *lo = loop->operands[0], *hi = loop->operands[1];
    int64_t zero;
    bool shifted = !is_integer_constant(lo, &zero) || zero != 0;
    struct ir_value *length = shifted ? ir_binary(&before, OP_SUB, hi, lo) : hi;
    length = short_length(context, &before, loop, length);
    axis->kind = AXIS_TILE;
    axis->lo = loop->operands[0] = ir_integer(&before, TYPE_I64, 0);
    axis->hi = loop->operands[1] = reduce_all(&before, RED_MAX, length);
    context->out->axes[loop->axis].covered = true;

    struct ir_builder start = builder_at_start(kernel, loop->regions[0], loop);
    struct ir_value *position = ir_axis_value(&start, OP_INDEX, loop->axis);
    struct ir_value *guard = ir_binary(&start, OP_LT, position, length);
    guard_body(kernel, loop->regions[0], guard, loop->regions[0]->arg_count);
}

static void visit_loop(struct pass_context *context, struct ir_op *loop) {
    struct ir_kernel *kernel = context->kernel;
    struct ir_value *lo = loop->operands[0], *hi = loop->operands[1];
    kernel->axes[loop->axis].lo = lo;  // the loop may be a copy, made by the one around it
    kernel->axes[loop->axis].hi = hi;
    kernel->axes[loop->axis].loop = loop;
    if (loop->region_count == 2)
        lower_while(kernel, loop);
    if (kernel->axes[loop->axis].kind == AXIS_JAGGED)
        expand(context, loop);
    struct rewrite rewrite = {.context = context, .axis = loop->axis, .lo = lo, .hi = hi};
    struct ir_region *body = loop->regions[0];
    // The guard's own INDEX counts from 0 already; everything else is inside the guard or, without one, the body.
    if (lo->axes || hi->axes)
        body = body->last->previous->regions[0];
    walk_ops(body, rewrite_position, &rewrite);
    int64_t zero;
    if ((lo->axes || hi->axes) && !(is_integer_constant(lo, &zero) && zero == 0))
        walk_ops(body, rewrite_place, &rewrite);
}

static void visit_region(struct pass_context *context, struct ir_region *region) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR)
            visit_loop(context, op);
        for (int i = 0; i < op->region_count; i++)
            visit_region(context, op->regions[i]);
    }
}

// Axes whose loops were dropped as useless: nothing is on them, and none is jagged from here on.
static void forget_jagged_axes(struct ir_kernel *kernel) {
    for (int a = 0; a < kernel->axis_count; a++)
        if (kernel->axes[a].kind == AXIS_JAGGED) {
            kernel->axes[a].kind = AXIS_TILE;
            kernel->axes[a].parents = 0;
        }
}

bool lower_jagged(struct pass_context *context) {
    context->kernel->lowered = true;
    note_points(context->kernel);
    visit_region(context, context->kernel->body);
    forget_jagged_axes(context->kernel);
    infer_axes(context->kernel);
    keep_points(context->kernel, 0);
    return true;
}
