// segment_max from 13_segment_max_argmax.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> top: f32[B, M], at: i64[B, M]
// T = f32, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   tk: block 32 = vector 1 x lanes 1 x warps 1 x registers 32
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

const char *tile_failure;  // what an assert said

static inline long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static inline float tile_maxf(float a, float b) {
    return a > b || a != a ? a : b;
}

static inline void tile_argmax_f32(float *best, long long *at, float v, long long i) {
    if (i < 0 || (*at >= 0 && !(v > *best || (v != v && *best == *best)) && !((v == *best || (v != v && *best != *best)) && i < *at))) return;
    *best = v;
    *at = i;
}

static void segment_max_block(const long long block, const float *restrict x, const long long *restrict offsets, float *restrict top, long long *restrict at, int nnz, int M, int B) {
    const int i = B + 1;
    const int tm_tiles = (M + 31) / 32;
    const int tm0 = (int)(block % tm_tiles) * 32;
    const int tb = (int)(block / tm_tiles);
    // 4: for tb in tile(B) {
    // 5: let start = offsets[tb];
    const bool inside = tb >= 0;
    if (!(inside && tb < i)) {
        tile_failure = "13_segment_max_argmax.tile:5: a load from offsets outside the tensor";
        return;
    }
    const long long start = offsets[tb];
    // 6: for tm in tile(M) {
    // 7: var best: T[tb, tm] = -inf;
    // 8: var pick: i64[tb, tm] = -1;
    // 9: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 10: let v = x[start + tk, tm];
    bool inside_2[32];
    float best[32];
    bool inside_3[32];
    bool inside_4[32];
    long long pick_i64[32];
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        inside_2[tm_i] = tm0 + tm_i < M;
        best[tm_i] = (-__builtin_inff());
        inside_3[tm_i] = tm0 + tm_i >= 0 && inside_2[tm_i];
        inside_4[tm_i] = !inside_2[tm_i];
        pick_i64[tm_i] = (long long)(-1);
    }
    const int i_2 = tb + 1;
    if (!(i_2 >= 0 && i_2 < i)) {
        tile_failure = "13_segment_max_argmax.tile:9: a load from offsets outside the tensor";
        return;
    }
    const int i_3 = (int)tile_clampi_i64(offsets[i_2] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i_3 - i_3 % 32;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
        long long pick[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick[tm_i] = tile_clampi_i64(pick_i64[tm_i], -2146435071LL, 2146435071LL);
        }
        long long i_4[32];
        for (int tk_i = 0; tk_i < 32; ++tk_i) {
            i_4[tk_i] = tile_clampi_i64(start + (long long)(tk0 + tk_i), -2146435071LL, 2146435071LL);
        }
        // 11: let m = max[tk](v);
        float v[32][32];
        float m[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            m[tm_i] = (-__builtin_inff());
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                if (!(inside_4[tm_i] || ((int)i_4[tk_i] >= 0 && (int)i_4[tk_i] < nnz && inside_3[tm_i]))) {
                    tile_failure = "13_segment_max_argmax.tile:10: a load from x outside the tensor";
                    return;
                }
                v[tm_i][tk_i] = inside_2[tm_i] ? x[(int)(start + (long long)(tk0 + tk_i)) * M + (tm0 + tm_i)] : 0.0f;
                m[tm_i] = tile_maxf(m[tm_i], inside_2[tm_i] ? v[tm_i][tk_i] : (-__builtin_inff()));
            }
        }
        // 12: if m > best || pick < 0 {                // a row of -inf still has a first element
        // 13: best = m;
        bool inside_5[32];
        float best_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            inside_5[tm_i] = m[tm_i] > best[tm_i];
            best_2[tm_i] = inside_5[tm_i] || (int)pick[tm_i] < 0 ? m[tm_i] : best[tm_i];
        }
        // 14: pick = argmax[tk](v);
        float i_5_value[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_5_value[tm_i] = 0.0f;
        }
        long long i_5[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_5[tm_i] = -1;
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                if (inside_2[tm_i] && (inside_5[tm_i] || (int)pick[tm_i] < 0)) tile_argmax_f32(&i_5_value[tm_i], &i_5[tm_i], v[tm_i][tk_i], (long long)(tk0 + tk_i));
            }
        }
        long long pick_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_2[tm_i] = inside_5[tm_i] || (int)pick[tm_i] < 0 ? i_5[tm_i] : pick_i64[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            best[tm_i] = best_2[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_i64[tm_i] = pick_2[tm_i];
        }
    }
    if (tk_full < i_3) {
        const int tk0_2 = tk_full;
        long long pick_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_3[tm_i] = tile_clampi_i64(pick_i64[tm_i], -2146435071LL, 2146435071LL);
        }
        long long i_6[32];
        for (int tk_i = 0; tk_i < 32; ++tk_i) {
            i_6[tk_i] = tile_clampi_i64(start + (long long)(tk0_2 + tk_i), -2146435071LL, 2146435071LL);
        }
        float v_2[32][32];
        float m_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            m_2[tm_i] = (-__builtin_inff());
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                if (!(!(inside_2[tm_i] && tk0_2 + tk_i < i_3) || ((int)i_6[tk_i] >= 0 && (int)i_6[tk_i] < nnz && inside_3[tm_i]))) {
                    tile_failure = "13_segment_max_argmax.tile:10: a load from x outside the tensor";
                    return;
                }
                v_2[tm_i][tk_i] = inside_2[tm_i] && tk0_2 + tk_i < i_3 ? x[(int)(start + (long long)(tk0_2 + tk_i)) * M + (tm0 + tm_i)] : 0.0f;
                m_2[tm_i] = tile_maxf(m_2[tm_i], inside_2[tm_i] && tk0_2 + tk_i < i_3 ? v_2[tm_i][tk_i] : (-__builtin_inff()));
            }
        }
        bool inside_6[32];
        float best_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            inside_6[tm_i] = m_2[tm_i] > best[tm_i];
            best_3[tm_i] = inside_6[tm_i] || (int)pick_3[tm_i] < 0 ? m_2[tm_i] : best[tm_i];
        }
        float i_7_value[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_7_value[tm_i] = 0.0f;
        }
        long long i_7[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_7[tm_i] = -1;
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 32; ++tk_i) {
                if (inside_2[tm_i] && tk0_2 + tk_i < i_3 && (inside_6[tm_i] || (int)pick_3[tm_i] < 0)) tile_argmax_f32(&i_7_value[tm_i], &i_7[tm_i], v_2[tm_i][tk_i], (long long)(tk0_2 + tk_i));
            }
        }
        long long pick_4[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_4[tm_i] = inside_6[tm_i] || (int)pick_3[tm_i] < 0 ? i_7[tm_i] : pick_i64[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            best[tm_i] = best_3[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_i64[tm_i] = pick_4[tm_i];
        }
    }
    // 17: top[tb, tm] = best;
    const bool inside_7 = inside && tb < B;
    // 18: at[tb, tm] = pick;
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        if (!(inside_4[tm_i] || (inside_7 && inside_3[tm_i]))) {
            tile_failure = "13_segment_max_argmax.tile:17: a store to top outside the tensor";
            return;
        }
        if (inside_2[tm_i]) top[tb * M + (tm0 + tm_i)] = best[tm_i];
        if (!(inside_4[tm_i] || (inside_7 && inside_3[tm_i]))) {
            tile_failure = "13_segment_max_argmax.tile:18: a store to at outside the tensor";
            return;
        }
        if (inside_2[tm_i]) at[tb * M + (tm0 + tm_i)] = pick_i64[tm_i];
    }
}

void segment_max_run(long long blocks, void **arguments) {
    const float * x = *(const float *const *)arguments[0];
    const long long * offsets = *(const long long *const *)arguments[1];
    float * top = *(float *const *)arguments[2];
    long long * at = *(long long *const *)arguments[3];
    int nnz = *(const int *)arguments[4];
    int M = *(const int *)arguments[5];
    int B = *(const int *)arguments[6];
    #pragma omp parallel for schedule(dynamic)
    for (long long block = 0; block < blocks; ++block) segment_max_block(block, x, offsets, top, at, nnz, M, B);
}
