// SPDX-License-Identifier: Apache-2.0
// The object cache: whole entries come back, everything else is a miss.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/runtime/tap.h"

enum { PAYLOAD = 300 };

struct place {
    char folder[64];
    struct cache cache;
    struct cache_key key;
    char payload[PAYLOAD];
    const char *entry;
};

static void place_new(struct tap *tap, struct place *place)
{
    *place = (struct place){.folder = "/tmp/tilec-cache-XXXXXX"};
    CHECK(tap, mkdtemp(place->folder) != NULL);
    setenv("TILEC_CACHE_DIR", place->folder, 1);
    place->cache = cache_open(tap->arena);
    CHECK(tap, place->cache.folder >= 0);
    place->key = cache_hash(&(struct cache_part){"key", 3}, 1);
    for (int i = 0; i < PAYLOAD; i++) place->payload[i] = (char)(i * 7);
    place->entry = arena_printf(tap->arena, "%s/objects/%s", place->folder, place->key.hex);
}

static void place_free(struct place *place)
{
    char path[512];
    snprintf(path, sizeof path, "%s/objects", place->folder);
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
    rmdir(path);
    rmdir(place->folder);
    cache_close(&place->cache);
}

static bool hit(const struct place *place)
{
    struct text text = {0};
    bool ok = cache_read(&place->cache, &place->key, &text) && text.length == PAYLOAD && memcmp(text.data, place->payload, PAYLOAD) == 0;
    text_free(&text);
    return ok;
}

static bool store(const struct place *place)
{
    return cache_store(&place->cache, &place->key, place->payload, PAYLOAD);
}

// ---------------------------------------------------------------------------------------------- tests

// The empty parts and the boundaries count too.
static void test_hash(struct tap *tap)
{
    struct cache_key a = cache_hash((struct cache_part[]){{"ab", 2}, {"c", 1}}, 2);
    struct cache_key b = cache_hash((struct cache_part[]){{"a", 1}, {"bc", 2}}, 2);
    struct cache_key c = cache_hash((struct cache_part[]){{"ab", 2}, {"c", 1}, {"", 0}}, 3);
    CHECK(tap, strlen(a.hex) == CACHE_KEY_BYTES && strspn(a.hex, "0123456789abcdef") == CACHE_KEY_BYTES);
    CHECK(tap, strcmp(a.hex, b.hex) != 0 && strcmp(a.hex, c.hex) != 0);
    // SHA-256 of eight length bytes and "abc", by coreutils: printf '\3\0\0\0\0\0\0\0abc' | sha256sum
    CHECK_TEXT(tap, cache_hash(&(struct cache_part){"abc", 3}, 1).hex,
               "ce91dc5eec0139adf091900d225971d6ad246a845bad791b5693a9d0d55dd391");
}

static void test_round_trip(struct tap *tap)
{
    struct place place;
    struct stat about;
    place_new(tap, &place);
    CHECK(tap, !hit(&place));
    CHECK(tap, store(&place) && hit(&place));
    CHECK(tap, stat(place.entry, &about) == 0 && (about.st_mode & 0777) == 0600);
    CHECK(tap, stat(arena_printf(tap->arena, "%s/objects", place.folder), &about) == 0 && (about.st_mode & 0777) == 0700);
    CHECK(tap, store(&place) && hit(&place));
    struct cache_key other = cache_hash(&(struct cache_part){"other", 5}, 1);
    CHECK(tap, !cache_read(&place.cache, &other, NULL));
    CHECK(tap, rename(place.entry, arena_printf(tap->arena, "%s/objects/%s", place.folder, other.hex)) == 0);
    CHECK(tap, !cache_read(&place.cache, &other, NULL));  // an entry under another key's name
    place_free(&place);
}

static void test_cuts(struct tap *tap)
{
    struct place place;
    struct stat about;
    place_new(tap, &place);
    CHECK(tap, store(&place) && stat(place.entry, &about) == 0);
    for (off_t length = about.st_size - 1; length >= 0 && tap->ok; length--) {
        CHECK(tap, truncate(place.entry, length) == 0);
        CHECK(tap, !hit(&place));
    }
    CHECK(tap, store(&place) && hit(&place));  // and is mended by the next store
    place_free(&place);
}

static void test_changed_bytes(struct tap *tap)
{
    struct place place;
    struct stat about;
    place_new(tap, &place);
    CHECK(tap, store(&place) && stat(place.entry, &about) == 0);
    int file = open(place.entry, O_RDWR);
    for (off_t at = 0; at < about.st_size && tap->ok; at++) {
        char byte = 0, changed;
        CHECK(tap, pread(file, &byte, 1, at) == 1);
        changed = (char)(byte ^ 1);
        CHECK(tap, pwrite(file, &changed, 1, at) == 1);
        CHECK(tap, !hit(&place));
        CHECK(tap, pwrite(file, &byte, 1, at) == 1);
    }
    CHECK(tap, hit(&place));
    CHECK(tap, pwrite(file, "x", 1, about.st_size) == 1 && !hit(&place));
    close(file);
    place_free(&place);
}

static void test_others_may_write(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    CHECK(tap, store(&place));
    CHECK(tap, chmod(place.entry, 0620) == 0 && !hit(&place));
    CHECK(tap, chmod(place.entry, 0602) == 0 && !hit(&place));
    CHECK(tap, chmod(place.entry, 0644) == 0 && hit(&place));
    const char *objects = arena_printf(tap->arena, "%s/objects", place.folder);
    CHECK(tap, chmod(objects, 0777) == 0);
    struct cache open_to_all = cache_open(tap->arena);
    CHECK(tap, open_to_all.folder < 0 && strstr(open_to_all.reason, "another user"));
    CHECK(tap, !cache_read(&open_to_all, &place.key, NULL) && !cache_store(&open_to_all, &place.key, "x", 1));
    CHECK(tap, chmod(objects, 0700) == 0);
    if (geteuid() == 0) CHECK(tap, chown(place.entry, 12345, 12345) == 0 && !hit(&place));
    place_free(&place);
}

static void test_not_a_file(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    CHECK(tap, store(&place));
    const char *elsewhere = arena_printf(tap->arena, "%s/objects/elsewhere", place.folder);
    CHECK(tap, rename(place.entry, elsewhere) == 0 && symlink(elsewhere, place.entry) == 0 && !hit(&place));
    CHECK(tap, unlink(place.entry) == 0 && mkfifo(place.entry, 0600) == 0 && !hit(&place));
    CHECK(tap, unlink(place.entry) == 0 && mkdir(place.entry, 0700) == 0 && !hit(&place));
    CHECK(tap, store(&place) && hit(&place));  // what is in the way is replaced, unless something is in it
    CHECK(tap, unlink(place.entry) == 0 && mkdir(place.entry, 0700) == 0);
    const char *inside = arena_printf(tap->arena, "%s/inside", place.entry);
    CHECK(tap, mkdir(inside, 0700) == 0 && !store(&place) && rmdir(inside) == 0 && rmdir(place.entry) == 0);
    place_free(&place);
}

static void test_no_folder(struct tap *tap)
{
    setenv("TILEC_CACHE_DIR", "/proc/nowhere", 1);
    struct cache cache = cache_open(tap->arena);
    CHECK(tap, cache.folder < 0 && cache.reason);
    cache_close(&cache);
}

// Many processes store and read one entry: each read is a hit or, before the first store, a miss; nothing is left over.
static void test_concurrent(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    CHECK(tap, store(&place));
    for (int i = 0; i < 8; i++) {
        if (fork() != 0) continue;
        bool ok = true;
        for (int j = 0; j < 50 && ok; j++) ok = store(&place) && hit(&place);
        _exit(!ok);
    }
    for (int i = 0; i < 8; i++) {
        int state = 0;
        CHECK(tap, wait(&state) > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
    int entries = 0;
    DIR *folder = opendir(arena_printf(tap->arena, "%s/objects", place.folder));
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) entries += entry->d_name[0] != '.';
    closedir(folder);
    CHECK_NUMBER(tap, entries, 1);
    place_free(&place);
}

int main(void)
{
    static const struct tap_test tests[] = {
        {"a key covers parts and their boundaries", test_hash},
        {"what is stored comes back, under its key alone", test_round_trip},
        {"an entry cut at any byte is a miss", test_cuts},
        {"an entry with any byte changed is a miss", test_changed_bytes},
        {"what others own or may write is a miss", test_others_may_write},
        {"links, pipes and folders are misses", test_not_a_file},
        {"without a folder everything is a miss", test_no_folder},
        {"processes storing at once don't disturb each other", test_concurrent},
    };
    return tap_run(tests, sizeof tests / sizeof *tests);
}
