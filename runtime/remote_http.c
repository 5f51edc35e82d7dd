// SPDX-License-Identifier: Apache-2.0
// In: a question to a remote cache. Out: a request to an HTTP server, and what its answer means.
//
// libcurl does the talking; it is opened at the first question. Names are resolved here, within the limit of time,
// since curl waits for its resolver when a handle is closed. Redirects aren't followed and proxies aren't used: a token
// goes to the host that the address names and to no other.
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "runtime/remote.h"

// ---------------------------------------------------------------------------------------------- libcurl

// Of curl.h, where they never change.
enum {
    GLOBAL_DEFAULT = 3,
    OPTION_WRITEDATA = 10001,
    OPTION_URL = 10002,
    OPTION_PROXY = 10004,
    OPTION_READDATA = 10009,
    OPTION_ERRORBUFFER = 10010,
    OPTION_USERAGENT = 10018,
    OPTION_HTTPHEADER = 10023,
    OPTION_HEADERDATA = 10029,
    OPTION_CAINFO = 10065,
    OPTION_USERNAME = 10173,
    OPTION_PASSWORD = 10174,
    OPTION_RESOLVE = 10203,
    OPTION_NOBODY = 44,
    OPTION_UPLOAD = 46,
    OPTION_NOSIGNAL = 99,
    OPTION_TIMEOUT_MS = 155,
    OPTION_CONNECTTIMEOUT_MS = 156,
    OPTION_WRITEFUNCTION = 20011,
    OPTION_READFUNCTION = 20012,
    OPTION_HEADERFUNCTION = 20079,
    OPTION_INFILESIZE_LARGE = 30115,
    OPTION_MAXFILESIZE_LARGE = 30117,
    INFO_RESPONSE_CODE = 0x200002,
    CURL_OK = 0,
    CURL_PARTIAL_FILE = 18,
    CURL_WRITE_ERROR = 23,
    CURL_OPERATION_TIMEDOUT = 28,
    CURL_GOT_NOTHING = 52,
    CURL_PEER_FAILED_VERIFICATION = 60, CURL_FILESIZE_EXCEEDED = 63,
    CURL_ERROR_BYTES = 256,
};

static struct {
    bool here;
    int (*begin)(long flags);
    void *(*handle)(void);
    void (*reset)(void *handle);
    void (*close)(void *handle);
    int (*set)(void *handle, int option, ...);
    int (*get)(void *handle, int info, ...);
    int (*perform)(void *handle);
    const char *(*error)(int code);
    void *(*append)(void *list, const char *text);
    void (*free_list)(void *list);
} curl;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const struct {
        const char *name;
        void *place;
    } symbols[] = {{"curl_global_init", &curl.begin},    {"curl_easy_init", &curl.handle},
                   {"curl_easy_reset", &curl.reset},     {"curl_easy_cleanup", &curl.close},
                   {"curl_easy_setopt", &curl.set},      {"curl_easy_getinfo", &curl.get},
                   {"curl_easy_perform", &curl.perform}, {"curl_easy_strerror", &curl.error},
                   {"curl_slist_append", &curl.append},  {"curl_slist_free_all", &curl.free_list}};
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) return;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol) return;
        memcpy(symbols[i].place, &symbol, sizeof symbol);  // function pointers aren't assigned from void * in ISO C
    }
    curl.here = curl.begin(GLOBAL_DEFAULT) == CURL_OK;
}

// ---------------------------------------------------------------------------------------------- a question

struct http_link {
    void *handle;
    void *addresses;  // "host:port:address,…", which curl takes in place of its own resolver's
};

struct asking {
    const struct remote_address *address;
    struct remote_job *job;
    size_t sent;               // bytes of the job's data
    size_t bytes;              // that came
    char location[200];        // where a redirect would lead
    char error[CURL_ERROR_BYTES];
};

static size_t take_body(char *data, size_t one, size_t count, void *user)
{
    struct asking *asking = user;
    enum { OTHER_BODY = 1 << 16 };
    size_t limit = asking->job->verb == REMOTE_GET ? asking->job->limit : OTHER_BODY;
    asking->bytes += one * count;
    if (asking->bytes > limit) return 0;
    if (asking->job->verb == REMOTE_GET) text_add_bytes(asking->job->answer, data, one * count);
    return one * count;
}

static size_t give_body(char *data, size_t one, size_t count, void *user)
{
    struct asking *asking = user;
    size_t left = asking->job->length - asking->sent, taken = one * count < left ? one * count : left;
    memcpy(data, (const char *)asking->job->data + asking->sent, taken);
    asking->sent += taken;
    return taken;
}

static size_t take_header(char *data, size_t one, size_t count, void *user)
{
    struct asking *asking = user;
    static const char name[] = "location:";
    size_t length = one * count, begin = sizeof name - 1, kept = 0;
    if (length < begin || strncasecmp(data, name, begin) != 0) return length;
    while (begin < length && data[begin] == ' ') begin++;
    while (begin + kept < length && kept + 1 < sizeof asking->location && data[begin + kept] > ' ' &&
           data[begin + kept] < 127)
        kept++;
    memcpy(asking->location, data + begin, kept);
    asking->location[kept] = 0;
    return length;
}

static enum remote_fate fail(struct asking *asking, const char *reason)
{
    asking->job->reason = reason;
    return REMOTE_FAILED;
}

// ---------------------------------------------------------------------------------------------- connections

static void close_link(struct http_link **link)
{
    if (!*link) return;
    if ((*link)->handle) curl.close((*link)->handle);
    if ((*link)->addresses) curl.free_list((*link)->addresses);
    free(*link);
    *link = NULL;
}

// The text for curl: "+host:port:1.2.3.4,[::1]".
static const char *address_text(struct asking *asking, const struct addrinfo *list)
{
    const struct remote_address *address = asking->address;
    const char *text = arena_printf(asking->job->arena, "%s:%d:", address->host, address->port);
    for (const struct addrinfo *item = list; item; item = item->ai_next) {
        char number[NI_MAXHOST];
        if (getnameinfo(item->ai_addr, item->ai_addrlen, number, sizeof number, NULL, 0, NI_NUMERICHOST) != 0) continue;
        const char *form = item->ai_family == AF_INET6 ? "%s%s[%s]" : "%s%s%s";
        text = arena_printf(asking->job->arena, form, text, item == list ? "" : ",", number);
    }
    return text;
}

static bool is_number(const char *host)
{
    const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &numeric, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
}

static enum remote_fate open_link(struct asking *asking, struct http_link **done)
{
    struct remote_job *job = asking->job;
    const struct remote_address *address = asking->address;
    const char *text = NULL;
    if (!is_number(address->host)) {
        struct addrinfo *list = net_resolve(job->arena, address->host, address->port, job->connect_by, &job->reason);
        if (!list) return REMOTE_FAILED;
        text = address_text(asking, list);
        freeaddrinfo(list);
    }
    struct http_link *link = *done = calloc(1, sizeof **done);
    if (link) link->handle = curl.handle();
    if (link && text) link->addresses = curl.append(NULL, text);
    if (link && link->handle && (!text || link->addresses)) return REMOTE_DONE;
    close_link(done);
    return fail(asking, "out of memory");
}

static long milliseconds_until(double moment)
{
    double left = (moment - seconds_now()) * 1000;
    return left < 1 ? 1 : (long)left;
}

static void *headers(const struct asking *asking)
{
    void *list = curl.append(NULL, "Expect:");  // else a large body waits a second for a server that says nothing
    if (asking->job->verb == REMOTE_PUT) list = curl.append(list, "Content-Type: application/octet-stream");
    if (asking->address->token)
        list = curl.append(list, arena_printf(asking->job->arena, "Authorization: Bearer %s", asking->address->token));
    return list;
}

static const char *url(const struct asking *asking)
{
    const struct remote_address *address = asking->address;
    const char *left = strchr(address->host, ':') ? "[" : "", *right = *left ? "]" : "";
    static const char nothing[] = "0000000000000000000000000000000000000000000000000000000000000000";
    return arena_printf(asking->job->arena, "%s://%s%s%s:%d%s/ac/%s", address->tls ? "https" : "http", left,
                        address->host, right, address->port, address->path,
                        asking->job->hex ? asking->job->hex : nothing);
}

static void set_options(struct asking *asking, const struct http_link *link, void *header_list)
{
    const struct remote_address *address = asking->address;
    const struct remote_job *job = asking->job;
    const char *authorities = getenv("SSL_CERT_FILE");
    void *handle = link->handle;
    curl.reset(handle);  // connections stay
    curl.set(handle, OPTION_URL, url(asking));
    curl.set(handle, OPTION_PROXY, "");
    curl.set(handle, OPTION_NOSIGNAL, 1L);
    curl.set(handle, OPTION_USERAGENT, "tilec/" TILEC_VERSION);
    curl.set(handle, OPTION_HTTPHEADER, header_list);
    curl.set(handle, OPTION_ERRORBUFFER, asking->error);
    curl.set(handle, OPTION_CONNECTTIMEOUT_MS, milliseconds_until(job->connect_by));
    curl.set(handle, OPTION_TIMEOUT_MS, milliseconds_until(job->deadline));
    curl.set(handle, OPTION_WRITEFUNCTION, take_body);
    curl.set(handle, OPTION_WRITEDATA, asking);
    curl.set(handle, OPTION_HEADERFUNCTION, take_header);
    curl.set(handle, OPTION_HEADERDATA, asking);
    if (link->addresses) curl.set(handle, OPTION_RESOLVE, link->addresses);
    if (address->user) curl.set(handle, OPTION_USERNAME, address->user);
    if (address->password) curl.set(handle, OPTION_PASSWORD, address->password);
    if (authorities && *authorities) curl.set(handle, OPTION_CAINFO, authorities);
    if (job->verb == REMOTE_PROBE) curl.set(handle, OPTION_NOBODY, 1L);
    if (job->verb == REMOTE_GET) curl.set(handle, OPTION_MAXFILESIZE_LARGE, (int64_t)job->limit);
    if (job->verb != REMOTE_PUT) return;
    curl.set(handle, OPTION_UPLOAD, 1L);
    curl.set(handle, OPTION_READFUNCTION, give_body);
    curl.set(handle, OPTION_READDATA, asking);
    curl.set(handle, OPTION_INFILESIZE_LARGE, (int64_t)job->length);
}

// What curl writes over TLS may raise a signal where the other end is gone; it is for nobody else to see.
static int perform(void *handle)
{
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    int code = curl.perform(handle);
    if (!sigismember(&pending, SIGPIPE)) while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) == SIGPIPE) ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

// ---------------------------------------------------------------------------------------------- answers

static const char *what_failed(const struct asking *asking, int code)
{
    switch (code) {
    case CURL_OPERATION_TIMEDOUT: return "no answer in time";
    case CURL_PARTIAL_FILE: case CURL_GOT_NOTHING: return "the connection was cut";
    case CURL_FILESIZE_EXCEEDED: case CURL_WRITE_ERROR:
        return arena_printf(asking->job->arena, "its answer has more than %zu bytes", asking->job->limit);
    case CURL_PEER_FAILED_VERIFICATION:
        return arena_printf(asking->job->arena, "%s; SSL_CERT_FILE may name a file with the certificate of who signed "
                            "the server's", *asking->error ? asking->error : curl.error(code));
    default: return arena_printf(asking->job->arena, "%s", *asking->error ? asking->error : curl.error(code));
    }
}

static const char *name_of(enum remote_verb verb)
{
    return verb == REMOTE_GET ? "GET" : verb == REMOTE_PUT ? "PUT" : "HEAD";
}

// A status that is neither good nor says that there is nothing.
static const char *what_status(const struct asking *asking, long status)
{
    struct arena *arena = asking->job->arena;
    const char *name = name_of(asking->job->verb);
    if (status == 401 || status == 403)
        return arena_printf(
            arena,
            "it answers %ld to %s: it wants to know who asks, or refuses them; set TILEC_REMOTE_CACHE_TOKEN to a token "
            "that it takes, or write USER:PASSWORD@ before the host",
            status, name);
    if (status >= 300 && status < 400)
        return arena_printf(
            arena, "it answers %ld to %s, a redirect to %s, which isn't followed; write the address that it leads to",
            status, name, *asking->location ? asking->location : "nowhere");
    if (status == 405 || status == 501)
        return arena_printf(arena,
                            "it answers %ld to %s: it doesn't take that; for nginx write `dav_methods PUT;`, or add "
                            "?readonly to the address",
                            status, name);
    const char *tls = status == 400 && !asking->address->tls ? "; does it speak TLS? then write https://" : "";
    return arena_printf(arena, "it answers %ld to %s%s", status, name, tls);
}

static enum remote_fate judge(struct asking *asking, long status)
{
    struct remote_job *job = asking->job;
    bool absent = status == 404 || status == 410;
    bool good = job->verb == REMOTE_PUT ? status >= 200 && status < 300 : status == 200;
    if (job->verb == REMOTE_GET && absent) job->answer->length = 0;
    if (good) return REMOTE_DONE;
    if (absent && job->verb != REMOTE_PUT) return REMOTE_ABSENT;
    job->reason = what_status(asking, status);
    return job->verb == REMOTE_PUT ? REMOTE_REFUSED : REMOTE_FAILED;
}

enum remote_fate http_ask(struct http_link **link, const struct remote_address *address, struct remote_job *job)
{
    pthread_once(&opened, open_library);
    if (!curl.here) {
        job->reason = "libcurl isn't here: libcurl.so.4 and libcurl-gnutls.so.4 were looked for; install it: sudo "
                      "apt-get install libcurl4";
        return REMOTE_UNABLE;
    }
    if (job->verb == REMOTE_LIST) return REMOTE_ABSENT;  // servers have no lists
    struct asking asking = {.address = address, .job = job};
    enum remote_fate fate = *link ? REMOTE_DONE : open_link(&asking, link);
    if (fate != REMOTE_DONE) return fate;
    long status = 0;
    void *list = headers(&asking);
    set_options(&asking, *link, list);
    int code = perform((*link)->handle);
    curl.get((*link)->handle, INFO_RESPONSE_CODE, &status);
    curl.free_list(list);
    fate = code == CURL_OK ? judge(&asking, status) : fail(&asking, what_failed(&asking, code));
    if (fate == REMOTE_FAILED) close_link(link);
    return fate;
}
