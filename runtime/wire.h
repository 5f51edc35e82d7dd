// SPDX-License-Identifier: Apache-2.0
// Messages between the driver of a tune and its workers: JSON behind its length in four bytes, and typed looks into it.
// A message that isn't what it should be is a failure of the sender, never of the reader. Private to runtime/.
#ifndef TILEC_RUNTIME_WIRE_H
#define TILEC_RUNTIME_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"
#include "ir/text.h"

enum { WIRE_LIMIT = 1 << 28 };

// A JSON value: of a message that arrived, or within one.
struct wire;
struct wire *wire_parse(const char *text, size_t length);  // NULL if it is no JSON object
void wire_free(struct wire *message);

// The whole of `text` with its length before it. False if the other side is gone or doesn't read.
bool wire_send(int socket, const struct text *text);
// Waits for a message. NULL: the other side is gone, or sent rubbish.
struct wire *wire_receive(int socket);
// The first whole message in `inbox`, which is taken out of it. *bad: there is rubbish.
struct wire *wire_take(struct text *inbox, bool *bad);

// What is under a key. Missing or of another type: what `otherwise` says, or NULL.
const char *wire_text(const struct wire *object, const char *key);
double wire_number(const struct wire *object, const char *key, double otherwise);
int wire_int(const struct wire *object, const char *key, int otherwise);
int64_t wire_long(const struct wire *object, const char *key, int64_t otherwise);  // written as a string
bool wire_bool(const struct wire *object, const char *key);
const struct wire *wire_get(const struct wire *object, const char *key);
const char *wire_key(const struct wire *object, int index);  // NULL behind the last
// Arrays (or NULL): their items in turn.
int wire_count(const struct wire *array);
const struct wire *wire_first(const struct wire *array);
const struct wire *wire_next(const struct wire *item);
const char *wire_item_text(const struct wire *item);
int64_t wire_item_long(const struct wire *item, int64_t otherwise);
double wire_item_number(const struct wire *item, double otherwise);
char *wire_print(const struct wire *item);  // as JSON in one line, on the heap; NULL: out of memory

// Writing: ", \"key\": value".
void wire_add_text(struct text *out, const char *key, const char *value);
void wire_add_number(struct text *out, const char *key, double value);   // null if it isn't finite
void wire_add_int(struct text *out, const char *key, int value);
void wire_add_long(struct text *out, const char *key, int64_t value);
void wire_add_bool(struct text *out, const char *key, bool value);

#endif
