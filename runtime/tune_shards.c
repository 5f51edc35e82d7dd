// SPDX-License-Identifier: Apache-2.0
// In: a folder with the journals of shards. Out: one table of all their results, or which shard is missing, unfinished
// or not like the others. Times of two kinds of device are never put side by side.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/runtime.h"
#include "runtime/tune_shards.h"

static const char *journal_path(struct arena *arena, const char *folder, int index, int count) {
    return arena_printf(arena, "%s/%d-of-%d.journal", folder, index + 1, count);
}

struct status shard_journal(struct arena *arena, const char *folder, const struct shard *shard, const char **path) {
    *path = journal_path(arena, folder, shard->index, shard->count);
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return STATUS_OK;
    return status_failed(arena, "write.folder", "can't make the folder %s: %s", folder, strerror(errno));
}

const char *shard_head(struct arena *arena, const struct shard *shard, const char *device) {
    struct text text = {0};
    wire_add_text(&text, "shard", shard_name(arena, shard));
    wire_add_text(&text, "device", device);
    const char *head = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return head;
}

// ---------------------------------------------------------------------------------------- which journals

// How many shards there are: what the names of the folder's journals say, all the same.
static struct status count_shards(struct arena *arena, const char *folder, int *count) {
    DIR *directory = opendir(folder);
    struct status status = STATUS_OK;
    *count = 0;
    if (!directory)
        return status_failed(arena, "usage.merge", "can't look into %s: %s", folder, strerror(errno));
    for (struct dirent *entry; status.ok && (entry = readdir(directory)) != NULL;) {
        int index = 0, all = 0, end = -1;
        if (sscanf(entry->d_name, "%d-of-%d.journal%n", &index, &all, &end) != 2 || end < 0 || entry->d_name[end])
            continue;
        if (*count && all != *count)
            status =
                status_failed(arena, "usage.merge", "%s has journals of %d shards and of %d: keep one tune in a folder",
                              folder, *count, all);
        *count = all;
    }
    closedir(directory);
    if (status.ok && *count < 1)
        status = status_failed(arena, "usage.merge", "%s has no journals of shards (1-of-4.journal, …)", folder);
    return status;
}

static struct status read_one(struct arena *arena, const char *folder, int index, int count,
                              const struct ir_kernel *kernel, int rows, struct journal_read *read) {
    const char *path = journal_path(arena, folder, index, count);
    struct stat about;
    if (stat(path, &about) != 0)
        return status_failed(arena, "usage.merge",
                             "shard %d/%d is missing: there is no %s; `tilec tune … --shard %d/%d` makes it", index + 1,
                             count, path, index + 1, count);
    struct status status = journal_read(arena, path, kernel, rows, read);
    if (status.ok && !read->finished)
        status = status_failed(arena, "usage.merge",
                               "shard %d/%d isn't at its end yet: %s was broken off, or is being written; the same "
                               "command goes on there",
                               index + 1, count, path);
    return status;
}

// Of another tune, or from another device than the first.
static struct status compare(struct arena *arena, const char *folder, int index, int count,
                             const struct journal_read *first, const struct journal_read *read) {
    const char *path = journal_path(arena, folder, index, count), *other = journal_path(arena, folder, 0, count);
    const char *shard = shard_name(arena, &(struct shard){index, count});
    if (strcmp(read->device, first->device) != 0)
        return status_failed(arena, "usage.merge", "%s is from %s, %s from %s: times of two devices don't mix", path,
                             read->device, other, first->device);
    if (strcmp(read->key, first->key) != 0 || strcmp(read->shard, shard) != 0)
        return status_failed(arena, "usage.merge",
                             "%s is of another tune than %s (another program, data, driver, seed or list of configs)",
                             path, other);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------- their results

struct status shards_merge(struct arena *arena, const char *folder, const struct ir_kernel *kernel, bool listed,
                           struct tune_rows *rows, struct merged *merged) {
    int count = 0, all = 0;
    struct status status = count_shards(arena, folder, &count);
    if (!status.ok)
        return status;
    struct journal_read *reads = ARENA_ARRAY(arena, struct journal_read, count);
    for (int i = 0; i < count && status.ok; i++) {
        status = read_one(arena, folder, i, count, kernel, listed ? rows->count : 0, &reads[i]);
        if (status.ok)
            status = compare(arena, folder, i, count, &reads[0], &reads[i]);
        all += reads[i].count;
    }
    if (!status.ok)
        return status;
    *merged = (struct merged){reads[0].key, reads[0].device, count, 0, 0, true};
    for (int i = 0; i < count; i++) {
        merged->seconds += reads[i].seconds;
        merged->whole &= reads[i].whole;
    }
    if (!listed)
        *rows = tune_rows_new(arena, all + 1);
    for (int i = 0; i < count; i++)
        merged->results += journal_take_results(&reads[i], !listed, rows);
    for (int i = 0; i < rows->count; i++)
        if (rows->items[i].stage != STAGE_DONE) {
            rows->items[i].stage = STAGE_DONE;
            rows->items[i].result.status = TUNE_SKIPPED_INTERRUPTED;
            rows->items[i].result.reason = "no shard has a result for it";
        }
    return STATUS_OK;
}
