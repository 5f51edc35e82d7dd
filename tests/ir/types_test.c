// SPDX-License-Identifier: Apache-2.0
// Element types: every pattern of the 16-bit formats, every halfway case, wrapping and saturation.
#include <stdint.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/unit.h"

static void names(struct unit *unit)
{
    for (int type = TYPE_NONE + 1; type < TYPE_COUNT; type++)
        CHECK_NUMBER(unit, ir_type_named(ir_type_name((enum ir_type)type)), type);
    CHECK(unit, ir_type_named("f8") == TYPE_NONE);
    CHECK_NUMBER(unit, ir_type_bytes(TYPE_BF16), 2);
    CHECK_NUMBER(unit, ir_type_bytes(TYPE_BOOL), 1);
    CHECK(unit, ir_type_is_float(TYPE_BF16) && !ir_type_is_float(TYPE_I8) && !ir_type_is_float(TYPE_BOOL));
    CHECK(unit, ir_type_is_integer(TYPE_U8) && !ir_type_is_integer(TYPE_BOOL) && !ir_type_is_integer(TYPE_F16));
    CHECK(unit, ir_type_compute(TYPE_U8) == TYPE_I64 && ir_type_compute(TYPE_BF16) == TYPE_F32);
    CHECK(unit, ir_type_compute(TYPE_F64) == TYPE_F64 && ir_type_compute(TYPE_BOOL) == TYPE_BOOL);
}

// The value of a pattern, straight from the format's definition.
static double value_of(uint16_t bits, int mantissa_bits, int bias)
{
    int mantissa = bits & ((1 << mantissa_bits) - 1), exponent = (bits & 0x7fff) >> mantissa_bits;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (0x7fff >> mantissa_bits)) return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

struct format {
    int mantissa_bits, bias;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(double);
};
static const struct format formats[] = {
    {10, 15, ir_f16_to_f32, ir_f16_from_f64},
    {7, 127, ir_bf16_to_f32, ir_bf16_from_f64},
};

static void every_pattern(struct unit *unit)
{
    for (int f = 0; f < 2; f++) {
        const struct format *format = &formats[f];
        for (int bits = 0; bits < 0x10000 && unit->ok; bits++) {
            double wanted = value_of((uint16_t)bits, format->mantissa_bits, format->bias);
            double widened = format->widen((uint16_t)bits);
            CHECK_NUMBER(unit, widened, wanted);
            CHECK(unit, isnan(wanted) || signbit(widened) == signbit(wanted));
            uint16_t back = format->narrow(widened);
            CHECK(unit, isnan(wanted) ? isnan(format->widen(back)) : back == bits);
        }
    }
}

// Between each two neighbours: the middle goes to the even one, the least bit of f64 beside it to the nearer one.
static void every_halfway_case(struct unit *unit)
{
    for (int f = 0; f < 2; f++) {
        const struct format *format = &formats[f];
        int infinity = 0x7fff >> format->mantissa_bits << format->mantissa_bits;
        for (int bits = 0; bits < infinity && unit->ok; bits++) {
            double low = value_of((uint16_t)bits, format->mantissa_bits, format->bias);
            double high = bits + 1 == infinity ? 2 * low - value_of((uint16_t)(bits - 1), format->mantissa_bits, format->bias)
                                               : value_of((uint16_t)(bits + 1), format->mantissa_bits, format->bias);
            double middle = low + (high - low) / 2;
            int even = bits & 1 ? bits + 1 : bits;
            CHECK_NUMBER(unit, format->narrow(middle), even);
            CHECK_NUMBER(unit, format->narrow(nextafter(middle, 0)), bits);
            CHECK_NUMBER(unit, format->narrow(nextafter(middle, INFINITY)), bits + 1);
            CHECK_NUMBER(unit, format->narrow(-middle), even | 0x8000);
            CHECK_NUMBER(unit, format->narrow(-nextafter(middle, INFINITY)), (bits + 1) | 0x8000);
        }
    }
}

static void far_values(struct unit *unit)
{
    CHECK_NUMBER(unit, ir_f16_from_f64(65519.999), 0x7bff);
    CHECK_NUMBER(unit, ir_f16_from_f64(65520), 0x7c00);
    CHECK_NUMBER(unit, ir_f16_from_f64(1e300), 0x7c00);
    CHECK_NUMBER(unit, ir_f16_from_f64(-1e300), 0xfc00);
    CHECK_NUMBER(unit, ir_f16_from_f64(5e-324), 0);
    CHECK_NUMBER(unit, ir_f16_from_f64(-1e-300), 0x8000);
    CHECK_NUMBER(unit, ir_bf16_from_f64(3.5e38), 0x7f80);
    // A rounding through f32 would give 0x3c00 here: the value is a little above the middle.
    CHECK_NUMBER(unit, ir_f16_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    CHECK_NUMBER(unit, ir_bf16_from_f64(1 + 0x1p-8 + 0x1p-40), 0x3f81);
    CHECK(unit, isnan(ir_f16_to_f32(ir_f16_from_f64(NAN))));
    CHECK_NUMBER(unit, ir_round_to(TYPE_F32, 1 + 0x1p-30), 1);
    CHECK_NUMBER(unit, ir_round_to(TYPE_F64, 1 + 0x1p-30), 1 + 0x1p-30);
    CHECK_NUMBER(unit, ir_round_to(TYPE_F16, 0.1), 0.0999755859375);
    CHECK_NUMBER(unit, ir_round_to(TYPE_BF16, 0.1), 0.10009765625);
}

static void integers(struct unit *unit)
{
    CHECK_NUMBER(unit, ir_wrap_to(TYPE_I8, 200), -56);
    CHECK_NUMBER(unit, ir_wrap_to(TYPE_U8, -1), 255);
    CHECK_NUMBER(unit, ir_wrap_to(TYPE_I32, (int64_t)1 << 31), INT32_MIN);
    CHECK(unit, ir_wrap_to(TYPE_I64, INT64_MIN) == INT64_MIN);
    CHECK_NUMBER(unit, ir_wrap_to(TYPE_BOOL, 2), 1);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_I8, 127.9), 127);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_I8, 1e9), 127);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_I8, -128.9), -128);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_U8, -3), 0);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_U8, INFINITY), 255);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_I32, -2.7), -2);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_I32, NAN), 0);
    CHECK(unit, ir_integer_of(TYPE_I64, 9.3e18) == INT64_MAX && ir_integer_of(TYPE_I64, 0x1p63) == INT64_MAX);
    CHECK(unit, ir_integer_of(TYPE_I64, -INFINITY) == INT64_MIN && ir_integer_of(TYPE_I64, -0x1p63) == INT64_MIN);
    CHECK(unit, ir_integer_of(TYPE_I64, 0x1.fffffffffffffp62) == INT64_MAX - 1023);
    CHECK_NUMBER(unit, ir_integer_of(TYPE_BOOL, 0.25), 1);
}

static const struct unit_test tests[] = {
    {"type names and kinds", names},
    {"f16 and bf16: every pattern", every_pattern},
    {"f16 and bf16: every halfway case", every_halfway_case},
    {"rounding: far values, nothing rounded twice", far_values},
    {"integers: wrapping and saturation", integers},
};
UNIT_MAIN(tests)
