// SPDX-License-Identifier: Apache-2.0
// What goes into a bundle. In: configs and architectures. Out: for each pair of them code for 32- and 64-bit indices and
// for tensors that aren't aligned; a config that an architecture can't have is that architecture's default there.
#include <string.h>

#include "runtime/bundle.h"

// ---------------------------------------------------------------------------------------------- architectures

// Bytes of shared memory that a block may have, the opt-in above 48 KiB included.
static int shared_limit(int sm)
{
    switch (sm) {
    case 80:
    case 87: return 163 << 10;
    case 86:
    case 89:
    case 120:
    case 121: return 99 << 10;
    default: return sm < 80 ? 48 << 10 : 227 << 10;
    }
}

static struct status add_architecture(struct bundle *bundle, const struct nvrtc *nvrtc, struct target target, bool ptx)
{
    const int *known = NULL;
    int count = nvrtc_architectures(nvrtc, &known), found = 0;
    const char *name = target_name(bundle->arena, target);
    for (int i = 0; i < count; i++) found += known[i] == target.sm;
    if (!found)
        return status_failed(bundle->arena, "missing.architecture", "NVRTC (%s) doesn't know %s", nvrtc_path(nvrtc), name);
    struct bundle_architecture *added = &bundle->architectures[bundle->architecture_count++];
    *added = (struct bundle_architecture){.target = target, .ptx = ptx, .name = ptx ? arena_printf(bundle->arena, "PTX of %s", name) : name};
    added->binaries = arena_alloc(bundle->arena, sizeof *added->binaries * (size_t)bundle->config_count);
    added->configs = ARENA_ARRAY(bundle->arena, struct config *, bundle->config_count + 1);
    added->replaced = ARENA_ARRAY(bundle->arena, const char *, bundle->config_count + 1);
    return STATUS_OK;
}

static bool same_target(struct target a, struct target b)
{
    return a.sm == b.sm && a.specific == b.specific;
}

// Those that are named, each once, and PTX of the newest, which newer devices compile.
static struct status list_architectures(struct bundle *bundle, const struct nvrtc *nvrtc, int count, const char *const *names)
{
    struct target newest = {.kind = TARGET_CUDA};
    struct status status = STATUS_OK;
    bundle->architectures = ARENA_ARRAY(bundle->arena, struct bundle_architecture, count + 2);
    for (int i = 0; i < count && status.ok; i++) {
        struct target target;
        bool seen = false;
        if (!target_parse(names[i], &target) || target.kind != TARGET_CUDA)
            return status_failed(bundle->arena, "usage.architecture", "'%s' is no architecture of a GPU; write sm_90 or sm_90a", names[i]);
        for (int j = 0; j < bundle->architecture_count; j++) seen = seen || same_target(bundle->architectures[j].target, target);
        if (!seen) status = add_architecture(bundle, nvrtc, target, false);
        if (target.sm > newest.sm) newest.sm = target.sm;
    }
    return status.ok ? add_architecture(bundle, nvrtc, newest, true) : status;
}

// ---------------------------------------------------------------------------------------------- binaries

static struct status check_shared(const struct bundle *bundle, const struct launch_plan *plan, struct target target)
{
    int limit = shared_limit(target.sm);
    for (int i = 0; i < plan->kernel_count; i++) {
        long long bytes = plan->kernels[i].shared_bytes + plan->kernels[i].static_shared_bytes;
        if (bytes > limit)
            return status_failed(bundle->arena, "limits.shared", "kernel %s needs %lld bytes of shared memory per block; sm_%d has at most %d",
                                 plan->kernels[i].name, bytes, target.sm, limit);
    }
    return STATUS_OK;
}

static struct status emit_for(const struct bundle *bundle, struct target target, const struct config *config, int variant, struct emitted **emitted)
{
    const struct lower_options options = {.target = target, .index64 = (variant & VARIANT_INDEX64) != 0, .unaligned = (variant & VARIANT_UNALIGNED) != 0};
    struct status status = STATUS_OK;
    *emitted = plan_emit(bundle->arena, bundle->kernel, config, &options, NULL, &status);
    return *emitted ? check_shared(bundle, &(*emitted)->plan, target) : status;
}

static int same_text(const struct bundle *bundle, int architecture, const struct emitted *emitted)
{
    for (int i = 0; i < bundle->binary_count; i++) {
        const struct bundle_binary *other = &bundle->binaries[i];
        if (other->architecture == architecture && other->emitted->length == emitted->length &&
            memcmp(other->emitted->text, emitted->text, emitted->length) == 0)
            return i;
    }
    return -1;
}

static struct status add_binary(struct bundle *bundle, const struct nvrtc *nvrtc, int architecture, struct emitted *emitted, int *index)
{
    const struct bundle_architecture *at = &bundle->architectures[architecture];
    struct cuda_built built = {.emitted = emitted};
    const struct cuda_request request = {.kernel = bundle->kernel, .session = bundle->session};
    *index = same_text(bundle, architecture, emitted);
    if (*index >= 0) return STATUS_OK;
    struct status status = cuda_compile(bundle->arena, nvrtc, at->target, at->ptx, &request, &built);
    if (!status.ok) return status;
    *index = bundle->binary_count;
    ARENA_PUSH(bundle->arena, bundle->binaries, bundle->binary_count, bundle->binary_capacity,
               ((struct bundle_binary){emitted, built.binary, architecture}));
    return STATUS_OK;
}

static struct status add_config(struct bundle *bundle, const struct nvrtc *nvrtc, int architecture, int config)
{
    struct bundle_architecture *at = &bundle->architectures[architecture];
    struct emitted *emitted[VARIANT_COUNT];
    struct status status = STATUS_OK;
    for (int v = 0; v < VARIANT_COUNT && status.ok; v++) status = emit_for(bundle, at->target, at->configs[config], v, &emitted[v]);
    for (int v = 0; v < VARIANT_COUNT && status.ok; v++)
        status = add_binary(bundle, nvrtc, architecture, emitted[v], &at->binaries[config][v]);
    return status;
}

// Why a config can't be had is kept for the user; that its default can't be had either is an error.
static struct status add_config_or_default(struct bundle *bundle, const struct nvrtc *nvrtc, int architecture, int config)
{
    struct bundle_architecture *at = &bundle->architectures[architecture];
    at->configs[config] = bundle->configs[config];
    struct status status = add_config(bundle, nvrtc, architecture, config);
    if (status.ok || strncmp(status.code, "missing.", 8) == 0) return status;
    at->replaced[config] = status.reason;
    at->configs[config] = config_default(bundle->arena, bundle->kernel);
    return add_config(bundle, nvrtc, architecture, config);
}

struct status bundle_build(struct bundle *bundle, int name_count, const char *const *names)
{
    struct nvrtc *nvrtc = NULL;
    struct status status = nvrtc_open(bundle->arena, &nvrtc);
    if (!status.ok) return status;
    status = list_architectures(bundle, nvrtc, name_count, names);
    for (int a = 0; a < bundle->architecture_count && status.ok; a++)
        for (int c = 0; c < bundle->config_count && status.ok; c++) status = add_config_or_default(bundle, nvrtc, a, c);
    nvrtc_close(nvrtc);
    return status;
}
