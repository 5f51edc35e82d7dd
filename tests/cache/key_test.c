// SPDX-License-Identifier: Apache-2.0
// What is in which key: each change of what a config or a binary depends on changes its key, and nothing else does.
// Also likeness: which entries a search would start from, and what a miss says.
#include "place.h"
#include "runtime/cuda.h"

#define SUM_WITH_HELPER(head, body)                                                      \
    head "fn change(x) = " body ";\n"                                                    \
    "kernel jagged_sum<T: float, I: int>(x: T[nnz, M], offsets: I[B + 1]) -> out: T[B, M]\n" \
    "{\n"                                                                               \
    "    for tb in tile(B) {\n"                                                         \
    "        let start = offsets[tb];\n"                                                \
    "        let length = offsets[tb + 1] - start;\n"                                   \
    "        for tm in tile(M) {\n"                                                     \
    "            var acc: accum(T)[tb, tm] = 0;\n"                                      \
    "            for tk in jagged_tile(length) { acc += sum[tk](change(x[start + tk, tm])); }\n" \
    "            out[tb, tm] = acc;\n"                                                  \
    "        }\n"                                                                       \
    "    }\n"                                                                           \
    "}\n"

static const char *const usual_arguments[] = {"x=ones", "offsets=offsets(uniform(1, 63))", NULL};
static const char *const usual_dims[] = {"B=100", "M=64", NULL};

// Which fields of two keys differ, as names.
static const char *difference(struct tap *tap, const struct config_key *a, const struct config_key *b)
{
    const char *list = "";
    for (int i = 0; i < KEY_FIELDS; i++)
        if (strcmp(a->fields[i], b->fields[i]) != 0)
            list = arena_printf(tap->arena, "%s%s%s", list, *list ? " " : "", config_key_field_name(i));
    CHECK(tap, (strcmp(a->hash.hex, b->hash.hex) == 0) == !*list);
    return list;
}

static const char *rebound(struct place *place, const char *text, const char *const *arguments, const char *const *dims, const char *const *types)
{
    struct config_key before = place->key;
    place_bind(place, text, arguments, dims, types);
    return difference(place->tap, &before, &place->key);
}

static void test_program(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    place_bind(&place, SUM_WITH_HELPER("", "x * x"), usual_arguments, usual_dims, NULL);
    CHECK_TEXT(tap, rebound(&place, SUM_WITH_HELPER("", "x * x"), usual_arguments, usual_dims, NULL), "");
    CHECK_TEXT(tap, rebound(&place, SUM_WITH_HELPER("// a comment\n\n\n", "x  *  /* another */ x"), usual_arguments, usual_dims, NULL), "");
    CHECK_TEXT(tap, rebound(&place, SUM_WITH_HELPER("", "x * x + 1"), usual_arguments, usual_dims, NULL), "program");
    CHECK_TEXT(tap, rebound(&place, SUM_WITH_HELPER("", "x * x + 2"), usual_arguments, usual_dims, NULL), "program");
    place_free(&place);
}

static void test_specialization(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, usual_arguments, WORDS("B=100", "M=128"), NULL), "static");
    CHECK_TEXT(tap, place.key.fields[KEY_STATIC], "M=128");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, usual_arguments, usual_dims, NULL), "static");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, usual_arguments, usual_dims, WORDS("T=f16")), "program types");
    CHECK_TEXT(tap, place.key.fields[KEY_TYPES], "T=f16 I=i64");
    place_free(&place);
}

// note [classes] in config_cache_key.c.
static void test_shape(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    CHECK_TEXT(tap, place.key.fields[KEY_SHAPE], "B=128 offsets.rows=128 offsets.mean=32 offsets.skew=2");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, usual_arguments, WORDS("B=128", "M=64"), NULL), "");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, usual_arguments, WORDS("B=200", "M=64"), NULL), "shape");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(const(32))"), WORDS("B=200", "M=64"), NULL), "shape");
    CHECK_TEXT(tap, place.key.fields[KEY_SHAPE], "B=256 offsets.rows=256 offsets.mean=32 offsets.skew=1");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(zipf(6400, 3000))"), WORDS("B=200", "M=64"), NULL), "shape");
    CHECK_TEXT(tap, place.key.fields[KEY_SHAPE], "B=256 offsets.rows=256 offsets.mean=32 offsets.skew=32");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(const(0))"), WORDS("B=1", "M=64"), NULL), "shape");
    CHECK_TEXT(tap, place.key.fields[KEY_SHAPE], "B=1 offsets.rows=1 offsets.mean=0 offsets.skew=0");
    CHECK_TEXT(tap, rebound(&place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(const(0))"), WORDS("B=0", "M=64"), NULL), "shape");
    CHECK_TEXT(tap, place.key.fields[KEY_SHAPE], "B=0 offsets.rows=0 offsets.mean=0 offsets.skew=0");
    place_free(&place);
}

// What the default config is told of the data.
static void test_data(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    place_bind(&place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(zipf(6400, 3000))"), WORDS("B=200", "M=64"), NULL);
    struct config_data data = resolve_data(tap->arena, place.bound.kernel, place.bound.views, true);
    CHECK_NUMBER(tap, data.rows, 200);
    CHECK_NUMBER(tap, data.longest, 1088);  // 6400 / (1 + 1/2 + … + 1/200)
    CHECK(tap, data.mean > 30 && data.mean < 33 && !data.cpu);
    data = resolve_data(tap->arena, place.bound.kernel, NULL, false);
    CHECK(tap, data.cpu && data.rows == 0 && data.longest == 0 && data.mean == 0);
    place_free(&place);
}

static void test_device(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    static const struct {
        struct config_device device;
        const char *changed;
    } devices[] = {
        {{"sm_80", "a GPU", "9.0", "1.2.3, CUDA 13.0", "NVRTC 13.0", 0, {0}}, "target"},
        {{"sm_90", "another", "9.0", "1.2.3, CUDA 13.0", "NVRTC 13.0", 0, {0}}, "device"},
        {{"sm_90", "a GPU", "9.1", "1.2.3, CUDA 13.0", "NVRTC 13.0", 0, {0}}, "capability"},
        {{"sm_90", "a GPU", "9.0", "1.2.4, CUDA 13.0", "NVRTC 13.0", 0, {0}}, "driver"},
        {{"sm_90", "a GPU", "9.0", "1.2.3, CUDA 13.0", "NVRTC 12.8", 0, {0}}, "toolkit"},
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct config_key key = place_key(&place, &devices[i].device, false);
        CHECK_TEXT(tap, difference(tap, &place.key, &key), devices[i].changed);
    }
    struct config_key wide = place_key(&place, &plain_device, true);
    CHECK_TEXT(tap, difference(tap, &place.key, &wide), "flags");
    struct config_device cpu;
    struct status status = config_device_cpu(tap->arena, &cpu);
    CHECK(tap, status.ok && strcmp(cpu.target, "cpu") == 0 && *cpu.name && *cpu.capability && *cpu.toolkit && cpu.toolkit_file_count == 1);
    place_free(&place);
}

// A strict cache tells the builds of the toolkit apart where the versions are the same.
static void test_strict(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    const char *path = arena_printf(tap->arena, "%s/toolkit", place.folder);
    struct config_device device = plain_device;
    device.toolkit_file_count = 1;
    device.toolkit_files[0] = path;
    struct config_key keys[4];
    for (int i = 0; i < 4; i++) {
        place.options.kind = i < 2 ? "local" : "strict";
        CHECK(tap, file_save(tap->arena, path, i % 2 ? "b" : "a", 1).ok);
        place_again(&place);
        keys[i] = place_key(&place, &device, false);
    }
    CHECK_TEXT(tap, difference(tap, &keys[0], &keys[1]), "");
    CHECK_TEXT(tap, difference(tap, &keys[1], &keys[2]), "builds");
    CHECK_TEXT(tap, difference(tap, &keys[2], &keys[3]), "builds");
    const char *builds = keys[3].fields[KEY_BUILDS];
    CHECK(tap, strncmp(builds, "tilec ", 6) == 0 && strspn(builds + 6, "0123456789abcdef") == 64);  // its own file was found
    place_free(&place);
}

// ---------------------------------------------------------------------------------------------- binaries

static struct cache_key binary_key(struct place *place, const struct config *config, int sm, const char *compiler)
{
    struct status status = STATUS_OK;
    struct arena *arena = place->tap->arena;
    const struct lower_options options = {.target = {.kind = TARGET_CUDA, .sm = sm}};
    struct lowered *lowered = lower(arena, place->bound.kernel, config, &options, &status);
    struct emitted *emitted = lowered ? emit(arena, lowered, "0", &status) : NULL;
    CHECK(place->tap, emitted);
    if (!emitted) return (struct cache_key){""};
    return cuda_binary_key(arena, compiler, options.target, false, emitted->text, emitted->length);
}

static bool differ(struct cache_key a, struct cache_key b)
{
    return strcmp(a.hex, b.hex) != 0;
}

static void test_binary(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    place_bind(&place, SUM_WITH_HELPER("", "x * x"), usual_arguments, usual_dims, NULL);
    struct config *config = config_default(tap->arena, place.bound.kernel), *other = config_default(tap->arena, place.bound.kernel);
    other->peel = !other->peel;
    struct cache_key usual = binary_key(&place, config, 90, "NVRTC 13.0");
    CHECK(tap, !differ(usual, binary_key(&place, config, 90, "NVRTC 13.0")));
    CHECK(tap, differ(usual, binary_key(&place, other, 90, "NVRTC 13.0")));
    CHECK(tap, differ(usual, binary_key(&place, config, 80, "NVRTC 13.0")));
    CHECK(tap, differ(usual, binary_key(&place, config, 90, "NVRTC 12.8")));
    place_bind(&place, SUM_WITH_HELPER("", "x * x"), WORDS("x=ones", "offsets=offsets(zipf(6400, 3000))"), WORDS("B=200", "M=64"), NULL);
    CHECK(tap, !differ(usual, binary_key(&place, config, 90, "NVRTC 13.0")));
    place_bind(&place, SUM_WITH_HELPER("", "x + x"), usual_arguments, usual_dims, NULL);
    CHECK(tap, differ(usual, binary_key(&place, config, 90, "NVRTC 13.0")));
    place_bind(&place, SUM_WITH_HELPER("", "x * x"), usual_arguments, usual_dims, WORDS("T=f16"));
    CHECK(tap, differ(usual, binary_key(&place, config, 90, "NVRTC 13.0")));
    place_free(&place);
}

// ---------------------------------------------------------------------------------------------- likeness and misses

static void test_similar(struct tap *tap)
{
    struct place place;
    struct config_entry entries[8];
    place_new(tap, &place);
    static const char *const rows[][2] = {{"B=100", "offsets=offsets(uniform(1, 63))"}, {"B=2000", "offsets=offsets(uniform(1, 63))"},
                                          {"B=250", "offsets=offsets(uniform(1, 63))"}, {"B=100", "offsets=offsets(const(2))"}};
    for (int i = 0; i < 4; i++) {
        place_bind(&place, JAGGED_SUM, WORDS("x=ones", rows[i][1]), WORDS(rows[i][0], "M=64"), NULL);
        CHECK(tap, place_store(&place, (uint64_t)(10 + i), 1 + i));
    }
    struct config_device cpu = plain_device;
    cpu.target = "cpu";
    place_usual(&place);
    struct config_key own = place.key;
    place.key = place_key(&place, &cpu, false);
    CHECK(tap, place_store(&place, 20, 9));                   // another kind of target: never alike
    place_bind(&place, JAGGED_SUM, WORDS("x=ones", "offsets=offsets(const(1))"), WORDS("B=5000", "M=64"), NULL);
    CHECK(tap, place_store(&place, 10, 7));                   // a config that a nearer entry has too
    place_usual(&place);
    int count = config_cache_similar(tap->arena, &place.session, place.bound.kernel, &own, 8, entries);
    CHECK_NUMBER(tap, count, 4);
    static const double order[] = {1, 3, 4, 2};               // B=100; B=256; rows of 2; B=2048
    for (int i = 0; i < count && i < 4; i++) CHECK_NUMBER(tap, entries[i].milliseconds, order[i]);
    for (int i = 0; i < count && i < 4; i++) CHECK(tap, same_config(&place, entries[i].config, place_config(&place, 9 + (uint64_t)order[i])));
    CHECK_NUMBER(tap, config_cache_similar(tap->arena, &place.session, place.bound.kernel, &own, 2, entries), 2);
    place_bind(&place, SUM_WITH_HELPER("", "x * x"), usual_arguments, WORDS("B=100", "M=32"), WORDS("T=f16"));
    CHECK_NUMBER(tap, config_cache_similar(tap->arena, &place.session, place.bound.kernel, &place.key, 8, entries), 4);
    place_free(&place);
}

static void test_miss(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    struct status status = config_cache_miss(tap->arena, &place.session, &place.key, NULL);
    CHECK(tap, !status.ok && strcmp(status.code, "cache.miss") == 0 && strstr(status.reason, "has no entries"));
    CHECK(tap, status_result(&status) == TILEC_NO_CONFIG);
    CHECK(tap, place_store(&place, 1, 1));
    place_bind(&place, JAGGED_SUM, usual_arguments, WORDS("B=1000", "M=128"), NULL);
    CHECK(tap, place_store(&place, 1, 1));
    place_bind(&place, JAGGED_SUM, usual_arguments, WORDS("B=200", "M=64"), NULL);
    status = config_cache_miss(tap->arena, &place.session, &place.key, NULL);
    CHECK(tap, strstr(status.reason, "shape: B=256 offsets.rows=256 offsets.mean=32 offsets.skew=2 is wanted, the entry has B=128"));
    CHECK(tap, !strstr(status.reason, "static") && !strstr(status.reason, "program"));
    place_free(&place);
}

// ---------------------------------------------------------------------------------------------- the limit

static bool there(struct cache *cache, struct cache_key key)
{
    return faccessat(cache->folder, key.hex, F_OK, 0) == 0;
}

static struct cache_key numbered(int number)
{
    return cache_hash(&(struct cache_part){&number, sizeof number}, 1);
}

// Of ten entries, the five that were used last stay, whatever the order in which they were stored.
static void test_limit(struct tap *tap)
{
    enum { ENTRIES = 10, BYTES = 10000 };
    static const char payload[BYTES];
    struct place place;
    place_new(tap, &place);
    setenv("TILEC_CACHE_SIZE", "100M", 1);
    place_again(&place);
    struct cache cache = cache_open_place(tap->arena, &place.session, CACHE_OBJECTS);
    for (int i = 0; i < ENTRIES; i++) {
        const struct timespec times[2] = {{.tv_sec = 1000000 + 100 * i}, {.tv_nsec = UTIME_OMIT}};
        CHECK(tap, cache_store(&cache, &(struct cache_key[]){numbered(i)}[0], payload, BYTES));
        CHECK(tap, utimensat(cache.folder, numbered(i).hex, times, 0) == 0);
    }
    struct cache_key oldest = numbered(0), keep = numbered(ENTRIES);
    CHECK(tap, cache_read(&cache, &oldest, NULL));  // now the one used last
    CHECK(tap, cache_store(&cache, &keep, payload, BYTES));
    cache_close(&cache);
    setenv("TILEC_CACHE_SIZE", "60000", 1);
    place_again(&place);
    cache = cache_open_place(tap->arena, &place.session, CACHE_OBJECTS);
    cache_sweep(&cache, &keep);
    int left = 0;
    for (int i = 1; i < ENTRIES; i++) left += there(&cache, numbered(i));
    CHECK(tap, there(&cache, oldest) && there(&cache, keep));
    CHECK_NUMBER(tap, left, 3);
    for (int i = ENTRIES - 3; i < ENTRIES; i++) CHECK(tap, there(&cache, numbered(i)));
    for (int i = 100; i < 200; i++) CHECK(tap, cache_store(&cache, &(struct cache_key[]){numbered(i)}[0], payload, BYTES));
    left = 0;
    for (int i = 0; i < 200; i++) left += there(&cache, numbered(i));
    CHECK(tap, left >= 1 && left <= 6 && there(&cache, numbered(199)));  // entries this large are swept for at once
    cache_close(&cache);
    unsetenv("TILEC_CACHE_SIZE");
    place_free(&place);
}

// A temporary file that a killed process left goes after an hour; one at work stays, and so does what isn't ours.
static void test_left_over(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    struct cache cache = cache_open_place(tap->arena, &place.session, CACHE_OBJECTS);
    struct cache_key key = numbered(1);
    const char *names[] = {arena_printf(tap->arena, "%s.0123456789abcdef", key.hex), arena_printf(tap->arena, "%s.0000000000000000", key.hex), "README"};
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    for (int i = 0; i < 3; i++) close(openat(cache.folder, names[i], O_WRONLY | O_CREAT, 0600));
    CHECK(tap, utimensat(cache.folder, names[0], old, 0) == 0 && utimensat(cache.folder, names[2], old, 0) == 0);
    cache_sweep(&cache, &key);
    CHECK(tap, faccessat(cache.folder, names[0], F_OK, 0) != 0);
    CHECK(tap, faccessat(cache.folder, names[1], F_OK, 0) == 0 && faccessat(cache.folder, names[2], F_OK, 0) == 0);
    CHECK(tap, cache_store(&cache, &key, "x", 1));
    CHECK_NUMBER(tap, cache_clear(&cache), 1);
    CHECK(tap, faccessat(cache.folder, names[1], F_OK, 0) != 0 && faccessat(cache.folder, names[2], F_OK, 0) == 0);
    cache_close(&cache);
    place_free(&place);
}

int main(void)
{
    static const struct tap_test tests[] = {
        {"the program's key: helpers count, comments don't", test_program},
        {"extents that are compiled in, and element types", test_specialization},
        {"the shape's class", test_shape},
        {"what the default config is told of the rows", test_data},
        {"the device, its driver, the toolkit, what code is made for", test_device},
        {"a strict cache knows builds", test_strict},
        {"a binary's key: all but the shape's class", test_binary},
        {"what a search starts from: the likest first, each config once", test_similar},
        {"a miss says what differs in the nearest entry", test_miss},
        {"within the limit what was used last stays", test_limit},
        {"left-over temporary files go", test_left_over},
    };
    return tap_run(tests, sizeof tests / sizeof *tests);
}
