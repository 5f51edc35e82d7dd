// jagged_layer_norm from jagged_layer_norm.tile, compiled by tilec 0.1.0
// (x: f16[nnz, M], offsets: i64[B + 1], eps: f32) -> out: f16[nnz, M]
// T = f16, I = i64, M = 128; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tk: block 256 = vector 1 x lanes 2 x warps 32 x registers 4
//   tm: block 128 = vector 8 x lanes 16 x warps 1 x registers 1
//   grid tb; strategy rows; peel true; late true; stream true; min_blocks 0
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

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ void tile_load_keep_f16x8(float *v, const unsigned short *p) {
    const uint4 q0 = tile_read_keep_16(p);
    v[0] = tile_f16_load((unsigned short)q0.x);
    v[1] = tile_f16_load((unsigned short)(q0.x >> 16));
    v[2] = tile_f16_load((unsigned short)q0.y);
    v[3] = tile_f16_load((unsigned short)(q0.y >> 16));
    v[4] = tile_f16_load((unsigned short)q0.z);
    v[5] = tile_f16_load((unsigned short)(q0.z >> 16));
    v[6] = tile_f16_load((unsigned short)q0.w);
    v[7] = tile_f16_load((unsigned short)(q0.w >> 16));
}

static __device__ __forceinline__ float tile_quotient_rough(float a, float b) {
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
    return a * reciprocal;
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

static __device__ __forceinline__ void tile_load_keep_if_f16x8(float *v, const unsigned short *p, const bool inside) {
    const uint4 q0 = tile_read_keep_if_16(p, inside);
    v[0] = tile_f16_load((unsigned short)q0.x);
    v[1] = tile_f16_load((unsigned short)(q0.x >> 16));
    v[2] = tile_f16_load((unsigned short)q0.y);
    v[3] = tile_f16_load((unsigned short)(q0.y >> 16));
    v[4] = tile_f16_load((unsigned short)q0.z);
    v[5] = tile_f16_load((unsigned short)(q0.z >> 16));
    v[6] = tile_f16_load((unsigned short)q0.w);
    v[7] = tile_f16_load((unsigned short)(q0.w >> 16));
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

static __device__ __forceinline__ float tile_rsqrtf(float x) {
    return rsqrtf(x);
}

static __device__ __forceinline__ uint4 tile_read_once_16(const void *p) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w) : "l"(p));
    return q;
}

static __device__ __forceinline__ void tile_load_once_f16x8(float *v, const unsigned short *p) {
    const uint4 q0 = tile_read_once_16(p);
    v[0] = tile_f16_load((unsigned short)q0.x);
    v[1] = tile_f16_load((unsigned short)(q0.x >> 16));
    v[2] = tile_f16_load((unsigned short)q0.y);
    v[3] = tile_f16_load((unsigned short)(q0.y >> 16));
    v[4] = tile_f16_load((unsigned short)q0.z);
    v[5] = tile_f16_load((unsigned short)(q0.z >> 16));
    v[6] = tile_f16_load((unsigned short)q0.w);
    v[7] = tile_f16_load((unsigned short)(q0.w >> 16));
}

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float tile_f16_round(float f) {
    return tile_f16_load(tile_f16_store(f));
}

static __device__ __forceinline__ void tile_write_once_16(void *p, uint4 q) {
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "st.global.L1::no_allocate.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, policy; }"
        : : "l"(p), "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w) : "memory");
}

static __device__ __forceinline__ void tile_store_once_f16x8(unsigned short *p, const float *v) {
    tile_write_once_16(p, make_uint4((unsigned)tile_f16_store(v[0]) | (unsigned)tile_f16_store(v[1]) << 16, (unsigned)tile_f16_store(v[2]) | (unsigned)tile_f16_store(v[3]) << 16, (unsigned)tile_f16_store(v[4]) | (unsigned)tile_f16_store(v[5]) << 16, (unsigned)tile_f16_store(v[6]) | (unsigned)tile_f16_store(v[7]) << 16));
}

static __device__ __forceinline__ uint4 tile_read_once_if_16(const void *p, const bool inside) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        ".reg .pred r; setp.ne.s32 r, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; \n"
        "@r ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=&r"(q.x), "=&r"(q.y), "=&r"(q.z), "=&r"(q.w) : "l"(p), "r"((int)inside));
    return q;
}

static __device__ __forceinline__ void tile_load_once_if_f16x8(float *v, const unsigned short *p, const bool inside) {
    const uint4 q0 = tile_read_once_if_16(p, inside);
    v[0] = tile_f16_load((unsigned short)q0.x);
    v[1] = tile_f16_load((unsigned short)(q0.x >> 16));
    v[2] = tile_f16_load((unsigned short)q0.y);
    v[3] = tile_f16_load((unsigned short)(q0.y >> 16));
    v[4] = tile_f16_load((unsigned short)q0.z);
    v[5] = tile_f16_load((unsigned short)(q0.z >> 16));
    v[6] = tile_f16_load((unsigned short)q0.w);
    v[7] = tile_f16_load((unsigned short)(q0.w >> 16));
}

// launch: B blocks of 1024 threads
extern "C" __global__ void __launch_bounds__(1024) jagged_layer_norm(const unsigned short *__restrict__ x, const long long *__restrict__ offsets, unsigned short *__restrict__ out, float eps) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[256];
    const int tk_t = warp * 2 + (lane >> 4 & 1);
    const int tm_t = (lane & 15) * 8;
    const int tb = (int)blockIdx.x;
    // 15: for tb in tile(B) {
    // 16: let start = offsets[tb];
    // 17: let length = offsets[tb + 1] - start;
    // 18: let count = accum(T)(length * M);
    // 20: var total: accum(T)[tb] = 0;
    // 21: for tk in jagged_tile(length) {
    // 22: for tm in tile(M) {
    // 23: total += sum[tk, tm](x[start + tk, tm]);
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    const float count = (float)(length * 128LL);
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 256;
    float total = 0.0f;
    float points = 0.0f;
    float squares = 0.0f;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 256) {
        const int tk = tk0 + tk_t;
        float v_2[4][8];
        float v_3 = 0.0f;
        float v_4 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v[8];
            tile_load_keep_f16x8(v, x + (start_i32 + (tk + tk_i * 64)) * 128 + tm_t);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_2[tk_i][tm_i] = v[tm_i];
                v_3 += v_2[tk_i][tm_i];
                if (tk_i == 0 && tm_i == 0) v_4 += 32.0f;
            }
        }
        const float v_5 = tile_quotient_rough(v_3, tile_maxf(v_4, 1.0f));
        const float v_6 = points + v_4;
        const float v_7 = tile_quotient_rough(points * v_4, tile_maxf(v_6, 1.0f));
        const float v_8 = tile_quotient_rough(total, tile_maxf(points, 1.0f));
        const float v_9 = v_8 - v_5;
        const float v_10 = v_7 > 0.0f && v_8 != v_5 ? v_9 * v_7 * v_9 : 0.0f;
        const float v_11 = total + v_3;
        float v_13 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float v_12 = v_2[tk_i][tm_i] - v_5;
                v_13 += v_12 * v_12;
            }
        }
        const float v_14 = squares + v_13 + v_10;
        total = v_11;
        points = v_6;
        squares = v_14;
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float v_15[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= length_i32) break;
            tile_load_keep_if_f16x8(v_15[tk_i], x + (start_i32 + (tk_2 + tk_i * 64)) * 128 + tm_t, tk_2 + tk_i * 64 < length_i32);
        }
        float v_16[4][8];
        float v_17 = 0.0f;
        float v_18 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= length_i32) break;
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_16[tk_i][tm_i] = v_15[tk_i][tm_i];
                v_17 += v_16[tk_i][tm_i];
                if (tm_i == 0) v_18 += tk_2 + tk_i * 64 < length_i32 ? 8.0f : 0.0f;
            }
        }
        const float v_19 = tile_quotient_rough(v_17, tile_maxf(v_18, 1.0f));
        const float v_20 = points + v_18;
        const float v_21 = tile_quotient_rough(points * v_18, tile_maxf(v_20, 1.0f));
        const float v_22 = tile_quotient_rough(total, tile_maxf(points, 1.0f));
        const float v_23 = v_22 - v_19;
        const float v_24 = v_21 > 0.0f && v_22 != v_19 ? v_23 * v_21 * v_23 : 0.0f;
        const float v_25 = total + v_17;
        float v_27 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_2 + tk_i * 64 >= length_i32) break;
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float v_26 = v_16[tk_i][tm_i] - v_19;
                v_27 += tk_2 + tk_i * 64 < length_i32 ? v_26 * v_26 : 0.0f;
            }
        }
        const float v_28 = squares + v_27 + v_24;
        total = v_25;
        points = v_20;
        squares = v_28;
    }
    float points_2 = points;
    float total_2 = total;
    const float v_29 = total / tile_maxf(points, 1.0f);
    const bool inside = points > 0.0f;
    points_2 = tile_sum_lanes_f32(points_2, 2, 16);
    points_2 = tile_sum_lanes_f32(points_2, 16, 1);
    total_2 = tile_sum_lanes_f32(total_2, 2, 16);
    total_2 = tile_sum_lanes_f32(total_2, 16, 1);
    float joined[2] = {points_2, total_2};
    tile_sum_many_f32(&joined[0], 2, tile_shared, 32, 1, 1, 1);
    points_2 = joined[0];
    total_2 = joined[1];
    // 26: let mean = total / count;
    // 28: var squares: accum(T)[tb] = 0;
    // 29: for tk in jagged_tile(length) {
    const float v_30 = total_2 / tile_maxf(points_2, 1.0f);
    const float v_31 = v_29 - v_30;
    float squares_2 = squares + (inside && v_29 != v_30 ? v_31 * points * v_31 : 0.0f);
    const float mean = total_2 / count;
    const float v_32 = fabsf(total_2);
    const float v_33 = v_32 < __int_as_float(0x7f800000) ? 0.0f : v_32;
    squares_2 = tile_sum_lanes_f32(squares_2, 2, 16);
    squares_2 = tile_sum_lanes_f32(squares_2, 16, 1);
    tile_sum_many_f32(&squares_2, 1, tile_shared, 32, 1, 1, 1);
    // 30: for tm in tile(M) {
    // 31: let centred = x[start + tk, tm] - mean;
    // 32: squares += sum[tk, tm](centred * centred);
    // 35: let scale = rsqrt(squares / count + eps);
    const float scale = tile_rsqrtf((squares_2 + v_33) / count + eps);
    // 37: for tk in jagged_tile(length) {
    for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 256) {
        const int tk_3 = tk0_3 + tk_t;
        // 38: for tm in tile(M) {
        // 39: out[start + tk, tm] = (x[start + tk, tm] - mean) * scale;
        float v_34[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            tile_load_once_f16x8(v_34[tk_i], x + (start_i32 + (tk_3 + tk_i * 64)) * 128 + tm_t);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_35[8];
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_35[tm_i] = tile_f16_round((v_34[tk_i][tm_i] - mean) * scale);
            }
            tile_store_once_f16x8(out + (start_i32 + (tk_3 + tk_i * 64)) * 128 + tm_t, v_35);
        }
    }
    if (tk_full < length_i32) {
        const int tk0_4 = tk_full;
        const int tk_4 = tk0_4 + tk_t;
        float v_36[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_4 + tk_i * 64 >= length_i32) break;
            tile_load_once_if_f16x8(v_36[tk_i], x + (start_i32 + (tk_4 + tk_i * 64)) * 128 + tm_t, tk_4 + tk_i * 64 < length_i32);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk0_4 + tk_i * 64 >= length_i32) break;
            float v_37[8];
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_37[tm_i] = tile_f16_round((v_36[tk_i][tm_i] - mean) * scale);
            }
            if (tk_4 + tk_i * 64 < length_i32) tile_store_once_f16x8(out + (start_i32 + (tk_4 + tk_i * 64)) * 128 + tm_t, v_37);
        }
    }
}
