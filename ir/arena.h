// SPDX-License-Identifier: Apache-2.0
// Memory with one lifetime: everything taken from an arena lives until arena_free.
// Passes never free; the owner of the arena does, once.
#ifndef TILEC_IR_ARENA_H
#define TILEC_IR_ARENA_H

#include <stddef.h>

struct arena;

// Returns NULL only when the system is out of memory.
struct arena *arena_new(void);
void arena_free(struct arena *arena);

// Zeroed memory aligned for any object. Never NULL: out of memory ends the process with exit code 70
// and a message, the one failure that isn't reported as a value.
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_copy(struct arena *arena, const char *text, size_t length);  // adds a final NUL
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))

// A growing array in an arena: ARENA_PUSH(arena, items, count, capacity, value).
#define ARENA_PUSH(arena, items, count, capacity, value)                                                     \
    do {                                                                                                     \
        if ((count) == (capacity))                                                                           \
            (items) = arena_grow((arena), (items), (size_t)(count) * sizeof *(items),                        \
                                 (size_t)((capacity) = (capacity) ? 2 * (capacity) : 8) * sizeof *(items));  \
        (items)[(count)++] = (value);                                                                        \
    } while (0)
void *arena_grow(struct arena *arena, const void *old, size_t old_bytes, size_t new_bytes);

#endif
