// SPDX-License-Identifier: Apache-2.0
// Small questions that several passes ask of a program.
#include <math.h>
#include <string.h>

#include "lowering/pass.h"

void walk_ops(struct ir_region *region, void (*visit)(void *data, struct ir_op *op), void *data) {
    for (struct ir_op *op = region->first, *next; op; op = next) {
        next = op->next;
        int regions = op->region_count;
        struct ir_region **below = op->regions;
        visit(data, op);
        for (int i = 0; i < regions; i++)
            walk_ops(below[i], visit, data);
    }
}

static void count_operands(void *data, struct ir_op *op) {
    int *uses = data;
    for (int i = 0; i < op->operand_count; i++)
        uses[op->operands[i]->id]++;
}

static void count_one(int *uses, const struct ir_value *value) {
    if (value)
        uses[value->id]++;
}

int *count_uses(struct arena *arena, const struct ir_kernel *kernel) {
    int *uses = ARENA_ARRAY(arena, int, kernel->value_count);
    walk_ops(kernel->body, count_operands, uses);
    for (int p = 0; p < kernel->param_count; p++) {
        for (int i = 0; i < kernel->params[p].rank; i++)
            count_one(uses, kernel->params[p].extents[i]);
        count_one(uses, kernel->params[p].fill);
    }
    for (int a = 0; a < kernel->axis_count; a++) {
        count_one(uses, kernel->axes[a].lo);
        count_one(uses, kernel->axes[a].hi);
    }
    return uses;
}

axes_t axes_of_operands(const struct ir_op *op) {
    axes_t axes = 0;
    for (int i = 0; i < op->operand_count; i++)
        axes |= op->operands[i]->axes;
    return axes;
}

// What a variable starts with may have lost axes (a position that has become a number); the variable is on them still.
static void keep_axes(struct ir_kernel *kernel, struct ir_op *op, int operand, axes_t axes) {
    if (op->operands[operand]->axes == axes)
        return;
    struct ir_builder builder = builder_before(kernel, op);
    op->operands[operand] = ir_broadcast(&builder, axes, op->operands[operand]);
}

static void keep_carried_axes(struct ir_kernel *kernel, struct ir_op *op) {
    int first = op->operand_count - op->result_count;
    for (int i = 0; i < op->result_count; i++)
        keep_axes(kernel, op, first + i, op->results[i]->axes);
}

static void infer_op(void *data, struct ir_op *op) {
    struct ir_kernel *kernel = data;
    if (op->code == OP_BROADCAST || !op->result_count)
        return;
    if ((ir_ops[op->code].flags & F_ELEMENTWISE) || op->code == OP_LOAD)
        op->results[0]->axes = axes_of_operands(op);
    else if (op->code == OP_UPDATE)
        keep_axes(kernel, op, 0, op->results[0]->axes);
    else if (op->region_count)
        keep_carried_axes(kernel, op);
}

void infer_axes(struct ir_kernel *kernel) {
    walk_ops(kernel->body, infer_op, kernel);
}

bool is_constant(const struct ir_value *value) {
    return !value->region && value->def->code == OP_CONST;
}

bool is_integer_constant(const struct ir_value *value, int64_t *out) {
    if (!is_constant(value) || ir_type_is_float(value->type))
        return false;
    *out = value->def->integer;
    return true;
}

bool is_inside(const struct ir_op *op, const struct ir_region *region) {
    for (const struct ir_region *r = op->parent; r; r = r->owner ? r->owner->parent : NULL)
        if (r == region)
            return true;
    return false;
}

bool contains_code(const struct ir_region *region, enum ir_opcode code) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == code)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (contains_code(op->regions[i], code))
                return true;
    }
    return false;
}

bool region_has_effects(const struct ir_region *region) {
    return contains_code(region, OP_STORE) || contains_code(region, OP_ATOMIC) || contains_code(region, OP_ASSERT) ||
           contains_code(region, OP_PRINT);
}

struct ir_builder builder_before(struct ir_kernel *kernel, struct ir_op *op) {
    return (
        struct ir_builder){.kernel = kernel, .region = op->parent, .before = op, .span = op->span, .line = op->line};
}

struct ir_builder builder_at_start(struct ir_kernel *kernel, struct ir_region *region, const struct ir_op *like) {
    return (struct ir_builder){
        .kernel = kernel, .region = region, .before = region->first, .span = like->span, .line = like->line};
}

static bool stores_to(const struct ir_region *region, int param) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if ((op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_ARRIVE) && op->param == param)
            return true;
        if (op->code == OP_FETCH && op->integer == param)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (stores_to(op->regions[i], param))
                return true;
    }
    return false;
}

bool is_stored(const struct ir_kernel *kernel, int param) {
    return stores_to(kernel->body, param);
}

static double least(enum ir_type type) {
    (void)type;
    return -INFINITY;
}

static int64_t least_integer(enum ir_type type) {
    switch (type) {
    case TYPE_I8: return INT8_MIN;
    case TYPE_U8: return 0;
    case TYPE_I32: return INT32_MIN;
    default: return INT64_MIN;
    }
}

static int64_t greatest_integer(enum ir_type type) {
    switch (type) {
    case TYPE_I8: return INT8_MAX;
    case TYPE_U8: return UINT8_MAX;
    case TYPE_I32: return INT32_MAX;
    default: return INT64_MAX;
    }
}

// The identity as a host number: integers and bool in .integer, floating in .number.
static struct ir_scalar identity_of(enum ir_reduction reduction, enum ir_type type) {
    switch (reduction) {
    case RED_PROD: return (struct ir_scalar){.integer = 1, .number = 1};
    case RED_MAX: return (struct ir_scalar){.integer = least_integer(type), .number = least(type)};
    case RED_MIN: return (struct ir_scalar){.integer = greatest_integer(type), .number = INFINITY};
    case RED_ALL: return (struct ir_scalar){.integer = 1};
    case RED_ARGMAX:
    case RED_ARGMIN: return (struct ir_scalar){.integer = -1};
    default: return (struct ir_scalar){0};
    }
}

struct ir_value *identity_constant(struct ir_builder *builder, enum ir_reduction reduction, enum ir_type type) {
    struct ir_scalar identity = identity_of(reduction, type);
    return ir_type_is_float(type) ? ir_number(builder, type, identity.number)
                                  : ir_integer(builder, type, identity.integer);
}

bool is_identity(const struct ir_value *constant, enum ir_reduction reduction) {
    if (!is_constant(constant))
        return false;
    struct ir_scalar identity = identity_of(reduction, constant->type);
    return ir_type_is_float(constant->type) ? constant->def->number == identity.number
                                            : constant->def->integer == identity.integer;
}

enum ir_reduction reduction_of(enum ir_opcode code) {
    switch (code) {
    case OP_ADD: return RED_SUM;
    case OP_MUL: return RED_PROD;
    case OP_MAX: return RED_MAX;
    case OP_MIN: return RED_MIN;
    case OP_LOR: return RED_ANY;
    case OP_LAND: return RED_ALL;
    default: return RED_COUNT;
    }
}

enum ir_opcode opcode_of(enum ir_reduction reduction) {
    switch (reduction) {
    case RED_SUM: return OP_ADD;
    case RED_PROD: return OP_MUL;
    case RED_MAX: return OP_MAX;
    case RED_MIN: return OP_MIN;
    case RED_ANY: return OP_LOR;
    case RED_ALL: return OP_LAND;
    default: return OP_COUNT;
    }
}

struct ir_value *fold_constant(struct ir_builder *builder, const struct ir_op *op, struct ir_value *const *operands) {
    if (!(ir_ops[op->code].flags & F_ELEMENTWISE))
        return NULL;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_constant(operands[i]))
            return NULL;
    struct ir_op *trial = ir_op_new(builder, op->code, op->operand_count, 1, 0);
    for (int i = 0; i < op->operand_count; i++)
        trial->operands[i] = operands[i];
    enum ir_type type = op->results[0]->type;
    struct ir_value *value = ir_result(builder->kernel, trial, 0, type, 0);
    if (!ir_is_host_number(value))
        return NULL;
    struct ir_scalar result = ir_evaluate_number(value, &(struct ir_bindings){0});
    return ir_type_is_float(type) ? ir_number(builder, type, result.number) : ir_integer(builder, type, result.integer);
}
