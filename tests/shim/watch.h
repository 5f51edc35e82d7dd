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
// Clusters. The blocks of one take turns between the barriers at which they meet; each has records of its own for shared
// memory, which others reach at `fixed` and `dynamic` while it doesn't run.
void watch_peer(unsigned rank, unsigned char *fixed, size_t fixed_bytes, unsigned char *dynamic, size_t dynamic_bytes);
void watch_cluster_begins();
void watch_rank_enters(unsigned rank);
void watch_cluster_meets();   // all earlier accesses of its blocks come before all later ones
void watch_thread(const watcher_thread &thread);
// Copies by the copy engine. Nothing of one is there before a thread has waited for it; others see it if they have waited
// too, or behind a barrier.
void watch_fetch_begins(unsigned char *to, const unsigned char *from, size_t bytes, const void *barrier, const void *code);
bool watch_fetch_awaited(const void *barrier);  // false: none was begun with it
bool watch_fetches_awaited(unsigned threads);   // every thread has waited for all of the block
bool watch_step_is_last();    // counts one step; true beyond the limit
int64_t watch_steps();

// "file:line" of an address in compiled text, or "?".
std::string place_of(const void *code_address);

// Ends the launch that runs. Doesn't return.
[[noreturn]] void fail(const std::string &message);

}  // namespace simt
