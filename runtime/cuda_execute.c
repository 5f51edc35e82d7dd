// SPDX-License-Identifier: Apache-2.0
// In: a checked kernel, a config and complete tensors on the host. Out: the outputs, computed by a GPU.
//
// The way is that of the CPU target (cpu.c): lower for the device's architecture, emit, check the device's limits,
// compile or take the binary from the cache, copy the tensors, run the launch plan, look at the guards, copy back.
// An entry of the cache is ptxas's account of each kernel as lines of text, an empty line, and the binary.
#include <stdio.h>
#include <string.h>

#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/remote.h"
#include "runtime/runtime.h"

// ---------------------------------------------------------------------------------------------- what to compile for

// A cubin for the newest architecture of the device's generation that NVRTC knows and the device can run; PTX, which
// the driver compiles, where NVRTC knows only older generations.
static struct target choose_target(const struct nvrtc *nvrtc, int sm, const struct config *config, bool *ptx)
{
    const int *known = NULL;
    *ptx = false;
    bool groups = config && config->dot == DOT_WGMMA;  // what only this generation has: sm_90a
    if (!nvrtc) return (struct target){.kind = TARGET_CUDA, .sm = sm, .specific = groups};
    int count = nvrtc_architectures(nvrtc, &known), same = 0, older = 0;
    for (int i = 0; i < count; i++) {
        if (known[i] <= sm && known[i] > older) older = known[i];
        if (known[i] <= sm && known[i] / 10 == sm / 10 && known[i] > same) same = known[i];
    }
    *ptx = same == 0;
    return (struct target){.kind = TARGET_CUDA, .sm = same ? same : older ? older : sm, .specific = groups && same == sm};
}

// ---------------------------------------------------------------------------------------------- the cache

struct cache_key cuda_binary_key(struct arena *arena, const char *compiler, struct target target, bool ptx, const char *text, size_t length)
{
    const char *how = arena_printf(arena, "cuda 1 %s %s tilec %s", target_name(arena, target), ptx ? "ptx" : "cubin", TILEC_VERSION);
    const struct cache_part parts[] = {{how, strlen(how)}, {compiler, strlen(compiler)}, {text, length}};
    return cache_hash(parts, 3);
}

// Keys have NVRTC's version, so where it isn't, the one that filled the cache last has to be known: an entry says it.
static struct cache_key nvrtc_key(void)
{
    static const char what[] = "NVRTC that made the latest binaries, tilec " TILEC_VERSION;
    return cache_hash(&(struct cache_part){what, sizeof what - 1}, 1);
}

// The remote cache is told too whenever it was given a binary.
static void note_nvrtc(const struct cache *cache, const char *version, bool shared)
{
    struct cache_key key = nvrtc_key();
    struct text noted = {0};
    bool same = cache_read(cache, &key, &noted) && noted.length == strlen(version) && memcmp(noted.data, version, noted.length) == 0;
    text_free(&noted);
    if (!same) cache_store(cache, &key, version, strlen(version));
    if (!same || shared) cache_share(cache, CACHE_OBJECTS, &key, NULL, 0, version, strlen(version));
}

// Where this folder has none, the remote cache's, which is kept.
static bool read_note(const struct cache *cache, const struct cache_key *key, struct text *noted)
{
    enum { LONGEST = 256 };
    if (cache_read(cache, key, noted)) return noted->length > 0;
    bool found = cache_fetch(cache, CACHE_OBJECTS, key, noted) && noted->length > 0 && noted->length <= LONGEST;
    if (found) cache_store(cache, key, noted->data, noted->length);
    return found;
}

const char *cuda_noted_nvrtc(struct arena *arena, struct cache_session *session)
{
    struct cache cache = cache_open_place(arena, session, CACHE_OBJECTS);
    struct cache_key key = nvrtc_key();
    struct text noted = {0};
    const char *version = read_note(&cache, &key, &noted) ? arena_copy(arena, noted.data, noted.length) : NULL;
    text_free(&noted);
    cache_close(&cache);
    return version;
}

// "NVRTC 13.0", and in a strict cache its exact build. NULL: there is none, and none is noted.
static const char *compiler_name(struct arena *arena, const struct nvrtc *nvrtc, struct cache_session *session)
{
    int major = 0, minor = 0;
    const char *files[TOOLKIT_FILES];
    if (!nvrtc) return cuda_noted_nvrtc(arena, session);
    nvrtc_version(nvrtc, &major, &minor);
    return arena_printf(arena, "NVRTC %d.%d%s", major, minor, exact_builds(arena, session, nvrtc_files(arena, nvrtc, files), files));
}

// Here, and where others find it.
static void store_binary(const struct cache *cache, const struct cache_key *key, const struct cuda_binary *binary)
{
    struct text entry = {0};
    for (int i = 0; i < binary->usage_count; i++) {
        const struct cuda_usage *usage = &binary->usage[i];
        text_printf(&entry, "%s %d %d %d %d %d %d %d\n", usage->name, usage->registers, usage->stack_bytes, usage->spill_store_bytes,
                    usage->spill_load_bytes, usage->shared_bytes, usage->constant_bytes, usage->barriers);
    }
    text_add(&entry, "\n");
    text_add_bytes(&entry, binary->data, binary->length);
    cache_store(cache, key, entry.data, entry.length);
    cache_share(cache, CACHE_OBJECTS, key, NULL, 0, entry.data, entry.length);
    text_free(&entry);
}

static bool read_usage(struct arena *arena, const char *line, struct cuda_usage *usage)
{
    size_t name = strcspn(line, " \n");
    usage->name = arena_copy(arena, line, name);
    return sscanf(line + name, " %d %d %d %d %d %d %d", &usage->registers, &usage->stack_bytes, &usage->spill_store_bytes,
                  &usage->spill_load_bytes, &usage->shared_bytes, &usage->constant_bytes, &usage->barriers) == 7;
}

static bool parse_entry(struct arena *arena, const struct text *entry, bool ptx, struct cuda_binary *binary)
{
    int capacity = 0;
    const char *line = entry->data, *end = entry->data + entry->length;
    *binary = (struct cuda_binary){.ptx = ptx, .log = ""};
    while (line < end && *line != '\n') {
        struct cuda_usage usage;
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next || !read_usage(arena, line, &usage)) return false;
        ARENA_PUSH(arena, binary->usage, binary->usage_count, capacity, usage);
        line = next + 1;
    }
    if (line >= end) return false;
    binary->length = (size_t)(end - line - 1);
    binary->data = arena_copy(arena, line + 1, binary->length);
    return binary->length > 0;
}

static bool cached_binary(struct arena *arena, const struct cache *cache, const struct cache_key *key, bool ptx, struct cuda_binary *binary)
{
    struct text entry = {0};
    bool found = cache_read(cache, key, &entry) && entry.data && parse_entry(arena, &entry, ptx, binary);
    if (!found) {
        entry.length = 0;
        found = cache_fetch(cache, CACHE_OBJECTS, key, &entry) && entry.data && parse_entry(arena, &entry, ptx, binary);
        if (found) cache_store(cache, key, entry.data, entry.length);
    }
    text_free(&entry);
    return found;
}

// ---------------------------------------------------------------------------------------------- building

struct status cuda_compile(struct arena *arena, const struct nvrtc *nvrtc, struct target target, bool ptx, const struct cuda_request *request,
                           struct cuda_built *built)
{
    const char *text = request->source ? request->source : built->emitted->text;
    size_t length = request->source ? request->source_length : built->emitted->length;
    struct status status = request->source ? plan_check_source(arena, built->emitted, text, length) : STATUS_OK;
    if (!status.ok) return status;
    struct cache_session own, *session = cache_session_or(arena, request->session, &own);
    struct cache cache = cache_open_place(arena, session, CACHE_OBJECTS);
    const char *compiler = compiler_name(arena, nvrtc, session);
    struct cache_key key = cuda_binary_key(arena, compiler ? compiler : "", target, ptx, text, length);
    built->cached = cached_binary(arena, &cache, &key, ptx, &built->binary);
    if (!built->cached && !nvrtc) {
        status = status_failed(arena, "missing.nvrtc", "NVRTC isn't here, and the cache has no binary of this code");
    } else if (!built->cached) {
        const char *name = arena_printf(arena, "%s.cu", request->kernel->name);
        status = nvrtc_compile(arena, nvrtc, arena_copy(arena, text, length), name, target, ptx, &built->binary);
        if (status.ok) store_binary(&cache, &key, &built->binary);
        session->compiled++;
    }
    session->taken += built->cached;
    if (status.ok && nvrtc && request->notes) note_nvrtc(&cache, compiler, !built->cached);
    cache_close(&cache);
    if (!status.ok && request->source && strcmp(status.code, "internal.nvrtc") == 0) status.code = "usage.source";
    return status;
}

static struct emitted *lower_and_emit(struct arena *arena, struct target target, const struct cuda_request *request, struct status *status)
{
    const struct lower_options options = {
        .target = target, .index64 = request->index64, .unaligned = request->unaligned, .checked = request->checked};
    return plan_emit(arena, request->kernel, request->config, &options, request->tensors, status);
}

static struct status keep_text(struct arena *arena, const struct cuda_request *request, const struct emitted *emitted)
{
    if (!request->keep) return STATUS_OK;
    return file_save(arena, arena_printf(arena, "%s/%s.cu", request->keep, request->kernel->name), emitted->text, emitted->length);
}

struct status cuda_build(struct arena *arena, const struct cuda_properties *properties, const struct nvrtc *nvrtc,
                         const struct cuda_request *request, struct cuda_built *built)
{
    bool ptx = false;
    struct status status = STATUS_OK;
    struct target target = choose_target(nvrtc, properties->sm, request->config, &ptx);
    *built = (struct cuda_built){.emitted = lower_and_emit(arena, target, request, &status)};
    if (!built->emitted) return status;
    status = keep_text(arena, request, built->emitted);
    if (status.ok) status = cuda_check_plan(arena, properties, &built->emitted->plan, &request->bindings);
    if (status.ok) status = cuda_compile(arena, nvrtc, target, ptx, request, built);
    if (status.ok) status = cuda_check_usage(arena, properties, &built->emitted->plan, built->binary.usage_count, built->binary.usage);
    return status;
}

static void share_built(struct arena *arena, int sm, const struct nvrtc *nvrtc, const struct cuda_request *request)
{
    bool ptx = false;
    struct text entry = {0};
    struct status status = STATUS_OK;
    struct target target = choose_target(nvrtc, sm, request->config, &ptx);
    const struct emitted *emitted = lower_and_emit(arena, target, request, &status);
    if (!emitted) return;
    struct cache cache = cache_open_place(arena, request->session, CACHE_OBJECTS);
    const char *compiler = compiler_name(arena, nvrtc, request->session);
    struct cache_key key = cuda_binary_key(arena, compiler, target, ptx, emitted->text, emitted->length);
    if (cache_read(&cache, &key, &entry)) {
        cache_share(&cache, CACHE_OBJECTS, &key, NULL, 0, entry.data, entry.length);
        note_nvrtc(&cache, compiler, true);
    }
    cache_close(&cache);
    text_free(&entry);
}

void cuda_share(struct arena *arena, int ordinal, const struct cuda_request *request)
{
    struct nvrtc *nvrtc = NULL;
    struct cuda_device *device = NULL;
    const struct cache_settings *settings = &request->session->settings;
    if (!settings->remote || settings->skip || !cuda_device_look(arena, ordinal, &device).ok) return;
    if (nvrtc_open(arena, &nvrtc).ok) share_built(arena, device->properties.sm, nvrtc, request);
    nvrtc_close(nvrtc);
    cuda_device_close(device);
}

// ---------------------------------------------------------------------------------------------- the whole way

static struct status run_built(struct arena *arena, struct cuda_device *device, const struct cuda_request *request,
                               const struct cuda_built *built, const struct cuda_tensors *tensors)
{
    const struct launch_plan *plan = &built->emitted->plan;
    struct cuda_program program = {0};
    struct status status = plan_check(arena, request->kernel, plan, &request->bindings, tensors->views);
    if (status.ok) status = cuda_program_load(arena, device, &built->binary, plan, &request->bindings, tensors->views, &program);
    if (status.ok) status = cuda_program_launch(arena, device, &program);
    if (status.ok) status = cuda_wait(arena, device, request->kernel->name);
    if (status.ok) status = cuda_program_check(arena, device, &program);
    cuda_program_free(device, &program);
    return status;
}

static struct status build_and_run(struct arena *arena, struct cuda_device *device, const struct cuda_request *request,
                                   const struct ir_tensor *tensors)
{
    struct nvrtc *nvrtc = NULL;
    struct cuda_built built;
    struct cuda_tensors made = {0};
    struct status status = nvrtc_open(arena, &nvrtc);
    if (!status.ok) return status;
    status = cuda_build(arena, &device->properties, nvrtc, request, &built);
    nvrtc_close(nvrtc);
    if (status.ok) status = cuda_tensors_new(arena, device, request->kernel, tensors, &made);
    if (status.ok) status = run_built(arena, device, request, &built, &made);
    if (status.ok) status = cuda_tensors_fetch(arena, device, request->kernel, &made, tensors);
    cuda_tensors_free(device, &made);
    return status;
}

struct status cuda_execute(struct arena *arena, int ordinal, const struct cuda_request *request, const struct ir_tensor *tensors)
{
    struct cuda_device *device = NULL;
    struct status status = cuda_device_open(arena, ordinal, &device);
    if (status.ok) status = build_and_run(arena, device, request, tensors);
    cuda_device_close(device);
    return status;
}
