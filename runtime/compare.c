// SPDX-License-Identifier: Apache-2.0
// Comparing a result with the reference. In: two tensors of one type and shape. Out: whether they agree, and where
// they differ most.
// The one idea: what an element may differ by is the evaluator's to say, who followed its rounding errors through the
// program. Where only another config's results are the reference, rounding errors of a sum grow like the square root of
// its length and with the size of what is summed, which the reference's root mean square stands for.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/data.h"

enum { FEW_ELEMENTS = 32, LOOKS_MOST = 10000 };

static double roundoff(enum ir_type type)
{
    switch (type) {
    case TYPE_F16:
        return 0x1p-11;
    case TYPE_BF16:
        return 0x1p-8;
    case TYPE_F32:
        return 0x1p-24;
    default:
        return 0x1p-53;
    }
}

static double least_normal(enum ir_type type)
{
    return type == TYPE_F16 ? 0x1p-14 : type == TYPE_F64 ? DBL_MIN : FLT_MIN;
}

// What all elements have in common.
struct measure {
    enum ir_type type;
    const double *errors;
    double relative, absolute, factor;
    bool rounded, sampled;
};

static struct tensor_size size_range(const struct ir_tensor *view, int64_t begin, int64_t end)
{
    const float *floats = view->type == TYPE_F32 ? view->data : NULL;
    struct tensor_size size = {0};
    for (int64_t i = begin; i < end; i++) {
        double value = floats ? (double)floats[i] : tensor_get(view, i).number;
        if (!isfinite(value)) continue;
        size.squares += value * value;
        if (fabs(value) > size.greatest) size.greatest = fabs(value);
        size.finite++;
    }
    return size;
}

void tensor_size_add(struct tensor_size *sum, const struct tensor_size *size)
{
    sum->squares += size->squares;
    sum->finite += size->finite;
    if (size->greatest > sum->greatest) sum->greatest = size->greatest;
}

struct sizing {
    const struct ir_tensor *view;
    struct tensor_size *blocks;
};

static void size_block(void *data, int64_t block, int64_t begin, int64_t end)
{
    const struct sizing *sizing = data;
    sizing->blocks[block] = size_range(sizing->view, begin, end);
}

struct tensor_size tensor_size(const struct ir_tensor *view)
{
    int64_t count = tensor_elements(view), blocks = block_count(count);
    struct sizing sizing = {view, calloc((size_t)blocks + 1, sizeof *sizing.blocks)};
    struct tensor_size sum = {0};
    if (!sizing.blocks) return size_range(view, 0, count);
    work_in_blocks(count, size_block, &sizing);
    for (int64_t i = 0; i < blocks; i++) tensor_size_add(&sum, &sizing.blocks[i]);
    free(sizing.blocks);
    return sum;
}

static struct measure measure_of(const struct ir_tensor *reference, const struct compare_options *options)
{
    struct measure measure = {.type = reference->type, .rounded = options->rounded, .sampled = options->sampled};
    measure.errors = options->errors;
    if (!ir_type_is_float(reference->type)) return measure;
    if (options->bounded) {
        measure.relative = options->relative;
        measure.absolute = options->absolute;
        measure.factor = options->factor;
        return measure;
    }
    if (options->errors) {
        measure.factor = (options->scale > 0 ? options->scale : 1) * (measure.type == TYPE_F64 ? 16 : 4);
        measure.absolute = least_normal(measure.type);
        return measure;
    }
    const struct tensor_size size = tensor_size(reference);  // poison is a NaN
    double rms = size.finite ? sqrt(size.squares / (double)size.finite) : 0, scale = options->scale > 0 ? options->scale : 1;
    if (size.finite < FEW_ELEMENTS && options->magnitude > rms) rms = options->magnitude;
    double length = options->reduction_length > 1 ? (double)options->reduction_length : 1;
    double unit = roundoff(measure.type), computing = roundoff(ir_type_compute(measure.type));
    if (measure.type == TYPE_F64) computing *= 4;  // the reference, f64 too, rounds as much in an order of its own
    measure.relative = scale * 4 * (unit + computing * options->exponent);
    measure.absolute = scale * (2 * unit * rms + (16 + 4 * sqrt(length)) * computing * rms) + least_normal(measure.type);
    return measure;
}

void compare_bound(const struct ir_tensor *reference, struct compare_options *options)
{
    if (options->bounded) return;
    struct measure measure = measure_of(reference, options);
    options->relative = measure.relative;
    options->absolute = measure.absolute;
    options->factor = measure.factor;
    options->bounded = true;
}

// One element: NULL if it agrees, else why not.
struct element {
    const char *why;
    double error, tolerance;
};

static struct element compare_floats(const struct measure *measure, double value, double reference, int64_t index)
{
    struct element element = {0};
    if (measure->errors && isinf(measure->errors[index])) return (struct element){.tolerance = INFINITY};
    if (isnan(reference) && isnan(value)) return element;
    if (isnan(reference) || isnan(value)) {
        element.why = isnan(value) ? "is NaN where the reference is a number" : "is a number where the reference is NaN";
        element.error = INFINITY;
        return element;
    }
    if (value == reference) return element;
    element.error = fabs(value - reference);
    element.tolerance = isinf(reference) ? 0 : measure->relative * fabs(reference) + measure->absolute;
    if (measure->errors && !isinf(reference)) element.tolerance += measure->factor * measure->errors[index];
    if (!(element.error <= element.tolerance)) element.why = "differs from the reference";
    return element;
}

static struct element compare_element(const struct measure *measure, const struct ir_tensor *value,
                                      const struct ir_tensor *reference, int64_t index)
{
    if (tensor_is_poison(reference, index)) {
        if (tensor_is_poison(value, index)) return (struct element){0};
        return (struct element){.why = "was stored where the reference stores nothing", .error = INFINITY};
    }
    if (tensor_is_poison(value, index)) return (struct element){.why = "was never stored", .error = INFINITY};
    struct ir_scalar a = tensor_get(value, index), b = tensor_get(reference, index);
    if (ir_type_is_float(measure->type)) return compare_floats(measure, a.number, b.number, index);
    struct element element = {
        .error = fabs((double)a.integer - (double)b.integer), .tolerance = measure->errors ? measure->errors[index] : measure->rounded};
    if (a.integer != b.integer && element.error == 0) element.error = 1;
    if (element.error > element.tolerance) element.why = "differs from the reference";
    return element;
}

// Whether the bound says nothing of an element's size; an underflow says nothing of the bound.
static bool is_unjudged(const struct measure *measure, const struct ir_tensor *reference, int64_t index)
{
    if (!measure->errors || !(measure->errors[index] > 0)) return false;
    struct ir_scalar value = tensor_get(reference, index);
    if (!ir_type_is_float(measure->type)) return measure->errors[index] >= 0x1p8;
    double allowed = measure->factor * measure->errors[index];
    return isinf(allowed) || (allowed > fabs(value.number) && allowed > 0x1p-100);
}

// How bad an element is: above 1, wrong.
static double badness(const struct element *element)
{
    if (element->error == 0) return 0;
    return element->tolerance > 0 ? element->error / element->tolerance : INFINITY;
}

// Where rows differ much in length, one long row's sums are far larger than the RMS of all. So what differs by that may
// still be right by the RMS of its own neighbours along the last axis, or by its own size, where these are larger: what
// multiplies it has rounding errors, too, and a vector's element has no neighbours.
static double size_around(const struct ir_tensor *reference, int64_t index)
{
    int64_t width = reference->rank > 1 ? reference->shape[reference->rank - 1] : 1, begin = index / width * width;
    double squares = 0, own = fabs(tensor_get(reference, index).number);
    if (width < FEW_ELEMENTS) return own;
    for (int64_t i = 0; i < width; i++) {
        double value = tensor_get(reference, begin + i).number;
        if (isfinite(value)) squares += value * value;
    }
    return fmax(own, sqrt(squares / (double)width));
}

static void look_again(const struct measure *measure, const struct ir_tensor *reference, int64_t index, const struct compare_options *options,
                       struct element *element)
{
    double size = fabs(tensor_get(reference, index).number);
    if (measure->errors || !isfinite(element->error) || !isfinite(size) || !ir_type_is_float(reference->type)) return;
    double computing = roundoff(ir_type_compute(measure->type)), scale = options->scale > 0 ? options->scale : 1;
    double length = options->reduction_length > 1 ? (double)options->reduction_length : 1;
    double allowed = measure->relative * size + scale * (16 + 4 * sqrt(length)) * computing * size_around(reference, index);
    if (allowed > element->tolerance) element->tolerance = allowed;
    if (element->error <= element->tolerance) element->why = NULL;
}

static struct comparison compare_range(const struct ir_tensor *value, const struct ir_tensor *reference, const struct compare_options *options,
                                       const struct measure *measure, int64_t begin, int64_t end)
{
    struct comparison result = {.where = -1, .worst = -1};
    for (int64_t i = begin; i < end; i++) {
        if (measure->sampled && tensor_is_poison(reference, i)) continue;
        struct element element = compare_element(measure, value, reference, i);
        if (element.why && result.wrong < LOOKS_MOST) look_again(measure, reference, i, options, &element);
        result.compared++;
        result.wrong += element.why != NULL;
        result.unjudged += !element.why && is_unjudged(measure, reference, i);
        if (badness(&element) <= result.worst) continue;
        result.worst = badness(&element);
        result.where = i;
        result.largest_error = element.error;
        result.tolerance = element.tolerance;
        result.why = element.why;
        result.value = tensor_get(value, i);
        result.reference = tensor_get(reference, i);
    }
    return result;
}

struct comparing {
    const struct ir_tensor *value, *reference;
    const struct compare_options *options;
    struct measure measure;
    struct comparison *blocks;
};

static void compare_block(void *data, int64_t block, int64_t begin, int64_t end)
{
    const struct comparing *comparing = data;
    comparing->blocks[block] = compare_range(comparing->value, comparing->reference, comparing->options, &comparing->measure, begin, end);
}

// The worst of all is the first of the worst.
static struct comparison joined(struct comparison a, const struct comparison *b)
{
    struct comparison both = b->worst > a.worst ? *b : a;
    both.compared = a.compared + b->compared;
    both.wrong = a.wrong + b->wrong;
    both.unjudged = a.unjudged + b->unjudged;
    return both;
}

struct comparison compare_tensors(const struct ir_tensor *value, const struct ir_tensor *reference,
                                  const struct compare_options *options)
{
    int64_t count = tensor_elements(reference), blocks = block_count(count);
    struct comparing comparing = {value, reference, options, measure_of(reference, options), calloc((size_t)blocks + 1, sizeof *comparing.blocks)};
    struct comparison result = {.where = -1, .worst = -1};
    if (comparing.blocks) work_in_blocks(count, compare_block, &comparing);
    else result = compare_range(value, reference, options, &comparing.measure, 0, count);
    for (int64_t i = 0; comparing.blocks && i < blocks; i++) result = joined(result, &comparing.blocks[i]);
    free(comparing.blocks);
    result.ok = result.wrong == 0;
    return result;
}

void tensor_print_place(struct text *out, const char *name, const struct ir_tensor *view, int64_t index)
{
    int64_t position[IR_MAX_RANK];
    for (int d = view->rank; d-- > 0; index /= view->shape[d]) position[d] = index % view->shape[d];
    text_add(out, name);
    for (int d = 0; d < view->rank; d++) text_printf(out, "%s%lld", d ? ", " : "[", (long long)position[d]);
    if (view->rank) text_add(out, "]");
}

static void print_floating(struct text *out, double value)
{
    number_print(out, TYPE_F64, (struct ir_scalar){.number = value}, 3);
}

void comparison_print(struct text *out, const char *name, const struct ir_tensor *view, const struct comparison *comparison)
{
    if (comparison->where < 0) {
        text_add(out, "nothing to compare");
    } else if (comparison->ok && comparison->largest_error == 0) {
        text_printf(out, "all %lld elements equal the reference", (long long)comparison->compared);
    } else {
        if (!comparison->ok) text_printf(out, "%lld of %lld elements are wrong; ", (long long)comparison->wrong, (long long)comparison->compared);
        if (isfinite(comparison->largest_error)) {
            text_add(out, "largest error ");
            print_floating(out, comparison->largest_error);
            bool some = comparison->tolerance > FLT_MIN;  // what is flushed to 0 isn't worth a word
            text_add(out, some ? ", allowed " : ", none allowed");
            if (some) print_floating(out, comparison->tolerance);
            text_add(out, ", at ");
        }
        tensor_print_place(out, name, view, comparison->where);
        text_add(out, ": ");
        number_print(out, view->type, comparison->value, 17);
        if (comparison->why && !isfinite(comparison->largest_error)) text_printf(out, " %s", comparison->why);
        text_add(out, ", reference ");
        number_print(out, view->type, comparison->reference, 17);
    }
    if (comparison->unjudged)
        text_printf(out, "; of %lld elements rounding may be larger than the value: they are not judged",
                    (long long)comparison->unjudged);
    text_add(out, "\n");
}
