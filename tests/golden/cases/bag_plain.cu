// embedding_bag from 15_embedding_bag.tile, compiled by tilec 0.1.0
// (table: f32[V, D], indices: i64[nnz], offsets: i64[B + 1]) -> out: f32[B, D]
// T = f32, I = i64, D = 64, without weights; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   td: block 64 = vector 4 x lanes 16 x warps 1 x registers 1
//   tk: block 256 = vector 1 x lanes 2 x warps 16 x registers 8
//   grid td, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, table at a multiple of 16 bytes, out at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ void tile_load_f32x4(float *v, const float *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __uint_as_float(q0.x);
    v[1] = __uint_as_float(q0.y);
    v[2] = __uint_as_float(q0.z);
    v[3] = __uint_as_float(q0.w);
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

static __device__ __forceinline__ void tile_sum_many_f32(float *v, const int n, void *shared, const int count, const int step, const int lanes, const int lane_step) {
    float *all = (float *)shared;
    const int thread = (int)threadIdx.x, threads = (int)blockDim.x, warp = thread / 32, warps = threads / 32;
    const int lane = thread % 32 / lane_step % lanes, row = lanes | 1, total = n * lanes * warps;
    const int first = (warp - warp / step % count * step) * row + lane;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i)
        if (thread % 32 == lane * lane_step) all[(i * warps + warp) * row + lane] = v[i];
    __syncthreads();
    for (int q = 0; q < total; q += threads) {
        const int part = (q + thread) % count, result = (q + thread) / count;
        const int group = result / lanes, at = group / step * count * step + group % step;
        float *sum = all + at * row + result % lanes;
        const bool inside = q + thread < total;
        const float a = tile_sum_lanes_f32(inside ? sum[part * step * row] : v[0], count, 1);
        if (inside && part == 0) *sum = a;
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) v[i] = all[i * warps * row + first];
}

static __device__ __forceinline__ void tile_store_f32x4(float *p, const float *v) {
    *(uint4 *)p = make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
}

// launch: 1 * B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) embedding_bag(const float *__restrict__ table, const long long *__restrict__ indices, const long long *__restrict__ offsets, float *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[4352];
    const int td_t = (lane & 15) * 4;
    const int tk_t = warp * 2 + (lane >> 4 & 1);
    const int td0 = (int)(blockIdx.x % 1) * 64;
    const int td = td0 + td_t;
    const int tb = (int)(blockIdx.x / 1);
    // 4: for tb in tile(B) {
    // 5: let start = offsets[tb];
    const long long start = offsets[tb];
    // 6: for td in tile(D) {
    // 7: var acc: accum(T)[tb, td] = 0;
    // 8: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 10: acc += sum[tk](table[indices[start + tk], td] * w);
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i - i % 256;
    const int start_i32 = (int)start;
    float acc[4];
    #pragma unroll
    for (int td_i = 0; td_i < 4; ++td_i) {
        acc[td_i] = 0.0f;
    }
    for (int tk0 = 0; tk0 < tk_full; tk0 += 256) {
        const int tk = tk0 + tk_t;
        long long i_2[8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            i_2[tk_i] = indices[start_i32 + (tk + tk_i * 32)];
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            float v[4];
            tile_load_f32x4(v, table + (int)i_2[tk_i] * 64 + td);
            #pragma unroll
            for (int td_i = 0; td_i < 4; ++td_i) {
                acc[td_i] += v[td_i] * 1.0f;
            }
        }
    }
    if (tk_full < i) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        long long i_3[8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            i_3[tk_i] = tk_2 + tk_i * 32 < i ? indices[start_i32 + (tk_2 + tk_i * 32)] : 0LL;
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            float v_2[4];
            if (tk_2 + tk_i * 32 < i) tile_load_f32x4(v_2, table + (int)i_3[tk_i] * 64 + td);
            else tile_clear_f32x4(v_2);
            #pragma unroll
            for (int td_i = 0; td_i < 4; ++td_i) {
                acc[td_i] += v_2[td_i] * 1.0f;
            }
        }
    }
    #pragma unroll
    for (int td_i = 0; td_i < 4; ++td_i) {
        acc[td_i] = tile_sum_lanes_f32(acc[td_i], 2, 16);
    }
    tile_sum_many_f32(&acc[0], 4, tile_shared, 16, 1, 16, 1);
    // 12: out[tb, td] = acc;
    if ((thread & 496) == 0) tile_store_f32x4(out + tb * 64 + td, acc);
}
