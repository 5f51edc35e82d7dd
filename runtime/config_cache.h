// SPDX-License-Identifier: Apache-2.0
// The caches as the rest of runtime/ uses them: how they are asked to be used (cache_session.c), the key of a tuned
// config (config_cache_key.c), the best known configs on disk (config_cache.c), and which config wins (resolve.c).
// Binaries are in build.h. Private to runtime/.
//
// No failure of a cache is a failure of what it is used for: it is a miss, or a warning in the session, once of each
// kind. Only an asserted hit that is a miss is an error ("cache.miss").
#ifndef TILEC_RUNTIME_CONFIG_CACHE_H
#define TILEC_RUNTIME_CONFIG_CACHE_H

#include "runtime/build.h"
#include "runtime/data.h"
#include "runtime/tilec.h"

// ---------------------------------------------------------------------------------------------- sessions (cache_session.c)

// strict: keys have the exact builds of tilec and of the toolkit too. remote: as local, and it is an error if no remote is
// named. aot: best configs aren't asked for, heuristics are.
enum cache_kind { CACHE_LOCAL, CACHE_STRICT, CACHE_REMOTE, CACHE_AOT };
enum effort { EFFORT_UNSET, EFFORT_NONE, EFFORT_QUICK, EFFORT_FULL };

// Options over environment variables over defaults.
struct cache_settings {
    const char *folder;     // with configs/ and objects/ in it; NULL: none can be named
    enum cache_kind kind;   // TILEC_AUTOTUNE_CACHE
    bool skip;              // TILEC_SKIP_CACHE: neither reads nor writes, configs and binaries alike
    bool force;             // TILEC_FORCE_AUTOTUNE: configs are written, not read
    bool assert_hit;        // TILEC_ASSERT_CACHE_HIT: a config that isn't there is an error
    enum effort effort;     // TILEC_AUTOTUNE_EFFORT
    double budget_seconds;  // TILEC_AUTOTUNE_BUDGET_SECONDS; 0: none
    int64_t limit_bytes;    // TILEC_CACHE_SIZE
    const char *heuristics; // TILEC_HEURISTIC_DIR; NULL: only the source's folder
    const struct remote_address *remote;  // TILEC_REMOTE_CACHE (remote.h); NULL: none
};

enum { CACHE_WARNINGS = 8 };
// How thoroughly a config was searched for, or is to be.
struct config_search {
    enum effort effort;
    double seconds;         // that the search had, or is to have; 0: none was asked for
    int configs;            // likewise tried; 0: as many as fit
    bool whole;             // the space was gone through to its end
};
// What the settings ask for: by the effort, or the budget. `seconds` of no effort: what `unset` would take.
struct config_search cache_search(const struct cache_settings *settings, enum effort unset);
// Whether a config that was found so will do where it is searched for like this: by time, by count, or in any case.
bool config_search_suffices(const struct config_search *found, const struct config_search *wanted);
const char *effort_name(enum effort effort);  // "quick"

// One job's use of the caches. One thread at a time. Everything that takes one takes NULL too: then the environment's
// settings hold and nothing is counted or told.
struct cache_session {
    struct arena *arena;
    struct cache_settings settings;
    int compiled, taken;    // binaries that a compiler made, and that came from the cache
    const char *builds_file, *builds;  // what exact_builds said last, and of which toolkit
    int warning_count;
    struct {
        const char *code, *text;
    } warnings[CACHE_WARNINGS];
};
// `options` NULL: the environment alone. Not ok: usage.cache, naming the option or the variable.
struct status cache_session_begin(struct arena *arena, const struct tilec_cache_options *options, struct cache_session *session);
// `session`, or where that is NULL `own`, begun with the environment's settings.
struct cache_session *cache_session_or(struct arena *arena, struct cache_session *session, struct cache_session *own);
// Adds a warning unless there is one of that code. `code` is static text.
void cache_warn(struct cache_session *session, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The warnings, as messages of the report.
void cache_session_report(const struct cache_session *session, tilec_report *report);
// "NAME=VALUE" texts, ending with NULL, that give a child process the same session. It asks the remote cache, unless that
// failed lately, and gives it what it makes only if it `shares`: else what is to be shared is for its parent to say.
const char *const *cache_session_environment(struct arena *arena, const struct cache_session *session, bool shares);

// ---------------------------------------------------------------------------------------------- keys (config_cache_key.c)

enum { TOOLKIT_FILES = 2 };
// What a config runs on. Texts are never NULL.
struct config_device {
    const char *target;         // "cpu", "sm_90"
    const char *name;           // "NVIDIA H200"; of a CPU its model and how many cores may be used
    const char *capability;     // "9.0"; of a CPU a hash of its features
    const char *driver;         // "580.159.04, CUDA 13.0"; "" on the CPU
    const char *toolkit;        // "NVRTC 13.0"; the C compiler
    int toolkit_file_count;     // whose contents are the toolkit's exact build
    const char *toolkit_files[TOOLKIT_FILES];
};
// Not ok: missing.…. Neither opens a context nor compiles.
struct status config_device_cpu(struct arena *arena, struct config_device *device);
struct status config_device_cuda(struct arena *arena, int ordinal, struct cache_session *session, struct config_device *device);

struct config_key_request {
    const struct config_device *device;
    const struct ir_kernel *kernel;     // checked
    const struct ir_bindings *bindings; // every dimension's value
    const struct ir_tensor *tensors;    // on the host; NULL: lengths of rows aren't known
    bool index64, unaligned, checked;   // what code is made for (plan_demands)
};
enum config_key_field {
    KEY_TARGET, KEY_DEVICE, KEY_CAPABILITY, KEY_DRIVER, KEY_TOOLKIT, KEY_TILEC, KEY_KERNEL, KEY_PROGRAM, KEY_TYPES,
    KEY_STATIC, KEY_SHAPE, KEY_FLAGS, KEY_BUILDS, KEY_FIELDS
};
// Everything that the best config may depend on, as texts; never NULL.
//   program  a hash of the checked IR, imports inlined: comments and layout don't count
//   shape    "B=1024 offsets.rows=1024 offsets.mean=1024 offsets.skew=2": the nearest powers of two
//   builds   "" unless the session's kind is strict
struct config_key {
    struct cache_key hash;
    const char *fields[KEY_FIELDS];
};
int nvrtc_files(struct arena *arena, const struct nvrtc *nvrtc, const char *files[TOOLKIT_FILES]);  // how many
// Hashes of tilec's own file and of the toolkit's, for keys; "" unless the session's kind is strict.
const char *exact_builds(struct arena *arena, struct cache_session *session, int file_count, const char *const *files);
// Two of the fields: the hash of a checked kernel's program, whatever is compiled in, and its types, "T=f16 I=i64".
const char *config_key_program(struct arena *arena, const struct ir_kernel *kernel);
const char *config_key_types(struct arena *arena, const struct ir_kernel *kernel);
const char *config_key_field_name(enum config_key_field field);  // "device", …
struct cache_key config_key_hash(const char *const *fields);
struct config_key config_key_make(struct arena *arena, struct cache_session *session, const struct config_key_request *request);

// ---------------------------------------------------------------------------------------------- configs on disk (config_cache.c)

// An entry of configs/.
struct config_entry {
    struct config_key key;
    struct config *config;      // NULL where it was read without a kernel
    const char *config_text;    // as JSON
    double milliseconds;        // what it took when it was stored
    struct config_search search;
    int64_t created;            // seconds since 1970
    int64_t bytes;              // of the file
};

// The entry of exactly this key, its config checked against the kernel; where the folder has none that will do, that of the
// remote cache, which is kept here then. False is a miss: also where it was searched for
// less thoroughly than wanted (NULL: no matter), the session doesn't read, or the entry is damaged (a warning).
bool config_cache_find(struct arena *arena, struct cache_session *session, const struct ir_kernel *kernel, const struct config_key *key,
                       const struct config_search *wanted, struct config_entry *entry);
// What a search found.
struct config_found {
    const struct config *config;
    double milliseconds;
    struct config_search search;
};
// Stores the best known config of a key. What is there stays if it was searched for more thoroughly and is no slower; how
// thoroughly it was searched for stays known in any case. Only for a config that ran, was checked and timed: refused unless
// milliseconds is finite and above 0. The remote cache gets it by the same rules. False, with a warning, if it couldn't be
// stored here.
bool config_cache_store(struct arena *arena, struct cache_session *session, const struct ir_kernel *kernel, const struct config_key *key,
                        const struct config_found *found);
// The best known configs of the same kernel for the same kind of target, those of the likest key first, at most `limit`:
// other shapes, extents, types, devices, versions; of the folder and, where that has lists, the remote cache. Only those
// that fit the kernel, each config once. Returns how many.
int config_cache_similar(struct arena *arena, struct cache_session *session, const struct ir_kernel *kernel, const struct config_key *key,
                         int limit, struct config_entry *entries);
// Every good entry of a folder of configs, in the folder's order.
int config_cache_list(struct arena *arena, const struct cache *cache, struct config_entry **entries);
bool config_entry_read(struct arena *arena, const struct cache *cache, const struct cache_key *hash, struct config_entry *entry);
void config_entry_print(struct text *out, const struct config_entry *entry);  // as it is stored: JSON
// "cache.miss", with the key's fields in which the nearest entry differs, or how it was searched for.
struct status config_cache_miss(struct arena *arena, struct cache_session *session, const struct config_key *key,
                                const struct config_search *wanted);

// ---------------------------------------------------------------------------------------------- which config wins (resolve.c)

enum config_origin { CONFIG_FROM_FILE, CONFIG_FROM_DISPATCH, CONFIG_FROM_CACHE, CONFIG_FROM_SEARCH, CONFIG_FROM_HEURISTIC, CONFIG_DEFAULT };
const char *config_origin_name(enum config_origin origin);  // "file", "dispatch", "cache", …

struct dispatch;
struct resolve_request {
    const struct ir_kernel *kernel;
    const struct ir_bindings *bindings;
    const struct ir_tensor *tensors;    // on the host
    const char *path;                   // of an explicit config, or NULL
    bool checked;
    bool edited;                        // a text is run that was made for the default, unless there is a path
    bool cuda;                          // on cuda:ordinal; else on the CPU
    int ordinal;
    struct cache_session *session;
    // Searches, where the session asks for an effort and nothing that will do is known; NULL: never.
    struct status (*tune)(void *data, struct arena *arena, const struct ir_kernel *kernel, struct config **config);
    // Times the configs of a dispatch file, stores the fastest under `key`; NULL: never.
    struct status (*time)(void *data, struct arena *arena, const struct ir_kernel *kernel, const struct dispatch *dispatch,
                          const struct config_key *key, struct config **config);
    void *tune_data;  // for both
};
struct resolved {
    struct config *config;
    enum config_origin origin;
    const char *label;                  // "best.json", "default", "cached 1a2b3c4d5e6f"
};
// What config_default_for wants to know of the data. `tensors` NULL, or those that give rows without data: nothing.
struct config_data resolve_data(struct arena *arena, const struct ir_kernel *kernel, const struct ir_tensor *tensors, int sm);
// The architecture that resolve_data wants: 0 for the CPU, else that of cuda:ordinal. Not ok: there is no such device.
struct status resolve_sm(struct arena *arena, bool cuda, int ordinal, int *sm);
// The key of the config that is wanted. Not ok: missing.….
struct status resolve_key(struct arena *arena, const struct resolve_request *request, struct config_key *key);
// Explicit, or of a dispatch file (dispatch.h), then cache, then heuristics, then default.
struct status resolve_config(struct arena *arena, const struct resolve_request *request, struct resolved *resolved);

#endif
