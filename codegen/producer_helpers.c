// SPDX-License-Identifier: Apache-2.0
// The helpers of launches with producers: barriers that count arrivals and bytes, maps of tensors, copies of boxes.
//
// Each that needs an instruction of sm_90a is alone in its function, as in matmul_helpers.c. A map is written field by
// field on the device, so that a launch needs nothing of the driver but the tensors' addresses.
#include <stdio.h>
#include <string.h>

#include "codegen/matmul.h"

static const struct {
    const char *name, *text;
} texts[] = {
    {"tile_phase_start",
     "void tile_phase_start(const unsigned at, const int arrivals) {\n"
     "    asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" :: \"r\"(at), \"r\"(arrivals) : \"memory\");\n}\n"},
    {"tile_phases_started",
     "void tile_phases_started() {\n    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n}\n"},
    {"tile_phase_arrive", "void tile_phase_arrive(const unsigned at) {\n"
                          "    asm volatile(\"mbarrier.arrive.shared.b64 _, [%0];\" :: \"r\"(at) : \"memory\");\n}\n"},
    // When all that the thread has sent for has come.
    {"tile_phase_copied", "void tile_phase_copied(const unsigned at) {\n"
                          "    asm volatile(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" :: \"r\"(at) : "
                          "\"memory\");\n}\n"},
    {"tile_phase_expect", "void tile_phase_expect(const unsigned at, const int bytes) {\n"
                          "    asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\" :: \"r\"(at), "
                          "\"r\"(bytes) : \"memory\");\n}\n"},
    // Until the phase of an even (0) or odd (1) round is over.
    {"tile_phase_await", "void tile_phase_await(const unsigned at, const int turn) {\n"
                         "    asm volatile(\"{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; "
                         "@p bra over; bra again; over: }\"\n"
                         "                 :: \"r\"(at), \"r\"(turn) : \"memory\");\n}\n"},
    {"tile_hand_over", "void tile_hand_over(const unsigned at, const int number) {\n"
                       "    asm volatile(\"st.shared.b32 [%0], %1;\" :: \"r\"(at), \"r\"(number) : \"memory\");\n}\n"},
    {"tile_handed_over", "int tile_handed_over(const unsigned at) {\n"
                         "    int number;\n"
                         "    asm volatile(\"ld.shared.b32 %0, [%1];\" : \"=r\"(number) : \"r\"(at) : \"memory\");\n"
                         "    return number;\n}\n"},
    {"tile_rows", "int tile_rows(const long long rows, const int most) {\n"
                  "    return rows < 0 ? 0 : rows < most ? (int)rows : most;\n}\n"},
    // Of a cell, from any element on, of which `count` (up to 8) are inside: the 16 bytes in which the first is, the
    // next, how many elements that is too early, and the count. Nothing behind the tensor's end is read.
    {"tile_fetch_words",
     "void tile_fetch_words(unsigned *w, const unsigned short *from, const unsigned short *end, const bool inside) {\n"
     "    w[0] = w[1] = w[2] = w[3] = 0;\n"
     "    if (inside && from + 8 <= end) {\n"
     "        const uint4 all = *(const uint4 *)from;\n"
     "        w[0] = all.x, w[1] = all.y, w[2] = all.z, w[3] = all.w;\n"
     "    } else if (inside) {\n"
     "        for (int i = 0; i < 8; ++i)\n"
     "            if (from + i < end) w[i / 2] |= (unsigned)from[i] << i % 2 * 16;\n"
     "    }\n}\n"},
    {"tile_fetch_cell",
     "void tile_fetch_cell(unsigned *w, const unsigned short *from, const unsigned short *end, const int count) {\n"
     "    const int shift = (int)((unsigned long long)from / 2 % 8);\n"
     "    tile_fetch_words(w, from - shift, end, count > 0);\n"
     "    tile_fetch_words(w + 4, from - shift + 8, end, count > 8 - shift && shift > 0);\n"
     "    w[8] = (unsigned)shift, w[9] = (unsigned)count;\n}\n"},
    // `grain`: the first element is at a multiple of so many.
    {"tile_keep_cell",
     "void tile_keep_cell(const unsigned at, const unsigned *w, const int grain) {\n"
     "    unsigned a[8] = {w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]};\n"
     "    const int shift = (int)w[8] / grain * grain, count = (int)w[9];\n"
     "    if (shift & 4) { a[0] = a[2], a[1] = a[3], a[2] = a[4], a[3] = a[5], a[4] = a[6], a[5] = a[7]; }\n"
     "    if (shift & 2) { a[0] = a[1], a[1] = a[2], a[2] = a[3], a[3] = a[4], a[4] = a[5]; }\n"
     "    #pragma unroll\n"
     "    for (int i = 0; i < 4; ++i) {\n"
     "        const unsigned long long pair = (unsigned long long)a[i + 1] << 32 | a[i];\n"
     "        const unsigned mask = count > 2 * i + 1 ? 0xffffffffu : count > 2 * i ? 0xffffu : 0;\n"
     "        a[i] = (unsigned)(pair >> (shift & 1) * 16) & mask;\n"
     "    }\n"
     "    tile_keep_words(at, a[0], a[1], a[2], a[3]);\n}\n"},
    {"tile_keep_words", "void tile_keep_words(const unsigned at, const unsigned a, const unsigned b, const unsigned c, "
                        "const unsigned d) {\n"
                        "    asm volatile(\"st.shared.v4.b32 [%0], {%1, %2, %3, %4};\" :: \"r\"(at), \"r\"(a), "
                        "\"r\"(b), \"r\"(c), \"r\"(d) : "
                        "\"memory\");\n}\n"},
    {"tile_map_seen",
     "void tile_map_seen(const int *map) {\n"
     "    asm volatile(\"fence.proxy.tensormap::generic.acquire.gpu [%0], 128;\" :: \"l\"(map) : \"memory\");\n}\n"},
};

static const char *text_of(struct emitter *emitter, struct text *text) {
    const char *copy = arena_copy(emitter->arena, text->data, text->length);
    text_free(text);
    return copy;
}

static void field(struct text *text, const char *name, const char *width, int ordinal, const char *constraint,
                  const char *value) {
    text_printf(text, "    asm volatile(\"tensormap.replace.tile.%s.global.b1024.%s [%%0], ", name, width);
    if (ordinal >= 0)
        text_printf(text, "%d, ", ordinal);
    text_printf(text, "%%1;\" :: \"l\"(map), \"%s\"(%s) : \"memory\");\n", constraint, value);
}

static void choice(struct text *text, const char *name, int value) {
    text_printf(
        text,
        "    asm volatile(\"tensormap.replace.tile.%s.global.b1024.b32 [%%0], %d;\" :: \"l\"(map) : \"memory\");\n",
        name, value);
}

static void each_field(struct text *text, const char *name, int rank, const char *const *values) {
    for (int i = 0; i < rank; i++)
        field(text, name, "b32", i, "r", values[i]);
}

// A tensor of `columns` by `count` rows that lie `apart` elements from each other, and of what is beside them (n3, n4,
// at distances s3, s4). Boxes: 64 columns, `rows` rows, in panels whose 16-byte cells are spread over the banks. Rows
// are along two dimensions, the first of which ends `rows` rows behind the map's beginning, `rows` rows before the
// tensor's.
static const char *map_text(struct emitter *emitter, const char *name, int rank, bool bf16) {
    static const char *const ones[] = {"1", "1", "1", "1", "1"}, *const box[] = {"64", "rows", "1", "1", "1"};
    static const char *const extents[] = {"columns", "rows", "count + 1", "n3", "n4"}, *const strides[] = {"apart",
                                                                                                           "apart",
                                                                                                           "s3", "s4"};
    struct text text = {0};
    text_printf(&text,
                "void %s(int *map, const unsigned short *tensor, const int rows, const unsigned columns, const "
                "unsigned count, const long long apart",
                name);
    for (int i = 3; i < rank; i++)
        text_printf(&text, ", const unsigned n%d, const long long s%d", i, i);
    text_add(&text, ") {\n    for (int i = 0; i < 32; ++i) ((volatile int *)map)[i] = 0;\n");
    field(&text, "global_address", "b64", -1, "l", "tensor - rows * apart");
    field(&text, "rank", "b32", -1, "n", print(emitter, "%d", rank - 1));
    each_field(&text, "box_dim", rank, box);
    each_field(&text, "global_dim", rank, extents);
    // Before CUDA 12.5 the field took sixteenths.
    text_add(&text, "#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 5\n    const int unit = 8;\n#else\n    "
                    "const long long unit = 2;\n#endif\n");
    for (int i = 0; i + 1 < rank; i++)
        field(&text, "global_stride", "b64", i, "l",
              print(emitter, "unit == 2 ? %s * 2 : %s / 8", strides[i], strides[i]));
    each_field(&text, "element_stride", rank, ones);
    choice(&text, "elemtype", bf16 ? 10 : 6);
    choice(&text, "interleave_layout", 0);
    choice(&text, "swizzle_mode", 3);
    choice(&text, "fill_mode", 0);
    text_add(
        &text,
        "    asm volatile(\"fence.proxy.tensormap::generic.release.gpu;\" ::: \"memory\");\n    __threadfence();\n}\n");
    return text_of(emitter, &text);
}

// Sends for a box: from column c0 on, rows b - rows + a up to b.
static const char *box_text(struct emitter *emitter, const char *name, int rank) {
    struct text text = {0};
    text_printf(&text, "void %s(const unsigned at, const int *map, const unsigned phase", name);
    for (int i = 0; i < rank; i++)
        text_printf(&text, ", const int c%d", i);
    text_printf(
        &text,
        ") {\n    asm volatile(\"cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%%0], [%%1, {",
        rank);
    for (int i = 0; i < rank; i++)
        text_printf(&text, "%s%%%d", i ? ", " : "", i + 3);
    text_add(&text, "}], [%2];\"\n                 :: \"r\"(at), \"l\"(map), \"r\"(phase)");
    for (int i = 0; i < rank; i++)
        text_printf(&text, ", \"r\"(c%d)", i);
    text_add(&text, " : \"memory\");\n}\n");
    return text_of(emitter, &text);
}

static const char *registers_text(struct emitter *emitter, const char *name, bool up, int count) {
    return print(emitter, "void %s() {\n    asm volatile(\"setmaxnreg.%s.sync.aligned.u32 %d;\");\n}\n", name,
                 up ? "inc" : "dec", count);
}

// The helpers that a helper calls are written before it.
static const char *with_parts(struct emitter *emitter, const char *name, const char *text) {
    if (!strcmp(name, "tile_fetch_cell"))
        helper(emitter, "tile_fetch_words");
    if (!strcmp(name, "tile_keep_cell"))
        helper(emitter, "tile_keep_words");
    return text;
}

const char *producer_helper(struct emitter *emitter, const char *name) {
    char word[8];
    int number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, name))
            return with_parts(emitter, name, texts[i].text);
    if (sscanf(name, "tile_map_%d_%7s", &number, word) == 2)
        return map_text(emitter, name, number, !strcmp(word, "bf16"));
    if (sscanf(name, "tile_box_%d", &number) == 1)
        return box_text(emitter, name, number);
    if (sscanf(name, "tile_registers_%7[a-z]_%d", word, &number) == 2)
        return registers_text(emitter, name, !strcmp(word, "up"), number);
    return NULL;
}
