// SPDX-License-Identifier: Apache-2.0
// Building IR: kernels, regions, values and operations. In: operands. Out: typed results on the right axes.
// The one idea: the builder works out types and axes, so that no caller repeats the rules.
#include "ir/ir.h"

struct ir_kernel *ir_kernel_new(struct arena *arena, const char *name) {
    struct ir_kernel *kernel = ARENA_NEW(arena, struct ir_kernel);
    kernel->arena = arena;
    kernel->name = name;
    kernel->body = ir_region_new(kernel, NULL);
    return kernel;
}

struct ir_region *ir_region_new(struct ir_kernel *kernel, struct ir_op *owner) {
    struct ir_region *region = ARENA_NEW(kernel->arena, struct ir_region);
    region->owner = owner;
    return region;
}

static struct ir_value *value_new(struct ir_kernel *kernel, enum ir_type type, axes_t axes) {
    struct ir_value *value = ARENA_NEW(kernel->arena, struct ir_value);
    value->id = kernel->value_count++;
    value->type = type;
    value->axes = axes;
    return value;
}

struct ir_value *ir_region_arg(struct ir_kernel *kernel, struct ir_region *region, enum ir_type type, axes_t axes,
                               const char *name) {
    struct ir_value *value = value_new(kernel, type, axes);
    value->def = region->owner;
    value->region = region;
    value->index = region->arg_count;
    value->name = name;
    struct ir_value **args = ARENA_ARRAY(kernel->arena, struct ir_value *, region->arg_count + 1);
    for (int i = 0; i < region->arg_count; i++)
        args[i] = region->args[i];
    args[region->arg_count++] = value;
    region->args = args;
    return value;
}

int ir_axis_new(struct ir_kernel *kernel, const char *name, enum ir_axis_kind kind, axes_t parents) {
    if (kernel->axis_count == IR_MAX_AXES)
        return -1;
    int axis = kernel->axis_count++;
    kernel->axes[axis] = (struct ir_axis){.name = name, .kind = kind, .parents = parents};
    for (int parent = 0; parent < axis; parent++) {
        if (parents & AXIS_BIT(parent))
            kernel->axes[axis].parents |= kernel->axes[parent].parents;
    }
    return axis;
}

int ir_param_new(struct ir_kernel *kernel, struct ir_param param) {
    ARENA_PUSH(kernel->arena, kernel->params, kernel->param_count, kernel->param_capacity, param);
    return kernel->param_count - 1;
}

int ir_dim_new(struct ir_kernel *kernel, struct ir_dim dim) {
    ARENA_PUSH(kernel->arena, kernel->dims, kernel->dim_count, kernel->dim_capacity, dim);
    return kernel->dim_count - 1;
}

axes_t ir_axis_closure(const struct ir_kernel *kernel, int axis) {
    return AXIS_BIT(axis) | kernel->axes[axis].parents;
}

// ---------------------------------------------------------------------------------------------- operations

// The regions are there already, empty; a caller may use them or set others.
struct ir_op *ir_op_new(struct ir_builder *builder, enum ir_opcode code, int operands, int results, int regions) {
    struct arena *arena = builder->kernel->arena;
    struct ir_op *op = ARENA_NEW(arena, struct ir_op);
    op->code = code;
    op->operand_count = operands;
    op->result_count = results;
    op->region_count = regions;
    op->operands = ARENA_ARRAY(arena, struct ir_value *, operands);
    op->results = ARENA_ARRAY(arena, struct ir_value *, results);
    op->regions = ARENA_ARRAY(arena, struct ir_region *, regions);
    for (int i = 0; i < regions; i++)
        op->regions[i] = ir_region_new(builder->kernel, op);
    op->param = op->dim = op->axis = -1;
    op->span = builder->span;
    op->line = builder->line;
    return op;
}

static void insert_into(struct ir_op *op, struct ir_region *region, struct ir_op *before) {
    op->parent = region;
    op->next = before;
    op->previous = before ? before->previous : region->last;
    *(op->previous ? &op->previous->next : &region->first) = op;
    *(before ? &before->previous : &region->last) = op;
}

void ir_insert(struct ir_builder *builder, struct ir_op *op) {
    insert_into(op, builder->region, builder->before);
}

struct ir_value *ir_result(struct ir_kernel *kernel, struct ir_op *op, int index, enum ir_type type, axes_t axes) {
    struct ir_value *value = value_new(kernel, type, axes);
    value->def = op;
    value->index = index;
    op->results[index] = value;
    return value;
}

// An operation without operands and with one result, inserted.
static struct ir_op *leaf(struct ir_builder *builder, enum ir_opcode code, enum ir_type type, axes_t axes) {
    struct ir_op *op = ir_op_new(builder, code, 0, 1, 0);
    ir_result(builder->kernel, op, 0, type, axes);
    ir_insert(builder, op);
    return op;
}

struct ir_value *ir_integer(struct ir_builder *builder, enum ir_type type, int64_t value) {
    struct ir_op *op = leaf(builder, OP_CONST, type, 0);
    op->integer = ir_wrap_to(type, value);
    return op->results[0];
}

struct ir_value *ir_number(struct ir_builder *builder, enum ir_type type, double value) {
    struct ir_op *op = leaf(builder, OP_CONST, type, 0);
    op->number = ir_round_to(type, value);
    return op->results[0];
}

struct ir_value *ir_dim_value(struct ir_builder *builder, int dim) {
    struct ir_op *op = leaf(builder, OP_DIM, TYPE_I64, 0);
    op->dim = dim;
    return op->results[0];
}

struct ir_value *ir_scalar_value(struct ir_builder *builder, int param) {
    struct ir_op *op = leaf(builder, OP_SCALAR, builder->kernel->params[param].type, 0);
    op->param = param;
    return op->results[0];
}

struct ir_value *ir_axis_value(struct ir_builder *builder, enum ir_opcode code, int axis) {
    axes_t parents = builder->kernel->axes[axis].parents;
    axes_t axes = code == OP_INDEX ? parents | AXIS_BIT(axis) : code == OP_SIZE ? 0 : parents;
    struct ir_op *op = leaf(builder, code, TYPE_I64, axes);
    op->axis = axis;
    return op->results[0];
}

// ---------------------------------------------------------------------------------------------- element-wise

static enum ir_type elementwise_type(enum ir_opcode code, struct ir_value *const *operands) {
    switch (ir_ops[code].rule) {
    case RULE_COMPARE:
    case RULE_LOGIC:
    case RULE_TEST:
        return TYPE_BOOL;
    case RULE_SELECT:
        return operands[1]->type;
    default:
        return operands[0]->type;
    }
}

struct ir_value *ir_elementwise(struct ir_builder *builder, enum ir_opcode code, int count,
                                struct ir_value *const *operands) {
    struct ir_op *op = ir_op_new(builder, code, count, 1, 0);
    axes_t axes = 0;
    for (int i = 0; i < count; i++) {
        op->operands[i] = operands[i];
        axes |= operands[i]->axes;
    }
    ir_insert(builder, op);
    return ir_result(builder->kernel, op, 0, elementwise_type(code, operands), axes);
}

struct ir_value *ir_unary(struct ir_builder *builder, enum ir_opcode code, struct ir_value *a) {
    return ir_elementwise(builder, code, 1, &a);
}

struct ir_value *ir_binary(struct ir_builder *builder, enum ir_opcode code, struct ir_value *a, struct ir_value *b) {
    return ir_elementwise(builder, code, 2, (struct ir_value *[]){a, b});
}

struct ir_value *ir_select(struct ir_builder *builder, struct ir_value *c, struct ir_value *a, struct ir_value *b) {
    return ir_elementwise(builder, OP_SELECT, 3, (struct ir_value *[]){c, a, b});
}

struct ir_value *ir_cast(struct ir_builder *builder, enum ir_type type, struct ir_value *a) {
    if (a->type == type)
        return a;
    struct ir_op *op = ir_op_new(builder, OP_CAST, 1, 1, 0);
    op->operands[0] = a;
    ir_insert(builder, op);
    return ir_result(builder->kernel, op, 0, type, a->axes);
}

struct ir_value *ir_broadcast(struct ir_builder *builder, axes_t axes, struct ir_value *a) {
    struct ir_op *op = ir_op_new(builder, OP_BROADCAST, 1, 1, 0);
    op->operands[0] = a;
    ir_insert(builder, op);
    return ir_result(builder->kernel, op, 0, a->type, axes | a->axes);
}

struct ir_value *ir_update(struct ir_builder *builder, struct ir_value *old, struct ir_value *value) {
    struct ir_op *op = ir_op_new(builder, OP_UPDATE, 2, 1, 0);
    op->operands[0] = old;
    op->operands[1] = value;
    ir_insert(builder, op);
    return ir_result(builder->kernel, op, 0, old->type, old->axes);
}

// ---------------------------------------------------------------------------------------------- memory

// Indices, then `value` and `predicate` where they aren't NULL.
static struct ir_op *access_new(struct ir_builder *builder, enum ir_opcode code, int param,
                                struct ir_value *const *indices, struct ir_value *value, struct ir_value *predicate) {
    int rank = builder->kernel->params[param].rank;
    int results = code == OP_LOAD ? 1 : 0;
    struct ir_op *op = ir_op_new(builder, code, rank + (value != NULL) + (predicate != NULL), results, 0);
    op->param = param;
    op->predicated = predicate != NULL;
    int count = 0;
    while (count < rank) {
        op->operands[count] = indices[count];
        count++;
    }
    if (value)
        op->operands[count++] = value;
    if (predicate)
        op->operands[count++] = predicate;
    ir_insert(builder, op);
    return op;
}

struct ir_value *ir_load(struct ir_builder *builder, int param, struct ir_value *const *indices,
                         struct ir_value *predicate) {
    struct ir_op *op = access_new(builder, OP_LOAD, param, indices, NULL, predicate);
    axes_t axes = 0;
    for (int i = 0; i < op->operand_count; i++)
        axes |= op->operands[i]->axes;
    return ir_result(builder->kernel, op, 0, builder->kernel->params[param].type, axes);
}

void ir_store(struct ir_builder *builder, int param, struct ir_value *const *indices, struct ir_value *value,
              struct ir_value *predicate) {
    access_new(builder, OP_STORE, param, indices, value, predicate);
}

void ir_atomic(struct ir_builder *builder, enum ir_reduction reduction, int param, struct ir_value *const *indices,
               struct ir_value *value, struct ir_value *predicate) {
    access_new(builder, OP_ATOMIC, param, indices, value, predicate)->reduction = reduction;
}

// ---------------------------------------------------------------------------------------------- reductions

// The axes of the conditions around `region` that look at an axis of `over`: which points of `over` are active
// depends on them (note [what a reduction stays on] in ir.h).
static axes_t conditions_around(const struct ir_region *region, axes_t over) {
    axes_t axes = 0;
    for (; region && region->owner; region = region->owner->parent) {
        const struct ir_op *op = region->owner;
        const struct ir_value *condition = NULL;
        if (op->code == OP_IF && op->operand_count)
            condition = op->operands[0];
        if (op->code == OP_FOR && op->region_count == 2 && op->regions[1] && op->regions[1] != region) {
            const struct ir_op *yield = op->regions[1]->last;
            if (yield && yield->code == OP_YIELD && yield->operand_count)
                condition = yield->operands[0];
        }
        if (condition && (condition->axes & over))
            axes |= condition->axes;
    }
    return axes;
}

static axes_t closure_of(const struct ir_kernel *kernel, axes_t axes) {
    axes_t closure = axes;
    for (int axis = 0; axis < kernel->axis_count; axis++) {
        if (axes & AXIS_BIT(axis))
            closure |= kernel->axes[axis].parents;
    }
    return closure;
}

// All axes that a reduction or scan over `over` ranges over, `over` included.
static axes_t reduced_space(struct ir_builder *builder, axes_t over, const struct ir_op *op) {
    axes_t axes = closure_of(builder->kernel, over);
    for (int i = 0; i < op->operand_count; i++)
        axes |= op->operands[i]->axes;
    // Under a predicate the mask is explicit, and no condition around it counts.
    return op->predicated ? axes : axes | conditions_around(builder->region, over);
}

static struct ir_op *reduction_new(struct ir_builder *builder, enum ir_opcode code, axes_t over, int count,
                                   struct ir_value *const *operands, struct ir_value *predicate) {
    struct ir_op *op = ir_op_new(builder, code, count + (predicate != NULL), 1, 0);
    op->over = over;
    op->predicated = predicate != NULL;
    for (int i = 0; i < count; i++)
        op->operands[i] = operands[i];
    if (predicate)
        op->operands[count] = predicate;
    ir_insert(builder, op);
    return op;
}

struct ir_value *ir_reduce(struct ir_builder *builder, enum ir_reduction reduction, axes_t over, struct ir_value *a,
                           struct ir_value *predicate) {
    struct ir_op *op = reduction_new(builder, OP_REDUCE, over, 1, &a, predicate);
    op->reduction = reduction;
    bool position = reduction == RED_ARGMAX || reduction == RED_ARGMIN;
    axes_t axes = reduced_space(builder, over, op) & ~over;
    return ir_result(builder->kernel, op, 0, position ? TYPE_I64 : a->type, axes);
}

struct ir_value *ir_scan(struct ir_builder *builder, enum ir_reduction reduction, int axis, struct ir_value *a,
                         struct ir_value *predicate) {
    struct ir_op *op = reduction_new(builder, OP_SCAN, AXIS_BIT(axis), 1, &a, predicate);
    op->reduction = reduction;
    op->axis = axis;
    return ir_result(builder->kernel, op, 0, a->type, reduced_space(builder, op->over, op));
}

struct ir_value *ir_dot(struct ir_builder *builder, axes_t over, struct ir_value *a, struct ir_value *b,
                        struct ir_value *predicate) {
    struct ir_op *op = reduction_new(builder, OP_DOT, over, 2, (struct ir_value *[]){a, b}, predicate);
    bool wide = a->type == TYPE_F64 || b->type == TYPE_F64;
    enum ir_type type = wide ? TYPE_F64 : ir_type_compute(a->type);
    return ir_result(builder->kernel, op, 0, type, reduced_space(builder, over, op) & ~over);
}

void ir_yield(struct ir_builder *builder, int count, struct ir_value *const *values) {
    struct ir_op *op = ir_op_new(builder, OP_YIELD, count, 0, 0);
    for (int i = 0; i < count; i++)
        op->operands[i] = values[i];
    ir_insert(builder, op);
}
