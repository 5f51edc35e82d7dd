// jagged_mean from jagged_mean.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1], features: i32[B]) -> out: f32[B, M]
// T = f32, I = i64, M = 100; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tf: block 128 = vector 1 x lanes 32 x warps 1 x registers 4
//   tk: block 64 = vector 1 x lanes 1 x warps 16 x registers 4
//   grid tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20
// launches, in this order: jagged_mean_fill_out, jagged_mean

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
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

// launch: ceil(elements of out / 2048) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_mean_fill_out(float *__restrict__ out, int B) {
    const long long tile_count = (long long)B * (long long)100, tile_end = ((long long)blockIdx.x + 1) * 2048;
    for (long long tile_at = (long long)blockIdx.x * 2048 + threadIdx.x; tile_at < tile_end && tile_at < tile_count; tile_at += 256)
        out[tile_at] = 0.0f;
}

// launch: B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) jagged_mean(const float *__restrict__ x, const long long *__restrict__ offsets, const int *__restrict__ features, float *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[8448];
    const int tf_t = lane;
    const int tk_t = warp;
    const int tb = (int)blockIdx.x;
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    // 17: for tf in jagged_tile(features[tb]) {
    // 18: var acc: accum(T)[tb, tf] = 0;
    // 19: for tk in jagged_tile(length) {
    // 20: acc += sum[tk](x[start + tk, tf]);
    // 22: out[tb, tf] = length > 0 ? acc / accum(T)(length) : 0;
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int i = (int)tile_clampi_i64((long long)features[tb], -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 64;
    const bool inside = length_i32 > 0;
    const float length_f32 = (float)length;
    const float v = fabsf(length_f32) < 1.1754943508222875e-38f ? 16777216.0f : 1.0f;
    const float v_2 = length_f32 * v;
    const float v_3 = 1.0f / v_2;
    const int start_i32 = (int)start;
    for (int tf0 = 0; tf0 < i; tf0 += 128) {
        const int tf = tf0 + tf_t;
        bool inside_2[4];
        float acc[4];
        #pragma unroll
        for (int tf_i = 0; tf_i < 4; ++tf_i) {
            inside_2[tf_i] = tf + tf_i * 32 < i;
            acc[tf_i] = 0.0f;
        }
        for (int tk0 = 0; tk0 < tk_full; tk0 += 64) {
            const int tk = tk0 + tk_t;
            #pragma unroll
            for (int tf_i = 0; tf_i < 4; ++tf_i) {
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    acc[tf_i] += inside_2[tf_i] ? x[(start_i32 + (tk + tk_i * 16)) * 100 + (tf + tf_i * 32)] : 0.0f;
                }
            }
        }
        if (tk_full < length_i32) {
            const int tk0_2 = tk_full;
            const int tk_2 = tk0_2 + tk_t;
            #pragma unroll
            for (int tf_i = 0; tf_i < 4; ++tf_i) {
                #pragma unroll
                for (int tk_i = 0; tk_i < 4; ++tk_i) {
                    acc[tf_i] += inside_2[tf_i] && tk_2 + tk_i * 16 < length_i32 ? x[(start_i32 + (tk_2 + tk_i * 16)) * 100 + (tf + tf_i * 32)] : 0.0f;
                }
            }
        }
        tile_sum_many_f32(&acc[0], 4, tile_shared, 16, 1, 32, 1);
        #pragma unroll
        for (int tf_i = 0; tf_i < 4; ++tf_i) {
            const float v_4 = acc[tf_i] * v_3;
            const float v_5 = fmaf(fmaf(-v_4, v_2, acc[tf_i]), v_3, v_4);
            if ((thread & 480) == 0 && inside_2[tf_i]) out[tb * 100 + (tf + tf_i * 32)] = inside ? (fabsf(v_5) > 0.0f ? v_5 : v_4) * v : 0.0f;
        }
    }
}
