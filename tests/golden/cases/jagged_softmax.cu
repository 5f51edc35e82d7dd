// jagged_softmax from jagged_softmax.tile, compiled by tilec 0.1.0
// (x: bf16[nnz, M], offsets: i32[B + 1]) -> out: bf16[nnz, M]
// T = bf16, I = i32, M = 128; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 128 = vector 8 x lanes 16 x warps 1 x registers 1
//   tk: block 256 = vector 1 x lanes 2 x warps 32 x registers 4
//   grid tm, tb; strategy rows; peel true; late true; stream true; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, out at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ uint4 tile_read_keep_16(const void *p) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
        "ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "l"(p));
    return q;
}

static __device__ __forceinline__ void tile_load_keep_bf16x8(float *v, const unsigned short *p) {
    const uint4 q0 = tile_read_keep_16(p);
    v[0] = __uint_as_float(q0.x << 16);
    v[1] = __uint_as_float(q0.x & 0xffff0000u);
    v[2] = __uint_as_float(q0.y << 16);
    v[3] = __uint_as_float(q0.y & 0xffff0000u);
    v[4] = __uint_as_float(q0.z << 16);
    v[5] = __uint_as_float(q0.z & 0xffff0000u);
    v[6] = __uint_as_float(q0.w << 16);
    v[7] = __uint_as_float(q0.w & 0xffff0000u);
}

static __device__ __forceinline__ float tile_maxf(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

static __device__ __forceinline__ uint4 tile_read_keep_if_16(const void *p, const bool inside) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
        ".reg .pred r; setp.ne.s32 r, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; \n"
        "@r ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=&r"(q.x), "=&r"(q.y), "=&r"(q.z), "=&r"(q.w) : "l"(p), "r"((int)inside));
    return q;
}

static __device__ __forceinline__ void tile_load_keep_if_bf16x8(float *v, const unsigned short *p, const bool inside) {
    const uint4 q0 = tile_read_keep_if_16(p, inside);
    v[0] = __uint_as_float(q0.x << 16);
    v[1] = __uint_as_float(q0.x & 0xffff0000u);
    v[2] = __uint_as_float(q0.y << 16);
    v[3] = __uint_as_float(q0.y & 0xffff0000u);
    v[4] = __uint_as_float(q0.z << 16);
    v[5] = __uint_as_float(q0.z & 0xffff0000u);
    v[6] = __uint_as_float(q0.w << 16);
    v[7] = __uint_as_float(q0.w & 0xffff0000u);
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

static __device__ __forceinline__ uint4 tile_read_once_16(const void *p) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "l"(p));
    return q;
}

static __device__ __forceinline__ void tile_load_once_bf16x8(float *v, const unsigned short *p) {
    const uint4 q0 = tile_read_once_16(p);
    v[0] = __uint_as_float(q0.x << 16);
    v[1] = __uint_as_float(q0.x & 0xffff0000u);
    v[2] = __uint_as_float(q0.y << 16);
    v[3] = __uint_as_float(q0.y & 0xffff0000u);
    v[4] = __uint_as_float(q0.z << 16);
    v[5] = __uint_as_float(q0.z & 0xffff0000u);
    v[6] = __uint_as_float(q0.w << 16);
    v[7] = __uint_as_float(q0.w & 0xffff0000u);
}

static __device__ __forceinline__ float tile_from_bits(unsigned u) {
    return __uint_as_float(u);
}

static __device__ __forceinline__ float tile_bf16_load(unsigned short h) {
    return tile_from_bits((unsigned)h << 16);
}

static __device__ __forceinline__ unsigned short tile_bf16_store(float f) {
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float tile_bf16_round(float f) {
    return tile_bf16_load(tile_bf16_store(f));
}

static __device__ __forceinline__ void tile_write_once_16(void *p, uint4 q) {
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "st.global.L1::no_allocate.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, policy; }"
        : : "l"(p), "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w) : "memory");
}

static __device__ __forceinline__ void tile_store_once_bf16x8(unsigned short *p, const float *v) {
    tile_write_once_16(p, make_uint4((unsigned)tile_bf16_store(v[0]) | (unsigned)tile_bf16_store(v[1]) << 16, (unsigned)tile_bf16_store(v[2]) | (unsigned)tile_bf16_store(v[3]) << 16, (unsigned)tile_bf16_store(v[4]) | (unsigned)tile_bf16_store(v[5]) << 16, (unsigned)tile_bf16_store(v[6]) | (unsigned)tile_bf16_store(v[7]) << 16));
}

static __device__ __forceinline__ uint4 tile_read_once_if_16(const void *p, const bool inside) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        ".reg .pred r; setp.ne.s32 r, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; \n"
        "@r ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=&r"(q.x), "=&r"(q.y), "=&r"(q.z), "=&r"(q.w) : "l"(p), "r"((int)inside));
    return q;
}

static __device__ __forceinline__ void tile_load_once_if_bf16x8(float *v, const unsigned short *p, const bool inside) {
    const uint4 q0 = tile_read_once_if_16(p, inside);
    v[0] = __uint_as_float(q0.x << 16);
    v[1] = __uint_as_float(q0.x & 0xffff0000u);
    v[2] = __uint_as_float(q0.y << 16);
    v[3] = __uint_as_float(q0.y & 0xffff0000u);
    v[4] = __uint_as_float(q0.z << 16);
    v[5] = __uint_as_float(q0.z & 0xffff0000u);
    v[6] = __uint_as_float(q0.w << 16);
    v[7] = __uint_as_float(q0.w & 0xffff0000u);
}

// launch: 1 * B blocks of 1024 threads
extern "C" __global__ void __launch_bounds__(1024) jagged_softmax(const unsigned short *__restrict__ x, const int *__restrict__ offsets, unsigned short *__restrict__ out) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[17408];
    const int tm_t = (lane & 15) * 8;
    const int tk_t = warp * 2 + (lane >> 4 & 1);
    const int tm0 = (int)(blockIdx.x % 1) * 128;
    const int tm = tm0 + tm_t;
    const int tb = (int)(blockIdx.x / 1);
    // 13: for tb in tile(B) {
    // 14: let start = offsets[tb];
    // 15: let length = offsets[tb + 1] - start;
    const long long start_i64 = (long long)offsets[tb];
    const long long length = (long long)offsets[tb + 1] - start_i64;
    // 16: for tm in tile(M) {
    // 17: var highest: accum(T)[tb, tm] = -inf;
    // 18: var total: accum(T)[tb, tm] = 0;         // of exp(v - highest), over the tiles so far
    // 19: for tk in jagged_tile(length) {
    // 20: let v = x[start + tk, tm];
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 256;
    const int start = (int)start_i64;
    float total[8];
    float highest[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        total[tm_i] = 0.0f;
        highest[tm_i] = __int_as_float((int)0xff800000);
    }
    for (int tk0 = 0; tk0 < tk_full; tk0 += 256) {
        const int tk = tk0 + tk_t;
        // 21: let top = max(highest, max[tk](v));
        float v_f32[4][8];
        float v_2[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            v_2[tm_i] = __int_as_float((int)0xff800000);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v[8];
            tile_load_keep_bf16x8(v, x + (start + (tk + tk_i * 64)) * 128 + tm);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_f32[tk_i][tm_i] = v[tm_i];
                v_2[tm_i] = tile_maxf(v_2[tm_i], v_f32[tk_i][tm_i]);
            }
        }
        // 22: let base = top == -inf ? 0 : top;    // so that a tile of nothing but -inf adds 0, not NaN
        // 23: total = total * exp(highest - base) + sum[tk](exp(v - base));
        float top[8];
        float base[8];
        float v_3[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            top[tm_i] = tile_maxf(highest[tm_i], v_2[tm_i]);
            base[tm_i] = top[tm_i] == __int_as_float((int)0xff800000) ? 0.0f : top[tm_i];
            v_3[tm_i] = total[tm_i] * expf(highest[tm_i] - base[tm_i]);
        }
        float v_4[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            v_4[tm_i] = 0.0f;
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_4[tm_i] += expf(v_f32[tk_i][tm_i] - base[tm_i]);
            }
        }
        float total_2[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            total_2[tm_i] = v_3[tm_i] + v_4[tm_i];
        }
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            total[tm_i] = total_2[tm_i];
        }
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            highest[tm_i] = top[tm_i];
        }
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float v_5[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= length_i32) break;
            tile_load_keep_if_bf16x8(v_5[tk_i], x + (start + (tk_2 + tk_i * 64)) * 128 + tm, tk_2 + tk_i * 64 < length_i32);
        }
        float v_f32_2[4][8];
        float v_6[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            v_6[tm_i] = __int_as_float((int)0xff800000);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= length_i32) break;
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_f32_2[tk_i][tm_i] = v_5[tk_i][tm_i];
                v_6[tm_i] = tile_maxf(v_6[tm_i], tk_2 + tk_i * 64 < length_i32 ? v_f32_2[tk_i][tm_i] : __int_as_float((int)0xff800000));
            }
        }
        float top_2[8];
        float base_2[8];
        float v_7[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            top_2[tm_i] = tile_maxf(highest[tm_i], v_6[tm_i]);
            base_2[tm_i] = top_2[tm_i] == __int_as_float((int)0xff800000) ? 0.0f : top_2[tm_i];
            v_7[tm_i] = total[tm_i] * expf(highest[tm_i] - base_2[tm_i]);
        }
        float v_8[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            v_8[tm_i] = 0.0f;
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= length_i32) break;
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float v_9 = expf(v_f32_2[tk_i][tm_i] - base_2[tm_i]);
                v_8[tm_i] += tk_2 + tk_i * 64 < length_i32 ? v_9 : 0.0f;
            }
        }
        float total_3[8];
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            total_3[tm_i] = v_7[tm_i] + v_8[tm_i];
        }
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            total[tm_i] = total_3[tm_i];
        }
        #pragma unroll
        for (int tm_i = 0; tm_i < 8; ++tm_i) {
            highest[tm_i] = top_2[tm_i];
        }
    }
    float highest_2[8];
    bool inside[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        highest_2[tm_i] = highest[tm_i];
        inside[tm_i] = highest[tm_i] == __int_as_float((int)0xff800000);
    }
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        highest_2[tm_i] = tile_max_lanes_f32(highest_2[tm_i], 2, 16);
    }
    tile_max_many_f32(&highest_2[0], 8, tile_shared, 32, 1, 16, 1);
    float total_4[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        const float base_3 = highest_2[tm_i] == __int_as_float((int)0xff800000) ? 0.0f : highest_2[tm_i];
        total_4[tm_i] = inside[tm_i] ? 0.0f : total[tm_i] * expf(highest[tm_i] - base_3);
    }
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        total_4[tm_i] = tile_sum_lanes_f32(total_4[tm_i], 2, 16);
    }
    tile_sum_many_f32(&total_4[0], 8, tile_shared, 32, 1, 16, 1);
    // 24: highest = top;
    // 26: for tk in jagged_tile(length) {
    float v_10[8];
    float v_11[8];
    float v_12[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        v_10[tm_i] = fabsf(total_4[tm_i]) < 1.1754943508222875e-38f ? 16777216.0f : 1.0f;
        v_11[tm_i] = total_4[tm_i] * v_10[tm_i];
        v_12[tm_i] = 1.0f / v_11[tm_i];
    }
    for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 256) {
        const int tk_3 = tk0_3 + tk_t;
        // 27: out[start + tk, tm] = exp(x[start + tk, tm] - highest) / total;
        float v_13[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            tile_load_once_bf16x8(v_13[tk_i], x + (start + (tk_3 + tk_i * 64)) * 128 + tm);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_17[8];
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float v_14 = expf(v_13[tk_i][tm_i] - highest_2[tm_i]);
                const float v_15 = v_14 * v_12[tm_i];
                const float v_16 = fmaf(fmaf(-v_15, v_11[tm_i], v_14), v_12[tm_i], v_15);
                v_17[tm_i] = tile_bf16_round((fabsf(v_16) > 0.0f ? v_16 : v_15) * v_10[tm_i]);
            }
            tile_store_once_bf16x8(out + (start + (tk_3 + tk_i * 64)) * 128 + tm, v_17);
        }
    }
    if (tk_full < length_i32) {
        const int tk0_4 = tk_full;
        const int tk_4 = tk0_4 + tk_t;
        float v_18[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_4 + tk_i * 64 >= length_i32) break;
            tile_load_once_if_bf16x8(v_18[tk_i], x + (start + (tk_4 + tk_i * 64)) * 128 + tm, tk_4 + tk_i * 64 < length_i32);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_4 + tk_i * 64 >= length_i32) break;
            float v_22[8];
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float v_19 = expf(v_18[tk_i][tm_i] - highest_2[tm_i]);
                const float v_20 = v_19 * v_12[tm_i];
                const float v_21 = fmaf(fmaf(-v_20, v_11[tm_i], v_19), v_12[tm_i], v_20);
                v_22[tm_i] = tile_bf16_round((fabsf(v_21) > 0.0f ? v_21 : v_20) * v_10[tm_i]);
            }
            if (tk_4 + tk_i * 64 < length_i32) tile_store_once_bf16x8(out + (start + (tk_4 + tk_i * 64)) * 128 + tm, v_22);
        }
    }
}
