// SPDX-License-Identifier: Apache-2.0
// Element types: names, sizes and exact conversions. In: a value as f64 or i64. Out: the value as a type holds it.
// The one idea: every rounding goes straight from f64 to the target format, so nothing is ever rounded twice.
#include <math.h>
#include <string.h>

#include "ir/ir.h"

static const struct {
    const char *name;
    int bytes;
    bool is_float, is_integer;
    enum ir_type compute;
} type_table[TYPE_COUNT] = {
    [TYPE_NONE] = {"none", 0, false, false, TYPE_NONE},  [TYPE_BOOL] = {"bool", 1, false, false, TYPE_BOOL},
    [TYPE_I8] = {"i8", 1, false, true, TYPE_I64},        [TYPE_U8] = {"u8", 1, false, true, TYPE_I64},
    [TYPE_I32] = {"i32", 4, false, true, TYPE_I64},      [TYPE_I64] = {"i64", 8, false, true, TYPE_I64},
    [TYPE_F16] = {"f16", 2, true, false, TYPE_F32},      [TYPE_BF16] = {"bf16", 2, true, false, TYPE_F32},
    [TYPE_F32] = {"f32", 4, true, false, TYPE_F32},      [TYPE_F64] = {"f64", 8, true, false, TYPE_F64},
};

const char *ir_type_name(enum ir_type type) {
    return type_table[type].name;
}

enum ir_type ir_type_named(const char *name) {
    for (int type = TYPE_NONE + 1; type < TYPE_COUNT; type++) {
        if (strcmp(type_table[type].name, name) == 0)
            return (enum ir_type)type;
    }
    return TYPE_NONE;
}

int ir_type_bytes(enum ir_type type) {
    return type_table[type].bytes;
}

bool ir_type_is_float(enum ir_type type) {
    return type_table[type].is_float;
}

bool ir_type_is_integer(enum ir_type type) {
    return type_table[type].is_integer;
}

enum ir_type ir_type_compute(enum ir_type type) {
    return type_table[type].compute;
}

// ---------------------------------------------------------------------------------------------- 16-bit formats

// A binary format of 16 bits: sign, exponent, mantissa. The smallest normal number is 2^least_exponent.
struct half_format {
    int mantissa_bits;
    int least_exponent;
};
static const struct half_format format_f16 = {10, -14};
static const struct half_format format_bf16 = {7, -126};

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The significand, shifted right by `shift` (1 to 63) and rounded to nearest, ties to even.
static uint64_t shift_rounded(uint64_t significand, int shift) {
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    return kept;
}

// A carry out of the mantissa moves into the exponent by itself, since the fields are neighbours.
static uint16_t narrow(struct half_format format, double value) {
    uint64_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 63 << 15);
    int exponent_field = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    uint16_t infinity = (uint16_t)(0x7fff & ~((1 << format.mantissa_bits) - 1));
    if (exponent_field == 0x7ff)
        return sign | infinity | (uint16_t)(fraction ? 1 << (format.mantissa_bits - 1) : 0);
    if (exponent_field == 0)
        return sign;  // below 2^-1022: far less than half of anything these formats hold
    int exponent = exponent_field - 1023;
    int base = exponent > format.least_exponent ? exponent : format.least_exponent;
    int shift = 52 - format.mantissa_bits + (base - exponent);
    if (shift > 54)
        return sign;
    uint64_t kept = shift_rounded(fraction | (uint64_t)1 << 52, shift);
    uint64_t encoded = ((uint64_t)(base - format.least_exponent) << format.mantissa_bits) + kept;
    return sign | (encoded >= infinity ? infinity : (uint16_t)encoded);
}

uint16_t ir_f16_from_f64(double value) {
    return narrow(format_f16, value);
}

uint16_t ir_bf16_from_f64(double value) {
    return narrow(format_bf16, value);
}

float ir_bf16_to_f32(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

float ir_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits >> 15) << 31;
    uint32_t exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
    if (exponent == 0x1f)
        return float_of(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return float_of(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
}

// ---------------------------------------------------------------------------------------------- any type

double ir_round_to(enum ir_type type, double value) {
    switch (type) {
    case TYPE_F16:
        return ir_f16_to_f32(ir_f16_from_f64(value));
    case TYPE_BF16:
        return ir_bf16_to_f32(ir_bf16_from_f64(value));
    case TYPE_F32:
        return (float)value;
    default:
        return value;
    }
}

int64_t ir_wrap_to(enum ir_type type, int64_t value) {
    switch (type) {
    case TYPE_BOOL:
        return value != 0;
    case TYPE_I8:
        return (int8_t)(uint8_t)value;
    case TYPE_U8:
        return (uint8_t)value;
    case TYPE_I32:
        return (int32_t)(uint32_t)value;
    default:
        return value;
    }
}

int64_t ir_integer_of(enum ir_type type, double value) {
    int64_t least = type == TYPE_I8 ? INT8_MIN : type == TYPE_U8 ? 0 : type == TYPE_I32 ? INT32_MIN : INT64_MIN;
    int64_t most = type == TYPE_I8 ? INT8_MAX : type == TYPE_U8 ? UINT8_MAX : type == TYPE_I32 ? INT32_MAX : INT64_MAX;
    if (type == TYPE_BOOL)
        return value != 0;
    if (isnan(value))
        return 0;
    if (value <= (double)least)
        return least;
    if (value >= (double)most)
        return most;
    return (int64_t)value;
}
