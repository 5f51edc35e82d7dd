// SPDX-License-Identifier: Apache-2.0
// Builder, printer, copies, editing, host numbers, and the op table as a whole.
#include <stdlib.h>

#include "ir/ir.h"
#include "tests/ir/programs.h"
#include "tests/unit.h"

static const char row_sum_text[] =
    "kernel row_sum\n"
    "  in x: f16[%0]\n"
    "  in offsets: i64[%3]\n"
    "  out out: f16[%4]\n"
    "  dim nnz: extent 0 of x is 1 * nnz\n"
    "  dim B: extent 0 of offsets is 1 * B + 1\n"
    "  axis tb: tile [%5, %6)\n"
    "  axis tk: jagged [%5, %12) under {tb} ordered\n"
    "{\n"
    "  %0: i64 = dim nnz\n"
    "  %1: i64 = dim B\n"
    "  %2: i64 = const 1\n"
    "  %3: i64 = add %1, %2\n"
    "  %4: i64 = dim B\n"
    "  %5: i64 = const 0\n"
    "  %6: i64 = dim B\n"
    "  for tb in tile [%5, %6) {                                      // line 3\n"
    "    %7: i64 {tb} = index tb                                      // line 4\n"
    "    %8: i64 {tb} = load offsets[%7]                              // start, line 4\n"
    "    %9: i64 = const 1                                            // line 4\n"
    "    %10: i64 {tb} = add %7, %9                                   // line 4\n"
    "    %11: i64 {tb} = load offsets[%10]                            // line 4\n"
    "    %12: i64 {tb} = sub %11, %8                                  // line 4\n"
    "    %13: f32 = const 0                                           // line 4\n"
    "    %14: f32 {tb} = broadcast %13                                // acc, line 4\n"
    "    %16: f32 {tb} = for tk in jagged [%5, %12) carry (%15: f32 {tb} = %14) { // line 4\n"
    "      %17: i64 {tb, tk} = index tk                               // line 6\n"
    "      %18: i64 {tb, tk} = add %8, %17                            // line 6\n"
    "      %19: f16 {tb, tk} = load x[%18]                            // line 6\n"
    "      %20: f32 {tb, tk} = cast %19                               // line 6\n"
    "      %21: f32 {tb} = reduce sum [tk] %20                        // line 6\n"
    "      %22: f32 {tb} = add %15, %21                               // line 6\n"
    "      %23: f32 {tb} = update %15, %22                            // line 6\n"
    "      yield %23                                                  // line 6\n"
    "    }\n"
    "    %24: f16 {tb} = cast %16                                     // line 8\n"
    "    store out[%7] = %24                                          // line 8\n"
    "    yield                                                        // line 8\n"
    "  }\n"
    "}\n";

static void text_of_a_kernel(struct unit *unit)
{
    struct text text = {0};
    ir_print(&text, program_row_sum(unit->arena, TYPE_F16));
    CHECK_TEXT(unit, text.data, row_sum_text);
    text_free(&text);
}

static void text_of_one_operation(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F16);
    struct text text = {0};
    ir_print_op(&text, kernel, kernel->body->last);
    CHECK_TEXT(unit, text.data, "for tb in tile [%5, %6) { … }");
    text_free(&text);
    ir_print_axes(&text, kernel, 3);
    CHECK_TEXT(unit, text.data, "{tb, tk}");
    text_free(&text);
    ir_axis_new(kernel, "tk", AXIS_TILE, 0);
    ir_print_axes(&text, kernel, 7);
    CHECK_TEXT(unit, text.data, "{tb, tk#1, tk#2}");
    text_free(&text);
}

static struct ir_value *find_result(struct ir_kernel *kernel, int id, struct ir_region *region)
{
    struct ir_value *found = NULL;
    for (struct ir_op *op = region->first; op && !found; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            found = op->results[i]->id == id ? op->results[i] : found;
        for (int i = 0; i < op->region_count && !found; i++)
            found = find_result(kernel, id, op->regions[i]);
    }
    return found;
}

static void text_of_every_form(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    struct ir_builder b = at_end(kernel);
    struct ir_value *truth = ir_integer(&b, TYPE_BOOL, 1), *number = ir_number(&b, TYPE_F32, 0.1), *zero = integer(&b, 0);
    ir_load(&b, 0, &zero, truth);
    ir_store(&b, 2, &zero, number, truth);
    ir_atomic(&b, RED_MAX, 2, &zero, number, NULL);
    ir_scan(&b, RED_PROD, 0, number, NULL);
    ir_dot(&b, 1, number, number, truth)->partial = 1;
    integer(&b, -7)->narrow = true;
    struct open_if branch = if_open(&b, truth, 1, &number);
    if_close(&branch, 1, branch.args);
    struct ir_op *assertion = ir_op_new(&b, OP_ASSERT, 1, 0, 0);
    assertion->operands[0] = truth;
    assertion->text = "a \"text\"";
    ir_insert(&b, assertion);
    struct text text = {0};
    for (struct ir_op *op = truth->def; op; op = op->next) {
        ir_print_op(&text, kernel, op);
        text_add(&text, "\n");
    }
    CHECK_TEXT(unit, text.data,
               "%23: bool = const true\n"
               "%24: f32 = const 0.10000000149011612\n"
               "%25: i64 = const 0\n"
               "%26: f32 = load x[%25] if %23\n"
               "store out[%25] = %24 if %23\n"
               "atomic max out[%25] = %24\n"
               "%27: f32 {tb} = scan prod [tb] %24\n"
               "%28: f32 partial {tb} = dot [tb] %24, %24 if %23\n"
               "%29: i64 narrow = const -7\n"
               "%31: f32 = if %23 carry (%30: f32 = %24) { … }\n"
               "assert %23, \"a \\\"text\\\"\"\n");
    text_free(&text);
}

static void axes_of_reductions(struct unit *unit)
{
    struct ir_kernel *kernel = ir_kernel_new(unit->arena, "axes");
    struct ir_builder top = at_end(kernel);
    int tb = ir_axis_new(kernel, "tb", AXIS_TILE, 0), tq = ir_axis_new(kernel, "tq", AXIS_JAGGED, AXIS_BIT(tb));
    int tk = ir_axis_new(kernel, "tk", AXIS_JAGGED, AXIS_BIT(tb)), tt = ir_axis_new(kernel, "tt", AXIS_JAGGED, AXIS_BIT(tq));
    CHECK(unit, kernel->axes[tt].parents == (AXIS_BIT(tb) | AXIS_BIT(tq)));
    CHECK(unit, ir_axis_closure(kernel, tt) == (AXIS_BIT(tb) | AXIS_BIT(tq) | AXIS_BIT(tt)));
    struct ir_value *one = integer(&top, 1);
    CHECK(unit, ir_reduce(&top, RED_SUM, AXIS_BIT(tk), one, NULL)->axes == AXIS_BIT(tb));
    CHECK(unit, ir_scan(&top, RED_SUM, tk, one, NULL)->axes == (AXIS_BIT(tb) | AXIS_BIT(tk)));
    struct ir_value *q = ir_axis_value(&top, OP_INDEX, tq), *k = ir_axis_value(&top, OP_INDEX, tk);
    struct ir_value *causal = ir_binary(&top, OP_LE, k, q);
    struct open_if branch = if_open(&top, causal, 0, NULL);
    CHECK(unit, ir_reduce(&branch.then, RED_SUM, AXIS_BIT(tk), one, NULL)->axes == (AXIS_BIT(tb) | AXIS_BIT(tq)));
    CHECK(unit, ir_reduce(&branch.then, RED_SUM, AXIS_BIT(tk), one, ir_binary(&branch.then, OP_EQ, k, one))->axes == AXIS_BIT(tb));
    CHECK(unit, ir_reduce(&branch.then, RED_ARGMAX, AXIS_BIT(tq), q, NULL)->axes == (AXIS_BIT(tb) | AXIS_BIT(tk)));
    if_close(&branch, 0, NULL);
    CHECK(unit, ir_axis_value(&top, OP_BEGIN, tk)->axes == AXIS_BIT(tb) && ir_axis_value(&top, OP_SIZE, tk)->axes == 0);
}

static void a_copy_is_the_same(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F16);
    struct arena *other = arena_new();
    struct ir_kernel *copy = ir_kernel_clone(other, kernel);
    struct text before = {0}, after = {0}, complaints = {0};
    ir_print(&after, copy);
    CHECK_TEXT(unit, after.data, row_sum_text);
    CHECK(unit, ir_verify(copy, &complaints));
    CHECK(unit, copy->axes[1].loop != kernel->axes[1].loop && copy->axes[1].loop->code == OP_FOR);
    CHECK(unit, copy->axes[1].hi != kernel->axes[1].hi && copy->params[0].extents[0] != kernel->params[0].extents[0]);
    // Changing the copy leaves the original alone.
    ir_remove(copy->body->last);
    ir_print(&before, kernel);
    CHECK_TEXT(unit, before.data, row_sum_text);
    text_free(&before);
    text_free(&after);
    text_free(&complaints);
    arena_free(other);
}

static void editing(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    struct ir_builder b = {.kernel = kernel, .region = kernel->body, .before = kernel->body->last};
    struct ir_value *rows = find_result(kernel, 6, kernel->body), *five = integer(&b, 5);
    ir_replace_uses(kernel, rows, five);
    CHECK(unit, kernel->body->last->operands[1] == five && kernel->axes[0].hi == five);
    ir_remove(rows->def);
    ir_move_before(five->def, kernel->body->first);
    CHECK(unit, kernel->body->first == five->def && !five->def->previous);
    struct ir_map *map = ir_map_new(kernel);
    struct ir_op *loop = kernel->body->last, *copy = ir_op_clone(&b, loop, map);
    CHECK(unit, copy->next == loop && loop->previous == copy && copy->operands[1] == five);
    struct ir_value *start = find_result(kernel, 8, loop->regions[0]);
    CHECK(unit, ir_map_get(map, start) != start && ir_map_get(map, start)->id >= 25 && ir_map_get(map, five) == five);
    struct text complaints = {0};
    CHECK(unit, ir_verify(kernel, &complaints));
    CHECK_TEXT(unit, complaints.data ? complaints.data : "", "");
    text_free(&complaints);
}

// ---------------------------------------------------------------------------------------------- numbers

static double number_of(const struct ir_value *value)
{
    struct ir_scalar scalar = ir_evaluate_number(value, &(struct ir_bindings){0});
    return ir_type_is_float(value->type) ? scalar.number : (double)scalar.integer;
}

static struct ir_value *apply(struct ir_builder *b, enum ir_opcode code, int count, double x, double y, double z, enum ir_type type)
{
    double numbers[3] = {x, y, z};
    struct ir_value *operands[3];
    for (int i = 0; i < count; i++)
        operands[i] = ir_type_is_float(type) ? ir_number(b, type, numbers[i]) : ir_integer(b, type, (int64_t)numbers[i]);
    return ir_elementwise(b, code, count, operands);
}

struct sample {
    enum ir_opcode code;
    enum ir_type type;  // of the operands
    double a, b, c, wanted;
};
static const struct sample samples[] = {
    {OP_ADD, TYPE_I64, 3, 4, 0, 7}, {OP_ADD, TYPE_F64, 0.5, 0.25, 0, 0.75}, {OP_SUB, TYPE_I64, 3, 4, 0, -1},
    {OP_MUL, TYPE_F32, 3, -4, 0, -12}, {OP_DIV, TYPE_I64, -7, 2, 0, -3}, {OP_DIV, TYPE_I64, 7, 0, 0, 0},
    {OP_DIV, TYPE_F64, 1, 0, 0, INFINITY}, {OP_MOD, TYPE_I64, -7, 2, 0, -1}, {OP_MOD, TYPE_I64, 7, 0, 0, 0},
    {OP_MOD, TYPE_F64, -7.5, 2, 0, -1.5}, {OP_NEG, TYPE_I64, 5, 0, 0, -5}, {OP_ABS, TYPE_F32, -2.5, 0, 0, 2.5},
    {OP_ABS, TYPE_I64, -9, 0, 0, 9}, {OP_CLAMP, TYPE_I64, 9, 0, 5, 5}, {OP_CLAMP, TYPE_F64, -1, 0, 5, 0},
    {OP_CLAMP, TYPE_F64, NAN, 0, 5, NAN}, {OP_FMA, TYPE_I64, 2, 3, 4, 10}, {OP_FMA, TYPE_F64, 2, 3, 0.5, 6.5},
    {OP_CDIV, TYPE_I64, 7, 2, 0, 4}, {OP_CDIV, TYPE_I64, 8, 2, 0, 4}, {OP_CDIV, TYPE_I64, -7, 2, 0, -3},
    {OP_CDIV, TYPE_I64, -7, -2, 0, 4}, {OP_CDIV, TYPE_I64, 7, 0, 0, 0}, {OP_AND, TYPE_I64, 6, 3, 0, 2},
    {OP_OR, TYPE_I64, 6, 3, 0, 7}, {OP_XOR, TYPE_I64, 6, 3, 0, 5}, {OP_XOR, TYPE_BOOL, 1, 1, 0, 0},
    {OP_NOT, TYPE_I64, 5, 0, 0, -6}, {OP_NOT, TYPE_BOOL, 1, 0, 0, 0}, {OP_NOT, TYPE_BOOL, 0, 0, 0, 1},
    {OP_SHL, TYPE_I64, 3, 4, 0, 48}, {OP_SHL, TYPE_I64, 3, 64, 0, 0}, {OP_SHL, TYPE_I64, 3, -1, 0, 0},
    {OP_SHR, TYPE_I64, -8, 1, 0, -4}, {OP_SHR, TYPE_I64, -8, 99, 0, -1}, {OP_SHR, TYPE_I64, 8, -1, 0, 0},
    {OP_MIN, TYPE_I64, 3, -4, 0, -4}, {OP_MIN, TYPE_F32, 3, NAN, 0, NAN}, {OP_MAX, TYPE_F32, NAN, 3, 0, NAN},
    {OP_MAX, TYPE_F64, 3, 4, 0, 4}, {OP_MAX, TYPE_BOOL, 0, 1, 0, 1}, {OP_EQ, TYPE_F64, NAN, NAN, 0, 0},
    {OP_NE, TYPE_F64, NAN, NAN, 0, 1}, {OP_LT, TYPE_I64, 1, 2, 0, 1}, {OP_LE, TYPE_I64, 2, 2, 0, 1},
    {OP_GT, TYPE_F32, 1, 2, 0, 0}, {OP_GE, TYPE_F32, 2, 2, 0, 1}, {OP_LAND, TYPE_BOOL, 1, 0, 0, 0},
    {OP_LOR, TYPE_BOOL, 1, 0, 0, 1}, {OP_LNOT, TYPE_BOOL, 1, 0, 0, 0}, {OP_ISNAN, TYPE_F64, NAN, 0, 0, 1},
    {OP_EXP, TYPE_F64, 0, 0, 0, 1}, {OP_EXP2, TYPE_F64, 5, 0, 0, 32}, {OP_LOG, TYPE_F64, 1, 0, 0, 0},
    {OP_LOG2, TYPE_F64, 8, 0, 0, 3}, {OP_SQRT, TYPE_F64, 9, 0, 0, 3}, {OP_RSQRT, TYPE_F64, 4, 0, 0, 0.5},
    {OP_SIN, TYPE_F64, 0, 0, 0, 0}, {OP_COS, TYPE_F64, 0, 0, 0, 1}, {OP_TANH, TYPE_F64, INFINITY, 0, 0, 1},
    {OP_ERF, TYPE_F64, INFINITY, 0, 0, 1}, {OP_SIGMOID, TYPE_F64, 0, 0, 0, 0.5}, {OP_SILU, TYPE_F64, 0, 0, 0, 0},
    {OP_GELU, TYPE_F64, 40, 0, 0, 40}, {OP_RELU, TYPE_F64, -3, 0, 0, 0}, {OP_RELU, TYPE_I64, 3, 0, 0, 3},
    {OP_FLOOR, TYPE_F64, -1.5, 0, 0, -2}, {OP_CEIL, TYPE_F64, -1.5, 0, 0, -1}, {OP_ROUND, TYPE_F64, 2.5, 0, 0, 2},
    {OP_ROUND, TYPE_F64, 3.5, 0, 0, 4},
};

static void numbers_of_every_operation(struct unit *unit)
{
    struct ir_kernel *kernel = ir_kernel_new(unit->arena, "numbers");
    struct ir_builder b = at_end(kernel);
    bool sampled[OP_COUNT] = {[OP_CAST] = true, [OP_BROADCAST] = true, [OP_SELECT] = true};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        struct ir_value *value = apply(&b, s->code, ir_ops[s->code].arity, s->a, s->b, s->c, s->type);
        CHECK(unit, ir_is_host_number(value));
        if (!CHECK_NUMBER(unit, number_of(value), s->wanted))
            printf("# by %s, sample %zu\n", ir_ops[s->code].name, i);
        sampled[s->code] = true;
    }
    for (int code = 0; code < OP_COUNT; code++) {
        if ((ir_ops[code].flags & F_ELEMENTWISE) && !CHECK(unit, sampled[code]))
            printf("# %s has no sample\n", ir_ops[code].name);
    }
    struct ir_value *least = ir_integer(&b, TYPE_I64, INT64_MIN), *minus = integer(&b, -1);
    CHECK(unit, ir_evaluate_number(ir_binary(&b, OP_DIV, least, minus), &(struct ir_bindings){0}).integer == INT64_MIN);
    CHECK(unit, ir_evaluate_number(ir_binary(&b, OP_MOD, least, minus), &(struct ir_bindings){0}).integer == 0);
    CHECK_NUMBER(unit, number_of(ir_select(&b, ir_integer(&b, TYPE_BOOL, 1), minus, least)), -1);
    CHECK_NUMBER(unit, number_of(ir_broadcast(&b, 0, minus)), -1);
}

static void numbers_of_casts(struct unit *unit)
{
    struct ir_builder b = at_end(ir_kernel_new(unit->arena, "casts"));
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_I8, ir_number(&b, TYPE_F32, 300))), 127);
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_I8, integer(&b, 300))), 44);
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_BOOL, integer(&b, 300))), 1);
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_F16, ir_number(&b, TYPE_F64, 1e6))), INFINITY);
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_F32, ir_integer(&b, TYPE_BOOL, 1))), 1);
    // 2^60 + 2^36 + 1 lies a little above the middle of two f32: through f64 it would be the middle itself.
    int64_t above = ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1;
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_F32, integer(&b, above))), 0x1p60 + 0x1p37);
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_F32, integer(&b, above - 1))), 0x1p60);
    CHECK_NUMBER(unit, number_of(ir_cast(&b, TYPE_F32, integer(&b, -above))), -(0x1p60 + 0x1p37));
}

static void numbers_from_outside(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    struct ir_builder b = at_end(kernel);
    int eps = scalar(&b, "eps", TYPE_F32);
    struct ir_value *sum = kernel->params[1].extents[0], *scaled = ir_binary(&b, OP_MUL, ir_scalar_value(&b, eps), ir_number(&b, TYPE_F32, 2));
    struct ir_scalar params[4] = {[3] = {.number = 0.25}};
    struct ir_bindings bindings = {.dims = (int64_t[]){70, 6}, .params = params};
    CHECK(unit, ir_is_host_number(sum) && ir_evaluate_number(sum, &bindings).integer == 7);
    CHECK(unit, ir_is_host_number(scaled) && ir_evaluate_number(scaled, &bindings).number == 0.5);
    CHECK(unit, !ir_is_host_number(find_result(kernel, 8, kernel->body)));
    struct ir_value *zero = integer(&b, 0), *loaded = ir_load(&b, 1, &zero, NULL);
    CHECK(unit, loaded->axes == 0 && !ir_is_host_number(ir_binary(&b, OP_ADD, loaded, zero)));
}

// Shared operands: as a tree this has 2^100000 leaves, and a recursion would be 100000 deep.
static void numbers_of_long_chains(struct unit *unit)
{
    struct ir_builder b = at_end(ir_kernel_new(unit->arena, "chain"));
    struct ir_value *value = integer(&b, 1);
    for (int i = 0; i < 100000; i++)
        value = ir_binary(&b, i < 20 ? OP_ADD : OP_AND, value, value);
    CHECK(unit, ir_is_host_number(value));
    CHECK_NUMBER(unit, number_of(value), 1 << 20);
}

static void the_op_table(struct unit *unit)
{
    struct text text = {0};
    ir_list_ops(&text);
    for (int code = 0; code < OP_COUNT; code++) {
        CHECK_PART(unit, text.data, ir_ops[code].name);
        for (int other = 0; other < code; other++)
            CHECK(unit, strcmp(ir_ops[code].name, ir_ops[other].name) != 0);
    }
    CHECK_PART(unit, text.data, "silu       silu         1 float       pure elementwise\n");
    CHECK(unit, ir_function_named("silu") == OP_SILU && ir_function_named("where") == OP_SELECT);
    CHECK(unit, ir_function_named("+") == OP_COUNT && ir_function_named("dot") == OP_COUNT && ir_function_named("") == OP_COUNT);
    for (int i = 0; i < RED_COUNT; i++)
        CHECK(unit, ir_reduction_name((enum ir_reduction)i) != NULL);
    text_free(&text);
}

static const struct unit_test tests[] = {
    {"text of a kernel", text_of_a_kernel},
    {"text of one operation", text_of_one_operation},
    {"text of every form", text_of_every_form},
    {"axes of reductions", axes_of_reductions},
    {"a copy is the same and stands alone", a_copy_is_the_same},
    {"replacing, removing, moving, copying operations", editing},
    {"numbers of every element-wise operation", numbers_of_every_operation},
    {"numbers of casts", numbers_of_casts},
    {"numbers from dimensions and scalars", numbers_from_outside},
    {"numbers of long chains", numbers_of_long_chains},
    {"the op table", the_op_table},
};
UNIT_MAIN(tests)
