// SPDX-License-Identifier: Apache-2.0
// The journal of a tune: JSON lines, appended and never changed, one before the work on a row and one behind it. In: a file
// that may be cut anywhere. Out: the results that are whole, back in the rows that they belong to.
//
//   {"journal": 1, "key": "…"}                         what is tuned on what: another key's journal is refused; of a
//                                                      shard also "shard": "2/4" and "device"
//   {"started": 3, "config": {…}}
//   {"row": 3, "status": "ok", …, "config": {…}}       the last of a row counts
//   {"finished": true, "seconds": 59.2, "whole": false}   the tune came to its end; whole: there was no more to try
//
// A row is taken over only if its config is the row's own. What was only started is done again, and so is what was
// skipped for want of time.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

struct journal_entry {
    const struct config *config;
    const char *text;
    bool finished, ended;       // ended: it has a result, be it that there was no time
    struct tune_result result;
};

struct reading {
    struct arena *arena;
    const char *path, *head;
    const struct ir_kernel *kernel;
    int limit, count;           // count: one behind the highest row
    struct journal_entry *entries;
    size_t whole;               // bytes up to the last whole line
    bool finished, all;         // and nothing was noted behind that; all of a space was tried
    double seconds;             // that it took, whenever it was finished
};

// ---------------------------------------------------------------------------------------------- reading

static const char *make_head(struct arena *arena, const char *key, const char *about)
{
    return arena_printf(arena, "{\"journal\": 1, \"key\": \"%s\"%s}\n", key, about);
}

static bool read_config(struct reading *reading, const struct wire *line, struct journal_entry *entry)
{
    struct config *config = NULL;
    char *text = wire_get(line, "config") ? wire_print(wire_get(line, "config")) : NULL;
    bool ok = text && config_parse(reading->arena, reading->kernel, text, strlen(text), &config).ok;
    free(text);
    if (!ok) return false;
    const char *whole = tune_config_text(reading->arena, reading->kernel, config);
    if (entry->text && strcmp(entry->text, whole) != 0) *entry = (struct journal_entry){0};
    entry->config = config;
    entry->text = whole;
    return true;
}

static void read_line(struct reading *reading, const char *text, size_t length)
{
    struct wire *line = wire_parse(text, length);
    int started = wire_int(line, "started", -1), row = started >= 0 ? started : wire_int(line, "row", -1);
    struct tune_result result;
    if (line) reading->finished = wire_bool(line, "finished");
    if (reading->finished) reading->seconds += wire_number(line, "seconds", 0), reading->all = wire_bool(line, "whole");
    if (line && row >= 0 && row < reading->limit) {
        struct journal_entry *entry = &reading->entries[row];
        if (read_config(reading, line, entry) && started < 0 && tune_result_read(reading->arena, line, &result)) {
            entry->result = result;
            entry->ended = true;
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

// What is behind the head, as far as lines are whole.
static void read_body(struct reading *reading, const char *text, size_t length, size_t head)
{
    reading->whole = head;
    for (const char *at = text + head, *end; (end = memchr(at, '\n', (size_t)(text + length - at))) != NULL; at = end + 1) {
        read_line(reading, at, (size_t)(end - at));
        reading->whole = (size_t)(end + 1 - text);
    }
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
    read_body(reading, text, length, head);
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
        const struct journal_entry *entry = &reading->entries[i];
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

struct status journal_open(struct arena *arena, const char *path, const char *key, const char *about,
                           const struct ir_kernel *kernel, bool grow, struct tune_rows *rows, int *resumed,
                           struct journal *journal)
{
    struct reading reading = {.arena = arena, .path = path, .head = make_head(arena, key, about), .kernel = kernel, .limit = rows->limit};
    struct text text = {0};
    struct stat about_file;
    reading.entries = ARENA_ARRAY(arena, struct journal_entry, rows->limit + 1);
    *resumed = 0;
    *journal = (struct journal){.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666)};
    if (journal->file < 0) return status_failed(arena, "usage.journal", "can't write the journal %s: %s", path, strerror(errno));
    struct status status = STATUS_OK;
    if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) status = refuse(&reading, "is being written by another tune");
    else if (!read_file(journal->file, &text)) status = refuse(&reading, strerror(errno));
    else if (text.length) status = read_lines(&reading, text.data, text.length);
    text_free(&text);
    if (status.ok && (ftruncate(journal->file, (off_t)reading.whole) != 0 ||
                      (reading.whole == 0 && !append(journal->file, reading.head, strlen(reading.head))))) {
        status = status_failed(arena, "usage.journal", "can't write the journal %s: %s", path, strerror(errno));
        if (fstat(journal->file, &about_file) == 0 && S_ISREG(about_file.st_mode) && about_file.st_size == 0) unlink(path);
    }
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

void journal_finished(struct journal *journal, double seconds, bool whole)
{
    struct text line = {0};
    text_add(&line, "{\"finished\": true");
    wire_add_number(&line, "seconds", seconds);
    wire_add_bool(&line, "whole", whole);
    text_add(&line, "}");
    write_line(journal, &line);
}

void journal_close(struct journal *journal)
{
    if (journal->file >= 0) close(journal->file);
    journal->file = -1;
}

// ---------------------------------------------------------------------------------------------- reading one of a shard

static const char *head_text(struct arena *arena, const struct wire *head, const char *key)
{
    const char *text = wire_text(head, key);
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

struct status journal_read(struct arena *arena, const char *path, const struct ir_kernel *kernel, int rows, struct journal_read *read)
{
    const char *reason = NULL;
    const struct source *source = source_read(arena, path, &reason);
    if (!source) return status_failed(arena, "usage.merge", "can't read %s: %s", path, reason);
    size_t head = strcspn(source->text, "\n");
    struct wire *about = wire_parse(source->text, head);
    *read = (struct journal_read){.key = head_text(arena, about, "key"), .device = head_text(arena, about, "device"),
                                  .shard = head_text(arena, about, "shard")};
    wire_free(about);
    if (!read->key || !read->device || !read->shard || head == source->length)
        return status_failed(arena, "usage.merge", "%s is no journal of a shard", path);
    struct reading reading = {.arena = arena, .path = path, .kernel = kernel, .limit = 1};
    for (const char *at = source->text; (at = strchr(at, '\n')) != NULL; at++) reading.limit++;  // of a search: no more rows than lines
    if (rows > reading.limit) reading.limit = rows;
    reading.entries = ARENA_ARRAY(arena, struct journal_entry, reading.limit);
    read_body(&reading, source->text, source->length, head + 1);
    read->finished = reading.finished && reading.whole == source->length;
    read->whole = reading.all;
    read->seconds = reading.seconds;
    read->count = reading.count;
    read->entries = reading.entries;
    return STATUS_OK;
}

int journal_take_results(const struct journal_read *read, bool append, struct tune_rows *rows)
{
    int taken = 0;
    for (int i = 0; i < read->count; i++) {
        const struct journal_entry *entry = &read->entries[i];
        if (!entry->ended || (!append && i >= rows->count)) continue;
        int at = append ? tune_rows_add(rows, entry->config, entry->text, NULL) : i;
        if (strcmp(rows->items[at].text, entry->text) != 0) continue;
        rows->items[at].result = entry->result;
        rows->items[at].stage = STAGE_DONE;
        taken++;
    }
    return taken;
}
