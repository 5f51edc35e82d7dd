// SPDX-License-Identifier: Apache-2.0
// In: the text of a dispatch file, dimensions. Out: its configs, and the value of its key.
#include "runtime/dispatch.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "runtime/data.h"
#include "runtime/runtime.h"

enum { DISPATCH_FORMAT = 1 };

struct reading {
    struct arena *arena;
    const struct ir_kernel *kernel;
    const struct source *source;
    struct dispatch *dispatch;
    struct status status;
};

static bool refuse(struct reading *reading, const char *what) {
    if (reading->status.ok)
        reading->status = status_failed(reading->arena, "config.dispatch", "%s: %s", reading->source->path, what);
    return false;
}

bool dispatch_is(const struct source *source) {
    cJSON *root = cJSON_ParseWithLength(source->text, source->length);
    bool found = cJSON_HasObjectItem(root, "configs");
    cJSON_Delete(root);
    return found;
}

// ---------------------------------------------------------------------------------------- the head

static bool has_known_keys(struct reading *reading, const cJSON *root) {
    static const char *const keys[] = {"format", "kernel", "key", "configs"};
    int found[4] = {0};
    for (const cJSON *item = root->child; item; item = item->next) {
        size_t key = 0;
        while (key < 4 && strcmp(keys[key], item->string) != 0)
            key++;
        if (key == 4)
            return refuse(reading,
                          arena_printf(reading->arena, "%s: no such key; there are format, kernel, key and configs",
                                       item->string));
        if (found[key]++)
            return refuse(reading, arena_printf(reading->arena, "%s: the key is there twice", item->string));
    }
    return true;
}

// Before all else: a newer format may have keys that are unknown here.
static bool read_format(struct reading *reading, const cJSON *root) {
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    if (!cJSON_IsNumber(format))
        return refuse(reading, "format: the key is missing; write \"format\": 1");
    if (format->valuedouble != DISPATCH_FORMAT)
        return refuse(reading, arena_printf(reading->arena, "format: this tilec (%s) reads format %d only",
                                            TILEC_VERSION, DISPATCH_FORMAT));
    return true;
}

static bool read_kernel(struct reading *reading, const cJSON *root) {
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(root, "kernel");
    if (kernel && (!cJSON_IsString(kernel) || strcmp(kernel->valuestring, reading->kernel->name) != 0))
        return refuse(reading,
                      arena_printf(reading->arena, "kernel: it is for another one than %s", reading->kernel->name));
    return true;
}

// "dispatch.json:2:9", of the byte at `offset` of the key's text; of the file where the text is written with escapes.
static const char *place_of(struct arena *arena, const struct source *source, const char *key, size_t offset) {
    const char *found = strstr(source->text, arena_printf(arena, "\"%s\"", key));
    int line = 1, column = 1;
    if (!found)
        return source->path;
    for (const char *at = source->text; at < found + 1 + offset; at++) {
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    return arena_printf(arena, "%s:%d:%d", source->path, line, column);
}

static bool read_key(struct reading *reading, const cJSON *root) {
    const cJSON *key = cJSON_GetObjectItemCaseSensitive(root, "key");
    if (!cJSON_IsString(key) || !*key->valuestring)
        return refuse(reading, "key: wants an expression over dimensions, as \"next_pow2(nnz)\"");
    reading->dispatch->key = arena_copy(reading->arena, key->valuestring, strlen(key->valuestring));
    return true;
}

// ---------------------------------------------------------------------------------------- the configs

static bool read_named(struct reading *reading, const char *name, struct config **config) {
    const char *path = reading->source->path, *slash = strrchr(path, '/');
    if (*name != '/' && slash)
        name = arena_printf(reading->arena, "%.*s/%s", (int)(slash - path), path, name);
    struct status status = config_load(reading->arena, reading->kernel, name, config);
    if (!status.ok)
        reading->status = status;
    return status.ok;
}

static bool read_inline(struct reading *reading, int index, const cJSON *item, struct config **config) {
    struct status status = config_read(reading->arena, reading->kernel, item, config);
    return status.ok || refuse(reading, arena_printf(reading->arena, "configs[%d]: %s", index, status.reason));
}

static bool read_configs(struct reading *reading, const cJSON *root) {
    struct dispatch *dispatch = reading->dispatch;
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, "configs");
    int count = cJSON_GetArraySize(array);
    if (!cJSON_IsArray(array) || count < 1 || count > DISPATCH_CONFIGS)
        return refuse(reading,
                      arena_printf(reading->arena, "configs: wants an array of 1 to %d configs", DISPATCH_CONFIGS));
    dispatch->configs = ARENA_ARRAY(reading->arena, const struct config *, count);
    for (const cJSON *item = array->child; item; item = item->next) {
        struct config *config = NULL;
        bool read = cJSON_IsString(item) ? read_named(reading, item->valuestring, &config)
                                         : read_inline(reading, dispatch->count, item, &config);
        if (!read)
            return false;
        dispatch->configs[dispatch->count++] = config;
    }
    return true;
}

struct status dispatch_parse(struct arena *arena, const struct ir_kernel *kernel, const struct source *source,
                             struct dispatch **dispatch) {
    struct reading reading = {.arena = arena, .kernel = kernel, .source = source, .status = STATUS_OK};
    cJSON *root = cJSON_ParseWithLengthOpts(source->text, source->length + 1, NULL, 1);
    *dispatch = reading.dispatch = ARENA_NEW(arena, struct dispatch);
    reading.dispatch->path = source->path;
    if (!cJSON_IsObject(root))
        refuse(&reading, "is no JSON object");
    else if (read_format(&reading, root) && has_known_keys(&reading, root) && read_kernel(&reading, root) &&
             read_key(&reading, root))
        read_configs(&reading, root);
    if (reading.status.ok)
        reading.dispatch->place = place_of(arena, source, reading.dispatch->key, 0);
    cJSON_Delete(root);
    return reading.status;
}

// ---------------------------------------------------------------------------------------- the value

struct naming {
    struct arena *arena;
    const struct ir_kernel *kernel;
    const struct ir_bindings *bindings;
};

static const char *known_names(const struct naming *naming) {
    const char *names = "";
    for (int i = 0; i < naming->kernel->dim_count; i++)
        names = arena_printf(naming->arena, "%s%s%s", names, i ? ", " : "", naming->kernel->dims[i].name);
    for (int i = 0; i < naming->kernel->param_count; i++)
        if (naming->kernel->params[i].kind == PARAM_SCALAR)
            names = arena_printf(naming->arena, "%s%s%s", names, *names ? ", " : "", naming->kernel->params[i].name);
    return *names ? names : "none";
}

static const char *look_up(void *data, const char *function, const char *name, struct expression_number *number,
                           bool *pending) {
    const struct naming *naming = data;
    const struct ir_kernel *kernel = naming->kernel;
    *pending = false;
    if (function)
        return arena_printf(naming->arena, "there is no function '%s', only min, max, cdiv and next_pow2", function);
    for (int i = 0; i < kernel->dim_count; i++) {
        if (strcmp(kernel->dims[i].name, name) != 0)
            continue;
        *number = (struct expression_number){.integer = naming->bindings->dims[i],
                                             .number = (double)naming->bindings->dims[i]};
        return NULL;
    }
    for (int i = 0; i < kernel->param_count; i++) {
        const struct ir_param *param = &kernel->params[i];
        if (param->kind != PARAM_SCALAR || strcmp(param->name, name) != 0)
            continue;
        const struct ir_scalar *scalar = &naming->bindings->params[i];
        bool floating = ir_type_is_float(param->type);
        *number =
            (struct expression_number){floating, scalar->integer, floating ? scalar->number : (double)scalar->integer};
        return NULL;
    }
    return arena_printf(naming->arena, "there is no dimension or scalar '%s' (there are: %s)", name,
                        known_names(naming));
}

// Where in its file something of the key is wrong.
static const char *place_in_key(struct arena *arena, const struct dispatch *dispatch, size_t offset) {
    const char *reason = NULL;
    const struct source *source = source_read(arena, dispatch->path, &reason);
    return source ? place_of(arena, source, dispatch->key, offset) : dispatch->place;
}

struct status dispatch_value(struct arena *arena, const struct dispatch *dispatch, const struct ir_kernel *kernel,
                             const struct ir_bindings *bindings, const char **value) {
    struct naming naming = {arena, kernel, bindings};
    size_t offset = 0;
    const struct expression_scope scope = {.data = &naming, .look_up = look_up, .total = true, .place = &offset};
    struct expression_number number = {0};
    struct text text = {0};
    struct status status = expression_evaluate(arena, dispatch->key, &scope, &number);
    if (!status.ok)
        return status_failed(arena, "config.key", "%s: %s", place_in_key(arena, dispatch, offset), status.reason);
    if (number.floating)
        number_print(&text, TYPE_F64, (struct ir_scalar){.number = number.number}, 17);
    else
        text_printf(&text, "%lld", (long long)number.integer);
    *value = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return STATUS_OK;
}

struct config_key dispatch_key(struct arena *arena, const struct dispatch *dispatch, const struct ir_kernel *kernel,
                               const struct config_key *key, const char *value) {
    struct config_key made = *key;
    struct text text = {0};
    for (int i = 0; i < dispatch->count; i++)
        config_print(&text, kernel, dispatch->configs[i], false);
    struct cache_key list = cache_hash(&(struct cache_part){text.data, text.length}, 1);
    text_free(&text);
    made.fields[KEY_SHAPE] =
        arena_printf(arena, "%s = %s, of %d configs %.16s", dispatch->key, value, dispatch->count, list.hex);
    made.hash = config_key_hash(made.fields);
    return made;
}
