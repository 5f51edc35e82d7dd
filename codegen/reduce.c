// SPDX-License-Identifier: Apache-2.0
// Reductions and scans over a layout: first over the registers of a thread (inside the group's loops), then over lanes
// by shuffles, then over warps through shared memory. The result is the same in all threads along the axis.
#include <string.h>

#include "codegen/matmul.h"

bool is_position(const struct ir_op *op) {
    return op->code == OP_REDUCE && (op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN);
}

static const struct form *form_of(const struct emitter *emitter, const struct ir_value *value) {
    return &emitter->forms[value->id];
}

static enum ir_type operand_type(const struct ir_op *op) {
    return op->operands[0]->type;
}

static bool has_registers(const struct emitter *emitter, axes_t axes) {
    return dims_of(emitter, axes).count > 0;
}

// A partial result of this thread comes in: only lanes and warps are left.
static bool is_crossing(const struct ir_op *op) {
    return op->operands[0]->partial != 0;
}

// A partial result that nothing else needs becomes the whole one in its own variable.
bool crosses_in_place(const struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *operand = op->operands[0];
    return op->code == OP_REDUCE && is_crossing(op) && emitter->uses[operand->id] == 1 &&
           form_of(emitter, operand)->kind == FORM_VARIABLE;
}

// ---------------------------------------------------------------------------------------------- declarations

const char *dims_text(struct emitter *emitter, const struct dims *dims) {
    const char *text = "";
    for (int i = 0; i < dims->count; i++)
        text = print(emitter, "%s[%d]", text, dims->items[i].count);
    return text;
}

// "name[i][j] = value;" over the dimensions, with the loops it takes.
static void assign_all(struct emitter *emitter, const char *name, const struct dims *dims, const char *value) {
    open_loops(emitter, dims, 0, dims->count);
    line(emitter, "%s = %s;", subscript_text(emitter, name, dims), value);
    close_loops(emitter, dims->count);
}

void declare_reduction(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    const struct form *form = form_of(emitter, result);
    struct dims dims = dims_of(emitter, result->axes);
    if (form->accumulated || crosses_in_place(emitter, op))
        return;
    if (is_position(op)) {
        const char *best = print(emitter, "%s_value", form->name);
        enum ir_type type = operand_type(op);
        line(emitter, "%s %s%s;", register_type(type), best, dims_text(emitter, &dims));
        assign_all(emitter, best, &dims, constant_text(emitter, type, 0, 0));
        line(emitter, "long long %s%s;", form->name, dims_text(emitter, &dims));
        assign_all(emitter, form->name, &dims, "-1");
        return;
    }
    if (!has_registers(emitter, op->over) || is_crossing(op)) {
        if (dims.count)
            line(emitter, "%s %s%s;", register_type(result->type), form->name, dims_text(emitter, &dims));
        return;
    }
    const char *identity = identity_text(emitter, op->reduction, result->type);
    if (!dims.count) {
        line(emitter, "%s %s = %s;", register_type(result->type), form->name, identity);
        return;
    }
    line(emitter, "%s %s%s;", register_type(result->type), form->name, dims_text(emitter, &dims));
    assign_all(emitter, form->name, &dims, identity);
}

// ---------------------------------------------------------------------------------------------- registers

static bool calls(const char *text) {
    for (const char *at = strchr(text, '('); at; at = strchr(at + 1, '('))
        if (at > text && (at[-1] == '_' || (at[-1] >= '0' && at[-1] <= '9') || (at[-1] >= 'a' && at[-1] <= 'z')))
            return true;
    return false;
}

// The operand, or the identity where the predicate is false. What a function computes is computed in any case: the
// compiler would make a branch for every element of it.
static const char *masked_operand(struct emitter *emitter, const struct ir_op *op, int precedence) {
    if (!op->predicated)
        return value_text(emitter, op->operands[0], precedence);
    const char *identity = identity_text(emitter, op->reduction, op->results[0]->type);
    const char *operand = value_text(emitter, op->operands[0], 3);
    if (emitter->cuda && calls(operand)) {
        const char *name = unique_name(emitter, "v");
        line(emitter, "const %s %s = %s;", register_type(op->operands[0]->type), name, operand);
        operand = name;
    }
    const char *text = print(emitter, "%s ? %s : %s", value_text(emitter, op->operands[1], 4), operand, identity);
    return precedence > 3 ? print(emitter, "(%s)", text) : text;
}

static void write_position(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    struct dims dims = dims_of(emitter, result->axes);
    const char *at = subscript_text(emitter, form_of(emitter, result)->name, &dims);
    const char *best = subscript_text(emitter, print(emitter, "%s_value", form_of(emitter, result)->name), &dims);
    int axis = 0, precedence;
    while (!(op->over & AXIS_BIT(axis)))
        axis++;
    const char *index = print(emitter, "(long long)(%s)", position_text(emitter, axis, &precedence));
    const char *guard = op->predicated ? print(emitter, "if (%s) ", value_text(emitter, op->operands[1], 1)) : "";
    const char *name =
        helper(emitter, print(emitter, "tile_%s_%s", ir_reduction_name(op->reduction), type_suffix(operand_type(op))));
    line(emitter, "%s%s(&%s, &%s, %s, %s);", guard, name, best, at, value_text(emitter, op->operands[0], 1), index);
}

// A constant that is summed along registers on which nothing depends is added once, as often as it occurs: "n == 0 && …"
// in front, and the multiple in *times. NULL: it isn't so.
static const char *once_for_all(struct emitter *emitter, const struct ir_op *op, int *times) {
    const struct ir_value *operand = op->operands[0];
    axes_t seen = op->predicated ? op->operands[1]->axes : 0;
    struct dims dims = dims_of(emitter, op->over & ~seen);
    const char *text = "";
    *times = 1;
    bool constant = !operand->region && operand->def->code == OP_CONST && operand->type == TYPE_F32;
    if (op->reduction != RED_SUM || !constant || !dims.count)
        return NULL;
    for (int i = 0; i < dims.count; i++) {
        *times *= dims.items[i].count;
        text = print(emitter, "%s%s%s == 0", text, i ? " && " : "",
                     emitter->axis_loop[dims.items[i].axis][dims.items[i].vector]);
    }
    return text;
}

void write_reduction(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    const struct form *form = form_of(emitter, result);
    struct dims dims = dims_of(emitter, result->axes);
    if (is_position(op)) {
        write_position(emitter, op);
        return;
    }
    if (crosses_in_place(emitter, op))
        return;
    const char *target = subscript_text(emitter, form->name, &dims);
    bool single = !form->accumulated && (!has_registers(emitter, op->over) || is_crossing(op));
    const char *once;
    int times;
    if (single) {
        line(emitter, "%s%s = %s;", dims.count ? "" : print(emitter, "%s ", register_type(result->type)), target,
             masked_operand(emitter, op, 1));
    } else if ((once = once_for_all(emitter, op, &times)) != NULL) {
        const char *sum = constant_text(emitter, TYPE_F32, 0, times * op->operands[0]->def->number);
        if (op->predicated)
            sum = print(emitter, "%s ? %s : 0.0f", value_text(emitter, op->operands[1], 4), sum);
        line(emitter, "if (%s) %s += %s;", once, target, sum);
    } else if (op->reduction == RED_SUM || op->reduction == RED_PROD) {
        line(emitter, "%s %s %s;", target, op->reduction == RED_SUM ? "+=" : "*=", masked_operand(emitter, op, 1));
    } else {
        bool infix = op->reduction == RED_ANY || op->reduction == RED_ALL;
        line(emitter, "%s = %s;", target,
             combine_text(emitter, op->reduction, result->type, target, masked_operand(emitter, op, infix ? 9 : 1)));
    }
}

// ---------------------------------------------------------------------------------------------- lanes and warps

void need_shared(struct emitter *emitter, int64_t bytes) {
    if (bytes > emitter->shared_bytes)
        emitter->shared_bytes = bytes;
}

enum { SHARED_LIMIT = 32 * 1024 };

// How many of `count` values a pass through shared memory takes at once.
static int shared_batch(const struct emitter *emitter, int count, int bytes) {
    int threads = 32 * emitter->lowered->warps;
    while (count > 1 && (int64_t)count * threads * bytes > SHARED_LIMIT)
        count = (count + 1) / 2;
    return count;
}

static const char *first_element(struct emitter *emitter, const char *name, const struct dims *dims,
                                 const char *offset) {
    const char *text = print(emitter, "&%s", name);
    for (int i = 0; i < dims->count; i++)
        text = print(emitter, "%s[0]", text);
    return *offset ? print(emitter, "%s + %s", text, offset) : text;
}

static int count_of(const struct dims *dims) {
    int count = 1;
    for (int i = 0; i < dims->count; i++)
        count *= dims->items[i].count;
    return count;
}

// A loop over values that don't pass through shared memory at once: the variable of the first one of a turn.
static const char *open_batches(struct emitter *emitter, int count, int batch) {
    const char *first = unique_name(emitter, "first");
    open_brace(emitter, "for (int %s = 0; %s < %d; %s += %d)", first, first, count, first, batch);
    return first;
}

static const char *batch_length(struct emitter *emitter, const char *first, int count, int batch) {
    return batch < count ? print(emitter, "%s + %d > %d ? %d - %s : %d", first, batch, count, count, first, batch)
                         : print(emitter, "%d", count);
}

static void cross_lanes(struct emitter *emitter, const struct ir_op *op, const struct axis_layout *layout) {
    const struct ir_value *result = op->results[0];
    struct dims dims = dims_of(emitter, result->axes);
    const char *name = form_of(emitter, result)->name, *target = NULL;
    const char *function = helper(emitter, print(emitter, "tile_%s_lanes_%s", ir_reduction_name(op->reduction),
                                                 type_suffix(operand_type(op))));
    open_loops(emitter, &dims, 0, dims.count);
    target = subscript_text(emitter, name, &dims);
    if (is_position(op))
        line(emitter, "%s(&%s, &%s, %d, %d);", function,
             subscript_text(emitter, print(emitter, "%s_value", name), &dims), target, layout->lanes,
             1 << layout->lane_shift);
    else
        line(emitter, "%s = %s(%s, %d, %d);", target, function, target, layout->lanes, 1 << layout->lane_shift);
    close_loops(emitter, dims.count);
}

// The lanes between which a value differs, if they are neighbours among those of the axes: all others repeat it.
static void lanes_of(const struct emitter *emitter, const struct ir_value *value, int *lanes, int *step) {
    unsigned bits = 0;
    for (int a = 0; a < emitter->kernel->axis_count; a++) {
        const struct axis_layout *layout = &emitter->lowered->axes[a];
        if (value->axes & AXIS_BIT(a))
            bits |= (unsigned)(layout->lanes - 1) << layout->lane_shift;
    }
    unsigned lowest = bits & -bits;
    bool together = bits && (bits & (bits + lowest)) == 0;
    *step = !bits ? 1 : together ? (int)lowest : 1;
    *lanes = !bits ? 1 : together ? (int)(bits / lowest) + 1 : 32;
}

enum { MANY_READS = 32, MOST_JOINTLY = 4 };  // of partial results by each thread; reductions that cross at once

// What crosses: a variable of the operation's own, or one that several have been gathered in.
struct crossed {
    const char *name;
    struct dims dims;
};

static void cross_warps(struct emitter *emitter, const struct ir_op *op, const struct axis_layout *layout,
                        const struct crossed *crossed) {
    const struct ir_value *result = op->results[0];
    struct dims dims = crossed->dims;
    const char *name = crossed->name, *offset = "";
    int bytes = is_position(op)                                                ? 16
                : operand_type(op) == TYPE_BOOL                                ? 1
                : operand_type(op) == TYPE_I64 || operand_type(op) == TYPE_F64 ? 8
                                                                               : 4;
    int count = count_of(&dims), batch = shared_batch(emitter, count, bytes), lanes, lane_step;
    bool many = !is_position(op) && batch * layout->warps >= MANY_READS;
    lanes_of(emitter, result, &lanes, &lane_step);
    need_shared(emitter, (int64_t)batch * (many ? lanes | 1 : 32) * emitter->lowered->warps * bytes);
    const char *function = part_helper(emitter, print(emitter, "tile_%s_%s_%s", ir_reduction_name(op->reduction),
                                                      many ? "many" : "warps", type_suffix(operand_type(op))));
    if (batch < count)
        offset = open_batches(emitter, count, batch);
    const char *values =
        is_position(op)
            ? print(emitter, "%s, ", first_element(emitter, print(emitter, "%s_value", name), &dims, offset))
            : "";
    const char *length = batch_length(emitter, offset, count, batch);
    const char *places = many ? print(emitter, ", %d, %d", lanes, lane_step) : "";
    line(emitter, "%s(%s%s, %s, tile_shared, %d, %d%s);", function, values,
         first_element(emitter, name, &dims, offset), length, layout->warps, 1 << layout->warp_shift, places);
    if (batch < count)
        close_brace(emitter);
}

// All threads of a block hold its result by now: those of the same number in each block exchange theirs.
static void cross_blocks(struct emitter *emitter, const struct ir_op *op, const struct axis_layout *layout,
                         const struct crossed *crossed) {
    enum ir_type type = operand_type(op);
    struct dims dims = crossed->dims;
    int count = count_of(&dims), bytes = type == TYPE_BOOL ? 1 : type == TYPE_I64 || type == TYPE_F64 ? 8 : 4;
    int batch = shared_batch(emitter, count, bytes);
    const char *name = crossed->name, *offset = "";
    int64_t exchanged = (int64_t)batch * 32 * emitter->lowered->warps * bytes;
    emitter->exchange_bytes = exchanged > emitter->exchange_bytes ? exchanged : emitter->exchange_bytes;
    const char *function =
        part_helper(emitter, print(emitter, "tile_%s_blocks_%s", ir_reduction_name(op->reduction), type_suffix(type)));
    bool apart = strstr(function, "_part");
    if (apart)
        line(emitter, "++tile_turn;");
    if (batch < count)
        offset = open_batches(emitter, count, batch);
    line(emitter, "%s(%s, %s, tile_exchange[%s], %d%s);", function, first_element(emitter, name, &dims, offset),
         batch_length(emitter, offset, count, batch), apart ? "tile_turn & 1" : "tile_turn ^= 1", layout->blocks,
         apart ? ", tiles, tile_turn" : "");
    if (batch < count)
        close_brace(emitter);
}

// Lanes of a warp between which a value may differ.
static int lanes_between(const struct emitter *emitter, const struct ir_value *value) {
    int lanes, step;
    lanes_of(emitter, value, &lanes, &step);
    return lanes;
}

// Axes of one name have one layout and the same threads: each is crossed once.
static bool is_repeated(const struct emitter *emitter, axes_t over, int axis) {
    for (int a = 0; a < axis; a++)
        if ((over & AXIS_BIT(a)) && !strcmp(emitter->kernel->axes[a].name, emitter->kernel->axes[axis].name))
            return true;
    return false;
}

// ---------------------------------------------------------------------------------------------- bounds per warp

static bool crosses_warps(const struct emitter *emitter, axes_t over) {
    for (int a = 0; a < emitter->kernel->axis_count; a++)
        if ((over & AXIS_BIT(a)) && emitter->lowered->axes[a].warps * emitter->lowered->axes[a].blocks > 1)
            return true;
    return false;
}

// All warps of the block have to come by: a reduction across warps, a scan, an effect between barriers.
static bool has_barrier(const struct emitter *emitter, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_SCAN || op->code == OP_ARRIVE || op->code == OP_AWAIT || is_staged(op) ||
            (is_hazard(emitter, op) && op->code != OP_LOAD))
            return true;
        if (op->code == OP_REDUCE && !op->results[0]->partial && crosses_warps(emitter, op->over))
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (has_barrier(emitter, op->regions[r]))
                return true;
    }
    return false;
}

// A bound of loops in which warps needn't wait for each other: each warp runs to its own.
static bool is_warp_bound(const struct emitter *emitter, const struct ir_op *op) {
    const struct users *users = &emitter->users[op->results[0]->id];
    if (op->reduction != RED_MAX || !users->count)
        return false;
    for (int i = 0; i < users->count; i++) {
        const struct ir_op *loop = users->ops[i];
        if (loop->code != OP_FOR || loop->operands[1] != op->results[0])
            return false;
        for (int r = 0; r < loop->region_count; r++)
            if (has_barrier(emitter, loop->regions[r]))
                return false;
    }
    return true;
}

static bool crosses(const struct emitter *emitter, const struct ir_op *op) {
    return op->code == OP_REDUCE && !op->results[0]->partial && emitter->cuda;
}

// Scalars of one kind that go the same way.
static bool go_together(const struct emitter *emitter, const struct ir_op *a, const struct ir_op *b) {
    return crosses(emitter, b) && a->reduction == b->reduction && a->over == b->over && !is_position(a) &&
           operand_type(a) == operand_type(b) && a->results[0]->axes == b->results[0]->axes &&
           dims_of(emitter, a->results[0]->axes).count == 0 && !is_warp_bound(emitter, a) && !is_warp_bound(emitter, b);
}

// Scalars that all lanes of a warp hold by now, and that go over all warps of a cluster's blocks: in one meeting.
static bool cross_cluster(struct emitter *emitter, const struct ir_op *op, const struct crossed *crossed) {
    enum ir_type type = operand_type(op);
    int blocks = 1, warps = 1;
    for (int a = 0; a < emitter->kernel->axis_count; a++) {
        if (!(op->over & AXIS_BIT(a)) || is_repeated(emitter, op->over, a))
            continue;
        blocks *= emitter->lowered->axes[a].blocks;
        warps *= emitter->lowered->axes[a].warps;
    }
    if (!in_slab_launch(emitter) || emitter->part != PART_CONSUMERS || blocks == 1 || warps != emitter->lowered->warps ||
        crossed->dims.count > 1 || count_of(&crossed->dims) > MOST_JOINTLY || has_registers(emitter, op->results[0]->axes) ||
        lanes_between(emitter, op->results[0]) > 1 || type == TYPE_BOOL || is_position(op))
        return false;
    int count = count_of(&crossed->dims);
    int64_t bytes = (int64_t)count * warps * (type == TYPE_I64 || type == TYPE_F64 ? 8 : 4);
    emitter->exchange_bytes = bytes > emitter->exchange_bytes ? bytes : emitter->exchange_bytes;
    line(emitter, "++tile_turn;");
    line(emitter, "%s(%s, %d, tile_exchange[tile_turn & 1], %d, %d, tiles, tile_turn);",
         helper(emitter, print(emitter, "tile_%s_cluster_%s", ir_reduction_name(op->reduction), type_suffix(type))),
         first_element(emitter, crossed->name, &crossed->dims, ""), count, warps, blocks);
    return true;
}

static void cross_axes(struct emitter *emitter, const struct ir_op *op, const struct crossed *crossed) {
    bool warp_bound = is_warp_bound(emitter, op);
    if (!warp_bound && cross_cluster(emitter, op, crossed))
        return;
    for (int pass = 0; pass < 2 && !warp_bound; pass++)
        for (int a = 0; a < emitter->kernel->axis_count; a++) {
            const struct axis_layout *layout = &emitter->lowered->axes[a];
            if (!(op->over & AXIS_BIT(a)) || is_repeated(emitter, op->over, a))
                continue;
            if (pass == 0 && layout->warps > 1)
                cross_warps(emitter, op, layout, crossed);
            if (pass == 1 && layout->blocks > 1)
                cross_blocks(emitter, op, layout, crossed);
        }
}

static void cross_one(struct emitter *emitter, const struct ir_op *op) {
    struct crossed crossed = {form_of(emitter, op->results[0])->name, dims_of(emitter, op->results[0]->axes)};
    cross_axes(emitter, op, &crossed);
}

// Warps and blocks wait for each other once for all.
static void cross_jointly(struct emitter *emitter, const struct ir_op *const *ops, int count) {
    struct crossed crossed = {unique_name(emitter, "joined"), {.count = 1, .items = {{.count = count}}}};
    const char *values = "";
    for (int i = 0; i < count; i++)
        values = print(emitter, "%s%s%s", values, i ? ", " : "", form_of(emitter, ops[i]->results[0])->name);
    line(emitter, "%s %s[%d] = {%s};", register_type(operand_type(ops[0])), crossed.name, count, values);
    cross_axes(emitter, ops[0], &crossed);
    for (int i = 0; i < count; i++)
        line(emitter, "%s = %s[%d];", form_of(emitter, ops[i]->results[0])->name, crossed.name, i);
}

void finish_reductions(struct emitter *emitter, struct ir_op *const *ops, int count) {
    bool *done = ARENA_ARRAY(emitter->arena, bool, count);
    for (int i = 0; i < count; i++) {
        const struct ir_op *together[MOST_JOINTLY];
        int found = 0;
        if (done[i] || !crosses(emitter, ops[i]))
            continue;
        for (int j = i; j < count && found < MOST_JOINTLY; j++)
            if (!done[j] && (j == i || go_together(emitter, ops[i], ops[j]))) {
                together[found++] = ops[j];
                done[j] = true;
                for (int a = 0; a < emitter->kernel->axis_count; a++)
                    if ((ops[j]->over & AXIS_BIT(a)) && !is_repeated(emitter, ops[j]->over, a) &&
                        emitter->lowered->axes[a].lanes > 1)
                        cross_lanes(emitter, ops[j], &emitter->lowered->axes[a]);
            }
        if (found > 1 && crosses_warps(emitter, ops[i]->over))
            cross_jointly(emitter, together, found);
        else
            for (int k = 0; k < found; k++)
                cross_one(emitter, together[k]);
    }
}

// ---------------------------------------------------------------------------------------------- scans

// The dimensions of `dims` along the axis, or all others.
static struct dims split_dims(const struct dims *dims, int axis, bool along) {
    struct dims part = {0};
    for (int i = 0; i < dims->count; i++)
        if ((dims->items[i].axis == axis) == along)
            part.items[part.count++] = dims->items[i];
    return part;
}

static const char *scan_operand(struct emitter *emitter, const struct ir_op *op) {
    return masked_operand(emitter, op, 14);
}

// Inside the loops over everything but the axis: `before` is what stands before this thread's elements of the register.
static void scan_registers(struct emitter *emitter, const struct ir_op *op, const struct dims *along,
                           const char *carry) {
    const struct ir_value *result = op->results[0];
    const struct axis_layout *layout = &emitter->lowered->axes[op->axis];
    enum ir_type type = result->type;
    struct dims all = dims_of(emitter, result->axes);
    const char *name = form_of(emitter, result)->name, *ctype = register_type(type), *run = unique_name(emitter, "run");
    int registers = along->count && !along->items[0].vector, vector = along->count > registers;
    open_loops(emitter, along, 0, registers);
    line(emitter, "%s %s = %s;", ctype, run, identity_text(emitter, op->reduction, type));
    open_loops(emitter, along, registers, along->count);
    line(emitter, "%s = %s;", run, combine_text(emitter, op->reduction, type, run, scan_operand(emitter, op)));
    line(emitter, "%s = %s;", subscript_text(emitter, name, &all), run);
    close_loops(emitter, vector);
    const char *before = carry;
    if (emitter->cuda && layout->lanes * layout->warps > 1) {
        before = unique_name(emitter, "before");
        int bytes = type == TYPE_I64 || type == TYPE_F64 ? 8 : 4;
        need_shared(emitter, 32LL * emitter->lowered->warps * bytes);
        const char *function =
            helper(emitter, print(emitter, "tile_scan_%s_%s", ir_reduction_name(op->reduction), type_suffix(type)));
        line(emitter, "%s %s = %s(&%s, tile_shared, %d, %d, %d, %d);", ctype, before, function, run, layout->lanes,
             1 << layout->lane_shift, layout->warps, 1 << layout->warp_shift);
        line(emitter, "%s = %s;", before, combine_text(emitter, op->reduction, type, carry, before));
    }
    open_loops(emitter, along, registers, along->count);
    const char *target = subscript_text(emitter, name, &all);
    line(emitter, "%s = %s;", target, combine_text(emitter, op->reduction, type, before, target));
    close_loops(emitter, vector);
    line(emitter, "%s = %s;", carry, combine_text(emitter, op->reduction, type, carry, run));
    close_loops(emitter, registers);
}

void write_scan(struct emitter *emitter, const struct ir_op *op) {
    const struct ir_value *result = op->results[0];
    int axis = 0;
    while (!(op->over & AXIS_BIT(axis)))
        axis++;
    struct dims all = dims_of(emitter, result->axes);
    struct dims others = split_dims(&all, axis, false), along = split_dims(&all, axis, true);
    line(emitter, "%s %s%s;", register_type(result->type), form_of(emitter, result)->name, dims_text(emitter, &all));
    open_loops(emitter, &others, 0, others.count);
    if (!others.count)
        open_brace(emitter, "%s", "");
    const char *carry = unique_name(emitter, "carry");
    line(emitter, "%s %s = %s;", register_type(result->type), carry,
         identity_text(emitter, op->reduction, result->type));
    struct ir_op along_axis = *op;
    along_axis.axis = axis;
    scan_registers(emitter, &along_axis, &along, carry);
    if (others.count)
        close_loops(emitter, others.count);
    else
        close_brace(emitter);
}
