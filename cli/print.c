// SPDX-License-Identifier: Apache-2.0
// Data goes to standard output, messages to standard error. A write that fails is an error like any other.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

tilec_result usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tilec: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    return TILEC_USAGE;
}

static bool wants_colour(const struct arguments *arguments)
{
    const char *when = arguments ? option_value(arguments, OPTION_COLOUR) : NULL;
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (when && strcmp(when, "always") == 0) return true;
    if (when && strcmp(when, "never") == 0) return false;
    return isatty(STDERR_FILENO) && !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void print_report(const struct arguments *arguments, tilec_report *report)
{
    bool colour = wants_colour(arguments);
    for (int i = 0; report && i < tilec_report_count(report); i++) {
        struct tilec_message message = tilec_report_message(report, i);
        fputs(colour ? message.coloured : message.plain, stderr);
    }
    tilec_report_free(report);
}

static int failed_write;  // errno of the first write of a text that failed: the flush at the end may have nothing left to do

void print_text(tilec_text *text)
{
    errno = 0;
    if (text->data && fwrite(text->data, 1, text->length, stdout) < text->length && !failed_write) failed_write = errno;
    tilec_text_free(text);
}

void print_json_string(const char *string)
{
    tilec_text json = tilec_json_string(string);
    print_text(&json);
}

tilec_result close_output(tilec_result result)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return result;
    int reason = errno ? errno : failed_write;
    fprintf(stderr, "tilec: can't write to standard output: %s\n", reason ? strerror(reason) : "a write failed");
    return result == TILEC_OK ? TILEC_WRONG : result;
}

tilec_result write_output(const struct arguments *arguments, tilec_text *text, tilec_report *report)
{
    const char *path = option_value(arguments, OPTION_OUTPUT);
    if (!path || strcmp(path, "-") == 0) return print_text(text), TILEC_OK;
    tilec_result result = tilec_file_save(path, text->data ? text->data : "", text->length, report);
    tilec_text_free(text);
    return result;
}
