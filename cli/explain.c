// SPDX-License-Identifier: Apache-2.0
// tilec explain: the long form of a message. tilec doctor: what this machine has.
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

// ------------------------------------------------------------------------------------------------ explain

// The first line of an explanation is "E0203: what it is about".
static void list_codes(void)
{
    for (int i = 0; tilec_code(i); i++) {
        const char *text = tilec_explain(tilec_code(i));
        if (text) printf("%.*s\n", (int)strcspn(text, "\n"), text);
    }
}

tilec_result command_explain(const struct arguments *arguments)
{
    if (has_option(arguments, OPTION_LIST)) return list_codes(), TILEC_OK;
    if (arguments->operands.count == 0) return usage_error("explain: wants CODE, or --list; see tilec explain --help");
    char code[32];
    snprintf(code, sizeof code, "%s", arguments->operands.items[0]);
    for (char *letter = code; *letter; letter++) *letter = (char)toupper((unsigned char)*letter);
    const char *text = tilec_explain(code);
    if (!text && strchr(code, '.'))
        return usage_error("explain: %s has no page: a code of words belongs to a message that says it all; "
                           "tilec explain --list shows those that have one", arguments->operands.items[0]);
    if (!text) return usage_error("explain: there is no code '%s'; tilec explain --list shows all", arguments->operands.items[0]);
    printf("%s%s", text, text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
    return TILEC_OK;
}

// ------------------------------------------------------------------------------------------------ doctor

static void print_finding(const struct tilec_finding *finding)
{
    printf("%-12s %s  %s\n", finding->name, finding->ok ? "ok" : finding->needed ? "MISSING" : "not here", finding->detail);
    if (finding->mend) printf("             -> %s\n", finding->mend);
}

static void print_finding_json(const struct tilec_finding *finding, bool first)
{
    printf("%s{\"name\": ", first ? "" : ",\n ");
    print_json_string(finding->name);
    printf(", \"ok\": %s, \"needed\": %s, \"detail\": ", finding->ok ? "true" : "false", finding->needed ? "true" : "false");
    print_json_string(finding->detail);
    if (finding->mend) printf(", \"mend\": "), print_json_string(finding->mend);
    printf("}");
}

tilec_result command_doctor(const struct arguments *arguments)
{
    if (arguments->operands.count) return doctor_file(arguments);
    bool json = has_option(arguments, OPTION_JSON);
    tilec_result result = TILEC_OK;
    tilec_doctor *doctor = tilec_doctor_new();
    if (!doctor) return usage_error("out of memory"), TILEC_INTERNAL;
    if (json) printf("[");
    for (int i = 0; i < tilec_doctor_count(doctor); i++) {
        struct tilec_finding finding = tilec_doctor_finding(doctor, i);
        if (json) print_finding_json(&finding, i == 0);
        else print_finding(&finding);
        if (finding.needed && !finding.ok) result = TILEC_MISSING;
    }
    if (json) printf("]\n");
    tilec_doctor_free(doctor);
    return result;
}
