// SPDX-License-Identifier: Apache-2.0
// In: argv. Out: the values of a command's options and its operands, or a message that says which word is wrong.
// Every option is described once, here; commands name those they take, and help and completions read the same table.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const struct option_info option_table[OPTION_KINDS] = {
    [OPTION_HELP] = {"help", 'h', NULL, false, false, NULL, "show this"},
    [OPTION_JSON] = {"json", 0, NULL, false, false, NULL, "write JSON for programs"},
    [OPTION_COLOUR] = {"colour", 0, "WHEN", false, false, "auto always never", "colours in messages: auto (on a terminal), always, never"},
    [OPTION_KERNEL] = {"kernel", 'k', "NAME", false, false, NULL, "the kernel, if the file has several"},
    [OPTION_TYPE] = {"type", 't', "T=TYPE", true, false, NULL, "an element type: T=f16; otherwise f32, and i64 for integers"},
    [OPTION_DIM] = {"dim", 'd', "NAME=N", true, false, NULL, "the value of a dimension; without data it is compiled in"},
    [OPTION_STATIC] = {"static", 0, "NAME", true, false, NULL, "compile this dimension in"},
    [OPTION_DYNAMIC] = {"dynamic", 0, "NAME", true, false, NULL, "leave this dimension open until launch"},
    [OPTION_WITHOUT] = {"without", 0, "NAME", true, false, NULL, "leave out this optional tensor"},
    [OPTION_TARGET] = {"target", 0, "KIND", false, false, "cuda cpu", "cuda (CUDA C) or cpu (C); otherwise cuda"},
    [OPTION_ARCH] = {"arch", 'a', "SM", true, false, "sm_80 sm_90 sm_90a sm_100", "the GPU architecture, spelled as in CUDA; otherwise sm_90"},
    [OPTION_CONFIG] = {"config", 'c', "FILE", false, true, NULL, "a config in JSON; otherwise the default"},
    [OPTION_CHECKED] = {"checked", 0, NULL, false, false, NULL, "keep asserts and index checks"},
    [OPTION_INDEX64] = {"index64", 0, NULL, false, false, NULL, "index arithmetic in 64 bits"},
    [OPTION_UNALIGNED] = {"unaligned", 0, NULL, false, false, NULL, "no 16-byte accesses"},
    [OPTION_IR] = {"ir", 0, "STAGE", false, false, "ast checked all", "show the program at a stage instead: ast, checked, a pass, or all"},
    [OPTION_STOP_AFTER] = {"stop-after", 0, "PASS", false, false, NULL, "lower no further than this pass and show the program"},
    [OPTION_SKIP_PASS] = {"skip-pass", 0, "PASS", true, false, NULL, "leave out an optional pass (opt_…)"},
    [OPTION_LIST_PASSES] = {"list-passes", 0, NULL, false, false, NULL, "list the passes and end"},
    [OPTION_EXPLAIN_STRATEGY] = {"explain-strategy", 0, NULL, false, false, NULL,
                                 "show which strategies for jagged rows apply, and why others don't"},
    [OPTION_LIST_OPS] = {"list-ops", 0, NULL, false, false, NULL, "list the operations of the IR and end"},
    [OPTION_KEEP] = {"keep", 0, "DIR", false, true, NULL, "put everything that is made on the way into this folder"},
    [OPTION_SOURCE] = {"source", 0, "FILE", false, true, NULL, "use this edited text in place of the emitted one"},
    [OPTION_OUTPUT] = {"output", 'o', "FILE", false, true, NULL, "write to this file"},
    [OPTION_PTX] = {"ptx", 0, NULL, false, false, NULL, "make PTX, not a cubin"},
    [OPTION_NAME] = {"name", 0, "NAME", false, false, NULL, "prefix of the bundle's names and files; otherwise the kernel's name"},
    [OPTION_HEURISTICS] = {"heuristics", 0, "FILE", false, true, NULL, "the heuristic file that chooses among configs; otherwise the one that is found"},
    [OPTION_ARG] = {"arg", 0, "NAME=VALUE", true, false, NULL, "an argument: @file.npy, a number or a generator"},
    [OPTION_OUT] = {"out", 0, "NAME=FILE", true, true, NULL, "write an output to a .npy file"},
    [OPTION_DEVICE] = {"device", 0, "DEVICE", false, false, "cpu cuda reference",
                       "cpu (emitted C), cuda or cuda:N (a GPU), or reference (the evaluator); otherwise cpu"},
    [OPTION_CHECK] = {"check", 0, NULL, false, false, NULL, "compare the outputs with the reference evaluator"},
    [OPTION_SAVE_ARGS] = {"save-args", 0, "DIR", false, true, NULL, "write every argument to this folder as NAME.npy"},
    [OPTION_SEED] = {"seed", 0, "N", false, false, NULL, "of generated data or random configs; otherwise 0"},
    [OPTION_NO_VALIDATE] = {"no-validate", 0, NULL, false, false, NULL, "trust offsets and lengths"},
    [OPTION_HISTOGRAM] = {"histogram", 0, "NAME", false, false, NULL, "show how long the rows of this argument are; \"\": of the first that gives rows"},
    [OPTION_COUNT_OF] = {"count", 'n', "K", false, false, NULL, "how many; they come as a JSON array"},
    [OPTION_MINIMAL] = {"minimal", 0, NULL, false, false, NULL, "without what the default config has anyway"},
    [OPTION_VERSUS] = {"vs", 0, "FILE", false, true, NULL, "a second config, timed in turns with the first; \"default\": that one"},
    [OPTION_RUNS] = {"runs", 0, "N", false, false, NULL, "timed runs; otherwise as many as fit into half a second, from 20 to 200"},
    [OPTION_CACHE_DIR] = {"cache-dir", 0, "DIR", false, true, NULL, "the cache's folder; TILEC_CACHE_DIR"},
    [OPTION_REMOTE_CACHE] = {"remote-cache", 0, "URL", false, false, "none",
                             "share best configs and cubins over this redis:// or http(s):// server, or none; TILEC_REMOTE_CACHE"},
    [OPTION_HEURISTIC_DIR] = {"heuristic-dir", 0, "DIR", false, true, NULL, "look here for heuristics before the source's folder; TILEC_HEURISTIC_DIR"},
    [OPTION_AUTOTUNE_CACHE] = {"autotune-cache", 0, "KIND", false, false, "local strict remote aot",
                               "local; strict: only for the exact builds of tilec and the toolkit; remote: not without one; aot: heuristics alone; "
                               "TILEC_AUTOTUNE_CACHE"},
    [OPTION_FORCE_AUTOTUNE] = {"force-autotune", 0, NULL, false, false, NULL, "take no best config from the cache, only write; TILEC_FORCE_AUTOTUNE"},
    [OPTION_SKIP_CACHE] = {"skip-cache", 0, NULL, false, false, NULL, "neither read nor write the cache; TILEC_SKIP_CACHE"},
    [OPTION_ASSERT_CACHE_HIT] = {"assert-cache-hit", 0, NULL, false, false, NULL,
                                 "fail with 4 where the cache has no best config, and say what differs; TILEC_ASSERT_CACHE_HIT"},
    [OPTION_EFFORT] = {"effort", 0, "EFFORT", false, false, "none quick full", "how long to search for a config; TILEC_AUTOTUNE_EFFORT"},
    [OPTION_BUDGET] = {"budget", 0, "SECONDS", false, false, NULL, "end a search after so long; TILEC_AUTOTUNE_BUDGET_SECONDS"},
    [OPTION_CONFIGS] = {"configs", 0, "FILE", false, true, NULL, "a JSON array of configs: exactly these are tried, in this order"},
    [OPTION_RESULTS] = {"results", 0, "FILE", false, true, NULL, "write what came of every config, in order, as a JSON array"},
    [OPTION_JOURNAL] = {"journal", 0, "FILE", false, true, NULL, "note every result at once; what the file has already isn't done again"},
    [OPTION_JOBS] = {"jobs", 'j', "N", false, false, NULL, "processes that compile; otherwise by the cores of this machine"},
    [OPTION_COMPILE_LIMIT] = {"compile-limit", 0, "SECONDS", false, false, NULL, "for compiling one config; otherwise 60"},
    [OPTION_RUN_LIMIT] = {"run-limit", 0, "SECONDS", false, false, NULL, "for checking and timing one config; otherwise 20"},
    [OPTION_FROM_CACHE] = {"from-cache", 0, "N", false, false, NULL, "begin with the N best known configs of similar shapes"},
    [OPTION_SHARD] = {"shard", 0, "I/N", false, false, "auto",
                      "only this share of the work: 2/4, the second of four; auto: by Slurm's, Open MPI's or torchrun's variables"},
    [OPTION_MERGE] = {"merge", 0, "DIR", false, true, NULL, "no tune: the table, and the best, of the shards whose journals are here"},
    [OPTION_COMPILE_ONLY] = {"compile-only", 0, NULL, false, false, NULL, "only fill the cache of binaries; with --arch this needs no GPU"},
    [OPTION_SHAPES] = {"shapes", 0, "FILE", false, true, NULL, "a JSON array of shapes: arguments, dimensions and types of each"},
    [OPTION_FOLDER] = {"folder", 0, "DIR", false, true, NULL, "what phases leave for each other; otherwise aot"},
    [OPTION_PHASE] = {"phase", 0, "PHASE", false, false, "collect measure build evaluate", "only this phase"},
    [OPTION_GOAL] = {"goal", 0, "GOAL", false, false, "max geomean", "what is kept small: the worst slowdown (max), or the geometric mean"},
    [OPTION_THRESHOLD] = {"threshold", 0, "X", false, false, NULL, "the slowdown to keep within; otherwise 1.1"},
    [OPTION_MAX_CONFIGS] = {"max-configs", 0, "N", false, false, NULL, "choose among at most so many configs; otherwise 10"},
    [OPTION_ROWS] = {"rows", 0, "N", false, false, NULL, "how many rows the data has"},
    [OPTION_MEAN_LENGTH] = {"mean-length", 0, "X", false, false, NULL, "how many points they have on average"},
    [OPTION_MAX_LENGTH] = {"max-length", 0, "N", false, false, NULL, "how many the longest has"},
    [OPTION_LIST] = {"list", 0, NULL, false, false, NULL, "list all"},
};

const struct option_info *option_of_command(const struct command *command, enum option_id option)
{
    static const struct option_info timed = {"device", 0, "DEVICE", false, false, "cpu cuda",
                                             "cpu (emitted C), or cuda or cuda:N (a GPU); otherwise cpu"};
    static const struct option_info out = {"out", 'o', "DIR", false, true, NULL,
                                           "the folder of the heuristic file; otherwise the source's"};
    static const struct option_info arch = {"arch", 'a', "SM", false, false, "sm_80 sm_90 sm_100",
                                            "whose file it is; otherwise the device's. build, evaluate and --list then need no device"};
    static const struct option_info list = {"list", 0, NULL, false, false, NULL, "say which file, config and rule each shape has"};
    static const struct option_info tried = {"count", 'n', "K", false, false, NULL, "a search tries at most so many configs"};
    if (option == OPTION_DEVICE && command->run != command_run) return &timed;
    static const struct option_info bundle = {"output", 'o', "DIR", false, true, NULL, "the folder of the two files; otherwise this one"};
    if (option == OPTION_OUTPUT && command->run == command_bundle) return &bundle;
    static const struct option_info journals = {"folder", 0, "DIR", false, true, NULL, "the journals of shards, a file each; otherwise tune"};
    static const struct option_info made = {"arch", 'a', "SM", false, false, "sm_80 sm_90 sm_100", "what --compile-only compiles for; otherwise the device"};
    if (option == OPTION_FOLDER && command->run == command_tune) return &journals;
    if (option == OPTION_ARCH && command->run == command_tune) return &made;
    if (option == OPTION_COUNT_OF && (command->run == command_aot || command->run == command_tune)) return &tried;
    if (option == OPTION_LIST && command->run == command_aot) return &list;
    if (option == OPTION_OUT && command->run == command_aot) return &out;
    if (option == OPTION_ARCH && command->run == command_aot) return &arch;
    return &option_table[option];
}

enum { LETTERS = 3 * OPTION_KINDS + 4 };

struct getopt_tables {
    struct option entries[COMMAND_OPTIONS + 1];
    char letters[LETTERS];
};

// getopt's tables for one command. The value of an entry is the option's number, above all letters.
static void fill_tables(const struct command *command, struct getopt_tables *tables)
{
    int count = 0;
    char *letter = tables->letters;
    *letter++ = ':';
    for (; command->options[count] != OPTION_END; count++) {
        const struct option_info *info = option_of_command(command, command->options[count]);
        tables->entries[count] = (struct option){
            info->name, info->argument ? required_argument : no_argument, NULL, 256 + (int)command->options[count]};
        if (!info->letter) continue;
        *letter++ = info->letter;
        if (info->argument) *letter++ = ':';
    }
    tables->entries[count] = (struct option){0};
    *letter = 0;
}

static enum option_id option_of(const struct command *command, int found)
{
    if (found >= 256) return (enum option_id)(found - 256);
    for (int i = 0; command->options[i] != OPTION_END; i++)
        if (option_of_command(command, command->options[i])->letter == found) return command->options[i];
    return OPTION_END;
}

static bool add_value(struct values *values, const char *text)
{
    const char **items = realloc(values->items, sizeof *items * (size_t)(values->count + 1));
    if (!items) return usage_error("out of memory"), false;
    values->items = items;
    values->items[values->count++] = text;
    return true;
}

static bool check_operands(const struct command *command, const struct arguments *arguments)
{
    int count = arguments->operands.count;
    if (has_option(arguments, OPTION_HELP)) return true;
    if (count > command->most)
        return usage_error("%s: %s is one word too many; see tilec %s --help", command->name,
                           arguments->operands.items[command->most], command->name), false;
    if (count >= command->least) return true;
    return usage_error("%s: wants %s; see tilec %s --help", command->name, command->operands, command->name), false;
}

static tilec_result no_such_option(const struct command *command, const char *word)
{
    struct closest closest = {0};
    char name[32] = "";
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
    if (length < sizeof name) memcpy(name, word + 2, length);
    for (int i = 0; length > 0 && command->options[i] != OPTION_END; i++) closest_offer(&closest, name, option_of_command(command, command->options[i])->name);
    if (closest.name) return usage_error("%s: no such option: %s; is `--%s` meant?", command->name, word, closest.name);
    return usage_error("%s: no such option: %s; see tilec %s --help", command->name, word, command->name);
}

bool read_command_line(const struct command *command, int argc, char **argv, struct arguments *arguments)
{
    struct getopt_tables tables;
    int found;
    *arguments = (struct arguments){.command = command};
    fill_tables(command, &tables);
    opterr = 0;
    optind = 1;
    while ((found = getopt_long(argc, argv, tables.letters, tables.entries, NULL)) != -1) {
        const char letter[] = {'-', (char)optopt, 0};  // of several in one word: argv isn't at that word's end yet
        bool is_long = !strncmp(argv[optind - 1], "--", 2);
        const char *word = found == '?' && !is_long && optopt > ' ' && optopt < 127 ? letter : argv[optind - 1];
        if (found == '?') return no_such_option(command, word), false;
        if (found == ':') return usage_error("%s: %s wants a value", command->name, word), false;
        if (!add_value(&arguments->values[option_of(command, found)], optarg ? optarg : "")) return false;
    }
    for (int i = optind; i < argc; i++)
        if (!add_value(&arguments->operands, argv[i])) return false;
    return check_operands(command, arguments);
}

void free_command_line(struct arguments *arguments)
{
    for (int i = 0; i < OPTION_KINDS; i++) free(arguments->values[i].items);
    free(arguments->operands.items);
}

bool has_option(const struct arguments *arguments, enum option_id option)
{
    return arguments->values[option].count > 0;
}

const char *option_value(const struct arguments *arguments, enum option_id option)
{
    const struct values *values = &arguments->values[option];
    return values->count ? values->items[values->count - 1] : NULL;
}

bool option_number(const struct arguments *arguments, enum option_id option, uint64_t otherwise, uint64_t *number)
{
    const char *text = option_value(arguments, option);
    char *end = NULL;
    *number = otherwise;
    if (!text) return true;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno) return true;
    usage_error("--%s %s: wants a whole number from 0 to 18446744073709551615", option_table[option].name, text);
    return false;
}
bool option_positive(const struct arguments *arguments, enum option_id option, const char *what, double *number)
{
    const char *text = option_value(arguments, option);
    char *end = NULL;
    *number = 0;
    if (!text) return true;
    errno = 0;
    *number = strtod(text, &end);
    if (*text >= '0' && *text <= '9' && !*end && !errno && *number > 0 && *number < 1e18) return true;
    usage_error("--%s %s: wants %s above 0", option_table[option].name, text, what);
    return false;
}
