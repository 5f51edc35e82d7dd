// SPDX-License-Identifier: Apache-2.0
// In: the options that all commands with a kernel share. Out: the program, the kernel and the config they ask for.
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

// Whether -o is the program itself, which would be lost.
static bool is_overwritten(const struct arguments *arguments, const char *path)
{
    struct stat source, output;
    const char *given = option_value(arguments, OPTION_OUTPUT);
    return given && stat(path, &source) == 0 && stat(given, &output) == 0 && S_ISREG(source.st_mode) &&
           source.st_dev == output.st_dev && source.st_ino == output.st_ino;
}

tilec_result choose_program(const struct arguments *arguments, const char *path, struct chosen *chosen)
{
    *chosen = (struct chosen){.report = tilec_report_new()};
    if (!chosen->report) return usage_error("out of memory"), TILEC_INTERNAL;
    if (is_overwritten(arguments, path)) return usage_error("-o %s is the program itself; name another file", path);
    return tilec_program_load(path, chosen->report, &chosen->program);
}

tilec_result choose_kernel(const struct arguments *arguments, const char *name, struct chosen *chosen)
{
    const struct values *values = arguments->values;
    const struct tilec_specialization specialization = {
        .type_count = values[OPTION_TYPE].count,
        .types = values[OPTION_TYPE].items,
        .dim_count = values[OPTION_DIM].count,
        .dims = values[OPTION_DIM].items,
        .static_count = values[OPTION_STATIC].count,
        .statics = values[OPTION_STATIC].items,
        .dynamic_count = values[OPTION_DYNAMIC].count,
        .dynamics = values[OPTION_DYNAMIC].items,
        .absent_count = values[OPTION_WITHOUT].count,
        .absent = values[OPTION_WITHOUT].items,
        .for_all = name && !has_option(arguments, OPTION_KERNEL),
    };
    choose_free_kernel(chosen);
    if (!name) name = option_value(arguments, OPTION_KERNEL);
    return tilec_kernel_check(chosen->program, name, &specialization, chosen->report, &chosen->kernel);
}

tilec_result choose_config(const struct arguments *arguments, struct chosen *chosen)
{
    const char *path = option_value(arguments, OPTION_CONFIG);
    return path ? tilec_config_load(chosen->kernel, path, chosen->report, &chosen->config) : TILEC_OK;
}

void choose_free_kernel(struct chosen *chosen)
{
    tilec_config_free(chosen->config);
    tilec_kernel_free(chosen->kernel);
    chosen->config = NULL;
    chosen->kernel = NULL;
}

void choose_free(const struct arguments *arguments, struct chosen *chosen)
{
    choose_free_kernel(chosen);
    tilec_program_free(chosen->program);
    print_report(arguments, chosen->report);
    *chosen = (struct chosen){0};
}

struct tilec_emit_options emit_options(const struct arguments *arguments)
{
    const char *target = option_value(arguments, OPTION_TARGET), *architecture = option_value(arguments, OPTION_ARCH);
    return (struct tilec_emit_options){
        .target = target && strcmp(target, "cpu") == 0 ? "cpu" : architecture,
        .index64 = has_option(arguments, OPTION_INDEX64),
        .unaligned = has_option(arguments, OPTION_UNALIGNED),
        .checked = has_option(arguments, OPTION_CHECKED),
        .stop_after = option_value(arguments, OPTION_STOP_AFTER),
        .skip_count = arguments->values[OPTION_SKIP_PASS].count,
        .skips = arguments->values[OPTION_SKIP_PASS].items,
    };
}
