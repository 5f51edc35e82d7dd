// segment_max from 13_segment_max_argmax.tile, compiled by tilec 0.1.0
// T = f32, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   tk: block 128 = vector 1 x lanes 1 x warps 16 x registers 8
//   grid tm, tb; strategy rows; peel true; late true; min_blocks 0

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

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

static void segment_max_block(const long long block, const float *restrict x, const long long *restrict offsets, float *restrict top, long long *restrict at, int M) {
    const int tm_tiles = (M + 31) / 32;
    const int tm0 = (int)(block % tm_tiles) * 32;
    const int tb = (int)(block / tm_tiles);
    // 4: for tb in tile(B) {
    // 5: let start = offsets[tb];
    const long long start = offsets[tb];
    // 6: for tm in tile(M) {
    // 7: var best: T[tb, tm] = -inf;
    // 8: var pick: i64[tb, tm] = -1;
    // 9: for tk in jagged_tile(offsets[tb + 1] - start) {
    bool inside[32];
    float best[32];
    long long pick[32];
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        inside[tm_i] = tm0 + tm_i < M;
        best[tm_i] = (-__builtin_inff());
        pick[tm_i] = (long long)(-1);
    }
    // 10: let v = x[start + tk, tm];
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i - i % 128;
    const int start_2 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 128) {
        long long pick_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_2[tm_i] = tile_clampi_i64(pick[tm_i], -2146435071LL, 2146435071LL);
        }
        // 11: let m = max[tk](v);
        float v[32][128];
        float m[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            m[tm_i] = (-__builtin_inff());
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 128; ++tk_i) {
                v[tm_i][tk_i] = inside[tm_i] ? x[(start_2 + (tk0 + tk_i)) * M + (tm0 + tm_i)] : 0.0f;
                m[tm_i] = tile_maxf(m[tm_i], inside[tm_i] ? v[tm_i][tk_i] : (-__builtin_inff()));
            }
        }
        // 12: if m > best || pick < 0 {                // a row of -inf still has a first element
        // 13: best = m;
        bool inside_2[32];
        float best_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            inside_2[tm_i] = m[tm_i] > best[tm_i];
            best_2[tm_i] = inside_2[tm_i] || (int)pick_2[tm_i] < 0 ? m[tm_i] : best[tm_i];
        }
        // 14: pick = argmax[tk](v);
        float i_2_value[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_2_value[tm_i] = 0.0f;
        }
        long long i_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_2[tm_i] = -1;
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 128; ++tk_i) {
                if (inside[tm_i] && (inside_2[tm_i] || (int)pick_2[tm_i] < 0)) tile_argmax_f32(&i_2_value[tm_i], &i_2[tm_i], v[tm_i][tk_i], (long long)(tk0 + tk_i));
            }
        }
        long long pick_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_3[tm_i] = inside_2[tm_i] || (int)pick_2[tm_i] < 0 ? i_2[tm_i] : pick[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            best[tm_i] = best_2[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick[tm_i] = pick_3[tm_i];
        }
    }
    if (tk_full < i) {
        const int tk0_2 = tk_full;
        long long pick_4[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_4[tm_i] = tile_clampi_i64(pick[tm_i], -2146435071LL, 2146435071LL);
        }
        float v_2[32][128];
        float m_2[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            m_2[tm_i] = (-__builtin_inff());
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 128; ++tk_i) {
                v_2[tm_i][tk_i] = inside[tm_i] && tk0_2 + tk_i < i ? x[(start_2 + (tk0_2 + tk_i)) * M + (tm0 + tm_i)] : 0.0f;
                m_2[tm_i] = tile_maxf(m_2[tm_i], inside[tm_i] && tk0_2 + tk_i < i ? v_2[tm_i][tk_i] : (-__builtin_inff()));
            }
        }
        bool inside_3[32];
        float best_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            inside_3[tm_i] = m_2[tm_i] > best[tm_i];
            best_3[tm_i] = inside_3[tm_i] || (int)pick_4[tm_i] < 0 ? m_2[tm_i] : best[tm_i];
        }
        float i_3_value[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_3_value[tm_i] = 0.0f;
        }
        long long i_3[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            i_3[tm_i] = -1;
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            for (int tk_i = 0; tk_i < 128; ++tk_i) {
                if (inside[tm_i] && tk0_2 + tk_i < i && (inside_3[tm_i] || (int)pick_4[tm_i] < 0)) tile_argmax_f32(&i_3_value[tm_i], &i_3[tm_i], v_2[tm_i][tk_i], (long long)(tk0_2 + tk_i));
            }
        }
        long long pick_5[32];
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick_5[tm_i] = inside_3[tm_i] || (int)pick_4[tm_i] < 0 ? i_3[tm_i] : pick[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            best[tm_i] = best_3[tm_i];
        }
        for (int tm_i = 0; tm_i < 32; ++tm_i) {
            pick[tm_i] = pick_5[tm_i];
        }
    }
    // 17: top[tb, tm] = best;
    // 18: at[tb, tm] = pick;
    for (int tm_i = 0; tm_i < 32; ++tm_i) {
        if (inside[tm_i]) top[tb * M + (tm0 + tm_i)] = best[tm_i];
        if (inside[tm_i]) at[tb * M + (tm0 + tm_i)] = pick[tm_i];
    }
}

void segment_max_run(long long blocks, void **arguments) {
    const float * x = *(const float *const *)arguments[0];
    const long long * offsets = *(const long long *const *)arguments[1];
    float * top = *(float *const *)arguments[2];
    long long * at = *(long long *const *)arguments[3];
    int M = *(const int *)arguments[4];
    #pragma omp parallel for schedule(dynamic)
    for (long long block = 0; block < blocks; ++block) segment_max_block(block, x, offsets, top, at, M);
}
