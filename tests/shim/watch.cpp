// SPDX-License-Identifier: Apache-2.0
// The checks behind every access; see watch.h.
//
// In: calls that the compiler puts before each load and store, with an address. Out: nothing, or the end of the launch
// with two lines to look at. The one idea is that of ThreadSanitizer, made exact for barriers: each place remembers its
// last store and its last loads with the epoch (the count of barriers) in which they happened.
#include "tests/shim/watch.h"

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <unordered_map>

namespace simt {

namespace {

// The last accesses to one element of an output, or to one word of shared memory. A word may hold several small
// elements: masks say which of its bytes are meant. Of two small ones only the later access is remembered.
struct record {
    const void *store_code, *load_code;
    uint32_t store_epoch, load_epoch;  // 0: never
    uint32_t store_warp_epoch, load_warp_epoch;
    uint16_t store_thread, load_thread;
    uint8_t store_bytes, load_bytes;
    uint8_t written;                  // bytes stored to since the block began (shared memory)
    bool store_atomic;
    bool load_by_warp, load_by_many;  // by several threads of one warp; of several warps
    uint32_t peer_epoch;              // of the last load by another block of the cluster; 0: never
    uint16_t peer_thread;
    const void *peer_code;
};

constexpr size_t word_bytes = 4;
constexpr uint8_t all_bytes = 0xff;

struct region {
    unsigned char *begin, *end;
    size_t granule;
    access allowed;
    bool shared;
    record *records;  // null: accesses are not compared
    const char *name;
    bool peer = false;  // another block's shared memory
};

// Records by the count wanted; pages that nobody touches cost nothing.
class record_pool {
  public:
    ~record_pool() { release(); }
    record *take(size_t count) {
        if (count > capacity_) {
            release();
            capacity_ = count + count / 2 + 4096;
            void *memory = mmap(nullptr, capacity_ * sizeof(record), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            records_ = memory == MAP_FAILED ? nullptr : static_cast<record *>(memory);
        }
        return records_;
    }

  private:
    void release() {
        if (records_ != nullptr) munmap(records_, capacity_ * sizeof(record));
        records_ = nullptr;
        capacity_ = 0;
    }
    record *records_ = nullptr;
    size_t capacity_ = 0;
};

// What blocks hand on to later ones at an element that they meet at (an atomic between fences): of each block of the
// launch, the epoch before which its accesses are known to have been made.
struct meetings {
    std::vector<uint32_t> begins;  // by block: its first epoch
    std::vector<uint32_t> known;   // by block, to the block that runs now
    std::unordered_map<void *, std::vector<uint32_t>> handed_on;
    void *place = nullptr;         // of this thread's last atomic
    bool fenced = false;           // this thread has passed a fence

    void begin_launch() {
        begins.clear();
        known.clear();
        handed_on.clear();
        begin_thread();
    }
    void begin_block(uint32_t epoch) {
        begins.push_back(epoch);
        known.assign(begins.size(), 0);
        begin_thread();
    }
    void begin_thread() {
        place = nullptr;
        fenced = false;
    }
    static void join(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
        if (into.size() < from.size()) into.resize(from.size(), 0);
        for (size_t i = 0; i < from.size(); i++) into[i] = std::max(into[i], from[i]);
    }
    void atomic(void *address, uint32_t epoch) {
        if (fenced && !begins.empty()) {
            known[begins.size() - 1] = epoch;
            join(handed_on[address], known);
        }
        place = address;
    }
    void fence() {
        auto found = handed_on.find(place);
        if (place != nullptr && found != handed_on.end()) join(known, found->second);
        fenced = true;
    }
    // Whether an access of an earlier block, in this epoch, comes before what the present block does now.
    bool ordered(uint32_t epoch) const {
        auto after = std::upper_bound(begins.begin(), begins.end(), epoch);
        return after != begins.begin() && epoch < known[size_t(after - begins.begin()) - 1];
    }
};

struct fetch {
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
    const void *barrier;
    bool landed;
    uint32_t landed_epoch;
    std::bitset<1024> waited;
};

// The compiler's calls carry nothing but an address, so what they check against has to be found from here.
struct watch_state {
    bool active = false;
    std::vector<region> regions;
    region *latest = nullptr;
    uintptr_t arena_begin = 0, arena_end = 0;    // where only what lies in a region may be touched
    uintptr_t shared_begin = 0, shared_end = 0;  // likewise, around dynamic shared memory
    uint32_t epoch = 1, launch_epoch = 1, block_epoch = 1;  // they only grow, so records never need clearing
    uint32_t cluster_epoch = 1, meeting_epoch = 1;  // when the cluster (or the block that is none) began, and last met
    size_t cluster_first = 0, cluster_met = 0;      // of its turns: the first, and those before it met
    size_t own = 0;                                 // region of dynamic shared memory; behind it that of the static one
    std::vector<size_t> peers;                      // by rank: the first of its two regions
    watcher_thread thread = {0, 0, 0};
    meetings blocks;
    std::vector<fetch> fetches;  // of the block that runs
    int64_t steps = 0, step_limit = 0;
    std::vector<std::unique_ptr<record_pool>> pools, rank_pools;
} state;

record_pool &pool(size_t index) {
    while (state.pools.size() <= index) state.pools.push_back(std::make_unique<record_pool>());
    return *state.pools[index];
}

std::string quoted(const region &r) { return r.shared ? std::string(r.name) : "'" + std::string(r.name) + "'"; }

// Whether an earlier access in `epoch` by `thread` may happen at the same time as one made now.
bool concurrent(const region &r, uint32_t epoch, uint16_t thread, uint32_t warp_epoch) {
    if (r.shared ? epoch < state.block_epoch : epoch < state.launch_epoch) return false;
    if (epoch < state.block_epoch) return !state.blocks.ordered(epoch);
    if (epoch < state.epoch || thread == state.thread.number) return false;
    return thread / 32 != state.thread.warp || warp_epoch >= state.thread.warp_epoch;
}

[[noreturn]] void fail_race(const region &r, size_t offset, const char *now, const void *code, const char *before,
                            const void *before_code, uint32_t before_epoch, uint16_t before_thread) {
    bool same_block = before_epoch >= state.block_epoch;
    std::string message = place_of(code) + ": " + now + " element " + std::to_string(offset / r.granule) + " of " +
                          quoted(r) + ", which thread " + std::to_string(before_thread) +
                          (same_block ? "" : " of another block") + " " + before + " at " + place_of(before_code) +
                          (same_block ? " with no barrier between them" : "");
    fail(message);
}

void check_store(const region &r, size_t offset, record &last, uint8_t bytes, const void *code, bool atomic) {
    if (last.store_epoch != 0 && (last.store_bytes & bytes) && !(atomic && last.store_atomic) &&
        concurrent(r, last.store_epoch, last.store_thread, last.store_warp_epoch)) {
        fail_race(r, offset, "stores to", code, "stored", last.store_code, last.store_epoch, last.store_thread);
    }
    if (last.load_epoch != 0 && (last.load_bytes & bytes)) {
        bool others = last.load_by_many && last.load_epoch >= state.epoch;
        bool warp = last.load_by_warp && last.load_epoch >= state.epoch &&
                    (last.load_thread / 32 != state.thread.warp || last.load_warp_epoch >= state.thread.warp_epoch);
        if (others || warp || concurrent(r, last.load_epoch, last.load_thread, last.load_warp_epoch)) {
            fail_race(r, offset, "stores to", code, "loaded", last.load_code, last.load_epoch, last.load_thread);
        }
    }
    if (r.shared && last.peer_epoch >= state.meeting_epoch) {
        fail(place_of(code) + ": stores to element " + std::to_string(offset / r.granule) + " of " + quoted(r) + ", which thread " +
             std::to_string(last.peer_thread) + " of another block loads at " + place_of(last.peer_code) +
             " with no meeting of the cluster between them");
    }
    last.written = uint8_t(bytes | (last.store_epoch < state.cluster_epoch ? 0 : last.written));
    last.store_bytes = bytes;
    last.store_code = code;
    last.store_epoch = state.epoch;
    last.store_warp_epoch = state.thread.warp_epoch;
    last.store_thread = state.thread.number;
    last.store_atomic = atomic;
}

// Another block's store has to come before the last meeting, its next one behind the next.
void check_peer_load(const region &r, size_t offset, record &last, uint8_t bytes, const void *code) {
    if (last.store_epoch < state.cluster_epoch || (bytes & ~last.written)) {
        fail(place_of(code) + ": loads byte " + std::to_string(offset) + " of " + quoted(r) + ", where nothing was stored in that block");
    }
    if (last.store_epoch >= state.meeting_epoch) {
        fail(place_of(code) + ": loads element " + std::to_string(offset / r.granule) + " of " + quoted(r) + ", which thread " +
             std::to_string(last.store_thread) + " of that block stored at " + place_of(last.store_code) +
             " with no meeting of the cluster between them");
    }
    last.peer_epoch = state.epoch;
    last.peer_thread = state.thread.number;
    last.peer_code = code;
}

// A copy that this thread hasn't waited for, nor another one in front of a barrier.
void check_awaited(const region &r, size_t offset, const void *code) {
    const unsigned char *address = r.begin + offset;
    for (const fetch &f : state.fetches) {
        bool inside = address >= f.to && address < f.to + f.bytes;
        if (inside && f.landed && state.epoch == f.landed_epoch && !f.waited[state.thread.number]) {
            fail(place_of(code) + ": loads byte " + std::to_string(offset) + " of " + quoted(r) + ", a copy that this thread hasn't waited for");
        }
    }
}

// A volatile load may see an atomic come or gone: that is how a loop of compare and exchange begins.
void check_load(const region &r, size_t offset, record &last, uint8_t bytes, const void *code, bool atomic) {
    if (last.store_epoch != 0 && (last.store_bytes & bytes) && !(atomic && last.store_atomic) &&
        concurrent(r, last.store_epoch, last.store_thread, last.store_warp_epoch)) {
        fail_race(r, offset, "loads", code, "stored", last.store_code, last.store_epoch, last.store_thread);
    }
    if (r.shared && (last.store_epoch < state.cluster_epoch || (bytes & ~last.written))) {
        fail(place_of(code) + ": loads byte " + std::to_string(offset) + " of " + quoted(r) +
             ", where nothing was stored in this block");
    }
    if (r.shared && !state.fetches.empty()) check_awaited(r, offset, code);
    if (atomic) return;
    bool first = last.load_epoch < state.epoch || !(last.load_bytes & bytes);
    bool other = !first && last.load_thread != state.thread.number;
    bool same_warp = last.load_thread / 32 == state.thread.warp;
    last.load_by_many = !first && (last.load_by_many || (other && !same_warp));
    last.load_by_warp = !first && (last.load_by_warp || (other && same_warp));
    last.load_bytes = uint8_t(bytes | (first ? 0 : last.load_bytes));
    last.load_code = code;
    last.load_epoch = state.epoch;
    last.load_warp_epoch = state.thread.warp_epoch;
    last.load_thread = state.thread.number;
}

region *region_at(const unsigned char *address) {
    if (state.latest != nullptr && address >= state.latest->begin && address < state.latest->end) return state.latest;
    for (region &r : state.regions) {
        if (address >= r.begin && address < r.end) return state.latest = &r;
    }
    return nullptr;
}

// Names the nearest buffer and how far away it is.
std::string describe(const unsigned char *address) {
    const region *nearest = nullptr;
    long long distance = 0;
    for (const region &r : state.regions) {
        if (r.begin == nullptr) continue;
        long long away = address < r.begin ? address - r.begin : address - r.end;
        if (nearest == nullptr || llabs(away) < llabs(distance)) nearest = &r, distance = away;
    }
    if (nearest == nullptr) return "no tensor";
    return std::to_string(distance < 0 ? -distance : distance) + " bytes " + (distance < 0 ? "before " : "behind the end of ") +
           quoted(*nearest) + " of " + std::to_string(nearest->end - nearest->begin) + " bytes";
}

[[noreturn]] void fail_bounds(const unsigned char *address, size_t bytes, const char *verb, const void *code) {
    fail(place_of(code) + ": " + verb + " " + std::to_string(bytes) + " bytes at " + describe(address));
}

// Which bytes of the word at `at` lie in [begin, end).
uint8_t bytes_of_word(size_t at, size_t begin, size_t end) {
    size_t low = begin > at ? begin - at : 0, high = end < at + word_bytes ? end - at : word_bytes;
    return uint8_t(((1u << high) - 1) & ~((1u << low) - 1));
}

void check(void *pointer, size_t bytes, bool store, bool atomic, const void *code) {
    auto address = static_cast<unsigned char *>(pointer);
    auto number = reinterpret_cast<uintptr_t>(pointer);
    region *r = region_at(address);
    if (r == nullptr) {
        bool suspicious = number < 65536 || (number >= state.arena_begin && number < state.arena_end) ||
                          (number >= state.shared_begin && number < state.shared_end);
        if (suspicious) fail_bounds(address, bytes, store ? "stores" : "loads", code);
        return;  // the thread's own stack, or a constant table of the text
    }
    if (address + bytes > r->end) fail_bounds(address + bytes - 1, bytes, store ? "stores" : "loads", code);
    if (store && r->allowed == access::read) fail(place_of(code) + ": stores to the input " + quoted(*r));
    if (r->records == nullptr) return;
    size_t offset = size_t(address - r->begin), end = offset + bytes;
    for (size_t at = offset / r->granule * r->granule; at < end; at += r->granule) {
        uint8_t part = all_bytes;
        if (r->shared) part = bytes_of_word(at, offset, end);
        record &last = r->records[at / r->granule];
        if (r->peer) check_peer_load(*r, at, last, part, code);
        else if (store) check_store(*r, at, last, part, code, atomic);
        else check_load(*r, at, last, part, code, atomic);
    }
}

void count_step(const void *code) {
    if (++state.steps > state.step_limit) {
        fail(place_of(code) + ": no end after " + std::to_string(state.step_limit) + " steps");
    }
}

inline void watched(void *address, size_t bytes, bool store, const void *code, bool atomic = false) {
    if (!state.active) return;
    count_step(code);
    check(address, bytes, store, atomic, code);
}

}  // namespace

// ------------------------------------------------------------------------------------------------ set by the runtime

void watch_begin(const device_memory &memory, int64_t step_limit) {
    state.regions.clear();
    state.latest = nullptr;
    state.launch_epoch = state.block_epoch = ++state.epoch;
    state.blocks.begin_launch();
    state.steps = 0;
    state.step_limit = step_limit;
    size_t index = 2;
    for (const buffer &b : memory.buffers()) {
        record *records = nullptr;
        if (b.allowed == access::write) records = pool(index++).take(b.bytes / b.element_bytes + 1);
        state.regions.push_back({b.data, b.data + b.bytes, b.element_bytes, b.allowed, false, records, b.name.c_str()});
    }
    state.arena_begin = reinterpret_cast<uintptr_t>(memory.begin());
    state.arena_end = reinterpret_cast<uintptr_t>(memory.end());
    state.shared_begin = state.shared_end = 0;
    state.active = true;
}

void watch_end() { state.active = false; }

void watch_shared(unsigned char *dynamic, size_t dynamic_bytes, char *fixed_begin, char *fixed_end) {
    auto fixed = reinterpret_cast<unsigned char *>(fixed_begin), end = reinterpret_cast<unsigned char *>(fixed_end);
    state.own = state.regions.size();
    state.regions.push_back({dynamic, dynamic + dynamic_bytes, word_bytes, access::write, true, pool(0).take(dynamic_bytes / word_bytes + 1),
                             "dynamic shared memory"});
    if (fixed != nullptr) {
        state.regions.push_back({fixed, end, word_bytes, access::write, true, pool(1).take(size_t(end - fixed) / word_bytes + 1),
                                 "shared memory"});
    }
    state.shared_begin = reinterpret_cast<uintptr_t>(dynamic) - dynamic_gap_bytes;
    state.shared_end = reinterpret_cast<uintptr_t>(dynamic) + dynamic_bytes + dynamic_gap_bytes;
    state.latest = nullptr;
}

void watch_block_begins() {
    state.fetches.clear();
    state.cluster_epoch = state.block_epoch = ++state.epoch;
    state.blocks.begin_block(state.epoch);
}
void watch_block_barrier() { ++state.epoch; }

void watch_peer(unsigned rank, unsigned char *fixed, size_t fixed_bytes, unsigned char *dynamic, size_t dynamic_bytes) {
    if (rank == 0) state.peers.clear();
    while (state.rank_pools.size() <= 2 * rank + 1) state.rank_pools.push_back(std::make_unique<record_pool>());
    state.peers.push_back(state.regions.size());
    state.regions.push_back({dynamic, dynamic + dynamic_bytes, word_bytes, access::read, true,
                             state.rank_pools[2 * rank]->take(dynamic_bytes / word_bytes + 1), "another block's dynamic shared memory", true});
    state.regions.push_back({fixed, fixed + fixed_bytes, word_bytes, access::read, true,
                             state.rank_pools[2 * rank + 1]->take(fixed_bytes / word_bytes + 1), "another block's shared memory", true});
    state.latest = nullptr;
}

void watch_cluster_begins() {
    state.cluster_epoch = state.meeting_epoch = ++state.epoch;
    state.cluster_first = state.cluster_met = state.blocks.begins.size();
}

// Its own shared memory has the records of this rank. What the cluster's blocks did before they met is known to it.
void watch_rank_enters(unsigned rank) {
    size_t peer = state.peers[rank], own = state.own;
    state.regions[own].records = state.regions[peer].records;
    if (own + 1 < state.peers[0]) state.regions[own + 1].records = state.regions[peer + 1].records;
    state.block_epoch = ++state.epoch;
    state.blocks.begin_block(state.epoch);
    for (size_t i = state.cluster_first; i < state.cluster_met; i++) state.blocks.known[i] = state.meeting_epoch;
}

void watch_cluster_meets() {
    state.meeting_epoch = ++state.epoch;
    state.cluster_met = state.blocks.begins.size();
}

void watch_thread(const watcher_thread &thread) {
    state.thread = thread;
    state.blocks.begin_thread();
}
int64_t watch_steps() { return state.steps; }

void watch_fetch_begins(unsigned char *to, const unsigned char *from, size_t bytes, const void *barrier, const void *code) {
    if (bytes > 0) check(const_cast<unsigned char *>(from), bytes, false, false, code);
    state.fetches.push_back({to, from, bytes, barrier, false, 0, {}});
}

static void land(const fetch &f) {
    region *r = region_at(f.to);
    memcpy(f.to, f.from, f.bytes);
    if (r == nullptr || r->records == nullptr) return;
    size_t begin = size_t(f.to - r->begin), end = begin + f.bytes;
    for (size_t at = begin / r->granule * r->granule; at < end; at += r->granule) {
        record &last = r->records[at / r->granule];
        last.written = uint8_t(bytes_of_word(at, begin, end) | (last.store_epoch < state.cluster_epoch ? 0 : last.written));
        last.store_epoch = state.block_epoch;
        last.store_bytes = last.written;
        last.store_atomic = false;
    }
}

bool watch_fetch_awaited(const void *barrier) {
    bool found = false;
    for (fetch &f : state.fetches) {
        if (f.barrier != barrier) continue;
        if (!f.landed) {
            land(f);
            f.landed = true;
            f.landed_epoch = state.epoch;
        }
        f.waited[state.thread.number] = true;
        found = true;
    }
    return found;
}

bool watch_fetches_awaited(unsigned threads) {
    for (const fetch &f : state.fetches) {
        if (f.waited.count() != threads) return false;
    }
    return true;
}

bool watch_step_is_last() { return ++state.steps > state.step_limit; }

// ------------------------------------------------------------------------------------------------ places

namespace {
// The first line of the text itself: what was inlined from the shim's headers is passed over.
std::string first_own_line(FILE *lines) {
    char line[4096];
    std::string found = "?";
    while (fgets(line, sizeof line, lines) != nullptr) {
        line[strcspn(line, "\n")] = 0;
        if (char *note = strstr(line, " (discriminator")) *note = 0;
        if (strstr(line, "hostcuda") != nullptr || line[0] == '?') continue;
        const char *name = strrchr(line, '/');
        found = name != nullptr ? name + 1 : line;
        break;
    }
    while (fgets(line, sizeof line, lines) != nullptr) {}
    return found;
}
}  // namespace

std::string place_of(const void *code_address) {
    Dl_info info;
    if (dladdr(code_address, &info) == 0 || info.dli_fname == nullptr) return "?";
    auto offset = static_cast<const char *>(code_address) - static_cast<const char *>(info.dli_fbase) - 1;
    char command[4400];
    snprintf(command, sizeof command, "addr2line -i -e '%s' %#zx 2>/dev/null", info.dli_fname, size_t(offset));
    FILE *lines = popen(command, "r");
    if (lines == nullptr) return "?";
    std::string found = first_own_line(lines);
    pclose(lines);
    return found;
}

}  // namespace simt

// ------------------------------------------------------------------------------------------------ the compiler's calls

// Each is called right before an access, so its return address is the place of the access.
#define SIMT_HOOK(name, bytes, store) \
    extern "C" void name(void *address) { simt::watched(address, bytes, store, __builtin_return_address(0)); }
#define SIMT_VOLATILE_HOOKS(bytes) \
    extern "C" void __tsan_volatile_read##bytes(void *address) { \
        simt::watched(address, bytes, false, __builtin_return_address(0), true); \
    } \
    SIMT_HOOK(__tsan_volatile_write##bytes, bytes, true)
#define SIMT_HOOKS(bytes) \
    SIMT_HOOK(__tsan_read##bytes, bytes, false) \
    SIMT_HOOK(__tsan_write##bytes, bytes, true) \
    SIMT_HOOK(__tsan_unaligned_read##bytes, bytes, false) \
    SIMT_HOOK(__tsan_unaligned_write##bytes, bytes, true) \
    SIMT_VOLATILE_HOOKS(bytes)
SIMT_HOOK(__tsan_read1, 1, false)
SIMT_HOOK(__tsan_write1, 1, true)
SIMT_VOLATILE_HOOKS(1)
SIMT_HOOKS(2)
SIMT_HOOKS(4)
SIMT_HOOKS(8)
SIMT_HOOKS(16)
extern "C" void __tsan_read_range(void *address, size_t bytes) {
    simt::watched(address, bytes, false, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void *address, size_t bytes) {
    simt::watched(address, bytes, true, __builtin_return_address(0));
}
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}

// Called at the head of every basic block (-fsanitize-coverage=trace-pc): what ends a loop that never touches memory.
extern "C" void __sanitizer_cov_trace_pc() {
    if (simt::state.active) simt::count_step(__builtin_return_address(0));
}

// An atomic of the text.
extern "C" void simt_watch_atomic(void *address, size_t bytes, const void *code) {
    if (!simt::state.active) return;
    simt::count_step(code);
    simt::check(address, bytes, true, true, code);
    simt::state.blocks.atomic(address, simt::state.epoch);
}

extern "C" void simt_watch_fence() {
    if (simt::state.active) simt::state.blocks.fence();
}

// Atomics of C, as -fsanitize=thread hands them over. One thread runs at a time, so plain accesses do.
#define SIMT_FETCH(bits, type, name, operation) \
    extern "C" type __tsan_atomic##bits##_##name(type *address, type value, int) { \
        simt_watch_atomic(address, sizeof(type), __builtin_return_address(0)); \
        type before = *address; \
        *address = type(operation); \
        return before; \
    }
#define SIMT_EXCHANGE(bits, type, name) \
    extern "C" int __tsan_atomic##bits##_##name(type *address, type *expected, type value, int, int) { \
        simt_watch_atomic(address, sizeof(type), __builtin_return_address(0)); \
        bool same = *address == *expected; \
        if (same) *address = value; \
        else *expected = *address; \
        return same; \
    }
#define SIMT_ATOMICS(bits, type) \
    SIMT_FETCH(bits, type, exchange, value) \
    SIMT_FETCH(bits, type, fetch_add, before + value) \
    SIMT_FETCH(bits, type, fetch_sub, before - value) \
    SIMT_FETCH(bits, type, fetch_and, before &value) \
    SIMT_FETCH(bits, type, fetch_or, before | value) \
    SIMT_FETCH(bits, type, fetch_xor, before ^ value) \
    SIMT_EXCHANGE(bits, type, compare_exchange_strong) \
    SIMT_EXCHANGE(bits, type, compare_exchange_weak) \
    extern "C" type __tsan_atomic##bits##_load(type *address, int) { \
        simt_watch_atomic(address, sizeof(type), __builtin_return_address(0)); \
        return *address; \
    } \
    extern "C" void __tsan_atomic##bits##_store(type *address, type value, int) { \
        simt_watch_atomic(address, sizeof(type), __builtin_return_address(0)); \
        *address = value; \
    }
SIMT_ATOMICS(8, uint8_t)
SIMT_ATOMICS(16, uint16_t)
SIMT_ATOMICS(32, uint32_t)
SIMT_ATOMICS(64, uint64_t)
extern "C" void __tsan_atomic_thread_fence(int) {}

// What -fsanitize=alignment,bounds,… calls: the place comes first in its description of the fault.
struct simt_undefined_place {
    const char *file;
    uint32_t line, column;
};
static void undefined(const simt_undefined_place *where, const char *what) {
    const char *name = strrchr(where->file, '/');
    simt::fail(std::string(name != nullptr ? name + 1 : where->file) + ":" + std::to_string(where->line) + ": " + what);
}
#define SIMT_UNDEFINED(name, what) \
    extern "C" void __ubsan_handle_##name(simt_undefined_place *where) { undefined(where, what); }
SIMT_UNDEFINED(type_mismatch_v1, "a null or misaligned address for an access of this width")
SIMT_UNDEFINED(out_of_bounds, "an index outside of a fixed array")
SIMT_UNDEFINED(shift_out_of_bounds, "a shift by more than the width, or by less than 0")
SIMT_UNDEFINED(divrem_overflow, "a division by 0, or of the least integer by -1")
SIMT_UNDEFINED(builtin_unreachable, "reached what is marked unreachable")
SIMT_UNDEFINED(missing_return, "a function ends without its value")
SIMT_UNDEFINED(load_invalid_value, "a bool that is neither 0 nor 1")
SIMT_UNDEFINED(pointer_overflow, "an address that wraps around")
SIMT_UNDEFINED(add_overflow, "a signed sum that overflows")
SIMT_UNDEFINED(sub_overflow, "a signed difference that overflows")
SIMT_UNDEFINED(mul_overflow, "a signed product that overflows")
SIMT_UNDEFINED(negate_overflow, "a negation that overflows")
SIMT_UNDEFINED(vla_bound_not_positive, "an array without elements")
