// SPDX-License-Identifier: Apache-2.0
// In: a socket, texts. Out: whole messages, or the knowledge that there are none.
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/wire.h"

enum { HEAD_BYTES = 4 };

// ---------------------------------------------------------------------------------------------- sockets

static bool send_bytes(int socket, const char *bytes, size_t length)
{
    while (length) {
        ssize_t count = send(socket, bytes, length, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes += count;
        length -= (size_t)count;
    }
    return true;
}

bool wire_send(int socket, const struct text *text)
{
    unsigned char head[HEAD_BYTES];
    for (int i = 0; i < HEAD_BYTES; i++) head[i] = (unsigned char)(text->length >> 8 * i);
    return text->length <= WIRE_LIMIT && send_bytes(socket, (const char *)head, sizeof head) && send_bytes(socket, text->data, text->length);
}

static bool receive_bytes(int socket, char *bytes, size_t length)
{
    while (length) {
        ssize_t count = recv(socket, bytes, length, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes += count;
        length -= (size_t)count;
    }
    return true;
}

static size_t length_of(const char *head)
{
    size_t length = 0;
    for (int i = 0; i < HEAD_BYTES; i++) length |= (size_t)(unsigned char)head[i] << 8 * i;
    return length;
}

struct wire *wire_receive(int socket)
{
    char head[HEAD_BYTES];
    if (!receive_bytes(socket, head, sizeof head)) return NULL;
    size_t length = length_of(head);
    char *text = length <= WIRE_LIMIT ? malloc(length + 1) : NULL;
    struct wire *message = text && receive_bytes(socket, text, length) ? wire_parse(text, length) : NULL;
    free(text);
    return message;
}

struct wire *wire_take(struct text *inbox, bool *bad)
{
    if (inbox->length < HEAD_BYTES) return NULL;
    size_t length = length_of(inbox->data);
    if (length > WIRE_LIMIT) return *bad = true, NULL;
    if (inbox->length < HEAD_BYTES + length) return NULL;
    struct wire *message = wire_parse(inbox->data + HEAD_BYTES, length);
    inbox->length -= HEAD_BYTES + length;
    memmove(inbox->data, inbox->data + HEAD_BYTES + length, inbox->length + 1);
    *bad = !message;
    return message;
}

// ---------------------------------------------------------------------------------------------- reading

// The handle is cJSON's own, under another name so that nothing else depends on it.
static const cJSON *json(const struct wire *item)
{
    return (const cJSON *)(const void *)item;
}

static const struct wire *wire(const cJSON *item)
{
    return (const struct wire *)(const void *)item;
}

struct wire *wire_parse(const char *text, size_t length)
{
    if (memchr(text, 0, length)) return NULL;
    cJSON *root = cJSON_ParseWithLength(text, length);
    if (cJSON_IsObject(root)) return (struct wire *)(void *)root;
    cJSON_Delete(root);
    return NULL;
}

void wire_free(struct wire *message)
{
    cJSON_Delete((cJSON *)(void *)message);
}

static const cJSON *under(const struct wire *object, const char *key)
{
    return object && cJSON_IsObject(json(object)) ? cJSON_GetObjectItemCaseSensitive(json(object), key) : NULL;
}

const struct wire *wire_get(const struct wire *object, const char *key)
{
    return wire(under(object, key));
}

const char *wire_item_text(const struct wire *item)
{
    return item && cJSON_IsString(json(item)) ? json(item)->valuestring : NULL;
}

double wire_item_number(const struct wire *item, double otherwise)
{
    return item && cJSON_IsNumber(json(item)) ? json(item)->valuedouble : otherwise;
}

int64_t wire_item_long(const struct wire *item, int64_t otherwise)
{
    const char *text = wire_item_text(item);
    char *end = NULL;
    errno = 0;
    long long value = text && *text ? strtoll(text, &end, 10) : 0;
    return end && !*end && !errno ? value : otherwise;
}

const char *wire_text(const struct wire *object, const char *key)
{
    return wire_item_text(wire_get(object, key));
}

double wire_number(const struct wire *object, const char *key, double otherwise)
{
    return wire_item_number(wire_get(object, key), otherwise);
}

int wire_int(const struct wire *object, const char *key, int otherwise)
{
    double value = wire_number(object, key, NAN);
    return value >= INT32_MIN && value <= INT32_MAX && value == floor(value) ? (int)value : otherwise;
}

int64_t wire_long(const struct wire *object, const char *key, int64_t otherwise)
{
    return wire_item_long(wire_get(object, key), otherwise);
}

bool wire_bool(const struct wire *object, const char *key)
{
    return cJSON_IsTrue(under(object, key));
}

const char *wire_key(const struct wire *object, int index)
{
    const cJSON *item = object && cJSON_IsObject(json(object)) ? json(object)->child : NULL;
    for (; item && index > 0; index--) item = item->next;
    return item ? item->string : NULL;
}

int wire_count(const struct wire *array)
{
    return array && cJSON_IsArray(json(array)) ? cJSON_GetArraySize(json(array)) : 0;
}

const struct wire *wire_first(const struct wire *array)
{
    return array && cJSON_IsArray(json(array)) ? wire(json(array)->child) : NULL;
}

const struct wire *wire_next(const struct wire *item)
{
    return wire(json(item)->next);
}

char *wire_print(const struct wire *item)
{
    return cJSON_PrintUnformatted(json(item));
}

// ---------------------------------------------------------------------------------------------- writing

static void add_key(struct text *out, const char *key)
{
    text_add(out, ", ");
    json_string(out, key);
    text_add(out, ": ");
}

void wire_add_text(struct text *out, const char *key, const char *value)
{
    add_key(out, key);
    json_string(out, value ? value : "");
}

void wire_add_number(struct text *out, const char *key, double value)
{
    add_key(out, key);
    if (isfinite(value)) text_double(out, value);
    else text_add(out, "null");
}

void wire_add_int(struct text *out, const char *key, int value)
{
    add_key(out, key);
    text_printf(out, "%d", value);
}

void wire_add_long(struct text *out, const char *key, int64_t value)
{
    add_key(out, key);
    text_printf(out, "\"%lld\"", (long long)value);
}

void wire_add_bool(struct text *out, const char *key, bool value)
{
    add_key(out, key);
    text_add(out, value ? "true" : "false");
}
