// SPDX-License-Identifier: Apache-2.0
// The shim against kernels written for it: right ones must pass, wrong ones must be found at the right line.
//
// In: the folder cases/. A case is a CUDA text with one kernel `test(float *out, const float *in, int n)` and a line
// `// LAUNCH blocks=… threads=… dynamic=… steps=… cluster=…`; n = blocks * threads, in[i] = i % 17. A right kernel stores 1 to every
// out[i]. A wrong one has `// FAULT words` on each line that may be complained about, once or more; the complaint, in
// both orders of the threads, must name such a line and contain its words. Out: TAP.
#include <cstdio>
#include <cstring>
#include <algorithm>
#include <dirent.h>
#include <fstream>
#include <sstream>

#include "tests/shim/compile.h"
#include "tests/shim/simt.h"

namespace {

struct expected_fault {
    int line;
    std::string words;
};

struct test_case {
    simt::emitted_text text;
    int blocks = 1, threads = 32, dynamic = 0, steps = 1000000, cluster = 1;
    std::vector<expected_fault> faults;
};

// "// FAULT a | FAULT b" gives two.
void read_faults(const std::string &line, int number, std::vector<expected_fault> &faults) {
    for (size_t at = line.find("FAULT "); at != std::string::npos; at = line.find("FAULT ", at + 1)) {
        size_t begin = at + 6, end = line.find(" | ", begin);
        faults.push_back({number, line.substr(begin, end == std::string::npos ? end : end - begin)});
    }
}

test_case read_case(const std::string &folder, const std::string &name) {
    test_case c;
    c.text.file = name;
    c.text.kernels = {"test"};
    std::ifstream in(folder + "/" + name);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        c.text.text += line + "\n";
        number++;
        size_t at = line.find("// LAUNCH ");
        if (at != std::string::npos) {
            sscanf(line.c_str() + at, "// LAUNCH blocks=%d threads=%d dynamic=%d steps=%d", &c.blocks, &c.threads, &c.dynamic, &c.steps);
        }
        at = line.find(" cluster=");
        if (at != std::string::npos) sscanf(line.c_str() + at, " cluster=%d", &c.cluster);
        read_faults(line, number, c.faults);
    }
    return c;
}

std::vector<std::string> list_cases(const std::string &folder) {
    std::vector<std::string> names;
    DIR *directory = opendir(folder.c_str());
    if (directory == nullptr) return names;
    while (dirent *item = readdir(directory)) {
        std::string name = item->d_name;
        if (name.size() > 3 && name.substr(name.size() - 3) == ".cu") names.push_back(name);
    }
    closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
}

// What a right kernel left, or what was said about a wrong one: "" if all is as the case says.
std::string judge(const test_case &c, const simt::outcome &outcome, const float *out, int n) {
    if (c.faults.empty()) {
        if (!outcome.ok) return "unexpected complaint: " + outcome.message;
        for (int i = 0; i < n; i++) {
            if (out[i] != 1.0f) return "out[" + std::to_string(i) + "] is " + std::to_string(out[i]);
        }
        return "";
    }
    if (outcome.ok) return "the fault was not found";
    for (const expected_fault &fault : c.faults) {
        std::string place = c.text.file + ":" + std::to_string(fault.line) + ":";
        bool here = outcome.message.compare(0, place.size(), place) == 0;
        if (here && outcome.message.find(fault.words) != std::string::npos) return "";
    }
    return "another complaint than expected: " + outcome.message;
}

std::string run_case(const test_case &c, const simt::entry *kernel, simt::order turns) {
    if (kernel == nullptr) return "no such kernel";
    simt::device_memory memory;
    int n = c.blocks * c.threads;
    auto in = reinterpret_cast<float *>(memory.allocate("in", size_t(n) * 4, 4, simt::access::read));
    auto out = reinterpret_cast<float *>(memory.allocate("out", size_t(n) * 4, 4, simt::access::write));
    for (int i = 0; i < n; i++) in[i] = float(i % 17);
    void *arguments[] = {&out, &in, &n};
    simt::launch launch;
    launch.kernel = kernel;
    launch.blocks = c.blocks;
    launch.threads = c.threads;
    launch.dynamic_bytes = c.dynamic;
    launch.cluster = c.cluster;
    launch.arguments = arguments;
    launch.turns = turns;
    launch.step_limit = c.steps;
    simt::outcome outcome = simt::run(launch, memory);
    return judge(c, outcome, out, n);
}

// After a fault of any kind the shim must be as good as new: checked by running everything in one process.
int run_all(const std::vector<test_case> &cases, const simt::library &library) {
    int failures = 0, number = 0;
    printf("1..%zu\n", 2 * cases.size());
    for (size_t i = 0; i < cases.size(); i++) {
        for (simt::order turns : {simt::order::forward, simt::order::backward}) {
            std::string complaint = run_case(cases[i], library.kernel(i, "test"), turns);
            failures += !complaint.empty();
            printf("%s %d - %s, %s\n", complaint.empty() ? "ok" : "not ok", ++number, cases[i].text.file.c_str(),
                   turns == simt::order::forward ? "forward" : "backward");
            if (!complaint.empty()) printf("# %s\n", complaint.c_str());
        }
    }
    return failures;
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: shim_test ROOT BUILD_FOLDER\n");
        return 2;
    }
    std::string folder = std::string(arguments[1]) + "/tests/shim/cases";
    std::vector<test_case> cases;
    std::vector<simt::emitted_text> texts;
    for (const std::string &name : list_cases(folder)) {
        cases.push_back(read_case(folder, name));
        texts.push_back(cases.back().text);
    }
    simt::compile_options options;
    options.include_root = arguments[1];
    options.directory = arguments[2];
    options.stem = "shim_cases";
    std::string log;
    auto library = simt::library::compile(simt::language::cuda, texts, options, log);
    if (library == nullptr || cases.empty()) {
        printf("Bail out! the cases don't compile\n%s", log.c_str());
        return 1;
    }
    return run_all(cases, *library) == 0 ? 0 : 1;
}
