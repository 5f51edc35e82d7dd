// SPDX-License-Identifier: Apache-2.0
// The verifier: right programs pass, and each planted fault is found at its operation and named.
#include "ir/ir.h"
#include "tests/ir/programs.h"
#include "tests/unit.h"

// The row sum, with handles on what faults are planted in.
struct planted {
    struct ir_kernel *kernel;
    struct ir_op *row, *column;    // loops
    struct ir_op *load, *cast, *reduce, *add, *update, *yield, *store, *start;
    struct ir_builder inside;      // in front of the inner loop's yield
    struct ir_builder behind;      // behind the loops
};

static struct planted plant(struct arena *arena)
{
    struct planted p = {.kernel = program_row_sum(arena, TYPE_F32)};
    p.row = p.kernel->body->last;
    for (struct ir_op *op = p.row->regions[0]->first; op; op = op->next) {
        p.column = op->code == OP_FOR ? op : p.column;
        p.store = op->code == OP_STORE ? op : p.store;
        p.start = op->code == OP_LOAD && !p.start ? op : p.start;
    }
    for (struct ir_op *op = p.column->regions[0]->first; op; op = op->next) {
        p.load = op->code == OP_LOAD ? op : p.load;
        p.reduce = op->code == OP_REDUCE ? op : p.reduce;
        p.update = op->code == OP_UPDATE ? op : p.update;
        p.yield = op->code == OP_YIELD ? op : p.yield;
    }
    p.add = p.update->previous;
    p.inside = (struct ir_builder){.kernel = p.kernel, .region = p.column->regions[0], .before = p.yield};
    p.behind = at_end(p.kernel);
    return p;
}

static struct ir_value *true_number(struct planted *p) { return ir_integer(&p->inside, TYPE_BOOL, 1); }

static void operand_missing(struct planted *p) { p->add->operands[1] = NULL; }
static void operand_out_of_scope(struct planted *p) { p->store->operands[1] = p->reduce->results[0]; }
static void operand_before_its_definition(struct planted *p) { ir_move_before(p->load, p->column->regions[0]->first); }
static void defined_twice(struct planted *p) { p->add->results[0]->id = p->load->results[0]->id; }
static void no_such_id(struct planted *p) { p->add->results[0]->id = 1000; }
static void no_type(struct planted *p) { p->add->results[0]->type = TYPE_NONE; }
static void types_differ(struct planted *p)
{
    struct ir_builder before = {.kernel = p->kernel, .region = p->add->parent, .before = p->add};
    p->add->operands[1] = integer(&before, 1);
}
static void result_type_wrong(struct planted *p) { p->add->results[0]->type = TYPE_F64; }
static void not_the_union(struct planted *p) { p->add->results[0]->axes = 0; }
static void parents_missing(struct planted *p) { p->load->results[0]->axes = AXIS_BIT(1); }
static void axis_not_around(struct planted *p) { p->start->results[0]->axes |= AXIS_BIT(1); }
static void unknown_axis(struct planted *p) { p->load->results[0]->axes |= AXIS_BIT(40); }
static void reduce_keeps_its_axis(struct planted *p) { p->reduce->results[0]->axes |= AXIS_BIT(1); }
static void reduce_loses_an_axis(struct planted *p) { p->reduce->results[0]->axes = 0; }
static void reduce_over_nothing(struct planted *p) { p->reduce->over = 0; }
static void reduce_out_of_scope(struct planted *p) { ir_reduce(&p->behind, RED_SUM, AXIS_BIT(0), ir_number(&p->behind, TYPE_F32, 1), NULL); }
static void reduce_logical_of_floats(struct planted *p) { p->reduce->reduction = RED_ANY; }
static void argmax_gives_floats(struct planted *p) { p->reduce->reduction = RED_ARGMAX; }
static void argmax_over_two(struct planted *p) { ir_reduce(&p->inside, RED_ARGMAX, 3, p->load->results[0], NULL)->axes = 0; }
static void scan_of_any(struct planted *p) { ir_scan(&p->inside, RED_ANY, 1, true_number(p), NULL); }
static void sum_of_narrow(struct planted *p) { ir_reduce(&p->inside, RED_SUM, 2, ir_cast(&p->inside, TYPE_F16, p->load->results[0]), NULL); }
static void dot_of_mixed(struct planted *p) { ir_dot(&p->inside, 2, p->load->results[0], ir_integer(&p->inside, TYPE_I64, 1), NULL); }
static void dot_type_wrong(struct planted *p) { ir_dot(&p->inside, 2, p->load->results[0], p->load->results[0], NULL)->type = TYPE_F64; }
static void too_few_indices(struct planted *p) { p->load->operand_count = 0; }
static void index_is_floating(struct planted *p) { p->load->operands[0] = p->column->regions[0]->args[0]; }
static void load_type_wrong(struct planted *p) { p->load->results[0]->type = TYPE_F16; }
static void load_of_a_scalar(struct planted *p) { p->load->param = scalar(&p->behind, "eps", TYPE_F32); }
static void load_of_nothing(struct planted *p) { p->load->param = 9; }
static void load_of_an_absent_tensor(struct planted *p) { p->kernel->params[0].optional = true; p->kernel->params[0].present = false; }
static void store_to_an_input(struct planted *p) { p->store->param = 0; }
static void store_type_wrong(struct planted *p) { p->kernel->params[2].type = TYPE_F16; }
static void store_of_unnamed_axis(struct planted *p)
{
    struct ir_value *zero = integer(&p->inside, 0);
    ir_store(&p->inside, 2, &zero, p->load->results[0], NULL);
}
static void predicate_is_no_bool(struct planted *p)
{
    struct ir_value *zero = integer(&p->inside, 0);
    ir_load(&p->inside, 0, &zero, zero);
}
static void atomic_product(struct planted *p)
{
    struct ir_value *zero = integer(&p->inside, 0);
    ir_atomic(&p->inside, RED_PROD, 2, &zero, p->load->results[0], NULL);
}
static void update_on_more_axes(struct planted *p) { p->update->operands[1] = p->load->results[0]; }
static void update_changes_type(struct planted *p) { p->update->operands[1] = p->start->results[0]; }
static void yields_too_few(struct planted *p) { p->yield->operand_count = 0; }
static void yields_another_type(struct planted *p) { p->yield->operands[0] = p->start->results[0]; }
static void carries_another_type(struct planted *p) { p->column->operands[2] = p->start->results[0]; }
static void argument_on_other_axes(struct planted *p) { p->column->regions[0]->args[0]->axes = 0; }
static void carries_too_few(struct planted *p) { p->column->operand_count = 2; }
static void no_yield(struct planted *p) { ir_remove(p->yield); }
static void yield_in_the_middle(struct planted *p) { ir_move_before(p->yield, p->reduce); }
static void yield_at_the_top(struct planted *p) { ir_yield(&p->behind, 0, NULL); }
static void bound_is_floating(struct planted *p)
{
    struct ir_builder before = {.kernel = p->kernel, .region = p->kernel->body, .before = p->row};
    p->row->operands[1] = ir_number(&before, TYPE_F32, 1);
}
static void bound_on_no_parent(struct planted *p) { p->kernel->axes[1].parents = 0; p->kernel->axes[1].kind = AXIS_TILE; }
static void loop_within_itself(struct planted *p) { p->column->axis = 0; }
static void loop_over_a_full_axis(struct planted *p) { p->kernel->axes[0].kind = AXIS_FULL; }
static void region_missing(struct planted *p) { p->column->regions[0] = NULL; }
static void region_of_another(struct planted *p) { p->column->regions[0]->owner = p->row; }
static void while_yields_a_number(struct planted *p)
{
    p->column->regions = ARENA_ARRAY(p->kernel->arena, struct ir_region *, 2);
    p->column->regions[0] = p->yield->parent;
    p->column->regions[1] = ir_region_new(p->kernel, p->column);
    p->column->region_count = 2;
    ir_region_arg(p->kernel, p->column->regions[1], TYPE_F32, AXIS_BIT(0), NULL);
    ir_yield(&(struct ir_builder){.kernel = p->kernel, .region = p->column->regions[1]}, 1, p->column->regions[1]->args);
}
static void if_on_a_number(struct planted *p)
{
    struct open_if branch = if_open(&p->inside, p->start->results[0], 0, NULL);
    if_close(&branch, 0, NULL);
}
static void index_of_an_axis_not_around(struct planted *p) { ir_axis_value(&p->behind, OP_INDEX, 0); }
static void begin_of_a_full_axis(struct planted *p)
{
    int axis = ir_axis_new(p->kernel, "d", AXIS_FULL, 0);
    p->kernel->axes[axis].lo = p->kernel->axes[axis].hi = p->kernel->axes[0].hi;
    ir_axis_value(&p->behind, OP_BEGIN, axis);
}
static void index_on_too_few_axes(struct planted *p) { p->load->previous->operands[1]->axes = AXIS_BIT(1); }
static void constant_too_large(struct planted *p) { ir_integer(&p->behind, TYPE_I8, 1)->def->integer = 200; }
static void constant_not_held(struct planted *p) { ir_number(&p->behind, TYPE_F16, 1)->def->number = 0.1; }
static void no_such_dimension(struct planted *p) { p->kernel->body->first->dim = 7; }
static void scalar_is_a_tensor(struct planted *p) { ir_scalar_value(&p->behind, 0); }
static void extent_from_memory(struct planted *p)
{
    struct ir_value *zero = integer(&p->behind, 0);
    p->kernel->params[2].extents[0] = ir_load(&p->behind, 1, &zero, NULL);
}
static void extent_missing(struct planted *p) { p->kernel->params[0].extents[0] = NULL; }
static void fill_of_an_input(struct planted *p) { p->kernel->params[0].fill = ir_number(&p->behind, TYPE_F32, 0); }
static void fill_of_another_type(struct planted *p) { p->kernel->params[2].fill = integer(&p->behind, 0); }
static void jagged_without_parents(struct planted *p) { p->kernel->axes[1].parents = 0; }
static void dense_with_parents(struct planted *p) { p->kernel->axes[1].kind = AXIS_TILE; }
static void dimension_unknown(struct planted *p) { p->kernel->dims[0].param = -1; }
static void narrow_float(struct planted *p) { p->add->results[0]->narrow = true; }
static void not_linked(struct planted *p) { p->add->previous = NULL; }
static void wrong_arity(struct planted *p) { p->add->operand_count = 1; }
static void asserts_a_number(struct planted *p)
{
    struct ir_op *op = ir_op_new(&p->inside, OP_ASSERT, 1, 0, 0);
    op->operands[0] = p->start->results[0];
    ir_insert(&p->inside, op);
}
static void selects_by_a_number(struct planted *p) { ir_select(&p->inside, p->start->results[0], p->start->results[0], p->start->results[0]); }
static void bits_of_floats(struct planted *p) { ir_binary(&p->inside, OP_AND, p->load->results[0], p->load->results[0]); }
static void result_points_elsewhere(struct planted *p) { p->add->results[0]->def = p->load; }

struct fault {
    void (*make)(struct planted *planted);
    const char *name, *operation, *complaint;  // the complaint stands in the line of the operation
};
#define FAULT(function, operation, complaint) {function, #function, operation, complaint}
static const struct fault faults[] = {
    FAULT(operand_missing, "add %15, %?", "operand 1 is missing"),
    FAULT(operand_out_of_scope, "store out", "is not in scope"),
    FAULT(operand_before_its_definition, "load x", "is not in scope"),
    FAULT(defined_twice, "add", "is defined twice"),
    FAULT(no_such_id, "add", "is not one of"),
    FAULT(no_type, "add", "has no element type"),
    FAULT(types_differ, "add", "operand 1 has type i64"),
    FAULT(result_type_wrong, "add", "its result is not of type f32"),
    FAULT(not_the_union, "add", "not on the union"),
    FAULT(parents_missing, "load x", "without all its parents"),
    FAULT(axis_not_around, "load offsets", "whose loop isn't around it"),
    FAULT(unknown_axis, "load x", "an axis that the kernel doesn't have"),
    FAULT(reduce_keeps_its_axis, "reduce", "on other axes than what it reduces"),
    FAULT(reduce_loses_an_axis, "reduce", "on other axes than what it reduces"),
    FAULT(reduce_over_nothing, "reduce", "reduces over nothing"),
    FAULT(reduce_out_of_scope, "reduce", "an axis that is not in scope"),
    FAULT(reduce_logical_of_floats, "reduce", "can't reduce a f32"),
    FAULT(argmax_gives_floats, "reduce argmax", "wrong type"),
    FAULT(argmax_over_two, "reduce argmax", "one axis at a time"),
    FAULT(scan_of_any, "scan any", "no such scan"),
    FAULT(sum_of_narrow, "reduce sum", "can't reduce a f16"),
    FAULT(dot_of_mixed, "dot", "can't multiply f32 with i64"),
    FAULT(dot_type_wrong, "dot", "not of the computing type"),
    FAULT(too_few_indices, "load x", "0 operands for rank 1"),
    FAULT(index_is_floating, "load x", "index 0 is no i64"),
    FAULT(load_type_wrong, "load x", "not of the tensor's type"),
    FAULT(load_of_a_scalar, "load eps", "is a scalar"),
    FAULT(load_of_nothing, "load", "no such parameter"),
    FAULT(load_of_an_absent_tensor, "load x", "x is absent"),
    FAULT(store_to_an_input, "store x", "x is an input"),
    FAULT(store_type_wrong, "store out", "not of the tensor's type"),
    FAULT(store_of_unnamed_axis, "store out", "an axis that no index names"),
    FAULT(predicate_is_no_bool, "load x", "predicate is no bool"),
    FAULT(atomic_product, "atomic prod", "no atomic prod"),
    FAULT(update_on_more_axes, "update", "an axis that the old one isn't on"),
    FAULT(update_changes_type, "update", "differ in type"),
    FAULT(yields_too_few, "for tk", "yields 0 values for 1 carried"),
    FAULT(yields_another_type, "for tk", "what is yielded differs"),
    FAULT(carries_another_type, "for tk", "what is carried in differs"),
    FAULT(argument_on_other_axes, "for tk", "argument and result differ"),
    FAULT(carries_too_few, "for tk", "0 values are carried in for 1"),
    FAULT(no_yield, "for tk", "yields 0 values"),
    FAULT(yield_in_the_middle, "yield", "may only end a region"),
    FAULT(yield_at_the_top, "yield", "may only end a region"),
    FAULT(bound_is_floating, "for tb", "bound 1 is no i64"),
    FAULT(bound_on_no_parent, "for tk", "no parents of the loop's axis"),
    FAULT(loop_within_itself, "for tb", "around it already"),
    FAULT(loop_over_a_full_axis, "for tb", "no tile axis"),
    FAULT(region_missing, "for tk", "one is missing"),
    FAULT(region_of_another, "for tk", "doesn't point back"),
    FAULT(while_yields_a_number, "for tk", "doesn't yield one bool"),
    FAULT(if_on_a_number, "if", "condition is no bool"),
    FAULT(index_of_an_axis_not_around, "index tb", "is not around it"),
    FAULT(begin_of_a_full_axis, "begin d", "a full axis has no tiles"),
    FAULT(index_on_too_few_axes, "index tk", "on other axes"),
    FAULT(constant_too_large, "const 200", "can't hold"),
    FAULT(constant_not_held, "const 0.1", "can't hold"),
    FAULT(no_such_dimension, "dim", "no such dimension"),
    FAULT(scalar_is_a_tensor, "scalar x", "no such scalar"),
    FAULT(extent_from_memory, "out", "not a number that the host can work out"),
    FAULT(extent_missing, "x", "an extent of x is not a value"),
    FAULT(fill_of_an_input, "x", "has a fill, but is no output"),
    FAULT(fill_of_another_type, "out", "the fill of out has another type"),
    FAULT(jagged_without_parents, "tk", "has no parents"),
    FAULT(dense_with_parents, "tk", "has parents, but is not jagged"),
    FAULT(dimension_unknown, "nnz", "neither static nor an extent"),
    FAULT(narrow_float, "add", "is narrow, but no i64"),
    FAULT(not_linked, "add", "not linked into its region"),
    FAULT(wrong_arity, "add", "1 operands, not 2"),
    FAULT(asserts_a_number, "assert", "asserts a i64"),
    FAULT(selects_by_a_number, "select", "selects by a i64"),
    FAULT(bits_of_floats, "and", "operand 0 has type f32"),
    FAULT(result_points_elsewhere, "add", "doesn't point back"),
};

// Some line has both.
static bool has_line(const char *text, const char *operation, const char *complaint)
{
    for (const char *line = text; line && *line;) {
        size_t length = strcspn(line, "\n");
        const char *first = strstr(line, operation), *second = strstr(line, complaint);
        if (first && second && first < line + length && second < line + length) return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

static void check_fault(struct unit *unit, const struct fault *fault)
{
    struct planted planted = plant(unit->arena);
    struct text complaints = {0};
    CHECK(unit, ir_verify(planted.kernel, &complaints));
    CHECK_TEXT(unit, complaints.data ? complaints.data : "", "");
    fault->make(&planted);
    CHECK(unit, !ir_verify(planted.kernel, &complaints));
    if (!has_line(complaints.data, fault->operation, fault->complaint)) CHECK_PART(unit, complaints.data, fault->complaint);
    CHECK(unit, has_line(complaints.data, fault->operation, fault->complaint));
    CHECK(unit, !ir_verify(planted.kernel, NULL));
    text_free(&complaints);
}

// What lowering makes: predicates, a dense loop in place of the jagged one, a partial result reduced behind its loop.
static void lowered_forms_pass(struct unit *unit)
{
    struct planted p = plant(unit->arena);
    struct ir_builder before = {.kernel = p.kernel, .region = p.column->regions[0], .before = p.load};
    struct ir_value *index = p.load->operands[0], *inside = ir_binary(&before, OP_LT, index, p.column->operands[1]);
    p.kernel->axes[1].kind = AXIS_TILE;
    p.kernel->axes[1].parents = 0;
    p.load->previous->previous->previous->results[0]->axes = AXIS_BIT(1);
    p.column->operands[1] = ir_reduce(&(struct ir_builder){.kernel = p.kernel, .region = p.row->regions[0], .before = p.column},
                                      RED_MAX, AXIS_BIT(0), p.column->operands[1], NULL);
    struct ir_value *again = ir_load(&(struct ir_builder){.kernel = p.kernel, .region = p.load->parent, .before = p.load}, 0, &index, inside);
    ir_replace_uses(p.kernel, p.load->results[0], again);
    ir_remove(p.load);
    ir_remove(p.reduce);
    p.add->operands[1] = again;
    p.update->operands[1] = p.add->results[0];
    p.add->results[0]->axes |= AXIS_BIT(1);
    ir_reduce(&p.inside, RED_SUM, AXIS_BIT(1), again, inside);
    p.yield->operands[0] = p.column->regions[0]->args[0];
    ir_remove(p.update);
    p.column->results[0]->partial = p.column->regions[0]->args[0]->partial = AXIS_BIT(1);
    struct ir_builder behind = {.kernel = p.kernel, .region = p.row->regions[0], .before = p.store};
    p.store->operands[1] = ir_reduce(&behind, RED_SUM, AXIS_BIT(1), p.column->results[0], NULL);
    struct text complaints = {0};
    CHECK(unit, ir_verify(p.kernel, &complaints));
    CHECK_TEXT(unit, complaints.data ? complaints.data : "", "");
    text_free(&complaints);
}

int main(void)
{
    struct unit unit = {0};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        unit_begin(&unit);
        check_fault(&unit, &faults[i]);
        unit_end(&unit, faults[i].name);
    }
    unit_begin(&unit);
    lowered_forms_pass(&unit);
    unit_end(&unit, "what lowering makes passes");
    return unit_finish(&unit);
}
