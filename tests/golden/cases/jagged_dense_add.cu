// jagged_dense_add from jagged_dense_add.tile, compiled by tilec 0.1.0
// (x: f32[nnz], offsets: i64[B + 1], y: f32[B, N]) -> out: f32[B, N]
// T = f32, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 256 = vector 1 x lanes 32 x warps 8 x registers 1
//   grid tn, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

// launch: ceil(N / 256) * B blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_dense_add(const float *__restrict__ x, const long long *__restrict__ offsets, const float *__restrict__ y, float *__restrict__ out, int N) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tn_t = warp * 32 + lane;
    const int tn_tiles = (N + 255) / 256;
    const int tn0 = (int)(blockIdx.x % tn_tiles) * 256;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / tn_tiles);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const int length_i32 = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    // 17: for tn in tile(N) {
    // 18: out[tb, tn] = y[tb, tn] + (tn < length ? x[start + tn] : 0);
    const bool inside = tn < N;
    if (inside) out[tb * N + tn] = (inside ? y[tb * N + tn] : 0.0f) + (inside && tn < length_i32 ? x[(int)start + tn] : 0.0f);
}
