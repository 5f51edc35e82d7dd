// SPDX-License-Identifier: Apache-2.0
// In: paths. Out: sources in an arena, and files written whole or not at all.
// A file is read with one open descriptor, so what was checked is what is read.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/given.h"
#include "runtime/runtime.h"

enum { SOURCE_LIMIT = 64 << 20 };  // spans are 32-bit offsets; a program this large is a mistake

// ---------------------------------------------------------------------------------------------- reading

// Reads to the end, whatever the file says its size is: pipes have none.
static bool read_all(int file, struct text *text, const char **reason)
{
    char buffer[16384];
    for (;;) {
        ssize_t count = read(file, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return *reason = strerror(errno), false;
        if (count == 0) return true;
        if (text->length + (size_t)count > SOURCE_LIMIT) return *reason = "it is larger than 64 MiB", false;
        text_add_bytes(text, buffer, (size_t)count);
    }
}

struct content {
    struct text text;
    bool is_regular;
    dev_t device;  // with the inode: which file it is, whatever the path
    ino_t inode;
};

static bool read_path(const char *path, struct content *content, const char **reason)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return *reason = strerror(errno), false;
    struct stat about;
    bool ok = fstat(file, &about) == 0;
    if (!ok) *reason = strerror(errno);
    else if (S_ISDIR(about.st_mode)) ok = false, *reason = "it is a folder";
    else if (S_ISFIFO(about.st_mode)) fcntl(file, F_SETFL, 0);  // /dev/fd/N of a shell waits for its writer
    if (ok) content->is_regular = S_ISREG(about.st_mode), content->device = about.st_dev, content->inode = about.st_ino;
    ok = ok && read_all(file, &content->text, reason);
    close(file);
    return ok;
}

static bool read_file(const char *path, struct content *content, const char **reason)
{
    return strcmp(path, "-") == 0 ? read_all(STDIN_FILENO, &content->text, reason) : read_path(path, content, reason);
}

const struct source *source_read(struct arena *arena, const char *path, const char **reason)
{
    struct content content = {0};
    const struct text *text = &content.text;
    struct source *source = NULL;
    if (read_file(path, &content, reason)) {
        source = ARENA_NEW(arena, struct source);
        source->path = strcmp(path, "-") == 0 ? "<stdin>" : arena_copy(arena, path, strlen(path));
        source->text = arena_copy(arena, text->data ? text->data : "", text->length);
        source->length = text->length;
        if (content.is_regular)
            source->identity = arena_printf(arena, "%jx:%jx", (uintmax_t)content.device, (uintmax_t)content.inode);
    }
    else {
        *reason = arena_copy(arena, *reason, strlen(*reason));
    }
    text_free(&content.text);
    return source;
}

tilec_result tilec_file_read(const char *path, tilec_report *report, tilec_text *text)
{
    if (text) *text = (tilec_text){0};
    WANT(report, path, text);
    struct content content = {0};
    const char *reason = NULL;
    if (read_file(path, &content, &reason)) return *text = text_take(&content.text), TILEC_OK;
    text_free(&content.text);
    return report_failed(report, "usage.file", NULL, "can't read %s: %s", path, reason);
}

// ---------------------------------------------------------------------------------------------- imports

static const struct source *load_import(void *data, struct arena *arena, const char *from, const char *path,
                                        const char **reason)
{
    (void)data;
    const char *slash = from ? strrchr(from, '/') : NULL;
    if (path[0] == '/' || !slash) return source_read(arena, path, reason);
    return source_read(arena, arena_printf(arena, "%.*s/%s", (int)(slash - from), from, path), reason);
}

const struct frontend_loader source_loader = {.load = load_import};

// ---------------------------------------------------------------------------------------------- writing

static bool write_all(int file, const char *data, size_t length)
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

// A device or pipe (/dev/stdout, /dev/full) can't be renamed over: it is written as it is.
static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static bool save_special(const char *path, const char *data, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool ok = write_all(file, data, length);
    int error = errno;
    if (close(file) != 0 && ok) return false;
    errno = error;
    return ok;
}

// A file that is replaced keeps its permissions; a new one has what the umask leaves.
static int open_beside(const char *path, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random) return -1;
        snprintf(temporary, size, "%s.%016llx", path, (unsigned long long)random);
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

static bool fill_and_rename(int file, const char *temporary, const char *path, const char *data, size_t length)
{
    struct stat about;
    bool ok = stat(path, &about) != 0 || fchmod(file, about.st_mode & 0777) == 0;
    ok = ok && write_all(file, data, length) && fsync(file) == 0;
    int error = errno;
    if (close(file) != 0 && ok) ok = false, error = errno;
    if (ok && rename(temporary, path) != 0) ok = false, error = errno;
    if (!ok) unlink(temporary);
    errno = error;
    return ok;
}

static bool save_regular(const char *path, const char *data, size_t length)
{
    char *target = realpath(path, NULL);  // a link stays, what it points to is replaced
    const char *place = target ? target : path;
    size_t size = strlen(place) + 18;
    char *temporary = malloc(size);
    int file = temporary ? open_beside(place, temporary, size) : -1;
    bool ok = file >= 0 && fill_and_rename(file, temporary, place, data, length);
    int error = errno;
    free(temporary);
    free(target);
    errno = error;
    return ok;
}

bool file_is(const char *one, const char *other)
{
    struct stat first, second;
    bool there = stat(one, &first) == 0;
    if (there != (stat(other, &second) == 0)) return false;
    if (!there) return strcmp(one, other) == 0;
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

struct status file_save(struct arena *arena, const char *path, const char *text, size_t length)
{
    bool ok = is_special(path) ? save_special(path, text, length) : save_regular(path, text, length);
    if (ok) return STATUS_OK;
    return status_failed(arena, "write.file", "can't write %s: %s", path, strerror(errno));
}

tilec_result tilec_file_save(const char *path, const void *data, size_t length, tilec_report *report)
{
    WANT(report, path);
    if (length) WANT(report, data);
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    struct status status = file_save(arena, path, data, length);
    tilec_result result = report_status(report, &status);
    arena_free(arena);
    return result;
}
