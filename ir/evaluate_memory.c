// SPDX-License-Identifier: Apache-2.0
// Tensors in the reference evaluator: loads, stores, atomics, fills, and what is said about points (assert, print).
// In: indices at points. Out: elements read or written, or the first index outside a tensor, in words.
#include <string.h>

#include "ir/element.h"
#include "ir/evaluate.h"

// ---------------------------------------------------------------------------------------------- elements in memory

// Reads elements at `offsets`; 0 where an offset is -1.
static void read_elements(const struct ir_tensor *tensor, const int64_t *offsets, struct cell *out, int64_t count) {
#define READ(type, field, convert)                                                      \
    for (int64_t i = 0; i < count; i++) {                                               \
        if (offsets[i] < 0)                                                             \
            out[i].field = 0;                                                           \
        else                                                                            \
            out[i].field = convert(((const type *)tensor->data)[offsets[i]]);           \
    }                                                                                   \
    break;
    switch (tensor->type) {
    case TYPE_BOOL:
        READ(uint8_t, integer, 0 !=)
    case TYPE_I8:
        READ(int8_t, integer, )
    case TYPE_U8:
        READ(uint8_t, integer, )
    case TYPE_I32:
        READ(int32_t, integer, )
    case TYPE_I64:
        READ(int64_t, integer, )
    case TYPE_F16:
        READ(uint16_t, number, ir_f16_to_f32)
    case TYPE_BF16:
        READ(uint16_t, number, ir_bf16_to_f32)
    case TYPE_F32:
        READ(float, number, )
    case TYPE_F64:
        READ(double, number, )
    default:
        break;
    }
#undef READ
}

// What is known of how far off they are; inputs are exact.
static void read_errors(const struct evaluator *evaluator, int param, const int64_t *offsets, struct cell *out, int64_t count) {
    double *const *errors = evaluator->evaluation->errors;
    const double *known = errors ? errors[param] : NULL;
    for (int64_t i = 0; i < count; i++)
        out[i].error = known && offsets[i] >= 0 ? known[offsets[i]] : 0;
}

static void write_error(const struct evaluator *evaluator, int param, int64_t offset, struct cell value) {
    double *const *errors = evaluator->evaluation->errors;
    if (!errors || !errors[param])
        return;
    enum ir_type type = evaluator->kernel->params[param].type;
    if (ir_type_is_float(type)) {
        error_rounding(type, &value, 1);
    } else {
        int64_t whole = value.integer;
        value.integer = ir_wrap_to(type, whole);
        error_of_conversion(type, &value, whole);
    }
    errors[param][offset] = value.error;
}

// Floating values are rounded, integers wrapped.
static void write_element(const struct ir_tensor *tensor, int64_t offset, struct cell value) {
    switch (tensor->type) {
    case TYPE_BOOL:
    case TYPE_I8:
    case TYPE_U8:
        ((uint8_t *)tensor->data)[offset] = (uint8_t)value.integer;
        break;
    case TYPE_I32:
        ((int32_t *)tensor->data)[offset] = (int32_t)ir_wrap_to(TYPE_I32, value.integer);
        break;
    case TYPE_I64:
        ((int64_t *)tensor->data)[offset] = value.integer;
        break;
    case TYPE_F16:
        ((uint16_t *)tensor->data)[offset] = ir_f16_from_f64(value.number);
        break;
    case TYPE_BF16:
        ((uint16_t *)tensor->data)[offset] = ir_bf16_from_f64(value.number);
        break;
    case TYPE_F32:
        ((float *)tensor->data)[offset] = (float)value.number;
        break;
    case TYPE_F64:
        ((double *)tensor->data)[offset] = value.number;
        break;
    default:
        break;
    }
}

// ---------------------------------------------------------------------------------------------- where an access goes

static const struct cell *both(struct evaluator *evaluator, const struct cell *a, const struct cell *b, int64_t count) {
    if (!a || !b)
        return a ? a : b;
    struct cell *out = cells_new(evaluator, count);
    for (int64_t i = 0; i < count; i++)
        out[i].integer = a[i].integer && b[i].integer;
    return out;
}

// The points at which an access happens: active, and its predicate holds. NULL: all.
static const struct cell *accessed_points(struct evaluator *evaluator, const struct ir_op *op, axes_t axes, int64_t count) {
    const struct cell *predicate = op->predicated ? operand_on(evaluator, op, op->operand_count - 1, axes) : NULL;
    return both(evaluator, active_at(evaluator, axes), predicate, count);
}

_Noreturn static void leave_outside(struct evaluator *evaluator, const struct ir_op *op, axes_t axes, int64_t point, int dimension) {
    const struct ir_tensor *tensor = &evaluator->evaluation->tensors[op->param];
    const char *indices = "";
    for (int d = 0; d < tensor->rank; d++) {
        long long index = (long long)operand_on(evaluator, op, d, axes)[point].integer;
        indices = arena_printf(evaluator->arena, "%s%s%lld", indices, d ? ", " : "", index);
    }
    const char *name = evaluator->kernel->params[op->param].name, *where = point_in_words(evaluator, axes, point);
    leave_early(evaluator, "evaluate.index", op, "%s[%s] is outside the tensor%s%s: dimension %d has %lld elements", name, indices,
                *where ? " at " : "", where, dimension + 1, (long long)tensor->shape[dimension]);
}

// The offset of the element that each point of `axes` accesses, in elements; -1 where nothing is accessed.
static int64_t *offsets_of(struct evaluator *evaluator, const struct ir_op *op, axes_t axes) {
    const struct ir_tensor *tensor = &evaluator->evaluation->tensors[op->param];
    int64_t count = count_of(evaluator, axes);
    const struct cell *happens = accessed_points(evaluator, op, axes, count);
    int64_t *offsets = scratch_take(evaluator, evaluator->depth, (size_t)count * sizeof *offsets);
    for (int64_t i = 0; i < count; i++)
        offsets[i] = happens && !happens[i].integer ? -1 : 0;
    for (int d = 0; d < tensor->rank; d++) {
        const struct cell *indices = operand_on(evaluator, op, d, axes);
        int64_t extent = tensor->shape[d];
        for (int64_t i = 0; i < count; i++) {
            if (offsets[i] < 0)
                continue;
            int64_t index = indices[i].integer;
            if (index < 0 || index >= extent)
                leave_outside(evaluator, op, axes, i, d);
            offsets[i] = offsets[i] * extent + index;
        }
    }
    return offsets;
}

static axes_t axes_of_operands(const struct ir_op *op) {
    axes_t axes = 0;
    for (int i = 0; i < op->operand_count; i++)
        axes |= op->operands[i]->axes;
    return axes;
}

// ---------------------------------------------------------------------------------------------- the operations

void evaluate_load(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    int64_t count = count_of(evaluator, result->axes);
    int64_t *offsets = offsets_of(evaluator, op, result->axes);
    struct cell *cells = cells_new(evaluator, count);
    read_elements(&evaluator->evaluation->tensors[op->param], offsets, cells, count);
    read_errors(evaluator, op->param, offsets, cells, count);
    evaluator->cells[result->id] = cells;
    count_steps(evaluator, op, count);
}

void evaluate_store(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_tensor *tensor = &evaluator->evaluation->tensors[op->param];
    axes_t axes = axes_of_operands(op);
    int64_t count = count_of(evaluator, axes);
    int64_t *offsets = offsets_of(evaluator, op, axes);
    const struct cell *value = operand_on(evaluator, op, tensor->rank, axes);
    for (int64_t i = 0; i < count; i++) {
        if (offsets[i] < 0)
            continue;
        write_element(tensor, offsets[i], value[i]);
        write_error(evaluator, op->param, offsets[i], value[i]);
    }
    count_steps(evaluator, op, count);
}

static struct cell combined(enum ir_reduction reduction, enum ir_type type, struct cell old, struct cell value) {
    struct cell result = old;
    if (ir_type_is_float(type))
        result.number = reduction == RED_SUM ? old.number + value.number
                        : reduction == RED_MAX ? element_max(old.number, value.number) : element_min(old.number, value.number);
    else
        result.integer = reduction == RED_SUM ? element_add(old.integer, value.integer)
                         : reduction == RED_MAX ? element_greatest(old.integer, value.integer) : element_least(old.integer, value.integer);
    // In another order the partial sums may be as large as what is added.
    if (ir_type_is_float(type) && reduction == RED_SUM)
        result.error += value.error + unit_roundoff(type) * fmax(fabs(value.number), fabs(old.number));
    else if (ir_type_is_float(type))
        result.error = error_of_extreme(old, value, result.number);
    else
        result.error = error_combined(reduction, old, value, result);
    return result;
}

void evaluate_atomic(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_tensor *tensor = &evaluator->evaluation->tensors[op->param];
    axes_t axes = axes_of_operands(op);
    int64_t count = count_of(evaluator, axes);
    int64_t *offsets = offsets_of(evaluator, op, axes);
    const struct cell *value = operand_on(evaluator, op, tensor->rank, axes);
    for (int64_t i = 0; i < count; i++) {
        struct cell old = {0};
        if (offsets[i] < 0)
            continue;
        read_elements(tensor, &offsets[i], &old, 1);
        read_errors(evaluator, op->param, &offsets[i], &old, 1);
        struct cell result = combined(op->reduction, tensor->type, old, value[i]);
        write_element(tensor, offsets[i], result);
        write_error(evaluator, op->param, offsets[i], result);
    }
    count_steps(evaluator, op, count);
}

void evaluate_assert(struct evaluator *evaluator, const struct ir_op *op) {
    axes_t axes = op->operands[0]->axes;
    int64_t count = count_of(evaluator, axes);
    const struct cell *holds = operand_on(evaluator, op, 0, axes), *active = active_at(evaluator, axes);
    for (int64_t i = 0; i < count; i++) {
        if (holds[i].integer || (active && !active[i].integer))
            continue;
        const char *where = point_in_words(evaluator, axes, i);
        leave_early(evaluator, "evaluate.assert", op, "assertion failed%s%s: %s", *where ? " at " : "", where, op->text ? op->text : "");
    }
    count_steps(evaluator, op, count);
}

void evaluate_print(struct evaluator *evaluator, const struct ir_op *op) {
    const struct ir_value *value = op->operands[0];
    struct text *out = evaluator->evaluation->printed;
    int64_t count = count_of(evaluator, value->axes);
    const struct cell *cells = operand_on(evaluator, op, 0, value->axes), *active = active_at(evaluator, value->axes);
    for (int64_t i = 0; out && i < count; i++) {
        if (active && !active[i].integer)
            continue;
        const char *where = point_in_words(evaluator, value->axes, i);
        text_printf(out, "%s%s%s%s: ", op->text ? op->text : "", *where ? " (" : "", where, *where ? ")" : "");
        if (ir_type_is_float(value->type))
            text_double(out, cells[i].number);
        else if (value->type == TYPE_BOOL)
            text_add(out, cells[i].integer ? "true" : "false");
        else
            text_printf(out, "%lld", (long long)cells[i].integer);
        text_add(out, "\n");
    }
    count_steps(evaluator, op, count);
}

void fill_outputs(struct evaluator *evaluator) {
    const struct ir_kernel *kernel = evaluator->kernel;
    for (int p = 0; p < kernel->param_count; p++) {
        const struct ir_param *param = &kernel->params[p];
        const struct ir_tensor *tensor = &evaluator->evaluation->tensors[p];
        if (!param->fill || !tensor->data)
            continue;
        struct ir_scalar number = ir_evaluate_number(param->fill, &evaluator->evaluation->bindings);
        struct cell fill = {{.integer = number.integer}, 0};
        if (ir_type_is_float(param->type))
            fill.number = number.number;
        int64_t count = 1;
        for (int d = 0; d < tensor->rank; d++)
            count *= tensor->shape[d];
        for (int64_t i = 0; i < count; i++)
            write_element(tensor, i, fill);
    }
}
