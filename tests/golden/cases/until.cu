// until from constructs.tile, compiled by tilec 0.1.0
// (x: f32[nnz], offsets: i32[B + 1], limit: f32) -> out: f32[B], over: bool[B]
// I = i32; 32-bit indices
//   tb: block 8 = vector 1 x lanes 1 x warps 8 x registers 1
//   tk: block 256 = vector 1 x lanes 32 x warps 1 x registers 8
//   grid tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ int tile_maxi_i32(int a, int b) {
    return a > b ? a : b;
}

static __device__ __forceinline__ void tile_max_warps_i32(int *v, const int n, void *shared, const int count, const int step) {
    int *all = (int *)shared;
    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;
    const int first = thread - warp / step % count * step * 32;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) all[i * threads + thread] = v[i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        int a = all[i * threads + first];
        for (int w = 1; w < count; ++w) {
            const int b = all[i * threads + first + w * step * 32];
            a = tile_maxi_i32(a, b);
        }
        v[i] = a;
    }
}

static __device__ __forceinline__ void tile_any_warps_bool(bool *v, const int n, void *shared, const int count, const int step) {
    bool *all = (bool *)shared;
    const int threads = (int)blockDim.x, thread = (int)threadIdx.x, warp = thread / 32;
    const int first = thread - warp / step % count * step * 32;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) all[i * threads + thread] = v[i];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < n; ++i) {
        bool a = all[i * threads + first];
        for (int w = 1; w < count; ++w) {
            const bool b = all[i * threads + first + w * step * 32];
            a = a || b;
        }
        v[i] = a;
    }
}

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
}

static __device__ __forceinline__ float tile_minf(float a, float b) {
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

// launch: ceil(B / 8) blocks of 256 threads
extern "C" __global__ void __launch_bounds__(256) until(const float *__restrict__ x, const int *__restrict__ offsets, float *__restrict__ out, unsigned char *__restrict__ over, float limit, int B) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[1024];
    const int tb_t = warp;
    const int tk_t = lane;
    const int tb0 = (int)blockIdx.x * 8;
    const int tb = tb0 + tb_t;
    // 27: for tb in tile(B) {
    // 28: let start = offsets[tb];
    // 29: var total: f32[tb] = 0;
    // 30: for tk in jagged_tile(offsets[tb + 1] - start) while total < limit {
    // 31: total += sum[tk](abs(x[start + tk]));
    const bool inside = tb < B;
    const float total = 0.0f;
    const long long start_i64 = (long long)(inside ? offsets[tb] : 0);
    bool inside_2 = total < limit;
    const int i = (int)tile_clampi_i64((long long)(inside ? offsets[tb + 1] : 0) - start_i64, -2146435071LL, 2146435071LL);
    int i_2 = inside ? i : (-2147483647 - 1);
    const int start = (int)start_i64;
    tile_max_warps_i32(&i_2, 1, tile_shared, 8, 1);
    float total_2 = total;
    for (int tk0 = 0; tk0 < i_2; tk0 += 256) {
        bool inside_3 = inside ? inside_2 : false;
        tile_any_warps_bool(&inside_3, 1, tile_shared, 8, 1);
        if (!inside_3) break;
        const int tk = tk0 + tk_t;
        float v = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 8; ++tk_i) {
            v += fabsf(inside && tk + tk_i * 32 < i && inside_2 ? x[start + (tk + tk_i * 32)] : 0.0f);
        }
        v = tile_sum_lanes_f32(v, 32, 1);
        const float total_3 = total_2 + v;
        const bool inside_4 = tk0 < i ? inside_2 && total_3 < limit : inside_2;
        total_2 = total_3;
        inside_2 = inside_4;
    }
    // 33: out[tb] = min(total, limit);
    // 34: over[tb] = total >= limit;
    if ((thread & 31) == 0 && inside) out[tb] = tile_minf(total_2, limit);
    if ((thread & 31) == 0 && inside) over[tb] = total_2 >= limit;
}
