// SPDX-License-Identifier: Apache-2.0
// What the files of cli/ share: the table of commands, the table of options, and how things are printed.
// Private to cli/. Nothing here includes more of the compiler than runtime/tilec.h.
#ifndef TILEC_CLI_CLI_H
#define TILEC_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/tilec.h"

// ------------------------------------------------------------------------------------------------ options (options.c)

enum option_id {
    OPTION_END,
    OPTION_HELP, OPTION_JSON, OPTION_COLOUR,
    OPTION_KERNEL, OPTION_TYPE, OPTION_DIM, OPTION_STATIC, OPTION_DYNAMIC, OPTION_WITHOUT,
    OPTION_TARGET, OPTION_ARCH, OPTION_CONFIG, OPTION_CHECKED, OPTION_INDEX64, OPTION_UNALIGNED,
    OPTION_IR, OPTION_STOP_AFTER, OPTION_SKIP_PASS, OPTION_EXPLAIN_STRATEGY,
    OPTION_LIST_PASSES, OPTION_LIST_OPS, OPTION_KEEP, OPTION_SOURCE,
    OPTION_OUTPUT, OPTION_PTX, OPTION_NAME, OPTION_HEURISTICS,
    OPTION_ARG, OPTION_OUT, OPTION_DEVICE, OPTION_CHECK, OPTION_SAVE_ARGS, OPTION_SEED, OPTION_NO_VALIDATE, OPTION_HISTOGRAM,
    OPTION_COUNT_OF, OPTION_MINIMAL, OPTION_LIST, OPTION_ROWS, OPTION_MEAN_LENGTH, OPTION_MAX_LENGTH,
    OPTION_VERSUS, OPTION_RUNS,
    OPTION_CACHE_DIR, OPTION_REMOTE_CACHE, OPTION_HEURISTIC_DIR, OPTION_AUTOTUNE_CACHE, OPTION_FORCE_AUTOTUNE, OPTION_SKIP_CACHE,
    OPTION_ASSERT_CACHE_HIT, OPTION_EFFORT, OPTION_BUDGET,
    OPTION_CONFIGS, OPTION_RESULTS, OPTION_JOURNAL, OPTION_JOBS, OPTION_COMPILE_LIMIT, OPTION_RUN_LIMIT, OPTION_FROM_CACHE,
    OPTION_SHARD, OPTION_MERGE, OPTION_COMPILE_ONLY,
    OPTION_SHAPES, OPTION_FOLDER, OPTION_PHASE, OPTION_GOAL, OPTION_THRESHOLD, OPTION_MAX_CONFIGS,
    OPTION_KINDS
};

struct option_info {
    const char *name;      // without its dashes
    char letter;           // 0: none
    const char *argument;  // "NAME", or NULL if it takes none
    bool repeats;
    bool file;             // its argument is a path, or ends in one: completions offer files
    const char *words;     // what its argument may be, separated by spaces, for completions; or NULL
    const char *help;
};
extern const struct option_info option_table[OPTION_KINDS];

struct values {
    int count;
    const char **items;
};

struct command;
// A command line, read. The texts are argv's.
struct arguments {
    const struct command *command;
    struct values values[OPTION_KINDS];
    struct values operands;
};

// False, with a message on standard error, if the line is wrong. Free with free_command_line in any case.
bool read_command_line(const struct command *command, int argc, char **argv, struct arguments *arguments);
void free_command_line(struct arguments *arguments);
bool has_option(const struct arguments *arguments, enum option_id option);
const char *option_value(const struct arguments *arguments, enum option_id option);  // the last, or NULL
// An unsigned number of an option, or `otherwise` if it isn't there. False with a message if it is none.
bool option_number(const struct arguments *arguments, enum option_id option, uint64_t otherwise, uint64_t *number);
// A number above 0, or 0 if it isn't there; `what` for the message: "a number of seconds".
bool option_positive(const struct arguments *arguments, enum option_id option, const char *what, double *number);

// ------------------------------------------------------------------------------------------------ commands (main.c)

enum { COMMAND_OPTIONS = 40 };
struct command {
    const char *name;
    tilec_result (*run)(const struct arguments *arguments);
    const char *operands;                    // "FILE"
    int least, most;                         // operands
    const char *operand_words;               // what the first operand may be, for completions; NULL: a file
    enum option_id options[COMMAND_OPTIONS];    // ends with OPTION_END
    const char *summary;                     // one line
    const char *help;                        // paragraphs
    const char *example;                     // command lines
};
extern const struct command commands[];      // ends with a NULL name
// An option as one command takes it: the evaluator isn't timed, and `aot` has one folder and one architecture.
const struct option_info *option_of_command(const struct command *command, enum option_id option);
const struct command *command_named(const char *name);

tilec_result command_aot(const struct arguments *arguments);
tilec_result command_bundle(const struct arguments *arguments);
tilec_result command_check(const struct arguments *arguments);
tilec_result command_emit(const struct arguments *arguments);
tilec_result command_compile(const struct arguments *arguments);
tilec_result command_run(const struct arguments *arguments);
tilec_result command_bench(const struct arguments *arguments);
tilec_result command_tune(const struct arguments *arguments);
tilec_result command_cache(const struct arguments *arguments);
tilec_result command_config(const struct arguments *arguments);
tilec_result command_explain(const struct arguments *arguments);
tilec_result command_doctor(const struct arguments *arguments);
tilec_result command_completions(const struct arguments *arguments);
tilec_result command_manual(const struct arguments *arguments);

// ------------------------------------------------------------------------------------------------ help (help.c)

void print_help(void);                                   // of the program
void print_command_help(const struct command *command);
extern const char exit_codes_help[];

// ------------------------------------------------------------------------------------------------ printing (print.c)

// A message of the program's own, on standard error: "tilec: …". Returns TILEC_USAGE.
tilec_result usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints what a report holds to standard error and frees it.
void print_report(const struct arguments *arguments, tilec_report *report);
void print_text(tilec_text *text);                       // to standard output; frees it
// The closest of the words offered, or NULL. Begin with zeroes.
struct closest {
    const char *name;
    int changes;
};
void closest_offer(struct closest *closest, const char *wanted, const char *candidate);
void print_json_string(const char *string);
// Flushes standard output. A pipe that was closed or a full disk turns TILEC_OK into TILEC_WRONG, with a message.
tilec_result close_output(tilec_result result);
// To the file of -o, or to standard output. Frees the text.
tilec_result write_output(const struct arguments *arguments, tilec_text *text, tilec_report *report);

// ------------------------------------------------------------------------------------------------ searching (search.c)

struct search_display {
    bool terminal, begun;
    bool lasting, asked;  // interrupts are caught from the start to the end; a search has begun
    double told;          // seconds at which a line was last printed
};
// Options of a search that tells of itself on standard error and is ended by interrupts. `lasting`: the command does
// nothing but search. The display has to live as long as they do.
struct tilec_tune_options search_options(struct search_display *display, bool lasting);

// ------------------------------------------------------------------------------------------------ kernels (kernel.c)

// A kernel under the specialization and config that the options ask for.
struct chosen {
    tilec_report *report;
    tilec_program *program;
    tilec_kernel *kernel;
    tilec_config *config;  // NULL: the default
};
// `name` NULL: --kernel, or the file's only one. What went wrong is in chosen->report. Call choose_free in any case.
tilec_result choose_program(const struct arguments *arguments, const char *path, struct chosen *chosen);
tilec_result choose_kernel(const struct arguments *arguments, const char *name, struct chosen *chosen);
tilec_result choose_config(const struct arguments *arguments, struct chosen *chosen);
void choose_free_kernel(struct chosen *chosen);
// Prints the report too.
void choose_free(const struct arguments *arguments, struct chosen *chosen);
struct tilec_emit_options emit_options(const struct arguments *arguments);
// Where a kernel runs on what nobody has looked at, a crash of it ends in words, and with 5.
void expect_crashes(const struct arguments *arguments);
struct tilec_run_options run_options(const struct arguments *arguments, uint64_t seed);  // run.c
tilec_result doctor_file(const struct arguments *arguments);                               // heuristics.c
struct tilec_cache_options cache_options(const struct arguments *arguments);             // cache.c

#endif
