// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> out: f32[B, M]
// T = f32, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   tk: block 128 = vector 1 x lanes 1 x warps 16 x registers 8
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ void tile_sum_warps_f32(float *v, const int n, void *shared, const int count, const int step) {
    float *all = (float *)shared;
    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;
    const int first = thread - warp / step % count * step * 32;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) all[i * threads + thread] = v[i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        float a = all[i * threads + first];
        for (int w = 1; w < count; ++w) {
            const float b = all[i * threads + first + w * step * 32];
            a = a + b;
        }
        v[i] = a;
    }
}

// launch: ceil(M / 32) * B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) jagged_sum(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, int M) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[2048];
    const int tm_t = lane;
    const int tk_t = warp;
    const int tm_tiles = (M + 31) / 32;
    const int tm0 = (int)(blockIdx.x % tm_tiles) * 32;
    const int tm = tm0 + tm_t;
    const int tb = (int)(blockIdx.x / tm_tiles);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    // 17: for tm in tile(M) {
    // 18: var acc: accum(T)[tb, tm] = 0;
    // 19: for tk in jagged_tile(length) {
    // 20: acc += sum[tk](x[start + tk, tm]);
    const bool inside = tm < M;
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 128;
    float acc = 0.0f;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 128) {
        const int tk = tk0 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            acc += inside ? x[(start_i32 + (tk + tk_i * 16)) * M + tm] : 0.0f;
        }
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            acc += inside && tk_2 + tk_i * 16 < length_i32 ? x[(start_i32 + (tk_2 + tk_i * 16)) * M + tm] : 0.0f;
        }
    }
    tile_sum_warps_f32(&acc, 1, tile_shared, 16, 1);
    // 22: out[tb, tm] = acc;
    if ((thread & 480) == 0 && inside) out[tb * M + tm] = acc;
}
