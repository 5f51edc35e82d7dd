// SPDX-License-Identifier: Apache-2.0
// What the strategies that split rows share. In: a nest that strategy.c has recognized. Out: loops at the top, each a
// copy of what it needs of the nest, with its own work in the place of one of the loops along the row.
//
// note [phases] The jagged loops of the nest run one after the other. One that carries reductions takes a launch over
// pieces and one that joins them; its results are kept per row (`kept`) for what comes later. One that carries nothing
// takes one, over pieces. Whatever else the nest computes is computed again in each launch that needs it; its effects
// happen once.
#include <string.h>

#include "lowering/split.h"

// ---------------------------------------------------------------------------------------------- small pieces

struct ir_value *constant(struct ir_builder *b, int64_t value) {
    return ir_integer(b, TYPE_I64, value);
}

struct ir_value *plus(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_ADD, x, y);
}

struct ir_value *minus(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_SUB, x, y);
}

struct ir_value *least(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_MIN, x, y);
}

struct ir_value *greatest(struct ir_builder *b, struct ir_value *x, struct ir_value *y) {
    return ir_binary(b, OP_MAX, x, y);
}

// offsets[row + distance], as i64.
struct ir_value *offset_at(struct splitter *s, struct ir_builder *b, struct ir_value *row, int distance) {
    struct ir_value *index = distance ? plus(b, row, constant(b, distance)) : row;
    return ir_cast(b, TYPE_I64, ir_load(b, s->offsets, &index, NULL));
}

int workspace(struct splitter *s, const char *name, enum ir_type type, int rank, struct ir_value *const *extents) {
    struct ir_param param = {.kind = PARAM_WORKSPACE, .type = type, .rank = rank, .present = true};
    param.name = arena_printf(s->context->arena, "%s_%d", name, s->kernel->param_count);
    for (int i = 0; i < rank; i++) {
        param.extents[i] = extents[i];
        param.extent_text[i] = "…";
    }
    return ir_param_new(s->kernel, param);
}

// ---------------------------------------------------------------------------------------------- loops and axes

// A loop over a new axis of the name, in front of b; *inside is where its body goes.
struct ir_op *make_loop(struct splitter *s, struct ir_builder *b, const char *name, enum ir_axis_kind kind,
                               axes_t parents, struct ir_value *lo, struct ir_value *hi, struct ir_builder *inside,
                               struct ir_value **index) {
    int axis = ir_axis_new(s->kernel, name, kind, parents);
    if (axis < 0) {
        refuse(s->context, "lowering.axes", s->top->span, "the split loops would have more than %d axes", IR_MAX_AXES);
        return NULL;
    }
    struct ir_op *loop = ir_op_new(b, OP_FOR, 2, 0, 1);
    loop->axis = axis;
    loop->operands[0] = lo;
    loop->operands[1] = hi;
    ir_insert(b, loop);
    s->kernel->axes[axis].lo = lo;
    s->kernel->axes[axis].hi = hi;
    s->kernel->axes[axis].loop = loop;
    s->kernel->axes[axis].span = loop->span;
    *inside = *b;
    inside->region = loop->regions[0];
    inside->before = NULL;
    *index = ir_axis_value(inside, OP_INDEX, axis);
    return loop;
}

// Ends the body: what the loop hands to its next turn.
void end_loop(struct ir_builder *inside, int count, struct ir_value *const *values) {
    ir_yield(inside, count, values);
}

static struct ir_builder branch_builder(const struct ir_builder *b, struct ir_region *region) {
    struct ir_builder inside = *b;
    inside.region = region;
    inside.before = NULL;
    ir_yield(&inside, 0, NULL);
    inside.before = region->last;
    return inside;
}

void make_branch(struct ir_builder *b, struct ir_value *condition, struct ir_builder *inside,
                 struct ir_builder *other) {
    struct ir_op *branch = ir_op_new(b, OP_IF, 1, 0, 2);
    branch->operands[0] = condition;
    ir_insert(b, branch);
    *inside = branch_builder(b, branch->regions[0]);
    struct ir_builder second = branch_builder(b, branch->regions[1]);
    if (other)
        *other = second;
}

// A row may have got parents on its way.
axes_t moved_axes(const struct splitter *s, const struct copying *copying, axes_t axes) {
    axes_t moved = 0;
    for (int a = 0; a < s->kernel->axis_count; a++)
        if (axes & AXIS_BIT(a))
            moved |= ir_axis_closure(s->kernel, copying->axis[a]);
    return moved;
}

static axes_t moved_over(const struct copying *copying, axes_t over) {
    axes_t moved = 0;
    for (int a = 0; a < IR_MAX_AXES; a++)
        if (over & AXIS_BIT(a))
            moved |= AXIS_BIT(copying->axis[a]);
    return moved;
}

const char *copied_name(const struct splitter *s, const struct copying *copying, const char *name) {
    return copying->suffix ? arena_printf(s->context->arena, "%s%s", name, copying->suffix) : name;
}

// A copied loop stands over an axis of its own; everything in it follows.
static bool move_op(struct splitter *s, struct copying *copying, struct ir_op *op) {
    if (op->code == OP_FOR) {
        const struct ir_axis *old = &s->kernel->axes[op->axis];
        const char *name = copied_name(s, copying, old->name);
        int axis = ir_axis_new(s->kernel, name, old->kind, 0);
        if (axis < 0)
            return refuse(s->context, "lowering.axes", op->span, "the split loops would have more than %d axes", IR_MAX_AXES);
        old = &s->kernel->axes[op->axis];
        s->kernel->axes[axis] = *old;
        s->kernel->axes[axis].name = name;
        s->kernel->axes[axis].parents = moved_axes(s, copying, old->parents);
        s->kernel->axes[axis].lo = op->operands[0];
        s->kernel->axes[axis].hi = op->operands[1];
        s->kernel->axes[axis].loop = op;
        copying->axis[op->axis] = axis;
    }
    if (op->axis >= 0)
        op->axis = copying->axis[op->axis];
    op->over = moved_over(copying, op->over);
    for (int i = 0; i < op->result_count; i++)
        op->results[i]->axes = moved_axes(s, copying, op->results[i]->axes);
    for (int r = 0; r < op->region_count; r++) {
        for (int i = 0; i < op->regions[r]->arg_count; i++)
            op->regions[r]->args[i]->axes = moved_axes(s, copying, op->regions[r]->args[i]->axes);
        for (struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (!move_op(s, copying, inner))
                return false;
    }
    return true;
}

struct ir_op *copy_op(struct splitter *s, struct copying *copying, struct ir_builder *b, struct ir_op *op) {
    b->span = op->span;
    b->line = op->line;
    struct ir_op *copy = ir_op_clone(b, op, copying->map);
    return move_op(s, copying, copy) ? copy : NULL;
}

// ---------------------------------------------------------------------------------------------- tensors of results

// The axes, beside the row, that a carried value is on: the nest's loops and full axes.
static int result_axes(const struct splitter *s, const struct ir_value *value, int *axes) {
    int count = 0;
    for (int a = 0; a < s->kernel->axis_count && count < IR_MAX_RANK - 1; a++)
        if ((value->axes & AXIS_BIT(a)) && a != s->row_axis)
            axes[count++] = a;
    return count;
}

// A tensor with `rows` rows that holds the carried value.
int result_tensor(struct splitter *s, const char *name, const struct ir_value *value, struct ir_value *rows) {
    int axes[IR_MAX_RANK], count = result_axes(s, value, axes);
    struct ir_value *extents[IR_MAX_RANK] = {rows};
    for (int i = 0; i < count; i++)
        extents[1 + i] = s->extent[axes[i]];
    return workspace(s, name, value->type, 1 + count, extents);
}

static void result_indices(struct splitter *s, struct copying *copying, struct ir_builder *b,
                           const struct ir_value *value,
                           struct ir_value *row, struct ir_value **indices) {
    int axes[IR_MAX_RANK], count = result_axes(s, value, axes);
    indices[0] = row;
    for (int i = 0; i < count; i++)
        indices[1 + i] = ir_axis_value(b, OP_INDEX, copying->axis[axes[i]]);
}

void store_result(struct splitter *s, struct copying *copying, struct ir_builder *b, int tensor, struct ir_value *row,
                         const struct ir_value *shape, struct ir_value *value) {
    struct ir_value *indices[IR_MAX_RANK];
    result_indices(s, copying, b, shape, row, indices);
    ir_store(b, tensor, indices, value, NULL);
}

struct ir_value *load_result(struct splitter *s, struct copying *copying, struct ir_builder *b, int tensor,
                                    struct ir_value *row, const struct ir_value *shape) {
    struct ir_value *indices[IR_MAX_RANK];
    result_indices(s, copying, b, shape, row, indices);
    return ir_load(b, tensor, indices, NULL);
}

// ---------------------------------------------------------------------------------------------- one launch

static bool is_effect(const struct ir_op *op) {
    return op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_ASSERT || op->code == OP_PRINT;
}

static bool has_effect(const struct ir_op *op) {
    if (is_effect(op))
        return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            if (has_effect(inner))
                return true;
    return false;
}

// An identity of the variable's type on its axes.
struct ir_value *start_value(struct splitter *s, struct copying *copying, struct ir_builder *b,
                             const struct phase *phase,
                             int slot) {
    const struct ir_value *result = phase->loop->results[slot];
    struct ir_value *identity = identity_constant(b, phase->reductions[slot], result->type);
    struct ir_value *start = ir_broadcast(b, moved_axes(s, copying, result->axes), identity);
    start->name = result->name;
    return start;
}

// The operands and results of a loop that carries what the phase's loop does, from the same start values.
static void carry_results(struct splitter *s, struct launch *launch, struct ir_op *loop, const struct ir_op *old) {
    struct ir_value **operands = ARENA_ARRAY(s->context->arena, struct ir_value *, 2 + old->result_count);
    memcpy(operands, loop->operands, 2 * sizeof *operands);
    loop->operands = operands;
    loop->results = ARENA_ARRAY(s->context->arena, struct ir_value *, old->result_count);
    for (int i = 0; i < old->result_count; i++) {
        axes_t axes = moved_axes(s, &launch->copying, old->results[i]->axes);
        loop->operands[loop->operand_count++] = ir_map_get(launch->copying.map, old->operands[2 + i]);
        ir_result(s->kernel, loop, loop->result_count++, old->results[i]->type, axes)->name = old->results[i]->name;
        ir_region_arg(s->kernel, loop->regions[0], old->results[i]->type, axes, old->results[i]->name);
    }
}

static void guarded(struct ir_builder *b, struct ir_value *guard, struct ir_builder *inside) {
    if (guard)
        make_branch(b, guard, inside, NULL);
    else
        *inside = *b;
}

// What the phase's loop hands on is now `results`; later launches read it again.
void keep_results(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase,
                  struct ir_value *const *results) {
    struct ir_builder inside;
    if (phase->keeps && phase->loop->result_count)
        guarded(b, launch->guard, &inside);
    for (int i = 0; i < phase->loop->result_count; i++) {
        const struct ir_value *old = phase->loop->results[i];
        ir_map_set(s->kernel, launch->copying.map, old, results[i]);
        if (phase->keeps)
            store_result(s, &launch->copying, &inside, phase->kept[i], launch->row, old, results[i]);
    }
}

bool write_join(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase,
                struct ir_value *count,
                place_fn *place) {
    const struct ir_op *old = phase->loop;
    const char *name = launch->copying.suffix ? s->partial : s->kernel->axes[old->axis].name;
    struct ir_builder inside;
    struct ir_value *index;
    struct ir_op *loop = make_loop(s, b, name, AXIS_JAGGED, ir_axis_closure(s->kernel, launch->axis), constant(b, 0),
                                   count,
                                   &inside, &index);
    if (!loop)
        return false;
    carry_results(s, launch, loop, old);
    struct ir_value *at = place(s, launch, &inside, index);
    struct ir_value *loaded[MAX_CARRIED], *next[MAX_CARRIED], **arguments = loop->regions[0]->args;
    for (int i = 0; i < old->result_count; i++)
        loaded[i] = load_result(s, &launch->copying, &inside, phase->partials[i], at, old->results[i]);
    join_partials(s, launch->copying.map, &inside, phase, AXIS_BIT(loop->axis), arguments, loaded, next);
    for (int i = 0; i < old->result_count; i++)
        next[i] = ir_update(&inside, arguments[i], next[i]);
    end_loop(&inside, old->result_count, next);
    s->kernel->axes[loop->axis].ordered = true;
    keep_results(s, launch, b, phase, loop->results);
    return true;
}

static void read_kept(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    for (int i = 0; i < phase->loop->result_count; i++) {
        struct ir_value *value = load_result(s, &launch->copying, b, phase->kept[i], launch->row,
                                             phase->loop->results[i]);
        value->name = phase->loop->results[i]->name;
        ir_map_set(s->kernel, launch->copying.map, phase->loop->results[i], value);
    }
}

static void remove_effect(void *data, struct ir_op *op) {
    (void)data;
    if (is_effect(op))
        ir_remove(op);
}

// Of an operation with effects, in a launch without: what it does to variables.
static bool copy_values(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_op *op) {
    struct ir_op *copy = copy_op(s, &launch->copying, b, op);
    for (int r = 0; copy && r < copy->region_count; r++)
        walk_ops(copy->regions[r], remove_effect, NULL);
    return copy != NULL;
}

struct guarding {
    struct splitter *s;
    struct ir_value *guard;
};

static void guard_effect(void *data, struct ir_op *op) {
    const struct guarding *guarding = data;
    if (!is_effect(op))
        return;
    struct ir_builder before = builder_before(guarding->s->kernel, op), inside;
    make_branch(&before, guarding->guard, &inside, NULL);
    ir_move_before(op, inside.before);
}

// An operation with effects, which happen where the launch's guard holds.
static bool copy_effects(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_op *op) {
    struct ir_op *copy = copy_op(s, &launch->copying, b, op);
    struct guarding guarding = {s, launch->guard};
    if (!copy || !launch->guard)
        return copy != NULL;
    for (int r = 0; r < copy->region_count; r++)
        walk_ops(copy->regions[r], guard_effect, &guarding);
    guard_effect(&guarding, copy);
    return true;
}

static struct phase *phase_of(struct splitter *s, const struct ir_op *op) {
    for (int i = 0; i < s->phase_count; i++)
        if (s->phases[i].loop == op)
            return &s->phases[i];
    return NULL;
}

// One of the phases' loops: the launch's own work, or what an earlier launch left.
static bool write_phase(struct splitter *s, struct launch *launch, struct ir_builder *b, struct phase *phase) {
    int at = (int)(phase - s->phases);
    if (at == launch->phase)
        return launch->work(s, launch, b, phase);
    if (at < launch->phase)
        read_kept(s, launch, b, phase);
    return true;
}

static bool stands_outside(const struct launch *launch, const struct ir_op *loop) {
    for (int i = 0; i < launch->outside_count; i++)
        if (launch->outside[i] == loop)
            return true;
    return false;
}

bool open_nest(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_op *loop,
               struct ir_builder *inside) {
    struct ir_map *map = launch->copying.map;
    struct ir_value *index;
    const struct ir_axis *axis = &s->kernel->axes[loop->axis];
    enum ir_axis_kind kind = axis->kind;
    b->span = loop->span;
    b->line = loop->line;
    struct ir_op *copy = make_loop(s, b, copied_name(s, &launch->copying, axis->name), kind,
                                   moved_axes(s, &launch->copying, axis->parents), ir_map_get(map, loop->operands[0]),
                                   ir_map_get(map, loop->operands[1]), inside, &index);
    if (copy)
        launch->copying.axis[loop->axis] = copy->axis;
    return copy != NULL;
}

// A loop of the nest, around the phases: over a new axis, with the launch's work inside.
static bool write_nest(struct splitter *s, struct launch *launch, struct ir_builder *b, struct ir_op *loop) {
    struct ir_builder inside;
    if (stands_outside(launch, loop))
        return write_nest_region(s, launch, b, loop->regions[0]);
    if (!open_nest(s, launch, b, loop, &inside) || !write_nest_region(s, launch, &inside, loop->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

bool write_nest_region(struct splitter *s, struct launch *launch, struct ir_builder *b,
                       const struct ir_region *region) {
    for (struct ir_op *op = region->first; op && op->code != OP_YIELD; op = op->next) {
        struct phase *phase = phase_of(s, op);
        bool good = true;
        if (phase && phase - s->phases > launch->phase)
            break;  // nothing behind it can matter
        if (phase)
            good = write_phase(s, launch, b, phase);
        else if (op->code == OP_INDEX && op->axis == s->row_axis)
            ir_map_set(s->kernel, launch->copying.map, op->results[0], launch->row);
        else if (op->code == OP_FOR && is_around_phases(s, op))
            good = write_nest(s, launch, b, op);
        else if (!has_effect(op))
            good = copy_op(s, &launch->copying, b, op) != NULL;
        else if (launch->effects)
            good = copy_effects(s, launch, b, op);
        else if (op->result_count)
            good = copy_values(s, launch, b, op);
        if (!good)
            return false;
    }
    return true;
}

static bool in_grid(const struct splitter *s, const struct ir_op *loop) {
    const struct config *config = s->context->config;
    for (int i = 0; i < config->grid_count; i++)
        if (!strcmp(config->grid[i], s->kernel->axes[loop->axis].name))
            return true;
    return false;
}

bool write_outside(struct splitter *s, struct launch *launch, struct ir_region *region,
                   struct ir_builder *inside) {
    for (struct ir_op *op = region->first; op; op = op->next) {
        if (op->code != OP_FOR || !is_around_phases(s, op))
            continue;
        if (!in_grid(s, op) || !may_spread(s->kernel, op))
            return true;
        struct ir_builder before = builder_before(s->kernel, s->kernel->axes[launch->axis].loop), outer = *inside;
        struct ir_map *map = ir_map_new(s->kernel);
        for (int i = 0; i < 2; i++)
            ir_map_set(s->kernel, launch->copying.map, op->operands[i], number_at_front(s, &before, map,
                                                                                        op->operands[i]));
        if (!open_nest(s, launch, &outer, op, inside))
            return false;
        launch->outside[launch->outside_count++] = op;
        return write_outside(s, launch, op->regions[0], inside);
    }
    return true;
}

void end_outside(struct splitter *s, const struct launch *launch, const struct ir_builder *inside) {
    const struct ir_region *outermost = s->kernel->axes[launch->axis].loop->parent;
    for (struct ir_region *region = inside->region; region != outermost; region = region->owner->parent) {
        struct ir_builder end = *inside;
        end.region = region;
        end.before = NULL;
        end_loop(&end, 0, NULL);
    }
}

struct launch new_launch(struct splitter *s, int phase, bool effects) {
    struct launch launch = {.phase = phase, .effects = effects};
    launch.copying.map = ir_map_new(s->kernel);
    for (int a = 0; a < IR_MAX_AXES; a++)
        launch.copying.axis[a] = a;
    return launch;
}

// ---------------------------------------------------------------------------------------------- around all launches

void make_result_tensors(struct splitter *s, struct ir_value *partials) {
    for (int p = 0; p < s->phase_count; p++) {
        struct phase *phase = &s->phases[p];
        phase->keeps = p + 1 < s->phase_count || s->effects_last;
        for (int i = 0; i < phase->loop->result_count; i++) {
            phase->partials[i] = result_tensor(s, "partial", phase->loop->results[i], partials);
            if (phase->keeps)
                phase->kept[i] = result_tensor(s, "kept", phase->loop->results[i], s->rows);
        }
    }
}

// One launch over whole rows, at the end.
bool write_rows(struct splitter *s, int phase, bool effects, work_fn *work) {
    struct launch launch = new_launch(s, phase, effects);
    struct ir_builder before = builder_before(s->kernel, s->top), inside;
    launch.work = work;
    launch.copying.suffix = s->join;
    const char *name = copied_name(s, &launch.copying, s->kernel->axes[s->row_axis].name);
    struct ir_op *loop = make_loop(s, &before, name, AXIS_TILE, 0, constant(&before, 0), s->rows, &inside,
                                   &launch.index);
    if (!loop)
        return false;
    launch.axis = launch.copying.axis[s->row_axis] = loop->axis;
    launch.row = launch.index;
    if (!write_nest_region(s, &launch, &inside, s->top->regions[0]))
        return false;
    end_loop(&inside, 0, NULL);
    return true;
}

// The axes of loops that are gone: nothing is on them any more.
static void forget_axes(struct ir_kernel *kernel, const struct ir_op *op) {
    if (op->code == OP_FOR) {
        kernel->axes[op->axis].kind = AXIS_TILE;
        kernel->axes[op->axis].parents = 0;
        kernel->axes[op->axis].lo = kernel->axes[op->axis].hi = NULL;
        kernel->axes[op->axis].loop = NULL;
    }
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
            forget_axes(kernel, inner);
}

void remove_nest(struct splitter *s) {
    ir_remove(s->top);
    forget_axes(s->kernel, s->top);
}
