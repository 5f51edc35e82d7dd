// SPDX-License-Identifier: Apache-2.0
// Building for the CPU target: which compiler, with which flags, how often, and what happens when there is none.
// Compilers are shell scripts that write down their arguments and pass them on to the real one.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/runtime/tap.h"

static const char text[] = "#ifdef _OPENMP\nint answer(void) { return 2; }\n#else\nint answer(void) { return 1; }\n#endif\n";

struct place {
    struct arena *arena;
    char folder[64];
    const char *real;  // the real compiler, found before PATH changes
    const char *log;   // what the scripts wrote down
};

static void write_file(const struct place *place, const char *name, const char *content)
{
    const char *path = arena_printf(place->arena, "%s/%s", place->folder, name);
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(content, file);
    fclose(file);
    chmod(path, 0700);
}

// PATH is left with the tools that scripts need, and no compiler.
static void place_new(struct tap *tap, struct place *place)
{
    *place = (struct place){.arena = tap->arena, .folder = "/tmp/tilec-compiler-XXXXXX"};
    unsetenv("CC");
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    place->real = cpu_compiler(tap->arena);
    CHECK(tap, place->real && mkdtemp(place->folder));
    place->log = arena_printf(tap->arena, "%s/log", place->folder);
    setenv("TILEC_CACHE_DIR", arena_printf(tap->arena, "%s/cache", place->folder), 1);
    setenv("PATH", place->folder, 1);
}

static void place_free(struct place *place)
{
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    if (system(arena_printf(place->arena, "rm -rf '%s'", place->folder)) != 0) puts("# the test's folder is left behind");
    unsetenv("CC");
}

// A compiler that notes its arguments and refuses when one of them is `refused`.
static void script(const struct place *place, const char *name, const char *refused)
{
    write_file(place, name, arena_printf(place->arena,
               "#!/bin/sh\necho \"%s $*\" >> %s\nfor word; do [ \"$word\" = '%s' ] && { echo \"no $word here\" >&2; exit 1; }; done\n"
               "PATH=/usr/local/bin:/usr/bin:/bin exec %s \"$@\"\n", name, place->log, refused, place->real));
}

static int runs(const struct place *place)
{
    const char *reason = NULL;
    int count = 0;
    const struct source *log = source_read(place->arena, place->log, &reason);
    for (size_t i = 0; log && i < log->length; i++) count += log->text[i] == '\n';
    return count;
}

// What the built function says: 2 with OpenMP, 1 without; 0: not built.
static int build(const struct place *place, struct status *status)
{
    struct cpu_object *object = NULL;
    *status = cpu_build(place->arena, text, sizeof text - 1, &object);
    if (!status->ok) return 0;
    int (*answer)(void);
    void *symbol = cpu_symbol(object, "answer");
    memcpy(&answer, &symbol, sizeof symbol);
    int said = answer();
    cpu_close(object);
    return said;
}

// ---------------------------------------------------------------------------------------------- tests

static void test_none(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    CHECK_NUMBER(tap, build(&place, &status), 0);
    CHECK_TEXT(tap, status.code, "missing.compiler");
    CHECK(tap, strstr(status.reason, "sudo apt-get install build-essential"));
    CHECK(tap, status_result(&status) == TILEC_MISSING && !cpu_compiler(tap->arena));
    place_free(&place);
}

static void test_order(struct tap *tap)
{
    struct place place;
    place_new(tap, &place);
    script(&place, "clang", "");
    CHECK(tap, strstr(cpu_compiler(tap->arena), "/clang"));
    script(&place, "gcc", "");
    CHECK(tap, strstr(cpu_compiler(tap->arena), "/gcc"));
    script(&place, "cc", "");
    CHECK(tap, strstr(cpu_compiler(tap->arena), "/cc"));
    script(&place, "mine", "");
    setenv("CC", "mine -DMINE", 1);
    CHECK(tap, strstr(cpu_compiler(tap->arena), "/mine -DMINE"));
    setenv("CC", "isnt-here", 1);
    CHECK(tap, strstr(cpu_compiler(tap->arena), "/cc"));
    place_free(&place);
}

static void test_built_once(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    script(&place, "cc", "");
    int first = build(&place, &status), count = runs(&place);
    CHECK(tap, status.ok && first >= 1 && count >= 1);
    CHECK_NUMBER(tap, build(&place, &status), first);
    CHECK_NUMBER(tap, runs(&place), count);  // the second came from the cache
    setenv("CC", "cc -DOTHER", 1);
    CHECK_NUMBER(tap, build(&place, &status), first);
    CHECK(tap, runs(&place) > count);        // other words, other object
    count = runs(&place);
    script(&place, "cc", "other");           // the compiler's file changed
    CHECK_NUMBER(tap, build(&place, &status), first);
    CHECK(tap, runs(&place) > count);
    place_free(&place);
}

static void test_without_cache(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    setenv("TILEC_CACHE_DIR", "/proc/nowhere", 1);
    script(&place, "cc", "");
    CHECK(tap, build(&place, &status) >= 1 && status.ok);
    int count = runs(&place);
    CHECK(tap, build(&place, &status) >= 1 && runs(&place) == 2 * count);
    place_free(&place);
}

static void test_no_openmp(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    script(&place, "cc", "-fopenmp");
    CHECK_NUMBER(tap, build(&place, &status), 1);
    CHECK(tap, status.ok);
    int count = runs(&place);
    CHECK_NUMBER(tap, count, 2);
    CHECK_NUMBER(tap, build(&place, &status), 1);
    CHECK_NUMBER(tap, runs(&place), count);
    place_free(&place);
}

static void test_broken(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    script(&place, "cc", "-shared");
    CHECK_NUMBER(tap, build(&place, &status), 0);
    CHECK_TEXT(tap, status.code, "missing.compiler");
    CHECK(tap, strstr(status.reason, "no -shared here"));
    script(&place, "cc", "");
    struct cpu_object *object = NULL;
    status = cpu_build(tap->arena, "int f(void) { return nonsense; }\n", 33, &object);
    CHECK(tap, !status.ok && !object);
    CHECK_TEXT(tap, status.code, "internal.compiler");
    CHECK(tap, strstr(status.reason, "nonsense"));
    place_free(&place);
}

// Words of $CC are arguments, never commands.
static void test_no_shell(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    script(&place, "cc", "");
    setenv("CC", arena_printf(tap->arena, "cc ;touch %s/owned; $(touch %s/owned)", place.folder, place.folder), 1);
    build(&place, &status);
    CHECK(tap, !status.ok && access(arena_printf(tap->arena, "%s/owned", place.folder), F_OK) != 0);
    place_free(&place);
}

static void test_torn_object(struct tap *tap)
{
    struct place place;
    struct status status;
    place_new(tap, &place);
    script(&place, "cc", "");
    int first = build(&place, &status), count = runs(&place);
    CHECK(tap, system(arena_printf(tap->arena, "PATH=/usr/bin:/bin; for f in %s/cache/objects/*; do truncate -s 5000 $f; done", place.folder)) == 0);
    CHECK_NUMBER(tap, build(&place, &status), first);
    CHECK_NUMBER(tap, runs(&place), 2 * count);
    place_free(&place);
}

// Two texts with objects of one symbol, both loaded: each answers for itself.
static void test_two_at_once(struct tap *tap)
{
    struct place place;
    struct cpu_object *one = NULL, *two = NULL;
    place_new(tap, &place);
    script(&place, "cc", "");
    for (int round = 0; round < 2; round++) {  // fresh, then from the cache
        CHECK(tap, cpu_build(tap->arena, "int n(void) { return 1; }\n", 26, &one).ok);
        CHECK(tap, cpu_build(tap->arena, "int n(void) { return 2; }\n", 26, &two).ok);
        int (*first)(void) = NULL, (*second)(void) = NULL;
        void *symbol = one ? cpu_symbol(one, "n") : NULL;
        memcpy(&first, &symbol, sizeof symbol);
        symbol = two ? cpu_symbol(two, "n") : NULL;
        memcpy(&second, &symbol, sizeof symbol);
        CHECK(tap, first && second && first() == 1 && second() == 2);
        cpu_close(one);
        cpu_close(two);
    }
    place_free(&place);
}

// Threads that an object started outlive it: closing it at once, many times, must not pull code from under them.
static void test_threads_outlive(struct tap *tap)
{
    static const char parallel[] = "int f(void) {\n    int s = 0;\n    #pragma omp parallel for reduction(+:s)\n"
                                   "    for (int i = 0; i < 100; i++) s += i;\n    return s;\n}\n";
    struct place place;
    place_new(tap, &place);
    script(&place, "cc", "");
    for (int round = 0; round < 200 && tap->ok; round++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct cpu_object *object = NULL;
            if (!cpu_build(tap->arena, parallel, sizeof parallel - 1, &object).ok) _exit(1);
            int (*f)(void);
            void *symbol = cpu_symbol(object, "f");
            memcpy(&f, &symbol, sizeof symbol);
            int sum = f();
            cpu_close(object);
            usleep(2000);
            _exit(sum != 4950);
        }
        int state = 0;
        CHECK(tap, waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
    place_free(&place);
}

int main(void)
{
    static const struct tap_test tests[] = {
        {"no compiler: missing, with the command that installs one", test_none},
        {"$CC, cc, gcc, clang in turn", test_order},
        {"an object is built once per text, compiler and flags", test_built_once},
        {"without a cache all is built each time", test_without_cache},
        {"without OpenMP it runs serially", test_no_openmp},
        {"a broken compiler is missing, a refused text is our fault", test_broken},
        {"no shell reads $CC", test_no_shell},
        {"a torn object is built again", test_torn_object},
        {"two objects loaded at once", test_two_at_once},
        {"threads outlive the object that started them", test_threads_outlive},
    };
    return tap_run(tests, sizeof tests / sizeof *tests);
}
