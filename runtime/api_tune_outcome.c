// SPDX-License-Identifier: Apache-2.0
// tilec.h: what a tune came to. In: rows that are done. Out: words, JSON, and who is right where most are wrong.
#include <math.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune_job.h"

// ---------------------------------------------------------------------------------------------- in words

static bool mostly_wrong(const tilec_tune *tune)
{
    return tune->job.wrong >= 2 && 2 * tune->job.wrong > tune->rows.count;
}

// What differs from a config's reference may still agree with the rows that the evaluator worked out. So does the
// reference, or it would be none: then other rows have to tell.
struct status tune_second_opinion(tilec_tune *tune, const struct bind_request *request)
{
    const struct tune_job *job = &tune->job;
    if (!mostly_wrong(tune) || !tune->prepared.sampled || 2 * job->right_by_sample <= job->sampled) return STATUS_OK;
    tune->judged = true;
    return tune_judge(tune->arena, request, &tune->bound, &tune->prepared, &tune->reference_agrees, &tune->judged_rows);
}

static void add_judgement(const tilec_tune *tune, struct text *out)
{
    const struct tune_job *job = &tune->job;
    text_add(out, "note: over half of the configs came out wrong; ");
    if (!tune->prepared.sampled) text_add(out, "the reference is the evaluator's, so it is they that are wrong\n");
    else if (!tune->judged)
        text_printf(out, "the evaluator says so too in %d of %d cases\n", job->sampled - job->right_by_sample, job->sampled);
    else if (tune->reference_agrees)
        text_printf(out, "the evaluator agrees with the reference on another %lld rows, so it is they that are wrong\n", (long long)tune->judged_rows);
    else
        text_printf(out, "the evaluator, asked for another %lld rows, says that the reference, the default config, is wrong\n",
                    (long long)tune->judged_rows);
}

static void add_remarks(tilec_tune *tune)
{
    struct text *out = &tune->summary;
    const struct tune_job *job = &tune->job;
    if (tune->resumed) text_printf(out, "%d rows were taken over from %s\n", tune->resumed, tune->journal_path);
    if (tune->prepared.sampled && !job->remark)
        text_printf(out, "reference: the default config, which agrees with the evaluator on %lld of %lld rows\n",
                    (long long)tune->prepared.checked_rows, (long long)tune->prepared.all_rows);
    if (tune->merged.shards)
        text_printf(out, "%d results of %d shards on %s, from %s\n", tune->merged.results, tune->merged.shards, tune->merged.device,
                    tune->options->merge);
    if (tune->merged.shards && tune->unknown) text_printf(out, "note: the best isn't kept in the cache of this machine: %s\n", tune->unknown);
    if (tune->prepared.remark) text_printf(out, "note: %s\n", tune->prepared.remark);
    if (job->remark) text_printf(out, "note: %s\n", job->remark);
    if (tune->journal.broken) text_printf(out, "note: the journal %s could not be written to its end\n", tune->journal_path);
    if (mostly_wrong(tune)) add_judgement(tune, out);
}

void tune_make_summary(tilec_tune *tune)
{
    if (tune->cached) {
        struct text *out = &tune->summary;
        text_printf(out, "%s: the best known config is in the cache, key %.12s: ", tune->bound.kernel->name, tune->key.hash.hex);
        tune_print_fixed(out, tune->entry.milliseconds, 4, 0);
        text_printf(out, " ms when it was tuned (%s); --force-autotune searches again\n", effort_name(tune->entry.search.effort));
        return;
    }
    add_remarks(tune);
    tune_reckon(tune);
    tune_print_table(&tune->summary, &tune->rows);
}

// ---------------------------------------------------------------------------------------------- by rows, and as JSON

int tilec_tune_count(const tilec_tune *tune)
{
    if (!tune) return 0;
    return tune->rows.count;
}

struct tilec_tune_row tilec_tune_row(const tilec_tune *tune, int index)
{
    if (!tune) return (struct tilec_tune_row){0};
    if (index < 0 || index >= tune->rows.count) return (struct tilec_tune_row){0};
    const struct tune_row *row = &tune->rows.items[index];
    const struct tune_result *result = &row->result;
    return (struct tilec_tune_row){
        .config = row->text, .status = tune_status_name(result->status), .reason = result->reason, .code = result->code,
        .milliseconds = result->median, .spread = result->spread, .bound = result->bound, .compile_seconds = result->compile_seconds,
        .registers = result->registers, .spill_bytes = result->spill_bytes, .shared_bytes = result->shared_bytes};
}

int tilec_tune_best(const tilec_tune *tune)
{
    if (!tune) return -1;
    return tune->best_row;
}

const char *tilec_tune_summary(const tilec_tune *tune)
{
    if (!tune) return NULL;
    return tune->summary.data ? tune->summary.data : "";
}

tilec_text tilec_tune_config(const tilec_tune *tune, int minimal)
{
    if (!tune) return text_take(&(struct text){0});
    struct text text = {0};
    if (tune->best) config_print(&text, tune->bound.kernel, tune->best, minimal);
    return text_take(&text);
}

tilec_text tilec_tune_rows_json(const tilec_tune *tune)
{
    if (!tune) return text_take(&(struct text){0});
    struct text out = {0};
    text_add(&out, "[");
    for (int i = 0; i < tune->rows.count; i++) {
        text_add(&out, i ? ",\n " : "\n ");
        tune_row_print(&out, &tune->rows, i, true);
    }
    text_add(&out, "\n]\n");
    return text_take(&out);
}

static void json_histogram(struct text *out, const struct tune_rows *rows)
{
    const char *separator = "";
    text_add(out, ", \"statuses\": {");
    for (int status = 0; status < TUNE_STATUS_COUNT; status++) {
        int count = 0;
        for (int i = 0; i < rows->count; i++) count += (int)rows->items[i].result.status == status;
        if (!count) continue;
        text_printf(out, "%s\"%s\": %d", separator, tune_status_name((enum tune_status)status), count);
        separator = ", ";
    }
    text_add(out, "}");
}

tilec_text tilec_tune_json(const tilec_tune *tune)
{
    if (!tune) return text_take(&(struct text){0});
    struct text out = {0};
    text_add(&out, "{\"kernel\": ");
    json_string(&out, tune->bound.kernel->name);
    wire_add_text(&out, "tilec", TILEC_VERSION);
    wire_add_text(&out, "key", tune->key.hash.hex);
    wire_add_bool(&out, "cached", tune->cached);
    wire_add_bool(&out, "interrupted", tune->job.interrupted);
    wire_add_number(&out, "seconds", tune->job.seconds);
    wire_add_number(&out, "prepare_seconds", tune->prepare_seconds);
    wire_add_number(&out, "reference_seconds", tune->job.reference_seconds);
    wire_add_number(&out, "device_seconds", tune->job.device_seconds);
    wire_add_int(&out, "filled", tune->bound.filled);
    wire_add_int(&out, "compiled", tune->job.started);
    wire_add_int(&out, "rows", tune->rows.count);
    if (tune->shard.count) wire_add_text(&out, "shard", shard_name(tune->arena, &tune->shard));
    if (tune->merged.shards) wire_add_int(&out, "shards", tune->merged.shards);
    json_histogram(&out, &tune->rows);
    text_add(&out, ", \"best\": ");
    if (tune->best_row >= 0) tune_row_print(&out, &tune->rows, tune->best_row, false);
    else text_add(&out, "null");
    text_add(&out, ", \"config\": ");
    if (tune->best) config_print(&out, tune->bound.kernel, tune->best, false);
    else text_add(&out, "null");
    text_add(&out, "}");
    return text_take(&out);
}
