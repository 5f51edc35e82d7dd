// SPDX-License-Identifier: Apache-2.0
// In: a kernel, its data, what it runs on. Out: the key of its best config: everything that config may depend on, as
// texts that people can read and compare.
//
// note [classes]: a config that is best for 1000 rows is about as good for 1030, so what isn't compiled in goes into the
// key as a class: 0, 1, or the power of two that is nearest on the logarithmic scale. The bounds between classes lie
// between powers of two, where sizes that people choose don't. Rows have three classes, since their count, how long they
// are and how uneven they are each change what is best: a config for even rows is not served to skewed ones.
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/runtime.h"

// ---------------------------------------------------------------------------------------------- devices

static const char *hash_of(struct arena *arena, const char *text)
{
    struct cache_key key = cache_hash(&(struct cache_part){text, strlen(text)}, 1);
    return arena_printf(arena, "%.16s", key.hex);
}

// The value behind "KEY…: " in a file of lines, or NULL.
static const char *line_value(struct arena *arena, const char *path, const char *key, const char *before)
{
    char line[512];
    const char *value = NULL;
    FILE *file = fopen(path, "re");
    while (file && !value && fgets(line, sizeof line, file)) {
        char *found = strncmp(line, key, strlen(key)) == 0 ? strstr(line, before) : NULL;
        if (found) value = arena_printf(arena, "%.*s", (int)strcspn(found + strlen(before), "\n"), found + strlen(before));
    }
    if (file) fclose(file);
    return value;
}

struct status config_device_cpu(struct arena *arena, struct config_device *device)
{
    struct utsname about;
    const char *machine = uname(&about) == 0 ? arena_printf(arena, "%s", about.machine) : "unknown";
    const char *model = line_value(arena, "/proc/cpuinfo", "model name", ": ");
    const char *compiler = cpu_compiler(arena), *identity = cpu_compiler_identity(arena);
    if (!compiler || !identity)
        return status_failed(arena, "missing.compiler", "no C compiler: $CC, cc, gcc and clang were looked for; "
                             "install one: sudo apt-get install build-essential");
    *device = (struct config_device){
        .target = "cpu",
        .name = arena_printf(arena, "%s, %d cores", model ? model : machine, usable_cores()),
        .capability = arena_printf(arena, "%s %s", machine, hash_of(arena, cpu_features(arena))),
        .driver = "",
        .toolkit = arena_printf(arena, "%s %s", compiler, hash_of(arena, identity)),
        .toolkit_file_count = 1,
        .toolkit_files = {arena_printf(arena, "%.*s", (int)strcspn(compiler, " "), compiler)},
    };
    return STATUS_OK;
}

// As people know it; the management library tells it too, but takes long to start.
static const char *driver_version(struct arena *arena, const struct cuda_device *device)
{
    const char *line = line_value(arena, "/proc/driver/nvidia/version", "NVRM version", "Kernel Module");
    int cuda = device->cuda->version;
    const char *version = line ? arena_printf(arena, "%.*s", (int)strcspn(line + strspn(line, " "), " "), line + strspn(line, " ")) : "";
    if (!*version || !strpbrk(version, "0123456789")) version = arena_printf(arena, "%s", cuda_clocks(device).driver);
    return arena_printf(arena, "%s%sCUDA %d.%d", version, *version ? ", " : "", cuda / 1000, cuda % 1000 / 10);
}

int nvrtc_files(struct arena *arena, const struct nvrtc *nvrtc, const char *files[TOOLKIT_FILES])
{
    int major = 0, minor = 0;
    const char *path = arena_printf(arena, "%s", nvrtc_path(nvrtc)), *slash = strrchr(path, '/');
    nvrtc_version(nvrtc, &major, &minor);
    files[0] = path;
    files[1] = arena_printf(arena, "%.*slibnvrtc-builtins.so.%d.%d", slash ? (int)(slash - path + 1) : 0, path, major, minor);
    return 2;
}

// Where it isn't, what the cache has was made by the one that was noted last.
static struct status describe_nvrtc(struct arena *arena, struct cache_session *session, struct config_device *device)
{
    struct nvrtc *nvrtc = NULL;
    int major = 0, minor = 0;
    struct status status = nvrtc_open(arena, &nvrtc);
    const char *noted = status.ok ? NULL : cuda_noted_nvrtc(arena, session);
    if (noted) return device->toolkit = noted, STATUS_OK;
    if (!status.ok) return status;
    nvrtc_version(nvrtc, &major, &minor);
    device->toolkit = arena_printf(arena, "NVRTC %d.%d", major, minor);
    device->toolkit_file_count = nvrtc_files(arena, nvrtc, device->toolkit_files);
    nvrtc_close(nvrtc);
    return STATUS_OK;
}

struct status config_device_cuda(struct arena *arena, int ordinal, struct cache_session *session, struct config_device *device)
{
    struct cuda_device *seen = NULL;
    struct status status = cuda_device_look(arena, ordinal, &seen);
    if (!status.ok) return status;
    *device = (struct config_device){
        .target = arena_printf(arena, "sm_%d", seen->properties.sm),
        .name = seen->properties.name,
        .capability = arena_printf(arena, "%d.%d", seen->properties.sm / 10, seen->properties.sm % 10),
        .driver = driver_version(arena, seen),
        .toolkit = "",
    };
    cuda_device_close(seen);
    return describe_nvrtc(arena, session, device);
}

// ---------------------------------------------------------------------------------------------- exact builds

// Of a file's contents; "-" if it can't be read.
static const char *file_hash(struct arena *arena, const char *path)
{
    const char *hash = "-";
    FILE *file = fopen(path, "re");
    struct text text = {0};
    char buffer[65536];
    size_t count;
    while (file && (count = fread(buffer, 1, sizeof buffer, file)) > 0) text_add_bytes(&text, buffer, count);
    if (file && !ferror(file)) {
        struct cache_key key = cache_hash(&(struct cache_part){text.data ? text.data : "", text.length}, 1);
        hash = arena_printf(arena, "%s", key.hex);
    }
    if (file) fclose(file);
    text_free(&text);
    return hash;
}

// The file that this code is in: the program, or the shared library.
static const char *own_file(void)
{
    static const int here;
    Dl_info about;
    struct link_map *map = NULL;
    if (dladdr1(&here, &about, (void **)&map, RTLD_DL_LINKMAP) == 0 || !map || !*map->l_name) return "/proc/self/exe";
    return map->l_name;
}

const char *exact_builds(struct arena *arena, struct cache_session *session, int file_count, const char *const *files)
{
    if (!session || session->settings.kind != CACHE_STRICT) return "";
    const char *first = file_count ? files[0] : "";
    if (session->builds && strcmp(session->builds_file, first) == 0) return session->builds;
    const char *builds = arena_printf(session->arena, "tilec %s toolkit", file_hash(arena, own_file()));
    for (int i = 0; i < file_count; i++) builds = arena_printf(session->arena, "%s %s", builds, file_hash(arena, files[i]));
    session->builds_file = arena_printf(session->arena, "%s", first);
    return session->builds = builds;
}

// ---------------------------------------------------------------------------------------------- the program

static const struct ir_dim *static_dim_named(const struct ir_kernel *kernel, const char *name, size_t length)
{
    for (int i = 0; i < kernel->dim_count; i++) {
        const struct ir_dim *dim = &kernel->dims[i];
        if (dim->is_static && strlen(dim->name) == length && memcmp(dim->name, name, length) == 0) return dim;
    }
    return NULL;
}

// Where the line's comment, which names values and lines of the source, begins. A text in the line ends in a quote.
static size_t comment_begin(const char *line, size_t length)
{
    for (size_t at = length; at-- > 1;) {
        if (line[at] == '"') return length;
        if (line[at] == '/' && line[at - 1] == '/') return at - 1;
    }
    return length;
}

// One line of the IR without its comment, and a static dimension as if it were open, for its value is a field of its own:
// so the program is the same whatever is compiled in.
static void add_line(struct text *out, const struct ir_kernel *kernel, const char *line, size_t length)
{
    size_t end = comment_begin(line, length), name = end < length ? end + 2 : length;
    while (name < length && line[name] == ' ') name++;
    size_t name_end = name;
    while (name_end < length && line[name_end] != ',') name_end++;
    while (end > 0 && line[end - 1] == ' ') end--;
    const char *constant = memmem(line, end, " = const ", 9), *dim = end > 6 && memcmp(line, "  dim ", 6) == 0 ? line + 6 : NULL;
    if (constant && static_dim_named(kernel, line + name, name_end - name)) {
        text_printf(out, "%.*s = dim %.*s\n", (int)(constant - line), line, (int)(name_end - name), line + name);
        return;
    }
    if (dim && static_dim_named(kernel, dim, strcspn(dim, " :"))) {
        text_printf(out, "  dim %.*s", (int)strcspn(dim, " :"), dim);
        line = memchr(line, ':', end);
        end -= (size_t)(line ? line - (dim - 6) : 0);
    }
    if (line) text_add_bytes(out, line, end);
    text_add(out, "\n");
}

const char *config_key_program(struct arena *arena, const struct ir_kernel *kernel)
{
    struct text whole = {0}, bare = {0};
    ir_print(&whole, kernel);
    for (const char *line = whole.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        add_line(&bare, kernel, line, length);
        line += length + (line[length] == '\n');
    }
    struct cache_key key = cache_hash(&(struct cache_part){bare.data ? bare.data : "", bare.length}, 1);
    text_free(&whole);
    text_free(&bare);
    return arena_printf(arena, "%s", key.hex);
}

// ---------------------------------------------------------------------------------------------- types, extents, shape

const char *config_key_types(struct arena *arena, const struct ir_kernel *kernel)
{
    const char *list = "";
    for (int i = 0; i < kernel->generic_count; i++)
        list = arena_printf(arena, "%s%s%s=%s", list, i ? " " : "", kernel->generic_names[i], ir_type_name(kernel->generic_types[i]));
    return list;
}

static const char *list_statics(struct arena *arena, const struct ir_kernel *kernel)
{
    const char *list = "";
    for (int i = 0; i < kernel->dim_count; i++) {
        const struct ir_dim *dim = &kernel->dims[i];
        if (dim->is_static) list = arena_printf(arena, "%s%s%s=%lld", list, *list ? " " : "", dim->name, (long long)dim->value);
    }
    return list;
}

// note [classes]. Means below 1 count as 1.
static long long class_of(double value)
{
    int exponent = 0;
    if (!(value > 0)) return 0;
    if (value <= 1) return 1;
    if (value >= 0x1p62) return 1LL << 62;
    double fraction = frexp(value, &exponent);  // in [1/2, 1)
    return 1LL << (fraction >= M_SQRT1_2 ? exponent : exponent - 1);
}

// Whether a dimension is the length of what offsets pack: rows and their mean length say it already.
static bool is_packed(const struct ir_kernel *kernel, const struct rows_uses *rows, int dim)
{
    for (int i = 0; i < rows->count; i++) {
        const struct rows_use *use = &rows->items[i];
        if (use->kind != ROWS_OFFSETS || use->target_param < 0) continue;
        const struct ir_value *extent = kernel->params[use->target_param].extents[use->target_position];
        if (extent && extent->def && extent->def->code == OP_DIM && extent->def->dim == dim) return true;
    }
    return false;
}

static const char *add_class(struct arena *arena, const char *list, const char *name, const char *what, double value)
{
    return arena_printf(arena, "%s%s%s%s=%lld", list, *list ? " " : "", name, what, class_of(value));
}

static const char *list_classes(struct arena *arena, const struct config_key_request *request)
{
    const struct ir_kernel *kernel = request->kernel;
    const char *list = "";
    struct rows_uses rows = {0};
    if (request->tensors) rows = rows_find(arena, kernel);
    for (int i = 0; i < kernel->dim_count; i++)
        if (!kernel->dims[i].is_static && !is_packed(kernel, &rows, i))
            list = add_class(arena, list, kernel->dims[i].name, "", (double)request->bindings->dims[i]);
    for (int i = 0; i < rows.count; i++) {
        const struct rows_use *use = &rows.items[i];
        const char *name = kernel->params[use->param].name;
        bool seen = !request->tensors[use->param].data;
        for (int j = 0; j < i; j++) seen = seen || (rows.items[j].param == use->param && rows.items[j].kind == use->kind);
        if (seen) continue;
        struct row_statistics statistics = row_statistics(use, request->tensors);
        list = add_class(arena, list, name, ".rows", (double)statistics.rows);
        list = add_class(arena, list, name, ".mean", statistics.mean);
        list = add_class(arena, list, name, ".skew", statistics.skew);
    }
    return list;
}

// ---------------------------------------------------------------------------------------------- keys

const char *config_key_field_name(enum config_key_field field)
{
    static const char *const names[KEY_FIELDS] = {
        [KEY_TARGET] = "target", [KEY_DEVICE] = "device", [KEY_CAPABILITY] = "capability", [KEY_DRIVER] = "driver",
        [KEY_TOOLKIT] = "toolkit", [KEY_TILEC] = "tilec", [KEY_KERNEL] = "kernel", [KEY_PROGRAM] = "program",
        [KEY_TYPES] = "types", [KEY_STATIC] = "static", [KEY_SHAPE] = "shape", [KEY_FLAGS] = "flags", [KEY_BUILDS] = "builds",
    };
    return names[field];
}

struct cache_key config_key_hash(const char *const *fields)
{
    struct cache_part parts[2 * KEY_FIELDS];
    for (int i = 0; i < KEY_FIELDS; i++) {
        const char *name = config_key_field_name(i);
        parts[2 * i] = (struct cache_part){name, strlen(name)};
        parts[2 * i + 1] = (struct cache_part){fields[i], strlen(fields[i])};
    }
    return cache_hash(parts, 2 * KEY_FIELDS);
}

struct config_key config_key_make(struct arena *arena, struct cache_session *session, const struct config_key_request *request)
{
    const struct config_device *device = request->device;
    struct config_key key = {.fields = {
        [KEY_TARGET] = device->target,
        [KEY_DEVICE] = device->name,
        [KEY_CAPABILITY] = device->capability,
        [KEY_DRIVER] = device->driver,
        [KEY_TOOLKIT] = device->toolkit,
        [KEY_TILEC] = TILEC_VERSION,
        [KEY_KERNEL] = request->kernel->name,
        [KEY_PROGRAM] = config_key_program(arena, request->kernel),
        [KEY_TYPES] = config_key_types(arena, request->kernel),
        [KEY_STATIC] = list_statics(arena, request->kernel),
        [KEY_SHAPE] = list_classes(arena, request),
        [KEY_FLAGS] = arena_printf(arena, "%s%s%s", request->index64 ? "index64" : "index32", request->unaligned ? " unaligned" : "",
                                   request->checked ? " checked" : ""),
        [KEY_BUILDS] = exact_builds(arena, session, device->toolkit_file_count, device->toolkit_files),
    }};
    key.hash = config_key_hash(key.fields);
    return key;
}
