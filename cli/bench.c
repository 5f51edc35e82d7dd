// SPDX-License-Identifier: Apache-2.0
// tilec bench: the times of a kernel on standard output.
#include "cli/cli.h"

static void print_bench(const struct arguments *arguments, const tilec_bench *bench)
{
    if (has_option(arguments, OPTION_JSON)) {
        tilec_text json = tilec_bench_json(bench);
        print_text(&json);
        printf("\n");
        return;
    }
    fputs(tilec_bench_summary(bench), stdout);
}

tilec_result command_bench(const struct arguments *arguments)
{
    expect_crashes(arguments);
    struct chosen chosen;
    uint64_t seed = 0, runs = 0;
    tilec_bench *bench = NULL;
    if (!option_number(arguments, OPTION_SEED, 0, &seed) || !option_number(arguments, OPTION_RUNS, 0, &runs)) return TILEC_USAGE;
    if (runs > 100000) return usage_error("--runs: at most 100000");
    struct search_display display;
    const struct tilec_tune_options search = search_options(&display, false);
    struct tilec_bench_options options = {
        .run = run_options(arguments, seed), .versus = option_value(arguments, OPTION_VERSUS), .runs = (int)runs};
    options.run.search = &search;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = tilec_bench_kernel(chosen.program, &options, chosen.report, &bench);
    if (bench) print_bench(arguments, bench);
    tilec_bench_free(bench);
    choose_free(arguments, &chosen);
    return result;
}
