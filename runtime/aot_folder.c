// SPDX-License-Identifier: Apache-2.0
// What the phases of `tilec aot` leave for each other, so that each can be done by itself and goes on where it was
// broken off: a file for every shape and phase, written whole or not at all, which says what it is for. One for another
// shape, program or list of configs is as good as none.
//
//   collect/0.json   what a search found for shape 0     collect/0.journal   the search's own journal
//   configs.json     all that were found                 measure/0.json      their times on shape 0
//                                                        measure/0.list      the configs for its extents
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/aot.h"
#include "runtime/wire.h"

const char *aot_file(struct arena *arena, const char *folder, const char *phase, int shape, const char *ending) {
    return arena_printf(arena, "%s/%s/%d.%s", folder, phase, shape, ending);
}

static struct status make_folder(struct arena *arena, const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return STATUS_OK;
    return status_failed(arena, "write.folder", "can't make the folder %s: %s", path, strerror(errno));
}

struct status aot_make_folders(struct arena *arena, const char *folder) {
    struct status status = make_folder(arena, folder);
    if (status.ok)
        status = make_folder(arena, arena_printf(arena, "%s/collect", folder));
    return status.ok ? make_folder(arena, arena_printf(arena, "%s/measure", folder)) : status;
}

// The object of a file that is for this shape, and says on what it was made; NULL: there is none.
static struct wire *read_for(struct arena *arena, const char *path, const struct aot_shape *shape) {
    const char *reason = NULL;
    const struct source *source = source_read(arena, path, &reason);
    struct wire *root = source ? wire_parse(source->text, source->length) : NULL;
    const char *hash = wire_text(root, "shape");
    if (hash && strcmp(hash, shape->hash) == 0 && wire_text(root, "device"))
        return root;
    wire_free(root);
    return NULL;
}

static const char *device_of(struct arena *arena, const struct wire *root) {
    const char *device = wire_text(root, "device");
    return device ? arena_copy(arena, device, strlen(device)) : NULL;
}

static void begin_for(struct text *out, const struct aot_shape *shape, const char *device) {
    text_printf(out, "{\"shape\": \"%s\"", shape->hash);
    wire_add_text(out, "name", shape->name);
    wire_add_text(out, "device", device);
}

static struct status save(struct arena *arena, const char *path, struct text *text) {
    text_add(text, "}\n");
    struct status status = file_save(arena, path, text->data, text->length);
    text_free(text);
    return status;
}

// ---------------------------------------------------------------------------------------- found

struct aot_found aot_found_read(struct arena *arena, const char *folder, int index, const struct aot_shape *shape) {
    struct wire *root = read_for(arena, aot_file(arena, folder, "collect", index, "json"), shape);
    const struct wire *configs = wire_get(root, "configs");
    struct aot_found found = {.known = configs != NULL, .device = device_of(arena, root)};
    for (const struct wire *item = wire_first(configs); item && found.count < FOUND_MOST; item = wire_next(item)) {
        char *text = wire_print(item);
        if (text)
            found.configs[found.count++] = arena_copy(arena, text, strlen(text));
        free(text);
    }
    wire_free(root);
    return found;
}

struct status aot_found_save(struct arena *arena, const char *folder, int index, const struct aot_shape *shape,
                             const struct aot_found *found) {
    struct text text = {0};
    begin_for(&text, shape, found->device);
    text_add(&text, ", \"configs\": [");
    for (int i = 0; i < found->count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", found->configs[i]);
    text_add(&text, "]");
    return save(arena, aot_file(arena, folder, "collect", index, "json"), &text);
}

// ---------------------------------------------------------------------------------------- the list

int aot_list_add(struct arena *arena, struct aot_list *list, const char *text, bool choosable) {
    int at = 0;
    while (at < list->count && strcmp(list->texts[at], text) != 0)
        at++;
    if (at == list->limit)
        return -1;
    if (at == list->count) {
        list->texts[list->count++] = arena_copy(arena, text, strlen(text));
        list->choosable[at] = false;
    }
    list->choosable[at] |= choosable;
    return at;
}

struct status aot_list_save(struct arena *arena, const char *path, struct aot_list *list) {
    struct text text = {0};
    text_add(&text, "[");
    for (int i = 0; i < list->count; i++)
        text_printf(&text, "%s\n %s", i ? "," : "", list->texts[i]);
    text_add(&text, "\n]\n");
    struct cache_key key = cache_hash(&(struct cache_part){text.data, text.length}, 1);
    list->hash = arena_copy(arena, key.hex, strlen(key.hex));
    struct status status = file_save(arena, path, text.data, text.length);
    text_free(&text);
    return status;
}

// ---------------------------------------------------------------------------------------- times

enum { ID_LENGTH = 16 };  // of a config's hash

static const char *id_of(struct arena *arena, const char *config) {
    struct cache_key key = cache_hash(&(struct cache_part){config, strlen(config)}, 1);
    return arena_copy(arena, key.hex, ID_LENGTH);
}

static double time_of(const struct wire *root, const char *id) {
    const struct wire *time = wire_first(wire_get(root, "milliseconds"));
    const struct wire *config = wire_first(wire_get(root, "configs"));
    for (; config && time; config = wire_next(config), time = wire_next(time)) {
        const char *own = wire_item_text(config);
        double milliseconds = wire_item_number(time, INFINITY);
        if (own && strcmp(own, id) == 0)
            return milliseconds > 0 ? milliseconds : INFINITY;
    }
    return NAN;
}

const char *aot_times_read(struct arena *arena, const char *folder, int index, const struct aot_shape *shape,
                           const struct aot_list *list, double *milliseconds) {
    struct wire *root = read_for(arena, aot_file(arena, folder, "measure", index, "json"), shape);
    for (int i = 0; i < list->count; i++)
        milliseconds[i] = time_of(root, id_of(arena, list->texts[i]));
    const char *device = device_of(arena, root);
    wire_free(root);
    return device;
}

struct status aot_times_save(struct arena *arena, const char *folder, int index, const struct aot_shape *shape,
                             const char *device, const struct aot_list *list, const double *milliseconds) {
    struct text ids = {0}, times = {0}, text = {0};
    for (int i = 0; i < list->count; i++) {
        if (isnan(milliseconds[i]))
            continue;
        text_printf(&ids, "%s\"%s\"", ids.length ? ", " : "", id_of(arena, list->texts[i]));
        text_add(&times, times.length ? ", " : "");
        if (isfinite(milliseconds[i]))
            text_double(&times, milliseconds[i]);
        else
            text_add(&times, "null");
    }
    begin_for(&text, shape, device);
    text_printf(&text, ", \"configs\": [%s], \"milliseconds\": [%s]", ids.data ? ids.data : "",
                times.data ? times.data : "");
    text_free(&ids);
    text_free(&times);
    return save(arena, aot_file(arena, folder, "measure", index, "json"), &text);
}
