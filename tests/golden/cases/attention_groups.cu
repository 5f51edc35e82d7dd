// jagged_hstu_attention from jagged_hstu_attention.tile, compiled by tilec 0.1.0
// (q: bf16[N, H, D], k: bf16[N, H, D], v: bf16[N, H, E], offsets: i64[B + 1], alpha: f32, scale: f32) -> out: bf16[N, H, E]
// T = bf16, I = i64, D = 64, E = 64; 32-bit indices
//   d: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   e: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   th: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tq: block 128 = vector 1 x lanes 8 x warps 8 x registers 2
//   tk: block 64 = vector 2 x lanes 4 x warps 1 x registers 8
//   tb_find: block 256 = vector 1 x lanes 32 x warps 8 x registers 1
//   grid th, tb; strategy chunks of 128; dot wgmma, stages 2; peel true; late true; stream false; min_blocks 0
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

static __device__ __forceinline__ void tile_copies_but_0() {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}

static __device__ __forceinline__ void tile_copies_seen() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void tile_group_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ unsigned long long tile_panels(const unsigned at, const int panel) {
    return (at & 0x3ffff) >> 4 | (unsigned long long)(panel >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

static __device__ __forceinline__ void tile_group_bf16_64_tile_fresh(float *c, const int h, const int j, const unsigned a, const unsigned b, const int panel, const int more) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "l"(tile_panels(a, 16)), "l"(tile_panels(b, panel)), "r"(more) : "memory");
}

static __device__ __forceinline__ void tile_group_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

static __device__ __forceinline__ void tile_hold(float *c) {
    asm volatile("" : "+f"(*c) :: "memory");
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

static __device__ __forceinline__ void tile_group_bf16_64_registers_transposed(float *c, const int h, const int j, const unsigned *a, const unsigned b, const int panel) {
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
                 : "+f"(c[0 * j]), "+f"(c[0 * j + 1]), "+f"(c[h + 0 * j]), "+f"(c[h + 0 * j + 1]),
                   "+f"(c[1 * j]), "+f"(c[1 * j + 1]), "+f"(c[h + 1 * j]), "+f"(c[h + 1 * j + 1]),
                   "+f"(c[2 * j]), "+f"(c[2 * j + 1]), "+f"(c[h + 2 * j]), "+f"(c[h + 2 * j + 1]),
                   "+f"(c[3 * j]), "+f"(c[3 * j + 1]), "+f"(c[h + 3 * j]), "+f"(c[h + 3 * j + 1]),
                   "+f"(c[4 * j]), "+f"(c[4 * j + 1]), "+f"(c[h + 4 * j]), "+f"(c[h + 4 * j + 1]),
                   "+f"(c[5 * j]), "+f"(c[5 * j + 1]), "+f"(c[h + 5 * j]), "+f"(c[h + 5 * j + 1]),
                   "+f"(c[6 * j]), "+f"(c[6 * j + 1]), "+f"(c[h + 6 * j]), "+f"(c[h + 6 * j + 1]),
                   "+f"(c[7 * j]), "+f"(c[7 * j + 1]), "+f"(c[h + 7 * j]), "+f"(c[h + 7 * j + 1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(tile_panels(b, panel)) : "memory");
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

// launch: ceil(… / 256) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_hstu_attention_1(const long long *__restrict__ offsets, int *__restrict__ found_7, int N, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_find_t = warp * 32 + lane;
    // 18: axis d = D;
    // 19: axis e = E;
    // 20: for (tb, th) in tile(B, H) {
    const long long B_i64 = (long long)B;
    const long long i = (long long)(N / 128) + B_i64;
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
    if (inside) found_7[tb_find] = (int)i_4;
}

// launch: H * ((N / 128) + B) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_hstu_attention_2(const unsigned short *__restrict__ q, const unsigned short *__restrict__ k, const unsigned short *__restrict__ v, const long long *__restrict__ offsets, unsigned short *__restrict__ out, const int *__restrict__ found_7, float alpha, float scale, int N, int H, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tq_t = warp * 16 + (lane >> 2 & 7);
    const int tk_t = (lane & 3) * 2;
    const long long B_i64 = (long long)B;
    const long long i = (long long)(N / 128) + B_i64;
    const int th = (int)(blockIdx.x % H);
    const int tb = (int)(blockIdx.x / H);
    const long long i_2 = i - 1LL - tb;
    const long long row = tile_maxi_i64(tile_mini_i64((long long)found_7[(int)i_2] - 1LL, (long long)(B - 1)), 0LL);
    const int row_i32 = (int)row;
    const long long start = offsets[row_i32];
    const long long begin = (i_2 - (start / 128LL + row)) * 128LL;
    const int begin_i32 = (int)tile_clampi_i64(begin, -2146435071LL, 2146435071LL);
    // 21: let start = offsets[tb];
    // 22: let length = offsets[tb + 1] - start;
    // 23: for tq in jagged_tile(length) {
    // 24: let query = q[start + tq, th, d];
    const long long i_3 = begin_i32 >= 0 ? tile_mini_i64(begin + 128LL, offsets[row_i32 + 1] - start) : begin;
    const int i_4 = (int)tile_clampi_i64(i_3 - begin, -2146435071LL, 2146435071LL);
    const int start_i32 = (int)start;
    for (int tq0 = 0; tq0 < i_4; tq0 += 128) {
        const int tq = tq0 + tq_t;
        int i_5[2];
        #pragma unroll
        for (int tq_i = 0; tq_i < 2; ++tq_i) {
            i_5[tq_i] = (int)tile_clampi_i64(begin + (long long)(tq + tq_i * 8), -2146435071LL, 2146435071LL);
        }
        tile_copies_done();
        __syncthreads();
        #pragma unroll
        for (int copy = 0; copy < 4; ++copy) {
            const int tq_s = thread / 8 + copy * 32, d_s = thread % 8 * 8;
            tile_copy_16(tiles + tile_panel_cell(thread / 8, d_s / 8, 128) + copy * 4096, q + ((start_i32 + (int)(begin + (long long)(tq0 + tq_s))) * H + th) * 64 + d_s, tq0 + tq_s < i_4);
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
        const int i_6 = (int)tile_clampi_i64(tile_mini_i64(begin + (long long)tq0 + 128LL, i_3), -2146435071LL, 2146435071LL);
        const int tk_full = i_6 - i_6 % 64;
        __syncthreads();
        int tk_slot = 0;
        #pragma unroll
        for (int turn = 0; turn < 1; ++turn) {
            const int tk_ahead = 0 + turn * 64;
            if (tk_ahead < tk_full) {
                const unsigned tk_to = tiles + 16384 + turn * 16384;
                #pragma unroll
                for (int copy_2 = 0; copy_2 < 2; ++copy_2) {
                    const int tk_s = thread / 8 + copy_2 * 32, d_s_2 = thread % 8 * 8;
                    tile_copy_16(tk_to + tile_panel_cell(thread / 8, d_s_2 / 8, 64) + copy_2 * 4096, k + ((start_i32 + (tk_ahead + tk_s)) * H + th) * 64 + d_s_2, true);
                }
                #pragma unroll
                for (int copy_3 = 0; copy_3 < 2; ++copy_3) {
                    const int tk_s_2 = thread / 8 + copy_3 * 32, e_s = thread % 8 * 8;
                    tile_copy_16(tk_to + 8192 + tile_panel_cell(thread / 8, e_s / 8, 64) + copy_3 * 4096, v + ((start_i32 + (tk_ahead + tk_s_2)) * H + th) * 64 + e_s, true);
                }
            }
            tile_copies_end();
        }
        for (int tk0 = 0; tk0 < tk_full; tk0 += 64) {
            tile_copies_but_0();
            tile_copies_seen();
            __syncthreads();
            const unsigned tk_tiles = tiles + 16384 + tk_slot * 16384;
            const int tk_ahead_2 = tk0 + 64;
            if (tk_ahead_2 < tk_full) {
                const unsigned tk_to_2 = tiles + 16384 + (tk_slot ? tk_slot - 1 : 1) * 16384;
                #pragma unroll
                for (int copy_4 = 0; copy_4 < 2; ++copy_4) {
                    const int tk_s_3 = thread / 8 + copy_4 * 32, d_s_3 = thread % 8 * 8;
                    tile_copy_16(tk_to_2 + tile_panel_cell(thread / 8, d_s_3 / 8, 64) + copy_4 * 4096, k + ((start_i32 + (tk_ahead_2 + tk_s_3)) * H + th) * 64 + d_s_3, true);
                }
                #pragma unroll
                for (int copy_5 = 0; copy_5 < 2; ++copy_5) {
                    const int tk_s_4 = thread / 8 + copy_5 * 32, e_s_2 = thread % 8 * 8;
                    tile_copy_16(tk_to_2 + 8192 + tile_panel_cell(thread / 8, e_s_2 / 8, 64) + copy_5 * 4096, v + ((start_i32 + (tk_ahead_2 + tk_s_4)) * H + th) * 64 + e_s_2, true);
                }
            }
            tile_copies_end();
            tk_slot = tk_slot == 1 ? 0 : tk_slot + 1;
            const int tk = tk0 + tk_t;
            // 27: let score = silu(dot[d](query, k[start + tk, th, d]) * alpha) * scale;
            float v_2[2][8][2];
            tile_group_begin();
            #pragma unroll
            for (int d_k = 0; d_k < 4; ++d_k) {
                #pragma unroll
                for (int tq_m = 0; tq_m < 1; ++tq_m) {
                    tile_group_bf16_64_tile_fresh(&v_2[2 * tq_m][0][0], 16, 2, tiles + (tq_m * 2 + warp / 4) * 8192 + d_k / 4 * 16384 + d_k % 4 * 32, tk_tiles + d_k / 4 * 8192 + d_k % 4 * 32, 16, d_k > 0);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 8; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        tile_hold(&v_2[tq_i][tk_r][tk_v]);
                    }
                }
            }
            // 28: let causal = tq >= tk ? score : 0;
            float causal[2][8][2];
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 8; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        const float score = tile_silu_rough(v_2[tq_i][tk_r][tk_v] * alpha) * scale;
                        causal[tq_i][tk_r][tk_v] = i_5[tq_i] >= tk + tk_r * 8 + tk_v ? score : 0.0f;
                    }
                }
            }
            // 29: acc += dot[tk](T(causal), v[start + tk, th, e]);
            unsigned rows[4][1][4];
            #pragma unroll
            for (int tk_k = 0; tk_k < 4; ++tk_k) {
                #pragma unroll
                for (int tq_m_2 = 0; tq_m_2 < 1; ++tq_m_2) {
                    rows[tk_k][tq_m_2][0] = tile_pack_bf16(causal[2 * tq_m_2][2 * tk_k][0], causal[2 * tq_m_2][2 * tk_k][1]);
                    rows[tk_k][tq_m_2][1] = tile_pack_bf16(causal[2 * tq_m_2 + 1][2 * tk_k][0], causal[2 * tq_m_2 + 1][2 * tk_k][1]);
                    rows[tk_k][tq_m_2][2] = tile_pack_bf16(causal[2 * tq_m_2][2 * tk_k + 1][0], causal[2 * tq_m_2][2 * tk_k + 1][1]);
                    rows[tk_k][tq_m_2][3] = tile_pack_bf16(causal[2 * tq_m_2 + 1][2 * tk_k + 1][0], causal[2 * tq_m_2 + 1][2 * tk_k + 1][1]);
                }
            }
            #pragma unroll
            for (int e_r = 0; e_r < 8; ++e_r) {
                #pragma unroll
                for (int tq_i = 0; tq_i < 2; ++tq_i) {
                    #pragma unroll
                    for (int e_v = 0; e_v < 2; ++e_v) {
                        tile_hold(&acc[e_r][tq_i][e_v]);
                    }
                }
            }
            tile_group_begin();
            #pragma unroll
            for (int tk_k = 0; tk_k < 4; ++tk_k) {
                #pragma unroll
                for (int tq_m_2 = 0; tq_m_2 < 1; ++tq_m_2) {
                    tile_group_bf16_64_registers_transposed(&acc[0][2 * tq_m_2][0], 2, 4, rows[tk_k][tq_m_2], tk_tiles + 8192 + tk_k * 2048, 8192);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int e_r = 0; e_r < 8; ++e_r) {
                #pragma unroll
                for (int tq_i = 0; tq_i < 2; ++tq_i) {
                    #pragma unroll
                    for (int e_v = 0; e_v < 2; ++e_v) {
                        tile_hold(&acc[e_r][tq_i][e_v]);
                    }
                }
            }
        }
        if (tk_full < i_6) {
            const int tk0_2 = tk_full;
            const int tk_2 = tk0_2 + tk_t;
            __syncthreads();
            #pragma unroll
            for (int copy_6 = 0; copy_6 < 2; ++copy_6) {
                const int tk_s_5 = thread / 8 + copy_6 * 32, d_s_4 = thread % 8 * 8;
                tile_copy_16(tiles + 16384 + tile_panel_cell(thread / 8, d_s_4 / 8, 64) + copy_6 * 4096, k + ((start_i32 + (tk0_2 + tk_s_5)) * H + th) * 64 + d_s_4, tk0_2 + tk_s_5 < i_6);
            }
            #pragma unroll
            for (int copy_7 = 0; copy_7 < 2; ++copy_7) {
                const int tk_s_6 = thread / 8 + copy_7 * 32, e_s_3 = thread % 8 * 8;
                tile_copy_16(tiles + 24576 + tile_panel_cell(thread / 8, e_s_3 / 8, 64) + copy_7 * 4096, v + ((start_i32 + (tk0_2 + tk_s_6)) * H + th) * 64 + e_s_3, tk0_2 + tk_s_6 < i_6);
            }
            tile_copies_done();
            tile_copies_seen();
            __syncthreads();
            float v_3[2][8][2];
            tile_group_begin();
            #pragma unroll
            for (int d_k_2 = 0; d_k_2 < 4; ++d_k_2) {
                #pragma unroll
                for (int tq_m_4 = 0; tq_m_4 < 1; ++tq_m_4) {
                    tile_group_bf16_64_tile_fresh(&v_3[2 * tq_m_4][0][0], 16, 2, tiles + (tq_m_4 * 2 + warp / 4) * 8192 + d_k_2 / 4 * 16384 + d_k_2 % 4 * 32, tiles + 16384 + d_k_2 / 4 * 8192 + d_k_2 % 4 * 32, 16, d_k_2 > 0);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 8; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        tile_hold(&v_3[tq_i][tk_r][tk_v]);
                    }
                }
            }
            float v_4[2][8][2];
            #pragma unroll
            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                #pragma unroll
                for (int tk_r = 0; tk_r < 8; ++tk_r) {
                    #pragma unroll
                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                        const float score_2 = tile_silu_rough(v_3[tq_i][tk_r][tk_v] * alpha) * scale;
                        const float causal_2 = i_5[tq_i] >= tk_2 + tk_r * 8 + tk_v ? score_2 : 0.0f;
                        v_4[tq_i][tk_r][tk_v] = tk_2 + tk_r * 8 + tk_v < i_6 ? causal_2 : 0.0f;
                    }
                }
            }
            unsigned rows_2[4][1][4];
            #pragma unroll
            for (int tk_k_3 = 0; tk_k_3 < 4; ++tk_k_3) {
                #pragma unroll
                for (int tq_m_5 = 0; tq_m_5 < 1; ++tq_m_5) {
                    rows_2[tk_k_3][tq_m_5][0] = tile_pack_bf16(v_4[2 * tq_m_5][2 * tk_k_3][0], v_4[2 * tq_m_5][2 * tk_k_3][1]);
                    rows_2[tk_k_3][tq_m_5][1] = tile_pack_bf16(v_4[2 * tq_m_5 + 1][2 * tk_k_3][0], v_4[2 * tq_m_5 + 1][2 * tk_k_3][1]);
                    rows_2[tk_k_3][tq_m_5][2] = tile_pack_bf16(v_4[2 * tq_m_5][2 * tk_k_3 + 1][0], v_4[2 * tq_m_5][2 * tk_k_3 + 1][1]);
                    rows_2[tk_k_3][tq_m_5][3] = tile_pack_bf16(v_4[2 * tq_m_5 + 1][2 * tk_k_3 + 1][0], v_4[2 * tq_m_5 + 1][2 * tk_k_3 + 1][1]);
                }
            }
            #pragma unroll
            for (int e_r = 0; e_r < 8; ++e_r) {
                #pragma unroll
                for (int tq_i = 0; tq_i < 2; ++tq_i) {
                    #pragma unroll
                    for (int e_v = 0; e_v < 2; ++e_v) {
                        tile_hold(&acc[e_r][tq_i][e_v]);
                    }
                }
            }
            tile_group_begin();
            #pragma unroll
            for (int tk_k_3 = 0; tk_k_3 < 4; ++tk_k_3) {
                #pragma unroll
                for (int tq_m_5 = 0; tq_m_5 < 1; ++tq_m_5) {
                    tile_group_bf16_64_registers_transposed(&acc[0][2 * tq_m_5][0], 2, 4, rows_2[tk_k_3][tq_m_5], tiles + 24576 + tk_k_3 * 2048, 8192);
                }
            }
            tile_group_end();
            #pragma unroll
            for (int e_r = 0; e_r < 8; ++e_r) {
                #pragma unroll
                for (int tq_i = 0; tq_i < 2; ++tq_i) {
                    #pragma unroll
                    for (int e_v = 0; e_v < 2; ++e_v) {
                        tile_hold(&acc[e_r][tq_i][e_v]);
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
                if (tq + tq_i * 8 < i_4) tile_store_quad(out + ((start_i32 + (int)(begin + (long long)(tq + tq_i * 8))) * H + th) * 64 + ((e_r + lane % 4) * 8), quad);
            }
        }
    }
}
