// SPDX-License-Identifier: Apache-2.0
// One fiber per CUDA thread: a stack, and a switch that costs some twenty nanoseconds.
//
// In: a function. Out: control, when the fiber that runs hands it on. The switch is written by hand (x86-64, aarch64)
// because swapcontext saves the signal mask with a system call each time.
#pragma once
#include <cstddef>

namespace simt {

// Where a fiber that doesn't run has left its stack pointer.
struct fiber {
    void *stack_pointer = nullptr;
};

// Saves the present state in `from` and goes on in `to`.
void fiber_switch(fiber &from, fiber &to);

// Makes `f` start `function`, which must never return, when it is next switched to. `top` is the stack's upper end.
void fiber_prepare(fiber &f, void *top, void (*function)());

// Stacks of `fiber_stack_bytes` each, with an unmapped page below every one, so that an overflow faults.
constexpr size_t fiber_stack_bytes = size_t{512} << 10;
class stacks {
  public:
    stacks() = default;
    ~stacks();
    stacks(const stacks &) = delete;
    stacks &operator=(const stacks &) = delete;
    void reserve(unsigned count);  // at least this many; earlier stacks may move, so no fiber may be running
    void *top(unsigned index) const;

  private:
    unsigned char *memory_ = nullptr;
    unsigned count_ = 0;
};

}  // namespace simt
