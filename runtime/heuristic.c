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

static bool read_feature(const struct ir_kernel *kernel, const char *text, struct heuristic_feature *feature)
{
    static const char over[] = " / ", bytes[] = "bytes(";
    size_t length = strlen(text);
    const char *slash = strstr(text, over);
    *feature = (struct heuristic_feature){.kind = FEATURE_DIM, .index = dim_named(kernel, text, length)};
    if (feature->index >= 0) return true;
    if (strcmp(text, "longest") == 0) return feature->kind = FEATURE_LONGEST, feature->index = 0, true;
    if (strncmp(text, bytes, strlen(bytes)) == 0 && text[length - 1] == ')') {
        feature->kind = FEATURE_BYTES;
        feature->index = generic_named(kernel, text + strlen(bytes), length - strlen(bytes) - 1);
        return feature->index >= 0;
    }
    if (!slash) return false;
    feature->kind = FEATURE_MEAN;
    feature->index = dim_named(kernel, text, (size_t)(slash - text));
    feature->divisor = dim_named(kernel, slash + strlen(over), strlen(slash + strlen(over)));
    return feature->index >= 0 && feature->divisor >= 0;
}

struct status heuristic_feature_read(struct arena *arena, const struct ir_kernel *kernel, const char *text, struct heuristic_feature *feature)
{
    if (read_feature(kernel, text, feature)) return STATUS_OK;
    return status_failed(arena, "heuristic.feature", "'%s' is no feature of kernel %s; a dimension is (%s), one over another as 'A / B', "
                         "bytes(T) of a generic type, and longest", text, kernel->name, dim_names(arena, kernel));
}

void heuristic_feature_print(struct text *out, const struct ir_kernel *kernel, const struct heuristic_feature *feature)
{
    switch (feature->kind) {
    case FEATURE_DIM: text_add(out, kernel->dims[feature->index].name); break;
    case FEATURE_MEAN: text_printf(out, "%s / %s", kernel->dims[feature->index].name, kernel->dims[feature->divisor].name); break;
    case FEATURE_BYTES: text_printf(out, "bytes(%s)", kernel->generic_names[feature->index]); break;
    case FEATURE_LONGEST: text_add(out, "longest"); break;
    }
}

double heuristic_feature_value(const struct ir_kernel *kernel, const struct heuristic_feature *feature, const struct heuristic_shape *shape)
{
    switch (feature->kind) {
    case FEATURE_DIM: return (double)shape->dims[feature->index];
    case FEATURE_MEAN:
        return shape->dims[feature->divisor] ? (double)shape->dims[feature->index] / (double)shape->dims[feature->divisor] : 0;
    case FEATURE_BYTES: return ir_type_bytes(kernel->generic_types[feature->index]);
    case FEATURE_LONGEST: return shape->longest < 0 ? INFINITY : (double)shape->longest;
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
