// SPDX-License-Identifier: Apache-2.0
// The small functions that emitted text calls. Only those in use are written, each behind what it needs itself.
//
// What one architecture's instruction set is needed for (conversions, atomics on 16 bits) is alone in its function, so
// that a host that executes the text can put its own in their place.
#include <stdio.h>
#include <string.h>

#include "codegen/matmul.h"

struct plain {
    const char *name;
    const char *needs;  // another helper, or NULL
    const char *cuda;   // without the qualifiers in front
    const char *cpu;    // NULL: as for CUDA
};

#define HALF_FROM_BITS                                                                                              \
    "float tile_f16_load(unsigned short h) {\n"                                                                     \
    "    const unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;\n"       \
    "    if (exponent == 0) {\n"                                                                                    \
    "        const float value = (float)mantissa * 5.9604644775390625e-8f;\n"                                       \
    "        return sign ? -value : value;\n"                                                                       \
    "    }\n"                                                                                                       \
    "    return tile_from_bits(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);\n" \
    "}\n"

#define HALF_TO_BITS                                                                                      \
    "unsigned short tile_f16_store(float f) {\n"                                                          \
    "    const unsigned bits = tile_to_bits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffffu;\n" \
    "    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00);\n"                               \
    "    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00);\n"                              \
    "    if (rest < 0x38800000u) {\n"                                                                     \
    "        const float scaled = tile_from_bits(rest) + 0.5f;\n"                                         \
    "        return (unsigned short)(sign | (tile_to_bits(scaled) - 0x3f000000u));\n"                     \
    "    }\n"                                                                                             \
    "    return (unsigned short)(sign | ((rest + 0xfff + (rest >> 13 & 1)) - 0x38000000u) >> 13);\n"      \
    "}\n"

#define BF16_TO_BITS                                                                          \
    "unsigned short tile_bf16_store(float f) {\n"                                             \
    "    const unsigned bits = tile_to_bits(f);\n"                                            \
    "    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 64);\n" \
    "    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n"                \
    "}\n"

// To float so that a second rounding, to fewer bits, gives what one rounding would: toward zero, the lost bits kept as
// one.
#define TO_ODD                                                \
    "float tile_to_odd(double d) {\n"                         \
    "    const float f = (float)d;\n"                         \
    "    unsigned bits = tile_to_bits(f);\n"                  \
    "    if (fabs((double)f) > fabs(d)) bits -= 1;\n"         \
    "    if ((double)tile_from_bits(bits) != d) bits |= 1;\n" \
    "    return tile_from_bits(bits);\n"                      \
    "}\n"

static const struct plain plains[] = {
    {"tile_to_bits", NULL, "unsigned tile_to_bits(float f) {\n    return __float_as_uint(f);\n}\n",
     "unsigned tile_to_bits(float f) {\n    union { float f; unsigned u; } bits = {f};\n    return bits.u;\n}\n"},
    {"tile_from_bits", NULL, "float tile_from_bits(unsigned u) {\n    return __uint_as_float(u);\n}\n",
     "float tile_from_bits(unsigned u) {\n    union { unsigned u; float f; } bits = {u};\n    return bits.f;\n}\n"},
    {"tile_to_odd", "tile_to_bits tile_from_bits", TO_ODD, NULL},
    {"tile_f16_load", "tile_from_bits",
     "float tile_f16_load(unsigned short h) {\n    float f;\n    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : "
     "\"h\"(h));\n    return f;\n}\n",
     HALF_FROM_BITS},
    {"tile_f16_store", "tile_to_bits tile_from_bits",
     "unsigned short tile_f16_store(float f) {\n    unsigned short h;\n    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) "
     ": \"f\"(f));\n    return h;\n}\n",
     HALF_TO_BITS},
    {"tile_f16_store_f64", "tile_f16_store tile_to_odd",
     "unsigned short tile_f16_store_f64(double d) {\n    return tile_f16_store(tile_to_odd(d));\n}\n", NULL},
    {"tile_f16_round", "tile_f16_load tile_f16_store",
     "float tile_f16_round(float f) {\n    return tile_f16_load(tile_f16_store(f));\n}\n", NULL},
    {"tile_f16_round_f64", "tile_f16_load tile_f16_store_f64",
     "float tile_f16_round_f64(double d) {\n    return tile_f16_load(tile_f16_store_f64(d));\n}\n", NULL},
    {"tile_bf16_load", "tile_from_bits",
     "float tile_bf16_load(unsigned short h) {\n    return tile_from_bits((unsigned)h << 16);\n}\n", NULL},
    {"tile_bf16_store", "tile_to_bits",
     "unsigned short tile_bf16_store(float f) {\n    unsigned short h;\n    asm(\"cvt.rn.bf16.f32 %0, %1;\" : "
     "\"=h\"(h) : \"f\"(f));\n    return h;\n}\n",
     BF16_TO_BITS},
    {"tile_bf16_store_f64", "tile_bf16_store tile_to_odd",
     "unsigned short tile_bf16_store_f64(double d) {\n    return tile_bf16_store(tile_to_odd(d));\n}\n", NULL},
    {"tile_bf16_round", "tile_bf16_load tile_bf16_store",
     "float tile_bf16_round(float f) {\n    return tile_bf16_load(tile_bf16_store(f));\n}\n", NULL},
    {"tile_bf16_round_f64", "tile_bf16_load tile_bf16_store_f64",
     "float tile_bf16_round_f64(double d) {\n    return tile_bf16_load(tile_bf16_store_f64(d));\n}\n", NULL},
    // All threads of the block come by; what they stored before is there for whoever sees the arrival.
    {"tile_arrive", NULL,
     "int tile_arrive(int *place, void *shared) {\n    __syncthreads();\n    if (threadIdx.x == 0) {\n"
     "        __threadfence();\n        *(int *)shared = atomicAdd(place, 1);\n        __threadfence();\n    }\n"
     "    __syncthreads();\n    const int before = *(const int *)shared;\n    __syncthreads();\n    return before;\n}\n",
     NULL},
    {"tile_await", NULL,
     "void tile_await(int *place, const int least) {\n    if (threadIdx.x == 0) {\n"
     "        while (atomicAdd(place, 0) < least) __nanosleep(64);\n        __threadfence();\n    }\n"
     "    __syncthreads();\n}\n",
     NULL},
    // One thread has the copy engine bring `bytes` to `to`; both addresses and the bytes are multiples of 16.
    {"tile_fetch", NULL,
     "void tile_fetch(void *to, const void *from, const int bytes, unsigned long long *full) {\n"
     "    if (threadIdx.x == 0) {\n"
     "        const unsigned barrier = (unsigned)__cvta_generic_to_shared(full);\n"
     "        asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\\n\"\n"
     "            \"fence.mbarrier_init.release.cluster;\\n\"\n"
     "            \"mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\" : : \"r\"(barrier), \"r\"(bytes) : \"memory\");\n"
     "        if (bytes > 0)\n"
     "            asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n"
     "                : : \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from), \"r\"(bytes), \"r\"(barrier) : \"memory\");\n"
     "    }\n    __syncthreads();\n}\n",
     NULL},
    {"tile_fetched", NULL,
     "void tile_fetched(unsigned long long *full) {\n"
     "    const unsigned barrier = (unsigned)__cvta_generic_to_shared(full);\n    unsigned done;\n    do {\n"
     "        asm volatile(\"{ .reg .pred p;\\n\"\n"
     "            \"mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\\n\"\n"
     "            \"selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(barrier) : \"memory\");\n"
     "    } while (!done);\n}\n",
     NULL},
    // All threads of a cluster's blocks come by; what they stored before is there for the others.
    {"tile_meet", NULL,
     "void tile_meet() {\n    asm volatile(\"barrier.cluster.arrive.release;\\n\"\n"
     "        \"barrier.cluster.wait.acquire;\" : : : \"memory\");\n}\n",
     NULL},
    // Where a place in this block's shared memory lies in that of the cluster's block `rank`.
    {"tile_peer", NULL,
     "const void *tile_peer(const void *place, const int rank) {\n    const void *peer;\n"
     "    asm volatile(\"mapa.u64 %0, %1, %2;\" : \"=l\"(peer) : \"l\"(place), \"r\"(rank));\n    return peer;\n}\n",
     NULL},
    // NaN if either is: the built-in functions would give the other operand.
    {"tile_maxf", NULL,
     "float tile_maxf(float a, float b) {\n    float c;\n    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(c) : \"f\"(a), "
     "\"f\"(b));\n    return c;\n}\n",
     "float tile_maxf(float a, float b) {\n    return a > b || a != a ? a : b;\n}\n"},
    {"tile_minf", NULL,
     "float tile_minf(float a, float b) {\n    float c;\n    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(c) : \"f\"(a), "
     "\"f\"(b));\n    return c;\n}\n",
     "float tile_minf(float a, float b) {\n    return a < b || a != a ? a : b;\n}\n"},
    {"tile_max", NULL, "double tile_max(double a, double b) {\n    return a > b || a != a ? a : b;\n}\n", NULL},
    {"tile_min", NULL, "double tile_min(double a, double b) {\n    return a < b || a != a ? a : b;\n}\n", NULL},
    {"tile_clampf", "tile_maxf tile_minf",
     "float tile_clampf(float x, float lo, float hi) {\n    return tile_minf(tile_maxf(x, lo), hi);\n}\n", NULL},
    {"tile_clamp", "tile_max tile_min",
     "double tile_clamp(double x, double lo, double hi) {\n    return tile_min(tile_max(x, lo), hi);\n}\n", NULL},
    {"tile_isnanf", NULL, "bool tile_isnanf(float x) {\n    return x != x;\n}\n", NULL},
    {"tile_isnan", NULL, "bool tile_isnan(double x) {\n    return x != x;\n}\n", NULL},
    {"tile_rsqrtf", NULL, "float tile_rsqrtf(float x) {\n    return rsqrtf(x);\n}\n",
     "float tile_rsqrtf(float x) {\n    return 1.0f / sqrtf(x);\n}\n"},
    {"tile_rsqrt", NULL, "double tile_rsqrt(double x) {\n    return rsqrt(x);\n}\n",
     "double tile_rsqrt(double x) {\n    return 1.0 / sqrt(x);\n}\n"},
    {"tile_sigmoidf", NULL, "float tile_sigmoidf(float x) {\n    return 1.0f / (1.0f + expf(-x));\n}\n", NULL},
    {"tile_sigmoid", NULL, "double tile_sigmoid(double x) {\n    return 1.0 / (1.0 + exp(-x));\n}\n", NULL},
    {"tile_siluf", NULL, "float tile_siluf(float x) {\n    return x / (1.0f + expf(-x));\n}\n", NULL},
    {"tile_exp_rough", NULL,
     "float tile_exp_rough(float x) {\n    float power;\n"
     "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(power) : \"f\"(x * 1.44269504f));\n    return power;\n}\n", NULL},
    {"tile_reciprocal_rough", NULL,
     "float tile_reciprocal_rough(float x) {\n    float reciprocal;\n"
     "    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(reciprocal) : \"f\"(x));\n    return reciprocal;\n}\n", NULL},
    {"tile_quotient_rough", NULL,
     "float tile_quotient_rough(float a, float b) {\n    float reciprocal;\n"
     "    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(reciprocal) : \"f\"(b));\n    return a * reciprocal;\n}\n",
     "float tile_quotient_rough(float a, float b) {\n    return a / b;\n}\n"},
    {"tile_sigmoid_rough", "tile_exp_rough tile_reciprocal_rough",
     "float tile_sigmoid_rough(float x) {\n    return tile_reciprocal_rough(1.0f + tile_exp_rough(-x));\n}\n", NULL},
    {"tile_silu_rough", "tile_sigmoid_rough",
     "float tile_silu_rough(float x) {\n    return x * tile_sigmoid_rough(x);\n}\n", NULL},
    {"tile_silu", NULL, "double tile_silu(double x) {\n    return x / (1.0 + exp(-x));\n}\n", NULL},
    {"tile_geluf", NULL, "float tile_geluf(float x) {\n    return 0.5f * x * (1.0f + erff(x * 0.70710678f));\n}\n",
     NULL},
    {"tile_gelu", NULL, "double tile_gelu(double x) {\n    return 0.5 * x * (1.0 + erf(x * 0.70710678118654752));\n}\n",
     NULL},
    {"tile_shl_i64", NULL,
     "long long tile_shl_i64(long long a, long long n) {\n    return n < 0 || n > 63 ? 0 : (long long)((unsigned long "
     "long)a << n);\n}\n",
     NULL},
    {"tile_shr_i64", NULL,
     "long long tile_shr_i64(long long a, long long n) {\n    return a >> (n < 0 || n > 63 ? 63 : n);\n}\n", NULL},
};

// ---------------------------------------------------------------------------------------------- families

static const char *c_type(const char *suffix) {
    return register_type(ir_type_named(suffix));
}

static const char *step_text(struct emitter *emitter, enum ir_reduction reduction, const char *suffix, const char *a,
                             const char *b) {
    return combine_text(emitter, reduction, ir_type_named(suffix), a, b);
}

bool reduction_named(const char *name, size_t length, enum ir_reduction *reduction) {
    for (int r = 0; r < RED_COUNT; r++)
        if (strlen(ir_reduction_name(r)) == length && !strncmp(ir_reduction_name(r), name, length)) {
            *reduction = r;
            return true;
        }
    return false;
}

// tile_div_i32 and the like; `u` is the unsigned type, where wrapping is meant.
static const char *integer_helper(struct emitter *emitter, const char *name) {
    static const struct {
        const char *name, *text;
    } forms[] = {
        {"tile_div", "%1$s tile_div_%2$s(%1$s a, %1$s b) {\n    return b == 0 ? 0 : b == -1 ? (%1$s)(0 - (unsigned "
                     "%1$s)a) : a / b;\n}\n"},
        {"tile_mod", "%1$s tile_mod_%2$s(%1$s a, %1$s b) {\n    return b == 0 || b == -1 ? 0 : a %% b;\n}\n"},
        {"tile_cdiv", "%1$s tile_cdiv_%2$s(%1$s a, %1$s b) {\n    return b == 0 ? 0 : b == -1 ? (%1$s)(0 - (unsigned %1$s)a) "
                      ": a / b + (a %% b != 0 && (a < 0) == (b < 0));\n}\n"},
        {"tile_abs", "%1$s tile_abs_%2$s(%1$s a) {\n    return a < 0 ? (%1$s)(0 - (unsigned %1$s)a) : a;\n}\n"},
        {"tile_mini", "%1$s tile_mini_%2$s(%1$s a, %1$s b) {\n    return a < b ? a : b;\n}\n"},
        {"tile_maxi", "%1$s tile_maxi_%2$s(%1$s a, %1$s b) {\n    return a > b ? a : b;\n}\n"},
        {"tile_clampi", "%1$s tile_clampi_%2$s(%1$s x, %1$s lo, %1$s hi) {\n    return x < lo ? (lo < hi ? lo : hi) : "
                        "x > hi ? hi : x;\n}\n"},
    };
    size_t stem = strlen(name) - 4;
    const char *suffix = name + stem + 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i].name) == stem && !strncmp(forms[i].name, name, stem) &&
            (!strcmp(suffix, "i32") || !strcmp(suffix, "i64"))) {
            char text[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text, sizeof text, forms[i].text, c_type(suffix), suffix);
#pragma GCC diagnostic pop
            return arena_copy(emitter->arena, text, strlen(text));
        }
    return NULL;
}

// tile_f32_to_i64: truncates, saturates, NaN gives 0.
static const char *truncating_helper(struct emitter *emitter, const char *name) {
    char from[4], to[4];
    if (sscanf(name, "tile_%3[f0-9]_to_%3[iu0-9]", from, to) != 2 || !ir_type_is_integer(ir_type_named(to)))
        return NULL;
    const char *wide = c_type(from), *narrow = c_type(to), *f = !strcmp(from, "f32") ? "f" : "";
    static const struct {
        const char *type, *lo, *hi, *least, *most;
    } ends[] = {{"i8", "-128.0", "127.0", "-128", "127"},
                {"u8", "0.0", "255.0", "0", "255"},
                {"i32", "-2147483648.0", "2147483648.0", "(-2147483647 - 1)", "2147483647"},
                {"i64", "-9223372036854775808.0", "9223372036854775808.0", "(-9223372036854775807LL - 1)",
                 "9223372036854775807LL"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(ends[i].type, to))
            return print(emitter,
                         "%s %s(%s x) {\n    return x != x ? 0 : x >= %s%s ? %s : x <= %s%s ? %s : (%s)x;\n}\n", narrow,
                         name, wide, ends[i].hi, f, ends[i].most, ends[i].lo, f, ends[i].least, narrow);
    return NULL;
}

// tile_sum_lanes_f32(v, count, step): over `count` lanes that are `step` apart; every one of them gets the result.
static const char *lanes_helper(struct emitter *emitter, const char *name, enum ir_reduction reduction,
                                const char *suffix) {
    bool flag = !strcmp(suffix, "bool");
    const char *type = c_type(suffix);
    const char *other = print(emitter, "%s__shfl_xor_sync(0xffffffffu, %sv, o)%s", flag ? "(" : "", flag ? "(int)" : "",
                              flag ? " != 0)" : "");
    return print(emitter,
                 "%s %s(%s v, const int count, const int step) {\n"
                 "    #pragma unroll\n"
                 "    for (int o = count / 2 * step; o >= step; o /= 2) {\n"
                 "        const %s other = %s;\n"
                 "        v = %s;\n"
                 "    }\n"
                 "    return v;\n}\n",
                 type, name, type, type, other, step_text(emitter, reduction, suffix, "v", "other"));
}

// tile_sum_warps_f32(v, n, shared, count, step): n values of each thread, over `count` warps that are `step` apart.
static const char *warps_helper(struct emitter *emitter, const char *name, enum ir_reduction reduction,
                                const char *suffix) {
    const char *type = c_type(suffix);
    return print(emitter,
                 "void %1$s(%2$s *v, const int n, void *shared, const int count, const int step) {\n"
                 "    %2$s *all = (%2$s *)shared;\n"
                 "    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;\n"
                 "    const int first = thread - warp / step %% count * step * 32;\n"
                 "    __syncthreads();\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i) all[i * threads + thread] = v[i];\n"
                 "    __syncthreads();\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i) {\n"
                 "        %2$s a = all[i * threads + first];\n"
                 "        for (int w = 1; w < count; ++w) {\n"
                 "            const %2$s b = all[i * threads + first + w * step * 32];\n"
                 "            a = %3$s;\n"
                 "        }\n"
                 "        v[i] = a;\n"
                 "    }\n}\n",
                 name, type, step_text(emitter, reduction, suffix, "a", "b"));
}

// tile_sum_many_f32(v, n, shared, count, step, lanes, lane_step): the same where that would be many reads for each thread.
// The partial results of a sum are dealt out to neighbouring lanes, which add them up by shuffles. Of the lanes in which
// the values repeat only those along `lanes` (`lane_step` apart) take part. Rows in shared memory have an odd length, so
// that lanes that read down a column find different banks.
static const char *many_helper(struct emitter *emitter, const char *name, enum ir_reduction reduction,
                               const char *suffix) {
    const char *type = c_type(suffix);
    const char *lanes = helper(emitter, print(emitter, "tile_%s_lanes_%s", ir_reduction_name(reduction), suffix));
    return print(emitter,
                 "void %1$s(%2$s *v, const int n, void *shared, const int count, const int step, const int lanes, const "
                 "int lane_step) {\n"
                 "    %2$s *all = (%2$s *)shared;\n"
                 "    const int thread = (int)threadIdx.x, threads = (int)blockDim.x, warp = thread / 32, warps = threads / "
                 "32;\n"
                 "    const int lane = thread %% 32 / lane_step %% lanes, row = lanes | 1, total = n * lanes * warps;\n"
                 "    const int first = (warp - warp / step %% count * step) * row + lane;\n"
                 "    __syncthreads();\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i)\n"
                 "        if (thread %% 32 == lane * lane_step) all[(i * warps + warp) * row + lane] = v[i];\n"
                 "    __syncthreads();\n"
                 "    for (int q = 0; q < total; q += threads) {\n"
                 "        const int part = (q + thread) %% count, result = (q + thread) / count;\n"
                 "        const int group = result / lanes, at = group / step * count * step + group %% step;\n"
                 "        %2$s *sum = all + at * row + result %% lanes;\n"
                 "        const bool inside = q + thread < total;\n"
                 "        const %2$s a = %3$s(inside ? sum[part * step * row] : v[0], count, 1);\n"
                 "        if (inside && part == 0) *sum = a;\n"
                 "    }\n"
                 "    __syncthreads();\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i) v[i] = all[i * warps * row + first];\n"
                 "}\n",
                 name, type, lanes);
}

// tile_sum_blocks_f32(v, n, shared, count): over the threads of the same number in `count` blocks of a cluster, by rank.
// The blocks meet once: two halves of shared memory take turns, so that the next meeting, or the one at the end, says
// that all have read this half.
static const char *blocks_helper(struct emitter *emitter, const char *name, enum ir_reduction reduction,
                                 const char *suffix) {
    const char *type = c_type(suffix), *meet = helper(emitter, "tile_meet"), *peer = helper(emitter, "tile_peer");
    return print(emitter,
                 "void %1$s(%2$s *v, const int n, void *shared, const int count) {\n"
                 "    %2$s *all = (%2$s *)shared + threadIdx.x;\n"
                 "    const int threads = (int)blockDim.x;\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i) all[i * threads] = v[i];\n"
                 "    %4$s();\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i) {\n"
                 "        %2$s a = *(const %2$s *)%5$s(all + i * threads, 0);\n"
                 "        #pragma unroll\n"
                 "        for (int rank = 1; rank < count; ++rank) {\n"
                 "            const %2$s b = *(const %2$s *)%5$s(all + i * threads, rank);\n"
                 "            a = %3$s;\n"
                 "        }\n"
                 "        v[i] = a;\n"
                 "    }\n}\n",
                 name, type, step_text(emitter, reduction, suffix, "a", "b"), meet, peer);
}

// tile_argmax_f32(best, at, v, i): the greatest value and where it is first; NaN comes before all; at < 0: none yet.
static const char *position_helper(struct emitter *emitter, const char *name, enum ir_reduction reduction,
                                   const char *suffix) {
    const char *type = c_type(suffix), *sign = reduction == RED_ARGMAX ? ">" : "<";
    bool floating = ir_type_is_float(ir_type_named(suffix));
    const char *better = !floating                 ? print(emitter, "v %s *best", sign)
                         : print(emitter, "v %s *best || (v != v && *best == *best)", sign);
    const char *equal = floating ? "v == *best || (v != v && *best != *best)" : "v == *best";
    return print(emitter,
                 "void %s(%s *best, long long *at, %s v, long long i) {\n"
                 "    if (i < 0 || (*at >= 0 && !(%s) && !((%s) && i < *at))) return;\n"
                 "    *best = v;\n"
                 "    *at = i;\n}\n",
                 name, type, type, better, equal);
}

static const char *position_lanes_helper(struct emitter *emitter, const char *name, const char *base,
                                         const char *suffix) {
    return print(emitter,
                 "void %1$s(%2$s *best, long long *at, const int count, const int step) {\n"
                 "    #pragma unroll\n"
                 "    for (int o = count / 2 * step; o >= step; o /= 2) {\n"
                 "        const %2$s v = __shfl_xor_sync(0xffffffffu, *best, o);\n"
                 "        const long long i = __shfl_xor_sync(0xffffffffu, *at, o);\n"
                 "        %3$s(best, at, v, i);\n"
                 "    }\n}\n",
                 name, c_type(suffix), base);
}

static const char *position_warps_helper(struct emitter *emitter, const char *name, const char *base,
                                         const char *suffix) {
    return print(emitter,
                 "void %1$s(%2$s *best, long long *at, const int n, void *shared, const int count, const int step) {\n"
                 "    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;\n"
                 "    const int first = thread - warp / step %% count * step * 32;\n"
                 "    long long *places = (long long *)shared;\n"
                 "    %2$s *values = (%2$s *)(places + n * threads);\n"
                 "    __syncthreads();\n"
                 "    for (int i = 0; i < n; ++i) {\n"
                 "        places[i * threads + thread] = at[i];\n"
                 "        values[i * threads + thread] = best[i];\n"
                 "    }\n"
                 "    __syncthreads();\n"
                 "    for (int i = 0; i < n; ++i)\n"
                 "        for (int w = 0; w < count; ++w)\n"
                 "            %3$s(best + i, at + i, values[i * threads + first + w * step * 32], places[i * threads + "
                 "first + w * step * 32]);\n}\n",
                 name, c_type(suffix), base);
}

// tile_scan_sum_f32(total, shared, lanes, lane_step, warps, warp_step): gives what stands before this thread along the
// axis and leaves the sum over all its threads in *total.
static const char *scan_helper(struct emitter *emitter, const char *name, enum ir_reduction reduction,
                               const char *suffix) {
    const char *type = c_type(suffix), *identity = identity_text(emitter, reduction, ir_type_named(suffix));
    const char *b = step_text(emitter, reduction, suffix, "before", "v"),
               *t = step_text(emitter, reduction, suffix, "all", "v");
    return print(emitter,
                 "%2$s %1$s(%2$s *total, void *shared, const int lanes, const int lane_step, const int warps, const "
                 "int warp_step) {\n"
                 "    %2$s *values = (%2$s *)shared, before = %3$s, all = %3$s;\n"
                 "    const int thread = (int)threadIdx.x, lane = thread %% 32, warp = thread / 32;\n"
                 "    const int l = lane / lane_step %% lanes, w = warp / warp_step %% warps;\n"
                 "    const int first = thread - l * lane_step - w * warp_step * 32;\n"
                 "    __syncthreads();\n"
                 "    values[thread] = *total;\n"
                 "    __syncthreads();\n"
                 "    #pragma unroll 1\n"
                 "    for (int i = 0; i < lanes * warps; ++i) {\n"
                 "        const %2$s v = values[first + i %% lanes * lane_step + i / lanes * warp_step * 32];\n"
                 "        if (i < l + w * lanes) before = %4$s;\n"
                 "        all = %5$s;\n"
                 "    }\n"
                 "    *total = all;\n"
                 "    return before;\n}\n",
                 name, type, identity, b, t);
}

static const char *reduction_helper(struct emitter *emitter, const char *name) {
    const char *stem = name + strlen("tile_"), *under = strchr(stem, '_'), *suffix = strrchr(name, '_') + 1;
    enum ir_reduction reduction;
    if (!under)
        return NULL;
    if (!strncmp(stem, "scan_", 5)) {
        const char *what = stem + 5;
        return reduction_named(what, strcspn(what, "_"), &reduction) ? scan_helper(emitter, name, reduction, suffix)
                                                                     : NULL;
    }
    if (!reduction_named(stem, (size_t)(under - stem), &reduction) || ir_type_named(suffix) == TYPE_NONE)
        return NULL;
    bool position = reduction == RED_ARGMAX || reduction == RED_ARGMIN;
    const char *base = print(emitter, "tile_%s_%s", ir_reduction_name(reduction), suffix);
    if (position && strcmp(base, name))
        helper(emitter, base);
    if (!strncmp(under, "_lanes_", 7))
        return position ? position_lanes_helper(emitter, name, base, suffix)
                        : lanes_helper(emitter, name, reduction, suffix);
    if (!strncmp(under, "_warps_", 7))
        return position ? position_warps_helper(emitter, name, base, suffix)
                        : warps_helper(emitter, name, reduction, suffix);
    if (!strncmp(under, "_blocks_", 8))
        return blocks_helper(emitter, name, reduction, suffix);
    if (!strncmp(under, "_many_", 6))
        return many_helper(emitter, name, reduction, suffix);
    return position ? position_helper(emitter, name, reduction, suffix) : NULL;
}

// ---------------------------------------------------------------------------------------------- vectors

// The machine's vector type for `bytes`, and its components of 1, 2, 4 or 8 bytes.
static const char *word_type(int bytes) {
    return bytes == 16 ? "uint4" : bytes == 8 ? "uint2" : "unsigned";
}

static const char *word_of(struct emitter *emitter, const char *q, int bytes, int word) {
    return bytes == 4 ? q : print(emitter, "%s.%c", q, "xyzw"[word]);
}

static const char *unpack(struct emitter *emitter, enum ir_type type, const char *q, int bytes, int element) {
    int size = ir_type_bytes(type);
    if (size == 8) {
        const char *lo = word_of(emitter, q, bytes, 2 * element), *hi = word_of(emitter, q, bytes, 2 * element + 1);
        const char *both = print(emitter, "(long long)((unsigned long long)%s << 32 | %s)", hi, lo);
        return type == TYPE_F64 ? print(emitter, "__longlong_as_double(%s)", both) : both;
    }
    const char *word = word_of(emitter, q, bytes, element * size / 4);
    if (size == 4)
        return type == TYPE_F32 ? print(emitter, "__uint_as_float(%s)", word) : print(emitter, "(int)%s", word);
    int shift = element * size % 4 * 8;
    const char *part = shift ? print(emitter, "(%s >> %d)", word, shift) : word;
    if (type == TYPE_BF16)
        return shift ? print(emitter, "__uint_as_float(%s & 0xffff0000u)", word)
                     : print(emitter, "__uint_as_float(%s << 16)", word);
    if (type == TYPE_F16)
        return print(emitter, "%s((unsigned short)%s)", helper(emitter, "tile_f16_load"), part);
    return print(emitter, "(%s)%s", storage_type(type), part);
}

// tile_read_once_16(p), tile_write_once_16(p, q): a word of 4, 8 or 16 bytes that the L2 lets go before others;
// tile_read_keep_16(p): one that it lets go behind others. tile_read_once_if_16(p, inside) and the like: 0 where not
// inside, without a branch.
static const char *hinted_helper(struct emitter *emitter, const char *name) {
    char what[6], hint[5];
    int bytes;
    bool guarded = strstr(name, "_if_");
    int found = guarded ? sscanf(name, "tile_%5[a-z]_%4[a-z]_if_%d", what, hint, &bytes)
                        : sscanf(name, "tile_%5[a-z]_%4[a-z]_%d", what, hint, &bytes);
    if (found != 3 || (strcmp(hint, "once") && strcmp(hint, "keep")))
        return NULL;
    bool reads = !strcmp(what, "read");
    int words = bytes / 4;
    const char *registers = "", *operands = "", *zeros = "";
    for (int w = 0; w < words; w++) {
        zeros = print(emitter, "%smov.b32 %%%d, 0; ", zeros, w);
        registers = print(emitter, "%s%s%%%d", registers, w ? ", " : "", reads ? w : w + 1);
        operands = print(emitter, "%s%s\"%sr\"(%s)", operands, w ? ", " : "", guarded ? "=&" : reads ? "=" : "",
                         word_of(emitter, "q", bytes, w));
    }
    const char *kind = words == 1 ? ".u32" : print(emitter, ".v%d.u32", words);
    const char *list = words == 1 ? registers : print(emitter, "{%s}", registers);
    const char *policy = print(emitter, "\"{ .reg .b64 policy; createpolicy.fractional.L2::evict_%s.b64 policy, 1.0;\\n\"",
                               !strcmp(hint, "once") ? "first" : "last");
    const char *first_level = !strcmp(hint, "once") ? ".L1::no_allocate" : "";  // a slab may fit there, and is found there
    if (guarded)
        return print(emitter,
                     "%1$s %2$s(const void *p, const bool inside) {\n"
                     "    %1$s q;\n"
                     "    asm(%3$s\n"
                     "        \".reg .pred r; setp.ne.s32 r, %%%9$d, 0; %8$s\\n\"\n"
                     "        \"@r ld.global%10$s.L2::cache_hint%4$s %5$s, [%%%6$d], policy; }\"\n"
                     "        : %7$s : \"l\"(p), \"r\"((int)inside));\n"
                     "    return q;\n}\n",
                     word_type(bytes), name, policy, kind, list, words, operands, zeros, words + 1, first_level);
    if (reads)
        return print(emitter,
                     "%1$s %2$s(const void *p) {\n"
                     "    %1$s q;\n"
                     "    asm(%3$s\n"
                     "        \"ld.global%8$s.L2::cache_hint%4$s %5$s, [%%%6$d], policy; }\"\n"
                     "        : %7$s : \"l\"(p));\n"
                     "    return q;\n}\n",
                     word_type(bytes), name, policy, kind, list, words, operands, first_level);
    return print(emitter,
                 "void %2$s(void *p, %1$s q) {\n"
                 "    asm volatile(%3$s\n"
                 "        \"st.global.L1::no_allocate.L2::cache_hint%4$s [%%0], %5$s, policy; }\"\n"
                 "        : : \"l\"(p), %6$s : \"memory\");\n}\n",
                 word_type(bytes), name, policy, kind, list, operands);
}

// `hint`: "once", "keep"; NULL: none.
static const char *load_helper(struct emitter *emitter, const char *name, enum ir_type type, int width, const char *hint) {
    const char *inside = hint && strstr(name, "_if_") ? ", inside" : "";
    int chunk = width * ir_type_bytes(type) > 16 ? 16 : width * ir_type_bytes(type), per = chunk / ir_type_bytes(type);
    const char *text = print(emitter, "void %s(%s *v, const %s *p%s) {\n", name, register_type(type), storage_type(type),
                             *inside ? ", const bool inside" : "");
    for (int first = 0; first < width; first += per) {
        const char *q = print(emitter, "q%d", first / per);
        const char *from = first ? print(emitter, "(p + %d)", first) : "p";
        const char *read = print(emitter, "*(const %s *)%s", word_type(chunk), from);
        if (hint) {
            const char *hinted = print(emitter, "tile_read_%s_%s%d", hint, *inside ? "if_" : "", chunk);
            read = print(emitter, "%s(%s%s)", helper(emitter, hinted), from, inside);
        }
        text = print(emitter, "%s    const %s %s = %s;\n", text, word_type(chunk), q, read);
        for (int i = 0; i < per; i++)
            text = print(emitter, "%s    v[%d] = %s;\n", text, first + i, unpack(emitter, type, q, chunk, i));
    }
    return print(emitter, "%s}\n", text);
}

// One 32-bit word of what is stored: its elements are v[first] and following.
static const char *pack_word(struct emitter *emitter, enum ir_type type, int word) {
    int size = ir_type_bytes(type);
    if (size == 8) {
        const char *bits = type == TYPE_F64 ? print(emitter, "__double_as_longlong(v[%d])", word / 2)
                                            : print(emitter, "v[%d]", word / 2);
        return word % 2 ? print(emitter, "(unsigned)((unsigned long long)%s >> 32)", bits)
                        : print(emitter, "(unsigned)%s", bits);
    }
    if (size == 4)
        return type == TYPE_F32 ? print(emitter, "__float_as_uint(v[%d])", word)
                                : print(emitter, "(unsigned)v[%d]", word);
    const char *text = NULL;
    for (int i = 0; i < 4 / size; i++) {
        int element = word * 4 / size + i;
        const char *part = size == 2
                               ? print(emitter, "(unsigned)%s(v[%d])",
                                       helper(emitter, print(emitter, "tile_%s_store", ir_type_name(type))), element)
                               : print(emitter, "(unsigned)(unsigned char)v[%d]", element);
        text = text ? print(emitter, "%s | %s << %d", text, part, i * size * 8) : part;
    }
    return text;
}

static const char *store_helper(struct emitter *emitter, const char *name, enum ir_type type, int width, bool once) {
    int chunk = width * ir_type_bytes(type) > 16 ? 16 : width * ir_type_bytes(type), words = chunk / 4;
    const char *text = print(emitter, "void %s(%s *p, const %s *v) {\n", name, storage_type(type), register_type(type));
    for (int first = 0; first * ir_type_bytes(type) < width * ir_type_bytes(type);
         first += chunk / ir_type_bytes(type)) {
        const char *to = first ? print(emitter, "(p + %d)", first) : "p", *parts = "";
        for (int w = 0; w < words; w++)
            parts = print(emitter, "%s%s%s", parts, w ? ", " : "",
                          pack_word(emitter, type, first * ir_type_bytes(type) / 4 + w));
        const char *value = words == 1 ? parts : print(emitter, "make_%s(%s)", word_type(chunk), parts);
        if (once)
            text = print(emitter, "%s    %s(%s, %s);\n", text,
                         helper(emitter, print(emitter, "tile_write_once_%d", chunk)), to, value);
        else
            text = print(emitter, "%s    *(%s *)%s = %s;\n", text, word_type(chunk), to, value);
    }
    return print(emitter, "%s}\n", text);
}

static const char *vector_helper(struct emitter *emitter, const char *name) {
    char what[6], type_name[8];
    int width;
    const char *hint = strstr(name, "_once_") ? "once" : strstr(name, "_keep_") ? "keep" : NULL;
    const char *form = hint ? print(emitter, "tile_%%5[a-z]_%s_%s%%7[a-z0-9]", hint, strstr(name, "_if_") ? "if_" : "")
                            : "tile_%5[a-z]_%7[a-z0-9]";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    bool read = sscanf(name, form, what, type_name) == 2;
#pragma GCC diagnostic pop
    if (!read)
        return NULL;
    char *x = strchr(type_name, 'x');
    if (!x || sscanf(x, "x%d", &width) != 1)
        return NULL;
    *x = 0;
    enum ir_type type = ir_type_named(type_name);
    if (type == TYPE_NONE)
        return NULL;
    if (!strcmp(what, "clear"))
        return print(emitter, "void %s(%s *v) {\n    #pragma unroll\n    for (int i = 0; i < %d; ++i) v[i] = 0;\n}\n",
                     name, register_type(type), width);
    return !strcmp(what, "load")    ? load_helper(emitter, name, type, width, hint)
           : !strcmp(what, "store") ? store_helper(emitter, name, type, width, hint != NULL)
                                    : NULL;
}

// ---------------------------------------------------------------------------------------------- atomics

// A loop of compare and exchange, for what has no instruction; `step` is the new value from old and v.
static const char *exchange_helper(struct emitter *emitter, const char *name, enum ir_type type, const char *step) {
    const char *storage = storage_type(type), *value = register_type(type);
    const char *load = "old", *store = "next", *bits = storage;
    if (type == TYPE_F16 || type == TYPE_BF16) {
        load = print(emitter, "%s(old)", helper(emitter, print(emitter, "tile_%s_load", ir_type_name(type))));
        store = print(emitter, "%s(next)", helper(emitter, print(emitter, "tile_%s_store", ir_type_name(type))));
    } else if (type == TYPE_F32) {
        bits = "unsigned";
        load = "__uint_as_float(old)";
        store = "__float_as_uint(next)";
    } else if (type == TYPE_F64) {
        bits = "unsigned long long";
        load = "__longlong_as_double((long long)old)";
        store = "(unsigned long long)__double_as_longlong(next)";
    }
    return print(emitter,
                 "void %1$s(%2$s *p, %3$s v) {\n"
                 "    %4$s *place = (%4$s *)p, old = *(volatile %4$s *)p, seen;\n"
                 "    do {\n"
                 "        seen = old;\n"
                 "        const %3$s before = %5$s;\n"
                 "        const %3$s next = %6$s;\n"
                 "        old = atomicCAS(place, seen, %7$s);\n"
                 "    } while (old != seen);\n}\n",
                 name, storage, value, bits, load, step, store);
}

static const char *cpu_atomic(struct emitter *emitter, const char *name, enum ir_type type, const char *step) {
    const char *load = "old", *store = "next", *storage = storage_type(type), *value = register_type(type);
    if (type == TYPE_F16 || type == TYPE_BF16) {
        load = print(emitter, "%s(old)", helper(emitter, print(emitter, "tile_%s_load", ir_type_name(type))));
        store = print(emitter, "%s(next)", helper(emitter, print(emitter, "tile_%s_store", ir_type_name(type))));
    }
    return print(
        emitter,
        "void %1$s(%2$s *p, %3$s v) {\n"
        "    %2$s old, stored;\n"
        "    __atomic_load(p, &old, __ATOMIC_RELAXED);\n"
        "    do {\n"
        "        const %3$s before = %4$s;\n"
        "        const %3$s next = %5$s;\n"
        "        stored = %6$s;\n"
        "    } while (!__atomic_compare_exchange(p, &old, &stored, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));\n}\n",
        name, storage, value, load, step, store);
}

// What the element becomes, from `before` and `v`.
static const char *atomic_step(struct emitter *emitter, enum ir_reduction reduction, enum ir_type type) {
    const char *word = register_type(type);
    if (reduction == RED_SUM && (type == TYPE_I32 || type == TYPE_I64))
        return print(emitter, "(%s)((unsigned %s)before + (unsigned %s)v)", word, word, word);
    return combine_text(emitter, reduction, type, "before", "v");
}

static const char *atomic_helper(struct emitter *emitter, const char *name) {
    char what[4], type_name[6];
    enum ir_reduction reduction = RED_SUM;
    if (sscanf(name, "tile_atomic_%3[a-z]_%5s", what, type_name) != 2)
        return NULL;
    enum ir_type type = ir_type_named(type_name);
    if (strcmp(what, "add") && !reduction_named(what, strlen(what), &reduction))
        return NULL;
    if (!emitter->cuda)
        return cpu_atomic(emitter, name, type, atomic_step(emitter, reduction, type));
    const char *function = reduction == RED_SUM ? "atomicAdd" : reduction == RED_MAX ? "atomicMax" : "atomicMin";
    if (type == TYPE_I32 || (reduction == RED_SUM && (type == TYPE_F32 || type == TYPE_F64)))
        return print(emitter, "void %s(%s *p, %s v) {\n    %s(p, v);\n}\n", name, storage_type(type),
                     register_type(type), function);
    if (type == TYPE_I64 && reduction == RED_SUM)
        return print(
            emitter,
            "void %s(long long *p, long long v) {\n    atomicAdd((unsigned long long *)p, (unsigned long long)v);\n}\n",
            name);
    if (type == TYPE_I64)
        return print(emitter, "void %s(long long *p, long long v) {\n    %s(p, v);\n}\n", name, function);
    return exchange_helper(emitter, name, type, atomic_step(emitter, reduction, type));
}

// ---------------------------------------------------------------------------------------------- the list

static void need_each(struct emitter *emitter, const char *needs) {
    while (needs && *needs) {
        size_t length = strcspn(needs, " ");
        helper(emitter, arena_copy(emitter->arena, needs, length));
        needs += length + (needs[length] == ' ');
    }
}

static const char *plain_helper(struct emitter *emitter, const char *name) {
    for (size_t i = 0; i < sizeof plains / sizeof *plains; i++) {
        if (strcmp(plains[i].name, name))
            continue;
        bool own = emitter->cuda && plains[i].cpu && strstr(plains[i].cuda, "asm(");  // an instruction needs nothing
        if (!own)
            need_each(emitter, plains[i].needs);
        return emitter->cuda || !plains[i].cpu ? plains[i].cuda : plains[i].cpu;
    }
    return NULL;
}

const char *helper_text(struct emitter *emitter, const char *name) {
    const char *(*const families[])(struct emitter *, const char *) = {
        slab_helper,   plain_helper,  integer_helper, truncating_helper, reduction_helper,
        vector_helper, hinted_helper, atomic_helper,  matmul_helper};
    const char *text = NULL;
    for (size_t i = 0; !text && i < sizeof families / sizeof *families; i++)
        text = families[i](emitter, name);
    return text;
}

const char *helper(struct emitter *emitter, const char *name) {
    for (int i = 0; i < emitter->helper_count; i++)
        if (!strcmp(emitter->helpers[i].name, name))
            return emitter->helpers[i].name;
    const char *text = helper_text(emitter, name);
    if (!text) {
        give_up(emitter, "internal.emit", (struct span){0}, "there is no helper %s", name);
        return name;
    }
    struct helper_text entry = {name, text};
    ARENA_PUSH(emitter->arena, emitter->helpers, emitter->helper_count, emitter->helper_capacity, entry);
    return name;
}

void write_helpers(struct emitter *emitter) {
    for (int i = 0; i < emitter->helper_count; i++) {
        text_add(emitter->out, emitter->cuda ? "static __device__ __forceinline__ " : "static inline ");
        text_add(emitter->out, emitter->helpers[i].text);
        text_add(emitter->out, "\n");
    }
}
