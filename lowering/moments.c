// SPDX-License-Identifier: Apache-2.0
// opt_moments: a loop that sums, and a later one over the same points that sums squares of what lies between them and
// their mean, become one: the points are read once.
//
//     total   = for t carry (a = 0) { a + sum[t](f) }
//     squares = for t carry (a = 0) { a + sum[t]((f - u) * (f - u)) }        u: total / how many points (mean.c)
//  => total, n, s = for t carry (0, 0, 0) { joined with: sum[t](f), sum[t](1), the tile's squares around its own mean }
//     squares = s, infinite or NaN where total is
//
// Around any other number this would lose digits: n * (total / n - u)^2 is as wrong as the total is, however small the
// squares are. Both loops may hold others (of rows, of columns) as long as those run over the same points, too.
#include <math.h>

#include "lowering/moments.h"

enum { MAX_DEPTH = 4 };

struct nest {  // loops, each right inside the one before, that carry one sum
    int depth;
    struct ir_op *loops[MAX_DEPTH];
    struct ir_op *reduce, *step, *update;  // in the innermost
};

// ---------------------------------------------------------------------------------------------- joining

static struct ir_value *at_least_one(struct ir_builder *b, struct ir_value *count) {
    return ir_binary(b, OP_MAX, count, ir_number(b, count->type, 1));
}

static struct ir_value *mean_of(struct ir_builder *b, struct ir_value *sum, struct ir_value *count) {
    return ir_binary(b, OP_DIV, sum, at_least_one(b, count));
}

// In a loop, by the device's approximation: what is squared around such a mean, and what two means lie apart, are off by
// no more than the roundings of the sums make them.
static struct ir_value *near(struct ir_value *quotient) {
    quotient->def->rough = quotient->type == TYPE_F32;
    return quotient;
}

// factor * (x - y)^2, and 0 where the factor is: one of the two means is of nothing. Between two infinite ones (of finite
// values: their sums are too large) lies nothing, where a difference would be NaN. The factor, which is 1/2 or more, comes
// first: nothing overflows that doesn't in the sum of all squares.
static struct ir_value *spread(struct ir_builder *b, struct ir_value *factor, struct ir_value *x, struct ir_value *y) {
    struct ir_value *zero = ir_number(b, factor->type, 0), *between = ir_binary(b, OP_SUB, x, y);
    struct ir_value *squares = ir_binary(b, OP_MUL, ir_binary(b, OP_MUL, between, factor), between);
    struct ir_value *apart = ir_binary(b, OP_LAND, ir_binary(b, OP_GT, factor, zero), ir_binary(b, OP_NE, x, y));
    return ir_select(b, apart, squares, zero);
}

void join_moments(struct ir_builder *b, struct ir_value *const *a, struct ir_value *const *c,
                  struct ir_value **joined) {
    struct ir_value *count = ir_binary(b, OP_ADD, a[MOMENT_COUNT], c[MOMENT_COUNT]);
    struct ir_value *product = ir_binary(b, OP_MUL, a[MOMENT_COUNT], c[MOMENT_COUNT]);
    struct ir_value *factor = near(ir_binary(b, OP_DIV, product, at_least_one(b, count)));
    struct ir_value *between = spread(b, factor, near(mean_of(b, a[MOMENT_SUM], a[MOMENT_COUNT])),
                                      near(mean_of(b, c[MOMENT_SUM], c[MOMENT_COUNT])));
    struct ir_value *squares = ir_binary(b, OP_ADD, a[MOMENT_SQUARES], c[MOMENT_SQUARES]);
    joined[MOMENT_SUM] = ir_binary(b, OP_ADD, a[MOMENT_SUM], c[MOMENT_SUM]);
    joined[MOMENT_COUNT] = count;
    joined[MOMENT_SQUARES] = ir_binary(b, OP_ADD, squares, between);
}

void sum_moments(struct ir_builder *b, struct ir_value *const *sets, sum_fn *sum, void *data,
                 struct ir_value **joined) {
    joined[MOMENT_COUNT] = sum(data, b, sets[MOMENT_COUNT]);
    joined[MOMENT_SUM] = sum(data, b, sets[MOMENT_SUM]);
    struct ir_value *all = mean_of(b, joined[MOMENT_SUM], joined[MOMENT_COUNT]);
    struct ir_value *own = mean_of(b, sets[MOMENT_SUM], sets[MOMENT_COUNT]);
    struct ir_value *around = ir_binary(b, OP_ADD, sets[MOMENT_SQUARES], spread(b, sets[MOMENT_COUNT], own, all));
    joined[MOMENT_SQUARES] = sum(data, b, around);
}

// ---------------------------------------------------------------------------------------------- recognizing sums

static struct ir_op *def_of(const struct ir_value *value) {
    return value->region ? NULL : value->def;
}

// argument + sum[…](…), assigned, and nothing else is done with any of them.
static bool match_sum(const int *uses, const struct ir_region *body, struct nest *nest) {
    struct ir_value *argument = body->args[0];
    struct ir_op *update = def_of(body->last->operands[0]);
    if (!update || update->code != OP_UPDATE || update->operands[0] != argument || uses[argument->id] != 2)
        return false;
    struct ir_op *step = def_of(update->operands[1]);
    if (!step || step->code != OP_ADD || uses[update->results[0]->id] != 1 || uses[step->results[0]->id] != 1)
        return false;
    int at = step->operands[0] == argument ? 1 : 0;
    struct ir_op *reduce = def_of(step->operands[at]);
    if (step->operands[1 - at] != argument || !reduce || reduce->code != OP_REDUCE || reduce->reduction != RED_SUM)
        return false;
    if (reduce->predicated || uses[reduce->results[0]->id] != 1)
        return false;
    nest->reduce = reduce;
    nest->step = step;
    nest->update = update;
    return update->parent == body && step->parent == body && reduce->parent == body;
}

static bool match_nest(const int *uses, struct ir_op *loop, struct nest *nest) {
    if (loop->code != OP_FOR || loop->result_count != 1 || loop->region_count != 1 || loop->moments ||
        nest->depth == MAX_DEPTH || !ir_type_is_float(loop->results[0]->type))
        return false;
    const struct ir_region *body = loop->regions[0];
    nest->loops[nest->depth++] = loop;
    struct ir_op *inner = def_of(body->last->operands[0]);
    if (!inner || inner->code != OP_FOR)
        return match_sum(uses, body, nest);
    return inner->parent == body && inner->operands[2] == body->args[0] && uses[body->args[0]->id] == 1 &&
           match_nest(uses, inner, nest);
}

static bool starts_at_zero(const struct ir_op *loop) {
    const struct ir_value *init = loop->operands[2];
    if (!init->region && init->def->code == OP_BROADCAST)
        init = init->def->operands[0];
    return is_identity(init, RED_SUM);
}

// ---------------------------------------------------------------------------------------------- the same points and values

static bool same_value(const struct ir_kernel *kernel, const struct nest *a, const struct nest *b,
                       const struct ir_value *x, const struct ir_value *y) {
    if (x == y)
        return true;
    const struct ir_op *p = def_of(x), *q = def_of(y);
    if (!p || !q || p->code != q->code || p->operand_count != q->operand_count || x->type != y->type)
        return false;
    bool known = p->code == OP_CONST || p->code == OP_INDEX || p->code == OP_LOAD ||
                 (ir_ops[p->code].flags & F_ELEMENTWISE);
    if (!known || p->integer != q->integer || p->number != q->number || p->param != q->param)
        return false;
    if (p->code == OP_LOAD && (p->predicated || q->predicated || is_stored(kernel, p->param)))
        return false;
    if (p->code == OP_INDEX && p->axis != q->axis) {
        int i = 0;
        while (i < a->depth && a->loops[i]->axis != p->axis)
            i++;
        return i < a->depth && b->loops[i]->axis == q->axis;
    }
    for (int i = 0; i < p->operand_count; i++)
        if (!same_value(kernel, a, b, p->operands[i], q->operands[i]))
            return false;
    return true;
}

static bool same_points(const struct ir_kernel *kernel, const struct nest *a, const struct nest *b) {
    axes_t over = a->reduce->over;  // as b says it
    for (int i = 0; i < a->depth; i++)
        over &= ~AXIS_BIT(a->loops[i]->axis);
    for (int i = 0; a->depth == b->depth && i < a->depth; i++) {
        const struct ir_op *x = a->loops[i], *y = b->loops[i];
        if (kernel->axes[x->axis].kind != kernel->axes[y->axis].kind ||
            !same_value(kernel, a, b, x->operands[0], y->operands[0]) ||
            !same_value(kernel, a, b, x->operands[1], y->operands[1]))
            return false;
        if (a->reduce->over & AXIS_BIT(x->axis))
            over |= AXIS_BIT(y->axis);
    }
    return a->depth == b->depth && over == b->reduce->over;
}

static bool is_from_outside(const struct ir_value *value, const struct ir_op *loop) {
    if (value->region && value->def == loop)
        return false;
    return !is_inside(value->def, loop->regions[0]);
}

// Whether `squares` sums (f - u)^2, where u is the mean of what `sums` sums.
static bool is_around_mean(const struct ir_kernel *kernel, const struct nest *sums, const struct nest *squares) {
    const struct ir_op *square = def_of(squares->reduce->operands[0]), *outer = squares->loops[0];
    if (!square || square->code != OP_MUL || square->operands[0] != square->operands[1])
        return false;
    const struct ir_op *between = def_of(square->operands[0]);
    for (int i = 0; between && between->code == OP_SUB && i < 2; i++) {
        const struct ir_value *centre = between->operands[i];
        if (is_from_outside(centre, outer) && !(centre->axes & ~outer->results[0]->axes) &&
            same_value(kernel, sums, squares, sums->reduce->operands[0], between->operands[1 - i]) &&
            is_mean(kernel, centre, sums->loops[0], sums->reduce))
            return true;
    }
    return false;
}

// ---------------------------------------------------------------------------------------------- one loop of two

static void append(struct arena *arena, struct ir_value ***list, int *count, struct ir_value *value) {
    struct ir_value **longer = ARENA_ARRAY(arena, struct ir_value *, *count + 1);
    for (int i = 0; i < *count; i++)
        longer[i] = (*list)[i];
    longer[(*count)++] = value;
    *list = longer;
}

// Lets the loop carry two values more, from `starts`.
static void carry_more(struct ir_kernel *kernel, struct ir_op *loop, struct ir_value *const *starts) {
    static const char *const names[MOMENTS] = {[MOMENT_COUNT] = "points", [MOMENT_SQUARES] = "squares"};
    const struct ir_value *sum = loop->results[0];
    loop->moments = true;
    for (int slot = MOMENT_COUNT; slot < MOMENTS; slot++) {
        append(kernel->arena, &loop->operands, &loop->operand_count, starts[slot]);
        append(kernel->arena, &loop->results, &loop->result_count, NULL);
        ir_result(kernel, loop, slot, sum->type, sum->axes)->name = names[slot];
        ir_region_arg(kernel, loop->regions[0], sum->type, sum->axes, names[slot]);
    }
}

static struct ir_value *tile_sum(struct ir_builder *b, axes_t over, struct ir_value *value) {
    struct ir_value *sum = ir_reduce(b, RED_SUM, over, value, NULL);
    sum->def->moments = true;
    return sum;
}

// On the axes that the loop carries it on. Joined with nothing, what is carried stays as it is: no mask is needed.
static struct ir_value *on_axes_of(struct ir_builder *b, const struct ir_value *carried, struct ir_value *value) {
    return value->axes == carried->axes ? value : ir_broadcast(b, carried->axes, value);
}

// In the innermost loop, in the place of its step: the tile's own moments, and what is carried joined with them.
static void write_step(struct ir_kernel *kernel, const struct nest *nest) {
    struct ir_op *inner = nest->loops[nest->depth - 1], *yield = inner->regions[0]->last;
    struct ir_builder b = builder_before(kernel, yield);
    b.span = nest->step->span;
    b.line = nest->step->line;
    struct ir_value *const *carried = inner->regions[0]->args, *tile[MOMENTS], *joined[MOMENTS];
    axes_t over = nest->reduce->over;
    nest->reduce->moments = true;
    tile[MOMENT_SUM] = nest->reduce->results[0];
    tile[MOMENT_COUNT] = tile_sum(&b, over, ir_number(&b, inner->results[0]->type, 1));
    struct ir_value *mean = near(mean_of(&b, tile[MOMENT_SUM], tile[MOMENT_COUNT]));
    struct ir_value *between = ir_binary(&b, OP_SUB, nest->reduce->operands[0], mean);
    tile[MOMENT_SQUARES] = tile_sum(&b, over, ir_binary(&b, OP_MUL, between, between));
    join_moments(&b, carried, tile, joined);
    yield->operands[0] = on_axes_of(&b, carried[0], joined[0]);
    for (int slot = MOMENT_COUNT; slot < MOMENTS; slot++)
        append(kernel->arena, &yield->operands, &yield->operand_count, on_axes_of(&b, carried[slot], joined[slot]));
    ir_remove(nest->update);
    ir_remove(nest->step);
}

// 0, but infinite or NaN where the total is, and with it the mean: so are the squares around that, whose own means, of
// parts, may be finite.
static struct ir_value *excess(struct ir_builder *b, struct ir_value *total) {
    struct ir_value *size = ir_unary(b, OP_ABS, total);
    struct ir_value *finite = ir_binary(b, OP_LT, size, ir_number(b, total->type, INFINITY));
    return ir_select(b, finite, ir_number(b, total->type, 0), size);
}

static void fuse(struct ir_kernel *kernel, const struct nest *sums, const struct nest *squares) {
    struct ir_op *outer = sums->loops[0], *second = squares->loops[0];
    struct ir_builder before = builder_before(kernel, outer);
    struct ir_value *starts[MOMENTS] = {outer->operands[2], outer->operands[2], outer->operands[2]};
    for (int i = 0; i < sums->depth; i++) {
        carry_more(kernel, sums->loops[i], i ? sums->loops[i - 1]->regions[0]->args : starts);
        struct ir_op *yield = i ? sums->loops[i - 1]->regions[0]->last : NULL;
        for (int slot = MOMENT_COUNT; yield && slot < MOMENTS; slot++)
            append(kernel->arena, &yield->operands, &yield->operand_count, sums->loops[i]->results[slot]);
    }
    write_step(kernel, sums);
    before = builder_before(kernel, second);
    struct ir_value *const *all = outer->results;
    struct ir_value *result = ir_binary(&before, OP_ADD, all[MOMENT_SQUARES], excess(&before, all[MOMENT_SUM]));
    result->name = second->results[0]->name;
    ir_replace_uses(kernel, second->results[0], result);
    ir_remove(second);
}

// ---------------------------------------------------------------------------------------------- the pass

static bool fuse_one(struct pass_context *context, struct ir_region *region) {
    const int *uses = count_uses(context->arena, context->kernel);
    for (struct ir_op *op = region->first; op; op = op->next) {
        struct nest sums = {0};
        if (!match_nest(uses, op, &sums) || !starts_at_zero(op) || region_has_effects(op->regions[0]))
            continue;
        for (struct ir_op *later = op->next; later; later = later->next) {
            struct nest squares = {0};
            if (!match_nest(uses, later, &squares) || !starts_at_zero(later) || region_has_effects(later->regions[0]) ||
                later->results[0]->axes != op->results[0]->axes || !same_points(context->kernel, &sums, &squares))
                continue;
            if (!is_around_mean(context->kernel, &sums, &squares))
                continue;
            fuse(context->kernel, &sums, &squares);
            return true;
        }
    }
    return false;
}

static void visit_region(struct pass_context *context, struct ir_region *region) {
    while (fuse_one(context, region))
        ;
    for (struct ir_op *op = region->first; op; op = op->next)
        for (int r = 0; r < op->region_count; r++)
            visit_region(context, op->regions[r]);
}

bool opt_moments(struct pass_context *context) {
    visit_region(context, context->kernel->body);
    return true;
}
