// SPDX-License-Identifier: Apache-2.0
// Straight-line operations become nests of register loops. Operations over the same register dimensions share a nest as
// far as their order allows: the loads of a tile, what is computed from them and where it goes read as one loop, and
// the compiler sees all of a tile's loads at once.
#include <string.h>

#include "codegen/matmul.h"

struct segment {
    struct emitter *emitter;
    struct group *groups;
    int count, capacity;
    int last_effect, last_hazard;
};

// ---------------------------------------------------------------------------------------------- which group

static bool is_effect(const struct ir_op *op) {
    return op->code == OP_STORE || op->code == OP_ATOMIC || op->code == OP_ASSERT || op->code == OP_PRINT;
}

// A nest of its own kind, that no other operation shares.
static bool is_alone(const struct ir_op *op) {
    return op->code == OP_SCAN || op->code == OP_MMA;
}

static axes_t iteration_axes(const struct ir_op *op) {
    axes_t axes = axes_touched(op);
    if (op->code == OP_REDUCE && op->operands[0]->partial)
        return op->results[0]->axes;
    if (op->code == OP_REDUCE)
        return axes | op->over | op->results[0]->axes;
    return op->result_count ? axes | op->results[0]->axes : axes;
}

// The first group in which the operands of `op` are there, for use by `user` over `dims`.
static int earliest_by_operands(const struct segment *segment, const struct ir_op *op, const struct ir_op *user,
                                const struct dims *dims) {
    const struct emitter *emitter = segment->emitter;
    int earliest = 0;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *operand = op->operands[i];
        int at = emitter->group_of[operand->id];
        if (!operand->region && (emitter->for_tiles[operand->id] || is_floating(emitter, operand->def))) {
            at = earliest_by_operands(segment, operand->def, user, dims);
            earliest = at > earliest ? at : earliest;
            continue;
        }
        if (at < 0 || (!operand->region && is_leaf(operand->def)))
            continue;
        const struct group *group = &segment->groups[at];
        bool finished = operand->def->code == OP_REDUCE || operand->def->code == OP_SCAN;
        bool apart = group->alone || group->stages || is_alone(user) || is_staged(user);
        if (finished || apart || !same_dims(&group->dims, dims))
            at++;
        earliest = at > earliest ? at : earliest;
    }
    return earliest;
}

static int earliest_group(const struct segment *segment, const struct ir_op *op, const struct dims *dims) {
    const struct emitter *emitter = segment->emitter;
    int earliest = earliest_by_operands(segment, op, op, dims);
    if (is_effect(op) && segment->last_effect > earliest)
        earliest = segment->last_effect;
    if (is_hazard(emitter, op) && segment->last_hazard >= earliest)
        earliest = segment->last_hazard + 1;
    return earliest;
}

static bool may_join(const struct group *group, bool alone, bool stages, const struct dims *dims) {
    if (alone || group->alone || stages != group->stages)
        return false;
    return stages || same_dims(&group->dims, dims);
}

static void place(struct segment *segment, struct ir_op *op) {
    struct emitter *emitter = segment->emitter;
    struct dims dims = dims_of(emitter, iteration_axes(op));
    bool alone = is_alone(op), stages = is_staged(op);
    int at = earliest_group(segment, op, &dims);
    while (at < segment->count && !may_join(&segment->groups[at], alone, stages, &dims))
        at++;
    if (at == segment->count) {
        struct group fresh = {.dims = dims, .alone = alone, .stages = stages};
        ARENA_PUSH(emitter->arena, segment->groups, segment->count, segment->capacity, fresh);
    }
    struct group *group = &segment->groups[at];
    ARENA_PUSH(emitter->arena, group->ops, group->count, group->capacity, op);
    for (int i = 0; i < op->result_count; i++)
        emitter->group_of[op->results[i]->id] = at;
    if (is_effect(op))
        segment->last_effect = at;
    if (is_hazard(emitter, op))
        segment->last_hazard = at;
}

// ---------------------------------------------------------------------------------------------- loads ahead
//
// A store, or an operation that may branch, keeps the compiler from moving the next point's load over it: a tile's
// loads would wait for each other. Such a group gets its loads in loops of their own before it.

enum { MOST_WORDS_AHEAD = 64 };  // of 32 bits, that a thread's loads hold at a time

static int words_of(const struct group *group, const struct ir_op *load) {
    int words = ir_type_bytes(load->results[0]->type) == 8 ? 2 : 1;
    for (int i = 0; i < group->dims.count; i++)
        words *= group->dims.items[i].count;
    return words;
}

static bool may_branch(const struct ir_op *op) {
    return is_effect(op) || op->code == OP_DIV || op->code == OP_MOD || op->code == OP_SIN ||
           op->code == OP_COS;
}

static bool wants_loads_ahead(struct emitter *emitter, const struct group *group) {
    int words = 0, loops = group->dims.count;
    bool branches = false;
    for (int i = 0; i < group->count; i++) {
        const struct ir_op *op = group->ops[i];
        if (is_hazard(emitter, op))
            return false;
        branches |= may_branch(op);
        if (op->code != OP_LOAD)
            continue;
        words += words_of(group, op);
        if (access_width(emitter, op, &group->dims) > 1)
            loops = group->dims.count - 1;
    }
    for (int i = 0; i < group->dims.count; i++)
        branches |= ends_early(emitter, &group->dims.items[i]);
    return emitter->cuda && branches && words && loops > 0 && words <= MOST_WORDS_AHEAD;
}

static bool needs(const struct emitter *emitter, const struct ir_op *op, const struct ir_op *other) {
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *operand = op->operands[i];
        if (operand->region)
            continue;
        if (operand->def == other || (is_floating(emitter, operand->def) && needs(emitter, operand->def, other)))
            return true;
    }
    return false;
}

// Moves the loads, and what they need, out of the group.
static struct group take_loads(struct emitter *emitter, struct group *group) {
    struct group loads = {.dims = group->dims}, rest = {.dims = group->dims};
    bool *ahead = ARENA_ARRAY(emitter->arena, bool, group->count);
    for (int i = group->count - 1; i >= 0; i--) {
        ahead[i] = group->ops[i]->code == OP_LOAD;
        for (int j = i + 1; j < group->count; j++)
            ahead[i] |= ahead[j] && needs(emitter, group->ops[j], group->ops[i]);
    }
    for (int i = 0; i < group->count; i++) {
        struct group *into = ahead[i] ? &loads : &rest;
        ARENA_PUSH(emitter->arena, into->ops, into->count, into->capacity, group->ops[i]);
    }
    *group = rest;
    return loads;
}

static void put_loads_ahead(struct segment *segment) {
    struct emitter *emitter = segment->emitter;
    struct group *groups = NULL;
    int count = 0, capacity = 0;
    for (int g = 0; g < segment->count; g++) {
        struct group group = segment->groups[g];
        if (wants_loads_ahead(emitter, &group)) {
            struct group loads = take_loads(emitter, &group);
            ARENA_PUSH(emitter->arena, groups, count, capacity, loads);
        }
        ARENA_PUSH(emitter->arena, groups, count, capacity, group);
    }
    segment->groups = groups;
    segment->count = count;
    for (int g = 0; g < count; g++)
        for (int i = 0; i < groups[g].count; i++)
            for (int r = 0; r < groups[g].ops[i]->result_count; r++)
                emitter->group_of[groups[g].ops[i]->results[r]->id] = g;
}

// ---------------------------------------------------------------------------------------------- which form

static bool is_in_group(const struct group *group, const struct ir_op *op) {
    for (int i = 0; i < group->count; i++)
        if (group->ops[i] == op)
            return true;
    return false;
}

// How often the value's text is written in the group; `*outside` is set if anything else needs it.
static int uses_in_group(const struct emitter *emitter, const struct group *group, const struct ir_value *value,
                         bool *outside) {
    const struct users *users = &emitter->users[value->id];
    int count = 0;
    for (int i = 0; i < users->count; i++) {
        const struct ir_op *user = users->ops[i];
        if (user->result_count == 1 && is_floating(emitter, user))
            count += uses_in_group(emitter, group, user->results[0], outside);
        else if (is_in_group(group, user))
            count++;
        else
            *outside = true;
    }
    return count;
}

// A store that moves whole vectors takes its value from an array over the vector.
static bool feeds_vector_store(struct emitter *emitter, const struct group *group, const struct ir_value *value) {
    for (int i = 0; i < group->count; i++) {
        const struct ir_op *op = group->ops[i];
        if (op->code == OP_STORE && op->operands[emitter->kernel->params[op->param].rank] == value &&
            access_width(emitter, op, &group->dims) > 1)
            return true;
    }
    return false;
}

// A value that another type is made of keeps its name, and says the type: length_i32.
static const char *name_for(struct emitter *emitter, const struct ir_value *value) {
    const struct ir_value *named = value, *origin = value;
    while (!origin->region && (origin->def->code == OP_CAST || origin->def->code == OP_CLAMP)) {
        origin = origin->def->operands[0];
        named = named->name ? named : origin;
    }
    bool same = named->name && origin->name && !strcmp(origin->name, named->name);
    if (same && origin->type != value->type)
        return unique_name(emitter, print(emitter, "%s_%s", named->name, ir_type_name(value->type)));
    if (named->name)
        return unique_name(emitter, named->name);
    if (value->type == TYPE_BOOL)
        return unique_name(emitter, "inside");
    return unique_name(emitter, ir_type_is_float(value->type) ? "v" : "i");
}

static bool is_cheap(const struct ir_op *op) {
    return op->code == OP_CAST || op->code == OP_BROADCAST || op->code == OP_NEG || op->code == OP_ADD ||
           op->code == OP_SUB;
}

static void choose_form(struct emitter *emitter, const struct group *group, struct ir_op *op) {
    struct ir_value *value = op->results[0];
    struct form *form = &emitter->forms[value->id];
    bool outside = false;
    int total = uses_in_group(emitter, group, value, &outside);
    if (form->kind != FORM_UNSEEN)
        return;
    if (is_staged(op)) {
        form->kind = FORM_STAGED;
        return;
    }
    if (op->code == OP_MMA) {
        form->kind = FORM_VARIABLE;
        form->name = sums_in_place(emitter, op) ? emitter->forms[op->operands[2]->id].name : name_for(emitter, value);
        return;
    }
    if (is_fresh_start(emitter, op)) {
        form->kind = FORM_INLINE;
        return;
    }
    struct dims dims = dims_of(emitter, value->axes);
    bool full = same_dims(&dims, &group->dims);
    if (op->code == OP_REDUCE || op->code == OP_SCAN || outside) {
        form->kind = FORM_VARIABLE;
        form->name =
            crosses_in_place(emitter, op) ? emitter->forms[op->operands[0]->id].name : name_for(emitter, value);
    } else if (full && feeds_vector_store(emitter, group, value)) {
        form->kind = FORM_VECTOR;
        form->name = name_for(emitter, value);
    } else if (op->code == OP_LOAD && access_width(emitter, op, &group->dims) > 1) {
        form->kind = FORM_VECTOR;
        form->name = name_for(emitter, value);
    } else if (total == 1 && (!value->name || is_cheap(op) || op->code == OP_LOAD) && !is_hazard(emitter, op)) {
        form->kind = FORM_INLINE;
    } else {
        form->kind = FORM_LOCAL;
        form->name = name_for(emitter, value);
    }
}

// ---------------------------------------------------------------------------------------------- writing

void declare(struct emitter *emitter, const struct ir_value *value, const char *name, bool constant) {
    struct dims dims = dims_of(emitter, value->axes);
    line(emitter, "%s%s %s%s;", constant ? "const " : "", register_type(value->type), name, dims_text(emitter, &dims));
}

static void declare_group(struct emitter *emitter, const struct group *group) {
    for (int i = 0; i < group->count; i++) {
        struct ir_op *op = group->ops[i];
        if (op->code == OP_REDUCE)
            declare_reduction(emitter, op);
        else if (op->result_count && emitter->forms[op->results[0]->id].kind == FORM_VARIABLE && group->dims.count)
            declare(emitter, op->results[0], emitter->forms[op->results[0]->id].name, false);
    }
}

// Where a vector along the group's innermost dimension stands in memory order: an array of its own, or a row of one.
static const char *vector_text(struct emitter *emitter, const struct group *group, const struct ir_value *value) {
    const struct form *form = &emitter->forms[value->id];
    struct dims dims = dims_of(emitter, value->axes);
    if (form->kind == FORM_VECTOR)
        return form->name;
    if (form->kind != FORM_VARIABLE || !same_dims(&dims, &group->dims))
        return NULL;
    dims.count--;
    return subscript_text(emitter, form->name, &dims);
}

static bool loads_vectors(struct emitter *emitter, const struct group *group, const struct ir_op *op) {
    return op->code == OP_LOAD && access_width(emitter, op, &group->dims) > 1 &&
           vector_text(emitter, group, op->results[0]);
}

static bool stores_vectors(struct emitter *emitter, const struct group *group, const struct ir_op *op) {
    return op->code == OP_STORE && access_width(emitter, op, &group->dims) > 1 &&
           vector_text(emitter, group, op->operands[emitter->kernel->params[op->param].rank]);
}

static void write_value(struct emitter *emitter, const struct group *group, const struct ir_op *op) {
    const struct ir_value *value = op->results[0];
    const struct form *form = &emitter->forms[value->id];
    int precedence;
    if (form->kind == FORM_INLINE)
        return;
    if (loads_vectors(emitter, group, op))
        return;  // done before the innermost loop
    const char *text = op_text(emitter, op, &precedence);
    if (form->kind == FORM_LOCAL) {
        line(emitter, "const %s %s = %s;", register_type(value->type), form->name, text);
    } else if (form->kind == FORM_VECTOR) {
        line(emitter, "%s[%s] = %s;", form->name, emitter->axis_loop[group->dims.items[group->dims.count - 1].axis][1],
             text);
    } else if (!group->dims.count) {
        const char *constant = emitter->handed_on[value->id] ? "" : "const ";
        line(emitter, "%s%s %s = %s;", constant, register_type(value->type), form->name, text);
    } else {
        struct dims dims = dims_of(emitter, value->axes);
        line(emitter, "%s = %s;", subscript_text(emitter, form->name, &dims), text);
    }
}

static void write_op(struct emitter *emitter, const struct group *group, const struct ir_op *op) {
    switch (op->code) {
    case OP_REDUCE: write_reduction(emitter, op); break;
    case OP_ATOMIC: write_atomic(emitter, op); break;
    case OP_ASSERT: write_assert(emitter, op); break;
    case OP_PRINT: write_print(emitter, op); break;
    case OP_STORE:
        if (!stores_vectors(emitter, group, op))
            write_store(emitter, op);
        break;
    default: write_value(emitter, group, op);
    }
}

// What moves whole vectors stands around the innermost loop: loads before it, stores behind it.
static void write_vector_loads(struct emitter *emitter, const struct group *group) {
    for (int i = 0; i < group->count; i++) {
        const struct ir_op *op = group->ops[i];
        const struct form *form = op->result_count ? &emitter->forms[op->results[0]->id] : NULL;
        if (!form)
            continue;
        if (form->kind == FORM_VECTOR)
            line(emitter, "%s %s[%d];", register_type(op->results[0]->type), form->name,
                 group->dims.items[group->dims.count - 1].count);
        if (loads_vectors(emitter, group, op))
            write_vector_load(emitter, op, vector_text(emitter, group, op->results[0]),
                              access_width(emitter, op, &group->dims));
    }
}

static void write_vector_stores(struct emitter *emitter, const struct group *group, const char *const *words) {
    for (int i = 0; i < group->count; i++)
        if (stores_vectors(emitter, group, group->ops[i])) {
            const struct ir_op *op = group->ops[i];
            const struct ir_value *value = op->operands[emitter->kernel->params[op->param].rank];
            if (words[i]) {
                keep_pair(emitter, op, &group->dims, words[i], vector_text(emitter, group, value));
                continue;
            }
            write_vector_store(emitter, op, vector_text(emitter, group, value),
                               access_width(emitter, op, &group->dims));
        }
}

static bool moves_vectors(struct emitter *emitter, const struct group *group) {
    for (int i = 0; i < group->count; i++) {
        const struct ir_op *op = group->ops[i];
        if (loads_vectors(emitter, group, op) || stores_vectors(emitter, group, op))
            return true;
        for (int j = 0; j < op->result_count; j++)
            if (emitter->forms[op->results[j]->id].kind == FORM_VECTOR)
                return true;
    }
    return false;
}

// Nothing of the operation stands inside the loops.
static bool is_silent_op(struct emitter *emitter, const struct group *group, const struct ir_op *op) {
    if (stores_vectors(emitter, group, op))
        return true;
    if (!op->result_count)
        return false;
    return emitter->forms[op->results[0]->id].kind == FORM_INLINE || crosses_in_place(emitter, op) ||
           loads_vectors(emitter, group, op);
}

static bool is_silent(struct emitter *emitter, const struct group *group) {
    for (int i = 0; i < group->count; i++)
        if (!is_silent_op(emitter, group, group->ops[i]))
            return false;
    return true;
}

static void comment_group(struct emitter *emitter, const struct group *group) {
    int last = 0;
    for (int i = 0; i < group->count; i++)
        last = group->ops[i]->line > last ? group->ops[i]->line : last;
    comment_lines(emitter, last);
}

// Other threads may hold the same point: what they load and what this one stores are kept apart.
static bool needs_barrier(const struct emitter *emitter, const struct group *group) {
    if (!emitter->cuda)
        return false;
    for (int i = 0; i < group->count; i++)
        if (is_hazard(emitter, group->ops[i]) && group->ops[i]->code != OP_LOAD)
            return true;
    return false;
}

static void write_loops(struct emitter *emitter, const struct group *group) {
    bool silent = is_silent(emitter, group), vectors = moves_vectors(emitter, group);
    int depth = group->dims.count, outer = vectors ? depth - 1 : depth;
    if (silent && !vectors)
        return;
    const char **words = ARENA_ARRAY(emitter->arena, const char *, group->count);
    for (int i = 0; i < group->count; i++)
        if (is_quad_store(emitter, group->ops[i], &group->dims))
            words[i] = declare_quads(emitter, &group->dims);
    open_loops(emitter, &group->dims, 0, outer);
    if (vectors) {
        emitter->vector_axis = group->dims.items[depth - 1].axis;
        write_vector_loads(emitter, group);
    }
    if (!silent) {
        open_loops(emitter, &group->dims, outer, depth);
        for (int i = 0; i < group->count; i++)
            write_op(emitter, group, group->ops[i]);
        close_loops(emitter, depth - outer);
    }
    if (vectors)
        write_vector_stores(emitter, group, words);
    close_loops(emitter, outer);
    for (int i = 0; i < group->count; i++)
        if (words[i])
            write_quads(emitter, group->ops[i], &group->dims, words[i]);
}

static void write_group(struct emitter *emitter, const struct group *group) {
    comment_group(emitter, group);
    if (group->stages) {
        write_tiles(emitter, group->ops, group->count);
        return;
    }
    if (group->alone) {
        (group->ops[0]->code == OP_MMA ? write_mma : write_scan)(emitter, group->ops[0]);
        return;
    }
    bool barrier = needs_barrier(emitter, group);
    const char *meet = barrier && emitter->cluster > 1 ? helper(emitter, "tile_meet") : "__syncthreads";
    if (barrier)
        line(emitter, "%s();", meet);
    declare_group(emitter, group);
    write_loops(emitter, group);
    finish_reductions(emitter, group->ops, group->count);
    if (barrier)
        line(emitter, "%s();", meet);
}

void write_segment(struct emitter *emitter, struct ir_op **ops, int count) {
    struct segment segment = {.emitter = emitter, .last_effect = 0, .last_hazard = -1};
    for (int i = 0; i < count; i++) {
        bool written = ops[i]->result_count && emitter->forms[ops[i]->results[0]->id].kind && ops[i]->code != OP_REDUCE;
        bool elsewhere = ops[i]->result_count && emitter->for_tiles[ops[i]->results[0]->id];
        if (!is_leaf(ops[i]) && !elsewhere && !written && !is_floating(emitter, ops[i]) && !is_left_out(emitter, ops[i]))
            place(&segment, ops[i]);
    }
    put_loads_ahead(&segment);
    for (int g = 0; g < segment.count; g++)
        for (int i = 0; i < segment.groups[g].count; i++)
            if (segment.groups[g].ops[i]->result_count)
                choose_form(emitter, &segment.groups[g], segment.groups[g].ops[i]);
    for (int g = 0; g < segment.count; g++) {
        emitter->group = g;
        write_group(emitter, &segment.groups[g]);
    }
    for (int i = 0; i < count; i++)
        for (int r = 0; r < ops[i]->result_count; r++)
            emitter->group_of[ops[i]->results[r]->id] = -1;
}
