// SPDX-License-Identifier: Apache-2.0
// The remote cache: entries of the disk cache (cache.c) on a Redis or HTTP server that several machines share.
// What an address says is remote_address.c; when the server is asked, and when it is left alone, remote.c; the two
// protocols are remote_redis.c and remote_http.c, sockets with a limit of time remote_net.c; which entries travel and
// how they are verified cache_remote.c. Private to runtime/.
//
// Nothing here is a failure of what the cache is used for: it is a miss, and one warning ("cache.remote").
#ifndef TILEC_RUNTIME_REMOTE_H
#define TILEC_RUNTIME_REMOTE_H

#include "runtime/build.h"
#include "runtime/runtime.h"

// -------------------------------------------------------------------------------------- addresses (remote_address.c)

enum remote_kind { REMOTE_REDIS, REMOTE_HTTP };
struct remote_address {
    enum remote_kind kind;
    const char *text;       // as it was given: passwords are in it
    const char *shown;      // "redis://host:6379/0": without user, password and parameters, for messages
    bool tls;
    const char *host;       // a name or a number; of IPv6 without brackets
    int port;
    const char *user, *password;  // NULL: none
    const char *token;      // TILEC_REMOTE_CACHE_TOKEN; NULL: none
    const char *path;       // of HTTP, before /ac/…; "" or begins with a slash and ends with none
    int database;           // of Redis
    const char *prefix;     // of Redis' keys
    size_t prefix_length;
    bool readonly;
    int connect_ms, timeout_ms, pause_s;
};
// redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], http(s)://[USER:PASSWORD@]HOST[:PORT][/PATH], and behind a question
// mark prefix=…, readonly, connect_ms=…, timeout_ms=…, pause_s=…. `what` names where the text is from. NULL for "none"
// and "". Not ok: usage.cache, with the piece that is wrong and what to write.
struct status remote_parse(struct arena *arena, const char *what, const char *text,
                           const struct remote_address **address);

// ---------------------------------------------------------------------------------------------- asking (remote.c)

enum {
    REMOTE_CONFIG_LIMIT = 1 << 20,  // bytes of an entry that is a config
    REMOTE_BINARY_LIMIT = 1 << 26,  // … a binary
    REMOTE_LIST_LIMIT = 256,        // entries that a listing gives
};
enum remote_verb { REMOTE_GET, REMOTE_PUT, REMOTE_LIST, REMOTE_PROBE };
struct remote_job {
    enum remote_verb verb;
    struct arena *arena;            // of reasons
    const char *kind;               // "config", "binary": Redis has them under names of their own
    const char *hex;                // the entry's key
    const char *index;              // PUT, LIST: what list the entry is in; NULL: none
    int64_t created;                // PUT: seconds since 1970; a list keeps the newest
    const void *data;               // PUT
    size_t length;
    size_t limit;                   // GET, LIST: bytes that an answer may have
    struct text *answer;            // GET
    void (*found)(void *user, const char *hex, const char *data, size_t length);  // LIST
    void *user;
    double connect_by, deadline;    // of the monotonic clock, set by remote_ask
    const char *reason;             // why it isn't REMOTE_DONE or REMOTE_ABSENT
};
enum remote_fate {
    REMOTE_DONE,
    REMOTE_ABSENT,                  // there is no such entry
    REMOTE_REFUSED,                 // the server is well, but this it doesn't give or take
    REMOTE_FAILED,                  // no connection, no answer in time, or none that makes sense
    REMOTE_UNABLE,                  // the library isn't here
    REMOTE_ALONE,                   // it wasn't asked, since it failed lately or, at a PUT, may only be read
};
// Asks the server, within the address's limits, unless it is left alone: after a failure for pause_s seconds, and for
// good once this process has lost timeout_ms to it. Tells the session what went wrong. Any thread.
enum remote_fate remote_ask(struct cache_session *session, const struct remote_address *address,
                            struct remote_job *job);

// Whether it would be asked now.
bool remote_is_well(const struct remote_address *address);

// ---------------------------------------------------------------------------------------------- protocols

// What stays open between two questions; NULL before the first. A protocol's function closes it where it failed.
struct redis_link;
struct http_link;
enum remote_fate redis_ask(struct redis_link **link, const struct remote_address *address, struct remote_job *job);
enum remote_fate http_ask(struct http_link **link, const struct remote_address *address, struct remote_job *job);
void redis_forget(struct redis_link **link);  // in a forked child: the connection is the parent's

// ---------------------------------------------------------------------------------------------- sockets (remote_net.c)

struct addrinfo;
// The host's addresses, in the order to try them; free with freeaddrinfo. NULL with a reason: none, or not in time.
struct addrinfo *net_resolve(struct arena *arena, const char *host, int port, double deadline, const char **reason);
// A connected socket; -1 with a reason.
int net_connect(struct arena *arena, const char *host, int port, double deadline, const char **reason);
// Whether nothing has come, not even the end.
bool net_is_quiet(int socket);
// Sends all of it. NULL, or why not.
const char *net_send(int socket, const char *data, size_t length, double deadline);
// What came, at most `size` bytes; 0 with a reason: nothing, in time or ever.
size_t net_receive(int socket, char *data, size_t size, double deadline, const char **reason);

// -------------------------------------------------------------------------------------- entries (cache_remote.c)

// Whether the cache's entries travel: it isn't skipped and there is a remote.
bool cache_is_shared(const struct cache *cache);
// The remote's entry of exactly this key, whole by its hash; its payload goes to `payload`. It is not stored here: that
// is for who has looked into it. False is a miss, whatever the cause.
bool cache_fetch(const struct cache *cache, enum cache_place place, const struct cache_key *key, struct text *payload);
// Gives the remote a copy of an entry. `index`: NULL, or the list that it is to be found in, with its age.
void cache_share(const struct cache *cache, enum cache_place place, const struct cache_key *key, const char *index,
                 int64_t created, const void *data, size_t length);
// Every good entry of a list, the newest first. HTTP has no lists.
void cache_fetch_list(const struct cache *cache, const char *index,
                      void (*found)(void *user, const struct cache_key *key, const char *payload, size_t length),
                      void *user);
// NULL: the remote answers; else why not, in the arena. Asks whatever was before.
const char *remote_trouble(struct arena *arena, const struct remote_address *address);

#endif
