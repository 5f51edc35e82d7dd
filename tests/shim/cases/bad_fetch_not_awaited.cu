// SPDX-License-Identifier: Apache-2.0
// A tile is read although nobody waited for its copy.
// LAUNCH blocks=2 threads=64 dynamic=0 steps=100000
static __device__ void tile_fetch(void *to, const void *from, const int bytes, unsigned long long *full) {
    asm volatile("cp.async.bulk");
}

static __device__ void tile_fetched(unsigned long long *full) {
    asm volatile("mbarrier.try_wait.parity");
}

extern "C" __global__ void test(float *out, const float *in, int n) {
    __shared__ __align__(16) float tile[64];
    __shared__ unsigned long long tile_full;
    const int thread = threadIdx.x, first = blockIdx.x * 64;
    tile_fetch(tile, in + first, 256, &tile_full);
    out[first + thread] = tile[thread];  // FAULT nothing was stored
    tile_fetched(&tile_full);
}
