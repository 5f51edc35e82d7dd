// SPDX-License-Identifier: Apache-2.0
// Runs compiled kernels on the CPU: the host's side of the shim.
//
// In: an entry of a compiled text, a grid, arguments, memory. Out: whether the launch went right, and if not, what went
// wrong and on which line. The one idea: one fiber per CUDA thread, blocks one after another, and every access of the
// text to memory passes through a check, because it was compiled with the calls of -fsanitize=thread, which are
// answered here instead of by a sanitizer's own runtime.
//
// What is found: accesses outside every tensor; stores to inputs; two threads at one place without a barrier between
// them (or two blocks at one place); shared memory read before anything was stored there; barriers that some threads
// don't reach, or reach at different lines; warp operations with missing lanes; deadlocks; misaligned vectors, indices
// past a static array (the calls of -fsanitize=alignment,bounds); faults; and loops without end, by a count of steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt {

struct entry;  // hostcuda.h

// ------------------------------------------------------------------------------------------------ memory

enum class access { read, write };  // write: reads too

// A tensor in the device's memory. Only [data, data + bytes) may be touched.
struct buffer {
    unsigned char *data;
    size_t bytes;
    size_t element_bytes;
    access allowed;
    std::string name;
};

// One stretch of addresses from which tensors are allocated, with wide gaps in which nothing may be touched.
class device_memory {
  public:
    device_memory();
    ~device_memory();
    device_memory(const device_memory &) = delete;
    device_memory &operator=(const device_memory &) = delete;

    // Aligned to 256 bytes plus `shift`, as cuMemAlloc is; the contents are poison. Zero bytes are fine.
    unsigned char *allocate(const std::string &name, size_t bytes, size_t element_bytes, access allowed, size_t shift = 0);
    void clear();  // frees all
    // The name of the first buffer around which something was written although nothing may be; "" if all is well.
    std::string first_broken_guard() const;
    const std::vector<buffer> &buffers() const { return buffers_; }
    const unsigned char *begin() const { return base_; }  // the whole stretch, gaps included
    const unsigned char *end() const;

  private:
    unsigned char *base_;
    size_t used_;
    std::vector<buffer> buffers_;
};

// The byte that memory holds which nobody has stored to: as floating types it is a NaN of every width.
constexpr unsigned char poison_byte = 0xff;

// ------------------------------------------------------------------------------------------------ launches

enum class order { forward, backward };  // in which the threads of a block take their turns

struct launch {
    const entry *kernel = nullptr;
    int64_t blocks = 0;
    int threads = 0;
    int cluster = 1;  // blocks of a cluster
    int64_t dynamic_bytes = 0;
    void **arguments = nullptr;
    order turns = order::forward;
    int64_t step_limit = int64_t{1} << 40;  // accesses to memory, basic blocks and turns, of all threads together
};

struct outcome {
    bool ok = true;
    std::string message;   // "file:line: what is wrong"
    int64_t steps = 0, turns = 0;
};

outcome run(const launch &launch, const device_memory &memory);

// The same checks for code that runs as one thread: calls function(blocks, arguments).
outcome run_serial(void (*function)(long long blocks, void **arguments), int64_t blocks, void **arguments,
                   const device_memory &memory, int64_t step_limit);

}  // namespace simt
