// lse_columns from constructs.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> out: f32[M, B]
// M = 24; 32-bit indices
//   m: block 32 = vector 4 x lanes 8 x warps 1 x registers 1
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tk: block 512 = vector 1 x lanes 4 x warps 16 x registers 8
//   grid tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ void tile_load_f32x4(float *v, const float *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
}

static __device__ __forceinline__ void tile_clear_f32x4(float *v) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = 0;
}

static __device__ __forceinline__ float tile_maxf(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

static __device__ __forceinline__ float tile_max_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = tile_maxf(v, other);
    }
    return v;
}

static __device__ __forceinline__ void tile_max_many_f32(float *v, const int n, void *shared, const int count, const int step, const int lanes, const int lane_step) {
    float *all = (float *)shared;
    const int thread = (int)threadIdx.x, threads = (int)blockDim.x, warp = thread / 32, warps = threads / 32;
    const int lane = thread % 32 / lane_step % lanes, row = lanes | 1, total = n * lanes * warps;
    const int first = (warp - warp / step % count * step) * row + lane;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i)
        if (thread % 32 == lane * lane_step) all[(i * warps + warp) * row + lane] = v[i];
    __syncthreads();
    for (int q = 0; q < total; q += threads) {
        const int part = (q + thread) % count, result = (q + thread) / count;
        const int group = result / lanes, at = group / step * count * step + group % step;
        float *sum = all + at * row + result % lanes;
        const bool inside = q + thread < total;
        const float a = tile_max_lanes_f32(inside ? sum[part * step * row] : v[0], count, 1);
        if (inside && part == 0) *sum = a;
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) v[i] = all[i * warps * row + first];
}

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ void tile_sum_many_f32(float *v, const int n, void *shared, const int count, const int step, const int lanes, const int lane_step) {
    float *all = (float *)shared;
    const int thread = (int)threadIdx.x, threads = (int)blockDim.x, warp = thread / 32, warps = threads / 32;
    const int lane = thread % 32 / lane_step % lanes, row = lanes | 1, total = n * lanes * warps;
    const int first = (warp - warp / step % count * step) * row + lane;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i)
        if (thread % 32 == lane * lane_step) all[(i * warps + warp) * row + lane] = v[i];
    __syncthreads();
    for (int q = 0; q < total; q += threads) {
        const int part = (q + thread) % count, result = (q + thread) / count;
        const int group = result / lanes, at = group / step * count * step + group % step;
        float *sum = all + at * row + result % lanes;
        const bool inside = q + thread < total;
        const float a = tile_sum_lanes_f32(inside ? sum[part * step * row] : v[0], count, 1);
        if (inside && part == 0) *sum = a;
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) v[i] = all[i * warps * row + first];
}

// launch: B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) lse_columns(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[2304];
    const int m_t = (lane & 7) * 4;
    const int tk_t = warp * 4 + (lane >> 3 & 3);
    bool inside[4];
    #pragma unroll
    for (int m_i = 0; m_i < 4; ++m_i) {
        inside[m_i] = m_t + m_i < 24;
    }
    const int tb = (int)blockIdx.x;
    // 71: axis m = M;
    // 72: for tb in tile(B) {
    // 73: let start = offsets[tb];
    // 74: var top: f32[tb, m] = -inf;
    // 75: var total: f32[tb, m] = 0;
    // 76: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 77: let v = x[start + tk, m];
    const long long start = offsets[tb];
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i - i % 512;
    const int start_i32 = (int)start;
    float top[4];
    float total[4];
    #pragma unroll
    for (int m_i = 0; m_i < 4; ++m_i) {
        top[m_i] = __int_as_float((int)0xff800000);
        total[m_i] = 0.0f;
    }
    for (int tk0 = 0; tk0 < tk_full; tk0 += 512) {
        const int tk = tk0 + tk_t;
        // 78: let next = max(top, max[tk](v));
        float v[8][4];
        float v_2[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_2[m_i] = __int_as_float((int)0xff800000);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            if (inside[0]) tile_load_f32x4(v[tk_i], x + (start_i32 + (tk + tk_i * 64)) * 24 + m_t);
            else tile_clear_f32x4(v[tk_i]);
            #pragma unroll
            for (int m_i = 0; m_i < 4; ++m_i) {
                v_2[m_i] = tile_maxf(v_2[m_i], inside[m_i] ? v[tk_i][m_i] : __int_as_float((int)0xff800000));
            }
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_2[m_i] = tile_max_lanes_f32(v_2[m_i], 4, 8);
        }
        tile_max_many_f32(&v_2[0], 4, tile_shared, 16, 1, 8, 1);
        // 79: let scale = next == -inf ? 0 : exp(top - next);
        // 80: total = total * scale + sum[tk](next == -inf ? 0 : exp(v - next));
        float next[4];
        bool inside_2[4];
        float v_3[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            next[m_i] = tile_maxf(top[m_i], v_2[m_i]);
            inside_2[m_i] = next[m_i] == __int_as_float((int)0xff800000);
            const float scale = inside_2[m_i] ? 0.0f : expf(top[m_i] - next[m_i]);
            v_3[m_i] = total[m_i] * scale;
        }
        float v_4[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_4[m_i] = 0.0f;
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            #pragma unroll
            for (int m_i = 0; m_i < 4; ++m_i) {
                const float v_5 = inside_2[m_i] ? 0.0f : expf(v[tk_i][m_i] - next[m_i]);
                v_4[m_i] += inside[m_i] ? v_5 : 0.0f;
            }
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_4[m_i] = tile_sum_lanes_f32(v_4[m_i], 4, 8);
        }
        tile_sum_many_f32(&v_4[0], 4, tile_shared, 16, 1, 8, 1);
        float total_2[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            total_2[m_i] = v_3[m_i] + v_4[m_i];
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            total[m_i] = total_2[m_i];
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            top[m_i] = next[m_i];
        }
    }
    if (tk_full < i) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float v_6[8][4];
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= i) break;
            if (tk_2 + tk_i * 64 < i && inside[0]) tile_load_f32x4(v_6[tk_i], x + (start_i32 + (tk_2 + tk_i * 64)) * 24 + m_t);
            else tile_clear_f32x4(v_6[tk_i]);
        }
        float v_7[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_7[m_i] = __int_as_float((int)0xff800000);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= i) break;
            #pragma unroll
            for (int m_i = 0; m_i < 4; ++m_i) {
                v_7[m_i] = tile_maxf(v_7[m_i], tk_2 + tk_i * 64 < i && inside[m_i] ? v_6[tk_i][m_i] : __int_as_float((int)0xff800000));
            }
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_7[m_i] = tile_max_lanes_f32(v_7[m_i], 4, 8);
        }
        tile_max_many_f32(&v_7[0], 4, tile_shared, 16, 1, 8, 1);
        float next_2[4];
        bool inside_3[4];
        float v_8[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            next_2[m_i] = tile_maxf(top[m_i], v_7[m_i]);
            inside_3[m_i] = next_2[m_i] == __int_as_float((int)0xff800000);
            const float scale_2 = inside_3[m_i] ? 0.0f : expf(top[m_i] - next_2[m_i]);
            v_8[m_i] = total[m_i] * scale_2;
        }
        float v_9[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_9[m_i] = 0.0f;
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= i) break;
            #pragma unroll
            for (int m_i = 0; m_i < 4; ++m_i) {
                const float v_10 = inside_3[m_i] ? 0.0f : expf(v_6[tk_i][m_i] - next_2[m_i]);
                v_9[m_i] += tk_2 + tk_i * 64 < i && inside[m_i] ? v_10 : 0.0f;
            }
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            v_9[m_i] = tile_sum_lanes_f32(v_9[m_i], 4, 8);
        }
        tile_sum_many_f32(&v_9[0], 4, tile_shared, 16, 1, 8, 1);
        float total_3[4];
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            total_3[m_i] = v_8[m_i] + v_9[m_i];
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            total[m_i] = total_3[m_i];
        }
        #pragma unroll
        for (int m_i = 0; m_i < 4; ++m_i) {
            top[m_i] = next_2[m_i];
        }
    }
    // 81: top = next;
    // 83: out[m, tb] = top + log(total);
    #pragma unroll
    for (int m_i = 0; m_i < 4; ++m_i) {
        if ((thread & 504) == 0 && inside[m_i]) out[(m_t + m_i) * B + tb] = top[m_i] + logf(total[m_i]);
    }
}
