// SPDX-License-Identifier: Apache-2.0
// What the parts of the checker share. Private to frontend/.
//
// The checker goes once through a kernel's tree, in program order, and builds IR as it goes. An expression becomes an
// `operand`: an untyped literal, or an IR value with its type and axes. A name is a `symbol`; a `var` is a symbol whose
// IR value changes. What must be known of a whole kernel (rules about tiles and memory) is checked on the finished IR.
//
//   check.c         one kernel or a whole file: the driver
//   check_file.c    constants, functions, imports
//   check_head.c    a kernel's head: generics, parameters, dimensions, outputs
//   check_scope.c   names in scope, and what is never used
//   check_report.c  how complaints are made; texts of the source in messages
//   check_expr.c    operators, names, loads; check_fold.c: the same on literals
//   check_call.c    functions and conversions; check_reduce.c: reductions, scans, dot
//   check_stmt.c    let, var, assignment, store, atomics
//   check_loop.c    loops; check_branch.c: branches; both carry the variables they change
//   check_tiles.c   the rules of "Tiles and results"; check_memory.c those of "Memory"
#ifndef TILEC_FRONTEND_CHECK_H
#define TILEC_FRONTEND_CHECK_H

#include "frontend/ast.h"
#include "frontend/frontend.h"

// ---------------------------------------------------------------------------------------------- operands

enum operand_kind { OPERAND_ERROR, OPERAND_BOOL, OPERAND_INTEGER, OPERAND_FLOAT, OPERAND_VALUE };

struct operand {
    enum operand_kind kind;
    struct span span;
    int64_t integer;         // OPERAND_BOOL, OPERAND_INTEGER: a literal, untyped as yet
    double number;           // OPERAND_FLOAT: likewise
    struct ir_value *value;  // OPERAND_VALUE
    bool adapts;             // an i64 value made of integer literals alone (a count): takes a floating type it meets
    axes_t names;            // the axes that it names: all it is on, but for the parents that a bare jagged index brings
    axes_t needs;            // the parents of bare jagged indices in it: an index made of it must name them
};

enum kind { KIND_NONE, KIND_BOOL, KIND_INTEGER, KIND_FLOAT };

// ---------------------------------------------------------------------------------------------- symbols

enum symbol_kind { SYMBOL_LET, SYMBOL_VAR, SYMBOL_TENSOR, SYMBOL_SCALAR, SYMBOL_AXIS, SYMBOL_RANGE, SYMBOL_DIM };

// Where the value of an axis is put when it is first used: in `region`, behind `after` (NULL: at its beginning).
struct anchor {
    struct ir_region *region;
    struct ir_op *after;
};

struct symbol {
    enum symbol_kind kind;
    struct ast_name name;
    bool used;                // its value is asked for somewhere
    bool broken;              // its declaration is in error: uses are silent
    bool quiet;               // no warning if it is never used
    bool loop;                // AXIS, RANGE: the index of a loop
    int index;                // TENSOR, SCALAR: the parameter; AXIS: the axis; DIM: the dimension, -1 if it can't be known
    struct operand operand;   // LET, RANGE
    struct ir_value *value;   // VAR: what it holds now; SCALAR, DIM, AXIS: its value once it has been used
    enum ir_type type;        // VAR
    axes_t axes;              // VAR
    struct anchor anchor;     // AXIS
    struct symbol *hidden;    // the next one of its bucket
};

// ---------------------------------------------------------------------------------------------- constants and functions

enum item_state { ITEM_FRESH, ITEM_EVALUATING, ITEM_DONE };

struct item {  // a const or fn that a file sees
    const struct ast_item *ast;
    const struct ast_file *file;  // that it is written in, whose names it sees
    enum item_state state;        // of a const
    struct operand operand;
    struct item *next;            // in its bucket
};

enum { BUCKETS = 256, COMPLAINT_BUCKETS = 1024 };  // of a table of names; of the table of complaints

struct file_items {
    const struct ast_file *file;
    struct item *buckets[BUCKETS];
    struct file_items *next;
};

struct expansion {  // of a fn, at a call
    const struct item *item;
    const struct operand *arguments;
    struct span call;
    struct expansion *outer;
};

// ---------------------------------------------------------------------------------------------- the checker

// A condition on which an arm of an expression is evaluated.
struct guard {
    struct ir_value *condition;
    bool negated;
    struct ir_value *conjunction;  // with those around it, once a load has asked for it
    struct guard *outer;
};

struct assignment {
    const struct ir_op *update;
    const struct ast_stmt *stmt;
    const char *name;              // of the variable
};

struct complaint;  // a code and a place (check_report.c)

struct store {
    const struct ir_op *op;
    const struct ast_expr *place;
    axes_t names;                  // that its index names
};

struct checker {
    struct arena *arena;           // of what outlives the checker: messages. IR and scratch are in the kernel's arena
    struct diagnostics *diagnostics;
    const struct ast_file *file;
    const struct specialization *specialization;
    bool assume;                   // full axes of unknown extents get one, since only messages are asked for
    int first, errors;             // counts of diagnostics and errors before this kernel
    struct complaint **complaints; // all so far, by place
    int warnings;                  // so far

    const struct ast_kernel *ast;
    struct ir_kernel *kernel;      // NULL while constants are evaluated outside any kernel
    struct ir_builder builder;
    struct ir_op *front;           // last of the dimensions and scalars at the beginning of the body
    bool gaps;                     // statements are missing after syntax errors: unknown names may be declared there
    uint32_t *line_starts;
    int line_count, line_capacity;

    struct file_items *items;
    struct symbol *buckets[BUCKETS];
    struct symbol **symbols;       // in scope, in order of declaration
    int symbol_count, symbol_capacity;
    struct symbol **unused;        // out of scope, never used
    int unused_count, unused_capacity;

    struct expansion *expansion;   // innermost fn being expanded
    struct guard *guard;           // innermost arm
    int dead;                      // > 0: in a branch that has() rules out; its IR is thrown away
    int depth;                     // of the expression
    bool constant;                 // a const is being evaluated
    bool flooded;                  // too many operations: reported, everything else is silent

    struct assignment *assignments;
    int assignment_count, assignment_capacity;
    struct store *stores;
    int store_count, store_capacity;
};

// ---------------------------------------------------------------------------------------------- check_report.c

struct diagnostic *check_error(struct checker *checker, const char *code, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct diagnostic *check_warning(struct checker *checker, const char *code, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
const char *check_text(struct checker *checker, struct span span);  // of the source on one line, not too long
const char *check_printf(struct checker *checker, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *check_axes_text(struct checker *checker, axes_t axes);  // "`tb` and `tk`"
const char *check_axes_list(struct checker *checker, axes_t axes);  // "tb, tk"
// `expr` reduced by `name`, with a reduction by the same name that it is merged into it: "sum[tb, tk](v)".
const char *check_reduced_text(struct checker *checker, const char *name, axes_t axes, const struct ast_expr *expr);
const char *check_type_text(struct checker *checker, const struct operand *operand);  // "an i64", "a floating literal"
void check_line(struct checker *checker, struct span span);         // sets the builder's line
// The closest of the candidates offered, or NULL. Begin with zeroes.
struct nearest {
    const char *name;
    int distance;
};
void nearest_offer(struct nearest *nearest, const char *wanted, const char *candidate);
void check_sort(struct checker *checker);  // this kernel's diagnostics by place

// ---------------------------------------------------------------------------------------------- check_scope.c

struct symbol *scope_find(struct checker *checker, const char *name);
// Never NULL; reports a name that is taken.
struct symbol *scope_declare(struct checker *checker, enum symbol_kind kind, struct ast_name name);
int scope_enter(struct checker *checker);
void scope_leave(struct checker *checker, int mark);
void scope_warn_unused(struct checker *checker);  // of what left its scope without having been used
unsigned check_bucket(const char *name);
void check_unknown_name(struct checker *checker, struct ast_name name, const char *what);
struct ir_value *scope_dim(struct checker *checker, struct symbol *symbol);
struct ir_value *scope_scalar(struct checker *checker, struct symbol *symbol);
struct ir_value *scope_index(struct checker *checker, struct symbol *symbol);

// ---------------------------------------------------------------------------------------------- check_file.c

struct item *item_find(struct checker *checker, const struct ast_file *file, const char *name, enum ast_item_kind kind);
struct operand item_constant(struct checker *checker, struct item *item, struct span use);
void check_items(struct checker *checker);  // every const and fn of the file, and names given twice
void item_offer(struct checker *checker, const struct ast_file *file, enum ast_item_kind kind, const char *wanted,
                struct nearest *nearest);

// ---------------------------------------------------------------------------------------------- check_head.c

void check_head(struct checker *checker);
enum ir_type check_type(struct checker *checker, const struct ast_type *type);  // TYPE_NONE after a report
enum ir_type check_type_named(const struct checker *checker, const char *name); // generic or type; TYPE_NONE if none
const char *check_foreign_type(const char *name); // our name of a type of other languages, or NULL
bool check_number_is_constant(const struct ir_value *value);                    // no dimension, no scalar in it

// ---------------------------------------------------------------------------------------------- check_expr.c

enum { OPERANDS_MAX = 64 };

struct operand check_expr(struct checker *checker, const struct ast_expr *expr);
struct operand operand_error(struct span span);
struct operand operand_value(struct ir_value *value);
struct operand operand_integer(int64_t integer);
struct operand operand_float(double number);
struct operand operand_bool(bool truth);
bool is_literal(const struct operand *operand);
enum kind operand_kind(const struct operand *operand);
axes_t operand_axes(const struct operand *operand);
enum kind kind_of_type(enum ir_type type);
// The common kind of operands; KIND_NONE after a report. `what` is what combines them.
enum kind check_meet(struct checker *checker, int count, const struct operand *operands, const char *what);
enum ir_type check_computing_type(int count, const struct operand *operands, enum kind kind);
enum ir_type check_wider_type(int count, const struct operand *operands, enum kind kind);
// As a value of `type`; the kinds agree already. `builder.span` is what the operations are said to come from.
struct ir_value *check_value(struct checker *checker, enum ir_type type, const struct operand *operand);
// The type that an operand has by itself.
enum ir_type operand_type(const struct operand *operand);
// An expression whose value is stored in `type`: NULL after a report. `what` is where it goes ("`out`").
struct ir_value *check_stored(struct checker *checker, const struct operand *operand, enum ir_type type, const char *what);
struct operand check_binary(struct checker *checker, enum ast_operator op, struct operand a, struct operand b);
struct operand check_choice(struct checker *checker, const struct ast_expr *condition, const struct ast_expr *yes,
                            const struct ast_expr *no);
// Element-wise on values of one type each; passes names and needs on.
struct operand check_elementwise(struct checker *checker, enum ir_opcode code, enum ir_type type, int count,
                                 const struct operand *operands);
struct ir_value *check_predicate(struct checker *checker);  // of the arms around, or NULL
// A condition as a value of type bool, or a literal; OPERAND_ERROR after a report.
struct operand check_condition(struct checker *checker, const struct ast_expr *expr, const char *what);
struct access {
    const struct symbol *tensor;
    struct ir_value *indices[IR_MAX_RANK];
    axes_t names;
    axes_t axes;
};
bool check_access(struct checker *checker, const struct ast_expr *element, struct access *access);
// Expressions in a branch that has() rules out are checked, and what they build is thrown away.
struct dead_region {
    struct ir_region *region;
    struct ir_op *before;
    int axis_count, assignment_count, store_count;
};
struct dead_region dead_enter(struct checker *checker);
void dead_leave(struct checker *checker, struct dead_region around);

// ---------------------------------------------------------------------------------------------- check_fold.c

bool fold_unary(struct checker *checker, enum ast_operator op, const struct operand *a, struct operand *result);
bool fold_binary(struct checker *checker, enum ast_operator op, const struct operand *a, const struct operand *b,
                 struct operand *result);
// All operands are literals of `kind`.
struct operand fold_function(enum ir_opcode code, enum kind kind, int count, const struct operand *operands);

// ---------------------------------------------------------------------------------------------- check_call.c, check_reduce.c

struct operand check_call(struct checker *checker, const struct ast_expr *expr);
struct operand check_accum(struct checker *checker, const struct ast_expr *expr);
struct operand check_reduction(struct checker *checker, const struct ast_expr *expr);
struct operand check_member(struct checker *checker, const struct ast_expr *expr);
bool is_reduction_name(const char *name);
bool is_statement_name(const char *name);  // atomic_add, assert, print …
bool is_function_name(const char *name);   // of the language

// ---------------------------------------------------------------------------------------------- statements

void check_block(struct checker *checker, const struct ast_block *block);  // in a scope of its own
void check_statements(struct checker *checker, const struct ast_block *block);
void check_for(struct checker *checker, const struct ast_stmt *stmt);
void check_if(struct checker *checker, const struct ast_stmt *stmt);
void check_axis(struct checker *checker, const struct ast_stmt *stmt);
bool at_top(const struct checker *checker);

// The variables that an operation with regions carries.
struct carry {
    int count, capacity;
    struct symbol **symbols;
    struct ir_value **outer;  // what they held before
};
void carry_collect(struct checker *checker, const struct ast_block *block, struct carry *carry);
// Arguments of `region` for the carried variables, which hold them from now on.
struct ir_value **carry_arguments(struct checker *checker, struct ir_region *region, const struct carry *carry);
struct ir_value **carry_current(struct checker *checker, const struct carry *carry);
// Operands (from `first` on), yields and results of `op` for the variables that changed; the others are dropped.
// arguments[r] and finals[r]: of region r at its beginning and end; finals NULL: the region yields something else.
void carry_finish(struct checker *checker, struct ir_op *op, int first, const struct carry *carry, int regions,
                  struct ir_value **arguments[], struct ir_value **finals[]);

// ---------------------------------------------------------------------------------------------- rules on the finished IR

void check_tile_rules(struct checker *checker);
void check_memory_rules(struct checker *checker, bool complete);  // complete: nothing was left out after errors
bool axis_has_many_points(const struct checker *checker, int axis);  // as far as is known: more than one

#endif
