// SPDX-License-Identifier: Apache-2.0
// Runs one unit: its configs, on its inputs, on both targets.
#pragma once
#include "tests/numeric/report.h"
#include "tests/numeric/variant.h"

namespace numeric {

struct session_options {
    std::string root, directory;  // of the sources; where files are written
    bool all = false;             // the whole matrix
    int configs = 4;              // random ones that must be executed
    uint64_t seed = 1;
};

report run_unit(const unit &u, const session_options &options);

}  // namespace numeric
