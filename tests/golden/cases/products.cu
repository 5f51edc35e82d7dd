// products from products.tile, compiled by tilec 0.1.0
// (x: f16[M, K], w: f16[N, K], v: f16[N, E]) -> out: f16[M, E], y: f16[M, N]
// T = f16, N = 32; 32-bit indices
//   n: block 32 = vector 2 x lanes 4 x warps 1 x registers 4
//   tm: block 32 = vector 1 x lanes 8 x warps 2 x registers 2
//   te: block 8 = vector 2 x lanes 4 x warps 1 x registers 1
//   tk: block 16 = vector 2 x lanes 4 x warps 1 x registers 2
//   tn: block 8 = vector 2 x lanes 4 x warps 1 x registers 1
//   grid tm; strategy rows; dot mma, stages 1; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, y at a multiple of 16 bytes

static __device__ __forceinline__ int tile_cell(const int row, const int chunk, const int chunks) {
    const int turn = chunks >= 8 ? row % 8 : row / (8 / chunks) % chunks;
    return (row * chunks + (chunk ^ turn)) * 16;
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

static __device__ __forceinline__ void tile_mma_f16(float *c, float *d, const unsigned *a, const unsigned *b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(d[0]), "+f"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ unsigned tile_pack_f16(const float low, const float high) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

static __device__ __forceinline__ void tile_matrices_2_transposed(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(m[0]), "=r"(m[1]) : "r"(at) : "memory");
}

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ void tile_matrices_2(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(m[0]), "=r"(m[1]) : "r"(at) : "memory");
}

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ float tile_f16_round(float f) {
    return tile_f16_load(tile_f16_store(f));
}

static __device__ __forceinline__ void tile_store_f16x2(unsigned short *p, const float *v) {
    *(unsigned *)p = (unsigned)tile_f16_store(v[0]) | (unsigned)tile_f16_store(v[1]) << 16;
}

static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

// launch: ceil(M / 32) blocks of 64 threads
extern "C" __global__ void __launch_bounds__(64) products(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, const unsigned short *__restrict__ v, unsigned short *__restrict__ out, unsigned short *__restrict__ y, int M, int K, int E) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tm_t = warp * 8 + (lane >> 2 & 7);
    const int te_t = (lane & 3) * 2;
    const int tn_t = (lane & 3) * 2;
    const int tm0 = (int)blockIdx.x * 32;
    const int tm = tm0 + tm_t;
    // 4: axis n = N;
    // 5: for tm in tile(M) {
    bool inside[2];
    #pragma unroll
    for (int tm_i = 0; tm_i < 2; ++tm_i) {
        inside[tm_i] = tm + tm_i * 16 < M;
    }
    // 6: for te in tile(E) {
    // 7: var sums: accum(T)[tm, n] = 0;
    // 8: for tk in tile(K) { sums += dot[tk](x[tm, tk], w[n, tk]); }
    const int tk_full = K - K % 16;
    for (int te0 = 0; te0 < E; te0 += 8) {
        const int te = te0 + te_t;
        float sums[4][2][2];
        #pragma unroll
        for (int n_r = 0; n_r < 4; ++n_r) {
            #pragma unroll
            for (int tm_i = 0; tm_i < 2; ++tm_i) {
                #pragma unroll
                for (int n_v = 0; n_v < 2; ++n_v) {
                    sums[n_r][tm_i][n_v] = 0.0f;
                }
            }
        }
        for (int tk0 = 0; tk0 < tk_full; tk0 += 16) {
            __syncthreads();
            #pragma unroll
            for (int copy = 0; copy < 8; ++copy) {
                const int tm_s = (thread + copy * 64) / 16, tk_s = (thread + copy * 64) % 16 * 1;
                tile_copy_2(tiles + tile_cell(tm_s, tk_s / 8, 2) + tk_s % 8 * 2, x + (tm0 + tm_s) * K + (tk0 + tk_s), tm0 + tm_s < M);
            }
            #pragma unroll
            for (int copy_2 = 0; copy_2 < 8; ++copy_2) {
                const int n_s = (thread + copy_2 * 64) / 16, tk_s_2 = (thread + copy_2 * 64) % 16 * 1;
                tile_copy_2(tiles + 1024 + tile_cell(n_s, tk_s_2 / 8, 2) + tk_s_2 % 8 * 2, w + n_s * K + (tk0 + tk_s_2), true);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int tk_k = 0; tk_k < 1; ++tk_k) {
                unsigned rows[1][4];
                #pragma unroll
                for (int tm_m = 0; tm_m < 1; ++tm_m) {
                    tile_matrices_4(rows[tm_m], tiles + tile_cell((lane / 8 % 2 * 2 + warp) * 8 + lane % 8, tk_k * 2 ^ lane / 16, 2) + tm_m * 2 * 2 * 256);
                }
                #pragma unroll
                for (int n_n = 0; n_n < 4; n_n += 2) {
                    unsigned columns[4];
                    tile_matrices_4(columns, tiles + 1024 + tile_cell((lane / 16) * 8 + lane % 8, tk_k * 2 ^ lane / 8 % 2, 2) + n_n * 256);
                    #pragma unroll
                    for (int tm_m = 0; tm_m < 1; ++tm_m) {
                        tile_mma_f16(&sums[n_n][2 * tm_m][0], &sums[n_n][2 * tm_m + 1][0], rows[tm_m], columns);
                        tile_mma_f16(&sums[n_n + 1][2 * tm_m][0], &sums[n_n + 1][2 * tm_m + 1][0], rows[tm_m], columns + 2);
                    }
                }
            }
        }
        if (tk_full < K) {
            const int tk0_2 = tk_full;
            __syncthreads();
            #pragma unroll
            for (int copy_3 = 0; copy_3 < 8; ++copy_3) {
                const int tm_s_2 = (thread + copy_3 * 64) / 16, tk_s_3 = (thread + copy_3 * 64) % 16 * 1;
                tile_copy_2(tiles + tile_cell(tm_s_2, tk_s_3 / 8, 2) + tk_s_3 % 8 * 2, x + (tm0 + tm_s_2) * K + (tk0_2 + tk_s_3), tm0 + tm_s_2 < M && tk0_2 + tk_s_3 < K);
            }
            #pragma unroll
            for (int copy_4 = 0; copy_4 < 8; ++copy_4) {
                const int n_s_2 = (thread + copy_4 * 64) / 16, tk_s_4 = (thread + copy_4 * 64) % 16 * 1;
                tile_copy_2(tiles + 1024 + tile_cell(n_s_2, tk_s_4 / 8, 2) + tk_s_4 % 8 * 2, w + n_s_2 * K + (tk0_2 + tk_s_4), tk0_2 + tk_s_4 < K);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int tk_k_2 = 0; tk_k_2 < 1; ++tk_k_2) {
                unsigned rows_2[1][4];
                #pragma unroll
                for (int tm_m_2 = 0; tm_m_2 < 1; ++tm_m_2) {
                    tile_matrices_4(rows_2[tm_m_2], tiles + tile_cell((lane / 8 % 2 * 2 + warp) * 8 + lane % 8, tk_k_2 * 2 ^ lane / 16, 2) + tm_m_2 * 2 * 2 * 256);
                }
                #pragma unroll
                for (int n_n_2 = 0; n_n_2 < 4; n_n_2 += 2) {
                    unsigned columns_2[4];
                    tile_matrices_4(columns_2, tiles + 1024 + tile_cell((lane / 16) * 8 + lane % 8, tk_k_2 * 2 ^ lane / 8 % 2, 2) + n_n_2 * 256);
                    #pragma unroll
                    for (int tm_m_2 = 0; tm_m_2 < 1; ++tm_m_2) {
                        tile_mma_f16(&sums[n_n_2][2 * tm_m_2][0], &sums[n_n_2][2 * tm_m_2 + 1][0], rows_2[tm_m_2], columns_2);
                        tile_mma_f16(&sums[n_n_2 + 1][2 * tm_m_2][0], &sums[n_n_2 + 1][2 * tm_m_2 + 1][0], rows_2[tm_m_2], columns_2 + 2);
                    }
                }
            }
        }
        // 9: out[tm, te] = dot[n](T(sums), v[n, te]);
        __syncthreads();
        #pragma unroll
        for (int copy_5 = 0; copy_5 < 4; ++copy_5) {
            const int n_s_3 = thread / 8 + copy_5 * 8, te_s = thread % 8 * 1;
            tile_copy_2(tiles + tile_cell(thread / 8, te_s / 8, 1) + copy_5 * 128 + te_s % 8 * 2, v + n_s_3 * E + (te0 + te_s), te0 + te_s < E);
        }
        tile_copies_done();
        __syncthreads();
        float v_2[2][2];
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int te_i = 0; te_i < 2; ++te_i) {
                v_2[tm_i][te_i] = 0.0f;
            }
        }
        #pragma unroll
        for (int n_k = 0; n_k < 2; ++n_k) {
            unsigned rows_3[1][4];
            #pragma unroll
            for (int tm_m_3 = 0; tm_m_3 < 1; ++tm_m_3) {
                rows_3[tm_m_3][0] = tile_pack_f16(sums[2 * n_k][2 * tm_m_3][0], sums[2 * n_k][2 * tm_m_3][1]);
                rows_3[tm_m_3][1] = tile_pack_f16(sums[2 * n_k][2 * tm_m_3 + 1][0], sums[2 * n_k][2 * tm_m_3 + 1][1]);
                rows_3[tm_m_3][2] = tile_pack_f16(sums[2 * n_k + 1][2 * tm_m_3][0], sums[2 * n_k + 1][2 * tm_m_3][1]);
                rows_3[tm_m_3][3] = tile_pack_f16(sums[2 * n_k + 1][2 * tm_m_3 + 1][0], sums[2 * n_k + 1][2 * tm_m_3 + 1][1]);
            }
            #pragma unroll
            for (int te_n = 0; te_n < 1; ++te_n) {
                unsigned columns_3[2];
                tile_matrices_2_transposed(columns_3, tiles + tile_cell((lane / 8 % 2) * 8 + lane % 8, te_n, 1) + n_k * 2 * 128);
                #pragma unroll
                for (int tm_m_3 = 0; tm_m_3 < 1; ++tm_m_3) {
                    tile_mma_f16(&v_2[2 * tm_m_3][0], &v_2[2 * tm_m_3 + 1][0], rows_3[tm_m_3], columns_3);
                }
            }
        }
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int te_i = 0; te_i < 2; ++te_i) {
                if (inside[tm_i] && te + te_i < E) out[(tm + tm_i * 16) * E + (te + te_i)] = tile_f16_store(v_2[tm_i][te_i]);
            }
        }
    }
    // 11: for tn in tile(N) {
    for (int tn0 = 0; tn0 < 32; tn0 += 8) {
        const int tn = tn0 + tn_t;
        // 12: var sums: accum(T)[tm, tn] = 0;
        float sums_2[2][2];
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int tn_i = 0; tn_i < 2; ++tn_i) {
                sums_2[tm_i][tn_i] = 0.0f;
            }
        }
        // 13: for tk in tile(K) { sums += dot[tk](x[tm, tk], w[tn, tk]); }
        for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 16) {
            __syncthreads();
            #pragma unroll
            for (int copy_6 = 0; copy_6 < 8; ++copy_6) {
                const int tm_s_3 = (thread + copy_6 * 64) / 16, tk_s_5 = (thread + copy_6 * 64) % 16 * 1;
                tile_copy_2(tiles + tile_cell(tm_s_3, tk_s_5 / 8, 2) + tk_s_5 % 8 * 2, x + (tm0 + tm_s_3) * K + (tk0_3 + tk_s_5), tm0 + tm_s_3 < M);
            }
            #pragma unroll
            for (int copy_7 = 0; copy_7 < 2; ++copy_7) {
                const int tn_s = (thread + copy_7 * 64) / 16, tk_s_6 = (thread + copy_7 * 64) % 16 * 1;
                tile_copy_2(tiles + 1024 + tile_cell(tn_s, tk_s_6 / 8, 2) + tk_s_6 % 8 * 2, w + (tn0 + tn_s) * K + (tk0_3 + tk_s_6), true);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int tk_k_3 = 0; tk_k_3 < 1; ++tk_k_3) {
                unsigned rows_4[1][4];
                #pragma unroll
                for (int tm_m_4 = 0; tm_m_4 < 1; ++tm_m_4) {
                    tile_matrices_4(rows_4[tm_m_4], tiles + tile_cell((lane / 8 % 2 * 2 + warp) * 8 + lane % 8, tk_k_3 * 2 ^ lane / 16, 2) + tm_m_4 * 2 * 2 * 256);
                }
                #pragma unroll
                for (int tn_n = 0; tn_n < 1; ++tn_n) {
                    unsigned columns_4[2];
                    tile_matrices_2(columns_4, tiles + 1024 + tile_cell(lane % 8, tk_k_3 * 2 ^ lane / 8 % 2, 2) + tn_n * 256);
                    #pragma unroll
                    for (int tm_m_4 = 0; tm_m_4 < 1; ++tm_m_4) {
                        tile_mma_f16(&sums_2[2 * tm_m_4][0], &sums_2[2 * tm_m_4 + 1][0], rows_4[tm_m_4], columns_4);
                    }
                }
            }
        }
        if (tk_full < K) {
            const int tk0_4 = tk_full;
            __syncthreads();
            #pragma unroll
            for (int copy_8 = 0; copy_8 < 8; ++copy_8) {
                const int tm_s_4 = (thread + copy_8 * 64) / 16, tk_s_7 = (thread + copy_8 * 64) % 16 * 1;
                tile_copy_2(tiles + tile_cell(tm_s_4, tk_s_7 / 8, 2) + tk_s_7 % 8 * 2, x + (tm0 + tm_s_4) * K + (tk0_4 + tk_s_7), tm0 + tm_s_4 < M && tk0_4 + tk_s_7 < K);
            }
            #pragma unroll
            for (int copy_9 = 0; copy_9 < 2; ++copy_9) {
                const int tn_s_2 = (thread + copy_9 * 64) / 16, tk_s_8 = (thread + copy_9 * 64) % 16 * 1;
                tile_copy_2(tiles + 1024 + tile_cell(tn_s_2, tk_s_8 / 8, 2) + tk_s_8 % 8 * 2, w + (tn0 + tn_s_2) * K + (tk0_4 + tk_s_8), tk0_4 + tk_s_8 < K);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int tk_k_4 = 0; tk_k_4 < 1; ++tk_k_4) {
                unsigned rows_5[1][4];
                #pragma unroll
                for (int tm_m_5 = 0; tm_m_5 < 1; ++tm_m_5) {
                    tile_matrices_4(rows_5[tm_m_5], tiles + tile_cell((lane / 8 % 2 * 2 + warp) * 8 + lane % 8, tk_k_4 * 2 ^ lane / 16, 2) + tm_m_5 * 2 * 2 * 256);
                }
                #pragma unroll
                for (int tn_n_2 = 0; tn_n_2 < 1; ++tn_n_2) {
                    unsigned columns_5[2];
                    tile_matrices_2(columns_5, tiles + 1024 + tile_cell(lane % 8, tk_k_4 * 2 ^ lane / 8 % 2, 2) + tn_n_2 * 256);
                    #pragma unroll
                    for (int tm_m_5 = 0; tm_m_5 < 1; ++tm_m_5) {
                        tile_mma_f16(&sums_2[2 * tm_m_5][0], &sums_2[2 * tm_m_5 + 1][0], rows_5[tm_m_5], columns_5);
                    }
                }
            }
        }
        // 14: y[tm, tn] = sums;
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            float sums_f16[2];
            #pragma unroll
            for (int tn_i = 0; tn_i < 2; ++tn_i) {
                sums_f16[tn_i] = tile_f16_round(sums_2[tm_i][tn_i]);
            }
            if (inside[tm_i]) tile_store_f16x2(y + (tm + tm_i * 16) * 32 + tn, sums_f16);
        }
    }
}
