// SPDX-License-Identifier: Apache-2.0
// What a search says and hears while it runs, for every command that may search: a bar or lines on standard error, and
// interrupts, which end it with the best so far.
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

// ------------------------------------------------------------------------------------------------ interrupts

// What a signal's handler can reach: the second of the first interrupt, 0: none.
static volatile sig_atomic_t interrupted;

// The first interrupt ends the search with what there is, a later one ends the program. The same one may come twice, to the
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

static void handle_interrupts(void (*handler)(int signal))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

// ------------------------------------------------------------------------------------------------ progress

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
    bool one = progress->total == 1 || (progress->done == 1 && !progress->total);
    snprintf(out, size, "%s: %d%s config%s, %d ok, %.1f/s%s%s", progress->phase, progress->done, total, one ? "" : "s",
             progress->ok, rate, best, left);
}

static void draw(const struct tilec_tune_progress *progress)
{
    char bar[BAR_WIDTH + 2], line[LINE_WIDTH];
    print_bar(bar, sizeof bar, progress);
    print_line(line, sizeof line, progress);
    int room = terminal_width() - BAR_WIDTH - 4;
    fprintf(stderr, "\r[%s] %.*s\033[K", bar, room > 0 ? room : 0, line);
    fflush(stderr);
}

static void show_progress(void *data, const struct tilec_tune_progress *progress)
{
    struct search_display *state = data;
    char line[LINE_WIDTH];
    bool over = strcmp(progress->phase, "done") == 0;
    if (!state->begun)
        fprintf(stderr, "%d compiling process%s, at most %lld MiB of memory\n", progress->compilers, progress->compilers == 1 ? "" : "es",
                (long long)(progress->peak_bytes >> 20));
    state->begun = true;
    if (over && !state->lasting) handle_interrupts(SIG_DFL);
    if (state->terminal) {
        draw(progress);
        if (over) fprintf(stderr, "\n");
        return;
    }
    if (progress->seconds - state->told < 5) return;
    state->told = progress->seconds;
    print_line(line, sizeof line, progress);
    fprintf(stderr, "%s\n", line);
}

// Where most runs search for nothing, interrupts are left alone until one does.
static int is_interrupted(void *data)
{
    struct search_display *state = data;
    if (!state->asked && !state->lasting) handle_interrupts(note_interrupt);
    state->asked = true;
    return interrupted != 0;
}

struct tilec_tune_options search_options(struct search_display *display, bool lasting)
{
    *display = (struct search_display){.terminal = isatty(STDERR_FILENO), .lasting = lasting};
    if (lasting) handle_interrupts(note_interrupt);
    return (struct tilec_tune_options){.progress = show_progress, .stopped = is_interrupted, .data = display};
}
