// SPDX-License-Identifier: Apache-2.0
// In: a host, bytes, and a moment of the monotonic clock. Out: a connection, what came, or why not, by that moment.
//
// A resolver that hangs can't be interrupted, so names are looked up by the C library's own helper thread, which is
// left to itself when time is up.
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
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

struct lookup {
    struct gaicb request;
    struct addrinfo hints;
    char *host, service[8];
};

static void free_lookup(struct lookup *lookup)
{
    if (lookup) free(lookup->host);
    free(lookup);
}

static struct lookup *new_lookup(const char *host, const char *service)
{
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup) lookup->host = strdup(host);
    if (!lookup || !lookup->host) return free_lookup(lookup), NULL;
    memcpy(lookup->service, service, strlen(service) + 1);
    lookup->hints.ai_socktype = SOCK_STREAM;
    lookup->request =
        (struct gaicb){.ar_name = lookup->host, .ar_service = lookup->service, .ar_request = &lookup->hints};
    return lookup;
}

// The state of the lookup at the deadline at the latest.
static int await_lookup(struct lookup *lookup, double deadline)
{
    const struct gaicb *list[] = {&lookup->request};
    int state;
    while ((state = gai_error(&lookup->request)) == EAI_INPROGRESS) {
        double left = seconds_left(deadline);
        struct timespec wait = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        if (left <= 0 || gai_suspend(list, 1, &wait) == EAI_AGAIN) return gai_error(&lookup->request);
    }
    return state;
}

static struct addrinfo *look_up(struct arena *arena, const char *host, const char *service, double deadline,
                                const char **reason)
{
    struct lookup *lookup = new_lookup(host, service);
    struct gaicb *list[] = {lookup ? &lookup->request : NULL};
    int error = lookup ? getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) : EAI_MEMORY;
    if (error == 0) error = await_lookup(lookup, deadline);
    if (error == EAI_INPROGRESS) {  // the helper still writes into it, unless it hadn't begun
        if (gai_cancel(&lookup->request) == EAI_CANCELED) free_lookup(lookup);
        *reason = arena_printf(arena, "the name %s isn't resolved in time", host);
        return NULL;
    }
    struct addrinfo *found = error == 0 ? lookup->request.ar_result : NULL;
    if (!found) *reason = arena_printf(arena, "the name %s can't be resolved: %s", host, gai_strerror(error));
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
