// SPDX-License-Identifier: Apache-2.0
// Every case of a file of cases, through the front end and the evaluator. Arguments: JSON files.
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

int main(int argc, char **argv)
{
    struct unit unit = {0};
    for (int i = 1; i < argc; i++)
        run_file(&unit, argv[i]);
    return unit_finish(&unit);
}
