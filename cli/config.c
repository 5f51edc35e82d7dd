// SPDX-License-Identifier: Apache-2.0
// tilec config: a kernel's space, its default config, random ones, and whether one fits.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static bool minimal(const struct arguments *arguments)
{
    return has_option(arguments, OPTION_MINIMAL);
}

// Adds `more` and a final text to `all`.
static bool append(tilec_text *all, const char *more, size_t length)
{
    char *data = realloc(all->data, all->length + length + 1);
    if (!data) return usage_error("out of memory"), false;
    memcpy(data + all->length, more, length);
    all->data = data;
    all->length += length;
    all->data[all->length] = 0;
    return true;
}

static tilec_result write_line(const struct arguments *arguments, tilec_text *text, const struct chosen *chosen)
{
    return append(text, "\n", 1) ? write_output(arguments, text, chosen->report) : TILEC_INTERNAL;
}

static tilec_result config_space(const struct arguments *arguments, struct chosen *chosen)
{
    tilec_text text = tilec_config_space(chosen->kernel);
    return write_line(arguments, &text, chosen);
}

// How long rows are: all three numbers, or none of them.
static bool read_rows(const struct arguments *arguments, struct tilec_rows *rows)
{
    uint64_t count, longest;
    if (!option_number(arguments, OPTION_ROWS, 0, &count) || !option_number(arguments, OPTION_MAX_LENGTH, 0, &longest) ||
        !option_positive(arguments, OPTION_MEAN_LENGTH, "a number", &rows->mean))
        return false;
    int given = has_option(arguments, OPTION_ROWS) + has_option(arguments, OPTION_MAX_LENGTH) + has_option(arguments, OPTION_MEAN_LENGTH);
    if (given != 0 && given != 3) return usage_error("config default: --rows, --mean-length and --max-length belong together"), false;
    if (count > INT64_MAX || longest > INT64_MAX || rows->mean > (double)longest)
        return usage_error("config default: no rows have these lengths"), false;
    rows->rows = (int64_t)count;
    rows->longest = (int64_t)longest;
    const char *architecture = option_value(arguments, OPTION_ARCH);
    rows->target = architecture ? architecture : given ? "sm_90" : NULL;
    return true;
}

static tilec_result config_default(const struct arguments *arguments, struct chosen *chosen)
{
    struct tilec_rows rows = {0};
    if (!read_rows(arguments, &rows)) return TILEC_USAGE;
    tilec_result result = tilec_config_default(chosen->kernel, &rows, &chosen->config);
    if (result != TILEC_OK) return usage_error("config: there is no default config for this kernel"), result;
    tilec_text text = tilec_config_json(chosen->config, minimal(arguments));
    return write_line(arguments, &text, chosen);
}

static tilec_result append_random(const struct arguments *arguments, struct chosen *chosen, uint64_t *seed, tilec_text *all)
{
    tilec_config *config = NULL;
    tilec_result result = tilec_config_random(chosen->kernel, seed, &config);
    if (result != TILEC_OK) return result;
    tilec_text one = tilec_config_json(config, minimal(arguments));
    if (!append(all, one.data, one.length)) result = TILEC_INTERNAL;
    tilec_text_free(&one);
    tilec_config_free(config);
    return result;
}

enum { CONFIGS_MOST = 1000000 };  // some GB of JSON

// With --count an array, however many; without, one config.
static tilec_result config_random(const struct arguments *arguments, struct chosen *chosen)
{
    uint64_t seed = 0, count = 1;
    tilec_text all = {0};
    tilec_result result = TILEC_OK;
    bool array = has_option(arguments, OPTION_COUNT_OF);
    if (!option_number(arguments, OPTION_SEED, 0, &seed) || !option_number(arguments, OPTION_COUNT_OF, 1, &count)) return TILEC_USAGE;
    if (count > CONFIGS_MOST) return usage_error("config random: --count is at most %d", CONFIGS_MOST);
    bool ok = append(&all, "[", array);
    for (uint64_t i = 0; i < count && ok && result == TILEC_OK; i++) {
        ok = append(&all, ",\n", i ? 2 : 0);
        if (ok) result = append_random(arguments, chosen, &seed, &all);
    }
    ok = ok && append(&all, "]", array);
    if (ok && result == TILEC_OK) return write_line(arguments, &all, chosen);
    tilec_text_free(&all);
    return result == TILEC_OK ? TILEC_INTERNAL : result;
}

static tilec_result config_check(const struct arguments *arguments, struct chosen *chosen)
{
    if (!has_option(arguments, OPTION_CONFIG)) return usage_error("config check: wants --config FILE");
    tilec_result result = choose_config(arguments, chosen);
    if (result == TILEC_OK) result = tilec_config_check(chosen->config, emit_options(arguments).target, chosen->report);
    if (result != TILEC_OK) return result;
    tilec_text text = tilec_config_json(chosen->config, minimal(arguments));
    return write_line(arguments, &text, chosen);
}

tilec_result command_config(const struct arguments *arguments)
{
    static const struct {
        const char *name;
        tilec_result (*run)(const struct arguments *arguments, struct chosen *chosen);
    } actions[] = {{"space", config_space}, {"default", config_default}, {"random", config_random}, {"check", config_check}};
    struct chosen chosen;
    size_t action = 0;
    while (action < 4 && strcmp(actions[action].name, arguments->operands.items[0]) != 0) action++;
    if (action == 4)
        return usage_error("config: no such action: %s; there are space, default, random, check", arguments->operands.items[0]);
    tilec_result result = choose_program(arguments, arguments->operands.items[1], &chosen);
    if (result == TILEC_OK) result = choose_kernel(arguments, NULL, &chosen);
    if (result == TILEC_OK) result = actions[action].run(arguments, &chosen);
    choose_free(arguments, &chosen);
    return result;
}
