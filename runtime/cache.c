// SPDX-License-Identifier: Apache-2.0
// In: a key over everything an object depends on, and its bytes. Out: the same bytes later, or a miss.
//
// An entry is code that will be loaded, so it must be whole and this user's own. A file is the payload and behind it a
// trailer with key, length and SHA-256 of the payload: a file that is cut, changed or of another key is a miss. Folder
// and file must belong to this user and be writable by no other; all names are looked up from the folder's descriptor,
// so renaming a folder above changes nothing. Which entries go when there are too many is in cache_sweep.c.
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/config_cache.h"
#include "runtime/runtime.h"

enum { DIGEST_BYTES = 32, TRAILER_BYTES = CACHE_TRAILER_BYTES, ENTRY_LIMIT = 1 << 28 };

// ---------------------------------------------------------------------------------------------- hashing

static void to_hex(const unsigned char *digest, char *hex)
{
    for (int i = 0; i < DIGEST_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

// Each part is hashed with its length before it, so that moving a byte from one part to the next changes the key.
struct cache_key cache_hash(const struct cache_part *parts, int count)
{
    struct cache_key key = {""};
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    for (int i = 0; ok && i < count; i++) {
        uint64_t length = parts[i].length;
        unsigned char bytes[8];
        for (int j = 0; j < 8; j++) bytes[j] = (unsigned char)(length >> 8 * j);
        ok = EVP_DigestUpdate(context, bytes, sizeof bytes) == 1 &&
             EVP_DigestUpdate(context, parts[i].data, parts[i].length) == 1;
    }
    ok = ok && EVP_DigestFinal_ex(context, digest, &size) == 1 && size == DIGEST_BYTES;
    EVP_MD_CTX_free(context);
    if (ok) to_hex(digest, key.hex);
    return key;
}

// ---------------------------------------------------------------------------------------------- the folder

// Makes the folder and those above it, each for this user only. Errors show when it is opened.
static void make_folders(struct arena *arena, const char *path)
{
    char *copy = arena_copy(arena, path, strlen(path));
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(copy, 0700);
        *slash = '/';
    }
    mkdir(copy, 0700);
}

static bool is_private(const struct stat *about)
{
    return about->st_uid == geteuid() && (about->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static void open_folder(struct arena *arena, struct cache *cache)
{
    int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        make_folders(arena, cache->path);
        folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    }
    struct stat about;
    if (folder < 0 || fstat(folder, &about) != 0) {
        cache->reason = arena_printf(arena, "%s: %s", cache->path, strerror(errno));
    }
    else if (!is_private(&about)) {
        cache->reason = arena_printf(arena, "%s belongs to another user or may be written by one", cache->path);
    }
    if (!cache->reason) cache->folder = folder;
    else if (folder >= 0) close(folder);
}

// Configs are small and took long to find: objects must not push them out, so each folder has its own share.
static int64_t share_of(int64_t limit, enum cache_place place)
{
    enum { SHARES = 128 };
    if (limit == INT64_MAX) return limit;
    return place == CACHE_CONFIGS ? limit / SHARES : limit - limit / SHARES;
}

struct cache cache_open_place(struct arena *arena, struct cache_session *session, enum cache_place place)
{
    struct cache_session own;
    const struct cache_settings *settings = &cache_session_or(arena, session, &own)->settings;
    struct cache cache = {.folder = -1, .session = session, .limit = share_of(settings->limit_bytes, place)};
    if (settings->folder) cache.path = arena_printf(arena, "%s/%s", settings->folder, place == CACHE_CONFIGS ? "configs" : "objects");
    if (settings->skip) return cache.reason = "the cache isn't used: TILEC_SKIP_CACHE is set", cache;
    if (cache.path) open_folder(arena, &cache);
    else cache.reason = "neither TILEC_CACHE_DIR nor HOME is set";
    if (cache.reason) cache_warn(session, "cache.folder", "nothing is kept for the next time: %s", cache.reason);
    return cache;
}

struct cache cache_open(struct arena *arena)
{
    return cache_open_place(arena, NULL, CACHE_OBJECTS);
}

void cache_close(struct cache *cache)
{
    if (cache->folder >= 0) close(cache->folder);
    cache->folder = -1;
}

// ---------------------------------------------------------------------------------------------- entries

void cache_write_trailer(char trailer[TRAILER_BYTES], const struct cache_key *key, const void *data, size_t length)
{
    struct cache_key sum = cache_hash(&(struct cache_part){data, length}, 1);
    char line[TRAILER_BYTES + 1];
    snprintf(line, sizeof line, "\ntilec entry 1 %s %s %016zx\n", key->hex, sum.hex, length);
    memset(trailer, ' ', TRAILER_BYTES);
    memcpy(trailer, line, strlen(line));
}

static bool read_exactly(int file, char *data, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = pread(file, data + done, length - done, (off_t)done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

bool cache_is_whole(const char *data, size_t length, const struct cache_key *key)
{
    if (length < TRAILER_BYTES) return false;
    char trailer[TRAILER_BYTES];
    cache_write_trailer(trailer, key, data, length - TRAILER_BYTES);
    return memcmp(trailer, data + length - TRAILER_BYTES, TRAILER_BYTES) == 0;
}

// When an entry was used last is its time of access, set here: file systems that keep it do so in their own ways.
static void touch(int file, const struct stat *about)
{
    enum { OFTEN = 60 };  // seconds
    struct timespec now;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - about->st_atim.tv_sec < OFTEN) return;
    if (futimens(file, times) != 0) return;  // a cache that may only be read has nothing removed either
}

// NULL, or what is wrong with the entry.
static const char *read_entry(int file, const struct cache_key *key, struct text *payload)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return "is no file";
    if (!is_private(&about)) return "belongs to another user or may be written by one";
    if (about.st_size < TRAILER_BYTES || about.st_size > ENTRY_LIMIT) return "is cut short or foreign";
    size_t length = (size_t)about.st_size;
    char *data = malloc(length);
    const char *wrong = !data ? "is larger than the memory" : !read_exactly(file, data, length) ? "can't be read" : NULL;
    if (!wrong && !cache_is_whole(data, length, key)) wrong = "is damaged or foreign";
    if (!wrong && payload) text_add_bytes(payload, data, length - TRAILER_BYTES);
    if (!wrong) touch(file, &about);
    free(data);
    return wrong;
}

bool cache_read(const struct cache *cache, const struct cache_key *key, struct text *payload)
{
    if (cache->folder < 0 || !*key->hex) return false;
    int file = openat(cache->folder, key->hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0 && errno == ENOENT) return false;
    const char *wrong = file < 0 ? "is a link, or can't be opened" : read_entry(file, key, payload);
    if (file >= 0) close(file);
    if (wrong) cache_warn(cache->session, "cache.entry", "the entry %s of %s isn't used: it %s", key->hex, cache->path, wrong);
    return wrong == NULL;
}

static bool write_exactly(int file, const char *data, size_t length)
{
    while (length) {
        ssize_t count = write(file, data, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        data += count;
        length -= (size_t)count;
    }
    return true;
}

// Puts the file in the entry's place, whatever is there now.
static bool replace(int folder, const char *name, const char *entry)
{
    if (renameat(folder, name, folder, entry) == 0) return true;
    return (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST) && unlinkat(folder, entry, AT_REMOVEDIR) == 0 &&
           renameat(folder, name, folder, entry) == 0;
}

static bool store_entry(const struct cache *cache, const struct cache_key *key, uint64_t random, const void *data, size_t length)
{
    char name[CACHE_KEY_BYTES + 32], trailer[TRAILER_BYTES];
    snprintf(name, sizeof name, "%s.%016llx", key->hex, (unsigned long long)random);
    int file = openat(cache->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return false;
    cache_write_trailer(trailer, key, data, length);
    bool ok = write_exactly(file, data, length) && write_exactly(file, trailer, TRAILER_BYTES) && fsync(file) == 0;
    ok = close(file) == 0 && ok;
    ok = ok && replace(cache->folder, name, key->hex);
    int error = errno;
    if (!ok) unlinkat(cache->folder, name, 0);
    errno = error;
    return ok;
}

bool cache_store(const struct cache *cache, const struct cache_key *key, const void *data, size_t length)
{
    enum { STORES_PER_SWEEP = 16, LARGE = 64 };
    uint64_t random = 0;
    if (cache->folder < 0 || !*key->hex || length > ENTRY_LIMIT - TRAILER_BYTES) return false;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
    if (!store_entry(cache, key, random, data, length)) {
        cache_warn(cache->session, "cache.write", "nothing is kept for the next time: %s: %s", cache->path, strerror(errno));
        return false;
    }
    if (random % STORES_PER_SWEEP == 0 || (int64_t)length >= cache->limit / LARGE) cache_sweep(cache, key);
    return true;
}

const char *cache_entry_path(struct arena *arena, const struct cache *cache, const struct cache_key *key)
{
    return arena_printf(arena, "/proc/self/fd/%d/%s", cache->folder, key->hex);
}
