// SPDX-License-Identifier: Apache-2.0
// lower_index: integers are i64 in the language and 32 bits where that can't be told apart.
//
// An i64 value becomes i32 if its range is known to fit, or if only its low bits matter: a value that ends as a part of
// an index needs no more than 32 of them, because an index inside a tensor of fewer than 2^31 elements is known by
// them. A comparison of a short value with a long one uses the long one saturated to 32 bits, which can't change its
// outcome. The launch plan demands what this rests on: extents and element counts below INDEX_LIMIT. So does the bound
// of a loop whose axis indexes a tensor: longer rows would be outside of it.
#include "lowering/pass.h"

struct range {
    int64_t lo, hi;
};

static const struct range ANY = {INT64_MIN, INT64_MAX};

// What is computed from numbers below INDEX_LIMIT, to within a few tiles, is still a bound that positions in 32 bits
// reach.
#define BOUND_LIMIT (INDEX_LIMIT + (1 << 18))

struct shortening {
    struct pass_context *context;
    struct ir_kernel *kernel;
    struct range *ranges;        // by id
    bool *full;                  // by id: more than the low 32 bits matter
    struct ir_value **short_of;  // by id: the saturated copy of a long value
    int capacity;
    bool changed;
};

// ---------------------------------------------------------------------------------------------- ranges

static struct range range_of(const struct shortening *s, const struct ir_value *value) {
    return value->id < s->capacity ? s->ranges[value->id] : ANY;
}

static struct range type_range(enum ir_type type) {
    switch (type) {
    case TYPE_BOOL: return (struct range){0, 1};
    case TYPE_I8: return (struct range){INT8_MIN, INT8_MAX};
    case TYPE_U8: return (struct range){0, UINT8_MAX};
    case TYPE_I32: return (struct range){INT32_MIN, INT32_MAX};
    default: return ANY;
    }
}

static bool fits(struct range range) {  // strictly inside, so that saturated comparisons are exact
    return range.lo > INT32_MIN && range.hi < INT32_MAX;
}

static struct range hull(struct range a, struct range b) {
    return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static struct range combine(enum ir_opcode code, struct range a, struct range b) {
    struct range r = ANY;
    int64_t p[4];
    switch (code) {
    case OP_ADD:
        if (__builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi))
            return ANY;
        return r;
    case OP_SUB:
        if (__builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi))
            return ANY;
        return r;
    case OP_MUL:
        if (__builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
            __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]))
            return ANY;
        return hull(hull((struct range){p[0], p[0]}, (struct range){p[1], p[1]}),
                    hull((struct range){p[2], p[2]}, (struct range){p[3], p[3]}));
    case OP_MIN: return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case OP_MAX: return (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case OP_DIV: return a.lo >= 0 && b.lo >= 0 ? (struct range){0, a.hi} : ANY;
    case OP_MOD:
        if (b.lo <= 0)
            return ANY;
        return (struct range){a.lo >= 0 ? 0 : a.lo > -b.hi ? a.lo : -b.hi, a.hi < b.hi ? a.hi : b.hi};
    case OP_CDIV: return a.lo >= 0 && b.lo > 0 ? (struct range){0, a.hi} : ANY;
    default: return ANY;
    }
}

static struct range position_range(const struct shortening *s, const struct ir_op *op) {
    const struct ir_axis *axis = &s->kernel->axes[op->axis];
    const struct ir_value *origin = s->context->out->axes[op->axis].origin;
    const struct ir_value *first = origin ? origin : axis->lo;
    struct range lo = {0, 0};
    if (first && is_integer_constant(first, &lo.lo))
        lo.hi = lo.lo;
    else if (first)
        lo = range_of(s, first);
    struct range hi = range_of(s, axis->hi);
    if (hi.hi > BOUND_LIMIT)
        return ANY;
    if (lo.lo < 0)
        return ANY;
    return (struct range){lo.lo, (hi.hi < 0 ? 0 : hi.hi) + s->context->out->axes[op->axis].block};
}

static struct range cast_range(const struct shortening *s, const struct ir_value *from, enum ir_type to) {
    struct range whole = type_range(to), known = range_of(s, from);
    return !ir_type_is_float(from->type) && known.lo >= whole.lo && known.hi <= whole.hi ? known : whole;
}

static struct range compute_range(const struct shortening *s, const struct ir_op *op) {
    const struct ir_value *a = op->operand_count > 0 ? op->operands[0] : NULL;
    const struct ir_value *b = op->operand_count > 1 ? op->operands[1] : NULL;
    switch (op->code) {
    case OP_CONST: return (struct range){op->integer, op->integer};
    case OP_DIM: return (struct range){0, INDEX_LIMIT};
    case OP_INDEX:
    case OP_BEGIN: return position_range(s, op);
    case OP_LOAD:
    case OP_SCALAR: return type_range(op->results[0]->type);
    case OP_CAST: return cast_range(s, a, op->results[0]->type);
    case OP_CLAMP: return hull(range_of(s, b), range_of(s, op->operands[2]));
    case OP_REDUCE:
        return op->reduction == RED_MAX && op->results[0]->type == TYPE_I32
                   ? (struct range){INT32_MIN, range_of(s, a).hi}
                   : type_range(op->results[0]->type);
    case OP_BROADCAST: return range_of(s, a);
    case OP_SELECT: return hull(range_of(s, b), range_of(s, op->operands[2]));
    default:
        return op->operand_count == 2 && (ir_ops[op->code].flags & F_ELEMENTWISE)
                   ? combine(op->code, range_of(s, a), range_of(s, b))
                   : type_range(op->results[0]->type);
    }
}

static void find_range(void *data, struct ir_op *op) {
    struct shortening *s = data;
    if (op->result_count == 1 && !op->region_count && !ir_type_is_float(op->results[0]->type))
        s->ranges[op->results[0]->id] = compute_range(s, op);
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->arg_count; i++) {
            struct ir_value *argument = op->regions[r]->args[i];
            s->ranges[argument->id] = type_range(argument->type);
            if (op->code == OP_RANGE && i == 0 && range_of(s, op->operands[1]).hi <= INDEX_LIMIT &&
                range_of(s, op->operands[0]).lo >= 0)
                s->ranges[argument->id] = (struct range){0, INDEX_LIMIT};
        }
    for (int i = 0; op->region_count && i < op->result_count; i++)
        s->ranges[op->results[i]->id] = type_range(op->results[i]->type);
}

// ---------------------------------------------------------------------------------------------- loops that index

struct search {
    int axis;
    const struct ir_kernel *kernel;
    bool found;
};

static bool adds_axis(const struct ir_value *value, int axis) {
    if (value->region)
        return false;
    const struct ir_op *def = value->def;
    if (def->code == OP_INDEX)
        return def->axis == axis;
    return def->code == OP_ADD && (adds_axis(def->operands[0], axis) || adds_axis(def->operands[1], axis));
}

static void find_indexed(void *data, struct ir_op *op) {
    struct search *search = data;
    if (op->code != OP_LOAD && op->code != OP_STORE && op->code != OP_ATOMIC)
        return;
    for (int i = 0; i < search->kernel->params[op->param].rank; i++)
        search->found |= adds_axis(op->operands[i], search->axis);
}

bool indexes_tensor(const struct ir_kernel *kernel, struct ir_op *loop) {
    struct search search = {.axis = loop->axis, .kernel = kernel};
    walk_ops(loop->regions[0], find_indexed, &search);
    return search.found;
}

static struct ir_value *saturated(struct shortening *s, struct ir_value *value);

// Gives the loop over a long bound a short one, if the loop's axis is a part of an index inside.
static void shorten_bound(void *data, struct ir_op *loop) {
    struct shortening *s = data;
    if (loop->code != OP_FOR)
        return;
    struct ir_value *hi = loop->operands[1];
    if (!indexes_tensor(s->kernel, loop) || hi->type != TYPE_I64 || range_of(s, hi).hi <= BOUND_LIMIT)
        return;
    struct ir_op *def = hi->region ? NULL : hi->def;
    if (def && def->code == OP_REDUCE && def->reduction == RED_MAX) {
        struct ir_value *bound = saturated(s, def->operands[0]);
        struct ir_builder builder = builder_before(s->kernel, def);
        struct ir_op *copy = ir_op_new(&builder, OP_REDUCE, def->operand_count, 1, 0);
        copy->reduction = RED_MAX;
        copy->over = def->over;
        copy->predicated = def->predicated;
        for (int i = 0; i < def->operand_count; i++)
            copy->operands[i] = i ? def->operands[i] : bound;
        ir_insert(&builder, copy);
        loop->operands[1] = ir_result(s->kernel, copy, 0, TYPE_I32, hi->axes);
    } else {
        loop->operands[1] = saturated(s, hi);
    }
    s->kernel->axes[loop->axis].hi = loop->operands[1];
}

// ---------------------------------------------------------------------------------------------- demand

static void grow(struct shortening *s) {
    int capacity = s->kernel->value_count + 1024;
    s->ranges = arena_grow(s->context->arena, s->ranges, (size_t)s->capacity * sizeof *s->ranges,
                           (size_t)capacity * sizeof *s->ranges);
    s->full = arena_grow(s->context->arena, s->full, (size_t)s->capacity * sizeof *s->full,
                         (size_t)capacity * sizeof *s->full);
    s->short_of = arena_grow(s->context->arena, s->short_of, (size_t)s->capacity * sizeof *s->short_of,
                             (size_t)capacity * sizeof *s->short_of);
    for (int i = s->capacity; i < capacity; i++)
        s->ranges[i] = ANY;
    s->capacity = capacity;
}

// The value clamped to what 32 bits hold, made once, right behind its definition.
static struct ir_value *saturated(struct shortening *s, struct ir_value *value) {
    if (value->id < s->capacity && s->short_of[value->id])
        return s->short_of[value->id];
    struct ir_builder builder = {.kernel = s->kernel};
    if (value->region) {
        builder.region = value->region;
        builder.before = value->region->first;
    } else {
        builder.region = value->def->parent;
        builder.before = value->def->next;
        builder.span = value->def->span;
        builder.line = value->def->line;
    }
    if (fits(range_of(s, value)))
        return ir_cast(&builder, TYPE_I32, value);
    struct ir_value *lo = ir_integer(&builder, TYPE_I64, -(int64_t)INDEX_LIMIT);
    struct ir_value *hi = ir_integer(&builder, TYPE_I64, INDEX_LIMIT);
    struct ir_value *clamped = ir_elementwise(&builder, OP_CLAMP, 3, (struct ir_value *[]){value, lo, hi});
    struct ir_value *copy = ir_cast(&builder, TYPE_I32, clamped);
    copy->name = value->name;
    if (s->kernel->value_count >= s->capacity)
        grow(s);
    s->full[value->id] = true;
    s->full[clamped->id] = s->full[lo->id] = s->full[hi->id] = true;
    s->ranges[copy->id] = (struct range){-INDEX_LIMIT, INDEX_LIMIT};
    return s->short_of[value->id] = copy;
}

static bool is_ring(enum ir_opcode code) {
    return code == OP_ADD || code == OP_SUB || code == OP_MUL || code == OP_NEG || code == OP_AND || code == OP_OR ||
           code == OP_XOR || code == OP_NOT || code == OP_SELECT || code == OP_BROADCAST;
}

static bool all_fit(const struct shortening *s, const struct ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (!fits(range_of(s, op->operands[i])))
            return false;
    return true;
}

// Whether the value is computed in 32 bits.
static bool is_short(const struct shortening *s, const struct ir_value *value) {
    if (value->type != TYPE_I64 || value->region)
        return value->type == TYPE_I64 && value->region && fits(range_of(s, value));
    const struct ir_op *def = value->def;
    if (def->region_count)
        return false;
    bool known = fits(range_of(s, value));
    if (!known && s->full[value->id])
        return false;
    switch (def->code) {
    case OP_CONST:
    case OP_DIM:
    case OP_INDEX:
    case OP_BEGIN: return known;
    case OP_CAST: return !ir_type_is_float(def->operands[0]->type) && (known || !s->full[value->id]);
    case OP_DIV:
    case OP_MOD:
    case OP_CDIV:
    case OP_MIN:
    case OP_MAX: return known && all_fit(s, def);
    default: return is_ring(def->code);
    }
}

static bool is_comparison(enum ir_opcode code) {
    return code >= OP_EQ && code <= OP_GE;
}

// Whether the operation needs more than the low bits of its operand.
static bool demands_all(const struct shortening *s, const struct ir_op *op, int operand) {
    const struct ir_param *param =
        op->param >= 0 && op->param < s->kernel->param_count ? &s->kernel->params[op->param] : NULL;
    switch (op->code) {
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC:
    case OP_ARRIVE:
    case OP_AWAIT: return operand >= param->rank;
    case OP_CAST:
        return ir_type_is_float(op->results[0]->type) ||
               (op->results[0]->type == TYPE_I64 && !is_short(s, op->results[0]));
    case OP_SELECT: return operand > 0 && !is_short(s, op->results[0]);
    default: return !is_ring(op->code) || !is_short(s, op->results[0]);
    }
}

static void find_demand(void *data, struct ir_op *op) {
    struct shortening *s = data;
    for (int i = 0; i < op->operand_count; i++) {
        struct ir_value *operand = op->operands[i];
        if (operand->type != TYPE_I64 || s->full[operand->id] || !demands_all(s, op, i))
            continue;
        s->full[operand->id] = true;
        s->changed = true;
    }
}

// ---------------------------------------------------------------------------------------------- rewriting

static void set_operand_type(struct shortening *s, struct ir_op *op, int operand, enum ir_type type) {
    struct ir_value *value = op->operands[operand];
    if (value->type == type || (value->type != TYPE_I64 && value->type != TYPE_I32))
        return;
    struct ir_builder builder = builder_before(s->kernel, op);
    op->operands[operand] = ir_cast(&builder, type, value);
}

static void rewrite_comparison(struct shortening *s, struct ir_op *op) {
    enum ir_type a = op->operands[0]->type, b = op->operands[1]->type;
    if (a == b || ir_type_is_float(a))
        return;
    int longer = a == TYPE_I64 ? 0 : 1;
    if (!fits(range_of(s, op->operands[1 - longer]))) {  // an i32 as loaded: compare in 64 bits
        set_operand_type(s, op, 1 - longer, TYPE_I64);
        return;
    }
    op->operands[longer] = saturated(s, op->operands[longer]);
}

static void rewrite_op(void *data, struct ir_op *op) {
    struct shortening *s = data;
    if (is_comparison(op->code)) {
        rewrite_comparison(s, op);
        return;
    }
    if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC) {
        int rank = s->kernel->params[op->param].rank;
        for (int i = 0; i < rank; i++)
            set_operand_type(s, op, i, TYPE_I32);
        if (op->code != OP_LOAD && s->kernel->params[op->param].type == TYPE_I64)
            set_operand_type(s, op, rank, TYPE_I64);
        return;
    }
    if (op->code == OP_ARRIVE || op->code == OP_AWAIT) {
        for (int i = 0; i < s->kernel->params[op->param].rank; i++)
            set_operand_type(s, op, i, TYPE_I32);
        return;
    }
    if (op->code == OP_FOR || op->code == OP_RANGE) {
        bool both = op->operands[0]->type == TYPE_I32 && op->operands[1]->type == TYPE_I32;
        for (int i = 0; i < 2; i++)
            set_operand_type(s, op, i, both ? TYPE_I32 : TYPE_I64);
    }
    int first = op->code == OP_FOR || op->code == OP_RANGE ? 2 : op->code == OP_IF ? 1 : -1;
    for (int i = 0; first >= 0 && i < op->result_count; i++)
        set_operand_type(s, op, first + i, op->results[i]->type);
    if (op->code == OP_YIELD && op->parent->owner)
        for (int i = 0; i < op->operand_count && i < op->parent->owner->result_count; i++)
            set_operand_type(s, op, i, op->parent->owner->results[i]->type);
    if (op->code == OP_CAST || op->result_count != 1 || op->region_count)
        return;
    enum ir_type type = op->results[0]->type;
    for (int i = op->code == OP_SELECT; i < op->operand_count; i++)
        if (type == TYPE_I64 || type == TYPE_I32)
            set_operand_type(s, op, i, type);
}

struct decision {
    struct shortening *s;
    bool *is_short;
};

static void decide(void *data, struct ir_op *op) {
    struct decision *decision = data;
    for (int i = 0; i < op->result_count; i++)
        decision->is_short[op->results[i]->id] = is_short(decision->s, op->results[i]);
}

static void apply(void *data, struct ir_op *op) {
    struct decision *decision = data;
    for (int i = 0; i < op->result_count; i++)
        if (decision->is_short[op->results[i]->id])
            op->results[i]->type = TYPE_I32;
    if (op->code == OP_RANGE && fits(range_of(decision->s, op->regions[0]->args[0])))
        op->regions[0]->args[0]->type = TYPE_I32;
}

// A fill has its tensor's type, whatever became of the number.
static void restore_fills(struct ir_kernel *kernel) {
    for (int p = 0; p < kernel->param_count; p++) {
        struct ir_value *fill = kernel->params[p].fill;
        if (!fill || fill->type == kernel->params[p].type)
            continue;
        struct ir_builder builder = {.kernel = kernel, .region = kernel->body, .before = fill->def->next};
        kernel->params[p].fill = ir_cast(&builder, kernel->params[p].type, fill);
    }
}

bool lower_index(struct pass_context *context) {
    struct shortening s = {.context = context, .kernel = context->kernel};
    if (context->out->options.index64)
        return true;
    grow(&s);
    walk_ops(context->kernel->body, find_range, &s);
    walk_ops(context->kernel->body, shorten_bound, &s);
    grow(&s);
    walk_ops(context->kernel->body, find_range, &s);
    do {
        s.changed = false;
        walk_ops(context->kernel->body, find_demand, &s);
    } while (s.changed);
    struct decision decision = {&s, ARENA_ARRAY(context->arena, bool, context->kernel->value_count)};
    walk_ops(context->kernel->body, decide, &decision);
    walk_ops(context->kernel->body, apply, &decision);
    walk_ops(context->kernel->body, rewrite_op, &s);
    restore_fills(context->kernel);
    raise_grid_bounds(context);
    return true;
}
