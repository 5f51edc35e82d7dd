// jagged_hstu_attention from 08_jagged_hstu_attention.tile, compiled by tilec 0.1.0
// (q: f32[N, H, D], k: f32[N, H, D], v: f32[N, H, E], offsets: i64[B + 1], alpha: f32, scale: f32) -> out: f32[N, H, E]
// T = f32, I = i64, D = 32, E = 32; 32-bit indices
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

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ float tile_siluf(float x) {
    return x / (1.0f + expf(-x));
}

// launch: H * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_hstu_attention(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, const long long *__restrict__ offsets, float *__restrict__ out, float alpha, float scale, int H) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int d_t = lane;
    const int tq_t = warp;
    const int th = (int)(blockIdx.x % H);
    const int tb = (int)(blockIdx.x / H);
    // 5: axis d = D;
    // 6: axis e = E;
    // 7: for (tb, th) in tile(B, H) {
    // 8: let start = offsets[tb];
    // 9: let length = offsets[tb + 1] - start;
    // 10: for tq in jagged_tile(length) {
    // 11: let query = q[start + tq, th, d];
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int start_i32 = (int)start;
    for (int tq0 = 0; tq0 < length_i32; tq0 += 4) {
        const int tq = tq0 + tq_t;
        // 12: var acc: accum(T)[tb, th, tq, e] = 0;
        // 13: for tk in jagged_tile(tq.end) {              // per row, never past the row's end
        const bool inside = tq < length_i32;
        const int i = start_i32 + tq;
        const float query = inside ? q[(i * H + th) * 32 + d_t] : 0.0f;
        const int i_2 = (int)tile_clampi_i64(tile_mini_i64((long long)(tq0 + 4), length), -2146435071LL, 2146435071LL);
        const int tk_full = i_2 - i_2 % 4;
        float acc[32];
        #pragma unroll
        for (int e_i = 0; e_i < 32; ++e_i) {
            acc[e_i] = 0.0f;
        }
        for (int tk0 = 0; tk0 < tk_full; tk0 += 4) {
            // 14: let score = silu(dot[d](query, k[start + tk, th, d]) * alpha) * scale;
            float v_2[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                v_2[tk_i] = inside ? query * k[((start_i32 + (tk0 + tk_i)) * H + th) * 32 + d_t] : 0.0f;
            }
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                v_2[tk_i] = tile_sum_lanes_f32(v_2[tk_i], 32, 1);
            }
            // 15: let causal = tq >= tk ? score : 0;
            float causal[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                const float score = tile_siluf(v_2[tk_i] * alpha) * scale;
                causal[tk_i] = tq >= tk0 + tk_i ? score : 0.0f;
            }
            // 16: acc += dot[tk](T(causal), v[start + tk, th, e]);
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    acc[e_i] += inside ? causal[tk_i] * v[((start_i32 + (tk0 + tk_i)) * H + th) * 32 + e_i] : 0.0f;
                }
            }
        }
        if (tk_full < i_2) {
            const int tk0_2 = tk_full;
            float v_3[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                v_3[tk_i] = tk0_2 + tk_i < i_2 ? k[((start_i32 + (tk0_2 + tk_i)) * H + th) * 32 + d_t] : 0.0f;
            }
            float v_4[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                v_4[tk_i] = inside && tk0_2 + tk_i < i_2 ? query * v_3[tk_i] : 0.0f;
            }
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                v_4[tk_i] = tile_sum_lanes_f32(v_4[tk_i], 32, 1);
            }
            float causal_2[4];
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                if (tk0_2 + tk_i >= i_2) break;
                const float score_2 = tile_siluf(v_4[tk_i] * alpha) * scale;
                causal_2[tk_i] = tq >= tk0_2 + tk_i ? score_2 : 0.0f;
            }
            #pragma unroll
            for (int e_i = 0; e_i < 32; ++e_i) {
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    if (tk0_2 + tk_i >= i_2) break;
                    acc[e_i] += inside && tk0_2 + tk_i < i_2 ? causal_2[tk_i] * (tk0_2 + tk_i < i_2 ? v[((start_i32 + (tk0_2 + tk_i)) * H + th) * 32 + e_i] : 0.0f) : 0.0f;
                }
            }
        }
        // 18: out[start + tq, th, e] = acc;
        #pragma unroll
        for (int e_i = 0; e_i < 32; ++e_i) {
            if ((thread & 31) == 0 && inside) out[(i * H + th) * 32 + e_i] = acc[e_i];
        }
    }
}
