// SPDX-License-Identifier: Apache-2.0
// The helpers of products on the matrix units: where a cell of a tile lies, copies into tiles, fragments, instructions.
//
// Each instruction is alone in its function, so that a host that executes the text can put its own in their place.
#include <stdio.h>
#include <string.h>

#include "codegen/matmul.h"

// Sixteen bytes a cell; `chunks` cells a row, a power of two. Eight neighbouring rows have a chunk in eight banks' groups.
#define CELL                                                                                     \
    "int tile_cell(const int row, const int chunk, const int chunks) {\n"                        \
    "    const int turn = chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;\n"                \
    "    return (row * chunks + (chunk ^ turn)) * 16;\n}\n"

#define MATRICES_4(name, words)                                                                               \
    "void " name "(unsigned *m, const unsigned at) {\n"                                        \
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4" words ".shared.b16 {%0, %1, %2, %3}, [%4];\"\n"        \
    "                 : \"=r\"(m[0]), \"=r\"(m[1]), \"=r\"(m[2]), \"=r\"(m[3]) : \"r\"(at) : \"memory\");\n}\n"

#define MATRICES_2(name, words)                                                                        \
    "void " name "(unsigned *m, const unsigned at) {\n"                                 \
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2" words ".shared.b16 {%0, %1}, [%2];\"\n"         \
    "                 : \"=r\"(m[0]), \"=r\"(m[1]) : \"r\"(at) : \"memory\");\n}\n"

// c: two columns each of a row and of the row eight below; a: four pairs; b: two.
#define MULTIPLY(type)                                                                                                 \
    "void tile_mma_" type "(float *c, float *d, const unsigned *a, const unsigned *b) {\n"                             \
    "    asm(\"mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "  \
    "%9}, {%0, %1, %2, %3};\"\n"                                                                                       \
    "        : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(d[0]), \"+f\"(d[1])\n"                                               \
    "        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n}\n"

#define PACK(type)                                                                     \
    "unsigned tile_pack_" type "(const float low, const float high) {\n"               \
    "    unsigned pair;\n"                                                             \
    "    asm(\"cvt.rn." type "x2.f32 %0, %1, %2;\" : \"=r\"(pair) : \"f\"(high), \"f\"(low));\n" \
    "    return pair;\n}\n"

#define COPY(bytes)                                                                                             \
    "void tile_copy_" bytes "(const unsigned at, const void *from, const bool inside) {\n"  \
    "    const int bytes = inside ? " bytes " : 0;\n"                                                           \
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], " bytes ", %2;\" :: \"r\"(at), \"l\"(from), \"r\"(bytes)\n" \
    "                 : \"memory\");\n}\n"

// Until all copies have come but those of the last `groups` groups.
#define AWAIT(groups)                                                                                           \
    {"tile_copies_but_" groups, "void tile_copies_but_" groups "() {\n    asm volatile(\"cp.async.wait_group " groups \
                                ";\" ::: \"memory\");\n}\n"}

static const struct {
    const char *name, *text;
} texts[] = {
    {"tile_cell", CELL},
    {"tile_panel_cell",
     "int tile_panel_cell(const int row, const int chunk, const int rows) {\n"
     "    return (chunk / 8 * rows + row) * 128 + (chunk % 8 ^ row % 8) * 16;\n}\n"},
    {"tile_copies_seen",
     "void tile_copies_seen() {\n    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n}\n"},
    {"tile_group_begin",
     "void tile_group_begin() {\n    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n}\n"},
    {"tile_group_end",
     "void tile_group_end() {\n    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
     "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n}\n"},
    {"tile_group_sent",
     "void tile_group_sent() {\n    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n}\n"},
    {"tile_group_but_1",
     "void tile_group_but_1() {\n    asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");\n}\n"},
    // Groups of warps take turns: one waits for its turn, or hands it to the next. `threads` of both.
    {"tile_turn_await",
     "void tile_turn_await(const int turn, const int threads) {\n"
     "    asm volatile(\"bar.sync %0, %1;\" :: \"r\"(turn), \"r\"(threads) : \"memory\");\n}\n"},
    {"tile_turn_over",
     "void tile_turn_over(const int turn, const int threads) {\n"
     "    asm volatile(\"bar.arrive %0, %1;\" :: \"r\"(turn), \"r\"(threads) : \"memory\");\n}\n"},
    {"tile_group_done",
     "void tile_group_done() {\n    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n}\n"},
    {"tile_hold", "void tile_hold(float *c) {\n    asm volatile(\"\" : \"+f\"(*c) :: \"memory\");\n}\n"},
    {"tile_panels",
     "unsigned long long tile_panels(const unsigned at, const int panel) {\n"
     "    return (at & 0x3ffff) >> 4 | (unsigned long long)(panel >> 4) << 16 | 64ull << 32 | 1ull << 62;\n}\n"},
    {"tile_turn_quad",
     "void tile_turn_quad(unsigned *w, const int lane) {\n"
     "    const unsigned all = 0xffffffffu;\n"
     "    const bool odd = lane & 1, upper = lane & 2;\n"
     "    const unsigned a = __shfl_xor_sync(all, odd ? w[0] : w[1], 1), b = __shfl_xor_sync(all, odd ? w[2] : w[3], 1);\n"
     "    w[0] = odd ? a : w[0], w[1] = odd ? w[1] : a, w[2] = odd ? b : w[2], w[3] = odd ? w[3] : b;\n"
     "    const unsigned c = __shfl_xor_sync(all, upper ? w[0] : w[2], 2), d = __shfl_xor_sync(all, upper ? w[1] : w[3], 2);\n"
     "    w[0] = upper ? c : w[0], w[1] = upper ? d : w[1], w[2] = upper ? w[2] : c, w[3] = upper ? w[3] : d;\n}\n"},
    {"tile_store_quad",
     "void tile_store_quad(void *p, const unsigned *w) {\n    *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);\n}\n"},
    {"tile_address",
     "unsigned tile_address(const unsigned char *shared) {\n"
     "    unsigned at;\n"
     "    asm(\"{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }\" : \"=r\"(at) : \"l\"(shared));\n"
     "    return at;\n}\n"},
    {"tile_copy_16",
     "void tile_copy_16(const unsigned at, const void *from, const bool inside) {\n"
     "    const int bytes = inside ? 16 : 0;\n"
     "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" :: \"r\"(at), \"l\"(from), \"r\"(bytes) : "
     "\"memory\");\n}\n"},
    {"tile_copy_8", COPY("8")},
    {"tile_copy_4", COPY("4")},
    {"tile_copy_2",
     "void tile_copy_2(const unsigned at, const void *from, const bool inside) {\n"
     "    const unsigned short value = inside ? *(const unsigned short *)from : (unsigned short)0;\n"
     "    asm volatile(\"st.shared.u16 [%0], %1;\" :: \"r\"(at), \"h\"(value) : \"memory\");\n}\n"},
    {"tile_copies_end", "void tile_copies_end() {\n    asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n}\n"},
    AWAIT("0"), AWAIT("1"), AWAIT("2"), AWAIT("3"), AWAIT("4"), AWAIT("5"), AWAIT("6"),
    {"tile_copies_done", "void tile_copies_done() {\n    asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n}\n"},
    {"tile_matrices_4", MATRICES_4("tile_matrices_4", "")},
    {"tile_matrices_4_transposed", MATRICES_4("tile_matrices_4_transposed", ".trans")},
    {"tile_matrices_2", MATRICES_2("tile_matrices_2", "")},
    {"tile_matrices_2_transposed", MATRICES_2("tile_matrices_2_transposed", ".trans")},
    {"tile_mma_f16", MULTIPLY("f16")},
    {"tile_mma_bf16", MULTIPLY("bf16")},
    {"tile_mma_tf32",
     "void tile_mma_tf32(float *c, float *d, const unsigned *a, const unsigned *b) {\n"
     "    asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
     "{%0, %1, %2, %3};\"\n"
     "        : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(d[0]), \"+f\"(d[1])\n"
     "        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n}\n"},
    {"tile_round_tf32",
     "unsigned tile_round_tf32(const float f) {\n"
     "    unsigned rounded;\n"
     "    asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(rounded) : \"f\"(f));\n"
     "    return rounded;\n}\n"},
    {"tile_word",
     "float tile_word(const unsigned at) {\n"
     "    float word;\n"
     "    asm volatile(\"ld.shared.f32 %0, [%1];\" : \"=f\"(word) : \"r\"(at) : \"memory\");\n"
     "    return word;\n}\n"},
    {"tile_pack_f16", PACK("f16")},
    {"tile_pack_bf16", PACK("bf16")},
};

// ---------------------------------------------------------------------------------------------- groups of warps

// wgmma of 64 rows, `columns` columns and a depth of 16. The sum's elements, by column eights: two of a row, and two of the
// row eight below; `h` and `j` are the distances to that and to the next eight. Rows are in registers, or in a tile.
// fresh: with `more` 0 the elements are what the product is, without it they grow by it.
static const char *group_text(struct emitter *emitter, const char *name, const char *type, int columns, bool registers,
                              bool transposed) {
    struct text text = {0};
    int count = columns / 2, a = count, b = a + (registers ? 4 : 1);
    bool fresh = strstr(name, "fresh") != NULL;
    text_printf(&text, "void %s(float *c, const int h, const int j, const unsigned %s, const unsigned b, const int panel%s) {\n",
                name, registers ? "*a" : "a", fresh ? ", const int more" : "");
    text_printf(&text, "    asm volatile(\"{ .reg .pred p; setp.%s, 0; wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {",
                fresh ? print(emitter, "ne.b32 p, %%%d", b + 1) : "eq.u32 p, 0", columns, type, type);
    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%%%d", i == 0 ? "" : i % 16 ? ", " : ",\"\n                 \" ", i);
    if (registers)
        text_printf(&text, "}, {%%%d, %%%d, %%%d, %%%d}, %%%d, p, 1, 1, %d; }\"\n", a, a + 1, a + 2, a + 3, b, transposed);
    else
        text_printf(&text, "}, %%%d, %%%d, p, 1, 1, 0, %d; }\"\n", a, b, transposed);
    for (int i = 0; i < columns / 8; i++)
        text_printf(&text, "                 %s \"+f\"(c[%d * j]), \"+f\"(c[%d * j + 1]), \"+f\"(c[h + %d * j]), \"+f\"(c[h + %d * j + 1])%s\n",
                    i ? " " : ":", i, i, i, i, i + 1 < columns / 8 ? "," : "");
    text_add(&text, registers ? "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), "
                              : "                 : \"l\"(tile_panels(a, 16)), ");
    text_printf(&text, "\"l\"(tile_panels(b, panel))%s : \"memory\");\n}\n", fresh ? ", \"r\"(more)" : "");
    const char *copy = arena_copy(emitter->arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static const char *group_helper(struct emitter *emitter, const char *name) {
    char type[8], kind[32];
    int columns;
    if (sscanf(name, "tile_group_%7[a-z0-9]_%d_%31s", type, &columns, kind) != 3)
        return NULL;
    helper(emitter, "tile_panels");
    return group_text(emitter, name, type, columns, !strncmp(kind, "registers", 9), strstr(kind, "transposed") != NULL);
}

const char *matmul_helper(struct emitter *emitter, const char *name) {
    for (size_t i = 0; emitter->cuda && i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, name))
            return texts[i].text;
    const char *producing = emitter->cuda ? producer_helper(emitter, name) : NULL;
    return producing || !emitter->cuda ? producing : group_helper(emitter, name);
}
