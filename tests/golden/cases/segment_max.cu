// segment_max from 13_segment_max_argmax.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> top: f32[B, M], at: i64[B, M]
// T = f32, I = i64; 32-bit indices
//   tb: block 4 = vector 1 x lanes 1 x warps 4 x registers 1
//   tm: block 8 = vector 1 x lanes 8 x warps 1 x registers 1
//   tk: block 8 = vector 1 x lanes 4 x warps 1 x registers 2
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ float tile_maxf(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

static __device__ __forceinline__ float tile_max_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = tile_maxf(v, other);
    }
    return v;
}

static __device__ __forceinline__ void tile_argmax_f32(float *best, long long *at, float v, long long i) {
    if (i < 0 || (*at >= 0 && !(v > *best || (v != v && *best == *best)) && !((v == *best || (v != v && *best != *best)) && i < *at))) return;
    *best = v;
    *at = i;
}

static __device__ __forceinline__ void tile_argmax_lanes_f32(float *best, long long *at, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float v = __shfl_xor_sync(0xffffffffu, *best, o);
        const long long i = __shfl_xor_sync(0xffffffffu, *at, o);
        tile_argmax_f32(best, at, v, i);
    }
}

// launch: ceil(M / 8) * ceil(B / 4) blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) segment_max(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ top, long long *__restrict__ at, int M, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_t = warp;
    const int tm_t = (lane & 7);
    const int tk_t = (lane >> 3 & 3);
    const int tm_tiles = (M + 7) / 8;
    const int tm0 = (int)(blockIdx.x % tm_tiles) * 8;
    const int tm = tm0 + tm_t;
    const int tb0 = (int)(blockIdx.x / tm_tiles) * 4;
    const int tb = tb0 + tb_t;
    // 4: for tb in tile(B) {
    // 5: let start = offsets[tb];
    const bool inside = tb < B;
    const long long start = inside ? offsets[tb] : 0LL;
    // 6: for tm in tile(M) {
    // 7: var best: T[tb, tm] = -inf;
    // 8: var pick: i64[tb, tm] = -1;
    // 9: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 10: let v = x[start + tk, tm];
    float best = __int_as_float((int)0xff800000);
    const int i = (int)tile_clampi_i64((inside ? offsets[tb + 1] : 0LL) - start, -2146435071LL, 2146435071LL);
    int i_2 = inside ? i : (-2147483647 - 1);
    const bool inside_2 = inside && tm < M;
    long long pick_i64 = (long long)(-1);
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < i_2; tk0 += 8) {
        const int tk = tk0 + tk_t;
        // 11: let m = max[tk](v);
        // 12: if m > best || pick < 0 {                // a row of -inf still has a first element
        // 13: best = m;
        const bool inside_3 = (int)tile_clampi_i64(pick_i64, -2146435071LL, 2146435071LL) < 0;
        const bool inside_4 = tk0 < i;
        float v[2];
        float m = __int_as_float((int)0xff800000);
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            v[tk_i] = inside_2 && tk + tk_i * 4 < i ? x[(start_i32 + (tk + tk_i * 4)) * M + tm] : 0.0f;
            m = tile_maxf(m, inside_2 && tk + tk_i * 4 < i ? v[tk_i] : __int_as_float((int)0xff800000));
        }
        m = tile_max_lanes_f32(m, 4, 8);
        const bool inside_5 = m > best || inside_3;
        const bool inside_6 = inside_4 && inside_5;
        const float best_2 = inside_6 ? m : best;
        // 14: pick = argmax[tk](v);
        float i_3_value;
        i_3_value = 0.0f;
        long long i_3;
        i_3 = -1;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (inside_2 && tk + tk_i * 4 < i && inside_5) tile_argmax_f32(&i_3_value, &i_3, v[tk_i], (long long)(tk + tk_i * 4));
        }
        tile_argmax_lanes_f32(&i_3_value, &i_3, 4, 8);
        const long long pick = inside_6 ? i_3 : pick_i64;
        best = best_2;
        pick_i64 = pick;
    }
    // 17: top[tb, tm] = best;
    // 18: at[tb, tm] = pick;
    if ((thread & 24) == 0 && inside_2) top[tb * M + tm] = best;
    if ((thread & 24) == 0 && inside_2) at[tb * M + tm] = pick_i64;
}
