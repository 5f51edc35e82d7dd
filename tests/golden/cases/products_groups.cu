// products from products.tile, compiled by tilec 0.1.0
// (x: f16[M, K], w: f16[N, K], v: f16[N, E]) -> out: f16[M, E], y: f16[M, N]
// T = f16, N = 64; 32-bit indices
//   n: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tm: block 64 = vector 1 x lanes 8 x warps 4 x registers 2
//   te: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tk: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tn: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   grid tm; strategy rows; dot wgmma, stages 1; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, y at a multiple of 16 bytes

static __device__ __forceinline__ int tile_panel_cell(const int row, const int chunk, const int rows) {
    return (chunk / 8 * rows + row) * 128 + (chunk % 8 ^ row % 8) * 16;
}

static __device__ __forceinline__ void tile_copy_2(const unsigned at, const void *from, const bool inside) {
    const unsigned short value = inside ? *(const unsigned short *)from : (unsigned short)0;
    asm volatile("st.shared.u16 [%0], %1;" :: "r"(at), "h"(value) : "memory");
}

static __device__ __forceinline__ void tile_copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

static __device__ __forceinline__ void tile_copies_seen() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void tile_hold(float *c) {
    asm volatile("" : "+f"(*c) :: "memory");
}

static __device__ __forceinline__ void tile_group_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ unsigned long long tile_panels(const unsigned at, const int panel) {
    return (at & 0x3ffff) >> 4 | (unsigned long long)(panel >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

static __device__ __forceinline__ void tile_group_f16_64_tile(float *c, const int h, const int j, const unsigned a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "l"(tile_panels(a, 16)), "l"(tile_panels(b, panel)) : "memory");
}

static __device__ __forceinline__ void tile_group_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

static __device__ __forceinline__ unsigned tile_pack_f16(const float low, const float high) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

static __device__ __forceinline__ void tile_group_f16_64_registers_transposed_fresh(float *c, const int h, const int j, const unsigned *a, const unsigned b, const int panel, const int more) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(tile_panels(b, panel)), "r"(more) : "memory");
}

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ float tile_f16_round(float f) {
    return tile_f16_load(tile_f16_store(f));
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

// launch: ceil(M / 64) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) products(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, const unsigned short *__restrict__ v, unsigned short *__restrict__ out, unsigned short *__restrict__ y, int M, int K, int E) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tm_t = warp * 16 + (lane >> 2 & 7);
    const int te_t = (lane & 3) * 2;
    const int tm0 = (int)blockIdx.x * 64;
    const int tm = tm0 + tm_t;
    // 4: axis n = N;
    // 5: for tm in tile(M) {
    bool inside[2];
    #pragma unroll
    for (int tm_i = 0; tm_i < 2; ++tm_i) {
        inside[tm_i] = tm + tm_i * 8 < M;
    }
    // 6: for te in tile(E) {
    // 7: var sums: accum(T)[tm, n] = 0;
    // 8: for tk in tile(K) { sums += dot[tk](x[tm, tk], w[n, tk]); }
    const int tk_full = K - K % 64;
    for (int te0 = 0; te0 < E; te0 += 64) {
        const int te = te0 + te_t;
        float sums[8][2][2];
        #pragma unroll
        for (int n_r = 0; n_r < 8; ++n_r) {
            #pragma unroll
            for (int tm_i = 0; tm_i < 2; ++tm_i) {
                #pragma unroll
                for (int n_v = 0; n_v < 2; ++n_v) {
                    sums[n_r][tm_i][n_v] = 0.0f;
                }
            }
        }
        for (int tk0 = 0; tk0 < tk_full; tk0 += 64) {
            __syncthreads();
            #pragma unroll
            for (int copy = 0; copy < 32; ++copy) {
                const int tm_s = (thread + copy * 128) / 64, tk_s = (thread + copy * 128) % 64 * 1;
                tile_copy_2(tiles + tile_panel_cell(tm_s, tk_s / 8, 64) + tk_s % 8 * 2, x + (tm0 + tm_s) * K + (tk0 + tk_s), tm0 + tm_s < M);
            }
            #pragma unroll
            for (int copy_2 = 0; copy_2 < 32; ++copy_2) {
                const int n_s = (thread + copy_2 * 128) / 64, tk_s_2 = (thread + copy_2 * 128) % 64 * 1;
                tile_copy_2(tiles + 8192 + tile_panel_cell(n_s, tk_s_2 / 8, 64) + tk_s_2 % 8 * 2, w + n_s * K + (tk0 + tk_s_2), true);
            }
            tile_copies_done();
            tile_copies_seen();
            __syncthreads();
            #pragma unroll
            for (int n_r = 0; n_r < 8; ++n_r) {
                #pragma unroll
                for (int tm_i = 0; tm_i < 2; ++tm_i) {
                    #pragma unroll
                    for (int n_v = 0; n_v < 2; ++n_v) {
                        tile_hold(&sums[n_r][tm_i][n_v]);
                    }
                }
            }
            tile_group_begin();
            #pragma unroll
            for (int tk_k = 0; tk_k < 4; ++tk_k) {
                #pragma unroll
                for (int tm_m = 0; tm_m < 1; ++tm_m) {
                    tile_group_f16_64_tile(&sums[0][2 * tm_m][0], 2, 4, tiles + tm_m * 8192 + tk_k / 4 * 8192 + tk_k % 4 * 32, tiles + 8192 + tk_k / 4 * 8192 + tk_k % 4 * 32, 16);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int n_r = 0; n_r < 8; ++n_r) {
                #pragma unroll
                for (int tm_i = 0; tm_i < 2; ++tm_i) {
                    #pragma unroll
                    for (int n_v = 0; n_v < 2; ++n_v) {
                        tile_hold(&sums[n_r][tm_i][n_v]);
                    }
                }
            }
        }
        if (tk_full < K) {
            const int tk0_2 = tk_full;
            __syncthreads();
            #pragma unroll
            for (int copy_3 = 0; copy_3 < 32; ++copy_3) {
                const int tm_s_2 = (thread + copy_3 * 128) / 64, tk_s_3 = (thread + copy_3 * 128) % 64 * 1;
                tile_copy_2(tiles + tile_panel_cell(tm_s_2, tk_s_3 / 8, 64) + tk_s_3 % 8 * 2, x + (tm0 + tm_s_2) * K + (tk0_2 + tk_s_3), tm0 + tm_s_2 < M && tk0_2 + tk_s_3 < K);
            }
            #pragma unroll
            for (int copy_4 = 0; copy_4 < 32; ++copy_4) {
                const int n_s_2 = (thread + copy_4 * 128) / 64, tk_s_4 = (thread + copy_4 * 128) % 64 * 1;
                tile_copy_2(tiles + 8192 + tile_panel_cell(n_s_2, tk_s_4 / 8, 64) + tk_s_4 % 8 * 2, w + n_s_2 * K + (tk0_2 + tk_s_4), tk0_2 + tk_s_4 < K);
            }
            tile_copies_done();
            tile_copies_seen();
            __syncthreads();
            #pragma unroll
            for (int n_r = 0; n_r < 8; ++n_r) {
                #pragma unroll
                for (int tm_i = 0; tm_i < 2; ++tm_i) {
                    #pragma unroll
                    for (int n_v = 0; n_v < 2; ++n_v) {
                        tile_hold(&sums[n_r][tm_i][n_v]);
                    }
                }
            }
            tile_group_begin();
            #pragma unroll
            for (int tk_k_2 = 0; tk_k_2 < 4; ++tk_k_2) {
                #pragma unroll
                for (int tm_m_2 = 0; tm_m_2 < 1; ++tm_m_2) {
                    tile_group_f16_64_tile(&sums[0][2 * tm_m_2][0], 2, 4, tiles + tm_m_2 * 8192 + tk_k_2 / 4 * 8192 + tk_k_2 % 4 * 32, tiles + 8192 + tk_k_2 / 4 * 8192 + tk_k_2 % 4 * 32, 16);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int n_r = 0; n_r < 8; ++n_r) {
                #pragma unroll
                for (int tm_i = 0; tm_i < 2; ++tm_i) {
                    #pragma unroll
                    for (int n_v = 0; n_v < 2; ++n_v) {
                        tile_hold(&sums[n_r][tm_i][n_v]);
                    }
                }
            }
        }
        // 9: out[tm, te] = dot[n](T(sums), v[n, te]);
        __syncthreads();
        #pragma unroll
        for (int copy_5 = 0; copy_5 < 32; ++copy_5) {
            const int n_s_3 = (thread + copy_5 * 128) / 64, te_s = (thread + copy_5 * 128) % 64 * 1;
            tile_copy_2(tiles + tile_panel_cell(n_s_3, te_s / 8, 64) + te_s % 8 * 2, v + n_s_3 * E + (te0 + te_s), te0 + te_s < E);
        }
        tile_copies_done();
        tile_copies_seen();
        __syncthreads();
        float v_2[2][8][2];
        unsigned rows[4][1][4];
        #pragma unroll
        for (int n_k = 0; n_k < 4; ++n_k) {
            #pragma unroll
            for (int tm_m_3 = 0; tm_m_3 < 1; ++tm_m_3) {
                rows[n_k][tm_m_3][0] = tile_pack_f16(sums[2 * n_k][2 * tm_m_3][0], sums[2 * n_k][2 * tm_m_3][1]);
                rows[n_k][tm_m_3][1] = tile_pack_f16(sums[2 * n_k][2 * tm_m_3 + 1][0], sums[2 * n_k][2 * tm_m_3 + 1][1]);
                rows[n_k][tm_m_3][2] = tile_pack_f16(sums[2 * n_k + 1][2 * tm_m_3][0], sums[2 * n_k + 1][2 * tm_m_3][1]);
                rows[n_k][tm_m_3][3] = tile_pack_f16(sums[2 * n_k + 1][2 * tm_m_3 + 1][0], sums[2 * n_k + 1][2 * tm_m_3 + 1][1]);
            }
        }
        tile_group_begin();
        #pragma unroll
        for (int n_k = 0; n_k < 4; ++n_k) {
            #pragma unroll
            for (int tm_m_3 = 0; tm_m_3 < 1; ++tm_m_3) {
                tile_group_f16_64_registers_transposed_fresh(&v_2[2 * tm_m_3][0][0], 16, 2, rows[n_k][tm_m_3], tiles + n_k * 2048, 8192, n_k > 0);
            }
        }
        tile_group_end();
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int te_r = 0; te_r < 8; ++te_r) {
                #pragma unroll
                for (int te_v = 0; te_v < 2; ++te_v) {
                    tile_hold(&v_2[tm_i][te_r][te_v]);
                }
            }
        }
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int te_r = 0; te_r < 8; ++te_r) {
                #pragma unroll
                for (int te_v = 0; te_v < 2; ++te_v) {
                    if (inside[tm_i] && te + te_r * 8 + te_v < E) out[(tm + tm_i * 8) * E + (te + te_r * 8 + te_v)] = tile_f16_store(v_2[tm_i][te_r][te_v]);
                }
            }
        }
    }
    // 11: for tn in tile(N) {
    // 12: var sums: accum(T)[tm, tn] = 0;
    float sums_2[2][8][2];
    #pragma unroll
    for (int tm_i = 0; tm_i < 2; ++tm_i) {
        #pragma unroll
        for (int tn_r = 0; tn_r < 8; ++tn_r) {
            #pragma unroll
            for (int tn_v = 0; tn_v < 2; ++tn_v) {
                sums_2[tm_i][tn_r][tn_v] = 0.0f;
            }
        }
    }
    // 13: for tk in tile(K) { sums += dot[tk](x[tm, tk], w[tn, tk]); }
    for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 64) {
        __syncthreads();
        #pragma unroll
        for (int copy_6 = 0; copy_6 < 32; ++copy_6) {
            const int tm_s_3 = (thread + copy_6 * 128) / 64, tk_s_5 = (thread + copy_6 * 128) % 64 * 1;
            tile_copy_2(tiles + tile_panel_cell(tm_s_3, tk_s_5 / 8, 64) + tk_s_5 % 8 * 2, x + (tm0 + tm_s_3) * K + (tk0_3 + tk_s_5), tm0 + tm_s_3 < M);
        }
        #pragma unroll
        for (int copy_7 = 0; copy_7 < 32; ++copy_7) {
            const int tn_s = (thread + copy_7 * 128) / 64, tk_s_6 = (thread + copy_7 * 128) % 64 * 1;
            tile_copy_2(tiles + 8192 + tile_panel_cell(tn_s, tk_s_6 / 8, 64) + tk_s_6 % 8 * 2, w + tn_s * K + (tk0_3 + tk_s_6), true);
        }
        tile_copies_done();
        tile_copies_seen();
        __syncthreads();
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; ++tn_r) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    tile_hold(&sums_2[tm_i][tn_r][tn_v]);
                }
            }
        }
        tile_group_begin();
        #pragma unroll
        for (int tk_k_3 = 0; tk_k_3 < 4; ++tk_k_3) {
            #pragma unroll
            for (int tm_m_5 = 0; tm_m_5 < 1; ++tm_m_5) {
                tile_group_f16_64_tile(&sums_2[2 * tm_m_5][0][0], 16, 2, tiles + tm_m_5 * 8192 + tk_k_3 / 4 * 8192 + tk_k_3 % 4 * 32, tiles + 8192 + tk_k_3 / 4 * 8192 + tk_k_3 % 4 * 32, 16);
            }
        }
        tile_group_end();
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; ++tn_r) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    tile_hold(&sums_2[tm_i][tn_r][tn_v]);
                }
            }
        }
    }
    if (tk_full < K) {
        const int tk0_4 = tk_full;
        __syncthreads();
        #pragma unroll
        for (int copy_8 = 0; copy_8 < 32; ++copy_8) {
            const int tm_s_4 = (thread + copy_8 * 128) / 64, tk_s_7 = (thread + copy_8 * 128) % 64 * 1;
            tile_copy_2(tiles + tile_panel_cell(tm_s_4, tk_s_7 / 8, 64) + tk_s_7 % 8 * 2, x + (tm0 + tm_s_4) * K + (tk0_4 + tk_s_7), tm0 + tm_s_4 < M && tk0_4 + tk_s_7 < K);
        }
        #pragma unroll
        for (int copy_9 = 0; copy_9 < 32; ++copy_9) {
            const int tn_s_2 = (thread + copy_9 * 128) / 64, tk_s_8 = (thread + copy_9 * 128) % 64 * 1;
            tile_copy_2(tiles + 8192 + tile_panel_cell(tn_s_2, tk_s_8 / 8, 64) + tk_s_8 % 8 * 2, w + tn_s_2 * K + (tk0_4 + tk_s_8), tk0_4 + tk_s_8 < K);
        }
        tile_copies_done();
        tile_copies_seen();
        __syncthreads();
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; ++tn_r) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    tile_hold(&sums_2[tm_i][tn_r][tn_v]);
                }
            }
        }
        tile_group_begin();
        #pragma unroll
        for (int tk_k_4 = 0; tk_k_4 < 4; ++tk_k_4) {
            #pragma unroll
            for (int tm_m_6 = 0; tm_m_6 < 1; ++tm_m_6) {
                tile_group_f16_64_tile(&sums_2[2 * tm_m_6][0][0], 16, 2, tiles + tm_m_6 * 8192 + tk_k_4 / 4 * 8192 + tk_k_4 % 4 * 32, tiles + 8192 + tk_k_4 / 4 * 8192 + tk_k_4 % 4 * 32, 16);
            }
        }
        tile_group_end();
        #pragma unroll
        for (int tm_i = 0; tm_i < 2; ++tm_i) {
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; ++tn_r) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    tile_hold(&sums_2[tm_i][tn_r][tn_v]);
                }
            }
        }
    }
    // 14: y[tm, tn] = sums;
    unsigned pairs[2][8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 2; ++tm_i) {
        #pragma unroll
        for (int tn_r = 0; tn_r < 8; ++tn_r) {
            float sums_f16[2];
            #pragma unroll
            for (int tn_v = 0; tn_v < 2; ++tn_v) {
                sums_f16[tn_v] = tile_f16_round(sums_2[tm_i][tn_r][tn_v]);
            }
            pairs[tm_i][tn_r] = tile_pack_f16(sums_f16[0], sums_f16[1]);
        }
    }
    #pragma unroll
    for (int tm_i = 0; tm_i < 2; ++tm_i) {
        #pragma unroll
        for (int tn_r = 0; tn_r < 8; tn_r += 4) {
            unsigned quad[4];
            quad[0] = pairs[tm_i][tn_r];
            quad[1] = pairs[tm_i][tn_r + 1];
            quad[2] = pairs[tm_i][tn_r + 2];
            quad[3] = pairs[tm_i][tn_r + 3];
            tile_turn_quad(quad, lane);
            if (inside[tm_i]) tile_store_quad(y + (tm + tm_i * 8) * 64 + ((tn_r + lane % 4) * 8), quad);
        }
    }
}
