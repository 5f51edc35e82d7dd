// jagged_dense_add from jagged_dense_add.tile, compiled by tilec 0.1.0
// (x: bf16[nnz], offsets: i64[B + 1], y: bf16[B, N]) -> out: bf16[B, N]
// T = bf16, I = i64, N = 64; 32-bit indices
//   tb: block 1 = vector 1 x lanes 1 x warps 1 x registers 1
//   tn: block 64 = vector 8 x lanes 8 x warps 1 x registers 1
//   grid tn, tb; strategy rows; peel true; late true; stream false; min_blocks 0
// wants: tensors are dense, extents and counts of elements at most 2^31 - 2^20, y at a multiple of 16 bytes, out at a multiple of 16 bytes

static __device__ __forceinline__ long long tile_clampi_i64(long long x, long long lo, long long hi) {
    return x < lo ? (lo < hi ? lo : hi) : x > hi ? hi : x;
}

static __device__ __forceinline__ void tile_load_bf16x8(float *v, const unsigned short *p) {
    const uint4 q0 = *(const uint4 *)p;
    v[0] = __uint_as_float(q0.x << 16);
    v[1] = __uint_as_float(q0.x & 0xffff0000u);
    v[2] = __uint_as_float(q0.y << 16);
    v[3] = __uint_as_float(q0.y & 0xffff0000u);
    v[4] = __uint_as_float(q0.z << 16);
    v[5] = __uint_as_float(q0.z & 0xffff0000u);
    v[6] = __uint_as_float(q0.w << 16);
    v[7] = __uint_as_float(q0.w & 0xffff0000u);
}

static __device__ __forceinline__ float tile_from_bits(unsigned u) {
    return __uint_as_float(u);
}

static __device__ __forceinline__ float tile_bf16_load(unsigned short h) {
    return tile_from_bits((unsigned)h << 16);
}

static __device__ __forceinline__ unsigned short tile_bf16_store(float f) {
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static __device__ __forceinline__ float tile_bf16_round(float f) {
    return tile_bf16_load(tile_bf16_store(f));
}

static __device__ __forceinline__ void tile_store_bf16x8(unsigned short *p, const float *v) {
    *(uint4 *)p = make_uint4((unsigned)tile_bf16_store(v[0]) | (unsigned)tile_bf16_store(v[1]) << 16, (unsigned)tile_bf16_store(v[2]) | (unsigned)tile_bf16_store(v[3]) << 16, (unsigned)tile_bf16_store(v[4]) | (unsigned)tile_bf16_store(v[5]) << 16, (unsigned)tile_bf16_store(v[6]) | (unsigned)tile_bf16_store(v[7]) << 16);
}

// launch: 1 * B blocks of 32 threads
extern "C" __global__ void __launch_bounds__(32) jagged_dense_add(const unsigned short *__restrict__ x, const long long *__restrict__ offsets, const unsigned short *__restrict__ y, unsigned short *__restrict__ out) {
    const int thread = (int)threadIdx.x;
    const int lane = (int)threadIdx.x % 32;
    const int tn_t = (lane & 7) * 8;
    const int tn0 = (int)(blockIdx.x % 1) * 64;
    const int tn = tn0 + tn_t;
    const int tb = (int)(blockIdx.x / 1);
    // 14: for tb in tile(B) {
    // 15: let start = offsets[tb];
    // 16: let length = offsets[tb + 1] - start;
    const long long start = offsets[tb];
    const int length_i32 = (int)tile_clampi_i64(offsets[tb + 1] - start, -2146435071LL, 2146435071LL);
    // 17: for tn in tile(N) {
    // 18: out[tb, tn] = y[tb, tn] + (tn < length ? x[start + tn] : 0);
    float v_2[8];
    float v[8];
    tile_load_bf16x8(v, y + tb * 64 + tn);
    #pragma unroll
    for (int tn_i = 0; tn_i < 8; ++tn_i) {
        v_2[tn_i] = v[tn_i];
    }
    const int start_i32 = (int)start;
    float v_3[8];
    #pragma unroll
    for (int tn_i = 0; tn_i < 8; ++tn_i) {
        v_3[tn_i] = tn + tn_i < length_i32 ? tile_bf16_load(x[start_i32 + (tn + tn_i)]) : 0.0f;
    }
    float v_4[8];
    #pragma unroll
    for (int tn_i = 0; tn_i < 8; ++tn_i) {
        v_4[tn_i] = tile_bf16_round(v_2[tn_i] + v_3[tn_i]);
    }
    if ((thread & 24) == 0) tile_store_bf16x8(out + tb * 64 + tn, v_4);
}
