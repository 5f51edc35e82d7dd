// SPDX-License-Identifier: Apache-2.0
// tilec.h: which config. In: a kernel, arguments. Out: the config for them: of the cache, a heuristic or a dispatch file,
// or the default; and the value that a dispatch file's key has for them, by which callers keep what they got.
#include <string.h>

#include "runtime/call.h"
#include "runtime/dispatch.h"
#include "runtime/given.h"

// ---------------------------------------------------------------------------------------------- the config for arguments

// Data of no consequence: only rows are looked at.
#define ELSEWHERE ((void *)(uintptr_t)TENSOR_ALIGNMENT)

static bool knows_rows(const tilec_bound *bound, const struct tilec_argument *arguments)
{
    for (int i = 0; i < bound->rows.count; i++)
        if (!arguments[bound->rows.items[i].param].data) return false;
    return true;
}

static struct status resolve(struct arena *arena, const tilec_bound *bound, const struct call *call, const tilec_device *device,
                             const char *path, struct cache_session *session, struct config **config)
{
    struct resolved resolved;
    const struct resolve_request request = {
        .kernel = bound->kernel->ir, .bindings = &call->bindings, .tensors = call->tensors, .cuda = device->kind == DEVICE_CUDA,
        .ordinal = device->cuda ? device->cuda->ordinal : 0, .path = path, .session = session};
    struct status status = resolve_config(arena, &request, &resolved);
    *config = status.ok ? resolved.config : NULL;
    return status;
}

// Shapes and scalars, whether tensors have data or not; outputs may be left out.
static tilec_result read_inputs(struct arena *arena, const tilec_bound *bound, const struct tilec_argument *arguments,
                                int count, tilec_report *report, struct call *call)
{
    uint64_t *words = ARENA_ARRAY(arena, uint64_t, CALL_WORDS);
    struct tilec_argument *placed = ARENA_ARRAY(arena, struct tilec_argument, count + 1);
    for (int i = 0; i < count && i < bound->param_count; i++) {
        placed[i] = arguments[i];
        if (placed[i].type != TILEC_NONE && !placed[i].data && bound->params[i].kind != PARAM_SCALAR)
            placed[i].data = ELSEWHERE;
    }
    tilec_result result = call_words(bound, placed, count, CALL_PARAMS, report, words);
    return result == TILEC_OK ? call_read(call, bound, words, CALL_PARAMS, report) : result;
}

static tilec_result look_up(const tilec_bound *bound, tilec_config *made, const struct tilec_argument *arguments, tilec_device *device,
                            const char *path, const struct tilec_cache_options *cache, tilec_report *report)
{
    struct call call;
    struct cache_session session;
    tilec_result result = read_inputs(made->arena, bound, arguments, bound->param_count, report, &call);
    if (result != TILEC_OK) return result;
    struct status status = cache_session_begin(made->arena, cache, &session);
    if (status.ok) status = resolve(made->arena, bound, &call, device, path, &session, &made->config);
    cache_session_report(&session, report);
    return report_status(report, &status);
}

static tilec_result choose(tilec_kernel *kernel, tilec_device *device, const struct tilec_argument *arguments, int count,
                           const char *path, const struct tilec_cache_options *cache, tilec_report *report, tilec_config **config)
{
    tilec_device *host = NULL;
    tilec_bound *bound = NULL;
    *config = NULL;
    tilec_result result = tilec_device_open("reference", report, &host);
    if (result == TILEC_OK) result = tilec_bind(kernel, host, NULL, report, &bound);
    if (result == TILEC_OK && count != bound->param_count)
        result = report_failed(report, "launch.argument", NULL, "kernel %s takes %d arguments, not %d", kernel->ir->name, bound->param_count, count);
    if (result == TILEC_OK) result = tilec_config_default(kernel, NULL, config);
    if (result == TILEC_OK && device->kind != DEVICE_REFERENCE && (path || knows_rows(bound, arguments))) {
        result = look_up(bound, *config, arguments, device, path, cache, report);
        if (result != TILEC_OK) tilec_config_free(*config), *config = NULL;
    }
    tilec_bound_free(bound);
    tilec_device_free(host);
    return result;
}

tilec_result tilec_config_for(tilec_kernel *kernel, tilec_device *device, const struct tilec_argument *arguments, int count,
                              const struct tilec_cache_options *cache, tilec_report *report, tilec_config **config)
{
    if (config) *config = NULL;
    WANT(report, kernel, device, config);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    return choose(kernel, device, arguments, count, NULL, cache, report, config);
}

tilec_result tilec_config_dispatch(tilec_kernel *kernel, tilec_device *device, const struct tilec_argument *arguments, int count,
                                   const char *path, const struct tilec_cache_options *cache, tilec_report *report,
                                   tilec_config **config)
{
    if (config) *config = NULL;
    WANT(report, kernel, device, path, config);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    return choose(kernel, device, arguments, count, path, cache, report, config);
}

// ---------------------------------------------------------------------------------------- dispatch files

struct tilec_dispatch {
    struct arena *arena;
    tilec_device *host;
    tilec_bound *bound;  // reads arguments
    struct dispatch *read;
};

tilec_result tilec_dispatch_load(tilec_kernel *kernel, const char *path, tilec_report *report,
                                 tilec_dispatch **dispatch) {
    if (dispatch) *dispatch = NULL;
    WANT(report, kernel, path, dispatch);
    const char *reason = NULL;
    struct arena *arena = arena_new();
    if (!arena)
        return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_dispatch *made = ARENA_NEW(arena, tilec_dispatch);
    *made = (tilec_dispatch){.arena = arena};
    const struct source *source = source_read(arena, path, &reason);
    struct status status = source ? dispatch_parse(arena, kernel->ir, source, &made->read)
                                  : status_failed(arena, "usage.file", "can't read %s: %s", path, reason);
    tilec_result result = report_status(report, &status);
    if (result == TILEC_OK)
        result = tilec_device_open("reference", report, &made->host);
    if (result == TILEC_OK)
        result = tilec_bind(kernel, made->host, NULL, report, &made->bound);
    if (result == TILEC_OK)
        *dispatch = made;
    else
        tilec_dispatch_free(made);
    return result;
}

void tilec_dispatch_free(tilec_dispatch *dispatch) {
    if (!dispatch)
        return;
    tilec_bound_free(dispatch->bound);
    tilec_device_free(dispatch->host);
    arena_free(dispatch->arena);
}

tilec_result tilec_dispatch_value(const tilec_dispatch *dispatch, const struct tilec_argument *arguments, int count,
                                  tilec_report *report, tilec_text *value) {
    if (value) *value = (tilec_text){0};
    WANT(report, dispatch, value);
    tilec_result given = given_arguments(report, __func__, arguments, count);
    if (given != TILEC_OK) return given;
    struct call call;
    const char *text = "";
    struct text copy = {0};
    struct arena *arena = arena_new();
    if (!arena)
        return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_result result = read_inputs(arena, dispatch->bound, arguments, count, report, &call);
    if (result == TILEC_OK) {
        struct status status = dispatch_value(arena, dispatch->read, dispatch->bound->kernel->ir, &call.bindings, &text);
        result = report_status(report, &status);
    }
    text_add(&copy, text);
    if (result == TILEC_OK)
        *value = text_take(&copy);
    text_free(&copy);
    arena_free(arena);
    return result;
}
