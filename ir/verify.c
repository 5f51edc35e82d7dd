// SPDX-License-Identifier: Apache-2.0
// The validator. In: a kernel, checked or lowered. Out: complaints beside the operations they are about.
// The one idea: a walk in program order that knows which values and axes are in scope; one small check per kind of
// operation, and nothing is trusted: a broken kernel gives complaints, never a crash. Types and attributes of single
// operations are in verify_op.c.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/verify.h"

void verify_complain(struct verifier *verifier, const struct ir_op *op, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    verifier->complaints++;
    if (op) {
        ir_print_op(verifier->out, verifier->kernel, op);
        text_printf(verifier->out, "    <- %s", message);
        if (op->line)
            text_printf(verifier->out, " (line %d)", op->line);
        text_add(verifier->out, "\n");
    } else {
        text_printf(verifier->out, "%s\n", message);
    }
}

// ---------------------------------------------------------------------------------------------- values

static axes_t known_axes(const struct ir_kernel *kernel) {
    return kernel->axis_count >= IR_MAX_AXES ? ~(axes_t)0 : AXIS_BIT(kernel->axis_count) - 1;
}

static bool is_closed(const struct ir_kernel *kernel, axes_t axes) {
    for (int axis = 0; axis < kernel->axis_count; axis++) {
        if ((axes & AXIS_BIT(axis)) && (kernel->axes[axis].parents & ~axes))
            return false;
    }
    return true;
}

// A value where it is defined: its own fields, and from here on it is in scope.
static void define(struct verifier *verifier, const struct ir_op *op, const struct ir_value *value) {
    const struct ir_kernel *kernel = verifier->kernel;
    if (!value) {
        verify_complain(verifier, op, "a result or argument is missing");
        return;
    }
    if (value->id < 0 || value->id >= kernel->value_count) {
        verify_complain(verifier, op, "%%%d is not one of the %d ids given out", value->id, kernel->value_count);
        return;
    }
    if (verifier->seen[value->id])
        verify_complain(verifier, op, "%%%d is defined twice", value->id);
    verifier->seen[value->id] = true;
    verifier->visible[value->id] = value;
    if (value->type <= TYPE_NONE || value->type >= TYPE_COUNT)
        verify_complain(verifier, op, "%%%d has no element type", value->id);
    if (value->narrow && value->type != TYPE_I64)
        verify_complain(verifier, op, "%%%d is narrow, but no i64", value->id);
    if ((value->axes | value->partial) & ~known_axes(kernel))
        verify_complain(verifier, op, "%%%d is on an axis that the kernel doesn't have", value->id);
    else if (!kernel->lowered && !is_closed(kernel, value->axes))
        verify_complain(verifier, op, "%%%d is on a jagged axis without all its parents", value->id);
    if (value->axes & ~verifier->axes & known_axes(kernel))
        verify_complain(verifier, op, "%%%d is on an axis whose loop isn't around it", value->id);
}

static void leave(struct verifier *verifier, const struct ir_value *value) {
    if (value && value->id >= 0 && value->id < verifier->kernel->value_count)
        verifier->visible[value->id] = NULL;
}

static bool is_visible(const struct verifier *verifier, const struct ir_value *value) {
    return value->id >= 0 && value->id < verifier->kernel->value_count && verifier->visible[value->id] == value;
}

static bool check_operands(struct verifier *verifier, const struct ir_op *op) {
    bool good = true;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *operand = op->operands[i];
        if (!operand)
            verify_complain(verifier, op, "operand %d is missing", i);
        else if (!is_visible(verifier, operand))
            verify_complain(verifier, op, "operand %d (%%%d) is not in scope", i, operand->id);
        good = good && operand;
    }
    return good;
}

static bool check_results(struct verifier *verifier, const struct ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        const struct ir_value *result = op->results[i];
        if (!result) {
            verify_complain(verifier, op, "result %d is missing", i);
            return false;
        }
        if (result->def != op || result->index != i || result->region)
            verify_complain(verifier, op, "%%%d doesn't point back at its operation", result->id);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- regions

static const struct ir_op *yield_of(const struct ir_region *region) {
    return region->last && region->last->code == OP_YIELD ? region->last : NULL;
}

static void check_region(struct verifier *verifier, const struct ir_region *region);

static void check_args(struct verifier *verifier, const struct ir_op *op, const struct ir_region *region) {
    for (int i = 0; i < region->arg_count; i++) {
        const struct ir_value *arg = region->args[i];
        define(verifier, op, arg);
        if (arg && (arg->region != region || arg->def != op || arg->index != i))
            verify_complain(verifier, op, "argument %%%d doesn't point back at its region", arg->id);
    }
}

// One region of `op` with `axes` in scope beside those around it; its arguments' axes don't include them.
static void check_own_region(struct verifier *verifier, const struct ir_op *op, const struct ir_region *region, axes_t axes) {
    if (region->owner != op)
        verify_complain(verifier, op, "a region doesn't point back at its operation");
    check_args(verifier, op, region);
    axes_t around = verifier->axes;
    verifier->axes |= axes;
    check_region(verifier, region);
    verifier->axes = around;
    for (int i = 0; i < region->arg_count; i++)
        leave(verifier, region->args[i]);
}

static bool matches(const struct ir_value *a, const struct ir_value *b) {
    return a && b && a->type == b->type && a->axes == b->axes;
}

// The arguments of `region`, from `first` on, against the carried values of `op`.
static void check_carried_args(struct verifier *verifier, const struct ir_op *op, const struct ir_region *region, int first) {
    if (region->arg_count - first != op->result_count) {
        verify_complain(verifier, op, "a region has %d arguments for %d carried values", region->arg_count - first,
                        op->result_count);
        return;
    }
    for (int i = 0; i < op->result_count; i++) {
        if (!matches(region->args[first + i], op->results[i]))
            verify_complain(verifier, op, "carried value %d: argument and result differ in type or axes", i);
    }
}

static void check_carried_yield(struct verifier *verifier, const struct ir_op *op, const struct ir_region *region) {
    const struct ir_op *yield = yield_of(region);
    int count = yield ? yield->operand_count : 0;
    if (count != op->result_count) {
        verify_complain(verifier, op, "a region yields %d values for %d carried", count, op->result_count);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (!matches(yield->operands[i], op->results[i]))
            verify_complain(verifier, op, "carried value %d: what is yielded differs in type or axes", i);
    }
}

// Initial values stand from operand `from` on.
static bool check_carried_in(struct verifier *verifier, const struct ir_op *op, int from) {
    if (op->operand_count - from != op->result_count) {
        verify_complain(verifier, op, "%d values are carried in for %d results", op->operand_count - from, op->result_count);
        return false;
    }
    for (int i = 0; i < op->result_count; i++) {
        if (!matches(op->operands[from + i], op->results[i]))
            verify_complain(verifier, op, "carried value %d: what is carried in differs in type or axes", i);
    }
    return true;
}

static void check_while(struct verifier *verifier, const struct ir_op *op, const struct ir_region *region) {
    check_carried_args(verifier, op, region, 0);
    check_own_region(verifier, op, region, 0);
    const struct ir_op *yield = yield_of(region);
    if (!yield || yield->operand_count != 1 || !yield->operands[0] || yield->operands[0]->type != TYPE_BOOL)
        verify_complain(verifier, op, "the condition doesn't yield one bool");
}

static bool has_regions(struct verifier *verifier, const struct ir_op *op, int least, int most) {
    bool good = op->region_count >= least && op->region_count <= most;
    for (int i = 0; good && i < op->region_count; i++)
        good = op->regions[i] != NULL;
    if (!good)
        verify_complain(verifier, op, "it has %d regions, or one is missing", op->region_count);
    return good;
}

static bool check_bounds(struct verifier *verifier, const struct ir_op *op, axes_t allowed) {
    if (op->operand_count < 2) {
        verify_complain(verifier, op, "bounds are missing");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (!verify_is_i64(verifier, op->operands[i]->type))
            verify_complain(verifier, op, "bound %d is no i64", i);
        if (op->operands[i]->axes & ~allowed)
            verify_complain(verifier, op, "bound %d is on axes that are no parents of the loop's axis", i);
    }
    return true;
}

static void check_for(struct verifier *verifier, const struct ir_op *op) {
    const struct ir_kernel *kernel = verifier->kernel;
    if (op->axis < 0 || op->axis >= kernel->axis_count || kernel->axes[op->axis].kind == AXIS_FULL) {
        verify_complain(verifier, op, "it loops over no tile axis");
        return;
    }
    axes_t axis = AXIS_BIT(op->axis), parents = kernel->axes[op->axis].parents;
    if (verifier->axes & axis)
        verify_complain(verifier, op, "a loop over this axis is around it already");
    if (parents & ~verifier->axes)
        verify_complain(verifier, op, "a parent of its axis is not in scope");
    if (!check_bounds(verifier, op, parents) || !has_regions(verifier, op, 1, 2) || !check_carried_in(verifier, op, 2))
        return;
    check_carried_args(verifier, op, op->regions[0], 0);
    check_own_region(verifier, op, op->regions[0], axis);
    check_carried_yield(verifier, op, op->regions[0]);
    if (op->region_count == 2)
        check_while(verifier, op, op->regions[1]);
}

static void check_range(struct verifier *verifier, const struct ir_op *op) {
    if (!check_bounds(verifier, op, 0) || !has_regions(verifier, op, 1, 1) || !check_carried_in(verifier, op, 2))
        return;
    const struct ir_region *body = op->regions[0];
    const struct ir_value *index = body->arg_count ? body->args[0] : NULL;
    if (!index || !verify_is_i64(verifier, index->type) || index->axes)
        verify_complain(verifier, op, "its index is no i64 number");
    check_carried_args(verifier, op, body, 1);
    check_own_region(verifier, op, body, 0);
    check_carried_yield(verifier, op, body);
}

static void check_if(struct verifier *verifier, const struct ir_op *op) {
    if (op->operand_count < 1 || op->operands[0]->type != TYPE_BOOL) {
        verify_complain(verifier, op, "its condition is no bool");
        return;
    }
    if (!has_regions(verifier, op, 2, 2) || !check_carried_in(verifier, op, 1))
        return;
    for (int i = 0; i < 2; i++) {
        check_carried_args(verifier, op, op->regions[i], 0);
        check_own_region(verifier, op, op->regions[i], 0);
        check_carried_yield(verifier, op, op->regions[i]);
    }
}

static void check_op(struct verifier *verifier, const struct ir_op *op) {
    if ((unsigned)op->code >= OP_COUNT) {
        verify_complain(verifier, NULL, "an operation has code %d, which isn't in the table", (int)op->code);
        return;
    }
    if (!check_operands(verifier, op) || !check_results(verifier, op))
        return;
    int arity = ir_ops[op->code].arity + (op->code == OP_PRINT && op->predicated ? 1 : 0);
    if (arity >= 0 && op->operand_count != arity) {
        verify_complain(verifier, op, "it has %d operands, not %d", op->operand_count, arity);
        return;
    }
    switch (op->code) {
    case OP_FOR:
        check_for(verifier, op);
        break;
    case OP_RANGE:
        check_range(verifier, op);
        break;
    case OP_IF:
        check_if(verifier, op);
        break;
    default:
        if (op->region_count)
            verify_complain(verifier, op, "it may not own regions");
        verify_single(verifier, op);
    }
    for (int i = 0; i < op->result_count; i++)
        define(verifier, op, op->results[i]);
}

static void check_region(struct verifier *verifier, const struct ir_region *region) {
    const struct ir_op *previous = NULL;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->parent != region || op->previous != previous)
            verify_complain(verifier, op, "it is not linked into its region");
        if (op->code == OP_YIELD && (op->next || !region->owner))
            verify_complain(verifier, op, "a yield may only end a region of an operation");
        check_op(verifier, op);
        previous = op;
    }
    if (region->last != previous)
        verify_complain(verifier, region->last, "the region doesn't end with it");
    for (const struct ir_op *op = region->first; region->owner && op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            leave(verifier, op->results[i]);
    }
}

// ---------------------------------------------------------------------------------------------- the kernel's tables

static void check_number(struct verifier *verifier, const struct ir_value *value, enum ir_type type, const char *what,
                         const char *name) {
    if (!value || !is_visible(verifier, value))
        verify_complain(verifier, NULL, "%s of %s is not a value of the kernel's body", what, name);
    else if (value->type != type)
        verify_complain(verifier, NULL, "%s of %s has another type", what, name);
    else if (!ir_is_host_number(value))
        verify_complain(verifier, NULL, "%s of %s is not a number that the host can work out", what, name);
}

// i64, or once lowered what stands for it.
static enum ir_type index_type(const struct verifier *verifier, const struct ir_value *value) {
    return value && verify_is_i64(verifier, value->type) ? value->type : TYPE_I64;
}

static void check_param(struct verifier *verifier, const struct ir_param *param) {
    if (param->rank < 0 || param->rank > IR_MAX_RANK) {
        verify_complain(verifier, NULL, "parameter %s has rank %d", param->name, param->rank);
        return;
    }
    if (param->kind == PARAM_SCALAR && param->rank)
        verify_complain(verifier, NULL, "scalar %s has extents", param->name);
    if (param->fill && param->kind != PARAM_OUT)
        verify_complain(verifier, NULL, "parameter %s has a fill, but is no output", param->name);
    if (param->optional && !param->present)
        return;
    for (int i = 0; i < param->rank; i++)
        check_number(verifier, param->extents[i], index_type(verifier, param->extents[i]), "an extent", param->name);
    if (param->fill)
        check_number(verifier, param->fill, param->type, "the fill", param->name);
}

static void check_axis(struct verifier *verifier, int index) {
    const struct ir_kernel *kernel = verifier->kernel;
    const struct ir_axis *axis = &kernel->axes[index];
    if (axis->parents & (AXIS_BIT(index) | ~known_axes(kernel)))
        verify_complain(verifier, NULL, "axis %s has parents that can't be", axis->name);
    else if (!is_closed(kernel, axis->parents))
        verify_complain(verifier, NULL, "axis %s: the parents of a parent are missing", axis->name);
    if (axis->kind == AXIS_JAGGED && !axis->parents)
        verify_complain(verifier, NULL, "jagged axis %s has no parents", axis->name);
    // Lowering makes a jagged axis dense; it keeps its parents, as the guard inside it still depends on them.
    if (axis->parents && (axis->kind == AXIS_FULL || (axis->kind == AXIS_TILE && !kernel->lowered)))
        verify_complain(verifier, NULL, "axis %s has parents, but is not jagged", axis->name);
    if (axis->kind != AXIS_FULL || kernel->lowered)
        return;
    check_number(verifier, axis->lo, TYPE_I64, "a bound", axis->name);
    check_number(verifier, axis->hi, TYPE_I64, "a bound", axis->name);
}

static void check_tables(struct verifier *verifier) {
    const struct ir_kernel *kernel = verifier->kernel;
    for (int i = 0; i < kernel->param_count; i++)
        check_param(verifier, &kernel->params[i]);
    for (int i = 0; i < kernel->axis_count; i++)
        check_axis(verifier, i);
    for (int i = 0; i < kernel->dim_count; i++) {
        const struct ir_dim *dim = &kernel->dims[i];
        bool learnt = dim->param >= 0 && dim->param < kernel->param_count && dim->position >= 0 &&
                      dim->position < kernel->params[dim->param].rank && dim->scale > 0;
        if (!dim->is_static && !learnt)
            verify_complain(verifier, NULL, "dimension %s is neither static nor an extent of a parameter", dim->name);
    }
}

bool ir_verify(const struct ir_kernel *kernel, struct text *complaints) {
    struct text ignored = {0};
    struct verifier verifier = {.kernel = kernel, .out = complaints ? complaints : &ignored};
    size_t count = (size_t)kernel->value_count + 1;
    verifier.visible = calloc(count, sizeof *verifier.visible);
    verifier.seen = calloc(count, sizeof *verifier.seen);
    if (kernel->axis_count < 0 || kernel->axis_count > IR_MAX_AXES) {
        verify_complain(&verifier, NULL, "the kernel has %d axes", kernel->axis_count);
    } else if (!verifier.visible || !verifier.seen) {
        verify_complain(&verifier, NULL, "out of memory");
    } else {
        for (int i = 0; i < kernel->axis_count; i++)
            verifier.axes |= kernel->axes[i].kind == AXIS_FULL ? AXIS_BIT(i) : 0;
        check_region(&verifier, kernel->body);
        check_tables(&verifier);
    }
    free(verifier.visible);
    free(verifier.seen);
    text_free(&ignored);
    return verifier.complaints == 0;
}
