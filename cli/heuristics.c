// SPDX-License-Identifier: Apache-2.0
// tilec doctor FILE: which heuristic file a kernel has on a target, and what it says of a shape.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

// Where every dimension has a value they are those of the shape; else NULL. Free them.
static int64_t *shape_of(const tilec_kernel *kernel)
{
    int count = tilec_kernel_dimension_count(kernel);
    int64_t *dims = calloc((size_t)count + 1, sizeof *dims);
    for (int i = 0; dims && i < count; i++) {
        struct tilec_dimension dimension = tilec_kernel_dimension(kernel, i);
        dims[i] = dimension.value;
        if (!dimension.is_static) return free(dims), NULL;
    }
    return dims;
}

static void print_config(const struct chosen *chosen, const tilec_heuristic *heuristic, int index, bool json)
{
    tilec_config *config = NULL;
    if (tilec_heuristic_config(heuristic, index, chosen->report, &config) != TILEC_OK) return;
    tilec_text text = tilec_config_json(config, 1);
    if (!json) printf("config    %d: ", index);
    print_text(&text);
    if (!json) printf("\n");
    tilec_config_free(config);
}

static void print_choice(const struct chosen *chosen, const tilec_heuristic *heuristic, int64_t longest)
{
    int64_t *dims = shape_of(chosen->kernel);
    if (!dims) {
        printf("rule      of %d configs one is chosen by shape; give every dimension with --dim to see which\n", tilec_heuristic_count(heuristic));
        return;
    }
    tilec_text rule = tilec_heuristic_rule(heuristic, dims, longest);
    printf("rule      %s\n", rule.data);
    tilec_text_free(&rule);
    print_config(chosen, heuristic, tilec_heuristic_choose(heuristic, dims, longest), false);
    free(dims);
}

static void print_choice_json(const struct chosen *chosen, const tilec_heuristic *heuristic, int64_t longest)
{
    int64_t *dims = tilec_heuristic_count(heuristic) ? shape_of(chosen->kernel) : NULL;
    if (!dims) return;
    tilec_text rule = tilec_heuristic_rule(heuristic, dims, longest);
    int index = tilec_heuristic_choose(heuristic, dims, longest);
    printf(",\n  \"rule\": ");
    print_json_string(rule.data);
    printf(", \"choice\": %d, \"config\": ", index);
    print_config(chosen, heuristic, index, true);
    tilec_text_free(&rule);
    free(dims);
}

static void print_finding_json(const struct chosen *chosen, const tilec_heuristic *heuristic, const char *target, const char *hash, int64_t longest)
{
    printf("{\"kernel\": ");
    print_json_string(tilec_kernel_name(chosen->kernel));
    printf(", \"target\": ");
    print_json_string(target);
    printf(", \"program\": \"%s\", \"file\": ", hash);
    if (tilec_heuristic_path(heuristic)) print_json_string(tilec_heuristic_path(heuristic));
    else printf("null");
    printf(", \"configs\": %d", tilec_heuristic_count(heuristic));
    print_choice_json(chosen, heuristic, longest);
    printf("}");
}

static tilec_result describe_kernel(const struct arguments *arguments, const char *name, struct chosen *chosen, int64_t longest, bool first)
{
    const struct tilec_cache_options cache = cache_options(arguments);
    const char *target = emit_options(arguments).target;
    tilec_heuristic *heuristic = NULL;
    tilec_result result = choose_kernel(arguments, name, chosen);
    if (!target) target = "sm_90";
    if (result == TILEC_OK) result = tilec_heuristic_find(chosen->kernel, target, &cache, chosen->report, &heuristic);
    if (result != TILEC_OK) return result;
    tilec_text hash = tilec_kernel_hash(chosen->kernel);
    const char *path = tilec_heuristic_path(heuristic);
    if (has_option(arguments, OPTION_JSON)) {
        printf("%s", first ? "" : ",\n ");
        print_finding_json(chosen, heuristic, target, hash.data, longest);
    } else {
        printf("%skernel    %s on %s\nprogram   %s\n", first ? "" : "\n", tilec_kernel_name(chosen->kernel), target, hash.data);
        if (path) printf("file      %s\n", path), print_choice(chosen, heuristic, longest);
        else printf("file      none is used; looked into %s; the default config is taken\n", tilec_heuristic_folders(heuristic));
    }
    tilec_text_free(&hash);
    tilec_heuristic_free(heuristic);
    return TILEC_OK;
}

tilec_result doctor_file(const struct arguments *arguments)
{
    struct chosen chosen;
    uint64_t longest = 0;
    const char *name = option_value(arguments, OPTION_KERNEL);
    bool json = has_option(arguments, OPTION_JSON), known = has_option(arguments, OPTION_MAX_LENGTH);
    if (!option_number(arguments, OPTION_MAX_LENGTH, 0, &longest) || longest > INT64_MAX)
        return usage_error("doctor: --max-length wants a count of points"), TILEC_USAGE;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    int count = result == TILEC_OK && !name ? tilec_program_kernel_count(chosen.program) : 1;
    if (json && result == TILEC_OK) printf("[");
    for (int i = 0; i < count && result == TILEC_OK; i++)
        result = describe_kernel(arguments, name ? name : tilec_program_kernel_name(chosen.program, i), &chosen, known ? (int64_t)longest : -1, i == 0);
    if (json && result == TILEC_OK) printf("]\n");
    choose_free(arguments, &chosen);
    return result;
}
