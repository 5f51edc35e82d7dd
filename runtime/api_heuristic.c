// SPDX-License-Identifier: Apache-2.0
// tilec.h: heuristics. In: a kernel, a target. Out: the file that is used for it, and what it says of shapes.
#include <string.h>

#include "runtime/given.h"
#include "runtime/heuristic.h"
#include "runtime/runtime.h"

struct tilec_heuristic {
    struct arena *arena;
    tilec_kernel *kernel;
    struct heuristic_found found;
};

tilec_result tilec_heuristic_find(tilec_kernel *kernel, const char *target, const struct tilec_cache_options *cache, tilec_report *report,
                                  tilec_heuristic **heuristic)
{
    if (heuristic) *heuristic = NULL;
    WANT(report, kernel, target, heuristic);
    struct arena *arena = arena_new();
    struct cache_session session;
    struct target parsed;
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    if (strcmp(target, "cpu") != 0 && !target_parse(target, &parsed))
        return arena_free(arena), report_failed(report, "usage.target", NULL, "'%s' is no target; write sm_90, sm_90a or cpu", target);
    struct status status = cache_session_begin(arena, cache, &session);
    tilec_result result = report_status(report, &status);
    if (result != TILEC_OK) return arena_free(arena), result;
    tilec_heuristic *made = ARENA_NEW(arena, tilec_heuristic);
    *made = (tilec_heuristic){.arena = arena, .kernel = kernel};
    made->found = heuristic_find(arena, kernel->ir, session.settings.heuristics, target);
    for (int i = 0; i < made->found.warning_count; i++) report_warning(report, made->found.warnings[i].code, made->found.warnings[i].text);
    *heuristic = made;
    return TILEC_OK;
}

void tilec_heuristic_free(tilec_heuristic *heuristic)
{
    if (heuristic) arena_free(heuristic->arena);
}

const char *tilec_heuristic_path(const tilec_heuristic *heuristic)
{
    if (!heuristic) return NULL;
    return heuristic->found.path;
}

const char *tilec_heuristic_folders(const tilec_heuristic *heuristic)
{
    if (!heuristic) return NULL;
    return heuristic->found.folders;
}

int tilec_heuristic_count(const tilec_heuristic *heuristic)
{
    if (!heuristic) return 0;
    return heuristic->found.heuristic ? heuristic->found.heuristic->config_count : 0;
}

int tilec_heuristic_choose(const tilec_heuristic *heuristic, const int64_t *dims, int64_t longest)
{
    if (!heuristic || !dims) return -1;
    const struct heuristic_shape shape = {dims, longest};
    return heuristic->found.heuristic ? heuristic_choose(heuristic->kernel->ir, heuristic->found.heuristic, &shape) : -1;
}

tilec_text tilec_heuristic_rule(const tilec_heuristic *heuristic, const int64_t *dims, int64_t longest)
{
    if (!heuristic || !dims) return text_take(&(struct text){0});
    const struct heuristic_shape shape = {dims, longest};
    struct text text = {0};
    if (heuristic->found.heuristic) heuristic_explain(&text, heuristic->kernel->ir, heuristic->found.heuristic, &shape);
    return text_take(&text);
}

tilec_result tilec_heuristic_config(const tilec_heuristic *heuristic, int index, tilec_report *report, tilec_config **config)
{
    if (config) *config = NULL;
    WANT(report, heuristic, config);
    struct text text = {0};
    if (index < 0 || index >= tilec_heuristic_count(heuristic))
        return report_failed(report, "usage.index", NULL, "the heuristic has no config %d", index);
    config_print(&text, heuristic->kernel->ir, heuristic->found.heuristic->configs[index], false);
    tilec_result result = tilec_config_parse(heuristic->kernel, text.data, text.length, report, config);
    text_free(&text);
    return result;
}

tilec_text tilec_kernel_hash(const tilec_kernel *kernel)
{
    if (!kernel) return text_take(&(struct text){0});
    struct arena *arena = arena_new();
    struct text text = {0};
    if (arena) text_add(&text, config_key_program(arena, kernel->ir));
    if (arena) arena_free(arena);
    return text_take(&text);
}
