// SPDX-License-Identifier: Apache-2.0
// Dispatch files: several configs, and a key by which one of them is taken. For each value of the key the configs are
// checked and timed once, on the data of the first call that has it, and the fastest is kept in the cache.
//
//     {"format": 1, "key": "next_pow2(nnz)", "configs": ["long.json", {"format": 1, …}]}
//
// Private to runtime/.
#ifndef TILEC_RUNTIME_DISPATCH_H
#define TILEC_RUNTIME_DISPATCH_H

#include "runtime/config_cache.h"

enum { DISPATCH_CONFIGS = 1000 };
struct dispatch {
    const char *path;
    const char *key;    // the expression as written
    const char *place;  // where it stands: "dispatch.json:2:9"
    int count;
    const struct config **configs;  // at least one
};

// Whether a file's text is one: an object with "configs", which no config has.
bool dispatch_is(const struct source *source);
// Reads it for a kernel; configs that are named are read beside it. Not ok: config.dispatch, or what a config's own
// file says.
struct status dispatch_parse(struct arena *arena, const struct ir_kernel *kernel, const struct source *source,
                             struct dispatch **dispatch);
// The key's value, as text, for these dimensions and scalars. Not ok: config.key with the place of what is wrong.
struct status dispatch_value(struct arena *arena, const struct dispatch *dispatch, const struct ir_kernel *kernel,
                             const struct ir_bindings *bindings, const char **value);
// The key of the cache for that value: in place of the shape it has the value and a hash of the configs.
struct config_key dispatch_key(struct arena *arena, const struct dispatch *dispatch, const struct ir_kernel *kernel,
                               const struct config_key *key, const char *value);

#endif
