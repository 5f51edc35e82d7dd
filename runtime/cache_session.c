// SPDX-License-Identifier: Apache-2.0
// In: options and the environment. Out: how the caches are to be used, and, as they are used, counts and warnings.
//
// An option overrides its variable; what is malformed is an error that names the one or the other. Warnings are kept
// once of each kind, since a folder that can't be written fails for every entry alike.
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/config_cache.h"
#include "runtime/remote.h"
#include "runtime/runtime.h"

static const int64_t usual_limit = (int64_t)2 << 30;

// ---------------------------------------------------------------------------------------------- reading

struct reader {
    struct arena *arena;
    struct status status;
};

static void refuse(struct reader *reader, const char *what, const char *text, const char *wanted)
{
    if (reader->status.ok) reader->status = status_failed(reader->arena, "usage.cache", "%s: '%s' is not %s", what, text, wanted);
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

// `option` is the value of `flag`, or NULL: then the variable's.
static const char *choose(const char *option, const char *flag, const char *name, const char **what)
{
    *what = option ? flag : name;
    return option ? option : variable(name);
}

static bool read_switch(struct reader *reader, int option, const char *name)
{
    static const char *const on[] = {"1", "true", "yes", "on"}, *const off[] = {"0", "false", "no", "off"};
    const char *text = variable(name);
    if (option || !text) return option != 0;
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        if (strcmp(text, on[i]) == 0) return true;
        if (strcmp(text, off[i]) == 0) return false;
    }
    refuse(reader, name, text, "1 or 0");
    return false;
}

static const char *cache_kind_name(enum cache_kind kind)
{
    static const char *const names[] = {[CACHE_LOCAL] = "local", [CACHE_STRICT] = "strict", [CACHE_REMOTE] = "remote", [CACHE_AOT] = "aot"};
    return names[kind];
}

static enum cache_kind read_kind(struct reader *reader, const char *option)
{
    const char *what, *text = choose(option, "--autotune-cache", "TILEC_AUTOTUNE_CACHE", &what);
    for (int kind = CACHE_LOCAL; text && kind <= CACHE_AOT; kind++)
        if (strcmp(text, cache_kind_name(kind)) == 0) return kind;
    if (text) refuse(reader, what, text, "a kind of cache; there are local, strict, remote and aot");
    return CACHE_LOCAL;
}

static enum effort read_effort(struct reader *reader, const char *option)
{
    const char *what, *text = choose(option, "--effort", "TILEC_AUTOTUNE_EFFORT", &what);
    if (!text) return EFFORT_UNSET;
    if (strcmp(text, "none") == 0) return EFFORT_NONE;
    if (strcmp(text, "quick") == 0) return EFFORT_QUICK;
    if (strcmp(text, "full") != 0) refuse(reader, what, text, "an effort; there are none, quick and full");
    return EFFORT_FULL;
}

const char *effort_name(enum effort effort)
{
    static const char *const names[] = {"", "none", "quick", "full"};
    return names[effort];
}

static double read_budget(struct reader *reader, const char *option)
{
    double seconds = 0;
    const char *what, *text = choose(option, "--budget", "TILEC_AUTOTUNE_BUDGET_SECONDS", &what);
    if (!text) return 0;
    size_t length = strlen(text);
    bool number = text_parse_double(text, length, &seconds) == length && isfinite(seconds) && seconds > 0;
    if (!number) refuse(reader, what, text, "a number of seconds above 0");
    return number ? seconds : 0;
}

// "512M", "2G", or bytes; 0: no limit.
static int64_t read_limit(struct reader *reader)
{
    const char *text = variable("TILEC_CACHE_SIZE");
    if (!text) return usual_limit;
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : *end == 'T' ? 40 : 0;
    bool ok = *text >= '0' && *text <= '9' && !errno && !end[shift ? 1 : 0] && number <= (unsigned long long)(INT64_MAX >> shift);
    if (!ok) refuse(reader, "TILEC_CACHE_SIZE", text, "a size; write 500M or 2G");
    return ok && number ? (int64_t)(number << shift) : ok ? INT64_MAX : usual_limit;
}

static const char *read_folder(struct arena *arena, const char *option)
{
    const char *what, *chosen = choose(option, "--cache-dir", "TILEC_CACHE_DIR", &what);
    const char *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    if (chosen) return arena_copy(arena, chosen, strlen(chosen));
    if (cache && *cache == '/') return arena_printf(arena, "%s/tilec", cache);
    return home ? arena_printf(arena, "%s/.cache/tilec", home) : NULL;
}

static const char *read_heuristics(struct arena *arena, const char *option)
{
    const char *what, *chosen = choose(option, "--heuristic-dir", "TILEC_HEURISTIC_DIR", &what);
    return chosen ? arena_copy(arena, chosen, strlen(chosen)) : NULL;
}

static const struct remote_address *read_remote(struct reader *reader, const char *option)
{
    const struct remote_address *address = NULL;
    const char *what, *chosen = choose(option, "--remote-cache", "TILEC_REMOTE_CACHE", &what);
    struct status status = chosen ? remote_parse(reader->arena, what, chosen, &address) : STATUS_OK;
    if (reader->status.ok) reader->status = status;
    return address;
}

// What can't be had together.
static struct status check_settings(struct arena *arena, const struct cache_settings *settings)
{
    const char *other = settings->skip ? "--skip-cache (TILEC_SKIP_CACHE)" : settings->force ? "--force-autotune (TILEC_FORCE_AUTOTUNE)" : NULL;
    if (settings->kind == CACHE_REMOTE && !settings->remote)
        return status_failed(arena, "usage.cache", "the kind of cache is remote (--autotune-cache, TILEC_AUTOTUNE_CACHE), and no remote cache is named; "
                             "set --remote-cache or TILEC_REMOTE_CACHE, as redis://HOST:PORT/DATABASE or https://HOST/PATH");
    if (!settings->assert_hit || !other) return STATUS_OK;
    return status_failed(arena, "usage.cache", "--assert-cache-hit (TILEC_ASSERT_CACHE_HIT) and %s exclude each other: there is no hit "
                         "where nothing is read", other);
}

struct status cache_session_begin(struct arena *arena, const struct tilec_cache_options *options, struct cache_session *session)
{
    static const struct tilec_cache_options none;
    struct reader reader = {arena, STATUS_OK};
    if (!options) options = &none;
    *session = (struct cache_session){.arena = arena};
    session->settings = (struct cache_settings){
        .folder = read_folder(arena, options->folder),
        .kind = read_kind(&reader, options->kind),
        .skip = read_switch(&reader, options->skip, "TILEC_SKIP_CACHE"),
        .force = read_switch(&reader, options->force, "TILEC_FORCE_AUTOTUNE"),
        .assert_hit = read_switch(&reader, options->assert_hit, "TILEC_ASSERT_CACHE_HIT"),
        .effort = read_effort(&reader, options->effort),
        .budget_seconds = read_budget(&reader, options->budget),
        .limit_bytes = read_limit(&reader),
        .heuristics = read_heuristics(arena, options->heuristics),
        .remote = read_remote(&reader, options->remote),
    };
    return reader.status.ok ? check_settings(arena, &session->settings) : reader.status;
}

// ---------------------------------------------------------------------------------------------- searches

struct config_search cache_search(const struct cache_settings *settings, enum effort unset)
{
    static const double seconds[] = {[EFFORT_UNSET] = 0, [EFFORT_NONE] = 0, [EFFORT_QUICK] = 15, [EFFORT_FULL] = 60};
    enum effort effort = settings->effort == EFFORT_UNSET ? unset : settings->effort;
    struct config_search search = {.effort = effort, .seconds = seconds[effort]};
    if (settings->budget_seconds > 0 && effort > EFFORT_NONE) search.seconds = settings->budget_seconds;
    return search;
}

bool config_search_suffices(const struct config_search *found, const struct config_search *wanted)
{
    if (found->whole || (wanted->seconds <= 0 && wanted->configs <= 0)) return true;
    return (wanted->seconds > 0 && found->seconds >= wanted->seconds) || (wanted->configs > 0 && found->configs >= wanted->configs);
}

struct cache_session *cache_session_or(struct arena *arena, struct cache_session *session, struct cache_session *own)
{
    if (session) return session;
    cache_session_begin(arena, NULL, own);  // what is malformed is told by those who have a session
    return own;
}

// ---------------------------------------------------------------------------------------------- telling

void cache_warn(struct cache_session *session, const char *code, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    if (!session || session->warning_count == CACHE_WARNINGS) return;
    for (int i = 0; i < session->warning_count; i++)
        if (strcmp(session->warnings[i].code, code) == 0) return;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    session->warnings[session->warning_count].code = code;
    session->warnings[session->warning_count++].text = arena_copy(session->arena, text, (size_t)length);
    free(text);
}

void cache_session_report(const struct cache_session *session, tilec_report *report)
{
    for (int i = 0; i < session->warning_count; i++)
        report_warning(report, session->warnings[i].code, session->warnings[i].text);
}

static const char *remote_of_children(struct arena *arena, const struct cache_settings *settings, bool shares)
{
    if (!settings->remote || settings->skip || !remote_is_well(settings->remote)) return "none";
    const char *text = settings->remote->text;
    return shares ? text : arena_printf(arena, "%s%sreadonly", text, strchr(text, '?') ? "&" : "?");
}

const char *const *cache_session_environment(struct arena *arena, const struct cache_session *session, bool shares)
{
    const struct cache_settings *settings = &session->settings;
    const char **list = ARENA_ARRAY(arena, const char *, 11);
    int count = 0;
    if (settings->folder) list[count++] = arena_printf(arena, "TILEC_CACHE_DIR=%s", settings->folder);
    list[count++] = arena_printf(arena, "TILEC_AUTOTUNE_CACHE=%s", cache_kind_name(settings->kind == CACHE_REMOTE ? CACHE_LOCAL : settings->kind));
    list[count++] = arena_printf(arena, "TILEC_REMOTE_CACHE=%s", remote_of_children(arena, settings, shares));
    list[count++] = settings->skip ? "TILEC_SKIP_CACHE=1" : "TILEC_SKIP_CACHE=0";
    list[count++] = settings->force ? "TILEC_FORCE_AUTOTUNE=1" : "TILEC_FORCE_AUTOTUNE=0";
    list[count++] = settings->assert_hit ? "TILEC_ASSERT_CACHE_HIT=1" : "TILEC_ASSERT_CACHE_HIT=0";
    list[count++] = arena_printf(arena, "TILEC_AUTOTUNE_EFFORT=%s", effort_name(settings->effort));
    list[count++] = arena_printf(arena, "TILEC_CACHE_SIZE=%lld", settings->limit_bytes == INT64_MAX ? 0 : (long long)settings->limit_bytes);
    list[count] = NULL;
    return list;
}
