// SPDX-License-Identifier: Apache-2.0
// lower_masks: the implicit masks become explicit, and only where they are needed.
//
// In: a program whose effects happen at the active points. Out: loads, stores, atomics, reductions and scans carry
// predicates, assignments are selects, and an `if` whose condition is on axes is gone (its body stays, masked).
//
// note [atoms] What limits the active points at a place is a conjunction of atoms: for each loop around it `t < bound`
// where tiles may hang over, for each `if` around it its condition. An operation on the axes S needs the atoms that are
// on S. Of an atom on more axes it needs the projection: does any point over this one fulfil it? For `t < bound` with
// bound on S that is `begin(t) < bound`, and for a loop's own end it is true; else a reduction `any` says it.
//
// note [facts] Each value may hold facts: "where atom p is false, this is the constant c". A load is 0 where any of its
// atoms is false; element-wise operations fold what is known of their operands. A reduction needs no atom whose fact is
// the reduction's identity. Facts are tied to the atom they were made under, so a stronger condition around a use
// brings its own select.
#include "lowering/matmul.h"
#include "lowering/pass.h"

struct atom {
    struct ir_value *condition;
    int axis;  // of `axis < bound`, or -1
    struct ir_value *bound;
    bool tail;     // the end of the axis's own domain
    bool reached;  // begin(axis) < bound holds wherever the loop runs
};

struct fact {
    const struct ir_value *atom;
    struct ir_value *constant;
    struct fact *next;
};

enum { MAX_ATOMS = 128 };

struct atoms {
    int count;
    struct atom items[MAX_ATOMS];
};

// What a value was made under, by id.
struct note {
    struct fact *facts;
    int depth;       // of a variable: how many atoms were around its declaration
    int atom_count;  // of a reduction: the atoms that were around it
    struct ir_value **atoms;
};

struct masking {
    struct pass_context *context;
    struct ir_kernel *kernel;
    struct atoms around;
    struct ir_value *full_domain[IR_MAX_AXES];  // `d < D`, where a tile of d hangs over
    struct note **notes;
    int note_capacity;
};

static struct note *note_of(struct masking *masking, const struct ir_value *value) {
    if (value->id >= masking->note_capacity) {
        int capacity = 2 * value->id + 256;
        masking->notes =
            arena_grow(masking->context->arena, masking->notes, (size_t)masking->note_capacity * sizeof *masking->notes,
                       (size_t)capacity * sizeof *masking->notes);
        masking->note_capacity = capacity;
    }
    if (!masking->notes[value->id])
        masking->notes[value->id] = ARENA_NEW(masking->context->arena, struct note);
    return masking->notes[value->id];
}

// ---------------------------------------------------------------------------------------------- facts

static struct ir_value *fact_at(struct masking *masking, struct ir_value *value, const struct ir_value *atom) {
    if (is_constant(value))
        return value;
    for (struct fact *fact = note_of(masking, value)->facts; fact; fact = fact->next)
        if (fact->atom == atom)
            return fact->constant;
    return NULL;
}

static void learn(struct masking *masking, struct ir_value *value, const struct ir_value *atom,
                  struct ir_value *constant) {
    if (fact_at(masking, value, atom))
        return;
    struct note *note = note_of(masking, value);
    struct fact *fact = ARENA_NEW(masking->context->arena, struct fact);
    *fact = (struct fact){atom, constant, note->facts};
    note->facts = fact;
}

// What the operation gives where `atom` is false, if all its operands are known there.
static void fold_fact(struct masking *masking, struct ir_op *op, const struct ir_value *atom) {
    if (op->code == OP_SELECT && op->operands[0] == atom) {
        struct ir_value *other = fact_at(masking, op->operands[2], atom);
        if (other)
            learn(masking, op->results[0], atom, other);
        return;
    }
    struct ir_value *known[3];
    for (int i = 0; i < op->operand_count; i++)
        if (!(known[i] = fact_at(masking, op->operands[i], atom)))
            return;
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct ir_value *folded = fold_constant(&builder, op, known);
    if (folded)
        learn(masking, op->results[0], atom, folded);
}

static bool are_same_constant(const struct ir_value *a, const struct ir_value *b) {
    return is_constant(a) && is_constant(b) && a->type == b->type && a->def->integer == b->def->integer &&
           a->def->number == b->def->number;
}

// `c ? x : 0` where x is a load that is 0 unless c already: the load itself.
static void drop_known_choice(struct masking *masking, struct ir_op *op) {
    struct ir_value *known = op->code == OP_SELECT ? fact_at(masking, op->operands[1], op->operands[0]) : NULL;
    if (!known || is_constant(op->operands[1]) || !are_same_constant(known, op->operands[2]))
        return;
    op->code = OP_BROADCAST;
    op->operands[0] = op->operands[1];
    op->operand_count = 1;
}

static void fold_facts(struct masking *masking, struct ir_op *op) {
    drop_known_choice(masking, op);
    for (int i = 0; i < op->operand_count; i++)
        for (struct fact *fact = note_of(masking, op->operands[i])->facts; fact; fact = fact->next)
            fold_fact(masking, op, fact->atom);
    if (op->code == OP_SELECT && is_constant(op->operands[2]))
        learn(masking, op->results[0], op->operands[0], op->operands[2]);
}

// ---------------------------------------------------------------------------------------------- which atoms

// The atoms that an operation on `axes` has to look at, projected on them.
// Never more than one for each atom around, one for each full axis, an `any` and the program's own predicate.
struct mask {
    int count;
    struct ir_value *atoms[MAX_ATOMS + IR_MAX_AXES + 2];
};

static void mask_add(struct mask *mask, struct ir_value *atom) {
    for (int i = 0; i < mask->count; i++)
        if (mask->atoms[i] == atom)
            return;
    mask->atoms[mask->count++] = atom;
}

static struct ir_value *conjunction(struct ir_builder *builder, const struct mask *mask) {
    struct ir_value *all = NULL;
    for (int i = 0; i < mask->count; i++)
        all = all ? ir_binary(builder, OP_LAND, all, mask->atoms[i]) : mask->atoms[i];
    return all;
}

static bool is_alone_on(const struct atoms *around, int from, const struct atom *atom) {
    for (int i = from; i < around->count; i++) {
        const struct atom *other = &around->items[i];
        if (other != atom && !other->tail && (other->condition->axes & AXIS_BIT(atom->axis)))
            return false;
    }
    return true;
}

// Adds the projection of an atom that is on one more axis, the one it bounds; false if it takes more than that.
static bool project_bound(struct masking *masking, struct ir_builder *builder, const struct atom *atom, int from,
                          axes_t axes, struct mask *mask) {
    if (atom->axis < 0 || (atom->condition->axes & ~axes) != AXIS_BIT(atom->axis))
        return false;
    if (!is_alone_on(&masking->around, from, atom))
        return false;
    if (atom->reached)
        return true;
    struct ir_value *begin = masking->kernel->axes[atom->axis].kind == AXIS_FULL
                                 ? ir_integer(builder, TYPE_I64, 0)
                                 : ir_axis_value(builder, OP_BEGIN, atom->axis);
    begin->axes = 0;
    mask_add(mask, ir_binary(builder, OP_LT, begin, atom->bound));
    return true;
}

static void add_full_domains(struct masking *masking, axes_t axes, struct mask *mask) {
    for (int a = 0; a < masking->kernel->axis_count; a++)
        if ((axes & AXIS_BIT(a)) && masking->full_domain[a])
            mask_add(mask, masking->full_domain[a]);
}

// One `any` over everything that `left` (atoms beyond `axes`) is about.
static void project_any(struct masking *masking, struct ir_builder *builder, struct mask *left, axes_t axes,
                        struct mask *mask) {
    axes_t over = 0;
    for (int i = 0; i < left->count; i++)
        over |= left->atoms[i]->axes & ~axes;
    for (int i = 0; i < masking->around.count; i++) {
        const struct atom *atom = &masking->around.items[i];
        if (atom->tail && atom->axis >= 0 && (over & AXIS_BIT(atom->axis)))
            mask_add(left, atom->condition);
    }
    add_full_domains(masking, over, left);
    struct ir_value *all = conjunction(builder, left);
    struct ir_value *any = ir_reduce(builder, RED_ANY, over, all, NULL);
    any->axes = all->axes & ~over;
    mask_add(mask, any);
}

// The mask of `axes` from the atoms pushed at `from` or later; `tails` says whether ends of domains count.
static void mask_for(struct masking *masking, struct ir_builder *builder, axes_t axes, int from, bool tails,
                     struct mask *mask) {
    struct mask left = {0};
    mask->count = 0;
    for (int i = from; i < masking->around.count; i++) {
        const struct atom *atom = &masking->around.items[i];
        if (!(atom->condition->axes & ~axes)) {
            if (tails || !atom->tail)
                mask_add(mask, atom->condition);
        } else if (!project_bound(masking, builder, atom, from, axes, mask)) {
            if (!atom->tail)
                mask_add(&left, atom->condition);
        }
    }
    if (tails)
        add_full_domains(masking, axes, mask);
    if (left.count)
        project_any(masking, builder, &left, axes, mask);
}

// ---------------------------------------------------------------------------------------------- operations

static void set_predicate(struct masking *masking, struct ir_op *op, struct ir_value *predicate) {
    int count = op->operand_count;
    struct ir_value **operands = ARENA_ARRAY(masking->context->arena, struct ir_value *, count + 1);
    for (int i = 0; i < count; i++)
        operands[i] = op->operands[i];
    operands[count] = predicate;
    op->operands = operands;
    op->operand_count++;
    op->predicated = true;
}

// Takes the predicate that the program itself gave away from the operation, as one more atom.
static void take_predicate(struct ir_op *op, struct mask *mask) {
    if (!op->predicated)
        return;
    mask_add(mask, op->operands[--op->operand_count]);
    op->predicated = false;
}

static void mask_access(struct masking *masking, struct ir_op *op) {
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct mask mask, own = {0};
    mask_for(masking, &builder, axes_of_operands(op), 0, true, &mask);
    take_predicate(op, &own);
    for (int i = 0; i < own.count; i++)
        mask_add(&mask, own.atoms[i]);
    struct ir_value *predicate = conjunction(&builder, &mask);
    if (predicate)
        set_predicate(masking, op, predicate);
    if (op->code != OP_LOAD)
        return;
    op->results[0]->axes = axes_of_operands(op);
    struct ir_builder constants = builder_before(masking->kernel, op);
    enum ir_type type = op->results[0]->type;
    struct ir_value *zero = ir_type_is_float(type) ? ir_number(&constants, type, 0) : ir_integer(&constants, type, 0);
    for (int i = 0; i < mask.count; i++)
        learn(masking, op->results[0], mask.atoms[i], zero);
}

// `dot` on the plain units: a product and a sum.
static void expand_dot(struct masking *masking, struct ir_op *op) {
    struct ir_builder builder = builder_before(masking->kernel, op);
    enum ir_type type = op->results[0]->type;
    struct ir_value *product =
        ir_binary(&builder, OP_MUL, ir_cast(&builder, type, op->operands[0]), ir_cast(&builder, type, op->operands[1]));
    for (int i = 0; i < 2; i++)
        if (product->def->operands[i] != op->operands[i])
            fold_facts(masking, product->def->operands[i]->def);
    fold_facts(masking, product->def);
    op->code = OP_REDUCE;
    op->reduction = RED_SUM;
    op->operands[0] = product;
    for (int i = 1; i + 1 < op->operand_count; i++)
        op->operands[i] = op->operands[i + 1];
    op->operand_count--;
}

// A reduction over axes of one point each: the value itself where there is an active point.
static void collapse_reduction(struct masking *masking, struct ir_op *op, struct ir_value *predicate) {
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct ir_value *value = op->operands[0];
    enum ir_type type = op->results[0]->type;
    if (op->code == OP_REDUCE && (op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN)) {
        bool full = masking->kernel->axes[op->axis].kind == AXIS_FULL;
        value = full ? ir_integer(&builder, TYPE_I64, 0) : ir_axis_value(&builder, OP_BEGIN, op->axis);
        value->axes = 0;
    }
    if (predicate && op->code == OP_REDUCE)
        value = ir_select(&builder, predicate, value, identity_constant(&builder, op->reduction, type));
    op->code = OP_BROADCAST;  // to the result's axes
    op->operands[0] = value;
    op->operand_count = 1;
    op->predicated = false;
}

static void remember_atoms(struct masking *masking, struct ir_value *result) {
    struct note *note = note_of(masking, result);
    note->atom_count = masking->around.count;
    note->atoms = ARENA_ARRAY(masking->context->arena, struct ir_value *, note->atom_count);
    for (int i = 0; i < note->atom_count; i++)
        note->atoms[i] = masking->around.items[i].condition;
}

// The mask of an amax: only what costs nothing to know. A row that isn't active may have its say.
static void mask_bound(struct masking *masking, axes_t axes, struct mask *mask) {
    mask->count = 0;
    for (int i = 0; i < masking->around.count; i++)
        if (!(masking->around.items[i].condition->axes & ~axes))
            mask_add(mask, masking->around.items[i].condition);
}

// The operand, 0 where an atom along what is summed over is false. Along its own axis it may hold anything: whatever
// comes of that is outside as well.
static struct ir_value *masked_factor(struct masking *masking, struct ir_op *dot, struct ir_value *operand) {
    struct ir_builder builder = builder_before(masking->kernel, dot);
    struct mask needed = {0};
    const struct atoms *around = &masking->around;
    for (int i = 0; i < around->count + masking->kernel->axis_count; i++) {
        struct ir_value *atom = i < around->count ? around->items[i].condition : masking->full_domain[i - around->count];
        if (!atom || !(atom->axes & dot->over) || (atom->axes & ~operand->axes))
            continue;
        struct ir_value *known = fact_at(masking, operand, atom);
        if (!known || !is_identity(known, RED_SUM))
            mask_add(&needed, atom);
    }
    struct ir_value *predicate = conjunction(&builder, &needed);
    return predicate ? ir_select(&builder, predicate, operand, ir_number(&builder, operand->type, 0)) : operand;
}

// `dot` on the matrix units: both operands are 0 outside their domains, and nothing else limits the sum.
static void mask_factors(struct masking *masking, struct ir_op *dot) {
    axes_t a = dot->operands[0]->axes, b = dot->operands[1]->axes;
    for (int i = 0; i < masking->around.count; i++) {
        axes_t axes = masking->around.items[i].condition->axes;
        if ((axes & dot->over) && (axes & ~a) && (axes & ~b)) {
            refuse(masking->context, "lowering.mma-condition", dot->span,
                   "a condition on the axes of both operands decides what is summed");
            return;
        }
    }
    remember_atoms(masking, dot->results[0]);
    for (int i = 0; i < 2; i++)
        dot->operands[i] = masked_factor(masking, dot, dot->operands[i]);
}

static void mask_reduction(struct masking *masking, struct ir_op *op) {
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct mask mask, needed = {0};
    if (op->code == OP_DOT)
        expand_dot(masking, op);
    builder = builder_before(masking->kernel, op);
    axes_t axes = op->results[0]->axes | op->over | op->operands[0]->axes;
    if (op->code == OP_REDUCE && op->integer)
        mask_bound(masking, axes, &mask);
    else
        mask_for(masking, &builder, axes, 0, true, &mask);
    take_predicate(op, &mask);
    bool position = op->reduction == RED_ARGMAX || op->reduction == RED_ARGMIN;
    for (int i = 0; i < mask.count; i++) {
        struct ir_value *known = position ? NULL : fact_at(masking, op->operands[0], mask.atoms[i]);
        if (!known || !is_identity(known, op->reduction))
            mask_add(&needed, mask.atoms[i]);
    }
    struct ir_value *predicate = conjunction(&builder, &needed);
    remember_atoms(masking, op->results[0]);
    if (!op->over)
        collapse_reduction(masking, op, predicate);
    else if (predicate)
        set_predicate(masking, op, predicate);
}

// Is `value` old op reduction, where the reduction gives its identity wherever `atom` leaves nothing?
static bool is_covered(struct masking *masking, const struct ir_value *old, const struct ir_value *value,
                       const struct ir_value *atom) {
    const struct ir_op *step = value->region ? NULL : value->def;
    if (!step || reduction_of(step->code) == RED_COUNT || step->operand_count != 2)
        return false;
    const struct ir_value *other = step->operands[0] == old ? step->operands[1] : step->operands[0];
    if (step->operands[0] != old && step->operands[1] != old)
        return false;
    const struct ir_op *reduction = other->region ? NULL : other->def;
    bool product = reduction && reduction->code == OP_DOT && step->code == OP_ADD;
    bool reduces = reduction && reduction->code == OP_REDUCE && reduction->reduction == reduction_of(step->code);
    if ((!product && !reduces) || (atom->axes & ~(other->axes | reduction->over)))
        return false;
    if (product && !(atom->axes & reduction->over))
        return false;  // 0 times what lies there may be NaN
    const struct note *note = note_of(masking, other);
    for (int i = 0; i < note->atom_count; i++)
        if (note->atoms[i] == atom)
            return true;
    return false;
}

// Everything an assignment's new value gets from where the variable was declared on is limited alike: only atoms pushed
// since then count, and of those only the ones that the new value doesn't observe by itself.
static void mask_update(struct masking *masking, struct ir_op *op) {
    struct ir_value *old = op->operands[0], *value = op->operands[1], *result = op->results[0];
    int depth = note_of(masking, old)->depth;
    struct atoms saved = masking->around;
    int kept = depth;
    for (int i = depth; i < saved.count; i++)
        if (saved.items[i].tail || !is_covered(masking, old, value, saved.items[i].condition))
            masking->around.items[kept++] = saved.items[i];
    masking->around.count = kept;
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct mask mask;
    mask_for(masking, &builder, result->axes, depth, false, &mask);
    masking->around = saved;
    struct ir_value *predicate = conjunction(&builder, &mask);
    note_of(masking, result)->depth = depth;
    if (predicate) {
        op->code = OP_SELECT;
        op->operands = ARENA_ARRAY(masking->context->arena, struct ir_value *, 3);
        op->operands[0] = predicate;
        op->operands[1] = value;
        op->operands[2] = old;
        op->operand_count = 3;
    } else {
        op->code = OP_BROADCAST;
        op->operands[0] = value;
        op->operand_count = 1;
    }
}

static void mask_assert(struct masking *masking, struct ir_op *op) {
    if (!masking->context->out->options.checked) {
        ir_remove(op);
        return;
    }
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct mask mask;
    mask_for(masking, &builder, op->operands[0]->axes, 0, true, &mask);
    struct ir_value *predicate = conjunction(&builder, &mask);
    if (predicate)
        op->operands[0] = ir_binary(&builder, OP_LOR, ir_unary(&builder, OP_LNOT, predicate), op->operands[0]);
}

static void mask_print(struct masking *masking, struct ir_op *op) {
    struct ir_builder builder = builder_before(masking->kernel, op);
    struct mask mask;
    mask_for(masking, &builder, op->operands[0]->axes, 0, true, &mask);
    struct ir_value *predicate = conjunction(&builder, &mask);
    if (predicate)
        set_predicate(masking, op, predicate);
}

// ---------------------------------------------------------------------------------------------- structure

static void visit_region(struct masking *masking, struct ir_region *region);
static void visit_op(struct masking *masking, struct ir_op *op);

static bool push(struct masking *masking, struct atom atom) {
    if (masking->around.count == MAX_ATOMS)
        return refuse(masking->context, "lowering.conditions", (struct span){0},
                      "more than %d conditions hold at one place", MAX_ATOMS);
    masking->around.items[masking->around.count++] = atom;
    return true;
}

// Pushes a condition as its conjuncts, recognizing `t < bound`.
static void push_condition(struct masking *masking, struct ir_value *condition) {
    const struct ir_op *def = condition->region ? NULL : condition->def;
    if (def && def->code == OP_LAND) {
        push_condition(masking, def->operands[0]);
        push_condition(masking, def->operands[1]);
        return;
    }
    struct atom atom = {.condition = condition, .axis = -1};
    if (def && def->code == OP_LT && !def->operands[0]->region && def->operands[0]->def->code == OP_INDEX) {
        int axis = def->operands[0]->def->axis;
        if (!(def->operands[1]->axes & AXIS_BIT(axis))) {
            const struct ir_axis *bounded = &masking->kernel->axes[axis];
            const struct axis_layout *layout = &masking->context->out->axes[axis];
            atom.axis = axis;
            atom.bound = def->operands[1];
            atom.reached = bounded->kind != AXIS_FULL && atom.bound == bounded->hi;
            if (atom.reached && layout->exact)
                return;
        }
    }
    push(masking, atom);
}

static bool divides(const struct ir_value *lo, const struct ir_value *hi, int block) {
    int64_t first, last;
    return is_integer_constant(lo, &first) && is_integer_constant(hi, &last) && (last - first) % block == 0;
}

static void visit_for(struct masking *masking, struct ir_op *loop) {
    struct axis_layout *layout = &masking->context->out->axes[loop->axis];
    struct ir_region *body = loop->regions[0];
    int depth = masking->around.count;
    for (int i = 0; i < body->arg_count; i++) {
        int declared = note_of(masking, loop->operands[2 + i])->depth;
        note_of(masking, body->args[i])->depth = declared;
        note_of(masking, loop->results[i])->depth = declared;
    }
    if (layout->block == 1 || divides(loop->operands[0], loop->operands[1], layout->block))
        layout->exact = true;
    if (!layout->exact && !layout->covered) {
        struct ir_builder builder = builder_at_start(masking->kernel, body, loop);
        struct ir_value *index = ir_axis_value(&builder, OP_INDEX, loop->axis);
        struct ir_value *inside = ir_binary(&builder, OP_LT, index, loop->operands[1]);
        push(masking, (struct atom){inside, loop->axis, loop->operands[1], true, true});
    }
    visit_region(masking, body);
    masking->around.count = depth;
    if (loop->region_count == 2)
        visit_region(masking, loop->regions[1]);
}

static void visit_moved(struct masking *masking, struct ir_region *region, struct ir_op *before) {
    while (region->first != region->last) {
        struct ir_op *op = region->first;
        ir_move_before(op, before);
        visit_op(masking, op);
    }
}

// An `if` on axes: both branches stand one after the other, each under its atoms.
static void flatten_if(struct masking *masking, struct ir_op *op) {
    struct ir_kernel *kernel = masking->kernel;
    struct ir_value *condition = op->operands[0];
    int carried = op->result_count, depth = masking->around.count;
    struct ir_region *then = op->regions[0], *otherwise = op->regions[1];
    for (int i = 0; i < carried; i++)
        ir_replace_uses(kernel, then->args[i], op->operands[1 + i]);
    push_condition(masking, condition);
    visit_moved(masking, then, op);
    masking->around.count = depth;
    for (int i = 0; i < carried; i++)
        ir_replace_uses(kernel, otherwise->args[i], then->last->operands[i]);
    if (otherwise->first != otherwise->last) {
        struct ir_builder builder = builder_before(kernel, op);
        push(masking, (struct atom){ir_unary(&builder, OP_LNOT, condition), -1, NULL, false, false});
        visit_moved(masking, otherwise, op);
        masking->around.count = depth;
    }
    for (int i = 0; i < carried; i++)
        ir_replace_uses(kernel, op->results[i], otherwise->last->operands[i]);
    ir_remove(op);
}

static void visit_branch(struct masking *masking, struct ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        int depth = note_of(masking, op->operands[1 + i])->depth;
        note_of(masking, op->regions[0]->args[i])->depth = depth;
        note_of(masking, op->regions[1]->args[i])->depth = depth;
        note_of(masking, op->results[i])->depth = depth;
    }
    visit_region(masking, op->regions[0]);
    visit_region(masking, op->regions[1]);
}

static void visit_range(struct masking *masking, struct ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        int depth = note_of(masking, op->operands[2 + i])->depth;
        note_of(masking, op->regions[0]->args[1 + i])->depth = depth;
        note_of(masking, op->results[i])->depth = depth;
    }
    visit_region(masking, op->regions[0]);
}

static void visit_op(struct masking *masking, struct ir_op *op) {
    switch (op->code) {
    case OP_FOR: visit_for(masking, op); break;
    case OP_RANGE: visit_range(masking, op); break;
    case OP_IF:
        if (op->operands[0]->axes)
            flatten_if(masking, op);
        else
            visit_branch(masking, op);
        break;
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC: mask_access(masking, op); break;
    case OP_REDUCE:
    case OP_SCAN: mask_reduction(masking, op); break;
    case OP_DOT:
        if (uses_matrix_units(masking->context->config, &masking->context->out->options.target))
            mask_factors(masking, op);
        else
            mask_reduction(masking, op);
        break;
    case OP_UPDATE: mask_update(masking, op); break;
    case OP_BROADCAST: note_of(masking, op->results[0])->depth = masking->around.count; break;
    case OP_ASSERT: mask_assert(masking, op); break;
    case OP_PRINT: mask_print(masking, op); break;
    default:
        if ((ir_ops[op->code].flags & F_ELEMENTWISE) && op->result_count)
            fold_facts(masking, op);
    }
}

static void visit_region(struct masking *masking, struct ir_region *region) {
    for (struct ir_op *op = region->first, *next; op; op = next) {
        next = op->next;
        visit_op(masking, op);
    }
}

// `d < D` for the axes covered whole, made once at the start so that every use of it is the same atom.
static void make_full_domains(struct masking *masking) {
    struct ir_kernel *kernel = masking->kernel;
    struct ir_op *first = kernel->body->first;
    for (int a = 0; a < kernel->axis_count; a++) {
        struct ir_axis *axis = &kernel->axes[a];
        int64_t extent;
        if (axis->kind != AXIS_FULL || !axis->hi || !is_integer_constant(axis->hi, &extent))
            continue;
        if (extent == masking->context->out->axes[a].block)
            continue;
        struct ir_builder builder = builder_before(kernel, first);
        struct ir_value *index = ir_axis_value(&builder, OP_INDEX, a);
        masking->full_domain[a] = ir_binary(&builder, OP_LT, index, ir_integer(&builder, TYPE_I64, extent));
    }
}

bool lower_masks(struct pass_context *context) {
    struct masking *masking = ARENA_NEW(context->arena, struct masking);
    masking->context = context;
    masking->kernel = context->kernel;
    make_full_domains(masking);
    visit_region(masking, context->kernel->body);
    infer_axes(context->kernel);
    return !context->status.code;
}
