// jagged_layer_norm from jagged_layer_norm.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1], eps: f32) -> out: f32[nnz, M]
// T = f32, I = i64, M = 64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tk: block 64 = vector 1 x lanes 2 x warps 4 x registers 8
//   tm: block 64 = vector 4 x lanes 16 x warps 1 x registers 1
//   grid tb; strategy rows; peel true; late true; stream true; min_blocks 0; cluster 4
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

static __device__ __forceinline__ void tile_load_keep_f32x4(float *v, const float *p) {
    const uint4 q0 = tile_read_keep_16(p);
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
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

static __device__ __forceinline__ void tile_load_keep_if_f32x4(float *v, const float *p, const bool inside) {
    const uint4 q0 = tile_read_keep_if_16(p, inside);
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
}

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ void tile_sum_warps_f32(float *v, const int n, void *shared, const int count, const int step) {
    float *all = (float *)shared;
    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;
    const int first = thread - warp / step % count * step * 32;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) all[i * threads + thread] = v[i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        float a = all[i * threads + first];
        for (int w = 1; w < count; ++w) {
            const float b = all[i * threads + first + w * step * 32];
            a = a + b;
        }
        v[i] = a;
    }
}

static __device__ __forceinline__ void tile_meet() {
    asm volatile("barrier.cluster.arrive.release;\n"
        "barrier.cluster.wait.acquire;" : : : "memory");
}

static __device__ __forceinline__ const void *tile_peer(const void *place, const int rank) {
    const void *peer;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(peer) : "l"(place), "r"(rank));
    return peer;
}

static __device__ __forceinline__ void tile_sum_blocks_f32(float *v, const int n, void *shared, const int count) {
    float *all = (float *)shared + threadIdx.x;
    const int threads = (int)blockDim.x;
    #pragma unroll
    for (int i = 0; i < n; ++i) all[i * threads] = v[i];
    tile_meet();
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        float a = *(const float *)tile_peer(all + i * threads, 0);
        #pragma unroll
        for (int rank = 1; rank < count; ++rank) {
            const float b = *(const float *)tile_peer(all + i * threads, rank);
            a = a + b;
        }
        v[i] = a;
    }
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

static __device__ __forceinline__ void tile_load_once_f32x4(float *v, const float *p) {
    const uint4 q0 = tile_read_once_16(p);
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
}

static __device__ __forceinline__ void tile_write_once_16(void *p, uint4 q) {
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "st.global.L1::no_allocate.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, policy; }"
        : : "l"(p), "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w) : "memory");
}

static __device__ __forceinline__ void tile_store_once_f32x4(float *p, const float *v) {
    tile_write_once_16(p, make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])));
}

static __device__ __forceinline__ uint4 tile_read_once_if_16(const void *p, const bool inside) {
    uint4 q;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        ".reg .pred r; setp.ne.s32 r, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; \n"
        "@r ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=&r"(q.x), "=&r"(q.y), "=&r"(q.z), "=&r"(q.w) : "l"(p), "r"((int)inside));
    return q;
}

static __device__ __forceinline__ void tile_load_once_if_f32x4(float *v, const float *p, const bool inside) {
    const uint4 q0 = tile_read_once_if_16(p, inside);
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
}

// launch: 4 * B blocks of 128 threads
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128) jagged_layer_norm(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, float eps) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int rank = (int)(blockIdx.x % 4);
    __shared__ __align__(16) unsigned char tile_shared[1024];
    __shared__ __align__(16) unsigned char tile_exchange[2][1024];
    int tile_turn = 0;
    const int tk_t = (rank * 4 + warp) * 2 + (lane >> 4 & 1);
    const int tm_t = (lane & 15) * 4;
    const int tb = (int)(blockIdx.x / 4);
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
    const float count = (float)(length * 64LL);
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 64;
    float total = 0.0f;
    float points = 0.0f;
    float squares = 0.0f;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 64) {
        const int tk = tk0 + tk_t;
        float v[2][4];
        float v_2 = 0.0f;
        float v_3 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            tile_load_keep_f32x4(v[tk_i], x + (start_i32 + (tk + tk_i * 32)) * 64 + tm_t);
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                v_2 += v[tk_i][tm_i];
                if (tk_i == 0 && tm_i == 0) v_3 += 8.0f;
            }
        }
        const float v_4 = tile_quotient_rough(v_2, tile_maxf(v_3, 1.0f));
        const float v_5 = points + v_3;
        const float v_6 = tile_quotient_rough(points * v_3, tile_maxf(v_5, 1.0f));
        const float v_7 = tile_quotient_rough(total, tile_maxf(points, 1.0f));
        const float v_8 = v_7 - v_4;
        const float v_9 = v_6 > 0.0f && v_7 != v_4 ? v_8 * v_6 * v_8 : 0.0f;
        const float v_10 = total + v_2;
        float v_12 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                const float v_11 = v[tk_i][tm_i] - v_4;
                v_12 += v_11 * v_11;
            }
        }
        const float v_13 = squares + v_12 + v_9;
        total = v_10;
        points = v_5;
        squares = v_13;
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float v_14[2][4];
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (tk0_2 + tk_i * 32 >= length_i32) break;
            tile_load_keep_if_f32x4(v_14[tk_i], x + (start_i32 + (tk_2 + tk_i * 32)) * 64 + tm_t, tk_2 + tk_i * 32 < length_i32);
        }
        float v_15 = 0.0f;
        float v_16 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (tk0_2 + tk_i * 32 >= length_i32) break;
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                v_15 += v_14[tk_i][tm_i];
                if (tm_i == 0) v_16 += tk_2 + tk_i * 32 < length_i32 ? 4.0f : 0.0f;
            }
        }
        const float v_17 = tile_quotient_rough(v_15, tile_maxf(v_16, 1.0f));
        const float v_18 = points + v_16;
        const float v_19 = tile_quotient_rough(points * v_16, tile_maxf(v_18, 1.0f));
        const float v_20 = tile_quotient_rough(total, tile_maxf(points, 1.0f));
        const float v_21 = v_20 - v_17;
        const float v_22 = v_19 > 0.0f && v_20 != v_17 ? v_21 * v_19 * v_21 : 0.0f;
        const float v_23 = total + v_15;
        float v_25 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (tk0_2 + tk_i * 32 >= length_i32) break;
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                const float v_24 = v_14[tk_i][tm_i] - v_17;
                v_25 += tk_2 + tk_i * 32 < length_i32 ? v_24 * v_24 : 0.0f;
            }
        }
        const float v_26 = squares + v_25 + v_22;
        total = v_23;
        points = v_18;
        squares = v_26;
    }
    float points_2 = points;
    float total_2 = total;
    const float v_27 = total / tile_maxf(points, 1.0f);
    const bool inside = points > 0.0f;
    points_2 = tile_sum_lanes_f32(points_2, 2, 16);
    points_2 = tile_sum_lanes_f32(points_2, 16, 1);
    total_2 = tile_sum_lanes_f32(total_2, 2, 16);
    total_2 = tile_sum_lanes_f32(total_2, 16, 1);
    float joined[2] = {points_2, total_2};
    tile_sum_warps_f32(&joined[0], 2, tile_shared, 4, 1);
    tile_sum_blocks_f32(&joined[0], 2, tile_exchange[tile_turn ^= 1], 4);
    points_2 = joined[0];
    total_2 = joined[1];
    // 26: let mean = total / count;
    // 28: var squares: accum(T)[tb] = 0;
    // 29: for tk in jagged_tile(length) {
    const float v_28 = total_2 / tile_maxf(points_2, 1.0f);
    const float v_29 = v_27 - v_28;
    float squares_2 = squares + (inside && v_27 != v_28 ? v_29 * points * v_29 : 0.0f);
    const float mean = total_2 / count;
    const float v_30 = fabsf(total_2);
    const float v_31 = v_30 < __int_as_float(0x7f800000) ? 0.0f : v_30;
    squares_2 = tile_sum_lanes_f32(squares_2, 2, 16);
    squares_2 = tile_sum_lanes_f32(squares_2, 16, 1);
    tile_sum_warps_f32(&squares_2, 1, tile_shared, 4, 1);
    tile_sum_blocks_f32(&squares_2, 1, tile_exchange[tile_turn ^= 1], 4);
    // 30: for tm in tile(M) {
    // 31: let centred = x[start + tk, tm] - mean;
    // 32: squares += sum[tk, tm](centred * centred);
    // 35: let scale = rsqrt(squares / count + eps);
    const float scale = tile_rsqrtf((squares_2 + v_31) / count + eps);
    // 37: for tk in jagged_tile(length) {
    for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 64) {
        const int tk_3 = tk0_3 + tk_t;
        // 38: for tm in tile(M) {
        // 39: out[start + tk, tm] = (x[start + tk, tm] - mean) * scale;
        float v_32[2][4];
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            tile_load_once_f32x4(v_32[tk_i], x + (start_i32 + (tk_3 + tk_i * 32)) * 64 + tm_t);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            float v_33[4];
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                v_33[tm_i] = (v_32[tk_i][tm_i] - mean) * scale;
            }
            tile_store_once_f32x4(out + (start_i32 + (tk_3 + tk_i * 32)) * 64 + tm_t, v_33);
        }
    }
    if (tk_full < length_i32) {
        const int tk0_4 = tk_full;
        const int tk_4 = tk0_4 + tk_t;
        float v_34[2][4];
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (tk0_4 + tk_i * 32 >= length_i32) break;
            tile_load_once_if_f32x4(v_34[tk_i], x + (start_i32 + (tk_4 + tk_i * 32)) * 64 + tm_t, tk_4 + tk_i * 32 < length_i32);
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (tk0_4 + tk_i * 32 >= length_i32) break;
            float v_35[4];
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                v_35[tm_i] = (v_34[tk_i][tm_i] - mean) * scale;
            }
            if (tk_4 + tk_i * 32 < length_i32) tile_store_once_f32x4(out + (start_i32 + (tk_4 + tk_i * 32)) * 64 + tm_t, v_35);
        }
    }
    tile_meet();
}
