// SPDX-License-Identifier: Apache-2.0
// The examples against plain formulas in C, on rows of many shapes, for every element type, offset type and cut.
// The formulas share nothing with the front end or the evaluator. Argument: the folder of the examples.
#include <stdlib.h>

#include "tests/ir/case.h"

// ------------------------------------------------------------------------------------------ data

struct rows {  // offsets[0..count]; packed elements before the first and behind the last row are NaN
    int count, total;
    int offsets[64];
};

struct setting {
    enum ir_type type, offset_type;
    int columns;
    struct rows rows;
    uint64_t seed;
};

static double next_number(uint64_t *seed)  // about [-2, 2)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / (double)(1u << 29) - 2;
}

static int next_below(uint64_t *seed, int limit)
{
    next_number(seed);
    return (int)(*seed >> 40) % limit;
}

static double *random_elements(struct unit *unit, struct setting *setting, int count, int first, int last)
{
    double *elements = ARENA_ARRAY(unit->arena, double, count + 1);
    for (int i = 0; i < count; i++) {
        double number = ir_round_to(setting->type, next_number(&setting->seed));
        elements[i] = i < first || i >= last ? NAN : number;
    }
    return elements;
}

enum shape { SHAPE_NO_ROWS, SHAPE_ALL_EMPTY, SHAPE_ONE_ROW, SHAPE_ONES, SHAPE_UNIFORM, SHAPE_ONE_LONG, SHAPE_ZIPF, SHAPE_EDGES, SHAPE_COUNT };

static int length_of(enum shape shape, int row, uint64_t *seed)
{
    static const int edges[] = {1, 31, 32, 33, 63, 65};
    switch (shape) {
    case SHAPE_ONE_ROW: return 37;
    case SHAPE_ONES: return 1;
    case SHAPE_UNIFORM: return next_below(seed, 40);
    case SHAPE_ONE_LONG: return row == 3 ? 300 : 3;
    case SHAPE_ZIPF: return 120 / (row + 1);
    case SHAPE_EDGES: return edges[row];
    default: return 0;
    }
}

static struct rows rows_of(enum shape shape, uint64_t *seed)
{
    static const int counts[SHAPE_COUNT] = {0, 5, 1, 9, 8, 6, 20, 6};
    struct rows rows = {.count = counts[shape]};
    rows.offsets[0] = 2;
    for (int row = 0; row < rows.count; row++)
        rows.offsets[row + 1] = rows.offsets[row] + length_of(shape, row, seed);
    rows.total = rows.offsets[rows.count] + 3;
    return rows;
}

// ------------------------------------------------------------------------------------------ descriptions

static cJSON *add_tensor(cJSON *parent, const char *name, enum ir_type type, int rank, const int *shape, const double *data)
{
    cJSON *tensor = cJSON_AddObjectToObject(parent, name);
    int count = 1;
    cJSON_AddStringToObject(tensor, "type", ir_type_name(type));
    cJSON_AddItemToObject(tensor, "shape", cJSON_CreateIntArray(shape, rank));
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    cJSON *list = cJSON_AddArrayToObject(tensor, "data");
    for (int i = 0; i < count; i++) {
        const char *word = isnan(data[i]) ? "nan" : data[i] < 0 ? "-inf" : "inf";
        cJSON_AddItemToArray(list, isfinite(data[i]) ? cJSON_CreateNumber(data[i]) : cJSON_CreateString(word));
    }
    return tensor;
}

static void add_offsets(cJSON *args, const struct setting *setting)
{
    double offsets[64];
    for (int row = 0; row <= setting->rows.count; row++)
        offsets[row] = setting->rows.offsets[row];
    add_tensor(args, "offsets", setting->offset_type, 1, (int[]){setting->rows.count + 1}, offsets);
}

static void add_scalar(cJSON *args, const char *name, double value)
{
    cJSON *scalar = cJSON_AddObjectToObject(args, name);
    cJSON_AddStringToObject(scalar, "type", "f32");
    cJSON_AddNumberToObject(scalar, "value", value);
}

static double tolerance_of(enum ir_type type)
{
    return type == TYPE_F64 ? 1e-9 : type == TYPE_F32 ? 2e-5 : type == TYPE_F16 ? 2e-3 : 1.6e-2;
}

struct prepared {
    cJSON *json, *args, *expect;
};

static struct prepared prepare(const char *file, const char *entry, const struct setting *setting, int round)
{
    struct prepared prepared = {.json = cJSON_CreateObject()};
    const char *cut = ir_cut_name((enum ir_cut)(round % CUT_COUNT));
    cJSON_AddStringToObject(prepared.json, "kernel", file);
    cJSON_AddStringToObject(prepared.json, "entry", entry);
    cJSON_AddNumberToObject(prepared.json, "tolerance", tolerance_of(setting->type));
    cJSON_AddItemToObject(prepared.json, "cuts", cJSON_CreateStringArray(&cut, 1));
    prepared.args = cJSON_AddObjectToObject(prepared.json, "args");
    prepared.expect = cJSON_AddObjectToObject(prepared.json, "expect");
    return prepared;
}

// ------------------------------------------------------------------------------------------ formulas

// x[nnz, M], with NaN in the slack.
static double *add_x(struct unit *unit, struct prepared *prepared, struct setting *setting, int columns, int rank)
{
    const struct rows *rows = &setting->rows;
    double *x = random_elements(unit, setting, rows->total * columns, rows->offsets[0] * columns, rows->offsets[rows->count] * columns);
    add_tensor(prepared->args, "x", setting->type, rank, (int[]){rows->total, columns}, x);
    add_offsets(prepared->args, setting);
    return x;
}

static void expect_sum(struct unit *unit, struct prepared *prepared, struct setting *setting, int columns, int rank)
{
    const struct rows *rows = &setting->rows;
    double *x = add_x(unit, prepared, setting, columns, rank), *out = ARENA_ARRAY(unit->arena, double, rows->count * columns + 1);
    for (int row = 0; row < rows->count; row++) {
        for (int k = rows->offsets[row]; k < rows->offsets[row + 1]; k++) {
            for (int m = 0; m < columns; m++)
                out[row * columns + m] += x[k * columns + m];
        }
    }
    add_tensor(prepared->expect, "out", TYPE_F64, rank, (int[]){rows->count, columns}, out);
}

static void expect_mean(struct unit *unit, struct prepared *prepared, struct setting *setting)
{
    const struct rows *rows = &setting->rows;
    int columns = setting->columns;
    double *x = add_x(unit, prepared, setting, columns, 2), *out = ARENA_ARRAY(unit->arena, double, rows->count * columns + 1), features[64];
    for (int row = 0; row < rows->count; row++) {
        features[row] = next_below(&setting->seed, columns + 1);
        int length = rows->offsets[row + 1] - rows->offsets[row];
        for (int m = 0; m < features[row]; m++) {
            double sum = 0;
            for (int k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
                sum += x[k * columns + m];
            out[row * columns + m] = length ? sum / length : 0;
        }
    }
    add_tensor(prepared->args, "features", TYPE_I32, 1, &rows->count, features);
    add_tensor(prepared->expect, "out", TYPE_F64, 2, (int[]){rows->count, columns}, out);
}

// What is expected of out[nnz, M]: the rows alone.
static void expect_rows(struct prepared *prepared, const struct setting *setting, const double *out)
{
    int first = setting->rows.offsets[0], count = setting->rows.offsets[setting->rows.count] - first;
    cJSON *tensor = add_tensor(prepared->expect, "out", TYPE_F64, 2, (int[]){count, setting->columns}, out + first * setting->columns);
    cJSON_AddItemToObject(tensor, "rows", cJSON_CreateIntArray((int[]){first, first + count}, 2));
}

static void expect_softmax(struct unit *unit, struct prepared *prepared, struct setting *setting)
{
    const struct rows *rows = &setting->rows;
    int columns = setting->columns;
    double *x = add_x(unit, prepared, setting, columns, 2), *out = ARENA_ARRAY(unit->arena, double, rows->total * columns);
    for (int row = 0; row < rows->count; row++) {
        for (int m = 0; m < columns; m++) {
            double highest = -INFINITY, sum = 0;
            for (int k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
                highest = fmax(highest, x[k * columns + m]);
            for (int k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
                sum += exp(x[k * columns + m] - highest);
            for (int k = rows->offsets[row]; k < rows->offsets[row + 1]; k++)
                out[k * columns + m] = exp(x[k * columns + m] - highest) / sum;
        }
    }
    expect_rows(prepared, setting, out);
}

static void expect_layer_norm(struct unit *unit, struct prepared *prepared, struct setting *setting)
{
    const struct rows *rows = &setting->rows;
    int columns = setting->columns;
    double *x = add_x(unit, prepared, setting, columns, 2), *out = ARENA_ARRAY(unit->arena, double, rows->total * columns);
    for (int row = 0; row < rows->count; row++) {
        int first = rows->offsets[row] * columns, last = rows->offsets[row + 1] * columns;
        double sum = 0, squares = 0, mean;
        for (int i = first; i < last; i++)
            sum += x[i];
        mean = sum / (last - first);
        for (int i = first; i < last; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        for (int i = first; i < last; i++)
            out[i] = (x[i] - mean) / sqrt(squares / (last - first) + 1e-6);
    }
    expect_rows(prepared, setting, out);
}

static void expect_dense_add(struct unit *unit, struct prepared *prepared, struct setting *setting)
{
    const struct rows *rows = &setting->rows;
    int columns = setting->columns, count = rows->count * columns;
    double *x = add_x(unit, prepared, setting, 1, 1), *y = random_elements(unit, setting, count, 0, count);
    double *out = ARENA_ARRAY(unit->arena, double, count + 1);
    for (int i = 0; i < count; i++) {
        int k = rows->offsets[i / columns] + i % columns;
        out[i] = y[i] + (k < rows->offsets[i / columns + 1] ? x[k] : 0);
    }
    add_tensor(prepared->args, "y", setting->type, 2, (int[]){rows->count, columns}, y);
    add_tensor(prepared->expect, "out", TYPE_F64, 2, (int[]){rows->count, columns}, out);
}

// ------------------------------------------------------------------------------------------ products

// T[total, columns] as one of the arguments, NaN outside the rows.
static double *add_packed(struct unit *unit, struct prepared *prepared, struct setting *setting, const char *name,
                          int rank, const int *shape, int columns)
{
    const struct rows *rows = &setting->rows;
    double *data = random_elements(unit, setting, rows->total * columns, rows->offsets[0] * columns,
                                   rows->offsets[rows->count] * columns);
    add_tensor(prepared->args, name, setting->type, rank, shape, data);
    return data;
}

static void expect_packed(struct prepared *prepared, const struct setting *setting, const char *name, int rank,
                          const int *shape, int columns, const double *out)
{
    int first = setting->rows.offsets[0], count = setting->rows.offsets[setting->rows.count] - first, extents[3];
    for (int i = 0; i < rank; i++)
        extents[i] = i ? shape[i] : count;
    cJSON *tensor = add_tensor(prepared->expect, name, TYPE_F64, rank, extents, out + first * columns);
    cJSON_AddItemToObject(tensor, "rows", cJSON_CreateIntArray((int[]){first, first + count}, 2));
}

static void expect_dense_bmm(struct unit *unit, struct prepared *prepared, struct setting *setting)
{
    const struct rows *rows = &setting->rows;
    int inner = 5, columns = setting->columns, count = rows->count;
    double *x = add_packed(unit, prepared, setting, "jagged", 2, (int[]){rows->total, inner}, inner);
    double *w = random_elements(unit, setting, count * inner * columns, 0, count * inner * columns);
    double *bias = random_elements(unit, setting, count * columns, 0, count * columns);
    double *out = ARENA_ARRAY(unit->arena, double, rows->total * columns + 1);
    bool with_bias = setting->seed % 2;
    for (int row = 0; row < count; row++) {
        for (int k = rows->offsets[row]; k < rows->offsets[row + 1]; k++) {
            for (int n = 0; n < columns; n++) {
                double sum = with_bias ? bias[row * columns + n] : 0;
                for (int d = 0; d < inner; d++)
                    sum += x[k * inner + d] * w[(row * inner + d) * columns + n];
                out[k * columns + n] = sum;
            }
        }
    }
    add_offsets(prepared->args, setting);
    add_tensor(prepared->args, "dense", setting->type, 3, (int[]){count, inner, columns}, w);
    if (with_bias)
        add_tensor(prepared->args, "bias", setting->type, 2, (int[]){count, columns}, bias);
    expect_packed(prepared, setting, "out", 2, (int[]){rows->total, columns}, columns, out);
}

struct attention {
    int heads, inner, columns;
    enum ir_type type;
    double *q, *k, *v, *out, *lse;
};

static double score_of(const struct attention *a, int query, int key, int head)
{
    double sum = 0;
    for (int d = 0; d < a->inner; d++)
        sum += a->q[(query * a->heads + head) * a->inner + d] * a->k[(key * a->heads + head) * a->inner + d];
    return sum;
}

// One query: the values up to its own, each with its weight. The program rounds weights to the type; here that is said
// where it doesn't depend on the tiles.
static void attend(const struct attention *a, int first, int query, int head, bool softmax)
{
    double highest = -INFINITY, total = 0;
    double *out = a->out + (query * a->heads + head) * a->columns;
    for (int key = first; key <= query; key++)
        highest = fmax(highest, 0.5 * score_of(a, query, key, head));
    for (int key = first; key <= query; key++) {
        double score = 0.5 * score_of(a, query, key, head);
        double weight = softmax ? exp(score - highest) : ir_round_to(a->type, 0.25 * score / (1 + exp(-score)));
        total += weight;
        for (int e = 0; e < a->columns; e++)
            out[e] += weight * a->v[(key * a->heads + head) * a->columns + e];
    }
    for (int e = 0; e < a->columns && softmax; e++)
        out[e] /= total;
    a->lse[query * a->heads + head] = highest + log(total);
}

static void expect_attention(struct unit *unit, struct prepared *prepared, struct setting *setting, bool softmax)
{
    const struct rows *rows = &setting->rows;
    struct attention a = {.heads = 2, .inner = 5, .columns = setting->columns, .type = setting->type};
    int count = rows->total * a.heads;
    int shape[] = {rows->total, a.heads, a.inner}, values[] = {rows->total, a.heads, a.columns};
    a.q = add_packed(unit, prepared, setting, "q", 3, shape, a.heads * a.inner);
    a.k = add_packed(unit, prepared, setting, "k", 3, shape, a.heads * a.inner);
    a.v = add_packed(unit, prepared, setting, "v", 3, values, a.heads * a.columns);
    a.out = ARENA_ARRAY(unit->arena, double, count * a.columns);
    a.lse = ARENA_ARRAY(unit->arena, double, count);
    for (int row = 0; row < rows->count; row++)
        for (int query = rows->offsets[row]; query < rows->offsets[row + 1]; query++)
            for (int head = 0; head < a.heads; head++)
                attend(&a, rows->offsets[row], query, head, softmax);
    add_offsets(prepared->args, setting);
    add_scalar(prepared->args, softmax ? "scale" : "alpha", 0.5);
    if (!softmax)
        add_scalar(prepared->args, "scale", 0.25);
    expect_packed(prepared, setting, "out", 3, values, a.heads * a.columns, a.out);
    if (softmax)
        expect_packed(prepared, setting, "lse", 2, values, a.heads, a.lse);
}

// ------------------------------------------------------------------------------------------ all of them

static struct prepared prepare_example(struct unit *unit, int example, struct setting *setting, int round)
{
    static const char *const files[] = {"jagged_sum", "jagged_sum", "jagged_mean", "jagged_softmax", "jagged_layer_norm", "jagged_dense_add",
                                        "jagged_dense_bmm", "jagged_hstu_attention", "jagged_attention"};
    const char *entry = example == 1 ? "jagged_sum_1d" : files[example];
    struct prepared prepared = prepare(arena_printf(unit->arena, "%s.tile", files[example]), entry, setting, round);
    switch (example) {
    case 0: expect_sum(unit, &prepared, setting, setting->columns, 2); break;
    case 1: expect_sum(unit, &prepared, setting, 1, 1); break;
    case 2: expect_mean(unit, &prepared, setting); break;
    case 3: expect_softmax(unit, &prepared, setting); break;
    case 4: expect_layer_norm(unit, &prepared, setting); break;
    case 5: expect_dense_add(unit, &prepared, setting); break;
    case 6: expect_dense_bmm(unit, &prepared, setting); break;
    default: expect_attention(unit, &prepared, setting, example == 8);
    }
    return prepared;
}

static void run_example(struct unit *unit, const char *folder, int example, enum ir_type type)
{
    static const int columns[] = {1, 3, 13};
    int round = example;
    for (int shape = 0; shape < SHAPE_COUNT; shape++) {
        for (int i = 0; i < 6 && unit->ok; i++, round++) {
            struct setting setting = {.type = type, .offset_type = i % 2 ? TYPE_I64 : TYPE_I32, .columns = columns[i / 2], .seed = (uint64_t)round + 1};
            setting.rows = rows_of((enum shape)shape, &setting.seed);
            struct prepared prepared = prepare_example(unit, example, &setting, round + i / 2);
            run_case(unit, folder, prepared.json);
            if (!unit->ok) printf("# shape %d, %d columns, offsets %s\n", shape, setting.columns, ir_type_name(setting.offset_type));
            cJSON_Delete(prepared.json);
        }
    }
}

int main(int argc, char **argv)
{
    static const enum ir_type types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_F64};
    static const char *const names[] = {"jagged_sum", "jagged_sum_1d", "jagged_mean", "jagged_softmax", "jagged_layer_norm", "jagged_dense_add",
                                        "jagged_dense_bmm", "jagged_hstu_attention", "jagged_attention"};
    struct unit unit = {0};
    for (int example = 0; example < 9 && argc == 2; example++) {
        for (int t = 0; t < 4; t++) {
            char name[64];
            snprintf(name, sizeof name, "%s, %s", names[example], ir_type_name(types[t]));
            unit_begin(&unit);
            run_example(&unit, argv[1], example, types[t]);
            unit_end(&unit, name);
        }
    }
    return unit_finish(&unit);
}
