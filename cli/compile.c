// SPDX-License-Identifier: Apache-2.0
// tilec compile: a kernel to a cubin or PTX for each architecture, and what ptxas says it uses.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

static tilec_result text_to_compile(const struct arguments *arguments, const struct chosen *chosen, const char *architecture,
                                    tilec_text *text)
{
    const char *path = option_value(arguments, OPTION_SOURCE);
    struct tilec_emit_options options = emit_options(arguments);
    options.target = architecture;
    if (!path) return tilec_kernel_emit(chosen->kernel, chosen->config, &options, chosen->report, text);
    tilec_result result = tilec_file_read(path, chosen->report, text);
    if (result != TILEC_OK) return result;
    return tilec_kernel_fits(chosen->kernel, chosen->config, &options, text->data, text->length, chosen->report);
}

static tilec_result keep_text(const struct arguments *arguments, const struct chosen *chosen, const tilec_text *text,
                              const char *architecture)
{
    const char *folder = option_value(arguments, OPTION_KEEP);
    char path[4096];
    if (!folder) return TILEC_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return usage_error("can't make the folder %s: %s", folder, strerror(errno)), TILEC_WRONG;
    snprintf(path, sizeof path, "%s/%s.%s.cu", folder, tilec_kernel_name(chosen->kernel), architecture);
    return tilec_file_save(path, text->data, text->length, chosen->report);
}

static void print_usage(const struct tilec_usage *usage)
{
    printf("  %s: %d registers, %d bytes of shared memory, spills: %d bytes stored, %d loaded; stack %d, barriers %d\n",
           usage->kernel, usage->registers, usage->shared_bytes, usage->spill_store_bytes, usage->spill_load_bytes,
           usage->stack_bytes, usage->barriers);
}

static void print_usage_json(const tilec_binary *binary, const char *path, size_t length, bool first)
{
    printf("%s{\"arch\": \"%s\", \"file\": ", first ? "" : ",\n ", tilec_binary_architecture(binary));
    print_json_string(path);
    printf(", \"bytes\": %zu, \"kernels\": [", length);
    for (int i = 0; i < tilec_binary_usage_count(binary); i++) {
        struct tilec_usage usage = tilec_binary_usage(binary, i);
        printf("%s{\"name\": \"%s\", \"registers\": %d, \"shared_bytes\": %d, \"spill_store_bytes\": %d, \"spill_load_bytes\": %d, "
               "\"stack_bytes\": %d, \"barriers\": %d, \"constant_bytes\": %d}",
               i ? ", " : "", usage.kernel, usage.registers, usage.shared_bytes, usage.spill_store_bytes, usage.spill_load_bytes,
               usage.stack_bytes, usage.barriers, usage.constant_bytes);
    }
    printf("]}");
}

static tilec_result save(const struct arguments *arguments, const struct chosen *chosen, const tilec_binary *binary, bool first)
{
    const char *given = option_value(arguments, OPTION_OUTPUT);
    char path[4096];
    size_t length = 0;
    const void *data = tilec_binary_data(binary, &length);
    if (given) snprintf(path, sizeof path, "%s", given);
    else snprintf(path, sizeof path, "%s.%s.%s", tilec_kernel_name(chosen->kernel), tilec_binary_architecture(binary),
                  has_option(arguments, OPTION_PTX) ? "ptx" : "cubin");
    tilec_result result = tilec_file_save(path, data, length, chosen->report);
    if (result != TILEC_OK) return result;
    if (has_option(arguments, OPTION_JSON)) return print_usage_json(binary, path, length, first), TILEC_OK;
    printf("%s: %zu bytes for %s\n", path, length, tilec_binary_architecture(binary));
    for (int i = 0; i < tilec_binary_usage_count(binary); i++) {
        struct tilec_usage usage = tilec_binary_usage(binary, i);
        print_usage(&usage);
    }
    return TILEC_OK;
}

static tilec_result compile_for(const struct arguments *arguments, struct chosen *chosen, const char *architecture, bool first)
{
    tilec_text text = {0};
    tilec_binary *binary = NULL;
    char name[256];
    snprintf(name, sizeof name, "%s.cu", tilec_kernel_name(chosen->kernel));
    tilec_result result = text_to_compile(arguments, chosen, architecture, &text);
    if (result == TILEC_OK) result = keep_text(arguments, chosen, &text, architecture);
    if (result == TILEC_OK)
        result = tilec_compile(text.data, text.length, name, architecture, has_option(arguments, OPTION_PTX), chosen->report, &binary);
    if (result == TILEC_INTERNAL && has_option(arguments, OPTION_SOURCE)) result = TILEC_WRONG;  // an edited text isn't tilec's
    if (result == TILEC_OK) fputs(tilec_binary_log(binary), stderr);
    if (result == TILEC_OK) result = save(arguments, chosen, binary, first);
    tilec_binary_free(binary);
    tilec_text_free(&text);
    return result;
}

static tilec_result compile_kernel(const struct arguments *arguments, struct chosen *chosen, const char *name, bool *first)
{
    static const char *const standard[] = {"sm_90"};
    const struct values *asked = &arguments->values[OPTION_ARCH];
    int count = asked->count ? asked->count : 1;
    tilec_result result = choose_kernel(arguments, name, chosen);
    if (result == TILEC_OK) result = choose_config(arguments, chosen);
    for (int i = 0; i < count && result == TILEC_OK; i++) {
        result = compile_for(arguments, chosen, asked->count ? asked->items[i] : standard[0], *first);
        *first = false;
    }
    return result;
}

// Without --kernel every kernel of the file: each is a text, and a binary, of its own.
static tilec_result compile_all(const struct arguments *arguments, struct chosen *chosen)
{
    const char *only = option_value(arguments, OPTION_KERNEL);
    int kernels = only ? 1 : tilec_program_kernel_count(chosen->program), architectures = arguments->values[OPTION_ARCH].count;
    bool first = true, json = has_option(arguments, OPTION_JSON);
    tilec_result result = TILEC_OK;
    if (kernels == 0) return choose_kernel(arguments, NULL, chosen);
    if ((kernels > 1 || architectures > 1) && has_option(arguments, OPTION_OUTPUT))
        return usage_error("compile: -o is one file; choose one kernel and one architecture");
    if (kernels > 1 && has_option(arguments, OPTION_SOURCE)) return usage_error("compile: --source is one kernel's text; choose it with --kernel");
    if (json) printf("[");
    for (int i = 0; i < kernels && result == TILEC_OK; i++)
        result = compile_kernel(arguments, chosen, only ? only : tilec_program_kernel_name(chosen->program, i), &first);
    if (json) printf("]\n");
    return result;
}

tilec_result command_compile(const struct arguments *arguments)
{
    struct chosen chosen;
    tilec_result result = choose_program(arguments, arguments->operands.items[0], &chosen);
    if (result == TILEC_OK) result = compile_all(arguments, &chosen);
    choose_free(arguments, &chosen);
    return result;
}
