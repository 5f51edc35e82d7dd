// SPDX-License-Identifier: Apache-2.0
// A tile is read although nobody waited for its copies.
// LAUNCH blocks=1 threads=32 dynamic=512
static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    asm("cvta");
}
static __device__ __forceinline__ void tile_copy_16(const unsigned at, const void *from, const bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(0), "l"(from), "r"(inside ? 16 : 0));
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    extern __shared__ __align__(128) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    if (threadIdx.x < 8) tile_copy_16(tiles + threadIdx.x * 16, in + threadIdx.x * 4, true);
    __syncthreads();
    out[threadIdx.x] = ((const float *)tile_stage)[threadIdx.x] >= 0.0f ? 1.0f : 0.0f;  // FAULT nothing was stored
}
