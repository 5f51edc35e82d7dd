// SPDX-License-Identifier: Apache-2.0
// In: entries of the disk cache. Out: the same on the remote cache, and back, verified.
//
// What travels is what lies on disk: the payload and its trailer, so an entry that was cut, changed or put under
// another key is a miss there as here. The remote is asked where the disk has nothing that will do, and what it gives
// is stored on the disk by who asked. Only configs and cubins travel. What the CPU target builds is loaded into this
// process as it comes, and is never asked for.
#include <string.h>

#include "runtime/config_cache.h"
#include "runtime/remote.h"

static const struct remote_address *address_of(const struct cache *cache)
{
    const struct cache_session *session = cache->session;
    return session && !session->settings.skip ? session->settings.remote : NULL;
}

bool cache_is_shared(const struct cache *cache)
{
    return address_of(cache) != NULL;
}

static const char *kind_of(enum cache_place place)
{
    return place == CACHE_CONFIGS ? "config" : "binary";
}

static size_t limit_of(enum cache_place place)
{
    return place == CACHE_CONFIGS ? REMOTE_CONFIG_LIMIT : REMOTE_BINARY_LIMIT;
}

static bool verify(const struct cache *cache, const struct cache_key *key, const char *data, size_t length)
{
    if (cache_is_whole(data, length, key)) return true;
    cache_warn(cache->session, "cache.remote",
               "the entry %s of the remote cache %s isn't used: it is damaged or foreign", key->hex,
               address_of(cache)->shown);
    return false;
}

bool cache_fetch(const struct cache *cache, enum cache_place place, const struct cache_key *key, struct text *payload)
{
    struct text entry = {0};
    struct arena *arena = cache_is_shared(cache) && *key->hex ? arena_new() : NULL;
    if (!arena) return false;
    struct remote_job job = {.verb = REMOTE_GET,
                             .arena = arena,
                             .kind = kind_of(place),
                             .hex = key->hex,
                             .limit = limit_of(place),
                             .answer = &entry};
    bool found = remote_ask(cache->session, address_of(cache), &job) == REMOTE_DONE &&
                 verify(cache, key, entry.data, entry.length);
    if (found) text_add_bytes(payload, entry.data, entry.length - CACHE_TRAILER_BYTES);
    text_free(&entry);
    arena_free(arena);
    return found;
}

void cache_share(const struct cache *cache, enum cache_place place, const struct cache_key *key, const char *index,
                 int64_t created, const void *data, size_t length)
{
    struct text entry = {0};
    char trailer[CACHE_TRAILER_BYTES];
    bool fits = length <= limit_of(place) - CACHE_TRAILER_BYTES;
    struct arena *arena = cache_is_shared(cache) && *key->hex && fits ? arena_new() : NULL;
    if (!arena) return;
    cache_write_trailer(trailer, key, data, length);
    text_add_bytes(&entry, data, length);
    text_add_bytes(&entry, trailer, sizeof trailer);
    struct remote_job job = {.verb = REMOTE_PUT,
                             .arena = arena,
                             .kind = kind_of(place),
                             .hex = key->hex,
                             .index = index,
                             .created = created,
                             .data = entry.data,
                             .length = entry.length};
    remote_ask(cache->session, address_of(cache), &job);
    text_free(&entry);
    arena_free(arena);
}

struct listing {
    const struct cache *cache;
    void (*found)(void *user, const struct cache_key *key, const char *payload, size_t length);
    void *user;
};

static void take_listed(void *user, const char *hex, const char *data, size_t length)
{
    const struct listing *listing = user;
    struct cache_key key;
    memcpy(key.hex, hex, sizeof key.hex);
    if (length <= REMOTE_CONFIG_LIMIT && verify(listing->cache, &key, data, length))
        listing->found(listing->user, &key, data, length - CACHE_TRAILER_BYTES);
}

void cache_fetch_list(const struct cache *cache, const char *index,
                      void (*found)(void *user, const struct cache_key *key, const char *payload, size_t length),
                      void *user)
{
    struct listing listing = {cache, found, user};
    struct arena *arena = cache_is_shared(cache) ? arena_new() : NULL;
    if (!arena) return;
    struct remote_job job = {.verb = REMOTE_LIST,
                             .arena = arena,
                             .kind = kind_of(CACHE_CONFIGS),
                             .index = index,
                             .limit = (size_t)REMOTE_LIST_LIMIT * REMOTE_CONFIG_LIMIT / 16,
                             .found = take_listed,
                             .user = &listing};
    remote_ask(cache->session, address_of(cache), &job);
    arena_free(arena);
}
