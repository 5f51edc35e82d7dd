// SPDX-License-Identifier: Apache-2.0
// tilec cache: what is in the cache of best configs and binaries, and its removal. Also the options that say how every
// other command uses it.
#include <string.h>
#include <time.h>

#include "cli/cli.h"

struct tilec_cache_options cache_options(const struct arguments *arguments)
{
    return (struct tilec_cache_options){
        .folder = option_value(arguments, OPTION_CACHE_DIR),
        .kind = option_value(arguments, OPTION_AUTOTUNE_CACHE),
        .force = has_option(arguments, OPTION_FORCE_AUTOTUNE),
        .skip = has_option(arguments, OPTION_SKIP_CACHE),
        .assert_hit = has_option(arguments, OPTION_ASSERT_CACHE_HIT),
        .effort = option_value(arguments, OPTION_EFFORT),
        .budget = option_value(arguments, OPTION_BUDGET),
        .heuristics = option_value(arguments, OPTION_HEURISTIC_DIR),
        .remote = option_value(arguments, OPTION_REMOTE_CACHE),
    };
}

static tilec_result print_json(tilec_text text)
{
    print_text(&text);
    printf("\n");
    return TILEC_OK;
}

static void print_day(int64_t seconds)
{
    time_t moment = (time_t)seconds;
    struct tm parts;
    char day[32] = "?";
    if (gmtime_r(&moment, &parts)) strftime(day, sizeof day, "%Y-%m-%d", &parts);
    printf("%s", day);
}

// Not among what programs read.
static void tell_remote(tilec_cache *cache)
{
    if (!*tilec_cache_remote(cache)) return;
    const char *trouble = tilec_cache_remote_trouble(cache);
    fprintf(stderr, "remote cache: %s, %s\n", tilec_cache_remote(cache), trouble ? trouble : "it answers");
}

static tilec_result cache_list(const struct arguments *arguments, tilec_cache *cache, tilec_report *report)
{
    int64_t bytes = 0;
    int count = tilec_cache_count(cache), binaries = tilec_cache_binaries(cache, &bytes);
    (void)report;
    if (has_option(arguments, OPTION_JSON)) return print_json(tilec_cache_json(cache));
    for (int i = 0; i < count; i++) {
        struct tilec_cache_entry entry = tilec_cache_entry(cache, i);
        printf("%.12s  ", entry.key);
        print_day(entry.created);
        printf("  %.4g ms  %s  %s  %s%s%s  %s  %s, %s\n", entry.milliseconds, entry.effort, entry.kernel, entry.types, *entry.extents ? " " : "", entry.extents,
               entry.shape, entry.device, entry.target);
    }
    printf("%d config%s and %d binar%s, %.1f MB, in %s\n", count, count == 1 ? "" : "s", binaries, binaries == 1 ? "y" : "ies",
           (double)bytes / 1e6, tilec_cache_path(cache));
    fflush(stdout);
    tell_remote(cache);
    return TILEC_OK;
}

static tilec_result cache_show(const struct arguments *arguments, tilec_cache *cache, tilec_report *report)
{
    int index = 0;
    if (arguments->operands.count < 2) return usage_error("cache show: wants a KEY; `tilec cache list` shows them");
    tilec_result result = tilec_cache_find(cache, arguments->operands.items[1], report, &index);
    if (result != TILEC_OK) return result;
    tilec_text text = tilec_cache_entry_json(cache, index);
    print_text(&text);
    return TILEC_OK;
}

static tilec_result cache_clear(const struct arguments *arguments, tilec_cache *cache, tilec_report *report)
{
    int index = -1, removed = 0;
    tilec_result result = TILEC_OK;
    if (arguments->operands.count > 1) result = tilec_cache_find(cache, arguments->operands.items[1], report, &index);
    if (result == TILEC_OK) result = tilec_cache_clear(cache, index, report, &removed);
    if (result != TILEC_OK) return result;
    if (has_option(arguments, OPTION_JSON)) printf("{\"removed\": %d}\n", removed);
    else printf("%d entr%s removed\n", removed, removed == 1 ? "y" : "ies");
    return TILEC_OK;
}

static tilec_result cache_path(const struct arguments *arguments, tilec_cache *cache, tilec_report *report)
{
    (void)report;
    if (!has_option(arguments, OPTION_JSON)) {
        printf("%s\n", tilec_cache_path(cache));
        fflush(stdout);
        return tell_remote(cache), TILEC_OK;
    }
    printf("{\"path\": ");
    print_json_string(tilec_cache_path(cache));
    if (*tilec_cache_remote(cache)) {
        const char *trouble = tilec_cache_remote_trouble(cache);
        printf(", \"remote\": {\"address\": ");
        print_json_string(tilec_cache_remote(cache));
        printf(", \"answers\": %s", trouble ? "false, \"trouble\": " : "true");
        if (trouble) print_json_string(trouble);
        printf("}");
    }
    printf("}\n");
    return TILEC_OK;
}

tilec_result command_cache(const struct arguments *arguments)
{
    static const struct {
        const char *name;
        int operands;
        tilec_result (*run)(const struct arguments *arguments, tilec_cache *cache, tilec_report *report);
    } actions[] = {{"list", 1, cache_list}, {"show", 2, cache_show}, {"clear", 2, cache_clear}, {"path", 1, cache_path}};
    const struct tilec_cache_options options = cache_options(arguments);
    const char *name = arguments->operands.items[0];
    tilec_cache *cache = NULL;
    size_t action = 0;
    while (action < 4 && strcmp(actions[action].name, name) != 0) action++;
    if (action == 4) return usage_error("cache: no such action: %s; there are list, show, clear, path", name);
    if (arguments->operands.count > actions[action].operands) return usage_error("cache %s: %s is one word too many", name, arguments->operands.items[1]);
    tilec_report *report = tilec_report_new();
    if (!report) return usage_error("out of memory"), TILEC_INTERNAL;
    tilec_result result = tilec_cache_open(&options, report, &cache);
    if (result == TILEC_OK) result = actions[action].run(arguments, cache, report);
    tilec_cache_free(cache);
    print_report(arguments, report);
    return result;
}
