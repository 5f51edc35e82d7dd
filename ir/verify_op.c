// SPDX-License-Identifier: Apache-2.0
// The verifier's checks of single operations. In: an operation whose operands are there. Out: complaints.
// The one idea: types follow from the table's rule, axes from one line per kind of operation.
#include <math.h>

#include "ir/verify.h"

static axes_t union_of(const struct ir_op *op, int from, int to) {
    axes_t axes = 0;
    for (int i = from; i < to; i++)
        axes |= op->operands[i]->axes;
    return axes;
}

static bool has_axis(const struct verifier *verifier, const struct ir_op *op) {
    return op->axis >= 0 && op->axis < verifier->kernel->axis_count;
}

bool verify_is_i64(const struct verifier *verifier, enum ir_type type) {
    return type == TYPE_I64 || (verifier->kernel->lowered && type == TYPE_I32);
}

static bool is_compute(const struct verifier *verifier, enum ir_type type) {
    return verify_is_i64(verifier, type) || type == TYPE_F32 || type == TYPE_F64;
}

// ---------------------------------------------------------------------------------------------- types by rule

static bool allowed_by_rule(const struct verifier *verifier, enum ir_rule rule, enum ir_type type) {
    switch (rule) {
    case RULE_ARITHMETIC:
        return is_compute(verifier, type);
    case RULE_INTEGER:
    case RULE_I64:
        return verify_is_i64(verifier, type);
    case RULE_BITS:
        return verify_is_i64(verifier, type) || type == TYPE_BOOL;
    case RULE_FLOAT:
    case RULE_TEST:
        return type == TYPE_F32 || type == TYPE_F64;
    case RULE_LOGIC:
        return type == TYPE_BOOL;
    default:
        return true;
    }
}

static void check_elementwise_types(struct verifier *verifier, const struct ir_op *op) {
    enum ir_rule rule = ir_ops[op->code].rule;
    int first = rule == RULE_SELECT ? 1 : 0;
    enum ir_type type = op->operands[first]->type;
    for (int i = first; i < op->operand_count; i++) {
        if (op->operands[i]->type != type || !allowed_by_rule(verifier, rule, type))
            verify_complain(verifier, op, "operand %d has type %s", i, ir_type_name(op->operands[i]->type));
    }
    if (rule == RULE_SELECT && op->operands[0]->type != TYPE_BOOL)
        verify_complain(verifier, op, "it selects by a %s", ir_type_name(op->operands[0]->type));
    bool to_bool = rule == RULE_COMPARE || rule == RULE_LOGIC || rule == RULE_TEST;
    enum ir_type expected = to_bool ? TYPE_BOOL : type;
    if (op->code != OP_CAST && op->results[0]->type != expected)
        verify_complain(verifier, op, "its result is not of type %s", ir_type_name(expected));
}

static void check_elementwise(struct verifier *verifier, const struct ir_op *op) {
    axes_t axes = union_of(op, 0, op->operand_count), result = op->results[0]->axes;
    check_elementwise_types(verifier, op);
    if (op->code == OP_BROADCAST && (axes & ~result))
        verify_complain(verifier, op, "its result lacks axes of the operand");
    if (op->code != OP_BROADCAST && axes != result)
        verify_complain(verifier, op, "its result is not on the union of the operands' axes");
}

// ---------------------------------------------------------------------------------------------- leaves

static void check_constant(struct verifier *verifier, const struct ir_op *op) {
    enum ir_type type = op->results[0]->type;
    bool held = ir_type_is_float(type) ? isnan(op->number) || ir_round_to(type, op->number) == op->number
                                       : ir_wrap_to(type, op->integer) == op->integer;
    if (!held)
        verify_complain(verifier, op, "its type can't hold the constant");
    if (op->results[0]->axes)
        verify_complain(verifier, op, "a constant is on axes");
}

static void check_number_leaf(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_kernel *kernel = verifier->kernel;
    if (op->code == OP_DIM && (op->dim < 0 || op->dim >= kernel->dim_count))
        verify_complain(verifier, op, "there is no such dimension");
    if (op->code == OP_DIM && !verify_is_i64(verifier, op->results[0]->type))
        verify_complain(verifier, op, "a dimension is i64");
    if (op->code == OP_SCALAR) {
        bool scalar = op->param >= 0 && op->param < kernel->param_count && kernel->params[op->param].kind == PARAM_SCALAR;
        if (!scalar)
            verify_complain(verifier, op, "there is no such scalar");
        else if (kernel->params[op->param].type != op->results[0]->type)
            verify_complain(verifier, op, "its type is not the parameter's");
    }
    if (op->results[0]->axes)
        verify_complain(verifier, op, "a number is on axes");
}

static void check_axis_value(struct verifier *verifier, const struct ir_op *op) {
    if (!has_axis(verifier, op)) {
        verify_complain(verifier, op, "there is no such axis");
        return;
    }
    const struct ir_axis *axis = &verifier->kernel->axes[op->axis];
    axes_t bit = AXIS_BIT(op->axis);
    if (!(verifier->axes & bit))
        verify_complain(verifier, op, "the loop over its axis is not around it");
    bool lowered = verifier->kernel->lowered;
    if (op->code != OP_INDEX && axis->kind == AXIS_FULL)
        verify_complain(verifier, op, "a full axis has no tiles");
    axes_t expected = op->code == OP_INDEX ? bit | axis->parents : op->code == OP_SIZE || lowered ? 0 : axis->parents;
    if (op->results[0]->axes != expected)
        verify_complain(verifier, op, "its result is on other axes than its axis says");
    if (!verify_is_i64(verifier, op->results[0]->type))
        verify_complain(verifier, op, "its result is no i64");
}

// ---------------------------------------------------------------------------------------------- memory

static const struct ir_param *accessed(struct verifier *verifier, const struct ir_op *op) {
    if (op->param < 0 || op->param >= verifier->kernel->param_count) {
        verify_complain(verifier, op, "there is no such parameter");
        return NULL;
    }
    const struct ir_param *param = &verifier->kernel->params[op->param];
    if (param->kind == PARAM_SCALAR)
        verify_complain(verifier, op, "%s is a scalar, not a tensor", param->name);
    else if (param->optional && !param->present)
        verify_complain(verifier, op, "%s is absent", param->name);
    return param;
}

static void check_predicate(struct verifier *verifier, const struct ir_op *op) {
    if (op->predicated && op->operands[op->operand_count - 1]->type != TYPE_BOOL)
        verify_complain(verifier, op, "its predicate is no bool");
}

static void check_access(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_param *param = accessed(verifier, op);
    if (!param)
        return;
    int rank = param->rank, values = op->code == OP_LOAD ? 0 : 1;
    if (op->operand_count != rank + values + (op->predicated ? 1 : 0)) {
        verify_complain(verifier, op, "it has %d operands for rank %d", op->operand_count, rank);
        return;
    }
    for (int i = 0; i < rank; i++) {
        if (!verify_is_i64(verifier, op->operands[i]->type))
            verify_complain(verifier, op, "index %d is no i64", i);
    }
    check_predicate(verifier, op);
    if (op->code == OP_LOAD) {
        if (op->results[0]->type != param->type)
            verify_complain(verifier, op, "its result is not of the tensor's type");
        if (op->results[0]->axes != union_of(op, 0, op->operand_count))
            verify_complain(verifier, op, "its result is not on the union of the indices' axes");
        return;
    }
    if (param->kind == PARAM_IN)
        verify_complain(verifier, op, "%s is an input", param->name);
    if (op->operands[rank]->type != param->type)
        verify_complain(verifier, op, "the value is not of the tensor's type");
    if (op->code == OP_STORE && (op->operands[rank]->axes & ~union_of(op, 0, rank)))
        verify_complain(verifier, op, "the value is on an axis that no index names");
    bool combines = op->reduction == RED_SUM || op->reduction == RED_MAX || op->reduction == RED_MIN;
    if (op->code == OP_ATOMIC && !combines)
        verify_complain(verifier, op, "there is no atomic %s", ir_reduction_name(op->reduction));
}

// Blocks meet at an element of an i32 tensor of the launch's own: numbers alone lead there.
static void check_meeting(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_kernel *kernel = verifier->kernel;
    const struct ir_param *param = op->param >= 0 && op->param < kernel->param_count ? &kernel->params[op->param] : NULL;
    if (!param || param->kind != PARAM_WORKSPACE || param->type != TYPE_I32) {
        verify_complain(verifier, op, "its tensor is no i32 of the launch's own");
        return;
    }
    if (op->operand_count != param->rank + (op->code == OP_AWAIT))
        verify_complain(verifier, op, "it has %d operands for a tensor of rank %d", op->operand_count, param->rank);
    for (int i = 0; i < op->operand_count; i++)
        if (!verify_is_i64(verifier, op->operands[i]->type))
            verify_complain(verifier, op, "operand %d is no i64", i);
}

static void check_fetch(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_kernel *kernel = verifier->kernel;
    bool known = op->integer >= 0 && op->integer < kernel->param_count;
    if (!known || !kernel->params[op->integer].local) {
        verify_complain(verifier, op, "it fills no tensor of a block");
        return;
    }
    if (op->code == OP_FETCHED)
        return;
    const struct ir_param *param = op->param >= 0 && op->param < kernel->param_count ? &kernel->params[op->param] : NULL;
    if (!param || param->kind != PARAM_IN || param->rank != 1 || param->type != kernel->params[op->integer].type)
        verify_complain(verifier, op, "it copies no input of rank 1 and of the type of what it fills");
    for (int i = 0; i < op->operand_count; i++)
        if (!verify_is_i64(verifier, op->operands[i]->type))
            verify_complain(verifier, op, "operand %d is no i64", i);
}

// ---------------------------------------------------------------------------------------------- reductions

// The axes of everything around an operation that may leave points out.
static axes_t axes_of_conditions(const struct ir_op *op) {
    axes_t axes = 0;
    for (const struct ir_op *owner = op->parent ? op->parent->owner : NULL; owner;
         owner = owner->parent ? owner->parent->owner : NULL) {
        for (int i = 0; i < owner->operand_count && i < 2; i++)
            axes |= owner->operands[i] ? owner->operands[i]->axes : 0;
        const struct ir_region *region = owner->code == OP_FOR && owner->region_count == 2 ? owner->regions[1] : NULL;
        if (region && region->last && region->last->operand_count && region->last->operands[0])
            axes |= region->last->operands[0]->axes;
    }
    return axes;
}

static axes_t parents_of(const struct ir_kernel *kernel, axes_t over) {
    axes_t parents = 0;
    for (int axis = 0; axis < kernel->axis_count; axis++)
        parents |= over & AXIS_BIT(axis) ? kernel->axes[axis].parents : 0;
    return parents;
}

// `kept`: what of `over` the result stays on (all of it for a scan).
static void check_reduced_axes(struct verifier *verifier, const struct ir_op *op, axes_t kept) {
    axes_t result = op->results[0]->axes, partial = 0;
    axes_t space = union_of(op, 0, op->operand_count) | parents_of(verifier->kernel, op->over);
    for (int i = 0; i < op->operand_count; i++)
        partial |= op->operands[i]->partial;
    if (verifier->kernel->lowered) {
        if (result & op->over & ~kept)
            verify_complain(verifier, op, "its result is on an axis that it reduces");
        return;
    }
    if (!op->over)
        verify_complain(verifier, op, "it reduces over nothing");
    if (op->over & ~(verifier->axes | partial))
        verify_complain(verifier, op, "it reduces over an axis that is not in scope");
    axes_t least = (space & ~op->over) | kept;
    axes_t most = ((space | axes_of_conditions(op)) & ~op->over) | kept;
    if ((least & ~result) || (result & ~most))
        verify_complain(verifier, op, "its result is on other axes than what it reduces");
}

static bool operand_count_is(struct verifier *verifier, const struct ir_op *op, int count) {
    if (op->operand_count == count + (op->predicated ? 1 : 0))
        return true;
    verify_complain(verifier, op, "it has %d operands", op->operand_count);
    return false;
}

static void check_reduction_types(struct verifier *verifier, const struct ir_op *op) {
    enum ir_type from = op->operands[0]->type, to = op->results[0]->type;
    bool logical = op->reduction == RED_ANY || op->reduction == RED_ALL;
    bool position = op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN;
    bool arithmetic = op->reduction == RED_SUM || op->reduction == RED_PROD;
    if ((unsigned)op->reduction >= RED_COUNT)
        verify_complain(verifier, op, "there is no such reduction");
    else if (logical != (from == TYPE_BOOL) || (arithmetic && !is_compute(verifier, from)))
        verify_complain(verifier, op, "it can't reduce a %s", ir_type_name(from));
    if (to != (position ? TYPE_I64 : from))
        verify_complain(verifier, op, "its result has the wrong type");
    bool one_axis = (op->over || verifier->kernel->lowered) && !(op->over & (op->over - 1));
    if ((position || op->code == OP_SCAN) && !one_axis)
        verify_complain(verifier, op, "it goes over one axis at a time");
    if (op->code == OP_SCAN && (logical || position))
        verify_complain(verifier, op, "there is no such scan");
}

static void check_reduce(struct verifier *verifier, const struct ir_op *op) {
    if (!operand_count_is(verifier, op, 1))
        return;
    check_reduction_types(verifier, op);
    check_predicate(verifier, op);
    check_reduced_axes(verifier, op, op->code == OP_SCAN ? op->over : 0);
    for (int axis = 0; axis < verifier->kernel->axis_count && op->code == OP_SCAN; axis++) {
        if ((op->results[0]->axes & AXIS_BIT(axis)) && (verifier->kernel->axes[axis].parents & op->over))
            verify_complain(verifier, op, "it scans a parent of an axis that it is on");
    }
}

static void check_dot(struct verifier *verifier, const struct ir_op *op) {
    if (!operand_count_is(verifier, op, 2))
        return;
    enum ir_type a = op->operands[0]->type, b = op->operands[1]->type;
    enum ir_type computing = a == TYPE_F64 || b == TYPE_F64 ? TYPE_F64 : ir_type_compute(a);
    if (ir_type_is_float(a) != ir_type_is_float(b) || a == TYPE_BOOL || b == TYPE_BOOL)
        verify_complain(verifier, op, "it can't multiply %s with %s", ir_type_name(a), ir_type_name(b));
    if (op->results[0]->type != computing)
        verify_complain(verifier, op, "its result is not of the computing type");
    check_predicate(verifier, op);
    check_reduced_axes(verifier, op, 0);
}

static void check_mma(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_value *a = op->operands[0], *b = op->operands[1], *c = op->operands[2], *result = op->results[0];
    bool staged = !b->region && b->def->code == OP_LOAD && b->def->staged;
    if (!verifier->kernel->lowered)
        verify_complain(verifier, op, "it stands in a program that isn't lowered");
    bool known = b->type == TYPE_F16 || b->type == TYPE_BF16 || b->type == TYPE_F32;
    if (!staged || !known || (a->type != b->type && a->type != TYPE_F32))
        verify_complain(verifier, op, "it can't multiply these");
    if (c->type != TYPE_F32 || result->type != TYPE_F32)
        verify_complain(verifier, op, "it adds up in f32");
    if (c->axes != result->axes || result->axes != ((a->axes | b->axes) & ~op->over) || !(a->axes & b->axes & op->over))
        verify_complain(verifier, op, "its result is on other axes than what it multiplies");
}

static void check_update(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_value *old = op->operands[0], *value = op->operands[1], *result = op->results[0];
    if (old->type != value->type || old->type != result->type)
        verify_complain(verifier, op, "old, new and result differ in type");
    if (old->axes != result->axes)
        verify_complain(verifier, op, "its result is not on the axes of what it updates");
    if (value->axes & ~old->axes)
        verify_complain(verifier, op, "the new value is on an axis that the old one isn't on");
}

// ---------------------------------------------------------------------------------------------- by operation

static int expected_results(const struct ir_op *op) {
    return ir_ops[op->code].rule == RULE_NONE ? 0 : 1;
}

void verify_single(struct verifier *verifier, const struct ir_op *op) {
    if (op->result_count != expected_results(op)) {
        verify_complain(verifier, op, "it has %d results", op->result_count);
        return;
    }
    switch (op->code) {
    case OP_CONST:
        check_constant(verifier, op);
        break;
    case OP_DIM:
    case OP_SCALAR:
        check_number_leaf(verifier, op);
        break;
    case OP_INDEX:
    case OP_BEGIN:
    case OP_END:
    case OP_SIZE:
    case OP_ID:
        check_axis_value(verifier, op);
        break;
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC:
        check_access(verifier, op);
        break;
    case OP_ARRIVE:
    case OP_AWAIT:
        check_meeting(verifier, op);
        break;
    case OP_FETCH:
    case OP_FETCHED:
        check_fetch(verifier, op);
        break;
    case OP_REDUCE:
    case OP_SCAN:
        check_reduce(verifier, op);
        break;
    case OP_DOT:
        check_dot(verifier, op);
        break;
    case OP_MMA:
        check_mma(verifier, op);
        break;
    case OP_UPDATE:
        check_update(verifier, op);
        break;
    case OP_ASSERT:
        if (op->operands[0]->type != TYPE_BOOL)
            verify_complain(verifier, op, "it asserts a %s", ir_type_name(op->operands[0]->type));
        break;
    case OP_YIELD:
    case OP_PRINT:
        break;
    default:
        check_elementwise(verifier, op);
    }
}
