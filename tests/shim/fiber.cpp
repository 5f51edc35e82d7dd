// SPDX-License-Identifier: Apache-2.0
// The stack switch and the stacks; see fiber.h.
#include "tests/shim/fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

// simt_switch_stacks(void **save, void *load): pushes what a call must preserve, exchanges stack pointers, pops.
extern "C" void simt_switch_stacks(void **save, void *load);

#if defined(__x86_64__)
asm(R"(
    .text
    .globl simt_switch_stacks
    .type simt_switch_stacks, @function
simt_switch_stacks:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size simt_switch_stacks, . - simt_switch_stacks
    .section .note.GNU-stack, "", @progbits
    .text
)");
static constexpr int saved_words = 6;       // below the return address
static constexpr int return_address_word = 6;
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl simt_switch_stacks
    .type simt_switch_stacks, %function
simt_switch_stacks:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size simt_switch_stacks, . - simt_switch_stacks
    .section .note.GNU-stack, "", %progbits
    .text
)");
static constexpr int saved_words = 19;           // x19 ... x30, d8 ... d15: twenty words, none above them
static constexpr int return_address_word = 11;  // x30
#else
#error "the SIMT shim has a stack switch for x86-64 and aarch64 only"
#endif

namespace simt {

static constexpr size_t page_bytes = 4096;
static constexpr size_t guard_bytes = size_t{64} << 10;  // a multiple of every page size in use

void fiber_switch(fiber &from, fiber &to) { simt_switch_stacks(&from.stack_pointer, to.stack_pointer); }

void fiber_prepare(fiber &f, void *top, void (*function)()) {
    auto aligned = reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15};
    auto words = reinterpret_cast<uintptr_t *>(aligned);
    // One word more above the frame on x86-64: a function starts with its stack off by the return address.
    words -= saved_words + 1 + (saved_words & 1 ? 0 : 1);
    for (int i = 0; i <= saved_words; i++) words[i] = 0;
    words[return_address_word] = reinterpret_cast<uintptr_t>(function);
    f.stack_pointer = words;
}

stacks::~stacks() {
    if (memory_ != nullptr) munmap(memory_, count_ * fiber_stack_bytes);
}

void stacks::reserve(unsigned count) {
    static_assert(guard_bytes % page_bytes == 0 && guard_bytes < fiber_stack_bytes);
    if (count <= count_) return;
    if (memory_ != nullptr) munmap(memory_, count_ * fiber_stack_bytes);
    void *memory = mmap(nullptr, count * fiber_stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("simt: stacks");
        std::exit(2);
    }
    memory_ = static_cast<unsigned char *>(memory);
    count_ = count;
    for (unsigned i = 0; i < count; i++) mprotect(memory_ + i * fiber_stack_bytes, guard_bytes, PROT_NONE);
}

// Staggered: all tops at one page offset would share a few sets of the first-level cache.
void *stacks::top(unsigned index) const { return memory_ + (index + 1) * fiber_stack_bytes - (index % 64) * 320; }

}  // namespace simt
