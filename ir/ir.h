// SPDX-License-Identifier: Apache-2.0
// The program as data: the one public header of ir/.
//
// A kernel is a tree of regions of operations in single assignment: loops and ifs are operations that own regions
// and carry values (no control-flow graph). Every value has an element type and a set of axes; values combine on the
// union of their axes, so no broadcast operation is needed between them. docs/ir.md has the full reference.
#ifndef TILEC_IR_IR_H
#define TILEC_IR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/arena.h"
#include "ir/diagnostic.h"
#include "ir/text.h"

// ---------------------------------------------------------------------------------------------- element types

enum ir_type { TYPE_NONE, TYPE_BOOL, TYPE_I8, TYPE_U8, TYPE_I32, TYPE_I64, TYPE_F16, TYPE_BF16, TYPE_F32, TYPE_F64, TYPE_COUNT };

const char *ir_type_name(enum ir_type type);         // "bf16"
enum ir_type ir_type_named(const char *name);        // TYPE_NONE if there is none
int ir_type_bytes(enum ir_type type);                // in memory; bool is 1
bool ir_type_is_float(enum ir_type type);
bool ir_type_is_integer(enum ir_type type);          // bool is none
enum ir_type ir_type_compute(enum ir_type type);     // i64, f32, f64: what arithmetic gives; bool for bool

// Exact conversions used on the host, by the evaluator and for .npy files. Round to nearest, ties to even.
float ir_f16_to_f32(uint16_t bits);
uint16_t ir_f16_from_f64(double value);
float ir_bf16_to_f32(uint16_t bits);
uint16_t ir_bf16_from_f64(double value);
double ir_round_to(enum ir_type type, double value);    // a floating value as `type` would hold it
int64_t ir_wrap_to(enum ir_type type, int64_t value);   // an integer as `type` would hold it
int64_t ir_integer_of(enum ir_type type, double value); // truncates, saturates, NaN gives 0

// ---------------------------------------------------------------------------------------------- operations

enum ir_rule {
    RULE_NONE,        // no result
    RULE_ANY,         // the operation's own comment says
    RULE_I64,         // gives i64
    RULE_ARITHMETIC,  // operands and result: one of i64, f32, f64
    RULE_INTEGER,     // operands and result i64
    RULE_BITS,        // operands and result i64 or bool
    RULE_FLOAT,       // operands and result f32 or f64
    RULE_SAME,        // operands and result of one type, any
    RULE_SELECT,      // bool, then two of one type, the result's
    RULE_COMPARE,     // two of one type; gives bool
    RULE_LOGIC,       // bool
    RULE_TEST,        // floating; gives bool
};

enum { F_PURE = 1, F_ELEMENTWISE = 2, F_COMMUTES = 4 };

enum ir_opcode {
#define OP(code, ...) OP_##code,
#include "ir/ops.def"
#undef OP
    OP_COUNT
};

struct ir_op_info {
    const char *name, *source;
    int arity;
    enum ir_rule rule;
    int flags;
    int precedence;
    const char *f32, *f64, *integer;
};
extern const struct ir_op_info ir_ops[OP_COUNT];
enum ir_opcode ir_function_named(const char *source);  // element-wise function or OP_COUNT; not operators

enum ir_reduction { RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_ANY, RED_ALL, RED_ARGMAX, RED_ARGMIN, RED_COUNT };
const char *ir_reduction_name(enum ir_reduction reduction);  // "sum"

typedef uint64_t axes_t;  // bit i: axis i of the kernel
#define AXIS_BIT(axis) ((axes_t)1 << (axis))
enum { IR_MAX_AXES = 64, IR_MAX_RANK = 8 };

struct ir_op;
struct ir_region;

struct ir_value {
    int id;              // printed as %id; unique in the kernel
    enum ir_type type;
    axes_t axes;         // parents of jagged axes included
    struct ir_op *def;   // the defining operation; for a region's argument the operation that owns the region
    struct ir_region *region;  // set if this is a region's argument
    int index;           // which result, or which argument
    const char *name;    // from the source, or NULL
    // Set by lowering, meaningless before (lowering/lowering.h says what they mean).
    bool narrow;         // an i64 that may be computed in 32 bits
    axes_t partial;      // axes over whose lanes and warps this is a partial result of a reduction
};

// One struct for all operations. Which attribute an operation uses:
//   CONST      integer (bool, integer types) or number (floating types)
//   DIM        dim                       a dimension, a number
//   SCALAR     param                     a scalar parameter, a number
//   INDEX      axis                      the position on the axis, on the axis and its parents
//   BEGIN END ID   axis                  of the present tile; on the axis's parents. SIZE: a number
//   LOAD       param, predicated         operands: one index per dimension, then the predicate if predicated.
//                                        Where the predicate is false nothing is read and the value is 0.
//                                        staged (lowered): the tile goes to shared memory, for MMA alone; ahead: as
//                                        many turns of the loop before its own
//   STORE      param, predicated         operands: indices, value, then the predicate. Value has the tensor's type.
//   ATOMIC     param, reduction (SUM, MAX, MIN), predicated   as STORE
//   ARRIVE     param                     lowered; operands: indices. Adds 1 to the element and gives what it was before, a
//                                        number. Whoever sees that it came sees all that the block stored before.
//   AWAIT      param                     lowered; operands: indices, least. Waits until the element is so large.
//   FETCH      param, integer            lowered; operands: position, count. Begins a copy of so many elements of the tensor of
//                                        rank 1, from the position on, into the block's part of the local tensor `integer`, and
//                                        waits for nothing. Once for each local tensor; both places and the bytes are multiples
//                                        of 16. All threads of the block come by.
//   FETCHED    integer                   lowered; waits until the copy into this local tensor is there, for this thread. Every
//                                        thread that loads from it comes by before, and all come by before the block ends.
//   REDUCE     reduction, over, predicated    operand: value (then predicate). Result: the value's type, on the axes of
//                                        note [what a reduction stays on]; ARGMAX, ARGMIN give i64, the index on the one axis.
//   SCAN       reduction (SUM PROD MAX MIN), over (one axis), predicated   inclusive, along one axis
//   DOT        over, predicated          operands a, b: the sum over `over` of their product, in the computing type
//   MMA        over (one axis)           operands a, b, c: c + the sum over `over` of a * b on the matrix units, in f32. a is
//                                        on rows, and staged or a value of b's type, or an f32 one that is rounded to it; b is on
//                                        columns and staged, of f16, bf16, or f32, which the units round to tf32. Lowered programs only
//   CAST       to the result's type
//   BROADCAST  the result has more axes than the operand (the start value of a `var`; rounds to the type)
//   UPDATE     operands old, new: new at points of old's axes over which an active point lies, else old.
//              This is what an assignment is; the result has old's type and axes.
//   FOR        axis, param (lowered, at the top: its first element counts the blocks that have begun, and a block's
//              number is that of its beginning; else -1); operands lo, hi, then the values carried in. regions[0]: body, arguments and yields = carried.
//              regions[1], if there: the `while` condition, arguments = carried, yields one bool; it is looked at before
//              each tile. Results: the values carried out.
//   RANGE      operands lo, hi, then carried. regions[0] arguments: the index (i64, a number), then carried.
//   IF         operands condition, then carried. regions[0] and [1] (always there, perhaps empty) have the carried
//              values as arguments: the first those carried in, the second what the first yields; results are what
//              the second yields. Each runs at the active points where the condition holds, or does not.
//   YIELD      ends a region; operands: what it yields
//
// note [what a reduction stays on]: the axes of its operands and the parents of `over`, and of the conditions around it
// (IF, while) that look at an axis of `over`, since which points are active depends on them; without `over`. So
// sum[tk](1) is on the parents of tk, and under `if tk <= tq` on tq as well. ir_reduce, ir_scan (which keeps its axis)
// and ir_dot work this out; a predicate makes the condition explicit, and conditions around no longer count.
//
// ir_op_new makes an operation's regions too, empty and owned by it.
//   ASSERT     text                      PRINT: text, predicated (lowered: then the predicate follows the value)
struct ir_op {
    enum ir_opcode code;
    struct ir_op *previous, *next;
    struct ir_region *parent;
    int operand_count, result_count, region_count;
    struct ir_value **operands;
    struct ir_value **results;
    struct ir_region **regions;
    int64_t integer;
    double number;
    int param, dim, axis;
    axes_t over;
    enum ir_reduction reduction;
    bool predicated, staged;
    bool moments;      // lowering: a FOR that carries count, sum and squares, a REDUCE that is part of one
    bool rough;        // EXP, SIGMOID, SILU, DIV: an approximation does (lowered)
    int ahead;         // of a staged LOAD: turns of the loop around it that it is copied ahead
    int map;           // of a staged LOAD that warps of their own copy: 1 + the number of its tensor's map (lowered)
    const char *text;
    struct span span;  // the expression
    int line;          // of the statement in the kernel's own source, from 1; 0 if none
};

struct ir_region {
    struct ir_op *first, *last;
    struct ir_op *owner;  // NULL for a kernel's body
    int arg_count;
    struct ir_value **args;
};

// ---------------------------------------------------------------------------------------------- kernels

enum ir_axis_kind { AXIS_TILE, AXIS_JAGGED, AXIS_FULL };

struct ir_axis {
    const char *name;  // as written; loops of one name in a kernel are several axes of that name
    enum ir_axis_kind kind;
    axes_t parents;            // of a jagged axis, their parents included; else 0
    struct ir_value *lo, *hi;  // the domain [lo, hi): numbers, or values on `parents`
    struct ir_op *loop;        // NULL for a full axis
    bool ordered;              // tiles are neighbouring points in ascending order (language.md, "Tiles and results")
    struct span span;
};

// The largest value of a dimension at launch: no address space holds more elements.
#define DIMENSION_MOST ((int64_t)1 << 47)

struct ir_dim {
    const char *name;
    bool is_static;
    int64_t value;      // if static
    // Where it is learnt: extent `position` of parameter `param` is scale * dim + offset.
    int param, position;
    int64_t scale, offset;
    struct span span;
};

// Workspace tensors are made by lowering: the runtime allocates them for the time of a run, with any contents. Of a local
// one each block has its own part, for the time of the block; its first index is the block's.
enum ir_param_kind { PARAM_IN, PARAM_INOUT, PARAM_OUT, PARAM_SCALAR, PARAM_WORKSPACE };

struct ir_param {
    const char *name;
    enum ir_param_kind kind;
    enum ir_type type;
    int rank;
    struct ir_value *extents[IR_MAX_RANK];  // numbers computed in the kernel's body from dims, scalars and constants
    const char *extent_text[IR_MAX_RANK];   // as written: "B + 1"
    bool local;                             // PARAM_WORKSPACE
    bool optional, present;                 // an absent optional parameter is never named in the body
    struct ir_value *fill;                  // PARAM_OUT: a number of the tensor's type, or NULL
    bool has_default;                       // PARAM_SCALAR
    int64_t default_integer;
    double default_number;
    struct span span;
};

struct ir_kernel {
    struct arena *arena;
    const char *name;
    const struct source *source;
    struct span span;
    // How this specialization was asked for: "T=f32", for heads and keys.
    int generic_count;
    const char **generic_names;
    enum ir_type *generic_types;
    int param_count, param_capacity;
    struct ir_param *params;
    int dim_count, dim_capacity;
    struct ir_dim *dims;
    int axis_count;
    struct ir_axis axes[IR_MAX_AXES];
    struct ir_region *body;  // first the numbers of the parameters' extents and fills, then the statements
    int value_count;         // ids given out
    // Jagged loops are dense ones with guards by now (lowering): BEGIN is a number for every axis, an axis may keep
    // parents without being jagged, a reduction may be over no axis or of a partial result, and i32 may stand for i64.
    bool lowered;
};

// ---------------------------------------------------------------------------------------------- building (builder.c, edit.c)

// Operations are put before `before` in `region`, or at its end if `before` is NULL.
struct ir_builder {
    struct ir_kernel *kernel;
    struct ir_region *region;
    struct ir_op *before;
    struct span span;
    int line;
};

struct ir_kernel *ir_kernel_new(struct arena *arena, const char *name);
struct ir_region *ir_region_new(struct ir_kernel *kernel, struct ir_op *owner);
struct ir_value *ir_region_arg(struct ir_kernel *kernel, struct ir_region *region, enum ir_type type, axes_t axes, const char *name);
int ir_axis_new(struct ir_kernel *kernel, const char *name, enum ir_axis_kind kind, axes_t parents);  // -1: too many
int ir_param_new(struct ir_kernel *kernel, struct ir_param param);
int ir_dim_new(struct ir_kernel *kernel, struct ir_dim dim);

// The general way: an operation with operands and regions to be set by the caller. Not yet in a region.
struct ir_op *ir_op_new(struct ir_builder *builder, enum ir_opcode code, int operands, int results, int regions);
void ir_insert(struct ir_builder *builder, struct ir_op *op);
struct ir_value *ir_result(struct ir_kernel *kernel, struct ir_op *op, int index, enum ir_type type, axes_t axes);

// Shorthands: build, type and insert. Element-wise results have the union of the operands' axes.
struct ir_value *ir_integer(struct ir_builder *builder, enum ir_type type, int64_t value);
struct ir_value *ir_number(struct ir_builder *builder, enum ir_type type, double value);
struct ir_value *ir_elementwise(struct ir_builder *builder, enum ir_opcode code, int count, struct ir_value *const *operands);
struct ir_value *ir_unary(struct ir_builder *builder, enum ir_opcode code, struct ir_value *a);
struct ir_value *ir_binary(struct ir_builder *builder, enum ir_opcode code, struct ir_value *a, struct ir_value *b);
struct ir_value *ir_select(struct ir_builder *builder, struct ir_value *c, struct ir_value *a, struct ir_value *b);
struct ir_value *ir_cast(struct ir_builder *builder, enum ir_type type, struct ir_value *a);  // a itself if it has the type
struct ir_value *ir_broadcast(struct ir_builder *builder, axes_t axes, struct ir_value *a);
struct ir_value *ir_update(struct ir_builder *builder, struct ir_value *old, struct ir_value *value);
struct ir_value *ir_axis_value(struct ir_builder *builder, enum ir_opcode code, int axis);  // INDEX BEGIN END SIZE ID
struct ir_value *ir_dim_value(struct ir_builder *builder, int dim);
struct ir_value *ir_scalar_value(struct ir_builder *builder, int param);
// `predicate` may be NULL in each of these.
struct ir_value *ir_load(struct ir_builder *builder, int param, struct ir_value *const *indices, struct ir_value *predicate);
void ir_store(struct ir_builder *builder, int param, struct ir_value *const *indices, struct ir_value *value, struct ir_value *predicate);
void ir_atomic(struct ir_builder *builder, enum ir_reduction reduction, int param, struct ir_value *const *indices,
               struct ir_value *value, struct ir_value *predicate);
struct ir_value *ir_reduce(struct ir_builder *builder, enum ir_reduction reduction, axes_t over, struct ir_value *a, struct ir_value *predicate);
struct ir_value *ir_scan(struct ir_builder *builder, enum ir_reduction reduction, int axis, struct ir_value *a, struct ir_value *predicate);
struct ir_value *ir_dot(struct ir_builder *builder, axes_t over, struct ir_value *a, struct ir_value *b, struct ir_value *predicate);
void ir_yield(struct ir_builder *builder, int count, struct ir_value *const *values);

// Editing.
void ir_remove(struct ir_op *op);                                   // from its region; uses must be gone
void ir_move_before(struct ir_op *op, struct ir_op *before);
void ir_replace_uses(struct ir_kernel *kernel, struct ir_value *old, struct ir_value *value);  // everywhere, params and axes too
// A deep copy in `arena`: passes work on a copy of the checked kernel.
struct ir_kernel *ir_kernel_clone(struct arena *arena, const struct ir_kernel *kernel);
// Copies an operation with its regions, mapping operands through `map` (indexed by value id; NULL entries stay),
// and enters the copies of its results there. `map` must have room for every id given out, clones included:
// use ir_map_new before a series of clones.
struct ir_map {
    struct ir_value **values;
    int capacity;
};
struct ir_map *ir_map_new(struct ir_kernel *kernel);
struct ir_value *ir_map_get(const struct ir_map *map, struct ir_value *value);  // itself if not mapped
void ir_map_set(struct ir_kernel *kernel, struct ir_map *map, const struct ir_value *from, struct ir_value *to);
struct ir_op *ir_op_clone(struct ir_builder *builder, const struct ir_op *op, struct ir_map *map);  // inserted

// ---------------------------------------------------------------------------------------------- looking (print.c, verify.c, number.c)

void ir_print(struct text *out, const struct ir_kernel *kernel);
void ir_print_op(struct text *out, const struct ir_kernel *kernel, const struct ir_op *op);  // one line, without regions
void ir_print_axes(struct text *out, const struct ir_kernel *kernel, axes_t axes);           // "{tb, tk}"
// Complaints, one a line with the operation they are about; true if there are none.
bool ir_verify(const struct ir_kernel *kernel, struct text *complaints);
// The op table as text, for `tilec --list-ops`.
void ir_list_ops(struct text *out);

axes_t ir_axis_closure(const struct ir_kernel *kernel, int axis);  // the axis and its parents

// Numbers that the host can work out: computed from constants, dimensions and scalars alone.
bool ir_is_host_number(const struct ir_value *value);
struct ir_scalar {  // a number of any type: integer for bool and integers, number for floating types
    int64_t integer;
    double number;
};
struct ir_bindings {
    const int64_t *dims;            // by dim index; static dims too
    const struct ir_scalar *params; // by param index; only PARAM_SCALAR entries are read
};
struct ir_scalar ir_evaluate_number(const struct ir_value *value, const struct ir_bindings *bindings);
// The same of an integer; false where a step of it doesn't fit its type, so that the number is another one.
bool ir_evaluate_integer(const struct ir_value *value, const struct ir_bindings *bindings, int64_t *number);

// ---------------------------------------------------------------------------------------------- the reference evaluator (evaluate*.c)

struct ir_tensor {
    enum ir_type type;
    int rank;
    int64_t shape[IR_MAX_RANK];
    void *data;  // dense, row-major, elements as in memory (f16 and bf16: 2 bytes); the caller's
};

enum ir_cut { CUT_WHOLE, CUT_ONE, CUT_TWO, CUT_THREE, CUT_RANDOM, CUT_SHUFFLED, CUT_COUNT };
const char *ir_cut_name(enum ir_cut cut);

struct ir_evaluation {
    struct ir_bindings bindings;
    struct ir_tensor *tensors;  // by param index; absent and scalar entries have data NULL. Outputs are written here.
    enum ir_cut cut;
    uint64_t seed;              // for CUT_RANDOM and CUT_SHUFFLED
    int64_t step_limit;         // operations at points before it gives up; 0: none
    // Rows (points of the first top-level loop's first axis) to run; NULL: all. For checks of large inputs.
    const bool *rows;
    // By param index, or NULL: for every element of a floating output, how far off it may be where a right program computes
    // in its types, in an order of its own; the caller zeroes them. An entry may be NULL: not asked for, and nothing known.
    double *const *errors;
    bool tf32;                  // for `errors`: factors of f32 in a `dot` may be rounded to tf32
    // Out
    int64_t steps;
    struct text *printed;       // what `print` said, or NULL
};

// Runs a checked (not lowered) kernel straight from the language's definition: active points, no masks, no lanes, no
// config. Floating values are f64; conversions, stores and declared `var`s round to their types; integers wrap.
// Outputs with a fill are filled first; other elements of outputs keep what the caller put there.
// Not ok: an index outside a tensor, a failed assert, the step limit, out of memory; with the place in the program.
struct status ir_evaluate(const struct ir_kernel *kernel, struct ir_evaluation *evaluation, struct arena *arena);

#endif
