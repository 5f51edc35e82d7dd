// SPDX-License-Identifier: Apache-2.0
// What each element-wise operation computes, on the host: private to ir/.
// The one idea: an operation's meaning is one expression in a, b, c, from which number.c makes a function of three
// numbers and the evaluator a loop over points. Floating values are f64, integers i64 (wrapping), truth is 0 or 1.
#ifndef TILEC_IR_ELEMENT_H
#define TILEC_IR_ELEMENT_H

#include <math.h>
#include <stdint.h>

#include "ir/ir.h"

static inline int64_t element_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t element_sub(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t element_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t element_div(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? element_sub(0, a) : a / b;
}

static inline int64_t element_mod(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// The quotient rounded up; 0 where b is 0.
static inline int64_t element_cdiv(int64_t a, int64_t b) {
    int64_t quotient = element_div(a, b);
    return element_mod(a, b) != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

// A count outside [0, 63] shifts everything out.
static inline int64_t element_shl(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}

static inline int64_t element_shr(int64_t a, int64_t b) {
    return a >> (b < 0 || b > 63 ? 63 : b);
}

static inline double element_min(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

static inline double element_max(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static inline int64_t element_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t element_greatest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

// X(code, expression)
#define ELEMENT_FLOATS(X)                                                                                          \
    X(ADD, a + b) X(SUB, a - b) X(MUL, a * b) X(DIV, a / b) X(MOD, fmod(a, b)) X(NEG, -a) X(ABS, fabs(a))          \
    X(CLAMP, element_min(element_max(a, b), c)) X(FMA, fma(a, b, c)) X(MIN, element_min(a, b))                     \
    X(MAX, element_max(a, b)) X(EXP, exp(a)) X(EXP2, exp2(a)) X(LOG, log(a)) X(LOG2, log2(a)) X(SQRT, sqrt(a))     \
    X(RSQRT, 1 / sqrt(a)) X(SIN, sin(a)) X(COS, cos(a)) X(TANH, tanh(a)) X(ERF, erf(a))                            \
    X(SIGMOID, 1 / (1 + exp(-a))) X(SILU, a / (1 + exp(-a))) X(GELU, 0.5 * a * (1 + erf(a * 0.70710678118654752440))) \
    X(RELU, element_max(a, 0)) X(FLOOR, floor(a)) X(CEIL, ceil(a)) X(ROUND, rint(a))

// Integers and bool. NOT is exact for i64; the caller keeps the lowest bit of it for bool.
#define ELEMENT_INTEGERS(X)                                                                                        \
    X(ADD, element_add(a, b)) X(SUB, element_sub(a, b)) X(MUL, element_mul(a, b)) X(DIV, element_div(a, b))        \
    X(MOD, element_mod(a, b)) X(NEG, element_sub(0, a)) X(ABS, a < 0 ? element_sub(0, a) : a)                      \
    X(CLAMP, element_least(element_greatest(a, b), c)) X(FMA, element_add(element_mul(a, b), c))                   \
    X(CDIV, element_cdiv(a, b)) X(AND, a & b) X(OR, a | b) X(XOR, a ^ b) X(NOT, ~a) X(SHL, element_shl(a, b))      \
    X(SHR, element_shr(a, b)) X(MIN, element_least(a, b)) X(MAX, element_greatest(a, b))                           \
    X(RELU, element_greatest(a, 0)) X(LAND, a && b) X(LOR, a || b) X(LNOT, !a)

// From two of one type, floating or not, to bool.
#define ELEMENT_COMPARISONS(X) X(EQ, a == b) X(NE, a != b) X(LT, a < b) X(LE, a <= b) X(GT, a > b) X(GE, a >= b)

// One element from `from` to `to`; `value` holds both as a number of type `from`.
struct ir_scalar element_cast(enum ir_type to, enum ir_type from, struct ir_scalar value);

#endif
