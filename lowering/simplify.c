// SPDX-License-Identifier: Apache-2.0
// opt_simplify: constants are folded, neutral operands vanish, equal computations are made once, what nothing uses
// goes. May run between any two passes. Loads are shared only where nothing in the kernel stores to their tensor.
#include <string.h>

#include "lowering/pass.h"

struct simplifier {
    struct pass_context *context;
    struct ir_kernel *kernel;
    bool changed;
    bool *stored;  // by param
};

static void replace(struct simplifier *simplifier, struct ir_op *op, struct ir_value *value) {
    if (op->results[0]->name && !value->name && !is_constant(value))
        value->name = op->results[0]->name;
    ir_replace_uses(simplifier->kernel, op->results[0], value);
    ir_remove(op);
    simplifier->changed = true;
}

static bool is_integer(const struct ir_value *value, int64_t expected) {
    int64_t actual;
    return is_integer_constant(value, &actual) && actual == expected;
}

// Of an integer sum that `part` is a part of, the other one: (a + b) - a, wrapped or not.
static struct ir_value *other_summand(const struct ir_value *sum, const struct ir_value *part) {
    const struct ir_op *def = sum->region || ir_type_is_float(sum->type) ? NULL : sum->def;
    if (!def || def->code != OP_ADD)
        return NULL;
    return def->operands[0] == part ? def->operands[1] : def->operands[1] == part ? def->operands[0] : NULL;
}

// The operand that an operation with a neutral or absorbing other operand gives, or NULL. Exact for integers and bool;
// for floating types only where every value, NaN and -0 included, comes out the same.
static struct ir_value *neutral(const struct ir_op *op) {
    struct ir_value *a = op->operand_count > 0 ? op->operands[0] : NULL,
                    *b = op->operand_count > 1 ? op->operands[1] : NULL;
    switch (op->code) {
    case OP_ADD: return is_integer(a, 0) ? b : is_integer(b, 0) ? a : NULL;
    case OP_SUB: return is_integer(b, 0) ? a : other_summand(a, b);
    case OP_MUL: return is_integer(a, 1) || is_integer(b, 0) ? b : is_integer(b, 1) || is_integer(a, 0) ? a : NULL;
    case OP_DIV: return is_integer(b, 1) ? a : NULL;
    case OP_MIN:
    case OP_MAX: return a == b ? a : NULL;
    case OP_LAND:
        return a == b || is_integer(b, 1) || is_integer(a, 0) ? a : is_integer(a, 1) || is_integer(b, 0) ? b : NULL;
    case OP_LOR:
        return a == b || is_integer(b, 0) || is_integer(a, 1) ? a : is_integer(a, 0) || is_integer(b, 1) ? b : NULL;
    case OP_SELECT: return is_integer(a, 1) || b == op->operands[2] ? b : is_integer(a, 0) ? op->operands[2] : NULL;
    case OP_BROADCAST: return a;
    case OP_CAST: return a->type == op->results[0]->type ? a : NULL;
    default: return NULL;
    }
}

// ---------------------------------------------------------------------------------------------- equal computations

static unsigned hash_op(const struct ir_op *op) {
    uint64_t hash = (uint64_t)op->code * 1000003u + (uint64_t)op->integer * 31u + (unsigned)(op->axis + 1) * 131u +
                    (unsigned)(op->param + 1) * 17u + (unsigned)(op->dim + 1) * 257u;
    for (int i = 0; i < op->operand_count; i++)
        hash = hash * 1099511628211u + (unsigned)op->operands[i]->id;
    return (unsigned)(hash >> 7) % 256;
}

static bool are_equal(const struct ir_op *a, const struct ir_op *b) {
    if (a->code != b->code || a->operand_count != b->operand_count || a->integer != b->integer ||
        memcmp(&a->number, &b->number, sizeof a->number) || a->axis != b->axis || a->param != b->param ||
        a->dim != b->dim || a->over != b->over || a->reduction != b->reduction || a->predicated != b->predicated ||
        a->staged != b->staged || a->rough != b->rough)
        return false;
    if (a->results[0]->type != b->results[0]->type || a->results[0]->axes != b->results[0]->axes ||
        a->results[0]->partial != b->results[0]->partial)
        return false;
    for (int i = 0; i < a->operand_count; i++)
        if (a->operands[i] != b->operands[i])
            return false;
    return true;
}

static bool may_share(const struct simplifier *simplifier, const struct ir_op *op) {
    if (op->result_count != 1 || op->region_count || op->code == OP_BROADCAST)
        return false;
    if (op->code == OP_LOAD)
        return !simplifier->stored[op->param];
    return ir_ops[op->code].flags & F_PURE;
}

// What these give depends on the points that are active where they stand: a reduction in an `if` isn't the one around it.
static bool depends_on_place(const struct ir_op *op) {
    return op->code == OP_REDUCE || op->code == OP_SCAN || op->code == OP_DOT || op->code == OP_UPDATE;
}

struct scope {
    int count, capacity;
    struct ir_op **ops;
};

static struct ir_op *find_equal(const struct scope *scopes, const struct ir_op *op) {
    const struct scope *bucket = &scopes[hash_op(op)];
    for (int i = bucket->count; i-- > 0;)
        if (are_equal(bucket->ops[i], op) && (!depends_on_place(op) || bucket->ops[i]->parent == op->parent))
            return bucket->ops[i];
    return NULL;
}

// ---------------------------------------------------------------------------------------------- the walk

static void inline_branch(struct simplifier *simplifier, struct ir_op *op, bool taken) {
    struct ir_kernel *kernel = simplifier->kernel;
    struct ir_region *region = op->regions[taken ? 0 : 1];
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(kernel, region->args[i], op->operands[1 + i]);
    while (region->first != region->last)
        ir_move_before(region->first, op);
    for (int i = 0; i < op->result_count; i++)
        ir_replace_uses(kernel, op->results[i], region->last->operands[i]);
    ir_remove(op);
    simplifier->changed = true;
}

// What comes in an operation's place must be on the same axes: for each point of these an atomic happens once (`n[t * 0]`),
// and variables are carried on them.
static bool simplify_value(struct simplifier *simplifier, struct ir_op *op) {
    struct ir_builder builder = builder_before(simplifier->kernel, op);
    struct ir_value *value = neutral(op);
    if (value && value->type == op->results[0]->type && !value->partial && !op->results[0]->partial &&
        value->axes == op->results[0]->axes) {
        replace(simplifier, op, value);
        return true;
    }
    if (op->code == OP_BROADCAST || op->results[0]->partial)
        return false;
    struct ir_value *constant = fold_constant(&builder, op, op->operands);
    if (constant)
        replace(simplifier, op, constant);
    return constant != NULL;
}

static void simplify_region(struct simplifier *simplifier, struct ir_region *region, struct scope *scopes);

static void simplify_below(struct simplifier *simplifier, struct ir_op *op, struct scope *scopes) {
    for (int r = 0; r < op->region_count; r++) {
        int counts[256];
        for (int i = 0; i < 256; i++)
            counts[i] = scopes[i].count;
        simplify_region(simplifier, op->regions[r], scopes);
        for (int i = 0; i < 256; i++)
            scopes[i].count = counts[i];
    }
}

static void simplify_op(struct simplifier *simplifier, struct ir_op *op, struct scope *scopes) {
    if (op->code == OP_IF && is_constant(op->operands[0])) {
        inline_branch(simplifier, op, op->operands[0]->def->integer != 0);
        return;
    }
    if (op->result_count == 1 && (ir_ops[op->code].flags & F_ELEMENTWISE) && simplify_value(simplifier, op))
        return;
    if (may_share(simplifier, op)) {
        struct ir_op *equal = find_equal(scopes, op);
        if (equal) {
            replace(simplifier, op, equal->results[0]);
            return;
        }
        struct scope *bucket = &scopes[hash_op(op)];
        ARENA_PUSH(simplifier->context->arena, bucket->ops, bucket->count, bucket->capacity, op);
    }
    simplify_below(simplifier, op, scopes);
}

static void simplify_region(struct simplifier *simplifier, struct ir_region *region, struct scope *scopes) {
    for (struct ir_op *op = region->first, *next; op; op = next) {
        struct ir_op *previous = op->previous;
        next = op->next;
        bool branch = op->code == OP_IF && is_constant(op->operands[0]);
        simplify_op(simplifier, op, scopes);
        if (branch)  // what came in its place is visited too
            next = previous ? previous->next : region->first;
    }
}

// ---------------------------------------------------------------------------------------------- what nothing uses

static bool is_removable(const struct ir_op *op) {
    if (op->code == OP_FOR || op->code == OP_RANGE || op->code == OP_IF) {
        for (int r = 0; r < op->region_count; r++)
            for (const struct ir_op *inner = op->regions[r]->first; inner; inner = inner->next)
                if (inner->code != OP_YIELD && !is_removable(inner))
                    return false;
        return true;
    }
    return op->code == OP_LOAD || (ir_ops[op->code].flags & F_PURE);
}

static bool sweep(struct ir_region *region, int *uses) {
    bool changed = false;
    for (struct ir_op *op = region->last, *previous; op; op = previous) {
        previous = op->previous;
        bool used = !is_removable(op);
        for (int i = 0; i < op->result_count; i++)
            used |= uses[op->results[i]->id] > 0;
        if (used) {
            for (int r = 0; r < op->region_count; r++)
                changed |= sweep(op->regions[r], uses);
            continue;
        }
        for (int i = 0; i < op->operand_count; i++)
            uses[op->operands[i]->id]--;
        ir_remove(op);
        changed = true;
    }
    return changed;
}

bool opt_simplify(struct pass_context *context) {
    struct simplifier simplifier = {.context = context, .kernel = context->kernel};
    simplifier.stored = ARENA_ARRAY(context->arena, bool, context->kernel->param_count);
    for (int p = 0; p < context->kernel->param_count; p++)
        simplifier.stored[p] = is_stored(context->kernel, p);
    for (int round = 0; round < 8; round++) {
        simplifier.changed = false;
        struct scope *scopes = ARENA_ARRAY(context->arena, struct scope, 256);
        simplify_region(&simplifier, context->kernel->body, scopes);
        infer_axes(context->kernel);
        while (sweep(context->kernel->body, count_uses(context->arena, context->kernel)))
            simplifier.changed = true;
        if (!simplifier.changed)
            break;
    }
    return true;
}
