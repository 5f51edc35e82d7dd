// jagged_dense_bmm from jagged_dense_bmm.tile, compiled by tilec 0.1.0
// (jagged: bf16[L, D], offsets: i64[B + 1], dense: bf16[B, D, K], bias: bf16[B, K]) -> out: bf16[L, K]
// T = bf16, I = i64, D = 64, K = 64, with bias; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 64 = vector 2 x lanes 32 x warps 1 x registers 1
//   tl: block 16 = vector 1 x lanes 1 x warps 4 x registers 4
//   td: block 16 = vector 1 x lanes 1 x warps 1 x registers 16
//   tb_find: block 128 = vector 1 x lanes 32 x warps 4 x registers 1
//   tb_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn_join: block 64 = vector 2 x lanes 32 x warps 1 x registers 1
//   tl_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   td_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tb_partial: block 32 = vector 1 x lanes 1 x warps 4 x registers 8
//   grid tn, tn_join, tb, tb_join; strategy chunks of 32; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, offsets ascends, dense at a multiple of 16 bytes, bias at a multiple of 16 bytes, out at a multiple of 16 bytes
// launches, in this order: jagged_dense_bmm_1, jagged_dense_bmm_2

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

static __device__ __forceinline__ void tile_load_bf16x2(float *v, const unsigned short *p) {
    const unsigned q0 = *(const unsigned *)p;
    v[0] = __uint_as_float(q0 << 16);
    v[1] = __uint_as_float(q0 & 0xffff0000u);
}

static __device__ __forceinline__ void tile_clear_f32x2(float *v) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) v[i] = 0;
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

static __device__ __forceinline__ void tile_store_bf16x2(unsigned short *p, const float *v) {
    *(unsigned *)p = (unsigned)tile_bf16_store(v[0]) | (unsigned)tile_bf16_store(v[1]) << 16;
}

// launch: ceil(… / 128) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_dense_bmm_1(const long long *__restrict__ offsets, int *__restrict__ found_5, int L, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_find_t = warp * 32 + lane;
    // 15: for (tb, tn) in tile(B, K) {
    const long long B_i64 = (long long)B;
    const long long i = (long long)(L / 32) + B_i64;
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
        const int i_21 = (i_7 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_8] : 0LL) / 32LL + i_8, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_9 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_10] : 0LL) / 32LL + i_10, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_11 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_12] : 0LL) / 32LL + i_12, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_13 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_14] : 0LL) / 32LL + i_14, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_15 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_16] : 0LL) / 32LL + i_16, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_17 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_18] : 0LL) / 32LL + i_18, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_19 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_20] : 0LL) / 32LL + i_20, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0);
        const long long i_22 = i_4 + (long long)i_21 * i_6;
        const long long i_23 = tile_mini_i64(i_22, i_5);
        const long long i_24 = tile_maxi_i64(i_21 == 7 ? i_5 : tile_mini_i64(i_5, i_22 + i_6 - 1LL), i_4);
        i_4 = i_23;
        i_5 = i_24;
    }
    if (inside) found_5[tb_find] = (int)i_4;
}

// launch: 1 * ((L / 32) + B) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_dense_bmm_2(const unsigned short *__restrict__ jagged, const long long *__restrict__ offsets, const unsigned short *__restrict__ dense, const unsigned short *__restrict__ bias, unsigned short *__restrict__ out, const int *__restrict__ found_5, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tn_t = lane * 2;
    const int tl_t = warp;
    const int tn0 = (int)(blockIdx.x % 1) * 64;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / 1);
    const long long row = tile_maxi_i64(tile_mini_i64((long long)found_5[(int)tb] - 1LL, (long long)(B - 1)), 0LL);
    const int row_i32 = (int)row;
    const long long start = offsets[row_i32];
    const long long begin = (tb - (start / 32LL + row)) * 32LL;
    const int begin_i32 = (int)tile_clampi_i64(begin, -2146435071LL, 2146435071LL);
    // 16: let start = offsets[tb];
    // 17: let length = offsets[tb + 1] - start;
    // 18: for tl in jagged_tile(length) {
    // 19: var acc: accum(T)[tb, tl, tn] = 0;
    // 20: for td in tile(D) {
    // 21: acc += dot[td](jagged[start + tl, td], dense[tb, td, tn]);
    // 23: if has(bias) { acc += bias[tb, tn]; }
    const int i = (int)tile_clampi_i64((begin_i32 >= 0 ? tile_mini_i64(begin + 32LL, offsets[row_i32 + 1] - start) : begin) - begin, -2146435071LL, 2146435071LL);
    const bool inside = 0 < i;
    const int begin_i32_2 = (int)begin;
    const int start_i32 = (int)start;
    float v_2[2];
    float v[2];
    if (inside) tile_load_bf16x2(v, bias + row_i32 * 64 + tn);
    else tile_clear_f32x2(v);
    #pragma unroll
    for (int tn_i = 0; tn_i < 2; ++tn_i) {
        v_2[tn_i] = v[tn_i];
    }
    for (int tl0 = 0; tl0 < i; tl0 += 16) {
        const int tl = tl0 + tl_t;
        bool inside_2[4];
        int i_2[4];
        #pragma unroll
        for (int tl_i = 0; tl_i < 4; ++tl_i) {
            inside_2[tl_i] = tl + tl_i * 4 < i;
            i_2[tl_i] = start_i32 + (begin_i32_2 + (tl + tl_i * 4));
        }
        float acc[4][2];
        #pragma unroll
        for (int tl_i = 0; tl_i < 4; ++tl_i) {
            #pragma unroll
            for (int tn_i = 0; tn_i < 2; ++tn_i) {
                acc[tl_i][tn_i] = 0.0f;
            }
        }
        for (int td0 = 0; td0 < 64; td0 += 16) {
            float v_3[4][16];
            #pragma unroll
            for (int tl_i = 0; tl_i < 4; ++tl_i) {
                #pragma unroll
                for (int td_i = 0; td_i < 16; ++td_i) {
                    v_3[tl_i][td_i] = (inside_2[tl_i] ? tile_bf16_load(jagged[i_2[tl_i] * 64 + (td0 + td_i)]) : 0.0f);
                }
            }
            float v_5[16][2];
            #pragma unroll
            for (int td_i = 0; td_i < 16; ++td_i) {
                float v_4[2];
                tile_load_bf16x2(v_4, dense + (row_i32 * 64 + (td0 + td_i)) * 64 + tn);
                #pragma unroll
                for (int tn_i = 0; tn_i < 2; ++tn_i) {
                    v_5[td_i][tn_i] = v_4[tn_i];
                }
            }
            #pragma unroll
            for (int tl_i = 0; tl_i < 4; ++tl_i) {
                #pragma unroll
                for (int td_i = 0; td_i < 16; ++td_i) {
                    #pragma unroll
                    for (int tn_i = 0; tn_i < 2; ++tn_i) {
                        acc[tl_i][tn_i] += inside_2[tl_i] ? v_3[tl_i][td_i] * v_5[td_i][tn_i] : 0.0f;
                    }
                }
            }
        }
        // 24: out[start + tl, tn] = acc;
        #pragma unroll
        for (int tl_i = 0; tl_i < 4; ++tl_i) {
            float acc_bf16[2];
            #pragma unroll
            for (int tn_i = 0; tn_i < 2; ++tn_i) {
                acc_bf16[tn_i] = tile_bf16_round(acc[tl_i][tn_i] + v_2[tn_i]);
            }
            if (inside_2[tl_i]) tile_store_bf16x2(out + i_2[tl_i] * 64 + tn, acc_bf16);
        }
    }
}
