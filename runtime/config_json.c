// SPDX-License-Identifier: Apache-2.0
// In: JSON text, or a config. Out: the other. Reading starts from the kernel's default config and overwrites what the
// text names, so a file may be minimal and stays right when a default gets better; printing the result and reading
// it again is the identity. Reading is strict: what isn't understood is refused, with its path ("axes.tm.block").
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"

enum { CONFIG_FORMAT = 1 };

// The knobs of an axis, once for reading and printing.
static const struct axis_key {
    const char *name;
    size_t offset;
} axis_keys[] = {
    {"block", offsetof(struct config_axis, block)}, {"vector", offsetof(struct config_axis, vector)},
    {"lanes", offsetof(struct config_axis, lanes)}, {"warps", offsetof(struct config_axis, warps)},
    {"unroll", offsetof(struct config_axis, unroll)},
};
enum { AXIS_KEY_COUNT = sizeof axis_keys / sizeof *axis_keys };

static int *axis_knob(struct config_axis *axis, int key)
{
    return (int *)(void *)((char *)axis + axis_keys[key].offset);
}

static int axis_knob_value(const struct config_axis *axis, int key)
{
    return *(const int *)(const void *)((const char *)axis + axis_keys[key].offset);
}

// ---------------------------------------------------------------------------------------------- reading

struct reader {
    struct arena *arena;
    const struct ir_kernel *kernel;
    struct config *config;
    struct status status;
};

static bool refuse(struct reader *reader, const char *path, const char *what)
{
    if (reader->status.ok) reader->status = status_failed(reader->arena, "config.json", "%s: %s", path, what);
    return false;
}

static const char *type_words(const cJSON *item)
{
    if (cJSON_IsBool(item)) return "true or false";
    if (cJSON_IsNumber(item)) return "a number";
    if (cJSON_IsString(item)) return "a string";
    if (cJSON_IsArray(item)) return "an array";
    return cJSON_IsObject(item) ? "an object" : "null";
}

static bool refuse_type(struct reader *reader, const char *path, const char *wanted, const cJSON *item)
{
    return refuse(reader, path, arena_printf(reader->arena, "wants %s, has %s", wanted, type_words(item)));
}

static bool read_integer(struct reader *reader, const char *path, const cJSON *item, int *value)
{
    if (!cJSON_IsNumber(item)) return refuse_type(reader, path, "an integer", item);
    double number = item->valuedouble;
    if (!(number >= 0 && number <= 1 << 30) || number != (double)(int)number)
        return refuse(reader, path, "wants an integer from 0 to 2^30");
    *value = (int)number;
    return true;
}

static bool read_bool(struct reader *reader, const char *path, const cJSON *item, bool *value)
{
    if (!cJSON_IsBool(item)) return refuse_type(reader, path, "true or false", item);
    *value = cJSON_IsTrue(item);
    return true;
}

static bool no_duplicates(struct reader *reader, const char *path, const cJSON *object)
{
    for (const cJSON *item = object->child; item; item = item->next)
        for (const cJSON *other = object->child; other != item; other = other->next)
            if (strcmp(item->string, other->string) == 0)
                return refuse(reader, arena_printf(reader->arena, "%s%s", path, item->string), "the key is there twice");
    return true;
}

static const char *axis_names(struct reader *reader)
{
    const char *names = "";
    for (int i = 0; i < reader->config->axis_count; i++)
        names = arena_printf(reader->arena, "%s%s%s", names, i ? ", " : "", reader->config->axes[i].name);
    return names;
}

static bool refuse_axis(struct reader *reader, const char *path)
{
    return refuse(reader, path, arena_printf(reader->arena, "kernel %s has no axis of that name; it has %s",
                                             reader->kernel->name, axis_names(reader)));
}

static bool read_axis(struct reader *reader, const char *path, const cJSON *object, struct config_axis *axis)
{
    if (!cJSON_IsObject(object)) return refuse_type(reader, path, "an object", object);
    if (!no_duplicates(reader, arena_printf(reader->arena, "%s.", path), object)) return false;
    for (const cJSON *item = object->child; item; item = item->next) {
        const char *place = arena_printf(reader->arena, "%s.%s", path, item->string);
        int key = 0;
        while (key < AXIS_KEY_COUNT && strcmp(axis_keys[key].name, item->string) != 0) key++;
        if (key == AXIS_KEY_COUNT)
            return refuse(reader, place, "no such key; an axis has block, vector, lanes, warps, unroll");
        if (!read_integer(reader, place, item, axis_knob(axis, key))) return false;
    }
    return true;
}

static bool read_axes(struct reader *reader, const char *path, const cJSON *item)
{
    if (!cJSON_IsObject(item)) return refuse_type(reader, path, "an object", item);
    if (!no_duplicates(reader, "axes.", item)) return false;
    for (const cJSON *axis = item->child; axis; axis = axis->next) {
        const char *place = arena_printf(reader->arena, "axes.%s", axis->string);
        struct config_axis *found = config_axis_named(reader->config, axis->string);
        if (!found) return refuse_axis(reader, place);
        if (!read_axis(reader, place, axis, found)) return false;
    }
    return true;
}

static bool read_grid(struct reader *reader, const char *path, const cJSON *item)
{
    if (!cJSON_IsArray(item)) return refuse_type(reader, path, "an array of axis names", item);
    struct config *config = reader->config;
    config->grid_count = 0;
    config->grid = ARENA_ARRAY(reader->arena, const char *, cJSON_GetArraySize(item) + 1);
    for (const cJSON *name = item->child; name; name = name->next) {
        const char *place = arena_printf(reader->arena, "grid[%d]", config->grid_count);
        if (!cJSON_IsString(name)) return refuse_type(reader, place, "the name of an axis", name);
        const struct config_axis *axis = config_axis_named(config, name->valuestring);
        if (!axis) return refuse_axis(reader, arena_printf(reader->arena, "%s \"%s\"", place, name->valuestring));
        for (int i = 0; i < config->grid_count; i++)
            if (strcmp(config->grid[i], axis->name) == 0) return refuse(reader, place, "the axis is there twice");
        config->grid[config->grid_count++] = axis->name;
    }
    return true;
}

static bool read_format(struct reader *reader, const char *path, const cJSON *item)
{
    int format = 0;
    if (!read_integer(reader, path, item, &format)) return false;
    if (format == CONFIG_FORMAT) return true;
    if (format == 0) return refuse(reader, path, "formats begin at 1");
    return refuse(reader, path, arena_printf(reader->arena, "the file has format %d, this tilec (%s) reads format %d: "
                                             "use a newer tilec", format, TILEC_VERSION, CONFIG_FORMAT));
}

static bool read_kernel(struct reader *reader, const char *path, const cJSON *item)
{
    if (!cJSON_IsString(item)) return refuse_type(reader, path, "the name of a kernel", item);
    if (strcmp(item->valuestring, reader->kernel->name) == 0) return true;
    return refuse(reader, path, arena_printf(reader->arena, "the config is for kernel %s, not for %s", item->valuestring,
                                             reader->kernel->name));
}

static bool read_strategy(struct reader *reader, const char *path, const cJSON *item)
{
    if (!cJSON_IsString(item)) return refuse_type(reader, path, "a string", item);
    if (config_strategy_named(item->valuestring, &reader->config->strategy)) return true;
    return refuse(reader, path, arena_printf(reader->arena, "there is no strategy %s; there are rows, chunks and flat", item->valuestring));
}

static bool read_chunk(struct reader *reader, const char *path, const cJSON *item)
{
    return read_integer(reader, path, item, &reader->config->chunk);
}

static bool read_lag(struct reader *reader, const char *path, const cJSON *item)
{
    return read_integer(reader, path, item, &reader->config->lag);
}

static bool read_search(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->search);
}

static bool read_stage(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->stage);
}

static bool read_bulk(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->bulk);
}

static bool read_peel(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->peel);
}

static bool read_late(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->late);
}

static bool read_stream(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->stream);
}

static bool read_dot(struct reader *reader, const char *path, const cJSON *item)
{
    if (!cJSON_IsString(item)) return refuse_type(reader, path, "a string", item);
    if (config_dot_named(item->valuestring, &reader->config->dot)) return true;
    return refuse(reader, path, arena_printf(reader->arena, "there is no dot %s; there are fma, mma and wgmma", item->valuestring));
}

static bool read_stages(struct reader *reader, const char *path, const cJSON *item)
{
    return read_integer(reader, path, item, &reader->config->stages);
}

static bool read_producers(struct reader *reader, const char *path, const cJSON *item)
{
    return read_integer(reader, path, item, &reader->config->producers);
}

static bool read_min_blocks(struct reader *reader, const char *path, const cJSON *item)
{
    return read_integer(reader, path, item, &reader->config->min_blocks);
}

static bool read_fast(struct reader *reader, const char *path, const cJSON *item)
{
    return read_bool(reader, path, item, &reader->config->fast);
}

static bool read_cluster(struct reader *reader, const char *path, const cJSON *item)
{
    return read_integer(reader, path, item, &reader->config->cluster);
}

static const struct {
    const char *name;
    bool (*read)(struct reader *reader, const char *path, const cJSON *item);
} keys[] = {
    {"format", read_format}, {"kernel", read_kernel},     {"axes", read_axes}, {"grid", read_grid},
    {"strategy", read_strategy}, {"chunk", read_chunk}, {"search", read_search}, {"stage", read_stage}, {"bulk", read_bulk},
    {"lag", read_lag}, {"dot", read_dot}, {"stages", read_stages}, {"producers", read_producers},
    {"peel", read_peel}, {"late", read_late},
    {"stream", read_stream}, {"min_blocks", read_min_blocks}, {"cluster", read_cluster}, {"fast", read_fast},
};
enum { KEY_COUNT = sizeof keys / sizeof *keys, COMMON_CHUNK = 4096 };

static bool read_config(struct reader *reader, const cJSON *root)
{
    if (!cJSON_IsObject(root)) return refuse_type(reader, "the config", "an object", root);
    if (!no_duplicates(reader, "", root)) return false;
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    if (!format) return refuse(reader, "format", "the key is missing; write \"format\": 1");
    if (!read_format(reader, "format", format)) return false;  // first: a newer format may have keys unknown here
    for (const cJSON *item = root->child; item; item = item->next) {
        int key = 0;
        while (key < KEY_COUNT && strcmp(keys[key].name, item->string) != 0) key++;
        if (key == KEY_COUNT) return refuse(reader, item->string, "no such key; a config has format, kernel, axes, grid, "
                                                                  "strategy, chunk, search, stage, bulk, lag, dot, stages, producers, peel, "
                                                                  "late, stream, min_blocks, cluster, fast");
        if (!keys[key].read(reader, item->string, item)) return false;
    }
    // What isn't said is as in the default config, of which only some strategies have pieces.
    if (!cJSON_GetObjectItemCaseSensitive(root, "chunk") && (reader->config->strategy == STRATEGY_ROWS) != (reader->config->chunk == 0))
        reader->config->chunk = reader->config->strategy == STRATEGY_ROWS ? 0 : COMMON_CHUNK;
    return true;
}

// cJSON takes \u0000 for the end of a string, so that the rest of a key would go unread.
static const char *find_escaped_zero(const char *text, size_t length)
{
    for (size_t i = 0; i + 6 <= length; i++) {
        if (text[i] != '\\') continue;
        if (memcmp(text + i + 1, "u0000", 5) == 0) return text + i;
        i++;  // what is escaped, a backslash perhaps
    }
    return NULL;
}

// Whether arrays and objects lie in each other deeper than cJSON follows; strings may hold brackets.
static bool nests_too_deeply(const char *text, size_t length)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\' && quoted) i++;
        else if (text[i] == '"') quoted = !quoted;
        else if (!quoted && (text[i] == '[' || text[i] == '{') && ++depth > CJSON_NESTING_LIMIT) return true;
        else if (!quoted && (text[i] == ']' || text[i] == '}')) depth--;
    }
    return false;
}

// Syntax errors have a place in the text: it is shown as in a program.
static struct status refuse_syntax(struct arena *arena, const char *path, const char *text, size_t length, const char *end)
{
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.path = path, .text = arena_copy(arena, text, length), .length = length};
    size_t at = end && end >= text && end <= text + length ? (size_t)(end - text) : length;
    bool deep = nests_too_deeply(text, length), zero = at + 6 <= length && memcmp(text + at, "\\u0000", 6) == 0;
    struct status status = status_failed(arena, "config.json", "%s", zero ? "a text can't hold the character 0" : deep ? "the JSON is nested too deeply"
                                         : at >= length ? "the JSON ends too early" : "no valid JSON here");
    status.span = (struct span){source, (uint32_t)at, (uint32_t)(at < length ? at + 1 : at)};
    return status;
}

struct status config_read(struct arena *arena, const struct ir_kernel *kernel, const cJSON *item, struct config **config)
{
    struct reader reader = {arena, kernel, config_default(arena, kernel), STATUS_OK};
    // A list of one config, as `tilec config random --count 1` writes it, is that config.
    bool listed = cJSON_IsArray(item) && cJSON_GetArraySize(item) == 1;
    *config = NULL;
    if (read_config(&reader, listed ? item->child : item)) reader.status = config_check(arena, kernel, reader.config);
    if (reader.status.ok) *config = reader.config;
    return reader.status;
}

static struct status parse(struct arena *arena, const struct ir_kernel *kernel, const char *path, const char *text,
                           size_t length, struct config **config)
{
    *config = NULL;
    text = arena_copy(arena, text, length);
    const char *end = memchr(text, 0, length);
    if (!end) end = find_escaped_zero(text, length);
    if (end) return refuse_syntax(arena, path, text, length, end);
    cJSON *root = cJSON_ParseWithLengthOpts(text, length + 1, &end, 1);
    if (!root) return refuse_syntax(arena, path, text, length, end);
    struct status status = config_read(arena, kernel, root, config);
    cJSON_Delete(root);
    if (!status.ok && !status.span.source)
        status.reason = arena_printf(arena, "%s%s%s", path ? path : "", path ? ": " : "", status.reason);
    return status;
}

struct status config_parse(struct arena *arena, const struct ir_kernel *kernel, const char *text, size_t length,
                           struct config **config)
{
    return parse(arena, kernel, NULL, text, length, config);
}

struct status config_load(struct arena *arena, const struct ir_kernel *kernel, const char *path, struct config **config)
{
    const char *reason = NULL;
    *config = NULL;
    const struct source *source = source_read(arena, path, &reason);
    if (!source) return status_failed(arena, "usage.file", "can't read the config %s: %s", path, reason);
    return parse(arena, kernel, source->path, source->text, source->length, config);
}

// ---------------------------------------------------------------------------------------------- printing

// The knobs of an axis that are to be written: all of them, or those that differ from `standard`.
static void print_axis(struct text *out, const struct config_axis *axis, const struct config_axis *standard, int *written)
{
    int count = 0;
    for (int key = 0; key < AXIS_KEY_COUNT; key++) {
        int value = axis_knob_value(axis, key);
        if (standard && value == axis_knob_value(standard, key)) continue;
        if (count == 0) {
            text_add(out, (*written)++ ? ",\n    " : "\n    ");
            json_string(out, axis->name);
            text_add(out, ": {");
        }
        text_printf(out, "%s\"%s\": %d", count++ ? ", " : "", axis_keys[key].name, value);
    }
    if (count) text_add(out, "}");
}

static void print_axes(struct text *out, const struct config *config, const struct config *standard)
{
    struct text axes = {0};
    int written = 0;
    for (int i = 0; i < config->axis_count; i++)
        print_axis(&axes, &config->axes[i], standard ? config_axis_named(standard, config->axes[i].name) : NULL, &written);
    if (written) text_printf(out, ",\n  \"axes\": {%s\n  }", axes.data);
    text_free(&axes);
}

static bool same_grid(const struct config *a, const struct config *b)
{
    if (a->grid_count != b->grid_count) return false;
    for (int i = 0; i < a->grid_count; i++)
        if (strcmp(a->grid[i], b->grid[i]) != 0) return false;
    return true;
}

static void print_grid(struct text *out, const struct config *config)
{
    text_add(out, ",\n  \"grid\": [");
    for (int i = 0; i < config->grid_count; i++) {
        text_add(out, i ? ", " : "");
        json_string(out, config->grid[i]);
    }
    text_add(out, "]");
}

void config_print(struct text *out, const struct ir_kernel *kernel, const struct config *config, bool minimal)
{
    struct arena *arena = minimal ? arena_new() : NULL;
    const struct config *standard = arena ? config_default(arena, kernel) : NULL;
    text_printf(out, "{\n  \"format\": %d,\n  \"kernel\": ", CONFIG_FORMAT);
    json_string(out, kernel->name);
    print_axes(out, config, standard);
    if (!standard || !same_grid(config, standard)) print_grid(out, config);
    if (!standard || config->strategy != standard->strategy)
        text_printf(out, ",\n  \"strategy\": \"%s\"", config_strategy_name(config->strategy));
    if (standard ? config->chunk != standard->chunk : config->chunk != 0) text_printf(out, ",\n  \"chunk\": %d", config->chunk);
    if (!standard || config->search != standard->search) text_printf(out, ",\n  \"search\": %s", config->search ? "true" : "false");
    if (!standard || config->stage != standard->stage) text_printf(out, ",\n  \"stage\": %s", config->stage ? "true" : "false");
    if (!standard || config->bulk != standard->bulk) text_printf(out, ",\n  \"bulk\": %s", config->bulk ? "true" : "false");
    if (!standard || config->lag != standard->lag) text_printf(out, ",\n  \"lag\": %d", config->lag);
    if (!standard || config->dot != standard->dot) text_printf(out, ",\n  \"dot\": \"%s\"", config_dot_name(config->dot));
    if (!standard || config->stages != standard->stages) text_printf(out, ",\n  \"stages\": %d", config->stages);
    if (standard ? config->producers != standard->producers : config->producers != 0)
        text_printf(out, ",\n  \"producers\": %d", config->producers);
    if (!standard || config->peel != standard->peel) text_printf(out, ",\n  \"peel\": %s", config->peel ? "true" : "false");
    if (!standard || config->late != standard->late) text_printf(out, ",\n  \"late\": %s", config->late ? "true" : "false");
    if (!standard || config->stream != standard->stream)
        text_printf(out, ",\n  \"stream\": %s", config->stream ? "true" : "false");
    if (!standard || config->min_blocks != standard->min_blocks)
        text_printf(out, ",\n  \"min_blocks\": %d", config->min_blocks);
    if (!standard || config->cluster != standard->cluster) text_printf(out, ",\n  \"cluster\": %d", config->cluster);
    if (!standard || config->fast != standard->fast) text_printf(out, ",\n  \"fast\": %s", config->fast ? "true" : "false");
    text_add(out, "\n}");
    if (arena) arena_free(arena);
}
