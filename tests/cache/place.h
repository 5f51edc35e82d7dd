// SPDX-License-Identifier: Apache-2.0
// A kernel on data, an empty cache, and what a config is found by: for the tests of the cache of best configs.
#ifndef TILEC_TESTS_CACHE_PLACE_H
#define TILEC_TESTS_CACHE_PLACE_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/config_cache.h"
#include "runtime/runtime.h"
#include "tests/runtime/programs.h"

// A device that needs no device: every text of it is free.
static const struct config_device plain_device = {
    .target = "sm_90", .name = "a GPU", .capability = "9.0", .driver = "1.2.3, CUDA 13.0", .toolkit = "NVRTC 13.0"};

struct place {
    struct tap *tap;
    const char *folder;             // of the cache
    struct tilec_cache_options options;
    struct cache_session session;
    struct ast_file *file;
    struct bound bound;             // a kernel with its data
    struct config_key key;
};

static inline struct config_key place_key(struct place *place, const struct config_device *device, bool index64)
{
    const struct config_key_request request = {.device = device, .kernel = place->bound.kernel, .bindings = &place->bound.bindings,
                                               .tensors = place->bound.views, .index64 = index64};
    return config_key_make(place->tap->arena, &place->session, &request);
}

// Binds the program's only kernel to these arguments and dimensions, ending with NULL, and makes the key.
static inline void place_bind(struct place *place, const char *text, const char *const *arguments, const char *const *dims,
                              const char *const *types)
{
    struct arena *arena = place->tap->arena;
    struct diagnostics diagnostics;
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.path = "test.tile", .text = text, .length = strlen(text)};
    diagnostics_init(&diagnostics, arena);
    bound_free(&place->bound);
    place->file = frontend_parse(arena, source, NULL, &diagnostics);
    struct bind_request request = {.file = place->file, .arguments = arguments, .dims = dims, .types = types, .compile_in = true, .validate = true};
    while (arguments[request.argument_count]) request.argument_count++;
    while (dims[request.dim_count]) request.dim_count++;
    while (types && types[request.type_count]) request.type_count++;
    struct status status = bind_arguments(arena, &request, &diagnostics, &place->bound);
    if (!status.ok) printf("# %s: %s\n", status.code, status.reason), exit(99);
    place->key = place_key(place, &plain_device, false);
}
#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}

static inline void place_usual(struct place *place)
{
    place_bind(place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(uniform(1, 63))"), WORDS("B=100", "M=64"), NULL);
}

// Another process's look at the same folder: settings are read anew, nothing is remembered.
static inline void place_again(struct place *place)
{
    struct status status = cache_session_begin(place->tap->arena, &place->options, &place->session);
    if (!status.ok) printf("# %s: %s\n", status.code, status.reason), exit(99);
}

static inline void place_new(struct tap *tap, struct place *place)
{
    *place = (struct place){.tap = tap};
    char *folder = arena_copy(tap->arena, "/tmp/tilec-configs-XXXXXX", 25);
    if (!mkdtemp(folder)) exit(99);
    place->folder = folder;
    place->options.folder = folder;
    place_again(place);
    place_usual(place);
}

static inline void place_free(struct place *place)
{
    bound_free(&place->bound);
    CHECK(place->tap, system(arena_printf(place->tap->arena, "rm -r -- '%s'", place->folder)) == 0);
}

static inline const char *place_entry(const struct place *place)
{
    return arena_printf(place->tap->arena, "%s/configs/%s", place->folder, place->key.hash.hex);
}

static inline bool place_find(struct place *place, struct config_entry *entry)
{
    return config_cache_find(place->tap->arena, &place->session, place->bound.kernel, &place->key, NULL, entry);
}

// A config that isn't the default, and is found again by its number.
static inline struct config *place_config(struct place *place, uint64_t number)
{
    return config_random(place->tap->arena, place->bound.kernel, &number);
}

static inline bool place_store(struct place *place, uint64_t number, double milliseconds)
{
    const struct config_found found = {place_config(place, number), milliseconds, {EFFORT_FULL, 60, 100, false}};
    return config_cache_store(place->tap->arena, &place->session, place->bound.kernel, &place->key, &found);
}

static inline bool same_config(struct place *place, const struct config *a, const struct config *b)
{
    struct text left = {0}, right = {0};
    config_print(&left, place->bound.kernel, a, false);
    config_print(&right, place->bound.kernel, b, false);
    bool same = strcmp(left.data, right.data) == 0;
    text_free(&left);
    text_free(&right);
    return same;
}

#endif
