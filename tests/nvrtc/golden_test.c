// SPDX-License-Identifier: Apache-2.0
// NVRTC compiles every golden CUDA file for every architecture without a word. A folder comes in, a test per file comes
// out.
//
//   golden_test FOLDER PART PARTS ARCHITECTURE...
//
// Takes each PARTS-th file from PART on, so that several runs share the work. Skipped where there is no NVRTC.
#include <dirent.h>
#include <stdlib.h>

#include "runtime/build.h"
#include "tests/unit.h"

enum { MOST_FILES = 256 };

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The folder's .cu files in order of their names; -1 if there is no such folder.
static int list_files(struct arena *arena, const char *folder, const char **names) {
    DIR *opened = opendir(folder);
    int count = 0;
    if (!opened)
        return -1;
    for (struct dirent *entry; (entry = readdir(opened)) && count < MOST_FILES;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && !strcmp(entry->d_name + length - 3, ".cu"))
            names[count++] = arena_copy(arena, entry->d_name, length);
    }
    closedir(opened);
    qsort(names, (size_t)count, sizeof *names, compare_names);
    return count;
}

static void print_log(const char *log) {
    for (int lines = 0; log && *log && lines < 12; lines++) {
        size_t length = strcspn(log, "\n");
        printf("#   %.*s\n", (int)length, log);
        log += length + (log[length] == '\n');
    }
}

static bool knows(const struct nvrtc *nvrtc, struct target target) {
    const int *architectures;
    int count = nvrtc_architectures(nvrtc, &architectures);
    for (int i = 0; i < count; i++)
        if (architectures[i] == target.sm)
            return true;
    return false;
}

static void test_file(struct unit *unit, const struct nvrtc *nvrtc, const char *path, int count, char *const *architectures) {
    const char *reason;
    const struct source *source = source_read(unit->arena, path, &reason);
    if (!CHECK(unit, source))
        return;
    for (int i = 0; i < count; i++) {
        struct target target;
        if (!CHECK(unit, target_parse(architectures[i], &target)))
            return;
        if (!knows(nvrtc, target)) {
            printf("# this NVRTC doesn't know %s\n", architectures[i]);
            continue;
        }
        if (target.sm < 90 && (strstr(source->text, "cluster") || strstr(source->text, "mbarrier")))
            continue;  // from sm_90 on
        if (strstr(source->text, "wgmma.") && !(target.sm == 90 && target.specific))
            continue;  // instructions of sm_90a alone
        struct cuda_binary binary = {0};
        struct status status = nvrtc_compile(unit->arena, nvrtc, source->text, path, target, false, &binary);
        bool silent = CHECK(unit, status.ok) && CHECK(unit, !*binary.log) && CHECK(unit, binary.usage_count > 0);
        if (!silent)
            printf("# for %s:\n", architectures[i]);
        print_log(status.ok ? binary.log : status.reason);
    }
}

int main(int count, char **arguments) {
    struct unit unit = {0};
    struct arena *arena = arena_new();
    struct nvrtc *nvrtc = NULL;
    const char *names[MOST_FILES];
    int files = count > 4 ? list_files(arena, arguments[1], names) : -1;
    struct status status = files < 0 ? STATUS_OK : nvrtc_open(arena, &nvrtc);
    if (!status.ok)
        printf("1..0 # SKIP no NVRTC: %s\n", status.reason);
    for (int i = nvrtc ? atoi(arguments[2]) : files; i < files; i += atoi(arguments[3])) {
        unit_begin(&unit);
        test_file(&unit, nvrtc, arena_printf(arena, "%s/%s", arguments[1], names[i]), count - 4, arguments + 4);
        unit_end(&unit, names[i]);
    }
    nvrtc_close(nvrtc);
    arena_free(arena);
    return status.ok ? unit_finish(&unit) : 0;
}
