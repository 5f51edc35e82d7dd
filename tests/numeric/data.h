// SPDX-License-Identifier: Apache-2.0
// Inputs: lengths in every shape that jagged data has, values that compute exactly or roughly or are special.
//
// A value is a hash of (row's identity, position in the row, column), not of where it lies. So rows keep their contents
// when they are permuted or when a neighbour grows, and results of one row can be compared between inputs.
#pragma once
#include "tests/numeric/program.h"

namespace numeric {

enum class lengths { all_empty, no_rows, one_row, ones, uniform, one_long, zipf, count };
enum class style {
    integers,  // small integers: sums are exact in every order
    reals,     // about normally distributed
    special,   // reals with NaN, inf, -inf here and there, and whole rows of -inf
};
enum class variation { plain, permuted, grown };

struct input_choice {
    lengths distribution;
    int64_t columns;
    style values;
    int64_t inner = 0;  // extent of the dimension that a `dot` runs over; 0: there is none
    variation varied = variation::plain;

    std::string name() const;  // "uniform 13 special"
};

// Which inputs a unit is run on. `all`: the whole matrix; else a part that runs quickly.
std::vector<input_choice> list_inputs(const unit &u, bool all);

struct tensor_data {
    ir_tensor shape;                   // its `data` is that of `bytes`
    std::vector<unsigned char> bytes;  // empty for scalars
};

struct input {
    input_choice choice;
    std::vector<int64_t> dims;        // by dimension of the kernel
    std::vector<ir_scalar> scalars;   // by parameter
    std::vector<tensor_data> tensors; // by parameter; outputs are poison
    std::vector<int64_t> row_begin, row_length, row_identity;
    int64_t longest = 0;              // row
    int64_t elements = 0;             // of the largest tensor

    ir_bindings bindings() const { return {dims.data(), scalars.data()}; }
};

// Sums and products alone: integers give the same result in every order.
bool is_exact(const program &tested);

input make_input(const ir_kernel *kernel, const input_choice &choice, const program &tested);

constexpr double integer_magnitude = 4, real_magnitude = 4;  // no value is larger, special ones apart

}  // namespace numeric
