// jagged_dense_bmm from jagged_dense_bmm.tile, compiled by tilec 0.1.0
// (jagged: f16[L, D], offsets: i64[B + 1], dense: f16[B, D, K]) -> out: f16[L, K]
// T = f16, I = i64, D = 34, K = 71, without bias; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 32 = vector 2 x lanes 4 x warps 2 x registers 2
//   tl: block 32 = vector 1 x lanes 8 x warps 2 x registers 2
//   td: block 16 = vector 2 x lanes 4 x warps 1 x registers 2
//   grid tn, tb; strategy rows; dot mma, stages 1; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ int tile_cell(const int row, const int chunk, const int chunks) {
    const int turn = chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;
    return (row * chunks + (chunk ^ turn)) * 16;
}

static __device__ __forceinline__ void tile_copy_4(const unsigned at, const void *from, const bool inside) {
    const int bytes = inside ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(at), "l"(from), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void tile_copy_2(const unsigned at, const void *from, const bool inside) {
    const unsigned short value = inside ? *(const unsigned short *)from : (unsigned short)0;
    asm volatile("st.shared.u16 [%0], %1;" :: "r"(at), "h"(value) : "memory");
}

static __device__ __forceinline__ void tile_copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

static __device__ __forceinline__ void tile_matrices_4(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}

static __device__ __forceinline__ void tile_matrices_4_transposed(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}

static __device__ __forceinline__ void tile_mma_f16(float *c, float *d, const unsigned *a, const unsigned *b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(d[0]), "+f"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

// launch: 3 * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_dense_bmm(const unsigned short *__restrict__ jagged, const long long *__restrict__ offsets, const unsigned short *__restrict__ dense, unsigned short *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tn_t = ((warp & 1) * 4 + (lane & 3)) * 2;
    const int tl_t = (warp >> 1 & 1) * 8 + (lane >> 2 & 7);
    const int tn0 = (int)(blockIdx.x % 3) * 32;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / 3);
    // 15: for (tb, tn) in tile(B, K) {
    bool inside[2][2];
    #pragma unroll
    for (int tn_r = 0; tn_r < 2; ++tn_r) {
        #pragma unroll
        for (int tn_v = 0; tn_v < 2; ++tn_v) {
            inside[tn_r][tn_v] = tn + tn_r * 16 + tn_v < 71;
        }
    }
    // 16: let start = offsets[tb];
    // 17: let length = offsets[tb + 1] - start;
    // 18: for tl in jagged_tile(length) {
    // 19: var acc: accum(T)[tb, tl, tn] = 0;
    // 20: for td in tile(D) {
    // 21: acc += dot[td](jagged[start + tl, td], dense[tb, td, tn]);
    const long long start = offsets[tb];
    const int length_i32 = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int start_i32 = (int)start;
    for (int tl0 = 0; tl0 < length_i32; tl0 += 32) {
        const int tl = tl0 + tl_t;
        bool inside_2[2];
        int i[2];
        #pragma unroll
        for (int tl_i = 0; tl_i < 2; ++tl_i) {
            inside_2[tl_i] = tl + tl_i * 16 < length_i32;
            i[tl_i] = start_i32 + (tl + tl_i * 16);
        }
        float acc[2][2][2];
        #pragma unroll
        for (int tn_r = 0; tn_r < 2; ++tn_r) {
            #pragma unroll
            for (int tl_i = 0; tl_i < 2; ++tl_i) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    acc[tn_r][tl_i][tn_v] = 0.0f;
                }
            }
        }
        for (int td0 = 0; td0 < 32; td0 += 16) {
            __syncthreads();
            #pragma unroll
            for (int copy = 0; copy < 2; ++copy) {
                const int tl_s = thread / 8 + copy * 16, td_s = thread % 8 * 2;
                tile_copy_4(tiles + tile_cell(thread / 8, td_s / 8, 2) + copy * 512 + td_s % 8 * 2, jagged + (start_i32 + (tl0 + tl_s)) * 34 + (td0 + td_s), tl0 + tl_s < length_i32);
            }
            #pragma unroll
            for (int copy_2 = 0; copy_2 < 4; ++copy_2) {
                const int td_s_2 = (thread + copy_2 * 128) / 32, tn_s = (thread + copy_2 * 128) % 32 * 1;
                tile_copy_2(tiles + 1024 + tile_cell(td_s_2, tn_s / 8, 4) + tn_s % 8 * 2, dense + (tb * 34 + (td0 + td_s_2)) * 71 + (tn0 + tn_s), tn0 + tn_s < 71);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int td_k = 0; td_k < 1; ++td_k) {
                unsigned rows[1][4];
                #pragma unroll
                for (int tl_m = 0; tl_m < 1; ++tl_m) {
                    tile_matrices_4(rows[tl_m], tiles + tile_cell((lane / 8 % 2 * 2 + (warp >> 1 & 1)) * 8 + lane % 8, td_k * 2 ^ lane / 16, 2) + tl_m * 2 * 2 * 256);
                }
                #pragma unroll
                for (int tn_n = 0; tn_n < 2; tn_n += 2) {
                    unsigned columns[4];
                    tile_matrices_4_transposed(columns, tiles + 1024 + tile_cell((lane / 8 % 2) * 8 + lane % 8, tn_n * 2 ^ lane / 16 * 2 + (warp & 1), 4) + td_k * 2 * 512);
                    #pragma unroll
                    for (int tl_m = 0; tl_m < 1; ++tl_m) {
                        tile_mma_f16(&acc[tn_n][2 * tl_m][0], &acc[tn_n][2 * tl_m + 1][0], rows[tl_m], columns);
                        tile_mma_f16(&acc[tn_n + 1][2 * tl_m][0], &acc[tn_n + 1][2 * tl_m + 1][0], rows[tl_m], columns + 2);
                    }
                }
            }
        }
        if (32 < 34) {
            const int td0_2 = 32;
            __syncthreads();
            #pragma unroll
            for (int copy_3 = 0; copy_3 < 2; ++copy_3) {
                const int tl_s_2 = thread / 8 + copy_3 * 16, td_s_3 = thread % 8 * 2;
                tile_copy_4(tiles + tile_cell(thread / 8, td_s_3 / 8, 2) + copy_3 * 512 + td_s_3 % 8 * 2, jagged + (start_i32 + (tl0 + tl_s_2)) * 34 + (td0_2 + td_s_3), tl0 + tl_s_2 < length_i32 && td0_2 + td_s_3 < 34);
            }
            #pragma unroll
            for (int copy_4 = 0; copy_4 < 4; ++copy_4) {
                const int td_s_4 = (thread + copy_4 * 128) / 32, tn_s_2 = (thread + copy_4 * 128) % 32 * 1;
                tile_copy_2(tiles + 1024 + tile_cell(td_s_4, tn_s_2 / 8, 4) + tn_s_2 % 8 * 2, dense + (tb * 34 + (td0_2 + td_s_4)) * 71 + (tn0 + tn_s_2), tn0 + tn_s_2 < 71 && td0_2 + td_s_4 < 34);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int td_k_2 = 0; td_k_2 < 1; ++td_k_2) {
                unsigned rows_2[1][4];
                #pragma unroll
                for (int tl_m_2 = 0; tl_m_2 < 1; ++tl_m_2) {
                    tile_matrices_4(rows_2[tl_m_2], tiles + tile_cell((lane / 8 % 2 * 2 + (warp >> 1 & 1)) * 8 + lane % 8, td_k_2 * 2 ^ lane / 16, 2) + tl_m_2 * 2 * 2 * 256);
                }
                #pragma unroll
                for (int tn_n_2 = 0; tn_n_2 < 2; tn_n_2 += 2) {
                    unsigned columns_2[4];
                    tile_matrices_4_transposed(columns_2, tiles + 1024 + tile_cell((lane / 8 % 2) * 8 + lane % 8, tn_n_2 * 2 ^ lane / 16 * 2 + (warp & 1), 4) + td_k_2 * 2 * 512);
                    #pragma unroll
                    for (int tl_m_2 = 0; tl_m_2 < 1; ++tl_m_2) {
                        tile_mma_f16(&acc[tn_n_2][2 * tl_m_2][0], &acc[tn_n_2][2 * tl_m_2 + 1][0], rows_2[tl_m_2], columns_2);
                        tile_mma_f16(&acc[tn_n_2 + 1][2 * tl_m_2][0], &acc[tn_n_2 + 1][2 * tl_m_2 + 1][0], rows_2[tl_m_2], columns_2 + 2);
                    }
                }
            }
        }
        // 24: out[start + tl, tn] = acc;
        #pragma unroll
        for (int tn_r = 0; tn_r < 2; ++tn_r) {
            #pragma unroll
            for (int tl_i = 0; tl_i < 2; ++tl_i) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    if (inside[tn_r][tn_v] && inside_2[tl_i]) out[i[tl_i] * 71 + (tn + tn_r * 16 + tn_v)] = tile_f16_store(acc[tn_r][tl_i][tn_v]);
                }
            }
        }
    }
}
