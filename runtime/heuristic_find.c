// SPDX-License-Identifier: Apache-2.0
// Which heuristic file is used. In: a kernel, a target, folders. Out: the heuristic, or why there is none.
//
// Files are named for what they were measured on, "<stem>.<kernel>.aot_cuda_sm90.json", so a repository may have one for
// each kind of GPU. What is good on one generation is mostly good on the next, so an older file is better than none; a
// newer one may ask for what this device hasn't got.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/heuristic.h"
#include "runtime/runtime.h"

struct finding {
    struct arena *arena;
    const struct ir_kernel *kernel;
    const char *target;
    const char *prefix;  // "jagged_sum.jagged_sum.aot_"
    int sm;              // of the target; -1 on the CPU
    struct heuristic_found *found;
};

// ---------------------------------------------------------------------------------------------- names

static const char *file_prefix(struct arena *arena, const char *source, const char *kernel)
{
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source, *dot = strrchr(name, '.');
    int stem = dot && dot != name ? (int)(dot - name) : (int)strlen(name);
    return arena_printf(arena, "%.*s.%s.aot_", stem, name, kernel);
}

// The capability in "sm_90" or "sm_90a"; -1: it has none.
static int target_sm(const char *target)
{
    return strncmp(target, "sm_", 3) == 0 ? atoi(target + 3) : -1;
}

static const char *file_suffix(struct arena *arena, int sm)
{
    return sm < 0 ? "cpu.json" : arena_printf(arena, "cuda_sm%d.json", sm);
}

const char *heuristic_file_name(struct arena *arena, const char *source, const char *kernel, const char *target)
{
    return arena_printf(arena, "%s%s", file_prefix(arena, source, kernel), file_suffix(arena, target_sm(target)));
}

// The capability in a file's name; -1 where it isn't one of this kernel's for CUDA.
static int name_sm(const struct finding *finding, const char *name)
{
    static const char cuda[] = "cuda_sm";
    size_t length = strlen(finding->prefix);
    if (strncmp(name, finding->prefix, length) != 0 || strncmp(name + length, cuda, strlen(cuda)) != 0) return -1;
    const char *digits = name + length + strlen(cuda);
    size_t count = strspn(digits, "0123456789");
    return count >= 1 && count <= 4 && strcmp(digits + count, ".json") == 0 ? atoi(digits) : -1;
}

static const char *source_folder(struct arena *arena, const struct ir_kernel *kernel)
{
    const char *path = kernel->source ? kernel->source->path : NULL, *slash = path ? strrchr(path, '/') : NULL;
    if (!path || strcmp(path, "-") == 0) return NULL;
    if (!slash) return ".";
    return slash == path ? "/" : arena_printf(arena, "%.*s", (int)(slash - path), path);
}

// ---------------------------------------------------------------------------------------------- warnings

static void warn(const struct finding *finding, const char *code, const char *text)
{
    struct heuristic_found *found = finding->found;
    if (found->warning_count == CACHE_WARNINGS) return;
    found->warnings[found->warning_count].code = code;
    found->warnings[found->warning_count++].text = text;
}

// ---------------------------------------------------------------------------------------------- one file

static struct status lowers_here(const struct finding *finding, const struct heuristic *heuristic)
{
    struct lower_options options = {.target = {.kind = TARGET_CPU}};
    struct status status = STATUS_OK;
    if (!target_parse(finding->target, &options.target)) return STATUS_OK;
    for (int i = 0; i < heuristic->config_count; i++)
        if (!lower(finding->arena, finding->kernel, heuristic->configs[i], &options, &status))
            return status_failed(finding->arena, "heuristic.config", "config %d can't be had on %s: %s", i, finding->target, status.reason);
    return STATUS_OK;
}

static struct status read_file(const struct finding *finding, const char *path, bool older, struct heuristic **heuristic)
{
    const char *reason = NULL;
    const struct source *source = source_read(finding->arena, path, &reason);
    if (!source) return status_failed(finding->arena, "heuristic.file", "it can't be read: %s", reason);
    struct status status = heuristic_parse(finding->arena, finding->kernel, source->text, source->length, heuristic);
    if (status.ok) status = heuristic_check_program(finding->arena, *heuristic, finding->kernel);
    if (status.ok) heuristic_fit(finding->arena, finding->kernel, *heuristic);
    if (status.ok && older) status = lowers_here(finding, *heuristic);
    return status;
}

static bool take_file(const struct finding *finding, const char *folder, int sm)
{
    struct arena *arena = finding->arena;
    const char *path = arena_printf(arena, "%s/%s%s", folder, finding->prefix, file_suffix(arena, sm));
    struct heuristic *heuristic = NULL;
    struct status status = read_file(finding, path, sm != finding->sm, &heuristic);
    if (!status.ok) return warn(finding, status.code, arena_printf(arena, "%s isn't used: %s", path, status.reason)), false;
    if (sm != finding->sm)
        warn(finding, "heuristic.capability", arena_printf(arena, "%s was measured on sm_%d and is used on %s; `tilec aot` makes one for this device",
                                                           path, sm, finding->target));
    finding->found->heuristic = heuristic;
    finding->found->path = path;
    return true;
}

// ---------------------------------------------------------------------------------------------- folders

enum { FILES_MOST = 64 };  // capabilities, and one for the CPU

static int compare_down(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

// The capabilities that a folder has files for, the newest first; on the CPU the one file that may be there.
static int list_files(const struct finding *finding, const char *folder, int *sms)
{
    DIR *directory = opendir(folder);
    const char *own = arena_printf(finding->arena, "%scpu.json", finding->prefix);
    int count = 0;
    for (struct dirent *entry; directory && count < FILES_MOST && (entry = readdir(directory));) {
        int sm = name_sm(finding, entry->d_name);
        bool wanted = finding->sm < 0 ? strcmp(entry->d_name, own) == 0 : sm >= 0;
        if (wanted) sms[count++] = sm;
    }
    if (directory) closedir(directory);
    qsort(sms, (size_t)count, sizeof *sms, compare_down);
    return count;
}

static bool look_into(const struct finding *finding, const char *folder)
{
    int sms[FILES_MOST], count = list_files(finding, folder, sms);
    struct heuristic_found *found = finding->found;
    found->folders = arena_printf(finding->arena, "%s%s%s", found->folders, *found->folders ? ", " : "", folder);
    for (int i = 0; i < count; i++)
        if (sms[i] <= finding->sm && take_file(finding, folder, sms[i])) return true;
    if (count > 0 && sms[count - 1] > finding->sm)
        warn(finding, "heuristic.newer", arena_printf(finding->arena, "%s/%s%s isn't used: it was measured on sm_%d, which is newer than %s",
                                                      folder, finding->prefix, file_suffix(finding->arena, sms[count - 1]), sms[count - 1],
                                                      finding->target));
    return false;
}

struct heuristic_found heuristic_find(struct arena *arena, const struct ir_kernel *kernel, const char *folder, const char *target)
{
    struct heuristic_found found = {.folders = ""};
    const char *beside = source_folder(arena, kernel);
    const struct finding finding = {
        .arena = arena, .kernel = kernel, .target = target, .sm = target_sm(target), .found = &found,
        .prefix = file_prefix(arena, kernel->source ? kernel->source->path : "-", kernel->name)};
    if (folder && look_into(&finding, folder)) return found;
    if (beside) look_into(&finding, beside);
    return found;
}
