// SPDX-License-Identifier: Apache-2.0
// Loops, branches and the variables they carry. A carried value is one C variable for its whole life: start value,
// argument, result.
#include <string.h>

#include "codegen/matmul.h"

bool is_control(const struct ir_op *op) {
    return op->code == OP_FOR || op->code == OP_RANGE || op->code == OP_IF;
}

// Of a tile that hangs over, the registers that lie beyond its end for every thread: nobody sees what they hold.
bool ends_early(const struct emitter *emitter, const struct dim *dim) {
    return !dim->vector && emitter->axis_end[dim->axis] && emitter->axis_base[dim->axis];
}

static void end_early(struct emitter *emitter, const struct dim *dim, const char *name) {
    const struct axis_layout *layout = &emitter->lowered->axes[dim->axis];
    const char *end = emitter->axis_end[dim->axis], *base = emitter->axis_base[dim->axis];
    int step = layout->block / layout->registers;
    if (!ends_early(emitter, dim))
        return;
    line(emitter, "if (%s + %s%s >= %s) break;", base, name, step > 1 ? print(emitter, " * %d", step) : "", end);
}

void open_loops(struct emitter *emitter, const struct dims *dims, int from, int to) {
    for (int i = from; i < to; i++) {
        const char *name = emitter->axis_loop[dims->items[i].axis][dims->items[i].vector];
        if (emitter->cuda)
            line(emitter, "#pragma unroll");
        open_brace(emitter, "for (int %s = 0; %s < %d; ++%s)", name, name, dims->items[i].count, name);
        end_early(emitter, &dims->items[i], name);
    }
}

void close_loops(struct emitter *emitter, int count) {
    while (count-- > 0)
        close_brace(emitter);
}

// ---------------------------------------------------------------------------------------------- carried values

static void copy_value(struct emitter *emitter, const char *to, axes_t axes, const struct ir_value *from) {
    struct dims dims = dims_of(emitter, axes);
    open_loops(emitter, &dims, 0, dims.count);
    line(emitter, "%s = %s;", subscript_text(emitter, to, &dims), value_text(emitter, from, 1));
    close_loops(emitter, dims.count);
}

static struct form variable_form(const char *name) {
    return (struct form){.kind = FORM_VARIABLE, .name = name};
}

// The variable that a value is carried in: the start value's own if nothing else needs that, else a new one.
static const char *carry(struct emitter *emitter, const struct ir_value *init, const struct ir_value *argument) {
    const struct form *form = &emitter->forms[init->id];
    struct dims from = dims_of(emitter, init->axes), to = dims_of(emitter, argument->axes);
    if (emitter->handed_on[init->id] && form->kind == FORM_VARIABLE && same_dims(&from, &to))
        return form->name;
    const char *wish = argument->name ? argument->name : init->name ? init->name : "carried";
    const char *name = unique_name(emitter, wish);
    if (!to.count) {
        line(emitter, "%s %s = %s;", register_type(argument->type), name, value_text(emitter, init, 1));
        return name;
    }
    declare(emitter, argument, name, false);
    copy_value(emitter, name, argument->axes, init);
    return name;
}

static bool is_variable(const struct emitter *emitter, const struct ir_value *value, const char *name) {
    const struct form *form = &emitter->forms[value->id];
    return form->kind == FORM_VARIABLE && form->name == name;
}

// Another carried variable of the same loop that would be overwritten before it is read.
static bool reads_carried(const struct emitter *emitter, const struct ir_value *value, const char *const *names,
                          int before) {
    for (int i = 0; i < before; i++)
        if (names[i] && is_variable(emitter, value, names[i]))
            return true;
    return false;
}

// Assigns what the region yields to the variables, all at once.
static void write_yield(struct emitter *emitter, const struct ir_region *region, const char *const *names,
                        struct ir_value *const *carried) {
    const struct ir_op *yield = region->last;
    int count = yield->operand_count;
    const char **saved = ARENA_ARRAY(emitter->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        if (!names[i] || !reads_carried(emitter, yield->operands[i], names, i) || is_variable(emitter, yield->operands[i], names[i]))
            continue;
        saved[i] = unique_name(emitter, "next");
        declare(emitter, carried[i], saved[i], false);
        copy_value(emitter, saved[i], carried[i]->axes, yield->operands[i]);
    }
    for (int i = 0; i < count; i++) {
        if (!names[i] || is_variable(emitter, yield->operands[i], names[i]))
            continue;
        if (!saved[i]) {
            copy_value(emitter, names[i], carried[i]->axes, yield->operands[i]);
            continue;
        }
        struct dims dims = dims_of(emitter, carried[i]->axes);
        open_loops(emitter, &dims, 0, dims.count);
        line(emitter, "%s = %s;", subscript_text(emitter, names[i], &dims), subscript_text(emitter, saved[i], &dims));
        close_loops(emitter, dims.count);
    }
}

// Recognizes `yield a op reduce(v)` where a and the reduction are used nowhere else: v is added to a's variable at
// once.
static void accumulate(struct emitter *emitter, const struct ir_region *region, int slot,
                       const struct ir_value *argument, const char *name) {
    struct ir_value *next = region->last->operands[slot];
    struct ir_op *step = next->region ? NULL : next->def;
    if (!step || step->parent != region || step->operand_count != 2 || emitter->uses[next->id] != 1 ||
        emitter->uses[argument->id] != 1)
        return;
    int at = step->operands[0] == argument ? 0 : step->operands[1] == argument ? 1 : -1;
    if (at < 0)
        return;
    struct ir_value *other = step->operands[1 - at];
    struct ir_op *reduction = other->region ? NULL : other->def;
    if (!reduction || reduction->code != OP_REDUCE || reduction->parent != region || emitter->uses[other->id] != 1 ||
        is_position(reduction))
        return;
    static const struct {
        enum ir_opcode step;
        enum ir_reduction reduction;
    } pairs[] = {{OP_ADD, RED_SUM}, {OP_MUL, RED_PROD}, {OP_MAX, RED_MAX},
                 {OP_MIN, RED_MIN}, {OP_LOR, RED_ANY},  {OP_LAND, RED_ALL}};
    bool matches = false;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        matches |= pairs[i].step == step->code && pairs[i].reduction == reduction->reduction;
    struct dims from = dims_of(emitter, other->axes), to = dims_of(emitter, argument->axes);
    bool crosses = !other->partial && emitter->cuda;
    for (int a = 0; crosses && a < emitter->kernel->axis_count; a++)
        if ((reduction->over & AXIS_BIT(a)) && has_threads(&emitter->lowered->axes[a]))
            return;
    if (!matches || !same_dims(&from, &to) || reduction->operands[0]->partial)
        return;
    emitter->forms[next->id] = variable_form(name);
    emitter->forms[other->id] = (struct form){.kind = FORM_VARIABLE, .name = name, .accumulated = true};
}

// ---------------------------------------------------------------------------------------------- loops

static bool counts_blocks(const struct emitter *emitter, const struct ir_op *loop) {
    const struct axis_layout *layout = &emitter->lowered->axes[loop->axis];
    const struct ir_value *lo = loop->operands[0];
    bool from_zero = !lo->region && lo->def->code == OP_CONST && lo->def->integer == 0;
    return emitter->cuda && layout->place == PLACE_GRID && layout->block == 1 && from_zero;
}

// Positions have the width of the loop's bounds: a range may lie beyond 2^31 while every extent is below. There are no
// more blocks than that.
const char *position_type(const struct emitter *emitter, const struct ir_op *loop) {
    bool wide = loop->operands[1]->type == TYPE_I64 && (emitter->lowered->options.index64 || !counts_blocks(emitter, loop));
    return wide ? "long long" : "int";
}

// What the positions of an axis are made of, once the tile's first point is known: "tk0 + its thread's offset".
void enter_tile(struct emitter *emitter, const struct ir_op *loop, const char *base) {
    int axis = loop->axis;
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    const char *offset = emitter->axis_offset[axis];
    emitter->axis_base[axis] = base;
    if (!offset || layout->block == 1) {
        emitter->axis_thread[axis] = base;
        return;
    }
    emitter->axis_thread[axis] = unique_name(emitter, emitter->kernel->axes[axis].name);
    line(emitter, "const %s %s = %s + %s;", position_type(emitter, loop), emitter->axis_thread[axis], base, offset);
    note_position(emitter, emitter->axis_thread[axis]);
}

const char *base_name(struct emitter *emitter, int axis) {
    const char *name = emitter->kernel->axes[axis].name;
    bool single = emitter->lowered->axes[axis].block == 1;
    return unique_name(emitter, single ? name : print(emitter, "%s0", name));
}

static void write_body(struct emitter *emitter, struct ir_op *loop, const char *const *names) {
    struct ir_region *body = loop->regions[0];
    int first = body->arg_count - loop->result_count;
    for (int i = 0; i < loop->result_count; i++) {
        if (!names[i])
            continue;
        emitter->forms[body->args[first + i]->id] = variable_form(names[i]);
        accumulate(emitter, body, i, body->args[first + i], names[i]);
    }
    write_region(emitter, body);
    write_yield(emitter, body, names, loop->results);
}

static void write_condition(struct emitter *emitter, struct ir_op *loop, const char *const *names) {
    if (loop->region_count < 2)
        return;
    struct ir_region *condition = loop->regions[1];
    for (int i = 0; i < condition->arg_count; i++)
        if (names[i])
            emitter->forms[condition->args[i]->id] = variable_form(names[i]);
    write_region(emitter, condition);
    line(emitter, "if (!%s) break;", value_text(emitter, condition->last->operands[0], 14));
}

enum { WORTH_A_BRANCH = 2 };  // operations on a point of the tile, beside its loads and what sums it up

static int work_on(const struct ir_region *region, int axis) {
    int count = 0;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        bool floats = op->result_count && (op->results[0]->axes & AXIS_BIT(axis)) && ir_type_is_float(op->results[0]->type);
        count += floats && (ir_ops[op->code].flags & F_ELEMENTWISE) && op->code != OP_CAST && op->code != OP_BROADCAST;
        for (int r = 0; r < op->region_count; r++)
            count += work_on(op->regions[r], axis);
    }
    return count;
}

bool has_loop(const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR || op->code == OP_RANGE)
            return true;
        for (int r = 0; r < op->region_count; r++)
            if (has_loop(op->regions[r]))
                return true;
    }
    return false;
}

// The tile may hang over, all threads see by how much, and a point of it is more work than the look. Where there are
// loops inside, each of their turns would look, and its loads wait for that.
static bool may_end_early(const struct emitter *emitter, const struct ir_op *loop) {
    const struct axis_layout *layout = &emitter->lowered->axes[loop->axis];
    return emitter->cuda && emitter->lowered->config->dot == DOT_FMA && !layout->exact && layout->registers > 1 &&
           !loop->operands[1]->axes && !has_loop(loop->regions[0]) &&
           work_on(loop->regions[0], loop->axis) >= WORTH_A_BRANCH;
}

// The first turn stands in front of a loop over the others, because it finds no late product.
static void write_late_loop(struct emitter *emitter, struct ir_op *loop, const char *const *names, const char *lo,
                            const char *hi) {
    int axis = loop->axis, block = emitter->lowered->axes[axis].block;
    size_t bytes = sizeof *emitter->forms * (size_t)emitter->kernel->value_count;
    struct form *forms = arena_alloc(emitter->arena, bytes);
    const char *first = base_name(emitter, axis), *type = position_type(emitter, loop);
    memcpy(forms, emitter->forms, bytes);
    line(emitter, "const %s %s = %s;", type, first, lo);
    enter_tile(emitter, loop, first);
    write_body(emitter, loop, names);
    memcpy(emitter->forms, forms, bytes);
    const char *base = base_name(emitter, axis);
    open_brace(emitter, "for (%s %s = %s + %d; %s < %s; %s += %d)", type, base, first, block, base, hi, base, block);
    leave_out(emitter, loop, base);
    enter_tile(emitter, loop, base);
    write_body(emitter, loop, names);
    close_brace(emitter);
    end_late(emitter);
}

static void write_for(struct emitter *emitter, struct ir_op *loop, const char *const *names) {
    int axis = loop->axis;
    const struct axis_layout *layout = &emitter->lowered->axes[axis];
    comment_lines(emitter, loop->line);
    if (layout->place == PLACE_GRID) {
        write_body(emitter, loop, names);
        return;
    }
    const char *lo = value_text(emitter, loop->operands[0], 11), *hi = value_text(emitter, loop->operands[1], 11);
    const char *base = base_name(emitter, axis);
    struct ring *ring = layout->single ? NULL : start_ring(emitter, loop, lo, hi);
    if (!layout->single && has_late(emitter, loop)) {
        open_brace(emitter, "if (%s < %s)", lo, hi);
        start_late(emitter, loop);
        write_late_loop(emitter, loop, names, lo, hi);
        close_brace(emitter);
        return;
    }
    begin_slab_loop(emitter, loop);
    if (layout->single) {
        open_brace(emitter, "if (%s < %s)", lo, hi);
        line(emitter, "const %s %s = %s;", position_type(emitter, loop), base, lo);
    } else {
        if (emitter->cuda && layout->unroll > 1)
            line(emitter, "#pragma unroll %d", layout->unroll);
        const char *step =
            layout->block == 1 ? print(emitter, "++%s", base) : print(emitter, "%s += %d", base, layout->block);
        open_brace(emitter, "for (%s %s = %s; %s < %s; %s)", position_type(emitter, loop), base, lo, base, hi, step);
    }
    write_condition(emitter, loop, names);
    if (ring)
        turn_ring(ring, base);
    enter_tile(emitter, loop, base);
    begin_slab_tile(emitter, loop);
    emitter->axis_end[axis] = may_end_early(emitter, loop) ? hi : NULL;
    write_body(emitter, loop, names);
    emitter->axis_end[axis] = NULL;
    end_slab_tile(emitter, loop);
    close_brace(emitter);
    end_slab_loop(emitter, loop);
}

static void write_range(struct emitter *emitter, struct ir_op *loop, const char *const *names) {
    struct ir_value *index = loop->regions[0]->args[0];
    comment_lines(emitter, loop->line);
    const char *name = unique_name(emitter, index->name ? index->name : "i");
    const char *lo = value_text(emitter, loop->operands[0], 1), *hi = value_text(emitter, loop->operands[1], 11);
    open_brace(emitter, "for (%s %s = %s; %s < %s; ++%s)", register_type(index->type), name, lo, name, hi, name);
    emitter->forms[index->id] = variable_form(name);
    write_body(emitter, loop, names);
    close_brace(emitter);
}

static void write_branch(struct emitter *emitter, struct ir_op *op, int which, const char *const *names) {
    struct ir_region *region = op->regions[which];
    for (int i = 0; i < region->arg_count; i++)
        if (names[i])
            emitter->forms[region->args[i]->id] = variable_form(names[i]);
    write_region(emitter, region);
    write_yield(emitter, region, names, op->results);
}

static bool does_nothing(const struct ir_region *region) {
    if (region->first != region->last)
        return false;
    for (int i = 0; i < region->arg_count; i++)
        if (region->last->operands[i] != region->args[i])
            return false;
    return true;
}

static void write_if(struct emitter *emitter, struct ir_op *op, const char *const *names) {
    comment_lines(emitter, op->line);
    open_brace(emitter, "if (%s)", value_text(emitter, op->operands[0], 1));
    write_branch(emitter, op, 0, names);
    if (!does_nothing(op->regions[1])) {
        emitter->indent--;
        open_brace(emitter, "} else");
        write_branch(emitter, op, 1, names);
    }
    close_brace(emitter);
}

static void write_control(struct emitter *emitter, struct ir_op *op) {
    int first = op->code == OP_IF ? 1 : 2;
    const char **names = ARENA_ARRAY(emitter->arena, const char *, op->result_count + 1);
    int64_t stage_top = emitter->stage_top;  // tiles of a region live as long as it does
    for (int i = 0; i < op->result_count; i++) {
        struct ir_region *region = op->regions[0];
        if (is_carried_here(emitter, op->results[i]))
            names[i] = carry(emitter, op->operands[first + i], region->args[region->arg_count - op->result_count + i]);
    }
    if (op->code == OP_FOR)
        write_for(emitter, op, names);
    else if (op->code == OP_RANGE)
        write_range(emitter, op, names);
    else
        write_if(emitter, op, names);
    for (int i = 0; i < op->result_count; i++)
        if (names[i])
            emitter->forms[op->results[i]->id] = variable_form(names[i]);
    emitter->stage_top = stage_top;
}

void write_ops(struct emitter *emitter, struct ir_op **ops, int count) {
    int start = 0;
    struct deliveries deliveries = begin_deliveries(emitter, ops, count);
    for (int i = 0; i <= count; i++) {
        bool fetches = i < count && (ops[i]->code == OP_FETCH || ops[i]->code == OP_FETCHED);
        bool meets = fetches || (i < count && (ops[i]->code == OP_ARRIVE || ops[i]->code == OP_AWAIT));
        if (i < count && !is_control(ops[i]) && !meets)
            continue;
        if (i > start)
            write_segment(emitter, ops + start, i - start);
        pass_deliveries(emitter, &deliveries, start, i);
        if (fetches)
            write_fetch(emitter, ops[i]);
        else if (meets)
            write_meeting(emitter, ops[i]);
        else if (i < count && !is_left_out(emitter, ops[i]))
            write_control(emitter, ops[i]);
        pass_deliveries(emitter, &deliveries, i, i + 1);
        start = i + 1;
    }
}

void write_region(struct emitter *emitter, struct ir_region *region) {
    int count = 0, i = 0;
    for (const struct ir_op *op = region->first; op; op = op->next)
        count += op->code != OP_YIELD;
    struct ir_op **ops = ARENA_ARRAY(emitter->arena, struct ir_op *, count + 1);
    for (struct ir_op *op = region->first; op; op = op->next)
        if (op->code != OP_YIELD)
            ops[i++] = op;
    write_ops(emitter, ops, count);
}
