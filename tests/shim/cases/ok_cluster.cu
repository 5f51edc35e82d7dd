// SPDX-License-Identifier: Apache-2.0
// Four blocks of a cluster exchange sums through shared memory, twice with one place.
// LAUNCH blocks=8 threads=64 dynamic=256 steps=1000000 cluster=4
static __device__ void tile_meet() {
    asm volatile("barrier.cluster.arrive.release;\n"
        "barrier.cluster.wait.acquire;" : : : "memory");
}

static __device__ const void *tile_peer(const void *place, const int rank) {
    const void *peer;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(peer) : "l"(place), "r"(rank));
    return peer;
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64) test(float *out, const float *in, int n) {
    __shared__ float fixed[64];
    extern __shared__ float dynamic[];
    const int thread = threadIdx.x, rank = blockIdx.x % 4;
    float found = 0;
    for (int turn = 0; turn < 2; ++turn) {
        fixed[thread] = rank + turn;
        dynamic[63 - thread] = 10 * rank;
        tile_meet();
        for (int r = 0; r < 4; ++r)
            found += *(const float *)tile_peer(fixed + thread, r) + *(const float *)tile_peer(dynamic + thread, r);
        tile_meet();
    }
    out[blockIdx.x * 64 + thread] = found == 2 * 66 + 4 ? 1.0f : 0.0f;
}
