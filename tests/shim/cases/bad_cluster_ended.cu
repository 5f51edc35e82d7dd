// SPDX-License-Identifier: Apache-2.0
// A block ends while another one reads its shared memory.
// LAUNCH blocks=4 threads=64 dynamic=0 steps=100000 cluster=4
static __device__ void tile_meet() {
    asm volatile("barrier.cluster.arrive.release;\n"
        "barrier.cluster.wait.acquire;" : : : "memory");
}

static __device__ const void *tile_peer(const void *place, const int rank) {
    const void *peer;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(peer) : "l"(place), "r"(rank));
    return peer;
}

extern "C" __global__ void test(float *out, const float *in, int n) {
    __shared__ float fixed[64];
    const int thread = threadIdx.x, rank = blockIdx.x % 4;
    fixed[thread] = rank;
    tile_meet();
    out[blockIdx.x * 64 + thread] = *(const float *)tile_peer(fixed + thread, (rank + 3) % 4);  // FAULT a block that has ended
}
