// jagged_cumsum from 19_jagged_cumsum.tile, compiled by tilec 0.1.0
// (x: f16[nnz, M], offsets: i64[B + 1]) -> out: f16[nnz, M]
// T = f16, I = i64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tm: block 8 = vector 1 x lanes 8 x warps 1 x registers 1
//   tk: block 32 = vector 1 x lanes 4 x warps 4 x registers 2
//   grid tm, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ float tile_f16_load(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ __forceinline__ float tile_sum_lanes_f32(float v, const int count, const int step) {
    #pragma unroll
    for (int o = count / 2 * step; o >= step; o /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, v, o);
        v = v + other;
    }
    return v;
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

static __device__ __forceinline__ float tile_scan_sum_f32(float *total, void *shared, const int lanes, const int lane_step, const int warps, const int warp_step) {
    float *values = (float *)shared, before = 0.0f, all = 0.0f;
    const int thread = (int)threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int l = lane / lane_step % lanes, w = warp / warp_step % warps;
    const int first = thread - l * lane_step - w * warp_step * 32;
    __syncthreads();
    values[thread] = *total;
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i < lanes * warps; ++i) {
        const float v = values[first + i % lanes * lane_step + i / lanes * warp_step * 32];
        if (i < l + w * lanes) before = before + v;
        all = all + v;
    }
    *total = all;
    return before;
}

static __device__ __forceinline__ unsigned short tile_f16_store(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

// launch: ceil(M / 8) * B blocks of 128 threads
extern "C" __global__ void __launch_bounds__(128) jagged_cumsum(const unsigned short *__restrict__ x, const long long *__restrict__ offsets, unsigned short *__restrict__ out, int M) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[512];
    const int tm_t = (lane & 7);
    const int tk_t = warp * 4 + (lane >> 3 & 3);
    const int tm_tiles = (M + 7) / 8;
    const int tm0 = (int)(blockIdx.x % tm_tiles) * 8;
    const int tm = tm0 + tm_t;
    const int tb = (int)(blockIdx.x / tm_tiles);
    // 3: for tb in tile(B) {
    // 4: let start = offsets[tb];
    const long long start = offsets[tb];
    // 5: for tm in tile(M) {
    // 6: var carry: accum(T)[tb, tm] = 0;
    // 7: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 8: let v = x[start + tk, tm];
    const bool inside = tm < M;
    float carry = 0.0f;
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i - i % 32;
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 32) {
        const int tk = tk0 + tk_t;
        // 9: out[start + tk, tm] = carry + cumsum[tk](v);
        // 10: carry += sum[tk](v);
        float v_f32[2];
        float v = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            v_f32[tk_i] = (inside ? tile_f16_load(x[(start_i32 + (tk + tk_i * 16)) * M + tm]) : 0.0f);
            v += v_f32[tk_i];
        }
        v = tile_sum_lanes_f32(v, 4, 8);
        tile_sum_warps_f32(&v, 1, tile_shared, 4, 1);
        float v_2[2];
        {
            float carry_3 = 0.0f;
            #pragma unroll
            for (int tk_i = 0; tk_i < 2; ++tk_i) {
                float run = 0.0f;
                run = run + v_f32[tk_i];
                v_2[tk_i] = run;
                float before = tile_scan_sum_f32(&run, tile_shared, 4, 8, 4, 1);
                before = carry_3 + before;
                v_2[tk_i] = before + v_2[tk_i];
                carry_3 = carry_3 + run;
            }
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (inside) out[(start_i32 + (tk + tk_i * 16)) * M + tm] = tile_f16_store(carry + v_2[tk_i]);
        }
        const float carry_2 = carry + v;
        carry = carry_2;
    }
    if (tk_full < i) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float v_f32_2[2];
        float v_3 = 0.0f;
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            v_f32_2[tk_i] = (inside && tk_2 + tk_i * 16 < i ? tile_f16_load(x[(start_i32 + (tk_2 + tk_i * 16)) * M + tm]) : 0.0f);
            v_3 += v_f32_2[tk_i];
        }
        v_3 = tile_sum_lanes_f32(v_3, 4, 8);
        tile_sum_warps_f32(&v_3, 1, tile_shared, 4, 1);
        float v_4[2];
        {
            float carry_5 = 0.0f;
            #pragma unroll
            for (int tk_i = 0; tk_i < 2; ++tk_i) {
                float run_2 = 0.0f;
                run_2 = run_2 + v_f32_2[tk_i];
                v_4[tk_i] = run_2;
                float before_2 = tile_scan_sum_f32(&run_2, tile_shared, 4, 8, 4, 1);
                before_2 = carry_5 + before_2;
                v_4[tk_i] = before_2 + v_4[tk_i];
                carry_5 = carry_5 + run_2;
            }
        }
        #pragma unroll
        for (int tk_i = 0; tk_i < 2; ++tk_i) {
            if (inside && tk_2 + tk_i * 16 < i) out[(start_i32 + (tk_2 + tk_i * 16)) * M + tm] = tile_f16_store(carry + v_4[tk_i]);
        }
        const float carry_4 = carry + v_3;
        carry = carry_4;
    }
}
