// SPDX-License-Identifier: Apache-2.0
// What came of one unit, as a value and as a file: workers write files, the parent adds them up, and a later run takes
// those that are still valid instead of doing the work again.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace numeric {

struct report {
    int64_t drawn = 0, lowered = 0;              // random configs
    int64_t cuda = 0, cpu = 0;                   // variants executed on all inputs
    int64_t launches = 0, steps = 0;
    int64_t oversized = 0;                       // inputs not run because the config covers them too wastefully
    std::map<std::string, int64_t> refused;      // by reason
    std::vector<std::string> choices;            // knob choices among the executed configs
    std::vector<std::string> failures;

    void add(const report &other);
};

// `key` says what the file was made by; one with another key is no report.
bool read_report(const std::string &path, const std::string &key, report &result);
bool write_report(const std::string &path, const std::string &key, const report &result);  // whole, or not at all

}  // namespace numeric
