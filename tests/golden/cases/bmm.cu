// jagged_dense_bmm from 07_jagged_dense_bmm.tile, compiled by tilec 0.1.0
// (x: f16[nnz, D], w: f16[B, D, K], offsets: i64[B + 1], bias: f16[B, K]) -> out: f16[nnz, K]
// T = f16, I = i64, D = 64, K = 64, with bias; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 64 = vector 8 x lanes 8 x warps 1 x registers 1
//   tr: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   td: block 64 = vector 1 x lanes 4 x warps 16 x registers 1
//   grid tn, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, w at a multiple of 16 bytes, bias at a multiple of 16 bytes, out at a multiple of 16 bytes

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

// launch: 1 * B blocks of 512 threads
extern "C" __global__ void __launch_bounds__(512) jagged_dense_bmm(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, const long long *__restrict__ offsets, const unsigned short *__restrict__ bias, unsigned short *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    __shared__ __align__(16) unsigned char tile_shared[4608];
    const int tn_t = (lane & 7) * 8;
    const int td_t = warp * 4 + (lane >> 3 & 3);
    const int tn0 = (int)(blockIdx.x % 1) * 64;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / 1);
    // 4: for (tb, tn) in tile(B, K) {
    // 5: let start = offsets[tb];
    // 6: for tr in jagged_tile(offsets[tb + 1] - start) {
    const long long start = offsets[tb];
    const int i = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    for (int tr = 0; tr < i; ++tr) {
        const bool inside = tr < i;
        if (inside) {
            // 7: var acc: accum(T)[tb, tr, tn] = 0;
            // 8: for td in tile(D) {
            // 9: acc += dot[td](x[start + tr, td], w[tb, td, tn]);
            // 11: if has(bias) { acc += bias[tb, tn]; }
            float acc[8];
            float v_2[8];
            float v_4[8];
            float v[8];
            tile_load_f16x8(v, w + (tb * 64 + td_t) * 64 + tn);
            float v_3[8];
            tile_load_f16x8(v_3, bias + tb * 64 + tn);
            #pragma unroll
            for (int tn_i = 0; tn_i < 8; ++tn_i) {
                acc[tn_i] = 0.0f;
                v_2[tn_i] = v[tn_i];
                v_4[tn_i] = v_3[tn_i];
            }
            const int i_2 = (int)start + tr;
            const float v_5 = tile_f16_load(x[i_2 * 64 + td_t]);
            float v_6[8];
            #pragma unroll
            for (int tn_i = 0; tn_i < 8; ++tn_i) {
                v_6[tn_i] = v_5 * v_2[tn_i];
            }
            #pragma unroll
            for (int tn_i = 0; tn_i < 8; ++tn_i) {
                v_6[tn_i] = tile_sum_lanes_f32(v_6[tn_i], 4, 8);
            }
            tile_sum_many_f32(&v_6[0], 8, tile_shared, 16, 1, 8, 1);
            // 12: out[start + tr, tn] = acc;
            float acc_f16[8];
            #pragma unroll
            for (int tn_i = 0; tn_i < 8; ++tn_i) {
                acc_f16[tn_i] = tile_f16_round(acc[tn_i] + v_6[tn_i] + v_4[tn_i]);
            }
            if ((thread & 504) == 0) tile_store_f16x8(out + i_2 * 64 + tn, acc_f16);
        }
    }
}
