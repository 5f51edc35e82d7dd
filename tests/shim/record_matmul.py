#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Vectors of the matrix helpers from a GPU, and the shim's case that compares them bit for bit.
#
#   tests/shim/record_matmul.py program GOLDEN CASES > record.cu    a program that runs the helpers on the device:
#   nvcc -arch=sm_90a record.cu -o record && ./record > words.txt   a line of words for each case
#   tests/shim/record_matmul.py case GOLDEN < words.txt > tests/shim/cases/ok_matmul_recorded.cu
#
# With `groups` behind GOLDEN the same for products by groups of four warps: a check sum of each thread's elements.
#
# GOLDEN is tests/golden/cases, where the helpers' texts are taken from. What goes in is made by the kernel itself, from
# the case's number: every fourth case has products of one size, of many sizes, nearly cancelling ones, special values.
import re
import sys
from pathlib import Path

HELPERS = ["tile_address", "tile_mma_bf16", "tile_mma_f16", "tile_matrices_4", "tile_matrices_4_transposed",
           "tile_matrices_2", "tile_matrices_2_transposed", "tile_pack_bf16", "tile_pack_f16"]
WORDS = 22  # of each lane
GROUPS = ["bf16_64_tile", "bf16_64_tile_transposed", "bf16_64_registers_transposed", "f16_64_tile",
          "f16_64_registers_transposed"]
GROUP_HELPERS = ["tile_address", "tile_panels", "tile_copies_seen", "tile_group_begin", "tile_group_end", "tile_hold",
                 *("tile_group_" + group for group in GROUPS)]

INPUTS = """
static __device__ unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
// A number whose exponent is within `spread` of that of 1, with `bits` bits of mantissa, at the top of a float.
static __device__ unsigned number(const unsigned seed, const int spread, const int bits) {
    const unsigned h = mixed(seed), exponent = 127 - spread + mixed(h) % (2 * spread + 1);
    return (h & 0x80000000u) | exponent << 23 | (h & 0x7fffffu) >> (23 - bits) << (23 - bits);
}
static __device__ unsigned special(const unsigned seed) {
    const unsigned h = mixed(seed);
    const unsigned table[8] = {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00010000u, 0x3f800000u, 0xc0400000u};
    return h % 16 ? number(h, 3, 7) : table[h >> 8 & 7];
}
static __device__ unsigned element(const int kind, const unsigned seed, const int bits) {
    if (kind == 3) return special(seed);
    return number(seed, kind == 0 ? 0 : kind == 1 ? 6 : 2, bits);
}
static __device__ unsigned short bf16_of(const unsigned u) { return (unsigned short)(u >> 16); }
// The element's own exponent and mantissa: no rounding, so that any host does the same.
static __device__ unsigned short f16_of(const unsigned u) {
    const unsigned sign = u >> 16 & 0x8000u, exponent = u >> 23 & 255u, mantissa = u >> 13 & 0x3ffu;
    if (exponent == 255) return (unsigned short)(sign | 0x7c00u | (mantissa ? 0x200u : 0u));
    return (unsigned short)(exponent <= 112 ? sign : sign | (exponent - 112) << 10 | mantissa);
}
static __device__ void run(const int n, const int lane, unsigned char *shared, unsigned *words) {
    const int kind = n % 4;
    unsigned a[2][4], b[2][2];
    float c[2][2], d[2][2];
    for (int i = 0; i < 8; ++i) {
        const unsigned seed = (unsigned)(((n * 32 + lane) * 16 + i) * 2 + 1);
        const unsigned low = element(kind, seed, 7), high = element(kind, seed + 0x1000000u, 7);
        const unsigned fine_low = element(kind, seed, 10), fine_high = element(kind, seed + 0x1000000u, 10);
        const unsigned wide = bf16_of(low) | (unsigned)bf16_of(high) << 16;
        const unsigned narrow = f16_of(fine_low) | (unsigned)f16_of(fine_high) << 16;
        if (i < 4) { a[0][i] = wide; a[1][i] = narrow; }
        else if (i < 6) { b[0][i - 4] = wide; b[1][i - 4] = narrow; }
    }
    for (int i = 0; i < 4; ++i) {
        const unsigned u = kind == 3 ? special(n * 977 + lane * 4 + i) : number(n * 977 + lane * 4 + i, kind == 0 ? 2 : 12, 23);
        float *at = i < 2 ? c[0] + i : d[0] + i - 2;
        *(unsigned *)at = u;
        *(i < 2 ? c[1] + i : d[1] + i - 2) = *at;
    }
    tile_mma_bf16(c[0], d[0], a[0], b[0]);
    tile_mma_f16(c[1], d[1], a[1], b[1]);
    for (int f = 0; f < 2; ++f)
        for (int i = 0; i < 2; ++i) {
            words[f * 4 + i] = *(unsigned *)&c[f][i];
            words[f * 4 + 2 + i] = *(unsigned *)&d[f][i];
        }
    for (int i = lane; i < 256; i += 32) ((unsigned *)shared)[i] = mixed((unsigned)(n * 256 + i));
    __syncthreads();
    const unsigned row = tile_address(shared) + (lane * 5 + n) % 32 * 32 + (lane + n) % 2 * 16;
    tile_matrices_4(words + 8, row);
    tile_matrices_4_transposed(words + 12, row);
    tile_matrices_2(words + 16, row);
    tile_matrices_2_transposed(words + 18, row);
    __syncthreads();
    const unsigned low = kind == 3 ? special(n * 64 + lane) : number(n * 64 + lane, 24, 23);
    const unsigned high = number(n * 64 + lane + 32, 24, lane % 2 ? 23 : 8);
    words[20] = tile_pack_bf16(*(const float *)&low, *(const float *)&high);
    words[21] = tile_pack_f16(*(const float *)&low, *(const float *)&high);
}
"""

# Tiles of 64 by 64, of which a product uses 16 of what is summed over: the second sixteen of a row, or rows 16 to 31.
GROUP_INPUTS = """
static __device__ unsigned short at(const unsigned char *tile, const int row, const int column) {
    return *(const unsigned short *)(tile + row * 128 + ((column / 8 ^ row % 8) * 16 + column % 8 * 2));
}
static __device__ void fill(unsigned char *tile, const int n, const int half) {
    const int kind = n % 3;
    for (int i = (int)threadIdx.x; i < 4096; i += 128) {
        const unsigned u = element(kind, (unsigned)((n * 2 + half) * 4096 + i), half == 2 ? 10 : 7);
        *(unsigned short *)(tile + i / 64 * 128 + ((i % 64 / 8 ^ i / 64 % 8) * 16 + i % 8 * 2)) = half == 2 ? f16_of(u) : bf16_of(u);
    }
}
static __device__ void product(const int which, const unsigned char *x, const unsigned char *w, float *c) {
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16 + lane / 4;
    const unsigned a = tile_address(x) + 32, b = tile_address(w) + 32, across = tile_address(w) + 2048;
    unsigned rows[4];
    for (int i = 0; i < 4; ++i) {
        const int r = row + i % 2 * 8, k = 16 + i / 2 * 8 + lane % 4 * 2;
        rows[i] = at(x, r, k) | (unsigned)at(x, r, k + 1) << 16;
    }
    for (int i = 0; i < 32; ++i) tile_hold(c + i);
    tile_group_begin();
    if (which == 0) tile_group_bf16_64_tile(c, 2, 4, a, b, 16);
    if (which == 1) tile_group_bf16_64_tile_transposed(c, 2, 4, a, across, 8192);
    if (which == 2) tile_group_bf16_64_registers_transposed(c, 2, 4, rows, across, 8192);
    if (which == 3) tile_group_f16_64_tile(c, 2, 4, a, b, 16);
    if (which == 4) tile_group_f16_64_registers_transposed(c, 2, 4, rows, across, 8192);
    tile_group_end();
    for (int i = 0; i < 32; ++i) tile_hold(c + i);
}
static __device__ float start(const int n, const int i) {
    const unsigned u = number((unsigned)(n * 4096 + (int)threadIdx.x * 32 + i), 4, 23);
    return *(const float *)&u;
}
static __device__ unsigned sum_of(const float *c) {
    unsigned sum = 0;
    for (int i = 0; i < 32; ++i) sum = mixed(sum + *(const unsigned *)&c[i]);
    return sum;
}
"""

GROUP_PROGRAM = """
#include <cstdio>
static __device__ float wide(const unsigned short u, const bool half) {
    float f;
    if (half) asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(u)); else f = __uint_as_float((unsigned)u << 16);
    return f;
}
extern "C" __global__ void record(unsigned *sums, float *errors) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const int n = (int)blockIdx.x, lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16 + lane / 4;
    for (int which = 0; which < GROUPS; ++which) {
        const bool half = which > 2, transposed = which != 0 && which != 3;
        __syncthreads();
        fill(shared, n, half ? 2 : 0);
        fill(shared + 8192, n + 100, half ? 2 : 0);
        tile_copies_seen();
        __syncthreads();
        float c[32], worst = 0;
        for (int i = 0; i < 32; ++i) c[i] = start(n, i);
        product(which, shared, shared + 8192, c);
        for (int i = 0; i < 32; ++i) {
            const int r = row + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            float wanted = start(n, i), size = 1;
            for (int k = 16; k < 32; ++k) {
                const float p = wide(at(shared, r, k), half) * wide(transposed ? at(shared + 8192, k, column) : at(shared + 8192, column, k), half);
                wanted += p; size += fabsf(p);
            }
            worst = fmaxf(worst, fabsf(wanted - c[i]) / size);
        }
        sums[(n * GROUPS + which) * 128 + threadIdx.x] = sum_of(c);
        errors[(n * GROUPS + which) * 128 + threadIdx.x] = worst;
    }
}
int main() {
    unsigned *sums; float *errors;
    if (cudaMallocManaged(&sums, CASES * GROUPS * 512) || cudaMallocManaged(&errors, CASES * GROUPS * 512)) return 1;
    record<<<CASES, 128, 16384>>>(sums, errors);
    if (cudaDeviceSynchronize()) { fprintf(stderr, "%s\\n", cudaGetErrorString(cudaGetLastError())); return 1; }
    for (int which = 0; which < GROUPS; ++which) {
        float worst = 0;
        for (int n = 0; n < CASES; ++n) for (int i = 0; i < 128; ++i) worst = fmaxf(worst, errors[(n * GROUPS + which) * 128 + i]);
        fprintf(stderr, "product %d: worst error %g\\n", which, worst);
    }
    for (int i = 0; i < CASES * GROUPS * 128; ++i) printf("%08x%c", sums[i], i % (GROUPS * 128) == GROUPS * 128 - 1 ? '\\n' : ' ');
    return 0;
}
"""

GROUP_CASE = """
extern "C" __global__ void test(float *out, const float *in, int n) {
    extern __shared__ __align__(1024) unsigned char shared[];
    bool good = n > 0 && in[0] == 0.0f;
    for (int which = 0; which < GROUPS; ++which) {
        __syncthreads();
        fill(shared, (int)blockIdx.x, which > 2 ? 2 : 0);
        fill(shared + 8192, (int)blockIdx.x + 100, which > 2 ? 2 : 0);
        tile_copies_seen();
        __syncthreads();
        float c[32];
        for (int i = 0; i < 32; ++i) c[i] = start((int)blockIdx.x, i);
        product(which, shared, shared + 8192, c);
        good = good && sum_of(c) == recorded[(blockIdx.x * GROUPS + which) * 128 + threadIdx.x];
    }
    out[blockIdx.x * 128 + threadIdx.x] = good ? 1.0f : 0.0f;
}
"""

PROGRAM = """
#include <cstdio>
extern "C" __global__ void record(unsigned *words) {
    __shared__ __align__(128) unsigned char shared[1024];
    run((int)blockIdx.x, (int)threadIdx.x, shared, words + (blockIdx.x * 32 + threadIdx.x) * WORDS);
}
int main() {
    unsigned *words;
    if (cudaMallocManaged(&words, CASES * 32 * WORDS * sizeof *words)) return 1;
    record<<<CASES, 32>>>(words);
    if (cudaDeviceSynchronize()) return 1;
    for (int i = 0; i < CASES * 32 * WORDS; ++i) printf("%08x%c", words[i], i % (32 * WORDS) == 32 * WORDS - 1 ? '\\n' : ' ');
    return 0;
}
"""

CASE = """
static __device__ bool is_nan(const unsigned u) { return (u & 0x7fffffffu) > 0x7f800000u; }
// Of NaNs it is only said that they are: a host's has other bits.
static __device__ bool same(const unsigned word, const unsigned wanted, const bool number) {
    return word == wanted || (number && is_nan(word) && is_nan(wanted));
}
extern "C" __global__ void test(float *out, const float *in, int n) {
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned words[WORDS];
    bool good = n > 0 && in[0] == 0.0f;
    run((int)blockIdx.x, (int)threadIdx.x, shared, words);
    for (int i = 0; i < WORDS; ++i)
        good = good && same(words[i], recorded[(blockIdx.x * 32 + threadIdx.x) * WORDS + i], i < 8);
    out[blockIdx.x * 32 + threadIdx.x] = good ? 1.0f : 0.0f;
}
"""


def helper_texts(golden, names):
    found = {}
    for file in sorted(Path(golden).glob("*.cu")):
        for text in re.findall(r"^static __device__ __forceinline__ .*?^}\n", file.read_text(), re.M | re.S):
            found.setdefault(re.search(r"(\w+)\(", text.split("__forceinline__", 1)[1]).group(1), text)
    missing = [name for name in names if name not in found]
    if missing:
        sys.exit(f"no golden case has {', '.join(missing)}")
    return "\n".join(found[name] for name in names)


def table(lines):
    words = [word for line in lines for word in line.split()]
    rows = [", ".join("0x" + word.lstrip("0").rjust(1, "0") for word in words[i:i + 8]) for i in range(0, len(words), 8)]
    return "static __device__ const unsigned recorded[] = {\n    " + ",\n    ".join(rows) + "};\n"


def main():
    licence = "// SPDX-License-Identifier: Apache-2.0\n"
    groups = "groups" in sys.argv
    texts = helper_texts(sys.argv[2], GROUP_HELPERS if groups else HELPERS)
    inputs = INPUTS[:INPUTS.index("static __device__ void run")] + GROUP_INPUTS if groups else INPUTS
    enum = f"GROUPS = {len(GROUPS)}" if groups else f"WORDS = {WORDS}"
    if sys.argv[1] == "program":
        print(licence + texts + f"\nenum {{ {enum}, CASES = {sys.argv[-1]} }};" + inputs + (GROUP_PROGRAM if groups else PROGRAM), end="")
        return
    lines = [line for line in sys.stdin.read().splitlines() if line]
    what = "products by groups of warps" if groups else "the matrix helpers"
    head = f"// What an H200 makes of {what}, bit for bit: written by tests/shim/record_matmul.py.\n"
    threads, dynamic, steps = (128, 16384, 40000000) if groups else (32, 1024, 1000000)
    launch = f"// LAUNCH blocks={len(lines)} threads={threads} dynamic={dynamic} steps={steps}\n"
    print(licence + head + launch + texts + f"\nenum {{ {enum} }};" + inputs + table(lines) + (GROUP_CASE if groups else CASE), end="")


if __name__ == "__main__":
    main()
