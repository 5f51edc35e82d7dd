// SPDX-License-Identifier: Apache-2.0
// What recognizing a nest that can be split (strategy.c) hands to splitting it (chunks.c, flat.c), and what these share
// (split.c, split_find.c).
#ifndef TILEC_LOWERING_SPLIT_H
#define TILEC_LOWERING_SPLIT_H

#include "lowering/moments.h"
#include "lowering/rescaled.h"

enum { MAX_PHASES = 8, MAX_CARRIED = 16 };

// How the carried values of a loop's pieces are joined.
enum join {
    JOIN_EACH,      // every value by its own reduction
    JOIN_MOMENTS,   // count, sum and squares (moments.h)
    JOIN_RESCALED,  // a running maximum, and a sum that is rescaled whenever it grows (online softmax)
};

struct phase {          // a jagged loop along the rows
    struct ir_op *loop;
    enum join join;
    enum ir_reduction reductions[MAX_CARRIED];
    struct rescaled pair;              // JOIN_RESCALED
    int partials[MAX_CARRIED], kept[MAX_CARRIED];  // workspace parameters
    bool keeps;         // later launches need the results
};

struct splitter {
    struct pass_context *context;
    struct ir_kernel *kernel;
    struct ir_op *top;   // the loop over rows
    int row_axis;
    int offsets;         // parameter: row r is [offsets[r], offsets[r + 1])
    int64_t chunk;       // points per chunk or share
    int phase_count;
    struct phase phases[MAX_PHASES];
    bool effects_last;   // effects outside of the phases' loops want a launch of their own, at the end
    struct ir_value *points, *rows, *pieces;   // numbers at the front of the kernel: of the packed tensor, of rows, of
                                               // chunks or shares
    struct ir_value *extent[IR_MAX_AXES];      // of the axes that results are on
    int64_t lag;         // chunks that the second loop is behind the first in one launch; 0: in launches of their own
    int found;           // workspace parameter: what is found for each piece, where a launch of its own does that
    // Of launches with layouts of their own (apart.c): suffixes of the names of axes, NULL where there is none;
    // names of axes.
    const char *join, *few, *lone, *find, *partial, *stage, *rest, *share;
    int few_rows, lone_rows, vector;  // up to how many rows a share has few, has lone ones; of staging
    // flat.c, of the launch at hand: by parameter, which local tensor it is staged in, or -1.
    bool stages, fetches;  // by the copy engine
    int *staged, staged_count;
};

struct copying {
    struct ir_map *map;
    int axis[IR_MAX_AXES];  // old to new
    const char *suffix;     // of the copies' names; NULL: they keep their own, and so their layouts
};

struct launch;
// Writes a launch's own phase.
typedef bool work_fn(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct phase *phase);

// One loop at the top that is being written.
struct launch {
    int phase;
    bool effects;            // what stands beside the phases and has effects happens in this launch
    struct ir_value *guard;  // where this holds; NULL: everywhere
    int axis;                // of the rows, or of what stands for them
    struct ir_value *index, *row;
    struct ir_value *begin;  // of the piece: in the row (chunks), in the packed tensor (flat)
    struct ir_value *end;    // flat: of the share's points, counted from its begin
    const struct ir_op *outside[IR_MAX_AXES];  // loops of the nest that stand around already
    int outside_count;
    work_fn *work;
    struct copying copying;
};

bool split_into_chunks(struct splitter *splitter);  // chunks.c
bool split_into_shares(struct splitter *splitter);  // flat.c
// Refuses with the reason. Returns false.
bool cannot_split(struct splitter *splitter, const struct ir_op *where, const char *reason);
// A number at the front of the kernel that is what `value` is; NULL if the host can't work it out.
struct ir_value *number_at_front(struct splitter *splitter, struct ir_builder *builder, struct ir_map *map,
                                 struct ir_value *value);
// Whether the value is the row's start plus the position on the axis: where the point lies in the packed tensor.
bool is_packed_position(const struct splitter *splitter, const struct ir_value *value, int axis);
bool is_around_phases(const struct splitter *splitter, const struct ir_op *op);
// next[i] from arguments[i] and the partials loaded[i], reduced over the axis. The map says what became of values
// around the phase's loop.
void join_partials(struct splitter *splitter, struct ir_map *map, struct ir_builder *builder, const struct phase *phase,
                   axes_t over,
                   struct ir_value *const *arguments, struct ir_value *const *loaded, struct ir_value **next);

// ------------------------------------------------------------------------------------------ chunks (chunks.c, relay.c)

// The chunks of row r are [first(r), first(r + 1)).
struct ir_value *first_chunk(struct splitter *splitter, struct ir_builder *builder, struct ir_value *row);
struct ir_value *begins_until(struct splitter *splitter, struct ir_builder *builder, struct ir_value *row,
                              struct ir_value *chunk);
// From how many rows begin until the chunk: its row, and where it begins in that.
void set_chunk(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct ir_value *count);
bool write_chunk_loop(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct phase *phase);
bool join_chunks(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct phase *phase);
// A row's two loops in one launch.
bool split_into_relay(struct splitter *splitter);

// ------------------------------------------------------------------------------------------ small pieces (split.c)

struct ir_value *constant(struct ir_builder *builder, int64_t value);
struct ir_value *plus(struct ir_builder *builder, struct ir_value *x, struct ir_value *y);
struct ir_value *minus(struct ir_builder *builder, struct ir_value *x, struct ir_value *y);
struct ir_value *least(struct ir_builder *builder, struct ir_value *x, struct ir_value *y);
struct ir_value *greatest(struct ir_builder *builder, struct ir_value *x, struct ir_value *y);
// offsets[row + distance], as i64.
struct ir_value *offset_at(struct splitter *splitter, struct ir_builder *builder, struct ir_value *row, int distance);
int workspace(struct splitter *splitter, const char *name, enum ir_type type, int rank,
              struct ir_value *const *extents);

// ------------------------------------------------------------------------------------------ writing loops (split.c)

// A launch whose copies stand where the map says, with nothing copied yet.
struct launch new_launch(struct splitter *splitter, int phase, bool effects);
// A loop over a new axis of the name, in front of `builder`; *inside is where its body goes. NULL: refused.
struct ir_op *make_loop(struct splitter *splitter, struct ir_builder *builder, const char *name, enum ir_axis_kind kind,
                        axes_t parents, struct ir_value *lo, struct ir_value *hi, struct ir_builder *inside,
                        struct ir_value **index);
void end_loop(struct ir_builder *inside, int count, struct ir_value *const *values);
// An `if` in front of `builder`; *inside is where its first branch goes, *other (or NULL) its second. Each is ended.
void make_branch(struct ir_builder *builder, struct ir_value *condition, struct ir_builder *inside,
                 struct ir_builder *other);
axes_t moved_axes(const struct splitter *splitter, const struct copying *copying, axes_t axes);
struct ir_op *copy_op(struct splitter *splitter, struct copying *copying, struct ir_builder *builder, struct ir_op *op);
const char *copied_name(const struct splitter *splitter, const struct copying *copying, const char *name);
// Everything of the nest that the launch needs, with its own work in the phase's place.
bool write_nest_region(struct splitter *splitter, struct launch *launch, struct ir_builder *builder,
                       const struct ir_region *region);

// Tensors that hold a carried value per row or piece, and their elements at `row`, where `shape` stands for the value.
int result_tensor(struct splitter *splitter, const char *name, const struct ir_value *value, struct ir_value *rows);
void make_result_tensors(struct splitter *splitter, struct ir_value *partials);
void store_result(struct splitter *splitter, struct copying *copying, struct ir_builder *builder, int tensor,
                  struct ir_value *row, const struct ir_value *shape, struct ir_value *value);
struct ir_value *load_result(struct splitter *splitter, struct copying *copying, struct ir_builder *builder, int tensor,
                             struct ir_value *row, const struct ir_value *shape);
// An identity of the carried variable's type on its axes.
struct ir_value *start_value(struct splitter *splitter, struct copying *copying, struct ir_builder *builder,
                             const struct phase *phase, int slot);
// What the phase's loop hands on is `results`, for the launch and, where later ones need it, in memory.
void keep_results(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct phase *phase,
                  struct ir_value *const *results);
// The phase's results: its start values joined with the partials at place(0) … place(count - 1), in order.
typedef struct ir_value *place_fn(struct splitter *splitter, struct launch *launch, struct ir_builder *builder,
                                  struct ir_value *index);
bool write_join(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct phase *phase,
                struct ir_value *count, place_fn *place);
// A launch over rows.
bool write_rows(struct splitter *splitter, int phase, bool effects, work_fn *work);
// A loop of the nest around what *inside will hold.
bool open_nest(struct splitter *splitter, struct launch *launch, struct ir_builder *builder, struct ir_op *loop,
               struct ir_builder *inside);
// Loops of the nest that go to the grid, in front of all else that the launch's block does. *inside is then inside them.
bool write_outside(struct splitter *splitter, struct launch *launch, struct ir_region *region, struct ir_builder *inside);
// Ends the regions from `inside` up to the launch's own loop.
void end_outside(struct splitter *splitter, const struct launch *launch, const struct ir_builder *inside);
// Takes the nest out of the kernel.
void remove_nest(struct splitter *splitter);

// ------------------------------------------------------------------------------------------ layouts of their own (apart.c)

// Launches beside the main one have other shapes than the config's axes were made for. These give the config axes for
// them, with thread bits dealt out anew ("meshes"), once per kernel.
// Refuses where there are too many; returns false then.
bool add_meshes(struct splitter *splitter);
bool has_full_axes(const struct ir_kernel *kernel);

// ------------------------------------------------------------------------------------------ finding rows (find.c)

// How many rows, from the first, the piece lies behind: what decides it ascends with the rows.
typedef struct ir_value *is_before_fn(struct splitter *splitter, struct ir_builder *builder, struct ir_value *row,
                                      struct ir_value *piece);
// Makes the tensor of them and the launch that fills it, if that is how the config wants it.
bool write_finder(struct splitter *splitter, is_before_fn *is_before, struct ir_value *pieces);
// found[i] for each of the `count` pieces, one or two.
void find_rows(struct splitter *splitter, struct ir_builder *builder, is_before_fn *is_before, int count,
               struct ir_value *const *pieces, struct ir_value **found);

#endif
