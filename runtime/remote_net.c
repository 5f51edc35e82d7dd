// SPDX-License-Identifier: Apache-2.0
// In: a host, bytes, and a moment of the monotonic clock. Out: a connection, what came, or why not, by that moment.
//
// A resolver that hangs can't be interrupted, so names are looked up by the C library's own helper thread, which is
// left to itself when time is up.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/remote.h"

static double seconds_left(double deadline)
{
    double left = deadline - seconds_now();
    return left > 0 ? left : 0;
}

// ---------------------------------------------------------------------------------------------- names

// Shared by who waits and the thread that looks up; the last of them frees it.
struct lookup {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done, abandoned;
    char *host, service[8];
    int error;
    struct addrinfo *found;
};

static void free_lookup(struct lookup *lookup)
{
    if (lookup->found) freeaddrinfo(lookup->found);
    pthread_cond_destroy(&lookup->changed);
    pthread_mutex_destroy(&lookup->lock);
    free(lookup->host);
    free(lookup);
}

static struct lookup *new_lookup(const char *host, const char *service)
{
    pthread_condattr_t monotonic;
    struct lookup *lookup = calloc(1, sizeof *lookup);
    char *copy = strdup(host);
    if (!lookup || !copy) return free(lookup), free(copy), NULL;
    lookup->host = copy;
    snprintf(lookup->service, sizeof lookup->service, "%s", service);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lookup->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&lookup->lock, NULL);
    return lookup;
}

static void *run_lookup(void *data)
{
    struct lookup *lookup = data;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(lookup->host, lookup->service, &hints, &found);
    pthread_mutex_lock(&lookup->lock);
    lookup->error = error;
    lookup->found = error == 0 ? found : NULL;
    lookup->done = true;
    bool abandoned = lookup->abandoned;
    pthread_cond_signal(&lookup->changed);
    pthread_mutex_unlock(&lookup->lock);
    if (abandoned) free_lookup(lookup);
    return NULL;
}

// The thread may outlive who asked: the code that it runs stays, even if the library is closed. It takes no signals.
static bool start_lookup(struct lookup *lookup)
{
    pthread_t thread;
    sigset_t all, before;
    Dl_info about;
    if (dladdr((const void *)(uintptr_t)run_lookup, &about) && about.dli_fname)
        dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool started = pthread_create(&thread, NULL, run_lookup, lookup) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

// Whether it was done in time; else it is the thread's.
static bool await_lookup(struct lookup *lookup, double deadline)
{
    const struct timespec moment = {(time_t)deadline, (long)((deadline - (double)(time_t)deadline) * 1e9)};
    int waited = 0;
    pthread_mutex_lock(&lookup->lock);
    while (!lookup->done && waited == 0) waited = pthread_cond_timedwait(&lookup->changed, &lookup->lock, &moment);
    bool done = lookup->done;
    lookup->abandoned = !done;
    pthread_mutex_unlock(&lookup->lock);
    return done;
}

static struct addrinfo *look_up(struct arena *arena, const char *host, const char *service, double deadline,
                                const char **reason)
{
    struct lookup *lookup = new_lookup(host, service);
    if (!lookup) return *reason = "out of memory", NULL;
    if (!start_lookup(lookup)) return free_lookup(lookup), *reason = "no thread can be started", NULL;
    if (!await_lookup(lookup, deadline))
        return *reason = arena_printf(arena, "the name %s isn't resolved in time", host), NULL;
    struct addrinfo *found = lookup->found;
    if (!found) *reason = arena_printf(arena, "the name %s can't be resolved: %s", host, gai_strerror(lookup->error));
    lookup->found = NULL;
    free_lookup(lookup);
    return found;
}

struct addrinfo *net_resolve(struct arena *arena, const char *host, int port, double deadline, const char **reason)
{
    const struct addrinfo numeric = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const char *service = arena_printf(arena, "%d", port);
    if (getaddrinfo(host, service, &numeric, &found) == 0) return found;
    return look_up(arena, host, service, deadline, reason);
}

// ---------------------------------------------------------------------------------------------- sockets

// Whether the socket is ready by then.
static bool await(int socket, short events, double deadline)
{
    for (;;) {
        struct pollfd item = {.fd = socket, .events = events};
        double left = seconds_left(deadline);
        int count = poll(&item, 1, (int)(left * 1000 + 0.999));
        if (count > 0) return true;
        if (count == 0 || errno != EINTR) return false;
    }
}

// 0, or the error.
static int finish_connecting(int socket, double deadline)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (!await(socket, POLLOUT, deadline)) return ETIMEDOUT;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

static int connect_one(const struct addrinfo *address, double deadline, int *error)
{
    int made = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol);
    *error = made < 0 ? errno : 0;
    if (made < 0) return -1;
    if (connect(made, address->ai_addr, address->ai_addrlen) != 0)
        *error = errno == EINPROGRESS ? finish_connecting(made, deadline) : errno;
    if (*error) return close(made), -1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return made;
}

// Each address has an equal share of the time that is left: one that swallows everything doesn't hide the next.
int net_connect(struct arena *arena, const char *host, int port, double deadline, const char **reason)
{
    int connected = -1, count = 0, error = 0;
    struct addrinfo *list = net_resolve(arena, host, port, deadline, reason);
    for (const struct addrinfo *item = list; item; item = item->ai_next) count++;
    for (const struct addrinfo *item = list; item && connected < 0; item = item->ai_next, count--)
        connected = connect_one(item, seconds_now() + seconds_left(deadline) / count, &error);
    if (list) freeaddrinfo(list);
    if (list && connected < 0)
        *reason =
            error == ETIMEDOUT ? "no connection in time" : arena_printf(arena, "no connection: %s", strerror(error));
    return connected;
}

static const char *told(int error)
{
    if (error == ECONNRESET || error == EPIPE) return "the connection was cut";
    return error == ETIMEDOUT ? "no answer in time" : strerror(error);
}

bool net_is_quiet(int socket)
{
    struct pollfd item = {.fd = socket, .events = POLLIN};
    return poll(&item, 1, 0) == 0;
}

const char *net_send(int socket, const char *data, size_t length, double deadline)
{
    while (length) {
        ssize_t count = send(socket, data, length, MSG_NOSIGNAL);
        if (count > 0) {
            data += count;
            length -= (size_t)count;
        }
        else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!await(socket, POLLOUT, deadline)) return "it doesn't take what is sent in time";
        }
        else if (count == 0 || errno != EINTR) return told(count == 0 ? EPIPE : errno);
        if (length && seconds_left(deadline) <= 0) return "it doesn't take what is sent in time";
    }
    return NULL;
}

size_t net_receive(int socket, char *data, size_t size, double deadline, const char **reason)
{
    for (;;) {
        // What dribbles in is too late too.
        if (!await(socket, POLLIN, deadline) || seconds_left(deadline) <= 0) return *reason = told(ETIMEDOUT), 0;
        ssize_t count = recv(socket, data, size, 0);
        if (count > 0) return (size_t)count;
        if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
        return *reason = told(count == 0 ? ECONNRESET : errno), 0;
    }
}
