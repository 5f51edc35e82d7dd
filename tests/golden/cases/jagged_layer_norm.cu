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

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ void tile_load_f16x8(float *v, const unsigned short *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = tile_f16_load((unsigned short)q0.x);
    v[1] = tile_f16_load((unsigned short)(q0.x >> 16));
    v[2] = tile_f16_load((unsigned short)q0.y);
    v[3] = tile_f16_load((unsigned short)(q0.y >> 16));
    v[4] = tile_f16_load((unsigned short)q0.z);
    v[5] = tile_f16_load((unsigned short)(q0.z >> 16));
    v[6] = tile_f16_load((unsigned short)q0.w);
    v[7] = tile_f16_load((unsigned short)(q0.w >> 16));
}

static __device__ __forceinline__ void tile_clear_f32x8(float *v) {
    #pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = 0;
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

// launch: B blocks of 1024 threads
extern "C" __global__ void __launch_bounds__(1024) jagged_layer_norm(const unsigned short *__restrict__ x, const long long *__restrict__ offsets, unsigned short *__restrict__ out, float eps) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[128];
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
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 256) {
        const int tk = tk0 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v[8];
            tile_load_f16x8(v, x + (start_i32 + (tk + tk_i * 64)) * 128 + tm_t);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                total += v[tm_i];
            }
        }
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_2[8];
            if (tk_2 + tk_i * 64 < length_i32) tile_load_f16x8(v_2, x + (start_i32 + (tk_2 + tk_i * 64)) * 128 + tm_t);
            else tile_clear_f32x8(v_2);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                total += v_2[tm_i];
            }
        }
    }
    // 26: let mean = total / count;
    // 28: var squares: accum(T)[tb] = 0;
    // 29: for tk in jagged_tile(length) {
    float squares = 0.0f;
    total = tile_sum_lanes_f32(total, 2, 16);
    total = tile_sum_lanes_f32(total, 16, 1);
    tile_sum_many_f32(&total, 1, tile_shared, 32, 1, 1, 1);
    const float mean = total / count;
    for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 256) {
        const int tk_3 = tk0_3 + tk_t;
        // 30: for tm in tile(M) {
        // 31: let centred = x[start + tk, tm] - mean;
        // 32: squares += sum[tk, tm](centred * centred);
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_3[8];
            tile_load_f16x8(v_3, x + (start_i32 + (tk_3 + tk_i * 64)) * 128 + tm_t);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float centred = v_3[tm_i] - mean;
                squares += centred * centred;
            }
        }
    }
    if (tk_full < length_i32) {
        const int tk0_4 = tk_full;
        const int tk_4 = tk0_4 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_4[8];
            if (tk_4 + tk_i * 64 < length_i32) tile_load_f16x8(v_4, x + (start_i32 + (tk_4 + tk_i * 64)) * 128 + tm_t);
            else tile_clear_f32x8(v_4);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                const float centred_2 = v_4[tm_i] - mean;
                squares += tk_4 + tk_i * 64 < length_i32 ? centred_2 * centred_2 : 0.0f;
            }
        }
    }
    squares = tile_sum_lanes_f32(squares, 2, 16);
    squares = tile_sum_lanes_f32(squares, 16, 1);
    tile_sum_many_f32(&squares, 1, tile_shared, 32, 1, 1, 1);
    // 35: let scale = rsqrt(squares / count + eps);
    const float scale = tile_rsqrtf(squares / count + eps);
    // 37: for tk in jagged_tile(length) {
    for (int tk0_5 = 0; tk0_5 < tk_full; tk0_5 += 256) {
        const int tk_5 = tk0_5 + tk_t;
        // 38: for tm in tile(M) {
        // 39: out[start + tk, tm] = (x[start + tk, tm] - mean) * scale;
        float v_5[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            tile_load_once_f16x8(v_5[tk_i], x + (start_i32 + (tk_5 + tk_i * 64)) * 128 + tm_t);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_6[8];
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_6[tm_i] = tile_f16_round((v_5[tk_i][tm_i] - mean) * scale);
            }
            tile_store_once_f16x8(out + (start_i32 + (tk_5 + tk_i * 64)) * 128 + tm_t, v_6);
        }
    }
    if (tk_full < length_i32) {
        const int tk0_6 = tk_full;
        const int tk_6 = tk0_6 + tk_t;
        float v_7[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk_6 + tk_i * 64 < length_i32) tile_load_once_f16x8(v_7[tk_i], x + (start_i32 + (tk_6 + tk_i * 64)) * 128 + tm_t);
            else tile_clear_f32x8(v_7[tk_i]);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_8[8];
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_8[tm_i] = tile_f16_round((v_7[tk_i][tm_i] - mean) * scale);
            }
            if (tk_6 + tk_i * 64 < length_i32) tile_store_once_f16x8(out + (start_i32 + (tk_6 + tk_i * 64)) * 128 + tm_t, v_8);
        }
    }
}
