// jagged_dense_bmm from jagged_dense_bmm.tile, compiled by tilec 0.1.0
// (jagged: f32[L, D], offsets: i64[B + 1], dense: f32[B, D, K], bias: f32[B, K]) -> out: f32[L, K]
// T = f32, I = i64, D = 71, K = 48, with bias; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 32 = vector 2 x lanes 4 x warps 1 x registers 4
//   tl: block 64 = vector 1 x lanes 8 x warps 4 x registers 2
//   td: block 32 = vector 2 x lanes 4 x warps 1 x registers 4
//   grid tn, tb; strategy rows; dot tf32, stages 2; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, bias at a multiple of 16 bytes, out at a multiple of 16 bytes

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

static __device__ __forceinline__ void tile_copy_16(const unsigned at, const void *from, const bool inside) {
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void tile_copies_end() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ __forceinline__ void tile_copies_but_0() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}

static __device__ __forceinline__ float tile_word(const unsigned at) {
    float word;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(word) : "r"(at) : "memory");
    return word;
}

static __device__ __forceinline__ unsigned tile_round_tf32(const float f) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(f));
    return rounded;
}

static __device__ __forceinline__ void tile_mma_tf32(float *c, float *d, const unsigned *a, const unsigned *b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(d[0]), "+f"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void tile_copies_done() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

static __device__ __forceinline__ void tile_load_f32x2(float *v, const float *p) {
    const uint2 q0 = *(const uint2 *)p;
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
}

static __device__ __forceinline__ void tile_clear_f32x2(float *v) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) v[i] = 0;
}

static __device__ __forceinline__ void tile_store_f32x2(float *p, const float *v) {
    *(uint2 *)p = make_uint2(__float_as_uint(v[0]), __float_as_uint(v[1]));
}

static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

// launch: 2 * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_dense_bmm(const float *__restrict__ jagged, const long long *__restrict__ offsets, const float *__restrict__ dense, const float *__restrict__ bias, float *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tn_t = (lane & 3) * 2;
    const int tl_t = warp * 8 + (lane >> 2 & 7);
    const int tn0 = (int)(blockIdx.x % 2) * 32;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / 2);
    // 15: for (tb, tn) in tile(B, K) {
    bool inside[4][2];
    #pragma unroll
    for (int tn_r = 0; tn_r < 4; ++tn_r) {
        #pragma unroll
        for (int tn_v = 0; tn_v < 2; ++tn_v) {
            inside[tn_r][tn_v] = tn + tn_r * 8 + tn_v < 48;
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
    for (int tl0 = 0; tl0 < length_i32; tl0 += 64) {
        const int tl = tl0 + tl_t;
        bool inside_2[2];
        int i[2];
        #pragma unroll
        for (int tl_i = 0; tl_i < 2; ++tl_i) {
            inside_2[tl_i] = tl + tl_i * 32 < length_i32;
            i[tl_i] = start_i32 + (tl + tl_i * 32);
        }
        float acc[4][2][2];
        #pragma unroll
        for (int tn_r = 0; tn_r < 4; ++tn_r) {
            #pragma unroll
            for (int tl_i = 0; tl_i < 2; ++tl_i) {
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    acc[tn_r][tl_i][tn_v] = 0.0f;
                }
            }
        }
        __syncthreads();
        int td_slot = 0;
        #pragma unroll
        for (int turn = 0; turn < 1; ++turn) {
            const int td_ahead = 0 + turn * 32;
            if (td_ahead < 64) {
                const unsigned td_to = tiles + 0 + turn * 12288;
                #pragma unroll
                for (int copy = 0; copy < 16; ++copy) {
                    const int tl_s = (thread + copy * 128) / 32, td_s = (thread + copy * 128) % 32 * 1;
                    tile_copy_4(td_to + tile_cell(tl_s, td_s / 4, 8) + td_s % 4 * 4, jagged + (start_i32 + (tl0 + tl_s)) * 71 + (td_ahead + td_s), tl0 + tl_s < length_i32);
                }
                #pragma unroll
                for (int copy_2 = 0; copy_2 < 2; ++copy_2) {
                    const int td_s_2 = thread / 8 + copy_2 * 16, tn_s = thread % 8 * 4;
                    tile_copy_16(td_to + 8192 + tile_cell(thread / 8, tn_s / 4, 8) + copy_2 * 2048, dense + (tb * 71 + (td_ahead + td_s_2)) * 48 + (tn0 + tn_s), tn0 + tn_s < 48);
                }
            }
            tile_copies_end();
        }
        for (int td0 = 0; td0 < 64; td0 += 32) {
            tile_copies_but_0();
            __syncthreads();
            const unsigned td_tiles = tiles + 0 + td_slot * 12288;
            const int td_ahead_2 = td0 + 32;
            if (td_ahead_2 < 64) {
                const unsigned td_to_2 = tiles + 0 + (td_slot ? td_slot - 1 : 1) * 12288;
                #pragma unroll
                for (int copy_3 = 0; copy_3 < 16; ++copy_3) {
                    const int tl_s_2 = (thread + copy_3 * 128) / 32, td_s_3 = (thread + copy_3 * 128) % 32 * 1;
                    tile_copy_4(td_to_2 + tile_cell(tl_s_2, td_s_3 / 4, 8) + td_s_3 % 4 * 4, jagged + (start_i32 + (tl0 + tl_s_2)) * 71 + (td_ahead_2 + td_s_3), tl0 + tl_s_2 < length_i32);
                }
                #pragma unroll
                for (int copy_4 = 0; copy_4 < 2; ++copy_4) {
                    const int td_s_4 = thread / 8 + copy_4 * 16, tn_s_2 = thread % 8 * 4;
                    tile_copy_16(td_to_2 + 8192 + tile_cell(thread / 8, tn_s_2 / 4, 8) + copy_4 * 2048, dense + (tb * 71 + (td_ahead_2 + td_s_4)) * 48 + (tn0 + tn_s_2), tn0 + tn_s_2 < 48);
                }
            }
            tile_copies_end();
            td_slot = td_slot == 1 ? 0 : td_slot + 1;
            #pragma unroll
            for (int td_k = 0; td_k < 2; ++td_k) {
                #pragma unroll
                for (int half = 0; half < 2; ++half) {
                    unsigned rows[1][4];
                    #pragma unroll
                    for (int tl_m = 0; tl_m < 1; ++tl_m) {
                        rows[tl_m][0] = tile_round_tf32(tile_word(td_tiles + tile_cell((2 * tl_m * 4 + warp) * 8 + lane / 4, ((td_k * 2 + half) * 8 + lane % 4 * 2) / 4, 8) + ((td_k * 2 + half) * 8 + lane % 4 * 2) % 4 * 4));
                        rows[tl_m][2] = tile_round_tf32(tile_word(td_tiles + tile_cell((2 * tl_m * 4 + warp) * 8 + lane / 4, ((td_k * 2 + half) * 8 + lane % 4 * 2 + 1) / 4, 8) + ((td_k * 2 + half) * 8 + lane % 4 * 2 + 1) % 4 * 4));
                        rows[tl_m][1] = tile_round_tf32(tile_word(td_tiles + tile_cell(((2 * tl_m + 1) * 4 + warp) * 8 + lane / 4, ((td_k * 2 + half) * 8 + lane % 4 * 2) / 4, 8) + ((td_k * 2 + half) * 8 + lane % 4 * 2) % 4 * 4));
                        rows[tl_m][3] = tile_round_tf32(tile_word(td_tiles + tile_cell(((2 * tl_m + 1) * 4 + warp) * 8 + lane / 4, ((td_k * 2 + half) * 8 + lane % 4 * 2 + 1) / 4, 8) + ((td_k * 2 + half) * 8 + lane % 4 * 2 + 1) % 4 * 4));
                    }
                    #pragma unroll
                    for (int tn_n = 0; tn_n < 4; ++tn_n) {
                        unsigned columns[2];
                        columns[0] = tile_round_tf32(tile_word(td_tiles + 8192 + tile_cell((td_k * 2 + half) * 8 + lane % 4 * 2, ((tn_n) * 8 + lane / 4) / 4, 8) + ((tn_n) * 8 + lane / 4) % 4 * 4));
                        columns[1] = tile_round_tf32(tile_word(td_tiles + 8192 + tile_cell((td_k * 2 + half) * 8 + lane % 4 * 2 + 1, ((tn_n) * 8 + lane / 4) / 4, 8) + ((tn_n) * 8 + lane / 4) % 4 * 4));
                        #pragma unroll
                        for (int tl_m = 0; tl_m < 1; ++tl_m) {
                            tile_mma_tf32(&acc[tn_n][2 * tl_m][0], &acc[tn_n][2 * tl_m + 1][0], rows[tl_m], columns);
                        }
                    }
                }
            }
        }
        if (64 < 71) {
            const int td0_2 = 64;
            __syncthreads();
            #pragma unroll
            for (int copy_5 = 0; copy_5 < 16; ++copy_5) {
                const int tl_s_3 = (thread + copy_5 * 128) / 32, td_s_5 = (thread + copy_5 * 128) % 32 * 1;
                tile_copy_4(tiles + tile_cell(tl_s_3, td_s_5 / 4, 8) + td_s_5 % 4 * 4, jagged + (start_i32 + (tl0 + tl_s_3)) * 71 + (td0_2 + td_s_5), tl0 + tl_s_3 < length_i32 && td0_2 + td_s_5 < 71);
            }
            #pragma unroll
            for (int copy_6 = 0; copy_6 < 2; ++copy_6) {
                const int td_s_6 = thread / 8 + copy_6 * 16, tn_s_3 = thread % 8 * 4;
                tile_copy_16(tiles + 8192 + tile_cell(thread / 8, tn_s_3 / 4, 8) + copy_6 * 2048, dense + (tb * 71 + (td0_2 + td_s_6)) * 48 + (tn0 + tn_s_3), tn0 + tn_s_3 < 48 && td0_2 + td_s_6 < 71);
            }
            tile_copies_done();
            __syncthreads();
            #pragma unroll
            for (int td_k_2 = 0; td_k_2 < 2; ++td_k_2) {
                #pragma unroll
                for (int half_2 = 0; half_2 < 2; ++half_2) {
                    unsigned rows_2[1][4];
                    #pragma unroll
                    for (int tl_m_2 = 0; tl_m_2 < 1; ++tl_m_2) {
                        rows_2[tl_m_2][0] = tile_round_tf32(tile_word(tiles + tile_cell((2 * tl_m_2 * 4 + warp) * 8 + lane / 4, ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2) / 4, 8) + ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2) % 4 * 4));
                        rows_2[tl_m_2][2] = tile_round_tf32(tile_word(tiles + tile_cell((2 * tl_m_2 * 4 + warp) * 8 + lane / 4, ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2 + 1) / 4, 8) + ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2 + 1) % 4 * 4));
                        rows_2[tl_m_2][1] = tile_round_tf32(tile_word(tiles + tile_cell(((2 * tl_m_2 + 1) * 4 + warp) * 8 + lane / 4, ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2) / 4, 8) + ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2) % 4 * 4));
                        rows_2[tl_m_2][3] = tile_round_tf32(tile_word(tiles + tile_cell(((2 * tl_m_2 + 1) * 4 + warp) * 8 + lane / 4, ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2 + 1) / 4, 8) + ((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2 + 1) % 4 * 4));
                    }
                    #pragma unroll
                    for (int tn_n_2 = 0; tn_n_2 < 4; ++tn_n_2) {
                        unsigned columns_2[2];
                        columns_2[0] = tile_round_tf32(tile_word(tiles + 8192 + tile_cell((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2, ((tn_n_2) * 8 + lane / 4) / 4, 8) + ((tn_n_2) * 8 + lane / 4) % 4 * 4));
                        columns_2[1] = tile_round_tf32(tile_word(tiles + 8192 + tile_cell((td_k_2 * 2 + half_2) * 8 + lane % 4 * 2 + 1, ((tn_n_2) * 8 + lane / 4) / 4, 8) + ((tn_n_2) * 8 + lane / 4) % 4 * 4));
                        #pragma unroll
                        for (int tl_m_2 = 0; tl_m_2 < 1; ++tl_m_2) {
                            tile_mma_tf32(&acc[tn_n_2][2 * tl_m_2][0], &acc[tn_n_2][2 * tl_m_2 + 1][0], rows_2[tl_m_2], columns_2);
                        }
                    }
                }
            }
        }
        // 23: if has(bias) { acc += bias[tb, tn]; }
        float v[4][2];
        #pragma unroll
        for (int tn_r = 0; tn_r < 4; ++tn_r) {
            if (inside[tn_r][0]) tile_load_f32x2(v[tn_r], bias + tb * 48 + (tn + tn_r * 8));
            else tile_clear_f32x2(v[tn_r]);
        }
        // 24: out[start + tl, tn] = acc;
        #pragma unroll
        for (int tn_r = 0; tn_r < 4; ++tn_r) {
            #pragma unroll
            for (int tl_i = 0; tl_i < 2; ++tl_i) {
                float acc_2[2];
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    acc_2[tn_v] = acc[tn_r][tl_i][tn_v] + v[tn_r][tn_v];
                }
                if (inside[tn_r][0] && inside_2[tl_i]) tile_store_f32x2(out + i[tl_i] * 48 + (tn + tn_r * 8), acc_2);
            }
        }
    }
}
