// SPDX-License-Identifier: Apache-2.0
// tilec.h: lowering and emitting. In: a kernel, a config, options. Out: text, and the program as text after each pass.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/given.h"
#include "runtime/runtime.h"

static const struct tilec_emit_options no_options = {0};

// ---------------------------------------------------------------------------------------------- options

static struct status read_target(struct arena *arena, const char *text, struct target *target)
{
    if (!text) text = "sm_90";
    if (!target_parse(text, target))
        return status_failed(arena, "usage.target", "%s is no target; write sm_80, sm_90, sm_90a, sm_100 or cpu", text);
    return STATUS_OK;
}

struct stage_call {
    const struct tilec_emit_options *options;
};

static void after_pass(void *data, const char *pass, const struct ir_kernel *kernel)
{
    const struct stage_call *call = data;
    struct text text = {0};
    ir_print(&text, kernel);
    call->options->stage(call->options->data, pass, text.data ? text.data : "", text.length);
    text_free(&text);
}

// Whether the list of passes has `name`, and as one that may be skipped.
static bool find_pass(const char *name, bool *optional)
{
    struct text list = {0};
    bool found = false;
    size_t length = strlen(name);
    lower_list_passes(&list);
    for (const char *line = list.data; line && *line && !found; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
        const char *next = line + length;
        found = true;
        *optional = strncmp(next + strspn(next, " "), "optional ", 9) == 0;
    }
    text_free(&list);
    return found;
}

static struct status check_skips(struct arena *arena, const struct tilec_emit_options *options)
{
    for (int i = 0; i < options->skip_count; i++) {
        bool optional = false;
        if (!find_pass(options->skips[i], &optional))
            return status_failed(arena, "usage.pass", "there is no pass %s; tilec emit --list-passes shows all", options->skips[i]);
        if (!optional) return status_failed(arena, "usage.pass", "%s can't be left out: only optional passes (opt_…) can", options->skips[i]);
    }
    return STATUS_OK;
}

static struct status lower_options_read(struct arena *arena, const struct tilec_emit_options *options, struct stage_call *call,
                                        struct lower_options *out)
{
    *call = (struct stage_call){options};
    *out = (struct lower_options){
        .index64 = options->index64,
        .unaligned = options->unaligned,
        .checked = options->checked,
        .stop_after = options->stop_after,
        .skip_count = options->skip_count,
        .skip = options->skips,
        .after = options->stage ? after_pass : NULL,
        .data = call,
    };
    struct status status = check_skips(arena, options);
    return status.ok ? read_target(arena, options->target, &out->target) : status;
}

// Whether the dimensions that are compiled in make 32-bit indices too narrow. One that stays open counts as 1: what a
// launch's extents demand, plan_check sees.
static bool needs_index64(struct arena *arena, const struct ir_kernel *kernel)
{
    int64_t *dims = ARENA_ARRAY(arena, int64_t, kernel->dim_count + 1);
    struct ir_tensor *tensors = ARENA_ARRAY(arena, struct ir_tensor, kernel->param_count + 1);
    for (int i = 0; i < kernel->dim_count; i++) dims[i] = kernel->dims[i].is_static ? kernel->dims[i].value : 1;
    const struct ir_bindings bindings = {dims, ARENA_ARRAY(arena, struct ir_scalar, kernel->param_count + 1)};
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        int64_t count = 1;
        tensors[i] = (struct ir_tensor){.type = param->type, .rank = param->kind == PARAM_SCALAR ? 0 : param->rank};
        for (int d = 0; d < tensors[i].rank; d++) {
            tensors[i].shape[d] = ir_evaluate_number(param->extents[d], &bindings).integer;
            if (__builtin_mul_overflow(count, tensors[i].shape[d], &count)) return true;
        }
    }
    return plan_demands(kernel, &bindings, tensors).index64;
}

static tilec_result given_emit(tilec_report *report, const char *call, const struct tilec_emit_options *options)
{
    if (!options) return TILEC_OK;
    const struct given_list list = {"skips", options->skip_count, options->skips, false};
    return given_lists(report, call, 1, &list);
}

// ---------------------------------------------------------------------------------------------- faults of tilec

// The program as it was before the pass that broke it.
struct witness {
    struct text before, now;
};

static void remember(void *data, const char *pass, const struct ir_kernel *kernel)
{
    struct witness *witness = data;
    (void)pass;
    text_free(&witness->before);
    witness->before = witness->now;
    witness->now = (struct text){0};
    ir_print(&witness->now, kernel);
}

static const char *save_witness(struct arena *arena, const struct text *text)
{
    const char *folder = getenv("TMPDIR");
    char *path = arena_printf(arena, "%s/tilec-XXXXXX.ir", folder && *folder ? folder : "/tmp");
    int file = mkstemps(path, 3);
    if (file < 0) return NULL;
    bool ok = write(file, text->data, text->length) == (ssize_t)text->length;
    return close(file) == 0 && ok ? path : NULL;
}

// An internal failure names the pass, in its code, and a file with the program as it stood: lowering is deterministic,
// so it is lowered again to see it.
static tilec_result report_internal(struct arena *arena, const tilec_kernel *kernel, const struct config *config,
                                    struct lower_options options, const struct status *status, tilec_report *report)
{
    struct witness witness = {0};
    struct status again = STATUS_OK;
    ir_print(&witness.now, kernel->ir);
    options.after = remember;
    options.data = &witness;
    lower(arena, kernel->ir, config, &options, &again);
    const char *path = save_witness(arena, witness.now.data ? &witness.now : &witness.before);
    text_free(&witness.before);
    text_free(&witness.now);
    return report_failed(report, status->code, path ? arena_printf(arena, "this is a fault of tilec; the program at that point is in %s", path)
                                                    : "this is a fault of tilec", "%s", status->reason);
}

// ---------------------------------------------------------------------------------------------- emitting

static tilec_result emit_into(struct arena *arena, tilec_kernel *kernel, const struct config *config,
                              const struct tilec_emit_options *given, tilec_report *report, struct emitted **emitted)
{
    struct lower_options options;
    struct stage_call call;
    struct status status = lower_options_read(arena, given, &call, &options);
    if (!status.ok) return report_status(report, &status);
    options.index64 = options.index64 || needs_index64(arena, kernel->ir);
    if (given->stage) after_pass(&call, "checked", kernel->ir);
    if (given->stop_after && strcmp(given->stop_after, "checked") == 0) return TILEC_OK;
    struct lowered *lowered = lower(arena, kernel->ir, config, &options, &status);
    if (lowered && !given->stop_after) *emitted = emit(arena, lowered, TILEC_VERSION, &status);
    if (status_result(&status) == TILEC_INTERNAL) return report_internal(arena, kernel, config, options, &status, report);
    return report_status(report, &status);
}

static const struct config *config_or_default(struct arena *arena, const tilec_kernel *kernel, const tilec_config *config,
                                              const struct tilec_emit_options *options)
{
    const struct config_data unknown = {.cpu = options && options->target && strcmp(options->target, "cpu") == 0};
    return config ? config->config : config_default_for(arena, kernel->ir, &unknown);
}

tilec_result tilec_kernel_emit(tilec_kernel *kernel, const tilec_config *config, const struct tilec_emit_options *options,
                               tilec_report *report, tilec_text *text)
{
    if (text) *text = (tilec_text){0};
    WANT(report, kernel, text);
    tilec_result given = given_emit(report, __func__, options);
    if (given != TILEC_OK) return given;
    struct arena *arena = arena_new();
    struct emitted *emitted = NULL;
    struct text copy = {0};
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_result result = emit_into(arena, kernel, config_or_default(arena, kernel, config, options), options ? options : &no_options,
                                    report, &emitted);
    if (emitted) text_add_bytes(&copy, emitted->text, emitted->length);
    if (result == TILEC_OK) *text = text_take(&copy);
    arena_free(arena);
    return result;
}

tilec_text tilec_kernel_explain_strategy(tilec_kernel *kernel, const tilec_config *config)
{
    if (!kernel) return text_take(&(struct text){0});
    struct arena *arena = arena_new();
    struct text text = {0};
    if (arena) config_explain_strategies(&text, arena, kernel->ir, config_or_default(arena, kernel, config, NULL));
    arena_free(arena);
    return text_take(&text);
}

// Whether `name` stands in the text as a whole word with an opening parenthesis behind it.
static bool defines(const char *text, size_t length, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = text; (at = memmem(at, (size_t)(text + length - at), name, size)) != NULL; at += size) {
        char before = at > text ? at[-1] : ' ';
        const char *behind = at + size;
        while (behind < text + length && (*behind == ' ' || *behind == '\n')) behind++;
        bool word = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9') || before == '_';
        if (!word && behind < text + length && *behind == '(') return true;
    }
    return false;
}

tilec_result tilec_kernel_fits(tilec_kernel *kernel, const tilec_config *config, const struct tilec_emit_options *options,
                               const char *text, size_t length, tilec_report *report)
{
    WANT(report, kernel, text);
    tilec_result given = given_emit(report, __func__, options);
    if (given != TILEC_OK) return given;
    struct arena *arena = arena_new();
    struct emitted *emitted = NULL;
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_result result = emit_into(arena, kernel, config_or_default(arena, kernel, config, options), options ? options : &no_options,
                                    report, &emitted);
    for (int i = 0; emitted && i < emitted->plan.kernel_count; i++)
        if (!defines(text, length, emitted->plan.kernels[i].name))
            result = report_failed(report, "program.source", "the launch plan calls every function of the emitted text by name",
                                   "the edited text doesn't define %s", emitted->plan.kernels[i].name);
    arena_free(arena);
    return result;
}
