// SPDX-License-Identifier: Apache-2.0
// Bound kernels: what is worked out once when a kernel is bound, and what each launch then does with it.
//   api_device.c  devices and the guard against forks     call_bind.c    a kernel's layout of arguments and its variants
//   call_shape.c  words to dimensions, checked            call_launch.c  the launch itself, on each kind of device
//   call_cuda.c   code per context of a GPU               api_call.c     tilec.h: arguments to words
// Private to runtime/.
//
// The one idea: arguments become a flat array of 64-bit words whose layout is fixed at bind (an address and extents for
// each tensor, a value for each scalar), so a launch is a walk over words with no look-up by name, no memory taken, and
// nothing looked at but what can change from call to call.
#ifndef TILEC_RUNTIME_CALL_H
#define TILEC_RUNTIME_CALL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/runtime.h"

// ---------------------------------------------------------------------------------------------- devices (api_device.c)

enum device_kind { DEVICE_CPU, DEVICE_REFERENCE, DEVICE_CUDA };
struct tilec_device {
    struct arena *arena;
    enum device_kind kind;
    const char *name, *target;
    // A page that reads as zeros in a forked process (MADV_WIPEONFORK); where there is none, `owner` tells.
    const volatile int *alive;
    pid_t owner;
    // DEVICE_CUDA
    struct cuda_device *cuda;          // looked at, not opened: no context is made for it
    pthread_mutex_t lock;              // of the primary context
    cuda_context_handle primary;       // retained when first needed; NULL before
};
// Whether this process opened it, not one that it was forked from.
bool device_is_ours(const tilec_device *device);
// Not ok: the context can't be had.
struct status device_primary(struct arena *arena, tilec_device *device, cuda_context_handle *context);

// ---------------------------------------------------------------------------------------------- bound kernels (call_bind.c)

enum { CALL_PARAMS = 64, CALL_DIMS = 64, CALL_WORKSPACES = 32, CALL_ARGUMENTS = 192, WORKSPACE_ALIGNMENT = 256 };
enum { CALL_WORDS = CALL_PARAMS * (1 + IR_MAX_RANK) };

// A host number that is worked out at every launch: scale * dim + offset, a constant (dim -1), or `value`, which
// ir_evaluate_number takes.
struct number_rule {
    int dim;
    int64_t scale, offset;
    const struct ir_value *value;  // NULL: linear or constant
};
struct call_param {
    enum ir_param_kind kind;
    bool present;
    int rank;
    int word;                      // its first word: the value, or the address with the extents behind it
    int bytes;                     // of an element
    struct number_rule extents[IR_MAX_RANK];
};
struct call_axis {                 // one factor of a grid; `elements_of`: as in struct launch_axis
    struct number_rule lo, hi;
    const struct ir_param *elements_of;
    int64_t block;
};

struct call_loop {                 // a bound of a loop that is more than a dimension or a small constant
    const char *name;
    struct number_rule bound;
};

// The code for one kind of index and alignment (VARIANT_… of build.h).
struct call_variant {
    atomic_bool ready;             // set last, once all else is
    struct emitted *emitted;       // with the launch plan
    struct call_axis **grids;      // by kernel of the plan
    const struct call_variant *same;  // emitted as the same text: its binary is used; NULL: an own one
    struct cuda_binary binary;
    struct cpu_object *object;
};

// The code of a bound kernel in one context.
struct call_loaded {
    cuda_context_handle context;
    cuda_module_handle modules[VARIANT_COUNT];   // NULL where another variant's is used
    cuda_function_handle *functions[VARIANT_COUNT];  // by kernel of the plan
    struct call_loaded *next;
};

struct tilec_bound {
    struct arena *arena;           // under `lock` once bound
    tilec_kernel *kernel;
    tilec_device *device;
    struct config *config;
    bool checked, trusting;
    struct call_loop *loops;       // whose bounds are looked at in every launch
    int loop_count;
    struct cache_session session;
    struct arena *arenas[VARIANT_COUNT];  // of what each variant is built from on CUDA
    int param_count, word_count;
    struct call_param *params;
    struct rows_uses rows;
    pthread_mutex_t lock;          // building and loading
    struct call_variant variants[VARIANT_COUNT];
    _Atomic(struct call_loaded *) loaded;
};

struct number_rule number_rule_of(const struct ir_value *value);
// Builds a variant for the CPU that isn't ready. Takes the lock.
struct status call_build_variant(struct arena *arena, tilec_bound *bound, int variant);

// ---------------------------------------------------------------------------------------------- launching (call_shape.c, call_launch.c)

// One launch: lives on the stack of the call.
struct call {
    const tilec_bound *bound;
    const uint64_t *words;
    tilec_report *report;          // may be NULL
    struct ir_bindings bindings;
    int64_t dims[CALL_DIMS];
    struct ir_scalar scalars[CALL_PARAMS];
    struct ir_tensor tensors[CALL_PARAMS];
};
// Arguments as words, of which there is room for CALL_WORDS: types, ranks and strides are checked. `without` as below;
// CALL_PARAMS: outputs may be missing.
tilec_result call_words(const tilec_bound *bound, const struct tilec_argument *arguments, int count, int without,
                        tilec_report *report, uint64_t *words);
// Reads words: dimensions, scalars and tensors, every extent checked. `without` is a parameter whose extents aren't
// looked at, as they are asked for, or -1.
tilec_result call_read(struct call *call, const tilec_bound *bound, const uint64_t *words, int without, tilec_report *report);
int64_t call_number(const struct call *call, const struct number_rule *rule);
// The same; false where a step of it doesn't fit 64 bits.
bool call_extent(const struct call *call, const struct number_rule *rule, int64_t *extent);
tilec_result call_extent_failed(const struct call *call, int index, int position);
// Which variant these tensors need, built if it isn't.
tilec_result call_variant_for(const struct call *call, int *variant);
int64_t call_blocks(const struct call *call, const struct call_variant *variant, int kernel);
// Where each workspace lies from the first on; returns the size of all, -1 if it doesn't fit.
int64_t call_workspaces(const struct call *call, const struct launch_plan *plan, int64_t *offsets);
tilec_result call_launch(const tilec_bound *bound, const uint64_t *words, void *workspace, void *stream, tilec_report *report);

// ---------------------------------------------------------------------------------------------- CUDA (call_cuda.c)

// Builds every variant's binary, two at a time.
struct status call_cuda_build(tilec_bound *bound);
// The code in the context that a launch of this thread is for, loaded if it isn't. *pushed: the primary context was made
// current; call_cuda_leave undoes that.
struct status call_cuda_enter(struct arena *arena, const tilec_bound *bound, const struct call_loaded **loaded, bool *pushed);
void call_cuda_leave(const tilec_bound *bound, bool pushed);
void call_cuda_unload(tilec_bound *bound);

#endif
