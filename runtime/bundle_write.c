// SPDX-License-Identifier: Apache-2.0
// In: what goes into a bundle. Out: its header and its source, C99. What depends on the kernel is written here; the rest
// of the source, which opens the driver and keeps what is loaded, is bundle/support.c, the same in every bundle.
#include <stdio.h>
#include <string.h>

#include "runtime/bundle.h"
#include "runtime/bundle_support.h"

struct writer {
    const struct bundle *bundle;
    struct arena *arena;
    const struct ir_kernel *kernel;
    struct text *out;
    struct status status;
};

static struct writer writer_of(const struct bundle *bundle, struct text *out)
{
    return (struct writer){bundle, bundle->arena, bundle->kernel, out, STATUS_OK};
}

static const char *number_of(struct writer *writer, const struct ir_value *value)
{
    const char *text = bundle_number(writer->arena, writer->kernel, value);
    if (text) return text;
    if (writer->status.ok)
        writer->status = status_failed(writer->arena, "config.bundle", "kernel %s has an extent or a grid that depends on more than whole-number "
                                       "arithmetic of dimensions; it can't go into a bundle", writer->kernel->name);
    return "0";
}

static bool is_there(const struct ir_param *param)
{
    return param->kind == PARAM_SCALAR || !param->optional || param->present;
}

// A scalar parameter that gives a dimension its name is both; there is one member for it.
static bool is_scalar_name(const struct ir_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->param_count; i++)
        if (kernel->params[i].kind == PARAM_SCALAR && strcmp(kernel->params[i].name, name) == 0) return true;
    return false;
}

// There whether this tree asks for it or not: callers stay as they are when another heuristic is bundled.
static bool has_longest(struct arena *arena, const struct ir_kernel *kernel, const struct heuristic *heuristic)
{
    for (int i = 0; heuristic && i < heuristic->feature_count; i++)
        if (heuristic->features[i].kind == FEATURE_LONGEST || heuristic->features[i].kind == FEATURE_SKEW) return true;
    return rows_find(arena, kernel).count > 0;
}

// ---------------------------------------------------------------------------------------------- the header

static const char *c_type(enum ir_type type)
{
    switch (type) {
    case TYPE_F64: return "double";
    case TYPE_F32: return "float";
    case TYPE_I64: return "int64_t";
    case TYPE_I32: return "int32_t";
    case TYPE_I8: return "int8_t";
    case TYPE_F16:
    case TYPE_BF16: return "uint16_t";  // their bits
    default: return "uint8_t";
    }
}

static void write_tensor_member(struct writer *writer, const struct ir_param *param)
{
    bool written = param->kind == PARAM_OUT || param->kind == PARAM_INOUT;
    text_printf(writer->out, "    %s%s *%s;  // %s[", written ? "" : "const ", c_type(param->type), bundle_name(writer->arena, param->name),
                ir_type_name(param->type));
    for (int d = 0; d < param->rank; d++) text_printf(writer->out, "%s%s", d ? ", " : "", param->extent_text[d]);
    text_printf(writer->out, "]%s\n", param->kind == PARAM_OUT ? ", written" : param->kind == PARAM_INOUT ? ", read and written" : "");
}

static void write_members(struct writer *writer)
{
    const struct ir_kernel *kernel = writer->kernel;
    struct text *out = writer->out;
    text_add(out, "    // Tensors: addresses on the device, dense, the last index fastest.\n");
    for (int i = 0; i < kernel->param_count; i++)
        if (kernel->params[i].kind != PARAM_SCALAR && is_there(&kernel->params[i])) write_tensor_member(writer, &kernel->params[i]);
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        if (param->kind == PARAM_SCALAR) text_printf(out, "    %s %s;\n", c_type(param->type), bundle_name(writer->arena, param->name));
    }
    if (kernel->dim_count) text_add(out, "    // Dimensions.\n");
    for (int i = 0; i < kernel->dim_count; i++) {
        const struct ir_dim *dim = &kernel->dims[i];
        if (is_scalar_name(kernel, dim->name)) continue;
        text_printf(out, "    int64_t %s;", bundle_name(writer->arena, dim->name));
        if (dim->is_static) text_printf(out, "  // %lld, compiled in", (long long)dim->value);
        text_add(out, "\n");
    }
    if (has_longest(writer->arena, kernel, writer->bundle->heuristic))
        text_add(out, "    int64_t longest;  // points of the longest row, for the choice among configs; 0: not known\n");
    text_printf(out, "    // Device memory for the time of a launch, at a multiple of 256; see %s_workspace_size.\n"
                     "    void *workspace;\n    int64_t workspace_bytes;\n", writer->bundle->name);
}

// What it is, for whom, and where a config isn't what was asked for.
static void write_comment(struct writer *writer)
{
    const struct bundle *bundle = writer->bundle;
    struct text *out = writer->out;
    const char *path = writer->kernel->source ? writer->kernel->source->path : "", *slash = strrchr(path, '/');
    text_printf(out, "// %s of %s, compiled by tilec %s.\n//\n// ", writer->kernel->name, slash ? slash + 1 : path, TILEC_VERSION);
    text_printf(out, "%s; code for", config_key_types(writer->arena, writer->kernel));
    for (int a = 0; a < bundle->architecture_count; a++) text_printf(out, "%s %s", a ? "," : "", bundle->architectures[a].name);
    text_printf(out, "; %d config%s%s.\n", bundle->config_count, bundle->config_count == 1 ? "" : "s", bundle->heuristic ? ", chosen by shape" : "");
    for (int a = 0; a < bundle->architecture_count; a++)
        for (int c = 0; c < bundle->config_count; c++)
            if (bundle->architectures[a].replaced[c])
                text_printf(out, "// %s has its default in place of config %d: %.*s\n", bundle->architectures[a].name, c,
                            (int)strcspn(bundle->architectures[a].replaced[c], "\n"), bundle->architectures[a].replaced[c]);
}

static const struct {
    const char *name;
    int code;
    const char *words;
} errors[] = {
    {"OK", 0, "no error"},
    {"BAD_DIMENSION", -1, "a dimension is negative, too large, or not the one that is compiled in"},
    {"BAD_TENSOR", -2, "a tensor's address is NULL"},
    {"BAD_WORKSPACE", -3, "the workspace is too small, or doesn't lie at a multiple of 256"},
    {"TOO_LARGE", -4, "the launch would have more than 2^31 - 1 blocks"},
    {"NO_DRIVER", -5, "there is no CUDA driver, or it is too old"},
    {"NO_CODE", -6, "there is no code for this device"},
    {"NO_MEMORY", -7, "out of memory on the host"},
};
enum { ERROR_COUNT = sizeof errors / sizeof *errors };

static void write_declarations(struct writer *writer)
{
    const char *name = writer->bundle->name;
    struct text *out = writer->out;
    text_add(out, "// What calls return: 0, one of these, or above 0 the driver's own number (CUresult).\nenum {\n");
    for (int i = 0; i < ERROR_COUNT; i++) text_printf(out, "    %s_%s = %d,\n", name, errors[i].name, errors[i].code);
    text_printf(out, "};\nconst char *%s_message(int status);  // in words; never NULL\n\n", name);
    text_printf(out, "// Bytes of workspace that a launch with these dimensions needs, whatever the device; 0: none. Below 0: an error.\n"
                     "int64_t %s_workspace_size(const %s_args *args);\n\n", name, name);
    text_printf(out, "// Which of the bundle's configs these dimensions get. Takes a few comparisons.\nint %s_choose(const %s_args *args);\n\n", name, name);
    text_printf(out, "// Loads all code into the current context, which a first launch would do: wanted before a stream is captured.\n"
                     "int %s_prepare(void);\n\n", name);
    text_printf(out, "// Queues the kernel on a stream (a CUstream or cudaStream_t; NULL: the default stream) of the current context, or where\n"
                     "// none is current of device 0's primary one. May be called by several threads at once; takes no device memory, waits\n"
                     "// for nothing, prints nothing. What a row reads and writes is given by the tensors themselves and isn't checked.\n"
                     "int %s_launch(const %s_args *args, void *stream);\n", name, name);
}

struct status bundle_write_header(const struct bundle *bundle, struct text *out)
{
    struct writer writer = writer_of(bundle, out);
    write_comment(&writer);
    text_printf(out, "#ifndef %s_BUNDLE_H\n#define %s_BUNDLE_H\n\n#include <stdint.h>\n\n"
                     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\ntypedef struct %s_args {\n", bundle->name, bundle->name, bundle->name);
    write_members(&writer);
    text_printf(out, "} %s_args;\n\n", bundle->name);
    write_declarations(&writer);
    text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return writer.status;
}

// ---------------------------------------------------------------------------------------------- tables

static int most_kernels(const struct bundle *bundle)
{
    int most = 1;
    for (int i = 0; i < bundle->binary_count; i++)
        if (bundle->binaries[i].emitted->plan.kernel_count > most) most = bundle->binaries[i].emitted->plan.kernel_count;
    return most;
}

static void write_prologue(struct writer *writer)
{
    const struct bundle *bundle = writer->bundle;
    struct text *out = writer->out;
    write_comment(writer);
    text_printf(out, "#ifndef _POSIX_C_SOURCE\n#define _POSIX_C_SOURCE 200809L\n#endif\n#include <dlfcn.h>\n#include <pthread.h>\n#include <stdlib.h>\n"
                     "#include <string.h>\n\n#include \"%s.h\"\n\n", bundle->name);
    for (int i = 1; i < ERROR_COUNT; i++) text_printf(out, "#define BUNDLE_%s %s_%s\n", errors[i].name, bundle->name, errors[i].name);
    text_printf(out, "#define BUNDLE_ARCHITECTURES %d\n#define BUNDLE_BINARIES %d\n#define BUNDLE_KERNELS %d  // of a binary, at most\n\n",
                bundle->architecture_count, bundle->binary_count, most_kernels(bundle));
    text_add(out, "static const struct bundle_architecture {\n    int sm, specific, ptx;\n} bundle_architectures[BUNDLE_ARCHITECTURES] = {\n");
    for (int a = 0; a < bundle->architecture_count; a++) {
        const struct bundle_architecture *at = &bundle->architectures[a];
        text_printf(out, "    {%d, %d, %d},  // %s\n", at->target.sm, at->target.specific, at->ptx, at->name);
    }
    text_add(out, "};\n\n");
    for (const char *const *line = bundle_support; *line; line++) text_add(out, *line);
    text_add(out, "\n");
}

static void write_image(struct writer *writer, int index)
{
    const struct bundle_binary *binary = &writer->bundle->binaries[index];
    const unsigned char *bytes = (const unsigned char *)binary->binary.data;
    struct text *out = writer->out;
    text_printf(out, "static const unsigned char bundle_image_%d[] __attribute__((aligned(16))) = {", index);
    for (size_t i = 0; i < binary->binary.length; i++) {
        if (i % 32 == 0) text_add(out, "\n");
        text_printf(out, "%u,", bytes[i]);
    }
    text_add(out, "\n0};\n");  // what ends PTX
}

static void write_binaries(struct writer *writer)
{
    const struct bundle *bundle = writer->bundle;
    struct text *out = writer->out;
    for (int i = 0; i < bundle->binary_count; i++) {
        const struct launch_plan *plan = &bundle->binaries[i].emitted->plan;
        write_image(writer, i);
        text_printf(out, "static const struct bundle_kernel bundle_kernels_%d[] = {\n", i);
        for (int k = 0; k < plan->kernel_count; k++) {
            const struct launch_kernel *kernel = &plan->kernels[k];
            text_printf(out, "    {\"%s\", %lld, %d},\n", kernel->name, (long long)kernel->shared_bytes,
                        kernel->static_shared_bytes + kernel->shared_bytes > 48 << 10);
        }
        text_add(out, "};\n");
    }
    text_add(out, "static const struct bundle_binary bundle_binaries[BUNDLE_BINARIES] = {\n");
    for (int i = 0; i < bundle->binary_count; i++)
        text_printf(out, "    {bundle_image_%d, bundle_kernels_%d, %d},  // %s\n", i, i, bundle->binaries[i].emitted->plan.kernel_count,
                    bundle->architectures[bundle->binaries[i].architecture].name);
    text_printf(out, "};\n\n// By architecture, config, and kind of arguments: 1 for 64-bit indices, 2 for tensors that aren't aligned.\n"
                     "static const int bundle_index[BUNDLE_ARCHITECTURES][%d][%d] = {\n", bundle->config_count, VARIANT_COUNT);
    for (int a = 0; a < bundle->architecture_count; a++) {
        text_add(out, "    {");
        for (int c = 0; c < bundle->config_count; c++) {
            const int *binaries = bundle->architectures[a].binaries[c];
            text_printf(out, "%s{%d, %d, %d, %d}", c ? ", " : "", binaries[0], binaries[1], binaries[2], binaries[3]);
        }
        text_add(out, "},\n");
    }
    text_add(out, "};\n\n");
}

// ---------------------------------------------------------------------------------------------- launches

static const char *product(struct writer *writer, int count, struct ir_value *const *extents)
{
    const char *text = "INT64_C(1)";
    for (int i = 0; i < count; i++) {
        const char *extent = number_of(writer, extents[i]);
        text = i == 0 ? extent : arena_printf(writer->arena, "bundle_times(%s, %s)", text, extent);
    }
    return text;
}

static const char *blocks_of(struct writer *writer, const struct launch_kernel *kernel)
{
    const char *text = NULL;
    for (int i = 0; i < kernel->grid_count; i++) {
        const struct launch_axis *axis = &kernel->grid[i];
        const struct ir_param *whole = axis->elements_of;
        const char *lo = whole ? "0" : number_of(writer, axis->lo);
        const char *hi = whole ? product(writer, whole->rank, whole->extents) : number_of(writer, axis->hi);
        const char *tiles = arena_printf(writer->arena, "bundle_tiles(%s, %s, %lld)", lo, hi, (long long)axis->block);
        text = text ? arena_printf(writer->arena, "bundle_times(%s, %s)", text, tiles) : tiles;
    }
    return text ? text : "1";
}

static const char *scalar_value(struct writer *writer, const struct launch_argument *argument)
{
    const struct ir_param *param = &writer->kernel->params[argument->index];
    const char *member = arena_printf(writer->arena, "args->%s", bundle_name(writer->arena, param->name));
    if (param->type == TYPE_F16) return arena_printf(writer->arena, "bundle_half(%s)", member);
    if (param->type == TYPE_BF16) return arena_printf(writer->arena, "bundle_bfloat(%s)", member);
    return member;
}

static void write_argument(struct writer *writer, const struct launch_argument *argument, int index)
{
    struct text *out = writer->out;
    const struct ir_kernel *kernel = writer->kernel;
    switch (argument->kind) {
    case ARGUMENT_TENSOR:
        text_printf(out, "    const void *const a%d = args->%s;\n", index, bundle_name(writer->arena, kernel->params[argument->index].name));
        break;
    case ARGUMENT_WORKSPACE:
        text_printf(out, "    const void *const a%d = (char *)args->workspace + places[%d];\n", index, argument->index);
        break;
    case ARGUMENT_DIM:
        text_printf(out, "    const %s a%d = (%s)args->%s;\n", c_type(argument->type), index, c_type(argument->type),
                    bundle_name(writer->arena, kernel->dims[argument->index].name));
        break;
    case ARGUMENT_SCALAR:
        text_printf(out, "    const %s a%d = (%s)%s;\n", c_type(argument->type), index, c_type(argument->type), scalar_value(writer, argument));
        break;
    }
}

static void write_kernel_launch(struct writer *writer, const struct launch_kernel *kernel, int number)
{
    struct text *out = writer->out;
    text_printf(out, "    if (!status) {  // %s\n", kernel->name);
    for (int i = 0; i < kernel->argument_count; i++) text_add(out, "    "), write_argument(writer, &kernel->arguments[i], i);
    text_add(out, "        void *arguments[] = {");
    for (int i = 0; i < kernel->argument_count; i++) text_printf(out, "%s(void *)&a%d", i ? ", " : "", i);
    if (!kernel->argument_count) text_add(out, "NULL");
    text_printf(out, "};\n        status = bundle_launch(functions[%d], %s, %d, %lld, stream, arguments);\n    }\n", number, blocks_of(writer, kernel),
                kernel->threads, (long long)kernel->shared_bytes);
}

// Where each workspace lies, and how many bytes all take.
static void write_workspaces(struct writer *writer, const struct launch_plan *plan, int index)
{
    struct text *out = writer->out;
    text_printf(out, "static int64_t bundle_places_%d(const %s_args *args, int64_t *places)\n{\n    int64_t bytes = 0;\n", index, writer->bundle->name);
    if (!plan->workspace_count) text_add(out, "    (void)args;\n    (void)places;\n");
    for (int i = 0; i < plan->workspace_count; i++) {
        const struct ir_param *workspace = plan->workspaces[i];
        text_printf(out, "    places[%d] = bytes;\n    bytes = bundle_after(bytes, bundle_times(%s, %d));\n", i,
                    product(writer, workspace->rank, workspace->extents), ir_type_bytes(workspace->type));
    }
    text_add(out, "    return bytes;\n}\n\n");
}

static void write_launches(struct writer *writer)
{
    const struct bundle *bundle = writer->bundle;
    struct text *out = writer->out;
    int most = 1;
    for (int i = 0; i < bundle->binary_count; i++) {
        const struct launch_plan *plan = &bundle->binaries[i].emitted->plan;
        if (plan->workspace_count > most) most = plan->workspace_count;
        write_workspaces(writer, plan, i);
        text_printf(out, "static int bundle_run_%d(const %s_args *args, const int64_t *places, const bundle_function *functions, void *stream)\n{\n"
                         "    int status = 0;\n    (void)places;\n", i, bundle->name);
        for (int k = 0; k < plan->kernel_count; k++) write_kernel_launch(writer, &plan->kernels[k], k);
        text_add(out, "    return status;\n}\n\n");
    }
    text_printf(out, "#define BUNDLE_PLACES %d\nstatic const struct {\n    int64_t (*places)(const %s_args *args, int64_t *places);\n"
                     "    int (*run)(const %s_args *args, const int64_t *places, const bundle_function *functions, void *stream);\n"
                     "} bundle_calls[BUNDLE_BINARIES] = {\n", most, bundle->name, bundle->name);
    for (int i = 0; i < bundle->binary_count; i++) text_printf(out, "    {bundle_places_%d, bundle_run_%d},\n", i, i);
    text_add(out, "};\n\n");
}

// ---------------------------------------------------------------------------------------------- checks and choices

static void write_dimension_checks(struct writer *writer)
{
    const struct ir_kernel *kernel = writer->kernel;
    for (int i = 0; i < kernel->dim_count; i++) {
        const struct ir_dim *dim = &kernel->dims[i];
        const char *name = bundle_name(writer->arena, dim->name);
        if (dim->is_static) text_printf(writer->out, "    if (args->%s != INT64_C(%lld)) return BUNDLE_BAD_DIMENSION;\n", name, (long long)dim->value);
        else text_printf(writer->out, "    if (args->%s < 0 || args->%s > INT64_C(1) << 47) return BUNDLE_BAD_DIMENSION;\n", name, name);
    }
}

static void write_check(struct writer *writer)
{
    const struct ir_kernel *kernel = writer->kernel;
    struct text *out = writer->out;
    text_printf(out, "static int bundle_check(const %s_args *args)\n{\n", writer->bundle->name);
    write_dimension_checks(writer);
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        if (param->kind == PARAM_SCALAR || !is_there(param)) continue;
        text_printf(out, "    if (!args->%s && %s > 0) return BUNDLE_BAD_TENSOR;\n", bundle_name(writer->arena, param->name),
                    product(writer, param->rank, param->extents));
    }
    text_add(out, "    return 0;\n}\n\n");
}

// Which kind of code these arguments need: as struct plan_demands.
static void write_variant(struct writer *writer)
{
    const struct ir_kernel *kernel = writer->kernel;
    struct text *out = writer->out;
    text_printf(out, "static int bundle_variant(const %s_args *args)\n{\n    int64_t most = 0;\n    uintptr_t addresses = 0;\n", writer->bundle->name);
    for (int i = 0; i < kernel->dim_count; i++)
        text_printf(out, "    most = bundle_greatest(most, args->%s);\n", bundle_name(writer->arena, kernel->dims[i].name));
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        if (param->kind == PARAM_SCALAR || !is_there(param)) continue;
        text_printf(out, "    most = bundle_greatest(most, %s);\n    addresses |= (uintptr_t)args->%s;\n", product(writer, param->rank, param->extents),
                    bundle_name(writer->arena, param->name));
    }
    text_printf(out, "    return (most > INT64_C(%d) ? %d : 0) | (addresses %% 16 ? %d : 0);\n}\n\n", INDEX_LIMIT, VARIANT_INDEX64, VARIANT_UNALIGNED);
}

static const char *feature_text(struct writer *writer, const struct heuristic_feature *feature)
{
    struct arena *arena = writer->arena;
    const struct ir_kernel *kernel = writer->kernel;
    switch (feature->kind) {
    case FEATURE_DIM: return arena_printf(arena, "(double)args->%s", bundle_name(arena, kernel->dims[feature->index].name));
    case FEATURE_MEAN:
        return arena_printf(arena, "bundle_over(args->%s, args->%s)", bundle_name(arena, kernel->dims[feature->index].name),
                            bundle_name(arena, kernel->dims[feature->other].name));
    case FEATURE_PRODUCT:
        return arena_printf(arena, "(double)args->%s * (double)args->%s", bundle_name(arena, kernel->dims[feature->index].name),
                            bundle_name(arena, kernel->dims[feature->other].name));
    case FEATURE_BYTES: return arena_printf(arena, "%d.0", ir_type_bytes(kernel->generic_types[feature->index]));
    case FEATURE_LONGEST: return "(args->longest <= 0 ? (double)INT64_MAX : (double)args->longest)";
    case FEATURE_SKEW: {
        const char *all = bundle_name(arena, kernel->dims[feature->index].name), *count = bundle_name(arena, kernel->dims[feature->other].name);
        return arena_printf(arena, "(args->longest <= 0 ? (double)INT64_MAX : args->%s && args->%s ? "
                                   "(double)args->longest / bundle_over(args->%s, args->%s) : 0.0)", all, count, all, count);
    }
    }
    return "0.0";
}

static void write_node(struct writer *writer, int index, int depth)
{
    const struct heuristic *heuristic = writer->bundle->heuristic;
    const struct heuristic_node *node = &heuristic->nodes[index];
    if (node->feature < 0) {
        text_printf(writer->out, "%*sreturn %d;\n", 4 * depth, "", node->config);
        return;
    }
    text_printf(writer->out, "%*sif (%s < ", 4 * depth, "", feature_text(writer, &heuristic->features[node->feature]));
    number_print(writer->out, TYPE_F64, (struct ir_scalar){.number = node->below}, 17);
    text_add(writer->out, ") {\n");
    write_node(writer, node->then, depth + 1);
    text_printf(writer->out, "%*s}\n", 4 * depth, "");
    write_node(writer, node->otherwise, depth);
}

static void write_choose(struct writer *writer)
{
    text_printf(writer->out, "int %s_choose(const %s_args *args)\n{\n    (void)args;\n", writer->bundle->name, writer->bundle->name);
    if (writer->bundle->heuristic) write_node(writer, 0, 1);
    else text_add(writer->out, "    return 0;\n");
    text_add(writer->out, "}\n\n");
}

static void write_messages(struct writer *writer)
{
    struct text *out = writer->out;
    text_printf(out, "const char *%s_message(int status)\n{\n    switch (status) {\n", writer->bundle->name);
    for (int i = 0; i < ERROR_COUNT; i++) text_printf(out, "    case %s_%s: return \"%s\";\n", writer->bundle->name, errors[i].name, errors[i].words);
    text_add(out, "    default: return status > 0 ? \"the CUDA driver failed; the number is its CUresult\" : \"no status of this bundle\";\n    }\n}\n\n");
}

static void write_calls(struct writer *writer)
{
    const char *name = writer->bundle->name;
    text_printf(writer->out,
        "int64_t %s_workspace_size(const %s_args *args)\n{\n    int64_t places[BUNDLE_PLACES], most = 0;\n    int status = bundle_check(args);\n"
        "    if (status == BUNDLE_BAD_DIMENSION) return status;\n    int choice = %s_choose(args);\n"
        "    for (int i = 0; i < BUNDLE_ARCHITECTURES; i++)\n        for (int v = 0; v < %d; v++)\n"
        "            most = bundle_greatest(most, bundle_calls[bundle_index[i][choice][v]].places(args, places));\n    return most;\n}\n\n",
        name, name, name, VARIANT_COUNT);
    text_printf(writer->out,
        "int %s_prepare(void)\n{\n    struct bundle_loaded *loaded = NULL;\n    const bundle_function *functions = NULL;\n    int pushed = 0;\n"
        "    int status = bundle_enter(&loaded, &pushed);\n    for (int c = 0; c < %d && !status; c++)\n        for (int v = 0; v < %d && !status; v++)\n"
        "            status = bundle_functions(loaded, bundle_index[loaded->architecture][c][v], &functions);\n    bundle_leave(pushed);\n"
        "    return status;\n}\n\n", name, writer->bundle->config_count, VARIANT_COUNT);
    text_printf(writer->out,
        "static int bundle_start(const %s_args *args, struct bundle_loaded *loaded, void *stream)\n{\n    int64_t places[BUNDLE_PLACES];\n"
        "    const bundle_function *functions = NULL;\n    int binary = bundle_index[loaded->architecture][%s_choose(args)][bundle_variant(args)];\n"
        "    int64_t bytes = bundle_calls[binary].places(args, places);\n"
        "    if (bytes > 0 && (bytes > args->workspace_bytes || !args->workspace || (uintptr_t)args->workspace %% 256)) return BUNDLE_BAD_WORKSPACE;\n"
        "    int status = bundle_functions(loaded, binary, &functions);\n"
        "    return status ? status : bundle_calls[binary].run(args, places, functions, stream);\n}\n\n", name, name);
    text_printf(writer->out,
        "int %s_launch(const %s_args *args, void *stream)\n{\n    struct bundle_loaded *loaded = NULL;\n    int pushed = 0;\n"
        "    int status = bundle_check(args);\n    if (status) return status;\n    status = bundle_enter(&loaded, &pushed);\n"
        "    if (!status) status = bundle_start(args, loaded, stream);\n    bundle_leave(pushed);\n    return status;\n}\n", name, name);
}

struct status bundle_write_source(const struct bundle *bundle, struct text *out)
{
    struct writer writer = writer_of(bundle, out);
    write_prologue(&writer);
    write_binaries(&writer);
    write_launches(&writer);
    write_check(&writer);
    write_variant(&writer);
    write_choose(&writer);
    write_messages(&writer);
    write_calls(&writer);
    return writer.status;
}
