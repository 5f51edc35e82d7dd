// SPDX-License-Identifier: Apache-2.0
// In: keys and configs. Out: the best known config of a key, from the folder configs/ of the cache; of likely ones too.
//
// An entry is JSON in the cache's own envelope (cache.c), which has key, length and hash. The fields of the key stand in
// it as texts and are compared: they are what a miss is explained by, and what likeness is measured with.
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/config_cache.h"
#include "runtime/remote.h"
#include "runtime/runtime.h"

enum { ENTRY_FORMAT = 2 };

// ---------------------------------------------------------------------------------------------- entries

void config_entry_print(struct text *out, const struct config_entry *entry)
{
    text_printf(out, "{\"format\": %d,\n \"key\": {", ENTRY_FORMAT);
    for (int i = 0; i < KEY_FIELDS; i++) {
        text_printf(out, "%s\n  \"%s\": ", i ? "," : "", config_key_field_name(i));
        json_string(out, entry->key.fields[i]);
    }
    text_add(out, "},\n \"milliseconds\": ");
    text_double(out, entry->milliseconds);
    text_printf(out, ",\n \"search\": {\"effort\": \"%s\", \"seconds\": ", effort_name(entry->search.effort));
    text_double(out, entry->search.seconds);
    text_printf(out, ", \"configs\": %d, \"whole\": %s}", entry->search.configs, entry->search.whole ? "true" : "false");
    text_printf(out, ",\n \"created\": %lld,\n \"config\": %s}\n", (long long)entry->created, entry->config_text);
}

static bool read_fields(struct arena *arena, const cJSON *key, struct config_entry *entry)
{
    for (int i = 0; i < KEY_FIELDS; i++) {
        const cJSON *field = cJSON_GetObjectItemCaseSensitive(key, config_key_field_name(i));
        if (!cJSON_IsString(field)) return false;
        entry->key.fields[i] = arena_printf(arena, "%s", field->valuestring);
    }
    return true;
}

static bool read_search(const cJSON *object, struct config_search *search)
{
    const cJSON *effort = cJSON_GetObjectItemCaseSensitive(object, "effort"), *seconds = cJSON_GetObjectItemCaseSensitive(object, "seconds");
    const cJSON *configs = cJSON_GetObjectItemCaseSensitive(object, "configs"), *whole = cJSON_GetObjectItemCaseSensitive(object, "whole");
    if (!cJSON_IsString(effort) || !cJSON_IsNumber(seconds) || !cJSON_IsNumber(configs) || !cJSON_IsBool(whole)) return false;
    search->effort = EFFORT_NONE;
    while (strcmp(effort_name(search->effort), effort->valuestring) != 0)
        if (search->effort++ == EFFORT_FULL) return false;
    search->seconds = seconds->valuedouble;
    search->configs = configs->valueint;
    search->whole = cJSON_IsTrue(whole);
    return search->seconds >= 0 && search->configs >= 0;
}

static bool read_json(struct arena *arena, const cJSON *root, struct config_entry *entry)
{
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format"), *time = cJSON_GetObjectItemCaseSensitive(root, "milliseconds");
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(root, "config"), *created = cJSON_GetObjectItemCaseSensitive(root, "created");
    if (!cJSON_IsNumber(format) || format->valuedouble != ENTRY_FORMAT || !cJSON_IsObject(config)) return false;
    if (!cJSON_IsNumber(time) || !(time->valuedouble > 0) || !cJSON_IsNumber(created)) return false;
    if (!read_fields(arena, cJSON_GetObjectItemCaseSensitive(root, "key"), entry)) return false;
    if (!read_search(cJSON_GetObjectItemCaseSensitive(root, "search"), &entry->search)) return false;
    char *text = cJSON_PrintUnformatted(config);
    if (!text) return false;
    entry->config_text = arena_printf(arena, "%s", text);
    entry->milliseconds = time->valuedouble;
    entry->created = (int64_t)created->valuedouble;
    free(text);
    return true;
}

// `place`: where it is from, for messages.
static bool parse_entry(struct arena *arena, const struct cache *cache, const char *place, const struct cache_key *hash, const char *payload,
                        size_t length, struct config_entry *entry)
{
    *entry = (struct config_entry){0};
    cJSON *root = payload ? cJSON_ParseWithLength(payload, length) : NULL;
    bool ok = root && read_json(arena, root, entry);
    if (ok) entry->key.hash = config_key_hash(entry->key.fields);
    ok = ok && strcmp(entry->key.hash.hex, hash->hex) == 0;
    if (!ok) cache_warn(cache->session, "cache.entry", "the entry %s of %s isn't used: it is of another version of tilec", hash->hex, place);
    cJSON_Delete(root);
    return ok;
}

bool config_entry_read(struct arena *arena, const struct cache *cache, const struct cache_key *hash, struct config_entry *entry)
{
    struct text payload = {0};
    *entry = (struct config_entry){0};
    bool ok = cache_read(cache, hash, &payload) && parse_entry(arena, cache, cache->path, hash, payload.data, payload.length, entry);
    text_free(&payload);
    return ok;
}

struct lister {
    struct arena *arena;
    const struct cache *cache;
    int count, capacity;
    struct config_entry *items;
};

static bool list_one(void *data, const char *name, int64_t bytes)
{
    struct lister *lister = data;
    struct cache_key hash;
    struct config_entry entry;
    snprintf(hash.hex, sizeof hash.hex, "%s", name);
    if (!config_entry_read(lister->arena, lister->cache, &hash, &entry)) return true;
    entry.bytes = bytes;
    ARENA_PUSH(lister->arena, lister->items, lister->count, lister->capacity, entry);
    return true;
}

int config_cache_list(struct arena *arena, const struct cache *cache, struct config_entry **entries)
{
    struct lister lister = {.arena = arena, .cache = cache};
    cache_visit(cache, list_one, &lister);
    *entries = lister.items;
    return lister.count;
}

// ---------------------------------------------------------------------------------------------- find and store

static bool same_fields(const struct config_key *a, const struct config_key *b)
{
    for (int i = 0; i < KEY_FIELDS; i++)
        if (strcmp(a->fields[i], b->fields[i]) != 0) return false;
    return true;
}

static bool is_wanted(struct arena *arena, const struct cache *cache, const struct ir_kernel *kernel, const struct config_key *key,
                      const struct config_search *wanted, struct config_entry *entry)
{
    if (!same_fields(&entry->key, key) || (wanted && !config_search_suffices(&entry->search, wanted))) return false;
    struct status status = config_parse(arena, kernel, entry->config_text, strlen(entry->config_text), &entry->config);
    if (!status.ok) cache_warn(cache->session, "cache.entry", "the entry %s isn't used: %s", key->hash.hex, status.reason);
    return status.ok;
}

static bool find_here(struct arena *arena, const struct cache *cache, const struct ir_kernel *kernel, const struct config_key *key,
                      const struct config_search *wanted, struct config_entry *entry)
{
    return config_entry_read(arena, cache, &key->hash, entry) && is_wanted(arena, cache, kernel, key, wanted, entry);
}

static bool find_there(struct arena *arena, const struct cache *cache, const struct ir_kernel *kernel, const struct config_key *key,
                       const struct config_search *wanted, struct config_entry *entry)
{
    struct text payload = {0};
    bool ok = cache_fetch(cache, CACHE_CONFIGS, &key->hash, &payload) &&
              parse_entry(arena, cache, "the remote cache", &key->hash, payload.data, payload.length, entry) &&
              is_wanted(arena, cache, kernel, key, wanted, entry);
    text_free(&payload);
    return ok;
}

static bool store_here(const struct cache *cache, const struct config_entry *entry)
{
    struct text payload = {0};
    config_entry_print(&payload, entry);
    bool ok = cache_store(cache, &entry->key.hash, payload.data, payload.length);
    text_free(&payload);
    return ok;
}

// What the remote knows is kept here; what was known here, and wouldn't do, may have been faster.
static bool take_over(struct arena *arena, const struct cache *cache, const struct ir_kernel *kernel, const struct config_key *key,
                      const struct config_search *wanted, struct config_entry *entry)
{
    struct config_entry known;
    if (!cache_is_shared(cache) || !find_there(arena, cache, kernel, key, wanted, entry)) return false;
    if (find_here(arena, cache, kernel, key, NULL, &known) && known.milliseconds < entry->milliseconds) {
        known.search = entry->search;
        *entry = known;
    }
    store_here(cache, entry);
    return true;
}

bool config_cache_find(struct arena *arena, struct cache_session *session, const struct ir_kernel *kernel, const struct config_key *key,
                       const struct config_search *wanted, struct config_entry *entry)
{
    struct cache_session own;
    session = cache_session_or(arena, session, &own);
    if (session->settings.force) return false;
    struct cache cache = cache_open_place(arena, session, CACHE_CONFIGS);
    bool ok = find_here(arena, &cache, kernel, key, wanted, entry) || take_over(arena, &cache, kernel, key, wanted, entry);
    cache_close(&cache);
    return ok;
}

// What is known already may be worth more than what was found now.
static bool outlasts(const struct config_entry *known, struct config_entry *entry)
{
    if (known->milliseconds <= entry->milliseconds) return !config_search_suffices(&entry->search, &known->search);
    entry->search = known->search;
    return false;
}

// Of one kernel for one kind of target.
static const char *list_name(struct arena *arena, const struct config_key *key)
{
    bool cpu = strcmp(key->fields[KEY_TARGET], "cpu") == 0;
    return arena_printf(arena, "%s:%s", cpu ? "cpu" : "cuda", key->fields[KEY_KERNEL]);
}

// Where nothing is to be read, what is there is replaced.
static void share(struct arena *arena, const struct cache *cache, const struct ir_kernel *kernel, struct config_entry *entry)
{
    struct text payload = {0};
    struct config_entry known;
    bool reads = !cache->session->settings.force;
    if (reads && find_there(arena, cache, kernel, &entry->key, &entry->search, &known) && outlasts(&known, entry)) return;
    config_entry_print(&payload, entry);
    cache_share(cache, CACHE_CONFIGS, &entry->key.hash, list_name(arena, &entry->key), entry->created, payload.data, payload.length);
    text_free(&payload);
}

bool config_cache_store(struct arena *arena, struct cache_session *session, const struct ir_kernel *kernel, const struct config_key *key,
                        const struct config_found *found)
{
    struct cache_session own;
    struct text text = {0};
    struct config_entry known, entry = {.key = *key, .milliseconds = found->milliseconds, .search = found->search, .created = (int64_t)time(NULL)};
    if (!isfinite(found->milliseconds) || found->milliseconds <= 0) return false;
    session = cache_session_or(arena, session, &own);
    struct cache cache = cache_open_place(arena, session, CACHE_CONFIGS);
    config_print(&text, kernel, found->config, false);
    entry.config_text = text.data;
    bool reads = !session->settings.force;
    bool ok = reads && find_here(arena, &cache, kernel, key, &entry.search, &known) && outlasts(&known, &entry);
    if (!ok) {
        ok = store_here(&cache, &entry);
        if (cache_is_shared(&cache)) share(arena, &cache, kernel, &entry);
    }
    cache_close(&cache);
    text_free(&text);
    return ok;
}

// ---------------------------------------------------------------------------------------------- likeness

// The number behind "NAME=" in a list of such words; false if it isn't there.
static bool number_named(const char *list, const char *name, size_t length, double *number)
{
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        *number = strtod(at + length + 1, NULL);
        return true;
    }
    return false;
}

// How far apart two lists of "NAME=NUMBER" are: each factor of two counts 1.
static double list_distance(const char *a, const char *b)
{
    enum { MISSING = 8 };
    double sum = 0, left, right;
    for (const char *at = a; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t length = strcspn(at, "=");
        if (!number_named(a, at, length, &left) || !number_named(b, at, length, &right)) sum += MISSING;
        else sum += fabs(log2(left + 0.5) - log2(right + 0.5));
    }
    return sum;
}

// What another entry costs in likeness, by how much of a good config each field decides.
static double key_distance(const struct config_key *a, const struct config_key *b)
{
    static const double costs[KEY_FIELDS] = {
        [KEY_TARGET] = 20, [KEY_DEVICE] = 10, [KEY_CAPABILITY] = 5, [KEY_DRIVER] = 0.5, [KEY_TOOLKIT] = 0.5, [KEY_TILEC] = 0.5,
        [KEY_KERNEL] = 1000, [KEY_PROGRAM] = 50, [KEY_TYPES] = 10, [KEY_FLAGS] = 2, [KEY_BUILDS] = 0.1,
    };
    double sum = list_distance(a->fields[KEY_SHAPE], b->fields[KEY_SHAPE]) + 2 * list_distance(a->fields[KEY_STATIC], b->fields[KEY_STATIC]);
    for (int i = 0; i < KEY_FIELDS; i++)
        if (strcmp(a->fields[i], b->fields[i]) != 0) sum += costs[i];
    return sum;
}

struct ranked {
    double distance;
    const struct config_entry *entry;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->distance != right->distance) return left->distance < right->distance ? -1 : 1;
    return strcmp(left->entry->key.hash.hex, right->entry->key.hash.hex);
}

static bool same_kind(const struct config_key *a, const struct config_key *b)
{
    bool cpu = strcmp(a->fields[KEY_TARGET], "cpu") == 0;
    return cpu == (strcmp(b->fields[KEY_TARGET], "cpu") == 0) && strcmp(a->fields[KEY_KERNEL], b->fields[KEY_KERNEL]) == 0;
}

// Whether the config, written out in full, is among those that were taken.
static bool is_repeated(struct arena *arena, const struct ir_kernel *kernel, struct config_entry *entry, int count, const struct config_entry *taken)
{
    struct text text = {0};
    config_print(&text, kernel, entry->config, false);
    entry->config_text = arena_copy(arena, text.data, text.length);
    text_free(&text);
    for (int i = 0; i < count; i++)
        if (strcmp(taken[i].config_text, entry->config_text) == 0) return true;
    return false;
}

static void list_distant(void *user, const struct cache_key *hash, const char *payload, size_t length)
{
    struct lister *lister = user;
    struct config_entry entry;
    if (!parse_entry(lister->arena, lister->cache, "the remote cache", hash, payload, length, &entry)) return;
    ARENA_PUSH(lister->arena, lister->items, lister->count, lister->capacity, entry);
}

// Those of the folder, and of the remote those of the kernel.
static int list_all(struct arena *arena, const struct cache *cache, const struct config_key *key, struct config_entry **entries)
{
    struct lister lister = {.arena = arena, .cache = cache};
    cache_visit(cache, list_one, &lister);
    cache_fetch_list(cache, list_name(arena, key), list_distant, &lister);
    *entries = lister.items;
    return lister.count;
}

int config_cache_similar(struct arena *arena, struct cache_session *session, const struct ir_kernel *kernel, const struct config_key *key,
                         int limit, struct config_entry *entries)
{
    struct cache_session own;
    struct config_entry *all = NULL;
    struct cache cache = cache_open_place(arena, cache_session_or(arena, session, &own), CACHE_CONFIGS);
    int all_count = list_all(arena, &cache, key, &all), count = 0, taken = 0;
    cache_close(&cache);
    struct ranked *ranked = ARENA_ARRAY(arena, struct ranked, all_count + 1);
    for (int i = 0; i < all_count; i++)
        if (same_kind(key, &all[i].key)) ranked[count++] = (struct ranked){key_distance(key, &all[i].key), &all[i]};
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranked);
    for (int i = 0; i < count && taken < limit; i++) {
        struct config_entry entry = *ranked[i].entry;
        if (!config_parse(arena, kernel, entry.config_text, strlen(entry.config_text), &entry.config).ok) continue;
        if (!is_repeated(arena, kernel, &entry, taken, entries)) entries[taken++] = entry;
    }
    return taken;
}

// ---------------------------------------------------------------------------------------------- misses

static const struct config_entry *nearest(int count, const struct config_entry *entries, const struct config_key *key)
{
    const struct config_entry *best = NULL;
    for (int i = 0; i < count; i++)
        if (!best || key_distance(key, &entries[i].key) < key_distance(key, &best->key)) best = &entries[i];
    return best;
}

static const char *shown(const char *field)
{
    return *field ? field : "nothing";
}

static const char *search_text(struct arena *arena, const struct config_search *search)
{
    struct text text = {0};
    text_add(&text, effort_name(search->effort));
    if (search->seconds > 0) text_add(&text, ", "), text_double(&text, round(100 * search->seconds) / 100), text_add(&text, " s");
    if (search->configs) text_printf(&text, ", %d config%s", search->configs, search->configs == 1 ? "" : "s");
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

// Why the entry of the very key doesn't do.
static const char *same_key_missed(struct arena *arena, const struct config_search *found, const struct config_search *wanted)
{
    if (!wanted || config_search_suffices(found, wanted)) return "\n  none: that entry is the one, and its config doesn't fit the kernel";
    return arena_printf(arena, "\n  effort: a search of %s is wanted, the entry has one of %s", search_text(arena, wanted), search_text(arena, found));
}

struct status config_cache_miss(struct arena *arena, struct cache_session *session, const struct config_key *key,
                                const struct config_search *wanted)
{
    struct cache_session own;
    struct config_entry *entries = NULL;
    session = cache_session_or(arena, session, &own);
    struct cache cache = cache_open_place(arena, session, CACHE_CONFIGS);
    int count = config_cache_list(arena, &cache, &entries);
    cache_close(&cache);
    const char *folder = cache.path ? cache.path : "the cache";
    const struct config_entry *near = nearest(count, entries, key);
    if (!near)
        return status_failed(arena, "cache.miss", "no best config of kernel %s is known: %s has no entries", key->fields[KEY_KERNEL], folder);
    const char *list = "";
    for (int i = 0; i < KEY_FIELDS; i++)
        if (strcmp(key->fields[i], near->key.fields[i]) != 0)
            list = arena_printf(arena, "%s\n  %s: %s is wanted, the entry has %s", list, config_key_field_name(i), shown(key->fields[i]),
                                shown(near->key.fields[i]));
    if (!*list) list = same_key_missed(arena, &near->search, wanted);
    return status_failed(arena, "cache.miss", "no best config of kernel %s for this is known; the nearest of %d in %s, %.12s, differs in%s",
                         key->fields[KEY_KERNEL], count, folder, near->key.hash.hex, list);
}
