// SPDX-License-Identifier: Apache-2.0
// Writes a batch of texts as one source file, compiles it, loads it; see compile.h.
#include "tests/shim/compile.h"

#include <cctype>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <unistd.h>

namespace simt {

namespace {

bool begins_with(const std::string &text, const std::string &prefix) { return text.compare(0, prefix.size(), prefix) == 0; }

bool is_name_character(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool has_word(const std::string &text, const std::string &word) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        bool begins = at == 0 || !is_name_character(text[at - 1]);
        if (begins && !is_name_character(text[at + word.size()])) return true;
    }
    return false;
}

std::vector<std::string> split_lines(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::string join_lines(const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &line : lines) text += line + "\n";
    return text;
}

// Blanks device functions, from their first line (at column 0) to the brace that closes them (at column 0, or on the
// first line itself), if they contain inline assembly.
void blank_assembly(std::vector<std::string> &lines) {
    for (size_t i = 0; i < lines.size(); i++) {
        bool function = begins_with(lines[i], "static __device__") && lines[i].find('(') != std::string::npos;
        if (!function) continue;
        size_t end = i;
        bool one_line = lines[i].find('{') != std::string::npos && lines[i].back() == '}';
        while (!one_line && end + 1 < lines.size() && !begins_with(lines[end], "}")) end++;
        bool assembly = false;
        for (size_t j = i; j <= end; j++) assembly |= has_word(lines[j], "asm") || has_word(lines[j], "__asm__");
        for (size_t j = i; assembly && j <= end; j++) lines[j].clear();
        i = end;
    }
}

std::string name_space(size_t index) { return "simt_text_" + std::to_string(index); }

std::string quoted_path(const std::string &path) { return "'" + path + "'"; }  // paths come from the build, without quotes

void write_cuda_text(std::ostream &out, const emitted_text &text, size_t index) {
    std::string space = name_space(index);
    out << "#undef __shared__\n#define __shared__ static __attribute__((section(\"" << space << "\")))\n";
    out << "extern \"C\" char __start_" << space << "[] __attribute__((weak, visibility(\"hidden\")));\n";
    out << "extern \"C\" char __stop_" << space << "[] __attribute__((weak, visibility(\"hidden\")));\n";
    out << "namespace " << space << " {\n#line 1 \"" << text.file << "\"\n" << prepare_cuda(text.text);
    out << "\n#line 1 \"simt_entries\"\n}\nextern \"C\" const simt::entry " << space << "_entries[];\n";
    std::string table = "extern \"C\" const simt::entry " + space + "_entries[] = {\n";
    for (const std::string &name : text.kernels) {
        std::string run = space + "_run_" + name, kernel = space + "::" + name;
        out << "static void " << run << "(void **arguments) { simt::call(" << kernel << ", arguments); }\n";
        table += "    {\"" + name + "\", " + run + ", simt::parameter_count(" + kernel + "), __start_" + space + ", __stop_" +
                 space + "},\n";
    }
    out << table << "    {nullptr, nullptr, 0, nullptr, nullptr}};\n";
}

// Names of a C text that must be its own: its kernels, and everything at file level, which the emitter prefixes.
bool is_own_name(const std::string &name, const emitted_text &text) {
    if (begins_with(name, "tile_")) return true;
    for (const std::string &kernel : text.kernels) {
        if (name == kernel || begins_with(name, kernel + "_")) return true;
    }
    return false;
}

std::string rename_own(const emitted_text &text, size_t index) {
    std::string result;
    const std::string &in = text.text;
    for (size_t i = 0; i < in.size();) {
        size_t end = i;
        while (end < in.size() && is_name_character(in[end])) end++;
        std::string name = in.substr(i, end - i);
        result += name;
        if (!name.empty() && is_own_name(name, text)) result += "__" + std::to_string(index);
        if (end == i) result += in[end++];
        i = end;
    }
    return result;
}

void write_c_text(std::ostream &out, const emitted_text &text, size_t index) {
    out << "#line 1 \"" << text.file << "\"\n" << rename_own(text, index) << "\n";
}

// Runs a command; its output goes to `log`.
bool run_command(const std::string &command, std::string &log) {
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return false;
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, pipe)) > 0;) log.append(part, got);
    return pclose(pipe) == 0;
}

std::string compiler_command(language lang, const compile_options &options, const std::string &source, const std::string &target) {
    std::string command = lang == language::cuda ? options.cxx + " -std=c++17 -include tests/shim/hostcuda.h" : options.cc + " -std=gnu17";
    command += " -I" + quoted_path(options.include_root) + " -O1 -g1 -gdwarf-4 -w -fPIC " SIMT_POISON " -ffp-contract=off";
    if (options.watched) {
        // Objects only: the calls are answered by this process, so no sanitizer's library is linked.
        command += " -fsanitize=thread,alignment,bounds,shift,integer-divide-by-zero -fsanitize-recover=all"
                   " --param tsan-instrument-func-entry-exit=0 --param tsan-distinguish-volatile=1";
    }
    if (options.counted) command += " -fsanitize-coverage=trace-pc";
    command += " " + options.flags + " -c -o " + quoted_path(target + ".o") + " " + quoted_path(source);
    std::string linker = lang == language::cuda ? options.cxx : options.cc;
    return command + " && " + linker + " -shared -o " + quoted_path(target) + " " + quoted_path(target + ".o") +
           " -lm && rm -f " + quoted_path(target + ".o");
}

}  // namespace

std::string prepare_cuda(const std::string &text) {
    static const std::regex dynamic(R"(extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([A-Za-z_][A-Za-z_0-9 ]*?)\s+(\w+)\[\];)");
    std::vector<std::string> lines = split_lines(text);
    blank_assembly(lines);
    for (std::string &line : lines) {
        if (line.find("extern") == std::string::npos) continue;
        if (begins_with(line, "extern \"C\" ")) line.erase(0, 11);
        line = std::regex_replace(line, dynamic, "$1 *const $2 = static_cast<$1 *>(simt::simt_dynamic_shared());");
    }
    return join_lines(lines);
}

std::unique_ptr<library> library::compile(language lang, const std::vector<emitted_text> &texts,
                                          const compile_options &options, std::string &log) {
    std::string base = options.directory + "/" + options.stem;
    std::string source = base + (lang == language::cuda ? ".cpp" : ".c"), target = base + ".so";
    std::ofstream out(source);
    for (size_t i = 0; i < texts.size(); i++) {
        if (lang == language::cuda) write_cuda_text(out, texts[i], i);
        else write_c_text(out, texts[i], i);
    }
    out.close();
    if (!out) {
        log += "cannot write " + source + "\n";
        return nullptr;
    }
    if (!run_command(compiler_command(lang, options, source, target), log)) return nullptr;
    void *handle = dlopen(target.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        log += dlerror();
        return nullptr;
    }
    return std::unique_ptr<library>(new library(handle));
}

library::~library() { dlclose(handle_); }

const entry *library::kernel(size_t text, const std::string &name) const {
    auto entries = static_cast<const entry *>(dlsym(handle_, (name_space(text) + "_entries").c_str()));
    for (; entries != nullptr && entries->name != nullptr; entries++) {
        if (name == entries->name) return entries;
    }
    return nullptr;
}

serial_function library::serial(size_t text, const std::string &name) const {
    std::string symbol = name + "_run__" + std::to_string(text);
    return reinterpret_cast<serial_function>(dlsym(handle_, symbol.c_str()));
}

}  // namespace simt
