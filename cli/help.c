// SPDX-License-Identifier: Apache-2.0
// Help, made from the tables of commands and options.
#include <string.h>

#include "cli/cli.h"

const char exit_codes_help[] =
    "0 ok, 1 the program or a check is wrong, 2 usage, 3 something is missing (C compiler, NVRTC, GPU),\n"
    "4 no config worked, 5 an argument or the launch failed, 70 a fault of tilec, 130 interrupted.";

static void print_indented(const char *text, const char *indent)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("%s%.*s\n", indent, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

void print_help(void)
{
    printf("tilec %s compiles kernels over jagged tensors to CUDA C, and runs them on the CPU or a GPU.\n\n", tilec_version());
    printf("usage: tilec COMMAND [OPTION…]\n\n");
    for (const struct command *command = commands; command->name; command++)
        printf("  %-12s %s\n", command->name, command->summary);
    printf("\n  tilec COMMAND --help says more, with an example; tilec --version says which this is.\n");
    printf("\nexample:\n  tilec emit examples/jagged_sum.tile --kernel jagged_sum\n\nexit codes:\n");
    print_indented(exit_codes_help, "  ");
}

// "-o, --output FILE"
static int print_spelling(const struct option_info *info)
{
    int length = info->letter ? printf("  -%c, ", info->letter) : printf("      ");
    length += printf("--%s", info->name);
    if (info->argument) length += printf(" %s", info->argument);
    return length;
}

void print_command_help(const struct command *command)
{
    printf("usage: tilec %s%s%s [OPTION…]\n\n%s\n\n", command->name, *command->operands ? " " : "", command->operands, command->help);
    for (int i = 0; command->options[i] != OPTION_END; i++) {
        const struct option_info *info = option_of_command(command, command->options[i]);
        int length = print_spelling(info);
        printf("%*s%s%s\n", length < 28 ? 28 - length : 1, "", info->help, info->repeats ? "; repeats" : "");
    }
    printf("\nexample:\n");
    print_indented(command->example, "  ");
}
