// SPDX-License-Identifier: Apache-2.0
// Results against the evaluator's, and rows of one input against the same rows of another.
#pragma once
#include "tests/numeric/data.h"

namespace numeric {

// What one run left in every tensor, by parameter (empty for scalars).
using results = std::vector<std::vector<unsigned char>>;

// The evaluator's results for `in`. `complaint` is set if it refuses.
results evaluate(const ir_kernel *kernel, const input &in, std::string &complaint);

// "" if `got` is right, else the first element that isn't and both values. Elements that the evaluator never stored to
// must be untouched. Integer-valued data of programs that only add must agree to the bit, NaNs and zeros of either sign apart.
std::string compare(const ir_kernel *kernel, const input &in, const program &tested, const results &got, const results &want);

// "" if every row of `a` that has the same contents in `b` has the same results there.
std::string compare_rows(const ir_kernel *kernel, const program &tested, const input &a, const results &of_a,
                         const input &b, const results &of_b);

}  // namespace numeric
