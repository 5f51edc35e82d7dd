// SPDX-License-Identifier: Apache-2.0
// Every case of a file of cases, through the front end and the evaluator. Arguments: JSON files; behind --covers a list of
// what users reported: each of its entries for the compiler must be a case of the file before, or named as elsewhere.
#include <stdlib.h>

#include "tests/ir/case.h"

static void run_file(struct unit *unit, const char *path)
{
    cJSON *json = read_json(path);
    const cJSON *cases = cJSON_GetObjectItem(json, "cases"), *description;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    if (!cJSON_GetArraySize(cases)) {
        unit_begin(unit);
        CHECK(unit, cJSON_GetArraySize(cases) > 0);
        unit_end(unit, path);
    }
    cJSON_ArrayForEach(description, cases)
    {
        unit_begin(unit);
        run_case(unit, folder, description);
        unit_end(unit, cJSON_GetObjectItem(description, "case")->valuestring);
    }
    free(folder);
    cJSON_Delete(json);
}

// A case covers an entry if its name is the entry's id, or goes on with ':'.
static bool is_covered(const cJSON *json, const char *id)
{
    const cJSON *description;
    size_t length = strlen(id);
    cJSON_ArrayForEach(description, cJSON_GetObjectItem(json, "cases"))
    {
        const char *name = cJSON_GetObjectItem(description, "case")->valuestring;
        if (strncmp(name, id, length) == 0 && (name[length] == '\0' || name[length] == ':')) return true;
    }
    return cJSON_HasObjectItem(cJSON_GetObjectItem(json, "elsewhere"), id);
}

static void check_cover(struct unit *unit, const char *path, const char *list_path)
{
    cJSON *json = read_json(path), *list = read_json(list_path);
    const cJSON *entry;
    int count = 0;
    unit_begin(unit);
    cJSON_ArrayForEach(entry, cJSON_GetObjectItem(list, "cases"))
    {
        const char *id = cJSON_GetObjectItem(entry, "id")->valuestring;
        if (strcmp(cJSON_GetObjectItem(entry, "for")->valuestring, "compiler") != 0) continue;
        if (!CHECK(unit, is_covered(json, id))) printf("# %s\n", id);
        count++;
    }
    CHECK(unit, count > 0);
    unit_end(unit, "every reported case is covered");
    cJSON_Delete(json);
    cJSON_Delete(list);
}

int main(int argc, char **argv)
{
    struct unit unit = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--covers") == 0 && i > 1 && i + 1 < argc) {
            check_cover(&unit, argv[i - 1], argv[i + 1]);
            i++;
        } else {
            run_file(&unit, argv[i]);
        }
    }
    return unit_finish(&unit);
}
