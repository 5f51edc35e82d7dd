// SPDX-License-Identifier: Apache-2.0
// Numbers in words, as --dim, --arg and generators take them. In: "2 * B + 1", "total(offsets)". Out: a number.
//
//   sum     = product { ("+" | "-") product }
//   product = factor { ("*" | "/" | "%") factor }
//   factor  = "-" factor | "(" sum ")" | NUMBER | NAME | NAME "(" NAME ")"
//           | ("min" | "max" | "cdiv" | "next_pow2") "(" sum { "," sum } ")"
//
// Integers stay integers and must not overflow; their division rounds towards zero, as in the tile language.
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "runtime/build.h"
#include "runtime/data.h"

enum { DEEPEST = 100 };

struct reader {
    struct arena *arena;
    const char *text, *at;
    const struct expression_scope *scope;
    struct status status;  // the first failure
    int depth;
    const char *token;     // the name read last, in the text
};

static struct expression_number fail(struct reader *reader, const char *why)
{
    if (reader->status.ok && reader->scope->place) *reader->scope->place = (size_t)((reader->token ? reader->token : reader->at) - reader->text);
    if (reader->status.ok)
        reader->status = status_failed(reader->arena, "usage.expression", "in '%s': %s", reader->text, why);
    return (struct expression_number){0};
}

static char peek(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t') reader->at++;
    return *reader->at;
}

static bool take(struct reader *reader, char symbol)
{
    if (peek(reader) != symbol) return false;
    reader->at++;
    return true;
}

static const char *take_name(struct reader *reader)
{
    peek(reader);
    const char *begin = reader->token = reader->at;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_') reader->at++;
    return arena_copy(reader->arena, begin, (size_t)(reader->at - begin));
}

static struct expression_number integer(int64_t value)
{
    return (struct expression_number){.integer = value, .number = (double)value};
}

static struct expression_number floating(double value)
{
    return (struct expression_number){.floating = true, .number = value};
}

// Digits alone are an integer; a point or an exponent makes it floating. `negative`: a minus stands before it, with which
// the least integer fits.
static struct expression_number read_number(struct reader *reader, bool negative)
{
    const char *end = reader->at;
    int64_t value = 0;
    bool fits = true;
    for (; isdigit((unsigned char)*end); end++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !(negative ? __builtin_sub_overflow(value, *end - '0', &value) : __builtin_add_overflow(value, *end - '0', &value));
    if (*end != '.' && *end != 'e' && *end != 'E') {
        reader->at = end;
        return fits ? integer(value) : fail(reader, "the number does not fit 64 bits");
    }
    double number;
    size_t length = text_parse_double(reader->at, strlen(reader->at), &number);
    if (length == 0) return fail(reader, "a number is malformed");
    reader->at += length;
    return floating(negative ? -number : number);
}

static struct expression_number look_up(struct reader *reader, const char *function, const char *name)
{
    struct expression_number number = {0};
    bool pending = false;
    const char *why = reader->scope->look_up(reader->scope->data, function, name, &number, &pending);
    if (!why) return reader->token = NULL, number;
    bool first = reader->status.ok;
    fail(reader, why);
    if (first && pending) reader->status.code = "usage.pending";
    return (struct expression_number){0};
}

static struct expression_number read_sum(struct reader *reader);
static struct expression_number combine(struct reader *reader, char operator, struct expression_number a,
                                        struct expression_number b);

// ---------------------------------------------------------------------------------------------- functions

static struct expression_number least(struct reader *reader, struct expression_number a, struct expression_number b)
{
    (void)reader;
    return b.number < a.number || (!a.floating && !b.floating && b.integer < a.integer) ? b : a;
}

static struct expression_number greatest(struct reader *reader, struct expression_number a, struct expression_number b)
{
    (void)reader;
    return b.number > a.number || (!a.floating && !b.floating && b.integer > a.integer) ? b : a;
}

// The quotient, rounded up.
static struct expression_number divide_up(struct reader *reader, struct expression_number a, struct expression_number b)
{
    struct expression_number quotient = combine(reader, '/', a, b), rest = combine(reader, '%', a, b);
    if (a.floating || b.floating) return floating(ceil(quotient.number));
    return integer(quotient.integer + (rest.integer != 0 && (rest.integer < 0) == (b.integer < 0)));
}

static struct expression_number next_power(struct reader *reader, struct expression_number a)
{
    int64_t power = 1;
    if (a.floating) return fail(reader, "next_pow2 takes an integer");
    while (power < a.integer)
        if (__builtin_mul_overflow(power, 2, &power)) return fail(reader, "the result does not fit 64 bits");
    return integer(power);
}

static const struct {
    const char *name;
    struct expression_number (*two)(struct reader *reader, struct expression_number a, struct expression_number b);
} functions[] = {{"min", least}, {"max", greatest}, {"cdiv", divide_up}, {"next_pow2", NULL}};

// Behind the bracket. False: it is none of these.
static bool read_call(struct reader *reader, const char *name, struct expression_number *result)
{
    size_t i = 0;
    while (i < sizeof functions / sizeof *functions && strcmp(functions[i].name, name) != 0) i++;
    if (i == sizeof functions / sizeof *functions) return false;
    struct expression_number a = read_sum(reader);
    if (functions[i].two) {
        if (!take(reader, ',')) return *result = fail(reader, arena_printf(reader->arena, "%s takes two numbers", name)), true;
        struct expression_number b = read_sum(reader);
        *result = reader->status.ok ? functions[i].two(reader, a, b) : a;
    } else {
        *result = reader->status.ok ? next_power(reader, a) : a;
    }
    if (!take(reader, ')')) *result = fail(reader, "a ')' is missing");
    return true;
}

static struct expression_number read_name(struct reader *reader)
{
    struct expression_number result;
    const char *name = take_name(reader);
    if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0) return reader->token = NULL, floating(*name == 'i' ? INFINITY : NAN);
    if (!take(reader, '(')) return look_up(reader, NULL, name);
    const char *token = reader->token;
    reader->token = NULL;
    if (read_call(reader, name, &result)) return result;
    const char *of = take_name(reader);
    if (!*of || !take(reader, ')'))
        return fail(reader, arena_printf(reader->arena, "%s( ) takes the name of one argument", name));
    reader->token = token;
    return look_up(reader, name, of);
}

static struct expression_number negate(struct reader *reader, struct expression_number a)
{
    if (a.floating) return floating(-a.number);
    int64_t value;
    if (__builtin_sub_overflow((int64_t)0, a.integer, &value)) return fail(reader, "the result does not fit 64 bits");
    return integer(value);
}

static struct expression_number read_factor(struct reader *reader)
{
    if (reader->depth == DEEPEST) return fail(reader, "it is nested too deeply");
    reader->depth++;
    struct expression_number result;
    char symbol = peek(reader);
    if (take(reader, '-')) {
        bool literal = isdigit((unsigned char)peek(reader)) || peek(reader) == '.';
        result = literal ? read_number(reader, true) : negate(reader, read_factor(reader));
    } else if (take(reader, '(')) {
        result = read_sum(reader);
        if (!take(reader, ')')) result = fail(reader, "a ')' is missing");
    } else if (isdigit((unsigned char)symbol) || symbol == '.') {
        result = read_number(reader, false);
    } else if (isalpha((unsigned char)symbol) || symbol == '_') {
        result = read_name(reader);
    } else if (symbol) {
        result = fail(reader, arena_printf(reader->arena, "a number or a name was expected before '%s'", reader->at));
    } else {
        result = fail(reader, "a number or a name is missing at the end");
    }
    reader->depth--;
    return result;
}

static struct expression_number combine(struct reader *reader, char operator, struct expression_number a,
                                        struct expression_number b)
{
    reader->token = NULL;
    if (!reader->status.ok) return (struct expression_number){0};
    if (a.floating || b.floating) {
        double x = a.number, y = b.number;
        return floating(operator == '+' ? x + y : operator == '-' ? x - y : operator == '*' ? x * y
                        : operator == '/' ? x / y : fmod(x, y));
    }
    int64_t x = a.integer, y = b.integer, value = 0;
    bool overflow = false;
    if (operator == '+') overflow = __builtin_add_overflow(x, y, &value);
    if (operator == '-') overflow = __builtin_sub_overflow(x, y, &value);
    if (operator == '*') overflow = __builtin_mul_overflow(x, y, &value);
    if (operator == '/' || operator == '%') {
        if (y == 0) return reader->scope->total ? integer(0) : fail(reader, "it divides by 0");
        overflow = y == -1 && x == INT64_MIN;
        if (!overflow) value = operator == '/' ? x / y : x % y;
    }
    return overflow ? fail(reader, "the result does not fit 64 bits") : integer(value);
}

static struct expression_number read_product(struct reader *reader)
{
    struct expression_number result = read_factor(reader);
    while (reader->status.ok && peek(reader) && strchr("*/%", *reader->at)) {
        char operator = *reader->at++;
        result = combine(reader, operator, result, read_factor(reader));
    }
    return result;
}

static struct expression_number read_sum(struct reader *reader)
{
    struct expression_number result = read_product(reader);
    while (reader->status.ok && peek(reader) && strchr("+-", *reader->at)) {
        char operator = *reader->at++;
        result = combine(reader, operator, result, read_product(reader));
    }
    return result;
}

struct status expression_evaluate(struct arena *arena, const char *text, const struct expression_scope *scope,
                                  struct expression_number *number)
{
    struct reader reader = {.arena = arena, .text = text, .at = text, .scope = scope, .status = STATUS_OK};
    *number = read_sum(&reader);
    if (reader.status.ok && peek(&reader))
        fail(&reader, arena_printf(arena, "'%s' is not understood", reader.at));
    return reader.status;
}
