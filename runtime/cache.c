// SPDX-License-Identifier: Apache-2.0
// In: a key over everything an object depends on, and its bytes. Out: the same bytes later, or a miss.
//
// An entry is code that will be loaded, so it must be whole and this user's own. A file is the payload and behind it a
// trailer with key, length and SHA-256 of the payload: a file that is cut, changed or of another key is a miss. Folder
// and file must belong to this user and be writable by no other; all names are looked up from the folder's descriptor,
// so renaming a folder above changes nothing.
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"

enum { DIGEST_BYTES = 32, TRAILER_BYTES = 192, ENTRY_LIMIT = 1 << 28 };

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

static const char *folder_path(struct arena *arena)
{
    const char *chosen = getenv("TILEC_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (chosen && *chosen) return arena_printf(arena, "%s/objects", chosen);
    if (cache && *cache == '/') return arena_printf(arena, "%s/tilec/objects", cache);
    return home && *home ? arena_printf(arena, "%s/.cache/tilec/objects", home) : NULL;
}

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

struct cache cache_open(struct arena *arena)
{
    struct cache cache = {.folder = -1, .path = folder_path(arena)};
    if (!cache.path) return cache.reason = "neither TILEC_CACHE_DIR nor HOME is set", cache;
    int folder = open(cache.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        make_folders(arena, cache.path);
        folder = open(cache.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    }
    struct stat about;
    if (folder < 0 || fstat(folder, &about) != 0) {
        cache.reason = arena_printf(arena, "%s: %s", cache.path, strerror(errno));
    }
    else if (!is_private(&about)) {
        cache.reason = arena_printf(arena, "%s belongs to another user or may be written by one", cache.path);
    }
    if (!cache.reason) cache.folder = folder;
    else if (folder >= 0) close(folder);
    return cache;
}

void cache_close(struct cache *cache)
{
    if (cache->folder >= 0) close(cache->folder);
    cache->folder = -1;
}

// ---------------------------------------------------------------------------------------------- entries

static void write_trailer(char trailer[TRAILER_BYTES], const struct cache_key *key, const void *data, size_t length)
{
    struct cache_key sum = cache_hash(&(struct cache_part){data, length}, 1);
    char line[TRAILER_BYTES + 1];
    snprintf(line, sizeof line, "\ntilec object 1 %s %s %016zx\n", key->hex, sum.hex, length);
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

static bool is_whole(const char *data, size_t length, const struct cache_key *key)
{
    if (length < TRAILER_BYTES) return false;
    char trailer[TRAILER_BYTES];
    write_trailer(trailer, key, data, length - TRAILER_BYTES);
    return memcmp(trailer, data + length - TRAILER_BYTES, TRAILER_BYTES) == 0;
}

static bool read_entry(int file, const struct cache_key *key, struct text *payload)
{
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || !is_private(&about)) return false;
    if (about.st_size < TRAILER_BYTES || about.st_size > ENTRY_LIMIT) return false;
    size_t length = (size_t)about.st_size;
    char *data = malloc(length);
    bool ok = data && read_exactly(file, data, length) && is_whole(data, length, key);
    if (ok && payload) text_add_bytes(payload, data, length - TRAILER_BYTES);
    free(data);
    return ok;
}

bool cache_read(const struct cache *cache, const struct cache_key *key, struct text *payload)
{
    if (cache->folder < 0 || !*key->hex) return false;
    int file = openat(cache->folder, key->hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return false;
    bool ok = read_entry(file, key, payload);
    close(file);
    return ok;
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

bool cache_store(const struct cache *cache, const struct cache_key *key, const void *data, size_t length)
{
    if (cache->folder < 0 || !*key->hex || length > ENTRY_LIMIT - TRAILER_BYTES) return false;
    uint64_t random = 0;
    char name[CACHE_KEY_BYTES + 32], trailer[TRAILER_BYTES];
    if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
    snprintf(name, sizeof name, "%s.%016llx", key->hex, (unsigned long long)random);
    int file = openat(cache->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return false;
    write_trailer(trailer, key, data, length);
    bool ok = write_exactly(file, data, length) && write_exactly(file, trailer, TRAILER_BYTES) && fsync(file) == 0;
    ok = close(file) == 0 && ok;
    ok = ok && renameat(cache->folder, name, cache->folder, key->hex) == 0;
    if (!ok) unlinkat(cache->folder, name, 0);
    return ok;
}

const char *cache_entry_path(struct arena *arena, const struct cache *cache, const struct cache_key *key)
{
    return arena_printf(arena, "/proc/self/fd/%d/%s", cache->folder, key->hex);
}
