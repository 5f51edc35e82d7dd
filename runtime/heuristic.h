// SPDX-License-Identifier: Apache-2.0
// Heuristics: which config for which shape, decided ahead of time. A heuristic is a few configs and a small tree over what
// a host knows without reading device memory. It is measured and built by `tilec aot`, kept in a file beside the source,
// and asked at every choice: a walk of at most a few comparisons, which takes no memory.
//   heuristic.c       features, the walk               heuristic_json.c   the file's text
//   heuristic_find.c  which file is used, and why not
// Private to runtime/.
#ifndef TILEC_RUNTIME_HEURISTIC_H
#define TILEC_RUNTIME_HEURISTIC_H

#include "runtime/config_cache.h"

// ---------------------------------------------------------------------------------------------- the tree (heuristic.c)

enum heuristic_feature_kind {
    FEATURE_DIM,      // "B": a dimension
    FEATURE_MEAN,     // "nnz / B": one dimension over another
    FEATURE_PRODUCT,  // "nnz * M": one dimension times another
    FEATURE_BYTES,    // "bytes(T)": of an element of a generic type
    FEATURE_LONGEST,  // "longest": points of the longest row, where the caller knows it
    FEATURE_SKEW,     // "longest / (nnz / B)": that over the mean
};
struct heuristic_feature {
    enum heuristic_feature_kind kind;
    int index;        // of the dimension, or of the generic type
    int other;        // of the dimension below it, or of the other factor
};

// A question, `feature < below`, or where `feature` is -1 an answer. Node 0 is the root, and both branches of a node
// stand behind it, so that every walk ends.
struct heuristic_node {
    int feature;
    double below;
    int then, otherwise;  // nodes
    int config;           // of an answer
};

// What a heuristic was built for: a program under one set of element types.
struct heuristic_program {
    const char *types;  // "T=f32 I=i64"; "" without generics
    const char *hash;   // of the checked IR (config_key_program)
};

enum { HEURISTIC_LEAVES = 15, HEURISTIC_NODES = 2 * HEURISTIC_LEAVES - 1, HEURISTIC_CONFIGS = 64, HEURISTIC_FEATURES = 64 };
struct heuristic {
    const char *kernel;
    const char *target;         // "sm_90", "cpu"
    int program_count;
    struct heuristic_program *programs;
    int config_count;
    struct config **configs;
    int feature_count;
    struct heuristic_feature *features;
    int node_count;
    struct heuristic_node *nodes;
};

// What is asked about. `dims` by dimension of the kernel.
struct heuristic_shape {
    const int64_t *dims;
    int64_t longest;  // -1: not known, and then longer than any bound: what bears long rows bears short ones
};

// "nnz / B" to a feature of the kernel. Not ok: heuristic.feature, naming what there is.
struct status heuristic_feature_read(struct arena *arena, const struct ir_kernel *kernel, const char *text, struct heuristic_feature *feature);
void heuristic_feature_print(struct text *out, const struct ir_kernel *kernel, const struct heuristic_feature *feature);
// A division by a dimension of 0 gives 0.
double heuristic_feature_value(const struct ir_kernel *kernel, const struct heuristic_feature *feature, const struct heuristic_shape *shape);
// The config for a shape, an index. No memory is taken.
int heuristic_choose(const struct ir_kernel *kernel, const struct heuristic *heuristic, const struct heuristic_shape *shape);
// The answers on the way, as a person reads them: "nnz / B < 96.5, M >= 24".
void heuristic_explain(struct text *out, const struct ir_kernel *kernel, const struct heuristic *heuristic, const struct heuristic_shape *shape);
// Its configs, made for the static extents that they were measured under, become the like for the kernel's own.
void heuristic_fit(struct arena *arena, const struct ir_kernel *kernel, struct heuristic *heuristic);
// Whether the heuristic was built for this program under these types: heuristic.program says which it was built for.
struct status heuristic_check_program(struct arena *arena, const struct heuristic *heuristic, const struct ir_kernel *kernel);

// ---------------------------------------------------------------------------------------------- the file (heuristic_json.c)

// Reads a heuristic for the kernel, every config checked against it. Strict as configs are. Not ok: heuristic.json with
// the path of what is wrong ("choose.then.config"), or what config_read says.
struct status heuristic_parse(struct arena *arena, const struct ir_kernel *kernel, const char *text, size_t length,
                              struct heuristic **heuristic);
// The same heuristic gives the same bytes. Ends with a line break.
void heuristic_print(struct text *out, const struct ir_kernel *kernel, const struct heuristic *heuristic);

// ---------------------------------------------------------------------------------------------- lookup (heuristic_find.c)

// "jagged_sum.jagged_sum.aot_cuda_sm90.json" for a source "…/jagged_sum.tile" and a target "sm_90".
const char *heuristic_file_name(struct arena *arena, const char *source, const char *kernel, const char *target);

// What was found for a kernel on a target, and what was passed over.
struct heuristic_found {
    struct heuristic *heuristic;  // NULL: the default config is to be used
    const char *path;             // of its file
    const char *folders;          // where was looked, for people
    int warning_count;            // one is enough for people; all are for who asks
    struct {
        const char *code, *text;
    } warnings[CACHE_WARNINGS];
};
// Looks into `folder` (NULL: none), then beside the source: in each for the target's own file, then those of older
// capabilities, newest first. An older one is used, with a warning, where every config of it lowers for the target. A
// file of a newer capability, of another program, or one that is wrong is passed over with a warning.
struct heuristic_found heuristic_find(struct arena *arena, const struct ir_kernel *kernel, const char *folder, const char *target);

#endif
