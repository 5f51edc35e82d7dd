// SPDX-License-Identifier: Apache-2.0
// Tensors with guards and poison, numbers in words, generated data, comparing, printing.
// The golden values of the generators were worked out from their definition with big integers and decimal fractions.
#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "runtime/build.h"
#include "runtime/data.h"
#include "tap.h"

static struct tensor make(struct tap *tap, enum ir_type type, int rank, const int64_t *shape)
{
    struct tensor tensor;
    struct status status = tensor_new(tap->arena, "x", type, rank, shape, &tensor);
    CHECK(tap, status.ok);
    return tensor;
}

static struct tensor vector(struct tap *tap, enum ir_type type, int64_t count)
{
    return make(tap, type, 1, &count);
}

// ---------------------------------------------------------------------------------------------- tensors

static void sizes_that_fit_nowhere(struct tap *tap)
{
    struct tensor tensor;
    struct status status = tensor_new(tap->arena, "x", TYPE_F32, 2, (int64_t[]){INT64_MAX / 2, 3}, &tensor);
    CHECK_TEXT(tap, status.code, "launch.memory");
    CHECK_TEXT(tap, status.reason, "'x' would be f32[4611686018427387903, 3], whose size in bytes does not fit 64 bits");
    status = tensor_new(tap->arena, "x", TYPE_F32, 1, (int64_t[]){INT64_MAX / 8}, &tensor);
    CHECK(tap, !status.ok && strstr(status.reason, "'x' would be f32[1152921504606846975], which takes 4294967295.9 GiB; this machine has "));
    status = tensor_new(tap->arena, "x", TYPE_I8, 1, (int64_t[]){INT64_MAX}, &tensor);
    CHECK(tap, !status.ok && strstr(status.reason, "this machine has "));
    status = tensor_new(tap->arena, "x", TYPE_I8, 2, (int64_t[]){3, -1}, &tensor);
    CHECK_TEXT(tap, status.reason, "'x' would be i8[3, -1], which has a negative extent");
    tensor = make(tap, TYPE_F64, 3, (int64_t[]){INT64_MAX, 0, INT64_MAX});
    CHECK_NUMBER(tap, tensor_elements(&tensor.view), 0);
    tensor_free(&tensor);
}

static void guards_notice(struct tap *tap)
{
    static const enum ir_type types[] = {TYPE_I8, TYPE_F16, TYPE_F32, TYPE_F64};
    for (int i = 0; i < 4; i++) {
        struct tensor tensor = vector(tap, types[i], 7);
        unsigned char *data = tensor.view.data;
        CHECK(tap, (uintptr_t)data % TENSOR_ALIGNMENT == 0);
        memset(data, 0xff, tensor.bytes);
        CHECK(tap, tensor_check_guards(tap->arena, "x", &tensor).ok);
        data[tensor.bytes] ^= 1;
        CHECK_TEXT(tap, tensor_check_guards(tap->arena, "x", &tensor).reason, "something was written 0 bytes behind the end of 'x'");
        data[tensor.bytes] ^= 1;
        data[tensor.bytes + TENSOR_GUARD_BYTES - 1] ^= 1;
        CHECK_TEXT(tap, tensor_check_guards(tap->arena, "x", &tensor).reason, "something was written 255 bytes behind the end of 'x'");
        data[tensor.bytes + TENSOR_GUARD_BYTES - 1] ^= 1;
        data[-3] ^= 1;
        CHECK_TEXT(tap, tensor_check_guards(tap->arena, "x", &tensor).reason, "something was written 3 bytes before the beginning of 'x'");
        tensor_free(&tensor);
    }
}

static void poison_is_told_apart(struct tap *tap)
{
    for (int type = TYPE_BOOL; type < TYPE_COUNT; type++) {
        struct tensor tensor = vector(tap, (enum ir_type)type, 5);
        tensor_poison(&tensor);
        for (int i = 0; i < 5; i++) CHECK(tap, tensor_is_poison(&tensor.view, i));
        if (ir_type_is_float((enum ir_type)type)) CHECK(tap, isnan(tensor_get(&tensor.view, 2).number));
        tensor_set(&tensor.view, 2, (struct ir_scalar){.integer = 1, .number = NAN});
        CHECK(tap, tensor_is_poison(&tensor.view, 1) && !tensor_is_poison(&tensor.view, 2) && tensor_is_poison(&tensor.view, 3));
        tensor_free(&tensor);
    }
}

static void conversions(struct tap *tap)
{
    struct tensor from = vector(tap, TYPE_F32, 4), to;
    static const double values[4] = {1.00390625, -3.75, 300, 1e30};
    for (int i = 0; i < 4; i++) tensor_set(&from.view, i, (struct ir_scalar){.number = values[i]});
    CHECK(tap, tensor_convert(tap->arena, "x", &from, TYPE_BF16, &to).ok);
    CHECK_NUMBER(tap, tensor_get(&to.view, 0).number, 1);  // halfway to 1.0078125: to even
    tensor_free(&to);
    CHECK(tap, tensor_convert(tap->arena, "x", &from, TYPE_I8, &to).ok);
    CHECK_NUMBER(tap, tensor_get(&to.view, 1).integer, -3);
    CHECK_NUMBER(tap, tensor_get(&to.view, 2).integer, 127);
    tensor_free(&from);
    CHECK(tap, tensor_convert(tap->arena, "x", &to, TYPE_F64, &from).ok);
    CHECK_NUMBER(tap, tensor_get(&from.view, 1).number, -3);
    tensor_free(&from);
    tensor_free(&to);
}

// ---------------------------------------------------------------------------------------------- numbers in words

static const char *find_b(void *data, const char *function, const char *name, struct expression_number *number, bool *pending)
{
    struct tap *tap = data;
    if (strcmp(name, "later") == 0) {
        *pending = true;
        return "'later' isn't known yet";
    }
    if (strcmp(name, "B") != 0 || (function && strcmp(function, "total") != 0)) return arena_printf(tap->arena, "there is no '%s'", name);
    *number = function ? (struct expression_number){.integer = 100, .number = 100} : (struct expression_number){.integer = 7, .number = 7};
    return NULL;
}

static void expressions(struct tap *tap)
{
    static const struct {
        const char *text;
        bool floating;
        double value;
    } cases[] = {
        {"12", false, 12}, {" 2 * B + 1 ", false, 15}, {"2*(B+1)", false, 16}, {"-B", false, -7}, {"- -3", false, 3},
        {"7 / 2", false, 3}, {"-7 / 2", false, -3}, {"-7 % 4", false, -3}, {"10 - 3 - 2", false, 5}, {"total(B) / 10", false, 10},
        {"total ( B )", false, 100}, {"1e3", true, 1000}, {"7 / 2.0", true, 3.5}, {".5 + .25", true, 0.75}, {"-1e-2", true, -0.01},
        {"9223372036854775807", false, 9223372036854775807.0}, {"inf", true, INFINITY}, {"2.5 % 1", true, 0.5},
    };
    struct expression_scope scope = {tap, find_b};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct expression_number number;
        struct status status = expression_evaluate(tap->arena, cases[i].text, &scope, &number);
        if (!status.ok) printf("# %s: %s\n", cases[i].text, status.reason);
        CHECK(tap, status.ok && number.floating == cases[i].floating);
        CHECK_NUMBER(tap, number.number, cases[i].value);
        if (!number.floating) CHECK_NUMBER(tap, number.integer, cases[i].value);
    }
}

static void wrong_expressions(struct tap *tap)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "in '': a number or a name is missing at the end"},
        {"2 *", "in '2 *': a number or a name is missing at the end"},
        {"2 3", "in '2 3': '3' is not understood"},
        {"(2", "in '(2': a ')' is missing"},
        {"2 + ]", "in '2 + ]': a number or a name was expected before ']'"},
        {"Q", "in 'Q': there is no 'Q'"},
        {"total()", "in 'total()': total( ) takes the name of one argument"},
        {"1 / (B - 7)", "in '1 / (B - 7)': it divides by 0"},
        {"9223372036854775808", "in '9223372036854775808': the number does not fit 64 bits"},
        {"9223372036854775807 + B", "in '9223372036854775807 + B': the result does not fit 64 bits"},
        {"4611686018427387904 * 2", "in '4611686018427387904 * 2': the result does not fit 64 bits"},
        {"(-9223372036854775807 - 1) / -1", "in '(-9223372036854775807 - 1) / -1': the result does not fit 64 bits"},
    };
    struct expression_scope scope = {tap, find_b};
    struct expression_number number;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status status = expression_evaluate(tap->arena, cases[i].text, &scope, &number);
        CHECK(tap, !status.ok && strcmp(status.code, "usage.expression") == 0);
        CHECK_TEXT(tap, status.reason, cases[i].reason);
    }
    CHECK_TEXT(tap, expression_evaluate(tap->arena, "2 * later", &scope, &number).code, "usage.pending");
    CHECK_TEXT(tap, expression_evaluate(tap->arena, "2 * Q + later", &scope, &number).code, "usage.expression");
    char *deep = arena_alloc(tap->arena, 1 << 20);
    memset(deep, '(', (1 << 20) - 1);
    CHECK(tap, strstr(expression_evaluate(tap->arena, deep, &scope, &number).reason, "nested too deeply"));
    memset(deep, '-', (1 << 20) - 1);
    CHECK(tap, strstr(expression_evaluate(tap->arena, deep, &scope, &number).reason, "nested too deeply"));
}

// ---------------------------------------------------------------------------------------------- generators

static const char *no_names(void *data, const char *function, const char *name, struct expression_number *number, bool *pending)
{
    (void)data, (void)function, (void)name, (void)number, (void)pending;
    return "no names here";
}

static struct status fill(struct tap *tap, const char *text, const char *name, uint64_t seed, struct tensor *tensor)
{
    struct generator generator;
    struct expression_number a = {0}, b = {0};
    struct expression_scope scope = {NULL, no_names};
    struct status status = generator_parse(tap->arena, text, &generator);
    if (status.ok && generator.a) status = expression_evaluate(tap->arena, generator.a, &scope, &a);
    if (status.ok && generator.b) status = expression_evaluate(tap->arena, generator.b, &scope, &b);
    return status.ok ? generator_fill(tap->arena, &generator, name, seed, a, b, tensor) : status;
}

static void check_values(struct tap *tap, int line, const char *text, const char *name, uint64_t seed, enum ir_type type, int count,
                         const double *wanted)
{
    struct tensor tensor = vector(tap, type, count);
    struct status status = fill(tap, text, name, seed, &tensor);
    if (!status.ok) printf("# line %d: %s\n", line, status.reason);
    CHECK(tap, status.ok);
    for (int i = 0; i < count; i++) {
        struct ir_scalar value = tensor_get(&tensor.view, i);
        tap_check_number(tap, line, text, ir_type_is_float(type) ? value.number : (double)value.integer, wanted[i]);
    }
    CHECK(tap, tensor_check_guards(tap->arena, name, &tensor).ok);
    tensor_free(&tensor);
}
#define VALUES(text, name, seed, type, ...)                                                                              \
    check_values(tap, __LINE__, text, name, seed, type, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static void golden_values(struct tap *tap)
{
    CHECK(tap, generator_hash(0, "x", 0) == 0xaf282ee01a02eb31 && generator_hash(0, "x", 2) == 0x4e85c556ab36cd9a);
    CHECK(tap, generator_hash(42, "offsets", 5) == 0xc80116a649bf9432);
    VALUES("randn", "x", 0, TYPE_F32, -0.233123779296875, 0.639434814453125, -0.2108917236328125, 1.0174713134765625, 0.2856292724609375);
    VALUES("randn", "x", 0, TYPE_F64, -0.233123779296875, 0.639434814453125, -0.2108917236328125, 1.0174713134765625);
    VALUES("uniform(-1, 1)", "x", 0, TYPE_F64, 0.36841379110776207, -0.5391412739360504, -0.38654263752102636, 0.4751281080816203);
    VALUES("randint(-5, 6)", "x", 0, TYPE_I8, 2, -3, -2, 3, -3, 5, -2, -4);
    VALUES("randint(-5, 6)", "x", 0, TYPE_F16, 2, -3, -2, 3);
    VALUES("zeros", "x", 1, TYPE_BF16, 0, 0);
    VALUES("ones()", "x", 1, TYPE_U8, 1, 1);
    VALUES("arange", "x", 1, TYPE_I32, 0, 1, 2, 3);
    VALUES("offsets(const(3))", "o", 1, TYPE_I32, 0, 3, 6, 9);
    VALUES("offsets(uniform(0, 9))", "offsets", 3, TYPE_I64, 0, 6, 9, 16, 23, 29, 37, 46, 46);
    VALUES("offsets( zipf(100, 25) )", "offsets", 3, TYPE_I64, 0, 18, 22, 34, 40, 49, 56, 61, 86);
    VALUES("offsets(lognormal(2, 1.5))", "offsets", 3, TYPE_I64, 0, 161, 182, 182, 182, 184, 185, 227, 252, 253, 264, 264, 265);
    VALUES("offsets(zipf(100, 25))", "offsets", 3, TYPE_I64, 0);
    VALUES("offsets(lognormal(10, 0))", "o", 0, TYPE_I64, 0, 22026);
    VALUES("offsets(lognormal(20.5, 0))", "o", 0, TYPE_I64, 0, 799902177);
    VALUES("offsets(lognormal(-3, 0))", "o", 0, TYPE_I64, 0, 0);
}

static void statistics(struct tap *tap)
{
    enum { COUNT = 200000 };
    struct tensor tensor = vector(tap, TYPE_F64, COUNT);
    double sum = 0, squares = 0, most = 0, neighbours = 0, before = 0;
    CHECK(tap, fill(tap, "randn", "x", 11, &tensor).ok);
    for (int i = 0; i < COUNT; i++) {
        double value = tensor_get(&tensor.view, i).number;
        sum += value;
        squares += value * value;
        neighbours += value * before;
        before = value;
        most = fmax(most, fabs(value));
    }
    CHECK(tap, fabs(sum / COUNT) < 0.01 && fabs(squares / COUNT - 1) < 0.01 && fabs(neighbours / COUNT) < 0.01);
    CHECK(tap, most > 3.8 && most <= 6);
    CHECK(tap, fill(tap, "uniform(2, 4)", "x", 11, &tensor).ok);
    sum = squares = 0;
    for (int i = 0; i < COUNT; i++) {
        double value = tensor_get(&tensor.view, i).number;
        CHECK(tap, value >= 2 && value < 4);
        sum += value;
        squares += (value - 3) * (value - 3);
    }
    CHECK(tap, fabs(sum / COUNT - 3) < 0.01 && fabs(squares / COUNT - 1 / 3.0) < 0.01);
    CHECK(tap, fill(tap, "randint(0, 5)", "x", 11, &tensor).ok);
    int counts[5] = {0};
    for (int i = 0; i < COUNT; i++) counts[(int)tensor_get(&tensor.view, i).number]++;
    for (int i = 0; i < 5; i++) CHECK(tap, abs(counts[i] - COUNT / 5) < 1000);
    tensor_free(&tensor);
}

static void names_and_seeds_matter(struct tap *tap)
{
    struct tensor a = vector(tap, TYPE_F32, 16), b = vector(tap, TYPE_F32, 16);
    CHECK(tap, fill(tap, "randn", "x", 1, &a).ok && fill(tap, "randn", "x", 1, &b).ok);
    CHECK(tap, memcmp(a.view.data, b.view.data, a.bytes) == 0);
    CHECK(tap, fill(tap, "randn", "x", 2, &b).ok && memcmp(a.view.data, b.view.data, a.bytes) != 0);
    CHECK(tap, fill(tap, "randn", "y", 1, &b).ok && memcmp(a.view.data, b.view.data, a.bytes) != 0);
    tensor_free(&a);
    tensor_free(&b);
}

// However many threads share the work, the numbers are those of one.
static void threads_do_not_matter(struct tap *tap)
{
    enum { COUNT = (5 << 20) + 3 };
    struct tensor several = vector(tap, TYPE_F32, COUNT), one = vector(tap, TYPE_F32, COUNT);
    cpu_set_t all, first;
    CHECK(tap, sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&first);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&first) == 0; core++)
        if (CPU_ISSET(core, &all)) CPU_SET(core, &first);
    for (int round = 0; round < 2; round++) {
        const char *text = round ? "uniform(-1, 3)" : "randn";
        CHECK(tap, fill(tap, text, "x", 5, &several).ok);
        CHECK(tap, sched_setaffinity(0, sizeof first, &first) == 0 && usable_cores() == 1);
        CHECK(tap, fill(tap, text, "x", 5, &one).ok);
        CHECK(tap, sched_setaffinity(0, sizeof all, &all) == 0);
        CHECK(tap, memcmp(several.view.data, one.view.data, one.bytes) == 0);
    }
    tensor_free(&several);
    tensor_free(&one);
}

// The rows of a zipf draw are those of the formula, in another order.
static void zipf_is_a_permutation(struct tap *tap)
{
    enum { ROWS = 1000 };
    int64_t wanted[ROWS], got[ROWS];
    double harmonic = 0;
    int moved = 0;
    struct tensor tensor = vector(tap, TYPE_I64, ROWS + 1);
    CHECK(tap, fill(tap, "offsets(zipf(1e5, 5000))", "offsets", 5, &tensor).ok);
    for (int i = 0; i < ROWS; i++) harmonic += 1.0 / (i + 1);
    for (int i = 0; i < ROWS; i++) {
        double share = fmin(1e5 / ((i + 1) * harmonic), 5000);
        wanted[i] = share < 1 ? 1 : (int64_t)share;
        got[i] = tensor_get(&tensor.view, i + 1).integer - tensor_get(&tensor.view, i).integer;
        moved += got[i] != wanted[i];
    }
    CHECK(tap, moved > ROWS / 2);
    for (int i = 0; i < ROWS; i++) {
        int j = i;
        while (j < ROWS && got[j] != wanted[i]) j++;
        CHECK(tap, j < ROWS);
        if (j == ROWS) break;
        got[j] = got[i];
    }
    tensor_free(&tensor);
}

static void check_refused(struct tap *tap, int line, const char *text, enum ir_type type, int count, const char *reason)
{
    struct tensor tensor = vector(tap, type, count);
    struct status status = fill(tap, text, "o", 0, &tensor);
    tap_check_text(tap, line, status.ok ? "(accepted)" : status.reason, reason);
    tensor_free(&tensor);
}
#define REFUSED(text, type, count, reason) check_refused(tap, __LINE__, text, type, count, reason)

static void refused_generators(struct tap *tap)
{
#define FORMS " is not understood: a tensor is @file.npy or one of zeros, ones, arange, randn, uniform(a, b), randint(a, b), offsets(…)"
    REFUSED("rand", TYPE_F32, 2, "'rand'" FORMS);
    REFUSED("3", TYPE_F32, 2, "'3'" FORMS);
    REFUSED("uniform(1)", TYPE_F32, 2, "'uniform(1)' should have the form uniform(a, b)");
    REFUSED("randn(1)", TYPE_F32, 2, "'randn(1)' should have the form randn");
    REFUSED("offsets(zipf(1, 2, 3))", TYPE_I32, 2, "'zipf(1, 2, 3)' should have the form zipf(total, max)");
    REFUSED("offsets", TYPE_I32, 2, "'offsets()' is not understood: offsets take const(n), uniform(a, b), zipf(total, max) or lognormal(mean, sigma)");
    REFUSED("randn", TYPE_I32, 2, "'o': randn gives floating numbers, but its type is i32: use randint(a, b)");
    REFUSED("uniform(2, 1)", TYPE_F32, 2, "'o': uniform(a, b) needs finite bounds with a <= b");
    REFUSED("uniform(0, inf)", TYPE_F32, 2, "'o': uniform(a, b) needs finite bounds with a <= b");
    REFUSED("randint(3, 3)", TYPE_I32, 2, "'o': randint(3, 3) has no number to give: it takes a <= n < b");
    REFUSED("randint(0, 2.5)", TYPE_I32, 2, "'o': randint(a, b) needs integers");
    REFUSED("randint(0, 257)", TYPE_U8, 2, "'o': the numbers of randint(0, 257) do not all fit u8");
    REFUSED("offsets(const(-1))", TYPE_I32, 2, "'o': const(n) needs an integer of at least 0");
    REFUSED("offsets(uniform(4, 3))", TYPE_I32, 2, "'o': the lengths' uniform(a, b) needs integers with 0 <= a <= b");
    REFUSED("offsets(const(1000000000))", TYPE_I32, 4, "'o': the lengths of the first 3 rows together do not fit i32");
    REFUSED("offsets(lognormal(1e300, 0))", TYPE_I64, 4, "'o': the lengths of the first 2 rows together do not fit i64");
    REFUSED("offsets(lognormal(0, -1))", TYPE_I64, 4, "'o': lognormal(mean, sigma) needs finite numbers, sigma at least 0");
    REFUSED("offsets(zipf(-1, 3))", TYPE_I64, 4, "'o': zipf(total, max) needs a total from 0 and a max from 1, both to 2^62");
    REFUSED("offsets(zipf(10, 0))", TYPE_I64, 4, "'o': zipf(total, max) needs a total from 0 and a max from 1, both to 2^62");
    REFUSED("offsets(const(1))", TYPE_F32, 4, "'o': offsets(…) is for one-dimensional tensors of integers");
    REFUSED("offsets(const(1))", TYPE_I32, 0, "'o': offsets need at least one element");
    struct tensor tensor = vector(tap, TYPE_U8, 256);
    CHECK(tap, fill(tap, "randint(0, 256)", "o", 0, &tensor).ok);
    tensor_free(&tensor);
}

// ---------------------------------------------------------------------------------------------- comparing

struct pair {
    struct tensor value, reference;
};

static struct pair make_pair(struct tap *tap, enum ir_type type, int64_t count)
{
    struct pair pair = {vector(tap, type, count), vector(tap, type, count)};
    for (int64_t i = 0; i < count; i++) {
        struct ir_scalar number = {.integer = i - 3, .number = (double)(i % 7 - 3)};
        tensor_set(&pair.value.view, i, number);
        tensor_set(&pair.reference.view, i, number);
    }
    return pair;
}

static struct comparison compare(const struct pair *pair, struct compare_options options)
{
    return compare_tensors(&pair->value.view, &pair->reference.view, &options);
}

static void put(const struct tensor *tensor, int64_t index, double value)
{
    tensor_set(&tensor->view, index, (struct ir_scalar){.integer = (int64_t)value, .number = value});
}

static void free_pair(struct pair *pair)
{
    tensor_free(&pair->value);
    tensor_free(&pair->reference);
}

static void equal_and_nearly_equal(struct tap *tap)
{
    struct pair pair = make_pair(tap, TYPE_F32, 100);  // RMS 2
    struct comparison comparison = compare(&pair, (struct compare_options){0});
    CHECK(tap, comparison.ok && comparison.compared == 100 && comparison.largest_error == 0 && !comparison.why);
    put(&pair.value, 41, 3 + 0x1p-20);
    comparison = compare(&pair, (struct compare_options){0});
    CHECK(tap, comparison.ok && comparison.where == 41 && comparison.largest_error == 0x1p-20);
    put(&pair.value, 41, 3 + 0x1p-16);
    comparison = compare(&pair, (struct compare_options){0});
    CHECK(tap, !comparison.ok && comparison.wrong == 1 && comparison.where == 41);
    CHECK_TEXT(tap, comparison.why, "differs from the reference");
    CHECK(tap, compare(&pair, (struct compare_options){.reduction_length = 1000}).ok);  // longer sums may differ more
    CHECK(tap, !compare(&pair, (struct compare_options){.reduction_length = 10}).ok);
    CHECK(tap, compare(&pair, (struct compare_options){.scale = 20}).ok);
    free_pair(&pair);
}

static void tolerance_goes_with_the_type(struct tap *tap)
{
    static const struct {
        enum ir_type type;
        double good, bad;
    } cases[] = {{TYPE_F64, 0x1p-49, 0x1p-42}, {TYPE_F32, 0x1p-20, 0x1p-16}, {TYPE_F16, 0x1p-8, 0x1p-5}, {TYPE_BF16, 0x1p-5, 0x1p-2}};
    for (int i = 0; i < 4; i++) {
        struct pair pair = make_pair(tap, cases[i].type, 100);
        put(&pair.value, 6, 3 + cases[i].good);
        CHECK(tap, compare(&pair, (struct compare_options){0}).ok);
        put(&pair.value, 6, 3 + cases[i].bad);
        CHECK(tap, !compare(&pair, (struct compare_options){0}).ok);
        free_pair(&pair);
    }
}

static void special_values(struct tap *tap)
{
    struct pair pair = make_pair(tap, TYPE_F32, 50);
    put(&pair.value, 3, NAN);
    struct comparison comparison = compare(&pair, (struct compare_options){.scale = 1e9});
    CHECK(tap, !comparison.ok && comparison.where == 3);
    CHECK_TEXT(tap, comparison.why, "is NaN where the reference is a number");
    put(&pair.reference, 3, NAN);
    CHECK(tap, compare(&pair, (struct compare_options){0}).ok);
    put(&pair.value, 3, 1);
    CHECK_TEXT(tap, compare(&pair, (struct compare_options){.scale = 1e9}).why, "is a number where the reference is NaN");
    put(&pair.value, 3, INFINITY);
    put(&pair.reference, 3, INFINITY);
    CHECK(tap, compare(&pair, (struct compare_options){0}).ok);
    put(&pair.value, 3, -INFINITY);
    CHECK(tap, !compare(&pair, (struct compare_options){.scale = 1e9}).ok);
    put(&pair.value, 3, 3e38);
    CHECK(tap, !compare(&pair, (struct compare_options){.scale = 1e9}).ok);
    put(&pair.value, 3, INFINITY);
    put(&pair.reference, 3, 3e38);
    CHECK(tap, !compare(&pair, (struct compare_options){.scale = 1e6}).ok);
    put(&pair.value, 3, -0.0);
    put(&pair.reference, 3, 0.0);
    CHECK(tap, compare(&pair, (struct compare_options){0}).ok);
    free_pair(&pair);
}

static void integers_are_exact(struct tap *tap)
{
    struct pair pair = make_pair(tap, TYPE_I64, 50);
    put(&pair.value, 8, 6);
    struct comparison comparison = compare(&pair, (struct compare_options){.reduction_length = 1000, .scale = 1e9});
    CHECK(tap, !comparison.ok && comparison.where == 8 && comparison.largest_error == 1);
    CHECK(tap, compare(&pair, (struct compare_options){.rounded = true}).ok);
    put(&pair.value, 8, 7);
    CHECK(tap, !compare(&pair, (struct compare_options){.rounded = true}).ok);
    tensor_set(&pair.value.view, 8, (struct ir_scalar){.integer = INT64_MAX});
    tensor_set(&pair.reference.view, 8, (struct ir_scalar){.integer = INT64_MAX - 1});  // the same as doubles
    CHECK(tap, !compare(&pair, (struct compare_options){0}).ok);
    free_pair(&pair);
}

static void poison_in_comparisons(struct tap *tap)
{
    for (int type = TYPE_BOOL; type < TYPE_COUNT; type++) {
        struct pair pair = make_pair(tap, (enum ir_type)type, 5);
        tensor_poison(&pair.value);
        struct comparison comparison = compare(&pair, (struct compare_options){0});
        CHECK(tap, !comparison.ok && comparison.wrong == 5);
        CHECK_TEXT(tap, comparison.why, "was never stored");
        tensor_poison(&pair.reference);
        CHECK(tap, compare(&pair, (struct compare_options){0}).ok);
        put(&pair.value, 2, 1);
        comparison = compare(&pair, (struct compare_options){0});
        CHECK(tap, !comparison.ok && comparison.where == 2);
        CHECK_TEXT(tap, comparison.why, "was stored where the reference stores nothing");
        comparison = compare(&pair, (struct compare_options){.sampled = true});
        CHECK(tap, comparison.ok && comparison.compared == 0 && comparison.where == -1);
        free_pair(&pair);
    }
}

// What an element may differ by is its own: a huge neighbour widens nothing.
static void errors_of_elements(struct tap *tap)
{
    struct pair pair = make_pair(tap, TYPE_F32, 100);
    double errors[100] = {0};
    put(&pair.value, 99, 1e30);
    put(&pair.reference, 99, 1e30);
    errors[99] = 1e24;
    put(&pair.value, 41, 4);  // 3 in the reference
    CHECK(tap, compare(&pair, (struct compare_options){0}).ok);  // by the root mean square of all
    struct comparison comparison = compare(&pair, (struct compare_options){.errors = errors});
    CHECK(tap, !comparison.ok && comparison.wrong == 1 && comparison.where == 41);
    errors[41] = 0.25;  // at most four times that
    CHECK(tap, compare(&pair, (struct compare_options){.errors = errors}).ok);
    errors[41] = 0.2;
    CHECK(tap, !compare(&pair, (struct compare_options){.errors = errors}).ok);
    CHECK(tap, compare(&pair, (struct compare_options){.errors = errors, .scale = 2}).ok);
    put(&pair.value, 99, 1e30 + 3e24);
    CHECK(tap, compare(&pair, (struct compare_options){.errors = errors, .scale = 2}).ok);
    put(&pair.value, 99, 1.1e30);
    CHECK(tap, !compare(&pair, (struct compare_options){.errors = errors, .scale = 2}).ok);
    free_pair(&pair);
}

// Sums of 1024 short rows, about 1 in size, and of one row of 2^20 numbers, a thousand times as large: that one may differ
// by what so long a sum's rounding comes to, as a vector's element and as a row of a matrix, and no other element may.
static void sums_of_rows_of_all_lengths(struct tap *tap)
{
    enum { ROWS = 1024, LONG = 700 };
    const struct compare_options options = {.reduction_length = 1 << 20};
    for (int64_t columns = 1; columns <= 64; columns *= 64) {
        struct pair pair = {make(tap, TYPE_F32, columns > 1 ? 2 : 1, (int64_t[]){ROWS, columns}),
                            make(tap, TYPE_F32, columns > 1 ? 2 : 1, (int64_t[]){ROWS, columns})};
        for (int64_t i = 0; i < ROWS * columns; i++) {
            double sum = (i % 2 ? 1 : -1) * (i / columns == LONG ? 1000 : 1);
            put(&pair.value, i, sum);
            put(&pair.reference, i, sum);
        }
        int64_t at = LONG * columns;
        put(&pair.value, at, tensor_get(&pair.reference.view, at).number + 0.06);  // sqrt(2^20) rounding errors of 1000
        CHECK(tap, compare(&pair, options).ok);
        put(&pair.value, at, tensor_get(&pair.reference.view, at).number + 0.5);
        CHECK(tap, !compare(&pair, options).ok);
        put(&pair.value, at, tensor_get(&pair.reference.view, at).number);
        put(&pair.value, 5, tensor_get(&pair.reference.view, 5).number + 0.06);
        CHECK(tap, !compare(&pair, options).ok);
        free_pair(&pair);
    }
}

static void comparisons_in_words(struct tap *tap)
{
    struct pair pair = {make(tap, TYPE_F32, 2, (int64_t[]){4, 10}), make(tap, TYPE_F32, 2, (int64_t[]){4, 10})};
    struct text text = {0};
    struct comparison comparison = compare(&pair, (struct compare_options){0});
    comparison_print(&text, "out", &pair.value.view, &comparison);
    CHECK_TEXT(tap, text.data, "all 40 elements equal the reference\n");
    text_free(&text);
    for (int i = 0; i < 40; i++) put(&pair.value, i, 2), put(&pair.reference, i, 2);
    put(&pair.value, 23, 2.5);
    comparison = compare(&pair, (struct compare_options){0});
    comparison_print(&text, "out", &pair.value.view, &comparison);
    CHECK_TEXT(tap, text.data, "1 of 40 elements are wrong; largest error 0.5, allowed 3.1e-06, at out[2, 3]: 2.5, reference 2\n");
    text_free(&text);
    put(&pair.value, 23, NAN);
    comparison = compare(&pair, (struct compare_options){0});
    comparison_print(&text, "out", &pair.value.view, &comparison);
    CHECK_TEXT(tap, text.data, "1 of 40 elements are wrong; out[2, 3]: nan is NaN where the reference is a number, reference 2\n");
    text_free(&text);
    free_pair(&pair);
}

// ---------------------------------------------------------------------------------------------- printing

static void numbers(struct tap *tap)
{
    static const struct {
        enum ir_type type;
        double value;
        int digits;
        const char *text;
    } cases[] = {
        {TYPE_F32, 0.1f, 17, "0.1"}, {TYPE_F32, 1.0f / 3, 17, "0.33333334"}, {TYPE_F32, 1.0f / 3, 6, "0.333333"},
        {TYPE_F64, 1.0 / 3, 17, "0.3333333333333333"}, {TYPE_F32, 16777216, 17, "16777216"}, {TYPE_F64, -1234567, 3, "-1230000"},
        {TYPE_F64, NAN, 3, "nan"}, {TYPE_F64, -INFINITY, 3, "-inf"}, {TYPE_F64, 0, 3, "0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        number_print(&text, cases[i].type, (struct ir_scalar){.number = cases[i].value}, cases[i].digits);
        CHECK_TEXT(tap, text.data, cases[i].text);
        text_free(&text);
    }
}

// Whatever is printed in full reads back as the same number of its type.
static void numbers_read_back(struct tap *tap)
{
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = generator_hash(9, "bits", i);
        for (int type = TYPE_F16; type <= TYPE_F64; type++) {
            struct tensor tensor = {.view = {.type = (enum ir_type)type, .rank = 1, .shape = {1}, .data = &bits}};
            double value = tensor_get(&tensor.view, 0).number, back = 0;
            struct text text = {0};
            number_print(&text, (enum ir_type)type, (struct ir_scalar){.number = value}, 17);
            size_t length = text_parse_double(text.data, text.length, &back);
            CHECK(tap, length == text.length && (isnan(value) ? isnan(back) : ir_round_to((enum ir_type)type, back) == value));
            text_free(&text);
        }
    }
}

static void summaries(struct tap *tap)
{
    struct tensor tensor = make(tap, TYPE_F32, 2, (int64_t[]){3, 4});
    struct text text = {0};
    for (int i = 0; i < 12; i++) put(&tensor, i, i / 4.0 - 1);
    put(&tensor, 1, NAN);
    summary_print(&text, "out", &tensor.view);
    CHECK_TEXT(tap, text.data, "out: f32[3, 4]\n  min -1  max 1.75  mean 0.477273  1 NaN\n  first -1 nan -0.5 -0.25 0 0.25 0.5 0.75 …\n");
    text_free(&text);
    tensor_poison(&tensor);
    put(&tensor, 0, 5);
    summary_print(&text, "out", &tensor.view);
    CHECK_TEXT(tap, text.data, "out: f32[3, 4]\n  min 5  max 5  mean 5  11 never stored\n  first 5 - - - - - - - …\n");
    text_free(&text);
    tensor_free(&tensor);
    tensor = make(tap, TYPE_I64, 2, (int64_t[]){0, 4});
    summary_print(&text, "out", &tensor.view);
    CHECK_TEXT(tap, text.data, "out: i64[0, 4], no elements\n");
    text_free(&text);
    tensor_free(&tensor);
}

static void histograms(struct tap *tap)
{
    struct tensor tensor = vector(tap, TYPE_I32, 8);
    struct text text = {0};
    static const int offsets[8] = {2, 2, 3, 6, 6, 16, 17, 17};
    for (int i = 0; i < 8; i++) put(&tensor, i, offsets[i]);
    rows_histogram(&text, ROWS_OFFSETS, &tensor.view);
    CHECK_TEXT(tap, text.data,
               "7 rows, 15 elements, longest 10\n"
               "        length      rows\n"
               "             0         3  ##################################################\n"
               "             1         2  #################################\n"
               "           2-3         1  #################\n"
               "           4-7         0\n"
               "          8-15         1  #################\n");
    text_free(&text);
    tensor_free(&tensor);
    tensor = vector(tap, TYPE_I64, 1);
    rows_histogram(&text, ROWS_OFFSETS, &tensor.view);
    CHECK_TEXT(tap, text.data, "0 rows, 0 elements, longest 0\n");
    text_free(&text);
    tensor_set(&tensor.view, 0, (struct ir_scalar){.integer = INT64_MAX});
    rows_histogram(&text, ROWS_LENGTHS, &tensor.view);
    CHECK(tap, strstr(text.data, "4611686018427387904-9223372036854775807"));
    text_free(&text);
    tensor_free(&tensor);
}

static const struct tap_test tests[] = {
    {"sizes that fit nowhere", sizes_that_fit_nowhere},
    {"guards notice every byte beside the data", guards_notice},
    {"poison is told from all else", poison_is_told_apart},
    {"conversions between types", conversions},
    {"expressions", expressions},
    {"wrong expressions", wrong_expressions},
    {"golden values of the generators", golden_values},
    {"statistics of the generators", statistics},
    {"names and seeds matter", names_and_seeds_matter},
    {"threads don't matter", threads_do_not_matter},
    {"zipf is a permutation of the formula", zipf_is_a_permutation},
    {"refused generators", refused_generators},
    {"equal and nearly equal", equal_and_nearly_equal},
    {"the tolerance goes with the type", tolerance_goes_with_the_type},
    {"NaN and infinities", special_values},
    {"integers are exact", integers_are_exact},
    {"what is stored by one side only", poison_in_comparisons},
    {"errors of elements", errors_of_elements},
    {"sums of rows of all lengths", sums_of_rows_of_all_lengths},
    {"comparisons in words", comparisons_in_words},
    {"numbers as texts", numbers},
    {"numbers read back", numbers_read_back},
    {"summaries", summaries},
    {"histograms", histograms},
};
TAP_MAIN(tests)
