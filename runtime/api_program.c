// SPDX-License-Identifier: Apache-2.0
// tilec.h: programs and kernels. In: a file, a specialization. Out: the checked program, or a report.
#include <stdio.h>
#include <string.h>

#include "runtime/given.h"
#include "runtime/runtime.h"

const char *tilec_version(void)
{
    return TILEC_VERSION;
}

// ---------------------------------------------------------------------------------------------- programs

// Takes over the arena, in which the source lies.
static tilec_result parse(struct arena *arena, const struct source *source, tilec_report *report, tilec_program **program)
{
    struct diagnostics diagnostics;
    diagnostics_init(&diagnostics, arena);
    tilec_program *parsed = ARENA_NEW(arena, tilec_program);
    *parsed = (tilec_program){.arena = arena, .source = source};
    parsed->file = frontend_parse(arena, source, &source_loader, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    if (result == TILEC_OK) return *program = parsed, TILEC_OK;
    arena_free(arena);
    return result;
}

tilec_result tilec_program_load(const char *path, tilec_report *report, tilec_program **program)
{
    if (program) *program = NULL;
    WANT(report, path, program);
    const char *reason = NULL;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    const struct source *source = source_read(arena, path, &reason);
    if (source) return parse(arena, source, report, program);
    tilec_result result = report_failed(report, "usage.file", NULL, "can't read %s: %s", path, reason);
    arena_free(arena);
    return result;
}

tilec_result tilec_program_parse(const char *path, const char *text, size_t length, tilec_report *report,
                                 tilec_program **program)
{
    if (program) *program = NULL;
    WANT(report, path, program);
    if (length) WANT(report, text);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.path = arena_copy(arena, path, strlen(path)), .text = arena_copy(arena, length ? text : "", length), .length = length};
    return parse(arena, source, report, program);
}

void tilec_program_free(tilec_program *program)
{
    if (program) arena_free(program->arena);
}

int tilec_program_kernel_count(const tilec_program *program)
{
    if (!program) return 0;
    return frontend_kernel_count(program->file);
}

const char *tilec_program_kernel_name(const tilec_program *program, int index)
{
    if (!program) return NULL;
    if (index < 0 || index >= frontend_kernel_count(program->file)) return NULL;
    return frontend_kernel_name(program->file, index);
}

tilec_result tilec_program_check(tilec_program *program, tilec_report *report)
{
    WANT(report, program);
    struct diagnostics diagnostics;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    diagnostics_init(&diagnostics, arena);
    bool ok = frontend_check_file(arena, program->file, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    arena_free(arena);
    return ok ? result : TILEC_WRONG;
}

tilec_text tilec_program_tree(const tilec_program *program)
{
    if (!program) return text_take(&(struct text){0});
    struct text text = {0};
    frontend_print_tree(&text, program->file);
    return text_take(&text);
}

// ---------------------------------------------------------------------------------------------- signatures as JSON

static const char *kind_word(enum signature_kind kind)
{
    static const char *const words[] = {
        [SIGNATURE_IN] = "in", [SIGNATURE_INOUT] = "inout", [SIGNATURE_OUT] = "out", [SIGNATURE_SCALAR] = "scalar"};
    return words[kind];
}

static void describe_type(struct text *out, const struct signature *signature, const struct signature_param *param)
{
    const char *name = param->generic >= 0 ? signature->generics[param->generic].name : ir_type_name(param->type);
    text_printf(out, param->accum ? "\"accum(%s)\"" : "\"%s\"", name);
}

static void describe_param(struct text *out, const struct signature *signature, const struct signature_param *param)
{
    text_add(out, "{\"name\": ");
    json_string(out, param->name);
    text_printf(out, ", \"kind\": \"%s\", \"type\": ", kind_word(param->kind));
    describe_type(out, signature, param);
    if (param->kind != SIGNATURE_SCALAR) {
        text_add(out, ", \"shape\": [");
        for (int i = 0; i < param->rank; i++) text_add(out, i ? ", " : ""), json_string(out, param->extent_text[i]);
        text_add(out, "]");
    }
    if (param->optional) text_add(out, ", \"optional\": true");
    if (param->has_default) text_add(out, ", \"default\": "), json_string(out, param->default_text);
    text_add(out, "}");
}

static void describe_kernel(struct text *out, const struct signature *signature)
{
    text_add(out, "{\"name\": ");
    json_string(out, signature->name);
    text_add(out, ", \"generics\": [");
    for (int i = 0; i < signature->generic_count; i++) {
        const struct signature_generic *generic = &signature->generics[i];
        text_printf(out, "%s{\"name\": \"%s\", \"kind\": \"%s\", \"default\": \"%s\"}", i ? ", " : "", generic->name,
                    generic->kind, ir_type_name(generic->fallback));
    }
    text_add(out, "], \"dims\": [");
    for (int i = 0; i < signature->dim_count; i++) text_add(out, i ? ", " : ""), json_string(out, signature->dims[i]);
    text_add(out, "],\n   \"params\": [");
    for (int i = 0; i < signature->param_count; i++) {
        text_add(out, i ? ",\n     " : "\n     ");
        describe_param(out, signature, &signature->params[i]);
    }
    text_add(out, "]}");
}

tilec_text tilec_program_describe(const tilec_program *program)
{
    if (!program) return text_take(&(struct text){0});
    struct text out = {0};
    struct arena *arena = arena_new();
    text_add(&out, "[");
    for (int i = 0; arena && i < frontend_kernel_count(program->file); i++) {
        const struct signature *signature =
            frontend_signature(arena, program->file, frontend_kernel_name(program->file, i));
        text_add(&out, i ? ",\n  " : "");
        if (signature) describe_kernel(&out, signature);
        else text_add(&out, "null");
    }
    if (arena) arena_free(arena);
    text_add(&out, "]");
    return text_take(&out);
}

// ---------------------------------------------------------------------------------------------- kernels

static const char *kernel_list(struct arena *arena, const tilec_program *program)
{
    const char *list = "";
    for (int i = 0; i < frontend_kernel_count(program->file); i++)
        list = arena_printf(arena, "%s%s%s", list, i ? ", " : "", frontend_kernel_name(program->file, i));
    return list;
}

// The kernel meant by `name`, or NULL with a message.
static const char *choose_kernel(struct arena *arena, const tilec_program *program, const char *name, tilec_report *report)
{
    int count = frontend_kernel_count(program->file);
    if (count == 0) return report_failed(report, "usage.kernel", NULL, "%s has no kernel", program->source->path), NULL;
    if (!name && count == 1) return frontend_kernel_name(program->file, 0);
    for (int i = 0; name && i < count; i++)
        if (strcmp(frontend_kernel_name(program->file, i), name) == 0) return name;
    if (name)
        report_failed(report, "usage.kernel", NULL, "%s has no kernel %s; it has %s", program->source->path, name,
                      kernel_list(arena, program));
    else
        report_failed(report, "usage.kernel", "say which with --kernel NAME", "%s has several kernels: %s", program->source->path,
                      kernel_list(arena, program));
    return NULL;
}

// Whether a signature has a generic, a dimension or an optional tensor of the name in front of "=".
static bool has_name(const struct signature *signature, const char *text)
{
    size_t length = strcspn(text, "=");
    for (int i = 0; i < signature->generic_count; i++)
        if (strlen(signature->generics[i].name) == length && strncmp(signature->generics[i].name, text, length) == 0) return true;
    for (int i = 0; i < signature->dim_count; i++)
        if (strlen(signature->dims[i]) == length && strncmp(signature->dims[i], text, length) == 0) return true;
    for (int i = 0; i < signature->param_count; i++)
        if (signature->params[i].optional && strcmp(signature->params[i].name, text) == 0) return true;
    return false;
}

static bool is_for_others(const tilec_kernel *kernel, const struct signature *own, const char *text)
{
    const struct ast_file *file = kernel->program->file;
    if (has_name(own, text)) return false;
    for (int i = 0; i < frontend_kernel_count(file); i++) {
        const struct signature *other = frontend_signature(kernel->arena, file, frontend_kernel_name(file, i));
        if (other && has_name(other, text)) return true;
    }
    return false;
}

static void pass_over(const tilec_kernel *kernel, const struct signature *own, int *count, const char *const **items)
{
    const char **kept = ARENA_ARRAY(kernel->arena, const char *, *count + 1);
    int number = 0;
    for (int i = 0; i < *count; i++)
        if (!is_for_others(kernel, own, (*items)[i])) kept[number++] = (*items)[i];
    *count = number;
    *items = kept;
}

// Without what only other kernels of the file have.
static struct tilec_specialization own_part(const tilec_kernel *kernel, const struct signature *own,
                                            const struct tilec_specialization *given)
{
    struct tilec_specialization part = *given;
    pass_over(kernel, own, &part.type_count, &part.types);
    pass_over(kernel, own, &part.dim_count, &part.dims);
    pass_over(kernel, own, &part.static_count, &part.statics);
    pass_over(kernel, own, &part.dynamic_count, &part.dynamics);
    pass_over(kernel, own, &part.absent_count, &part.absent);
    return part;
}

static tilec_result check(tilec_kernel *kernel, const char *name, const struct tilec_specialization *given,
                          tilec_report *report)
{
    struct ast_file *file = kernel->program->file;
    struct diagnostics diagnostics;
    struct specialization specialization;
    struct signature *signature = frontend_signature(kernel->arena, file, name);
    if (!signature) return report_failed(report, "internal.signature", NULL, "kernel %s has no signature", name);
    struct tilec_specialization part;
    if (given && given->for_all) part = own_part(kernel, signature, given), given = &part;
    struct status status = specialization_read(kernel->arena, signature, given, &specialization);
    if (!status.ok) return report_status(report, &status);
    diagnostics_init(&diagnostics, kernel->arena);
    kernel->ir = frontend_check(kernel->arena, file, name, &specialization, &diagnostics);
    tilec_result result = report_diagnostics(report, &diagnostics);
    if (result == TILEC_OK && !kernel->ir)
        return report_failed(report, "internal.check", NULL, "kernel %s was refused without a reason", name);
    return result;
}

tilec_result tilec_kernel_check(tilec_program *program, const char *name, const struct tilec_specialization *specialization,
                                tilec_report *report, tilec_kernel **kernel)
{
    if (kernel) *kernel = NULL;
    WANT(report, program, kernel);
    tilec_result given = given_specialization(report, __func__, specialization);
    if (given != TILEC_OK) return given;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_kernel *checked = ARENA_NEW(arena, tilec_kernel);
    *checked = (tilec_kernel){.arena = arena, .program = program};
    name = choose_kernel(arena, program, name, report);
    tilec_result result = name ? check(checked, name, specialization, report) : TILEC_USAGE;
    if (result == TILEC_OK) *kernel = checked;
    else arena_free(arena);
    return result;
}

void tilec_kernel_free(tilec_kernel *kernel)
{
    if (kernel) arena_free(kernel->arena);
}

const char *tilec_kernel_name(const tilec_kernel *kernel)
{
    if (!kernel) return NULL;
    return kernel->ir->name;
}

tilec_text tilec_kernel_ir(const tilec_kernel *kernel)
{
    if (!kernel) return text_take(&(struct text){0});
    struct text text = {0};
    ir_print(&text, kernel->ir);
    return text_take(&text);
}

// ---------------------------------------------------------------------------------------------- help

const char *tilec_explain(const char *code)
{
    if (!code) return NULL;
    return frontend_explain(code);
}

const char *tilec_code(int index)
{
    return frontend_code(index);
}

tilec_text tilec_list_ops(void)
{
    struct text text = {0};
    ir_list_ops(&text);
    return text_take(&text);
}

tilec_text tilec_list_passes(void)
{
    struct text text = {0};
    lower_list_passes(&text);
    return text_take(&text);
}
