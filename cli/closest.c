// SPDX-License-Identifier: Apache-2.0
// What a mistyped word may have meant. In: the word, and one after another the words that there are. Out: the closest.
#include <string.h>

#include "cli/cli.h"

enum { LONGEST = 30, MOST_CHANGES = 2 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

// Letters changed, put in, left out, or two that have changed places (Damerau).
static int changes_between(const char *a, const char *b)
{
    int table[LONGEST + 1][LONGEST + 1], rows = (int)strlen(a), columns = (int)strlen(b);
    if (rows > LONGEST || columns > LONGEST) return LONGEST;
    for (int i = 0; i <= rows; i++)
        for (int j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            table[i][j] = least(table[i - 1][j - 1] + (a[i - 1] != b[j - 1]), least(table[i - 1][j], table[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) table[i][j] = least(table[i][j], table[i - 2][j - 2] + 1);
        }
    return table[rows][columns];
}

void closest_offer(struct closest *closest, const char *wanted, const char *candidate)
{
    int changes = changes_between(wanted, candidate);
    // A word of two letters is near to everything.
    if (changes > MOST_CHANGES || changes + 1 >= (int)strlen(wanted)) return;
    if (!closest->name || changes < closest->changes) *closest = (struct closest){candidate, changes};
}
