// SPDX-License-Identifier: Apache-2.0
// A CUDA driver and an NVRTC without a GPU, for tests of what surrounds kernels: memory is the host's, copies and fills
// are real, launches are counted and compute nothing. Any call can be made to fail. Tests reach the driver's state
// through the symbol fake_cuda, NVRTC's through fake_nvrtc.
#ifndef TILEC_TESTS_RUNTIME_FAKECUDA_FAKE_H
#define TILEC_TESTS_RUNTIME_FAKECUDA_FAKE_H

#include <stddef.h>

enum fake_spoil {
    SPOIL_NOTHING,
    SPOIL_BEFORE,  // a launch writes the last byte in front of the data of each allocation
    SPOIL_BEHIND,  // … and the first byte behind
};
enum { FAKE_GUARD = 4096, FAKE_LOG = 1 << 16 };

struct fake_cuda {
    // What is asked for.
    const char *fail;        // the function that fails: "cuMemAlloc"; NULL: none
    int fail_at;             // its how-manieth call, from 1; that one and all later ones of all functions, if `sticky`
    int fail_with;           // the result it gives
    int sticky;
    const char *missing;     // a function that this driver doesn't have
    int devices;             // 0: one
    int sm;                  // 0: 90
    int threads_per_block, shared_optin, registers_per_block, blocks;  // 0: an H200's
    enum fake_spoil spoil;
    void *current;           // the calling thread's context, one of the caller's own; NULL: none
    int current_device;      // and its device
    float milliseconds;      // between two events; 0: 0.5; below 0: 0
    // What happened.
    int calls;               // of all functions
    int calls_of_failing;    // of the function that is to fail
    int failed;
    int allocations, contexts, pushed, modules, streams, events;  // alive
    int launches, copies, fills, loads;
    unsigned last_blocks, last_threads, last_shared;
    void *last_stream, *last_function;
    int last_in_primary;     // the last launch was made in a context that had been pushed
    unsigned long long last_address;  // its first argument, as an address
    int ordinal;             // of the last device asked for
    char log[FAKE_LOG];      // names of the functions called, each behind a space
};
extern struct fake_cuda fake_cuda;

struct fake_nvrtc {
    int registers;           // that "ptxas" says a kernel uses; 0: 32
    int refuses;             // the text doesn't compile
    int knows_no_sm_90a;     // as before CUDA 12
    int compiles;
    char options[1024];      // of the last compile
};
extern struct fake_nvrtc fake_nvrtc;

#endif
