// SPDX-License-Identifier: Apache-2.0
// One block doesn't come to where the others meet.
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
    if (rank != 2) tile_meet();  // FAULT a block of the cluster that has ended
    out[blockIdx.x * 64 + thread] = fixed[thread];
}
