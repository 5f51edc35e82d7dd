// SPDX-License-Identifier: Apache-2.0
// The journal of a tune: JSON lines, appended and never changed, one before the work on a row and one behind it. In: a file
// that may be cut anywhere. Out: the results that are whole, back in the rows that they belong to.
//
//   {"journal": 1, "key": "…"}                         what is tuned on what: another key's journal is refused
//   {"started": 3, "config": {…}}
//   {"row": 3, "status": "ok", …, "config": {…}}       the last of a row counts
//
// A row is taken over only if its config is the row's own. What was only started is done again, and so is what was
// skipped for want of time.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

struct entry {
    const struct config *config;
    const char *text;
    bool finished;
    struct tune_result result;
};

struct reading {
    struct arena *arena;
    const char *path, *head;
    const struct ir_kernel *kernel;
    int limit, count;           // count: one behind the highest row
    struct entry *entries;
    size_t whole;               // bytes up to the last whole line
};

// ---------------------------------------------------------------------------------------------- reading

static const char *make_head(struct arena *arena, const char *key)
{
    return arena_printf(arena, "{\"journal\": 1, \"key\": \"%s\"}\n", key);
}

static bool read_config(struct reading *reading, const struct wire *line, struct entry *entry)
{
    struct config *config = NULL;
    char *text = wire_get(line, "config") ? wire_print(wire_get(line, "config")) : NULL;
    bool ok = text && config_parse(reading->arena, reading->kernel, text, strlen(text), &config).ok;
    free(text);
    if (!ok) return false;
    const char *whole = tune_config_text(reading->arena, reading->kernel, config);
    if (entry->text && strcmp(entry->text, whole) != 0) *entry = (struct entry){0};
    entry->config = config;
    entry->text = whole;
    return true;
}

static void read_line(struct reading *reading, const char *text, size_t length)
{
    struct wire *line = wire_parse(text, length);
    int started = wire_int(line, "started", -1), row = started >= 0 ? started : wire_int(line, "row", -1);
    struct tune_result result;
    if (line && row >= 0 && row < reading->limit) {
        struct entry *entry = &reading->entries[row];
        if (read_config(reading, line, entry) && started < 0 && tune_result_read(reading->arena, line, &result)) {
            entry->result = result;
            entry->finished = result.status != TUNE_SKIPPED_BUDGET && result.status != TUNE_SKIPPED_INTERRUPTED;
        }
        if (entry->config && row >= reading->count) reading->count = row + 1;
    }
    wire_free(line);
}

static struct status refuse(const struct reading *reading, const char *why)
{
    return status_failed(reading->arena, "usage.journal", "%s %s; name another file, or remove it", reading->path, why);
}

static struct status read_lines(struct reading *reading, const char *text, size_t length)
{
    size_t head = strlen(reading->head);
    if (length < head) {  // cut within its first line, or not a journal at all
        return memcmp(text, reading->head, length) == 0 ? STATUS_OK : refuse(reading, "is no journal of this tune");
    }
    if (memcmp(text, reading->head, head) != 0)
        return refuse(reading, strncmp(text, "{\"journal\": 1, ", 15) == 0
                                   ? "is the journal of another tune (another program, data, device, seed or list of configs)"
                                   : "is no journal");
    reading->whole = head;
    for (const char *at = text + head, *end; (end = memchr(at, '\n', (size_t)(text + length - at))) != NULL; at = end + 1) {
        read_line(reading, at, (size_t)(end - at));
        reading->whole = (size_t)(end + 1 - text);
    }
    return STATUS_OK;
}

static bool read_file(int file, struct text *text)
{
    char buffer[65536];
    ssize_t count;
    while ((count = read(file, buffer, sizeof buffer)) != 0) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        text_add_bytes(text, buffer, (size_t)count);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- back into the rows

static void take_over(const struct reading *reading, bool grow, struct tune_rows *rows, int *resumed)
{
    *resumed = 0;
    for (int i = 0; i < reading->count; i++) {
        const struct entry *entry = &reading->entries[i];
        if (i == rows->count) {
            if (!grow || !entry->config) break;  // behind a gap the search proposes afresh
            tune_rows_add(rows, entry->config, entry->text, NULL);
        }
        struct tune_row *row = &rows->items[i];
        if (!entry->finished || row->stage != STAGE_NEW || strcmp(row->text, entry->text) != 0) continue;
        row->result = entry->result;
        row->stage = STAGE_DONE;
        ++*resumed;
    }
}

static bool append(int file, const char *text, size_t length)
{
    while (length) {
        ssize_t count = write(file, text, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        text += count;
        length -= (size_t)count;
    }
    return true;
}

struct status journal_open(struct arena *arena, const char *path, const char *key, const struct ir_kernel *kernel, bool grow,
                           struct tune_rows *rows, int *resumed, struct journal *journal)
{
    struct reading reading = {.arena = arena, .path = path, .head = make_head(arena, key), .kernel = kernel, .limit = rows->limit};
    struct text text = {0};
    reading.entries = ARENA_ARRAY(arena, struct entry, rows->limit + 1);
    *resumed = 0;
    *journal = (struct journal){.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666)};
    if (journal->file < 0) return status_failed(arena, "usage.journal", "can't write the journal %s: %s", path, strerror(errno));
    struct status status = STATUS_OK;
    if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) status = refuse(&reading, "is being written by another tune");
    else if (!read_file(journal->file, &text)) status = refuse(&reading, strerror(errno));
    else if (text.length) status = read_lines(&reading, text.data, text.length);
    text_free(&text);
    if (status.ok && ftruncate(journal->file, (off_t)reading.whole) != 0) status = refuse(&reading, strerror(errno));
    if (status.ok && reading.whole == 0 && !append(journal->file, reading.head, strlen(reading.head))) status = refuse(&reading, strerror(errno));
    if (status.ok) take_over(&reading, grow, rows, resumed);
    else journal_close(journal);
    return status;
}

// ---------------------------------------------------------------------------------------------- writing

// One write a line: what is cut short is its last line at most.
static void write_line(struct journal *journal, struct text *line)
{
    text_add(line, "\n");
    if (journal->file >= 0 && !journal->broken && !append(journal->file, line->data, line->length)) journal->broken = true;
    text_free(line);
}

void journal_started(struct journal *journal, const struct tune_rows *rows, int index)
{
    struct text line = {0};
    text_printf(&line, "{\"started\": %d, \"config\": %s}", index, rows->items[index].text);
    write_line(journal, &line);
}

void journal_done(struct journal *journal, const struct tune_rows *rows, int index)
{
    struct text line = {0};
    tune_row_print(&line, rows, index, true);
    write_line(journal, &line);
}

void journal_close(struct journal *journal)
{
    if (journal->file >= 0) close(journal->file);
    journal->file = -1;
}
