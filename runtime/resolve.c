// SPDX-License-Identifier: Apache-2.0
// Which config wins: an explicit one, then the best known one of the cache, then the default. Nothing is searched for
// unless an effort is asked for; then only what was searched for as thoroughly is taken from the cache.
#include <cjson/cJSON.h>
#include <string.h>

#include "runtime/config_cache.h"
#include "runtime/runtime.h"

const char *config_origin_name(enum config_origin origin)
{
    static const char *const names[] = {"file", "cache", "search", "default"};
    return names[origin];
}

// ---------------------------------------------------------------------------------------------- explicit

// A dispatch file is an object with several configs; a config has no such key.
static bool is_dispatch(const struct source *source)
{
    cJSON *root = cJSON_ParseWithLength(source->text, source->length);
    bool found = cJSON_HasObjectItem(root, "configs");
    cJSON_Delete(root);
    return found;
}

static struct status take_file(struct arena *arena, const struct resolve_request *request, struct resolved *resolved)
{
    const char *reason = NULL;
    const struct source *source = source_read(arena, request->path, &reason);
    if (source && is_dispatch(source))
        return status_failed(arena, "config.dispatch", "%s: this is a dispatch file; a file of several configs can't be used yet, only one config",
                             request->path);
    resolved->origin = CONFIG_FROM_FILE;
    resolved->label = request->path;
    return config_load(arena, request->kernel, request->path, &resolved->config);
}

// ---------------------------------------------------------------------------------------------- cache

struct status resolve_key(struct arena *arena, const struct resolve_request *request, struct config_key *key)
{
    struct config_device device;
    struct status status = request->cuda ? config_device_cuda(arena, request->ordinal, &device) : config_device_cpu(arena, &device);
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

static struct status take_cached(struct arena *arena, const struct resolve_request *request, struct resolved *resolved)
{
    struct config_key key;
    struct config_entry entry;
    const struct cache_settings *settings = &request->session->settings;
    const struct config_search wanted = cache_search(settings, EFFORT_UNSET);
    struct status status = resolve_key(arena, request, &key);
    if (!status.ok) return status;
    if (config_cache_find(arena, request->session, request->kernel, &key, &wanted, &entry)) {
        resolved->config = entry.config;
        resolved->origin = CONFIG_FROM_CACHE;
        resolved->label = arena_printf(arena, "cached %.12s", key.hash.hex);
        return STATUS_OK;
    }
    if (settings->assert_hit) return config_cache_miss(arena, request->session, &key, &wanted);
    return wanted.seconds > 0 && request->tune ? search(arena, request, resolved) : STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- default

struct config_data resolve_data(struct arena *arena, const struct ir_kernel *kernel, const struct ir_tensor *tensors, bool cuda)
{
    struct config_data data = {.cpu = !cuda};
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

// ---------------------------------------------------------------------------------------------- all of it

struct status resolve_config(struct arena *arena, const struct resolve_request *request, struct resolved *resolved)
{
    const struct cache_settings *settings = &request->session->settings;
    bool asked = settings->effort > EFFORT_NONE, reads = !settings->skip && !settings->force;
    *resolved = (struct resolved){.origin = CONFIG_DEFAULT, .label = "default"};
    if (request->path) return take_file(arena, request, resolved);
    struct status status = (reads || asked) && !request->edited ? take_cached(arena, request, resolved) : STATUS_OK;
    if (!status.ok || resolved->config) return status;
    struct config_data data = resolve_data(arena, request->kernel, request->tensors, request->cuda);
    resolved->config = config_default_for(arena, request->kernel, request->edited ? NULL : &data);
    return STATUS_OK;
}
