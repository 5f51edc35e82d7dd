// SPDX-License-Identifier: Apache-2.0
// Emitted texts to functions of this process: many texts per call of the compiler, as starting it costs most.
//
// In: CUDA C or C texts that know nothing of each other. Out: a loaded library with their kernels, or the compiler's
// complaint. The one idea: every CUDA text gets a namespace, every C text a suffix on its own names, so that equal names
// (and equal helpers) in one batch don't meet. Line numbers stay those of the text.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/shim/hostcuda.h"

namespace simt {

enum class language { cuda, c };

struct emitted_text {
    std::string file;                  // the name under which lines are reported: "jagged_sum.cu"
    std::string text;
    std::vector<std::string> kernels;  // symbols; in C the functions are called NAME_run
};

struct compile_options {
    std::string cxx = "g++", cc = "gcc";  // commands
    std::string include_root;          // from which "tests/shim/hostcuda.h" is found
    std::string directory;             // where files are written
    std::string stem;                  // of their names
    std::string flags;                 // more flags
    bool watched = true;               // accesses to memory are checked
    bool counted = true;               // every basic block counts as a step, not only accesses and turns
};

// What the CPU-side compiler must not see or must see otherwise: definitions of helpers whose body is PTX are blanked
// (hostcuda.h has their namesakes), as is `extern "C"`; `extern __shared__` arrays become pointers. Keeps line numbers.
std::string prepare_cuda(const std::string &text);

using serial_function = void (*)(long long blocks, void **arguments);

class library {
  public:
    // Null, with the compiler's output in `log`, if the texts don't compile.
    static std::unique_ptr<library> compile(language lang, const std::vector<emitted_text> &texts,
                                            const compile_options &options, std::string &log);
    ~library();
    const entry *kernel(size_t text, const std::string &name) const;       // language::cuda; null: no such
    serial_function serial(size_t text, const std::string &name) const;    // language::c

  private:
    explicit library(void *handle) : handle_(handle) {}
    void *handle_;
};

}  // namespace simt
