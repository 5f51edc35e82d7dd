// SPDX-License-Identifier: Apache-2.0
// The device's memory: one long stretch of addresses, tensors far apart in it, canaries around each; see simt.h.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "tests/shim/simt.h"

namespace simt {

static constexpr size_t stretch_bytes = size_t{8} << 30;  // addresses only: pages come when touched
static constexpr size_t guard_bytes = 4096;               // checked for stores on both sides of a tensor
static constexpr size_t gap_bytes = size_t{1} << 20;
static constexpr unsigned char guard_byte = 0xa5;

device_memory::device_memory() : used_(gap_bytes) {
    void *memory = mmap(nullptr, stretch_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("simt: device memory");
        std::exit(2);
    }
    base_ = static_cast<unsigned char *>(memory);
}

const unsigned char *device_memory::end() const { return base_ + stretch_bytes; }

device_memory::~device_memory() { munmap(base_, stretch_bytes); }

unsigned char *device_memory::allocate(const std::string &name, size_t bytes, size_t element_bytes, access allowed,
                                       size_t shift) {
    size_t begin = (used_ + guard_bytes + 255) / 256 * 256 + shift;
    size_t end = begin + bytes;
    if (end + guard_bytes + gap_bytes > stretch_bytes) {
        std::fprintf(stderr, "simt: device memory is full at '%s'\n", name.c_str());
        std::exit(2);
    }
    memset(base_ + begin - guard_bytes, guard_byte, guard_bytes);
    memset(base_ + begin, poison_byte, bytes);
    memset(base_ + end, guard_byte, guard_bytes);
    used_ = end + guard_bytes + gap_bytes;
    buffers_.push_back({base_ + begin, bytes, element_bytes, allowed, name});
    return base_ + begin;
}

void device_memory::clear() {
    buffers_.clear();
    used_ = gap_bytes;
}

static bool all_guard(const unsigned char *bytes) {
    for (size_t i = 0; i < guard_bytes; i++) {
        if (bytes[i] != guard_byte) return false;
    }
    return true;
}

std::string device_memory::first_broken_guard() const {
    for (const buffer &b : buffers_) {
        if (!all_guard(b.data - guard_bytes) || !all_guard(b.data + b.bytes)) return b.name;
    }
    return "";
}

}  // namespace simt
