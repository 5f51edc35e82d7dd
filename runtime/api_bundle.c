// SPDX-License-Identifier: Apache-2.0
// tilec.h: bundles. In: a kernel, architectures, and a config or a heuristic. Out: a header and a source.
#include <string.h>

#include "runtime/bundle.h"
#include "runtime/given.h"

static bool is_identifier(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", digits[] = "0123456789";
    if (!*name || !strchr(letters, *name)) return false;
    for (; *name; name++)
        if (!strchr(letters, *name) && !strchr(digits, *name)) return false;
    return true;
}

static struct status read_heuristic(struct bundle *bundle, const char *path, struct heuristic **heuristic)
{
    const char *reason = NULL;
    const struct source *source = source_read(bundle->arena, path, &reason);
    if (!source) return status_failed(bundle->arena, "usage.file", "can't read the heuristic %s: %s", path, reason);
    struct status status = heuristic_parse(bundle->arena, bundle->kernel, source->text, source->length, heuristic);
    if (status.ok) status = heuristic_check_program(bundle->arena, *heuristic, bundle->kernel);
    if (!status.ok) return status_failed(bundle->arena, "config.heuristic", "%s: %s", path, status.reason);
    heuristic_fit(bundle->arena, bundle->kernel, *heuristic);
    return STATUS_OK;
}

// What isn't spelled like an architecture is refused when the bundle is built.
static const char *newest_of(int count, const char *const *architectures)
{
    const char *newest = architectures[0];
    int most = 0;
    for (int i = 0; i < count; i++) {
        struct target target;
        if (target_parse(architectures[i], &target) && target.sm > most) most = target.sm, newest = architectures[i];
    }
    return newest;
}

// A config, a heuristic's file, the heuristic that is found for the newest of the architectures, or the default.
static struct status choose_configs(struct bundle *bundle, const struct tilec_bundle_options *options, tilec_report *report)
{
    struct heuristic *heuristic = NULL;
    struct status status = STATUS_OK;
    bundle->configs = ARENA_ARRAY(bundle->arena, struct config *, 1);
    bundle->config_count = 1;
    if (options->config) return bundle->configs[0] = options->config->config, STATUS_OK;
    if (options->heuristic) status = read_heuristic(bundle, options->heuristic, &heuristic);
    if (!status.ok) return status;
    if (!options->heuristic) {
        const char *newest = newest_of(options->architecture_count, options->architectures);
        struct heuristic_found found = heuristic_find(bundle->arena, bundle->kernel, bundle->session->settings.heuristics, newest);
        if (found.warning_count) report_warning(report, found.warnings[0].code, found.warnings[0].text);
        heuristic = found.heuristic;
    }
    bundle->heuristic = heuristic;
    if (heuristic) bundle->configs = heuristic->configs, bundle->config_count = heuristic->config_count;
    else bundle->configs[0] = config_default(bundle->arena, bundle->kernel);
    return STATUS_OK;
}

static void report_replaced(const struct bundle *bundle, tilec_report *report)
{
    for (int a = 0; a < bundle->architecture_count; a++)
        for (int c = 0; c < bundle->config_count; c++)
            if (bundle->architectures[a].replaced[c])
                report_warning(report, "bundle.config", arena_printf(bundle->arena, "%s has its default in place of config %d: %s",
                                                                     bundle->architectures[a].name, c, bundle->architectures[a].replaced[c]));
}

static struct status make(struct bundle *bundle, const struct tilec_bundle_options *options, tilec_report *report, struct text *header, struct text *source)
{
    if (!is_identifier(bundle->name)) return status_failed(bundle->arena, "usage.name", "'%s' is no name in C", bundle->name);
    if (!options->architecture_count) return status_failed(bundle->arena, "usage.architecture", "a bundle wants at least one architecture");
    struct status status = choose_configs(bundle, options, report);
    if (status.ok) status = bundle_build(bundle, options->architecture_count, options->architectures);
    if (status.ok) report_replaced(bundle, report);
    if (status.ok) status = bundle_write_header(bundle, header);
    return status.ok ? bundle_write_source(bundle, source) : status;
}

tilec_result tilec_bundle(tilec_kernel *kernel, const struct tilec_bundle_options *options, tilec_report *report, tilec_text *header,
                          tilec_text *source)
{
    if (header) *header = (tilec_text){0};
    if (source) *source = (tilec_text){0};
    WANT(report, kernel, options, header, source);
    tilec_result given = GIVEN_LISTS(report, {"architectures", options->architecture_count, options->architectures, false});
    if (given != TILEC_OK) return given;
    struct text texts[2] = {{0}, {0}};
    struct cache_session session;
    struct arena *arena = arena_new();
    if (!arena) return report_failed(report, "internal.memory", NULL, "out of memory");
    struct bundle bundle = {.arena = arena, .kernel = kernel->ir, .name = options->name ? options->name : kernel->ir->name, .session = &session};
    struct status status = cache_session_begin(arena, &options->cache, &session);
    if (status.ok) status = make(&bundle, options, report, &texts[0], &texts[1]);
    tilec_result result = report_status(report, &status);
    if (result == TILEC_OK) cache_session_report(&session, report);
    if (result == TILEC_OK) *header = text_take(&texts[0]), *source = text_take(&texts[1]);
    text_free(&texts[0]);
    text_free(&texts[1]);
    arena_free(arena);
    return result;
}
