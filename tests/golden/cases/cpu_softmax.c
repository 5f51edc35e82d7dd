// jagged_softmax from jagged_softmax.tile, compiled by tilec 0.1.0
// (x: f16[nnz, M], offsets: i64[B + 1]) -> out: f16[nnz, M]
// T = f16, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   tk: block 32 = vector 1 x lanes 1 x warps 1 x registers 32
//   grid tm, tb; strategy rows; peel true; late true; stream true; min_blocks 0

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static inline long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static inline float tile_from_bits(unsigned u) {
    union { unsigned u; float f; } bits = {u};
    return bits.f;
}

static inline float tile_f16_load(unsigned short h) {
    const unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
    if (exponent == 0) {
        const float value = (float)mantissa * 5.9604644775390625e-8f;
        return sign ? -value : value;
    }
    return tile_from_bits(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}

static inline float tile_maxf(float a, float b) {
    return a > b || a != a ? a : b;
}

static inline unsigned tile_to_bits(float f) {
    union { float f; unsigned u; } bits = {f};
    return bits.u;
}

static inline unsigned short tile_f16_store(float f) {
    const unsigned bits = tile_to_bits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00);
    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00);
    if (rest < 0x38800000u) {
        const float scaled = tile_from_bits(rest) + 0.5f;
        return (unsigned short)(sign | (tile_to_bits(scaled) - 0x3f000000u));
    }
    return (unsigned short)(sign | ((rest + 0xfff + (rest >> 13 & 1)) - 0x38000000u) >> 13);
}

static void jagged_softmax_block(const long long block, const unsigned short *restrict x, const long long *restrict offsets, unsigned short *restrict out, int M) {
    const int tm_tiles = (M + 31) / 32;
    const int tm0 = (int)(block % tm_tiles) * 32;
    const int tb = (int)(block / tm_tiles);
    // 13: for tb in tile(B) {
    // 14: let start = offsets[tb];
    // 15: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    // 16: for tm in tile(M) {
    // 17: var highest: accum(T)[tb, tm] = -inf;
    // 18: var total: accum(T)[tb, tm] = 0;         // of exp(v - highest), over the tiles so far
    bool inside[32];
    float highest[32];
    float total[32];
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        inside[tm_i] = tm0 + tm_i < M;
        highest[tm_i] = (-__builtin_inff());
        total[tm_i] = 0.0f;
    }
    // 19: for tk in jagged_tile(length) {
    // 20: let v = x[start + tk, tm];
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 32;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
        // 21: let top = max(highest, max[tk](v));
        float v_f32[32][32];
        float v[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            v[tm_i] = (-__builtin_inff());
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                v_f32[tm_i][tk_i] = (inside[tm_i] ? tile_f16_load(x[(start_i32 + (tk0 + tk_i)) * M + (tm0 + tm_i)]) : 0.0f);
                v[tm_i] = tile_maxf(v[tm_i], inside[tm_i] ? v_f32[tm_i][tk_i] : (-__builtin_inff()));
            }
        }
        // 22: let base = top == -inf ? 0 : top;    // so that a tile of nothing but -inf adds 0, not NaN
        // 23: total = total * exp(highest - base) + sum[tk](exp(v - base));
        float top[32];
        float base[32];
        float v_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            top[tm_i] = tile_maxf(highest[tm_i], v[tm_i]);
            base[tm_i] = top[tm_i] == (-__builtin_inff()) ? 0.0f : top[tm_i];
            v_2[tm_i] = total[tm_i] * expf(highest[tm_i] - base[tm_i]);
        }
        float v_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            v_3[tm_i] = 0.0f;
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                v_3[tm_i] += inside[tm_i] ? expf(v_f32[tm_i][tk_i] - base[tm_i]) : 0.0f;
            }
        }
        float total_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            total_2[tm_i] = v_2[tm_i] + v_3[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            total[tm_i] = total_2[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            highest[tm_i] = top[tm_i];
        }
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        float v_f32_2[32][32];
        float v_4[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            v_4[tm_i] = (-__builtin_inff());
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                v_f32_2[tm_i][tk_i] = (inside[tm_i] && tk0_2 + tk_i < length_i32 ? tile_f16_load(x[(start_i32 + (tk0_2 + tk_i)) * M + (tm0 + tm_i)]) : 0.0f);
                v_4[tm_i] = tile_maxf(v_4[tm_i], inside[tm_i] && tk0_2 + tk_i < length_i32 ? v_f32_2[tm_i][tk_i] : (-__builtin_inff()));
            }
        }
        float top_2[32];
        float base_2[32];
        float v_5[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            top_2[tm_i] = tile_maxf(highest[tm_i], v_4[tm_i]);
            base_2[tm_i] = top_2[tm_i] == (-__builtin_inff()) ? 0.0f : top_2[tm_i];
            v_5[tm_i] = total[tm_i] * expf(highest[tm_i] - base_2[tm_i]);
        }
        float v_6[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            v_6[tm_i] = 0.0f;
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                v_6[tm_i] += inside[tm_i] && tk0_2 + tk_i < length_i32 ? expf(v_f32_2[tm_i][tk_i] - base_2[tm_i]) : 0.0f;
            }
        }
        float total_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            total_3[tm_i] = v_5[tm_i] + v_6[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            total[tm_i] = total_3[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            highest[tm_i] = top_2[tm_i];
        }
    }
    // 24: highest = top;
    // 26: for tk in jagged_tile(length) {
    for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 32) {
        // 27: out[start + tk, tm] = exp(x[start + tk, tm] - highest) / total;
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                if (inside[tm_i]) out[(start_i32 + (tk0_3 + tk_i)) * M + (tm0 + tm_i)] = tile_f16_store(expf((inside[tm_i] ? tile_f16_load(x[(start_i32 + (tk0_3 + tk_i)) * M + (tm0 + tm_i)]) : 0.0f) - highest[tm_i]) / total[tm_i]);
            }
        }
    }
    if (tk_full < length_i32) {
        const int tk0_4 = tk_full;
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                if (inside[tm_i] && tk0_4 + tk_i < length_i32) out[(start_i32 + (tk0_4 + tk_i)) * M + (tm0 + tm_i)] = tile_f16_store(expf((inside[tm_i] && tk0_4 + tk_i < length_i32 ? tile_f16_load(x[(start_i32 + (tk0_4 + tk_i)) * M + (tm0 + tm_i)]) : 0.0f) - highest[tm_i]) / total[tm_i]);
            }
        }
    }
}

void jagged_softmax_run(long long blocks, void **arguments) {
    const unsigned short * x = *(const unsigned short *const *)arguments[0];
    const long long * offsets = *(const long long *const *)arguments[1];
    unsigned short * out = *(unsigned short *const *)arguments[2];
    int M = *(const int *)arguments[3];
    #pragma omp parallel for schedule(dynamic)
    for (long long block = 0; block < blocks; ++block) jagged_softmax_block(block, x, offsets, out, M);
}
