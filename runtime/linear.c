// SPDX-License-Identifier: Apache-2.0
// In: a host number, as an extent is. Out: scale * dim + offset, if it is of that form. It tells a dimension from a shape,
// and is what a launch works out without walking the program.
#include "runtime/data.h"

static struct linear linear_at(const struct ir_value *value, int depth)
{
    struct linear none = {0}, a, b;
    if (!value || value->region || depth > 20) return none;
    const struct ir_op *op = value->def;
    if (op->code == OP_CONST) return (struct linear){true, -1, 0, op->integer};
    if (op->code == OP_DIM) return (struct linear){true, op->dim, 1, 0};
    if (op->code == OP_CAST) return linear_at(op->operands[0], depth + 1);
    if (op->code != OP_ADD && op->code != OP_SUB && op->code != OP_MUL) return none;
    a = linear_at(op->operands[0], depth + 1);
    b = linear_at(op->operands[1], depth + 1);
    if (!a.ok || !b.ok || (a.dim >= 0 && b.dim >= 0)) return none;
    bool overflow = false;
    struct linear result = {true, a.dim >= 0 ? a.dim : b.dim, 0, 0};
    if (op->code == OP_MUL) {
        overflow |= __builtin_mul_overflow(a.dim >= 0 ? a.scale : b.scale, a.dim >= 0 ? b.offset : a.offset, &result.scale);
        overflow |= __builtin_mul_overflow(a.offset, b.offset, &result.offset);
    } else if (op->code == OP_ADD) {
        result.scale = a.scale + b.scale;
        overflow |= __builtin_add_overflow(a.offset, b.offset, &result.offset);
    } else {
        overflow |= __builtin_sub_overflow(a.scale, b.scale, &result.scale);
        overflow |= __builtin_sub_overflow(a.offset, b.offset, &result.offset);
    }
    result.ok = !overflow && (result.dim < 0 || result.scale != 0);
    return result;
}

struct linear linear_of(const struct ir_value *value)
{
    return linear_at(value, 0);
}
