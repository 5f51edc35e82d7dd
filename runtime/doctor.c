// SPDX-License-Identifier: Apache-2.0
// In: this machine. Out: what tilec would use of it, what is missing and what to do about it. Looks, changes nothing
// but the cache folder, which it makes.
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/config_cache.h"
#include "runtime/cuda.h"
#include "runtime/remote.h"
#include "runtime/runtime.h"

struct tilec_doctor {
    struct arena *arena;
    int count, capacity;
    struct tilec_finding *items;
};

static void add(tilec_doctor *doctor, struct tilec_finding finding)
{
    ARENA_PUSH(doctor->arena, doctor->items, doctor->count, doctor->capacity, finding);
}

static void look_at_machine(tilec_doctor *doctor)
{
    struct utsname about;
    if (uname(&about) != 0) return;
    add(doctor, (struct tilec_finding){.name = "machine", .ok = 1,
        .detail = arena_printf(doctor->arena, "%s %s, %s, %ld cores", about.sysname, about.release, about.machine,
                               sysconf(_SC_NPROCESSORS_ONLN))});
}

// Builds and calls a function, with OpenMP if it can.
static void look_at_compiler(tilec_doctor *doctor)
{
    static const char text[] = "#ifdef _OPENMP\nint tilec_answer(void) { return 2; }\n#else\nint tilec_answer(void) { return 1; }\n#endif\n";
    static const char mend[] = "sudo apt-get install build-essential";
    struct tilec_finding finding = {.name = "C compiler", .needed = 1, .mend = mend};
    struct cpu_object *object = NULL;
    const char *compiler = cpu_compiler(doctor->arena);
    struct status status = cpu_build(doctor->arena, text, sizeof text - 1, &object);
    union {
        void *object;
        int (*function)(void);
    } symbol = {status.ok ? cpu_symbol(object, "tilec_answer") : NULL};
    int answer = symbol.object ? symbol.function() : 0;
    finding.ok = answer != 0;
    finding.detail = finding.ok ? arena_printf(doctor->arena, "%s, %s", compiler, answer == 2 ? "with OpenMP" : "without OpenMP: runs serially")
                                : status.ok ? "the object that was built has no function" : status.reason;
    const char *wanted = cpu_compiler_passed_over(doctor->arena);
    if (wanted) finding.detail = arena_printf(doctor->arena, "%s; CC=%s, which isn't there, is passed over", finding.detail, wanted);
    if (finding.ok) finding.mend = answer == 2 ? NULL : "install libgomp (gcc) or libomp-dev (clang)";
    add(doctor, finding);
    cpu_close(object);
}

static void look_at_cache(tilec_doctor *doctor)
{
    struct cache cache = cache_open(doctor->arena);
    add(doctor, (struct tilec_finding){
        .name = "object cache", .ok = cache.folder >= 0, .detail = cache.reason ? cache.reason : cache.path,
        .mend = cache.reason ? "set TILEC_CACHE_DIR to a folder that only you can write to" : NULL});
    cache_close(&cache);
}

// Where none is named there is nothing to say.
static void look_at_remote(tilec_doctor *doctor)
{
    struct cache_session session;
    struct tilec_finding finding = {.name = "remote cache"};
    struct status status = cache_session_begin(doctor->arena, NULL, &session);
    const struct remote_address *address = session.settings.remote;
    const char *trouble = address ? remote_trouble(doctor->arena, address) : NULL;
    if (!address && strstr(status.reason ? status.reason : "", "TILEC_REMOTE_CACHE") == NULL) return;
    finding.ok = address && !trouble;
    if (!address) finding.detail = status.reason;
    else finding.detail = arena_printf(doctor->arena, "%s%s: %s", address->shown, address->readonly ? ", read only" : "", trouble ? trouble : "it answers");
    if (!finding.ok) finding.mend = "correct TILEC_REMOTE_CACHE, or start the server; all works without it";
    add(doctor, finding);
}

static void look_at_nvrtc(tilec_doctor *doctor)
{
    struct nvrtc *nvrtc = NULL;
    struct status status = nvrtc_open(doctor->arena, &nvrtc);
    struct tilec_finding finding = {.name = "NVRTC", .ok = status.ok, .needed = 1};
    if (status.ok) {
        int major = 0, minor = 0;
        const int *architectures = NULL;
        int count = nvrtc_architectures(nvrtc, &architectures);
        nvrtc_version(nvrtc, &major, &minor);
        finding.detail = arena_printf(doctor->arena, "%d.%d, %s, for", major, minor, nvrtc_path(nvrtc));
        for (int i = 0; i < count; i++) finding.detail = arena_printf(doctor->arena, "%s sm_%d", finding.detail, architectures[i]);
    }
    else {
        finding.detail = status.reason;
        finding.mend = "python3 -m pip install nvidia-cuda-nvrtc, and set TILEC_NVRTC_DIR to its folder";
    }
    add(doctor, finding);
    nvrtc_close(nvrtc);
}

static void look_at_driver(tilec_doctor *doctor)
{
    struct cuda *cuda = NULL;
    struct status status = cuda_open(doctor->arena, &cuda);
    struct tilec_finding finding = {.name = "CUDA driver", .ok = status.ok, .detail = status.reason};
    if (status.ok) finding.detail = arena_printf(doctor->arena, "for CUDA %d.%d", cuda->version / 1000, cuda->version % 1000 / 10);
    else finding.mend = "check, emit, compile and run on the CPU work without it";
    add(doctor, finding);
    cuda_close(cuda);
}

// The first device; what there may be beside it is no matter of health.
static void look_at_device(tilec_doctor *doctor)
{
    struct cuda_device *device = NULL;
    struct status status = cuda_device_open(doctor->arena, 0, &device);
    struct tilec_finding finding = {.name = "cuda:0", .ok = status.ok, .detail = status.reason};
    if (!status.ok && strcmp(status.code, "missing.driver") == 0) return;
    if (status.ok) {
        const struct cuda_properties *properties = &device->properties;
        finding.detail = arena_printf(doctor->arena, "%s, sm_%d, %d multiprocessors, %lld MiB", properties->name, properties->sm,
                                      properties->multiprocessors, (long long)(properties->memory_bytes >> 20));
    }
    add(doctor, finding);
    cuda_device_close(device);
}

tilec_doctor *tilec_doctor_new(void)
{
    struct arena *arena = arena_new();
    if (!arena) return NULL;
    tilec_doctor *doctor = ARENA_NEW(arena, tilec_doctor);
    doctor->arena = arena;
    add(doctor, (struct tilec_finding){.name = "tilec", .ok = 1, .detail = TILEC_VERSION});
    look_at_machine(doctor);
    look_at_compiler(doctor);
    look_at_cache(doctor);
    look_at_remote(doctor);
    look_at_nvrtc(doctor);
    look_at_driver(doctor);
    look_at_device(doctor);
    return doctor;
}

void tilec_doctor_free(tilec_doctor *doctor)
{
    if (doctor) arena_free(doctor->arena);
}

int tilec_doctor_count(const tilec_doctor *doctor)
{
    if (!doctor) return 0;
    return doctor->count;
}

struct tilec_finding tilec_doctor_finding(const tilec_doctor *doctor, int index)
{
    if (!doctor) return (struct tilec_finding){0};
    if (index < 0 || index >= doctor->count) return (struct tilec_finding){0};
    return doctor->items[index];
}
