// SPDX-License-Identifier: Apache-2.0
// What a tune came to, as a person reads it. In: rows. Out: the ten best, and how many of each other outcome and why.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune_job.h"

enum { BEST_SHOWN = 10, REASON_SHOWN = 110, FIRST_RECKONED = 10 };

// ---------------------------------------------------------------------------------------------- numbers

void tune_print_fixed(struct text *out, double value, int places, int width)
{
    struct text number = {0};
    long long scale = 1;
    for (int i = 0; i < places; i++) scale *= 10;
    if (isfinite(value) && fabs(value) < 1e12) {
        long long scaled = llround(value * (double)scale);
        text_printf(&number, "%lld", scaled / scale);
        if (places) text_printf(&number, ".%0*lld", places, scaled % scale);
    } else {
        text_add(&number, "-");
    }
    text_printf(out, "%*s", width, number.data);
    text_free(&number);
}

static void add_count(struct text *out, int64_t value, int width)
{
    char number[32] = "-";
    if (value >= 0) snprintf(number, sizeof number, "%lld", (long long)value);
    text_printf(out, "%*s", width, number);
}

// ---------------------------------------------------------------------------------------------- configs in short

// "tb 8 (w8) tm 128 (v4 l32) tk 64 (l8 w4 u2); grid tm tb; peel late"
static void add_config(struct text *out, const struct config *config)
{
    for (int i = 0; i < config->axis_count; i++) {
        const struct config_axis *axis = &config->axes[i];
        const struct {
            char letter;
            int value;
        } factors[] = {{'v', axis->vector}, {'l', axis->lanes}, {'w', axis->warps}, {'u', axis->unroll}};
        const char *separator = " (";
        text_printf(out, "%s%s %d", i ? ", " : "", axis->name, axis->block);
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            if (factors[f].value == 1) continue;
            text_printf(out, "%s%c%d", separator, factors[f].letter, factors[f].value);
            separator = " ";
        }
        if (*separator == ' ' && separator[1] == 0) text_add(out, ")");
    }
    text_add(out, "; grid");
    for (int i = 0; i < config->grid_count; i++) text_printf(out, " %s", config->grid[i]);
    if (config->strategy != STRATEGY_ROWS) text_printf(out, "; %s %d", config_strategy_name(config->strategy), config->chunk);
    if (config->lag) text_printf(out, "; lag %d", config->lag);
    text_printf(out, "%s%s%s", config->search ? "; search" : "", config->stage ? "; stage" : "", config->bulk ? "; bulk" : "");
    if (config->dot != DOT_FMA) text_printf(out, "; dot %s, stages %d", config_dot_name(config->dot), config->stages);
    if (config->producers) text_printf(out, "; producers %d", config->producers);
    if (config->producers && config->dot == DOT_FMA) text_printf(out, ", stages %d", config->stages);
    text_printf(out, "%s%s", config->peel ? "; peel" : "", config->late ? "; late" : "");
    if (config->stream) text_printf(out, "; stream");
    if (config->min_blocks) text_printf(out, "; min_blocks %d", config->min_blocks);
    if (config->fast) text_printf(out, "; fast");
    if (config->cluster > 1) text_printf(out, "; cluster %d", config->cluster);
}

// ---------------------------------------------------------------------------------------------- the table

static void add_best(struct text *out, const struct tune_rows *rows)
{
    int best[BEST_SHOWN];
    int count = tune_rows_best(rows, BEST_SHOWN, best);
    if (count == 0) return;
    text_add(out, "   row        ms    +- ms   registers  spills  shared  config\n");
    for (int i = 0; i < count; i++) {
        const struct tune_row *row = &rows->items[best[i]];
        text_printf(out, "%6d  ", best[i]);
        tune_print_fixed(out, row->result.median, 4, 8);
        tune_print_fixed(out, row->result.spread, 4, 10);
        add_count(out, row->result.registers, 10);
        add_count(out, row->result.spill_bytes, 8);
        add_count(out, row->result.shared_bytes, 8);
        text_add(out, row->result.bound ? "  (one run) " : "  ");
        add_config(out, row->config);
        text_add(out, "\n");
    }
}

static void add_reason(struct text *out, const char *reason)
{
    int length = (int)strcspn(reason, "\n");
    if (length > REASON_SHOWN) {
        length = REASON_SHOWN;
        while (length > 0 && ((unsigned char)reason[length] & 0xc0) == 0x80) length--;
    }
    text_printf(out, "%.*s%s", length, reason, reason[length] ? " …" : "");
}

static void add_histogram(struct text *out, const struct tune_rows *rows)
{
    for (int status = 0; status < TUNE_STATUS_COUNT; status++) {
        int count = 0, first = -1;
        for (int i = 0; i < rows->count; i++) {
            if ((int)rows->items[i].result.status != status) continue;
            count++;
            if (first < 0) first = i;
        }
        if (count == 0) continue;
        text_printf(out, "%6d  %s", count, tune_status_name((enum tune_status)status));
        if (status != TUNE_OK && status != TUNE_COMPILED) {
            text_printf(out, ", row %d: ", first);
            add_reason(out, rows->items[first].result.reason);
        }
        text_add(out, "\n");
    }
}

static int place_by_reckoning(const struct tune_rows *rows, int row)
{
    int place = 1;
    for (int i = 0; i < rows->count; i++)
        place += rows->items[i].result.status == TUNE_OK && rows->items[i].reckoned < rows->items[row].reckoned;
    return place;
}

// How good the order of reckoned costs was, by which a default is picked and a search begins.
static void add_ranking(struct text *out, const struct tune_rows *rows)
{
    int best = -1, count = 0;
    double first = INFINITY;
    for (int i = 0; i < rows->count; i++) {
        const struct tune_row *row = &rows->items[i];
        if (row->result.status != TUNE_OK || isnan(row->reckoned)) continue;
        count++;
        if (best < 0 || row->result.median < rows->items[best].result.median) best = i;
        if (place_by_reckoning(rows, i) <= FIRST_RECKONED && row->result.median < first) first = row->result.median;
    }
    if (count <= FIRST_RECKONED || rows->items[best].result.median <= 0) return;
    text_printf(out, "by reckoning, the best of %d is number %d; the best of the first %d takes ", count, place_by_reckoning(rows, best),
                FIRST_RECKONED);
    tune_print_fixed(out, 100 * (first / rows->items[best].result.median - 1), 1, 0);
    text_add(out, "% longer\n");
}

void tune_print_table(struct text *out, const struct tune_rows *rows)
{
    add_best(out, rows);
    text_printf(out, "%s%d config%s:\n", rows->count ? "" : "no config was asked for; ", rows->count, rows->count == 1 ? "" : "s");
    add_histogram(out, rows);
    add_ranking(out, rows);
}

// ---------------------------------------------------------------------------------------------- memory

int64_t tune_free_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    long long kibibytes = -1;
    while (file && kibibytes < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kibibytes) != 1) kibibytes = -1;
    if (file) fclose(file);
    return kibibytes > 0 && kibibytes < INT64_MAX / 1024 ? kibibytes * 1024 : INT64_MAX;
}

int64_t tune_peak_memory(const struct bound *bound, int compilers)
{
    const int64_t compiler = (int64_t)192 << 20, device = (int64_t)512 << 20;
    return (bound ? 4 * bound_bytes(bound) + device : 0) + compilers * compiler;
}
