// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> out: f32[B, M]
// T = f32, I = i64, M = 64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 64 = vector 4 x lanes 16 x warps 1 x registers 1
//   tk: block 32 = vector 1 x lanes 2 x warps 4 x registers 4
//   tb_find: block 128 = vector 1 x lanes 32 x warps 4 x registers 1
//   tb_join: block 2 = vector 1 x lanes 1 x warps 2 x registers 1
//   tm_join: block 64 = vector 4 x lanes 16 x warps 1 x registers 1
//   tk_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tb_partial: block 32 = vector 1 x lanes 2 x warps 2 x registers 8
//   tb_share: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   grid tm, tm_join, tb_join, tb_share; strategy flat of 512 by search; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, offsets ascends, out at a multiple of 16 bytes
// launches, in this order: jagged_sum_1, jagged_sum_2

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ long long tile_f32_to_i64(float x) {
    return x != x ? 0 : x >= 9223372036854775808.0f ? 9223372036854775807LL : x <= -9223372036854775808.0f ? (-9223372036854775807LL - 1) : (long long)x;
}

static __device__ __forceinline__ long long tile_mini_i64(long long a, long long b) {
    return a < b ? a : b;
}

static __device__ __forceinline__ long long tile_maxi_i64(long long a, long long b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ int tile_maxi_i32(int a, int b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ int tile_mini_i32(int a, int b) {
    return a < b ? a : b;
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

static __device__ __forceinline__ void tile_store_f32x4(float *p, const float *v) {
    *(uint4 *)p = make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
}

// launch: 1 * ((nnz / 512) + 1) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum_1(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, float *__restrict__ partial_3, int nnz, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[2048];
    const int tm_t = (lane & 15) * 4;
    const int tk_t = warp * 2 + (lane >> 4 & 1);
    const int tm0 = (int)(blockIdx.x % 1) * 64;
    const int tm = tm0 + tm_t;
    const int tb_share = (int)(blockIdx.x / 1);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    // 17: for tm in tile(M) {
    const long long i = (long long)tb_share * 512LL;
    const int i_2 = (int)tile_clampi_i64((long long)nnz - i, 0LL, 512LL);
    const long long i_3 = tile_f32_to_i64(log2f((float)B)) / 3LL + 2LL;
    const long long i_4 = (long long)(tb_share + 1) * 512LL;
    const long long B_i64 = (long long)B;
    long long low = 0LL;
    long long high = B_i64;
    long long low_2 = 0LL;
    long long high_2 = B_i64;
    for (long long turn = 0LL; turn < i_3; ++turn) {
        const long long i_5 = (high - low + 7LL) / 8LL;
        const long long i_6 = low + i_5;
        const bool inside = low < high;
        const long long i_7 = i_6 + i_5;
        const long long i_8 = i_7 + i_5;
        const long long i_9 = i_8 + i_5;
        const long long i_10 = i_9 + i_5;
        const long long i_11 = i_10 + i_5;
        const long long i_12 = i_11 + i_5;
        const int i_13 = (i_6 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_6 - 1LL, 0LL), B_i64)] < i ? 1 : 0) + (i_7 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_7 - 1LL, 0LL), B_i64)] < i ? 1 : 0) + (i_8 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_8 - 1LL, 0LL), B_i64)] < i ? 1 : 0) + (i_9 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_9 - 1LL, 0LL), B_i64)] < i ? 1 : 0) + (i_10 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_10 - 1LL, 0LL), B_i64)] < i ? 1 : 0) + (i_11 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_11 - 1LL, 0LL), B_i64)] < i ? 1 : 0) + (i_12 <= high & inside & offsets[(int)tile_mini_i64(tile_maxi_i64(i_12 - 1LL, 0LL), B_i64)] < i ? 1 : 0);
        const long long i_14 = low + (long long)i_13 * i_5;
        const long long i_15 = tile_mini_i64(i_14, high);
        const long long i_16 = tile_maxi_i64(i_13 == 7 ? high : tile_mini_i64(high, i_14 + i_5 - 1LL), low);
        const long long i_17 = (high_2 - low_2 + 7LL) / 8LL;
        const long long i_18 = low_2 + i_17;
        const bool inside_2 = low_2 < high_2;
        const long long i_19 = i_18 + i_17;
        const long long i_20 = i_19 + i_17;
        const long long i_21 = i_20 + i_17;
        const long long i_22 = i_21 + i_17;
        const long long i_23 = i_22 + i_17;
        const long long i_24 = i_23 + i_17;
        const int i_25 = (i_18 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_18 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0) + (i_19 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_19 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0) + (i_20 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_20 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0) + (i_21 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_21 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0) + (i_22 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_22 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0) + (i_23 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_23 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0) + (i_24 <= high_2 & inside_2 & offsets[(int)tile_mini_i64(tile_maxi_i64(i_24 - 1LL, 0LL), B_i64)] < i_4 ? 1 : 0);
        const long long i_26 = low_2 + (long long)i_25 * i_17;
        const long long i_27 = tile_mini_i64(i_26, high_2);
        const long long i_28 = tile_maxi_i64(i_25 == 7 ? high_2 : tile_mini_i64(high_2, i_26 + i_17 - 1LL), low_2);
        low = i_15;
        high = i_16;
        low_2 = i_27;
        high_2 = i_28;
    }
    const long long i_29 = tile_maxi_i64(low - 1LL, 0LL);
    const int i_30 = (int)tile_clampi_i64(low_2 - i_29, -2146435071LL, 2146435071LL);
    for (int tb = 0; tb < i_30; ++tb) {
        const bool inside_3 = tb < i_30;
        // 18: var acc: accum(T)[tb, tm] = 0;
        // 19: for tk in jagged_tile(length) {
        // 20: acc += sum[tk](x[start + tk, tm]);
        // 22: out[tb, tm] = acc;
        if (inside_3) {
            const int row = (int)i_29 + tb;
            const long long start = offsets[row];
            const int i_31 = (int)tile_clampi_i64(start - i, -1LL, 513LL);
            const int i_32 = (int)tile_clampi_i64(start + tile_maxi_i64(offsets[row + 1] - start, 0LL) - i, -1LL, 513LL);
            const bool inside_4 = i_31 >= 0;
            const bool inside_5 = inside_4 && i_32 <= i_2;
            const int i_33 = tile_maxi_i32(i_31, 0);
            const int i_34 = tile_mini_i32(i_32, i_2) - i_33;
            const bool inside_6 = i_34 > 0;
            const int start_i32 = (int)start;
            const int i_35 = (int)i + i_33 - start_i32;
            const int i_36 = (int)tile_clampi_i64((long long)i_34, -2146435071LL, 2146435071LL);
            const int tk_full = i_36 - i_36 % 32;
            float acc[4];
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                acc[tm_i] = 0.0f;
            }
            for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
                const int tk = tk0 + tk_t;
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    float v[4];
                    tile_load_f32x4(v, x + (start_i32 + (i_35 + (tk + tk_i * 8))) * 64 + tm);
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        acc[tm_i] += v[tm_i];
                    }
                }
            }
            if (tk_full < i_36) {
                const int tk0_2 = tk_full;
                const int tk_2 = tk0_2 + tk_t;
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    float v_2[4];
                    if (tk_2 + tk_i * 8 < i_36) tile_load_f32x4(v_2, x + (start_i32 + (i_35 + (tk_2 + tk_i * 8))) * 64 + tm);
                    else tile_clear_f32x4(v_2);
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        acc[tm_i] += v_2[tm_i];
                    }
                }
            }
            #pragma unroll
            for (int tm_i = 0; tm_i < 4; ++tm_i) {
                acc[tm_i] = tile_sum_lanes_f32(acc[tm_i], 2, 16);
            }
            tile_sum_warps_f32(&acc[0], 4, tile_shared, 4, 1);
            const bool inside_7 = inside_6 && !inside_5;
            const int i_37 = tb_share * 2 + (inside_4 ? 1 : 0);
            if (inside_7) {
                if ((thread & 112) == 0) tile_store_f32x4(partial_3 + i_37 * 64 + tm, acc);
            }
            if (inside_5) {
                if ((thread & 112) == 0) tile_store_f32x4(out + row * 64 + tm, acc);
            }
        }
    }
}

// launch: 1 * ceil((nnz / 512) / 2) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum_2(const long long *__restrict__ offsets, float *__restrict__ out, const float *__restrict__ partial_3, int nnz, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[2048];
    const int tb_join_t = (warp >> 1 & 1);
    const int tm_join_t = (lane & 15) * 4;
    const int tb_partial_t = (warp & 1) * 2 + (lane >> 4 & 1);
    const int i = nnz / 512;
    const int tm_join0 = (int)(blockIdx.x % 1) * 64;
    const int tm_join = tm_join0 + tm_join_t;
    const int tb_join0 = (int)(blockIdx.x / 1) * 2;
    const int tb_join = tb_join0 + tb_join_t;
    const bool inside = tb_join < i;
    const long long i_2 = tile_f32_to_i64(log2f((float)B)) / 3LL + 2LL;
    const long long i_3 = (long long)(tb_join + 1) * 512LL;
    long long i_4 = (long long)0;
    long long i_5 = (long long)B;
    const long long B_i64 = (long long)B;
    for (long long turn = 0LL; turn < i_2; ++turn) {
        const long long i_6 = (i_5 - i_4 + 7LL) / 8LL;
        const long long i_7 = i_4 + i_6;
        const bool inside_2 = i_4 < i_5;
        const long long i_8 = i_7 + i_6;
        const long long i_9 = i_8 + i_6;
        const long long i_10 = i_9 + i_6;
        const long long i_11 = i_10 + i_6;
        const long long i_12 = i_11 + i_6;
        const long long i_13 = i_12 + i_6;
        const int i_14 = (i_7 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_7 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0) + (i_8 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_8 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0) + (i_9 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_9 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0) + (i_10 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_10 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0) + (i_11 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_11 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0) + (i_12 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_12 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0) + (i_13 <= i_5 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_13 - 1LL, 0LL), B_i64)] : 0LL) < i_3 ? 1 : 0);
        const long long i_15 = i_4 + (long long)i_14 * i_6;
        const long long i_16 = tile_mini_i64(i_15, i_5);
        const long long i_17 = tile_maxi_i64(i_14 == 7 ? i_5 : tile_mini_i64(i_5, i_15 + i_6 - 1LL), i_4);
        i_4 = i_16;
        i_5 = i_17;
    }
    const long long row = tile_maxi_i64(i_4 - 1LL, 0LL);
    const long long i_18 = (long long)tb_join;
    const long long i_19 = i_18 * 512LL;
    const int row_i32 = (int)row;
    const long long start = inside ? offsets[row_i32] : 0LL;
    const long long length = (inside ? offsets[row_i32 + 1] : 0LL) - start;
    const int i_20 = (int)tile_clampi_i64(start - i_19, -1LL, 513LL);
    const bool inside_3 = i_20 >= 0;
    const bool inside_4 = (int)tile_clampi_i64(start + tile_maxi_i64(length, 0LL) - i_19, -1LL, 513LL) > 512;
    const bool inside_5 = i_20 < 512;
    const bool inside_6 = inside_3 && (inside_4 && inside_5);
    const long long i_21 = inside_6 ? tile_mini_i64((start + length - 1LL) / 512LL, (long long)i) - i_18 + 1LL : 0LL;
    long long i_22 = inside ? i_21 : (-9223372036854775807LL - 1);
    float acc[4];
    #pragma unroll
    for (int tm_join_i = 0; tm_join_i < 4; ++tm_join_i) {
        acc[tm_join_i] = 0.0f;
    }
    for (long long tb_partial0 = 0LL; tb_partial0 < i_22; tb_partial0 += 32) {
        const long long tb_partial = tb_partial0 + tb_partial_t;
        int i_23[8];
        #pragma unroll
        for (int tb_partial_i = 0; tb_partial_i < 8; ++tb_partial_i) {
            i_23[tb_partial_i] = (int)tile_clampi_i64(tb_partial + tb_partial_i * 4, -2146435071LL, 2146435071LL) == 0 ? 1 : 0;
        }
        #pragma unroll
        for (int tb_partial_i = 0; tb_partial_i < 8; ++tb_partial_i) {
            float v[4];
            if (inside && tb_partial + tb_partial_i * 4 < i_21) tile_load_f32x4(v, partial_3 + ((tb_join + (int)(tb_partial + tb_partial_i * 4)) * 2 + i_23[tb_partial_i]) * 64 + tm_join);
            else tile_clear_f32x4(v);
            #pragma unroll
            for (int tm_join_i = 0; tm_join_i < 4; ++tm_join_i) {
                acc[tm_join_i] += v[tm_join_i];
            }
        }
    }
    #pragma unroll
    for (int tm_join_i = 0; tm_join_i < 4; ++tm_join_i) {
        acc[tm_join_i] = tile_sum_lanes_f32(acc[tm_join_i], 2, 16);
    }
    tile_sum_warps_f32(&acc[0], 4, tile_shared, 2, 1);
    const bool inside_7 = inside && inside_3 && inside_4 && inside_5;
    if ((thread & 48) == 0 && inside_7) tile_store_f32x4(out + row_i32 * 64 + tm_join, acc);
}
