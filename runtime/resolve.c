// SPDX-License-Identifier: Apache-2.0
// Which config wins: an explicit one, or the one that a dispatch file has for the shape, then the best known one of the
// cache, then that of a heuristic, then the default. Nothing is searched for unless an effort is asked for; then only what
// was searched for as thoroughly is taken from the cache.
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda.h"
#include "runtime/dispatch.h"
#include "runtime/heuristic.h"
#include "runtime/runtime.h"

const char *config_origin_name(enum config_origin origin)
{
    static const char *const names[] = {"file", "dispatch", "cache", "search", "heuristic", "default"};
    return names[origin];
}

// ---------------------------------------------------------------------------------------------- explicit

static struct status take_file(struct arena *arena, const struct resolve_request *request, struct resolved *resolved)
{
    resolved->origin = CONFIG_FROM_FILE;
    resolved->label = request->path;
    return config_load(arena, request->kernel, request->path, &resolved->config);
}

// ---------------------------------------------------------------------------------------------- cache

struct status resolve_key(struct arena *arena, const struct resolve_request *request, struct config_key *key)
{
    struct config_device device;
    struct status status = request->cuda ? config_device_cuda(arena, request->ordinal, request->session, &device) : config_device_cpu(arena, &device);
    if (!status.ok) return status;
    struct plan_demands demands = plan_demands(request->kernel, request->bindings, request->tensors);
    const struct config_key_request wanted = {
        .device = &device, .kernel = request->kernel, .bindings = request->bindings, .tensors = request->tensors, .index64 = demands.index64,
        .unaligned = !request->cuda && demands.unaligned, .checked = request->checked};  // copies on a device are aligned
    *key = config_key_make(arena, request->session, &wanted);
    return STATUS_OK;
}

static struct status search(struct arena *arena, const struct resolve_request *request, struct resolved *resolved)
{
    resolved->origin = CONFIG_FROM_SEARCH;
    resolved->label = "tuned";
    return request->tune(request->tune_data, arena, request->kernel, &resolved->config);
}

// *target is what the config runs on, as far as that came to be known.
static struct status take_cached(struct arena *arena, const struct resolve_request *request, const char **target, struct resolved *resolved)
{
    struct config_key key;
    struct config_entry entry;
    const struct cache_settings *settings = &request->session->settings;
    const struct config_search wanted = cache_search(settings, EFFORT_UNSET);
    struct status status = resolve_key(arena, request, &key);
    if (!status.ok) return status;
    *target = key.fields[KEY_TARGET];
    if (config_cache_find(arena, request->session, request->kernel, &key, &wanted, &entry)) {
        resolved->config = entry.config;
        resolved->origin = CONFIG_FROM_CACHE;
        resolved->label = arena_printf(arena, "cached %.12s", key.hash.hex);
        return STATUS_OK;
    }
    if (settings->assert_hit) return config_cache_miss(arena, request->session, &key, &wanted);
    return wanted.seconds > 0 && request->tune ? search(arena, request, resolved) : STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- dispatch files

// The config that is known for the key's value, else, for the first call that has it, the fastest of the listed ones.
static struct status take_dispatch(struct arena *arena, const struct resolve_request *request, const struct source *source,
                                   struct resolved *resolved)
{
    struct dispatch *dispatch = NULL;
    struct config_key plain, key;
    struct config_entry entry;
    const char *value = NULL;
    struct status status = dispatch_parse(arena, request->kernel, source, &dispatch);
    if (status.ok) status = dispatch_value(arena, dispatch, request->kernel, request->bindings, &value);
    if (status.ok) status = resolve_key(arena, request, &plain);
    if (!status.ok) return status;
    key = dispatch_key(arena, dispatch, request->kernel, &plain, value);
    resolved->origin = CONFIG_FROM_DISPATCH;
    resolved->label = arena_printf(arena, "%s, %s = %s", source->path, dispatch->key, value);
    if (config_cache_find(arena, request->session, request->kernel, &key, NULL, &entry)) return resolved->config = entry.config, STATUS_OK;
    if (request->session->settings.assert_hit) return config_cache_miss(arena, request->session, &key, NULL);
    if (!request->time)
        return status_failed(arena, "search.untimed", "%s: which config is the fastest for %s = %s isn't known yet, and can't be found out here; "
                             "`tilec run` with this file does", source->path, dispatch->key, value);
    return request->time(request->tune_data, arena, request->kernel, dispatch, &key, &resolved->config);
}

// ---------------------------------------------------------------------------------------------- default

struct config_data resolve_data(struct arena *arena, const struct ir_kernel *kernel, const struct ir_tensor *tensors, int sm)
{
    struct config_data data = {.cpu = sm == 0, .sm = sm};
    struct rows_uses rows = {0};
    if (tensors) rows = rows_find(arena, kernel);
    for (int i = 0; i < rows.count; i++) {
        if (!tensors[rows.items[i].param].data) continue;
        struct row_statistics statistics = row_statistics(&rows.items[i], tensors);
        if (statistics.total <= (double)data.rows * data.mean) continue;
        data.rows = statistics.rows;
        data.longest = statistics.longest;
        data.mean = statistics.mean;
    }
    return data;
}

// ---------------------------------------------------------------------------------------------- heuristics

struct status resolve_sm(struct arena *arena, bool cuda, int ordinal, int *sm)
{
    struct cuda_device *seen = NULL;
    *sm = 0;
    if (!cuda) return STATUS_OK;
    struct status status = cuda_device_look(arena, ordinal, &seen);
    if (!status.ok) return status;
    *sm = seen->properties.sm;
    cuda_device_close(seen);
    return STATUS_OK;
}

static struct status target_of(struct arena *arena, const struct resolve_request *request, const char **target)
{
    int sm = 0;
    struct status status = resolve_sm(arena, request->cuda, request->ordinal, &sm);
    *target = sm ? arena_printf(arena, "sm_%d", sm) : "cpu";
    return status;
}

static int sm_of(const char *target)
{
    return target && strncmp(target, "sm_", 3) == 0 ? atoi(target + 3) : 0;
}

// One warning at most: the first thing that kept a file from being used, or that speaks against it.
static struct status take_heuristic(struct arena *arena, const struct resolve_request *request, const char *target, struct resolved *resolved)
{
    struct heuristic_found found = heuristic_find(arena, request->kernel, request->session->settings.heuristics, target);
    if (found.warning_count) cache_warn(request->session, found.warnings[0].code, "%s", found.warnings[0].text);
    if (!found.heuristic) return STATUS_OK;
    struct config_data data = resolve_data(arena, request->kernel, request->tensors, sm_of(target));
    const struct heuristic_shape shape = {request->bindings->dims, data.rows > 0 ? data.longest : -1};
    int chosen = heuristic_choose(request->kernel, found.heuristic, &shape);
    resolved->config = found.heuristic->configs[chosen];
    resolved->origin = CONFIG_FROM_HEURISTIC;
    resolved->label = arena_printf(arena, "config %d of %s", chosen, found.path);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- all of it

struct status resolve_config(struct arena *arena, const struct resolve_request *request, struct resolved *resolved)
{
    const struct cache_settings *settings = &request->session->settings;
    bool asked = settings->effort > EFFORT_NONE, reads = !settings->skip && !settings->force && settings->kind != CACHE_AOT;
    const char *target = NULL;
    *resolved = (struct resolved){.origin = CONFIG_DEFAULT, .label = "default"};
    const char *reason = NULL;
    const struct source *source = request->path ? source_read(arena, request->path, &reason) : NULL;
    if (source && dispatch_is(source)) return take_dispatch(arena, request, source, resolved);
    if (request->path) return take_file(arena, request, resolved);
    struct status status = (reads || asked) && !request->edited ? take_cached(arena, request, &target, resolved) : STATUS_OK;
    if (status.ok && !resolved->config && !request->edited && !target) status = target_of(arena, request, &target);
    if (status.ok && !resolved->config && !request->edited) status = take_heuristic(arena, request, target, resolved);
    if (!status.ok || resolved->config) return status;
    struct config_data data = resolve_data(arena, request->kernel, request->tensors, sm_of(target));
    const struct config_data unknown = {.cpu = data.cpu};  // as an edited text was emitted
    resolved->config = config_default_for(arena, request->kernel, request->edited ? &unknown : &data);
    return STATUS_OK;
}
