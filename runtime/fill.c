// SPDX-License-Identifier: Apache-2.0
// The data of bound tensors. In: what a tensor is to hold: a generator's numbers, a file's, or poison. Out: that, in
// memory. Binding learns shapes from heads of files and from dimensions, so most data can wait until someone wants it.
#include <string.h>

#include "runtime/build.h"
#include "runtime/data.h"

// The file may have changed since its head was read.
static struct status read_file(struct arena *arena, const char *name, const struct bound_source *source, enum ir_type type,
                               const struct ir_tensor *view, struct tensor *tensor)
{
    struct tensor read;
    struct status status = npy_read(arena, source->path, &read);
    bool same = status.ok && read.view.type == source->file_type && read.view.rank == view->rank &&
                memcmp(read.view.shape, view->shape, sizeof *view->shape * (size_t)view->rank) == 0;
    if (!status.ok) status.reason = arena_printf(arena, "'%s': %s", name, status.reason);
    else if (!same) status = status_failed(arena, "file.read", "'%s': %s has changed while it was read", name, source->path);
    if (status.ok && type == source->file_type) *tensor = read, read = (struct tensor){0};
    else if (status.ok) status = tensor_convert(arena, name, &read, type, tensor);
    tensor_free(&read);
    return status;
}

struct status bound_fill_one(struct arena *arena, struct bound *bound, int param)
{
    struct bound_source *source = &bound->sources[param];
    const char *name = bound->kernel->params[param].name;
    struct ir_tensor *view = &bound->views[param];
    struct tensor *tensor = &bound->tensors[param];
    struct status status = STATUS_OK;
    enum bound_source_kind kind = source->kind;
    source->kind = SOURCE_NONE;
    if (kind == SOURCE_NONE) return STATUS_OK;
    if (kind == SOURCE_FILE) status = read_file(arena, name, source, view->type, view, tensor);
    else status = tensor_new(arena, name, view->type, view->rank, view->shape, tensor);
    if (status.ok && kind == SOURCE_GENERATED)
        status = generator_fill(arena, &source->generator, name, bound->seed, source->a, source->b, tensor);
    if (status.ok && kind == SOURCE_POISON) tensor_poison(tensor);
    if (status.ok) *view = tensor->view;
    bound->filled += status.ok && kind != SOURCE_POISON;
    return status;
}

struct status bound_fill(struct arena *arena, struct bound *bound)
{
    struct status status = STATUS_OK;
    for (int i = 0; i < bound->kernel->param_count && status.ok; i++) status = bound_fill_one(arena, bound, i);
    return status;
}

int64_t bound_bytes(const struct bound *bound)
{
    int64_t bytes = 0;
    for (int i = 0; i < bound->kernel->param_count; i++) {
        const struct ir_tensor *view = &bound->views[i];
        bool there = view->data || bound->sources[i].kind != SOURCE_NONE;
        if (there) bytes += tensor_elements(view) * ir_type_bytes(view->type);
    }
    return bytes;
}
