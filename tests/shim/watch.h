// SPDX-License-Identifier: Apache-2.0
// Checks every access to memory: bounds, permission, order. The shim's own header, between runtime.cpp and watch.cpp.
#pragma once
#include "tests/shim/simt.h"

namespace simt {

// Who accesses: set by the runtime at every change of thread.
struct watcher_thread {
    uint16_t number;   // in its block
    uint16_t warp;
    uint32_t warp_epoch;  // warp barriers that this thread's warp has passed
};

constexpr size_t dynamic_gap_bytes = size_t{1} << 20;  // addresses on both sides of dynamic shared memory that are nobody's

void watch_begin(const device_memory &memory, int64_t step_limit);
void watch_end();
void watch_shared(unsigned char *dynamic, size_t dynamic_bytes, char *fixed_begin, char *fixed_end);
void watch_block_begins();    // all earlier accesses are those of other blocks
void watch_block_barrier();   // all earlier accesses of this block come before all later ones
void watch_thread(const watcher_thread &thread);
bool watch_step_is_last();    // counts one step; true beyond the limit
int64_t watch_steps();

// "file:line" of an address in compiled text, or "?".
std::string place_of(const void *code_address);

// Ends the launch that runs. Doesn't return.
[[noreturn]] void fail(const std::string &message);

}  // namespace simt
