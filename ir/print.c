// SPDX-License-Identifier: Apache-2.0
// IR as text. In: a kernel or an operation. Out: stable, readable lines, the same for the same kernel on every machine.
// docs/ir.md shows the forms. The one idea: heads are printed by kind of operation, regions by one walk.
#include <string.h>

#include "ir/ir.h"

enum { COMMENT_COLUMN = 65, INDENT = 2 };

// ---------------------------------------------------------------------------------------------- names

// The name; with its number if the kernel has several axes of that name.
static void print_axis(struct text *out, const struct ir_kernel *kernel, int axis) {
    if (axis < 0 || axis >= kernel->axis_count) {
        text_printf(out, "axis?%d", axis);
        return;
    }
    const char *name = kernel->axes[axis].name;
    text_add(out, name);
    for (int other = 0; other < kernel->axis_count; other++) {
        if (other != axis && strcmp(kernel->axes[other].name, name) == 0) {
            text_printf(out, "#%d", axis);
            return;
        }
    }
}

static void print_axis_list(struct text *out, const struct ir_kernel *kernel, axes_t axes) {
    const char *separator = "";
    for (int axis = 0; axis < IR_MAX_AXES; axis++) {
        if (axes & AXIS_BIT(axis)) {
            text_add(out, separator);
            print_axis(out, kernel, axis);
            separator = ", ";
        }
    }
}

void ir_print_axes(struct text *out, const struct ir_kernel *kernel, axes_t axes) {
    text_add(out, "{");
    print_axis_list(out, kernel, axes);
    text_add(out, "}");
}

static void print_use(struct text *out, const struct ir_value *value) {
    if (value)
        text_printf(out, "%%%d", value->id);
    else
        text_add(out, "%?");
}

static void print_uses(struct text *out, struct ir_value *const *values, int count) {
    for (int i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        print_use(out, values[i]);
    }
}

// "%7: f32 {tb, tm}"
static void print_definition(struct text *out, const struct ir_kernel *kernel, const struct ir_value *value) {
    print_use(out, value);
    if (!value)
        return;
    text_printf(out, ": %s%s", ir_type_name(value->type), value->narrow ? " narrow" : "");
    if (value->axes) {
        text_add(out, " ");
        ir_print_axes(out, kernel, value->axes);
    }
    if (value->partial) {
        text_add(out, " partial ");
        ir_print_axes(out, kernel, value->partial);
    }
}

static void print_param_name(struct text *out, const struct ir_kernel *kernel, int param) {
    if (param < 0 || param >= kernel->param_count)
        text_printf(out, "param?%d", param);
    else
        text_add(out, kernel->params[param].name);
}

static void print_quoted(struct text *out, const char *string) {
    text_add(out, "\"");
    for (const char *at = string ? string : ""; *at; at++) {
        if (*at == '"' || *at == '\\')
            text_add(out, "\\");
        if (*at == '\n')
            text_add(out, "\\n");
        else
            text_add_bytes(out, at, 1);
    }
    text_add(out, "\"");
}

static void print_constant(struct text *out, const struct ir_op *op) {
    enum ir_type type = op->result_count && op->results[0] ? op->results[0]->type : TYPE_I64;
    text_add(out, " ");
    if (type == TYPE_BOOL)
        text_add(out, op->integer ? "true" : "false");
    else if (ir_type_is_float(type))
        text_double(out, op->number);
    else
        text_printf(out, "%lld", (long long)op->integer);
}

// ---------------------------------------------------------------------------------------------- heads

// Where operands are missing (a broken operation, which the verifier prints), what is there is printed.
static int at_most(int count, int limit) {
    return count < limit ? count : limit;
}

// "load x[%1, %2] if %3", "store out[%1] = %2"
static void print_fetch(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    text_add(out, " ");
    print_param_name(out, kernel, (int)op->integer);
    if (op->code == OP_FETCHED)
        return;
    text_add(out, " from ");
    print_param_name(out, kernel, op->param);
    text_add(out, "[");
    print_uses(out, op->operands, 1);
    text_add(out, "], ");
    print_use(out, op->operands[1]);
}

static void print_access(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    int rank = op->param >= 0 && op->param < kernel->param_count ? kernel->params[op->param].rank : 0;
    rank = at_most(rank, op->operand_count);
    if (op->code == OP_ATOMIC)
        text_printf(out, " %s", ir_reduction_name(op->reduction));
    text_add(out, op->staged ? " staged " : " ");
    if (op->ahead)
        text_printf(out, "ahead %d ", op->ahead);
    if (op->map)
        text_printf(out, "map %d ", op->map - 1);
    print_param_name(out, kernel, op->param);
    text_add(out, "[");
    print_uses(out, op->operands, rank);
    text_add(out, "]");
    if (op->code != OP_LOAD && rank < op->operand_count) {
        text_add(out, " = ");
        print_use(out, op->operands[rank]);
    }
    if (op->predicated && op->operand_count) {
        text_add(out, " if ");
        print_use(out, op->operands[op->operand_count - 1]);
    }
}

static void print_reduction(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    int count = op->predicated ? op->operand_count - 1 : op->operand_count;
    if (op->code != OP_DOT && op->code != OP_MMA)
        text_printf(out, " %s", ir_reduction_name(op->reduction));
    text_add(out, " [");
    print_axis_list(out, kernel, op->over);
    text_add(out, "] ");
    print_uses(out, op->operands, count);
    if (op->predicated && count >= 0) {
        text_add(out, " if ");
        print_use(out, op->operands[count]);
    }
}

static void print_carried(struct text *out, const struct ir_kernel *kernel, const struct ir_region *region, int from,
                          struct ir_value *const *initial, int count) {
    if (!region || region->arg_count <= from)
        return;
    text_add(out, " carry (");
    for (int i = from; i < region->arg_count; i++) {
        text_add(out, i > from ? ", " : "");
        print_definition(out, kernel, region->args[i]);
        if (initial && i - from < count) {
            text_add(out, " = ");
            print_use(out, initial[i - from]);
        }
    }
    text_add(out, ")");
}

static void print_bounds(struct text *out, const struct ir_op *op) {
    text_add(out, " [");
    print_uses(out, op->operands, at_most(op->operand_count, 2));
    text_add(out, ")");
}

static void print_for(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    static const char *const kinds[] = {[AXIS_TILE] = "tile", [AXIS_JAGGED] = "jagged", [AXIS_FULL] = "full"};
    text_add(out, " ");
    print_axis(out, kernel, op->axis);
    if (op->axis >= 0 && op->axis < kernel->axis_count)
        text_printf(out, " in %s", kinds[kernel->axes[op->axis].kind]);
    print_bounds(out, op);
    print_carried(out, kernel, op->region_count ? op->regions[0] : NULL, 0, op->operands + 2, op->operand_count - 2);
}

static void print_range(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    const struct ir_region *body = op->region_count ? op->regions[0] : NULL;
    text_add(out, " ");
    if (body && body->arg_count)
        print_definition(out, kernel, body->args[0]);
    text_add(out, " in");
    print_bounds(out, op);
    print_carried(out, kernel, body, 1, op->operands + 2, op->operand_count - 2);
}

static void print_attributes(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    switch (op->code) {
    case OP_CONST:
        print_constant(out, op);
        return;
    case OP_DIM:
        text_printf(out, " %s", op->dim >= 0 && op->dim < kernel->dim_count ? kernel->dims[op->dim].name : "dim?");
        return;
    case OP_SCALAR:
        text_add(out, " ");
        print_param_name(out, kernel, op->param);
        return;
    case OP_INDEX:
    case OP_BEGIN:
    case OP_END:
    case OP_SIZE:
    case OP_ID:
        text_add(out, " ");
        print_axis(out, kernel, op->axis);
        return;
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC:
    case OP_ARRIVE:
    case OP_AWAIT:
        print_access(out, kernel, op);
        return;
    case OP_FETCH:
    case OP_FETCHED:
        print_fetch(out, kernel, op);
        return;
    case OP_REDUCE:
    case OP_SCAN:
    case OP_DOT:
    case OP_MMA:
        print_reduction(out, kernel, op);
        return;
    case OP_FOR:
        print_for(out, kernel, op);
        return;
    case OP_RANGE:
        print_range(out, kernel, op);
        return;
    case OP_IF:
        text_add(out, " ");
        print_uses(out, op->operands, at_most(op->operand_count, 1));
        print_carried(out, kernel, op->region_count ? op->regions[0] : NULL, 0, op->operands + 1, op->operand_count - 1);
        return;
    default:
        text_add(out, op->rough ? " rough" : "");
        text_add(out, op->operand_count ? " " : "");
        print_uses(out, op->operands, op->operand_count);
    }
    if (op->code == OP_ASSERT || op->code == OP_PRINT) {
        text_add(out, op->operand_count ? ", " : " ");
        print_quoted(out, op->text);
    }
}

static void print_head(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        text_add(out, i ? ", " : "");
        print_definition(out, kernel, op->results[i]);
    }
    text_printf(out, "%s%s", op->result_count ? " = " : "", ir_ops[op->code].name);
    print_attributes(out, kernel, op);
}

void ir_print_op(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op) {
    print_head(out, kernel, op);
    text_add(out, op->region_count ? " { … }" : "");
}

// ---------------------------------------------------------------------------------------------- trees

static void print_indent(struct text *out, int depth) {
    for (int i = 0; i < depth * INDENT; i++)
        text_add(out, " ");
}

// "// start, line 12" in a column of its own.
static void print_comment(struct text *out, const struct ir_op *op, size_t line_start) {
    const char *name = op->result_count == 1 && op->results[0] ? op->results[0]->name : NULL;
    if (!name && !op->line)
        return;
    do
        text_add(out, " ");
    while (out->length - line_start < COMMENT_COLUMN);
    text_printf(out, "// %s%s", name ? name : "", name && op->line ? ", " : "");
    if (op->line)
        text_printf(out, "line %d", op->line);
}

static void print_region(struct text *out, const struct ir_kernel *kernel, const struct ir_region *region, int depth);

static void print_tree(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op, int depth) {
    size_t line_start = out->length;
    print_indent(out, depth);
    print_head(out, kernel, op);
    text_add(out, op->region_count ? " {" : "");
    print_comment(out, op, line_start);
    text_add(out, "\n");
    for (int i = 0; i < op->region_count; i++) {
        if (i) {
            print_indent(out, depth);
            text_add(out, op->code == OP_FOR ? "} while" : "} else");
            print_carried(out, kernel, op->regions[i], 0, NULL, 0);
            text_add(out, " {\n");
        }
        if (op->regions[i])
            print_region(out, kernel, op->regions[i], depth + 1);
    }
    if (op->region_count) {
        print_indent(out, depth);
        text_add(out, "}\n");
    }
}

static void print_region(struct text *out, const struct ir_kernel *kernel, const struct ir_region *region, int depth) {
    for (const struct ir_op *op = region->first; op; op = op->next)
        print_tree(out, kernel, op, depth);
}

static void print_param(struct text *out, const struct ir_kernel *kernel, int index) {
    static const char *const kinds[] = {
        [PARAM_IN] = "in", [PARAM_INOUT] = "inout", [PARAM_OUT] = "out", [PARAM_SCALAR] = "scalar", [PARAM_WORKSPACE] = "workspace"};
    const struct ir_param *param = &kernel->params[index];
    text_printf(out, "  %s%s %s: %s", param->local ? "local " : "", kinds[param->kind], param->name,
                ir_type_name(param->type));
    if (param->rank) {
        text_add(out, "[");
        print_uses(out, param->extents, param->rank);
        text_add(out, "]");
    }
    if (param->fill) {
        text_add(out, " = ");
        print_use(out, param->fill);
    }
    if (param->has_default) {
        text_add(out, " = ");
        if (ir_type_is_float(param->type))
            text_double(out, param->default_number);
        else
            text_printf(out, "%lld", (long long)param->default_integer);
    }
    text_printf(out, "%s%s\n", param->optional ? " optional" : "", param->optional && !param->present ? " absent" : "");
}

static void print_dim(struct text *out, const struct ir_kernel *kernel, int index) {
    const struct ir_dim *dim = &kernel->dims[index];
    text_printf(out, "  dim %s", dim->name);
    if (dim->is_static)
        text_printf(out, " = %lld", (long long)dim->value);
    if (dim->param >= 0 && dim->param < kernel->param_count) {
        text_printf(out, ": extent %d of %s is %lld * %s", dim->position, kernel->params[dim->param].name,
                    (long long)dim->scale, dim->name);
        if (dim->offset)
            text_printf(out, " + %lld", (long long)dim->offset);
    }
    text_add(out, "\n");
}

static void print_axis_line(struct text *out, const struct ir_kernel *kernel, int index) {
    static const char *const kinds[] = {[AXIS_TILE] = "tile", [AXIS_JAGGED] = "jagged", [AXIS_FULL] = "full"};
    const struct ir_axis *axis = &kernel->axes[index];
    text_add(out, "  axis ");
    print_axis(out, kernel, index);
    text_printf(out, ": %s [", kinds[axis->kind]);
    print_uses(out, (struct ir_value *[]){axis->lo, axis->hi}, 2);
    text_add(out, ")");
    if (axis->parents) {
        text_add(out, " under ");
        ir_print_axes(out, kernel, axis->parents);
    }
    text_add(out, axis->ordered ? " ordered\n" : "\n");
}

void ir_print(struct text *out, const struct ir_kernel *kernel) {
    text_printf(out, "kernel %s", kernel->name);
    for (int i = 0; i < kernel->generic_count; i++) {
        text_printf(out, "%s%s=%s%s", i ? ", " : "<", kernel->generic_names[i], ir_type_name(kernel->generic_types[i]),
                    i == kernel->generic_count - 1 ? ">" : "");
    }
    text_add(out, "\n");
    for (int i = 0; i < kernel->param_count; i++)
        print_param(out, kernel, i);
    for (int i = 0; i < kernel->dim_count; i++)
        print_dim(out, kernel, i);
    for (int i = 0; i < kernel->axis_count; i++)
        print_axis_line(out, kernel, i);
    text_add(out, "{\n");
    print_region(out, kernel, kernel->body, 1);
    text_add(out, "}\n");
}
