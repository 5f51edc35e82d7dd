// SPDX-License-Identifier: Apache-2.0
// In: C text. Out: a loaded shared object, from the cache or fresh from the machine's own C compiler.
//
// The compiler is started with posix_spawn and an argument list, never through a shell. What the object depends on is
// in its key: text, the compiler's files, flags, the features of this CPU. If the full set of flags fails, OpenMP and
// then -march=native are left out, so a machine without libgomp runs serially.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__
#include <cpuid.h>
#endif

#include "runtime/config_cache.h"
#include "runtime/runtime.h"

extern char **environ;

enum { WORDS_LIMIT = 16, ARGUMENTS_LIMIT = 48, LOG_LIMIT = 4000 };

// -ffp-contract=off: a result must not depend on whether the machine has a fused multiply-add; `fma` is in the language
// for those who want one. -fwrapv: integers wrap. No -ffast-math: NaN and infinities mean what they mean.
static const char *const base_flags[] = {
    "-x", "c", "-std=gnu17", "-w", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
    "-fno-strict-aliasing", "-fPIC", "-shared",
};
#if defined __aarch64__
static const char *const extra_flags[] = {"-fopenmp", "-mcpu=native"};
#else
static const char *const extra_flags[] = {"-fopenmp", "-march=native"};
#endif
enum { BASE_COUNT = sizeof base_flags / sizeof *base_flags, EXTRA_COUNT = sizeof extra_flags / sizeof *extra_flags };

struct compiler {
    int count;
    const char *words[WORDS_LIMIT];  // the program by full path, then the words behind it in $CC
    const char *identity;            // words, and path, size and time of each file among them
};

struct cpu_object {
    void *handle;
};

// ---------------------------------------------------------------------------------------------- which compiler

static bool is_program(const char *path)
{
    struct stat about;
    return access(path, X_OK) == 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static const char *find_program(struct arena *arena, const char *name)
{
    if (strchr(name, '/')) return is_program(name) ? name : NULL;
    const char *folders = getenv("PATH");
    if (!folders) folders = "/usr/local/bin:/usr/bin:/bin";
    while (*folders) {
        size_t length = strcspn(folders, ":");
        const char *path = arena_printf(arena, "%.*s/%s", (int)length, folders, name);
        if (length && is_program(path)) return path;
        folders += length + (folders[length] == ':');
    }
    return NULL;
}

// "ccache gcc" is two words; the identity has the files of both.
static const char *identify(struct arena *arena, const struct compiler *compiler)
{
    const char *identity = "";
    for (int i = 0; i < compiler->count; i++) {
        const char *path = i == 0 ? compiler->words[0] : find_program(arena, compiler->words[i]);
        char *real = path ? realpath(path, NULL) : NULL;
        struct stat about = {0};
        if (real && stat(real, &about) != 0) about = (struct stat){0};
        identity = arena_printf(arena, "%s%s\n%s %lld %lld.%09ld\n", identity, compiler->words[i], real ? real : "-",
                                (long long)about.st_size, (long long)about.st_mtim.tv_sec, (long)about.st_mtim.tv_nsec);
        free(real);
    }
    return identity;
}

static bool try_compiler(struct arena *arena, const char *command, struct compiler *compiler)
{
    *compiler = (struct compiler){0};
    if (!command) return false;
    for (const char *at = command + strspn(command, " \t"); *at && compiler->count < WORDS_LIMIT;) {
        size_t length = strcspn(at, " \t");
        compiler->words[compiler->count++] = arena_copy(arena, at, length);
        at += length;
        at += strspn(at, " \t");
    }
    if (compiler->count == 0) return false;
    compiler->words[0] = find_program(arena, compiler->words[0]);
    if (!compiler->words[0]) return false;
    compiler->identity = identify(arena, compiler);
    return true;
}

static bool find_compiler(struct arena *arena, struct compiler *compiler)
{
    const char *const commands[] = {getenv("CC"), "cc", "gcc", "clang"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (try_compiler(arena, commands[i], compiler)) return true;
    return false;
}

const char *cpu_compiler(struct arena *arena)
{
    struct compiler compiler;
    if (!find_compiler(arena, &compiler)) return NULL;
    const char *line = compiler.words[0];
    for (int i = 1; i < compiler.count; i++) line = arena_printf(arena, "%s %s", line, compiler.words[i]);
    return line;
}

const char *cpu_compiler_passed_over(struct arena *arena)
{
    struct compiler compiler;
    const char *wanted = getenv("CC");
    return wanted && *wanted && !try_compiler(arena, wanted, &compiler) ? wanted : NULL;
}

const char *cpu_compiler_identity(struct arena *arena)
{
    struct compiler compiler;
    return find_compiler(arena, &compiler) ? compiler.identity : NULL;
}

// ---------------------------------------------------------------------------------------------- which CPU

double seconds_now(void)
{
    return 1e-3 * milliseconds_now();
}

double milliseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

// What -march=native looks at. Where it can't be asked, the kernel's own list of features stands for it.
const char *cpu_features(struct arena *arena)
{
    const char *features = arena_printf(arena, "%lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#if defined __x86_64__
    static const unsigned leaves[][2] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}, {0xd, 1}, {0x14, 0}, {0x19, 0}, {0x80000001, 0}, {0x80000008, 0}};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (!__get_cpuid_count(leaves[i][0], leaves[i][1], &a, &b, &c, &d)) continue;
        if (leaves[i][0] == 1) b = 0;                        // which core this is, not what it can do
        if (leaves[i][0] == 0xd) b = 0;                      // size of the state that is switched on now
        if (leaves[i][0] == 0x80000008) c = 0;               // count of cores
        features = arena_printf(arena, "%s %x:%x.%x.%x.%x", features, leaves[i][0], a, b, c, d);
    }
#endif
    return features;
}

// ---------------------------------------------------------------------------------------------- running it

static bool spawn(const char *const *arguments, const char *log, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);  // ignored in this process, perhaps; a compiler's driver expects the default
    sigaddset(&defaults, SIGXFSZ);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    union {  // posix_spawn doesn't write through argv; its type says it might
        const char *const *constant;
        char *const *plain;
    } list = {arguments};
    int error = posix_spawn(child, arguments[0], &actions, &attributes, list.plain, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

static bool run_program(const char *const *arguments, const char *log)
{
    pid_t child;
    int state = 0;
    if (!spawn(arguments, log, &child)) return false;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

// Compiles `in` to `out`. `left_out` of the extra flags are dropped.
static bool compile(const struct compiler *compiler, int left_out, const char *in, const char *out, const char *log)
{
    const char *arguments[ARGUMENTS_LIMIT];
    int count = 0;
    for (int i = 0; i < compiler->count; i++) arguments[count++] = compiler->words[i];
    for (int i = 0; i < BASE_COUNT; i++) arguments[count++] = base_flags[i];
    for (int i = left_out; i < EXTRA_COUNT; i++) arguments[count++] = extra_flags[i];
    arguments[count++] = "-o";
    arguments[count++] = out;
    arguments[count++] = in;
    arguments[count++] = "-lm";
    arguments[count] = NULL;
    return run_program(arguments, log);
}

// ---------------------------------------------------------------------------------------------- building

struct build {
    struct arena *arena;
    struct compiler compiler;
    struct cache cache;
    struct cache_session *session;
    const char *text;
    size_t length;
    const char *features, *builds;
    const char *folder, *source, *object, *log;  // of this build, private and short-lived
};

// The key of the object as built with `left_out` of the extra flags dropped.
static struct cache_key object_key(const struct build *build, int left_out)
{
    const char *flags = "";
    for (int i = 0; i < BASE_COUNT; i++) flags = arena_printf(build->arena, "%s %s", flags, base_flags[i]);
    for (int i = left_out; i < EXTRA_COUNT; i++) flags = arena_printf(build->arena, "%s %s", flags, extra_flags[i]);
    const struct cache_part parts[] = {
        {"tilec cpu object", 16},
        {build->text, build->length},
        {build->compiler.identity, strlen(build->compiler.identity)},
        {flags, strlen(flags)},
        {build->features, strlen(build->features)},
        {build->builds, strlen(build->builds)},
    };
    return cache_hash(parts, sizeof parts / sizeof *parts);
}

// The threads of the OpenMP runtime outlive the object that started them, and run the runtime's code: it must stay
// mapped when the object is closed. (libgomp doesn't see to that itself.)
static void keep_openmp(void *handle)
{
    Dl_info about;
    void *symbol = dlsym(handle, "omp_get_max_threads");
    if (symbol && dladdr(symbol, &about) && about.dli_fname) dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static struct status load(struct arena *arena, const char *path, struct cpu_object **object)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return status_failed(arena, "internal.load", "the object that was built can't be loaded: %s", dlerror());
    keep_openmp(handle);
    *object = malloc(sizeof **object);
    if (!*object) return dlclose(handle), status_failed(arena, "memory.object", "out of memory");
    (*object)->handle = handle;
    return STATUS_OK;
}

static struct status load_built(const struct build *build, struct cpu_object **object)
{
    struct status status = load(build->arena, build->object, object);
    if (status.ok || strcmp(status.code, "internal.load") != 0) return status;
    return status_failed(build->arena, "missing.compiler", "%s says that it has built the kernel, but what it left can't be loaded; let CC name "
                         "a C compiler, or install one: sudo apt-get install build-essential\n%s", build->compiler.words[0], status.reason);
}

static bool load_cached(const struct build *build, struct cpu_object **object)
{
    for (int left_out = 0; left_out <= EXTRA_COUNT; left_out++) {
        struct cache_key key = object_key(build, left_out);
        if (!cache_read(&build->cache, &key, NULL)) continue;
        if (load(build->arena, cache_entry_path(build->arena, &build->cache, &key), object).ok) return true;
    }
    return false;
}

static bool make_folder(struct build *build)
{
    const char *bases[] = {getenv("TMPDIR"), "/tmp"};
    char *folder = NULL;
    for (int i = 0; i < 2 && !folder; i++) {
        if (!bases[i] || !*bases[i]) continue;
        folder = arena_printf(build->arena, "%s/tilec-XXXXXX", bases[i]);
        folder = mkdtemp(folder);
    }
    if (!folder) return false;
    build->folder = folder;
    build->source = arena_printf(build->arena, "%s/kernel.c", folder);
    build->object = arena_printf(build->arena, "%s/kernel.so", folder);
    build->log = arena_printf(build->arena, "%s/log", folder);
    return true;
}

static void remove_folder(const struct build *build)
{
    unlink(build->source);
    unlink(build->object);
    unlink(build->log);
    rmdir(build->folder);
}

static const char *read_log(const struct build *build)
{
    const char *reason = NULL;
    const struct source *log = source_read(build->arena, build->log, &reason);
    if (!log) return "";
    return log->length > LOG_LIMIT ? arena_printf(build->arena, "%.*s …", LOG_LIMIT, log->text) : log->text;
}

// A compiler that can't build an empty object isn't installed whole: that is the machine's fault, not the text's.
static struct status explain_failure(struct build *build, const char *log)
{
    struct status empty = file_save(build->arena, build->source, "\n", 1);
    if (empty.ok && compile(&build->compiler, EXTRA_COUNT, build->source, build->object, build->log))
        return status_failed(build->arena, "internal.compiler", "%s refuses the emitted C:\n%s", build->compiler.words[0], log);
    return status_failed(build->arena, "missing.compiler", "%s can't build a shared object; install it whole: "
                         "sudo apt-get install build-essential\n%s", build->compiler.words[0], read_log(build));
}

// An interrupt waits until the build's folder is gone again; the compiler, which is in the same foreground group, gets
// it at once and ends.
static void hold_interrupts(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

static bool is_interrupted(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP));
}

// Tries the flags from the full set down. On success the object lies in the build's folder and perhaps in the cache.
static struct status build_fresh(struct build *build)
{
    struct status status = file_save(build->arena, build->source, build->text, build->length);
    const char *first_log = NULL;
    for (int left_out = 0; status.ok && left_out <= EXTRA_COUNT; left_out++) {
        if (!compile(&build->compiler, left_out, build->source, build->object, build->log)) {
            if (is_interrupted()) return status_failed(build->arena, "interrupted.build", "interrupted while %s was at work", build->compiler.words[0]);
            if (!first_log) first_log = read_log(build);
            continue;
        }
        const char *reason = NULL;
        const struct source *object = source_read(build->arena, build->object, &reason);
        struct cache_key key = object_key(build, left_out);
        if (object) cache_store(&build->cache, &key, object->text, object->length);
        return STATUS_OK;
    }
    return status.ok ? explain_failure(build, first_log) : status;
}

// Copies the object from the build's folder, or from the cache, to `path`.
static struct status keep(struct build *build, const char *from, const char *path)
{
    const char *reason = NULL;
    const struct source *object = source_read(build->arena, from, &reason);
    if (!object) return status_failed(build->arena, "internal.object", "the object that was built can't be read: %s", reason);
    return file_save(build->arena, path, object->text, object->length);
}

static bool keep_cached(struct build *build, const char *path)
{
    for (int left_out = 0; left_out <= EXTRA_COUNT; left_out++) {
        struct cache_key key = object_key(build, left_out);
        struct text object = {0};
        bool kept = cache_read(&build->cache, &key, &object) && file_save(build->arena, path, object.data, object.length).ok;
        text_free(&object);
        if (kept) return true;
    }
    return false;
}

// Loads what is built, or with `path` leaves it there.
static struct status build_object(struct build *build, const char *path, struct cpu_object **object)
{
    sigset_t before;
    if (path ? keep_cached(build, path) : load_cached(build, object)) return build->session->taken++, STATUS_OK;
    build->session->compiled++;
    hold_interrupts(&before);
    if (!make_folder(build)) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return status_failed(build->arena, "write.folder", "can't make a temporary folder in $TMPDIR or /tmp: %s", strerror(errno));
    }
    struct status status = build_fresh(build);
    if (status.ok && path) status = keep(build, build->object, path);
    if (status.ok && is_interrupted()) status = status_failed(build->arena, "interrupted.build", "interrupted when the kernel was built");
    bool loads = status.ok && !path;
    // What is loaded runs: code of an edited text may take for ever. Otherwise an interrupt waits for the folder to go.
    if (loads) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (loads) status = load_built(build, object);
    remove_folder(build);
    if (!loads) pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static struct status build_text(struct arena *arena, struct cache_session *session, const char *text, size_t length, const char *path,
                                struct cpu_object **object)
{
    struct cache_session own;
    struct build build = {.arena = arena, .session = cache_session_or(arena, session, &own), .text = text, .length = length};
    if (!find_compiler(arena, &build.compiler))
        return status_failed(arena, "missing.compiler", "no C compiler: $CC, cc, gcc and clang were looked for; "
                             "install one: sudo apt-get install build-essential");
    build.features = cpu_features(arena);
    build.builds = exact_builds(arena, build.session, 1, build.compiler.words);
    build.cache = cache_open_place(arena, build.session, CACHE_OBJECTS);
    struct status status = build_object(&build, path, object);
    cache_close(&build.cache);
    return status;
}

struct status cpu_build_in(struct arena *arena, struct cache_session *session, const char *text, size_t length, struct cpu_object **object)
{
    *object = NULL;
    return build_text(arena, session, text, length, NULL, object);
}

struct status cpu_build(struct arena *arena, const char *text, size_t length, struct cpu_object **object)
{
    return cpu_build_in(arena, NULL, text, length, object);
}

struct status cpu_compile(struct arena *arena, const char *text, size_t length, const char *path)
{
    struct cpu_object *none = NULL;
    return build_text(arena, NULL, text, length, path, &none);
}

struct status cpu_open(struct arena *arena, const char *path, struct cpu_object **object)
{
    *object = NULL;
    return load(arena, path, object);
}

void *cpu_symbol(const struct cpu_object *object, const char *name)
{
    return dlsym(object->handle, name);
}

void cpu_close(struct cpu_object *object)
{
    if (!object) return;
    dlclose(object->handle);
    free(object);
}
