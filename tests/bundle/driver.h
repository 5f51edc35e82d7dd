// SPDX-License-Identifier: Apache-2.0
// What the driver of driver.c is to be, and what was asked of it.
#ifndef TILEC_TESTS_BUNDLE_DRIVER_H
#define TILEC_TESTS_BUNDLE_DRIVER_H

#include <stdint.h>

struct bundle_driver_state {
    int sm;             // of its device
    const char *fail;   // the function that fails, with 999; NULL: none
    void *current;      // the context; NULL: none
    int primary;        // stands for the primary context
    int retained, pushed, loads, unloads, launches, shared;
    char function[64];  // the last one looked up
    const void *image;  // of the last launch
    int ptx;
    unsigned blocks, threads;
    void *stream;
    uint64_t addresses[3];  // its first arguments, as 64-bit words
};
extern struct bundle_driver_state bundle_driver_state;

#endif
