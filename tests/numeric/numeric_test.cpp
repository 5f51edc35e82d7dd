// SPDX-License-Identifier: Apache-2.0
// The numeric suite: examples under many configs, executed in the shim and on the CPU target, against the evaluator.
//
// In: the sources and a folder to work in. Out: TAP with one test per unit (a kernel with its element types), one for
// the share of random configs that lower, one for the knobs; then what was executed and refused. Workers take units from
// a common counter and leave a report file each, so a run that was broken off goes on where it was.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/numeric/session.h"
#include "tests/numeric/wrong.h"

namespace numeric {

struct command_line {
    session_options session;
    int jobs = 2;
    std::string only;
    bool fresh = false;
};

static int usage() {
    fprintf(stderr, "usage: numeric_test ROOT FOLDER [--all] [--configs N] [--jobs N] [--seed N] [--only WORDS] [--fresh]\n");
    return 2;
}

static bool read_command_line(int count, char **arguments, command_line &line) {
    if (count < 3) return false;
    line.session.root = arguments[1];
    line.session.directory = arguments[2];
    line.jobs = int(sysconf(_SC_NPROCESSORS_ONLN));
    bool counted = false;
    for (int i = 3; i < count; i++) {
        std::string option = arguments[i];
        bool has_value = i + 1 < count;
        if (option == "--all") line.session.all = true;
        else if (option == "--fresh") line.fresh = true;
        else if (option == "--configs" && has_value) line.session.configs = atoi(arguments[++i]), counted = true;
        else if (option == "--jobs" && has_value) line.jobs = atoi(arguments[++i]);
        else if (option == "--seed" && has_value) line.session.seed = strtoull(arguments[++i], nullptr, 10);
        else if (option == "--only" && has_value) line.only = arguments[++i];
        else return false;
    }
    if (line.session.all && !counted) line.session.configs = 30;
    return line.jobs > 0 && line.session.configs > 0;
}

// This program and all that it tests, as a number: reports of another build don't count.
static uint64_t build_number() {
    std::ifstream in("/proc/self/exe", std::ios::binary);
    uint64_t hash = 0xcbf29ce484222325u;
    char part[65536];
    while (in.read(part, sizeof part) || in.gcount() > 0) {
        for (std::streamsize i = 0; i < in.gcount(); i++) hash = (hash ^ static_cast<unsigned char>(part[i])) * 0x100000001b3u;
    }
    return hash;
}

static std::string report_key(const command_line &line, const unit &u) {
    return "report of " + u.name() + " all=" + std::to_string(line.session.all) + " configs=" + std::to_string(line.session.configs) +
           " seed=" + std::to_string(line.session.seed) + " build=" + std::to_string(build_number());
}

static std::string report_path(const command_line &line, const unit &u) {
    std::string name = u.name();
    for (char &c : name) c = c == ' ' ? '-' : c;
    return line.session.directory + "/" + name + (line.session.all ? ".all" : ".sample") + ".report";
}

// ------------------------------------------------------------------------------------------------ workers

static void work(const command_line &line, const std::vector<unit> &units, std::atomic<size_t> &next) {
    for (size_t i; (i = next++) < units.size();) {
        std::string key = report_key(line, units[i]), path = report_path(line, units[i]);
        report known;
        if (!line.fresh && read_report(path, key, known)) continue;
        unlink(path.c_str());
        report made = run_unit(units[i], line.session);
        if (!write_report(path, key, made)) perror(path.c_str());
        fprintf(stderr, "# %s: %lld cuda, %lld cpu, %zu failures\n", units[i].name().c_str(), (long long)made.cuda,
                (long long)made.cpu, made.failures.size());
    }
}

static void run_workers(const command_line &line, const std::vector<unit> &units) {
    void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return;
    auto &next = *new (shared) std::atomic<size_t>(0);
    fflush(stdout);
    for (int i = 0; i < line.jobs; i++) {
        pid_t child = fork();
        if (child == 0) {
            work(line, units, next);
            _exit(0);
        }
    }
    int status;
    while (wait(&status) > 0) {}  // a worker that crashed leaves no report of its unit: that unit fails
}

// ------------------------------------------------------------------------------------------------ the summary

static int number_of_test = 0, failed_tests = 0;

static void say(bool ok, const std::string &what) {
    failed_tests += !ok;
    printf("%s %d - %s\n", ok ? "ok" : "not ok", ++number_of_test, what.c_str());
}

static void say_unit(const command_line &line, const unit &u, report &total) {
    report found;
    bool known = read_report(report_path(line, u), report_key(line, u), found);
    if (!known) found.failures.push_back("no report: the worker crashed, or was ended");
    bool enough = !known || !line.session.all || found.cuda > line.session.configs;
    if (!enough) found.failures.push_back("only " + std::to_string(found.cuda) + " configs were executed");
    say(found.failures.empty(), u.name() + ": " + std::to_string(found.cuda) + " CUDA and " + std::to_string(found.cpu) + " CPU texts, " +
                                    std::to_string(found.launches) + " launches");
    for (const std::string &failure : found.failures) printf("# %s\n", failure.c_str());
    total.add(found);
}

static void say_knobs(const command_line &line, const std::vector<unit> &units, const report &total) {
    knob_coverage coverage;
    arena *memory = arena_new();
    for (const unit &u : units) {
        checked_kernel checked(u, line.session.root);
        if (checked.get() != nullptr) coverage.expect(memory, checked.get());
    }
    arena_free(memory);
    for (const std::string &choice : total.choices) coverage.add_present(choice);
    std::vector<std::string> missing = coverage.missing();
    bool ok = missing.empty() || !line.session.all;
    say(ok, "knob choices executed: " + std::to_string(coverage.present().size()) + " of " +
                std::to_string(coverage.present().size() + missing.size()));
    // A sample can't have them all, and needn't name what it lacks.
    for (size_t i = 0; line.session.all && i < missing.size(); i++) printf("# not executed: %s\n", missing[i].c_str());
}

// A test that can't fail shows nothing.
static void say_unnoticed(const command_line &line, const std::vector<unit> &units) {
    std::string found;
    for (const unit &u : units) {
        std::string of_unit = u.tested->inner == nullptr ? "" : find_unnoticed(u, line.session.root);
        if (!of_unit.empty()) found += u.name() + ":" + of_unit + "; ";
    }
    say(found.empty(), "wrong products are noticed: zeroed, transposed, stale, overrun, one element, off by one");
    if (!found.empty()) printf("# not noticed: %s\n", found.c_str());
}

static void summarize(const report &total) {
    printf("# executed: %lld CUDA and %lld CPU texts, %lld launches, %.3g steps\n", (long long)total.cuda, (long long)total.cpu,
           (long long)total.launches, double(total.steps));
    printf("# not run: %lld pairs of a config and an input that its tiles cover too wastefully\n", (long long)total.oversized);
    printf("# random configs: %lld drawn, %lld lowered\n", (long long)total.drawn, (long long)total.lowered);
    for (const auto &item : total.refused) printf("# refused: %lld times %s\n", (long long)item.second, item.first.c_str());
}

static int run(const command_line &line) {
    mkdir(line.session.directory.c_str(), 0777);
    std::vector<unit> units;
    for (const unit &u : list_units(line.session.all)) {
        if (u.name().find(line.only) != std::string::npos) units.push_back(u);
    }
    run_workers(line, units);
    printf("1..%zu\n", units.size() + 3);
    report total;
    for (const unit &u : units) say_unit(line, u, total);
    say(total.drawn > 0 && total.lowered * 10 >= total.drawn * 8, "at least 80% of random configs lower");
    say_knobs(line, units, total);
    say_unnoticed(line, units);
    summarize(total);
    return failed_tests == 0 ? 0 : 1;
}

}  // namespace numeric

int main(int count, char **arguments) {
    numeric::command_line line;
    if (!numeric::read_command_line(count, arguments, line)) return numeric::usage();
    return numeric::run(line);
}
