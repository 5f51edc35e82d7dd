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
//   grid th, tb; strategy chunks of 128; dot wgmma, stages 2, producers 132; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, q at a multiple of 16 bytes, k at a multiple of 16 bytes, v at a multiple of 16 bytes, offsets ascends, out at a multiple of 16 bytes
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

static __device__ __forceinline__ void tile_map_4_bf16(int *map, const unsigned short *tensor, const int rows, const unsigned columns, const unsigned count, const long long apart, const unsigned n3, const long long s3) {
    for (int i = 0; i < 32; ++i) ((volatile int *)map)[i] = 0;
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" :: "l"(map), "l"(tensor - rows * apart) : "memory");
    asm volatile("tensormap.replace.tile.rank.global.b1024.b32 [%0], %1;" :: "l"(map), "n"(3) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(64) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 1, %1;" :: "l"(map), "r"(rows) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 2, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 3, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(columns) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 1, %1;" :: "l"(map), "r"(rows) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 2, %1;" :: "l"(map), "r"(count + 1) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 3, %1;" :: "l"(map), "r"(n3) : "memory");
#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 5
    const int unit = 8;
#else
    const long long unit = 2;
#endif
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], 0, %1;" :: "l"(map), "l"(unit == 2 ? apart * 2 : apart / 8) : "memory");
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], 1, %1;" :: "l"(map), "l"(unit == 2 ? apart * 2 : apart / 8) : "memory");
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], 2, %1;" :: "l"(map), "l"(unit == 2 ? s3 * 2 : s3 / 8) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 1, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 2, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 3, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.elemtype.global.b1024.b32 [%0], 10;" :: "l"(map) : "memory");
    asm volatile("tensormap.replace.tile.interleave_layout.global.b1024.b32 [%0], 0;" :: "l"(map) : "memory");
    asm volatile("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%0], 3;" :: "l"(map) : "memory");
    asm volatile("tensormap.replace.tile.fill_mode.global.b1024.b32 [%0], 0;" :: "l"(map) : "memory");
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    __threadfence();
}

static __device__ __forceinline__ void tile_phase_await(const unsigned at, const int turn) {
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra over; bra again; over: }"
                 :: "r"(at), "r"(turn) : "memory");
}

static __device__ __forceinline__ int tile_handed_over(const unsigned at) {
    int number;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(number) : "r"(at) : "memory");
    return number;
}

static __device__ __forceinline__ void tile_phase_arrive(const unsigned at) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
}

static __device__ __forceinline__ int tile_panel_cell(const int row, const int chunk, const int rows) {
    return (chunk / 8 * rows + row) * 128 + (chunk % 8 ^ row % 8) * 16;
}

static __device__ __forceinline__ void tile_matrices_4(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}

static __device__ __forceinline__ void tile_turn_await(const int turn, const int threads) {
    asm volatile("bar.sync %0, %1;" :: "r"(turn), "r"(threads) : "memory");
}

static __device__ __forceinline__ void tile_group_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ unsigned long long tile_panels(const unsigned at, const int panel) {
    return (at & 0x3ffff) >> 4 | (unsigned long long)(panel >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

static __device__ __forceinline__ void tile_group_bf16_64_registers_fresh(float *c, const int h, const int j, const unsigned *a, const unsigned b, const int panel, const int more) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 0; }"
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

static __device__ __forceinline__ void tile_group_sent() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void tile_turn_over(const int turn, const int threads) {
    asm volatile("bar.arrive %0, %1;" :: "r"(turn), "r"(threads) : "memory");
}

static __device__ __forceinline__ void tile_group_done() {
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

static __device__ __forceinline__ void tile_group_but_1() {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}

static __device__ __forceinline__ void tile_group_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
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

static __device__ __forceinline__ void tile_hand_over(const unsigned at, const int number) {
    asm volatile("st.shared.b32 [%0], %1;" :: "r"(at), "r"(number) : "memory");
}

static __device__ __forceinline__ void tile_phase_expect(const unsigned at, const int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}

static __device__ __forceinline__ int tile_rows(const long long rows, const int most) {
    return rows < 0 ? 0 : rows < most ? (int)rows : most;
}

static __device__ __forceinline__ void tile_box_4(const unsigned at, const int *map, const unsigned phase, const int c0, const int c1, const int c2, const int c3) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 :: "r"(at), "l"(map), "r"(phase), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}

static __device__ __forceinline__ void tile_phase_start(const unsigned at, const int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory");
}

static __device__ __forceinline__ void tile_phases_started() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void tile_registers_up_216() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
}

static __device__ __forceinline__ void tile_registers_down_64() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 64;");
}

static __device__ __forceinline__ void tile_map_seen(const int *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(map) : "memory");
}

static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

// launch: ceil(… / 256) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_hstu_attention_1(const unsigned short *__restrict__ q, const unsigned short *__restrict__ k, const unsigned short *__restrict__ v, const long long *__restrict__ offsets, int *__restrict__ found_7, int *__restrict__ state_8, int N, int H, int B) {
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
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *state_8 = 0;
        if (threadIdx.x == 0) {
            tile_map_4_bf16(state_8 + 32, q, 128, (unsigned)64, (unsigned)N, 1ll * H * 64, (unsigned)H, 1ll * 64);
        }
        if (threadIdx.x == 1) {
            tile_map_4_bf16(state_8 + 64, k, 64, (unsigned)64, (unsigned)N, 1ll * H * 64, (unsigned)H, 1ll * 64);
        }
        if (threadIdx.x == 2) {
            tile_map_4_bf16(state_8 + 96, v, 64, (unsigned)64, (unsigned)N, 1ll * H * 64, (unsigned)H, 1ll * 64);
        }
    }
}

// launch: … blocks of 384 threads
extern "C" __global__ void __launch_bounds__(384, 1) jagged_hstu_attention_2(const long long *__restrict__ offsets, unsigned short *__restrict__ out, const int *__restrict__ found_7, int *__restrict__ state_8, float alpha, float scale, int N, int H, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tq_t = warp * 16 + (lane >> 2 & 7);
    const int tk_t = (lane & 3) * 2;
    const long long B_i64 = (long long)B;
    const long long i = (long long)(N / 128) + B_i64;
    const long long i_2 = tile_maxi_i64(i, 0LL) * tile_maxi_i64((long long)H, 0LL);
    if (threadIdx.x == 0) {
        tile_phase_start(tiles + 0, 1);
        tile_phase_start(tiles + 16, 8);
        tile_phase_start(tiles + 8, 1);
        tile_phase_start(tiles + 24, 8);
        for (int phase = 0; phase < 2; ++phase) {
            tile_phase_start(tiles + 64 + phase * 8, 1);
            tile_phase_start(tiles + 80 + phase * 8, 8);
        }
        for (int phase_2 = 0; phase_2 < 2; ++phase_2) {
            tile_phase_start(tiles + 96 + phase_2 * 8, 1);
            tile_phase_start(tiles + 112 + phase_2 * 8, 8);
        }
        for (int phase_3 = 0; phase_3 < 2; ++phase_3) {
            tile_phase_start(tiles + 128 + phase_3 * 8, 1);
            tile_phase_start(tiles + 144 + phase_3 * 8, 8);
        }
        tile_phases_started();
    }
    __syncthreads();
    if (warp < 8) {
        tile_registers_up_216();
        int q_place = 0, q_turn = 0;
        int k_place = 0, k_turn = 0;
        int v_place = 0, v_turn = 0;
        if (warp / 4 == 1) tile_turn_over(1, 256);
        int number_place = 0, number_turn = 0;
        for (;;) {
            tile_phase_await(tiles + 0 + number_place * 8, number_turn);
            const int number = tile_handed_over(tiles + 32 + number_place * 4);
            __syncwarp();
            if (lane == 0) tile_phase_arrive(tiles + 16 + number_place * 8);
            number_place ^= 1;
            number_turn ^= number_place == 0;
            if (number >= i_2) break;
            const int th = (int)(number % H);
            const int tb = (int)(number / H);
            const long long i_3 = i - 1LL - tb;
            const long long row = tile_maxi_i64(tile_mini_i64((long long)found_7[(int)i_3] - 1LL, (long long)(B - 1)), 0LL);
            const int row_i32 = (int)row;
            const long long start = offsets[row_i32];
            const long long begin = (i_3 - (start / 128LL + row)) * 128LL;
            const int begin_i32 = (int)tile_clampi_i64(begin, -2146435071LL, 2146435071LL);
            // 21: let start = offsets[tb];
            // 22: let length = offsets[tb + 1] - start;
            // 23: for tq in jagged_tile(length) {
            // 24: let query = q[start + tq, th, d];
            const long long i_4 = begin_i32 >= 0 ? tile_mini_i64(begin + 128LL, offsets[row_i32 + 1] - start) : begin;
            const int i_5 = (int)tile_clampi_i64(i_4 - begin, -2146435071LL, 2146435071LL);
            const int start_i32 = (int)start;
            for (int tq0 = 0; tq0 < i_5; tq0 += 128) {
                const int tq = tq0 + tq_t;
                tile_phase_await(tiles + 64 + q_place * 8, q_turn);
                const unsigned q_tile = tiles + 1024 + q_place * 16384, q_free = tiles + 80 + q_place * 8;
                q_place = q_place == 1 ? 0 : q_place + 1;
                q_turn ^= q_place == 0;
                unsigned kept_rows[4][1][4];
                #pragma unroll
                for (int d_k = 0; d_k < 4; ++d_k) {
                    #pragma unroll
                    for (int tq_m = 0; tq_m < 1; ++tq_m) {
                        tile_matrices_4(kept_rows[d_k][tq_m], q_tile + tile_panel_cell((tq_m * 2 + warp / 4) * 64 + warp % 4 * 16 + lane % 16, d_k * 2 + lane / 16, 128));
                    }
                }
                __syncwarp();
                if (lane == 0) tile_phase_arrive(q_free);
                int i_6[2];
                #pragma unroll
                for (int tq_i = 0; tq_i < 2; ++tq_i) {
                    i_6[tq_i] = (int)tile_clampi_i64(begin + (long long)(tq + tq_i * 8), -2146435071LL, 2146435071LL);
                }
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
                const long long i_7 = begin + (long long)tq0;
                const int i_8 = (int)tile_clampi_i64(tile_mini_i64(i_7 + 128LL, i_4), -2146435071LL, 2146435071LL);
                const int i_9 = (int)tile_clampi_i64(i_7 + 1LL, -2146435071LL, 2146435071LL);
                const int tk_full = i_8 - i_8 % 64;
                if (0 < tk_full) {
                    unsigned late_rows[4][1][4];
                    unsigned late_tile, late_free, late_full;
                    int late_turn;
                    const int tk0_2 = 0;
                    const int tk = tk0_2 + tk_t;
                    // 27: let score = silu(dot[d](query, k[start + tk, th, d]) * alpha) * scale;
                    float v_2[2][8][2];
                    tile_phase_await(tiles + 96 + k_place * 8, k_turn);
                    const unsigned k_tile = tiles + 33792 + k_place * 8192, k_free = tiles + 112 + k_place * 8;
                    k_place = k_place == 1 ? 0 : k_place + 1;
                    k_turn ^= k_place == 0;
                    tile_turn_await(1 + warp / 4, 256);
                    tile_group_begin();
                    #pragma unroll
                    for (int d_k_3 = 0; d_k_3 < 4; ++d_k_3) {
                        #pragma unroll
                        for (int tq_m_4 = 0; tq_m_4 < 1; ++tq_m_4) {
                            tile_group_bf16_64_registers_fresh(&v_2[2 * tq_m_4][0][0], 16, 2, kept_rows[d_k_3][tq_m_4], k_tile + d_k_3 / 4 * 8192 + d_k_3 % 4 * 32, 16, d_k_3 > 0);
                        }
                    }
                    tile_group_sent();
                    tile_turn_over(1 + (warp / 4 + 1) % 2, 256);
                    tile_group_done();
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
                    __syncwarp();
                    if (lane == 0) tile_phase_arrive(k_free);
                    float score[2][8][2];
                    #pragma unroll
                    for (int tq_i = 0; tq_i < 2; ++tq_i) {
                        #pragma unroll
                        for (int tk_r = 0; tk_r < 8; ++tk_r) {
                            #pragma unroll
                            for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                score[tq_i][tk_r][tk_v] = tile_silu_rough(v_2[tq_i][tk_r][tk_v] * alpha) * scale;
                            }
                        }
                    }
                    // 28: let causal = tq >= tk ? score : 0;
                    const bool inside = tk0_2 + 64 > i_9;
                    if (inside) {
                        float v_3[2][8][2];
                        #pragma unroll
                        for (int tq_i = 0; tq_i < 2; ++tq_i) {
                            #pragma unroll
                            for (int tk_r = 0; tk_r < 8; ++tk_r) {
                                #pragma unroll
                                for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                    v_3[tq_i][tk_r][tk_v] = i_6[tq_i] >= tk + tk_r * 8 + tk_v ? score[tq_i][tk_r][tk_v] : 0.0f;
                                }
                            }
                        }
                        #pragma unroll
                        for (int tq_i = 0; tq_i < 2; ++tq_i) {
                            #pragma unroll
                            for (int tk_r = 0; tk_r < 8; ++tk_r) {
                                #pragma unroll
                                for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                    score[tq_i][tk_r][tk_v] = v_3[tq_i][tk_r][tk_v];
                                }
                            }
                        }
                    }
                    // 29: acc += dot[tk](T(causal), v[start + tk, th, e]);
                    #pragma unroll
                    for (int tk_k_2 = 0; tk_k_2 < 4; ++tk_k_2) {
                        #pragma unroll
                        for (int tq_m_5 = 0; tq_m_5 < 1; ++tq_m_5) {
                            late_rows[tk_k_2][tq_m_5][0] = tile_pack_bf16(score[2 * tq_m_5][2 * tk_k_2][0], score[2 * tq_m_5][2 * tk_k_2][1]);
                            late_rows[tk_k_2][tq_m_5][1] = tile_pack_bf16(score[2 * tq_m_5 + 1][2 * tk_k_2][0], score[2 * tq_m_5 + 1][2 * tk_k_2][1]);
                            late_rows[tk_k_2][tq_m_5][2] = tile_pack_bf16(score[2 * tq_m_5][2 * tk_k_2 + 1][0], score[2 * tq_m_5][2 * tk_k_2 + 1][1]);
                            late_rows[tk_k_2][tq_m_5][3] = tile_pack_bf16(score[2 * tq_m_5 + 1][2 * tk_k_2 + 1][0], score[2 * tq_m_5 + 1][2 * tk_k_2 + 1][1]);
                        }
                    }
                    late_full = tiles + 128 + v_place * 8, late_turn = v_turn;
                    late_tile = tiles + 50176 + v_place * 8192, late_free = tiles + 144 + v_place * 8;
                    v_place = v_place == 1 ? 0 : v_place + 1;
                    v_turn ^= v_place == 0;
                    for (int tk0_3 = tk0_2 + 64; tk0_3 < tk_full; tk0_3 += 64) {
                        if (tk0_3 >= i_9 + warp / 4 * 64 + 63) {
                            tile_phase_await(tiles + 96 + k_place * 8, k_turn);
                            __syncwarp();
                            if (lane == 0) tile_phase_arrive(tiles + 112 + k_place * 8);
                            k_place = k_place == 1 ? 0 : k_place + 1;
                            k_turn ^= k_place == 0;
                            tile_phase_await(tiles + 128 + v_place * 8, v_turn);
                            __syncwarp();
                            if (lane == 0) tile_phase_arrive(tiles + 144 + v_place * 8);
                            v_place = v_place == 1 ? 0 : v_place + 1;
                            v_turn ^= v_place == 0;
                            tile_turn_await(1 + warp / 4, 256);
                            tile_turn_over(1 + (warp / 4 + 1) % 2, 256);
                            continue;
                        }
                        const int tk_2 = tk0_3 + tk_t;
                        float v_4[2][8][2];
                        tile_phase_await(tiles + 96 + k_place * 8, k_turn);
                        const unsigned k_tile_2 = tiles + 33792 + k_place * 8192, k_free_2 = tiles + 112 + k_place * 8;
                        k_place = k_place == 1 ? 0 : k_place + 1;
                        k_turn ^= k_place == 0;
                        tile_turn_await(1 + warp / 4, 256);
                        tile_group_begin();
                        #pragma unroll
                        for (int d_k_4 = 0; d_k_4 < 4; ++d_k_4) {
                            #pragma unroll
                            for (int tq_m_7 = 0; tq_m_7 < 1; ++tq_m_7) {
                                tile_group_bf16_64_registers_fresh(&v_4[2 * tq_m_7][0][0], 16, 2, kept_rows[d_k_4][tq_m_7], k_tile_2 + d_k_4 / 4 * 8192 + d_k_4 % 4 * 32, 16, d_k_4 > 0);
                            }
                        }
                        tile_group_sent();
                        tile_phase_await(late_full, late_turn);
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
                        for (int tk_k_4 = 0; tk_k_4 < 4; ++tk_k_4) {
                            #pragma unroll
                            for (int tq_m_8 = 0; tq_m_8 < 1; ++tq_m_8) {
                                tile_group_bf16_64_registers_transposed(&acc[0][2 * tq_m_8][0], 2, 4, late_rows[tk_k_4][tq_m_8], late_tile + tk_k_4 * 2048, 8192);
                            }
                        }
                        tile_group_sent();
                        tile_turn_over(1 + (warp / 4 + 1) % 2, 256);
                        tile_group_but_1();
                        #pragma unroll
                        for (int tq_i = 0; tq_i < 2; ++tq_i) {
                            #pragma unroll
                            for (int tk_r = 0; tk_r < 8; ++tk_r) {
                                #pragma unroll
                                for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                    tile_hold(&v_4[tq_i][tk_r][tk_v]);
                                }
                            }
                        }
                        __syncwarp();
                        if (lane == 0) tile_phase_arrive(k_free_2);
                        float score_2[2][8][2];
                        #pragma unroll
                        for (int tq_i = 0; tq_i < 2; ++tq_i) {
                            #pragma unroll
                            for (int tk_r = 0; tk_r < 8; ++tk_r) {
                                #pragma unroll
                                for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                    score_2[tq_i][tk_r][tk_v] = tile_silu_rough(v_4[tq_i][tk_r][tk_v] * alpha) * scale;
                                }
                            }
                        }
                        const bool inside_2 = tk0_3 + 64 > i_9;
                        if (inside_2) {
                            float v_5[2][8][2];
                            #pragma unroll
                            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                                #pragma unroll
                                for (int tk_r = 0; tk_r < 8; ++tk_r) {
                                    #pragma unroll
                                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                        v_5[tq_i][tk_r][tk_v] = i_6[tq_i] >= tk_2 + tk_r * 8 + tk_v ? score_2[tq_i][tk_r][tk_v] : 0.0f;
                                    }
                                }
                            }
                            #pragma unroll
                            for (int tq_i = 0; tq_i < 2; ++tq_i) {
                                #pragma unroll
                                for (int tk_r = 0; tk_r < 8; ++tk_r) {
                                    #pragma unroll
                                    for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                        score_2[tq_i][tk_r][tk_v] = v_5[tq_i][tk_r][tk_v];
                                    }
                                }
                            }
                        }
                        tile_group_done();
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
                        __syncwarp();
                        if (lane == 0) tile_phase_arrive(late_free);
                        #pragma unroll
                        for (int tk_k_5 = 0; tk_k_5 < 4; ++tk_k_5) {
                            #pragma unroll
                            for (int tq_m_9 = 0; tq_m_9 < 1; ++tq_m_9) {
                                late_rows[tk_k_5][tq_m_9][0] = tile_pack_bf16(score_2[2 * tq_m_9][2 * tk_k_5][0], score_2[2 * tq_m_9][2 * tk_k_5][1]);
                                late_rows[tk_k_5][tq_m_9][1] = tile_pack_bf16(score_2[2 * tq_m_9 + 1][2 * tk_k_5][0], score_2[2 * tq_m_9 + 1][2 * tk_k_5][1]);
                                late_rows[tk_k_5][tq_m_9][2] = tile_pack_bf16(score_2[2 * tq_m_9][2 * tk_k_5 + 1][0], score_2[2 * tq_m_9][2 * tk_k_5 + 1][1]);
                                late_rows[tk_k_5][tq_m_9][3] = tile_pack_bf16(score_2[2 * tq_m_9 + 1][2 * tk_k_5 + 1][0], score_2[2 * tq_m_9 + 1][2 * tk_k_5 + 1][1]);
                            }
                        }
                        late_full = tiles + 128 + v_place * 8, late_turn = v_turn;
                        late_tile = tiles + 50176 + v_place * 8192, late_free = tiles + 144 + v_place * 8;
                        v_place = v_place == 1 ? 0 : v_place + 1;
                        v_turn ^= v_place == 0;
                    }
                    tile_phase_await(late_full, late_turn);
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
                    for (int tk_k_6 = 0; tk_k_6 < 4; ++tk_k_6) {
                        #pragma unroll
                        for (int tq_m_10 = 0; tq_m_10 < 1; ++tq_m_10) {
                            tile_group_bf16_64_registers_transposed(&acc[0][2 * tq_m_10][0], 2, 4, late_rows[tk_k_6][tq_m_10], late_tile + tk_k_6 * 2048, 8192);
                        }
                    }
                    tile_group_sent();
                    tile_group_done();
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
                    __syncwarp();
                    if (lane == 0) tile_phase_arrive(late_free);
                }
                if (tk_full < i_8) {
                    const int tk0_4 = tk_full;
                    const int tk_3 = tk0_4 + tk_t;
                    float v_6[2][8][2];
                    tile_phase_await(tiles + 96 + k_place * 8, k_turn);
                    const unsigned k_tile_3 = tiles + 33792 + k_place * 8192, k_free_3 = tiles + 112 + k_place * 8;
                    k_place = k_place == 1 ? 0 : k_place + 1;
                    k_turn ^= k_place == 0;
                    tile_group_begin();
                    #pragma unroll
                    for (int d_k_5 = 0; d_k_5 < 4; ++d_k_5) {
                        #pragma unroll
                        for (int tq_m_11 = 0; tq_m_11 < 1; ++tq_m_11) {
                            tile_group_bf16_64_registers_fresh(&v_6[2 * tq_m_11][0][0], 16, 2, kept_rows[d_k_5][tq_m_11], k_tile_3 + d_k_5 / 4 * 8192 + d_k_5 % 4 * 32, 16, d_k_5 > 0);
                        }
                    }
                    tile_group_end();
                    #pragma unroll
                    for (int tq_i = 0; tq_i < 2; ++tq_i) {
                        #pragma unroll
                        for (int tk_r = 0; tk_r < 8; ++tk_r) {
                            #pragma unroll
                            for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                tile_hold(&v_6[tq_i][tk_r][tk_v]);
                            }
                        }
                    }
                    __syncwarp();
                    if (lane == 0) tile_phase_arrive(k_free_3);
                    float v_7[2][8][2];
                    #pragma unroll
                    for (int tq_i = 0; tq_i < 2; ++tq_i) {
                        #pragma unroll
                        for (int tk_r = 0; tk_r < 8; ++tk_r) {
                            #pragma unroll
                            for (int tk_v = 0; tk_v < 2; ++tk_v) {
                                const float score_3 = tile_silu_rough(v_6[tq_i][tk_r][tk_v] * alpha) * scale;
                                const float causal = i_6[tq_i] >= tk_3 + tk_r * 8 + tk_v ? score_3 : 0.0f;
                                v_7[tq_i][tk_r][tk_v] = tk_3 + tk_r * 8 + tk_v < i_8 ? causal : 0.0f;
                            }
                        }
                    }
                    unsigned rows[4][1][4];
                    #pragma unroll
                    for (int tk_k_7 = 0; tk_k_7 < 4; ++tk_k_7) {
                        #pragma unroll
                        for (int tq_m_12 = 0; tq_m_12 < 1; ++tq_m_12) {
                            rows[tk_k_7][tq_m_12][0] = tile_pack_bf16(v_7[2 * tq_m_12][2 * tk_k_7][0], v_7[2 * tq_m_12][2 * tk_k_7][1]);
                            rows[tk_k_7][tq_m_12][1] = tile_pack_bf16(v_7[2 * tq_m_12 + 1][2 * tk_k_7][0], v_7[2 * tq_m_12 + 1][2 * tk_k_7][1]);
                            rows[tk_k_7][tq_m_12][2] = tile_pack_bf16(v_7[2 * tq_m_12][2 * tk_k_7 + 1][0], v_7[2 * tq_m_12][2 * tk_k_7 + 1][1]);
                            rows[tk_k_7][tq_m_12][3] = tile_pack_bf16(v_7[2 * tq_m_12 + 1][2 * tk_k_7 + 1][0], v_7[2 * tq_m_12 + 1][2 * tk_k_7 + 1][1]);
                        }
                    }
                    tile_phase_await(tiles + 128 + v_place * 8, v_turn);
                    const unsigned v_tile = tiles + 50176 + v_place * 8192, v_free = tiles + 144 + v_place * 8;
                    v_place = v_place == 1 ? 0 : v_place + 1;
                    v_turn ^= v_place == 0;
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
                    for (int tk_k_7 = 0; tk_k_7 < 4; ++tk_k_7) {
                        #pragma unroll
                        for (int tq_m_12 = 0; tq_m_12 < 1; ++tq_m_12) {
                            tile_group_bf16_64_registers_transposed(&acc[0][2 * tq_m_12][0], 2, 4, rows[tk_k_7][tq_m_12], v_tile + tk_k_7 * 2048, 8192);
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
                    __syncwarp();
                    if (lane == 0) tile_phase_arrive(v_free);
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
                        if (tq + tq_i * 8 < i_5) tile_store_quad(out + ((start_i32 + (int)(begin + (long long)(tq + tq_i * 8))) * H + th) * 64 + ((e_r + lane % 4) * 8), quad);
                    }
                }
            }
        }
    } else {
        tile_registers_down_64();
        if (threadIdx.x == 256) {
            const int *const maps = state_8 + 32;
            tile_map_seen(maps + 0);
            tile_map_seen(maps + 32);
            tile_map_seen(maps + 64);
            int q_place = 0, q_turn = 0;
            int k_place = 0, k_turn = 0;
            int v_place = 0, v_turn = 0;
            int number_place_2 = 0, number_turn_2 = 0;
            for (;;) {
                tile_phase_await(tiles + 16 + number_place_2 * 8, number_turn_2 ^ 1);
                const int number_2 = atomicAdd(state_8, 1);
                tile_hand_over(tiles + 32 + number_place_2 * 4, number_2);
                tile_phase_arrive(tiles + 0 + number_place_2 * 8);
                number_place_2 ^= 1;
                number_turn_2 ^= number_place_2 == 0;
                if (number_2 >= i_2) break;
                const int th_2 = (int)(number_2 % H);
                const int tb_2 = (int)(number_2 / H);
                const long long i_10 = i - 1LL - tb_2;
                const long long row_2 = tile_maxi_i64(tile_mini_i64((long long)found_7[(int)i_10] - 1LL, (long long)(B - 1)), 0LL);
                const int row_i32_2 = (int)row_2;
                const long long start_2 = offsets[row_i32_2];
                const long long begin_2 = (i_10 - (start_2 / 128LL + row_2)) * 128LL;
                const int begin_i32_2 = (int)tile_clampi_i64(begin_2, -2146435071LL, 2146435071LL);
                const long long i_11 = begin_i32_2 >= 0 ? tile_mini_i64(begin_2 + 128LL, offsets[row_i32_2 + 1] - start_2) : begin_2;
                const int i_12 = (int)tile_clampi_i64(i_11 - begin_2, -2146435071LL, 2146435071LL);
                const int start_i32_2 = (int)start_2;
                for (int tq0_2 = 0; tq0_2 < i_12; tq0_2 += 128) {
                    const long long i_13 = begin_2 + (long long)tq0_2;
                    const int i_14 = (int)tile_clampi_i64(tile_mini_i64(i_13 + 128LL, i_11), -2146435071LL, 2146435071LL);
                    const int tk_full_2 = i_14 - i_14 % 64;
                    tile_phase_await(tiles + 80 + q_place * 8, q_turn ^ 1);
                    const unsigned q_to = tiles + 1024 + q_place * 16384, q_full = tiles + 64 + q_place * 8;
                    tile_phase_expect(q_full, 16384);
                    const int q_rows = tile_rows((long long)i_12 - tq0_2, 128);
                    tile_box_4(q_to + 0, maps + 0, q_full, 0 + 0, 128 - q_rows, start_i32_2 + (int)(begin_2 + (long long)tq0_2) + q_rows, th_2);
                    q_place = q_place == 1 ? 0 : q_place + 1;
                    q_turn ^= q_place == 0;
                    for (int tk0_5 = 0; tk0_5 < tk_full_2; tk0_5 += 64) {
                        tile_phase_await(tiles + 112 + k_place * 8, k_turn ^ 1);
                        const unsigned k_to = tiles + 33792 + k_place * 8192, k_full = tiles + 96 + k_place * 8;
                        tile_phase_expect(k_full, 8192);
                        tile_box_4(k_to + 0, maps + 32, k_full, 0 + 0, 0, start_i32_2 + tk0_5 + 64, th_2);
                        k_place = k_place == 1 ? 0 : k_place + 1;
                        k_turn ^= k_place == 0;
                        tile_phase_await(tiles + 144 + v_place * 8, v_turn ^ 1);
                        const unsigned v_to = tiles + 50176 + v_place * 8192, v_full = tiles + 128 + v_place * 8;
                        tile_phase_expect(v_full, 8192);
                        tile_box_4(v_to + 0, maps + 64, v_full, 0 + 0, 0, start_i32_2 + tk0_5 + 64, th_2);
                        v_place = v_place == 1 ? 0 : v_place + 1;
                        v_turn ^= v_place == 0;
                    }
                    if (tk_full_2 < i_14) {
                        const int tk0_6 = tk_full_2;
                        tile_phase_await(tiles + 112 + k_place * 8, k_turn ^ 1);
                        const unsigned k_to_2 = tiles + 33792 + k_place * 8192, k_full_2 = tiles + 96 + k_place * 8;
                        tile_phase_expect(k_full_2, 8192);
                        const int k_rows = tile_rows((long long)i_14 - tk0_6, 64);
                        tile_box_4(k_to_2 + 0, maps + 32, k_full_2, 0 + 0, 64 - k_rows, start_i32_2 + tk0_6 + k_rows, th_2);
                        k_place = k_place == 1 ? 0 : k_place + 1;
                        k_turn ^= k_place == 0;
                        tile_phase_await(tiles + 144 + v_place * 8, v_turn ^ 1);
                        const unsigned v_to_2 = tiles + 50176 + v_place * 8192, v_full_2 = tiles + 128 + v_place * 8;
                        tile_phase_expect(v_full_2, 8192);
                        const int v_rows = tile_rows((long long)i_14 - tk0_6, 64);
                        tile_box_4(v_to_2 + 0, maps + 64, v_full_2, 0 + 0, 64 - v_rows, start_i32_2 + tk0_6 + v_rows, th_2);
                        v_place = v_place == 1 ? 0 : v_place + 1;
                        v_turn ^= v_place == 0;
                    }
                }
            }
        }
    }
}
