// SPDX-License-Identifier: Apache-2.0
// tilec tune: searches for the best config of a kernel. Progress on standard error, the table on standard output.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

// ------------------------------------------------------------------------------------------------ interrupts

// What a signal's handler can reach: the second of the first interrupt, 0: none.
static volatile sig_atomic_t interrupted;

// The first interrupt ends the tune with what there is, a later one ends the program. The same one may come twice, to the
// program and to its process group.
static void note_interrupt(int signal)
{
    struct timespec now;
    (void)signal;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sig_atomic_t second = (sig_atomic_t)(now.tv_sec & 0x3fffffff) + 1;
    if (interrupted && second - interrupted > 1) _exit(TILEC_INTERRUPTED);
    if (!interrupted) interrupted = second;
}

static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static int is_interrupted(void *data)
{
    (void)data;
    return interrupted != 0;
}

// ------------------------------------------------------------------------------------------------ progress

struct progress {
    bool terminal;
    bool drawn, begun;
    double told;  // seconds at which a line was last printed
};

enum { BAR_WIDTH = 24, LINE_WIDTH = 160 };

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void print_time_left(char *out, size_t size, double left)
{
    if (left < 0 || left > 1e6) out[0] = 0;
    else snprintf(out, size, ", %d:%02d left", (int)left / 60, (int)left % 60);
}

// A bar by configs where their number is known, else by the budget.
static void print_bar(char *out, size_t size, const struct tilec_tune_progress *progress)
{
    double share = progress->total ? (double)progress->done / progress->total
                   : progress->left >= 0 ? progress->seconds / (progress->seconds + progress->left + 1e-9) : 0;
    int full = (int)(share * BAR_WIDTH + 0.5);
    size_t at = 0;
    for (int i = 0; i < BAR_WIDTH && at + 2 < size; i++) out[at++] = i < full ? '#' : '.';
    out[at] = 0;
}

static void print_line(char *out, size_t size, const struct tilec_tune_progress *progress)
{
    char total[32] = "", best[48] = "", left[48];
    if (progress->total) snprintf(total, sizeof total, "/%d", progress->total);
    if (isfinite(progress->best)) snprintf(best, sizeof best, ", best %.4g ms", progress->best);
    print_time_left(left, sizeof left, progress->left);
    double rate = progress->seconds > 0 ? progress->done / progress->seconds : 0;
    snprintf(out, size, "%s: %d%s configs, %d ok, %.1f/s%s%s", progress->phase, progress->done, total, progress->ok, rate, best, left);
}

static void draw(struct progress *state, const struct tilec_tune_progress *progress)
{
    char bar[BAR_WIDTH + 2], line[LINE_WIDTH];
    print_bar(bar, sizeof bar, progress);
    print_line(line, sizeof line, progress);
    int room = terminal_width() - BAR_WIDTH - 4;
    fprintf(stderr, "\r[%s] %.*s\033[K", bar, room > 0 ? room : 0, line);
    fflush(stderr);
    state->drawn = true;
}

static void show_progress(void *data, const struct tilec_tune_progress *progress)
{
    struct progress *state = data;
    char line[LINE_WIDTH];
    if (!state->begun)
        fprintf(stderr, "%d compiling processes, at most %lld MiB of memory\n", progress->compilers, (long long)(progress->peak_bytes >> 20));
    state->begun = true;
    if (state->terminal) {
        draw(state, progress);
        return;
    }
    if (progress->seconds - state->told < 5) return;
    state->told = progress->seconds;
    print_line(line, sizeof line, progress);
    fprintf(stderr, "%s\n", line);
}

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
    *options = (struct tilec_tune_options){0};
    if (!option_number(arguments, OPTION_SEED, 0, &seed)) return false;
    options->run = run_options(arguments, seed);
    options->configs = option_value(arguments, OPTION_CONFIGS);
    options->journal = option_value(arguments, OPTION_JOURNAL);
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
    struct progress progress = {.terminal = isatty(STDERR_FILENO)};
    if (!read_options(arguments, &options)) return TILEC_USAGE;
    options.progress = show_progress;
    options.stopped = is_interrupted;
    options.data = &progress;
    catch_interrupts();
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = tilec_tune_kernel(chosen.program, &options, chosen.report, &tune);
    if (progress.drawn) fprintf(stderr, "\n");
    if (tune) result = show(arguments, tune, chosen.report, result);
    tilec_tune_free(tune);
    choose_free(arguments, &chosen);
    return result;
}
