// SPDX-License-Identifier: Apache-2.0
// In: a question to a remote cache. Out: its answer, or none: when a server is asked and when it is left alone.
//
// A process has one of each address, with one connection, whatever jobs and threads use it. A server that failed is
// left alone for pause_s seconds, and since each question has only what the earlier failures have left of timeout_ms, a
// dead one costs a process no more than that in all. An answer gives the whole time back.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/config_cache.h"
#include "runtime/remote.h"

struct remote {
    struct remote *next;
    struct arena *arena;
    const struct remote_address *address;
    pthread_mutex_t lock;           // of all below, held while a question is out
    double alone_until;             // of the monotonic clock
    double written_until;           // as long no entries are sent
    double lost;                    // seconds, since the last answer
    bool unable, given_up;
    struct redis_link *redis;
    struct http_link *http;
};

static struct remote *remotes;
static pthread_mutex_t remotes_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

// ---------------------------------------------------------------------------------------------- one of each address

// A forked child has its parent's memory, but not its threads, which may hold the locks, and the connections are not
// for both. What it knows of servers that failed is as true for it.
static void begin_child(void)
{
    pthread_mutex_init(&remotes_lock, NULL);
    for (struct remote *remote = remotes; remote; remote = remote->next) {
        pthread_mutex_init(&remote->lock, NULL);
        redis_forget(&remote->redis);
        remote->http = NULL;  // closing it would say goodbye over the parent's connection
    }
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, begin_child);
}

static bool is_same(const struct remote_address *a, const struct remote_address *b)
{
    return strcmp(a->text, b->text) == 0 && strcmp(a->token ? a->token : "", b->token ? b->token : "") == 0;
}

static struct remote *make(const struct remote_address *address)
{
    struct arena *arena = arena_new();
    if (!arena) return NULL;
    struct remote *remote = ARENA_NEW(arena, struct remote);
    *remote = (struct remote){.next = remotes, .arena = arena, .alone_until = -INFINITY, .written_until = -INFINITY};
    if (!remote_parse(arena, "", address->text, &remote->address).ok) return arena_free(arena), NULL;
    pthread_mutex_init(&remote->lock, NULL);
    return remotes = remote;
}

// NULL: out of memory.
static struct remote *find(const struct remote_address *address)
{
    pthread_once(&watched, watch_forks);
    pthread_mutex_lock(&remotes_lock);
    struct remote *remote = remotes;
    while (remote && !is_same(remote->address, address)) remote = remote->next;
    if (!remote) remote = make(address);
    pthread_mutex_unlock(&remotes_lock);
    return remote;
}

// ---------------------------------------------------------------------------------------------- asking

static enum remote_fate ask(struct remote *remote, struct remote_job *job)
{
    const struct remote_address *address = remote->address;
    return address->kind == REMOTE_REDIS ? redis_ask(&remote->redis, address, job)
                                         : http_ask(&remote->http, address, job);
}

static bool is_left_alone(const struct remote *remote, enum remote_verb verb)
{
    double now = seconds_now();
    if (remote->unable || remote->given_up || now < remote->alone_until) return true;
    return verb == REMOTE_PUT && (remote->address->readonly || now < remote->written_until);
}

// What a message says of the time that follows.
static const char *note_failure(struct remote *remote, struct arena *arena, double seconds)
{
    enum { SHARE = 20 };  // of the time, that is worth a try
    double whole = remote->address->timeout_ms / 1e3;
    remote->lost += seconds;
    remote->alone_until = seconds_now() + remote->address->pause_s;
    remote->given_up = whole - remote->lost < whole / SHARE;
    if (remote->given_up) return "this process doesn't ask it again";
    return remote->address->pause_s ? arena_printf(arena, "it is left alone for %d s", remote->address->pause_s)
                                    : "it is asked again";
}

static void tell(struct cache_session *session, struct remote *remote, const struct remote_job *job,
                 enum remote_fate fate, double seconds)
{
    const char *shown = remote->address->shown;
    if (fate == REMOTE_UNABLE) {
        remote->unable = true;
        cache_warn(session, "cache.remote", "the remote cache %s isn't used: %s", shown, job->reason);
    }
    else if (fate == REMOTE_FAILED) {
        const char *then = note_failure(remote, job->arena, seconds);
        cache_warn(session, "cache.remote", "the remote cache %s isn't used: %s; %s", shown, job->reason, then);
    }
    else if (job->verb == REMOTE_PUT) {
        remote->written_until = seconds_now() + remote->address->pause_s;
        cache_warn(session, "cache.remote", "nothing is stored in the remote cache %s: %s", shown, job->reason);
    }
    else cache_warn(session, "cache.remote", "an entry of the remote cache %s isn't used: %s", shown, job->reason);
}

static enum remote_fate ask_in_time(struct remote *remote, struct remote_job *job, double lost, double *seconds)
{
    const struct remote_address *address = remote->address;
    double begin = seconds_now(), connect = address->connect_ms / 1e3;
    job->deadline = begin + address->timeout_ms / 1e3 - lost;
    job->connect_by = begin + connect < job->deadline ? begin + connect : job->deadline;
    job->reason = NULL;
    enum remote_fate fate = ask(remote, job);
    *seconds = seconds_now() - begin;
    return fate;
}

enum remote_fate remote_ask(struct cache_session *session, const struct remote_address *address, struct remote_job *job)
{
    double seconds = 0;
    struct remote *remote = find(address);
    if (!remote) return REMOTE_ALONE;
    pthread_mutex_lock(&remote->lock);
    enum remote_fate fate = REMOTE_ALONE;
    if (!is_left_alone(remote, job->verb)) {
        fate = ask_in_time(remote, job, remote->lost, &seconds);
        if (fate == REMOTE_DONE || fate == REMOTE_ABSENT) remote->lost = 0;
        else tell(session, remote, job, fate, seconds);
    }
    pthread_mutex_unlock(&remote->lock);
    return fate;
}

bool remote_is_well(const struct remote_address *address)
{
    struct remote *remote = find(address);
    if (!remote) return false;
    pthread_mutex_lock(&remote->lock);
    bool well = !is_left_alone(remote, REMOTE_GET);
    pthread_mutex_unlock(&remote->lock);
    return well;
}

const char *remote_trouble(struct arena *arena, const struct remote_address *address)
{
    double seconds = 0;
    struct remote_job job = {.verb = REMOTE_PROBE, .arena = arena};
    struct remote *remote = find(address);
    if (!remote) return "out of memory";
    pthread_mutex_lock(&remote->lock);
    enum remote_fate fate = ask_in_time(remote, &job, 0, &seconds);
    pthread_mutex_unlock(&remote->lock);
    return fate == REMOTE_DONE || fate == REMOTE_ABSENT ? NULL : job.reason;
}
