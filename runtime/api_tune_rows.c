// SPDX-License-Identifier: Apache-2.0
// tilec.h: what a tune tries. In: a list of configs, a dispatch file, or a space to search. Out: rows for the listed ones,
// or a search that proposes others; and what has to be the same for earlier results to count.
#include <stdlib.h>
#include <string.h>

#include "runtime/dispatch.h"
#include "runtime/runtime.h"
#include "runtime/search.h"
#include "runtime/tune_job.h"

enum { SEARCH_ROWS = 20000, LIST_ROWS = 1000000 };

// An entry of the list is a config or, in its place, the reason why it is none.
static void add_listed(tilec_tune *tune, const struct wire *item)
{
    char *text = wire_print(item);
    struct config *config = NULL;
    const char *kept = arena_copy(tune->arena, text ? text : "", text ? strlen(text) : 0);
    struct status status = config_parse(tune->arena, tune->bound.kernel, kept, strlen(kept), &config);
    if (status.ok) tune_rows_add(&tune->rows, config, tune_config_text(tune->arena, tune->bound.kernel, config), NULL);
    else tune_rows_add(&tune->rows, NULL, kept, status.reason);
    free(text);
}

// Rows of other shards keep their place in the list.
static void leave_to_others(tilec_tune *tune)
{
    for (int i = 0; i < tune->rows.count; i++) {
        struct tune_row *row = &tune->rows.items[i];
        if (row->stage == STAGE_DONE || shard_has(&tune->shard, row->text)) continue;
        row->stage = STAGE_DONE;
        row->result.status = TUNE_SKIPPED_SHARD;
        row->result.reason = "another shard has it";
    }
}

static struct status read_list(tilec_tune *tune, const char *path)
{
    const char *reason = NULL;
    const struct source *source = source_read(tune->arena, path, &reason);
    if (!source) return status_failed(tune->arena, "usage.file", "can't read %s: %s", path, reason);
    // As the member of an object: messages are objects.
    const char *text = arena_printf(tune->arena, "{\"list\": %s\n}", source->text);
    struct wire *root = strlen(source->text) == source->length ? wire_parse(text, strlen(text)) : NULL;
    const struct wire *list = wire_get(root, "list");
    bool empty = list && wire_count(list) == 0;
    if (wire_count(list) == 0 || wire_count(list) > LIST_ROWS) {
        wire_free(root);
        return status_failed(tune->arena, "usage.configs", empty ? "%s has no configs" : "%s is no JSON array of configs", path);
    }
    tune->rows = tune_rows_new(tune->arena, wire_count(list));
    for (const struct wire *item = wire_first(list); item; item = wire_next(item)) add_listed(tune, item);
    wire_free(root);
    leave_to_others(tune);
    return STATUS_OK;
}

// Their kernel is the caller's, which is the same one: names in them are those of the caller's configs.
static struct status add_dispatch(tilec_tune *tune)
{
    struct status status = STATUS_OK;
    tune->rows = tune_rows_new(tune->arena, tune->dispatch->count);
    for (int i = 0; i < tune->dispatch->count && status.ok; i++) {
        struct config *config = NULL;
        const char *text = tune_config_text(tune->arena, tune->bound.kernel, tune->dispatch->configs[i]);
        status = config_parse(tune->arena, tune->bound.kernel, text, strlen(text), &config);
        if (status.ok) tune_rows_add(&tune->rows, config, text, NULL);
    }
    return status;
}

static void add_default(tilec_tune *tune, int sm)
{
    struct config_data data = resolve_data(tune->arena, tune->bound.kernel, tune->bound.views, sm);
    const struct config *config = config_default_for(tune->arena, tune->bound.kernel, &data);
    tune_rows_add(&tune->rows, config, tune_config_text(tune->arena, tune->bound.kernel, config), NULL);
}

static void add_similar(tilec_tune *tune, int most)
{
    struct config_entry *entries = ARENA_ARRAY(tune->arena, struct config_entry, most + 1);
    int count = config_cache_similar(tune->arena, &tune->session, tune->bound.kernel, &tune->key, most, entries);
    for (int i = 0; i < count; i++)
        tune_rows_add(&tune->rows, entries[i].config, tune_config_text(tune->arena, tune->bound.kernel, entries[i].config), NULL);
}

static struct search_facts facts_of(const tilec_tune *tune)
{
    return (struct search_facts){.cpu = !tune->cuda, .shard = tune->shard, .registers_per_multiprocessor = tune->cuda ? 65536 : 0,
                                 .data = resolve_data(tune->arena, tune->bound.kernel, tune->bound.views, tune->sm),
                                 .bindings = &tune->bound.bindings, .tensors = tune->bound.views};
}

void tune_reckon(tilec_tune *tune)
{
    const struct search_facts facts = facts_of(tune);
    if (tune->bound.views) search_reckon(tune->arena, tune->bound.kernel, &facts, &tune->rows);
}

struct status tune_make_rows(tilec_tune *tune)
{
    const struct tilec_tune_options *options = tune->options;
    int sm = tune->sm;
    const struct search_facts facts = facts_of(tune);
    if (tune->dispatch) return add_dispatch(tune);
    if (options->configs) return read_list(tune, options->configs);
    if (options->merge) return STATUS_OK;  // the journals have them
    bool none = tune->session.settings.effort == EFFORT_NONE;
    tune->rows = tune_rows_new(tune->arena, none ? 1 : options->count > 0 ? options->count : SEARCH_ROWS);
    if (options->from_cache > 0 && !none) add_similar(tune, options->from_cache < tune->rows.limit ? options->from_cache : tune->rows.limit);
    if (none) add_default(tune, sm);
    else tune->job.search = search_new(tune->arena, tune->bound.kernel, options->run.seed, &facts);
    tune->searches = !none;
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- the journal

// What has to be the same for results to be taken over: the config key, the exact extents, the data, and the list.
const char *tune_journal_key(const tilec_tune *tune)
{
    const struct tilec_run_options *run = &tune->options->run;
    struct text text = {0};
    bool searches = tune->searches || (tune->options->merge && !tune->options->configs);
    text_printf(&text, "%s %s %llu %d", tune->key.hash.hex, TILEC_VERSION, (unsigned long long)run->seed, searches);
    for (int i = 0; i < tune->bound.kernel->dim_count; i++) text_printf(&text, " %lld", (long long)tune->bound.dims[i]);
    for (int i = 0; i < run->argument_count; i++) text_printf(&text, " %s", run->arguments[i]);
    for (int i = 0; i < tune->rows.count && !searches; i++) text_printf(&text, "\n%s", tune->rows.items[i].text);
    struct cache_key key = cache_hash(&(struct cache_part){text.data, text.length}, 1);
    text_free(&text);
    return arena_copy(tune->arena, key.hex, strlen(key.hex));
}
