// SPDX-License-Identifier: Apache-2.0
// libtilec: the tile compiler as a C library. The one public header of runtime/, and all that the program needs.
//
// Handles are opaque; each has an owner, the caller who was given it, and a function that frees it (NULL is fine).
// Failures are values: a call returns a tilec_result, and what went wrong in words is in the tilec_report it was given,
// which may be NULL. Nothing here prints, exits, handles signals or keeps process-wide state. C99.
// Where a handle, a path or a place for what is made is NULL without leave, a tilec_result is TILEC_USAGE and the report
// names it ("usage.null"); other calls give 0, NULL, -1 for an index, or an empty text.
//
// Programs, kernels, configs, devices and bound kernels may be used by several threads at once; a report, and what a
// call fills, belong to one. Texts that a handle returns live as long as the handle; a tilec_text is the caller's.
// docs/c-api.md shows how the parts go together.
#ifndef TILEC_H
#define TILEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a call came to; also the exit code of the program.
typedef enum tilec_result {
    TILEC_OK = 0,
    TILEC_WRONG = 1,        // the program, a config or a check is wrong
    TILEC_USAGE = 2,        // an option, a name or a file that isn't there
    TILEC_MISSING = 3,      // something is missing: a C compiler, NVRTC, a device
    TILEC_NO_CONFIG = 4,    // the config can't be lowered
    TILEC_LAUNCH = 5,       // an argument is wrong, or the launch failed
    TILEC_INTERNAL = 70,    // a fault of tilec
    TILEC_INTERRUPTED = 130
} tilec_result;

// Of this header. Within a major version what was there stays; major 0: a minor version may change it.
#define TILEC_VERSION_MAJOR 0
#define TILEC_VERSION_MINOR 1
#define TILEC_VERSION_PATCH 0
const char *tilec_version(void);  // of the library: "0.1.0"

// Bytes on the heap, with a NUL behind them that `length` doesn't count. Free with tilec_text_free.
typedef struct tilec_text {
    char *data;
    size_t length;
} tilec_text;
void tilec_text_free(tilec_text *text);

// ------------------------------------------------------------------------------------------------ reports

// Collects messages in the order they arose; the same message about the same place is kept once.
typedef struct tilec_report tilec_report;
tilec_report *tilec_report_new(void);
void tilec_report_free(tilec_report *report);

enum tilec_severity { TILEC_ERROR, TILEC_WARNING };
struct tilec_message {
    enum tilec_severity severity;
    const char *code;        // "E0203", "lowering.threads"; stable
    const char *message;     // what is wrong
    const char *help;        // the mend, or NULL
    const char *path;        // the file it is about, or NULL
    int line, column;        // from 1; 0: no place
    size_t begin, end;       // the same place in bytes
    const char *plain;       // as a person reads it, the source line underlined; ends with a line break
    const char *coloured;    // the same with terminal colours
};
int tilec_report_count(const tilec_report *report);
struct tilec_message tilec_report_message(const tilec_report *report, int index);
// A text in quotes, as JSON has it; what isn't UTF-8 becomes U+FFFD.
tilec_text tilec_json_string(const char *string);
tilec_text tilec_report_json(const tilec_report *report);  // an array of objects

// ------------------------------------------------------------------------------------------------ programs

// A .tile file with everything it imports.
typedef struct tilec_program tilec_program;
// NULL in *program unless TILEC_OK. "-" reads standard input.
tilec_result tilec_program_load(const char *path, tilec_report *report, tilec_program **program);
tilec_result tilec_program_parse(const char *path, const char *text, size_t length, tilec_report *report,
                                 tilec_program **program);
void tilec_program_free(tilec_program *program);  // after its kernels
int tilec_program_kernel_count(const tilec_program *program);
const char *tilec_program_kernel_name(const tilec_program *program, int index);
// Checks every const, fn and kernel, under every kind of element type.
tilec_result tilec_program_check(tilec_program *program, tilec_report *report);
tilec_text tilec_program_tree(const tilec_program *program);      // the syntax tree as text
tilec_text tilec_program_describe(const tilec_program *program);  // kernels and their parameters, as JSON

// ------------------------------------------------------------------------------------------------ kernels

// What a kernel is specialized for, each spelled as on the command line. Missing element types are f32 and i64,
// dimensions not given stay dynamic.
struct tilec_specialization {
    int type_count;
    const char *const *types;     // "T=f16"
    int dim_count;
    const char *const *dims;      // "N=256": compiled in
    int static_count;
    const char *const *statics;   // names that must be compiled in
    int dynamic_count;
    const char *const *dynamics;  // names that must stay dynamic, though dims has a value
    int absent_count;
    const char *const *absent;    // optional tensors that are left out
    int for_all;                  // meant for every kernel of the file: what only another kernel has is passed over
};

// A kernel under one specialization, checked.
typedef struct tilec_kernel tilec_kernel;
// name NULL: the file's only kernel; TILEC_USAGE if it has several. The program must outlive the kernel.
tilec_result tilec_kernel_check(tilec_program *program, const char *name, const struct tilec_specialization *specialization,
                                tilec_report *report, tilec_kernel **kernel);
void tilec_kernel_free(tilec_kernel *kernel);
const char *tilec_kernel_name(const tilec_kernel *kernel);
tilec_text tilec_kernel_ir(const tilec_kernel *kernel);  // the checked program as text

// ------------------------------------------------------------------------------------------------ configs

typedef struct tilec_config tilec_config;
// How long the rows of the data are, of the argument whose rows have most points together.
struct tilec_rows {
    int64_t rows, longest;        // how many, and the points of the longest
    double mean;                  // points of a row
    const char *target;           // that they are for, "sm_90"; NULL: not known
};
// The config that is taken where none is given. `rows` NULL: nothing is known of the data, nor of the GPU.
tilec_result tilec_config_default(tilec_kernel *kernel, const struct tilec_rows *rows, tilec_config **config);
// Draws one from the kernel's space and advances *seed. The same seed gives the same config on every machine.
tilec_result tilec_config_random(tilec_kernel *kernel, uint64_t *seed, tilec_config **config);
// Keys left out keep the default's value. TILEC_WRONG names unknown keys, wrong types and newer formats with their place.
tilec_result tilec_config_load(tilec_kernel *kernel, const char *path, tilec_report *report, tilec_config **config);
tilec_result tilec_config_parse(tilec_kernel *kernel, const char *text, size_t length, tilec_report *report,
                                tilec_config **config);
void tilec_config_free(tilec_config *config);  // before its kernel
tilec_text tilec_config_json(const tilec_config *config, int minimal);  // minimal: without what the default has anyway
tilec_result tilec_config_save(const tilec_config *config, const char *path, int minimal, tilec_report *report);  // atomic
// Whether it fits the kernel and can be lowered for `target` ("sm_90", "cpu").
tilec_result tilec_config_check(const tilec_config *config, const char *target, tilec_report *report);
tilec_text tilec_config_space(tilec_kernel *kernel);  // knobs and their choices, as JSON

// ------------------------------------------------------------------------------------------------ emitting

struct tilec_emit_options {
    const char *target;           // "sm_80", "sm_90a", "cpu"; NULL: sm_90
    int index64;                  // index arithmetic in 64 bits
    int unaligned;                // no 16-byte accesses
    int checked;                  // keep asserts and index checks
    const char *stop_after;       // a pass: lower no further, give no text
    int skip_count;
    const char *const *skips;     // passes to leave out (opt_…)
    // Called with the program as text after checking ("checked") and after each pass; NULL: not called.
    void (*stage)(void *data, const char *stage, const char *text, size_t length);
    void *data;
};
// Lowers and emits. config NULL: the default. *text is empty after stop_after.
tilec_result tilec_kernel_emit(tilec_kernel *kernel, const tilec_config *config, const struct tilec_emit_options *options,
                               tilec_report *report, tilec_text *text);
// The strategy for jagged rows that the config (NULL: the default) takes, and why others don't apply.
tilec_text tilec_kernel_explain_strategy(tilec_kernel *kernel, const tilec_config *config);
// Whether an edited text still has every entry point of the emitted one. TILEC_WRONG names those it lacks.
tilec_result tilec_kernel_fits(tilec_kernel *kernel, const tilec_config *config, const struct tilec_emit_options *options,
                               const char *text, size_t length, tilec_report *report);
tilec_text tilec_list_passes(void);
tilec_text tilec_list_ops(void);

// ------------------------------------------------------------------------------------------------ compiling

// A cubin or PTX, with what ptxas said of each kernel in it.
typedef struct tilec_binary tilec_binary;
struct tilec_usage {
    const char *kernel;
    int registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes, constant_bytes, barriers;
};
// Compiles CUDA C with NVRTC, which is opened here. `name` is for its messages.
tilec_result tilec_compile(const char *text, size_t length, const char *name, const char *architecture, int ptx,
                           tilec_report *report, tilec_binary **binary);
void tilec_binary_free(tilec_binary *binary);
const void *tilec_binary_data(const tilec_binary *binary, size_t *length);
const char *tilec_binary_architecture(const tilec_binary *binary);
const char *tilec_binary_log(const tilec_binary *binary);  // warnings, "" if none
int tilec_binary_usage_count(const tilec_binary *binary);  // 0 for PTX
struct tilec_usage tilec_binary_usage(const tilec_binary *binary, int index);

// ------------------------------------------------------------------------------------------------ the cache

// How the caches of best configs and of binaries are used. NULL, 0: as the environment says (TILEC_CACHE_DIR and so on;
// docs/caching.md), which these override.
struct tilec_cache_options {
    const char *folder;           // TILEC_CACHE_DIR
    const char *kind;             // TILEC_AUTOTUNE_CACHE: "local", "strict", "remote", which wants one, or "aot": heuristics alone
    int force;                    // TILEC_FORCE_AUTOTUNE: best configs are written, not read
    int skip;                     // TILEC_SKIP_CACHE: nothing is read or written
    int assert_hit;               // TILEC_ASSERT_CACHE_HIT: TILEC_NO_CONFIG where no best config is known
    const char *effort;           // TILEC_AUTOTUNE_EFFORT: "none", "quick" or "full"
    const char *budget;           // TILEC_AUTOTUNE_BUDGET_SECONDS: a number
    const char *heuristics;       // TILEC_HEURISTIC_DIR: a folder that is asked for heuristics before the source's own
    const char *remote;           // TILEC_REMOTE_CACHE: "redis://…" or "https://…", or "none"
};

// What is in it: the best known configs, and how many binaries. Looking changes nothing.
typedef struct tilec_cache tilec_cache;
struct tilec_cache_entry {
    const char *key;              // 64 hexadecimal digits
    const char *kernel, *target, *device, *types, *extents, *shape;
    double milliseconds;          // what the config took
    const char *effort;           // of the search that found it: "none", "quick" or "full"
    double seconds;               // that it had
    int configs;                  // that it tried
    int64_t created;              // seconds since 1970
};
// NULL: the environment alone. TILEC_USAGE if an option or a variable is malformed. A folder that isn't there or can't
// be used is an empty cache, with a warning where it can't be used.
tilec_result tilec_cache_open(const struct tilec_cache_options *options, tilec_report *report, tilec_cache **cache);
void tilec_cache_free(tilec_cache *cache);
const char *tilec_cache_path(const tilec_cache *cache);  // of the folder; "" if none can be named
// The address of the remote cache, without user, password and parameters; "" if there is none. And, if there is one, NULL
// if it answers now, else why it doesn't; good until the next call.
const char *tilec_cache_remote(const tilec_cache *cache);
const char *tilec_cache_remote_trouble(tilec_cache *cache);
int tilec_cache_count(const tilec_cache *cache);         // of best configs, the newest first
struct tilec_cache_entry tilec_cache_entry(const tilec_cache *cache, int index);
int tilec_cache_binaries(const tilec_cache *cache, int64_t *bytes);
// The entry whose key begins with `key`. TILEC_USAGE if there is none or are several.
tilec_result tilec_cache_find(const tilec_cache *cache, const char *key, tilec_report *report, int *index);
tilec_text tilec_cache_json(const tilec_cache *cache);
tilec_text tilec_cache_entry_json(const tilec_cache *cache, int index);  // its key's fields and its config
// Removes one entry, or with index -1 everything, also what is damaged. TILEC_WRONG if something couldn't be removed.
tilec_result tilec_cache_clear(tilec_cache *cache, int index, tilec_report *report, int *removed);

// ------------------------------------------------------------------------------------------------ arguments

// Element types, also of scalars.
enum tilec_type {
    TILEC_NONE, TILEC_BOOL, TILEC_I8, TILEC_U8, TILEC_I32, TILEC_I64, TILEC_F16, TILEC_BF16, TILEC_F32, TILEC_F64
};
const char *tilec_type_name(enum tilec_type type);       // "bf16"; NULL for TILEC_NONE
enum tilec_type tilec_type_named(const char *name);      // TILEC_NONE if there is none
int tilec_type_bytes(enum tilec_type type);              // in memory

// One argument of a kernel. They stand in the order of its parameters, outputs last. TILEC_NONE: left out, as an
// optional tensor or a scalar with a default may be, and an output where only its shape is asked for.
struct tilec_argument {
    enum tilec_type type;
    int rank;                     // of a tensor
    const int64_t *shape;         // `rank` extents
    const int64_t *strides;       // in elements, as many; NULL: dense, the last index fastest, which they must come to
    void *data;                   // an address on the device that the kernel is bound to; of a scalar NULL
    int64_t integer;              // the value of a scalar of an integer type or bool
    double number;                // the value of a scalar of a floating type
};

enum tilec_role { TILEC_IN, TILEC_INOUT, TILEC_OUT, TILEC_SCALAR };
struct tilec_parameter {
    const char *name;
    enum tilec_role role;
    enum tilec_type type;         // in this specialization
    int rank;
    const char *const *extents;   // as written: "B + 1"
    int optional, has_default;
    int absent;                   // left out in this specialization
};
struct tilec_dimension {
    const char *name;
    int is_static;                // compiled in
    int64_t value;                // if static
    int batch;                    // changes from call to call: rows, totals; stays open unless asked for
};
int tilec_kernel_parameter_count(const tilec_kernel *kernel);
struct tilec_parameter tilec_kernel_parameter(const tilec_kernel *kernel, int index);
int tilec_kernel_dimension_count(const tilec_kernel *kernel);
struct tilec_dimension tilec_kernel_dimension(const tilec_kernel *kernel, int index);
// All of it as JSON, with where each dimension is learnt and which tensors hold the offsets or lengths of whose rows.
tilec_text tilec_kernel_json(const tilec_kernel *kernel);

// Checks a kernel for these arguments: element types are theirs, optional tensors that are left out are absent, and
// inner extents are compiled in. Only types, ranks and shapes are looked at. `more` (NULL: nothing): types and dims take
// the place of what the arguments say, `statics` are compiled in too and `dynamics` are not.
tilec_result tilec_kernel_for(tilec_program *program, const char *name, const struct tilec_argument *arguments, int count,
                              const struct tilec_specialization *more, tilec_report *report, tilec_kernel **kernel);

// ------------------------------------------------------------------------------------------------ devices

// What kernels are bound to: "cpu" (the machine's C compiler builds them), "reference" (the evaluator: slow, needs
// nothing), "cuda" or "cuda:N". Opening one makes no context. A process forked afterwards can't use it: launch.fork.
typedef struct tilec_device tilec_device;
tilec_result tilec_device_open(const char *name, tilec_report *report, tilec_device **device);
void tilec_device_free(tilec_device *device);        // after what is bound to it
const char *tilec_device_name(const tilec_device *device);    // "cuda:0"
const char *tilec_device_target(const tilec_device *device);  // "sm_90", "cpu"; "" of the evaluator

// The config for these arguments: the best known one of the cache, else the default. For rows' lengths to count, tensors
// that hold offsets or lengths need data on the host; other data isn't looked at.
tilec_result tilec_config_for(tilec_kernel *kernel, tilec_device *device, const struct tilec_argument *arguments, int count,
                              const struct tilec_cache_options *cache, tilec_report *report, tilec_config **config);

// The config that a dispatch file (docs/tuning.md) has for these arguments; a path of a single config gives that one. Only
// shapes and scalars are looked at. TILEC_NO_CONFIG where the configs weren't timed yet for the value of its key:
// tilec_run_kernel, with the file as its config, times them.
tilec_result tilec_config_dispatch(tilec_kernel *kernel, tilec_device *device, const struct tilec_argument *arguments, int count,
                                   const char *path, const struct tilec_cache_options *cache, tilec_report *report,
                                   tilec_config **config);

// A dispatch file, read for a kernel: what its key comes to for arguments, of which only shapes and scalars are looked at,
// as text ("1024"). Calls of one value get one config, that of tilec_config_dispatch. Any number of threads may ask.
typedef struct tilec_dispatch tilec_dispatch;
tilec_result tilec_dispatch_load(tilec_kernel *kernel, const char *path, tilec_report *report, tilec_dispatch **dispatch);
void tilec_dispatch_free(tilec_dispatch *dispatch);  // before its kernel
tilec_result tilec_dispatch_value(const tilec_dispatch *dispatch, const struct tilec_argument *arguments, int count,
                                  tilec_report *report, tilec_text *value);

// ------------------------------------------------------------------------------------------------ bound kernels

struct tilec_bind_options {
    const tilec_config *config;   // NULL: the default
    int checked;                  // keep asserts and index checks
    int trusting;                 // on the CPU: offsets and lengths aren't validated
    struct tilec_cache_options cache;  // of binaries
};
// A kernel built for a device and a config. On CUDA all of its code, for 32- and 64-bit indices and for tensors that
// don't lie at multiples of 16 bytes, is built and loaded here; on the CPU when it is first needed.
typedef struct tilec_bound tilec_bound;
tilec_result tilec_bind(tilec_kernel *kernel, tilec_device *device, const struct tilec_bind_options *options,
                        tilec_report *report, tilec_bound **bound);
void tilec_bound_free(tilec_bound *bound);           // before its kernel and its device; nothing of it may be running
struct tilec_bound_counts {
    int compiled, cached;         // binaries that a compiler made, and that the cache had
    int launches;                 // of the device, in one launch of the kernel
    int workspaces;               // 0: tilec_workspace_size gives 0
};
struct tilec_bound_counts tilec_bound_counts(const tilec_bound *bound);

// The shape that parameter `index`, an output, must have; inputs have to be there. `shape` has room for its rank.
tilec_result tilec_output_shape(const tilec_bound *bound, const struct tilec_argument *arguments, int count, int index,
                                int64_t *shape, tilec_report *report);
// Bytes of device memory that a launch needs for itself, at an address that is a multiple of 256. 0 for most kernels,
// and on the CPU.
tilec_result tilec_workspace_size(const tilec_bound *bound, const struct tilec_argument *arguments, int count,
                                  int64_t *bytes, tilec_report *report);
// Checks the arguments and runs the kernel: on the CPU before the call returns, on CUDA queued on `stream` (a CUstream;
// NULL: the legacy default stream) of the caller's current context if that is one of the bound device's, else of the
// device's primary context. `workspace` is what tilec_workspace_size asks for, NULL if that is 0; launches that may run
// at the same time need one each. No memory is taken, no stream waited for: it may be captured into a graph.
// TILEC_LAUNCH names the argument that is wrong. Faults of the kernel itself show where the stream is waited for.
tilec_result tilec_launch(const tilec_bound *bound, const struct tilec_argument *arguments, int count, void *workspace,
                          void *stream, tilec_report *report);

// The same for callers who know the types and that all is dense: the arguments as 64-bit words, one behind the other. A
// tensor is its address (0: left out) and its extents, a scalar its int64_t or double. The workspace's address and the
// stream come last. Shapes are checked; what is wrong in words, tilec_launch says.
int tilec_bound_words(const tilec_bound *bound);     // how many
tilec_result tilec_launch_words(const tilec_bound *bound, const uint64_t *words);
tilec_result tilec_workspace_words(const tilec_bound *bound, const uint64_t *words, int64_t *bytes, tilec_report *report);

// A tensor of the host as an .npy file, for options that take files (bf16 as f4).
tilec_result tilec_argument_save(const struct tilec_argument *argument, const char *path, tilec_report *report);

// ------------------------------------------------------------------------------------------------ heuristics

// Configs by shape, decided ahead of time (docs/deployment.md): the file that is used for a kernel on a target, if there
// is one. What is passed over is a warning of the report.
typedef struct tilec_heuristic tilec_heuristic;
// NULL in *heuristic unless TILEC_OK; where there is no file its path is NULL and it has no configs.
tilec_result tilec_heuristic_find(tilec_kernel *kernel, const char *target, const struct tilec_cache_options *cache, tilec_report *report,
                                  tilec_heuristic **heuristic);
void tilec_heuristic_free(tilec_heuristic *heuristic);        // before its kernel
const char *tilec_heuristic_path(const tilec_heuristic *heuristic);     // of the file, or NULL
const char *tilec_heuristic_folders(const tilec_heuristic *heuristic);  // where was looked
int tilec_heuristic_count(const tilec_heuristic *heuristic);  // of its configs
// The config for a shape: an index, -1 where there is none. `dims` by tilec_kernel_dimension; `longest`: points of the
// longest row, -1: not known. Takes well under a microsecond and no memory.
int tilec_heuristic_choose(const tilec_heuristic *heuristic, const int64_t *dims, int64_t longest);
tilec_text tilec_heuristic_rule(const tilec_heuristic *heuristic, const int64_t *dims, int64_t longest);  // "nnz / B < 96.5, M >= 24"
tilec_result tilec_heuristic_config(const tilec_heuristic *heuristic, int index, tilec_report *report, tilec_config **config);
// 64 hexadecimal digits that stand for the checked program under its types, whatever is compiled in: comments, layout and
// the names of values don't change it. Heuristics are for one.
tilec_text tilec_kernel_hash(const tilec_kernel *kernel);

// ------------------------------------------------------------------------------------------------ bundles

struct tilec_bundle_options {
    const char *name;             // prefix of every name, and how the files are called; NULL: the kernel's name
    int architecture_count;       // at least 1
    const char *const *architectures;  // "sm_80", "sm_90a"; PTX of the newest is added for devices that come later
    const tilec_config *config;   // the one config; NULL: a heuristic's
    const char *heuristic;        // the path of a heuristic file; NULL: the one that is found, else the default config
    struct tilec_cache_options cache;  // of binaries, and where heuristics are looked for
};
// A kernel as a C header and a source (C99) with its code inside: it needs libcuda alone and launches on a stream, from
// any thread (docs/deployment.md). Needs NVRTC, no GPU. A config that an architecture can't have is that architecture's
// default there, with a warning.
tilec_result tilec_bundle(tilec_kernel *kernel, const struct tilec_bundle_options *options, tilec_report *report, tilec_text *header,
                          tilec_text *source);

// ------------------------------------------------------------------------------------------------ running

struct tilec_tune_options;
// All spelled as on the command line; see `tilec run --help`. NULL, 0: not given.
struct tilec_run_options {
    const char *kernel;           // NULL: the only one
    int argument_count;
    const char *const *arguments; // "x=randn", "offsets=@offsets.npy", "eps=1e-5"
    int dim_count;
    const char *const *dims;      // "B=1000", "nnz=total(offsets)"
    int type_count;
    const char *const *types;     // "T=f16"
    int static_count;
    const char *const *statics;   // dimensions to compile in; inner extents are anyway
    int dynamic_count;
    const char *const *dynamics;  // dimensions to leave open
    uint64_t seed;                // of the generators
    const char *device;           // "cpu", "cuda", "cuda:1" or "reference"; NULL: cpu
    const char *config;           // a config's path; NULL: the default
    const char *source;           // a path of C or CUDA C text to build in place of the emitted one
    const char *keep;             // a folder for the emitted C or CUDA C
    int check;                    // compare with the reference evaluator
    int checked;                  // asserts and index checks
    int trusting;                 // offsets and lengths aren't validated
    int out_count;
    const char *const *outs;      // "out=sums.npy"
    const char *save_arguments;   // a folder that gets each argument as NAME.npy
    const char *histogram;        // an argument whose row lengths are shown; "": the first that gives rows
    // Without `config` the best known config is taken, else the default. An effort of quick or full searches for one, unless
    // one that was searched for as thoroughly is known.
    struct tilec_cache_options cache;
    const struct tilec_tune_options *search;  // how: limits, progress and so on; its own `run`, configs and journal aren't read
};
// What a run came to. There even where TILEC_WRONG says that the check failed; else NULL unless TILEC_OK.
typedef struct tilec_run tilec_run;
tilec_result tilec_run_kernel(tilec_program *program, const struct tilec_run_options *options, tilec_report *report,
                              tilec_run **run);
void tilec_run_free(tilec_run *run);              // before its program
const char *tilec_run_summary(const tilec_run *run);  // as a person reads it
const char *tilec_run_printed(const tilec_run *run);  // what the kernel's `print`s said, "" if nothing
tilec_text tilec_run_json(const tilec_run *run);

// ------------------------------------------------------------------------------------------------ timing

struct tilec_bench_options {
    struct tilec_run_options run; // arguments, device ("cpu", "cuda", "cuda:1"), config; with `check` the outputs are checked too
    const char *versus;           // a second config's path, timed in turns with the first; "default"; NULL: none
    int runs;                     // timed runs of each; 0: as many as fit into half a second, from 20 to 200
};
// What a kernel takes, against the bytes that it can't do without and the device's own copy speed. There even where
// TILEC_WRONG says that the check failed; else NULL unless TILEC_OK.
typedef struct tilec_bench tilec_bench;
tilec_result tilec_bench_kernel(tilec_program *program, const struct tilec_bench_options *options, tilec_report *report,
                                tilec_bench **bench);
void tilec_bench_free(tilec_bench *bench);                // before its program
const char *tilec_bench_summary(const tilec_bench *bench);  // as a person reads it
tilec_text tilec_bench_json(const tilec_bench *bench);

// ------------------------------------------------------------------------------------------------ tuning

struct tilec_tune_progress {
    int done, total;              // configs; total 0: the search is open-ended
    int ok;
    double seconds, left;         // left: until the budget, or the list, is done; negative: not known
    double best;                  // ms; infinite: none yet
    const char *phase;            // "reference", "tuning", "timing the best again"; the last time "done"
    int compilers;                // processes that compile
    int64_t peak_bytes;           // of memory, at most, as far as can be told beforehand
};
struct tilec_tune_options {
    struct tilec_run_options run; // arguments, device ("cpu", "cuda", "cuda:1"), cache with effort and budget
    const char *configs;          // a path of a JSON array: exactly these, in this order; NULL: a search
    const char *journal;          // a path: results go there at once, and what it has of this tune isn't done again; or NULL
    const char *worker;           // the program tilec-worker; NULL: $TILEC_WORKER, or beside the program or the library
    int count;                    // the search tries at most so many; 0: as many as the budget allows
    int compilers;                // processes that compile; 0: by the cores of this machine
    double compile_limit, run_limit;  // seconds for a config; 0: 60 to compile, 20 to run
    int from_cache;               // the search begins with so many best known configs of similar shapes
    int retimed;                  // so many of the best are timed again at the end, in turns; 0: 5; at most 16
    const char *shard;            // "2/4": only the second of four shares, or "auto", by the launcher; NULL: all of it
    const char *folder;           // of the shards' journals, a file each, in place of `journal`; NULL: "tune"
    const char *merge;            // no tune: what the journals in this folder of shards have come to; NULL: a tune
    int compile_only;             // only fills the cache of binaries: needs no device with `arch`
    const char *arch;             // "sm_90": what to compile for; NULL: the device
    // Called every tenth of a second or so; NULL: not called.
    void (*progress)(void *data, const struct tilec_tune_progress *progress);
    // Asked now and then: not 0 ends the tune with what there is. NULL: never.
    int (*stopped)(void *data);
    void *data;
};
// What a tune came to. There for TILEC_OK (a config is the best), TILEC_NO_CONFIG (none was ok) and TILEC_INTERRUPTED;
// else NULL.
typedef struct tilec_tune tilec_tune;
tilec_result tilec_tune_kernel(tilec_program *program, const struct tilec_tune_options *options, tilec_report *report,
                               tilec_tune **tune);
void tilec_tune_free(tilec_tune *tune);                   // before its program
// Row i is config i of the list, or the i-th that the search tried. None if the best was known from the cache.
struct tilec_tune_row {
    const char *config;           // as JSON; what was given, where that is no config
    const char *status;           // "ok", "compiled", "skipped: lowering", …
    const char *reason;           // "" if ok
    int code;                     // the raw one: CUresult, signal or exit code; 0: none
    double milliseconds, spread;  // infinite unless ok
    int bound;                    // too slow to be timed more than once
    double compile_seconds;
    int registers, spill_bytes;   // -1: not known
    int64_t shared_bytes;
};
int tilec_tune_count(const tilec_tune *tune);
struct tilec_tune_row tilec_tune_row(const tilec_tune *tune, int index);
int tilec_tune_best(const tilec_tune *tune);              // a row; -1: none, or from the cache
tilec_text tilec_tune_config(const tilec_tune *tune, int minimal);  // the best config as JSON; empty: none
const char *tilec_tune_summary(const tilec_tune *tune);   // the table, as a person reads it
tilec_text tilec_tune_rows_json(const tilec_tune *tune);  // every row, in order
tilec_text tilec_tune_json(const tilec_tune *tune);       // the outcome without the rows

// ------------------------------------------------------------------------------------------------ ahead of time

struct tilec_aot_options {
    struct tilec_tune_options tune;  // kernel, device, arguments and dimensions that all shapes share; how to search
    const char *shapes;           // a path of a JSON array of shapes (docs/deployment.md)
    const char *folder;           // what phases leave for each other; made if need be
    const char *out;              // a folder for the heuristic file; NULL: beside the source
    const char *arch;             // "sm_90": whose file it is, so that build, evaluate and list need no device; NULL: the device's
    const char *phase;            // "collect", "measure", "build" or "evaluate"; NULL: all, in this order
    const char *goal;             // "max", the worst slowdown, or "geomean"; NULL: max
    double threshold;             // the slowdown to keep within; 0: 1.1
    int max_configs;              // 0: 10
    int list;                     // only says which config the file that is there has for each shape
    void (*note)(void *data, const char *line);  // what is done next, with tune's data; NULL: not called
};
// Searches a config for every shape, measures each on all, and writes the heuristic file that chooses among the fewest of
// them. What `folder` has of a phase isn't done again. *summary says what came of it, also where the evaluation fails.
tilec_result tilec_aot(tilec_program *program, const struct tilec_aot_options *options, tilec_report *report,
                       tilec_text *summary);

// ------------------------------------------------------------------------------------------------ files

// Reads a file whole ("-": standard input); TILEC_USAGE with the reason in the report.
tilec_result tilec_file_read(const char *path, tilec_report *report, tilec_text *text);
// Writes a file so that a reader sees the old one or the new one.
tilec_result tilec_file_save(const char *path, const void *data, size_t length, tilec_report *report);

// ------------------------------------------------------------------------------------------------ help

const char *tilec_explain(const char *code);  // the long explanation of a code, or NULL
const char *tilec_code(int index);            // every code that has one; NULL behind the last

// What tilec finds on this machine.
typedef struct tilec_doctor tilec_doctor;
struct tilec_finding {
    const char *name;    // "C compiler"
    int ok;
    int needed;          // whether something doesn't work without it; else it is only slower or rarer
    const char *detail;  // what was found, or what was looked for
    const char *mend;    // what to do, or NULL
};
tilec_doctor *tilec_doctor_new(void);
void tilec_doctor_free(tilec_doctor *doctor);
int tilec_doctor_count(const tilec_doctor *doctor);
struct tilec_finding tilec_doctor_finding(const tilec_doctor *doctor, int index);

#ifdef __cplusplus
}
#endif

#endif
