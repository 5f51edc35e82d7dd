// SPDX-License-Identifier: Apache-2.0
// Values as C expressions. A value is an array over the register dimensions of its axes; inside the register loops it
// is one element, and its expression either names a variable or is written out.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/emitter.h"

// ---------------------------------------------------------------------------------------------- dimensions

struct dims dims_of(const struct emitter *emitter, axes_t axes) {
    struct dims dims = {0};
    for (int vector = 0; vector < 2; vector++)
        for (int a = 0; a < emitter->kernel->axis_count; a++) {
            const struct axis_layout *layout = &emitter->lowered->axes[a];
            int count = vector ? layout->vector : layout->registers;
            if ((axes & AXIS_BIT(a)) && count > 1 && dims.count < MAX_DIMS)
                dims.items[dims.count++] = (struct dim){a, vector, count};
        }
    return dims;
}

bool same_dims(const struct dims *a, const struct dims *b) {
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->items[i].axis != b->items[i].axis || a->items[i].vector != b->items[i].vector)
            return false;
    return true;
}

const char *subscript_text(struct emitter *emitter, const char *name, const struct dims *dims) {
    struct text text = {0};
    text_add(&text, name);
    for (int i = 0; i < dims->count; i++) {
        const struct dim *dim = &dims->items[i];
        if (dim->vector && emitter->in_vector && dim->axis == emitter->vector_axis)
            text_add(&text, "[0]");
        else
            text_printf(&text, "[%s]", emitter->axis_loop[dim->axis][dim->vector]);
    }
    const char *copy = arena_copy(emitter->arena, text.data, text.length);
    text_free(&text);
    return copy;
}

// ---------------------------------------------------------------------------------------------- constants

static const char *integer_text(struct emitter *emitter, enum ir_type type, int64_t value) {
    if (type == TYPE_BOOL)
        return value ? "true" : "false";
    if (type != TYPE_I64)
        return value == INT32_MIN ? "(-2147483647 - 1)" : print(emitter, "%lld", (long long)value);
    if (value == INT64_MIN)
        return "(-9223372036854775807LL - 1)";
    return print(emitter, "%lldLL", (long long)value);
}

static const char *special_text(struct emitter *emitter, enum ir_type type, double value) {
    bool wide = type == TYPE_F64;
    if (!emitter->cuda) {
        const char *name = isnan(value) ? (wide ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")")
                                        : (wide ? "__builtin_inf()" : "__builtin_inff()");
        return value < 0 ? print(emitter, "(-%s)", name) : name;
    }
    if (wide)
        return isnan(value) ? "__longlong_as_double(0x7ff8000000000000LL)"
               : value > 0  ? "__longlong_as_double(0x7ff0000000000000LL)"
                            : "__longlong_as_double((long long)0xfff0000000000000ULL)";
    return isnan(value) ? "__int_as_float(0x7fffffff)"
           : value > 0  ? "__int_as_float(0x7f800000)"
                        : "__int_as_float((int)0xff800000)";
}

static const char *number_text(struct emitter *emitter, enum ir_type type, double value) {
    if (isnan(value) || isinf(value))
        return special_text(emitter, type, value);
    struct text text = {0};
    text_double(&text, value);
    if (!strpbrk(text.data, ".e"))
        text_add(&text, ".0");
    if (type != TYPE_F64)
        text_add(&text, "f");
    const char *copy = arena_copy(emitter->arena, text.data, text.length);
    text_free(&text);
    return copy;
}

const char *constant_text(struct emitter *emitter, enum ir_type type, int64_t integer, double number) {
    return ir_type_is_float(type) ? number_text(emitter, type, number) : integer_text(emitter, type, integer);
}

const char *identity_text(struct emitter *emitter, enum ir_reduction reduction, enum ir_type type) {
    int64_t least = type == TYPE_I64 ? INT64_MIN : type == TYPE_U8 ? 0 : type == TYPE_I8 ? INT8_MIN : INT32_MIN;
    int64_t most = type == TYPE_I64 ? INT64_MAX : type == TYPE_U8 ? UINT8_MAX : type == TYPE_I8 ? INT8_MAX : INT32_MAX;
    switch (reduction) {
    case RED_PROD:
    case RED_ALL: return constant_text(emitter, type, 1, 1);
    case RED_MAX: return constant_text(emitter, type, least, -INFINITY);
    case RED_MIN: return constant_text(emitter, type, most, INFINITY);
    default: return constant_text(emitter, type, 0, 0);
    }
}

// ---------------------------------------------------------------------------------------------- positions

bool is_leaf(const struct ir_op *op) {
    return op->code == OP_CONST || op->code == OP_DIM || op->code == OP_SCALAR || op->code == OP_INDEX ||
           op->code == OP_BEGIN;
}

static bool is_index_arithmetic(const struct ir_op *op) {
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_CAST:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_LAND:
    case OP_LOR:
    case OP_LNOT: break;
    default: return false;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (ir_type_is_float(op->operands[i]->type))
            return false;
    return !ir_type_is_float(op->results[0]->type);
}

bool is_floating(const struct emitter *emitter, const struct ir_op *op) {
    if (op->result_count != 1 || !is_index_arithmetic(op) || !dims_of(emitter, op->results[0]->axes).count)
        return false;
    const struct users *users = &emitter->users[op->results[0]->id];
    for (int i = 0; i < users->count; i++)
        if (users->ops[i]->parent != op->parent || users->ops[i]->code == OP_YIELD || is_control(users->ops[i]))
            return false;
    return true;
}

// What a register adds to the position: "tk_i * 64".
static const char *register_text(struct emitter *emitter, int axis) {
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    const char *number = emitter->axis_loop[axis][0];
    int warp = layout->vector * layout->lanes, all = warp * layout->warps * layout->blocks;
    if (layout->paired && layout->registers > 2)
        return print(emitter, "%s / 2 * %d + %s %% 2 * %d", number, 2 * all, number, warp);
    int stride = layout->paired ? warp : all;
    return stride > 1 ? print(emitter, "%s * %d", number, stride) : number;
}

const char *position_text(struct emitter *emitter, int axis, int *precedence) {
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    struct text text = {0};
    const char *thread = emitter->axis_thread[axis];
    bool plus = false;
    *precedence = 15;
    if (emitter->axis_place[axis]) {
        *precedence = strchr(emitter->axis_place[axis], ' ') ? 12 : 15;
        return emitter->axis_place[axis];
    }
    if (thread) {
        text_add(&text, thread);
        plus = true;
    }
    if (layout->registers > 1) {
        const char *part = register_text(emitter, axis);
        text_printf(&text, "%s%s", plus ? " + " : "", part);
        *precedence = plus || strchr(part, '+') ? 12 : strchr(part, ' ') ? 13 : 15;
        plus = true;
    }
    if (layout->vector > 1 && !(emitter->in_vector && axis == emitter->vector_axis)) {
        text_printf(&text, "%s%s", plus ? " + " : "", emitter->axis_loop[axis][1]);
        *precedence = plus ? 12 : 15;
        plus = true;
    }
    if (!plus)
        text_add(&text, "0");
    const char *copy = arena_copy(emitter->arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static const char *leaf_text(struct emitter *emitter, const struct ir_op *op, int *precedence) {
    *precedence = 15;
    switch (op->code) {
    case OP_CONST: {
        const char *text = constant_text(emitter, op->results[0]->type, op->integer, op->number);
        if (*text == '-')
            *precedence = 14;
        return text;
    }
    case OP_DIM: emitter->dims |= (uint64_t)1 << op->dim; return emitter->dim_names[op->dim];
    case OP_SCALAR: emitter->scalars |= (uint64_t)1 << op->param; return emitter->param_names[op->param];
    case OP_BEGIN: return emitter->axis_base[op->axis] ? emitter->axis_base[op->axis] : "0";
    default: return position_text(emitter, op->axis, precedence);
    }
}

// ---------------------------------------------------------------------------------------------- casts

static const char *to_half(struct emitter *emitter, enum ir_type to, enum ir_type from, const char *operand) {
    const char *name = ir_type_name(to);
    if (from == TYPE_F64 || ir_type_is_integer(from))
        return print(emitter, "%s((double)%s)", helper(emitter, print(emitter, "tile_%s_round_f64", name)), operand);
    return print(emitter, "%s(%s)", helper(emitter, print(emitter, "tile_%s_round", name)), operand);
}

static const char *float_to_integer(struct emitter *emitter, enum ir_type to, enum ir_type from, const char *operand) {
    const char *wide = from == TYPE_F64 ? "f64" : "f32";
    return print(emitter, "%s(%s)", helper(emitter, print(emitter, "tile_%s_to_%s", wide, ir_type_name(to))), operand);
}

static const char *cast_text(struct emitter *emitter, const struct ir_op *op, int *precedence) {
    const struct ir_value *from = op->operands[0];
    enum ir_type to = op->results[0]->type;
    const char *operand = value_text(emitter, from, 14);
    *precedence = 15;
    if (to == TYPE_BOOL) {
        *precedence = 9;
        return print(emitter, "%s != 0", value_text(emitter, from, 10));
    }
    if (to == TYPE_F16 || to == TYPE_BF16)
        return to_half(emitter, to, from->type,
                       ir_type_is_integer(from->type) ? operand
                                                      : value_text(emitter, from, from->type == TYPE_F64 ? 14 : 1));
    if (ir_type_is_float(from->type) && !ir_type_is_float(to))
        return float_to_integer(emitter, to, from->type, value_text(emitter, from, 1));
    if (!strcmp(register_type(to), register_type(from->type)) && to != TYPE_I8 && to != TYPE_U8)
        return value_text(emitter, from, 15);
    *precedence = 14;
    if (to == TYPE_I8 || to == TYPE_U8)
        return print(emitter, "(%s)%s", storage_type(to), operand);
    return print(emitter, "(%s)%s", register_type(to), operand);
}

// ---------------------------------------------------------------------------------------------- operations

static const char *rough_spelling(const struct ir_op *op) {
    switch (op->code) {
    case OP_EXP: return "tile_exp_rough($0)";
    case OP_SILU: return "tile_silu_rough($0)";
    case OP_DIV: return "tile_quotient_rough($0, $1)";
    default: return "tile_sigmoid_rough($0)";
    }
}

static const char *spelling(const struct ir_op *op) {
    if (op->rough)
        return rough_spelling(op);
    const struct ir_op_info *info = &ir_ops[op->code];
    enum ir_type type = op->operands[op->code == OP_SELECT ? 1 : 0]->type;
    return type == TYPE_F64 ? info->f64 : ir_type_is_float(type) ? info->f32 : info->integer;
}

// A helper's name with the integer's width, where the table's own name stands for both: tile_div -> tile_div_i32.
static const char *with_width(struct emitter *emitter, const char *name, enum ir_type type) {
    static const char *const by_width[] = {"tile_div", "tile_mod", "tile_abs",  "tile_clampi", "tile_cdiv",
                                           "tile_shl", "tile_shr", "tile_mini", "tile_maxi"};
    for (size_t i = 0; i < sizeof by_width / sizeof *by_width; i++)
        if (!strcmp(by_width[i], name) && !ir_type_is_float(type))
            return print(emitter, "%s_%s", name, type == TYPE_I64 ? "i64" : "i32");
    return name;
}

// Divisions and shifts by constants need no care for 0, -1 or counts out of range.
static const char *simple_spelling(const struct ir_op *op, int *precedence) {
    const struct ir_op *def = op->operand_count == 2 && !op->operands[1]->region ? op->operands[1]->def : NULL;
    if (!def || def->code != OP_CONST || ir_type_is_float(op->results[0]->type))
        return NULL;
    *precedence = 13;
    if (op->code == OP_DIV && def->integer > 0)
        return "$0 / $1";
    if (op->code == OP_MOD && def->integer > 0)
        return "$0 % $1";
    return NULL;
}

// Operands of infix operators bind at least as tightly as the operator; those of calls stand between commas.
static int operand_precedence(const struct ir_op *op, int precedence, int operand) {
    if (precedence == 15)
        return 1;
    if (op->code == OP_SELECT)
        return operand == 0 ? 4 : 3;
    if (op->code == OP_LOR)
        return 9;  // no && unparenthesized in ||
    if (precedence == 14)
        return 15;
    return precedence + operand;
}

static const char *fill_template(struct emitter *emitter, const struct ir_op *op, const char *spelled, int precedence) {
    struct text text = {0};
    enum ir_type type = op->operands[0]->type;
    const char *at = spelled;
    if (!strncmp(at, "tile_", 5)) {
        size_t length = strcspn(at, "(");
        const char *name = with_width(emitter, arena_copy(emitter->arena, at, length), type);
        text_add(&text, helper(emitter, name));
        at += length;
    }
    for (; *at; at++) {
        if (*at != '$') {
            text_add_bytes(&text, at, 1);
            continue;
        }
        int operand = *++at - '0';
        text_add(&text, value_text(emitter, op->operands[operand], operand_precedence(op, precedence, operand)));
    }
    const char *copy = arena_copy(emitter->arena, text.data, text.length);
    text_free(&text);
    return copy;
}

const char *op_text(struct emitter *emitter, const struct ir_op *op, int *precedence) {
    if (is_leaf(op))
        return leaf_text(emitter, op, precedence);
    if (op->code == OP_LOAD)
        return load_text(emitter, op, precedence);
    if (op->code == OP_CAST)
        return cast_text(emitter, op, precedence);
    if (op->code == OP_BROADCAST) {
        *precedence = 15;
        return value_text(emitter, op->operands[0], 15);
    }
    *precedence = ir_ops[op->code].precedence;
    if (op->code == OP_NOT && op->results[0]->type == TYPE_BOOL)
        return fill_template(emitter, op, "!$0", *precedence);
    const char *spelled = simple_spelling(op, precedence);
    if (!spelled) {
        *precedence = ir_ops[op->code].precedence;
        spelled = spelling(op);
    }
    return fill_template(emitter, op, spelled, *precedence);
}

const char *value_text(struct emitter *emitter, const struct ir_value *value, int precedence) {
    const struct form *form = &emitter->forms[value->id];
    int own = 15;
    const char *text;
    bool leaf = !value->region && is_leaf(value->def);
    // Where whole vectors move, what the innermost loop computes isn't there yet.
    bool expanded =
        emitter->in_vector &&
        (form->kind == FORM_LOCAL || (form->kind == FORM_VARIABLE && !value->region &&
                                      emitter->group_of[value->id] == emitter->group && value->def->code != OP_REDUCE));
    bool floating = form->kind == FORM_UNSEEN && !value->region && is_floating(emitter, value->def);
    bool placed = (value->axes & emitter->placed) && !value->region;
    if (leaf || floating || placed || form->kind == FORM_INLINE || expanded) {
        text = op_text(emitter, value->def, &own);
    } else if (form->kind == FORM_VARIABLE) {
        struct dims dims = dims_of(emitter, value->axes);
        text = subscript_text(emitter, form->name, &dims);
    } else if (form->kind == FORM_VECTOR) {
        const struct dims dims = dims_of(emitter, value->axes);
        text = emitter->in_vector
                   ? print(emitter, "%s[0]", form->name)
                   : print(emitter, "%s[%s]", form->name, emitter->axis_loop[dims.items[dims.count - 1].axis][1]);
    } else if (form->kind == FORM_LOCAL) {
        text = form->name;
    } else {
        give_up(emitter, "internal.emit", value->def ? value->def->span : (struct span){0},
                "the value %%%d is used before it is written", value->id);
        text = "0";
    }
    return own < precedence ? print(emitter, "(%s)", text) : text;
}

// ---------------------------------------------------------------------------------------------- steps of reductions

const char *combine_text(struct emitter *emitter, enum ir_reduction reduction, enum ir_type type, const char *a,
                         const char *b) {
    const char *kind = type == TYPE_F64 ? "" : ir_type_is_float(type) ? "f" : type == TYPE_I64 ? "i_i64" : "i_i32";
    switch (reduction) {
    case RED_SUM: return print(emitter, "%s + %s", a, b);
    case RED_PROD: return print(emitter, "%s * %s", a, b);
    case RED_MAX: return print(emitter, "%s(%s, %s)", helper(emitter, print(emitter, "tile_max%s", kind)), a, b);
    case RED_MIN: return print(emitter, "%s(%s, %s)", helper(emitter, print(emitter, "tile_min%s", kind)), a, b);
    case RED_ANY: return print(emitter, "%s || %s", a, b);
    default: return print(emitter, "%s && %s", a, b);
    }
}
