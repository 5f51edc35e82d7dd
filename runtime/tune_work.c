// SPDX-License-Identifier: Apache-2.0
// A kernel on its data, on the way to a worker process. In: a bound kernel. Out: a message from which another process
// makes the same kernel and finds the same tensors in a file that both have open.
//
// A worker checks the program again by itself; the hash of the checked program tells if a file has changed in between.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

// ---------------------------------------------------------------------------------------------- the file

enum { PAGE = 4096, FEW_CORES = 2 };  // few: mapping costs as much as waiting

struct writing {
    int file;
    int64_t at;
    const char *data;
    char *mapped;      // where the file's bytes from `at` on are; NULL: nowhere
    atomic_int error;  // errno of what failed; 0: nothing has
};

static bool is_zero(const char *data, size_t bytes)
{
    return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

static void write_bytes(struct writing *writing, int64_t begin, int64_t end)
{
    while (begin < end) {
        ssize_t count = pwrite(writing->file, writing->data + begin, (size_t)(end - begin), (off_t)(writing->at + begin));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            writing->error = count < 0 ? errno : ENOSPC;
            return;
        }
        begin += count;
    }
}

// A range of bytes. Writes to one file wait for each other, copies to its pages don't; these are asked for beforehand, since
// a page that isn't to be had then would be a signal.
static void write_block(void *data, int64_t block, int64_t begin, int64_t end)
{
    struct writing *writing = data;
    size_t bytes = (size_t)(end - begin);
    (void)block;
    if (is_zero(writing->data + begin, bytes)) return;
    if (writing->mapped && fallocate(writing->file, 0, (off_t)(writing->at + begin), (off_t)bytes) == 0)
        memcpy(writing->mapped + begin, writing->data + begin, bytes);
    else
        write_bytes(writing, begin, end);
}

struct status tune_write(struct arena *arena, int file, int64_t at, const void *data, size_t bytes)
{
    struct writing writing = {.file = file, .at = at, .data = data};
    int64_t before = at % PAGE;
    char *base = MAP_FAILED;
    if (bytes && usable_cores() > FEW_CORES)
        base = mmap(NULL, bytes + (size_t)before, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)(at - before));
    if (base != MAP_FAILED) writing.mapped = base + before;
    work_in_blocks((int64_t)bytes, write_block, &writing);
    if (base != MAP_FAILED) munmap(base, bytes + (size_t)before);
    return writing.error ? status_failed(arena, "launch.memory", "no memory for the tensors: %s", strerror(writing.error)) : STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- writing

static struct cache_key hash_kernel(const struct ir_kernel *kernel)
{
    struct text text = {0};
    ir_print(&text, kernel);
    struct cache_key key = cache_hash(&(struct cache_part){text.data, text.length}, 1);
    text_free(&text);
    return key;
}

static void print_specialization(struct text *out, const struct ir_kernel *kernel)
{
    const char *separator = "";
    text_add(out, ", \"types\": [");
    for (int i = 0; i < kernel->generic_count; i++) {
        text_add(out, i ? ", {\"is\": true" : "{\"is\": true");
        wire_add_text(out, "name", kernel->generic_names[i]);
        wire_add_text(out, "type", ir_type_name(kernel->generic_types[i]));
        text_add(out, "}");
    }
    text_add(out, "], \"static\": [");
    for (int i = 0; i < kernel->dim_count; i++) {
        if (!kernel->dims[i].is_static) continue;
        text_printf(out, "%s{\"is\": true", separator);
        wire_add_text(out, "name", kernel->dims[i].name);
        wire_add_long(out, "value", kernel->dims[i].value);
        text_add(out, "}");
        separator = ", ";
    }
    text_add(out, "], \"absent\": [");
    separator = "";
    for (int i = 0; i < kernel->param_count; i++) {
        if (!kernel->params[i].optional || kernel->params[i].present) continue;
        text_add(out, separator);
        json_string(out, kernel->params[i].name);
        separator = ", ";
    }
    text_add(out, "]");
}

static void print_options(struct text *out, const char *key, const struct compare_options *options)
{
    text_printf(out, ", \"%s\": {\"is\": true", key);
    wire_add_long(out, "length", options->reduction_length);
    wire_add_bool(out, "rounded", options->rounded);
    wire_add_bool(out, "sampled", options->sampled);
    wire_add_number(out, "magnitude", options->magnitude);
    wire_add_number(out, "exponent", options->exponent);
    wire_add_number(out, "scale", options->scale);
    wire_add_bool(out, "errors", options->errors != NULL);
    text_add(out, "}");
}

static void print_tensor(struct text *out, const struct tune_tensor *tensor)
{
    text_add(out, "{\"is\": true");
    wire_add_bool(out, "present", tensor->present);
    if (tensor->present) {
        text_add(out, ", \"shape\": [");
        for (int i = 0; i < tensor->view.rank; i++) text_printf(out, "%s\"%lld\"", i ? ", " : "", (long long)tensor->view.shape[i]);
        text_add(out, "]");
        wire_add_long(out, "at", tensor->at);
        wire_add_long(out, "reference_at", tensor->reference_at);
        wire_add_long(out, "sample_at", tensor->sample_at);
        wire_add_long(out, "errors_at", tensor->errors_at);
        print_options(out, "options", &tensor->options);
        print_options(out, "sample_options", &tensor->sample_options);
    }
    text_add(out, "}");
}

// Doubles as their bits: scalars may be NaN or infinite.
static void print_scalar(struct text *out, const struct ir_scalar *scalar)
{
    int64_t bits = 0;
    memcpy(&bits, &scalar->number, sizeof bits);
    text_printf(out, "[\"%lld\", \"%lld\"]", (long long)scalar->integer, (long long)bits);
}

void tune_work_print(struct text *out, const struct source *source, const char *target, int ordinal, const char *role, const struct tune_work *work)
{
    const struct ir_kernel *kernel = work->kernel;
    text_add(out, "{\"type\": \"setup\"");
    wire_add_text(out, "target", target);
    wire_add_int(out, "ordinal", ordinal);
    wire_add_text(out, "role", role);
    wire_add_text(out, "path", source->path);
    wire_add_text(out, "source", source->text);
    wire_add_text(out, "kernel", kernel->name);
    wire_add_text(out, "hash", hash_kernel(kernel).hex);
    print_specialization(out, kernel);
    wire_add_bool(out, "index64", work->index64);
    wire_add_long(out, "file_bytes", work->file_bytes);
    wire_add_number(out, "least_bytes", work->least_bytes);
    wire_add_text(out, "properties", work->properties);
    text_add(out, ", \"dims\": [");
    for (int i = 0; i < kernel->dim_count; i++) text_printf(out, "%s\"%lld\"", i ? ", " : "", (long long)work->dims[i]);
    text_add(out, "], \"scalars\": [");
    for (int i = 0; i < kernel->param_count; i++) text_add(out, i ? ", " : ""), print_scalar(out, &work->scalars[i]);
    text_add(out, "], \"tensors\": [");
    for (int i = 0; i < kernel->param_count; i++) text_add(out, i ? ", " : ""), print_tensor(out, &work->tensors[i]);
    text_add(out, "]}");
}

// ---------------------------------------------------------------------------------------------- the kernel again

static const char *copy_text(struct arena *arena, const char *text)
{
    return arena_copy(arena, text ? text : "", text ? strlen(text) : 0);
}

static struct status read_specialization(struct arena *arena, const struct wire *message, struct specialization *made)
{
    const struct wire *types = wire_get(message, "types"), *dims = wire_get(message, "static"), *absent = wire_get(message, "absent");
    *made = (struct specialization){
        .type_names = ARENA_ARRAY(arena, const char *, wire_count(types) + 1),
        .types = ARENA_ARRAY(arena, enum ir_type, wire_count(types) + 1),
        .dim_names = ARENA_ARRAY(arena, const char *, wire_count(dims) + 1),
        .dims = ARENA_ARRAY(arena, int64_t, wire_count(dims) + 1),
        .absent = ARENA_ARRAY(arena, const char *, wire_count(absent) + 1)};
    for (const struct wire *item = wire_first(types); item; item = wire_next(item)) {
        const char *type = wire_text(item, "type");
        enum ir_type found = type ? ir_type_named(type) : TYPE_NONE;
        if (found == TYPE_NONE) return status_failed(arena, "internal.setup", "there is no element type %s", type ? type : "");
        made->type_names[made->type_count] = copy_text(arena, wire_text(item, "name"));
        made->types[made->type_count++] = found;
    }
    for (const struct wire *item = wire_first(dims); item; item = wire_next(item)) {
        made->dim_names[made->dim_count] = copy_text(arena, wire_text(item, "name"));
        made->dims[made->dim_count++] = wire_long(item, "value", 0);
    }
    for (const struct wire *item = wire_first(absent); item; item = wire_next(item))
        made->absent[made->absent_count++] = copy_text(arena, wire_item_text(item));
    return STATUS_OK;
}

static struct status read_kernel(struct arena *arena, const struct wire *message, struct ir_kernel **kernel)
{
    struct diagnostics diagnostics;
    struct specialization specialization;
    struct source *source = ARENA_NEW(arena, struct source);
    const char *name = copy_text(arena, wire_text(message, "kernel")), *hash = wire_text(message, "hash");
    source->path = copy_text(arena, wire_text(message, "path"));
    source->text = copy_text(arena, wire_text(message, "source"));
    source->length = strlen(source->text);
    struct status status = read_specialization(arena, message, &specialization);
    if (!status.ok) return status;
    diagnostics_init(&diagnostics, arena);
    const struct ast_file *file = frontend_parse(arena, source, &source_loader, &diagnostics);
    *kernel = file && !diagnostics.errors ? frontend_check(arena, file, name, &specialization, &diagnostics) : NULL;
    if (!*kernel || !hash || strcmp(hash_kernel(*kernel).hex, hash) != 0)
        return status_failed(arena, "usage.changed", "%s, or a file that it imports, has changed while kernel %s was tuned", source->path, name);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- the data again

static void read_options(const struct wire *object, struct compare_options *options)
{
    *options = (struct compare_options){
        .reduction_length = wire_long(object, "length", 1), .rounded = wire_bool(object, "rounded"), .sampled = wire_bool(object, "sampled"),
        .magnitude = wire_number(object, "magnitude", 0), .exponent = wire_number(object, "exponent", 0), .scale = wire_number(object, "scale", 0)};
}

static bool place_view(const struct tune_tensor *tensor, char *base, int64_t file_bytes, int64_t at, struct ir_tensor *view)
{
    *view = tensor->view;
    view->data = NULL;
    if (at < 0) return true;
    if (at % TENSOR_ALIGNMENT || at > file_bytes || (int64_t)tensor->bytes > file_bytes - at) return false;
    view->data = base + at;
    return true;
}

// Which of the two references they are of, its options say.
static bool place_errors(const struct wire *object, struct tune_tensor *tensor, const char *base, int64_t file_bytes)
{
    int64_t bytes = tensor_elements(&tensor->view) * (int64_t)sizeof(double), at = tensor->errors_at;
    if (at < 0) return true;
    if (at % TENSOR_ALIGNMENT || at > file_bytes || bytes > file_bytes - at) return false;
    const double *errors = (const double *)(const void *)(base + at);
    if (wire_bool(wire_get(object, "options"), "errors")) tensor->options.errors = errors;
    if (wire_bool(wire_get(object, "sample_options"), "errors")) tensor->sample_options.errors = errors;
    return true;
}

static bool read_tensor(const struct wire *object, const struct ir_param *param, char *base, int64_t file_bytes, struct tune_tensor *tensor)
{
    int64_t count = 0;
    const struct wire *shape = wire_get(object, "shape");
    *tensor = (struct tune_tensor){.present = wire_bool(object, "present"), .reference_at = -1, .sample_at = -1, .errors_at = -1};
    if (!tensor->present) return true;
    if (wire_count(shape) != param->rank) return false;
    tensor->view.type = param->type;
    for (const struct wire *item = wire_first(shape); item; item = wire_next(item))
        tensor->view.shape[tensor->view.rank++] = wire_item_long(item, -1);
    if (!tensor_count(param->type, param->rank, tensor->view.shape, &count)) return false;
    tensor->bytes = (size_t)(count * ir_type_bytes(param->type));
    tensor->at = wire_long(object, "at", -1);
    tensor->reference_at = wire_long(object, "reference_at", -1);
    tensor->sample_at = wire_long(object, "sample_at", -1);
    tensor->errors_at = wire_long(object, "errors_at", -1);
    read_options(wire_get(object, "options"), &tensor->options);
    read_options(wire_get(object, "sample_options"), &tensor->sample_options);
    if (!base) return true;
    return tensor->at >= 0 && place_errors(object, tensor, base, file_bytes) &&
           place_view(tensor, base, file_bytes, tensor->reference_at, &tensor->reference) &&
           place_view(tensor, base, file_bytes, tensor->sample_at, &tensor->sample) &&
           place_view(tensor, base, file_bytes, tensor->at, &tensor->view);
}

static bool read_bindings(struct arena *arena, const struct wire *message, struct tune_work *work)
{
    const struct wire *dims = wire_get(message, "dims"), *scalars = wire_get(message, "scalars");
    int at = 0;
    if (wire_count(dims) != work->kernel->dim_count || wire_count(scalars) != work->kernel->param_count) return false;
    work->dims = ARENA_ARRAY(arena, int64_t, work->kernel->dim_count + 1);
    work->scalars = ARENA_ARRAY(arena, struct ir_scalar, work->kernel->param_count + 1);
    for (const struct wire *item = wire_first(dims); item; item = wire_next(item)) work->dims[at++] = wire_item_long(item, -1);
    at = 0;
    for (const struct wire *item = wire_first(scalars); item; item = wire_next(item), at++) {
        if (wire_count(item) != 2) return false;
        const struct wire *first = wire_first(item);
        int64_t bits = wire_item_long(wire_next(first), 0);
        work->scalars[at].integer = wire_item_long(first, 0);
        memcpy(&work->scalars[at].number, &bits, sizeof bits);
    }
    work->bindings = (struct ir_bindings){work->dims, work->scalars};
    return true;
}

static bool read_tensors(struct arena *arena, const struct wire *message, char *base, struct tune_work *work)
{
    const struct wire *tensors = wire_get(message, "tensors");
    int at = 0;
    if (wire_count(tensors) != work->kernel->param_count) return false;
    work->tensors = ARENA_ARRAY(arena, struct tune_tensor, work->kernel->param_count + 1);
    for (const struct wire *item = wire_first(tensors); item; item = wire_next(item), at++)
        if (!read_tensor(item, &work->kernel->params[at], base, work->file_bytes, &work->tensors[at])) return false;
    return true;
}

struct status tune_work_read(struct arena *arena, const struct wire *message, int file, struct tune_work *work)
{
    *work = (struct tune_work){.index64 = wire_bool(message, "index64"), .file_bytes = wire_long(message, "file_bytes", 0),
                               .least_bytes = wire_number(message, "least_bytes", 0), .properties = copy_text(arena, wire_text(message, "properties"))};
    struct status status = read_kernel(arena, message, &work->kernel);
    if (!status.ok) return status;
    char *base = NULL;
    if (file >= 0 && work->file_bytes > 0) {
        // Private, so that the driver can seal the file; what it writes before that is seen.
        base = mmap(NULL, (size_t)work->file_bytes, PROT_READ, MAP_PRIVATE, file, 0);
        if (base == MAP_FAILED) return status_failed(arena, "memory.tensors", "can't map the tensors: %s", strerror(errno));
    }
    if (!read_bindings(arena, message, work) || !read_tensors(arena, message, base, work))
        return status_failed(arena, "internal.setup", "the setup doesn't fit kernel %s", work->kernel->name);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- plans

static void print_launch(struct text *out, const struct tune_work *work, const struct launch_kernel *kernel)
{
    text_add(out, "{\"is\": true");
    wire_add_text(out, "name", kernel->name);
    wire_add_long(out, "blocks", launch_blocks(kernel, &work->bindings));
    wire_add_int(out, "threads", kernel->threads);
    wire_add_long(out, "shared", kernel->shared_bytes);
    wire_add_long(out, "static_shared", kernel->static_shared_bytes);
    text_add(out, ", \"arguments\": [");
    for (int i = 0; i < kernel->argument_count; i++) {
        const struct launch_argument *argument = &kernel->arguments[i];
        text_printf(out, "%s{\"kind\": %d", i ? ", " : "", (int)argument->kind);
        wire_add_int(out, "index", argument->index);
        wire_add_int(out, "type", (int)argument->type);
        text_add(out, "}");
    }
    text_add(out, "]}");
}

void tune_plan_print(struct text *out, const struct tune_work *work, const struct tune_built *built)
{
    text_add(out, "{\"is\": true");
    wire_add_bool(out, "index32", built->plan.index32);
    wire_add_bool(out, "ptx", built->ptx);
    wire_add_long(out, "aligned", (int64_t)built->plan.aligned);
    text_add(out, ", \"workspaces\": [");
    for (int i = 0; i < built->plan.workspace_count; i++)
        text_printf(out, "%s\"%lld\"", i ? ", " : "", (long long)launch_workspace_bytes(built->plan.workspaces[i], &work->bindings));
    text_add(out, "], \"launches\": [");
    for (int i = 0; i < built->plan.kernel_count; i++) {
        text_add(out, i ? ", " : "");
        print_launch(out, work, &built->plan.kernels[i]);
    }
    text_add(out, "]}");
}

// A grid of so many blocks: one axis from 0 to a constant.
static void fix_blocks(struct ir_builder *builder, struct arena *arena, struct launch_kernel *kernel, int64_t blocks)
{
    kernel->grid_count = 1;
    kernel->grid = ARENA_NEW(arena, struct launch_axis);
    *kernel->grid = (struct launch_axis){.name = "blocks", .lo = ir_integer(builder, TYPE_I64, 0), .hi = ir_integer(builder, TYPE_I64, blocks), .block = 1};
}

// A workspace of so many bytes: a tensor of i8 with a constant extent.
static void read_workspaces(struct arena *arena, struct ir_builder *builder, const struct wire *array, struct launch_plan *plan)
{
    plan->workspaces = ARENA_ARRAY(arena, const struct ir_param *, wire_count(array) + 1);
    for (const struct wire *item = wire_first(array); item; item = wire_next(item)) {
        struct ir_param *param = ARENA_NEW(arena, struct ir_param);
        *param = (struct ir_param){.name = "workspace", .kind = PARAM_INOUT, .type = TYPE_I8, .rank = 1};
        param->extents[0] = ir_integer(builder, TYPE_I64, wire_item_long(item, 0));
        plan->workspaces[plan->workspace_count++] = param;
    }
}

static bool read_launch(struct arena *arena, const struct tune_work *work, struct ir_builder *builder, const struct wire *object,
                        int workspace_count, struct launch_kernel *kernel)
{
    const struct wire *arguments = wire_get(object, "arguments");
    const char *name = wire_text(object, "name");
    int64_t blocks = wire_long(object, "blocks", -1);
    if (!name || blocks < 0) return false;
    *kernel = (struct launch_kernel){.name = copy_text(arena, name), .threads = wire_int(object, "threads", 0),
                                     .shared_bytes = wire_long(object, "shared", 0), .static_shared_bytes = wire_long(object, "static_shared", 0)};
    fix_blocks(builder, arena, kernel, blocks);
    kernel->arguments = ARENA_ARRAY(arena, struct launch_argument, wire_count(arguments) + 1);
    for (const struct wire *item = wire_first(arguments); item; item = wire_next(item)) {
        int kind = wire_int(item, "kind", -1), index = wire_int(item, "index", -1), type = wire_int(item, "type", -1);
        int limit = kind == ARGUMENT_WORKSPACE ? workspace_count : kind == ARGUMENT_DIM ? work->kernel->dim_count : work->kernel->param_count;
        if (kind < ARGUMENT_TENSOR || kind > ARGUMENT_WORKSPACE || index < 0 || index >= limit || type < 0) return false;
        kernel->arguments[kernel->argument_count++] =
            (struct launch_argument){.kind = (enum launch_argument_kind)kind, .index = index, .type = (enum ir_type)type};
    }
    return true;
}

bool tune_plan_read(struct arena *arena, const struct tune_work *work, const struct wire *object, struct tune_built *built)
{
    const struct wire *launches = wire_get(object, "launches");
    struct ir_kernel *numbers = ir_kernel_new(arena, "numbers");
    struct ir_builder builder = {.kernel = numbers, .region = numbers->body};
    *built = (struct tune_built){.ptx = wire_bool(object, "ptx"), .registers = -1, .spill_bytes = -1, .shared_bytes = -1};
    built->plan.index32 = wire_bool(object, "index32");
    built->plan.aligned = (uint64_t)wire_long(object, "aligned", 0);
    read_workspaces(arena, &builder, wire_get(object, "workspaces"), &built->plan);
    built->plan.kernels = ARENA_ARRAY(arena, struct launch_kernel, wire_count(launches) + 1);
    for (const struct wire *item = wire_first(launches); item; item = wire_next(item))
        if (!read_launch(arena, work, &builder, item, built->plan.workspace_count, &built->plan.kernels[built->plan.kernel_count++])) return false;
    return launches != NULL;
}
