// jagged_sum_1d from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f32[nnz], offsets: i64[B + 1]) -> out: f32[B]
// T = f32, I = i64; 32-bit indices
//   tb: block 8 = vector 1 x lanes 4 x warps 2 x registers 1
//   tk: block 32 = vector 1 x lanes 8 x warps 1 x registers 4
//   tb_find: block 64 = vector 1 x lanes 32 x warps 2 x registers 1
//   tb_join: block 16 = vector 1 x lanes 8 x warps 2 x registers 1
//   tk_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tb_partial: block 32 = vector 1 x lanes 4 x warps 1 x registers 8
//   tb_share: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tb_stage: block 1024 = vector 4 x lanes 32 x warps 2 x registers 4
//   tb_rest: block 4 = vector 1 x lanes 4 x warps 1 x registers 1
//   tb_few: block 2 = vector 1 x lanes 1 x warps 2 x registers 1
//   tk_few: block 256 = vector 1 x lanes 32 x warps 1 x registers 8
//   tb_lone: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tk_lone: block 512 = vector 1 x lanes 32 x warps 2 x registers 8
//   grid tb_join, tb_share; strategy flat of 1024 staged in bulk; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, offsets ascends
// launches, in this order: jagged_sum_1d_1, jagged_sum_1d_2, jagged_sum_1d_3

static __device__ __forceinline__ long long tile_f32_to_i64(float x) {
    return x != x ? 0 : x >= 9223372036854775808.0f ? 9223372036854775807LL : x <= -9223372036854775808.0f ? (-9223372036854775807LL - 1) : (long long)x;
}

static __device__ __forceinline__ long long tile_mini_i64(long long a, long long b) {
    return a < b ? a : b;
}

static __device__ __forceinline__ long long tile_maxi_i64(long long a, long long b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ void tile_fetch(void *to, const void *from, const int bytes, unsigned long long *full) {
    if (threadIdx.x == 0) {
        const unsigned barrier = (unsigned)__cvta_generic_to_shared(full);
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n"
            "fence.mbarrier_init.release.cluster;\n"
            "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
        if (bytes > 0)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                : : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes), "r"(barrier) : "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ int tile_maxi_i32(int a, int b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ int tile_mini_i32(int a, int b) {
    return a < b ? a : b;
}

static __device__ __forceinline__ void tile_fetched(unsigned long long *full) {
    const unsigned barrier = (unsigned)__cvta_generic_to_shared(full);
    unsigned done;
    do {
        asm volatile("{ .reg .pred p;\n"
            "mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
            "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
    } while (!done);
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

static __device__ __forceinline__ int tile_max_lanes_i32(int v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, v, o);
        v = tile_maxi_i32(v, other);
    }
    return v;
}

static __device__ __forceinline__ long long tile_max_lanes_i64(long long v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const long long other = __shfl_xor_sync(0xffffffffu, v, o);
        v = tile_maxi_i64(v, other);
    }
    return v;
}

// launch: ceil((((nnz / 1024) + 1) + 1) / 64) blocks of 64 threads
extern "C" __global__ void __launch_bounds__(64) jagged_sum_1d_1(const long long *__restrict__ offsets, int *__restrict__ found_4, int nnz, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_find_t = warp * 32 + lane;
    // 33: for tb in tile(B) {
    const int i = nnz / 1024;
    const int i_2 = i + 1;
    const int i_3 = i_2 + 1;
    const int tb_find0 = (int)blockIdx.x * 64;
    const int tb_find = tb_find0 + tb_find_t;
    const bool inside = tb_find < i_3;
    const long long i_4 = tile_f32_to_i64(log2f((float)B)) / 3LL + 2LL;
    const long long i_5 = (long long)tb_find * 1024LL;
    long long i_6 = (long long)0;
    long long i_7 = (long long)B;
    const long long B_i64 = (long long)B;
    for (long long turn = 0LL; turn < i_4; ++turn) {
        const long long i_8 = (i_7 - i_6 + 7LL) / 8LL;
        const long long i_9 = i_6 + i_8;
        const bool inside_2 = i_6 < i_7;
        const long long i_10 = i_9 + i_8;
        const long long i_11 = i_10 + i_8;
        const long long i_12 = i_11 + i_8;
        const long long i_13 = i_12 + i_8;
        const long long i_14 = i_13 + i_8;
        const long long i_15 = i_14 + i_8;
        const int i_16 = (i_9 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_9 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0) + (i_10 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_10 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0) + (i_11 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_11 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0) + (i_12 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_12 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0) + (i_13 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_13 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0) + (i_14 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_14 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0) + (i_15 <= i_7 & inside_2 & (inside ? offsets[(int)tile_mini_i64(tile_maxi_i64(i_15 - 1LL, 0LL), B_i64)] : 0LL) < i_5 ? 1 : 0);
        const long long i_17 = i_6 + (long long)i_16 * i_8;
        const long long i_18 = tile_mini_i64(i_17, i_7);
        const long long i_19 = tile_maxi_i64(i_16 == 7 ? i_7 : tile_mini_i64(i_7, i_17 + i_8 - 1LL), i_6);
        i_6 = i_18;
        i_7 = i_19;
    }
    if (inside) found_4[tb_find] = (int)i_6;
}

// launch: ((nnz / 1024) + 1) blocks of 64 threads
extern "C" __global__ void __launch_bounds__(64) jagged_sum_1d_2(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, float *__restrict__ partial_3, const int *__restrict__ found_4, int nnz) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[256];
    __shared__ __align__(16) float x_5[1024];
    __shared__ unsigned long long x_5_full;
    const int tb_rest_t = (lane & 3);
    const int tk_lone_t = warp * 32 + lane;
    const int tb_few_t = warp;
    const int tk_few_t = lane;
    const int tb_t = warp * 4 + (lane >> 3 & 3);
    const int tk_t = (lane & 7);
    const int tb_share = (int)blockIdx.x;
    const long long i = (long long)tb_share * 1024LL;
    const int i_2 = (int)tile_clampi_i64((long long)nnz - i, 0LL, 1024LL);
    const long long i_3 = tile_maxi_i64((long long)found_4[tb_share] - 1LL, 0LL);
    const int i_4 = (int)tile_clampi_i64((long long)found_4[tb_share + 1] - i_3, -2146435071LL, 2146435071LL);
    const int i_5 = i_2 / 4 * 4;
    tile_fetch(x_5, x + i, (int)i_5 * 4, &x_5_full);
    const bool inside = i_5 < i_2;
    if (inside) {
        __syncthreads();
        const int i_6 = i_5 + tb_rest_t;
        const bool inside_2 = i_6 < i_2;
        if ((thread & 60) == 0 && inside_2) x_5[i_6] = inside_2 ? x[(int)i + i_6] : 0.0f;
        __syncthreads();
    }
    const bool inside_3 = i_4 <= 2;
    if (inside_3) {
        for (int tb_lone = 0; tb_lone < i_4; ++tb_lone) {
            const bool inside_4 = tb_lone < i_4;
            // 34: let start = offsets[tb];
            // 35: let length = offsets[tb + 1] - start;
            // 36: var acc: accum(T)[tb] = 0;
            // 37: for tk in jagged_tile(length) {
            // 38: acc += sum[tk](x[start + tk]);
            // 40: out[tb] = acc;
            if (inside_4) {
                const int row = (int)i_3 + tb_lone;
                const long long start = offsets[row];
                const int i_7 = (int)tile_clampi_i64(start - i, -1LL, 1025LL);
                const int i_8 = (int)tile_clampi_i64(start + tile_maxi_i64(offsets[row + 1] - start, 0LL) - i, -1LL, 1025LL);
                const bool inside_5 = i_7 >= 0;
                const bool inside_6 = inside_5 && i_8 <= i_2;
                const int i_9 = tile_maxi_i32(i_7, 0);
                const int i_10 = tile_mini_i32(i_8, i_2) - i_9;
                const bool inside_7 = i_10 > 0;
                const int i_11 = (int)i;
                const int start_i32 = (int)start;
                const int i_12 = i_11 + i_9 - start_i32;
                tile_fetched(&x_5_full);
                const int i_13 = (int)tile_clampi_i64((long long)i_10, -2146435071LL, 2146435071LL);
                const int tk_lone_full = i_13 - i_13 % 512;
                const int i_14 = -i_11;
                float acc = 0.0f;
                for (int tk_lone0 = 0; tk_lone0 < tk_lone_full; tk_lone0 += 512) {
                    const int tk_lone = tk_lone0 + tk_lone_t;
                    #pragma unroll
                    for (int tk_lone_i = 0; tk_lone_i < 8; ++tk_lone_i) {
                        const float v = x_5[start_i32 + (i_12 + (tk_lone + tk_lone_i * 64)) + i_14];
                        acc += v;
                    }
                }
                if (tk_lone_full < i_13) {
                    const int tk_lone0_2 = tk_lone_full;
                    const int tk_lone_2 = tk_lone0_2 + tk_lone_t;
                    #pragma unroll
                    for (int tk_lone_i = 0; tk_lone_i < 8; ++tk_lone_i) {
                        const float v_2 = tk_lone_2 + tk_lone_i * 64 < i_13 ? x_5[start_i32 + (i_12 + (tk_lone_2 + tk_lone_i * 64)) + i_14] : 0.0f;
                        acc += v_2;
                    }
                }
                const bool inside_8 = inside_7 && !inside_6;
                const int i_15 = tb_share * 2 + (inside_5 ? 1 : 0);
                acc = tile_sum_lanes_f32(acc, 32, 1);
                tile_sum_warps_f32(&acc, 1, tile_shared, 2, 1);
                if (inside_8) {
                    if (thread == 0) partial_3[i_15] = acc;
                }
                if (inside_6) {
                    if (thread == 0) out[row] = acc;
                }
            }
        }
    } else {
        const bool inside_9 = i_4 <= 8;
        if (inside_9) {
            const int i_16 = (int)i;
            const int i_17 = -i_16;
            const int i_18 = tb_share * 2;
            const int i_19 = (int)i_3;
            for (int tb_few0 = 0; tb_few0 < i_4; tb_few0 += 2) {
                const int tb_few = tb_few0 + tb_few_t;
                const bool inside_10 = tb_few < i_4;
                const int row_2 = i_19 + tb_few;
                const long long start_2 = inside_10 ? offsets[row_2] : 0LL;
                const int i_20 = (int)tile_clampi_i64(start_2 - i, -1LL, 1025LL);
                const int i_21 = (int)tile_clampi_i64(start_2 + tile_maxi_i64((inside_10 ? offsets[row_2 + 1] : 0LL) - start_2, 0LL) - i, -1LL, 1025LL);
                const bool inside_11 = i_20 >= 0;
                const bool inside_12 = i_21 <= i_2;
                const bool inside_13 = inside_11 && inside_12;
                const int i_22 = tile_maxi_i32(i_20, 0);
                const int i_23 = tile_mini_i32(i_21, i_2) - i_22;
                const bool inside_14 = i_23 > 0;
                const int start_i32_2 = (int)start_2;
                const int i_24 = i_16 + i_22 - start_i32_2;
                tile_fetched(&x_5_full);
                const int i_25 = (int)tile_clampi_i64((long long)i_23, -2146435071LL, 2146435071LL);
                int i_26 = inside_10 ? i_25 : (-2147483647 - 1);
                float acc_2 = 0.0f;
                for (int tk_few0 = 0; tk_few0 < i_26; tk_few0 += 256) {
                    const int tk_few = tk_few0 + tk_few_t;
                    #pragma unroll
                    for (int tk_few_i = 0; tk_few_i < 8; ++tk_few_i) {
                        const float v_3 = inside_10 && tk_few + tk_few_i * 32 < i_25 ? x_5[start_i32_2 + (i_24 + (tk_few + tk_few_i * 32)) + i_17] : 0.0f;
                        acc_2 += v_3;
                    }
                }
                const int i_27 = i_18 + (inside_11 ? 1 : 0);
                const bool inside_15 = inside_10 && inside_14 && !inside_13;
                const bool inside_16 = inside_10 && inside_11 && inside_12;
                acc_2 = tile_sum_lanes_f32(acc_2, 32, 1);
                if ((thread & 31) == 0 && inside_15) partial_3[i_27] = acc_2;
                if ((thread & 31) == 0 && inside_16) out[row_2] = acc_2;
            }
        } else {
            const int i_28 = (int)i;
            const int i_29 = -i_28;
            const int i_30 = tb_share * 2;
            const int i_31 = (int)i_3;
            for (int tb0 = 0; tb0 < i_4; tb0 += 8) {
                const int tb = tb0 + tb_t;
                const bool inside_17 = tb < i_4;
                const int row_3 = i_31 + tb;
                const long long start_3 = inside_17 ? offsets[row_3] : 0LL;
                const int i_32 = (int)tile_clampi_i64(start_3 - i, -1LL, 1025LL);
                const int i_33 = (int)tile_clampi_i64(start_3 + tile_maxi_i64((inside_17 ? offsets[row_3 + 1] : 0LL) - start_3, 0LL) - i, -1LL, 1025LL);
                const bool inside_18 = i_32 >= 0;
                const bool inside_19 = i_33 <= i_2;
                const bool inside_20 = inside_18 && inside_19;
                const int i_34 = tile_maxi_i32(i_32, 0);
                const int i_35 = tile_mini_i32(i_33, i_2) - i_34;
                const bool inside_21 = i_35 > 0;
                const int start_i32_3 = (int)start_3;
                const int i_36 = i_28 + i_34 - start_i32_3;
                tile_fetched(&x_5_full);
                const int i_37 = (int)tile_clampi_i64((long long)i_35, -2146435071LL, 2146435071LL);
                int i_38 = inside_17 ? i_37 : (-2147483647 - 1);
                float acc_3 = 0.0f;
                i_38 = tile_max_lanes_i32(i_38, 4, 8);
                for (int tk0 = 0; tk0 < i_38; tk0 += 32) {
                    const int tk = tk0 + tk_t;
                    #pragma unroll
                    for (int tk_i = 0; tk_i < 4; ++tk_i) {
                        const float v_4 = inside_17 && tk + tk_i * 8 < i_37 ? x_5[start_i32_3 + (i_36 + (tk + tk_i * 8)) + i_29] : 0.0f;
                        acc_3 += v_4;
                    }
                }
                const int i_39 = i_30 + (inside_18 ? 1 : 0);
                const bool inside_22 = inside_17 && inside_21 && !inside_20;
                const bool inside_23 = inside_17 && inside_18 && inside_19;
                acc_3 = tile_sum_lanes_f32(acc_3, 8, 1);
                if ((thread & 7) == 0 && inside_22) partial_3[i_39] = acc_3;
                if ((thread & 7) == 0 && inside_23) out[row_3] = acc_3;
            }
        }
    }
    tile_fetched(&x_5_full);
}

// launch: ceil((nnz / 1024) / 16) blocks of 64 threads
extern "C" __global__ void __launch_bounds__(64) jagged_sum_1d_3(const long long *__restrict__ offsets, float *__restrict__ out, const float *__restrict__ partial_3, const int *__restrict__ found_4, int nnz) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_join_t = warp * 8 + (lane & 7);
    const int tb_partial_t = (lane >> 3 & 3);
    const int i = nnz / 1024;
    const int tb_join0 = (int)blockIdx.x * 16;
    const int tb_join = tb_join0 + tb_join_t;
    const bool inside = tb_join < i;
    const long long row = tile_maxi_i64((long long)(inside ? found_4[tb_join + 1] : 0) - 1LL, 0LL);
    const long long i_2 = (long long)tb_join;
    const long long i_3 = i_2 * 1024LL;
    const int row_i32 = (int)row;
    const long long start = inside ? offsets[row_i32] : 0LL;
    const long long length = (inside ? offsets[row_i32 + 1] : 0LL) - start;
    const int i_4 = (int)tile_clampi_i64(start - i_3, -1LL, 1025LL);
    const bool inside_2 = i_4 >= 0;
    const bool inside_3 = (int)tile_clampi_i64(start + tile_maxi_i64(length, 0LL) - i_3, -1LL, 1025LL) > 1024;
    const bool inside_4 = i_4 < 1024;
    const long long i_5 = inside_2 && (inside_3 && inside_4) ? tile_mini_i64((start + length - 1LL) / 1024LL, (long long)i) - i_2 + 1LL : 0LL;
    long long i_6 = inside ? i_5 : (-9223372036854775807LL - 1);
    float acc = 0.0f;
    i_6 = tile_max_lanes_i64(i_6, 8, 1);
    for (long long tb_partial0 = 0LL; tb_partial0 < i_6; tb_partial0 += 32) {
        const long long tb_partial = tb_partial0 + tb_partial_t;
        #pragma unroll
        for (int tb_partial_i = 0; tb_partial_i < 8; ++tb_partial_i) {
            acc += inside && tb_partial + tb_partial_i * 4 < i_5 ? partial_3[(tb_join + (int)(tb_partial + tb_partial_i * 4)) * 2 + ((int)tile_clampi_i64(tb_partial + tb_partial_i * 4, -2146435071LL, 2146435071LL) == 0 ? 1 : 0)] : 0.0f;
        }
    }
    const bool inside_5 = inside && inside_2 && inside_3 && inside_4;
    acc = tile_sum_lanes_f32(acc, 4, 8);
    if ((thread & 24) == 0 && inside_5) out[row_i32] = acc;
}
