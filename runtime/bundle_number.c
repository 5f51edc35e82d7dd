// SPDX-License-Identifier: Apache-2.0
// In: a number that the host can work out (ir/number.c). Out: a C expression that gives the same.
#include <string.h>

#include "runtime/bundle.h"

const char *bundle_name(struct arena *arena, const char *name)
{
    static const char *const taken[] = {
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for", "goto",
        "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch",
        "typedef", "union", "unsigned", "void", "volatile", "while", "bool", "class", "delete", "new", "operator", "private", "protected",
        "public", "template", "this", "throw", "try", "using", "virtual", "workspace", "workspace_bytes", "longest"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0) return arena_printf(arena, "%s_", name);
    return name;
}

// Operations of one, two or three whole numbers, as helpers of bundle/support.c or as C has them.
static const char *operation(struct arena *arena, enum ir_opcode code, const char *const *in)
{
    const char *a = in[0], *b = in[1], *c = in[2];
    switch (code) {
    case OP_ADD: return arena_printf(arena, "bundle_plus(%s, %s)", a, b);
    case OP_SUB: return arena_printf(arena, "bundle_minus(%s, %s)", a, b);
    case OP_MUL: return arena_printf(arena, "bundle_product(%s, %s)", a, b);
    case OP_DIV: return arena_printf(arena, "bundle_quotient(%s, %s)", a, b);
    case OP_CDIV: return arena_printf(arena, "bundle_quotient_up(%s, %s)", a, b);
    case OP_MOD: return arena_printf(arena, "bundle_rest(%s, %s)", a, b);
    case OP_MIN: return arena_printf(arena, "bundle_least(%s, %s)", a, b);
    case OP_MAX: return arena_printf(arena, "bundle_greatest(%s, %s)", a, b);
    case OP_NEG: return arena_printf(arena, "bundle_minus(0, %s)", a);
    case OP_CLAMP: return arena_printf(arena, "bundle_least(bundle_greatest(%s, %s), %s)", a, b, c);
    case OP_EQ: return arena_printf(arena, "(%s == %s)", a, b);
    case OP_NE: return arena_printf(arena, "(%s != %s)", a, b);
    case OP_LT: return arena_printf(arena, "(%s < %s)", a, b);
    case OP_LE: return arena_printf(arena, "(%s <= %s)", a, b);
    case OP_GT: return arena_printf(arena, "(%s > %s)", a, b);
    case OP_GE: return arena_printf(arena, "(%s >= %s)", a, b);
    case OP_LAND: return arena_printf(arena, "(%s && %s)", a, b);
    case OP_LOR: return arena_printf(arena, "(%s || %s)", a, b);
    case OP_LNOT: return arena_printf(arena, "!%s", a);
    case OP_SELECT: return arena_printf(arena, "(%s ? %s : %s)", a, b, c);
    case OP_BROADCAST: return a;
    default: return NULL;
    }
}

static const char *cast_of(struct arena *arena, enum ir_type to, const char *text)
{
    switch (to) {
    case TYPE_I64: return text;
    case TYPE_I32: return arena_printf(arena, "(int64_t)(int32_t)%s", text);
    default: return NULL;
    }
}

static const char *number(struct arena *arena, const struct ir_kernel *kernel, const struct ir_value *value, int depth)
{
    const struct ir_op *op = value->region ? NULL : value->def;
    const char *in[3] = {"", "", ""};
    if (!op || depth == 0 || ir_type_is_float(value->type)) return NULL;
    if (op->code == OP_CONST) return arena_printf(arena, "INT64_C(%lld)", (long long)op->integer);
    if (op->code == OP_DIM) return arena_printf(arena, "args->%s", bundle_name(arena, kernel->dims[op->dim].name));
    if (op->code == OP_SCALAR) return arena_printf(arena, "(int64_t)args->%s", bundle_name(arena, kernel->params[op->param].name));
    if (op->operand_count < 1 || op->operand_count > 3) return NULL;
    for (int i = 0; i < op->operand_count; i++)
        if (!(in[i] = number(arena, kernel, op->operands[i], depth - 1))) return NULL;
    return op->code == OP_CAST ? cast_of(arena, value->type, in[0]) : operation(arena, op->code, in);
}

const char *bundle_number(struct arena *arena, const struct ir_kernel *kernel, const struct ir_value *value)
{
    return number(arena, kernel, value, 24);
}
