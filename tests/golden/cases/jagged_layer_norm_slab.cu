// jagged_layer_norm from jagged_layer_norm.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1], eps: f32) -> out: f32[nnz, M]
// T = f32, I = i64, M = 64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tk: block 64 = vector 1 x lanes 2 x warps 4 x registers 8
//   tm: block 64 = vector 4 x lanes 16 x warps 1 x registers 1
//   grid tb; strategy rows, stages 6, producers 128; peel true; late true; stream true; min_blocks 0; cluster 4
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, offsets ascends, out at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_maxi_i64(long long a, long long b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ int tile_share_i64(const long long *offsets, const int rows, const int share, const int shares) {
    const long long begin = offsets[0], work = (long long)offsets[rows] - begin + rows * 16LL;
    const long long wanted = work / shares * share + work % shares * share / shares;
    int lo = 0, hi = rows;
    if (share == 0 || share == shares) return share ? rows : 0;
    while (lo < hi) {
        const int row = lo + (hi - lo) / 2;
        if ((long long)offsets[row] - begin + row * 16LL < wanted) lo = row + 1;
        else hi = row;
    }
    return lo;
}

static __device__ __forceinline__ void tile_phase_start(const unsigned at, const int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory");
}

static __device__ __forceinline__ void tile_phases_started() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void tile_meet() {
    asm volatile("barrier.cluster.arrive.release;\n"
        "barrier.cluster.wait.acquire;" : : : "memory");
}

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ long long tile_turns(const long long lo, const long long hi, const int block) {
    return lo < hi ? (hi - lo + block - 1) / block : 0;
}

static __device__ __forceinline__ void tile_phase_await(const unsigned at, const int turn) {
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra over; bra again; over: }"
                 :: "r"(at), "r"(turn) : "memory");
}

static __device__ __forceinline__ void tile_load_f32x4(float *v, const float *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
}

static __device__ __forceinline__ float tile_quotient_rough(float a, float b) {
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
    return a * reciprocal;
}

static __device__ __forceinline__ float tile_maxf(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

static __device__ __forceinline__ void tile_phase_arrive(const unsigned at) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
}

static __device__ __forceinline__ void tile_clear_f32x4(float *v) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = 0;
}

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ void tile_part_meet(const int threads, const int count, const unsigned tiles, const int turn) {
    const unsigned at = tiles + (turn & 1) * 8;
    asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory");
    if ((int)threadIdx.x < count)
        asm volatile("{ .reg .b32 peer; mapa.shared::cluster.u32 peer, %0, %1;\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer]; }" :: "r"(at), "r"(threadIdx.x) : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @p bra over; bra again; over: }"
                 :: "r"(at), "r"((turn - 1) >> 1 & 1) : "memory");
}

static __device__ __forceinline__ const void *tile_peer(const void *place, const int rank) {
    const void *peer;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(peer) : "l"(place), "r"(rank));
    return peer;
}

static __device__ __forceinline__ void tile_sum_cluster_f32(float *v, const int n, void *shared, const int warps, const int count, const unsigned tiles, const int turn) {
    float *all = (float *)shared;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, total = warps * count;
    #pragma unroll
    for (int i = 0; i < n; ++i)
        if (lane == 0) all[i * warps + warp] = v[i];
    tile_part_meet(32 * warps, count, tiles, turn);
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        const float *part = all + i * warps + lane % warps;
        float a = *(const float *)tile_peer(part, lane % total / warps);
        for (int at = lane + 32; at < total; at += 32) {
            const float b = *(const float *)tile_peer(part, at / warps);
            a = a + b;
        }
        v[i] = tile_sum_lanes_f32(a, total < 32 ? total : 32, 1);
    }
}

static __device__ __forceinline__ float tile_rsqrtf(float x) {
    return rsqrtf(x);
}

static __device__ __forceinline__ void tile_write_once_16(void *p, uint4 q) {
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "st.global.L1::no_allocate.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, policy; }"
        : : "l"(p), "r"(q.x), "r"(q.y), "r"(q.z), "r"(q.w) : "memory");
}

static __device__ __forceinline__ void tile_store_once_f32x4(float *p, const float *v) {
    tile_write_once_16(p, make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3])));
}

static __device__ __forceinline__ void tile_phase_expect(const unsigned at, const int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}

static __device__ __forceinline__ void tile_slab_copy_once(const unsigned at, const void *from, const int bytes, const unsigned phase, const bool keep) {
    asm volatile("{ .reg .b64 once, policy; .reg .pred p; setp.ne.s32 p, %4, 0;\n"
        "createpolicy.fractional.L2::evict_first.b64 once, 1.0; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
        "@!p mov.b64 policy, once;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy; }"
        :: "r"(at), "l"(from), "r"(bytes), "r"(phase), "r"((int)keep) : "memory");
}

static __device__ __forceinline__ int tile_rows(const long long rows, const int most) {
    return rows < 0 ? 0 : rows < most ? (int)rows : most;
}

static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    unsigned at;
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(at) : "l"(shared));
    return at;
}

// launch: 4 * … blocks of 160 threads
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(160, 1) jagged_layer_norm(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, float eps, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int rank = (int)(blockIdx.x % 4);
    __shared__ __align__(16) unsigned char tile_exchange[2][32];
    int tile_turn = 0;
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int tk_t = (rank * 4 + warp) * 2 + (lane >> 4 & 1);
    const int tm_t = (lane & 15) * 4;
    // 15: for tb in tile(B) {
    const long long i = tile_maxi_i64((long long)B, 0LL);
    const int tk_s = warp * 2 + (lane >> 4 & 1);
    const int first = tile_share_i64(offsets, (int)(i), (int)blockIdx.x / 4, (int)gridDim.x / 4);
    const int last = tile_share_i64(offsets, (int)(i), (int)blockIdx.x / 4 + 1, (int)gridDim.x / 4);
    if (threadIdx.x == 0) {
        tile_phase_start(tiles + 0, 4);
        tile_phase_start(tiles + 8, 4);
        for (int phase = 0; phase < 6; ++phase) {
            tile_phase_start(tiles + 16 + phase * 8, 1);
            tile_phase_start(tiles + 64 + phase * 8, 4);
        }
        tile_phases_started();
    }
    tile_meet();
    if (warp < 4) {
        int place = 0, turn = 0;
        for (int row = first; row < last; ++row) {
            const int tb = (int)row;
            // 16: let start = offsets[tb];
            // 17: let length = offsets[tb + 1] - start;
            // 18: let count = accum(T)(length * M);
            // 20: var total: accum(T)[tb] = 0;
            // 21: for tk in jagged_tile(length) {
            // 22: for tm in tile(M) {
            // 23: total += sum[tk, tm](x[start + tk, tm]);
            const long long start = offsets[tb];
            const long long length = offsets[tb + 1] - start;
            const float count = (float)(length * 64LL);
            const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
            const int tk_full = length_i32 - length_i32 % 64;
            float total = 0.0f;
            float points = 0.0f;
            float squares = 0.0f;
            const int start_i32 = (int)start;
            const bool fits = tile_turns(0, tk_full, 64) + (tk_full < length_i32) <= 6;
            const int first_place = place, first_turn = turn;
            for (int tk0 = 0; tk0 < tk_full; tk0 += 64) {
                tile_phase_await(tiles + 16 + place * 8, turn);
                const float *const x_tile = (const float *)(tile_stage + 1024 + place * 4096);
                float v[2][4];
                float v_2 = 0.0f;
                float v_3 = 0.0f;
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    tile_load_f32x4(v[tk_i], x_tile + ((tk_s + tk_i * 8) * 64 + tm_t));
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        v_2 += v[tk_i][tm_i];
                        if (tk_i == 0 && tm_i == 0) v_3 += 8.0f;
                    }
                }
                const float v_4 = tile_quotient_rough(v_2, tile_maxf(v_3, 1.0f));
                const float v_5 = points + v_3;
                const float v_6 = tile_quotient_rough(points * v_3, tile_maxf(v_5, 1.0f));
                const float v_7 = tile_quotient_rough(total, tile_maxf(points, 1.0f));
                const float v_8 = v_7 - v_4;
                const float v_9 = v_6 > 0.0f && v_7 != v_4 ? v_8 * v_6 * v_8 : 0.0f;
                const float v_10 = total + v_2;
                float v_12 = 0.0f;
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        const float v_11 = v[tk_i][tm_i] - v_4;
                        v_12 += v_11 * v_11;
                    }
                }
                const float v_13 = squares + v_12 + v_9;
                total = v_10;
                points = v_5;
                squares = v_13;
                __syncwarp();
                if (lane == 0 && !fits) tile_phase_arrive(tiles + 64 + place * 8);
                place = place == 5 ? 0 : place + 1;
                turn ^= place == 0;
            }
            if (tk_full < length_i32) {
                const int tk0_2 = tk_full;
                const int tk_2 = tk0_2 + tk_t;
                tile_phase_await(tiles + 16 + place * 8, turn);
                const float *const x_tile_2 = (const float *)(tile_stage + 1024 + place * 4096);
                float v_14[2][4];
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    if (tk0_2 + tk_i * 32 >= length_i32) break;
                    if (tk_2 + tk_i * 32 < length_i32) tile_load_f32x4(v_14[tk_i], x_tile_2 + ((tk_s + tk_i * 8) * 64 + tm_t));
                    else tile_clear_f32x4(v_14[tk_i]);
                }
                float v_15 = 0.0f;
                float v_16 = 0.0f;
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    if (tk0_2 + tk_i * 32 >= length_i32) break;
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        v_15 += v_14[tk_i][tm_i];
                        if (tm_i == 0) v_16 += tk_2 + tk_i * 32 < length_i32 ? 4.0f : 0.0f;
                    }
                }
                const float v_17 = tile_quotient_rough(v_15, tile_maxf(v_16, 1.0f));
                const float v_18 = points + v_16;
                const float v_19 = tile_quotient_rough(points * v_16, tile_maxf(v_18, 1.0f));
                const float v_20 = tile_quotient_rough(total, tile_maxf(points, 1.0f));
                const float v_21 = v_20 - v_17;
                const float v_22 = v_19 > 0.0f && v_20 != v_17 ? v_21 * v_19 * v_21 : 0.0f;
                const float v_23 = total + v_15;
                float v_25 = 0.0f;
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    if (tk0_2 + tk_i * 32 >= length_i32) break;
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        const float v_24 = v_14[tk_i][tm_i] - v_17;
                        v_25 += tk_2 + tk_i * 32 < length_i32 ? v_24 * v_24 : 0.0f;
                    }
                }
                const float v_26 = squares + v_25 + v_22;
                total = v_23;
                points = v_18;
                squares = v_26;
                __syncwarp();
                if (lane == 0 && !fits) tile_phase_arrive(tiles + 64 + place * 8);
                place = place == 5 ? 0 : place + 1;
                turn ^= place == 0;
            }
            float points_2 = points;
            float total_2 = total;
            const float v_27 = total / tile_maxf(points, 1.0f);
            const bool inside = points > 0.0f;
            points_2 = tile_sum_lanes_f32(points_2, 2, 16);
            points_2 = tile_sum_lanes_f32(points_2, 16, 1);
            total_2 = tile_sum_lanes_f32(total_2, 2, 16);
            total_2 = tile_sum_lanes_f32(total_2, 16, 1);
            float joined[2] = {points_2, total_2};
            ++tile_turn;
            tile_sum_cluster_f32(&joined[0], 2, tile_exchange[tile_turn & 1], 4, 4, tiles, tile_turn);
            points_2 = joined[0];
            total_2 = joined[1];
            // 26: let mean = total / count;
            // 28: var squares: accum(T)[tb] = 0;
            // 29: for tk in jagged_tile(length) {
            const float v_28 = total_2 / tile_maxf(points_2, 1.0f);
            const float v_29 = v_27 - v_28;
            float squares_2 = squares + (inside && v_27 != v_28 ? v_29 * points * v_29 : 0.0f);
            const float mean = total_2 / count;
            const float v_30 = fabsf(total_2);
            const float v_31 = v_30 < __int_as_float(0x7f800000) ? 0.0f : v_30;
            squares_2 = tile_sum_lanes_f32(squares_2, 2, 16);
            squares_2 = tile_sum_lanes_f32(squares_2, 16, 1);
            ++tile_turn;
            tile_sum_cluster_f32(&squares_2, 1, tile_exchange[tile_turn & 1], 4, 4, tiles, tile_turn);
            // 30: for tm in tile(M) {
            // 31: let centred = x[start + tk, tm] - mean;
            // 32: squares += sum[tk, tm](centred * centred);
            // 35: let scale = rsqrt(squares / count + eps);
            const float scale = tile_rsqrtf((squares_2 + v_31) / count + eps);
            // 37: for tk in jagged_tile(length) {
            place = fits ? first_place : place;
            turn = fits ? first_turn : turn;
            for (int tk0_3 = 0; tk0_3 < tk_full; tk0_3 += 64) {
                const int tk_3 = tk0_3 + tk_t;
                tile_phase_await(tiles + 16 + place * 8, turn);
                const float *const x_tile_3 = (const float *)(tile_stage + 1024 + place * 4096);
                // 38: for tm in tile(M) {
                // 39: out[start + tk, tm] = (x[start + tk, tm] - mean) * scale;
                float v_32[2][4];
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    tile_load_f32x4(v_32[tk_i], x_tile_3 + ((tk_s + tk_i * 8) * 64 + tm_t));
                }
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    float v_33[4];
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        v_33[tm_i] = (v_32[tk_i][tm_i] - mean) * scale;
                    }
                    tile_store_once_f32x4(out + (start_i32 + (tk_3 + tk_i * 32)) * 64 + tm_t, v_33);
                }
                __syncwarp();
                if (lane == 0) tile_phase_arrive(tiles + 64 + place * 8);
                place = place == 5 ? 0 : place + 1;
                turn ^= place == 0;
            }
            if (tk_full < length_i32) {
                const int tk0_4 = tk_full;
                const int tk_4 = tk0_4 + tk_t;
                tile_phase_await(tiles + 16 + place * 8, turn);
                const float *const x_tile_4 = (const float *)(tile_stage + 1024 + place * 4096);
                float v_34[2][4];
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    if (tk0_4 + tk_i * 32 >= length_i32) break;
                    if (tk_4 + tk_i * 32 < length_i32) tile_load_f32x4(v_34[tk_i], x_tile_4 + ((tk_s + tk_i * 8) * 64 + tm_t));
                    else tile_clear_f32x4(v_34[tk_i]);
                }
                #pragma unroll
                for (int tk_i = 0; tk_i < 2; ++tk_i) {
                    if (tk0_4 + tk_i * 32 >= length_i32) break;
                    float v_35[4];
                    #pragma unroll
                    for (int tm_i = 0; tm_i < 4; ++tm_i) {
                        v_35[tm_i] = (v_34[tk_i][tm_i] - mean) * scale;
                    }
                    if (tk_4 + tk_i * 32 < length_i32) tile_store_once_f32x4(out + (start_i32 + (tk_4 + tk_i * 32)) * 64 + tm_t, v_35);
                }
                __syncwarp();
                if (lane == 0) tile_phase_arrive(tiles + 64 + place * 8);
                place = place == 5 ? 0 : place + 1;
                turn ^= place == 0;
            }
        }
        tile_part_meet(128, 4, tiles, ++tile_turn);
    } else if (threadIdx.x == 128) {
        int place = 0, turn = 0;
        for (int row_2 = first; row_2 < last; ++row_2) {
            const int tb_2 = (int)row_2;
            const long long start_2 = offsets[tb_2];
            const long long length_2 = offsets[tb_2 + 1] - start_2;
            const int length_i32_2 = (int)tile_clampi_i64(length_2, -2146435071LL, 2146435071LL);
            const int tk_full_2 = length_i32_2 - length_i32_2 % 64;
            const int start_i32_2 = (int)start_2;
            const bool fits_2 = tile_turns(0, tk_full_2, 64) + (tk_full_2 < length_i32_2) <= 6;
            for (int tk0_5 = 0; tk0_5 < tk_full_2; tk0_5 += 64) {
                tile_phase_await(tiles + 64 + place * 8, turn ^ 1);
                tile_phase_expect(tiles + 16 + place * 8, 16 * 256);
                #pragma unroll 4
                for (int piece = 0; piece < 2; ++piece) {
                    tile_slab_copy_once(tiles + 1024 + place * 4096 + piece * 2048, x + (start_i32_2 + (tk0_5 + (piece * 4 + rank) * 8)) * 64 + 0, 8 * 256, tiles + 16 + place * 8, !fits_2);
                }
                place = place == 5 ? 0 : place + 1;
                turn ^= place == 0;
            }
            if (tk_full_2 < length_i32_2) {
                const int tk0_6 = tk_full_2;
                tile_phase_await(tiles + 64 + place * 8, turn ^ 1);
                int all_points = 0;
                #pragma unroll 4
                for (int piece_2 = 0; piece_2 < 2; ++piece_2) {
                    all_points += tile_rows((long long)length_i32_2 - ((tk0_6 + (piece_2 * 4 + rank) * 8)), 8);
                }
                tile_phase_expect(tiles + 16 + place * 8, all_points * 256);
                #pragma unroll 4
                for (int piece_3 = 0; piece_3 < 2; ++piece_3) {
                    const int points_3 = tile_rows((long long)length_i32_2 - ((tk0_6 + (piece_3 * 4 + rank) * 8)), 8);
                    if (points_3 > 0) tile_slab_copy_once(tiles + 1024 + place * 4096 + piece_3 * 2048, x + (start_i32_2 + (tk0_6 + (piece_3 * 4 + rank) * 8)) * 64 + 0, points_3 * 256, tiles + 16 + place * 8, !fits_2);
                }
                place = place == 5 ? 0 : place + 1;
                turn ^= place == 0;
            }
            if (!fits_2) {
                for (int tk0_7 = 0; tk0_7 < tk_full_2; tk0_7 += 64) {
                    tile_phase_await(tiles + 64 + place * 8, turn ^ 1);
                    tile_phase_expect(tiles + 16 + place * 8, 16 * 256);
                    #pragma unroll 4
                    for (int piece_4 = 0; piece_4 < 2; ++piece_4) {
                        tile_slab_copy_once(tiles + 1024 + place * 4096 + piece_4 * 2048, x + (start_i32_2 + (tk0_7 + (piece_4 * 4 + rank) * 8)) * 64 + 0, 8 * 256, tiles + 16 + place * 8, false);
                    }
                    place = place == 5 ? 0 : place + 1;
                    turn ^= place == 0;
                }
            }
            if (!fits_2) {
                if (tk_full_2 < length_i32_2) {
                    const int tk0_8 = tk_full_2;
                    tile_phase_await(tiles + 64 + place * 8, turn ^ 1);
                    int all_points_2 = 0;
                    #pragma unroll 4
                    for (int piece_5 = 0; piece_5 < 2; ++piece_5) {
                        all_points_2 += tile_rows((long long)length_i32_2 - ((tk0_8 + (piece_5 * 4 + rank) * 8)), 8);
                    }
                    tile_phase_expect(tiles + 16 + place * 8, all_points_2 * 256);
                    #pragma unroll 4
                    for (int piece_6 = 0; piece_6 < 2; ++piece_6) {
                        const int points_4 = tile_rows((long long)length_i32_2 - ((tk0_8 + (piece_6 * 4 + rank) * 8)), 8);
                        if (points_4 > 0) tile_slab_copy_once(tiles + 1024 + place * 4096 + piece_6 * 2048, x + (start_i32_2 + (tk0_8 + (piece_6 * 4 + rank) * 8)) * 64 + 0, points_4 * 256, tiles + 16 + place * 8, false);
                    }
                    place = place == 5 ? 0 : place + 1;
                    turn ^= place == 0;
                }
            }
        }
    }
}
