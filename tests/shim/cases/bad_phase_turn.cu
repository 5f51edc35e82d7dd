// SPDX-License-Identifier: Apache-2.0
// A wait that is one turn off from the start has no end.
// LAUNCH blocks=1 threads=64 dynamic=4096
static __device__ __forceinline__ unsigned tile_address(const unsigned char *shared) {
    asm("cvta");
}
static __device__ __forceinline__ void tile_phase_start(const unsigned at, const int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(arrivals) : "memory");
}
static __device__ __forceinline__ void tile_phase_arrive(const unsigned at) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at) : "memory");
}
static __device__ __forceinline__ void tile_phase_expect(const unsigned at, const int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void tile_phase_await(const unsigned at, const int turn) {
    asm volatile("mbarrier.try_wait.parity.shared.b64 p, [%0], %1;" :: "r"(at), "r"(turn) : "memory");
}
static __device__ __forceinline__ void tile_map_3_bf16(int *map, const unsigned short *tensor, const int rows, const unsigned columns, const unsigned count, const long long apart) {
    asm volatile("tensormap.replace" :: "l"(map) : "memory");
}
static __device__ __forceinline__ void tile_box_3(const unsigned at, const int *map, const unsigned phase, const int c0, const int c1, const int c2) {
    asm volatile("cp.async.bulk.tensor.3d" :: "r"(at) : "memory");
}

extern "C" __global__ void test(float* out, const float* in, int n) {
    extern __shared__ __align__(1024) unsigned char tile_stage[];
    const unsigned tiles = tile_address(tile_stage);
    if (threadIdx.x == 0) {
        tile_map_3_bf16((int *)out, (const unsigned short *)in, 8, 64, 2, 64);
        tile_phase_start(tiles, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) tile_phase_start(tiles + 8, 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int turn = 0; turn < 2; turn++) {
            tile_phase_await(tiles, turn);  // FAULT waits for ever
            out[threadIdx.x] = ((const float *)tile_stage)[256 + threadIdx.x];
            __syncwarp();
            if (threadIdx.x == 0) tile_phase_arrive(tiles + 8);
        }
    } else if (threadIdx.x == 32) {
        for (int turn = 0; turn < 2; turn++) {
            tile_phase_await(tiles + 8, turn);  // FAULT waits for ever
            tile_phase_expect(tiles, 1024);
            tile_box_3(tiles + 1024, (const int *)out, tiles, 0, 6, 2);
        }
    }
    __syncthreads();  // FAULT waits for ever
}
