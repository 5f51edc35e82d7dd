// SPDX-License-Identifier: Apache-2.0
// How inputs are made; see data.h.
#include "tests/numeric/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace numeric {

namespace {

const char *const length_names[] = {"all-empty", "no-rows", "one-row", "ones", "uniform", "one-long", "zipf"};
const char *const style_names[] = {"integers", "reals", "special"};
const char *const variation_names[] = {"", " permuted", " grown"};

// The finalizer of splitmix64: the same numbers on every machine.
uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
uint64_t hash(uint64_t a, uint64_t b, uint64_t c) { return mix(mix(mix(a) ^ b) ^ c); }
double unit_interval(uint64_t bits) { return double(bits >> 11) * 0x1p-53; }

// ------------------------------------------------------------------------------------------------ lengths

std::vector<int64_t> zipf_lengths(int rows, double total, double longest) {
    double harmonic = 0;
    for (int rank = 1; rank <= rows; rank++) harmonic += 1.0 / rank;
    std::vector<int64_t> result;
    for (int rank = 1; rank <= rows; rank++) {
        double length = std::floor(std::min(total / (rank * harmonic), longest));
        result.push_back(std::max<int64_t>(1, int64_t(length)));
    }
    for (int i = rows - 1; i > 0; i--) std::swap(result[i], result[mix(uint64_t(i)) % uint64_t(i + 1)]);
    return result;
}

std::vector<int64_t> make_lengths(lengths distribution) {
    std::vector<int64_t> result;
    switch (distribution) {
    case lengths::all_empty: return std::vector<int64_t>(5, 0);
    case lengths::no_rows: return {};
    case lengths::one_row: return {37};
    case lengths::ones: return std::vector<int64_t>(33, 1);
    case lengths::uniform:
        for (uint64_t i = 0; i < 10; i++) result.push_back(i == 9 ? 0 : int64_t(mix(i + 77) % 301));
        result[3] = 0;
        return result;
    case lengths::one_long:
        result.assign(9, 3);
        result[4] = 5000;
        return result;
    case lengths::zipf: return zipf_lengths(40, 1500, 600);
    case lengths::count: break;
    }
    return {};
}

// Rows with their identities, as the variation has them.
void make_rows(input &in, const input_choice &choice) {
    in.row_length = make_lengths(choice.distribution);
    // Pairs of points cost what single ones don't: rows of a few tiles do.
    for (int64_t &length : in.row_length) {
        if (choice.inner > 0 && in.row_length.size() > 1) length = length > 1000 ? length / 16 : (length + 3) / 4;
    }
    size_t rows = in.row_length.size();
    for (size_t i = 0; i < rows; i++) in.row_identity.push_back(int64_t(i));
    if (choice.varied == variation::grown && rows > 0) in.row_length[rows / 2] += 300;
    if (choice.varied == variation::permuted) {
        std::reverse(in.row_length.begin(), in.row_length.end());
        std::reverse(in.row_identity.begin(), in.row_identity.end());
        if (rows > 3) std::rotate(in.row_length.begin(), in.row_length.begin() + 3, in.row_length.end());
        if (rows > 3) std::rotate(in.row_identity.begin(), in.row_identity.begin() + 3, in.row_identity.end());
    }
    // Half of the inputs begin after some slack, so that no offset is 0.
    int64_t at = choice.columns % 2 != 0 && rows > 0 ? 3 : 0;
    for (int64_t length : in.row_length) {
        in.row_begin.push_back(at);
        at += length;
        in.longest = std::max(in.longest, length);
    }
    in.row_begin.push_back(at);
}

// ------------------------------------------------------------------------------------------------ values

double make_value(style values, uint64_t bits) {
    if (values == style::integers) return double(int64_t(bits % 9)) - 4;
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += unit_interval(mix(bits + uint64_t(i)));
    double value = (sum - 2) * 1.7;
    if (values == style::special) {
        uint64_t draw = mix(bits ^ 0x5eed) % 400;
        if (draw == 0) return NAN;
        if (draw == 1) return INFINITY;
        if (draw < 12) return -INFINITY;
    }
    return value;
}

void store_value(tensor_data &tensor, int64_t index, double value) {
    unsigned char *at = tensor.bytes.data() + index * ir_type_bytes(tensor.shape.type);
    uint16_t half = tensor.shape.type == TYPE_F16 ? ir_f16_from_f64(value) : ir_bf16_from_f64(value);
    float single = float(value);
    switch (tensor.shape.type) {
    case TYPE_F16:
    case TYPE_BF16: memcpy(at, &half, 2); break;
    case TYPE_F32: memcpy(at, &single, 4); break;
    default: memcpy(at, &value, 8); break;
    }
}

void store_integer(tensor_data &tensor, int64_t index, int64_t value) {
    int32_t narrow = int32_t(value);
    if (tensor.shape.type == TYPE_I32) memcpy(tensor.bytes.data() + index * 4, &narrow, 4);
    else memcpy(tensor.bytes.data() + index * 8, &value, 8);
}

// Packed rows; what lies before, behind and between them is NaN.
void fill_packed(input &in, tensor_data &x, uint64_t salt) {
    int64_t columns = 1;
    for (int i = 1; i < x.shape.rank; i++) columns *= x.shape.shape[i];
    for (int64_t i = 0; i < x.shape.shape[0] * columns; i++) store_value(x, i, NAN);
    for (size_t b = 0; b < in.row_length.size(); b++) {
        // Of special inputs every seventh row is -inf throughout.
        bool minus = in.choice.values == style::special && in.row_identity[b] % 7 == 2;
        for (int64_t k = 0; k < in.row_length[b]; k++) {
            for (int64_t m = 0; m < columns; m++) {
                double value = make_value(in.choice.values, hash(uint64_t(in.row_identity[b]), uint64_t(k) + (salt << 32), uint64_t(m)));
                store_value(x, (in.row_begin[b] + k) * columns + m, minus ? -INFINITY : value);
            }
        }
    }
}

void fill_dense(input &in, tensor_data &y) {
    int64_t columns = 1;
    for (int i = 1; i < y.shape.rank; i++) columns *= y.shape.shape[i];
    for (int64_t b = 0; b < y.shape.shape[0]; b++) {
        for (int64_t n = 0; n < columns; n++) {
            uint64_t bits = hash(uint64_t(in.row_identity[size_t(b)]) + 1000, 0, uint64_t(n));
            store_value(y, b * columns + n, make_value(in.choice.values, bits));
        }
    }
}

void fill_counts(const input &in, tensor_data &counts, int64_t columns) {
    for (size_t b = 0; b < in.row_identity.size(); b++) {
        uint64_t identity = uint64_t(in.row_identity[b]);
        store_integer(counts, int64_t(b), identity % 5 == 4 ? columns : int64_t(mix(identity) % uint64_t(columns + 1)));
    }
}

void fill_tensor(input &in, const ir_param &param, tensor_data &tensor) {
    std::string name = param.name;
    if (param.kind == PARAM_OUT) return;
    if (name == "offsets") {
        for (size_t i = 0; i < in.row_begin.size(); i++) store_integer(tensor, int64_t(i), in.row_begin[i]);
    } else if (name == "features") {
        fill_counts(in, tensor, in.choice.columns);
    } else if (name == "y" || name == "dense" || name == "bias") {
        fill_dense(in, tensor);
    } else {
        fill_packed(in, tensor, name == "k" ? 1 : name == "v" ? 2 : 0);
    }
}

// ------------------------------------------------------------------------------------------------ shapes

void make_dims(input &in, const ir_kernel *kernel, const program &tested) {
    for (int d = 0; d < kernel->dim_count; d++) {
        std::string name = kernel->dims[d].name;
        int64_t value = 0;
        if (name == "B") value = int64_t(in.row_length.size());
        else if (name == "H") value = 2;
        else if (tested.inner != nullptr && name == tested.inner) value = in.choice.inner;
        else if (name == "nnz" || name == "L" || name == "N") value = in.row_begin.back() + (in.row_begin.back() > 0 ? 2 : 0);  // some slack behind
        else if (tested.columns != nullptr && name == tested.columns) value = in.choice.columns;
        in.dims.push_back(value);
    }
}

void make_tensor(input &in, const ir_param &param, tensor_data &tensor) {
    tensor.shape = {};
    tensor.shape.type = param.type;
    tensor.shape.rank = param.rank;
    if (param.kind == PARAM_SCALAR) return;
    ir_bindings bindings = in.bindings();
    int64_t count = 1;
    for (int i = 0; i < param.rank; i++) {
        tensor.shape.shape[i] = ir_evaluate_number(param.extents[i], &bindings).integer;
        count *= tensor.shape.shape[i];
    }
    tensor.bytes.assign(size_t(count) * size_t(ir_type_bytes(param.type)) + 16, 0xff);  // a few more: never an empty array
    in.elements = std::max(in.elements, count);
}

}  // namespace

std::string input_choice::name() const {
    return std::string(length_names[int(distribution)]) + " " + std::to_string(columns) + " " + style_names[int(values)] +
           variation_names[int(varied)];
}

bool is_exact(const program &tested) {
    return tested.kind == kind_of_result::sum || tested.kind == kind_of_result::addition || tested.kind == kind_of_result::product;
}

namespace {

std::vector<int64_t> widths_of(const unit &u) {
    if (u.fixed_columns != 0) return {u.fixed_columns};
    return u.tested->inner != nullptr ? std::vector<int64_t>{1, 3, 13, 100} : std::vector<int64_t>{1, 3, 13, 100, 256};
}

}  // namespace

std::vector<input_choice> list_inputs(const unit &u, bool all) {
    std::vector<input_choice> list;
    bool exact = is_exact(*u.tested);
    auto inner = [&](int64_t columns) {
        int64_t by_columns = columns == 1 ? 100 : columns == 3 ? 71 : columns == 13 ? 34 : 16;
        return u.tested->inner == nullptr ? 0 : u.fixed_inner != 0 ? u.fixed_inner : by_columns;
    };
    int count = 0;
    for (int d = 0; d < int(lengths::count); d++) {
        for (int64_t columns : widths_of(u)) {
            bool fits = u.tested->columns != nullptr ? u.fixed_columns == 0 : columns <= 3;
            fits |= u.fixed_columns != 0 && columns == u.fixed_columns;
            bool heavy = lengths(d) == lengths::one_long && columns > 13;
            // A sample has every distribution at two widths.
            if (!fits || (!all && u.fixed_columns == 0 && u.tested->columns != nullptr && (heavy || (count++ + d) % 3 == 0))) continue;
            list.push_back({lengths(d), columns, exact ? style::integers : style::reals, inner(columns)});
        }
    }
    int64_t columns = u.fixed_columns != 0 ? u.fixed_columns : 13;
    // A weight of 0 times infinity is NaN where a tile of keys reaches beyond the query, and where that is the config says.
    bool special = !u.tested->whole;
    if (special) list.push_back({lengths::uniform, columns, style::special, inner(columns)});
    if (special) list.push_back({lengths::zipf, columns, style::special, inner(columns)});
    if (exact) list.push_back({lengths::zipf, columns, style::reals, inner(columns)});
    style own = exact ? style::integers : style::reals;
    list.push_back({lengths::uniform, columns, own, inner(columns), variation::permuted});
    list.push_back({lengths::uniform, columns, own, inner(columns), variation::grown});
    return list;
}

input make_input(const ir_kernel *kernel, const input_choice &choice, const program &tested) {
    input in;
    in.choice = choice;
    make_rows(in, choice);
    make_dims(in, kernel, tested);
    in.scalars.resize(size_t(kernel->param_count));
    in.tensors.resize(size_t(kernel->param_count));
    for (int p = 0; p < kernel->param_count; p++) {
        in.scalars[size_t(p)] = {kernel->params[p].default_integer, kernel->params[p].default_number};
        std::string name = kernel->params[p].name;
        if (name == "alpha") in.scalars[size_t(p)].number = 0.25;
        if (name == "scale") in.scalars[size_t(p)].number = 0.125;
    }
    for (int p = 0; p < kernel->param_count; p++) make_tensor(in, kernel->params[p], in.tensors[size_t(p)]);
    for (int p = 0; p < kernel->param_count; p++) {
        if (kernel->params[p].kind != PARAM_SCALAR) fill_tensor(in, kernel->params[p], in.tensors[size_t(p)]);
    }
    for (tensor_data &tensor : in.tensors) tensor.shape.data = tensor.bytes.empty() ? nullptr : tensor.bytes.data();
    return in;
}

}  // namespace numeric
