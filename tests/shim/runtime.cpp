// SPDX-License-Identifier: Apache-2.0
// The threads of a block as fibers, and what they do together; see simt.h.
//
// In: a launch. Out: its outcome. Within a block a fiber runs until it waits or ends; the next one that can run follows
// in a fixed order, so every run is the same. When a fault is found, all fibers are left where they are and control
// jumps back to run(): kernels own nothing that would have to be released.
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/shim/fiber.h"
#include "tests/shim/hostcuda.h"
#include "tests/shim/simt.h"
#include "tests/shim/watch.h"

namespace simt {

extern "C" identity simt_identity;
identity simt_identity;

namespace {

enum class status { ready, at_block_barrier, at_warp_operation, at_cluster_barrier, at_phase, returned };

struct thread {
    fiber context;
    uint3 index;
    unsigned linear, lane, warp;
    status state;
    unsigned awaited;  // at_phase: where the barrier is
    int registers;     // what it asked for; 0: nothing
    place where;
};

// A barrier in shared memory that counts arrivals and bytes (mbarrier).
struct phase {
    unsigned at, arrivals, missing, parity;
    int64_t bytes, coming;  // expected; of the copies that are on their way
};

struct warp {
    unsigned live;      // lanes that have not returned
    unsigned arrived;   // lanes that wait at the present operation
    unsigned mask;      // of that operation
    place where;        // of that operation; file null if no lane waits
    const char *operation;
    unsigned parity;    // which of the two sets of slots the present operation uses
    uint32_t epoch;     // of memory: warp barriers passed
    alignas(16) unsigned char slots[2][32][16];
};

constexpr unsigned most_threads = 1024, most_blocks = 8;  // of a block, of a cluster
constexpr size_t most_dynamic_bytes = size_t{256} << 10;

struct thread_block {
    thread threads[most_threads];
    warp warps[most_threads / 32];
    unsigned count = 0, live = 0, waiting = 0, meeting = 0;  // meeting: those at the cluster's barrier
    unsigned part = 0;  // how many are to come to the barrier at which threads wait: all, or a part
    place barrier = {nullptr, 0};
    const char *barrier_operation = nullptr;
    int votes[2] = {0, 0};
    unsigned vote_parity = 0;
    std::vector<phase> phases;
    std::vector<unsigned char> fixed, dynamic;  // shared memory while other blocks of the cluster run
};

// One launch at a time. Emitted text reaches its thread through names like threadIdx, so this can be no argument.
// The blocks of a cluster run one after another, each up to the barrier at which they meet. All use the same addresses
// for shared memory: what is there is put away meanwhile.
struct machine {
    stacks memory;
    fiber scheduler;
    thread_block blocks[most_blocks];
    thread_block *block = blocks;
    unsigned rank = 0;
    place meeting = {nullptr, 0};
    thread *present = nullptr;
    order turns = order::forward;
    const launch *job = nullptr;
    int64_t switches = 0;
    unsigned char *dynamic = nullptr;
    bool running = false;
    sigjmp_buf abandon;
    std::string message;
} now;

// ------------------------------------------------------------------------------------------------ complaints

std::string text_of(place here) {
    const char *name = here.file != nullptr ? strrchr(here.file, '/') : nullptr;
    return std::string(name != nullptr ? name + 1 : here.file != nullptr ? here.file : "?") + ":" + std::to_string(here.line);
}

std::string who() {
    if (now.present == nullptr) return "";
    return " (block " + std::to_string(simt_identity.block.x) + ", thread " + std::to_string(now.present->linear) + ")";
}

// ------------------------------------------------------------------------------------------------ taking turns

void resume(thread &next) {
    simt_identity.thread = next.index;
    simt_identity.linear = next.linear;
    simt_identity.lane = next.lane;
    simt_identity.warp = next.warp;
    watch_thread({uint16_t(next.linear), uint16_t(next.warp), now.block->warps[next.warp].epoch});
    now.present = &next;
    now.switches++;
}

thread *ready_in_warp(const thread &me) {
    unsigned first = me.warp * 32;
    for (unsigned step = 1; step < 32; step++) {
        unsigned lane = now.turns == order::forward ? me.lane + step : me.lane - step;
        unsigned i = first + (lane & 31);
        if (i < now.block->count && now.block->threads[i].state == status::ready) return &now.block->threads[i];
    }
    return nullptr;
}

thread *ready_anywhere(const thread &me) {
    for (unsigned step = 1; step <= now.block->count; step++) {
        unsigned i = now.turns == order::forward ? (me.linear + step) % now.block->count
                                                 : (me.linear + now.block->count - step) % now.block->count;
        if (now.block->threads[i].state == status::ready) return &now.block->threads[i];
    }
    return nullptr;
}

// Leaves the fiber that runs, which waits or has returned: lanes of its own warp come first, as they meet soonest.
void take_turns() {
    thread &me = *now.present;
    thread *next = ready_in_warp(me);
    if (next == nullptr) next = ready_anywhere(me);
    if (next == &me) return;
    if (next == nullptr) {
        fiber_switch(me.context, now.scheduler);
        return;
    }
    resume(*next);
    fiber_switch(me.context, next->context);
}

// ------------------------------------------------------------------------------------------------ meeting

void release_block() {
    for (unsigned i = 0; i < now.block->count; i++) {
        if (now.block->threads[i].state == status::at_block_barrier) now.block->threads[i].state = status::ready;
    }
    now.block->waiting = 0;
    now.block->barrier = {nullptr, 0};
    now.block->vote_parity ^= 1;
    now.block->votes[now.block->vote_parity] = 0;
    watch_block_barrier();
}

void release_warp(unsigned index) {
    warp &w = now.block->warps[index];
    for (unsigned i = index * 32; i < index * 32 + 32 && i < now.block->count; i++) {
        if (now.block->threads[i].state == status::at_warp_operation) now.block->threads[i].state = status::ready;
    }
    w.arrived = 0;
    w.where = {nullptr, 0};
    w.parity ^= 1;
}

void count_step(place here) {
    if (watch_step_is_last()) fail(text_of(here) + ": no end after " + std::to_string(now.job->step_limit) + " steps");
}

void meet_block(place here, const char *operation) {
    count_step(here);
    if (now.block->barrier.file != nullptr && now.block->barrier.line != here.line) {
        fail(text_of(here) + ": " + operation + " while other threads of the block wait at " + text_of(now.block->barrier));
    }
    if (now.block->live != now.block->count) fail(text_of(here) + ": " + operation + " after other threads of the block have returned");
    now.block->barrier = here;
    now.block->barrier_operation = operation;
    now.present->state = status::at_block_barrier;
    if (++now.block->waiting == now.block->live) release_block();
    if (now.present->state != status::ready) take_turns();
}

// Threads that don't belong to the part never come by.
void meet_part(unsigned threads, place here) {
    count_step(here);
    if (threads % 32 != 0 || threads > now.block->count) fail(text_of(here) + ": a part of a block is some of its warps");
    if (now.present->linear >= threads) fail(text_of(here) + ": a thread of another part comes to the barrier");
    if (now.block->barrier.file != nullptr && now.block->barrier.line != here.line) {
        fail(text_of(here) + ": the part's barrier while other threads of it wait at " + text_of(now.block->barrier));
    }
    now.block->barrier = here;
    now.block->barrier_operation = "the part's barrier";
    now.present->state = status::at_block_barrier;
    if (++now.block->waiting == threads) release_block();
    if (now.present->state != status::ready) take_turns();
}

void await_cluster(unsigned threads, place here) {
    thread_block &mine = *now.block;
    count_step(here);
    if (now.meeting.file != nullptr && now.meeting.line != here.line) {
        fail(text_of(here) + ": the cluster's barrier while other threads wait at " + text_of(now.meeting));
    }
    now.meeting = here;
    mine.part = threads;
    now.present->state = status::at_cluster_barrier;
    mine.meeting++;
    take_turns();
}

void meet_cluster(place here) {
    const thread_block &mine = *now.block;
    if (mine.live != mine.count) fail(text_of(here) + ": the cluster's barrier after other threads of the block have returned");
    await_cluster(mine.count, here);
}

void meet_warp(unsigned mask, place here, const char *operation) {
    thread &me = *now.present;
    warp &w = now.block->warps[me.warp];
    count_step(here);
    if (!(mask >> me.lane & 1)) fail(text_of(here) + ": the mask of " + operation + " lacks the calling lane");
    if (mask & ~w.live) fail(text_of(here) + ": the mask of " + operation + " names lanes that have returned or don't exist");
    if (w.where.file != nullptr && (w.where.line != here.line || w.mask != mask || w.operation != operation)) {
        fail(text_of(here) + ": " + operation + " while other lanes of the warp wait in " + w.operation + " at " +
             text_of(w.where) + (w.mask != mask ? " with another mask" : ""));
    }
    w.where = here;
    w.operation = operation;
    w.mask = mask;
    w.arrived |= 1u << me.lane;
    me.state = status::at_warp_operation;
    if (w.arrived == mask) release_warp(me.warp);
    if (me.state != status::ready) take_turns();
}

// ------------------------------------------------------------------------------------------------ phases

phase &phase_at(unsigned at, place here) {
    for (phase &p : now.block->phases) {
        if (p.at == at) return p;
    }
    fail(text_of(here) + ": no barrier has been made at byte " + std::to_string(at) + " of shared memory");
}

// Whoever waits there looks again.
void wake_waiting(const phase &p) {
    for (unsigned i = 0; i < now.block->count; i++) {
        thread &t = now.block->threads[i];
        if (t.state == status::at_phase && t.awaited == p.at) t.state = status::ready;
    }
}

// All have arrived and all bytes have come: the next phase begins. What threads did before they arrived comes before what
// those do that waited.
void end_phase(phase &p) {
    p.parity ^= 1;
    p.missing = p.arrivals;
    p.bytes = p.coming = 0;
    watch_block_barrier();
    wake_waiting(p);
}

// ------------------------------------------------------------------------------------------------ blocks

void fiber_main() {
    for (;;) {
        now.job->kernel->run(now.job->arguments);
        thread &me = *now.present;
        me.state = status::returned;
        now.block->live--;
        now.block->warps[me.warp].live &= ~(1u << me.lane);
        take_turns();
    }
}

// What keeps a block from ending, told of the first thread that still waits.
void fail_deadlock() {
    for (unsigned i = 0; i < now.block->count; i++) {
        thread &t = now.block->threads[i];
        now.present = &t;
        warp &w = now.block->warps[t.warp];
        if (t.state == status::at_block_barrier) {
            fail(text_of(now.block->barrier) + ": waits for ever in " + now.block->barrier_operation +
                 ": other threads of the block wait elsewhere or have returned");
        }
        if (t.state == status::at_warp_operation) {
            fail(text_of(w.where) + ": waits for ever in " + w.operation + ": other lanes wait elsewhere or have returned");
        }
        if (t.state == status::at_phase) fail(text_of(t.where) + ": waits for ever at a barrier in shared memory");
    }
}

void prepare_threads(unsigned rank, unsigned count) {
    now.blocks[rank].count = count;
    for (unsigned i = 0; i < count; i++) {
        thread &t = now.blocks[rank].threads[i];
        t.index = uint3{i, 0, 0};
        t.linear = i;
        t.lane = i % 32;
        t.warp = i / 32;
        fiber_prepare(t.context, now.memory.top(rank * count + i), fiber_main);
    }
}

void prepare_block() {
    thread_block &mine = *now.block;
    mine.live = mine.part = mine.count;
    mine.waiting = mine.meeting = 0;
    mine.barrier = {nullptr, 0};
    mine.votes[0] = mine.votes[1] = 0;
    mine.phases.clear();
    for (unsigned i = 0; i < mine.count; i++) {
        mine.threads[i].state = status::ready;
        mine.threads[i].registers = 0;
    }
    for (unsigned w = 0; w * 32 < mine.count; w++) {
        unsigned lanes = mine.count - w * 32;
        mine.warps[w].live = lanes >= 32 ? ~0u : (1u << lanes) - 1;
        mine.warps[w].arrived = 0;
        mine.warps[w].where = {nullptr, 0};
    }
    const entry &kernel = *now.job->kernel;
    memset(now.dynamic, poison_byte, size_t(now.job->dynamic_bytes));
    if (kernel.shared_begin != nullptr) {
        memset(kernel.shared_begin, poison_byte, size_t(kernel.shared_end - kernel.shared_begin));
    }
}

void begin_block(int64_t index) {
    simt_identity.block = uint3{unsigned(index), 0, 0};
    simt_identity.blocks_run++;
    prepare_block();
}

// Up to the end of its threads, or to where all of them wait for other blocks.
void run_threads() {
    thread *first = nullptr;
    for (unsigned i = 0; i < now.block->count && first == nullptr; i++) {
        thread &t = now.block->threads[now.turns == order::forward ? i : now.block->count - 1 - i];
        if (t.state == status::ready) first = &t;
    }
    if (first == nullptr) fail_deadlock();
    resume(*first);
    fiber_switch(now.scheduler, first->context);
    if (now.block->live != 0 && now.block->meeting != now.block->part) fail_deadlock();
}

void run_block(int64_t index) {
    begin_block(index);
    watch_block_begins();
    run_threads();
    if (!watch_fetches_awaited(now.block->count)) fail("?: a block ends while a copy to its shared memory may be under way");
    if (now.block->live != 0) fail(text_of(now.meeting) + ": the cluster's barrier in a launch without clusters");
}

// ------------------------------------------------------------------------------------------------ clusters

void put_away(thread_block &of) {
    const entry &kernel = *now.job->kernel;
    if (!of.fixed.empty()) memcpy(of.fixed.data(), kernel.shared_begin, of.fixed.size());
    if (!of.dynamic.empty()) memcpy(of.dynamic.data(), now.dynamic, of.dynamic.size());
}

void bring_back(const thread_block &of) {
    const entry &kernel = *now.job->kernel;
    if (!of.fixed.empty()) memcpy(kernel.shared_begin, of.fixed.data(), of.fixed.size());
    if (!of.dynamic.empty()) memcpy(now.dynamic, of.dynamic.data(), of.dynamic.size());
}

void enter_block(unsigned rank, int64_t first) {
    now.rank = rank;
    now.block = &now.blocks[rank];
    simt_identity.block = uint3{unsigned(first + rank), 0, 0};
    bring_back(*now.block);
    watch_rank_enters(rank);
}

// Whether any block waits for the others; if so all of them do, and go on.
bool meet_and_go_on(unsigned blocks) {
    unsigned waiting = 0;
    for (unsigned rank = 0; rank < blocks; rank++) waiting += now.blocks[rank].live != 0;
    if (waiting == 0) return false;
    if (waiting != blocks) fail(text_of(now.meeting) + ": waits for ever for a block of the cluster that has ended");
    now.meeting = {nullptr, 0};
    for (unsigned rank = 0; rank < blocks; rank++) {
        thread_block &of = now.blocks[rank];
        of.meeting = 0;
        for (unsigned i = 0; i < of.count; i++) {
            if (of.threads[i].state == status::at_cluster_barrier) of.threads[i].state = status::ready;
        }
    }
    watch_cluster_meets();
    return true;
}

void run_cluster(int64_t first, unsigned blocks) {
    watch_cluster_begins();
    for (unsigned rank = 0; rank < blocks; rank++) {
        now.block = &now.blocks[rank];
        begin_block(first + rank);
        put_away(*now.block);
    }
    now.meeting = {nullptr, 0};
    do {
        for (unsigned rank = 0; rank < blocks; rank++) {
            enter_block(rank, first);
            run_threads();
            put_away(*now.block);
        }
    } while (meet_and_go_on(blocks));
}

void prepare_cluster(unsigned blocks) {
    const entry &kernel = *now.job->kernel;
    for (unsigned rank = 0; rank < blocks; rank++) {
        thread_block &of = now.blocks[rank];
        of.fixed.assign(kernel.shared_begin != nullptr ? size_t(kernel.shared_end - kernel.shared_begin) : 0, poison_byte);
        of.dynamic.assign(size_t(now.job->dynamic_bytes), poison_byte);
        watch_peer(rank, of.fixed.data(), of.fixed.size(), of.dynamic.data(), of.dynamic.size());
    }
}

void run_blocks() {
    const launch &job = *now.job;
    unsigned threads = unsigned(job.threads), blocks = unsigned(job.cluster);
    now.block = now.blocks;
    now.memory.reserve(threads * blocks);
    for (unsigned rank = 0; rank < blocks; rank++) prepare_threads(rank, threads);
    if (blocks == 1) {
        for (int64_t i = 0; i < job.blocks; i++) run_block(i);
        return;
    }
    prepare_cluster(blocks);
    for (int64_t i = 0; i < job.blocks; i += blocks) run_cluster(i, blocks);
}

// ------------------------------------------------------------------------------------------------ faults

constexpr int fault_count = 5;
const int fault_signals[fault_count] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};
// Steps end a loop that does anything. One that the compiler has made empty ends by this net, in seconds of the
// processor's time; no result depends on it.
constexpr time_t empty_loop_seconds = 60;

void on_fault(int signal, siginfo_t *, void *context) {
    if (!now.running) _exit(139);
    const void *code = nullptr;
#if defined(__x86_64__)
    code = reinterpret_cast<const void *>(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
    code = reinterpret_cast<const void *>(static_cast<ucontext_t *>(context)->uc_mcontext.pc + 1);
#endif
    // Only the launch's own code gets here, at a place where it holds no lock: allocating is safe.
    const char *what = signal == SIGFPE ? "an integer division by 0" : signal == SIGVTALRM ? "no end" : strsignal(signal);
    fail(place_of(code) + ": " + what);
}

void catch_faults(struct sigaction *before) {
    static unsigned char stack[64 << 10];
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < fault_count; i++) sigaction(fault_signals[i], &action, &before[i]);
}

// Runs `body`; a fault or fail() inside ends it early.
template <class Body> outcome guarded(const device_memory &memory, int64_t step_limit, Body body) {
    struct sigaction before[fault_count];
    catch_faults(before);
    now.present = nullptr;
    now.message.clear();
    now.switches = 0;
    watch_begin(memory, step_limit);
    now.running = true;
    itimerval limit = {{0, 0}, {empty_loop_seconds, 0}}, none = {};
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
    if (sigsetjmp(now.abandon, 1) == 0) body();
    setitimer(ITIMER_VIRTUAL, &none, nullptr);
    now.running = false;
    watch_end();
    for (int i = 0; i < fault_count; i++) sigaction(fault_signals[i], &before[i], nullptr);
    outcome result;
    result.ok = now.message.empty();
    result.message = now.message;
    result.steps = watch_steps();
    result.turns = now.switches;
    if (result.ok) {
        std::string broken = memory.first_broken_guard();
        if (!broken.empty()) result.ok = false, result.message = "?: stored outside of '" + broken + "'";
    }
    return result;
}

unsigned char *dynamic_shared() {
    // In a stretch of its own, far from everything, so that what lies beyond its end is noticed.
    if (now.dynamic == nullptr) {
        void *memory = mmap(nullptr, most_dynamic_bytes + 2 * dynamic_gap_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        now.dynamic = static_cast<unsigned char *>(memory) + dynamic_gap_bytes;
    }
    return now.dynamic;
}

}  // namespace

void fail(const std::string &message) {
    watch_end();
    now.message = message + who();
    siglongjmp(now.abandon, 1);
}

outcome run(const launch &job, const device_memory &memory) {
    bool too_big = job.threads < 1 || job.threads > int(most_threads) || job.dynamic_bytes < 0 ||
                   job.dynamic_bytes > int64_t(most_dynamic_bytes) || job.blocks < 0 || job.blocks > INT32_MAX ||
                   job.cluster < 1 || job.cluster > int(most_blocks) || job.blocks % job.cluster != 0;
    if (too_big) {
        outcome refused;
        refused.ok = false;
        refused.message = "?: no device takes " + std::to_string(job.blocks) + " blocks of " + std::to_string(job.threads) +
                          " threads with " + std::to_string(job.dynamic_bytes) + " bytes of shared memory in clusters of " +
                          std::to_string(job.cluster);
        return refused;
    }
    if (dynamic_shared() == nullptr) {
        std::perror("simt: shared memory");
        std::exit(2);
    }
    return guarded(memory, job.step_limit, [&] {
        now.job = &job;
        now.turns = job.turns;
        simt_identity.block_extent = dim3{unsigned(job.threads), 1, 1};
        simt_identity.grid_extent = dim3{unsigned(job.blocks), 1, 1};
        watch_shared(now.dynamic, size_t(job.dynamic_bytes), job.kernel->shared_begin, job.kernel->shared_end);
        run_blocks();
    });
}

outcome run_serial(void (*function)(long long, void **), int64_t blocks, void **arguments, const device_memory &memory,
                   int64_t step_limit) {
    return guarded(memory, step_limit, [&] { function(blocks, arguments); });
}

// ------------------------------------------------------------------------------------------------ called by the text

extern "C" void simt_fail(place here, const char *message) { fail(text_of(here) + ": " + message); }

extern "C" void simt_phase_start(unsigned at, int arrivals, place here) {
    for (const phase &p : now.block->phases) {
        if (p.at == at) fail(text_of(here) + ": a barrier is made twice");
    }
    now.block->phases.push_back({at, unsigned(arrivals), unsigned(arrivals), 0, 0, 0});
}

extern "C" void simt_phase_arrive(unsigned at, int bytes, place here) {
    phase &p = phase_at(at, here);
    count_step(here);
    if (p.missing == 0) fail(text_of(here) + ": more arrive at a barrier than it waits for");
    p.missing--;
    p.bytes += bytes;
    if (p.missing == 0 && p.bytes == 0) end_phase(p);
    else wake_waiting(p);
}

extern "C" void simt_phase_coming(unsigned at, int bytes, place here) {
    phase &p = phase_at(at, here);
    p.coming += bytes;
    if (p.missing == p.arrivals) fail(text_of(here) + ": a copy begins before its bytes are expected");
    wake_waiting(p);
}

extern "C" int simt_phase_look(unsigned at, int turn, place here) {
    phase &p = phase_at(at, here);
    thread &me = *now.present;
    count_step(here);
    if (p.parity != unsigned(turn)) return phase_over;
    if (p.missing == 0 && p.bytes == p.coming) return phase_landing;
    if (p.missing == 0 && p.bytes < p.coming) fail(text_of(here) + ": more bytes come to a barrier than it expects");
    me.state = status::at_phase;
    me.awaited = at;
    me.where = here;
    take_turns();
    return phase_waiting;
}

extern "C" void simt_registers(int count, bool up, place here) {
    constexpr int of_processor = 65536, most = 255, unit = 8;
    int begun = std::min(of_processor / int(now.block->count) / unit * unit, most), all = 0;
    if (up != (count > begun)) fail(text_of(here) + ": " + std::to_string(count) + " registers are not " + (up ? "more" : "fewer") + " than before");
    now.present->registers = count;
    for (unsigned i = 0; i < now.block->count; i++) all += now.block->threads[i].registers;
    if (all > begun * int(now.block->count)) fail(text_of(here) + ": waits for ever for registers that the block doesn't have");
}

extern "C" void simt_phase_end(unsigned at, place here) { end_phase(phase_at(at, here)); }

extern "C" void simt_block_barrier(place here, const char *operation) { meet_block(here, operation); }

extern "C" int simt_block_count(int predicate, place here, const char *operation) {
    unsigned parity = now.block->vote_parity;
    now.block->votes[parity] += predicate != 0;
    meet_block(here, operation);
    return now.block->votes[parity];
}

extern "C" const unsigned char *simt_exchange(unsigned mask, const void *value, size_t bytes, place here, const char *operation) {
    warp &w = now.block->warps[now.present->warp];
    unsigned parity = w.parity;
    memcpy(w.slots[parity][now.present->lane], value, bytes);
    meet_warp(mask, here, operation);
    return w.slots[parity][0];
}

extern "C" void simt_warp_barrier(unsigned mask, place here) {
    warp &w = now.block->warps[now.present->warp];
    bool last = (w.arrived | 1u << now.present->lane) == mask;
    if (last) w.epoch++;
    meet_warp(mask, here, "__syncwarp");
    watch_thread({uint16_t(now.present->linear), uint16_t(now.present->warp), w.epoch});
}

extern "C" void simt_fetch(void *to, const void *from, int bytes, const void *barrier, place here) {
    auto a = reinterpret_cast<uintptr_t>(to), b = reinterpret_cast<uintptr_t>(from);
    if (a % 16 != 0 || b % 16 != 0 || bytes % 16 != 0) fail(text_of(here) + ": the copy engine moves multiples of 16 bytes");
    watch_fetch_begins(static_cast<unsigned char *>(to), static_cast<const unsigned char *>(from), size_t(bytes), barrier,
                       __builtin_return_address(0));
}

extern "C" void simt_await_fetch(const void *barrier, place here) {
    count_step(here);
    if (!watch_fetch_awaited(barrier)) fail(text_of(here) + ": waits for ever for a copy that nobody has begun");
}

extern "C" void simt_cluster_barrier(place here) { meet_cluster(here); }

extern "C" void simt_part_barrier(int threads, place here) { meet_part(unsigned(threads), here); }

extern "C" void simt_cluster_part_barrier(int threads, place here) {
    meet_part(unsigned(threads), here);
    await_cluster(unsigned(threads), here);
}

// Of another block: where its shared memory lies while this one runs.
extern "C" const void *simt_peer(const void *address, int rank, place here) {
    const entry &kernel = *now.job->kernel;
    auto byte = static_cast<const unsigned char *>(address);
    auto fixed = reinterpret_cast<const unsigned char *>(kernel.shared_begin);
    if (rank < 0 || rank >= now.job->cluster) fail(text_of(here) + ": the cluster has no block " + std::to_string(rank));
    thread_block &of = now.blocks[rank];
    bool is_fixed = fixed != nullptr && byte >= fixed && byte < fixed + of.fixed.size();
    bool is_dynamic = byte >= now.dynamic && byte < now.dynamic + of.dynamic.size();
    if (!is_fixed && !is_dynamic) fail(text_of(here) + ": asks where something lies that isn't in shared memory");
    if (unsigned(rank) == now.rank) return address;
    if (of.live == 0) fail(text_of(here) + ": reads the shared memory of a block that has ended");
    return is_fixed ? of.fixed.data() + (byte - fixed) : of.dynamic.data() + (byte - now.dynamic);
}

// Where `extern __shared__` arrays begin.
extern "C" void *simt_dynamic_shared() { return now.dynamic; }

}  // namespace simt
