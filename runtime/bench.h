// SPDX-License-Identifier: Apache-2.0
// Timing a kernel under one or two configs: what bench.c (the job), bench_cpu.c, bench_cuda.c (the devices) and
// traffic.c (the floor) share. Private to runtime/.
#ifndef TILEC_RUNTIME_BENCH_H
#define TILEC_RUNTIME_BENCH_H

#include "runtime/build.h"

// What a kernel can't do without.
struct traffic {
    double read_bytes, written_bytes;  // every tensor once, as far as the kernel reaches into it
    double flops;                      // of its dots; 0 if it has none
};
struct traffic count_traffic(struct arena *arena, const struct ir_kernel *kernel, const struct ir_bindings *bindings,
                             const struct ir_tensor *tensors);

enum { BENCH_CANDIDATES = 2, BENCH_RUNS_LEAST = 20, BENCH_RUNS_MOST = 200 };

// One config to be timed, and what came of it. Times in milliseconds.
struct bench_candidate {
    const char *label;            // "default", or the config's path
    const struct config *config;
    int count;
    double *times;                // in the order in which they were taken
    double median, p10, p90;
    int usage_count;              // of the binary, on CUDA
    const struct cuda_usage *usage;
};

struct bench_job {
    const struct ir_kernel *kernel;
    const struct ir_bindings *bindings;
    struct ir_tensor *tensors;    // on the host; the outputs of the first candidate are left here if `fetch` is set
    bool fetch;
    bool checked;
    const char *source, *keep;    // for the first candidate, as in cpu_request
    size_t source_length;
    struct cache_session *session;
    int wanted_runs;              // 0: as many as fit into half a second, within the limits above
    int candidate_count;
    struct bench_candidate candidates[BENCH_CANDIDATES];
    // Out
    const char *device, *driver, *toolkit;  // "NVIDIA H200", "580.159.04, CUDA 13.0", "NVRTC 13.0"; "" where there is none
    int multiprocessor_mhz, memory_mhz;     // while it ran; 0: not known
    double copy_rate;             // bytes read and written per second by a large copy
    double read_rate, write_rate; // by reading alone, and by writing alone
    int64_t copy_bytes, flushed_bytes;
};

// The runs of the candidates take turns, so that what disturbs one disturbs the other.
struct status bench_on_cpu(struct arena *arena, struct bench_job *job);
struct status bench_on_cuda(struct arena *arena, int ordinal, struct bench_job *job);

// How many timed runs, if one takes this many milliseconds.
int bench_runs(const struct bench_job *job, double milliseconds);
// Room for the times; then the order statistics of them.
void bench_begin(struct arena *arena, struct bench_candidate *candidate, int runs);
void bench_finish(struct arena *arena, struct bench_candidate *candidate);

#endif
