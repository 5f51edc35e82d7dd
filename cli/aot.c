// SPDX-License-Identifier: Apache-2.0
// tilec aot: a heuristic file from a list of shapes. Progress on standard error, the outcome on standard output.
#include <string.h>

#include "cli/cli.h"

static void print_note(void *data, const char *line) {
    (void)data;
    fprintf(stderr, "%s\n", line);
}

static bool read_options(const struct arguments *arguments, struct tilec_aot_options *options) {
    uint64_t seed = 0, configs = 0, count = 0, jobs = 0, similar = 0;
    if (!option_number(arguments, OPTION_SEED, 0, &seed) ||
        !option_number(arguments, OPTION_MAX_CONFIGS, 0, &configs) ||
        !option_number(arguments, OPTION_COUNT_OF, 0, &count) || !option_number(arguments, OPTION_JOBS, 0, &jobs) ||
        !option_number(arguments, OPTION_FROM_CACHE, 0, &similar))
        return false;
    if (configs > 1000 || count > 20000 || jobs > 64 || similar > 1000)
        return usage_error("aot: --max-configs, --count, --jobs or --from-cache is too large"), false;
    options->tune.run = run_options(arguments, seed);
    options->tune.count = (int)count;
    options->tune.compilers = (int)jobs;
    options->tune.from_cache = (int)similar;
    options->tune.compile_only = has_option(arguments, OPTION_COMPILE_ONLY);
    options->tune.shard = option_value(arguments, OPTION_SHARD);
    options->max_configs = (int)configs;
    options->shapes = option_value(arguments, OPTION_SHAPES);
    options->folder = option_value(arguments, OPTION_FOLDER);
    options->out = option_value(arguments, OPTION_OUT);
    options->arch = option_value(arguments, OPTION_ARCH);
    options->phase = option_value(arguments, OPTION_PHASE);
    options->goal = option_value(arguments, OPTION_GOAL);
    options->list = has_option(arguments, OPTION_LIST);
    if (!options->folder)
        options->folder = "aot";
    if (!options->shapes)
        return usage_error("aot: --shapes names the list of shapes"), false;
    return option_positive(arguments, OPTION_THRESHOLD, "a slowdown of at least 1", &options->threshold) &&
           option_positive(arguments, OPTION_COMPILE_LIMIT, "a number of seconds", &options->tune.compile_limit) &&
           option_positive(arguments, OPTION_RUN_LIMIT, "a number of seconds", &options->tune.run_limit);
}

tilec_result command_aot(const struct arguments *arguments) {
    struct chosen chosen;
    struct search_display display;
    struct tilec_aot_options options = {.tune = search_options(&display, true), .note = print_note};
    tilec_text summary = {0};
    if (!read_options(arguments, &options))
        return TILEC_USAGE;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK)
        result = tilec_aot(chosen.program, &options, chosen.report, &summary);
    if (summary.data)
        print_text(&summary);
    tilec_text_free(&summary);
    choose_free(arguments, &chosen);
    return result;
}
