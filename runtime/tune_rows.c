// SPDX-License-Identifier: Apache-2.0
// Rows of a tune: a config and what came of it, side by side for good. In: configs. Out: their outcome as JSON.
#include <math.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

// ---------------------------------------------------------------------------------------------- statuses

static const char *const status_names[TUNE_STATUS_COUNT] = {
    [TUNE_WAITING] = "waiting",
    [TUNE_OK] = "ok",
    [TUNE_COMPILED] = "compiled",
    [TUNE_SKIPPED_CONFIG] = "skipped: config",
    [TUNE_SKIPPED_LOWERING] = "skipped: lowering",
    [TUNE_SKIPPED_LIMITS] = "skipped: limits",
    [TUNE_SKIPPED_COMPILE] = "skipped: compile",
    [TUNE_SKIPPED_COMPILE_TIMEOUT] = "skipped: compile-timeout",
    [TUNE_SKIPPED_COMPILE_CRASH] = "skipped: compile-crash",
    [TUNE_SKIPPED_BUDGET] = "skipped: budget",
    [TUNE_SKIPPED_INTERRUPTED] = "skipped: interrupted",
    [TUNE_SKIPPED_SHARD] = "skipped: shard",
    [TUNE_FAILED_LAUNCH] = "failed: launch",
    [TUNE_FAILED_ILLEGAL_ACCESS] = "failed: illegal-access",
    [TUNE_FAILED_MISALIGNED] = "failed: misaligned",
    [TUNE_FAILED_TIMEOUT] = "failed: timeout",
    [TUNE_FAILED_CRASH] = "failed: crash",
    [TUNE_FAILED_OUT_OF_MEMORY] = "failed: out-of-memory",
    [TUNE_FAILED_WRONG_RESULT] = "failed: wrong-result",
    [TUNE_FAILED_TIMING] = "failed: timing",
};

const char *tune_status_name(enum tune_status status)
{
    return status_names[status];
}

bool tune_status_named(const char *name, enum tune_status *status)
{
    for (int i = 0; name && i < TUNE_STATUS_COUNT; i++)
        if (strcmp(status_names[i], name) == 0) return *status = (enum tune_status)i, true;
    return false;
}

struct code_rule {
    const char *begin;
    enum tune_status status;
};

static enum tune_status by_code(const char *code, const struct code_rule *rules, enum tune_status otherwise)
{
    for (; rules->begin; rules++)
        if (strncmp(code, rules->begin, strlen(rules->begin)) == 0) return rules->status;
    return otherwise;
}

enum tune_status tune_status_of_build(const char *code)
{
    static const struct code_rule rules[] = {
        {"lowering.", TUNE_SKIPPED_LOWERING}, {"codegen.", TUNE_SKIPPED_LOWERING}, {"config.", TUNE_SKIPPED_CONFIG},
        {"limits.", TUNE_SKIPPED_LIMITS}, {NULL, TUNE_SKIPPED_COMPILE}};
    return by_code(code, rules, TUNE_SKIPPED_COMPILE);
}

enum tune_status tune_status_of_run(const char *code)
{
    static const struct code_rule rules[] = {
        {"limits.", TUNE_SKIPPED_LIMITS}, {"check.", TUNE_FAILED_WRONG_RESULT}, {"memory.", TUNE_FAILED_OUT_OF_MEMORY},
        {"launch.memory", TUNE_FAILED_OUT_OF_MEMORY}, {"launch.illegal-access", TUNE_FAILED_ILLEGAL_ACCESS},
        {"launch.misaligned", TUNE_FAILED_MISALIGNED}, {"launch.timeout", TUNE_FAILED_TIMEOUT},
        {"device.timing", TUNE_FAILED_TIMING}, {NULL, TUNE_FAILED_LAUNCH}};
    return by_code(code, rules, TUNE_FAILED_LAUNCH);
}

// ---------------------------------------------------------------------------------------------- rows

struct tune_rows tune_rows_new(struct arena *arena, int limit)
{
    return (struct tune_rows){.arena = arena, .limit = limit, .items = ARENA_ARRAY(arena, struct tune_row, limit + 1)};
}

int tune_rows_add(struct tune_rows *rows, const struct config *config, const char *text, const char *reason)
{
    if (rows->count == rows->limit) return -1;
    struct tune_row *row = &rows->items[rows->count];
    *row = (struct tune_row){.config = config, .text = text, .stage = config ? STAGE_NEW : STAGE_DONE, .reckoned = NAN};
    row->result = (struct tune_result){.status = config ? TUNE_WAITING : TUNE_SKIPPED_CONFIG, .reason = reason ? reason : "",
                                       .registers = -1, .spill_bytes = -1, .shared_bytes = -1, .median = INFINITY, .spread = INFINITY};
    return rows->count++;
}

// config_print writes names and numbers only, so its line breaks are all between tokens.
const char *tune_config_text(struct arena *arena, const struct ir_kernel *kernel, const struct config *config)
{
    struct text text = {0};
    config_print(&text, kernel, config, false);
    char *line = arena_copy(arena, text.data, text.length), *to = line;
    for (const char *at = line; *at; at++) {
        if (*at == '\n') {
            while (at[1] == ' ') at++;
            if (to > line && to[-1] == ',') *to++ = ' ';
        } else {
            *to++ = *at;
        }
    }
    *to = 0;
    text_free(&text);
    return line;
}

int tune_rows_compiled(const struct tune_rows *rows)
{
    int count = 0;
    for (int i = 0; i < rows->count; i++) count += rows->items[i].result.status == TUNE_COMPILED;
    return count;
}

int tune_rows_best(const struct tune_rows *rows, int most, int *best)
{
    int count = 0;
    for (int i = 0; i < rows->count; i++) {
        if (rows->items[i].result.status != TUNE_OK) continue;
        int at = count < most ? count++ : most;
        while (at > 0 && rows->items[best[at - 1]].result.median > rows->items[i].result.median) {
            if (at < most) best[at] = best[at - 1];
            at--;
        }
        if (at < most) best[at] = i;
    }
    return count;
}

// ---------------------------------------------------------------------------------------------- as JSON

void tune_row_print(struct text *out, const struct tune_rows *rows, int index, bool config)
{
    const struct tune_row *row = &rows->items[index];
    const struct tune_result *result = &row->result;
    text_printf(out, "{\"row\": %d", index);
    wire_add_text(out, "status", tune_status_name(result->status));
    wire_add_text(out, "reason", result->reason);
    wire_add_int(out, "code", result->code);
    wire_add_number(out, "median_ms", result->median);
    wire_add_number(out, "spread_ms", result->spread);
    wire_add_int(out, "runs", result->runs);
    wire_add_bool(out, "bound", result->bound);
    wire_add_bool(out, "retimed", result->retimed);
    wire_add_number(out, "at_seconds", result->at);
    wire_add_number(out, "compile_seconds", result->compile_seconds);
    wire_add_number(out, "registers", result->registers < 0 ? NAN : result->registers);
    wire_add_number(out, "spill_bytes", result->spill_bytes < 0 ? NAN : result->spill_bytes);
    wire_add_number(out, "shared_bytes", result->shared_bytes < 0 ? NAN : (double)result->shared_bytes);
    if (config) {
        wire_add_number(out, "reckoned_ms", row->reckoned);
        text_add(out, ", \"config\": ");
        if (row->config) text_add(out, row->text);
        else json_string(out, row->text);
    }
    text_add(out, "}");
}

bool tune_result_read(struct arena *arena, const struct wire *message, struct tune_result *result)
{
    const char *reason = wire_text(message, "reason");
    *result = (struct tune_result){0};
    if (!tune_status_named(wire_text(message, "status"), &result->status) || result->status == TUNE_WAITING || !reason) return false;
    result->reason = arena_copy(arena, reason, strlen(reason));
    result->code = wire_int(message, "code", 0);
    result->median = wire_number(message, "median_ms", INFINITY);
    result->spread = wire_number(message, "spread_ms", INFINITY);
    result->runs = wire_int(message, "runs", 0);
    result->bound = wire_bool(message, "bound");
    result->retimed = wire_bool(message, "retimed");
    result->at = wire_number(message, "at_seconds", 0);
    result->compile_seconds = wire_number(message, "compile_seconds", 0);
    result->registers = wire_int(message, "registers", -1);
    result->spill_bytes = wire_int(message, "spill_bytes", -1);
    result->shared_bytes = (int64_t)wire_number(message, "shared_bytes", -1);
    return (result->status == TUNE_OK) == (result->median > 0 && isfinite(result->median));
}
