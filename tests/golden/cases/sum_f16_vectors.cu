// jagged_sum from jagged_sum.tile, compiled by tilec 0.1.0
// (x: f16[nnz, M], offsets: i64[B + 1]) -> out: f16[B, M]
// T = f16, I = i64, M = 256; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 256 = vector 8 x lanes 32 x warps 1 x registers 1
//   tk: block 16 = vector 1 x lanes 1 x warps 4 x registers 4, unroll 2
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes, out at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ void tile_load_f16x8(float *v, const unsigned short *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = tile_f16_load((unsigned short)q0.x);
    v[1] = tile_f16_load((unsigned short)(q0.x >> 16));
    v[2] = tile_f16_load((unsigned short)q0.y);
    v[3] = tile_f16_load((unsigned short)(q0.y >> 16));
    v[4] = tile_f16_load((unsigned short)q0.z);
    v[5] = tile_f16_load((unsigned short)(q0.z >> 16));
    v[6] = tile_f16_load((unsigned short)q0.w);
    v[7] = tile_f16_load((unsigned short)(q0.w >> 16));
}

static __device__ __forceinline__ void tile_clear_f32x8(float *v) {
    #pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = 0;
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

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float tile_f16_round(float f) {
    return tile_f16_load(tile_f16_store(f));
}

static __device__ __forceinline__ void tile_store_f16x8(unsigned short *p, const float *v) {
    *(uint4 *)p = make_uint4((unsigned)tile_f16_store(v[0]) | (unsigned)tile_f16_store(v[1]) << 16, (unsigned)tile_f16_store(v[2]) | (unsigned)tile_f16_store(v[3]) << 16, (unsigned)tile_f16_store(v[4]) | (unsigned)tile_f16_store(v[5]) << 16, (unsigned)tile_f16_store(v[6]) | (unsigned)tile_f16_store(v[7]) << 16);
}

// launch: 1 * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_sum(const unsigned short *__restrict__ x, const long long *__restrict__ offsets, unsigned short *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[4224];
    const int tm_t = lane * 8;
    const int tk_t = warp;
    const int tm0 = (int)(blockIdx.x % 1) * 256;
    const int tm = tm0 + tm_t;
    const int tb = (int)(blockIdx.x / 1);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const long long length = offsets[tb + 1] - start;
    // 17: for tm in tile(M) {
    // 18: var acc: accum(T)[tb, tm] = 0;
    // 19: for tk in jagged_tile(length) {
    // 20: acc += sum[tk](x[start + tk, tm]);
    const int length_i32 = (int)tile_clampi_i64(length, -2146435071LL, 2146435071LL);
    const int tk_full = length_i32 - length_i32 % 16;
    const int start_i32 = (int)start;
    float acc[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        acc[tm_i] = 0.0f;
    }
    #pragma unroll 2
    for (int tk0 = 0; tk0 < tk_full; tk0 += 16) {
        const int tk = tk0 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v[8];
            tile_load_f16x8(v, x + (start_i32 + (tk + tk_i * 4)) * 256 + tm);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                acc[tm_i] += v[tm_i];
            }
        }
    }
    if (tk_full < length_i32) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_2[8];
            if (tk_2 + tk_i * 4 < length_i32) tile_load_f16x8(v_2, x + (start_i32 + (tk_2 + tk_i * 4)) * 256 + tm);
            else tile_clear_f32x8(v_2);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                acc[tm_i] += v_2[tm_i];
            }
        }
    }
    tile_sum_many_f32(&acc[0], 8, tile_shared, 4, 1, 32, 1);
    // 22: out[tb, tm] = acc;
    float acc_f16[8];
    #pragma unroll
    for (int tm_i = 0; tm_i < 8; ++tm_i) {
        acc_f16[tm_i] = tile_f16_round(acc[tm_i]);
    }
    if ((thread & 96) == 0) tile_store_f16x8(out + tb * 256 + tm, acc_f16);
}
