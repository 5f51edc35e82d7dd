// SPDX-License-Identifier: Apache-2.0
// tilec.h: configs. A handle has its own arena and refers to its kernel, whose defaults complete a minimal file.
#include "runtime/given.h"
#include "runtime/runtime.h"

static tilec_config *config_new(tilec_kernel *kernel)
{
    struct arena *arena = arena_new();
    if (!arena) return NULL;
    tilec_config *config = ARENA_NEW(arena, tilec_config);
    *config = (tilec_config){.arena = arena, .kernel = kernel};
    return config;
}

void tilec_config_free(tilec_config *config)
{
    if (config) arena_free(config->arena);
}

static tilec_result finish(tilec_config *made, tilec_config **config)
{
    *config = made && made->config ? made : NULL;
    if (made && !made->config) tilec_config_free(made);
    return *config ? TILEC_OK : TILEC_INTERNAL;
}

tilec_result tilec_config_default(tilec_kernel *kernel, const struct tilec_rows *rows, tilec_config **config)
{
    if (config) *config = NULL;
    WANT(NULL, kernel, config);
    tilec_config *made = config_new(kernel);
    struct config_data data = {.rows = rows ? rows->rows : 0, .longest = rows ? rows->longest : 0, .mean = rows ? rows->mean : 0};
    struct target target = {0};
    if (rows && rows->target && target_parse(rows->target, &target)) data.sm = target.sm, data.cpu = target.kind == TARGET_CPU;
    if (made) made->config = config_default_for(made->arena, kernel->ir, &data);
    return finish(made, config);
}

tilec_result tilec_config_random(tilec_kernel *kernel, uint64_t *seed, tilec_config **config)
{
    if (config) *config = NULL;
    WANT(NULL, kernel, seed, config);
    tilec_config *made = config_new(kernel);
    if (made) made->config = config_random(made->arena, kernel->ir, seed);
    return finish(made, config);
}

// Reads from `path`, or from `text` if that isn't NULL.
static tilec_result read(tilec_kernel *kernel, const char *path, const char *text, size_t length, tilec_report *report,
                         tilec_config **config)
{
    *config = NULL;
    tilec_config *made = config_new(kernel);
    if (!made) return report_failed(report, "internal.memory", NULL, "out of memory");
    struct status status = text ? config_parse(made->arena, kernel->ir, text, length, &made->config)
                                : config_load(made->arena, kernel->ir, path, &made->config);
    tilec_result result = report_status(report, &status);
    if (result == TILEC_OK) *config = made;
    else tilec_config_free(made);
    return result;
}

tilec_result tilec_config_load(tilec_kernel *kernel, const char *path, tilec_report *report, tilec_config **config)
{
    if (config) *config = NULL;
    WANT(report, kernel, path, config);
    return read(kernel, path, NULL, 0, report, config);
}

tilec_result tilec_config_parse(tilec_kernel *kernel, const char *text, size_t length, tilec_report *report,
                                tilec_config **config)
{
    if (config) *config = NULL;
    WANT(report, kernel, text, config);
    return read(kernel, NULL, text, length, report, config);
}

tilec_text tilec_config_json(const tilec_config *config, int minimal)
{
    if (!config) return text_take(&(struct text){0});
    struct text text = {0};
    config_print(&text, config->kernel->ir, config->config, minimal);
    return text_take(&text);
}

tilec_result tilec_config_save(const tilec_config *config, const char *path, int minimal, tilec_report *report)
{
    WANT(report, config, path);
    struct text text = {0};
    config_print(&text, config->kernel->ir, config->config, minimal);
    text_add(&text, "\n");
    tilec_result result = tilec_file_save(path, text.data, text.length, report);
    text_free(&text);
    return result;
}

// The choices are JSON texts already.
tilec_text tilec_config_space(tilec_kernel *kernel)
{
    if (!kernel) return text_take(&(struct text){0});
    struct text out = {0};
    struct arena *arena = arena_new();
    const struct config_space *space = arena ? config_space(arena, kernel->ir) : NULL;
    text_add(&out, "{\"kernel\": ");
    json_string(&out, kernel->ir->name);
    text_add(&out, ", \"knobs\": [");
    for (int i = 0; space && i < space->knob_count; i++) {
        const struct config_knob *knob = &space->knobs[i];
        text_add(&out, i ? ",\n  {\"path\": " : "\n  {\"path\": ");
        json_string(&out, knob->path);
        text_add(&out, ", \"choices\": [");
        for (int j = 0; j < knob->choice_count; j++) text_printf(&out, "%s%s", j ? ", " : "", knob->choices[j]);
        text_add(&out, "]}");
    }
    text_add(&out, "]}");
    if (arena) arena_free(arena);
    return text_take(&out);
}

tilec_result tilec_config_check(const tilec_config *config, const char *target, tilec_report *report)
{
    WANT(report, config);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    struct status status = config_check(arena, config->kernel->ir, config->config);
    tilec_result checked = report_status(report, &status);
    arena_free(arena);
    if (checked != TILEC_OK) return checked;
    const struct tilec_emit_options options = {.target = target};
    tilec_text text;
    tilec_result result = tilec_kernel_emit(config->kernel, config, &options, report, &text);
    tilec_text_free(&text);
    return result;
}
