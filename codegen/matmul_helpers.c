// SPDX-License-Identifier: Apache-2.0
// The helpers of products on the matrix units: where a cell of a tile lies, copies into tiles, fragments, instructions.
//
// Each instruction is alone in its function, so that a host that executes the text can put its own in their place.
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
    {"tile_pack_f16", PACK("f16")},
    {"tile_pack_bf16", PACK("bf16")},
};

const char *matmul_helper(struct emitter *emitter, const char *name) {
    for (size_t i = 0; emitter->cuda && i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, name))
            return texts[i].text;
    return NULL;
}
