// SPDX-License-Identifier: Apache-2.0
// In: diagnostics and statuses, whose sources may go away. Out: messages that keep copies of all they say.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

struct tilec_report {
    struct arena *arena;
    struct tilec_message *items;
    int count, capacity;
};

// ---------------------------------------------------------------------------------------------- texts

void tilec_text_free(tilec_text *text)
{
    if (!text) return;
    free(text->data);
    *text = (tilec_text){0};
}

tilec_text text_take(struct text *text)
{
    if (!text->data) text_add(text, "");
    tilec_text taken = {text->data, text->length};
    *text = (struct text){0};
    return taken;
}

void json_string(struct text *out, const char *string)
{
    text_add(out, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at;) {
        int length = text_utf8_length(at);
        if (length == 0) text_add(out, "\\ufffd"), length = 1;
        else if (*at == '"' || *at == '\\') text_printf(out, "\\%c", *at);
        else if (*at == '\n') text_add(out, "\\n");
        else if (*at < 0x20 || *at == 0x7f) text_printf(out, "\\u%04x", (unsigned)*at);
        else text_add_bytes(out, (const char *)at, (size_t)length);
        at += length;
    }
    text_add(out, "\"");
}

tilec_text tilec_json_string(const char *string)
{
    struct text text = {0};
    if (string) json_string(&text, string);
    else text_add(&text, "null");
    return text_take(&text);
}

// ---------------------------------------------------------------------------------------------- reports

tilec_report *tilec_report_new(void)
{
    struct arena *arena = arena_new();
    if (!arena) return NULL;
    tilec_report *report = ARENA_NEW(arena, tilec_report);
    report->arena = arena;
    return report;
}

void tilec_report_free(tilec_report *report)
{
    if (report) arena_free(report->arena);
}

int tilec_report_count(const tilec_report *report)
{
    if (!report) return 0;
    return report->count;
}

struct tilec_message tilec_report_message(const tilec_report *report, int index)
{
    if (!report) return (struct tilec_message){0};
    if (index < 0 || index >= report->count) return (struct tilec_message){0};
    return report->items[index];
}

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

static const char *render(struct arena *arena, const struct diagnostic *diagnostic, bool colour)
{
    struct text text = {0};
    diagnostic_print(&text, diagnostic, colour);
    const char *rendered = arena_copy(arena, text.data ? text.data : "", text.length);
    text_free(&text);
    return rendered;
}

static bool is_known(const tilec_report *report, const char *plain)
{
    for (int i = 0; i < report->count; i++)
        if (strcmp(report->items[i].plain, plain) == 0) return true;
    return false;
}

static void add(tilec_report *report, const struct diagnostic *diagnostic)
{
    struct arena *arena = report->arena;
    struct tilec_message message = {
        .severity = diagnostic->severity == SEVERITY_ERROR ? TILEC_ERROR : TILEC_WARNING,
        .code = copy(arena, diagnostic->code),
        .message = copy(arena, diagnostic->message),
        .help = copy(arena, diagnostic->help),
        .plain = render(arena, diagnostic, false),
        .coloured = render(arena, diagnostic, true),
    };
    if (is_known(report, message.plain)) return;
    if (diagnostic->span.source) {
        struct position position = source_position(diagnostic->span.source, diagnostic->span.begin);
        message.path = copy(arena, diagnostic->span.source->path);
        message.line = position.line;
        message.column = position.column;
        message.begin = diagnostic->span.begin;
        message.end = diagnostic->span.end;
    }
    ARENA_PUSH(arena, report->items, report->count, report->capacity, message);
}

tilec_result report_diagnostics(tilec_report *report, const struct diagnostics *diagnostics)
{
    for (int i = 0; report && i < diagnostics->count; i++) add(report, &diagnostics->items[i]);
    return diagnostics->errors ? TILEC_WRONG : TILEC_OK;
}

tilec_result status_result(const struct status *status)
{
    static const struct {
        const char *word;
        tilec_result result;
    } words[] = {
        {"usage.", TILEC_USAGE},    {"write.", TILEC_WRONG},        {"config.", TILEC_WRONG},     {"program.", TILEC_WRONG},
        {"check.", TILEC_WRONG},    {"evaluate.", TILEC_WRONG},     {"missing.", TILEC_MISSING},  {"lowering.", TILEC_NO_CONFIG},
        {"codegen.", TILEC_NO_CONFIG}, {"limits.", TILEC_NO_CONFIG}, {"launch.", TILEC_LAUNCH},   {"file.", TILEC_LAUNCH},
        {"memory.", TILEC_LAUNCH},  {"device.", TILEC_LAUNCH},      {"interrupted.", TILEC_INTERRUPTED},
        {"cache.", TILEC_NO_CONFIG}, {"search.", TILEC_NO_CONFIG},
    };
    if (status->ok) return TILEC_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(status->code, words[i].word, strlen(words[i].word)) == 0) return words[i].result;
    return TILEC_INTERNAL;
}

// Without the line breaks that end the logs of compilers, which stand in reasons, and without control characters:
// names of files, which may hold any, are shown on terminals.
static const char *clean(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n') length--;
    char *copied = arena_copy(arena, text, length);
    for (char *letter = copied; *letter; letter++)
        if (((unsigned char)*letter < 0x20 && *letter != '\n' && *letter != '\t') || *letter == 0x7f) *letter = '?';
    return copied;
}

tilec_result report_status(tilec_report *report, const struct status *status)
{
    if (status->ok) return TILEC_OK;
    if (!report) return status_result(status);
    const char *reason = status->reason ? status->reason : "no reason was given";
    struct diagnostic diagnostic = {.severity = SEVERITY_ERROR, .code = status->code, .span = status->span,
                                    .message = clean(report->arena, reason)};
    add(report, &diagnostic);
    return status_result(status);
}

tilec_result report_failed(tilec_report *report, const char *code, const char *help, const char *format, ...)
{
    char *message = NULL;
    va_list arguments;
    if (!report) return status_result(&(struct status){.code = code});
    va_start(arguments, format);
    int length = vasprintf(&message, format, arguments);
    va_end(arguments);
    struct diagnostic diagnostic = {.severity = SEVERITY_ERROR, .code = code, .help = help,
                                    .message = length < 0 ? "out of memory" : clean(report->arena, message)};
    add(report, &diagnostic);
    if (length >= 0) free(message);
    return status_result(&(struct status){.code = code});
}

void report_warning(tilec_report *report, const char *code, const char *text)
{
    if (!report) return;
    struct diagnostic diagnostic = {.severity = SEVERITY_WARNING, .code = code, .message = clean(report->arena, text)};
    add(report, &diagnostic);
}

struct status status_failed(struct arena *arena, const char *code, const char *format, ...)
{
    struct status status = {.code = code, .reason = "out of memory"};
    char *reason = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&reason, format, arguments);
    va_end(arguments);
    if (length >= 0) status.reason = arena_copy(arena, reason, (size_t)length);
    if (length >= 0) free(reason);
    return status;
}

static void message_json(struct text *out, const struct tilec_message *message)
{
    text_printf(out, "{\"severity\": \"%s\", \"code\": ", message->severity == TILEC_ERROR ? "error" : "warning");
    json_string(out, message->code);
    text_add(out, ", \"message\": ");
    json_string(out, message->message);
    if (message->help) text_add(out, ", \"help\": "), json_string(out, message->help);
    if (message->line) {
        text_add(out, ", \"path\": ");
        json_string(out, message->path ? message->path : "");
        text_printf(out, ", \"line\": %d, \"column\": %d, \"begin\": %zu, \"end\": %zu", message->line, message->column,
                    message->begin, message->end);
    }
    text_add(out, "}");
}

tilec_text tilec_report_json(const tilec_report *report)
{
    struct text out = {0};
    text_add(&out, "[");
    for (int i = 0; i < tilec_report_count(report); i++) {
        text_add(&out, i ? ",\n " : "");
        message_json(&out, &report->items[i]);
    }
    text_add(&out, "]");
    return text_take(&out);
}
