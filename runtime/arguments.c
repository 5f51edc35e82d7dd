// SPDX-License-Identifier: Apache-2.0
// Arguments as written. In: "x=@x.npy", "offsets=offsets(zipf(1e6, 500))", "T=f16". Out: a kernel checked for the types
// that the arguments have, and for each parameter a file's contents, a generator or a number's text.
// The one idea: types come before extents. Files decide element types, so all are read before the kernel is checked.
#include <ctype.h>
#include <string.h>

#include "runtime/bind.h"
#include "runtime/build.h"

// ---------------------------------------------------------------------------------------------- names

bool split_assignment(struct arena *arena, const char *text, const char **name, const char **value)
{
    const char *equals = strchr(text, '=');
    if (!equals) return false;
    const char *end = equals, *begin = equals + 1;
    while (isspace((unsigned char)*text)) text++;
    while (end > text && isspace((unsigned char)end[-1])) end--;
    while (isspace((unsigned char)*begin)) begin++;
    size_t length = strlen(begin);
    while (length > 0 && isspace((unsigned char)begin[length - 1])) length--;
    *name = arena_copy(arena, text, end > text ? (size_t)(end - text) : 0);
    *value = arena_copy(arena, begin, length);
    return **name != 0;
}

static int param_named(const struct signature *signature, const char *name)
{
    for (int i = 0; i < signature->param_count; i++) {
        if (strcmp(signature->params[i].name, name) == 0) return i;
    }
    return -1;
}

static int generic_named(const struct signature *signature, const char *name)
{
    for (int i = 0; i < signature->generic_count; i++) {
        if (strcmp(signature->generics[i].name, name) == 0) return i;
    }
    return -1;
}

static const char *input_names(struct arena *arena, const struct signature *signature)
{
    const char *names = "";
    for (int i = 0; i < signature->param_count; i++) {
        if (signature->params[i].kind != SIGNATURE_OUT)
            names = arena_printf(arena, "%s%s%s", names, *names ? ", " : "", signature->params[i].name);
    }
    return *names ? names : "none";
}

// "x: T[nnz, M]", as declared.
static const char *declaration(struct arena *arena, const struct signature *signature, const struct signature_param *param)
{
    struct text text = {0};
    const char *type = param->generic >= 0 ? signature->generics[param->generic].name : ir_type_name(param->type);
    text_printf(&text, param->accum ? "%s: accum(%s)" : "%s: %s", param->name, type);
    for (int d = 0; d < param->rank; d++) text_printf(&text, "%s%s", d ? ", " : "[", param->extent_text[d]);
    if (param->rank) text_add(&text, "]");
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static struct status choose_kernel(struct arguments *arguments)
{
    struct arena *arena = arguments->arena;
    const struct ast_file *file = arguments->request->file;
    const char *name = arguments->request->kernel, *names = "";
    int count = frontend_kernel_count(file);
    for (int i = 0; i < count; i++)
        names = arena_printf(arena, "%s%s%s", names, i ? ", " : "", frontend_kernel_name(file, i));
    if (count == 0) return status_failed(arena, "usage.kernel", "the file has no kernel");
    if (!name && count > 1) return status_failed(arena, "usage.kernel", "the file has several kernels: say which with --kernel (%s)", names);
    if (!name) name = frontend_kernel_name(file, 0);
    arguments->signature = frontend_signature(arena, file, name);
    if (!arguments->signature) return status_failed(arena, "usage.kernel", "there is no kernel '%s' in the file, which has %s", name, names);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- values

static struct status read_head(struct arena *arena, const char *name, struct argument *argument)
{
    struct npy_header header;
    struct status status = npy_read_head(arena, argument->path, &header);
    if (!status.ok) {
        status.reason = arena_printf(arena, "'%s': %s", name, status.reason);
        return status;
    }
    argument->file = (struct ir_tensor){.type = header.type, .rank = header.rank};
    memcpy(argument->file.shape, header.shape, sizeof header.shape);
    return STATUS_OK;
}

static struct status read_value(struct arguments *arguments, int index, const char *value)
{
    const struct signature_param *param = &arguments->signature->params[index];
    struct argument *argument = &arguments->items[index];
    argument->text = value;
    if (param->kind == SIGNATURE_SCALAR) {
        argument->kind = ARGUMENT_NUMBER;
        if (*value != '@') return STATUS_OK;
        return status_failed(arguments->arena, "launch.argument", "'%s' is a number, not a tensor: a file can't give it", param->name);
    }
    if (*value == '@') {
        argument->kind = ARGUMENT_FILE;
        argument->path = value + 1;
        return read_head(arguments->arena, param->name, argument);
    }
    argument->kind = ARGUMENT_GENERATED;
    struct status status = generator_parse(arguments->arena, value, &argument->generator);
    if (!status.ok) status.reason = arena_printf(arguments->arena, "'%s': %s", param->name, status.reason);
    return status;
}

static struct status read_argument(struct arguments *arguments, const char *text)
{
    struct arena *arena = arguments->arena;
    const char *name, *value;
    if (!split_assignment(arena, text, &name, &value) || !*value)
        return status_failed(arena, "usage.argument", "'%s' is not an argument: write NAME=VALUE", text);
    int index = param_named(arguments->signature, name);
    if (index < 0)
        return status_failed(arena, "launch.argument", "kernel '%s' has no parameter '%s'; its parameters are: %s",
                             arguments->signature->name, name, input_names(arena, arguments->signature));
    if (arguments->signature->params[index].kind == SIGNATURE_OUT)
        return status_failed(arena, "launch.argument", "'%s' is an output, which the kernel makes: --out %s=FILE.npy keeps it", name, name);
    if (arguments->items[index].text) return status_failed(arena, "usage.argument", "argument '%s' is given twice", name);
    return read_value(arguments, index, value);
}

static struct status find_missing(const struct arguments *arguments)
{
    const struct signature *signature = arguments->signature;
    const char *missing = "";
    int count = 0;
    for (int i = 0; i < signature->param_count; i++) {
        const struct signature_param *param = &signature->params[i];
        if (param->kind == SIGNATURE_OUT || arguments->items[i].text || param->optional || param->has_default) continue;
        missing = arena_printf(arguments->arena, "%s%s'%s'", missing, count++ ? ", " : "", declaration(arguments->arena, signature, param));
    }
    if (count == 0) return STATUS_OK;
    return status_failed(arguments->arena, "launch.missing", "argument%s missing: %s", count > 1 ? "s" : "", missing);
}

// ---------------------------------------------------------------------------------------------- types

static bool type_fits(const char *kind, enum ir_type type)
{
    if (strcmp(kind, "float") == 0) return ir_type_is_float(type);
    if (strcmp(kind, "int") == 0) return type == TYPE_I32 || type == TYPE_I64;
    return type != TYPE_BOOL && type != TYPE_NONE;
}

static struct status read_types(struct arguments *arguments, const char **origins)
{
    struct arena *arena = arguments->arena;
    struct specialization *specialization = &arguments->specialization;
    for (int i = 0; i < arguments->request->type_count; i++) {
        const char *name, *value, *text = arguments->request->types[i];
        if (!split_assignment(arena, text, &name, &value))
            return status_failed(arena, "usage.type", "'%s' is not a type: write --type NAME=TYPE", text);
        int generic = generic_named(arguments->signature, name);
        if (generic < 0)
            return status_failed(arena, "usage.type", "kernel '%s' has no type parameter '%s'", arguments->signature->name, name);
        enum ir_type type = ir_type_named(value);
        if (type == TYPE_NONE || !type_fits(arguments->signature->generics[generic].kind, type))
            return status_failed(arena, "usage.type", "'%s' can't be %s, which is declared as %s: %s", value, name, name,
                                 arguments->signature->generics[generic].kind);
        specialization->types[generic] = type;
        origins[generic] = "--type";
    }
    return STATUS_OK;
}

// bf16 has no .npy type: where it is asked for, f32 files are rounded.
static bool may_hold(enum ir_type wanted, enum ir_type file)
{
    return wanted == file || (wanted == TYPE_BF16 && file == TYPE_F32);
}

static struct status infer_type(struct arguments *arguments, int index, const char **origins)
{
    struct arena *arena = arguments->arena;
    const struct signature_param *param = &arguments->signature->params[index];
    const struct argument *argument = &arguments->items[index];
    if (argument->kind != ARGUMENT_FILE || param->generic < 0 || param->accum) return STATUS_OK;
    const struct signature_generic *generic = &arguments->signature->generics[param->generic];
    enum ir_type *type = &arguments->specialization.types[param->generic], file = argument->file.type;
    if (!origins[param->generic]) {
        if (!type_fits(generic->kind, file))
            return status_failed(arena, "launch.type", "'%s' is %s in %s, but its type %s must be %s", param->name, ir_type_name(file),
                                 argument->path, generic->name, strcmp(generic->kind, "int") == 0 ? "i32 or i64" : generic->kind);
        *type = file;
        origins[param->generic] = param->name;
        return STATUS_OK;
    }
    if (may_hold(*type, file)) return STATUS_OK;
    const char *origin = origins[param->generic];
    const char *from = origin[0] == '-' ? arena_printf(arena, "%s says", origin) : arena_printf(arena, "'%s' has", origin);
    return status_failed(arena, "launch.type", "'%s' is %s in %s, but %s %s = %s", param->name, ir_type_name(file), argument->path,
                         from, generic->name, ir_type_name(*type));
}

static struct status infer_types(struct arguments *arguments)
{
    const struct signature *signature = arguments->signature;
    struct specialization *specialization = &arguments->specialization;
    const char **origins = ARENA_ARRAY(arguments->arena, const char *, signature->generic_count + 1);
    specialization->type_count = signature->generic_count;
    specialization->type_names = ARENA_ARRAY(arguments->arena, const char *, signature->generic_count + 1);
    specialization->types = ARENA_ARRAY(arguments->arena, enum ir_type, signature->generic_count + 1);
    for (int i = 0; i < signature->generic_count; i++) {
        specialization->type_names[i] = signature->generics[i].name;
        specialization->types[i] = signature->generics[i].fallback;
    }
    struct status status = read_types(arguments, origins);
    for (int i = 0; i < signature->param_count && status.ok; i++) status = infer_type(arguments, i, origins);
    return status;
}

static void list_absent(struct arguments *arguments)
{
    const struct signature *signature = arguments->signature;
    struct specialization *specialization = &arguments->specialization;
    specialization->absent = ARENA_ARRAY(arguments->arena, const char *, signature->param_count + 1);
    for (int i = 0; i < signature->param_count; i++) {
        if (signature->params[i].optional && !arguments->items[i].text)
            specialization->absent[specialization->absent_count++] = signature->params[i].name;
    }
}

// ---------------------------------------------------------------------------------------------- files and parameters

// A file's tensor against the checked parameter: rank, then type.
static struct status check_file(const struct arguments *arguments, int index)
{
    const struct signature_param *declared = &arguments->signature->params[index];
    const struct ir_param *param = &arguments->kernel->params[index];
    const struct argument *argument = &arguments->items[index];
    if (argument->kind != ARGUMENT_FILE) return STATUS_OK;
    const struct ir_tensor *view = &argument->file;
    const char *as_declared = declaration(arguments->arena, arguments->signature, declared);
    struct text shape = {0};
    tensor_print_shape(&shape, view);
    struct status status = STATUS_OK;
    if (view->rank != param->rank)
        status = status_failed(arguments->arena, "launch.rank", "'%s' has %d dimension%s in %s (%s), but is declared with %d: %s",
                               param->name, view->rank, view->rank == 1 ? "" : "s", argument->path, shape.data, param->rank, as_declared);
    else if (!may_hold(param->type, view->type))
        status = status_failed(arguments->arena, "launch.type", "'%s' is %s in %s, but is declared as %s (%s)", param->name,
                               ir_type_name(view->type), argument->path, ir_type_name(param->type), as_declared);
    text_free(&shape);
    return status;
}

// ---------------------------------------------------------------------------------------------- the kernel

struct ir_kernel *arguments_check_kernel(const struct arguments *arguments, struct diagnostics *diagnostics)
{
    return frontend_check(arguments->arena, arguments->request->file, arguments->signature->name, &arguments->specialization,
                          diagnostics);
}

static int dim_named(const struct signature *signature, const char *name)
{
    for (int i = 0; i < signature->dim_count; i++) {
        if (strcmp(signature->dims[i], name) == 0) return i;
    }
    return -1;
}

static const char *look_up_plain(void *data, const char *function, const char *name, struct expression_number *number, bool *pending)
{
    const struct arguments *arguments = data;
    int dim = function ? -1 : dim_named(arguments->signature, name);
    *pending = dim < 0 || !arguments->plain_origins[dim];
    if (*pending) return "not known yet";
    *number = (struct expression_number){.integer = arguments->plain_dims[dim], .number = (double)arguments->plain_dims[dim]};
    return NULL;
}

static void learn_plain(struct arguments *arguments, const char *name, int64_t value, const char *origin)
{
    int dim = dim_named(arguments->signature, name);
    if (dim < 0 || arguments->plain_origins[dim] || value < 0) return;
    arguments->plain_dims[dim] = value;
    arguments->plain_origins[dim] = origin;
}

// Dimensions that a file's extent or --dim gives outright. What is wrong with the rest is said when all is bound.
static void learn_plain_dims(struct arguments *arguments)
{
    struct arena *arena = arguments->arena;
    const struct signature *signature = arguments->signature;
    arguments->plain_dims = ARENA_ARRAY(arena, int64_t, signature->dim_count + 1);
    arguments->plain_origins = ARENA_ARRAY(arena, const char *, signature->dim_count + 1);
    for (int i = 0; i < signature->param_count; i++) {
        const struct ir_tensor *view = &arguments->items[i].file;
        for (int d = 0; arguments->items[i].kind == ARGUMENT_FILE && d < view->rank && d < signature->params[i].rank; d++)
            learn_plain(arguments, signature->params[i].extent_text[d], view->shape[d],
                        arena_printf(arena, "'%s' (dimension %d)", signature->params[i].name, d + 1));
    }
    struct expression_scope scope = {arguments, look_up_plain};
    for (int i = 0; i < arguments->request->dim_count; i++) {
        const char *name, *value;
        struct expression_number number;
        if (!split_assignment(arena, arguments->request->dims[i], &name, &value)) continue;
        if (expression_evaluate(arena, value, &scope, &number).ok && !number.floating) learn_plain(arguments, name, number.integer, "--dim");
    }
}

static void compile_in_plain(struct arguments *arguments, int except)
{
    struct specialization *specialization = &arguments->specialization;
    specialization->dim_count = 0;
    for (int i = 0; i < arguments->signature->dim_count; i++) {
        if (!arguments->plain_origins[i] || i == except) continue;
        specialization->dim_names[specialization->dim_count] = arguments->signature->dims[i];
        specialization->dims[specialization->dim_count++] = arguments->plain_dims[i];
    }
}

// Full axes need their extents when the kernel is checked. Which dimensions those are shows by leaving out one after
// the other; what the kernel can do without stays open.
static struct ir_kernel *check_with_plain_dims(struct arguments *arguments, struct diagnostics *diagnostics)
{
    int count = arguments->signature->dim_count;
    arguments->specialization.dim_names = ARENA_ARRAY(arguments->arena, const char *, count + 1);
    arguments->specialization.dims = ARENA_ARRAY(arguments->arena, int64_t, count + 1);
    compile_in_plain(arguments, -1);
    if (!arguments_check_kernel(arguments, diagnostics)) return NULL;
    for (int i = 0; i < count; i++) {
        struct diagnostics unread;
        diagnostics_init(&unread, arguments->arena);
        if (!arguments->plain_origins[i]) continue;
        compile_in_plain(arguments, i);
        if (arguments_check_kernel(arguments, &unread)) arguments->plain_origins[i] = NULL;
    }
    compile_in_plain(arguments, -1);
    diagnostics_init(diagnostics, arguments->arena);
    return arguments_check_kernel(arguments, diagnostics);
}

static void keep_messages(struct diagnostics *to, const struct diagnostics *from)
{
    for (int i = 0; i < from->count; i++) {
        const struct diagnostic *item = &from->items[i];
        struct diagnostic *copy = diagnose(to, item->severity, item->code, item->span, "%s", item->message);
        copy->help = item->help;
        copy->note = item->note;
        copy->note_span = item->note_span;
    }
}

static struct status find_kernel(struct arguments *arguments)
{
    const char *name = arguments->signature->name;
    struct diagnostics messages;
    diagnostics_init(&messages, arguments->arena);
    learn_plain_dims(arguments);
    arguments->kernel = arguments_check_kernel(arguments, &messages);
    if (!arguments->kernel) {
        diagnostics_init(&messages, arguments->arena);
        arguments->kernel = check_with_plain_dims(arguments, &messages);
    }
    keep_messages(arguments->diagnostics, &messages);
    if (!arguments->kernel) return status_failed(arguments->arena, "program.errors", "kernel '%s' has errors", name);
    if (arguments->kernel->param_count == arguments->signature->param_count) return STATUS_OK;
    return status_failed(arguments->arena, "internal.signature", "kernel '%s' has %d parameters, its signature %d", name,
                         arguments->kernel->param_count, arguments->signature->param_count);
}

struct status arguments_read(struct arena *arena, const struct bind_request *request, struct diagnostics *diagnostics,
                             struct arguments *arguments)
{
    *arguments = (struct arguments){.arena = arena, .request = request, .diagnostics = diagnostics};
    struct status status = choose_kernel(arguments);
    if (!status.ok) return status;
    int count = arguments->signature->param_count;
    arguments->items = ARENA_ARRAY(arena, struct argument, count + 1);
    for (int i = 0; i < request->argument_count && status.ok; i++) status = read_argument(arguments, request->arguments[i]);
    if (status.ok) status = find_missing(arguments);
    if (status.ok) status = infer_types(arguments);
    if (!status.ok) return status;
    list_absent(arguments);
    status = find_kernel(arguments);
    for (int i = 0; i < count && status.ok; i++) status = check_file(arguments, i);
    return status;
}
