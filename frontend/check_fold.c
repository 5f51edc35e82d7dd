// SPDX-License-Identifier: Apache-2.0
// Operators and functions on literals. In: untyped literals. Out: an untyped literal, as the language defines it.
// The one idea: what is made of literals stays a literal, and takes the type it meets later.
#include <math.h>

#include "frontend/check.h"

static double number_of(const struct operand *operand) {
    return operand->kind == OPERAND_FLOAT ? operand->number : (double)operand->integer;
}

bool fold_unary(struct checker *checker, enum ast_operator op, const struct operand *a, struct operand *result) {
    (void)checker;
    if (op == OPERATOR_NEG && a->kind == OPERAND_INTEGER)
        *result = operand_integer((int64_t)(0 - (uint64_t)a->integer));
    else if (op == OPERATOR_NEG && a->kind == OPERAND_FLOAT)
        *result = operand_float(-a->number);
    else if (op == OPERATOR_NOT && a->kind == OPERAND_INTEGER)
        *result = operand_integer(~a->integer);
    else if (op == OPERATOR_LNOT && a->kind == OPERAND_BOOL)
        *result = operand_bool(!a->integer);
    else
        return false;
    return true;
}

static int64_t divide(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t shift_left(int64_t a, int64_t count) {
    return count < 0 || count > 63 ? 0 : (int64_t)((uint64_t)a << count);
}

static int64_t shift_right(int64_t a, int64_t count) {
    if (count < 0 || count > 63)
        return a < 0 ? -1 : 0;
    return a < 0 ? (int64_t)~(~(uint64_t)a >> count) : a >> count;
}

static int64_t fold_integers(enum ast_operator op, int64_t a, int64_t b) {
    switch (op) {
    case OPERATOR_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case OPERATOR_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case OPERATOR_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case OPERATOR_DIV:
        return divide(a, b);
    case OPERATOR_MOD:
        return remainder_of(a, b);
    case OPERATOR_AND:
        return a & b;
    case OPERATOR_OR:
        return a | b;
    case OPERATOR_XOR:
        return a ^ b;
    case OPERATOR_SHL:
        return shift_left(a, b);
    default:
        return shift_right(a, b);
    }
}

static double fold_numbers(enum ast_operator op, double a, double b) {
    switch (op) {
    case OPERATOR_ADD:
        return a + b;
    case OPERATOR_SUB:
        return a - b;
    case OPERATOR_MUL:
        return a * b;
    case OPERATOR_DIV:
        return a / b;
    default:
        return fmod(a, b);
    }
}

static bool fold_comparison(enum ast_operator op, const struct operand *a, const struct operand *b) {
    bool exact = a->kind != OPERAND_FLOAT && b->kind != OPERAND_FLOAT;
    double x = number_of(a), y = number_of(b);
    bool less = exact ? a->integer < b->integer : x < y;
    bool equal = exact ? a->integer == b->integer : x == y;
    bool greater = exact ? a->integer > b->integer : x > y;
    switch (op) {
    case OPERATOR_EQ:
        return equal;
    case OPERATOR_NE:
        return !equal;
    case OPERATOR_LT:
        return less;
    case OPERATOR_LE:
        return less || equal;
    case OPERATOR_GT:
        return greater;
    default:
        return greater || equal;
    }
}

static void warn_division(struct checker *checker, const struct operand *a, const struct operand *b, struct span span) {
    if (remainder_of(a->integer, b->integer) == 0 && b->integer != 0)
        return;
    struct diagnostic *entry =
        check_warning(checker, "W0604", span, "%lld / %lld is %lld: a quotient of integers is cut off", (long long)a->integer,
                      (long long)b->integer, (long long)divide(a->integer, b->integer));
    entry->help = check_printf(checker, "write `%lld.0 / %lld` for a floating quotient", (long long)a->integer,
                               (long long)b->integer);
}

bool fold_binary(struct checker *checker, enum ast_operator op, const struct operand *a, const struct operand *b,
                 struct operand *result) {
    bool integers = a->kind == OPERAND_INTEGER && b->kind == OPERAND_INTEGER;
    bool bools = a->kind == OPERAND_BOOL && b->kind == OPERAND_BOOL;
    if (op >= OPERATOR_EQ && op <= OPERATOR_GE)
        *result = operand_bool(fold_comparison(op, a, b));
    else if (op == OPERATOR_LAND || op == OPERATOR_LOR)
        *result = operand_bool(op == OPERATOR_LAND ? a->integer && b->integer : a->integer || b->integer);
    else if (bools)
        *result = operand_bool(fold_integers(op, a->integer, b->integer) & 1);
    else if (integers)
        *result = operand_integer(fold_integers(op, a->integer, b->integer));
    else if (op <= OPERATOR_MOD)
        *result = operand_float(fold_numbers(op, number_of(a), number_of(b)));
    else
        return false;
    if (integers && op == OPERATOR_DIV)
        warn_division(checker, a, b, checker->builder.span);
    return true;
}

// ---------------------------------------------------------------------------------------------- functions

static int64_t ceiling_quotient(int64_t a, int64_t b) {
    int64_t quotient = divide(a, b), rest = remainder_of(a, b);
    return rest != 0 && (rest < 0) == (b < 0) ? quotient + 1 : quotient;
}

static struct operand fold_of_integers(enum ir_opcode code, const int64_t *in) {
    switch (code) {
    case OP_ABS:
        return operand_integer(in[0] < 0 ? (int64_t)(0 - (uint64_t)in[0]) : in[0]);
    case OP_RELU:
        return operand_integer(in[0] < 0 ? 0 : in[0]);
    case OP_MIN:
        return operand_integer(in[0] < in[1] ? in[0] : in[1]);
    case OP_MAX:
        return operand_integer(in[0] > in[1] ? in[0] : in[1]);
    case OP_CLAMP: {
        int64_t least = in[0] > in[1] ? in[0] : in[1];
        return operand_integer(least < in[2] ? least : in[2]);
    }
    case OP_FMA:
        return operand_integer(fold_integers(OPERATOR_ADD, fold_integers(OPERATOR_MUL, in[0], in[1]), in[2]));
    default:
        return operand_integer(ceiling_quotient(in[0], in[1]));
    }
}

static double smaller(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

static double greater(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double fold_smooth(enum ir_opcode code, double x) {
    switch (code) {
    case OP_EXP:
        return exp(x);
    case OP_EXP2:
        return exp2(x);
    case OP_LOG:
        return log(x);
    case OP_LOG2:
        return log2(x);
    case OP_SQRT:
        return sqrt(x);
    case OP_RSQRT:
        return 1 / sqrt(x);
    case OP_SIN:
        return sin(x);
    case OP_COS:
        return cos(x);
    case OP_TANH:
        return tanh(x);
    case OP_ERF:
        return erf(x);
    case OP_SIGMOID:
        return sigmoid(x);
    case OP_SILU:
        return x * sigmoid(x);
    case OP_GELU:
        return x * (1 + erf(x / sqrt(2.0))) / 2;
    case OP_FLOOR:
        return floor(x);
    case OP_CEIL:
        return ceil(x);
    default:
        return nearbyint(x);
    }
}

static struct operand fold_of_numbers(enum ir_opcode code, const double *in) {
    switch (code) {
    case OP_ABS:
        return operand_float(fabs(in[0]));
    case OP_RELU:
        return operand_float(greater(in[0], 0));
    case OP_MIN:
        return operand_float(smaller(in[0], in[1]));
    case OP_MAX:
        return operand_float(greater(in[0], in[1]));
    case OP_CLAMP:
        return operand_float(smaller(greater(in[0], in[1]), in[2]));
    case OP_FMA:
        return operand_float(fma(in[0], in[1], in[2]));
    case OP_ISNAN:
        return operand_bool(isnan(in[0]));
    default:
        return operand_float(fold_smooth(code, in[0]));
    }
}

struct operand fold_function(enum ir_opcode code, enum kind kind, int count, const struct operand *operands) {
    int64_t integers[3] = {0};
    double numbers[3] = {0};
    for (int i = 0; i < count && i < 3; i++) {
        integers[i] = operands[i].integer;
        numbers[i] = number_of(&operands[i]);
    }
    return kind == KIND_INTEGER ? fold_of_integers(code, integers) : fold_of_numbers(code, numbers);
}
