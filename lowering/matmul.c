// SPDX-License-Identifier: Apache-2.0
// lower_matmul: with the config's dot "mma", every product becomes one for the matrix units.
//
// In: a masked program, in which the operands of `dot` are 0 where they are outside their domains along what is summed
// over. Out: `mma`, with c what the sum is added to; operands that come from memory as they are, as tiles staged in
// shared memory. The one idea: an operand that is computed (the weights between two products) is laid out as the
// instruction wants its row operand already, so that only what is loaded passes through shared memory.
#include "lowering/matmul.h"
#include "lowering/pass.h"

struct rewriting {
    struct pass_context *context;
    struct ir_kernel *kernel;
    struct matmul_axes axes;
    bool good;
};

static bool has_role(const struct rewriting *r, axes_t axes, enum matmul_role role) {
    for (int a = 0; a < r->kernel->axis_count; a++)
        if ((axes & AXIS_BIT(a)) && r->axes.roles[a] == role)
            return true;
    return false;
}

// ---------------------------------------------------------------------------------------------- staging

// An index or a predicate that can be worked out at any place of the tile: arithmetic on positions and numbers.
static bool is_anywhere(const struct ir_value *value) {
    if (!value->axes)
        return true;
    if (value->region || value->def->region_count)
        return false;
    const struct ir_op *def = value->def;
    if (def->code == OP_INDEX)
        return true;
    if (def->code != OP_LOAD && !(ir_ops[def->code].flags & F_ELEMENTWISE))
        return false;
    for (int i = 0; i < def->operand_count; i++)
        if (!is_anywhere(def->operands[i]))
            return false;
    return true;
}

static struct ir_op *load_of(const struct ir_value *value) {
    while (!value->region && value->def->code == OP_BROADCAST)
        value = value->def->operands[0];
    return !value->region && value->def->code == OP_LOAD ? value->def : NULL;
}

static bool check_staged(struct rewriting *r, const struct ir_op *load) {
    const char *tensor = r->kernel->params[load->param].name;
    if (is_stored(r->kernel, load->param))
        return refuse(r->context, "lowering.mma-stored", load->span,
                      "%s is stored to as well: its tiles can't wait in shared memory", tensor);
    for (int i = 0; i < load->operand_count; i++)
        if (!is_anywhere(load->operands[i]))
            return refuse(r->context, "lowering.mma-index", load->span,
                          "what is read of %s is decided by values that are spread over threads", tensor);
    return true;
}

// Tiles for groups of warps are made of panels, and rows lie in them along the sum.
static bool check_panels(struct rewriting *r, const struct ir_op *load, bool rows, axes_t over) {
    const struct ir_param *param = &r->kernel->params[load->param];
    for (int a = 0; a < r->kernel->axis_count; a++) {
        if (!(load->results[0]->axes & AXIS_BIT(a)) || !moves_by_one(load->operands[param->rank - 1], a))
            continue;
        if (rows && !(over & AXIS_BIT(a)))
            break;
        if (r->context->out->axes[a].block % GROUP_CELLS == 0)
            return true;
        return refuse(r->context, "lowering.wgmma-block", load->span,
                      "%s is contiguous along %s: with dot \"wgmma\" the block of that is at least %d", param->name,
                      r->kernel->axes[a].name, GROUP_CELLS);
    }
    return refuse(r->context, "lowering.wgmma-tile", load->span,
                  rows ? "%s isn't contiguous along what is summed over" : "%s isn't contiguous along an axis of the product",
                  param->name);
}

// The load's twin that goes to shared memory; the load itself stays for whoever else uses it.
static struct ir_value *stage(struct rewriting *r, struct ir_op *load, bool rows, axes_t over) {
    r->good = r->good && check_staged(r, load) &&
              (r->context->config->dot != DOT_WGMMA || check_panels(r, load, rows, over));
    struct ir_builder builder = builder_before(r->kernel, load);
    struct ir_op *twin = ir_op_clone(&builder, load, ir_map_new(r->kernel));
    twin->staged = true;
    return twin->results[0];
}

// ---------------------------------------------------------------------------------------------- row operands

// Without the rounding to the operands' type, which happens when the operand is packed; NULL if it isn't rounded last.
static struct ir_value *before_rounding(struct rewriting *r, struct ir_value *value) {
    const struct ir_op *def = value->region ? NULL : value->def;
    if (!def)
        return NULL;
    if (def->code == OP_CAST)
        return def->operands[0]->type == TYPE_F32 ? def->operands[0] : NULL;
    if (def->code != OP_SELECT)
        return NULL;
    struct ir_builder builder = builder_before(r->kernel, value->def);
    struct ir_value *arms[2];
    for (int i = 0; i < 2; i++) {
        struct ir_value *arm = def->operands[1 + i];
        arms[i] = is_constant(arm) ? ir_number(&builder, TYPE_F32, arm->def->number) : before_rounding(r, arm);
        if (!arms[i])
            return NULL;
    }
    return ir_select(&builder, def->operands[0], arms[0], arms[1]);
}

static struct ir_value *row_operand(struct rewriting *r, const struct ir_op *dot, struct ir_value *value) {
    struct ir_op *load = load_of(value);
    if (load)
        return stage(r, load, true, dot->over);
    struct ir_value *wide = before_rounding(r, value);
    return wide ? wide : value;
}

static struct ir_value *column_operand(struct rewriting *r, const struct ir_op *dot, struct ir_value *value) {
    struct ir_op *load = load_of(value);
    if (load)
        return stage(r, load, false, dot->over);
    r->good = refuse(r->context, "lowering.mma-operand", dot->span,
                     "the operand on columns isn't loaded from memory as it is");
    return value;
}

// ---------------------------------------------------------------------------------------------- products

// What the product is added to right away, with the addition; NULL if it isn't.
static struct ir_op *addition_of(const struct rewriting *r, const struct ir_op *dot) {
    const int *uses = count_uses(r->context->arena, r->kernel);
    const struct ir_value *result = dot->results[0];
    for (struct ir_op *op = dot->next; op && uses[result->id] == 1; op = op->next)
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == result)
                return op->code == OP_ADD && op->operands[1 - i] != result &&
                               op->operands[1 - i]->axes == result->axes
                           ? op
                           : NULL;
    return NULL;
}

static void write_mma(struct rewriting *r, struct ir_op *dot, struct ir_value *rows, struct ir_value *columns) {
    struct ir_op *addition = addition_of(r, dot);
    struct ir_value *result = dot->results[0], *replaced = addition ? addition->results[0] : result;
    struct ir_builder builder = builder_before(r->kernel, addition ? addition : dot);
    struct ir_value *start;
    if (addition)
        start = addition->operands[addition->operands[0] == result];
    else
        start = ir_broadcast(&builder, result->axes, ir_number(&builder, TYPE_F32, 0));
    struct ir_op *mma = ir_op_new(&builder, OP_MMA, 3, 1, 0);
    mma->over = dot->over;
    mma->operands[0] = rows;
    mma->operands[1] = columns;
    mma->operands[2] = start;
    ir_insert(&builder, mma);
    struct ir_value *sum = ir_result(r->kernel, mma, 0, TYPE_F32, result->axes);
    sum->name = replaced->name;
    ir_replace_uses(r->kernel, replaced, sum);
    if (addition)
        ir_remove(addition);
    ir_remove(dot);
}

static void rewrite_dot(void *data, struct ir_op *dot) {
    struct rewriting *r = data;
    if (dot->code != OP_DOT || !r->good)
        return;
    bool swapped = !has_role(r, dot->operands[0]->axes & ~dot->over, ROLE_ROWS);
    struct ir_value *rows = row_operand(r, dot, dot->operands[swapped]);
    struct ir_value *columns = column_operand(r, dot, dot->operands[!swapped]);
    if (r->good)
        write_mma(r, dot, rows, columns);
}

// ---------------------------------------------------------------------------------------------- what is left

// Two axes of one role share lanes: no value in registers can be on both. Staged tiles and what is asked of their
// places are in no register.
static void check_registers(void *data, struct ir_op *op) {
    struct rewriting *r = data;
    if (r->good && op->code == OP_SCAN && r->context->config->dot == DOT_WGMMA && has_role(r, op->over, ROLE_ROWS))
        r->good = refuse(r->context, "lowering.wgmma-scan", op->span,
                         "a scan runs along rows of a product, whose registers aren't in order with dot \"wgmma\"");
    for (int i = 0; i < op->result_count && r->good; i++) {
        const struct ir_value *value = op->results[i];
        int roles[3] = {0};
        for (int a = 0; a < r->kernel->axis_count; a++)
            roles[r->axes.roles[a]] += (value->axes & AXIS_BIT(a)) != 0;
        bool shared = roles[ROLE_ROWS] > 1 || roles[ROLE_COLUMNS] > 1;
        if (shared && !(op->code == OP_LOAD && op->staged) && !is_anywhere(value))
            r->good = refuse(r->context, "lowering.mma-layout", op->span,
                             "a value here is on two axes that are rows, or two that are columns, of products");
    }
}

bool lower_matmul(struct pass_context *context) {
    struct rewriting r = {.context = context, .kernel = context->kernel, .good = true};
    if (!uses_matrix_units(context->config, &context->out->options.target))
        return true;
    struct status status = matmul_axes(context->arena, context->kernel, context->config, &r.axes);
    if (!status.ok) {
        context->status = status;
        return false;
    }
    if (context->out->options.target.sm < 80)
        return refuse(context, "lowering.mma-target", context->kernel->span,
                      "sm_%d has no such matrix units: sm_80 has", context->out->options.target.sm);
    if (context->config->dot == DOT_WGMMA && (context->out->options.target.sm != 90 || !context->out->options.target.specific))
        return refuse(context, "lowering.wgmma-target", context->kernel->span, "only sm_90a has products by groups of warps");
    walk_ops(context->kernel->body, rewrite_dot, &r);
    if (r.good && opt_simplify(context))
        walk_ops(context->kernel->body, check_registers, &r);
    return r.good;
}
