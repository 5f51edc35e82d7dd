// SPDX-License-Identifier: Apache-2.0
// tilec.h alone, as a user in C++17 sees it.
#include "runtime/tilec.h"

#include <cstdio>
#include <memory>
#include <string>

int main()
{
    const std::string text = "kernel twice(x: f32[n]) -> out: f32[n] { for t in tile(n) { out[t] = 2 * x[t]; } }";
    std::unique_ptr<tilec_report, void (*)(tilec_report *)> report(tilec_report_new(), tilec_report_free);
    tilec_program *program = nullptr;
    const bool parsed = tilec_program_parse("twice.tile", text.c_str(), text.size(), report.get(), &program) == TILEC_OK;
    std::unique_ptr<tilec_program, void (*)(tilec_program *)> owner(program, tilec_program_free);
    tilec_argument argument = {};
    argument.type = TILEC_F32;
    std::printf("1..2\n%sok 1 - a program parses\n", parsed ? "" : "not ");
    std::printf("%sok 2 - its kernel has a name\n", parsed && std::string("twice") == tilec_program_kernel_name(program, 0) ? "" : "not ");
    return argument.rank;
}
