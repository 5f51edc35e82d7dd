// SPDX-License-Identifier: Apache-2.0
// Results that are wrong in the ways in which kernels of products go wrong: the comparison has to notice each.
#include "tests/numeric/wrong.h"

#include <algorithm>
#include <cstring>

#include "tests/numeric/compare.h"

namespace numeric {

namespace {

struct setting {
    const ir_kernel *kernel;
    const program &tested;
    const input &in;
    const results &right;
    size_t out;  // which parameter
};

using bytes = std::vector<unsigned char>;

int64_t line_bytes(const setting &s) {
    const ir_tensor &shape = s.in.tensors[s.out].shape;
    int64_t line = ir_type_bytes(shape.type);
    for (int i = 1; i < shape.rank; i++) line *= shape.shape[i];
    return line;
}

// Calls change(line, row, k) for each line of each row.
template <class F> void each_line(const setting &s, bytes &out, F change) {
    for (size_t row = 0; row < s.in.row_length.size(); row++) {
        for (int64_t k = 0; k < s.in.row_length[row]; k++) change(out.data() + (s.in.row_begin[row] + k) * line_bytes(s), row, k);
    }
}

bytes zeroed(const setting &s) {
    bytes out = s.right[s.out];
    each_line(s, out, [&](unsigned char *line, size_t, int64_t) { memset(line, 0, size_t(line_bytes(s))); });
    return out;
}

// Columns the other way round, as of a fragment read with the wrong layout.
bytes transposed(const setting &s) {
    bytes out = s.right[s.out];
    size_t element = size_t(ir_type_bytes(s.in.tensors[s.out].shape.type));
    each_line(s, out, [&](unsigned char *line, size_t, int64_t) {
        for (size_t i = 0, j = size_t(line_bytes(s)) - element; i < j; i += element, j -= element) std::swap_ranges(line + i, line + i + element, line + j);
    });
    return out;
}

// Tiles of 16 lines hold what the tile before them held.
bytes stale(const setting &s) {
    bytes out = s.right[s.out];
    size_t size = size_t(line_bytes(s));
    each_line(s, out, [&](unsigned char *line, size_t, int64_t k) {
        if (k >= 16) memcpy(line, s.right[s.out].data() + (line - out.data()) - 16 * int64_t(size), size);
    });
    return out;
}

// The last line of each row again behind it: in the next row, or in what nobody may touch.
bytes overrun(const setting &s) {
    bytes out = s.right[s.out];
    size_t size = size_t(line_bytes(s));
    each_line(s, out, [&](unsigned char *line, size_t row, int64_t k) {
        bool last = k + 1 == s.in.row_length[row];
        if (last && line + 2 * size <= out.data() + out.size()) memcpy(line + size, s.right[s.out].data() + (line - out.data()), size);
    });
    return out;
}

// Only one element is off, in the last line of the longest row.
bytes one_off(const setting &s) {
    bytes out = s.right[s.out];
    auto longest = std::max_element(s.in.row_length.begin(), s.in.row_length.end());
    int64_t row = longest - s.in.row_length.begin(), last = s.in.row_begin[size_t(row)] + *longest - 1;
    size_t element = size_t(ir_type_bytes(s.in.tensors[s.out].shape.type));
    unsigned char *line = out.data() + last * line_bytes(s);
    memset(line + size_t(line_bytes(s)) - element, 0, element);
    return out;
}

std::string unnoticed(const setting &s, const char *name, bytes wrong) {
    results got = s.right;
    got[s.out] = std::move(wrong);
    return compare(s.kernel, s.in, s.tested, got, s.right).empty() ? std::string(" ") + name : "";
}

size_t output_named(const ir_kernel *kernel, const char *name) {
    for (int p = 0; p < kernel->param_count; p++) {
        if (strcmp(kernel->params[p].name, name) == 0) return size_t(p);
    }
    return 0;
}

// The same program with one comparison changed: a query no longer sees itself.
std::string unnoticed_causal(const setting &s, const unit &u, const std::string &root) {
    checked_kernel shifted(u, root, {{"tq >= tk", "tq > tk"}, {"tk <= tq", "tk < tq"}});
    std::string complaint;
    if (shifted.get() == nullptr || !shifted.changed()) return s.tested.whole ? " causal (no such program)" : "";
    results got = evaluate(shifted.get(), s.in, complaint);
    return compare(s.kernel, s.in, s.tested, got, s.right).empty() ? " causal" : "";
}

}  // namespace

std::string find_unnoticed(const unit &u, const std::string &root) {
    checked_kernel checked(u, root);
    if (checked.get() == nullptr) return "the program has errors";
    int64_t columns = u.fixed_columns != 0 ? u.fixed_columns : 13, inner = u.fixed_inner != 0 ? u.fixed_inner : 34;
    std::string complaint, found;
    for (lengths distribution : {lengths::uniform, lengths::one_row}) {
        input in = make_input(checked.get(), {distribution, columns, style::reals, inner}, *u.tested);
        results right = evaluate(checked.get(), in, complaint);
        setting s = {checked.get(), *u.tested, in, right, output_named(checked.get(), "out")};
        found += complaint + unnoticed(s, "zeroed", zeroed(s)) + unnoticed(s, "transposed", transposed(s));
        found += unnoticed(s, "stale", stale(s)) + unnoticed(s, "overrun", overrun(s)) + unnoticed(s, "one element", one_off(s));
        found += unnoticed_causal(s, u, root);
    }
    return found;
}

}  // namespace numeric
