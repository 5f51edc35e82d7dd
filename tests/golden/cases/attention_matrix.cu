// jagged_hstu_attention from jagged_hstu_attention.tile, compiled by tilec 0.1.0
// (q: bf16[N, H, D], k: bf16[N, H, D], v: bf16[N, H, E], offsets: i64[B + 1], alpha: f32, scale: f32) -> out: bf16[N, H, E]
// T = bf16, I = i64, D = 64, E = 64; 32-bit indices
//   d: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   e: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   th: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tq: block 64 = vector 1 x lanes 8 x warps 4 x registers 2
//   tk: block 32 = vector 2 x lanes 4 x warps 1 x registers 4
//   tb_find: block 128 = vector 1 x lanes 32 x warps 4 x registers 1
//   grid th, tb; strategy chunks of 64; dot mma, stages 1; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, offsets ascends, out at a multiple of 16 bytes
// launches, in this order: jagged_hstu_attention_1, jagged_hstu_attention_2

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

static __device__ __forceinline__ void tile_copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

static __device__ __forceinline__ int tile_cell(const int row, const int chunk, const int chunks) {
    const int turn = chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;
    return (row * chunks + (chunk ^ turn)) * 16;
}

static __device__ __forceinline__ void tile_copy_16(const unsigned at, const void *from, const bool inside) {
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void tile_copies_end() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ __forceinline__ void tile_matrices_4(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}

static __device__ __forceinline__ void tile_mma_bf16(float *c, float *d, const unsigned *a, const unsigned *b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(d[0]), "+f"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ float tile_exp_rough(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
    return power;
}

static __device__ __forceinline__ float tile_reciprocal_rough(float x) {
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
    return reciprocal;
}

static __device__ __forceinline__ float tile_sigmoid_rough(float x) {
    return tile_reciprocal_rough(1.0f + tile_exp_rough(-x));
}

static __device__ __forceinline__ float tile_silu_rough(float x) {
    return x * tile_sigmoid_rough(x);
}

static __device__ __forceinline__ unsigned tile_pack_bf16(const float low, const float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

static __device__ __forceinline__ void tile_matrices_4_transposed(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
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

static __device__ __forceinline__ void tile_turn_quad(unsigned *w, const int lane) {
    const unsigned all = 0xffffffffu;
    const bool odd = lane & 1, upper = lane & 2;
    const unsigned a = __shfl_xor_sync(all, odd ? w[0] : w[1], 1), b = __shfl_xor_sync(all, odd ? w[2] : w[3], 1);
    w[0] = odd ? a : w[0], w[1] = odd ? w[1] : a, w[2] = odd ? b : w[2], w[3] = odd ? w[3] : b;
    const unsigned c = __shfl_xor_sync(all, upper ? w[0] : w[2], 2), d = __shfl_xor_sync(all, upper ? w[1] : w[3], 2);
    w[0] = upper ? c : w[0], w[1] = upper ? d : w[1], w[2] = upper ? w[2] : c, w[3] = upper ? w[3] : d;
}

static __device__ __forceinline__ void tile_store_quad(void *p, const unsigned *w) {
    *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
}

static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

// launch: ceil(… / 128) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_hstu_attention_1(const long long *__restrict__ offsets, int *__restrict__ found_7, int N, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_find_t = warp * 32 + lane;
    // 18: axis d = D;
    // 19: axis e = E;
    // 20: for (tb, th) in tile(B, H) {
    const long long B_i64 = (long long)B;
    const long long i = (long long)(N / 64) + B_i64;
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
        const int i_21 = (i_7 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_8] : 0LL) / 64LL + i_8, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_9 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_10] : 0LL) / 64LL + i_10, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_11 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_12] : 0LL) / 64LL + i_12, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_13 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_14] : 0LL) / 64LL + i_14, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_15 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_16] : 0LL) / 64LL + i_16, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_17 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_18] : 0LL) / 64LL + i_18, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_19 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_20] : 0LL) / 64LL + i_20, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0);
        const long long i_22 = i_4 + (long long)i_21 * i_6;
        const long long i_23 = tile_mini_i64(i_22, i_5);
        const long long i_24 = tile_maxi_i64(i_21 == 7 ? i_5 : tile_mini_i64(i_5, i_22 + i_6 - 1LL), i_4);
        i_4 = i_23;
        i_5 = i_24;
    }
    if (inside) found_7[tb_find] = (int)i_4;
}

// launch: H * ((N / 64) + B) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_hstu_attention_2(const unsigned short *__restrict__ q, const unsigned short *__restrict__ k, const unsigned short *__restrict__ v, const long long *__restrict__ offsets, unsigned short *__restrict__ out, const int *__restrict__ found_7, float alpha, float scale, int N, int H, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tq_t = warp * 8 + (lane >> 2 & 7);
    const int tk_t = (lane & 3) * 2;
    const long long B_i64 = (long long)B;
    const long long i = (long long)(N / 64) + B_i64;
    const int th = (int)(blockIdx.x % H);
    const int tb = (int)(blockIdx.x / H);
    const long long i_2 = i - 1LL - tb;
    const long long row = tile_maxi_i64(tile_mini_i64((long long)found_7[(int)i_2] - 1LL, (long long)(B - 1)), 0LL);
    const int row_i32 = (int)row;
    const long long start = offsets[row_i32];
    const long long begin = (i_2 - (start / 64LL + row)) * 64LL;
    const int begin_i32 = (int)tile_clampi_i64(begin, -2146435071LL, 2146435071LL);
    // 21: let start = offsets[tb];
    // 22: let length = offsets[tb + 1] - start;
    // 23: for tq in jagged_tile(length) {
    // 24: let query = q[start + tq, th, d];
    const long long i_3 = begin_i32 >= 0 ? tile_mini_i64(begin + 64LL, offsets[row_i32 + 1] - start) : begin;
    const int i_4 = (int)tile_clampi_i64(i_3 - begin, -2146435071LL, 2146435071LL);
    const int start_i32 = (int)start;
    for (int tq0 = 0; tq0 < i_4; tq0 += 64) {
        const int tq = tq0 + tq_t;
        int i_5[2];
        #pragma unroll
        for (int tq_i = 0; tq_i < 2; ++tq_i) {
            i_5[tq_i] = (int)tile_clampi_i64(begin + (long long)(tq + tq_i * 32), -2146435071LL, 2146435071LL);
        }
        tile_copies_done();
        __syncthreads();
        #pragma unroll
        for (int copy = 0; copy < 4; ++copy) {
            const int tq_s = thread / 8 + copy * 16, d_s = thread % 8 * 8;
            tile_copy_16(tiles + tile_cell(thread / 8, d_s / 8, 8) + copy * 2048, q + ((start_i32 + (int)(begin + (long long)(tq0 + tq_s))) * H + th) * 64 + d_s, tq0 + tq_s < i_4);
        }
        tile_copies_end();
        // 25: var acc: accum(T)[tb, th, tq, e] = 0;
        float acc[8][2][2];
        #pragma unroll
        for (int e_r = 0; e_r < 8; ++e_r) {
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int e_v = 0; e_v < 2; ++e_v) {
                    acc[e_r][tq_i][e_v] = 0.0f;
                }
            }
        }
        // 26: for tk in jagged_tile(tq.end) {
        const int i_6 = (int)tile_clampi_i64(tile_mini_i64(begin + (long long)tq0 + 64LL, i_3), -2146435071LL, 2146435071LL);
        const int tk_full = i_6 - i_6 % 32;
        for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
            const int tk = tk0 + tk_t;
            // 27: let score = silu(dot[d](query, k[start + tk, th, d]) * alpha) * scale;
            // 28: let causal = tq >= tk ? score : 0;
            // 29: acc += dot[tk](T(causal), v[start + tk, th, e]);
            __syncthreads();
            #pragma unroll
            for (int copy_2 = 0; copy_2 < 2; ++copy_2) {
                const int tk_s = thread / 8 + copy_2 * 16, d_s_2 = thread % 8 * 8;
                tile_copy_16(tiles + 8192 + tile_cell(thread / 8, d_s_2 / 8, 8) + copy_2 * 2048, k + ((start_i32 + (tk0 + tk_s)) * H + th) * 64 + d_s_2, true);
            }
            #pragma unroll
            for (int copy_3 = 0; copy_3 < 2; ++copy_3) {
                const int tk_s_2 = thread / 8 + copy_3 * 16, e_s = thread % 8 * 8;
                tile_copy_16(tiles + 12288 + tile_cell(thread / 8, e_s / 8, 8) + copy_3 * 2048, v + ((start_i32 + (tk0 + tk_s_2)) * H + th) * 64 + e_s, true);
            }
            tile_copies_done();
            __syncthreads();
            float v_2[2][4][2];
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 4; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        v_2[tq_i][tk_r][tk_v] = 0.0f;
                    }
                }
            }
            #pragma unroll
            for (int d_k = 0; d_k < 4; ++d_k) {
                unsigned rows[1][4];
                #pragma unroll
                for (int tq_m = 0; tq_m < 1; ++tq_m) {
                    tile_matrices_4(rows[tq_m], tiles + tile_cell((lane / 8 % 2 * 4 + warp) * 8 + lane % 8, d_k * 2 ^ lane / 16, 8) + tq_m * 2 * 4 * 1024);
                }
                #pragma unroll
                for (int tk_n = 0; tk_n < 4; tk_n += 2) {
                    unsigned columns[4];
                    tile_matrices_4(columns, tiles + 8192 + tile_cell((lane / 16) * 8 + lane % 8, d_k * 2 ^ lane / 8 % 2, 8) + tk_n * 1024);
                    #pragma unroll
                    for (int tq_m = 0; tq_m < 1; ++tq_m) {
                        tile_mma_bf16(&v_2[2 * tq_m][tk_n][0], &v_2[2 * tq_m + 1][tk_n][0], rows[tq_m], columns);
                        tile_mma_bf16(&v_2[2 * tq_m][tk_n + 1][0], &v_2[2 * tq_m + 1][tk_n + 1][0], rows[tq_m], columns + 2);
                    }
                }
            }
            float causal[2][4][2];
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 4; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        const float score = tile_silu_rough(v_2[tq_i][tk_r][tk_v] * alpha) * scale;
                        causal[tq_i][tk_r][tk_v] = i_5[tq_i] >= tk + tk_r * 8 + tk_v ? score : 0.0f;
                    }
                }
            }
            #pragma unroll
            for (int tk_k = 0; tk_k < 2; ++tk_k) {
                unsigned rows_2[1][4];
                #pragma unroll
                for (int tq_m_2 = 0; tq_m_2 < 1; ++tq_m_2) {
                    rows_2[tq_m_2][0] = tile_pack_bf16(causal[2 * tq_m_2][2 * tk_k][0], causal[2 * tq_m_2][2 * tk_k][1]);
                    rows_2[tq_m_2][1] = tile_pack_bf16(causal[2 * tq_m_2 + 1][2 * tk_k][0], causal[2 * tq_m_2 + 1][2 * tk_k][1]);
                    rows_2[tq_m_2][2] = tile_pack_bf16(causal[2 * tq_m_2][2 * tk_k + 1][0], causal[2 * tq_m_2][2 * tk_k + 1][1]);
                    rows_2[tq_m_2][3] = tile_pack_bf16(causal[2 * tq_m_2 + 1][2 * tk_k + 1][0], causal[2 * tq_m_2 + 1][2 * tk_k + 1][1]);
                }
                #pragma unroll
                for (int e_n = 0; e_n < 8; e_n += 2) {
                    unsigned columns_2[4];
                    tile_matrices_4_transposed(columns_2, tiles + 12288 + tile_cell((lane / 8 % 2) * 8 + lane % 8, e_n ^ lane / 16, 8) + tk_k * 2 * 1024);
                    #pragma unroll
                    for (int tq_m_2 = 0; tq_m_2 < 1; ++tq_m_2) {
                        tile_mma_bf16(&acc[e_n][2 * tq_m_2][0], &acc[e_n][2 * tq_m_2 + 1][0], rows_2[tq_m_2], columns_2);
                        tile_mma_bf16(&acc[e_n + 1][2 * tq_m_2][0], &acc[e_n + 1][2 * tq_m_2 + 1][0], rows_2[tq_m_2], columns_2 + 2);
                    }
                }
            }
        }
        if (tk_full < i_6) {
            const int tk0_2 = tk_full;
            const int tk_2 = tk0_2 + tk_t;
            __syncthreads();
            #pragma unroll
            for (int copy_4 = 0; copy_4 < 2; ++copy_4) {
                const int tk_s_3 = thread / 8 + copy_4 * 16, d_s_3 = thread % 8 * 8;
                tile_copy_16(tiles + 8192 + tile_cell(thread / 8, d_s_3 / 8, 8) + copy_4 * 2048, k + ((start_i32 + (tk0_2 + tk_s_3)) * H + th) * 64 + d_s_3, tk0_2 + tk_s_3 < i_6);
            }
            #pragma unroll
            for (int copy_5 = 0; copy_5 < 2; ++copy_5) {
                const int tk_s_4 = thread / 8 + copy_5 * 16, e_s_2 = thread % 8 * 8;
                tile_copy_16(tiles + 12288 + tile_cell(thread / 8, e_s_2 / 8, 8) + copy_5 * 2048, v + ((start_i32 + (tk0_2 + tk_s_4)) * H + th) * 64 + e_s_2, tk0_2 + tk_s_4 < i_6);
            }
            tile_copies_done();
            __syncthreads();
            float v_3[2][4][2];
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 4; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        v_3[tq_i][tk_r][tk_v] = 0.0f;
                    }
                }
            }
            #pragma unroll
            for (int d_k_2 = 0; d_k_2 < 4; ++d_k_2) {
                unsigned rows_3[1][4];
                #pragma unroll
                for (int tq_m_3 = 0; tq_m_3 < 1; ++tq_m_3) {
                    tile_matrices_4(rows_3[tq_m_3], tiles + tile_cell((lane / 8 % 2 * 4 + warp) * 8 + lane % 8, d_k_2 * 2 ^ lane / 16, 8) + tq_m_3 * 2 * 4 * 1024);
                }
                #pragma unroll
                for (int tk_n_2 = 0; tk_n_2 < 4; tk_n_2 += 2) {
                    unsigned columns_3[4];
                    tile_matrices_4(columns_3, tiles + 8192 + tile_cell((lane / 16) * 8 + lane % 8, d_k_2 * 2 ^ lane / 8 % 2, 8) + tk_n_2 * 1024);
                    #pragma unroll
                    for (int tq_m_3 = 0; tq_m_3 < 1; ++tq_m_3) {
                        tile_mma_bf16(&v_3[2 * tq_m_3][tk_n_2][0], &v_3[2 * tq_m_3 + 1][tk_n_2][0], rows_3[tq_m_3], columns_3);
                        tile_mma_bf16(&v_3[2 * tq_m_3][tk_n_2 + 1][0], &v_3[2 * tq_m_3 + 1][tk_n_2 + 1][0], rows_3[tq_m_3], columns_3 + 2);
                    }
                }
            }
            float v_4[2][4][2];
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 4; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        const float score_2 = tile_silu_rough(v_3[tq_i][tk_r][tk_v] * alpha) * scale;
                        const float causal_2 = i_5[tq_i] >= tk_2 + tk_r * 8 + tk_v ? score_2 : 0.0f;
                        v_4[tq_i][tk_r][tk_v] = tk_2 + tk_r * 8 + tk_v < i_6 ? causal_2 : 0.0f;
                    }
                }
            }
            #pragma unroll
            for (int tk_k_2 = 0; tk_k_2 < 2; ++tk_k_2) {
                unsigned rows_4[1][4];
                #pragma unroll
                for (int tq_m_4 = 0; tq_m_4 < 1; ++tq_m_4) {
                    rows_4[tq_m_4][0] = tile_pack_bf16(v_4[2 * tq_m_4][2 * tk_k_2][0], v_4[2 * tq_m_4][2 * tk_k_2][1]);
                    rows_4[tq_m_4][1] = tile_pack_bf16(v_4[2 * tq_m_4 + 1][2 * tk_k_2][0], v_4[2 * tq_m_4 + 1][2 * tk_k_2][1]);
                    rows_4[tq_m_4][2] = tile_pack_bf16(v_4[2 * tq_m_4][2 * tk_k_2 + 1][0], v_4[2 * tq_m_4][2 * tk_k_2 + 1][1]);
                    rows_4[tq_m_4][3] = tile_pack_bf16(v_4[2 * tq_m_4 + 1][2 * tk_k_2 + 1][0], v_4[2 * tq_m_4 + 1][2 * tk_k_2 + 1][1]);
                }
                #pragma unroll
                for (int e_n_2 = 0; e_n_2 < 8; e_n_2 += 2) {
                    unsigned columns_4[4];
                    tile_matrices_4_transposed(columns_4, tiles + 12288 + tile_cell((lane / 8 % 2) * 8 + lane % 8, e_n_2 ^ lane / 16, 8) + tk_k_2 * 2 * 1024);
                    #pragma unroll
                    for (int tq_m_4 = 0; tq_m_4 < 1; ++tq_m_4) {
                        tile_mma_bf16(&acc[e_n_2][2 * tq_m_4][0], &acc[e_n_2][2 * tq_m_4 + 1][0], rows_4[tq_m_4], columns_4);
                        tile_mma_bf16(&acc[e_n_2 + 1][2 * tq_m_4][0], &acc[e_n_2 + 1][2 * tq_m_4 + 1][0], rows_4[tq_m_4], columns_4 + 2);
                    }
                }
            }
        }
        // 31: out[start + tq, th, e] = acc;
        unsigned pairs[8][2];
        #pragma unroll
        for (int e_r = 0; e_r < 8; ++e_r) {
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                float acc_bf16[2];
                #pragma unroll
                for (int e_v = 0; e_v < 2; ++e_v) {
                    acc_bf16[e_v] = tile_bf16_round(acc[e_r][tq_i][e_v]);
                }
                pairs[e_r][tq_i] = tile_pack_bf16(acc_bf16[0], acc_bf16[1]);
            }
        }
        #pragma unroll
        for (int tq_i = 0; tq_i < 2; ++tq_i) {
            #pragma unroll
            for (int e_r = 0; e_r < 8; e_r += 4) {
                unsigned quad[4];
                quad[0] = pairs[e_r][tq_i];
                quad[1] = pairs[e_r + 1][tq_i];
                quad[2] = pairs[e_r + 2][tq_i];
                quad[3] = pairs[e_r + 3][tq_i];
                tile_turn_quad(quad, lane);
                if (tq + tq_i * 32 < i_4) tile_store_quad(out + ((start_i32 + (int)(begin + (long long)(tq + tq_i * 32))) * H + th) * 64 + ((e_r + lane % 4) * 8), quad);
            }
        }
    }
}
