// SPDX-License-Identifier: Apache-2.0
// What emitted CUDA C finds when g++ compiles it for the CPU: force-included before the text, instead of any CUDA header.
//
// In: names of CUDA C. Out: the same names as C++: qualifiers, vector types, indices, intrinsics. What needs the other
// threads of the block (barriers, shuffles, votes) calls the runtime, with the line it was called from; what is plain
// arithmetic is in hostcuda_math.h. Helpers whose device body is PTX have their host body here under the same name.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

// ------------------------------------------------------------------------------------------------ qualifiers

#define __global__
#define __device__
#define __host__
#define __constant__ static
// Static shared memory. The section lets the runtime poison it before every block; a batch gives each text its own.
#define __shared__ static __attribute__((section("simt_shared")))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))

// ------------------------------------------------------------------------------------------------ vector types

// CUDA's alignments: the whole size for two and four members.
#define SIMT_VECTOR_2(name, type) \
    struct alignas(2 * sizeof(type)) name { type x, y; }; \
    inline name make_##name(type x, type y) { return name{x, y}; }
#define SIMT_VECTOR_4(name, type, bytes) \
    struct alignas(bytes) name { type x, y, z, w; }; \
    inline name make_##name(type x, type y, type z, type w) { return name{x, y, z, w}; }

SIMT_VECTOR_2(char2, signed char)
SIMT_VECTOR_2(uchar2, unsigned char)
SIMT_VECTOR_2(short2, short)
SIMT_VECTOR_2(ushort2, unsigned short)
SIMT_VECTOR_2(int2, int)
SIMT_VECTOR_2(uint2, unsigned)
SIMT_VECTOR_2(longlong2, long long)
SIMT_VECTOR_2(ulonglong2, unsigned long long)
SIMT_VECTOR_2(float2, float)
SIMT_VECTOR_2(double2, double)
SIMT_VECTOR_4(char4, signed char, 4)
SIMT_VECTOR_4(uchar4, unsigned char, 4)
SIMT_VECTOR_4(short4, short, 8)
SIMT_VECTOR_4(ushort4, unsigned short, 8)
SIMT_VECTOR_4(int4, int, 16)
SIMT_VECTOR_4(uint4, unsigned, 16)
SIMT_VECTOR_4(float4, float, 16)
SIMT_VECTOR_4(longlong4, long long, 16)
SIMT_VECTOR_4(double4, double, 16)
#undef SIMT_VECTOR_2
#undef SIMT_VECTOR_4

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};

// ------------------------------------------------------------------------------------------------ who runs

namespace simt {

constexpr unsigned lanes_per_warp = 32;

// What the text may know of the thread that runs. The runtime sets it at every switch.
struct identity {
    uint3 thread, block;
    dim3 block_extent, grid_extent;
    unsigned linear, lane, warp;
    unsigned blocks_run;  // in this process, up to this one
};
extern "C" identity simt_identity;

struct place {
    const char *file;
    int line;
};
// As a default argument this is the place of the call.
#define SIMT_HERE simt::place here = {__builtin_FILE(), __builtin_LINE()}

// Waits for every thread of the block.
extern "C" void simt_block_barrier(place here, const char *operation);
// Barriers in shared memory, `at` bytes from the start of the dynamic part.
enum { phase_over, phase_landing, phase_waiting };
extern "C" void simt_phase_start(unsigned at, int arrivals, place here);
extern "C" void simt_phase_arrive(unsigned at, int bytes, place here);
// A copy of so many bytes is on its way; it lands when somebody waits for it and not before.
extern "C" void simt_phase_coming(unsigned at, int bytes, place here);
// Whether the phase of the turn (0, 1) is over; landing: the caller has the copies land, ends it, and looks again; waiting:
// the caller has waited, and looks again.
extern "C" int simt_phase_look(unsigned at, int turn, place here);
extern "C" void simt_phase_end(unsigned at, place here);
// The thread's registers from here on. All together they are what the block began with: one block is taken to be resident.
extern "C" void simt_registers(int count, bool up, place here);
// Waits for the lanes in `mask`. Before it, the lane's `bytes` (at most 16) at `value` are put where the others see
// them; gives the array of all 32 lanes' slots of 16 bytes, valid until this lane's next warp operation.
extern "C" const unsigned char *simt_exchange(unsigned mask, const void *value, size_t bytes, place here, const char *operation);
// Waits for the lanes in `mask`, and orders their accesses to memory.
extern "C" void simt_warp_barrier(unsigned mask, place here);
// Waits for every thread of the cluster.
extern "C" void simt_cluster_barrier(place here);
// Waits for the first so many threads of the block; of every block of the cluster.
extern "C" void simt_part_barrier(int threads, place here);
extern "C" void simt_cluster_part_barrier(int threads, place here);
// Where a place in shared memory lies in that of the cluster's block `rank`.
extern "C" const void *simt_peer(const void *place, int rank, simt::place here);
// The copy engine: begins a copy to shared memory, as one thread; waits for it, as any.
extern "C" void simt_fetch(void *to, const void *from, int bytes, const void *barrier, place here);
extern "C" void simt_await_fetch(const void *barrier, place here);
// A block barrier that gives the count of threads whose predicate holds.
extern "C" int simt_block_count(int predicate, place here, const char *operation);
// Where dynamic shared memory begins: what prepare.cpp makes of `extern __shared__ T name[];`.
extern "C" void *simt_dynamic_shared();
// Ends the launch with a complaint.
extern "C" void simt_fail(place here, const char *message);
// An atomic access, from the code at `code`: checked as any other, but not against other atomics.
extern "C" void simt_watch_atomic(void *address, size_t bytes, const void *code);
// A fence over the device. An atomic behind one hands on what the block did before its last barrier; a fence behind an
// atomic takes what was handed on there.
extern "C" void simt_watch_fence();

template <class T> inline T lane_value(const unsigned char *slots, unsigned lane) {
    T value;
    memcpy(&value, slots + 16 * lane, sizeof value);
    return value;
}

// The value of lane `source` of the present group of `width` lanes; the caller's own where `source` lies outside.
template <class T> inline T shuffle(unsigned mask, T value, int source, int width, place here, const char *operation) {
    static_assert(sizeof(T) <= 16, "a shuffle carries at most 16 bytes");
    unsigned lane = simt_identity.lane;
    const unsigned char *slots = simt_exchange(mask, &value, sizeof value, here, operation);
    unsigned base = lane & ~unsigned(width - 1);
    bool inside = source >= int(base) && source < int(base) + width;
    unsigned from = inside ? unsigned(source) : lane;
    if (!(mask >> from & 1)) simt_fail(here, "reads a lane that the mask does not name");
    return lane_value<T>(slots, from);
}

}  // namespace simt

#define threadIdx (simt::simt_identity.thread)
#define blockIdx (simt::simt_identity.block)
#define blockDim (simt::simt_identity.block_extent)
#define gridDim (simt::simt_identity.grid_extent)
#define warpSize 32

// ------------------------------------------------------------------------------------------------ barriers, warps

inline void __syncthreads(SIMT_HERE) { simt::simt_block_barrier(here, "__syncthreads"); }
inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE) { simt::simt_warp_barrier(mask, here); }
inline void __threadfence() { simt::simt_watch_fence(); }
inline void __nanosleep(unsigned) {}
inline void __threadfence_block() {}
inline unsigned __activemask() { return 0xffffffffu; }

template <class T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMT_HERE) {
    int base = int(simt::simt_identity.lane & ~unsigned(width - 1));
    return simt::shuffle(mask, value, base + (source & (width - 1)), width, here, "__shfl_sync");
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, SIMT_HERE) {
    return simt::shuffle(mask, value, int(simt::simt_identity.lane) ^ bits, width, here, "__shfl_xor_sync");
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {
    return simt::shuffle(mask, value, int(simt::simt_identity.lane) - int(delta), width, here, "__shfl_up_sync");
}
template <class T> inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {
    return simt::shuffle(mask, value, int(simt::simt_identity.lane + delta), width, here, "__shfl_down_sync");
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_HERE) {
    unsigned char bit = predicate != 0;
    const unsigned char *slots = simt::simt_exchange(mask, &bit, 1, here, "__ballot_sync");
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        if (mask >> lane & 1) votes |= unsigned(slots[16 * lane]) << lane;
    }
    return votes;
}
inline int __any_sync(unsigned mask, int predicate, SIMT_HERE) { return __ballot_sync(mask, predicate, here) != 0; }
inline int __all_sync(unsigned mask, int predicate, SIMT_HERE) { return __ballot_sync(mask, predicate, here) == mask; }

// Emitted helpers: a copy by the copy engine, which one thread begins, and the wait for it.
inline void tile_fetch(void *to, const void *from, int bytes, unsigned long long *full, SIMT_HERE) {
    if (threadIdx.x == 0) simt::simt_fetch(to, from, bytes, full, here);
    __syncthreads(here);
}
inline void tile_fetched(unsigned long long *full, SIMT_HERE) { simt::simt_await_fetch(full, here); }

// Emitted helpers: all of the cluster meet; where a place lies in the shared memory of another of its blocks.
inline void tile_meet(SIMT_HERE) { simt::simt_cluster_barrier(here); }
inline const void *tile_peer(const void *place, int rank, SIMT_HERE) { return simt::simt_peer(place, rank, here); }

// Every thread of the block votes.
inline int __syncthreads_or(int predicate, SIMT_HERE) { return simt::simt_block_count(predicate, here, "__syncthreads_or") != 0; }
inline int __syncthreads_count(int predicate, SIMT_HERE) { return simt::simt_block_count(predicate, here, "__syncthreads_count"); }
inline int __syncthreads_and(int predicate, SIMT_HERE) { return simt::simt_block_count(!predicate, here, "__syncthreads_and") == 0; }

// ------------------------------------------------------------------------------------------------ atomics

#define SIMT_UNWATCHED __attribute__((no_sanitize("thread"), noinline))

// Fibers change only at barriers, so nothing comes between the load and the store.
// Only the types that CUDA has: a call with another must not compile here either.
#define SIMT_ATOMIC(name, type, expression) \
    SIMT_UNWATCHED static inline type name(type *address, type value) { \
        simt::simt_watch_atomic(address, sizeof(type), __builtin_return_address(0)); \
        type old = *address; \
        *address = expression; \
        return old; \
    }
SIMT_ATOMIC(atomicAdd, int, int(unsigned(old) + unsigned(value)))
SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicMax, int, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned, old > value ? old : value)
SIMT_ATOMIC(atomicMax, long long, old > value ? old : value)
SIMT_ATOMIC(atomicMax, unsigned long long, old > value ? old : value)
SIMT_ATOMIC(atomicMin, int, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned, old < value ? old : value)
SIMT_ATOMIC(atomicMin, long long, old < value ? old : value)
SIMT_ATOMIC(atomicMin, unsigned long long, old < value ? old : value)
SIMT_ATOMIC(atomicExch, int, value)
SIMT_ATOMIC(atomicExch, unsigned, value)
SIMT_ATOMIC(atomicExch, unsigned long long, value)
SIMT_ATOMIC(atomicExch, float, value)
SIMT_ATOMIC(atomicOr, int, old | value)
SIMT_ATOMIC(atomicOr, unsigned, old | value)
SIMT_ATOMIC(atomicAnd, int, old & value)
SIMT_ATOMIC(atomicAnd, unsigned, old & value)
#undef SIMT_ATOMIC

#define SIMT_CAS(type) \
    SIMT_UNWATCHED static inline type atomicCAS(type *address, type compare, type value) { \
        simt::simt_watch_atomic(address, sizeof(type), __builtin_return_address(0)); \
        type old = *address; \
        if (old == compare) *address = value; \
        return old; \
    }
SIMT_CAS(int)
SIMT_CAS(unsigned)
SIMT_CAS(unsigned long long)
SIMT_CAS(unsigned short)
#undef SIMT_CAS

#include "tests/shim/hostcuda_math.h"
#include "tests/shim/hostcuda_matmul.h"
#include "tests/shim/hostcuda_producer.h"

// ------------------------------------------------------------------------------------------------ entries

namespace simt {

template <class... A, size_t... I>
inline void call_unpacked(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
    (void)arguments;
    kernel(*static_cast<typename std::remove_reference<A>::type *>(arguments[I])...);
}
// Calls a kernel with arguments as cuLaunchKernel takes them: a pointer to each.
template <class... A> inline void call(void (*kernel)(A...), void **arguments) {
    call_unpacked(kernel, arguments, std::index_sequence_for<A...>{});
}

// What a compiled text offers; an array of these ends with a null name.
struct entry {
    const char *name;
    void (*run)(void **arguments);
    int parameters;
    char *shared_begin, *shared_end;  // static shared memory of the text; null if it has none
};
template <class... A> constexpr int parameter_count(void (*)(A...)) { return int(sizeof...(A)); }

}  // namespace simt
