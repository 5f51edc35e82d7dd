// jagged_sum_1d from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f32[nnz], offsets: i64[B + 1]) -> out: f32[B]
// T = f32, I = i64; 32-bit indices
//   tb: block 8 = vector 1 x lanes 1 x warps 8 x registers 1
//   tk: block 256 = vector 1 x lanes 32 x warps 1 x registers 8
//   grid tb; strategy rows; peel true; late true; stream false; min_blocks 0
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

// launch: ceil(B / 8) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) jagged_sum_1d(const float *__restrict__ x, const long long *__restrict__ offsets, float *__restrict__ out, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tb_t = warp;
    const int tk_t = lane;
    const int tb0 = (int)blockIdx.x * 8;
    const int tb = tb0 + tb_t;
    // 33: for tb in tile(B) {
    // 34: let start = offsets[tb];
    // 35: let length = offsets[tb + 1] - start;
    // 36: var acc: accum(T)[tb] = 0;
    // 37: for tk in jagged_tile(length) {
    // 38: acc += sum[tk](x[start + tk]);
    const bool inside = tb < B;
    const long long start = inside ? offsets[tb] : 0LL;
    const int length_i32 = (int)tile_clampi_i64((inside ? offsets[tb + 1] : 0LL) - start, -2146435071LL, 2146435071LL);
    int i = inside ? length_i32 : (-2147483647 - 1);
    float acc = 0.0f;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < i; tk0 += 256) {
        const int tk = tk0 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            acc += inside && tk + tk_i * 32 < length_i32 ? x[start_i32 + (tk + tk_i * 32)] : 0.0f;
        }
    }
    acc = tile_sum_lanes_f32(acc, 32, 1);
    // 40: out[tb] = acc;
    if ((thread & 31) == 0 && inside) out[tb] = acc;
}
