// SPDX-License-Identifier: Apache-2.0
// Tensors in a few lines. In: a tensor. Out: its type and shape, smallest, largest, mean, first values.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/data.h"

enum { FIRST_VALUES = 8 };

// The value rounded to some decimal digits, as a double whose shortest decimal has no more.
static double round_decimal(double value, int digits)
{
    int exponent = (int)floor(log10(fabs(value)));
    int places = digits - 1 - exponent;
    if (places > 300 || places < -300) return value;
    double scale = pow(10, abs(places) > 22 ? 0 : abs(places));
    if (scale == 1 && places != 0) return value;
    return places >= 0 ? rint(value * scale) / scale : rint(value / scale) * scale;
}

void number_print(struct text *out, enum ir_type type, struct ir_scalar value, int digits)
{
    if (type == TYPE_BOOL) {
        text_add(out, value.integer ? "true" : "false");
    } else if (!ir_type_is_float(type)) {
        text_printf(out, "%lld", (long long)value.integer);
    } else if (!isfinite(value.number) || value.number == 0) {
        text_double(out, value.number);
    } else {
        double number = 0;
        for (int i = 1; i <= digits && ir_round_to(type, number) != value.number; i++) number = round_decimal(value.number, i);
        bool lost = digits >= 17 && ir_round_to(type, number) != value.number;  // scaling itself has rounded
        text_double(out, lost ? value.number : number);
    }
}

// What is counted in one pass. Integers are kept exactly beside the doubles.
struct tally {
    int64_t nans, poison, numbers;
    struct ir_scalar least, most;
    double sum;
};

static struct tally tally_of(const struct ir_tensor *view)
{
    struct tally tally = {0};
    bool floating = ir_type_is_float(view->type);
    int64_t count = tensor_elements(view);
    for (int64_t i = 0; i < count; i++) {
        struct ir_scalar value = tensor_get(view, i);
        if (tensor_is_poison(view, i)) {
            tally.poison++;
        } else if (floating && isnan(value.number)) {
            tally.nans++;
        } else {
            bool less = floating ? value.number < tally.least.number : value.integer < tally.least.integer;
            bool more = floating ? value.number > tally.most.number : value.integer > tally.most.integer;
            if (less || tally.numbers == 0) tally.least = value;
            if (more || tally.numbers == 0) tally.most = value;
            tally.sum += floating ? value.number : (double)value.integer;
            tally.numbers++;
        }
    }
    return tally;
}

void summary_print(struct text *out, const char *name, const struct ir_tensor *view)
{
    int64_t count = tensor_elements(view);
    struct tally tally = tally_of(view);
    text_printf(out, "%s: ", name);
    tensor_print_shape(out, view);
    text_add(out, count ? "\n  " : ", no elements\n");
    if (count == 0) return;
    if (tally.numbers) {
        text_add(out, "min ");
        number_print(out, view->type, tally.least, 6);
        text_add(out, "  max ");
        number_print(out, view->type, tally.most, 6);
        text_add(out, "  mean ");
        number_print(out, TYPE_F64, (struct ir_scalar){.number = tally.sum / (double)tally.numbers}, 6);
    }
    if (tally.nans) text_printf(out, "%s%lld NaN", tally.numbers ? "  " : "", (long long)tally.nans);
    if (tally.poison) text_printf(out, "%s%lld never stored", tally.numbers || tally.nans ? "  " : "", (long long)tally.poison);
    text_add(out, "\n  first ");
    for (int64_t i = 0; i < count && i < FIRST_VALUES; i++) {
        text_add(out, i ? " " : "");
        if (tensor_is_poison(view, i)) text_add(out, "-");
        else number_print(out, view->type, tensor_get(view, i), 6);
    }
    text_add(out, count > FIRST_VALUES ? " …\n" : "\n");
}
