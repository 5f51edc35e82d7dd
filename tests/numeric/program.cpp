// SPDX-License-Identifier: Apache-2.0
// The list of programs and units, and how one is checked; see program.h.
#include "tests/numeric/program.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace numeric {

const std::vector<program> programs = {
    {"jagged_sum.tile", "jagged_sum", kind_of_result::sum, "M", nullptr, false},
    {"jagged_sum.tile", "jagged_sum_1d", kind_of_result::sum, nullptr, nullptr, false},
    {"jagged_mean.tile", "jagged_mean", kind_of_result::mean, "M", nullptr, false},
    {"jagged_softmax.tile", "jagged_softmax", kind_of_result::softmax, "M", nullptr, false},
    {"jagged_layer_norm.tile", "jagged_layer_norm", kind_of_result::norm, "M", nullptr, false},
    {"jagged_dense_add.tile", "jagged_dense_add", kind_of_result::addition, "N", nullptr, false},
    {"jagged_dense_bmm.tile", "jagged_dense_bmm", kind_of_result::product, "K", "D", false},
    {"jagged_hstu_attention.tile", "jagged_hstu_attention", kind_of_result::weighting, "E", "D", true},
    {"jagged_attention.tile", "jagged_attention", kind_of_result::attention, "E", "D", true},
};

std::string unit::name() const {
    std::string text = std::string(tested->kernel) + " " + ir_type_name(value_type) + " " + ir_type_name(index_type);
    if (fixed_columns != 0) text += std::string(" ") + tested->columns + "=" + std::to_string(fixed_columns);
    if (fixed_inner != 0) text += std::string(" ") + tested->inner + "=" + std::to_string(fixed_inner);
    return text;
}

namespace {

// Programs of products: odd extents of both kinds, and those that fill tiles of the matrix units.
void list_products(const program &tested, bool all, std::vector<unit> &units) {
    if (!tested.whole) units.push_back({&tested, TYPE_F32, TYPE_I64, 0, 0});
    if (!tested.whole) units.push_back({&tested, TYPE_F16, TYPE_I32, 0, 0});
    units.push_back({&tested, TYPE_BF16, TYPE_I64, 64, 64});
    units.push_back({&tested, TYPE_F16, TYPE_I32, 34, 71});
    if (!all) return;
    units.push_back({&tested, TYPE_BF16, TYPE_I32, 100, 34});
    units.push_back({&tested, TYPE_F16, TYPE_I64, 1, 100});
    units.push_back({&tested, TYPE_F32, TYPE_I32, 71, 100});
    units.push_back({&tested, TYPE_F64, TYPE_I64, 34, 16});
    units.push_back({&tested, TYPE_BF16, TYPE_I64, 128, 128});
}

}  // namespace

std::vector<unit> list_units(bool all) {
    const ir_type values[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_F64}, indices[] = {TYPE_I64, TYPE_I32};
    std::vector<unit> units;
    for (size_t p = 0; p < programs.size(); p++) {
        if (programs[p].inner != nullptr) {
            list_products(programs[p], all, units);
            continue;
        }
        for (int v = 0; v < 4; v++) {
            // A sample has each program with two types, and each type with three programs.
            for (int i = 0; i < 2; i++) {
                bool sampled = (v + p) % 2 == 0 && (i + v / 2 + p) % 2 == 0;
                if (all || sampled) units.push_back({&programs[p], values[v], indices[i], 0, 0});
            }
        }
        if (programs[p].columns == nullptr) continue;
        if (all || p % 2 == 0) units.push_back({&programs[p], TYPE_F32, TYPE_I32, 100, 0});
        if (all) units.push_back({&programs[p], TYPE_BF16, TYPE_I64, 256, 0});
    }
    return units;
}

namespace {

std::string read_file(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void print_diagnostics(const diagnostics &found) {
    text out = {};
    for (int i = 0; i < found.count; i++) {
        if (found.items[i].severity == SEVERITY_ERROR) diagnostic_print(&out, &found.items[i], false);
    }
    if (out.data != nullptr) fputs(out.data, stderr);
    text_free(&out);
}

}  // namespace

checked_kernel::checked_kernel(const unit &u, const std::string &root, const std::vector<std::pair<std::string, std::string>> &edits)
    : arena_(arena_new()) {
    path_ = root + "/examples/" + u.tested->file;
    text_ = read_file(path_);
    for (const auto &edit : edits) {
        size_t at = text_.find(edit.first);
        if (at == std::string::npos) continue;
        text_.replace(at, edit.first.size(), edit.second);
        changed_ = true;
    }
    source_.path = path_.c_str();
    source_.text = text_.c_str();
    source_.length = text_.size();
    diagnostics found;
    diagnostics_init(&found, arena_);
    ast_file *file = frontend_parse(arena_, &source_, nullptr, &found);
    const char *names[] = {"T", "I"};
    ir_type types[] = {u.value_type, u.index_type};
    const char *dims[] = {u.tested->columns, u.tested->inner};
    int64_t values[] = {u.fixed_columns, u.fixed_inner};
    specialization wanted = {};
    wanted.type_count = 2;
    wanted.type_names = names;
    wanted.types = types;
    wanted.dim_count = u.fixed_columns == 0 ? 0 : u.fixed_inner == 0 ? 1 : 2;
    wanted.dim_names = dims;
    wanted.dims = values;
    if (found.errors == 0) kernel_ = frontend_check(arena_, file, u.tested->kernel, &wanted, &found);
    if (found.errors != 0) kernel_ = nullptr;
    if (kernel_ == nullptr) print_diagnostics(found);
}

checked_kernel::~checked_kernel() { arena_free(arena_); }

}  // namespace numeric
