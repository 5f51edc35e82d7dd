// SPDX-License-Identifier: Apache-2.0
// The rules of "Memory". In: a kernel's IR. Out: complaints about loads that could see what other points store.
// The one idea: each loop at the top of a kernel is one launch. Within it a tensor's stores all have one index, and a
// load of the tensor has the same, which is compared as a computation, not as text.
#include <string.h>

#include "frontend/check.h"

struct target {  // one tensor in one loop at the top
    const struct ir_op *store;   // the first
    const struct ir_op *other;   // a store whose index differs from the first's
    const struct ir_op *atomic;  // the first
};

struct memory {
    struct checker *checker;
    struct target *targets;  // by parameter, in the present loop
    bool *stored;            // by parameter: in a loop so far
    bool complete;
};

// ---------------------------------------------------------------------------------------------- the same index?

enum { STEPS_MOST = 20000 };

static bool is_alike(const struct ir_value *a, const struct ir_value *b, int *steps) {
    if (a == b)
        return true;
    const struct ir_op *p = a->def, *q = b->def;
    if (a->region || b->region || p->region_count || q->region_count || ++*steps > STEPS_MOST)
        return false;
    bool same = p->code == q->code && p->operand_count == q->operand_count && a->type == b->type && p->param == q->param
             && p->dim == q->dim && p->axis == q->axis && p->over == q->over && p->reduction == q->reduction
             && p->predicated == q->predicated && p->integer == q->integer;
    if (!same || (p->code == OP_CONST && p->number != q->number))
        return false;
    for (int i = 0; i < p->operand_count; i++) {
        if (!is_alike(p->operands[i], q->operands[i], steps))
            return false;
    }
    return true;
}

static bool same_place(const struct memory *memory, const struct ir_op *a, const struct ir_op *b) {
    int steps = 0;
    for (int i = 0; i < memory->checker->kernel->params[a->param].rank; i++) {
        if (!is_alike(a->operands[i], b->operands[i], &steps))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- complaints

static const struct ir_op *loop_around(const struct ir_op *op) {
    const struct ir_op *loop = op->parent->owner;
    while (loop && loop->code != OP_FOR && loop->code != OP_RANGE)
        loop = loop->parent->owner;
    return loop;
}

// Whether the load is written as the place that is stored to: then it stands in another inner loop, or the index was
// made of a variable that has changed since.
static bool is_written_alike(const struct ir_op *load, const struct ir_op *store) {
    size_t length = load->span.end - load->span.begin;
    if (!load->span.source || load->span.source != store->span.source || length > store->span.end - store->span.begin)
        return false;
    const char *text = load->span.source->text;
    return !memcmp(text + load->span.begin, text + store->span.begin, length);
}

static void report_other_index(const struct memory *memory, const struct ir_op *load, const struct ir_op *store) {
    const char *name = memory->checker->kernel->params[load->param].name;
    struct diagnostic *entry;
    if (is_written_alike(load, store) && loop_around(load) != loop_around(store))
        entry = check_error(memory->checker, "E0502", load->span,
                            "`%s` is stored to in another inner loop, and points of different loops don't see each other's stores", name);
    else if (is_written_alike(load, store))
        entry = check_error(memory->checker, "E0502", load->span,
                            "`%s` is another place here than where this loop stores to `%s`: the index has changed in "
                            "between", check_text(memory->checker, load->span), name);
    else
        entry = check_error(memory->checker, "E0502", load->span,
                            "this loop stores to `%s`, and loads it here from another place than it stores to", name);
    entry->help = "other points may have stored there already or not: put the load or the store into a loop of its own at the "
                  "top of the kernel";
    entry->note_span = store->span;
    entry->note = "stored here";
}

static void report_atomic(const struct memory *memory, const struct ir_op *load, const struct ir_op *atomic) {
    const char *name = memory->checker->kernel->params[load->param].name;
    struct diagnostic *entry = check_error(memory->checker, "E0503", load->span,
                                           "`%s` is combined atomically in the loop that loads it here", name);
    entry->help = "what it holds at this time isn't known: load it in a later loop at the top of the kernel";
    entry->note_span = atomic->span;
    entry->note = "combined here";
}

static void report_unstored(const struct memory *memory, const struct ir_op *load) {
    const struct ir_param *param = &memory->checker->kernel->params[load->param];
    struct diagnostic *entry = check_error(memory->checker, "E0504", load->span,
                                           "`%s` is an output, and nothing has been stored to it before this loop", param->name);
    entry->help = check_printf(memory->checker, "say what it holds at first, `%s: %s[…] = 0`, or keep the value in a `let` or `var`",
                               param->name, ir_type_name(param->type));
}

static void report_top_load(const struct memory *memory, const struct ir_op *load) {
    const char *name = memory->checker->kernel->params[load->param].name;
    check_error(memory->checker, "E0507", load->span, "`%s` is loaded outside all loops, and a loop stores to it", name)->help =
        "load it in the loop that needs it";
}

// ---------------------------------------------------------------------------------------------- one loop at the top

static void note_targets(const struct memory *memory, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        struct target *target = op->param >= 0 ? &memory->targets[op->param] : NULL;
        if (op->code == OP_STORE && !target->store)
            target->store = op;
        else if (op->code == OP_STORE && !target->other && !same_place(memory, target->store, op))
            target->other = op;
        if (op->code == OP_ATOMIC && !target->atomic)
            target->atomic = op;
        for (int r = 0; r < op->region_count; r++)
            note_targets(memory, op->regions[r]);
    }
}

static void check_load(const struct memory *memory, const struct ir_op *load) {
    const struct target *target = &memory->targets[load->param];
    const struct ir_param *param = &memory->checker->kernel->params[load->param];
    if (target->atomic)
        report_atomic(memory, load, target->atomic);
    else if (target->store && !same_place(memory, target->store, load))
        report_other_index(memory, load, target->store);
    else if (target->other)
        report_other_index(memory, load, target->other);
    else if (param->kind == PARAM_OUT && !param->fill && !memory->stored[load->param] && memory->complete)
        report_unstored(memory, load);
}

static void check_loads(const struct memory *memory, const struct ir_region *region) {
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD)
            check_load(memory, op);
        for (int r = 0; r < op->region_count; r++)
            check_loads(memory, op->regions[r]);
    }
}

static void check_top_loop(struct memory *memory, const struct ir_op *loop) {
    int count = memory->checker->kernel->param_count;
    for (int i = 0; i < count; i++)
        memory->targets[i] = (struct target){0};
    note_targets(memory, loop->regions[0]);
    for (int r = 0; r < loop->region_count; r++)
        check_loads(memory, loop->regions[r]);
    for (int i = 0; i < count; i++) {
        bool stores = memory->targets[i].store || memory->targets[i].atomic;
        memory->stored[i] = memory->stored[i] || stores;
    }
}

// ---------------------------------------------------------------------------------------------- stores of many points to one place

// A loop around of more than one point whose axis the index doesn't name, unless a condition picks points of it.
static void warn_of_repetition(struct checker *checker, const struct store *store) {
    axes_t picked = store->names;
    for (const struct ir_op *op = store->op->parent->owner; op; op = op->parent->owner) {
        if (op->code == OP_IF && op->operand_count)
            picked |= op->operands[0]->axes;
        bool plain = op->code == OP_FOR && !(picked & AXIS_BIT(op->axis)) && axis_has_many_points(checker, op->axis);
        if (!plain)
            continue;
        const char *axis = checker->kernel->axes[op->axis].name;
        struct diagnostic *entry = check_warning(checker, "W0602", store->place->span, "every tile of `%s` stores to the same place `%s`",
                                                 axis, check_text(checker, store->place->span));
        entry->help = check_printf(checker, "name `%s` in the index, or store behind the loop", axis);
        return;
    }
}

void check_memory_rules(struct checker *checker, bool complete) {
    struct memory memory = {.checker = checker, .complete = complete};
    int count = checker->kernel->param_count;
    memory.targets = ARENA_ARRAY(checker->kernel->arena, struct target, count + 1);
    memory.stored = ARENA_ARRAY(checker->kernel->arena, bool, count + 1);
    const struct ir_region *body = checker->kernel->body;
    for (const struct ir_op *op = body->first; op; op = op->next) {
        if (op->code == OP_FOR)
            check_top_loop(&memory, op);
    }
    for (const struct ir_op *op = body->first; op; op = op->next) {
        if (op->code == OP_LOAD && memory.stored[op->param])
            report_top_load(&memory, op);
    }
    for (int i = 0; i < checker->store_count && complete && checker->diagnostics->errors == checker->errors; i++)
        warn_of_repetition(checker, &checker->stores[i]);
}
