// SPDX-License-Identifier: Apache-2.0
// Whether wrong results are noticed.
#pragma once
#include "tests/numeric/program.h"

namespace numeric {

// Which kinds of wrong results of the unit's program pass for right ones; "" if none does.
std::string find_unnoticed(const unit &u, const std::string &root);

}  // namespace numeric
