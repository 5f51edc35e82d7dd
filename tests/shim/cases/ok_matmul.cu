// SPDX-License-Identifier: Apache-2.0
// A product of a 16 by 16 and a 16 by 16 matrix: both are copied into tiles, one is read as it lies, one transposed.
// LAUNCH blocks=2 threads=32 dynamic=2048
static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    asm("cvta");
}
static __device__ __forceinline__ void tile_copy_16(const unsigned at, const void *from, const bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(0), "l"(from), "r"(inside ? 16 : 0));
}
static __device__ __forceinline__ void tile_copies_done() {
    asm volatile("cp.async.wait_all;");
}
static __device__ __forceinline__ void tile_matrices_4(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix");
}
static __device__ __forceinline__ void tile_matrices_2_transposed(unsigned *m, const unsigned at) {
    asm volatile("ldmatrix");
}
static __device__ __forceinline__ void tile_mma_bf16(float *c, float *d, const unsigned *a, const unsigned *b) {
    asm("mma");
}
static __device__ __forceinline__ unsigned tile_pack_bf16(const float low, const float high) {
    asm("cvt");
}

// Elements of both matrices: small integers.
static __device__ float left(const int row, const int k) {
    return (float)((row * 5 + k * 3) % 7 - 3);
}
static __device__ float right(const int k, const int column) {
    return (float)((k * 11 + column * 2) % 9 - 4);
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    const int lane = threadIdx.x, row = lane / 4, pair = lane % 4 * 2;
    unsigned *words = (unsigned *)tile_stage;
    for (int i = lane; i < 128; i += 32) {
        words[i] = tile_pack_bf16(left(i / 8, i % 8 * 2), left(i / 8, i % 8 * 2 + 1));
        words[128 + i] = tile_pack_bf16(right(i / 8, i % 8 * 2), right(i / 8, i % 8 * 2 + 1));
    }
    tile_copy_16(tiles + 1024 + lane * 16, in + lane % 16 * 4, lane % 2 == 0);
    __syncthreads();
    unsigned a[4], b[2];
    float c[2] = {100.0f, 100.0f}, d[2] = {-100.0f, -100.0f};
    tile_matrices_4(a, tiles + (lane % 16) * 32 + lane / 16 * 16);
    tile_matrices_2_transposed(b, tiles + 512 + (lane % 16) * 32);
    tile_mma_bf16(c, d, a, b);
    bool good = true;
    for (int j = 0; j < 2; ++j) {
        float upper = 100.0f, lower = -100.0f;
        for (int k = 0; k < 16; ++k) {
            upper += left(row, k) * right(k, pair + j);
            lower += left(row + 8, k) * right(k, pair + j);
        }
        good = good && c[j] == upper && d[j] == lower;
    }
    tile_copies_done();
    const float *copied = (const float *)(tile_stage + 1024 + lane * 16);
    for (int j = 0; j < 4; ++j) good = good && copied[j] == (lane % 2 == 0 ? in[lane % 16 * 4 + j] : 0.0f);
    out[blockIdx.x * 32 + threadIdx.x] = good && n == 64 ? 1.0f : 0.0f;
}
