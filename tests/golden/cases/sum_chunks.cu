// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: bf16[nnz, M], offsets: i64[B + 1]) -> out: bf16[B, M]
// T = bf16, I = i64, M = 64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 64 = vector 8 x lanes 8 x warps 1 x registers 1
//   tk: block 32 = vector 1 x lanes 4 x warps 4 x registers 2
//   tb_find: block 128 = vector 1 x lanes 32 x warps 4 x registers 1
//   tb_join: block 4 = vector 1 x lanes 1 x warps 4 x registers 1
//   tm_join: block 64 = vector 8 x lanes 8 x warps 1 x registers 1
//   tk_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tb_partial: block 32 = vector 1 x lanes 4 x warps 1 x registers 8
//   grid tm, tm_join, tb, tb_join; strategy chunks of 256; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, offsets ascends, out at a multiple of 16 bytes
// launches, in this order: jagged_sum_1, jagged_sum_2, jagged_sum_3

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

static __device__ __forceinline__ void tile_load_bf16x8(float *v, const unsigned short *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __uint_as_float(q0.x << 16);
    v[1] = __uint_as_float(q0.x & 0xffff0000u);
    v[2] = __uint_as_float(q0.y << 16);
    v[3] = __uint_as_float(q0.y & 0xffff0000u);
    v[4] = __uint_as_float(q0.z << 16);
    v[5] = __uint_as_float(q0.z & 0xffff0000u);
    v[6] = __uint_as_float(q0.w << 16);
    v[7] = __uint_as_float(q0.w & 0xffff0000u);
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

static __device__ __forceinline__ void tile_store_f32x8(float *p, const float *v) {
    *(uint4 *)p = make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
    *(uint4 *)(p + 4) = make_uint4(__float_as_uint(v[4]), __float_as_uint(v[5]), __float_as_uint(v[6]), __float_as_uint(v[7]));
}

static __device__ __forceinline__ long long tile_cdiv_i64(long long a, long long b) {
    return b == 0 ? 0 : b == -1 ? (long long)(0 - (unsigned long long)a) : a / b + (a % b != 0 && (a < 0) == (b < 0));
}

static __device__ __forceinline__ void tile_load_f32x8(float *v, const float *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
    const uint4 q1 = *(const uint4 *)(p + 4);
    v[4] = __uint_as_float(q1.x);
    v[5] = __uint_as_float(q1.y);
    v[6] = __uint_as_float(q1.z);
    v[7] = __uint_as_float(q1.w);
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

static __device__ __forceinline__ void tile_store_bf16x8(unsigned short *p, const float *v) {
    *(uint4 *)p = make_uint4((unsigned)tile_bf16_store(v[0]) | (unsigned)tile_bf16_store(v[1]) << 16, (unsigned)tile_bf16_store(v[2]) | (unsigned)tile_bf16_store(v[3]) << 16, (unsigned)tile_bf16_store(v[4]) | (unsigned)tile_bf16_store(v[5]) << 16, (unsigned)tile_bf16_store(v[6]) | (unsigned)tile_bf16_store(v[7]) << 16);
}

// launch: ceil(… / 128) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum_1(const long long *__restrict__ offsets, int *__restrict__ found_4, int nnz, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_find_t = warp * 32 + lane;
    // 14: for tb in tile(B) {
    const long long B_i64 = (long long)B;
    const long long i = (long long)(nnz / 256) + B_i64;
    const int i_2 = (int)tile_clampi_i64(i, -2146435071LL, 2146435071LL);
    const int tb_find0 = (int)blockIdx.x * 128;
    const int tb_find = tb_find0 + tb_find_t;
    const bool inside = tb_find < i_2;
    const long long i_3 = tile_f32_to_i64(log2f((float)B)) / 3LL + 2LL;
    long long i_4 = (long long)0;
    long long i_5 = (long long)B;
    for (long long turn = 0LL; turn < i_3; ++turn) {
        const long long i_6 = (i_5 - i_4 + 7LL) / 8LL;
        const long long i_7 = i_4 + i_6;
        const long long i_8 = tile_mini_i64(tile_maxi_i64(i_7 - 1LL, 0LL), B_i64);
        const bool inside_2 = i_4 < i_5;
        const long long i_9 = i_7 + i_6;
        const long long i_10 = tile_mini_i64(tile_maxi_i64(i_9 - 1LL, 0LL), B_i64);
        const long long i_11 = i_9 + i_6;
        const long long i_12 = tile_mini_i64(tile_maxi_i64(i_11 - 1LL, 0LL), B_i64);
        const long long i_13 = i_11 + i_6;
        const long long i_14 = tile_mini_i64(tile_maxi_i64(i_13 - 1LL, 0LL), B_i64);
        const long long i_15 = i_13 + i_6;
        const long long i_16 = tile_mini_i64(tile_maxi_i64(i_15 - 1LL, 0LL), B_i64);
        const long long i_17 = i_15 + i_6;
        const long long i_18 = tile_mini_i64(tile_maxi_i64(i_17 - 1LL, 0LL), B_i64);
        const long long i_19 = i_17 + i_6;
        const long long i_20 = tile_mini_i64(tile_maxi_i64(i_19 - 1LL, 0LL), B_i64);
        const int i_21 = (i_7 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_8] : 0LL) / 256LL + i_8, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_9 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_10] : 0LL) / 256LL + i_10, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_11 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_12] : 0LL) / 256LL + i_12, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_13 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_14] : 0LL) / 256LL + i_14, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_15 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_16] : 0LL) / 256LL + i_16, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_17 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_18] : 0LL) / 256LL + i_18, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_19 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_20] : 0LL) / 256LL + i_20, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0);
        const long long i_22 = i_4 + (long long)i_21 * i_6;
        const long long i_23 = tile_mini_i64(i_22, i_5);
        const long long i_24 = tile_maxi_i64(i_21 == 7 ? i_5 : tile_mini_i64(i_5, i_22 + i_6 - 1LL), i_4);
        i_4 = i_23;
        i_5 = i_24;
    }
    if (inside) found_4[tb_find] = (int)i_4;
}

// launch: 1 * ((nnz / 256) + B) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum_2(const unsigned short *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ partial_3, const int *__restrict__ found_4, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[1152];
    const int tm_t = (lane & 7) * 8;
    const int tk_t = warp * 4 + (lane >> 3 & 3);
    const int tm0 = (int)(blockIdx.x % 1) * 64;
    const int tm = tm0 + tm_t;
    const int tb = (int)(blockIdx.x / 1);
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const int i = (int)tb;
    const long long row = tile_maxi_i64(tile_mini_i64((long long)found_4[i] - 1LL, (long long)(B - 1)), 0LL);
    const int row_i32 = (int)row;
    const long long start = offsets[row_i32];
    const long long begin = (tb - (start / 256LL + row)) * 256LL;
    const int begin_i32 = (int)tile_clampi_i64(begin, -2146435071LL, 2146435071LL);
    const long long length = offsets[row_i32 + 1] - start;
    // 17: for tm in tile(M) {
    // 18: var acc: accum(T)[tb, tm] = 0;
    // 19: for tk in jagged_tile(length) {
    // 20: acc += sum[tk](x[start + tk, tm]);
    const int i_2 = (int)tile_clampi_i64((begin_i32 >= 0 ? tile_mini_i64(begin + 256LL, length) : begin) - begin, -2146435071LL, 2146435071LL);
    const int tk_full = i_2 - i_2 % 32;
    const int begin_i32_2 = (int)begin;
    const int start_i32 = (int)start;
    float acc[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        acc[tm_i] = 0.0f;
    }
    for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
        const int tk = tk0 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            float v[8];
            tile_load_bf16x8(v, x + (start_i32 + (begin_i32_2 + (tk + tk_i * 16))) * 64 + tm);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                acc[tm_i] += v[tm_i];
            }
        }
    }
    if (tk_full < i_2) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            float v_2[8];
            if (tk_2 + tk_i * 16 < i_2) tile_load_bf16x8(v_2, x + (start_i32 + (begin_i32_2 + (tk_2 + tk_i * 16))) * 64 + tm);
            else tile_clear_f32x8(v_2);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                acc[tm_i] += v_2[tm_i];
            }
        }
    }
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        acc[tm_i] = tile_sum_lanes_f32(acc[tm_i], 4, 8);
    }
    tile_sum_many_f32(&acc[0], 8, tile_shared, 4, 1, 8, 1);
    if ((thread & 120) == 0) tile_store_f32x8(partial_3 + i * 64 + tm, acc);
}

// launch: 1 * ceil(B / 4) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum_3(const long long *__restrict__ offsets, unsigned short *__restrict__ out, const float *__restrict__ partial_3, int nnz, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_join_t = warp;
    const int tm_join_t = (lane & 7) * 8;
    const int tb_partial_t = (lane >> 3 & 3);
    const long long B_i64 = (long long)B;
    const long long i = (long long)(nnz / 256) + B_i64;
    const int tm_join0 = (int)(blockIdx.x % 1) * 64;
    const int tm_join = tm_join0 + tm_join_t;
    const int tb_join0 = (int)(blockIdx.x / 1) * 4;
    const int tb_join = tb_join0 + tb_join_t;
    const bool inside = tb_join < B;
    const long long start = inside ? offsets[tb_join] : 0LL;
    const long long length = (inside ? offsets[tb_join + 1] : 0LL) - start;
    const long long i_2 = tile_maxi_i64(start / 256LL + (long long)tb_join, 0LL);
    const int i_3 = (int)tile_clampi_i64(tile_mini_i64(tile_cdiv_i64(tile_maxi_i64(length, 0LL), 256LL), i - i_2), -2146435071LL, 2146435071LL);
    int i_4 = inside ? i_3 : (-2147483647 - 1);
    const int i_5 = (int)i_2;
    float acc[8];
    #pragma unroll
    for (int tm_join_i = 0; tm_join_i < 8; ++tm_join_i) {
        acc[tm_join_i] = 0.0f;
    }
    for (int tb_partial0 = 0; tb_partial0 < i_4; tb_partial0 += 32) {
        const int tb_partial = tb_partial0 + tb_partial_t;
        #pragma unroll
        for (int tb_partial_i = 0; tb_partial_i < 8; ++tb_partial_i) {
            float v[8];
            if (inside && tb_partial + tb_partial_i * 4 < i_3) tile_load_f32x8(v, partial_3 + (i_5 + (tb_partial + tb_partial_i * 4)) * 64 + tm_join);
            else tile_clear_f32x8(v);
            #pragma unroll
            for (int tm_join_i = 0; tm_join_i < 8; ++tm_join_i) {
                acc[tm_join_i] += v[tm_join_i];
            }
        }
    }
    #pragma unroll
    for (int tm_join_i = 0; tm_join_i < 8; ++tm_join_i) {
        acc[tm_join_i] = tile_sum_lanes_f32(acc[tm_join_i], 4, 8);
    }
    // 22: out[tb, tm] = acc;
    float acc_bf16[8];
    #pragma unroll
    for (int tm_join_i = 0; tm_join_i < 8; ++tm_join_i) {
        acc_bf16[tm_join_i] = tile_bf16_round(acc[tm_join_i]);
    }
    if ((thread & 24) == 0 && inside) tile_store_bf16x8(out + tb_join * 64 + tm_join, acc_bf16);
}
