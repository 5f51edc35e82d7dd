// SPDX-License-Identifier: Apache-2.0
// tilec.h: looking at the cache. In: the settings that name it. Out: its entries as they are now, and their removal.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/config_cache.h"
#include "runtime/given.h"
#include "runtime/remote.h"
#include "runtime/runtime.h"

struct tilec_cache {
    struct arena *arena;
    struct cache_session session;
    struct cache configs, objects;
    int count;
    struct config_entry *entries;
    int binaries;
    int64_t binary_bytes;
};

static int newest_first(const void *a, const void *b)
{
    const struct config_entry *left = a, *right = b;
    if (left->created != right->created) return left->created > right->created ? -1 : 1;
    return strcmp(left->key.hash.hex, right->key.hash.hex);
}

static bool count_binary(void *data, const char *name, int64_t bytes)
{
    tilec_cache *cache = data;
    (void)name;
    cache->binaries++;
    cache->binary_bytes += bytes;
    return true;
}

static void look(tilec_cache *cache)
{
    cache->binaries = 0;
    cache->binary_bytes = 0;
    cache->count = config_cache_list(cache->arena, &cache->configs, &cache->entries);
    if (cache->count) qsort(cache->entries, (size_t)cache->count, sizeof *cache->entries, newest_first);
    cache_visit(&cache->objects, count_binary, cache);
}

// A folder that isn't there is not made just to be looked at.
static struct cache open_place(tilec_cache *cache, enum cache_place place, const char *name)
{
    struct stat about;
    const char *folder = cache->session.settings.folder;
    if (folder && stat(arena_printf(cache->arena, "%s/%s", folder, name), &about) == 0) return cache_open_place(cache->arena, &cache->session, place);
    return (struct cache){.folder = -1};
}

tilec_result tilec_cache_open(const struct tilec_cache_options *options, tilec_report *report, tilec_cache **done)
{
    if (done) *done = NULL;
    WANT_AS(report, "cache", done);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    tilec_cache *cache = ARENA_NEW(arena, tilec_cache);
    cache->arena = arena;
    struct status status = cache_session_begin(arena, options, &cache->session);
    cache->session.settings.skip = false;  // whoever looks wants to see it
    if (!status.ok) {
        tilec_result result = report_status(report, &status);
        arena_free(arena);
        return result;
    }
    cache->configs = open_place(cache, CACHE_CONFIGS, "configs");
    cache->objects = open_place(cache, CACHE_OBJECTS, "objects");
    look(cache);
    cache_session_report(&cache->session, report);
    *done = cache;
    return TILEC_OK;
}

void tilec_cache_free(tilec_cache *cache)
{
    if (!cache) return;
    cache_close(&cache->configs);
    cache_close(&cache->objects);
    arena_free(cache->arena);
}

const char *tilec_cache_path(const tilec_cache *cache)
{
    if (!cache) return NULL;
    return cache->session.settings.folder ? cache->session.settings.folder : "";
}

const char *tilec_cache_remote(const tilec_cache *cache)
{
    if (!cache) return NULL;
    return cache->session.settings.remote ? cache->session.settings.remote->shown : "";
}

const char *tilec_cache_remote_trouble(tilec_cache *cache)
{
    if (!cache) return NULL;
    const struct remote_address *address = cache->session.settings.remote;
    return address ? remote_trouble(cache->arena, address) : NULL;
}

int tilec_cache_count(const tilec_cache *cache)
{
    if (!cache) return 0;
    return cache->count;
}

struct tilec_cache_entry tilec_cache_entry(const tilec_cache *cache, int index)
{
    if (!cache) return (struct tilec_cache_entry){0};
    if (index < 0 || index >= cache->count) return (struct tilec_cache_entry){0};
    const struct config_entry *entry = &cache->entries[index];
    const char *const *fields = entry->key.fields;
    return (struct tilec_cache_entry){
        .key = entry->key.hash.hex, .kernel = fields[KEY_KERNEL], .target = fields[KEY_TARGET], .device = fields[KEY_DEVICE],
        .types = fields[KEY_TYPES], .extents = fields[KEY_STATIC], .shape = fields[KEY_SHAPE], .milliseconds = entry->milliseconds,
        .effort = effort_name(entry->search.effort), .seconds = entry->search.seconds, .configs = entry->search.configs,
        .created = entry->created};
}

int tilec_cache_binaries(const tilec_cache *cache, int64_t *bytes)
{
    if (!cache) return 0;
    if (bytes) *bytes = cache->binary_bytes;
    return cache->binaries;
}

tilec_result tilec_cache_find(const tilec_cache *cache, const char *key, tilec_report *report, int *index)
{
    WANT(report, cache, key, index);
    int found = 0;
    for (int i = 0; i < cache->count; i++) {
        if (!*key || strncmp(cache->entries[i].key.hash.hex, key, strlen(key)) != 0) continue;
        *index = i;
        found++;
    }
    if (found == 1) return TILEC_OK;
    if (found) return report_failed(report, "usage.key", "write more digits", "%d entries have keys that begin with %s", found, key);
    return report_failed(report, "usage.key", "`tilec cache list` shows the keys", "no entry has a key that begins with '%s'", key);
}

// ---------------------------------------------------------------------------------------------- as JSON

tilec_text tilec_cache_entry_json(const tilec_cache *cache, int index)
{
    if (!cache) return text_take(&(struct text){0});
    struct text out = {0};
    if (index >= 0 && index < cache->count) config_entry_print(&out, &cache->entries[index]);
    return text_take(&out);
}

tilec_text tilec_cache_json(const tilec_cache *cache)
{
    if (!cache) return text_take(&(struct text){0});
    struct text out = {0};
    text_add(&out, "{\"path\": ");
    json_string(&out, tilec_cache_path(cache));
    text_add(&out, ", \"remote\": ");
    if (*tilec_cache_remote(cache)) json_string(&out, tilec_cache_remote(cache));
    else text_add(&out, "null");
    text_printf(&out, ", \"binaries\": {\"count\": %d, \"bytes\": %lld}, \"configs\": [", cache->binaries, (long long)cache->binary_bytes);
    for (int i = 0; i < cache->count; i++) {
        text_printf(&out, "%s\n{\"hash\": \"%s\", \"bytes\": %lld, \"entry\": ", i ? "," : "", cache->entries[i].key.hash.hex,
                    (long long)cache->entries[i].bytes);
        config_entry_print(&out, &cache->entries[i]);
        text_add(&out, "}");
    }
    text_add(&out, "]}");
    return text_take(&out);
}

// ---------------------------------------------------------------------------------------------- removing

tilec_result tilec_cache_clear(tilec_cache *cache, int index, tilec_report *report, int *removed)
{
    if (removed) *removed = 0;
    WANT(report, cache, removed);
    int configs, objects = 0;
    if (index >= 0 && index >= cache->count) return report_failed(report, "usage.key", NULL, "there is no entry %d", index);
    if (index >= 0) configs = cache_remove(&cache->configs, &cache->entries[index].key.hash);
    else configs = cache_clear(&cache->configs), objects = cache_clear(&cache->objects);
    look(cache);
    if (configs < 0 || objects < 0) return report_failed(report, "write.cache", NULL, "not every entry of %s could be removed", tilec_cache_path(cache));
    *removed = configs + objects;
    return TILEC_OK;
}
