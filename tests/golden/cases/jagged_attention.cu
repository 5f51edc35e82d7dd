// jagged_attention from jagged_attention.tile, compiled by tilec 0.1.0
// (q: f16[N, H, D], k: f16[N, H, D], v: f16[N, H, E], offsets: i64[B + 1], scale: f32) -> out: f16[N, H, E], lse: f32[N, H]
// T = f16, I = i64, D = 32, E = 32; 32-bit indices
//   d: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   e: block 32 = vector 1 x lanes 1 x warps 1 x registers 32
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   th: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tq: block 4 = vector 1 x lanes 1 x warps 4 x registers 1
//   tk: block 4 = vector 1 x lanes 1 x warps 1 x registers 4
//   grid th, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ long long tile_mini_i64(long long a, long long b) {
    return a < b ? a : b;
}

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ float tile_maxf(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float tile_f16_round(float f) {
    return tile_f16_load(tile_f16_store(f));
}

// launch: H * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_attention(const unsigned short *__restrict__ q, const unsigned short *__restrict__ k, const unsigned short *__restrict__ v, const long long *__restrict__ offsets, unsigned short *__restrict__ out, float *__restrict__ lse, float scale, int H) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int d_t = lane;
    const int tq_t = warp;
    const int th = (int)(blockIdx.x % H);
    const int tb = (int)(blockIdx.x / H);
    // 18: axis d = D;
    // 19: axis e = E;
    // 20: for (tb, th) in tile(B, H) {
    // 21: let start = offsets[tb];
    // 22: let length = offsets[tb + 1] - start;
    // 23: for tq in jagged_tile(length) {
    // 24: let query = q[start + tq, th, d];
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int start_i32 = (int)start;
    for (int tq0 = 0; tq0 < length_i32; tq0 += 4) {
        const int tq = tq0 + tq_t;
        // 25: var highest: accum(T)[tb, th, tq] = -inf;
        // 26: var total: accum(T)[tb, th, tq] = 0;
        // 27: var acc: accum(T)[tb, th, tq, e] = 0;
        // 28: for tk in jagged_tile(tq.end) {
        // 29: let similarity = dot[d](query, k[start + tk, th, d]) * scale;
        const bool inside = tq < length_i32;
        const int i = start_i32 + tq;
        float highest = __int_as_float((int)0xff800000);
        float total = 0.0f;
        const int i_2 = (int)tile_clampi_i64(tile_mini_i64((long long)(tq0 + 4), length), -2146435071LL, 2146435071LL);
        const int tk_full = i_2 - i_2 % 4;
        const float query_f32 = (inside ? tile_f16_load(q[(i * H + th) * 32 + d_t]) : 0.0f);
        float acc[32];
        #pragma unroll
        for (int e_i = 0; e_i < 32; ++e_i) {
            acc[e_i] = 0.0f;
        }
        for (int tk0 = 0; tk0 < tk_full; tk0 += 4) {
            float v_2[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                const float v_8 = query_f32 * tile_f16_load(k[((start_i32 + (tk0 + tk_i)) * H + th) * 32 + d_t]);
                v_2[tk_i] = inside ? v_8 : 0.0f;
            }
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                v_2[tk_i] = tile_sum_lanes_f32(v_2[tk_i], 32, 1);
            }
            // 30: let score = tk <= tq ? similarity : -inf;
            // 31: let top = max(highest, max[tk](score));
            float score[4];
            float v_3 = __int_as_float((int)0xff800000);
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                const float similarity = v_2[tk_i] * scale;
                score[tk_i] = tk0 + tk_i <= tq ? similarity : __int_as_float((int)0xff800000);
                v_3 = tile_maxf(v_3, inside ? score[tk_i] : __int_as_float((int)0xff800000));
            }
            // 32: let base = top == -inf ? 0 : top;        // so that a tile of later keys adds 0, not NaN
            // 33: let weight = exp(score - base);
            // 34: let rescale = exp(highest - base);
            // 35: total = total * rescale + sum[tk](weight);
            const float top = tile_maxf(highest, v_3);
            const float base = top == __int_as_float((int)0xff800000) ? 0.0f : top;
            const float rescale = expf(highest - base);
            const float v_4 = total * rescale;
            // 36: acc = acc * rescale + dot[tk](T(weight), v[start + tk, th, e]);
            float v_5 = 0.0f;
            float weight_2[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                const float weight = expf(score[tk_i] - base);
                v_5 += inside ? weight : 0.0f;
                weight_2[tk_i] = tile_f16_round(weight);
            }
            const float total_2 = v_4 + v_5;
            float v_6[32];
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                v_6[e_i] = acc[e_i] * rescale;
            }
            float v_7[32];
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                v_7[e_i] = 0.0f;
            }
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    const float v_9 = weight_2[tk_i] * tile_f16_load(v[((start_i32 + (tk0 + tk_i)) * H + th) * 32 + e_i]);
                    v_7[e_i] += inside ? v_9 : 0.0f;
                }
            }
            float acc_2[32];
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                acc_2[e_i] = v_6[e_i] + v_7[e_i];
            }
            total = total_2;
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                acc[e_i] = acc_2[e_i];
            }
            highest = top;
        }
        if (tk_full < i_2) {
            const int tk0_2 = tk_full;
            float v_10[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                v_10[tk_i] = tk0_2 + tk_i < i_2 ? tile_f16_load(k[((start_i32 + (tk0_2 + tk_i)) * H + th) * 32 + d_t]) : 0.0f;
            }
            float v_11[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                v_11[tk_i] = inside && tk0_2 + tk_i < i_2 ? query_f32 * v_10[tk_i] : 0.0f;
            }
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                v_11[tk_i] = tile_sum_lanes_f32(v_11[tk_i], 32, 1);
            }
            float score_2[4];
            float v_12 = __int_as_float((int)0xff800000);
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                const float similarity_2 = v_11[tk_i] * scale;
                score_2[tk_i] = tk0_2 + tk_i <= tq ? similarity_2 : __int_as_float((int)0xff800000);
                v_12 = tile_maxf(v_12, inside && tk0_2 + tk_i < i_2 ? score_2[tk_i] : __int_as_float((int)0xff800000));
            }
            const float top_2 = tile_maxf(highest, v_12);
            const float base_2 = top_2 == __int_as_float((int)0xff800000) ? 0.0f : top_2;
            const float rescale_2 = expf(highest - base_2);
            const float v_13 = total * rescale_2;
            float v_14 = 0.0f;
            float weight_4[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                const float weight_3 = expf(score_2[tk_i] - base_2);
                v_14 += inside && tk0_2 + tk_i < i_2 ? weight_3 : 0.0f;
                weight_4[tk_i] = tile_f16_round(weight_3);
            }
            const float total_3 = v_13 + v_14;
            float v_15[32];
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                v_15[e_i] = acc[e_i] * rescale_2;
            }
            float v_16[32];
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                v_16[e_i] = 0.0f;
            }
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    if (tk0_2 + tk_i >= i_2) break;
                    const float v_17 = weight_4[tk_i] * (tk0_2 + tk_i < i_2 ? tile_f16_load(v[((start_i32 + (tk0_2 + tk_i)) * H + th) * 32 + e_i]) : 0.0f);
                    v_16[e_i] += inside && tk0_2 + tk_i < i_2 ? v_17 : 0.0f;
                }
            }
            float acc_3[32];
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                acc_3[e_i] = v_15[e_i] + v_16[e_i];
            }
            total = total_3;
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                acc[e_i] = acc_3[e_i];
            }
            highest = top_2;
        }
        // 37: highest = top;
        // 39: out[start + tq, th, e] = acc / total;
        #pragma unroll
        for (int e_i = 0; e_i < 32; ++e_i) {
            if ((thread & 31) == 0 && inside) out[(i * H + th) * 32 + e_i] = tile_f16_store(acc[e_i] / total);
        }
        // 40: lse[start + tq, th] = highest + log(total);
        if ((thread & 31) == 0 && inside) lse[i * H + th] = highest + logf(total);
    }
}
