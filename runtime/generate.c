// SPDX-License-Identifier: Apache-2.0
// Data made from nothing. In: a generator, a seed, the argument's name. Out: a filled tensor, the same on every machine.
// The one idea: element i is a hash of (seed, name, i), and what turns hashes into numbers uses integers and the four
// correctly rounded operations only, no function of the C library: normal numbers are sums of uniform integers
// (twelve of them: Irwin-Hall), powers of e are products of table entries in fixed point.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/build.h"
#include "runtime/data.h"

// ---------------------------------------------------------------------------------------------- reading

static const struct {
    const char *name;
    enum generator_kind kind;
    int arguments;
    const char *form;
} generators[] = {
    {"zeros", GENERATE_ZEROS, 0, "zeros"},
    {"ones", GENERATE_ONES, 0, "ones"},
    {"arange", GENERATE_ARANGE, 0, "arange"},
    {"randn", GENERATE_RANDN, 0, "randn"},
    {"uniform", GENERATE_UNIFORM, 2, "uniform(a, b)"},
    {"randint", GENERATE_RANDINT, 2, "randint(a, b)"},
}, distributions[] = {
    {"const", GENERATE_OFFSETS_CONST, 1, "const(n)"},
    {"uniform", GENERATE_OFFSETS_UNIFORM, 2, "uniform(a, b)"},
    {"zipf", GENERATE_OFFSETS_ZIPF, 2, "zipf(total, max)"},
    {"lognormal", GENERATE_OFFSETS_LOGNORMAL, 2, "lognormal(mean, sigma)"},
};

// NAME or NAME(ARGUMENTS): the parts, without space around them. False if it isn't of that form.
static bool split_call(struct arena *arena, const char *text, const char **name, const char **inside)
{
    while (isspace((unsigned char)*text)) text++;
    const char *end = text;
    while (isalnum((unsigned char)*end) || *end == '_') end++;
    *name = arena_copy(arena, text, (size_t)(end - text));
    *inside = "";
    while (isspace((unsigned char)*end)) end++;
    if (!*end) return **name != 0;
    size_t length = strlen(end);
    while (isspace((unsigned char)end[length - 1])) length--;
    if (*end != '(' || end[length - 1] != ')' || length < 2) return false;
    *inside = arena_copy(arena, end + 1, length - 2);
    return **name != 0;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t")] == 0;
}

// Splits at the commas outside parentheses. Returns how many parts there are; the first two are kept.
static int split_arguments(struct arena *arena, const char *inside, struct generator *generator)
{
    const char *begin = inside;
    int count = 0, depth = 0;
    if (is_blank(inside)) return 0;
    for (const char *at = inside;; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at && (*at != ',' || depth > 0)) continue;
        const char *part = arena_copy(arena, begin, (size_t)(at - begin));
        if (count == 0) generator->a = part;
        if (count == 1) generator->b = part;
        count++;
        begin = at + 1;
        if (!*at) return count;
    }
}

static struct status parse_distribution(struct arena *arena, const char *text, struct generator *generator)
{
    const char *name, *inside;
    size_t count = sizeof distributions / sizeof *distributions;
    for (size_t i = 0; split_call(arena, text, &name, &inside) && i < count; i++) {
        if (strcmp(name, distributions[i].name) != 0) continue;
        generator->kind = distributions[i].kind;
        if (split_arguments(arena, inside, generator) == distributions[i].arguments) return STATUS_OK;
        return status_failed(arena, "usage.generator", "'%s' should have the form %s", text, distributions[i].form);
    }
    return status_failed(arena, "usage.generator",
                         "'offsets(%s)' is not understood: offsets take const(n), uniform(a, b), zipf(total, max) or lognormal(mean, sigma)", text);
}

struct status generator_parse(struct arena *arena, const char *text, struct generator *generator)
{
    const char *name, *inside;
    *generator = (struct generator){0};
    if (split_call(arena, text, &name, &inside)) {
        if (strcmp(name, "offsets") == 0) return parse_distribution(arena, inside, generator);
        for (size_t i = 0; i < sizeof generators / sizeof *generators; i++) {
            if (strcmp(name, generators[i].name) != 0) continue;
            generator->kind = generators[i].kind;
            if (split_arguments(arena, inside, generator) == generators[i].arguments) return STATUS_OK;
            return status_failed(arena, "usage.generator", "'%s' should have the form %s", text, generators[i].form);
        }
    }
    return status_failed(arena, "usage.generator",
                         "'%s' is not understood: a tensor is @file.npy or one of zeros, ones, arange, randn, uniform(a, b), randint(a, b), offsets(…)", text);
}

bool generator_is_offsets(const struct generator *generator)
{
    return generator->kind >= GENERATE_OFFSETS_CONST;
}

// ---------------------------------------------------------------------------------------------- hashes to numbers

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t stream_of(uint64_t seed, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return mix(seed + 0x9e3779b97f4a7c15) ^ mix(hash);
}

static uint64_t hash_at(uint64_t stream, uint64_t index)
{
    return mix(stream + (index + 1) * 0x9e3779b97f4a7c15);
}

uint64_t generator_hash(uint64_t seed, const char *name, uint64_t index)
{
    return hash_at(stream_of(seed, name), index);
}

// Integers a <= n < a + range without visible bias; range 0 stands for 2^64.
static int64_t integer_in(uint64_t hash, int64_t a, uint64_t range)
{
    uint64_t offset = range ? (uint64_t)((unsigned __int128)hash * range >> 64) : hash;
    return (int64_t)((uint64_t)a + offset);
}

// Twelve uniform numbers of 0..65535 have mean 6 * 65535 and, together, the variance 65536^2 - 1.
static double normal_at(uint64_t stream, uint64_t index)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t hash = hash_at(stream, 3 * index + i);
        sum += (int64_t)((hash & 0xffff) + (hash >> 16 & 0xffff) + (hash >> 32 & 0xffff) + (hash >> 48));
    }
    return (double)(sum - 6 * 65535) / 65536.0;
}

static double uniform_at(uint64_t stream, uint64_t index, double a, double b)
{
    double unit = (double)(hash_at(stream, index) >> 11) * 0x1p-53;
    volatile double part = (b - a) * unit;  // not to be fused with the addition
    return a + part;
}

// floor(e^x), at most 2^62; e^x has about ten right digits. Bit i of the binary fraction of x / ln 2 multiplies by 2^(2^-i), in units of 2^-62.
static int64_t floor_exp(double x)
{
    static const uint64_t roots[32] = {
        0x5a827999fcef3242, 0x4c1bf828c6dc54b8, 0x45cae0f1f545eb73, 0x42d561b3e6243d8a, 0x4166c34c5615d0ec,
        0x40b268f9de0183ba, 0x4058f6a7ecccd5b6, 0x402c6be96af2fb58, 0x4016321b687027a8, 0x400b18178ba33b14,
        0x40058bce410147e8, 0x4002c5d7bff71daf, 0x400162e807ee7e5b, 0x4000b1730df6a524, 0x400058b9497b8152,
        0x40002c5c955dd701, 0x4000162e46d6f26c, 0x40000b1722757b1b, 0x4000058b90fd3e0c, 0x400002c5c86f3f26,
        0x40000162e433c79b, 0x400000b17218edd0, 0x40000058b90c3968, 0x4000002c5c860d54, 0x400000162e4302d2,
        0x4000000b17218073, 0x400000058b90bffc, 0x40000002c5c85fef, 0x4000000162e42ff3, 0x40000000b17217f9,
        0x4000000058b90bfc, 0x400000002c5c85fe,
    };
    volatile double power = x * 1.4426950408889634;
    if (!(power >= 0)) return 0;
    if (power >= 62) return (int64_t)1 << 62;
    int whole = (int)power;
    uint32_t fraction = (uint32_t)((power - whole) * 0x1p32);
    uint64_t mantissa = (uint64_t)1 << 62;
    for (int i = 0; i < 32; i++) {
        if (fraction >> (31 - i) & 1) mantissa = (uint64_t)((unsigned __int128)mantissa * roots[i] >> 62);
    }
    return (int64_t)(mantissa >> (62 - whole));
}

// ---------------------------------------------------------------------------------------------- filling

struct filling {
    struct arena *arena;
    const struct generator *generator;
    const char *name;
    uint64_t stream;
    struct expression_number a, b;
    const struct ir_tensor *view;
    int64_t count;
};

static struct status refuse(const struct filling *filling, const char *why)
{
    return status_failed(filling->arena, "launch.generator", "'%s': %s", filling->name, why);
}

// An integer written as one or as 1e6.
static bool as_integer(struct expression_number number, int64_t *value)
{
    if (number.floating && !(number.number >= -0x1p62 && number.number <= 0x1p62)) return false;
    *value = number.floating ? (int64_t)number.number : number.integer;
    return !number.floating || (double)*value == number.number;
}

static struct status fill_constant(const struct filling *filling, int64_t value)
{
    for (int64_t i = 0; i < filling->count; i++)
        tensor_set(filling->view, i, (struct ir_scalar){.integer = value, .number = (double)value});
    return STATUS_OK;
}

static struct status fill_arange(const struct filling *filling)
{
    for (int64_t i = 0; i < filling->count; i++)
        tensor_set(filling->view, i, (struct ir_scalar){.integer = i, .number = (double)i});
    return STATUS_OK;
}

// A range of a tensor: an element depends on its index alone.
static void fill_block(void *data, int64_t block, int64_t begin, int64_t end)
{
    const struct filling *filling = data;
    bool normal = filling->generator->kind == GENERATE_RANDN;
    (void)block;
    for (int64_t i = begin; i < end; i++) {
        double value = normal ? normal_at(filling->stream, (uint64_t)i)
                              : uniform_at(filling->stream, (uint64_t)i, filling->a.number, filling->b.number);
        tensor_set(filling->view, i, (struct ir_scalar){.number = value});
    }
}

static struct status fill_floating(struct filling *filling)
{
    bool normal = filling->generator->kind == GENERATE_RANDN;
    double a = filling->a.number, b = filling->b.number;
    if (!ir_type_is_float(filling->view->type))
        return refuse(filling, arena_printf(filling->arena, "%s gives floating numbers, but its type is %s: use randint(a, b)",
                                            normal ? "randn" : "uniform(a, b)", ir_type_name(filling->view->type)));
    if (!normal && !(isfinite(a) && isfinite(b) && isfinite(b - a) && a <= b))
        return refuse(filling, "uniform(a, b) needs finite bounds with a <= b");
    work_in_blocks(filling->count, fill_block, filling);
    return STATUS_OK;
}

static struct status fill_randint(const struct filling *filling)
{
    int64_t a, b;
    if (!as_integer(filling->a, &a) || !as_integer(filling->b, &b))
        return refuse(filling, "randint(a, b) needs integers");
    if (filling->count > 0 && a >= b)
        return refuse(filling, arena_printf(filling->arena, "randint(%lld, %lld) has no number to give: it takes a <= n < b",
                                            (long long)a, (long long)b));
    enum ir_type type = filling->view->type;
    if (ir_type_is_integer(type) && filling->count > 0 && (ir_wrap_to(type, a) != a || ir_wrap_to(type, b - 1) != b - 1))
        return refuse(filling, arena_printf(filling->arena, "the numbers of randint(%lld, %lld) do not all fit %s", (long long)a,
                                            (long long)b, ir_type_name(type)));
    for (int64_t i = 0; i < filling->count; i++) {
        int64_t value = integer_in(hash_at(filling->stream, (uint64_t)i), a, (uint64_t)b - (uint64_t)a);
        tensor_set(filling->view, i, (struct ir_scalar){.integer = value, .number = (double)value});
    }
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- offsets

// Ranks 1..rows in an order drawn by the hash (Fisher-Yates), then each rank's share of the harmonic sum.
static struct status zipf_lengths(const struct filling *filling, int64_t rows, int64_t *lengths)
{
    double total = filling->a.number, most = filling->b.number, harmonic = 0;
    if (!(total >= 0 && total <= 0x1p62 && most >= 1 && most <= 0x1p62))
        return refuse(filling, "zipf(total, max) needs a total from 0 and a max from 1, both to 2^62");
    for (int64_t i = 0; i < rows; i++) harmonic += 1.0 / (double)(i + 1);
    for (int64_t i = 0; i < rows; i++) {
        double share = total / ((double)(i + 1) * harmonic);
        if (share > most) share = most;
        lengths[i] = share < 1 ? 1 : (int64_t)share;
    }
    for (int64_t i = rows; i-- > 1;) {
        int64_t j = integer_in(hash_at(filling->stream, (uint64_t)i), 0, (uint64_t)i + 1);
        int64_t swapped = lengths[i];
        lengths[i] = lengths[j];
        lengths[j] = swapped;
    }
    return STATUS_OK;
}

static struct status uniform_lengths(const struct filling *filling, int64_t rows, int64_t *lengths)
{
    int64_t a, b;
    if (!as_integer(filling->a, &a) || !as_integer(filling->b, &b) || a < 0 || a > b)
        return refuse(filling, "the lengths' uniform(a, b) needs integers with 0 <= a <= b");
    for (int64_t i = 0; i < rows; i++)
        lengths[i] = integer_in(hash_at(filling->stream, (uint64_t)i), a, (uint64_t)b - (uint64_t)a + 1);
    return STATUS_OK;
}

static struct status lognormal_lengths(const struct filling *filling, int64_t rows, int64_t *lengths)
{
    double mean = filling->a.number, sigma = filling->b.number;
    if (!isfinite(mean) || !(sigma >= 0) || !isfinite(sigma))
        return refuse(filling, "lognormal(mean, sigma) needs finite numbers, sigma at least 0");
    for (int64_t i = 0; i < rows; i++) {
        volatile double spread = sigma * normal_at(filling->stream, (uint64_t)i);  // not to be fused
        lengths[i] = floor_exp(mean + spread);
    }
    return STATUS_OK;
}

static struct status const_lengths(const struct filling *filling, int64_t rows, int64_t *lengths)
{
    int64_t length;
    if (!as_integer(filling->a, &length) || length < 0) return refuse(filling, "const(n) needs an integer of at least 0");
    for (int64_t i = 0; i < rows; i++) lengths[i] = length;
    return STATUS_OK;
}

static struct status draw_lengths(const struct filling *filling, int64_t rows, int64_t *lengths)
{
    switch (filling->generator->kind) {
    case GENERATE_OFFSETS_ZIPF:
        return zipf_lengths(filling, rows, lengths);
    case GENERATE_OFFSETS_UNIFORM:
        return uniform_lengths(filling, rows, lengths);
    case GENERATE_OFFSETS_LOGNORMAL:
        return lognormal_lengths(filling, rows, lengths);
    default:
        return const_lengths(filling, rows, lengths);
    }
}

static struct status add_up(const struct filling *filling, int64_t rows, const int64_t *lengths)
{
    enum ir_type type = filling->view->type;
    int64_t most = ir_integer_of(type, INFINITY), total = 0;
    tensor_set(filling->view, 0, (struct ir_scalar){0});
    for (int64_t i = 0; i < rows; i++) {
        if (lengths[i] > most - total)
            return refuse(filling, arena_printf(filling->arena, "the lengths of the first %lld rows together do not fit %s",
                                                (long long)i + 1, ir_type_name(type)));
        total += lengths[i];
        tensor_set(filling->view, i + 1, (struct ir_scalar){.integer = total});
    }
    return STATUS_OK;
}

static struct status fill_offsets(const struct filling *filling)
{
    if (!ir_type_is_integer(filling->view->type) || filling->view->rank != 1)
        return refuse(filling, "offsets(…) is for one-dimensional tensors of integers");
    if (filling->count == 0) return refuse(filling, "offsets need at least one element");
    int64_t rows = filling->count - 1;
    int64_t *lengths = calloc((size_t)rows + 1, sizeof *lengths);
    if (!lengths) return status_failed(filling->arena, "launch.memory", "'%s': out of memory", filling->name);
    struct status status = draw_lengths(filling, rows, lengths);
    if (status.ok) status = add_up(filling, rows, lengths);
    free(lengths);
    return status;
}

struct status generator_fill(struct arena *arena, const struct generator *generator, const char *name, uint64_t seed,
                             struct expression_number a, struct expression_number b, struct tensor *tensor)
{
    struct filling filling = {.arena = arena, .generator = generator, .name = name, .stream = stream_of(seed, name),
                              .a = a, .b = b, .view = &tensor->view, .count = tensor_elements(&tensor->view)};
    switch (generator->kind) {
    case GENERATE_ZEROS:
        return fill_constant(&filling, 0);
    case GENERATE_ONES:
        return fill_constant(&filling, 1);
    case GENERATE_ARANGE:
        return fill_arange(&filling);
    case GENERATE_RANDN:
    case GENERATE_UNIFORM:
        return fill_floating(&filling);
    case GENERATE_RANDINT:
        return fill_randint(&filling);
    default:
        return fill_offsets(&filling);
    }
}
