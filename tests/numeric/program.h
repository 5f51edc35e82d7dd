// SPDX-License-Identifier: Apache-2.0
// What is tested: an example's kernel, checked for some element types and perhaps with dimensions compiled in.
#pragma once
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "ir/ir.h"
#include "lowering/lowering.h"
}

namespace numeric {

// How far a result may be from the evaluator's; compare.cpp has the formulas.
enum class kind_of_result { sum, mean, softmax, norm, addition, product, weighting, attention };

struct program {
    const char *file, *kernel;
    kind_of_result kind;
    const char *columns;  // the dense dimension that inputs vary, or null
    const char *inner;    // the dense dimension that a `dot` runs over, or null
    bool whole;           // its axes are covered whole: columns and inner are always compiled in
};
extern const std::vector<program> programs;

// A program under one specialization: what references and configs are made for.
struct unit {
    const program *tested;
    ir_type value_type, index_type;
    int64_t fixed_columns;  // compiled in; 0: known at launch
    int64_t fixed_inner;    // compiled in; 0: known at launch, or there is none

    std::string name() const;  // "jagged_sum f16 i32 M=100"
};
std::vector<unit> list_units(bool all);

// Owns the arena that the kernel lives in.
class checked_kernel {
  public:
    // Null kernel, with the diagnostics printed to stderr, if the program has errors.
    // `edits`: words of the source and what stands in their place.
    checked_kernel(const unit &u, const std::string &root, const std::vector<std::pair<std::string, std::string>> &edits = {});
    ~checked_kernel();
    checked_kernel(const checked_kernel &) = delete;
    checked_kernel &operator=(const checked_kernel &) = delete;
    const ir_kernel *get() const { return kernel_; }
    bool changed() const { return changed_; }  // an edit found its words

  private:
    arena *arena_;
    ir_kernel *kernel_ = nullptr;
    bool changed_ = false;
    std::string path_, text_;
    source source_ = {};
};

}  // namespace numeric
