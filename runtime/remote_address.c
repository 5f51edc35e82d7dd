// SPDX-License-Identifier: Apache-2.0
// In: the address of a remote cache as a user writes it. Out: its pieces, or which piece is wrong and what to write.
//
// Messages quote the piece that is wrong and never the whole, for a password may be in it.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/remote.h"

enum { CONNECT_MS = 200, TIMEOUT_MS = 1000, PAUSE_S = 60, REDIS_PORT = 6379, PREFIX_BYTES = 256 };

struct reading {
    struct arena *arena;
    const char *what;
    struct status status;
};

static void __attribute__((format(printf, 2, 3))) refuse(struct reading *reading, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    if (!reading->status.ok) return;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    reading->status =
        status_failed(reading->arena, "usage.cache", "%s: %s", reading->what, length < 0 ? "out of memory" : text);
    if (length >= 0) free(text);
}

static const char *piece(const struct reading *reading, const char *begin, const char *end)
{
    return arena_copy(reading->arena, begin, (size_t)(end - begin));
}

// Without %XX. `length` counts bytes, among which there may be any.
static char *unescape(struct reading *reading, const char *text, size_t *length)
{
    char *out = arena_copy(reading->arena, text, strlen(text));
    size_t count = 0;
    for (const char *at = text; *at; at++) {
        char digits[3] = {0};
        if (*at == '%') memcpy(digits, at + 1, strnlen(at + 1, 2));
        if (*at == '%' && strspn(digits, "0123456789abcdefABCDEF") != 2)
            return refuse(reading, "'%%%s' is no escape; write a percent sign as %%25", digits), out;
        out[count++] = *at == '%' ? (char)strtol(digits, NULL, 16) : *at;
        if (*at == '%') at += 2;
    }
    out[count] = 0;
    *length = count;
    return out;
}

// Such as becomes a text by itself: a user, a password.
static const char *unescape_text(struct reading *reading, const char *text)
{
    size_t length = 0;
    const char *out = unescape(reading, text, &length);
    if (strlen(out) != length) refuse(reading, "a user or password with %%00 in it can't be sent");
    return out;
}

static long read_number(struct reading *reading, const char *name, const char *text, long least, long most)
{
    char *end = NULL;
    bool digits = *text >= '0' && *text <= '9' && strlen(text) < 10;
    long number = digits ? strtol(text, &end, 10) : 0;
    if (!digits || *end || number < least || number > most)
        refuse(reading, "%s '%s' is not a number from %ld to %ld", name, text, least, most);
    return number;
}

// ---------------------------------------------------------------------------------------------- pieces

static void read_user(struct reading *reading, struct remote_address *address, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        return refuse(reading, "there is a user and no password before the @; write USER:PASSWORD@ or :PASSWORD@");
    if (colon > text) address->user = unescape_text(reading, piece(reading, text, colon));
    address->password = unescape_text(reading, colon + 1);
}

static void read_host(struct reading *reading, struct remote_address *address, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    bool six = *text == '[';
    const char *begin = text + six, *end = six ? strchr(text, ']') : text + strcspn(text, ":");
    if (!end) return refuse(reading, "'%s' has no ]; write an IPv6 address as [::1]", text);
    const char *after = end + six;
    address->host = piece(reading, begin, end);
    if (!*address->host)
        return refuse(reading, "there is no host; write redis://HOST:PORT/DATABASE or https://HOST/PATH");
    if (strspn(address->host, six ? "0123456789abcdefABCDEF:.%" : letters) != strlen(address->host))
        return refuse(reading, "'%s' is not the name or number of a host; write an IPv6 address as [::1]",
                      address->host);
    address->port = address->kind == REMOTE_REDIS ? REDIS_PORT : address->tls ? 443 : 80;
    if (*after && *after != ':')
        return refuse(reading, "'%s' stands behind the host; a port is written :%d", after, address->port);
    if (*after) address->port = (int)read_number(reading, "the port", after + 1, 1, 65535);
}

static void read_path(struct reading *reading, struct remote_address *address, const char *text)
{
    size_t length = strlen(text);
    if (address->kind == REMOTE_REDIS) {
        if (length > 1) address->database = (int)read_number(reading, "the database", text + 1, 0, 1000000);
        return;
    }
    while (length && text[length - 1] == '/') length--;
    address->path = piece(reading, text, text + length);
}

static void read_prefix(struct reading *reading, struct remote_address *address, const char *value)
{
    if (address->kind == REMOTE_HTTP)
        return refuse(reading, "prefix is for redis://; over HTTP write it as a path: https://HOST/PREFIX");
    address->prefix = unescape(reading, value, &address->prefix_length);
    if (address->prefix_length > PREFIX_BYTES)
        refuse(reading, "a prefix has at most %d bytes, this one has %zu", PREFIX_BYTES, address->prefix_length);
}

static void read_readonly(struct reading *reading, struct remote_address *address, const char *value)
{
    address->readonly = !*value || strcmp(value, "1") == 0;
    if (!address->readonly && strcmp(value, "0") != 0) refuse(reading, "readonly '%s' is not 1 or 0", value);
}

static void read_parameter(struct reading *reading, struct remote_address *address, const char *text)
{
    const char *equals = strchr(text, '='), *value = equals ? equals + 1 : "";
    const char *name = equals ? piece(reading, text, equals) : text;
    if (strcmp(name, "prefix") == 0) read_prefix(reading, address, value);
    else if (strcmp(name, "readonly") == 0) read_readonly(reading, address, value);
    else if (strcmp(name, "connect_ms") == 0) address->connect_ms = (int)read_number(reading, name, value, 1, 600000);
    else if (strcmp(name, "timeout_ms") == 0) address->timeout_ms = (int)read_number(reading, name, value, 1, 600000);
    else if (strcmp(name, "pause_s") == 0) address->pause_s = (int)read_number(reading, name, value, 0, 86400);
    else
        refuse(reading, "there is no parameter '%s'; there are prefix, readonly, connect_ms, timeout_ms and pause_s",
               name);
}

static void read_parameters(struct reading *reading, struct remote_address *address, const char *text)
{
    while (*text) {
        const char *end = text + strcspn(text, "&");
        if (end > text) read_parameter(reading, address, piece(reading, text, end));
        text = end + (*end == '&');
    }
}

// ---------------------------------------------------------------------------------------------- the whole

static const char *read_scheme(struct reading *reading, struct remote_address *address, const char *text)
{
    static const struct {
        const char *name;
        enum remote_kind kind;
        bool tls;
    } schemes[] = {{"redis://", REMOTE_REDIS, false}, {"http://", REMOTE_HTTP, false}, {"https://", REMOTE_HTTP, true}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i].name);
        if (strncasecmp(text, schemes[i].name, length) != 0) continue;
        address->kind = schemes[i].kind;
        address->tls = schemes[i].tls;
        return text + length;
    }
    const char *slashes = strstr(text, "://");
    if (strncasecmp(text, "rediss://", 9) == 0)
        refuse(reading, "Redis over TLS isn't spoken; use https://, or redis:// to a tunnel on this machine");
    else if (slashes)
        refuse(reading, "'%s' is no scheme that is known; there are redis://, http:// and https://",
               piece(reading, text, slashes + 3));
    else
        refuse(reading, "it doesn't begin with a scheme; write redis://HOST:PORT/DATABASE, https://HOST/PATH, or none");
    return NULL;
}

static void check_letters(struct reading *reading, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '#') return refuse(reading, "a # isn't part of an address; in a password or prefix write %%23");
        if (*at <= ' ' || *at >= 127) return refuse(reading, "byte %d, 0x%02x, can't stand in an address; write %%%02X",
                                                    (int)(at - (const unsigned char *)text) + 1, *at, *at);
    }
}

static void read_token(struct reading *reading, struct remote_address *address)
{
    const char *token = getenv("TILEC_REMOTE_CACHE_TOKEN");
    if (!token || !*token) return;
    size_t good = 0;
    while (token[good] && token[good] >= ' ' && token[good] != 127) good++;
    if (token[good]) {
        reading->what = "TILEC_REMOTE_CACHE_TOKEN";
        refuse(reading, "byte %zu is a control character, which no token has; is there a line end behind it?",
               good + 1);
    }
    address->token = arena_copy(reading->arena, token, strlen(token));
    if (address->kind == REMOTE_REDIS && !address->password) address->password = address->token;
}

static const char *shown(struct arena *arena, const struct remote_address *address)
{
    const char *left = strchr(address->host, ':') ? "[" : "", *right = *left ? "]" : "";
    if (address->kind == REMOTE_REDIS)
        return arena_printf(arena, "redis://%s%s%s:%d/%d", left, address->host, right, address->port,
                            address->database);
    return arena_printf(arena, "%s://%s%s%s:%d%s", address->tls ? "https" : "http", left, address->host, right,
                        address->port, address->path);
}

struct status remote_parse(struct arena *arena, const char *what, const char *text, const struct remote_address **done)
{
    struct reading reading = {arena, what, STATUS_OK};
    struct remote_address *address = ARENA_NEW(arena, struct remote_address);
    *done = NULL;
    if (!*text || strcmp(text, "none") == 0) return STATUS_OK;
    *address = (struct remote_address){.text = arena_copy(arena, text, strlen(text)),
                                       .path = "",
                                       .host = "",
                                       .prefix = "tilec:",
                                       .prefix_length = 6,
                                       .connect_ms = CONNECT_MS,
                                       .timeout_ms = TIMEOUT_MS,
                                       .pause_s = PAUSE_S};
    check_letters(&reading, text);
    const char *rest = reading.status.ok ? read_scheme(&reading, address, text) : NULL;
    if (!rest) return reading.status;
    const char *end = rest + strcspn(rest, "/?"), *query = strchr(end, '?'), *host = rest;
    for (const char *at = rest; at < end; at++)
        if (*at == '@') host = at + 1;
    if (host > rest) read_user(&reading, address, piece(&reading, rest, host - 1));
    read_host(&reading, address, piece(&reading, host, end));
    read_path(&reading, address, query ? piece(&reading, end, query) : end);
    if (query) read_parameters(&reading, address, query + 1);
    read_token(&reading, address);
    address->shown = shown(arena, address);
    *done = reading.status.ok ? address : NULL;
    return reading.status;
}
