// histogram from 24_histogram.tile, compiled by tilec 0.1.0
// (x: f32[nnz], offsets: i32[B + 1], bins: i64, lo: f32, hi: f32) -> each: i32[B, bins], whole: i32[bins]
// T = f32, I = i32; 32-bit indices
//   tb: block 8 = vector 1 x lanes 1 x warps 8 x registers 1
//   tk: block 256 = vector 1 x lanes 32 x warps 1 x registers 8
//   grid tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20
// launches, in this order: histogram_fill_each, histogram_fill_whole, histogram

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ long long tile_mini_i64(long long a, long long b) {
    return a < b ? a : b;
}

static __device__ __forceinline__ long long tile_f32_to_i64(float x) {
    return x != x ? 0 : x >= 9223372036854775808.0f ? 9223372036854775807LL : x <= -9223372036854775808.0f ? (-9223372036854775807LL - 1) : (long long)x;
}

static __device__ __forceinline__ void tile_atomic_add_i32(int *p, int v) {
    atomicAdd(p, v);
}

// launch: ceil(elements of each / 2048) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) histogram_fill_each(int *__restrict__ each, long long bins, int B) {
    const long long tile_count = (long long)B * (long long)bins, tile_end = ((long long)blockIdx.x + 1) * 2048;
    for (long long tile_at = (long long)blockIdx.x * 2048 + threadIdx.x; tile_at < tile_end && tile_at < tile_count; tile_at += 256)
        each[tile_at] = 0;
}

// launch: ceil(elements of whole / 2048) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) histogram_fill_whole(int *__restrict__ whole, long long bins) {
    const long long tile_count = (long long)bins, tile_end = ((long long)blockIdx.x + 1) * 2048;
    for (long long tile_at = (long long)blockIdx.x * 2048 + threadIdx.x; tile_at < tile_end && tile_at < tile_count; tile_at += 256)
        whole[tile_at] = 0;
}

// launch: ceil(B / 8) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) histogram(const float *__restrict__ x, const int *__restrict__ offsets, int *__restrict__ each, int *__restrict__ whole, long long bins, float lo, float hi, int B) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_t = warp;
    const int tk_t = lane;
    const int tb0 = (int)blockIdx.x * 8;
    const int tb = tb0 + tb_t;
    // 5: for tb in tile(B) {
    // 6: let start = offsets[tb];
    // 7: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 8: let u = (x[start + tk] - lo) / (hi - lo);
    // 9: if u >= 0 && u < 1 {
    // 10: let bin = min(i64(u * f32(bins)), bins - 1);
    const bool inside = tb < B;
    const long long start_i64 = (long long)(inside ? offsets[tb] : 0);
    const int i = (int)tile_clampi_i64((long long)(inside ? offsets[tb + 1] : 0) - start_i64, -2146435071LL, 2146435071LL);
    int i_2 = inside ? i : (-2147483647 - 1);
    const float v = hi - lo;
    const float bins_f32 = (float)bins;
    const long long i_3 = bins - 1LL;
    const float v_2 = fabsf(v) < 1.1754943508222875e-38f ? 16777216.0f : 1.0f;
    const float v_3 = v * v_2;
    const float v_4 = 1.0f / v_3;
    const int start = (int)start_i64;
    for (int tk0 = 0; tk0 < i_2; tk0 += 256) {
        const int tk = tk0 + tk_t;
        float v_5[8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            if (tk0 + tk_i * 32 >= i_2) break;
            v_5[tk_i] = inside && tk + tk_i * 32 < i ? x[start + (tk + tk_i * 32)] : 0.0f;
        }
        // 11: atomic_add(each[tb, bin], 1);
        // 12: atomic_add(whole[bin], 1);
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            if (tk0 + tk_i * 32 >= i_2) break;
            const float v_6 = v_5[tk_i] - lo;
            const float v_7 = v_6 * v_4;
            const float v_8 = fmaf(fmaf(-v_7, v_3, v_6), v_4, v_7);
            const float u = (fabsf(v_8) > 0.0f ? v_8 : v_7) * v_2;
            const bool inside_2 = u >= 0.0f;
            const bool inside_3 = u < 1.0f;
            const long long bin = tile_mini_i64(tile_f32_to_i64(u * bins_f32), i_3);
            if (inside && tk + tk_i * 32 < i && inside_2 && inside_3) tile_atomic_add_i32(each + tb * (int)bins + (int)bin, 1);
            if (inside && tk + tk_i * 32 < i && inside_2 && inside_3) tile_atomic_add_i32(whole + (int)bin, 1);
        }
    }
}
