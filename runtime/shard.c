// SPDX-License-Identifier: Apache-2.0
// In: "2/4", or the variables that a launcher sets for each process that it starts. Out: which share of the work this
// process does. Which pieces a share has depends on the pieces alone: a hash of each, so that processes agree without
// asking each other, and a piece stays with its share when others are added.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/build.h"
#include "runtime/shard.h"

enum { SHARDS_MOST = 100000 };

static bool read_number(const char *text, int least, int most, int *number) {
    char *end = NULL;
    errno = 0;
    long value = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    *number = (int)value;
    return end && !*end && !errno && value >= least && value <= most;
}

static struct status parse_pair(struct arena *arena, const char *text, struct shard *shard) {
    const char *slash = strchr(text, '/');
    const char *before = slash ? arena_copy(arena, text, (size_t)(slash - text)) : text;
    int which = 0;
    if (slash && read_number(slash + 1, 1, SHARDS_MOST, &shard->count) &&
        read_number(before, 1, shard->count, &which)) {
        shard->index = which - 1;
        return STATUS_OK;
    }
    return status_failed(arena, "usage.shard", "a shard is 'i/n' with 1 <= i <= n <= %d, or 'auto', not '%s'",
                         SHARDS_MOST, text);
}

// ---------------------------------------------------------------------------------------- auto

// How a launcher numbers the processes that it starts, from 0.
struct launcher {
    const char *name, *rank, *count;
};
// The innermost first: torchrun and mpirun run inside a step of Slurm.
static const struct launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

static struct status refuse(struct arena *arena, const char *launcher, const char *first, const char *second) {
    const char *one = getenv(first), *other = getenv(second);
    return status_failed(arena, "usage.shard", "--shard auto: %s says %s=%s and %s=%s, which is no place among several",
                         launcher, first, one ? one : "", second, other ? other : "");
}

static struct status read_launcher(struct arena *arena, struct shard *shard, bool *found) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *launcher = &launchers[i];
        if (!getenv(launcher->rank) || !getenv(launcher->count))
            continue;
        *found = true;
        if (read_number(getenv(launcher->count), 1, SHARDS_MOST, &shard->count) &&
            read_number(getenv(launcher->rank), 0, shard->count - 1, &shard->index))
            return STATUS_OK;
        return refuse(arena, launcher->name, launcher->rank, launcher->count);
    }
    return STATUS_OK;
}

// The tasks of a job array, whose numbers may begin and step as they like (--array=3-9:2).
static struct status read_array(struct arena *arena, struct shard *shard, bool *found) {
    const char *id = getenv("SLURM_ARRAY_TASK_ID"), *count = getenv("SLURM_ARRAY_TASK_COUNT"),
               *least = getenv("SLURM_ARRAY_TASK_MIN"), *step = getenv("SLURM_ARRAY_TASK_STEP");
    int number = 0, first = 0, stride = 1;
    if (!id || !count)
        return STATUS_OK;
    *found = true;
    bool good = read_number(count, 1, SHARDS_MOST, &shard->count) && read_number(id, 0, INT32_MAX, &number) &&
                (!least || read_number(least, 0, number, &first)) &&
                (!step || read_number(step, 1, INT32_MAX, &stride));
    shard->index = good ? (number - first) / stride : 0;
    if (good && (number - first) % stride == 0 && shard->index < shard->count)
        return STATUS_OK;
    return refuse(arena, "Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT");
}

// An array of jobs each of which starts several processes is as many shards as there are processes in all.
static struct status parse_auto(struct arena *arena, struct shard *shard) {
    struct shard outer = {0, 1}, inner = {0, 1};
    bool found = false;
    struct status status = read_launcher(arena, &inner, &found);
    if (status.ok)
        status = read_array(arena, &outer, &found);
    if (status.ok && !found)
        status = status_failed(arena, "usage.shard",
                               "--shard auto: no launcher says which of several processes this is: there is none of "
                               "SLURM_ARRAY_TASK_ID, SLURM_PROCID, OMPI_COMM_WORLD_RANK and RANK; name it, as in "
                               "--shard 1/4");
    if (status.ok && (int64_t)outer.count * inner.count > SHARDS_MOST)
        status = status_failed(arena, "usage.shard", "--shard auto: at most %d shards", SHARDS_MOST);
    *shard = (struct shard){outer.index * inner.count + inner.index, outer.count * inner.count};
    return status;
}

struct status shard_parse(struct arena *arena, const char *text, struct shard *shard) {
    *shard = (struct shard){0};
    if (!text)
        return STATUS_OK;
    struct status status = strcmp(text, "auto") == 0 ? parse_auto(arena, shard) : parse_pair(arena, text, shard);
    if (!status.ok)
        *shard = (struct shard){0};
    return status;
}

// ---------------------------------------------------------------------------------------- pieces

bool shard_has(const struct shard *shard, const char *piece) {
    if (shard->count <= 1)
        return true;
    struct cache_key key = cache_hash(&(struct cache_part){piece, strlen(piece)}, 1);
    char digits[16];
    memcpy(digits, key.hex, 15);
    digits[15] = 0;
    return (int)(strtoull(digits, NULL, 16) % (unsigned long long)shard->count) == shard->index;
}

const char *shard_name(struct arena *arena, const struct shard *shard) {
    return arena_printf(arena, "%d/%d", shard->index + 1, shard->count);
}
