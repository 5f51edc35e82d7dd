// SPDX-License-Identifier: Apache-2.0
// tilec run: a kernel on data, summaries and checks on standard output.
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

struct tilec_run_options run_options(const struct arguments *arguments, uint64_t seed)
{
    const struct values *values = arguments->values;
    return (struct tilec_run_options){
        .kernel = option_value(arguments, OPTION_KERNEL),
        .argument_count = values[OPTION_ARG].count,
        .arguments = values[OPTION_ARG].items,
        .dim_count = values[OPTION_DIM].count,
        .dims = values[OPTION_DIM].items,
        .type_count = values[OPTION_TYPE].count,
        .types = values[OPTION_TYPE].items,
        .static_count = values[OPTION_STATIC].count,
        .statics = values[OPTION_STATIC].items,
        .dynamic_count = values[OPTION_DYNAMIC].count,
        .dynamics = values[OPTION_DYNAMIC].items,
        .seed = seed,
        .device = option_value(arguments, OPTION_DEVICE),
        .config = option_value(arguments, OPTION_CONFIG),
        .source = option_value(arguments, OPTION_SOURCE),
        .keep = option_value(arguments, OPTION_KEEP),
        .check = has_option(arguments, OPTION_CHECK),
        .checked = has_option(arguments, OPTION_CHECKED),
        .trusting = has_option(arguments, OPTION_NO_VALIDATE),
        .out_count = values[OPTION_OUT].count,
        .outs = values[OPTION_OUT].items,
        .save_arguments = option_value(arguments, OPTION_SAVE_ARGS),
        .histogram = option_value(arguments, OPTION_HISTOGRAM),
        .cache = cache_options(arguments),
    };
}

static void print_run(const struct arguments *arguments, const tilec_run *run)
{
    if (has_option(arguments, OPTION_JSON)) {
        tilec_text json = tilec_run_json(run);
        print_text(&json);
        printf("\n");
        fputs(tilec_run_printed(run), stderr);
        return;
    }
    fputs(tilec_run_printed(run), stdout);
    fputs(tilec_run_summary(run), stdout);
}

static void say_crash(int signal_number)
{
    static const char text[] =
        "error[launch.crash]: the kernel reached for memory that isn't there: with --no-validate offsets and lengths are trusted, and an edited "
        "--source is as it is; without them what is wrong is named\n";
    (void)signal_number;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(TILEC_LAUNCH);
}

void expect_crashes(const struct arguments *arguments)
{
    struct sigaction action = {.sa_handler = say_crash};
    if (!has_option(arguments, OPTION_NO_VALIDATE) && !has_option(arguments, OPTION_SOURCE)) return;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
}

tilec_result command_run(const struct arguments *arguments)
{
    struct chosen chosen;
    expect_crashes(arguments);
    uint64_t seed = 0;
    tilec_run *run = NULL;
    if (!option_number(arguments, OPTION_SEED, 0, &seed)) return TILEC_USAGE;
    struct search_display display;
    const struct tilec_tune_options search = search_options(&display, false);
    struct tilec_run_options options = run_options(arguments, seed);
    options.search = &search;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = tilec_run_kernel(chosen.program, &options, chosen.report, &run);
    if (run) print_run(arguments, run);
    tilec_run_free(run);
    choose_free(arguments, &chosen);
    return result;
}
