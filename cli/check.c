// SPDX-License-Identifier: Apache-2.0
// tilec check: messages about programs, for a person on standard error or as JSON on standard output.
#include "cli/cli.h"

static tilec_result check_file(const char *path, tilec_report *report, tilec_program **program)
{
    tilec_result result = tilec_program_load(path, report, program);
    return result == TILEC_OK ? tilec_program_check(*program, report) : result;
}

static void print_json(const char *path, tilec_result result, const tilec_report *report, const tilec_program *program)
{
    tilec_text messages = tilec_report_json(report);
    printf("{\"file\": ");
    print_json_string(path);
    printf(", \"ok\": %s,\n \"messages\": %s", result == TILEC_OK ? "true" : "false", messages.data);
    tilec_text_free(&messages);
    if (program) {
        tilec_text kernels = tilec_program_describe(program);
        printf(",\n \"kernels\": %s", kernels.data);
        tilec_text_free(&kernels);
    }
    printf("}");
}

tilec_result command_check(const struct arguments *arguments)
{
    tilec_result worst = TILEC_OK;
    bool json = has_option(arguments, OPTION_JSON);
    if (json) printf("[");
    for (int i = 0; i < arguments->operands.count; i++) {
        const char *path = arguments->operands.items[i];
        tilec_program *program = NULL;
        tilec_report *report = tilec_report_new();
        tilec_result result = report ? check_file(path, report, &program) : TILEC_INTERNAL;
        if (json && report) printf("%s", i ? ",\n" : ""), print_json(path, result, report, program);
        tilec_program_free(program);
        if (json) tilec_report_free(report);
        else print_report(arguments, report);
        if (result > worst) worst = result;
    }
    if (json) printf("]\n");
    return worst;
}
