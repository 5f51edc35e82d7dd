// SPDX-License-Identifier: Apache-2.0
// Binding. In: arguments read and typed (arguments.c). Out: a kernel with all its dimensions, scalars and tensors.
// The one idea: a dimension may be learnt from a file's shape, from --dim, or from the end of generated offsets, and
// each of these may need others first; so every source is asked again until no one has anything new to say. Shapes are
// enough for that, but of tensors that give rows; the other data is made at the end, or later (fill.c).
#include <math.h>
#include <string.h>

#include "runtime/bind.h"
#include "runtime/build.h"

struct binding {
    struct arena *arena;
    struct arguments *arguments;
    struct bound *bound;
    const struct ir_kernel *kernel;
    bool *dim_known, *dim_text_done, *scalar_known, *made;  // by dimension, --dim text, parameter, parameter
    const char **dim_origins;                               // "--dim", or "'x' (dimension 2)"
    struct status waiting;                                  // why something can't be worked out yet
    bool progress;
};

// ---------------------------------------------------------------------------------------------- dimensions

static int dim_named(const struct ir_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->dim_count; i++) {
        if (strcmp(kernel->dims[i].name, name) == 0) return i;
    }
    return -1;
}

static int param_named(const struct ir_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->param_count; i++) {
        if (strcmp(kernel->params[i].name, name) == 0) return i;
    }
    return -1;
}

static const char *dim_names(struct arena *arena, const struct ir_kernel *kernel)
{
    const char *names = "";
    for (int i = 0; i < kernel->dim_count; i++)
        names = arena_printf(arena, "%s%s%s", names, i ? ", " : "", kernel->dims[i].name);
    return *names ? names : "none";
}

static struct status set_dim(struct binding *binding, int dim, int64_t value, const char *origin)
{
    const char *name = binding->kernel->dims[dim].name;
    if (value < 0)
        return status_failed(binding->arena, "launch.dimension", "%s would make %s = %lld", origin, name, (long long)value);
    if (value > DIMENSION_MOST)
        return status_failed(binding->arena, "launch.dimension", "%s would make %s = %lld; a dimension is at most %lld", origin, name,
                             (long long)value, (long long)DIMENSION_MOST);
    if (!binding->dim_known[dim]) {
        binding->bound->dims[dim] = value;
        binding->dim_known[dim] = binding->progress = true;
        binding->dim_origins[dim] = origin;
        return STATUS_OK;
    }
    if (binding->bound->dims[dim] == value) return STATUS_OK;
    return status_failed(binding->arena, "launch.dimension", "two arguments disagree about %s: %s says %s = %lld, %s says %s = %lld", name,
                         binding->dim_origins[dim], name, (long long)binding->bound->dims[dim], origin, name, (long long)value);
}

// Whether every dimension and scalar that an extent is made of is known.
static bool is_known(const struct binding *binding, const struct ir_value *value)
{
    const struct ir_op *op = value->def;
    if (op->code == OP_DIM) return binding->dim_known[op->dim];
    if (op->code == OP_SCALAR) return binding->scalar_known[op->param];
    for (int i = 0; i < op->operand_count; i++) {
        if (!is_known(binding, op->operands[i])) return false;
    }
    return true;
}

static const char *extent_name(struct arena *arena, const struct ir_param *param, int position)
{
    return arena_printf(arena, "'%s' (dimension %d)", param->name, position + 1);
}

static bool gives_offsets(const struct binding *binding, int param)
{
    for (int i = 0; i < binding->bound->rows.count; i++) {
        const struct rows_use *use = &binding->bound->rows.items[i];
        if (use->param == param && use->kind == ROWS_OFFSETS) return true;
    }
    return false;
}

// What one extent of a file's tensor says about a dimension.
static struct status learn_extent(struct binding *binding, int index, int position)
{
    const struct ir_param *param = &binding->kernel->params[index];
    int64_t extent = binding->bound->views[index].shape[position], rest;
    struct linear linear = linear_of(param->extents[position]);
    const char *text = param->extent_text[position];
    if (!linear.ok || linear.dim < 0) return STATUS_OK;
    if (extent == 0 && linear.offset > 0 && gives_offsets(binding, index))
        return status_failed(binding->arena, "launch.offsets", "'%s' is empty: offsets need at least one element", param->name);
    if (__builtin_sub_overflow(extent, linear.offset, &rest) || rest % linear.scale != 0 || rest / linear.scale < 0)
        return status_failed(binding->arena, "launch.dimension", "'%s' has %lld elements in dimension %d, which is declared as %s: no %s gives that",
                             param->name, (long long)extent, position + 1, text, binding->kernel->dims[linear.dim].name);
    return set_dim(binding, linear.dim, rest / linear.scale, extent_name(binding->arena, param, position));
}

// ---------------------------------------------------------------------------------------------- numbers

// total(p): how many elements the rows of p have together; longest(p): how many the longest has.
static const char *rows_number(struct binding *binding, const char *function, const char *name, int64_t *value, bool *pending)
{
    int param = param_named(binding->kernel, name);
    bool total = strcmp(function, "total") == 0;
    if (!total && strcmp(function, "longest") != 0)
        return arena_printf(binding->arena, "there is no function '%s', only total(offsets) and longest(offsets)", function);
    if (param < 0 || binding->kernel->params[param].rank == 0)
        return arena_printf(binding->arena, "there is no tensor '%s'", name);
    struct ir_tensor *view = &binding->bound->views[param];
    if (!ir_type_is_integer(binding->kernel->params[param].type)) return arena_printf(binding->arena, "'%s' doesn't hold integers", name);
    *pending = !binding->made[param];
    if (*pending) return arena_printf(binding->arena, "'%s' isn't known yet", name);
    struct status status = bound_fill_one(binding->arena, binding->bound, param);
    if (!status.ok) return status.reason;
    struct rows_use use = {.param = param, .kind = ROWS_OFFSETS};
    for (int i = 0; i < binding->bound->rows.count; i++) {
        if (binding->bound->rows.items[i].param == param) use.kind = binding->bound->rows.items[i].kind;
    }
    int64_t count = tensor_elements(view), sum = 0;
    for (int64_t i = 0; i < count && use.kind == ROWS_LENGTHS; i++) {
        if (__builtin_add_overflow(sum, tensor_get(view, i).integer, &sum)) return "the total does not fit 64 bits";
    }
    if (use.kind == ROWS_OFFSETS && count == 0) return arena_printf(binding->arena, "'%s' is empty: offsets need at least one element", name);
    if (use.kind == ROWS_OFFSETS) sum = tensor_get(view, count - 1).integer;
    *value = total ? sum : rows_longest(&use, binding->bound->views);
    return NULL;
}

static const char *look_up(void *data, const char *function, const char *name, struct expression_number *number, bool *pending)
{
    struct binding *binding = data;
    const struct ir_kernel *kernel = binding->kernel;
    *number = (struct expression_number){0};
    if (function) {
        const char *why = rows_number(binding, function, name, &number->integer, pending);
        number->number = (double)number->integer;
        return why;
    }
    int dim = dim_named(kernel, name), param = param_named(kernel, name);
    bool scalar = param >= 0 && kernel->params[param].kind == PARAM_SCALAR;
    if (dim < 0 && !scalar)
        return arena_printf(binding->arena, "there is no dimension '%s' (there are: %s)", name, dim_names(binding->arena, kernel));
    *pending = dim >= 0 ? !binding->dim_known[dim] : !binding->scalar_known[param];
    if (*pending) return arena_printf(binding->arena, "'%s' isn't known yet", name);
    if (dim < 0 && ir_type_is_float(kernel->params[param].type)) {
        *number = (struct expression_number){.floating = true, .number = binding->bound->scalars[param].number};
        return NULL;
    }
    number->integer = dim >= 0 ? binding->bound->dims[dim] : binding->bound->scalars[param].integer;
    number->number = (double)number->integer;
    return NULL;
}

// Evaluates a text. *ready is false, and the status ok, if something it names isn't known yet.
static struct status evaluate(struct binding *binding, const char *what, const char *text, struct expression_number *number, bool *ready)
{
    struct expression_scope scope = {binding, look_up};
    struct status status = expression_evaluate(binding->arena, text, &scope, number);
    *ready = status.ok;
    if (status.ok) return status;
    status.reason = arena_printf(binding->arena, "%s: %s", what, status.reason);
    if (strcmp(status.code, "usage.pending") != 0) return status;
    binding->waiting = status;
    return STATUS_OK;
}

static struct status bind_dim_text(struct binding *binding, int index)
{
    struct arena *arena = binding->arena;
    const char *name, *value, *text = binding->arguments->request->dims[index];
    if (binding->dim_text_done[index]) return STATUS_OK;
    if (!split_assignment(arena, text, &name, &value))
        return status_failed(arena, "usage.dimension", "'%s' is not a dimension: write --dim NAME=NUMBER", text);
    int dim = dim_named(binding->kernel, name);
    if (dim < 0)
        return status_failed(arena, "usage.dimension", "kernel '%s' has no dimension '%s' (it has: %s)", binding->kernel->name, name,
                             dim_names(arena, binding->kernel));
    struct expression_number number;
    bool ready;
    struct status status = evaluate(binding, arena_printf(arena, "--dim %s", name), value, &number, &ready);
    if (!status.ok || !ready) return status;
    binding->dim_text_done[index] = binding->progress = true;
    int64_t extent = number.floating ? (int64_t)ir_integer_of(TYPE_I64, number.number) : number.integer;
    if (number.floating && (double)extent != number.number)
        return status_failed(arena, "usage.dimension", "--dim %s: %s is not an integer", name, value);
    return set_dim(binding, dim, extent, "--dim");
}

static struct status wrong_number(struct binding *binding, int index, const char *text)
{
    const struct ir_param *param = &binding->kernel->params[index];
    return status_failed(binding->arena, "launch.argument", "'%s' is declared as %s, which can't be %s", param->name,
                         ir_type_name(param->type), text);
}

static struct status set_scalar(struct binding *binding, int index, const char *text, struct expression_number number)
{
    enum ir_type type = binding->kernel->params[index].type;
    struct ir_scalar *scalar = &binding->bound->scalars[index];
    binding->scalar_known[index] = binding->progress = true;
    if (ir_type_is_float(type)) {
        scalar->number = ir_round_to(type, number.number);
        return STATUS_OK;
    }
    int64_t value = number.floating ? ir_integer_of(TYPE_I64, number.number) : number.integer;
    bool exact = !number.floating || (double)value == number.number;
    if (!exact || ir_wrap_to(type, value) != value) return wrong_number(binding, index, text);
    scalar->integer = value;
    return STATUS_OK;
}

static struct status bind_scalar(struct binding *binding, int index)
{
    const struct ir_param *param = &binding->kernel->params[index];
    const char *text = binding->arguments->items[index].text;
    if (param->kind != PARAM_SCALAR || binding->scalar_known[index]) return STATUS_OK;
    if (!text) {
        binding->bound->scalars[index] = (struct ir_scalar){param->default_integer, param->default_number};
        binding->scalar_known[index] = binding->progress = true;
        return STATUS_OK;
    }
    if (param->type == TYPE_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return set_scalar(binding, index, text, (struct expression_number){.integer = strcmp(text, "true") == 0});
    struct expression_number number;
    bool ready;
    struct status status = evaluate(binding, arena_printf(binding->arena, "'%s'", param->name), text, &number, &ready);
    if (!status.ok || !ready) return status;
    return set_scalar(binding, index, text, number);
}

// ---------------------------------------------------------------------------------------------- tensors

// The view of a tensor whose data is still to be made from its source.
static void set_view(struct binding *binding, int index)
{
    const struct ir_param *param = &binding->kernel->params[index];
    struct ir_tensor *view = &binding->bound->views[index];
    *view = (struct ir_tensor){.type = param->type, .rank = param->rank};
    for (int d = 0; d < param->rank; d++) view->shape[d] = ir_evaluate_number(param->extents[d], &binding->bound->bindings).integer;
}

static bool gives_rows(const struct binding *binding, int param)
{
    for (int i = 0; i < binding->bound->rows.count; i++)
        if (binding->bound->rows.items[i].param == param) return true;
    return false;
}

static bool extents_known(const struct binding *binding, int index)
{
    const struct ir_param *param = &binding->kernel->params[index];
    for (int d = 0; d < param->rank; d++) {
        if (!is_known(binding, param->extents[d])) return false;
    }
    return true;
}

static struct status generate(struct binding *binding, int index)
{
    const struct argument *argument = &binding->arguments->items[index];
    const char *name = binding->kernel->params[index].name;
    if (argument->kind != ARGUMENT_GENERATED || binding->made[index] || !extents_known(binding, index)) return STATUS_OK;
    struct expression_number a = {0}, b = {0};
    bool a_ready = true, b_ready = true;
    const char *what = arena_printf(binding->arena, "'%s'", name);
    struct status status = STATUS_OK;
    if (argument->generator.a) status = evaluate(binding, what, argument->generator.a, &a, &a_ready);
    if (status.ok && argument->generator.b) status = evaluate(binding, what, argument->generator.b, &b, &b_ready);
    if (!status.ok || !a_ready || !b_ready) return status;
    set_view(binding, index);
    binding->made[index] = binding->progress = true;
    binding->bound->sources[index] = (struct bound_source){.kind = SOURCE_GENERATED, .generator = argument->generator, .a = a, .b = b};
    return gives_rows(binding, index) ? bound_fill_one(binding->arena, binding->bound, index) : STATUS_OK;
}

// A file's numbers become the parameter's: f32 may be rounded to bf16.
static struct status adopt_file(struct binding *binding, int index)
{
    const struct argument *argument = &binding->arguments->items[index];
    if (argument->kind != ARGUMENT_FILE) return STATUS_OK;
    binding->bound->views[index] = argument->file;
    binding->bound->views[index].type = binding->kernel->params[index].type;
    binding->bound->sources[index] = (struct bound_source){.kind = SOURCE_FILE, .path = argument->path, .file_type = argument->file.type};
    binding->made[index] = true;
    return gives_rows(binding, index) ? bound_fill_one(binding->arena, binding->bound, index) : STATUS_OK;
}

// The dimension that an extent which offsets run through is made of, and the least value that has room for the rows.
static bool room_for_rows(const struct binding *binding, const struct rows_use *use, int *dim, int64_t *value)
{
    if (use->kind != ROWS_OFFSETS || use->target_param < 0 || !binding->made[use->param]) return false;
    struct linear linear = linear_of(binding->kernel->params[use->target_param].extents[use->target_position]);
    const struct ir_tensor *view = &binding->bound->views[use->param];
    int64_t count = tensor_elements(view), rest;
    if (!linear.ok || linear.dim < 0 || linear.scale < 1 || count == 0) return false;
    rest = tensor_get(view, count - 1).integer;
    if (__builtin_add_overflow(rest, use->beyond, &rest) || __builtin_sub_overflow(rest, linear.offset, &rest)) return false;
    *dim = linear.dim;
    *value = rest > 0 ? (rest - 1) / linear.scale + 1 : 0;
    return true;
}

// Data to be made for packed rows is as long as the rows say, whatever they run through.
static struct status learn_total(struct binding *binding, const struct rows_use *use)
{
    int dim, other_dim;
    int64_t value, other_value;
    if (!room_for_rows(binding, use, &dim, &value) || binding->dim_known[dim]) return STATUS_OK;
    for (int i = 0; i < binding->bound->rows.count; i++) {
        const struct rows_use *other = &binding->bound->rows.items[i];
        if (other->param == use->param && room_for_rows(binding, other, &other_dim, &other_value) && other_dim == dim && other_value > value)
            value = other_value;
    }
    return set_dim(binding, dim, value, arena_printf(binding->arena, "the end of '%s'", binding->kernel->params[use->param].name));
}

// ---------------------------------------------------------------------------------------------- all of it

static struct status one_round(struct binding *binding)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < binding->arguments->request->dim_count && status.ok; i++) status = bind_dim_text(binding, i);
    for (int i = 0; i < binding->kernel->param_count && status.ok; i++) status = bind_scalar(binding, i);
    for (int i = 0; i < binding->kernel->param_count && status.ok; i++) status = generate(binding, i);
    for (int i = 0; i < binding->bound->rows.count && status.ok && !binding->progress; i++)
        status = learn_total(binding, &binding->bound->rows.items[i]);
    return status;
}

static struct status learn_files(struct binding *binding)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < binding->kernel->param_count && status.ok; i++) status = adopt_file(binding, i);
    for (int i = 0; i < binding->kernel->param_count; i++) {
        for (int d = 0; binding->made[i] && d < binding->kernel->params[i].rank && status.ok; d++) status = learn_extent(binding, i, d);
    }
    return status;
}

// Whether a dimension will follow from offsets once these are made.
static bool will_follow(const struct binding *binding, int dim)
{
    for (int i = 0; i < binding->bound->rows.count; i++) {
        const struct rows_use *use = &binding->bound->rows.items[i];
        if (use->kind != ROWS_OFFSETS || use->target_param < 0 || binding->made[use->param]) continue;
        struct linear linear = linear_of(binding->kernel->params[use->target_param].extents[use->target_position]);
        if (linear.ok && linear.dim == dim) return true;
    }
    return false;
}

static struct status find_unknown(const struct binding *binding)
{
    const struct ir_kernel *kernel = binding->kernel;
    const char *names = "", *example = NULL;
    int count = 0;
    bool all = true;  // offsets that wait for each other's totals leave nothing else to ask for
    for (int i = 0; i < kernel->dim_count; i++) all = all && (binding->dim_known[i] || will_follow(binding, i));
    for (int i = 0; i < kernel->dim_count; i++) {
        if (binding->dim_known[i] || (!all && will_follow(binding, i))) continue;
        names = arena_printf(binding->arena, "%s%s%s", names, count++ ? ", " : "", kernel->dims[i].name);
        if (!example) example = kernel->dims[i].name;
    }
    const char *words = arena_printf(binding->arena, "dimension%s %s %s known", count > 1 ? "s" : "", names, count > 1 ? "aren't" : "isn't");
    if (count > 0 && !binding->waiting.ok)
        return status_failed(binding->arena, "usage.dimension", "%s; %s", words, binding->waiting.reason);
    if (count > 0)
        return status_failed(binding->arena, "usage.dimension", "%s from the arguments: give %s with --dim %s=…", words,
                             count > 1 ? "each" : "it", example);
    return binding->waiting;
}

// Extents that are no plain formula of one dimension are looked at once all is known.
static struct status check_shapes(const struct binding *binding)
{
    for (int i = 0; i < binding->kernel->param_count; i++) {
        const struct ir_param *param = &binding->kernel->params[i];
        for (int d = 0; d < param->rank; d++) {
            int64_t wanted;
            if (is_known(binding, param->extents[d]) && !ir_evaluate_integer(param->extents[d], &binding->bound->bindings, &wanted))
                return status_failed(binding->arena, "launch.dimension", EXTENT_TOO_LARGE, param->name, param->extent_text[d], d + 1);
            if (!binding->made[i]) continue;
            wanted = ir_evaluate_number(param->extents[d], &binding->bound->bindings).integer;
            int64_t extent = binding->bound->views[i].shape[d];
            if (extent != wanted)
                return status_failed(binding->arena, "launch.dimension", "%s is %lld, but it is declared as %s, which is %lld",
                                     extent_name(binding->arena, param, d), (long long)extent, param->extent_text[d], (long long)wanted);
        }
    }
    return STATUS_OK;
}

static struct status check_loops(const struct binding *binding)
{
    int64_t bound;
    const struct ir_axis *axis = plan_loop_too_far(binding->kernel, &binding->bound->bindings, &bound);
    return axis ? status_failed(binding->arena, "launch.bounds", LOOP_TOO_FAR, axis->name, (long long)bound, (long long)DIMENSION_MOST,
                                (long long)DIMENSION_MOST) : STATUS_OK;
}

static void place_outputs(struct binding *binding)
{
    for (int i = 0; i < binding->kernel->param_count; i++) {
        if (binding->kernel->params[i].kind != PARAM_OUT) continue;
        set_view(binding, i);
        binding->bound->sources[i].kind = SOURCE_POISON;
    }
}

static bool is_listed(const char *name, int count, const char *const *names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

static struct status check_names(const struct binding *binding, int count, const char *const *names)
{
    for (int i = 0; i < count; i++) {
        if (dim_named(binding->kernel, names[i]) < 0)
            return status_failed(binding->arena, "usage.dimension", "kernel '%s' has no dimension '%s' (it has: %s)", binding->kernel->name,
                                 names[i], dim_names(binding->arena, binding->kernel));
    }
    return STATUS_OK;
}

// Checks the kernel again with some dimensions compiled in. Dimensions are matched by name.
static struct status compile_in(struct binding *binding)
{
    const struct bind_request *request = binding->arguments->request;
    const struct ir_kernel *open = binding->kernel;
    struct specialization *specialization = &binding->arguments->specialization;
    uint64_t batch = request->compile_in ? batch_dimensions(open) : ~(uint64_t)0;
    specialization->dim_count = 0;
    specialization->dim_names = ARENA_ARRAY(binding->arena, const char *, open->dim_count + 1);
    specialization->dims = ARENA_ARRAY(binding->arena, int64_t, open->dim_count + 1);
    for (int i = 0; i < open->dim_count; i++) {
        const char *name = open->dims[i].name;
        bool inner = i < 64 && !(batch >> i & 1) && !is_listed(name, request->dynamic_count, request->dynamics);
        if (!open->dims[i].is_static && !inner && !is_listed(name, request->static_count, request->statics)) continue;
        specialization->dim_names[specialization->dim_count] = name;
        specialization->dims[specialization->dim_count++] = binding->bound->dims[i];
    }
    if (specialization->dim_count == 0) return STATUS_OK;
    struct ir_kernel *kernel = arguments_check_kernel(binding->arguments, binding->arguments->diagnostics);
    if (!kernel) return status_failed(binding->arena, "program.errors", "kernel '%s' has errors for these dimensions", open->name);
    int64_t *dims = ARENA_ARRAY(binding->arena, int64_t, kernel->dim_count + 1);
    for (int i = 0; i < kernel->dim_count; i++) {
        int from = dim_named(open, kernel->dims[i].name);
        dims[i] = from >= 0 ? binding->bound->dims[from] : kernel->dims[i].value;
    }
    binding->bound->kernel = kernel;
    binding->bound->dims = dims;
    binding->bound->bindings.dims = dims;
    binding->bound->rows = rows_find(binding->arena, kernel);
    return STATUS_OK;
}

// A dimension that had to be known for the kernel to be checked.
static void adopt_static(struct binding *binding, int dim)
{
    const struct arguments *arguments = binding->arguments;
    binding->bound->dims[dim] = binding->kernel->dims[dim].value;
    binding->dim_known[dim] = true;
    binding->dim_origins[dim] = "--dim";
    for (int i = 0; i < arguments->signature->dim_count; i++) {
        if (arguments->plain_origins[i] && strcmp(arguments->signature->dims[i], binding->kernel->dims[dim].name) == 0)
            binding->dim_origins[dim] = arguments->plain_origins[i];
    }
}

static void prepare(struct binding *binding)
{
    const struct ir_kernel *kernel = binding->kernel;
    struct arena *arena = binding->arena;
    struct bound *bound = binding->bound;
    bound->kernel = binding->arguments->kernel;
    bound->tensors = ARENA_ARRAY(arena, struct tensor, kernel->param_count + 1);
    bound->views = ARENA_ARRAY(arena, struct ir_tensor, kernel->param_count + 1);
    bound->scalars = ARENA_ARRAY(arena, struct ir_scalar, kernel->param_count + 1);
    bound->sources = ARENA_ARRAY(arena, struct bound_source, kernel->param_count + 1);
    bound->seed = binding->arguments->request->seed;
    bound->dims = ARENA_ARRAY(arena, int64_t, kernel->dim_count + 1);
    bound->bindings = (struct ir_bindings){bound->dims, bound->scalars};
    bound->rows = rows_find(arena, kernel);
    binding->dim_known = ARENA_ARRAY(arena, bool, kernel->dim_count + 1);
    binding->dim_text_done = ARENA_ARRAY(arena, bool, binding->arguments->request->dim_count + 1);
    binding->dim_origins = ARENA_ARRAY(arena, const char *, kernel->dim_count + 1);
    binding->scalar_known = ARENA_ARRAY(arena, bool, kernel->param_count + 1);
    binding->made = ARENA_ARRAY(arena, bool, kernel->param_count + 1);
    for (int i = 0; i < kernel->dim_count; i++) {
        if (kernel->dims[i].is_static) adopt_static(binding, i);
    }
}

static struct status bind_all(struct binding *binding)
{
    const struct bind_request *request = binding->arguments->request;
    prepare(binding);
    struct status status = check_names(binding, request->static_count, request->statics);
    if (status.ok) status = check_names(binding, request->dynamic_count, request->dynamics);
    if (status.ok)
        status = dims_agree(binding->arena, request->static_count, request->statics, request->dynamic_count, request->dynamics);
    if (status.ok) status = learn_files(binding);
    do {
        binding->progress = false;
        binding->waiting = STATUS_OK;
        if (status.ok) status = one_round(binding);
    } while (status.ok && binding->progress);
    if (status.ok) status = find_unknown(binding);
    if (status.ok) status = check_shapes(binding);
    if (status.ok) status = check_loops(binding);
    if (status.ok && request->validate)
        status = rows_validate(binding->arena, binding->kernel, &binding->bound->rows, binding->bound->views, &binding->bound->bindings);
    if (status.ok) place_outputs(binding);
    if (status.ok) status = compile_in(binding);
    if (status.ok && !request->lazy) status = bound_fill(binding->arena, binding->bound);
    return status;
}

struct status bind_arguments(struct arena *arena, const struct bind_request *request, struct diagnostics *diagnostics,
                             struct bound *bound)
{
    *bound = (struct bound){0};
    struct arguments arguments;
    struct status status = arguments_read(arena, request, diagnostics, &arguments);
    if (status.ok) {
        struct binding binding = {.arena = arena, .arguments = &arguments, .bound = bound, .kernel = arguments.kernel};
        status = bind_all(&binding);
    }
    return status;
}

void bound_free(struct bound *bound)
{
    for (int i = 0; bound->kernel && i < bound->kernel->param_count; i++) tensor_free(&bound->tensors[i]);
    *bound = (struct bound){0};
}
