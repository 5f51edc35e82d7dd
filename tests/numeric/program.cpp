// SPDX-License-Identifier: Apache-2.0
// The list of programs and units, and how one is checked; see program.h.
#include "tests/numeric/program.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace numeric {

const std::vector<program> programs = {
    {"jagged_sum.tile", "jagged_sum", kind_of_result::sum, "M"},
    {"jagged_sum.tile", "jagged_sum_1d", kind_of_result::sum, nullptr},
    {"jagged_mean.tile", "jagged_mean", kind_of_result::mean, "M"},
    {"jagged_softmax.tile", "jagged_softmax", kind_of_result::softmax, "M"},
    {"jagged_layer_norm.tile", "jagged_layer_norm", kind_of_result::norm, "M"},
    {"jagged_dense_add.tile", "jagged_dense_add", kind_of_result::addition, "N"},
};

std::string unit::name() const {
    std::string text = std::string(tested->kernel) + " " + ir_type_name(value_type) + " " + ir_type_name(index_type);
    if (fixed_columns != 0) text += std::string(" ") + tested->columns + "=" + std::to_string(fixed_columns);
    return text;
}

std::vector<unit> list_units(bool all) {
    const ir_type values[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_F64}, indices[] = {TYPE_I64, TYPE_I32};
    std::vector<unit> units;
    for (size_t p = 0; p < programs.size(); p++) {
        for (int v = 0; v < 4; v++) {
            // A sample has each program with two types, and each type with three programs.
            for (int i = 0; i < 2; i++) {
                bool sampled = (v + p) % 2 == 0 && (i + v / 2 + p) % 2 == 0;
                if (all || sampled) units.push_back({&programs[p], values[v], indices[i], 0});
            }
        }
        if (programs[p].columns == nullptr) continue;
        if (all || p % 2 == 0) units.push_back({&programs[p], TYPE_F32, TYPE_I32, 100});
        if (all) units.push_back({&programs[p], TYPE_BF16, TYPE_I64, 256});
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

checked_kernel::checked_kernel(const unit &u, const std::string &root) : arena_(arena_new()) {
    path_ = root + "/examples/" + u.tested->file;
    text_ = read_file(path_);
    source_.path = path_.c_str();
    source_.text = text_.c_str();
    source_.length = text_.size();
    diagnostics found;
    diagnostics_init(&found, arena_);
    ast_file *file = frontend_parse(arena_, &source_, nullptr, &found);
    const char *names[] = {"T", "I"};
    ir_type types[] = {u.value_type, u.index_type};
    const char *dims[] = {u.tested->columns};
    int64_t values[] = {u.fixed_columns};
    specialization wanted = {};
    wanted.type_count = 2;
    wanted.type_names = names;
    wanted.types = types;
    wanted.dim_count = u.fixed_columns != 0 ? 1 : 0;
    wanted.dim_names = dims;
    wanted.dims = values;
    if (found.errors == 0) kernel_ = frontend_check(arena_, file, u.tested->kernel, &wanted, &found);
    if (found.errors != 0) kernel_ = nullptr;
    if (kernel_ == nullptr) print_diagnostics(found);
}

checked_kernel::~checked_kernel() { arena_free(arena_); }

}  // namespace numeric
