// SPDX-License-Identifier: Apache-2.0
// In: sizes. Out: zeroed memory that lives until the arena is freed.
// A list of blocks, each four times as large as the last up to a bound, filled from the front. Under AddressSanitizer
// every object is an allocation of its own, so that a read past its end is seen.
#include "ir/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_SEPARATE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_SEPARATE 1
#endif
#endif
#ifndef ARENA_SEPARATE
#define ARENA_SEPARATE 0
#endif

enum { ALIGNMENT = _Alignof(max_align_t), FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct block {
    struct block *next;
    size_t used, capacity;
    _Alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *blocks;  // the newest first; only that one is filled
    size_t next_capacity;
};

struct arena *arena_new(void)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena) arena->next_capacity = FIRST_BLOCK;
    return arena;
}

void arena_free(struct arena *arena)
{
    if (!arena) return;
    struct block *block = arena->blocks;
    while (block) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr, "tilec: out of memory (%zu bytes asked for)\n", bytes);
    exit(70);
}

static struct block *add_block(struct arena *arena, size_t capacity)
{
    struct block *block = calloc(1, sizeof *block + capacity);
    if (!block) out_of_memory(capacity);
    block->capacity = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

// A block for an object of `bytes`. A large object gets one of its own behind the block in use, which goes on.
static struct block *block_for(struct arena *arena, size_t bytes)
{
    if (ARENA_SEPARATE) return add_block(arena, bytes);
    struct block *newest = arena->blocks;
    if (newest && newest->capacity - newest->used >= bytes) return newest;
    if (!newest || bytes <= arena->next_capacity / 4) {
        size_t capacity = arena->next_capacity > bytes ? arena->next_capacity : bytes;
        if (arena->next_capacity < LARGEST_BLOCK) arena->next_capacity *= 4;
        return add_block(arena, capacity);
    }
    struct block *own = add_block(arena, bytes);
    arena->blocks = newest;
    own->next = newest->next;
    newest->next = own;
    return own;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) out_of_memory(bytes);
    // Under the sanitizer the size stays exact, so that the byte behind the object is out of bounds.
    size_t rounded = ARENA_SEPARATE ? bytes : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!rounded) rounded = ARENA_SEPARATE ? 1 : ALIGNMENT;
    struct block *block = block_for(arena, rounded);
    void *object = block->bytes + block->used;
    block->used += rounded;
    return object;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = arena_alloc(arena, (size_t)(length < 0 ? 0 : length) + 1);
    if (length > 0) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void *arena_grow(struct arena *arena, const void *old, size_t old_bytes, size_t new_bytes)
{
    void *grown = arena_alloc(arena, new_bytes);
    if (old_bytes) memcpy(grown, old, old_bytes);
    return grown;
}
