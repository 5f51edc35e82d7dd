// SPDX-License-Identifier: Apache-2.0
// The helpers of launches in which a warp copies slabs, and those of reductions as the other warps call them: without
// the copying warp, which meets nobody.
#include <stdio.h>
#include <string.h>

#include "codegen/matmul.h"

static const struct {
    const char *name, *text;
} texts[] = {
    {"tile_turns", "long long tile_turns(const long long lo, const long long hi, const int block) {\n"
                   "    return lo < hi ? (hi - lo + block - 1) / block : 0;\n}\n"},
    // Begins to copy `bytes`, a multiple of 16 as both addresses are.
    {"tile_slab_copy",
     "void tile_slab_copy(const unsigned at, const void *from, const int bytes, const unsigned phase) {\n"
     "    asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n"
     "                 :: \"r\"(at), \"l\"(from), \"r\"(bytes), \"r\"(phase) : \"memory\");\n}\n"},
    // The same, for what the L2 lets go before others, or, to be kept, behind others.
    {"tile_slab_copy_once",
     "void tile_slab_copy_once(const unsigned at, const void *from, const int bytes, const unsigned phase, const bool keep) {\n"
     "    asm volatile(\"{ .reg .b64 once, policy; .reg .pred p; setp.ne.s32 p, %4, 0;\\n\"\n"
     "        \"createpolicy.fractional.L2::evict_first.b64 once, 1.0; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\\n\"\n"
     "        \"@!p mov.b64 policy, once;\\n\"\n"
     "        \"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy; }\"\n"
     "        :: \"r\"(at), \"l\"(from), \"r\"(bytes), \"r\"(phase), \"r\"((int)keep) : \"memory\");\n}\n"},
    // The first row of a share, if all have about equally many.
    {"tile_share", "int tile_share(const int rows, const int share, const int shares) {\n"
                   "    return (int)((long long)rows * share / shares);\n}\n"},
    {"tile_part_sync", "void tile_part_sync(const int threads) {\n"
                       "    asm volatile(\"bar.sync 1, %0;\" :: \"r\"(threads) : \"memory\");\n}\n"},
    // The so many threads of each of a cluster's blocks meet, for the turn-th time; what they stored before is there for
    // the others. Two barriers take turns: who is ahead arrives at the one that nobody waits at any more.
    {"tile_part_meet",
     "void tile_part_meet(const int threads, const int count, const unsigned tiles, const int turn) {\n"
     "    const unsigned at = tiles + (turn & 1) * 8;\n"
     "    asm volatile(\"bar.sync 1, %0;\" :: \"r\"(threads) : \"memory\");\n"
     "    if ((int)threadIdx.x < count)\n"
     "        asm volatile(\"{ .reg .b32 peer; mapa.shared::cluster.u32 peer, %0, %1;\\n\"\n"
     "            \"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer]; }\" :: \"r\"(at), \"r\"(threadIdx.x) : \"memory\");\n"
     "    asm volatile(\"{ .reg .pred p; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; "
     "@p bra over; bra again; over: }\"\n"
     "                 :: \"r\"(at), \"r\"((turn - 1) >> 1 & 1) : \"memory\");\n}\n"},
};

// tile_share_i64(offsets, rows, share, shares): the first row of a share of about equal work, by what offsets say, and as
// much again for each row as for some points. The end of each share is the start of the next, whatever they say.
static const char *share_text(struct emitter *emitter, const char *name, const char *type) {
    return print(emitter,
                 "int %1$s(const %2$s *offsets, const int rows, const int share, const int shares) {\n"
                 "    const long long begin = offsets[0], work = (long long)offsets[rows] - begin + rows * 16LL;\n"
                 "    const long long wanted = work / shares * share + work %% shares * share / shares;\n"
                 "    int lo = 0, hi = rows;\n"
                 "    if (share == 0 || share == shares) return share ? rows : 0;\n"
                 "    while (lo < hi) {\n"
                 "        const int row = lo + (hi - lo) / 2;\n"
                 "        if ((long long)offsets[row] - begin + row * 16LL < wanted) lo = row + 1;\n"
                 "        else hi = row;\n"
                 "    }\n"
                 "    return lo;\n}\n",
                 name, type);
}

// tile_sum_cluster_f32(v, n, shared, warps, count, tiles, turn): over all warps of `count` blocks, each of which has `warps`
// of them and in each of these the same values in all lanes. Every warp reads the partial results of all: the blocks meet
// once, and nobody waits for a block's own sum.
static const char *cluster_text(struct emitter *emitter, const char *name) {
    const char *stem = name + strlen("tile_"), *suffix = strrchr(name, '_') + 1, *under = strstr(name, "_cluster_");
    enum ir_type type = ir_type_named(suffix);
    enum ir_reduction reduction;
    if (!under || type == TYPE_NONE || !reduction_named(stem, (size_t)(under - stem), &reduction))
        return NULL;
    const char *lanes = helper(emitter, print(emitter, "tile_%s_lanes_%s", ir_reduction_name(reduction), suffix)),
               *meet = helper(emitter, "tile_part_meet"), *peer = helper(emitter, "tile_peer");
    return print(emitter,
                 "void %1$s(%2$s *v, const int n, void *shared, const int warps, const int count, const unsigned tiles, const int turn) {\n"
                 "    %2$s *all = (%2$s *)shared;\n"
                 "    const int lane = (int)threadIdx.x %% 32, warp = (int)threadIdx.x / 32, total = warps * count;\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i)\n"
                 "        if (lane == 0) all[i * warps + warp] = v[i];\n"
                 "    %3$s(32 * warps, count, tiles, turn);\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < n; ++i) {\n"
                 "        const %2$s *part = all + i * warps + lane %% warps;\n"
                 "        %2$s a = *(const %2$s *)%4$s(part, lane %% total / warps);\n"
                 "        for (int at = lane + 32; at < total; at += 32) {\n"
                 "            const %2$s b = *(const %2$s *)%4$s(part, at / warps);\n"
                 "            a = %5$s;\n"
                 "        }\n"
                 "        v[i] = %6$s(a, total < 32 ? total : 32, 1);\n"
                 "    }\n}\n",
                 name, register_type(type), meet, peer, combine_text(emitter, reduction, type, "a", "b"), lanes);
}

static const char *replaced(struct emitter *emitter, const char *text, const char *old, const char *fresh) {
    struct text result = {0};
    for (const char *at; (at = strstr(text, old)) != NULL; text = at + strlen(old)) {
        text_add_bytes(&result, text, (size_t)(at - text));
        text_add(&result, fresh);
    }
    text_add(&result, text);
    const char *copy = arena_copy(emitter->arena, result.data, result.length);
    text_free(&result);
    return copy;
}

// NAME_part: a reduction's helper for a part of a block's warps.
static const char *part_text(struct emitter *emitter, const char *name) {
    const char *whole = arena_copy(emitter->arena, name, strlen(name) - strlen("_part"));
    const char *text = helper_text(emitter, whole);
    if (!text)
        return NULL;
    bool meets = strstr(text, "tile_meet()");
    helper(emitter, meets ? "tile_part_meet" : "tile_part_sync");
    text = replaced(emitter, text, whole, name);
    text = replaced(emitter, text, "(int)blockDim.x", print(emitter, "%d", 32 * emitter->lowered->warps));
    text = replaced(emitter, text, "__syncthreads()", "tile_part_sync(threads)");
    if (!meets)
        return text;
    text = replaced(emitter, text, "const int count) {", "const int count, const unsigned tiles, const int turn) {");
    return replaced(emitter, text, "tile_meet()", "tile_part_meet(threads, count, tiles, turn)");
}

const char *slab_helper(struct emitter *emitter, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, name))
            return texts[i].text;
    if (!strcmp(name, "tile_share_i32"))
        return share_text(emitter, name, "int");
    if (!strcmp(name, "tile_share_i64"))
        return share_text(emitter, name, "long long");
    if (strstr(name, "_cluster_"))
        return cluster_text(emitter, name);
    return length > 5 && !strcmp(name + length - 5, "_part") ? part_text(emitter, name) : NULL;
}
