// SPDX-License-Identifier: Apache-2.0
// The reference evaluator on kernels built by hand, under every cut: active points, rows of their own length, `if`,
// `while`, scans, dots, atomics, and what it says when something is wrong.
#include <math.h>
#include <stdlib.h>

#include "ir/ir.h"
#include "tests/ir/programs.h"
#include "tests/unit.h"

struct run {
    struct ir_tensor tensors[6];
    struct ir_scalar params[6];
    int64_t dims[6];
    struct ir_evaluation evaluation;
};

static void bind(struct run *run, int param, enum ir_type type, int64_t extent, void *data)
{
    run->tensors[param] = (struct ir_tensor){.type = type, .rank = 1, .shape = {extent}, .data = data};
}

static struct status evaluate(struct unit *unit, struct run *run, const struct ir_kernel *kernel, enum ir_cut cut, uint64_t seed)
{
    run->evaluation.tensors = run->tensors;
    run->evaluation.bindings = (struct ir_bindings){.dims = run->dims, .params = run->params};
    run->evaluation.cut = cut;
    run->evaluation.seed = seed;
    return ir_evaluate(kernel, &run->evaluation, unit->arena);
}

static bool good(struct unit *unit, struct status status)
{
    if (!status.ok) printf("# %s: %s\n", status.code, status.reason);
    return CHECK(unit, status.ok);
}

// x, offsets, out as program_row_sum has them; dims nnz, B.
static struct run row_sum_run(enum ir_type type, int64_t nnz, void *x, int64_t rows, int64_t *offsets, void *out)
{
    struct run run = {.dims = {nnz, rows}};
    bind(&run, 0, type, nnz, x);
    bind(&run, 1, TYPE_I64, rows + 1, offsets);
    bind(&run, 2, type, rows, out);
    return run;
}

static void row_sums(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    float x[12] = {NAN, NAN, 1, 2, 3, 4, 5, 6, 7, 8, NAN, NAN};
    int64_t offsets[] = {2, 5, 5, 4, 10, 9};
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            float out[5] = {99, 99, 99, 99, 99};
            struct run run = row_sum_run(TYPE_F32, 12, x, 5, offsets, out);
            good(unit, evaluate(unit, &run, kernel, (enum ir_cut)cut, seed));
            CHECK_NUMBER(unit, out[0], 6);
            CHECK_NUMBER(unit, out[1], 0);
            CHECK_NUMBER(unit, out[2], 0);   // a negative length is an empty row
            CHECK_NUMBER(unit, out[3], 33);
            CHECK_NUMBER(unit, out[4], 0);
            CHECK(unit, run.evaluation.steps > 0);
        }
    }
}

static void no_rows(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    int64_t offsets[] = {0};
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        struct run run = row_sum_run(TYPE_F32, 0, NULL, 0, offsets, NULL);
        good(unit, evaluate(unit, &run, kernel, (enum ir_cut)cut, 1));
    }
}

// A bf16 sum would stick at 256; the sum is an f32 and only the store rounds.
static void narrow_types(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_BF16);
    uint16_t x[600], out[2];
    int64_t offsets[] = {0, 512, 600};
    for (int i = 0; i < 600; i++)
        x[i] = ir_bf16_from_f64(i < 512 ? 1 : 0.1);
    struct run run = row_sum_run(TYPE_BF16, 600, x, 2, offsets, out);
    good(unit, evaluate(unit, &run, kernel, CUT_THREE, 0));
    CHECK_NUMBER(unit, ir_bf16_to_f32(out[0]), 512);
    CHECK_NUMBER(unit, ir_bf16_to_f32(out[1]), ir_round_to(TYPE_BF16, 88 * ir_round_to(TYPE_BF16, 0.1)));
}

// How far off a sum may be goes with its partial sums, not with what is left of them, and with its row alone; sums that
// no order rounds are exact.
static void errors_of_sums(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    float x[303], out[4];
    double sums[4] = {0}, *errors[3] = {NULL, NULL, NULL};
    int64_t offsets[] = {0, 200, 202, 203, 303};
    for (int i = 0; i < 303; i++)
        x[i] = i < 100 ? 1.1f : i < 200 ? -1.1f : (float)(i % 5) - 1.5f;
    x[200] = 1e20f, x[201] = 1e13f, x[202] = 0.5f;
    for (int p = 0; p < kernel->param_count; p++)
        if (kernel->params[p].kind == PARAM_OUT) errors[p] = sums;
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        struct run run = row_sum_run(TYPE_F32, 303, x, 4, offsets, out);
        run.evaluation.errors = errors;
        good(unit, evaluate(unit, &run, kernel, (enum ir_cut)cut, 5));
        CHECK(unit, fabs((double)out[0]) <= 4 * sums[0]);
        CHECK(unit, sums[0] > 3 * 0x1p-24 && sums[0] < 1e5 * 0x1p-24);
        CHECK(unit, sums[1] > 1e20 * 0x1p-24 && sums[1] < 1e22 * 0x1p-24);
        CHECK_NUMBER(unit, sums[2], 0);
        CHECK_NUMBER(unit, out[3], 50);
        CHECK_NUMBER(unit, sums[3], 0);
    }
}

static void integers_wrap(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_I8);
    int8_t x[] = {100, 100, 100, -1}, out[2];
    int64_t offsets[] = {0, 3, 4};
    struct run run = row_sum_run(TYPE_I8, 4, x, 2, offsets, out);
    good(unit, evaluate(unit, &run, kernel, CUT_RANDOM, 3));
    CHECK_NUMBER(unit, out[0], 44);
    CHECK_NUMBER(unit, out[1], -1);
}

static void an_index_outside(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    float x[4] = {1, 2, 3, 4}, out[2];
    int64_t offsets[] = {0, 2, 7};
    struct run run = row_sum_run(TYPE_F32, 4, x, 2, offsets, out);
    struct status status = evaluate(unit, &run, kernel, CUT_WHOLE, 0);
    CHECK(unit, !status.ok);
    CHECK_TEXT(unit, status.code, "evaluate.index");
    CHECK_TEXT(unit, status.reason, "x[4] is outside the tensor at tb = 1, tk = 2: dimension 1 has 4 elements");
}

static void the_step_limit(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    float out[1];
    int64_t offsets[] = {0, INT64_MAX};
    struct run run = row_sum_run(TYPE_F32, 0, NULL, 1, offsets, out);
    run.evaluation.step_limit = 20;
    struct status status = evaluate(unit, &run, kernel, CUT_WHOLE, 0);
    CHECK_TEXT(unit, status.ok ? "" : status.code, "evaluate.steps");
    CHECK(unit, run.evaluation.steps > 20);
}

static void a_broken_program(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    kernel->body->last->operands[0] = NULL;
    struct run run = row_sum_run(TYPE_F32, 0, NULL, 0, NULL, NULL);
    struct status status = evaluate(unit, &run, kernel, CUT_WHOLE, 0);
    CHECK_TEXT(unit, status.ok ? "" : status.code, "internal.evaluate");
    CHECK_PART(unit, status.reason, "operand 0 is missing");
}

static void chosen_rows(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    float x[5] = {1, 2, 3, 4, 5};
    int64_t offsets[] = {0, 1, 3, 90, 4, 5};  // rows 2 and 3 would be outside
    bool rows[5] = {true, true, false, false, true};
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        float out[5] = {-1, -1, -1, -1, -1};
        struct run run = row_sum_run(TYPE_F32, 5, x, 5, offsets, out);
        run.evaluation.rows = rows;
        good(unit, evaluate(unit, &run, kernel, (enum ir_cut)cut, 5));
        CHECK(unit, out[0] == 1 && out[1] == 5 && out[2] == -1 && out[3] == -1 && out[4] == 5);
    }
}

// Ten million points in rows of very different lengths, half of them in one row: tiles are cut further than asked for,
// so that memory stays small, and that doesn't change a sum of integers.
static void many_points(struct unit *unit)
{
    enum { ROWS = 20000, POINTS = 10000000 };
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_I32);
    int32_t *x = malloc(sizeof *x * POINTS), *out = malloc(sizeof *out * ROWS);
    int64_t *offsets = malloc(sizeof *offsets * (ROWS + 1));
    for (int i = 0; i < POINTS; i++)
        x[i] = i % 7;
    offsets[0] = 0;
    for (int row = 0; row < ROWS; row++) {
        int64_t length = row == 77 ? POINTS / 2 : row % 500;
        offsets[row + 1] = offsets[row] + length < POINTS ? offsets[row] + length : POINTS;
    }
    struct run run = row_sum_run(TYPE_I32, POINTS, x, ROWS, offsets, out);
    good(unit, evaluate(unit, &run, kernel, CUT_WHOLE, 0));
    int wrong = 0;
    for (int row = 0; row < ROWS; row++) {
        int64_t sum = 0;
        for (int64_t i = offsets[row]; i < offsets[row + 1]; i++)
            sum += x[i];
        wrong += out[row] != (int32_t)sum;
    }
    CHECK_NUMBER(unit, wrong, 0);
    free(x);
    free(out);
    free(offsets);
}

// ---------------------------------------------------------------------------------------------- other programs

// for tb { var n = 0; for tk in [0, length) [while n + 1 < 4] { n += sum[tk](1), or 1 } out[tb] = n }
enum counting { COUNT_POINTS, COUNT_WHILE, COUNT_TILES };

static struct ir_kernel *program_count(struct arena *arena, enum counting counting)
{
    struct ir_kernel *kernel = ir_kernel_new(arena, "count");
    struct ir_builder top = at_end(kernel);
    int lengths = tensor(&top, "lengths", PARAM_IN, TYPE_I32, "B"), out = tensor(&top, "out", PARAM_OUT, TYPE_I64, "B");
    int tb = ir_axis_new(kernel, "tb", AXIS_TILE, 0), tk = ir_axis_new(kernel, "tk", AXIS_JAGGED, AXIS_BIT(tb));
    struct ir_value *zero = integer(&top, 0);
    struct open_loop row = loop_open(&top, tb, zero, ir_dim_value(&top, 0), 0, NULL);
    struct ir_builder *b = &row.body;
    struct ir_value *index = ir_axis_value(b, OP_INDEX, tb);
    struct ir_value *length = ir_cast(b, TYPE_I64, ir_load(b, lengths, &index, NULL)), *n = ir_broadcast(b, AXIS_BIT(tb), zero);
    struct open_loop column = loop_open(b, tk, zero, length, 1, &n);
    struct ir_value *one = integer(&column.body, 1);
    struct ir_value *more = counting == COUNT_TILES ? one : ir_reduce(&column.body, RED_SUM, AXIS_BIT(tk), one, NULL);
    more = ir_update(&column.body, column.args[0], ir_binary(&column.body, OP_ADD, column.args[0], more));
    loop_close(&column, 1, &more);
    if (counting == COUNT_WHILE) {
        struct ir_region *condition = ir_region_new(kernel, column.op);
        struct ir_builder c = {.kernel = kernel, .region = condition};
        struct ir_value *arg = ir_region_arg(kernel, condition, TYPE_I64, AXIS_BIT(tb), "n");
        struct ir_value *below = ir_binary(&c, OP_LT, ir_binary(&c, OP_ADD, arg, integer(&c, 1)), integer(&c, 4));
        ir_yield(&c, 1, &below);
        column.op->regions = (struct ir_region **)ARENA_ARRAY(arena, struct ir_region *, 2);
        column.op->regions[0] = column.body.region;
        column.op->regions[1] = condition;
        column.op->region_count = 2;
    }
    ir_store(b, out, &index, column.results[0], NULL);
    loop_close(&row, 0, NULL);
    return kernel;
}

static void counting_and_while(struct unit *unit)
{
    int32_t lengths[] = {3, 0, 7, 1, -2, 4};
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        int64_t out[6] = {0};
        struct run run = {.dims = {6}};
        bind(&run, 0, TYPE_I32, 6, lengths);
        bind(&run, 1, TYPE_I64, 6, out);
        good(unit, evaluate(unit, &run, program_count(unit->arena, COUNT_POINTS), (enum ir_cut)cut, 9));
        for (int row = 0; row < 6; row++)
            CHECK_NUMBER(unit, out[row], lengths[row] < 0 ? 0 : lengths[row]);
        good(unit, evaluate(unit, &run, program_count(unit->arena, COUNT_WHILE), (enum ir_cut)cut, 9));
        // How far a row goes depends on the cut, but not beyond the tile in which the condition first fails.
        int64_t longest = cut == CUT_ONE ? 3 : cut == CUT_TWO ? 4 : cut == CUT_THREE ? 3 : 7;
        CHECK(unit, out[0] == 3 && out[1] == 0 && out[3] == 1 && out[4] == 0);
        CHECK(unit, out[2] >= 3 && out[2] <= longest);
        if (cut <= CUT_THREE) CHECK_NUMBER(unit, out[2], cut == CUT_WHOLE ? 7 : longest);
    }
}

// A program that counts its tiles (the checker refuses it): its result differs from cut to cut, and the evaluator shows it.
static void a_result_that_depends_on_the_cut(struct unit *unit)
{
    static const int64_t wanted[][4] = {[CUT_WHOLE] = {1, 0, 1, 1}, [CUT_ONE] = {3, 0, 5, 2}, [CUT_TWO] = {2, 0, 3, 1}, [CUT_THREE] = {1, 0, 2, 1}};
    int32_t lengths[] = {3, 0, 5, 2};
    for (int cut = CUT_WHOLE; cut <= CUT_THREE; cut++) {
        int64_t out[4];
        struct run run = {.dims = {4}};
        bind(&run, 0, TYPE_I32, 4, lengths);
        bind(&run, 1, TYPE_I64, 4, out);
        good(unit, evaluate(unit, &run, program_count(unit->arena, COUNT_TILES), (enum ir_cut)cut, 0));
        for (int row = 0; row < 4; row++)
            CHECK_NUMBER(unit, out[row], wanted[cut][row]);
    }
}

// Every pair (tq, tk) of a row with tk <= tq: `count` of keys, their sum, and the greatest key's index, per tq.
// for tb { for tq in jagged(n) { var s, m; for tk in jagged(n) { if tk <= tq { s += sum[tk](tk); m = max(m, argmax[tk](tk)) } } } }
static struct ir_kernel *program_causal(struct arena *arena)
{
    struct ir_kernel *kernel = ir_kernel_new(arena, "causal");
    struct ir_builder top = at_end(kernel);
    int lengths = tensor(&top, "lengths", PARAM_IN, TYPE_I64, "B");
    int sums = tensor(&top, "sums", PARAM_OUT, TYPE_I64, "B,L"), places = tensor(&top, "places", PARAM_OUT, TYPE_I64, "B,L");
    int tb = ir_axis_new(kernel, "tb", AXIS_TILE, 0), tq = ir_axis_new(kernel, "tq", AXIS_JAGGED, AXIS_BIT(tb));
    int tk = ir_axis_new(kernel, "tk", AXIS_JAGGED, AXIS_BIT(tb));
    struct ir_value *zero = integer(&top, 0);
    struct open_loop row = loop_open(&top, tb, zero, ir_dim_value(&top, 0), 0, NULL);
    struct ir_value *b_index = ir_axis_value(&row.body, OP_INDEX, tb), *length = ir_load(&row.body, lengths, &b_index, NULL);
    struct open_loop query = loop_open(&row.body, tq, zero, length, 0, NULL);
    axes_t both = AXIS_BIT(tb) | AXIS_BIT(tq);
    struct ir_value *q = ir_axis_value(&query.body, OP_INDEX, tq);
    struct ir_value *start[2] = {ir_broadcast(&query.body, both, zero), ir_broadcast(&query.body, both, integer(&query.body, -1))};
    struct open_loop key = loop_open(&query.body, tk, zero, length, 2, start);
    struct ir_value *k = ir_axis_value(&key.body, OP_INDEX, tk);
    struct open_if causal = if_open(&key.body, ir_binary(&key.body, OP_LE, k, q), 2, key.args);
    struct ir_builder *b = &causal.then;
    struct ir_value *sum = ir_reduce(b, RED_SUM, AXIS_BIT(tk), k, NULL), *place = ir_reduce(b, RED_ARGMAX, AXIS_BIT(tk), k, NULL);
    struct ir_value *next[2] = {ir_update(b, causal.args[0], ir_binary(b, OP_ADD, causal.args[0], sum)),
                                ir_update(b, causal.args[1], ir_binary(b, OP_MAX, causal.args[1], place))};
    if_close(&causal, 2, next);
    loop_close(&key, 2, causal.results);
    struct ir_value *indices[2] = {b_index, q};
    ir_store(&query.body, sums, indices, key.results[0], NULL);
    ir_store(&query.body, places, indices, key.results[1], NULL);
    loop_close(&query, 0, NULL);
    loop_close(&row, 0, NULL);
    return kernel;
}

static void a_condition_between_axes(struct unit *unit)
{
    enum { B = 4, L = 6 };
    struct ir_kernel *kernel = program_causal(unit->arena);
    int64_t lengths[B] = {3, 0, 6, 1};
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        for (uint64_t seed = 0; seed < 5; seed++) {
            int64_t sums[B * L], places[B * L];
            for (int i = 0; i < B * L; i++)
                sums[i] = places[i] = -7;
            struct run run = {.dims = {B, L}};
            bind(&run, 0, TYPE_I64, B, lengths);
            run.tensors[1] = (struct ir_tensor){.type = TYPE_I64, .rank = 2, .shape = {B, L}, .data = sums};
            run.tensors[2] = (struct ir_tensor){.type = TYPE_I64, .rank = 2, .shape = {B, L}, .data = places};
            good(unit, evaluate(unit, &run, kernel, (enum ir_cut)cut, seed));
            for (int i = 0; i < B * L; i++) {
                int q = i % L;
                bool inside = q < lengths[i / L];
                CHECK_NUMBER(unit, sums[i], inside ? q * (q + 1) / 2 : -7);
                CHECK_NUMBER(unit, places[i], inside ? q : -7);
            }
        }
    }
}

// out[t, e] = dot[d](x[t, d], w[d, e]), d and e full axes; carry of a scan over t; an atomic count; predicated loads.
static struct ir_kernel *program_dense(struct arena *arena)
{
    struct ir_kernel *kernel = ir_kernel_new(arena, "dense");
    struct ir_builder top = at_end(kernel);
    int x = tensor(&top, "x", PARAM_IN, TYPE_F64, "N,D"), w = tensor(&top, "w", PARAM_IN, TYPE_F64, "D,E");
    int out = tensor(&top, "out", PARAM_OUT, TYPE_F64, "N,E"), count = tensor(&top, "count", PARAM_OUT, TYPE_I32, "E");
    kernel->params[count].fill = ir_integer(&top, TYPE_I32, 5);
    int d = ir_axis_new(kernel, "d", AXIS_FULL, 0), e = ir_axis_new(kernel, "e", AXIS_FULL, 0), t = ir_axis_new(kernel, "t", AXIS_TILE, 0);
    struct ir_value *zero = integer(&top, 0);
    kernel->axes[d].lo = kernel->axes[e].lo = zero;
    kernel->axes[d].hi = kernel->params[w].extents[0];
    kernel->axes[e].hi = kernel->params[w].extents[1];
    struct open_loop rows = loop_open(&top, t, zero, kernel->params[x].extents[0], 0, NULL);
    struct ir_builder *b = &rows.body;
    struct ir_value *i = ir_axis_value(b, OP_INDEX, t), *id = ir_axis_value(b, OP_INDEX, d), *ie = ir_axis_value(b, OP_INDEX, e);
    struct ir_value *row = ir_load(b, x, (struct ir_value *[]){i, id}, NULL);
    struct ir_value *weight = ir_load(b, w, (struct ir_value *[]){id, ie}, ir_binary(b, OP_LT, id, ie));  // above the diagonal
    struct ir_value *product = ir_dot(b, AXIS_BIT(d), row, weight, NULL);
    struct ir_value *running = ir_scan(b, RED_SUM, e, product, NULL);
    ir_store(b, out, (struct ir_value *[]){i, ie}, running, NULL);
    struct ir_value *bump = ir_integer(b, TYPE_I32, 1), *odd = ir_binary(b, OP_EQ, ir_binary(b, OP_AND, i, integer(b, 1)), integer(b, 1));
    ir_atomic(b, RED_SUM, count, &ie, bump, odd);
    loop_close(&rows, 0, NULL);
    return kernel;
}

static void dots_scans_and_atomics(struct unit *unit)
{
    enum { N = 5, D = 3, E = 4 };
    double x[N * D], w[D * E];
    for (int i = 0; i < N * D; i++)
        x[i] = i - 6;
    for (int i = 0; i < D * E; i++)
        w[i] = i % E > i / E ? 2 * i + 1 : NAN;
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        double out[N * E];
        int32_t count[E];
        struct run run = {.dims = {N, D, E}};
        run.tensors[0] = (struct ir_tensor){.type = TYPE_F64, .rank = 2, .shape = {N, D}, .data = x};
        run.tensors[1] = (struct ir_tensor){.type = TYPE_F64, .rank = 2, .shape = {D, E}, .data = w};
        run.tensors[2] = (struct ir_tensor){.type = TYPE_F64, .rank = 2, .shape = {N, E}, .data = out};
        bind(&run, 3, TYPE_I32, E, count);
        good(unit, evaluate(unit, &run, program_dense(unit->arena), (enum ir_cut)cut, 2));
        for (int i = 0; i < N; i++) {
            double running = 0;
            for (int e = 0; e < E; e++) {
                for (int d = 0; d < D; d++)
                    running += e > d ? x[i * D + d] * w[d * E + e] : 0;
                CHECK_NUMBER(unit, out[i * E + e], running);
                CHECK_NUMBER(unit, count[e], 5 + N / 2);
            }
        }
    }
}

// print and assert: per point, with the place.
static void asserts_and_prints(struct unit *unit)
{
    struct ir_kernel *kernel = program_row_sum(unit->arena, TYPE_F32);
    struct ir_op *store = kernel->body->last->regions[0]->last->previous;
    struct ir_builder b = {.kernel = kernel, .region = store->parent, .before = store};
    struct ir_op *print = ir_op_new(&b, OP_PRINT, 1, 0, 0), *assertion = ir_op_new(&b, OP_ASSERT, 1, 0, 0);
    print->operands[0] = store->operands[1];
    print->text = "sum";
    ir_insert(&b, print);
    assertion->operands[0] = ir_binary(&b, OP_LT, store->operands[1], ir_number(&b, TYPE_F32, 6));
    assertion->text = "sums are small";
    ir_insert(&b, assertion);
    float x[] = {0.5, 2, 3, 4}, out[2];
    int64_t offsets[] = {0, 2, 4};
    struct text printed = {0};
    struct run run = row_sum_run(TYPE_F32, 4, x, 2, offsets, out);
    run.evaluation.printed = &printed;
    struct status status = evaluate(unit, &run, kernel, CUT_WHOLE, 0);
    CHECK_TEXT(unit, printed.data, "sum (tb = 0): 2.5\nsum (tb = 1): 7\n");
    CHECK_TEXT(unit, status.ok ? "" : status.code, "evaluate.assert");
    CHECK_TEXT(unit, status.reason, "assertion failed at tb = 1: sums are small");
    text_free(&printed);
}

static void names_of_cuts(struct unit *unit)
{
    CHECK_TEXT(unit, ir_cut_name(CUT_WHOLE), "whole");
    CHECK_TEXT(unit, ir_cut_name(CUT_SHUFFLED), "shuffled");
}

static const struct unit_test tests[] = {
    {"row sums: empty and negative rows, slack of NaN", row_sums},
    {"no rows", no_rows},
    {"narrow types round where they are stored", narrow_types},
    {"sums have errors of their own", errors_of_sums},
    {"integers wrap where they are stored", integers_wrap},
    {"an index outside names place, index and extent", an_index_outside},
    {"the step limit ends a loop without end", the_step_limit},
    {"a broken program is refused", a_broken_program},
    {"chosen rows only", chosen_rows},
    {"ten million points", many_points},
    {"sum of 1 counts, while runs rows out", counting_and_while},
    {"a result that depends on the cut", a_result_that_depends_on_the_cut},
    {"a condition between two axes", a_condition_between_axes},
    {"dots, scans, fills, atomics, predicated loads", dots_scans_and_atomics},
    {"assert and print say where", asserts_and_prints},
    {"names of cuts", names_of_cuts},
};
UNIT_MAIN(tests)
