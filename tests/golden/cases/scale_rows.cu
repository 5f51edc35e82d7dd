// scale_rows from 39_in_place.tile, compiled by tilec 0.1.0
// (x: inout f16[nnz, M], offsets: i64[B + 1], by: f16[B])
// T = f16, I = i64, M = 64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tk: block 256 = vector 1 x lanes 4 x warps 16 x registers 4
//   tm: block 64 = vector 8 x lanes 8 x warps 1 x registers 1
//   grid tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, x at a multiple of 16 bytes

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

static __device__ __forceinline__ void tile_clear_f32x8(float *v) {
    #pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = 0;
}

// launch: B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) scale_rows(unsigned short *__restrict__ x, const long long *__restrict__ offsets, const unsigned short *__restrict__ by) {
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    const int tk_t = warp * 4 + (lane >> 3 & 3);
    const int tm_t = (lane & 7) * 8;
    const int tb = (int)blockIdx.x;
    // 3: for tb in tile(B) {
    // 4: let start = offsets[tb];
    // 5: for tk in jagged_tile(offsets[tb + 1] - start) {
    // 6: for tm in tile(M) { x[start + tk, tm] = x[start + tk, tm] * by[tb]; }
    const long long start = offsets[tb];
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    const int tk_full = i - i % 256;
    const float v = (0 < tk_full ? tile_f16_load(by[tb]) : 0.0f);
    const int start_i32 = (int)start;
    for (int tk0 = 0; tk0 < tk_full; tk0 += 256) {
        const int tk = tk0 + tk_t;
        float v_3[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_2[8];
            tile_load_f16x8(v_2, x + (start_i32 + (tk + tk_i * 64)) * 64 + tm_t);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_3[tk_i][tm_i] = tile_f16_round(v_2[tm_i] * v);
            }
        }
        __syncthreads();
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            tile_store_f16x8(x + (start_i32 + (tk + tk_i * 64)) * 64 + tm_t, v_3[tk_i]);
        }
        __syncthreads();
    }
    const float v_4 = (tk_full < i ? tile_f16_load(by[tb]) : 0.0f);
    if (tk_full < i) {
        const int tk0_2 = tk_full;
        const int tk_2 = tk0_2 + tk_t;
        float v_6[4][8];
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            float v_5[8];
            if (tk_2 + tk_i * 64 < i) tile_load_f16x8(v_5, x + (start_i32 + (tk_2 + tk_i * 64)) * 64 + tm_t);
            else tile_clear_f32x8(v_5);
            #pragma unroll
            for (int tm_i = 0; tm_i < 8; ++tm_i) {
                v_6[tk_i][tm_i] = tile_f16_round(v_5[tm_i] * v_4);
            }
        }
        __syncthreads();
        #pragma unroll
        for (int tk_i = 0; tk_i < 4; ++tk_i) {
            if (tk_2 + tk_i * 64 < i) tile_store_f16x8(x + (start_i32 + (tk_2 + tk_i * 64)) * 64 + tm_t, v_6[tk_i]);
        }
        __syncthreads();
    }
}
