// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> out: f32[B, M]
// T = f32, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   tk: block 32 = vector 1 x lanes 1 x warps 1 x registers 32
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static inline long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static void jagged_sum_block(const long long block, const float *restrict x, const long long *restrict offsets, float *restrict out, int M) {
    const int tm_tiles = (M + 31) / 32;
    const int tm0 = (int)(block % tm_tiles) * 32;
    const int tb = (int)(block / tm_tiles);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    // 17: for tm in tile(M) {
    // 18: var acc: accum(T)[tb, tm] = 0;
    bool inside[32];
    float acc[32];
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        inside[tm_i] = tm0 + tm_i < M;
        acc[tm_i] = 0.0f;
    }
    // 19: for tk in jagged_tile(length) {
    // 20: acc += sum[tk](x[start + tk, tm]);
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 32;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                acc[tm_i] += inside[tm_i] ? x[(start_i32 + (tk0 + tk_i)) * M + (tm0 + tm_i)] : 0.0f;
            }
        }
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                acc[tm_i] += inside[tm_i] && tk0_2 + tk_i < length_i32 ? x[(start_i32 + (tk0_2 + tk_i)) * M + (tm0 + tm_i)] : 0.0f;
            }
        }
    }
    // 22: out[tb, tm] = acc;
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        if (inside[tm_i]) out[tb * M + (tm0 + tm_i)] = acc[tm_i];
    }
}

void jagged_sum_run(long long blocks, void **arguments) {
    const float * x = *(const float *const *)arguments[0];
    const long long * offsets = *(const long long *const *)arguments[1];
    float * out = *(float *const *)arguments[2];
    int M = *(const int *)arguments[3];
    #pragma omp parallel for schedule(dynamic)
    for (long long block = 0; block < blocks; ++block) jagged_sum_block(block, x, offsets, out, M);
}
