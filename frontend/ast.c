// SPDX-License-Identifier: Apache-2.0
// Facts about the tree that more than one reader needs.
#include "frontend/ast.h"

const char *ast_operator_text(enum ast_operator op)
{
    static const char *const texts[] = {
        [OPERATOR_ADD] = "+",   [OPERATOR_SUB] = "-",  [OPERATOR_MUL] = "*",  [OPERATOR_DIV] = "/",  [OPERATOR_MOD] = "%",
        [OPERATOR_AND] = "&",   [OPERATOR_OR] = "|",   [OPERATOR_XOR] = "^",  [OPERATOR_SHL] = "<<", [OPERATOR_SHR] = ">>",
        [OPERATOR_LAND] = "&&", [OPERATOR_LOR] = "||", [OPERATOR_EQ] = "==",  [OPERATOR_NE] = "!=",  [OPERATOR_LT] = "<",
        [OPERATOR_LE] = "<=",   [OPERATOR_GT] = ">",   [OPERATOR_GE] = ">=",  [OPERATOR_NEG] = "-",  [OPERATOR_NOT] = "~",
        [OPERATOR_LNOT] = "!",
    };
    return texts[op];
}
