// SPDX-License-Identifier: Apache-2.0
// In: a folder of the cache. Out: the same within its limit: the entries used least recently are removed.
//
// Several processes may sweep at once and others may read: an entry that goes while it is looked for is a miss. What
// isn't named like an entry is left alone.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/build.h"

enum { TEMPORARY_DIGITS = 16, TEMPORARY_SECONDS = 3600 };

struct file {
    char name[CACHE_KEY_BYTES + TEMPORARY_DIGITS + 2];
    bool temporary;
    int64_t bytes;
    struct timespec used;  // of a temporary file: when it was written to
};
struct files {
    size_t count, capacity;
    struct file *items;
};

static bool only_digits(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") >= count;
}

static bool is_entry(const char *name)
{
    return strlen(name) == CACHE_KEY_BYTES && only_digits(name, CACHE_KEY_BYTES);
}

static bool is_temporary(const char *name)
{
    return strlen(name) == CACHE_KEY_BYTES + 1 + TEMPORARY_DIGITS && only_digits(name, CACHE_KEY_BYTES) && name[CACHE_KEY_BYTES] == '.' &&
           only_digits(name + CACHE_KEY_BYTES + 1, TEMPORARY_DIGITS);
}

static DIR *open_listing(const struct cache *cache)
{
    int folder = cache->folder < 0 ? -1 : openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = folder < 0 ? NULL : fdopendir(folder);
    if (!listing && folder >= 0) close(folder);
    return listing;
}

static bool add_file(struct files *files, const struct file *file)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? 2 * files->capacity : 256;
        struct file *items = realloc(files->items, capacity * sizeof *items);
        if (!items) return false;
        files->items = items;
        files->capacity = capacity;
    }
    files->items[files->count++] = *file;
    return true;
}

static struct files list_files(const struct cache *cache)
{
    struct files files = {0};
    DIR *listing = open_listing(cache);
    for (struct dirent *item = listing ? readdir(listing) : NULL; item; item = readdir(listing)) {
        struct stat about;
        struct file file = {.temporary = is_temporary(item->d_name)};
        if (!file.temporary && !is_entry(item->d_name)) continue;
        if (fstatat(cache->folder, item->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
        memcpy(file.name, item->d_name, strlen(item->d_name) + 1);
        file.bytes = (int64_t)about.st_size;
        file.used = file.temporary ? about.st_mtim : about.st_atim;
        if (!add_file(&files, &file)) break;
    }
    if (listing) closedir(listing);
    return files;
}

static int older(const void *a, const void *b)
{
    const struct timespec *left = &((const struct file *)a)->used, *right = &((const struct file *)b)->used;
    if (left->tv_sec != right->tv_sec) return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

void cache_sweep(const struct cache *cache, const struct cache_key *keep)
{
    struct files files = list_files(cache);
    struct timespec now = {0};
    int64_t bytes = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    if (files.count) qsort(files.items, files.count, sizeof *files.items, older);
    for (size_t i = 0; i < files.count; i++) {
        struct file *file = &files.items[i];
        bool left_over = file->temporary && now.tv_sec - file->used.tv_sec > TEMPORARY_SECONDS;
        if (left_over && unlinkat(cache->folder, file->name, 0) == 0) file->bytes = 0;
        bytes += file->bytes;
    }
    if (bytes > cache->limit) {  // somewhat below it, so that not every store sweeps
        for (size_t i = 0; i < files.count && bytes > cache->limit - cache->limit / 8; i++) {
            const struct file *file = &files.items[i];
            if (file->temporary || strcmp(file->name, keep->hex) == 0) continue;
            if (unlinkat(cache->folder, file->name, 0) == 0 || errno == ENOENT) bytes -= file->bytes;
        }
    }
    free(files.items);
}

void cache_visit(const struct cache *cache, bool (*visit)(void *data, const char *name, int64_t bytes), void *data)
{
    struct files files = list_files(cache);
    bool go_on = true;
    for (size_t i = 0; i < files.count && go_on; i++)
        if (!files.items[i].temporary) go_on = visit(data, files.items[i].name, files.items[i].bytes);
    free(files.items);
}

// What stands in an entry's place may be an empty folder.
static bool remove_file(const struct cache *cache, const char *name)
{
    if (unlinkat(cache->folder, name, 0) == 0 || errno == ENOENT) return true;
    return errno == EISDIR && unlinkat(cache->folder, name, AT_REMOVEDIR) == 0;
}

int cache_remove(const struct cache *cache, const struct cache_key *key)
{
    if (cache->folder < 0 || faccessat(cache->folder, key->hex, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    return remove_file(cache, key->hex) ? 1 : -1;
}

int cache_clear(const struct cache *cache)
{
    struct files files = list_files(cache);
    int count = 0;
    bool ok = true;
    for (size_t i = 0; i < files.count; i++) {
        ok = remove_file(cache, files.items[i].name) && ok;
        count += !files.items[i].temporary;
    }
    free(files.items);
    return ok ? count : -1;
}
