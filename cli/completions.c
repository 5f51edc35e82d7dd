// SPDX-License-Identifier: Apache-2.0
// Completions and the manual page, made from the tables of commands and options, so that they can't fall behind.
#include <string.h>

#include "cli/cli.h"

// ------------------------------------------------------------------------------------------------ bash

static void bash_options(const struct command *command)
{
    for (int i = 0; command->options[i] != OPTION_END; i++) printf("%s--%s", i ? " " : "", option_of_command(command, command->options[i])->name);
}

static void bash_values(void)
{
    for (int i = 1; i < OPTION_KINDS; i++) {
        const struct option_info *info = &option_table[i];
        if (info->words) printf("        --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", info->name, info->words);
        else if (info->argument && !info->file) printf("        --%s) return ;;\n", info->name);
    }
    printf("        --%s", "output");
    for (int i = 1; i < OPTION_KINDS; i++)
        if (option_table[i].file && i != OPTION_OUTPUT) printf("|--%s", option_table[i].name);
    printf("|-o|-c) compopt -o default; return ;;\n");
}

static void bash(void)
{
    printf("_tilec() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
           "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '");
    for (const struct command *command = commands; command->name; command++) printf("%s ", command->name);
    printf("--help --version' -- \"$word\"))\n        return\n    fi\n    case $before in\n");
    bash_values();
    printf("    esac\n    case $command:$word in\n");
    for (const struct command *command = commands; command->name; command++) {
        printf("        %s:-*) COMPREPLY=($(compgen -W '", command->name);
        bash_options(command);
        printf("' -- \"$word\")); return ;;\n");
    }
    printf("    esac\n    case $command:$COMP_CWORD in\n");
    for (const struct command *command = commands; command->name; command++)
        if (command->operand_words)
            printf("        %s:2) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", command->name, command->operand_words);
    printf("    esac\n    compopt -o default\n}\ncomplete -F _tilec tilec\n");
}

// ------------------------------------------------------------------------------------------------ zsh

// Text inside '…' and […] of an _arguments specification.
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') printf("'\\''");
        else if (strchr("[]:\\", *text)) printf("\\%c", *text);
        else putchar(*text);
    }
}

static void zsh_option(const struct option_info *info)
{
    printf(" \\\n                '%s--%s%s[", info->repeats ? "*" : "", info->name, info->argument ? "=" : "");
    zsh_text(info->help);
    printf("]");
    if (info->argument) printf(":"), zsh_text(info->argument), printf(":");
    if (info->words) printf("(%s)", info->words);
    else if (info->file) printf("_files");
    printf("'");
}

static void zsh(void)
{
    printf("#compdef tilec\n_tilec() {\n    local -a names\n    names=(\n");
    for (const struct command *command = commands; command->name; command++) {
        printf("        '%s:", command->name);
        zsh_text(command->summary);
        printf("'\n");
    }
    printf("    )\n    if ((CURRENT == 2)); then\n        _describe command names\n        return\n    fi\n    shift words\n"
           "    ((CURRENT--))\n    case $words[1] in\n");
    for (const struct command *command = commands; command->name; command++) {
        printf("        %s)\n            _arguments", command->name);
        for (int i = 0; command->options[i] != OPTION_END; i++) zsh_option(option_of_command(command, command->options[i]));
        if (command->operand_words) printf(" \\\n                '1:what:(%s)' '*:file:_files'", command->operand_words);
        else if (command->most) printf(" \\\n                '*:file:_files'");
        printf(" ;;\n");
    }
    printf("    esac\n}\n_tilec \"$@\"\n");
}

// ------------------------------------------------------------------------------------------------ fish

static void fish_text(const char *text)
{
    for (; *text; text++) printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void fish_option(const struct command *command, const struct option_info *info)
{
    printf("complete -c tilec -n '__fish_seen_subcommand_from %s' -l %s", command->name, info->name);
    if (info->letter) printf(" -s %c", info->letter);
    if (info->argument) printf(info->file ? " -r -F" : " -x");
    if (info->words) printf(" -a '%s'", info->words);
    printf(" -d '");
    fish_text(info->help);
    printf("'\n");
}

static void fish(void)
{
    for (const struct command *command = commands; command->name; command++) {
        printf("complete -c tilec -n __fish_use_subcommand -f -a %s -d '", command->name);
        fish_text(command->summary);
        printf("'\n");
        if (command->operand_words)
            printf("complete -c tilec -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name, command->operand_words);
        for (int i = 0; command->options[i] != OPTION_END; i++) fish_option(command, option_of_command(command, command->options[i]));
    }
}

tilec_result command_completions(const struct arguments *arguments)
{
    const char *shell = arguments->operands.items[0];
    if (strcmp(shell, "bash") == 0) return bash(), TILEC_OK;
    if (strcmp(shell, "zsh") == 0) return zsh(), TILEC_OK;
    if (strcmp(shell, "fish") == 0) return fish(), TILEC_OK;
    return usage_error("completions: no completions for %s; there are bash, zsh, fish", shell);
}

// ------------------------------------------------------------------------------------------------ the manual page

// Text for roff: backslashes, hyphens that must stay hyphens, and a leading dot or apostrophe.
static void roff(const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\'')) printf("\\&");
        begins = *text == '\n';
        if (*text == '\\') printf("\\e");
        else if (*text == '-') printf("\\-");
        else putchar(*text);
    }
}

static void manual_option(const struct option_info *info)
{
    printf(".TP\n\\fB");
    if (info->letter) printf("\\-%c\\fR, \\fB", info->letter);
    printf("\\-\\-");
    roff(info->name);
    printf("\\fR");
    if (info->argument) printf(" \\fI"), roff(info->argument), printf("\\fR");
    printf("\n");
    roff(info->help);
    printf("%s\n", info->repeats ? "; repeats" : "");
}

static void manual_command(const struct command *command)
{
    printf(".SS tilec ");
    roff(command->name);
    printf(" %s [OPTION…]\n", command->operands);
    roff(command->help);
    printf("\n");
    for (int i = 0; command->options[i] != OPTION_END; i++) manual_option(option_of_command(command, command->options[i]));
    printf(".PP\n.nf\n");
    roff(command->example);
    printf("\n.fi\n");
}

tilec_result command_manual(const struct arguments *arguments)
{
    (void)arguments;
    printf(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH TILEC 1 \"\" \"tilec %s\"\n.SH NAME\n", tilec_version());
    printf("tilec \\- compile kernels over jagged tensors to CUDA C, and run them on the CPU or a GPU\n.SH SYNOPSIS\n"
           ".B tilec\n.I COMMAND\n[\\fIOPTION\\fR…]\n.SH COMMANDS\n");
    for (const struct command *command = commands; command->name; command++) manual_command(command);
    printf(".SH EXIT STATUS\n");
    roff(exit_codes_help);
    printf("\n.SH ENVIRONMENT\n");
    static const char *const variables[][2] = {
        {"CC", "the C compiler for the CPU target; otherwise cc, gcc and clang are looked for"},
        {"TILEC_CACHE_DIR", "where best configs and binaries are kept; otherwise $XDG_CACHE_HOME/tilec or ~/.cache/tilec"},
        {"TILEC_CACHE_SIZE", "how large the cache may become, 500M or 4G; otherwise 2G; 0: no limit"},
        {"TILEC_AUTOTUNE_CACHE", "local; strict: only for the exact builds of tilec and the toolkit; remote: not without a remote "
                                 "cache; aot: heuristics alone; otherwise local"},
        {"TILEC_REMOTE_CACHE", "the redis:// or http(s):// server over which best configs and cubins are shared, or none"},
        {"TILEC_REMOTE_CACHE_TOKEN", "its bearer token, or Redis' password"},
        {"TILEC_HEURISTIC_DIR", "a folder that is looked into for heuristic files before the source's own"},
        {"TILEC_FORCE_AUTOTUNE", "1: take no best config from the cache, only write"},
        {"TILEC_SKIP_CACHE", "1: neither read nor write the cache"},
        {"TILEC_ASSERT_CACHE_HIT", "1: end with 4 where the cache has no best config"},
        {"TILEC_AUTOTUNE_EFFORT", "how long to search for a config: none, quick or full"},
        {"TILEC_AUTOTUNE_BUDGET_SECONDS", "end a search after so long"},
        {"TILEC_WORKER", "the program that tune starts to compile and to time; otherwise tilec-worker beside the program"},
        {"TILEC_NVRTC_DIR", "the folder of libnvrtc, or none; otherwise the loader's path, the CUDA toolkit and Python environments"},
        {"NO_COLOR", "if set, messages have no colours"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        printf(".TP\n.B %s\n", variables[i][0]);
        roff(variables[i][1]);
        printf("\n");
    }
    return TILEC_OK;
}
