// SPDX-License-Identifier: Apache-2.0
// tilec emit: the text of each kernel, or the program at the stages on the way to it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

// One kernel on its way: what stages are asked for, where they go.
struct emission {
    const struct arguments *arguments;
    struct chosen *chosen;
    const char *wanted;  // --ir, or --stop-after; NULL: none
    bool found;          // the wanted stage came by
    bool kept;           // all files could be written
    int number;          // of the stage
    const char *keep;    // --keep
};

// ------------------------------------------------------------------------------------------------ --keep

static bool keep_file(struct emission *emission, const char *name, const char *extension, const char *data, size_t length)
{
    char path[4096];
    int size = snprintf(path, sizeof path, "%s/%s.%s", emission->keep, name, extension);
    if (size < 0 || size >= (int)sizeof path) return usage_error("--keep: the path is too long"), false;
    return tilec_file_save(path, data, length, emission->chosen->report) == TILEC_OK;
}

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return true;
    usage_error("can't make the folder %s: %s", path, strerror(errno));
    return false;
}

static bool keep_config(struct emission *emission)
{
    tilec_config *own = NULL;
    const struct tilec_rows unknown = {.target = option_value(emission->arguments, OPTION_TARGET)};
    if (!emission->chosen->config && tilec_config_default(emission->chosen->kernel, &unknown, &own) != TILEC_OK) return true;
    tilec_text json = tilec_config_json(own ? own : emission->chosen->config, 0);
    bool ok = keep_file(emission, tilec_kernel_name(emission->chosen->kernel), "config.json", json.data, json.length);
    tilec_text_free(&json);
    tilec_config_free(own);
    return ok;
}

// ------------------------------------------------------------------------------------------------ stages

static void on_stage(void *data, const char *stage, const char *text, size_t length)
{
    struct emission *emission = data;
    bool all = emission->wanted && strcmp(emission->wanted, "all") == 0;
    bool this = emission->wanted && strcmp(emission->wanted, stage) == 0;
    if (all) printf("%s// after %s\n", emission->number ? "\n" : "", stage);
    if (all || this) fwrite(text, 1, length, stdout), emission->found = true;
    if (emission->keep && emission->kept) {  // one failure is enough said
        char extension[256];
        snprintf(extension, sizeof extension, "%02d-%s.ir", emission->number, stage);
        if (!keep_file(emission, tilec_kernel_name(emission->chosen->kernel), extension, text, length)) emission->kept = false;
    }
    emission->number++;
}

static tilec_result put_source(const struct emission *emission, const struct tilec_emit_options *options, tilec_text *text)
{
    const char *path = option_value(emission->arguments, OPTION_SOURCE);
    const struct chosen *chosen = emission->chosen;
    if (!path) return TILEC_OK;
    tilec_text_free(text);
    tilec_result result = tilec_file_read(path, chosen->report, text);
    if (result != TILEC_OK) return result;
    return tilec_kernel_fits(chosen->kernel, chosen->config, options, text->data, text->length, chosen->report);
}

static tilec_result explain_strategy(struct emission *emission, const char *name, tilec_text *text)
{
    tilec_result result = choose_kernel(emission->arguments, name, emission->chosen);
    if (result == TILEC_OK) result = choose_config(emission->arguments, emission->chosen);
    if (result == TILEC_OK) *text = tilec_kernel_explain_strategy(emission->chosen->kernel, emission->chosen->config);
    return result;
}

static tilec_result emit_one(struct emission *emission, const char *name, tilec_text *text)
{
    struct chosen *chosen = emission->chosen;
    tilec_result result = choose_kernel(emission->arguments, name, chosen);
    if (result == TILEC_OK) result = choose_config(emission->arguments, chosen);
    if (result != TILEC_OK) return result;
    struct tilec_emit_options options = emit_options(emission->arguments), plain = options;
    emission->number = 0;
    emission->found = false;
    if (emission->wanted && !options.stop_after && strcmp(emission->wanted, "all") != 0) options.stop_after = emission->wanted;
    if (emission->wanted || emission->keep) options.stage = on_stage, options.data = emission;
    if (emission->keep) emission->kept = keep_config(emission) && emission->kept;
    result = tilec_kernel_emit(chosen->kernel, chosen->config, &options, chosen->report, text);
    if (result == TILEC_OK && emission->wanted && !emission->found)
        return usage_error("there is no stage %s; there are ast, checked, all and the passes of tilec emit --list-passes", emission->wanted);
    if (result == TILEC_OK && !options.stop_after) result = put_source(emission, &plain, text);
    if (result == TILEC_OK && emission->keep && text->length)
        emission->kept = keep_file(emission, tilec_kernel_name(chosen->kernel), strcmp(options.target ? options.target : "", "cpu") ? "cu" : "c",
                                   text->data, text->length) && emission->kept;
    return result == TILEC_OK && !emission->kept ? TILEC_WRONG : result;
}

// ------------------------------------------------------------------------------------------------ the command

static bool is_helper(const char *text, size_t length)
{
    static const char *const heads[] = {"static __device__ __forceinline__ ", "static inline "};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (length > strlen(heads[i]) && memcmp(text, heads[i], strlen(heads[i])) == 0) return true;
    return false;
}

// Drops the small functions that stand in the text before already, letter for letter: one file defines each once. They
// are paragraphs of their own, with an empty line behind.
static void drop_known_helpers(const tilec_text *all, tilec_text *one)
{
    size_t kept = 0;
    for (size_t at = 0; at < one->length;) {
        const char *end = memmem(one->data + at, one->length - at, "\n\n", 2);
        size_t size = end ? (size_t)(end + 2 - (one->data + at)) : one->length - at;
        bool known = is_helper(one->data + at, size) && all->length && memmem(all->data, all->length, one->data + at, size);
        if (!known) memmove(one->data + kept, one->data + at, size), kept += size;
        at += size;
    }
    one->length = kept;
}

static bool append(tilec_text *all, tilec_text *one)
{
    if (one->length) drop_known_helpers(all, one);
    char *data = realloc(all->data, all->length + one->length + 2);
    if (!data) return usage_error("out of memory"), false;
    all->data = data;
    if (all->length) all->data[all->length++] = '\n';
    if (one->length) memcpy(all->data + all->length, one->data, one->length);
    all->length += one->length;
    all->data[all->length] = 0;
    return true;
}

static tilec_result emit_all(struct emission *emission, tilec_text *all)
{
    const tilec_program *program = emission->chosen->program;
    const char *only = option_value(emission->arguments, OPTION_KERNEL);
    bool explains = has_option(emission->arguments, OPTION_EXPLAIN_STRATEGY);
    tilec_result result = TILEC_OK;
    int count = only ? 1 : tilec_program_kernel_count(program);
    if (count == 0) return choose_kernel(emission->arguments, NULL, emission->chosen);
    for (int i = 0; i < count && result == TILEC_OK; i++) {
        tilec_text one = {0};
        const char *name = only ? only : tilec_program_kernel_name(program, i);
        result = explains ? explain_strategy(emission, name, &one) : emit_one(emission, name, &one);
        if (result == TILEC_OK && !append(all, &one)) result = TILEC_INTERNAL;
        tilec_text_free(&one);
    }
    return result;
}

static bool options_agree(const struct arguments *arguments)
{
    const char *target = option_value(arguments, OPTION_TARGET);
    if (target && strcmp(target, "cuda") != 0 && strcmp(target, "cpu") != 0)
        return usage_error("emit: there is no target %s; there are cuda and cpu", target), false;
    if (arguments->values[OPTION_ARCH].count > 1) return usage_error("emit: --arch is given twice"), false;
    return true;
}

static tilec_result list(const struct arguments *arguments)
{
    tilec_text text = has_option(arguments, OPTION_LIST_OPS) ? tilec_list_ops() : tilec_list_passes();
    print_text(&text);
    return TILEC_OK;
}

static tilec_result emit_file(const struct arguments *arguments, struct chosen *chosen)
{
    const char *stage = option_value(arguments, OPTION_IR), *stop = option_value(arguments, OPTION_STOP_AFTER);
    struct emission emission = {
        .arguments = arguments, .chosen = chosen, .wanted = stage ? stage : stop, .kept = true, .keep = option_value(arguments, OPTION_KEEP)};
    if (stage && strcmp(stage, "ast") == 0) {
        tilec_text tree = tilec_program_tree(chosen->program);
        return write_output(arguments, &tree, chosen->report);
    }
    if (emission.keep && !make_folder(emission.keep)) return TILEC_WRONG;
    tilec_text text = {0};
    tilec_result result = emit_all(&emission, &text);
    if (result == TILEC_OK && !emission.wanted) return write_output(arguments, &text, chosen->report);
    tilec_text_free(&text);
    return result;
}

tilec_result command_emit(const struct arguments *arguments)
{
    if (has_option(arguments, OPTION_LIST_OPS) || has_option(arguments, OPTION_LIST_PASSES)) return list(arguments);
    if (arguments->operands.count == 0) return usage_error("emit: wants FILE; see tilec emit --help");
    if (!options_agree(arguments)) return TILEC_USAGE;
    struct chosen chosen;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = emit_file(arguments, &chosen);
    choose_free(arguments, &chosen);
    return result;
}
