// SPDX-License-Identifier: Apache-2.0
// Bundles: a kernel as a C header and a C source, with its code for several architectures inside, that need neither tilec
// nor a compiler of CUDA to run.
//   bundle.c         what goes in: configs, architectures, binaries      bundle_write.c  the two texts
//   bundle_number.c  numbers that the host works out, as C               bundle/support.c  what every bundle's source has
// Private to runtime/.
#ifndef TILEC_RUNTIME_BUNDLE_H
#define TILEC_RUNTIME_BUNDLE_H

#include "runtime/cuda.h"
#include "runtime/heuristic.h"
#include "runtime/runtime.h"

struct bundle_architecture {
    struct target target;
    bool ptx;
    const char *name;            // "sm_90a", "PTX of sm_90"
    int (*binaries)[VARIANT_COUNT];  // by config, by variant: an index into bundle.binaries
    struct config **configs;     // what each config is here: the heuristic's, or this architecture's default
    const char **replaced;       // by config: why it is the default; NULL: it isn't
};
// One compiled text, and how it is launched. The same text for the same architecture is one binary.
struct bundle_binary {
    const struct emitted *emitted;
    struct cuda_binary binary;
    int architecture;
};
struct bundle {
    struct arena *arena;
    const struct ir_kernel *kernel;
    const char *name;            // prefix of every name, and of the files
    const struct heuristic *heuristic;  // NULL: one config
    int config_count;
    struct config **configs;
    int architecture_count;
    struct bundle_architecture *architectures;
    int binary_count, binary_capacity;
    struct bundle_binary *binaries;
    struct cache_session *session;
};

// Fills architectures and binaries. `names`: "sm_80", "sm_90a"; PTX of the newest without features of its own is added.
// Not ok: missing.nvrtc, usage.…, or why even the default config can't be had on an architecture.
struct status bundle_build(struct bundle *bundle, int name_count, const char *const *names);
// NULL with a status for what has no C: bundle.….
struct status bundle_write_header(const struct bundle *bundle, struct text *out);
struct status bundle_write_source(const struct bundle *bundle, struct text *out);
// A host number as a C expression over `args->NAME`, of type int64_t or double. NULL: it has none.
const char *bundle_number(struct arena *arena, const struct ir_kernel *kernel, const struct ir_value *value);
// A parameter's or dimension's name that is no word of C.
const char *bundle_name(struct arena *arena, const char *name);

#endif
