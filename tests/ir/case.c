// SPDX-License-Identifier: Apache-2.0
// Cases from JSON through the front end and the evaluator (case.h).
#include "tests/ir/case.h"

#include <stdlib.h>

// ------------------------------------------------------------------------------------------ files and numbers

char *read_file(struct arena *arena, const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        *length = (size_t)ftell(file);
        rewind(file);
        text = arena_alloc(arena, *length + 1);
        if (fread(text, 1, *length, file) != *length) text = NULL;
    }
    fclose(file);
    return text;
}

cJSON *read_json(const char *path)
{
    struct arena *arena = arena_new();
    size_t length = 0;
    const char *text = read_file(arena, path, &length);
    cJSON *json = text ? cJSON_Parse(text) : NULL;
    if (!json) printf("# %s is no JSON\n", path);
    arena_free(arena);
    return json;
}

static double number_in(const cJSON *json)
{
    if (cJSON_IsString(json)) return strcmp(json->valuestring, "nan") == 0 ? NAN : json->valuestring[0] == '-' ? -INFINITY : INFINITY;
    return cJSON_IsBool(json) ? cJSON_IsTrue(json) : json->valuedouble;
}

static int64_t flatten(const cJSON *list, double *numbers, int64_t count)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsArray(item))
            count = flatten(item, numbers, count);
        else if (numbers)
            numbers[count++] = number_in(item);
        else
            count++;
    }
    return count;
}

// The elements of {type, shape, data}; NULL if their count isn't the shape's.
static double *elements_in(struct arena *arena, const cJSON *json, int64_t count)
{
    const cJSON *data = cJSON_GetObjectItem(json, "data"), *from = cJSON_GetObjectItem(data, "from"), *all = cJSON_GetObjectItem(data, "all");
    double *numbers = ARENA_ARRAY(arena, double, count + 1);
    if (cJSON_IsArray(data) && flatten(data, NULL, 0) == count) {
        flatten(data, numbers, 0);
        return numbers;
    }
    for (int64_t i = 0; i < count; i++)
        numbers[i] = from ? number_in(from) + (double)i : number_in(all);
    return from || all ? numbers : NULL;
}

static int64_t shape_in(const cJSON *json, int64_t *shape, int *rank)
{
    int64_t count = 1;
    const cJSON *extent;
    *rank = 0;
    cJSON_ArrayForEach(extent, cJSON_GetObjectItem(json, "shape"))
    {
        shape[(*rank)++] = (int64_t)extent->valuedouble;
        count *= (int64_t)extent->valuedouble;
    }
    return count;
}

static enum ir_type type_in(const cJSON *json)
{
    const cJSON *type = cJSON_GetObjectItem(json, "type");
    return cJSON_IsString(type) ? ir_type_named(type->valuestring) : TYPE_NONE;
}

static int64_t count_elements(const struct ir_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static void set_element(const struct ir_tensor *tensor, int64_t index, double value)
{
    char *at = (char *)tensor->data + index * ir_type_bytes(tensor->type);
    int64_t integer = ir_type_is_float(tensor->type) ? 0 : ir_integer_of(tensor->type, value);
    uint16_t half = tensor->type == TYPE_F16 ? ir_f16_from_f64(value) : ir_bf16_from_f64(value);
    float single = (float)value;
    const void *from = &integer;
    if (ir_type_is_float(tensor->type))
        from = tensor->type == TYPE_F64 ? (void *)&value : tensor->type == TYPE_F32 ? (void *)&single : (void *)&half;
    memcpy(at, from, (size_t)ir_type_bytes(tensor->type));  // little-endian integers
}

double tensor_element(const struct ir_tensor *tensor, int64_t index)
{
    const void *data = tensor->data;
    switch (tensor->type) {
    case TYPE_BOOL:
    case TYPE_U8: return ((const uint8_t *)data)[index];
    case TYPE_I8: return ((const int8_t *)data)[index];
    case TYPE_I32: return ((const int32_t *)data)[index];
    case TYPE_I64: return (double)((const int64_t *)data)[index];
    case TYPE_F16: return ir_f16_to_f32(((const uint16_t *)data)[index]);
    case TYPE_BF16: return ir_bf16_to_f32(((const uint16_t *)data)[index]);
    case TYPE_F32: return ((const float *)data)[index];
    default: return ((const double *)data)[index];
    }
}

// ------------------------------------------------------------------------------------------ specialization

static const cJSON *argument_of(const struct bound_case *bound, const char *name)
{
    return cJSON_GetObjectItem(cJSON_GetObjectItem(bound->description, "args"), name);
}

static void specialize_dims(const struct bound_case *bound, struct specialization *special)
{
    const struct signature *signature = bound->signature;
    for (int p = 0; p < signature->param_count; p++) {
        const struct signature_param *param = &signature->params[p];
        const cJSON *argument = argument_of(bound, param->name);
        int64_t shape[IR_MAX_RANK];
        int rank = 0;
        if (!argument || param->kind == SIGNATURE_SCALAR) continue;
        shape_in(argument, shape, &rank);
        for (int i = 0; i < param->rank && i < rank; i++) {
            for (int d = 0; d < signature->dim_count; d++) {
                if (strcmp(param->extent_text[i], signature->dims[d]) != 0) continue;
                special->dim_names[special->dim_count] = signature->dims[d];
                special->dims[special->dim_count++] = shape[i];
            }
        }
    }
}

static struct specialization specialize(struct arena *arena, const struct bound_case *bound, bool fixed)
{
    const struct signature *signature = bound->signature;
    struct specialization special = {0};
    int room = signature->param_count * IR_MAX_RANK + 1;
    special.type_names = ARENA_ARRAY(arena, const char *, signature->param_count + 1);
    special.types = ARENA_ARRAY(arena, enum ir_type, signature->param_count + 1);
    special.absent = ARENA_ARRAY(arena, const char *, signature->param_count + 1);
    special.dim_names = ARENA_ARRAY(arena, const char *, room);
    special.dims = ARENA_ARRAY(arena, int64_t, room);
    for (int p = 0; p < signature->param_count; p++) {
        const struct signature_param *param = &signature->params[p];
        const cJSON *argument = argument_of(bound, param->name);
        if (param->optional && !argument) special.absent[special.absent_count++] = param->name;
        if (!argument || param->generic < 0) continue;
        special.type_names[special.type_count] = signature->generics[param->generic].name;
        special.types[special.type_count++] = type_in(argument);
    }
    if (fixed) specialize_dims(bound, &special);
    return special;
}

// ------------------------------------------------------------------------------------------ binding

static void print_errors(const struct diagnostics *diagnostics)
{
    struct text text = {0};
    for (int i = 0; i < diagnostics->count; i++)
        diagnostic_print(&text, &diagnostics->items[i], false);
    for (char *line = strtok(text.data ? text.data : (char[]){""}, "\n"); line; line = strtok(NULL, "\n"))
        printf("# %s\n", line);
    text_free(&text);
}

static bool check_program(struct unit *unit, struct bound_case *bound, const char *folder, bool fixed)
{
    struct source *source = ARENA_NEW(unit->arena, struct source);
    const cJSON *entry = cJSON_GetObjectItem(bound->description, "entry");
    source->path = arena_printf(unit->arena, "%s/%s", folder, cJSON_GetObjectItem(bound->description, "kernel")->valuestring);
    source->text = read_file(unit->arena, source->path, &source->length);
    if (!CHECK(unit, source->text != NULL)) return false;
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, unit->arena);
    bound->file = frontend_parse(unit->arena, source, NULL, &diagnostics);
    if (!diagnostics.errors) {
        const char *name = entry ? entry->valuestring : frontend_kernel_name(bound->file, 0);
        bound->signature = frontend_signature(unit->arena, bound->file, name);
        if (!CHECK(unit, bound->signature != NULL)) return false;
        struct specialization special = specialize(unit->arena, bound, fixed);
        bound->kernel = frontend_check(unit->arena, bound->file, name, &special, &diagnostics);
    }
    if (diagnostics.errors) print_errors(&diagnostics);
    return CHECK(unit, !diagnostics.errors && bound->kernel != NULL);
}

static void bind_scalars(struct bound_case *bound)
{
    for (int p = 0; p < bound->kernel->param_count; p++) {
        const struct ir_param *param = &bound->kernel->params[p];
        if (param->kind != PARAM_SCALAR) continue;
        const cJSON *value = cJSON_GetObjectItem(argument_of(bound, param->name), "value");
        struct ir_scalar *scalar = &bound->scalars[p];
        scalar->number = ir_round_to(param->type, value ? number_in(value) : param->default_number);
        scalar->integer = value && !ir_type_is_float(param->type) ? (int64_t)number_in(value) : param->default_integer;
    }
}

static bool bind_inputs(struct unit *unit, struct bound_case *bound)
{
    bool good = true;
    for (int p = 0; p < bound->kernel->param_count; p++) {
        const struct ir_param *param = &bound->kernel->params[p];
        struct ir_tensor *tensor = &bound->tensors[p];
        const cJSON *argument = argument_of(bound, param->name);
        if (!argument || param->kind == PARAM_SCALAR || param->kind == PARAM_OUT) continue;
        tensor->type = type_in(argument);
        int64_t count = shape_in(argument, tensor->shape, &tensor->rank);
        tensor->data = arena_alloc(unit->arena, (size_t)count * (size_t)ir_type_bytes(tensor->type) + 1);
        good = CHECK(unit, tensor->type == param->type && tensor->rank == param->rank) && good;
    }
    for (int d = 0; d < bound->kernel->dim_count; d++) {
        const struct ir_dim *dim = &bound->kernel->dims[d];
        bound->dims[d] = dim->is_static ? dim->value : (bound->tensors[dim->param].shape[dim->position] - dim->offset) / dim->scale;
    }
    return good;
}

static void bind_outputs(struct unit *unit, struct bound_case *bound)
{
    struct ir_bindings bindings = {.dims = bound->dims, .params = bound->scalars};
    for (int p = 0; p < bound->kernel->param_count; p++) {
        const struct ir_param *param = &bound->kernel->params[p];
        struct ir_tensor *tensor = &bound->tensors[p];
        if (param->kind != PARAM_OUT) continue;
        tensor->type = param->type;
        tensor->rank = param->rank;
        for (int i = 0; i < param->rank; i++)
            tensor->shape[i] = ir_evaluate_number(param->extents[i], &bindings).integer;
        tensor->data = arena_alloc(unit->arena, (size_t)count_elements(tensor) * (size_t)ir_type_bytes(tensor->type) + 1);
    }
}

bool bind_case(struct unit *unit, struct bound_case *bound, const char *folder, const cJSON *description, bool fixed)
{
    *bound = (struct bound_case){.description = description};
    if (!check_program(unit, bound, folder, fixed)) return false;
    struct text complaints = {0};
    if (!ir_verify(bound->kernel, &complaints)) printf("# %s", complaints.data);
    CHECK(unit, !complaints.length);
    text_free(&complaints);
    bound->tensors = ARENA_ARRAY(unit->arena, struct ir_tensor, bound->kernel->param_count);
    bound->scalars = ARENA_ARRAY(unit->arena, struct ir_scalar, bound->kernel->param_count);
    bound->dims = ARENA_ARRAY(unit->arena, int64_t, bound->kernel->dim_count + 1);
    bind_scalars(bound);
    if (!bind_inputs(unit, bound)) return false;
    bind_outputs(unit, bound);
    return true;
}

// ------------------------------------------------------------------------------------------ running

static void fill_tensor(struct unit *unit, const struct bound_case *bound, int index)
{
    const struct ir_param *param = &bound->kernel->params[index];
    const struct ir_tensor *tensor = &bound->tensors[index];
    const cJSON *before = cJSON_GetObjectItem(cJSON_GetObjectItem(bound->description, "before"), param->name);
    int64_t count = count_elements(tensor);
    const double *elements = NULL;
    if (param->kind != PARAM_OUT) {
        elements = elements_in(unit->arena, argument_of(bound, param->name), count);
        if (!CHECK(unit, elements != NULL)) return;
    }
    double poison = before ? number_in(before) : ir_type_is_float(tensor->type) ? NAN : -77;
    for (int64_t i = 0; i < count; i++)
        set_element(tensor, i, elements ? elements[i] : poison);
}

void reset_case(struct unit *unit, struct bound_case *bound)
{
    for (int p = 0; p < bound->kernel->param_count; p++) {
        if (bound->tensors[p].data) fill_tensor(unit, bound, p);
    }
}

struct status evaluate_case(struct unit *unit, struct bound_case *bound, enum ir_cut cut, uint64_t seed, struct text *printed)
{
    reset_case(unit, bound);
    struct ir_evaluation evaluation = {
        .bindings = {.dims = bound->dims, .params = bound->scalars},
        .tensors = bound->tensors,
        .cut = cut,
        .seed = seed,
        .step_limit = (int64_t)1 << 32,
        .printed = printed,
    };
    return ir_evaluate(bound->kernel, &evaluation, unit->arena);
}

static bool is_near(double value, double wanted, double tolerance)
{
    if (isnan(value) || isnan(wanted) || isinf(value) || isinf(wanted))
        return value == wanted || (isnan(value) && isnan(wanted));
    return fabs(value - wanted) <= tolerance * fmax(1, fabs(wanted));
}

static void compare_output(struct unit *unit, const struct bound_case *bound, const cJSON *expected, const char *how)
{
    const struct ir_tensor *tensor = NULL;
    for (int p = 0; p < bound->kernel->param_count; p++)
        tensor = strcmp(bound->kernel->params[p].name, expected->string) == 0 ? &bound->tensors[p] : tensor;
    if (!CHECK(unit, tensor != NULL)) return;
    const cJSON *rows = cJSON_GetObjectItem(expected, "rows"), *tolerance = cJSON_GetObjectItem(bound->description, "tolerance");
    int64_t shape[IR_MAX_RANK], first = rows ? (int64_t)cJSON_GetArrayItem(rows, 0)->valuedouble : 0;
    int rank;
    int64_t count = shape_in(expected, shape, &rank), per_row = rank && shape[0] ? count / shape[0] : 0;
    const double *wanted = elements_in(unit->arena, expected, count);
    if (!CHECK(unit, wanted && rank == tensor->rank && (rows || count == count_elements(tensor)))) return;
    if (!CHECK(unit, first * per_row + count <= count_elements(tensor))) return;
    double allowed = tolerance && ir_type_is_float(tensor->type) ? tolerance->valuedouble : 0;
    for (int64_t i = 0; i < count; i++) {
        double value = tensor_element(tensor, first * per_row + i);
        if (is_near(value, wanted[i], allowed)) continue;
        unit->ok = false;
        printf("# %s: %s, element %lld is %.9g, wanted %.9g\n", how, expected->string, (long long)(first * per_row + i), value, wanted[i]);
        return;
    }
}

void compare_case(struct unit *unit, const struct bound_case *bound, const char *how)
{
    const cJSON *expected;
    cJSON_ArrayForEach(expected, cJSON_GetObjectItem(bound->description, "expect")) compare_output(unit, bound, expected, how);
}

static bool cut_wanted(const cJSON *description, enum ir_cut cut)
{
    const cJSON *cuts = cJSON_GetObjectItem(description, "cuts"), *name;
    cJSON_ArrayForEach(name, cuts)
    {
        if (strcmp(name->valuestring, ir_cut_name(cut)) == 0) return true;
    }
    return !cuts;
}

static void run_once(struct unit *unit, struct bound_case *bound, enum ir_cut cut, uint64_t seed)
{
    const cJSON *fault = cJSON_GetObjectItem(bound->description, "fault"), *prints = cJSON_GetObjectItem(bound->description, "prints");
    struct text printed = {0};
    struct status status = evaluate_case(unit, bound, cut, seed, &printed);
    if (fault && CHECK(unit, !status.ok)) {
        CHECK_TEXT(unit, status.code, cJSON_GetObjectItem(fault, "code")->valuestring);
        CHECK_PART(unit, status.reason, cJSON_GetObjectItem(fault, "says")->valuestring);
        CHECK(unit, status.span.source != NULL);
    } else if (!fault) {
        if (!status.ok) printf("# %s: %s: %s\n", ir_cut_name(cut), status.code, status.reason);
        if (CHECK(unit, status.ok)) compare_case(unit, bound, arena_printf(unit->arena, "%s %d", ir_cut_name(cut), (int)seed));
    }
    if (prints) CHECK_TEXT(unit, printed.data ? printed.data : "", prints->valuestring);
    text_free(&printed);
}

void run_case(struct unit *unit, const char *folder, const cJSON *description)
{
    bool full_axes = false;
    for (int fixed = 1; fixed >= 0 && !full_axes; fixed--) {
        struct bound_case bound;
        if (!bind_case(unit, &bound, folder, description, fixed)) return;
        for (int cut = 0; cut < CUT_COUNT; cut++) {
            uint64_t seeds = cut < CUT_RANDOM ? 1 : 6;
            for (uint64_t seed = 0; seed < seeds && unit->ok && cut_wanted(description, (enum ir_cut)cut); seed++)
                run_once(unit, &bound, (enum ir_cut)cut, seed);
        }
        for (int axis = 0; axis < bound.kernel->axis_count; axis++)
            full_axes = full_axes || bound.kernel->axes[axis].kind == AXIS_FULL;
    }
}
