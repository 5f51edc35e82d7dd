// SPDX-License-Identifier: Apache-2.0
// The op table as data. In: ops.def. Out: ir_ops, look-ups by source name, the table as text.
#include <ctype.h>
#include <string.h>

#include "ir/ir.h"

const struct ir_op_info ir_ops[OP_COUNT] = {
#define OP(code, name, source, arity, rule, flags, precedence, f32, f64, integer) \
    [OP_##code] = {name, source, arity, rule, flags, precedence, f32, f64, integer},
#include "ir/ops.def"
#undef OP
};

static const char *const rule_names[] = {
    [RULE_NONE] = "none",       [RULE_ANY] = "any",         [RULE_I64] = "i64",     [RULE_ARITHMETIC] = "arithmetic",
    [RULE_INTEGER] = "integer", [RULE_BITS] = "bits",       [RULE_FLOAT] = "float", [RULE_SAME] = "same",
    [RULE_SELECT] = "select",   [RULE_COMPARE] = "compare", [RULE_LOGIC] = "logic", [RULE_TEST] = "test",
};

static const char *const reduction_names[RED_COUNT] = {
    [RED_SUM] = "sum", [RED_PROD] = "prod", [RED_MAX] = "max",       [RED_MIN] = "min",
    [RED_ANY] = "any", [RED_ALL] = "all",   [RED_ARGMAX] = "argmax", [RED_ARGMIN] = "argmin",
};

const char *ir_reduction_name(enum ir_reduction reduction) {
    return reduction_names[reduction];
}

enum ir_opcode ir_function_named(const char *source) {
    for (int code = 0; code < OP_COUNT; code++) {
        const struct ir_op_info *info = &ir_ops[code];
        bool is_function = (info->flags & F_ELEMENTWISE) && isalpha((unsigned char)info->source[0]);
        if (is_function && strcmp(info->source, source) == 0)
            return (enum ir_opcode)code;
    }
    return OP_COUNT;
}

void ir_list_ops(struct text *out) {
    text_printf(out, "%-10s %-8s %5s %-11s %s\n", "op", "source", "arity", "types", "flags");
    for (int code = 0; code < OP_COUNT; code++) {
        const struct ir_op_info *info = &ir_ops[code];
        text_printf(out, "%-10s %-8s ", info->name, info->source[0] ? info->source : "-");
        if (info->arity < 0)
            text_printf(out, "%5s ", "any");
        else
            text_printf(out, "%5d ", info->arity);
        text_printf(out, "%-11s%s%s%s\n", rule_names[info->rule], info->flags & F_PURE ? " pure" : "",
                    info->flags & F_ELEMENTWISE ? " elementwise" : "", info->flags & F_COMMUTES ? " commutes" : "");
    }
}
