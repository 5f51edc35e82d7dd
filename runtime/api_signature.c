// SPDX-License-Identifier: Apache-2.0
// tilec.h: what a kernel takes, as data and as JSON; and a kernel checked for given arguments. In: types, ranks and
// shapes. Out: the specialization that they ask for, with inner extents compiled in.
#include <string.h>

#include "runtime/call.h"
#include "runtime/given.h"

// ---------------------------------------------------------------------------------------------- as data

static enum tilec_role role_of(enum ir_param_kind kind)
{
    return kind == PARAM_SCALAR ? TILEC_SCALAR : kind == PARAM_OUT ? TILEC_OUT : kind == PARAM_INOUT ? TILEC_INOUT : TILEC_IN;
}

int tilec_kernel_parameter_count(const tilec_kernel *kernel)
{
    if (!kernel) return 0;
    return kernel->ir->param_count;
}

struct tilec_parameter tilec_kernel_parameter(const tilec_kernel *kernel, int index)
{
    if (!kernel) return (struct tilec_parameter){0};
    if (index < 0 || index >= kernel->ir->param_count) return (struct tilec_parameter){0};
    const struct ir_param *param = &kernel->ir->params[index];
    return (struct tilec_parameter){
        .name = param->name, .role = role_of(param->kind), .type = (enum tilec_type)param->type, .rank = param->rank, .extents = param->extent_text,
        .optional = param->optional, .has_default = param->has_default, .absent = param->optional && !param->present};
}

int tilec_kernel_dimension_count(const tilec_kernel *kernel)
{
    if (!kernel) return 0;
    return kernel->ir->dim_count;
}

struct tilec_dimension tilec_kernel_dimension(const tilec_kernel *kernel, int index)
{
    if (!kernel) return (struct tilec_dimension){0};
    if (index < 0 || index >= kernel->ir->dim_count) return (struct tilec_dimension){0};
    const struct ir_dim *dim = &kernel->ir->dims[index];
    bool batch = index < 64 && (batch_dimensions(kernel->ir) >> index & 1);
    return (struct tilec_dimension){.name = dim->name, .is_static = dim->is_static, .value = dim->is_static ? dim->value : 0, .batch = batch};
}

// ---------------------------------------------------------------------------------------------- as JSON

static void print_extent(struct text *out, const struct ir_kernel *kernel, const struct ir_param *param, int position)
{
    struct number_rule rule = number_rule_of(param->extents[position]);
    text_add(out, "{\"text\": ");
    json_string(out, param->extent_text[position]);
    if (!rule.value && rule.dim >= 0)
        text_printf(out, ", \"dim\": \"%s\", \"scale\": %lld", kernel->dims[rule.dim].name, (long long)rule.scale);
    if (!rule.value) text_printf(out, ", \"offset\": %lld", (long long)rule.offset);
    text_add(out, "}");
}

static void print_param(struct text *out, const tilec_kernel *kernel, int index)
{
    static const char *const roles[] = {[TILEC_IN] = "in", [TILEC_INOUT] = "inout", [TILEC_OUT] = "out", [TILEC_SCALAR] = "scalar"};
    const struct ir_param *param = &kernel->ir->params[index];
    text_printf(out, "{\"name\": \"%s\", \"role\": \"%s\", \"type\": \"%s\", \"optional\": %s, \"absent\": %s", param->name, roles[role_of(param->kind)],
                ir_type_name(param->type), param->optional ? "true" : "false", param->optional && !param->present ? "true" : "false");
    if (param->kind == PARAM_SCALAR && param->has_default) {
        text_add(out, ", \"default\": ");
        if (ir_type_is_float(param->type)) text_double(out, param->default_number);
        else text_printf(out, "%lld", (long long)param->default_integer);
    }
    text_add(out, ", \"extents\": [");
    for (int d = 0; d < param->rank; d++) text_add(out, d ? ", " : ""), print_extent(out, kernel->ir, param, d);
    text_add(out, "]}");
}

static void print_dim(struct text *out, const tilec_kernel *kernel, int index)
{
    const struct ir_dim *dim = &kernel->ir->dims[index];
    struct tilec_dimension about = tilec_kernel_dimension(kernel, index);
    text_printf(out, "{\"name\": \"%s\", \"batch\": %s", dim->name, about.batch ? "true" : "false");
    if (dim->is_static) text_printf(out, ", \"value\": %lld", (long long)dim->value);
    if (dim->param >= 0)
        text_printf(out, ", \"parameter\": %d, \"position\": %d, \"scale\": %lld, \"offset\": %lld", dim->param, dim->position, (long long)dim->scale,
                    (long long)dim->offset);
    text_add(out, "}");
}

static void print_rows(struct text *out, const struct rows_use *use)
{
    text_printf(out, "{\"parameter\": %d, \"kind\": \"%s\"", use->param, use->kind == ROWS_OFFSETS ? "offsets" : "lengths");
    if (use->target_param >= 0) text_printf(out, ", \"of\": %d, \"position\": %d", use->target_param, use->target_position);
    text_add(out, "}");
}

tilec_text tilec_kernel_json(const tilec_kernel *kernel)
{
    if (!kernel) return text_take(&(struct text){0});
    struct text out = {0};
    struct arena *arena = arena_new();
    struct rows_uses rows = {0};
    if (arena) rows = rows_find(arena, kernel->ir);
    text_printf(&out, "{\"name\": \"%s\",\n \"parameters\": [", kernel->ir->name);
    for (int i = 0; i < kernel->ir->param_count; i++) text_add(&out, i ? ",\n   " : "\n   "), print_param(&out, kernel, i);
    text_add(&out, "],\n \"dimensions\": [");
    for (int i = 0; i < kernel->ir->dim_count; i++) text_add(&out, i ? ",\n   " : "\n   "), print_dim(&out, kernel, i);
    text_add(&out, "],\n \"rows\": [");
    for (int i = 0; i < rows.count; i++) text_add(&out, i ? ",\n   " : "\n   "), print_rows(&out, &rows.items[i]);
    text_add(&out, "]}");
    if (arena) arena_free(arena);
    return text_take(&out);
}

// ---------------------------------------------------------------------------------------------- for given arguments

struct fitting {
    struct arena *arena;
    const struct signature *signature;
    const struct tilec_argument *arguments;
    const struct tilec_specialization *more;
    tilec_report *report;
    struct tilec_specialization made;
    const char **types, **dims, **absent;
};

static bool names_first(const char *assignment, const char *name)
{
    size_t length = strlen(name);
    return strncmp(assignment, name, length) == 0 && assignment[length] == '=';
}

static bool is_assigned(int count, const char *const *assignments, const char *name)
{
    for (int i = 0; i < count; i++)
        if (names_first(assignments[i], name)) return true;
    return false;
}

static bool is_listed(int count, const char *const *names, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

// Where two arguments disagree about a type, the launch says which is wrong.
static tilec_result fit_type(struct fitting *fitting, int index)
{
    const struct signature_param *param = &fitting->signature->params[index];
    const struct tilec_argument *argument = &fitting->arguments[index];
    bool tensor = param->kind != SIGNATURE_SCALAR;
    if (argument->type == TILEC_NONE) {
        if (param->optional) fitting->absent[fitting->made.absent_count++] = param->name;
        return TILEC_OK;
    }
    if (tensor && argument->rank != param->rank)
        return report_failed(fitting->report, "launch.rank", NULL, "'%s' has %d dimensions, but it is declared with %d", param->name,
                             argument->rank, param->rank);
    if (!tensor || param->generic < 0 || param->accum) return TILEC_OK;
    const char *name = fitting->signature->generics[param->generic].name, *type = tilec_type_name(argument->type);
    if (is_assigned(fitting->made.type_count, fitting->types, name)) return TILEC_OK;
    if (!type) return report_failed(fitting->report, "launch.type", NULL, "'%s' has no type that kernels know", param->name);
    const char *kind = fitting->signature->generics[param->generic].kind;
    if (!generic_takes(kind, (enum ir_type)argument->type))
        return report_failed(fitting->report, "launch.type", NULL, "'%s' holds %s, but its type %s stands for %s", param->name, type,
                             name, generic_choices(kind));
    fitting->types[fitting->made.type_count++] = arena_printf(fitting->arena, "%s=%s", name, type);
    return TILEC_OK;
}

static tilec_result fit_types(struct fitting *fitting, int count)
{
    const struct signature *signature = fitting->signature;
    tilec_result result = TILEC_OK;
    if (count != signature->param_count)
        return report_failed(fitting->report, "launch.argument", NULL, "kernel %s takes %d arguments, its outputs among them, not %d", signature->name,
                             signature->param_count, count);
    fitting->types = ARENA_ARRAY(fitting->arena, const char *, signature->generic_count + fitting->more->type_count + 1);
    fitting->absent = ARENA_ARRAY(fitting->arena, const char *, count + fitting->more->absent_count + 1);
    for (int i = 0; i < fitting->more->type_count; i++) fitting->types[fitting->made.type_count++] = fitting->more->types[i];
    for (int i = 0; i < count && result == TILEC_OK; i++) result = fit_type(fitting, i);
    fitting->made.types = fitting->types;
    fitting->made.absent = fitting->absent;
    return result;
}

// Whether a dimension is to be compiled in, and what the arguments say it is.
static bool fit_dim(const struct fitting *fitting, const tilec_kernel *open, int index, int64_t *value)
{
    const struct ir_dim *dim = &open->ir->dims[index];
    struct tilec_dimension about = tilec_kernel_dimension(open, index);
    const struct tilec_argument *argument = dim->param >= 0 ? &fitting->arguments[dim->param] : NULL;
    bool inner = !about.batch && !is_listed(fitting->more->dynamic_count, fitting->more->dynamics, dim->name);
    if (dim->is_static || (!inner && !is_listed(fitting->more->static_count, fitting->more->statics, dim->name))) return false;
    if (!argument || argument->type == TILEC_NONE || !argument->shape || dim->scale == 0) return false;
    *value = (argument->shape[dim->position] - dim->offset) / dim->scale;
    return *value >= 0 && *value * dim->scale + dim->offset == argument->shape[dim->position];
}

// The extents of the arguments that are a dimension and nothing else, as "D=64", behind those that the caller gives.
static void list_plain(struct fitting *fitting, int count)
{
    const struct signature *signature = fitting->signature;
    const struct tilec_specialization *more = fitting->more;
    fitting->dims = ARENA_ARRAY(fitting->arena, const char *, more->dim_count + signature->dim_count + 1);
    for (int i = 0; i < more->dim_count; i++) fitting->dims[fitting->made.dim_count++] = more->dims[i];
    for (int i = 0; i < count; i++) {
        const struct tilec_argument *argument = &fitting->arguments[i];
        for (int d = 0; argument->type != TILEC_NONE && argument->shape && d < argument->rank; d++) {
            const char *name = signature->params[i].extent_text[d];
            if (!is_listed(signature->dim_count, signature->dims, name) || is_listed(more->dynamic_count, more->dynamics, name) ||
                is_assigned(fitting->made.dim_count, fitting->dims, name) || argument->shape[d] < 0)
                continue;
            fitting->dims[fitting->made.dim_count++] = arena_printf(fitting->arena, "%s=%lld", name, (long long)argument->shape[d]);
        }
    }
    fitting->made.dims = fitting->dims;
}

// Full axes need their extents when the kernel is checked. Which dimensions those are shows by leaving out one after the
// other; what the kernel can do without stays open.
static tilec_result find_needed(struct fitting *fitting, tilec_program *program, const char *name, int count, tilec_kernel **kernel)
{
    fitting->made.dim_count = 0;
    list_plain(fitting, count);
    tilec_result result = tilec_kernel_check(program, name, &fitting->made, fitting->report, kernel);
    if (result != TILEC_OK) return result;
    for (int i = fitting->made.dim_count - 1; i >= fitting->more->dim_count; i--) {
        const char *dim = fitting->dims[i];
        tilec_kernel *without = NULL;
        fitting->dims[i] = fitting->dims[--fitting->made.dim_count];
        bool needed = tilec_kernel_check(program, name, &fitting->made, NULL, &without) != TILEC_OK;
        tilec_kernel_free(without);
        if (needed) fitting->dims[fitting->made.dim_count++] = fitting->dims[i], fitting->dims[i] = dim;
    }
    tilec_kernel_free(*kernel);
    return tilec_kernel_check(program, name, &fitting->made, fitting->report, kernel);
}

// Inner extents behind those that are compiled in already.
static void fit_dims(struct fitting *fitting, const tilec_kernel *open)
{
    const char **dims = ARENA_ARRAY(fitting->arena, const char *, fitting->made.dim_count + open->ir->dim_count + 1);
    for (int i = 0; i < fitting->made.dim_count; i++) dims[i] = fitting->made.dims[i];
    for (int i = 0; i < open->ir->dim_count; i++) {
        int64_t value = 0;
        if (fit_dim(fitting, open, i, &value))
            dims[fitting->made.dim_count++] = arena_printf(fitting->arena, "%s=%lld", open->ir->dims[i].name, (long long)value);
    }
    fitting->made.dims = dims;
}

static tilec_result fit_kernel(struct fitting *fitting, tilec_program *program, const char *name, int count, tilec_kernel **kernel)
{
    const struct tilec_specialization *more = fitting->more;
    tilec_kernel *open = NULL;
    fitting->made = (struct tilec_specialization){.dim_count = more->dim_count, .dims = more->dims};
    struct status status = specialization_dims(fitting->arena, fitting->signature, more);
    tilec_result result = status.ok ? fit_types(fitting, count) : report_status(fitting->report, &status);
    if (result != TILEC_OK) return result;
    result = tilec_kernel_check(program, name, &fitting->made, NULL, &open);
    if (result == TILEC_WRONG) result = find_needed(fitting, program, name, count, &open);
    else if (result != TILEC_OK) return tilec_kernel_check(program, name, &fitting->made, fitting->report, kernel);
    if (result != TILEC_OK) return result;
    fit_dims(fitting, open);
    tilec_kernel_free(open);
    return tilec_kernel_check(program, name, &fitting->made, fitting->report, kernel);
}

tilec_result tilec_kernel_for(tilec_program *program, const char *name, const struct tilec_argument *arguments, int count,
                              const struct tilec_specialization *more, tilec_report *report, tilec_kernel **kernel)
{
    if (kernel) *kernel = NULL;
    WANT(report, program, kernel);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    given = given_specialization(report, __func__, more);
    if (given != TILEC_OK) return given;
    static const struct tilec_specialization nothing = {0};
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    if (!name && tilec_program_kernel_count(program) == 1) name = tilec_program_kernel_name(program, 0);
    struct fitting fitting = {.arena = arena, .arguments = arguments, .more = more ? more : &nothing, .report = report};
    fitting.signature = name ? frontend_signature(arena, program->file, name) : NULL;
    // Which kernels there are is said where one is chosen.
    tilec_result result = fitting.signature ? fit_kernel(&fitting, program, name, count, kernel) : tilec_kernel_check(program, name, NULL, report, kernel);
    arena_free(arena);
    return result;
}
