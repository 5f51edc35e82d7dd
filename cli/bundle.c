// SPDX-License-Identifier: Apache-2.0
// tilec bundle: a kernel as a C header and source for several architectures, written into a folder.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

// "sm_80,sm_90a" is two: the values of --arch, cut at commas. NULL without memory; free both.
static const char **cut_architectures(const struct values *values, char **texts, int *count)
{
    size_t length = 1, commas = 1;
    for (int i = 0; i < values->count; i++) {
        length += strlen(values->items[i]) + 1;
        for (const char *at = values->items[i]; *at; at++) commas += *at == ',';
        commas++;
    }
    const char **items = calloc(commas, sizeof *items);
    *texts = malloc(length);
    *count = 0;
    if (!items || !*texts) return free(items), free(*texts), NULL;
    **texts = 0;
    for (int i = 0; i < values->count; i++) strcat(strcat(*texts, values->items[i]), ",");
    char *rest = NULL;
    for (char *item = strtok_r(*texts, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) items[(*count)++] = item;
    return items;
}

static tilec_result save(const char *folder, const char *name, const char *ending, const tilec_text *text, tilec_report *report)
{
    size_t length = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = malloc(length);
    if (!path) return usage_error("out of memory"), TILEC_INTERNAL;
    snprintf(path, length, "%s/%s%s", folder, name, ending);
    tilec_result result = tilec_file_save(path, text->data, text->length, report);
    if (result == TILEC_OK) printf("%s\n", path);
    free(path);
    return result;
}

static tilec_result write_bundle(const struct arguments *arguments, struct chosen *chosen, int count, const char *const *architectures)
{
    tilec_text header, source;
    const char *folder = option_value(arguments, OPTION_OUTPUT), *name = option_value(arguments, OPTION_NAME);
    const struct tilec_bundle_options options = {
        .name = name, .architecture_count = count, .architectures = architectures, .config = chosen->config,
        .heuristic = option_value(arguments, OPTION_HEURISTICS), .cache = cache_options(arguments)};
    tilec_result result = tilec_bundle(chosen->kernel, &options, chosen->report, &header, &source);
    if (result != TILEC_OK) return result;
    if (!folder) folder = ".";
    if (!name) name = tilec_kernel_name(chosen->kernel);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        usage_error("bundle: can't make the folder %s: %s", folder, strerror(errno));
        result = TILEC_WRONG;
    }
    if (result == TILEC_OK) result = save(folder, name, ".c", &source, chosen->report);
    if (result == TILEC_OK) result = save(folder, name, ".h", &header, chosen->report);
    tilec_text_free(&header);
    tilec_text_free(&source);
    return result;
}

tilec_result command_bundle(const struct arguments *arguments)
{
    struct chosen chosen;
    char *texts = NULL;
    int count = 0;
    if (has_option(arguments, OPTION_CONFIG) && has_option(arguments, OPTION_HEURISTICS))
        return usage_error("bundle: --config and --heuristics exclude each other");
    const char **architectures = cut_architectures(&arguments->values[OPTION_ARCH], &texts, &count);
    if (!architectures) return usage_error("out of memory"), TILEC_INTERNAL;
    static const char *const usual[] = {"sm_90"};
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = choose_kernel(arguments, NULL, &chosen);
    if (result == TILEC_OK) result = choose_config(arguments, &chosen);
    if (result == TILEC_OK) result = write_bundle(arguments, &chosen, count ? count : 1, count ? architectures : usual);
    choose_free(arguments, &chosen);
    free(architectures);
    free(texts);
    return result;
}
