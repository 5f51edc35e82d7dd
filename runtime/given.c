// SPDX-License-Identifier: Apache-2.0
// In: what a caller of tilec.h gives. Out: TILEC_USAGE that names what is lacking.
#include <string.h>

#include "runtime/given.h"

tilec_result given_lacks(tilec_report *report, const char *call, const char *names, const void *const *wanted)
{
    while (*wanted++) names = strchr(names, ' ') + 1;
    return report_failed(report, "usage.null", NULL, "%s: %.*s is NULL", call, (int)strcspn(names, ","), names);
}

static tilec_result check_list(tilec_report *report, const char *call, const struct given_list *list)
{
    const char *const *texts = list->items;
    if (list->count < 0)
        return report_failed(report, "usage.count", NULL, "%s: the count of %s is %d", call, list->name, list->count);
    if (list->count && !list->items)
        return report_failed(report, "usage.null", NULL, "%s: %s is NULL, and its count %d", call, list->name,
                             list->count);
    for (int i = 0; i < list->count && !list->others; i++)
        if (!texts[i]) return report_failed(report, "usage.null", NULL, "%s: %s[%d] is NULL", call, list->name, i);
    return TILEC_OK;
}

tilec_result given_lists(tilec_report *report, const char *call, int count, const struct given_list *lists)
{
    tilec_result result = TILEC_OK;
    for (int i = 0; i < count && result == TILEC_OK; i++) result = check_list(report, call, &lists[i]);
    return result;
}

tilec_result given_arguments(tilec_report *report, const char *call, const struct tilec_argument *arguments, int count)
{
    const struct given_list list = {"arguments", count, arguments, true};
    return check_list(report, call, &list);
}

tilec_result given_specialization(tilec_report *report, const char *call, const struct tilec_specialization *given)
{
    if (!given) return TILEC_OK;
    const struct given_list lists[] = {
        {"types", given->type_count, given->types, false},
        {"dims", given->dim_count, given->dims, false},
        {"statics", given->static_count, given->statics, false},
        {"dynamics", given->dynamic_count, given->dynamics, false},
        {"absent", given->absent_count, given->absent, false},
    };
    return given_lists(report, call, sizeof lists / sizeof *lists, lists);
}

tilec_result given_run(tilec_report *report, const char *call, const struct tilec_run_options *options)
{
    const struct given_list lists[] = {
        {"arguments", options->argument_count, options->arguments, false},
        {"dims", options->dim_count, options->dims, false},
        {"types", options->type_count, options->types, false},
        {"statics", options->static_count, options->statics, false},
        {"dynamics", options->dynamic_count, options->dynamics, false},
        {"outs", options->out_count, options->outs, false},
    };
    return given_lists(report, call, sizeof lists / sizeof *lists, lists);
}
