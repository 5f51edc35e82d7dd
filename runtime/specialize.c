// SPDX-License-Identifier: Apache-2.0
// In: what the command line says, or a checked kernel. Out: a specialization; which dimensions are worth compiling in.
//
// Rows and totals change from call to call, the extents of a row's elements hardly ever: the former stay dynamic so
// that one binary serves all calls, the latter are constants so that loops unroll and bounds checks go.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

// ---------------------------------------------------------------------------------------------- reading

static const char *known_names(struct arena *arena, const char *const *names, int count)
{
    const char *list = count ? "" : "none";
    for (int i = 0; i < count; i++) list = arena_printf(arena, "%s%s%s", list, i ? ", " : "", names[i]);
    return list;
}

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

static const char **generic_names(struct arena *arena, const struct signature *signature)
{
    const char **names = ARENA_ARRAY(arena, const char *, signature->generic_count + 1);
    for (int i = 0; i < signature->generic_count; i++) names[i] = signature->generics[i].name;
    return names;
}

bool generic_takes(const char *kind, enum ir_type type)
{
    if (strcmp(kind, "float") == 0) return ir_type_is_float(type);
    if (strcmp(kind, "int") == 0) return type == TYPE_I32 || type == TYPE_I64;
    return type != TYPE_BOOL;
}

const char *generic_choices(const char *kind)
{
    return strcmp(kind, "float") == 0 ? "f16, bf16, f32 or f64" : strcmp(kind, "int") == 0 ? "i32 or i64" : "any type but bool";
}

static struct status read_type(struct arena *arena, const struct signature *signature, const char *text,
                               struct specialization *out)
{
    const char *equal = strchr(text, '=');
    if (!equal) return status_failed(arena, "usage.type", "--type %s: write --type T=f32", text);
    const char *name = arena_copy(arena, text, (size_t)(equal - text));
    const char **names = generic_names(arena, signature);
    int generic = find_name(names, signature->generic_count, name);
    if (generic < 0)
        return status_failed(arena, "usage.type", "--type %s: kernel %s has no element type %s; it has %s", text, signature->name,
                             name, known_names(arena, names, signature->generic_count));
    enum ir_type type = ir_type_named(equal + 1);
    if (type == TYPE_NONE || !generic_takes(signature->generics[generic].kind, type))
        return status_failed(arena, "usage.type", "--type %s: %s stands for %s", text, name,
                             generic_choices(signature->generics[generic].kind));
    if (find_name(out->type_names, out->type_count, name) >= 0)
        return status_failed(arena, "usage.type", "--type %s: %s is given twice", text, name);
    out->type_names[out->type_count] = name;
    out->types[out->type_count++] = type;
    return STATUS_OK;
}

static struct status read_dim(struct arena *arena, const struct signature *signature, const char *text,
                              struct specialization *out)
{
    const char *equal = strchr(text, '=');
    if (!equal) return status_failed(arena, "usage.dim", "--dim %s: write --dim N=256", text);
    const char *name = arena_copy(arena, text, (size_t)(equal - text));
    if (find_name(signature->dims, signature->dim_count, name) < 0)
        return status_failed(arena, "usage.dim", "--dim %s: kernel %s has no dimension %s; it has %s", text, signature->name, name,
                             known_names(arena, signature->dims, signature->dim_count));
    char *end = NULL;
    errno = 0;
    long long value = strtoll(equal + 1, &end, 10);
    if (end == equal + 1 || *end || errno || value < 0 || value > DIMENSION_MOST)
        return status_failed(arena, "usage.dim", "--dim %s: wants an integer from 0 to %lld", text, (long long)DIMENSION_MOST);
    if (find_name(out->dim_names, out->dim_count, name) >= 0)
        return status_failed(arena, "usage.dim", "--dim %s: %s is given twice", text, name);
    out->dim_names[out->dim_count] = name;
    out->dims[out->dim_count++] = value;
    return STATUS_OK;
}

static struct status read_static(struct arena *arena, const char *name, const struct specialization *out)
{
    if (find_name(out->dim_names, out->dim_count, name) >= 0) return STATUS_OK;
    return status_failed(arena, "usage.static", "--static %s: its value isn't known here; write --dim %s=256", name, name);
}

static void read_dynamic(const char *name, struct specialization *out)
{
    int at = find_name(out->dim_names, out->dim_count, name);
    if (at < 0) return;
    out->dim_names[at] = out->dim_names[--out->dim_count];
    out->dims[at] = out->dims[out->dim_count];
}

static struct status read_absent(struct arena *arena, const struct signature *signature, const char *name,
                                 struct specialization *out)
{
    for (int i = 0; i < signature->param_count; i++) {
        if (strcmp(signature->params[i].name, name) != 0 || !signature->params[i].optional) continue;
        out->absent[out->absent_count++] = signature->params[i].name;
        return STATUS_OK;
    }
    return status_failed(arena, "usage.absent", "--without %s: kernel %s has no optional tensor of that name", name, signature->name);
}

static struct status check_dims(struct arena *arena, const struct signature *signature, const char *option, int count,
                                const char *const *names)
{
    for (int i = 0; i < count; i++)
        if (find_name(signature->dims, signature->dim_count, names[i]) < 0)
            return status_failed(arena, arena_printf(arena, "usage.%s", option), "--%s %s: kernel %s has no dimension %s; it has %s",
                                 option, names[i], signature->name, names[i],
                                 known_names(arena, signature->dims, signature->dim_count));
    return STATUS_OK;
}

struct status dims_agree(struct arena *arena, int static_count, const char *const *statics, int dynamic_count,
                         const char *const *dynamics)
{
    for (int i = 0; i < static_count; i++)
        if (find_name(dynamics, dynamic_count, statics[i]) >= 0)
            return status_failed(arena, "usage.static", "--static %s and --dynamic %s: a dimension is compiled in or left open",
                                 statics[i], statics[i]);
    return STATUS_OK;
}

struct status specialization_dims(struct arena *arena, const struct signature *signature, const struct tilec_specialization *given)
{
    struct status status = check_dims(arena, signature, "static", given->static_count, given->statics);
    if (status.ok) status = check_dims(arena, signature, "dynamic", given->dynamic_count, given->dynamics);
    return status.ok ? dims_agree(arena, given->static_count, given->statics, given->dynamic_count, given->dynamics) : status;
}

struct status specialization_read(struct arena *arena, const struct signature *signature,
                                  const struct tilec_specialization *given, struct specialization *specialization)
{
    static const struct tilec_specialization nothing = {0};
    struct status status = STATUS_OK;
    if (!given) given = &nothing;
    *specialization = (struct specialization){
        .type_names = ARENA_ARRAY(arena, const char *, given->type_count + 1),
        .types = ARENA_ARRAY(arena, enum ir_type, given->type_count + 1),
        .dim_names = ARENA_ARRAY(arena, const char *, given->dim_count + 1),
        .dims = ARENA_ARRAY(arena, int64_t, given->dim_count + 1),
        .absent = ARENA_ARRAY(arena, const char *, given->absent_count + 1),
    };
    for (int i = 0; status.ok && i < given->type_count; i++) status = read_type(arena, signature, given->types[i], specialization);
    for (int i = 0; status.ok && i < given->dim_count; i++) status = read_dim(arena, signature, given->dims[i], specialization);
    if (status.ok) status = specialization_dims(arena, signature, given);
    for (int i = 0; status.ok && i < given->static_count; i++) status = read_static(arena, given->statics[i], specialization);
    for (int i = 0; status.ok && i < given->dynamic_count; i++) read_dynamic(given->dynamics[i], specialization);
    for (int i = 0; status.ok && i < given->absent_count; i++)
        status = read_absent(arena, signature, given->absent[i], specialization);
    return status;
}

// ---------------------------------------------------------------------------------------------- batch-like dimensions

// `seen` is indexed by value id: extents share parts, and each part is looked at once.
static uint64_t dims_of(const struct ir_value *value, bool *seen)
{
    if (value->region || !value->def || seen[value->id]) return 0;
    seen[value->id] = true;
    if (value->def->code == OP_DIM) return value->def->dim < 64 ? (uint64_t)1 << value->def->dim : 0;
    uint64_t dims = 0;
    for (int i = 0; i < value->def->operand_count; i++) dims |= dims_of(value->def->operands[i], seen);
    return dims;
}

static axes_t jagged_axes(const struct ir_kernel *kernel)
{
    axes_t axes = 0;
    for (int i = 0; i < kernel->axis_count; i++)
        if (kernel->axes[i].kind == AXIS_JAGGED) axes |= AXIS_BIT(i);
    return axes;
}

static uint64_t jagged_extents(const struct ir_kernel *kernel, const struct ir_region *region, axes_t jagged, bool *seen)
{
    uint64_t dims = 0;
    for (const struct ir_op *op = region->first; op; op = op->next) {
        if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC) {
            const struct ir_param *param = &kernel->params[op->param];
            for (int i = 0; i < param->rank && i < op->operand_count; i++)
                if (op->operands[i]->axes & jagged) dims |= dims_of(param->extents[i], seen);
        }
        for (int i = 0; i < op->region_count; i++) dims |= jagged_extents(kernel, op->regions[i], jagged, seen);
    }
    return dims;
}

uint64_t batch_dimensions(const struct ir_kernel *kernel)
{
    bool *seen = calloc((size_t)kernel->value_count + 1, sizeof *seen);
    if (!seen) return ~(uint64_t)0;
    uint64_t dims = jagged_extents(kernel, kernel->body, jagged_axes(kernel), seen);
    for (const struct ir_op *op = kernel->body->first; op; op = op->next)
        if (op->code == OP_FOR) dims |= dims_of(op->operands[0], seen) | dims_of(op->operands[1], seen);
    free(seen);
    return dims;
}
