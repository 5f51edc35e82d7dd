// SPDX-License-Identifier: Apache-2.0
// The shapes that configs are to be chosen for. In: a list in JSON. Out: for each what `tilec run` would be given, and
// what the host knows of it.
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/aot.h"
#include "runtime/bind.h"
#include "runtime/wire.h"

enum { SHAPES_MOST = 10000 };

struct reading {
    struct arena *arena;
    const char *path;
    const struct tilec_run_options *common;
    int index;
    struct status status;
};

static bool refuse(struct reading *reading, const char *key, const char *what) {
    if (reading->status.ok)
        reading->status = status_failed(reading->arena, "usage.shapes", "%s: shape %d: %s: %s", reading->path,
                                        reading->index, key, what);
    return false;
}

// How a value begins in JSON: '{', '[', '"', 't', 'f', 'n' or a number's first character.
static char kind_of(const struct wire *value) {
    char *text = wire_print(value);
    char kind = text ? *text : 0;
    free(text);
    return kind;
}

static bool has_known_keys(struct reading *reading, const struct wire *shape) {
    static const char *const known[] = {"name", "held_out", "args", "dims", "types"};
    for (int i = 0; wire_key(shape, i); i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= strcmp(wire_key(shape, i), known[k]) == 0;
        if (!found)
            return refuse(reading, wire_key(shape, i), "there is no such key; there are name, held_out, args, dims and types");
    }
    return true;
}

static bool read_name(struct reading *reading, const struct wire *item, const struct aot_shapes *before,
                      const char **name) {
    const struct wire *value = wire_get(item, "name");
    if (value && kind_of(value) != '"')
        return refuse(reading, "name", "wants a text");
    *name = arena_printf(reading->arena, "shape %d", reading->index);
    if (value)
        *name = arena_printf(reading->arena, "%s", wire_text(item, "name"));
    for (int i = 0; i < before->count; i++)
        if (strcmp(before->items[i].name, *name) == 0)
            return refuse(reading, "name", arena_printf(reading->arena, "shape %d is called %s already", i, *name));
    return true;
}

// `before`, then the strings of an array.
static bool add_words(struct reading *reading, const struct wire *shape, const char *key, int before_count,
                      const char *const *before, int *count, const char *const **words) {
    const struct wire *array = wire_get(shape, key);
    if (array && kind_of(array) != '[')
        return refuse(reading, key, "wants an array of texts");
    const char **all = ARENA_ARRAY(reading->arena, const char *, before_count + wire_count(array) + 1);
    *count = 0;
    for (int i = 0; i < before_count; i++)
        all[(*count)++] = before[i];
    for (const struct wire *item = wire_first(array); item; item = wire_next(item)) {
        const char *text = wire_item_text(item);
        if (!text)
            return refuse(reading, key, "wants an array of texts");
        all[(*count)++] = arena_copy(reading->arena, text, strlen(text));
    }
    *words = all;
    return true;
}

static bool read_shape(struct reading *reading, const struct wire *item, const struct aot_shapes *before,
                       struct aot_shape *shape) {
    const struct tilec_run_options *common = reading->common;
    const struct wire *held_out = wire_get(item, "held_out");
    *shape = (struct aot_shape){.run = *common, .held_out = wire_bool(item, "held_out"), .longest = -1};
    if (kind_of(item) != '{')
        return refuse(reading, "it", "wants an object");
    if (!has_known_keys(reading, item) || !read_name(reading, item, before, &shape->name))
        return false;
    if (held_out && kind_of(held_out) != 't' && kind_of(held_out) != 'f')
        return refuse(reading, "held_out", "wants true or false");
    return add_words(reading, item, "args", common->argument_count, common->arguments, &shape->run.argument_count,
                     &shape->run.arguments) &&
           add_words(reading, item, "dims", common->dim_count, common->dims, &shape->run.dim_count, &shape->run.dims) &&
           add_words(reading, item, "types", common->type_count, common->types, &shape->run.type_count,
                     &shape->run.types);
}

// Where the text stops being JSON.
static struct span fault_of(const struct source *source) {
    const char *end = source->text;
    cJSON_Delete(cJSON_ParseWithLengthOpts(source->text, source->length + 1, &end, 1));
    uint32_t at = (uint32_t)(end - source->text);
    if (at > source->length)
        at = (uint32_t)source->length;
    return (struct span){source, at, at < source->length ? at + 1 : at};
}

struct status aot_shapes_read(struct arena *arena, const char *path, const struct tilec_run_options *common,
                              struct aot_shapes *shapes) {
    struct reading reading = {.arena = arena, .path = path, .common = common, .status = STATUS_OK};
    const char *reason = NULL;
    const struct source *source = source_read(arena, path, &reason);
    if (!source)
        return status_failed(arena, "usage.file", "can't read %s: %s", path, reason);
    const char *text = arena_printf(arena, "{\"list\": %s\n}", source->text);  // messages are objects
    struct wire *root = strlen(source->text) == source->length ? wire_parse(text, strlen(text)) : NULL;
    const struct wire *list = wire_get(root, "list");
    int count = wire_count(list);
    if (count < 1 || count > SHAPES_MOST)
        reading.status =
            status_failed(arena, "usage.shapes", "%s is no JSON array of 1 to %d shapes", path, SHAPES_MOST);
    if (!root)
        reading.status.span = fault_of(source);
    *shapes = (struct aot_shapes){.items = ARENA_ARRAY(arena, struct aot_shape, count + 1)};
    for (const struct wire *item = wire_first(list); item && reading.status.ok; item = wire_next(item), reading.index++)
        if (read_shape(&reading, item, shapes, &shapes->items[shapes->count]))
            shapes->count++;
    wire_free(root);
    return reading.status;
}

// ---------------------------------------------------------------------------------------- binding

static const char *hash_of(struct arena *arena, const struct aot_shape *shape, const char *target) {
    struct text text = {0};
    text_printf(&text, "%s %s %s %s %llu", target, shape->kernel->name, config_key_types(arena, shape->kernel),
                config_key_program(arena, shape->kernel), (unsigned long long)shape->run.seed);
    for (int i = 0; i < shape->run.argument_count; i++)
        text_printf(&text, "\n%s", shape->run.arguments[i]);
    for (int i = 0; i < shape->kernel->dim_count; i++)
        text_printf(&text, "\n%s=%lld", shape->kernel->dims[i].name, (long long)shape->dims[i]);
    struct cache_key key = cache_hash(&(struct cache_part){text.data, text.length}, 1);
    text_free(&text);
    return arena_copy(arena, key.hex, strlen(key.hex));
}

struct status aot_shapes_bind(struct arena *arena, const tilec_program *program, const char *target,
                              struct aot_shapes *shapes, struct diagnostics *diagnostics) {
    struct status status = STATUS_OK;
    for (int i = 0; i < shapes->count && status.ok; i++) {
        struct aot_shape *shape = &shapes->items[i];
        struct bound bound = {0};
        struct bind_request request = run_bind_request(program, &shape->run);
        request.lazy = true;
        status = bind_arguments(arena, &request, diagnostics, &bound);
        if (status.ok) {
            int sm = atoi(target + strcspn(target, "0123456789"));
            shape->data = resolve_data(arena, bound.kernel, bound.views, sm);
            shape->kernel = bound.kernel;
            shape->dims = bound.dims;
            shape->longest = shape->data.rows > 0 ? shape->data.longest : -1;
            shape->hash = hash_of(arena, shape, target);
        } else if (strncmp(status.code, "program.", 8) != 0) {
            status = status_failed(arena, status.code, "%s: %s", shape->name, status.reason);
        }
        bound_free(&bound);
    }
    return status;
}
