// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f32[nnz, M], offsets: i64[B + 1]) -> out: f32[B, M]
// T = f32, I = i64; 64-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 32 = vector 1 x lanes 32 x warps 1 x registers 1
//   tk: block 4 = vector 1 x lanes 1 x warps 4 x registers 1
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 2
// wants: tensors are dense

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

// launch: ceil(M / 32) * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128, 2) jagged_sum(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, long long M) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[512];
    const int tm_t = lane;
    const int tk_t = warp;
    const long long tm_tiles = (M + 31) / 32;
    const long long tm0 = (long long)(blockIdx.x % tm_tiles) * 32;
    const long long tm = tm0 + tm_t;
    const long long tb = (long long)(blockIdx.x / tm_tiles);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1LL] - start;
    // 17: for tm in tile(M) {
    // 18: var acc: accum(T)[tb, tm] = 0;
    // 19: for tk in jagged_tile(length) {
    const bool inside = tm < M;
    const long long tk_full = length - length % 4LL;
    float acc = 0.0f;
    for (long long tk0 = 0LL; tk0 < tk_full; tk0 += 4) {
        const long long tk = tk0 + tk_t;
        // 20: acc += sum[tk](x[start + tk, tm]);
        acc += inside ? x[(start + tk) * M + tm] : 0.0f;
    }
    if (tk_full < length) {
        const long long tk0_2 = tk_full;
        const long long tk_2 = tk0_2 + tk_t;
        acc += inside && tk_2 < length ? x[(start + tk_2) * M + tm] : 0.0f;
    }
    tile_sum_warps_f32(&acc, 1, tile_shared, 4, 1);
    // 22: out[tb, tm] = acc;
    if ((thread & 96) == 0 && inside) out[tb * M + tm] = acc;
}
