// SPDX-License-Identifier: Apache-2.0
// From emitted text to something that runs: the CPU target (cpu.c), NVRTC (nvrtc.c), the cache (cache.c),
// configs as JSON (config_json.c) and what to compile in (specialize.c). Private to runtime/.
//
// Failures are `struct status` values whose reason lives in the arena of the call. The first word of the code says
// what kind of failure it is, and so which exit code the program ends with (status_result in runtime.h):
//   usage.…     an option, its value or a file to read is wrong  2
//   write.…     a file can't be written                          1
//   config.…    a config is malformed or doesn't fit             1
//   program.…   the program has errors, see the diagnostics      1
//   check.…     a comparison failed                              1
//   evaluate.…  the reference evaluator found a fault            1
//   missing.…   no C compiler, no NVRTC, no device               3
//   lowering.…  codegen.…  limits.…   the config can't be done   4
//   launch.… file.… memory.… device.…   an argument is wrong or too large, a launch failed   5
//   internal.…  tilec is wrong                                  70
//   interrupted.…                                              130
#ifndef TILEC_RUNTIME_BUILD_H
#define TILEC_RUNTIME_BUILD_H

#include "codegen/codegen.h"
#include "frontend/frontend.h"

// A status that isn't ok, its reason printf-formatted into `arena`.
struct status status_failed(struct arena *arena, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

// ---------------------------------------------------------------------------------------------- launch plans (plan.c)

// What actual tensors demand of the code: which variant is lowered.
struct plan_demands {
    bool index64;        // an extent or a count of elements is near 2^31 or over it
    uint64_t unaligned;  // bit p: parameter p's address isn't a multiple of 16
};
// A kernel that is built before its tensors are known is built for each of these, added up.
enum { VARIANT_INDEX64 = 1, VARIANT_UNALIGNED = 2, VARIANT_COUNT = 4 };
// `tensors` by parameter index, `data` an address of host or device.
struct plan_demands plan_demands(const struct ir_kernel *kernel, const struct ir_bindings *bindings, const struct ir_tensor *tensors);
// Not ok: usage.static names a dimension that is to be compiled in and left open.
struct status dims_agree(struct arena *arena, int static_count, const char *const *statics, int dynamic_count,
                         const char *const *dynamics);

// A loop with such a bound could make the indices of a tile overflow.
static inline bool plan_is_too_far(int64_t bound) { return bound > DIMENSION_MOST || bound < -DIMENSION_MOST; }
// The first loop with a bound that the host knows and that lies beyond DIMENSION_MOST on either side of 0, where the
// indices of a tile could overflow; NULL: none. *bound: that bound.
const struct ir_axis *plan_loop_too_far(const struct ir_kernel *kernel, const struct ir_bindings *bindings, int64_t *bound);
#define EXTENT_TOO_LARGE "'%s' is declared as %s in dimension %d, which doesn't fit 64 bits here"
#define LOOP_TOO_FAR "the loop over '%s' would have the bound %lld; bounds lie from -%lld to %lld"
// Whether the plan's code may run on them. Not ok: launch.index, launch.unaligned.
struct status plan_check(struct arena *arena, const struct ir_kernel *kernel, const struct launch_plan *plan,
                         const struct ir_bindings *bindings, const struct ir_tensor *tensors);
// Whether the offsets that the plan wants ascending do: tensors of the host. If not, the config's strategy must be rows.
bool plan_offsets_ascend(const struct launch_plan *plan, const struct ir_tensor *tensors);
// Lowers and emits for a config (NULL: the default), or for it with the strategy rows where these offsets need that.
struct emitted *plan_emit(struct arena *arena, const struct ir_kernel *kernel, const struct config *config,
                          const struct lower_options *options, const struct ir_tensor *tensors, struct status *status);
// Whether an edited text was emitted for what `emitted` is: launching it with another plan's arguments would read past
// them. A text without the comments at its head is trusted.
struct status plan_check_source(struct arena *arena, const struct emitted *emitted, const char *source, size_t length);
// The value of an argument of a launch.
union plan_slot {
    void *pointer;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
};
// The values of a launch's arguments, and pointers to them as cuLaunchKernel takes them; both have room for all.
void plan_fill(const struct launch_kernel *kernel, const struct ir_bindings *bindings, const struct ir_tensor *tensors,
               void *const *workspaces, union plan_slot *slots, void **arguments);
// The same in an arena.
void **plan_arguments(struct arena *arena, const struct launch_kernel *kernel, const struct ir_bindings *bindings,
                      const struct ir_tensor *tensors, void *const *workspaces);

// ---------------------------------------------------------------------------------------------- the CPU target (cpu.c)

struct cpu_request {
    const struct ir_kernel *kernel;   // checked, under the specialization that the tensors have
    const struct config *config;      // NULL: config_default
    struct ir_bindings bindings;      // every dimension's value, every scalar's
    const struct ir_tensor *tensors;  // by parameter index; scalars and absent tensors have data NULL. Outputs are allocated.
    bool checked;                     // asserts and index checks are kept
    const char *source;               // C text to build in place of the emitted one, or NULL
    size_t source_length;
    const char *keep;                 // a folder that gets the emitted .c, or NULL
    struct cache_session *session;    // of the cache, or NULL
};

// Lowers for the CPU target, emits C, builds it (or takes it from the cache) and runs the launch plan, fills of outputs
// included. 32-bit indices and 16-byte accesses are used where the actual tensors allow them.
// Not ok: lowering.…, codegen.…, missing.compiler (no C compiler; the reason has the command that installs one),
// internal.compiler (the compiler refuses what was emitted), launch.….
struct status cpu_execute(struct arena *arena, const struct cpu_request *request);
// Its first half: the text and the plan for these tensors. NULL with a status.
struct emitted *cpu_prepare(struct arena *arena, const struct cpu_request *request, struct status *status);

// A built and loaded shared object. Closed by cpu_close.
struct cpu_object;
// `session`, of the cache, counts and is told; cpu_build has none.
struct status cpu_build(struct arena *arena, const char *text, size_t length, struct cpu_object **object);
struct status cpu_build_in(struct arena *arena, struct cache_session *session, const char *text, size_t length, struct cpu_object **object);
// The same in two steps, which may be taken by two processes: text to an object in the file `path`, and loading that.
struct status cpu_compile(struct arena *arena, const char *text, size_t length, const char *path);
struct status cpu_open(struct arena *arena, const char *path, struct cpu_object **object);
void *cpu_symbol(const struct cpu_object *object, const char *name);  // NULL if there is none
void cpu_close(struct cpu_object *object);
// The C compiler that would be used, by full path, or NULL: $CC, cc, gcc, clang in turn.
const char *cpu_compiler(struct arena *arena);
// What $CC says, if it is set and no such program is found, so that another compiler is taken; else NULL.
const char *cpu_compiler_passed_over(struct arena *arena);
// What an object depends on beside text and flags: the compiler's words and files (size, time), the features of this
// CPU. NULL without a compiler.
const char *cpu_compiler_identity(struct arena *arena);
const char *cpu_features(struct arena *arena);
int usable_cores(void);  // of this machine, by this process; at least 1
// Of the monotonic clock.
double seconds_now(void);
double milliseconds_now(void);

// Runs a launch plan on the host with an already loaded object.
struct status cpu_launch(struct arena *arena, const struct cpu_object *object, const struct launch_plan *plan,
                         const struct ir_bindings *bindings, const struct ir_tensor *tensors);

// ---------------------------------------------------------------------------------------------- the cache (cache.c)

enum { CACHE_KEY_BYTES = 64, CACHE_TRAILER_BYTES = 192 };  // hexadecimal digits of SHA-256; behind an entry's payload
struct cache_key {
    char hex[CACHE_KEY_BYTES + 1];
};
struct cache_part {  // the key covers each part's bytes and length
    const void *data;
    size_t length;
};
struct cache_key cache_hash(const struct cache_part *parts, int count);

struct cache_session;  // config_cache.h: how the caches are to be used, counts and warnings
enum cache_place { CACHE_OBJECTS, CACHE_CONFIGS };

// A folder of entries: objects/ or configs/ under $TILEC_CACHE_DIR, else $XDG_CACHE_HOME/tilec, else ~/.cache/tilec; made
// if need be (0700). `folder` is -1, with a reason, if there is none that only this user can write to, or none is
// wanted; all works without. What goes wrong is told to the session, if there is one.
struct cache {
    int folder;            // descriptor
    const char *path;      // for messages; NULL if none could be named
    const char *reason;    // NULL if the folder is good
    int64_t limit;         // bytes of all its entries
    struct cache_session *session;
};
struct cache cache_open(struct arena *arena);  // objects/, as the environment says
struct cache cache_open_place(struct arena *arena, struct cache_session *session, enum cache_place place);
void cache_close(struct cache *cache);
// Whether the entry is there, whole and this user's own: owner, mode, key, length and SHA-256 are compared. Its bytes
// go to `payload` unless that is NULL. False is a miss, whatever the cause; an entry that isn't good is a warning too.
// A hit makes the entry the one used last.
bool cache_read(const struct cache *cache, const struct cache_key *key, struct text *payload);
// Stores an entry (0600): temporary file, fsync, rename. False, with a warning, if it couldn't, which costs only time.
// Now and then the entries used least recently are removed, until those left are within the limit.
bool cache_store(const struct cache *cache, const struct cache_key *key, const void *data, size_t length);
// What stands behind an entry's payload: key, length, SHA-256. And whether a payload with its trailer is whole and of
// this key.
void cache_write_trailer(char trailer[CACHE_TRAILER_BYTES], const struct cache_key *key, const void *data, size_t length);
bool cache_is_whole(const char *data, size_t length, const struct cache_key *key);
// Removes what is over the limit, and temporary files that were left by a process that ended (cache_sweep.c). The entry
// of `keep` stays.
void cache_sweep(const struct cache *cache, const struct cache_key *keep);
// Every file of the folder that may be an entry, and its size. `visit` returns false to stop. The order is the folder's.
void cache_visit(const struct cache *cache, bool (*visit)(void *data, const char *name, int64_t bytes), void *data);
// Removes one entry, or every entry and temporary file. How many entries there were; -1 if one couldn't be removed.
int cache_remove(const struct cache *cache, const struct cache_key *key);
int cache_clear(const struct cache *cache);
// A path under which dlopen finds the entry that cache_read has verified, even if folders above are renamed. The file
// is the payload with a trailer behind it, which loaders of ELF files don't look at. Good while the cache is open.
const char *cache_entry_path(struct arena *arena, const struct cache *cache, const struct cache_key *key);

// ---------------------------------------------------------------------------------------------- NVRTC (nvrtc.c)

struct nvrtc;  // the opened library; freed by nvrtc_close
// Not ok: missing.nvrtc, with what was looked for.
struct status nvrtc_open(struct arena *arena, struct nvrtc **nvrtc);
void nvrtc_close(struct nvrtc *nvrtc);
const char *nvrtc_path(const struct nvrtc *nvrtc);
void nvrtc_version(const struct nvrtc *nvrtc, int *major, int *minor);
int nvrtc_architectures(const struct nvrtc *nvrtc, const int **architectures);  // count; 80, 90, …

struct cuda_usage {  // of one kernel, from ptxas
    const char *name;
    int registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes, constant_bytes, barriers;
};
struct cuda_binary {
    const char *data;  // in the arena
    size_t length;
    bool ptx;
    const char *log;   // the compiler's messages, "" if none
    int usage_count;   // 0 for PTX
    struct cuda_usage *usage;
};
// Compiles CUDA C for `target` to a cubin, or to PTX. Not ok: missing.architecture (NVRTC doesn't know the target; the
// reason lists those it does), internal.nvrtc (it refuses the text; the reason is its log), missing.nvrtc.
struct status nvrtc_compile(struct arena *arena, const struct nvrtc *nvrtc, const char *text, const char *name,
                            struct target target, bool ptx, struct cuda_binary *binary);

// "sm_90a" to a target. False if it isn't spelled like one.
bool target_parse(const char *text, struct target *target);
const char *target_name(struct arena *arena, struct target target);  // "sm_90a", "cpu"

// ---------------------------------------------------------------------------------------------- configs as JSON (config_json.c)

// Reads a config for `kernel`. Keys that are left out keep the value of the default config. Strict: unknown and
// repeated keys, wrong types, junk behind the end and newer formats are refused with the place in the text.
struct status config_parse(struct arena *arena, const struct ir_kernel *kernel, const char *text, size_t length,
                           struct config **config);
// One that stands in another file, as it was parsed there.
struct cJSON;
struct status config_read(struct arena *arena, const struct ir_kernel *kernel, const struct cJSON *item, struct config **config);
struct status config_load(struct arena *arena, const struct ir_kernel *kernel, const char *path, struct config **config);
// The JSON text of a config. `minimal` drops what the default config has anyway.
void config_print(struct text *out, const struct ir_kernel *kernel, const struct config *config, bool minimal);
// Writes `text` to `path` so that a reader sees the old file or the new one: temporary file, fsync, rename.
// Whether what is written to the one path is lost when the other is written.
bool file_is(const char *one, const char *other);
struct status file_save(struct arena *arena, const char *path, const char *text, size_t length);

// ---------------------------------------------------------------------------------------------- sources (source.c)

// Reads a file whole. NULL with a reason ("no such file", "is a folder", "larger than 64 MiB", …).
const struct source *source_read(struct arena *arena, const char *path, const char **reason);
// The loader for imports: paths are relative to the importing file's folder.
extern const struct frontend_loader source_loader;

// ---------------------------------------------------------------------------------------------- what to compile in (specialize.c)

// Bit d: dimension d is batch-like (the extent of a loop at the top, or one that a jagged axis indexes) and so stays
// dynamic unless asked otherwise; the other dimensions are inner ones and are compiled in when their values are known.
uint64_t batch_dimensions(const struct ir_kernel *kernel);

#endif
