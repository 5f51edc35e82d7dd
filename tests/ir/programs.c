// SPDX-License-Identifier: Apache-2.0
// Kernels built by hand (programs.h).
#include "tests/ir/programs.h"

#include <stdlib.h>
#include <string.h>

static struct open_loop carry(struct ir_builder *builder, struct ir_op *op, int from, int count, struct ir_value *const *initial)
{
    struct open_loop loop = {.op = op};
    for (int i = 0; i < count; i++) {
        op->operands[from + i] = initial[i];
        loop.args[i] = ir_region_arg(builder->kernel, op->regions[0], initial[i]->type, initial[i]->axes, NULL);
        loop.results[i] = ir_result(builder->kernel, op, i, initial[i]->type, initial[i]->axes);
    }
    ir_insert(builder, op);
    loop.body = *builder;
    loop.body.region = op->regions[0];
    loop.body.before = NULL;
    return loop;
}

struct open_loop loop_open(struct ir_builder *builder, int axis, struct ir_value *lo, struct ir_value *hi, int count,
                           struct ir_value *const *initial)
{
    struct ir_op *op = ir_op_new(builder, OP_FOR, 2 + count, count, 1);
    op->axis = axis;
    op->operands[0] = lo;
    op->operands[1] = hi;
    builder->kernel->axes[axis].lo = lo;
    builder->kernel->axes[axis].hi = hi;
    builder->kernel->axes[axis].loop = op;
    builder->kernel->axes[axis].ordered = count > 0;
    return carry(builder, op, 2, count, initial);
}

void loop_close(struct open_loop *loop, int count, struct ir_value *const *yields)
{
    ir_yield(&loop->body, count, yields);
}

struct open_if if_open(struct ir_builder *builder, struct ir_value *condition, int count, struct ir_value *const *initial)
{
    struct ir_op *op = ir_op_new(builder, OP_IF, 1 + count, count, 2);
    op->operands[0] = condition;
    struct open_loop loop = carry(builder, op, 1, count, initial);
    struct ir_builder other = loop.body;
    other.region = op->regions[1];
    for (int i = 0; i < count; i++)
        ir_region_arg(builder->kernel, op->regions[1], initial[i]->type, initial[i]->axes, NULL);
    ir_yield(&other, count, op->regions[1]->args);
    struct open_if branch = {.op = op, .then = loop.body};
    memcpy(branch.args, loop.args, sizeof branch.args);
    memcpy(branch.results, loop.results, sizeof branch.results);
    return branch;
}

void if_close(struct open_if *branch, int count, struct ir_value *const *yields)
{
    ir_yield(&branch->then, count, yields);
}

struct ir_builder at_end(struct ir_kernel *kernel)
{
    return (struct ir_builder){.kernel = kernel, .region = kernel->body};
}

struct ir_value *integer(struct ir_builder *builder, int64_t value)
{
    return ir_integer(builder, TYPE_I64, value);
}

static int dimension(struct ir_kernel *kernel, const char *name, struct ir_dim where)
{
    for (int i = 0; i < kernel->dim_count; i++) {
        if (strcmp(kernel->dims[i].name, name) == 0)
            return i;
    }
    where.name = name;
    return ir_dim_new(kernel, where);
}

int tensor(struct ir_builder *builder, const char *name, enum ir_param_kind kind, enum ir_type type, const char *extents)
{
    struct ir_kernel *kernel = builder->kernel;
    struct ir_param param = {.name = name, .kind = kind, .type = type, .present = true};
    for (const char *at = extents; *at; at += *at == ',') {
        size_t length = strcspn(at, ",+");
        const char *dim_name = arena_copy(kernel->arena, at, length);
        at += length;
        int64_t offset = *at == '+' ? strtoll(at, NULL, 10) : 0;
        at += strcspn(at, ",");
        struct ir_dim where = {.param = kernel->param_count, .position = param.rank, .scale = 1, .offset = offset};
        struct ir_value *extent = ir_dim_value(builder, dimension(kernel, dim_name, where));
        param.extents[param.rank++] = offset ? ir_binary(builder, OP_ADD, extent, integer(builder, offset)) : extent;
    }
    return ir_param_new(kernel, param);
}

int scalar(struct ir_builder *builder, const char *name, enum ir_type type)
{
    return ir_param_new(builder->kernel, (struct ir_param){.name = name, .kind = PARAM_SCALAR, .type = type, .present = true});
}

struct ir_kernel *program_row_sum(struct arena *arena, enum ir_type type)
{
    struct ir_kernel *kernel = ir_kernel_new(arena, "row_sum");
    struct ir_builder top = at_end(kernel);
    int x = tensor(&top, "x", PARAM_IN, type, "nnz");
    int offsets = tensor(&top, "offsets", PARAM_IN, TYPE_I64, "B+1");
    int out = tensor(&top, "out", PARAM_OUT, type, "B");
    int tb = ir_axis_new(kernel, "tb", AXIS_TILE, 0), tk = ir_axis_new(kernel, "tk", AXIS_JAGGED, AXIS_BIT(tb));
    struct ir_value *zero = integer(&top, 0), *rows = ir_dim_value(&top, 1);
    top.line = 3;
    struct open_loop row = loop_open(&top, tb, zero, rows, 0, NULL);
    struct ir_builder *b = &row.body;
    b->line = 4;
    struct ir_value *index = ir_axis_value(b, OP_INDEX, tb);
    struct ir_value *start = ir_load(b, offsets, &index, NULL);
    start->name = "start";
    struct ir_value *next = ir_binary(b, OP_ADD, index, integer(b, 1));
    struct ir_value *end = ir_load(b, offsets, &next, NULL);
    struct ir_value *length = ir_binary(b, OP_SUB, end, start);
    enum ir_type computing = ir_type_compute(type);
    struct ir_value *initial = ir_broadcast(b, AXIS_BIT(tb), ir_number(b, computing, 0));
    initial->name = "acc";
    struct open_loop column = loop_open(b, tk, zero, length, 1, &initial);
    column.body.line = 6;
    struct ir_value *at = ir_binary(&column.body, OP_ADD, start, ir_axis_value(&column.body, OP_INDEX, tk));
    struct ir_value *element = ir_cast(&column.body, computing, ir_load(&column.body, x, &at, NULL));
    struct ir_value *sum = ir_reduce(&column.body, RED_SUM, AXIS_BIT(tk), element, NULL);
    struct ir_value *more = ir_update(&column.body, column.args[0], ir_binary(&column.body, OP_ADD, column.args[0], sum));
    loop_close(&column, 1, &more);
    b->line = 8;
    ir_store(b, out, &index, ir_cast(b, type, column.results[0]), NULL);
    loop_close(&row, 0, NULL);
    return kernel;
}
