// SPDX-License-Identifier: Apache-2.0
// Numbers that the host can work out. In: a value computed from constants, dimensions and scalars. Out: what it is.
// The one idea: a walk over the graph of operands with a memo and a stack of its own, so that neither shared operands
// nor long chains cost more than their length.
#include <stdio.h>
#include <stdlib.h>

#include "ir/element.h"
#include "ir/ir.h"

// ---------------------------------------------------------------------------------------------- one element

// Rounding an integer through f64 to a narrower type would round twice; beyond 2^53 the low bits become one sticky bit.
static double integer_for_rounding(int64_t value) {
    if (value > -((int64_t)1 << 53) && value < (int64_t)1 << 53)
        return (double)value;
    int64_t high = value >> 12, rest = value & 0xfff;
    return (double)(high | (rest != 0)) * 4096.0;
}

struct ir_scalar element_cast(enum ir_type to, enum ir_type from, struct ir_scalar value) {
    struct ir_scalar result = {0};
    if (ir_type_is_float(to)) {
        if (ir_type_is_float(from))
            result.number = ir_round_to(to, value.number);
        else
            result.number = to == TYPE_F64 ? (double)value.integer : ir_round_to(to, integer_for_rounding(value.integer));
        return result;
    }
    result.integer = ir_type_is_float(from) ? ir_integer_of(to, value.number) : ir_wrap_to(to, value.integer);
    return result;
}

static double apply_float(enum ir_opcode code, double a, double b, double c) {
    (void)b, (void)c;
    switch (code) {
#define X(code, expression) \
    case OP_##code:         \
        return expression;
        ELEMENT_FLOATS(X)
#undef X
    default:
        return NAN;
    }
}

static int64_t apply_integer(enum ir_opcode code, int64_t a, int64_t b, int64_t c) {
    (void)c;
    switch (code) {
#define X(code, expression) \
    case OP_##code:         \
        return expression;
        ELEMENT_INTEGERS(X)
#undef X
    default:
        return 0;
    }
}

static bool compare_floats(enum ir_opcode code, double a, double b) {
    switch (code) {
#define X(code, expression) \
    case OP_##code:         \
        return expression;
        ELEMENT_COMPARISONS(X)
#undef X
    default:
        return false;
    }
}

static bool compare_integers(enum ir_opcode code, int64_t a, int64_t b) {
    switch (code) {
#define X(code, expression) \
    case OP_##code:         \
        return expression;
        ELEMENT_COMPARISONS(X)
#undef X
    default:
        return false;
    }
}

static struct ir_scalar apply(const struct ir_op *op, const struct ir_scalar in[3]) {
    enum ir_type from = op->operands[0]->type, to = op->results[0]->type;
    struct ir_scalar result = {0};
    if (op->code == OP_CAST || op->code == OP_BROADCAST)
        return element_cast(to, from, in[0]);
    if (op->code == OP_SELECT)
        return in[0].integer ? in[1] : in[2];
    if (op->code == OP_ISNAN)
        result.integer = isnan(in[0].number);
    else if (ir_ops[op->code].rule == RULE_COMPARE)
        result.integer = ir_type_is_float(from) ? compare_floats(op->code, in[0].number, in[1].number)
                                                : compare_integers(op->code, in[0].integer, in[1].integer);
    else if (ir_type_is_float(to))
        result.number = apply_float(op->code, in[0].number, in[1].number, in[2].number);
    else
        result.integer = apply_integer(op->code, in[0].integer, in[1].integer, in[2].integer);
    if (to == TYPE_BOOL)
        result.integer &= 1;
    return result;
}

// Whether an integer operation's result is another number than arithmetic without limits gives.
static bool wraps(const struct ir_op *op, const struct ir_scalar in[3], int64_t result) {
    int64_t a = in[0].integer, b = in[1].integer, exact = result;
    enum ir_type type = op->results[0]->type;
    if (!ir_type_is_integer(type))
        return false;
    switch (op->code) {
    case OP_ADD:
        return __builtin_add_overflow(a, b, &exact) || ir_wrap_to(type, exact) != exact;
    case OP_SUB:
        return __builtin_sub_overflow(a, b, &exact) || ir_wrap_to(type, exact) != exact;
    case OP_MUL:
        return __builtin_mul_overflow(a, b, &exact) || ir_wrap_to(type, exact) != exact;
    case OP_FMA:
        return __builtin_mul_overflow(a, b, &exact) || __builtin_add_overflow(exact, in[2].integer, &exact) || ir_wrap_to(type, exact) != exact;
    case OP_NEG:
    case OP_ABS:
        return a == INT64_MIN || ir_wrap_to(type, result) != result;
    case OP_CAST:
        return ir_type_is_integer(op->operands[0]->type) && result != a;
    case OP_SHL:
        return b < 0 || b > 62 || a > INT64_MAX >> b || a < INT64_MIN >> b || ir_wrap_to(type, result) != result;
    default:
        return false;
    }
}

// ---------------------------------------------------------------------------------------------- the walk

struct walk {
    const struct ir_bindings *bindings;  // NULL: only asks whether the host can know it
    int capacity;                        // of `known` and `numbers`, by value id
    bool *known;
    struct ir_scalar *numbers;
    const struct ir_value **stack;
    int depth, stack_capacity;
    bool wrapped;  // an integer on the way didn't fit
};

static void *grown(void *old, size_t count, size_t size) {
    void *data = realloc(old, count * size);
    if (!data) {  // as in arenas, the one failure that isn't a value
        fputs("tilec: out of memory\n", stderr);
        exit(70);
    }
    return data;
}

static bool walk_knows(const struct walk *walk, const struct ir_value *value) {
    return value->id < walk->capacity && walk->known[value->id];
}

static void walk_set(struct walk *walk, const struct ir_value *value, struct ir_scalar number) {
    if (value->id >= walk->capacity) {
        int capacity = 2 * value->id + 16;
        walk->known = grown(walk->known, (size_t)capacity, sizeof *walk->known);
        walk->numbers = grown(walk->numbers, (size_t)capacity, sizeof *walk->numbers);
        for (int i = walk->capacity; i < capacity; i++)
            walk->known[i] = false;
        walk->capacity = capacity;
    }
    walk->known[value->id] = true;
    walk->numbers[value->id] = number;
}

static void walk_push(struct walk *walk, const struct ir_value *value) {
    if (walk->depth == walk->stack_capacity) {
        walk->stack_capacity = walk->stack_capacity ? 2 * walk->stack_capacity : 32;
        walk->stack = grown(walk->stack, (size_t)walk->stack_capacity, sizeof *walk->stack);
    }
    walk->stack[walk->depth++] = value;
}

static bool is_leaf(const struct ir_op *op) {
    return op->code == OP_CONST || op->code == OP_DIM || op->code == OP_SCALAR;
}

static struct ir_scalar leaf_number(const struct ir_op *op, const struct ir_bindings *bindings) {
    if (op->code == OP_CONST)
        return (struct ir_scalar){op->integer, op->number};
    if (!bindings)
        return (struct ir_scalar){0};
    if (op->code == OP_DIM)
        return (struct ir_scalar){.integer = bindings->dims[op->dim]};
    return bindings->params[op->param];
}

// The value on top: pushes an operand that isn't known yet, or works the value out and pops it.
// False if the host can't know it.
static bool walk_step(struct walk *walk) {
    const struct ir_value *value = walk->stack[walk->depth - 1];
    const struct ir_op *op = value->def;
    struct ir_scalar in[3] = {0};
    if (value->axes != 0 || value->region || !op || op->operand_count > 3)
        return false;
    if (!is_leaf(op) && !(ir_ops[op->code].flags & F_ELEMENTWISE))
        return false;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *operand = op->operands[i];
        if (!walk_knows(walk, operand)) {
            walk_push(walk, operand);
            return true;
        }
        in[i] = walk->numbers[operand->id];
    }
    walk->depth--;
    bool asks = walk->bindings == NULL;
    struct ir_scalar number = is_leaf(op) ? leaf_number(op, walk->bindings) : asks ? (struct ir_scalar){0} : apply(op, in);
    walk->wrapped |= !is_leaf(op) && !asks && wraps(op, in, number.integer);
    walk_set(walk, value, number);
    return true;
}

static bool walk_all(const struct ir_value *value, const struct ir_bindings *bindings, struct ir_scalar *number, bool *wrapped) {
    *wrapped = false;
    if (value->def && !value->region && is_leaf(value->def)) {
        *number = leaf_number(value->def, bindings);
        return true;
    }
    struct walk walk = {.bindings = bindings};
    walk_push(&walk, value);
    bool known = true;
    while (known && walk.depth)
        known = walk_step(&walk);
    if (known)
        *number = walk.numbers[value->id];
    *wrapped = walk.wrapped;
    free(walk.known);
    free(walk.numbers);
    free(walk.stack);
    return known;
}

bool ir_is_host_number(const struct ir_value *value) {
    struct ir_scalar ignored;
    bool wrapped;
    return walk_all(value, NULL, &ignored, &wrapped);
}

struct ir_scalar ir_evaluate_number(const struct ir_value *value, const struct ir_bindings *bindings) {
    struct ir_scalar number = {0};
    bool wrapped;
    walk_all(value, bindings, &number, &wrapped);
    return number;
}

bool ir_evaluate_integer(const struct ir_value *value, const struct ir_bindings *bindings, int64_t *number) {
    struct ir_scalar found = {0};
    bool wrapped;
    walk_all(value, bindings, &found, &wrapped);
    *number = found.integer;
    return !wrapped;
}
