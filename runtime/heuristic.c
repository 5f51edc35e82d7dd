// SPDX-License-Identifier: Apache-2.0
// Features of shapes, and the walk down a heuristic's tree.
#include <math.h>
#include <string.h>

#include "runtime/heuristic.h"

// ---------------------------------------------------------------------------------------------- features

static int dim_named(const struct ir_kernel *kernel, const char *name, size_t length)
{
    for (int i = 0; i < kernel->dim_count; i++)
        if (strlen(kernel->dims[i].name) == length && memcmp(kernel->dims[i].name, name, length) == 0) return i;
    return -1;
}

static int generic_named(const struct ir_kernel *kernel, const char *name, size_t length)
{
    for (int i = 0; i < kernel->generic_count; i++)
        if (strlen(kernel->generic_names[i]) == length && memcmp(kernel->generic_names[i], name, length) == 0) return i;
    return -1;
}

static const char *dim_names(struct arena *arena, const struct ir_kernel *kernel)
{
    const char *names = "";
    for (int i = 0; i < kernel->dim_count; i++) names = arena_printf(arena, "%s%s%s", names, i ? ", " : "", kernel->dims[i].name);
    return *names ? names : "none";
}

// "A / B" or "A * B", in `length` characters.
static bool read_pair(const struct ir_kernel *kernel, const char *text, size_t length, const char *between,
                      enum heuristic_feature_kind kind, struct heuristic_feature *feature)
{
    const char *sign = strstr(text, between);
    size_t before = sign ? (size_t)(sign - text) : length, after = before + strlen(between);
    if (!sign || after > length) return false;
    feature->kind = kind;
    feature->index = dim_named(kernel, text, before);
    feature->other = dim_named(kernel, text + after, length - after);
    return feature->index >= 0 && feature->other >= 0;
}

static bool read_feature(const struct ir_kernel *kernel, const char *text, struct heuristic_feature *feature)
{
    static const char bytes[] = "bytes(", skew[] = "longest / (";
    size_t length = strlen(text), skew_length = sizeof skew - 1;
    bool closed = length > 0 && text[length - 1] == ')';
    *feature = (struct heuristic_feature){.kind = FEATURE_DIM, .index = dim_named(kernel, text, length)};
    if (feature->index >= 0) return true;
    if (strcmp(text, "longest") == 0) return feature->kind = FEATURE_LONGEST, feature->index = 0, true;
    if (strncmp(text, bytes, strlen(bytes)) == 0 && closed) {
        feature->kind = FEATURE_BYTES;
        feature->index = generic_named(kernel, text + strlen(bytes), length - strlen(bytes) - 1);
        return feature->index >= 0;
    }
    if (strncmp(text, skew, skew_length) == 0 && closed)
        return read_pair(kernel, text + skew_length, length - skew_length - 1, " / ", FEATURE_SKEW, feature);
    return read_pair(kernel, text, length, " / ", FEATURE_MEAN, feature) || read_pair(kernel, text, length, " * ", FEATURE_PRODUCT, feature);
}

struct status heuristic_feature_read(struct arena *arena, const struct ir_kernel *kernel, const char *text, struct heuristic_feature *feature)
{
    if (read_feature(kernel, text, feature)) return STATUS_OK;
    return status_failed(arena, "heuristic.feature", "'%s' is no feature of kernel %s; a dimension is (%s), one over or times another as 'A / B' and "
                         "'A * B', bytes(T) of a generic type, longest, and longest / (A / B)", text, kernel->name, dim_names(arena, kernel));
}

void heuristic_feature_print(struct text *out, const struct ir_kernel *kernel, const struct heuristic_feature *feature)
{
    switch (feature->kind) {
    case FEATURE_DIM: text_add(out, kernel->dims[feature->index].name); break;
    case FEATURE_MEAN: text_printf(out, "%s / %s", kernel->dims[feature->index].name, kernel->dims[feature->other].name); break;
    case FEATURE_PRODUCT: text_printf(out, "%s * %s", kernel->dims[feature->index].name, kernel->dims[feature->other].name); break;
    case FEATURE_BYTES: text_printf(out, "bytes(%s)", kernel->generic_names[feature->index]); break;
    case FEATURE_LONGEST: text_add(out, "longest"); break;
    case FEATURE_SKEW:
        text_printf(out, "longest / (%s / %s)", kernel->dims[feature->index].name, kernel->dims[feature->other].name);
        break;
    }
}

static double over(const struct heuristic_shape *shape, const struct heuristic_feature *feature)
{
    return shape->dims[feature->other] ? (double)shape->dims[feature->index] / (double)shape->dims[feature->other] : 0;
}

double heuristic_feature_value(const struct ir_kernel *kernel, const struct heuristic_feature *feature, const struct heuristic_shape *shape)
{
    switch (feature->kind) {
    case FEATURE_DIM: return (double)shape->dims[feature->index];
    case FEATURE_MEAN: return over(shape, feature);
    case FEATURE_PRODUCT: return (double)shape->dims[feature->index] * (double)shape->dims[feature->other];
    case FEATURE_BYTES: return ir_type_bytes(kernel->generic_types[feature->index]);
    case FEATURE_LONGEST: return shape->longest < 0 ? INFINITY : (double)shape->longest;
    case FEATURE_SKEW: return shape->longest < 0 ? INFINITY : over(shape, feature) > 0 ? (double)shape->longest / over(shape, feature) : 0;
    }
    return 0;
}

// ---------------------------------------------------------------------------------------------- the walk

static bool holds(const struct ir_kernel *kernel, const struct heuristic *heuristic, const struct heuristic_node *node,
                  const struct heuristic_shape *shape)
{
    return heuristic_feature_value(kernel, &heuristic->features[node->feature], shape) < node->below;
}

int heuristic_choose(const struct ir_kernel *kernel, const struct heuristic *heuristic, const struct heuristic_shape *shape)
{
    const struct heuristic_node *node = heuristic->nodes;
    while (node->feature >= 0) node = &heuristic->nodes[holds(kernel, heuristic, node, shape) ? node->then : node->otherwise];
    return node->config;
}

void heuristic_explain(struct text *out, const struct ir_kernel *kernel, const struct heuristic *heuristic, const struct heuristic_shape *shape)
{
    const struct heuristic_node *node = heuristic->nodes;
    if (node->feature < 0) text_add(out, "always");
    while (node->feature >= 0) {
        bool below = holds(kernel, heuristic, node, shape);
        if (node != heuristic->nodes) text_add(out, ", ");
        heuristic_feature_print(out, kernel, &heuristic->features[node->feature]);
        text_add(out, below ? " < " : " >= ");
        number_print(out, TYPE_F64, (struct ir_scalar){.number = node->below}, 17);
        node = &heuristic->nodes[below ? node->then : node->otherwise];
    }
}

// ---------------------------------------------------------------------------------------------- the program

struct status heuristic_check_program(struct arena *arena, const struct heuristic *heuristic, const struct ir_kernel *kernel)
{
    const char *types = config_key_types(arena, kernel), *hash = config_key_program(arena, kernel), *known = "";
    for (int i = 0; i < heuristic->program_count; i++) {
        const struct heuristic_program *program = &heuristic->programs[i];
        if (strcmp(program->types, types) == 0 && strcmp(program->hash, hash) == 0) return STATUS_OK;
        if (strcmp(program->types, types) == 0)
            return status_failed(arena, "heuristic.program", "it was built for another program: kernel %s has changed since "
                                 "(now %.12s, then %.12s); `tilec aot` builds it anew", kernel->name, hash, program->hash);
        known = arena_printf(arena, "%s%s%s", known, *known ? "; " : "", program->types);
    }
    return status_failed(arena, "heuristic.program", "it was built for the element types %s, not for %s", *known ? known : "of no program",
                         *types ? types : "none");
}

void heuristic_fit(struct arena *arena, const struct ir_kernel *kernel, struct heuristic *heuristic)
{
    for (int i = 0; i < heuristic->config_count; i++) heuristic->configs[i] = config_fit(arena, kernel, heuristic->configs[i]);
}
