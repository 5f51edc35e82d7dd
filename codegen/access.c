// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics: flat indices, predicates, whole vectors where that is proven, one thread per store.
#include <string.h>

#include "codegen/matmul.h"

axes_t axes_touched(const struct ir_op *op) {
    axes_t axes = 0;
    for (int i = 0; i < op->operand_count; i++)
        axes |= op->operands[i]->axes;
    return axes;
}

static bool is_integer_of(const struct ir_value *value, int64_t *out) {
    if (value->region || value->def->code != OP_CONST || ir_type_is_float(value->type))
        return false;
    *out = value->def->integer;
    return true;
}

static const char *tensor_name(struct emitter *emitter, const struct ir_op *op) {
    emitter->tensors |= (uint64_t)1 << op->param;
    return emitter->param_names[op->param];
}

static const struct ir_value *predicate_of(const struct ir_op *op) {
    return op->predicated ? op->operands[op->operand_count - 1] : NULL;
}

// ---------------------------------------------------------------------------------------------- flat indices

static const char *as_index(struct emitter *emitter, const struct ir_value *value, int precedence) {
    bool wide = !strcmp(emitter->index_type, "long long");
    if (wide == (value->type == TYPE_I64) || (!wide && value->type != TYPE_I64))
        return value_text(emitter, value, precedence);
    return print(emitter, "(%s)%s", emitter->index_type, value_text(emitter, value, 14));
}

static const char *extent_text(struct emitter *emitter, const struct ir_value *extent) {
    int64_t constant;
    if (is_integer_of(extent, &constant))
        return print(emitter, "%lld", (long long)constant);
    return as_index(emitter, extent, 14);
}

// ((i0 * n1 + i1) * n2 + i2) …, the last dimension fastest.
// `least`: the precedence that the text's place wants, 12 behind a `+` or 1 in brackets.
static const char *flat_index(struct emitter *emitter, const struct ir_op *op, int least) {
    const struct ir_param *param = &emitter->kernel->params[op->param];
    const char *text = "0";
    int first = param->local;  // a block has its own part alone
    for (int i = first; i < param->rank; i++) {
        if (i == first) {
            text = as_index(emitter, op->operands[i], param->rank > first + 1 ? 13 : least);
            continue;
        }
        int64_t extent;
        bool unit = is_integer_of(param->extents[i], &extent) && extent == 1;
        const char *scaled = unit ? text : print(emitter, "%s * %s", text, extent_text(emitter, param->extents[i]));
        text = print(emitter, "%s + %s", scaled, as_index(emitter, op->operands[i], 13));
        if (i + 1 < param->rank)
            text = print(emitter, "(%s)", text);
    }
    return text;
}

const char *element_address(struct emitter *emitter, const struct ir_op *op) {
    return print(emitter, "%s + %s", tensor_name(emitter, op), flat_index(emitter, op, 12));
}

static const char *from_storage(struct emitter *emitter, enum ir_type type, const char *element) {
    if (type == TYPE_F16 || type == TYPE_BF16)
        return print(emitter, "%s(%s)", helper(emitter, print(emitter, "tile_%s_load", ir_type_name(type))), element);
    return type == TYPE_BOOL ? print(emitter, "(%s != 0)", element) : element;
}

const char *load_text(struct emitter *emitter, const struct ir_op *op, int *precedence) {
    enum ir_type type = op->results[0]->type;
    const char *element = is_in_slab(emitter, op) ? print(emitter, "*(%s)", slab_address(emitter, op))
                                                  : print(emitter, "%s[%s]", tensor_name(emitter, op), flat_index(emitter, op, 1));
    const char *loaded = from_storage(emitter, type, element);
    *precedence = 15;
    if (!op->predicated)
        return loaded;
    *precedence = 3;
    return print(emitter, "%s ? %s : %s", value_text(emitter, predicate_of(op), 4), loaded,
                 constant_text(emitter, type, 0, 0));
}

// ---------------------------------------------------------------------------------------------- vectors

static bool is_multiple(const struct ir_value *value, int of) {
    int64_t constant;
    if (is_integer_of(value, &constant))
        return constant % of == 0;
    if (value->region)
        return false;
    const struct ir_op *def = value->def;
    if (def->code == OP_CAST)
        return !ir_type_is_float(def->operands[0]->type) && is_multiple(def->operands[0], of);
    if (def->code == OP_ADD || def->code == OP_SUB)
        return is_multiple(def->operands[0], of) && is_multiple(def->operands[1], of);
    if (def->code == OP_MUL)
        return is_multiple(def->operands[0], of) || is_multiple(def->operands[1], of);
    return false;
}

// The tile starts at a multiple of the vector.
static bool starts_aligned(const struct emitter *emitter, int axis, int vector) {
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    const struct ir_value *lo = layout->origin ? layout->origin : emitter->kernel->axes[axis].lo;
    return layout->place == PLACE_FULL || !lo || is_multiple(lo, vector);
}

static bool moves_with(const struct ir_value *value, int axis, int vector) {
    if (value->region)
        return false;
    const struct ir_op *def = value->def;
    if (def->code == OP_INDEX)
        return def->axis == axis;
    if (def->code != OP_ADD)
        return false;
    const struct ir_value *a = def->operands[0], *b = def->operands[1];
    return (moves_with(a, axis, vector) && is_multiple(b, vector)) ||
           (moves_with(b, axis, vector) && is_multiple(a, vector));
}

// Whether the predicate is the same for every element of a vector along the axis.
static bool is_uniform(const struct ir_value *predicate, int axis, int vector) {
    if (!(predicate->axes & AXIS_BIT(axis)))
        return true;
    if (predicate->region)
        return false;
    const struct ir_op *def = predicate->def;
    if (def->code == OP_LAND)
        return is_uniform(def->operands[0], axis, vector) && is_uniform(def->operands[1], axis, vector);
    return def->code == OP_LT && moves_with(def->operands[0], axis, vector) && is_multiple(def->operands[1], vector);
}

bool moves_along(const struct ir_value *index, int axis) {
    return moves_with(index, axis, 1);
}

bool moves_together(struct emitter *emitter, const struct ir_op *op, int axis, int width) {
    const struct ir_param *param = &emitter->kernel->params[op->param];
    int64_t extent;
    if (emitter->lowered->options.unaligned || !starts_aligned(emitter, axis, width) ||
        !moves_with(op->operands[param->rank - 1], axis, width))
        return false;
    for (int i = 0; i + 1 < param->rank; i++)
        if (op->operands[i]->axes & AXIS_BIT(axis))
            return false;
    if (param->rank > 1 && (!is_integer_of(param->extents[param->rank - 1], &extent) || extent % width))
        return false;
    return !op->predicated || is_uniform(predicate_of(op), axis, width);
}

int access_width(struct emitter *emitter, const struct ir_op *op, const struct dims *dims) {
    const struct ir_param *param = &emitter->kernel->params[op->param];
    if (!emitter->cuda || emitter->lowered->options.unaligned || !dims->count || !param->rank ||
        param->type == TYPE_BOOL)
        return 1;
    const struct dim *last = &dims->items[dims->count - 1];
    if (!last->vector || ir_type_bytes(param->type) * last->count < 4)
        return 1;
    return moves_together(emitter, op, last->axis, last->count) ? last->count : 1;
}

static const char *vector_helper(struct emitter *emitter, const char *what, enum ir_type type, int width) {
    return helper(emitter, print(emitter, "tile_%s_%sx%d", what, ir_type_name(type), width));
}

static const char *vector_address(struct emitter *emitter, const struct ir_op *op) {
    emitter->aligned |= (uint64_t)1 << op->param;
    return print(emitter, "%s + %s", tensor_name(emitter, op), flat_index(emitter, op, 12));
}

void write_vector_load(struct emitter *emitter, const struct ir_op *op, const char *name, int width) {
    enum ir_type type = op->results[0]->type;
    emitter->in_vector = true;
    bool copied = is_in_slab(emitter, op);
    const char *address = copied ? slab_address(emitter, op) : vector_address(emitter, op);
    const char *what = copied ? "load" : is_streamed(emitter, op) ? "load_once" : is_kept(emitter, op) ? "load_keep" : "load";
    bool guarded = op->predicated && strcmp(what, "load");
    const char *inside = guarded ? print(emitter, ", %s", value_text(emitter, predicate_of(op), 1)) : "";
    const char *form = guarded ? print(emitter, "%s_if", what) : what;
    const char *call = print(emitter, "%s(%s, %s%s);", vector_helper(emitter, form, type, width), name, address, inside);
    if (op->predicated && !guarded) {
        const char *clear = print(emitter, "%s(%s);",
                                  helper(emitter, print(emitter, "tile_clear_%sx%d", type_suffix(type), width)), name);
        line(emitter, "if (%s) %s", value_text(emitter, predicate_of(op), 1), call);
        line(emitter, "else %s", clear);
    } else {
        line(emitter, "%s", call);
    }
    emitter->in_vector = false;
}

// ---------------------------------------------------------------------------------------------- stores

// The bits of the thread's number that don't choose a point of `axes`: one of those threads stores.
static unsigned spare_threads(const struct emitter *emitter, axes_t axes) {
    const struct lowered *lowered = emitter->lowered;
    unsigned lanes = 31, warps = (unsigned)lowered->warps - 1;
    for (int a = 0; a < emitter->kernel->axis_count; a++) {
        const struct axis_layout *layout = &lowered->axes[a];
        if (!layout->block || !(axes & AXIS_BIT(a)))
            continue;
        lanes &= ~((unsigned)(layout->lanes - 1) << layout->lane_shift);
        warps &= ~((unsigned)(layout->warps - 1) << layout->warp_shift);
    }
    return emitter->cuda ? lanes | warps << 5 : 0;
}

// All blocks of a cluster hold what isn't on the axis that they share: the first one stores.
static bool needs_first_block(const struct emitter *emitter, axes_t axes) {
    for (int a = 0; a < emitter->kernel->axis_count; a++)
        if ((axes & AXIS_BIT(a)) && emitter->lowered->axes[a].blocks > 1)
            return false;
    return emitter->cluster > 1;
}

// "if (…) " in front of an effect on `axes`, or "".
static const char *effect_guard(struct emitter *emitter, const struct ir_op *op, axes_t axes) {
    unsigned spare = spare_threads(emitter, axes);
    bool first = needs_first_block(emitter, axes);
    const char *predicate = op->predicated ? value_text(emitter, predicate_of(op), spare || first ? 5 : 1) : NULL;
    if (!spare && !first)
        return predicate ? print(emitter, "if (%s) ", predicate) : "";
    emitter->needs_thread |= spare != 0;
    emitter->needs_rank |= first;
    unsigned all = 32u * (unsigned)emitter->lowered->warps - 1;
    const char *one = !spare ? "" : spare == all ? "thread == 0" : print(emitter, "(thread & %u) == 0", spare);
    if (first)
        one = print(emitter, "%s%srank == 0", one, spare ? " && " : "");
    return predicate ? print(emitter, "if (%s && %s) ", one, predicate) : print(emitter, "if (%s) ", one);
}

// The stored element's text. A rounding cast in front of the store is what the store's own conversion does.
static const char *to_storage(struct emitter *emitter, const struct ir_op *op, const struct ir_value *value) {
    enum ir_type type = emitter->kernel->params[op->param].type;
    if (type != TYPE_F16 && type != TYPE_BF16)
        return value_text(emitter, value, 3);
    const struct ir_op *def = value->region ? NULL : value->def;
    bool rounds = def && def->code == OP_CAST && emitter->forms[value->id].kind == FORM_INLINE &&
                  ir_type_is_float(def->operands[0]->type);
    if (rounds)
        value = def->operands[0];
    const char *suffix = value->type == TYPE_F64 ? "_f64" : "";
    return print(emitter, "%s(%s)", helper(emitter, print(emitter, "tile_%s_store%s", ir_type_name(type), suffix)),
                 value_text(emitter, value, 1));
}

void write_store(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_param *param = &emitter->kernel->params[op->param];
    const struct ir_value *value = op->operands[param->rank];
    emitter->stored |= (uint64_t)1 << op->param;
    const char *guard = effect_guard(emitter, op, axes_touched(op));
    const char *element = print(emitter, "%s[%s]", tensor_name(emitter, op), flat_index(emitter, op, 1));
    line(emitter, "%s%s = %s;", guard, element, to_storage(emitter, op, value));
}

void write_vector_store(struct emitter *emitter, const struct ir_op *op, const char *name, int width) {
    enum ir_type type = emitter->kernel->params[op->param].type;
    emitter->stored |= (uint64_t)1 << op->param;
    emitter->in_vector = true;
    const char *guard = effect_guard(emitter, op, axes_touched(op));
    const char *address = vector_address(emitter, op);
    const char *what = is_streamed(emitter, op) ? "store_once" : "store";
    line(emitter, "%s%s(%s, %s);", guard, vector_helper(emitter, what, type, width), address, name);
    emitter->in_vector = false;
}

void write_quad_store(struct emitter *emitter, const struct ir_op *op, const char *words) {
    emitter->stored |= (uint64_t)1 << op->param;
    const char *guard = effect_guard(emitter, op, axes_touched(op));
    line(emitter, "%s%s(%s, %s);", guard, helper(emitter, "tile_store_quad"), vector_address(emitter, op), words);
}

// ---------------------------------------------------------------------------------------------- atomics

void write_atomic(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_param *param = &emitter->kernel->params[op->param];
    const struct ir_value *value = op->operands[param->rank];
    if (param->type == TYPE_BOOL || param->type == TYPE_I8 || param->type == TYPE_U8) {
        give_up(emitter, "codegen.atomic-type", op->span, "there are no atomics on %s: use i32",
                ir_type_name(param->type));
        return;
    }
    emitter->stored |= (uint64_t)1 << op->param;
    const char *name =
        print(emitter, "tile_atomic_%s_%s", op->reduction == RED_SUM ? "add" : ir_reduction_name(op->reduction),
              ir_type_name(param->type));
    const char *guard = effect_guard(emitter, op, axes_touched(op));
    const char *element = print(emitter, "%s + %s", tensor_name(emitter, op), flat_index(emitter, op, 12));
    line(emitter, "%s%s(%s, %s);", guard, helper(emitter, name), element, value_text(emitter, value, 1));
}

// Where the blocks of a launch meet: all threads of each come by.
void write_meeting(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_param *param = &emitter->kernel->params[op->param];
    emitter->stored |= (uint64_t)1 << op->param;
    const char *place = print(emitter, "%s + %s", tensor_name(emitter, op), flat_index(emitter, op, 12));
    if (op->code == OP_AWAIT) {
        line(emitter, "%s(%s, (int)%s);", helper(emitter, "tile_await"), place,
             value_text(emitter, op->operands[param->rank], 14));
        return;
    }
    const char *name = unique_name(emitter, "arrived");
    need_shared(emitter, 4);
    line(emitter, "%s%s %s = %s(%s, tile_shared);", emitter->uses[op->results[0]->id] ? "const " : "",
         register_type(op->results[0]->type), name, helper(emitter, "tile_arrive"), place);
    emitter->forms[op->results[0]->id] = (struct form){.kind = FORM_VARIABLE, .name = name};
}

// The barrier of a local tensor passes one phase, and every thread sees it pass: none can be a phase behind.
void write_fetch(struct emitter *emitter, const struct ir_op *op) {
    const char *local = emitter->param_names[op->integer];
    emitter->tensors |= (uint64_t)1 << op->integer;
    emitter->fetched |= (uint64_t)1 << op->integer;
    if (op->code == OP_FETCHED) {
        line(emitter, "%s(&%s_full);", helper(emitter, "tile_fetched"), local);
        return;
    }
    emitter->aligned |= (uint64_t)1 << op->param;
    line(emitter, "%s(%s, %s + %s, (int)%s * %d, &%s_full);", helper(emitter, "tile_fetch"), local,
         tensor_name(emitter, op), value_text(emitter, op->operands[0], 12), value_text(emitter, op->operands[1], 14),
         ir_type_bytes(emitter->kernel->params[op->param].type), local);
}

// ---------------------------------------------------------------------------------------------- printing

// A C string with nothing in it that the compiler, or printf if it is a format, would take for more than text.
static const char *quoted_text(struct emitter *emitter, const char *string, bool format) {
    struct text text = {0};
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '%' && format)
            text_add(&text, "%%");
        else if (c == '"' || c == '\\' || c < 32 || c > 126 || c == '?')
            text_printf(&text, "\\%03o", c);
        else
            text_add_bytes(&text, string, 1);
    }
    const char *copy = arena_copy(emitter->arena, text.data ? text.data : "", text.length);
    text_free(&text);
    return copy;
}

// What fails says so and stops: on a GPU the launch, on the CPU the block, and whoever launched looks at tile_failure.
void write_assert(struct emitter *emitter, const struct ir_op *op) {
    if (!emitter->lowered->options.checked)
        return;
    const char *text = print(emitter, "%s:%d: %s", file_name(emitter), op->line, op->text ? op->text : "");
    open_brace(emitter, "if (!%s)", value_text(emitter, op->operands[0], 14));
    if (emitter->cuda) {
        line(emitter, "printf(\"%s\\n\");", quoted_text(emitter, text, true));
        line(emitter, "__trap();");
    } else {
        line(emitter, "tile_failure = \"%s\";", quoted_text(emitter, text, false));
        line(emitter, "return;");
    }
    close_brace(emitter);
}

void write_print(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *value = op->operands[0];
    bool floating = ir_type_is_float(value->type);
    const char *guard = effect_guard(emitter, op, axes_touched(op));
    line(emitter, "%sprintf(\"%s %s\\n\", (%s)%s);", guard, quoted_text(emitter, op->text ? op->text : "", true),
         floating ? "%g" : "%lld", floating ? "double" : "long long", value_text(emitter, value, 14));
}
