// SPDX-License-Identifier: Apache-2.0
// Reports as lines of "word rest"; see report.h.
#include "tests/numeric/report.h"

#include <cstdio>
#include <fstream>

namespace numeric {

void report::add(const report &other) {
    drawn += other.drawn;
    lowered += other.lowered;
    cuda += other.cuda;
    cpu += other.cpu;
    launches += other.launches;
    steps += other.steps;
    oversized += other.oversized;
    for (const auto &item : other.refused) refused[item.first] += item.second;
    choices.insert(choices.end(), other.choices.begin(), other.choices.end());
    failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

static bool read_line(const std::string &word, const std::string &rest, report &result) {
    if (word == "drawn") result.drawn = std::stoll(rest);
    else if (word == "lowered") result.lowered = std::stoll(rest);
    else if (word == "cuda") result.cuda = std::stoll(rest);
    else if (word == "cpu") result.cpu = std::stoll(rest);
    else if (word == "launches") result.launches = std::stoll(rest);
    else if (word == "steps") result.steps = std::stoll(rest);
    else if (word == "oversized") result.oversized = std::stoll(rest);
    else if (word == "refused") result.refused[rest.substr(rest.find(' ') + 1)] = std::stoll(rest);
    else if (word == "choice") result.choices.push_back(rest);
    else if (word == "failure") result.failures.push_back(rest);
    else return false;
    return true;
}

bool read_report(const std::string &path, const std::string &key, report &result) {
    std::ifstream in(path);
    std::string line;
    if (!std::getline(in, line) || line != key) return false;
    while (std::getline(in, line)) {
        size_t space = line.find(' ');
        if (space == std::string::npos || !read_line(line.substr(0, space), line.substr(space + 1), result)) return false;
    }
    return true;
}

static std::string one_line(std::string text) {
    for (char &c : text) {
        if (c == '\n') c = ' ';
    }
    return text;
}

bool write_report(const std::string &path, const std::string &key, const report &result) {
    std::ofstream out(path + ".part");
    out << key << "\ndrawn " << result.drawn << "\nlowered " << result.lowered << "\ncuda " << result.cuda << "\ncpu "
        << result.cpu << "\nlaunches " << result.launches << "\nsteps " << result.steps
        << "\noversized " << result.oversized << "\n";
    for (const auto &item : result.refused) out << "refused " << item.second << " " << one_line(item.first) << "\n";
    for (const std::string &choice : result.choices) out << "choice " << choice << "\n";
    for (const std::string &failure : result.failures) out << "failure " << one_line(failure) << "\n";
    out.close();
    return out && rename((path + ".part").c_str(), path.c_str()) == 0;
}

}  // namespace numeric
