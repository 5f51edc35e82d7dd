// SPDX-License-Identifier: Apache-2.0
// In: the text of a heuristic file, or a heuristic. Out: the other. The text is read in review and kept in a repository,
// so it is made for people: every knob of a config is said, as defaults change, and the tree is questions in words.
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "runtime/heuristic.h"
#include "runtime/runtime.h"

enum { HEURISTIC_FORMAT = 1 };

struct reader {
    struct arena *arena;
    const struct ir_kernel *kernel;
    struct heuristic *heuristic;
    struct status status;
};

static bool refuse(struct reader *reader, const char *path, const char *what)
{
    if (reader->status.ok) reader->status = status_failed(reader->arena, "heuristic.json", "%s: %s", path, what);
    return false;
}

static const char *place(const struct reader *reader, const char *path, const char *key)
{
    return arena_printf(reader->arena, "%s%s%s", path, *path ? "." : "", key);
}

static const char *no_such_key(const struct reader *reader, const char *const *keys)
{
    const char *known = keys[0];
    for (int i = 1; keys[i]; i++) known = arena_printf(reader->arena, "%s%s%s", known, keys[i + 1] ? ", " : " and ", keys[i]);
    return arena_printf(reader->arena, keys[1] ? "no such key; there are %s" : "no such key; there is %s", known);
}

// The keys of an object are exactly `keys`, a list that ends with NULL, each once.
static bool has_keys(struct reader *reader, const char *path, const cJSON *object, const char *const *keys)
{
    int found[8] = {0};
    if (!cJSON_IsObject(object)) return refuse(reader, *path ? path : "the file", "wants an object");
    for (const cJSON *item = object->child; item; item = item->next) {
        int key = 0;
        while (keys[key] && strcmp(keys[key], item->string) != 0) key++;
        if (!keys[key]) return refuse(reader, place(reader, path, item->string), no_such_key(reader, keys));
        if (found[key]++) return refuse(reader, place(reader, path, item->string), "the key is there twice");
    }
    for (int key = 0; keys[key]; key++)
        if (!found[key]) return refuse(reader, place(reader, path, keys[key]), "the key is missing");
    return true;
}

// ---------------------------------------------------------------------------------------------- the head

static bool read_text(struct reader *reader, const char *path, const cJSON *item, const char **text)
{
    if (!cJSON_IsString(item)) return refuse(reader, path, "wants a string");
    *text = arena_copy(reader->arena, item->valuestring, strlen(item->valuestring));
    return true;
}

static bool read_programs(struct reader *reader, const cJSON *object)
{
    struct heuristic *heuristic = reader->heuristic;
    if (!cJSON_IsObject(object)) return refuse(reader, "programs", "wants an object");
    heuristic->programs = ARENA_ARRAY(reader->arena, struct heuristic_program, cJSON_GetArraySize(object) + 1);
    for (const cJSON *item = object->child; item; item = item->next) {
        struct heuristic_program *program = &heuristic->programs[heuristic->program_count++];
        program->types = arena_copy(reader->arena, item->string, strlen(item->string));
        if (!read_text(reader, place(reader, "programs", item->string), item, &program->hash)) return false;
    }
    return heuristic->program_count > 0 || refuse(reader, "programs", "is empty");
}

static bool read_configs(struct reader *reader, const cJSON *array)
{
    struct heuristic *heuristic = reader->heuristic;
    int count = cJSON_GetArraySize(array);
    if (!cJSON_IsArray(array) || count < 1 || count > HEURISTIC_CONFIGS)
        return refuse(reader, "configs", arena_printf(reader->arena, "wants an array of 1 to %d configs", HEURISTIC_CONFIGS));
    heuristic->configs = ARENA_ARRAY(reader->arena, struct config *, count + 1);
    for (const cJSON *item = array->child; item; item = item->next) {
        struct status status = config_read(reader->arena, reader->kernel, item, &heuristic->configs[heuristic->config_count]);
        if (!status.ok) {
            reader->status = status_failed(reader->arena, status.code, "configs[%d]: %s", heuristic->config_count, status.reason);
            return false;
        }
        heuristic->config_count++;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------- the tree

static bool read_answer(struct reader *reader, const char *path, const cJSON *item, struct heuristic_node *node)
{
    double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(number >= 0 && number < reader->heuristic->config_count) || number != floor(number))
        return refuse(reader, path, arena_printf(reader->arena, "wants the index of a config, 0 to %d", reader->heuristic->config_count - 1));
    *node = (struct heuristic_node){.feature = -1, .config = (int)number};
    return true;
}

static bool same_feature(const struct heuristic_feature *a, const struct heuristic_feature *b)
{
    return a->kind == b->kind && a->index == b->index && a->other == b->other;
}

// The index of a feature in the heuristic's list, put there if it is new; a tree has fewer questions than there is room.
static int feature_index(struct reader *reader, const struct heuristic_feature *feature)
{
    struct heuristic *heuristic = reader->heuristic;
    for (int i = 0; i < heuristic->feature_count; i++)
        if (same_feature(&heuristic->features[i], feature)) return i;
    heuristic->features[heuristic->feature_count] = *feature;
    return heuristic->feature_count++;
}

static bool read_question(struct reader *reader, const char *path, const cJSON *object, struct heuristic_node *node)
{
    struct heuristic_feature feature;
    const char *text = NULL;
    const cJSON *below = cJSON_GetObjectItemCaseSensitive(object, "below");
    if (!read_text(reader, place(reader, path, "if"), cJSON_GetObjectItemCaseSensitive(object, "if"), &text)) return false;
    if (!cJSON_IsNumber(below) || !isfinite(below->valuedouble)) return refuse(reader, place(reader, path, "below"), "wants a number");
    struct status status = heuristic_feature_read(reader->arena, reader->kernel, text, &feature);
    if (!status.ok) return refuse(reader, place(reader, path, "if"), status.reason);
    node->feature = feature_index(reader, &feature);
    node->below = below->valuedouble;
    return true;
}

// A node and, behind it, all that hangs on it.
static bool read_node(struct reader *reader, const char *path, const cJSON *object)
{
    static const char *const answer[] = {"config", NULL}, *const question[] = {"if", "below", "then", "else", NULL};
    struct heuristic *heuristic = reader->heuristic;
    if (heuristic->node_count == HEURISTIC_NODES)
        return refuse(reader, path, arena_printf(reader->arena, "the tree has more than %d answers", HEURISTIC_LEAVES));
    struct heuristic_node *node = &heuristic->nodes[heuristic->node_count++];
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(object, "config");
    if (!has_keys(reader, path, object, config ? answer : question)) return false;
    if (config) return read_answer(reader, place(reader, path, "config"), config, node);
    if (!read_question(reader, path, object, node)) return false;
    node->then = heuristic->node_count;
    if (!read_node(reader, place(reader, path, "then"), cJSON_GetObjectItemCaseSensitive(object, "then"))) return false;
    node->otherwise = heuristic->node_count;
    return read_node(reader, place(reader, path, "else"), cJSON_GetObjectItemCaseSensitive(object, "else"));
}

// ---------------------------------------------------------------------------------------------- the file

static bool read_format(struct reader *reader, const cJSON *item)
{
    if (!item) return refuse(reader, "format", "the key is missing");
    if (cJSON_IsNumber(item) && item->valuedouble == HEURISTIC_FORMAT) return true;
    return refuse(reader, "format", arena_printf(reader->arena, "this tilec (%s) reads format %d", TILEC_VERSION, HEURISTIC_FORMAT));
}

static bool read_heuristic(struct reader *reader, const cJSON *root)
{
    static const char *const keys[] = {"format", "kernel", "target", "programs", "configs", "choose", NULL};
    struct heuristic *heuristic = reader->heuristic;
    heuristic->nodes = ARENA_ARRAY(reader->arena, struct heuristic_node, HEURISTIC_NODES);
    heuristic->features = ARENA_ARRAY(reader->arena, struct heuristic_feature, HEURISTIC_NODES);
    if (!cJSON_IsObject(root)) return refuse(reader, "the file", "wants an object");
    if (!read_format(reader, cJSON_GetObjectItemCaseSensitive(root, "format"))) return false;  // first: a newer one may have other keys
    if (!has_keys(reader, "", root, keys)) return false;
    if (!read_text(reader, "kernel", cJSON_GetObjectItemCaseSensitive(root, "kernel"), &heuristic->kernel)) return false;
    if (strcmp(heuristic->kernel, reader->kernel->name) != 0)
        return refuse(reader, "kernel", arena_printf(reader->arena, "the file is for kernel %s, not for %s", heuristic->kernel, reader->kernel->name));
    return read_text(reader, "target", cJSON_GetObjectItemCaseSensitive(root, "target"), &heuristic->target) &&
           read_programs(reader, cJSON_GetObjectItemCaseSensitive(root, "programs")) &&
           read_configs(reader, cJSON_GetObjectItemCaseSensitive(root, "configs")) &&
           read_node(reader, "choose", cJSON_GetObjectItemCaseSensitive(root, "choose"));
}

struct status heuristic_parse(struct arena *arena, const struct ir_kernel *kernel, const char *text, size_t length,
                              struct heuristic **heuristic)
{
    struct reader reader = {arena, kernel, ARENA_NEW(arena, struct heuristic), STATUS_OK};
    *heuristic = NULL;
    *reader.heuristic = (struct heuristic){0};
    cJSON *root = cJSON_ParseWithLength(text, length);
    if (!root) return status_failed(arena, "heuristic.json", "it is no valid JSON");
    bool ok = read_heuristic(&reader, root);
    cJSON_Delete(root);
    if (ok) *heuristic = reader.heuristic;
    return reader.status;
}

// ---------------------------------------------------------------------------------------------- printing

static void print_programs(struct text *out, const struct heuristic *heuristic)
{
    text_add(out, ",\n  \"programs\": {");
    for (int i = 0; i < heuristic->program_count; i++) {
        text_add(out, i ? ",\n    " : "\n    ");
        json_string(out, heuristic->programs[i].types);
        text_add(out, ": ");
        json_string(out, heuristic->programs[i].hash);
    }
    text_add(out, "\n  }");
}

// The lines of a text, each with `indent` in front but the first.
static void add_indented(struct text *out, const char *text, const char *indent)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        text_add_bytes(out, line, length);
        line += length;
        if (*line) text_printf(out, "\n%s", indent), line++;
    }
}

static void print_configs(struct text *out, const struct ir_kernel *kernel, const struct heuristic *heuristic)
{
    text_add(out, ",\n  \"configs\": [");
    for (int i = 0; i < heuristic->config_count; i++) {
        struct text one = {0};
        config_print(&one, kernel, heuristic->configs[i], false);
        text_add(out, i ? ",\n    " : "\n    ");
        add_indented(out, one.data, "    ");
        text_free(&one);
    }
    text_add(out, "\n  ]");
}

static void print_node(struct text *out, const struct ir_kernel *kernel, const struct heuristic *heuristic, int index, int depth)
{
    const struct heuristic_node *node = &heuristic->nodes[index];
    if (node->feature < 0) {
        text_printf(out, "{\"config\": %d}", node->config);
        return;
    }
    text_add(out, "{\"if\": \"");
    heuristic_feature_print(out, kernel, &heuristic->features[node->feature]);
    text_add(out, "\", \"below\": ");
    number_print(out, TYPE_F64, (struct ir_scalar){.number = node->below}, 17);
    text_printf(out, ",\n%*s\"then\": ", 2 * depth + 1, "");
    print_node(out, kernel, heuristic, node->then, depth + 1);
    text_printf(out, ",\n%*s\"else\": ", 2 * depth + 1, "");
    print_node(out, kernel, heuristic, node->otherwise, depth + 1);
    text_add(out, "}");
}

void heuristic_print(struct text *out, const struct ir_kernel *kernel, const struct heuristic *heuristic)
{
    text_printf(out, "{\n  \"format\": %d,\n  \"kernel\": ", HEURISTIC_FORMAT);
    json_string(out, kernel->name);
    text_add(out, ",\n  \"target\": ");
    json_string(out, heuristic->target);
    print_programs(out, heuristic);
    print_configs(out, kernel, heuristic);
    text_add(out, ",\n  \"choose\": ");
    print_node(out, kernel, heuristic, 0, 1);
    text_add(out, "\n}\n");
}
