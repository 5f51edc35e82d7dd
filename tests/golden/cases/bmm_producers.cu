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
//   grid tn, tn_join, tb, tb_join; strategy chunks of 128; dot wgmma, stages 3, producers 132; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, jagged at a multiple of 16 bytes, offsets ascends, dense at a multiple of 16 bytes, bias at a multiple of 16 bytes, out at a multiple of 16 bytes
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

static __device__ __forceinline__ void tile_map_3_bf16(int *map, const unsigned short *tensor, const int rows, const unsigned columns, const unsigned count, const long long apart) {
    for (int i = 0; i < 32; ++i) ((volatile int *)map)[i] = 0;
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" :: "l"(map), "l"(tensor - rows * apart) : "memory");
    asm volatile("tensormap.replace.tile.rank.global.b1024.b32 [%0], %1;" :: "l"(map), "n"(2) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(64) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 1, %1;" :: "l"(map), "r"(rows) : "memory");
    asm volatile("tensormap.replace.tile.box_dim.global.b1024.b32 [%0], 2, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(columns) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 1, %1;" :: "l"(map), "r"(rows) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 2, %1;" :: "l"(map), "r"(count + 1) : "memory");
#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 5
    const int unit = 8;
#else
    const long long unit = 2;
#endif
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], 0, %1;" :: "l"(map), "l"(unit == 2 ? apart * 2 : apart / 8) : "memory");
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], 1, %1;" :: "l"(map), "l"(unit == 2 ? apart * 2 : apart / 8) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 0, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 1, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.element_stride.global.b1024.b32 [%0], 2, %1;" :: "l"(map), "r"(1) : "memory");
    asm volatile("tensormap.replace.tile.elemtype.global.b1024.b32 [%0], 10;" :: "l"(map) : "memory");
    asm volatile("tensormap.replace.tile.interleave_layout.global.b1024.b32 [%0], 0;" :: "l"(map) : "memory");
    asm volatile("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%0], 3;" :: "l"(map) : "memory");
    asm volatile("tensormap.replace.tile.fill_mode.global.b1024.b32 [%0], 0;" :: "l"(map) : "memory");
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    __threadfence();
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

static __device__ __forceinline__ void tile_hand_over(const unsigned at, const int number) {
    asm volatile("st.shared.b32 [%0], %1;" :: "r"(at), "r"(number) : "memory");
}

static __device__ __forceinline__ void tile_phase_expect(const unsigned at, const int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}

static __device__ __forceinline__ int tile_rows(const long long rows, const int most) {
    return rows < 0 ? 0 : rows < most ? (int)rows : most;
}

static __device__ __forceinline__ void tile_box_3(const unsigned at, const int *map, const unsigned phase, const int c0, const int c1, const int c2) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 :: "r"(at), "l"(map), "r"(phase), "r"(c0), "r"(c1), "r"(c2) : "memory");
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
extern "C" __global__ void __launch_bounds__(256) jagged_dense_bmm_1(const unsigned short *__restrict__ jagged, const long long *__restrict__ offsets, const unsigned short *__restrict__ dense, int *__restrict__ found_5, int *__restrict__ state_6, int L, int B) {
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
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *state_6 = 0;
        if (threadIdx.x == 0) {
            tile_map_3_bf16(state_6 + 32, jagged, 128, (unsigned)128, (unsigned)L, 1ll * 128);
        }
        if (threadIdx.x == 1) {
            tile_map_4_bf16(state_6 + 64, dense, 64, (unsigned)128, (unsigned)128, 1ll * 128, (unsigned)B, 1ll * 128 * 128);
        }
    }
}

// launch: … blocks of 384 threads
extern "C" __global__ void __launch_bounds__(384, 1) jagged_dense_bmm_2(const long long *__restrict__ offsets, const unsigned short *__restrict__ bias, unsigned short *__restrict__ out, const int *__restrict__ found_5, int *__restrict__ state_6, int L, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tn_t = (lane & 3) * 2;
    const int tl_t = warp * 16 + (lane >> 2 & 7);
    const long long B_i64 = (long long)B;
    const long long i = (long long)(L / 128) + B_i64;
    const long long i_2 = tile_maxi_i64(i, 0LL) * 2LL;
    if (threadIdx.x == 0) {
        tile_phase_start(tiles + 0, 1);
        tile_phase_start(tiles + 16, 8);
        tile_phase_start(tiles + 8, 1);
        tile_phase_start(tiles + 24, 8);
        for (int phase = 0; phase < 3; ++phase) {
            tile_phase_start(tiles + 64 + phase * 8, 1);
            tile_phase_start(tiles + 88 + phase * 8, 8);
        }
        tile_phases_started();
    }
    __syncthreads();
    if (warp < 8) {
        tile_registers_up_216();
        int jagged_place = 0, jagged_turn = 0;
        int number_place = 0, number_turn = 0;
        for (;;) {
            tile_phase_await(tiles + 0 + number_place * 8, number_turn);
            const int number = tile_handed_over(tiles + 32 + number_place * 4);
            __syncwarp();
            if (lane == 0) tile_phase_arrive(tiles + 16 + number_place * 8);
            number_place ^= 1;
            number_turn ^= number_place == 0;
            if (number >= i_2) break;
            const int tn0 = (int)(number % 2) * 64;
            const int tn = tn0 + tn_t;
            const int tb = (int)(number / 2);
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
            const int i_3 = (int)tile_clampi_i64((begin_i32 >= 0 ? tile_mini_i64(begin + 128LL, offsets[row_i32 + 1] - start) : begin) - begin, -2146435071LL, 2146435071LL);
            const int begin_i32_2 = (int)begin;
            const int start_i32 = (int)start;
            for (int tl0 = 0; tl0 < i_3; tl0 += 128) {
                const int tl = tl0 + tl_t;
                bool inside[2];
                int i_4[2];
                #pragma unroll
                for (int tl_i = 0; tl_i < 2; ++tl_i) {
                    inside[tl_i] = tl + tl_i * 8 < i_3;
                    i_4[tl_i] = start_i32 + (begin_i32_2 + (tl + tl_i * 8));
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
                for (int td0 = 0; td0 < 128; td0 += 64) {
                    tile_phase_await(tiles + 64 + jagged_place * 8, jagged_turn);
                    const unsigned jagged_tile = tiles + 1024 + jagged_place * 24576, jagged_free = tiles + 88 + jagged_place * 8;
                    jagged_place = jagged_place == 2 ? 0 : jagged_place + 1;
                    jagged_turn ^= jagged_place == 0;
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
                            tile_group_bf16_64_tile_transposed(&acc[0][2 * tl_m][0], 2, 4, jagged_tile + (tl_m * 2 + warp / 4) * 8192 + td_k / 4 * 16384 + td_k % 4 * 32, jagged_tile + 16384 + td_k * 2048, 8192);
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
                    __syncwarp();
                    if (lane == 0) tile_phase_arrive(jagged_free);
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
                        if (inside[tl_i]) tile_store_quad(out + i_4[tl_i] * 128 + (tn0 + (tn_r + lane % 4) * 8), quad);
                    }
                }
            }
        }
    } else {
        tile_registers_down_64();
        if (threadIdx.x == 256) {
            const int *const maps = state_6 + 32;
            tile_map_seen(maps + 0);
            tile_map_seen(maps + 32);
            int jagged_place = 0, jagged_turn = 0;
            int number_place_2 = 0, number_turn_2 = 0;
            for (;;) {
                tile_phase_await(tiles + 16 + number_place_2 * 8, number_turn_2 ^ 1);
                const int number_2 = atomicAdd(state_6, 1);
                tile_hand_over(tiles + 32 + number_place_2 * 4, number_2);
                tile_phase_arrive(tiles + 0 + number_place_2 * 8);
                number_place_2 ^= 1;
                number_turn_2 ^= number_place_2 == 0;
                if (number_2 >= i_2) break;
                const int tn0_2 = (int)(number_2 % 2) * 64;
                const int tb_2 = (int)(number_2 / 2);
                const long long row_2 = tile_maxi_i64(tile_mini_i64((long long)found_5[(int)tb_2] - 1LL, (long long)(B - 1)), 0LL);
                const int row_i32_2 = (int)row_2;
                const long long start_2 = offsets[row_i32_2];
                const long long begin_2 = (tb_2 - (start_2 / 128LL + row_2)) * 128LL;
                const int begin_i32_3 = (int)tile_clampi_i64(begin_2, -2146435071LL, 2146435071LL);
                const int i_5 = (int)tile_clampi_i64((begin_i32_3 >= 0 ? tile_mini_i64(begin_2 + 128LL, offsets[row_i32_2 + 1] - start_2) : begin_2) - begin_2, -2146435071LL, 2146435071LL);
                const int begin_i32_4 = (int)begin_2;
                const int start_i32_2 = (int)start_2;
                for (int tl0_2 = 0; tl0_2 < i_5; tl0_2 += 128) {
                    for (int td0_2 = 0; td0_2 < 128; td0_2 += 64) {
                        tile_phase_await(tiles + 88 + jagged_place * 8, jagged_turn ^ 1);
                        const unsigned jagged_to = tiles + 1024 + jagged_place * 24576, jagged_full = tiles + 64 + jagged_place * 8;
                        tile_phase_expect(jagged_full, 24576);
                        const int jagged_rows = tile_rows((long long)i_5 - tl0_2, 128);
                        tile_box_3(jagged_to + 0, maps + 0, jagged_full, td0_2 + 0, 128 - jagged_rows, start_i32_2 + (begin_i32_4 + tl0_2) + jagged_rows);
                        tile_box_4(jagged_to + 16384, maps + 32, jagged_full, tn0_2 + 0, 0, td0_2 + 64, row_i32_2);
                        jagged_place = jagged_place == 2 ? 0 : jagged_place + 1;
                        jagged_turn ^= jagged_place == 0;
                    }
                }
            }
        }
    }
}
