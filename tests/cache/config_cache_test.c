// SPDX-License-Identifier: Apache-2.0
// Best configs on disk: what is stored comes back under exactly its key, whatever else lies in its place is a miss with
// one warning and is replaced, settings are obeyed, and a folder that can't be used costs a warning.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "place.h"

static void test_round_trip(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    struct stat about;
    place_new(tap, &place);
    CHECK(tap, !place_find(&place, &entry));
    CHECK(tap, place_store(&place, 1, 0.25));
    place_again(&place);
    CHECK(tap, place_find(&place, &entry) && entry.milliseconds == 0.25 && same_config(&place, entry.config, place_config(&place, 1)));
    CHECK(tap, stat(place_entry(&place), &about) == 0 && (about.st_mode & 0777) == 0600);
    CHECK(tap, stat(arena_printf(tap->arena, "%s/configs", place.folder), &about) == 0 && (about.st_mode & 0777) == 0700);
    CHECK(tap, place_store(&place, 2, 0.125) && place_find(&place, &entry));
    CHECK(tap, entry.milliseconds == 0.125 && same_config(&place, entry.config, place_config(&place, 2)));
    place.key = place_key(&place, &plain_device, true);
    CHECK(tap, !place_find(&place, &entry));
    CHECK_NUMBER(tap, place.session.warning_count, 0);
    place_free(&place);
}

// What one search found is taken by another that wants no more; a weaker search replaces it only by what is faster, and
// then it still counts as found by the stronger.
static void test_efforts(struct tap *tap)
{
    static const struct config_search quick = {EFFORT_QUICK, 15, 40, false}, full = {EFFORT_FULL, 60, 100, false},
                                      counted = {EFFORT_FULL, 0, 50, false}, any = {0}, whole = {EFFORT_QUICK, 3, 10, true};
    CHECK(tap, config_search_suffices(&full, &quick) && !config_search_suffices(&quick, &full) && config_search_suffices(&quick, &quick));
    CHECK(tap, config_search_suffices(&full, &counted) && !config_search_suffices(&quick, &counted));
    CHECK(tap, config_search_suffices(&quick, &any) && config_search_suffices(&whole, &full) && config_search_suffices(&whole, &counted));
    struct place place;
    struct config_entry entry;
    place_new(tap, &place);
#define FOUND(number, milliseconds, search) \
    CHECK(tap, config_cache_store(tap->arena, &place.session, place.bound.kernel, &place.key, \
                                  &(struct config_found){place_config(&place, number), milliseconds, search}))
#define KNOWN(wanted) config_cache_find(tap->arena, &place.session, place.bound.kernel, &place.key, &(wanted), &entry)
    FOUND(1, 2, quick);
    CHECK(tap, KNOWN(any) && KNOWN(quick) && !KNOWN(full) && entry.search.effort == EFFORT_QUICK && entry.search.configs == 40);
    CHECK(tap, strstr(config_cache_miss(tap->arena, &place.session, &place.key, &full).reason,
                      "effort: a search of full, 60 s, 100 configs is wanted, the entry has one of quick, 15 s, 40 configs"));
    FOUND(2, 1, full);
    CHECK(tap, KNOWN(full) && same_config(&place, entry.config, place_config(&place, 2)));
    FOUND(3, 1.5, quick);   // weaker and slower
    CHECK(tap, KNOWN(full) && entry.milliseconds == 1 && same_config(&place, entry.config, place_config(&place, 2)));
    FOUND(4, 0.5, quick);   // weaker and faster
    CHECK(tap, KNOWN(full) && entry.milliseconds == 0.5 && same_config(&place, entry.config, place_config(&place, 4)));
    FOUND(5, 0.75, full);   // as strong: the newest counts
    CHECK(tap, KNOWN(full) && entry.milliseconds == 0.75);
    place.options.force = 1;
    place_again(&place);
    FOUND(6, 3, quick);     // only written
    place.options.force = 0;
    place_again(&place);
    CHECK(tap, KNOWN(quick) && !KNOWN(full) && entry.milliseconds == 3);
    place_free(&place);
}

static void test_failures(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    place_new(tap, &place);
    CHECK(tap, !place_store(&place, 1, INFINITY) && !place_store(&place, 1, NAN) && !place_store(&place, 1, 0) && !place_store(&place, 1, -1));
    CHECK(tap, !place_find(&place, &entry));
    place_free(&place);
}

// Each file, cut at each byte or with a bit turned, is a miss; and storing mends it.
static void test_damage(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    struct stat about;
    place_new(tap, &place);
    CHECK(tap, place_store(&place, 1, 1) && stat(place_entry(&place), &about) == 0);
    int file = open(place_entry(&place), O_RDWR);
    for (off_t at = 0; at < about.st_size && tap->ok; at++) {
        char byte = 0, changed;
        CHECK(tap, pread(file, &byte, 1, at) == 1);
        changed = (char)(byte ^ (1 << at % 8));
        CHECK(tap, pwrite(file, &changed, 1, at) == 1 && !place_find(&place, &entry));
        CHECK(tap, pwrite(file, &byte, 1, at) == 1);
    }
    CHECK(tap, place_find(&place, &entry));
    for (off_t length = about.st_size - 1; length >= 0 && tap->ok; length--) {
        CHECK(tap, ftruncate(file, length) == 0);
        place_again(&place);
        CHECK(tap, !place_find(&place, &entry));
        CHECK(tap, place.session.warning_count == 1 && strcmp(place.session.warnings[0].code, "cache.entry") == 0);
    }
    close(file);
    CHECK(tap, place_store(&place, 3, 1) && place_find(&place, &entry) && same_config(&place, entry.config, place_config(&place, 3)));
    place_free(&place);
}

// An entry that is whole but says something else: of another format, of a kernel with other axes.
static void test_foreign(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    static const char *const payloads[] = {"", "{}", "[1]", "null", "{\"format\": 2}", "not JSON"};
    place_new(tap, &place);
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        place_again(&place);
        struct cache cache = cache_open_place(tap->arena, &place.session, CACHE_CONFIGS);
        CHECK(tap, cache_store(&cache, &place.key.hash, payloads[i], strlen(payloads[i])));
        cache_close(&cache);
        CHECK(tap, !place_find(&place, &entry) && place.session.warning_count == 1);
    }
    struct config_entry other = {.key = place.key, .milliseconds = 1, .search = {EFFORT_FULL, 60, 9, false},
                                 .config_text = "{\"format\": 1, \"axes\": {\"nonsense\": {\"block\": 2}}}"};
    struct text payload = {0};
    config_entry_print(&payload, &other);
    place_again(&place);
    struct cache cache = cache_open_place(tap->arena, &place.session, CACHE_CONFIGS);
    CHECK(tap, cache_store(&cache, &place.key.hash, payload.data, payload.length));
    cache_close(&cache);
    CHECK(tap, !place_find(&place, &entry) && place.session.warning_count == 1 && strstr(place.session.warnings[0].text, "nonsense"));
    CHECK(tap, place_store(&place, 1, 1) && place_find(&place, &entry));
    text_free(&payload);
    place_free(&place);
}

static void test_others_may_write(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    place_new(tap, &place);
    CHECK(tap, place_store(&place, 1, 1));
    CHECK(tap, chmod(place_entry(&place), 0620) == 0 && !place_find(&place, &entry));
    CHECK(tap, chmod(place_entry(&place), 0602) == 0 && !place_find(&place, &entry));
    CHECK(tap, place_store(&place, 2, 1) && place_find(&place, &entry));
    if (geteuid() == 0) {
        CHECK(tap, chown(place_entry(&place), 12345, 12345) == 0 && !place_find(&place, &entry));
        CHECK(tap, place_store(&place, 2, 1) && place_find(&place, &entry));
    }
    place_again(&place);
    const char *configs = arena_printf(tap->arena, "%s/configs", place.folder);
    CHECK(tap, chmod(configs, 0730) == 0 && !place_find(&place, &entry) && !place_store(&place, 1, 1));
    CHECK(tap, place.session.warning_count == 1 && strstr(place.session.warnings[0].text, "another user"));
    CHECK(tap, chmod(configs, 0700) == 0 && place_find(&place, &entry));
    place_free(&place);
}

// ---------------------------------------------------------------------------------------------- settings

static void test_skip_and_force(struct tap *tap)
{
    struct place place;
    struct config_entry entry, similar[2];
    place_new(tap, &place);
    place.options.skip = 1;
    place_again(&place);
    CHECK(tap, !place_store(&place, 1, 1));
    CHECK(tap, access(arena_printf(tap->arena, "%s/configs", place.folder), F_OK) != 0);
    place.options.skip = 0;
    place_again(&place);
    CHECK(tap, !place_find(&place, &entry) && place_store(&place, 1, 1));
    place.options.skip = 1;
    place_again(&place);
    CHECK(tap, !place_find(&place, &entry) && config_cache_similar(tap->arena, &place.session, place.bound.kernel, &place.key, 2, similar) == 0);
    CHECK_NUMBER(tap, place.session.warning_count, 0);
    place.options.skip = 0;
    place.options.force = 1;
    place_again(&place);
    CHECK(tap, !place_find(&place, &entry) && place_store(&place, 2, 1));
    place.options.force = 0;
    place_again(&place);
    CHECK(tap, place_find(&place, &entry) && same_config(&place, entry.config, place_config(&place, 2)));
    place_free(&place);
}

struct setting {
    const char *name, *value;  // a variable
    const char *refusal;       // a piece of the message; NULL: it is fine
};

static void test_variables(struct tap *tap)
{
    static const struct setting settings[] = {
        {"TILEC_AUTOTUNE_CACHE", "strict", NULL}, {"TILEC_AUTOTUNE_CACHE", "remote", "no remote cache is named"},
        {"TILEC_AUTOTUNE_CACHE", "shared", "there are local, strict, remote and aot"}, {"TILEC_REMOTE_CACHE", "none", NULL},
        {"TILEC_FORCE_AUTOTUNE", "1", NULL}, {"TILEC_FORCE_AUTOTUNE", "maybe", "TILEC_FORCE_AUTOTUNE: 'maybe' is not 1 or 0"},
        {"TILEC_SKIP_CACHE", "no", NULL}, {"TILEC_SKIP_CACHE", "2", "TILEC_SKIP_CACHE"}, {"TILEC_ASSERT_CACHE_HIT", "", NULL},
        {"TILEC_ASSERT_CACHE_HIT", "-", "TILEC_ASSERT_CACHE_HIT"}, {"TILEC_AUTOTUNE_EFFORT", "quick", NULL},
        {"TILEC_AUTOTUNE_EFFORT", "fast", "there are none, quick and full"}, {"TILEC_AUTOTUNE_BUDGET_SECONDS", "1.5", NULL},
        {"TILEC_AUTOTUNE_BUDGET_SECONDS", "0", "a number of seconds above 0"}, {"TILEC_AUTOTUNE_BUDGET_SECONDS", "1s", "seconds"},
        {"TILEC_AUTOTUNE_BUDGET_SECONDS", "inf", "seconds"}, {"TILEC_CACHE_SIZE", "512M", NULL}, {"TILEC_CACHE_SIZE", "0", NULL},
        {"TILEC_CACHE_SIZE", "2GB", "a size"}, {"TILEC_CACHE_SIZE", "-1", "a size"}, {"TILEC_CACHE_SIZE", "99999999999T", "a size"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct cache_session session;
        setenv(settings[i].name, settings[i].value, 1);
        struct status status = cache_session_begin(tap->arena, NULL, &session);
        unsetenv(settings[i].name);
        CHECK(tap, status.ok == !settings[i].refusal);
        if (settings[i].refusal) CHECK(tap, !status.ok && strcmp(status.code, "usage.cache") == 0 && strstr(status.reason, settings[i].refusal));
    }
}

// Options win over variables; a child process gets the same from cache_session_environment.
static void test_options(struct tap *tap)
{
    struct cache_session session, child;
    const struct tilec_cache_options options = {.folder = "/a/folder", .kind = "local", .effort = "none", .budget = "7"};
    setenv("TILEC_CACHE_DIR", "/another", 1);
    setenv("TILEC_AUTOTUNE_CACHE", "strict", 1);
    setenv("TILEC_AUTOTUNE_EFFORT", "full", 1);
    setenv("TILEC_AUTOTUNE_BUDGET_SECONDS", "9", 1);
    CHECK(tap, cache_session_begin(tap->arena, NULL, &session).ok);
    CHECK(tap, session.settings.kind == CACHE_STRICT && session.settings.effort == EFFORT_FULL && session.settings.budget_seconds == 9);
    CHECK_TEXT(tap, session.settings.folder, "/another");
    CHECK(tap, !session.settings.remote);
    CHECK(tap, cache_session_begin(tap->arena, &options, &session).ok);
    CHECK(tap, session.settings.kind == CACHE_LOCAL && session.settings.effort == EFFORT_NONE && session.settings.budget_seconds == 7);
    CHECK_TEXT(tap, session.settings.folder, "/a/folder");
    for (const char *const *item = cache_session_environment(tap->arena, &session, false); *item; item++) {
        size_t length = strcspn(*item, "=");
        setenv(arena_copy(tap->arena, *item, length), *item + length + 1, 1);
    }
    CHECK(tap, cache_session_begin(tap->arena, NULL, &child).ok);
    CHECK_TEXT(tap, child.settings.folder, "/a/folder");
    CHECK(tap, child.settings.kind == CACHE_LOCAL && child.settings.effort == EFFORT_NONE && child.settings.limit_bytes == session.settings.limit_bytes);
    static const char *const names[] = {"TILEC_CACHE_DIR", "TILEC_AUTOTUNE_CACHE", "TILEC_AUTOTUNE_EFFORT", "TILEC_AUTOTUNE_BUDGET_SECONDS",
                                        "TILEC_SKIP_CACHE", "TILEC_FORCE_AUTOTUNE", "TILEC_ASSERT_CACHE_HIT", "TILEC_CACHE_SIZE", "TILEC_REMOTE_CACHE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    struct tilec_cache_options both = {.skip = 1, .assert_hit = 1};
    CHECK(tap, !cache_session_begin(tap->arena, &both, &session).ok);
    both = (struct tilec_cache_options){.force = 1, .assert_hit = 1};
    CHECK(tap, !cache_session_begin(tap->arena, &both, &session).ok);
}

static void test_folders(struct tap *tap)
{
    struct cache_session session;
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/of", 1);
    CHECK(tap, cache_session_begin(tap->arena, NULL, &session).ok);
    CHECK_TEXT(tap, session.settings.folder, "/xdg/tilec");
    setenv("XDG_CACHE_HOME", "relative", 1);  // to be ignored, says its specification
    CHECK(tap, cache_session_begin(tap->arena, NULL, &session).ok);
    CHECK_TEXT(tap, session.settings.folder, "/home/of/.cache/tilec");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK(tap, cache_session_begin(tap->arena, NULL, &session).ok && !session.settings.folder);
}

// ---------------------------------------------------------------------------------------------- folders that don't serve

static void test_no_folder(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    place_new(tap, &place);
    place.options.folder = "/proc/nowhere";  // as a home that may only be read
    place_again(&place);
    for (int i = 0; i < 3; i++) CHECK(tap, !place_find(&place, &entry) && !place_store(&place, 1, 1));
    CHECK(tap, place.session.warning_count == 1 && strcmp(place.session.warnings[0].code, "cache.folder") == 0);
    place_free(&place);
}

// A limit on the size of files fails as a full disk does: in the middle of a write.
static void test_full_disk(struct tap *tap)
{
    struct place place;
    struct config_entry entry;
    place_new(tap, &place);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {100, 100};
        signal(SIGXFSZ, SIG_IGN);
        bool ok = setrlimit(RLIMIT_FSIZE, &limit) == 0;
        for (int i = 0; i < 3; i++) ok = ok && !place_store(&place, 1, 1) && !place_find(&place, &entry);
        ok = ok && place.session.warning_count == 1 && strcmp(place.session.warnings[0].code, "cache.write") == 0;
        _exit(!ok);
    }
    int state = 0;
    CHECK(tap, waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0);
    DIR *folder = opendir(arena_printf(tap->arena, "%s/configs", place.folder));
    int left = 0;
    for (struct dirent *item = readdir(folder); item; item = readdir(folder)) left += item->d_name[0] != '.';
    closedir(folder);
    CHECK_NUMBER(tap, left, 0);
    CHECK(tap, place_store(&place, 1, 1) && place_find(&place, &entry));
    place_free(&place);
}

int main(void)
{
    static const struct tap_test tests[] = {
        {"a config comes back under exactly its key", test_round_trip},
        {"what a search of less effort found", test_efforts},
        {"what has no time isn't stored", test_failures},
        {"an entry cut or changed at any byte is a miss, and is replaced", test_damage},
        {"an entry that says something else is a miss, and is replaced", test_foreign},
        {"what others own or may write is a miss", test_others_may_write},
        {"skip neither reads nor writes, force only writes", test_skip_and_force},
        {"malformed variables are refused by name", test_variables},
        {"options win over variables, and children get both", test_options},
        {"the folder follows XDG", test_folders},
        {"a folder that can't be made is one warning", test_no_folder},
        {"a full disk is one warning and leaves nothing", test_full_disk},
    };
    return tap_run(tests, sizeof tests / sizeof *tests);
}
