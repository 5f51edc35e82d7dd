// SPDX-License-Identifier: Apache-2.0
// Tolerances, scaled by type and length; see compare.h.
#include "tests/numeric/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace numeric {

namespace {

double load_value(ir_type type, const unsigned char *at) {
    uint16_t half;
    float single;
    double value;
    int32_t narrow;
    int64_t wide;
    switch (type) {
    case TYPE_F16: memcpy(&half, at, 2); return ir_f16_to_f32(half);
    case TYPE_BF16: memcpy(&half, at, 2); return ir_bf16_to_f32(half);
    case TYPE_F32: memcpy(&single, at, 4); return single;
    case TYPE_F64: memcpy(&value, at, 8); return value;
    case TYPE_I32: memcpy(&narrow, at, 4); return narrow;
    case TYPE_I64: memcpy(&wide, at, 8); return double(wide);
    case TYPE_I8: return double(static_cast<signed char>(*at));
    default: return *at;
    }
}

// The distance of neighbouring values around 1, and the least positive value.
struct precision {
    double step, least;
};
precision precision_of(ir_type type) {
    switch (type) {
    case TYPE_F16: return {0x1p-10, 0x1p-24};
    case TYPE_BF16: return {0x1p-7, 0x1p-133};
    case TYPE_F32: return {0x1p-23, 0x1p-149};
    default: return {0x1p-52, 0x1p-1074};
    }
}

// How far a result may be off. Two roundings of one value to `type` differ by a step; before that, the sum of n values
// of at most `magnitude` in c's precision is off by less than 4 n * magnitude steps, in any order.
double tolerance(const program &tested, const input &in, ir_type type, double want) {
    double step = precision_of(ir_type_compute(type)).step;
    double n = double(in.longest), all = n * double(std::max<int64_t>(1, in.choice.columns));
    double computing = 0;
    switch (tested.kind) {
    case kind_of_result::sum: computing = 4 * step * n * real_magnitude; break;
    case kind_of_result::mean: computing = 8 * step * real_magnitude + 4 * step * std::sqrt(n) * real_magnitude; break;
    case kind_of_result::addition: computing = 2 * step * real_magnitude; break;
    // exp of a difference of up to twice the magnitude, and a sum of positive values.
    case kind_of_result::softmax: computing = std::fabs(want) * step * (64 + 4 * std::sqrt(n)); break;
    // A sum of products of about unit size: its error grows as a random walk.
    case kind_of_result::product: computing = 4 * step * real_magnitude * (1 + std::sqrt(double(in.choice.inner))); break;
    // Weights are rounded to the type: one that lies at a border may go either way.
    case kind_of_result::weighting: computing = precision_of(type).step / 2 + 64 * step * (1 + std::fabs(want)); break;
    case kind_of_result::attention: computing = precision_of(type).step / 2 + 64 * step * (1 + std::fabs(want)); break;
    case kind_of_result::norm: computing = (1 + std::fabs(want)) * step * (32 + 8 * std::sqrt(all)); break;
    }
    precision stored = precision_of(type);
    return computing + std::fabs(want) * stored.step + stored.least;
}

bool computes_exactly(const program &tested, const input &in) {
    return is_exact(tested) && in.choice.values == style::integers;
}

bool agree(double got, double want, double allowed) {
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
    if (std::isinf(got) || std::isinf(want)) return got == want;
    return std::fabs(got - want) <= allowed;
}

bool is_poison(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0xff) return false;
    }
    return true;
}

int64_t count_of(const ir_tensor &tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor.rank; i++) count *= tensor.shape[i];
    return count;
}

std::string describe(const ir_param &param, const ir_tensor &shape, int64_t index, double got, double want) {
    std::string place;
    for (int i = shape.rank - 1; i >= 0; i--) {
        place = std::to_string(index % shape.shape[i]) + (place.empty() ? "" : ", ") + place;
        index /= shape.shape[i];
    }
    char values[80];
    snprintf(values, sizeof values, "%.9g, right is %.9g", got, want);
    return std::string(param.name) + "[" + place + "] is " + values;
}

std::string compare_tensor(const ir_param &param, const input &in, const tensor_data &tensor, const program &tested,
                           const unsigned char *got, const unsigned char *want) {
    size_t bytes = size_t(ir_type_bytes(param.type));
    int64_t count = count_of(tensor.shape);
    for (int64_t i = 0; i < count; i++) {
        const unsigned char *g = got + size_t(i) * bytes, *w = want + size_t(i) * bytes;
        if (memcmp(g, w, bytes) == 0) continue;
        double a = load_value(param.type, g), b = load_value(param.type, w);
        if (is_poison(w, bytes)) return describe(param, tensor.shape, i, a, b) + " (nothing should have been stored there)";
        if (is_poison(g, bytes)) return describe(param, tensor.shape, i, a, b) + " (nothing was stored there)";
        double allowed = computes_exactly(tested, in) ? 0 : tolerance(tested, in, param.type, b);
        if (!agree(a, b, allowed)) return describe(param, tensor.shape, i, a, b);
    }
    return "";
}

}  // namespace

results evaluate(const ir_kernel *kernel, const input &in, std::string &complaint) {
    results out;
    std::vector<ir_tensor> tensors;
    for (const tensor_data &tensor : in.tensors) out.push_back(tensor.bytes);
    for (size_t p = 0; p < in.tensors.size(); p++) {
        tensors.push_back(in.tensors[p].shape);
        tensors.back().data = out[p].empty() ? nullptr : out[p].data();
    }
    ir_evaluation evaluation = {};
    evaluation.bindings = in.bindings();
    evaluation.tensors = tensors.data();
    evaluation.cut = CUT_WHOLE;
    arena *memory = arena_new();
    status done = ir_evaluate(kernel, &evaluation, memory);
    if (!done.ok) complaint = std::string(done.code) + ": " + done.reason;
    arena_free(memory);
    return out;
}

std::string compare(const ir_kernel *kernel, const input &in, const program &tested, const results &got, const results &want) {
    for (int p = 0; p < kernel->param_count; p++) {
        if (kernel->params[p].kind != PARAM_OUT && kernel->params[p].kind != PARAM_INOUT) continue;
        std::string difference = compare_tensor(kernel->params[p], in, in.tensors[size_t(p)], tested, got[size_t(p)].data(),
                                                want[size_t(p)].data());
        if (!difference.empty()) return difference;
    }
    return "";
}

namespace {

// The elements of row b: one line of a tensor over B, or the row's slab of one over nnz.
struct slab {
    int64_t first, count;
};
slab slab_of(const ir_param &param, const input &in, const ir_tensor &shape, size_t b) {
    int64_t line = shape.shape[0] == 0 ? 0 : count_of(shape) / shape.shape[0];
    if (std::string(param.extent_text[0]) != "B") return {in.row_begin[b] * line, in.row_length[b] * line};
    return {int64_t(b) * line, line};
}

std::string compare_row(const ir_param &param, const program &tested, const input &a, const unsigned char *of_a, slab in_a,
                        const unsigned char *of_b, slab in_b, size_t row) {
    size_t bytes = size_t(ir_type_bytes(param.type));
    for (int64_t i = 0; i < in_a.count; i++) {
        double x = load_value(param.type, of_a + size_t(in_a.first + i) * bytes);
        double y = load_value(param.type, of_b + size_t(in_b.first + i) * bytes);
        double allowed = computes_exactly(tested, a) ? 0 : tolerance(tested, a, param.type, x);
        if (!agree(y, x, allowed)) return "row " + std::to_string(row) + " differs when its neighbours do: " + std::to_string(x) + ", " + std::to_string(y);
    }
    return "";
}

}  // namespace

std::string compare_rows(const ir_kernel *kernel, const program &tested, const input &a, const results &of_a,
                         const input &b, const results &of_b) {
    for (int p = 0; p < kernel->param_count; p++) {
        const ir_param &param = kernel->params[p];
        if (param.kind != PARAM_OUT) continue;
        for (size_t row = 0; row < a.row_length.size(); row++) {
            auto found = std::find(b.row_identity.begin(), b.row_identity.end(), a.row_identity[row]);
            size_t other = size_t(found - b.row_identity.begin());
            if (found == b.row_identity.end() || a.row_length[row] != b.row_length[other]) continue;
            std::string difference = compare_row(param, tested, a, of_a[size_t(p)].data(), slab_of(param, a, a.tensors[size_t(p)].shape, row),
                                                 of_b[size_t(p)].data(), slab_of(param, b, b.tensors[size_t(p)].shape, other), row);
            if (!difference.empty()) return difference;
        }
    }
    return "";
}

}  // namespace numeric
