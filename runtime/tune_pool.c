// SPDX-License-Identifier: Apache-2.0
// Worker processes, from the driver's side. In: a program to start. Out: processes with a socket each, whose end takes
// everything with it that they started.
//
// They are started with posix_spawn, never by fork: the caller may have threads and a CUDA context. Each leads a process
// group of its own, so a compiler that a worker runs dies with it, and an interrupt at the terminal doesn't reach it.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/tune.h"

extern char **environ;

enum { HIGH_DESCRIPTOR = 10, SEND_SECONDS = 20, PATIENCE = 5000 };

// ---------------------------------------------------------------------------------------------- which program

static const char *beside(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return NULL;
    const char *places[] = {"tilec-worker", "../runtime/tilec-worker", "../bin/tilec-worker", "../libexec/tilec-worker"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *found = arena_printf(arena, "%.*s/%s", (int)(slash - path), path, places[i]);
        if (access(found, X_OK) == 0) return found;
    }
    return NULL;
}

const char *worker_program(struct arena *arena, const char *given, const char **reason)
{
    char self[PATH_MAX];
    Dl_info about;
    const char *chosen = given && *given ? given : getenv("TILEC_WORKER"), *found = NULL;
    if (chosen && *chosen) {
        if (access(chosen, X_OK) == 0) return chosen;
        return *reason = arena_printf(arena, "can't run the worker program %s: %s", chosen, strerror(errno)), NULL;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    found = beside(arena, self);
    // Where this code lies: libtilec, if it is in one.
    if (!found && dladdr((const void *)(uintptr_t)worker_program, &about) && about.dli_fname) {
        char *real = realpath(about.dli_fname, NULL);
        found = real ? beside(arena, real) : NULL;
        free(real);
    }
    if (!found) *reason = arena_printf(arena, "there is no tilec-worker beside %s; TILEC_WORKER may name it", self);
    return found;
}

// ---------------------------------------------------------------------------------------------- starting

// A pair of connected sockets, both above the descriptors that the child gives a meaning.
static bool make_pair(int ends[2])
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(pair[i], F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
        close(pair[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0) return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
    return false;
}

static bool sets(const char *entry, const char *setting)
{
    size_t length = strcspn(setting, "=") + 1;
    return strncmp(entry, setting, length) == 0;
}

static bool is_set(const char *entry, const char *const *settings)
{
    for (; *settings; settings++)
        if (sets(entry, *settings)) return true;
    return false;
}

static void *changeable(const char *text)  // posix_spawn doesn't write through it; its type says it might
{
    union {
        const char *constant;
        char *plain;
    } same = {text};
    return same.plain;
}

// The environment, but for what the pool sets. Temporary files go to the tune's own folder, which is removed whatever
// becomes of the worker.
static char **make_environment(const struct tune_pool *pool, const char *folder)
{
    static const char *const none[] = {NULL};
    const char *const *settings = pool->settings ? pool->settings : none;
    size_t count = 0, extra = 0, kept = 0;
    while (environ[count]) count++;
    while (settings[extra]) extra++;
    char **list = calloc(count + extra + 2, sizeof *list);
    if (!list) return NULL;
    for (size_t i = 0; i < count; i++)
        if (!sets(environ[i], folder) && !is_set(environ[i], settings)) list[kept++] = environ[i];
    for (size_t i = 0; i < extra; i++) list[kept++] = changeable(settings[i]);
    list[kept] = changeable(folder);
    return list;
}

static void set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t defaults, none;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

static bool start_process(const struct tune_pool *pool, enum worker_role role, int socket, char **environment, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char name[] = "tilec-worker";
    char *arguments[] = {name, NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_attributes(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, socket, WORKER_SOCKET);
    if (role == ROLE_DEVICE && pool->file >= 0) posix_spawn_file_actions_adddup2(&actions, pool->file, WORKER_FILE);
    int error = posix_spawn(process, pool->program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

bool worker_spawn(const struct tune_pool *pool, struct tune_worker *worker)
{
    int ends[2];
    char setting[PATH_MAX + 16];
    enum worker_role role = worker->role;
    if (!make_pair(ends)) return false;
    snprintf(setting, sizeof setting, "TMPDIR=%s", pool->folder);
    char **environment = make_environment(pool, setting);
    *worker = (struct tune_worker){.role = role, .state = WORKER_STARTING, .socket = ends[0], .row = -1};
    bool started = environment && start_process(pool, role, ends[1], environment, &worker->process);
    free(environment);
    close(ends[1]);
    if (!started) {
        close(ends[0]);
        worker->state = WORKER_NONE;
        return false;
    }
    const struct timeval limit = {.tv_sec = SEND_SECONDS};  // a worker that doesn't read is as good as ended
    setsockopt(worker->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return true;
}

// ---------------------------------------------------------------------------------------------- ending

// The leader is waited for last: as long as it is a zombie its number, which is the group's, belongs to no one else.
int worker_end(struct tune_worker *worker)
{
    int state = 0, result = 0;
    siginfo_t about = {0};
    if (worker->state == WORKER_NONE) return 0;
    // How it ended by itself can be told only if it is let go to its end.
    for (int i = 0; worker->ended && !worker->garbled && i < PATIENCE; i++) {
        if (waitid(P_PID, (id_t)worker->process, &about, WEXITED | WNOWAIT | WNOHANG) == 0 && about.si_pid) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill(-worker->process, SIGKILL);
    while (waitpid(worker->process, &state, 0) < 0)
        if (errno != EINTR) break;
    if (WIFSIGNALED(state)) result = -WTERMSIG(state);
    else if (WIFEXITED(state)) result = WEXITSTATUS(state);
    close(worker->socket);
    text_free(&worker->inbox);
    *worker = (struct tune_worker){.role = worker->role, .socket = -1, .row = -1};
    return result;
}

// ---------------------------------------------------------------------------------------------- talking

bool worker_send(struct tune_worker *worker, const struct text *message)
{
    if (wire_send(worker->socket, message)) return true;
    worker->ended = worker->garbled = true;
    return false;
}

void worker_read(struct tune_worker *worker)
{
    char buffer[65536];
    for (;;) {
        ssize_t count = recv(worker->socket, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (count <= 0) {
            worker->ended = true;
            return;
        }
        text_add_bytes(&worker->inbox, buffer, (size_t)count);
        if (worker->inbox.length > WIRE_LIMIT) {
            worker->ended = worker->garbled = true;
            return;
        }
    }
}

struct wire *worker_message(struct tune_worker *worker)
{
    bool bad = false;
    struct wire *message = wire_take(&worker->inbox, &bad);
    if (bad) worker->ended = worker->garbled = true;
    return message;
}
