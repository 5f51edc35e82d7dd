// SPDX-License-Identifier: Apache-2.0
// In: a checked kernel with its actual tensors. Out: the bytes that it can't do without reading and writing, and the
// multiplications and additions of its `dot`s: the floor that a time is held against.
//
// A tensor is read once, as far as the kernel reaches into it: an access whose index is on the axes {tb, tk, tf} reaches
// as many elements as there are points on them, counted row by row from the actual offsets, and never more than the
// tensor has. Where that can't be worked out (bounds that are computed in loops, `range`) the whole tensor counts. What
// conditions leave out is not subtracted.
#include <stdlib.h>

#include "runtime/bench.h"
#include "runtime/data.h"

enum { POINT_LIMIT = 100000000, DEPTH_LIMIT = 64 };

struct counting {
    const struct ir_kernel *kernel;
    const struct ir_bindings *bindings;
    const struct ir_tensor *tensors;
    int64_t at[IR_MAX_AXES];  // the present point
    int64_t steps;
    double *read, *written;   // elements, by parameter
    double flops;
};

// ---------------------------------------------------------------------------------------------- values at a point

static bool value_at(struct counting *counting, const struct ir_value *value, int depth, int64_t *result);

static bool load_at(struct counting *counting, const struct ir_op *op, int depth, int64_t *result)
{
    const struct ir_tensor *tensor = &counting->tensors[op->param];
    int64_t place = 0, index = 0;
    if (!tensor->data || ir_type_is_float(tensor->type)) return false;
    for (int i = 0; i < tensor->rank; i++) {
        if (!value_at(counting, op->operands[i], depth, &index) || index < 0 || index >= tensor->shape[i]) return false;
        place = place * tensor->shape[i] + index;
    }
    *result = tensor_get(tensor, place).integer;
    return true;
}

static bool arithmetic_at(struct counting *counting, const struct ir_op *op, int depth, int64_t *result)
{
    int64_t a = 0, b = 0;
    if (op->operand_count != 2 || !value_at(counting, op->operands[0], depth, &a) || !value_at(counting, op->operands[1], depth, &b)) return false;
    switch (op->code) {
    case OP_ADD: *result = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case OP_SUB: *result = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case OP_MUL: *result = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case OP_MIN: *result = a < b ? a : b; return true;
    case OP_MAX: *result = a > b ? a : b; return true;
    default: return false;
    }
}

static bool value_at(struct counting *counting, const struct ir_value *value, int depth, int64_t *result)
{
    if (!ir_type_is_integer(value->type) || depth > DEPTH_LIMIT) return false;
    if (ir_is_host_number(value)) return *result = ir_evaluate_number(value, counting->bindings).integer, true;
    if (value->region) return false;
    const struct ir_op *op = value->def;
    switch (op->code) {
    case OP_INDEX: return *result = counting->at[op->axis], true;
    case OP_BEGIN: return value_at(counting, counting->kernel->axes[op->axis].lo, depth + 1, result);
    case OP_END: return value_at(counting, counting->kernel->axes[op->axis].hi, depth + 1, result);
    case OP_CAST:
    case OP_BROADCAST: return value_at(counting, op->operands[0], depth + 1, result);
    case OP_LOAD: return load_at(counting, op, depth + 1, result);
    default: return arithmetic_at(counting, op, depth + 1, result);
    }
}

// ---------------------------------------------------------------------------------------------- points

static bool range_of(struct counting *counting, int axis, int64_t *lo, int64_t *length)
{
    const struct ir_axis *about = &counting->kernel->axes[axis];
    int64_t hi = 0;
    if (++counting->steps > POINT_LIMIT) return false;
    if (!value_at(counting, about->lo, 0, lo) || !value_at(counting, about->hi, 0, &hi)) return false;
    *length = hi > *lo ? hi - *lo : 0;
    return true;
}

// The axes of `axes` that others of them depend on: these are gone through, the others only multiplied.
static axes_t inner_axes(const struct ir_kernel *kernel, axes_t axes)
{
    axes_t parents = 0;
    for (int i = 0; i < kernel->axis_count; i++)
        if (axes & AXIS_BIT(i)) parents |= kernel->axes[i].parents;
    return parents & axes;
}

// The points on `axes` under the present point of their parents; -1 where that can't be worked out.
static double count_points(struct counting *counting, axes_t axes, axes_t gone_through)
{
    int64_t lo = 0, length = 0;
    double product = 1, sum = 0;
    int axis = 0;
    while (axis < counting->kernel->axis_count && !(gone_through & AXIS_BIT(axis))) axis++;
    if (axis == counting->kernel->axis_count) {
        for (int i = 0; i < counting->kernel->axis_count; i++) {
            if (!(axes & AXIS_BIT(i))) continue;
            if (!range_of(counting, i, &lo, &length)) return -1;
            product *= (double)length;
        }
        return product;
    }
    if (!range_of(counting, axis, &lo, &length)) return -1;
    for (int64_t i = 0; i < length; i++) {
        counting->at[axis] = lo + i;
        double inside = count_points(counting, axes & ~AXIS_BIT(axis), gone_through & ~AXIS_BIT(axis));
        if (inside < 0) return -1;
        sum += inside;
    }
    return sum;
}

static double points_on(struct counting *counting, axes_t axes)
{
    axes_t all = 0;
    for (int i = 0; i < counting->kernel->axis_count; i++)
        if (axes & AXIS_BIT(i)) all |= ir_axis_closure(counting->kernel, i);
    return count_points(counting, all, inner_axes(counting->kernel, all));
}

// ---------------------------------------------------------------------------------------------- accesses

static void reach(double *elements, double points, const struct ir_tensor *tensor)
{
    double all = (double)tensor_elements(tensor);
    double reached = points < 0 || points > all ? all : points;
    if (reached > *elements) *elements = reached;
}

static void count_access(struct counting *counting, const struct ir_op *op, bool whole)
{
    const struct ir_tensor *tensor = &counting->tensors[op->param];
    axes_t axes = 0;
    if (!tensor->data) return;
    for (int i = 0; i < tensor->rank; i++) axes |= op->operands[i]->axes;
    double points = whole ? -1 : points_on(counting, axes);
    if (op->code != OP_STORE) reach(&counting->read[op->param], points, tensor);
    if (op->code != OP_LOAD) reach(&counting->written[op->param], points, tensor);
}

// `whole`: inside a serial loop, whose turns aren't points of an axis.
static void count_region(struct counting *counting, const struct ir_region *region, bool whole)
{
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC) count_access(counting, op, whole);
        if (op->code == OP_DOT && !whole) {
            double points = points_on(counting, op->operands[0]->axes | op->operands[1]->axes | op->over);
            counting->flops += points > 0 ? 2 * points : 0;
        }
        for (int i = 0; i < op->region_count; i++) count_region(counting, op->regions[i], whole || op->code == OP_RANGE);
    }
}

struct traffic count_traffic(struct arena *arena, const struct ir_kernel *kernel, const struct ir_bindings *bindings,
                             const struct ir_tensor *tensors)
{
    struct counting counting = {.kernel = kernel, .bindings = bindings, .tensors = tensors};
    struct traffic traffic = {0};
    counting.read = ARENA_ARRAY(arena, double, kernel->param_count + 1);
    counting.written = ARENA_ARRAY(arena, double, kernel->param_count + 1);
    count_region(&counting, kernel->body, false);
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        if (param->kind == PARAM_SCALAR || !tensors[i].data) continue;
        double bytes = ir_type_bytes(param->type);
        if (param->fill) reach(&counting.written[i], -1, &tensors[i]);
        traffic.written_bytes += bytes * counting.written[i];
        // What the kernel itself made before it reads it need not come from memory.
        if (param->kind != PARAM_OUT) traffic.read_bytes += bytes * counting.read[i];
    }
    traffic.flops = counting.flops;
    return traffic;
}
