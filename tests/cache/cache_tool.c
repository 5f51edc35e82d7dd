// SPDX-License-Identifier: Apache-2.0
// For the tests of the cache that run processes.
//
//   cache_tool store SEED MILLISECONDS FILE KERNEL ARGUMENTS... : puts a drawn config into the cache as the best one of a
//       kernel on the CPU; an argument with a capital letter in front is a dimension
//   cache_tool work SEED ROUNDS : reads and stores eight objects and eight configs in a random order, over and over; ends
//       with 1 and a message if anything that is loaded is wrong or anything fails
//   cache_tool whole : ends with 1 unless every entry of both folders is whole; prints how many there are
#include "place.h"

enum { VARIANTS = 8, LARGEST = 1 << 20 };

static int failed(const char *what, const char *why)
{
    printf("%s: %s\n", what, why);
    return 1;
}

// ---------------------------------------------------------------------------------------------- store

static int store(struct tap *tap, int count, char **words)
{
    struct arena *arena = tap->arena;
    struct diagnostics diagnostics;
    struct cache_session session;
    struct config_device device;
    struct bound bound;
    const char *reason = NULL, **arguments = ARENA_ARRAY(arena, const char *, count), **dims = ARENA_ARRAY(arena, const char *, count);
    const struct source *source = source_read(arena, words[2], &reason);
    uint64_t seed = strtoull(words[0], NULL, 10);
    if (!source) return failed(words[2], reason);
    diagnostics_init(&diagnostics, arena);
    struct bind_request request = {.file = frontend_parse(arena, source, &source_loader, &diagnostics), .kernel = words[3], .arguments = arguments,
                                   .dims = dims, .compile_in = true, .validate = true};
    for (int i = 4; i < count; i++) {
        if (words[i][0] >= 'A' && words[i][0] <= 'Z') dims[request.dim_count++] = words[i];
        else arguments[request.argument_count++] = words[i];
    }
    struct status status = bind_arguments(arena, &request, &diagnostics, &bound);
    if (status.ok) status = cache_session_begin(arena, NULL, &session);
    if (status.ok) status = config_device_cpu(arena, &device);
    if (!status.ok) return failed(status.code, status.reason);
    const struct plan_demands demands = plan_demands(bound.kernel, &bound.bindings, bound.views);
    const struct config_key_request wanted = {.device = &device, .kernel = bound.kernel, .bindings = &bound.bindings, .tensors = bound.views,
                                              .index64 = demands.index64, .unaligned = demands.unaligned};
    struct config_key key = config_key_make(arena, &session, &wanted);
    const struct config_found found = {config_random(arena, bound.kernel, &seed), strtod(words[1], NULL), {EFFORT_FULL, 60, 100, false}};
    bool ok = config_cache_store(arena, &session, bound.kernel, &key, &found);
    bound_free(&bound);
    printf("%s\n", key.hash.hex);
    return !ok;
}

// ---------------------------------------------------------------------------------------------- work

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static struct cache_key key_of(int variant)
{
    return cache_hash(&(struct cache_part){&variant, sizeof variant}, 1);
}

// What the object of a variant holds: so large that a process is often killed while it writes.
static size_t fill(int variant, char *object)
{
    uint64_t state = (uint64_t)variant;
    size_t length = LARGEST / (size_t)(1 + variant);
    for (size_t i = 0; i < length; i++) object[i] = (char)(next(&state) >> 11);
    return length;
}

static bool object_fails(struct place *place, int variant, char *object, bool again)
{
    struct cache cache = cache_open_place(place->tap->arena, &place->session, CACHE_OBJECTS);
    struct cache_key key = key_of(variant);
    struct text found = {0};
    size_t length = fill(variant, object);
    bool hit = cache_read(&cache, &key, &found), wrong = hit && (found.length != length || memcmp(found.data, object, length) != 0);
    bool stored = (hit && !again) || cache_store(&cache, &key, object, length);
    text_free(&found);
    cache_close(&cache);
    return wrong || !stored;
}

static bool config_fails(struct place *place, int variant, bool again)
{
    struct config_entry entry;
    struct config_device device = plain_device;
    device.name = arena_printf(place->tap->arena, "device %d", variant);
    place->key = place_key(place, &device, false);
    bool hit = place_find(place, &entry);
    bool wrong = hit && (entry.milliseconds != 1 + variant || !same_config(place, entry.config, place_config(place, (uint64_t)variant)));
    return wrong || !((hit && !again) || place_store(place, (uint64_t)variant, 1 + variant));
}

static int work(struct tap *tap, uint64_t seed, int rounds)
{
    static char object[LARGEST];
    struct place place = {.tap = tap};
    place_again(&place);
    place_usual(&place);
    for (int i = 0; i < rounds * VARIANTS; i++) {
        int variant = (int)(next(&seed) % VARIANTS);
        bool again = next(&seed) % 2 == 0;
        if (object_fails(&place, variant, object, again)) return failed("an object", "wrong, or not stored");
        if (config_fails(&place, variant, again)) return failed("a config", "wrong, or not stored");
    }
    for (int i = 0; i < place.session.warning_count; i++) failed(place.session.warnings[i].code, place.session.warnings[i].text);
    bound_free(&place.bound);
    return place.session.warning_count > 0;
}

// ---------------------------------------------------------------------------------------------- whole

struct visit {
    struct cache cache;
    int count, damaged;
};

static bool look(void *data, const char *name, int64_t bytes)
{
    struct visit *visit = data;
    struct cache_key key;
    (void)bytes;
    memcpy(key.hex, name, CACHE_KEY_BYTES + 1);
    visit->count++;
    visit->damaged += !cache_read(&visit->cache, &key, NULL);
    return true;
}

static int whole(struct tap *tap)
{
    int damaged = 0;
    for (int place = CACHE_OBJECTS; place <= CACHE_CONFIGS; place++) {
        struct visit visit = {.cache = cache_open_place(tap->arena, NULL, (enum cache_place)place)};
        cache_visit(&visit.cache, look, &visit);
        cache_close(&visit.cache);
        printf("%d ", visit.count);
        damaged += visit.damaged;
    }
    printf("%d\n", damaged);
    return damaged > 0;
}

int main(int count, char **words)
{
    struct tap tap = {.ok = true, .arena = arena_new()};
    int result = 2;
    if (count > 5 && strcmp(words[1], "store") == 0) result = store(&tap, count - 2, words + 2);
    else if (count == 4 && strcmp(words[1], "work") == 0) result = work(&tap, strtoull(words[2], NULL, 10), atoi(words[3]));
    else if (count == 2 && strcmp(words[1], "whole") == 0) result = whole(&tap);
    arena_free(tap.arena);
    return tap.ok ? result : 1;
}
