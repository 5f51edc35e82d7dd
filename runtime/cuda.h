// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, as far as tilec uses it: the opened library (cuda.c), a device in use with its memory (cuda_device.c,
// cuda_memory.c), modules and launches (cuda_launch.c), and the whole way from a kernel to results (cuda_execute.c).
// Private to runtime/.
//
// No CUDA header is needed: the few types and functions are declared here. Every failure of the driver is a status whose
// reason ends with the driver's own name and number of the error, and whose number cuda_last_error gives:
//   missing.driver   no driver, one too old, no device of that number       device.…  the driver refuses something
//   memory.device    the device's memory doesn't suffice                     limits.…  over a limit, with both numbers
//   launch.…         a kernel failed: illegal-access, misaligned, timeout, illegal-instruction, trap, failed
// Once a kernel has failed on the device the context is lost for the process: whatever is called later fails alike, frees
// included, and that does no harm.
#ifndef TILEC_RUNTIME_CUDA_H
#define TILEC_RUNTIME_CUDA_H

#include "runtime/build.h"

// ---------------------------------------------------------------------------------------------- the driver (cuda.c)

typedef int cuda_result;                  // CUresult
typedef int cuda_device_handle;           // CUdevice
typedef unsigned long long cuda_address;  // CUdeviceptr
typedef struct CUctx_st *cuda_context_handle;
typedef struct CUmod_st *cuda_module_handle;
typedef struct CUfunc_st *cuda_function_handle;
typedef struct CUstream_st *cuda_stream_handle;
typedef struct CUevent_st *cuda_event_handle;

enum {  // CUresult
    CUDA_OK = 0, CUDA_OUT_OF_MEMORY = 2, CUDA_NO_DEVICE = 100, CUDA_NO_BINARY = 209, CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_OUT_OF_RESOURCES = 701, CUDA_TIMEOUT = 702, CUDA_TRAP = 710, CUDA_ILLEGAL_INSTRUCTION = 715, CUDA_MISALIGNED = 716,
    CUDA_INVALID_ADDRESS_SPACE = 717, CUDA_INVALID_PC = 718, CUDA_LAUNCH_FAILED = 719,
};
enum {  // CUdevice_attribute
    ATTRIBUTE_THREADS_PER_BLOCK = 1, ATTRIBUTE_GRID_X = 5, ATTRIBUTE_SHARED_PER_BLOCK = 8, ATTRIBUTE_WARP = 10,
    ATTRIBUTE_REGISTERS_PER_BLOCK = 12, ATTRIBUTE_CLOCK = 13, ATTRIBUTE_MULTIPROCESSORS = 16, ATTRIBUTE_MEMORY_CLOCK = 36,
    ATTRIBUTE_L2 = 38, ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_OPTIN = 97,
};
enum { FUNCTION_THREADS = 0, FUNCTION_DYNAMIC_SHARED = 8 };  // CUfunction_attribute

// Every function that is used, once: X(name in the driver, member, parameters).
#define CUDA_FUNCTIONS(X)                                                                                          \
    X(cuInit, init, (unsigned flags))                                                                              \
    X(cuDriverGetVersion, driver_version, (int *version))                                                          \
    X(cuGetErrorName, error_name, (cuda_result result, const char **name))                                         \
    X(cuGetErrorString, error_string, (cuda_result result, const char **text))                                     \
    X(cuDeviceGetCount, device_count, (int *count))                                                                \
    X(cuDeviceGet, device_get, (cuda_device_handle *device, int ordinal))                                          \
    X(cuDeviceGetName, device_name, (char *name, int length, cuda_device_handle device))                           \
    X(cuDeviceGetPCIBusId, device_bus, (char *name, int length, cuda_device_handle device))                        \
    X(cuDeviceGetAttribute, device_attribute, (int *value, int attribute, cuda_device_handle device))              \
    X(cuDeviceTotalMem, device_memory, (size_t *bytes, cuda_device_handle device))                                 \
    X(cuDevicePrimaryCtxRetain, context_retain, (cuda_context_handle *context, cuda_device_handle device))         \
    X(cuDevicePrimaryCtxRelease, context_release, (cuda_device_handle device))                                     \
    X(cuCtxPushCurrent, context_push, (cuda_context_handle context))                                               \
    X(cuCtxPopCurrent, context_pop, (cuda_context_handle *context))                                                \
    X(cuCtxGetCurrent, context_current, (cuda_context_handle *context))                                            \
    X(cuCtxGetDevice, context_device, (cuda_device_handle *device))                                                \
    X(cuMemGetInfo, memory_info, (size_t *free, size_t *total))                                                    \
    X(cuMemAlloc, memory_new, (cuda_address *address, size_t bytes))                                               \
    X(cuMemFree, memory_free, (cuda_address address))                                                              \
    X(cuMemcpyHtoD, copy_in, (cuda_address to, const void *from, size_t bytes))                                    \
    X(cuMemcpyDtoH, copy_out, (void *to, cuda_address from, size_t bytes))                                         \
    X(cuMemcpyDtoDAsync, copy, (cuda_address to, cuda_address from, size_t bytes, cuda_stream_handle stream))      \
    X(cuMemsetD8Async, fill, (cuda_address to, unsigned char value, size_t bytes, cuda_stream_handle stream))      \
    X(cuStreamCreate, stream_new, (cuda_stream_handle *stream, unsigned flags))                                    \
    X(cuStreamDestroy, stream_free, (cuda_stream_handle stream))                                                   \
    X(cuStreamSynchronize, stream_wait, (cuda_stream_handle stream))                                               \
    X(cuEventCreate, event_new, (cuda_event_handle *event, unsigned flags))                                        \
    X(cuEventDestroy, event_free, (cuda_event_handle event))                                                       \
    X(cuEventRecord, event_record, (cuda_event_handle event, cuda_stream_handle stream))                           \
    X(cuEventElapsedTime, event_elapsed, (float *milliseconds, cuda_event_handle begin, cuda_event_handle end))    \
    X(cuModuleLoadDataEx, module_load, (cuda_module_handle *module, const void *image, unsigned count, int *options, void **values)) \
    X(cuModuleUnload, module_free, (cuda_module_handle module))                                                    \
    X(cuModuleGetFunction, module_function, (cuda_function_handle *function, cuda_module_handle module, const char *name)) \
    X(cuFuncGetAttribute, function_attribute, (int *value, int attribute, cuda_function_handle function))          \
    X(cuFuncSetAttribute, function_set, (cuda_function_handle function, int attribute, int value))                 \
    X(cuLaunchKernel, launch, (cuda_function_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,   \
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,        \
                               cuda_stream_handle stream, void **arguments, void **extra))

struct cuda {
    struct arena *arena;
    void *handle;
    int version;             // of CUDA that the driver is for: 13000
    _Atomic cuda_result last_error;  // of the last call that failed
#define MEMBER(name, member, parameters) cuda_result (*member) parameters;
    CUDA_FUNCTIONS(MEMBER)
#undef MEMBER
};

// Opens libcuda.so.1 and initializes it. In tests TILEC_TEST_LIBCUDA names another library with the same functions.
struct status cuda_open(struct arena *arena, struct cuda **cuda);
void cuda_close(struct cuda *cuda);
// A status for a call that didn't return CUDA_OK: what was being done, and the driver's name and number of the error.
struct status cuda_failed(struct arena *arena, struct cuda *cuda, cuda_result result, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
// The status of a kernel that failed, or of what was called after it: the code tells the kinds of failures apart.
struct status cuda_launch_failed(struct arena *arena, struct cuda *cuda, cuda_result result, const char *kernel);
int cuda_last_error(const struct cuda *cuda);  // CUDA_OK if nothing failed yet

// ---------------------------------------------------------------------------------------------- devices (cuda_device.c)

struct cuda_properties {
    const char *name, *bus;      // "NVIDIA H200", "0000:18:00.0"
    int sm;                      // 90
    int warp, multiprocessors;
    int threads_per_block, threads_per_multiprocessor, registers_per_block;
    int shared_per_block, shared_optin;  // bytes: without asking, and at most
    int64_t blocks;              // of a grid, at most
    int l2_bytes;
    int clock_khz, memory_clock_khz;     // the highest; 0 where the driver doesn't say
    int64_t memory_bytes;
};

// A device whose primary context this thread has made current. One thread uses it; cuda_device_close is called by the
// same thread.
struct cuda_device {
    struct cuda *cuda;
    int ordinal;                 // among the devices that the driver shows (CUDA_VISIBLE_DEVICES)
    cuda_device_handle handle;
    cuda_context_handle context;
    cuda_stream_handle stream;
    struct cuda_properties properties;
};

// Whether `text` is "cuda" or "cuda:N", and which N.
bool cuda_device_named(const char *text, int *ordinal);
struct status cuda_device_open(struct arena *arena, int ordinal, struct cuda_device **device);
// The same without a context and a stream: only properties and clocks may be asked for.
struct status cuda_device_look(struct arena *arena, int ordinal, struct cuda_device **device);
void cuda_device_close(struct cuda_device *device);  // NULL is fine
// Waits for all that the device's stream holds. `kernel` is for the message.
struct status cuda_wait(struct arena *arena, struct cuda_device *device, const char *kernel);
// "580.159.04" and the present clocks in MHz, from the management library; empty and 0 where there is none.
struct cuda_clocks {
    char driver[80];
    int multiprocessor_mhz, memory_mhz;
};
struct cuda_clocks cuda_clocks(const struct cuda_device *device);

// ---------------------------------------------------------------------------------------------- memory (cuda_memory.c)

// Device memory between two guard areas of 0xff bytes: a write there is noticed, and a float read there is a NaN.
enum { CUDA_GUARD_BYTES = 4096 };
struct cuda_buffer {
    cuda_address block;    // 0: none
    cuda_address address;  // of the data; a multiple of 256
    size_t bytes;
};
struct status cuda_buffer_new(struct arena *arena, struct cuda_device *device, const char *name, size_t bytes, struct cuda_buffer *buffer);
void cuda_buffer_free(struct cuda_device *device, struct cuda_buffer *buffer);
// Not ok, "check.guard", if a guard area has changed: says on which side and how far off.
struct status cuda_buffer_check(struct arena *arena, struct cuda_device *device, const char *name, const struct cuda_buffer *buffer);

// The tensors of a kernel on a device, by parameter index.
struct cuda_tensors {
    int count;
    struct cuda_buffer *buffers;
    struct ir_tensor *views;  // as the host's, with the device's addresses
};
// Copies every tensor that has data, the poison of outputs too.
struct status cuda_tensors_new(struct arena *arena, struct cuda_device *device, const struct ir_kernel *kernel,
                               const struct ir_tensor *tensors, struct cuda_tensors *made);
// Looks at all guards and copies outputs and tensors updated in place back to the host.
struct status cuda_tensors_fetch(struct arena *arena, struct cuda_device *device, const struct ir_kernel *kernel,
                                 const struct cuda_tensors *made, const struct ir_tensor *tensors);
void cuda_tensors_free(struct cuda_device *device, struct cuda_tensors *made);

// ---------------------------------------------------------------------------------------------- launches (cuda_launch.c)

// What can be refused before compiling: threads, shared memory, counts of blocks. Codes limits.…
struct status cuda_check_plan(struct arena *arena, const struct cuda_properties *properties, const struct launch_plan *plan,
                              const struct ir_bindings *bindings);
// What can be refused before loading: registers times threads.
struct status cuda_check_usage(struct arena *arena, const struct cuda_properties *properties, const struct launch_plan *plan,
                               int usage_count, const struct cuda_usage *usage);

// A launch with everything worked out: what a timed loop repeats.
struct cuda_launch {
    const char *name;
    cuda_function_handle function;
    unsigned blocks, threads, shared_bytes;
    void **arguments;  // pointers to the values, as cuLaunchKernel takes them
};
struct cuda_program {
    cuda_module_handle module;  // NULL: none
    int launch_count;           // launches of no block are left out
    struct cuda_launch *launches;
    int workspace_count;        // the plan's workspaces; they live as long as the program
    struct cuda_buffer *workspaces;
};
// Whether a loaded function can be launched as planned; lets it have its shared memory.
struct status cuda_check_function(struct arena *arena, struct cuda_device *device, const struct launch_kernel *kernel,
                                  cuda_function_handle function);
// Loads a cubin or PTX and prepares the plan's launches for these tensors (with device addresses).
struct status cuda_program_load(struct arena *arena, struct cuda_device *device, const struct cuda_binary *binary,
                                const struct launch_plan *plan, const struct ir_bindings *bindings,
                                const struct ir_tensor *tensors, struct cuda_program *program);
// Queues every launch on the device's stream.
struct status cuda_program_launch(struct arena *arena, struct cuda_device *device, const struct cuda_program *program);
// Looks at the guards of the workspaces.
struct status cuda_program_check(struct arena *arena, struct cuda_device *device, const struct cuda_program *program);
void cuda_program_free(struct cuda_device *device, struct cuda_program *program);

// ---------------------------------------------------------------------------------------------- the whole way (cuda_execute.c)

struct cuda_request {
    const struct ir_kernel *kernel;   // as cpu_request
    const struct config *config;
    struct ir_bindings bindings;
    const struct ir_tensor *tensors;  // of the host, by parameter index
    bool index64, unaligned;          // what the tensors demand (plan_demands), as they will lie on the device
    bool checked;
    const char *source;               // CUDA C to compile in place of the emitted one, or NULL
    size_t source_length;
    const char *keep;                 // a folder that gets the emitted .cu, or NULL
    struct cache_session *session;    // of the cache, or NULL
    bool notes;                       // the cache notes which NVRTC it was, for where there is none
};
struct cuda_built {
    struct emitted *emitted;
    struct cuda_binary binary;
    bool cached;
};
// The key of a binary in the cache: everything that it depends on. `compiler` is NVRTC's version.
struct cache_key cuda_binary_key(struct arena *arena, const char *compiler, struct target target, bool ptx, const char *text, size_t length);
// The NVRTC that a build with `notes` had last, as it stands in keys; NULL if none is noted, here or in the remote cache.
const char *cuda_noted_nvrtc(struct arena *arena, struct cache_session *session);
// Compiles built->emitted (or request->source) for a target, or takes the binary from the cache. `nvrtc` NULL: there is
// none; then missing.nvrtc, unless the cache has it from the NVRTC that was noted last.
struct status cuda_compile(struct arena *arena, const struct nvrtc *nvrtc, struct target target, bool ptx, const struct cuda_request *request,
                           struct cuda_built *built);
// Lowers, emits, checks the limits of the device and compiles, or takes the binary from the cache.
struct status cuda_build(struct arena *arena, const struct cuda_properties *properties, const struct nvrtc *nvrtc,
                         const struct cuda_request *request, struct cuda_built *built);
// Gives the remote cache what the folder has of a build for device `ordinal`: a tune's workers, which compiled it, only
// read there, so that it doesn't get what lost. Where there is neither, nothing happens. Has a session.
void cuda_share(struct arena *arena, int ordinal, const struct cuda_request *request);
// All of it on device `ordinal`: as cpu_execute.
struct status cuda_execute(struct arena *arena, int ordinal, const struct cuda_request *request, const struct ir_tensor *tensors);

// Compiles and loads a text of tilec's own, for the device's architecture or as PTX for it. The caller frees the module.
struct status cuda_module_of(struct arena *arena, struct cuda_device *device, const char *text, const char *name,
                             cuda_module_handle *module);

#endif
