// SPDX-License-Identifier: Apache-2.0
// tilec tune: searches for the best config of a kernel. Progress on standard error, the table on standard output.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

// ------------------------------------------------------------------------------------------------ options

static bool option_count(const struct arguments *arguments, enum option_id option, int most, int *count)
{
    uint64_t number = 0;
    if (!option_number(arguments, option, 0, &number)) return false;
    if (number > (uint64_t)most) return usage_error("--%s: at most %d", option_table[option].name, most), false;
    *count = (int)number;
    return true;
}

static bool read_options(const struct arguments *arguments, struct tilec_tune_options *options)
{
    uint64_t seed = 0;
    if (!option_number(arguments, OPTION_SEED, 0, &seed)) return false;
    options->run = run_options(arguments, seed);
    options->configs = option_value(arguments, OPTION_CONFIGS);
    options->journal = option_value(arguments, OPTION_JOURNAL);
    options->shard = option_value(arguments, OPTION_SHARD);
    options->folder = option_value(arguments, OPTION_FOLDER);
    options->merge = option_value(arguments, OPTION_MERGE);
    options->arch = option_value(arguments, OPTION_ARCH);
    options->compile_only = has_option(arguments, OPTION_COMPILE_ONLY);
    return option_count(arguments, OPTION_COUNT_OF, 20000, &options->count) && option_count(arguments, OPTION_JOBS, 64, &options->compilers) &&
           option_count(arguments, OPTION_FROM_CACHE, 1000, &options->from_cache) &&
           option_positive(arguments, OPTION_COMPILE_LIMIT, "a number of seconds", &options->compile_limit) &&
           option_positive(arguments, OPTION_RUN_LIMIT, "a number of seconds", &options->run_limit);
}

// ------------------------------------------------------------------------------------------------ the outcome

static tilec_result save_rows(const struct arguments *arguments, const tilec_tune *tune, tilec_report *report)
{
    const char *path = option_value(arguments, OPTION_RESULTS);
    if (!path) return TILEC_OK;
    tilec_text rows = tilec_tune_rows_json(tune);
    tilec_result result = tilec_file_save(path, rows.data, rows.length, report);
    tilec_text_free(&rows);
    return result;
}

// Without -o and --json the best config is on standard output, behind the table.
static tilec_result save_best(const struct arguments *arguments, const tilec_tune *tune, tilec_report *report)
{
    const char *path = option_value(arguments, OPTION_OUTPUT);
    tilec_result result = TILEC_OK;
    tilec_text config = tilec_tune_config(tune, has_option(arguments, OPTION_MINIMAL));
    if (config.length && path) {
        char *text = malloc(config.length + 2);
        if (text) {
            memcpy(text, config.data, config.length);
            text[config.length] = '\n';
            result = tilec_file_save(path, text, config.length + 1, report);
            free(text);
        }
    } else if (config.length && !has_option(arguments, OPTION_JSON)) {
        printf("%s\n", config.data);
    }
    tilec_text_free(&config);
    return result;
}

static tilec_result show(const struct arguments *arguments, const tilec_tune *tune, tilec_report *report, tilec_result result)
{
    if (has_option(arguments, OPTION_JSON)) {
        tilec_text json = tilec_tune_json(tune);
        print_text(&json);
        printf("\n");
    } else {
        fputs(tilec_tune_summary(tune), stdout);
    }
    tilec_result rows = save_rows(arguments, tune, report), best = save_best(arguments, tune, report);
    if (result != TILEC_OK) return result;
    return rows != TILEC_OK ? rows : best;
}

tilec_result command_tune(const struct arguments *arguments)
{
    struct chosen chosen;
    struct tilec_tune_options options;
    tilec_tune *tune = NULL;
    struct search_display display;
    options = search_options(&display, true);
    if (!read_options(arguments, &options)) return TILEC_USAGE;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = tilec_tune_kernel(chosen.program, &options, chosen.report, &tune);
    if (tune) result = show(arguments, tune, chosen.report, result);
    tilec_tune_free(tune);
    choose_free(arguments, &chosen);
    return result;
}
