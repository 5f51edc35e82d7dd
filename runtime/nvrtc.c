// SPDX-License-Identifier: Apache-2.0
// In: CUDA C. Out: a cubin or PTX, the compiler's messages, and what ptxas says each kernel uses.
//
// NVRTC is opened when first asked for, so tilec runs without it. It is looked for under its sonames, in the toolkit's
// folders and in those of NVIDIA's Python wheels. Its builtins library must come from the same folder and is opened by
// full path first: NVRTC asks for it by its bare name, and then finds it already there.
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"

struct nvrtc {
    struct arena *arena;
    void *handle, *builtins;
    const char *path;
    int major, minor;
    int architecture_count;
    int *architectures;
    int (*version)(int *major, int *minor);
    const char *(*error_string)(int result);
    int (*create)(void **program, const char *text, const char *name, int headers, const char *const *bodies,
                  const char *const *names);
    int (*destroy)(void **program);
    int (*compile)(void *program, int count, const char *const *options);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *log);
    int (*cubin_size)(void *program, size_t *size);
    int (*cubin)(void *program, char *cubin);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *ptx);
    int (*architecture_number)(int *count);
    int (*supported)(int *architectures);
};

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
enum { SONAME_COUNT = sizeof sonames / sizeof *sonames, FOLDER_LIMIT = 32 };

// ---------------------------------------------------------------------------------------------- where it may be

struct folders {
    struct arena *arena;
    int count;
    const char *items[FOLDER_LIMIT];
};

static void add_folder(struct folders *folders, const char *path)
{
    if (folders->count < FOLDER_LIMIT) folders->items[folders->count++] = path;
}

// The lib folders of NVIDIA's wheels (one per toolkit since 13, one per library before) in a Python environment.
static void add_wheels(struct folders *folders, const char *environment)
{
    static const char *const places[] = {"nvidia/cu13/lib", "nvidia/cu12/lib", "nvidia/cuda_nvrtc/lib"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        glob_t found;
        const char *pattern = arena_printf(folders->arena, "%s/lib/python3*/site-packages/%s", environment, places[i]);
        if (glob(pattern, 0, NULL, &found) != 0) continue;
        for (size_t j = 0; j < found.gl_pathc; j++)
            add_folder(folders, arena_copy(folders->arena, found.gl_pathv[j], strlen(found.gl_pathv[j])));
        globfree(&found);
    }
}

static void add_toolkit(struct folders *folders, const char *root)
{
    if (!root || !*root) return;
    add_folder(folders, arena_printf(folders->arena, "%s/lib64", root));
    add_folder(folders, arena_printf(folders->arena, "%s/lib", root));
}

// build/cli/tilec has its environment in build/venv.
static void add_own_environment(struct folders *folders)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (!slash) return;
    *slash = 0;
    add_wheels(folders, arena_printf(folders->arena, "%s/../venv", path));
}

// Beside a library or a worker that lies in a Python package lie NVIDIA's packages.
static void add_neighbours(struct folders *folders)
{
    static const char *const places[] = {"nvidia/cu13/lib", "nvidia/cu12/lib", "nvidia/cuda_nvrtc/lib"};
    Dl_info about;
    if (!dladdr((const void *)(uintptr_t)nvrtc_open, &about) || !about.dli_fname) return;
    char *real = realpath(about.dli_fname, NULL), *slash = real ? strrchr(real, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++)
        add_folder(folders, arena_printf(folders->arena, "%.*s/../%s", (int)(slash - real), real, places[i]));
    free(real);
}

static void list_folders(struct folders *folders)
{
    const char *chosen = getenv("TILEC_NVRTC_DIR"), *environment = getenv("VIRTUAL_ENV");
    if (chosen && strcmp(chosen, "none") == 0) return;
    if (chosen && *chosen) add_folder(folders, chosen);
    add_folder(folders, "");  // the loader's own search
    add_toolkit(folders, getenv("CUDA_HOME"));
    add_toolkit(folders, getenv("CUDA_PATH"));
    add_toolkit(folders, "/usr/local/cuda");
    if (environment && *environment) add_wheels(folders, environment);
    add_own_environment(folders);
    add_neighbours(folders);
}

// ---------------------------------------------------------------------------------------------- opening

static void *open_builtins(struct arena *arena, const char *folder)
{
    glob_t found;
    void *handle = NULL;
    if (glob(arena_printf(arena, "%s/libnvrtc-builtins.so.*", folder), 0, NULL, &found) != 0) return NULL;
    for (size_t i = 0; i < found.gl_pathc && !handle; i++) handle = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    globfree(&found);
    return handle;
}

// The folder that an opened library came from: with the loader's own search only it knows.
static const char *folder_of(struct arena *arena, void *handle)
{
    char origin[PATH_MAX] = "";
    if (dlinfo(handle, RTLD_DI_ORIGIN, origin) != 0) return "";
    return arena_copy(arena, origin, strlen(origin));
}

// Once opened it stays mapped: a second opening is then free, and what it allocated for itself stays reachable.
static bool open_in(struct nvrtc *nvrtc, const char *folder)
{
    for (int i = 0; i < SONAME_COUNT; i++) {
        const char *path = *folder ? arena_printf(nvrtc->arena, "%s/%s", folder, sonames[i]) : sonames[i];
        if (*folder && access(path, R_OK) != 0) continue;
        nvrtc->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!nvrtc->handle) continue;
        const char *origin = folder_of(nvrtc->arena, nvrtc->handle);
        nvrtc->path = arena_printf(nvrtc->arena, "%s/%s", origin, sonames[i]);
        nvrtc->builtins = open_builtins(nvrtc->arena, origin);
        return true;
    }
    return false;
}

static bool take_symbol(struct nvrtc *nvrtc, const char *name, void *place)
{
    void *symbol = dlsym(nvrtc->handle, name);
    memcpy(place, &symbol, sizeof symbol);  // function pointers aren't assigned from void * in ISO C
    return symbol != NULL;
}

static bool take_symbols(struct nvrtc *nvrtc)
{
    const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"nvrtcVersion", &nvrtc->version},          {"nvrtcGetErrorString", &nvrtc->error_string},
        {"nvrtcCreateProgram", &nvrtc->create},     {"nvrtcDestroyProgram", &nvrtc->destroy},
        {"nvrtcCompileProgram", &nvrtc->compile},   {"nvrtcGetProgramLogSize", &nvrtc->log_size},
        {"nvrtcGetProgramLog", &nvrtc->log},        {"nvrtcGetCUBINSize", &nvrtc->cubin_size},
        {"nvrtcGetCUBIN", &nvrtc->cubin},           {"nvrtcGetPTXSize", &nvrtc->ptx_size},
        {"nvrtcGetPTX", &nvrtc->ptx},               {"nvrtcGetNumSupportedArchs", &nvrtc->architecture_number},
        {"nvrtcGetSupportedArchs", &nvrtc->supported},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!take_symbol(nvrtc, symbols[i].name, symbols[i].place)) return false;
    return true;
}

static bool ask_architectures(struct nvrtc *nvrtc)
{
    if (nvrtc->version(&nvrtc->major, &nvrtc->minor) != 0) return false;
    if (nvrtc->architecture_number(&nvrtc->architecture_count) != 0 || nvrtc->architecture_count <= 0) return false;
    nvrtc->architectures = ARENA_ARRAY(nvrtc->arena, int, nvrtc->architecture_count);
    return nvrtc->supported(nvrtc->architectures) == 0;
}

static void close_handles(struct nvrtc *nvrtc)
{
    if (nvrtc->builtins) dlclose(nvrtc->builtins);
    if (nvrtc->handle) dlclose(nvrtc->handle);
    nvrtc->builtins = nvrtc->handle = NULL;
}

static struct status not_found(struct arena *arena, const struct folders *folders)
{
    const char *looked = "";
    if (folders->count == 0) return status_failed(arena, "missing.nvrtc", "NVRTC isn't looked for, as TILEC_NVRTC_DIR is none");
    for (int i = 0; i < folders->count; i++)
        looked = arena_printf(arena, "%s%s%s", looked, i ? ", " : "", *folders->items[i] ? folders->items[i] : "the loader's path");
    return status_failed(arena, "missing.nvrtc", "NVRTC isn't here: libnvrtc.so.13, .12 and .11.2 were looked for in %s; install "
                         "CUDA, or `python3 -m pip install nvidia-cuda-nvrtc` and set TILEC_NVRTC_DIR to its folder", looked);
}

struct status nvrtc_open(struct arena *arena, struct nvrtc **nvrtc)
{
    struct arena *own = arena_new();
    *nvrtc = NULL;
    if (!own) return status_failed(arena, "internal.memory", "out of memory");
    struct nvrtc *opened = ARENA_NEW(own, struct nvrtc);
    struct folders folders = {.arena = own};
    opened->arena = own;
    list_folders(&folders);
    for (int i = 0; i < folders.count; i++) {
        if (!open_in(opened, folders.items[i])) continue;
        if (take_symbols(opened) && ask_architectures(opened)) return *nvrtc = opened, STATUS_OK;
        close_handles(opened);
    }
    struct status status = not_found(arena, &folders);
    arena_free(own);
    return status;
}

void nvrtc_close(struct nvrtc *nvrtc)
{
    if (!nvrtc) return;
    close_handles(nvrtc);
    arena_free(nvrtc->arena);
}

const char *nvrtc_path(const struct nvrtc *nvrtc)
{
    return nvrtc->path;
}

void nvrtc_version(const struct nvrtc *nvrtc, int *major, int *minor)
{
    *major = nvrtc->major;
    *minor = nvrtc->minor;
}

int nvrtc_architectures(const struct nvrtc *nvrtc, const int **architectures)
{
    *architectures = nvrtc->architectures;
    return nvrtc->architecture_count;
}

// ---------------------------------------------------------------------------------------------- targets

bool target_parse(const char *text, struct target *target)
{
    *target = (struct target){.kind = TARGET_CPU};
    if (strcmp(text, "cpu") == 0) return true;
    if (strncmp(text, "sm_", 3) != 0) return false;
    size_t digits = strspn(text + 3, "0123456789");
    const char *rest = text + 3 + digits;
    if (digits < 2 || digits > 3 || text[3] == '0' || (*rest && strcmp(rest, "a") != 0)) return false;
    *target = (struct target){.kind = TARGET_CUDA, .sm = atoi(text + 3), .specific = *rest == 'a'};
    return true;
}

const char *target_name(struct arena *arena, struct target target)
{
    if (target.kind == TARGET_CPU) return "cpu";
    return arena_printf(arena, "sm_%d%s", target.sm, target.specific ? "a" : "");
}

// PTX for an older architecture runs on a newer one, a cubin doesn't: so PTX for one that NVRTC doesn't know yet is
// made for the newest it knows, and a cubin is refused.
static struct status choose_architecture(struct arena *arena, const struct nvrtc *nvrtc, struct target *target, bool ptx)
{
    int newest = 0;
    const char *known = "";
    for (int i = 0; i < nvrtc->architecture_count; i++) {
        int sm = nvrtc->architectures[i];
        if (sm == target->sm) return STATUS_OK;
        if (sm > newest) newest = sm;
        known = arena_printf(arena, "%s%ssm_%d", known, i ? ", " : "", sm);
    }
    if (ptx && !target->specific && target->sm > newest) return target->sm = newest, STATUS_OK;
    return status_failed(arena, "missing.architecture", "NVRTC %d.%d has no %s; it has %s%s", nvrtc->major, nvrtc->minor,
                         target_name(arena, *target), known, target->sm > newest ? " (PTX for these runs on newer ones)" : "");
}

// ---------------------------------------------------------------------------------------------- what ptxas said

static int number_before(const char *line, const char *end, const char *words)
{
    const char *at = memmem(line, (size_t)(end - line), words, strlen(words));
    if (!at) return 0;
    while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
    return atoi(at);
}

static void read_properties(struct cuda_usage *usage, const char *line, const char *end)
{
    usage->stack_bytes = number_before(line, end, " bytes stack frame");
    usage->spill_store_bytes = number_before(line, end, " bytes spill stores");
    usage->spill_load_bytes = number_before(line, end, " bytes spill loads");
}

static void read_usage(struct cuda_usage *usage, const char *line, const char *end)
{
    usage->registers = number_before(line, end, " registers");
    usage->barriers = number_before(line, end, " barriers");
    usage->shared_bytes = number_before(line, end, " bytes smem");
    usage->constant_bytes = number_before(line, end, " bytes cmem[0]");
}

static bool line_has(const char *line, const char *end, const char *words)
{
    return memmem(line, (size_t)(end - line), words, strlen(words)) != NULL;
}

static void begin_kernel(struct arena *arena, struct cuda_binary *binary, int *capacity, const char *line, const char *end)
{
    const char *quote = memchr(line, '\'', (size_t)(end - line));
    const char *close = quote ? memchr(quote + 1, '\'', (size_t)(end - quote - 1)) : NULL;
    if (!close) return;
    struct cuda_usage usage = {.name = arena_copy(arena, quote + 1, (size_t)(close - quote - 1))};
    ARENA_PUSH(arena, binary->usage, binary->usage_count, *capacity, usage);
}

// Takes ptxas's account of resources out of the log and leaves the rest, which are messages for a person.
static void read_log(struct arena *arena, struct cuda_binary *binary, const char *log)
{
    struct text rest = {0};
    int capacity = 0;
    for (const char *line = log; *line;) {
        const char *end = line + strcspn(line, "\n");
        struct cuda_usage *usage = binary->usage_count ? &binary->usage[binary->usage_count - 1] : NULL;
        bool info = strncmp(line, "ptxas info", 10) == 0;
        if (info && line_has(line, end, "Compiling entry function")) begin_kernel(arena, binary, &capacity, line, end);
        else if (usage && info && line_has(line, end, "registers")) read_usage(usage, line, end);
        else if (usage && line_has(line, end, "bytes stack frame")) read_properties(usage, line, end);
        else if (!info && end > line) text_add_bytes(&rest, line, (size_t)(end - line)), text_add(&rest, "\n");
        line = *end ? end + 1 : end;
    }
    binary->log = arena_copy(arena, rest.data ? rest.data : "", rest.length);
    text_free(&rest);
}

// ---------------------------------------------------------------------------------------------- compiling

static const char *program_log(struct arena *arena, const struct nvrtc *nvrtc, void *program)
{
    size_t size = 0;
    if (nvrtc->log_size(program, &size) != 0 || size == 0) return "";
    char *log = arena_alloc(arena, size + 1);
    return nvrtc->log(program, log) == 0 ? log : "";
}

static bool take_result(struct arena *arena, const struct nvrtc *nvrtc, void *program, struct cuda_binary *binary)
{
    size_t size = 0;
    int result = binary->ptx ? nvrtc->ptx_size(program, &size) : nvrtc->cubin_size(program, &size);
    if (result != 0 || size == 0) return false;
    char *data = arena_alloc(arena, size + 1);
    result = binary->ptx ? nvrtc->ptx(program, data) : nvrtc->cubin(program, data);
    binary->data = data;
    binary->length = binary->ptx ? strlen(data) : size;
    return result == 0;
}

enum { INVALID_OPTION = 5 };  // NVRTC_ERROR_INVALID_OPTION

static struct status compile_program(struct arena *arena, const struct nvrtc *nvrtc, void *program, struct target target,
                                     struct cuda_binary *binary)
{
    const char *options[] = {
        arena_printf(arena, "--gpu-architecture=%s%d%s", binary->ptx ? "compute_" : "sm_", target.sm, target.specific ? "a" : ""),
        "--std=c++17", "-Xptxas", "-v",
    };
    int count = binary->ptx ? 2 : 4;
    int result = nvrtc->compile(program, count, options);
    const char *log = program_log(arena, nvrtc, program);
    if (result == INVALID_OPTION && target.specific)  // it lists numbers of architectures alone
        return status_failed(arena, "missing.architecture", "NVRTC %d.%d has sm_%d and not %s; take one of CUDA 12.0 or newer, or a config "
                             "with another dot than wgmma", nvrtc->major, nvrtc->minor, target.sm, target_name(arena, target));
    if (result != 0)
        return status_failed(arena, "internal.nvrtc", "NVRTC refuses the text for %s (%s):\n%s", target_name(arena, target),
                             nvrtc->error_string(result), log);
    read_log(arena, binary, log);
    if (take_result(arena, nvrtc, program, binary)) return STATUS_OK;
    return status_failed(arena, "internal.nvrtc", "NVRTC compiled the text for %s and gave nothing", target_name(arena, target));
}

struct status nvrtc_compile(struct arena *arena, const struct nvrtc *nvrtc, const char *text, const char *name,
                            struct target target, bool ptx, struct cuda_binary *binary)
{
    *binary = (struct cuda_binary){.ptx = ptx, .log = ""};
    struct status status = choose_architecture(arena, nvrtc, &target, ptx);
    if (!status.ok) return status;
    void *program = NULL;
    int result = nvrtc->create(&program, text, name, 0, NULL, NULL);
    if (result != 0) return status_failed(arena, "internal.nvrtc", "NVRTC: %s", nvrtc->error_string(result));
    status = compile_program(arena, nvrtc, program, target, binary);
    nvrtc->destroy(&program);
    return status;
}
