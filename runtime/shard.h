// SPDX-License-Identifier: Apache-2.0
// A share of work that several processes do, on one host or on many: each does the pieces whose hash is its own. Private
// to runtime/.
#ifndef TILEC_RUNTIME_SHARD_H
#define TILEC_RUNTIME_SHARD_H

#include "ir/diagnostic.h"

struct shard {
    int index, count;  // 0 <= index < count; count 0: all of it
};
// "2/4" (the second of four), or "auto": by the variables of Slurm (array and step), Open MPI or torchrun. NULL: all.
// Not ok: usage.shard.
struct status shard_parse(struct arena *arena, const char *text, struct shard *shard);
// Whether a piece, by any text that stands for it, belongs to the shard. Each piece belongs to one of them.
bool shard_has(const struct shard *shard, const char *piece);
const char *shard_name(struct arena *arena, const struct shard *shard);  // "2/4"

#endif
