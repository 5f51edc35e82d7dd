// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f64[nnz, M], offsets: i64[B + 1]) -> out: f64[B, M]
// T = f64, I = i64, M = 32; 32-bit indices
//   tb: block 8 = vector 1 x lanes 2 x warps 4 x registers 1
//   tm: block 32 = vector 2 x lanes 8 x warps 1 x registers 2
//   tk: block 8 = vector 1 x lanes 2 x warps 1 x registers 4, unroll 4
//   grid tb, tm; strategy rows; peel false; late false; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, out at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ int tile_maxi_i32(int a, int b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ int tile_max_lanes_i32(int v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, v, o);
        v = tile_maxi_i32(v, other);
    }
    return v;
}

static __device__ __forceinline__ void tile_load_f64x2(double *v, const double *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __longlong_as_double((long long)((unsigned long long)q0.y << 32 | q0.x));
    v[1] = __longlong_as_double((long long)((unsigned long long)q0.w << 32 | q0.z));
}

static __device__ __forceinline__ void tile_clear_f64x2(double *v) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) v[i] = 0;
}

static __device__ __forceinline__ double tile_sum_lanes_f64(double v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ void tile_store_f64x2(double *p, const double *v) {
    *(uint4 *)p = make_uint4((unsigned)__double_as_longlong(v[0]), (unsigned)((unsigned long long)__double_as_longlong(v[0]) >> 32), (unsigned)__double_as_longlong(v[1]), (unsigned)((unsigned long long)__double_as_longlong(v[1]) >> 32));
}

// launch: ceil(B / 8) * 1 blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum(const double *__restrict__ x, const long long *__restrict__ offsets, double *__restrict__ out, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_t = warp * 2 + (lane >> 3 & 1);
    const int tm_t = (lane & 7) * 2;
    const int tk_t = (lane >> 4 & 1);
    const int tb_tiles = (B + 7) / 8;
    const int tb0 = (int)(blockIdx.x % tb_tiles) * 8;
    const int tb = tb0 + tb_t;
    const int tm0 = (int)(blockIdx.x / tb_tiles) * 32;
    const int tm = tm0 + tm_t;
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const bool inside = tb < B;
    const long long start = inside ? offsets[tb] : 0LL;
    const long long length = (inside ? offsets[tb + 1] : 0LL) - start;
    // 17: for tm in tile(M) {
    // 18: var acc: accum(T)[tb, tm] = 0;
    double acc[2][2];
    #pragma unroll
    for (int tm_r = 0; tm_r < 2; ++tm_r) {
        #pragma unroll
        for (int tm_v = 0; tm_v < 2; ++tm_v) {
            acc[tm_r][tm_v] = 0.0;
        }
    }
    // 19: for tk in jagged_tile(length) {
    // 20: acc += sum[tk](x[start + tk, tm]);
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    int i = inside ? length_i32 : (-2147483647 - 1);
    const int start_i32 = (int)start;
    i = tile_max_lanes_i32(i, 2, 8);
    #pragma unroll 4
    for (int tk0 = 0; tk0 < i; tk0 += 8) {
        const int tk = tk0 + tk_t;
        double v_2[2][2];
        #pragma unroll
        for (int tm_r = 0; tm_r < 2; ++tm_r) {
            #pragma unroll
            for (int tm_v = 0; tm_v < 2; ++tm_v) {
                v_2[tm_r][tm_v] = 0.0;
            }
        }
        #pragma unroll
        for (int tm_r = 0; tm_r < 2; ++tm_r) {
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                double v[2];
                if (inside && tk + tk_i * 2 < length_i32) tile_load_f64x2(v, x + (start_i32 + (tk + tk_i * 2)) * 32 + (tm + tm_r * 16));
                else tile_clear_f64x2(v);
                #pragma unroll
                for (int tm_v = 0; tm_v < 2; ++tm_v) {
                    v_2[tm_r][tm_v] += v[tm_v];
                }
            }
        }
        #pragma unroll
        for (int tm_r = 0; tm_r < 2; ++tm_r) {
            #pragma unroll
            for (int tm_v = 0; tm_v < 2; ++tm_v) {
                v_2[tm_r][tm_v] = tile_sum_lanes_f64(v_2[tm_r][tm_v], 2, 16);
            }
        }
        double acc_2[2][2];
        #pragma unroll
        for (int tm_r = 0; tm_r < 2; ++tm_r) {
            #pragma unroll
            for (int tm_v = 0; tm_v < 2; ++tm_v) {
                acc_2[tm_r][tm_v] = acc[tm_r][tm_v] + v_2[tm_r][tm_v];
            }
        }
        #pragma unroll
        for (int tm_r = 0; tm_r < 2; ++tm_r) {
            #pragma unroll
            for (int tm_v = 0; tm_v < 2; ++tm_v) {
                acc[tm_r][tm_v] = acc_2[tm_r][tm_v];
            }
        }
    }
    // 22: out[tb, tm] = acc;
    #pragma unroll
    for (int tm_r = 0; tm_r < 2; ++tm_r) {
        if ((thread & 16) == 0 && inside) tile_store_f64x2(out + tb * 32 + (tm + tm_r * 16), acc[tm_r]);
    }
}
