// SPDX-License-Identifier: Apache-2.0
// The tree that the parser builds and the checker reads. Nothing in it is resolved: names are text.
// A construct in error is a node of kind *_ERROR and stays silent from then on.
#ifndef TILEC_FRONTEND_AST_H
#define TILEC_FRONTEND_AST_H

#include "ir/ir.h"

struct ast_name {  // an identifier where it stands
    const char *text;
    struct span span;
};

// Lists grow while the parser builds them; readers look at count and items only.
struct ast_names {
    int count, capacity;
    struct ast_name *items;
};

// What a tree may hold at most; more is reported as an error while it is built.
enum { AST_BRACKET_DEPTH = 200, AST_EXPR_DEPTH = 1000, AST_STMT_DEPTH = 200 };

enum ast_expr_kind {
    EXPR_NAME,       // name
    EXPR_INTEGER,    // integer (as u64 bits; `overflow` if it didn't fit in i64)
    EXPR_FLOAT,      // number; also inf and nan
    EXPR_BOOL,       // integer 0 or 1
    EXPR_STRING,     // text, without its quotes
    EXPR_UNARY,      // op, args[0]
    EXPR_BINARY,     // op, args[0], args[1]
    EXPR_CONDITIONAL,// args[0] ? args[1] : args[2]
    EXPR_CALL,       // name(args); also conversions f32(n), T(p)
    EXPR_ACCUM,      // accum(name)(args[0])
    EXPR_ELEMENT,    // name[args]
    EXPR_REDUCTION,  // name[over](args): reductions, scans, dot
    EXPR_MEMBER,     // name.member
    EXPR_ERROR,
};

struct ast_exprs {
    int count, capacity;
    struct ast_expr **items;
};

enum ast_operator {  // of unary and binary expressions
    OPERATOR_ADD, OPERATOR_SUB, OPERATOR_MUL, OPERATOR_DIV, OPERATOR_MOD, OPERATOR_AND, OPERATOR_OR, OPERATOR_XOR,
    OPERATOR_SHL, OPERATOR_SHR, OPERATOR_LAND, OPERATOR_LOR, OPERATOR_EQ, OPERATOR_NE, OPERATOR_LT, OPERATOR_LE,
    OPERATOR_GT, OPERATOR_GE, OPERATOR_NEG, OPERATOR_NOT /* ~ */, OPERATOR_LNOT /* ! */
};
const char *ast_operator_text(enum ast_operator op);  // "<<"

struct ast_expr {
    enum ast_expr_kind kind;
    struct span span;
    struct ast_name name;
    struct ast_name member;
    enum ast_operator op;
    int64_t integer;
    bool overflow;
    double number;
    const char *text;
    struct ast_exprs over;
    struct ast_exprs args;
    int depth;  // 1 for a leaf; at most AST_EXPR_DEPTH, so that walks may recurse
};

struct ast_type {   // NAME or accum(NAME)
    bool accum;
    struct ast_name name;
};

struct ast_tensor { // type and shape (or axes, behind var); has_shape false: a scalar, or a var without axes
    struct span span;
    struct ast_type type;
    bool has_shape;
    struct ast_exprs shape;
};

enum ast_stmt_kind { STMT_AXIS, STMT_LET, STMT_VAR, STMT_ASSIGN, STMT_EXPR, STMT_FOR, STMT_IF, STMT_ERROR };
enum ast_assign { ASSIGN_SET, ASSIGN_ADD, ASSIGN_SUB, ASSIGN_MUL, ASSIGN_DIV };

struct ast_block {
    struct span span;  // braces included
    int count, capacity;
    int depth;  // of the deepest statement in it; at most AST_STMT_DEPTH
    struct ast_stmt **items;
};

struct ast_stmt {
    enum ast_stmt_kind kind;
    struct span span;
    struct ast_name name;        // axis, let, var
    struct ast_tensor tensor;    // var
    struct ast_expr *value;      // axis, let, var, assign (right side), expr; if: the condition
    struct ast_expr *place;      // assign: the left side
    enum ast_assign assign;
    struct ast_names targets;    // for
    bool targets_in_parentheses; // for (i) in …, for (i, j) in …
    struct ast_name domain;      // for: tile, jagged_tile, range
    struct ast_exprs bounds;
    struct span domain_span;     // tile(m, n)
    struct ast_expr *condition;  // for … while: or NULL
    struct ast_block body;       // for, if
    struct ast_block otherwise;  // if; `else if` is a block of one STMT_IF
    bool has_else;
};

enum ast_param_mode { MODE_IN, MODE_INOUT, MODE_OPTIONAL, MODE_OUT };

struct ast_param {
    struct ast_name name;
    struct span span;
    enum ast_param_mode mode;
    struct ast_tensor tensor;
    struct ast_expr *value;  // default of a scalar, fill of an output, or NULL
};

struct ast_generic {
    struct ast_name name, kind;  // T: float
    bool has_default;
    struct ast_name value;
};

struct ast_generics {
    int count, capacity;
    struct ast_generic *items;
};

struct ast_params {
    int count, capacity;
    struct ast_param *items;
};

struct ast_kernel {
    struct ast_name name;
    struct span span;  // `kernel` to the closing brace
    int generic_count, param_count, output_count;
    struct ast_generic *generics;
    struct ast_param *params;
    struct ast_param *outputs;
    struct ast_block body;
};

enum ast_item_kind { ITEM_IMPORT, ITEM_CONST, ITEM_FN, ITEM_KERNEL, ITEM_ERROR };

struct ast_item {
    enum ast_item_kind kind;
    struct span span;
    struct ast_name name;     // const, fn; import: the path as text, without its quotes
    struct ast_names params;  // fn
    struct ast_expr *value;   // const, fn
    struct ast_kernel *kernel;
    struct ast_file *import;  // filled in when imports are loaded; NULL before, or if it failed
};

struct ast_file {
    const struct source *source;
    int count, capacity;
    struct ast_item *items;
    bool failed;  // syntax errors were reported
};

// Parses one file; imports aren't loaded. Never NULL. Errors go to `diagnostics`, several per run.
struct ast_file *ast_parse(struct arena *arena, const struct source *source, struct diagnostics *diagnostics);
// The tree as stable text, for `tilec emit --ir=ast`.
void ast_print(struct text *out, const struct ast_file *file);

#endif
