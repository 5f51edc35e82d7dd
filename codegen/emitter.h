// SPDX-License-Identifier: Apache-2.0
// What the files of codegen/ share: the emitter's state, names, and the few questions each of them asks.
#ifndef TILEC_CODEGEN_EMITTER_H
#define TILEC_CODEGEN_EMITTER_H

#include "codegen/codegen.h"

// A register dimension of a value: the registers of an axis, or the elements of its vectors.
struct dim {
    int axis;
    bool vector;
    int count;
};
enum { MAX_DIMS = 12 };
struct dims {  // outermost loop first; vectors last
    int count;
    struct dim items[MAX_DIMS];
};

enum form_kind {
    FORM_UNSEEN,
    FORM_INLINE,    // its expression is written where it is used
    FORM_VARIABLE,  // a variable: an array over its dimensions, or a scalar
    FORM_LOCAL,     // a scalar inside the loops of its group
    FORM_VECTOR,    // an array over the innermost (vector) dimension inside the loops of its group
    FORM_STAGED,    // a tile in shared memory
};
struct form {
    enum form_kind kind;
    const char *name;
    bool accumulated;  // a reduction that is added to `name` right away
};

struct group {  // operations that share one nest of register loops
    struct dims dims;
    int count, capacity;
    struct ir_op **ops;
    bool alone;    // nothing may join
    bool stages;   // copies tiles to shared memory: only more such may join
};

enum part { PART_WHOLE, PART_CONSUMERS, PART_PRODUCER };  // of a launch that is being written (producer.c)

struct emitter {
    struct arena *arena;
    const struct lowered *lowered;
    const struct ir_kernel *kernel;
    bool cuda;
    const char *index_type;   // "int" or "long long"
    struct text *out;
    int indent;
    struct status status;

    int *uses;                // by value id
    struct users {
        int count;
        const struct ir_op **ops;
    } *users;                 // by value id
    struct form *forms;       // by value id
    int *group_of;            // by value id: in the segment at hand, or -1
    int group;                // that is being written
    bool *handed_on;          // by value id: the start value of something carried, and nothing else
    bool *hazards;            // by parameter: loaded and stored in the launch that is being written
    const struct ir_op **last_loads;  // by parameter, in the order of the text; NULL: never loaded
    bool *for_tiles;          // by value id: only the places of staged tiles ask for it
    axes_t tile_axes, register_axes;  // of staged tiles; whose positions threads ask for

    // Of the function being written
    uint64_t tensors, scalars, dims, stored;  // which are named
    uint64_t fetched;         // local tensors that the copy engine fills
    int name_count, name_capacity;
    const char **names;
    const char *axis_base[IR_MAX_AXES];    // variable of the tile's first point; NULL: 0
    const char *axis_thread[IR_MAX_AXES];  // variable of this thread's first point
    const char *axis_end[IR_MAX_AXES];     // of a loop whose last tile may hang over: its end, a number; NULL: none known
    const char *axis_offset[IR_MAX_AXES];  // this thread's distance from the tile's first point; NULL: 0
    const char *axis_loop[IR_MAX_AXES][2]; // register and vector loop variables
    bool in_vector;           // writing what holds for a whole vector: its first element
    int vector_axis;          // the axis that the vector is along
    const char *axis_place[IR_MAX_AXES];   // where a tile is copied: the position, in place of the thread's own; or NULL
    axes_t placed;                         // axes that have one
    int64_t *tile_offset;                  // by value id: of a staged tile, from its base
    const char **tile_base;                // by value id: where its loop's present tiles are; NULL: the start of all
    int64_t stage_top, stage_bytes;        // of dynamic shared memory: in use here, and at most
    enum part part;
    const struct produced *produced;       // the launch, where warps of their own copy its tiles; else NULL
    struct ring **rings;
    int ring_count, ring_capacity, phase_top;
    const char **kept_rows;                // by value id: registers that hold an operand from a tile (wgmma.c), or NULL
    bool has_turns;                        // groups of warps send for products in turns (producer.c)
    struct late *late;                     // of the loop that is being written (producer.c); NULL: it has no late product
    struct slab_names *slab_names;         // of a launch in which a warp copies slabs (slab.c)
    struct delivery **delivery_of;         // by value id: of a tile that is being waited for or will be; else NULL
    const char **positions;                // variables of threads' positions: dropped again where nothing needs them
    int position_count, position_capacity;
    int64_t shared_bytes, exchange_bytes;  // of the block's scratch, and of half of what the cluster's others read
    bool needs_thread, needs_lane, needs_warp, needs_rank;
    int cluster;              // blocks of a cluster of this launch; 1: none
    const char **param_names, **dim_names;

    // Of the whole text
    struct helper_text {
        const char *name, *text;
    } *helpers;               // in the order in which they need each other
    int helper_count, helper_capacity;
    uint64_t aligned;
    int end_line;             // the line at which the next function's statements begin
    int next_line;            // of the kernel's statements that have been written as comments
};

// ------------------------------------------------------------------------------------------ writing (write.c)

void line(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
void open_brace(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
void close_brace(struct emitter *emitter);
const char *print(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Takes the declaration of a name that occurs nowhere else, a line of its own, out of the text.
void drop_unused(struct text *text, const char *name);
void note_position(struct emitter *emitter, const char *name);  // one that is dropped again where nothing names it
// A name that nothing else in the function has, from `wish`; C's and our own words are evaded.
const char *unique_name(struct emitter *emitter, const char *wish);
const char *register_type(enum ir_type type);  // of a value in registers
const char *storage_type(enum ir_type type);   // of an element in memory
const char *type_suffix(enum ir_type type);    // of helpers: "f32"
void comment_lines(struct emitter *emitter, int up_to);  // the statements up to this line, as comments
bool give_up(struct emitter *emitter, const char *code, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// ------------------------------------------------------------------------------------------ last uses (stream.c)

void note_last_loads(struct emitter *emitter, const struct ir_region *region);
bool is_kept(const struct emitter *emitter, const struct ir_op *op);      // a later load of this launch reads the element again
bool is_streamed(const struct emitter *emitter, const struct ir_op *op);  // nothing will read the element again

// ------------------------------------------------------------------------------------------ helpers (helpers.c)

// Notes that the text needs the helper (and what that needs) and returns its name.
const char *matmul_helper(struct emitter *emitter, const char *name);  // the text (matmul_helpers.c), or NULL
const char *helper(struct emitter *emitter, const char *name);
bool reduction_named(const char *name, size_t length, enum ir_reduction *reduction);
const char *helper_text(struct emitter *emitter, const char *name);  // without noting it; NULL: there is none
void write_helpers(struct emitter *emitter);

// ------------------------------------------------------------------------------------------ values (value.c)

struct dims dims_of(const struct emitter *emitter, axes_t axes);
bool same_dims(const struct dims *a, const struct dims *b);
// The C expression of a value at the register loops around; parenthesized unless it binds at least as tightly.
const char *value_text(struct emitter *emitter, const struct ir_value *value, int precedence);
const char *op_text(struct emitter *emitter, const struct ir_op *op, int *precedence);  // of an element-wise operation
const char *constant_text(struct emitter *emitter, enum ir_type type, int64_t integer, double number);
const char *identity_text(struct emitter *emitter, enum ir_reduction reduction, enum ir_type type);
const char *combine_text(struct emitter *emitter, enum ir_reduction reduction, enum ir_type type, const char *a, const char *b);
const char *subscript_text(struct emitter *emitter, const char *name, const struct dims *dims);
const char *position_text(struct emitter *emitter, int axis, int *precedence);
// Integer arithmetic over register dimensions that is written where it is used: indices and bounds.
bool is_floating(const struct emitter *emitter, const struct ir_op *op);
bool is_leaf(const struct ir_op *op);  // written where used, always: constants, dimensions, positions

// ------------------------------------------------------------------------------------------ memory (access.c)

// "x + (i * n + j)".
const char *element_address(struct emitter *emitter, const struct ir_op *op);
bool moves_along(const struct ir_value *index, int axis);  // it grows by one with the axis
// Whether `width` neighbours along the axis, from a multiple of it on, are one aligned access under one predicate.
bool moves_together(struct emitter *emitter, const struct ir_op *op, int axis, int width);
const char *load_text(struct emitter *emitter, const struct ir_op *op, int *precedence);
// Elements that the access moves at once: the vector of the group's innermost dimension, or 1.
int access_width(struct emitter *emitter, const struct ir_op *op, const struct dims *dims);
void write_vector_load(struct emitter *emitter, const struct ir_op *op, const char *name, int width);
void write_store(struct emitter *emitter, const struct ir_op *op);
void write_vector_store(struct emitter *emitter, const struct ir_op *op, const char *name, int width);
void write_meeting(struct emitter *emitter, const struct ir_op *op);  // ARRIVE, AWAIT
void write_fetch(struct emitter *emitter, const struct ir_op *op);    // FETCH, FETCHED
void write_quad_store(struct emitter *emitter, const struct ir_op *op, const char *words);  // 16 bytes
void write_atomic(struct emitter *emitter, const struct ir_op *op);
const char *file_name(const struct emitter *emitter);  // of its source, without folders
const char *comment_text(struct emitter *emitter, const char *text, size_t length);
void write_assert(struct emitter *emitter, const struct ir_op *op);
void write_print(struct emitter *emitter, const struct ir_op *op);
axes_t axes_touched(const struct ir_op *op);

// ------------------------------------------------------------------------------------------ reductions (reduce.c)

void declare_reduction(struct emitter *emitter, const struct ir_op *op);  // before the loops
void write_reduction(struct emitter *emitter, const struct ir_op *op);    // inside them
void finish_reductions(struct emitter *emitter, struct ir_op *const *ops, int count);  // behind them
void write_scan(struct emitter *emitter, const struct ir_op *op);
bool crosses_in_place(const struct emitter *emitter, const struct ir_op *op);
void need_shared(struct emitter *emitter, int64_t bytes);  // of the block's scratch
bool is_position(const struct ir_op *op);  // argmax, argmin

// ------------------------------------------------------------------------------------------ structure (region.c, group.c)

void open_loops(struct emitter *emitter, const struct dims *dims, int from, int to);
bool ends_early(const struct emitter *emitter, const struct dim *dim);  // its loop breaks off where a tile hangs over
void close_loops(struct emitter *emitter, int count);
void declare(struct emitter *emitter, const struct ir_value *value, const char *name, bool constant);
void write_segment(struct emitter *emitter, struct ir_op **ops, int count);
void write_region(struct emitter *emitter, struct ir_region *region);
void write_ops(struct emitter *emitter, struct ir_op **ops, int count);
bool is_control(const struct ir_op *op);
bool has_loop(const struct ir_region *region);  // anywhere below
const char *base_name(struct emitter *emitter, int axis);
const char *position_type(const struct emitter *emitter, const struct ir_op *loop);  // "int", "long long"
void enter_tile(struct emitter *emitter, const struct ir_op *loop, const char *base);
const char *dims_text(struct emitter *emitter, const struct dims *dims);  // "[8][4]"

// ------------------------------------------------------------------------------------------ launches (launch.c)

bool has_threads(const struct axis_layout *layout);  // more than one, in one block or several
// Part of the thread's coordinate along an axis: "(lane >> 2 & 7)".
const char *bits_text(struct emitter *emitter, const char *from, int shift, int count, int all);
void write_launch(struct emitter *emitter, struct ir_op *top, const char *name, struct launch_kernel *plan);
bool wants_maps(const struct emitter *emitter, const struct ir_op *top);  // a launch before makes some for it
void write_map_launch(struct emitter *emitter, const struct ir_op *top, const char *name, struct launch_kernel *plan);
void write_fill(struct emitter *emitter, int param, const char *name, struct launch_kernel *plan);
// Which tensors the launch both loads and stores. What another launch stored is there when this one begins.
void find_hazards(struct emitter *emitter, const struct ir_op *top);
bool is_hazard(const struct emitter *emitter, const struct ir_op *op);  // loads or stores a tensor that is both

#endif
