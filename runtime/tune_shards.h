// SPDX-License-Identifier: Apache-2.0
// Tunes in shares: a shard measures the configs whose hash is its own and notes them in a journal of its own, in a folder
// that all share; a merge takes what the journals have. Private to runtime/.
#ifndef TILEC_RUNTIME_TUNE_SHARDS_H
#define TILEC_RUNTIME_TUNE_SHARDS_H

#include "runtime/shard.h"
#include "runtime/tune.h"

// DIR/2-of-4.journal. Makes the folder if need be.
struct status shard_journal(struct arena *arena, const char *folder, const struct shard *shard, const char **path);
// What stands in the head of its journal, beside the key: members of JSON.
const char *shard_head(struct arena *arena, const struct shard *shard, const char *device);

// What all journals of a merge agree on.
struct merged {
    const char *key, *device;
    int shards, results;
    double seconds;  // of all
    bool whole;      // all went through what there is
};
// The results of all shards, into `rows`: with `listed` into the rows of the list that are there, else as further rows,
// shard by shard. Not ok: usage.merge, where a shard is missing, was broken off, or is of another tune or device.
struct status shards_merge(struct arena *arena, const char *folder, const struct ir_kernel *kernel, bool listed,
                           struct tune_rows *rows, struct merged *merged);

#endif
