// SPDX-License-Identifier: Apache-2.0
// In: a diagnostic code. Out: its long explanation, from the one table codes.def.
#include "frontend/frontend.h"

#include <strings.h>

struct code {
    const char *code, *title, *text;
};

static const struct code codes[] = {
#define CODE(code, title, text) {#code, title, #code ": " title "\n\n" text},
#include "frontend/codes.def"
#undef CODE
};

enum { CODE_COUNT = sizeof codes / sizeof *codes };

const char *frontend_explain(const char *code)
{
    for (int i = 0; i < CODE_COUNT; i++)
        if (!strcasecmp(codes[i].code, code)) return codes[i].text;
    return NULL;
}

const char *frontend_code(int index)
{
    return index >= 0 && index < CODE_COUNT ? codes[index].code : NULL;
}
