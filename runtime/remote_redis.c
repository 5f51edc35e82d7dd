// SPDX-License-Identifier: Apache-2.0
// In: a question to a remote cache. Out: commands to a Redis server, and what its replies mean.
//
// hiredis writes the commands and reads the replies; the socket is our own, for a limit that holds for the whole answer
// and not for each piece of it. The library is opened at the first question. Its reader makes objects through functions
// that are given to it: ours copy texts one behind the other and refuse arrays within arrays and long ones, so nothing
// that a server says takes more memory than the limit. They come in the two layouts that hiredis has had.
//
// An entry is `PREFIXconfig:KEY` or `PREFIXbinary:KEY`; the list of the configs of a kernel is a sorted set
// `PREFIXlist:INDEX` of keys by age, cut to the newest.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/remote.h"

struct redis_link {
    int socket;
};

enum { AROUND = 1 << 16 };  // bytes that may come beside what is asked for
enum { REPLY_STRING = 1, REPLY_ARRAY, REPLY_INTEGER, REPLY_NIL, REPLY_STATUS, REPLY_ERROR };

// ---------------------------------------------------------------------------------------------- hiredis

// Of 0.14, and of 1.0 and later.
struct makers_0 {
    void *(*string)(const int *task, char *text, size_t length);
    void *(*array)(const int *task, int count);
    void *(*integer)(const int *task, long long value);
    void *(*nil)(const int *task);
    void (*free)(void *object);
};
struct makers_1 {
    void *(*string)(const int *task, char *text, size_t length);
    void *(*array)(const int *task, size_t count);
    void *(*integer)(const int *task, long long value);
    void *(*number)(const int *task, double value, char *text, size_t length);
    void *(*nil)(const int *task);
    void *(*boolean)(const int *task, int value);
    void (*free)(void *object);
};
struct reader {  // the beginning, which all versions have
    int error;
    char reason[128];
};

static struct {
    bool here;
    int (*format)(char **command, int count, const char **words, const size_t *lengths);
    void (*free_command)(char *command);
    struct reader *(*new_reader)(const void *makers);
    void (*free_reader)(struct reader *reader);
    int (*feed)(struct reader *reader, const char *data, size_t length);
    int (*take)(struct reader *reader, void **reply);
    bool later;  // 1.0 or later
} hiredis;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static bool take_symbol(void *handle, const char *name, void *place)
{
    void *symbol = dlsym(handle, name);
    memcpy(place, &symbol, sizeof symbol);  // function pointers aren't assigned from void * in ISO C
    return symbol != NULL;
}

static void open_library(void)
{
    static const char *const names[] = {"libhiredis.so.1.4.0", "libhiredis.so.1.3.0", "libhiredis.so.1.1.0",
                                        "libhiredis.so.1.0.0", "libhiredis.so.0.14", "libhiredis.so"};
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) return;
    hiredis.later = dlsym(handle, "redisConnectWithOptions") != NULL;
    hiredis.here = take_symbol(handle, "redisFormatCommandArgv", &hiredis.format) &&
                   take_symbol(handle, "redisFreeCommand", &hiredis.free_command) &&
                   take_symbol(handle, "redisReaderCreateWithFunctions", &hiredis.new_reader) &&
                   take_symbol(handle, "redisReaderFree", &hiredis.free_reader) &&
                   take_symbol(handle, "redisReaderFeed", &hiredis.feed) &&
                   take_symbol(handle, "redisReaderGetReply", &hiredis.take);
}

// ---------------------------------------------------------------------------------------------- replies

struct item {
    int type;
    size_t begin, length;  // of `bytes`
};
struct reply {
    int count, arrays;
    struct item items[REMOTE_LIST_LIMIT + 1];
    struct text bytes;
};
// Where the reader, which has no place for it that is the same in all versions, puts what it reads.
static _Thread_local struct reply *present;

static void *add(int type, const char *text, size_t length)
{
    if (present->count > REMOTE_LIST_LIMIT) return NULL;
    present->items[present->count++] = (struct item){type, present->bytes.length, length};
    if (text) text_add_bytes(&present->bytes, text, length);
    return present;
}

static void *add_string(const int *task, char *text, size_t length) { return add(*task, text, length); }
static void *add_integer(const int *task, long long value) { return (void)value, add(*task, NULL, 0); }
static void *add_nil(const int *task) { return (void)task, add(REPLY_NIL, NULL, 0); }
static void *add_array(const int *task, size_t count)
{
    (void)task;
    return present->arrays++ || count > REMOTE_LIST_LIMIT ? NULL : present;
}
static void *add_small_array(const int *task, int count)
{
    return add_array(task, count < 0 ? SIZE_MAX : (size_t)count);
}
static void *refuse_number(const int *task, double value, char *text, size_t length)
{
    return (void)task, (void)value, (void)text, (void)length, NULL;
}
static void *refuse_boolean(const int *task, int value) { return (void)task, (void)value, NULL; }
static void keep(void *object) { (void)object; }

static const struct makers_0 makers_0 = {add_string, add_small_array, add_integer, add_nil, keep};
static const struct makers_1 makers_1 = {add_string, add_array,      add_integer, refuse_number,
                                         add_nil,    refuse_boolean, keep};

// ---------------------------------------------------------------------------------------------- a question

struct asking {
    const struct remote_address *address;
    struct remote_job *job;
    struct redis_link *link;
    struct text commands;      // not yet sent
    struct reader *reader;
    size_t room;               // bytes that may still come
    bool silent;               // nothing has come over this connection since it was used last
};

static void command(struct asking *asking, int count, const char **words, const size_t *lengths)
{
    char *text = NULL;
    int length = hiredis.format(&text, count, words, lengths);
    if (length > 0) text_add_bytes(&asking->commands, text, (size_t)length);
    if (text) hiredis.free_command(text);
}

// Of texts.
static void say(struct asking *asking, int count, const char **words)
{
    size_t lengths[4];
    for (int i = 0; i < count; i++) lengths[i] = strlen(words[i]);
    command(asking, count, words, lengths);
}
#define SAY(asking, ...)                                                                                               \
    say(asking, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

// A key: the prefix may have any bytes in it. The length goes to `length`.
static const char *key_name(const struct asking *asking, const char *what, const char *name, size_t *length)
{
    const struct remote_address *address = asking->address;
    size_t rest = strlen(what) + 1 + strlen(name);
    char *key = arena_alloc(asking->job->arena, address->prefix_length + rest + 1);
    memcpy(key, address->prefix, address->prefix_length);
    memcpy(key + address->prefix_length, arena_printf(asking->job->arena, "%s:%s", what, name), rest);
    *length = address->prefix_length + rest;
    return key;
}

static enum remote_fate fail(struct asking *asking, const char *reason)
{
    asking->job->reason = reason;
    return REMOTE_FAILED;
}

static enum remote_fate send_commands(struct asking *asking)
{
    const char *wrong =
        net_send(asking->link->socket, asking->commands.data, asking->commands.length, asking->job->deadline);
    asking->commands.length = 0;
    return wrong ? fail(asking, wrong) : REMOTE_DONE;
}

static const char *too_long(const struct remote_job *job)
{
    return arena_printf(job->arena, "its answer has more than %zu bytes", job->limit);
}

static enum remote_fate receive(struct asking *asking)
{
    char buffer[1 << 16];
    const char *wrong = NULL;
    size_t count = net_receive(asking->link->socket, buffer, sizeof buffer, asking->job->deadline, &wrong);
    if (!count) return fail(asking, wrong);
    asking->silent = false;
    if (count > asking->room) return fail(asking, too_long(asking->job));
    asking->room -= count;
    return hiredis.feed(asking->reader, buffer, count) == 0 ? REMOTE_DONE : fail(asking, "out of memory");
}

static enum remote_fate read_reply(struct asking *asking, struct reply *reply)
{
    void *whole = NULL;
    reply->count = reply->arrays = 0;
    reply->bytes.length = 0;
    present = reply;
    for (;;) {
        if (hiredis.take(asking->reader, &whole) != 0)
            return fail(asking, arena_printf(asking->job->arena, "it doesn't answer as Redis does: %.100s",
                                             asking->reader->reason));
        if (whole) return REMOTE_DONE;
        enum remote_fate fate = receive(asking);
        if (fate != REMOTE_DONE) return fate;
    }
}

static bool is_error(const struct reply *reply)
{
    return !reply->arrays && reply->count == 1 && reply->items[0].type == REPLY_ERROR;
}

// What the server complains of, in one line that can be printed.
static const char *complaint(const struct asking *asking, const char *what, const struct reply *reply)
{
    enum { SHOWN = 200 };
    size_t length = reply->items[0].length < SHOWN ? reply->items[0].length : SHOWN;
    char *text =
        arena_copy(asking->job->arena, reply->bytes.data ? reply->bytes.data + reply->items[0].begin : "", length);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 127) *at = '?';
    bool refused = strncmp(text, "NOAUTH", 6) == 0 || strncmp(text, "WRONGPASS", 9) == 0;
    return arena_printf(asking->job->arena, "it answers to %s: %s%s", what, text, refused ?
                        "; write USER:PASSWORD@ or :PASSWORD@ before the host, or set TILEC_REMOTE_CACHE_TOKEN" : "");
}

// Of a command whose reply says that it was done. `name`: for messages.
static enum remote_fate expect(struct asking *asking, const char *name, int type, enum remote_fate refused)
{
    struct reply reply = {0};
    enum remote_fate fate = read_reply(asking, &reply);
    bool good = !reply.arrays && reply.count == 1 && reply.items[0].type == type;
    if (fate == REMOTE_DONE && !good) {
        fate = is_error(&reply) ? refused : REMOTE_FAILED;
        asking->job->reason = is_error(&reply)
                                  ? complaint(asking, name, &reply)
                                  : arena_printf(asking->job->arena, "its answer to %s makes no sense", name);
    }
    text_free(&reply.bytes);
    return fate;
}

// ---------------------------------------------------------------------------------------------- connections

void redis_forget(struct redis_link **link)
{
    if (!*link) return;
    close((*link)->socket);
    free(*link);
    *link = NULL;
}

static enum remote_fate open_link(struct asking *asking)
{
    struct remote_job *job = asking->job;
    const struct remote_address *address = asking->address;
    int socket = net_connect(job->arena, address->host, address->port, job->connect_by, &job->reason);
    if (socket < 0) return REMOTE_FAILED;
    asking->link = malloc(sizeof *asking->link);
    if (!asking->link) return close(socket), fail(asking, "out of memory");
    asking->link->socket = socket;
    return REMOTE_DONE;
}

static void say_who(struct asking *asking)
{
    const struct remote_address *address = asking->address;
    if (address->password && address->user) SAY(asking, "AUTH", address->user, address->password);
    else if (address->password) SAY(asking, "AUTH", address->password);
    if (address->database) SAY(asking, "SELECT", arena_printf(asking->job->arena, "%d", address->database));
}

static enum remote_fate hear_who(struct asking *asking)
{
    const struct remote_address *address = asking->address;
    enum remote_fate fate = address->password ? expect(asking, "AUTH", REPLY_STATUS, REMOTE_FAILED) : REMOTE_DONE;
    if (fate == REMOTE_DONE && address->database) fate = expect(asking, "SELECT", REPLY_STATUS, REMOTE_FAILED);
    return fate;
}

// ---------------------------------------------------------------------------------------------- what is asked

static void ask_list(struct asking *asking)
{
    size_t length;
    const char *name = key_name(asking, "list", asking->job->index, &length),
               *last = arena_printf(asking->job->arena, "%d", REMOTE_LIST_LIMIT - 1);
    command(asking, 4, (const char *[]){"ZREVRANGE", name, "0", last}, (size_t[]){9, length, 1, strlen(last)});
}

static void say_put(struct asking *asking)
{
    struct remote_job *job = asking->job;
    size_t length;
    const char *name = key_name(asking, job->kind, job->hex, &length);
    command(asking, 3, (const char *[]){"SET", name, job->data}, (size_t[]){3, length, job->length});
    if (!job->index) return;
    const char *list = key_name(asking, "list", job->index, &length),
               *age = arena_printf(job->arena, "%lld", (long long)job->created);
    const char *oldest = arena_printf(job->arena, "%d", -REMOTE_LIST_LIMIT - 1);
    command(asking, 4, (const char *[]){"ZADD", list, age, job->hex},
            (size_t[]){4, length, strlen(age), strlen(job->hex)});
    command(asking, 4, (const char *[]){"ZREMRANGEBYRANK", list, "0", oldest},
            (size_t[]){15, length, 1, strlen(oldest)});
}

static void say_question(struct asking *asking)
{
    size_t length;
    switch (asking->job->verb) {
    case REMOTE_GET: {
        const char *name = key_name(asking, asking->job->kind, asking->job->hex, &length);
        command(asking, 2, (const char *[]){"GET", name}, (size_t[]){3, length});
        break;
    }
    case REMOTE_PUT: say_put(asking); break;
    case REMOTE_LIST: ask_list(asking); break;
    case REMOTE_PROBE: SAY(asking, "PING"); break;
    }
}

static enum remote_fate hear_get(struct asking *asking)
{
    struct reply reply = {0};
    struct remote_job *job = asking->job;
    enum remote_fate fate = read_reply(asking, &reply);
    const struct item *item = &reply.items[0];
    if (fate != REMOTE_DONE) ;
    else if (is_error(&reply)) {
        job->reason = complaint(asking, "GET", &reply);
        fate = strncmp(reply.bytes.data + item->begin, "WRONGTYPE", 9) == 0 ? REMOTE_REFUSED : REMOTE_FAILED;
    }
    else if (reply.arrays || reply.count != 1 || (item->type != REPLY_STRING && item->type != REPLY_NIL))
        fate = fail(asking, "its answer to GET makes no sense");
    else if (item->type == REPLY_NIL) fate = REMOTE_ABSENT;
    else if (item->length > job->limit) {
        job->reason = too_long(job);
        fate = REMOTE_REFUSED;
    }
    else text_add_bytes(job->answer, reply.bytes.data, item->length);
    text_free(&reply.bytes);
    return fate;
}

// All replies are read, whatever the first says: the connection goes on. Of what is refused the first tells why.
static enum remote_fate hear_put(struct asking *asking)
{
    static const struct {
        const char *name;
        int type;
    } replies[] = {{"SET", REPLY_STATUS}, {"ZADD", REPLY_INTEGER}, {"ZREMRANGEBYRANK", REPLY_INTEGER}};
    enum remote_fate worst = REMOTE_DONE;
    const char *reason = NULL;
    for (int i = 0; i < (asking->job->index ? 3 : 1); i++) {
        enum remote_fate fate = expect(asking, replies[i].name, replies[i].type, REMOTE_REFUSED);
        if (fate == REMOTE_FAILED) return fate;
        if (fate == REMOTE_DONE || worst != REMOTE_DONE) continue;
        worst = fate;
        reason = asking->job->reason;
    }
    asking->job->reason = reason;
    return worst;
}

// The reply is an array of texts or nils.
static enum remote_fate hear_array(struct asking *asking, const char *name, struct reply *reply)
{
    enum remote_fate fate = read_reply(asking, reply);
    if (fate != REMOTE_DONE || reply->arrays) return fate;
    if (!is_error(reply))
        return fail(asking, arena_printf(asking->job->arena, "its answer to %s makes no sense", name));
    asking->job->reason = complaint(asking, name, reply);
    return strncmp(reply->bytes.data + reply->items[0].begin, "WRONGTYPE", 9) == 0 ? REMOTE_REFUSED : REMOTE_FAILED;
}

static enum remote_fate hear_list(struct asking *asking)
{
    struct remote_job *job = asking->job;
    struct reply keys = {0}, entries = {0};
    const char *words[REMOTE_LIST_LIMIT + 1] = {"MGET"}, *hexes[REMOTE_LIST_LIMIT];
    size_t lengths[REMOTE_LIST_LIMIT + 1] = {4};
    int count = 0;
    enum remote_fate fate = hear_array(asking, "ZREVRANGE", &keys);
    for (int i = 0; fate == REMOTE_DONE && i < keys.count; i++) {
        const char *hex =
            arena_copy(job->arena, keys.bytes.data ? keys.bytes.data + keys.items[i].begin : "", keys.items[i].length);
        if (strlen(hex) != CACHE_KEY_BYTES || strspn(hex, "0123456789abcdef") != CACHE_KEY_BYTES) continue;
        hexes[count++] = hex;
        words[count] = key_name(asking, job->kind, hex, &lengths[count]);
    }
    if (fate == REMOTE_DONE && count) {
        command(asking, count + 1, words, lengths);
        fate = send_commands(asking);
        if (fate == REMOTE_DONE) fate = hear_array(asking, "MGET", &entries);
        for (int i = 0; fate == REMOTE_DONE && i < count && i < entries.count; i++) {
            const struct item *item = &entries.items[i];
            if (item->type == REPLY_STRING)
                job->found(job->user, hexes[i], entries.bytes.data + item->begin, item->length);
        }
    }
    text_free(&keys.bytes);
    text_free(&entries.bytes);
    return fate;
}

static enum remote_fate hear_answer(struct asking *asking)
{
    switch (asking->job->verb) {
    case REMOTE_GET: return hear_get(asking);
    case REMOTE_PUT: return hear_put(asking);
    case REMOTE_LIST: return hear_list(asking);
    case REMOTE_PROBE: return expect(asking, "PING", REPLY_STATUS, REMOTE_FAILED);
    }
    return REMOTE_FAILED;
}

// Over a connection that is there, or a new one.
static enum remote_fate ask_once(struct asking *asking)
{
    bool fresh = !asking->link;
    enum remote_fate fate = fresh ? open_link(asking) : REMOTE_DONE;
    asking->silent = true;
    asking->room = asking->job->limit + AROUND;
    asking->reader =
        fate == REMOTE_DONE ? hiredis.new_reader(hiredis.later ? (const void *)&makers_1 : &makers_0) : NULL;
    if (fate == REMOTE_DONE && !asking->reader) fate = fail(asking, "out of memory");
    if (fate == REMOTE_DONE) {
        if (fresh) say_who(asking);
        say_question(asking);
        fate = send_commands(asking);
    }
    if (fate == REMOTE_DONE && fresh) fate = hear_who(asking);
    if (fate == REMOTE_DONE) fate = hear_answer(asking);
    if (asking->reader) hiredis.free_reader(asking->reader);
    asking->reader = NULL;
    if (fate == REMOTE_FAILED) redis_forget(&asking->link);
    return fate;
}

enum remote_fate redis_ask(struct redis_link **link, const struct remote_address *address, struct remote_job *job)
{
    pthread_once(&opened, open_library);
    if (!hiredis.here) {
        job->reason = "hiredis isn't here: versions 0.14 to 1.4 were looked for; install it: sudo "
                      "apt-get install libhiredis-dev";
        return REMOTE_UNABLE;
    }
    // A server that closed the connection, or says more than it was asked, is called anew.
    if (*link && !net_is_quiet((*link)->socket)) redis_forget(link);
    bool reused = *link != NULL;
    struct asking asking = {.address = address, .job = job, .link = *link};
    enum remote_fate fate = ask_once(&asking);
    // It may have closed it just now.
    if (fate == REMOTE_FAILED && reused && asking.silent && seconds_now() < job->deadline) fate = ask_once(&asking);
    text_free(&asking.commands);
    *link = asking.link;
    return fate;
}
