// SPDX-License-Identifier: Apache-2.0
// Owned tensors. In: a type and a shape. Out: aligned, zeroed data between two guard areas.
// The one idea: whoever writes outside the data changes a guard byte, and whoever forgets to write leaves poison.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/build.h"
#include "runtime/data.h"

enum { GUARD_BYTE = 0xc9, POISON_BYTE = 0x5a };

bool tensor_count(enum ir_type type, int rank, const int64_t *shape, int64_t *count)
{
    int64_t total = 1, bytes;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return false;
        if (shape[i] == 0) empty = true;
    }
    for (int i = 0; i < rank && !empty; i++) {
        if (__builtin_mul_overflow(total, shape[i], &total)) return false;
    }
    *count = empty ? 0 : total;
    return !__builtin_mul_overflow(*count, (int64_t)ir_type_bytes(type), &bytes);
}

int64_t tensor_elements(const struct ir_tensor *view)
{
    int64_t count = 0;
    return tensor_count(view->type, view->rank, view->shape, &count) ? count : 0;
}

// ---------------------------------------------------------------------------------------------- allocation

static void print_extents(struct text *out, int rank, const int64_t *shape)
{
    text_add(out, "[");
    for (int i = 0; i < rank; i++) text_printf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    text_add(out, "]");
}

void tensor_print_shape(struct text *out, const struct ir_tensor *view)
{
    text_add(out, ir_type_name(view->type));
    if (view->rank) print_extents(out, view->rank, view->shape);
}

static struct status refuse_size(struct arena *arena, const char *name, enum ir_type type, int rank,
                                 const int64_t *shape, const char *why)
{
    struct text text = {0};
    text_add(&text, ir_type_name(type));
    print_extents(&text, rank, shape);
    struct status status = status_failed(arena, "launch.memory", "'%s' would be %s, %s", name, text.data, why);
    text_free(&text);
    return status;
}

static int64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (int64_t)pages * page : INT64_MAX;
}

static const char *gibibytes(struct arena *arena, int64_t bytes)
{
    int64_t tenths = bytes / (1 << 30) * 10 + bytes % (1 << 30) * 10 / (1 << 30);
    return arena_printf(arena, "%lld.%lld GiB", (long long)(tenths / 10), (long long)(tenths % 10));
}

struct status tensor_new(struct arena *arena, const char *name, enum ir_type type, int rank, const int64_t *shape,
                         struct tensor *tensor)
{
    *tensor = (struct tensor){.view = {.type = type, .rank = rank}};
    int64_t count;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return refuse_size(arena, name, type, rank, shape, "which has a negative extent");
    }
    if (!tensor_count(type, rank, shape, &count))
        return refuse_size(arena, name, type, rank, shape, "whose size in bytes does not fit 64 bits");
    int64_t bytes = count * ir_type_bytes(type), memory = machine_memory();
    if (bytes > memory - 2 * TENSOR_GUARD_BYTES - TENSOR_ALIGNMENT) {
        return refuse_size(arena, name, type, rank, shape,
                           arena_printf(arena, "which takes %s; this machine has %s of memory",
                                        gibibytes(arena, bytes), gibibytes(arena, memory)));
    }
    // The guard behind begins right at the data's end; only the whole block is rounded up.
    size_t block = ((size_t)bytes + 2 * TENSOR_GUARD_BYTES + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
    tensor->block = aligned_alloc(TENSOR_ALIGNMENT, block);
    if (!tensor->block)
        return refuse_size(arena, name, type, rank, shape,
                           arena_printf(arena, "which takes %s; the system gives no more", gibibytes(arena, bytes)));
    tensor->bytes = (size_t)bytes;
    memset(tensor->block, GUARD_BYTE, TENSOR_GUARD_BYTES);
    memset(tensor->block + TENSOR_GUARD_BYTES, 0, tensor->bytes);
    memset(tensor->block + TENSOR_GUARD_BYTES + tensor->bytes, GUARD_BYTE, block - TENSOR_GUARD_BYTES - tensor->bytes);
    tensor->view.data = tensor->block + TENSOR_GUARD_BYTES;
    for (int i = 0; i < rank; i++) tensor->view.shape[i] = shape[i];
    return STATUS_OK;
}

void tensor_free(struct tensor *tensor)
{
    free(tensor->block);
    *tensor = (struct tensor){0};
}

struct copying {
    const char *from;
    char *to;
};

static void copy_block(void *data, int64_t block, int64_t begin, int64_t end)
{
    const struct copying *copying = data;
    (void)block;
    memcpy(copying->to + begin, copying->from + begin, (size_t)(end - begin));
}

struct status tensor_copy(struct arena *arena, const char *name, const struct tensor *from, struct tensor *to)
{
    struct status status = tensor_new(arena, name, from->view.type, from->view.rank, from->view.shape, to);
    struct copying copying = {from->view.data, to->view.data};
    if (status.ok) work_in_blocks((int64_t)from->bytes, copy_block, &copying);
    return status;
}

struct status tensor_convert(struct arena *arena, const char *name, const struct tensor *from, enum ir_type type,
                             struct tensor *to)
{
    struct status status = tensor_new(arena, name, type, from->view.rank, from->view.shape, to);
    if (!status.ok) return status;
    bool from_float = ir_type_is_float(from->view.type), to_float = ir_type_is_float(type);
    int64_t count = tensor_elements(&from->view);
    for (int64_t i = 0; i < count; i++) {
        struct ir_scalar value = tensor_get(&from->view, i);
        if (from_float && !to_float) value.integer = ir_integer_of(type, value.number);
        if (!from_float && to_float) value.number = (double)value.integer;
        tensor_set(&to->view, i, value);
    }
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- elements

struct ir_scalar tensor_get(const struct ir_tensor *view, int64_t index)
{
    const void *data = view->data;
    switch (view->type) {
    case TYPE_BOOL:
        return (struct ir_scalar){.integer = ((const uint8_t *)data)[index] != 0};
    case TYPE_I8:
        return (struct ir_scalar){.integer = ((const int8_t *)data)[index]};
    case TYPE_U8:
        return (struct ir_scalar){.integer = ((const uint8_t *)data)[index]};
    case TYPE_I32:
        return (struct ir_scalar){.integer = ((const int32_t *)data)[index]};
    case TYPE_I64:
        return (struct ir_scalar){.integer = ((const int64_t *)data)[index]};
    case TYPE_F16:
        return (struct ir_scalar){.number = ir_f16_to_f32(((const uint16_t *)data)[index])};
    case TYPE_BF16:
        return (struct ir_scalar){.number = ir_bf16_to_f32(((const uint16_t *)data)[index])};
    case TYPE_F32:
        return (struct ir_scalar){.number = ((const float *)data)[index]};
    case TYPE_F64:
        return (struct ir_scalar){.number = ((const double *)data)[index]};
    default:
        return (struct ir_scalar){0};
    }
}

void tensor_set(const struct ir_tensor *view, int64_t index, struct ir_scalar value)
{
    void *data = view->data;
    switch (view->type) {
    case TYPE_BOOL:
        ((uint8_t *)data)[index] = value.integer != 0;
        break;
    case TYPE_I8:
    case TYPE_U8:
        ((uint8_t *)data)[index] = (uint8_t)value.integer;
        break;
    case TYPE_I32:
        ((uint32_t *)data)[index] = (uint32_t)value.integer;
        break;
    case TYPE_I64:
        ((int64_t *)data)[index] = value.integer;
        break;
    case TYPE_F16:
        ((uint16_t *)data)[index] = ir_f16_from_f64(value.number);
        break;
    case TYPE_BF16:
        ((uint16_t *)data)[index] = ir_bf16_from_f64(value.number);
        break;
    case TYPE_F32:
        ((float *)data)[index] = (float)value.number;
        break;
    case TYPE_F64:
        ((double *)data)[index] = value.number;
        break;
    default:
        break;
    }
}

// ---------------------------------------------------------------------------------------------- poison and guards

// Quiet NaNs with a payload that no arithmetic makes; for the rest one byte repeated, as bool neither false nor true.
static uint64_t poison_bits(enum ir_type type)
{
    switch (type) {
    case TYPE_F16:
        return 0x7fa5;
    case TYPE_BF16:
        return 0x7fe5;
    case TYPE_F32:
        return 0x7fe5a5a5;
    case TYPE_F64:
        return 0x7ffda5a5a5a5a5a5;
    default:
        return (uint64_t)POISON_BYTE * 0x0101010101010101;
    }
}

static void poison_block(void *tensor, int64_t block, int64_t begin, int64_t end)
{
    const struct ir_tensor *view = &((const struct tensor *)tensor)->view;
    uint64_t bits = poison_bits(view->type);  // little-endian: its low bytes come first
    size_t size = (size_t)ir_type_bytes(view->type);
    (void)block;
    for (int64_t i = begin; i < end; i++) memcpy((unsigned char *)view->data + (size_t)i * size, &bits, size);
}

void tensor_poison(struct tensor *tensor)
{
    work_in_blocks((int64_t)(tensor->bytes / (size_t)ir_type_bytes(tensor->view.type)), poison_block, tensor);
}

bool tensor_is_poison(const struct ir_tensor *view, int64_t index)
{
    uint64_t bits = poison_bits(view->type);
    size_t size = (size_t)ir_type_bytes(view->type);
    return memcmp((const unsigned char *)view->data + (size_t)index * size, &bits, size) == 0;
}

struct status tensor_check_guards(struct arena *arena, const char *name, const struct tensor *tensor)
{
    if (!tensor->block) return STATUS_OK;
    const unsigned char *before = tensor->block, *behind = tensor->block + TENSOR_GUARD_BYTES + tensor->bytes;
    for (int i = TENSOR_GUARD_BYTES; i-- > 0;) {
        if (before[i] != GUARD_BYTE)
            return status_failed(arena, "check.guard", "something was written %d bytes before the beginning of '%s'",
                                 TENSOR_GUARD_BYTES - i, name);
    }
    for (int i = 0; i < TENSOR_GUARD_BYTES; i++) {
        if (behind[i] != GUARD_BYTE)
            return status_failed(arena, "check.guard", "something was written %d bytes behind the end of '%s'", i, name);
    }
    return STATUS_OK;
}
