// jagged_dense_bmm from jagged_dense_bmm.tile, compiled by tilec 0.1.0
// (jagged: bf16[L, D], offsets: i64[B + 1], dense: bf16[B, D, K], bias: bf16[B, K]) -> out: bf16[L, K]
// T = bf16, I = i64, D = 128, K = 128, with bias; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tl: block 128 = vector 1 x lanes 8 x warps 8 x registers 2
//   td: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tb_find: block 256 = vector 1 x lanes 32 x warps 8 x registers 1
//   tb_join: block 4 = vector 1 x lanes 1 x warps 4 x registers 1
//   tn_join: block 8 = vector 2 x lanes 4 x warps 1 x registers 1
//   tl_join: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   td_join: block 8 = vector 2 x lanes 4 x warps 1 x registers 1
//   tb_partial: block 32 = vector 1 x lanes 2 x warps 2 x registers 8
//   grid tn, tn_join, tb, tb_join; strategy chunks of 128; dot wgmma, stages 3; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, offsets ascends, bias at a multiple of 16 bytes, out at a multiple of 16 bytes
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

static __device__ __forceinline__ int tile_panel_cell(const int row, const int chunk, const int rows) {
    return (chunk / 8 * rows + row) * 128 + (chunk % 8 ^ row % 8) * 16;
}

static __device__ __forceinline__ void tile_copy_16(const unsigned at, const void *from, const bool inside) {
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void tile_copies_end() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ __forceinline__ void tile_copies_but_1() {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
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

static __device__ __forceinline__ void tile_group_bf16_64_tile_transposed(float *c, const int h, const int j, const unsigned a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 1; }"
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

static __device__ __forceinline__ void tile_load_bf16x2(float *v, const unsigned short *p) {
    const unsigned q0 = *(const unsigned *)p;
    v[0] = __uint_as_float(q0 << 16);
    v[1] = __uint_as_float(q0 & 0xffff0000u);
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

static __device__ __forceinline__ unsigned tile_pack_bf16(const float low, const float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
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

// launch: ceil(… / 256) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_dense_bmm_1(const long long *__restrict__ offsets, int *__restrict__ found_5, int L, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_find_t = warp * 32 + lane;
    // 15: for (tb, tn) in tile(B, K) {
    const long long B_i64 = (long long)B;
    const long long i = (long long)(L / 128) + B_i64;
    const int i_2 = (int)tile_clampi_i64(i, -2146435071LL, 2146435071LL);
    const int tb_find0 = (int)blockIdx.x * 256;
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
        const int i_21 = (i_7 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_8] : 0LL) / 128LL + i_8, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_9 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_10] : 0LL) / 128LL + i_10, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_11 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_12] : 0LL) / 128LL + i_12, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_13 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_14] : 0LL) / 128LL + i_14, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_15 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_16] : 0LL) / 128LL + i_16, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_17 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_18] : 0LL) / 128LL + i_18, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0) + (i_19 <= i_5 & inside_2 & (int)tile_clampi_i64((inside ? offsets[(int)i_20] : 0LL) / 128LL + i_20, -2146435071LL, 2146435071LL) <= tb_find ? 1 : 0);
        const long long i_22 = i_4 + (long long)i_21 * i_6;
        const long long i_23 = tile_mini_i64(i_22, i_5);
        const long long i_24 = tile_maxi_i64(i_21 == 7 ? i_5 : tile_mini_i64(i_5, i_22 + i_6 - 1LL), i_4);
        i_4 = i_23;
        i_5 = i_24;
    }
    if (inside) found_5[tb_find] = (int)i_4;
}

// launch: 2 * ((L / 128) + B) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_dense_bmm_2(const unsigned short *__restrict__ jagged, const long long *__restrict__ offsets, const unsigned short *__restrict__ dense, const unsigned short *__restrict__ bias, unsigned short *__restrict__ out, const int *__restrict__ found_5, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tn_t = (lane & 3) * 2;
    const int tl_t = warp * 16 + (lane >> 2 & 7);
    const int tn0 = (int)(blockIdx.x % 2) * 64;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / 2);
    const long long row = tile_maxi_i64(tile_mini_i64((long long)found_5[(int)tb] - 1LL, (long long)(B - 1)), 0LL);
    const int row_i32 = (int)row;
    const long long start = offsets[row_i32];
    const long long begin = (tb - (start / 128LL + row)) * 128LL;
    const int begin_i32 = (int)tile_clampi_i64(begin, -2146435071LL, 2146435071LL);
    // 16: let start = offsets[tb];
    // 17: let length = offsets[tb + 1] - start;
    // 18: for tl in jagged_tile(length) {
    // 19: var acc: accum(T)[tb, tl, tn] = 0;
    // 20: for td in tile(D) {
    // 21: acc += dot[td](jagged[start + tl, td], dense[tb, td, tn]);
    const int i = (int)tile_clampi_i64((begin_i32 >= 0 ? tile_mini_i64(begin + 128LL, offsets[row_i32 + 1] - start) : begin) - begin, -2146435071LL, 2146435071LL);
    const int begin_i32_2 = (int)begin;
    const int start_i32 = (int)start;
    for (int tl0 = 0; tl0 < i; tl0 += 128) {
        const int tl = tl0 + tl_t;
        bool inside[2];
        int i_2[2];
        #pragma unroll
        for (int tl_i = 0; tl_i < 2; ++tl_i) {
            inside[tl_i] = tl + tl_i * 8 < i;
            i_2[tl_i] = start_i32 + (begin_i32_2 + (tl + tl_i * 8));
        }
        float acc[8][2][2];
        #pragma unroll
        for (int tn_r = 0; tn_r < 8; ++tn_r) {
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
        for (int turn = 0; turn < 2; ++turn) {
            const int td_ahead = 0 + turn * 64;
            if (td_ahead < 128) {
                const unsigned td_to = tiles + 0 + turn * 24576;
                #pragma unroll
                for (int copy = 0; copy < 4; ++copy) {
                    const int tl_s = thread / 8 + copy * 32, td_s = thread % 8 * 8;
                    tile_copy_16(td_to + tile_panel_cell(thread / 8, td_s / 8, 128) + copy * 4096, jagged + (start_i32 + (begin_i32_2 + (tl0 + tl_s))) * 128 + (td_ahead + td_s), tl0 + tl_s < i);
                }
                #pragma unroll
                for (int copy_2 = 0; copy_2 < 2; ++copy_2) {
                    const int td_s_2 = thread / 8 + copy_2 * 32, tn_s = thread % 8 * 8;
                    tile_copy_16(td_to + 16384 + tile_panel_cell(thread / 8, tn_s / 8, 64) + copy_2 * 4096, dense + (row_i32 * 128 + (td_ahead + td_s_2)) * 128 + (tn0 + tn_s), true);
                }
            }
            tile_copies_end();
        }
        for (int td0 = 0; td0 < 128; td0 += 64) {
            tile_copies_but_1();
            tile_copies_seen();
            __syncthreads();
            const unsigned td_tiles = tiles + 0 + td_slot * 24576;
            const int td_ahead_2 = td0 + 128;
            if (td_ahead_2 < 128) {
                const unsigned td_to_2 = tiles + 0 + (td_slot ? td_slot - 1 : 2) * 24576;
                #pragma unroll
                for (int copy_3 = 0; copy_3 < 4; ++copy_3) {
                    const int tl_s_2 = thread / 8 + copy_3 * 32, td_s_3 = thread % 8 * 8;
                    tile_copy_16(td_to_2 + tile_panel_cell(thread / 8, td_s_3 / 8, 128) + copy_3 * 4096, jagged + (start_i32 + (begin_i32_2 + (tl0 + tl_s_2))) * 128 + (td_ahead_2 + td_s_3), tl0 + tl_s_2 < i);
                }
                #pragma unroll
                for (int copy_4 = 0; copy_4 < 2; ++copy_4) {
                    const int td_s_4 = thread / 8 + copy_4 * 32, tn_s_2 = thread % 8 * 8;
                    tile_copy_16(td_to_2 + 16384 + tile_panel_cell(thread / 8, tn_s_2 / 8, 64) + copy_4 * 4096, dense + (row_i32 * 128 + (td_ahead_2 + td_s_4)) * 128 + (tn0 + tn_s_2), true);
                }
            }
            tile_copies_end();
            td_slot = td_slot == 2 ? 0 : td_slot + 1;
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; ++tn_r) {
                #pragma unroll
                for (int tl_i = 0; tl_i < 2; ++tl_i) {
                    #pragma unroll
                    for (int tn_v = 0; tn_v < 2; ++tn_v) {
                        tile_hold(&acc[tn_r][tl_i][tn_v]);
                    }
                }
            }
            tile_group_begin();
            #pragma unroll
            for (int td_k = 0; td_k < 4; ++td_k) {
                #pragma unroll
                for (int tl_m = 0; tl_m < 1; ++tl_m) {
                    tile_group_bf16_64_tile_transposed(&acc[0][2 * tl_m][0], 2, 4, td_tiles + (tl_m * 2 + warp / 4) * 8192 + td_k / 4 * 16384 + td_k % 4 * 32, td_tiles + 16384 + td_k * 2048, 8192);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; ++tn_r) {
                #pragma unroll
                for (int tl_i = 0; tl_i < 2; ++tl_i) {
                    #pragma unroll
                    for (int tn_v = 0; tn_v < 2; ++tn_v) {
                        tile_hold(&acc[tn_r][tl_i][tn_v]);
                    }
                }
            }
        }
        // 23: if has(bias) { acc += bias[tb, tn]; }
        float v_2[8][2];
        #pragma unroll
        for (int tn_r = 0; tn_r < 8; ++tn_r) {
            float v[2];
            tile_load_bf16x2(v, bias + row_i32 * 128 + (tn + tn_r * 8));
            #pragma unroll
            for (int tn_v = 0; tn_v < 2; ++tn_v) {
                v_2[tn_r][tn_v] = v[tn_v];
            }
        }
        // 24: out[start + tl, tn] = acc;
        unsigned pairs[8][2];
        #pragma unroll
        for (int tn_r = 0; tn_r < 8; ++tn_r) {
            #pragma unroll
            for (int tl_i = 0; tl_i < 2; ++tl_i) {
                float acc_bf16[2];
                #pragma unroll
                for (int tn_v = 0; tn_v < 2; ++tn_v) {
                    acc_bf16[tn_v] = tile_bf16_round(acc[tn_r][tl_i][tn_v] + v_2[tn_r][tn_v]);
                }
                pairs[tn_r][tl_i] = tile_pack_bf16(acc_bf16[0], acc_bf16[1]);
            }
        }
        #pragma unroll
        for (int tl_i = 0; tl_i < 2; ++tl_i) {
            #pragma unroll
            for (int tn_r = 0; tn_r < 8; tn_r += 4) {
                unsigned quad[4];
                quad[0] = pairs[tn_r][tl_i];
                quad[1] = pairs[tn_r + 1][tl_i];
                quad[2] = pairs[tn_r + 2][tl_i];
                quad[3] = pairs[tn_r + 3][tl_i];
                tile_turn_quad(quad, lane);
                if (inside[tl_i]) tile_store_quad(out + i_2[tl_i] * 128 + (tn0 + (tn_r + lane % 4) * 8), quad);
            }
        }
    }
}
