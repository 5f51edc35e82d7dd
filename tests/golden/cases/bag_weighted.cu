// embedding_bag from 15_embedding_bag.tile, compiled by tilec 0.1.0
// (table: f32[V, D], indices: i64[nnz], offsets: i64[B + 1], weights: f32[nnz]) -> out: f32[B, D]
// T = f32, I = i64, D = 64, with weights; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   td: block 64 = vector 1 x lanes 1 x warps 16 x registers 4
//   tk: block 128 = vector 1 x lanes 32 x warps 1 x registers 4
//   grid td, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

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

// launch: 1 * B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) embedding_bag(const float *__restrict__ table, const long long *__restrict__ indices, const long long *__restrict__ offsets, const float *__restrict__ weights, float *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int td_t = warp;
    const int tk_t = lane;
    const int td0 = (int)(blockIdx.x % 1) * 64;
    const int td = td0 + td_t;
    const int tb = (int)(blockIdx.x / 1);
    // 4: for tb in tile(B) {
    // 5: let start = offsets[tb];
    const long long start = offsets[tb];
    // 6: for td in tile(D) {
    // 7: var acc: accum(T)[tb, td] = 0;
    // 8: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 9: let w = has(weights) ? weights[start + tk] : 1;
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i - i % 128;
    const int start_i32 = (int)start;
    float acc[4];
    #pragma unroll
    for (int td_i = 0; td_i < 4; ++td_i) {
        acc[td_i] = 0.0f;
    }
    for (int tk0 = 0; tk0 < tk_full; tk0 += 128) {
        const int tk = tk0 + tk_t;
        // 10: acc += sum[tk](table[indices[start + tk], td] * w);
        float w[4];
        long long i_2[4];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            w[tk_i] = weights[start_i32 + (tk + tk_i * 32)];
            i_2[tk_i] = indices[start_i32 + (tk + tk_i * 32)];
        }
        #pragma unroll
        for (int td_i = 0; td_i < 4; ++td_i) {
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                acc[td_i] += table[(int)i_2[tk_i] * 64 + (td + td_i * 16)] * w[tk_i];
            }
        }
    }
    if (tk_full < i) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float w_2[4];
        long long i_3[4];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            w_2[tk_i] = tk_2 + tk_i * 32 < i ? weights[start_i32 + (tk_2 + tk_i * 32)] : 0.0f;
            i_3[tk_i] = tk_2 + tk_i * 32 < i ? indices[start_i32 + (tk_2 + tk_i * 32)] : 0LL;
        }
        #pragma unroll
        for (int td_i = 0; td_i < 4; ++td_i) {
            #pragma unroll
            for (int tk_i = 0; tk_i < 4; ++tk_i) {
                acc[td_i] += (tk_2 + tk_i * 32 < i ? table[(int)i_3[tk_i] * 64 + (td + td_i * 16)] : 0.0f) * w_2[tk_i];
            }
        }
    }
    #pragma unroll
    for (int td_i = 0; td_i < 4; ++td_i) {
        acc[td_i] = tile_sum_lanes_f32(acc[td_i], 32, 1);
    }
    // 12: out[tb, td] = acc;
    #pragma unroll
    for (int td_i = 0; td_i < 4; ++td_i) {
        if ((thread & 31) == 0) out[tb * 64 + (td + td_i * 16)] = acc[td_i];
    }
}
